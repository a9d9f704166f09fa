//! Proven bounds against simulations: no packet is ever later than the bound of its flow, whatever the flows
//! send within their envelopes, and the worst traffic comes close to it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use lockgate::attack::{Attack, Budget, attack};
use lockgate::{Options, Scenario, Seed, proof};

/// Random networks in a usual run, and with `LOCKGATE_LAWS=1`.
const FEW: u64 = 40;
const ALL: u64 = 5000;

/// Generator of small numbers: the multiplier of Knuth's MMIX.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

type Files = BTreeMap<String, Arc<[u8]>>;

/// Returns a capture of packets, each with its time in nanoseconds and its length.
fn capture(packets: &[(u64, u32)]) -> Arc<[u8]> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (nanos, length) in packets {
        for word in [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32, 0, *length] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes.into()
}

/// Returns the delay of each flow that a run had at most, with its bound.
fn held(text: &str, files: &Files) -> Vec<(String, f64, Result<f64, String>)> {
    let scenario: Scenario =
        lockgate::read_text(text, "law", files, &[]).unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    let found = proof::prove(&scenario);
    let options = Options { seeds: vec![Seed(1)], threads: Some(1), ..Options::default() };
    let runs = lockgate::run(&scenario, &options).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    assert!(
        !summary.warnings.iter().any(|warning| warning.contains("envelope")),
        "{:?}\n{text}",
        summary.warnings
    );
    // No queue holds more than the buffer that never overflows.
    let shortest = scenario.flows.iter().filter_map(|flow| Some(flow.lengths()?[0].0)).min().unwrap_or(1);
    for (name, queue) in summary.ports.values().flat_map(|port| &port.queues) {
        let least = queue.peak_backlog_packets * shortest;
        let buffer = queue.buffer_bound_bytes.unwrap_or(u64::MAX);
        assert!(least <= buffer, "{name}: {least} bytes or more, and {buffer} are proven\n{text}");
    }
    let of = |(index, flow): (usize, &lockgate_scenario::Flow)| {
        let bound = found.delay(index).map(lockgate_calculus::to_f64).map_err(str::to_owned);
        let results = &summary.flows[&flow.name];
        assert_eq!(results.owd_bound_s, bound.as_ref().ok().copied());
        (flow.name.clone(), results.owd_s.max.unwrap_or(0.0), bound)
    };
    scenario.flows.iter().enumerate().map(of).collect()
}

/// A flow of a random network.
struct Sent {
    length: u64,
    shortest: u64,
    burst: u64,
    rate: u64,
    from: u64,
    to: u64,
}

impl Sent {
    /// Returns packets within the envelope: as early as it lets them, or after random pauses.
    fn packets(&self, dice: &mut Dice, count: u64) -> Vec<(u64, u32)> {
        let is_greedy = dice.below(3) > 0;
        // Level of the bucket in bits, times a second in nanoseconds.
        let (mut at, mut level, second) = (0, 0_u64, 1_000_000_000);
        let mut packets = Vec::new();
        for _ in 0..count {
            let length = match dice.below(4) {
                0 => self.shortest,
                1 => self.shortest + dice.below(self.length - self.shortest + 1),
                _ => self.length,
            };
            if !is_greedy && dice.below(6) == 0 {
                let pause = dice.below(40_000_000);
                at += pause;
                level = level.saturating_sub(pause * self.rate);
            }
            let excess = (level + length * 8 * second).saturating_sub(self.burst * 8 * second);
            let wait = excess.div_ceil(self.rate);
            at += wait;
            level = level.saturating_sub(wait * self.rate) + length * 8 * second;
            packets.push((at, length as u32));
        }
        packets
    }
}

/// Kinds of the random networks, each with the parameters that its children need.
const KINDS: [(&str, &str); 24] = [
    ("fifo", ""),
    ("prio", ""),
    ("ets", ""),
    ("drr", "quantum"),
    ("drr", "quantum"),
    ("wrr", "weight"),
    ("rr", ""),
    ("wfq", "weight"),
    ("wf2q+", "weight"),
    ("scfq", "weight"),
    ("stfq", "weight"),
    ("edf", "deadline"),
    ("tbf", ""),
    ("policer", ""),
    ("lis", ""),
    ("nfs", ""),
    ("sfq", ""),
    ("nested", "quantum"),
    ("htb", "class"),
    ("htb", "class"),
    ("hfsc", "curve"),
    ("hfsc", "curve"),
    ("shaped", ""),
    ("shaped", ""),
];

/// Kinds that a device ring leaves without theorem, and those that a port's own rate does.
const WITHOUT_RING: [&str; 9] = ["tbf", "policer", "wfq", "wf2q+", "scfq", "stfq", "nested", "htb", "hfsc"];
const WITHOUT_RATE: [&str; 8] = ["tbf", "wfq", "wf2q+", "scfq", "stfq", "htb", "hfsc", "shaped"];

fn leaf(text: &mut String, port: &str, name: &str, share: &str, flows: &[String]) {
    let rules = if flows.is_empty() {
        String::new()
    } else {
        format!(", match = [{{ flow = [{}] }}]", flows.join(", "))
    };
    writeln!(text, "port.\"{port}\".queue.{name} = {{ kind = \"fifo\", limit = \"100000p\"{share}{rules} }}")
        .expect("a string");
}

/// Adds a port with random queues for these flows.
fn port(text: &mut String, dice: &mut Dice, port: &str, rate: u64, flows: usize) {
    let (kind, share) = KINDS[dice.below(KINDS.len() as u64) as usize];
    let queue = |name: &str, rest: &str| format!("port.\"{port}\".queue.{name} = {{ {rest} }}\n");
    if dice.below(8) == 0 && !WITHOUT_RING.contains(&kind) && kind != "shaped" {
        writeln!(text, "port.\"{port}\".ring = {}", 1 + dice.below(4)).expect("a string");
    }
    if dice.below(8) == 0 && !WITHOUT_RATE.contains(&kind) {
        writeln!(text, "port.\"{port}\".rate = \"{}bit\"", rate * 9 / 10).expect("a string");
        writeln!(text, "port.\"{port}\".overhead = \"{}B\"", 14 + dice.below(30)).expect("a string");
    }
    match kind {
        "tbf" => {
            let rate = [1_000_000, 2_000_000, 4_000_000, 8_000_000]
                .into_iter()
                .rev()
                .find(|one| *one <= rate)
                .unwrap_or(1_000_000);
            *text += &queue(
                "top",
                &format!("kind = \"tbf\", rate = \"{rate}bit\", burst = \"4kB\", limit = \"10000000B\""),
            );
            return;
        }
        "policer" => {
            *text +=
                &queue("top", "kind = \"policer\", rate = \"1mbit\", burst = \"6kB\", limit = \"100000p\"");
            return;
        }
        "fifo" | "lis" | "nfs" => {
            *text += &queue("top", &format!("kind = \"{kind}\", limit = \"100000p\""));
            return;
        }
        "sfq" => {
            *text += &queue("top", "kind = \"sfq\"");
            return;
        }
        _ => {}
    }
    let mut members: [Vec<String>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    (0..flows).for_each(|flow| members[dice.below(3) as usize].push(format!("\"f{flow}\"")));
    members[2].clear();
    let own = |dice: &mut Dice| match share {
        "quantum" => format!(", quantum = \"{}B\"", 1000 + dice.below(2000)),
        "weight" => format!(", weight = {}", 1 + dice.below(5)),
        "class" => {
            let (share, prio) = (2 + dice.below(2), dice.below(3));
            let burst = [16, 60, 120][dice.below(3) as usize];
            let rate = rate * share / 10;
            let ceil = if dice.below(2) == 0 { rate } else { rate * 2 };
            format!(
                ", rate = \"{rate}bit\", ceil = \"{ceil}bit\", burst = \"{burst}kB\", cburst = \"{burst}kB\", prio = {prio}"
            )
        }
        "curve" => {
            let (first, second) = (2 + dice.below(2), 2 + dice.below(2));
            let (first, second) = (rate * first.max(second) / 10, rate * second / 10);
            let curve =
                format!("{{ m1 = \"{first}bit\", d = \"{}ms\", m2 = \"{second}bit\" }}", 5 + dice.below(20));
            match dice.below(6) {
                0 => format!(", sc = {curve}"),
                1 => format!(", rt = \"{second}bit\", ls = \"1mbit\""),
                2 => format!(", ls = \"{second}bit\""),
                _ => format!(", rt = {curve}, ls = \"{}bit\"", rate * (1 + dice.below(5)) / 10),
            }
        }
        "deadline" => format!(", deadline = \"{}ms\"", 2 + dice.below(40)),
        _ => String::new(),
    };
    if kind == "nested" {
        *text += &queue("top", "kind = \"prio\", children = [\"c0\", \"rounds\"]");
        leaf(text, port, "c0", "", &members[0]);
        *text += &queue("rounds", "kind = \"drr\", children = [\"c1\", \"c2\"]");
        for (child, members) in members.iter().enumerate().skip(1) {
            let share = own(dice);
            leaf(text, port, &format!("c{child}"), &share, members);
        }
        return;
    }
    if kind == "shaped" {
        shaped(text, dice, port, rate, &members);
        return;
    }
    let strict = if kind == "ets" { ", strict = 1, quanta = [\"1600B\", \"2400B\"]" } else { "" };
    *text += &queue("top", &format!("kind = \"{kind}\", children = [\"c0\", \"c1\", \"c2\"]{strict}"));
    for (child, members) in members.iter().enumerate() {
        // A child without rules takes the rest; one for no flow of this network takes none.
        let none = [String::from("\"f0\"")];
        let members = if members.is_empty() && child < 2 { &none[..] } else { members };
        let share = own(dice);
        leaf(text, port, &format!("c{child}"), &share, members);
    }
}

/// Adds a shaper over queues.
fn shaped(text: &mut String, dice: &mut Dice, port: &str, rate: u64, members: &[Vec<String>; 3]) {
    let kind = ["prio", "drr", "wrr", "sfq", "lis"][dice.below(5) as usize];
    let rate = rate * (7 + dice.below(5)) / 10;
    let burst = 2 + dice.below(8);
    writeln!(
        text,
        "port.\"{port}\".queue.top = {{ kind = \"tbf\", rate = \"{rate}bit\", burst = \"{burst}kB\", children = [\"below\"] }}"
    )
    .expect("a string");
    let children = if ["sfq", "lis"].contains(&kind) { "" } else { ", children = [\"c0\", \"c1\", \"c2\"]" };
    writeln!(text, "port.\"{port}\".queue.below = {{ kind = \"{kind}\"{children} }}").expect("a string");
    if children.is_empty() {
        return;
    }
    for (child, members) in members.iter().enumerate() {
        let none = [String::from("\"f0\"")];
        let members = if members.is_empty() && child < 2 { &none[..] } else { members };
        let share = match kind {
            "drr" => format!(", quantum = \"{}B\"", 1000 + dice.below(2000)),
            "wrr" => format!(", weight = {}", 1 + dice.below(5)),
            _ => String::new(),
        };
        leaf(text, port, &format!("c{child}"), &share, members);
    }
}

/// Returns a random chain or ring of links with flows over parts of it, whose envelopes leave room on each
/// link.
fn network(seed: u64) -> (String, Files) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // On a ring of five, each flow takes one link or two: the queues are on a cycle.
    let is_ring = dice.below(6) == 0;
    let hops = if is_ring { 5 } else { 1 + dice.below(4) };
    let count = if is_ring { 5 + dice.below(4) } else { 2 + dice.below(5) };
    let mut text = format!("# {seed}\nduration = \"2s\"\n");
    for node in 0..if is_ring { hops } else { hops + 1 } {
        let service = if node > 0 && node < hops && dice.below(6) == 0 {
            "service = { per_packet = \"100us\", rate = \"100mbit\", limit = \"100000p\" }"
        } else {
            ""
        };
        writeln!(text, "node.n{node} = {{ {service} }}").expect("a string");
    }
    let rates: Vec<u64> = (0..hops).map(|_| 4_000_000 + 333_333 * dice.below(20)).collect();
    let load = 30 + dice.below(65);
    let flows: Vec<Sent> = (0..count)
        .map(|_| {
            let from = dice.below(hops);
            let to =
                if is_ring { (from + 1 + dice.below(2)) % hops } else { from + 1 + dice.below(hops - from) };
            let length = 200 + dice.below(1300);
            let is_fixed = dice.below(2) == 0;
            let shortest = if is_fixed { length } else { 64 + dice.below(length - 64) };
            let burst = length * (1 + dice.below(4)) + dice.below(length);
            let rate = 4_000_000 * load / 100 / count + dice.below(10_000);
            Sent { length, shortest, burst, rate, from, to }
        })
        .collect();
    for (hop, rate) in rates.iter().enumerate() {
        let overhead = if dice.below(10) == 0 { ", overhead = \"38B\", mpu = \"84B\"" } else { "" };
        // Small frames with overhead take more of the line than their bits.
        let rate = if overhead.is_empty() { *rate } else { 2 * rate };
        let delay = dice.below(10);
        let next = if is_ring && hop + 1 == rates.len() { 0 } else { hop + 1 };
        writeln!(text, "link.l{hop} = {{ between = [\"n{hop}\", \"n{next}\"], rate = \"{rate}bit\", delay = \"{delay}ms\"{overhead} }}").expect("a string");
        port(&mut text, &mut dice, &format!("n{hop}:n{next}"), rate, flows.len());
    }
    let mut files = Files::new();
    for (index, flow) in flows.iter().enumerate() {
        let Sent { length, shortest, burst, rate, from, to } = flow;
        let start = if dice.below(2) == 0 { 0 } else { dice.below(30_000) };
        writeln!(
            text,
            "flow.f{index} = {{ from = \"n{from}\", to = \"n{to}\", start = \"{start}us\", replay = {{ file = \"f{index}.pcap\" }}, \
             envelope = {{ rate = \"{rate}bit\", burst = \"{burst}B\", shortest = \"{shortest}B\", longest = \"{length}B\" }} }}"
        )
        .expect("a string");
        files.insert(format!("f{index}.pcap"), capture(&flow.packets(&mut dice, 150)));
    }
    (text, files)
}

#[test]
fn no_packet_is_later_than_its_bound() {
    let count = if std::env::var_os("LOCKGATE_LAWS").is_some() { ALL } else { FEW };
    let (mut bounded, mut all, mut closest) = (0, 0, 0.0_f64);
    // Networks of each kind that has a curve, and of rings, of which each flow has a bound.
    let mut whole: BTreeMap<&str, u64> = BTreeMap::new();
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 1..=count {
        let (text, files) = network(seed);
        let flows = held(&text, &files);
        if flows.iter().all(|(.., bound)| bound.is_ok()) {
            let has = |kind: &&str| text.contains(&format!("kind = \"{kind}\""));
            for kind in KINDS.iter().map(|(kind, _)| *kind).chain(["tbf"]).filter(has) {
                *whole.entry(kind).or_default() += 1;
            }
            if text.contains("\"n4\", \"n0\"") {
                *whole.entry("ring").or_default() += 1;
            }
        }
        for (flow, longest, bound) in flows {
            all += 1;
            match bound {
                Ok(bound) => {
                    bounded += 1;
                    closest = closest.max(longest / bound);
                    assert!(
                        longest <= bound * (1.0 + 1e-9),
                        "{flow}: {longest} s, beyond its bound of {bound} s\n{text}"
                    );
                }
                Err(why) => *reasons.entry(why).or_default() += 1,
            }
        }
    }
    assert!(bounded * 4 > all * 3, "{bounded} of {all} flows have a bound: {reasons:?}");
    if count == ALL {
        let named = KINDS.iter().map(|(kind, _)| *kind).filter(|kind| !["nested", "shaped"].contains(kind));
        for kind in named.chain(["ring"]) {
            assert!(whole.get(kind).is_some_and(|count| *count >= 10), "{kind}: {whole:?}");
        }
    }
    assert!(closest > 0.95, "the closest packet comes to {closest} of its bound");
}

/// One line of 8 Mbit/s, so that a byte takes a microsecond.
const LINE: &str =
    "duration = \"1s\"\nnode.a = {}\nnode.b = {}\nlink.l = { between = [\"a\", \"b\"], rate = \"8mbit\" }\n";

/// Name of a flow, its envelope, and its packets: times in nanoseconds, and lengths.
type Greedy<'a> = (&'a str, &'a str, Vec<(u64, u32)>);

/// Returns how near the run comes to the bound of `flow`.
fn tightness(queues: &str, flows: &[Greedy<'_>], flow: &str) -> f64 {
    let mut text = format!("{LINE}{queues}");
    let mut files = Files::new();
    for (name, envelope, packets) in flows {
        let start = packets[0].0;
        writeln!(text, "flow.{name} = {{ from = \"a\", to = \"b\", start = \"{start}ns\", replay = {{ file = \"{name}.pcap\" }}, envelope = {{ {envelope} }} }}").expect("a string");
        files.insert(format!("{name}.pcap"), capture(packets));
    }
    let results = held(&text, &files);
    let (_, longest, bound) = results.iter().find(|(name, ..)| name == flow).expect("the flow");
    let bound = bound.clone().expect("a bound");
    assert!(*longest <= bound * (1.0 + 1e-9), "{longest} s, beyond {bound} s");
    longest / bound
}

#[test]
fn the_worst_traffic_comes_close_to_the_bound() {
    // FIFO: all bursts at once.
    let burst = |at: u64, count: usize, length: u32| vec![(at, length); count];
    let envelope = "rate = \"1mbit\", burst = \"4kB\", longest = \"1000B\"";
    let flows = [
        ("x", envelope, burst(0, 4, 1000)),
        ("y", envelope, burst(0, 4, 1000)),
        ("z", envelope, burst(0, 4, 1000)),
    ];
    assert!(tightness("", &flows, "z") > 0.999);
    // Priority: the longest low packet begins just before all others come, and high ones go on coming.
    let queues = "port.\"a:b\".queue.top = { kind = \"prio\", children = [\"h\", \"m\", \"l\"] }\n\
        port.\"a:b\".queue.h = { kind = \"fifo\", match = [{ flow = \"high\" }] }\n\
        port.\"a:b\".queue.m = { kind = \"fifo\", match = [{ flow = \"middle\" }] }\n\
        port.\"a:b\".queue.l = { kind = \"fifo\" }\n";
    let mut high = burst(1, 4, 500);
    // 2 Mbit/s: 500 bytes each 2 ms.
    high.extend((1..20).map(|number| (1 + number * 2_000_000, 500)));
    let flows = [
        ("low", "rate = \"1mbit\", burst = \"1500B\", longest = \"1500B\"", burst(0, 1, 1500)),
        ("high", "rate = \"2mbit\", burst = \"2kB\", longest = \"500B\"", high),
        (
            "middle",
            "rate = \"1mbit\", burst = \"6kB\", shortest = \"1000B\", longest = \"1000B\"",
            burst(1, 6, 1000),
        ),
    ];
    assert!(tightness(queues, &flows, "middle") > 0.95, "{}", tightness(queues, &flows, "middle"));
    // Deficit round robin: the other's last packet is in service, and it has rejoined the round before.
    let queues = "port.\"a:b\".queue.top = { kind = \"drr\", children = [\"p\", \"q\"] }\n\
        port.\"a:b\".queue.p = { kind = \"fifo\", quantum = \"1000B\", match = [{ flow = \"own\" }] }\n\
        port.\"a:b\".queue.q = { kind = \"fifo\", quantum = \"9000B\" }\n";
    let mut other = burst(0, 1, 1000);
    other.extend(burst(1, 400, 1000));
    let flows = [
        (
            "own",
            "rate = \"400kbit\", burst = \"40kB\", shortest = \"100B\", longest = \"100B\"",
            burst(2, 400, 100),
        ),
        ("other", "rate = \"2mbit\", burst = \"401kB\", shortest = \"1000B\", longest = \"1000B\"", other),
    ];
    assert!(tightness(queues, &flows, "own") > 0.95, "{}", tightness(queues, &flows, "own"));
}

/// Attacks a metric in so many runs.
fn attacked(text: &str, that: &str, runs: u64) -> Attack {
    let scenario: Scenario = lockgate::read_text(text, "attacked", &Files::new(), &[])
        .unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    let budget = Budget { runs, seed: 1, flows: None, random: false, is_over: &|| false };
    let options = Options { threads: Some(1), ..Options::default() };
    attack(&scenario, that, None, budget, &options).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// Returns how near a search comes to the bound of a flow's delay, or why there is no bound.
fn found_of_bound(text: &str, flow: &str, runs: u64) -> Result<f64, String> {
    let found = attacked(text, &format!("flow.{flow}.owd.max"), runs);
    let (worst, bound) = (found.worst.expect("a delay"), found.proven.expect("of a delay")?);
    assert!(worst <= bound * (1.0 + 1e-9), "{worst} s, beyond {bound} s: {:#?}\n{text}", found.lines);
    Ok(worst / bound)
}

/// Flow from `a` to `b` with an envelope: rate in bits a second, burst, shortest and longest packet in bytes.
fn flow(name: &str, [rate, burst, shortest, longest]: [u64; 4]) -> String {
    format!(
        "flow.{name} = {{ from = \"a\", to = \"b\", size = \"{longest}B\", gap = \"200ms\", envelope = {{ rate = \"{rate}bit\", \
         burst = \"{burst}B\", shortest = \"{shortest}B\", longest = \"{longest}B\" }} }}\n"
    )
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
        let why = proof::prove(&least).delay(0).map_or_else(str::to_owned, |_| String::new());
        let words: Vec<&str> = why.split(' ').collect();
        let bytes = words.iter().rev().nth(1).filter(|_| why.ends_with(" B")).copied().unwrap_or("1600");
        match found_of_bound(&text.replace(OWN, bytes), "f0", runs) {
            Ok(near) => {
                bounded += 1;
                closest = closest.max(near);
            }
            Err(why) => *reasons.entry(why).or_default() += 1,
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

#[test]
fn bad_adversaries_are_errors_with_their_place() {
    for (adversary, at, expected) in [
        (
            "{ from = \"a\", to = \"b\", rate = \"1mbit\", burst = \"1kB\" }",
            "\"1kB\"",
            "does not hold a packet of 1.514kB",
        ),
        (
            "{ from = \"a\", to = \"b\", rate = \"9mbit\", burst = \"2kB\" }",
            "\"9mbit\"",
            "`link.l` carries 8mbit",
        ),
        ("{ from = \"a\", to = \"b\", rate = \"0bit\", burst = \"2kB\" }", "\"0bit\"", "no rate"),
        ("{ from = \"a\", to = \"c\", rate = \"1mbit\", burst = \"2kB\" }", "\"c\"", "no node called `c`"),
        ("{ from = \"a\", to = \"a\", rate = \"1mbit\", burst = \"2kB\" }", "\"a\"", "to itself"),
        ("{ from = \"a\", to = \"b\", rate = \"1mbit\", burst = \"2kB\", flows = 0 }", "0", "0 flows"),
        (
            "{ from = \"a\", to = \"b\", rate = \"1mbit\", burst = \"2kB\", longest = \"9B\" }",
            "\"9B\"",
            "no frame is from 64B to 9B",
        ),
        (
            "{ from = \"a\", to = \"b\", burst = \"2kB\" }",
            "{ from = \"a\", to = \"b\", burst = \"2kB\" }",
            "rate",
        ),
        ("7", "7", "`adversary` is a table"),
    ] {
        let text = format!("adversary = {adversary}\n{LINE}{}", flow("own", [1_000_000, 1000, 100, 1000]));
        let why = lockgate::read_text(&text, "bad", &Files::new(), &[]).expect_err(adversary);
        let lockgate::Error::Scenario(problems) = why else { panic!("{why:?}") };
        let problem = problems.iter().next().expect("one");
        assert!(problem.message().contains(expected), "{adversary}: {}", problem.message());
        assert_eq!(&text[problem.span().expect("a place")], at, "{adversary}: {problems}");
    }
}

#[test]
fn a_buffer_of_the_bound_never_drops() {
    // Three bursts of 4 kB at once: 12 kB with the packet in service.
    let run = |limit: &str| {
        let envelope = "rate = \"1mbit\", burst = \"4kB\", shortest = \"1000B\", longest = \"1000B\"";
        let mut text = format!("{LINE}port.\"a:b\".queue.q = {{ kind = \"fifo\", limit = \"{limit}\" }}\n");
        let mut files = Files::new();
        for name in ["x", "y", "z"] {
            writeln!(text, "flow.{name} = {{ from = \"a\", to = \"b\", replay = {{ file = \"{name}.pcap\" }}, envelope = {{ {envelope} }} }}").expect("a string");
            files.insert(format!("{name}.pcap"), capture(&[(0, 1000); 4]));
        }
        let scenario = lockgate::read_text(&text, "buffer", &files, &[]).expect("a scenario");
        let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
        let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
        let queue = &summary.ports["a:b"].queues["q"];
        (queue.buffer_bound_bytes, queue.may_overflow, queue.dropped_packets)
    };
    assert_eq!(run("12000B"), (Some(12_000), false, 0));
    // The packet in service is on the line, not in the queue.
    assert_eq!(run("11000B"), (Some(12_000), true, 0));
    assert_eq!(run("10000B"), (Some(12_000), true, 1));
}

#[test]
fn a_class_waits_for_the_bursts_of_the_others() {
    // HTB at 8 Mbit/s: a packet of the last class is in service, then the other class sends its burst
    // and goes into debt. The own packet waits 7 ms; 13 ms are proven, as it might have had a debt, too.
    let class = |name: &str, flow: &str| {
        let rules = format!("match = [{{ flow = \"{flow}\" }}]");
        let share = "rate = \"2mbit\", burst = \"4kB\", cburst = \"4kB\"";
        format!("port.\"a:b\".queue.{name} = {{ kind = \"fifo\", {share}, {rules} }}\n")
    };
    let queues = format!(
        "port.\"a:b\".queue.top = {{ kind = \"htb\", children = [\"c\", \"d\", \"e\"] }}\n{}{}{}",
        class("c", "own").replace("4kB\", match", "4kB\", prio = 1, match"),
        class("d", "other"),
        class("e", "low").replace("4kB\", match", "4kB\", prio = 3, match"),
    );
    let envelope = "rate = \"1mbit\", burst = \"5kB\", shortest = \"1000B\", longest = \"1000B\"";
    let flows = [
        ("low", envelope, vec![(0, 1000)]),
        ("other", envelope, vec![(1, 1000); 5]),
        (
            "own",
            "rate = \"1mbit\", burst = \"1kB\", shortest = \"1000B\", longest = \"1000B\"",
            vec![(2, 1000)],
        ),
    ];
    let near = tightness(&queues, &flows, "own");
    assert!((near - 7.0 / 13.0).abs() < 0.001, "{near}");
    // A packet of 1000 bytes is a debt of 80 s at 100 bit/s, of which 20 s are forgiven.
    let slow = queues.replacen("rate = \"2mbit\"", "rate = \"100bit\"", 2).replacen("100bit", "2mbit", 1);
    let all = ["own", "other", "low"].map(|name| flow(name, [90, 1000, 1000, 1000])).concat();
    let text = format!("{LINE}{slow}{all}");
    let why = found_of_bound(&text, "own", 1).expect_err("no bound");
    assert_eq!(why, "`d` is so slow that a part of a packet's debt is forgiven");
}

#[test]
fn an_expectation_is_proven_or_says_why_not() {
    let text = "duration = \"1s\"\nnode.a = {}\nnode.b = {}\nlink.l = { between = [\"a\", \"b\"], rate = \"10mbit\", delay = \"1ms\" }\n\
        port.\"a:b\".queue.top = { kind = \"prio\", children = [\"v\", \"rest\"] }\n\
        port.\"a:b\".queue.v = { kind = \"fifo\", match = [{ flow = \"call\" }] }\n\
        port.\"a:b\".queue.rest = { kind = \"fifo\" }\n\
        flow.call = { from = \"a\", to = \"b\", profile = \"g711\" }\n\
        flow.bulk = { from = \"a\", to = \"b\", transport = \"tcp\", bytes = \"unlimited\" }\n";
    let judged = |expects: &str| {
        let scenario = lockgate::read_text(&format!("{text}{expects}"), "proven", &Files::new(), &[])
            .expect("a scenario");
        let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
        lockgate::summarise(&scenario, &runs.recordings).expect("a summary").expect
    };
    // A full segment, with all its options, and the call's own packet: 1542 + 214 bytes at 10 Mbit/s, and 1
    // ms.
    let expect = |flow: &str, limit: &str| {
        format!("[[expect]]\nthat = \"flow.{flow}.owd.max\"\nat_most = \"{limit}\"\nproven = true\n")
    };
    let held = judged(&expect("call", "2.405ms"));
    assert!(held[0].holds, "{held:?}");
    assert_eq!(held[0].that, "flow.call.owd.bound");
    let missed = judged(&expect("call", "2.404ms"));
    assert!(!missed[0].holds && missed[0].no_bound.is_none(), "{missed:?}");
    let none = judged(&expect("bulk", "10s"));
    assert!(!none[0].holds);
    assert_eq!(none[0].no_bound.as_deref(), Some("tcp"));
}

#[test]
fn bad_envelopes_are_errors_with_their_place() {
    let text = |envelope: &str| {
        format!(
            "duration = \"1s\"\nnode.a = {{}}\nnode.b = {{}}\nlink.l = {{ between = [\"a\", \"b\"], rate = \"10mbit\" }}\n\
             [flow.f]\nfrom = \"a\"\nto = \"b\"\nsize = \"1000B\"\nrate = \"1mbit\"\nenvelope = {envelope}\n"
        )
    };
    for (envelope, at, expected) in [
        (
            "{ rate = \"1mbit\", burst = \"999B\" }",
            "\"999B\"",
            "the burst of 999B does not hold a packet of 1kB",
        ),
        ("{ rate = \"11mbit\", burst = \"1kB\" }", "\"11mbit\"", "`link.l` carries 10mbit"),
        ("{}", "{}", "no token bucket"),
        ("{ rate = \"1mbit\" }", "\"1mbit\"", "`rate` of an envelope needs `burst`"),
        ("{ rate = \"0bit\", burst = \"1kB\" }", "\"1kB\"", "no rate"),
        ("{ rate = \"1mbit\", burst = \"1kB\", longest = \"10B\" }", "\"10B\"", "no frame is from"),
    ] {
        let text = text(envelope);
        let why = lockgate::read_text(&text, "bad", &Files::new(), &[]).expect_err(envelope);
        let lockgate::Error::Scenario(problems) = why else { panic!("{why:?}") };
        let said = problems.to_string();
        let (message, span) =
            problems.iter().map(|one| (one.message().to_owned(), one.span())).next().expect("one");
        assert!(message.contains(expected) || said.contains(expected), "{envelope}: {said}");
        let span = span.expect("a place");
        assert_eq!(&text[span], at, "{envelope}: {said}");
    }
    // More than it states: a warning, and no proof of the flow.
    let text = text("{ rate = \"900kbit\", burst = \"1kB\" }");
    let scenario = lockgate::read_text(&text, "more", &Files::new(), &[]).expect("a scenario");
    assert!(
        scenario.warnings.iter().any(|one| one.message().contains("sends more than its envelope")),
        "{:?}",
        scenario.warnings
    );
    let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    assert!(summary.flows["f"].no_bound.as_ref().is_some_and(|why| why.starts_with("sends more")));
    // Nor of those that wait behind it.
    let beside = text + "[flow.g]\nfrom = \"a\"\nto = \"b\"\nsize = \"100B\"\ngap = \"20ms\"\n";
    let scenario = lockgate::read_text(&beside, "more", &Files::new(), &[]).expect("a scenario");
    let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    assert_eq!(summary.flows["g"].owd_bound_s, None);
    let why = summary.flows["g"].no_bound.as_deref();
    assert_eq!(why, Some("`f` has no envelope and shares the queue"));
}
