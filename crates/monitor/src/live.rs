//! Session of a live run, on a thread beside the driver's: receives samples, and reads, checks and builds
//! changes for the driver.
//!
//! ```text
//! Command -> Session::prepare at `now + lead` -> the rest of the timeline, built -> driver
//!            '<- again, with a later time: the driver was already past it <---------------'
//! ```
//!
//! Invariant: a change takes effect at exactly its time in the saved scenario, or the driver refuses it
//! (decision 031).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration as WallTime;

use lockgate_engine::discipline::Invalid;
use lockgate_engine::units::{Duration, Instant};
use lockgate_live::control_channel::{Answer, ObserverEnd, Order};
use lockgate_scenario::Scenario;
use lockgate_scenario::change::Prepared;
use lockgate_session::{Done, Refused, Session, Start};

use crate::command::OnlyKnown;
use crate::{Channels, Command};

/// Least time from now to a change: the driver serves its channel every 5 ms.
const LEAST_LEAD: Duration = Duration::from_millis(15);

/// Longest time from now to a change: longer than reading a scenario takes on a busy machine.
const MOST_LEAD: Duration = Duration::from_secs(2);

/// Least time between two changes.
const AFTER_LAST: Duration = Duration::from_micros(1);

/// Attempts to place a change before the driver reaches its time.
const TRIES: u32 = 6;

/// Number of changes built in advance. The driver builds the later ones of a long timeline.
const BUILT: usize = 64;

/// Polling interval of the driver's answers.
const POLL_INTERVAL: WallTime = WallTime::from_millis(1);

/// Observer's side of a live run.
pub struct LiveSession {
    channels: Channels,
    session: Session,
    observer_end: ObserverEnd,
    /// Time needed to read a change: the shorter of the last two values, and the last one.
    took: Duration,
    took_last: Duration,
    /// Time of the last setting; later settings have later times.
    last: Instant,
    halt: Arc<AtomicBool>,
}

impl LiveSession {
    /// Creates the session of a run of `scenario`. The session sets `halt` to end the run.
    pub fn new(
        scenario: &Scenario,
        start: Start,
        channels: Channels,
        observer_end: ObserverEnd,
        halt: Arc<AtomicBool>,
    ) -> Self {
        let session = Session::new(scenario, start);
        channels.publish(&session);
        Self {
            channels,
            session,
            observer_end,
            took: Duration::ZERO,
            took_last: Duration::ZERO,
            last: Instant::ZERO,
            halt,
        }
    }

    /// Serves until the driver has ended. Returns the scenario with all changes.
    pub fn serve(mut self) -> Scenario {
        loop {
            let nap = WallTime::from_nanos(self.session.interval().as_picos() / 2_000)
                .min(WallTime::from_millis(50));
            match self.channels.commands.recv_timeout(nap) {
                Ok(command) => self.obey(command),
                Err(RecvTimeoutError::Timeout) => {}
                // All senders of commands are gone.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(nap),
            }
            let over = self.observer_end.is_over();
            self.pass_on();
            if over {
                break;
            }
        }
        self.session.end();
        self.channels.publish(&self.session);
        self.session.into_scenario()
    }

    /// Forwards the driver's samples to the hub.
    fn pass_on(&mut self) {
        self.observer_end.free();
        while let Some(sample) = self.observer_end.sample() {
            // A temporary change ended, or one of the timeline happened: update the knobs' values.
            if self.session.advance(Instant::ZERO + span(sample.at_s)) {
                self.channels.publish(&self.session);
            }
            self.channels.hand_out(&mut self.session, sample);
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Set { settings, lasting, reply } => {
                if !reply.begin() {
                    return;
                }
                let done = self.set(&settings, lasting);
                reply.send(done);
            }
            Command::Every(every) => {
                self.session.set_interval(every);
                let _ = self.observer_end.order(Order::Every(self.session.interval()));
                self.channels.publish(&self.session);
            }
            Command::Mark(text) => {
                let now = self.observer_end.now().unwrap_or(Instant::ZERO);
                self.session.mark(&text, now);
                self.channels.publish(&self.session);
            }
            Command::Stop => self.halt.store(true, Ordering::Relaxed),
            // Real time cannot be paced or paused.
            Command::Pace(_) | Command::Hold(_) => {}
        }
    }

    fn set(&mut self, settings: &[String], lasting: Option<Duration>) -> Result<Done, Refused> {
        let mut lead = (self.took * 3).max(LEAST_LEAD).min(MOST_LEAD);
        for _ in 0..TRIES {
            let Some(now) = self.observer_end.now() else {
                return Err(Refused::because("the run has not begun", "try again in a moment"));
            };
            let at = whole_micros((now + lead).max(self.last + AFTER_LAST));
            if at >= self.session.scenario().end() {
                return Err(Refused::because("the run ends before this could happen", "let it last longer"));
            }
            let change = self.session.prepare(settings, lasting, at, &OnlyKnown)?;
            let timeline = rest(change.scenario(), at)
                .map_err(|why| Refused::because(why.to_string(), "please report this with the scenario"))?;
            let took = self.observer_end.now().map_or(Duration::ZERO, |after| after.since(now));
            if !self.observer_end.order(Order::Timeline { from: at, changes: timeline }) {
                return Err(Refused::because("the run is busy", "try again"));
            }
            match self.answer() {
                Some(Answer::Taken(_)) => {
                    // The shorter of two, because one slow reading on a busy machine does not predict the
                    // next.
                    self.took = took.min(core::mem::replace(&mut self.took_last, took));
                    self.last = at;
                    let done = self.session.accept(change);
                    self.channels.publish(&self.session);
                    return Ok(done);
                }
                Some(Answer::Late(..)) => lead = (lead * 2).max(took * 3).min(MOST_LEAD),
                None => return Err(Refused::because("the run has ended", "start it again to change it")),
            }
        }
        Err(Refused::because("this machine is too busy to prepare the change in time", "try again"))
    }

    /// Waits for the driver's answer to the last timeline; `None` if the driver has ended.
    fn answer(&mut self) -> Option<Answer> {
        loop {
            let over = self.observer_end.is_over();
            if let Some(answer) = self.observer_end.answer() {
                return Some(answer);
            }
            if over {
                return None;
            }
            self.pass_on();
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Returns the changes from `from` on, the first of them built.
fn rest(scenario: &Scenario, from: Instant) -> Result<Vec<Prepared>, Invalid> {
    let start = scenario.changes.partition_point(|change| change.at < from);
    let changes = scenario.changes[start..].iter().cloned().enumerate();
    changes.map(|(index, change)| if index < BUILT { change.prepare() } else { Ok(change.into()) }).collect()
}

/// Rounds up to a whole microsecond, for a short text in the saved scenario.
fn whole_micros(at: Instant) -> Instant {
    const MICRO: u64 = 1_000_000;
    Instant::from_picos(at.as_picos().div_ceil(MICRO) * MICRO)
}

fn span(seconds: f64) -> Duration {
    Duration::from_picos((seconds * 1e12) as u64)
}
