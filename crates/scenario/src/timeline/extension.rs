//! Adds changes to a scenario that was read (decision 089).
//!
//! A new entry is checked against the state at its time, and later entries again, against the state that it
//! leaves. Past entries are not checked again; from the nearest of [`STATES`] states they are only applied.
//! The cost depends on the objects concerned and on the later entries, not on the number of past changes.

use std::collections::VecDeque;
use std::sync::Arc;

use lockgate_engine::units::Instant;
use toml::de::DeTable;

use super::as_toml;
use crate::change::Change;
use crate::check::changes::{Changes, Entry, State};
use crate::check::{Checker, ReadCache};
use crate::diagnostic::{MOST_PROBLEMS, Problem, Problems, Source};
use crate::files::Files;
use crate::model::Scenario;
use crate::path::Override;
use crate::syntax;

/// Number of states kept, so that a change earlier than the latest one need not start at the beginning.
const STATES: usize = 16;

/// The rest of a timeline with more entries, before it replaces the current one.
struct Extended {
    /// Entries from `from` on.
    entries: Vec<Arc<Entry>>,
    /// True for each of `entries` that is new.
    is_new: Vec<bool>,
    states: VecDeque<(usize, State)>,
    /// Effects of the entries from `from` on.
    changes: Changes,
    /// Number of effects of each entry from `from` on.
    effects: Vec<usize>,
    from: usize,
}

impl Scenario {
    /// Adds a change, such as `lockgate set` or a knob of the dashboard makes during the run. All settings
    /// change at once at `at`. Returns the effects to apply. Only the ports, links and flows concerned are
    /// checked and built again; nothing else of the scenario changes.
    ///
    /// # Errors
    /// Every problem of the settings, exactly as if they were written in the file. The scenario is unchanged
    /// then.
    pub fn change(
        &mut self,
        at: Instant,
        settings: &[Override],
        files: &dyn Files,
    ) -> Result<Vec<Change>, Problems> {
        self.change_all(&[(at, settings)], files)
    }

    /// Adds several changes, or none of them if one has a problem. Returns the effects of all, in their
    /// order.
    ///
    /// # Errors
    /// Every problem of the settings, exactly as if they were written in the file.
    pub fn change_all(
        &mut self,
        more: &[(Instant, &[Override])],
        files: &dyn Files,
    ) -> Result<Vec<Change>, Problems> {
        let texts: Vec<String> = more.iter().map(|(at, settings)| as_toml(*at, settings)).collect();
        let mut checker = Checker::new(files, &[], self.memory);
        checker.cache = self.timeline.cache.clone();
        checker.groups.clone_from(self.timeline.base.groups());
        let new = self.read_entries(&texts, &mut checker);
        let extended = self.extend(&new, &mut checker);
        let mut problems = core::mem::take(&mut checker.problems);
        if !problems.is_empty() {
            problems.truncate(MOST_PROBLEMS);
            return Err(Problems::new(&Source::new(&self.title, &self.timeline.shown(&texts)), problems));
        }
        self.warn_of(core::mem::take(&mut checker.warnings), &texts);
        let cache = checker.take_cache();
        Ok(self.adopt(extended, texts, cache))
    }

    /// Returns this scenario with one more change, and the effects to apply, as [`change`](Self::change)
    /// does.
    ///
    /// # Errors
    /// The errors of [`change`](Self::change).
    pub fn with_change(
        &self,
        at: Instant,
        settings: &[Override],
        files: &dyn Files,
    ) -> Result<(Self, Vec<Change>), Problems> {
        let mut changed = self.clone();
        let new = changed.change(at, settings, files)?;
        Ok((changed, new))
    }

    /// Reads changes; notes their problems at the positions that the changes will have in the text.
    fn read_entries(&self, texts: &[String], checker: &mut Checker<'_>) -> Vec<Arc<Entry>> {
        let mut offset = self.timeline.length;
        let mut entries = Vec::new();
        for text in texts {
            let (noted, warned) = (checker.problems.len(), checker.warnings.len());
            let (root, errors) = DeTable::parse_recoverable(text);
            checker.problems.extend(errors.iter().take(1).map(|error| syntax::problem(error, text)));
            entries.extend(checker.change_entries(root.get_ref(), text, offset, Some(self.end())));
            let problems = checker.problems[noted..].iter_mut();
            for problem in problems.chain(&mut checker.warnings[warned..]) {
                problem.move_by(offset);
            }
            offset += text.len();
        }
        entries.into_iter().map(Arc::new).collect()
    }

    /// Checks new entries, and those after them, without changing the scenario.
    fn extend(&self, new: &[Arc<Entry>], checker: &mut Checker<'_>) -> Extended {
        let timeline = &self.timeline;
        let first = new.iter().map(|entry| entry.at).min().unwrap_or(Instant::NEVER);
        let from = timeline.entries.partition_point(|entry| entry.at <= first);
        let mut states: VecDeque<(usize, State)> =
            timeline.states.iter().filter(|(index, _)| *index <= from).cloned().collect();
        let (start, mut state) =
            states.back().map_or_else(|| (0, State::default()), |(index, state)| (*index, state.clone()));
        // Past entries were checked when they were added: only the state after them is needed.
        let mut passed = Changes::default();
        let warned = checker.warnings.len();
        for entry in &timeline.entries[start..from] {
            passed.built = 0;
            checker.change(entry, &timeline.base, &mut state, &mut passed);
        }
        checker.warnings.truncate(warned);
        let mut entries = timeline.entries[from..].to_vec();
        let mut is_new = vec![false; entries.len()];
        for entry in new {
            let index = entries.partition_point(|other| other.at <= entry.at);
            entries.insert(index, entry.clone());
            is_new.insert(index, true);
        }
        let mut changes = Changes::default();
        let mut effects = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let (before, warned) = (changes.effects.len(), checker.warnings.len());
            checker.change(entry, &timeline.base, &mut state, &mut changes);
            effects.push(changes.effects.len() - before);
            if !is_new[index] {
                checker.warnings.truncate(warned);
            }
            if index == 0 {
                states.push_back((from + 1, state.clone()));
            }
        }
        while states.len() > STATES {
            states.pop_front();
        }
        Extended { entries, is_new, states, changes, effects, from }
    }

    /// Replaces the rest of the timeline. Returns the effects of the entries that are new.
    fn adopt(&mut self, extended: Extended, texts: Vec<String>, cache: ReadCache) -> Vec<Change> {
        let Extended { entries, is_new, states, changes, effects, from } = extended;
        let timeline = &mut self.timeline;
        let mut new = Vec::new();
        let mut index = 0;
        for (is_new, count) in is_new.into_iter().zip(&effects) {
            if is_new {
                new.extend_from_slice(&changes.effects[index..index + count]);
            }
            index += count;
        }
        timeline.built += changes.built as u64;
        timeline.entries.truncate(from);
        let rest = entries.first().map_or(Instant::NEVER, |entry| entry.at);
        timeline.entries.extend(entries);
        timeline.states = states;
        timeline.cache = cache;
        timeline.length += texts.iter().map(String::len).sum::<usize>();
        timeline.added.extend(texts.into_iter().map(Arc::from));
        // Effects at the time of the first new entry, but of entries before it, stay.
        let stay = self.changes.partition_point(|change| change.at <= rest);
        self.changes.truncate(stay);
        self.changes.extend(changes.effects);
        new
    }

    /// Keeps warnings of added changes, up to a limit: a session may have any number of changes.
    fn warn_of(&mut self, mut warnings: Vec<Problem>, texts: &[String]) {
        warnings.truncate(MOST_PROBLEMS.saturating_sub(self.warnings.len()));
        if warnings.is_empty() {
            return;
        }
        let source = Source::new(&self.title, &self.timeline.shown(texts));
        for warning in &mut warnings {
            warning.attach(&source);
        }
        self.warnings.extend(warnings);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lockgate_engine::units::Duration;

    use super::*;
    use crate::Action;

    const TEXT: &str = r#"
duration = "9s"
[node]
a = {}
b = {}
[link.l]
between = ["a", "b"]
rate = "1mbit" # slow
[port."a:b"]
queue.q = { kind = "fifo", limit = "50p" }
[flow.f]
from = "a"
to = "b"
size = "100B"
gap = "1s"
[[change]]
at = "8s"
set = { "port.a:b.queue.q.limit" = "7p" }
"#;

    type NoFiles = BTreeMap<String, Arc<[u8]>>;

    fn setting(text: &str) -> [Override; 1] {
        [Override::parse(text).expect("a setting")]
    }

    /// The work of a change is that of its port and of the changes to come, however many are past.
    #[test]
    fn many_changes_cost_the_same_each() {
        const CHANGES: u64 = 5_000;
        let files = NoFiles::new();
        let mut scenario = crate::read(TEXT, "text", &files, &[]).expect("a scenario");
        for index in 1..=CHANGES {
            let limit = setting(&format!("port.a:b.queue.q.limit={}p", 1 + index % 90));
            let at = Instant::ZERO + Duration::from_micros(10 * index);
            let new = scenario.change(at, &limit, &files).expect("never refused");
            assert_eq!(new.len(), 1);
            // One queue for this change, and one for the change of the file that is to come.
            assert_eq!(scenario.timeline.built, 2 * index, "change {index}");
        }
        assert_eq!(scenario.changes.len() as u64, CHANGES + 1);
        assert!(scenario.timeline.states.len() <= STATES);
    }

    /// A member of a group changes alone, as by a change of the text, and its group as a whole.
    #[test]
    fn members_of_groups_change() {
        const GROUPS: &str = r#"
title = "groups"
duration = "1s"
node = { bng = {}, web = {}, sub = { count = 3 } }
link.access = { between = ["bng", "sub/*"], rate = ["1mbit", "2mbit"] }
link.line = { between = ["bng", "web"], rate = "1gbit" }
flow.call = { from = "web", to = "sub/*", transport = "udp", size = "100B", gap = "20ms" }
[port."web:bng".queue]
shaper = { kind = "htb", children = ["plan"] }
plan = { count = 3, kind = "fifo", rate = "1mbit", ceil = ["5mbit", "9mbit"], match = [{ destination = "sub/$i" }] }
"#;
        let files = NoFiles::new();
        let read = |text: &str| crate::read(text, "groups", &files, &[]).expect("a scenario");
        let mut scenario = read(GROUPS);
        let settings = [
            "port.web:bng.queue.plan/2.ceil=3mbit",
            "port.web:bng.queue.plan.limit=9p",
            "link.access/3.delay=7ms",
            "flow.call/1.gap=10ms",
        ];
        for (index, text) in settings.into_iter().enumerate() {
            let at = Instant::ZERO + Duration::from_millis(100 * (1 + index as u64));
            let new =
                scenario.change(at, &setting(text), &files).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!(!new.is_empty(), "{text}");
        }
        let text = scenario.to_toml();
        assert_eq!(format!("{:?}", scenario.changes), format!("{:?}", read(&text).changes));
        let refused =
            scenario.change(Instant::ZERO, &setting("port.web:bng.queue.plan/4.ceil=3mbit"), &files);
        assert!(refused.is_err(), "there are three members");
    }

    #[test]
    fn a_change_keeps_public_fields_and_comments() {
        let files = NoFiles::new();
        let mut scenario = crate::read(TEXT, "text", &files, &[]).expect("a scenario");
        scenario.record.packets = true;
        "another title".clone_into(&mut scenario.title);
        let second = Instant::ZERO + Duration::from_secs(1);
        scenario.change(second, &setting("link.l.rate=2mbit"), &files).expect("a change");
        assert!(scenario.record.packets);
        assert_eq!(scenario.title, "another title");
        let text = scenario.to_toml();
        assert!(text.starts_with(TEXT.trim_end()) && text.contains("# slow"), "{text}");
        assert!(text.ends_with("[[change]]\nat = \"1s\"\nset = { \"link.l.rate\" = \"2mbit\" }\n"), "{text}");
    }

    /// The timeline after any order of changes is that of reading the text.
    #[test]
    fn changes_in_any_order_are_those_of_the_text() {
        let files = NoFiles::new();
        let mut scenario = crate::read(TEXT, "text", &files, &[]).expect("a scenario");
        let asked = [
            (3_000, "port.a:b.queue.q.limit=9p"),
            (1_000, "port.a:b.queue.q={ kind = \"sfq\" }"),
            (1_000, "link.l.loss=0.25"),
            (8_500, "flow.f.gap=2s"),
            (8_000, "port.a:b.queue.q.limit="),
            (500, "link.l.delay=3ms"),
        ];
        for (millis, text) in asked {
            let at = Instant::ZERO + Duration::from_millis(millis);
            scenario.change(at, &setting(text), &files).expect(text);
            let read = crate::read(&scenario.to_toml(), "text", &files, &[]).expect("the text");
            assert_eq!(format!("{:?}", scenario.changes), format!("{:?}", read.changes), "{text}");
        }
        let replaces = |change: &Change| matches!(&change.action, Action::Port { before, tree, .. } if tree.differs_in(before).is_none());
        assert!(scenario.changes.iter().any(replaces));
    }

    /// A refused change has the problems that reading the text would give, and leaves nothing behind.
    #[test]
    fn a_refused_change_changes_nothing() {
        let files = NoFiles::new();
        let mut scenario = crate::read(TEXT, "text", &files, &[]).expect("a scenario");
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        scenario.change(at(10), &setting("link.l.rate=2mbit"), &files).expect("a change");
        let text = scenario.to_toml();
        for wrong in [
            "link.l.rate=0bit",
            "link.m.rate=1mbit",
            "port.a:b.queue.q.limt=3p",
            "flow.f.from=b",
            "link.l.loss=2",
        ] {
            let refused = scenario.change(at(20), &setting(wrong), &files).expect_err(wrong);
            let whole = format!("{text}{}", as_toml(at(20), &setting(wrong)));
            let read = crate::read(&whole, "text", &files, &[]).expect_err(wrong);
            let said = |problems: &Problems| {
                problems
                    .iter()
                    .map(|one| (one.to_string(), one.help_text().map(str::to_owned), one.position()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(said(&refused), said(&read), "{wrong}");
            assert_eq!(scenario.to_toml(), text);
        }
        // All or none.
        let both = [(at(30), setting("link.l.rate=3mbit")), (at(40), setting("link.l.rate=0bit"))];
        let both: Vec<(Instant, &[Override])> = both.iter().map(|(at, one)| (*at, one.as_slice())).collect();
        assert!(scenario.change_all(&both, &files).is_err());
        assert_eq!((scenario.to_toml(), scenario.changes.len()), (text, 2));
    }
}
