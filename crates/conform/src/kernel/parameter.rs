//! Translates arguments of `tc` to parameters of a scenario.
//!
//! Names are those of `tc` in both, so that only the spelling differs: units of bare numbers, flags,
//! synonyms. A word that the kind here does not have is an error. Words without effect here are in a
//! [list](HARMLESS) with the reason, and every run reports which of them it left out.

use lockgate_scenario::reference::Parameter;

/// The spelling of a discipline in `tc`.
pub(super) struct Spelling {
    /// Name in `tc`.
    pub tc: &'static str,
    /// Name here.
    pub ours: &'static str,
    /// Unit of a bare `limit`.
    limit: &'static str,
    /// Synonyms.
    aliases: &'static [(&'static str, &'static str)],
    /// Words, with one value or a list of numbers each, that control classification: the tree reads them.
    sorting: &'static [&'static str],
}

/// A word of `tc` that is left out because it has no effect here.
struct Harmless {
    kinds: &'static [&'static str],
    word: &'static str,
    /// Value that follows it: none, any, or only this one.
    value: Value,
    why: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Any,
    Only(&'static str),
}

const fn harmless(
    kinds: &'static [&'static str],
    word: &'static str,
    value: Value,
    why: &'static str,
) -> Harmless {
    Harmless { kinds, word, value, why }
}

const EXACT: &str = "a step of the kernel's table of rates: times are exact here";
const ONE_DIRECTION: &str = "it is the default";

/// All words that are left out. `docs/concepts/conformance.md` has the same list.
const HARMLESS: &[Harmless] = &[
    harmless(&["cbq", "htb", "tbf"], "cell", Value::Any, EXACT),
    harmless(&["htb"], "mtu", Value::Any, EXACT),
    harmless(&["cbq", "htb", "tbf"], "linklayer", Value::Only("ethernet"), "frames are counted as they are"),
    harmless(&["htb"], "direct_qlen", Value::Any, "every packet has a class, or the run is refused"),
    harmless(&["pie", "fq_pie"], "no_dq_rate_estimator", Value::None, "waits are measured here"),
    harmless(&["cake"], "nonat", Value::None, ONE_DIRECTION),
    harmless(&["cake"], "egress", Value::None, ONE_DIRECTION),
    harmless(&["cake"], "no-ack-filter", Value::None, ONE_DIRECTION),
    harmless(&["cake"], "split-gso", Value::None, "all packets are single frames"),
    harmless(&["cake"], "no-split-gso", Value::None, "all packets are single frames"),
];

/// Named round-trip times of `cake` (tc-cake(8)).
const ROUND_TRIPS: [(&str, &str); 8] = [
    ("datacentre", "100us"),
    ("lan", "1ms"),
    ("metro", "10ms"),
    ("regional", "30ms"),
    ("internet", "100ms"),
    ("oceanic", "300ms"),
    ("satellite", "1s"),
    ("interplanetary", "3600s"),
];

const fn spelling(tc: &'static str, ours: &'static str, limit: &'static str) -> Spelling {
    Spelling { tc, ours, limit, aliases: &[], sorting: &[] }
}

const SPELLINGS: &[Spelling] = &[
    spelling("pfifo", "fifo", "p"),
    spelling("bfifo", "fifo", "B"),
    spelling("red", "red", "B"),
    Spelling {
        aliases: &[("buffer", "burst"), ("maxburst", "burst"), ("minburst", "mtu")],
        ..spelling("tbf", "tbf", "B")
    },
    Spelling {
        sorting: &["default"],
        aliases: &[("buffer", "burst"), ("cbuffer", "cburst")],
        ..spelling("htb", "htb", "p")
    },
    Spelling { sorting: &["default"], ..spelling("hfsc", "hfsc", "p") },
    Spelling { sorting: &["bands", "priomap"], ..spelling("prio", "prio", "p") },
    Spelling { sorting: &["bands", "priomap"], ..spelling("ets", "ets", "p") },
];

/// Returns the spelling of a kind; most have the same name, and limits in packets.
pub(super) fn spelling_of(tc: &str) -> Option<Spelling> {
    let known = SPELLINGS.iter().find(|spelling| spelling.tc == tc);
    match known {
        Some(known) => Some(Spelling { ..*known }),
        None => lockgate_engine::disciplines::KINDS
            .iter()
            .find(|kind| **kind == tc)
            .map(|kind| spelling(kind, kind, "p")),
    }
}

/// Type of a flag in the reference.
const FLAG: &str = "true | false";

fn is_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

fn named<'a>(parameters: &'a [Parameter], name: &str) -> Option<&'a Parameter> {
    parameters.iter().find(|parameter| parameter.name == name)
}

fn is_flag(parameters: &[Parameter], name: &str) -> bool {
    named(parameters, name).is_some_and(|parameter| parameter.takes == FLAG)
}

/// Returns true if `word` is one of the parameter's choices.
fn is_choice(parameter: &Parameter, word: &str) -> bool {
    parameter.takes != FLAG
        && parameter.takes.contains('|')
        && parameter.takes.split(" | ").any(|one| one == word)
}

/// Returns the value that follows `word` if [`HARMLESS`] lists the word, with the reason.
fn left_out<'a>(
    spelling: &Spelling,
    arguments: &[String],
    word: &str,
    rest: &'a [String],
) -> Option<(&'a [String], &'static str)> {
    // Without a peak rate there is no second bucket, so its depth has no effect.
    if spelling.tc == "tbf" && ["mtu", "minburst"].contains(&word) {
        let has_peak = arguments.iter().any(|word| word == "peakrate");
        return (!has_peak && !rest.is_empty()).then(|| (&rest[..1], "there is no `peakrate`"));
    }
    let is_meant = |harmless: &&Harmless| harmless.kinds.contains(&spelling.tc) && harmless.word == word;
    let harmless = HARMLESS.iter().find(is_meant)?;
    let count = match (harmless.value, rest) {
        (Value::None, _) => 0,
        (Value::Any, [_, ..]) => 1,
        (Value::Only(only), [value, ..]) if value == only => 1,
        _ => return None,
    };
    Some((&rest[..count], harmless.why))
}

/// Translates arguments of `tc` to keys and TOML values of these parameters. Words left out are added to
/// `skipped`.
///
/// # Errors
/// Returns the first argument that is not supported.
pub(super) fn translate(
    spelling: &Spelling,
    arguments: &[String],
    parameters: &[Parameter],
    skipped: &mut Vec<String>,
) -> Result<Vec<(String, String)>, String> {
    let mut entries = Vec::new();
    let mut rest = arguments;
    while let [word, more @ ..] = rest {
        rest = more;
        let alias = spelling.aliases.iter().find(|(alias, _)| alias == word);
        let name = alias.map_or(word.as_str(), |(_, name)| name);
        if spelling.sorting.contains(&word.as_str()) {
            let count =
                if word == "priomap" { rest.iter().take_while(|word| is_number(word)).count() } else { 1 };
            rest = rest.get(count..).unwrap_or_default();
        } else if let Some((value, why)) = left_out(spelling, arguments, word, rest) {
            rest = &rest[value.len()..];
            let said = [std::slice::from_ref(word), value].concat().join(" ");
            skipped.push(format!("`{said}` of `{}`: {why}", spelling.tc));
        } else if let Some((_, rtt)) =
            ROUND_TRIPS.iter().find(|(named, _)| spelling.tc == "cake" && named == word)
        {
            entries.push(("rtt".to_owned(), format!("\"{rtt}\"")));
        } else if let Some((parameter, item)) =
            named(parameters, name).and_then(|one| Some((one, one.takes.strip_prefix("list of ")?)))
        {
            let item = Parameter { takes: item.to_owned(), ..parameter.clone() };
            let values: Vec<_> =
                rest.iter().map_while(|value| literal(spelling, &item, value).ok()).collect();
            rest = &rest[values.len()..];
            if values.is_empty() {
                return Err(format!("`{word}` of `{}` has no value", spelling.tc));
            }
            entries.push((name.to_owned(), format!("[{}]", values.join(", "))));
        } else if is_flag(parameters, name) {
            entries.push((name.to_owned(), "true".to_owned()));
        } else if let Some(flag) = word.strip_prefix("no").filter(|flag| is_flag(parameters, flag)) {
            entries.push((flag.to_owned(), "false".to_owned()));
        } else if let Some(curves) = curves_of(name).filter(|curves| named(parameters, curves[0]).is_some()) {
            let (value, more) = curve(rest)?;
            rest = more;
            entries.extend(curves.iter().map(|name| ((*name).to_owned(), value.clone())));
        } else if let Some(parameter) = named(parameters, name) {
            let [value, more @ ..] = rest else {
                return Err(format!("`{word}` of `{}` has no value", spelling.tc));
            };
            rest = more;
            let literal =
                literal(spelling, parameter, value).map_err(|why| format!("`{word} {value}`: {why}"))?;
            entries.push((name.to_owned(), literal));
        } else if let Some(parameter) = parameters.iter().find(|parameter| is_choice(parameter, word)) {
            entries.push((parameter.name.clone(), format!("\"{word}\"")));
        } else {
            return Err(format!("`{word}` of `{}` is not known to our `{}`", spelling.tc, spelling.ours));
        }
    }
    Ok(entries)
}

/// Returns the service curves of H-FSC that a word sets.
fn curves_of(word: &str) -> Option<&'static [&'static str]> {
    match word {
        "rt" => Some(&["rt"]),
        "ls" => Some(&["ls"]),
        "ul" => Some(&["ul"]),
        "sc" => Some(&["rt", "ls"]),
        _ => None,
    }
}

/// Parses a service curve, `[m1 RATE d TIME] m2 RATE` or `rate RATE`, to a table; also returns the rest.
fn curve(words: &[String]) -> Result<(String, &[String]), String> {
    let mut entries = Vec::new();
    let mut rest = words;
    while let [key @ ("m1" | "m2" | "rate" | "d"), value, ..] = two(rest)[..] {
        let (key, value) = match key {
            "d" => ("d", time(value, "us")?),
            "rate" => ("m2", rate(value)?),
            key => (key, rate(value)?),
        };
        entries.push(format!("{key} = \"{value}\""));
        rest = &rest[2..];
    }
    if entries.is_empty() {
        Err("a service curve has `m2 RATE`".to_owned())
    } else {
        Ok((format!("{{ {} }}", entries.join(", ")), rest))
    }
}

fn two(words: &[String]) -> Vec<&str> {
    words.iter().take(2).map(String::as_str).collect()
}

/// Translates a value of `tc` to a TOML literal of the parameter's type.
fn literal(spelling: &Spelling, parameter: &Parameter, value: &str) -> Result<String, String> {
    let quoted = |text: String| format!("\"{text}\"");
    match parameter.takes.as_str() {
        "rate" => rate(value).map(quoted),
        "limit" if spelling.limit == "p" => whole(value).map(|packets| quoted(format!("{packets}p"))),
        "size" | "limit" => size(value).map(quoted),
        "size, also below zero" => match value.strip_prefix('-') {
            Some(below) => size(below).map(|size| quoted(format!("-{size}"))),
            None => size(value).map(quoted),
        },
        "duration" => {
            let bare = if (spelling.tc, parameter.name.as_str()) == ("sfq", "perturb") { "s" } else { "us" };
            time(value, bare).map(quoted)
        }
        // CBQ's weights are written as rates; only their proportions matter.
        "whole number" if parameter.name == "weight" && value.ends_with("bit") => {
            rate(&value.to_ascii_lowercase()).map(|rate| rate.trim_end_matches("bit").to_owned())
        }
        "whole number" => whole(value).map(|number| number.to_string()),
        "number of packets" => whole(value).map(|packets| quoted(format!("{packets}p"))),
        "probability" | "number" => {
            let number: f64 = value.parse().map_err(|_| "it is not a number".to_owned())?;
            if number.is_finite() { Ok(format!("{number:?}")) } else { Err("it is not a number".to_owned()) }
        }
        choice if choice.split(" | ").any(|one| one == value) => Ok(quoted(value.to_owned())),
        takes => Err(format!("our `{}` takes {takes}", parameter.name)),
    }
}

/// Returns the number at the start of a literal such as `"500B"`.
pub(super) fn digits(literal: &str) -> Option<u64> {
    let text = literal.trim_matches('"');
    text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())].parse().ok()
}

fn whole(text: &str) -> Result<u64, String> {
    text.trim_end_matches('p').parse().map_err(|_| "it is not a whole number".to_owned())
}

/// Splits a number from its unit.
fn split(text: &str) -> Result<(f64, String), String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| "it is not a number with a unit".to_owned())?;
    Ok((number, text[end..].to_ascii_lowercase()))
}

/// Converts to a whole number of the smallest unit.
fn scaled(number: f64, factor: f64) -> Result<u64, String> {
    let value = libm::round(number * factor);
    if (0.0..9e18).contains(&value) { Ok(value as u64) } else { Err("it is out of range".to_owned()) }
}

/// Translates a rate of `tc`: bits with powers of 1000 or, with an `i`, of 1024; `bps` are bytes.
fn rate(text: &str) -> Result<String, String> {
    let (number, unit) = split(text)?;
    let (prefix, bits) = match (unit.strip_suffix("bit"), unit.strip_suffix("bps")) {
        (Some(prefix), _) => (prefix, 1.0),
        (_, Some(prefix)) => (prefix, 8.0),
        _ if unit.is_empty() => ("", 1.0),
        _ => return Err("it is not a rate".to_owned()),
    };
    let factor = match prefix {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "ki" => 1024.0,
        "mi" => 1024.0 * 1024.0,
        "gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err("it is not a rate".to_owned()),
    };
    Ok(format!("{}bit", scaled(number, factor * bits)?))
}

/// Translates a size of `tc`: bytes with powers of 1024, or bits.
fn size(text: &str) -> Result<String, String> {
    let (number, unit) = split(text)?;
    let factor = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024.0 * 1024.0,
        "g" | "gb" => 1024.0 * 1024.0 * 1024.0,
        "kbit" => 125.0,
        "mbit" => 125_000.0,
        "gbit" => 125_000_000.0,
        _ => return Err("it is not a size".to_owned()),
    };
    Ok(format!("{}B", scaled(number, factor)?))
}

/// Translates a time of `tc`; the unit of a bare number is `bare`.
fn time(text: &str, bare: &str) -> Result<String, String> {
    let (number, unit) = split(text)?;
    let factor = match if unit.is_empty() { bare } else { unit.as_str() } {
        "s" | "sec" | "secs" => 1e9,
        "ms" | "msec" | "msecs" => 1e6,
        "us" | "usec" | "usecs" => 1e3,
        "ns" | "nsec" | "nsecs" => 1.0,
        _ => return Err("it is not a time".to_owned()),
    };
    Ok(format!("{}ns", scaled(number, factor)?))
}

/// Parses a time to microseconds.
pub(super) fn micros(text: &str) -> Result<u64, String> {
    let nanos = time(text, "us")?;
    nanos.trim_end_matches("ns").parse::<u64>().map(|nanos| nanos / 1000).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_scenario::reference::reference;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn translated(tc: &str, arguments: &str) -> Result<String, String> {
        let spelling = spelling_of(tc).expect("known");
        let reference = reference(spelling.ours).expect("listed");
        let entries = translate(&spelling, &words(arguments), &reference.parameters, &mut Vec::new())?;
        Ok(entries.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn arguments_become_parameters() {
        for (tc, arguments, expected) in [
            ("pfifo", "limit 50", r#"limit="50p""#),
            ("bfifo", "limit 64kb", r#"limit="65536B""#),
            (
                "tbf",
                "rate 1mbit buffer 5000 limit 20000",
                r#"rate="1000000bit" burst="5000B" limit="20000B""#,
            ),
            (
                "tbf",
                "rate 125kbps burst 5k latency 50ms",
                r#"rate="1000000bit" burst="5120B" latency="50000000ns""#,
            ),
            ("codel", "target 5000 noecn", r#"target="5000000ns" ecn=false"#),
            ("htb", "default 10 r2q 20 direct_qlen 100", "r2q=20"),
            ("tbf", "rate 1mbit burst 5k mtu 1540", r#"rate="1000000bit" burst="5120B""#),
            ("cake", "nonat metro split-gso besteffort", r#"rtt="10ms" diffserv="besteffort""#),
            ("cake", "overhead -4 mpu 64", r#"overhead="-4B" mpu="64B""#),
            ("prio", "bands 4 priomap 1 2 2 3", ""),
            ("sfq", "perturb 10 quantum 1514", r#"perturb="10000000000ns" quantum="1514B""#),
            (
                "red",
                "min 15000 probability 0.02 burst 20 ecn",
                r#"min="15000B" probability=0.02 burst=20 ecn=true"#,
            ),
        ] {
            assert_eq!(translated(tc, arguments).as_deref(), Ok(expected), "{tc} {arguments}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        for (tc, arguments, word) in [
            ("tbf", "rate 1mbit frobnicate 3", "frobnicate"),
            ("tbf", "rate", "no value"),
            ("tbf", "rate fast", "rate fast"),
            ("pfifo", "limit 5x", "limit 5x"),
            ("htb", "linklayer atm", "linklayer"),
            ("htb", "linklayer", "linklayer"),
            ("cbq", "bandwidth 1mbit cell", "cell"),
            ("red", "nodrop", "nodrop"),
        ] {
            let why = translated(tc, arguments).expect_err(arguments);
            assert!(why.contains(word), "{why}");
        }
        assert!(spelling_of("teql").is_none());
    }

    #[test]
    fn what_is_left_out_is_said_and_listed() {
        let mut skipped = Vec::new();
        let spelling = spelling_of("cbq").expect("known");
        let reference = reference("cbq").expect("listed");
        translate(&spelling, &words("bandwidth 10mbit cell 8"), &reference.parameters, &mut skipped)
            .expect("understood");
        assert_eq!(skipped, [format!("`cell 8` of `cbq`: {EXACT}")]);
        let page = include_str!("../../../../docs/concepts/conformance.md");
        for harmless in HARMLESS {
            assert!(
                page.contains(&format!("`{}`", harmless.word)),
                "the page does not list {}",
                harmless.word
            );
            let missing = harmless.kinds.iter().find(|kind| !page.contains(&format!("`{kind}`")));
            assert_eq!(missing, None, "of {}", harmless.word);
        }
    }

    #[test]
    fn service_curves_become_tables() {
        let arguments = words("m1 5mbit d 10ms m2 1mbit ls rate 2mbit");
        let (first, rest) = curve(&arguments).expect("a curve");
        assert_eq!(first, r#"{ m1 = "5000000bit", d = "10000000ns", m2 = "1000000bit" }"#);
        assert_eq!(rest, &arguments[6..]);
        assert!(curve(&words("d 10ms")).is_ok() && curve(&words("ls")).is_err());
    }
}
