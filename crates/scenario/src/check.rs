//! Checks the file as written and resolves it into the model, noting every problem.
//!
//! ```text
//! top, record -> nodes -> links -> flows -> ports (their trees) -> routes -> changes -> expectations, variations
//! ```
//!
//! Each part continues where it can if an earlier one has problems, and does not report what only follows
//! from those.

mod adversary;
pub(crate) mod alerts;
mod autorate;
pub(crate) mod changes;
mod conditions;
mod envelope;
pub(crate) mod expects;
mod files;
mod flows;
mod groups;
mod network;
mod overhead;
pub(crate) mod policy;
mod ports;
mod queues;
mod rules;
mod scenario;
mod tcp;
mod traffic;
mod varies;

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::schema::Described;
use lockgate_engine::units::Duration;
use lockgate_traffic::{Captures, Invalid, LoadedFiles, TrafficConfig};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{MOST_PROBLEMS, Problem, Span};
use crate::expand::{Groups, Rows, Sites};
use crate::file::SECTIONS;
use crate::files::Files;
use crate::nearest::{nearest, suggest};
use crate::table_reader::{TableKeysCache, TableLocation, read_table, shorten, unknown_keys};

/// Caches of table keys and files, which changes of the same scenario use as well. A copy is cheap.
#[derive(Clone)]
pub(crate) struct ReadCache {
    table_keys: TableKeysCache,
    loaded: BTreeMap<String, Result<Arc<[u8]>, String>>,
    captures: Captures,
}

impl ReadCache {
    fn within(memory: u64) -> Self {
        Self {
            table_keys: TableKeysCache::default(),
            loaded: BTreeMap::new(),
            captures: Captures::within(memory),
        }
    }
}

impl Default for ReadCache {
    fn default() -> Self {
        Self::within(0)
    }
}

/// Limit on the problems noted, before those of a group's members are merged: bounds their memory.
const MOST_NOTED: usize = 100_000;

/// State of a check: problems, warnings, and caches.
pub(crate) struct Checker<'c> {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
    pub(crate) cache: ReadCache,
    /// Groups of the file, expanded before it is checked.
    pub(crate) groups: Groups,
    /// Table of subscribers that the file names, and its name.
    subscribers: Option<(String, Arc<Rows>)>,
    /// Sites that the file names, and the name of their file.
    sites: Option<(String, Sites)>,
    files: &'c dyn Files,
    set: &'c [(Span, String)],
    /// Bytes of memory that files and captures may use together.
    memory: u64,
    /// Lines of the file, from 1, at which its expectations begin.
    pub(crate) expect_lines: Vec<u64>,
    /// True if a scenario without flows is a problem.
    pub(crate) needs_flows: bool,
    /// Interval at which a busy port is polled, unless it is polled at the exact time.
    pub(crate) poll_interval: Option<Duration>,
}

/// Returns the value of `section`. If the name is missing, returns that of the unknown key nearest to it,
/// so that only the misspelt name is reported and not its consequences.
fn section_of<'a, 'i>(root: &'a DeTable<'i>, section: &str) -> Option<&'a Spanned<DeValue<'i>>> {
    const TOP: [&str; 3] = ["title", "duration", "warmup"];
    root.get(section).or_else(|| {
        let known = || TOP.into_iter().chain(SECTIONS);
        let mut unknown = root.iter().filter(|(key, _)| known().all(|known| known != *key.get_ref()));
        let found = unknown.find(|(key, _)| nearest(key.get_ref(), known()) == Some(section));
        found.map(|(_, value)| value)
    })
}

/// A named table of a section, such as `[link.wan]`.
struct Entry<'a, 'i> {
    name: &'a str,
    /// Name for messages, such as `link.wan`.
    what: String,
    /// Position of the name.
    key: Span,
    header: Span,
    table: &'a DeTable<'i>,
}

impl<'i> Entry<'_, 'i> {
    fn location(&self) -> TableLocation<'_, 'i> {
        TableLocation { what: &self.what, table: self.table, header: &self.header }
    }
}

impl<'c> Checker<'c> {
    /// Creates a checker. `set` has the positions in the text of the values that overrides set.
    pub(crate) fn new(files: &'c dyn Files, set: &'c [(Span, String)], memory: u64) -> Self {
        Self {
            problems: Vec::new(),
            warnings: Vec::new(),
            cache: ReadCache::within(memory),
            groups: Groups::default(),
            subscribers: None,
            sites: None,
            files,
            set,
            memory,
            expect_lines: Vec::new(),
            needs_flows: true,
            poll_interval: None,
        }
    }

    /// Notes a problem, up to a limit far above the number shown.
    fn note(&mut self, problem: Problem) {
        if self.problems.len() < MOST_NOTED {
            self.problems.push(problem);
        }
    }

    fn warn(&mut self, problem: Problem) {
        self.warnings.push(problem.into_warning());
    }

    /// Reads a table that has the keys of `T` and no others. Notes each wrong value and reads the table as
    /// if it were absent.
    fn whole<T: DeserializeOwned + Described>(&mut self, location: TableLocation<'_, '_>) -> Option<T> {
        let keys = self.cache.table_keys.of::<T>();
        unknown_keys(location, &[&keys], &[], &mut self.problems);
        read_table(location, &keys, &mut self.problems)
    }

    /// Returns the content of the file at `path`; cached, errors too.
    fn bytes_of(&mut self, path: &str) -> Result<Arc<[u8]>, String> {
        if let Some(known) = self.cache.loaded.get(path) {
            return known.clone();
        }
        // Programs of Windows begin a text with a byte order mark, which is no part of it.
        let unmarked =
            |bytes: Arc<[u8]>| bytes.strip_prefix(b"\xef\xbb\xbf").map_or(bytes.clone(), Arc::from);
        let loaded = self.files.load(path).map(unmarked).and_then(|bytes| self.keep(bytes));
        self.cache.loaded.insert(path.to_owned(), loaded.clone());
        loaded
    }

    /// Subtracts the size of a file from the memory left, or refuses it.
    fn keep(&mut self, bytes: Arc<[u8]>) -> Result<Arc<[u8]>, String> {
        match self.cache.captures.room.checked_sub(bytes.len() as u64) {
            Some(room) => {
                self.cache.captures.room = room;
                Ok(bytes)
            }
            None => Err(format!(
                "with the files before it, it takes more than the {} bytes of memory that are allowed",
                self.memory
            )),
        }
    }

    /// Loads the files that a flow's traffic names.
    fn files_of(&mut self, config: &TrafficConfig) -> Result<LoadedFiles, Vec<Invalid>> {
        let room = self.cache.captures.room;
        let mut captures = core::mem::replace(&mut self.cache.captures, Captures::within(room));
        let loaded = config.load_files(&mut |path| self.bytes_of(path), &mut captures);
        // Subtracts the size of the files themselves, loaded while `self.cache.captures` was replaced.
        captures.room = captures.room.saturating_sub(room - self.cache.captures.room);
        self.cache.captures = captures;
        loaded
    }

    /// Loads the file named at `span`; notes a problem and returns `None` if it cannot be read.
    fn load(&mut self, path: &str, span: Span) -> Option<Arc<[u8]>> {
        let loaded = self.bytes_of(path);
        let unread = |why| {
            let problem = Problem::new(span, format!("the file `{}` cannot be read: {why}", shorten(path)));
            self.note(problem.help("a path is taken from the folder of the scenario"));
        };
        loaded.map_err(unread).ok()
    }

    /// Returns the tables of `section` in the order of the file; notes entries that are not tables.
    fn section<'a, 'i>(&mut self, root: &'a DeTable<'i>, section: &str) -> Vec<Entry<'a, 'i>> {
        let Some(value) = section_of(root, section) else { return Vec::new() };
        let DeValue::Table(tables) = value.get_ref() else {
            let problem =
                Problem::new(value.span(), format!("`{section}` is a table of tables, one for each name"));
            self.note(problem.help(format!("write `[{section}.NAME]`")));
            return Vec::new();
        };
        let mut entries = Vec::new();
        for (key, value) in tables {
            let name: &str = key.get_ref();
            let what = format!("`{section}.{}`", shorten(name));
            let DeValue::Table(table) = value.get_ref() else {
                let help = match section {
                    "node" => format!("a node with nothing to say is written `{} = {{}}`", shorten(name)),
                    _ => format!("write `[{section}.{}]` and its keys below", shorten(name)),
                };
                self.note(Problem::new(value.span(), format!("{what} is a table")).help(help));
                continue;
            };
            entries.push(Entry { name, what, key: key.span(), header: value.span(), table });
        }
        entries
    }

    /// Returns the tables of a section as [`section`](Self::section) does, without noting problems a second
    /// time.
    fn section_again<'a, 'i>(root: &'a DeTable<'i>, section: &str) -> Vec<Entry<'a, 'i>> {
        let tables = section_of(root, section).and_then(|value| value.get_ref().as_table());
        let entry = |(key, value): (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>)| {
            let name: &str = key.get_ref();
            let what = format!("`{section}.{}`", shorten(name));
            Some(Entry {
                name,
                what,
                key: key.span(),
                header: value.span(),
                table: value.get_ref().as_table()?,
            })
        };
        tables.into_iter().flatten().filter_map(entry).collect()
    }

    /// Returns the tables of a list such as `[[change]]`.
    fn list<'a, 'i>(&mut self, root: &'a DeTable<'i>, list: &str) -> Vec<(&'a DeTable<'i>, Span)> {
        let Some(value) = section_of(root, list) else { return Vec::new() };
        let wrong = |span: Span| {
            Problem::new(span, format!("`{list}` is a list of tables")).help(format!("write `[[{list}]]`"))
        };
        let DeValue::Array(elements) = value.get_ref() else {
            self.note(wrong(value.span()));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for element in elements {
            match element.get_ref() {
                DeValue::Table(table) => tables.push((table, element.span())),
                _ => self.note(wrong(element.span())),
            }
        }
        tables
    }

    /// Notes names that paths, port names or file names could not contain.
    fn check_name(&mut self, what: &str, name: &str, span: Span) {
        let allowed = |letter: char| letter.is_alphanumeric() || "_-+".contains(letter);
        if let Some(number) = self.groups.number(what, name) {
            // The name of its group is checked with the first member.
            if let Some((group, _)) = name.split_once('/').filter(|_| number == 1) {
                self.check_name(what, group, span);
            }
            return;
        }
        if name.is_empty() || name.chars().count() > 64 || !name.chars().all(allowed) {
            let problem = Problem::new(span, format!("`{}` cannot be the name of a {what}", shorten(name)));
            self.note(problem.help("a name has 1 to 64 letters, digits, `_`, `-` or `+`"));
        }
    }

    /// Returns the known name nearest to `name`; `None` once more problems are noted than are shown.
    fn near<'a>(&self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        if self.problems.len() > MOST_PROBLEMS { None } else { nearest(name, known) }
    }

    /// Returns the help for the unknown name `name`; `None` once more problems are noted than are shown.
    fn suggest<'a>(&self, name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
        if self.problems.len() > MOST_PROBLEMS { None } else { suggest(name, known) }
    }

    /// Returns true if the last problems are at `span` too: those of other members of a group, of which the
    /// first is shown.
    fn is_repeated(&self, span: &Span) -> bool {
        const PLACES: usize = 2;
        let last = self.problems.iter().rev().take(PLACES + 1);
        !self.groups.is_empty()
            && last.filter(|problem| problem.span().as_ref() == Some(span)).count() > PLACES
    }

    /// Returns the problem of an unknown name, with the nearest known one.
    fn no_such<'a>(
        &self,
        what: &str,
        name: &str,
        span: Span,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Problem {
        let is_repeated = self.is_repeated(&span);
        let problem = Problem::new(span, format!("there is no {what} called `{}`", shorten(name)));
        if is_repeated || self.problems.len() > MOST_PROBLEMS {
            // Not shown: the search for a near name would only cost time.
            return problem;
        }
        match suggest(name, known) {
            Some(help) => problem.help(help),
            None => problem.help(format!("the file has no {what} at all")),
        }
    }

    /// Returns the caches for changes, without the errors of files, which may exist later.
    pub(crate) fn take_cache(&mut self) -> ReadCache {
        let mut cache = core::mem::take(&mut self.cache);
        cache.loaded.retain(|_, loaded| loaded.is_ok());
        cache
    }
}
