//! Plan of an attachment: what a policy needs of this host, and what it changes, found without changing
//! anything.

use std::fmt;

use lockgate_dataplane::namespace::RemoteNamespace;
use lockgate_dataplane::netlink::{LinkHeader, Netlink};
use lockgate_measure::figures::count;
use lockgate_scenario::Policy;
use lockgate_scenario::policy::{Attach, Direction, HostFrames, Mode};

use super::find::{Found, find};
use super::pairs::near_name;
use super::{NEW_BRIDGE, Tap, await_pairs_gone, taps};
use crate::doctor::lacking;
use crate::failure::Failure;
use crate::nat;

/// Plan of an attachment, for people to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    lines: Vec<String>,
}

impl fmt::Display for Plan {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(to, "{line}"))
    }
}

impl Plan {
    /// Checks what `policy` needs of this host, and changes nothing.
    ///
    /// # Errors
    /// As for a start, as far as it can be known before: if an interface does not fit, or if this process has
    /// the capabilities of a router, and may not make a network namespace.
    pub fn of(policy: &Policy) -> Result<Self, Failure> {
        await_pairs_gone(policy)?;
        let found = find(policy)?;
        let mut lines = Vec::new();
        let lacking = lacking();
        if lacking.is_empty() {
            RemoteNamespace::new(1)?;
        } else {
            lines.push(format!(
                "a start by this user is refused: it lacks {}; start it as root, or by the unit lockgate-route@.service",
                lacking.join(", ")
            ));
        }
        lines.extend(
            taps(policy).iter().enumerate().map(|(index, tap)| redirection(policy, &found, index, tap)),
        );
        if policy.mode == Mode::Bridge {
            lines.extend(bridge(policy, &found));
        }
        let mut netlink = Netlink::open()?;
        lines.extend(found.alarms.iter().map(|alarm| format!("ALARM: {alarm}")));
        lines.extend(found.notes(&mut netlink, policy.mode));
        lines.extend(found.doubts());
        if policy.trees().any(|(_, tree)| tree.needs_hosts()) {
            lines.push(nat::plan());
        }
        for port in &policy.ports {
            let rate = port.rate.map_or("as fast as the interface".to_owned(), |rate| rate.to_string());
            let queues = count(port.tree.queues().len() as u64, "queue");
            lines.push(format!("port {}: {rate}, {queues}", port.name));
        }
        Ok(Self { lines })
    }
}

/// Returns the line of the redirection of a tap: `index` is its number in the policy.
fn redirection(policy: &Policy, found: &Found, index: usize, tap: &Tap) -> String {
    let (interface, link) = (&policy.interfaces[tap.interface], &found.links[tap.interface]);
    let near = near_name(link, tap.is_second);
    let to = match found.preflights.get(index).map(|preflight| preflight.queues) {
        None => format!("redirected to `{near}`"),
        Some(1) => "redirected in the driver".to_owned(),
        Some(queues) => format!("redirected in the driver, {queues} queues,"),
    };
    let what = match tap.direction {
        Direction::Across => format!("what arrives is {to} before the bridge"),
        Direction::Outgoing => format!("what the kernel sends is {to}"),
        Direction::Incoming => format!("what arrives is {to} before the kernel"),
    };
    let packets =
        if link.header == Some(LinkHeader::Absent) { ", packets without a link header" } else { "" };
    format!("{} = {} (index {}, MTU {}{packets}): {what}", interface.role, link.name, link.index, link.mtu)
}

/// Returns the lines of the kernel's bridge, which takes over where the router ends.
fn bridge(policy: &Policy, found: &Found) -> Vec<String> {
    let mut lines = vec![match &found.bridge {
        Some(bridge) => format!("the kernel bridge `{}` takes over where this router ends", bridge.name),
        None => format!(
            "a kernel bridge `{NEW_BRIDGE}` of both is made; it stays, and takes over where this router ends"
        ),
    }];
    if policy.attach == Attach::Tcx {
        let made = found.bridge.is_none().then(|| NEW_BRIDGE.to_owned());
        let own: Vec<String> = made.into_iter().chain(found.own.iter().cloned()).collect();
        let sent = match policy.host {
            HostFrames::Pass => "pass beside the queues; those that it forwards for others are queued",
            HostFrames::Queue => "are queued",
        };
        lines.push(format!(
            "the host's own addresses on `{}` are served: frames for them pass, and those it sends {sent}",
            own.join("`, `")
        ));
    }
    lines
}
