//! The selected queue: backlog and delay over time as curves of braille with their scales, and its knobs.

use lockgate_measure::monitor::QueueSample;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Paragraph};

use super::{bold, fit, seconds, style};
use crate::view::past::{Past, Point};
use crate::view::screen::{QueueLine, Screen};

/// Least backlog shown at the full height of a curve: one or two packets must not fill it.
const LEAST_PACKETS: f64 = 10.0;

/// Least delay shown at the full height of a curve, in seconds.
const LEAST_DELAY: f64 = 1e-3;

/// Widest column of knobs, in percent of the width, and in columns.
const KNOBS: (u16, u16) = (36, 60);

pub(super) fn draw(screen: &Screen, frame: &mut Frame<'_>, area: Rect) {
    let lines = screen.lines();
    let Some(QueueLine { port, queue, .. }) = lines.get(screen.line()) else { return };
    let knobs_width = (area.width * KNOBS.0 / 100).min(KNOBS.1);
    let [curves, gap, knobs] =
        Layout::horizontal([Constraint::Min(10), Constraint::Length(1), Constraint::Length(knobs_width)])
            .areas(area);
    let _ = gap;
    let apart = under_a_ring(queue);
    let [title, ring, curves] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(apart.len() as u16), Constraint::Min(1)])
            .areas(curves);
    let gauge = |value: f64| if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    let gauges: Vec<String> =
        queue.gauges.iter().map(|(name, value)| format!("{name} {}", gauge(*value))).collect();
    // The handle of a kernel's queue ends with a colon already.
    let text = format!(
        "{} {}: mean {:.1}p max {}p {}",
        port.name,
        queue.name.trim_end_matches(':'),
        queue.mean_packets,
        queue.peak_packets,
        gauges.join(" ")
    );
    frame.render_widget(Paragraph::new(Line::styled(fit(&text, usize::from(title.width)), bold())), title);
    frame.render_widget(Paragraph::new(apart), ring);
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).spacing(1).areas(curves);
    let none = Past::default();
    let history = screen.history.get(&(port.index, queue.index)).unwrap_or(&none);
    let packets = |point: &Point| Some(point.packets);
    let scale = |most: f64| format!("{most:.0}p");
    curve(
        frame,
        left,
        screen,
        &Curve { title: "backlog", value: &packets, least: LEAST_PACKETS, scale: &scale },
        history,
    );
    let delay = |point: &Point| point.delay;
    let scale = |most: f64| seconds(Some(most));
    curve(
        frame,
        right,
        screen,
        &Curve {
            title: if screen.status.mode == "kernel" { "mean delay" } else { "delay p99" },
            value: &delay,
            least: LEAST_DELAY,
            scale: &scale,
        },
        history,
    );
    draw_knobs(screen, frame, knobs);
}

/// A figure of a queue over time.
struct Curve<'a> {
    title: &'static str,
    /// Smallest and largest value of a point.
    value: &'a dyn Fn(&Point) -> Option<[f64; 2]>,
    /// Least value at the full height.
    least: f64,
    /// Formats the largest value.
    scale: &'a dyn Fn(f64) -> String,
}

/// Draws the samples of the time that is shown, two columns of dots in a column, on a scale from 0 to the
/// largest of them, with a letter at each change.
fn curve(frame: &mut Frame<'_>, area: Rect, screen: &Screen, curve: &Curve<'_>, past: &Past) {
    // The scale stands to the left of the curve, in up to seven columns and a line.
    let columns = usize::from(area.width.saturating_sub(SCALE)).max(1);
    let end = screen.sample.as_ref().map_or(0.0, |sample| sample.at_s);
    let first = past.since(0.0).next().map_or(0.0, |point| point.at_s);
    let start = screen.span_s.map_or(first, |span| end - span).min(end - screen.status.every_s.max(1e-6));
    let values = past.since(start).filter_map(|point| Some((point.at_s, (curve.value)(point)?)));
    let points = extremes(values, (start, end), 2 * columns);
    let most = points.iter().map(|(_, value)| *value).fold(curve.least, f64::max);
    // The chart multiplies by its height, which overflows for values near the largest number.
    let points: Vec<(f64, f64)> =
        points.into_iter().map(|(at, value)| (at, (value / most).clamp(0.0, 1.0))).collect();
    let [head, plot] =
        Layout::vertical([Constraint::Length(u16::from(area.height > 3)), Constraint::Min(1)]).areas(area);
    let last = seconds(Some(end - start));
    let title = match screen.span_s {
        None => format!("{}, all {last}", curve.title),
        Some(_) => format!("{}, last {last}", curve.title),
    };
    frame.render_widget(
        Paragraph::new(Line::styled(
            fit(&title, usize::from(head.width)),
            Style::new().add_modifier(Modifier::DIM),
        )),
        head,
    );
    let dataset = Dataset::default()
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(style(screen, Color::Cyan))
        .data(&points);
    let labels = ["0".to_owned(), (curve.scale)(most)].map(|label| format!("{label:>7}"));
    let chart = Chart::new(vec![dataset])
        .x_axis(Axis::default().bounds([0.0, 2.0 * columns as f64]))
        .y_axis(Axis::default().bounds([0.0, 1.0]).labels(labels));
    frame.render_widget(chart, plot);
    for change in screen.changes.all.iter().filter(|change| (start..=end).contains(&change.at_s)) {
        let share = (change.at_s - start) / (end - start).max(1e-9);
        let column = plot.x + SCALE + (share * (columns - 1) as f64) as u16;
        let look = style(screen, Color::Yellow).add_modifier(Modifier::BOLD);
        frame.buffer_mut().set_string(
            column.min(plot.right().saturating_sub(1)),
            plot.y,
            change.letter.to_string(),
            look,
        );
    }
}

/// Columns of the scale beside a curve.
const SCALE: u16 = 8;

/// Returns the smallest and the largest value of each of so many columns of dots between two times, at the
/// positions of the columns.
fn extremes(
    values: impl Iterator<Item = (f64, [f64; 2])>,
    (start, end): (f64, f64),
    columns: usize,
) -> Vec<(f64, f64)> {
    let mut found: Vec<(usize, [f64; 2])> = Vec::new();
    for (at, [low, high]) in values {
        let column = (((at - start) / (end - start)).clamp(0.0, 1.0) * columns as f64) as usize;
        match found.last_mut() {
            Some((index, [least, most])) if *index == column => {
                (*least, *most) = (least.min(low), most.max(high));
            }
            _ => found.push((column, [low, high])),
        }
    }
    let both = |(column, [low, high]): (usize, [f64; 2])| {
        let one = (column as f64, low);
        if low.total_cmp(&high).is_eq() { vec![one] } else { vec![one, (column as f64, high)] }
    };
    found.into_iter().flat_map(both).collect()
}

fn draw_knobs(screen: &Screen, frame: &mut Frame<'_>, area: Rect) {
    let knobs = screen.knobs();
    let room = usize::from(area.height).max(1);
    let first = (screen.knob + 1).saturating_sub(room);
    let knob_line = |(index, knob): (usize, &&lockgate_session::Knob)| {
        let mark = if index == screen.knob { '>' } else { ' ' };
        let origin = if knob.is_default { " (default)" } else { "" };
        // A shaper has a rate too.
        let link = if knob.path.starts_with("link.") { "link " } else { "" };
        let text = format!("{mark} {link}{} = {}{origin}", knob.key, knob.value.as_deref().unwrap_or("-"));
        let look =
            if index == screen.knob { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        Line::styled(fit(&text, usize::from(area.width)), look)
    };
    let shown: Vec<Line<'_>> = knobs.iter().enumerate().skip(first).take(room).map(knob_line).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

/// Returns the mean delay in a queue and in the device ring below it, in words; empty without a ring.
fn under_a_ring(queue: &QueueSample) -> Vec<Line<'static>> {
    let Some(waited) = queue.waited_mean_s else { return Vec::new() };
    let ring = queue.sojourn_mean_s.map(|all| (all - waited).max(0.0));
    let [queue, ring] = [Some(waited), ring].map(seconds);
    vec![Line::from(format!("mean {queue} in queue, {ring} in ring"))]
}
