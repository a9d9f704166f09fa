//! Expands groups before the file is checked, and reports a problem of many members once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toml::Spanned;
use toml::de::DeTable;

use super::Checker;
use crate::diagnostic::{Problem, Span};
use crate::embedding::table_text;
use crate::expand::{PARENT, Remarks, Rows, Sites, Tables, Unexpanded, expand, naming_columns, variables};
use crate::nearest::{nearest, suggest};
use crate::table_reader::shorten;

/// Columns that a problem of a member names at most.
const MOST_NAMES: usize = 4;

/// Returns a number of things, in words.
fn of(count: usize, what: &str) -> String {
    if count == 1 { format!("a {what}") } else { format!("{count} {what}s") }
}

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
        self.sites = self.sites(table);
        let tables = Tables {
            subscribers: self.subscribers.as_ref().map(|(_, rows)| rows),
            sites: self.sites.as_ref().map(|(_, sites)| sites),
        };
        let expanded = expand(table, tables, self.memory, &mut self.problems)?;
        Ok(expanded.map(|(expanded, groups)| {
            self.groups = groups;
            Spanned::new(root.span(), expanded)
        }))
    }

    /// Reads the table of subscribers that the file names, if any. Returns its name too.
    fn subscribers(&mut self, root: &DeTable<'_>) -> Option<(String, Arc<Rows>)> {
        let (name, text, span) = self.table(root, "subscribers")?;
        let read = Rows::read(&text, self.cache.captures.room.min(self.memory));
        let unread = |why| {
            let wrong = format!("`{}` is not a table of subscribers: {why}", shorten(&name));
            let help = "its first row names the columns, and each other row is a subscriber";
            self.problems.push(Problem::new(span.clone(), wrong).help(help));
        };
        let mut rows = read.map_err(unread).ok()?;
        naming_columns(root).for_each(|column| rows.leave_out_unnamed(column));
        self.warn_left_out("row", &name, rows.left_out(), span.clone());
        let altered = rows.altered();
        if altered.count > 0 {
            let (of, is) = (of(altered.count, "row"), if altered.count == 1 { "is" } else { "are" });
            let wrong =
                format!("{of} of `{}` {is} not used as written: {}", shorten(&name), altered.joined());
            self.warn(Problem::new(span, wrong).help(
                "give a circuit one plan, and an address to one circuit; of prefixes that contain each other \
                 the longest decides; `lockgate check --strict` makes this an error",
            ));
        }
        Some((shorten(&name), Arc::new(rows)))
    }

    /// Reads the sites that the file names, if any, and places the subscribers at them. Returns their name
    /// too.
    fn sites(&mut self, root: &DeTable<'_>) -> Option<(String, Sites)> {
        let (name, text, span) = self.table(root, "sites")?;
        let unread = |why| {
            let wrong = format!("`{}` has no sites: {why}", shorten(&name));
            let help = "it has sites by their names, as the `network.json` of LibreQoS, each with \
                        `downloadBandwidthMbps`, `uploadBandwidthMbps` and maybe `children`";
            self.problems.push(Problem::new(span.clone(), wrong).help(help));
        };
        let mut sites = Sites::read(&text, self.cache.captures.room.min(self.memory)).map_err(unread).ok()?;
        self.warn_left_out("site", &name, sites.rows.left_out(), span.clone());
        if let Some((table, rows)) = &self.subscribers {
            let number = sites.rows.len();
            let unknown = sites.place(rows);
            let (name, table) = (shorten(&name), table.clone());
            let wrong = if !rows.columns().any(|column| column == PARENT) {
                Some(format!("`{table}` has no column `Parent Node`, so that no circuit is below a site"))
            } else if unknown.count > 0 {
                let is = if unknown.count == 1 { "is" } else { "are" };
                let circuits = of(unknown.count, "circuit");
                let unknown = unknown.joined();
                Some(format!(
                    "`{name}` has no such site, and {circuits} of `{table}` {is} below none: {unknown}"
                ))
            } else if sites.rows.len() == 0 {
                Some(format!(
                    "no circuit of `{table}` has one of the {number} sites of `{name}` as `Parent Node`"
                ))
            } else {
                None
            };
            if let Some(wrong) = wrong {
                self.warn(Problem::new(span, wrong).help("correct the `Parent Node`, or add the site"));
            }
        }
        Some((shorten(&name), sites))
    }

    /// Returns the name, the text and the location of the table that the file names at `key`, if any.
    fn table(&mut self, root: &DeTable<'_>, key: &str) -> Option<(String, String, Span)> {
        let value = root.get(key)?;
        let path = value.get_ref().as_str()?;
        // A text of several lines is the table itself: its beginning is shown, not ten thousand lines.
        if path.contains('\n') {
            let start = value.span().start;
            return Some((key.to_owned(), path.to_owned(), start..start + 1));
        }
        let bytes = self.load(path, value.span())?;
        match table_text(&bytes) {
            Ok(text) => Some((path.to_owned(), text.to_owned(), value.span())),
            Err(why) => {
                let wrong = format!("the file `{}` cannot be read: {why}", shorten(path));
                self.note(Problem::new(value.span(), wrong));
                None
            }
        }
    }

    /// Warns of the rows or sites that were left out.
    fn warn_left_out(&mut self, what: &str, name: &str, left_out: &Remarks, span: Span) {
        if left_out.count == 0 {
            return;
        }
        let (is, them) = if left_out.count == 1 { ("is", "it") } else { ("are", "them") };
        let (of, reasons) = (of(left_out.count, what), left_out.joined());
        let wrong = format!("{of} of `{}` {is} left out: {reasons}", shorten(name));
        let help = format!(
            "correct such {what}s, or take {them} out; `lockgate check --strict` makes this an error"
        );
        self.warn(Problem::new(span, wrong).help(help));
    }

    /// Adds to a problem of a member the values that it has from the table of subscribers, with their line,
    /// and to the unknown name of a column those that there are. `text` is that of the file.
    fn explain_columns(&self, text: &str, problem: Problem) -> Problem {
        let Some(written) = problem.span().and_then(|span| text.get(span)) else { return problem };
        let names: Vec<&str> = variables(written).filter(|name| *name != "i").take(MOST_NAMES).collect();
        let subscribers = self.subscribers.as_ref().map(|(table, rows)| (table, &**rows));
        let sites = self.sites.as_ref().map(|(table, sites)| (table, &sites.rows));
        // Those that have all columns that are named, or similar ones.
        let misses = |(_, rows): (&String, &Rows)| {
            let has = |name: &&str| rows.columns().any(|column| column == *name);
            let is_near = |name: &&str| nearest(name, rows.columns()).is_some();
            (!names.iter().all(has), !names.iter().all(|name| has(name) || is_near(name)))
        };
        let Some((table, rows)) = sites
            .filter(|sites| subscribers.is_none_or(|subscribers| misses(*sites) < misses(subscribers)))
            .or(subscribers)
        else {
            return problem;
        };
        let known = |name: &str| rows.columns().any(|column| column == name);
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

    /// Keeps one of the problems that differ only in the number of the member that they are of, with the
    /// number of the others. `text` is that of the file.
    pub(crate) fn merge_members(&mut self, text: &str) {
        if self.groups.is_empty() {
            return;
        }
        for list in [&mut self.problems, &mut self.warnings] {
            let mut kept: Vec<Problem> = Vec::new();
            let mut seen: BTreeMap<_, (usize, BTreeSet<String>)> = BTreeMap::new();
            for problem in list.drain(..) {
                let letters = problem.message().chars().filter(|letter| !letter.is_ascii_digit());
                // Problems of members may stand at different elements of one list.
                let is_member = problem.is_of_member() || problem.message().contains('/');
                let location = problem.span().filter(|_| !is_member).map(|span| (span.start, span.end));
                let key = (location, letters.collect::<String>());
                let (_, all) = seen.entry(key).or_insert_with(|| (kept.len(), BTreeSet::new()));
                let message = problem.message().to_owned();
                if all.is_empty() {
                    kept.push(problem);
                }
                all.insert(message);
            }
            for (index, all) in seen.values().filter(|(_, all)| all.len() > 1) {
                let problem = kept[*index].clone();
                let message = format!("{} (and {} more like it)", problem.message(), all.len() - 1);
                kept[*index] = problem.replace_message(message);
            }
            *list = kept;
        }
        let problems = core::mem::take(&mut self.problems);
        self.problems = problems.into_iter().map(|problem| self.explain_columns(text, problem)).collect();
    }
}
