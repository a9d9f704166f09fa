//! A simulation in the pace of a clock, with its knobs: looks at the run, hands out samples, takes commands.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::time::{Duration as WallTime, Instant as WallInstant};

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{Monitor, Sample};
use lockgate_scenario::diagnostic::Problems;
use lockgate_scenario::{Override, Scenario};
use lockgate_sim::{Scene, Watcher, Wish};
use serde::Serialize;

use super::effective::{Effective, Knob};
use crate::files::Beside;
use crate::{interrupt, results};

/// Looks an interval: as many values the mean length of a queue is made of.
const LOOKS: u64 = 10;

/// The shortest and the longest interval of samples.
pub(crate) const SHORTEST: Duration = Duration::from_millis(10);
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

/// From a look to the change asked for at it. The change is an entry of the timeline like any other, so it
/// comes first at its instant; the look came last at its own.
const AFTER_LOOK: Duration = Duration::from_micros(1);

/// Longest sleep while the run waits: how late a wish to stop is heard.
const NAP: WallTime = WallTime::from_millis(50);

/// What a session is asked.
pub(crate) enum Command {
    /// To set values, all at once; `lasting`: they go back by themselves after this long.
    Set { settings: Vec<String>, lasting: Option<Duration>, reply: SyncSender<Result<Done, Refused>> },
    /// To sample as often as this.
    Every(Duration),
    /// To go this many times as fast as the clock.
    Pace(f64),
    /// To wait, or to go on.
    Hold(bool),
    /// To end here.
    Stop,
}

/// What was set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Done {
    /// When it holds from, in seconds since the start of the run.
    pub(crate) at_s: f64,
    /// The values before, as they would be set again.
    pub(crate) before: Vec<String>,
    /// When they go back, where they do.
    pub(crate) until_s: Option<f64>,
}

/// Why nothing was set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Refused {
    /// What is wrong, each with its way out.
    pub(crate) problems: Vec<Wrong>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Wrong {
    /// What is wrong.
    pub(crate) message: String,
    /// The way out.
    pub(crate) help: String,
}

impl Refused {
    pub(crate) fn because(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { problems: vec![Wrong { message: message.into(), help: help.into() }] }
    }

    fn of(problems: &Problems) -> Self {
        let wrong = |problem: &lockgate_scenario::Problem| Wrong {
            message: problem.message().to_owned(),
            help: problem.help_text().unwrap_or_default().to_owned(),
        };
        Self { problems: problems.iter().map(wrong).collect() }
    }
}

/// What changes rarely: the network, the knobs, how the session goes.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Status {
    /// The scenario's title.
    pub(crate) title: String,
    /// `sim` or `live`.
    pub(crate) mode: &'static str,
    /// What the random draws started from.
    pub(crate) seed: u64,
    /// How long the run lasts, in seconds.
    pub(crate) duration_s: f64,
    /// Times the clock; 0 where as fast as can be.
    pub(crate) pace: f64,
    /// Seconds between samples.
    pub(crate) every_s: f64,
    /// Whether the run waits.
    pub(crate) held: bool,
    /// Whether the run has ended.
    pub(crate) ended: bool,
    /// How often something was set.
    pub(crate) version: u64,
    /// The network.
    pub(crate) nodes: Vec<String>,
    /// The links.
    pub(crate) links: Vec<LinkStatus>,
    /// The ports.
    pub(crate) ports: Vec<PortStatus>,
    /// The names of the flows.
    pub(crate) flows: Vec<String>,
    /// The scenario with all that was set: what replays the session.
    #[serde(skip)]
    pub(crate) scenario: String,
}

/// A link and its knobs.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct LinkStatus {
    pub(crate) name: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) rate_bps: f64,
    pub(crate) delay_s: f64,
    pub(crate) knobs: Vec<Knob>,
}

/// A port and the knobs of its queues.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PortStatus {
    pub(crate) name: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) link: String,
    /// Which tree is in use.
    pub(crate) root: Option<Knob>,
    /// By queue.
    pub(crate) queues: Vec<(String, Vec<Knob>)>,
}

/// Where the status of a session is left for whoever asks.
pub(crate) type Board = Arc<Mutex<Arc<Status>>>;

/// The side of a session that looks.
pub(crate) struct Session<'a> {
    files: &'a Beside,
    commands: Receiver<Command>,
    samples: SyncSender<Arc<Sample>>,
    board: Board,
    monitor: Monitor,
    status: Status,
    every: Duration,
    /// When the interval under way ends.
    due: Instant,
    pace: f64,
    held: bool,
    /// A wall time and the run's time at it, from which the pace counts.
    anchor: (WallInstant, Instant),
    dropped: u64,
    /// The scenario as it was set last, where it was.
    pub(crate) changed: Option<Scenario>,
    /// Whether that was since the look began.
    fresh: bool,
    stopped: bool,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        scenario: &Scenario,
        seed: u64,
        (pace, every): (f64, Duration),
        files: &'a Beside,
        commands: Receiver<Command>,
        samples: SyncSender<Arc<Sample>>,
        board: Board,
    ) -> Self {
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
            changed: None,
            fresh: false,
            stopped: false,
        };
        session.describe(scenario, Instant::ZERO);
        session.publish();
        session
    }

    /// Says that the run has ended, and gives the scenario as it was set last, where it was. The channels of
    /// the session end here.
    pub(crate) fn leave(mut self) -> Option<Scenario> {
        self.status.ended = true;
        self.publish();
        self.changed
    }

    /// Puts the status on the board.
    fn publish(&mut self) {
        self.status.pace = self.pace;
        self.status.every_s = self.every.as_secs_f64();
        self.status.held = self.held;
        if let Ok(mut board) = self.board.lock() {
            *board = Arc::new(self.status.clone());
        }
    }

    /// Takes what of the scenario the status shows, as it stands at `now`.
    fn describe(&mut self, scenario: &Scenario, now: Instant) {
        let effective = Effective::at(&scenario.text, now);
        let name = |node: usize| scenario.nodes[node].name.clone();
        let status = &mut self.status;
        status.title.clone_from(&scenario.title);
        status.duration_s = scenario.duration.as_secs_f64();
        status.nodes = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        status.flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        status.links = scenario
            .links
            .iter()
            .map(|link| {
                let knobs = effective.link_knobs(&link.name);
                let rate = knobs[0].value.as_ref().and_then(|rate| rate.parse().ok()).unwrap_or(link.rate);
                LinkStatus {
                    name: link.name.clone(),
                    from: name(link.ends[0]),
                    to: name(link.ends[1]),
                    rate_bps: rate.as_bits() as f64,
                    delay_s: link.delay.as_secs_f64(),
                    knobs,
                }
            })
            .collect();
        status.ports = scenario
            .ports
            .iter()
            .map(|port| PortStatus {
                name: port.name.clone(),
                from: name(port.from),
                to: name(port.to),
                link: scenario.links[port.link].name.clone(),
                root: (!port.queues.is_empty())
                    .then(|| effective.root_knob(&port.name, &port.queues, &port.root)),
                queues: port
                    .queues
                    .iter()
                    .map(|queue| (queue.clone(), effective.queue_knobs(&port.name, queue)))
                    .collect(),
            })
            .collect();
        status.scenario.clone_from(&scenario.text);
    }

    /// Hands a sample out, or drops it where nobody took the ones before in time.
    fn hand_out(&mut self, mut sample: Sample) {
        sample.dropped_samples = self.dropped;
        if let Err(TrySendError::Full(_)) = self.samples.try_send(Arc::new(sample)) {
            self.dropped += 1;
        }
    }

    /// Waits until the clock has come to `now` of the run, doing what is asked meanwhile.
    fn wait(&mut self, now: Instant, scenario: &Scenario) {
        loop {
            if interrupt::is_requested() {
                self.stopped = true;
            }
            if self.stopped {
                return;
            }
            let left = self.left_until(now);
            if left.is_zero() {
                // Whatever has come meanwhile, without waiting.
                match self.commands.try_recv() {
                    Ok(command) => self.obey(command, now, scenario),
                    Err(_) => return,
                }
                continue;
            }
            match self.commands.recv_timeout(left.min(NAP)) {
                Ok(command) => self.obey(command, now, scenario),
                Err(RecvTimeoutError::Timeout) => {}
                // Nobody is left who could ask.
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
                let set = self.set(&settings, lasting, now, scenario.as_ref().unwrap_or(playing));
                self.changed = match set {
                    Ok((changed, done)) => {
                        self.status.version += 1;
                        self.describe(&changed, now + AFTER_LOOK);
                        self.publish();
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
            Command::Stop => self.stopped = true,
        }
        self.anchor = (WallInstant::now(), now);
        self.publish();
    }

    /// `scenario` with what is asked for, right after `now`.
    fn set(
        &self,
        settings: &[String],
        lasting: Option<Duration>,
        now: Instant,
        scenario: &Scenario,
    ) -> Result<(Scenario, Done), Refused> {
        if settings.is_empty() {
            return Err(Refused::because("nothing is to be set", "give PATH=VALUE"));
        }
        let at = now + AFTER_LOOK;
        let read = |text: &String| {
            let refuse = |why: lockgate_scenario::PathError| {
                Refused::because(why.to_string(), "write PATH=VALUE, such as link.wan.rate=2mbit")
            };
            let setting = Override::parse(text).map_err(refuse)?;
            // Going through TOML is what keeps a value one value.
            if text.contains(['\n', '\r']) {
                return Err(Refused::because("a setting is one line", "write PATH=VALUE"));
            }
            Ok(setting)
        };
        let settings: Vec<Override> = settings.iter().map(read).collect::<Result<_, _>>()?;
        let effective = Effective::at(&scenario.text, at);
        let before: Vec<(Vec<String>, Option<String>)> = settings
            .iter()
            .map(|setting| (setting.path().to_vec(), effective.written(setting.path())))
            .collect();
        let change = |scenario: &Scenario, at, settings: &[Override]| {
            let changed = scenario.with_change(at, settings, self.files);
            let (mut changed, _) = changed.map_err(|problems| Refused::of(&problems))?;
            changed.record = scenario.record.clone();
            Ok(changed)
        };
        let mut changed = change(scenario, at, &settings)?;
        let written = |(path, value): &(Vec<String>, Option<String>)| {
            let path = super::effective::join(path);
            value.as_ref().map(|value| format!("{path}={value}")).ok_or(path)
        };
        let known: Vec<Result<String, String>> = before.iter().map(written).collect();
        if let Some(lasting) = lasting {
            let back: Result<Vec<Override>, Refused> = known
                .iter()
                .map(|known| match known {
                    Ok(text) => Override::parse(text).map_err(|why| Refused::because(why.to_string(), "")),
                    Err(path) => Err(Refused::because(
                        format!("`{path}` has no value now that it could go back to"),
                        "set it without a time",
                    )),
                })
                .collect();
            changed = change(&changed, at + lasting, &back?)?;
        }
        let done = Done {
            at_s: at.as_secs_f64(),
            before: known.into_iter().filter_map(Result::ok).collect(),
            until_s: lasting.map(|lasting| (at + lasting).as_secs_f64()),
        };
        Ok((changed, done))
    }
}

impl Watcher for Session<'_> {
    fn next(&self, now: Instant) -> Instant {
        let step = Duration::from_picos((self.every.as_picos() / LOOKS).max(1));
        (now + step).min(self.due.max(now + Duration::from_picos(1)))
    }

    fn look(&mut self, scene: Scene<'_>) -> Wish {
        let now = scene.now;
        self.monitor.look(scene.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
        if now >= self.due {
            let ports = scene.links.iter_mut().map(|link| (&mut link.port, &mut link.record));
            let sample = self.monitor.close(now, ports, scene.flows, scene.events);
            // A temporary change that went back, or one of the timeline: the knobs show what holds.
            if !sample.events.is_empty() {
                self.describe(scene.scenario, now);
                self.publish();
            }
            self.hand_out(sample);
            self.due = now + self.every;
        }
        self.fresh = false;
        self.wait(now, scene.scenario);
        if self.stopped {
            return Wish::Stop;
        }
        match &self.changed {
            Some(changed) if self.fresh => Wish::Change(Box::new(changed.clone())),
            _ => Wish::Continue,
        }
    }
}

/// The scenario's text as a file that says where it comes from.
pub(crate) fn saved(status: &Status) -> String {
    format!(
        "# What was set while this ran, as it was on {}; seed {}.\n{}",
        results::now(),
        status.seed,
        status.scenario
    )
}
