//! Policies applied under a stream of datagrams: confirmed, reverted by time and by condition, with the
//! command or the router killed in between.
//!
//! `LOCKGATE_APPLIES=100` and `LOCKGATE_PACKETS=50000` (a second) lengthen the test.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use lockgate_router::control::client::Client;
use lockgate_router::control::protocol::{Answer, Request, Status};

use super::setting::{Running, lockgate, network, number, policy};
use super::stream::Stream;

/// Length of a datagram, and of its frame, in bytes.
const SIZE: usize = 100;
const FRAME: u64 = SIZE as u64 + 42;

/// Limit on waiting for a state.
const PATIENCE: Duration = Duration::from_mins(2);

/// Requests the state of a router.
fn status(router: &Running) -> Status {
    let socket = router.folder().path().join("state/control.sock");
    match Client::connect(&socket).expect("a router").ask(&Request::Status {}).expect("answered") {
        Answer::Status(status) => *status,
        other => panic!("{other:?}"),
    }
}

/// Returns why the latest policy that was reverted was.
fn why_reverted(router: &Running) -> String {
    let history = status(router).history;
    let reverted = history.into_iter().find(|entry| entry.outcome == "reverted");
    reverted.map(|entry| entry.why).unwrap_or_default()
}

/// Waits until no policy is on trial, and expects that this one runs. Returns the time since `begun`.
#[track_caller]
fn await_policy(router: &Running, text: &str, begun: Instant) -> Duration {
    loop {
        let status = status(router);
        if status.trial.is_none() {
            assert_eq!(status.policy, text);
            return begun.elapsed();
        }
        assert!(begun.elapsed() < PATIENCE, "still on trial: {}", router.log());
        thread::sleep(Duration::from_millis(2));
    }
}

/// Policies of one mode, by number: consecutive ones differ.
struct Policies {
    mode: &'static str,
    /// Offered rate, in bit/s.
    offered: u64,
}

impl Policies {
    /// Returns a policy that builds no queue, with another tree or limit than the one before.
    fn roomy(&self, number: u64) -> String {
        let queue = match number % 3 {
            0 => format!("{{ kind = \"fifo\", limit = \"{}p\" }}", 20_000 + number % 100),
            1 => "{ kind = \"fq_codel\", limit = \"20000p\", target = \"10s\", interval = \"100s\" }"
                .to_owned(),
            _ => "{ kind = \"codel\", limit = \"20000p\", target = \"10s\", interval = \"100s\" }".to_owned(),
        };
        policy(self.mode, &format!("{}bit", self.offered * 2 + number), &queue)
    }

    /// Returns a policy whose queue grows by a fifth of the offered rate.
    fn tight(&self) -> String {
        policy(self.mode, &format!("{}bit", self.offered * 4 / 5), "{ kind = \"fifo\", limit = \"9000p\" }")
    }
}

/// Begins to apply a policy for a second, and kills the command after this time.
fn apply_and_kill(router: &Running, policy: &str, after: Duration) {
    router.write("new.toml", policy);
    let mut command = lockgate(router.folder().path());
    command.args(["apply", "new.toml", "--confirm-within", "1s", "--router", "./state"]);
    let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    thread::sleep(after);
    command.kill().expect("killed");
    command.wait().expect("ended");
    thread::sleep(Duration::from_millis(100));
}

#[test]
fn trials_end_as_promised_and_lose_nothing() {
    let (applies, rate) = (number("LOCKGATE_APPLIES", 10), number("LOCKGATE_PACKETS", 2_000));
    for mode in ["bridge", "egress", "both"] {
        let Some(network) = network(mode) else { return };
        let policies = Policies { mode, offered: rate * FRAME * 8 };
        let mut confirmed = policies.roomy(0);
        let router = Running::start(&network, &confirmed, &["--every", "100ms"]);
        let streams = Stream::start_all(&network, mode, rate, SIZE, 5_000);
        let mut late: [Vec<Duration>; 2] = Default::default();
        let mut taken = 0;
        for number in 1..=applies {
            let begun = Instant::now();
            match number % 10 {
                // Reverted at its deadline.
                1 | 6 => {
                    router.apply(&policies.roomy(number), &["--confirm-within", "1s"]);
                    let is_on_trial = status(&router).trial.is_some();
                    // On a machine that stands still for a second the answer comes too late.
                    assert!(is_on_trial || begun.elapsed() > Duration::from_secs(1), "on trial");
                    let took = await_policy(&router, &confirmed, begun);
                    let why = why_reverted(&router);
                    assert!(why.contains("not confirmed in time"), "{mode}: {why}");
                    assert!(took >= Duration::from_secs(1), "{mode}: reverted early, after {took:?}");
                    late[0].push(took.saturating_sub(Duration::from_secs(1)));
                }
                // Reverted by its condition.
                2 | 7 => {
                    router.apply(&policies.tight(), &["--revert-if", "class.q.sojourn.p99 > 20ms"]);
                    late[1].push(await_policy(&router, &confirmed, begun));
                    let why = why_reverted(&router);
                    assert!(why.contains("was met"), "{mode}: {why}");
                }
                // The command is killed before its request, during it, or after it.
                3 => {
                    apply_and_kill(&router, &policies.roomy(number), Duration::from_millis(number * 7 % 150));
                    taken += u32::from(status(&router).trial.is_some());
                    await_policy(&router, &confirmed, begun);
                }
                _ => {
                    confirmed = policies.roomy(number);
                    router.apply(&confirmed, &[]);
                    await_policy(&router, &confirmed, begun);
                }
            }
        }
        for (kind, late) in ["after its time", "after the apply, by its condition"].iter().zip(&late) {
            println!("{mode}: reverted at most {:?} {kind} ({} times)", late.iter().max(), late.len());
        }
        println!("{mode}: {taken} of the killed commands had begun a trial");
        let ended: Vec<_> = streams.into_iter().map(Stream::end).collect();
        let log = router.stop();
        assert!(log.contains("; 0 frames lost"), "{log}");
        println!("{log}");
        // After a stall of a second the kernel has the line, past the frames that wait.
        let is_bypassed = log.contains("stands still") || log.contains("took the kernel's way");
        if is_bypassed {
            super::common::skip("the router stood still: the order of frames is not judged");
        }
        let seams = if is_bypassed { usize::MAX } else { 0 };
        let what = format!("{mode}, {applies} applies at {rate} packets/s");
        for ended in &ended {
            ended.expect_all(seams, &what);
        }
    }
}

#[test]
fn a_router_killed_during_a_trial_starts_with_the_confirmed_policy() {
    let rate = number("LOCKGATE_PACKETS", 2_000);
    let Some(network) = network("bridge") else { return };
    let policies = Policies { mode: "bridge", offered: rate * FRAME * 8 };
    let first = policies.roomy(0);
    let mut router = Running::start(&network, &first, &[]);
    let stream = Stream::start(&network, "bridge", rate, SIZE, 5_000);
    for number in 1..=5 {
        let confirmed = policies.roomy(number);
        router.apply(&confirmed, &[]);
        router.apply(&policies.roomy(number + 50), &["--confirm-within", "60s"]);
        let folder = router.folder();
        router.kill();
        // The kernel removes the pairs of a process by a work of its own.
        let has_pair = || network.links().iter().any(|link| link.name.starts_with("lg"));
        (0..500).take_while(|_| has_pair()).for_each(|_| thread::sleep(Duration::from_millis(10)));
        router = Running::start_in(&network, folder, &[]);
        let status = status(&router);
        assert!(status.trial.is_none() && status.policy == confirmed, "round {number}: {status:?}");
        assert_eq!(status.history[0].why, "the router ended before it was confirmed");
    }
    let ended = stream.end();
    router.stop();
    let gap = ended.arrived.windows(2).map(|pair| pair[1].1 - pair[0].1).max();
    println!(
        "5 kills during trials: {} of {} lost, longest silence {gap:?}",
        ended.sent.len() - ended.arrived.len(),
        ended.sent.len()
    );
    assert_eq!(ended.arrived.last().expect("datagrams").0 as usize + 1, ended.sent.len(), "traffic goes on");
}

#[test]
fn a_stopped_router_goes_on_at_its_rate_for_a_while() {
    for mode in ["bridge", "egress", "both"] {
        let Some(network) = network(mode) else { return };
        // 4 Mbit/s are offered to 2 Mbit/s for 400 ms, so the backlog needs another 400 ms.
        let router = Running::start(&network, &policy(mode, "2mbit", "{ kind = \"fifo\" }"), &[]);
        let streams = Stream::start_all(&network, mode, 500, 958, 5_000);
        thread::sleep(Duration::from_millis(400));
        let ended = streams.into_iter().map(|stream| thread::spawn(move || stream.end()));
        let ended: Vec<_> = ended.collect();
        thread::sleep(Duration::from_millis(5));
        router.stop();
        for ended in ended {
            let ended = ended.join().expect("no panic");
            ended.expect_all(0, mode);
            let [first, last] = [ended.arrived[0].1, ended.arrived[ended.arrived.len() - 1].1];
            let needed = Duration::from_millis(4) * (ended.arrived.len() as u32 - 1);
            println!(
                "{mode}: {} datagrams took {:?}, {needed:?} at the rate",
                ended.arrived.len(),
                last - first
            );
            assert!(last - first > needed * 8 / 10, "{mode}: {:?}, not {needed:?}", last - first);
        }
    }
}
