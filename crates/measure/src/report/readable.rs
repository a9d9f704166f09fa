//! Units in the sentences of a page: each on the line of its number, and microseconds with their sign.
//! Terminals and files have them in ASCII, as scenarios and `tc` read them.

use std::borrow::Cow;

use super::{Cell, Comparison, ReportData};
use crate::verdict::RunVerdict;

impl ReportData {
    /// Returns the data with a no-break space before each unit behind a number, and `µs` for `us`, in all
    /// sentences and cells; the scenario and the command stay as written.
    #[must_use]
    pub fn readable(mut self) -> Self {
        self.verdict.iter_mut().for_each(units);
        for run in &mut self.runs {
            run.summary.warnings.iter_mut().for_each(units);
            run.summary.verdict.iter_mut().for_each(verdict);
        }
        for figure in &mut self.figures {
            units(&mut figure.caption);
        }
        self.comparisons.iter_mut().for_each(table);
        if let Some(variants) = &mut self.variants {
            table(&mut variants.table);
        }
        self
    }
}

fn verdict(verdict: &mut RunVerdict) {
    units(&mut verdict.headline);
    verdict.findings.iter_mut().for_each(units);
    for row in &mut verdict.rows {
        [&mut row.value, &mut row.wanted, &mut row.margin].into_iter().for_each(units);
    }
    let phases = verdict.phases.iter_mut().flat_map(|table| &mut table.rows);
    phases.flat_map(|row| row.values.iter_mut().chain(&mut row.without)).for_each(units);
}

fn table(table: &mut Comparison) {
    units(&mut table.note);
    for cell in table.rows.iter_mut().flatten() {
        if let Cell::Text(text) = cell {
            units(text);
        }
    }
}

fn units(sentence: &mut String) {
    if let Cow::Owned(written) = with_units(sentence) {
        *sentence = written;
    }
}

/// Units behind numbers.
const UNITS: [&str; 15] =
    ["%", "s", "ms", "us", "ns", "min", "B", "kB", "KB", "MB", "GB", "bit/s", "kbit/s", "Mbit/s", "Gbit/s"];

/// Returns a sentence with its units readable.
fn with_units(sentence: &str) -> Cow<'_, str> {
    let is_unit = |before: &str, after: &str| {
        let ends = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '/');
        before.ends_with(|digit: char| digit.is_ascii_digit())
            && UNITS.iter().any(|unit| after.strip_prefix(unit).is_some_and(ends))
    };
    let mut written = String::new();
    let mut rest = sentence;
    for (space, _) in sentence.match_indices(' ') {
        let (before, after) = (&sentence[..space], &sentence[space + 1..]);
        if is_unit(before, after) {
            written.push_str(&rest[..rest.len() - after.len() - 1]);
            written.push('\u{a0}');
            rest = after;
            if let Some(more) = after.strip_prefix("us") {
                written.push_str("µs");
                rest = more;
            }
        }
    }
    if written.is_empty() {
        return Cow::Borrowed(sentence);
    }
    Cow::Owned(written + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_unit_behind_a_number_stays_beside_it_and_has_its_sign() {
        for (ascii, wanted) in [
            ("Longest wait: 522 us (p99) of 5 users.", "Longest wait: 522\u{a0}µs (p99) of 5 users."),
            ("1 us, 2 us", "1\u{a0}µs, 2\u{a0}µs"),
            ("5 used, tell us, gap=5us", "5 used, tell us, gap=5us"),
            ("9.8 ± 0.1 Mbit/s, 3 % of 8 B/s", "9.8 ± 0.1\u{a0}Mbit/s, 3\u{a0}% of 8 B/s"),
            ("3 seeds, 2 ms2, 5 %.", "3 seeds, 2 ms2, 5\u{a0}%."),
            ("", ""),
        ] {
            assert_eq!(with_units(ascii), wanted);
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
        assert_eq!(data.comparisons[0].rows[0][0], Cell::Text("5\u{a0}µs".into()));
        assert_eq!(data.comparisons[0].note, "6\u{a0}µs");
    }
}
