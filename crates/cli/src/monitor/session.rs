//! Session of a simulation at the pace of a clock, with its knobs: observes the run, sends samples, receives
//! commands.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::time::{Duration as WallTime, Instant as WallInstant};

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{Monitor, Sample};
use lockgate_scenario::Scenario;
use lockgate_sim::{Command as RunCommand, Observer, RunView};

use super::effective::Effective;
use super::knobs::{Command, Notes, set};
use super::status::{Board, Status};
use crate::files::Beside;
use crate::interrupt;

/// Looks an interval: the number of values that the mean queue length is computed from.
const LOOKS: u64 = 10;

/// Shortest and longest sampling interval.
pub(crate) const SHORTEST: Duration = Duration::from_millis(10);
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

/// Delay of a change after the look at which it was requested. A change comes first at its instant, as any
/// entry of the timeline; the look came last at its own.
const AFTER_LOOK: Duration = Duration::from_micros(1);

/// Longest sleep while the run waits. Bounds the delay of stopping.
const NAP: WallTime = WallTime::from_millis(50);

/// Session's ends of the channels to the hub.
pub(crate) struct Ends {
    pub(crate) commands: Receiver<Command>,
    pub(crate) samples: SyncSender<Arc<Sample>>,
    pub(crate) board: Board,
}

/// Session of a simulation.
pub(crate) struct Session<'a> {
    files: &'a Beside,
    commands: Receiver<Command>,
    samples: SyncSender<Arc<Sample>>,
    board: Board,
    monitor: Monitor,
    status: Status,
    every: Duration,
    /// End of the current interval.
    due: Instant,
    pace: f64,
    held: bool,
    /// A wall time and the run's time at it: origin of the pace.
    anchor: (WallInstant, Instant),
    dropped: u64,
    notes: Notes,
    current: Effective,
    /// The scenario with the last changes, if there were any.
    pub(crate) changed: Option<Scenario>,
    /// True if it was changed since the look began.
    fresh: bool,
    stopped: bool,
    /// Commands received between two looks, handled at the next.
    waiting: VecDeque<Command>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        scenario: &Scenario,
        seed: u64,
        (pace, every): (f64, Duration),
        files: &'a Beside,
        ends: Ends,
    ) -> Self {
        let Ends { commands, samples, board } = ends;
        let mut session = Self {
            files,
            commands,
            samples,
            board,
            monitor: Monitor::default(),
            status: Status { mode: "sim", seed, ..Status::default() },
            every,
            due: Instant::ZERO + every,
            pace,
            held: false,
            anchor: (WallInstant::now(), Instant::ZERO),
            dropped: 0,
            notes: Notes::default(),
            current: Effective::at(&scenario.text, Instant::ZERO),
            changed: None,
            fresh: false,
            stopped: false,
            waiting: VecDeque::new(),
        };
        session.status.describe(scenario, &session.current);
        session.publish();
        session
    }

    /// Publishes that the run has ended. Returns the scenario with the last changes, if there were any. The
    /// session's channels end here.
    pub(crate) fn leave(mut self) -> Option<Scenario> {
        self.status.ended = true;
        self.publish();
        self.changed
    }

    /// Publishes the status.
    fn publish(&mut self) {
        self.status.pace = self.pace;
        self.status.every_s = self.every.as_secs_f64();
        self.status.held = self.held;
        if let Ok(mut board) = self.board.lock() {
            *board = Arc::new(self.status.clone());
        }
    }

    /// Sends a sample, or drops and counts it if the channel is full.
    fn hand_out(&mut self, mut sample: Sample) {
        sample.dropped_samples = self.dropped;
        let events = sample.events.len();
        self.notes.add_to(&mut sample);
        if let Err(TrySendError::Full(_)) = self.samples.try_send(Arc::new(sample)) {
            self.dropped += 1;
            self.monitor.tell_again(events);
        } else {
            self.notes.on_told();
        }
    }

    /// Waits until the clock has reached the run's time `now`, handling commands meanwhile.
    fn wait(&mut self, now: Instant, scenario: &Scenario) {
        while let Some(command) = self.waiting.pop_front() {
            self.obey(command, now, scenario);
        }
        loop {
            if interrupt::is_requested() {
                self.stopped = true;
            }
            if self.stopped {
                return;
            }
            let left = self.left_until(now);
            if left.is_zero() {
                // Commands that have arrived, without waiting.
                match self.commands.try_recv() {
                    Ok(command) => self.obey(command, now, scenario),
                    Err(_) => return,
                }
                continue;
            }
            match self.commands.recv_timeout(left.min(NAP)) {
                Ok(command) => self.obey(command, now, scenario),
                Err(RecvTimeoutError::Timeout) => {}
                // All senders of commands are gone.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left.min(NAP)),
            }
        }
    }

    fn left_until(&self, now: Instant) -> WallTime {
        if self.held {
            return NAP;
        }
        if self.pace <= 0.0 {
            return WallTime::ZERO;
        }
        let (wall, run) = self.anchor;
        let after = WallTime::try_from_secs_f64(now.since(run).as_secs_f64() / self.pace);
        after.unwrap_or(WallTime::MAX).saturating_sub(wall.elapsed())
    }

    fn obey(&mut self, command: Command, now: Instant, playing: &Scenario) {
        match command {
            Command::Set { settings, lasting, reply } => {
                let scenario = self.changed.take();
                let at = now + AFTER_LOOK;
                let from = scenario.as_ref().unwrap_or(playing);
                let set = set(&settings, lasting, at, from, self.files, &self.current);
                self.changed = match set {
                    Ok((changed, done, current)) => {
                        self.current = current;
                        self.status.version += 1;
                        self.status.describe(&changed, &self.current);
                        self.publish();
                        self.notes.on_set(&done);
                        let _ = reply.try_send(Ok(done));
                        self.fresh = true;
                        Some(changed)
                    }
                    Err(refused) => {
                        let _ = reply.try_send(Err(refused));
                        scenario
                    }
                };
                return;
            }
            Command::Every(every) => {
                self.every = every.max(SHORTEST).min(LONGEST);
                self.due = self.due.min(now + self.every);
            }
            Command::Pace(pace) => self.pace = pace,
            Command::Hold(held) => self.held = held,
            Command::Mark(text) => self.status.marks.push(self.notes.mark(&text, now)),
            Command::Stop => self.stopped = true,
        }
        self.anchor = (WallInstant::now(), now);
        self.publish();
    }
}

impl Observer for Session<'_> {
    fn stops(&mut self) -> bool {
        self.stopped |= interrupt::is_requested();
        while let Ok(command) = self.commands.try_recv() {
            self.stopped |= matches!(command, Command::Stop);
            self.waiting.push_back(command);
        }
        self.stopped
    }

    fn next(&self, now: Instant) -> Instant {
        let step = Duration::from_picos((self.every.as_picos() / LOOKS).max(1));
        (now + step).min(self.due.max(now + Duration::from_picos(1)))
    }

    fn look(&mut self, view: RunView<'_>) -> RunCommand {
        let now = view.now;
        self.monitor.look(view.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
        if now >= self.due {
            let ports = view.links.iter_mut().map(|link| (&mut link.port, &mut link.record));
            let sample = self.monitor.close(now, ports, view.flows, view.events);
            // A temporary change ended, or one of the timeline happened: update the knobs' values.
            if self.current.is_past(now) {
                self.current.advance(now);
                self.status.describe(view.scenario, &self.current);
                self.publish();
            }
            self.hand_out(sample);
            self.due = now + self.every;
        }
        self.fresh = false;
        self.wait(now, view.scenario);
        if self.stopped {
            return RunCommand::Stop;
        }
        match &self.changed {
            Some(changed) if self.fresh => RunCommand::Change(Box::new(changed.clone())),
            _ => RunCommand::Continue,
        }
    }
}
