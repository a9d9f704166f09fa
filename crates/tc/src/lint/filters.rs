//! Rules on filters: masks that take other ports than they say, and filters that are never tried.

use super::{Device, Findings, Severity};
use crate::handle::Handle;
use crate::import::conditions::ranges;
use crate::position::Position;
use crate::syntax::{Classifier, Filter, Masked, Protocol, Selector};

/// Ranges of ports that are listed.
const MOST_RANGES: usize = 8;

pub(super) fn check(device: &Device<'_>, findings: &mut Findings) {
    for filter in &device.filters {
        let Classifier::U32(selectors) = &filter.classifier.value else { continue };
        for selector in selectors {
            if let Selector::Port(_, bits) = &**selector {
                ports(*bits, selector.at, findings);
            }
        }
    }
    never_tried(device, findings);
    absent(device, findings);
    hidden(device, findings);
}

/// Reports filters to classes that are not there.
fn absent(device: &Device<'_>, findings: &mut Findings) {
    for filter in device.filters.iter().filter(|filter| !filter.parent.is_hook()) {
        let Some(class) = &filter.class else { continue };
        let root = device.qdiscs.iter().find(|qdisc| qdisc.parent.is_none() && !qdisc.kind.is_hook());
        let owner = match filter.parent.major {
            0 => root.copied(),
            major => device
                .qdiscs
                .iter()
                .find(|qdisc| qdisc.handle.is_some_and(|handle| handle.major == major))
                .copied(),
        };
        let Some(owner) = owner.filter(|owner| owner.kind.has_explicit_classes()) else { continue };
        let major = owner.handle.map_or(0, |handle| handle.major);
        let id = Handle { major: if class.major == 0 { major } else { class.major }, minor: class.minor };
        let is_there = id.minor == 0 || device.classes.iter().any(|class| *class.id == id);
        if id.major == major && !is_there {
            let message = format!(
                "the filter leads to `{id}`, which is not there: its packets go where those go that no filter takes"
            );
            let near =
                device.classes.iter().find(|class| class.id.major == major).map_or(id, |class| *class.id);
            // No packet goes where the command says.
            findings.add(
                Severity::Error,
                "class-absent",
                class.at,
                message,
                format!("set the class up, or name one that is there, such as `{near}`"),
            );
        }
    }
}

/// Reports filters whose packets an earlier one takes.
fn hidden(device: &Device<'_>, findings: &mut Findings) {
    for hidden in crate::import::devices::hidden(&device.commands) {
        let lines: Vec<String> = hidden.by.iter().map(|(line, _)| line.to_string()).collect();
        let packets = hidden.packets.map_or_else(String::new, |words| format!(" ({words})"));
        let who = match hidden.by.as_slice() {
            [(line, other)] => format!("that of line {line} takes all of them to `{other}` before it"),
            _ => format!("those of lines {} together take all of them before it", lines.join(", ")),
        };
        let message = format!("no packet{packets} reaches this filter to `{}`: {who}", hidden.class);
        findings.warn("filter-hidden", hidden.at, message, "give it a lower `prio`, the narrower one first");
    }
}

/// Returns true if a filter takes every packet.
pub(super) fn is_for_all(filter: &Filter) -> bool {
    let is_ip = matches!(filter.protocol, None | Some(Protocol::All | Protocol::Ip));
    let is_plain = filter.hash.is_none() && filter.class.is_some();
    let takes = match &filter.classifier.value {
        Classifier::Matchall => true,
        Classifier::U32(selectors) => selectors.iter().all(|selector| match &**selector {
            Selector::Address(_, prefix) => prefix.mask.is_unspecified(),
            Selector::Protocol(bits)
            | Selector::Dsfield(bits)
            | Selector::Port(_, bits)
            | Selector::Mark(bits)
            | Selector::Bits { bits, .. } => bits.mask == 0,
        }),
        _ => false,
    };
    is_ip && is_plain && takes
}

fn ports(Masked { value, mask }: Masked, at: Position, findings: &mut Findings) {
    let is_range = (mask << 16).leading_ones() == mask.count_ones();
    let outside = value & !mask;
    if mask == 0 || is_range && outside == 0 {
        return;
    }
    let Some(all) = ranges(value & mask, mask, 0xffff) else { return };
    let listed: Vec<String> = all
        .iter()
        .take(MOST_RANGES)
        .map(|(low, high)| if low == high { low.to_string() } else { format!("{low}-{high}") })
        .collect();
    let more = if all.len() > MOST_RANGES {
        format!(" and {} more ranges", all.len() - MOST_RANGES)
    } else {
        String::new()
    };
    let message = format!("the mask {mask:#06x} of port {value} takes the ports {}{more}", listed.join(", "));
    if outside != 0 || all.len() > 1 {
        let help = "a mask takes ports whose masked bits are equal: use several filters, or `flower dst_port LOW-HIGH`";
        findings.warn("port-mask", at, message, help);
    } else {
        findings.add(
            Severity::Note,
            "port-mask",
            at,
            message,
            "use `flower dst_port LOW-HIGH` to say it plainly",
        );
    }
}

/// Reports filters behind one that takes every packet.
fn never_tried(device: &Device<'_>, findings: &mut Findings) {
    for filter in device.filters.iter().filter(|filter| !filter.parent.is_hook()) {
        let Some(rank) = filter.preference else { continue };
        let before = device.filters.iter().find(|other| {
            other.parent == filter.parent
                && other.preference.is_some_and(|other| other < rank)
                && is_for_all(other)
                && (other.protocol == filter.protocol || matches!(other.protocol, None | Some(Protocol::All)))
        });
        if let Some(before) = before {
            let message = format!(
                "this filter of preference {rank} is never tried: that of line {} takes all packets before it",
                before.classifier.at.line
            );
            findings.warn("filter-never-tried", filter.classifier.at, message, "give it a lower `prio`");
        }
    }
}
