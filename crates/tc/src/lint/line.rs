//! Faults of `netem`: a limit too small for the packets on their way.

use lockgate_engine::units::{Duration, Rate};

use super::{Device, Findings, Machine, Severity};
use crate::import::settings::value_of;
use crate::language::Kind;
use crate::syntax::Qdisc;
use crate::value::Value;

/// Packets of a `netem` without `limit`.
const LIMIT: u64 = 1000;

/// Bytes of Ethernet before a packet.
const ETHERNET: u64 = 14;

/// Rate of a usual device, up to which a limit must suffice if no rate is given.
const USUAL: Rate = Rate::from_bits(1_000_000_000);

pub(super) fn check(device: &Device<'_>, machine: &Machine, findings: &mut Findings) {
    for qdisc in device.qdiscs.iter().filter(|qdisc| *qdisc.kind == Kind::Netem) {
        let delay = value_of(&qdisc.settings, "delay");
        let Some(Value::Time(delay) | Value::Delay(delay, _)) = delay else { continue };
        let limit = match value_of(&qdisc.settings, "limit") {
            Some(Value::Packets(limit)) => *limit,
            _ => LIMIT,
        };
        let known = rate(device, qdisc);
        let bits = u128::from(machine.mtu + ETHERNET) * 8;
        let second = u128::from(Duration::from_secs(1).as_picos());
        let needed =
            |rate: Rate| (u128::from(rate.as_bits()) * u128::from(delay.as_picos())).div_ceil(second * bits);
        let least = needed(known.unwrap_or(USUAL));
        if least <= u128::from(limit) || delay.is_zero() {
            continue;
        }
        let most = u128::from(limit) * bits * second / u128::from(delay.as_picos());
        let most = Value::Rate(Rate::from_bits(u64::try_from(most / 1000 * 1000).unwrap_or(u64::MAX)));
        let delay = Value::Time(*delay);
        let holds = format!("holds what is on its way for {delay} at up to {most}");
        let message = format!("`limit {limit}` of `netem` {holds}; beyond that rate it drops");
        let (severity, help) = match known {
            Some(rate) => {
                let rate = Value::Rate(rate);
                (Severity::Warning, format!("at {rate} it takes at least `limit {least}`"))
            }
            None => (Severity::Note, format!("at 1gbit it takes `limit {least}`")),
        };
        findings.add(severity, "netem-limit", qdisc.kind.at, message, help);
    }
}

/// Returns the rate at which packets come to a `netem`, or leave it: its own, or that of a shaper beside it.
fn rate(device: &Device<'_>, netem: &Qdisc) -> Option<Rate> {
    let of = |settings: &[crate::syntax::Setting], names: &[&str]| {
        names.iter().find_map(|name| match value_of(settings, name) {
            Some(Value::Rate(rate)) => Some(*rate),
            _ => None,
        })
    };
    let own = of(&netem.settings, &["rate"]);
    let parent = netem.parent.as_deref();
    let class = device.classes.iter().find(|class| Some(&*class.id) == parent);
    let handle = netem.handle.as_deref();
    let beside = device.qdiscs.iter().find(|other| {
        let is_above = other
            .handle
            .as_deref()
            .is_some_and(|above| parent.is_some_and(|parent| parent.owner() == *above));
        let is_below = other.parent.as_deref().is_some_and(|above| handle == Some(&above.owner()));
        is_above || is_below
    });
    own.or_else(|| of(&class?.settings, &["ceil", "rate"]))
        .or_else(|| of(&beside?.settings, &["rate", "bandwidth"]))
}
