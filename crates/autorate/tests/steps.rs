//! Rate steps of `brake` before the plant, and what every law keeps.

mod plant;

use lockgate_autorate::{Bounds, Controller, Law, MOST_PROBES, Parameters, Sample, Why};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use plant::{Outcome, Plant, run};
use proptest::prelude::*;

fn mbit(mbit: u64) -> Rate {
    Rate::from_bits(mbit * 1_000_000)
}

fn brake(start: u64) -> Controller {
    let bounds = Bounds { min: Rate::from_bits(200_000), max: mbit(500), start: mbit(start) };
    Controller::new(Law::Brake, &Parameters::default(), bounds)
}

const FULL: &dyn Fn(u64) -> u64 = &|_| 1_000_000_000;

fn saturated(rtt: u64, length_ms: u64, capacity: &dyn Fn(u64) -> u64, start: u64) -> Outcome {
    let plant =
        Plant { rtt_ms: &|_| rtt, capacity, demand: FULL, length_ms, probes_ms: None, reads_acks: true };
    run(&plant, &mut brake(start))
}

#[test]
fn a_rate_that_falls_by_half_is_drained_within_a_second() {
    for rtt in [20, 40, 100] {
        let outcome = saturated(rtt, 20_000, &|ms| if ms < 10_000 { 20_000_000 } else { 10_000_000 }, 20);
        let drained = outcome.moments.iter().find(|moment| moment.ms > 10_050 && moment.queue_ms <= 20);
        assert!(drained.is_some_and(|moment| moment.ms <= 11_000), "{rtt} ms: {:?}", drained.map(|m| m.ms));
        assert!(
            outcome.utilisation(11_000, 20_000) > 0.9,
            "{rtt} ms: {}",
            outcome.utilisation(11_000, 20_000)
        );
    }
}

#[test]
fn a_rate_that_doubles_is_used_within_ten_seconds() {
    for rtt in [20, 40, 100] {
        let outcome = saturated(rtt, 30_000, &|ms| if ms < 10_000 { 10_000_000 } else { 20_000_000 }, 10);
        let used = outcome.utilisation(20_000, 30_000);
        assert!(used > 0.9, "{rtt} ms: {used}");
        let first = outcome.moments.iter().find(|moment| moment.ms > 10_000 && moment.rate >= 18_000_000);
        assert!(first.is_some_and(|moment| moment.ms <= 20_000), "{rtt} ms");
    }
}

#[test]
fn an_outage_of_five_seconds_is_over_within_three() {
    for rtt in [20, 40, 100] {
        let capacity = |ms: u64| if (10_000..15_000).contains(&ms) { 0 } else { 20_000_000 };
        let outcome = saturated(rtt, 25_000, &capacity, 20);
        assert!(outcome.moments.iter().any(|moment| moment.reason.why == Why::Outage));
        assert!(outcome.moments.iter().any(|moment| moment.reason.why == Why::Resumed));
        let used = outcome.utilisation(18_000, 25_000);
        assert!(used > 0.9, "{rtt} ms: {used}");
    }
}

#[test]
fn a_constant_line_costs_at_most_three_percent() {
    for rtt in [20, 40, 100] {
        let outcome = saturated(rtt, 60_000, &|_| 20_000_000, 10);
        let used = outcome.utilisation(10_000, 60_000);
        assert!(used >= 0.97, "{rtt} ms: {used}");
        assert!(outcome.quantile(0.95) <= 75, "{rtt} ms: p95 {} ms", outcome.quantile(0.95));
    }
}

#[test]
fn a_day_of_idle_moves_nothing() {
    let mut controller = brake(20);
    let idle = Sample { delivered: Some(Bytes(0)), ..Sample::default() };
    let probe = |step: u64| {
        let mut probes = [None; MOST_PROBES];
        probes[0] = step.is_multiple_of(10).then(|| Duration::from_millis(20 + step % 7));
        Sample { probes, sent: Bytes(if step.is_multiple_of(10) { 98 } else { 0 }), ..idle }
    };
    for step in 1..=86_400_u64 {
        let (rate, reason) = controller.step(Instant::ZERO + Duration::from_secs(step), &probe(step));
        assert_eq!(rate, mbit(20), "step {step}: {reason}");
    }
}

#[test]
fn a_longer_path_does_not_starve_the_line() {
    // A handover, from one packet to the next: 8 ms more could be a small queue, 60 ms a long one.
    for longer in [8, 60] {
        let plant = Plant {
            rtt_ms: &|ms| if ms < 10_000 { 40 } else { 40 + longer },
            capacity: &|_| 20_000_000,
            demand: FULL,
            length_ms: 20_000,
            probes_ms: None,
            reads_acks: true,
        };
        let outcome = run(&plant, &mut brake(20));
        assert!(outcome.moments.iter().any(|moment| moment.reason.why == Why::PathChange), "{longer} ms");
        let used = outcome.utilisation(12_000, 18_000);
        assert!(used > 0.93, "{longer} ms: {used}");
    }
}

fn sample() -> impl Strategy<Value = (u64, Sample)> {
    let time = || proptest::option::of(any::<u64>().prop_map(Duration::from_picos));
    let bytes = || prop_oneof![0_u64..10_000_000, any::<u64>()].prop_map(Bytes);
    let capacity = proptest::option::of(any::<u64>().prop_map(Rate::from_bits));
    (
        prop_oneof![0_u64..2_000_000_000_000, any::<u64>()],
        (bytes(), bytes(), proptest::option::of(bytes()), time(), time(), any::<bool>(), capacity),
        proptest::array::uniform8(time()),
    )
        .prop_map(|(later, (sent, tracked, delivered, rtt, oldest, is_backlogged, capacity), probes)| {
            (later, Sample { sent, tracked, delivered, rtt, oldest, probes, is_backlogged, capacity })
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_samples_leave_the_rate_within_its_bounds(
        samples in proptest::collection::vec(sample(), 1..120),
        bounds in (1_u64..1_000_000_000, 1_u64..10_000_000_000, any::<u64>()),
    ) {
        let (min, more, start) = bounds;
        let bounds = Bounds {
            min: Rate::from_bits(min),
            max: Rate::from_bits(min + more),
            start: Rate::from_bits(start),
        };
        for law in Law::ALL {
            let mut controller = Controller::new(*law, &Parameters::default(), bounds);
            let mut now = Instant::ZERO;
            for (later, sample) in &samples {
                now = Instant::from_picos(now.as_picos().saturating_add(*later));
                let (rate, reason) = controller.step(now, sample);
                prop_assert!(rate >= bounds.min && rate <= bounds.max, "{law}: {rate:?}");
                prop_assert!(!reason.to_string().is_empty());
            }
        }
    }
}
