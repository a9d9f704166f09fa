use super::*;
use crate::disciplines::fifo::{self, Fifo};
use crate::random::{Random, Seed};
use crate::units::{Duration, PICOS_PER_SECOND};

fn share(text: &str) -> Share {
    serde_json::from_str(text).expect("a share")
}

fn leaf(share: Share) -> Child<Share> {
    Child { share, node: Node::new::<Fifo>("leaf", fifo::Config::default(), Vec::new()).expect("valid") }
}

#[test]
fn what_cannot_be_is_refused_at_its_class() {
    let cases = [
        ("rate", r#"{ "rate": "0bit" }"#),
        ("ceil", r#"{ "rate": "2mbit", "ceil": "1mbit" }"#),
        ("burst", r#"{ "rate": "1mbit", "burst": "0B" }"#),
        ("cburst", r#"{ "rate": "1mbit", "cburst": "0B" }"#),
        ("mpu", r#"{ "rate": "1mbit", "mpu": "65536B" }"#),
        ("overhead", r#"{ "rate": "1mbit", "overhead": "65536B" }"#),
        ("prio", r#"{ "rate": "1mbit", "prio": 8 }"#),
        ("quantum", r#"{ "rate": "1mbit", "quantum": "999B" }"#),
    ];
    for (field, text) in cases {
        let children = vec![leaf(share(r#"{ "rate": "1mbit" }"#)), leaf(share(text))];
        let refused = Htb::new(Config::default(), children).err().expect(text);
        assert_eq!((refused.field, refused.child), (field, Some(1)), "{text}");
    }
    let children = vec![leaf(share(r#"{ "rate": "1mbit" }"#))];
    assert_eq!(Htb::new(Config { r2q: 0 }, children).err().expect("refused").field, "r2q");
}

#[test]
fn a_quantum_follows_from_the_rate_within_the_limits_of_tc() {
    for (rate, quantum) in [("8kbit", 1_000), ("1mbit", 12_500), ("1gbit", 200_000)] {
        let tuning =
            Tuning::new(&share(&format!(r#"{{ "rate": "{rate}" }}"#)), &Config::default()).expect("valid");
        assert_eq!(tuning.quantum, quantum, "{rate}");
    }
}

#[test]
fn a_bucket_is_exact_however_often_it_is_looked_at() {
    let mut random = Random::stream(Seed(1), "bucket");
    for _ in 0..200 {
        let rate = 1 + u64::from(random.below(u32::MAX)) * 7;
        let (mut once, mut often) = (
            bucket::Bucket::new(Rate::from_bits(rate), Bytes(1_000)),
            bucket::Bucket::new(Rate::from_bits(rate), Bytes(1_000)),
        );
        once.charge(Bytes(60_000));
        often.charge(Bytes(60_000));
        let debt = (59_000 * 8 * u128::from(PICOS_PER_SECOND)).div_ceil(u128::from(rate));
        assert_eq!(u128::from(once.recovery().as_picos()), debt);
        let steps = 1 + u64::from(random.below(50));
        let step = Duration::from_picos(once.recovery().as_picos() / (2 * steps));
        for _ in 0..steps {
            often.fill(step);
        }
        once.fill(step * steps);
        assert_eq!(once.recovery(), often.recovery());
        assert!(!once.is_solvent());
        once.fill(once.recovery());
        assert!(once.is_solvent());
    }
}

#[test]
fn a_debt_is_forgiven_after_a_minute() {
    let mut bucket = bucket::Bucket::new(Rate::from_bits(1_000), Bytes(1));
    bucket.charge(Bytes(u64::from(u32::MAX)));
    assert_eq!(bucket.recovery(), Duration::from_secs(60));
}
