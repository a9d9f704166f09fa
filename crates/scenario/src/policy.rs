//! Policies: what a router does with the frames of its interfaces, as read from a file.
//!
//! ```text
//! [router]               mode, interfaces, attach, io, frames, on_fault, host
//! [port."lan->wan"]      bridge: one port a direction     rate, overhead, mpu, framing
//! [port.wan]             egress, ingress: one an interface     and root, alternatives, clock, ring,
//! queue.NAME [[alert]]              if, name, webhook, command
//! [port."wan:in"]        both: arrivals of an interface, beside [port.wan] for what it sends
//! ```
//!
//! The second group of a port's keys is a scenario's, read by the same code: the same queues run in the
//! simulator and on the wire.
//!
//! ```
//! use lockgate_scenario::policy::{Mode, read_policy};
//!
//! let policy = read_policy(
//!     r#"
//! [router]
//! mode = "egress"
//! interfaces = { wan = "eth0" }
//! [port.wan]
//! rate = "9.5mbit"
//! overhead = "docsis"
//! queue.cake = { kind = "cake" }
//! "#,
//!     "house.toml",
//! )?;
//! assert_eq!((policy.mode, policy.ports[0].name.as_str()), (Mode::Egress, "wan"));
//! # Ok::<(), lockgate_scenario::Problems>(())
//! ```

use core::net::IpAddr;
use std::sync::Arc;

use lockgate_engine::clock::ClockConfig;
use lockgate_engine::overhead::{LinkHeader, PortOverhead};
use lockgate_engine::pacing::Pace;
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::{Bytes, Duration, Rate};
use serde::Deserialize;
use toml::de::DeTable;

use crate::check::Checker;
use crate::condition::Condition;
use crate::diagnostic::{Problem, Problems, Source};
use crate::embedding::as_in_its_file;
use crate::file::SECTIONS;
use crate::model::Autorate;
use crate::nearest::nearest;
use crate::toml_text::{MEMORY, longest_text, parsed};
use crate::tree::{QueueTree, lower};

/// Position of a router between its networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Between two interfaces, as a cable: every frame of one leaves by the other.
    Bridge,
    /// Behind the kernel: what leaves an interface is queued here first.
    Egress,
    /// Before the kernel: what arrives at an interface is queued here first.
    Ingress,
    /// Behind and before the kernel: both directions of an interface.
    Both,
}

impl Mode {
    /// Returns the name in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bridge => "bridge",
            Self::Egress => "egress",
            Self::Ingress => "ingress",
            Self::Both => "both",
        }
    }
}

/// Frames that a port queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Those that arrive at one interface and leave by another, in mode `bridge`.
    Across,
    /// Those that the kernel sends by its interface.
    Outgoing,
    /// Those that arrive at its interface.
    Incoming,
}

/// Point at which a router takes the frames of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Attach {
    /// After the driver, as whole frames, by way of a veth pair: any Ethernet interface.
    #[default]
    Tcx,
    /// In the driver: a shorter way, for interfaces whose driver delivers whole frames.
    Xdp,
}

impl Attach {
    /// Returns the name in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcx => "tcx",
            Self::Xdp => "xdp",
        }
    }
}

/// Sockets by which frames are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FrameIo {
    /// `AF_XDP`, or an error.
    AfXdp,
    /// Packet sockets.
    Packet,
}

/// Answer of a router to frames that are lost in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OnFault {
    /// It gives the interfaces back to the kernel, until the fault is gone: frames pass unshaped.
    #[default]
    Open,
    /// It keeps the interfaces: frames are lost instead. Not if it stalls or ends: the kernel then has them.
    Hold,
}

/// Way of the frames that the host itself sends, in mode `bridge`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum HostFrames {
    /// They leave at once, beside the queues.
    #[default]
    Pass,
    /// They are queued as frames of the other interface.
    Queue,
}

/// Interface of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyInterface {
    /// Name in the policy, such as `wan`.
    pub role: String,
    /// Name on the machine, such as `eth0`.
    pub name: String,
}

/// Returns true if a network device of Linux can have this name: not if it has control characters, which
/// Linux would permit. Letters may be of any script, and their bytes count.
pub fn is_device_name(name: &str) -> bool {
    /// `IFNAMSIZ` less the zero byte.
    const LONGEST_NAME: usize = 15;

    let allowed = |letter: char| !letter.is_control() && !letter.is_whitespace() && !"/:".contains(letter);
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(allowed) && ![".", ".."].contains(&name)
}

/// Queue of one direction.
#[derive(Clone, Debug)]
pub struct PolicyPort {
    /// Name: `lan:wan` in mode `bridge`, an interface's role otherwise; in mode `both`, `wan:in` for the
    /// arrivals of `wan`.
    pub name: String,
    /// Frames that it queues.
    pub direction: Direction,
    /// Index of the interface whose arrivals it takes; equal to `to` unless it goes across.
    pub from: usize,
    /// Index of the interface that it sends by.
    pub to: usize,
    /// Rate that it sends at most; `None`: as fast as the interface takes frames.
    pub rate: Option<Rate>,
    /// Overhead of what it sends.
    pub overhead: PortOverhead,
    /// Granularity of the scheduler's clock; `None`: exact.
    pub clock: Option<ClockConfig>,
    /// Device queue below the scheduler; `None`: no device queue.
    pub ring: Option<RingConfig>,
    /// Controller of that rate, if any.
    pub autorate: Option<Arc<PolicyAutorate>>,
    /// Tree of its queues.
    pub tree: Arc<QueueTree>,
    /// True if a queue names `protocol = "other"`: frames without an IP packet are then queued too.
    pub queues_other: bool,
}

/// Controller of the rate of a router's port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyAutorate {
    /// Law, bounds and signals, without the flows of a scenario.
    pub model: Autorate,
    /// Addresses that are probed.
    pub probes: Vec<IpAddr>,
}

impl PolicyAutorate {
    /// Returns whether it differs from `other` in nothing but the rate at the start.
    pub fn steps_as(&self, other: &Self) -> bool {
        let mut begins_alike = other.clone();
        begins_alike.model.bounds.start = self.model.bounds.start;
        *self == begins_alike
    }
}

impl PolicyPort {
    /// Makes a port whose rate a controller steps begin with `rate`, or the nearest rate within its bounds.
    pub fn begin_at(&mut self, rate: Rate) {
        let Some(autorate) = self.autorate.as_mut().filter(|it| !it.model.observe_only) else { return };
        let bounds = &mut Arc::make_mut(autorate).model.bounds;
        bounds.start = rate.max(bounds.min).min(bounds.max);
        self.rate = Some(bounds.start);
    }

    /// Returns the rate that it sends at most, its shapers included, and the overhead of a frame of Ethernet.
    pub fn pace(&self) -> Pace {
        lower(Pace { rate: self.rate, overhead: self.overhead.on(LinkHeader::Ethernet) }, self.tree.pace())
    }
}

/// Alert of a policy: a condition, and what is done when it is met, and when no longer.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Name, in one line.
    pub name: String,
    /// Condition.
    pub condition: Condition,
    /// Address to which it is posted as JSON.
    pub webhook: Option<Webhook>,
    /// Program and arguments that are run; empty: none.
    pub command: Vec<String>,
}

/// Address of a webhook: `http://HOST:PORT/PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Name or address of the host, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path, with its query.
    pub path: String,
}

impl Webhook {
    /// Longest address, in bytes.
    const LONGEST_ADDRESS_BYTES: usize = 2048;

    /// Parses an address.
    ///
    /// # Errors
    /// Returns the fault, in words.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > Self::LONGEST_ADDRESS_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("has letters that no address has, or too many");
        }
        let Some(rest) = text.strip_prefix("http://") else { return Err("does not begin with `http://`") };
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let bracketed = authority.strip_prefix('[').and_then(|inner| inner.split_once(']'));
        let (host, port) = match bracketed {
            Some((host, port)) => (host, port.strip_prefix(':').filter(|_| !port.is_empty())),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() || host.contains(['@', '?', '#', '[', ']']) {
            return Err("names no host");
        }
        let port = match port {
            None => 80,
            Some(port) => port.parse().map_err(|_| "has no port of 0 to 65535")?,
        };
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self { host: host.to_owned(), port, path: path.to_owned() })
    }

    /// Returns host and port, as the header `Host` has them.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            return format!("[{}]:{}", self.host, self.port);
        }
        format!("{}:{}", self.host, self.port)
    }
}

/// Valid policy of a router.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Subject, in one line; empty if the file gives none.
    pub title: String,
    /// Position of the router.
    pub mode: Mode,
    /// Point at which it takes the frames; [`Attach::Tcx`] in mode `egress`.
    pub attach: Attach,
    /// Sockets; `None`: for each direction the kind that costs less, `AF_XDP` where it is possible.
    pub io: Option<FrameIo>,
    /// Frames that all queues hold together at most.
    pub frames: u32,
    /// Length up to which segments that arrive as one super-frame stay one packet; `None`: each is a packet.
    pub super_frames: Option<Bytes>,
    /// Answer to frames that are lost in it.
    pub on_fault: OnFault,
    /// Way of the frames of the host itself, in mode `bridge`.
    pub host: HostFrames,
    /// Interfaces, in the order of the file.
    pub interfaces: Vec<PolicyInterface>,
    /// Ports, at least one.
    pub ports: Vec<PolicyPort>,
    /// Alerts.
    pub alerts: Vec<Alert>,
    /// Probable mistakes.
    pub warnings: Vec<Problem>,
}

impl Policy {
    /// Returns the name and the queues of each port.
    pub fn trees(&self) -> impl Iterator<Item = (&str, &QueueTree)> + Clone {
        self.ports.iter().map(|port| (&*port.name, &*port.tree))
    }

    /// Returns the first difference from `running`, in words, that only a restart of a router can make;
    /// `None` if it can change from `running` to this policy while it runs.
    pub fn needs_restart(&self, running: &Self) -> Option<String> {
        if self.mode != running.mode {
            let names = (self.mode.name(), running.mode.name());
            return Some(format!("mode `{}` is not that of the running router, `{}`", names.0, names.1));
        }
        if self.interfaces != running.interfaces {
            let names = |policy: &Self| {
                let named = policy.interfaces.iter().map(|one| format!("{} = {}", one.role, one.name));
                named.collect::<Vec<_>>().join(", ")
            };
            let (new, old) = (names(self), names(running));
            return Some(format!("the interfaces ({new}) are not those of the running router ({old})"));
        }
        if self.attach != running.attach {
            return Some("`attach` is not that of the running router".to_owned());
        }
        if self.io != running.io {
            return Some("`io` is not that of the running router".to_owned());
        }
        if (self.on_fault, self.host) != (running.on_fault, running.host) {
            return Some("`on_fault` or `host` is not that of the running router".to_owned());
        }
        if self.frames != running.frames {
            let (new, old) = (self.frames, running.frames);
            return Some(format!("`frames` is {new}, and the running router has {old}"));
        }
        if self.super_frames != running.super_frames {
            let length =
                |longest: Option<Bytes>| longest.map_or("off".to_owned(), |longest| longest.to_string());
            let (new, old) = (length(self.super_frames), length(running.super_frames));
            return Some(format!("`super_frames` is {new}, and the running router has {old}"));
        }
        let names = |policy: &Self| policy.ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
        let (new, old) = (names(self), names(running));
        if new != old {
            let (new, old) = (new.join(", "), old.join(", "));
            return Some(format!("the ports ({new}) are not those of the running router ({old})"));
        }
        self.ports.iter().zip(&running.ports).find_map(|(new, old)| {
            let key = if new.clock == old.clock { "ring" } else { "clock" };
            let differs = (new.clock, new.ring) != (old.clock, old.ring);
            differs.then(|| format!("`{key}` of port `{}` is not that of the running router", new.name))
        })
    }
}

/// Returns true if `text` is a policy, not a scenario: it has a table `router`.
pub fn is_policy(text: &str) -> bool {
    let (root, _) = DeTable::parse_recoverable(text);
    root.get_ref().contains_key("router")
}

/// Returns true if `text` is that of a scenario: it has nodes, and is not a policy. It may have problems.
pub fn is_scenario(text: &str) -> bool {
    let (root, _) = DeTable::parse_recoverable(text);
    root.get_ref().contains_key("node") && !root.get_ref().contains_key("router")
}

/// Subject of a TOML file, by its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A scenario, right or wrong. A file without tables, or that is not TOML, may be meant as one.
    Scenario,
    /// A policy of a router.
    Policy,
    /// Another program's, or other data: no key is one of a scenario or of a policy, nor near one.
    Other,
}

/// Returns the subject of a file's text.
pub fn subject(text: &str) -> Subject {
    let (root, errors) = DeTable::parse_recoverable(text.strip_prefix('\u{feff}').unwrap_or(text));
    let root = root.get_ref();
    if root.contains_key("router") {
        return Subject::Policy;
    }
    // `title` is a key of many programs.
    let known =
        || SECTIONS.into_iter().chain(["duration", "warmup", "router", "subscribers", "sites", "alert"]);
    let is_ours = |key: &str| nearest(key, known()).is_some();
    if errors.is_empty() && !root.is_empty() && !root.keys().any(|key| is_ours(key.get_ref())) {
        return Subject::Other;
    }
    Subject::Scenario
}

/// Interval at which a busy router polls a port: it receives and sends some 64 frames a round.
const POLL_INTERVAL: Duration = Duration::from_micros(100);

/// Reads a policy called `name` (as its file) from `text`.
///
/// # Errors
/// Returns every problem of the text at once, each with its position and its fix.
pub fn read_policy(text: &str, name: &str) -> Result<Policy, Problems> {
    if text.len() as u64 > longest_text(MEMORY) {
        let problem = Problem::new(None, format!("the text is too long: {} MiB", text.len() >> 20));
        let help = format!("a policy has at most {} MiB", longest_text(MEMORY) >> 20);
        return Err(Problems::new(&Source::new(name, ""), vec![problem.help(help)]));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = match as_in_its_file(text) {
        Some((shown, moves)) => Source::new(name, &shown).with_moves(moves),
        None => Source::new(name, text),
    };
    let root = parsed(text, &source)?;
    let files = std::collections::BTreeMap::<String, std::sync::Arc<[u8]>>::new();
    let mut checker = Checker::new(&files, &[], MEMORY);
    checker.poll_interval = Some(POLL_INTERVAL);
    let policy = checker.expand(&root).ok().and_then(|expanded| {
        let mut policy = checker.policy(expanded.as_ref().unwrap_or(&root));
        drop(expanded);
        // Of ten thousand members, one warning.
        checker.warnings =
            policy.as_mut().map(|policy| core::mem::take(&mut policy.warnings)).unwrap_or_default();
        checker.merge_members(text);
        if let Some(policy) = &mut policy {
            policy.warnings = core::mem::take(&mut checker.warnings);
        }
        policy
    });
    let mut problems = core::mem::take(&mut checker.problems);
    match policy {
        Some(mut policy) if problems.is_empty() => {
            for warning in &mut policy.warnings {
                warning.attach(&source);
            }
            Ok(policy)
        }
        _ => {
            if problems.is_empty() {
                problems.push(Problem::new(None, "the policy cannot be read"));
            }
            Err(Problems::new(&source, problems))
        }
    }
}
