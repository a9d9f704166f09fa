//! Watchdog: gives the interfaces back to the kernel while a forwarder stalls or a receive queue has no
//! socket, and reports it. It also reports changes of the interfaces, and ends the router if one is gone:
//! frames of a new interface with its name would bypass the router.
//!
//! It is a thread of the router's process. While the whole process is stopped (SIGSTOP, a debugger), frames
//! wait or are lost until it continues or is killed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockgate_dataplane::netlink::{Link, Netlink, XdpMode};

use crate::attach::Attachment;
use crate::forward::Shared;

/// Stall after which the interfaces are given back.
const STALL: Duration = Duration::from_secs(1);

/// Polling intervals: of the forwarders' heartbeats, and of the interfaces.
const HEARTBEAT_POLL_INTERVAL: Duration = Duration::from_millis(100);
const INTERFACE_POLL_INTERVAL: Duration = Duration::from_secs(1);

type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Flags that the watchdog shares with the router.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// Set by the router: the watchdog ends.
    pub(crate) ended: Arc<AtomicBool>,
    /// Set by the watchdog: the router cannot continue.
    pub(crate) failed: Arc<AtomicBool>,
}

/// Starts the watchdog's thread, which returns the name of an interface that is gone. Returns `None` if no
/// thread can be started.
pub(crate) fn start(
    attachment: Arc<Attachment>,
    forwarders: Vec<Arc<Shared>>,
    flags: Flags,
    tell: Tell,
) -> Option<JoinHandle<Option<String>>> {
    let work = move || watch(&attachment, &forwarders, &flags, &tell);
    thread::Builder::new().name("watchdog".into()).spawn(work).ok()
}

fn watch(attachment: &Attachment, forwarders: &[Arc<Shared>], flags: &Flags, tell: &Tell) -> Option<String> {
    let Flags { ended, failed } = flags;
    let beats =
        || -> Vec<u64> { forwarders.iter().map(|shared| shared.heartbeat.load(Ordering::Relaxed)).collect() };
    let mut seen: Vec<(u64, Instant)> = beats().into_iter().map(|beat| (beat, Instant::now())).collect();
    let mut detached_for: Option<DetachReason> = None;
    let mut unserved = attachment.unserved();
    let mut interfaces = Interfaces::new(attachment);
    let mut checked_at = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(HEARTBEAT_POLL_INTERVAL);
        let now = Instant::now();
        for ((beat, since), current) in seen.iter_mut().zip(beats()) {
            if current != *beat {
                (*beat, *since) = (current, now);
            }
        }
        if now.duration_since(checked_at) >= INTERFACE_POLL_INTERVAL {
            checked_at = now;
            if let Some(gone) = interfaces.report_changes(tell) {
                failed.store(true, Ordering::Relaxed);
                return Some(gone);
            }
            unserved = attachment.unserved();
        }
        let is_stalled = seen.iter().any(|(_, since)| now.duration_since(*since) >= STALL);
        let reason = match &unserved {
            _ if is_stalled => Some(DetachReason::Stalled),
            Some(what) => Some(DetachReason::Unserved(what.clone())),
            None => None,
        };
        if reason != detached_for && !ended.load(Ordering::Relaxed) {
            attach_or_detach(attachment, detached_for.as_ref(), reason.as_ref(), tell);
            detached_for = reason;
        }
    }
    None
}

/// Reason why the kernel has the interfaces while the router runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DetachReason {
    /// A forwarder stalls.
    Stalled,
    /// A receive queue has no socket.
    Unserved(String),
}

/// Gives the interfaces back or attaches to them again, and reports it.
fn attach_or_detach(
    attachment: &Attachment,
    before: Option<&DetachReason>,
    now: Option<&DetachReason>,
    tell: &Tell,
) {
    if let Some(reason) = now {
        attachment.detach();
        return match reason {
            DetachReason::Stalled => {
                tell("the router stands still: its interfaces are given back to the kernel");
            }
            DetachReason::Unserved(what) => {
                tell(&format!("the interfaces are given back to the kernel: {what}"));
            }
        };
    }
    let back = match before {
        Some(DetachReason::Unserved(_)) => "the router serves all receive queues again",
        _ => "the router runs again",
    };
    match attachment.attach() {
        Ok(()) => tell(&format!("{back}, and has its interfaces")),
        Err(refusal) => tell(&format!("{back}, without its interfaces: {refusal}")),
    }
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

    /// Reports all changes since the last call. Returns the name of an interface that is gone.
    fn report_changes(&mut self, tell: &Tell) -> Option<String> {
        let Some(Ok(links)) = self.netlink.as_mut().map(Netlink::links) else { return None };
        for (name, known) in &mut self.known {
            // By index too: another interface may have the name by now.
            let now = links.iter().find(|link| link.name == *name && link.index == known.index);
            let Some(now) = now else { return Some(name.clone()) };
            for change in differences(known, now) {
                tell(&format!("interface `{name}` {change}"));
            }
            *known = now.clone();
        }
        None
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
