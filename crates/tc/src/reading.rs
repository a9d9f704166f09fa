//! Reads `tc` in every form in which people have it: scripts, batch files, what `tc` prints, and `OpenWrt`'s
//! configuration of SQM.

use std::collections::BTreeMap;

use crate::handle::Handle;
use crate::import::devices::faults;
use crate::judge::{Effect, Judge, NOTHING, Refusal};
use crate::language::Kind;
use crate::parse;
use crate::position::{Located, Position};
use crate::problem::Problem;
use crate::script::{self, NEEDS_SHELL, Skipped};
use crate::show;
use crate::sqm;
use crate::syntax::{Action, Command, Commands, FilterAction, Object, Police, Qdisc, Setting};

/// Form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Commands: a script or a batch file.
    Commands,
    /// Output of `tc -d qdisc show` and its like.
    Shown,
    /// `OpenWrt`'s `/etc/config/sqm`.
    Sqm,
}

/// Result of reading a text.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Form of the text.
    pub form: Form,
    /// Commands that were understood.
    pub commands: Commands,
    /// Lines that are not part of the result, with the reasons.
    pub skipped: Vec<Skipped>,
    /// Words that were not understood, in the order of the text.
    pub problems: Vec<Problem>,
    /// Commands that `tc` or the kernel refuses, by the position of their first word.
    pub refusals: Vec<(Position, Refusal)>,
    /// Effects of commands on the kernel besides what they say.
    pub effects: Vec<Problem>,
    /// Form that a text without any command seems to have, and what to do.
    pub nothing: Option<(String, &'static str)>,
}

/// Reads a text. `definitions` are variables that a script does not assign itself; `device` is the device of
/// what `tc show dev` prints without its name.
pub fn read(text: &str, definitions: &[(String, String)], device: &str) -> Reading {
    // A byte order mark is no part of the first word.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if sqm::is_config(text) {
        return read_sqm(text);
    }
    let mut others = Vec::new();
    let (form, lines, skipped, problems, effects) = if show::is_shown(text) {
        let shown = show::read(text, device);
        (Form::Shown, shown.commands, shown.skipped, Vec::new(), shown.effects)
    } else {
        let script = script::expand(text, definitions);
        others = script.others;
        (Form::Commands, script.commands, script.skipped, script.problems, Vec::new())
    };
    let (commands, refusals) = (Commands::default(), Vec::new());
    let mut reading = Reading { form, commands, skipped, problems, refusals, effects, nothing: None };
    // `class NAME` of IOS would be an object of `tc`.
    let other = other_language(text).filter(|(what, _)| lines.is_empty() || *what == IOS);
    let lines = if other.is_some() { Vec::new() } else { lines };
    reading.add(&lines, &others, text);
    if other.is_some() {
        reading.problems.clear();
    }
    if lines.is_empty() && reading.problems.is_empty() {
        let (what, help) = other.unwrap_or_else(|| looks(text));
        reading.nothing = Some((format!("no command of `tc` was read: {what}"), help));
    }
    reading.problems.sort_by_key(|problem| problem.at);
    reading
}

fn read_sqm(text: &str) -> Reading {
    let config = sqm::commands(text);
    let mut reading = Reading {
        form: Form::Sqm,
        commands: Commands::default(),
        skipped: config.skipped,
        problems: config.problems,
        refusals: Vec::new(),
        effects: Vec::new(),
        nothing: None,
    };
    reading.add(&config.commands, &[], text);
    if config.commands.is_empty() && reading.problems.is_empty() {
        let message = "no command of `tc` was read: no section is enabled";
        reading.nothing = Some((message.to_owned(), sqm::DISABLED));
    }
    reading
}

/// Returns what a text without a command of `tc` looks like, and what to do.
fn looks(text: &str) -> (&'static str, &'static str) {
    let count = text.chars().count();
    let part = |is_it: fn(char) -> bool| text.chars().filter(|letter| is_it(*letter)).count() * 8 > count;
    let start = text.trim_start();
    match start.chars().next() {
        None => ("it is empty", "write commands such as `tc qdisc add dev eth0 root fq_codel`"),
        _ if part(|letter| letter == '\0') => ("it looks like UTF-16", "save it as UTF-8"),
        _ if part(|letter| letter == '\u{fffd}' || letter.is_control() && !letter.is_whitespace()) => {
            ("it looks like a binary file", "give a script, a batch file, or what `tc -d qdisc show` prints")
        }
        Some('[' | '{') => {
            ("it looks like JSON", "print it without `-j`: `tc -d qdisc show`, `class show`, `filter show`")
        }
        _ => ("no line begins with `tc`, `qdisc`, `class` or `filter`", NEEDS_SHELL),
    }
}

/// Returns the language of another program for queues, and what to do; `None` if it is none of these.
fn other_language(text: &str) -> Option<(&'static str, &'static str)> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '!']));
    lines.find_map(|line| {
        let section = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if section.is_some_and(|name| !name.is_empty() && name.chars().all(char::is_alphanumeric)) {
            return Some(("it looks like a file of systemd-networkd", IMPORT_SHOWN));
        }
        let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
        if begins(&["/queue", "/ip ", "/interface"]) {
            return Some(("it looks like commands of RouterOS", WRITE_QUEUES));
        }
        begins(&["policy-map ", "class-map ", "service-policy "]).then_some((IOS, WRITE_QUEUES))
    })
}

const IOS: &str = "it looks like a configuration of IOS";

/// Advice for what becomes queues of Linux.
const IMPORT_SHOWN: &str = "load it, and import what the kernel then has: `tc -d qdisc show`, `tc -d class show dev DEV` and `tc -d filter show dev DEV`";

/// Advice for what becomes queues of another system.
const WRITE_QUEUES: &str = "write its queues as those of a scenario: `lockgate list` shows the kinds";

impl Reading {
    /// Parses the words of commands; a problem leaves out what it is about, a refusal the whole command.
    /// `others` are commands of other programs, each with the number of lines before it.
    fn add(&mut self, lines: &[Vec<Located<String>>], others: &[(usize, Vec<String>)], text: &str) {
        // Meters by their numbers; filters of one number share a meter.
        let mut meters = BTreeMap::new();
        let mut judge = Judge::default();
        let is_judged = self.form == Form::Commands;
        let text: Vec<&str> = text.lines().collect();
        let mut others = others.iter().peekable();
        for (number, line) in lines.iter().enumerate() {
            while let Some((_, words)) = others.next_if(|(before, _)| *before <= number) {
                judge.other_program(words);
            }
            let line = match without_options(line) {
                Ok(line) => line,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            let words: Vec<_> = line.iter().map(|word| Located::new(word.value.as_str(), word.at)).collect();
            let Some(first) = words.first() else { continue };
            let at = first.at;
            if let Some(police) = parse::meter(&words) {
                meters.insert(police.index, police);
                self.skip(at, &words, "filters take it by its number");
                continue;
            }
            if ["actions", "action", "monitor", "exec", "chain"].contains(&first.value) {
                self.skip(at, &words, "it sets no queue");
                continue;
            }
            let before = self.problems.len();
            let is_untouched = judge.is_untouched(&words);
            let verdict = if is_judged { judge.command(&words) } else { Ok(Vec::new()) };
            let parsed = parse::command(&words, &mut self.problems);
            match (parsed, verdict) {
                (parsed, Err(refusal)) => {
                    let line = (at.line as usize).checked_sub(1).and_then(|index| text.get(index));
                    let is_expected = line.is_some_and(|line| expects_failure(line));
                    let is_absent = refusal.problem.message == NOTHING && is_untouched;
                    if refusal.is_by_kernel() && (is_expected || is_absent) {
                        self.problems.truncate(before);
                        self.skip(at, &words, NOTHING_YET);
                        continue;
                    }
                    self.refuse(at, before, parsed, refusal);
                }
                (Ok(Some(mut command)), Ok(effects)) => {
                    command.action.at = at;
                    command.object.words_mut().number = number;
                    self.number_meters(&mut command, &mut meters);
                    self.replace(&mut command, &effects);
                    self.affect(&mut command, &effects);
                    self.commands.0.push(command);
                }
                (Ok(None), Ok(_)) => self.delete(at, &words),
                (Err(problem), Ok(_)) => self.problems.push(problem),
            }
            if is_judged && self.refusals.last().is_none_or(|(refused, _)| *refused != at) {
                self.problems[before..].iter_mut().for_each(Problem::limit);
            }
            for problem in self.problems[before..].iter_mut().filter(|problem| !problem.is_limit()) {
                problem.help.get_or_insert_with(|| parse::form(first.value).to_owned());
            }
        }
    }

    /// Adds the problem of a command that `tc` or the kernel refuses: in the words of its syntax or of the
    /// tree that it would belong to, if they have any.
    fn refuse(
        &mut self,
        at: Position,
        before: usize,
        parsed: Result<Option<Command>, Problem>,
        refusal: Refusal,
    ) {
        let limits = self.problems[before..].iter().filter(|problem| problem.is_limit()).count();
        if limits == self.problems.len() - before {
            self.problems.truncate(before);
        }
        match parsed {
            Err(problem) if !problem.is_limit() => self.problems.push(problem),
            Ok(Some(command))
                if *command.action == Action::Add
                    && refusal.is_by_kernel()
                    && self.refusals.len() < MOST_EXPLAINED =>
            {
                let mut commands = self.commands.clone();
                commands.0.push(command);
                let known = faults(&self.commands);
                let own = faults(&commands)
                    .into_iter()
                    .find(|problem| problem.at >= at && !known.contains(problem));
                self.problems.extend(own);
            }
            _ => {}
        }
        if self.problems.len() == before {
            self.problems.push(refusal.problem.clone());
        }
        self.refusals.push((at, refusal));
    }

    /// Does what the kernel does besides what a command says.
    fn affect(&mut self, command: &mut Command, effects: &[Effect]) {
        for effect in effects {
            let problem = match (effect, &mut command.object) {
                (Effect::AtRoot(parent), Object::Class(class)) => {
                    let message = format!(
                        "the parent `{parent}` of the class `{}` is not there: the kernel makes the class below `{}`",
                        *class.id,
                        class.id.owner()
                    );
                    let at = class.parent.at;
                    class.parent.value = class.id.owner();
                    Problem::new(at, message)
                        .help("set the parent up on a line before, or name one that is there")
                }
                (Effect::LeafGone(class), _) => {
                    let is_there = |qdisc: &Qdisc| qdisc.parent.as_deref() == Some(class);
                    let kind = self
                        .commands
                        .qdiscs()
                        .find(|qdisc| is_there(qdisc))
                        .map_or("discipline", |qdisc| qdisc.kind.name());
                    let message = format!("`{class}` gets a class below it: the kernel removes its `{kind}`");
                    self.remove(
                        &command.device,
                        REMOVED,
                        |object| matches!(object, Object::Qdisc(qdisc) if is_there(qdisc)),
                    );
                    Problem::new(command.action.at, message)
                        .help("put the discipline into the class below, or leave it out")
                }
                (Effect::Replaced, _) => {
                    let message = "a discipline is there already: this one takes its place, and older kernels refuse it";
                    Problem::new(command.action.at, message)
                        .help("delete the first with `tc qdisc del`, or write `replace` instead of `add`")
                }
                _ => continue,
            };
            self.effects.push(problem);
        }
    }

    /// Puts what stands in the classes of a `mq` in its place, if it is the same in all: a port has one
    /// queue.
    pub(crate) fn join_transmit_queues(&mut self) {
        let is_mq = |qdisc: &&Qdisc| *qdisc.kind == Kind::Mq && qdisc.parent.is_none();
        let names = self
            .commands
            .0
            .iter()
            .filter(|command| matches!(&command.object, Object::Qdisc(qdisc) if is_mq(&qdisc)));
        let names: Vec<String> = names.map(|command| command.device.value.clone()).collect();
        for device in names {
            let own = || self.commands.0.iter().filter(|command| *command.device == device);
            let qdiscs = || {
                own().filter_map(|command| match &command.object {
                    Object::Qdisc(qdisc) => Some(qdisc),
                    _ => None,
                })
            };
            let Some(mq) = qdiscs().find(is_mq).and_then(|qdisc| qdisc.handle.as_deref()).copied() else {
                continue;
            };
            let is_in = |qdisc: &Qdisc| qdisc.parent.as_deref().is_some_and(|parent| parent.owner() == mq);
            let all: Vec<&Qdisc> = qdiscs().filter(|qdisc| is_in(qdisc)).collect();
            let [first, rest @ ..] = all.as_slice() else { continue };
            let is_same = |other: &&Qdisc| {
                (&first.kind, &first.settings, &first.stab) == (&other.kind, &other.settings, &other.stab)
            };
            // What stands below a discipline is not compared.
            let are_leaves = own().filter(|command| !matches!(&command.object, Object::Qdisc(_))).count()
                == 0
                && qdiscs().count() == all.len() + 1;
            let kept = first.parent.as_deref().copied();
            if !rest.iter().all(is_same) || !(rest.is_empty() || are_leaves) {
                continue;
            }
            self.leave_out(
                &device,
                show::MQ,
                |object| matches!(object, Object::Qdisc(qdisc) if is_mq(&qdisc)),
            );
            self.leave_out(&device, show::FURTHER_QUEUE, |object| {
                matches!(object, Object::Qdisc(qdisc) if is_in(qdisc) && qdisc.parent.as_deref().copied() != kept)
            });
            for command in self.commands.0.iter_mut().filter(|command| *command.device == device) {
                if let Object::Qdisc(qdisc) = &mut command.object
                    && qdisc.parent.as_deref().copied() == kept
                {
                    qdisc.parent = None;
                }
            }
        }
    }

    /// Removes objects of a device, and all that stands in them.
    fn remove(&mut self, device: &str, why: &'static str, is_gone: impl Fn(&Object) -> bool) {
        self.leave_out(device, why, is_gone);
        loop {
            let own = |command: &&Command| *command.device == device;
            let handles: Vec<(Handle, Kind)> = self
                .commands
                .0
                .iter()
                .filter(own)
                .filter_map(|command| match &command.object {
                    Object::Qdisc(qdisc) => qdisc.handle.as_deref().map(|handle| (*handle, *qdisc.kind)),
                    _ => None,
                })
                .collect();
            let classes: Vec<Handle> = self
                .commands
                .0
                .iter()
                .filter(own)
                .filter_map(|command| match &command.object {
                    Object::Class(class) => Some(*class.id),
                    _ => None,
                })
                .collect();
            let is_there = |handle: Handle| {
                let owner = handles.iter().find(|(owner, _)| *owner == handle.owner());
                owner.is_some_and(|(_, kind)| {
                    !kind.has_explicit_classes() || handle.minor == 0 || classes.contains(&handle)
                })
            };
            let before = self.commands.0.len();
            self.leave_out(device, why, |object| match object {
                Object::Qdisc(qdisc) => qdisc.parent.as_deref().is_some_and(|parent| !is_there(*parent)),
                Object::Class(class) => !is_there(class.id.owner()),
                Object::Filter(filter) => {
                    !filter.parent.is_hook() && filter.parent.major != 0 && !is_there(*filter.parent)
                }
            });
            if self.commands.0.len() == before {
                return;
            }
        }
    }

    /// Leaves out objects of a device, and names them.
    fn leave_out(&mut self, device: &str, why: &'static str, is_gone: impl Fn(&Object) -> bool) {
        let all = core::mem::take(&mut self.commands.0).into_iter();
        let (gone, kept): (Vec<Command>, Vec<Command>) =
            all.partition(|command| *command.device == device && is_gone(&command.object));
        self.commands.0 = kept;
        for command in &gone {
            self.undone(command, why);
        }
    }

    /// Gives the meters of a filter that are named by their numbers the words of their first line.
    fn number_meters(&mut self, command: &mut Command, meters: &mut BTreeMap<Option<u32>, Police>) {
        let Object::Filter(filter) = &mut command.object else { return };
        for action in &mut filter.actions {
            let FilterAction::Police(police) = &mut action.value else { continue };
            let known = meters.get(&police.index).filter(|_| police.index.is_some());
            match (known, police.is_reference()) {
                (Some(known), _) => *police = *known,
                (None, false) => {
                    meters.insert(police.index, *police);
                }
                (None, true) => {
                    let message = format!("no line before defines the meter of `{police}`");
                    self.problems.push(Problem::new(action.at, message));
                }
            }
        }
    }

    /// Names a command that a later line undoes.
    fn undone(&mut self, old: &Command, why: &'static str) {
        self.skipped.push(Skipped { at: old.at(), what: format!("tc {}", old.object.words().whole()), why });
    }

    fn skip(&mut self, at: Position, words: &[Located<&str>], why: &'static str) {
        let what = words.iter().map(|word| word.value).collect::<Vec<_>>().join(" ");
        self.skipped.push(Skipped { at, what: format!("tc {what}"), why });
    }

    /// Removes what a command deletes; a script begins with deletions of what is not there yet.
    fn delete(&mut self, at: Position, words: &[Located<&str>]) {
        let has = |name: &str| words.iter().any(|word| word.value == name);
        let is_deletion = has("del") || has("delete");
        let device = words.iter().position(|word| word.value == "dev").and_then(|index| words.get(index + 1));
        let before = self.commands.0.len();
        if let Some(device) = device.filter(|_| is_deletion) {
            let value =
                |name: &str| words.iter().skip_while(|word| word.value != name).nth(1).map(|word| word.value);
            let handle = |name: &str| value(name).and_then(|text| text.parse::<Handle>().ok());
            let is_hook = has("ingress") || has("clsact") || has("ffff:");
            let number = ["prio", "pref", "preference", "priority"].iter().find_map(|name| value(name));
            let number = number.and_then(|number| number.parse::<u32>().ok());
            let (parent, class) = (handle("parent"), handle("classid"));
            match words[0].value.as_bytes().first() {
                Some(b'q') if parent.is_some() && !is_hook => {
                    self.remove(device.value, DELETES, |object| matches!(object, Object::Qdisc(qdisc) if qdisc.parent.as_deref().copied() == parent));
                }
                Some(b'q') => self.remove(device.value, DELETES, |object| match object {
                    Object::Qdisc(qdisc) => qdisc.kind.is_hook() == is_hook,
                    Object::Filter(filter) => filter.parent.is_hook() == is_hook,
                    Object::Class(_) => !is_hook,
                }),
                Some(b'c') => {
                    self.remove(
                        device.value,
                        DELETES,
                        |object| matches!(object, Object::Class(known) if Some(*known.id) == class),
                    );
                }
                _ => self.remove(device.value, DELETES, |object| {
                    let Object::Filter(filter) = object else { return false };
                    let is_of = parent.is_none_or(|parent| {
                        parent.is_hook() == filter.parent.is_hook()
                            && (parent.is_hook() || parent == *filter.parent)
                    });
                    let named = value("handle");
                    is_of
                        && number.is_none_or(|number| filter.preference == Some(number))
                        && named.is_none_or(|named| {
                            filter.handle.as_ref().is_some_and(|handle| handle.value == named)
                        })
                }),
            }
        }
        let why = match (is_deletion, self.commands.0.len() < before) {
            (false, _) => "it only shows",
            (true, true) => DELETED,
            (true, false) => NOTHING_YET,
        };
        self.skip(at, words, why);
    }

    /// Removes the object that a `replace` takes the place of. A `change`, and a `replace` of the
    /// same kind and handle, has what the command leaves out from the object that was there.
    fn replace(&mut self, new: &mut Command, effects: &[Effect]) {
        if *new.action == Action::Add && !effects.contains(&Effect::Replaced) {
            return;
        }
        let is_change = *new.action == Action::Change;
        let Some(index) = self.commands.0.iter().position(|old| is_same_place(old, new)) else { return };
        let mut old = self.commands.0.remove(index);
        let is_kept = match (&old.object, &new.object) {
            (Object::Qdisc(old), Object::Qdisc(new)) => {
                let is_same = old.kind == new.kind && (new.handle.is_none() || new.handle == old.handle);
                new.kind.language().keeps_settings && (is_change || is_same)
            }
            _ => false,
        };
        if is_kept {
            let words = core::mem::take(old.object.words_mut());
            new.object.words_mut().absorb(words);
        } else {
            self.undone(&old, REPLACED);
        }
        if let (Object::Qdisc(old), Object::Qdisc(own)) = (&old.object, &new.object)
            && (old.kind != own.kind || own.handle.is_some() && own.handle != old.handle)
        {
            let handle = old.handle.as_deref().copied();
            self.remove(&new.device, REPLACED, |object| match object {
                Object::Qdisc(qdisc) => {
                    handle.is_some() && qdisc.parent.as_deref().map(|parent| parent.owner()) == handle
                }
                Object::Class(class) => Some(class.id.owner()) == handle,
                Object::Filter(filter) => Some(filter.parent.owner()) == handle,
            });
        }
        match (old.object, &mut new.object) {
            (Object::Qdisc(old), Object::Qdisc(new))
                if is_change
                    || old.kind == new.kind && (new.handle.is_none() || new.handle == old.handle) =>
            {
                new.handle = new.handle.or(old.handle);
                new.parent = old.parent;
                if new.kind.language().keeps_settings {
                    let is_new =
                        |setting: &Setting| new.settings.iter().any(|new| *new.name == *setting.name);
                    let kept: Vec<Setting> =
                        old.settings.into_iter().filter(|setting| !is_new(setting)).collect();
                    new.settings.splice(0..0, kept);
                }
            }
            // A class without `parent` stands below the discipline.
            (Object::Class(old), Object::Class(new)) if is_change && *new.parent == new.id.owner() => {
                new.parent = old.parent;
            }
            _ => {}
        }
    }
}

/// Returns true if an object takes the place of one that is there, or changes it.
fn is_same_place(old: &Command, new: &Command) -> bool {
    let is_change = *new.action == Action::Change;
    let is_object = match (&old.object, &new.object) {
        (Object::Qdisc(old), Object::Qdisc(new)) => {
            let is_kind = !is_change || old.kind == new.kind;
            let is_handle = old.handle.is_some() && old.handle == new.handle;
            !old.kind.is_hook() && (old.parent == new.parent || is_change && is_handle) && is_kind
        }
        (Object::Class(old), Object::Class(new)) => old.id == new.id,
        _ => false,
    };
    is_object && old.device.value == new.device.value
}

/// Reason why a deletion is left out.
const DELETED: &str = "it deletes what the lines before set up, which is left out";

/// Reason why a command that the kernel refuses is left out without a problem.
const NOTHING_YET: &str = "there is nothing to delete yet";

/// Reasons for which a command is undone.
const REMOVED: &str = "a class below takes its place";
const REPLACED: &str = "a later line replaces it";
const DELETES: &str = "a later line deletes it";

/// Limit on the refusals that are explained by the tree.
const MOST_EXPLAINED: usize = 64;

/// Signs on a line that a command may fail.
const EXPECTS: [&str; 3] = ["2>", "&>", "||"];

/// Commands behind `||` that end the script or its loop: a failure is a fault then.
const ENDS: [&str; 3] = ["exit", "return", "break"];

/// Returns true if a line goes on although its command fails.
fn expects_failure(line: &str) -> bool {
    let line = line.split_once(" #").map_or(line, |(command, _)| command);
    let otherwise = line.split_once("||").map_or("", |(_, otherwise)| otherwise);
    let mut words = otherwise.split(|letter: char| !letter.is_alphanumeric());
    EXPECTS.iter().any(|sign| line.contains(sign)) && !words.any(|word| ENDS.contains(&word))
}

/// Options of `tc` by the letters that they need at least: the word, and how many.
const OPTIONS: [(&str, usize); 18] = [
    ("graph", 1),
    ("statistics", 1),
    ("stats", 1),
    ("details", 1),
    ("raw", 1),
    ("pretty", 1),
    ("json", 1),
    ("iec", 1),
    ("help", 1),
    ("Version", 1),
    ("force", 1),
    ("Numeric", 1),
    ("names", 2),
    ("nm", 2),
    ("timestamp", 1),
    ("tshort", 2),
    ("oneline", 1),
    ("brief", 2),
];

/// Options with a value: names of a namespace and a file of settings.
const VALUED: [(&str, usize); 3] = [("netns", 1), ("conf", 2), ("cf", 2)];

/// Leaves out options before the object, such as `-s` or `-n NAME`.
///
/// # Errors
/// Of an option that `tc` does not have, and of a batch in another file.
fn without_options(line: &[Located<String>]) -> Result<&[Located<String>], Problem> {
    let mut rest = line;
    while let Some((first, after)) = rest.split_first() {
        let Some(name) = first.value.strip_prefix('-') else { break };
        let is_of = |options: &[(&str, usize)]| {
            options.iter().any(|(option, least)| name.len() >= *least && option.starts_with(name))
        };
        if name.is_empty() || is_of(&OPTIONS) || name.starts_with("color") || name == "c" {
            rest = after;
        } else if is_of(&VALUED) {
            rest = after.get(1..).unwrap_or_default();
        } else if is_of(&[("batch", 1)]) {
            let file = after.first().filter(|file| file.value != "-");
            let Some(file) = file else { return Ok(&[]) };
            let message = format!("the commands in `{}` are not read", file.value);
            return Err(Problem::new(file.at, message).help("give this file itself"));
        } else {
            return Err(Problem::new(first.at, format!("`{}` is no option of `tc`", first.value))
                .help("options stand before the object: `tc -s qdisc show`"));
        }
    }
    Ok(rest)
}

/// Returns the problem of a text without any command.
pub(crate) fn nothing(reading: &Reading) -> Problem {
    let at = reading.skipped.first().map(|skipped| skipped.at).unwrap_or_default();
    let disabled = reading.skipped.iter().find(|skipped| skipped.why == sqm::DISABLED);
    let message = match disabled {
        Some(section) => format!("no section is enabled: `{}`", section.what),
        None => match &reading.nothing {
            Some((message, _)) => message.clone(),
            None => "no command sets up a queue".to_owned(),
        },
    };
    let at = disabled.map_or(at, |section| section.at);
    Problem::new(at, message).help(match reading.form {
        Form::Commands if reading.skipped.iter().any(|skipped| skipped.why == DELETED) => {
            "the script deletes what it sets up: leave its last part out"
        }
        Form::Commands => reading.nothing.as_ref().map_or(NEEDS_SHELL, |(_, help)| *help),
        Form::Sqm => {
            "a section is started by `option enabled '1'`, and shapes by its `upload` and `download`"
        }
        Form::Shown => {
            "`tc -d qdisc show`, `tc -d class show dev DEV` and `tc -d filter show dev DEV` print it"
        }
    })
}
