//! Live view of a router: its samples to the hub of the terminal and the page.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle, ScopedJoinHandle};
use std::time::Duration as WallTime;

use lockgate::units::Duration;
use lockgate_monitor::{Channels, Command, Frames, Hub};
use lockgate_router::router::Observer;
use lockgate_scenario::Policy;
use lockgate_session::{Refused, Status};

use crate::arguments::Route;
use crate::exit::Failure;
use crate::interrupt;
use crate::live_view::{self, View};

/// Polling interval of the router's end while the view is on screen, and without it; signals end the wait.
const POLL_INTERVAL: WallTime = WallTime::from_millis(50);
const LONG_POLL_INTERVAL: WallTime = WallTime::from_millis(500);

/// View of a running router, not on screen yet.
pub(super) struct Shown<'a> {
    options: View<'a>,
    hub: Arc<Hub>,
    frames: Frames,
    /// True if the terminal shows it.
    is_watched: bool,
    ended: Arc<AtomicBool>,
    publisher: JoinHandle<()>,
}

/// Way to change a router.
pub(crate) const CHANGED_BY: &str = "edit the policy, and run `lockgate apply`";

/// Starts the view that `arguments` request; `None` if they request none. The page's address goes to `log`,
/// or why there is no page, or no view: the router goes on, because its queues are worth more.
pub(super) fn start<'a>(
    policy: &Policy,
    arguments: &'a Route,
    every: Duration,
    observer: Observer,
    log: &dyn Fn(&str),
) -> Option<Shown<'a>> {
    if !arguments.watch && arguments.web.is_none() {
        return None;
    }
    let started = begin(policy, arguments, every, observer, log);
    started.inspect_err(|why| log(&format!("no view: {why}; the router goes on without it"))).ok()
}

fn begin<'a>(
    policy: &Policy,
    arguments: &'a Route,
    every: Duration,
    observer: Observer,
    log: &dyn Fn(&str),
) -> Result<Shown<'a>, lockgate_monitor::Error> {
    let (hub, channels) = Hub::start()?;
    channels.publish_status(Status::of_policy(policy, every));
    let options = View {
        web: arguments.web,
        names: &arguments.hosts,
        read_only: Some(CHANGED_BY),
        changes_host: false,
        plain: false,
        json: false,
        quits: "END THE ROUTER: the kernel has the interfaces again",
    };
    let frames = hub.subscribe();
    if let Some(address) = arguments.web {
        match live_view::serve(address, &options, &hub) {
            Ok(page) => log(&page),
            // Another router may have the address.
            Err(failure) => log(&format!("no page: {failure}; the router goes on without it")),
        }
    }
    let ended = Arc::new(AtomicBool::new(false));
    let ending = ended.clone();
    let publish = move || publish(&channels, &observer, every, &ending);
    let builder = thread::Builder::new().name("samples".to_owned());
    let publisher = builder.spawn(publish).map_err(lockgate_monitor::Error::Thread)?;
    Ok(Shown { options, hub, frames, is_watched: arguments.watch, ended, publisher })
}

/// Passes each new sample on, and refuses changes.
fn publish(channels: &Channels, observer: &Observer, every: Duration, ended: &AtomicBool) {
    let every = WallTime::from_nanos(every.as_picos() / 1_000);
    let (mut nap, mut last) = (every / 10, None);
    while !ended.load(Ordering::Relaxed) {
        match channels.commands().recv_timeout(nap) {
            Ok(Command::Set { reply, .. }) => {
                reply.send(Err(Refused::because("a router is changed by its policy", CHANGED_BY)));
            }
            Ok(Command::Stop) => interrupt::flag().store(true, Ordering::SeqCst),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(nap),
        }
        // Until the next sample is due, then often.
        nap = every / 10;
        if let Some(sample) = observer.sample().filter(|sample| last != Some(sample.number)) {
            (last, nap) = (Some(sample.number), every / 10 * 9);
            channels.send(sample);
        }
    }
}

impl Shown<'_> {
    /// Shows the view until `ends` returns true, or the user ends it.
    pub(super) fn show(self, ends: &dyn Fn() -> bool) -> Result<(), Failure> {
        let Self { options, hub, frames, is_watched, ended, publisher } = self;
        let shown = thread::scope(|scope| {
            let show = || live_view::show(&options, &hub, frames, channel());
            let screen = is_watched.then(|| live_view::scoped(scope, "screen", show)).transpose()?;
            while !ends() && !screen.as_ref().is_some_and(ScopedJoinHandle::is_finished) {
                interrupt::wait(if is_watched { POLL_INTERVAL } else { LONG_POLL_INTERVAL });
            }
            ended.store(true, Ordering::Relaxed);
            let left =
                screen.map(|screen| screen.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            left.unwrap_or(Ok(()))
        });
        // Also without a screen.
        ended.store(true, Ordering::Relaxed);
        // Drops the samples' channel, so that readers receive the end.
        let _ = publisher.join();
        // Quitting the view quits the router.
        interrupt::flag().store(true, Ordering::SeqCst);
        shown
    }
}
