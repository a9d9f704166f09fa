//! Expands groups before the file is checked, and reports a problem of many members once.

use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::DeTable;

use super::Checker;
use crate::diagnostic::Problem;
use crate::expand::{Rows, Unexpanded, expand};
use crate::table_reader::shorten;

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
        let rows = self.subscribers(table);
        let expanded = expand(table, rows.as_ref(), self.memory, &mut self.problems)?;
        Ok(expanded.map(|(expanded, groups)| {
            self.groups = groups;
            Spanned::new(root.span(), expanded)
        }))
    }

    /// Reads the table of subscribers that the file names, if any.
    fn subscribers(&mut self, root: &DeTable<'_>) -> Option<Rows> {
        let value = root.get("subscribers")?;
        let path = value.get_ref().as_str()?;
        // A text of several lines is the table itself.
        let read = if path.contains('\n') {
            Rows::read(path)
        } else {
            Rows::read(&String::from_utf8_lossy(&self.load(path, value.span())?))
        };
        let unread = |why| {
            let wrong = format!("`{}` is no table of subscribers: {why}", shorten(path));
            let help = "its first row names the columns, and each other row is a subscriber";
            self.problems.push(Problem::new(value.span(), wrong).help(help));
        };
        read.map_err(unread).ok()
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

    /// Keeps one of the problems that differ only in the number of the member that they are of.
    pub(crate) fn merge_members(&mut self) {
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
    }
}
