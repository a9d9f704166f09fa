//! The fast line, the simulator and recorded probes agree.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::{Random, Seed};
use lockgate_identify::candidates::Setting;
use lockgate_identify::moments::{LENGTHS, moments};
use lockgate_identify::plan::{Scale, round};
use lockgate_identify::{
    Candidate, Estimate, Fit, Identified, InScenario, Limits, Line, Others, Probe, Prober, Purpose, Record,
    Replay, Round, Verdict, estimate, identify, in_scenario, properties, report,
};
use lockgate_scenario::{Override, Scenario};

/// Traffic of the file, which does not run beside a probe that is alone.
const FLOW: &str =
    "flow.own = { from = \"sender\", to = \"receiver\", size = \"1442B\", rate = \"9mbit\" }\n";

const SETTING: Setting = Setting {
    rate: 8e6,
    peak: 40e6,
    wait: 0.06,
    in_packets: false,
    is_rfc: false,
    bucket: 30_000.0,
    least_bucket: 7570.0,
    target: 0.005,
    interval: 0.1,
    probability: 0.05,
    low: 1.0 / 3.0,
    loss: 0.0,
};

fn read(text: &str, settings: &[String]) -> Scenario {
    let overrides: Vec<Override> =
        settings.iter().map(|text| Override::parse(text).expect("a setting")).collect();
    let files = BTreeMap::<String, Arc<[u8]>>::new();
    lockgate_scenario::read(text, "line", &files, &overrides)
        .unwrap_or_else(|why| panic!("{why:?} in {text}"))
}

fn in_line(name: &str, is_alone: bool) -> InScenario {
    let candidate = Candidate::named(name).expect("a candidate");
    let text = format!("duration = \"1s\"\n{FLOW}{}", candidate.to_toml(&SETTING, 0.0));
    let scenario = read(&text, &in_scenario::settings("line", "receiver"));
    InScenario::new(scenario, "receiver", Seed(3), is_alone).expect("a prober")
}

fn probe() -> Probe {
    let scale = Scale { rate: SETTING.rate, most: 1e8, bytes: 1e7, seconds: 20.0 };
    let mut probe = Probe::default();
    for (index, purpose) in [Purpose::Train, Purpose::Excess, Purpose::Share, Purpose::Ecn, Purpose::Classes]
        .into_iter()
        .enumerate()
    {
        let packets = round(purpose, 0.1 + 3.0 * index as f64, &scale);
        probe.rounds.push(Round { purpose, reason: String::new(), packets, planned: 0 });
    }
    probe
}

/// Every kind that draws no random numbers: the same packets arrive at the same picosecond as in a simulation
/// of the scenario that the candidate writes. The simulator carries fractions of a picosecond from packet to
/// packet.
#[test]
fn a_fast_pass_is_a_simulation() {
    for name in ["fifo", "fifo-head", "shaper", "policer", "codel", "fq_codel", "prio", "drr"] {
        let candidate = Candidate::named(name).expect("a candidate");
        let text = format!("duration = \"1s\"\n{FLOW}{}", candidate.to_toml(&SETTING, 0.0));
        let line = Line::of(&read(&text, &[]), "line:receiver").expect("a line");
        let mut probe = probe();
        let fast = line.pass(&probe, Others::default(), Seed(3)).expect("a queue");
        let simulated = in_line(name, true).send(&mut probe).expect("a run");
        let lost = fast.arrivals().filter(|arrival| arrival.is_none()).count();
        assert!(lost > 100, "{name}: {lost} lost: the probe fills the queue");
        for (number, (fast, simulated)) in fast.arrivals().zip(simulated.arrivals()).enumerate() {
            let apart = match (fast, simulated) {
                (Some(fast), Some(simulated)) => (fast.at - simulated.at).abs(),
                (None, None) => 0,
                _ => i64::MAX,
            };
            assert!(apart < 100_000, "{name}: packet {number}: {fast:?} and {simulated:?}");
        }
    }
}

/// A file's queue is named without reading it; its record is judged equally; what is written is a scenario
/// that can be identified in turn.
#[test]
fn a_files_queue_is_named_and_written() {
    let limits = Limits::default();
    let mut prober = in_line("codel", true);
    let found = identify(&mut prober, &limits).expect("a run");
    assert_eq!((&found.verdict, found.fits[0].candidate.name), (&Verdict::Decided, "codel"));
    let (rate, half) = found.rate().expect("a rate");
    assert!((rate - SETTING.rate).abs() < half && half < 0.02 * rate, "{rate} +- {half}");
    let [least, most] = found.fits[0].targets.expect("a target");
    assert!((least..=most).contains(&SETTING.target), "{least} to {most}");
    let all = properties(&found);
    assert!(all.len() <= 13 && all[0].value.starts_with("codel: "), "{all:?}");

    // Moments that tell nothing do not widen what the goodput of a quiet line tells, also behind a bucket.
    let mut vague = found.clone();
    vague.moments =
        vague.moments.map(|moments| lockgate_identify::moments::Moments { half: rate, ..moments });
    vague.fits[0].candidate = Candidate::named("shaper").expect("a candidate");
    let (rate, half) = vague.rate().expect("a rate");
    assert!((rate - SETTING.rate).abs() < half && half < 0.03 * rate, "{rate} +- {half}");

    // More of a budget is said to decide only if it was spent.
    for is_spent in [false, true] {
        let open = Identified { verdict: Verdict::Undecided, is_spent, ..found.clone() };
        let said = &properties(&open)[0].value;
        assert!(said.starts_with("not decidable: ") && said.contains("--budget") == is_spent, "{said}");
    }
    // Beside others and without a queue, what came through is a least rate, and no more is claimed.
    let mut disturbed = Identified { verdict: Verdict::NoneOfThese, moments: None, ..found.clone() };
    disturbed.estimate = disturbed.estimate.map(|estimate| Estimate { busy: None, ..estimate });
    let rate = properties(&disturbed).into_iter().find(|one| one.name == "rate").expect("a rate");
    assert!(rate.value.starts_with("not decidable: at least ") && rate.interval.is_none(), "{rate:?}");
    assert!(!found.is_spent, "{} bytes of {}", found.probe.bytes(), limits.bytes);

    let record = Record::new(&limits, &found.probe, &found.observed);
    let bytes = serde_json::to_vec(&record).expect("JSON");
    let read_back = Record::read(&bytes).expect("a record");
    assert_eq!(record, read_back);
    let again = identify(&mut Replay(&read_back), &read_back.limits()).expect("a judgement");
    assert_eq!(properties(&again), all);
    assert_eq!(again.odds.to_bits(), found.odds.to_bits());

    let text = report::scenario(&found, None).expect("a decided queue");
    let written = read(&text, &in_scenario::settings("sender", "receiver"));
    let mut prober = InScenario::new(written, "receiver", Seed(9), true).expect("a prober");
    let second = identify(&mut prober, &limits).expect("a run");
    let fits: Vec<_> =
        second.fits.iter().map(|fit| (fit.candidate.name, fit.mean_misfit(), fit.setting)).collect();
    assert_eq!(
        (&second.verdict, second.fits[0].candidate.name),
        (&Verdict::Decided, "codel"),
        "{fits:?} of {text}"
    );
}

/// A queue that others keep full fits no candidate, and is not called none of them.
#[test]
fn beside_others_that_fill_the_line_nothing_is_claimed() {
    let downloads = "flow.own = { from = \"sender\", to = \"receiver\", transport = \"tcp\", bytes = \"unlimited\", count = 4 }\n";
    let queue = Candidate::named("fifo").expect("a candidate").to_toml(&SETTING, 0.0);
    let text = format!("duration = \"1s\"\n{downloads}{queue}");
    let scenario = read(&text, &in_scenario::settings("line", "receiver"));
    let mut prober = InScenario::new(scenario, "receiver", Seed(3), false).expect("a prober");
    let found = identify(&mut prober, &Limits::default()).expect("a run");
    let said = properties(&found);
    assert!(said[0].value.starts_with("not decidable: others, or the jitter, hide"), "{said:?}");
    assert!(said.iter().any(|one| one.name == "rate" && one.value.starts_with("at least ")), "{said:?}");
}

/// Beside others and with jitter, the rate of a line is found by simulated moments from a fit whose rate is
/// off, where the goodput misses it by more than a tenth.
#[test]
fn rate_and_others_are_told_apart() {
    for name in ["fifo", "fq_codel", "policer"] {
        let candidate = Candidate::named(name).expect("a candidate");
        let text = format!("duration = \"1s\"\n{FLOW}{}", candidate.to_toml(&SETTING, 0.0));
        let line = Line::of(&read(&text, &[]), "line:receiver").expect("a line");
        let (probe, others) = (probe(), Others { rate: 1.6e6, length: 600 });
        let mut observed = line.pass(&probe, others, Seed(3)).expect("a queue");
        let mut random = Random::stream(Seed(3), "jitter");
        for arrival in observed.rounds.iter_mut().flatten().flatten() {
            arrival.at += (-(1.0 - random.unit()).ln() * 1e-4 * 1e12) as i64;
        }
        let seen = estimate(&probe, &observed).expect("an estimate");
        assert!(seen.goodput < 0.9 * SETTING.rate, "{name}: {seen:?}");
        let setting = Setting { rate: seen.goodput, ..SETTING };
        let fit = Fit::new(candidate, setting, 0.0, 1442, 1);
        let found = moments(&probe, &observed, &seen, &fit, &LENGTHS).expect("moments");
        assert!((found.rate - SETTING.rate).abs() < found.half, "{name}: {found:?}");
        assert!((found.rate / SETTING.rate - 1.0).abs() < 0.02, "{name}: {found:?}");
        assert!((found.others / 1.6e6 - 1.0).abs() < 0.3, "{name}: {found:?}");
    }
}

/// Line beside others, whose arrivals are later by an exponential draw.
struct Noisy {
    line: Line,
    others: Others,
    jitter: f64,
}

impl Prober for Noisy {
    type Error = std::convert::Infallible;
    fn send(&mut self, probe: &mut Probe) -> Result<lockgate_identify::Observation, Self::Error> {
        let mut observed = self.line.pass(probe, self.others, Seed(5)).expect("a queue");
        let mut random = Random::stream(Seed(5), "jitter");
        for arrival in observed.rounds.iter_mut().flatten().flatten() {
            arrival.at += (-(1.0 - random.unit()).ln() * self.jitter * 1e12) as i64;
        }
        Ok(observed)
    }
}

/// A policer beside others, of which no wait tells anything, is named under a jitter as long as a packet
/// takes.
#[test]
fn a_policer_is_named_beside_others() {
    let setting = Setting { rate: 60e6, peak: 240e6, bucket: 90_000.0, ..SETTING };
    let candidate = Candidate::named("policer").expect("a candidate");
    let text = format!("duration = \"1s\"\n{FLOW}{}", candidate.to_toml(&setting, 0.0));
    let line = Line::of(&read(&text, &[]), "line:receiver").expect("a line");
    let others = Others { rate: 12e6, length: 600 };
    let limits = Limits { most: 240e6, bytes: 60_000_000, ..Limits::default() };
    let Ok(found) = identify(&mut Noisy { line, others, jitter: 2e-4 }, &limits);
    let fits: Vec<_> =
        found.fits.iter().map(|fit| (fit.candidate.name, fit.mean_misfit(), fit.worst)).collect();
    assert_eq!((&found.verdict, fits[0].0), (&Verdict::Decided, "policer"), "{fits:?}");
    let (rate, half) = found.rate().expect("a rate");
    assert!((rate - setting.rate).abs() < half.min(0.02 * rate), "{rate} +- {half}");
    assert!(found.probe.rounds.iter().any(|round| round.purpose == Purpose::Flood));
}

/// Without an answer nothing is claimed, and a damaged record is refused in words.
#[test]
fn nothing_is_claimed_of_silence() {
    struct Silence;
    impl Prober for Silence {
        type Error = std::convert::Infallible;
        fn send(&mut self, probe: &mut Probe) -> Result<lockgate_identify::Observation, Self::Error> {
            let rounds = probe.rounds.iter().map(|round| vec![None; round.packets.len()]).collect();
            Ok(lockgate_identify::Observation { rounds })
        }
    }
    let Ok(found) = identify(&mut Silence, &Limits::default());
    assert!(matches!(found.verdict, Verdict::Unknown(_)));
    assert!(found.probe.bytes() < 200_000, "a dead line is not flooded: {} B", found.probe.bytes());
    for damaged in [
        &b"{"[..],
        br#"{"format":1}"#,
        br#"{"format":1,"bytes":1,"seconds":1e9,"most":1e6,"probe":{"rounds":[]},"observed":{"rounds":[]}}"#,
        br#"{"format":1,"bytes":1,"seconds":1.0,"most":1e99,"probe":{"rounds":[]},"observed":{"rounds":[]}}"#,
        br#"{"format":2,"bytes":1,"seconds":1.0,"most":1e6,"probe":{"rounds":[]},"observed":{"rounds":[]}}"#,
    ] {
        assert!(Record::read(damaged).is_err());
    }
}
