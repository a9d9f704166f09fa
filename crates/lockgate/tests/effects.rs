//! Laws of what is said of a change: a change that changes nothing is credited with nothing, and the figures
//! of one that does are those of two runs made by hand.
//!
//! A sample runs by default. All of it: `LOCKGATE_LAWS=1 cargo test --workspace --test effects --release`.

use std::fmt::Write;

use lockgate::{Options, Override, Recording, Runs, Scenario, Seed, Simulation, Summary};
use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Mode;
use lockgate_measure::verdict::{Words, quantity};

/// Returns so many trials, or all of them if the environment demands it.
fn trials(sample: u64, all: u64) -> u64 {
    if std::env::var_os("LOCKGATE_LAWS").is_some() { all } else { sample }
}

fn read(text: &str) -> Scenario {
    lockgate::read_text(text, "law", &lockgate::no_files(), &[])
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A random network with a call, pages and TCP downloads through one bottleneck.
struct Network {
    text: String,
    rate: u32,
    delay: u32,
    limit: u32,
    root: &'static str,
}

impl Network {
    fn new(random: &mut Random, seconds: u32) -> Self {
        let mut one = |of: &[u32]| of[random.below(of.len() as u32) as usize];
        let (rate, delay, limit) = (one(&[3, 5, 8]), one(&[5, 15, 40]), one(&[20, 60, 150]));
        let (downloads, kind) = (one(&[1, 2, 3]), one(&[0, 1, 2]) as usize);
        let (congestion, root) =
            (["cubic", "reno", "bbr"][one(&[0, 1, 2]) as usize], ["fifo", "fq_codel", "red"][kind]);
        let mut text = format!(
            "duration = \"{seconds}s\"\nwarmup = \"1s\"\nnode = {{ server = {{}}, router = {{}}, client = {{}} }}\n\
             link.core = {{ between = [\"server\", \"router\"], rate = \"100mbit\", delay = \"5ms\" }}\n\
             link.bottleneck = {{ between = [\"router\", \"client\"], rate = \"{rate}mbit\", delay = \"{delay}ms\" }}\n\
             [port.\"router:client\"]\nroot = \"{root}\"\nalternatives = [\"fifo\", \"fq_codel\", \"red\"]\n\
             queue.fifo = {{ kind = \"fifo\", limit = \"{limit}p\" }}\nqueue.fq_codel = {{ kind = \"fq_codel\" }}\n\
             queue.red = {{ kind = \"red\", min = \"10kB\", max = \"60kB\", limit = \"200kB\" }}\n\
             [flow]\ncall = {{ from = \"server\", to = \"client\", transport = \"udp\", payload = \"160B\", gap = \"20ms\" }}\n\
             pages = {{ from = \"server\", to = \"client\", transport = \"udp\", size = {{ distribution = \"uniform\", min = \"100B\", \
             max = \"1514B\" }}, gap = {{ distribution = \"exponential\", mean = \"15ms\" }} }}\n"
        );
        let _ = writeln!(
            text,
            "download = {{ from = \"server\", to = \"client\", transport = \"tcp\", congestion = \"{congestion}\", bytes = \"unlimited\", \
             count = {downloads} }}"
        );
        text.push_str("[[expect]]\nthat = \"flow.call.owd.p99\"\nbelow = \"10s\"\n");
        Self { text, rate, delay, limit, root }
    }

    /// Returns a setting that has its present value.
    fn same(&self, random: &mut Random) -> (&'static str, String) {
        match random.below(4) {
            0 => ("link.bottleneck.delay", format!("{}ms", self.delay)),
            1 => ("link.bottleneck.rate", format!("{}mbit", self.rate)),
            2 => ("port.router:client.root", self.root.to_owned()),
            _ => ("link.bottleneck.loss", "0%".to_owned()),
        }
    }

    /// Returns a setting that has nearly its present value, and moves packets all the same.
    fn nearly_same(&self, random: &mut Random) -> (&'static str, String) {
        match random.below(5) {
            0 => ("link.bottleneck.delay", format!("{}.0001ms", self.delay)),
            1 => ("link.bottleneck.rate", format!("{}.0001mbit", self.rate)),
            2 => ("port.router:client.queue.fifo.limit", format!("{}p", self.limit + 1)),
            3 => ("link.core.delay", "5.001ms".to_owned()),
            // Other draws of the same law.
            _ => ("flow.pages.gap", "{ distribution = \"exponential\", mean = \"15ms\" }".to_owned()),
        }
    }

    fn changed(&self, at: &str, (path, value): &(&str, String)) -> String {
        let value = if value.starts_with('{') { value.clone() } else { format!("\"{value}\"") };
        format!("{}[[change]]\nat = \"{at}\"\nset = {{ \"{path}\" = {value} }}\n", self.text)
    }
}

fn made(scenario: &Scenario, seed: u64, repeat: u64) -> Runs {
    let seeds = (seed..seed + repeat).map(Seed).collect();
    lockgate::run(scenario, &Options { seeds, ..Options::default() }).expect("it runs")
}

fn told(scenario: &Scenario, runs: &Runs) -> Summary {
    let mut summary = lockgate::summarise(scenario, &runs.recordings).expect("its metrics");
    lockgate::add_effects(scenario, runs, &Options::default(), &mut summary).expect("other lives");
    summary
}

/// Returns the sentences on changes.
fn changes(summary: &Summary) -> Vec<String> {
    summary.verdict().sentences().into_iter().filter(|sentence| sentence.starts_with("At ")).collect()
}

/// Returns true if a sentence says that something is more or less by something.
fn claims(sentence: &str) -> bool {
    [" times less", " times as much", " % less", " % more"].iter().any(|word| sentence.contains(word))
}

fn time(random: &mut Random, from: u32, below: u32) -> String {
    format!("{}ms", 1000 * from + random.below(1000 * (below - from)))
}

#[test]
fn a_change_to_the_present_value_differs_in_no_packet() {
    for trial in 0..trials(12, 100) {
        let mut random = Random::stream(Seed(trial), "same");
        let network = Network::new(&mut random, 6);
        let (at, set) = (time(&mut random, 2, 5), network.same(&mut random));
        let scenario = read(&network.changed(&at, &set));
        let said = changes(&told(&scenario, &made(&scenario, trial, 1)));
        assert_eq!(said.len(), 1);
        let is_replaced = set.0.rsplit('.').next() == Some("root");
        assert!(!claims(&said[0]), "trial {trial}: {said:?}");
        assert!(is_replaced || said[0].contains(": no packet differs without it"), "trial {trial}: {said:?}");
    }
}

#[test]
fn a_change_that_only_reshuffles_is_credited_with_nothing() {
    let (mut claimed, mut untold, all) = (Vec::new(), 0, trials(8, 200));
    for trial in 0..all {
        let mut random = Random::stream(Seed(trial), "nearly");
        let network = Network::new(&mut random, 8);
        // Early, so that the swings have time to differ.
        let (at, set) = (time(&mut random, 2, 6), network.nearly_same(&mut random));
        let scenario = read(&network.changed(&at, &set));
        let said = changes(&told(&scenario, &made(&scenario, trial, 1 + trial % 3 / 2 * 2)));
        untold += u32::from(said[0].contains("tell no effect from chance"));
        claimed.extend(said.into_iter().filter(|one| claims(one)).map(|one| format!("{trial}: {one}")));
    }
    println!("{} of {all} reshuffles are credited, {untold} are told from no chance", claimed.len());
    assert!(claimed.is_empty(), "{claimed:#?}");
    // A law that no swing puts to the test holds nothing.
    assert!(all < 100 || untold > 3, "{untold}");
}

/// A knob of a watched run is a change of the scenario that the run ends with.
#[test]
fn a_knob_that_is_turned_to_nothing_is_credited_with_nothing() {
    for trial in 0..trials(8, 100) {
        let mut random = Random::stream(Seed(trial), "knob");
        let network = Network::new(&mut random, 6);
        let scenario = read(&network.text);
        let mut simulation = Simulation::new(&scenario, Seed(trial)).expect("a network");
        simulation.record_samples();
        for from in [2, 4] {
            let at = Duration::from_millis(u64::from(1000 * from + random.below(1500)));
            simulation.step_until(Instant::ZERO + at).expect("a step");
            let is_same = trial % 2 == 0;
            let (path, value) =
                if is_same { network.same(&mut random) } else { network.nearly_same(&mut random) };
            let knob = Override::new(path, &value).expect("a setting");
            simulation.set(&[knob], &lockgate::no_files()).expect("an accepted change");
        }
        let scenario = simulation.observe().scenario.clone();
        let recording = simulation.finish_run().expect("a balanced account").recording;
        let runs = Runs { recordings: vec![recording], ..Runs::default() };
        let said = changes(&told(&scenario, &runs));
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(!said.iter().any(|one| claims(one)), "trial {trial}: {said:#?}");
    }
}

/// A live run has no other life; its code is that of a simulated recording which says that it is live.
#[test]
fn before_and_after_is_no_effect_of_a_change_that_is_none() {
    let (mut claimed, all) = (Vec::new(), trials(20, 200));
    for trial in 0..all {
        let mut random = Random::stream(Seed(trial), "live");
        // Phases of 1 to 29 s, short ones as of a knob that is undone, and long ones.
        let network = Network::new(&mut random, 31);
        let (at, set) = (time(&mut random, 2, 30), network.same(&mut random));
        let scenario = read(&network.changed(&at, &set));
        let mut runs = made(&scenario, trial, 1);
        runs.recordings.iter_mut().for_each(|recording: &mut Recording| recording.mode = Mode::Live);
        let said = changes(&told(&scenario, &runs));
        assert!(!said[0].contains("without it"), "{said:?}");
        claimed.extend(said.into_iter().filter(|one| claims(one)).map(|one| format!("{trial}: {one}")));
    }
    println!("{} of {all} changes that are none are told before and after with a ratio", claimed.len());
    assert!(claimed.is_empty(), "{claimed:#?}");
}

#[test]
fn a_long_live_run_tells_a_step_with_its_ratio() {
    let mut random = Random::stream(Seed(1), "step");
    let network = Network::new(&mut random, 31);
    let scenario = read(&network.changed("16s", &("link.bottleneck.delay", "300ms".to_owned())));
    let mut runs = made(&scenario, 1, 1);
    runs.recordings[0].mode = Mode::Live;
    let said = changes(&told(&scenario, &runs));
    assert!(said[0].contains(" before, ") && said[0].contains(" after, ") && claims(&said[0]), "{said:?}");
}

/// The figures of a sentence are those of two runs, one without a `[[change]]`, of which expectations name
/// the same part.
#[test]
fn the_figures_of_an_effect_are_those_of_two_runs_made_by_hand() {
    let (mut told_figures, all) = (0, trials(6, 50));
    for trial in 0..all {
        let mut random = Random::stream(Seed(trial), "real");
        let network = Network::new(&mut random, 8);
        let at = format!("{}s", 3 + random.below(3));
        let set = match random.below(4) {
            0 => ("link.bottleneck.delay", "200ms".to_owned()),
            1 => ("link.bottleneck.rate", "1mbit".to_owned()),
            2 => ("link.core.delay", "150ms".to_owned()),
            _ => ("flow.pages.gap", "1s".to_owned()),
        };
        let scenario = read(&network.changed(&at, &set));
        let summary = told(&scenario, &made(&scenario, trial, 1));
        let values = &summary.phases[1].without.as_ref().expect("another life").values;
        let part = |path: &String| format!("{path} @ {at}..8s");
        let expect = |path: &String| {
            let bound = if path.contains("goodput") { "at_least = \"0bit\"" } else { "below = \"10s\"" };
            format!("[[expect]]\nthat = \"{}\"\n{bound}\n", part(path))
        };
        let asked: String = values.keys().map(expect).collect();
        let [with, without] = [network.changed(&at, &set), network.text.clone()].map(|text| {
            let scenario = read(&format!("{text}{asked}"));
            let runs = made(&scenario, trial, 1);
            lockgate::summarise(&scenario, &runs.recordings).expect("its metrics")
        });
        let said = changes(&summary).remove(0);
        for (path, value) in values {
            let by_hand = [&with, &without].map(|summary| summary.metric(&part(path)).expect("packets"));
            let (told_with, told_without) = value.pair().expect("packets");
            for (told, by_hand) in [told_with, told_without].into_iter().zip(by_hand) {
                assert!((told / by_hand - 1.0).abs() < 1e-9, "trial {trial}: {path} {told} {by_hand}");
            }
            let words = Words::of(path).in_sentence();
            if claims(&said) && said.contains(&format!("{words} ")) {
                let [with, without] = by_hand.map(|value| quantity(path, Some(value)));
                let both = format!("{words} {with}, without it {without}");
                assert!(said.contains(&both), "trial {trial}: {said} / {both}");
                told_figures += 1;
            }
        }
    }
    println!("{told_figures} effects are told in {all} runs");
    assert!(2 * told_figures >= all, "{told_figures} of {all}");
}

/// Each of several changes is left out alone: the others are made, also those after it.
#[test]
fn of_several_changes_each_is_left_out_alone() {
    let mut random = Random::stream(Seed(3), "several");
    let network = Network::new(&mut random, 9);
    let delay = |at: &str, delay: &str| {
        format!("[[change]]\nat = \"{at}\"\nset = {{ \"link.core.delay\" = \"{delay}\" }}\n")
    };
    let [first, second] = [delay("3s", "105ms"), delay("6s", "305ms")];
    let both = read(&format!("{}{first}{second}", network.text));
    let summary = told(&both, &made(&both, 1, 1));
    let hand = |text: &str| {
        let scenario = read(text);
        let runs = made(&scenario, 1, 1);
        let summary = lockgate::summarise(&scenario, &runs.recordings).expect("its metrics");
        summary.phases.last().expect("phases").values["flow.call.owd.p50"]
    };
    let of = |phase: usize| summary.phases[phase].without.as_ref().expect("another life");
    let without = |phase: usize| of(phase).values["flow.call.owd.p50"].without;
    // Without the second, the first stays; without the first, the core has its 5 ms until the second.
    let stays = hand(&format!("{}{first}{}", network.text, delay("6s", "105ms")));
    assert_eq!(without(2), stays);
    let early = without(1).expect("packets");
    assert!(early < 0.1 + without(2).expect("packets"), "{early}");
    let said = changes(&summary);
    assert_eq!(said.len(), 2);
    assert!(said.iter().all(|one| one.contains("the other changes made")), "{said:#?}");
}

/// The ghost of a change begins with it, and has the delays that the sentence has; none if no packet differs.
#[test]
fn a_ghost_is_the_run_without_its_change() {
    let mut random = Random::stream(Seed(3), "several");
    let network = Network::new(&mut random, 9);
    let ghosts = |set: (&'static str, String)| {
        let scenario = read(&network.changed("3s", &set));
        let runs = made(&scenario, 1, 1);
        let mut summary = lockgate::summarise(&scenario, &runs.recordings).expect("its metrics");
        let options = Options::default();
        let ghosts = lockgate::add_effects(&scenario, &runs, &options, &mut summary).expect("other lives");
        (ghosts, summary)
    };
    let (ghosts_of_change, summary) = ghosts(("link.core.delay", "305ms".to_owned()));
    let [ghost] = ghosts_of_change.as_slice() else { panic!("{}", ghosts_of_change.len()) };
    assert_eq!(
        (ghost.from_s, ghost.to_s, ghost.changes.as_slice()),
        (3.0, 9.0, &["core.delay = 305ms".to_owned()][..])
    );
    assert!(ghost.time_s.len() <= 200 && ghost.time_s[0] > 3.0 && ghost.time_s.last() == Some(&9.0));
    let call = ghost.flows.iter().find(|flow| flow.name == "call").expect("the call");
    assert_eq!((call.owd_p50_s.len(), call.received_bps.len()), (ghost.time_s.len(), ghost.time_s.len()));
    let mut delays: Vec<f64> = call.owd_p50_s.iter().copied().flatten().collect();
    delays.sort_by(f64::total_cmp);
    let without = summary.phases[1].without.as_ref().expect("another life");
    let median = without.values["flow.call.owd.p50"].without.expect("packets");
    assert!((delays[delays.len() / 2] / median - 1.0).abs() < 0.2, "{} {median}", delays[delays.len() / 2]);
    assert!(ghost.queues.iter().any(|queue| queue.port == "router:client"));
    let (none, _) = ghosts(("link.core.delay", "5ms".to_owned()));
    assert!(none.is_empty());
}
