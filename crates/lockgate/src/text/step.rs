//! Steps of a port as text: the event, a table of the state at each level of the tree, and the reasons.

use lockgate_engine::explanation::{Choice, Explanation, Value};
use lockgate_sim::{Step, StepEvent, StepPacket};

use super::grid::{Cell, Column, Grid};
use super::lines::Lines;
use super::visible;

/// Largest number of rows that are shown of a level.
const MOST_ROWS: usize = 16;

/// Adds a step.
pub fn step(step: &Step, lines: &mut Lines) {
    let at = Value::Time(step.at);
    lines.heading(&format!("{at} {}", event(step)));
    for (depth, level) in step.decision.iter().flat_map(Explanation::path).enumerate() {
        if depth > 0 && is_plain(level) {
            continue;
        }
        state(level, lines);
        lines.sentence(&format!("why: {}: {}", visible(&level.queue), visible(&level.why.to_string())));
    }
}

/// Returns whether a level shows nothing but its backlog, as a FIFO does.
fn is_plain(level: &Explanation) -> bool {
    let is_backlog = |name: &str| ["packets", "bytes"].contains(&name);
    level.rows.is_empty() && level.drops.is_empty() && level.state.iter().all(|field| is_backlog(field.name))
}

fn packet(packet: &StepPacket) -> String {
    format!("{}#{}, {} B", packet.flow, packet.sequence, packet.length)
}

/// Says what happened, and how many packets waited.
fn event(step: &Step) -> String {
    let waiting = match step.packets {
        1 => "1 packet waits".to_owned(),
        packets => format!("{packets} packets wait"),
    };
    match &step.event {
        StepEvent::Arrival(arrived) => format!("arrives: {}", packet(arrived)),
        StepEvent::Drop(dropped, reason) => {
            format!("drops {} ({}); {waiting}", packet(dropped), reason.name())
        }
        StepEvent::Departure { packet: left, sojourn, is_marked } => {
            let marked = if *is_marked { ", marked" } else { "" };
            format!("sends {}{marked}, after {}; {waiting}", packet(left), Value::Span(*sojourn))
        }
        StepEvent::Wait(time) => format!("waits until {}; {waiting}", Value::Time(*time)),
        StepEvent::Empty => "has no packet".to_owned(),
    }
}

/// Adds the state of a level: its quantities in a line, and a table of its rows.
fn state(level: &Explanation, lines: &mut Lines) {
    let quantities = level.state.iter().map(|field| format!("{} {}", field.name, field.value));
    let quantities: Vec<String> = quantities.collect();
    let colon = if quantities.is_empty() { "" } else { ": " };
    lines.sentence(&format!(
        "{} ({}){colon}{}",
        visible(&level.queue),
        level.kind,
        visible(&quantities.join(", "))
    ));
    if level.rows.is_empty() {
        return;
    }
    // In the order of the row that has most of them.
    let fullest = level.rows.iter().max_by_key(|row| row.fields.len());
    let mut titles: Vec<&str> = Vec::new();
    for field in fullest.into_iter().chain(&level.rows).flat_map(|row| &row.fields) {
        if !titles.contains(&field.name) {
            titles.push(field.name);
        }
    }
    let mut columns = vec![Column::sign(), Column::name(level.row_noun)];
    // The last columns have what decides: those before them are left out first.
    let ranks = (1..=titles.len()).rev().map(|rank| u8::try_from(rank).unwrap_or(u8::MAX));
    columns.extend(titles.iter().zip(ranks).map(|(title, rank)| Column::number(title).rank(rank)));
    let mut grid = Grid::new(columns);
    let chosen = if let Choice::Packet { row, .. } = level.choice { row } else { None };
    let shown = shown_rows(level.rows.len(), chosen);
    for index in shown.clone() {
        let row = &level.rows[index];
        let sign = if chosen == Some(index) { ">" } else { "" };
        let name = format!("{}{}", "  ".repeat(row.depth), row.name);
        let cell = |title: &&str| {
            let field = row.fields.iter().find(|field| field.name == *title);
            Cell::from(field.map(|field| field.value.to_string()).unwrap_or_default())
        };
        grid.row([Cell::from(sign), Cell::from(name)].into_iter().chain(titles.iter().map(cell)));
    }
    lines.grid(&grid);
    if shown.len() < level.rows.len() {
        lines.sentence(&format!("... {} of {} rows", shown.len(), level.rows.len()));
    }
}

/// Returns the rows to show: the first ones, or those up to the chosen one.
fn shown_rows(count: usize, chosen: Option<usize>) -> std::ops::Range<usize> {
    let end = chosen.map_or(MOST_ROWS, |chosen| (chosen + 1).max(MOST_ROWS)).min(count);
    end.saturating_sub(MOST_ROWS)..end
}
