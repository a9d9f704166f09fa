//! Laws of comparisons: variants that are the same cannot be told apart, and a true difference below the
//! limits of what matters makes none of them better.
//!
//! A sample runs by default. All of it: `LOCKGATE_LAWS=1 cargo test --workspace --test told_apart --release`.
#![cfg(feature = "plans")]

use lockgate::plans::Compared;
use lockgate::{Options, Seed};
use lockgate_engine::random::Random;
use lockgate_experiment::{Plan, Row, row};
use lockgate_measure::comparison::Practical;
use lockgate_scenario::Vary;

fn trials(sample: u64, all: u64) -> u64 {
    if std::env::var_os("LOCKGATE_LAWS").is_some() { all } else { sample }
}

fn plan(variation: &str, seeds: u64) -> Plan {
    Plan {
        vary: vec![Vary::parse(variation).expect("a variation")],
        seeds: (1..=seeds).collect(),
        metrics: ["flow.call.owd.p99", "flow.pages.owd.p50", "flow.download/1.goodput"]
            .map(str::to_owned)
            .to_vec(),
        ..Plan::default()
    }
}

fn decision(plan: &Plan, rows: &[Row]) -> Vec<String> {
    let variants = plan.variants().expect("variants");
    Compared::new(plan, "law", &variants, rows, None).within(Practical::default()).decision()
}

/// True if a sentence says that one variant is better than another.
fn prefers(sentence: &str) -> bool {
    sentence.contains("costs") || sentence.contains("best in")
}

/// Variants of which only the packets are shuffled: their delays differ by a ten-millionth.
#[test]
fn variants_that_are_the_same_cannot_be_told_apart() {
    let all = trials(10, 400);
    let (mut alike, mut preferred) = (0, Vec::new());
    for trial in 0..all {
        let mut random = Random::stream(Seed(trial), "same");
        let mut one = |of: &[u32]| of[random.below(of.len() as u32) as usize];
        let (rate, limit, downloads) = (one(&[2, 3, 5]), one(&[15, 30, 60]), one(&[1, 2]));
        let kind = ["fifo", "fq_codel", "sfq"][one(&[0, 1, 2]) as usize];
        let limit = if kind == "fifo" { format!(", limit = \"{limit}p\"") } else { String::new() };
        let text = format!(
            "duration = \"3s\"\nwarmup = \"500ms\"\nnode = {{ a = {{}}, b = {{}} }}\n\
             link.l = {{ between = [\"a\", \"b\"], rate = \"{rate}mbit\", delay = \"15ms\" }}\n\
             port.\"a:b\".queue.q = {{ kind = \"{kind}\"{limit} }}\n\
             flow.call = {{ from = \"a\", to = \"b\", transport = \"udp\", payload = \"160B\", gap = \"20ms\" }}\n\
             flow.pages = {{ from = \"a\", to = \"b\", transport = \"udp\", size = \"900B\", gap = {{ distribution = \"exponential\", \
             mean = \"12ms\" }} }}\n\
             flow.download = {{ from = \"a\", to = \"b\", transport = \"tcp\", bytes = \"unlimited\", count = {downloads} }}\n"
        );
        let plan = plan("link.l.delay=15ms,15.0000015ms,15.000003ms", 4);
        let seeds: Vec<Seed> = plan.seeds.iter().map(|seed| Seed(seed + 10 * trial)).collect();
        let rows = plan.variants().expect("variants").into_iter().flat_map(|variant| {
            let settings = lockgate::parse_settings(&variant.settings).expect("settings");
            let scenario =
                lockgate::read_text(&text, "law", &lockgate::no_files(), &settings).expect("a scenario");
            let runs = lockgate::run(&scenario, &Options { seeds: seeds.clone(), ..Options::default() });
            let of =
                |recording| row(&lockgate_measure::summarise(&[recording]), &plan.metrics).expect("metrics");
            runs.expect("runs").recordings.into_iter().map(of).collect::<Vec<Row>>()
        });
        let rows: Vec<Row> = rows.collect();
        let said = decision(&plan, &rows);
        alike += u64::from(said[0].contains("cannot be told apart"));
        preferred.extend(Some(format!("{trial}: {}", said[0])).filter(|one| prefers(one)));
    }
    println!("{alike} of {all} comparisons of the same cannot be told apart; preferred: {preferred:#?}");
    assert!(100 * alike >= 95 * all, "{alike} of {all}: {preferred:#?}");
}

/// Values whose scatter is common to all variants of a seed, and a difference of half a percent.
#[test]
fn a_true_difference_below_the_limits_makes_no_variant_better() {
    let plan = plan("link.l.delay=15ms,16ms,17ms", 10);
    let all = trials(400, 4000);
    let mut decided = 0;
    for trial in 0..all {
        let mut random = Random::stream(Seed(trial), "below");
        let scatter = [1e-4, 1e-3, 5e-3, 3e-2][(trial % 4) as usize];
        let common: Vec<f64> = (0..10).map(|_| 1.0 + 0.2 * random.unit()).collect();
        let rows: Vec<Row> = [1.0, 1.005, 0.998]
            .into_iter()
            .flat_map(|factor| common.iter().map(move |common| (factor, *common)).collect::<Vec<_>>())
            .map(|(factor, common)| {
                let mut value =
                    |mean: f64| Some(mean * factor * common * (1.0 + scatter * (random.unit() - 0.5)));
                vec![value(0.2), value(0.5), value(9e6)]
            })
            .collect();
        let said = decision(&plan, &rows);
        assert!(!prefers(&said[0]), "trial {trial}: {said:?}");
        decided += u64::from(said[0].starts_with("Take any of the variants: "));
    }
    println!("{decided} of {all} are shown to be equal");
    assert!(3 * decided > all, "small scatter shows it: {decided}");
}

/// Three seeds that scatter decide nothing, and the seeds that would are said.
#[test]
fn most_differences_undecided_are_no_decision() {
    let plan = plan("link.l.delay=15ms,16ms,17ms", 3);
    let wild = |mean: f64| [0.95 * mean, mean, 1.05 * mean];
    let rows: Vec<Row> = [(0.014, 9.2e6, 0.5), (0.016, 9.3e6, 0.52), (0.059, 9.25e6, 0.53)]
        .into_iter()
        .enumerate()
        .flat_map(|(index, (delay, goodput, pages))| {
            let order = [[0, 1, 2], [1, 2, 0], [2, 0, 1]][index];
            let calm = [0.999 * delay, delay, 1.001 * delay];
            order.map(|seed| vec![Some(calm[seed]), Some(wild(pages)[seed]), Some(wild(goodput)[seed])])
        })
        .collect();
    let said = decision(&plan, &rows);
    assert!(
        said[0].starts_with("No decision: 4 of 6 differences cannot be shown with 3 seeds; about "),
        "{said:?}"
    );
    assert!(said[0].ends_with(" seeds would decide half of them."), "{said:?}");
    // No other sentence names a number of seeds.
    let variants = plan.variants().expect("variants");
    let sentences = Compared::new(&plan, "law", &variants, &rows, None).sentences();
    let unseen = sentences.iter().find(|one| one.contains("cannot show")).expect("a sentence");
    assert!(unseen.ends_with("differences (=)"), "{unseen}");
}
