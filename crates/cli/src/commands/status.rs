//! `lockgate status`: a running router: its policy, its queues, and the policies before it.

#[cfg(target_os = "linux")]
mod view;

use lockgate::figures;
use lockgate::text::queues;
use lockgate::units::Duration;
use lockgate_measure::monitor::{Limits, Sample};
use lockgate_router::control::protocol::{Entry, Status};
use lockgate_scenario::read_policy;
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::routers::Connection;
use crate::terminal::visible;
use crate::{arguments, routers, terminal};

/// Document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    status: &'a Status,
    /// Newest sample of ports and queues.
    sample: Option<Box<Sample>>,
}

pub(crate) fn status(arguments: &arguments::Status) -> Result<Exit, Failure> {
    let mut connection = Connection::open(&arguments.router)?;
    let status = connection.status()?;
    #[cfg(target_os = "linux")]
    if arguments.watch {
        return view::show(connection, &status, arguments);
    }
    let sample = connection.sample(None)?;
    if arguments.json {
        crate::results::print_json(&Document { status: &status, sample })?;
    } else {
        print(&status);
        if let Some(mut sample) = sample {
            if let Some(ports) = of_policy(&status, Duration::default()) {
                // With the ceilings of its queues.
                ports.mark(&mut sample, &Limits::default());
            }
            lateness(&status, &sample);
            controllers(&sample);
            terminal::show(|lines| queues(&sample, arguments.all, lines));
        }
        history(&status);
    }
    Ok(Exit::Ok)
}

/// Returns the ports of the policy that runs, for samples every so often.
fn of_policy(status: &Status, every: Duration) -> Option<lockgate_session::Status> {
    // The router has read this text; one of another version may have keys that are unknown here.
    let policy = read_policy(&status.policy, &status.router).ok()?;
    Some(lockgate_session::Status::of_policy(&policy, every))
}

fn print(status: &Status) {
    let interfaces: Vec<String> =
        status.interfaces.iter().map(|(role, name)| format!("{role} = {name}")).collect();
    say!(
        "router {}, pid {}, since {}: mode {}, {}",
        visible(&status.router),
        status.pid,
        visible(&status.since),
        visible(&status.mode),
        visible(&interfaces.join(", "))
    );
    let running = status.history.iter().find(|entry| entry.number == status.running);
    let origin = running.map_or("", |entry| &entry.origin);
    let state = match &status.trial {
        _ if !status.stranded.is_empty() => format!("NOT CONFIRMED: {}", status.stranded),
        Some(trial) => routers::trial(trial),
        None => "confirmed".to_owned(),
    };
    say!("policy {} (`{}`), {}", status.running, visible(origin), visible(&state));
    if !status.unused_file.is_empty() {
        say!("{}", visible(&status.unused_file));
    }
    for alert in &status.alerts {
        say!("ALERT: {}", visible(alert));
    }
    if !status.bypass.why.is_empty() {
        say!("frames BYPASS the router: {}", visible(&status.bypass.why));
    }
    for fault in &status.bypass.faults {
        say!("ALARM: {}", visible(fault));
    }
    if !status.hosts.is_empty() {
        say!("{}", visible(&status.hosts));
    }
    if status.losses.total() > 0 {
        let frames = figures::count(status.losses.total(), "frame");
        say!("{frames} lost outside the queues: {}", status.losses);
    }
    if status.bypass.frames > 0 {
        say!("{} bypassed the router since its start", figures::count(status.bypass.frames, "frame"));
    }
}

/// Prints how late frames leave, and the priority of the threads that send them.
fn lateness(status: &Status, sample: &lockgate_measure::monitor::Sample) {
    let late = sample.fidelity.as_ref().and_then(|fidelity| fidelity.late_p99_s);
    let late = late.map_or_else(
        || "no frame was held for its rate".to_owned(),
        |late| format!("frames leave up to {} late (p99)", figures::seconds(Some(late))),
    );
    say!("{late}; {}", visible(&status.priority));
}

/// Prints the rates that are stepped, each with the reason of its latest step.
fn controllers(sample: &Sample) {
    for it in sample.router.iter().flat_map(|router| &router.autorate) {
        let rate = figures::rate(Some(it.rate_bps));
        let would_be = if it.is_applied { "" } else { " would be set" };
        say!("port {}: {rate}{would_be} by {}: {}", visible(&it.port), visible(&it.law), visible(&it.reason));
    }
}

/// Prints the policies, the newest first.
fn history(status: &Status) {
    say!();
    let rows: Vec<Vec<String>> = status.history.iter().map(row).collect();
    terminal::words(&["policy", "rollback", "outcome", "applied", "file", "by"], &rows);
}

fn row(entry: &Entry) -> Vec<String> {
    let steps = entry.steps.map(|steps| steps.to_string()).unwrap_or_default();
    let outcome = if entry.why.is_empty() {
        entry.outcome.clone()
    } else {
        format!("{}: {}", entry.outcome, entry.why)
    };
    // A narrow column breaks it between day and time.
    let at = entry.at.replacen('T', " ", 1);
    vec![entry.number.to_string(), steps, outcome, at, entry.origin.clone(), entry.by.clone()]
}
