//! Findings as tables of text: for the terminal, the report and the reference page.

use core::fmt::Write as _;

use lockgate_measure::report::{Cell, Comparison};

use crate::document::{Conformance, Row};
use crate::finding::Finding;

/// Headings of the tables.
pub const COLUMNS: [&str; 8] =
    ["kind", "measured", "bound", "tolerance", "worst", "ratio", "trials", "verdict"];

/// Returns one table row for each finding of an oracle on a kind.
pub fn cells(row: &Row) -> Vec<[String; 8]> {
    let cells = |finding: &Finding| {
        [
            row.kind.to_owned(),
            finding.what.to_owned(),
            limit(finding.bound, finding.unit),
            limit(finding.tolerance, finding.unit),
            quantity(finding.worst, finding.unit),
            ratio(finding),
            finding.trials.to_string(),
            finding_verdict(finding).to_owned(),
        ]
    };
    row.findings.iter().map(cells).collect()
}

fn limit(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "-".to_owned(), |value| quantity(value, unit))
}

/// Returns the ratio and, for a bound, the smallest ratio that tests it.
fn ratio(finding: &Finding) -> String {
    match (finding.ratio, finding.sharp_from) {
        (Some(ratio), Some(least)) => format!("{ratio:.3} (from {least})"),
        (Some(ratio), None) => format!("{ratio:.3}"),
        (None, Some(least)) => format!("- (from {least})"),
        (None, None) => "exact".to_owned(),
    }
}

/// Returns the verdict, with a sign that does not depend on colour.
pub fn finding_verdict(finding: &Finding) -> &'static str {
    match finding.why {
        Some(_) => "✗ does not hold",
        None if finding.is_tried() => "✓ holds",
        None => "✓ holds, hardly tried",
    }
}

/// Returns a value with up to four significant digits and the unit.
pub fn quantity(value: f64, unit: &str) -> String {
    let text = match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 1e-3 => format!("{value:.1e}"),
        size if size < 1.0 => format!("{value:.4}"),
        size if size < 10.0 => format!("{value:.3}"),
        size if size < 100.0 => format!("{value:.2}"),
        size if size < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    format!("{text} {unit}").trim_end().to_owned()
}

/// Returns the number of findings that hold, in a sentence.
pub fn sentence(document: &Conformance) -> String {
    let findings = document.rows.iter().flat_map(|row| &row.findings);
    let (all, held) =
        findings.fold((0, 0), |(all, held), finding| (all + 1, held + u32::from(finding.holds)));
    let oracles = document.by_oracle().count();
    let sign = if document.holds { "✓" } else { "✗" };
    format!("{sign} {held} of {all} findings of {oracles} oracles hold (seed {})", document.seed)
}

/// Returns the findings that do not hold: what they are on, and why.
pub fn failures(document: &Conformance) -> impl Iterator<Item = (String, &str)> {
    let all = document.rows.iter().flat_map(|row| row.findings.iter().map(move |finding| (row, finding)));
    all.filter(|(_, finding)| !finding.holds).map(|(row, finding)| {
        let subject = format!("{} {} on {}", row.family, row.oracle, row.kind);
        (subject, finding.why.as_deref().unwrap_or_default())
    })
}

/// Returns the verdict: the sentence, each finding that does not hold, and the kinds without an oracle.
pub fn verdict(document: &Conformance) -> Vec<String> {
    let mut verdict = vec![sentence(document)];
    verdict.extend(failures(document).map(|(subject, why)| format!("{subject} does not hold: {why}")));
    if !document.without_oracle.is_empty() {
        verdict.push(format!("without an oracle: {}", document.without_oracle.join(", ")));
    }
    verdict
}

/// Returns a table for each oracle.
pub fn tables(document: &Conformance) -> Vec<Comparison> {
    let table = |rows: &[Row]| {
        let first = rows.first()?;
        Some(Comparison {
            title: format!("{} {}", first.family, first.oracle),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows: rows.iter().flat_map(cells).map(|cells| cells.map(Cell::Text).to_vec()).collect(),
            addresses: Vec::new(),
            note: format!("{} ({})", first.theorem, first.source),
        })
    };
    document.by_oracle().filter_map(table).collect()
}

/// Returns the reference page's section on one oracle, from its rows on every kind. A quantity with one limit
/// is an entry, in which kinds with the same value stand together.
pub fn section(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut section = format!("## {} {}\n\n{}.\n\n", first.family, first.oracle, capital(first.theorem));
    let _ = writeln!(section, "Source: {}.\n", first.source);
    let mut entries = Vec::new();
    for row in rows {
        for finding in &row.findings {
            let values = grouped(&mut entries, format!("{}, {}", finding.what, limits(finding)));
            grouped(values, value(finding)).push(row.kind);
        }
    }
    for (name, values) in entries {
        let values: Vec<String> =
            values.iter().map(|(value, kinds)| format!("`{}` {value}", kinds.join("`, `"))).collect();
        let _ = writeln!(section, "- {name}: {}", values.join("; "));
    }
    section
}

/// Returns the list of the group called `name`, at its end if it is new.
fn grouped<T>(groups: &mut Vec<(String, Vec<T>)>, name: String) -> &mut Vec<T> {
    let index = groups.iter().position(|(known, _)| *known == name).unwrap_or(groups.len());
    if index == groups.len() {
        groups.push((name, Vec::new()));
    }
    &mut groups[index].1
}

/// Returns the limit of a finding in words.
fn limits(finding: &Finding) -> String {
    match (finding.bound, finding.tolerance) {
        (Some(bound), _) => format!("bound {}", quantity(bound, finding.unit)),
        (None, Some(tolerance)) => format!("tolerance {}", quantity(tolerance, finding.unit)),
        (None, None) => "exact".to_owned(),
    }
}

/// Returns the ratio of the worst value to its limit, or the worst value of an exact finding, and the verdict
/// unless it simply holds.
fn value(finding: &Finding) -> String {
    let worst = || quantity(finding.worst, finding.unit);
    let value = finding.ratio.map_or_else(worst, |ratio| format!("{ratio:.3}"));
    match finding_verdict(finding) {
        "✓ holds" => value,
        verdict => format!("{value} **{verdict}**"),
    }
}

/// Returns the whole reference page.
pub fn reference(document: &Conformance) -> String {
    let mut page = format!(
        "# Conformance\n\nEvery discipline held against its theorems by `lockgate conform` (seed {}): \
         for each kind the worst that random traffic made of it, as its ratio to the limit, where it came \
         nearest. A *bound* is proven: a ratio of 1 reaches it. A *tolerance* is chosen, for statistics, \
         rounding and models that leave something out: the smaller the ratio, the better. *Exact* allows no \
         difference. What does not hold says so. `lockgate conform --json` has the values, the ratio from \
         which a bound counts as tried, and the number of trials.\n\n{}.\n",
        document.seed,
        sentence(document)
    );
    for rows in document.by_oracle() {
        let _ = write!(page, "\n{}", section(rows));
    }
    if !document.without_oracle.is_empty() {
        let _ = write!(page, "\n## Without an oracle\n\n{}.\n", document.without_oracle.join(", "));
    }
    page
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
