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
    CakeMq,
    Cbq,
    Choke,
    Clsact,
    Codel,
    Drr,
    Dualpi2,
    Ets,
    FqCodel,
    FqPie,
    Hfsc,
    Htb,
    Ingress,
    Mq,
    Netem,
    Noqueue,
    Pfifo,
    PfifoFast,
    PfifoHeadDrop,
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

/// Kinds that hold no queue of a scenario: they are the device's, or part of the line behind it.
const DEVICE_KINDS: [Kind; 7] =
    [Kind::CakeMq, Kind::Clsact, Kind::Ingress, Kind::Mq, Kind::Netem, Kind::Noqueue, Kind::PfifoFast];

/// Kinds and the versions of Linux that have them: the first, and the first without it.
const VERSIONS: &[(Kind, Version, Version)] = &[
    (Kind::CakeMq, Version(7, 0), Version::NEVER),
    (Kind::Cake, Version(4, 19), Version::NEVER),
    (Kind::Cbq, Version(0, 0), Version(6, 3)),
    (Kind::Dualpi2, Version(6, 17), Version::NEVER),
    (Kind::Ets, Version(5, 6), Version::NEVER),
    (Kind::FqPie, Version(5, 6), Version::NEVER),
];

/// Version of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u16, pub u16);

impl Version {
    const NEVER: Self = Self(u16::MAX, 0);
}

impl core::str::FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(['.', '-']).map(str::parse);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Self(major, minor)),
            _ => Err(format!("`{text}` is not a version of Linux such as `6.1`")),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Least and greatest values that the kernel or `tc` takes: tc-cake(8), tc-pie(8), tc-fq_pie(8), tc-red(8),
/// tc-sfq(8), tc-dualpi2(8), and for `qfq` systemd.network(5).
const RANGES: &[(&[Kind], &str, [f64; 2])] = &[
    (&[Kind::Cake, Kind::CakeMq], "overhead", [-64.0, 256.0]),
    (&[Kind::Cake, Kind::CakeMq], "mpu", [0.0, 256.0]),
    (&[Kind::Choke, Kind::Red], "probability", [0.0, 1.0]),
    (&[Kind::Dualpi2], "classic_protection", [0.0, 100.0]),
    (&[Kind::Dualpi2], "coupling_factor", [0.0, 255.0]),
    (&[Kind::FqPie, Kind::Pie], "alpha", [0.0, 32.0]),
    (&[Kind::FqPie, Kind::Pie], "beta", [0.0, 32.0]),
    (&[Kind::Netem], "loss", [0.0, 100.0]),
    (&[Kind::Qfq], "maxpkt", [512.0, 65_536.0]),
    (&[Kind::Qfq], "weight", [1.0, 1024.0]),
    (&[Kind::Sfq], "divisor", [1.0, 65_536.0]),
];

/// All kinds, in the order of [`Kind`].
pub const LANGUAGES: &[Language] = &[
    leaf(Kind::Bfifo, "bfifo", &[word("limit", ValueType::Size)]),
    leaf(Kind::Cake, "cake", CAKE),
    leaf(Kind::CakeMq, "cake_mq", CAKE),
    classful(Kind::Cbq, "cbq", CBQ, CBQ_CLASS),
    leaf(Kind::Choke, "choke", CHOKE),
    leaf(Kind::Clsact, "clsact", BLOCKS),
    leaf(Kind::Codel, "codel", CODEL),
    classful(Kind::Drr, "drr", &[], &[word("quantum", ValueType::Size)]),
    leaf(Kind::Dualpi2, "dualpi2", DUALPI2),
    classful(Kind::Ets, "ets", ETS, &[word("quantum", ValueType::Size)]),
    leaf(Kind::FqCodel, "fq_codel", FQ_CODEL),
    leaf(Kind::FqPie, "fq_pie", FQ_PIE),
    classful(Kind::Hfsc, "hfsc", &[word("default", ValueType::Minor)], HFSC_CLASS),
    classful(Kind::Htb, "htb", HTB, HTB_CLASS),
    leaf(Kind::Ingress, "ingress", BLOCKS),
    leaf(Kind::Mq, "mq", &[]),
    leaf(Kind::Netem, "netem", NETEM),
    leaf(Kind::Noqueue, "noqueue", &[]),
    leaf(Kind::Pfifo, "pfifo", &[word("limit", ValueType::Packets)]),
    leaf(Kind::PfifoFast, "pfifo_fast", PRIO),
    leaf(Kind::PfifoHeadDrop, "pfifo_head_drop", &[word("limit", ValueType::Packets)]),
    leaf(Kind::Pie, "pie", PIE),
    leaf(Kind::Prio, "prio", PRIO),
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
    word("ethernet", ValueType::Flag),
    word("ether-vlan", ValueType::Flag),
    word("docsis", ValueType::Flag),
    word("pppoe-ptm", ValueType::Flag),
    word("bridged-ptm", ValueType::Flag),
    word("pppoa-vcmux", ValueType::Flag),
    word("pppoa-llc", ValueType::Flag),
    word("pppoe-vcmux", ValueType::Flag),
    word("pppoe-llcsnap", ValueType::Flag),
    word("bridged-vcmux", ValueType::Flag),
    word("bridged-llcsnap", ValueType::Flag),
    word("ipoa-vcmux", ValueType::Flag),
    word("ipoa-llcsnap", ValueType::Flag),
    word("no_overhead", ValueType::Flag),
    word("fwmark", ValueType::Mask),
];

/// Blocks of filters that several devices share.
const BLOCKS: &[Word] = &[word("ingress_block", ValueType::Number), word("egress_block", ValueType::Number)];

const NETEM: &[Word] = &[
    word("limit", ValueType::Packets),
    word("delay", ValueType::Time),
    word("loss", ValueType::Percent),
    word("rate", ValueType::Rate),
];

const PRIO: &[Word] = &[word("bands", ValueType::Number), word("priomap", ValueType::Numbers)];

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
    word("step_thresh", ValueType::Threshold),
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
    word("min", ValueType::Size),
    word("max", ValueType::Size),
    word("avpkt", ValueType::Size),
    word("burst", ValueType::Number),
    word("probability", ValueType::Real),
    word("ecn", ValueType::Flag),
    word("harddrop", ValueType::Flag),
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

    /// Returns the first version of Linux that has it; `None` for any.
    pub fn since(self) -> Option<Version> {
        let (_, first, _) = VERSIONS.iter().find(|(kind, ..)| *kind == self)?;
        (*first > Version(0, 0)).then_some(*first)
    }

    /// Returns the first version of Linux without it; `None` if there is none.
    pub fn until(self) -> Option<Version> {
        let (.., end) = VERSIONS.iter().find(|(kind, ..)| *kind == self)?;
        (*end < Version::NEVER).then_some(*end)
    }

    /// Returns why Linux of this version does not have it; `None` if it has it.
    pub fn missing_in(self, version: Version) -> Option<String> {
        let (_, first, end) = VERSIONS.iter().find(|(kind, ..)| *kind == self)?;
        if version < *first {
            return Some(format!("Linux has `{self}` from {first} on, not in {version}"));
        }
        (version >= *end).then(|| format!("Linux has no `{self}` since {end}"))
    }

    /// Returns the least and the greatest value of a setting; `None` if it has no known limits.
    pub fn range(self, name: &str) -> Option<[f64; 2]> {
        let of = |(kinds, known, _): &&(&[Self], &str, [f64; 2])| *known == name && kinds.contains(&self);
        RANGES.iter().find(of).map(|(.., range)| *range)
    }

    /// Returns its vocabulary.
    pub fn language(self) -> &'static Language {
        &LANGUAGES[self as usize]
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.language().name
    }

    /// Returns true if it is not a discipline of a scenario: the import translates it to something else.
    pub fn is_of_device(self) -> bool {
        DEVICE_KINDS.contains(&self)
    }

    /// Returns true if it only holds filters for what arrives or leaves.
    pub const fn is_hook(self) -> bool {
        matches!(self, Self::Ingress | Self::Clsact)
    }

    /// Returns true if the kernel lets no discipline stand in it.
    pub const fn is_leaf(self) -> bool {
        use Kind as K;
        matches!(self, K::Bfifo | K::Pfifo | K::PfifoFast | K::PfifoHeadDrop | K::Sfq | K::Choke)
            || matches!(self, K::Cake | K::CakeMq | K::Dualpi2 | K::Noqueue)
            || matches!(self, K::Codel | K::FqCodel | K::Pie | K::FqPie)
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
