//! The answer as elements: title, verdict and expectations, in the same form as the page's script builds them
//! (`web/src/sections/answer.ts`). They are the first paint, and all that a reader without scripts sees.

use core::fmt::Write;

use super::ReportData;
use crate::figures;
use crate::verdict::{JudgedRow, Outcome, PhaseTable, RunVerdict};

/// Largest number of nodes of a network that the script draws beside the verdict.
const SMALL: usize = 16;

/// Returns the elements of the head of the page.
pub(super) fn elements(data: &ReportData) -> String {
    let mut html =
        String::from(r#"<div class="bar"><strong>Lockgate</strong></div><main><header class="title"><h1>"#);
    text(&mut html, if data.title.is_empty() { "Lockgate report" } else { &data.title });
    html.push_str("</h1>");
    html.push_str(r#"<p class="note">"#);
    text(&mut html, &facts(data));
    html.push_str(
        r#"</p></header><section id="verdict"><h2>Verdict</h2><div class="answer"><div class="told">"#,
    );
    let verdict = data.runs.iter().rev().find_map(|run| run.summary.verdict.as_ref());
    let outcome = verdict.map_or(Outcome::None, |verdict| verdict.outcome);
    // The sentence on what holds, which has the sign, is below that on a change.
    let held = usize::from(verdict.is_some_and(|verdict| verdict.change_first));
    for (index, sentence) in data.verdict.iter().enumerate() {
        let class = match (index, outcome) {
            (0, _) if held > 0 && verdict.is_some_and(|verdict| verdict.hurts) => "headline event bad",
            (0, _) if held > 0 => "headline event",
            (0, Outcome::Held) => "headline good",
            (0, Outcome::Missed) => "headline bad",
            (0, Outcome::None) => "headline none",
            (_, Outcome::Held) if index == held => "finding good",
            (_, Outcome::Missed) if index == held => "finding bad",
            _ => "finding",
        };
        html.push_str("<p class=\"");
        html.push_str(class);
        html.push_str("\">");
        if let Some(verdict) = verdict.filter(|_| index == held) {
            sign(&mut html, verdict);
        }
        text(&mut html, sentence);
        html.push_str("</p>");
    }
    if let Some(verdict) = verdict {
        judged(&mut html, &verdict.rows);
        if let Some(table) = &verdict.phases {
            phases(&mut html, table);
        }
    }
    html.push_str("</div>");
    if (1..=SMALL).contains(&data.topology.nodes.len()) {
        html.push_str(r#"<div class="network"></div>"#);
    }
    html.push_str("</div></section></main>");
    html
}

/// Returns the line below the title: length, warm-up and seeds of the run.
fn facts(data: &ReportData) -> String {
    let Some(summary) = data.runs.last().map(|run| &run.summary) else { return data.generated.clone() };
    let seconds = |value: f64| crate::figures::without_zeros(&crate::figures::plain(value));
    let how = if summary.mode == crate::recording::Mode::Live { "live" } else { "simulated" };
    let warmup = if summary.warmup_s > 0.0 {
        format!(", first {} s left out", seconds(summary.warmup_s))
    } else {
        String::new()
    };
    let seeds = match summary.runs {
        0 | 1 => format!("seed {}", summary.seed),
        runs => format!(
            "{runs} seeds from {}: expectations are on all of them, curves and tables of the first",
            summary.seed
        ),
    };
    format!("{} s {how}{warmup}, {seeds}", seconds(summary.duration_s))
}

fn sign(html: &mut String, verdict: &RunVerdict) {
    if verdict.outcome != Outcome::None {
        html.push_str(r#"<span class="sign">"#);
        html.push_str(verdict.sign());
        html.push_str("</span> ");
    }
}

fn judged(html: &mut String, rows: &[JudgedRow]) {
    if rows.is_empty() {
        return;
    }
    html.push_str(r#"<table class="judged"><tbody>"#);
    for row in rows {
        html.push_str(if row.holds { r#"<tr class="good">"# } else { r#"<tr class="bad">"# });
        html.push_str(r#"<td class="sign">"#);
        html.push_str(if row.holds { "✓" } else { "✗" });
        for (class, cell) in [
            ("subject", &row.subject),
            ("quantity", &row.quantity),
            ("value", &row.value),
            ("wanted", &row.wanted),
        ] {
            html.push_str("</td><td class=\"");
            html.push_str(class);
            html.push_str("\">");
            text(html, cell);
        }
        html.push_str(r#"</td><td class="margin">"#);
        if let Some(used) = row.used_ratio {
            let (percent, style) = meter(used, &row.wanted);
            let _ = write!(html, r#"<span class="meter"{style}><i style="width:{percent:.1}%"></i></span>"#);
        }
        text(html, &row.margin);
        html.push_str("</td></tr>");
    }
    html.push_str("</tbody></table>");
}

/// Returns the length of a meter's bar in per cent, and the attribute that places its tick, the bound. Above
/// a bound of either kind the bar goes beyond the tick (`web/src/meter.ts`).
fn meter(used: f64, wanted: &str) -> (f64, String) {
    let is_lower = wanted.starts_with("above ") || wanted.starts_with("at least ");
    let value = match (is_lower, used > 0.0) {
        (false, _) => used.max(0.0),
        (true, true) => 1.0 / used,
        (true, false) => f64::MAX,
    };
    let most = value.max(1.0);
    let style = if most > 1.0 { format!(r#" style="--bound:{:.1}%""#, 100.0 / most) } else { String::new() };
    (100.0 * (value / most), style)
}

fn phases(html: &mut String, table: &PhaseTable) {
    html.push_str(r#"<table class="phases"><thead><tr><th></th>"#);
    for head in &table.heads {
        html.push_str("<th>");
        text(html, head);
        html.push_str("</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        html.push_str("<tr><th>");
        text(html, format!("{} {}", row.subject, row.quantity).trim_start());
        html.push_str("</th>");
        for value in &row.values {
            html.push_str("<td>");
            text(html, value);
            html.push_str("</td>");
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
}

/// Appends text, in which nothing is an element.
fn text(html: &mut String, text: &str) {
    html.push_str(&figures::escaped(text));
}
