//! Words of every kind of discipline and class, as the parser of `tc` takes them.

use super::lex;

/// Type of the value of a word, as the parser reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sort {
    /// No value.
    Flag,
    /// Whole number of a base (0: by its prefix) up to a largest one.
    Whole(u32, u64),
    /// Whole number of 32 bits with a sign, of a base.
    Signed(u32),
    /// Decimal number of which 32 bits are kept, between two.
    Kept(i64, i64),
    /// Size in bytes.
    Size,
    /// Size in bytes, which may have that of its cells after a `/`.
    Cells,
    /// Rate of 32 bits of bytes a second.
    Rate32,
    /// Rate of 64 bits; below zero it wraps.
    Rate,
    /// Time in microseconds, of which 32 bits are kept.
    Time,
    /// Time that must be short enough for its field of ticks.
    Ticks,
    /// Time in nanoseconds.
    Nanos,
    /// Percentage, 0 to 100, with or without its sign.
    Percent,
    /// Real number from 0 to 1; what follows it is not read.
    Share,
    /// Real number; what follows it is not read.
    Real,
    /// Any word.
    Any,
    /// One of these words.
    Of(&'static [&'static str]),
    /// Numbers up to the first word that is none, each a band; no more than 16.
    Bands,
    /// Numbers up to the first word that is none.
    Numbers,
    /// `COUNT@OFFSET` up to the first word that is not of this form.
    Queues,
    /// Service curve.
    Curve,
    /// `S MASK INTERVAL`.
    Gate,
}

/// A word and the type of its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Option {
    pub name: &'static str,
    /// Word under whose name the value is kept; synonyms share one.
    pub of: &'static str,
    pub sort: Sort,
    /// True if a beginning of the word is enough.
    pub may_be_short: bool,
    /// True if it must not come twice.
    pub is_once: bool,
}

/// Words of a kind.
#[derive(Debug)]
pub(super) struct Grammar {
    pub kind: &'static str,
    /// Words of the discipline; `None` if it takes no words, not even a wrong one.
    pub qdisc: core::option::Option<&'static [Option]>,
    /// Words of its classes; `None` if commands cannot set them.
    pub class: core::option::Option<&'static [Option]>,
}

const fn w(name: &'static str, sort: Sort) -> Option {
    Option { name, of: name, sort, may_be_short: false, is_once: false }
}

/// A word of which a beginning is enough.
const fn s(name: &'static str, sort: Sort) -> Option {
    Option { may_be_short: true, ..w(name, sort) }
}

/// A word that comes once.
const fn o(option: Option) -> Option {
    Option { is_once: true, ..option }
}

/// A synonym.
const fn a(of: &'static str, option: Option) -> Option {
    Option { of, ..option }
}

const fn kind(
    kind: &'static str,
    qdisc: &'static [Option],
    class: core::option::Option<&'static [Option]>,
) -> Grammar {
    Grammar { kind, qdisc: Some(qdisc), class }
}

const U32: Sort = Sort::Whole(0, u32::MAX as u64);
const DECIMAL: Sort = Sort::Whole(10, u32::MAX as u64);
const U16: Sort = Sort::Whole(10, u16::MAX as u64);
const FLAG: Sort = Sort::Flag;
const LAYERS: Sort = Sort::Of(&["ethernet", "atm", "adsl"]);

/// Returns the words of a kind; `None` if `tc` does not know it.
pub(super) fn grammar(kind: &str) -> core::option::Option<&'static Grammar> {
    KINDS.iter().find(|known| known.kind == kind)
}

/// Names of all kinds.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|known| known.kind)
}

const KINDS: &[Grammar] = &[
    kind("bfifo", &[w("limit", Sort::Size)], None),
    kind("blackhole", &[], None),
    kind("cake", CAKE, None),
    kind("cake_mq", CAKE, None),
    kind("cbq", CBQ, Some(CBQ)),
    kind("cbs", CBS, None),
    kind("choke", CHOKE, None),
    kind("clsact", &[], None),
    kind("codel", CODEL, None),
    kind("drr", &[], Some(&[w("quantum", Sort::Size)])),
    kind("dualpi2", DUALPI2, None),
    kind("etf", ETF, None),
    kind("ets", ETS, Some(&[w("quantum", Sort::Size)])),
    kind("fq", FQ, None),
    kind("fq_codel", FQ_CODEL, None),
    kind("fq_pie", FQ_PIE, None),
    kind("gred", GRED, None),
    kind("hfsc", &[o(s("default", Sort::Whole(16, 0xffff)))], Some(HFSC_CLASS)),
    kind("hhf", HHF, None),
    kind("htb", HTB, Some(HTB_CLASS)),
    kind("ingress", &[w("handle", Sort::Any)], None),
    kind("mq", &[], None),
    kind("mqprio", MQPRIO, None),
    kind("multiq", &[], None),
    kind("netem", &[], None),
    kind("noqueue", &[], None),
    kind("pfifo", &[w("limit", Sort::Size)], None),
    Grammar { kind: "pfifo_fast", qdisc: None, class: None },
    kind("pfifo_head_drop", &[w("limit", Sort::Size)], None),
    kind("pie", PIE, None),
    kind("plug", PLUG, None),
    kind("prio", PRIO, None),
    kind("qfq", &[], Some(&[s("weight", DECIMAL), s("maxpkt", DECIMAL)])),
    kind("red", RED, None),
    kind("sfb", SFB, None),
    kind("sfq", SFQ, None),
    kind("skbprio", &[w("limit", Sort::Size)], None),
    kind("taprio", TAPRIO, None),
    kind("tbf", TBF, None),
    kind("teql0", &[], None),
];

/// Words of `cake` without a value that may come again; those of the round trip may not.
const CAKE: &[Option] = &[
    w("bandwidth", Sort::Rate),
    w("unlimited", FLAG),
    w("autorate-ingress", FLAG),
    w("rtt", Sort::Time),
    o(a("preset", w("datacentre", FLAG))),
    o(a("preset", w("lan", FLAG))),
    o(a("preset", w("metro", FLAG))),
    o(a("preset", w("regional", FLAG))),
    o(a("preset", w("internet", FLAG))),
    o(a("preset", w("oceanic", FLAG))),
    o(a("preset", w("satellite", FLAG))),
    o(a("preset", w("interplanetary", FLAG))),
    w("besteffort", FLAG),
    w("precedence", FLAG),
    w("diffserv", FLAG),
    w("diffserv3", FLAG),
    w("diffserv4", FLAG),
    w("diffserv8", FLAG),
    w("diffserv-llt", FLAG),
    w("flowblind", FLAG),
    w("srchost", FLAG),
    w("dsthost", FLAG),
    w("hosts", FLAG),
    w("flows", FLAG),
    w("dual-srchost", FLAG),
    w("dual-dsthost", FLAG),
    w("triple-isolate", FLAG),
    w("nat", FLAG),
    w("nonat", FLAG),
    w("wash", FLAG),
    w("nowash", FLAG),
    w("ingress", FLAG),
    w("egress", FLAG),
    w("ack-filter", FLAG),
    w("ack-filter-aggressive", FLAG),
    w("no-ack-filter", FLAG),
    w("split-gso", FLAG),
    w("no-split-gso", FLAG),
    w("raw", FLAG),
    w("conservative", FLAG),
    w("atm", FLAG),
    w("noatm", FLAG),
    w("ptm", FLAG),
    w("overhead", Sort::Kept(-64, 256)),
    w("mpu", Sort::Kept(0, 256)),
    w("memlimit", Sort::Size),
    w("ethernet", FLAG),
    w("ether-vlan", FLAG),
    w("docsis", FLAG),
    w("ether-fcs", FLAG),
    w("ether-all", FLAG),
    w("via-ethernet", FLAG),
    w("pppoe-ptm", FLAG),
    w("bridged-ptm", FLAG),
    w("pppoa-vcmux", FLAG),
    w("pppoa-llc", FLAG),
    w("pppoe-vcmux", FLAG),
    w("pppoe-llcsnap", FLAG),
    w("bridged-vcmux", FLAG),
    w("bridged-llcsnap", FLAG),
    w("ipoa-vcmux", FLAG),
    w("ipoa-llcsnap", FLAG),
    w("fwmark", U32),
];

const CBQ: &[Option] = &[
    w("bandwidth", Sort::Rate32),
    w("rate", Sort::Rate32),
    w("weight", Sort::Rate32),
    w("prio", U32),
    w("allot", Sort::Size),
    w("avpkt", Sort::Size),
    w("cell", Sort::Size),
    w("mpu", Sort::Size),
    w("ewma", U32),
    w("maxburst", U32),
    w("minburst", U32),
    w("minidle", Sort::Time),
    w("bounded", FLAG),
    w("isolated", FLAG),
    w("linklayer", LAYERS),
];

const CBS: &[Option] = &[
    o(s("hicredit", Sort::Signed(0))),
    o(s("locredit", Sort::Signed(0))),
    o(s("sendslope", Sort::Signed(0))),
    o(s("idleslope", Sort::Signed(0))),
    o(s("offload", Sort::Whole(0, 255))),
];

const CHOKE: &[Option] = &[
    w("limit", U32),
    w("bandwidth", Sort::Rate32),
    w("min", U32),
    w("max", U32),
    w("burst", U32),
    w("avpkt", Sort::Size),
    w("probability", Sort::Real),
    w("ecn", FLAG),
];

const CODEL: &[Option] = &[
    w("limit", U32),
    w("target", Sort::Time),
    w("ce_threshold", Sort::Time),
    w("interval", Sort::Time),
    w("ecn", FLAG),
    w("noecn", FLAG),
];

/// Not in iproute2 6.1: as its manual page has it.
const DUALPI2: &[Option] = &[
    w("limit", U32),
    w("memlimit", Sort::Size),
    w("target", Sort::Time),
    w("tupdate", Sort::Time),
    w("max_rtt", Sort::Time),
    w("typical_rtt", Sort::Time),
    w("alpha", Sort::Any),
    w("beta", Sort::Any),
    w("coupling_factor", Sort::Whole(0, 255)),
    w("step_thresh", Sort::Any),
    w("min_qlen_step", Sort::Any),
    w("classic_protection", Sort::Percent),
    w("drop_on_overload", FLAG),
    w("overflow", FLAG),
    w("drop_enqueue", FLAG),
    w("drop_dequeue", FLAG),
    w("l4s_ect", FLAG),
    w("any_ect", FLAG),
    w("split_gso", FLAG),
    w("no_split_gso", FLAG),
];

const CLOCKS: Sort = Sort::Of(&[
    "CLOCK_REALTIME",
    "CLOCK_TAI",
    "CLOCK_BOOTTIME",
    "CLOCK_MONOTONIC",
    "REALTIME",
    "TAI",
    "BOOTTIME",
    "MONOTONIC",
    "realtime",
    "tai",
    "boottime",
    "monotonic",
]);

const ETF: &[Option] = &[
    o(s("offload", FLAG)),
    o(s("deadline_mode", FLAG)),
    o(s("delta", Sort::Signed(0))),
    o(s("clockid", CLOCKS)),
    o(w("skip_sock_check", FLAG)),
];

const ETS: &[Option] =
    &[w("bands", U32), w("strict", U32), w("quanta", Sort::Numbers), w("priomap", Sort::Numbers)];

const FQ: &[Option] = &[
    w("limit", U32),
    w("flow_limit", U32),
    w("buckets", U32),
    w("maxrate", Sort::Rate32),
    w("low_rate_threshold", Sort::Rate32),
    w("ce_threshold", Sort::Time),
    w("timer_slack", Sort::Nanos),
    w("horizon_drop", FLAG),
    w("horizon_cap", FLAG),
    w("horizon", Sort::Time),
    w("defrate", Sort::Rate32),
    w("quantum", U32),
    w("initial_quantum", U32),
    w("orphan_mask", U32),
    w("refill_delay", Sort::Time),
    w("pacing", FLAG),
    w("nopacing", FLAG),
];

const FQ_CODEL: &[Option] = &[
    w("limit", U32),
    w("flows", U32),
    w("quantum", U32),
    w("target", Sort::Time),
    w("ce_threshold", Sort::Time),
    w("ce_threshold_selector", Sort::Any),
    w("memory_limit", Sort::Size),
    w("drop_batch", U32),
    w("interval", Sort::Time),
    w("ecn", FLAG),
    w("noecn", FLAG),
];

const FQ_PIE: &[Option] = &[
    w("limit", U32),
    w("flows", U32),
    w("target", Sort::Time),
    w("tupdate", Sort::Time),
    w("alpha", Sort::Whole(0, 32)),
    w("beta", Sort::Whole(0, 32)),
    w("quantum", Sort::Size),
    w("memory_limit", Sort::Size),
    w("ecn_prob", U32),
    w("ecn", FLAG),
    w("noecn", FLAG),
    w("bytemode", FLAG),
    w("nobytemode", FLAG),
    w("dq_rate_estimator", FLAG),
    w("no_dq_rate_estimator", FLAG),
];

const GRED: &[Option] = &[
    w("setup", FLAG),
    w("DPs", U32),
    w("default", U32),
    w("grio", FLAG),
    w("limit", Sort::Size),
    w("min", Sort::Size),
    w("max", Sort::Size),
    w("avpkt", Sort::Size),
    w("burst", U32),
    w("bandwidth", Sort::Rate32),
    w("probability", Sort::Share),
    w("DP", U32),
    w("prio", U32),
    w("ecn", FLAG),
    w("harddrop", FLAG),
];

const HFSC_CLASS: &[Option] =
    &[s("rt", Sort::Curve), s("ls", Sort::Curve), s("sc", Sort::Curve), s("ul", Sort::Curve)];

const HHF: &[Option] = &[
    w("limit", U32),
    w("quantum", U32),
    w("hh_limit", U32),
    w("reset_timeout", Sort::Time),
    w("admit_bytes", U32),
    w("evict_timeout", Sort::Time),
    w("non_hh_weight", U32),
];

const HTB: &[Option] = &[
    s("r2q", DECIMAL),
    s("default", Sort::Whole(16, u32::MAX as u64)),
    s("debug", Sort::Any),
    s("direct_qlen", DECIMAL),
    s("offload", FLAG),
];

const HTB_CLASS: &[Option] = &[
    s("prio", DECIMAL),
    s("mtu", DECIMAL),
    s("mpu", U16),
    s("overhead", U16),
    s("linklayer", LAYERS),
    s("quantum", DECIMAL),
    s("burst", Sort::Cells),
    a("burst", w("buffer", Sort::Cells)),
    a("burst", w("maxburst", Sort::Cells)),
    s("cburst", Sort::Cells),
    a("cburst", w("cbuffer", Sort::Cells)),
    a("cburst", w("cmaxburst", Sort::Cells)),
    o(s("ceil", Sort::Rate)),
    o(w("rate", Sort::Rate)),
];

const MQPRIO: &[Option] = &[
    w("num_tc", Sort::Whole(10, 16)),
    w("map", Sort::Bands),
    w("queues", Sort::Queues),
    w("hw", Sort::Whole(10, 255)),
    w("mode", Sort::Of(&["dcb", "channel"])),
    w("shaper", Sort::Of(&["dcb", "bw_rlimit"])),
    w("min_rate", Sort::Any),
    w("max_rate", Sort::Any),
];

const PIE: &[Option] = &[
    w("limit", U32),
    w("target", Sort::Time),
    w("tupdate", Sort::Time),
    w("alpha", Sort::Whole(0, 32)),
    w("beta", Sort::Whole(0, 32)),
    w("ecn", FLAG),
    w("noecn", FLAG),
    w("bytemode", FLAG),
    w("nobytemode", FLAG),
    w("dq_rate_estimator", FLAG),
    w("no_dq_rate_estimator", FLAG),
];

const PLUG: &[Option] =
    &[w("block", FLAG), w("release", FLAG), w("release_indefinite", FLAG), w("limit", Sort::Size)];

const PRIO: &[Option] = &[w("bands", Sort::Signed(10)), w("priomap", Sort::Bands), w("multiqueue", FLAG)];

const RED: &[Option] = &[
    w("limit", Sort::Size),
    w("min", Sort::Size),
    w("max", Sort::Size),
    w("burst", U32),
    w("avpkt", Sort::Size),
    w("probability", Sort::Share),
    w("bandwidth", Sort::Rate32),
    w("ecn", FLAG),
    w("harddrop", FLAG),
    w("adaptive", FLAG),
    w("adaptative", FLAG),
    w("nodrop", FLAG),
    w("qevent", Sort::Any),
];

const SFB: &[Option] = &[
    w("rehash", U32),
    w("db", U32),
    w("limit", U32),
    w("max", U32),
    w("target", U32),
    w("increment", Sort::Share),
    w("decrement", Sort::Share),
    w("penalty_rate", U32),
    w("penalty_burst", U32),
];

const SFQ: &[Option] = &[
    w("quantum", Sort::Size),
    w("perturb", Sort::Signed(0)),
    w("limit", U32),
    w("depth", U32),
    w("divisor", U32),
    w("flows", U32),
    w("redflowlimit", U32),
    w("headdrop", FLAG),
    w("min", U32),
    w("max", U32),
    w("avpkt", Sort::Size),
    w("burst", U32),
    w("probability", Sort::Share),
    w("ecn", FLAG),
    w("harddrop", FLAG),
];

const TAPRIO: &[Option] = &[
    w("num_tc", Sort::Whole(10, 16)),
    w("map", Sort::Bands),
    w("queues", Sort::Queues),
    w("sched-entry", Sort::Gate),
    w("base-time", Sort::Any),
    w("cycle-time", Sort::Any),
    w("cycle-time-extension", Sort::Any),
    w("clockid", CLOCKS),
    w("flags", U32),
    w("txtime-delay", U32),
];

const TBF: &[Option] = &[
    o(s("limit", Sort::Size)),
    o(w("latency", Sort::Time)),
    o(s("burst", Sort::Cells)),
    o(a("burst", w("buffer", Sort::Cells))),
    o(a("burst", w("maxburst", Sort::Cells))),
    o(w("mtu", Sort::Cells)),
    o(a("mtu", w("minburst", Sort::Cells))),
    o(w("mpu", Sort::Size)),
    o(w("rate", Sort::Rate)),
    o(s("peakrate", Sort::Rate)),
    o(s("overhead", U16)),
    s("linklayer", LAYERS),
];

impl Sort {
    /// Reads a value of one word.
    pub(super) fn read(self, text: &str) -> core::option::Option<f64> {
        match self {
            Self::Whole(base, most) => lex::unsigned(text, base, most).map(|number| number as f64),
            Self::Signed(base) => lex::signed(text, base).map(|number| number as f64),
            Self::Kept(least, most) => lex::wrapped(text)
                .filter(|number| (least..=most).contains(number))
                .map(|number| number as f64),
            Self::Size => lex::size(text),
            Self::Cells => match text.split_once('/') {
                Some((size, cell)) => {
                    let is_power =
                        lex::unsigned(cell, 0, u64::from(u32::MAX)).is_some_and(u64::is_power_of_two);
                    lex::size(size).filter(|_| is_power)
                }
                None => lex::size(text),
            },
            Self::Rate => lex::rate(text).map(|rate| lex::bytes(rate) as f64),
            Self::Rate32 => lex::rate(text)
                .map(|rate| (rate / 8.0).trunc())
                .filter(|rate| (0.0..=f64::from(u32::MAX)).contains(rate)),
            Self::Time => lex::time(text).map(|time| f64::from(lex::field(time))),
            // 15.625 ticks of 64 ns are a microsecond.
            Self::Ticks => {
                lex::time(text).map(|time| f64::from(lex::field(time))).filter(|time| *time < 274_877_907.0)
            }
            Self::Nanos => lex::nanos(text),
            Self::Percent => {
                let (number, rest) = lex::real(text)?;
                let is_outside = !number.is_nan() && !(0.0..=100.0).contains(&number);
                (!is_outside && (rest.is_empty() || rest == "%")).then_some(number)
            }
            Self::Share => {
                lex::real(text).map(|(number, _)| number).filter(|number| !(*number < 0.0 || *number > 1.0))
            }
            Self::Real => lex::real(text).map(|(number, _)| number),
            Self::Of(words) => words.iter().position(|word| *word == text).map(|index| index as f64),
            Self::Any => Some(0.0),
            Self::Gate | Self::Flag | Self::Bands | Self::Numbers | Self::Queues | Self::Curve => None,
        }
    }

    /// Returns what it takes, in words.
    pub(super) fn in_words(self) -> String {
        let words = match self {
            Self::Whole(10, most) if most < 0x1_0000 => return format!("a decimal number up to {most}"),
            Self::Whole(_, most) if most < 0x1_0000 => return format!("a whole number up to {most}"),
            Self::Kept(least, most) => return format!("a whole number from {least} to {most}"),
            Self::Of(words) => return format!("one of `{}`", words.join("`, `")),
            Self::Whole(10, _) | Self::Signed(10) => "a decimal number",
            Self::Whole(16, _) => "a hexadecimal number",
            Self::Whole(..) | Self::Numbers | Self::Signed(_) => "a whole number",
            Self::Size | Self::Cells => "a size such as `1500` or `64kb`",
            Self::Rate | Self::Rate32 => "a rate such as `10mbit`",
            Self::Time | Self::Ticks | Self::Nanos => "a time such as `20ms`",
            Self::Percent => "a percentage such as `10%`",
            Self::Share => "a number from 0 to 1",
            Self::Real => "a number",
            Self::Flag => "no value",
            Self::Any => "a word",
            Self::Bands => "numbers of bands",
            Self::Queues => "queues such as `2@0`",
            Self::Curve => {
                "a service curve: `[m1 RATE d TIME] m2 RATE` or `[[umax SIZE] dmax TIME] rate RATE`"
            }
            Self::Gate => "`S MASK INTERVAL`",
        };
        words.to_owned()
    }
}
