//! Searches for the worst traffic: none exceeds a bound, and they come close to it.

use std::collections::BTreeMap;

use lockgate::attack::{Attack, Budget, attack};
use lockgate::{Options, Scenario, Seed, proof};
use lockgate_calculus::NoBound;

use super::{Dice, Files, LINE, flow};

/// Attacks a metric in so many runs.
fn attacked(text: &str, that: &str, runs: u64) -> Attack {
    let scenario: Scenario = lockgate::read_text(text, "attacked", &Files::new(), &[])
        .unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    let budget = Budget { runs, seed: 1, flows: None, random: false, is_over: &|| false };
    let options = Options { threads: Some(1), ..Options::default() };
    attack(&scenario, that, None, budget, &options).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// Returns how near a search comes to the bound of a flow's delay, or why there is no bound.
pub(crate) fn found_of_bound(text: &str, flow: &str, runs: u64) -> Result<f64, NoBound> {
    let found = attacked(text, &format!("flow.{flow}.owd.max"), runs);
    let (worst, bound) = (found.worst.expect("a delay"), found.proven.expect("of a delay")?);
    assert!(worst <= bound * (1.0 + 1e-9), "{worst} s, beyond {bound} s: {:#?}\n{text}", found.lines);
    Ok(worst / bound)
}

#[test]
fn a_search_comes_close_to_the_bound() {
    // 11 seeds and two for each other flow, and two generations.
    const RUNS: u64 = 47;
    let near = |queues: &str, flows: &[String], of: &str| {
        let near = found_of_bound(&format!("{LINE}{queues}{}", flows.concat()), of, RUNS).expect("a bound");
        assert!(near >= 0.95, "{of}: {near} of its bound\n{queues}{}", flows.concat());
    };
    let any = |name: &str| flow(name, [1_000_000, 4000, 100, 1000]);
    near("", &[any("x"), any("y"), any("z")], "y");
    let bands = "port.\"a:b\".queue.top = { kind = \"prio\", children = [\"h\", \"m\", \"l\"] }\n\
        port.\"a:b\".queue.h = { kind = \"fifo\", match = [{ flow = \"high\" }] }\n\
        port.\"a:b\".queue.m = { kind = \"fifo\", match = [{ flow = \"middle\" }] }\n\
        port.\"a:b\".queue.l = { kind = \"fifo\" }\n";
    let flows = [
        flow("high", [2_000_000, 2000, 100, 500]),
        flow("middle", [1_000_000, 6000, 200, 1000]),
        flow("low", [1_000_000, 3000, 1500, 1500]),
    ];
    for of in ["high", "middle", "low"] {
        near(bands, &flows, of);
    }
    let rounds = "port.\"a:b\".queue.top = { kind = \"drr\", children = [\"p\", \"q\"] }\n\
        port.\"a:b\".queue.p = { kind = \"fifo\", quantum = \"1000B\", match = [{ flow = \"own\" }] }\n\
        port.\"a:b\".queue.q = { kind = \"fifo\", quantum = \"9000B\" }\n";
    let flows = [flow("own", [400_000, 40_000, 100, 100]), flow("other", [2_000_000, 401_000, 1000, 1000])];
    near(rounds, &flows, "own");
}

/// Random trees of HTB that a search attacks, with its runs, in a usual test and with `LOCKGATE_LAWS=1`.
const TREES: [(u64, u64); 2] = [(12, 43), (200, 75)];

/// Buckets of the first leaf of a tree, in its text.
const OWN: &str = "OWN";

/// Returns a tree of two or three leaves, of which up to two are below an inner class, with a flow each:
/// rates and ceilings, bursts and quanta above and below a packet, and others that want more than their rate.
fn tree(dice: &mut Dice) -> String {
    let leaves = 2 + dice.below(2);
    let below = [0, 1, 2][dice.below(3) as usize];
    let mut text = LINE.to_owned();
    let queue = |name: &str, rest: &str| format!("port.\"a:b\".queue.{name} = {{ {rest} }}\n");
    let names: Vec<String> = (0..leaves).map(|leaf| format!("\"c{leaf}\"")).collect();
    let (inner, top) = names.split_at(below);
    let top: Vec<&str> = top.iter().map(String::as_str).chain((below > 0).then_some("\"inner\"")).collect();
    text += &queue("top", &format!("kind = \"htb\", children = [{}]", top.join(", ")));
    let ceil =
        |dice: &mut Dice, rate: u64| [rate, (2 * rate).min(8_000_000), 8_000_000][dice.below(3) as usize];
    if below > 0 {
        let rate = 500_000 * (1 + dice.below(8));
        let (ceil, burst) = (ceil(dice, rate), [1000, 1600, 20_000][dice.below(3) as usize]);
        text += &queue(
            "inner",
            &format!(
                "kind = \"class\", rate = \"{rate}bit\", ceil = \"{ceil}bit\", burst = \"{burst}B\", \
                 cburst = \"{burst}B\", children = [{}]",
                inner.join(", ")
            ),
        );
    }
    for leaf in 0..leaves {
        let rate = 8_000_000 / leaves * (3 + dice.below(7)) / 10;
        let ceil = ceil(dice, rate);
        let sizes = [(); 2].map(|()| [500, 1600, 6000, 20_000][dice.below(4) as usize].to_string());
        let [burst, cburst] = if leaf == 0 { [OWN, OWN].map(str::to_owned) } else { sizes };
        let quantum = [1000, 1514, 9000, 60_000][dice.below(4) as usize];
        let prio = dice.below(3);
        text += &queue(
            &format!("c{leaf}"),
            &format!(
                "kind = \"fifo\", limit = \"100000p\", rate = \"{rate}bit\", ceil = \"{ceil}bit\", burst = \"{burst}B\", \
                 cburst = \"{cburst}B\", quantum = \"{quantum}B\", prio = {prio}, match = [{{ flow = \"f{leaf}\" }}]"
            ),
        );
        let longest = [200, 1000, 1514, 1514][dice.below(4) as usize];
        let shortest = if dice.below(2) == 0 { longest } else { 64 };
        let burst = longest * (1 + dice.below(30));
        let wanted = if leaf == 0 {
            rate / 10 * (1 + dice.below(9))
        } else {
            (rate * (1 + dice.below(4))).min(8_000_000)
        };
        text += &flow(&format!("f{leaf}"), [wanted, burst, shortest, longest]);
    }
    text
}

#[test]
fn no_search_exceeds_the_bound_of_a_class() {
    let (trees, runs) = TREES[usize::from(std::env::var_os("LOCKGATE_LAWS").is_some())];
    let (mut bounded, mut closest, mut reasons) = (0, 0.0_f64, BTreeMap::<String, u64>::new());
    for seed in 1..=trees {
        let text = tree(&mut Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        // The least buckets with which its rate is certain.
        let least: Scenario =
            lockgate::read_text(&text.replace(OWN, "1"), "tree", &Files::new(), &[]).expect("a tree");
        let why = proof::prove(&least).delay(0).map_or_else(NoBound::to_string, |_| String::new());
        let words: Vec<&str> = why.split(' ').collect();
        let bytes = words.iter().rev().nth(1).filter(|_| why.ends_with(" B")).copied().unwrap_or("1600");
        match found_of_bound(&text.replace(OWN, bytes), "f0", runs) {
            Ok(near) => {
                bounded += 1;
                closest = closest.max(near);
            }
            Err(why) => *reasons.entry(why.to_string()).or_default() += 1,
        }
    }
    println!("{bounded} of {trees} bounded, the closest at {closest}: {reasons:?}");
    assert!(bounded * 3 >= trees * 2, "{bounded} of {trees}: {reasons:?}");
    assert!(closest > 0.5, "{closest}");
}

#[test]
fn found_traffic_is_repeated_by_its_scenario() {
    let adversary =
        "adversary = { from = \"a\", to = \"b\", flows = 3, rate = \"3mbit\", burst = \"9kB\" }\n";
    let own = "flow.own = { from = \"a\", to = \"b\", size = \"500B\", gap = \"10ms\" }\n";
    let group = "flow.g = { count = 3, from = \"a\", to = \"b\", size = \"1000B\", gap = \"20ms\", \
        envelope = { rate = \"500kbit\", burst = \"5kB\" } }\n";
    for (text, that) in [
        (format!("{adversary}{LINE}{own}"), "flow.own.owd.max"),
        (format!("{LINE}{own}{group}"), "flow.g/*.owd.max"),
        (format!("{LINE}{own}{group}"), "flow.g/2.owd.max @ 200ms..600ms"),
        (format!("{adversary}{LINE}{own}{group}"), "group.g.owd.max.p50"),
    ] {
        let found = attacked(&text, that, 30);
        let (own, worst) = (found.own.expect("a value"), found.worst.expect("a value"));
        assert!(worst > 1.5 * own, "{that}: {worst} after {own}");
        assert!(found.lines.len() <= 10, "{:#?}", found.lines);
        let read =
            |settings: &[lockgate::Override]| lockgate::read_text(&text, "found", &found.captures, settings);
        let written = found.scenario(read).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let mut scenario: Scenario = lockgate::read_text(&written, "found", &found.captures, &[])
            .unwrap_or_else(|why| panic!("{why}\n{written}"));
        scenario.observe([that]);
        let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
        let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
        let value = summary.metric(that).expect("a value");
        assert!(
            (value - found.kept.expect("a value")).abs() <= 0.0,
            "{that}: {value} and {:?}\n{written}",
            found.kept
        );
    }
}

#[test]
fn an_adversary_shares_one_bucket_and_sends_nothing_in_a_run() {
    let text = format!(
        "adversary = {{ from = \"a\", to = \"b\", flows = 3, rate = \"3mbit\", burst = \"9kB\" }}\n{LINE}\
         flow.own = {{ from = \"a\", to = \"b\", size = \"500B\", gap = \"10ms\" }}\n"
    );
    // 9 kB of the adversary and a packet of its own at 8 Mbit/s.
    let near = found_of_bound(&text, "own", 30).expect("a bound");
    assert!(near > 0.95, "{near}");
    let scenario = lockgate::read_text(&text, "adversary", &Files::new(), &[]).expect("a scenario");
    let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    assert_eq!(summary.flows["adversary-3"].sent_packets, 0);
    let bound = summary.flows["own"].owd_bound_s.expect("a bound");
    assert!((bound - 0.0095).abs() < 1e-9, "{bound}");
    assert_eq!(summary.flows["adversary-2"].owd_bound_s, summary.flows["adversary-1"].owd_bound_s);
    // What its flows send together keeps to the one bucket.
    let found = attacked(&text, "flow.own.owd.max", 30);
    let read =
        |settings: &[lockgate::Override]| lockgate::read_text(&text, "found", &found.captures, settings);
    let written = found.scenario(read).expect("a scenario");
    let written: Scenario = lockgate::read_text(&written, "found", &found.captures, &[]).expect("a scenario");
    let sent = written.flows.iter().filter(|flow| flow.name.starts_with("adversary"));
    let mut sent: Vec<lockgate_traffic::Emission> = sent
        .flat_map(|flow| {
            let start = flow.start;
            let emissions = flow.emissions(Seed(1), written.duration).into_iter();
            emissions.map(move |one| lockgate_traffic::Emission { at: one.at + start, ..one })
        })
        .collect();
    sent.sort_by_key(|one| one.at);
    assert!(sent.len() >= 5, "{}", sent.len());
    let envelope = scenario.flows[scenario.adversary.start].envelope.clone().expect("an envelope");
    assert_eq!(envelope.excess(sent), None);
}
