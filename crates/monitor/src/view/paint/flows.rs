//! List of the flows; the reverse directions of connections are left out.

use lockgate_measure::metric::matches;
use lockgate_measure::monitor::FlowSample;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::table::{Column, Table};
use super::{bold, seconds, short_rate, style};
use crate::view::screen::Screen;

/// Widest name shown whole.
const WIDEST_NAME: usize = 48;

const COLUMNS: [Column; 9] = [
    Column::number("offered", 8, 2),
    Column::number("received", 8, 0),
    Column::number("delay p50", 9, 1),
    Column::number("p99", 8, 0),
    Column::number("lost", 6, 0),
    Column::number("lost so far", 11, 4),
    Column::number("cwnd", 8, 5),
    Column::number("RTT", 8, 3),
    Column::number("received so far", 15, 6),
];

/// Returns the flows that are shown if there is room.
pub(super) fn shown(screen: &Screen) -> impl Iterator<Item = &FlowSample> {
    let flows = screen.sample.iter().flat_map(|sample| &sample.flows);
    flows.filter(|flow| matches("*", &flow.name))
}

/// Returns the lines, the titles first.
pub(super) fn lines(screen: &Screen, area: Rect) -> Vec<Line<'static>> {
    let room = usize::from(area.height).saturating_sub(1);
    let flows: Vec<&FlowSample> = shown(screen).take(room).collect();
    let longest = flows.iter().map(|flow| Span::raw(&flow.name).width()).max().unwrap_or(0);
    let table = Table::new(&COLUMNS, longest.min(WIDEST_NAME), usize::from(area.width).saturating_sub(2));
    let mut lines = vec![Line::styled(format!("  {}", table.header("flow", 0, "")), bold())];
    for flow in flows {
        let text = table.line(&flow.name, 0, "", |title| cell(flow, title));
        let look = if flow.pain.is_some() { style(screen, Color::Red) } else { Style::new() };
        lines.push(Line::styled(format!("  {text}"), look));
    }
    lines
}

fn cell(flow: &FlowSample, title: &str) -> String {
    match title {
        "offered" => short_rate(flow.offered_bps),
        "received" => short_rate(flow.received_bps),
        "delay p50" => seconds(flow.owd_p50_s),
        "p99" => seconds(flow.owd_p99_s),
        "lost" => flow.lost_packets.to_string(),
        "lost so far" => flow.lost_packets_total.to_string(),
        "received so far" => flow.received_packets.to_string(),
        "cwnd" => flow.cwnd_bytes.map_or("-".to_owned(), |bytes| format!("{}kB", bytes / 1000)),
        "RTT" => seconds(flow.rtt_s),
        _ => String::new(),
    }
}
