//! `lockgate send`: the traffic generator on its own.

use std::fmt::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use lockgate_engine::random::Seed;
use lockgate_live::between::{self, Offset, SendReport, Sender};

use super::receive::{document, show};
use crate::arguments::Send;
use crate::exit::{Exit, Failure};
use crate::files::Beside;
use crate::terminal::say;
use crate::{figures, interrupt, results, runs};

/// Where a receiver listens where nothing else is said.
const PORT: u16 = 5201;

pub(crate) fn send(arguments: &Send) -> Result<Exit, Failure> {
    let scenario = runs::read_text(&scenario(arguments), "send", &Beside::new(Path::new("")), &[])?;
    let to = resolve(&arguments.to)?;
    interrupt::listen();
    let sources = lockgate_sim::parts::build_sources(&scenario, Seed(arguments.seed));
    let source = sources.ok().and_then(|mut sources| sources.pop());
    let source = source.ok_or_else(|| Failure::run("the traffic cannot be built", "please report this"))?;
    let sender =
        Sender { to, source, traffic_class: scenario.flows[0].traffic_class, session: std::process::id() };
    let report = between::send(sender, &interrupt::is_requested).map_err(|error| {
        Failure::run(
            format!("cannot send to {to}: {error}"),
            format!("run `lockgate receive` there; UDP port {} must be open", to.port()),
        )
    })?;
    if arguments.json {
        say!("{}", results::json(&whole(&report))?.trim_end());
    } else {
        lines(&report);
    }
    Ok(if interrupt::is_requested() { Exit::Interrupted } else { Exit::Ok })
}

/// The traffic as a scenario of one flow, so that it is read and checked as there.
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
            // Tables as they are, all else as text.
            let is_table = value.trim_start().starts_with('{');
            let value = if is_table { value.clone() } else { toml::Value::from(value.as_str()).to_string() };
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    text
}

fn resolve(to: &str) -> Result<SocketAddr, Failure> {
    let found = to.to_socket_addrs().or_else(|_| (to, PORT).to_socket_addrs());
    found.ok().and_then(|mut addresses| addresses.next()).ok_or_else(|| {
        Failure::usage(format!("`{to}` is not found"), "name a host or an address, with a port or without")
    })
}

fn offset(offset: &Offset) -> serde_json::Value {
    serde_json::json!({ "offset_s": offset.offset_ns as f64 * 1e-9, "error_s": offset.error_ns as f64 * 1e-9 })
}

fn lost(report: &SendReport) -> u64 {
    report.sent.saturating_sub(report.report.received)
}

fn whole(report: &SendReport) -> serde_json::Value {
    serde_json::json!({
        "schema": 1,
        "sent_packets": report.sent,
        "sent_bytes": report.sent_bytes,
        "lost_packets": lost(report),
        "send_errors": report.errors,
        "send_slip_s": { "p50": report.slip[0].as_secs_f64(), "p99": report.slip[1].as_secs_f64() },
        "clocks": report.offsets.iter().map(offset).collect::<Vec<_>>(),
        "receiver": document(&report.report),
    })
}

fn lines(report: &SendReport) {
    say!(
        "sent {} packets, {} lost, {} refused here; sent {} late at the median, p99 {}",
        report.sent,
        lost(report),
        report.errors,
        figures::seconds(Some(report.slip[0].as_secs_f64())),
        figures::seconds(Some(report.slip[1].as_secs_f64()))
    );
    show(&report.report);
}
