//! Live view of a router: its samples to the hub of the terminal and the page.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle, ScopedJoinHandle};
use std::time::Duration as WallTime;

use lockgate::units::Duration;
use lockgate_monitor::{Channels, Command, Frames, Hub};
use lockgate_router::router::Observer;
use lockgate_scenario::Policy;
use lockgate_scenario::policy::{Direction, PolicyPort};
use lockgate_session::{LinkStatus, PortStatus, Refused, Status};

use crate::arguments::Route;
use crate::exit::Failure;
use crate::interrupt;
use crate::live_view::{self, View};

/// Polling interval of the router's end while the view is on screen, and without it; signals end the wait.
const POLL_INTERVAL: WallTime = WallTime::from_millis(50);
const LONG_POLL_INTERVAL: WallTime = WallTime::from_millis(500);

/// View of a running router, not on screen yet.
pub(super) struct Shown<'a> {
    options: View<'a>,
    hub: Arc<Hub>,
    frames: Frames,
    /// True if the terminal shows it.
    is_watched: bool,
    ended: Arc<AtomicBool>,
    publisher: JoinHandle<()>,
}

/// Way to change a router.
pub(crate) const CHANGED_BY: &str = "edit the policy, and run `lockgate apply`";

/// Starts the view that `arguments` request; `None` if they request none. `tell` is told if there is no page.
pub(super) fn start<'a>(
    policy: &Policy,
    arguments: &'a Route,
    every: Duration,
    observer: Observer,
    tell: &dyn Fn(&str),
) -> Option<Shown<'a>> {
    if !arguments.watch && arguments.web.is_none() {
        return None;
    }
    let (hub, channels) = Hub::start();
    channels.publish_status(status_of(policy, every));
    let options = View {
        web: arguments.web,
        names: &arguments.hosts,
        read_only: Some(CHANGED_BY),
        plain: false,
        json: false,
    };
    let frames = hub.subscribe();
    if let Some(address) = arguments.web
        && let Err(failure) = live_view::serve(address, &options, &hub)
    {
        // Its queues are worth more than its page: another router may have the address.
        tell(&format!("no page: {failure}; the router goes on without it"));
    }
    let ended = Arc::new(AtomicBool::new(false));
    let ending = ended.clone();
    let publisher = thread::spawn(move || publish(&channels, &observer, every, &ending));
    Some(Shown { options, hub, frames, is_watched: arguments.watch, ended, publisher })
}

/// Passes each new sample on, and refuses changes.
fn publish(channels: &Channels, observer: &Observer, every: Duration, ended: &AtomicBool) {
    let every = WallTime::from_nanos(every.as_picos() / 1_000);
    let (mut nap, mut last) = (every / 10, None);
    while !ended.load(Ordering::Relaxed) {
        match channels.commands().recv_timeout(nap) {
            Ok(Command::Set { reply, .. }) => {
                reply.send(Err(Refused::because("a router is changed by its policy", CHANGED_BY)));
            }
            Ok(Command::Stop) => interrupt::flag().store(true, Ordering::SeqCst),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(nap),
        }
        // Until the next sample is due, then often.
        nap = every / 10;
        if let Some(sample) = observer.sample().filter(|sample| last != Some(sample.number)) {
            (last, nap) = (Some(sample.number), every / 10 * 9);
            channels.send(sample);
        }
    }
}

impl Shown<'_> {
    /// Shows the view until `ends` returns true, or the user ends it.
    pub(super) fn show(self, ends: &dyn Fn() -> bool) -> Result<(), Failure> {
        let Self { options, hub, frames, is_watched, ended, publisher } = self;
        let shown = thread::scope(|scope| {
            let screen = is_watched.then(|| {
                let messages = channel();
                scope.spawn(|| live_view::show(&options, &hub, frames, messages))
            });
            while !ends() && !screen.as_ref().is_some_and(ScopedJoinHandle::is_finished) {
                interrupt::wait(if is_watched { POLL_INTERVAL } else { LONG_POLL_INTERVAL });
            }
            ended.store(true, Ordering::Relaxed);
            let left =
                screen.map(|screen| screen.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            left.unwrap_or(Ok(()))
        });
        // Drops the samples' channel, so that readers receive the end.
        let _ = publisher.join();
        // Quitting the view quits the router.
        interrupt::flag().store(true, Ordering::SeqCst);
        shown
    }
}

/// Returns the status that readers see: the interfaces as nodes, and the ports without knobs.
pub(crate) fn status_of(policy: &Policy, every: Duration) -> Status {
    let nodes: Vec<String> = policy.interfaces.iter().map(|interface| interface.role.clone()).collect();
    let ends = |port: &PolicyPort| (nodes[port.from].clone(), nodes[port.to].clone());
    // One link for both directions, each with the rate of its port.
    let link_name = |port: &PolicyPort| {
        let [one, other] = [port.from.min(port.to), port.from.max(port.to)];
        if one == other { nodes[one].clone() } else { format!("{}-{}", nodes[one], nodes[other]) }
    };
    let mut links: Vec<LinkStatus> = Vec::new();
    for port in &policy.ports {
        let (name, (from, to)) = (link_name(port), ends(port));
        let known = links.iter().position(|link| link.name == name);
        let index = known.unwrap_or_else(|| {
            links.push(LinkStatus { name, from: from.clone(), to, ..LinkStatus::default() });
            links.len() - 1
        });
        let direction = usize::from(links[index].from != from || port.direction == Direction::Incoming);
        links[index].rate_bps[direction] = port.rate.map(|rate| rate.as_bits() as f64);
    }
    let queues = |port: &PolicyPort| {
        port.tree.queues().iter().map(|queue| (queue.name.to_string(), Vec::new())).collect()
    };
    let port = |port: &PolicyPort| {
        let (from, to) = ends(port);
        let (name, link) = (port.name.clone(), link_name(port));
        PortStatus { name, from, to, link, root: None, queues: queues(port) }
    };
    // A policy needs no title; a page without one does not say of which router it is.
    let title = match policy.title.as_str() {
        "" => format!("Router at {}", nodes.join(", ")),
        title => title.to_owned(),
    };
    Status {
        title,
        mode: "route",
        pace: 1.0,
        every_s: every.as_secs_f64(),
        links,
        ports: policy.ports.iter().map(port).collect(),
        nodes,
        ..Status::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"
[router]
mode = "bridge"
interfaces = { lan = "eth1", wan = "eth0" }
[port."lan:wan"]
rate = "9.5mbit"
queue.all = { kind = "fifo", limit = "100p" }
[port."wan:lan"]
rate = "95mbit"
queue.all = { kind = "fifo", limit = "100p" }
"#;

    #[test]
    fn a_policy_without_a_title_is_named_by_its_interfaces() {
        let title = |text: &str| {
            let policy = lockgate_scenario::read_policy(text, "house.toml").expect("a policy");
            status_of(&policy, Duration::from_millis(100)).title
        };
        assert_eq!(title(POLICY), "Router at lan, wan");
        assert_eq!(title(&format!("title = \"house\"\n{POLICY}")), "house");
    }

    #[test]
    fn one_link_has_the_rate_of_each_direction() {
        let rates = |text: &str| {
            let policy = lockgate_scenario::read_policy(text, "house.toml").expect("a policy");
            let links = status_of(&policy, Duration::from_secs(1)).links;
            assert_eq!((links.len(), links[0].from.as_str(), links[0].to.as_str()), (1, "lan", "wan"));
            links[0].rate_bps
        };
        assert_eq!(rates(POLICY), [Some(9.5e6), Some(95e6)]);
        // A port without a rate sends as fast as its interface.
        assert_eq!(rates(&POLICY.replace("rate = \"95mbit\"\n", "")), [Some(9.5e6), None]);
    }
}
