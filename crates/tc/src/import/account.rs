//! Account of the words of commands: the import takes an option, or a line of the scenario names it.
//!
//! Nothing is lost by omission: an option that no part of the import took or named is named at the end.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_scenario::reference::Parameter;

use super::settings::{is_of_tree, meaning, reason};
use crate::language::{Kind, Meaning};
use crate::position::Position;
use crate::syntax::{Command, Commands, Object, Qdisc, Setting, Stab};
use crate::words::CommandWords;

/// Reasons for options without effect, by their first word.
const WITHOUT_EFFECT: [(&[&str], &str); 5] = [
    (&["mtu", "tsize"], "sizes are exact here, without a table"),
    (&["est", "estimator"], "it only counts"),
    (&["skip_hw", "not_in_hw", "in_hw"], "the queue is in software here"),
    (&["chain"], "it is the first chain, as without the word"),
    (&["verbose"], "it only shows"),
];

/// Number of a command, and index of one of its options.
type Key = (usize, usize);

/// Options that are accounted for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    taken: BTreeSet<Key>,
    named: BTreeSet<Key>,
}

/// Words of commands: all, and those that are not in the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All words.
    pub all: usize,
    /// Words that "Left out" names.
    pub left_out: usize,
}

impl Account {
    /// Adds the account of another device.
    pub(super) fn join(&mut self, other: &Self) {
        self.taken.extend(&other.taken);
        self.named.extend(&other.named);
    }

    /// Takes a command without its further options.
    pub(super) fn take(&mut self, words: &CommandWords) {
        self.taken.insert((words.number, 0));
    }

    /// Takes an option.
    pub(super) fn take_option(&mut self, words: &CommandWords, option: Option<usize>) {
        self.taken.extend(option.map(|option| (words.number, option)));
    }

    /// Notes that a line names an option.
    pub(super) fn name_option(&mut self, words: &CommandWords, option: Option<usize>) {
        self.named.extend(option.map(|option| (words.number, option)));
    }

    /// Notes that a line names a command.
    pub(super) fn name(&mut self, words: &CommandWords) {
        self.named.extend((0..words.all.len()).map(|option| (words.number, option)));
    }

    /// Takes the table of sizes, or notes that a line names it.
    pub(super) fn stab(&mut self, qdisc: &Qdisc, stab_at: Position, is_taken: bool) {
        let words = &qdisc.words;
        let Some(first) = words.option_at(stab_at) else { return };
        for (index, option) in words.all.iter().enumerate().skip(first) {
            let Some(head) = option.first() else { continue };
            // Words of a configuration of SQM share the position of their option.
            let is_of_table = ["linklayer", "mpu", "overhead"].contains(&head.as_str());
            let is_setting = |setting: &Setting| {
                setting.name.at == head.at && (!is_of_table || setting.name.value == head.value)
            };
            if qdisc.settings.iter().any(is_setting) {
                break;
            }
            if !["mtu", "tsize"].contains(&head.as_str()) {
                let set = if is_taken { &mut self.taken } else { &mut self.named };
                set.insert((words.number, index));
            }
        }
    }

    /// Takes the settings whose parameters are among `present`; the rest stays to be named.
    pub(super) fn settings(
        &mut self,
        words: &CommandWords,
        (kind, settings): (Kind, &[Setting]),
        known: &[Parameter],
        is_general: bool,
        present: &[&str],
        lines: &mut Vec<String>,
    ) {
        let parts = |setting: &Setting| {
            let parts = meaning(kind, setting, known).unwrap_or_default();
            parts.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        let options = options_of(words, settings);
        for (index, (setting, option)) in settings.iter().zip(options).enumerate() {
            let at = setting.name.at;
            if reason(kind, setting, settings, is_general).is_some() {
                self.name_option(words, option);
                // As it is written, which may be a synonym.
                let text = option.map(|option| words.text(option));
                let name = format!("`{setting}` of `{kind}`");
                for line in lines.iter_mut().filter(|line| line.starts_with(&name)) {
                    let written = text.iter().filter(|text| **text != setting.to_string());
                    written
                        .for_each(|text| *line = line.replacen(&name, &format!("`{text}` of `{kind}`"), 1));
                }
                continue;
            }
            if is_of_tree(kind, *setting.name) {
                self.take_option(words, option);
                continue;
            }
            let own = parts(setting);
            let adds = |later: &Setting| {
                kind.word(*later.name)
                    .is_some_and(|word| matches!(word.meaning, Meaning::Line | Meaning::Overhead(_)))
            };
            let is_again = |name: &&str| {
                let mut later =
                    settings[index + 1..].iter().filter(|later| *name != "overhead" || !adds(later));
                later.any(|later| parts(later).contains(name))
            };
            if !own.is_empty() && own.iter().all(is_again) {
                self.name_option(words, option);
                lines.push(format!("`{setting}` of `{kind}`: a later word of line {} holds", at.line));
            } else if own.iter().any(|name| present.contains(name)) {
                self.take_option(words, option);
            }
        }
    }

    fn is_done(&self, key: Key) -> bool {
        self.taken.contains(&key) || self.named.contains(&key)
    }

    /// Returns a line for each option and command that is not accounted for, and the count of all words.
    pub(super) fn rest(&self, commands: &Commands, devices: &[&str]) -> (Vec<String>, Count) {
        let (mut lines, mut count) = (Vec::new(), Count::default());
        let mut others: BTreeMap<&str, Vec<&Command>> = BTreeMap::new();
        for command in &commands.0 {
            let words = command.object.words();
            for (option, texts) in words.all.iter().enumerate() {
                count.all += texts.len();
                let is_taken =
                    self.taken.contains(&(words.number, 0)) && self.taken.contains(&(words.number, option));
                count.left_out += if is_taken { 0 } else { texts.len() };
            }
            let line = command.at().line;
            if !self.is_done((words.number, 0)) {
                if devices.contains(&command.device.as_str()) {
                    lines.push(format!(
                        "line {line}, `tc {}`: {}",
                        words.whole(),
                        unused(&command.object, commands)
                    ));
                } else {
                    others.entry(&command.device).or_default().push(command);
                }
                continue;
            }
            for option in (1..words.all.len()).filter(|option| !self.is_done((words.number, *option))) {
                let text = words.text(option);
                let first = text.split(' ').next().unwrap_or_default();
                let why = WITHOUT_EFFECT.iter().find(|(names, _)| names.contains(&first));
                let why = why.map_or("nothing in a scenario has it", |(_, why)| why);
                lines.push(format!("line {line}, `{text}`: {why}"));
            }
        }
        for (device, own) in others {
            let all: Vec<String> = own.iter().map(|command| command.at().line.to_string()).collect();
            lines.push(format!("`{device}`, another device: all of lines {}", all.join(", ")));
        }
        lines.dedup();
        (lines, count)
    }
}

/// Returns the option of each setting. Words of one variable, or of one option of SQM, have one position:
/// then the name decides, and after that the order.
pub(super) fn options_of(words: &CommandWords, settings: &[Setting]) -> Vec<Option<usize>> {
    let mut used = BTreeSet::from([0]);
    let mut find = |setting: &Setting| {
        let is_free = |index: &usize| {
            !used.contains(index) && words.all[*index].first().is_some_and(|head| head.at == setting.name.at)
        };
        let is_named =
            |index: &usize| words.all[*index].first().is_some_and(|head| head.ends_with(*setting.name));
        let all = || (0..words.all.len()).filter(is_free);
        let found = all().find(is_named).or_else(|| all().next());
        used.extend(found);
        found
    };
    settings.iter().map(&mut find).collect()
}

/// Returns why nothing takes a command.
fn unused(object: &Object, commands: &Commands) -> String {
    match object {
        Object::Qdisc(qdisc) if qdisc.kind.is_hook() => {
            "what arrives there is neither queued nor metered".to_owned()
        }
        Object::Qdisc(qdisc) => {
            let parent = qdisc.parent.as_deref();
            let below = commands.classes().find(|class| Some(&*class.parent) == parent);
            match (below, parent) {
                (Some(_), Some(parent)) => {
                    format!("the kernel removes it when the class `{parent}` gets others below it")
                }
                _ => "no packet comes to it".to_owned(),
            }
        }
        Object::Class(_) => "no packet comes to it".to_owned(),
        Object::Filter(filter) => {
            let is_owner = |qdisc: &&Qdisc| qdisc.handle.as_deref() == Some(&*filter.parent);
            match commands.qdiscs().find(is_owner) {
                Some(owner) if !owner.kind.has_explicit_classes() && !owner.kind.is_hook() => {
                    format!("`{}` sorts packets by itself here, not by filters", *owner.kind)
                }
                _ => "no packet comes to it".to_owned(),
            }
        }
    }
}

/// Returns true if the root's table of sizes replaces the framing of a shaper.
pub(super) fn is_framed_by(stab: Option<&Stab>, kind: Kind, name: &str) -> bool {
    stab.is_some()
        && matches!(kind, Kind::Htb | Kind::Tbf)
        && ["overhead", "mpu", "linklayer"].contains(&name)
}
