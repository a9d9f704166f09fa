//! Translates a run of the kernel to scenarios: its link, queues and flows.

use core::fmt::Write as _;
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use lockgate_engine::random::{Random, Seed};
use lockgate_tc::{Environment, Headers, Port, Value};

use super::arrivals::{self, Arrivals};
use super::setup::Setup;
use super::{Experiment, FlowSetup, Machine, Tcp, Udp};
use crate::simulate::Files;

/// Translation of a run of the kernel to scenarios, one for each seed.
///
/// Exact rates lock in step, so that microseconds decide which packet is lost. A reference does not state
/// them: each scenario draws the phases of constant flows and the return delay within one service time from
/// its seed, so that the simulated runs scatter as runs of the kernel do.
pub(super) struct Translation<'a> {
    id: &'a str,
    experiment: &'a Experiment,
    machine: &'a Machine,
    port: Port,
    /// Rate of the link in bits per second; `None` if the device has no limit.
    rate: Option<u64>,
    /// Delay of the return path, in seconds.
    return_delay: f64,
    /// Arrivals that are the kernel's own, by flow.
    arrivals: BTreeMap<&'a str, Arrivals>,
    /// Parts of the commands that have no effect here, with reasons.
    pub left_out: Vec<String>,
    /// True if RED marks packets instead of dropping them, also above its upper threshold.
    pub has_soft_marks: bool,
}

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Number of simulated runs; their mean is compared.
pub(super) const DRAWS: u32 = 16;
/// Bits of the largest frame of a connection.
const FRAME_BITS: f64 = 1514.0 * 8.0;

impl<'a> Translation<'a> {
    /// Translates the commands of a run.
    ///
    /// # Errors
    /// Returns what is not supported.
    pub(super) fn new(id: &'a str, experiment: &'a Experiment, machine: &'a Machine) -> Result<Self, String> {
        let setup = Setup::read(&experiment.commands)?;
        let flows = headers(experiment, machine);
        let mut port = setup.port(&Environment { hz: machine.hz, flows: &flows })?;
        let mut own = BTreeMap::new();
        for (name, udp) in experiment.udp() {
            let arrivals = check(udp).and_then(|()| arrivals::of(name, udp, machine, experiment));
            if let Some(arrivals) = arrivals.map_err(|why| format!("flow `{name}`: {why}"))? {
                own.insert(name, arrivals);
            }
        }
        let has = |wanted: &str| {
            let parameters = port.parameters();
            let mut reds = parameters.iter().filter(|(kind, ..)| *kind == "red");
            reds.any(|(_, name, value)| *name == wanted && matches!(value, Value::Flag | Value::Switch(true)))
        };
        let has_soft_marks = has("ecn") && !has("harddrop");
        Ok(Self {
            id,
            experiment,
            machine,
            rate: setup.rate,
            return_delay: setup.return_delay.as_secs_f64(),
            arrivals: own,
            left_out: core::mem::take(&mut port.left_out),
            has_soft_marks,
            port,
        })
    }

    /// Returns the files that the scenario of run `draw` names: arrivals, late by the times of this run.
    pub(super) fn files(&self, seed: Seed, draw: u32) -> Files {
        let of = |(name, arrivals): (&&str, &Arrivals)| {
            let mut random = Random::stream(seed, &format!("lateness/{draw}/{name}"));
            (file_of(name), arrivals.capture(&mut random))
        };
        self.arrivals.iter().map(of).collect()
    }

    /// Returns the flows whose arrivals are the kernel's own.
    pub(super) fn replayed(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.arrivals.keys().copied()
    }

    /// Returns true if the arrivals of this flow are the kernel's own, and no connection shares the queue.
    pub(super) fn is_exact(&self, flow: &str) -> bool {
        self.arrivals.contains_key(flow) && self.experiment.tcp().next().is_none()
    }

    /// Returns the scenario of run `draw`, counted from 0, with the phases of this seed.
    ///
    /// # Errors
    /// Returns what is not supported.
    pub(super) fn scenario(&self, seed: Seed, draw: u32) -> Result<String, String> {
        let Self { experiment, machine, port, .. } = self;
        let has_tcp = experiment.tcp().next().is_some();
        // The losses of several connections through one queue depend on the start of each within a tick of
        // the kernel's timer.
        let tick = experiment.tcp().nth(1).map(|_| 1.0 / f64::from(machine.hz));
        let last = experiment.udp().map(|(_, udp)| udp.stop_s).fold(experiment.duration_s, f64::max);
        let duration = seconds(last)?;
        // A device without limit: the transmission time of a packet is negligible.
        let rate = self.rate.map_or_else(|| "100gbit".to_owned(), |rate| format!("{rate}bit"));
        let service = self.service_time();
        let drawn = |what: &str| phase(&mut Random::stream(seed, what), draw) * service;
        // A delay on the way back adds to the round-trip time of a connection; datagrams do not depend on it.
        let round_trip = if has_tcp {
            (self.return_delay - service / 2.0).max(0.0) + drawn("return delay")
        } else {
            self.return_delay
        };
        let access = seconds(round_trip / 2.0)?;
        let warmup = if has_tcp { "warmup = \"5s\"\n" } else { "" };
        let path = seconds(machine.path_us / 1e6)?;
        // Addresses are written only if a filter or a flow needs them.
        let others = self.others();
        let addresses = machine
            .addresses
            .filter(|_| port.compares_addresses || !others.is_empty())
            .map(|addresses| addresses.map(|address| format!(", address = \"{address}\"")))
            .unwrap_or_default();
        let clock = format!("clock.tick = \"{}ns\"", 1_000_000_000 / machine.hz);
        let mut text = format!(
            "title = {}\nduration = \"{duration}\"\n{warmup}record.packets = true\nnode.a = {{ {clock}{} }}\nnode.r = {{}}\nnode.b = {{ {clock}{} }}\n\
             link.access = {{ between = [\"a\", \"r\"], rate = \"100gbit\", delay = \"{access}\" }}\n\
             link.line = {{ between = [\"r\", \"b\"], rate = \"{rate}\", delay = \"{path}\" }}\n\
             {}[port.\"r->b\"]\n{}",
            quoted(self.id),
            addresses[0],
            addresses[1],
            hosts(&others, &access),
            port.table()
        );
        for (name, flow) in &experiment.flows {
            let setup = match flow {
                FlowSetup::Udp(udp) => datagrams(
                    name,
                    udp,
                    drawn(&format!("flow/{name}")),
                    self.arrivals.get(name.as_str()),
                    experiment,
                )?,
                FlowSetup::Tcp(tcp) => connection(name, tcp, tick)?,
            };
            let [from, to] = match flow {
                FlowSetup::Udp(udp) => [host("a", udp.src, &others), host("b", udp.dst, &others)],
                FlowSetup::Tcp(_) => ["a".to_owned(), "b".to_owned()],
            };
            let _ = writeln!(text, "[flow.{}]\nfrom = \"{from}\"\nto = \"{to}\"\n{setup}", quoted(name));
        }
        Ok(text)
    }

    /// Returns the addresses of flows that are not those of the machine, with the node that stands before
    /// each: senders beside `a`, receivers behind `b`.
    fn others(&self) -> Vec<(&'static str, Ipv4Addr)> {
        let known = self.machine.addresses.unwrap_or([Ipv4Addr::UNSPECIFIED; 2]);
        let of = |(_, udp): (_, &Udp)| [("a", udp.src, known[0]), ("b", udp.dst, known[1])];
        let all = self.experiment.udp().flat_map(of);
        let other =
            |(side, own, known): (_, Option<Ipv4Addr>, _)| Some((side, own.filter(|own| *own != known)?));
        let others: BTreeSet<_> = all.filter_map(other).collect();
        others.into_iter().collect()
    }

    /// Returns the time that the largest frame takes at the bottleneck, in seconds; 0 if no rate is stated.
    fn service_time(&self) -> f64 {
        let rate_of = |(_, _, value): (_, _, &Value)| match value {
            Value::Rate(rate) => Some(rate.as_bits()),
            _ => None,
        };
        let of_queues = || self.port.parameters().into_iter().filter_map(rate_of).max();
        let bits = |flow: &FlowSetup| match flow {
            FlowSetup::Udp(udp) => f64::from(udp.l2_bytes) * 8.0,
            FlowSetup::Tcp(_) => FRAME_BITS,
        };
        let bits = self.experiment.flows.values().map(bits).fold(0.0, f64::max);
        let rate = self.rate.or_else(of_queues).filter(|rate| *rate > 0);
        rate.map_or(0.0, |rate| bits / rate as f64)
    }
}

/// Returns the name of the node that has this address: one of `others`, or else `a` or `b`.
fn host(side: &'static str, address: Option<Ipv4Addr>, others: &[(&'static str, Ipv4Addr)]) -> String {
    let index = others.iter().position(|other| Some(*other) == address.map(|address| (side, address)));
    index.map_or_else(|| side.to_owned(), |index| format!("{side}{index}"))
}

/// Returns the nodes of these addresses and their links.
fn hosts(others: &[(&'static str, Ipv4Addr)], access: &str) -> String {
    let mut text = String::new();
    for (index, (side, address)) in others.iter().enumerate() {
        let (to, delay) = if *side == "a" { ("r", access) } else { ("b", "0ns") };
        let _ = writeln!(
            text,
            "node.{side}{index} = {{ address = \"{address}\" }}\n\
             link.{side}{index} = {{ between = [\"{side}{index}\", \"{to}\"], rate = \"100gbit\", delay = \"{delay}\" }}"
        );
    }
    text
}

/// Returns a phase of run `draw` from 0 to 1. Each run has its own part of the range, so that the mean of
/// [`DRAWS`] runs scatters less than that of independent phases.
fn phase(random: &mut Random, draw: u32) -> f64 {
    let mut parts: [u32; DRAWS as usize] = core::array::from_fn(|part| part as u32);
    for last in (1..DRAWS).rev() {
        parts.swap(last as usize, random.below(last + 1) as usize);
    }
    let within: f64 = (0..=draw).map(|_| random.unit()).last().unwrap_or_default();
    (f64::from(parts[draw as usize]) + within) / f64::from(DRAWS)
}

/// Returns the headers of every flow's packets.
fn headers(experiment: &Experiment, machine: &Machine) -> Vec<Headers> {
    let of = |(name, flow): (&String, &FlowSetup)| {
        let (protocol, source_port, destination_port, tos, length) = match flow {
            FlowSetup::Udp(udp) => (UDP, udp.sport, udp.dport, udp.tos, Some(udp.l2_bytes)),
            FlowSetup::Tcp(tcp) => (TCP, tcp.sport, tcp.dport, tcp.tos, None),
        };
        let has_fixed_ecn = match flow {
            FlowSetup::Udp(_) => true,
            FlowSetup::Tcp(tcp) => !["dctcp", "prague"].contains(&tcp.cc.as_str()),
        };
        Headers {
            name: name.clone(),
            protocol,
            addresses: ends(flow, machine),
            source_port,
            destination_port,
            tos,
            has_fixed_ecn,
            length,
        }
    };
    experiment.flows.iter().map(of).collect()
}

/// Returns the addresses of a flow's sender and receiver, if known.
fn ends(flow: &FlowSetup, machine: &Machine) -> Option<[Ipv4Addr; 2]> {
    let (source, destination) = match flow {
        FlowSetup::Udp(udp) => (udp.src, udp.dst),
        FlowSetup::Tcp(_) => (None, None),
    };
    let [from, to] = machine.addresses.map_or([None; 2], |addresses| addresses.map(Some));
    Some([source.or(from)?, destination.or(to)?])
}

/// Returns a basic string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text).replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the text without control characters.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Returns a time in seconds in the notation of scenarios.
fn seconds(value: f64) -> Result<String, String> {
    if (0.0..1e6).contains(&value) {
        Ok(format!("{}ns", libm::round(value * 1e9) as u64))
    } else {
        Err(format!("`{value}` seconds are out of range"))
    }
}

/// Checks what a flow of datagrams offers.
fn check(udp: &Udp) -> Result<(), String> {
    udp.refuse_unknown()?;
    if !(udp.offered_bps > 0.0 && udp.offered_bps < 1e12) || udp.l2_bytes < 1 {
        return Err("it offers nothing, or too much".to_owned());
    }
    Ok(())
}

/// Returns the name of the capture of a flow's arrivals.
fn file_of(flow: &str) -> String {
    format!("{}.pcap", printable(flow))
}

/// Returns the flow of datagrams. Without arrivals of the kernel's own, a constant flow starts `later`, in
/// seconds.
fn datagrams(
    name: &str,
    udp: &Udp,
    later: f64,
    own: Option<&Arrivals>,
    experiment: &Experiment,
) -> Result<String, String> {
    let says = |why: &str| format!("flow `{name}`: {why}");
    // For random arrivals, the measured offered rate is used, which differs from the nominal one.
    let told = experiment
        .result(name)
        .map_err(|error| error.to_string())?
        .offered_in_window_bps
        .filter(|rate| *rate > 0.0);
    let (process, together) = udp.process().map_err(|why| says(&why))?;
    let gap = |rate: f64| f64::from(udp.l2_bytes) * 8.0 / rate * f64::from(together);
    let mut start = udp.start_s;
    let mut traffic = match (process, own) {
        (_, Some(arrivals)) => {
            start = arrivals.first;
            format!("replay = {{ file = {} }}", quoted(&file_of(name)))
        }
        ("poisson", None) => {
            let mean = seconds(gap(told.unwrap_or(udp.offered_bps)))?;
            format!("gap = {{ distribution = \"exponential\", mean = \"{mean}\" }}")
        }
        _ => {
            start += later;
            format!("rate = \"{}bit\"", libm::round(udp.offered_bps) as u64)
        }
    };
    if own.is_none() {
        let _ = write!(traffic, "\nsize = \"{}B\"", udp.l2_bytes);
    }
    if own.is_none() && together > 1 {
        let _ = write!(traffic, "\nbatch = \"{together}p\"");
    }
    if let Some(port) = udp.sport {
        let _ = write!(traffic, "\nsource_port = {port}");
    }
    if udp.tos != 0 {
        let _ = write!(traffic, "\ntos = {}", udp.tos);
    }
    Ok(format!(
        "transport = \"udp\"\ndestination_port = {}\n{traffic}\nstart = \"{}\"\nstop = \"{}\"",
        udp.dport,
        seconds(start)?,
        seconds(udp.stop_s)?
    ))
}

/// Returns the flow of a connection. With `tick`, it starts within `tick` seconds after the reference's
/// start.
fn connection(name: &str, tcp: &Tcp, tick: Option<f64>) -> Result<String, String> {
    tcp.refuse_unknown().map_err(|why| format!("flow `{name}`: {why}"))?;
    let bytes = if tcp.bytes == 0 { "unlimited".to_owned() } else { format!("{}B", tcp.bytes) };
    let mut more = String::new();
    if let Some(port) = tcp.sport {
        let _ = write!(more, "\nsource_port = {port}");
    }
    if let Some(stop) = tcp.stop_s {
        let _ = write!(more, "\nstop = \"{}\"", seconds(stop)?);
    }
    if tcp.tos != 0 {
        let _ = write!(more, "\ntos = {}", tcp.tos);
    }
    let start = match tick {
        None => format!("\"{}\"", seconds(tcp.start_s)?),
        Some(tick) => format!(
            "{{ distribution = \"uniform\", min = \"{}\", max = \"{}\" }}",
            seconds(tcp.start_s)?,
            seconds(tcp.start_s + tick)?
        ),
    };
    Ok(format!(
        "transport = \"tcp\"\ndestination_port = {}\ncongestion = {}\nbytes = \"{bytes}\"\nstart = {start}{more}",
        tcp.dport,
        quoted(&tcp.cc),
    ))
}
