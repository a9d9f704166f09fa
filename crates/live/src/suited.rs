//! What a scenario may not ask of a live run: applications that only the simulator has, addresses that no host can have.

use core::net::IpAddr;

use lockgate_scenario::{Application, Scenario, TcpModel, Transport};

use crate::failure::Failure;
use crate::network::{GATEWAY_4, GATEWAY_6};

/// Whether real packets can do what `scenario` asks.
///
/// # Errors
/// [`Failure::Unsuited`] with the first flow that cannot be had.
pub fn check(scenario: &Scenario) -> Result<(), Failure> {
    for node in &scenario.nodes {
        if let Some(why) = unusable(node.address) {
            return Err(Failure::Unsuited {
                what: format!("node `{}` cannot have the address `{}`: it is {why}", node.name, node.address),
                help: "give it another `address`, or leave that out".to_owned(),
            });
        }
    }
    for flow in &scenario.flows {
        let (key, what) = match flow.transport {
            _ if flow.ftp.is_some() => ("ftp", "speak FTP"),
            _ if flow.echo => ("echo", "answer echoes"),
            Transport::Tcp(TcpModel { application: Application::Pages { .. }, .. }) => {
                ("pages", "serve pages")
            }
            _ => continue,
        };
        return Err(Failure::Unsuited {
            what: format!("the hosts of live runs do not {what}, which flow `{}` asks for", flow.name),
            help: format!("simulate it (leave `--live` out), or leave `{key}` out"),
        });
    }
    Ok(())
}

/// Why no host can have an address, where that is so.
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
