//! Worst packet of a flow as text: each stay as a bar of blocks by flow, and the reason of the choice.

use lockgate_measure::report::{Stay, WorstPacket};

use super::lines::Lines;
use super::visible;
use crate::figures;

/// Columns of a bar.
const BAR: usize = 64;

/// Signs of the flows of a bar, largest first; further ones share the last.
const SIGNS: [char; 6] = ['#', '=', '+', '*', '~', '-'];

/// Sign of a time in which the port may not send.
const WAITS: char = '.';

/// Adds the worst packet of a flow.
pub fn worst(packet: &WorstPacket, lines: &mut Lines) {
    let seconds = |value: f64| figures::seconds(Some(value));
    lines.heading(&format!("worst packet of {}: {} on its way", packet.flow, seconds(packet.owd_s)));
    lines.sentence(&format!(
        "number {}, {} B, sent at {:.6} s; the flow's median is {}",
        packet.sequence,
        packet.length_bytes,
        packet.sent_s,
        seconds(packet.owd_p50_s)
    ));
    for stay in packet.stays.iter().filter(|stay| stay.waited_s > 0.0) {
        add_stay(stay, lines);
    }
    let idle = packet.stays.iter().filter(|stay| stay.waited_s <= 0.0);
    let idle: Vec<_> = idle.map(|stay| visible(&stay.port)).collect();
    if !idle.is_empty() {
        lines.sentence(&format!("no wait at {}", idle.join(", ")));
    }
    lines.sentence(&format!(
        "on links and in routers: {} (transmission, service, propagation)",
        seconds(packet.beside_queues_s)
    ));
    if !packet.command.is_empty() {
        lines.sentence(&format!("decisions: {}", packet.command));
    }
}

fn add_stay(stay: &Stay, lines: &mut Lines) {
    let marked = if stay.is_marked { ", and was marked" } else { "" };
    lines.sentence(&format!(
        "{}: {}{marked}, behind {}",
        visible(&stay.port),
        figures::seconds(Some(stay.waited_s)),
        figures::count(stay.ahead_packets, "packet")
    ));
    if !stay.blocks.is_empty() {
        lines.line(&format!("  |{}|", bar(stay)));
        let each = stay.served.iter().enumerate().map(|(index, served)| {
            let time = figures::seconds(Some(served.time_s));
            match &served.flow {
                Some(flow) => {
                    let packets = figures::count(served.packets, "packet");
                    format!("{} {}: {packets}, {time}", sign(stay, index), visible(flow))
                }
                None => format!("{WAITS} may not send: {time}"),
            }
        });
        // Beyond the signs there is nothing to look up in the bar.
        let each: Vec<String> = each.take(SIGNS.len() + 1).collect();
        lines.sentence(&format!("  {}", each.join("; ")));
    }
    for reason in &stay.reasons {
        lines.sentence(&format!("  why: {}", visible(reason)));
    }
}

/// Returns the sign of a flow: by the order of the times, without waits.
fn sign(stay: &Stay, index: usize) -> char {
    let before = stay.served.iter().take(index).filter(|served| served.flow.is_some()).count();
    match stay.served.get(index).map(|served| &served.flow) {
        Some(None) => WAITS,
        _ => SIGNS[before.min(SIGNS.len() - 1)],
    }
}

/// Returns the bar of a stay: each column has the sign of the flow that takes most of its time.
fn bar(stay: &Stay) -> String {
    let first = stay.blocks.first().map_or(0.0, |block| block.from_s);
    let width = (stay.waited_s - first).max(f64::MIN_POSITIVE) / BAR as f64;
    let column = |column: usize| {
        let from = first + width * column as f64;
        let mut times = vec![0.0; stay.served.len()];
        for block in &stay.blocks {
            times[block.served] += (block.to_s.min(from + width) - block.from_s.max(from)).max(0.0);
        }
        let most = (0..times.len()).max_by(|one, other| times[*one].total_cmp(&times[*other]));
        most.map_or(' ', |index| sign(stay, index))
    };
    (0..BAR).map(column).collect()
}
