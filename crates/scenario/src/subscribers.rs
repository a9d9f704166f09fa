//! Rows of the table of subscribers that queues and flows of a scenario are made of.

use std::collections::BTreeMap;

use crate::expand::{Groups, Rows};
use crate::model::{Flow, Scenario};

/// Table of subscribers of a scenario, for its results.
#[derive(Debug)]
pub struct Subscribers<'s> {
    scenario: &'s Scenario,
    groups: &'s Groups,
    rows: &'s Rows,
    flows: BTreeMap<&'s str, &'s Flow>,
}

impl<'s> Subscribers<'s> {
    /// Returns the table of a scenario; `None` if none of its groups has a member of each row of one.
    pub fn of(scenario: &'s Scenario) -> Option<Self> {
        let groups = scenario.timeline.groups();
        let rows = groups.rows()?;
        let flows = scenario.flows.iter().map(|flow| (flow.name.as_str(), flow)).collect();
        Some(Self { scenario, groups, rows, flows })
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> Vec<&'s str> {
        self.rows.columns().collect()
    }

    /// Returns the values of the row that a queue is a member for.
    pub fn of_queue(&self, name: &str) -> Option<Vec<&'s str>> {
        self.values("queue", name)
    }

    /// Returns the values of the row of a flow: that of its destination, or else of its source.
    pub fn of_flow(&self, name: &str) -> Option<Vec<&'s str>> {
        let flow = self.flows.get(name)?;
        let mut nodes = [flow.to, flow.from].into_iter().filter_map(|node| self.scenario.nodes.get(node));
        nodes.find_map(|node| self.values("node", &node.name))
    }

    fn values(&self, section: &str, name: &str) -> Option<Vec<&'s str>> {
        let row = self.groups.row(section, name)?;
        Some(self.rows.columns().map(|column| self.rows.get(row, column).unwrap_or_default()).collect())
    }
}
