//! A simulation that is advanced step by step: the event loop of every simulated run.
//!
//! ```text
//! Simulation::new --> step_until(t) --> observe / set --> step_until(t') --> ... --> finish --> Outcome
//!
//! step_until(t): the first of   network events   changes   samplings   t   end of the run
//! at one instant:               change < links < routers < sources < hosts < controllers < sampling < t
//! ```
//!
//! Changes, steps of controllers, samplings, the target of a step and the end are outside the event queue:
//! the first of them is the limit up to which the event loop (`event_loop.rs`) is advanced. A run in a
//! thousand steps handles the same events in the same order as a run in one.

mod outside_calls;

use std::borrow::Cow;

use lockgate_engine::discipline::Invalid;
use lockgate_engine::port::{Effect, PortChange};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::{Event, FlowRecord, Recording};
use lockgate_network::{Controllers, Failure, Link};
use lockgate_scenario::change::{Change, Prepared};
use lockgate_scenario::model::Scenario;
use lockgate_scenario::{Files, Override, Problems};

use crate::build::build;
use crate::event_loop::{Advance, EventLoop};
use crate::network::Network;

/// A change takes effect this long after the instant at which it is set: what has happened stays as it is.
const AFTER_SET: Duration = Duration::from_picos(1);

/// Occasion on which a run can be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// A sampling of the recording.
    Sampling,
    /// [`EVENTS_BETWEEN_STOPS`](crate::EVENTS_BETWEEN_STOPS) events after the last one.
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
    pub(crate) events: EventLoop,
    timeline: Timeline<'a>,
    controllers: Controllers,
    /// Time of the next sampling.
    sampling: Instant,
    pub(crate) end: Instant,
    pub(crate) now: Instant,
    pub(crate) has_ended: bool,
    /// Time before which no change, step of a controller or sampling is due, and the run does not end.
    quiet_until: Instant,
    /// Number of changes and samplings so far.
    rare_events: u64,
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
        let mut network = build(&scenario, seed)?;
        let controllers = Controllers::new(&scenario, &mut network.core);
        Ok(Self {
            sampling: network.core.recording.next_sample(Instant::ZERO).unwrap_or(Instant::NEVER),
            events: EventLoop::new(network),
            end: scenario.end(),
            timeline: Timeline { scenario, next: 0 },
            controllers,
            now: Instant::ZERO,
            has_ended: false,
            quiet_until: Instant::ZERO,
            rare_events: 0,
        })
    }

    /// Records from here on what a [`Monitor`](lockgate_measure::monitor::Monitor) needs for samples.
    pub fn record_samples(&mut self) {
        self.events.network.core.record_samples();
    }

    /// The instant up to which everything has happened.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the time of the next event, change or sampling, or the end of the run if none is before it.
    pub(crate) fn next_time(&self) -> Instant {
        let (event, _) = self.events.network.first();
        event.min(self.timeline.next_time()).min(self.controllers.next()).min(self.sampling).min(self.end)
    }

    /// Advances the run until everything at `time` has happened, or to its end. A past time is that of now.
    ///
    /// # Errors
    /// A change of the timeline that cannot be applied.
    pub fn step_until(&mut self, time: Instant) -> Result<Progress, Failure> {
        self.step_while(time, &mut |_| Control::Continue)
    }

    /// The same as [`step_until`](Self::step_until) with a callback that may stop the step. It is called with
    /// the current time at every sampling (some six hundred times a run) and every
    /// [`EVENTS_BETWEEN_STOPS`](crate::EVENTS_BETWEEN_STOPS) events, however little simulated time they take.
    ///
    /// # Errors
    /// Those of [`step_until`](Self::step_until).
    pub fn step_while(
        &mut self,
        time: Instant,
        continues: &mut dyn FnMut(Instant) -> Control,
    ) -> Result<Progress, Failure> {
        let continues = &mut |now, _| continues(now);
        self.advance(time, continues)
    }

    /// The same with a callback that stops the step if it returns true, and is called every
    /// [`EVENTS_BETWEEN_STOPS`](crate::EVENTS_BETWEEN_STOPS) events only.
    pub(crate) fn step_unless(
        &mut self,
        time: Instant,
        stops: &mut dyn FnMut() -> bool,
    ) -> Result<Progress, Failure> {
        let continues = &mut |_, pause| {
            if pause == Pause::Events && stops() { Control::Stop } else { Control::Continue }
        };
        self.advance(time, continues)
    }

    /// State of the run now.
    pub fn observe(&mut self) -> RunView<'_> {
        let core = &mut self.events.network.core;
        RunView {
            now: self.now,
            scenario: &self.timeline.scenario,
            links: &mut core.links,
            flows: &mut core.recording.flows,
            events: &core.recording.events,
        }
    }

    /// Changes parameters from now on, as a `[[change]]` of the scenario does: `link.line.rate=5mbit`,
    /// `port.a:b.queue.q.limit=100p`. Returns the changes made. `files` is where files come from that the
    /// settings name.
    ///
    /// # Errors
    /// Every problem of the settings, as if they were written in the scenario. Nothing is changed then.
    pub fn set(&mut self, settings: &[Override], files: &dyn Files) -> Result<Vec<Change>, Problems> {
        let at = self.now() + AFTER_SET;
        self.quiet_until = Instant::ZERO;
        self.timeline.scenario.to_mut().change(at, settings, files)
    }

    /// Applies a change of the port at index `port` now, and turns it into its inverse. Unlike a
    /// [`set`](Self::set) it is no event of the run and not part of its scenario: a controller steps a rate
    /// by it.
    ///
    /// # Errors
    /// Those of [`Port::apply`](lockgate_engine::port::Port::apply).
    pub fn change_port(&mut self, port: usize, change: &mut PortChange) -> Result<Effect, Invalid> {
        self.events.network.core.change_port(port, change, self.now)
    }

    /// Continues by this scenario, which must differ from the current one only by changes later than now
    /// ([`Scenario::with_change`]).
    pub fn change(&mut self, scenario: Scenario) {
        self.quiet_until = Instant::ZERO;
        self.timeline.scenario = Cow::Owned(scenario);
    }

    /// Ends the run now, and closes its account.
    ///
    /// # Errors
    /// An account that does not balance, which is a fault of Lockgate.
    pub fn finish(self) -> Result<Outcome, Failure> {
        let events = self.events.events() + self.rare_events + self.events.network.core.at_once;
        let mut recording = self.events.network.close(self.now)?;
        recording.engine.events = events;
        Ok(Outcome { recording, stopped_early: !self.has_ended })
    }

    /// Advances the run to its end, and closes its account.
    ///
    /// # Errors
    /// Those of [`step_until`](Self::step_until) and [`finish`](Self::finish).
    pub fn finish_run(mut self) -> Result<Outcome, Failure> {
        self.step_until(Instant::NEVER)?;
        self.finish()
    }

    fn advance(
        &mut self,
        until: Instant,
        continues: &mut dyn FnMut(Instant, Pause) -> Control,
    ) -> Result<Progress, Failure> {
        if self.has_ended {
            return Ok(Progress::Ended);
        }
        let until = until.max(self.now);
        loop {
            match self.events.advance(self.limit(until)) {
                Advance::Reached => {
                    if let Some(progress) = self.rare_turn(until, continues)? {
                        return Ok(progress);
                    }
                    self.rare_events += 1;
                }
                Advance::Paused(now) => {
                    if continues(now, Pause::Events) == Control::Stop {
                        self.now = now;
                        return Ok(Progress::Stopped);
                    }
                }
            }
        }
    }

    /// Advances the run to the event of `slot` at `until`, which is not handled. If it `pauses`, to the first
    /// arrival outside, if that is earlier.
    ///
    /// # Errors
    /// Those of [`step_until`](Self::step_until).
    #[inline]
    pub(crate) fn advance_to(&mut self, until: Instant, slot: usize, pauses: bool) -> Result<(), Failure> {
        if until < self.quiet_until {
            self.now = self.events.advance_to(until, slot, pauses).unwrap_or(until);
            return Ok(());
        }
        self.advance_beyond(until, slot, pauses)?;
        self.quiet_until = self.next_change().min(self.sampling).min(self.end);
        Ok(())
    }

    /// The same, with changes, steps of controllers, samplings and the end of the run.
    fn advance_beyond(&mut self, until: Instant, slot: usize, pauses: bool) -> Result<(), Failure> {
        while !self.has_ended {
            let (change, step, sampling) =
                (self.timeline.next_time(), self.controllers.next(), self.sampling);
            let look = step.min(sampling);
            let (limit, first) = if change <= look.min(until) {
                (change, 0)
            } else if look < until {
                (look + Duration::from_picos(1), 0)
            } else {
                (until, slot)
            };
            let is_last = limit >= self.end;
            let (limit, first) = if is_last { (self.end, 0) } else { (limit, first) };
            if let Some(arrival) = self.events.advance_to(limit, first, pauses) {
                self.now = arrival;
                return Ok(());
            }
            if is_last {
                self.now = self.end;
                self.has_ended = true;
            } else if change <= look.min(until) {
                self.now = change;
                self.timeline.turn(&mut self.events.network, change)?;
                self.rare_events += 1;
            } else if look < until {
                self.now = look;
                if step == look {
                    self.controllers.step(&mut self.events.network.core, look)?;
                } else {
                    self.take_sample();
                }
                self.rare_events += 1;
            } else {
                self.now = until;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the time of the next change, or step of a controller.
    pub(crate) fn next_change(&self) -> Instant {
        self.timeline.next_time().min(self.controllers.next())
    }

    /// Takes the sample that is due now.
    fn take_sample(&mut self) {
        self.events.network.sample(self.now);
        self.sampling = self.events.network.core.recording.next_sample(self.now).unwrap_or(Instant::NEVER);
    }

    /// Returns the time before which only events of the network happen in a step to `until`. Changes happen
    /// before everything else at their instant, samplings and the target after it, and nothing happens at the
    /// end.
    fn limit(&self, until: Instant) -> Instant {
        let last_at_instant = self.controllers.next().min(self.sampling).min(until);
        self.timeline.next_time().min(last_at_instant + Duration::from_picos(1)).min(self.end)
    }

    /// Handles the first change or sampling, or ends a step to `until`.
    #[cold]
    #[inline(never)]
    fn rare_turn(
        &mut self,
        until: Instant,
        continues: &mut dyn FnMut(Instant, Pause) -> Control,
    ) -> Result<Option<Progress>, Failure> {
        let (change, step) = (self.timeline.next_time(), self.controllers.next());
        let at = change.min(step).min(self.sampling).min(until);
        if at >= self.end {
            self.now = self.end;
            self.has_ended = true;
            return Ok(Some(Progress::Ended));
        }
        self.now = at;
        if change == at {
            self.timeline.turn(&mut self.events.network, change)?;
        } else if step == at {
            self.controllers.step(&mut self.events.network.core, at)?;
        } else if until < self.sampling {
            return Ok(Some(Progress::Reached));
        } else {
            self.take_sample();
            if continues(at, Pause::Sampling) == Control::Stop {
                self.rare_events += 1;
                return Ok(Some(Progress::Stopped));
            }
        }
        Ok(None)
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

    fn turn(&mut self, network: &mut Network, now: Instant) -> Result<(), Failure> {
        let upcoming = self.next;
        self.next += 1;
        match self.scenario.changes.get(upcoming) {
            Some(change) => network.apply(&self.scenario, &mut Prepared::from(change.clone()), now),
            None => Ok(()),
        }
    }
}
