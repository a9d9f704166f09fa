//! Expands groups before the file is checked, and reports a problem of many members once.

use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::DeTable;

use super::Checker;
use crate::diagnostic::Problem;
use crate::expand::{Rows, Unexpanded, expand, variables};
use crate::nearest::suggest;
use crate::table_reader::shorten;

/// Columns that a problem of a member names at most.
const MOST_NAMES: usize = 4;

impl Checker<'_> {
    /// Returns the file with its groups expanded; `None` if it has none.
    ///
    /// # Errors
    /// If one has no members, which is reported: no other problem can be told from those that follow from it.
    pub(crate) fn expand<'i>(
        &mut self,
        root: &Spanned<DeTable<'i>>,
    ) -> Result<Option<Spanned<DeTable<'i>>>, Unexpanded> {
        let table = root.get_ref();
        self.subscribers = self.subscribers(table);
        let rows = self.subscribers.as_ref().map(|(_, rows)| rows);
        let expanded = expand(table, rows, self.memory, &mut self.problems)?;
        Ok(expanded.map(|(expanded, groups)| {
            self.groups = groups;
            Spanned::new(root.span(), expanded)
        }))
    }

    /// Reads the table of subscribers that the file names, if any. Returns its name too.
    fn subscribers(&mut self, root: &DeTable<'_>) -> Option<(String, Rows)> {
        let value = root.get("subscribers")?;
        let path = value.get_ref().as_str()?;
        // A text of several lines is the table itself: its beginning is shown, not ten thousand lines.
        let is_embedded = path.contains('\n');
        let start = value.span().start;
        let span = if is_embedded { start..start + 1 } else { value.span() };
        let (name, read) = if is_embedded {
            ("subscribers", Rows::read(path, self.memory))
        } else {
            let bytes = self.load(path, value.span())?;
            (path, Rows::read(&String::from_utf8_lossy(&bytes), self.cache.captures.room))
        };
        let unread = |why| {
            let wrong = format!("`{}` is no table of subscribers: {why}", shorten(name));
            let help = "its first row names the columns, and each other row is a subscriber";
            self.problems.push(Problem::new(span.clone(), wrong).help(help));
        };
        let rows = read.map_err(unread).ok()?;
        let (reasons, count) = rows.left_out();
        if count > 0 {
            let of = if count == 1 { "a row".to_owned() } else { format!("{count} rows") };
            let is = if count == 1 { "is" } else { "are" };
            let more = if count > reasons.len() { "; …" } else { "" };
            let wrong = format!("{of} of `{}` {is} left out: {}{more}", shorten(name), reasons.join("; "));
            let help = "correct such rows, or take them out; `lockgate check --strict` makes them an error";
            self.warn(Problem::new(span, wrong).help(help));
        }
        Some((shorten(name), rows))
    }

    /// Adds to a problem of a member the values that it has from the table of subscribers, with their line,
    /// and to the unknown name of a column those that there are. `text` is that of the file.
    fn explain_columns(&self, text: &str, problem: Problem) -> Problem {
        let Some((table, rows)) = &self.subscribers else { return problem };
        let Some(written) = problem.span().and_then(|span| text.get(span)) else { return problem };
        let known = |name: &str| rows.columns().any(|column| column == name);
        let names: Vec<&str> = variables(written).filter(|name| *name != "i").take(MOST_NAMES).collect();
        let unknown =
            names.iter().find(|name| !known(name) && problem.message().contains(&format!("${name}")));
        if let Some(name) = unknown {
            let all = suggest(name, rows.columns()).unwrap_or_default();
            return problem.help(format!("`{table}` has no column `{}`: {all}", shorten(name)));
        }
        let Some(row) = problem.member().map(|number| number as usize - 1) else { return problem };
        let cells =
            names.iter().filter_map(|name| Some(format!("`${name}` is `{}`", shorten(rows.get(row, name)?))));
        let cells: Vec<String> = cells.collect();
        if cells.is_empty() {
            return problem;
        }
        let (line, circuit) = (rows.line(row), rows.circuit(row));
        problem.label_too(&format!("{} in line {line} of `{table}`{circuit}", cells.join(", ")))
    }

    /// Marks the problems and warnings noted since `noted`, those of the entry `name`, with its number if
    /// it is a member of a group.
    pub(super) fn mark_member(&mut self, section: &str, name: &str, noted: [usize; 2]) {
        if self.problems.len() == noted[0] && self.warnings.len() == noted[1] {
            return;
        }
        let Some(number) = self.groups.number(section, name) else { return };
        for (list, noted) in [(&mut self.problems, noted[0]), (&mut self.warnings, noted[1])] {
            let marked: Vec<Problem> = list.drain(noted..).map(|problem| problem.of_member(number)).collect();
            list.extend(marked);
        }
    }

    /// Returns the numbers of problems and warnings so far.
    pub(super) fn noted(&self) -> [usize; 2] {
        [self.problems.len(), self.warnings.len()]
    }

    /// Keeps one of the problems that differ only in the number of the member that they are of. `text` is
    /// that of the file.
    pub(crate) fn merge_members(&mut self, text: &str) {
        if self.groups.is_empty() {
            return;
        }
        for list in [&mut self.problems, &mut self.warnings] {
            let mut seen = BTreeSet::new();
            list.retain(|problem| {
                let letters = problem.message().chars().filter(|letter| !letter.is_ascii_digit());
                // Problems of members may stand at different elements of one list.
                let is_member = problem.is_of_member() || problem.message().contains('/');
                let place = problem.span().filter(|_| !is_member).map(|span| (span.start, span.end));
                seen.insert((place, letters.collect::<String>()))
            });
        }
        let problems = core::mem::take(&mut self.problems);
        self.problems = problems.into_iter().map(|problem| self.explain_columns(text, problem)).collect();
    }
}
