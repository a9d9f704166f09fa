//! Drawing of the screen: queues with bars, the selected one with its history and knobs, flows, events.

use lockgate_measure::monitor::{FidelitySample, QueueSample};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};

use super::lines::event_line;
use super::screen::{QueueLine, Screen, Typing};
use lockgate_measure::figures;

/// Width of the bars in the list of queues, in columns.
const BAR: usize = 10;

/// Least backlog shown at the full height of a queue's history: ten packets, in tenths.
const LEAST_HEIGHT: u64 = 100;

/// Draws the screen. Every state has a sign or a word besides its colour.
pub(crate) fn paint(screen: &Screen, frame: &mut Frame<'_>) {
    let area = frame.area();
    let flows = screen.status.flows.len().min(6) as u16 + 1;
    let lines = u16::try_from(screen.lines().len() + 1).unwrap_or(u16::MAX);
    let rest = area.height.saturating_sub(2 + flows + 4 + 3);
    let [head, queues, chosen, flow_list, events, message, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(lines.min(rest).max(3)),
        Constraint::Min(4),
        Constraint::Length(flows),
        Constraint::Length(3),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(heading(screen, usize::from(area.width))), head);
    frame.render_widget(Paragraph::new(queue_lines(screen, queues.height)), queues);
    selected(screen, frame, chosen);
    frame.render_widget(Paragraph::new(flow_lines(screen)), flow_list);
    let happened = screen.events.iter().take(3).map(|event| Line::from(event_line(event)));
    frame.render_widget(Paragraph::new(happened.collect::<Vec<_>>()), events);
    let said = match &screen.typing {
        Typing::Value(typed) => {
            let knob = screen.knobs().get(screen.knob).map(|knob| knob.path.clone()).unwrap_or_default();
            format!("{knob}={typed}_   (Enter sets, Esc leaves)")
        }
        Typing::Filter => format!("filter: {}_   (Enter keeps, Esc ends)", screen.filter),
        Typing::Nothing if !screen.filter.is_empty() => format!("filter: {}   (Esc ends)", screen.filter),
        Typing::Nothing => screen.message.clone(),
    };
    frame.render_widget(Paragraph::new(Line::styled(said, style(screen, Color::Yellow))), message);
    // A live run cannot be paused.
    let hold = if screen.status.mode == "live" { "" } else { " h hold" };
    let help = format!("↑↓ queue ←→ knob +- step ⏎ type r root / find [] every ␣ freeze{hold} q quit");
    frame.render_widget(Paragraph::new(Line::styled(help, Style::new().add_modifier(Modifier::DIM))), keys);
}

fn style(screen: &Screen, colour: Color) -> Style {
    if screen.colour { Style::new().fg(colour) } else { Style::new() }
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn heading(screen: &Screen, width: usize) -> Line<'_> {
    let status = &screen.status;
    let at = screen.sample.as_ref().map_or(0.0, |sample| sample.at_s);
    let state = match (status.ended, screen.frozen, status.held) {
        (true, ..) => "ended",
        (_, true, _) => "frozen",
        (_, _, true) => "held",
        _ => "running",
    };
    let pace = match status.pace {
        _ if status.mode == "route" => "router".to_owned(),
        _ if status.mode == "live" => faithful(screen.sample.as_ref().and_then(|now| now.fidelity.as_ref())),
        pace if pace > 0.0 => format!("pace {pace}x"),
        _ => "pace free".to_owned(),
    };
    let missed = screen.missed + screen.sample.as_ref().map_or(0, |sample| sample.dropped_samples);
    let missed =
        if missed > 0 { format!("  {} missed", figures::count(missed, "sample")) } else { String::new() };
    let left_out = screen.sample.as_ref().map_or(0, |sample| sample.left_out.queues);
    let left_out = if left_out > 0 {
        format!("  {} not shown", figures::count(left_out as u64, "queue"))
    } else {
        String::new()
    };
    let name = "Lockgate ";
    // A router has no planned end.
    let end = if status.duration_s > 0.0 {
        format!(" of {}", figures::seconds(Some(status.duration_s)))
    } else {
        String::new()
    };
    let rest = format!(
        "{at:.2} s{end} {pace} every {}{missed}{left_out}  {}",
        figures::seconds(Some(status.every_s)),
        status.title
    );
    let room = width.saturating_sub(name.len() + state.len() + 1);
    Line::from(vec![
        Span::styled(name, bold()),
        Span::styled(format!("{state} "), style(screen, Color::Green).add_modifier(Modifier::BOLD)),
        Span::raw(fit(&rest, room)),
    ])
}

/// Returns a live run's fidelity so far, in words.
fn faithful(fidelity: Option<&FidelitySample>) -> String {
    let Some(fidelity) = fidelity else { return "live".to_owned() };
    let late = figures::seconds(fidelity.late_p99_s).replace(' ', "");
    let word = if fidelity.unfaithful.is_empty() { "ok" } else { "NOT FAITHFUL" };
    format!("live (late {late} p99: {word})")
}

/// Formats `text` to exactly `width` columns; a longer one is cut and ends with `…`.
fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return format!("{text:width$}");
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Draws a bar in eighths of blocks up to `value` of `most`, with the peak as a mark of its own.
fn bar(value: u64, peak: u64, most: u64) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let most = most.max(1);
    let filled = (u128::from(value.min(most)) * 8 * BAR as u128 / u128::from(most)) as usize;
    let mark = (u128::from(peak.min(most)) * BAR as u128 / u128::from(most)) as usize;
    let mut cells: Vec<char> = (0..BAR)
        .map(|cell| match filled.saturating_sub(cell * 8) {
            0 => ' ',
            eighths if eighths >= 8 => '█',
            eighths => EIGHTHS[eighths],
        })
        .collect();
    let mark = mark.min(BAR - 1);
    if peak > value && cells[mark] == ' ' {
        cells[mark] = '│';
    }
    cells.into_iter().collect()
}

fn queue_lines(screen: &Screen, height: u16) -> Vec<Line<'static>> {
    let header = format!(
        "{} {} {:>5} {:BAR$} {:>8} {:>8} {:>8} {:>5}",
        fit("queue", 18),
        fit("kind", 8),
        "now",
        "(│ max)",
        "in",
        "out",
        "p99",
        "drop"
    );
    let mut lines = vec![Line::styled(header, bold())];
    let all = screen.lines();
    let most = all.iter().map(|line| line.queue.peak_packets).max().unwrap_or(1);
    let room = usize::from(height).saturating_sub(1).max(1);
    let first = (screen.line + 1).saturating_sub(room).min(all.len().saturating_sub(room));
    for (index, QueueLine { port, depth, queue }) in all.iter().enumerate().skip(first).take(room) {
        let name = if *depth == 0 {
            format!("{} {}", port.name, queue.name)
        } else {
            format!("{}└{}", " ".repeat(*depth), queue.name)
        };
        let line = queue_line(&name, queue, most);
        let mut look = if queue.dropped_packets > 0 { style(screen, Color::Red) } else { Style::new() };
        if index == screen.line {
            look = look.add_modifier(Modifier::REVERSED);
        }
        lines.push(Line::styled(line, look));
    }
    lines
}

fn queue_line(name: &str, queue: &QueueSample, most: u64) -> String {
    format!(
        "{} {} {:>5} {} {:>8} {:>8} {:>8} {:>5}",
        fit(name, 18),
        fit(queue.kind, 8),
        format!("{}p", queue.packets),
        bar(queue.packets, queue.peak_packets, most),
        short_rate(queue.offered_bps),
        short_rate(queue.sent_bps),
        figures::seconds(queue.sojourn_p99_s).replace(' ', ""),
        queue.dropped_packets
    )
}

/// Formats a rate in eight columns at most.
fn short_rate(bps: f64) -> String {
    match bps {
        bps if bps >= 1e9 => format!("{:.2}G", bps / 1e9),
        bps if bps >= 1e6 => format!("{:.2}M", bps / 1e6),
        bps if bps >= 1e3 => format!("{:.1}k", bps / 1e3),
        bps => format!("{bps:.0}"),
    }
}

fn selected(screen: &Screen, frame: &mut Frame<'_>, area: Rect) {
    let lines = screen.lines();
    let Some(QueueLine { port, queue, .. }) = lines.get(screen.line) else { return };
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(45), Constraint::Percentage(55)]).areas(area);
    let apart = under_a_ring(queue);
    let [title, ring, spark] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(apart.len() as u16), Constraint::Min(1)])
            .areas(left);
    let gauges: Vec<String> = queue.gauges.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
    let text = format!(
        "{}: mean {:.1}p max {}p {}",
        queue.name,
        queue.mean_packets,
        queue.peak_packets,
        gauges.join(" ")
    );
    frame.render_widget(Paragraph::new(Line::styled(fit(&text, usize::from(title.width)), bold())), title);
    frame.render_widget(Paragraph::new(apart), ring);
    let values: Vec<u64> = screen
        .history
        .get(&(port.index, queue.place))
        .map(|values| values.iter().rev().take(usize::from(spark.width)).rev().copied().collect())
        .unwrap_or_default();
    // One or two packets must not fill the height.
    let most = values.iter().copied().max().unwrap_or(0).max(LEAST_HEIGHT);
    frame
        .render_widget(Sparkline::default().data(&values).max(most).style(style(screen, Color::Cyan)), spark);
    let knobs = screen.knobs();
    let room = usize::from(right.height).max(1);
    let first = (screen.knob + 1).saturating_sub(room);
    let knob_line = |(index, knob): (usize, &&lockgate_session::Knob)| {
        let mark = if index == screen.knob { '>' } else { ' ' };
        let origin = if knob.is_default { " (default)" } else { "" };
        let text = format!("{mark} {} = {}{origin}", knob.key, knob.value.as_deref().unwrap_or("-"));
        let look =
            if index == screen.knob { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        Line::styled(fit(&text, usize::from(right.width)), look)
    };
    let shown: Vec<Line<'_>> = knobs.iter().enumerate().skip(first).take(room).map(knob_line).collect();
    frame.render_widget(Paragraph::new(shown), right);
}

/// Returns the mean delay in a queue and in the device ring below it, in words; empty without a ring.
fn under_a_ring(queue: &QueueSample) -> Vec<Line<'static>> {
    let Some(waited) = queue.waited_mean_s else { return Vec::new() };
    let ring = queue.sojourn_mean_s.map(|all| (all - waited).max(0.0));
    let [queue, ring] = [Some(waited), ring].map(|time| figures::seconds(time).replace(' ', ""));
    vec![Line::from(format!("mean {queue} in queue, {ring} in ring"))]
}

fn flow_lines(screen: &Screen) -> Vec<Line<'static>> {
    let header = format!(
        "{} {:>9} {:>9} {:>9} {:>9} {:>6}",
        fit("flow", 18),
        "offered",
        "received",
        "owd p50",
        "p99",
        "lost"
    );
    let mut lines = vec![Line::styled(header, bold())];
    for flow in screen.sample.iter().flat_map(|sample| &sample.flows).take(6) {
        lines.push(Line::from(format!(
            "{} {:>9} {:>9} {:>9} {:>9} {:>6}",
            fit(&flow.name, 18),
            short_rate(flow.offered_bps),
            short_rate(flow.received_bps),
            figures::seconds(flow.owd_p50_s).replace(' ', ""),
            figures::seconds(flow.owd_p99_s).replace(' ', ""),
            flow.lost_packets
        )));
    }
    lines
}

#[cfg(test)]
mod tests;
