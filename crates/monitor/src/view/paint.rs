//! Drawing of the screen: queues with bars, the selected one with its curves and knobs, flows, events.

mod flows;
mod help;
mod queues;
mod selected;
mod table;

use lockgate_measure::figures;
use lockgate_measure::monitor::{EventSample, FidelitySample, RouterSample};
use lockgate_measure::recording::EventKind;
use lockgate_measure::verdict::JudgedRow;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::lines::event_line;
use super::past::Change;
use super::screen::{Screen, Typing};

/// Heights that depend on that of the screen: its least height, flows, events, and the selected queue.
const HEIGHTS: [(u16, u16, u16, u16); 3] = [(45, 14, 5, 14), (34, 9, 4, 11), (0, 6, 3, 5)];

/// Draws the screen. Every state has a sign or a word besides its colour.
pub(crate) fn paint(screen: &Screen, frame: &mut Frame<'_>) {
    let area = frame.area();
    let by_height = HEIGHTS.into_iter().find(|(least, ..)| area.height >= *least).unwrap_or(HEIGHTS[2]);
    let (_, most_flows, most_events, selected) = by_height;
    // Until something happens, its lines belong to the curves.
    let events = u16::try_from(screen.events.len()).unwrap_or(u16::MAX).clamp(1, most_events);
    // The kernel and a router count packets by queue, and know no flows.
    let title = u16::from(!["kernel", "route"].contains(&screen.status.mode));
    let flows = (flows::shown(screen).count() as u16).min(most_flows) + title;
    let left_out = usize::from(screen.left_out() > 0);
    let lines = u16::try_from(screen.lines().len() + 1 + left_out).unwrap_or(u16::MAX);
    let judged = u16::from(screen.status.expectations > 0);
    let rest = area.height.saturating_sub(1 + judged + flows + selected + events + 2);
    let [head, expected, queues, chosen, flow_list, event_list, message, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(judged),
        Constraint::Length(lines.min(rest).max(3)),
        Constraint::Min(4),
        Constraint::Length(flows),
        Constraint::Length(events),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area);
    let width = usize::from(area.width);
    frame.render_widget(Paragraph::new(heading(screen, width)), head);
    frame.render_widget(Paragraph::new(judged_line(screen, width)), expected);
    frame.render_widget(Paragraph::new(queues::lines(screen, queues)), queues);
    selected::draw(screen, frame, chosen);
    frame.render_widget(Paragraph::new(flows::lines(screen, flow_list)), flow_list);
    let happened = screen.events.iter().take(usize::from(events));
    let happened = happened.map(|event| Line::from(fit(&lettered(screen, event), width)));
    frame.render_widget(Paragraph::new(happened.collect::<Vec<_>>()), event_list);
    let (text, colour) = said(screen);
    frame.render_widget(Paragraph::new(Line::styled(fit(&text, width), style(screen, colour))), message);
    frame.render_widget(
        Paragraph::new(Line::styled(help::keys(screen, width), Style::new().add_modifier(Modifier::DIM))),
        keys,
    );
    if screen.help {
        help::draw(screen, frame, area);
    }
}

/// Returns the expectations as they stand, in a line: with their bounds if there is room.
fn judged_line(screen: &Screen, width: usize) -> Line<'static> {
    let rows = screen.sample.iter().flat_map(|sample| &sample.judged);
    let chip = |row: &JudgedRow, is_whole: bool| {
        let sign = if row.holds { '✓' } else { '✗' };
        let name = if row.subject.is_empty() { &row.quantity } else { &row.subject };
        let wanted = if is_whole { format!(" ({})", row.wanted) } else { String::new() };
        format!("{sign} {name} {}{wanted}  ", row.value)
    };
    let columns =
        |is_whole: bool| rows.clone().map(|row| Span::raw(chip(row, is_whole)).width()).sum::<usize>();
    let is_whole = columns(true) <= width;
    let colour = |row: &JudgedRow| if row.holds { Color::Green } else { Color::Red };
    let chips: Vec<Span<'static>> =
        rows.clone().map(|row| Span::styled(chip(row, is_whole), style(screen, colour(row)))).collect();
    if chips.is_empty() {
        let all = figures::count(screen.status.expectations as u64, "expectation");
        let from = figures::seconds(Some(screen.status.warmup_s));
        return Line::styled(
            format!("{all}, counted from {from} on"),
            Style::new().add_modifier(Modifier::DIM),
        );
    }
    Line::from(chips)
}

/// Returns an event as a line, with the letter of its change.
fn lettered(screen: &Screen, event: &EventSample) -> String {
    let is_of =
        |change: &&Change| change.at_s.total_cmp(&event.at_s).is_eq() && event.kind == EventKind::Change;
    let letter = screen.changes.all.iter().find(is_of).map_or(' ', |change| change.letter);
    format!("{letter}{}", event_line(event))
}

/// Returns the text that is being typed, or else the effect of a change, the last message, or what hurts, and
/// its colour.
fn said(screen: &Screen) -> (String, Color) {
    let typed = typed(screen);
    if !typed.is_empty() {
        return (typed, Color::Yellow);
    }
    let now = screen.sample.as_ref().map_or(0.0, |sample| sample.at_s);
    if let Some((letter, what, port, before, after)) = screen.changes.effect(now) {
        let [before, after] = [before, after].map(|delay| figures::seconds(Some(delay)));
        return (format!("{letter}: {what}: packets wait {before} → {after} at {port}"), Color::Cyan);
    }
    if !screen.message.is_empty() {
        return (screen.message.clone(), Color::Yellow);
    }
    let hurts = screen.sample.as_ref().map_or("", |sample| &sample.hurts);
    if hurts.is_empty() { (String::new(), Color::Yellow) } else { (format!("HURTS: {hurts}"), Color::Red) }
}

/// Returns the text that is being typed, or the filter.
fn typed(screen: &Screen) -> String {
    match &screen.typing {
        Typing::Value(typed) => {
            let knob = screen.knobs().get(screen.knob).map(|knob| knob.path.clone()).unwrap_or_default();
            format!("{knob}={typed}_   (Enter sets, Esc leaves)")
        }
        Typing::Filter => format!("filter: {}_   (Enter keeps, Esc ends)", screen.filter),
        Typing::Nothing if !screen.filter.is_empty() => format!("filter: {}   (Esc ends)", screen.filter),
        Typing::Nothing => String::new(),
    }
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
        _ if status.mode == "kernel" => "top",
        _ => "running",
    };
    let pace = match status.pace {
        _ if status.mode == "route" => condition(screen.sample.as_ref().and_then(|now| now.router.as_ref())),
        _ if status.mode == "kernel" => "kernel".to_owned(),
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
    let colour = if ["running", "top", "ended"].contains(&state) { Color::Green } else { Color::Yellow };
    Line::from(vec![
        Span::styled(name, bold()),
        Span::styled(format!("{state} "), style(screen, colour).add_modifier(Modifier::BOLD)),
        Span::raw(fit(&rest, room)),
    ])
}

/// Returns a router's condition, in words.
fn condition(router: Option<&RouterSample>) -> String {
    let Some(router) = router else { return "router".to_owned() };
    let mut words = vec!["router".to_owned()];
    if router.policy > 0 {
        let trial = match router.revert_s {
            Some(left) => format!(" ON TRIAL, reverts in {:.0} s", left.ceil()),
            None if router.is_on_trial => " ON TRIAL".to_owned(),
            None => String::new(),
        };
        words.push(format!("policy {}{trial}", router.policy));
    }
    if !router.alerts.is_empty() {
        words.push(format!("ALERT {}", router.alerts.join(", ")));
    }
    let lost: u64 = router.lost_by.iter().map(|(_, frames)| frames).sum();
    if lost > 0 {
        words.push(format!("{} lost", figures::count(lost, "frame")));
    }
    if router.bypassed_frames > 0 || !router.bypass.is_empty() {
        let word = if router.bypass.is_empty() { "bypassed" } else { "BYPASS" };
        words.push(format!("{} {word}", figures::count(router.bypassed_frames, "frame")));
    }
    words.join(" ")
}

/// Returns a live run's fidelity so far, in words.
fn faithful(fidelity: Option<&FidelitySample>) -> String {
    let Some(fidelity) = fidelity else { return "live".to_owned() };
    let late = seconds(fidelity.late_p99_s);
    let word = if fidelity.unfaithful.is_empty() { "ok" } else { "NOT FAITHFUL" };
    format!("live (late {late} p99: {word})")
}

/// Formats `text` to exactly `width` columns; a longer one is cut and ends with `…`.
fn fit(text: &str, width: usize) -> String {
    let columns = |text: &str| Span::raw(text).width();
    let mut kept = text.to_owned();
    if columns(text) > width {
        while columns(&kept) + 1 > width && kept.pop().is_some() {}
        if width > 0 {
            kept.push('…');
        }
    }
    kept.extend(std::iter::repeat_n(' ', width.saturating_sub(columns(&kept))));
    kept
}

/// Formats seconds without a blank, such as `61.0ms`.
fn seconds(value: Option<f64>) -> String {
    figures::seconds(value).replace(' ', "")
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

#[cfg(test)]
mod tests;
