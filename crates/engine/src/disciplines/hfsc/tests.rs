use super::curve::{Curve, work};
use super::*;
use crate::disciplines::fifo::{self, Fifo};
use crate::random::{Random, Seed};
use crate::units::{Duration, Rate};

fn shape(m1: u64, d: u64, m2: u64) -> Shape {
    Shape { m1: Rate::from_bits(m1), d: Duration::from_picos(d), m2: Rate::from_bits(m2) }
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
fn a_concave_curve_becomes_the_lower_one_of_all_that_began() {
    let mut random = Random::stream(Seed(1), "curve");
    for _ in 0..300 {
        let mut rate = || 1 + u64::from(random.below(4_000_000));
        let (one, other) = (rate(), rate());
        let d = u64::from(random.below(40_000_000)) * 1_000;
        let shape = shape(one.max(other), d, one.min(other));
        let mut curve = Curve::new(&shape, 0, 0);
        let mut all = vec![curve];
        let (mut x, mut y) = (0, 0);
        for _ in 0..12 {
            x += u128::from(random.below(60_000_000)) * 1_000;
            y += work(Bytes(u64::from(random.below(9_000))));
            curve.lower(&shape, x, y);
            all.push(Curve::new(&shape, x, y));
            for _ in 0..4 {
                let wanted = y + work(Bytes(u64::from(random.below(20_000))));
                // The lower curve is the last to get there. Where two meet is rounded up, each time.
                let exact = all.iter_mut().map(|curve| curve.time_of(wanted)).max().expect("some");
                let time = curve.time_of(wanted).max(x);
                let slack = u128::from(one.max(other) / one.min(other) + 1) * 13;
                assert!(time <= exact.max(x) && time + slack >= exact, "{time} for {exact}");
            }
        }
    }
}

/// Two inner classes of three leaves and a leaf, with limits and curves of two pieces among them.
fn tree() -> (Classes, Vec<Shares>) {
    let inner = |shares: [&str; 3]| Node::class("inner", shares.map(child).into()).expect("valid");
    let two = r#"{ "ls": { "m1": "4mbit", "d": "20ms", "m2": "1mbit" } }"#;
    let limited = r#"{ "ls": "3mbit", "ul": "2mbit" }"#;
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
fn a_leaf_that_empties_and_begins_again_stands_as_if_the_two_were_noted_one_after_the_other() {
    let (classes, shares) = tree();
    let leaves: Vec<usize> = (0..classes.len()).filter(|class| classes.is_leaf(*class)).collect();
    let mut random = Random::stream(Seed(1), "walks");
    let (mut in_one, mut shortcuts) = (0, 0);
    for _ in 0..200 {
        let mut both = [(); 2].map(|()| Sharing::new(&classes, &shares));
        let (mut waiting, mut now) = (vec![0_u32; classes.len()], Instant::ZERO);
        for _ in 0..200 {
            now = now + Duration::from_micros(u64::from(random.below(3_000)));
            for leaf in leaves.iter().filter(|_| random.below(6) == 0) {
                if waiting[*leaf] == 0 {
                    for sharing in &mut both {
                        sharing.begin(*leaf, now, now);
                    }
                }
                waiting[*leaf] += 1;
            }
            let [one, other] = both.each_mut().map(|sharing| sharing.choose(now));
            assert_eq!(one, other);
            let next = both.each_ref().map(Sharing::next_fit);
            assert_eq!(next[0], next[1]);
            let Some(leaf) = one else { continue };
            let (length, sent) = (Bytes(u64::from(64 + random.below(1_450))), now);
            waiting[leaf] -= 1;
            now = now + Duration::from_micros(u64::from(random.below(2_000)));
            let begins_again = waiting[leaf] == 0 && random.below(3) > 0;
            if !begins_again {
                for sharing in &mut both {
                    sharing.sent(leaf, length, waiting[leaf] == 0, sent);
                }
                continue;
            }
            in_one += 1;
            waiting[leaf] = 1;
            let [one, other] = &mut both;
            other.sent(leaf, length, true, sent);
            other.begin(leaf, now, now);
            if one.sent_and_begun(leaf, length, now, now) {
                shortcuts += 1;
            } else {
                one.sent(leaf, length, true, sent);
                one.begin(leaf, now, now);
            }
        }
    }
    assert!(in_one > 3_000 && shortcuts > in_one / 3 && shortcuts < in_one, "{shortcuts} of {in_one}");
}
