//! A difference in words: lines for a terminal, and a comment in Markdown.

use std::fmt::Write;

use super::{Change, Diff, PacketChange, Treatment};
use crate::figures;

/// Sets of a change that are shown.
const SHOWN: usize = 6;

impl Diff {
    /// Returns the difference in lines, an indent of two blanks a level.
    pub fn lines(&self) -> Vec<String> {
        if self.is_same() {
            let mut lines =
                vec!["the same: no packet is treated differently, and no queue differs".to_owned()];
            lines.extend(self.in_both());
            return lines;
        }
        let mut lines = Vec::new();
        for port in &self.ports {
            lines.push(format!("port {}", port.port));
            if port.packets.is_empty() {
                lines.push("  no packet is treated differently".to_owned());
            }
            for change in &port.packets {
                lines.push(format!("  {}", change.title()));
                lines.extend(change.sets().map(|set| format!("      {set}")));
                lines.push(format!("      smallest: {}", change.witness.words));
                lines.extend(change.touched().map(|words| format!("      {words}")));
            }
            lines.extend(
                port.renamed.iter().map(|one| format!("  `{}` is now called `{}`", one.old, one.new)),
            );
            lines.extend(port.tree.iter().map(|line| format!("  {line}")));
        }
        lines.extend(self.unpaired.iter().cloned());
        lines.extend(self.others.iter().cloned());
        lines.extend(self.not_compared.iter().cloned().chain(self.in_both()));
        lines
    }

    /// Returns how many lines that are not understood both sides have, if there are any.
    fn in_both(&self) -> Option<String> {
        let count = self.not_compared_in_both;
        let lines = figures::count(count as u64, "line");
        (count > 0).then(|| format!("not compared: {lines} that both have and that the above leaves out"))
    }

    /// Returns the difference as a comment in Markdown. `runs` are lines on the comparison of runs.
    pub fn markdown(&self, runs: &[String]) -> String {
        let (old, new) = (cell(&self.old), cell(&self.new));
        let mut text = format!("### `{old}` → `{new}`\n\n");
        if self.is_same() {
            text += "The same: no packet is treated differently, and no queue differs.\n";
            if let Some(in_both) = self.in_both() {
                let _ = writeln!(text, "\n{in_both}");
            }
            return text;
        }
        for port in &self.ports {
            let _ = writeln!(text, "**Port `{}`**\n", cell(&port.port));
            if port.packets.is_empty() {
                text += "No packet is treated differently.\n\n";
            } else {
                let counts = port.packets.iter().any(|change| change.capture.is_some());
                text += if counts {
                    "| packets | change | smallest | in the capture |\n| --- | --- | --- | --- |\n"
                } else {
                    "| packets | change | smallest |\n| --- | --- | --- |\n"
                };
                for change in &port.packets {
                    let sets: Vec<String> = change.sets().collect();
                    let _ = write!(
                        text,
                        "| {} | {} | {} |",
                        cell(&sets.join("<br>")),
                        cell(&change.title()),
                        cell(&change.witness.words)
                    );
                    if let Some(touched) = change.capture {
                        let count = figures::count(touched.packets, "packet");
                        let _ = write!(text, " {count}, {} bytes |", touched.bytes);
                    }
                    text.push('\n');
                }
                text.push('\n');
            }
            let renamed = port.renamed.iter().map(|one| format!("`{}` is now called `{}`", one.old, one.new));
            list(&mut text, renamed.chain(port.tree.iter().cloned()));
        }
        let files = self.unpaired.iter().chain(&self.others).chain(&self.not_compared).cloned();
        list(&mut text, files.chain(self.in_both()));
        if !runs.is_empty() {
            text += "**Both run with the same seeds**\n\n";
            list(&mut text, runs.iter().cloned());
        }
        text
    }
}

/// Adds a list, and an empty line if it has elements.
fn list(text: &mut String, elements: impl Iterator<Item = String>) {
    let before = text.len();
    for element in elements {
        let _ = writeln!(text, "- {}", cell(&element));
    }
    if text.len() > before {
        text.push('\n');
    }
}

/// Returns a text that a cell of a table may have.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

impl PacketChange {
    /// Returns the change in a line: `class a → b, rate 20 Mbit/s → 30 Mbit/s`.
    fn title(&self) -> String {
        let Self { old, new, .. } = self;
        let rate = |rate: Option<u64>| match rate {
            Some(rate) => figures::rate(Some(rate as f64)),
            None => "none".to_owned(),
        };
        let words = |change: &Change| match change {
            Change::Class => format!("class `{}` → `{}`", old.class, new.class),
            Change::Rate => format!("rate {} → {}", rate(old.rate_bps), rate(new.rate_bps)),
            Change::Ceil => format!("at most {} → {}", rate(old.ceil_bps), rate(new.ceil_bps)),
            Change::Priority => format!("priority {} → {}", priority(old), priority(new)),
            Change::Mark => format!("mark {} → {}", mark(old), mark(new)),
        };
        let all: Vec<String> = self.changes.iter().map(words).collect();
        let class =
            if self.changes.contains(&Change::Class) { String::new() } else { format!("`{}`: ", new.class) };
        format!("{class}{}", all.join(", "))
    }

    /// Returns its sets in words, the first ones.
    fn sets(&self) -> impl Iterator<Item = String> + '_ {
        let more = self.sets_total.saturating_sub(SHOWN.min(self.sets.len()));
        let more = (more > 0).then(|| format!("and {} more", figures::count(more as u64, "set")));
        self.sets.iter().take(SHOWN).map(|set| set.words.clone()).chain(more)
    }

    fn touched(&self) -> Option<String> {
        let touched = self.capture?;
        Some(format!(
            "in the capture: {}, {}",
            figures::count(touched.packets, "packet"),
            figures::count(touched.bytes, "byte")
        ))
    }
}

fn priority(treatment: &Treatment) -> String {
    let all: Vec<String> = treatment.priority.iter().map(i64::to_string).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(".") }
}

fn mark(treatment: &Treatment) -> String {
    if treatment.mark.is_empty() { "none".to_owned() } else { treatment.mark.join(", ") }
}
