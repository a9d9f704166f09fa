//! Checks nodes and links.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockgate_engine::overhead::{FrameOverhead, LinkHeader, PacketOverhead};
use lockgate_engine::units::{Duration, Instant, Rate};
use toml::de::DeTable;

use super::{Checker, Entry};
use crate::diagnostic::Problem;
use crate::directions::Directions;
use crate::file::{LinkTable, NodeClock, NodeTable, ServiceTable, TraceFiles, TraceSource};
use crate::line_table::{LineTable, PathTrace};
use crate::model::{BackDirection, Link, NodeModel, Service};
use crate::routes::Routes;
use crate::table_reader::TableLocation;
use crate::trace::LinkTrace;

/// Limit on nodes: more exceed what one machine runs.
const MOST_NODES: usize = 1_000_000;

/// Shortest trace whose repetition is reported: a shorter one is a pattern that is meant to repeat.
const PATTERN: Duration = Duration::from_millis(1000);

/// Tick of hosts: 250 a second, as in the kernels of Debian and Ubuntu.
const DEFAULT_TICK: Duration = Duration::from_millis(4);
const SHORTEST_TICK: Duration = Duration::from_micros(1);
const LONGEST_TICK: Duration = Duration::from_secs(1);

/// One direction of a recorded or generated line, as far as it could be read.
#[derive(Clone, Default)]
struct TracedLine {
    capacity: Option<Arc<LinkTrace>>,
    path: Option<Arc<PathTrace>>,
    /// True if it replaces the rate of the link, also if it could not be read.
    gives_rate: bool,
}

/// The network, as far as it could be read.
#[derive(Default)]
pub(super) struct Network {
    pub(super) nodes: Vec<NodeModel>,
    /// Index of each node, those with problems included.
    pub(super) indices: BTreeMap<String, usize>,
    /// Links in the order of the file; `None` if a link has problems.
    pub(super) links: Vec<Option<Link>>,
    /// Names of all links, those with problems included.
    pub(super) link_names: Vec<String>,
    /// True if every node and link could be read: a missing name is then an error of its own.
    pub(super) complete: bool,
    pub(super) routes: Routes,
}

impl Network {
    pub(super) fn node_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.nodes.iter().map(|node| node.name.as_str())
    }
}

impl Checker<'_> {
    pub(super) fn network(&mut self, root: &DeTable<'_>) -> Network {
        let noted = self.problems.len();
        let mut network = Network::default();
        let nodes = self.section(root, "node");
        if nodes.len() > MOST_NODES {
            let problem =
                Problem::new(nodes[MOST_NODES].key.clone(), format!("{} nodes are too many", nodes.len()));
            self.note(problem.help(format!("a scenario has at most {MOST_NODES}")));
        }
        self.nodes(&nodes[..nodes.len().min(MOST_NODES)], &mut network);
        for entry in self.section(root, "link") {
            let noted = self.noted();
            self.check_name("link", entry.name, entry.key.clone());
            let link = self.link(entry.name, entry.location(), &network);
            self.mark_member("link", entry.name, noted);
            network.links.push(link);
            network.link_names.push(entry.name.to_owned());
        }
        network.complete = self.problems.len() == noted;
        network
    }

    fn nodes(&mut self, entries: &[Entry<'_, '_>], network: &mut Network) {
        let mut given: BTreeMap<IpAddr, (&str, core::ops::Range<usize>)> = BTreeMap::new();
        let mut tables = Vec::new();
        for entry in entries {
            let noted = self.noted();
            self.check_name("node", entry.name, entry.key.clone());
            let location = entry.location();
            let table = self.whole::<NodeTable>(location).unwrap_or_default();
            self.mark_member("node", entry.name, noted);
            if let Some(address) = table.address {
                let span = location.value("address");
                match given.get(&address.0) {
                    None => {
                        given.insert(address.0, (entry.name, span));
                    }
                    Some((other, first)) => {
                        let problem = Problem::new(
                            span,
                            format!("`{}` is the address of `{other}` already", address.0),
                        );
                        self.problems.push(
                            problem.see(first.clone(), "given here").help("each node has its own address"),
                        );
                    }
                }
            }
            tables.push((entry.name, location.value("service"), table));
        }
        let mut free = free_addresses(given.keys().copied().collect());
        for (index, (name, service, table)) in tables.into_iter().enumerate() {
            let clock = table.clock.unwrap_or_default();
            let tick = self.tick(&clock, entries[index].location());
            if let Some(service) = table.service.as_ref() {
                let span = |key: &str| entries[index].location().inner("service", key);
                self.check_service(service, span);
            }
            let _ = service;
            network.indices.insert(name.to_owned(), index);
            network.nodes.push(NodeModel {
                name: name.to_owned(),
                address: table.address.map_or_else(
                    || free.next().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
                    |address| address.0,
                ),
                clock_offset_ps: clock.offset.map_or(0, |offset| offset.0),
                clock_drift_ppb: clock.drift.map_or(0, |drift| drift.0),
                tick,
                service: table.service.map(|service| Service {
                    per_packet: service.per_packet,
                    rate: service.rate,
                    limit: service.limit,
                }),
                command: table.command,
            });
        }
    }

    /// Reads the time between two ticks of a host's timers.
    fn tick(&mut self, clock: &NodeClock, location: TableLocation<'_, '_>) -> Duration {
        let tick = clock.tick.unwrap_or(DEFAULT_TICK);
        if !tick.is_zero() && !(SHORTEST_TICK..=LONGEST_TICK).contains(&tick) {
            let what = format!("a host's timers cannot tick every `{tick}`");
            let problem = Problem::new(location.inner("clock", "tick"), what);
            self.note(problem.help("a tick is from `1us` to `1s`, or `0s` for exact timers"));
        }
        tick
    }

    fn check_service(&mut self, service: &ServiceTable, span: impl Fn(&str) -> core::ops::Range<usize>) {
        if service.rate.is_some_and(Rate::is_zero) {
            self.note(
                Problem::new(span("rate"), "a rate of zero serves nothing")
                    .help("give it a rate such as `1gbit`"),
            );
        }
        if !service.limit.allows(1, 1) {
            self.note(
                Problem::new(span("limit"), "a limit of nothing drops every packet")
                    .help("it is at least `1p`"),
            );
        }
    }

    /// Reads one link, from the file or as a change makes it.
    pub(super) fn link(
        &mut self,
        name: &str,
        location: TableLocation<'_, '_>,
        network: &Network,
    ) -> Option<Link> {
        let noted = self.problems.len();
        let table = self.whole::<LinkTable>(location)?;
        let ends = self.ends(&table, location, network);
        let traces = table.trace.as_ref().map_or_else(Default::default, |files| self.traces(files, location));
        let conditions = self.conditions(&table, location);
        let rate = self.link_rate(&table, location, &traces);
        let LinkTable { overhead, mpu, framing, .. } = table;
        let of_line = |line: PacketOverhead| line.on(LinkHeader::Ethernet);
        let overhead = self.overhead(location, (overhead, mpu, framing), of_line, |bytes, mpu, framing| {
            FrameOverhead::new(bytes.unwrap_or_default(), mpu, framing)
        });
        let rate = rate?;
        let back = BackDirection { rate: rate.down, delay: table.delay.down, loss: table.loss.down };
        let is_same = rate.are_same() && table.delay.are_same() && table.loss.are_same();
        let link = Link {
            name: name.to_owned(),
            ends: ends?,
            rate: rate.up,
            delay: table.delay.up,
            loss: table.loss.up,
            back: (!is_same).then_some(back),
            overhead: overhead?,
            trace: traces.each_ref().map(|line| line.capacity.clone()),
            path: traces.map(|line| line.path),
            conditions,
        };
        (self.problems.len() == noted).then_some(link)
    }

    /// Warns of traces that begin again within a run that ends at `end`.
    pub(super) fn warn_repeated(&mut self, root: &DeTable<'_>, network: &Network, end: Instant) {
        for (entry, link) in Self::section_again(root, "link").into_iter().zip(network.links.iter().flatten())
        {
            let periods = link.trace.iter().flatten().map(|trace| trace.period());
            let Some(period) = periods.filter(|period| *period >= PATTERN).min() else { continue };
            if Instant::ZERO + period < end {
                let wrong = format!(
                    "the trace of {} is {} s long and begins again: the run lasts {} s",
                    entry.what,
                    period.as_secs_f64(),
                    end.as_secs_f64()
                );
                self.warn(
                    Problem::new(entry.key, wrong).help("shorten `duration`, or record a longer trace"),
                );
            }
        }
    }

    /// Warns of links that carry no packet: those parallel to an earlier one between the same two nodes.
    pub(super) fn warn_parallel(&mut self, root: &DeTable<'_>, network: &Network) {
        let mut first: BTreeMap<[usize; 2], &str> = BTreeMap::new();
        for (entry, link) in Self::section_again(root, "link").into_iter().zip(network.links.iter().flatten())
        {
            let [a, b] = link.ends;
            let taken = *first.entry([a.min(b), a.max(b)]).or_insert(&link.name);
            if taken != link.name {
                let [from, to] = [a, b].map(|node| &network.nodes[node].name);
                let wrong = format!(
                    "no packet takes {}: `{taken}` joins `{from}` and `{to}` too, and comes first in the file",
                    entry.what
                );
                let help = "a packet takes the path of the fewest links, and the first of parallel ones: put a node of \
                            its own on one of them, or leave it out";
                self.warn(Problem::new(entry.key, wrong).help(help));
            }
        }
    }

    fn ends(
        &mut self,
        table: &LinkTable,
        location: TableLocation<'_, '_>,
        network: &Network,
    ) -> Option<[usize; 2]> {
        let mut ends = Vec::new();
        for (index, node) in table.between.iter().enumerate().take(3) {
            if let Some(known) = network.indices.get(node) {
                ends.push(*known);
            } else {
                let problem =
                    self.no_such("node", node, location.element("between", index), network.node_names());
                let near = self.near(node, network.node_names()).is_some();
                let node = crate::table_reader::shorten(node);
                self.note(if near {
                    problem
                } else {
                    problem.help(format!("declare it: add `{node} = {{}}` below `[node]`"))
                });
            }
        }
        if table.between.len() != 2 {
            let problem = Problem::new(
                location.value("between"),
                format!("{} joins two nodes, not {}", location.what, table.between.len()),
            );
            self.note(problem.help("write `between = [\"a\", \"b\"]`"));
            return None;
        }
        let ends: [usize; 2] = ends.try_into().ok()?;
        if ends[0] == ends[1] {
            let problem = Problem::new(
                location.value("between"),
                format!("{} joins `{}` with itself", location.what, table.between[0]),
            );
            self.note(problem.help("a link joins two different nodes"));
            return None;
        }
        Some(ends)
    }

    fn traces(&mut self, files: &TraceFiles, location: TableLocation<'_, '_>) -> [TracedLine; 2] {
        let same = files.up == files.down;
        let up = files.up.as_ref().map(|source| self.trace(source, ("up", location))).unwrap_or_default();
        if same {
            return [up.clone(), up];
        }
        [up, files.down.as_ref().map(|source| self.trace(source, ("down", location))).unwrap_or_default()]
    }

    fn trace(&mut self, source: &TraceSource, (key, location): (&str, TableLocation<'_, '_>)) -> TracedLine {
        let unread = TracedLine { gives_rate: true, ..TracedLine::default() };
        let span = location.inner("trace", key);
        let file = match source {
            TraceSource::File(file) => file,
            TraceSource::Law(law) => {
                let Some((field, range)) = law.unfit() else {
                    return TracedLine { capacity: Some(Arc::new(law.generate())), ..unread };
                };
                let traces = location.table.get("trace").and_then(|value| value.get_ref().as_table());
                let own = traces.and_then(|traces| traces.get(key)?.get_ref().as_table()?.get(field));
                let span = own.map_or(span, toml::Spanned::span);
                self.note(
                    Problem::new(span, format!("`{field}` of the line is out of its range")).help(range),
                );
                return unread;
            }
        };
        let Some(bytes) = self.load(file, span.clone()) else { return unread };
        match LineTable::read(&bytes) {
            Ok(line) => TracedLine {
                gives_rate: line.capacity.is_some(),
                capacity: line.capacity.map(Arc::new),
                path: line.path.map(Arc::new),
            },
            Err(error) => {
                let problem = Problem::new(
                    span,
                    format!("`{}` is not a link trace", crate::table_reader::shorten(file)),
                );
                self.note(problem.help(error.to_string()));
                unread
            }
        }
    }

    /// Reads the rate, which is required unless both directions have a trace.
    fn link_rate(
        &mut self,
        table: &LinkTable,
        location: TableLocation<'_, '_>,
        traces: &[TracedLine; 2],
    ) -> Option<Directions<Rate>> {
        let asked = table.trace.as_ref().map(|_| traces.each_ref().map(|line| line.gives_rate));
        let both = asked == Some([true, true]);
        let keys = self.cache.table_keys.of::<LinkTable>();
        let said = |key: &str| location.has(key) || location.misspells(key, &keys);
        match table.rate {
            Some(_) if both => {
                let problem =
                    Problem::new(location.key("rate"), "the trace gives the rate of both directions");
                self.note(
                    problem
                        .see(location.value("trace"), "the trace")
                        .help("leave `rate` out, or trace one direction only: `{ down = \"…\" }`"),
                );
                None
            }
            Some(rate) if rate.up.is_zero() || rate.down.is_zero() => {
                let problem = Problem::new(location.value("rate"), "a link of rate zero carries nothing");
                self.note(problem.help("give it a rate such as `10mbit`"));
                None
            }
            Some(rate) => Some(rate),
            // Given, but wrong or misspelt: noted already.
            None if said("rate") || (said("trace") && table.trace.is_none()) => None,
            None if both => traces[0].capacity.as_ref().map(|trace| {
                let rate = trace.mean_rate();
                Directions { up: rate, down: rate }
            }),
            None => {
                let what = if asked.is_some() { "for the direction without a trace" } else { "or a `trace`" };
                let problem =
                    Problem::new(location.header.clone(), format!("{} needs `rate` {what}", location.what));
                self.note(problem.help("add `rate = \"10mbit\"`: the rate of each direction"));
                None
            }
        }
    }
}

/// Returns the free addresses 10.0.0.1, 10.0.0.2 and so on, without those in `given`.
fn free_addresses(given: BTreeSet<IpAddr>) -> impl Iterator<Item = IpAddr> {
    let first = Ipv4Addr::new(10, 0, 0, 1).to_bits();
    (first..first + 0x00FF_FFF0)
        .map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))
        .filter(move |address| !given.contains(address))
}
