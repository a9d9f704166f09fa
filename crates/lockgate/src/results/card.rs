//! Card of a run: one picture of 1200 by 630 pixels with its verdict, the delay that decides, its bound, and
//! the command that repeats it. It stands alone: no fonts, styles or scripts from outside.

use std::fmt::Write;

use lockgate_engine::units::Duration;
use lockgate_measure::metric::{Address, During, Subject};
use lockgate_measure::recording::{EventKind, FlowRecord, Recording};
use lockgate_measure::summary::{Expectation, Summary};
use lockgate_measure::verdict::{JudgedRow, Outcome, RunVerdict};

use crate::figures;

/// First characters of every card.
pub const HEAD: &str = "<svg ";

/// Size in pixels, which previews of links have.
const SIZE: (u32, u32) = (1200, 630);
/// Extent of the curve.
const LEFT: f64 = 110.0;
const RIGHT: f64 = 1150.0;
const TOP: f64 = 300.0;
const BOTTOM: f64 = 530.0;
/// Letters of a line of the headline, and of the sentence below it.
const LETTERS: [usize; 2] = [50, 84];
/// Most lines of the headline.
const HEADLINES: usize = 3;
/// Expectations that have room in place of the curve.
const ROWS: usize = 4;
/// Columns of the curve: each has the smallest and largest delay in it.
const COLUMNS: usize = 400;
/// A bound up to so many times the largest delay is drawn.
const REACHED: f64 = 4.0;

const TEXT: &str = "#16191d";
const SOFT: &str = "#5a626c";
const GRID: &str = "#d5d9de";
const CURVE: &str = "#0f7dc2";
const GOOD: &str = "#006d4f";
const BAD: &str = "#b03a00";

/// Delay of a flow that the card draws.
struct Drawn<'a> {
    flow: &'a FlowRecord,
    /// Upper bound, in seconds.
    bound_s: Option<f64>,
    /// Part of the run for which the bound is; `None` for all of it.
    during: Option<During>,
    /// True if it is on a high percentile.
    is_tail: bool,
}

/// Returns the card of a run as an SVG document.
pub fn card(title: &str, summary: &Summary, recording: &Recording, command: &str) -> String {
    let verdict = summary.verdict();
    let (width, height) = SIZE;
    let mut svg = format!(
        "{HEAD}xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"system-ui,-apple-system,'Segoe UI',Arial,sans-serif\">\
         <title>{}</title><rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>",
        escaped(&format!("{title}: {}", verdict.headline))
    );
    text(&mut svg, (50.0, 64.0), 26, SOFT, &cut(title, 80));
    sentences(&mut svg, &verdict);
    match drawn(summary, recording) {
        Some(drawn) => {
            // Of several runs the verdict is on all of them.
            let of = if summary.runs > 1 { format!(", seed {}", summary.seed) } else { String::new() };
            curve(&mut svg, recording, &drawn, &of);
        }
        None if !verdict.rows.is_empty() => rows(&mut svg, &verdict.rows),
        None => text(&mut svg, (50.0, TOP + 60.0), 24, SOFT, "no delay over time was recorded"),
    }
    let _ = write!(
        svg,
        "<text x=\"50\" y=\"598\" font-size=\"20\" font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,monospace\" \
         fill=\"{SOFT}\">{}</text>",
        escaped(&cut(&repeated(command), 76))
    );
    let _ = write!(
        svg,
        "<text x=\"1150\" y=\"598\" font-size=\"20\" font-weight=\"700\" text-anchor=\"end\" fill=\"{TEXT}\">\
         Lockgate</text></svg>"
    );
    svg
}

/// Writes the headline, and the sentence below it. The sign is before the one on what holds.
fn sentences(svg: &mut String, verdict: &RunVerdict) {
    let (sign, colour) = match verdict.outcome {
        Outcome::Held => ("✓ ", GOOD),
        Outcome::Missed => ("✗ ", BAD),
        Outcome::None => ("", TEXT),
    };
    let signs = if verdict.change_first { ["", sign] } else { [sign, ""] };
    let headline = wrapped(&format!("{}{}", signs[0], verdict.headline), LETTERS[0], HEADLINES);
    for (line, words) in headline.iter().enumerate() {
        bold(
            svg,
            (50.0, 122.0 + 46.0 * line as f64),
            if verdict.change_first { TEXT } else { colour },
            words,
        );
    }
    let below = 122.0 + 46.0 * headline.len() as f64;
    let lines = if headline.len() < HEADLINES { 2 } else { 1 };
    let finding = verdict.findings.first().map(|first| format!("{}{first}", signs[1]));
    for (line, words) in finding.iter().flat_map(|first| wrapped(first, LETTERS[1], lines)).enumerate() {
        text(
            svg,
            (50.0, below + 32.0 * line as f64),
            24,
            if verdict.change_first { colour } else { TEXT },
            &words,
        );
    }
}

/// Writes the expectations with their values, of a run whose verdict no delay over time shows.
fn rows(svg: &mut String, rows: &[JudgedRow]) {
    for (index, row) in rows.iter().take(ROWS).enumerate() {
        let y = TOP + 40.0 + 44.0 * index as f64;
        let (sign, colour) = if row.holds { ("✓", GOOD) } else { ("✗", BAD) };
        let name = format!("{} {}", row.subject, row.quantity);
        text(svg, (50.0, y), 24, colour, sign);
        text(svg, (84.0, y), 24, TEXT, &cut(name.trim(), 42));
        text(svg, (640.0, y), 24, colour, &cut(&row.value, 18));
        text(svg, (870.0, y), 24, SOFT, &cut(&row.wanted, 24));
    }
    if let Some(more) = rows.len().checked_sub(ROWS).filter(|more| *more > 0) {
        let more = format!("and {}", figures::count(more as u64, "more expectation"));
        text(svg, (84.0, TOP + 40.0 + 44.0 * ROWS as f64), 20, SOFT, &more);
    }
}

/// Returns the flow whose delay the first expectation on a delay judges, missed ones before others; without
/// any expectation or beside a change, the first of the scenario: its delay answers no other expectation.
fn drawn<'a>(summary: &Summary, recording: &'a Recording) -> Option<Drawn<'a>> {
    let named = |name: &str| recording.flows.iter().find(|flow| flow.setup.name == name);
    let (held, missed): (Vec<_>, Vec<_>) = summary.expect.iter().partition(|expect| expect.holds);
    let judged = missed.into_iter().chain(held).find_map(|expect| {
        let address = Address::parse(&expect.that).ok().filter(|address| address.metric.name == "owd")?;
        let Subject::Flow(name) = &address.subject else { return None };
        let is_tail = expect.that.contains(".p9") || expect.that.contains(".max");
        Some(Drawn { flow: named(name)?, bound_s: upper(expect), during: address.during, is_tail })
    });
    if judged.is_none() && !summary.expect.is_empty() && recording.phases().len() < 2 {
        return None;
    }
    let first = || recording.flows.iter().find(|flow| !flow.setup.is_return && flow.brief().is_none());
    let found =
        judged.or_else(|| Some(Drawn { flow: first()?, bound_s: None, during: None, is_tail: false }))?;
    (found.flow.brief().is_none() && found.flow.series().owd_p50.iter().any(Option::is_some)).then_some(found)
}

fn upper(expect: &Expectation) -> Option<f64> {
    [expect.below, expect.at_most, expect.between.map(|[_, most]| most)]
        .into_iter()
        .flatten()
        .reduce(f64::min)
}

fn curve(svg: &mut String, recording: &Recording, drawn: &Drawn<'_>, of: &str) {
    let series = drawn.flow.series();
    let delays = if drawn.is_tail { &series.owd_p99 } else { &series.owd_p50 };
    let end = recording.duration.as_secs_f64().max(1e-9);
    let warmup = recording.warmup.as_secs_f64();
    let points: Vec<(f64, Option<f64>)> = series
        .end
        .iter()
        .zip(delays)
        .map(|(at, delay)| (at.as_secs_f64(), delay.map(Duration::as_secs_f64)))
        .collect();
    let measured = points.iter().filter(|(at, _)| *at >= warmup).filter_map(|(_, delay)| *delay);
    let most = measured.fold(0.0, f64::max).max(1e-6);
    let bound = drawn.bound_s.filter(|bound| *bound <= REACHED * most);
    let top = bound.map_or(most, |bound| bound.max(most)) * 1.05;
    let x = |at: f64| LEFT + (RIGHT - LEFT) * (at / end).clamp(0.0, 1.0);
    let y = |delay: f64| BOTTOM - (BOTTOM - TOP) * (delay / top).clamp(0.0, 1.0);
    let statistic = if drawn.is_tail { "p99" } else { "median" };
    let name = cut(&drawn.flow.setup.name, 40);
    text(svg, (LEFT, TOP - 14.0), 20, SOFT, &format!("delay of {name}, {statistic} of each interval{of}"));
    for share in [0.0, 0.5, 1.0] {
        let delay = share * top / 1.05;
        let _ = write!(svg, "<path d=\"M{LEFT} {:.1}H{RIGHT}\" stroke=\"{GRID}\"/>", y(delay));
        end_text(svg, (LEFT - 10.0, y(delay) + 6.0), SOFT, &figures::seconds(Some(delay)));
    }
    if warmup > 0.0 {
        let _ = write!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{TEXT}\" opacity=\"0.05\"/>",
            x(warmup) - LEFT,
            BOTTOM - TOP
        );
    }
    for event in recording.events.iter().filter(|event| event.kind == EventKind::Change).take(12) {
        let at = x(event.at.as_secs_f64());
        let _ =
            write!(svg, "<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"{SOFT}\" stroke-dasharray=\"4 4\"/>");
    }
    let path = path(&points, x, y);
    let _ = write!(
        svg,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{CURVE}\" stroke-width=\"3\" stroke-linejoin=\"round\"/>"
    );
    if let Some(bound) = bound {
        let ends = |during: During| [during.from, during.to].map(|at| x(at.as_secs_f64()));
        let [from, to] = drawn.during.map_or([LEFT, RIGHT], ends);
        let _ = write!(
            svg,
            "<path d=\"M{from:.1} {0:.1}H{to:.1}\" stroke=\"{BAD}\" stroke-width=\"2\" stroke-dasharray=\"8 5\"/>",
            y(bound)
        );
        let words = format!("bound {}", short(bound));
        end_text(svg, (to.max(LEFT + 100.0), y(bound) - 8.0), BAD, &words);
    }
    text(svg, (LEFT, BOTTOM + 24.0), 18, SOFT, "0");
    end_text(svg, (RIGHT, BOTTOM + 24.0), SOFT, &short(end));
}

fn short(seconds: f64) -> String {
    figures::without_zeros(&figures::seconds(Some(seconds)))
}

/// Returns the path of a curve, at most two points a column; a gap breaks it.
fn path(points: &[(f64, Option<f64>)], x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut is_broken = true;
    for chunk in points.chunks(points.len().div_ceil(COLUMNS).max(1)) {
        let known = || chunk.iter().filter_map(|(at, delay)| Some((*at, (*delay)?)));
        let by_delay = |one: &(f64, f64), other: &(f64, f64)| one.1.total_cmp(&other.1);
        let (Some(low), Some(high)) = (known().min_by(by_delay), known().max_by(by_delay)) else {
            is_broken = true;
            continue;
        };
        let both = if low.0 <= high.0 { [low, high] } else { [high, low] };
        for (at, delay) in &both[usize::from(low.0.total_cmp(&high.0).is_eq())..] {
            let _ = write!(path, "{}{:.1} {:.1}", if is_broken { 'M' } else { 'L' }, x(*at), y(*delay));
            is_broken = false;
        }
    }
    path
}

fn text(svg: &mut String, (x, y): (f64, f64), size: u32, fill: &str, words: &str) {
    let _ = write!(
        svg,
        "<text x=\"{x}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{fill}\">{}</text>",
        escaped(words)
    );
}

fn bold(svg: &mut String, (x, y): (f64, f64), fill: &str, words: &str) {
    let words = escaped(words);
    let _ = write!(
        svg,
        "<text x=\"{x}\" y=\"{y:.1}\" font-size=\"36\" font-weight=\"700\" fill=\"{fill}\">{words}</text>"
    );
}

fn end_text(svg: &mut String, (x, y): (f64, f64), fill: &str, words: &str) {
    let words = escaped(words);
    let _ = write!(
        svg,
        "<text x=\"{x}\" y=\"{y:.1}\" font-size=\"18\" text-anchor=\"end\" fill=\"{fill}\">{words}</text>"
    );
}

/// Returns the words in lines of at most so many letters; what does not fit the last ends with `…`.
fn wrapped(words: &str, letters: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in words.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > letters {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.push_str(" …");
        }
    }
    lines.into_iter().map(|line| cut(&line, letters + 2)).collect()
}

/// Returns a command without the options that say where its results go.
fn repeated(command: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut words = command.split(' ');
    while let Some(word) = words.next() {
        match word {
            // A quoted path may have blanks: the command is then left as it is.
            "--out" | "--card" if words.next().is_some_and(|path| path.starts_with(['\'', '"'])) => {
                return command.to_owned();
            }
            "--out" | "--card" | "--quiet" | "-q" => {}
            word => kept.push(word),
        }
    }
    kept.join(" ")
}

fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// Escapes text for XML; characters that a document may not have are left out.
fn escaped(text: &str) -> String {
    figures::escaped(&text.replace(char::is_control, " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_to_lines_and_escaped() {
        assert_eq!(wrapped("one two three", 7, 2), ["one two", "three"]);
        assert_eq!(wrapped("one two three four five", 9, 2), ["one two", "three …"]);
        assert_eq!(escaped("a<b> & \"c\"\u{7}"), "a&lt;b&gt; &amp; &quot;c&quot; ");
        assert_eq!(cut("abcdef", 4), "abc…");
        let command = "lockgate run home.toml --out runs/a --seed 3 --card a.svg --quiet";
        assert_eq!(repeated(command), "lockgate run home.toml --seed 3");
    }
}
