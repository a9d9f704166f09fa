//! Statistics that each discipline has of its own (`TCA_STATS_APP`).

use serde::Serialize;

use super::cake::CakeStatistics;
use super::layout::layout;

layout! {
    /// `struct tc_htb_xstats`.
    pub struct HtbStatistics {
        /// Packets that it sent by its own rate.
        lends: u32 = count,
        /// Packets that it sent by the rate of a class above.
        borrows: u32 = count,
        /// Packets longer than the table of rates.
        giants: u32 = count,
        /// Tokens of its rate, in units of 64 ns.
        tokens: i32,
        /// Tokens of its ceil, in units of 64 ns.
        ctokens: i32,
    }
}

layout! {
    /// `struct tc_hfsc_stats`.
    pub struct HfscStatistics {
        /// Bytes served.
        work: u64 = count,
        /// Bytes served by the real-time curve.
        rtwork: u64 = count,
        /// Number of the busy period.
        period: u32 = count,
        /// Level in the tree.
        level: u32,
    }
}

layout! {
    /// `struct tc_drr_stats`.
    pub struct DrrStatistics {
        /// Bytes left of its turn.
        deficit: u32,
    }
}

layout! {
    /// `struct tc_qfq_stats`.
    pub struct QfqStatistics {
        /// Weight.
        weight: u32,
        /// Longest packet.
        lmax: u32,
    }
}

layout! {
    /// `struct tc_sfq_xstats`.
    pub struct SfqStatistics {
        /// Bytes left of its turn.
        allot: i32,
    }
}

layout! {
    /// `struct tc_fq_codel_qd_stats`.
    pub struct FqCodelQueue {
        /// Longest packet so far.
        maxpacket: u32,
        /// Packets dropped because the queue was full.
        drop_overlimit: u32 = count,
        /// Packets marked.
        ecn_mark: u32 = count,
        /// Flows that were new.
        new_flow_count: u32 = count,
        /// Flows in the list of new ones.
        new_flows_len: u32,
        /// Flows in the list of old ones.
        old_flows_len: u32,
        /// Packets marked by `ce_threshold`.
        ce_mark: u32 = count,
        /// Bytes of memory.
        memory_usage: u32,
        /// Packets dropped because the memory was full.
        drop_overmemory: u32 = count,
    }
}

layout! {
    /// `struct tc_fq_codel_cl_stats`.
    pub struct FqCodelFlow {
        /// Bytes left of its turn.
        deficit: i32,
        /// Delay of the last packet, in microseconds.
        ldelay: u32,
        /// Drops in this state of dropping.
        count: u32,
        /// Drops in the last one.
        lastcount: u32,
        /// 1 in the state of dropping.
        dropping: u32,
        /// Time until the next drop, in microseconds.
        drop_next: i32,
    }
}

layout! {
    /// `struct tc_codel_xstats`.
    pub struct CodelStatistics {
        /// Longest packet so far.
        maxpacket: u32,
        /// Drops in this state of dropping.
        count: u32,
        /// Drops in the last one.
        lastcount: u32,
        /// Delay of the last packet, in microseconds.
        ldelay: u32,
        /// Time until the next drop, in microseconds.
        drop_next: i32,
        /// Packets dropped because the queue was full.
        drop_overlimit: u32 = count,
        /// Packets marked.
        ecn_mark: u32 = count,
        /// 1 in the state of dropping.
        dropping: u32,
        /// Packets marked by `ce_threshold`.
        ce_mark: u32 = count,
    }
}

layout! {
    /// `struct tc_fq_qd_stats`.
    pub struct FqStatistics {
        /// Flows that were removed.
        gc_flows: u64 = count,
        /// Packets of high priority.
        highprio_packets: u64 = count,
        /// Retransmissions, which the kernel does not count any more.
        tcp_retrans: u64 = count,
        /// Times that a flow was paced.
        throttled: u64 = count,
        /// Packets dropped by the limit of a flow.
        flows_plimit: u64 = count,
        /// Packets too long to pace.
        pkts_too_long: u64 = count,
        /// Flows that found no memory.
        allocation_errors: u64 = count,
        /// Time until the next paced flow, in nanoseconds.
        time_next_delayed_flow: i64,
        /// Flows.
        flows: u32,
        /// Flows without packets.
        inactive_flows: u32,
        /// Flows that wait for their time.
        throttled_flows: u32,
        /// Delay of wake-ups, in nanoseconds.
        unthrottle_latency_ns: u32,
        /// Packets marked by `ce_threshold`.
        ce_mark: u64 = count,
        /// Packets dropped beyond the horizon.
        horizon_drops: u64 = count,
        /// Packets brought back to the horizon.
        horizon_caps: u64 = count,
    }
}

layout! {
    /// `struct tc_pie_xstats`.
    pub struct PieStatistics {
        /// Probability of a drop, of 2^56 - 1.
        prob: u64,
        /// Delay, in microseconds.
        delay: u32,
        /// Mean rate, in bytes a second.
        avg_dq_rate: u32,
        /// 1 while that rate is measured.
        dq_rate_estimating: u32,
        /// Packets enqueued.
        packets_in: u32 = count,
        /// Packets dropped early.
        dropped: u32 = count,
        /// Packets dropped because the queue was full.
        overlimit: u32 = count,
        /// Longest queue.
        maxq: u32,
        /// Packets marked.
        ecn_mark: u32 = count,
    }
}

layout! {
    /// `struct tc_fq_pie_xstats`.
    pub struct FqPieStatistics {
        /// Packets enqueued.
        packets_in: u32 = count,
        /// Packets dropped early.
        dropped: u32 = count,
        /// Packets dropped because the queue was full.
        overlimit: u32 = count,
        /// Packets dropped because the memory was full.
        overmemory: u32 = count,
        /// Packets marked.
        ecn_mark: u32 = count,
        /// Flows that were new.
        new_flow_count: u32 = count,
        /// Flows in the list of new ones.
        new_flows_len: u32,
        /// Flows in the list of old ones.
        old_flows_len: u32,
        /// Bytes of memory.
        memory_usage: u32,
    }
}

layout! {
    /// `struct tc_red_xstats`.
    pub struct RedStatistics {
        /// Packets dropped early.
        early: u32 = count,
        /// Packets dropped because the queue was full.
        pdrop: u32 = count,
        /// Packets dropped by the discipline below.
        other: u32 = count,
        /// Packets marked.
        marked: u32 = count,
    }
}

layout! {
    /// `struct tc_choke_xstats`.
    pub struct ChokeStatistics {
        /// Packets dropped early.
        early: u32 = count,
        /// Packets dropped because the queue was full.
        pdrop: u32 = count,
        /// Packets dropped by the discipline below.
        other: u32 = count,
        /// Packets marked.
        marked: u32 = count,
        /// Packets dropped with another of their flow.
        matched: u32 = count,
    }
}

layout! {
    /// `struct tc_sfb_xstats`.
    pub struct SfbStatistics {
        /// Packets dropped early.
        earlydrop: u32 = count,
        /// Packets of unresponsive flows dropped.
        penaltydrop: u32 = count,
        /// Packets dropped because their bin was full.
        bucketdrop: u32 = count,
        /// Packets dropped because the queue was full.
        queuedrop: u32 = count,
        /// Packets dropped by the discipline below.
        childdrop: u32 = count,
        /// Packets marked.
        marked: u32 = count,
        /// Longest bin.
        maxqlen: u32,
        /// Largest probability, of 65535.
        maxprob: u32,
        /// Mean probability, of 65535.
        avgprob: u32,
    }
}

layout! {
    /// `struct tc_hhf_xstats`.
    pub struct HhfStatistics {
        /// Packets dropped because the queue was full.
        drop_overlimit: u32 = count,
        /// Times that too many flows were heavy.
        hh_overlimit: u32 = count,
        /// Heavy flows so far.
        hh_tot_count: u32 = count,
        /// Heavy flows.
        hh_cur_count: u32,
    }
}

layout! {
    /// `struct tc_dualpi2_xstats`.
    pub struct DualPi2Statistics {
        /// Probability, of 2^32 - 1.
        prob: u32,
        /// Delay of the classic queue, in microseconds.
        delay_c: u32,
        /// Delay of the low-latency queue, in microseconds.
        delay_l: u32,
        /// Packets enqueued in the classic queue.
        packets_in_c: u32 = count,
        /// Packets enqueued in the low-latency queue.
        packets_in_l: u32 = count,
        /// Longest queue.
        maxq: u32,
        /// Packets marked.
        ecn_mark: u32 = count,
        /// Packets marked by the step.
        step_marks: u32 = count,
        /// Credit of the classic queue.
        credit: i32,
        /// Bytes of memory.
        memory_used: u32,
        /// Most bytes of memory so far.
        max_memory_used: u32,
        /// Limit of the memory.
        memory_limit: u32,
    }
}

/// Type of `struct tc_fq_codel_xstats`: of the discipline, or of a flow.
const FQ_CODEL_QUEUE: u32 = 0;
const FQ_CODEL_FLOW: u32 = 1;

macro_rules! own {
    ($($kind:literal in $of_class:literal => $variant:ident($structure:ident)),* $(,)?) => {
        /// Statistics of a discipline or class beyond those that all have.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum OwnStatistics {
            /// None, or of a kind that is not known.
            #[default]
            None,
            $(#[doc = concat!("Of `", $kind, "`.")] $variant($structure),)*
            /// Of `fq_codel`.
            FqCodel(FqCodelQueue),
            /// Of a flow of `fq_codel`.
            FqCodelFlow(FqCodelFlow),
            /// Of `cake`, by tin.
            Cake(Box<CakeStatistics>),
        }

        impl OwnStatistics {
            /// Reads the statistics of a kind.
            pub(crate) fn read(kind: &str, is_class: bool, bytes: &[u8]) -> Self {
                match (kind, is_class) {
                    $(($kind, $of_class) => Self::$variant($structure::read(bytes)),)*
                    ("fq_codel", _) => {
                        let rest = bytes.get(4..).unwrap_or_default();
                        match bytes.first_chunk().map(|kind| u32::from_ne_bytes(*kind)) {
                            Some(FQ_CODEL_QUEUE) => Self::FqCodel(FqCodelQueue::read(rest)),
                            Some(FQ_CODEL_FLOW) => Self::FqCodelFlow(FqCodelFlow::read(rest)),
                            _ => Self::None,
                        }
                    }
                    ("cake" | "cake_mq", false) => Self::Cake(Box::new(CakeStatistics::read(bytes))),
                    _ => Self::None,
                }
            }

            /// Appends the statistics as the kernel writes them.
            pub(crate) fn write(&self, out: &mut Vec<u8>) {
                match self {
                    Self::None => {}
                    $(Self::$variant(own) => own.write(out),)*
                    Self::FqCodel(own) => {
                        out.extend(FQ_CODEL_QUEUE.to_ne_bytes());
                        own.write(out);
                    }
                    Self::FqCodelFlow(own) => {
                        out.extend(FQ_CODEL_FLOW.to_ne_bytes());
                        own.write(out);
                    }
                    Self::Cake(own) => own.write(out),
                }
            }

            /// Calls `emit` with the name of each figure, its value, and true if it counts events.
            pub(crate) fn emit(&self, emit: &mut dyn FnMut(&'static str, f64, bool)) {
                match self {
                    Self::None => {}
                    $(Self::$variant(own) => own.emit(emit),)*
                    Self::FqCodel(own) => own.emit(emit),
                    Self::FqCodelFlow(own) => own.emit(emit),
                    Self::Cake(own) => own.emit(emit),
                }
            }

            /// Kinds with a structure of their own, and whether it is that of a class.
            #[cfg(test)]
            pub(crate) const KINDS: &[(&str, bool, usize)] = &[$(($kind, $of_class, $structure::LENGTH)),*];
        }
    };
}

own! {
    "htb" in true => Htb(HtbStatistics),
    "hfsc" in true => Hfsc(HfscStatistics),
    "drr" in true => Drr(DrrStatistics),
    "qfq" in true => Qfq(QfqStatistics),
    "sfq" in true => Sfq(SfqStatistics),
    "codel" in false => Codel(CodelStatistics),
    "fq" in false => Fq(FqStatistics),
    "pie" in false => Pie(PieStatistics),
    "fq_pie" in false => FqPie(FqPieStatistics),
    "red" in false => Red(RedStatistics),
    "choke" in false => Choke(ChokeStatistics),
    "sfb" in false => Sfb(SfbStatistics),
    "hhf" in false => Hhf(HhfStatistics),
    "dualpi2" in false => DualPi2(DualPi2Statistics),
}

impl OwnStatistics {
    /// Returns the packets marked since the start.
    pub fn marked(&self) -> u64 {
        match self {
            Self::FqCodel(own) => u64::from(own.ecn_mark) + u64::from(own.ce_mark),
            Self::Codel(own) => u64::from(own.ecn_mark) + u64::from(own.ce_mark),
            Self::Fq(own) => own.ce_mark,
            Self::Pie(own) => own.ecn_mark.into(),
            Self::FqPie(own) => own.ecn_mark.into(),
            Self::Red(own) => own.marked.into(),
            Self::Choke(own) => own.marked.into(),
            Self::Sfb(own) => own.marked.into(),
            Self::DualPi2(own) => own.ecn_mark.into(),
            Self::Cake(own) => own.tins.iter().map(|tin| u64::from(tin.ecn_marked_packets)).sum(),
            _ => 0,
        }
    }

    /// Returns the delay that it reports, in seconds.
    pub fn delay_s(&self) -> Option<f64> {
        let micros = match self {
            Self::Codel(own) => own.ldelay,
            Self::FqCodelFlow(own) => own.ldelay,
            Self::Pie(own) => own.delay,
            Self::DualPi2(own) => own.delay_c.max(own.delay_l),
            _ => return None,
        };
        Some(f64::from(micros) / 1e6)
    }
}
