//! Rules on classes: rates, defaults, quanta, priorities.

use lockgate_engine::disciplines::htb;
use lockgate_engine::units::{Bytes, Rate};

use super::{Device, Findings, Machine, Severity};
use crate::handle::Handle;
use crate::import::settings::value_of;
use crate::language::Kind;
use crate::number::rate_text;
use crate::position::Position;
use crate::syntax::{Class, Qdisc, Setting};
use crate::value::{Curve, Value};

/// Longest time of the line that one turn of a class may take before it is reported, in milliseconds.
const LONGEST_TURN: u64 = 100;

pub(super) fn check(device: &Device<'_>, machine: &Machine, findings: &mut Findings) {
    for class in &device.classes {
        sums(device, class, findings);
        match *class.kind {
            Kind::Htb => htb_class(device, class, machine, findings),
            Kind::Hfsc => hfsc_class(device, class, findings),
            _ => {}
        }
    }
    for qdisc in &device.qdiscs {
        if matches!(*qdisc.kind, Kind::Htb | Kind::Hfsc | Kind::Drr | Kind::Qfq) {
            default(device, qdisc, findings);
        }
        unreached(device, qdisc, findings);
    }
}

/// Returns a rate that a class is guaranteed.
fn guaranteed(class: &Class) -> Option<Rate> {
    let curve = |curve: &Curve| curve.m2;
    class.settings.iter().find_map(|setting| match (*setting.name, &setting.value) {
        ("rate", Value::Rate(rate)) => Some(*rate),
        ("sc" | "ls", Value::Curve(of)) => curve(of),
        _ => None,
    })
}

pub(super) fn at(settings: &[Setting], name: &str, other: Position) -> Position {
    settings.iter().find(|setting| *setting.name == name).map_or(other, |setting| setting.name.at)
}

fn children<'a>(device: &'a Device<'_>, id: Handle) -> impl Iterator<Item = &'a &'a Class> {
    device.classes.iter().filter(move |class| *class.parent == id)
}

fn sums(device: &Device<'_>, class: &Class, findings: &mut Findings) {
    let id = *class.id;
    let rates = children(device, id).filter_map(|child| guaranteed(child));
    let sum = rates.fold(0_u64, |sum, rate| sum.saturating_add(rate.as_bits()));
    let Some(own) = guaranteed(class).filter(|own| sum > own.as_bits()) else { return };
    let message = format!(
        "the classes below `{id}` are promised {} together, and `{id}` has {}: not all promises can be kept",
        rate_text(Rate::from_bits(sum)),
        rate_text(own)
    );
    findings.warn(
        "rates-over-parent",
        class.id.at,
        message,
        "lower their rates to the parent's; let them borrow by `ceil`",
    );
}

fn htb_class(device: &Device<'_>, class: &Class, machine: &Machine, findings: &mut Findings) {
    let id = *class.id;
    let settings = &class.settings;
    let rate = |name: &str| match value_of(settings, name) {
        Some(Value::Rate(rate)) => Some(*rate),
        _ => None,
    };
    if let Some(Value::Number(prio)) = value_of(settings, "prio")
        && *prio > 7
    {
        let message = format!("`prio {prio}` of `{id}`: `htb` has the priorities 0 to 7, and takes 7");
        findings.warn(
            "priority-above-7",
            at(settings, "prio", class.id.at),
            message,
            "write 0, which is served first, to 7",
        );
    }
    if let (Some(rate), Some(ceil)) = (rate("rate"), rate("ceil"))
        && ceil < rate
    {
        let message = format!(
            "`ceil {}` of `{id}` is under its `rate {}`: it never gets its rate",
            rate_text(ceil),
            rate_text(rate)
        );
        findings.warn(
            "ceil-under-rate",
            at(settings, "ceil", class.id.at),
            message,
            "give it a `ceil` of at least its `rate`",
        );
    }
    let is_leaf = children(device, id).next().is_none();
    if let Some(rate) = rate("rate").filter(|_| is_leaf) {
        quantum(device, class, rate, machine, findings);
    }
}

fn hfsc_class(device: &Device<'_>, class: &Class, findings: &mut Findings) {
    let id = *class.id;
    let curve = |setting: &&Setting| ["rt", "sc"].contains(&*setting.name);
    if children(device, id).next().is_none() {
        return;
    }
    let Some(setting) = class.settings.iter().find(curve) else { return };
    let (at, name) = (setting.name.at, *setting.name);
    if name == "sc" {
        let message =
            format!("`sc` of `{id}` only shares: the kernel guarantees nothing to a class with others below");
        findings.add(
            Severity::Note,
            "guarantee-of-inner",
            at,
            message,
            "write `ls` for the same; give leaves an `rt`",
        );
    } else {
        let message = format!(
            "`rt` of `{id}` has no effect: the kernel guarantees nothing to a class with others below"
        );
        findings.warn("guarantee-of-inner", at, message, "leave it out; give the classes below an `rt`");
    }
}

fn quantum(device: &Device<'_>, class: &Class, rate: Rate, machine: &Machine, findings: &mut Findings) {
    let id = *class.id;
    let owner = device.qdiscs.iter().find(|qdisc| qdisc.handle.as_deref() == Some(&id.owner()));
    let r2q = match owner.and_then(|owner| value_of(&owner.settings, "r2q")) {
        Some(Value::Number(r2q)) if *r2q > 0 => *r2q,
        _ => u64::from(htb::Config::default().r2q),
    };
    let position = at(&class.settings, "quantum", class.id.at);
    let computed = rate.as_bits() / 8 / r2q;
    // Zero is no quantum: the kernel computes one.
    if let Some(Value::Size(Bytes(quantum @ 1..))) = value_of(&class.settings, "quantum") {
        // What the kernel computes is reported where it does so, or not at all.
        if *quantum < machine.mtu && *quantum != computed {
            let message = format!(
                "`quantum {quantum}` of `{id}` is under a packet of {} bytes: shares of what is borrowed are wrong",
                machine.mtu
            );
            findings.warn(
                "quantum-under-mtu",
                position,
                message,
                format!("give it at least {}", machine.mtu + 14),
            );
        }
        let parent = device.classes.iter().find(|other| *other.id == *class.parent);
        let line = parent.and_then(|parent| guaranteed(parent)).unwrap_or(rate);
        let line_bits = u128::from(line.as_bits().max(1));
        let turn = (u128::from(*quantum) * 8000 + line_bits / 2) / line_bits;
        if turn > u128::from(LONGEST_TURN) {
            let message = format!(
                "`quantum {quantum}` of `{id}` is {turn} ms of {} in one turn, in which others wait",
                rate_text(line)
            );
            findings.warn(
                "quantum-too-large",
                position,
                message,
                "give quanta in the proportions that are meant, the smallest of one packet",
            );
        }
        return;
    }
    let (least, most) = (htb::LEAST_QUANTUM, htb::LARGEST_QUANTUM);
    if computed < least {
        let message = format!(
            "`{id}` gets a quantum of {least} bytes: its rate over `r2q {r2q}` is {computed}, too small"
        );
        findings.warn(
            "quantum-small",
            class.id.at,
            message,
            "give the class `quantum 1514`, or the discipline a smaller `r2q`",
        );
    } else if computed > most {
        let message = format!(
            "`{id}` gets a quantum of {most} bytes: its rate over `r2q {r2q}` is {computed}, too large"
        );
        findings.warn(
            "quantum-large",
            class.id.at,
            message,
            "give the class a `quantum`, or the discipline a larger `r2q`",
        );
    }
}

fn default(device: &Device<'_>, qdisc: &Qdisc, findings: &mut Findings) {
    let Some(handle) = qdisc.handle.as_deref().copied() else { return };
    let own = |minor: u16| device.classes.iter().any(|class| *class.id == Handle { minor, ..handle });
    if !device.classes.iter().any(|class| class.id.owner() == handle) {
        return;
    }
    let (fate, kind) = match *qdisc.kind {
        Kind::Htb => ("are sent unshaped, before all others", "htb"),
        kind => ("are dropped, ARP included", kind.name()),
    };
    match value_of(&qdisc.settings, "default") {
        Some(Value::Minor(minor)) if *minor > 0 => {
            let position = at(&qdisc.settings, "default", qdisc.kind.at);
            let id = Handle { minor: *minor, ..handle };
            if !own(*minor) {
                let decimal = format!("{minor:x}").parse::<u16>().ok().filter(|decimal| own(*decimal));
                let help = match decimal {
                    Some(decimal) => format!("`default` is hexadecimal: write `default {decimal:x}`"),
                    None => "name the minor number of a class without others below it".to_owned(),
                };
                let message = format!(
                    "`default {minor:x}`: there is no class `{id}`; packets that no filter takes {fate}"
                );
                findings.warn("default-absent", position, message, help);
            } else if children(device, id).next().is_some() {
                let message = format!(
                    "`default {minor:x}`: the class `{id}` has classes below it; packets that no filter takes {fate}"
                );
                findings.warn("default-inner", position, message, "name a class without others below it");
            }
        }
        _ => {
            let takes_all = device
                .filters
                .iter()
                .any(|filter| *filter.parent == handle && super::filters::is_for_all(filter));
            if !takes_all {
                let message = format!("`{kind}` without `default`: packets that no filter takes {fate}");
                let help = match *qdisc.kind {
                    Kind::Htb | Kind::Hfsc => "add `default` with the minor number of a class",
                    _ => "add a last filter for all packets, such as `matchall`",
                };
                findings.warn("no-default", qdisc.kind.at, message, help);
            }
        }
    }
}

/// Reports leaves that no filter leads to.
fn unreached(device: &Device<'_>, qdisc: &Qdisc, findings: &mut Findings) {
    let Some(handle) = qdisc.handle.as_deref().copied().filter(|_| qdisc.kind.has_explicit_classes()) else {
        return;
    };
    let default = match value_of(&qdisc.settings, "default") {
        Some(Value::Minor(minor)) => *minor,
        _ => 0,
    };
    let filters: Vec<_> = device.filters.iter().filter(|filter| !filter.parent.is_hook()).collect();
    let selects = |id: Handle| {
        filters.iter().any(|filter| {
            let class = filter.class.as_deref().copied();
            let by_action = filter.actions.iter().any(
                |action| matches!(&**action, crate::syntax::FilterAction::Priority(handle) if *handle == id),
            );
            by_action || class == Some(id) || class == Some(Handle { major: 0, ..id })
        })
    };
    // Without any filter, the priority of packets selects the class.
    if filters.is_empty() {
        return;
    }
    for class in device.classes.iter().filter(|class| class.id.owner() == handle) {
        let id = *class.id;
        let is_leaf = children(device, id).next().is_none();
        if is_leaf && id.minor != default && !selects(id) {
            let message = format!("no filter leads to the class `{id}`, and it is no `default`");
            findings.warn("class-unreached", class.id.at, message, "add a filter with `flowid`, or leave the class out; a firewall's `CLASSIFY` or `meta priority` would select it too");
        }
    }
}
