//! Hub of samples: distributes them to all readers and keeps those of the last minutes. Invariant: it never
//! waits for a reader; one that falls behind loses samples, and their number is reported to it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration as WallTime, Instant};

use lockgate_engine::units::Duration;
use lockgate_measure::monitor::{EventSample, Sample};
use lockgate_measure::verdict::RunVerdict;
use lockgate_session::{Done, Refused, Status};
use tokio::sync::broadcast;

use crate::channels::Board;
use crate::command::{Outcome, Reply};
use crate::fold::fold;
use crate::hour::{Hour, Past};
use crate::{Channels, Command, Error};

/// Capacity of one reader's channel, in samples.
const WAITING: usize = 256;

/// Capacity of the channel of commands to the run.
const COMMANDS: usize = 64;

/// Capacity of the channel of samples from the run.
const SAMPLES: usize = 256;

/// Kept history: fifteen minutes, at most this many bytes of text.
const KEPT_S: f64 = 900.0;
const KEPT_BYTES: usize = 64 << 20;

/// Number of events kept.
const KEPT_EVENTS: usize = 10_000;

/// Time within which the run begins a setting: it does so at its next look.
const COMMAND_TIMEOUT: WallTime = WallTime::from_secs(8);

/// Time for which queues are followed after the last request.
const FOLLOWED: WallTime = WallTime::from_mins(1);

/// Number of texts followed at once.
const FOLLOWED_TEXTS: usize = 32;

/// Longest text followed, in bytes.
const FOLLOWED_LENGTH: usize = 200;

/// Sample for readers.
#[derive(Clone, Debug)]
pub struct Frame {
    /// All of the sample.
    pub sample: Arc<Sample>,
    /// Part of it that readers get: all of it unless the network is large.
    pub shown: Arc<Sample>,
    /// That part as JSON, once it was asked for.
    json: Arc<OnceLock<Arc<str>>>,
}

impl Frame {
    /// Returns what readers get as JSON. It is written once for all of them.
    pub fn json(&self) -> &Arc<str> {
        self.json.get_or_init(|| serde_json::to_string(&*self.shown).unwrap_or_default().into())
    }
}

/// One reader's end of the stream of samples.
pub type Frames = broadcast::Receiver<Frame>;

/// Kept history.
#[derive(Debug, Default)]
struct Kept {
    /// Ends of the samples, in seconds, and their JSON.
    texts: VecDeque<(f64, Arc<str>)>,
    bytes: usize,
    hour: Hour,
    latest: Option<Frame>,
    events: VecDeque<EventSample>,
}

/// State shared by a session and its readers.
#[derive(Debug)]
pub struct Hub {
    board: Board,
    commands: SyncSender<Command>,
    frames: broadcast::Sender<Frame>,
    kept: Mutex<Kept>,
    /// Report of the run that has ended.
    report: Mutex<Option<Arc<str>>>,
    /// Texts that readers follow, in lower case, and until when.
    followed: Mutex<Vec<(String, Instant)>>,
    over: AtomicBool,
    /// False if no reader will ask for samples of the past.
    has_history: AtomicBool,
    /// Number of readers of the stream.
    pub(crate) streams: AtomicUsize,
}

impl Hub {
    /// Starts a hub. A thread of its own receives samples until the run drops its ends of the channels.
    ///
    /// # Errors
    /// [`Error::Thread`] if the system refuses the thread.
    pub fn start() -> Result<(Arc<Self>, Channels), Error> {
        let (commands, requested) = sync_channel(COMMANDS);
        let (sender, samples) = sync_channel(SAMPLES);
        let board = Board::default();
        let channels = Channels { commands: requested, samples: sender, board: board.clone() };
        let hub = Arc::new(Self {
            board,
            commands,
            frames: broadcast::Sender::new(WAITING),
            kept: Mutex::default(),
            report: Mutex::default(),
            followed: Mutex::default(),
            over: AtomicBool::new(false),
            has_history: AtomicBool::new(true),
            streams: AtomicUsize::new(0),
        });
        let keeper = hub.clone();
        let keep = move || {
            for sample in samples {
                keeper.take(sample);
            }
            keeper.over.store(true, Ordering::Release);
        };
        std::thread::Builder::new().name("hub".to_owned()).spawn(keep).map_err(Error::Thread)?;
        Ok((hub, channels))
    }

    fn take(&self, sample: Arc<Sample>) {
        let shown = fold(&sample, &self.followed());
        let frame = Frame { sample, shown, json: Arc::default() };
        if let Ok(mut kept) = self.kept.lock() {
            kept.events.extend(frame.sample.events.iter().cloned());
            let surplus = kept.events.len().saturating_sub(KEPT_EVENTS);
            kept.events.drain(..surplus);
            let oldest = frame.sample.at_s - KEPT_S;
            if self.has_history.load(Ordering::Relaxed) {
                kept.bytes += frame.json().len();
                kept.texts.push_back((frame.sample.at_s, frame.json().clone()));
                kept.hour.add(&frame.shown);
            }
            while kept.bytes > KEPT_BYTES || kept.texts.front().is_some_and(|(at_s, _)| *at_s < oldest) {
                let Some((_, old)) = kept.texts.pop_front() else { break };
                kept.bytes -= old.len();
            }
            kept.latest = Some(frame.clone());
        }
        // Fails only if there are no readers.
        let _ = self.frames.send(frame);
    }

    /// Keeps no samples of the past: only a page reads them, and their text is most of the work.
    pub fn forget_history(&self) {
        self.has_history.store(false, Ordering::Relaxed);
    }

    /// Subscribes to all further samples.
    pub fn subscribe(&self) -> Frames {
        self.frames.subscribe()
    }

    /// True if the run has ended and all its samples were received.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Returns the last sample.
    pub fn latest(&self) -> Option<Frame> {
        self.kept.lock().ok()?.latest.clone()
    }

    /// Returns the kept samples that end later than `after_s` as JSON, at most the latest `most`.
    pub fn since(&self, after_s: f64, most: usize) -> Vec<Arc<str>> {
        let Ok(kept) = self.kept.lock() else { return Vec::new() };
        let start = kept.texts.partition_point(|(at_s, _)| *at_s <= after_s);
        let start = start.max(kept.texts.len().saturating_sub(most));
        kept.texts.iter().skip(start).map(|(_, json)| json.clone()).collect()
    }

    /// Returns the last hour of the queues of a port, by its index in the scenario's order.
    pub(crate) fn past(&self, port: usize) -> Past {
        self.kept.lock().map(|kept| kept.hour.of_port(port)).unwrap_or_default()
    }

    /// Keeps the queues and flows whose name contains `text` (in any case) among those that readers get of a
    /// large network, for a minute from now.
    pub fn follow(&self, text: &str) {
        let text = text.to_lowercase();
        if text.is_empty() || text.len() > FOLLOWED_LENGTH {
            return;
        }
        let Ok(mut followed) = self.followed.lock() else { return };
        followed.retain(|(known, _)| *known != text);
        followed.push((text, Instant::now() + FOLLOWED));
        let surplus = followed.len().saturating_sub(FOLLOWED_TEXTS);
        followed.drain(..surplus);
    }

    /// Returns the texts that readers follow now.
    fn followed(&self) -> Vec<String> {
        let Ok(mut followed) = self.followed.lock() else { return Vec::new() };
        let now = Instant::now();
        followed.retain(|(_, until)| *until > now);
        followed.iter().map(|(text, _)| text.clone()).collect()
    }

    /// Returns the events so far, the oldest first.
    pub fn events(&self) -> Vec<EventSample> {
        self.kept.lock().map(|kept| kept.events.iter().cloned().collect()).unwrap_or_default()
    }

    /// Returns the status of the session.
    pub fn status(&self) -> Arc<Status> {
        self.board.lock().map(|board| board.clone()).unwrap_or_default()
    }

    /// Publishes the verdict of the run, which has ended, its report as a page, and the directory of its
    /// results, if there is one.
    pub fn conclude(&self, verdict: RunVerdict, report: Option<String>, results: String) {
        if let (Some(report), Ok(mut kept)) = (report, self.report.lock()) {
            *kept = Some(report.into());
        }
        if let Ok(mut board) = self.board.lock() {
            *board = Arc::new(Status { verdict: Some(verdict), results, ..Status::clone(&board) });
        }
    }

    /// Returns the report of the run as a page, once it has ended.
    pub fn report(&self) -> Option<Arc<str>> {
        self.report.lock().ok()?.clone()
    }

    /// Sends a command that has no answer. Returns false if the channel is full and the command is dropped.
    pub fn tell(&self, command: Command) -> bool {
        self.commands.try_send(command).is_ok()
    }

    /// Sets values, and waits for the answer. A setting that the run does not begin within 8 s is withdrawn,
    /// and not made.
    ///
    /// # Errors
    /// If the run refuses the values, has ended, or does not begin the setting in time.
    pub fn set(&self, settings: Vec<String>, lasting: Option<Duration>) -> Result<Done, Refused> {
        let (reply, answer) = Reply::new();
        match self.commands.try_send(Command::Set { settings, lasting, reply }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(Refused::because("the run is busy", "try again")),
            Err(TrySendError::Disconnected(_)) => return Err(ended()),
        }
        match answer.wait(COMMAND_TIMEOUT) {
            Outcome::Answered(answer) => answer,
            Outcome::Withdrawn => {
                Err(Refused::because("the run did not begin the change in time: it is not made", "try again"))
            }
            Outcome::Gone => Err(ended()),
        }
    }
}

fn ended() -> Refused {
    Refused::because("the run has ended", "start it again to change it")
}
