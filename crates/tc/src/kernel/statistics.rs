//! Statistics that every discipline and class has (`TCA_STATS2`).

use serde::Serialize;

use super::attributes::{Attributes, add};
use super::layout::layout;
use super::own::OwnStatistics;

/// Attributes of `TCA_STATS2` (`gen_stats.h`).
const BASIC: u16 = 1;
const RATE_EST: u16 = 2;
const QUEUE: u16 = 3;
const APP: u16 = 4;
const RATE_EST64: u16 = 5;
const PKT64: u16 = 8;

layout! {
    /// `struct gnet_stats_basic`, without its padding.
    struct Basic {
        bytes: u64,
        packets: u32,
        padding: u32,
    }
}

layout! {
    /// `struct gnet_stats_rate_est`.
    struct Estimate {
        bytes: u32,
        packets: u32,
    }
}

layout! {
    /// `struct gnet_stats_rate_est64`.
    pub struct Estimate64 {
        /// Bytes a second.
        bytes: u64,
        /// Packets a second.
        packets: u64,
    }
}

layout! {
    /// `struct gnet_stats_queue`: what waits, and what was refused. Counters of 32 bits, which wrap.
    pub struct QueueCounts {
        /// Packets that wait.
        backlog_packets: u32,
        /// Bytes that wait.
        backlog_bytes: u32,
        /// Packets dropped.
        dropped: u32 = count,
        /// Packets that the device gave back.
        requeued: u32 = count,
        /// Times that the rate did not allow a packet.
        overlimits: u32 = count,
    }
}

/// Statistics of a discipline or class.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// True if the packets are counted with 64 bits, false if with 32.
    #[serde(skip)]
    pub is_wide: bool,
    /// Waiting and refused packets.
    #[serde(flatten)]
    pub queue: QueueCounts,
    /// Rate that an estimator of the kernel (`est`) found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate64>,
    /// Statistics of its kind.
    pub own: OwnStatistics,
}

impl Statistics {
    /// Reads the attributes in `TCA_STATS2`.
    pub(crate) fn read(kind: &str, is_class: bool, attributes: &[u8]) -> Self {
        let mut statistics = Self::default();
        let mut narrow = None;
        for (attribute, value) in Attributes(attributes) {
            match attribute {
                BASIC => {
                    let basic = Basic::read(value);
                    statistics.sent_bytes = basic.bytes;
                    narrow = Some(basic.packets);
                }
                PKT64 => {
                    let packets = value.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
                    (statistics.sent_packets, statistics.is_wide) =
                        (packets.unwrap_or_default(), packets.is_some());
                }
                QUEUE => statistics.queue = QueueCounts::read(value),
                RATE_EST if statistics.estimate.is_none() => {
                    let narrow = Estimate::read(value);
                    statistics.estimate =
                        Some(Estimate64 { bytes: narrow.bytes.into(), packets: narrow.packets.into() });
                }
                RATE_EST64 => statistics.estimate = Some(Estimate64::read(value)),
                APP => statistics.own = OwnStatistics::read(kind, is_class, value),
                _ => {}
            }
        }
        if let Some(packets) = narrow.filter(|_| !statistics.is_wide) {
            statistics.sent_packets = packets.into();
        }
        statistics
    }

    /// Appends them as the kernel writes them.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let narrow = self.sent_packets as u32;
        add(out, BASIC, |out| Basic { bytes: self.sent_bytes, packets: narrow, padding: 0 }.write(out));
        if self.is_wide {
            add(out, PKT64, |out| out.extend(self.sent_packets.to_ne_bytes()));
        }
        if let Some(estimate) = &self.estimate {
            let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
            let old = Estimate { bytes: narrow(estimate.bytes), packets: narrow(estimate.packets) };
            add(out, RATE_EST, |out| old.write(out));
            add(out, RATE_EST64, |out| estimate.write(out));
        }
        add(out, QUEUE, |out| self.queue.write(out));
        if self.own != OwnStatistics::None {
            add(out, APP, |out| self.own.write(out));
        }
    }
}
