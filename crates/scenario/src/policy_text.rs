//! Texts of policies: values written back into one, with its comments, and ports of a scenario taken out as
//! one.
//!
//! ```text
//! tune ... port.router:modem.rate = 9.2mbit     [port."router:modem"]  policy = "house.toml:wan"
//!                                          -->  house.toml:  [port.wan]  rate = "9.2mbit"   # its comment
//! ```

mod error;

use std::collections::BTreeSet;

use lockgate_engine::overhead::{FrameOverhead, LinkHeader};
use lockgate_engine::port_name;
use lockgate_engine::units::{Bytes, Rate};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

pub use self::error::PolicyTextError;
use crate::diagnostic::{Problems, Source};
use crate::embedding::{TABLES, embed_tables};
use crate::files::Files;
use crate::model::{PortModel, Scenario};
use crate::overhead_keys::port_keys;
use crate::path::split_policy;
use crate::path::{Override, apply_all, resolved};
use crate::policy::{Policy, read_policy};
use crate::table_reader::shorten;
use crate::tree::lower;

/// A value of a policy that a scenario's port names.
#[derive(Clone, Debug)]
pub struct PolicyValue {
    /// Path of the policy's file, as the scenario names it.
    pub file: String,
    /// Value, by its path in the policy.
    pub value: Override,
}

/// Returns the port of `document` whose name is `name`, in either spelling.
fn port_of<'d>(document: &'d DocumentMut, name: &str) -> Option<&'d dyn TableLike> {
    let ports = document.get("port")?.as_table_like()?;
    let name = port_name::canonical(name);
    ports.iter().find(|(key, _)| port_name::canonical(key) == name)?.1.as_table_like()
}

/// Returns the policy's value that a setting `PATH=VALUE` of a scenario stands for: below a port that names a
/// policy.
///
/// # Errors
/// If the setting is malformed, or does not name a value of a policy.
pub fn policy_value(
    scenario: &str,
    setting: &str,
    files: &dyn Files,
) -> Result<PolicyValue, PolicyTextError> {
    let wrong = |why| PolicyTextError::NotAValue { setting: shorten(setting), why: Box::new(why) };
    let given = Override::parse(setting)?;
    let given = resolved(scenario, &[given]).remove(0);
    let document: DocumentMut = scenario.parse().map_err(|_| wrong(PolicyTextError::Scenario))?;
    let [section, port, rest @ ..] = given.path() else { return Err(wrong(PolicyTextError::NotOfAPort)) };
    let named = (section == "port" && !rest.is_empty()).then(|| port_of(&document, port)).flatten();
    let named = named.and_then(|port| port.get("policy")).and_then(Item::as_str);
    let address = named.ok_or_else(|| wrong(PolicyTextError::NotOfAPolicy))?;
    let (file, own) = split_policy(address);
    let own = match own {
        Some(own) => own.to_owned(),
        None => only_port(file, files).map_err(wrong)?,
    };
    let value = given.at([&["port".to_owned(), own], rest].concat());
    Ok(PolicyValue { file: file.to_owned(), value })
}

/// Returns the name of the only port of a policy.
fn only_port(file: &str, files: &dyn Files) -> Result<String, PolicyTextError> {
    let bytes = files.load(file).map_err(PolicyTextError::Load)?;
    let document: DocumentMut =
        String::from_utf8_lossy(&bytes).parse().map_err(|_| PolicyTextError::File(shorten(file)))?;
    let ports = document.get("port").and_then(Item::as_table_like);
    match ports.map(|ports| ports.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()).as_deref() {
        Some([only]) => Ok(only.clone()),
        _ => Err(PolicyTextError::SeveralPorts(shorten(file))),
    }
}

/// Returns the reason, in words, why the port that a setting of `scenario` changes sends more than its
/// line: the slowest link that all its packets pass, counted in full frames. `None` if it does not, or the
/// setting is of no port.
pub fn beyond_line(scenario: &Scenario, setting: &Override) -> Option<String> {
    const FULL_FRAME: Bytes = Bytes(1514);
    let resolved = resolved(&scenario.to_toml(), core::slice::from_ref(setting));
    let [section, name, ..] = resolved[0].path() else { return None };
    let index = scenario.port(name).filter(|_| section == "port")?;
    let pace = lower(scenario.ports[index].pace, scenario.ports[index].tree.pace());
    let rate = pace.rate?;
    let paths = scenario.flows.iter().filter_map(|flow| scenario.routes.path(flow.from, flow.to));
    let mut through = paths.filter(|path| path.contains(&index));
    let first = through.next()?;
    let shared = through.fold(first, |mut shared, path| {
        shared.retain(|port| path.contains(port));
        shared
    });
    // Full frames a second, without division: bits of the one times bytes of a frame on the other.
    let cost = |rate: Rate, other: &FrameOverhead| {
        u128::from(rate.as_bits()) * u128::from(other.on_link(FULL_FRAME).0)
    };
    let slowest = shared.into_iter().map(|port| &scenario.ports[port]).min_by_key(|port| {
        let link = &scenario.links[port.link];
        u128::from(link.mean_rate(port.direction).as_bits()) * 1_000_000
            / u128::from(link.overhead.on_link(FULL_FRAME).0)
    })?;
    let link = &scenario.links[slowest.link];
    let carried = link.mean_rate(slowest.direction);
    (cost(rate, &link.overhead) > cost(carried, &pace.overhead)).then(|| {
        let frames = if rate > carried { "" } else { " in frames of 1514 bytes" };
        format!(
            "the port `{}` would send {rate}, and the link `{}` behind or before it carries {carried}: that is less{frames}",
            scenario.ports[index].name, link.name
        )
    })
}

/// Reads the policy `text`, called `name`, with those of `settings` that are of its ports.
///
/// # Errors
/// Returns every problem of the policy as it is then.
pub fn read_with(text: &str, name: &str, settings: &[Override]) -> Result<Policy, Problems> {
    let document: DocumentMut = text.parse().unwrap_or_default();
    let is_own = |one: &&Override| match one.path() {
        [section, port, ..] => section == "port" && port_of(&document, port).is_some(),
        _ => false,
    };
    let own: Vec<Override> = settings.iter().filter(is_own).cloned().collect();
    let set = apply_all(text, &own).map_err(|problems| Problems::new(&Source::new(name, text), problems))?;
    read_policy(&set, name)
}

/// Returns the text of a policy with these values in it, comments kept.
///
/// # Errors
/// If the text is no TOML, a value cannot be written into it, or it is not a policy then.
pub fn with_values(
    text: &str,
    name: &str,
    values: &[Override],
    files: &dyn Files,
) -> Result<String, PolicyTextError> {
    let mut document: DocumentMut = text.parse().map_err(|_| PolicyTextError::NotToml)?;
    for value in values {
        value.apply(&mut document).map_err(PolicyTextError::Value)?;
    }
    let written = document.to_string();
    let whole = embed_tables(&written, files)?;
    read_policy(&whole, name).map_err(|problems| PolicyTextError::Policy(first(&problems)))?;
    Ok(written)
}

/// Returns the first problem in a line.
fn first(problems: &crate::Problems) -> String {
    problems.iter().next().map_or_else(String::new, |problem| {
        let line = problem.position().map_or_else(String::new, |(line, _)| format!("line {line}: "));
        let help = problem.help_text().map_or_else(String::new, |help| format!(" ({help})"));
        format!("{line}{problem}{help}")
    })
}

/// Ports of a scenario that become a policy.
#[derive(Clone, Copy, Debug)]
pub struct Exported<'a> {
    /// Port whose queues are those of what leaves by the interface.
    pub port: &'a str,
    /// Port whose queues are those of what arrives by it, if any.
    pub arriving: Option<&'a str>,
    /// Interface.
    pub interface: &'a str,
}

/// Share of a link's rate that a port without a rate gets, in per cent: the queue is in the router then.
const SHARE_OF_LINE: u64 = 95;

/// Returns ports of a scenario as a policy for an interface: their keys, and the queues that are in use. A
/// port without a rate or a shaper gets 95 % of its link's, and what the link takes of it for a frame.
///
/// # Errors
/// If there is no such port, or its queues cannot be a policy's.
pub fn exported(
    scenario: &Scenario,
    ports: Exported<'_>,
    files: &dyn Files,
) -> Result<String, PolicyTextError> {
    let document: DocumentMut = scenario.to_toml().parse().map_err(|_| PolicyTextError::Scenario)?;
    let mut policy = DocumentMut::new();
    policy["title"] = toml_edit::value(scenario.title.as_str());
    for key in TABLES {
        if let Some(path) = document.get(key).and_then(Item::as_str) {
            policy[key] = toml_edit::value(path);
        }
    }
    let mut router = Table::new();
    router["mode"] = toml_edit::value(if ports.arriving.is_some() { "both" } else { "egress" });
    let mut interfaces = toml_edit::InlineTable::new();
    interfaces.insert("wan", ports.interface.into());
    router["interfaces"] = toml_edit::value(interfaces);
    policy["router"] = Item::Table(router);
    let mut tables = Table::new();
    tables.set_implicit(true);
    for (name, own) in [(Some(ports.port), "wan"), (ports.arriving, "wan:in")] {
        let Some(name) = name else { continue };
        let model = scenario.ports.iter().find(|port| port.name == port_name::canonical(name));
        let Some(model) = model else {
            let near = crate::nearest::suggest(name, scenario.ports.iter().map(|port| port.name.as_str()));
            return Err(PolicyTextError::NoPort { port: shorten(name), near });
        };
        let mut table = Table::new();
        own_keys(&mut table, &document, model, files)?;
        keep_used(&mut table, model);
        add_rate(&mut table, scenario, model)?;
        tables.insert(own, Item::Table(table));
    }
    policy["port"] = Item::Table(tables);
    let text = policy.to_string();
    let whole = embed_tables(&text, files)?;
    read_policy(&whole, "the policy")
        .map_err(|problems| PolicyTextError::NotAPort { port: shorten(ports.port), why: first(&problems) })?;
    Ok(text)
}

/// Adds the keys of a port as written, over those of the policy that it names.
fn own_keys(
    table: &mut Table,
    document: &DocumentMut,
    model: &PortModel,
    files: &dyn Files,
) -> Result<(), PolicyTextError> {
    let Some(port) = port_of(document, &model.name) else { return Ok(()) };
    if let Some(address) = port.get("policy").and_then(Item::as_str) {
        let (file, own) = split_policy(address);
        let unread = |why| PolicyTextError::Unreadable { file: shorten(file), why };
        let bytes = files.load(file).map_err(unread)?;
        let text = String::from_utf8_lossy(&bytes);
        let policy: DocumentMut = text.parse().map_err(|_| PolicyTextError::FileNotToml(shorten(file)))?;
        let own = own.map_or_else(|| only_port(file, files), |own| Ok(own.to_owned()))?;
        if let Some(port) = port_of(&policy, &own) {
            overlay(table, port);
        }
    }
    overlay(table, port);
    table.remove("policy");
    Ok(())
}

/// Puts the entries of `own` into `table`, in place of those of the same name; tables are merged.
fn overlay(table: &mut dyn TableLike, own: &dyn TableLike) {
    for (key, item) in own.iter() {
        let inner = table.get_mut(key).and_then(Item::as_table_like_mut);
        match (inner, item.as_table_like()) {
            (Some(inner), Some(more)) => overlay(inner, more),
            _ => {
                table.insert(key, item.clone());
            }
        }
    }
}

/// Removes the queues that are in no tree at the start.
fn keep_used(table: &mut Table, model: &PortModel) {
    let used: BTreeSet<&str> = model.tree.queues().iter().map(|queue| &*queue.name).collect();
    let is_used = |name: &str| {
        used.contains(name)
            || used.iter().any(|used| used.split_once('/').is_some_and(|(group, _)| group == name))
    };
    let Some(queues) = table.get_mut("queue").and_then(Item::as_table_like_mut) else { return };
    let unused: Vec<String> =
        queues.iter().map(|(name, _)| name.to_owned()).filter(|name| !is_used(name)).collect();
    for name in unused {
        queues.remove(&name);
    }
    if queues.len() > 1 && !table.contains_key("root") {
        table.insert("root", toml_edit::value(model.root.as_str()));
    } else if used.contains(model.root.as_str()) && table.contains_key("root") {
        table["root"] = toml_edit::value(model.root.as_str());
    }
}

/// Adds the rate of the link to a port that has none, and the bytes that the link takes for a frame.
fn add_rate(table: &mut Table, scenario: &Scenario, model: &PortModel) -> Result<(), PolicyTextError> {
    let link = &scenario.links[model.link];
    if table.contains_key("rate") || model.tree.rate().is_some() {
        return Ok(());
    }
    let rate = link.mean_rate(model.direction);
    let own = lockgate_engine::units::Rate::from_bits(rate.as_bits() / 100 * SHARE_OF_LINE);
    let mut value = Value::from(own.to_string());
    value.decor_mut().set_suffix(format!("   # {SHARE_OF_LINE} % of the {rate} of the link `{}`", link.name));
    table.insert("rate", Item::Value(value));
    if !link.overhead.is_none() {
        let keys = port_keys(link.overhead.of_packets(LinkHeader::Ethernet));
        let keys: DocumentMut = keys.parse().map_err(|_| PolicyTextError::Framing)?;
        overlay(table, keys.as_table());
    }
    Ok(())
}
