//! Reads a table of subscribers: a CSV file with a row for each, such as the `ShapedDevices.csv` of `LibreQoS`.
//!
//! ```text
//! Circuit ID,Circuit Name,...,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment
//! 1,"Smith, J.",...,10,5,100,20,
//! $circuit_id $circuit_name ... $download_min = 10mbit  $upload_min = 5mbit  $download_max = 100mbit ...
//! ```
//!
//! Columns are named by the first row: lower case, `_` for anything else. A column in Mbps loses that part
//! of its name, and its values get the unit.

/// Rows of a table, each with a text for every column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    /// Reads a table from a CSV text (RFC 4180). Lines that begin with `#`, as `LibreQoS` writes them, and
    /// empty lines are left out.
    ///
    /// # Errors
    /// If there is no row, or a row has more or fewer values than columns: names the line.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut records = records(text).into_iter();
        let Some((_, names)) = records.next() else { return Err("it is empty".to_owned()) };
        let in_mbps: Vec<bool> = names.iter().map(|name| name.to_lowercase().ends_with("mbps")).collect();
        let columns: Vec<String> = names.iter().map(|name| column(name)).collect();
        let mut rows = Vec::new();
        for (line, mut row) in records {
            // A trailing empty column, such as an absent comment, may be left out.
            if row.len() + 1 == columns.len() {
                row.push(String::new());
            }
            if row.len() != columns.len() {
                return Err(format!("line {line} has {} values, not {}", row.len(), columns.len()));
            }
            for (value, _) in row.iter_mut().zip(&in_mbps).filter(|(_, in_mbps)| **in_mbps) {
                value.push_str("mbit");
            }
            rows.push(row);
        }
        if rows.is_empty() { Err("it has no row".to_owned()) } else { Ok(Self { columns, rows }) }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the value of a column in the row at index `row`; rows beyond the last begin again.
    pub(crate) fn get(&self, row: usize, column: &str) -> Option<&str> {
        let place = self.columns.iter().position(|known| known == column)?;
        Some(&self.rows[row % self.rows.len()][place])
    }
}

/// Returns the name of a column in a scenario: `download_min` for `Download Min Mbps`.
fn column(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let lower = lower.strip_suffix("mbps").unwrap_or(&lower).trim_end();
    lower.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

/// Splits a CSV text into records, each with the line at which it begins.
fn records(text: &str) -> Vec<(usize, Vec<String>)> {
    let (mut records, mut record, mut value) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut first, mut quoted) = (1, 1, false);
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(letter) = letters.next() {
        line += usize::from(letter == '\n');
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => value.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(core::mem::take(&mut value).trim().to_owned()),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                record.push(core::mem::take(&mut value).trim().to_owned());
                records.push((first, core::mem::take(&mut record)));
                first = line;
            }
            other => value.push(other),
        }
    }
    if !value.is_empty() || !record.is_empty() {
        record.push(value.trim().to_owned());
        records.push((first, record));
    }
    let is_comment = |record: &[String]| record.first().is_some_and(|value| value.starts_with('#'));
    let is_empty = |record: &[String]| record.iter().all(String::is_empty);
    records.retain(|(_, record)| !is_empty(record) && !is_comment(record));
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_libreqos_are_read() {
        let text = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
                    Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\r\n# by hand\r\n\
                    7,\"Smith, \"\"J.\"\"\",d7,d7,AP_1,,10.1.0.7,,10,5,100.5,20,\r\n";
        let rows = Rows::read(text).expect("a table");
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
    fn a_row_of_another_length_is_named_by_its_line() {
        assert_eq!(Rows::read("a,b,c\n1,2,3\n\n1\n"), Err("line 4 has 1 values, not 3".to_owned()));
        assert!(Rows::read("a,b\n").is_err() && Rows::read("").is_err());
    }
}
