//! Checks the file as written and resolves it into the model, noting every problem.
//!
//! ```text
//! top, record -> nodes -> links -> flows -> ports (their trees) -> routes -> changes -> expectations
//! ```
//!
//! Each part continues where it can if an earlier one has problems, and does not report what only follows
//! from those.

pub(crate) mod changes;
pub(crate) mod expects;
mod files;
mod flows;
mod network;
mod ports;
mod queues;
mod rules;
mod tcp;
mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use lockgate_traffic::{Captures, Invalid, LoadedFiles, TrafficConfig};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::changes::{Base, Changes, State};
use crate::diagnostic::{MOST_PROBLEMS, Problem, Span};
use crate::file::{RecordTable, SECTIONS, Top};
use crate::files::Files;
use crate::model::{Record, Scenario};
use crate::nearest::{nearest, suggest};
use crate::routes::Routes;
use crate::table_reader::{Place, TableKeysCache, read_table, read_valid_table, shorten, unknown_keys};
use crate::timeline::Timeline;

/// Longest run. A u64 of picoseconds ends at 213 days; time must not saturate before the run ends.
const LONGEST: Duration = Duration::from_secs(100 * 24 * 3600);

/// Smallest complete scenario, shown if a file is empty.
const SMALLEST: &str = r#"the smallest scenario is

duration = "10s"
[node]
a = {}
b = {}
[link.wire]
between = ["a", "b"]
rate = "10mbit"
[flow.data]
from = "a"
to = "b"
size = "1500B"
gap = "2ms""#;

/// Caches of table keys and files, which changes of the same scenario use as well. A copy is cheap.
#[derive(Clone)]
pub(crate) struct Kept {
    table_keys: TableKeysCache,
    loaded: BTreeMap<String, Result<Arc<[u8]>, String>>,
    captures: Captures,
}

impl Kept {
    fn within(memory: u64) -> Self {
        Self {
            table_keys: TableKeysCache::default(),
            loaded: BTreeMap::new(),
            captures: Captures::within(memory),
        }
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self::within(0)
    }
}

/// State of a check: problems, warnings, and caches.
pub(crate) struct Checker<'c> {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
    pub(crate) kept: Kept,
    files: &'c dyn Files,
    set: &'c [(Span, String)],
    /// Bytes of memory that files and captures may use together.
    memory: u64,
    /// Lines of the file, from 1, at which its expectations begin.
    pub(crate) expect_lines: Vec<u64>,
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
    fn place(&self) -> Place<'_, 'i> {
        Place { what: &self.what, table: self.table, header: &self.header }
    }
}

impl<'c> Checker<'c> {
    /// Creates a checker. `set` has the positions in the text of the values that overrides set.
    pub(crate) fn new(files: &'c dyn Files, set: &'c [(Span, String)], memory: u64) -> Self {
        Self {
            problems: Vec::new(),
            warnings: Vec::new(),
            kept: Kept::within(memory),
            files,
            set,
            memory,
            expect_lines: Vec::new(),
        }
    }

    fn note(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn warn(&mut self, problem: Problem) {
        self.warnings.push(problem.into_warning());
    }

    /// Reads a table that has the keys of `T` and no others. Notes each wrong value and reads the table as
    /// if it were absent.
    fn whole<T: DeserializeOwned + JsonSchema>(&mut self, place: Place<'_, '_>) -> Option<T> {
        let keys = self.kept.table_keys.of::<T>();
        unknown_keys(place, &[&keys], &[], &mut self.problems);
        read_table(place, &keys, &mut self.problems)
    }

    /// Returns the content of the file at `path`; cached, errors too.
    fn bytes_of(&mut self, path: &str) -> Result<Arc<[u8]>, String> {
        if let Some(known) = self.kept.loaded.get(path) {
            return known.clone();
        }
        let loaded = self.files.load(path).and_then(|bytes| self.keep(bytes));
        self.kept.loaded.insert(path.to_owned(), loaded.clone());
        loaded
    }

    /// Subtracts the size of a file from the memory left, or refuses it.
    fn keep(&mut self, bytes: Arc<[u8]>) -> Result<Arc<[u8]>, String> {
        match self.kept.captures.room.checked_sub(bytes.len() as u64) {
            Some(room) => {
                self.kept.captures.room = room;
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
        let room = self.kept.captures.room;
        let mut captures = core::mem::replace(&mut self.kept.captures, Captures::within(room));
        let loaded = config.load_files(&mut |path| self.bytes_of(path), &mut captures);
        // Subtracts the size of the files themselves, loaded while `self.kept.captures` was replaced.
        captures.room = captures.room.saturating_sub(room - self.kept.captures.room);
        self.kept.captures = captures;
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

    /// Returns the problem of an unknown name, with the nearest known one.
    fn no_such<'a>(
        &self,
        what: &str,
        name: &str,
        span: Span,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Problem {
        let problem = Problem::new(span, format!("there is no {what} called `{}`", shorten(name)));
        if self.problems.len() > MOST_PROBLEMS {
            // Beyond the number shown: the search for a near name would only cost time.
            return problem;
        }
        match suggest(name, known) {
            Some(help) => problem.help(help),
            None => problem.help(format!("the file has no {what} at all")),
        }
    }

    /// Checks the whole file.
    pub(crate) fn scenario(
        &mut self,
        root: &Spanned<DeTable<'_>>,
        text: &str,
        name: &str,
    ) -> Option<Scenario> {
        let table = root.get_ref();
        if table.is_empty() {
            self.note(Problem::new(None, "the file is empty").help(SMALLEST));
            return None;
        }
        let start = 0..0;
        let (top, record) = self.top(Place { what: "the scenario", table, header: &start });
        let mut network = self.network(table);
        let flows = self.flows(table, &network);
        let ports = self.ports(table, &network, &flows);
        if network.complete {
            let ends = flows.groups.iter().filter_map(|group| group.flow.as_ref());
            let ends = ends.flat_map(|flow| [flow.from, flow.to]);
            let links: Vec<_> = network.links.iter().flatten().map(|link| link.ends).collect();
            network.routes = Routes::new(network.nodes.len(), &links, ends);
            self.check_routes(table, &network, &flows);
            self.warn_parallel(table, &network);
        }
        let end = top.as_ref().map(|top| Instant::ZERO + top.duration);
        let entries = self.change_entries(table, text, 0, end);
        let routes = core::mem::take(&mut network.routes);
        let base = Base::new(table, network, flows, ports, end);
        let (mut state, mut changes) = (State::default(), Changes::default());
        for entry in &entries {
            self.change(entry, &base, &mut state, &mut changes);
        }
        let (network, flows, ports) = base.parts();
        self.warn_unused(ports, &changes.roots);
        let expects = self.expects(table, ports, flows);
        if let Some(end) = end {
            self.warn_late(table, flows, end);
            self.warn_traffic(table, flows, end);
        }
        let top = top.filter(|_| self.problems.is_empty())?;
        Some(Scenario {
            title: top.title.unwrap_or_else(|| title_of(name)),
            duration: top.duration,
            warmup: top.warmup,
            links: network.links.iter().flatten().cloned().collect(),
            nodes: network.nodes.clone(),
            ports: ports.models.clone(),
            routes,
            flows: flows.expand(),
            changes: changes.effects,
            expects,
            record,
            warnings: core::mem::take(&mut self.warnings),
            memory: self.memory,
            timeline: Timeline::new(base, text, entries, self.take_kept()),
        })
    }

    /// Returns the caches for changes, without the errors of files, which may exist later.
    pub(crate) fn take_kept(&mut self) -> Kept {
        let mut kept = core::mem::take(&mut self.kept);
        kept.loaded.retain(|_, loaded| loaded.is_ok());
        kept
    }

    fn top(&mut self, place: Place<'_, '_>) -> (Option<Top>, Record) {
        let keys = self.kept.table_keys.of::<Top>();
        unknown_keys(place, &[&keys], &SECTIONS, &mut self.problems);
        let top: Option<Top> = read_valid_table(place, &keys, &mut self.problems);
        if let Some(top) = &top {
            if top.duration.is_zero() {
                self.note(
                    Problem::new(place.value("duration"), "the run has no duration")
                        .help("it is more than `0s`"),
                );
            } else if top.duration > LONGEST {
                let problem =
                    Problem::new(place.value("duration"), format!("the run is too long: {}", top.duration));
                self.note(problem.help("it is at most `2400h`, 100 days"));
            } else if top.warmup >= top.duration {
                let problem = Problem::new(
                    place.value("warmup"),
                    format!("nothing is left after a warm-up of {}", top.warmup),
                );
                self.note(
                    problem
                        .see(place.value("duration"), "the duration")
                        .help(format!("the warm-up is less than the duration, {}", top.duration)),
                );
            }
        }
        for (section, needed) in [
            ("link", "add a link: `[link.NAME]` with `between` and `rate`"),
            ("flow", "add a flow: `[flow.NAME]` with `from`, `to` and what it sends"),
        ] {
            let count = section_of(place.table, section)
                .map(|value| value.get_ref().as_table().map_or(1, DeTable::len));
            if count.unwrap_or(0) == 0 {
                self.note(
                    Problem::new(place.header.clone(), format!("the scenario has no {section}")).help(needed),
                );
            }
        }
        let record = match place.table.get("record") {
            None => Record::default(),
            Some(value) => self.record(value),
        };
        (top, record)
    }

    fn record(&mut self, value: &Spanned<DeValue<'_>>) -> Record {
        let DeValue::Table(table) = value.get_ref() else {
            self.note(
                Problem::new(value.span(), "`record` is a table").help("write `[record]` and its keys below"),
            );
            return Record::default();
        };
        let header = value.span();
        let place = Place { what: "`record`", table, header: &header };
        let Some(record) = self.whole::<RecordTable>(place) else { return Record::default() };
        if record.interval.is_some_and(Duration::is_zero) {
            self.note(
                Problem::new(place.value("interval"), "an interval of no time").help("it is more than `0s`"),
            );
        }
        let bins = record.file_bins.unwrap_or_default();
        if bins.contains(&Bytes::ZERO) || bins.windows(2).any(|pair| pair[0] >= pair[1]) {
            let problem = Problem::new(place.value("file_bins"), "classes of file sizes do not rise");
            self.note(problem.help("name the sizes at which they begin: `[\"12kB\", \"100kB\", \"1MB\"]`"));
        }
        if record.file_bin_width == Some(Bytes::ZERO) {
            let problem = Problem::new(place.value("file_bin_width"), "a class of no sizes");
            self.note(problem.help("it is more than `0B`"));
        }
        if record.file_bin_width.is_some() && place.has("file_bins") {
            let problem = Problem::new(place.key("file_bin_width"), "`file_bins` says where classes begin");
            self.note(problem.see(place.key("file_bins"), "given here").help("give one of the two"));
        }
        if record.sharing_rate.is_some_and(Rate::is_zero) {
            let problem = Problem::new(place.value("sharing_rate"), "nothing is ever done at no rate");
            self.note(problem.help("it is more than `0bit`, such as `1mbit`"));
        }
        Record {
            packets: record.packets,
            capture: record.capture,
            interval: record.interval,
            file_bins: bins,
            file_bin_width: record.file_bin_width,
            sharing_rate: record.sharing_rate,
        }
    }
}

/// Returns a title for a file without one: the file name without folder and extension.
fn title_of(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.strip_suffix(".toml").unwrap_or(file).to_owned()
}
