//! Live view of a router that runs elsewhere: its samples come by the control socket.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration as WallTime;

use lockgate::units::Duration;
use lockgate_monitor::{Channels, Command, Hub};
use lockgate_router::control::protocol::Status;
use lockgate_session::Refused;

use crate::arguments;
use crate::commands::route::view::CHANGED_BY;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::live_view::{self, View};
use crate::output::tell;
use crate::routers::Connection;

/// Interval at which the router is asked while no later sample is known.
const POLL_INTERVAL: WallTime = WallTime::from_millis(100);

/// Shows a running router until the user leaves the view or the router ends.
pub(super) fn show(
    mut connection: Connection,
    status: &Status,
    arguments: &arguments::Status,
) -> Result<Exit, Failure> {
    interrupt::listen();
    interrupt::serve_view();
    let (hub, channels) = Hub::start()?;
    publish_status(&channels, status, Duration::from_secs(1), false);
    let options = View {
        web: arguments.web,
        names: &[],
        read_only: Some(CHANGED_BY),
        changes_host: false,
        plain: arguments.plain,
        json: arguments.json,
        quits: "leave the view; the router goes on",
    };
    let frames = hub.subscribe();
    if let Some(address) = arguments.web {
        tell!("{}", live_view::serve(address, &options, &hub)?);
    }
    let has_left = AtomicBool::new(false);
    thread::scope(|scope| {
        let follow = || follow(&mut connection, channels, status, &has_left);
        let thread = live_view::scoped(scope, "samples", follow)?;
        let shown = live_view::show(&options, &hub, frames, channel());
        has_left.store(true, Ordering::Relaxed);
        let followed = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        shown?;
        followed.map(|()| Exit::Ok)
    })
}

/// Passes the router's samples on until the view is left.
///
/// # Errors
/// If the router does not answer any more.
fn follow(
    connection: &mut Connection,
    channels: Channels,
    status: &Status,
    has_left: &AtomicBool,
) -> Result<(), Failure> {
    let (mut last, mut known) = (None, (status.running, Duration::ZERO));
    let mut status = status.clone();
    while !has_left.load(Ordering::Relaxed) && !interrupt::is_requested() {
        while let Ok(command) = channels.commands().try_recv() {
            if let Command::Set { reply, .. } = command {
                reply.send(Err(Refused::because("a router is changed by its policy", CHANGED_BY)));
            }
        }
        let sample = match connection.sample(last) {
            Ok(sample) => sample,
            Err(failure) => {
                publish_status(&channels, &status, known.1, true);
                return Err(failure);
            }
        };
        let Some(sample) = sample else {
            thread::sleep(POLL_INTERVAL);
            continue;
        };
        last = Some(sample.number);
        let policy = sample.router.as_ref().map_or(known.0, |router| router.policy);
        let every = Duration::from_picos((sample.interval_s * 1e12) as u64);
        if known.0 != policy {
            status = connection.status()?;
        }
        if known != (policy, every) {
            known = (policy, every);
            publish_status(&channels, &status, every, false);
        }
        channels.send(*sample);
    }
    // The view learns of the end.
    drop(channels);
    Ok(())
}

/// Publishes the ports of the policy that runs.
fn publish_status(channels: &Channels, status: &Status, every: Duration, has_ended: bool) {
    let Some(mut shown) = super::of_policy(status, every) else { return };
    shown.ended = has_ended;
    channels.publish_status(shown);
}
