//! Records of a CSV text (RFC 4180), each with its line.
//!
//! ```text
//! 7,"Smith, ""J.""",12" pipe   ->  7 | Smith, "J." | 12" pipe
//! 8,"open,10.0.0.8             ->  broken: read again from the next line, so that it costs one row
//! ```
//!
//! Lines end with LF, CR LF or CR. Lines that begin with `#`, as `LibreQoS` writes them, and lines without
//! any value are left out.

/// One row as written.
pub(super) struct Record {
    /// Line at which it begins, from 1.
    pub(super) line: usize,
    /// Line at which it ends: another one if a value in quotes has several.
    pub(super) last: usize,
    /// Its first values.
    pub(super) values: Vec<String>,
    /// Number of all its values.
    pub(super) count: usize,
    /// True if a quote does not close, or a value goes on behind it.
    pub(super) is_broken: bool,
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

/// Rows of a CSV text. Keeps at most `most` values of each.
pub(super) struct Records<'t> {
    rest: &'t str,
    line: usize,
    pub(super) most: usize,
}

/// Place within a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// Behind the closing quote.
    Closed,
}

impl<'t> Records<'t> {
    pub(super) fn new(text: &'t str, most: usize) -> Self {
        Self { rest: text.trim_start_matches('\u{feff}'), line: 1, most }
    }

    /// Reads the row that begins the rest of the text.
    fn record(&mut self) -> Record {
        let mut record =
            Record { line: self.line, last: self.line, values: Vec::new(), count: 0, is_broken: false };
        let (mut value, mut state) = (String::new(), State::Start);
        let mut letters = self.rest.char_indices().peekable();
        // Ends of the row, and of its first line.
        let (mut end, mut first_line) = (None, None);
        while let Some((at, letter)) = letters.next() {
            let next = letters.peek().map(|(_, next)| *next);
            let is_end = letter == '\n' || (letter == '\r' && next != Some('\n'));
            if is_end {
                first_line.get_or_insert(at + 1);
                record.last += usize::from(state == State::Quoted);
            }
            match (state, letter) {
                (State::Quoted, '"') if next == Some('"') => {
                    letters.next();
                    value.push('"');
                }
                (State::Quoted, '"') => state = State::Closed,
                (State::Quoted, _) => value.push(letter),
                (_, ',') => {
                    record.add(&mut value, self.most);
                    state = State::Start;
                }
                _ if is_end => {
                    end = Some(at + 1);
                    break;
                }
                (State::Start, '"') => state = State::Quoted,
                (State::Start | State::Closed, space) if space.is_whitespace() => {}
                (State::Closed, _) => {
                    record.is_broken = true;
                    break;
                }
                (State::Start | State::Plain, _) => {
                    value.push(letter);
                    state = State::Plain;
                }
            }
        }
        record.add(&mut value, self.most);
        record.is_broken |= end.is_none() && state == State::Quoted;
        let end = if record.is_broken { next_line(self.rest, first_line) } else { end };
        self.advance(end.unwrap_or(self.rest.len()));
        record
    }

    /// Goes on behind the first `bytes` of the rest.
    fn advance(&mut self, bytes: usize) {
        let (read, rest) = self.rest.split_at(bytes);
        let lone = |(at, _): &(usize, &str)| !self.rest[at + 1..].starts_with('\n');
        self.line += read.matches('\n').count() + read.match_indices('\r').filter(lone).count();
        self.rest = rest;
    }
}

/// Returns the end of the first line of `text`, which is at `known` if that is known.
fn next_line(text: &str, known: Option<usize>) -> Option<usize> {
    known.or_else(|| text.find(['\n', '\r']).map(|at| at + 1))
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            // Empty lines, and the space before the first value.
            self.advance(self.rest.len() - self.rest.trim_start().len());
            if self.rest.is_empty() {
                return None;
            }
            // A comment ends at the end of its line, whatever quotes it has.
            if self.rest.starts_with('#') {
                self.advance(next_line(self.rest, None).unwrap_or(self.rest.len()));
                continue;
            }
            let record = self.record();
            let has_value = record.values.iter().any(|value| !value.is_empty());
            if record.is_broken || record.count > self.most.max(1) || has_value {
                return Some(record);
            }
        }
    }
}
