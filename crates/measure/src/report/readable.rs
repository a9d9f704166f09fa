//! Sign of microseconds in the sentences of a page: terminals and files have it in ASCII.

use std::borrow::Cow;

use super::{Cell, Comparison, ReportData};
use crate::verdict::RunVerdict;

impl ReportData {
    /// Returns the data with `µs` for `us` behind a number in all sentences and cells; the scenario and the
    /// command stay as written.
    #[must_use]
    pub fn readable(mut self) -> Self {
        self.verdict.iter_mut().for_each(micro);
        for run in &mut self.runs {
            run.summary.warnings.iter_mut().for_each(micro);
            run.summary.verdict.iter_mut().for_each(verdict);
        }
        for figure in &mut self.figures {
            micro(&mut figure.caption);
        }
        self.comparisons.iter_mut().for_each(table);
        if let Some(variants) = &mut self.variants {
            table(&mut variants.table);
        }
        self
    }
}

fn verdict(verdict: &mut RunVerdict) {
    micro(&mut verdict.headline);
    verdict.findings.iter_mut().for_each(micro);
    for row in &mut verdict.rows {
        [&mut row.value, &mut row.wanted, &mut row.margin].into_iter().for_each(micro);
    }
    let phases = verdict.phases.iter_mut().flat_map(|table| &mut table.rows);
    phases.flat_map(|row| row.values.iter_mut().chain(&mut row.without)).for_each(micro);
}

fn table(table: &mut Comparison) {
    micro(&mut table.note);
    for cell in table.rows.iter_mut().flatten() {
        if let Cell::Text(text) = cell {
            micro(text);
        }
    }
}

fn micro(sentence: &mut String) {
    if let Cow::Owned(written) = with_micro(sentence) {
        *sentence = written;
    }
}

/// Returns a sentence with `µs` for each `us` between a digit with a space and the end of a word.
fn with_micro(sentence: &str) -> Cow<'_, str> {
    let mut parts = sentence.split(" us");
    let first = parts.next().unwrap_or_default();
    if first.len() == sentence.len() {
        return Cow::Borrowed(sentence);
    }
    let mut written = first.to_owned();
    for part in parts {
        let is_unit = written.ends_with(|before: char| before.is_ascii_digit())
            && !part.starts_with(|after: char| after.is_alphanumeric());
        written.push_str(if is_unit { " µs" } else { " us" });
        written.push_str(part);
    }
    Cow::Owned(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_unit_behind_a_number_is_written_with_its_sign() {
        for (ascii, wanted) in [
            ("Longest wait: 522 us (p99) of 5 users.", "Longest wait: 522 µs (p99) of 5 users."),
            ("1 us, 2 us", "1 µs, 2 µs"),
            ("5 used, tell us, gap=5us", "5 used, tell us, gap=5us"),
            ("", ""),
        ] {
            assert_eq!(with_micro(ascii), wanted);
        }
    }

    #[test]
    fn the_scenario_and_the_command_stay_as_written() {
        let mut data = ReportData::new("title");
        (data.scenario, data.command) = ("gap = '5 us'".into(), "run '5 us'".into());
        let cells = vec![Cell::Text("5 us".into())];
        data.comparisons.push(Comparison { rows: vec![cells], note: "6 us".into(), ..Comparison::default() });
        let data = data.readable();
        assert_eq!((data.scenario.as_str(), data.command.as_str()), ("gap = '5 us'", "run '5 us'"));
        assert_eq!(data.comparisons[0].rows[0][0], Cell::Text("5 µs".into()));
        assert_eq!(data.comparisons[0].note, "6 µs");
    }
}
