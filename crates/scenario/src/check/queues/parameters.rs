//! Checks a queue's own parameters and its share, the parameters that its parent needs.

use std::sync::Arc;

use lockgate_engine::class;
use lockgate_engine::discipline::Discipline;
use lockgate_engine::disciplines::{self, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::Checker;
use super::{Entry, Kind};
use crate::diagnostic::Problem;
use crate::file::QueueTable;
use crate::nearest::suggest;
use crate::table_reader::{Key, TableKeys, TableLocation, read_valid_table, shorten, unknown_key};
use crate::value_reader;

/// Keys of a queue that belong neither to its discipline nor to its parent, besides `kind` and `children`.
const OWN_KEYS: [&str; 2] = ["match", "share"];

impl Checker<'_> {
    /// Reads a queue's own parameters and its share. `complete`: every parentless queue is really a root.
    pub(super) fn parameters(&mut self, index: usize, entries: &mut [Entry<'_, '_>], complete: bool) {
        let entry = &entries[index];
        let Some(kind) = &entry.kind else { return };
        let parent = entry.parent.map(|parent| &entries[parent]);
        let parent_kind = parent.and_then(|parent| parent.kind.as_ref());
        let location = entry.location();
        let own = self.cache.table_keys.of::<QueueTable>();
        let no_share = Arc::new(TableKeys::default());
        let share = parent_kind.map_or(&no_share, |kind| &kind.share);
        // Keys can be unknown only if the parent's kind is known: its share may have them.
        let judged = if parent.is_none() { complete } else { parent_kind.is_some() };
        for (key, _) in location.entries() {
            let name: &str = key.get_ref();
            let known = own.has(name) || OWN_KEYS.contains(&name) || kind.config.has(name) || share.has(name);
            if !known && judged {
                let all: Vec<&str> =
                    kind.config.names().chain(share.names()).chain(own.names()).chain(OWN_KEYS).collect();
                let who = match parent_kind {
                    Some(parent) => format!("neither `{}` nor its parent `{}`", kind.name, parent.name),
                    None => format!("`{}`", kind.name),
                };
                let mut problem = unknown_key(&who, name, key.span(), all);
                if parent_kind.is_some() {
                    problem = problem.replace_message(format!("{who} has a key `{}`", shorten(name)));
                }
                let replaced =
                    disciplines::Kind::named(kind.name).map_or(&[][..], |kind| kind.replaced_parameters);
                let replaced = replaced.iter().find(|(key, _)| *key == name);
                self.note(problem.help_if(replaced.map(|(_, help)| (*help).to_owned())));
            }
        }
        let config = self.parameters_of_kind(kind, location);
        let share = if let Some(parent) = parent_kind {
            self.share(kind, parent, location)
        } else {
            if judged && location.has("share") {
                let problem = Problem::new(
                    location.key("share"),
                    format!("{} has no parent to share anything of", location.what),
                );
                self.note(problem.help("leave `share` out"));
            }
            Some(toml::Table::new())
        };
        entries[index].config = config;
        entries[index].share = share;
    }

    fn parameters_of_kind(&mut self, kind: &Kind, location: TableLocation<'_, '_>) -> Option<toml::Table> {
        // A class has no parameters of its own: unknown keys were noted above.
        let sound = disciplines::visit(kind.name, ReadConfig(location, &kind.config, &mut self.problems))
            .unwrap_or(kind.name == class::KIND);
        sound.then(|| plain(location.only(&kind.config), location, &mut self.problems)).flatten()
    }

    /// Reads the share, with the parent's type.
    fn share(&mut self, kind: &Kind, parent: &Kind, location: TableLocation<'_, '_>) -> Option<toml::Table> {
        let noted = self.problems.len();
        let table = self.shared(kind, parent, location);
        if self.problems.len() != noted {
            return None;
        }
        let what = format!("{}, a child of `{}`,", location.what, parent.owner);
        let shared = TableLocation { what: &what, table: &table, header: location.header };
        let sound = disciplines::visit(parent.owner, ReadShare(shared, &parent.share, &mut self.problems))
            .unwrap_or(false);
        sound.then(|| plain(table.clone(), shared, &mut self.problems)).flatten()
    }

    /// Collects the share: the parent's keys beside the child's own, and those under `share`. A key that
    /// both have belongs to the child if it is beside.
    fn shared<'i>(&mut self, kind: &Kind, parent: &Kind, location: TableLocation<'_, 'i>) -> DeTable<'i> {
        let mut table = DeTable::new();
        for (key, value) in location.entries() {
            let name: &str = key.get_ref();
            if parent.share.has(name) && !kind.config.has(name) {
                table.insert(key.clone(), value.clone());
            }
        }
        match location.table.get("share").map(|share| (share.span(), share.get_ref())) {
            None => {}
            Some((_, DeValue::Table(inner))) => self.shared_apart(parent, inner, &mut table),
            Some((span, _)) => {
                let help = format!("write `share = {{ … }}` with what `{}` must know", parent.name);
                self.note(Problem::new(span, "`share` is a table").help(help));
            }
        }
        let both = |key: &&Key| kind.config.has(&key.name) && !table.contains_key(key.name.as_str());
        for Key { name, .. } in parent.share.required().filter(both) {
            let [own, above] = [kind.name, parent.name];
            let problem = if location.has(name) {
                let wrong = format!("this `{name}` is `{own}`'s own: its parent `{above}` needs one too");
                Problem::new(location.key(name), wrong)
            } else {
                let wrong = format!("{} needs `{name}` for its parent `{above}`", location.what);
                Problem::new(location.header.clone(), wrong)
            };
            let help = format!("both have a `{name}`: write the parent's as `share = {{ {name} = … }}`");
            self.note(problem.help(help));
        }
        self.warn_shared(kind, parent, location, &table);
        table
    }

    /// Warns of keys beside the child's own that the user may have meant for the parent. They are the
    /// child's: one value cannot serve both, and the parent takes its default.
    fn warn_shared(
        &mut self,
        kind: &Kind,
        parent: &Kind,
        location: TableLocation<'_, '_>,
        table: &DeTable<'_>,
    ) {
        let required = |name: &str| parent.share.required().any(|key| key.name == name);
        for name in parent.share.names().filter(|name| kind.config.has(name) && !required(name)) {
            if location.has(name) && !table.contains_key(name) {
                let [own, above] = [kind.name, parent.owner];
                let wrong = format!(
                    "this `{name}` is `{own}`'s own: its parent `{above}` has one too, and takes its default"
                );
                let help = format!("say the parent's as well: `share = {{ {name} = … }}`");
                self.warn(Problem::new(location.key(name), wrong).help(help));
            }
        }
    }

    /// Adds the keys under `share`.
    fn shared_apart<'i>(&mut self, parent: &Kind, inner: &DeTable<'i>, table: &mut DeTable<'i>) {
        for (key, value) in inner {
            let name: &str = key.get_ref();
            if !parent.share.has(name) {
                let wrong =
                    format!("`{}` must know nothing called `{}` of its children", parent.name, shorten(name));
                let known = suggest(name, parent.share.names());
                let problem = Problem::new(key.span(), wrong);
                self.note(problem.help("leave `share` out: there is nothing it must know").help_if(known));
            }
            if let Some((first, _)) = table.get_key_value(name) {
                let problem = Problem::new(key.span(), format!("`{name}` is given twice"));
                self.note(problem.see(first.span(), "given here too").help("give it once"));
            }
            table.insert(key.clone(), value.clone());
        }
    }
}

/// Converts a checked table to one without positions.
fn plain(
    table: DeTable<'_>,
    location: TableLocation<'_, '_>,
    problems: &mut Vec<Problem>,
) -> Option<toml::Table> {
    let whole = Spanned::new(location.header.clone(), DeValue::Table(table));
    value_reader::read(&whole)
        .map_err(|error| {
            let span = error.span.unwrap_or_else(|| location.header.clone());
            problems.push(
                Problem::new(span, "a number too large for the file")
                    .help("it is at most 9223372036854775807"),
            );
        })
        .ok()
}

struct ReadConfig<'a, 'i>(TableLocation<'a, 'i>, &'a TableKeys, &'a mut Vec<Problem>);

impl Visitor for ReadConfig<'_, '_> {
    type Output = bool;
    fn visit<D: Discipline>(self) -> bool {
        read_valid_table::<D::Config>(self.0, self.1, self.2).is_some()
    }
}

struct ReadShare<'a, 'i>(TableLocation<'a, 'i>, &'a TableKeys, &'a mut Vec<Problem>);

impl Visitor for ReadShare<'_, '_> {
    type Output = bool;
    fn visit<D: Discipline>(self) -> bool {
        read_valid_table::<D::Share>(self.0, self.1, self.2).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use lockgate_engine::discipline::Arity;
    use lockgate_engine::disciplines::tbf;
    use lockgate_engine::units::Rate;

    use super::*;

    /// A parent that requires a rate of its children, as CBQ does.
    #[derive(schemars::JsonSchema)]
    #[allow(dead_code, reason = "only its keys count")]
    struct NeedsRate {
        rate: Rate,
    }

    /// Returns the keys shared by a `tbf` below such a parent, and the problems noted.
    fn shared(text: &str) -> (Vec<String>, Vec<String>) {
        let root = DeTable::parse(text).expect("TOML");
        let header = root.span();
        let config = Arc::new(TableKeys::of::<tbf::Config>());
        let kind = Kind {
            name: "tbf",
            owner: "tbf",
            arity: Arity::Optional,
            classifies: false,
            config,
            share: Arc::default(),
        };
        let share = Arc::new(TableKeys::of::<NeedsRate>());
        let parent = Kind {
            name: "cbq",
            owner: "cbq",
            arity: Arity::Classes,
            classifies: false,
            config: Arc::default(),
            share,
        };
        let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
        let mut checker = Checker::new(&files, &[], crate::MEMORY);
        let location = TableLocation { what: "the queue `q`", table: root.get_ref(), header: &header };
        let table = checker.shared(&kind, &parent, location);
        let values = table.iter().filter_map(|(_, value)| value.get_ref().as_str().map(ToOwned::to_owned));
        (
            values.collect(),
            checker
                .problems
                .iter()
                .map(|problem| format!("{problem} / {}", problem.help_text().unwrap_or_default()))
                .collect(),
        )
    }

    #[test]
    fn a_parameter_of_both_is_the_childs_and_the_parents_stands_in_share() {
        let (values, problems) = shared("rate = \"1mbit\"");
        assert!(values.is_empty());
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].starts_with("this `rate` is `tbf`'s own: its parent `cbq` needs one too / "),
            "{problems:?}"
        );
        assert!(problems[0].ends_with("`share = { rate = … }`"), "{problems:?}");
        assert_eq!(
            shared("rate = \"1mbit\"\nshare = { rate = \"2mbit\" }"),
            (vec!["2mbit".to_owned()], Vec::new())
        );
        let (_, problems) = shared("burst = \"2kB\"");
        assert!(problems[0].starts_with("the queue `q` needs `rate` for its parent `cbq`"), "{problems:?}");
        let (_, problems) = shared("rate = \"1mbit\"\nshare = { rate = \"2mbit\", ceil = 5 }");
        assert!(problems[0].contains("must know nothing called `ceil`"), "{problems:?}");
    }
}
