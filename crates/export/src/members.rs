//! Results of every member of groups as a table in Parquet: of ten thousand subscribers, each.
//!
//! ```text
//! subject                    group   member   circuit_id   download_max   owd.p99   loss   sojourn.p99   ...
//! flow.call/909              call    909      C909         50mbit         0.0312    0.0
//! port.a:b.queue.plan/C12    plan    C12      C12          20mbit                          0.0041
//! ```
//!
//! A row for each flow and queue that is a member of a group; the columns of the table of subscribers that it
//! is for, if there is one; a column for each metric that one of them has, by the end of its address and in
//! its base unit. `summary.json` has only the worst members of large groups.

use std::io::Write;

use indexmap::IndexMap;

use lockgate_measure::metric::{Address, Subject};
use lockgate_measure::summary::Summary;

use crate::ExportError;
use crate::parquet::{self, Column};

/// Returns the group and the member of a subject, if it is the member of a group.
fn member(subject: &Subject) -> Option<(&str, &str)> {
    let (Subject::Flow(name) | Subject::Queue(_, name)) = subject else { return None };
    let (group, own) = name.split_once('/')?;
    // The way back of a connection is not a member, nor is its control connection.
    (!own.contains('/')).then_some((group, own)).filter(|(_, own)| !matches!(*own, "return" | "control"))
}

/// Returns the end of an address: metric and statistic.
fn column(address: &Address) -> String {
    let statistic = address.statistic.map_or_else(String::new, |statistic| format!(".{}", statistic.name()));
    format!("{}{statistic}", address.metric.name)
}

/// Columns of the table of subscribers, and the values of a member in them.
pub struct Origin<'o> {
    /// Names of the columns.
    pub columns: &'o [&'o str],
    /// Returns the values of a flow or queue; `None` if it is for no row of the table.
    pub values: &'o dyn Fn(&Subject) -> Option<Vec<&'o str>>,
}

/// Writes the results of every member of groups in Parquet; no rows if there are no groups.
///
/// # Errors
/// With the writer's error.
pub fn parquet<W: Write + Send>(summary: &Summary, origin: &Origin<'_>, writer: W) -> Result<W, ExportError> {
    parquet::table(&table(summary, origin), &[("title".to_owned(), summary.title.clone())], writer)
}

/// First columns of a table, which are those of its head.
pub const HEAD: &str = "subject,group,member";

/// Returns the same as CSV (RFC 4180), with empty cells for values that were not observed.
pub fn csv(summary: &Summary, origin: &Origin<'_>) -> String {
    let table = table(summary, origin);
    let mut lines = vec![table.iter().map(|(name, _)| cell(name)).collect::<Vec<_>>().join(",")];
    let rows = table.first().map_or(0, |(_, column)| column.len());
    for row in 0..rows {
        let cells = table.iter().map(|(_, column)| match column {
            Column::Text(list) => list[row].as_deref().map_or_else(String::new, cell),
            Column::Real(list) => list[row].map_or_else(String::new, |value| value.to_string()),
            Column::Integer(list) => list[row].map_or_else(String::new, |value| value.to_string()),
        });
        lines.push(cells.collect::<Vec<_>>().join(","));
    }
    lines.join("\n") + "\n"
}

fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn table(summary: &Summary, origin: &Origin<'_>) -> Vec<(String, Column)> {
    let mut origins: Vec<Vec<Option<String>>> = vec![Vec::new(); origin.columns.len()];
    let mut names: [Vec<Option<String>>; 3] = Default::default();
    let mut columns: IndexMap<String, Vec<Option<f64>>> = IndexMap::new();
    let mut last: Option<Subject> = None;
    let mut rows = 0;
    for address in summary.addresses(|subject| member(subject).is_some()) {
        let Some(value) = summary.value(&address) else { continue };
        let (column, whole) = (column(&address), address.to_string());
        if last.as_ref() != Some(&address.subject) {
            let Some((group, own)) = member(&address.subject) else { continue };
            let subject = whole.strip_suffix(&column).unwrap_or(&whole).trim_end_matches('.');
            for (list, name) in names.iter_mut().zip([subject, group, own]) {
                list.push(Some(name.to_owned()));
            }
            let values = (origin.values)(&address.subject);
            for (index, list) in origins.iter_mut().enumerate() {
                list.push(
                    values.as_ref().and_then(|values| values.get(index)).map(|value| (*value).to_owned()),
                );
            }
            rows += 1;
            last = Some(address.subject);
        }
        let values = columns.entry(column).or_default();
        values.resize(rows - 1, None);
        values.push(Some(value));
    }
    let texts = ["subject", "group", "member"].into_iter().zip(names);
    let mut table: Vec<(String, Column)> =
        texts.map(|(name, list)| (name.to_owned(), Column::Text(list))).collect();
    let is_known = |name: &str| ["subject", "group", "member"].contains(&name) || columns.contains_key(name);
    for (name, list) in origin.columns.iter().zip(origins) {
        // A column of the table that is called as one of the results is another one.
        let name = if is_known(name) { format!("table.{name}") } else { (*name).to_owned() };
        table.push((name, Column::Text(list)));
    }
    for (name, mut values) in columns {
        values.resize(rows, None);
        table.push((name, Column::Real(values)));
    }
    table
}

#[cfg(test)]
mod tests {
    use lockgate_measure::{example, summarise};

    use super::*;

    const NO_TABLE: Origin<'static> = Origin { columns: &[], values: &|_| None };

    #[test]
    fn members_have_rows_and_others_none() {
        let mut recording = example::run(1, 950);
        recording.flows[0].setup.name = "call/7".into();
        recording.flows[1].setup.name = "call/8".into();
        let summary = summarise(&[recording]);
        let values = |subject: &Subject| {
            matches!(subject, Subject::Flow(name) if name == "call/7").then(|| vec!["a,b", "2"])
        };
        let origin = Origin { columns: &["plan", "loss"], values: &values };
        let csv = csv(&summary, &origin);
        let mut lines = csv.lines();
        assert!(lines.next().is_some_and(|head| head.starts_with("subject,group,member,plan,table.loss,")));
        assert!(lines.next().is_some_and(|row| row.starts_with("flow.call/7,call,7,\"a,b\",2,")), "{csv}");
        assert!(lines.next().is_some_and(|row| row.starts_with("flow.call/8,call,8,,,")), "{csv}");
        let table = table(&summary, &NO_TABLE);
        let of = |name: &str| table.iter().find(|(known, _)| known == name).map(|(_, column)| column.clone());
        let text = |texts: [&str; 2]| Some(Column::Text(texts.map(|text| Some(text.to_owned())).to_vec()));
        assert_eq!(of("subject"), text(["flow.call/7", "flow.call/8"]));
        assert_eq!(of("member"), text(["7", "8"]));
        assert_eq!(of("loss"), Some(Column::Real(vec![Some(0.2), None])));
        assert_eq!(of("owd.max"), Some(Column::Real(vec![Some(0.31), None])));
        assert!(parquet(&summary, &NO_TABLE, Vec::new()).expect("a file").starts_with(b"PAR1"));
        assert_eq!(member(&Subject::Flow("call/8".into())), Some(("call", "8")));
        for name in ["voice", "call/8/return", "ftp/control"] {
            assert_eq!(member(&Subject::Flow(name.into())), None, "{name}");
        }
    }
}
