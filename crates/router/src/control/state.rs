//! State machine of a router's policy. Time is an argument.
//!
//! ```text
//! state       leaves by                                                     to
//! Confirmed   apply on trial                                                Trial
//!             apply, rollback                                               Confirmed
//!             a change that can be neither stored nor undone                Unrecorded
//! Trial       confirm, rollback; deadline or condition: the policy goes     Confirmed
//!             deadline or condition, and the engine refuses to go back      Unreverted
//!             a rollback that can be neither stored nor undone              Unrecorded
//! Unreverted  confirm (the policy stays), rollback (the policy goes)        Confirmed
//!             a rollback that can be neither stored nor undone              Unrecorded
//! Unrecorded  rollback                                                      Confirmed
//! ```
//!
//! In `Unreverted` the engine runs a policy of the history, the one that was on trial; in `Unrecorded` one
//! that no history has, so that a confirmation would name another. Apply is refused in both, and in `Trial`.
//!
//! There is at most one trial: an apply during a trial is refused. A reversal therefore always leads back to
//! the last confirmed policy (decision 093).

use std::sync::Arc;
use std::time::Duration;

use lockgate_scenario::Policy;
use lockgate_scenario::condition::{Condition, ConditionError, Watch};

use super::difference::Difference;
use super::draft::Draft;
use super::history::{History, Outcome, Revision};
use super::protocol::{Changed, Entry, Refusal, Status, TrialStatus};
use super::store::{Storage, StoreError};
use super::{Applied, Engine, Misfit};

/// Length of a trial that has a condition but no time to confirm in.
pub const DEFAULT_TRIAL: Duration = Duration::from_mins(10);

/// Shortest and longest trial.
pub const TRIAL_RANGE: core::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_hours(7 * 24);

/// Interval at which the condition of a trial is evaluated.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Time after which a history that could not be stored is stored again.
const STORE_AGAIN: Duration = Duration::from_secs(10);

/// Time and author of an event.
#[derive(Clone, Copy, Debug)]
pub struct Stamp<'a> {
    /// Monotonic time since some fixed instant.
    pub now: Duration,
    /// Wall-clock time, as in RFC 3339.
    pub at: &'a str,
    /// Author.
    pub by: &'a str,
}

/// Requested change of policy.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Policy.
    pub draft: &'a Draft,
    /// Length of the trial; `None`: no trial, unless it has a condition.
    pub confirm_within: Option<Duration>,
    /// Condition that ends the trial.
    pub revert_if: Option<&'a str>,
}

/// Policy that has been read.
#[derive(Clone)]
struct Known {
    /// Number in the history.
    number: u64,
    text: Arc<str>,
    origin: String,
    policy: Arc<Policy>,
}

enum State {
    /// The last confirmed policy runs.
    Confirmed,
    /// Another policy runs, until it is confirmed or reverted.
    Trial(Trial),
    /// The policy that was on trial runs, because the engine refused the last confirmed one.
    Unreverted(String),
    /// A policy runs that is not in the history: it could be neither stored nor undone.
    Unrecorded(String),
}

struct Trial {
    within: Duration,
    deadline: Duration,
    watch: Option<Watch>,
}

/// End of a trial without a confirmation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reversal {
    /// Number of the policy that was on trial.
    pub number: u64,
    /// Reason.
    pub why: String,
    /// Number of the policy that runs now, and the effect of the change; or the failure of the change.
    pub outcome: Result<(u64, Applied), String>,
    /// Failure to store the reversal. It is stored again later, and the next start makes up for it.
    pub unstored: Option<String>,
}

/// Policies of one running router.
pub struct Control<E, S> {
    engine: E,
    storage: S,
    history: History,
    running: Known,
    /// The last confirmed policy: to go back to it takes no reading of its text, which may last for seconds.
    confirmed: Known,
    state: State,
    /// Time at which the history is stored again: the storage has a trial that has ended, or never ran.
    store_again_at: Option<Duration>,
}

impl<E: Engine, S: Storage> Control<E, S> {
    /// Takes over an engine that runs `policy`, whose text was read from `origin`. Without a confirmed policy
    /// of this text, it becomes the confirmed one.
    ///
    /// # Errors
    /// If the policy cannot be stored.
    pub fn start(
        engine: E,
        storage: S,
        history: History,
        (origin, text, policy): (&str, &str, Policy),
        stamp: Stamp<'_>,
    ) -> Result<Self, StoreError> {
        let policy = Arc::new(policy);
        let known = Known { number: 0, text: text.into(), origin: origin.to_owned(), policy };
        let (running, confirmed, state) = (known.clone(), known, State::Confirmed);
        let mut control = Self { engine, storage, history, running, confirmed, state, store_again_at: None };
        if let Some(confirmed) = control.history.confirmed().filter(|confirmed| confirmed.text == text) {
            control.running.number = confirmed.number;
            control.running.origin.clone_from(&confirmed.origin);
            control.confirmed = control.running.clone();
            return Ok(control);
        }
        let before = control.history.confirmed();
        let before = before.map_or(("", ""), |before| (&*before.origin, &*before.text));
        let difference = Difference::new(before, (origin, text));
        let mut history = control.history.clone();
        let first = revision(origin, text, difference.text, Outcome::Confirmed, stamp);
        control.running.number = history.push(first);
        control.storage.save(&history)?;
        control.history = history;
        control.confirmed = control.running.clone();
        Ok(control)
    }

    /// Changes the policy: on trial if the change has a time to confirm in or a condition, else confirmed.
    ///
    /// # Errors
    /// If another is on trial, the text is not a policy, the policy does not fit the running router, the
    /// condition cannot be watched, or the change cannot be stored. Nothing is changed then.
    pub fn apply(&mut self, change: Change<'_>, stamp: Stamp<'_>) -> Result<Changed, Refusal> {
        self.is_free()?;
        let Draft { origin, text, policy } = change.draft;
        let (difference, mut changed) = self.prepare(origin, text, policy)?;
        let condition = change.revert_if.map(|text| read_condition(text, policy)).transpose()?;
        let within = change.confirm_within.or(condition.as_ref().map(|_| DEFAULT_TRIAL));
        if let Some(within) = within.filter(|within| !TRIAL_RANGE.contains(within)) {
            let message = format!("{} ms is not a time to confirm in", within.as_millis());
            return Err(Refusal::usage(message, "it is from 1s to 168h"));
        }
        if difference.text.is_empty() && **text == *self.running.text {
            return Ok(changed);
        }
        let outcome = if within.is_some() { Outcome::Trial } else { Outcome::Confirmed };
        let revision = revision(origin, text, difference.text, outcome, stamp);
        // A disk may stall for longer than a trial lasts, in which nothing would end it.
        let mut newest = None;
        let number = if within.is_some() {
            let before = self.history.clone();
            let number = self.store_trial(revision)?;
            newest = condition.as_ref().and_then(|_| self.engine.sample()).map(|sample| sample.number);
            let applied = self.engine.apply(policy);
            changed.applied = applied.map_err(|refused| self.forget_trial(before, refused, stamp.now))?;
            number
        } else {
            changed.applied = self.engine.apply(policy).map_err(misfit)?;
            self.store(revision)?
        };
        changed.number = number;
        let (text, origin) = ((**text).into(), origin.clone());
        self.running = Known { number, text, origin, policy: policy.clone() };
        if let Some(within) = within {
            let watch = condition.map(|condition| Watch::new(condition, newest));
            self.state = State::Trial(Trial { within, deadline: stamp.now.saturating_add(within), watch });
            changed.trial = self.trial(stamp.now);
        } else {
            self.confirmed = self.running.clone();
        }
        Ok(changed)
    }

    /// Counts the time of a trial from `now` on. To be called after [`apply`](Self::apply), which may take
    /// long: the policy ran only once it was stored.
    pub fn begin_trial(&mut self, now: Duration) {
        if let State::Trial(trial) = &mut self.state {
            trial.deadline = now.saturating_add(trial.within);
        }
    }

    /// Returns the effect that a change would have, and changes nothing.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), except for what only the engine or the disk can refuse.
    pub fn compare(&self, change: Change<'_>) -> Result<Changed, Refusal> {
        let Draft { origin, text, policy } = change.draft;
        let (_, changed) = self.prepare(origin, text, policy)?;
        change.revert_if.map(|text| read_condition(text, policy)).transpose()?;
        Ok(changed)
    }

    /// Confirms the policy on trial, or the one that runs because the engine refused to go back.
    ///
    /// # Errors
    /// If none is on trial, its time has passed, or the confirmation cannot be stored: the trial goes on
    /// then.
    pub fn confirm(&mut self, now: Duration) -> Result<u64, Refusal> {
        match &self.state {
            State::Confirmed => {
                let message = format!("nothing is on trial: policy {} is confirmed", self.running.number);
                return Err(Refusal::usage(
                    message,
                    "`lockgate apply FILE --confirm-within 120s` starts a trial",
                ));
            }
            State::Trial(trial) if now >= trial.deadline => {
                let message = "the time to confirm has passed: the policy is being reverted";
                return Err(Refusal::usage(message, "apply it again"));
            }
            State::Unrecorded(why) => {
                return Err(Refusal::usage(why.clone(), "`lockgate rollback` tries again to go back"));
            }
            State::Trial(_) | State::Unreverted(_) => {}
        }
        let mut history = self.history.clone();
        history.settle(self.running.number, &Outcome::Confirmed);
        self.storage.save(&history).map_err(|error| {
            Refusal::failed(
                format!("the confirmation cannot be stored: {error}"),
                "nothing has changed; make room and confirm again",
            )
        })?;
        self.history = history;
        self.state = State::Confirmed;
        self.confirmed = self.running.clone();
        Ok(self.running.number)
    }

    /// Returns origin and text of the policy that a rollback goes back to, which is read before
    /// [`rollback`](Self::rollback): the one `steps` before the last confirmed one; without `steps` 0 if
    /// another runs, else 1. `None`: the last confirmed one itself, which has been read.
    ///
    /// # Errors
    /// If there is no such policy, or it runs.
    pub fn older(&self, steps: Option<usize>) -> Result<Option<(String, String)>, Refusal> {
        let is_confirmed = matches!(self.state, State::Confirmed);
        let steps = steps.unwrap_or(usize::from(is_confirmed));
        if steps == 0 {
            return if is_confirmed { Err(self.runs_already()) } else { Ok(None) };
        }
        let Some(target) = self.history.back(steps) else {
            let kept = self.history.newest_first().filter(|one| one.outcome == Outcome::Confirmed).count();
            let message = format!("there is no policy {steps} before the last confirmed one");
            return Err(Refusal::usage(
                message,
                format!("{} are kept; `lockgate status` lists them", kept.saturating_sub(1)),
            ));
        };
        Ok(Some((format!("rollback to {}", target.number), target.text.clone())))
    }

    fn runs_already(&self) -> Refusal {
        let message = format!("policy {} is confirmed and runs", self.running.number);
        Refusal::usage(message, "`lockgate rollback 1` goes to the one before it")
    }

    /// Goes back to a policy of [`older`](Self::older), or to the last confirmed one.
    ///
    /// # Errors
    /// If the last confirmed one runs, the engine refuses the policy, or it cannot be stored. Nothing is
    /// changed then.
    pub fn rollback(&mut self, older: Option<&Draft>, stamp: Stamp<'_>) -> Result<Changed, Refusal> {
        if older.is_none() && matches!(self.state, State::Confirmed) {
            return Err(self.runs_already());
        }
        let mut target = match older {
            None => self.confirmed.clone(),
            Some(Draft { origin, text, policy }) => {
                let (text, origin) = ((**text).into(), origin.clone());
                Known { number: 0, text, origin, policy: policy.clone() }
            }
        };
        let (difference, mut changed) = self.prepare(&target.origin, &target.text, &target.policy)?;
        changed.applied = self.engine.apply(&target.policy).map_err(misfit)?;
        let mut history = self.history.clone();
        if self.is_on_trial() {
            history.settle(self.running.number, &Outcome::Reverted(format!("rolled back by {}", stamp.by)));
        }
        if older.is_some() {
            let Known { origin, text, .. } = &target;
            target.number = history.push(revision(origin, text, difference.text, Outcome::Confirmed, stamp));
        }
        let saved = self.storage.save(&history);
        if let Err(error) = saved {
            if older.is_some() {
                return Err(self.put_back(&error));
            }
            // The next start reverts the trial by itself.
            self.store_again_at = Some(stamp.now.saturating_add(STORE_AGAIN));
            changed.warnings.push(format!("the rollback cannot be stored: {error}"));
        }
        self.history = history;
        self.state = State::Confirmed;
        changed.number = target.number;
        self.running = target.clone();
        self.confirmed = target;
        Ok(changed)
    }

    /// Ends the trial if its time has passed or its condition is met, and stores again what could not be
    /// stored. To be called at [`wake_after`](Self::wake_after).
    pub fn tick(&mut self, now: Duration) -> Option<Reversal> {
        let reversal = self.end_trial(now);
        // A reversal comes first, and stores all.
        if self.store_again_at.is_some_and(|at| now >= at) {
            let stored = self.storage.save(&self.history);
            self.store_again_at = stored.is_err().then(|| now.saturating_add(STORE_AGAIN));
        }
        reversal
    }

    fn end_trial(&mut self, now: Duration) -> Option<Reversal> {
        let State::Trial(trial) = &mut self.state else { return None };
        let why = if now >= trial.deadline {
            "it was not confirmed in time".to_owned()
        } else {
            let watch = trial.watch.as_mut()?;
            let sample = self.engine.sample()?;
            watch.observe(&sample, now)?
        };
        Some(self.revert(why, now))
    }

    /// Returns the time until the next call of [`tick`](Self::tick) is due; `None`: no trial, and all is
    /// stored.
    pub fn wake_after(&self, now: Duration) -> Option<Duration> {
        let trial = match &self.state {
            State::Trial(Trial { deadline, watch, .. }) => {
                let left = deadline.saturating_sub(now);
                Some(if watch.is_some() { left.min(WATCH_INTERVAL) } else { left })
            }
            _ => None,
        };
        let again = self.store_again_at.map(|at| at.saturating_sub(now));
        trial.into_iter().chain(again).min()
    }

    /// Returns the state; name, process and wall-clock times are left to the caller.
    pub fn status(&self, now: Duration) -> Status {
        let policy = &self.running.policy;
        let mut confirmed = 0..;
        let entry = |revision: &Revision| {
            let (outcome, why) = match &revision.outcome {
                Outcome::Trial => ("trial", ""),
                Outcome::Confirmed => ("confirmed", ""),
                Outcome::Reverted(why) => ("reverted", &**why),
            };
            let is_confirmed = revision.outcome == Outcome::Confirmed;
            Entry {
                number: revision.number,
                steps: is_confirmed.then(|| confirmed.next()).flatten(),
                outcome: outcome.to_owned(),
                why: why.to_owned(),
                origin: revision.origin.clone(),
                at: revision.at.clone(),
                by: revision.by.clone(),
                difference: revision.difference.clone(),
            }
        };
        Status {
            mode: policy.mode.name().to_owned(),
            interfaces: policy.interfaces.iter().map(|one| (one.role.clone(), one.name.clone())).collect(),
            running: self.running.number,
            trial: self.trial(now),
            stranded: match &self.state {
                State::Unreverted(why) | State::Unrecorded(why) => why.clone(),
                State::Confirmed | State::Trial(_) => String::new(),
            },
            bypass: self.engine.bypass(),
            losses: self.engine.losses(),
            priority: self.engine.priority(),
            hosts: self.engine.hosts(),
            history: self.history.newest_first().map(entry).collect(),
            policy: self.running.text.to_string(),
            ..Status::default()
        }
    }

    /// Returns the policy that runs.
    pub fn policy(&self) -> &Policy {
        &self.running.policy
    }

    /// Returns the engine.
    pub fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Returns the engine and ends the control. A trial is left to the next start, which reverts it.
    pub fn into_engine(mut self) -> E {
        if self.store_again_at.is_some() {
            // Whoever ended the trial was told that this may fail.
            let _ = self.storage.save(&self.history);
        }
        self.engine
    }

    fn trial(&self, now: Duration) -> Option<TrialStatus> {
        let State::Trial(trial) = &self.state else { return None };
        let left = trial.deadline.saturating_sub(now);
        Some(TrialStatus {
            left_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            until: String::new(),
            revert_if: trial.watch.as_ref().map(|watch| watch.condition().text().to_owned()),
        })
    }

    /// Returns true if the policy that runs is neither confirmed nor reverted.
    fn is_on_trial(&self) -> bool {
        let revision = self.history.get(self.running.number);
        revision.is_some_and(|revision| revision.outcome == Outcome::Trial)
    }

    /// Refuses a change while the policy that runs is not confirmed.
    fn is_free(&self) -> Result<(), Refusal> {
        let number = self.running.number;
        let author = self.history.get(number).map_or("", |revision| &*revision.by);
        match &self.state {
            State::Confirmed => Ok(()),
            State::Trial(_) => Err(Refusal::usage(
                format!("policy {number} ({}) is on trial, by {author}", self.running.origin),
                "`lockgate confirm` keeps it, `lockgate rollback` ends it",
            )),
            State::Unreverted(why) => Err(Refusal::usage(
                format!("policy {number} runs although it is not confirmed: {why}"),
                "`lockgate confirm` keeps it, `lockgate rollback` tries again to go back",
            )),
            State::Unrecorded(why) => Err(Refusal::usage(
                format!("a policy runs that is not stored: {why}"),
                "`lockgate rollback` tries again to go back; a restart of the router starts the last confirmed one",
            )),
        }
    }

    /// Compares a policy with the one that runs.
    fn prepare(&self, origin: &str, text: &str, policy: &Policy) -> Result<(Difference, Changed), Refusal> {
        fits(&self.running.policy, policy).map_err(misfit)?;
        let before = format!("{} (policy {})", self.running.origin, self.running.number);
        let difference = Difference::new((&before, &self.running.text), (origin, text));
        let changed = Changed {
            number: self.running.number,
            origin: origin.to_owned(),
            difference: difference.text.clone(),
            added: difference.added,
            removed: difference.removed,
            warnings: policy.warnings.iter().map(ToString::to_string).collect(),
            ..Changed::default()
        };
        Ok((difference, changed))
    }

    /// Stores a policy that the engine runs already. Puts the engine back if that fails.
    fn store(&mut self, revision: Revision) -> Result<u64, Refusal> {
        let mut history = self.history.clone();
        let number = history.push(revision);
        if let Err(error) = self.storage.save(&history) {
            return Err(self.put_back(&error));
        }
        self.history = history;
        Ok(number)
    }

    /// Stores a policy before the engine runs it. If the router ends in between, the next start reverts it.
    fn store_trial(&mut self, revision: Revision) -> Result<u64, Refusal> {
        let mut history = self.history.clone();
        let number = history.push(revision);
        self.storage.save(&history).map_err(|error| {
            let message = format!("the change cannot be stored, and is not made: {error}");
            Refusal::failed(message, "make room or mend the state directory, then apply it again")
        })?;
        self.history = history;
        Ok(number)
    }

    /// Removes the trial that is stored, because the engine refused it. If that fails, it is tried again, and
    /// marked as refused for the next start, which takes a stored trial for a policy that ran.
    fn forget_trial(&mut self, before: History, refused: Misfit, now: Duration) -> Refusal {
        let number =
            core::mem::replace(&mut self.history, before).newest_first().next().map(|one| one.number);
        let mut refusal = misfit(refused);
        if let Err(error) = self.storage.save(&self.history) {
            if let Some(number) = number {
                self.storage.mark_refused(number);
            }
            self.store_again_at = Some(now.saturating_add(STORE_AGAIN));
            refusal.message =
                format!("{}; and it cannot be removed from the history: {error}", refusal.message);
            let again = "; make room or mend the state directory: the router tries it again each 10 s";
            refusal.help.push_str(again);
        }
        refusal
    }

    /// Returns the engine to the policy that ran before a change that cannot be stored.
    fn put_back(&mut self, error: &StoreError) -> Refusal {
        let message = format!("the change cannot be stored, and is undone: {error}");
        match self.engine.apply(&self.running.policy) {
            Ok(_) => Refusal::failed(message, "make room or mend the state directory, then apply it again"),
            Err(misfit) => {
                self.state = State::Unrecorded(format!("a change could not be undone: {misfit}"));
                let message =
                    format!("the change cannot be stored ({error}), and cannot be undone ({misfit})");
                Refusal::failed(message, "the router runs a policy that is not stored: restart it")
            }
        }
    }

    /// Goes back to the last confirmed policy.
    fn revert(&mut self, why: String, now: Duration) -> Reversal {
        let number = self.running.number;
        let applied = match self.engine.apply(&self.confirmed.policy) {
            Ok(applied) => applied,
            Err(misfit) => {
                let problem = misfit.to_string();
                self.state = State::Unreverted(format!("{why}, and the router cannot go back: {problem}"));
                return Reversal { number, why, outcome: Err(problem), unstored: None };
            }
        };
        self.history.settle(number, &Outcome::Reverted(why.clone()));
        let unstored = self.storage.save(&self.history).err().map(|error| error.to_string());
        self.store_again_at = unstored.is_some().then(|| now.saturating_add(STORE_AGAIN));
        self.state = State::Confirmed;
        self.running = self.confirmed.clone();
        Reversal { number, why, outcome: Ok((self.running.number, applied)), unstored }
    }
}

/// Checks that a policy can replace `running` without a restart.
///
/// # Errors
/// Returns the first part that only a restart changes.
pub fn fits(running: &Policy, new: &Policy) -> Result<(), Misfit> {
    let Some(problem) = new.needs_restart(running) else { return Ok(()) };
    let help = "stop the router and start it with `lockgate route FILE --fresh`".to_owned();
    Err(Misfit { problem, help })
}

fn misfit(misfit: Misfit) -> Refusal {
    Refusal::usage(misfit.problem, misfit.help)
}

fn read_condition(text: &str, policy: &Policy) -> Result<Condition, Refusal> {
    let condition = Condition::parse(text).and_then(|condition| {
        condition.check(policy.trees())?;
        Ok(condition)
    });
    condition
        .map_err(|ConditionError { problem, help }| Refusal::usage(format!("--revert-if: {problem}"), help))
}

fn revision(origin: &str, text: &str, difference: String, outcome: Outcome, stamp: Stamp<'_>) -> Revision {
    Revision {
        number: 0,
        origin: origin.to_owned(),
        text: text.to_owned(),
        at: stamp.at.to_owned(),
        by: stamp.by.to_owned(),
        difference,
        outcome,
    }
}

#[cfg(test)]
mod tests;
