//! Parser: words to syntax tree.

mod filter;
mod netem;

pub(crate) use filter::masked_of;

use lockgate_engine::units::{Duration, Rate};

use crate::language::{Kind, Language, Word};
use crate::number;
use crate::position::Located;
use crate::problem::{Problem, Problems};
use crate::syntax::{Action, Class, Command, Commands, LinkLayer, Object, Police, Qdisc, Setting, Stab};
use crate::value::{Curve, Value, ValueType};
use crate::words::{self, CommandWords, Cursor, Words};

/// Parses commands: one a line, with or without the word `tc` before it. A line that ends with the word `\`
/// continues on the next one; a word that begins with `#` begins a comment. [`read`](crate::read) also reads
/// scripts and what `tc` prints.
///
/// # Errors
/// Returns every word that is not understood.
pub fn parse(text: &str) -> Result<Commands, Problems> {
    let mut problems = Vec::new();
    let mut commands = Vec::new();
    for words in words::commands(text) {
        match command(&words, &mut problems) {
            Ok(Some(command)) => commands.push(command),
            Ok(None) => {
                let skipped = usize::from(words.first().is_some_and(|word| word.value == "tc"));
                let name = |index: usize| words.get(skipped + index).map_or("", |word| word.value);
                let at = words.get(skipped + 1).map(|word| word.at).unwrap_or_default();
                let message = format!(
                    "`{} {}` is not understood: there are `add`, `replace` and `change`",
                    name(0),
                    name(1)
                );
                problems.push(Problem::new(at, message));
            }
            Err(problem) => problems.push(problem),
        }
    }
    Problems::unless(Commands(commands), problems)
}

/// Parses a command; `None` if it shows or deletes something. Settings that are not understood are added to
/// `problems` and left out of the command.
///
/// # Errors
/// Fails if the command as a whole is not understood.
pub(crate) fn command(words: &Words<'_>, problems: &mut Vec<Problem>) -> Result<Option<Command>, Problem> {
    let mut cursor = Cursor::new(words);
    cursor.skip("tc");
    let object = cursor.value("tc")?;
    let begins = |name: &str| !object.is_empty() && name.starts_with(*object);
    let Some(name) = ["qdisc", "class", "filter"].into_iter().find(|name| begins(name)) else {
        let message =
            format!("`{}` is not understood: a command sets a `qdisc`, a `class` or a `filter`", *object);
        return Err(Problem::new(object.at, message));
    };
    let word = cursor.value(object.value)?;
    let action = match word.value {
        "add" | "a" | "link" => Action::Add,
        "replace" => Action::Replace,
        "change" | "chg" => Action::Change,
        "del" | "delete" | "d" | "show" | "list" | "ls" | "get" => return Ok(None),
        other => {
            let message =
                format!("`{name} {other}` is not understood: there are `add`, `replace` and `change`");
            return Err(Problem::new(word.at, message));
        }
    };
    let mut device = None;
    let mut object = match name {
        "qdisc" => Object::Qdisc(qdisc(&mut cursor, &mut device, problems)?),
        "class" => Object::Class(class(&mut cursor, &mut device, problems)?),
        _ => Object::Filter(filter::filter(&mut cursor, &mut device)?),
    };
    let device = device.ok_or_else(|| Problem::new(word.at, "a command names its device by `dev`"))?;
    *object.words_mut() = cursor.options();
    Ok(Some(Command { action: Located::new(action, word.at), device, object }))
}

/// Returns the form of a command with this first word.
pub(crate) fn form(object: &str) -> &'static str {
    match object.as_bytes().first() {
        Some(b'q') => "write `tc qdisc add dev DEV root|parent HANDLE [handle HANDLE] KIND [SETTINGS]`",
        Some(b'c') => "write `tc class add dev DEV parent HANDLE classid HANDLE KIND [SETTINGS]`",
        Some(b'f') => {
            "write `tc filter add dev DEV parent HANDLE [protocol ip] [prio N] KIND [MATCHES] flowid HANDLE`"
        }
        _ => "a command begins with `tc qdisc`, `tc class` or `tc filter`",
    }
}

/// Returns the meter of `actions add action police RATE index NUMBER`.
pub(crate) fn meter(words: &Words<'_>) -> Option<Police> {
    let mut cursor = Cursor::new(words);
    let is_actions = cursor.skip("actions") || cursor.skip("action");
    if !is_actions || !(cursor.skip("add") || cursor.skip("replace")) {
        return None;
    }
    cursor.skip("action");
    let word = cursor.value("action").ok().filter(|word| word.value == "police")?;
    filter::police(&mut cursor, word).ok().filter(|police| police.index.is_some() && !police.is_reference())
}

/// Device of a command, once it is read.
type Device = Option<Located<String>>;

/// Reads `dev DEVICE`, `root`, `parent HANDLE` and similar words.
fn set<T>(slot: &mut Option<T>, word: Located<&str>, value: T) -> Result<(), Problem> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Problem::new(word.at, format!("`{}` is given twice", *word))),
    }
}

fn device_name(cursor: &mut Cursor<'_, '_>) -> Result<Located<String>, Problem> {
    let name = cursor.value("dev")?;
    Ok(Located::new(name.value.to_owned(), name.at))
}

/// Skips the two times of `est INTERVAL AVERAGE`, a rate estimator that only counts.
fn estimator(cursor: &mut Cursor<'_, '_>) -> Result<(), Problem> {
    cursor.value("est")?;
    cursor.value("est")?;
    Ok(())
}

fn qdisc(
    cursor: &mut Cursor<'_, '_>,
    device: &mut Device,
    problems: &mut Vec<Problem>,
) -> Result<Qdisc, Problem> {
    let (mut parent, mut handle, mut table) = (None, None, None);
    loop {
        let word = cursor.next_of_command();
        let word = word.ok_or_else(|| Problem::new(cursor.at, "a discipline has a kind"))?;
        match word.value {
            "dev" => set(device, word, device_name(cursor)?)?,
            "root" => set(&mut parent, word, None)?,
            "parent" => set(&mut parent, word, Some(cursor.handle("parent")?))?,
            "handle" => set(&mut handle, word, cursor.handle("handle")?)?,
            "est" | "estimator" => estimator(cursor)?,
            "stab" => set(&mut table, word, Located::new(stab(cursor, problems)?, word.at))?,
            _ => {
                let kind = kind(word)?;
                let parent = parent.map(|parent| parent.filter(|_| !kind.is_hook()));
                let Some(parent) = parent.or(kind.is_hook().then_some(None)) else {
                    return Err(Problem::new(word.at, "a discipline is at the `root`, or has a `parent`"));
                };
                // A hook has one handle only.
                while kind.is_hook() && cursor.skip("handle") {
                    cursor.next();
                }
                let settings = if *kind == Kind::Netem {
                    netem::settings(cursor, problems)
                } else {
                    settings(cursor, *kind, kind.language().qdisc, problems)?
                };
                return Ok(Qdisc {
                    parent,
                    handle,
                    stab: table,
                    kind,
                    settings,
                    words: CommandWords::default(),
                });
            }
        }
    }
}

/// Reads the words after `stab`, up to the kind.
fn stab(cursor: &mut Cursor<'_, '_>, problems: &mut Vec<Problem>) -> Result<Stab, Problem> {
    let mut stab = Stab::default();
    while let Some(name) = cursor.peek() {
        if !["mtu", "tsize", "mpu", "overhead", "linklayer"].contains(&name) {
            break;
        }
        cursor.next_option();
        let text = cursor.value(name)?;
        let wrong = || Problem::new(text.at, format!("`{name} {}` of `stab` is not understood", *text));
        match name {
            "overhead" => match text.parse() {
                Ok(overhead) => stab.overhead = overhead,
                Err(_) => problems.push(wrong()),
            },
            "mpu" => match number::integer(text.value) {
                Some(mpu) => stab.mpu = mpu,
                None => problems.push(wrong()),
            },
            "linklayer" => match text.value {
                "ethernet" => stab.link_layer = LinkLayer::Ethernet,
                "atm" | "adsl" => stab.link_layer = LinkLayer::Atm,
                _ => problems.push(wrong().help("there are `ethernet`, `atm` and `adsl`")),
            },
            // Sizes of the kernel's table: sizes are exact here.
            _ => {}
        }
    }
    Ok(stab)
}

fn class(
    cursor: &mut Cursor<'_, '_>,
    device: &mut Device,
    problems: &mut Vec<Problem>,
) -> Result<Class, Problem> {
    let (mut parent, mut id) = (None, None);
    let mut is_top = false;
    loop {
        let word = cursor.next_of_command();
        let word = word.ok_or_else(|| Problem::new(cursor.at, "a class has a kind"))?;
        match word.value {
            "dev" => set(device, word, device_name(cursor)?)?,
            "root" => is_top = true,
            "parent" => set(&mut parent, word, cursor.handle("parent")?)?,
            "classid" => set(&mut id, word, cursor.handle("classid")?)?,
            "est" | "estimator" => estimator(cursor)?,
            _ => {
                let kind = kind(word)?;
                let id = id.ok_or_else(|| Problem::new(word.at, "a class has a `classid`"))?;
                let parent = parent.filter(|_| !is_top).unwrap_or(Located::new(id.owner(), id.at));
                let Some(words) = kind.language().class else {
                    return Err(Problem::new(
                        word.at,
                        format!("classes of `{}` are not set by commands", *kind),
                    ));
                };
                let settings = settings(cursor, *kind, words, problems)?;
                return Ok(Class { parent, id, kind, settings, words: CommandWords::default() });
            }
        }
    }
}

fn kind(word: Located<&str>) -> Result<Located<Kind>, Problem> {
    let kind = Kind::of(word.value);
    let unknown = || match Language::of(word.value).map(|language| language.absent) {
        None | Some("") => format!("kind `{}` is not known yet", *word),
        Some(why) => format!("kind `{}` has no place in a scenario: {why}", *word),
    };
    let kind = kind.ok_or_else(|| Problem::new(word.at, unknown()))?;
    Ok(Located::new(kind, word.at))
}

/// Reads settings up to the end of the command. A setting that is not understood is left out, with the
/// words up to the next known one, and added to `problems`.
fn settings(
    cursor: &mut Cursor<'_, '_>,
    kind: Kind,
    vocabulary: &'static [Word],
    problems: &mut Vec<Problem>,
) -> Result<Vec<Setting>, Problem> {
    let mut settings = Vec::new();
    while let Some(word) = cursor.next_option() {
        let Some((known, value_type, is_on)) = known(word.value, vocabulary) else {
            if ["est", "estimator"].contains(&word.value) {
                estimator(cursor)?;
                continue;
            }
            problems.push(unknown_setting(kind, word, vocabulary));
            while cursor.peek().is_some_and(|next| self::known(next, vocabulary).is_none()) {
                cursor.next();
            }
            continue;
        };
        let mut name = known.name;
        let read = value(cursor, kind, word, value_type, is_on);
        // In two words, as it is printed by some.
        if name == "ack-filter" && cursor.skip("aggressive") {
            name = "ack-filter-aggressive";
        }
        match read.and_then(|value| in_range(kind, known, word, value)) {
            Ok(value) => settings.push(Setting { name: Located::new(name, word.at), value }),
            Err(problem) => problems.push(problem),
        }
    }
    Ok(settings)
}

/// Returns the value of a setting, unless the kernel refuses it.
fn in_range(kind: Kind, known: &Word, word: Located<&str>, value: Value) -> Result<Value, Problem> {
    match known.range().zip(value.number()) {
        Some(([least, most], number)) if !(least..=most).contains(&number) => {
            let message = format!("`{} {value}` of `{kind}`: the kernel takes {least} to {most}", *word);
            let nearest = if number < least { least } else { most };
            Err(Problem::new(word.at, message)
                .help(format!("`{} {nearest}` is the nearest of {least} to {most}", *word)))
        }
        _ => Ok(value),
    }
}

/// Returns the words that stand in a syntax tree, with the types of their values.
fn typed(vocabulary: &'static [Word]) -> impl Iterator<Item = (&'static Word, ValueType)> {
    vocabulary.iter().filter_map(|word| Some((word, word.value_type?)))
}

/// Returns the known setting that a word sets, and false if the word clears it.
fn known(word: &str, vocabulary: &'static [Word]) -> Option<(&'static Word, ValueType, bool)> {
    typed(vocabulary).find_map(|(one, value_type)| Some((one, value_type, one.is(word)?)))
}

/// Returns the problem of a word that is not a setting; it names the place where the word belongs.
fn unknown_setting(kind: Kind, word: Located<&str>, vocabulary: &'static [Word]) -> Problem {
    let problem = Problem::new(word.at, format!("`{}` of `{kind}` is not known", *word));
    let language = kind.language();
    let is_of =
        |words: &'static [Word]| !core::ptr::eq(words, vocabulary) && known(word.value, words).is_some();
    if language.class.is_some_and(is_of) {
        return problem.help(format!("it is a setting of a class: `tc class add ... {kind} {} ...`", *word));
    }
    if is_of(language.qdisc) {
        return problem
            .help(format!("it is a setting of the discipline: `tc qdisc add ... {kind} {} ...`", *word));
    }
    let names: Vec<&str> = typed(vocabulary).map(|(known, _)| known.name).collect();
    problem.help(match names.iter().find(|name| is_near(word.value, name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => format!("`{kind}` takes no settings here"),
        None => format!("there are `{}`", names.join("`, `")),
    })
}

/// Returns true for words that differ by one letter left out, added or exchanged, or by two in the wrong
/// order.
pub(crate) fn is_near(word: &str, name: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (word.chars().collect(), name.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let swapped = || {
        a.len() == b.len() && same + tail + 2 == a.len() && a[same] == b[same + 1] && a[same + 1] == b[same]
    };
    a.len() > 2 && swapped()
        || a.len().max(b.len()) > 2
            && same + tail + 1 >= a.len().max(b.len())
            && a.len().abs_diff(b.len()) <= 1
}

fn value(
    cursor: &mut Cursor<'_, '_>,
    kind: Kind,
    word: Located<&str>,
    value_type: ValueType,
    is_on: bool,
) -> Result<Value, Problem> {
    let missing = || Problem::new(word.at, format!("`{}` of `{kind}` has no value", *word));
    match value_type {
        ValueType::Flag => Ok(Value::Flag),
        ValueType::Switch => Ok(Value::Switch(is_on)),
        ValueType::Numbers => list(cursor, number::decimal).map(Value::Numbers).ok_or_else(missing),
        ValueType::Sizes => list(cursor, number::size).map(Value::Sizes).ok_or_else(missing),
        ValueType::Curve => curve(cursor, word).map(Value::Curve),
        _ => {
            let text = cursor.next().ok_or_else(missing)?;
            value_type.read(text.value).ok_or_else(|| {
                if value_type == ValueType::Rate && text.contains('%') {
                    return part_of_speed(*word, text);
                }
                let message = format!("`{} {}`: `{}` takes {}", *word, *text, *word, value_type.in_words());
                Problem::new(text.at, message)
            })
        }
    }
}

/// Reads values up to the first word that is none; `None` if there are none.
fn list<T>(cursor: &mut Cursor<'_, '_>, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let mut values = Vec::new();
    while let Some(value) = cursor.peek().and_then(&read) {
        cursor.next();
        values.push(value);
    }
    (!values.is_empty()).then_some(values)
}

/// Returns the problem of a percentage of the device's speed.
fn part_of_speed(word: &str, text: Located<&str>) -> Problem {
    let message = format!("`{word} {}` is a part of the device's speed, which no script says", *text);
    Problem::new(text.at, message).help(format!("write the rate, such as `{word} 500mbit`"))
}

/// Reads a service curve: `[m1 RATE d TIME] m2 RATE` or `[[umax SIZE] dmax TIME] rate RATE`.
fn curve(cursor: &mut Cursor<'_, '_>, name: Located<&str>) -> Result<Curve, Problem> {
    let mut curve = Curve::default();
    let (mut umax, mut dmax) = (None, None);
    let keys = ["m1", "m2", "rate", "d", "umax", "dmax"];
    while let Some(key) = cursor.peek().filter(|key| keys.contains(key)) {
        let key = Located::new(key, cursor.next().map(|word| word.at).unwrap_or_default());
        let text = cursor.value(key.value)?;
        let wrong = || match *key {
            "m1" | "m2" | "rate" if text.contains('%') => part_of_speed(*key, text),
            _ => Problem::new(text.at, format!("`{} {}` is not understood", *key, *text)),
        };
        match key.value {
            "d" => set(&mut curve.d, key, number::time(text.value, "us").ok_or_else(wrong)?)?,
            "dmax" => set(&mut dmax, key, number::time(text.value, "us").ok_or_else(wrong)?)?,
            "umax" => set(&mut umax, key, number::size(text.value).ok_or_else(wrong)?)?,
            "m1" => set(&mut curve.m1, key, number::rate(text.value).ok_or_else(wrong)?)?,
            _ => set(&mut curve.m2, key, number::rate(text.value).ok_or_else(wrong)?)?,
        }
    }
    if curve == Curve::default() {
        return Err(Problem::new(name.at, format!("`{}` takes {}", *name, ValueType::Curve.in_words())));
    }
    match (umax, dmax, curve.m2) {
        (None, None, _) => Ok(curve),
        (umax, Some(dmax), Some(rate)) if !dmax.is_zero() && !rate.is_zero() && curve.m1.is_none() => {
            Ok(by_delay(umax.map_or(0, |umax| umax.0), dmax, rate))
        }
        _ => Err(Problem::new(name.at, format!("`umax` of `{}` needs `dmax` and `rate`", *name))),
    }
}

/// Returns the curve by which `umax` bytes leave within `dmax`, and `rate` holds after that (tc-hfsc(8)).
fn by_delay(umax: u64, dmax: Duration, rate: Rate) -> Curve {
    const SECOND: u128 = Duration::from_secs(1).as_picos() as u128;
    let bits = u128::from(umax) * 8;
    let slope = (bits * SECOND).div_ceil(u128::from(dmax.as_picos()));
    if slope > u128::from(rate.as_bits()) {
        let m1 = Rate::from_bits(u64::try_from(slope).unwrap_or(u64::MAX));
        return Curve { m1: Some(m1), d: Some(dmax), m2: Some(rate) };
    }
    // The flat part ends so that `umax` at the rate ends at `dmax`.
    let own = bits * SECOND / u128::from(rate.as_bits());
    let flat = u64::try_from(u128::from(dmax.as_picos()) - own).unwrap_or(0);
    Curve { m1: Some(Rate::from_bits(0)), d: Some(Duration::from_picos(flat)), m2: Some(rate) }
}
