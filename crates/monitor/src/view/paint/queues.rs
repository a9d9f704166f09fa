//! List of the queues, those of the worst port first.

use lockgate_measure::figures;
use lockgate_measure::monitor::QueueSample;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::table::{Column, Table};
use super::{bold, fit, seconds, short_rate, style};
use crate::view::screen::{QueueLine, Screen};

/// Title of the bars: they have a mark at the largest backlog.
const BAR: &str = "(│ max)";

/// Least and largest width of the bars.
const BAR_WIDTH: [usize; 2] = [8, 40];

/// Widest name shown whole.
const WIDEST_NAME: usize = 60;

const COLUMNS: [Column; 11] = [
    Column::text("kind", 9, 4),
    Column::number("now", 6, 0),
    Column::text(BAR, BAR_WIDTH[0], 0),
    Column::number("mean", 8, 8),
    Column::number("in", 8, 5),
    Column::number("out", 8, 3),
    Column::number("p50", 7, 6),
    Column::number("p99", 7, 0),
    Column::number("drop", 6, 0),
    Column::number("marked", 6, 9),
    Column::number("dropped", 8, 7),
];

/// Columns of the kernel's queues: it times no packets, and counts refusals by a rate.
const KERNEL: [Column; 10] = [
    Column::text("kind", 14, 4),
    Column::number("now", 6, 0),
    Column::text(BAR, BAR_WIDTH[0], 0),
    Column::number("mean", 8, 8),
    Column::number("in", 8, 5),
    Column::number("out", 8, 3),
    Column::number("delay", 7, 0),
    Column::number("drop", 6, 0),
    Column::number("marked", 6, 9),
    Column::number("dropped", 8, 7),
];

/// Returns the lines, the titles first.
pub(super) fn lines(screen: &Screen, area: Rect) -> Vec<Line<'static>> {
    let all = screen.lines();
    let width = usize::from(area.width);
    let named: Vec<String> = all.iter().map(name).collect();
    let longest = named.iter().map(|name| Span::raw(name).width()).max().unwrap_or(0);
    // The sign of the selected line.
    let columns: &[Column] = if screen.status.mode == "kernel" { &KERNEL } else { &COLUMNS };
    let table = Table::new(columns, longest.min(WIDEST_NAME), width.saturating_sub(2));
    let extra = table.spare.min(BAR_WIDTH[1] - BAR_WIDTH[0]);
    let mut lines = vec![Line::styled(format!("  {}", table.header("queue", extra, BAR)), bold())];
    let most = all.iter().map(|line| line.queue.peak_packets).max().unwrap_or(1);
    let left_out = screen.left_out();
    let room = usize::from(area.height).saturating_sub(1 + usize::from(left_out > 0)).max(1);
    let selected = screen.line();
    let first = (selected + 1).saturating_sub(room).min(all.len().saturating_sub(room));
    for (index, QueueLine { port, queue, .. }) in all.iter().enumerate().skip(first).take(room) {
        let text = table.line(&named[index], extra, BAR, |title| match title {
            BAR => bar(queue.packets, queue.peak_packets, most, BAR_WIDTH[0] + extra),
            title => cell(queue, title),
        });
        let sign = if index == selected { "▶ " } else { "  " };
        let mut look = match queue.pain {
            Some(_) => style(screen, Color::Red),
            None if port.is_full && queue.parent.is_none() => style(screen, Color::Yellow),
            None => Style::new(),
        };
        if index == selected {
            look = look.add_modifier(Modifier::BOLD);
        }
        lines.push(Line::styled(format!("{sign}{text}"), look));
    }
    if left_out > 0 {
        let text =
            format!("  and {} where nothing waits: / finds them", figures::count(left_out as u64, "port"));
        lines.push(Line::styled(fit(&text, width), Style::new().add_modifier(Modifier::DIM)));
    }
    lines
}

fn name(line: &QueueLine<'_>) -> String {
    if line.depth == 0 {
        format!("{} {}", line.port.name, line.queue.name)
    } else {
        format!("{}└{}", " ".repeat(line.depth), line.queue.name)
    }
}

fn cell(queue: &QueueSample, title: &str) -> String {
    match title {
        "kind" => queue.kind.clone().into_owned(),
        "now" => format!("{}p", queue.packets),
        "mean" => format!("{:.1}p", queue.mean_packets),
        "in" => short_rate(queue.offered_bps),
        "out" => short_rate(queue.sent_bps),
        "p50" => seconds(queue.sojourn_p50_s),
        "p99" => seconds(queue.sojourn_p99_s),
        "delay" => seconds(queue.sojourn_mean_s),
        "drop" => queue.dropped_packets.to_string(),
        "marked" => queue.marked_packets.to_string(),
        "dropped" => queue.total.dropped_packets.to_string(),
        _ => String::new(),
    }
}

/// Draws a bar in eighths of blocks up to `value` of `most`, with the peak as a mark of its own.
fn bar(value: u64, peak: u64, most: u64, width: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let most = most.max(1);
    let filled = (u128::from(value.min(most)) * 8 * width as u128 / u128::from(most)) as usize;
    let mark = (u128::from(peak.min(most)) * width as u128 / u128::from(most)) as usize;
    let mut cells: Vec<char> = (0..width)
        .map(|cell| match filled.saturating_sub(cell * 8) {
            0 => ' ',
            eighths if eighths >= 8 => '█',
            eighths => EIGHTHS[eighths],
        })
        .collect();
    let mark = mark.min(width - 1);
    if peak > value && cells[mark] == ' ' {
        cells[mark] = '│';
    }
    cells.into_iter().collect()
}
