//! Record of a flow in a part of a run.

use lockgate_engine::units::{Bytes, Instant};

use super::{FlowRecord, Loss, Received};
use crate::metric::During;

/// Record of a flow in a part of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FlowPart {
    pub(super) during: During,
    /// Record whose warm-up ends where the part begins.
    pub(super) record: FlowRecord,
}

impl FlowPart {
    pub(super) fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        if now < self.during.to {
            self.record.on_sent(now, bytes);
        }
    }

    pub(super) fn on_received(&mut self, packet: &Received) {
        if packet.sent >= self.during.to {
            return;
        }
        self.record.on_received(packet);
        if packet.now >= self.during.to {
            self.record.on_received_late(packet.bytes);
        }
    }

    pub(super) fn on_duplicated(&mut self, sent: Instant, bytes: Bytes) {
        if sent < self.during.to {
            self.record.on_duplicated(sent, bytes);
        }
    }

    pub(super) fn on_lost(&mut self, sent: Instant, bytes: Bytes, why: Loss) {
        if sent < self.during.to {
            self.record.on_lost(sent, bytes, why);
        }
    }

    pub(super) fn on_inside(&mut self, sent: Instant, bytes: Bytes) {
        if sent < self.during.to {
            self.record.on_inside(sent, bytes);
        }
    }

    pub(super) fn on_payload(&mut self, now: Instant, bytes: Bytes) {
        if now < self.during.to {
            self.record.on_payload(now, bytes);
        }
    }
}
