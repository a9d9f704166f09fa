//! Reads a group's list of files: one size a line, optionally with its start.

use lockgate_engine::units::{Bytes, Duration};
use lockgate_traffic::{Law, LoadedFiles};

use super::Checker;
use crate::diagnostic::Problem;
use crate::file::FlowTable;
use crate::table_reader::{TableLocation, shorten};

/// Limit on the problems reported of one list.
const MOST_COMPLAINTS: usize = 5;

/// One file of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) bytes: Bytes,
    /// Start after the group's start; zero if the list gives none.
    pub(super) start: Duration,
}

/// Reads a list: a size a line, optionally followed by its start after the group's start. Ignores empty
/// lines and text after `#`.
fn read(text: &str) -> (Vec<Listed>, Vec<String>) {
    let (mut listed, mut complaints) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let mut words = line.split_whitespace();
        let size = words.next().map(str::parse::<Bytes>);
        let start = words.next().map_or(Ok(Duration::ZERO), str::parse::<Duration>);
        let (why, file) = match (size, start, words.next()) {
            (Some(Ok(Bytes::ZERO)), ..) => ("a file has at least one byte", None),
            (Some(Ok(bytes)), Ok(start), None) => ("", Some(Listed { bytes, start })),
            (_, _, Some(_)) => ("a line is a size, and a time where one is given", None),
            (Some(Ok(_)), ..) => ("its second word is not a time, such as `1.5s`", None),
            _ => ("it does not begin with a size, such as `12kB`", None),
        };
        match file {
            Some(file) => listed.push(file),
            None if complaints.len() < MOST_COMPLAINTS => {
                complaints.push(format!("line {}: `{}`: {why}", number + 1, shorten(line)));
            }
            None => {}
        }
    }
    (listed, complaints)
}

impl Checker<'_> {
    /// Returns the files of the list that a flow names; `None` if it names no list, empty if the list
    /// cannot be read.
    pub(super) fn listed_files(
        &mut self,
        table: &FlowTable,
        location: TableLocation<'_, '_>,
    ) -> Option<Vec<Listed>> {
        let path = table.files.as_deref()?;
        let span = location.value("files");
        for key in ["file", "bytes", "size", "gap", "rate"] {
            if location.has(key) {
                let problem = Problem::new(
                    location.key(key),
                    format!("`{key}` does not go with `files`, which says what is sent"),
                );
                self.note(problem.help(format!("leave `{key}` or `files` out")));
            }
        }
        let Some(bytes) = self.load(path, span.clone()) else { return Some(Vec::new()) };
        let (mut listed, complaints) = read(&String::from_utf8_lossy(&bytes));
        if let Some(every) = self.fixed_spacing(table, location) {
            for (index, file) in listed.iter_mut().enumerate() {
                file.start = every * index as u64;
            }
        }
        for complaint in &complaints {
            let problem = Problem::new(span.clone(), format!("the file `{}`, {complaint}", shorten(path)));
            self.note(problem.help("a line is a size and, if need be, a start: `12kB` or `12kB 1.5s`"));
        }
        if listed.is_empty() && complaints.is_empty() {
            let problem = Problem::new(span, format!("the file `{}` lists no files", shorten(path)));
            self.note(problem.help("a line is a size and, if need be, a start: `12kB` or `12kB 1.5s`"));
        } else if complaints.is_empty()
            && let Some(count) = table.count.filter(|count| *count as usize > listed.len())
        {
            let what = format!("a group of {count}, but `{}` lists {} files", shorten(path), listed.len());
            let problem = Problem::new(location.value("count"), what).see(span, "the list");
            self.note(problem.help("leave `count` out, or list as many files"));
        }
        Some(listed)
    }

    /// Returns the constant time `every` between the starts of listed files, which replaces the list's own
    /// starts; `None` if absent, or if wrong and noted.
    fn fixed_spacing(&mut self, table: &FlowTable, location: TableLocation<'_, '_>) -> Option<Duration> {
        let law = table.every.as_ref()?;
        let constant = Law::new(law, "every", &LoadedFiles::none()).ok().and_then(|law| law.constant());
        if constant.is_none() {
            let problem =
                Problem::new(location.value("every"), "`every` beside `files` is one time, not a law");
            self.note(problem.help("write it like `250ms`, or give each file's start in the list"));
        }
        constant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_line_by_line() {
        let (listed, complaints) = read("# sizes\n12kB\n\n1MB 1.5s  # late\n");
        assert!(complaints.is_empty(), "{complaints:?}");
        let file = |bytes, millis| Listed { bytes: Bytes(bytes), start: Duration::from_millis(millis) };
        assert_eq!(listed, [file(12_000, 0), file(1_000_000, 1500)]);
    }

    #[test]
    fn every_wrong_line_is_told() {
        let (listed, complaints) = read("0B\n12\n12kB later\n1MB 1s 2s\nnothing\n3kB\n");
        assert_eq!(listed.len(), 1);
        assert_eq!(complaints.len(), 5, "{complaints:?}");
        assert!(
            complaints[0].contains("line 1") && complaints[0].contains("at least one byte"),
            "{complaints:?}"
        );
        assert!(complaints[2].contains("not a time"), "{complaints:?}");
    }
}
