//! Record of a flow in a part of a run.

use lockgate_engine::units::{Duration, Instant};

use super::batch::{Columns, Pending};
use super::{FlowRecord, count};
use crate::histogram::{BATCH, Moments};
use crate::metric::During;

/// Record of a flow in a part of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FlowPart {
    pub(super) during: During,
    /// Record whose warm-up ends where the part begins.
    pub(super) record: FlowRecord,
}

impl FlowPart {
    /// Returns true if it is a phase whose end is not known yet.
    pub(super) fn is_open(&self) -> bool {
        self.during.to == Instant::NEVER
    }

    /// Counts packets of a batch of the run: the delays of those that were sent in the part, and the bytes of
    /// those that arrive in it. `columns` and `moments` are those of the whole batch.
    #[inline(never)]
    pub(super) fn count<const COUNT: usize>(
        &mut self,
        packets: &[Pending],
        propagation: Duration,
        columns: &Columns<COUNT>,
        moments: &Moments,
    ) {
        let [from, to] = [self.during.from, self.during.to].map(Instant::as_picos);
        let is_own = |packet: &Pending| from <= packet.sent && packet.sent < to;
        let record = &mut self.record;
        record.propagation = propagation;
        let mut own = 0;
        for packet in packets {
            let in_time = packet.now < to;
            if is_own(packet) {
                own += 1;
                record.received.add(packet.bytes());
                if !in_time {
                    count(&mut record.received_outside, packet.bytes());
                }
            } else if from <= packet.now && in_time {
                record.count_received_early(packet.bytes());
            }
        }
        if own == packets.len() {
            record.count_columns(columns, moments);
        } else if own > 0 {
            let own = Columns::<BATCH>::of(packets.iter().filter(|packet| is_own(packet)));
            record.count_columns(&own, &Moments::of(own.owd()));
        }
    }
}
