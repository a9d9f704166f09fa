//! Table of a line over time: capacity, delay and loss, a row for each time at which they change.
//!
//! ```text
//! time,rate,delay,loss          time_s rate_mbps delay_ms loss_percent
//! 0s,12mbit,35ms,0              0 12 35 0
//! 100ms,9mbit,48ms,0.5%         0.1 9 48 0.5
//! ```
//!
//! The first line names the columns, of which `time` and one more are needed. A column whose name ends in a
//! unit has bare numbers; else each value has its unit, as everywhere. A row holds until the next one, the
//! last as long as the one before it; then the table begins again. Times count from the first.

use core::str::FromStr;

use lockgate_engine::units::{Duration, Instant, Probability, Rate};

use crate::trace::{LinkTrace, RateSteps, TraceError};

/// Limit on the rows of a table.
const MOST_ROWS: usize = 10_000_000;

/// Period of a table of one row, whose values always hold.
const ONE_ROW: Duration = Duration::from_secs(1);

/// Delay and loss of a line over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTrace {
    /// Start of each step, ascending from zero.
    steps: Vec<(Duration, Path)>,
    period: Duration,
}

/// Delay and loss of a line at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Delay, besides that of the link.
    pub delay: Duration,
    /// Probability that a packet is lost.
    pub loss: Probability,
}

impl PathTrace {
    /// Returns delay and loss at a time.
    pub fn at(&self, now: Instant) -> Path {
        let within = now.as_picos() % self.period.as_picos().max(1);
        let step = self.steps.partition_point(|(from, _)| from.as_picos() <= within).saturating_sub(1);
        self.steps.get(step).map_or_else(Path::default, |(_, path)| *path)
    }
}

/// A recorded line: what its file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineTable {
    /// Capacity; `None` if the file has none, and the link has a rate.
    pub capacity: Option<LinkTrace>,
    /// Delay and loss; `None` if the file has neither.
    pub path: Option<PathTrace>,
}

/// Quantity of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Time,
    Rate,
    Delay,
    Loss,
}

/// Column of a table: its quantity, and the factor of its bare numbers to seconds, bits per second or one;
/// `None` if its values have units.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Column {
    quantity: Quantity,
    factor: Option<f64>,
}

/// Names of columns.
const COLUMNS: [(&str, Quantity, Option<f64>); 17] = [
    ("time", Quantity::Time, None),
    ("time_s", Quantity::Time, Some(1.0)),
    ("time_ms", Quantity::Time, Some(1e-3)),
    ("time_us", Quantity::Time, Some(1e-6)),
    ("rate", Quantity::Rate, None),
    ("rate_bps", Quantity::Rate, Some(1.0)),
    ("rate_kbps", Quantity::Rate, Some(1e3)),
    ("rate_mbps", Quantity::Rate, Some(1e6)),
    ("rate_gbps", Quantity::Rate, Some(1e9)),
    ("delay", Quantity::Delay, None),
    ("delay_s", Quantity::Delay, Some(1.0)),
    ("delay_ms", Quantity::Delay, Some(1e-3)),
    ("delay_us", Quantity::Delay, Some(1e-6)),
    ("loss", Quantity::Loss, None),
    ("loss_ratio", Quantity::Loss, Some(1.0)),
    ("loss_percent", Quantity::Loss, Some(1e-2)),
    ("loss_pct", Quantity::Loss, Some(1e-2)),
];

/// Row of a table, its time in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    time: Time,
    rate: Rate,
    path: Path,
}

/// Time of a row: exact, or a bare number of seconds, which may be a date.
#[derive(Clone, Copy, Debug)]
enum Time {
    Exact(Duration),
    Seconds(f64),
}

impl Default for Time {
    fn default() -> Self {
        Self::Exact(Duration::ZERO)
    }
}

impl Time {
    /// Returns the time since `first`; `None` if it is earlier, or later than can be said.
    fn since(self, first: Self) -> Option<Duration> {
        match (self, first) {
            (Self::Exact(at), Self::Exact(first)) => {
                at.as_picos().checked_sub(first.as_picos()).map(Duration::from_picos)
            }
            (Self::Seconds(at), Self::Seconds(first)) => seconds(at - first),
            _ => None,
        }
    }
}

/// Returns a length of time; `None` if it is negative or too long.
fn seconds(number: f64) -> Option<Duration> {
    (0.0..=1.0e7).contains(&number).then(|| Duration::from_picos(libm::round(number * 1e12) as u64))
}

impl LineTable {
    /// Reads a recorded line: delivery opportunities, or a table.
    ///
    /// # Errors
    /// Returns the first wrong line, and how to make a table without names one with names. Never panics.
    pub fn read(bytes: &[u8]) -> Result<Self, TraceError> {
        let first = bytes
            .split(|byte| *byte == b'\n')
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim_ascii()))
            .find(|(_, line)| !line.is_empty());
        let text = first.and_then(|(number, line)| Some((number, core::str::from_utf8(line).ok()?)));
        let Some((number, text)) = text else {
            return LinkTrace::read(bytes).map(|trace| Self { capacity: Some(trace), path: None });
        };
        let cells = cells(text);
        if text.starts_with("time") {
            return read_table(bytes, number, &columns(number, &cells)?);
        }
        if cells.len() > 1 && cells.iter().all(|cell| cell.parse::<f64>().is_ok()) {
            return Err(TraceError::Unnamed { line: number, text: text.chars().take(24).collect() });
        }
        LinkTrace::read(bytes).map(|trace| Self { capacity: Some(trace), path: None })
    }
}

/// Returns the cells of a line, between commas or else between spaces.
fn cells(line: &str) -> Vec<&str> {
    if line.contains(',') {
        line.split(',').map(str::trim).collect()
    } else {
        line.split_ascii_whitespace().collect()
    }
}

fn fault(line: usize, why: String) -> TraceError {
    TraceError::Table { line, why }
}

/// Reads the names of the columns.
fn columns(line: usize, names: &[&str]) -> Result<Vec<Column>, TraceError> {
    let mut columns: Vec<Column> = Vec::new();
    for name in names {
        let Some((_, quantity, factor)) = COLUMNS.iter().find(|(known, ..)| known == name) else {
            let known: Vec<&str> = COLUMNS.iter().map(|(known, ..)| *known).collect();
            let why = format!(
                "`{}` is not a column of a line: {}",
                crate::table_reader::shorten(name),
                known.join(", ")
            );
            return Err(fault(line, why));
        };
        if columns.iter().any(|column| column.quantity == *quantity) {
            return Err(fault(line, format!("`{name}` is there a second time: one column each")));
        }
        columns.push(Column { quantity: *quantity, factor: *factor });
    }
    if columns.len() < 2 || columns[0].quantity != Quantity::Time {
        let why = "a table of a line has `time` first, and `rate`, `delay` or `loss` behind it".to_owned();
        return Err(fault(line, why));
    }
    Ok(columns)
}

/// Reads the rows below the names of the columns, which stand in line `names`.
fn read_table(bytes: &[u8], names: usize, columns: &[Column]) -> Result<LineTable, TraceError> {
    let has = |quantity| columns.iter().any(|column| column.quantity == quantity);
    let (mut rates, mut steps) = (Vec::new(), Vec::new());
    let (mut first, mut last, mut before) = (None, None, Duration::ZERO);
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate().skip(names) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let number = index + 1;
        let text = core::str::from_utf8(line).map_err(|_| fault(number, "it is not text".to_owned()))?;
        let row = row(number, text, columns)?;
        let start = *first.get_or_insert(row.time);
        let at = row.time.since(start).filter(|at| last.is_none_or(|last| *at > last));
        let Some(at) = at else {
            let why = "its time is not after that of the line above: times rise, within 115 days".to_owned();
            return Err(fault(number, why));
        };
        if rates.len() == MOST_ROWS {
            return Err(TraceError::TooLong);
        }
        before = last.replace(at).unwrap_or(before);
        rates.push((at, row.rate));
        steps.push((at, row.path));
    }
    let Some(last) = last else {
        return Err(fault(names, "the table has no row below the names of its columns".to_owned()));
    };
    let period = if last.is_zero() {
        ONE_ROW
    } else {
        last + Duration::from_picos(last.as_picos() - before.as_picos())
    };
    let capacity = if has(Quantity::Rate) {
        let nothing = || fault(names, "its rate is zero all the time: the line carries nothing".to_owned());
        Some(LinkTrace::from_rates(RateSteps::new(&rates, period).ok_or_else(nothing)?))
    } else {
        None
    };
    let has_path = has(Quantity::Delay) || has(Quantity::Loss);
    Ok(LineTable { capacity, path: has_path.then_some(PathTrace { steps, period }) })
}

/// Reads a row.
fn row(line: usize, text: &str, columns: &[Column]) -> Result<Row, TraceError> {
    let cells = cells(text);
    if cells.len() != columns.len() {
        let why = format!("it has {} values, and the table has {} columns", cells.len(), columns.len());
        return Err(fault(line, why));
    }
    let mut row = Row::default();
    for (cell, column) in cells.into_iter().zip(columns) {
        let wrong = |why: String| fault(line, why);
        match (column.quantity, column.factor) {
            (Quantity::Time, None) => row.time = Time::Exact(parsed(cell).map_err(wrong)?),
            (Quantity::Rate, None) => row.rate = parsed(cell).map_err(wrong)?,
            (Quantity::Delay, None) => row.path.delay = parsed(cell).map_err(wrong)?,
            (Quantity::Loss, None) => {
                // A number without a unit is a part of one, as in a scenario.
                let part = cell.parse::<f64>().ok().and_then(Probability::from_f64);
                row.path.loss = part.map_or_else(|| parsed(cell), Ok).map_err(wrong)?;
            }
            (quantity, Some(factor)) => {
                let bare = cell.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
                let number = bare.map(|number| number * factor);
                let set = number.and_then(|number| row.set(quantity, number));
                set.ok_or_else(|| {
                    wrong(format!("`{}` is not a number in range", crate::table_reader::shorten(cell)))
                })?;
            }
        }
    }
    Ok(row)
}

fn parsed<T: FromStr>(cell: &str) -> Result<T, String>
where
    T::Err: core::fmt::Display,
{
    cell.parse().map_err(|why: T::Err| why.to_string())
}

impl Row {
    /// Sets a quantity in seconds, bits per second or one; `None` if it is out of range.
    fn set(&mut self, quantity: Quantity, number: f64) -> Option<()> {
        match quantity {
            Quantity::Time => self.time = Time::Seconds(number),
            Quantity::Rate => {
                self.rate = (number <= 1e15).then(|| Rate::from_bits(libm::round(number) as u64))?;
            }
            Quantity::Delay => self.path.delay = seconds(number)?,
            Quantity::Loss => self.path.loss = Probability::from_f64(number)?,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> LineTable {
        LineTable::read(text.as_bytes()).expect("a line")
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_table_has_capacity_delay_and_loss() {
        let line = read("time,rate,delay,loss\n0s,12mbit,35ms,0\n100ms,0bit,48ms,50%\n300ms,4mbit,20ms,0\n");
        let path = line.path.expect("delay and loss");
        assert_eq!(path.at(at(99)).delay, Duration::from_millis(35));
        assert_eq!(path.at(at(100)).delay, Duration::from_millis(48));
        assert_eq!(path.at(at(299)).loss, Probability::from_f64(0.5).expect("a probability"));
        assert_eq!(path.at(at(500)).delay, Duration::from_millis(35), "after 500 ms it begins again");
        assert_eq!(path.at(at(300)).delay, Duration::from_millis(20));
        let capacity = line.capacity.expect("a rate");
        assert_eq!(capacity.period(), Duration::from_millis(500));
        // 1.2 Mbit and 0.8 Mbit in half a second.
        assert_eq!(capacity.mean_rate(), Rate::from_bits(4_000_000));
    }

    #[test]
    fn bare_numbers_have_the_unit_of_their_column() {
        let line =
            read("time_s rate_mbps delay_ms loss_percent\n1700000000.5 12 35.5 0\n1700000001.5 6 40 1\n");
        let with_units = read("time,rate,delay,loss\n3s,12mbit,35.5ms,0\n4s,6mbit,40ms,1%\n");
        assert_eq!(line, with_units, "times count from the first");
        assert!(read("time_s,delay_ms\n0,3\n").capacity.is_none(), "the link keeps its rate");
        assert!(read("0\n5\n9\n").path.is_none(), "delivery opportunities");
    }

    #[test]
    fn what_is_no_table_is_refused_at_its_line_with_the_fix() {
        for (text, part) in [
            ("0.5 4.2\n1.0 3.9\n", "line 1: `0.5 4.2` is a row of a table without names: write a first line"),
            ("time_s,rate_mbps\n0,1\n0,2\n", "line 3: its time is not after"),
            ("time_s,rate_mbps\n0,1,7\n", "line 2: it has 3 values, and the table has 2 columns"),
            ("time_s,rate_mbps\n0,nan\n", "line 2: `nan` is not a number in range"),
            ("time_s,rate_mbps\n0,0\n", "carries nothing"),
            ("time_s,speed\n0,0\n", "line 1: `speed` is not a column of a line"),
            ("time,rate\n0,3mbit\n", "line 2: "),
            ("time,rate\n0s,3\n", "it needs a unit"),
            ("time,time_s\n", "a second time"),
            ("time_s\n0\n", "`time` first"),
            ("time_s,loss_percent\n0,101\n", "`101` is not a number in range"),
            ("time_s,rate_mbps\n", "no row"),
        ] {
            let why = LineTable::read(text.as_bytes()).expect_err(text).to_string();
            assert!(why.contains(part), "{text:?}: {why}");
        }
    }
}
