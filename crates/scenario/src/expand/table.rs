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
//! be one (too few values, a rate that is not a number, a wrong address) is left out, with the reason.

mod circuits;
mod sites;

use std::net::IpAddr;

pub(crate) use sites::Sites;

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
    /// Reasons why rows were left out, the first of them, and their number.
    left_out: (Vec<String>, usize),
}

/// Limit on the reasons that are kept.
const MOST_REASONS: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    /// Line of the text at which it begins, from 1.
    line: usize,
    values: Vec<String>,
}

impl Rows {
    /// Reads a table from a CSV text (RFC 4180) within `memory` bytes. Lines that begin with `#`, as
    /// `LibreQoS` writes them, and empty lines are left out.
    ///
    /// # Errors
    /// If the first row names no columns, no other row can be read, or the rows take more memory: names the
    /// line.
    pub(crate) fn read(text: &str, memory: u64) -> Result<Self, String> {
        let mut records = Records { rest: text.trim_start_matches('\u{feff}'), line: 1, most: MOST_COLUMNS };
        let Some(head) = records.next() else { return Err("it is empty".to_owned()) };
        let columns = columns(&head)?;
        records.most = columns.len();
        let kinds: Vec<Column> =
            head.values.iter().zip(&columns).map(|(head, name)| Column::of(head, name)).collect();
        let (mut rows, mut left_out) = (Vec::new(), (Vec::new(), 0));
        let mut left = memory;
        for Record { line, mut values, mut count } in records {
            // A trailing empty column, such as an absent comment, may be left out.
            if count + 1 == columns.len() {
                values.push(String::new());
                count += 1;
            }
            // Values beyond the columns have no name: `LibreQoS` ships such rows.
            let broken = if count < columns.len() {
                let values = if count == 1 { "value" } else { "values" };
                Some(format!("it has {count} {values}, not {}", columns.len()))
            } else {
                circuits::complete(&kinds, &head.values, &mut values)
            };
            if let Some(why) = broken {
                left_out.1 += 1;
                if left_out.0.len() < MOST_REASONS {
                    let of = circuits::name(&columns, &values);
                    left_out.0.push(format!("line {line}{of}: {why}"));
                }
                continue;
            }
            let bytes = values.iter().map(|value| VALUE + value.len() as u64).sum();
            left = left.checked_sub(bytes).ok_or_else(|| {
                let mebibytes = memory >> 20;
                format!(
                    "its rows up to line {line} take more than the {mebibytes} MiB of memory that are allowed"
                )
            })?;
            rows.push(Row { line, values });
        }
        circuits::merge(&columns, &mut rows);
        match (rows.is_empty(), left_out.0.first()) {
            (true, Some(first)) => Err(first.clone()),
            (true, None) => Err("it has no row".to_owned()),
            (false, _) => Ok(Self { columns, all: rows, left_out }),
        }
    }

    /// Returns the first reasons why rows were left out, each with its line, and the number of those rows.
    pub(crate) fn left_out(&self) -> (&[String], usize) {
        (&self.left_out.0, self.left_out.1)
    }

    /// Returns the circuit of the row at index `row`, in words, if the table names circuits.
    pub(crate) fn circuit(&self, row: usize) -> String {
        circuits::name(&self.columns, &self.all[row % self.all.len()].values)
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
        let place = self.columns.iter().position(|known| known == column)?;
        Some(&self.all[row % self.all.len()].values[place])
    }

    /// Returns the line at which the row at index `row` begins.
    pub(crate) fn line(&self, row: usize) -> usize {
        self.all[row % self.all.len()].line
    }
}

/// Returns the names of the columns that the first row gives.
fn columns(head: &Record) -> Result<Vec<String>, String> {
    if head.count > MOST_COLUMNS {
        return Err(format!("it has {} columns, more than {MOST_COLUMNS}", head.count));
    }
    if let [only] = head.values.as_slice()
        && let Some(sign) = only.chars().find(|letter| [';', '\t', '|'].contains(letter))
    {
        return Err(format!("its columns are separated by `{}`, not by `,`", sign.escape_default()));
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

/// One row as written.
struct Record {
    /// Line at which it begins, from 1.
    line: usize,
    /// Its first values.
    values: Vec<String>,
    /// Number of all its values.
    count: usize,
}

/// Rows of a CSV text, without comments and empty rows. Keeps at most `most` values of each.
struct Records<'t> {
    rest: &'t str,
    line: usize,
    most: usize,
}

impl Records<'_> {
    /// Reads the row that begins the rest of the text.
    fn record(&mut self) -> Record {
        let mut record = Record { line: self.line, values: Vec::new(), count: 0 };
        let (mut value, mut quoted) = (String::new(), false);
        let mut letters = self.rest.char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((at, letter)) = letters.next() {
            self.line += usize::from(letter == '\n');
            match letter {
                '"' if quoted && letters.peek().is_some_and(|(_, next)| *next == '"') => {
                    value.extend(letters.next().map(|(_, quote)| quote));
                }
                '"' => quoted = !quoted,
                ',' if !quoted => record.add(&mut value, self.most),
                '\r' if !quoted => {}
                '\n' if !quoted => {
                    end = at + 1;
                    break;
                }
                other => value.push(other),
            }
        }
        record.add(&mut value, self.most);
        self.rest = &self.rest[end..];
        record
    }
}

impl Record {
    fn add(&mut self, value: &mut String, most: usize) {
        if self.count < most {
            self.values.push(value.trim().to_owned());
        }
        self.count += 1;
        value.clear();
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            // Empty lines, and the space before the first value.
            let rest = self.rest.trim_start();
            let skipped = &self.rest[..self.rest.len() - rest.len()];
            self.line += skipped.bytes().filter(|byte| *byte == b'\n').count();
            self.rest = rest;
            if rest.is_empty() {
                return None;
            }
            // A comment ends at the end of its line, whatever quotes it has.
            if rest.starts_with('#') {
                self.rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            let record = self.record();
            if record.count > self.most.max(1) || record.values.iter().any(|value| !value.is_empty()) {
                return Some(record);
            }
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
