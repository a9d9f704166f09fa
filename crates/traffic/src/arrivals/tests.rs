//! Tests of arrivals: rates, gaps and bursts follow their laws; invalid configurations are refused; none
//! hangs.

use std::sync::Arc;

use lockgate_engine::units::Bytes;
use proptest::prelude::*;

use super::*;
use crate::config::{BurstStart, ReplayConfig};
use crate::files::Captures;
use crate::frame::LARGEST_FRAME;
use crate::law::LawConfig;
use crate::replay::Replay;

const SEED: Seed = Seed(1);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn traffic(text: &str) -> TrafficConfig {
    toml::from_str(text).expect("reads")
}

fn arrivals(text: &str) -> Arrivals {
    match Arrivals::new(&traffic(text), SEED, "flow", &LoadedFiles::none()) {
        Ok(arrivals) => arrivals,
        Err(problem) => panic!("{problem}"),
    }
}

/// The first `count` emissions, or all there are.
fn take(arrivals: &mut Arrivals, count: usize) -> Vec<Emission> {
    let mut emissions = Vec::new();
    while emissions.len() < count {
        let before = emissions.len();
        arrivals.fill(&mut emissions);
        assert!(emissions.len() - before <= BATCH);
        if emissions.len() == before {
            break;
        }
    }
    assert!(emissions.is_sorted_by_key(|emission| emission.at));
    assert!(emissions.iter().all(|emission| (1..=LARGEST_FRAME).contains(&emission.length)));
    emissions.truncate(count);
    emissions
}

/// Rate in bit/s from the flow's start to the last emission.
fn rate(emissions: &[Emission]) -> f64 {
    let bits: f64 = emissions.iter().map(|emission| f64::from(emission.length) * 8.0).sum();
    bits / emissions[emissions.len() - 1].at.as_secs_f64()
}

#[test]
fn gaps_are_drawn_before_each_packet_and_rates_start_at_once() {
    let mut constant = arrivals("gap = '20ms'\nsize = '200B'");
    let times: Vec<Duration> = take(&mut constant, 3).iter().map(|emission| emission.at).collect();
    assert_eq!(times, [ms(20), ms(40), ms(60)]);
    let mut rate = arrivals("rate = '1mbit'\npayload = '83B'");
    assert_eq!(take(&mut rate, 3), [0, 1, 2].map(|n| Emission { at: ms(n), length: 125 }));
}

#[test]
fn a_constant_bit_rate_is_exact_whatever_the_sizes() {
    for bits in ["300bit", "9.999999mbit", "7gbit", "8000gbit"] {
        let mut source = arrivals(&format!(
            "rate = '{bits}'\nsize = {{ distribution = 'uniform', min = '64B', max = '1518B' }}"
        ));
        let emissions = take(&mut source, 10_000);
        let sent: u128 =
            emissions[..9_999].iter().map(|emission| u128::from(emission.length) * 8_000_000_000_000).sum();
        let rate: Rate = bits.parse().expect("a rate");
        // The sum of all gaps is the time of all bytes, to the picosecond.
        assert_eq!(u128::from(emissions[9_999].at.as_picos()), sent / u128::from(rate.as_bits()), "{bits}");
    }
}

#[test]
fn the_packets_of_a_batch_come_back_to_back() {
    // A batch of three takes 3 ms at the rate, whatever the sizes within it.
    let mut constant = arrivals("rate = '1mbit'\nsize = '125B'\nbatch = '3p'");
    let times: Vec<Duration> = take(&mut constant, 7).iter().map(|emission| emission.at).collect();
    assert_eq!(times, [0, 0, 0, 3, 3, 3, 6].map(ms));
    let mut source = arrivals(
        "gap = { distribution = 'exponential', mean = '2ms' }\nsize = { distribution = 'uniform', min = '100B', max = '150B' }\nbatch = '2p'",
    );
    let emissions = take(&mut source, 400_000);
    assert!(emissions.chunks(2).all(|pair| pair[0].at == pair[1].at));
    let batches: Vec<Emission> = emissions.chunks(2).map(|pair| pair[0]).collect();
    assert!(
        batches.windows(2).filter(|pair| pair[0].at == pair[1].at).count() < 10,
        "a batch is two packets"
    );
    // The gaps are those of the same flow without batches, and twice as many packets come.
    let mut single = arrivals("gap = { distribution = 'exponential', mean = '2ms' }\nsize = '125B'");
    let single = take(&mut single, 1_000);
    let mean = |emissions: &[Emission]| emissions[999].at.as_secs_f64() / 1_000.0;
    assert!((mean(&batches) / mean(&single) - 1.0).abs() < 0.15);
    assert!((rate(&emissions) / 1e6 - 1.0).abs() < 0.02, "{}", rate(&emissions));
    let mean_rate = |text: &str| arrivals(text).mean_rate().expect("a mean");
    let (pairs, alone) = ("gap = '2ms'\nsize = '125B'\nbatch = '2p'", "gap = '2ms'\nsize = '125B'");
    assert!((mean_rate(pairs) - 2.0 * mean_rate(alone)).abs() < 1e-6);
}

/// The number of a Poisson process's packets in an interval has equal mean and variance.
#[test]
fn exponential_gaps_are_a_poisson_process() {
    let mut source = arrivals("gap = { distribution = 'exponential', mean = '1ms' }\nsize = '125B'");
    let emissions = take(&mut source, 400_000);
    let mut counts = vec![0.0f64; 3_900];
    for emission in &emissions {
        if let Some(count) = counts.get_mut((emission.at.as_picos() / 100_000_000_000) as usize) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / 3_900.0;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 3_899.0;
    assert!((mean - 100.0).abs() < 0.7, "{mean}");
    assert!((variance / 100.0 - 1.0).abs() < 0.1, "{variance}");
    assert!((source.mean_rate().expect("finite") - 1e6).abs() < 1e-3);
}

/// Common random numbers: another size law, another flow or another discipline sees the same gaps.
#[test]
fn streams_are_those_of_the_flow_and_the_purpose() {
    let gap = "gap = { distribution = 'gamma', shape = 2, mean = '1ms' }\n";
    let times = |size: &str, seed, flow: &str| {
        let config = traffic(&format!("{gap}{size}"));
        let mut source = Arrivals::new(&config, Seed(seed), flow, &LoadedFiles::none()).expect("sound");
        take(&mut source, 100).iter().map(|emission| emission.at).collect::<Vec<_>>()
    };
    let random = "size = { distribution = 'normal', mean = '500B', std = '100B' }";
    assert_eq!(times("size = '64B'", 1, "a"), times(random, 1, "a"));
    assert_ne!(times("size = '64B'", 1, "a"), times("size = '64B'", 2, "a"));
    assert_ne!(times("size = '64B'", 1, "a"), times("size = '64B'", 1, "b"));
    let law = Law::new(
        &LawConfig { shape: Some(2.0), mean: Some(ms(1)), ..LawConfig::of(crate::laws::Kind::Gamma) },
        "gap",
        &LoadedFiles::none(),
    )
    .expect("sound");
    assert_eq!(times("size = '64B'", 1, "a")[0], law.draw(&mut Random::stream(Seed(1), "flow/a/gaps")));
}

#[test]
fn bursts_stop_the_flows_clock() {
    let mut square = arrivals("gap = '4ms'\nsize = '64B'\nbursts = { on = '10ms', off = '100ms' }");
    let times: Vec<u64> =
        take(&mut square, 6).iter().map(|emission| emission.at.as_picos() / 1_000_000_000).collect();
    // On its own clock 4, 8, 12, 16, 20, 24: periods of sending end at 10 and at 20.
    assert_eq!(times, [4, 8, 112, 116, 220, 224]);
    let mut late =
        arrivals("gap = '4ms'\nsize = '64B'\nbursts = { on = '10ms', off = '100ms', start = 'off' }");
    assert_eq!(take(&mut late, 1)[0].at, ms(104));
}

#[test]
fn markov_bursts_keep_their_share_of_the_rate() {
    let text = "rate = '8mbit'\nsize = '1000B'\nbursts = { on = { distribution = 'exponential', mean = '10ms' }, off = { distribution = 'exponential', mean = '30ms' }, start = 'random' }";
    let mut source = arrivals(text);
    let emissions = take(&mut source, 200_000);
    assert!((source.mean_rate().expect("finite") - 2e6).abs() < 1.0);
    assert!((rate(&emissions) / 2e6 - 1.0).abs() < 0.02, "{}", rate(&emissions));
    // Random starts: three quarters of many such flows begin in silence, for 30 ms on average.
    let silent = (0..400).filter(|flow| {
        let mut source = Arrivals::new(&traffic(text), SEED, &format!("flow/{flow}"), &LoadedFiles::none())
            .expect("sound");
        take(&mut source, 1)[0].at > Duration::ZERO
    });
    let silent = silent.count();
    assert!(silent.abs_diff(300) < 40, "{silent}");
}

/// Each profile keeps the rate that theory gives it, and its own numbers.
#[test]
fn profiles_are_what_they_say() {
    let expected = [
        ("g711", 214.0 * 8.0 / 0.02 * 1.004 / 2.591),
        ("imix", 10e6),
        ("game", 125.0 * 8.0 / 0.04),
        ("game-server", 183.0 * 8.0 / 0.058_463),
        ("video", 10e6),
    ];
    for profile in profile::descriptions() {
        let rate_key = if profile.needs_rate { "rate = '10mbit'\n" } else { "" };
        let mut source = arrivals(&format!("{rate_key}profile = '{}'", profile.name));
        let emissions = take(&mut source, 200_000);
        let theory = expected.iter().find(|(name, _)| *name == profile.name).expect("an expectation").1;
        let stated = source.mean_rate().expect("finite");
        assert!((stated / theory - 1.0).abs() < 1e-6, "{}: {stated} of {theory}", profile.name);
        let achieved = rate(&emissions);
        // Talk spurts are few: two thousand of them leave an error of a few percent.
        assert!((achieved / theory - 1.0).abs() < 0.05, "{}: {achieved} of {theory}", profile.name);
        let mut gaps = emissions.windows(2).map(|pair| pair[1].at.as_picos() - pair[0].at.as_picos());
        match profile.name {
            "g711" => assert!(gaps.all(|gap| gap >= 20_000_000_000) && emissions[7].length == 214),
            "imix" => assert!(emissions.iter().all(|emission| [60, 590, 1514].contains(&emission.length))),
            "video" => {
                let frames = 1 + gaps.filter(|gap| *gap > 0).count();
                let seconds = emissions[emissions.len() - 1].at.as_secs_f64();
                assert!(
                    (frames as f64 / seconds / 30.0 - 1.0).abs() < 0.02,
                    "{frames} frames in {seconds} s"
                );
                assert!(emissions.iter().all(|emission| (60..=1254).contains(&emission.length)));
            }
            _ => {}
        }
    }
}

/// Players of a group do not send at the same time.
#[test]
fn profiles_begin_in_a_random_part_of_a_gap() {
    let first = |flow: &str| {
        let mut source =
            Arrivals::new(&traffic("profile = 'game'"), SEED, flow, &LoadedFiles::none()).expect("sound");
        take(&mut source, 2)
    };
    let (one, other) = (first("player/1"), first("player/2"));
    assert!(one[0].at < ms(40) && other[0].at < ms(40) && one[0].at != other[0].at);
    assert_eq!(one[1].at.saturating_sub(one[0].at), ms(40));
}

fn replayed(speed: f64, repeat: bool) -> Result<Arrivals, Invalid> {
    let packets = vec![(Duration::ZERO, 100), (ms(10), 200), (ms(40), 300)];
    let mut files = LoadedFiles::none();
    files.replays.insert("x".into(), Arc::new(Replay { packets, ..Replay::default() }));
    let replay =
        Some(ReplayConfig { file: "x".into(), speed, longest_gap: None, longest_frame: None, repeat });
    Arrivals::new(&TrafficConfig { replay, ..TrafficConfig::default() }, SEED, "flow", &files)
}

#[test]
fn replays_keep_gaps_scale_them_and_begin_again() {
    let emissions = |speed, repeat, count| {
        let found = take(&mut replayed(speed, repeat).expect("sound"), count);
        found.iter().map(|emission| (emission.at.as_picos() / 1_000_000, emission.length)).collect::<Vec<_>>()
    };
    assert_eq!(emissions(1.0, false, 100), [(0, 100), (10_000, 200), (40_000, 300)]);
    assert_eq!(emissions(4.0, false, 100), [(0, 100), (2_500, 200), (10_000, 300)]);
    assert_eq!(emissions(0.5, false, 100), [(0, 100), (20_000, 200), (80_000, 300)]);
    // The mean gap is 20 ms: the next round begins at 60 ms.
    assert_eq!(emissions(1.0, true, 5)[3..], [(60_000, 100), (70_000, 200)]);
    assert_eq!(emissions(1.0, true, 3_002)[3_001], (60_010_000, 200));
    let source = replayed(2.0, true).expect("sound");
    assert!((source.mean_rate().expect("finite") - 600.0 * 8.0 / 0.03).abs() < 0.1);
}

#[test]
fn the_end_of_time_ends_a_flow() {
    let mut rare = arrivals("gap = '100h'\nsize = '64B'");
    assert_eq!(take(&mut rare, 1_000).len(), 51, "213.5 days hold 51 gaps of 100 h");
    let mut bursts = arrivals("gap = '1h'\nsize = '64B'\nbursts = { on = '1us', off = '1us' }");
    assert_eq!(take(&mut bursts, 10), [], "a gap spans more periods than are followed");
}

#[test]
fn every_problem_is_found_at_once_with_its_field() {
    let problems = |text: &str| {
        let found = traffic(text).check(&LoadedFiles::none());
        found.iter().map(|problem| problem.field.clone()).collect::<Vec<_>>()
    };
    assert_eq!(problems(""), ["gap"]);
    assert_eq!(problems("gap = '0s'\nsize = '0B'"), ["gap", "size"]);
    assert_eq!(problems("gap = '1s'\nrate = '1mbit'\nsize = '1B'\npayload = '1B'"), ["rate", "payload"]);
    assert_eq!(problems("rate = '1mbit'"), ["size"]);
    assert_eq!(problems("rate = '0bit'\nsize = '70kB'"), ["size", "rate"]);
    assert_eq!(problems("rate = '1mbit'\nsize = '9B'\nbatch = '0p'"), ["batch"]);
    assert_eq!(problems("rate = '1mbit'\nsize = '9B'\nbatch = '65537p'"), ["batch"]);
    assert_eq!(problems("profile = 'g711'\nbatch = '2p'"), ["batch"]);
    assert_eq!(problems("rate = '9000gbit'\npayload = '65508B'"), ["payload", "rate"]);
    assert_eq!(problems("profile = 'g712'"), ["profile"]);
    assert_eq!(problems("profile = 'g711'\nrate = '1mbit'\nsize = '9B'"), ["size", "rate"]);
    assert_eq!(problems("profile = 'imix'"), ["rate"]);
    assert_eq!(problems("profile = 'video'\nrate = '10kbit'"), ["rate"]);
    assert_eq!(problems("profile = 'video'\nrate = '0bit'"), ["rate"]);
    assert_eq!(
        problems("replay = { file = 'x', speed = 0.0 }\nrate = '1bit'"),
        ["rate", "replay.speed", "replay.file"]
    );
    let bursts = "gap = { distribution = 'gamma', shape = 1 }\nsize = '9B'\nbursts = { on = '1ns', off = { distribution = 'normal', mean = '1s' } }";
    assert_eq!(problems(bursts), ["gap.mean", "bursts.on", "bursts.off.std"]);
    let known = traffic("profile = 'g712'").check(&LoadedFiles::none());
    assert!(known[0].to_string().contains("`g712` is not known: it is one of `g711` `imix`"), "{}", known[0]);
}

#[test]
fn files_are_loaded_once_each_and_their_problems_told() {
    let config = traffic(
        "rate = '1mbit'\nsize = { distribution = 'empirical', file = 'sizes' }\nbursts = { on = { distribution = 'empirical', file = 'on' }, off = '1s' }",
    );
    assert_eq!(config.files(), [("bursts.on.file", "on"), ("size.file", "sizes")]);
    let mut load = |name: &str| match name {
        "sizes" => Ok(Arc::from(&b"100B 0\n300B 1"[..])),
        _ => Ok(Arc::from(&b"1s 0\n3s 1"[..])),
    };
    let files = config.load_files(&mut load, &mut Captures::within(u64::MAX)).expect("both are sound");
    let source = Arrivals::new(&config, SEED, "flow", &files).expect("sound");
    assert!((source.packet_rate().expect("finite") - 1e6 / 8.0 / 200.0 * 2.0 / 3.0).abs() < 1e-3);
    assert!((source.mean_rate().expect("finite") - 1e6 * 2.0 / 3.0).abs() < 1e-3);
    let mut fail =
        |name: &str| if name == "on" { Err("cannot be read".into()) } else { Ok(Arc::from(&b"1s 1"[..])) };
    let problems = config.load_files(&mut fail, &mut Captures::within(u64::MAX)).expect_err("both are not");
    assert_eq!(problems[0].to_string(), "`bursts.on.file` `on` cannot be read");
    assert!(
        problems[1].to_string().starts_with("`size.file` `sizes` has in line 1 `1s` is not a size"),
        "{}",
        problems[1]
    );
    let replay = traffic("replay = { file = 'x' }");
    let problems = replay
        .load_files(&mut |_| Ok(Arc::from(&b"none"[..])), &mut Captures::within(u64::MAX))
        .expect_err("no capture");
    assert_eq!(
        problems[0].to_string(),
        "`replay.file` `x` is not a capture: it is neither pcap nor pcapng, nor gzip of one"
    );
}

/// A quantity at its extremes.
fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), 1u64..1_000_000, any::<u64>()]
        .prop_map(Duration::from_picos)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), 1u64..70_000, any::<u64>()].prop_map(Bytes)
}

fn law<Q: crate::Quantity>(quantity: impl Strategy<Value = Q>) -> impl Strategy<Value = LawConfig<Q>> {
    let number = prop_oneof![
        Just(0.0),
        Just(1.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(1e6),
        Just(0.01),
        0.1f64..10.0
    ];
    let kinds = proptest::sample::select(crate::laws::KINDS);
    (kinds, proptest::collection::vec(quantity, 8), number, any::<[bool; 3]>()).prop_map(
        |(kind, q, shape, [clamp_low, clamp_high, scale])| {
            use crate::laws::Kind;
            let mut law = LawConfig::of(kind);
            let (has_mean, has_shape) = match kind {
                Kind::Constant | Kind::Uniform | Kind::Empirical => (false, false),
                Kind::Pareto | Kind::Weibull | Kind::Gamma => (!scale, true),
                _ => (true, false),
            };
            law.value = (kind == Kind::Constant).then_some(q[0]);
            law.values = (kind == Kind::Empirical).then(|| q.clone());
            law.mean = has_mean.then_some(q[1]);
            law.shape = has_shape.then_some(shape);
            law.scale = ((has_shape && scale) || kind == Kind::Extreme).then_some(q[2]);
            law.std = matches!(kind, Kind::Normal | Kind::LogNormal).then_some(q[3]);
            law.min =
                (kind == Kind::Uniform || (clamp_low && kind != Kind::Constant)).then_some(q[4].min(q[5]));
            law.max =
                (kind == Kind::Uniform || (clamp_high && kind != Kind::Constant)).then_some(q[4].max(q[5]));
            law
        },
    )
}

proptest! {
    /// Every accepted configuration draws in order and within bounds, and ends or continues.
    #[test]
    fn no_accepted_configuration_panics_or_hangs(
        gap in law(duration()),
        size in law(bytes()),
        on in law(duration()),
        off in law(duration()),
        bits in prop_oneof![Just(None), Just(Some(1u64)), Just(Some(8_000_000_000_000)), any::<u64>().prop_map(Some)],
        has_bursts: bool,
    ) {
        let config = TrafficConfig {
            gap: bits.is_none().then_some(gap),
            rate: bits.map(Rate::from_bits),
            size: Some(size),
            bursts: has_bursts.then_some(BurstsConfig { on, off, start: BurstStart::Random }),
            ..TrafficConfig::default()
        };
        if let Ok(mut source) = Arrivals::new(&config, SEED, "flow", &LoadedFiles::none()) {
            take(&mut source, 100);
            let _ = source.mean_rate();
        }
    }
}
