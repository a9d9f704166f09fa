//! Random networks of all disciplines with a curve: no packet is later than its bound.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Dice, Files, capture, held};

/// Random networks in a usual run, and with `LOCKGATE_LAWS=1`.
const FEW: u64 = 40;
const ALL: u64 = 5000;

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
    if let Some(leaf) = single(kind, rate) {
        *text += &queue("top", &leaf);
        return;
    }
    let mut members: [Vec<String>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    (0..flows).for_each(|flow| members[dice.below(3) as usize].push(format!("\"f{flow}\"")));
    members[2].clear();
    if kind == "nested" {
        *text += &queue("top", "kind = \"prio\", children = [\"c0\", \"rounds\"]");
        leaf(text, port, "c0", "", &members[0]);
        *text += &queue("rounds", "kind = \"drr\", children = [\"c1\", \"c2\"]");
        for (child, members) in members.iter().enumerate().skip(1) {
            let share = drawn(share, dice, rate);
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
        let share = drawn(share, dice, rate);
        leaf(text, port, &format!("c{child}"), &share, members);
    }
}

/// Returns a queue without children, if the kind has none.
fn single(kind: &str, rate: u64) -> Option<String> {
    Some(match kind {
        "tbf" => {
            let rates = [8_000_000, 4_000_000, 2_000_000];
            let rate = rates.into_iter().find(|one| *one <= rate).unwrap_or(1_000_000);
            format!("kind = \"tbf\", rate = \"{rate}bit\", burst = \"4kB\", limit = \"10000000B\"")
        }
        "policer" => "kind = \"policer\", rate = \"1mbit\", burst = \"6kB\", limit = \"100000p\"".to_owned(),
        "fifo" | "lis" | "nfs" => format!("kind = \"{kind}\", limit = \"100000p\""),
        "sfq" => "kind = \"sfq\"".to_owned(),
        _ => return None,
    })
}

/// Draws a child's share, with a comma before it.
fn drawn(share: &str, dice: &mut Dice, rate: u64) -> String {
    match share {
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
                Err(why) => *reasons.entry(why.to_string()).or_default() += 1,
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
