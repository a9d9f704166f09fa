//! A kernel's run as a scenario: its link, its queues, its flows.

use core::fmt::Write as _;

use lockgate_engine::random::{Random, Seed};

use super::command::Commands;
use super::tree::{self, Queue};
use super::{Experiment, FlowSetup, Tcp, Udp};

/// A run as a scenario.
pub(super) struct Written {
    pub text: String,
    /// Whether anything in it is drawn, so that one run is one of many.
    pub is_random: bool,
}

/// Kinds that draw random numbers.
const RANDOM: [&str; 5] = ["red", "pie", "cobalt", "cake", "dualpi2"];

/// How long packets take through the kernel's machine without any queue.
const PATH: &str = "7us";

/// A run of the kernel as a scenario; its timers have `hz` ticks a second. With a `shift`, every flow starts later by a
/// random part of one of its gaps: what comes of it then is what the flows' phases decide.
///
/// # Errors
/// What is not understood.
pub(super) fn write(
    id: &str,
    experiment: &Experiment,
    hz: u32,
    shift: Option<Seed>,
) -> Result<Written, String> {
    let commands = Commands::read(&experiment.commands)?;
    let root = tree::build(&commands, hz)?;
    let has_tcp = experiment.tcp().next().is_some();
    let last = experiment.udp().map(|(_, udp)| udp.stop_s).fold(experiment.duration_s, f64::max);
    // Datagrams that wait at the end still count: the run goes on until they are through.
    let duration = seconds(if has_tcp { experiment.duration_s } else { last + 30.0 })?;
    // A device without limit: a packet takes no time that counts.
    let rate = commands.rate.map_or_else(|| "100gbit".to_owned(), |rate| format!("{rate}bit"));
    // Where packets take long on the way back, a connection feels it in its round trip; datagrams do not.
    let access = commands.way_back_us / 2;
    let warmup = if has_tcp { "warmup = \"5s\"\n" } else { "" };
    let mut text = format!(
        "title = {}\nduration = \"{duration}\"\n{warmup}record.packets = true\nnode.a = {{}}\nnode.r = {{}}\nnode.b = {{}}\n\
         link.access = {{ between = [\"a\", \"r\"], rate = \"100gbit\", delay = \"{access}us\" }}\n\
         link.line = {{ between = [\"r\", \"b\"], rate = \"{rate}\", delay = \"{PATH}\" }}\n\
         [port.\"r->b\"]\nroot = \"{}\"\n",
        quoted(id),
        root.name()
    );
    root.write(&mut text);
    for (name, flow) in &experiment.flows {
        let setup = match flow {
            FlowSetup::Udp(udp) => {
                let later =
                    shift.map_or(0.0, |seed| Random::stream(seed, name).unit() * gap(udp, udp.offered_bps));
                datagrams(name, udp, later, experiment)?
            }
            FlowSetup::Tcp(tcp) => connection(tcp)?,
        };
        let _ = writeln!(text, "[flow.{}]\nfrom = \"a\"\nto = \"b\"\n{setup}", quoted(name));
    }
    Ok(Written { text, is_random: is_random(experiment, &root) })
}

fn is_random(experiment: &Experiment, root: &Queue) -> bool {
    experiment.udp().any(|(_, udp)| udp.process == "poisson") || RANDOM.iter().any(|kind| root.has(kind))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A time in seconds as a scenario writes it.
fn seconds(value: f64) -> Result<String, String> {
    if (0.0..1e6).contains(&value) {
        Ok(format!("{}ns", libm::round(value * 1e9) as u64))
    } else {
        Err(format!("`{value}` seconds are out of range"))
    }
}

/// The time between two packets at this rate, in seconds.
fn gap(udp: &Udp, rate: f64) -> f64 {
    f64::from(udp.l2_bytes) * 8.0 / rate
}

fn datagrams(name: &str, udp: &Udp, later: f64, experiment: &Experiment) -> Result<String, String> {
    let says = |why: &str| format!("flow `{name}`: {why}");
    if !(udp.offered_bps > 0.0 && udp.offered_bps < 1e12) || udp.l2_bytes < 1 {
        return Err(says("it offers nothing, or too much"));
    }
    // Of random arrivals, what one run really offered is told, and differs from what was asked for.
    let told = experiment.result(name)?.offered_in_window_bps.filter(|rate| *rate > 0.0);
    let traffic = match (udp.process.as_str(), udp.burst_packets) {
        ("poisson", 1) => {
            let mean = seconds(gap(udp, told.unwrap_or(udp.offered_bps)))?;
            format!("gap = {{ distribution = \"exponential\", mean = \"{mean}\" }}")
        }
        ("cbr", 1) => format!("rate = \"{}bit\"", libm::round(udp.offered_bps) as u64),
        ("cbr", packets) if packets > 1 => {
            // A burst at 1 Gbit/s, as a host sends one, once in the time that its packets stand for.
            let on = u64::from(packets) * u64::from(udp.l2_bytes) * 8_000;
            let period = libm::round(gap(udp, udp.offered_bps) * f64::from(packets) * 1e12) as u64;
            let off = period.checked_sub(on).ok_or_else(|| says("its bursts do not fit into its rate"))?;
            format!("rate = \"1gbit\"\nbursts = {{ on = \"{on}ps\", off = \"{off}ps\" }}")
        }
        (process, packets) => {
            return Err(says(&format!("`{process}` in bursts of {packets} is not understood")));
        }
    };
    let tos = if udp.tos == 0 { String::new() } else { format!("\ntos = {}", udp.tos) };
    Ok(format!(
        "transport = \"udp\"\ndestination_port = {}\nsize = \"{}B\"\n{traffic}\nstart = \"{}\"\nstop = \"{}\"{tos}",
        udp.dport,
        udp.l2_bytes,
        seconds(udp.start_s + later)?,
        seconds(udp.stop_s)?
    ))
}

fn connection(tcp: &Tcp) -> Result<String, String> {
    let bytes = if tcp.bytes == 0 { "unlimited".to_owned() } else { format!("{}B", tcp.bytes) };
    Ok(format!(
        "transport = \"tcp\"\ndestination_port = {}\ncongestion = {}\nbytes = \"{bytes}\"\nstart = \"{}\"",
        tcp.dport,
        quoted(&tcp.cc),
        seconds(tcp.start_s)?
    ))
}
