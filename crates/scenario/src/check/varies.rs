//! Checks variations: their paths, values and groups. Whether a value is right is known by setting it.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::Checker;
use crate::diagnostic::{Problem, one_line};
use crate::file::VaryTable;
use crate::table_reader::{TableLocation, shorten};
use crate::vary::{Values, Vary, VaryError};

impl Checker<'_> {
    pub(super) fn varies(&mut self, root: &DeTable<'_>) -> Vec<Vary> {
        let mut varies: Vec<Vary> = Vec::new();
        // Number of values of each group, with the name of its first variation.
        let mut groups: BTreeMap<String, (usize, String)> = BTreeMap::new();
        for (table, header) in self.list(root, "vary") {
            let location = TableLocation { what: "this `vary`", table, header: &header };
            let Some(vary) = self.vary(location) else { continue };
            if varies.iter().any(|known| known.name == vary.name) {
                let key = if location.has("name") { "name" } else { "path" };
                let wrong = format!("there are two variations called `{}`", shorten(&vary.name));
                self.note(Problem::new(location.value(key), wrong).help("give one of them another `name`"));
            }
            if let Some(group) = &vary.together {
                let found = vary.count();
                let (expected, first) = groups.entry(group.clone()).or_insert((found, vary.name.clone()));
                if *expected != found {
                    let (expected, first, other) = (*expected, first.clone(), vary.name.clone());
                    let wrong = VaryError::Uneven { first, expected, other, found };
                    self.note(Problem::new(location.value("values"), wrong.to_string()));
                }
            }
            varies.push(vary);
        }
        varies
    }

    fn vary(&mut self, location: TableLocation<'_, '_>) -> Option<Vary> {
        let table: VaryTable = self.whole(location)?;
        let read = match (table.values.is_list, table.values.texts.as_slice()) {
            (false, [text]) => Values::parse(text),
            (_, []) => Err(VaryError::Empty(String::new())),
            (_, texts) => Ok(Values::List(texts.to_vec())),
        };
        let refused =
            |key: &str, why: &VaryError| Problem::new(location.value(key), why.to_string()).help(why.help());
        let values = read.map_err(|why| self.note(refused("values", &why))).ok()?;
        if table.path.texts.is_empty() {
            self.note(
                Problem::new(location.value("path"), "an empty list names no value").help("name a path"),
            );
            return None;
        }
        let paths: Vec<&str> = table.path.texts.iter().map(String::as_str).collect();
        let vary = Vary::new(&paths, values);
        let vary = vary.map_err(|why| {
            let key = if matches!(why, VaryError::Path(_)) { "path" } else { "values" };
            self.note(refused(key, &why));
        });
        let mut vary = vary.ok()?;
        let unknown = vary.paths.iter().position(|path| !names_something(path));
        if let Some(index) = unknown {
            let at =
                if table.path.is_list { location.element("path", index) } else { location.value("path") };
            let wrong = format!("`{}` names no part of a scenario", shorten(&vary.paths[index]));
            self.note(
                Problem::new(at, wrong)
                    .help("a path begins with `link.`, `port.`, `flow.`, `node.` or `record.`"),
            );
        }
        vary.name = table.name.map_or(vary.name, |name| one_line(&name).into_owned());
        vary.together = table.together;
        Some(vary)
    }
}

/// Returns true if a path begins with a section, or is a key at the top.
fn names_something(path: &str) -> bool {
    let first = path.split('.').next().unwrap_or_default();
    ["title", "duration", "warmup"].contains(&first)
        || (path.contains('.') && crate::file::SECTIONS.contains(&first) && first != "vary")
}
