//! Writes imported devices as a scenario that can be run: the line, the queues, and a flow for each class.
//!
//! ```text
//! hosts with addresses -- here ==== line ==== there -- hosts with addresses
//!                          | queues of the device leave here; those of an `ifb` leave there
//! ```

use core::fmt::Write as _;
use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use lockgate_engine::units::{Duration, Rate};

use crate::handle::Handle;
use crate::import::account::Count;
use crate::import::conditions::Rule;
use crate::import::devices::{Devices, IngressMeter};
use crate::import::tree::{Line, Queue};
use crate::number::{rate_text, time_text};
use crate::syntax::Police;
use crate::value::Value;

/// Rate of a line that no shaper and no option says.
const DEFAULT_RATE: Rate = Rate::from_bits(10_000_000);

/// Least rate of lines that are to limit nothing.
const FAST_RATE: Rate = Rate::from_bits(1_000_000_000);

/// Delay of a line that `netem` does not say.
const DEFAULT_DELAY: Duration = Duration::from_millis(10);

/// Limit on the flows that are written.
const MOST_FLOWS: usize = 64;

/// Addresses of the ends of the line: of a range for tests (RFC 2544), which rules do not name.
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];

/// Names of the ends of the line.
const NAMES: [&str; 2] = ["here", "there"];

/// Parts of a scenario besides its queues.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame<'a> {
    /// Name of the text that was imported.
    pub origin: &'a str,
    /// Rate of the line; `None`: twice what the shapers let through.
    pub rate: Option<Rate>,
    /// Lines of the text that were left out, with the reasons.
    pub left_out: &'a [String],
}

/// Hosts by address: name, and the end of the line behind which they are.
#[derive(Default)]
struct Hosts(BTreeMap<Ipv4Addr, usize>);

impl Hosts {
    /// Returns the node with an address, at this end of the line unless it is known at the other.
    fn node(&mut self, address: Ipv4Addr, end: usize) -> String {
        if let Some(index) = ENDS.iter().position(|known| *known == address) {
            return NAMES[index].to_owned();
        }
        self.0.entry(address).or_insert(end);
        host_name(address)
    }
}

fn host_name(address: Ipv4Addr) -> String {
    format!("host-{}", address.to_string().replace('.', "-"))
}

/// Flow that a class takes.
struct Flow {
    name: String,
    from: String,
    to: String,
    keys: String,
}

/// Writes a scenario.
pub fn scenario(devices: &Devices, frame: &Frame<'_>) -> String {
    let mut hosts = Hosts::default();
    let mut flows = Vec::new();
    let mut without_flow = Vec::new();
    for device in &devices.ports {
        let end = usize::from(device.arrivals_of.is_some());
        let before = flows.len();
        let mut leaves = Vec::new();
        collect(&device.port.root, &mut leaves);
        for (queue, class) in leaves {
            let prefix = if devices.ports.len() > 1 { format!("{}-", NAMES[end]) } else { String::new() };
            match flow(queue, end, &mut hosts) {
                Ok(flow) if flows.len() < MOST_FLOWS => {
                    flows.push(Flow { name: format!("{prefix}{}", queue.name), ..flow });
                }
                Ok(_) => {
                    without_flow.push(format!("the class `{class}`: there are {MOST_FLOWS} flows already"));
                }
                Err(why) => without_flow.push(format!("the class `{class}`: {why}")),
            }
        }
        // No class takes a flow: one of packets that no filter takes.
        if flows.len() == before && flows.len() < MOST_FLOWS {
            let (from, to) = (NAMES[end], NAMES[1 - end]);
            let keys = "transport = \"tcp\"\nbytes = \"unlimited\"".to_owned();
            flows.push(Flow { name: format!("bulk-{from}"), from: from.to_owned(), to: to.to_owned(), keys });
        }
    }
    let mut text = head(devices, frame, &without_flow);
    network(&mut text, devices, frame, &hosts);
    for device in &devices.ports {
        let end = usize::from(device.arrivals_of.is_some());
        let _ = write!(text, "\n# {}\n[port.\"{}:{}\"]\n", device.device, NAMES[end], NAMES[1 - end]);
        let _ = write!(text, "{}", device.port.table());
    }
    if let Some(meter) = metered(devices) {
        let _ = write!(text, "\n# What arrives at {}\n[port.\"{}:{}\"]\n", meter.device, NAMES[1], NAMES[0]);
        let _ = writeln!(text, "root = \"meter\"\nqueue.meter = {}", policer(&meter.police));
        let (from, to) = (NAMES[1].to_owned(), NAMES[0].to_owned());
        let keys = "transport = \"tcp\"\nbytes = \"unlimited\"".to_owned();
        flows.push(Flow { name: "metered".to_owned(), from, to, keys });
    }
    for flow in &flows {
        let Flow { name, from, to, keys } = flow;
        let _ = write!(text, "\n[flow.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\n{keys}\n");
    }
    text
}

/// Returns the meter of all that arrives, if no device queues it.
fn metered(devices: &Devices) -> Option<&IngressMeter> {
    let is_queued = devices.ports.iter().any(|device| device.arrivals_of.is_some());
    let is_modelled = lockgate_scenario::reference("policer").is_some();
    match devices.meters.as_slice() {
        [meter] if is_modelled && meter.is_for_all && !is_queued => Some(meter),
        _ => None,
    }
}

/// Returns the queue of a meter.
fn policer(police: &Police) -> String {
    let mut keys =
        format!("kind = \"policer\", rate = \"{}\", burst = \"{}B\"", rate_text(police.rate), police.burst.0);
    if let Some(peak) = police.peak_rate {
        let _ = write!(
            keys,
            ", peakrate = \"{}\", peakburst = \"{}B\", yellow = \"drop\"",
            rate_text(peak),
            police.mtu.0.max(1)
        );
    } else if police.mtu.0 > 0 {
        let _ = write!(keys, ", mtu = \"{}B\"", police.mtu.0);
    }
    let red = police.exceed.verdict();
    format!("{{ {keys}, red = \"{red}\" }}")
}

fn head(devices: &Devices, frame: &Frame<'_>, without_flow: &[String]) -> String {
    let origin = if frame.origin.is_empty() { "tc" } else { frame.origin };
    let origin: String =
        origin.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let mut text = format!("# Imported by `lockgate tc import` from {origin}.\n");
    let Count { all, left_out: lost } = devices.words;
    if lost > 0 {
        let _ = writeln!(text, "#\n# Words of commands: {all}, of which {lost} are left out.");
    }
    let mut left_out: Vec<&str> = frame.left_out.iter().map(String::as_str).collect();
    left_out.extend(devices.left_out.iter().map(String::as_str));
    left_out.extend(devices.ports.iter().flat_map(|device| device.port.left_out.iter().map(String::as_str)));
    let modelled = metered(devices);
    let meters: Vec<String> = devices
        .meters
        .iter()
        .filter(|meter| modelled != Some(*meter))
        .map(|meter| {
            format!(
                "`{}` on what arrives at `{}`: what it drops never reaches a queue here",
                meter.police, meter.device
            )
        })
        .collect();
    left_out.extend(meters.iter().map(String::as_str));
    for (title, lines) in
        [("Left out:", left_out), ("Without a flow:", without_flow.iter().map(String::as_str).collect())]
    {
        if !lines.is_empty() {
            let _ = writeln!(text, "#\n# {title}");
        }
        for line in lines {
            let line: String =
                line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
            let _ = writeln!(text, "# - {line}");
        }
    }
    let names: Vec<&str> = devices.ports.iter().map(|device| device.device.as_str()).collect();
    let title = if names.is_empty() { "what arrives".to_owned() } else { names.join(" and ") };
    let title: String =
        title.chars().filter(|letter| !letter.is_control() && !"\"\\".contains(*letter)).collect();
    let _ = write!(
        text,
        "\ntitle = \"queues of {title}, imported from tc\"\nduration = \"20s\"\nwarmup = \"5s\"\n"
    );
    text
}

fn network(text: &mut String, devices: &Devices, frame: &Frame<'_>, hosts: &Hosts) {
    text.push_str("\n[node]\n");
    for (name, address) in NAMES.iter().zip(ENDS) {
        let _ = writeln!(text, "{name} = {{ address = \"{address}\" }}");
    }
    for address in hosts.0.keys() {
        let _ = writeln!(text, "{} = {{ address = \"{address}\" }}", host_name(*address));
    }
    let lines = [false, true].map(|is_back| {
        let mut ports = devices.ports.iter();
        let port = ports.find(|device| device.arrivals_of.is_some() == is_back);
        port.and_then(|device| device.port.line.clone()).unwrap_or_default()
    });
    let metered = metered(devices).map(|meter| meter.police.rate);
    let shaped = devices.ports.iter().filter_map(|device| shaped(&device.port.root)).chain(metered).max();
    let (usual, why) = match (frame.rate, shaped, &lines) {
        (Some(rate), ..) => (rate, ""),
        (None, Some(shaped), _) => {
            (Rate::from_bits(shaped.as_bits().saturating_mul(2)), " # twice what the queues let through")
        }
        (None, None, [Line { rate: None, .. }, Line { rate: None, .. }]) => {
            (DEFAULT_RATE, " # nothing in the script limits the rate: write that of your line")
        }
        (None, None, [ahead, back]) => {
            let most = ahead.rate.max(back.rate).unwrap_or(DEFAULT_RATE);
            (most.max(FAST_RATE), "")
        }
    };
    let rate = lines.clone().map(|line| frame.rate.or(line.rate).unwrap_or(usual));
    let is_delayed = lines.iter().any(|line| line.delay.is_some());
    // `netem` delays one direction: a way back without it takes no time.
    let default = if is_delayed { Duration::ZERO } else { DEFAULT_DELAY };
    let delay = lines.clone().map(|line| time_text(line.delay.unwrap_or(default)));
    let keys = lines.each_ref().map(|line| line.keys.clone());
    let loss = lines.map(|line| line.loss.unwrap_or_default() / 100.0);
    let _ = write!(
        text,
        "\n[link.line]\nbetween = [\"{}\", \"{}\"]\nrate = {}{why}\ndelay = {}\n",
        NAMES[0],
        NAMES[1],
        each_way(&rate.map(|rate| format!("\"{}\"", rate_text(rate)))),
        each_way(&delay.map(|delay| format!("\"{delay}\"")))
    );
    if loss.iter().any(|loss| *loss > 0.0) {
        let _ = writeln!(text, "loss = {}", each_way(&loss.map(|loss| loss.to_string())));
    }
    for (direction, keys) in ["up", "down"].into_iter().zip(&keys).filter(|(_, keys)| !keys.is_empty()) {
        let _ = writeln!(text, "\n[link.line.{direction}]");
        for (key, value) in keys {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    let rate = rate[0].max(rate[1]);
    let fast = Rate::from_bits(rate.as_bits().saturating_mul(10)).max(FAST_RATE);
    for (address, end) in &hosts.0 {
        let name = host_name(*address);
        let _ = write!(
            text,
            "\n[link.{name}]\nbetween = [\"{}\", \"{name}\"]\nrate = \"{}\"\n",
            NAMES[*end],
            rate_text(fast)
        );
    }
}

/// Returns the value of a key of a link: one, or one each way.
fn each_way(values: &[String; 2]) -> String {
    match values {
        [up, down] if up == down => up.clone(),
        [up, down] => format!("{{ up = {up}, down = {down} }}"),
    }
}

/// Returns the rate that a queue lets through at most; `None` if it does not limit it.
fn shaped(queue: &Queue) -> Option<Rate> {
    let rate = |names: &[&str]| {
        let all = queue.parameters.iter().chain(&queue.shares);
        all.filter_map(|(name, value)| match value {
            Value::Rate(rate) if names.contains(name) => Some(*rate),
            Value::Curve(curve) if names.contains(name) => curve.m2,
            _ => None,
        })
        .max()
    };
    let sum = || {
        let below: Option<Vec<u64>> =
            queue.children.iter().map(|child| shaped_class(child).map(Rate::as_bits)).collect();
        below
            .filter(|below| !below.is_empty())
            .map(|below| Rate::from_bits(below.iter().fold(0, |sum, rate| sum.saturating_add(*rate))))
    };
    match queue.kind {
        "cake" => rate(&["bandwidth"]),
        "tbf" => rate(&["rate"]),
        "htb" | "hfsc" | "cbq" => sum(),
        _ => queue.children.iter().filter_map(shaped).max(),
    }
}

/// Returns the most that a class may send.
fn shaped_class(queue: &Queue) -> Option<Rate> {
    let all = || queue.parameters.iter().chain(&queue.shares);
    let rate = |wanted: &str| {
        all().find_map(|(name, value)| match value {
            Value::Rate(rate) if *name == wanted => Some(*rate),
            Value::Curve(curve) if *name == wanted => curve.m2,
            _ => None,
        })
    };
    ["ceil", "ul", "rate", "ls", "rt"].iter().find_map(|name| rate(name))
}

/// Collects the leaves with their classes.
fn collect<'a>(queue: &'a Queue, leaves: &mut Vec<(&'a Queue, Handle)>) {
    if let Some(class) = queue.class {
        leaves.push((queue, class));
        return;
    }
    queue.children.iter().for_each(|child| collect(child, leaves));
}

/// Returns a flow whose packets the first suitable rule of a queue takes.
fn flow(queue: &Queue, end: usize, hosts: &mut Hosts) -> Result<Flow, &'static str> {
    let none = Rule::default();
    let rules = if queue.rules.is_empty() { core::slice::from_ref(&none) } else { &queue.rules };
    let mut why = "no flow is like that";
    for rule in rules {
        match keys(rule) {
            Ok(keys) => {
                let host = |prefix: Option<(Ipv4Addr, u32)>, end: usize, hosts: &mut Hosts| match prefix {
                    Some((address, length)) => hosts.node(member(address, length), end),
                    None => NAMES[end].to_owned(),
                };
                let from = host(rule.source, end, hosts);
                let to = host(rule.destination, 1 - end, hosts);
                if from == to {
                    why = "sender and receiver are the same";
                    continue;
                }
                return Ok(Flow { name: String::new(), from, to, keys });
            }
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

/// Returns an address of a prefix.
fn member(address: Ipv4Addr, length: u32) -> Ipv4Addr {
    let host = u32::from(length < 31);
    Ipv4Addr::from_bits(address.to_bits() | host)
}

/// Returns the keys of a flow that a rule takes, ends left out.
fn keys(rule: &Rule) -> Result<String, &'static str> {
    if !rule.tcp_flags.is_empty() || !rule.tcp_flags_clear.is_empty() {
        return Err("it is for acknowledgements, which flows have besides their data");
    }
    let mut keys = match (rule.protocol, rule.length) {
        (Some(17), None) => "transport = \"udp\"\nprofile = \"g711\"".to_owned(),
        (Some(17) | None, Some((low, high))) => {
            format!("transport = \"udp\"\nrate = \"64kbit\"\nsize = \"{}B\"", low.max(high.min(200)).max(60))
        }
        (Some(6) | None, None) => "transport = \"tcp\"\nbytes = \"unlimited\"".to_owned(),
        (Some(6), Some(_)) => return Err("it is for segments of one length"),
        (Some(255), _) => return Err("no filter leads to it"),
        _ => return Err("flows are TCP or UDP"),
    };
    for (key, ports) in [("source_port", rule.source_port), ("destination_port", rule.destination_port)] {
        if let Some((low, _)) = ports {
            let _ = write!(keys, "\n{key} = {}", low.max(1));
        }
    }
    if let Some(code) = rule.code_points.first() {
        let _ = write!(keys, "\ndscp = {code}");
    }
    if let Some((mark, _)) = rule.mark {
        let _ = write!(keys, "\nmark = {mark}");
    }
    Ok(keys)
}
