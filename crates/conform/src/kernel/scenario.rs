//! Translates a run of the kernel to a scenario: its link, queues and flows.

use core::fmt::Write as _;

use lockgate_engine::random::{Random, Seed};
use lockgate_tc::{Environment, Headers, Port};

use super::setup::Setup;
use super::{Experiment, FlowSetup, Machine, Tcp, Udp};

/// A run of the kernel as a scenario.
pub(super) struct Written {
    pub text: String,
    /// True if anything in it is random, so that one run is a sample.
    pub is_random: bool,
    /// Parts of the commands that have no effect here, with reasons.
    pub skipped: Vec<String>,
}

/// Kinds that draw random numbers.
const RANDOM: [&str; 7] = ["red", "pie", "cobalt", "cake", "dualpi2", "choke", "fq_pie"];

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Translates a run of the kernel to a scenario. With a `shift`, every flow starts later by a random part
/// of one of its gaps: the results then show the effect of the flows' phases.
///
/// # Errors
/// Returns what is not supported.
pub(super) fn write(
    id: &str,
    experiment: &Experiment,
    machine: &Machine,
    shift: Option<Seed>,
) -> Result<Written, String> {
    let setup = Setup::read(&experiment.commands)?;
    let flows = headers(experiment, machine);
    let port = setup.port(&Environment { hz: machine.hz, flows: &flows })?;
    let has_tcp = experiment.tcp().next().is_some();
    let is_shared = is_shared(experiment);
    let last = experiment.udp().map(|(_, udp)| udp.stop_s).fold(experiment.duration_s, f64::max);
    // Packets that wait at the end are neither received nor lost.
    let duration = seconds(last)?;
    // A device without limit: the transmission time of a packet is negligible.
    let rate = setup.rate.map_or_else(|| "100gbit".to_owned(), |rate| format!("{rate}bit"));
    // A delay on the way back adds to the round-trip time of a connection; datagrams do not depend on it.
    let access = setup.return_delay.as_picos() / 1_000_000 / 2;
    let warmup = if has_tcp { "warmup = \"5s\"\n" } else { "" };
    let path = seconds(machine.path_us / 1e6)?;
    // Addresses are written only if a filter needs them.
    let addresses = machine
        .addresses
        .filter(|_| port.compares_addresses)
        .map(|addresses| addresses.map(|address| format!(", address = \"{address}\"")))
        .unwrap_or_default();
    let clock = format!("clock.tick = \"{}ns\"", 1_000_000_000 / machine.hz);
    let mut text = format!(
        "title = {}\nduration = \"{duration}\"\n{warmup}record.packets = true\nnode.a = {{ {clock}{} }}\nnode.r = {{}}\nnode.b = {{ {clock}{} }}\n\
         link.access = {{ between = [\"a\", \"r\"], rate = \"100gbit\", delay = \"{access}us\" }}\n\
         link.line = {{ between = [\"r\", \"b\"], rate = \"{rate}\", delay = \"{path}\" }}\n\
         [port.\"r->b\"]\n{}",
        quoted(id),
        addresses[0],
        addresses[1],
        port.table()
    );
    for (name, flow) in &experiment.flows {
        let setup = match flow {
            FlowSetup::Udp(udp) => {
                let later =
                    shift.map_or(0.0, |seed| Random::stream(seed, name).unit() * gap(udp, udp.offered_bps));
                datagrams(name, udp, later, experiment)?
            }
            FlowSetup::Tcp(tcp) => connection(name, tcp, is_shared.then(|| 1.0 / f64::from(machine.hz)))?,
        };
        let _ = writeln!(text, "[flow.{}]\nfrom = \"a\"\nto = \"b\"\n{setup}", quoted(name));
    }
    Ok(Written { text, is_random: is_random(experiment, &port), skipped: port.left_out })
}

/// Returns true if results depend on a draw: of arrivals, of a discipline, or of the phase of the ticks on which
/// a connection's timers fire.
fn is_random(experiment: &Experiment, port: &Port) -> bool {
    let is_drawn = |udp: &Udp| udp.arrivals().is_ok_and(|(process, _)| process == "poisson");
    experiment.udp().any(|(_, udp)| is_drawn(udp))
        || experiment.tcp().next().is_some()
        || RANDOM.iter().any(|kind| port.has(kind))
}

/// Returns true if several connections share the bottleneck: their losses depend on the start of each
/// within a tick of the kernel's timer, which references do not contain.
fn is_shared(experiment: &Experiment) -> bool {
    experiment.tcp().nth(1).is_some()
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
            addresses: machine.addresses,
            source_port,
            destination_port,
            tos,
            has_fixed_ecn,
            length,
        }
    };
    experiment.flows.iter().map(of).collect()
}

/// Returns a basic string of TOML.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a time in seconds in the notation of scenarios.
fn seconds(value: f64) -> Result<String, String> {
    if (0.0..1e6).contains(&value) {
        Ok(format!("{}ns", libm::round(value * 1e9) as u64))
    } else {
        Err(format!("`{value}` seconds are out of range"))
    }
}

/// Returns the time between two packets at this rate, in seconds.
fn gap(udp: &Udp, rate: f64) -> f64 {
    f64::from(udp.l2_bytes) * 8.0 / rate
}

fn datagrams(name: &str, udp: &Udp, later: f64, experiment: &Experiment) -> Result<String, String> {
    let says = |why: &str| format!("flow `{name}`: {why}");
    udp.refuse_unknown().map_err(|why| says(&why))?;
    if !(udp.offered_bps > 0.0 && udp.offered_bps < 1e12) || udp.l2_bytes < 1 {
        return Err(says("it offers nothing, or too much"));
    }
    // For random arrivals, the measured offered rate is used, which differs from the nominal one.
    let told = experiment.result(name)?.offered_in_window_bps.filter(|rate| *rate > 0.0);
    let (process, together) = udp.arrivals().map_err(|why| says(&why))?;
    let mut traffic = match process {
        "poisson" => {
            let mean = seconds(gap(udp, told.unwrap_or(udp.offered_bps)) * f64::from(together))?;
            format!("gap = {{ distribution = \"exponential\", mean = \"{mean}\" }}")
        }
        _ => format!("rate = \"{}bit\"", libm::round(udp.offered_bps) as u64),
    };
    if together > 1 {
        let _ = write!(traffic, "\nbatch = \"{together}p\"");
    }
    if let Some(port) = udp.sport {
        let _ = write!(traffic, "\nsource_port = {port}");
    }
    if udp.tos != 0 {
        let _ = write!(traffic, "\ntos = {}", udp.tos);
    }
    Ok(format!(
        "transport = \"udp\"\ndestination_port = {}\nsize = \"{}B\"\n{traffic}\nstart = \"{}\"\nstop = \"{}\"",
        udp.dport,
        udp.l2_bytes,
        seconds(udp.start_s + later)?,
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
