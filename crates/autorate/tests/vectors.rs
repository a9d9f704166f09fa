//! Steps of each law that a person can check by hand.

use lockgate_autorate::{Bounds, Controller, Law, MOST_PROBES, Parameters, Sample, Why};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn kbit(kbit: u64) -> Rate {
    Rate::from_bits(kbit * 1000)
}

fn controller(law: Law) -> Controller {
    let bounds = Bounds { min: kbit(1000), max: kbit(100_000), start: kbit(10_000) };
    Controller::new(law, &Parameters::default(), bounds)
}

/// A sample of a shaper that sent for `length` at 10 Mbit/s, with these answers of its probes.
fn loaded(length: u64, answers: &[u64]) -> Sample {
    let mut probes = [None; MOST_PROBES];
    for (probe, answer) in probes.iter_mut().zip(answers) {
        *probe = Some(ms(*answer));
    }
    Sample { sent: Bytes(1250 * length), probes, is_backlogged: true, ..Sample::default() }
}

#[test]
fn brake_follows_what_is_delivered_and_brakes_by_the_queue() {
    let mut controller = controller(Law::Brake);
    let sample = |sent: u64, delivered: u64, rtt: u64| Sample {
        sent: Bytes(sent),
        tracked: Bytes(sent),
        delivered: Some(Bytes(delivered)),
        rtt: Some(ms(rtt)),
        is_backlogged: true,
        ..Sample::default()
    };
    // No queue: 30 % of growth in a round trip of 40 ms are 7.5 % in a step of 10 ms; 98 % of it is sent.
    for step in 1..=13 {
        let sent = controller.rate().as_bits() / 800;
        let (rate, reason) = controller.step(at(10 * step), &sample(sent, sent, 40));
        if step > 1 {
            assert_eq!(reason.why, Why::Grow, "step {step}");
            let expected = 10_000_000.0 * 1.075_f64.powi(step as i32 - 1) * 0.98;
            assert!((rate.as_bits() as f64 - expected).abs() < 50.0, "{rate:?}, not {expected}");
        }
    }
    // A queue of 70 ms, while 5 Mbit/s are delivered: 0.98 - (70 - 3) / 125 = 0.444 of them, once the span of
    // 60 ms has seen nothing else.
    for step in 14..=30 {
        let _ = controller.step(at(10 * step), &sample(6250, 6250, 110));
    }
    let (rate, reason) = controller.step(at(310), &sample(6250, 6250, 110));
    assert_eq!((rate, reason.why), (kbit(2220), Why::Brake));
    assert_eq!(reason.delay, Some(ms(70)));
}

#[test]
fn brake_grows_only_if_what_it_allows_is_used() {
    let mut controller = controller(Law::Brake);
    let sample = Sample {
        // Half of 10 Mbit/s, although a packet waits at the end of each step: bursts.
        sent: Bytes(6250),
        tracked: Bytes(6250),
        delivered: Some(Bytes(6250)),
        rtt: Some(ms(40)),
        is_backlogged: true,
        ..Sample::default()
    };
    for step in 1..=100 {
        let (rate, reason) = controller.step(at(10 * step), &sample);
        assert_eq!(rate, kbit(10_000), "step {step}: {reason}");
    }
}

#[test]
fn brake_takes_the_waits_between_clumps_for_no_queue() {
    // 3 Mbit/s in clumps of 15 kB each 40 ms, each of which a packet may wait for: 12 ms are no queue. On an
    // even line they are one, until they have stayed although less was sent.
    let run = |is_even: bool| {
        let mut controller = controller(Law::Brake);
        let mut lowest = controller.rate();
        for step in 1..=400_u64 {
            let sent = controller.rate().as_bits().min(3_000_000) / 800;
            let clump = if is_even {
                3750
            } else if step % 4 == 0 {
                15_000
            } else {
                0
            };
            let sample = Sample {
                sent: Bytes(sent),
                tracked: Bytes(sent),
                delivered: Some(Bytes(clump)),
                rtt: (clump > 0).then(|| ms(if step == 4 { 40 } else { 52 })),
                is_backlogged: true,
                ..Sample::default()
            };
            lowest = lowest.min(controller.step(at(10 * step), &sample).0);
        }
        (lowest, controller.rate())
    };
    let ((even, _), (_, clumps)) = (run(true), run(false));
    assert!(even < kbit(2800), "12 ms are a queue on an even line: {even:?}");
    assert!(clumps > kbit(2900), "and none on this one: {clumps:?}");
}

#[test]
fn brake_comes_down_from_a_start_far_above_the_line() {
    let bounds = Bounds { min: kbit(1000), max: kbit(100_000), start: kbit(100_000) };
    // All that is sent arrives, with a queue of 40 ms after a while: a load of a sixth, or of a thousandth.
    let step_down = |bytes: u64| {
        let mut controller = Controller::new(Law::Brake, &Parameters::default(), bounds);
        let sample = |rtt: u64| Sample {
            sent: Bytes(bytes),
            tracked: Bytes(bytes),
            delivered: Some(Bytes(bytes)),
            rtt: Some(ms(rtt)),
            ..Sample::default()
        };
        for step in 1..=12 {
            let _ = controller.step(at(10 * step), &sample(40));
        }
        for step in 13..=29 {
            let _ = controller.step(at(10 * step), &sample(80));
        }
        controller.step(at(300), &sample(80))
    };
    // 16 Mbit/s are more than the least rate, and may be all that the line has: 0.98 - (40 - 3) / 125 of
    // them.
    let (rate, reason) = step_down(20_000);
    assert_eq!((rate, reason.why), (kbit(10_944), Why::Brake));
    // A call of 80 kbit/s is not held back for a delay that others make.
    let (rate, reason) = step_down(100);
    assert_eq!(reason.why, Why::Idle);
    assert!(rate >= kbit(98_000), "{rate:?}");
}

#[test]
fn brake_halves_after_an_outage() {
    let mut controller = controller(Law::Brake);
    let answered = Sample { delivered: Some(Bytes(0)), rtt: Some(ms(40)), ..Sample::default() };
    let _ = controller.step(at(0), &answered);
    let silent = |ms: u64| Sample {
        delivered: Some(Bytes(0)),
        oldest: Some(Duration::from_millis(ms)),
        ..Sample::default()
    };
    for step in 1..=52 {
        let _ = controller.step(at(10 * step), &silent(10 * step));
    }
    let (rate, reason) = controller.step(at(530), &silent(530));
    // Four packets of 1514 bytes in the 530 ms that a round trip has taken by now are less than the least
    // rate.
    assert_eq!((rate, reason.why), (kbit(1000), Why::Outage));
    let (rate, reason) = controller.step(at(540), &answered);
    assert_eq!((rate, reason.why), (kbit(5000), Why::Resumed));
}

#[test]
fn delta_steps_cuts_by_the_mean_delta() {
    let mut controller = controller(Law::DeltaSteps);
    // First answers: no delta, full load: 4 % up.
    let _ = controller.step(at(0), &loaded(10, &[]));
    let (rate, reason) = controller.step(at(10), &loaded(10, &[20]));
    assert_eq!((rate, reason.why), (kbit(10_400), Why::Grow));
    // Three late answers of three: deltas of half of 100 ms (less a thousandth a step, by which the baseline
    // follows); with the first of none the mean of four is about 37 ms: a quarter of the way from 30 to 60.
    let (rate, reason) = controller.step(at(20), &loaded(10, &[120, 20, 20]));
    assert_eq!(reason.why, Why::Grow, "one late answer of four is none: {rate:?}");
    let (_, reason) = controller.step(at(30), &loaded(10, &[120, 120, 120]));
    assert_eq!(reason.why, Why::Cut);
    let (held, reason) = controller.step(at(40), &loaded(10, &[120, 120, 120]));
    assert_eq!(reason.why, Why::Hold, "within 300 ms of a cut");
    let (rate, reason) = controller.step(at(340), &loaded(300, &[120, 120, 120]));
    // All six deltas near 50 ms: two thirds of the way from 0.99 to 0.75.
    assert_eq!(reason.why, Why::Cut);
    let factor = rate.as_bits() as f64 / held.as_bits() as f64;
    assert!((factor - 0.83).abs() < 0.005, "{factor}");
}

#[test]
fn delta_steps_returns_to_the_start_without_load() {
    let mut controller = controller(Law::DeltaSteps);
    let _ = controller.step(at(0), &loaded(10, &[]));
    let (up, _) = controller.step(at(10), &loaded(10, &[20]));
    assert_eq!(up, kbit(10_400));
    let idle = |answers: &[u64]| Sample { sent: Bytes(0), is_backlogged: false, ..loaded(0, answers) };
    let _ = controller.step(at(500), &idle(&[]));
    let (rate, reason) = controller.step(at(1000), &idle(&[20]));
    assert_eq!((rate, reason.why), (kbit(10_296), Why::Decay));
    assert_eq!(controller.step(at(1500), &idle(&[20])).0, kbit(10_296), "once a second");
}

#[test]
fn safe_rates_grows_by_the_headroom_and_falls_to_a_safe_rate() {
    let mut controller = controller(Law::SafeRates);
    let _ = controller.step(at(0), &loaded(10, &[20, 20, 20]));
    let (rate, reason) = controller.step(at(500), &loaded(500, &[20, 20, 20]));
    // Used to the full: 10 Mbit/s is the largest safe rate, no headroom; 3 % of the start.
    assert_eq!((rate, reason.why), (kbit(10_300), Why::Grow));
    let (held, reason) = controller.step(at(600), &loaded(100, &[220, 220, 220]));
    assert_eq!((held, reason.why), (kbit(10_300), Why::Hold));
    let (rate, reason) = controller.step(at(1000), &loaded(400, &[220, 220, 220]));
    assert_eq!(reason.why, Why::Cut);
    // 0.9 of 10 Mbit/s that were used, or one of the first safe rates, from 7.5 Mbit/s on.
    assert!(rate >= kbit(7500) && rate <= kbit(9000), "{rate:?}");
}

#[test]
fn ratio_probes_each_ten_seconds_and_cuts_by_two_steps() {
    let mut controller = controller(Law::Ratio);
    let mut rates = Vec::new();
    for second in 0..=12 {
        let rtt = if second >= 12 { 50 } else { 40 };
        let length = if second == 0 { 10 } else { 1000 };
        // The load is that of the last 200 ms: steps of 100 ms.
        for part in 0..10 {
            let now = at(1000 * second + 100 * part);
            let (rate, reason) =
                controller.step(now, &Sample { sent: Bytes(1250 * length / 10 * 2), ..loaded(0, &[rtt]) });
            if part == 0 {
                rates.push((rate, reason.why));
            }
        }
    }
    assert_eq!(rates[1], (kbit(11_500), Why::Grow));
    assert_eq!(rates[5], (kbit(11_500), Why::Hold));
    assert_eq!(rates[11], (kbit(13_225), Why::Grow));
    // 50 ms over a baseline of 40: above 1.2 of it, from the tick that sees it.
    let (rate, reason) = controller.step(at(13_000), &loaded(0, &[50]));
    assert_eq!((rate, reason.why), (kbit(11_638), Why::Cut));
}

#[test]
fn fixed_keeps_its_rate_within_the_bounds() {
    let mut parameters = Parameters::default();
    parameters.fixed.rate = Some(kbit(5000));
    let bounds = Bounds { min: kbit(1000), max: kbit(4000), start: kbit(2000) };
    let mut controller = Controller::new(Law::Fixed, &parameters, bounds);
    assert_eq!(controller.step(at(0), &loaded(10, &[500])).0, kbit(4000));
}

#[test]
fn oracle_knows_the_capacity_of_a_round_trip_ago() {
    let mut controller = controller(Law::Oracle);
    let sample = |mbit: u64| Sample {
        capacity: Some(kbit(1000 * mbit)),
        delivered: Some(Bytes(0)),
        rtt: Some(ms(40)),
        ..Sample::default()
    };
    for step in 0..=30 {
        let _ = controller.step(at(10 * step), &sample(20));
    }
    assert_eq!(controller.rate(), kbit(19_600));
    for step in 31..=34 {
        let _ = controller.step(at(10 * step), &sample(10));
    }
    assert_eq!(controller.rate(), kbit(19_600), "the new capacity is 40 ms old only after 350 ms");
    for step in 35..=45 {
        let _ = controller.step(at(10 * step), &sample(10));
    }
    assert_eq!(controller.rate(), kbit(9800));
}

#[test]
fn a_parameter_out_of_its_range_is_named() {
    let read = |text: &str| toml::from_str::<Parameters>(text).expect("parameters").check();
    assert!(read("").is_ok());
    let (law, unfit) = read("brake = { drain = '1ms' }").expect_err("too short");
    assert_eq!((law, unfit.field), ("brake", "drain"));
    assert_eq!(unfit.range, "it is from `10ms` to `10s`");
    assert_eq!(read("fixed = { rate = '0bit' }").expect_err("zero").1.field, "rate");
    assert!(toml::from_str::<Parameters>("brake = { dran = '1ms' }").is_err());
    for law in Law::ALL {
        assert_eq!(law.name().parse(), Ok(*law));
    }
}
