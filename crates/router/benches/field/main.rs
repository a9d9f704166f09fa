//! Field runs of a router between hosts in namespaces, shortened: their figures are printed, and nothing is
//! judged.
//!
//! ```text
//! cargo bench -p lockgate-router --bench field                      all of them
//! cargo bench -p lockgate-router --bench field -- home [SECONDS] [1,2...]    a home behind NAT, with a line of 20 ms
//! cargo bench -p lockgate-router --bench field -- provider [SECONDS] [MBIT]     fifty subscribers from a table
//! cargo bench -p lockgate-router --bench field -- delay [SECONDS]   one way, beside the kernel's bridge
//! ```
//!
//! A part lasts `SECONDS` (10), and is repeated beside four busy programs.
#![allow(clippy::print_stdout, reason = "a bench prints")]

#[cfg(target_os = "linux")]
mod bulk;
#[cfg(target_os = "linux")]
#[path = "../../tests/common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
mod delay;
#[cfg(target_os = "linux")]
mod flood;
#[cfg(target_os = "linux")]
mod home;
#[cfg(target_os = "linux")]
mod provider;
#[cfg(target_os = "linux")]
mod tagged;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: interfaces need Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number =
        |at: usize, otherwise: u64| words.get(at).and_then(|it| it.parse().ok()).unwrap_or(otherwise);
    let is_wanted = |name: &str| words.first().is_none_or(|word| word == name);
    if is_wanted("home") {
        home::run(number(1, 10), words.get(2).map_or("", String::as_str));
    }
    if is_wanted("provider") {
        provider::run(number(1, 10), number(2, 11));
    }
    if is_wanted("delay") {
        delay::run(number(1, 3));
    }
}

/// Prints how busy the machine is.
#[cfg(target_os = "linux")]
fn print_load() {
    println!("load average {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
}

/// Returns a quantile of sorted values; zero if there are none.
#[cfg(target_os = "linux")]
fn quantile(sorted: &[std::time::Duration], share: f64) -> std::time::Duration {
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Busy programs; ended on drop.
#[cfg(target_os = "linux")]
struct Hogs(Vec<std::process::Child>);

#[cfg(target_os = "linux")]
impl Hogs {
    fn start(count: usize) -> Self {
        let start = |_| {
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("started")
        };
        Self((0..count).map(start).collect())
    }
}

#[cfg(target_os = "linux")]
impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}
