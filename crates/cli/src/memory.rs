//! Memory limit of a scenario: estimated before it runs, refused above a limit, and watched while it runs.

use lockgate_engine::units::Bytes;
use lockgate_scenario::{MEMORY, Scenario};
use lockgate_sim::Estimate;

use crate::exit::Failure;

/// Returns the limit of `--memory` in bytes, 2 GiB by default.
pub(crate) fn limit(given: Option<&str>) -> Result<u64, Failure> {
    let Some(text) = given else { return Ok(MEMORY) };
    match text.parse::<Bytes>() {
        Ok(Bytes(limit)) if limit > 0 => Ok(limit),
        _ => Err(Failure::usage(
            format!("`--memory {text}` is no amount of memory"),
            "write it with its unit, such as `--memory 8GiB`",
        )),
    }
}

/// Estimates the bytes that `runs` runs of a scenario take.
///
/// # Errors
/// If they exceed the limit: names the largest part and the way to make it smaller.
pub(crate) fn reckon(scenario: &Scenario, runs: usize) -> Result<u64, Failure> {
    let estimate = Estimate::of(scenario);
    // Not the thread pool's size: reading it starts the pool, and a process of several threads cannot enter a
    // user namespace.
    let together = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let needed = estimate.of_runs(runs as u64, together);
    if needed <= scenario.memory {
        return Ok(needed);
    }
    let (what, bytes, help) =
        estimate.parts().into_iter().max_by_key(|(_, bytes, _)| *bytes).unwrap_or_default();
    let times = if runs > 1 { format!(" for {runs} runs") } else { String::new() };
    Err(Failure::usage(
        format!(
            "`{}` takes about {} of memory{times}, {} of it for {what}, and {} are allowed",
            scenario.title,
            shown(needed),
            shown(bytes),
            shown(scenario.memory)
        ),
        format!("{help}; or allow more, such as by `--memory {}`", allowed(needed)),
    ))
}

/// Formats an amount of memory.
pub(crate) fn shown(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1 << 20, "MiB"));
    let amount = bytes as f64 / unit as f64;
    if bytes > 1 << 50 {
        return "more than 1000 TiB".to_owned();
    }
    if amount < 9.95 { format!("{amount:.1} {name}") } else { format!("{amount:.0} {name}") }
}

/// Returns the whole number of GiB that suffices.
fn allowed(bytes: u64) -> String {
    format!("{}GiB", (bytes >> 30) + 1)
}

/// Returns the resident bytes of this process; `None` if the system does not tell.
fn resident() -> Option<u64> {
    let pages: u64 =
        std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    // Pages of 4 KiB: with larger pages, more is allowed than stated.
    Some(pages << 12)
}

/// Bytes that the program itself may take in addition.
const OWN: u64 = 256 << 20;

/// Watches the resident memory of the process against the limit.
pub(crate) struct Guard {
    limit: u64,
    calls: std::sync::atomic::AtomicU32,
}

impl Guard {
    /// Calls per measurement, because one takes some microseconds.
    const CALLS: u32 = 64;

    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, calls: std::sync::atomic::AtomicU32::new(0) }
    }

    /// Returns the resident bytes of the process if they exceed the limit.
    pub(crate) fn exceeded(&self) -> Option<u64> {
        let calls = self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if !calls.is_multiple_of(Self::CALLS) {
            return None;
        }
        resident().filter(|bytes| *bytes > self.limit.saturating_add(OWN))
    }

    /// Returns the failure of a run that exceeded its limit.
    pub(crate) fn failure(&self, bytes: u64) -> Failure {
        Failure::run(
            format!("the run has taken {} of memory, and {} are allowed", shown(bytes), shown(self.limit)),
            format!(
                "more packets wait than was foreseen: set smaller limits of queues, or allow more, such as by `--memory {}`",
                allowed(bytes.saturating_mul(2))
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short_and_limits_are_read_with_their_unit() {
        assert_eq!(shown(3 << 20), "3.0 MiB");
        assert_eq!(shown(100 << 20), "100 MiB");
        assert_eq!(shown(24 << 30), "24 GiB");
        assert_eq!(shown(u64::MAX), "more than 1000 TiB");
        assert_eq!(limit(Some("8GiB")).expect("an amount"), 8 << 30);
        assert!(limit(Some("8")).is_err() && limit(Some("0B")).is_err());
        assert_eq!(limit(None).expect("the default"), MEMORY);
    }
}
