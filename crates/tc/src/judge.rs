//! Verdict on each command as `tc` and the kernel give it: what its parser refuses, and what the kernel
//! refuses in the state that the commands before left.
//!
//! The rules are those of iproute2 6.1 and Linux 6.1, found by putting commands to both; tests/corpus has
//! several thousand with their verdicts. Kinds that those do not have are as their manual pages say. What a
//! device can do (its queues, its speed) is not known here and never refused.
//!
//! ```text
//! words -> parser (options, filters, actions) -> request -> kernel (objects, chains, limits)
//! ```

mod actions;
mod filters;
mod limits;
mod links;
mod matches;
mod netem;
mod objects;
mod options;

use std::collections::BTreeMap;

use crate::handle::Handle;
use crate::language::{Kind, Language};
use crate::lex;
use crate::position::{Located, Position};
use crate::problem::Problem;
use crate::words::{Cursor, Words};
use objects::Device;
pub(crate) use objects::NOTHING;
use objects::chains::Request as FilterRequest;
use options::Values;

/// Author of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The parser of `tc`: the command never comes to the kernel.
    Parser,
    /// The kernel.
    Kernel,
}

/// A command that is refused, and leaves the state as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Author.
    pub by: By,
    /// Word, reason and fix.
    pub problem: Problem,
}

impl Refusal {
    /// Returns true if the kernel refuses the command, and its parser takes it.
    pub fn is_by_kernel(&self) -> bool {
        self.by == By::Kernel
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self { problem: self.problem.help(help), ..self }
    }
}

/// Creates a refusal by the parser.
fn parser(at: Position, message: impl Into<String>) -> Refusal {
    Refusal { by: By::Parser, problem: Problem::new(at, message) }
}

/// Creates a refusal by the kernel.
fn kernel(at: Position, message: impl Into<String>) -> Refusal {
    Refusal { by: By::Kernel, problem: Problem::new(at, message) }
}

/// Creates the refusal of a word without the value that must follow.
fn missing(word: Located<&str>) -> Refusal {
    parser(word.at, format!("`{}` has no value", *word))
}

/// Reads the word that must follow another.
fn value_of<'a>(cursor: &mut Cursor<'a, '_>, word: Located<&str>) -> Result<Located<&'a str>, Refusal> {
    cursor.next().ok_or_else(|| missing(word))
}

/// Returns the name that a misspelt word is nearest to.
fn nearest<T: AsRef<str>>(word: &str, names: impl Iterator<Item = T>) -> Option<T> {
    let lower = word.to_ascii_lowercase();
    let names = names.filter(|name| crate::parse::is_near(&lower, name.as_ref()));
    names.min_by_key(|name| name.as_ref().len().abs_diff(word.len()))
}

/// Verb of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Add,
    Replace,
    Change,
    Link,
    Delete,
}

impl Verb {
    fn creates(self) -> bool {
        matches!(self, Self::Add | Self::Replace)
    }
}

/// A discipline or a class in a command.
#[derive(Debug)]
struct Request {
    verb: Verb,
    at: Position,
    parent: u32,
    handle: u32,
    kind: Option<Located<String>>,
    values: Values,
    /// Position of the table of sizes.
    stab: Option<Position>,
}

/// State of a machine's devices, all of which have no queue at first.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    devices: BTreeMap<String, Device>,
    gone: links::Gone,
    effects: Vec<Effect>,
}

/// Effect of a command on the kernel besides what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The parent of a class is not there, so that the class is made below the discipline.
    AtRoot(Handle),
    /// The class gets classes below it, and loses its discipline.
    LeafGone(Handle),
    /// A discipline of another kind was there, and is gone with all below it.
    Replaced,
}

impl Judge {
    /// Judges the next command, its words after `tc`; returns what the kernel does besides what the words
    /// say.
    ///
    /// # Errors
    /// Returns the refusal; the command then changes nothing.
    pub(crate) fn command(&mut self, words: &Words<'_>) -> Result<Vec<Effect>, Refusal> {
        self.effects.clear();
        self.judge(words)?;
        Ok(core::mem::take(&mut self.effects))
    }

    fn judge(&mut self, words: &Words<'_>) -> Result<(), Refusal> {
        let mut cursor = Cursor::new(words);
        let Some(object) = cursor.next() else { return Ok(()) };
        let objects = ["qdisc", "class", "filter", "chain", "actions", "monitor", "exec", "help"];
        let Some(name) = begun(object.value, &objects) else {
            let refusal = parser(object.at, format!("`{}` is no object of `tc`", *object));
            return Err(match nearest(object.value, objects.into_iter()) {
                Some(near) => refusal.help(format!("did you mean `{near}`?")),
                None => refusal,
            });
        };
        if !["qdisc", "class", "filter"].contains(&name) {
            return Ok(());
        }
        let Some(verb) = cursor.next() else { return Ok(()) };
        let known = verbs(name);
        let Some(verb) = begun(verb.value, known).map(|name| Located::new(name, verb.at)) else {
            let refusal = parser(verb.at, format!("`{name} {}` is not known", *verb));
            return Err(match nearest(verb.value, known.iter().copied()) {
                Some(near) => refusal.help(format!("did you mean `{near}`?")),
                None => refusal.help("there are `add`, `replace`, `change` and `delete`"),
            });
        };
        let at = verb.at;
        let verb = match verb.value {
            "add" => Verb::Add,
            "replace" => Verb::Replace,
            "change" => Verb::Change,
            "link" => Verb::Link,
            "delete" => Verb::Delete,
            _ => return Ok(()),
        };
        match name {
            "qdisc" => self.qdisc(&mut cursor, verb, at),
            "class" => self.class(&mut cursor, verb, at),
            _ => self.filter(&mut cursor, verb, at),
        }
    }

    /// Returns true if no command before has set anything up on the device of this one.
    pub(crate) fn is_untouched(&self, words: &Words<'_>) -> bool {
        let device = words.iter().skip_while(|word| word.value != "dev").nth(1);
        device.is_none_or(|device| self.devices.get(device.value).is_none_or(Device::is_untouched))
    }

    fn device(&mut self, name: Option<String>, at: Position) -> Result<&mut Device, Refusal> {
        let Some(name) = name else { return Err(kernel(at, "the command names no device by `dev`")) };
        if self.gone.has(&name) {
            return Err(kernel(at, format!("there is no device `{name}`: `ip link` took it away before"))
                .help("make it anew before, by `ip link add`, or write this command first"));
        }
        Ok(self.devices.entry(name).or_default())
    }

    fn qdisc(&mut self, cursor: &mut Cursor<'_, '_>, verb: Verb, at: Position) -> Result<(), Refusal> {
        let (device, request) = qdisc(cursor, verb, at)?;
        let device = self.device(device, at)?;
        if verb == Verb::Delete {
            device.delete_qdisc(&request)?;
        } else {
            device.qdisc(&request)?;
        }
        self.effects = core::mem::take(&mut device.effects);
        Ok(())
    }

    fn class(&mut self, cursor: &mut Cursor<'_, '_>, verb: Verb, at: Position) -> Result<(), Refusal> {
        let (device, request) = class(cursor, verb, at)?;
        let device = self.device(device, at)?;
        device.class(&request)?;
        self.effects = core::mem::take(&mut device.effects);
        Ok(())
    }

    fn filter(&mut self, cursor: &mut Cursor<'_, '_>, verb: Verb, at: Position) -> Result<(), Refusal> {
        let (device, request): (Option<String>, FilterRequest) = filters::filter(cursor, verb, at)?;
        self.device(device, at)?.filter(&request)
    }
}

/// Verbs in the order in which a beginning is compared with them.
fn verbs(object: &str) -> &'static [&'static str] {
    match object {
        "qdisc" => &["add", "change", "replace", "link", "delete", "list", "show", "lst", "help"],
        "class" => &["add", "change", "replace", "delete", "list", "show", "lst", "help"],
        _ => &["add", "change", "replace", "delete", "get", "list", "show", "lst", "help"],
    }
}

/// Returns the first name that begins with a word.
fn begun<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    names.iter().copied().find(|name| !word.is_empty() && name.starts_with(word))
}

/// Takes a value that must not be there yet.
fn once<T>(slot: &mut Option<T>, word: Located<&str>, value: T) -> Result<(), Refusal> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(parser(word.at, format!("`{}` is given twice", *word))),
    }
}

/// Reads the two times of a rate estimator.
fn estimator(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let mut next = || -> Result<f64, Refusal> {
        let text = cursor.next().ok_or_else(|| missing(word))?;
        lex::time(text.value).ok_or_else(|| parser(text.at, format!("`{}` is not a time", *text)))
    };
    let (interval, average) = (next()?, next()?);
    if interval <= 0.0 || average <= 0.0 || average < interval * 2.0 {
        return Err(parser(word.at, "the average of `est` is not at least twice its interval"));
    }
    Ok(())
}

/// Most sizes in a table of `stab`: more do not fit in a message to the kernel.
const LARGEST_TABLE: usize = 32_600;

/// Largest logarithm of a step between the sizes of such a table.
const LARGEST_STEP: usize = 30;

/// Reads the words of `stab`.
fn stab(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let names = ["mtu", "mpu", "overhead", "tsize", "linklayer"];
    let mut values = BTreeMap::new();
    while let Some(name) = cursor.peek().and_then(|next| begun(next, &names)) {
        cursor.next();
        let text = cursor.next().ok_or_else(|| missing(word))?;
        let value = match name {
            "linklayer" => ["ethernet", "atm", "adsl"].iter().position(|one| *one == text.value),
            "overhead" => lex::signed(text.value, 0).map(|bytes| bytes.unsigned_abs() as usize),
            _ => lex::unsigned(text.value, 10, u64::from(u32::MAX)).map(|value| value as usize),
        };
        let wrong = || parser(text.at, format!("`{name} {}` of `stab` is not valid", *text));
        values.insert(name, value.ok_or_else(wrong)?);
    }
    let value = |name: &str| values.get(name).copied().unwrap_or(0);
    if !values.contains_key("linklayer") && value("mpu") == 0 && value("overhead") == 0 {
        return Err(parser(word.at, "`stab` has no words that change a size")
            .help("give it a `linklayer`, an `overhead` or an `mpu`, or leave it out"));
    }
    // Without cells and `mpu`, sizes need no table.
    let has_table = value("linklayer") > 0 || value("mpu") > 0;
    if has_table && value("tsize") > LARGEST_TABLE {
        return Err(kernel(word.at, format!("`tsize {}` of `stab` fits in no message", value("tsize")))
            .help(format!("write at most {LARGEST_TABLE}, or leave it out")));
    }
    let steps = match value("tsize") {
        0 => 512,
        given => given,
    };
    if has_table && value("mtu").saturating_sub(1) >> LARGEST_STEP > steps - 1 {
        return Err(kernel(word.at, format!("`tsize {steps}` of `stab` is too small for its `mtu`"))
            .help("leave `tsize` and `mtu` out"));
    }
    Ok(())
}

fn name_of(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<String, Refusal> {
    cursor.next().map(|name| name.value.to_owned()).ok_or_else(|| missing(word))
}

fn class_id(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<u32, Refusal> {
    let text = cursor.next().ok_or_else(|| missing(word))?;
    let wrong =
        || parser(text.at, format!("`{} {}`: `{}` is not a handle such as `1:10`", *word, *text, *text));
    lex::class_id(text.value).ok_or_else(wrong)
}

/// Reads a command on a discipline.
fn qdisc(
    cursor: &mut Cursor<'_, '_>,
    verb: Verb,
    at: Position,
) -> Result<(Option<String>, Request), Refusal> {
    let (mut device, mut parent, mut handle, mut kind, mut table) = (None, 0, 0, None, None);
    while let Some(word) = cursor.next() {
        let twice = || parser(word.at, format!("`{}` gives a second parent", *word));
        match word.value {
            "dev" => once(&mut device, word, name_of(cursor, word)?)?,
            "handle" => {
                let text = cursor.next().ok_or_else(|| missing(word))?;
                if handle != 0 {
                    return Err(parser(word.at, "`handle` is given twice"));
                }
                let wrong = || parser(text.at, format!("`{}` is not a handle such as `1:`", *text));
                handle = lex::qdisc_handle(text.value).ok_or_else(wrong)?;
            }
            "root" | "parent" | "ingress" | "clsact" if parent != 0 => return Err(twice()),
            "root" => parent = objects::ROOT,
            "parent" => parent = class_id(cursor, word)?,
            "ingress" | "clsact" => {
                parent = objects::INGRESS;
                handle = objects::HOOK;
                kind = Some(word);
                break;
            }
            "ingress_block" | "egress_block" => {
                let text = cursor.next().ok_or_else(|| missing(word))?;
                if lex::unsigned(text.value, 0, u64::from(u32::MAX)).is_none() {
                    return Err(parser(text.at, format!("`{}` is not the number of a block", *text)));
                }
            }
            short if !short.is_empty() && "estimator".starts_with(short) => estimator(cursor, word)?,
            short if !short.is_empty() && "stab".starts_with(short) => {
                stab(cursor, word)?;
                table = Some(word.at);
            }
            _ => {
                kind = Some(word);
                break;
            }
        }
    }
    let values = match kind {
        Some(kind) => words_of(cursor, kind, false)?,
        None => Values::default(),
    };
    let kind = kind.map(|kind| Located::new(kind.value.to_owned(), kind.at));
    Ok((device, Request { verb, at, parent, handle, kind, values, stab: table }))
}

/// Reads the words after a kind.
fn words_of(cursor: &mut Cursor<'_, '_>, kind: Located<&str>, is_class: bool) -> Result<Values, Refusal> {
    if kind.value == "help" || cursor.peek() == Some("help") {
        return Ok(Values::default());
    }
    let Some(language) = Language::of(kind.value) else {
        return match cursor.next() {
            Some(word) => {
                Err(parser(kind.at, format!("kind `{}` is not known, so `{}` is not read", *kind, *word))
                    .maybe(kind))
            }
            None => Ok(Values::default()),
        };
    };
    if is_class && language.class.is_none() {
        return Err(parser(kind.at, format!("classes of `{}` are not set by commands", *kind)));
    }
    if language.is_wordless {
        return match cursor.next() {
            Some(word) => Err(parser(word.at, format!("`{}` takes no words", *kind))),
            None => Ok(Values::default()),
        };
    }
    if kind.value == "netem" {
        return netem::options(cursor, kind.at, language.qdisc);
    }
    let values = options::options(cursor, kind.value, language.words(is_class))?;
    options::together(kind.value, is_class, &values, kind.at)?;
    Ok(values)
}

/// Returns why the parser of `tc` or the kernel refuses the words of a new discipline or class.
pub(crate) fn refusal(kind: Kind, is_class: bool, words: &[String]) -> Option<String> {
    let at = Position::default();
    let words: Words<'_> = words.iter().map(|word| Located::new(word.as_str(), at)).collect();
    let judged = words_of(&mut Cursor::new(&words), Located::new(kind.name(), at), is_class);
    let judged = judged.and_then(|values| {
        let kind = Some(Located::new(kind.name().to_owned(), at));
        let request = Request { verb: Verb::Add, at, parent: 0, handle: 0, kind, values, stab: None };
        limits::check(&request, is_class, false)
    });
    judged.err().map(|refusal| refusal.problem.message)
}

impl Refusal {
    /// Adds the kind that a misspelt one is nearest to.
    fn maybe(self, kind: Located<&str>) -> Self {
        let kinds = || Language::all().map(|language| language.name);
        let words = || ["handle", "parent", "root", "stab"].into_iter();
        match nearest(kind.value, kinds()).or_else(|| nearest(kind.value, words())) {
            Some(near) => self.help(format!("did you mean `{near}`?")),
            None => self,
        }
    }
}

/// Reads a command on a class.
fn class(
    cursor: &mut Cursor<'_, '_>,
    verb: Verb,
    at: Position,
) -> Result<(Option<String>, Request), Refusal> {
    let (mut device, mut parent, mut handle, mut kind) = (None, 0, 0, None);
    while let Some(word) = cursor.next() {
        let twice = || parser(word.at, format!("`{}` is given twice", *word));
        match word.value {
            "dev" => once(&mut device, word, name_of(cursor, word)?)?,
            "classid" if handle != 0 => return Err(twice()),
            "classid" => handle = class_id(cursor, word)?,
            "handle" => return Err(parser(word.at, "a class has a `classid`, not a `handle`")),
            "root" | "parent" if parent != 0 => return Err(twice()),
            "root" => parent = objects::ROOT,
            "parent" => parent = class_id(cursor, word)?,
            short if !short.is_empty() && "estimator".starts_with(short) => estimator(cursor, word)?,
            _ => {
                kind = Some(word);
                break;
            }
        }
    }
    let values = match kind {
        Some(kind) => words_of(cursor, kind, true)?,
        None => Values::default(),
    };
    let kind = kind.map(|kind| Located::new(kind.value.to_owned(), kind.at));
    Ok((device, Request { verb, at, parent, handle, kind, values, stab: None }))
}
