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
