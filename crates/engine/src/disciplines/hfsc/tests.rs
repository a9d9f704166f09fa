use super::curve::{Curve, work};
use super::*;
use crate::disciplines::fifo::{self, Fifo};
use crate::random::{Random, Seed};
use crate::units::{Duration, Rate};

fn spec(m1: u64, d: u64, m2: u64) -> CurveSpec {
    CurveSpec { m1: Rate::from_bits(m1), d: Duration::from_picos(d), m2: Rate::from_bits(m2) }
}

fn child(text: &str) -> Child<Share> {
    let share = serde_json::from_str(text).expect("a share");
    Child { share, node: Node::new::<Fifo>("leaf", fifo::Config::default(), Vec::new()).expect("valid") }
}

#[test]
fn what_cannot_be_is_refused_at_its_class() {
    let cases = [
        ("ls", "{}"),
        ("ul", r#"{ "rt": "1mbit", "ul": "2mbit" }"#),
        ("ls", r#"{ "ul": "2mbit" }"#),
        ("rt", r#"{ "rt": { "m1": "1mbit", "d": "1ms", "m2": "0bit" } }"#),
        ("rt", r#"{ "rt": "1mbit", "sc": "1mbit" }"#),
        ("ls", r#"{ "ls": "1mbit", "sc": "1mbit" }"#),
    ];
    for (field, text) in cases {
        let refused = Hfsc::new(NoShare {}, vec![child(r#"{ "ls": "1mbit" }"#), child(text)]).err();
        let refused = refused.expect(text);
        assert_eq!((refused.field, refused.child), (field, Some(1)), "{text}");
    }
    for (field, text) in [("rt", r#"{ "rt": "1mbit", "ls": "1mbit" }"#), ("ls", "{}")] {
        let inner = Node::class("inner", vec![child(r#"{ "ls": "1mbit" }"#)]).expect("valid");
        let refused = Hfsc::new(NoShare {}, vec![Child { node: inner, ..child(text) }]).err().expect(text);
        assert_eq!((refused.field, refused.child), (field, Some(0)), "{text}");
    }
}

#[test]
fn a_curve_is_written_as_it_is_read() {
    let text = r#"{"rt":{"m1":"2mbit","d":"10ms","m2":"1mbit"},"ls":"3mbit"}"#;
    let share: Share = serde_json::from_str(text).expect("a share");
    assert_eq!(serde_json::to_string(&share).expect("text"), text);
    assert!(serde_json::from_str::<Share>(r#"{ "rt": "1" }"#).is_err(), "a number without its unit");
    assert!(serde_json::from_str::<Share>(r#"{ "rt": { "m1": "1mbit" } }"#).is_err(), "no m2");
}

#[test]
fn a_concave_curve_becomes_the_minimum_of_all_that_were_started() {
    let mut random = Random::stream(Seed(1), "curve");
    for _ in 0..300 {
        let mut rate = || 1 + u64::from(random.below(4_000_000));
        let (one, other) = (rate(), rate());
        let d = u64::from(random.below(40_000_000)) * 1_000;
        let spec = spec(one.max(other), d, one.min(other));
        let begun = |x| {
            let mut curve = Curve::new(spec);
            curve.restart(x);
            curve
        };
        let mut curve = begun(0);
        let mut all = vec![curve.clone()];
        let mut x = 0;
        for _ in 0..12 {
            x += u128::from(random.below(60_000_000)) * 1_000;
            let done = work(Bytes(u64::from(random.below(9_000))));
            for curve in all.iter_mut().chain([&mut curve]) {
                curve.advance(done);
            }
            curve.take_minimum(x);
            all.push(begun(x));
            for _ in 0..4 {
                let more = work(Bytes(u64::from(random.below(20_000))));
                // The minimum of curves is the last to reach some work. Where two meet is rounded up, each
                // time.
                let exact = all.iter().map(|curve| curve.time_after(more)).max().expect("some");
                let time = curve.time_after(more).max(x);
                let slack = u128::from(one.max(other) / one.min(other) + 1) * 13;
                assert!(time <= exact.max(x) && time + slack >= exact, "{time} for {exact}");
            }
        }
    }
}

/// Two inner classes of three leaves and a leaf, with curves of two pieces among them; and with limits.
fn tree(with_limits: bool) -> (Classes, Vec<Shares>) {
    let inner = |shares: [&str; 3]| Node::class("inner", shares.map(child).into()).expect("valid");
    let two = r#"{ "ls": { "m1": "4mbit", "d": "20ms", "m2": "1mbit" } }"#;
    let limited = if with_limits { r#"{ "ls": "3mbit", "ul": "2mbit" }"# } else { r#"{ "ls": "3mbit" }"# };
    let classes = vec![
        Child { node: inner([r#"{ "ls": "1mbit" }"#, two, limited]), ..child(r#"{ "ls": "5mbit" }"#) },
        Child { node: inner([limited, limited, r#"{ "ls": "7mbit" }"#]), ..child(limited) },
        child(two),
    ];
    let (classes, shares) = Classes::new(classes).expect("valid");
    let curves = Curves::all(&shares, &classes).expect("valid");
    (classes, curves.iter().map(|curves| curves.shares).collect())
}

#[test]
fn a_deferred_deactivation_ends_as_an_immediate_one_and_a_new_activation() {
    let mut random = Random::stream(Seed(1), "walks");
    let (mut last, mut deferred) = (0, [0; 2]);
    for round in 0..400 {
        let (classes, shares) = tree(round % 2 == 0);
        let leaves: Vec<usize> = (0..classes.len()).filter(|class| classes.is_leaf(*class)).collect();
        let mut both = [(); 2].map(|()| Sharing::new(&classes, &shares));
        let (mut waiting, mut now) = (vec![0_u32; classes.len()], Instant::ZERO);
        for _ in 0..200 {
            now = now + Duration::from_micros(u64::from(random.below(3_000)));
            for leaf in leaves.iter().filter(|_| random.below(6) == 0) {
                if waiting[*leaf] == 0 {
                    for sharing in &mut both {
                        sharing.activate(*leaf, now, now);
                    }
                }
                waiting[*leaf] += 1;
            }
            let [one, other] = both.each_mut().map(|sharing| sharing.select(now));
            assert_eq!(one, other);
            let next = both.each_ref().map(Sharing::next_eligible_at);
            assert_eq!(next[0], next[1]);
            let Some(leaf) = one else { continue };
            let packet = SentPacket::new(Bytes(u64::from(64 + random.below(1_450))), random.below(9) > 0);
            let sent = now;
            waiting[leaf] -= 1;
            now = now + Duration::from_micros(u64::from(random.below(2_000)));
            let [one, other] = &mut both;
            other.account(leaf, packet, waiting[leaf] == 0, sent);
            if waiting[leaf] > 0 {
                one.account(leaf, packet, false, sent);
                continue;
            }
            let begins_again = random.below(3) > 0;
            last += 1;
            let is_deferred = one.defer_deactivation(leaf, packet, sent);
            deferred[usize::from(begins_again)] += u32::from(is_deferred);
            match (is_deferred, begins_again) {
                (true, true) => one.reactivate(leaf, now),
                (true, false) => one.deactivate(leaf, now),
                (false, _) => one.account(leaf, packet, true, sent),
            }
            if begins_again {
                waiting[leaf] = 1;
                other.activate(leaf, now, now);
                if !is_deferred {
                    one.activate(leaf, now, now);
                }
            }
        }
    }
    assert!(last > 10_000 && deferred.iter().all(|count| *count > last / 12), "{deferred:?} of {last}");
}
