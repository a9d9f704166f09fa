//! Reads a table of subscribers: a CSV file with a row for each, such as the `ShapedDevices.csv` of
//! `LibreQoS`.
//!
//! ```text
//! Circuit ID,Circuit Name,...,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment
//! 1,"Smith, J.",...,10,5,100,20,
//! $circuit_id $circuit_name ... $download_min = 10mbit  $upload_min = 5mbit  $download_max = 100mbit ...
//! ```
//!
//! Columns are named by the first row: lower case, `_` for anything else. A column in Mbps loses that part
//! of its name, and its values get the unit; so do the four rates of `LibreQoS` without it.
//!
//! Rows of one circuit, one for each of its devices, are one subscriber with all addresses. A row that cannot
//! be one (too few values, a rate that is not a number, a wrong address) is left out, with the reason. What a
//! row has that an earlier row contradicts (another rate of the circuit, an address of another circuit) is
//! named too. So each row is used, or named.
//!
//! A prefix may contain addresses of other rows, as in the routes of a router: the longest decides, whatever
//! the order of rows and sites, and the row with the wide one is named.

mod circuits;
mod records;
mod sites;

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

pub(crate) use circuits::PARENT;
pub(crate) use sites::Sites;

use circuits::Circuits;
use records::{Record, Records};

use crate::syntax::is_conflict_marker;
use crate::table_reader::shorten;

/// Limit on the columns of a table.
const MOST_COLUMNS: usize = 4096;

/// Bytes of memory that a value takes, besides its text.
const VALUE: u64 = 48;

/// Rows of a table, each with a text for every column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    columns: Vec<String>,
    all: Vec<Row>,
    /// Rows that were left out.
    left_out: Remarks,
    /// Rows of which a value is not used.
    altered: Remarks,
    /// Prefixes that contain addresses of other rows.
    wide: BTreeSet<IpNet>,
}

/// Reasons why rows are not used as they are written: the first of them, and the number of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remarks {
    pub(crate) reasons: Vec<String>,
    pub(crate) count: usize,
}

impl Remarks {
    /// Limit on the reasons that are kept.
    const MOST_REASONS: usize = 8;

    /// Adds a row at `line`, with its circuit in words.
    fn add(&mut self, line: usize, of: &str, why: impl FnOnce() -> String) {
        self.count += 1;
        if self.reasons.len() < Self::MOST_REASONS {
            self.reasons.push(format!("line {line}{of}: {}", why()));
        }
    }

    /// Adds the rows of `others` after its own.
    fn extend(&mut self, others: Self) {
        self.count += others.count;
        self.reasons.extend(others.reasons);
        self.reasons.truncate(Self::MOST_REASONS);
    }

    /// Returns the reasons in one line.
    pub(crate) fn joined(&self) -> String {
        let more = if self.count > self.reasons.len() { "; …" } else { "" };
        self.reasons.join("; ") + more
    }
}

/// Returns true for the line `sep=,` that gives the separator to Excel.
fn is_separator(record: &Record) -> bool {
    let mut values = record.values.iter();
    let first = values.next().map(|value| value.to_ascii_lowercase());
    first.is_some_and(|first| first == "sep=" || first == "sep=,") && values.all(String::is_empty)
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    /// Line of the text at which it begins, from 1.
    line: usize,
    values: Vec<String>,
}

impl Rows {
    /// Reads a table from a CSV text within `memory` bytes.
    ///
    /// # Errors
    /// If the first row names no columns, no other row can be read, or the rows take more memory: names the
    /// line.
    pub(crate) fn read(text: &str, memory: u64) -> Result<Self, String> {
        let mut records = Records::new(text, MOST_COLUMNS);
        let head = records.find(|record| !is_separator(record));
        let Some(head) = head else { return Err("it is empty".to_owned()) };
        let columns = columns(&head)?;
        records.most = columns.len();
        let mut circuits = Circuits::new(&columns, &head.values);
        let mut left = memory;
        for mut record in records {
            if record.values.first().is_some_and(|value| is_conflict_marker(value)) {
                return Err(format!("line {}: a merge conflict is left in it", record.line));
            }
            if let Some(why) = circuits.refusal(&mut record) {
                circuits.left_out.add(record.line, &circuits::name(&columns, &record.values), || why);
                continue;
            }
            let Record { line, last, values, .. } = record;
            let bytes = values.iter().map(|value| VALUE + value.len() as u64).sum();
            left = left.checked_sub(bytes).ok_or_else(|| {
                let mebibytes = memory >> 20;
                format!(
                    "its rows up to line {line} take more than the {mebibytes} MiB of memory that are allowed"
                )
            })?;
            circuits.add(Row { line, values }, last);
        }
        let wide = circuits.wide();
        let Circuits { rows, left_out, altered, .. } = circuits;
        match (rows.is_empty(), left_out.reasons.first()) {
            (true, Some(first)) => Err(first.clone()),
            (true, None) => Err("it has no row".to_owned()),
            (false, _) => Ok(Self { columns, all: rows, left_out, altered, wide }),
        }
    }

    /// Returns the rows that were left out.
    pub(crate) fn left_out(&self) -> &Remarks {
        &self.left_out
    }

    /// Returns the rows that are used, but not as they are written.
    pub(crate) fn altered(&self) -> &Remarks {
        &self.altered
    }

    /// Returns the preference of the rule of an address or prefix: the longest first of those that contain
    /// each other, as in a table of routes; `None` if it contains no other row's.
    pub(crate) fn preference(&self, address: &str) -> Option<u8> {
        let prefix = circuits::prefix(address).filter(|prefix| self.wide.contains(prefix))?;
        Some(prefix.max_prefix_len() - prefix.prefix_len())
    }

    /// Returns the row at index `row`, of those beyond the last from the first again; `None` without rows.
    fn row(&self, row: usize) -> Option<&Row> {
        self.all.get(row.checked_rem(self.all.len())?)
    }

    /// Returns the circuit of the row at index `row`, in words, if the table names circuits.
    pub(crate) fn circuit(&self, row: usize) -> String {
        self.row(row).map_or_else(String::new, |row| circuits::name(&self.columns, &row.values))
    }

    /// Leaves out the rows without a value in a column, after which members are named; all stay if none has
    /// one.
    pub(crate) fn leave_out_unnamed(&mut self, column: &str) {
        let Some(index) = self.columns.iter().position(|known| known == column) else { return };
        let has_name = |row: &Row| row.values.get(index).is_some_and(|value| !value.is_empty());
        if !self.all.iter().any(has_name) {
            return;
        }
        let (columns, left_out) = (&self.columns, &mut self.left_out);
        self.all.retain(|row| {
            let is_kept = has_name(row);
            if !is_kept {
                let why = || format!("its `{}` is empty, and gives its queue the name", shorten(column));
                left_out.add(row.line, &circuits::name(columns, &row.values), why);
            }
            is_kept
        });
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the names of the columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> + Clone {
        self.columns.iter().map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Returns the value of a column in the row at index `row`; rows beyond the last begin again.
    pub(crate) fn get(&self, row: usize, column: &str) -> Option<&str> {
        let index = self.columns.iter().position(|known| known == column)?;
        self.row(row)?.values.get(index).map(String::as_str)
    }

    /// Returns the line at which the row at index `row` begins; 0 without rows.
    pub(crate) fn line(&self, row: usize) -> usize {
        self.row(row).map_or(0, |row| row.line)
    }
}

/// Signs that begin a text of another format.
const FORMATS: [(char, &str); 3] = [('{', "JSON"), ('[', "JSON"), ('<', "HTML or XML")];

/// Returns the names of the columns that the first row gives.
fn columns(head: &Record) -> Result<Vec<String>, String> {
    if head.is_broken || head.last > head.line {
        return Err(format!("line {}: {}", head.line, circuits::BROKEN));
    }
    if head.count > MOST_COLUMNS {
        return Err(format!("it has {} columns, more than {MOST_COLUMNS}", head.count));
    }
    if let [only] = head.values.as_slice()
        && let Some(sign) = only.chars().find(|letter| [';', '\t', '|'].contains(letter))
    {
        return Err(format!("its columns are separated by `{}`, not by `,`", sign.escape_default()));
    }
    let starts = |sign: char| head.values.first().is_some_and(|name| name.starts_with(sign));
    if let Some((_, format)) = FORMATS.iter().find(|(sign, _)| starts(*sign)) {
        return Err(format!("it looks like {format}, not like CSV"));
    }
    let is_value = |name: &&String| name.parse::<f64>().is_ok() || name.parse::<IpAddr>().is_ok();
    if let Some(value) = head.values.iter().find(is_value) {
        let (line, value) = (head.line, shorten(value));
        return Err(format!("line {line} has the value `{value}` in place of the name of a column"));
    }
    let names: Vec<String> = head.values.iter().map(|name| column(name)).collect();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        if let Some(first) = names[..index].iter().position(|earlier| earlier == name) {
            let (first, second) = (first + 1, index + 1);
            return Err(format!("its columns {first} and {second} are both called `{}`", shorten(name)));
        }
    }
    Ok(names)
}

/// Returns the name of a column in a scenario: `download_min` for `Download Min Mbps`.
fn column(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let lower = lower.strip_suffix("mbps").unwrap_or(&lower).trim_end();
    lower.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Text,
    /// Rates in Mbit/s.
    Mbps,
    /// Addresses or prefixes, with commas between them.
    Addresses,
}

impl Column {
    /// The rates of `LibreQoS`, whose headings once had no unit.
    const RATES: [&'static str; 4] = ["download_min", "upload_min", "download_max", "upload_max"];

    fn of(head: &str, name: &str) -> Self {
        if head.to_lowercase().ends_with("mbps") || Self::RATES.contains(&name) {
            Self::Mbps
        } else if ["ipv4", "ipv6"].contains(&name) {
            Self::Addresses
        } else {
            Self::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_libreqos_are_read() {
        let text = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
                    Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\r\n# by hand\r\n\
                    7,\"Smith, \"\"J.\"\"\",d7,d7,AP_1,,10.1.0.7,,10,5,100.5,20,\r\n";
        let rows = Rows::read(text, 1 << 20).expect("a table");
        assert_eq!(rows.len(), 1);
        for (column, value) in [
            ("circuit_name", "Smith, \"J.\""),
            ("ipv4", "10.1.0.7"),
            ("download_min", "10mbit"),
            ("download_max", "100.5mbit"),
            ("comment", ""),
        ] {
            assert_eq!(rows.get(0, column), Some(value), "{column}");
        }
        assert_eq!(rows.get(0, "download"), None);
    }

    #[test]
    fn wrong_tables_are_refused_by_line_or_column() {
        let why = |text: &str| Rows::read(text, 1 << 20).expect_err(text);
        for (text, expected) in [
            ("a,b,c\n\n1\n", "line 3: it has 1 value, not 3"),
            ("a,b,Rate Mbps\n1,2,fast\n", "line 2: its `Rate Mbps`, `fast`, is not a number of Mbit/s"),
            ("a,b\n", "it has no row"),
            ("", "it is empty"),
            ("1,Smith,10.1.0.7\n", "line 1 has the value `1` in place of the name of a column"),
            ("Name,10.1.0.7\n", "line 1 has the value `10.1.0.7` in place of the name of a column"),
            ("a;b;c\n1;2;3\n", "its columns are separated by `;`, not by `,`"),
            ("a,Rate Mbps,rate\n1,2,3\n", "its columns 2 and 3 are both called `rate`"),
        ] {
            assert_eq!(why(text), expected);
        }
    }

    #[test]
    fn a_comment_is_a_line_and_a_quoted_value_is_none() {
        let rows = Rows::read("name,rate\n# it's \"open, see\n\"#1\",5mbit\n  # 2\n2,6mbit\n", 1 << 20)
            .expect("rows");
        assert_eq!((rows.len(), rows.get(0, "name"), rows.get(1, "name")), (2, Some("#1"), Some("2")));
        assert_eq!((rows.line(0), rows.line(1), rows.line(2)), (3, 5, 3));
    }

    /// Empty rows and superfluous columns take no memory, and rows no more than is allowed.
    #[test]
    fn memory_is_bounded_while_a_table_is_read() {
        let mut text = "a,b\n1,2\n".to_owned();
        text.push_str(&"\n".repeat(1 << 20));
        let rows = Rows::read(&text, 1 << 10).expect("one row");
        assert_eq!((rows.len(), rows.all.capacity()), (1, 4));
        text.push_str(&",".repeat(1 << 20));
        let wide = Rows::read(&text, 1 << 10).expect("two rows");
        assert_eq!((wide.len(), wide.get(1, "b")), (2, Some("")), "values without a column are not kept");
        assert!(Rows::read(&",".repeat(1 << 20), 1 << 10).expect_err("wide").contains("1048577 columns"));
        let many = format!("a,b\n{}", "1,2\n".repeat(100));
        let why = Rows::read(&many, 2 << 10).expect_err("too many rows");
        assert_eq!(why, "its rows up to line 22 take more than the 0 MiB of memory that are allowed");
    }
}
