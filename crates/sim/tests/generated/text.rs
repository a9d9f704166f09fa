//! Scenarios as text, drawn from a seed: a network, trees, flows, and what changes on the way.

use std::fmt::Write as _;

use lockgate_engine::random::{Random, Seed};

use crate::tree::Trees;
use crate::values::{Kind, RATES, TIMES, once_in, pick};

/// A scenario, and what may be set while it runs.
pub(crate) struct Generated {
    pub(crate) text: String,
    /// `PATH=VALUE`, in the order in which they are tried.
    pub(crate) knobs: Vec<String>,
}

const DURATIONS: [&str; 6] = ["1ms", "100ms", "1s", "60s", "3h", "2400h"];
const GAPS: [&str; 7] = ["1ps", "1us", "100us", "1ms", "20ms", "2000s", "100h"];
const SIZES: [&str; 6] = ["1B", "60B", "500B", "1514B", "9014B", "65549B"];
const LINK_RATES: [&str; 7] =
    ["8bit", "64kbit", "1mbit", "100mbit", "100gbit", "9223372036854775807bit", "18446744073709551615bit"];

/// The scenario of a seed.
pub(crate) fn generate(kinds: &[Kind], seed: u64) -> Generated {
    let random = &mut Random::stream(Seed(seed), "generated");
    let mut text = String::new();
    let _ = writeln!(text, "title = \"generated {seed}\"\nduration = \"{}\"", pick(&DURATIONS, random));
    if once_in(5, random) {
        text.push_str("warmup = \"500us\"\n");
    }
    if once_in(4, random) {
        text.push_str("[record]\npackets = true\n");
    }
    text.push_str("[node]\na = {}\nr = {}\nb = {}\n");
    for (name, ends) in [("one", "\"a\", \"r\""), ("two", "\"r\", \"b\"")] {
        link(&mut text, name, ends, random);
    }
    let mut trees = Trees::new(kinds, "r->b");
    trees.grow(random);
    if once_in(2, random) {
        trees.grow(random);
    }
    let _ = writeln!(text, "[port.\"r->b\"]\nroot = \"r0\"");
    if trees.roots.len() > 1 {
        text.push_str("alternatives = [\"r1\"]\n");
    }
    if once_in(4, random) {
        let (hz, source) = (pick(&[1, 100, 1024, 1_000_000], random), pick(&["cpu", "jiffies"], random));
        let _ = writeln!(text, "clock = {{ hz = {hz}, source = \"{source}\" }}");
    }
    if once_in(4, random) {
        let slots = *pick(&[1, 2, 64, 4_294_967_295_u32], random);
        let _ = writeln!(text, "ring = {{ slots = {slots}, completions = {} }}", pick(&[1, slots], random));
    }
    text.push_str(&trees.text);
    let flows = 1 + random.below(3);
    for number in 0..flows {
        flow(&mut text, number, random);
    }
    let mut knobs = Vec::new();
    for _ in 0..random.below(4) {
        let Some((path, value)) = change(&trees, random) else { continue };
        if once_in(2, random) {
            knobs.push(format!("{path}={}", value.trim_matches('"')));
        } else {
            let at = pick(&["0s", "1ps", "300us", "1ms", "90ms", "30s"], random);
            let _ = writeln!(text, "[[change]]\nat = \"{at}\"\nset = {{ \"{path}\" = {value} }}");
        }
    }
    Generated { text, knobs }
}

fn link(text: &mut String, name: &str, ends: &str, random: &mut Random) {
    let _ = writeln!(text, "[link.{name}]\nbetween = [{ends}]\nrate = \"{}\"", pick(&LINK_RATES, random));
    if once_in(2, random) {
        let _ = writeln!(text, "delay = \"{}\"", pick(&["0s", "1ps", "1ms", "1s", "2399h"], random));
    }
    if once_in(4, random) {
        let _ = writeln!(text, "loss = \"{}\"", pick(&["1%", "50%", "100%"], random));
    }
    if once_in(4, random) {
        let _ = writeln!(text, "overhead = \"{}\"", pick(&["-14B", "24B", "1MB"], random));
    }
    if once_in(4, random) {
        let _ = writeln!(text, "mpu = \"{}\"", pick(&["1B", "84B", "64KiB"], random));
    }
}

fn flow(text: &mut String, number: u32, random: &mut Random) {
    let _ =
        writeln!(text, "[flow.f{number}]\nfrom = \"a\"\nto = \"b\"\ndestination_port = {}", random.below(4));
    if once_in(2, random) {
        text.push_str("dscp = \"EF\"\n");
    }
    if once_in(4, random) {
        let _ = writeln!(text, "start = \"{}\"", pick(&["1ps", "1ms", "100ms"], random));
    }
    if once_in(6, random) {
        let _ = writeln!(text, "stop = \"{}\"", pick(&["2ms", "1s", "100s"], random));
    }
    if once_in(4, random) {
        let control = pick(&["reno", "cubic", "bbr", "dctcp", "prague"], random);
        let bytes = pick(&["1B", "100kB", "unlimited"], random);
        let _ = writeln!(text, "transport = \"tcp\"\ncongestion = \"{control}\"\nbytes = \"{bytes}\"");
        if once_in(2, random) {
            text.push_str("ecn = true\n");
        }
        return;
    }
    if once_in(8, random) {
        text.push_str("echo = true\n");
    }
    text.push_str("transport = \"udp\"\n");
    let size = pick(&SIZES, random);
    if once_in(3, random) {
        let _ = writeln!(text, "size = {{ distribution = \"uniform\", min = \"60B\", max = \"{size}\" }}");
    } else {
        let _ = writeln!(text, "size = \"{size}\"");
    }
    if once_in(3, random) {
        let mean = pick(&GAPS, random);
        let _ = writeln!(text, "gap = {{ distribution = \"exponential\", mean = \"{mean}\" }}");
    } else if once_in(4, random) {
        let _ = writeln!(text, "rate = \"{}\"", pick(&["1bit", "1mbit", "1gbit", "8000gbit"], random));
    } else {
        let _ = writeln!(text, "gap = \"{}\"", pick(&GAPS, random));
    }
}

/// A change of a tree, of a link or of a flow: path and value.
fn change(trees: &Trees<'_>, random: &mut Random) -> Option<(String, String)> {
    let quoted = |value: &&str| format!("\"{value}\"");
    match random.below(8) {
        0 => Some(("link.two.rate".to_owned(), quoted(pick(&RATES, random)))),
        1 => Some(("link.two.delay".to_owned(), quoted(pick(&TIMES, random)))),
        2 => Some(("flow.f0.gap".to_owned(), quoted(pick(&GAPS, random)))),
        _ => trees.change(random),
    }
}
