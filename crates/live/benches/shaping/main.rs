//! Exactness of shaping: live runs beside the kernel's own shapers in the same run.
//!
//! ```text
//! cargo bench -p lockgate-live --bench shaping
//! ```
//!
//! A program offers 5 % more than the rate in frames of 1442 bytes; another receives them, with the time
//! stamps of its namespace's kernel. The shapers are measured in turn at each rate: a link of Lockgate's, a
//! token bucket of Lockgate's on a link of 10 Gbit/s, and the kernel's TBF and HTB on a veth, set by `tc`.
//! The first tenth is left out. Results: the rate error from the first frame to the last, then |gap - ideal|.
//!
//! A rate as an argument (`-- 100000000`) is measured alone. `LOCKGATE_BENCH=short` measures a quarter as
//! long.
#![allow(clippy::print_stdout, reason = "a bench prints")]

#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
#[path = "../shared/places.rs"]
mod places;
#[cfg(target_os = "linux")]
mod shapers;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: live runs need Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["send", to, rate, millis] => ends::send(to, number(rate), number(millis)),
        ["receive", port, file, millis] => ends::receive(number(port) as u16, file, number(millis)),
        // Cargo passes further arguments.
        _ => measure(arguments.iter().find_map(|argument| argument.parse().ok())),
    }
}

#[cfg(target_os = "linux")]
fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

/// Rates in bit/s, and the time for which each is measured, in ms.
#[cfg(target_os = "linux")]
const RATES: [(u64, u64); 5] = [
    (100_000, 12_000),
    (1_200_000, 6_000),
    (10_000_000, 4_000),
    (100_000_000, 3_000),
    (1_000_000_000, 2_000),
];

#[cfg(target_os = "linux")]
fn measure(only: Option<u64>) {
    if let Err(missing) = lockgate_live::prepare() {
        println!("skipped: {missing}");
        return;
    }
    // As in a live run, so that the kernel's shapers have the same wake-up latency.
    let _awake = lockgate_live::cpu_latency::LatencyRequest::begin();
    let share = if std::env::var_os("LOCKGATE_BENCH").is_some() { 4 } else { 1 };
    let directory = std::env::temp_dir().join(format!("lockgate-shaping-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let wire = shapers::Wire::new();
    if let Err(reason) = &wire {
        println!("skipped: the kernel's shapers: {reason}");
    }
    println!(
        "| rate bit/s | shaper | frames | rate error | gap p50 off | p99 off | lost behind it | handed over late p99 | offered | driver's CPU |\n\
         | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for (rate, millis) in RATES.into_iter().filter(|(rate, _)| only.is_none_or(|only| *rate == only)) {
        let millis = millis / share;
        let file = directory.join("times");
        for shaper in shapers::ALL {
            let _ = std::fs::remove_file(&file);
            let run = match (&wire, shaper.is_kernels()) {
                (Err(_), true) => continue,
                (Ok(wire), true) => wire.run(shaper, rate, millis, &file).map(|()| None),
                (_, false) => shapers::live(shaper, rate, millis, &file),
            };
            match run.and_then(|live| Ok((live, ends::Arrived::read(&file)?))) {
                Ok((live, arrived)) => row(rate, shaper, live.as_ref(), &arrived),
                Err(reason) => println!("| {rate} | {} | skipped: {reason} |", shaper.name()),
            }
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
}

/// Returns the ideal gap between frames: their bits over the rate, in nanoseconds.
#[cfg(target_os = "linux")]
fn ideal(rate: u64) -> f64 {
    (ends::FRAME * 8) as f64 * 1e9 / rate as f64
}

#[cfg(target_os = "linux")]
fn row(rate: u64, shaper: shapers::Shaper, live: Option<&shapers::Live>, arrived: &ends::Arrived) {
    let times = &arrived.times[arrived.times.len() / 10..];
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        println!("| {rate} | {} | nothing arrived |", shaper.name());
        return;
    };
    let (gaps, ideal) = ((times.len() - 1) as f64, ideal(rate));
    let error = gaps * ideal / (last - first).max(1) as f64 - 1.0;
    let mut off: Vec<f64> =
        times.windows(2).map(|pair| ((pair[1] - pair[0]) as f64 - ideal).abs() / 1e3).collect();
    off.sort_by(f64::total_cmp);
    let quantile = |share: f64| off.get((share * off.len() as f64) as usize).copied().unwrap_or(f64::NAN);
    println!(
        "| {rate} | {} | {} | {:+.3} % | {:.1} us | {:.1} us | {} | {} |",
        shaper.name(),
        times.len(),
        error * 100.0,
        quantile(0.5),
        quantile(0.99),
        arrived.lost,
        live.map_or_else(
            || "- | - | -".to_owned(),
            |live| format!("{:.0} us | {} | {:.2} s", live.late * 1e6, live.offered, live.cpu)
        ),
    );
}
