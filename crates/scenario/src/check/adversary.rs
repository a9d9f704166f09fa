//! Checks the adversary, and adds its flows, which send nothing in a run.

use lockgate_engine::units::Bytes;
use toml::de::{DeTable, DeValue};

use super::Checker;
use super::flows::Flows;
use super::network::Network;
use crate::diagnostic::{Problem, Span};
use crate::file::AdversaryTable;
use crate::table_reader::TableLocation;

/// Limit on its flows.
const MOST_FLOWS: u32 = 1000;

/// Start of its flows: the longest run ends then.
const NEVER: &str = "2400h";

/// Returns the table, with its location.
fn table_of<'a, 'i>(root: &'a DeTable<'i>) -> Option<(&'a DeTable<'i>, Span)> {
    let value = root.get("adversary")?;
    Some((value.get_ref().as_table()?, value.span()))
}

impl Checker<'_> {
    /// Adds the flows of the adversary behind those of the file.
    pub(super) fn adversary_flows(&mut self, root: &DeTable<'_>, network: &Network, flows: &mut Flows) {
        flows.adversary = flows.total..flows.total;
        let Some(value) = root.get("adversary") else { return };
        let DeValue::Table(table) = value.get_ref() else {
            let problem = Problem::new(value.span(), "`adversary` is a table");
            self.note(problem.help("write `[adversary]` and its keys below"));
            return;
        };
        let header = value.span();
        let location = TableLocation { what: "`adversary`", table, header: &header };
        let Some(adversary) = self.whole::<AdversaryTable>(location) else { return };
        if !self.is_adversary(&adversary, location, network) {
            return;
        }
        let AdversaryTable { from, to, rate, burst, shortest, longest, .. } = adversary;
        let text = format!(
            "from = {from:?}\nto = {to:?}\nsize = \"{longest}\"\ngap = \"1s\"\nstart = \"{NEVER}\"\n\
             envelope = {{ rate = \"{rate}\", burst = \"{burst}\", shortest = \"{shortest}\", longest = \"{longest}\" }}"
        );
        let Ok(table) = DeTable::parse(&text) else { return };
        let location = TableLocation { what: "the adversary", table: table.get_ref(), header: &header };
        for number in 1..=adversary.flows {
            self.add_flow(format!("adversary-{number}"), location, network, flows);
        }
        flows.adversary.end = flows.total;
    }

    /// Returns whether an adversary is right; notes what is wrong with it.
    fn is_adversary(
        &mut self,
        adversary: &AdversaryTable,
        location: TableLocation<'_, '_>,
        network: &Network,
    ) -> bool {
        let noted = self.problems.len();
        let &AdversaryTable { flows, rate, burst, shortest, longest, .. } = adversary;
        for (key, node) in [("from", &adversary.from), ("to", &adversary.to)] {
            if !network.indices.contains_key(node) {
                let problem = self.no_such("node", node, location.value(key), network.node_names());
                self.note(problem);
            }
        }
        if adversary.from == adversary.to {
            let problem = Problem::new(location.value("to"), "the adversary sends to itself");
            self.note(problem.help("name two nodes"));
        }
        if flows == 0 || flows > MOST_FLOWS {
            let problem = Problem::new(location.value("flows"), format!("the adversary has {flows} flows"));
            self.note(problem.help(format!("it has 1 to {MOST_FLOWS}")));
        }
        if rate.is_zero() {
            let problem =
                Problem::new(location.value("rate"), "an adversary of no rate ends after its burst");
            self.note(problem.help("give it a rate such as `1mbit`"));
        }
        if shortest == Bytes::ZERO || longest < shortest {
            let key = if location.has("shortest") { "shortest" } else { "longest" };
            let problem =
                Problem::new(location.value(key), format!("no frame is from {shortest} to {longest} long"));
            self.note(problem.help("write `shortest = \"64B\"` and `longest = \"1514B\"`"));
        } else if burst < longest {
            let wrong = format!("the burst of {burst} does not hold a packet of {longest}");
            let help = format!("make it `{}B` or more, or state smaller packets with `longest`", longest.0);
            self.note(Problem::new(location.value("burst"), wrong).help(help));
        }
        self.problems.len() == noted
    }

    /// Notes an adversary that has no route, or sends more than a link of its path carries.
    pub(super) fn check_adversary(&mut self, root: &DeTable<'_>, network: &Network, flows: &Flows) {
        let Some((table, header)) = table_of(root) else { return };
        let location = TableLocation { what: "`adversary`", table, header: &header };
        let group = flows.groups.iter().find(|group| group.members.start == flows.adversary.start);
        let flow = group.filter(|_| !flows.adversary.is_empty()).and_then(|group| group.flow.as_ref());
        let Some(flow) = flow else { return };
        let rate = flow.envelope.as_ref().and_then(|envelope| envelope.buckets.first()).map(|one| one.rate);
        if network.routes.next(flow.from, flow.to).is_none() {
            let problem = Problem::new(location.value("to"), "no links lead the adversary there");
            self.note(problem.help("add a link, or name another node"));
        } else {
            let rate = rate.unwrap_or_default();
            self.check_rate("the adversary may", rate, flow, network, location.value("rate"));
        }
    }
}
