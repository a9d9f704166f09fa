//! The laws of the state machine: after any events and kills the running policy is the one on trial or the
//! last confirmed.

use std::cell::RefCell;
use std::rc::Rc;

use lockgate_measure::monitor::{PortSample, QueueSample, Sample};
use lockgate_scenario::read_policy;

use super::*;

/// Policy of this title and rate.
fn text(number: u64) -> String {
    format!(
        "title = \"policy {number}\"\n[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n\
         [port.wan]\nrate = \"{}mbit\"\nroot = \"voice\"\nqueue.voice = {{ kind = \"fifo\" }}\n",
        number + 1
    )
}

fn title(number: u64) -> String {
    format!("policy {number}")
}

/// Engine and disk that fail on demand.
#[derive(Default)]
struct World {
    running: String,
    applies: u64,
    refuses: bool,
    /// Number of applies after which the engine refuses; 0: none.
    refuses_after: u64,
    is_full: bool,
    /// True if the disk is full once the next history is stored.
    is_full_after_save: bool,
    sample: Option<Sample>,
    stored: History,
    /// Trial of it that was marked as refused.
    refused: Option<u64>,
    /// Policy that ran when the history was stored last.
    ran_at_save: String,
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<World>>);

impl Engine for Shared {
    fn apply(&mut self, policy: &Policy) -> Result<Applied, Misfit> {
        let mut world = self.0.borrow_mut();
        if world.refuses || (world.refuses_after > 0 && world.applies >= world.refuses_after) {
            return Err(Misfit { problem: "no".to_owned(), help: "wait".to_owned() });
        }
        world.applies += 1;
        world.running.clone_from(&policy.title);
        Ok(Applied { moved_packets: world.applies, forced_out_packets: 0 })
    }

    fn sample(&mut self) -> Option<Sample> {
        self.0.borrow().sample.clone()
    }
}

impl Storage for Shared {
    fn save(&mut self, history: &History) -> Result<(), StoreError> {
        let mut world = self.0.borrow_mut();
        if world.is_full {
            let why = std::io::ErrorKind::StorageFull.into();
            return Err(StoreError::Unreachable { what: "write", path: "history".into(), why });
        }
        world.stored = history.clone();
        world.refused = None;
        world.ran_at_save = world.running.clone();
        world.is_full |= core::mem::take(&mut world.is_full_after_save);
        Ok(())
    }

    fn mark_refused(&mut self, number: u64) {
        self.0.borrow_mut().refused = Some(number);
    }
}

impl Shared {
    /// Starts a router with the stored policy, or policy 0.
    fn boot(&self) -> Control<Self, Self> {
        let mut history = self.0.borrow().stored.clone();
        self.0.borrow().refused.into_iter().for_each(|number| history.forget_trial(number));
        history.end_trials("killed");
        let text = history.confirmed().map_or_else(|| text(0), |confirmed| confirmed.text.clone());
        let policy = read_policy(&text, "boot").expect("a policy");
        self.0.borrow_mut().running.clone_from(&policy.title);
        let was_full = core::mem::take(&mut self.0.borrow_mut().is_full);
        let started = Control::start(self.clone(), self.clone(), history, ("boot", &text, policy), stamp(0));
        self.0.borrow_mut().is_full = was_full;
        started.expect("stored")
    }

    fn running(&self) -> String {
        self.0.borrow().running.clone()
    }

    /// Shows a sample in which packets waited this long.
    fn observe(&self, number: u64, sojourn_ms: f64) {
        let queue = QueueSample {
            name: "voice".to_owned(),
            sojourn_p99_s: Some(sojourn_ms / 1e3),
            ..QueueSample::default()
        };
        let port = PortSample { name: "wan".to_owned(), queues: vec![queue], ..PortSample::default() };
        self.0.borrow_mut().sample =
            Some(Sample { number, interval_s: 1.0, ports: vec![port], ..Sample::default() });
    }
}

fn stamp(milliseconds: u64) -> Stamp<'static> {
    Stamp { now: Duration::from_millis(milliseconds), at: "2026-01-01T00:00:00Z", by: "test" }
}

fn draft(text: &str) -> Draft {
    Draft::read("new.toml", text).expect("a policy")
}

fn change(draft: &Draft, confirm_within_s: Option<u64>) -> Change<'_> {
    Change { draft, confirm_within: confirm_within_s.map(Duration::from_secs), revert_if: None }
}

/// Rolls back as the server does: an older policy is read first.
fn rollback(
    control: &mut Control<Shared, Shared>,
    steps: Option<usize>,
    stamp: Stamp<'_>,
) -> Result<Changed, Refusal> {
    let older = control.older(steps)?.map(|(origin, text)| Draft::read(&origin, &text)).transpose()?;
    control.rollback(older.as_ref(), stamp)
}

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Pseudo-random numbers by a linear congruential generator (Knuth's MMIX).
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Expected state, without any of the code under test.
struct Model {
    confirmed: String,
    trial: Option<(String, u64)>,
    now: u64,
}

impl Model {
    fn expected(&self) -> &str {
        self.trial.as_ref().map_or(&self.confirmed, |(title, _)| title)
    }

    fn step(
        &mut self,
        draws: &mut Draws,
        world: &Shared,
        control: &mut Control<Shared, Shared>,
        number: u64,
    ) {
        match draws.below(10) {
            0..=2 => {
                let within = (draws.below(3) > 0).then(|| 1 + draws.below(20));
                if control.apply(change(&draft(&text(number)), within), stamp(self.now)).is_ok() {
                    match within {
                        Some(within) => self.trial = Some((title(number), self.now + within * 1000)),
                        None => self.confirmed = title(number),
                    }
                }
            }
            3 => {
                if control.confirm(at(self.now)).is_ok() {
                    self.confirmed = self.trial.take().expect("a trial").0;
                }
            }
            4 => {
                let steps = [None, Some(0), Some(1), Some(2)][draws.below(4) as usize];
                let target = {
                    let back = steps.unwrap_or(usize::from(self.trial.is_none()));
                    world.0.borrow().stored.back(back).map(|one| one.text.clone())
                };
                if rollback(control, steps, stamp(self.now)).is_ok() {
                    self.trial = None;
                    let text = target.expect("a target");
                    self.confirmed = text.split('"').nth(1).expect("a title").to_owned();
                }
            }
            5 => world.0.borrow_mut().is_full ^= true,
            6 => {
                *control = world.boot();
                self.trial = None;
            }
            _ => {
                self.now += draws.below(4000);
                control.tick(at(self.now));
                if self.trial.as_ref().is_some_and(|(_, deadline)| self.now >= *deadline) {
                    self.trial = None;
                }
            }
        }
    }
}

#[test]
fn the_running_policy_is_on_trial_or_the_last_confirmed_one() {
    let (mut trials, mut kills) = (0, 0);
    for seed in 1..=40 {
        let (mut draws, world) = (Draws(seed), Shared::default());
        let mut control = world.boot();
        let mut model = Model { confirmed: title(0), trial: None, now: 0 };
        for number in 1..=60 {
            let was_on_trial = model.trial.is_some();
            model.step(&mut draws, &world, &mut control, number);
            assert_eq!(world.running(), model.expected(), "seed {seed}, event {number}");
            let is_late = model.trial.as_ref().is_some_and(|(_, deadline)| model.now >= *deadline);
            assert!(!is_late, "seed {seed}, event {number}");
            trials += u32::from(was_on_trial);
            // A kill now: the next router runs the last confirmed policy.
            let again = world.boot();
            assert_eq!(world.running(), model.confirmed, "seed {seed}, event {number}");
            assert!(again.status(at(0)).trial.is_none());
            world.0.borrow_mut().running = model.expected().to_owned();
            kills += 1;
        }
    }
    assert!(trials > 500 && kills == 2400, "{trials} events during trials");
}

#[test]
fn a_trial_ends_at_its_deadline_and_not_before() {
    let world = Shared::default();
    let mut control = world.boot();
    let changed = control.apply(change(&draft(&text(1)), Some(120)), stamp(1_000)).expect("applied");
    assert_eq!(changed.trial.map(|trial| trial.left_ms), Some(120_000));
    assert_eq!(control.wake_after(at(1_000)), Some(Duration::from_mins(2)));
    assert_eq!(control.tick(at(120_999)), None);
    let reversal = control.tick(at(121_000)).expect("a reversal");
    assert_eq!((reversal.number, reversal.outcome.map(|(number, _)| number)), (2, Ok(1)));
    assert_eq!((world.running(), control.wake_after(at(121_000))), (title(0), None));
    assert_eq!(control.tick(at(122_000)), None, "once");
    let status = control.status(at(122_000));
    assert_eq!((status.history[0].outcome.as_str(), status.history[0].steps), ("reverted", None));
    assert_eq!(status.history[0].why, "it was not confirmed in time");
}

/// A text that takes seconds to read would hold the end of a trial as long: here it cannot be read at all.
#[test]
fn to_go_back_to_the_confirmed_policy_its_text_is_not_read() {
    let world = Shared::default();
    let unreadable = |number| format!("policy {number}, as no version reads it");
    let policy = |number| read_policy(&text(number), "").expect("a policy");
    let start = ("boot", &*unreadable(0), policy(0));
    let mut control =
        Control::start(world.clone(), world.clone(), History::default(), start, stamp(0)).expect("stored");
    for confirmed in [0, 7, 8] {
        if confirmed > 0 {
            let draft =
                Draft { text: unreadable(confirmed), policy: policy(confirmed).into(), ..draft(&text(0)) };
            // At once, and after a trial.
            control.apply(change(&draft, (confirmed == 8).then_some(5)), stamp(0)).expect("applied");
            assert_eq!(control.confirm(at(1)).is_ok(), confirmed == 8);
        }
        let running = |control: &Control<_, _>| (world.running(), control.status(at(0)).policy);
        let expected = (title(confirmed), unreadable(confirmed));
        control.apply(change(&draft(&text(1)), Some(5)), stamp(0)).expect("applied");
        let reversal = control.tick(at(5_000)).expect("a reversal");
        assert!(reversal.outcome.is_ok(), "{reversal:?}");
        assert_eq!(running(&control), expected);
        control.apply(change(&draft(&text(2)), Some(5)), stamp(0)).expect("applied");
        control.rollback(None, stamp(1)).expect("back");
        assert_eq!(running(&control), expected);
    }
}

#[test]
fn a_confirmation_after_the_deadline_is_refused() {
    let world = Shared::default();
    let mut control = world.boot();
    control.apply(change(&draft(&text(1)), Some(5)), stamp(0)).expect("applied");
    assert!(control.confirm(at(5_000)).expect_err("late").message.contains("passed"));
    assert!(control.tick(at(5_000)).is_some());
    assert!(control.confirm(at(5_001)).expect_err("nothing").message.contains("nothing is on trial"));
}

#[test]
fn one_trial_at_a_time() {
    let world = Shared::default();
    let mut control = world.boot();
    control.apply(change(&draft(&text(1)), Some(5)), stamp(0)).expect("applied");
    for within in [None, Some(5)] {
        let refusal = control.apply(change(&draft(&text(2)), within), stamp(1)).expect_err("refused");
        assert!(refusal.message.contains("on trial, by test") && refusal.help.contains("lockgate confirm"));
    }
    assert_eq!(rollback(&mut control, None, stamp(2)).expect("back").number, 1);
    assert_eq!(world.running(), title(0));
    control.apply(change(&draft(&text(2)), None), stamp(3)).expect("free again");
    assert_eq!(
        (world.running(), rollback(&mut control, None, stamp(4)).expect("back").number),
        (title(2), 4)
    );
    assert_eq!(world.running(), title(0));
    assert!(
        rollback(&mut control, Some(0), stamp(5))
            .expect_err("runs")
            .message
            .contains("is confirmed and runs")
    );
    let none = rollback(&mut control, Some(7), stamp(5)).expect_err("not kept");
    assert!(none.message.contains("no policy 7") && none.help.contains("2 are kept"), "{none:?}");
}

#[test]
fn a_condition_ends_a_trial_by_samples_of_the_new_policy_alone() {
    let world = Shared::default();
    let mut control = world.boot();
    world.observe(7, 900.0);
    let draft = draft(&text(1));
    let watched = Change { revert_if: Some("class.voice.sojourn.p99 > 50ms for 2s"), ..change(&draft, None) };
    let changed = control.apply(watched, stamp(0)).expect("applied");
    assert_eq!(changed.trial.map(|trial| trial.left_ms), Some(600_000), "ten minutes without a time");
    for (now, number, sojourn, ends) in [
        (1_000, 7, 900.0, false), // before the change
        (1_500, 8, 900.0, false), // of both policies
        (3_600, 9, 900.0, false), // met from here on
        (3_700, 10, 20.0, false), // interrupted
        (4_000, 11, 60.0, false), // met again
        (5_900, 12, 60.0, false), // for 1.9 s
        (6_000, 13, 60.0, true),
    ] {
        world.observe(number, sojourn);
        assert!(control.wake_after(at(now)).expect("a trial") <= Duration::from_millis(100));
        let reversal = control.tick(at(now));
        assert_eq!(reversal.is_some(), ends, "{now}");
        if let Some(reversal) = reversal {
            assert_eq!(reversal.why, "`class.voice.sojourn.p99 > 50ms for 2s` was met: 60.0 ms");
        }
    }
    assert_eq!(world.running(), title(0));
}

#[test]
fn a_refused_change_leaves_everything_as_it_was() {
    let world = Shared::default();
    let mut control = world.boot();
    let before = control.status(at(0));
    let other = text(1).replace("eth0", "eth1");
    let frames = text(1).replace("mode =", "frames = 8192\nmode =");
    let mode = text(1).replace("egress", "ingress");
    for (text, word) in [
        ("title = \"x\"", "no table `router`"),
        ("title = 3\n[router]", "text in quotes"),
        (&*other, "interfaces (wan = eth1)"),
        (&frames, "`frames` is 8192"),
        (&mode, "mode `ingress`"),
    ] {
        let applied =
            Draft::read("new.toml", text).and_then(|draft| control.apply(change(&draft, Some(5)), stamp(0)));
        let refusal = applied.expect_err(word);
        assert!(refusal.message.contains(word), "{refusal:?}");
    }
    let draft = draft(&text(1));
    for (condition, word) in [
        ("class.voise.drops > 1p", "did you mean `voice`?"),
        ("port.uplink.queue.voice.drops > 1p", "there are wan"),
    ] {
        let watched = Change { revert_if: Some(condition), ..change(&draft, None) };
        let refusal = control.apply(watched, stamp(0)).expect_err(condition);
        assert!(refusal.help.contains(word), "{refusal:?}");
    }
    for within in [0, 8 * 24 * 3600] {
        assert!(control.apply(change(&draft, Some(within)), stamp(0)).is_err());
    }
    world.0.borrow_mut().refuses = true;
    assert_eq!(control.apply(change(&draft, None), stamp(0)).expect_err("refused").message, "no");
    world.0.borrow_mut().refuses = false;
    world.0.borrow_mut().is_full = true;
    let refusal = control.apply(change(&draft, None), stamp(0)).expect_err("full");
    assert!(refusal.message.contains("is undone"), "{refusal:?}");
    assert_eq!((control.status(at(0)), world.running()), (before, title(0)));
}

/// A disk that stalls keeps the policy before for longer, never the one on trial.
#[test]
fn a_trial_is_stored_before_it_runs_and_reverted_before_that_is_stored() {
    let world = Shared::default();
    let mut control = world.boot();
    control.apply(change(&draft(&text(1)), Some(5)), stamp(0)).expect("applied");
    assert_eq!((world.0.borrow().ran_at_save.clone(), world.running()), (title(0), title(1)));
    // The disk took 40 s.
    control.begin_trial(at(40_000));
    assert_eq!((control.tick(at(44_999)), control.wake_after(at(44_999))), (None, Some(at(1))));
    assert!(control.tick(at(45_000)).is_some());
    assert_eq!((world.0.borrow().ran_at_save.clone(), world.running()), (title(0), title(0)));
    // A trial that the engine refuses, or that cannot be stored, leaves nothing.
    let before = control.status(at(0));
    let applies = world.0.borrow().applies;
    for is_full in [false, true] {
        world.0.borrow_mut().is_full = is_full;
        world.0.borrow_mut().refuses = !is_full;
        control.apply(change(&draft(&text(2)), Some(5)), stamp(50_000)).expect_err("refused");
        control.begin_trial(at(50_000));
        assert_eq!((control.status(at(0)), world.running()), (before.clone(), title(0)));
    }
    assert_eq!(world.0.borrow().applies, applies, "the engine made no change");
    assert_eq!(world.0.borrow().stored.newest_first().count(), 2, "policies 0 and 1");
}

/// A policy that the engine refused never ran: once there is room, no history has it, also if the router ends
/// before.
#[test]
fn a_refused_trial_that_cannot_be_removed_is_said_and_removed_later() {
    for ends in [false, true] {
        let world = Shared::default();
        let mut control = world.boot();
        // The disk has room for the trial, and is full when the engine has refused it.
        world.0.borrow_mut().refuses = true;
        world.0.borrow_mut().is_full_after_save = true;
        let refusal = control.apply(change(&draft(&text(1)), Some(5)), stamp(1_000)).expect_err("refused");
        assert!(refusal.message.starts_with("no; and it cannot be removed from the history"), "{refusal:?}");
        assert!(refusal.help.starts_with("wait; make room"), "{refusal:?}");
        let stored =
            || world.0.borrow().stored.newest_first().map(|one| one.outcome.clone()).collect::<Vec<_>>();
        assert_eq!(stored(), [Outcome::Trial, Outcome::Confirmed]);
        let killed = Shared(Rc::new(RefCell::new(World {
            stored: world.0.borrow().stored.clone(),
            refused: world.0.borrow().refused,
            ..World::default()
        })));
        assert_eq!(killed.boot().status(at(0)).history.len(), 1, "no start says that it was reverted");
        assert_eq!(control.wake_after(at(1_000)), Some(Duration::from_secs(10)));
        assert_eq!(
            (control.tick(at(11_000)), control.wake_after(at(11_000))),
            (None, Some(Duration::from_secs(10)))
        );
        world.0.borrow_mut().is_full = false;
        if ends {
            control.into_engine();
        } else {
            assert_eq!((control.tick(at(20_999)), stored().len()), (None, 2), "not yet");
            assert_eq!((control.tick(at(21_000)), control.wake_after(at(21_000))), (None, None));
            assert_eq!(control.status(at(21_000)).history.len(), 1);
        }
        assert_eq!(stored(), [Outcome::Confirmed]);
    }
}

#[test]
fn a_confirmation_that_cannot_be_stored_leaves_the_trial() {
    let world = Shared::default();
    let mut control = world.boot();
    control.apply(change(&draft(&text(1)), Some(5)), stamp(0)).expect("applied");
    world.0.borrow_mut().is_full = true;
    assert!(control.confirm(at(1)).expect_err("full").message.contains("cannot be stored"));
    let reversal = control.tick(at(5_000)).expect("still on trial");
    assert!(reversal.unstored.is_some() && reversal.outcome.is_ok());
    assert_eq!(world.running(), title(0));
    assert_eq!(control.wake_after(at(5_000)), Some(Duration::from_secs(10)));
    world.0.borrow_mut().is_full = false;
    assert_eq!((control.tick(at(15_000)), control.wake_after(at(15_000))), (None, None));
    let stored = world.0.borrow().stored.newest_first().next().map(|one| one.outcome.clone());
    assert!(matches!(stored, Some(Outcome::Reverted(_))), "{stored:?}");
}

#[test]
fn a_rollback_that_could_not_be_stored_is_stored_later() {
    let world = Shared::default();
    let mut control = world.boot();
    control.apply(change(&draft(&text(1)), Some(60)), stamp(0)).expect("applied");
    world.0.borrow_mut().is_full = true;
    let changed = rollback(&mut control, None, stamp(1_000)).expect("back");
    assert!(changed.warnings[0].contains("cannot be stored"), "{changed:?}");
    world.0.borrow_mut().is_full = false;
    assert_eq!((control.tick(at(11_000)), control.wake_after(at(11_000))), (None, None));
    let stored = world.0.borrow().stored.newest_first().next().map(|one| one.outcome.clone());
    assert!(matches!(stored, Some(Outcome::Reverted(_))), "{stored:?}");
}

#[test]
fn a_reversal_that_the_engine_refuses_is_told_and_can_be_tried_again() {
    let world = Shared::default();
    let mut control = world.boot();
    control.apply(change(&draft(&text(1)), Some(5)), stamp(0)).expect("applied");
    world.0.borrow_mut().refuses = true;
    let reversal = control.tick(at(5_000)).expect("a reversal");
    assert_eq!(reversal.outcome, Err("no: wait".to_owned()));
    assert!(control.status(at(5_000)).stranded.contains("cannot go back"));
    assert_eq!((world.running(), control.tick(at(6_000))), (title(1), None));
    assert!(control.apply(change(&draft(&text(2)), None), stamp(6_000)).is_err());
    world.0.borrow_mut().refuses = false;
    assert_eq!(rollback(&mut control, None, stamp(7_000)).expect("back").number, 1);
    assert_eq!((world.running(), control.status(at(7_000)).stranded), (title(0), String::new()));
}

#[test]
fn a_stranded_policy_can_be_kept() {
    let world = Shared::default();
    let mut control = world.boot();
    control.apply(change(&draft(&text(1)), Some(5)), stamp(0)).expect("applied");
    world.0.borrow_mut().refuses = true;
    control.tick(at(5_000)).expect("a reversal");
    assert_eq!(control.confirm(at(9_000)), Ok(2));
    assert_eq!(world.0.borrow().stored.confirmed().map(|one| one.number), Some(2));
}

#[test]
fn a_policy_that_is_not_stored_cannot_be_confirmed() {
    for is_on_trial in [false, true] {
        let world = Shared::default();
        let mut control = world.boot();
        if is_on_trial {
            control.apply(change(&draft(&text(1)), None), stamp(0)).expect("applied");
            control.apply(change(&draft(&text(2)), Some(5)), stamp(0)).expect("applied");
        }
        // The next change is made, cannot be stored, and cannot be undone.
        world.0.borrow_mut().is_full = true;
        let applies = world.0.borrow().applies;
        world.0.borrow_mut().refuses_after = applies + 1;
        let refusal = if is_on_trial {
            rollback(&mut control, Some(1), stamp(1)).expect_err("full")
        } else {
            control.apply(change(&draft(&text(1)), None), stamp(1)).expect_err("full")
        };
        assert!(refusal.message.contains("cannot be undone"), "{refusal:?}");
        assert!(control.status(at(1)).stranded.contains("could not be undone"));
        // Neither the policy on trial nor the last confirmed one runs.
        let refusal = control.confirm(at(2)).expect_err("another policy runs");
        assert!(refusal.help.contains("rollback"), "{refusal:?}");
        assert!(control.apply(change(&draft(&text(3)), None), stamp(2)).is_err());
        assert_eq!(control.tick(at(9_000)), None);
        world.0.borrow_mut().is_full = false;
        world.0.borrow_mut().refuses_after = 0;
        let back = rollback(&mut control, None, stamp(10_000)).expect("back").number;
        assert_eq!((back, world.running()), if is_on_trial { (2, title(1)) } else { (1, title(0)) });
        assert_eq!(control.status(at(10_000)).stranded, "");
    }
}

#[test]
fn a_dry_run_names_all_that_needs_a_restart() {
    let world = Shared::default();
    let control = world.boot();
    for (old, new, word) in [
        ("\"egress\"", "\"ingress\"", "mode"),
        ("eth0", "eth1", "interfaces"),
        ("[port.wan]", "io = \"packet\"\n[port.wan]", "`io`"),
        ("[port.wan]", "frames = 5000\n[port.wan]", "`frames`"),
        ("root =", "clock = { source = \"jiffies\", hz = 100 }\nroot =", "`clock` of port `wan`"),
        ("root =", "ring = 16\nroot =", "`ring` of port `wan`"),
    ] {
        let text = text(1).replace(old, new);
        let draft = Draft::read("new.toml", &text).unwrap_or_else(|why| panic!("{text}: {why:?}"));
        let refusal = control.compare(change(&draft, None)).expect_err(word);
        assert!(refusal.message.contains(word), "{refusal:?}");
        assert!(refusal.help.contains("--fresh"), "{refusal:?}");
    }
}

#[test]
fn the_same_text_changes_nothing() {
    let world = Shared::default();
    let mut control = world.boot();
    let changed = control.apply(change(&draft(&text(0)), Some(60)), stamp(0)).expect("accepted");
    assert_eq!((changed.number, changed.trial, changed.difference.as_str()), (1, None, ""));
    assert_eq!((world.0.borrow().applies, control.wake_after(at(0))), (0, None));
    let compared = control.compare(change(&draft(&text(1)), None)).expect("compared");
    assert_eq!((compared.added, compared.removed, world.0.borrow().applies), (2, 2, 0));
}
