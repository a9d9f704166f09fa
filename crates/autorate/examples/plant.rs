//! Runs each law before the plant on lines of which the rate moves, and prints utilisation and the 95th
//! percentile of the queue on the line. Arguments: traces of opportunities, and `KEY=VALUE` parameters of
//! `brake`.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

#[path = "../tests/plant/mod.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod plant;

use lockgate_autorate::{Bounds, Controller, Law, Parameters};
use lockgate_engine::units::Rate;
use plant::{PACKET, Plant, run};

/// Length of a run in milliseconds.
const LENGTH: u64 = 60_000;

fn trace(path: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(path).expect("a trace");
    let times: Vec<u64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let period = times.last().copied().unwrap_or(1).max(1);
    let mut rates = vec![0; period as usize];
    for time in times {
        rates[(time % period) as usize] += PACKET * 8 * 1000;
    }
    rates
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (settings, paths): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|text| text.contains('='));
    let keys: Vec<&str> = settings.iter().map(|text| text.as_str()).collect();
    let parameters: Parameters =
        toml::from_str(&format!("[brake]\n{}", keys.join("\n"))).expect("parameters of `brake`");
    let mut lines: Vec<(String, Vec<u64>)> = vec![
        (
            "half".into(),
            (0..LENGTH).map(|ms| if ms % 20_000 < 10_000 { 20_000_000 } else { 10_000_000 }).collect(),
        ),
        ("constant".into(), vec![20_000_000; 1000]),
    ];
    lines.extend(paths.iter().map(|path| (path.rsplit('/').next().unwrap_or(path).to_owned(), trace(path))));
    println!("{:28} {:>4} {:12} {:>6} {:>6} {:>6}", "line", "rtt", "law", "used", "p95", "p99");
    for (name, rates) in &lines {
        let mean = rates.iter().sum::<u64>() / rates.len() as u64;
        for rtt in [40] {
            for law in Law::ALL {
                let start = if *law == Law::Fixed { mean * 7 / 10 } else { mean };
                let bounds = Bounds {
                    min: Rate::from_bits(100_000),
                    max: Rate::from_bits(mean * 10),
                    start: Rate::from_bits(start),
                };
                let plant = Plant {
                    rtt_ms: &|_| rtt,
                    capacity: &|ms| rates[(ms % rates.len() as u64) as usize],
                    demand: &|_| 10_000_000_000,
                    length_ms: LENGTH.max(rates.len() as u64).min(120_000),
                    probes_ms: Some(300),
                    reads_acks: true,
                };
                let outcome = run(&plant, &mut Controller::new(*law, &parameters, bounds));
                let used = outcome.utilisation(0, plant.length_ms);
                let [p95, p99] = [0.95, 0.99].map(|part| outcome.quantile(part));
                println!("{name:28} {rtt:>4} {law:12} {used:>6.3} {p95:>6} {p99:>6}", law = law.name());
            }
        }
    }
}
