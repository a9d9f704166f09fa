//! Values that the kernel refuses.

use super::options::Values;
use super::{Refusal, Request, kernel};
use crate::language::Language;
use crate::position::{Located, Position};

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
    let words = Language::of(kind).map_or(&[][..], |language| language.words(is_class));
    for word in words {
        let (Some([least, most]), Some(value)) = (word.kernel_limits(), request.values.get(word.name)) else {
            continue;
        };
        if !(least..=most).contains(&value) {
            let at = request.values.at(word.name, kind.at);
            let message = format!("`{} {value}` of `{kind}` is outside its limits", word.name, kind = **kind);
            return Err(kernel(at, message).help(format!("the kernel takes {least} to {most}")));
        }
    }
    of_kind(request, kind, is_class, is_change)
}

/// Checks that the map of `prio` names bands that are there.
fn prio(values: &Values, at: Position) -> Result<(), Refusal> {
    let count = values.get("bands").unwrap_or(3.0);
    let map: Vec<f64> = values.all("priomap").collect();
    // Priorities that the command leaves out keep the bands of the default.
    let default = [1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let kept = &default[map.len().min(16)..];
    let Some(band) = map.iter().chain(kept).find(|band| **band >= count) else { return Ok(()) };
    let message = format!("the map of `prio` names the band {band} of {count}");
    let help = format!("give `priomap` with sixteen numbers from 0 to {}", count - 1.0);
    Err(kernel(values.at("bands", at), message).help(help))
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
        "prio" => prio(values, kind.at),
        "sfq" => match value("divisor").filter(|divisor| *divisor > 0.0) {
            Some(divisor) if divisor > 65_536.0 || !(divisor as u64).is_power_of_two() => {
                refuse("divisor", format!("`divisor {divisor}` of `sfq` is not a power of two up to 65536"))
            }
            _ => Ok(()),
        },
        "fq_codel" if is_change && value("flows").is_some_and(|flows| flows > 0.0) => {
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
