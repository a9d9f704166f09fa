//! Flows of a program outside: the run carries their packets, and sends none itself.
//!
//! ```text
//! flow of the file  --take_out-->  the same flow, whose packets the program sends and receives
//! two nodes         --join_outside-->  two new flows, one each way
//! ```
//!
//! No file has such flows. A path (`lockgate_path`) makes them before its run begins.

use core::net::IpAddr;

use lockgate_engine::classify::Fields;
use lockgate_engine::units::Duration;

use crate::model::{Flow, Scenario, Transport};
use crate::nearest::nearest;
use crate::routes::Routes;
use crate::tcp::Application;
use crate::traffic::Traffic;

/// First source port of flows that were not in the file: below those that files' flows get.
const FIRST_PORT: u16 = 40_000;
/// Destination port of flows that were not in the file: HTTPS, and HTTP/3.
const SERVICE_PORT: u16 = 443;
/// IP protocol number of UDP.
const UDP: u8 = 17;

/// Indices in [`Scenario::flows`] of a flow of a program outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideFlow {
    /// The flow.
    pub forth: usize,
    /// Its reverse direction; `None` if it has none.
    pub back: Option<usize>,
}

/// Error of a flow that cannot be that of a program outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutsideError {
    /// No such node.
    #[error("there is no node `{name}`{}", suggestion(.near.as_ref()))]
    NoNode {
        /// Name.
        name: String,
        /// Most similar name.
        near: Option<String>,
    },
    /// No such flow.
    #[error("there is no flow `{name}`{}", suggestion(.near.as_ref()))]
    NoFlow {
        /// Name.
        name: String,
        /// Most similar name.
        near: Option<String>,
    },
    /// The flow has a role that no program can take.
    #[error("flow `{name}` cannot be taken over: {why}")]
    Bound {
        /// Name of the flow.
        name: String,
        /// Reason.
        why: &'static str,
    },
    /// No links join the two nodes.
    #[error("no links lead from `{from}` to `{to}` and back")]
    NoRoute {
        /// Name of the one.
        from: String,
        /// Name of the other.
        to: String,
    },
    /// The two nodes are one, or their addresses are of two families.
    #[error("`{from}` and `{to}` cannot be joined: {why}")]
    NoPair {
        /// Name of the one.
        from: String,
        /// Name of the other.
        to: String,
        /// Reason.
        why: &'static str,
    },
}

fn suggestion(near: Option<&String>) -> String {
    near.map_or(String::new(), |near| format!("; is `{near}` meant?"))
}

impl Scenario {
    /// Makes the flow called `name`, and its reverse direction if it has one, flows of a program outside.
    ///
    /// # Errors
    /// If there is no such flow, if it is itself a reverse direction, or if other connections depend on it.
    pub fn take_out(&mut self, name: &str) -> Result<OutsideFlow, OutsideError> {
        let Some(forth) = self.flows.iter().position(|flow| flow.name == name) else {
            let near = nearest(name, self.flows.iter().map(|flow| flow.name.as_str()));
            return Err(OutsideError::NoFlow { name: name.to_owned(), near: near.map(str::to_owned) });
        };
        let bound = |why| Err(OutsideError::Bound { name: name.to_owned(), why });
        let is_connection = match self.flows[forth].transport {
            Transport::Udp => false,
            Transport::Tcp(model) => match model.application {
                Application::Control { .. } => return bound("it controls the transfer of another flow"),
                Application::Drawn => return bound("its group draws the files of all members in turn"),
                _ if self.flows[forth].ftp.is_some() => return bound("another flow controls its transfer"),
                _ => true,
            },
            Transport::UdpReturn { .. } | Transport::TcpReturn { .. } => {
                return bound("it is the reverse direction of a flow: name that one");
            }
            Transport::Outside { .. } => return bound("it is taken over already"),
        };
        let is_reverse = |flow: &Flow| match flow.transport {
            Transport::UdpReturn { of } | Transport::TcpReturn { of } => of == forth,
            _ => false,
        };
        let back = self.flows.iter().position(is_reverse);
        self.flows[forth].transport = Transport::Outside { of: None, is_connection };
        if let Some(back) = back {
            self.flows[back].transport = Transport::Outside { of: Some(forth), is_connection };
        }
        Ok(OutsideFlow { forth, back })
    }

    /// Adds flows of a program outside: one called `from-to` from one node to the other, and one called
    /// `from-to/return` back.
    ///
    /// # Errors
    /// If a node is missing, or if nothing can go from one to the other.
    pub fn join_outside(&mut self, from: &str, to: &str) -> Result<OutsideFlow, OutsideError> {
        let [a, b] = [self.node(from)?, self.node(to)?];
        let pair = |why| OutsideError::NoPair { from: from.to_owned(), to: to.to_owned(), why };
        if a == b {
            return Err(pair("they are one node"));
        }
        let addresses = [self.nodes[a].address, self.nodes[b].address];
        if addresses[0].is_ipv4() != addresses[1].is_ipv4() {
            return Err(pair("one has an IPv4 address, the other an IPv6 address"));
        }
        let links: Vec<[usize; 2]> = self.links.iter().map(|link| link.ends).collect();
        let ends = self.flows.iter().flat_map(|flow| [flow.from, flow.to]).chain([a, b]);
        let routes = Routes::new(self.nodes.len(), &links, ends);
        if routes.next(a, b).is_none() || routes.next(b, a).is_none() {
            return Err(OutsideError::NoRoute { from: from.to_owned(), to: to.to_owned() });
        }
        self.routes = routes;
        let forth = self.flows.len();
        let name = self.unused(&format!("{from}-{to}"));
        let source_port = FIRST_PORT.saturating_add(u16::try_from(forth).unwrap_or(u16::MAX));
        let back_name = format!("{name}/return");
        self.flows.push(outside(name, [a, b], addresses, [source_port, SERVICE_PORT], None));
        let [here, there] = addresses;
        self.flows.push(outside(back_name, [b, a], [there, here], [SERVICE_PORT, source_port], Some(forth)));
        Ok(OutsideFlow { forth, back: Some(forth + 1) })
    }

    fn node(&self, name: &str) -> Result<usize, OutsideError> {
        self.nodes.iter().position(|node| node.name == name).ok_or_else(|| {
            let near = nearest(name, self.nodes.iter().map(|node| node.name.as_str()));
            OutsideError::NoNode { name: name.to_owned(), near: near.map(str::to_owned) }
        })
    }

    /// Returns `name`, with a number behind it if a flow has that name.
    fn unused(&self, name: &str) -> String {
        let is_free = |name: &String| self.flows.iter().all(|flow| flow.name != *name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        core::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
    }
}

/// Returns a flow of a program outside.
fn outside(
    name: String,
    [from, to]: [usize; 2],
    addresses: [IpAddr; 2],
    ports: [u16; 2],
    of: Option<usize>,
) -> Flow {
    Flow {
        envelope: None,
        name,
        from,
        to,
        transport: Transport::Outside { of, is_connection: false },
        fields: Fields {
            protocol: UDP,
            source: addresses[0],
            destination: addresses[1],
            source_port: ports[0],
            destination_port: ports[1],
            flow_label: 0,
        },
        traffic_class: 0,
        mark: 0,
        traffic: Traffic::nothing(),
        start: Duration::ZERO,
        start_law: None,
        stop: None,
        packets: None,
        bytes: None,
        ftp: None,
        echo: false,
        voice: None,
    }
}
