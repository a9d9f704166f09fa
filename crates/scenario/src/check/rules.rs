//! Reads a queue's `match`: conditions with every name resolved.

use core::net::IpAddr;

use ipnet::IpNet;
use lockgate_engine::classify::{Prefix, Rule};
use lockgate_engine::packet::FlowId;
use toml::de::{DeTable, DeValue};

use super::Checker;
use super::flows::Group;
use super::ports::TreeContext;
use crate::diagnostic::Problem;
use crate::file::MatchTable;
use crate::table_reader::{TableLocation, shorten};
use crate::values::{Endpoint, Mark, Name, OneOrMany, TcpFlag};

/// Rules of a queue.
#[derive(Default)]
pub(super) struct Rules {
    pub(super) all: Vec<Rule>,
    /// Marks that rules compare, by the index of the rule.
    pub(super) marks: Vec<(usize, [u32; 2])>,
}

impl Checker<'_> {
    /// Returns the rules of the queue `what` (such as `` `queue.voice` ``), whose table has a `match`.
    pub(super) fn rules(&mut self, queue: TableLocation<'_, '_>, context: TreeContext<'_>) -> Rules {
        let mut rules = Rules::default();
        let Some(value) = queue.table.get("match") else { return rules };
        let wrong = |span| {
            Problem::new(span, "`match` is a list of tables; a packet is taken where one of them holds")
                .help("write `match = [{ protocol = \"udp\" }]`")
        };
        let DeValue::Array(elements) = value.get_ref() else {
            self.note(wrong(value.span()));
            return rules;
        };
        if elements.is_empty() {
            let problem = Problem::new(value.span(), "an empty `match` says nothing");
            self.note(problem.help("leave it out: a queue without `match` takes the rest"));
        }
        for element in elements {
            let DeValue::Table(table) = element.get_ref() else {
                self.note(wrong(element.span()));
                continue;
            };
            let header = element.span();
            let read = self.rule(TableLocation { what: "`match`", table, header: &header }, context);
            let Some((rule, mark)) = read else { continue };
            rules.marks.extend(mark.map(|mark| (rules.all.len(), [mark.value, mark.mask])));
            rules.all.push(rule);
        }
        rules
    }

    /// Returns a rule, and the mark for which its flows stand.
    fn rule(
        &mut self,
        location: TableLocation<'_, '_>,
        context: TreeContext<'_>,
    ) -> Option<(Rule, Option<Mark>)> {
        let table: MatchTable = self.whole(location)?;
        if <DeTable<'_>>::is_empty(location.table) {
            let problem =
                Problem::new(location.header.clone(), "a match without conditions takes every packet");
            self.note(
                problem.help("give it a condition, or leave `match` out: a queue without one takes the rest"),
            );
            return None;
        }
        if table.dscp.is_some() && table.tos.is_some() {
            let problem = Problem::new(location.key("tos"), "`tos` contains the DSCP");
            self.note(
                problem.see(location.key("dscp"), "given here too").help("give one of `dscp` and `tos`"),
            );
        }
        if table.tos.is_some_and(|tos| tos.0 & 0b11 != 0) {
            let problem = Problem::new(location.value("tos"), "the two ECN bits of `tos` are not compared");
            self.note(problem.help("leave them zero: a multiple of 4, such as `0xb8`"));
        }
        let source = table.source.as_ref().map(|end| self.endpoint(end, location.value("source"), context));
        let destination =
            table.destination.as_ref().map(|end| self.endpoint(end, location.value("destination"), context));
        let flows = table.flow.as_ref().map(|names| self.named(&names.0, location, context));
        // Of flows that are named besides, the rule is about those.
        let mark = table.mark.filter(|_| flows.is_none());
        let flows = match table.mark {
            None => flows,
            Some(mark) => {
                let marked = self.marked(mark, location.value("mark"), context);
                Some(match flows {
                    Some(flows) => flows.into_iter().filter(|flow| marked.contains(flow)).collect(),
                    None => marked,
                })
            }
        };
        let flags = |flags: Option<OneOrMany<TcpFlag>>| {
            flags.map(|flags| flags.0.iter().fold(0, |mask, flag| mask | flag.0))
        };
        let codes = table.dscp.map(|codes| codes.0.iter().map(|code| code.0).collect());
        let rule = Rule {
            protocol: table.protocol.map(|protocol| protocol.0),
            source: source.unwrap_or(None),
            destination: destination.unwrap_or(None),
            source_port: table.source_port.map(|ports| ports.0),
            destination_port: table.destination_port.map(|ports| ports.0),
            flow_label: table.flow_label.map(|label| label.0),
            dscp: codes.or(table.tos.map(|tos| vec![tos.0 >> 2])),
            tcp_flags: flags(table.tcp_flags),
            tcp_flags_clear: flags(table.tcp_flags_clear),
            length: table.length.map(|lengths| lengths.0),
            flows,
            preference: table.preference.unwrap_or(0),
        };
        Some((rule, mark))
    }

    /// Returns the flows of these names.
    fn named(
        &mut self,
        names: &[Name],
        location: TableLocation<'_, '_>,
        context: TreeContext<'_>,
    ) -> Vec<FlowId> {
        let mut ids = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let groups = context.flows.all(&name.0);
            ids.extend(groups.iter().flat_map(ids_of));
            if let Some(flows) = context.flows.member(&name.0).filter(|_| groups.is_empty()) {
                ids.extend(flows.into_iter().map(|flow| FlowId(flow as u32)));
            } else if groups.is_empty() {
                let span = location.element("flow", index);
                let problem = self.no_such("flow", &name.0, span, context.flows.names());
                self.note(problem);
            }
        }
        ids
    }

    /// Returns the flows whose packets have a mark.
    fn marked(&mut self, mark: Mark, span: core::ops::Range<usize>, context: TreeContext<'_>) -> Vec<FlowId> {
        let groups = context.flows.groups.iter().filter(|group| mark.matches(group.mark));
        let ids: Vec<_> = groups.flat_map(ids_of).collect();
        if context.flows.groups.is_empty() {
            let problem =
                Problem::new(span, "`mark` is the mark of a scenario's flow, and there are no flows");
            self.note(problem.help("match what the packets carry, such as `dscp`, a port or an address"));
        } else if ids.is_empty() {
            let problem = Problem::new(span, "no flow has this `mark`: the rule takes no packet");
            self.warn(problem.help("give a flow `mark = …`"));
        }
        ids
    }

    /// Reads an end: a node's name, an address, or a prefix.
    fn endpoint(
        &mut self,
        end: &Endpoint,
        span: core::ops::Range<usize>,
        context: TreeContext<'_>,
    ) -> Option<Prefix> {
        let all = |address: IpAddr| Prefix { address, bits: if address.is_ipv4() { 32 } else { 128 } };
        if let Some(index) = context.network.indices.get(&end.0) {
            return context.network.nodes.get(*index).map(|node| all(node.address));
        }
        if let Ok(address) = end.0.parse() {
            return Some(all(address));
        }
        if let Ok(prefix) = end.0.parse::<IpNet>() {
            Some(Prefix { address: prefix.addr(), bits: prefix.prefix_len() })
        } else {
            let known = context.network.node_names();
            let problem =
                Problem::new(span, format!("`{}` is not a node, an address or a prefix", shorten(&end.0)));
            let near = self.near(&end.0, known).map(|near| format!("did you mean `{near}`?"));
            let help = "write a node's name, or an address or prefix such as `192.0.2.0/24`";
            self.note(problem.help(help).help_if(near));
            None
        }
    }
}

/// Returns the flows of a group: a connection in both directions, with its control connection.
fn ids_of(group: &Group) -> impl Iterator<Item = FlowId> {
    let members = group.members.clone().chain(group.controls.clone()).chain(group.returns.clone());
    members.map(|index| FlowId(index as u32))
}
