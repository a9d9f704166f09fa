//! Rules on sizes and rates: bursts, RED's thresholds, fields of 32 bits.

use lockgate_engine::units::{Bytes, Duration, Rate};

use super::{Device, Findings, Machine, Severity};
use crate::import::classification::band_map;
use crate::import::settings::value_of;
use crate::language::{HTB_MTU, Kind, computed_burst};
use crate::lex;
use crate::number::rate_text;
use crate::position::Position;
use crate::syntax::{FilterAction, Qdisc, Setting};
use crate::value::Value;

/// Returns the rate of a word in bytes a second, such as `10mbps`, and the same number of bits.
fn bytes_a_second(word: &str) -> Option<(Rate, String)> {
    let lower = word.to_ascii_lowercase();
    let start = lower.strip_suffix("bps")?;
    let digits = start.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let bits = lex::rate(word).filter(|_| digits.parse::<f64>().is_ok())?;
    Some((Rate::from_bits(bits as u64), format!("{start}bit")))
}

/// Target and interval of `codel` without the words.
const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);

/// Reports a target that packets may exceed for a whole interval without a drop.
fn target(qdisc: &Qdisc, findings: &mut Findings) {
    let time = |name: &str, usual: Duration| match value_of(&qdisc.settings, name) {
        Some(Value::Time(time)) if *time > Duration::ZERO => *time,
        _ => usual,
    };
    let (target, interval) = (time("target", TARGET), time("interval", INTERVAL));
    if target >= interval {
        let at = super::classes::at(&qdisc.settings, "target", qdisc.kind.at);
        findings.warn(
            "target-over-interval",
            at,
            format!("`target {target}` is not below `interval {interval}`: the wait is not held near the target"),
            "the interval is a round trip of the slowest flows, and the target 5 to 10 % of it: `target 5ms interval 100ms`",
        );
    }
}

/// Largest rate of a field of 32 bits: bytes a second.
const LARGEST_RATE: u64 = (u32::MAX as u64) * 8;

/// Bytes of Ethernet before a packet.
const ETHERNET: u64 = 14;

pub(super) fn check(device: &Device<'_>, machine: &Machine, findings: &mut Findings) {
    for qdisc in &device.qdiscs {
        match *qdisc.kind {
            Kind::Tbf => bursts(&qdisc.settings, &[("burst", "rate")], machine, findings),
            Kind::Red | Kind::Choke => red(qdisc, findings),
            Kind::CakeMq => cake_mq(qdisc, findings),
            Kind::Codel | Kind::FqCodel => target(qdisc, findings),
            Kind::Prio | Kind::Ets => {
                if let Err(problem) = band_map(qdisc)
                    && !problem.is_limit()
                {
                    findings.problem(&problem, "bands");
                }
            }
            _ => {}
        }
    }
    let words = device.commands.0.iter().flat_map(|command| command.object.words().all.iter().flatten());
    for word in words {
        if let Some((bits, meant)) = bytes_a_second(&word.value) {
            findings.add(
                Severity::Note,
                "bytes-a-second",
                word.at,
                format!("`{}` is {}: `bps` counts bytes a second", word.value, rate_text(bits)),
                format!("write `{meant}` if bits are meant, or `{}`, which says the same", rate_text(bits)),
            );
        }
    }
    for class in &device.classes {
        match *class.kind {
            Kind::Htb => bursts(&class.settings, &[("burst", "rate"), ("cburst", "ceil")], machine, findings),
            Kind::Hfsc | Kind::Cbq => wide(*class.kind, &class.settings, findings),
            _ => {}
        }
    }
    for filter in &device.filters {
        for action in &filter.actions {
            let FilterAction::Police(police) = &**action else { continue };
            let frame = machine.mtu + ETHERNET;
            if police.burst.0 < frame {
                let message = format!(
                    "`burst {}` of `police` is under a frame of {frame} bytes, which never conforms",
                    police.burst.0
                );
                findings.warn(
                    "burst-under-frame",
                    action.at,
                    message,
                    "give it the rate times a round trip: some 100 ms",
                );
            }
        }
    }
}

/// Checks bursts that are given against a frame and a tick.
fn bursts(settings: &[Setting], pairs: &[(&str, &str)], machine: &Machine, findings: &mut Findings) {
    for (name, rate_name) in pairs {
        let Some(setting) = settings.iter().find(|setting| *setting.name == *name) else { continue };
        let Value::Size(Bytes(burst)) = setting.value else { continue };
        let rate = match value_of(settings, rate_name).or_else(|| value_of(settings, "rate")) {
            Some(Value::Rate(rate)) => *rate,
            _ => continue,
        };
        // What `tc` computes itself is the same as no `burst`, of which nothing is said.
        let computed = computed_burst(rate, HTB_MTU)..=HTB_MTU + rate.as_bits() / 8_000_000_000;
        let at = setting.name.at;
        let frame = machine.mtu + ETHERNET;
        if computed.contains(&burst) && (pairs.len() > 1 || burst >= frame) {
            continue;
        }
        if burst < frame {
            let message = format!("`{name} {burst}` is under a frame of {frame} bytes");
            findings.warn(
                "burst-under-frame",
                at,
                message,
                format!("give it at least {frame}, and what the rate brings in a tick"),
            );
            continue;
        }
        let tick = rate.as_bits() / 8 / u64::from(machine.hz.max(1));
        if burst < tick {
            let message = format!(
                "`{name} {burst}` is under the {tick} bytes that {} brings in a tick of {} Hz: with timers of ticks, the rate is not reached",
                rate_text(rate),
                machine.hz
            );
            findings.warn("burst-under-tick", at, message, format!("give it at least {tick}"));
        }
    }
}

fn red(qdisc: &Qdisc, findings: &mut Findings) {
    let size = |name: &str| match value_of(&qdisc.settings, name) {
        Some(Value::Size(Bytes(size))) => Some(*size),
        Some(Value::Packets(count)) => Some(*count),
        _ => None,
    };
    let position = |name: &str| -> Position {
        qdisc
            .settings
            .iter()
            .find(|setting| *setting.name == name)
            .map_or(qdisc.kind.at, |setting| setting.name.at)
    };
    let kind = *qdisc.kind;
    if let (Some(max), Some(limit)) = (size("max"), size("limit"))
        && max >= limit
    {
        let message = format!(
            "`max {max}` of `{kind}` is never reached: the queue is full at `limit {limit}`, and drops all"
        );
        findings.warn("red-limit", position("max"), message, "give `limit` several times `max`");
    }
    if let (Some(min), Some(max)) = (size("min"), size("max"))
        && min >= max
    {
        let message =
            format!("`min {min}` of `{kind}` is not under `max {max}`: there is no range in which it marks");
        findings.add(
            Severity::Error,
            "red-thresholds",
            position("min"),
            message,
            "give `max` two to three times `min`",
        );
    }
}

/// Reports rates beyond a field of 32 bits.
fn wide(kind: Kind, settings: &[Setting], findings: &mut Findings) {
    for setting in settings {
        let rates: Vec<Rate> = match &setting.value {
            Value::Rate(rate) => vec![*rate],
            Value::Curve(curve) => curve.m1.into_iter().chain(curve.m2).collect(),
            _ => continue,
        };
        if let Some(rate) = rates.into_iter().find(|rate| rate.as_bits() > LARGEST_RATE) {
            let wrapped = Rate::from_bits(((rate.as_bits() / 8) & u64::from(u32::MAX)) * 8);
            let message = format!(
                "{} of `{kind}` does not fit the 32 bits of its field: the kernel takes {}",
                rate_text(rate),
                rate_text(wrapped)
            );
            findings.warn(
                "rate-32-bit",
                setting.name.at,
                message,
                format!("stay under {}", rate_text(Rate::from_bits(LARGEST_RATE))),
            );
        }
    }
}

fn cake_mq(qdisc: &Qdisc, findings: &mut Findings) {
    if let Some(handle) = &qdisc.handle {
        let message = "`handle` of `cake_mq`: versions differ in taking it, and nothing can stand below";
        findings.warn("cake-mq-handle", handle.at, message, "leave the handle out");
    }
    if let Some(setting) = qdisc.settings.iter().find(|setting| *setting.name == "autorate-ingress") {
        let message = "`cake_mq` has no `autorate-ingress`";
        findings.add(Severity::Error, "cake-mq-autorate", setting.name.at, message, "give it a `bandwidth`");
    }
}
