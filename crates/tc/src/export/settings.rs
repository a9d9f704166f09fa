//! Parameters of queues as words of `tc`, defaults written out.

use lockgate_engine::overhead;
use lockgate_engine::units::{Bytes, Duration, Rate};
use lockgate_scenario::QueueTree;
use lockgate_scenario::reference::{Parameter, cached};
use lockgate_scenario::tree::Queue;

use super::values;
use crate::judge;
use crate::language::{Kind, Meaning, Word, negation};
use crate::number::{rate_text, time_text};
use crate::syntax::{LinkLayer, Stab};
use crate::value::ValueType;

/// Words of a command, `None` if `tc` or the kernel refuses it, and what the kernel cannot say.
type Words = (Option<Vec<String>>, Vec<String>);

/// Parameters that choose a variant; `linux` is that of the kernel.
const FLAVOUR: &str = "flavour";

/// Returns the table of sizes for the root if all shapers of the tree count packets in the same way, and
/// true if it says so for them.
pub(super) fn common_framing(tree: &QueueTree) -> (Option<Stab>, bool) {
    let Some(root) = tree.queues().first() else { return (None, false) };
    let htb = tree.queues().iter().filter(|queue| queue.kind == "htb").count();
    let framing = |table: &toml::Table| {
        let text = |name: &str| table.get(name).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        (text("overhead"), text("mpu"), text("framing"))
    };
    let tables: Vec<&toml::Table> = match root.kind {
        "tbf" => vec![&root.config],
        "htb" | "prio" if htb == 1 => tree
            .queues()
            .iter()
            .filter(|queue| queue.share.contains_key("rate"))
            .map(|queue| &queue.share)
            .collect(),
        _ => return (None, false),
    };
    let mut kinds: Vec<_> = tables.iter().map(|table| framing(table)).collect();
    kinds.dedup();
    let [(overhead, mpu, layer)] = kinds.as_slice() else { return (None, false) };
    let bytes = |text: &str| {
        let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
        if size.is_empty() {
            Some(0)
        } else {
            Some(sign * i64::try_from(size.parse::<Bytes>().ok()?.0).ok()?)
        }
    };
    let (Some(overhead), Some(mpu)) = (bytes(overhead), bytes(mpu)) else { return (None, false) };
    let link_layer = match layer.as_str() {
        "atm" => LinkLayer::Atm,
        "" | "noatm" => LinkLayer::Ethernet,
        // The kernel has no table for it.
        _ => return (None, false),
    };
    if overhead == 0 && mpu == 0 && link_layer == LinkLayer::Ethernet {
        return (None, false);
    }
    let stab = Stab { overhead: overhead as i32, mpu: mpu as u32, link_layer };
    (Some(stab), true)
}

/// Returns the words of a discipline.
pub(super) fn of_qdisc(queue: &Queue, kind: Kind, children: usize, is_framed: bool) -> Words {
    let parameters = cached(queue.kind).map_or(&[][..], |reference| &reference.parameters);
    let skipped: &[&str] = match kind {
        Kind::Prio | Kind::Ets => &["bands", "priomap"],
        Kind::Pfifo | Kind::PfifoHeadDrop | Kind::Bfifo => &["overflow"],
        Kind::Tbf if is_framed => &overhead::KEYS,
        _ => &[],
    };
    let mut given = queue.config.clone();
    for name in skipped {
        given.remove(*name);
    }
    let (skipped, trip) = match kind {
        Kind::Dualpi2 => settle_controller(&mut given),
        _ => (skipped, None),
    };
    let (mut words, refused) = written(queue, kind, &given, parameters, kind.language().qdisc, skipped);
    // `tc` asks for it, also where a discipline below it replaces the queue that it sizes.
    let has = |words: &[String], name: &str| words.iter().any(|word| word == name);
    if kind == Kind::Tbf && !has(&words, "limit") && !has(&words, "latency") {
        words.extend(["limit".to_owned(), "1000000".to_owned()]);
    }
    if kind == Kind::Tbf && children > 0 && has(&words, "latency") && has(&words, "limit") {
        words.retain(|word| word != "latency");
    }
    words.extend(trip.into_iter().flat_map(|trip| ["typical_rtt".to_owned(), time_text(trip)]));
    judged(queue, kind, false, words, refused)
}

/// Settles how the controller of a `dualpi2` is written: in `tc`, a round trip overrides its other settings.
/// Returns the parameters that are left out, and the usual round trip if it is written.
fn settle_controller(given: &mut toml::Table) -> (&'static [&'static str], Option<Duration>) {
    const GAINS: [&str; 3] = ["tupdate", "alpha", "beta"];
    let time = |given: &toml::Table, name: &str, default: u64| {
        let text = given.get(name).and_then(toml::Value::as_str);
        text.and_then(|text| text.parse().ok()).unwrap_or(Duration::from_millis(default))
    };
    let (longest, target) = (time(given, "max_rtt", 100), time(given, "target", 15));
    if GAINS.iter().all(|name| !given.contains_key(*name)) {
        return (&["target", "tupdate", "alpha", "beta"], Some(target));
    }
    // RFC 9332, appendix A.1.
    let update = given.get("tupdate").and_then(toml::Value::as_str).and_then(|text| text.parse().ok());
    let update = update.unwrap_or_else(|| target.min(longest / 3));
    let (update_s, longest_s) = (update.as_secs_f64(), longest.as_secs_f64());
    for (name, value) in [
        ("tupdate", toml::Value::String(format!("{}us", update.as_picos() / values::MICROSECOND))),
        ("alpha", toml::Value::Float(0.1 * update_s / (longest_s * longest_s))),
        ("beta", toml::Value::Float(0.3 / longest_s)),
    ] {
        given.entry(name).or_insert(value);
    }
    given.remove("max_rtt");
    (&["max_rtt"], None)
}

/// Returns the words of a class; `owner` is its discipline.
pub(super) fn of_class(queue: &Queue, kind: Kind, owner: Option<&Queue>, is_framed: bool) -> Words {
    let mut given = queue.share.clone();
    if kind == Kind::Htb {
        let is_stated = given.contains_key("quantum");
        if let Some(owner) = owner {
            owner.derive_share(&mut given);
        }
        if queue.is_class() && !is_stated {
            given.remove("quantum");
        }
    }
    if kind == Kind::Cbq {
        // `tc` asks for it.
        given.entry("allot").or_insert(toml::Value::String(format!("{ALLOT}B")));
        if given.contains_key("maxburst") || given.contains_key("minburst") {
            let packet = owner.and_then(|owner| owner.config.get("avpkt")).cloned();
            given
                .entry("avpkt")
                .or_insert(packet.unwrap_or_else(|| toml::Value::String(MEAN_PACKET.to_owned())));
        }
    }
    let parameters = cached(kind.name()).map_or(&[][..], |reference| &reference.shares);
    let skipped: &[&str] = if is_framed { &overhead::KEYS } else { &[] };
    let words = kind.language().words(true);
    let (words, refused) = written(queue, kind, &given, parameters, words, skipped);
    judged(queue, kind, true, words, refused)
}

/// Returns the words unless `tc` or the kernel refuses them.
fn judged(queue: &Queue, kind: Kind, is_class: bool, words: Vec<String>, mut refused: Vec<String>) -> Words {
    let has_settings = kind.language().class.is_some() || !is_class;
    match judge::refusal(kind, is_class, &words).filter(|_| has_settings) {
        Some(why) => {
            refused.push(format!("queue `{}`: {why}", queue.name));
            (None, refused)
        }
        None => (Some(words), refused),
    }
}

/// Default mean packet of `cbq`.
const MEAN_PACKET: &str = "1000B";

/// Default `allot` of a class of `cbq`, in bytes.
const ALLOT: u64 = 1514;

/// Returns the words of all parameters.
fn written(
    queue: &Queue,
    kind: Kind,
    given: &toml::Table,
    parameters: &[Parameter],
    vocabulary: &'static [Word],
    skipped: &[&str],
) -> (Vec<String>, Vec<String>) {
    let (mut words, mut refused) = (Vec::new(), Vec::new());
    let mut names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    // The kernel's own order: first what `tc` asks for.
    names.sort_by_key(|name| {
        let is_it = |word: &Word| word.name == *name && word.value_type.is_some();
        vocabulary.iter().position(is_it).unwrap_or(usize::MAX)
    });
    for name in names.into_iter().filter(|name| !skipped.contains(name)) {
        let default =
            parameters.iter().find(|parameter| parameter.name == name).and_then(|own| own.default.as_deref());
        let value = given.get(name).cloned().or_else(|| default.map(default_value));
        let Some(value) = value else { continue };
        let is_given = given.contains_key(name) && default.map(default_value).as_ref() != given.get(name);
        let queue = &queue.name;
        if name == FLAVOUR {
            if value.as_str() != Some("linux") {
                refused.push(format!(
                    "queue `{queue}`: the variant {value} of `{kind}`; the kernel has its own"
                ));
            }
            continue;
        }
        let is_off = name == "fwmark" && value.as_integer() == Some(0);
        match word(kind, name, &value, vocabulary).filter(|words| is_in_range(kind, words)) {
            Some(_) if is_off => {}
            Some(found) => words.extend(found),
            None if is_given => {
                let value_type = kind.word(name).and_then(|word| word.value_type);
                let why = value_type.map_or("", values::limits);
                refused.push(format!("queue `{queue}`: `{name} = {value}` of `{kind}`{why}"));
            }
            None => {}
        }
    }
    (words, refused)
}

/// Returns true unless a number is outside the range that `tc` or the kernel takes.
fn is_in_range(kind: Kind, words: &[String]) -> bool {
    let [name, value] = words else { return true };
    let number = value.trim_end_matches('%').parse::<f64>();
    kind.range(name).zip(number.ok()).is_none_or(|([least, most], number)| (least..=most).contains(&number))
}

fn default_value(text: &str) -> toml::Value {
    // Numbers and lists are written as in TOML, texts are not quoted.
    let parsed = format!("v = {text}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("v"));
    parsed.unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// Returns the words of a parameter; `None` if `tc` has none for it.
fn word(kind: Kind, name: &str, value: &toml::Value, vocabulary: &'static [Word]) -> Option<Vec<String>> {
    if let Some(layer) = vocabulary.iter().find(|word| name == "framing" && word.meaning == Meaning::Framing)
    {
        return match value.as_str()? {
            "atm" => Some(vec![layer.name.to_owned(), "atm".to_owned()]),
            "noatm" => Some(Vec::new()),
            _ => None,
        };
    }
    let mut known = vocabulary.iter().filter(|word| word.name == name && word.meaning == Meaning::Same);
    let Some((known, value_type)) = known.find_map(|word| Some((word, word.value_type?))) else {
        // The word alone is the value.
        let chosen = vocabulary.iter().find(|word| word.gives(name, value) == Some(true))?;
        return Some(vec![chosen.name.to_owned()]);
    };
    match value_type {
        ValueType::Flag | ValueType::Switch => {
            let cleared = (known.value_type == Some(ValueType::Switch)).then(|| negation(name));
            Some(if value.as_bool()? { vec![name.to_owned()] } else { cleared.into_iter().collect() })
        }
        // A number of the kernel's, and a size: not in bits.
        ValueType::Time if (kind, name) == (Kind::Cbq, "minidle") => None,
        ValueType::Rate if (kind, name) == (Kind::Cbq, "weight") => {
            let rate = value.as_str()?.parse::<Rate>().ok()?;
            rate.as_bits().is_multiple_of(1000).then(|| vec![name.to_owned(), rate_text(rate)])
        }
        value_type => {
            let words = values::words(value_type, value)?;
            let is_empty = words.is_empty();
            Some(if is_empty { words } else { [vec![name.to_owned()], words].concat() })
        }
    }
}
