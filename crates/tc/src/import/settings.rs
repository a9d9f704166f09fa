//! Translates settings of `tc` to parameters of a scenario.
//!
//! Names are those of `tc` in both; the exceptions are the tables of this file. Settings without effect in a
//! scenario are in a [list](HARMLESS) with the reason, and every import reports which of them it left out.

use lockgate_engine::overhead::{Line, PacketOverhead};
use lockgate_engine::units::{Bytes, Duration, Overhead};
use lockgate_scenario::reference::Parameter;

use crate::language::Kind;
use crate::problem::Problem;
use crate::syntax::Setting;
use crate::value::Value;

/// Parameters of a queue, in the order of the settings.
pub(crate) type Parameters = Vec<(&'static str, Value)>;

/// A setting that is left out because it has no effect in a scenario.
struct Harmless {
    kinds: &'static [Kind],
    name: &'static str,
    /// The only value that is left out; `None` for any.
    only: Option<&'static str>,
    why: &'static str,
}

const fn harmless(kinds: &'static [Kind], name: &'static str, why: &'static str) -> Harmless {
    Harmless { kinds, name, only: None, why }
}

const EXACT: &str = "a step of the kernel's table of rates: times are exact here";
const DEFAULT: &str = "it is the default";
const SINGLE: &str = "all packets are single frames";

/// All settings that are left out. `docs/concepts/conformance.md` has the same list.
const HARMLESS: &[Harmless] = &[
    harmless(&[Kind::Cbq, Kind::Htb, Kind::Tbf], "cell", EXACT),
    harmless(&[Kind::Htb], "mtu", EXACT),
    Harmless {
        only: Some("ethernet"),
        ..harmless(&[Kind::Cbq, Kind::Htb, Kind::Tbf], "linklayer", "frames are counted as they are")
    },
    harmless(&[Kind::Htb], "direct_qlen", "every packet has a class, or the run is refused"),
    harmless(&[Kind::Pie, Kind::FqPie], "no_dq_rate_estimator", "waits are measured here"),
    harmless(&[Kind::Cake], "nonat", DEFAULT),
    harmless(&[Kind::Cake], "egress", DEFAULT),
    harmless(&[Kind::Cake], "split-gso", SINGLE),
    harmless(&[Kind::Cake], "no-split-gso", SINGLE),
    harmless(&[Kind::Dualpi2], "split_gso", SINGLE),
    harmless(&[Kind::Dualpi2], "no_split_gso", SINGLE),
];

/// Settings that are left out of a script, although they have an effect on a kernel's packets: a comparison
/// with a kernel's runs refuses them.
const NAMED: &[Harmless] = &[
    harmless(&[Kind::Cake], "unlimited", DEFAULT),
    harmless(&[Kind::Htb], "offload", "the queue is in software here"),
];

/// Settings whose word is the value of a parameter, such as `besteffort` of `cake`.
const WORDS: &[(Kind, &str, &[&str])] = &[
    (Kind::Cake, "diffserv", &["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"]),
    (
        Kind::Cake,
        "isolation",
        &[
            "flowblind",
            "srchost",
            "dsthost",
            "hosts",
            "flows",
            "dual-srchost",
            "dual-dsthost",
            "triple-isolate",
        ],
    ),
    (Kind::Cake, "framing", &["atm", "noatm", "ptm"]),
    (Kind::Dualpi2, "overload", &["drop_on_overload", "overflow"]),
    (Kind::Dualpi2, "drop", &["drop_enqueue", "drop_dequeue"]),
    (Kind::Dualpi2, "ect", &["l4s_ect", "any_ect"]),
];

/// Returns the words that are the values of a parameter, such as those of `diffserv` of `cake`.
pub(crate) fn words_of(kind: Kind, parameter: &str) -> Option<&'static [&'static str]> {
    WORDS.iter().find(|(of, name, _)| *of == kind && *name == parameter).map(|(.., words)| *words)
}

/// Named round-trip times of `cake` (tc-cake(8)).
const ROUND_TRIPS: [(&str, Duration); 8] = [
    ("datacentre", Duration::from_micros(100)),
    ("lan", Duration::from_millis(1)),
    ("metro", Duration::from_millis(10)),
    ("regional", Duration::from_millis(30)),
    ("internet", Duration::from_millis(100)),
    ("oceanic", Duration::from_millis(300)),
    ("satellite", Duration::from_secs(1)),
    ("interplanetary", Duration::from_secs(1000)),
];

/// Returns the overhead that a word of `cake` sets: the name of a line, or `no_overhead` (tc-cake(8)).
fn line_overhead(word: &str) -> Option<PacketOverhead> {
    let none = || (word == "no_overhead").then(PacketOverhead::default);
    Line::named(word).map(|line| line.overhead).or_else(none)
}

/// Words of `cake` for its filter of acknowledgements, and the values of `ack_filter`.
const ACK_FILTERS: [(&str, Value); 3] = [
    ("no-ack-filter", Value::Switch(false)),
    ("ack-filter", Value::Switch(true)),
    ("ack-filter-aggressive", Value::Choice("aggressive")),
];

/// Returns the word of a value of `ack_filter`.
pub(crate) fn ack_filter_word(value: &toml::Value) -> Option<&'static str> {
    let is_meant = |known: &Value| match known {
        Value::Switch(is_on) => value.as_bool() == Some(*is_on),
        Value::Choice(word) => value.as_str() == Some(*word),
        _ => false,
    };
    ACK_FILTERS.iter().find(|(_, known)| is_meant(known)).map(|(word, _)| *word)
}

/// Words of `cake` whose bytes are not added to those before.
const RESETS: [&str; 3] = ["conservative", "no_overhead", "raw"];

/// Kinds of which `tc` takes a word again: the last one holds.
const LAST_HOLDS: [Kind; 7] =
    [Kind::Cake, Kind::CakeMq, Kind::Codel, Kind::Dualpi2, Kind::FqCodel, Kind::FqPie, Kind::Pie];

/// Bytes of the header of a VLAN.
const VLAN: i64 = 4;

/// Returns the name of a kind in scenarios.
pub(super) fn scenario_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Pfifo | Kind::PfifoHeadDrop | Kind::Bfifo => "fifo",
        Kind::CakeMq => "cake",
        Kind::PfifoFast => "prio",
        _ => kind.name(),
    }
}

/// Returns true for settings that sort packets into classes; [`super::classification`] reads them.
pub(super) fn is_classification(kind: Kind, name: &str) -> bool {
    match kind {
        Kind::Htb | Kind::Hfsc => name == "default",
        Kind::Prio | Kind::PfifoFast | Kind::Ets => ["bands", "priomap"].contains(&name),
        _ => false,
    }
}

/// Returns the reason why a setting has no effect in a scenario; `None` if it has one.
pub(super) fn reason(
    kind: Kind,
    setting: &Setting,
    all: &[Setting],
    is_general: bool,
) -> Option<&'static str> {
    // Without a peak rate there is no second bucket, so its depth has no effect.
    if kind == Kind::Tbf && *setting.name == "mtu" {
        return (!all.iter().any(|other| *other.name == "peakrate")).then_some("there is no `peakrate`");
    }
    // The last of competing words holds, so that this one is no default.
    let is_set = |other: &Setting| *other.name == *setting.name && other.value == Value::Switch(true);
    if setting.value == Value::Switch(false) && all.iter().any(is_set) {
        return None;
    }
    let text = setting.to_string();
    let is_meant = |harmless: &&Harmless| {
        let is_named = match (harmless.only, &setting.value) {
            (Some(only), value) => harmless.name == *setting.name && value.to_string() == only,
            (None, Value::Flag | Value::Switch(_)) => harmless.name == text,
            (None, _) => harmless.name == *setting.name,
        };
        is_named && harmless.kinds.contains(&kind)
    };
    let named = if is_general { NAMED } else { &[] };
    HARMLESS.iter().chain(named).find(is_meant).map(|harmless| harmless.why)
}

/// Translates one setting to parameters; `None` if none of these is meant.
pub(super) fn meaning(kind: Kind, setting: &Setting, known: &[Parameter]) -> Option<Parameters> {
    let name: &'static str = *setting.name;
    if let Some((_, rtt)) = ROUND_TRIPS.iter().find(|(word, _)| kind == Kind::Cake && *word == name) {
        return Some(vec![("rtt", Value::Time(*rtt))]);
    }
    if let Some(overhead) = line_overhead(name).filter(|_| kind == Kind::Cake) {
        let (Overhead(bytes), (mpu, framing)) = (overhead.bytes(), overhead.mpu_and_framing());
        let mut all = vec![("overhead", Value::Offset(bytes)), ("framing", Value::Choice(framing.name()))];
        if mpu > Bytes::ZERO {
            all.push(("mpu", Value::Size(mpu)));
        }
        return Some(all);
    }
    let is_word = |(of, _, words): &&(Kind, &str, &[&str])| *of == kind && words.contains(&name);
    if let Some((_, parameter, _)) = WORDS.iter().find(is_word) {
        return Some(vec![(parameter, Value::Choice(name))]);
    }
    if let Some((_, value)) = ACK_FILTERS.iter().find(|(word, _)| kind == Kind::Cake && *word == name) {
        return Some(vec![("ack_filter", value.clone())]);
    }
    // Framing of a shaper's own line.
    if let (Kind::Htb | Kind::Tbf, "linklayer", Value::Choice("atm" | "adsl")) = (kind, name, &setting.value)
    {
        let is_known = known.iter().any(|parameter| parameter.name == "framing");
        return is_known.then(|| vec![("framing", Value::Choice("atm"))]);
    }
    if (kind, name) == (Kind::Dualpi2, "typical_rtt") {
        return Some(vec![("target", setting.value.clone())]);
    }
    // tc-hfsc(8): `sc` sets both curves.
    if (kind, name) == (Kind::Hfsc, "sc") {
        return Some(vec![("rt", setting.value.clone()), ("ls", setting.value.clone())]);
    }
    known.iter().any(|parameter| parameter.name == name).then(|| vec![(name, setting.value.clone())])
}

/// Translates settings to parameters among `known`. Settings left out are added to `left_out`; with
/// `is_general` also those with an effect that a scenario cannot have.
///
/// # Errors
/// Returns the first setting that a scenario does not have, or that is given twice.
pub(super) fn translate(
    kind: Kind,
    settings: &[Setting],
    known: &[Parameter],
    left_out: &mut Vec<String>,
    is_general: bool,
) -> Result<Parameters, Problem> {
    let mut parameters = Parameters::new();
    for setting in settings {
        if is_classification(kind, *setting.name) {
            continue;
        }
        // The last word holds of these, too.
        let clears: &[&str] = match (kind, *setting.name) {
            (Kind::Cake | Kind::CakeMq, "egress") => &["ingress"],
            (Kind::Cake | Kind::CakeMq, "raw") => &["overhead", "mpu", "framing"],
            _ => &[],
        };
        parameters.retain(|(name, _)| !clears.contains(name));
        if let Some(why) = reason(kind, setting, settings, is_general) {
            left_out.push(format!("`{setting}` of `{kind}`: {why}"));
            continue;
        }
        // tc-cake(8): a header of a VLAN, also several of them.
        if kind == Kind::Cake && *setting.name == "ether-vlan" {
            match parameters.iter_mut().find(|(name, _)| *name == "overhead") {
                Some((_, Value::Offset(overhead))) => *overhead += VLAN,
                _ => parameters.push(("overhead", Value::Offset(VLAN))),
            }
            continue;
        }
        let unknown = || {
            let message =
                format!("`{}` of `{kind}` is not known to our `{}`", *setting.name, scenario_kind(kind));
            Problem::new(setting.name.at, message)
        };
        for (name, value) in meaning(kind, setting, known).ok_or_else(unknown)? {
            // Later words of `cake` replace those of a preset.
            // Bytes of words that name a line add to those before.
            if let (Kind::Cake | Kind::CakeMq, "overhead", Value::Offset(more)) = (kind, name, &value)
                && let Some((_, Value::Offset(overhead))) =
                    parameters.iter_mut().find(|(name, _)| *name == "overhead")
                && *setting.name != "overhead"
            {
                *overhead = if RESETS.contains(&setting.name) { *more } else { *overhead + more };
                continue;
            }
            if kind == Kind::Cake && ["ack_filter", "overhead", "mpu", "framing", "rtt"].contains(&name) {
                parameters.retain(|(other, _)| *other != name);
            }
            if is_general && LAST_HOLDS.contains(&kind) {
                parameters.retain(|(other, _)| *other != name);
            }
            if parameters.iter().any(|(other, _)| *other == name) {
                return Err(Problem::new(setting.name.at, format!("`{setting}` sets `{name}` again")));
            }
            parameters.push((name, value));
        }
    }
    Ok(parameters)
}

/// Returns the value of a setting, if it is given.
pub(crate) fn value_of<'a>(settings: &'a [Setting], name: &str) -> Option<&'a Value> {
    settings.iter().find(|setting| *setting.name == name).map(|setting| &setting.value)
}

#[cfg(test)]
mod tests;
