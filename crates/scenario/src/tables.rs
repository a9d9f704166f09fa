//! Reference of the tables of a scenario file: every key with its type, default and documentation, derived
//! from the types that read them.

use std::fmt::Write as _;

use lockgate_autorate::{Parameters, laws};
use lockgate_traffic::{BurstsConfig, ReplayConfig, TrafficConfig};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;

use crate::application::{Ftp, Pages};
use crate::check::alerts::AlertTable;
use crate::check::policy::RouterTable;
use crate::file::{
    AdversaryTable, AutorateTable, BucketTable, ChangeTable, EnvelopeTable, ExpectTable, FlowTable,
    LinkTable, MatchTable, NodeClock, NodeTable, PortTable, QueueTable, RecordTable, ServiceTable, Top,
    VaryTable,
};
use crate::line_conditions::{ConditionsTable, LossBurstsTable, SlotsTable};
use crate::line_law::LineLaw;
use crate::reference::{Parameter, parameters};

/// One table of a scenario file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TableReference {
    /// Name in `lockgate list`, such as `flow`.
    pub name: &'static str,
    /// Notation in a file, such as `[flow.NAME]`.
    pub notation: &'static str,
    /// Description.
    pub doc: String,
    /// Rules that no single key states; empty if there are none.
    pub notes: &'static str,
    /// Keys.
    pub keys: Vec<Parameter>,
}

const QUEUE_NOTES: &str = "The parameters of its discipline, and those that its parent needs of each child, are written \
     beside these keys: [disciplines](disciplines.md). If both have a parameter of one name, the value beside \
     is the queue's own, and the parent's is in a table `share`.";

const MATCH_NOTES: &str = "The rules of a queue are a list, `match = [{ … }, { … }]`: the queue takes a packet if any rule holds, \
     and a rule holds if all its keys do. Children are tried in the order of `children`, and the first that \
     takes the packet gets it; a queue without `match` takes every packet that no earlier sibling has taken.";

const PORT_NOTES: &str = "Every link makes two ports, one where it leaves each of its nodes; a port that the file does not \
     mention is a FIFO called `fifo`. `\"a:b\"` is the port of node `a` towards node `b`. If several links \
     join the two, the name of the link follows: `\"a:b@up\"`. The spelling `a->b` is read too.";

const CHANGE_NOTES: &str = "What can change: `root`, `rate`, its framing and the queues of a port; `rate`, `delay` and `loss` of a link; the traffic and \
     `stop` of a flow. An empty text removes a value, so that its default holds.";

const VARY_NOTES: &str = "Several variations make every combination, except for those of one group (`together`), which advance \
     value by value. `--vary` and `--vary-together` on the command line replace those of the file.";

const ROUTER_NOTES: &str = "A policy is what `lockgate route` runs: this table, and a table `[port.NAME]` for each queue of an \
     interface, with the keys of a [port](#port). `interfaces = { wan = \"eth0\" }` names the interfaces, and \
     `subscribers` at the top is that of a scenario.";

const ALERT_NOTES: &str = "A running router looks at each condition with every sample. `lockgate apply --help` has the figures that a \
     condition may name.";

/// Returns every table, in the order of a file.
pub fn tables() -> Vec<TableReference> {
    let mut flow = table::<FlowTable>("flow", "[flow.NAME]", "");
    flow.keys.extend(parameters::<TrafficConfig>());
    let mut autorate = table::<AutorateTable>("autorate", "[port.\"a:b\".autorate]", "");
    autorate.keys.extend(parameters::<Parameters>());
    let mut laws = Laws(Vec::new());
    laws::visit(&mut laws);
    let mut tables = vec![
        table::<Top>("scenario", "the top of the file", ""),
        table::<RecordTable>("record", "[record]", ""),
        table::<NodeTable>("node", "[node.NAME]", ""),
        table::<NodeClock>("clock", "[node.NAME.clock]", ""),
        table::<ServiceTable>("service", "[node.NAME.service]", ""),
        table::<LinkTable>("link", "[link.NAME]", ""),
        table::<LineLaw>("line", "trace = { up = { … } } of a link", ""),
        table::<ConditionsTable>("direction", "[link.NAME.up] and [link.NAME.down]", ""),
        table::<LossBurstsTable>("loss_bursts", "[link.NAME.loss_bursts]", ""),
        table::<SlotsTable>("slots", "[link.NAME.slots]", ""),
        table::<PortTable>("port", "[port.\"a:b\"]", PORT_NOTES),
        autorate,
        table::<QueueTable>("queue", "[port.\"a:b\".queue.NAME]", QUEUE_NOTES),
        table::<MatchTable>("match", "match = [{ … }] of a queue", MATCH_NOTES),
        flow,
        table::<BurstsConfig>("bursts", "bursts = { … } of a flow", ""),
        table::<ReplayConfig>("replay", "replay = { … } of a flow", ""),
        table::<EnvelopeTable>("envelope", "[flow.NAME.envelope]", ""),
        table::<BucketTable>("bucket", "buckets = [{ … }] of an envelope", ""),
        table::<AdversaryTable>("adversary", "[adversary]", ""),
        table::<Pages>("pages", "pages = { … } of a flow", ""),
        table::<Ftp>("ftp", "ftp = { … } of a flow", ""),
        table::<ChangeTable>("change", "[[change]]", CHANGE_NOTES),
        table::<ExpectTable>("expect", "[[expect]]", ""),
        table::<VaryTable>("vary", "[[vary]]", VARY_NOTES),
        table::<RouterTable>("router", "[router] of a policy", ROUTER_NOTES),
        table::<AlertTable>("alert", "[[alert]] of a policy", ALERT_NOTES),
    ];
    let behind = tables.iter().position(|table| table.name == "autorate").map_or(0, |index| index + 1);
    tables.splice(behind..behind, laws.0);
    tables
}

/// Tables of the parameters of the laws of a rate.
struct Laws(Vec<TableReference>);

impl laws::Visitor for Laws {
    fn visit<C: laws::Config + JsonSchema>(&mut self, about: laws::About) {
        let keys = parameters::<C>();
        let doc = format!("The law {}. Source: {}.", about.summary, about.source);
        let notation = "[port.\"a:b\".autorate.LAW]";
        self.0.push(TableReference { name: about.name, notation, doc, notes: "", keys });
    }
}

fn table<T: JsonSchema>(name: &'static str, notation: &'static str, notes: &'static str) -> TableReference {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    let doc = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    TableReference { name, notation, doc, notes, keys: parameters::<T>() }
}

/// Quantities: type, notation, and meaning.
const UNITS: [(&str, &str, &str); 7] = [
    (
        "duration, time",
        "`20ms`, `1.5s`, `3us`, `250ns`",
        "a length of time; a time of the run counts from its start",
    ),
    ("rate", "`10mbit`, `1.5gbit`, `64kbit`", "bits per second; `kbit` is 1000 bits"),
    ("size", "`1500B`, `64kB`, `3MiB`", "bytes of a frame; `kB` is 1000 bytes, `KiB` 1024"),
    ("number of packets", "`100p`", "packets"),
    ("limit", "`100p`, `64kB`", "packets or bytes"),
    ("probability", "`0.01`, `1%`", "from 0 to 1"),
    ("text, table, list", "`\"a\"`, `{ … }`, `[ … ]`", "TOML; `true` and `false` without quotes"),
];

/// Returns the reference page of scenario files, in Markdown, without a head.
pub fn page() -> String {
    let mut page = "# Scenario files\n\nA scenario is a file in TOML. `lockgate check FILE` reports every problem of it, and \
                    `lockgate list flow` prints one of these tables. Behind a key stand its type and its default.\n\n## Units\n\n"
        .to_owned();
    page +=
        "A quantity is a text with its unit, in quotes.\n\n| type | written | what |\n| --- | --- | --- |\n";
    for (kind, notation, what) in UNITS {
        let _ = writeln!(page, "| {kind} | {notation} | {what} |");
    }
    for table in tables() {
        let _ = writeln!(page, "\n## {}\n\n`{}`. {}", table.name, table.notation, table.doc);
        if !table.notes.is_empty() {
            let _ = writeln!(page, "\n{}", table.notes);
        }
        page.push('\n');
        for key in &table.keys {
            let _ = writeln!(page, "{}", key.entry());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_every_table_is_described() {
        for table in tables() {
            assert!(!table.doc.is_empty() && !table.keys.is_empty(), "{}", table.name);
            for key in &table.keys {
                assert!(!key.doc.is_empty() && !key.takes.is_empty(), "{}.{}", table.name, key.name);
            }
        }
    }
}
