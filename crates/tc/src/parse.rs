//! Parser: text to syntax tree.

mod filter;

use crate::language::{Kind, Word};
use crate::number;
use crate::position::Located;
use crate::problem::{Problem, Problems};
use crate::syntax::{Action, Class, Command, Commands, Object, Qdisc, Setting};
use crate::value::{Curve, Value, ValueType};
use crate::words::{self, Cursor, Words};

/// Parses commands: one a line, with or without the word `tc` before it. A line that ends with the word `\`
/// continues on the next one; a word that begins with `#` begins a comment.
///
/// # Errors
/// Returns one problem for each command that is not understood: its first.
pub fn parse(text: &str) -> Result<Commands, Problems> {
    let mut problems = Vec::new();
    let mut commands = Vec::new();
    for words in words::commands(text) {
        match command(&words) {
            Ok(command) => commands.push(command),
            Err(problem) => problems.push(problem),
        }
    }
    Problems::unless(Commands(commands), problems)
}

fn command(words: &Words<'_>) -> Result<Command, Problem> {
    let mut cursor = Cursor::new(words);
    cursor.skip("tc");
    let object = cursor.value("tc")?;
    if !["qdisc", "class", "filter"].contains(&object.value) {
        let message =
            format!("`{}` is not understood: a command sets a `qdisc`, a `class` or a `filter`", *object);
        return Err(Problem::new(object.at, message));
    }
    let word = cursor.value(object.value)?;
    let action = match word.value {
        "add" => Action::Add,
        "replace" => Action::Replace,
        "change" => Action::Change,
        other => {
            let message =
                format!("`{} {other}` is not understood: there are `add`, `replace` and `change`", *object);
            return Err(Problem::new(word.at, message));
        }
    };
    let mut device = None;
    let object = match object.value {
        "qdisc" => Object::Qdisc(qdisc(&mut cursor, &mut device)?),
        "class" => Object::Class(class(&mut cursor, &mut device)?),
        _ => Object::Filter(filter::filter(&mut cursor, &mut device)?),
    };
    let device = device.ok_or_else(|| Problem::new(word.at, "a command names its device by `dev`"))?;
    Ok(Command { action: Located::new(action, word.at), device, object })
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

fn qdisc(cursor: &mut Cursor<'_, '_>, device: &mut Device) -> Result<Qdisc, Problem> {
    let (mut parent, mut handle) = (None, None);
    loop {
        let word = cursor.next().ok_or_else(|| Problem::new(cursor.at, "a discipline has a kind"))?;
        match word.value {
            "dev" => set(device, word, device_name(cursor)?)?,
            "root" => set(&mut parent, word, None)?,
            "parent" => set(&mut parent, word, Some(cursor.handle("parent")?))?,
            "handle" => set(&mut handle, word, cursor.handle("handle")?)?,
            _ => {
                let kind = kind(word)?;
                let Some(parent) = parent else {
                    return Err(Problem::new(word.at, "a discipline is at the `root`, or has a `parent`"));
                };
                let settings = settings(cursor, *kind, kind.language().qdisc)?;
                return Ok(Qdisc { parent, handle, kind, settings });
            }
        }
    }
}

fn class(cursor: &mut Cursor<'_, '_>, device: &mut Device) -> Result<Class, Problem> {
    let (mut parent, mut id) = (None, None);
    loop {
        let word = cursor.next().ok_or_else(|| Problem::new(cursor.at, "a class has a kind"))?;
        match word.value {
            "dev" => set(device, word, device_name(cursor)?)?,
            "parent" => set(&mut parent, word, cursor.handle("parent")?)?,
            "classid" => set(&mut id, word, cursor.handle("classid")?)?,
            _ => {
                let kind = kind(word)?;
                let id = id.ok_or_else(|| Problem::new(word.at, "a class has a `classid`"))?;
                let parent = parent.unwrap_or(Located::new(id.owner(), id.at));
                let Some(words) = kind.language().class else {
                    return Err(Problem::new(
                        word.at,
                        format!("classes of `{}` are not set by commands", *kind),
                    ));
                };
                let settings = settings(cursor, *kind, words)?;
                return Ok(Class { parent, id, kind, settings });
            }
        }
    }
}

fn kind(word: Located<&str>) -> Result<Located<Kind>, Problem> {
    let kind = Kind::of(word.value);
    let kind = kind.ok_or_else(|| Problem::new(word.at, format!("kind `{}` is not known yet", *word)))?;
    Ok(Located::new(kind, word.at))
}

/// Reads settings up to the end of the command.
fn settings(
    cursor: &mut Cursor<'_, '_>,
    kind: Kind,
    vocabulary: &'static [Word],
) -> Result<Vec<Setting>, Problem> {
    let mut settings = Vec::new();
    while let Some(word) = cursor.next() {
        let named = |one: &&Word| one.name == word.value || one.synonyms.contains(&word.value);
        let negated = |one: &&Word| one.value_type == ValueType::Switch && is_negation(word.value, one.name);
        let (known, is_on) = match vocabulary.iter().find(named) {
            Some(known) => (known, true),
            None => match vocabulary.iter().find(negated) {
                Some(known) => (known, false),
                None => {
                    return Err(Problem::new(word.at, format!("`{}` of `{kind}` is not known", *word)));
                }
            },
        };
        let value = value(cursor, kind, word, known.value_type, is_on)?;
        settings.push(Setting { name: Located::new(known.name, word.at), value });
    }
    Ok(settings)
}

/// Returns true for `noecn` or `no_split_gso`: the words that clear the switches `ecn` and `split_gso`.
fn is_negation(word: &str, name: &str) -> bool {
    let rest = word.strip_prefix("no");
    let plain = if name.contains('_') { rest.and_then(|rest| rest.strip_prefix('_')) } else { rest };
    plain == Some(name)
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

/// Reads a service curve, `[m1 RATE d TIME] m2 RATE` or `rate RATE`.
fn curve(cursor: &mut Cursor<'_, '_>, name: Located<&str>) -> Result<Curve, Problem> {
    let mut curve = Curve::default();
    while let Some(key) = cursor.peek().filter(|key| ["m1", "m2", "rate", "d"].contains(key)) {
        let key = Located::new(key, cursor.next().map(|word| word.at).unwrap_or_default());
        let text = cursor.value(key.value)?;
        let wrong = || Problem::new(text.at, format!("`{} {}` is not understood", *key, *text));
        match key.value {
            "d" => set(&mut curve.d, key, number::time(text.value, "us").ok_or_else(wrong)?)?,
            "m1" => set(&mut curve.m1, key, number::rate(text.value).ok_or_else(wrong)?)?,
            _ => set(&mut curve.m2, key, number::rate(text.value).ok_or_else(wrong)?)?,
        }
    }
    if curve == Curve::default() {
        return Err(Problem::new(name.at, format!("`{}` takes {}", *name, ValueType::Curve.in_words())));
    }
    Ok(curve)
}
