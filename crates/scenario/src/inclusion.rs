//! Puts ports of policies into a scenario: `policy = "house.toml:wan"` on a port of it.
//!
//! ```text
//! [port."router:modem"]                    [router]  ...
//! policy = "house.toml:wan"      <---      [port.wan]  rate, overhead, root, queue.NAME: letter for letter
//! rate = "9mbit"                           keys beside `policy` replace those of the policy
//! ```
//!
//! The policy is checked as for a router first. What it puts into the scenario has the position of the line
//! that names it, as members of a group have that of their group.

use std::borrow::Cow;
use std::sync::Arc;

use lockgate_engine::port_name;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Problem, Span};
use crate::document::{self, Table, Value};
use crate::embedding::{TABLES, embed_tables};
use crate::files::Files;
use crate::nearest::suggest;
use crate::path::split_policy;
use crate::policy::{is_policy, read_policy};
use crate::table_reader::shorten;

/// Key of a port that names a policy.
const KEY: &str = "policy";

/// Tables that a policy names, by their keys.
type Tables = Vec<(&'static str, Value)>;

/// Port of a policy that a scenario's port names.
pub(crate) struct Inclusion {
    /// Port of the scenario, as written.
    port: String,
    /// Keys and queues of the policy's port.
    table: Table,
    /// Tables of subscribers and sites of the policy, by their keys.
    tables: Tables,
}

/// Returns the ports of policies that the ports of a scenario name, and the problems of those that cannot be
/// included.
pub(crate) fn inclusions(root: &DeTable<'_>, files: &dyn Files) -> (Vec<Inclusion>, Vec<Problem>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    let ports = root.get("port").and_then(|ports| ports.get_ref().as_table());
    for (name, port) in ports.into_iter().flatten() {
        let Some(value) = port.get_ref().as_table().and_then(|port| port.get(KEY)) else { continue };
        let Some(address) = value.get_ref().as_str() else { continue };
        match included(address, &value.span(), files) {
            Ok((table, tables)) => {
                found.push(Inclusion { port: name.get_ref().to_string(), table, tables });
            }
            Err(problem) => problems.push(*problem),
        }
    }
    for key in TABLES {
        if let Some(own) = root.get(key)
            && found.iter().any(|inclusion| inclusion.tables.iter().any(|(of, _)| *of == key))
        {
            let problem =
                Problem::new(own.span(), format!("a policy of this scenario has its own table of {key}"));
            problems.push(
                problem.help(format!("leave this one out: `count = \"{key}\"` follows that of the policy")),
            );
        }
    }
    (found, problems)
}

/// Files beside another one.
struct BesideFile<'f> {
    folder: &'f str,
    files: &'f dyn Files,
}

impl Files for BesideFile<'_> {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        let beside = self.files.load(&format!("{}{path}", self.folder));
        beside.or_else(|why| self.files.load(path).map_err(|_| why))
    }
}

/// Returns the port that `address` names, and its policy's tables of subscribers and sites.
fn included(address: &str, span: &Span, files: &dyn Files) -> Result<(Table, Tables), Box<Problem>> {
    let (path, port) = split_policy(address);
    let shown = shorten(path);
    let wrong = |message: String, help: String| Box::new(Problem::new(span.clone(), message).help(help));
    let unread = |why: String| {
        let help = "a policy is written `\"house.toml:wan\"`, its file from the folder of the scenario, then its port";
        wrong(format!("the policy `{shown}` cannot be read: {why}"), help.to_owned())
    };
    let bytes = files.load(path).map_err(unread)?;
    let text = core::str::from_utf8(&bytes).map_err(|_| unread("it is not UTF-8 text".to_owned()))?;
    if !is_policy(text) {
        let help = "a policy says `[router]`; a scenario's port names the policy of a router";
        return Err(wrong(format!("`{shown}` is not a policy"), help.to_owned()));
    }
    let folder = path.rfind('/').map_or("", |end| &path[..=end]);
    let text =
        embed_tables(text, &BesideFile { folder, files }).map_err(|error| unread(error.to_string()))?;
    let policy = read_policy(&text, path).map_err(|problems| {
        let first = problems.iter().next().map(|first| {
            let line = first.position().map_or_else(String::new, |(line, _)| format!("line {line}: "));
            format!("{line}{}", first.message())
        });
        let message = format!("the policy `{shown}` has problems, {}", first.unwrap_or_default());
        wrong(message, format!("`lockgate check {shown}` shows them all"))
    })?;
    let names: Vec<&str> = policy.ports.iter().map(|port| port.name.as_str()).collect();
    let name = match port.map(port_name::canonical) {
        Some(name) if names.contains(&name.as_ref()) => name.into_owned(),
        Some(name) => {
            let message = format!("the policy `{shown}` has no port `{}`", shorten(&name));
            return Err(wrong(message, suggest(&name, names.iter().copied()).unwrap_or_default()));
        }
        None if names.len() == 1 => names[0].to_owned(),
        None => {
            let message = format!("the policy `{shown}` has {} ports", names.len());
            return Err(wrong(
                message,
                format!("say which: `\"{shown}:{}\"`", names.join(&format!("\"` or `\"{shown}:"))),
            ));
        }
    };
    let (root, _) = DeTable::parse_recoverable(&text);
    let ports = root.get_ref().get("port").and_then(|ports| ports.get_ref().as_table());
    let mut ports = ports.into_iter().flatten();
    // A direction that the policy leaves out is a cable's, as a port that a scenario leaves out.
    let table = ports.find(|(key, _)| port_name::canonical(key.get_ref()) == name);
    let table = table.and_then(|(_, port)| port.get_ref().as_table());
    let table = table.map_or_else(Table::new, |port| document::table_at(port, span));
    let tables = TABLES.iter().filter_map(|key| Some((*key, Value::at(root.get_ref().get(*key)?, span))));
    Ok((table, tables.collect()))
}

/// Returns the scenario with the ports of policies in it; `None` if it names none.
pub(crate) fn merged<'i>(
    root: &Spanned<DeTable<'i>>,
    inclusions: &'i [Inclusion],
) -> Option<Spanned<DeTable<'i>>> {
    if inclusions.is_empty() {
        return None;
    }
    let mut whole = root.get_ref().clone();
    // The first policy that has a table: two have one only if they are the same.
    for (key, table) in inclusions.iter().rev().flat_map(|inclusion| &inclusion.tables) {
        whole.insert(Spanned::new(table.span(), Cow::Borrowed(*key)), table.parsed());
    }
    let ports = whole.get_mut("port").map(Spanned::get_mut);
    if let Some(DeValue::Table(ports)) = ports {
        for inclusion in inclusions {
            let Some(DeValue::Table(port)) = ports.get_mut(inclusion.port.as_str()).map(Spanned::get_mut)
            else {
                continue;
            };
            let mut table = document::parsed(&inclusion.table);
            let own = core::mem::replace(port, DeTable::new());
            overlay(&mut table, own);
            *port = table;
        }
    }
    Some(Spanned::new(root.span(), whole))
}

/// Puts the entries of `own` into `table`, in place of those of the same name; tables are merged.
fn overlay<'i>(table: &mut DeTable<'i>, own: DeTable<'i>) {
    for (key, value) in own {
        let inner = table.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut);
        if let (Some(DeValue::Table(inner)), DeValue::Table(_)) = (inner, value.get_ref()) {
            if let DeValue::Table(more) = value.into_inner() {
                overlay(inner, more);
            }
        } else {
            table.remove(key.get_ref().as_ref());
            table.insert(key, value);
        }
    }
}

/// A scenario of which no port names a policy, so that another one has no port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no port of it names a policy: write `policy = \"{policy}:wan\"` below the port that stands for the router"
)]
pub struct NoPolicy {
    /// Path of the other policy.
    pub policy: String,
}

/// Returns the settings, each `PATH=VALUE`, that put the policy at `path` in place of those that a scenario's
/// ports name. A port keeps the name of the policy's port.
///
/// # Errors
/// If no port of the scenario names a policy.
pub fn policy_settings(text: &str, path: &str) -> Result<Vec<String>, NoPolicy> {
    let (root, _) = DeTable::parse_recoverable(text);
    let ports = root.get_ref().get("port").and_then(|ports| ports.get_ref().as_table());
    let setting = |(name, port): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let address = port.get_ref().as_table()?.get(KEY)?.get_ref().as_str()?;
        let of = split_policy(address).1.map_or_else(String::new, |port| format!(":{port}"));
        let segments = ["port", name.get_ref(), KEY].map(str::to_owned);
        Some(format!("{}={path}{of}", crate::path::join(&segments)))
    };
    let settings: Vec<String> = ports.into_iter().flatten().filter_map(setting).collect();
    if settings.is_empty() {
        return Err(NoPolicy { policy: shorten(path) });
    }
    Ok(settings)
}
