//! Checks a policy of a router: its interfaces, and its ports by the same code as a scenario's.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::classify::PROTOCOL_OTHER;
use lockgate_engine::disciplines::Kind;
use lockgate_engine::overhead::{self, PortOverhead};
use lockgate_engine::pacing::Pace;
use lockgate_engine::port_name;
use lockgate_engine::units::{Bytes, Limit};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::flows::Flows;
use super::network::Network;
use super::ports::TreeContext;
use super::{Checker, Entry};
use crate::diagnostic::{Problem, Span, one_line};
use crate::policy::{
    Attach, Direction, FrameIo, HostFrames, Mode, OnFault, Policy, PolicyInterface, PolicyPort,
    is_device_name,
};
use crate::table_reader::{TableLocation, read_table, read_valid_table, shorten, unknown_keys};
use crate::tree::{Queue, QueueTree};

/// Sections of a policy.
const SECTIONS: [&str; 5] = ["router", "port", "subscribers", "sites", "alert"];

/// Default and limits of the number of frames that all queues hold together.
const FRAMES: u32 = 32_768;
const FRAMES_RANGE: core::ops::RangeInclusive<u32> = 4_096..=4_194_304;

/// Lengths that a super-frame in the queues may have.
const SUPER_FRAMES: core::ops::RangeInclusive<u64> = 3_000..=64_000;

/// Keys of queues that limit the bytes which they hold.
const LIMITS: [&str; 3] = ["limit", "memory_limit", "memlimit"];

/// Key of queues that reads the marks of a firewall.
const MARKS: &str = "fwmark";

/// End of the name of a port that queues the arrivals of an interface, in mode `both`.
const ARRIVALS: &str = ":in";

/// Returns the name of the port that queues the arrivals of an interface, in mode `both`.
fn arrivals(role: &str) -> String {
    format!("{role}{ARRIVALS}")
}

/// Keys at the top of the file.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyTop {
    /// Subject of the policy, in one line.
    #[serde(default)]
    title: Option<String>,
}

/// Attachment of the router.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RouterTable {
    /// `bridge`, `egress`, `ingress` or `both`.
    mode: Mode,
    /// Point at which frames are taken: `tcx` (any interface) or `xdp` (in the driver: a shorter way).
    #[serde(default)]
    attach: Attach,
    /// Sockets that receive frames: `af_xdp` or `packet`.
    #[serde(default)]
    io: Option<FrameIo>,
    /// Frames that all queues hold together at most.
    #[serde(default)]
    frames: Option<u32>,
    /// Length up to which segments that arrive as one frame of TCP stay one packet in the queues; by default
    /// each is a packet.
    #[serde(default)]
    super_frames: Option<Bytes>,
    /// While frames are lost in the router: `open` gives the interfaces back to the kernel, `hold` keeps
    /// them. Of a router that stalls or ends, the kernel has them in any case.
    #[serde(default)]
    on_fault: OnFault,
    /// Frames that the host itself sends, in mode `bridge`: `pass` beside the queues, or `queue`.
    #[serde(default)]
    host: Option<HostFrames>,
}

impl Checker<'_> {
    /// Checks a whole policy.
    pub(crate) fn policy(&mut self, root: &Spanned<DeTable<'_>>) -> Option<Policy> {
        let table = root.get_ref();
        let start = 0..0;
        let location = TableLocation { what: "the policy", table, header: &start };
        let keys = self.cache.table_keys.of::<PolicyTop>();
        unknown_keys(location, &[&keys], &SECTIONS, &mut self.problems);
        let top: Option<PolicyTop> = read_valid_table(location, &keys, &mut self.problems);
        let router = table.get("router")?;
        let DeValue::Table(router_table) = router.get_ref() else {
            let problem = Problem::new(router.span(), "`router` is a table");
            self.note(problem.help("write `[router]` and its keys below"));
            return None;
        };
        let header = router.span();
        let location = TableLocation { what: "`router`", table: router_table, header: &header };
        let keys = self.cache.table_keys.of::<RouterTable>();
        unknown_keys(location, &[&keys], &["interfaces"], &mut self.problems);
        let router: Option<RouterTable> = read_table(location, &keys, &mut self.problems);
        let interfaces = self.interfaces(location, router.as_ref().map(|router| router.mode));
        let router = router?;
        let frames = router.frames.unwrap_or(FRAMES);
        if !FRAMES_RANGE.contains(&frames) {
            let problem = Problem::new(location.value("frames"), format!("`frames` cannot be {frames}"));
            let (least, most) = (FRAMES_RANGE.start(), FRAMES_RANGE.end());
            self.note(problem.help(format!("it is from {least} to {most}")));
        }
        self.attachment(location, &router);
        self.host_frames(location, &router);
        if let Some(longest) = router.super_frames {
            self.super_frames(table, location, longest);
            self.warn_of_single_frames(location, &router);
        }
        let ports = self.policy_ports(table, &header, router.mode, &interfaces?);
        let alerts = self.alerts(table, &ports);
        Some(Policy {
            title: top
                .and_then(|top| top.title)
                .map(|title| one_line(&title).into_owned())
                .unwrap_or_default(),
            mode: router.mode,
            attach: router.attach,
            io: router.io,
            frames,
            super_frames: router.super_frames,
            on_fault: router.on_fault,
            host: router.host.unwrap_or_default(),
            interfaces: if self.problems.is_empty() { names(router_table) } else { Vec::new() },
            ports,
            alerts,
            warnings: core::mem::take(&mut self.warnings),
        })
    }

    /// Checks the length of super-frames, and that no queue drops each that is long, or has a cost for each
    /// frame, which they would pay once.
    fn super_frames(&mut self, table: &DeTable<'_>, location: TableLocation<'_, '_>, longest: Bytes) {
        if !SUPER_FRAMES.contains(&longest.0) {
            let problem =
                Problem::new(location.value("super_frames"), format!("`super_frames` cannot be {longest}"));
            self.note(problem.help("it is from 3000B to 64kB: two segments, and what an IP packet holds"));
        }
        let own = location.key("super_frames");
        let mut refuse = |span, what: String, help: &str| {
            self.note(Problem::new(span, what).see(own.clone(), "here").help(help));
        };
        let leave_out = "leave `super_frames` out: each segment is then a packet";
        for port in Self::section_again(table, "port") {
            let queues = Self::section_again(port.table, "queue");
            for table in core::iter::once(&port).chain(&queues).map(Entry::location) {
                let share = table.table.get("share").and_then(|share| share.get_ref().as_table());
                let shared = |key: &str| share.is_some_and(|share| share.contains_key(key));
                for key in overhead::KEYS.into_iter().filter(|key| table.has(key) || shared(key)) {
                    let span = if table.has(key) { table.key(key) } else { table.inner("share", key) };
                    let what =
                        "would have its `{key}` once for all segments of a packet".replace("{key}", key);
                    refuse(span, format!("with `super_frames`, {} {what}", table.what), leave_out);
                }
                let kind = table.table.get("kind").and_then(|kind| kind.get_ref().as_str());
                if let Some(kind) = kind.filter(|kind| Kind::named(kind).is_some_and(|kind| kind.drops_long))
                {
                    refuse(
                        table.value("kind"),
                        format!("`{kind}` drops packets that are longer than its burst"),
                        leave_out,
                    );
                }
                for key in LIMITS {
                    let text = table.table.get(key).and_then(|limit| limit.get_ref().as_str());
                    let limit = text.and_then(|text| text.parse().ok());
                    let Some(Limit::Bytes(limit)) = limit else { continue };
                    if limit < longest {
                        let what =
                            format!("a super-frame of {longest} does not fit into {limit}, and is dropped");
                        let help =
                            format!("write `{key} = \"{longest}\"` or more, or a shorter `super_frames`");
                        refuse(table.value(key), what, &help);
                    }
                }
            }
        }
    }

    /// Warns if no frame arrives that has segments.
    fn warn_of_single_frames(&mut self, location: TableLocation<'_, '_>, router: &RouterTable) {
        let is_single = router.attach == Attach::Xdp
            || router.io == Some(FrameIo::AfXdp)
            || (router.mode == Mode::Egress && router.io.is_none());
        if is_single {
            let problem = Problem::new(location.key("super_frames"), "frames arrive one by one here");
            self.warn(problem.help("receive by `io = \"packet\"` and `attach = \"tcx\"`, or leave it out"));
        }
    }

    /// Checks the keys that `attach = "xdp"` excludes.
    fn attachment(&mut self, location: TableLocation<'_, '_>, router: &RouterTable) {
        if router.attach != Attach::Xdp {
            return;
        }
        if router.mode == Mode::Egress {
            let problem = Problem::new(
                location.value("attach"),
                "`attach = \"xdp\"` is for arriving frames, and mode `egress` takes those that leave",
            );
            self.note(problem.help("leave `attach` out"));
        }
        if router.mode == Mode::Both {
            let problem = Problem::new(
                location.value("attach"),
                "mode `both` takes frames behind the driver, not by `attach = \"xdp\"`",
            );
            self.note(problem.help("leave `attach` out"));
        }
        if router.io == Some(FrameIo::Packet) {
            let problem =
                Problem::new(location.value("io"), "`attach = \"xdp\"` delivers frames by AF_XDP only");
            self.note(problem.help("leave `io` out, or `attach`"));
        }
    }

    /// Checks the key `host`, which only a bridge behind the driver has.
    fn host_frames(&mut self, location: TableLocation<'_, '_>, router: &RouterTable) {
        let Some(host) = router.host else { return };
        let (problem, help) = if router.mode != Mode::Bridge {
            (
                "`host` is for mode `bridge`: in other modes the router queues what the kernel sends or gets",
                "leave it out",
            )
        } else if router.attach == Attach::Xdp && host == HostFrames::Queue {
            (
                "`attach = \"xdp\"` takes arriving frames alone, so that those of the host cannot be queued",
                "leave `attach` out",
            )
        } else {
            return;
        };
        self.note(Problem::new(location.value("host"), problem).help(help));
    }

    /// Reads the roles of the interfaces, noting what cannot be one.
    fn interfaces(&mut self, location: TableLocation<'_, '_>, mode: Option<Mode>) -> Option<Vec<String>> {
        let help = "write `interfaces = { wan = \"eth0\" }`";
        let Some(value) = location.table.get("interfaces") else {
            let is_meant = |own: &str| crate::nearest::meant(own, ["interfaces"]).is_some();
            if location.table.keys().any(|own| is_meant(own.get_ref())) {
                // The misspelling is noted.
                return None;
            }
            let problem = Problem::new(location.header.clone(), "`router` needs `interfaces`");
            self.note(problem.help("add `interfaces = { wan = \"eth0\" }`: a name here, the machine's name"));
            return None;
        };
        let DeValue::Table(table) = value.get_ref() else {
            self.note(Problem::new(value.span(), "`interfaces` is a table of names").help(help));
            return None;
        };
        let mut seen: BTreeMap<String, Span> = BTreeMap::new();
        for (key, value) in table {
            self.check_name("interface", key.get_ref(), key.span());
            let DeValue::String(name) = value.get_ref() else {
                let problem = Problem::new(value.span(), "the name of an interface is a text in quotes");
                self.note(problem.help(help));
                continue;
            };
            if !is_device_name(name) {
                let problem =
                    Problem::new(value.span(), format!("no interface is called `{}`", shorten(name)));
                self.note(
                    problem
                        .help("a name has 1 to 15 bytes, without spaces, `/` and `:`; `ip link` lists them"),
                );
            }
            if let Some(first) = seen.insert(name.to_string(), value.span()) {
                let problem = Problem::new(value.span(), format!("`{name}` is named twice"));
                self.note(problem.see(first, "named here first").help("each interface has one name here"));
            }
        }
        let wrong = match mode {
            Some(Mode::Bridge) if table.len() != 2 => Some("a bridge joins two interfaces"),
            _ if table.is_empty() => Some("no interface is named"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let example = if mode == Some(Mode::Bridge) {
                "write `interfaces = { lan = \"eth1\", wan = \"eth2\" }`"
            } else {
                help
            };
            self.note(Problem::new(value.span(), wrong).help(example));
            return None;
        }
        Some(table.keys().map(|key| key.get_ref().to_string()).collect())
    }

    fn policy_ports(
        &mut self,
        root: &DeTable<'_>,
        router: &Span,
        mode: Mode,
        roles: &[String],
    ) -> Vec<PolicyPort> {
        let mut ports: Vec<PolicyPort> = Vec::new();
        let mut seen: BTreeMap<String, Span> = BTreeMap::new();
        for entry in self.section(root, "port") {
            let between = self.directions(&entry, mode, roles);
            let port = self.policy_port(&entry, between.unwrap_or((Direction::Across, [0, 0])));
            let (Some(_), Some(port)) = (between, port) else { continue };
            if let Some(first) = seen.insert(port.name.clone(), entry.key.clone()) {
                let problem = Problem::new(entry.key, format!("{} is in the file twice", entry.what));
                self.note(problem.see(first, "first here").help("write its queues in one place"));
                continue;
            }
            ports.push(port);
        }
        let named = |name: &str| seen.contains_key(name);
        if mode == Mode::Bridge {
            // A direction without a port is a cable's: a FIFO as fast as the interface.
            for [from, to] in [[0, 1], [1, 0]] {
                let name = format!("{}:{}", roles[from], roles[to]);
                if !named(&name) {
                    ports.push(PolicyPort::plain(name, from, to));
                }
            }
        } else if self.problems.is_empty() {
            for role in roles.iter().filter(|role| !named(role) && !named(&arrivals(role))) {
                let problem = Problem::new(router.clone(), format!("nothing is done to `{role}`"));
                let other =
                    if mode == Mode::Both { format!(" or `[port.\"{role}:in\"]`") } else { String::new() };
                self.note(problem.help(format!("add `[port.{role}]`{other} with its `rate` and queues")));
            }
        }
        ports.sort_by_key(|port| (port.from, port.to, port.direction == Direction::Incoming));
        ports
    }

    /// Returns the frames that a port queues, with the indices of the interfaces that it takes them from and
    /// sends them by.
    fn directions(
        &mut self,
        entry: &Entry<'_, '_>,
        mode: Mode,
        roles: &[String],
    ) -> Option<(Direction, [usize; 2])> {
        let name = &*port_name::canonical(entry.name);
        let index_of = |role: &str| roles.iter().position(|known| known == role);
        if mode != Mode::Bridge {
            if let Some(at) = index_of(name) {
                let direction = if mode == Mode::Ingress { Direction::Incoming } else { Direction::Outgoing };
                return Some((direction, [at, at]));
            }
            let arriving = name.strip_suffix(ARRIVALS).filter(|_| mode == Mode::Both);
            if let Some(at) = arriving.and_then(index_of) {
                return Some((Direction::Incoming, [at, at]));
            }
            let problem = match name.split_once(':') {
                _ if mode == Mode::Both => {
                    let role = arriving.unwrap_or_else(|| name.split(':').next().unwrap_or(name));
                    if index_of(role).is_none() {
                        self.no_such("interface", role, entry.key.clone(), roles.iter().map(String::as_str))
                    } else {
                        let problem = format!("`{name}` is not a direction of an interface");
                        let help =
                            format!("write `[port.{role}]` for what it sends, or `[port.\"{role}:in\"]`");
                        Problem::new(entry.key.clone(), problem).help(help)
                    }
                }
                Some((_, to)) => Problem::new(
                    entry.key.clone(),
                    format!("in mode `{}` a port is named by its interface", mode.name()),
                )
                .help(format!("write `[port.{}]`", if index_of(to).is_some() { to } else { &roles[0] })),
                None => self.no_such("interface", name, entry.key.clone(), roles.iter().map(String::as_str)),
            };
            self.note(problem);
            return None;
        }
        let example = format!("`[port.\"{0}->{1}\"]` and `[port.\"{1}->{0}\"]`", roles[0], roles[1]);
        let Some((from, to)) = name.split_once(':') else {
            let problem =
                Problem::new(entry.key.clone(), "in mode `bridge` a port is named by both interfaces");
            self.note(problem.help(format!("write {example}")));
            return None;
        };
        for role in [from, to] {
            if index_of(role).is_none() {
                let known = roles.iter().map(String::as_str);
                let problem = self.no_such("interface", role, entry.key.clone(), known);
                self.note(problem);
                return None;
            }
        }
        if from == to {
            let problem = Problem::new(entry.key.clone(), format!("`{from}` does not lead to itself"));
            self.note(problem.help(format!("write {example}")));
            return None;
        }
        Some((Direction::Across, [index_of(from)?, index_of(to)?]))
    }

    fn policy_port(
        &mut self,
        entry: &Entry<'_, '_>,
        (direction, [from, to]): (Direction, [usize; 2]),
    ) -> Option<PolicyPort> {
        let location = entry.location();
        let (network, flows) = (Network::default(), Flows::default());
        let read = self.port(
            location,
            TreeContext { network: &network, flows: &flows, rate: None, own: Pace::default() },
        )?;
        let autorate = match &read.autorate {
            Some(autorate) => Some(Arc::new(self.router_autorate(autorate, location, direction)?)),
            None => None,
        };
        let reads_source = |queue: &&Queue| Kind::named(queue.kind).is_some_and(|kind| kind.reads_source);
        for queue in read.tree.queues().iter().filter(reads_source) {
            let queues = location.table.get("queue").and_then(|queues| queues.get_ref().as_table());
            let span = queues.and_then(|queues| queues.get(&*queue.name)).map_or(0..0, Spanned::span);
            let problem = Problem::new(span, format!("`{}` is not supported on real frames", queue.kind));
            self.note(problem.help("it ranks packets by time stamps of their sources, which frames lack"));
        }
        for queue in Self::section_again(location.table, "queue") {
            self.warn_of_marks(queue.location());
        }
        let queues_other = names_other(&read.tree);
        Some(PolicyPort {
            name: port_name::canonical(entry.name).into_owned(),
            direction,
            from,
            to,
            rate: read.rate,
            overhead: read.overhead,
            clock: read.clock,
            ring: read.ring,
            autorate,
            tree: read.tree,
            queues_other,
        })
    }

    /// Warns if a queue reads the marks of a firewall, which frames do not have outside the kernel.
    fn warn_of_marks(&mut self, location: TableLocation<'_, '_>) {
        let mask = location.table.get(MARKS).map(Spanned::get_ref);
        if mask.is_some_and(|mask| mask.as_integer().is_none_or(|mask| mask.as_str() != "0")) {
            let what = format!("`{MARKS}` has no effect: the frames of a router have no marks of a firewall");
            let help = "leave it out, and set code points, by which `diffserv` chooses the tin";
            self.warn(Problem::new(location.key(MARKS), what).help(help));
        }
    }
}

impl PolicyPort {
    /// Returns the port of a direction that the policy does not name: a FIFO as fast as the interface.
    fn plain(name: String, from: usize, to: usize) -> Self {
        Self {
            name,
            direction: Direction::Across,
            from,
            to,
            rate: None,
            overhead: PortOverhead::default(),
            clock: None,
            ring: None,
            autorate: None,
            tree: Arc::new(QueueTree::fifo()),
            queues_other: false,
        }
    }
}

/// Returns true if a queue of the tree names frames without an IP packet.
fn names_other(tree: &QueueTree) -> bool {
    let rules = tree.queues().iter().flat_map(|queue| &queue.rules);
    rules.into_iter().any(|rule| rule.protocol == Some(PROTOCOL_OTHER))
}

/// Returns the interfaces of a table that has been checked.
fn names(router: &DeTable<'_>) -> Vec<PolicyInterface> {
    let table = router.get("interfaces").and_then(|value| value.get_ref().as_table());
    let interface = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        Some(PolicyInterface { role: key.get_ref().to_string(), name: value.get_ref().as_str()?.to_owned() })
    };
    table.into_iter().flatten().filter_map(interface).collect()
}
