//! Vocabulary of `tc`: the kinds of disciplines, and the settings of each with the types of their values.
//!
//! The vocabulary is that of iproute2 6.x. It includes settings that a scenario cannot express; the import
//! refuses those by name.

use core::fmt;

use crate::value::Takes;

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
    pub takes: Takes,
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

const fn word(name: &'static str, takes: Takes) -> Word {
    Word { name, synonyms: &[], takes }
}

const fn aka(synonyms: &'static [&'static str], name: &'static str, takes: Takes) -> Word {
    Word { name, synonyms, takes }
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

const LINK_LAYERS: Takes = Takes::Choice(&["ethernet", "atm", "adsl"]);

/// All kinds, in the order of [`Kind`].
pub const LANGUAGES: &[Language] = &[
    leaf(Kind::Bfifo, "bfifo", &[word("limit", Takes::Size)]),
    leaf(Kind::Cake, "cake", CAKE),
    classful(Kind::Cbq, "cbq", CBQ, CBQ_CLASS),
    leaf(Kind::Choke, "choke", CHOKE),
    leaf(Kind::Codel, "codel", CODEL),
    classful(Kind::Drr, "drr", &[], &[word("quantum", Takes::Size)]),
    leaf(Kind::Dualpi2, "dualpi2", DUALPI2),
    classful(Kind::Ets, "ets", ETS, &[word("quantum", Takes::Size)]),
    leaf(Kind::FqCodel, "fq_codel", FQ_CODEL),
    leaf(Kind::FqPie, "fq_pie", FQ_PIE),
    classful(Kind::Hfsc, "hfsc", &[word("default", Takes::Minor)], HFSC_CLASS),
    classful(Kind::Htb, "htb", HTB, HTB_CLASS),
    leaf(Kind::Pfifo, "pfifo", &[word("limit", Takes::Packets)]),
    leaf(Kind::Pie, "pie", PIE),
    leaf(Kind::Prio, "prio", &[word("bands", Takes::Number), word("priomap", Takes::Numbers)]),
    classful(Kind::Qfq, "qfq", &[], &[word("weight", Takes::Number), word("maxpkt", Takes::Size)]),
    leaf(Kind::Red, "red", RED),
    leaf(Kind::Sfq, "sfq", SFQ),
    leaf(Kind::Tbf, "tbf", TBF),
];

const CAKE: &[Word] = &[
    word("bandwidth", Takes::Rate),
    word("unlimited", Takes::Flag),
    word("autorate-ingress", Takes::Flag),
    word("rtt", Takes::Time),
    word("datacentre", Takes::Flag),
    word("lan", Takes::Flag),
    word("metro", Takes::Flag),
    word("regional", Takes::Flag),
    word("internet", Takes::Flag),
    word("oceanic", Takes::Flag),
    word("satellite", Takes::Flag),
    word("interplanetary", Takes::Flag),
    word("besteffort", Takes::Flag),
    word("precedence", Takes::Flag),
    word("diffserv3", Takes::Flag),
    word("diffserv4", Takes::Flag),
    word("diffserv8", Takes::Flag),
    word("flowblind", Takes::Flag),
    word("srchost", Takes::Flag),
    word("dsthost", Takes::Flag),
    word("hosts", Takes::Flag),
    word("flows", Takes::Flag),
    word("dual-srchost", Takes::Flag),
    word("dual-dsthost", Takes::Flag),
    word("triple-isolate", Takes::Flag),
    word("nat", Takes::Switch),
    word("wash", Takes::Switch),
    word("ingress", Takes::Flag),
    word("egress", Takes::Flag),
    word("ack-filter", Takes::Flag),
    word("ack-filter-aggressive", Takes::Flag),
    word("no-ack-filter", Takes::Flag),
    word("split-gso", Takes::Flag),
    word("no-split-gso", Takes::Flag),
    word("raw", Takes::Flag),
    word("conservative", Takes::Flag),
    word("atm", Takes::Flag),
    word("noatm", Takes::Flag),
    word("ptm", Takes::Flag),
    word("overhead", Takes::Offset),
    word("mpu", Takes::Size),
    word("memlimit", Takes::Size),
];

const CBQ: &[Word] = &[
    word("bandwidth", Takes::Rate),
    word("avpkt", Takes::Size),
    word("cell", Takes::Size),
    word("mpu", Takes::Size),
    word("ewma", Takes::Number),
    word("linklayer", LINK_LAYERS),
];

const CBQ_CLASS: &[Word] = &[
    word("bandwidth", Takes::Rate),
    word("rate", Takes::Rate),
    word("weight", Takes::Rate),
    word("prio", Takes::Number),
    word("allot", Takes::Size),
    word("avpkt", Takes::Size),
    word("cell", Takes::Size),
    word("mpu", Takes::Size),
    word("ewma", Takes::Number),
    word("maxburst", Takes::Number),
    word("minburst", Takes::Number),
    word("minidle", Takes::Time),
    word("bounded", Takes::Flag),
    word("isolated", Takes::Flag),
    word("linklayer", LINK_LAYERS),
];

const CHOKE: &[Word] = &[
    word("limit", Takes::Packets),
    word("min", Takes::Packets),
    word("max", Takes::Packets),
    word("avpkt", Takes::Size),
    word("burst", Takes::Number),
    word("bandwidth", Takes::Rate),
    word("probability", Takes::Real),
    word("ecn", Takes::Flag),
];

const CODEL: &[Word] = &[
    word("limit", Takes::Packets),
    word("target", Takes::Time),
    word("interval", Takes::Time),
    word("ecn", Takes::Switch),
    word("ce_threshold", Takes::Time),
];

const DUALPI2: &[Word] = &[
    word("limit", Takes::Packets),
    word("memlimit", Takes::Size),
    word("target", Takes::Time),
    word("tupdate", Takes::Time),
    word("max_rtt", Takes::Time),
    word("typical_rtt", Takes::Time),
    word("alpha", Takes::Real),
    word("beta", Takes::Real),
    word("coupling_factor", Takes::Number),
    word("step_thresh", Takes::Time),
    word("min_qlen_step", Takes::Packets),
    word("classic_protection", Takes::Percent),
    word("drop_on_overload", Takes::Flag),
    word("overflow", Takes::Flag),
    word("drop_enqueue", Takes::Flag),
    word("drop_dequeue", Takes::Flag),
    word("l4s_ect", Takes::Flag),
    word("any_ect", Takes::Flag),
    word("split_gso", Takes::Switch),
];

const ETS: &[Word] = &[
    word("bands", Takes::Number),
    word("strict", Takes::Number),
    word("quanta", Takes::Sizes),
    word("priomap", Takes::Numbers),
];

const FQ_CODEL: &[Word] = &[
    word("limit", Takes::Packets),
    word("flows", Takes::Number),
    word("target", Takes::Time),
    word("interval", Takes::Time),
    word("quantum", Takes::Size),
    word("ecn", Takes::Switch),
    word("ce_threshold", Takes::Time),
    word("memory_limit", Takes::Size),
    word("drop_batch", Takes::Number),
];

const FQ_PIE: &[Word] = &[
    word("limit", Takes::Packets),
    word("flows", Takes::Number),
    word("target", Takes::Time),
    word("tupdate", Takes::Time),
    word("alpha", Takes::Number),
    word("beta", Takes::Number),
    word("quantum", Takes::Size),
    word("memory_limit", Takes::Size),
    word("ecn_prob", Takes::Number),
    word("ecn", Takes::Switch),
    word("bytemode", Takes::Switch),
    word("dq_rate_estimator", Takes::Flag),
    word("no_dq_rate_estimator", Takes::Flag),
];

const HFSC_CLASS: &[Word] =
    &[word("sc", Takes::Curve), word("rt", Takes::Curve), word("ls", Takes::Curve), word("ul", Takes::Curve)];

const HTB: &[Word] = &[
    word("default", Takes::Minor),
    word("r2q", Takes::Number),
    word("direct_qlen", Takes::Packets),
    word("offload", Takes::Flag),
];

const HTB_CLASS: &[Word] = &[
    word("rate", Takes::Rate),
    word("ceil", Takes::Rate),
    aka(&["buffer", "maxburst"], "burst", Takes::Size),
    aka(&["cbuffer", "cmaxburst"], "cburst", Takes::Size),
    word("quantum", Takes::Size),
    word("prio", Takes::Number),
    word("mtu", Takes::Size),
    word("mpu", Takes::Size),
    word("overhead", Takes::Size),
    word("cell", Takes::Size),
    word("linklayer", LINK_LAYERS),
];

const PIE: &[Word] = &[
    word("limit", Takes::Packets),
    word("target", Takes::Time),
    word("tupdate", Takes::Time),
    word("alpha", Takes::Number),
    word("beta", Takes::Number),
    word("ecn", Takes::Switch),
    word("bytemode", Takes::Switch),
    word("dq_rate_estimator", Takes::Flag),
    word("no_dq_rate_estimator", Takes::Flag),
];

const RED: &[Word] = &[
    word("limit", Takes::Size),
    word("min", Takes::Size),
    word("max", Takes::Size),
    word("avpkt", Takes::Size),
    word("burst", Takes::Number),
    word("bandwidth", Takes::Rate),
    word("probability", Takes::Real),
    word("ecn", Takes::Flag),
    word("harddrop", Takes::Flag),
    word("adaptive", Takes::Flag),
    word("nodrop", Takes::Flag),
];

const SFQ: &[Word] = &[
    word("limit", Takes::Packets),
    word("perturb", Takes::Seconds),
    word("quantum", Takes::Size),
    word("divisor", Takes::Number),
    word("flows", Takes::Number),
    word("depth", Takes::Number),
    word("headdrop", Takes::Flag),
    word("redflowlimit", Takes::Size),
];

const TBF: &[Word] = &[
    word("rate", Takes::Rate),
    aka(&["buffer", "maxburst"], "burst", Takes::Size),
    word("limit", Takes::Size),
    word("latency", Takes::Time),
    word("peakrate", Takes::Rate),
    aka(&["minburst"], "mtu", Takes::Size),
    word("mpu", Takes::Size),
    word("overhead", Takes::Size),
    word("cell", Takes::Size),
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
