//! The keys: in a line, and explained.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::fit;
use crate::view::screen::Screen;

/// Keys, what they do, and a short form for the last line.
const KEYS: [(&str, &str, &str); 12] = [
    ("↑ ↓", "select a queue; until then the worst one is selected", "↑↓ queue"),
    ("← →", "select one of its knobs", "←→ knob"),
    ("+ -", "turn the knob by a step", "+- step"),
    ("Enter", "type a value of the knob", "⏎ type"),
    ("r", "replace the tree of the port by the next one", "r root"),
    ("/", "show only queues and ports with this text in their name", "/ find"),
    ("z", "show the last 10 s, 60 s or all of the run; letters mark changes", "z zoom"),
    ("[ ]", "take samples more often, less often", "[] every"),
    ("space", "freeze the picture; samples are still taken", "␣ freeze"),
    ("h", "hold the time of the simulation, and go on", "h hold"),
    ("?", "this help", "? help"),
    ("q", "", "q quit"),
];

/// Explanations of the figures.
const WORDS: [&str; 5] = [
    "Ports: the longest delay first. Red hurts: it misses a bound on its delay,",
    "or without one p99 is 100 ms, or 5 % are lost. Yellow: the link is full.",
    "now, bar: packets waiting; │ is the largest backlog of the interval",
    "in, out: bits a second offered and sent",
    "p50, p99: time in the port of the packets sent; drop: dropped in the interval",
];

/// Returns the keys that have an effect on what is shown.
fn keys_of(screen: &Screen) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let (has_knobs, has_trees) = (screen.has_knobs(), screen.has_trees());
    let keys = KEYS.into_iter().filter(move |(key, ..)| match *key {
        "← →" | "+ -" | "Enter" => has_knobs,
        "r" => has_trees,
        "[ ]" => screen.has_interval(),
        "h" => screen.can_be_held(),
        _ => true,
    });
    keys.map(|(key, does, short)| (key, if key == "q" { screen.quits } else { does }, short))
}

/// Returns the keys in a line.
pub(super) fn keys(screen: &Screen, width: usize) -> String {
    let all: Vec<&str> = keys_of(screen).map(|(.., short)| short).collect();
    // Help and the end stay; the others leave from the right.
    let (others, always) = all.split_at(all.len() - 2);
    let line = |shown: &[&str]| [shown, always].concat().join(" ");
    let mut shown = others;
    while let [rest @ .., _] = shown
        && Span::raw(line(shown)).width() > width
    {
        shown = rest;
    }
    fit(&line(shown), width)
}

/// Draws the help over the picture.
pub(super) fn draw(screen: &Screen, frame: &mut Frame<'_>, area: Rect) {
    let explained = keys_of(screen).map(|(key, does, _)| format!(" {key:<6} {does}"));
    let words = WORDS.into_iter().map(|line| format!(" {line}"));
    let lines: Vec<String> = explained.chain([String::new()]).chain(words).collect();
    let width = lines.iter().map(|line| Span::raw(line).width()).max().unwrap_or(0) as u16 + 3;
    let (width, height) = (width.min(area.width), (lines.len() as u16 + 2).min(area.height));
    let area =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, area);
    let text: Vec<Line<'_>> = lines.into_iter().map(Line::from).collect();
    frame.render_widget(Paragraph::new(text).block(Block::bordered().title(" keys (any key closes) ")), area);
}
