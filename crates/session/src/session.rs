//! State of a session, the same for a simulation and a live run.

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{EventSample, Limits, Sample};
use lockgate_scenario::{Files, Override, Scenario};

use crate::effective::Effective;
use crate::history::{History, RecordedChange};
use crate::notes::Notes;
use crate::sampler::{LONGEST_INTERVAL, SHORTEST_INTERVAL};
use crate::setting::{self, Done, Refused};
use crate::status::Status;

/// Properties of a run at its start.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// `sim` or `live`.
    pub mode: &'static str,
    /// Seed of the random draws.
    pub seed: u64,
    /// Pace as a multiple of real time; 0 for as fast as possible.
    pub pace: f64,
    /// Length of the sampling interval.
    pub every: Duration,
}

/// A running run as its observers know it: the effective scenario, the status, and the changes so far.
///
/// The owner of the run calls [`complete`](Self::complete) for each sample, and [`prepare`](Self::prepare),
/// then [`accept`](Self::accept) for each setting. Checking a setting takes the same time however many
/// settings preceded it (decision 089); only copies of the lists of changes grow.
pub struct Session {
    /// Scenario of the run, with all settings so far.
    scenario: Scenario,
    effective: Effective,
    status: Status,
    limits: Limits,
    notes: Notes,
    every: Duration,
    /// Number of samples that were dropped on the way to the readers.
    dropped: u64,
    /// Events of these samples, repeated in the next.
    undelivered: Vec<EventSample>,
}

/// A change that is read and checked, for the run to apply and the session to [`accept`](Session::accept).
pub struct PendingChange {
    scenario: Scenario,
    effective: Effective,
    recorded: Vec<RecordedChange>,
    done: Done,
}

impl PendingChange {
    /// Returns the scenario by which the run continues.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

impl Session {
    /// Creates the session of a run of `scenario` at time zero.
    pub fn new(scenario: &Scenario, start: Start) -> Self {
        let text = scenario.to_toml();
        let effective = Effective::at(&text, Instant::ZERO);
        let status = Status {
            mode: start.mode,
            seed: start.seed,
            pace: start.pace,
            every_s: start.every.as_secs_f64(),
            history: History::new(&text),
            ..Status::default()
        };
        let mut session = Self {
            scenario: scenario.clone(),
            effective,
            status,
            limits: Limits::new(&scenario.expects),
            notes: Notes::default(),
            every: start.every,
            dropped: 0,
            undelivered: Vec::new(),
        };
        session.describe();
        session
    }

    /// Returns the status.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Returns the scenario of the run, with all settings so far.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the text of the scenario that replays the session.
    pub fn text(&self) -> String {
        self.status.history.text()
    }

    /// Ends the session. Returns the scenario that replays it.
    pub fn into_scenario(self) -> Scenario {
        self.scenario
    }

    /// Returns the length of the sampling interval.
    pub fn interval(&self) -> Duration {
        self.every
    }

    /// Sets the length of the sampling interval, kept within [`SHORTEST_INTERVAL`] and
    /// [`LONGEST_INTERVAL`].
    pub fn set_interval(&mut self, every: Duration) {
        self.every = every.max(SHORTEST_INTERVAL).min(LONGEST_INTERVAL);
        self.status.every_s = self.every.as_secs_f64();
    }

    /// Sets the pace, as a multiple of real time; 0 for as fast as possible.
    pub fn set_pace(&mut self, pace: f64) {
        self.status.pace = pace;
    }

    /// Pauses the run if `held`, continues it otherwise.
    pub fn hold(&mut self, held: bool) {
        self.status.held = held;
    }

    /// Adds a mark at `now` to the log of events, and to the saved session.
    pub fn mark(&mut self, text: &str, now: Instant) {
        let line = self.notes.mark(text, now);
        self.status.marks.push(line);
    }

    /// Records that the run has ended.
    pub fn end(&mut self) {
        self.status.ended = true;
    }

    /// Advances to `now`, the time that the run has reached: changes up to then are past. Returns true if
    /// this changed values of the status.
    pub fn advance(&mut self, now: Instant) -> bool {
        if !self.effective.is_past(now) {
            return false;
        }
        self.effective.advance(now);
        self.describe();
        true
    }

    /// Completes a sample before it is passed on: adds previous values, marks, events of dropped samples, and
    /// what hurts.
    pub fn complete(&mut self, sample: &mut Sample) {
        self.status.mark(sample, &self.limits);
        sample.dropped_samples += self.dropped;
        sample.events.splice(0..0, self.undelivered.drain(..));
        self.notes.add_to(sample);
    }

    /// Records that a completed sample did not reach the readers. The next one repeats its events.
    pub fn on_dropped(&mut self, sample: &Sample) {
        self.dropped += 1;
        self.undelivered.clone_from(&sample.events);
    }

    /// Reads settings `PATH=VALUE` as a change at `at`; with `lasting` the previous values are restored after
    /// this time. The session changes only when the change is accepted. `at` must be later than all earlier
    /// settings and than the last time passed to [`advance`](Self::advance).
    ///
    /// # Errors
    /// All problems of the settings.
    pub fn prepare(
        &self,
        settings: &[String],
        lasting: Option<Duration>,
        at: Instant,
        files: &dyn Files,
    ) -> Result<PendingChange, Refused> {
        let settings = setting::parse(settings)?;
        let mut effective = self.effective.later(at, || self.text());
        let before: Vec<String> =
            settings.iter().map(|setting| effective.restoring(setting.path())).collect();
        let mut recorded = vec![RecordedChange { at, settings }];
        if let Some(lasting) = lasting {
            recorded.push(RecordedChange { at: at + lasting, settings: setting::parse(&before)? });
        }
        let more: Vec<(Instant, &[Override])> =
            recorded.iter().map(|change| (change.at, change.settings.as_slice())).collect();
        let mut scenario = self.scenario.clone();
        scenario.change_all(&more, files).map_err(|problems| Refused::of(&problems))?;
        for change in &recorded {
            effective.add_text(&change.to_string());
        }
        effective.advance(at);
        let until_s = lasting.map(|lasting| (at + lasting).as_secs_f64());
        let done = Done { at_s: at.as_secs_f64(), before, until_s };
        Ok(PendingChange { scenario, effective, recorded, done })
    }

    /// Accepts a change that the run will apply. Each change must be prepared after the previous one was
    /// accepted.
    pub fn accept(&mut self, change: PendingChange) -> Done {
        let PendingChange { scenario, effective, recorded, done } = change;
        self.scenario = scenario;
        self.effective = effective;
        for change in recorded {
            self.status.history.add(change);
        }
        self.status.version += 1;
        self.describe();
        self.notes.add_undo(&done);
        done
    }

    fn describe(&mut self) {
        self.status.describe(&self.scenario, &self.effective);
    }
}

#[cfg(test)]
mod tests {
    const LONGEST_SESSION_BYTES: usize = 4 << 20;

    use super::*;

    const START: Start = Start { mode: "sim", seed: 1, pace: 1.0, every: Duration::from_millis(100) };

    /// The incrementally updated state equals the one read from the whole text, and so does the timeline read
    /// from it.
    #[test]
    fn what_is_kept_is_what_is_read() {
        let files = std::collections::BTreeMap::<String, std::sync::Arc<[u8]>>::new();
        let mut whole = lockgate_scenario::read(SESSION, "text", &files, &[]).expect("a scenario");
        // One session that is never advanced, and one that advances with the run.
        let mut all = Session::new(&whole, START);
        let mut short = Session::new(&whole, START);
        let time = |millis| Instant::ZERO + Duration::from_millis(millis);
        // Time of the setting, the setting, and the time at which it is restored.
        let asked = [
            (1_000, "link.l.rate=7mbit", None),
            (1_001, "port.a->b.queue.one.quantum=4500B", Some(5_000)),
            (2_000, "link.l.delay=1ms", None),
            // A value that was not written is removed when it is restored.
            (2_000, "flow.another.stop=8s", Some(2_001)),
            (2_000, "link.l.delay=", None),
            (2_000, "port.a->b.root=fair", None),
            (2_500, "flow.many.gap=5ms", Some(2_600)),
            // A port that the file does not mention.
            (2_550, "port.b->a.queue.fifo.limit=9p", None),
            (4_000, "link.l.rate=5mbit", None),
            (4_000, "link.l.rate=6mbit", None),
            (5_500, "port.a->b.root=q", None),
            (5_600, "port.a->b.queue.two.limit=9p", None),
        ];
        for (millis, text, until) in asked {
            let (at, settings) = (time(millis), [text.to_owned()]);
            let lasting = until.map(|until| time(until).since(at));
            let done = all.prepare(&settings, lasting, at, &files).map(|change| all.accept(change));
            let done = done.expect("a change");
            let back = until.map(|until| (time(until), setting::parse(&done.before).expect("settings")));
            for (at, settings) in
                core::iter::once((at, setting::parse(&settings).expect("settings"))).chain(back)
            {
                (whole, _) = whole.with_change(at, &settings, &files).expect("a change");
            }
            assert_eq!(all.text(), whole.to_toml(), "{text}");
            assert_eq!(format!("{:?}", all.scenario.changes), format!("{:?}", whole.changes), "{text}");
            assert_eq!(all.effective, Effective::at(&whole.to_toml(), at), "{text}");
            let now = time(millis - 1);
            short.advance(now);
            let change = short.prepare(&settings, lasting, at, &files).expect("a change");
            assert_eq!(short.accept(change), done);
            assert_eq!(format!("{:?}", short.scenario.changes), format!("{:?}", whole.changes), "{text}");
            assert_eq!((short.text(), &short.effective), (all.text(), &all.effective), "{text}");
        }
        let wrong = ["link.l.rate=0bit".to_owned()];
        let refused = all.prepare(&wrong, None, time(5_700), &files).err().expect("a refusal");
        let settings = setting::parse(&wrong).expect("settings");
        let problems = whole.with_change(time(5_700), &settings, &files).expect_err("problems");
        assert_eq!(refused, Refused::of(&problems), "the problems of the whole text");
    }

    /// A session's text may become longer than the limit on texts that are read.
    #[test]
    fn sets_are_accepted_however_long_the_session() {
        let files = std::collections::BTreeMap::<String, std::sync::Arc<[u8]>>::new();
        let long = format!("#{}\n{SESSION}", "-".repeat(LONGEST_SESSION_BYTES - SESSION.len() - 100));
        let scenario = lockgate_scenario::read(&long, "text", &files, &[]).expect("a scenario");
        let mut session = Session::new(&scenario, START);
        let before = scenario.changes.len();
        for set in 1..50 {
            let at = Instant::ZERO + Duration::from_millis(set);
            session.advance(at);
            let at = at + Duration::from_micros(1);
            let settings = [format!("link.l.rate={set}mbit")];
            let change = session.prepare(&settings, None, at, &files).expect("accepted");
            session.accept(change);
            assert_eq!(session.scenario.changes.len(), before + set as usize);
        }
        assert!(session.text().len() > LONGEST_SESSION_BYTES);
        let at = Instant::ZERO + Duration::from_secs(1);
        let refused = session.prepare(&["link.l.rate=0bit".to_owned()], None, at, &files).err();
        let refused = refused.expect("a refusal");
        assert!(!refused.problems[0].message.contains("too long"), "{refused:?}");
    }

    #[test]
    fn dropped_samples_repeat_their_events() {
        let files = std::collections::BTreeMap::<String, std::sync::Arc<[u8]>>::new();
        let scenario = lockgate_scenario::read(SESSION, "text", &files, &[]).expect("a scenario");
        let mut session = Session::new(&scenario, START);
        session.mark("here", Instant::ZERO);
        let mut sample = Sample::default();
        session.complete(&mut sample);
        session.on_dropped(&sample);
        let mut next = Sample::default();
        session.complete(&mut next);
        assert_eq!((next.dropped_samples, &next.events), (1, &sample.events));
        let mut last = Sample::default();
        session.complete(&mut last);
        assert_eq!((last.dropped_samples, last.events.len()), (1, 0));
    }

    /// Changes of its own, before, between and after the settings, with a value that can be written in
    /// several forms.
    const SESSION: &str = r#"
duration = "9s"
[node]
z = {}
b = {}
a = {}
[link.l]
between = ["a", "b"]
rate = "1mbit"
[link.k]
between = ["b", "z"]
rate = "1mbit"
[port."a->b"]
root = "q"
alternatives = ["q", "fair"]
queue.q = { kind = "drr", children = ["one", "two"] }
queue.one = { kind = "fifo", quantum = "1500B", match = [{ flow = "many" }] }
queue.two = { kind = "fifo", quantum = "1500B" }
queue.fair = { kind = "fq_codel" }
[flow.many]
count = 3
from = "a"
to = "b"
size = "100B"
gap = "1s"
[flow.another]
from = "z"
to = "a"
size = "100B"
gap = "1s"
[[change]]
at = "6s"
set = { link.l.loss = 0.10, link.k.rate = "2mbit" }
[[change]]
at = "3s"
set = { link.l.rate = "2mbit", link.l.loss = 0.20 }
[[change]]
at = "500ms"
set = { link.l.loss = 0.50 }
"#;
}
