//! Preflight check: refuses scenarios with numbers or addresses that a kernel does not let users choose.

use core::net::IpAddr;

use lockgate_engine::units::Probability;
use lockgate_scenario::tcp::InitialSequence;
use lockgate_scenario::{Application, Link, PortModel, Scenario, TcpModel, Transport};

use crate::failure::Failure;
use crate::network::{GATEWAY_4, GATEWAY_6};

/// Checks that `scenario` can run on real packets.
///
/// # Errors
/// [`Failure::Unsuited`] with the first node, port or flow that cannot.
pub fn check(scenario: &Scenario) -> Result<(), Failure> {
    for node in &scenario.nodes {
        if let Some(why) = unusable(node.address) {
            return Err(Failure::Unsuited {
                what: format!("node `{}` cannot have the address `{}`: it is {why}", node.name, node.address),
                help: "give it another `address`, or leave that out".to_owned(),
            });
        }
    }
    let probes = |port: &&PortModel| port.autorate.as_ref().is_some_and(|it| !it.probes.is_empty());
    if let Some(port) = scenario.ports.iter().find(probes) {
        return Err(Failure::Unsuited {
            what: format!(
                "the controller of port `{}` probes from a router, which has no sockets in a live run",
                port.name
            ),
            help: format!(
                "leave them out with `--set port.{}.autorate.probes=`: acknowledgements are read live too; or simulate \
                 it (leave `--live` out); `lockgate route` sends them",
                port.name
            ),
        });
    }
    let doubles = |link: &&Link| link.conditions.iter().flatten().any(|of| of.duplicate > Probability::ZERO);
    if let Some(link) = scenario.links.iter().find(doubles) {
        return Err(Failure::Unsuited {
            what: format!("link `{}` delivers packets twice, in simulations only", link.name),
            help: "simulate it (leave `--live` out), or leave `duplicate` out".to_owned(),
        });
    }
    for flow in &scenario.flows {
        let Transport::Tcp(TcpModel { application, initial_sequence, .. }) = flow.transport else { continue };
        let answers = match application {
            Application::Echo => "the echoes",
            Application::Pages { .. } => "the pages",
            _ => continue,
        };
        if initial_sequence == InitialSequence::Run2c {
            return Err(Failure::Unsuited {
                what: format!(
                    "a kernel lets only the end that opens a connection choose its first sequence number, and {answers} of \
                     flow `{}` come from the other",
                    flow.name
                ),
                help: "simulate it (leave `--live` out), or leave `initial_sequence` out".to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns why no host can have this address; `None` if one can.
fn unusable(address: IpAddr) -> Option<&'static str> {
    let is_gateway = [IpAddr::V4(GATEWAY_4), IpAddr::V6(GATEWAY_6)].contains(&address);
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    match address {
        _ if is_gateway => Some("the gateway's of every host"),
        _ if address.is_loopback() => Some("a loopback address"),
        _ if address.is_unspecified() => Some("no address"),
        _ if address.is_multicast() || is_broadcast => Some("an address of many"),
        _ => None,
    }
}
