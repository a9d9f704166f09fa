//! Forwarding rate of a bridge with HTB, in frames a second, and its cost for each frame: Lockgate's, the
//! kernel's, and a bridge without a queue, measured in turn.
//!
//! ```text
//! cargo bench -p lockgate-cli --bench bridge [-- TIMES [BYTES]]
//! cargo bench -p lockgate-cli --bench bridge -- tcp [TIMES [1,2...]]
//! ```
//!
//! A program sends frames on the first processor, 32 a call, to each class in turn: first as fast as it can,
//! then 200 000 a second. Between it and the sink is the kernel's bridge. The kernel's HTB, with hashed `u32`
//! filters, works on the sender's processor. Lockgate's router (`lockgate route`, attached behind the driver
//! and in it) has the second processor, or shares the first. The sink's kernel counts each frame and drops
//! it. Costs are processor time: of the sender's calls, of the router, and of the kernel's own threads for
//! frames.
//!
//! `LOCKGATE_BENCH=short` measures a quarter as long. The arguments are the number of repetitions (2), and
//! the only frame length to measure. With `tcp`, connections of the kernel's TCP take the place of the flood
//! (`connections.rs`), and the last argument has the numbers of the ways to measure. `LOCKGATE` names another
//! build of the command.
#![allow(clippy::print_stdout, reason = "a bench prints")]

#[cfg(target_os = "linux")]
mod connections;
#[cfg(target_os = "linux")]
#[path = "../../../live/benches/shared"]
mod shared {
    pub(crate) mod ends;
    pub(crate) mod places;
}
#[cfg(target_os = "linux")]
mod systems;

#[cfg(target_os = "linux")]
use shared::{ends, places};

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: interfaces need Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["send", length, classes, rate, millis, is_first, file] => {
            let flood = ends::Flood {
                length: number(length) as usize,
                classes: number(classes) as u16,
                processor: 0,
                is_first: is_first == "first",
                to: systems::UNUSED,
                source: [10, 7, 1, 1],
                destination: systems::FIRST,
                class: ends::Class::Address,
                rate: number(rate),
                millis: number(millis),
            };
            ends::send(systems::HOST_END, &flood, file);
        }
        ["count", millis, file] => ends::count(systems::HOST_END, number(millis), file),
        ["receive", millis, file] => connections::receive(number(millis), file),
        ["connect", millis] => connections::send(number(millis)),
        ["tcp"] => measure_tcp(2, ""),
        ["tcp", times] => measure_tcp(number(times), ""),
        ["tcp", times, ways] => measure_tcp(number(times), ways),
        [] => measure(2, None),
        [times] if times.parse::<u64>().is_ok() => measure(number(times), None),
        [times, length] => measure(number(times), Some(number(length) as usize)),
        _ => println!("cargo bench -p lockgate-cli --bench bridge [-- TIMES [BYTES]]"),
    }
}

#[cfg(target_os = "linux")]
fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

#[cfg(target_os = "linux")]
fn measure_tcp(times: u64, which: &str) {
    let millis = if std::env::var_os("LOCKGATE_BENCH").is_some() { 4_000 } else { 10_000 };
    println!(
        "| 49 connections | Mbit/s | least of its plan | ping, p50 and p99 in ms | sender, % of a processor | receiver | router | \
         kernel's threads | all |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for _ in 0..times {
        for (number, way) in (1..).zip(connections::Way::ALL) {
            if !which.is_empty() && !which.split(',').any(|it| it.parse() == Ok(number)) {
                continue;
            }
            println!(
                "{}",
                connections::run(way, millis).unwrap_or_else(|reason| format!("| skipped: {reason} |"))
            );
        }
    }
}

/// Offered rate of the paced measurements, in frames a second.
#[cfg(target_os = "linux")]
const PACED: u64 = 200_000;

#[cfg(target_os = "linux")]
fn measure(times: u64, only: Option<usize>) {
    use systems::{Load, System};

    let millis = if std::env::var_os("LOCKGATE_BENCH").is_some() { 1_000 } else { 4_000 };
    println!("load average {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    println!(
        "| system | bytes | classes | processors | offered/s | passed/s | lost | sender, ns a frame | router | kernel's threads | all |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    let load = |length, classes, rate, is_shared| Load { length, classes, rate, is_shared, millis };
    let two = [ends::SHORTEST, 512, 1514]
        .into_iter()
        .flat_map(|length| [0, PACED].map(|rate| load(length, 8, rate, false)));
    let many = [0, PACED].map(|rate| load(ends::SHORTEST, 10_000, rate, false));
    let one = [0, PACED / 2].map(|rate| load(ends::SHORTEST, 8, rate, true));
    let loads = two.chain(many).chain(one);
    for load in loads.filter(|load| only.is_none_or(|only| load.length == only)) {
        for _ in 0..times {
            for system in [System::Bridge, System::Kernel, System::Lockgate("tcx"), System::Lockgate("xdp")] {
                match systems::run(system, &load) {
                    Ok(row) => println!("{row}"),
                    Err(reason) => println!("| {system} | skipped: {reason} |"),
                }
            }
        }
    }
}
