//! Parameters of queues as words of `tc`, defaults written out.

mod average;

use lockgate_engine::overhead;
use lockgate_engine::units::{Bytes, Duration, Packets, Rate};
use lockgate_scenario::QueueTree;
use lockgate_scenario::reference::{Parameter, cached};
use lockgate_scenario::tree::Queue;

use crate::import::settings::{ack_filter_word, words_of};
use crate::language::{Kind, Word};
use crate::number::{rate_text, time_text};
use crate::syntax::{LinkLayer, Stab};
use crate::value::ValueType;

/// Words of a command, and what the kernel cannot say.
type Words = (Vec<String>, Vec<String>);

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

/// Returns true for a FIFO that drops its oldest packet.
pub(super) fn drops_head(queue: &Queue) -> bool {
    queue.config.get("overflow").and_then(toml::Value::as_str) == Some("head")
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
    let (mut words, mut refused) = written(queue, kind, &given, parameters, kind.language().qdisc, skipped);
    // `tc` asks for it, also where a discipline below it replaces the queue that it sizes.
    let has = |words: &[String], name: &str| words.iter().any(|word| word == name);
    if kind == Kind::Tbf && !has(&words, "limit") && !has(&words, "latency") {
        words.extend(["limit".to_owned(), "1000000".to_owned()]);
    }
    if kind == Kind::Tbf && children > 0 && has(&words, "latency") && has(&words, "limit") {
        words.retain(|word| word != "latency");
    }
    if matches!(kind, Kind::Red | Kind::Choke)
        && let Err(why) = average::check(kind, &words)
    {
        // `tc` refuses the command.
        words.clear();
        refused.push(format!("queue `{}`: {why}", queue.name));
    }
    words.extend(trip.into_iter().flat_map(|trip| ["typical_rtt".to_owned(), time_text(trip)]));
    (words, refused)
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
        ("tupdate", toml::Value::String(format!("{}us", update.as_picos() / MICROSECOND))),
        ("alpha", toml::Value::Float(0.1 * update_s / (longest_s * longest_s))),
        ("beta", toml::Value::Float(0.3 / longest_s)),
    ] {
        given.entry(name).or_insert(value);
    }
    given.remove("max_rtt");
    (&["max_rtt"], None)
}

/// Returns the words of a class; `r2q` is that of its `htb`.
pub(super) fn of_class(queue: &Queue, kind: Kind, is_framed: bool, r2q: u64) -> Words {
    let mut given = queue.share.clone();
    if kind == Kind::Htb {
        add_derived(&mut given, queue.is_class(), r2q);
    }
    if kind == Kind::Cbq {
        // `tc` asks for it.
        given.entry("allot").or_insert(toml::Value::String(format!("{ALLOT}B")));
    }
    let parameters = cached(kind.name()).map_or(&[][..], |reference| &reference.shares);
    written(
        queue,
        kind,
        &given,
        parameters,
        kind.language().class.unwrap_or_default(),
        if is_framed { &overhead::KEYS } else { &[] },
    )
}

/// Default `allot` of a class of `cbq`, in bytes.
const ALLOT: u64 = 1514;

/// Default `r2q` of `htb`.
pub(super) const R2Q: u64 = 10;

/// Least and largest quantum that the kernel derives from a rate, in bytes.
const QUANTA: [u64; 2] = [1000, 200_000];

/// Returns the `r2q` of an `htb`.
pub(super) fn r2q(queue: &Queue) -> u64 {
    let given = queue.config.get("r2q").and_then(toml::Value::as_integer);
    given.and_then(|given| u64::try_from(given).ok()).filter(|given| *given > 0).unwrap_or(R2Q)
}

/// Adds what the kernel derives from the rate of a class of `htb`.
fn add_derived(given: &mut toml::Table, is_class: bool, r2q: u64) {
    let Some(text) = given.get("rate").and_then(toml::Value::as_str).map(str::to_owned) else { return };
    let Ok(rate) = text.parse::<Rate>() else { return };
    given.entry("ceil").or_insert(toml::Value::String(text));
    if !is_class {
        let quantum = (rate.as_bits() / 8 / r2q).clamp(QUANTA[0], QUANTA[1]);
        given.entry("quantum").or_insert(toml::Value::String(format!("{quantum}B")));
    }
}

/// Returns the words of all parameters.
fn written(
    queue: &Queue,
    kind: Kind,
    given: &toml::Table,
    parameters: &[Parameter],
    vocabulary: &'static [Word],
    skipped: &[&str],
) -> Words {
    let (mut words, mut refused) = (Vec::new(), Vec::new());
    let mut names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    // The kernel's own order: first what `tc` asks for.
    names.sort_by_key(|name| vocabulary.iter().position(|word| word.name == *name).unwrap_or(usize::MAX));
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
        let is_off = kind == Kind::Cake && name == "fwmark" && value.as_integer() == Some(0);
        match word(kind, name, &value, vocabulary).filter(|words| is_taken(kind, words)) {
            Some(_) if is_off => {}
            Some(found) => words.extend(found),
            None if is_given => {
                let value_type = vocabulary.iter().find(|word| word.name == name).map(|word| word.value_type);
                let why = value_type.map_or("", limits);
                refused.push(format!("queue `{queue}`: `{name} = {value}` of `{kind}`{why}"));
            }
            None => {}
        }
    }
    (words, refused)
}

/// Returns whether the kernel takes the value of a setting.
fn is_taken(kind: Kind, words: &[String]) -> bool {
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
    if name == "framing" && matches!(kind, Kind::Htb | Kind::Tbf) {
        return match value.as_str()? {
            "atm" => Some(vec!["linklayer".to_owned(), "atm".to_owned()]),
            "noatm" => Some(Vec::new()),
            _ => None,
        };
    }
    if (kind, name) == (Kind::Cake, "ack_filter") {
        return ack_filter_word(value).map(|word| vec![word.to_owned()]);
    }
    if let Some(choices) = words_of(kind, name) {
        let chosen = value.as_str()?;
        return choices.contains(&chosen).then(|| vec![chosen.to_owned()]);
    }
    let known = vocabulary.iter().find(|word| word.name == name)?;
    let text = value.as_str();
    let one = |value: String| Some(vec![name.to_owned(), value]);
    match known.value_type {
        ValueType::Flag => Some(if value.as_bool()? { vec![name.to_owned()] } else { Vec::new() }),
        ValueType::Switch => {
            let sign = if name.contains('_') { "no_" } else { "no" };
            Some(vec![if value.as_bool()? { name.to_owned() } else { format!("{sign}{name}") }])
        }
        // A number of the kernel's, and a size: not in bits.
        ValueType::Time if (kind, name) == (Kind::Cbq, "minidle") => None,
        ValueType::Rate if (kind, name) == (Kind::Cbq, "weight") => {
            let rate = text?.parse::<Rate>().ok()?;
            rate.as_bits().is_multiple_of(1000).then(|| vec![name.to_owned(), rate_text(rate)])
        }
        ValueType::Rate => one(rate_text(text?.parse::<Rate>().ok()?)),
        ValueType::Size => one(text?.parse::<Bytes>().ok()?.0.to_string()),
        ValueType::Offset => {
            let text = text?;
            let (sign, size) = text.strip_prefix('-').map_or(("", text), |size| ("-", size));
            one(format!("{sign}{}", size.parse::<Bytes>().ok()?.0))
        }
        ValueType::Time => one(time(text?)?),
        ValueType::Seconds => {
            let picos = text?.parse::<Duration>().ok()?.as_picos();
            picos.is_multiple_of(SECOND).then(|| vec![name.to_owned(), (picos / SECOND).to_string()])
        }
        ValueType::Threshold => {
            let text = text?;
            match text.parse::<Packets>() {
                Ok(packets) if text.ends_with('p') => one(format!("{}p", packets.0)),
                _ => one(time(text)?),
            }
        }
        ValueType::Packets => match value.as_integer() {
            Some(count) => one(count.to_string()),
            None => one(text?.parse::<Packets>().ok()?.0.to_string()),
        },
        ValueType::Mask => one(format!("{:#x}", value.as_integer()?)),
        ValueType::Number | ValueType::Minor => one(value.as_integer()?.to_string()),
        ValueType::Real => one(number(value)?.to_string()),
        ValueType::Percent => one(format!("{}%", number(value)? * 100.0)),
        ValueType::Choice(words) => {
            words.contains(&text?).then(|| vec![name.to_owned(), text.unwrap_or_default().to_owned()])
        }
        ValueType::Numbers => {
            let numbers: Vec<String> = value.as_array()?.iter().map(ToString::to_string).collect();
            if numbers.is_empty() { Some(Vec::new()) } else { one(numbers.join(" ")) }
        }
        ValueType::Sizes => {
            let sizes: Option<Vec<String>> = value
                .as_array()?
                .iter()
                .map(|size| Some(size.as_str()?.parse::<Bytes>().ok()?.0.to_string()))
                .collect();
            let sizes = sizes?;
            if sizes.is_empty() { Some(Vec::new()) } else { one(sizes.join(" ")) }
        }
        ValueType::Curve => curve(name, value),
    }
}

/// Picoseconds of a second, and of the unit of `tc`'s times.
const SECOND: u64 = Duration::from_secs(1).as_picos();
const MICROSECOND: u64 = Duration::from_micros(1).as_picos();

/// Returns a time as `tc` takes it: whole microseconds, in 32 bits.
fn time(text: &str) -> Option<String> {
    let time = text.parse::<Duration>().ok()?;
    let micros = time.as_picos() / MICROSECOND;
    let is_taken = time.as_picos().is_multiple_of(MICROSECOND) && u32::try_from(micros).is_ok();
    is_taken.then(|| time_text(time))
}

/// Returns why a value of this type cannot be written, if the type says it.
fn limits(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::Time | ValueType::Threshold => ": `tc` takes whole microseconds, up to 4294 s",
        ValueType::Seconds => ": `tc` takes whole seconds",
        _ => "",
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    let text =
        |text: &str| text.strip_suffix('%').and_then(|share| Some(share.trim().parse::<f64>().ok()? / 100.0));
    match value {
        toml::Value::Float(number) => Some(*number),
        toml::Value::Integer(number) => Some(*number as f64),
        toml::Value::String(share) => text(share).or_else(|| share.parse().ok()),
        _ => None,
    }
}

fn curve(name: &str, value: &toml::Value) -> Option<Vec<String>> {
    let rate = |text: &toml::Value| Some(rate_text(text.as_str()?.parse::<Rate>().ok()?));
    if value.is_str() {
        return Some(vec![name.to_owned(), "m2".to_owned(), rate(value)?]);
    }
    let table = value.as_table()?;
    let mut words = vec![name.to_owned()];
    for key in ["m1", "d", "m2"] {
        let Some(part) = table.get(key) else { continue };
        let text = if key == "d" { time(part.as_str()?)? } else { rate(part)? };
        words.extend([key.to_owned(), text]);
    }
    Some(words)
}
