//! `lockgate status`: the policy of a running router, and those before it.

use lockgate::figures;
use lockgate_router::control::protocol::{Answer, Entry, Request, Status};

use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::terminal::visible;
use crate::{arguments, routers, terminal};

pub(crate) fn status(arguments: &arguments::Status) -> Result<Exit, Failure> {
    let Answer::Status(status) = routers::ask(&arguments.router, &Request::Status {})? else {
        return Err(routers::misplaced());
    };
    if arguments.json {
        crate::results::print_json(&status)?;
    } else {
        print(&status);
    }
    Ok(Exit::Ok)
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
    if !status.bypass.why.is_empty() {
        say!("frames BYPASS the router: {}", visible(&status.bypass.why));
    }
    for fault in &status.bypass.faults {
        say!("ALARM: {}", visible(fault));
    }
    if status.losses.total() > 0 {
        let frames = figures::count(status.losses.total(), "frame");
        say!("{frames} lost outside the queues: {}", status.losses);
    }
    if status.bypass.frames > 0 {
        say!("{} bypassed the router since its start", figures::count(status.bypass.frames, "frame"));
    }
    say!();
    let rows: Vec<Vec<String>> = status.history.iter().map(row).collect();
    terminal::words(&["policy", "rollback", "outcome", "at", "file", "by"], &rows);
}

fn row(entry: &Entry) -> Vec<String> {
    let steps = entry.steps.map(|steps| steps.to_string()).unwrap_or_default();
    let outcome = if entry.why.is_empty() {
        entry.outcome.clone()
    } else {
        format!("{}: {}", entry.outcome, entry.why)
    };
    vec![entry.number.to_string(), steps, outcome, entry.at.clone(), entry.origin.clone(), entry.by.clone()]
}
