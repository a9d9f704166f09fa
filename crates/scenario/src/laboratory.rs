//! Laboratory around a policy: a scenario in which its ports stand before a line as people have it, with a
//! buffer at both ends that fills if more is sent than the line carries.
//!
//! ```text
//! users, circuits -- lan -- router -- modem ==== line ==== isp -- servers
//!                            |  -> `wan`, `lan:wan`: buffer of the modem, then the line
//!                            '  <- `wan:in`, `wan:lan`: behind the line and the provider's buffer
//! ```
//!
//! The line's rate is a fact of the laboratory: a setting of the policy's rate does not move it.

mod classes;
mod hosts;
mod traffic;

use std::fmt::Write as _;

use lockgate_engine::classify::Prefix;
use lockgate_engine::overhead::FrameOverhead;
use lockgate_engine::pacing::Pace;
use lockgate_engine::units::{Bytes, Duration, Rate};

use crate::diagnostic::one_line;
use crate::overhead_keys::link_keys;
use crate::policy::{Direction, Mode, Policy, PolicyPort};
use classes::{Classes, Sample};
use hosts::{Host, Hosts, Side};
use traffic::{PAYLOAD, Traffic};

/// Rate of a direction of which the policy names none.
const UNSAID: Rate = Rate::from_bits(100_000_000);

/// Parts of the line: the policy sends 19 of 20, and what passes beside it takes 1 of 50, which is why
/// people shape to less than the line.
const OF_LINE: (u64, u64) = (20, 19);
const UNSEEN: u64 = 50;

/// Rates of networks that are no bottleneck.
const NETWORKS: [u64; 5] = [1, 10, 40, 100, 400];

/// Time that a full buffer of the line takes, and its fewest bytes.
const BUFFER: Duration = Duration::from_millis(250);
const LEAST_BUFFER: u64 = 16_000;

/// Duration below which half a run is warm-up, not a third.
const SHORT: Duration = Duration::from_secs(8);

/// Full frames whose time may be waited for at the line, besides `WAIT_OF_LINE`.
const FRAMES: u64 = 10;
const WAIT_OF_LINE: Duration = Duration::from_millis(10);

/// Lengths of a full frame and of an acknowledgement.
const FULL_FRAME: Bytes = Bytes(1514);
const ACKNOWLEDGEMENT: Bytes = Bytes(66);

/// Direction of the line, with the port of the policy that it belongs to.
struct Way<'p> {
    port: &'p PolicyPort,
    /// True from the users to the provider.
    is_up: bool,
    /// Rate that the port sends at most.
    pace: Pace,
    /// Rate of the line.
    line: Rate,
    classes: Classes<'p>,
}

impl<'p> Way<'p> {
    fn new(port: &'p PolicyPort, is_up: bool) -> Self {
        let pace = port.pace();
        let (whole, sent) = OF_LINE;
        let line = pace.rate.map_or(UNSAID, |rate| {
            Rate::from_bits(rate.as_bits().saturating_mul(whole) / sent / 1000 * 1000).max(rate)
        });
        Self { port, is_up, pace, line, classes: Classes::new(&port.tree) }
    }

    /// Returns the rate of a line with this overhead that carries as many full frames as `line` does with the
    /// port's: the directions of a policy may count differently.
    fn line_of(&self, overhead: FrameOverhead) -> Rate {
        if self.pace.rate.is_none() {
            return self.line;
        }
        let of = |overhead: FrameOverhead| u128::from(overhead.on_link(FULL_FRAME).0);
        let bits = u128::from(self.line.as_bits()) * of(overhead) / of(self.pace.overhead);
        Rate::from_bits(u64::try_from(bits).unwrap_or(u64::MAX) / 1000 * 1000)
    }

    /// Returns the keys that the controller of its rate, if it has one, gets in the laboratory: the
    /// provider's end of the line answers in place of the probed addresses.
    fn controller(&self) -> String {
        let Some(autorate) = &self.port.autorate else { return String::new() };
        let mut keys = String::new();
        if !autorate.probes.is_empty() {
            let every = autorate.model.probe_every;
            let _ = writeln!(keys, "autorate.probes = {{ to = [\"isp\"], every = \"{every}\" }}");
        }
        if !self.is_up {
            let _ = writeln!(keys, "autorate.line = \"{LINE}\"");
        }
        keys
    }

    /// Returns the ending of names of its flows.
    fn end(&self) -> &'static str {
        if self.is_up { "up" } else { "down" }
    }

    /// Returns true if transfers fill it: if it is shaped, or the interface is its bottleneck.
    fn is_filled(&self) -> bool {
        self.pace.rate.is_some() || self.is_up
    }

    /// Returns the payload's part of a full frame on the line.
    fn efficiency(&self) -> f64 {
        PAYLOAD as f64 / self.pace.overhead.on_link(FULL_FRAME).0 as f64
    }

    /// Returns connections that together fill the line, but do not crowd it.
    fn connections(&self) -> u32 {
        match self.line.as_bits() / 1_000_000 {
            0..=4 => 2,
            5..=50 => 4,
            51..=300 => 8,
            _ => 16,
        }
    }

    /// Returns the longest wait in a buffer of the line that is no sign of a queue there.
    fn wait(&self) -> Duration {
        let frames = self.line.time_for(Bytes(self.pace.overhead.on_link(FULL_FRAME).0 * FRAMES));
        Duration::from_millis((WAIT_OF_LINE + frames).as_picos().div_ceil(1_000_000_000))
    }

    /// Returns the bytes of the buffer of the line.
    fn buffer(&self) -> Bytes {
        let bytes = u128::from(self.line.as_bits()) * u128::from(BUFFER.as_picos()) / 8_000_000_000_000;
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX).max(LEAST_BUFFER) / 1000 * 1000)
    }
}

/// Link of every laboratory that is its line, and the node on the users' side of it.
pub const LINE: &str = "line";

/// End of the sentence on the circuits that have traffic.
const ACTIVE: &str = "circuits have traffic: of each plan some, until they fill the line";

/// Returns the sentence on the circuits that have traffic in the laboratory of this text, without a full
/// stop; `None` if all have.
pub fn active(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("# ")?.strip_suffix('.').filter(|line| line.ends_with(ACTIVE)))
}

/// Returns the text of a scenario around a policy that is read from `path`. It lasts `duration`, or as long
/// as it needs.
pub fn laboratory(policy: &Policy, path: &str, duration: Option<Duration>) -> String {
    let mut ways = ways(policy);
    let mut hosts = Hosts::new(prefixes(&ways));
    let mut traffic = Traffic::default();
    usual_flows(&ways, &mut traffic);
    for way in &mut ways {
        let usual = usual_samples(way, &hosts);
        traffic.add_classes(way, &mut hosts, &usual);
    }
    let title = if policy.title.is_empty() { "a policy" } else { &policy.title };
    let shown = one_line(path);
    let mut text = format!(
        "# A laboratory around the policy `{shown}`: a line with a buffer at both ends behind the router, and traffic in every\n\
         # class. Write the line, its delay and the traffic that you have.\n\
         title = {}\n",
        quoted(&format!("{title}, in a laboratory"))
    );
    let duration = duration.unwrap_or_else(|| usual_duration(&ways));
    // Connections begin together: a short run has just enough time to find their rates.
    let part = if duration < SHORT { 2 } else { 3 };
    let warmup = Duration::from_picos(duration.as_picos() / part);
    let _ = write!(text, "duration = \"{duration}\"\nwarmup = \"{warmup}\"\n\n");
    network(&mut text, &ways, &hosts, traffic.active());
    let lan = lan(&hosts);
    for way in &ways {
        let name = if way.is_up { "router:modem".to_owned() } else { format!("router:{lan}") };
        let policy = quoted(&format!("{path}:{}", way.port.name));
        let _ = write!(text, "\n[port.\"{name}\"]\npolicy = {policy}\n");
        text.push_str(&way.controller());
    }
    for port in &policy.ports {
        if !ways.iter().any(|way| way.port.name == port.name) {
            let name = &port.name;
            let _ = write!(
                text,
                "\n# The port `{name}` of the policy has no place here: give it a link of its own.\n"
            );
        }
    }
    let _ = write!(text, "\n[flow]\n{}{}\n{}", traffic.flows, traffic.missing, expectations(&ways));
    text + &traffic.expects
}

/// Returns the directions of the line of which the policy says something: up first.
fn ways(policy: &Policy) -> Vec<Way<'_>> {
    let role = |index: usize| policy.interfaces.get(index).map_or("", |interface| interface.role.as_str());
    // The interface towards the users is called `lan`, or comes first.
    let is_lan = |index: usize| role(index) == "lan";
    let ports = || policy.ports.iter();
    let (out, arriving) = if policy.mode == Mode::Bridge {
        let lan = (0..policy.interfaces.len()).find(|index| is_lan(*index)).unwrap_or(0);
        (ports().find(|port| port.from == lan), ports().find(|port| port.from != lan))
    } else {
        // What arrives at the users' side goes up, and what leaves by it comes down.
        let is_up = |port: &&PolicyPort| is_lan(port.to) == (port.direction == Direction::Incoming);
        (ports().find(is_up), ports().find(|port| !is_up(port)))
    };
    let up = out.map(|port| Way::new(port, true));
    up.into_iter().chain(arriving.map(|port| Way::new(port, false))).collect()
}

/// Returns the prefixes that rules name.
fn prefixes(ways: &[Way<'_>]) -> Vec<Prefix> {
    let rules = ways.iter().flat_map(|way| way.port.tree.queues()).flat_map(|queue| &queue.rules);
    rules
        .flat_map(|rule| [rule.source, rule.destination])
        .flatten()
        .filter(|prefix| prefix.bits > 0)
        .collect()
}

/// Returns the node on the users' side of the router.
fn lan(hosts: &Hosts) -> &'static str {
    if hosts.of(Side::Users).count() > 1 { "lan" } else { "users" }
}

/// Returns a duration that is long enough for queues to grow, and shorter on fast lines.
fn usual_duration(ways: &[Way<'_>]) -> Duration {
    const BITS: u64 = 3_000_000_000;
    let sum: u64 = ways.iter().filter(|way| way.is_filled()).map(|way| way.line.as_bits() / 1000).sum();
    Duration::from_secs((BITS / 1000 / sum.max(1)).clamp(12, 30) / 3 * 3)
}

/// Writes nodes, links and the buffers of the line.
fn network(text: &mut String, ways: &[Way<'_>], hosts: &Hosts, active: Option<(usize, usize)>) {
    let of = |is_up: bool| ways.iter().find(|way| way.is_up == is_up);
    let rate = |is_up: bool| of(is_up).map_or(UNSAID, |way| way.line);
    let fastest = rate(true).max(rate(false)).as_bits();
    let gbit = NETWORKS.into_iter().find(|gbit| gbit * 1_000_000_000 / 4 >= fastest).unwrap_or(400);
    let network = Rate::from_bits(gbit * 1_000_000_000);
    *text += "[node]\nrouter = {}\nmodem = {}\nisp = {}\n";
    if let Some((active, all)) = active {
        let _ = writeln!(text, "# {active} of the {all} {ACTIVE}.");
    }
    for host in hosts.of(Side::Users).chain(hosts.of(Side::Far)) {
        let _ = writeln!(text, "{} = {{ address = \"{}\" }}", host.name, host.address);
    }
    if lan(hosts) == "lan" {
        *text += "lan = {}\n";
    }
    let _ = write!(
        text,
        "\n[link]\nhome = {{ between = [\"{}\", \"router\"], rate = \"{network}\", delay = \"200us\" }}\n",
        lan(hosts)
    );
    if lan(hosts) == "lan" {
        for Host { name, .. } in hosts.of(Side::Users) {
            let _ =
                writeln!(text, "access-{name} = {{ between = [\"{name}\", \"lan\"], rate = \"{network}\" }}");
        }
    }
    let is_shaped = of(true).is_none_or(|way| way.pace.rate.is_some());
    let own = if is_shaped { network } else { UNSAID };
    if !is_shaped {
        let _ = writeln!(
            text,
            "# The policy names no rate upwards: its queues fill only if its own interface is the slowest link."
        );
    }
    let _ = writeln!(text, "wan = {{ between = [\"router\", \"modem\"], rate = \"{own}\" }}");
    for Host { name, .. } in hosts.of(Side::Far) {
        let _ = writeln!(
            text,
            "internet-{name} = {{ between = [\"isp\", \"{name}\"], rate = \"{network}\", delay = \"10ms\" }}"
        );
    }
    let stated = ways.iter().map(|way| way.pace.overhead).find(|overhead| !overhead.is_none());
    let overhead = stated.unwrap_or_default();
    let up = if is_shaped { of(true).map_or(UNSAID, |way| way.line_of(overhead)) } else { network };
    let down = of(false).map_or(UNSAID, |way| way.line_of(overhead));
    *text += "\n# The line. A policy does not say its rate: here it sends 95 % of it. Write that of yours, or set it for a run:\n\
              # `--set link.line.rate.up=...`, `--set link.line.rate.down=...`.\n";
    let _ = write!(
        text,
        "[link.line]\nbetween = [\"modem\", \"isp\"]\nrate = {{ up = \"{up}\", down = \"{down}\" }}\ndelay = \"5ms\"\n{}",
        link_keys(overhead)
    );
    *text += "\n# Buffers of a quarter of a second: what is sent beyond the line's rate waits there, whatever the policy.\n";
    for way in ways {
        let port = if way.is_up { "modem:isp" } else { "isp:modem" };
        let _ =
            write!(text, "[port.\"{port}\".queue.buffer]\nkind = \"fifo\"\nlimit = \"{}\"\n", way.buffer());
    }
}

/// Returns packets of the flows of every laboratory, in the direction of `way`.
fn usual_samples(way: &Way<'_>, hosts: &Hosts) -> Vec<Sample> {
    const EF: u8 = 46;
    let (users, server) = (hosts.get(0).address, hosts.get(1).address);
    let ends = if way.is_up { [users, server] } else { [server, users] };
    let mut all = vec![Sample::new(ends, false, EF), Sample::new(ends, false, 0)];
    all.extend(way.is_filled().then(|| Sample::new(ends, true, 0)));
    all
}

/// Writes the flows of every laboratory.
fn usual_flows(ways: &[Way<'_>], traffic: &mut Traffic) {
    traffic.flows += "# A call each way, and a request a tenth of a second whose answer is awaited.\n\
                      call = { from = \"users\", to = \"server\", profile = \"g711\", dscp = \"EF\" }\n\
                      voice = { from = \"server\", to = \"users\", profile = \"g711\", dscp = \"EF\" }\n\
                      ping = { from = \"users\", to = \"server\", transport = \"udp\", size = \"98B\", gap = \"100ms\", echo = true }\n";
    let known = ["call", "voice", "ping", "upload", "download", "unseen-up", "unseen-down"];
    traffic.names.extend(known.map(str::to_owned));
    traffic.flows += "# Transfers that fill the line.\n";
    for way in ways.iter().filter(|way| way.is_filled()) {
        let (name, from, to) =
            if way.is_up { ("upload", "users", "server") } else { ("download", "server", "users") };
        let _ = writeln!(
            traffic.flows,
            "{name} = {{ from = \"{from}\", to = \"{to}\", transport = \"tcp\", bytes = \"unlimited\", count = {} }}",
            way.connections()
        );
    }
    traffic.flows += "# A fiftieth of the line that passes no queue of the policy: management, telephony, others on the medium.\n";
    for way in ways.iter().filter(|way| way.pace.rate.is_some()) {
        let (from, to) = if way.is_up { ("modem", "server") } else { ("server", "modem") };
        let rate = Rate::from_bits((way.line.as_bits() / UNSEEN / 1000 * 1000).max(1000));
        let _ = writeln!(
            traffic.flows,
            "unseen-{} = {{ from = \"{from}\", to = \"{to}\", transport = \"udp\", size = \"500B\", rate = \"{rate}\" }}",
            way.end()
        );
    }
}

/// Returns the expectations of every laboratory.
fn expectations(ways: &[Way<'_>]) -> String {
    let mut text = String::new();
    for call in ["call", "voice"] {
        let _ = write!(text, "[[expect]]\nthat = \"flow.{call}.mos\"\nat_least = 4\n");
    }
    let frames: Duration = ways.iter().map(Way::wait).fold(WAIT_OF_LINE, |sum, wait| sum + wait);
    let _ = write!(
        text,
        "[[expect]]\nname = \"the line stays clear\"\nthat = \"flow.ping.rtt.p95 - flow.ping.rtt.min\"\nbelow = \"{frames}\"\n"
    );
    for way in ways.iter().filter(|way| way.pace.rate.is_some()) {
        let (name, port) = if way.is_up {
            ("the queue is in the router, not in the modem", "modem:isp")
        } else {
            ("the queue is in the router, not at the provider", "isp:modem")
        };
        let _ = write!(
            text,
            "[[expect]]\nname = \"{name}\"\nthat = \"port.{port}.queue.buffer.sojourn.p95\"\nbelow = \"{}\"\n",
            way.wait()
        );
    }
    // Where classes share the rate, each has its own expectation.
    for way in ways.iter().filter(|way| way.port.tree.queues().len() == 1) {
        let back = ways.iter().find(|other| other.is_up != way.is_up && other.is_filled());
        let Some(rate) = way.pace.rate else { continue };
        let frames = back.map_or(0.0, |back| {
            back.line.as_bits() as f64 / 8.0 / back.pace.overhead.on_link(FULL_FRAME).0 as f64
        });
        let acknowledgements = frames / 2.0 * way.pace.overhead.on_link(ACKNOWLEDGEMENT).0 as f64 * 8.0;
        let least = (rate.as_bits() as f64 - acknowledgements) * way.efficiency() * 0.6;
        let group = if way.is_up { "upload" } else { "download" };
        if least > 1000.0 {
            let least = Rate::from_bits(least as u64 / 1000 * 1000);
            let _ =
                write!(text, "[[expect]]\nthat = \"group.{group}.goodput.sum\"\nat_least = \"{least}\"\n");
        }
    }
    text
}

/// Returns a text as TOML.
fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string().trim().to_owned()
}
