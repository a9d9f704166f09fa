//! Checks flows and groups of flows.

use core::net::IpAddr;
use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_autorate::MOST_PROBES;
use lockgate_engine::classify::Fields;
use lockgate_engine::port_name;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_traffic::{Invalid, Law, TrafficConfig};
use toml::de::DeTable;

use super::Checker;
use super::files::Listed;
use super::network::Network;
use crate::application::Codec;
use crate::diagnostic::Problem;
use crate::file::FlowTable;
use crate::model::{Flow, Transport};
use crate::table_reader::{
    TableLocation, read_table, read_valid_table, shorten, split_outside_quotes, unknown_keys,
};
use crate::tcp::{Application, TcpModel};
use crate::traffic::Traffic;
use crate::values::Carrier;

/// Limit on the flows of a scenario, members of groups counted.
const MOST_FLOWS: usize = 1_000_000;

/// First source port assigned to flows without one (RFC 6335 section 6: dynamic ports).
const FIRST_PORT: u32 = 49_152;

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Control port of an FTP server (RFC 959 section 8).
const FTP_PORT: u16 = 21;

/// A flow as read from its table.
pub(super) struct Read {
    /// `count`, if given.
    pub(super) count: Option<u32>,
    pub(super) flow: Option<Flow>,
    listed: Option<Vec<Listed>>,
    /// `mark`, 0 if not given.
    mark: u32,
}

/// Traffic of a flow and its transport.
struct Sent {
    transport: Transport,
    traffic: Option<Traffic>,
    voice: Option<Codec>,
    listed: Option<Vec<Listed>>,
}

/// All flows, as far as they could be read.
#[derive(Default)]
pub(super) struct Flows {
    pub(super) groups: Vec<Group>,
    pub(super) indices: BTreeMap<String, usize>,
    /// Groups whose members were expanded: index in `groups` of the first. The others follow it.
    families: BTreeMap<String, usize>,
    pub(super) total: usize,
    /// Indices of the adversary's flows.
    pub(super) adversary: Range<usize>,
    /// Index of the flow of echo requests of each port's controller, by the port and the probed node.
    pub(super) probes: BTreeMap<(String, String), usize>,
}

/// One table `[flow.NAME]`: a single flow or a group of flows.
pub(super) struct Group {
    pub(super) name: String,
    /// Indices among the scenario's flows.
    pub(super) members: Range<usize>,
    /// Indices of the control connections of FTP; empty for others.
    pub(super) controls: Range<usize>,
    /// Indices of the return flows of TCP flows and of echoes, then of control connections; empty for
    /// others.
    pub(super) returns: Range<usize>,
    /// Files of the members, if a list gives them.
    listed: Option<Vec<Listed>>,
    /// True if `count` is given: members are numbered.
    numbered: bool,
    /// Flow with the name and ports of the first member; `None` if it has problems.
    pub(super) flow: Option<Flow>,
    /// Mark of its packets in both directions; 0 for none.
    pub(super) mark: u32,
    /// True if the file gives the source port, from which members count up.
    port_given: bool,
}

impl Group {
    fn member(&self, flow: &Flow, index: usize) -> Flow {
        let mut member = flow.clone();
        if self.numbered {
            member.name = format!("{}/{}", self.name, index + 1);
        }
        if self.port_given {
            member.fields.source_port = flow.fields.source_port.saturating_add(index as u16);
        } else {
            // Each flow has its own pair of ports, until the pairs are exhausted.
            let slot = (self.members.start + index) as u32;
            member.fields.source_port = own_port(slot as usize);
        }
        if let Some(file) = self.listed.as_ref().and_then(|listed| listed.get(index)) {
            member.start += file.start;
            if let Transport::Tcp(model) = &mut member.transport {
                model.application = Application::File(file.bytes);
            }
        }
        member
    }

    pub(super) fn names(&self) -> impl Iterator<Item = String> + '_ {
        let name =
            |index| if self.numbered { format!("{}/{}", self.name, index + 1) } else { self.name.clone() };
        (0..self.members.len()).map(name)
    }

    /// Returns the names of the members, of their control connections and of their return flows.
    pub(super) fn all_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names().collect();
        if !self.controls.is_empty() {
            names.extend(self.names().map(|name| format!("{name}/control")));
        }
        if !self.returns.is_empty() {
            names.extend(names.clone().into_iter().map(|name| format!("{name}/return")));
        }
        names
    }
}

impl Flows {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.groups.iter().map(|group| group.name.as_str())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Group> {
        self.indices.get(name).map(|index| &self.groups[*index])
    }

    /// Returns the tables of the flow or group called `name`, which may be written `name/*`; none if it is
    /// unknown.
    pub(super) fn all(&self, name: &str) -> &[Group] {
        let name = name.strip_suffix("/*").unwrap_or(name);
        if let Some(index) = self.indices.get(name) {
            return core::slice::from_ref(&self.groups[*index]);
        }
        let Some(first) = self.families.get(name) else { return &[] };
        let is_own = |group: &Group| group.name.split('/').next() == Some(name);
        let rest = &self.groups[*first..];
        &rest[..rest.iter().position(|group| !is_own(group)).unwrap_or(rest.len())]
    }

    /// Returns the indices of the flows of one member of a group, written `bulk/2`: in both directions, with
    /// its control connection.
    pub(super) fn member(&self, name: &str) -> Option<Vec<usize>> {
        let (group, number) = name.split_once('/')?;
        let group = self.get(group).filter(|group| group.numbered)?;
        let count = group.members.len();
        let index = number.parse::<usize>().ok()?.checked_sub(1).filter(|index| *index < count)?;
        // Of returns, those of the control connections come second.
        let within = |indices: &Range<usize>, index: usize| indices.clone().nth(index);
        let indices = [
            within(&group.members, index),
            within(&group.controls, index),
            within(&group.returns, index),
            within(&group.returns, count + index),
        ];
        Some(indices.into_iter().flatten().collect())
    }

    /// Returns every flow, groups expanded.
    pub(super) fn expand(&self) -> Vec<Flow> {
        let mut flows = Vec::with_capacity(self.total);
        for group in &self.groups {
            if let Some(flow) = &group.flow {
                flows.extend((0..group.members.len()).map(|index| group.member(flow, index)));
            }
        }
        for group in &self.groups {
            let Some(flow) = &group.flow else { continue };
            for (index, control) in group.controls.clone().enumerate() {
                flows.push(controlling(&group.member(flow, index), group.members.start + index, control));
            }
        }
        for group in &self.groups {
            let forth: Vec<usize> = group.members.clone().chain(group.controls.clone()).collect();
            for (of, _) in forth.into_iter().zip(group.returns.clone()) {
                let back = returning(&flows[of], of);
                flows.push(back);
            }
        }
        flows
    }

    /// Assigns indices to control connections and return flows, after all flows of the file.
    fn place_returns(&mut self) {
        let mut next = self.total;
        for group in &mut self.groups {
            let ftp = group.flow.as_ref().is_some_and(|flow| flow.ftp.is_some());
            let count = if ftp { group.members.len() } else { 0 };
            group.controls = next..next + count;
            next += count;
        }
        for group in &mut self.groups {
            let both = |flow: &Flow| flow.echo || matches!(flow.transport, Transport::Tcp(_));
            let both = group.flow.as_ref().is_some_and(both);
            let count = if both { group.members.len() + group.controls.len() } else { 0 };
            group.returns = next..next + count;
            next += count;
        }
    }
}

/// Returns the source port assigned to the flow at index `index`.
fn own_port(index: usize) -> u16 {
    (FIRST_PORT + index as u32 % (65_536 - FIRST_PORT)) as u16
}

/// Returns the control connection, at index `index`, of the file transfer `flow`, at index `of`.
fn controlling(flow: &Flow, of: usize, index: usize) -> Flow {
    let mut control = flow.clone();
    control.name = format!("{}/control", flow.name);
    if flow.ftp.as_ref().is_some_and(|ftp| ftp.get) {
        // The receiver of the file is the client.
        (control.from, control.to) = (flow.to, flow.from);
        (control.fields.source, control.fields.destination) = (flow.fields.destination, flow.fields.source);
    }
    (control.fields.source_port, control.fields.destination_port) = (own_port(index), FTP_PORT);
    control.bytes = None;
    control.ftp = None;
    control.echo = false;
    control.voice = None;
    control.envelope = None;
    if let Transport::Tcp(model) = &mut control.transport {
        model.application = Application::Control { of };
    }
    control
}

/// Returns the reverse direction of `flow`, which is at index `index`.
fn returning(flow: &Flow, index: usize) -> Flow {
    let fields = flow.fields;
    Flow {
        name: format!("{}/return", flow.name),
        from: flow.to,
        to: flow.from,
        echo: false,
        voice: None,
        envelope: None,
        transport: match flow.transport {
            Transport::Tcp(_) | Transport::TcpReturn { .. } => Transport::TcpReturn { of: index },
            Transport::Udp | Transport::UdpReturn { .. } => Transport::UdpReturn { of: index },
            outside @ Transport::Outside { .. } => outside,
        },
        fields: Fields {
            source: fields.destination,
            destination: fields.source,
            source_port: fields.destination_port,
            destination_port: fields.source_port,
            ..fields
        },
        ..flow.clone()
    }
}

/// Returns the nodes that the controller of a port probes, and how often; `None` if it has none or they are
/// wrong.
fn probes_of(port: &DeTable<'_>) -> Option<(Vec<String>, Duration)> {
    let probes = port.get("autorate")?.get_ref().as_table()?.get("probes")?.get_ref().as_table()?;
    let every: Duration = probes.get("every")?.get_ref().as_str()?.parse().ok()?;
    let to = probes.get("to")?.get_ref().as_array()?;
    let mut names: Vec<String> = Vec::new();
    for node in to.iter().take(MOST_PROBES).filter_map(|node| node.get_ref().as_str()) {
        if !names.iter().any(|name| name == node) {
            names.push(node.to_owned());
        }
    }
    (!every.is_zero()).then_some((names, every))
}

impl Checker<'_> {
    pub(super) fn flows(&mut self, root: &DeTable<'_>, network: &Network) -> Flows {
        let mut flows = Flows::default();
        for entry in self.section(root, "flow") {
            let noted = self.noted();
            self.check_name("flow", entry.name, entry.key.clone());
            let location = entry.location();
            let Read { count, mut flow, listed, mark } = self.flow(entry.name, location, network);
            if let (Some(number), Some(flow)) = (self.groups.number("flow", entry.name), &mut flow) {
                self.count_up(number, flow, location);
                if number == 1 {
                    let group = entry.name.split('/').next().unwrap_or_default();
                    flows.families.insert(group.to_owned(), flows.groups.len());
                }
            }
            self.mark_member("flow", entry.name, noted);
            let start = flows.total;
            let mut members = count.map_or(1, |count| count as usize);
            if start + members > MOST_FLOWS {
                let problem = Problem::new(location.value("count"), "the scenario has too many flows");
                self.note(
                    problem.help(format!("it has at most {MOST_FLOWS}, the members of groups counted")),
                );
                members = 1;
            }
            flows.total += members;
            flows.indices.insert(entry.name.to_owned(), flows.groups.len());
            flows.groups.push(Group {
                name: entry.name.to_owned(),
                members: start..start + members,
                controls: 0..0,
                returns: 0..0,
                listed,
                numbered: count.is_some(),
                flow,
                mark,
                port_given: location.has("source_port"),
            });
        }
        self.adversary_flows(root, network, &mut flows);
        self.probe_flows(root, network, &mut flows);
        flows.place_returns();
        flows
    }

    /// Adds a flow of echo requests for each node that the controller of a port probes. What is wrong with a
    /// controller is noted with its port.
    fn probe_flows(&mut self, root: &DeTable<'_>, network: &Network, flows: &mut Flows) {
        for entry in Self::section_again(root, "port") {
            let port = port_name::canonical(entry.name);
            let Some((from, _)) = port.split_once(':') else { continue };
            let Some((to, every)) = probes_of(entry.table) else { continue };
            for (index, node) in to.iter().enumerate() {
                let ends = [from, node.as_str()].map(|name| network.indices.get(name).copied());
                let [Some(source), Some(target)] = ends else { continue };
                let same = network.nodes[source].address.is_ipv4() == network.nodes[target].address.is_ipv4();
                if source == target || !same || flows.total >= MOST_FLOWS {
                    continue;
                }
                let start = Duration::from_picos(every.as_picos() / to.len() as u64 * index as u64);
                let text = format!(
                    "from = {from:?}\nto = {node:?}\necho = true\nsize = \"98B\"\ngap = \"{every}\"\nstart = \"{start}\""
                );
                let Ok(table) = DeTable::parse(&text) else { continue };
                let what = format!("the probe of `{node}`");
                let location = TableLocation { what: &what, table: table.get_ref(), header: &entry.key };
                let index = self.add_flow(format!("probe-{from}-{node}"), location, network, flows);
                flows
                    .probes
                    .insert((port.split('@').next().unwrap_or(&port).to_owned(), node.clone()), index);
            }
        }
    }

    /// Adds a flow that the file does not write, and returns its index. A taken name gets a `+`.
    pub(super) fn add_flow(
        &mut self,
        mut name: String,
        location: TableLocation<'_, '_>,
        network: &Network,
        flows: &mut Flows,
    ) -> usize {
        while flows.indices.contains_key(&name) {
            name.push('+');
        }
        let Read { flow, mark, .. } = self.flow(&name, location, network);
        let index = flows.total;
        flows.total += 1;
        flows.indices.insert(name.clone(), flows.groups.len());
        flows.groups.push(Group {
            name,
            members: index..flows.total,
            controls: 0..0,
            returns: 0..0,
            listed: None,
            numbered: false,
            flow,
            mark,
            port_given: false,
        });
        index
    }

    /// Counts the source port of a group's member up from the one written.
    fn count_up(&mut self, number: u32, flow: &mut Flow, location: TableLocation<'_, '_>) {
        if !location.has("source_port") {
            return;
        }
        if let Ok(port) = u16::try_from(u32::from(flow.fields.source_port) + number - 1) {
            flow.fields.source_port = port;
        } else {
            let wrong = "the ports of the group's members run over 65535";
            let help = "members count up from `source_port`: start lower, or leave it out";
            self.note(Problem::new(location.value("source_port"), wrong).help(help));
        }
    }

    /// Reads one flow, from the file or as a change makes it.
    pub(super) fn flow(&mut self, name: &str, location: TableLocation<'_, '_>, network: &Network) -> Read {
        let noted = self.problems.len();
        let own = self.cache.table_keys.of::<FlowTable>();
        let offered = self.cache.table_keys.of::<TrafficConfig>();
        unknown_keys(location, &[&own, &offered], &[], &mut self.problems);
        let Some(table) = read_table::<FlowTable>(location, &own, &mut self.problems) else {
            // The traffic keys are checked all the same.
            let _ = read_valid_table::<TrafficConfig>(location, &offered, &mut self.problems);
            return Read { count: None, flow: None, listed: None, mark: 0 };
        };
        let ends = self.flow_ends(&table, location, network);
        let law = self.start(&table, location);
        let start = law.as_ref().map_or(Some(Duration::ZERO), Law::constant);
        self.check_flow(&table, location, start);
        let Sent { transport, traffic, voice, listed } = self.sent_by(&table, location);
        let fields = ends.map(|[from, to]| {
            let address =
                |node: usize| network.nodes.get(node).map_or(IpAddr::from([0, 0, 0, 0]), |node| node.address);
            Fields {
                protocol: if transport == Transport::Udp { UDP } else { TCP },
                source: address(from),
                destination: address(to),
                source_port: table.source_port.unwrap_or(0),
                destination_port: table.destination_port.unwrap_or(9),
                flow_label: table.flow_label.map_or(0, |label| label.0),
            }
        });
        let mark = table.mark.map_or(0, |mark| mark.value);
        let envelope = traffic
            .as_ref()
            .and_then(|traffic| self.envelope(&table, location, transport, traffic))
            .map(Arc::new);
        let flow = ends.zip(fields).zip(traffic).map(|(([from, to], fields), traffic)| Flow {
            name: name.to_owned(),
            from,
            to,
            transport,
            fields,
            traffic_class: table.tos.map(|tos| tos.0).or(table.dscp.map(|code| code.0 << 2)).unwrap_or(0),
            mark,
            traffic,
            start: start.unwrap_or_default(),
            start_law: law.clone().filter(|_| start.is_none()),
            stop: table.stop,
            packets: table.packets.map(|packets| packets.0),
            bytes: table.bytes.and_then(|amount| amount.0),
            ftp: table.ftp.map(Box::new),
            echo: table.echo,
            voice,
            envelope,
        });
        let count = table.count.or(listed.as_ref().map(|listed| listed.len() as u32));
        Read { count, flow: flow.filter(|_| self.problems.len() == noted), listed, mark }
    }

    /// Reads the traffic of a flow and its transport.
    fn sent_by(&mut self, table: &FlowTable, location: TableLocation<'_, '_>) -> Sent {
        let (transport, listed) = if table.transport == Some(Carrier::Tcp) {
            if location.has("voice") {
                let problem = Problem::new(location.key("voice"), "a call over TCP has no rating");
                self.note(problem.help("leave `voice` out, or write `transport = \"udp\"`"));
            }
            (Transport::Tcp(self.tcp(table, location)), self.listed_files(table, location))
        } else {
            self.refuse_tcp_keys(location);
            (Transport::Udp, None)
        };
        let traffic = match transport {
            Transport::Tcp(TcpModel {
                application: Application::Drawn | Application::Pages { .. }, ..
            }) => self.drawn_files(table, location),
            Transport::Tcp(tcp) if !matches!(tcp.application, Application::Stream | Application::Echo) => {
                Some(Traffic::nothing())
            }
            _ => self.traffic(location),
        };
        let profile = traffic.as_ref().and_then(|traffic| traffic.config.profile.as_deref());
        let is_call = transport == Transport::Udp && profile == Some("g711");
        let voice = table.voice.or(is_call.then_some(Codec::G711));
        Sent { transport, traffic, voice, listed }
    }

    fn flow_ends(
        &mut self,
        table: &FlowTable,
        location: TableLocation<'_, '_>,
        network: &Network,
    ) -> Option<[usize; 2]> {
        let mut end = |key: &str, node: &str| {
            let found = network.indices.get(node).copied();
            if found.is_none() {
                let problem = self.no_such("node", node, location.value(key), network.node_names());
                self.note(problem);
            }
            found
        };
        let (from, to) = (end("from", &table.from), end("to", &table.to));
        let (from, to) = (from?, to?);
        if from == to {
            let problem = Problem::new(
                location.value("to"),
                format!("{} goes from `{}` to itself", location.what, shorten(&table.from)),
            );
            self.note(problem.help("a flow joins two different nodes"));
            return None;
        }
        let [source, destination] = [&network.nodes[from], &network.nodes[to]];
        if source.address.is_ipv4() != destination.address.is_ipv4() {
            let problem = Problem::new(
                location.value("to"),
                format!(
                    "{} goes from {} to {}: one is IPv4, the other IPv6",
                    location.what, source.address, destination.address
                ),
            );
            self.note(problem.help("give both nodes addresses of one family"));
            return None;
        }
        Some([from, to])
    }

    /// Reads the start of a flow; `None` if absent or impossible.
    fn start(&mut self, table: &FlowTable, location: TableLocation<'_, '_>) -> Option<Law<Duration>> {
        let config = table.start.clone()?;
        let traffic = TrafficConfig { gap: Some(config.clone()), ..TrafficConfig::default() };
        let files = self.files_of(&traffic).map_err(|mut problems| problems.remove(0));
        let law = files.and_then(|files| Law::new(&config, "gap", &files));
        let refused = |invalid: Invalid| {
            let field = invalid.field.strip_prefix("gap").unwrap_or(&invalid.field).trim_start_matches('.');
            let said = match field {
                "" => format!("`start` {}", invalid.why),
                field => format!("`{field}` of `start` {}", invalid.why),
            };
            let problem = Problem::new(location.inner("start", field), said);
            let help =
                "a start is a time, or such as `{ distribution = \"uniform\", min = \"0s\", max = \"1s\" }`";
            self.note(problem.help(help));
        };
        law.map_err(refused).ok()
    }

    fn check_flow(&mut self, table: &FlowTable, location: TableLocation<'_, '_>, start: Option<Duration>) {
        if table.dscp.is_some() && table.tos.is_some() {
            let problem = Problem::new(location.key("tos"), "`tos` contains the DSCP");
            self.note(
                problem.see(location.key("dscp"), "given here too").help("give one of `dscp` and `tos`"),
            );
        }
        // A drawn start may come after `stop`: such a flow sends nothing.
        if let Some((stop, start)) = table.stop.zip(start).filter(|(stop, start)| stop <= start) {
            let problem = Problem::new(
                location.value("stop"),
                format!("{} stops at {stop}, before it starts", location.what),
            );
            self.note(problem.help(format!("`stop` is later than `start`, which is {start}")));
        }
        if table.packets.is_some_and(|packets| packets.0 == 0)
            || table.bytes.is_some_and(|amount| amount.0 == Some(Bytes::ZERO))
        {
            let key = if table.packets.is_some_and(|packets| packets.0 == 0) { "packets" } else { "bytes" };
            self.note(
                Problem::new(location.value(key), format!("{} sends nothing", location.what))
                    .help("leave the flow out, or let it send"),
            );
        }
        if table.count == Some(0) {
            self.note(
                Problem::new(location.value("count"), "a group of no flows").help("`count` is at least 1"),
            );
        }
        let highest = u32::from(table.source_port.unwrap_or(0)) + table.count.unwrap_or(1).saturating_sub(1);
        if table.source_port.is_some() && highest > u32::from(u16::MAX) {
            let problem = Problem::new(
                location.value("source_port"),
                "the ports of the group's members run over 65535",
            );
            self.note(problem.help("members count up from `source_port`: start lower, or leave it out"));
        }
    }

    fn traffic(&mut self, location: TableLocation<'_, '_>) -> Option<Traffic> {
        let keys = self.cache.table_keys.of::<TrafficConfig>();
        // Misspellings are searched only if no key is present: for ten thousand flows they took a third of
        // the time.
        if !keys.names().any(|key| location.has(key))
            && !keys.names().any(|key| location.misspells(key, &keys))
        {
            // What a TCP flow sends is said by other keys.
            if location.misspells("transport", &self.cache.table_keys.of::<FlowTable>()) {
                return None;
            }
            let problem = Problem::new(
                location.header.clone(),
                format!("{} does not say what it sends", location.what),
            );
            self.note(problem.help("add `size = \"200B\"` and `gap = \"20ms\"`; or `size` and `rate`; or a `profile`; or a `replay`"));
            return None;
        }
        let config: TrafficConfig = read_valid_table(location, &keys, &mut self.problems)?;
        let loaded = self.files_of(&config);
        let problems = match loaded {
            Err(problems) => problems,
            Ok(files) => {
                let problems = config.check(&files);
                if problems.is_empty() {
                    return Some(Traffic { config: Arc::new(config), files });
                }
                problems
            }
        };
        for invalid in problems {
            let field = invalid.field.split('.').next().unwrap_or_default();
            if !location.has(field) && location.misspells(field, &keys) {
                continue;
            }
            let problem = refused(&invalid, location);
            self.note(problem);
        }
        None
    }

    /// Notes flows with no path between their ends.
    pub(super) fn check_routes(&mut self, root: &DeTable<'_>, network: &Network, flows: &Flows) {
        for entry in Self::section_again(root, "flow") {
            let Some(flow) = flows.get(entry.name).and_then(|group| group.flow.as_ref()) else { continue };
            if network.routes.path(flow.from, flow.to).is_none() {
                let [from, to] = [&network.nodes[flow.from].name, &network.nodes[flow.to].name];
                let problem = Problem::new(
                    entry.location().value("to"),
                    format!("no path leads from `{from}` to `{to}`"),
                );
                self.note(problem.help(format!("join them by links: `between = [\"…\", \"{to}\"]`")));
            }
        }
    }

    /// Warns of flows that never send.
    pub(super) fn warn_late(&mut self, root: &DeTable<'_>, flows: &Flows, end: Instant) {
        for entry in Self::section_again(root, "flow") {
            let Some(flow) = flows.get(entry.name).and_then(|group| group.flow.as_ref()) else { continue };
            if flow.start != Duration::ZERO && Instant::ZERO + flow.start >= end {
                let problem = Problem::new(
                    entry.location().value("start"),
                    format!("{} starts after the run has ended", entry.what),
                );
                self.warn(problem.help("start it earlier, or let the run last longer"));
            }
        }
    }
}

/// Returns the problem of refused traffic, at the deepest part of its field that the file contains.
fn refused(invalid: &Invalid, location: TableLocation<'_, '_>) -> Problem {
    let mut span = location.header.clone();
    let mut table = Some(location.table);
    for segment in invalid.field.split('.') {
        let Some(value) = table.and_then(|table| table.get(segment)) else { break };
        span = value.span();
        table = value.get_ref().as_table();
    }
    let said = invalid.to_string();
    match split_outside_quotes(&said) {
        Some((wrong, allowed)) => Problem::new(span, wrong).help(allowed),
        None => Problem::new(span, said),
    }
}
