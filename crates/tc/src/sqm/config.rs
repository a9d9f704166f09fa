//! The form of a configuration: sections with options and lists, as UCI reads them.

use std::collections::BTreeSet;

use crate::position::{Located, Position};
use crate::problem::Problem;
use crate::script::Skipped;

/// Options of sqm-scripts, all of which a section may have.
const OPTIONS: [&str; 29] = [
    "enabled",
    "interface",
    "download",
    "upload",
    "qdisc",
    "script",
    "squash_dscp",
    "squash_ingress",
    "ingress_ecn",
    "egress_ecn",
    "ilimit",
    "elimit",
    "itarget",
    "etarget",
    "iqdisc_opts",
    "eqdisc_opts",
    "linklayer",
    "linklayer_adaptation_mechanism",
    "overhead",
    "tcMTU",
    "tcTSIZE",
    "tcMPU",
    "target",
    "use_mq",
    "debug_logging",
    "verbosity",
    "qdisc_advanced",
    "qdisc_really_really_advanced",
    "linklayer_advanced",
];

/// Options that no script reads for its queues, with the reasons.
const WITHOUT_EFFECT: [(&str, &str); 7] = [
    ("target", "no script reads it: `itarget` and `etarget` are those of the queues"),
    ("use_mq", "the transmit queues of a device are one queue here"),
    ("debug_logging", "it sets the log"),
    ("verbosity", "it sets the log"),
    ("qdisc_advanced", "it shows fields of the web interface"),
    ("qdisc_really_really_advanced", "it shows fields of the web interface"),
    ("linklayer_advanced", "it shows fields of the web interface"),
];

/// Returns true if a text has the form of a configuration of SQM, or is what `uci show sqm` prints of one.
pub(crate) fn is_config(text: &str) -> bool {
    let plain = |word: &str| word.replace(['\'', '"'], "");
    text.lines().any(|line| {
        line.split_whitespace().take(2).map(plain).eq(["config", "queue"])
            || line.starts_with("sqm.") && plain(line.trim_end()).ends_with("=queue")
    })
}

/// An option, or the values of a list, which scripts read with spaces between them.
struct Entry {
    name: Located<String>,
    value: Located<String>,
    is_list: bool,
}

/// A section `config queue`.
pub(super) struct Section {
    pub at: Position,
    /// Words of its first line.
    head: String,
    entries: Vec<Entry>,
    /// Options that were taken or named.
    read: BTreeSet<String>,
    /// Options without effect, with the reasons.
    pub notes: Vec<Skipped>,
}

impl Section {
    /// Takes the value of an option; `None` if it is absent or empty.
    pub(super) fn take(&mut self, name: &str) -> Option<Located<String>> {
        self.read.insert(name.to_owned());
        let entry = self.entries.iter().find(|entry| entry.name.value == name)?;
        (!entry.value.is_empty()).then(|| entry.value.clone())
    }

    /// Names an option, if it is given, as one without effect.
    pub(super) fn leave_out(&mut self, name: &str, why: &'static str) {
        self.read.insert(name.to_owned());
        if let Some(entry) = self.entries.iter().find(|entry| entry.name.value == name) {
            let note = Skipped { at: entry.name.at, what: entry.words(), why };
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Returns all its words.
    pub(super) fn words(&self) -> String {
        let entries = self.entries.iter().map(Entry::words);
        core::iter::once(self.head.clone()).chain(entries).collect::<Vec<_>>().join(", ")
    }

    /// Names the options that no script took or named.
    pub(super) fn name_unread(&mut self) {
        for name in OPTIONS {
            if !self.read.contains(name) {
                self.leave_out(name, "the script does not read it");
            }
        }
    }

    /// Returns the problems of options that sqm-scripts do not have.
    pub(super) fn unknown(&self) -> Vec<Problem> {
        let is_unknown = |entry: &&Entry| !OPTIONS.contains(&entry.name.value.as_str());
        let unknown = self.entries.iter().filter(is_unknown);
        unknown
            .map(|entry| {
                let name = entry.name.value.as_str();
                let problem =
                    Problem::new(entry.name.at, format!("`{name}` is not an option of sqm-scripts"));
                let near = OPTIONS.iter().find(|known| crate::parse::is_near(name, known));
                problem.help(match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are `{}`", OPTIONS.join("`, `")),
                })
            })
            .collect()
    }

    /// Adds an option: the last one of a name holds, and the values of a list are joined.
    fn add(&mut self, name: Located<String>, value: Located<String>, is_list: bool) {
        let Some(old) = self.entries.iter_mut().find(|entry| entry.name.value == name.value) else {
            self.entries.push(Entry { name, value, is_list });
            return;
        };
        if is_list && old.is_list {
            old.value.value = format!("{} {}", old.value.value, value.value);
            return;
        }
        let old = core::mem::replace(old, Entry { name, value, is_list });
        let why = "a later line sets it again";
        self.notes.push(Skipped { at: old.name.at, what: old.words(), why });
    }
}

impl Entry {
    fn words(&self) -> String {
        let what = if self.is_list { "list" } else { "option" };
        format!("{what} {} '{}'", self.name.value, self.value.value)
    }
}

/// Reads the sections of a text.
pub(super) fn sections(text: &str, skipped: &mut Vec<Skipped>, problems: &mut Vec<Problem>) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    // False in a section that is none of a queue.
    let mut is_queue = true;
    for (index, line) in text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let words = match words(line, number) {
            Ok(words) => words,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let Some(first) = words.first() else { continue };
        let (at, all) = (first.at, || line.trim().to_owned());
        if let Some((option, value)) = shown(first) {
            is_queue |= option.is_none();
            let values = core::iter::once(value).chain(words[1..].iter().map(|word| word.value.as_str()));
            let value = Located::new(values.collect::<Vec<_>>().join(" "), at);
            match (option, sections.last_mut()) {
                (None, _) if *value == "queue" => sections.push(Section::new(at, all())),
                (Some(option), Some(section)) if is_queue => {
                    section.add(Located::new(option.to_owned(), at), value, words.len() > 1);
                }
                (option, _) => {
                    is_queue &= option.is_some();
                    skipped.push(Skipped { at, what: all(), why: "its section is none of a queue" });
                }
            }
            continue;
        }
        match (first.as_str(), words.as_slice(), sections.last_mut()) {
            ("config", ..) => {
                is_queue = words.get(1).is_some_and(|kind| kind.value == "queue");
                if is_queue {
                    sections.push(Section::new(at, all()));
                } else {
                    let why = "sqm-scripts read sections `queue`";
                    skipped.push(Skipped { at, what: all(), why });
                }
            }
            ("package", ..) => skipped.push(Skipped { at, what: all(), why: "it names the file" }),
            (_, _, _) if !is_queue => {
                skipped.push(Skipped { at, what: all(), why: "its section is none of a queue" });
            }
            ("option" | "list", [kind, name, value], Some(section)) => {
                section.add(name.clone(), value.clone(), kind.value == "list");
            }
            _ => {
                let message = format!("`{}` is not understood", all());
                let help = "a section has lines `option NAME 'VALUE'` and `list NAME 'VALUE'`";
                problems.push(Problem::new(at, message).help(help));
            }
        }
    }
    for section in &mut sections {
        for (name, why) in WITHOUT_EFFECT {
            section.leave_out(name, why);
        }
    }
    sections
}

/// Splits `sqm.SECTION=KIND` or `sqm.SECTION.OPTION=VALUE`, as `uci show` prints them, into the option and
/// the text behind `=`.
fn shown(word: &str) -> Option<(Option<&str>, &str)> {
    let (path, value) = word.strip_prefix("sqm.")?.split_once('=')?;
    Some((path.split_once('.').map(|(_, option)| option), value))
}

impl Section {
    fn new(at: Position, head: String) -> Self {
        Self { at, head, entries: Vec::new(), read: BTreeSet::new(), notes: Vec::new() }
    }
}

/// Splits a line into words: quotes hold spaces, and `#` at the start of a word begins a comment.
fn words(line: &str, number: u32) -> Result<Vec<Located<String>>, Problem> {
    let mut words: Vec<Located<String>> = Vec::new();
    let (mut quote, mut is_open) = (None, false);
    for (index, letter) in line.chars().enumerate() {
        let at = Position { line: number, column: u32::try_from(index + 1).unwrap_or(u32::MAX) };
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, letter) if letter.is_whitespace() => is_open = false,
            (None, '#') if !is_open => break,
            (quoted, letter) => {
                if !is_open {
                    words.push(Located::new(String::new(), at));
                    is_open = true;
                }
                match (quoted, letter, words.last_mut()) {
                    (None, '\'' | '"', _) => quote = Some(letter),
                    (.., Some(word)) => word.value.push(letter),
                    _ => {}
                }
            }
        }
    }
    match (quote, words.last()) {
        (Some(open), Some(last)) => Err(Problem::new(last.at, format!("a quote `{open}` has no end"))),
        _ => Ok(words),
    }
}
