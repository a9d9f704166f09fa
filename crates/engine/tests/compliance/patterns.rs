//! Patterns behind the scheduler vulnerabilities of Linux, each as a test that they cannot happen here.
//!
//! Nearly all need two disciplines: a parent with an assumption about a child, and a child that changes
//! without notice. Named after their CVE records. If the original needs a kind that does not exist here, a
//! kind with the same behaviour replaces it.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::discipline::{Arity, Discipline};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Limit};
use serde_json::{Value, json};

use crate::account::Account;
use crate::common::fickle::{Config, Fickle};
use crate::common::kind::{self, Kind};
use crate::parameters::{draw, parameters};
use crate::topology::{FLOWS, Topology};

const MS: Duration = Duration::from_millis(1);

/// Leaf that drops every packet before it returns one.
const EATS: Config = Config { dequeue: 256, ..Config::TAME };
/// Leaf that drops every arrival.
const REFUSES: Config = Config { enqueue: 256, ..Config::TAME };
/// Leaf that for a while returns `Empty` or `NotBefore`.
const MOODY: Config = Config { mood: 255, ..Config::TAME };

/// Returns the kinds that take children.
fn parents() -> impl Iterator<Item = &'static Kind> {
    kind::kinds().into_iter().filter(|kind| kind.children != Arity::None)
}

fn tree(grandparent: &str, parent: &str) -> Account {
    Account::plain(&Topology::stack(grandparent, parent, Fickle::ABOUT.name), 7)
}

/// Runs `test` on every pair of parents over hostile leaves.
fn on_every_pair(test: impl Fn(&mut Account)) {
    for grandparent in parents() {
        for parent in parents() {
            let mut account = tree(grandparent.name, parent.name);
            account.tell_fickle(&Config::TAME);
            test(&mut account);
        }
    }
}

/// One packet for every flow.
fn offer_all(account: &mut Account, length: u32) {
    (0..FLOWS).for_each(|flow| account.offer(flow, length, Duration::ZERO));
}

/// Checks that the tree is as good as new after everything was dropped: all further packets pass.
fn is_as_new(account: &mut Account) {
    account.tell_fickle(&Config::TAME);
    account.now = account.now + MS * 100;
    offer_all(account, 100);
    let (all, mut came) = (account.waiting(), 0);
    while account.waiting() > 0 {
        if account.poll() {
            came += 1;
        } else {
            account.now = account.wake.expect("a backlog names a time");
        }
    }
    assert_eq!(came, all);
    assert!(all >= FLOWS as usize);
}

#[test]
fn cve_2025_38350_a_child_that_empties_when_it_is_peeked() {
    on_every_pair(|account| {
        account.tell_fickle(&EATS);
        account.offer(0, 100, Duration::ZERO);
        account.peek("leaf/0");
        account.peek("parent");
        if account.waiting() > 0 {
            // A kind that sorts packets itself put it elsewhere.
            account.peek("root");
        }
        assert_eq!(account.waiting(), 0, "the leaf dropped it");
        // The parents still assume the class to be active; the class is removed and added again.
        account.offer(0, 100, Duration::ZERO);
        account.replace(account.topology.clone());
        account.offer(0, 100, Duration::ZERO);
        is_as_new(account);
    });
}

#[test]
fn cve_2025_38000_a_late_packet_dropped_in_the_peek_of_its_own_enqueue() {
    on_every_pair(|account| {
        account.tell_fickle(&EATS);
        account.offer(0, 1514, Duration::ZERO);
        account.now = account.now + Duration::from_secs(10);
        account.peek("root");
        assert_eq!(account.waiting(), 0);
        is_as_new(account);
    });
}

#[test]
fn cve_2025_37890_38001_and_37913_to_37915_activating_what_is_active() {
    on_every_pair(|account| {
        for _ in 0..5 {
            offer_all(account, 1514);
            account.peek("leaf/0");
        }
        account.drain();
        is_as_new(account);
    });
    // The loop of 38001 needed a slow shaper on top.
    let mut slow = Topology::stack("tbf", "drr", Fickle::ABOUT.name);
    slow.config = json!({ "rate": "1kbit", "burst": "1514B" });
    let mut account = Account::plain(&slow, 7);
    account.tell_fickle(&Config::TAME);
    for _ in 0..5 {
        offer_all(&mut account, 1514);
        account.poll();
    }
    account.drain();
}

#[test]
fn cve_2025_37798_a_child_that_empties_itself_in_dequeue() {
    on_every_pair(|account| {
        for round in 0..20 {
            account.tell_fickle(&EATS);
            offer_all(account, 300);
            assert!(!account.poll(), "round {round}");
            assert_eq!(account.waiting(), 0, "all of them were eaten, so none of them waits");
            is_as_new(account);
        }
    });
}

#[test]
fn a_child_that_emptied_itself_starts_anew_in_a_round_robin() {
    let leaves = ["leaf/0", "leaf/1"].map(|name| Topology::leaf(name, Fickle::ABOUT.name));
    let mut account = Account::plain(&Topology::over("root", "drr", leaves.into()), 7);
    account.tell_fickle(&Config::TAME);
    for flow in [0, 0, 1, 1] {
        account.offer(flow, 1000, Duration::ZERO);
    }
    account.poll();
    assert_eq!(account.came, Some(0), "514 bytes of its quantum are left");
    let eats = serde_json::to_value(EATS).expect("a config");
    account.reconfigure("leaf/0", &eats, &[]).expect("any temper");
    account.poll();
    assert_eq!(account.came, Some(1), "the first ate what it had");
    assert_eq!(account.waiting(), 1);
    account.tell_fickle(&Config::TAME);
    // The second has 514 bytes left, too little; the first comes back with a full quantum.
    account.offer(0, 1000, Duration::ZERO);
    account.poll();
    assert_eq!(account.came, Some(0));
}

#[test]
fn cve_2025_38468_one_class_whose_only_packet_is_dropped_when_it_is_its_turn() {
    for parent in parents() {
        let mut account = Account::plain(
            &Topology::over("root", parent.name, vec![Topology::leaf("leaf", Fickle::ABOUT.name)]),
            7,
        );
        account.tell_fickle(&EATS);
        for _ in 0..10 {
            account.offer(0, 64, Duration::ZERO);
            assert!(!account.poll());
            assert!(account.port.is_empty() && account.wake.is_none());
        }
        is_as_new(&mut account);
    }
}

#[test]
fn cve_2024_45016_2025_21702_and_68325_the_arriving_packet_is_the_victim() {
    on_every_pair(|account| {
        account.tell_fickle(&REFUSES);
        offer_all(account, 1514);
        assert_eq!(account.waiting(), 0);
        is_as_new(account);
    });
    // Limits of nothing, of one packet, and of less than a packet: under every parent.
    for parent in parents() {
        for kind in kind::kinds() {
            for config in limited(kind) {
                let mut leaf = Topology::leaf("leaf", kind.name);
                leaf.config = config.clone();
                let limit: Limit = config["limit"].as_str().expect("text").parse().expect("a limit");
                let tree = Topology::over("root", parent.name, vec![leaf]);
                if tree.build().is_err() {
                    assert!(!limit.allows(1, 1), "{}: {config}", kind.name);
                    continue;
                }
                let mut account = Account::plain(&tree, 7);
                for length in [64, 1514, 64, 0, 1514, 65_536, 63, 0] {
                    offer_all(&mut account, length);
                    let held = account.port.backlog();
                    assert!(limit.allows(held.packets, held.bytes.0), "{}: {held:?} in {config}", kind.name);
                }
                account.drain();
            }
        }
    }
}

#[test]
fn a_smaller_limit_holds_at_once() {
    for kind in kind::kinds() {
        for config in limited(kind) {
            let mut account = Account::plain(&Topology::alone(kind.name), 7);
            for length in [64, 1514, 64, 300] {
                offer_all(&mut account, length);
            }
            let limit: Limit = config["limit"].as_str().expect("text").parse().expect("a limit");
            if account.reconfigure("root", &config, &[]).is_ok() {
                let held = account.port.backlog();
                assert!(limit.allows(held.packets, held.bytes.0), "{}: {held:?} in {config}", kind.name);
                // No more packets were dropped than necessary.
                assert!(!limit.allows(held.packets + 1, held.bytes.0 + 1514), "{}: {held:?}", kind.name);
            }
            account.drain();
        }
    }
}

/// Returns the example of `kind` with the smallest limits and every overflow policy, if it has a limit.
fn limited(kind: &Kind) -> Vec<Value> {
    let own = parameters(&kind.config_schema);
    if matches!(kind.children, Arity::Many | Arity::Classes)
        || own.iter().all(|parameter| parameter.name != "limit")
    {
        return Vec::new();
    }
    let overflow = own.iter().find(|parameter| parameter.name == "overflow");
    let overflow = overflow.map_or(vec![Value::Null], |parameter| parameter.extremes.clone());
    let mut all = Vec::new();
    for limit in ["0p", "0B", "1p", "2p", "63B", "64B", "1514B"] {
        for overflow in &overflow {
            let mut config = kind.example.clone();
            config["limit"] = json!(limit);
            if !overflow.is_null() {
                config["overflow"] = overflow.clone();
            }
            all.push(config);
        }
    }
    all
}

#[test]
fn cve_2023_4921_and_2026_43496_what_is_peeked_is_what_is_dequeued() {
    on_every_pair(|account| {
        for (round, length) in [64, 1514, 9000, 300].into_iter().enumerate() {
            offer_all(account, length);
            for queue in ["leaf/0", "parent", "root"] {
                account.peek(queue);
            }
            // A change, a timer and a drop on reconfigure between the peek and the dequeue.
            account.tell_fickle(&Config { reconfigure: 256, timer: 256, ..Config::TAME });
            account.now = account.now + MS;
            account.tell_fickle(&Config { timer: 256, ..Config::TAME });
            let root = account.topology.clone();
            let shares: Vec<Value> = root.shares().iter().map(|child| child.share.clone()).collect();
            account.reconfigure("root", &root.config, &shares).expect("its own parameters");
            account.poll();
            match round {
                0 => account.drain(),
                1 => account.replace(root),
                2 => account.flush(),
                _ => {}
            }
            account.tell_fickle(&Config::TAME);
        }
        account.drain();
        is_as_new(account);
    });
}

#[test]
fn cve_2025_21700_2026_22976_and_2025_21971_no_class_is_special_and_none_is_shared() {
    // All possible class indices, also the one of all ones, which is a sentinel elsewhere.
    let several = |kind: &&Kind| matches!(kind.children, Arity::Many | Arity::Classes) && !kind.classifies;
    for parent in parents().filter(several) {
        let leaves = (0..300).map(|index| Topology::leaf(&format!("leaf/{index}"), "fifo")).collect();
        let root = Topology::over("root", parent.name, leaves);
        let children = root.children.iter().map(|leaf| (leaf.share.clone(), leaf.build().expect("valid")));
        let node = kind::build(parent.name, "root", &root.config, children.collect()).expect("valid");
        let mut port = Port::new(node, Random::stream(Seed(7), "port"));
        for class in [0, 1, 299, 300, 0xFFFF, 0x1_0000, 0x80_0000, 0xFF_FFFF] {
            let position = lockgate_engine::packet::Position::to_child(class);
            let header = lockgate_engine::packet::Header { length: 64, position, ..Default::default() };
            port.offer(lockgate_engine::packet::Packet::new(header), Instant::ZERO, &NoHeaders);
        }
        let mut backlogs = Vec::new();
        port.each_node(&mut |node| backlogs.push(node.backlog().packets));
        assert_eq!((backlogs[0], backlogs[1], backlogs[2], backlogs[300]), (8, 1, 1, 6));
        let (mut now, mut sent) = (Instant::ZERO, 0);
        while sent < 8 {
            match port.poll(now, &NoHeaders) {
                Poll::Transmit(_) => sent += 1,
                Poll::WaitUntil(time) => now = time,
                Poll::Idle => panic!("`{}` forgot a class", parent.name),
            }
        }
        assert!(port.is_empty());
    }
}

#[test]
fn cve_2025_38083_a_timer_at_the_very_time_of_a_change() {
    on_every_pair(|account| {
        for timer_first in [true, false] {
            for swap in [true, false] {
                account.tell_fickle(&Config { timer: 256, ..Config::TAME });
                offer_all(account, 1000);
                // Timers are due every 300 us.
                account.now = account.now + MS;
                let root = account.topology.clone();
                if timer_first {
                    account.poll();
                }
                if swap {
                    account.replace(root);
                } else {
                    let shares: Vec<Value> = root.shares().iter().map(|child| child.share.clone()).collect();
                    account.reconfigure("root", &root.config, &shares).expect("its own parameters");
                }
                account.poll();
                account.drain();
            }
        }
        is_as_new(account);
    });
}

#[test]
fn a_timer_below_a_shaper_that_waits_is_asked_for_and_run() {
    for parent in parents() {
        let mut account = tree("tbf", parent.name);
        account.tell_fickle(&Config { timer: 256, ..Config::TAME });
        // 15 kB go through at first; then the shaper waits for more than a millisecond.
        for _ in 0..12 {
            account.offer(0, 1514, Duration::ZERO);
        }
        while account.poll() {}
        let (now, had) = (account.now, account.waiting());
        let wake = account.wake.expect("a shaper waits");
        assert!(wake <= now + Duration::from_micros(300), "{}: the timer is first, not {wake}", parent.name);
        account.now = wake;
        account.poll();
        assert_eq!(account.waiting(), had - 1, "{}: the timer drops the newest", parent.name);
    }
}

#[test]
fn cve_2025_37752_parameters_are_judged_together_whatever_came_before() {
    // A sequence of changes, some of them refused, ends like its last change alone: with the same result of
    // that change, and with the same service afterwards.
    for kind in kind::kinds() {
        let own = parameters(&kind.config_schema);
        let of_child = parameters(&kind.share_schema);
        let mut random = Random::stream(Seed(11), kind.name);
        for _ in 0..100 {
            let topology = Topology::alone(kind.name);
            let (mut winding, mut straight) = (Account::plain(&topology, 7), Account::plain(&topology, 7));
            let mut change = |accounts: &mut [&mut Account]| {
                let config = draw(&kind.example, &own, &mut random);
                let shares: Vec<Value> =
                    topology.shares().iter().map(|_| draw(&kind.share, &of_child, &mut random)).collect();
                let answers: Vec<_> = accounts
                    .iter_mut()
                    .map(|account| account.reconfigure("root", &config, &shares))
                    .collect();
                assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
                answers[0].is_ok()
            };
            for _ in 0..6 {
                change(&mut [&mut winding]);
            }
            while !change(&mut [&mut winding, &mut straight]) {}
            for account in [&mut winding, &mut straight] {
                // Long enough for every bucket to be full again.
                account.now = account.now + Duration::from_secs(1_000_000);
                for length in [64, 1514, 300] {
                    offer_all(account, length);
                }
                account.drain();
            }
            assert_eq!(winding.digest, straight.digest, "{} remembers what it was", kind.name);
        }
    }
}

#[test]
fn cve_2026_22999_and_23105_a_refused_change_leaves_everything_as_it_was() {
    for topology in Topology::all() {
        let changes = |queue: &Topology| -> Vec<(Value, Vec<Value>)> {
            let shares = queue.shares().len();
            let all = refused_changes(queue).into_iter();
            all.map(|(config, share)| (config, vec![share; shares])).collect()
        };
        let queues: Vec<_> = topology.queues().into_iter().map(|queue| (queue, changes(queue))).collect();
        let mut digests = Vec::new();
        for disturbed in [false, true] {
            let mut account = Account::plain(&topology, 7);
            let mut random = Random::stream(Seed(13), "test");
            for step in 0..400_u64 {
                account.offer(random.below(FLOWS), 40 + random.below(1500), Duration::ZERO);
                if disturbed {
                    let (queue, changes) = &queues[step as usize % queues.len()];
                    for (config, shares) in changes {
                        let answer = account.reconfigure(&queue.name, config, shares);
                        assert!(answer.is_err(), "{}: {config} was accepted", queue.kind);
                    }
                }
                account.now = account.now + Duration::from_micros(u64::from(random.below(900)));
                account.poll();
            }
            account.drain();
            digests.push(account.digest);
        }
        assert_eq!(digests[0], digests[1], "{}", topology.describe());
    }
}

/// Returns changes that the kind of `queue` must refuse: of its parameters, and of each child's share.
fn refused_changes(queue: &Topology) -> Vec<(Value, Value)> {
    if kind::is_class(&queue.kind) {
        return Vec::new();
    }
    let share = kind::kind(&queue.kind).share.clone();
    let with = |config: &Value, name: &str, value: &str| {
        let mut config = config.clone();
        config[name] = json!(value);
        config
    };
    match queue.kind.as_str() {
        "tbf" => vec![
            (with(&queue.config, "rate", "0bit"), share.clone()),
            (with(&with(&queue.config, "mtu", "1514B"), "peakrate", "1mbit"), share.clone()),
            (with(&queue.config, "peakrate", "1gbit"), share.clone()),
            (with(&queue.config, "mtu", "1514B"), share),
        ],
        "drr" => vec![(queue.config.clone(), with(&share, "quantum", "0B"))],
        "wrr" | "stfq" | "scfq" | "wf2q+" | "qfq" | "wfq" | "wfq-altq" => {
            let mut none = share;
            none["weight"] = json!(0);
            vec![(queue.config.clone(), none)]
        }
        "bandwidth-shaper" => vec![(with(&queue.config, "rate", "0bit"), share)],
        "fickle" => vec![(json!({ "impossible": true }), share)],
        _ => parameters(&kind::kind(&queue.kind).config_schema)
            .into_iter()
            .filter(|parameter| parameter.name == "limit")
            .map(|_| (with(&queue.config, "limit", "0p"), share.clone()))
            .collect(),
    }
}

#[test]
fn cve_2023_53624_and_31436_numbers_at_the_ends_of_their_range() {
    // All of them one by one in `extremes`; here the sums that overflow: a thousand of the largest
    // packets under the largest limits, through a class whose share is the largest.
    for parent in parents() {
        let mut tree = Topology::stack(parent.name, parent.name, "fifo");
        for queue in ["leaf/0", "leaf/1", "leaf/2"] {
            if let Some(leaf) = tree.queue_mut(queue) {
                leaf.config = json!({ "limit": "18446744073709551615B" });
            }
        }
        if parent.name == "tbf" {
            let fast = json!({ "rate": "18446744073709551615bit", "burst": "18446744073709551615B" });
            tree.config = fast.clone();
            tree.queue_mut("parent").expect("there is one").config = fast;
        }
        if parent.name == "drr" {
            tree.children[0].share = json!({ "quantum": "18446744073709551615B" });
            tree.children[1].share = json!({ "quantum": "1B" });
        }
        let mut account = Account::plain(&tree, 7);
        for _ in 0..125 {
            offer_all(&mut account, u32::MAX);
        }
        account.drain();
    }
}

#[test]
fn a_leaf_that_denies_what_it_holds_is_asked_again() {
    on_every_pair(|account| {
        for _ in 0..50 {
            account.tell_fickle(&MOODY);
            offer_all(account, 64);
            for _ in 0..4 {
                account.poll();
            }
            // Made to behave, it returns all packets without another arrival.
            account.drain();
        }
    });
}
