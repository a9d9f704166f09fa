//! Vocabulary of `tc`: the kinds of disciplines, and the settings of each with the types of their values.
//!
//! The vocabulary is that of iproute2 6.x. It includes settings that a scenario cannot express; the import
//! refuses those by name.

use core::fmt;

use crate::value::ValueType;

/// Kind of a discipline, and of its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is called as in `tc`")]
pub enum Kind {
    Bfifo,
    Cake,
    Cbq,
    Choke,
    Codel,
    Drr,
    Dualpi2,
    Ets,
    FqCodel,
    FqPie,
    Hfsc,
    Htb,
    Pfifo,
    Pie,
    Prio,
    Qfq,
    Red,
    Sfq,
    Tbf,
}

/// A setting of a discipline or a class.
#[derive(Debug, PartialEq)]
pub struct Word {
    /// Name.
    pub name: &'static str,
    /// Synonyms; printed as [`name`](Self::name).
    pub synonyms: &'static [&'static str],
    /// Type of its value.
    pub value_type: ValueType,
}

/// Vocabulary of a kind.
#[derive(Debug)]
pub struct Language {
    /// Kind.
    pub kind: Kind,
    /// Name of the kind.
    pub name: &'static str,
    /// Settings of a discipline.
    pub qdisc: &'static [Word],
    /// Settings of a class; `None` if the kind has no classes, or classes without settings.
    pub class: Option<&'static [Word]>,
}

const fn word(name: &'static str, value_type: ValueType) -> Word {
    Word { name, synonyms: &[], value_type }
}

const fn aka(synonyms: &'static [&'static str], name: &'static str, value_type: ValueType) -> Word {
    Word { name, synonyms, value_type }
}

const fn leaf(kind: Kind, name: &'static str, qdisc: &'static [Word]) -> Language {
    Language { kind, name, qdisc, class: None }
}

const fn classful(
    kind: Kind,
    name: &'static str,
    qdisc: &'static [Word],
    class: &'static [Word],
) -> Language {
    Language { kind, name, qdisc, class: Some(class) }
}

const LINK_LAYERS: ValueType = ValueType::Choice(&["ethernet", "atm", "adsl"]);

/// All kinds, in the order of [`Kind`].
pub const LANGUAGES: &[Language] = &[
    leaf(Kind::Bfifo, "bfifo", &[word("limit", ValueType::Size)]),
    leaf(Kind::Cake, "cake", CAKE),
    classful(Kind::Cbq, "cbq", CBQ, CBQ_CLASS),
    leaf(Kind::Choke, "choke", CHOKE),
    leaf(Kind::Codel, "codel", CODEL),
    classful(Kind::Drr, "drr", &[], &[word("quantum", ValueType::Size)]),
    leaf(Kind::Dualpi2, "dualpi2", DUALPI2),
    classful(Kind::Ets, "ets", ETS, &[word("quantum", ValueType::Size)]),
    leaf(Kind::FqCodel, "fq_codel", FQ_CODEL),
    leaf(Kind::FqPie, "fq_pie", FQ_PIE),
    classful(Kind::Hfsc, "hfsc", &[word("default", ValueType::Minor)], HFSC_CLASS),
    classful(Kind::Htb, "htb", HTB, HTB_CLASS),
    leaf(Kind::Pfifo, "pfifo", &[word("limit", ValueType::Packets)]),
    leaf(Kind::Pie, "pie", PIE),
    leaf(Kind::Prio, "prio", &[word("bands", ValueType::Number), word("priomap", ValueType::Numbers)]),
    classful(Kind::Qfq, "qfq", &[], &[word("weight", ValueType::Number), word("maxpkt", ValueType::Size)]),
    leaf(Kind::Red, "red", RED),
    leaf(Kind::Sfq, "sfq", SFQ),
    leaf(Kind::Tbf, "tbf", TBF),
];

const CAKE: &[Word] = &[
    word("bandwidth", ValueType::Rate),
    word("unlimited", ValueType::Flag),
    word("autorate-ingress", ValueType::Flag),
    word("rtt", ValueType::Time),
    word("datacentre", ValueType::Flag),
    word("lan", ValueType::Flag),
    word("metro", ValueType::Flag),
    word("regional", ValueType::Flag),
    word("internet", ValueType::Flag),
    word("oceanic", ValueType::Flag),
    word("satellite", ValueType::Flag),
    word("interplanetary", ValueType::Flag),
    word("besteffort", ValueType::Flag),
    word("precedence", ValueType::Flag),
    word("diffserv3", ValueType::Flag),
    word("diffserv4", ValueType::Flag),
    word("diffserv8", ValueType::Flag),
    word("flowblind", ValueType::Flag),
    word("srchost", ValueType::Flag),
    word("dsthost", ValueType::Flag),
    word("hosts", ValueType::Flag),
    word("flows", ValueType::Flag),
    word("dual-srchost", ValueType::Flag),
    word("dual-dsthost", ValueType::Flag),
    word("triple-isolate", ValueType::Flag),
    word("nat", ValueType::Switch),
    word("wash", ValueType::Switch),
    word("ingress", ValueType::Flag),
    word("egress", ValueType::Flag),
    word("ack-filter", ValueType::Flag),
    word("ack-filter-aggressive", ValueType::Flag),
    word("no-ack-filter", ValueType::Flag),
    word("split-gso", ValueType::Flag),
    word("no-split-gso", ValueType::Flag),
    word("raw", ValueType::Flag),
    word("conservative", ValueType::Flag),
    word("atm", ValueType::Flag),
    word("noatm", ValueType::Flag),
    word("ptm", ValueType::Flag),
    word("overhead", ValueType::Offset),
    word("mpu", ValueType::Size),
    word("memlimit", ValueType::Size),
];

const CBQ: &[Word] = &[
    word("bandwidth", ValueType::Rate),
    word("avpkt", ValueType::Size),
    word("cell", ValueType::Size),
    word("mpu", ValueType::Size),
    word("ewma", ValueType::Number),
    word("linklayer", LINK_LAYERS),
];

const CBQ_CLASS: &[Word] = &[
    word("bandwidth", ValueType::Rate),
    word("rate", ValueType::Rate),
    word("weight", ValueType::Rate),
    word("prio", ValueType::Number),
    word("allot", ValueType::Size),
    word("avpkt", ValueType::Size),
    word("cell", ValueType::Size),
    word("mpu", ValueType::Size),
    word("ewma", ValueType::Number),
    word("maxburst", ValueType::Number),
    word("minburst", ValueType::Number),
    word("minidle", ValueType::Time),
    word("bounded", ValueType::Flag),
    word("isolated", ValueType::Flag),
    word("linklayer", LINK_LAYERS),
];

const CHOKE: &[Word] = &[
    word("limit", ValueType::Packets),
    word("min", ValueType::Packets),
    word("max", ValueType::Packets),
    word("avpkt", ValueType::Size),
    word("burst", ValueType::Number),
    word("bandwidth", ValueType::Rate),
    word("probability", ValueType::Real),
    word("ecn", ValueType::Flag),
];

const CODEL: &[Word] = &[
    word("limit", ValueType::Packets),
    word("target", ValueType::Time),
    word("interval", ValueType::Time),
    word("ecn", ValueType::Switch),
    word("ce_threshold", ValueType::Time),
];

const DUALPI2: &[Word] = &[
    word("limit", ValueType::Packets),
    word("memlimit", ValueType::Size),
    word("target", ValueType::Time),
    word("tupdate", ValueType::Time),
    word("max_rtt", ValueType::Time),
    word("typical_rtt", ValueType::Time),
    word("alpha", ValueType::Real),
    word("beta", ValueType::Real),
    word("coupling_factor", ValueType::Number),
    word("step_thresh", ValueType::Time),
    word("min_qlen_step", ValueType::Packets),
    word("classic_protection", ValueType::Percent),
    word("drop_on_overload", ValueType::Flag),
    word("overflow", ValueType::Flag),
    word("drop_enqueue", ValueType::Flag),
    word("drop_dequeue", ValueType::Flag),
    word("l4s_ect", ValueType::Flag),
    word("any_ect", ValueType::Flag),
    word("split_gso", ValueType::Switch),
];

const ETS: &[Word] = &[
    word("bands", ValueType::Number),
    word("strict", ValueType::Number),
    word("quanta", ValueType::Sizes),
    word("priomap", ValueType::Numbers),
];

const FQ_CODEL: &[Word] = &[
    word("limit", ValueType::Packets),
    word("flows", ValueType::Number),
    word("target", ValueType::Time),
    word("interval", ValueType::Time),
    word("quantum", ValueType::Size),
    word("ecn", ValueType::Switch),
    word("ce_threshold", ValueType::Time),
    word("memory_limit", ValueType::Size),
    word("drop_batch", ValueType::Number),
];

const FQ_PIE: &[Word] = &[
    word("limit", ValueType::Packets),
    word("flows", ValueType::Number),
    word("target", ValueType::Time),
    word("tupdate", ValueType::Time),
    word("alpha", ValueType::Number),
    word("beta", ValueType::Number),
    word("quantum", ValueType::Size),
    word("memory_limit", ValueType::Size),
    word("ecn_prob", ValueType::Number),
    word("ecn", ValueType::Switch),
    word("bytemode", ValueType::Switch),
    word("dq_rate_estimator", ValueType::Flag),
    word("no_dq_rate_estimator", ValueType::Flag),
];

const HFSC_CLASS: &[Word] = &[
    word("sc", ValueType::Curve),
    word("rt", ValueType::Curve),
    word("ls", ValueType::Curve),
    word("ul", ValueType::Curve),
];

const HTB: &[Word] = &[
    word("default", ValueType::Minor),
    word("r2q", ValueType::Number),
    word("direct_qlen", ValueType::Packets),
    word("offload", ValueType::Flag),
];

const HTB_CLASS: &[Word] = &[
    word("rate", ValueType::Rate),
    word("ceil", ValueType::Rate),
    aka(&["buffer", "maxburst"], "burst", ValueType::Size),
    aka(&["cbuffer", "cmaxburst"], "cburst", ValueType::Size),
    word("quantum", ValueType::Size),
    word("prio", ValueType::Number),
    word("mtu", ValueType::Size),
    word("mpu", ValueType::Size),
    word("overhead", ValueType::Size),
    word("cell", ValueType::Size),
    word("linklayer", LINK_LAYERS),
];

const PIE: &[Word] = &[
    word("limit", ValueType::Packets),
    word("target", ValueType::Time),
    word("tupdate", ValueType::Time),
    word("alpha", ValueType::Number),
    word("beta", ValueType::Number),
    word("ecn", ValueType::Switch),
    word("bytemode", ValueType::Switch),
    word("dq_rate_estimator", ValueType::Flag),
    word("no_dq_rate_estimator", ValueType::Flag),
];

const RED: &[Word] = &[
    word("limit", ValueType::Size),
    word("min", ValueType::Size),
    word("max", ValueType::Size),
    word("avpkt", ValueType::Size),
    word("burst", ValueType::Number),
    word("bandwidth", ValueType::Rate),
    word("probability", ValueType::Real),
    word("ecn", ValueType::Flag),
    word("harddrop", ValueType::Flag),
    word("adaptive", ValueType::Flag),
    word("nodrop", ValueType::Flag),
];

const SFQ: &[Word] = &[
    word("limit", ValueType::Packets),
    word("perturb", ValueType::Seconds),
    word("quantum", ValueType::Size),
    word("divisor", ValueType::Number),
    word("flows", ValueType::Number),
    word("depth", ValueType::Number),
    word("headdrop", ValueType::Flag),
    word("redflowlimit", ValueType::Size),
];

const TBF: &[Word] = &[
    word("rate", ValueType::Rate),
    aka(&["buffer", "maxburst"], "burst", ValueType::Size),
    word("limit", ValueType::Size),
    word("latency", ValueType::Time),
    word("peakrate", ValueType::Rate),
    aka(&["minburst"], "mtu", ValueType::Size),
    word("mpu", ValueType::Size),
    word("overhead", ValueType::Size),
    word("cell", ValueType::Size),
    word("linklayer", LINK_LAYERS),
];

impl Kind {
    /// Returns the kind called `name` in `tc`.
    pub fn of(name: &str) -> Option<Self> {
        LANGUAGES.iter().find(|language| language.name == name).map(|language| language.kind)
    }

    /// Returns its vocabulary.
    pub fn language(self) -> &'static Language {
        &LANGUAGES[self as usize]
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.language().name
    }

    /// Returns true if its classes are created by `tc class`, not with the discipline.
    pub const fn has_explicit_classes(self) -> bool {
        matches!(self, Self::Htb | Self::Hfsc | Self::Cbq | Self::Drr | Self::Qfq)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_order_of_the_kinds() {
        for language in LANGUAGES {
            assert_eq!(language.kind.language().name, language.name);
            assert_eq!(Kind::of(language.name), Some(language.kind));
        }
    }
}
