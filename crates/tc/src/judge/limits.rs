//! Values that the kernel refuses.

use super::{Refusal, Request, kernel};
use crate::position::Located;

/// Kinds that Linux has or had.
pub(super) const KERNEL: &[&str] = &[
    "bfifo",
    "blackhole",
    "cake",
    "cake_mq",
    "cbq",
    "cbs",
    "choke",
    "clsact",
    "codel",
    "drr",
    "dualpi2",
    "etf",
    "ets",
    "fq",
    "fq_codel",
    "fq_pie",
    "gred",
    "hfsc",
    "hhf",
    "htb",
    "ingress",
    "mq",
    "mqprio",
    "multiq",
    "netem",
    "noqueue",
    "pfifo",
    "pfifo_fast",
    "pfifo_head_drop",
    "pie",
    "plug",
    "prio",
    "qfq",
    "red",
    "sfb",
    "sfq",
    "skbprio",
    "taprio",
    "tbf",
];

/// Bands of `prio` and `ets`.
pub(super) fn bands(request: &Request) -> u16 {
    let bands = request.values.get("bands").filter(|bands| (1.0..=16.0).contains(bands)).unwrap_or(0.0);
    match request.kind.as_ref().map(|kind| kind.value.as_str()) {
        Some("prio") if bands == 0.0 => 3,
        Some("prio" | "ets") => bands as u16,
        _ => 0,
    }
}

/// Checks values as the kernel does; `is_change` of an object that is there.
pub(super) fn check(request: &Request, is_class: bool, is_change: bool) -> Result<(), Refusal> {
    let Some(kind) = &request.kind else { return Ok(()) };
    let values = &request.values;
    let value = |name: &str| values.get(name);
    let outside =
        |name: &str, least: f64, most: f64| value(name).filter(|value| !(least..=most).contains(value));
    let limits: &[(&str, &str, f64, f64)] = if is_class { CLASSES } else { QDISCS };
    for (of, name, least, most) in limits {
        if *of == kind.as_str()
            && let Some(found) = outside(name, *least, *most)
        {
            let refusal =
                kernel(values.at(name, kind.at), format!("`{name} {found}` of `{of}` is outside its limits"));
            return Err(refusal.help(format!("the kernel takes {least} to {most}")));
        }
    }
    of_kind(request, kind, is_class, is_change)
}

/// Checks values that depend on each other.
fn of_kind(
    request: &Request,
    kind: &Located<String>,
    is_class: bool,
    is_change: bool,
) -> Result<(), Refusal> {
    let values = &request.values;
    let value = |name: &str| values.get(name);
    let refuse = |name: &str, message: String| Err(kernel(values.at(name, kind.at), message));
    match kind.as_str() {
        "prio" => {
            let count = value("bands").unwrap_or(3.0);
            let map: Vec<f64> = values.all("priomap").collect();
            // Priorities that the command leaves out keep the bands of the default.
            let default = [1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
            let kept = &default[map.len().min(16)..];
            match map.iter().chain(kept).find(|band| **band >= count) {
                Some(band) => refuse("bands", format!("the map of `prio` names the band {band} of {count}"))
                    .map_err(|refusal: Refusal| {
                        refusal.help(format!("give `priomap` with sixteen numbers from 0 to {}", count - 1.0))
                    }),
                None => Ok(()),
            }
        }
        "sfq" => match value("divisor").filter(|divisor| *divisor > 0.0) {
            Some(divisor) if divisor > 65_536.0 || !(divisor as u64).is_power_of_two() => {
                refuse("divisor", format!("`divisor {divisor}` of `sfq` is not a power of two up to 65536"))
            }
            _ => Ok(()),
        },
        "fq_codel" if is_change && values.has("flows") => {
            refuse("flows", "`flows` of `fq_codel` cannot change".to_owned())
        }
        "tbf" => match (value("peakrate"), value("rate")) {
            (Some(peak), Some(rate)) if peak > 0.0 && peak <= rate => {
                refuse("peakrate", "`peakrate` of `tbf` is not above its `rate`".to_owned())
            }
            _ => Ok(()),
        },
        "hhf" => {
            let weighted = value("quantum").unwrap_or(1514.0) * value("non_hh_weight").unwrap_or(2.0);
            if weighted > f64::from(i32::MAX) {
                return refuse("quantum", "`quantum` times `non_hh_weight` of `hhf` is too large".to_owned());
            }
            Ok(())
        }
        // Among the names of clocks, each fourth after the second is that of TAI.
        "etf" if value("clockid").is_some_and(|clock| clock as u32 % 4 != 1) => {
            refuse("clockid", "`clockid` of `etf` is not `CLOCK_TAI`".to_owned())
        }
        "mqprio" | "taprio" if values.all("map").any(|class| class >= value("num_tc").unwrap_or(8.0)) => {
            refuse("map", "`map` names a class beyond `num_tc`".to_owned())
        }
        "taprio" if !values.has("sched-entry") => {
            refuse("num_tc", "`taprio` has no `sched-entry`".to_owned())
        }
        "taprio" if !values.has("clockid") && value("flags").unwrap_or(0.0) < 2.0 => {
            refuse("num_tc", "`taprio` has no `clockid`".to_owned())
        }
        "red" if values.has("nodrop") && !values.has("ecn") => {
            refuse("nodrop", "`nodrop` of `red` needs `ecn`".to_owned())
        }
        "drr" if is_class && value("quantum") == Some(0.0) => {
            refuse("quantum", "`quantum 0` of `drr`".to_owned())
        }
        _ => Ok(()),
    }
}

const MOST: f64 = u32::MAX as f64;

/// Limits of disciplines.
const QDISCS: &[(&str, &str, f64, f64)] = &[
    ("prio", "bands", 2.0, 16.0),
    ("fq_codel", "flows", 0.0, 65_536.0),
    ("fq_codel", "quantum", 0.0, 1_048_576.0),
    ("fq", "quantum", 1.0, 1_048_576.0),
    ("fq", "buckets", 0.0, 262_144.0),
    ("sfq", "perturb", 0.0, MOST),
    ("fq", "initial_quantum", 0.0, i32::MAX as f64),
    ("pie", "limit", 0.0, MOST),
];

/// Limits of classes.
const CLASSES: &[(&str, &str, f64, f64)] =
    &[("qfq", "weight", 1.0, 1024.0), ("qfq", "maxpkt", 512.0, 65_536.0)];
