//! A simulation that is advanced step by step: the event loop of every simulated run.
//!
//! ```text
//! Simulation::new --> step_until(t) --> observe / set --> step_until(t') --> ... --> finish --> Outcome
//!
//! step_until(t): the first of   network events   changes   samplings   t   end of the run
//! at one instant:               change < links < routers < sources < hosts < sampling < t
//! ```
//!
//! Changes, samplings, the target of a step and the end are outside the event queue: one comparison an event
//! (`next`) tells whether one of them is due. Steps cost nothing else, and a run in a thousand steps handles
//! the same events in the same order as a run in one.

use std::borrow::Cow;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::{Event, FlowRecord, Recording};
use lockgate_network::{Failure, Link};
use lockgate_scenario::change::{Change, Prepared};
use lockgate_scenario::model::Scenario;
use lockgate_scenario::{Files, Override, Problems};

use crate::build::build;
use crate::events::{Entry, Narrow, Small, Wide};
use crate::network::{Network, Slots};

/// A change takes effect this long after the instant at which it is set: what has happened stays as it is.
const AFTER_SET: Duration = Duration::from_picos(1);

/// Number of events after which a run can be stopped: some tenths of a millisecond of real time.
pub const EVENTS_BETWEEN_STOPS: u64 = 4096;

/// Arrivals may be recorded ahead of their time by as much as this many times [`EVENTS_BETWEEN_STOPS`] events
/// take.
pub(crate) const SPANS_AHEAD: u64 = 16;

/// A run that is asked to stop goes on for at most this many times [`EVENTS_BETWEEN_STOPS`] events, until what was
/// recorded ahead has happened. Only a sudden flood of events makes it longer than [`SPANS_AHEAD`].
pub(crate) const MOST_ROUNDS_TO_STOP: u32 = 64;

/// Occasion on which a run can be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// A sampling of the recording.
    Sampling,
    /// [`EVENTS_BETWEEN_STOPS`] events after the last one.
    Events,
}

/// Decision to continue or stop a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Continue.
    Continue,
    /// Stop now and close the account.
    Stop,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The step's time was reached: everything at that instant has happened.
    Reached,
    /// The run has ended.
    Ended,
    /// The callback stopped the step.
    Stopped,
}

/// State of a run at one instant.
pub struct RunView<'a> {
    /// The instant.
    pub now: Instant,
    /// Scenario from here on, with the changes made so far.
    pub scenario: &'a Scenario,
    /// Links and their ports, in the order of the scenario's ports.
    pub links: &'a mut [Link],
    /// Records of the flows.
    pub flows: &'a mut [FlowRecord],
    /// Log of events so far.
    pub events: &'a [Event],
}

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Observed data.
    pub recording: Recording,
    /// True if the run was stopped before its time.
    pub stopped_early: bool,
}

/// A simulated run that is advanced step by step, observed and changed between steps.
///
/// ```
/// use lockgate_engine::random::Seed;
/// use lockgate_engine::units::{Duration, Instant};
/// use lockgate_scenario::Override;
/// use lockgate_sim::{Progress, Simulation};
///
/// let text = r#"
/// title = "a link that is made faster"
/// duration = "2s"
/// node.a = {}
/// node.b = {}
/// link.line = { between = ["a", "b"], rate = "1mbit" }
/// flow.f = { from = "a", to = "b", transport = "udp", size = "1000B", rate = "1.6mbit" }
/// "#;
/// let files: std::collections::BTreeMap<String, std::sync::Arc<[u8]>> = Default::default();
/// let scenario = lockgate_scenario::read(text, "line", &files, &[]).expect("a valid scenario");
/// let mut simulation = Simulation::new(&scenario, Seed(1)).expect("a network");
/// let half = Instant::ZERO + Duration::from_secs(1);
/// assert_eq!(simulation.step_until(half).expect("a step"), Progress::Reached);
/// let waiting = simulation.observe().links[0].port.backlog().packets;
/// assert!(waiting > 50, "the link has carried 125 packets of 200");
/// let faster = Override::new("link.line.rate", "10mbit").expect("a path");
/// simulation.set(&[faster], &files).expect("an accepted change");
/// let outcome = simulation.finish_run().expect("a balanced account");
/// assert_eq!(outcome.recording.flows[0].totals(lockgate_measure::recording::Window::WholeRun).received.packets, 400);
/// ```
pub struct Simulation<'a> {
    player: Player<'a>,
}

/// The event loop by the size of its events: small runs have small ones, which are faster.
enum Player<'a> {
    Small(Box<Play<'a, Small>>),
    Narrow(Box<Play<'a, Narrow>>),
    Wide(Box<Play<'a, Wide>>),
}

/// Calls `$call` with the loop of any size.
macro_rules! with_play {
    ($player:expr, $play:ident => $call:expr) => {
        match $player {
            Player::Small($play) => $call,
            Player::Narrow($play) => $call,
            Player::Wide($play) => $call,
        }
    };
}

impl<'a> Simulation<'a> {
    /// Builds the network of `scenario`, with the random draws of `seed`. Nothing has happened yet.
    ///
    /// # Errors
    /// A part of the network that cannot be built. Reading the scenario normally finds this first.
    pub fn new(scenario: &'a Scenario, seed: Seed) -> Result<Self, Failure> {
        Self::of(scenario.with_starts(seed), seed)
    }

    /// The same for a scenario that the simulation keeps.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn owning(scenario: Scenario, seed: Seed) -> Result<Simulation<'static>, Failure> {
        let drawn = match scenario.with_starts(seed) {
            Cow::Owned(drawn) => Some(drawn),
            Cow::Borrowed(_) => None,
        };
        Simulation::of(Cow::Owned(drawn.unwrap_or(scenario)), seed)
    }

    fn of(scenario: Cow<'a, Scenario>, seed: Seed) -> Result<Self, Failure> {
        let (end, slots) = (scenario.end(), Slots::of(&scenario).count());
        let player = if Small::suits(end, slots) {
            Player::Small(Box::new(Play::new(scenario, seed)?))
        } else if Narrow::suits(end, slots) {
            Player::Narrow(Box::new(Play::new(scenario, seed)?))
        } else {
            Player::Wide(Box::new(Play::new(scenario, seed)?))
        };
        Ok(Self { player })
    }

    /// Records from here on what a [`Monitor`](lockgate_measure::monitor::Monitor) needs for samples.
    pub fn record_samples(&mut self) {
        with_play!(&mut self.player, play => play.record_samples());
    }

    /// The instant up to which everything has happened.
    pub fn now(&self) -> Instant {
        with_play!(&self.player, play => play.now)
    }

    /// Advances the run until everything at `time` has happened, or to its end.
    ///
    /// # Errors
    /// A change of the timeline that cannot be applied.
    pub fn step_until(&mut self, time: Instant) -> Result<Progress, Failure> {
        self.step_while(time, &mut |_| Control::Continue)
    }

    /// The same as [`step_until`](Self::step_until) with a callback that may stop the step. It is called with
    /// the current time at every sampling (some six hundred times a run) and every [`EVENTS_BETWEEN_STOPS`]
    /// events, however little simulated time they take.
    ///
    /// A step that is stopped between two samplings goes on, without another call, to the last arrival that was
    /// recorded ahead of its time: mostly within 16 times as many events, at most within 64 times. If its time or the
    /// end of the run comes first, it ends there as if it had not been stopped.
    ///
    /// # Errors
    /// Those of [`step_until`](Self::step_until).
    pub fn step_while(
        &mut self,
        time: Instant,
        continues: &mut dyn FnMut(Instant) -> Control,
    ) -> Result<Progress, Failure> {
        let continues = &mut |now, _| continues(now);
        with_play!(&mut self.player, play => play.advance(time, continues))
    }

    /// The same with a callback that stops the step if it returns true, and is called every
    /// [`EVENTS_BETWEEN_STOPS`] events only.
    pub(crate) fn step_unless(
        &mut self,
        time: Instant,
        stops: &mut dyn FnMut() -> bool,
    ) -> Result<Progress, Failure> {
        let continues = &mut |_, pause| {
            if pause == Pause::Events && stops() { Control::Stop } else { Control::Continue }
        };
        with_play!(&mut self.player, play => play.advance(time, continues))
    }

    /// State of the run now.
    pub fn observe(&mut self) -> RunView<'_> {
        with_play!(&mut self.player, play => play.view())
    }

    /// Changes parameters from now on, as a `[[change]]` of the scenario does: `link.line.rate=5mbit`,
    /// `port.a:b.queue.q.limit=100p`. Returns the changes made. `files` is where files come from that the
    /// settings name.
    ///
    /// # Errors
    /// Every problem of the settings, as if they were written in the scenario. Nothing is changed then.
    pub fn set(&mut self, settings: &[Override], files: &dyn Files) -> Result<Vec<Change>, Problems> {
        let at = self.now() + AFTER_SET;
        with_play!(&mut self.player, play => play.timeline.scenario.to_mut().change(at, settings, files))
    }

    /// Continues by this scenario, which must differ from the current one only by changes later than now
    /// ([`Scenario::with_change`]).
    pub fn change(&mut self, scenario: Scenario) {
        with_play!(&mut self.player, play => play.timeline.scenario = Cow::Owned(scenario));
    }

    /// Ends the run now, and closes its account.
    ///
    /// # Errors
    /// An account that does not balance, which is a fault of Lockgate.
    pub fn finish(self) -> Result<Outcome, Failure> {
        with_play!(self.player, play => play.finish())
    }

    /// Advances the run to its end, and closes its account.
    ///
    /// # Errors
    /// Those of [`step_until`](Self::step_until) and [`finish`](Self::finish).
    pub fn finish_run(mut self) -> Result<Outcome, Failure> {
        self.step_until(Instant::NEVER)?;
        self.finish()
    }
}

/// A run, with events of one size.
struct Play<'a, E: Entry> {
    network: Network<E>,
    timeline: Timeline<'a>,
    /// Time of the next sampling.
    sampling: Instant,
    /// Target of the current step.
    until: Instant,
    end: Instant,
    /// Earliest time of a change, a sampling, the target and the end: an event of the network at or after it
    /// must wait.
    next: Instant,
    now: Instant,
    has_ended: bool,
    events: u64,
    /// Number of events at which the callback is due.
    stoppable: u64,
    /// Time of the last such pause.
    paused: Instant,
    /// Time before which arrivals may be recorded ahead of their time.
    horizon: Instant,
}

impl<'a, E: Entry> Play<'a, E> {
    fn new(scenario: Cow<'a, Scenario>, seed: Seed) -> Result<Self, Failure> {
        let network = build::<E>(&scenario, seed)?;
        Ok(Self {
            sampling: network.core.recording.next_sample(Instant::ZERO).unwrap_or(Instant::NEVER),
            network,
            until: Instant::ZERO,
            end: scenario.end(),
            timeline: Timeline { scenario, next: 0 },
            next: Instant::ZERO,
            now: Instant::ZERO,
            has_ended: false,
            events: 0,
            stoppable: EVENTS_BETWEEN_STOPS,
            paused: Instant::ZERO,
            horizon: Instant::ZERO,
        })
    }

    fn record_samples(&mut self) {
        self.network.core.record_samples();
    }

    fn view(&mut self) -> RunView<'_> {
        let core = &mut self.network.core;
        RunView {
            now: self.now,
            scenario: &self.timeline.scenario,
            links: &mut core.links,
            flows: &mut core.recording.flows,
            events: &core.recording.events,
        }
    }

    fn advance(
        &mut self,
        until: Instant,
        continues: &mut dyn FnMut(Instant, Pause) -> Control,
    ) -> Result<Progress, Failure> {
        if self.has_ended {
            return Ok(Progress::Ended);
        }
        self.until = until;
        self.look_ahead();
        // Pauses since the callback asked to stop.
        let mut stopping = 0;
        loop {
            let (now, slot) = self.network.core.runtime.events.first();
            if now >= self.next {
                if let Some(progress) = self.rare_turn(now, continues)? {
                    return Ok(progress);
                }
                self.events += 1;
                continue;
            }
            if self.events >= self.stoppable {
                self.stoppable = self.events + EVENTS_BETWEEN_STOPS;
                self.network.core.runtime.events.upcoming_mut().adapt(now, EVENTS_BETWEEN_STOPS);
                if stopping > 0 || continues(now, Pause::Events) == Control::Stop {
                    stopping += 1;
                }
                let is_ahead = self.network.core.runtime.delivered_until > now;
                if stopping > 0 && (!is_ahead || stopping > MOST_ROUNDS_TO_STOP) {
                    self.now = now;
                    return Ok(Progress::Stopped);
                }
                self.look_further(now, stopping > 0);
            }
            self.events += 1;
            self.network.turn(slot, now);
        }
    }

    /// Updates `next`. Changes happen before everything else at their instant, samplings and the target after
    /// it, and nothing happens at the end.
    fn look_ahead(&mut self) {
        let after_sampling = self.sampling.min(self.until) + Duration::from_picos(1);
        self.next = self.timeline.next_time().min(after_sampling).min(self.end);
        let core = &mut self.network.core;
        core.runtime.quiet_until = if core.keeps_rows() { Instant::ZERO } else { self.next };
        core.runtime.ahead_until = core.runtime.quiet_until.min(self.horizon);
    }

    /// Sets how far ahead arrivals may be recorded from `now` on: [`SPANS_AHEAD`] times what the last events took, so
    /// that a run which is stopped comes soon to where all of it has happened; not at all if it `is_stopping`.
    #[inline(never)]
    fn look_further(&mut self, now: Instant, is_stopping: bool) {
        let span = now.since(self.paused);
        self.paused = now;
        self.horizon = if is_stopping { now } else { now + span * SPANS_AHEAD };
        self.look_ahead();
    }

    /// Handles the first change or sampling, or ends the step. `now` is the time of the network's next event.
    #[cold]
    #[inline(never)]
    fn rare_turn(
        &mut self,
        now: Instant,
        continues: &mut dyn FnMut(Instant, Pause) -> Control,
    ) -> Result<Option<Progress>, Failure> {
        let change = self.timeline.next_time();
        let at = change.min(self.sampling).min(self.until);
        if at >= self.end {
            self.now = self.end;
            self.has_ended = true;
            return Ok(Some(Progress::Ended));
        }
        self.now = at;
        if change <= self.sampling.min(self.until) {
            self.timeline.turn(&mut self.network, change)?;
        } else if self.until < self.sampling {
            return Ok(Some(Progress::Reached));
        } else {
            debug_assert!(self.sampling < now, "a sample sees all that happened at its instant");
            self.network.sample(at);
            self.sampling = self.network.core.recording.next_sample(at).unwrap_or(Instant::NEVER);
            if continues(at, Pause::Sampling) == Control::Stop {
                self.events += 1;
                return Ok(Some(Progress::Stopped));
            }
        }
        self.look_ahead();
        Ok(None)
    }

    fn finish(self) -> Result<Outcome, Failure> {
        let events = self.events + self.network.core.at_once;
        let mut recording = self.network.close(self.now)?;
        recording.engine.events = events;
        Ok(Outcome { recording, stopped_early: !self.has_ended })
    }
}

/// Changes of the scenario, in the order of their times.
struct Timeline<'a> {
    scenario: Cow<'a, Scenario>,
    /// Number of changes that have happened.
    next: usize,
}

impl Timeline<'_> {
    fn upcoming(&self) -> Option<&Change> {
        self.scenario.changes.get(self.next)
    }

    fn next_time(&self) -> Instant {
        self.upcoming().map_or(Instant::NEVER, |change| change.at)
    }

    fn turn<E: Entry>(&mut self, network: &mut Network<E>, now: Instant) -> Result<(), Failure> {
        let upcoming = self.next;
        self.next += 1;
        match self.scenario.changes.get(upcoming) {
            Some(change) => network.apply(&self.scenario, &mut Prepared::from(change.clone()), now),
            None => Ok(()),
        }
    }
}
