//! Statistics of `cake`: nested attributes, and those of each tin.

use serde::Serialize;

use super::attributes::{Attributes, add};
use super::layout::{Field, layout};

/// Attribute of the tins, which are attributes of types from 1.
const TINS: u16 = 10;

/// Most tins that a kernel has.
const MOST_TINS: usize = 8;

macro_rules! nested {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident : $type:ty = $kind:literal $($counts:ident)?),* $(,)? } $($more:tt)*) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* $($more)* }

        impl $name {
            fn set(&mut self, kind: u16, value: &[u8]) {
                match kind {
                    $($kind => self.$field = Field::read(value).unwrap_or_default(),)*
                    _ => {}
                }
            }

            fn write_own(&self, out: &mut Vec<u8>) {
                $(add(out, $kind, |out| Field::write(self.$field, out));)*
            }

            /// Calls `emit` with the name of each figure, its value, and true if it counts events.
            pub(crate) fn emit(&self, emit: &mut dyn FnMut(&'static str, f64, bool)) {
                $(emit(layout!(@name $field $($counts)?), Field::number(self.$field), false $(|| layout!(@counts $counts))?);)*
            }
        }
    };
}

nested! {
    /// Statistics of a tin (`TCA_CAKE_TIN_STATS_*`).
    CakeTin {
        /// Packets sent.
        sent_packets: u32 = 2 count,
        /// Bytes sent.
        sent_bytes: u64 = 3 count,
        /// Packets dropped.
        dropped_packets: u32 = 4 count,
        /// Bytes dropped.
        dropped_bytes: u64 = 5 count,
        /// Acknowledgements that the filter dropped.
        acks_dropped_packets: u32 = 6 count,
        /// Bytes of them.
        acks_dropped_bytes: u64 = 7 count,
        /// Packets marked.
        ecn_marked_packets: u32 = 8 count,
        /// Bytes of them.
        ecn_marked_bytes: u64 = 9 count,
        /// Packets that wait.
        backlog_packets: u32 = 10,
        /// Bytes that wait.
        backlog_bytes: u32 = 11,
        /// Rate beyond which its priority falls, in bytes a second.
        threshold_rate: u64 = 12,
        /// Target of the delay, in microseconds.
        target_us: u32 = 13,
        /// Interval, in microseconds.
        interval_us: u32 = 14,
        /// Flows that found another slot in their set.
        way_indirect_hits: u32 = 15 count,
        /// Flows that were new in their set.
        way_misses: u32 = 16 count,
        /// Flows that share a queue.
        way_collisions: u32 = 17 count,
        /// Peak of the delay, in microseconds, fading.
        peak_delay_us: u32 = 18,
        /// Mean of the delay, in microseconds, weighted to the latest.
        avg_delay_us: u32 = 19,
        /// Least delay, in microseconds.
        base_delay_us: u32 = 20,
        /// Sparse flows.
        sparse_flows: u32 = 21,
        /// Bulk flows.
        bulk_flows: u32 = 22,
        /// Flows that do not respond to drops.
        unresponsive_flows: u32 = 23,
        /// Longest packet.
        max_skblen: u32 = 24,
        /// Bytes of a turn.
        flow_quantum: u32 = 25,
    }
}

nested! {
    /// Statistics of `cake` (`TCA_CAKE_STATS_*`).
    CakeStatistics {
        /// Rate that `autorate-ingress` found, in bytes a second.
        capacity_estimate: u64 = 2,
        /// Limit of the memory, in bytes.
        memory_limit: u32 = 3,
        /// Most bytes of memory so far.
        memory_used: u32 = 4,
        /// Mean offset of the network header.
        avg_netoff: u32 = 5,
        /// Shortest packet, without its link's header.
        min_netlen: u32 = 6,
        /// Longest packet.
        max_netlen: u32 = 7,
        /// Shortest packet as it is charged.
        min_adjlen: u32 = 8,
        /// Longest packet as it is charged.
        max_adjlen: u32 = 9,
    }
    /// Tins, the least urgent first.
    pub tins: Vec<CakeTin>,
}

impl CakeStatistics {
    /// Reads nested attributes.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut statistics = Self::default();
        for (kind, value) in Attributes(bytes) {
            if kind == TINS {
                for (_, tin) in Attributes(value).take(MOST_TINS) {
                    let mut read = CakeTin::default();
                    Attributes(tin).for_each(|(kind, value)| read.set(kind, value));
                    statistics.tins.push(read);
                }
            } else {
                statistics.set(kind, value);
            }
        }
        statistics
    }

    /// Appends them as the kernel writes them.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.write_own(out);
        add(out, TINS, |out| {
            for (index, tin) in self.tins.iter().enumerate() {
                add(out, index as u16 + 1, |out| tin.write_own(out));
            }
        });
    }

    /// Returns the name of a tin, as `tc` prints it.
    pub fn tin_name(&self, tin: usize) -> String {
        let names: &[&str] = match self.tins.len() {
            1 => &["best effort"],
            3 => &["bulk", "best effort", "voice"],
            4 => &["bulk", "best effort", "video", "voice"],
            _ => &[],
        };
        names.get(tin).map_or_else(|| format!("tin {tin}"), |name| (*name).to_owned())
    }
}
