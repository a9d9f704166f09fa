//! Watchdog: reports when a forwarder stalls, so that the kernel has its frames. While a receive queue has no
//! socket, or one of the router's own interfaces drops frames, it gives the interfaces back to the kernel. It
//! also reports changes of the interfaces, and ends the router if one is gone: frames of a new interface with
//! its name would bypass the router.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockgate_dataplane::netlink::{Link, Netlink, XdpMode};

use crate::attach::{Attachment, PairFault};

/// Polling intervals: of the leases, and of the interfaces.
const LEASE_POLL_INTERVAL: Duration = Duration::from_millis(100);
const INTERFACE_POLL_INTERVAL: Duration = Duration::from_secs(1);

type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Flags that the watchdog shares with the router.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// Set by the router: the watchdog ends.
    pub(crate) ended: Arc<AtomicBool>,
    /// Set by the watchdog or a forwarder: the router cannot continue.
    pub(crate) failed: Arc<AtomicBool>,
}

/// Starts the watchdog's thread, which returns the name of an interface that is gone. Returns `None` if no
/// thread can be started.
pub(crate) fn start(
    attachment: Arc<Attachment>,
    flags: Flags,
    tell: Tell,
) -> Option<JoinHandle<Option<String>>> {
    let work = move || watch(&attachment, &flags, &tell);
    thread::Builder::new().name("watchdog".into()).spawn(work).ok()
}

fn watch(attachment: &Attachment, flags: &Flags, tell: &Tell) -> Option<String> {
    let Flags { ended, failed } = flags;
    let mut bypassed: Option<Bypass> = None;
    let mut passed = attachment.passed();
    let mut obstacle = attachment.unserved();
    let mut interfaces = Interfaces::new(attachment);
    let mut checked_at = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(LEASE_POLL_INTERVAL);
        if checked_at.elapsed() >= INTERFACE_POLL_INTERVAL {
            checked_at = Instant::now();
            match interfaces.check(attachment, tell) {
                // Of a list that cannot be read nothing is concluded.
                None => {}
                Some(Condition::Gone(name)) => {
                    failed.store(true, Ordering::Relaxed);
                    attachment.withhold(&format!("interface `{name}` is gone"));
                    return Some(name);
                }
                Some(Condition::Closed(why)) => obstacle = Some(why),
                Some(Condition::Open) => obstacle = attachment.unserved(),
            }
        }
        let now = match &obstacle {
            _ if attachment.is_stalled() => Some(Bypass::Stalled),
            Some(why) => Some(Bypass::Withheld(why.clone())),
            None => None,
        };
        if ended.load(Ordering::Relaxed) {
            break;
        }
        if now != bypassed {
            match &now {
                Some(Bypass::Withheld(why)) => attachment.withhold(why),
                None if matches!(bypassed, Some(Bypass::Withheld(_))) && !failed.load(Ordering::Relaxed) => {
                    attachment.take();
                }
                _ => {}
            }
            tell(&changed(now.as_ref()));
            bypassed = now;
        }
        let newly = attachment.passed() - passed;
        // The process may have been stopped with this thread, and continued.
        if newly > 0 && bypassed.is_none() {
            tell(&format!("{newly} frames took the kernel's way meanwhile"));
            passed += newly;
        }
    }
    None
}

/// Reason why frames take the kernel's way while the router runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bypass {
    /// A forwarder stalls.
    Stalled,
    /// Frames would be lost or divided, for this reason: a receive queue without a socket, or a closed pair.
    Withheld(String),
}

/// Returns the message of a change.
fn changed(now: Option<&Bypass>) -> String {
    match now {
        Some(Bypass::Stalled) => {
            "the router stands still: its interfaces are given back to the kernel".to_owned()
        }
        Some(Bypass::Withheld(why)) => format!("the interfaces are given back to the kernel: {why}"),
        None => "the router runs again, and has its interfaces".to_owned(),
    }
}

/// Condition of the interfaces.
enum Condition {
    /// Frames can pass.
    Open,
    /// Frames cannot pass for now, for this reason.
    Closed(String),
    /// An interface of this name is gone: the router cannot go on.
    Gone(String),
}

/// State of the interfaces, as last reported.
struct Interfaces {
    /// By name.
    known: BTreeMap<String, Link>,
    netlink: Option<Netlink>,
}

impl Interfaces {
    fn new(attachment: &Attachment) -> Self {
        let mut netlink = Netlink::open().ok();
        let links = netlink.as_mut().and_then(|netlink| netlink.links().ok()).unwrap_or_default();
        let of = |name: &str| links.iter().find(|link| link.name == name).cloned();
        let known =
            attachment.interface_names().filter_map(|name| Some((name.to_owned(), of(name)?))).collect();
        Self { known, netlink }
    }

    /// Reports all changes of the policy's interfaces since the last call. Returns the condition of these and
    /// of the router's own interfaces; `None` if the kernel does not list them.
    fn check(&mut self, attachment: &Attachment, tell: &Tell) -> Option<Condition> {
        let links = self.netlink.as_mut()?.links().ok()?;
        for (name, known) in &mut self.known {
            // By index too: another interface may have the name by now.
            let now = links.iter().find(|link| link.name == *name && link.index == known.index);
            let Some(now) = now else { return Some(Condition::Gone(name.clone())) };
            for change in differences(known, now) {
                tell(&format!("interface `{name}` {change}"));
            }
            *known = now.clone();
        }
        Some(match attachment.pair_fault(&links) {
            None => Condition::Open,
            Some(PairFault::Closed(why)) => Condition::Closed(why),
            Some(PairFault::Gone(name)) => Condition::Gone(name),
        })
    }
}

/// Returns the changes of an interface as messages for the user.
fn differences(before: &Link, now: &Link) -> Vec<String> {
    let mut changes = Vec::new();
    if before.is_up != now.is_up {
        let what = if now.is_up { "is up" } else { "is down: frames for it are lost" };
        changes.push(what.to_owned());
    }
    if before.mtu != now.mtu {
        let restart =
            if now.mtu > before.mtu { ": start the router again to carry longer frames" } else { "" };
        changes.push(format!("has an MTU of {} bytes, before {}{restart}", now.mtu, before.mtu));
    }
    if before.controller != now.controller {
        changes.push("is a port of another bridge: the kernel's way has changed".to_owned());
    }
    if before.xdp != now.xdp && now.xdp != XdpMode::Absent {
        changes.push("has another XDP program: frames that it takes pass by the router".to_owned());
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_to_an_interface_is_said() {
        let link = Link { index: 3, name: "eth1".into(), is_up: true, mtu: 1500, ..Link::default() };
        let down = Link { is_up: false, ..link.clone() };
        let longer = Link { mtu: 9000, controller: Some(7), ..link.clone() };
        let taken = Link { xdp: XdpMode::Driver, ..link.clone() };
        assert!(differences(&link, &link).is_empty());
        assert_eq!(differences(&link, &down), ["is down: frames for it are lost"]);
        assert_eq!(differences(&down, &link), ["is up"]);
        assert_eq!(
            differences(&link, &taken),
            ["has another XDP program: frames that it takes pass by the router"]
        );
        let changes = differences(&link, &longer);
        assert!(changes[0].contains("9000") && changes[0].contains("again") && changes[1].contains("bridge"));
    }
}
