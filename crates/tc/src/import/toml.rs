//! Writes a tree of queues as TOML values: the only file with the notation of scenarios.

use lockgate_engine::units::Bytes;
use toml_edit::{Array, InlineTable, Item, Table, Value as Toml};

use super::conditions::Rule;
use super::tree::Queue;
use crate::number::{rate_text, time_text};
use crate::value::{Curve, Value};

/// Returns the table of a port: `root`, and `queue.NAME = { ... }` for each queue.
pub(super) fn port(root: &Queue) -> Table {
    let mut queues = Table::new();
    queues.set_dotted(true);
    add(root, &mut queues);
    let mut port = Table::new();
    port.insert("root", Item::Value(root.name.as_str().into()));
    port.insert("queue", Item::Table(queues));
    port
}

/// Adds a queue and all queues below it.
fn add(queue: &Queue, queues: &mut Table) {
    let mut table = InlineTable::new();
    table.insert("kind", queue.kind.into());
    extend(&mut table, &queue.parameters);
    if !queue.shares.is_empty() {
        let mut shares = InlineTable::new();
        extend(&mut shares, &queue.shares);
        table.insert("share", shares.into());
    }
    if !queue.children.is_empty() {
        let names: Array = queue.children.iter().map(|child| child.name.as_str()).collect();
        table.insert("children", names.into());
    }
    if !queue.rules.is_empty() {
        let rules: Array = queue.rules.iter().map(rule).collect();
        table.insert("match", rules.into());
    }
    queues.insert(&queue.name, Item::Value(table.into()));
    for child in &queue.children {
        add(child, queues);
    }
}

fn extend(table: &mut InlineTable, parameters: &[(&'static str, Value)]) {
    table.extend(parameters.iter().map(|(name, parameter)| (*name, value(parameter))));
}

/// Returns a rule of a queue's `match`.
fn rule(rule: &Rule) -> InlineTable {
    let mut table = InlineTable::new();
    if let Some(protocol) = rule.protocol {
        table.insert("protocol", i64::from(protocol).into());
    }
    for (key, prefix) in [("source", rule.source), ("destination", rule.destination)] {
        if let Some((address, length)) = prefix {
            table.insert(key, format!("{address}/{length}").into());
        }
    }
    for (key, ports) in [("source_port", rule.source_port), ("destination_port", rule.destination_port)] {
        match ports {
            Some((low, high)) if low == high => table.insert(key, i64::from(low).into()),
            Some((low, high)) => table.insert(key, format!("{low}-{high}").into()),
            None => None,
        };
    }
    if !rule.code_points.is_empty() {
        let codes: Array = rule.code_points.iter().map(|code| i64::from(*code)).collect();
        table.insert("dscp", codes.into());
    }
    if !rule.tcp_flags.is_empty() {
        let flags: Array = rule.tcp_flags.iter().copied().collect();
        table.insert("tcp_flags", flags.into());
    }
    if !rule.tcp_flags_clear.is_empty() {
        let flags: Array = rule.tcp_flags_clear.iter().copied().collect();
        table.insert("tcp_flags_clear", flags.into());
    }
    if let Some((value, mask)) = rule.mark {
        let text = if mask == u32::MAX { format!("{value:#x}") } else { format!("{value:#x}/{mask:#x}") };
        table.insert("mark", text.into());
    }
    if rule.preference > 0 {
        table.insert("preference", i64::from(rule.preference).into());
    }
    if let Some((low, high)) = rule.length {
        table.insert("length", format!("{low}B-{high}B").into());
    }
    table
}

/// Returns the value of a parameter.
fn value(parameter: &Value) -> Toml {
    match parameter {
        Value::Flag => true.into(),
        Value::Switch(is_on) => (*is_on).into(),
        Value::Rate(rate) => rate_text(*rate).into(),
        Value::Size(Bytes(bytes)) => format!("{bytes}B").into(),
        Value::Offset(bytes) => format!("{bytes}B").into(),
        Value::Time(time) => time_text(*time).into(),
        Value::Packets(count) | Value::Threshold(count) => format!("{count}p").into(),
        Value::Number(number) => whole(*number),
        Value::Real(number) => (*number).into(),
        Value::Percent(number) => (number / 100.0).into(),
        Value::Choice(word) => (*word).into(),
        Value::Numbers(numbers) => numbers.iter().map(|number| whole(*number)).collect::<Array>().into(),
        Value::Sizes(sizes) => sizes.iter().map(|Bytes(bytes)| format!("{bytes}B")).collect::<Array>().into(),
        Value::Minor(minor) => i64::from(*minor).into(),
        Value::Curve(curve) => table_of(curve).into(),
        // Those of `netem` are of a link, not of a queue.
        Value::Delay(..) | Value::Losses(_) | Value::Slot(_) => parameter.to_string().into(),
    }
}

/// TOML's integers end at `i64::MAX`; no parameter reaches it.
fn whole(number: u64) -> Toml {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

fn table_of(curve: &Curve) -> InlineTable {
    let mut table = InlineTable::new();
    for (key, text) in
        [("m1", curve.m1.map(rate_text)), ("d", curve.d.map(time_text)), ("m2", curve.m2.map(rate_text))]
    {
        if let Some(text) = text {
            table.insert(key, text.into());
        }
    }
    table
}

/// Returns the text of a rule.
#[cfg(test)]
pub(super) fn rule_text(of: &Rule) -> String {
    Toml::from(rule(of)).to_string()
}

/// Returns the text of parameters, without spaces around `=`.
#[cfg(test)]
pub(super) fn parameters_text(parameters: &[(&'static str, Value)]) -> String {
    let texts = parameters.iter().map(|(name, parameter)| format!("{name}={}", value(parameter)));
    texts.collect::<Vec<_>>().join(" ")
}
