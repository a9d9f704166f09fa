//! Builder of scenarios from Rust values, without a file.
//!
//! The builder writes the file that a user would write, and reads it: a built scenario has passed the same
//! checks, with the same messages, and [`Scenario::to_toml`] gives its text.

use lockgate_engine::units::{Bytes, Duration, Instant, Limit, Packets, Probability, Rate};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use crate::diagnostic::{Problem, Problems, Source};
use crate::files::Files;
use crate::model::Scenario;
use crate::reader::read;

/// Value of one key of a scenario: a quantity with its unit, a text, a number, a list or a table.
#[derive(Clone, Debug)]
pub struct Setting(Value);

impl Setting {
    /// Creates a table, such as `{ law = "exponential", mean = "2ms" }`.
    pub fn table<'k>(entries: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        Self(Value::InlineTable(entries.into_iter().map(|(key, entry)| (key, entry.0)).collect()))
    }

    /// Creates a list.
    pub fn list(elements: impl IntoIterator<Item = Self>) -> Self {
        Self(Value::Array(elements.into_iter().map(|element| element.0).collect()))
    }
}

macro_rules! settings {
    (as text: $($quantity:ty),*; as they are: $($plain:ty),*) => {
        $(impl From<$quantity> for Setting {
            fn from(quantity: $quantity) -> Self {
                Self(quantity.to_string().into())
            }
        })*
        $(impl From<$plain> for Setting {
            fn from(plain: $plain) -> Self {
                Self(plain.into())
            }
        })*
    };
}

settings!(
    as text: Bytes, Duration, Instant, Limit, Packets, Probability, Rate;
    as they are: &str, String, bool, i64, f64
);

/// Defines the keys that every part of a scenario has in common: any, by name.
macro_rules! keys {
    ($($part:ident)*) => {$(
        impl $part {
            /// Sets a key of the [reference](fn@crate::reference), such as `delay`. The last value of a key
            /// counts.
            #[must_use]
            pub fn with(mut self, key: &str, setting: impl Into<Setting>) -> Self {
                self.table.insert(key, value(setting.into().0));
                self
            }
        }
    )*};
}

keys!(NodeBuilder LinkBuilder PortBuilder QueueBuilder FlowBuilder ExpectationBuilder);

/// A host or a router.
#[derive(Clone, Debug, Default)]
pub struct NodeBuilder {
    table: Table,
}

/// A link between two nodes, the same in both directions.
#[derive(Clone, Debug)]
pub struct LinkBuilder {
    table: Table,
}

impl LinkBuilder {
    /// Creates a link of `rate` between two nodes.
    pub fn new(between: [&str; 2], rate: Rate) -> Self {
        let mut table = Table::new();
        table.insert("between", value(Array::from_iter(between)));
        Self { table }.with("rate", rate)
    }

    /// Sets the propagation delay; zero by default.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        self.with("delay", delay)
    }

    /// Sets the probability that a packet is lost; zero by default.
    #[must_use]
    pub fn loss(self, loss: Probability) -> Self {
        self.with("loss", loss)
    }
}

/// A queue and those below it.
#[derive(Clone, Debug)]
pub struct QueueBuilder {
    name: String,
    table: Table,
    children: Vec<Self>,
}

impl QueueBuilder {
    /// Creates a queue of a kind, such as `fifo`.
    pub fn new(name: &str, kind: &str) -> Self {
        let queue = Self { name: name.to_owned(), table: Table::new(), children: Vec::new() };
        queue.with("kind", kind)
    }

    /// Adds a queue below it, behind those already there.
    #[must_use]
    pub fn child(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    /// Sets the limit on its packets or bytes.
    #[must_use]
    pub fn limit(self, limit: Limit) -> Self {
        self.with("limit", limit)
    }

    /// Adds its table, and those of the queues below it, to the `queues` of the port called `port`.
    fn write(&self, port: &str, queues: &mut Table, problems: &mut Vec<Problem>) {
        let mut table = self.table.clone();
        if !self.children.is_empty() {
            let names: Array = self.children.iter().map(|child| child.name.as_str()).collect();
            table.insert("children", value(names));
        }
        insert(queues, &format!("port.{port}.queue"), &self.name, table, problems);
        for child in &self.children {
            child.write(port, queues, problems);
        }
    }
}

/// The queue where a link leaves a node.
#[derive(Clone, Debug)]
pub struct PortBuilder {
    table: Table,
    trees: Vec<QueueBuilder>,
}

impl PortBuilder {
    /// Creates a port with a tree of queues.
    pub fn new(root: QueueBuilder) -> Self {
        let port = Self { table: Table::new(), trees: Vec::new() };
        let port = port.with("root", root.name.as_str());
        Self { trees: vec![root], ..port }
    }

    /// Adds a tree that a change can make the root.
    #[must_use]
    pub fn alternative(mut self, root: QueueBuilder) -> Self {
        self.trees.push(root);
        self
    }

    fn write(&self, name: &str, problems: &mut Vec<Problem>) -> Table {
        let mut table = self.table.clone();
        if self.trees.len() > 1 {
            let names: Array = self.trees[1..].iter().map(|tree| tree.name.as_str()).collect();
            table.insert("alternatives", value(names));
        }
        let mut queues = section();
        for tree in &self.trees {
            tree.write(name, &mut queues, problems);
        }
        table.insert("queue", Item::Table(queues));
        table
    }
}

/// A flow of packets, or a group of flows.
#[derive(Clone, Debug)]
pub struct FlowBuilder {
    table: Table,
}

impl FlowBuilder {
    /// Creates a flow from one node to another.
    pub fn new(from: &str, to: &str) -> Self {
        Self { table: Table::new() }.with("from", from).with("to", to)
    }

    /// Sets the length of each frame.
    #[must_use]
    pub fn size(self, size: Bytes) -> Self {
        self.with("size", size)
    }

    /// Sets the time between its packets.
    #[must_use]
    pub fn gap(self, gap: Duration) -> Self {
        self.with("gap", gap)
    }

    /// Sets the rate of its frames, instead of the time between them.
    #[must_use]
    pub fn rate(self, rate: Rate) -> Self {
        self.with("rate", rate)
    }

    /// Sets its start; that of the run by default.
    #[must_use]
    pub fn start(self, start: Duration) -> Self {
        self.with("start", start)
    }
}

/// An expectation on a metric.
#[derive(Clone, Debug)]
pub struct ExpectationBuilder {
    table: Table,
}

impl ExpectationBuilder {
    /// Creates an expectation on the metric at an address, such as `flow.voice.owd.p99`, without a bound
    /// yet.
    pub fn new(that: &str) -> Self {
        Self { table: Table::new() }.with("that", that)
    }

    /// Demands less than `limit`.
    #[must_use]
    pub fn below(self, limit: impl Into<Setting>) -> Self {
        self.with("below", limit)
    }

    /// Demands more than `limit`.
    #[must_use]
    pub fn above(self, limit: impl Into<Setting>) -> Self {
        self.with("above", limit)
    }
}

/// A scenario in the making.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
///
/// use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
/// use lockgate_scenario::builder::{
///     ExpectationBuilder, FlowBuilder, LinkBuilder, NodeBuilder, PortBuilder, QueueBuilder, ScenarioBuilder,
/// };
///
/// let fair = QueueBuilder::new("fair", "drr")
///     .child(QueueBuilder::new("voice", "fifo").with("quantum", Bytes(600)))
///     .child(QueueBuilder::new("rest", "fifo").with("quantum", Bytes(1500)));
/// let mut builder = ScenarioBuilder::new("a fair line", Duration::from_secs(10));
/// builder
///     .node("home", NodeBuilder::default())
///     .node("server", NodeBuilder::default())
///     .link("wan", LinkBuilder::new(["home", "server"], Rate::from_bits(10_000_000)))
///     .port("home:server", PortBuilder::new(fair))
///     .flow("data", FlowBuilder::new("home", "server").size(Bytes(1500)).gap(Duration::from_millis(2)))
///     .change(Instant::ZERO + Duration::from_secs(5), [("link.wan.rate", Rate::from_bits(2_000_000))])
///     .expect(ExpectationBuilder::new("flow.data.owd.p99").below(Duration::from_millis(20)));
/// let files = BTreeMap::<String, Arc<[u8]>>::new();
/// let scenario = builder.build(&files).expect("a valid scenario");
/// assert_eq!(scenario.ports[0].queues, ["fair", "voice", "rest"]);
/// assert!(scenario.to_toml().contains("rate = \"10mbit\""));
/// ```
#[derive(Clone, Debug)]
pub struct ScenarioBuilder {
    title: String,
    document: DocumentMut,
    /// Names that were added twice: a file with them would not be TOML.
    problems: Vec<Problem>,
}

impl ScenarioBuilder {
    /// Creates a scenario without nodes, links and flows.
    pub fn new(title: &str, duration: Duration) -> Self {
        let mut document = DocumentMut::new();
        document.insert("title", value(title));
        document.insert("duration", value(duration.to_string()));
        Self { title: title.to_owned(), document, problems: Vec::new() }
    }

    /// Sets the time at the start that statistics leave out; none by default.
    pub fn warmup(&mut self, warmup: Duration) -> &mut Self {
        self.document.insert("warmup", value(warmup.to_string()));
        self
    }

    /// Sets a key of `[record]`.
    pub fn record(&mut self, key: &str, setting: impl Into<Setting>) -> &mut Self {
        let record = self.document.entry("record").or_insert_with(|| Item::Table(Table::new()));
        if let Some(record) = record.as_table_mut() {
            record.insert(key, value(setting.into().0));
        }
        self
    }

    /// Adds a node.
    pub fn node(&mut self, name: &str, node: NodeBuilder) -> &mut Self {
        self.add("node", name, node.table)
    }

    /// Adds a link.
    pub fn link(&mut self, name: &str, link: LinkBuilder) -> &mut Self {
        self.add("link", name, link.table)
    }

    /// Adds the queues of a port, which is called `from:to`. Other ports have one FIFO.
    #[allow(clippy::needless_pass_by_value, reason = "as the other parts are passed")]
    pub fn port(&mut self, name: &str, port: PortBuilder) -> &mut Self {
        let table = port.write(name, &mut self.problems);
        self.add("port", name, table)
    }

    /// Adds a flow.
    pub fn flow(&mut self, name: &str, flow: FlowBuilder) -> &mut Self {
        self.add("flow", name, flow.table)
    }

    /// Adds a change of values, by path, at one time.
    pub fn change<'p, S: Into<Setting>>(
        &mut self,
        at: Instant,
        settings: impl IntoIterator<Item = (&'p str, S)>,
    ) -> &mut Self {
        let mut table = Table::new();
        table.insert("at", value(at.to_string()));
        let set: InlineTable = settings.into_iter().map(|(path, setting)| (path, setting.into().0)).collect();
        table.insert("set", value(set));
        self.append("change", table)
    }

    /// Adds an expectation.
    pub fn expect(&mut self, expectation: ExpectationBuilder) -> &mut Self {
        self.append("expect", expectation.table)
    }

    /// Returns the text of the scenario's file, unchecked.
    pub fn to_toml(&self) -> String {
        self.document.to_string()
    }

    /// Checks the scenario, and loads the files that it names.
    ///
    /// # Errors
    /// Every problem at once, with its position in [`to_toml`](Self::to_toml). If names were added twice,
    /// only these.
    pub fn build(&self, files: &dyn Files) -> Result<Scenario, Problems> {
        let text = self.to_toml();
        if !self.problems.is_empty() {
            return Err(Problems::new(&Source::new(&self.title, &text), self.problems.clone()));
        }
        read(&text, &self.title, files, &[])
    }

    fn add(&mut self, section_name: &str, name: &str, table: Table) -> &mut Self {
        let tables = self.document.entry(section_name).or_insert_with(|| Item::Table(section()));
        if let Some(tables) = tables.as_table_mut() {
            insert(tables, section_name, name, table, &mut self.problems);
        }
        self
    }

    fn append(&mut self, list: &str, table: Table) -> &mut Self {
        let tables = self.document.entry(list).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        if let Some(tables) = tables.as_array_of_tables_mut() {
            tables.push(table);
        }
        self
    }
}

/// Returns a table that holds only tables, and needs no header of its own.
fn section() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

/// Adds a table to a section, or notes that its name is there already.
fn insert(section: &mut Table, section_name: &str, name: &str, table: Table, problems: &mut Vec<Problem>) {
    if section.contains_key(name) {
        let problem = Problem::new(None, format!("`{section_name}.{name}` was added twice"));
        problems.push(problem.help("give each its own name"));
        return;
    }
    section.insert(name, Item::Table(table));
}
