//! Random networks without cycles have the bounds that a second implementation computes: `reference.py`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use lockgate_calculus::{
    Arrival, Exact, FairLaw, Flow, Hop, Kind, Line, Network, Node, Server, analyse, ratio,
};

/// Networks in a usual run; all with `LOCKGATE_LAWS=1`.
const FEW: u64 = 12;
const ALL: u64 = 200;

/// Generator of small numbers: the multiplier of Knuth's MMIX.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

const CHILDREN: usize = 3;

/// Returns a random kind over three children, with its line for the reference.
fn kind(dice: &mut Dice) -> (Kind, String) {
    let weights: Vec<u64> = (0..CHILDREN).map(|_| 1 + dice.below(5)).collect();
    let text =
        |name: &str, given: &[u64]| given.iter().fold(name.to_owned(), |text, one| format!("{text} {one}"));
    match dice.below(9) {
        0 => (Kind::Fifo, "fifo".to_owned()),
        1 | 2 => (Kind::Priority(Vec::new()), "prio".to_owned()),
        3 => {
            let quanta: Vec<u64> = weights.iter().map(|weight| 12_000 + 800 * weight).collect();
            let exact = quanta.iter().map(|bits| ratio(*bits, 1)).collect();
            (Kind::DeficitRounds(exact), text("drr", &quanta))
        }
        4 => (Kind::PacketRounds { weights: weights.clone(), listed: true }, text("wrr", &weights)),
        5 => (Kind::Fair(FairLaw::Pgps, weights.clone()), text("wfq", &weights)),
        6 => (Kind::Fair(FairLaw::StartTime, weights.clone()), text("stfq", &weights)),
        7 => (Kind::Fair(FairLaw::SelfClocked, weights.clone()), text("scfq", &weights)),
        _ => {
            let millis: Vec<u64> = weights.iter().map(|weight| weight * 3).collect();
            let exact = millis.iter().map(|millis| ratio(*millis, 1000)).collect();
            let text = millis.iter().fold("edf".to_owned(), |text, millis| format!("{text} {millis}/1000"));
            (Kind::Deadlines(exact), text)
        }
    }
}

/// Returns a random server, and writes its line.
fn server(dice: &mut Dice, index: usize, text: &mut String) -> Server {
    let (kind, line) = kind(dice);
    let (rate, delay) = (10_000_000 + 1_000_000 * dice.below(20), dice.below(4));
    writeln!(text, "server {rate} {delay}/1000 {line}").expect("a string");
    let mut nodes = vec![Node { name: "root".to_owned(), parent: None, kind }];
    if nodes[0].kind != Kind::Fifo {
        nodes.extend((0..CHILDREN).map(|_| Node { name: "q".to_owned(), parent: Some(0), kind: Kind::Fifo }));
    }
    let (rate, propagation) = (ratio(rate, 1), ratio(delay, 1000));
    let rounding = ratio(0, 1);
    Server {
        name: format!("s{index}"),
        rate,
        propagation,
        rounding,
        slack: ratio(0, 1),
        ring: 1,
        nodes,
        even: true,
    }
}

/// Returns a random flow over some of the servers, and writes its line.
fn flow(dice: &mut Dice, index: u64, servers: &[Server], text: &mut String) -> Flow {
    let length = 800 * (1 + dice.below(15));
    let burst = length * (1 + dice.below(4));
    let rate = 100_000 + 20_000 * dice.below(60);
    write!(text, "flow {length} {burst}:{rate}").expect("a string");
    let mut lines = vec![Line { burst: ratio(burst, 1), rate: ratio(rate, 1) }];
    if dice.below(2) == 0 {
        let peak = rate * 4;
        write!(text, ",{length}:{peak}").expect("a string");
        lines.push(Line { burst: ratio(length, 1), rate: ratio(peak, 1) });
    }
    let first = dice.below(servers.len() as u64) as usize;
    let mut hops = Vec::new();
    for (server, at) in servers.iter().enumerate().skip(first) {
        if server > first && dice.below(4) == 0 {
            continue;
        }
        let child = dice.below(CHILDREN as u64) as usize;
        let is_leaf = at.nodes.len() == 1;
        let child = if is_leaf { 0 } else { child };
        write!(text, " {server}/{child}").expect("a string");
        let node = if is_leaf { 0 } else { child + 1 };
        let (one, length) = (ratio(1, 1), ratio(length, 1));
        hops.push(Hop {
            server,
            node,
            factor: one.clone(),
            from_before: one,
            shortest: length.clone(),
            longest: length,
            quickest: None,
        });
    }
    text.push('\n');
    let length = ratio(length, 1);
    let arrival = Ok(Arrival::new(lines).expect("a line"));
    Flow { name: format!("f{index}"), arrival, shortest: length.clone(), longest: length, hops }
}

/// Returns a random network with its text.
fn network(seed: u64) -> (Network, String) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut network, mut text) = (Network::default(), String::new());
    let servers = 1 + dice.below(5) as usize;
    for index in 0..servers {
        network.servers.push(server(&mut dice, index, &mut text));
    }
    for index in 0..2 + dice.below(7) {
        network.flows.push(flow(&mut dice, index, &network.servers, &mut text));
    }
    text.push_str("end\n");
    (network, text)
}

#[test]
fn random_networks_have_the_bounds_of_a_second_implementation() {
    let count = if std::env::var_os("LOCKGATE_LAWS").is_some() { ALL } else { FEW };
    let networks: Vec<(Network, String)> = (1..=count).map(network).collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference.py");
    let child = Command::new("python3").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return lockgate_testing::skipped("needs python3") };
    let mut input = child.stdin.take().expect("piped");
    let texts: Vec<String> = networks.iter().map(|(_, text)| text.clone()).collect();
    let writer =
        std::thread::spawn(move || texts.iter().try_for_each(|text| input.write_all(text.as_bytes())));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads all");
    assert!(output.status.success());
    let output = String::from_utf8(output.stdout).expect("text");
    let mut bounded = 0;
    assert_eq!(output.lines().count(), networks.len());
    for ((network, text), expected) in networks.iter().zip(output.lines()) {
        let bounds = analyse(network);
        let found: Vec<String> = bounds
            .flows
            .iter()
            .map(|flow| flow.delay.as_ref().map_or_else(|_| "none".to_owned(), Exact::to_string))
            .collect();
        assert_eq!(found.join(" "), expected, "{text}");
        bounded += bounds.flows.iter().filter(|flow| flow.delay.is_ok()).count();
    }
    assert!(bounded > 2 * networks.len(), "most flows have a bound: {bounded}");
}
