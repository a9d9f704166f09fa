//! Results of every member of groups as a table in Parquet: of ten thousand subscribers, each.
//!
//! ```text
//! subject                    group   member   owd.p99   loss   sojourn.p99   ...
//! flow.call/909              call    909      0.0312    0.0
//! port.a:b.queue.plan/C12    plan    C12                       0.0041
//! ```
//!
//! A row for each flow and queue that is a member of a group; a column for each metric that one of them has,
//! by the end of its address and in its base unit. `summary.json` has only the worst members of large groups.

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

/// Writes the results of every member of groups; no rows if there are no groups.
///
/// # Errors
/// With the writer's error.
pub fn parquet<W: Write + Send>(summary: &Summary, writer: W) -> Result<W, ExportError> {
    parquet::table(&table(summary), &[("title".to_owned(), summary.title.clone())], writer)
}

fn table(summary: &Summary) -> Vec<(String, Column)> {
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

    #[test]
    fn members_have_rows_and_others_none() {
        let mut recording = example::run(1, 950);
        recording.flows[0].setup.name = "call/7".into();
        recording.flows[1].setup.name = "call/8".into();
        let summary = summarise(&[recording]);
        let table = table(&summary);
        let of = |name: &str| table.iter().find(|(known, _)| known == name).map(|(_, column)| column.clone());
        let text = |texts: [&str; 2]| Some(Column::Text(texts.map(|text| Some(text.to_owned())).to_vec()));
        assert_eq!(of("subject"), text(["flow.call/7", "flow.call/8"]));
        assert_eq!(of("member"), text(["7", "8"]));
        assert_eq!(of("loss"), Some(Column::Real(vec![Some(0.2), None])));
        assert_eq!(of("owd.max"), Some(Column::Real(vec![Some(0.31), None])));
        assert!(parquet(&summary, Vec::new()).expect("a file").starts_with(b"PAR1"));
        assert_eq!(member(&Subject::Flow("call/8".into())), Some(("call", "8")));
        for name in ["voice", "call/8/return", "ftp/control"] {
            assert_eq!(member(&Subject::Flow(name.into())), None, "{name}");
        }
    }
}
