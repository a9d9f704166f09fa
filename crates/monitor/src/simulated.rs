//! Session of a simulation at the pace of a clock: observes the run, sends samples, receives commands.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration as WallTime, Instant as WallInstant};

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::judge_so_far;
use lockgate_measure::recording::FlowRecord;
use lockgate_measure::verdict::JudgedRow;
use lockgate_scenario::Scenario;
use lockgate_session::{Sampler, Session, Start};
use lockgate_sim::{Command as RunCommand, Observer, RunView};

use crate::command::OnlyKnown;
use crate::{Channels, Command};

/// Delay of a change after the look at which it was requested. At one instant a change precedes all other
/// events, as every entry of the timeline does, whereas a look follows them.
const AFTER_LOOK: Duration = Duration::from_micros(1);

/// Time of the run after which expectations are judged anew.
const JUDGED_EVERY: Duration = Duration::from_millis(200);

/// Longest sleep while the run waits. Bounds the delay of stopping.
const LONGEST_SLEEP: WallTime = WallTime::from_millis(50);

/// Session of a simulation: its [`Observer`], which waits for the clock.
pub struct SimulatedSession<'a> {
    channels: Channels,
    session: Session,
    sampler: Sampler,
    /// A wall time and the run's time at it: origin of the pace.
    anchor: (WallInstant, Instant),
    /// True if the scenario was changed since the look began.
    is_changed: bool,
    interrupt: &'a AtomicBool,
    stopped: bool,
    /// Commands received between two looks, handled at the next.
    waiting: VecDeque<Command>,
    /// Expectations as they were judged last, and when.
    judged: (Instant, Vec<JudgedRow>),
}

impl<'a> SimulatedSession<'a> {
    /// Creates the session of a run of `scenario`; setting `interrupt` ends the run.
    pub fn new(scenario: &Scenario, start: Start, channels: Channels, interrupt: &'a AtomicBool) -> Self {
        let session = Session::new(scenario, start);
        channels.publish(&session);
        Self {
            channels,
            session,
            sampler: Sampler::new(start.every),
            anchor: (WallInstant::now(), Instant::ZERO),
            is_changed: false,
            interrupt,
            stopped: false,
            waiting: VecDeque::new(),
            judged: (Instant::ZERO, Vec::new()),
        }
    }

    /// Returns the expectations judged on the run so far: anew after [`JUDGED_EVERY`], because each time
    /// costs a copy of the flows' records.
    fn judge(&mut self, now: Instant, flows: &[FlowRecord]) -> Vec<JudgedRow> {
        if now.since(self.judged.0) >= JUDGED_EVERY {
            let scenario = self.session.scenario();
            let rows = judge_so_far(now, scenario.warmup, flows, &scenario.expects);
            self.judged = (now, rows);
        }
        self.judged.1.clone()
    }

    /// Publishes that the run has ended. Returns the scenario with all changes. The session's channels end
    /// here.
    pub fn leave(mut self) -> Scenario {
        self.session.end();
        self.channels.publish(&self.session);
        self.session.into_scenario()
    }

    /// Waits until the clock has reached the run's time `now`, handling commands meanwhile.
    fn wait(&mut self, now: Instant) {
        while let Some(command) = self.waiting.pop_front() {
            self.obey(command, now);
        }
        loop {
            if self.interrupt.load(Ordering::SeqCst) {
                self.stopped = true;
            }
            if self.stopped {
                return;
            }
            let left = self.left_until(now);
            if left.is_zero() {
                // Commands that have arrived, without waiting.
                match self.channels.commands.try_recv() {
                    Ok(command) => self.obey(command, now),
                    Err(_) => return,
                }
                continue;
            }
            match self.channels.commands.recv_timeout(left.min(LONGEST_SLEEP)) {
                Ok(command) => self.obey(command, now),
                Err(RecvTimeoutError::Timeout) => {}
                // All senders of commands are gone.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left.min(LONGEST_SLEEP)),
            }
        }
    }

    fn left_until(&self, now: Instant) -> WallTime {
        let status = self.session.status();
        if status.held {
            return LONGEST_SLEEP;
        }
        if status.pace <= 0.0 {
            return WallTime::ZERO;
        }
        let (wall, run) = self.anchor;
        let after = WallTime::try_from_secs_f64(now.since(run).as_secs_f64() / status.pace);
        after.unwrap_or(WallTime::MAX).saturating_sub(wall.elapsed())
    }

    fn obey(&mut self, command: Command, now: Instant) {
        match command {
            Command::Set { settings, lasting, reply } => {
                if !reply.begin() {
                    return;
                }
                let prepared = self.session.prepare(&settings, lasting, now + AFTER_LOOK, &OnlyKnown);
                let done = prepared.map(|change| self.session.accept(change));
                if done.is_ok() {
                    self.channels.publish(&self.session);
                    self.is_changed = true;
                }
                reply.send(done);
                return;
            }
            Command::Every(every) => {
                self.session.set_interval(every);
                self.sampler.set_interval(self.session.interval(), now);
            }
            Command::Pace(pace) => self.session.set_pace(pace),
            Command::Hold(held) => self.session.hold(held),
            Command::Mark(text) => self.session.mark(&text, now),
            Command::Stop => self.stopped = true,
        }
        self.anchor = (WallInstant::now(), now);
        self.channels.publish(&self.session);
    }
}

impl Observer for SimulatedSession<'_> {
    fn stops(&mut self) -> bool {
        self.stopped |= self.interrupt.load(Ordering::SeqCst);
        while let Ok(command) = self.channels.commands.try_recv() {
            self.stopped |= matches!(command, Command::Stop);
            self.waiting.push_back(command);
        }
        self.stopped
    }

    fn next(&self, now: Instant) -> Instant {
        self.sampler.next(now)
    }

    fn look(&mut self, view: RunView<'_>) -> RunCommand {
        let now = view.now;
        self.sampler.look(view.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
        if self.sampler.is_due(now) {
            let ports = view.links.iter_mut().map(|link| (&mut link.port, &mut link.record));
            let mut sample = self.sampler.close(now, ports, view.flows, view.events);
            sample.judged = self.judge(now, view.flows);
            // A temporary change ended, or one of the timeline happened: update the knobs' values.
            if self.session.advance(now) {
                self.channels.publish(&self.session);
            }
            self.channels.hand_out(&mut self.session, sample);
        }
        self.is_changed = false;
        self.wait(now);
        if self.stopped {
            return RunCommand::Stop;
        }
        if self.is_changed {
            return RunCommand::Change(Box::new(self.session.scenario().clone()));
        }
        RunCommand::Continue
    }
}
