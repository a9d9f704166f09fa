//! Checks ports, the queues where links leave nodes: two for every link, written in the file or not.

use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockgate_engine::clock::ClockModel;
use lockgate_engine::overhead::{self, LinkHeader, PortOverhead};
use lockgate_engine::pacing::Pace;
use lockgate_engine::port_name;
use lockgate_engine::units::{Duration, Rate};
use toml::de::DeTable;

use super::Checker;
use super::autorate::AutorateRead;
use super::flows::Flows;
use super::network::Network;
use crate::diagnostic::{Problem, Span};
use crate::file::{PortTable, Ring};
use crate::model::{Link, PortModel};
use crate::table_reader::{TableLocation, read_table, shorten, unknown_keys};
use crate::tree::QueueTree;

/// Network and flows that trees are resolved against.
#[derive(Clone, Copy)]
pub(super) struct TreeContext<'a> {
    pub(super) network: &'a Network,
    pub(super) flows: &'a Flows,
    /// Rate of the port's link, if known and constant.
    pub(super) rate: Option<Rate>,
    /// Pace of the port itself.
    pub(super) own: Pace,
}

/// The ports, as far as they could be read.
#[derive(Default)]
pub(super) struct Ports {
    pub(super) models: Vec<PortModel>,
    /// Each port written in the file, by its index; `None` if it has problems.
    pub(super) read: BTreeMap<usize, Option<PortRead>>,
}

/// A port as read from its table.
#[derive(Clone)]
pub(super) struct PortRead {
    pub(super) root: String,
    pub(super) tree: Arc<QueueTree>,
    /// Names of the queues of all its trees.
    pub(super) queues: Vec<String>,
    /// First queue of each tree, and the position of its name.
    pub(super) roots: Vec<(String, Span)>,
    /// Roots of the trees declared as `alternatives`.
    alternatives: Vec<String>,
    /// True if an override sets the root: the file's own tree may then be unused without a warning.
    root_is_set: bool,
    pub(super) clock: Option<lockgate_engine::clock::ClockConfig>,
    pub(super) ring: Option<lockgate_engine::ring::RingConfig>,
    /// Rate of its own.
    pub(super) rate: Option<Rate>,
    pub(super) overhead: PortOverhead,
    /// Controller of the rate.
    pub(super) autorate: Option<AutorateRead>,
}

impl PortRead {
    /// Returns its rate, and the overhead of a frame of Ethernet.
    pub(super) fn pace(&self) -> Pace {
        Pace { rate: self.rate, overhead: self.overhead.on(LinkHeader::Ethernet) }
    }
}

impl Checker<'_> {
    pub(super) fn ports(&mut self, root: &DeTable<'_>, network: &Network, flows: &Flows) -> Ports {
        let mut ports = Ports { models: default_ports(network), read: BTreeMap::new() };
        let mut seen: BTreeMap<usize, Span> = BTreeMap::new();
        let names = PortNames::new(&ports.models);
        let links: Vec<&Link> = network.links.iter().flatten().collect();
        for entry in self.section(root, "port") {
            let index = names.find(&port_name::canonical(entry.name), &ports.models, &links);
            let index = index.or_else(|| self.no_such_port(entry.name, entry.key.clone(), network, &names));
            let rate = index.and_then(|index| ports.models[index].rate_of_link(&links));
            let read =
                self.port(entry.location(), TreeContext { network, flows, rate, own: Pace::default() });
            let Some(index) = index else { continue };
            if let Some(first) = seen.insert(index, entry.key.clone()) {
                let problem = Problem::new(entry.key.clone(), format!("{} is in the file twice", entry.what));
                self.note(problem.see(first, "first here").help("write its queues in one place"));
                continue;
            }
            if let Some(read) = &read {
                let port = &mut ports.models[index];
                port.clock = read.clock;
                port.ring = read.ring;
                port.pace = read.pace();
                if let Some(autorate) = &read.autorate {
                    port.autorate = Some(Arc::new(self.resolve_autorate(autorate, port, (network, flows))));
                }
                port.root.clone_from(&read.root);
                port.tree = read.tree.clone();
                port.queues.clone_from(&read.queues);
            }
            ports.read.insert(index, read);
        }
        ports
    }

    /// Notes why there is no port called `written`.
    fn no_such_port(
        &mut self,
        written: &str,
        span: Span,
        network: &Network,
        names: &PortNames,
    ) -> Option<usize> {
        let name = &*port_name::canonical(written);
        let is_repeated = self.is_repeated(&span);
        let Some((from, to)) = name.split_once(':') else {
            let problem = Problem::new(span, format!("`{}` is not the name of a port", shorten(written)));
            let help = if is_repeated { None } else { self.suggest(name, names.all()) };
            self.note(problem.help("a port is named by the link's two nodes, `\"from:to\"`").help_if(help));
            return None;
        };
        let parallel = names.parallel(name);
        if !parallel.is_empty() {
            let problem = Problem::new(span, format!("several links lead from `{from}` to `{to}`"));
            self.note(problem.help(format!("say which: `{}`", parallel.join("` or `"))));
            return None;
        }
        let mut known = true;
        for node in [from, to.split('@').next().unwrap_or(to)] {
            if !network.indices.contains_key(node) {
                let problem = self.no_such("node", node, span.clone(), network.node_names());
                self.note(problem);
                known = false;
            }
        }
        if known && network.complete {
            let problem =
                Problem::new(span, format!("no link leads from `{}` to `{}`", shorten(from), shorten(to)));
            let help = if is_repeated { None } else { self.suggest(name, names.all()) };
            self.note(problem.help_if(help.map(|help| help.replace("it is one of", "the ports are"))));
        }
        None
    }

    /// Reads one port, from the file, as a change makes it, or of a policy.
    pub(super) fn port(
        &mut self,
        location: TableLocation<'_, '_>,
        context: TreeContext<'_>,
    ) -> Option<PortRead> {
        let keys = self.cache.table_keys.of::<PortTable>();
        unknown_keys(location, &[&keys], &["queue", "autorate"], &mut self.problems);
        let noted = self.problems.len();
        let table = read_table::<PortTable>(location, &keys, &mut self.problems);
        if let Some(table) = &table {
            self.check_clock_and_ring(location, table);
        }
        let written = table.as_ref().and_then(|table| table.rate);
        let autorate = self.autorate(location, written);
        let begins = autorate.as_ref().filter(|autorate| !autorate.model.observe_only);
        let rate = begins.map(|autorate| autorate.model.bounds.start).or(written);
        let overhead = table.as_ref().and_then(|table| self.overhead_of_port(location, table));
        let own = Pace { rate, overhead: overhead.unwrap_or_default().on(LinkHeader::Ethernet) };
        let context = TreeContext { rate: [rate, context.rate].into_iter().flatten().min(), own, ..context };
        let root = table.as_ref().and_then(|table| table.root.as_deref());
        // In a router the ticks of the scheduler's clock are the times at which a port is polled.
        let tick = table.as_ref().and_then(|table| table.clock).filter(|clock| clock.hz > 0);
        let tick = tick.map(|clock| Duration::from_picos(1_000_000_000_000 / u64::from(clock.hz)));
        let exact = self.poll_interval;
        self.poll_interval = exact.map(|interval| interval.max(tick.unwrap_or(Duration::ZERO)));
        let trees = self.trees(location, root, context);
        self.poll_interval = exact;
        if let (Some(table), Some(trees)) = (&table, &trees) {
            let roots: Vec<&str> = trees.roots.iter().map(|(root, _)| root.as_str()).collect();
            self.check_alternatives(location, &table.alternatives, &roots);
        }
        let table = table.filter(|_| self.problems.len() == noted)?;
        let trees = trees?;
        let root = location.value("root");
        let root_is_set = self.set.iter().any(|(span, _)| span.start <= root.start && root.end <= span.end);
        Some(PortRead {
            root: trees.root,
            tree: Arc::new(trees.tree),
            queues: trees.queues,
            roots: trees.roots,
            alternatives: table.alternatives,
            root_is_set,
            clock: table.clock,
            ring: table.ring.map(|ring| ring.0),
            rate,
            overhead: overhead?,
            autorate,
        })
    }

    /// Checks the clock and the device ring of a port.
    fn check_clock_and_ring(&mut self, location: TableLocation<'_, '_>, table: &PortTable) {
        if let Some(clock) = table.clock
            && ClockModel::new(clock).is_none()
        {
            let problem = Problem::new(
                location.inner("clock", "hz"),
                format!("a clock of {} ticks a second", clock.hz),
            );
            self.note(problem.help("`hz` is from 1 to 1000000"));
        }
        let Some(Ring(ring)) = &table.ring else { return };
        if ring.slots == 0 {
            let problem = Problem::new(location.inner("ring", "slots"), "a ring without slots sends nothing");
            self.note(problem.help("it has at least 1 slot; leave `ring` out for none below the scheduler"));
        } else if ring.completions == 0 || ring.completions > ring.slots {
            let problem = Problem::new(
                location.inner("ring", "completions"),
                format!("`completions` cannot be {}", ring.completions),
            );
            self.note(problem.help(format!("it is from 1 to the number of slots, {}", ring.slots)));
        }
    }

    /// Checks that each alternative begins a tree of the port.
    fn check_alternatives(&mut self, location: TableLocation<'_, '_>, names: &[String], roots: &[&str]) {
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !roots.contains(&name.as_str())) {
            let span = location.element("alternatives", index);
            let problem = Problem::new(span, format!("no tree of this port begins with `{}`", shorten(name)));
            self.note(problem.help(format!("they begin with `{}`", roots.join("` or `"))));
        }
    }

    /// Checks the rate of its own that a port has, and returns its overhead.
    fn overhead_of_port(
        &mut self,
        location: TableLocation<'_, '_>,
        table: &PortTable,
    ) -> Option<PortOverhead> {
        let &PortTable { rate, overhead, mpu, framing, .. } = table;
        if rate.is_some_and(Rate::is_zero) {
            let problem = Problem::new(location.value("rate"), "a rate of zero sends nothing");
            self.note(problem.help("give it a rate such as `10mbit`, or leave it out for no limit"));
        }
        let given = overhead::KEYS.into_iter().find(|key| location.has(key));
        if let Some(key) = given.filter(|_| !location.has("rate") && !location.has("autorate")) {
            let problem = Problem::new(location.key(key), format!("`{key}` charges nothing without `rate`"));
            self.note(problem.help(
                "give the port a `rate`; links, and queues of kind `cake`, `htb` and `tbf`, have keys of their own",
            ));
        }
        self.overhead(location, (overhead, mpu, framing), PortOverhead::Packet, |bytes, mpu, framing| {
            PortOverhead::new(bytes, false, mpu, framing)
        })
    }

    /// Warns of trees that are never the root, unless an override sets the root.
    pub(super) fn warn_unused(&mut self, ports: &Ports, used: &BTreeSet<(usize, String)>) {
        let mut warnings = Vec::new();
        for (index, read) in &ports.read {
            let Some(read) = read.as_ref().filter(|read| !read.root_is_set) else { continue };
            let stands_ready = |name: &String| *name == read.root || read.alternatives.contains(name);
            for (name, span) in read.roots.iter().filter(|(name, _)| !stands_ready(name)) {
                if !used.contains(&(*index, name.clone())) {
                    let problem = Problem::new(span.clone(), format!("the queue `{name}` is never used"));
                    warnings.push(problem.help(format!(
                        "no `children` name it, `root` is `{}`, no change makes it the root, and `alternatives` does not name it",
                        read.root
                    )));
                }
            }
        }
        for warning in warnings {
            self.warn(warning);
        }
    }
}

impl PortModel {
    /// Returns its name without that of a link.
    pub(super) fn pair(&self) -> &str {
        self.name.split('@').next().unwrap_or(&self.name)
    }

    /// Returns the rate of its link, one of `links`; `None` if the direction has a trace.
    fn rate_of_link(&self, links: &[&Link]) -> Option<Rate> {
        let link = links.get(self.link)?;
        link.trace[self.direction].is_none().then(|| link.rate(self.direction))
    }
}

/// Ports by name.
struct PortNames {
    indices: BTreeMap<String, usize>,
}

impl PortNames {
    fn new(models: &[PortModel]) -> Self {
        Self { indices: models.iter().enumerate().map(|(index, port)| (port.name.clone(), index)).collect() }
    }

    /// Returns the index of the port called `name`; `a:b@wan` names the link even if there is only one.
    fn find(&self, name: &str, models: &[PortModel], links: &[&Link]) -> Option<usize> {
        self.indices.get(name).copied().or_else(|| {
            let (pair, link) = name.split_once('@')?;
            let index = *self.indices.get(pair)?;
            (links.get(models[index].link)?.name == link).then_some(index)
        })
    }

    /// Returns the names of the ports that differ from `pair` in the link that follows it, in their order.
    fn parallel(&self, pair: &str) -> Vec<&str> {
        let first = format!("{pair}@");
        let from = self.indices.range::<str, _>((Bound::Included(first.as_str()), Bound::Unbounded));
        let mut found: Vec<(&String, &usize)> =
            from.take_while(|(name, _)| name.starts_with(&first)).collect();
        found.sort_by_key(|(_, index)| **index);
        found.into_iter().map(|(name, _)| name.as_str()).collect()
    }

    fn all(&self) -> impl Iterator<Item = &str> + Clone {
        self.indices.keys().map(String::as_str)
    }
}

/// Returns two ports for each link, with a FIFO each.
fn default_ports(network: &Network) -> Vec<PortModel> {
    let links: Vec<&Link> = network.links.iter().flatten().collect();
    let mut joined: BTreeMap<[usize; 2], usize> = BTreeMap::new();
    for link in &links {
        let [a, b] = link.ends;
        *joined.entry([a.min(b), a.max(b)]).or_default() += 1;
    }
    let fifo = Arc::new(QueueTree::fifo());
    let mut ports = Vec::with_capacity(links.len() * 2);
    for (index, link) in links.iter().enumerate() {
        for direction in 0..2 {
            let [from, to] = [link.ends[direction], link.ends[1 - direction]];
            let pair = format!("{}:{}", network.nodes[from].name, network.nodes[to].name);
            let parallel = joined.get(&[from.min(to), from.max(to)]).is_some_and(|count| *count > 1);
            ports.push(PortModel {
                name: if parallel { format!("{pair}@{}", link.name) } else { pair },
                from,
                to,
                link: index,
                direction,
                clock: None,
                ring: None,
                pace: Pace::default(),
                autorate: None,
                root: "fifo".to_owned(),
                tree: fifo.clone(),
                queues: vec!["fifo".to_owned()],
            });
        }
    }
    ports
}
