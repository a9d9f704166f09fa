use std::thread;

use lockgate_dataplane::dataplane::Arrival;
use lockgate_engine::overhead::LinkHeader;
use lockgate_engine::random::Seed;
use lockgate_engine::units::Duration;
use lockgate_measure::recording::{PortRecord, PortSetup, Recording, Setup};
use lockgate_scenario::Policy;
use lockgate_scenario::policy::read_policy;

use super::*;
use crate::control::Losses;
use crate::forward::{Newest, samples};

/// Limit of a test on an order that nothing serves.
const SHORT: WallTime = WallTime::from_millis(20);

/// Limit that no order of a test reaches.
const LONG: WallTime = WallTime::from_mins(1);

/// Policy of two ports whose queues have this name, kind and limit.
fn policy(queue: &str, kind: &str, limit: u64) -> Policy {
    let port = |name: &str| {
        format!(
            "[port.\"{name}\"]\nrate = \"10mbit\"\nqueue.{queue} = {{ kind = \"{kind}\", limit = \"{limit}p\" }}\n"
        )
    };
    let text = format!(
        "[router]\nmode = \"bridge\"\ninterfaces = {{ lan = \"eth0\", wan = \"eth1\" }}\n{}{}",
        port("lan->wan"),
        port("wan->lan")
    );
    read_policy(&text, "policy.toml").expect("a policy")
}

/// Change of both ports from `old` to `new`.
fn change(old: &Policy, new: &Policy) -> Vec<PolicyChange> {
    let ports = old.ports.iter().zip(&new.ports).enumerate();
    ports
        .map(|(index, (old, new))| {
            PolicyChange::new(index, old, new, LinkHeader::Ethernet).expect("a change")
        })
        .collect()
}

/// Change of both ports that the second refuses: it has no queue `other`.
fn refused_change(old: &Policy, new: &Policy) -> Vec<PolicyChange> {
    let mut changes = change(old, new);
    changes[1] = change(&policy("other", "fifo", 1), &policy("other", "fifo", 2)).remove(1);
    changes
}

/// A forwarder of two ports without interfaces.
struct Forwarder {
    ports: Vec<RouterPort>,
    frames: Frames,
    pool: Pool,
    orders: Orders,
    sampling: Sampling,
    newest: Newest,
}

impl Forwarder {
    fn new(policy: &Policy) -> (OrderSender, Self) {
        let names = policy.ports.iter().map(|port| port.name.clone());
        let ports = names.map(|name| PortSetup { name, ..PortSetup::default() }).collect();
        let records = Recording::new(Setup { ports, ..Setup::default() }).ports;
        let build = |(port, mut record): (_, PortRecord)| {
            record.watch();
            RouterPort::build(port, [0, 1], LinkHeader::Ethernet, Seed(1), record).expect("a port")
        };
        let ports = policy.ports.iter().zip(records).map(build).collect();
        let (sender, orders) = orders();
        let (sampling, newest) = samples(Duration::from_secs(1));
        let (frames, pool) = (Frames::new(100, 100), Pool::default());
        (sender, Self { ports, frames, pool, orders, sampling, newest })
    }

    fn serve(&mut self) {
        let Self { ports, frames, pool, orders, sampling, .. } = self;
        orders.serve(Instant::ZERO, ports, frames, pool, sampling);
    }

    /// Serves until its control has ended, on a thread of its own.
    fn serve_until(&mut self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::SeqCst) {
            self.serve();
            thread::yield_now();
        }
    }

    /// Queues frames at both ports up to their limits. Returns the packets queued.
    fn fill(&mut self) -> Vec<u64> {
        for port in &mut self.ports {
            for _ in 0..20 {
                let mut frame = [0; 60];
                frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
                let slot = self.frames.slab.insert(&frame).expect("a free slot");
                let arrival = Arrival { interface: 0, at: Instant::ZERO, slot, continues: false };
                port.take(&[arrival], &mut self.frames, &mut self.pool);
            }
        }
        self.backlogs()
    }

    fn backlogs(&self) -> Vec<u64> {
        self.ports.iter().map(|port| port.port.backlog().packets).collect()
    }

    /// Returns the notes of the first sample.
    fn notes(&mut self) -> Vec<String> {
        let mut now = Instant::ZERO;
        while self.newest.get().is_none() {
            now = now + Duration::from_millis(100);
            self.sampling.serve(now, &mut self.ports, &Losses::default());
        }
        self.newest.get().into_iter().flat_map(|sample| sample.events).map(|event| event.text).collect()
    }
}

/// Applies changes at two forwarders that serve their orders.
fn apply_at_two(
    [(first, a), (second, b)]: [(&OrderSender, &mut Forwarder); 2],
    changes: Vec<Vec<PolicyChange>>,
) -> Result<Applied, NotApplied> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for forwarder in [a, b] {
            scope.spawn(|| forwarder.serve_until(&is_over));
        }
        let result = apply_everywhere(&[first, second], changes, LONG);
        is_over.store(true, Ordering::SeqCst);
        result
    })
}

#[test]
fn a_refusal_of_one_port_changes_no_port_of_the_thread() {
    let old = policy("q", "fifo", 4);
    for new in [policy("q", "fifo", 9), policy("r", "fifo", 9), policy("q", "codel", 9)] {
        let (sender, mut forwarder) = Forwarder::new(&old);
        assert_eq!(forwarder.fill(), [4, 4]);
        let claimed = sender.send(refused_change(&old, &new));
        forwarder.serve();
        let result = sender.wait(&claimed, WallInstant::now() + LONG).map(|_| ());
        assert!(matches!(&result, Err(OrderError::Refused(why)) if why.contains("other")), "{result:?}");
        assert_eq!(forwarder.backlogs(), [4, 4]);
        assert_eq!(forwarder.fill(), [4, 4], "the old limits hold");
        let kinds = forwarder.ports[0].port.queues().iter().map(|place| (&*place.name, place.kind));
        assert_eq!(kinds.into_iter().next(), Some(("q", "fifo")));
        assert!(forwarder.notes().is_empty());
    }
}

#[test]
fn a_refusal_of_one_thread_is_undone_at_the_other() {
    let old = policy("q", "fifo", 4);
    for new in [policy("q", "fifo", 9), policy("r", "fifo", 9)] {
        let [(first, mut a), (second, mut b)] = [Forwarder::new(&old), Forwarder::new(&old)];
        assert_eq!((a.fill(), b.fill()), (vec![4, 4], vec![4, 4]));
        let changes = vec![change(&old, &new), refused_change(&old, &new)];
        let result = apply_at_two([(&first, &mut a), (&second, &mut b)], changes);
        let failure = result.expect_err("a port refuses");
        assert!(matches!(&failure.why, OrderError::Refused(_)), "{failure:?}");
        assert!(failure.keeps_change.is_empty());
        assert_eq!((a.fill(), b.fill()), (vec![4, 4], vec![4, 4]), "the old limits hold");
        assert!(a.notes().is_empty() && b.notes().is_empty());
    }
}

#[test]
fn an_order_that_has_not_begun_in_time_is_cancelled_for_good() {
    let [old, new] = [4, 9].map(|limit| policy("q", "fifo", limit));
    let [(first, mut a), (second, mut b)] = [Forwarder::new(&old), Forwarder::new(&old)];
    let result = apply_everywhere(&[&second], vec![change(&old, &new)], SHORT);
    assert_eq!(result, Err(NotApplied { why: OrderError::NotBegun, keeps_change: Vec::new() }));
    // The thread finds the order when it runs again.
    b.serve();
    assert_eq!(b.fill(), [4, 4], "the old limits hold");
    // The next order is not confused with the cancelled one.
    let changes = vec![change(&old, &new), change(&old, &new)];
    let result = apply_at_two([(&first, &mut a), (&second, &mut b)], changes);
    assert_eq!(result, Ok(Applied::default()));
    a.serve();
    assert_eq!((a.fill(), b.fill()), (vec![9, 9], vec![9, 9]));
    assert_eq!((a.notes(), b.notes()), (vec!["policy applied".to_owned()], Vec::new()), "noted once");
}

#[test]
fn a_change_that_cannot_be_undone_is_reported() {
    let [old, new] = [4, 9].map(|limit| policy("q", "fifo", limit));
    let [(first, mut a), (second, b)] = [Forwarder::new(&old), Forwarder::new(&old)];
    drop(b);
    let result = thread::scope(|scope| {
        // Ends after its first order.
        scope.spawn(move || {
            while a.fill() == [4, 4] {
                a.serve();
            }
        });
        apply_everywhere(&[&first, &second], vec![change(&old, &new), change(&old, &new)], LONG)
    });
    assert_eq!(result, Err(NotApplied { why: OrderError::NotBegun, keeps_change: vec![0] }));
}
