//! Thread that owns a router's [`Control`]: it answers on the socket, ends trials in time, and sends signs of
//! life.

mod captures;
mod clients;
mod notices;
mod reading;
mod sufferers;

use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use lockgate_measure::figures::count;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::captures::Captures;
use self::clients::{Clients, Sent};
use self::notices::Notices;
use self::reading::{Order, Purpose, Reading};
use self::sufferers::Sufferers;
use super::alerts::{Alerts, Notice};
use super::claim::{Boot, Claim, UnusedFile, remove_socket};
use super::directories::SOCKET;
use super::draft::Draft;
use super::line_log::LineLogs;
use super::notify::Notifier;
use super::protocol::{Answer, Changed, Refusal, Request, Status};
use super::rates::RateKeeper;
use super::state::{Change, Control, Reversal, Stamp};
use super::store::{Store, StoreError};
use super::{Engine, NotedPolicy};

/// Function that takes each event for the log, which [`line()`] formats. It must not block: trials end on the
/// thread that calls it.
pub type Log = Box<dyn FnMut(&str) + Send>;

/// Router whose control does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The policy that it runs cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The socket cannot be opened.
    #[error("cannot open the socket `{}`: {why}", path.display())]
    Socket {
        /// Path of the socket.
        path: PathBuf,
        /// Error of the system.
        why: io::Error,
    },
    /// The thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

impl StartError {
    /// Returns the remedy.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Store(error) => error.help(),
            Self::Socket { why, .. } if why.kind() == io::ErrorKind::AlreadyExists => {
                "remove the file if it is not needed, or name another directory with --state"
            }
            Self::Socket { .. } => {
                "name another directory, with a path of less than 100 letters, with --state"
            }
            Self::Thread(_) => "the system has no room for a thread; end other programs",
        }
    }
}

/// Running control of a router.
#[derive(Debug)]
pub struct Server<E> {
    thread: JoinHandle<E>,
    /// End of a pair of sockets; the thread ends when it is closed.
    wake: UnixStream,
}

impl<E: Engine + Send + 'static> Server<E> {
    /// Starts the control of an engine that runs the policy of `boot`. Events go to `log`.
    ///
    /// # Errors
    /// If the policy cannot be stored, or the socket or the thread is refused.
    pub fn start(
        claim: Claim,
        boot: Boot,
        engine: E,
        notifier: Notifier,
        mut log: Log,
    ) -> Result<Self, StartError> {
        let started = (Instant::now(), Timestamp::now());
        let at = shown(started.1);
        let by = format!("{} at its start", claim.name);
        let stamp = Stamp { now: Duration::ZERO, at: &at, by: &by };
        let policy = (&*boot.origin, &*boot.text, boot.policy);
        let control = Control::start(engine, claim.store.clone(), boot.history, policy, stamp)?;
        let path = claim.runtime.join(SOCKET);
        let refused = |why| StartError::Socket { path: path.clone(), why };
        let listener = listen(&path).map_err(refused)?;
        let (wake, woken) = UnixStream::pair().map_err(refused)?;
        for note in &boot.notes {
            log(note);
        }
        let status = control.status(Duration::ZERO);
        log(&format!("runs policy {} (`{}`), pid {}", status.running, boot.origin, std::process::id()));
        let reading = Reading::start().map_err(StartError::Thread)?;
        let mut clients = Clients::default();
        let last_sample = None;
        let (alive_at, look_at) = (Duration::ZERO, Duration::ZERO);
        let (notices, rates) = (Notices::new(), RateKeeper::new(&claim.store));
        let (sufferers, alerts, alerts_of) = (Sufferers::default(), Alerts::default(), None);
        let mut serving = Serving {
            claim,
            control,
            notifier,
            log,
            reading,
            started,
            path,
            last_sample,
            alive_at,
            sufferers,
            look_at,
            alerts,
            alerts_of,
            notices,
            captures: Captures::default(),
            rates,
            lines: LineLogs::default(),
            unused: boot.unused,
        };
        let serve = move || {
            serving.notifier.ready();
            serving.show();
            serving.serve(&listener, &woken, &mut clients);
            serving.end()
        };
        let thread =
            thread::Builder::new().name("control".to_owned()).spawn(serve).map_err(StartError::Thread)?;
        Ok(Self { thread, wake })
    }

    /// Ends the control and returns the engine. A policy on trial is reverted at the next start.
    pub fn stop(self) -> E {
        drop(self.wake);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Opens the socket for the present user alone. It replaces a socket whose router is gone, which is safe
/// because the name is claimed.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let aside = path.with_extension("new");
    remove_socket(&aside)?;
    remove_socket(path)?;
    let listener = UnixListener::bind(&aside)?;
    fs::set_permissions(&aside, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    fs::rename(&aside, path)?;
    Ok(listener)
}

/// State of the thread.
struct Serving<E> {
    claim: Claim,
    control: Control<E, Store>,
    notifier: Notifier,
    log: Log,
    reading: Reading,
    started: (Instant, Timestamp),
    path: PathBuf,
    /// Number of the newest sample at the last sign of life.
    last_sample: Option<u64>,
    /// Time of the next sign of life.
    alive_at: Duration,
    /// Queues that hurt, for the log, and the time of the next look at them.
    sufferers: Sufferers,
    look_at: Duration,
    /// Alerts of the policy of this number.
    alerts: Alerts,
    alerts_of: Option<u64>,
    notices: Notices,
    captures: Captures,
    rates: RateKeeper,
    lines: LineLogs,
    /// The file of the start, if another policy was started.
    unused: Option<UnusedFile>,
}

/// Time after the start within which a router may have no sample: twice the longest interval of samples, and
/// as much again on a busy machine.
const FIRST_SAMPLE: Duration = Duration::from_secs(8);

/// True if the number of the newest sample shows that the router works, this time after its start.
fn has_advanced(before: Option<u64>, newest: Option<u64>, now: Duration) -> bool {
    if newest.is_none() { now < FIRST_SAMPLE } else { newest != before }
}

/// Interval of looks at the queues for the log.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl<E: Engine> Serving<E> {
    fn now(&self) -> Duration {
        self.started.0.elapsed()
    }

    fn serve(&mut self, listener: &UnixListener, woken: &UnixStream, clients: &mut Clients) {
        loop {
            if let Some(reversal) = self.control.tick(self.now()) {
                self.reverted(&reversal);
            }
            self.give_sign_of_life();
            self.look();
            clients.drop_late(Instant::now());
            let mut events = vec![
                PollFd::new(woken, PollFlags::IN),
                PollFd::new(listener, PollFlags::IN),
                PollFd::new(&self.reading.woken, PollFlags::IN),
            ];
            events.extend(clients.streams().map(|(stream, flags)| PollFd::from_borrowed_fd(stream, flags)));
            let timeout = self.timeout(clients);
            match poll(&mut events, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                // If poll fails: no busy loop, and trials still end in time.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
            let ready: Vec<bool> = events.iter().map(|event| !event.revents().is_empty()).collect();
            drop(events);
            if ready[0] && is_closed(woken) {
                return;
            }
            clients.exchange(&ready[3..], &mut |request| self.answer(request));
            while let Some((order, draft)) = self.reading.next() {
                self.finish(&order, draft, clients);
            }
            if ready[1] {
                clients.accept(listener);
            }
        }
    }

    /// Returns the time until something is due; `None`: nothing is.
    fn timeout(&self, clients: &Clients) -> Option<Timespec> {
        if clients.have_requests() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let now = self.now();
        let alive = self.notifier.watchdog_interval().map(|_| self.alive_at.saturating_sub(now));
        let look = Some(self.look_at.saturating_sub(now));
        let due = [self.control.wake_after(now), clients.late_after(Instant::now()), alive, look];
        let least = due.into_iter().flatten().min()?;
        let seconds = least.as_secs().min(3600).cast_signed();
        Some(Timespec { tv_sec: seconds, tv_nsec: i64::from(least.subsec_nanos()) })
    }

    /// Tells the service manager that the router works, as long as its samples advance.
    fn give_sign_of_life(&mut self) {
        let Some(interval) = self.notifier.watchdog_interval() else { return };
        let now = self.now();
        if now < self.alive_at {
            return;
        }
        self.alive_at = now + interval;
        let newest = self.control.engine().sample().map(|sample| sample.number);
        if has_advanced(self.last_sample, newest, now) {
            self.notifier.alive();
        }
        self.last_sample = newest;
    }

    /// Logs which queues hurt, and which no longer do.
    fn look(&mut self) {
        let now = self.now();
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_INTERVAL;
        self.captures.end_unread(now);
        let Some(sample) = self.control.engine().sample() else { return };
        if let Some(message) = self.sufferers.observe(&sample, now) {
            self.log(&message);
        }
        let mut words = self.rates.observe(&sample, &self.claim.store, now);
        words.extend(self.lines.observe(&sample, &self.claim.store));
        for words in &words {
            self.log(words);
        }
        let notices = self.alerts.observe(&sample, now);
        if !notices.is_empty() {
            self.note_policy();
        }
        for (alert, notice) in notices {
            let notice = Notice { router: self.claim.name.clone(), at: shown(Timestamp::now()), ..notice };
            self.log(&notice.line());
            let has_action = alert.webhook.is_some() || !alert.command.is_empty();
            if has_action && !self.notices.submit(&alert, &notice) {
                self.log("too many notices of alerts wait: this one is in the log alone");
            }
        }
        let failures: Vec<String> = self.notices.failures().collect();
        for failure in failures {
            self.log(&failure);
        }
    }

    /// Returns the newest sample, if it is later than the one with number `after`.
    fn sample(&mut self, after: Option<u64>) -> Answer {
        let sample = self.control.engine().sample();
        Answer::Sample(sample.filter(|sample| after.is_none_or(|after| sample.number > after)).map(Box::new))
    }

    /// Answers a request; `None`: [`finish`](Self::finish) does, once its policy has been read.
    fn answer(&mut self, sent: Sent<'_>) -> Option<Answer> {
        self.end_late_trial();
        let request = match Request::read(sent.line) {
            Ok(request) => request,
            Err(refusal) => return Some(Answer::Refused(refusal)),
        };
        let (what, done) = match request {
            Request::Status {} => return Some(Answer::Status(Box::new(self.status()))),
            Request::Sample { after } => return Some(self.sample(after)),
            Request::Capture { port, filter } => {
                let begun =
                    self.captures.start(self.control.engine(), &port, &filter, self.started.0.elapsed());
                return Some(begun.unwrap_or_else(Answer::Refused));
            }
            Request::Captured { end } => return Some(self.captures.read(self.now(), end)),
            Request::Apply { origin, policy, confirm_within_ms, revert_if, dry_run } => {
                let confirm_within = confirm_within_ms.map(Duration::from_millis);
                self.read(sent, Purpose::Apply { confirm_within, revert_if, dry_run }, origin, policy);
                return None;
            }
            Request::Confirm {} => ("confirm", self.confirm(sent.by)),
            Request::Rollback { steps } => match self.control.older(steps) {
                Ok(Some((origin, text))) => {
                    self.read(sent, Purpose::Rollback, origin, text);
                    return None;
                }
                Ok(None) => ("rollback", self.rollback(None, sent.by)),
                Err(refusal) => ("rollback", Err(refusal)),
            },
        };
        Some(self.answered(what, sent.by, done))
    }

    /// Has the policy of a request read.
    fn read(&mut self, sent: Sent<'_>, purpose: Purpose, origin: String, text: String) {
        self.reading.submit(Order { ticket: sent.ticket, by: sent.by.to_owned(), purpose }, origin, text);
    }

    /// Carries out a change whose policy has been read, also if its connection has ended meanwhile: the line
    /// on which it came may be one that the change cuts.
    fn finish(&mut self, order: &Order, draft: Result<Draft, Refusal>, clients: &mut Clients) {
        self.end_late_trial();
        let (what, done) = match &order.purpose {
            Purpose::Rollback => ("rollback", draft.and_then(|draft| self.rollback(Some(&draft), &order.by))),
            Purpose::Apply { confirm_within, revert_if, dry_run } => {
                let done = draft.and_then(|draft| {
                    let (draft, revert_if) = (&draft, revert_if.as_deref());
                    let change = Change { draft, confirm_within: *confirm_within, revert_if };
                    self.apply(change, *dry_run, &order.by)
                });
                (if *dry_run { "" } else { "apply" }, done)
            }
        };
        let answer = self.answered(what, &order.by, done);
        clients.complete(order.ticket, &answer);
    }

    /// Turns the outcome of a request into its answer, and logs a refused change; `what` is empty for another
    /// request.
    fn answered(&mut self, what: &str, by: &str, done: Result<Answer, Refusal>) -> Answer {
        done.unwrap_or_else(|refusal| {
            if !what.is_empty() {
                self.log(&format!("{what} refused: {}; by {by}", refusal.message));
            }
            Answer::Refused(refusal)
        })
    }

    /// Ends a trial whose time has passed before a request is carried out that arrived later.
    fn end_late_trial(&mut self) {
        if let Some(reversal) = self.control.tick(self.now()) {
            self.reverted(&reversal);
        }
    }

    fn apply(&mut self, change: Change<'_>, is_dry_run: bool, by: &str) -> Result<Answer, Refusal> {
        if is_dry_run {
            return Ok(Answer::Difference(self.control.compare(change)?));
        }
        let now = self.now();
        let before = self.control.status(now).running;
        let at = shown(Timestamp::now());
        let changed = dated(self.control.apply(change, Stamp { now, at: &at, by })?);
        if changed.number != before {
            self.control.begin_trial(self.now());
            self.changed("applied", &changed, by);
        }
        Ok(Answer::Changed(changed))
    }

    fn confirm(&mut self, by: &str) -> Result<Answer, Refusal> {
        let number = self.control.confirm(self.now())?;
        self.log(&format!("policy {number} confirmed by {by}"));
        self.show();
        Ok(Answer::Confirmed { number })
    }

    fn rollback(&mut self, older: Option<&Draft>, by: &str) -> Result<Answer, Refusal> {
        let at = shown(Timestamp::now());
        let changed = self.control.rollback(older, Stamp { now: self.now(), at: &at, by })?;
        self.changed("rolled back to", &changed, by);
        Ok(Answer::Changed(changed))
    }

    fn status(&self) -> Status {
        let mut status = self.control.status(self.now());
        status.router.clone_from(&self.claim.name);
        status.pid = std::process::id();
        status.since = shown(self.started.1);
        status.alerts = self.alerts.firing().map(str::to_owned).collect();
        let running = status.history.iter().find(|entry| entry.number == status.running);
        let runs = |file: &UnusedFile| {
            let is_applied = running.is_some_and(|running| running.origin == file.origin);
            file.text == status.policy || is_applied && status.running != file.instead_of
        };
        if let Some(file) = self.unused.as_ref().filter(|file| !runs(file)) {
            status.unused_file.clone_from(&file.sentence);
        }
        if let Some(trial) = &mut status.trial {
            trial.until = after(trial.left_ms);
        }
        status
    }

    fn changed(&mut self, what: &str, changed: &Changed, by: &str) {
        let mut text = format!(
            "{what} policy {} (`{}`), by {by}: {} added, {} removed, {} moved, {} forced out",
            changed.number,
            changed.origin,
            count(changed.added as u64, "line"),
            changed.removed,
            count(changed.applied.moved_packets, "packet"),
            changed.applied.forced_out_packets
        );
        if let Some(trial) = &changed.trial {
            let _ = write!(text, "; reverted at {} unless confirmed", trial.until);
            if let Some(condition) = &trial.revert_if {
                let _ = write!(text, ", or if `{condition}`");
            }
        }
        self.log(&text);
        self.show();
    }

    fn reverted(&mut self, reversal: &Reversal) {
        let Reversal { number, why, outcome, unstored } = reversal;
        match outcome {
            Ok((back, applied)) => self.log(&format!(
                "reverted policy {number} to {back}: {why}; {} moved, {} forced out",
                count(applied.moved_packets, "packet"),
                applied.forced_out_packets
            )),
            Err(problem) => self.log(&format!(
                "ERROR: policy {number} is to be reverted ({why}), and this failed: {problem}. It goes on running, \
                 unconfirmed: `lockgate rollback` tries again, a restart of the router starts the last confirmed policy"
            )),
        }
        if let Some(problem) = unstored {
            self.log(&format!(
                "ERROR: the reversal cannot be stored: {problem}; it is tried again each 10 s, and by the next start"
            ));
        }
        self.show();
    }

    /// Shows the policy and the alerts that fire in the samples. Returns the state.
    fn note_policy(&mut self) -> Status {
        let status = self.status();
        self.control.engine().note_policy(NotedPolicy {
            number: status.running,
            is_on_trial: status.trial.is_some(),
            reverts_at: status
                .trial
                .as_ref()
                .map(|trial| Instant::now() + Duration::from_millis(trial.left_ms)),
            alerts: status.alerts.clone(),
        });
        status
    }

    /// Shows the state to the service manager and in the samples.
    fn show(&mut self) {
        let status = self.note_policy();
        if self.alerts_of != Some(status.running) {
            self.alerts_of = Some(status.running);
            self.alerts.replace(&self.control.policy().alerts);
        }
        let state = match &status.trial {
            _ if !status.stranded.is_empty() => "unconfirmed, cannot go back".to_owned(),
            Some(trial) => format!("on trial until {}", trial.until),
            None => "confirmed".to_owned(),
        };
        let file = if status.unused_file.is_empty() { "" } else { "; the file of the start does NOT run" };
        self.notifier.status(&format!("policy {}, {state}{file}", status.running));
    }

    fn log(&mut self, text: &str) {
        (self.log)(text);
    }

    fn end(mut self) -> E {
        self.notifier.stopping();
        if let Some(sample) = self.control.engine().sample()
            && let Some(words) = self.rates.end(&sample, &self.claim.store)
        {
            self.log(&words);
        }
        let on_trial = self.control.status(self.now()).trial.is_some();
        self.log(if on_trial { "stops; the policy on trial is reverted at the next start" } else { "stops" });
        // The next router with this name removes it, if it stays.
        let _ = remove_socket(&self.path);
        self.control.into_engine()
    }
}

/// True if the other end of the pair is closed, which ends the thread.
fn is_closed(mut woken: &UnixStream) -> bool {
    !matches!(woken.read(&mut [0; 1]), Ok(1..))
}

/// Formats a line of the log: time, router, event.
pub fn line(name: &str, text: &str) -> String {
    let text = lockgate_scenario::diagnostic::visible(text);
    format!("{} {name}: {}", shown(Timestamp::now()), text.replace('\n', " "))
}

/// Formats a time to the second.
fn shown(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// Adds the wall-clock end of its trial to a change.
fn dated(mut changed: Changed) -> Changed {
    if let Some(trial) = &mut changed.trial {
        trial.until = after(trial.left_ms);
    }
    changed
}

/// Formats the wall-clock time some milliseconds from now.
fn after(milliseconds: u64) -> String {
    let left = jiff::SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or(i64::MAX));
    Timestamp::now().checked_add(left).map(shown).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_works_while_its_samples_advance_and_without_one_only_at_its_start() {
        let (early, late) = (Duration::from_secs(1), FIRST_SAMPLE);
        assert!(has_advanced(None, None, early) && has_advanced(None, Some(1), early));
        assert!(!has_advanced(None, None, late), "it has never had one");
        assert!(has_advanced(Some(1), Some(2), late) && !has_advanced(Some(2), Some(2), late));
    }
}
