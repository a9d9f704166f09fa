//! `lockgate send`: the sender of the traffic generator.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration};
use lockgate_live::generator::{self, Offset, SendReport, Sender};

use super::receive::{document, show};
use crate::arguments::{Send, traffic_address};
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::{interrupt, runs};
use lockgate::figures;
use lockgate::files::Beside;

/// Lag at the end of the sending time, above which the sender did not keep its rate (exit code 5).
const MOST_BEHIND: Duration = Duration::from_millis(100);

pub(crate) fn send(arguments: &Send) -> Result<Exit, Failure> {
    let scenario = runs::read_text(&scenario(arguments), "send", &Beside::new(Path::new("")), &[])?;
    let to = resolve(&arguments.to)?;
    check_size(arguments, to.is_ipv6())?;
    let lasting = scenario.duration;
    interrupt::listen();
    let sources = lockgate_network::build_sources(&scenario, Seed(arguments.seed));
    let source = sources.ok().and_then(|mut sources| sources.pop());
    let source = source.ok_or_else(|| Failure::run("the traffic cannot be built", "please report this"))?;
    let sender = Sender {
        to,
        source,
        lasting,
        traffic_class: scenario.flows[0].traffic_class,
        session: std::process::id(),
    };
    let report = generator::send(sender, &interrupt::is_requested).map_err(|error| {
        Failure::run(
            format!("cannot send to {to}: {error}"),
            format!("run `lockgate receive` there; UDP port {} must be open", to.port()),
        )
    })?;
    if arguments.json {
        crate::results::print_json(&whole(&report))?;
    } else {
        lines(&report);
    }
    if interrupt::is_requested() {
        return Ok(Exit::Interrupted);
    }
    Ok(if report.behind > MOST_BEHIND { Exit::Unfaithful } else { Exit::Ok })
}

/// Refuses a constant size below the smallest frame, which would silently raise the rate.
fn check_size(arguments: &Send, is_ipv6: bool) -> Result<(), Failure> {
    let least = generator::smallest_frame(is_ipv6) as u64;
    match arguments.size.as_deref().map(str::parse::<Bytes>) {
        Some(Ok(size)) if size.0 < least => Err(Failure::usage(
            format!("frames of {size} cannot carry their number and time"),
            format!("the smallest frame is {least}B"),
        )),
        _ => Ok(()),
    }
}

/// Writes the traffic as a scenario of one flow, so that it is read and checked like any other.
fn scenario(arguments: &Send) -> String {
    let mut text = format!(
        "duration = \"{}\"\n[node]\nhere = {{}}\nthere = {{}}\n[link.network]\nbetween = [\"here\", \"there\"]\n\
         rate = \"1gbit\"\n[flow.send]\nfrom = \"here\"\nto = \"there\"\nstop = \"{}\"\n",
        arguments.duration, arguments.duration
    );
    let plain = arguments.gap.is_none() && arguments.profile.is_none();
    let size = arguments.size.clone().or_else(|| plain.then(|| "1442B".to_owned()));
    let rate = arguments.rate.clone().or_else(|| plain.then(|| "1mbit".to_owned()));
    let keys = [
        ("size", &size),
        ("rate", &rate),
        ("gap", &arguments.gap),
        ("profile", &arguments.profile),
        ("dscp", &arguments.dscp),
    ];
    for (key, value) in keys {
        if let Some(value) = value {
            // Tables stay TOML, everything else becomes a string.
            let is_table = value.trim_start().starts_with('{');
            let value = if is_table { value.clone() } else { toml::Value::from(value.as_str()).to_string() };
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    text
}

fn resolve(to: &str) -> Result<SocketAddr, Failure> {
    traffic_address(to).map_err(|why| Failure::usage(format!("`{to}`: {why}"), "such as `lab.example:5201`"))
}

fn offset(offset: &Offset) -> serde_json::Value {
    serde_json::json!({ "offset_s": offset.offset_ns as f64 * 1e-9, "error_s": offset.error_ns as f64 * 1e-9 })
}

/// Returns the packets lost by the network, without those that the receiving host dropped.
fn lost(report: &SendReport) -> u64 {
    let absent = report.sent.saturating_sub(report.report.received);
    absent.saturating_sub(report.report.host_drops)
}

fn whole(report: &SendReport) -> serde_json::Value {
    serde_json::json!({
        "schema": 1,
        "sent_packets": report.sent,
        "sent_bytes": report.sent_bytes,
        "lost_packets": lost(report),
        "send_errors": report.errors,
        "padded_packets": report.padded,
        "behind_s": report.behind.as_secs_f64(),
        "send_slip_s": { "p50": report.slip[0].as_secs_f64(), "p99": report.slip[1].as_secs_f64() },
        "clocks": report.offsets.iter().map(offset).collect::<Vec<_>>(),
        "receiver": document(&report.report),
    })
}

fn lines(report: &SendReport) {
    say!(
        "sent {}, {} lost, {} refused here; sent {} late at the median, p99 {}",
        figures::count(report.sent, "packet"),
        lost(report),
        report.errors,
        figures::seconds(Some(report.slip[0].as_secs_f64())),
        figures::seconds(Some(report.slip[1].as_secs_f64()))
    );
    if report.padded > 0 {
        let padded = figures::count(report.padded, "packet");
        say!("{padded} padded: too short for their number and time");
    }
    if report.behind > MOST_BEHIND {
        say!(
            "outside the fidelity limits: {} behind schedule when the time was over; what was due then was not sent",
            figures::seconds(Some(report.behind.as_secs_f64()))
        );
    }
    show(&report.report);
}
