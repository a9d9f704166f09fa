//! Forwarding rate of short frames, in frames a second: a live router with eight HTB classes beside the
//! kernel's.
//!
//! ```text
//! cargo bench -p lockgate-live --bench forward
//! ```
//!
//! A program sends frames of 60 bytes, 32 a call, on the first processor: first as fast as it can, then 400
//! 000 a second. The systems between it and the sink are measured in turn: none; the kernel's forwarding with
//! `tc`'s HTB, which works on the sender's processor; and Lockgate's router, whose driver has the second
//! processor, once with packet sockets and once with `AF_XDP`. The sink's kernel counts each frame and drops
//! it. Rates are counted at the sink; the first tenth of the time is left out.
//!
//! `LOCKGATE_BENCH=short` measures a quarter as long; a number as argument sets the repetitions (3).
#![allow(clippy::print_stdout, reason = "a bench prints")]

#[cfg(target_os = "linux")]
mod routers;
#[cfg(target_os = "linux")]
#[path = "../shared"]
mod shared {
    pub(crate) mod ends;
    pub(crate) mod places;
}

#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(target_os = "linux")]
use shared::{ends, places};

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: live runs need Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| *word != "--bench").collect();
    match arguments[..] {
        ["send", interface, to, source, destination, rate, millis, file] => {
            let flood = ends::Flood {
                length: ends::SHORTEST,
                classes: routers::CLASSES,
                processor: 0,
                is_first: true,
                to: bytes(to, ':', 16),
                source: bytes(source, '.', 10),
                destination: bytes(destination, '.', 10),
                class: ends::Class::Port,
                rate: number(rate),
                millis: number(millis),
            };
            ends::send(interface, &flood, file);
        }
        ["live", rate, millis, sender, sink] => {
            let files = routers::Files { sender: Path::new(sender), sink: Path::new(sink) };
            let frames = std::env::var("LOCKGATE_FRAMES").unwrap_or_default();
            row(&format!("Lockgate, {frames}"), routers::live(number(rate), number(millis), &files), None);
        }
        ["count", interface, millis, file] => ends::count(interface, number(millis), file),
        [] => measure(3),
        [times] if times.parse::<u64>().is_ok() => measure(number(times)),
        _ => println!("cargo bench -p lockgate-live --bench forward [-- TIMES]"),
    }
}

#[cfg(target_os = "linux")]
fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

/// Parses an address of `COUNT` bytes, separated by `between`.
#[cfg(target_os = "linux")]
fn bytes<const COUNT: usize>(text: &str, between: char, radix: u32) -> [u8; COUNT] {
    let bytes: Vec<u8> =
        text.split(between).map(|byte| u8::from_str_radix(byte, radix).expect("an address")).collect();
    bytes.try_into().expect("an address")
}

/// Offered rate at which no loss is expected, in frames a second.
#[cfg(target_os = "linux")]
const LOSSLESS: u64 = 400_000;

#[cfg(target_os = "linux")]
fn measure(times: u64) {
    if let Err(missing) = lockgate_live::prepare() {
        println!("skipped: {missing}");
        return;
    }
    let millis = if std::env::var_os("LOCKGATE_BENCH").is_some() { 1_000 } else { 4_000 };
    let directory = std::env::temp_dir().join(format!("lockgate-forward-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let (sender, sink) = (directory.join("sender"), directory.join("sink"));
    let files = routers::Files { sender: &sender, sink: &sink };
    let kernel = routers::Kernel::new();
    if let Err(reason) = &kernel {
        println!("skipped: the kernel's router: {reason}");
    }
    println!("load average {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    println!(
        "| router | offered/s | passed/s | sent | lost | sender, ns a frame | router, ns a frame | remarks |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    );
    // The driver of live runs inherits this processor; the sender uses the other one.
    ends::stay_on(1);
    for rate in [0, LOSSLESS] {
        for _ in 0..times {
            if let Ok(kernel) = &kernel {
                let alone = kernel.run(true, rate, millis, &files);
                let base = alone.as_ref().map_or(0.0, |alone| alone.passed.sender_ns);
                row("none", alone, None);
                row("kernel, HTB", kernel.run(false, rate, millis, &files), Some(base));
            }
            for frames in ["af_packet", "af_xdp"] {
                let mut live = std::process::Command::new(places::program());
                live.args(["live", &rate.to_string(), &millis.to_string()]).args([&sender, &sink]);
                if let Err(error) = live.env("LOCKGATE_FRAMES", frames).status() {
                    println!("| Lockgate, {frames} | skipped: {error} |");
                }
            }
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
}

/// Prints a router's row. If the router has no thread of its own, its cost is the sender's cost above `base`.
#[cfg(target_os = "linux")]
fn row(name: &str, router: Result<routers::Router, String>, base: Option<f64>) {
    let router = match router {
        Ok(router) => router,
        Err(reason) => return println!("| {name} | skipped: {reason} |"),
    };
    let passed = &router.passed;
    let own = router.cpu.map(|cpu| cpu * 1e9 / passed.received.max(1) as f64);
    let own = own.or(base.map(|base| passed.sender_ns - base));
    println!(
        "| {name} | {:.0} | {:.0} | {} | {} ({:.4} %) | {:.0} | {} | {}{} |",
        passed.offered_rate,
        passed.received_rate,
        passed.sent,
        passed.sent.saturating_sub(passed.received),
        passed.sent.saturating_sub(passed.received) as f64 * 100.0 / passed.sent.max(1) as f64,
        passed.sender_ns,
        own.map_or_else(|| "-".to_owned(), |own| format!("{own:.0}")),
        router.remarks,
        if passed.refused > 0 { format!(" refused calls {}", passed.refused) } else { String::new() },
    );
}
