//! Live view of the kernel's queues, of this machine or of a stream: on screen, as a page, or as lines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use lockgate_monitor::kernel::{
    CHANGED_BY, Kernel, KernelError, KernelOptions, KernelSession, Program, Recorder, Sink, Sojourn, Source,
    relay,
};
use lockgate_monitor::{Channels, Hub};

use crate::arguments::Top;
use crate::exit::{Exit, Failure};
use crate::live_view::{self, View};
use crate::output::{document, has_no_reader, tell};
use crate::{interrupt, results};

/// Interval between looks.
const INTERVAL: Duration = Duration::from_millis(100);

/// Least interval between samples for a screen or a page; each has mean and peak of its looks.
const SCREEN: Duration = Duration::from_millis(100);

/// Reason why the page of a stream changes nothing.
const ELSEWHERE: &str = "run `lockgate top --set` on the machine itself";

/// Shows the queues of this machine.
pub(super) fn view(kernel: Kernel, arguments: &Top) -> Result<Exit, Failure> {
    let every = arguments.every.as_deref().map_or(Ok(INTERVAL), super::interval)?;
    let sojourn = arguments.sojourn.as_ref();
    let sojourn = sojourn.map(|given| Sojourn::start(given.as_deref(), &kernel.interfaces()));
    let (sojourn, recorder) = (sojourn.transpose()?, recorder(arguments)?);
    interrupt::listen();
    interrupt::serve_view();
    let options = view_of(arguments, (!arguments.set).then_some(CHANGED_BY));
    // Lines are for programs, which take every look; a recording has every look, too.
    let is_every = arguments.stream || live_view::is_plain(&options) || arguments.record.is_some();
    let least = if is_every { Duration::ZERO } else { SCREEN };
    let session = KernelOptions { every, least, is_set: arguments.set, sojourn, recorder };
    let print = |line: &str| {
        document(line.as_bytes());
        !has_no_reader()
    };
    if arguments.stream {
        let session = KernelSession::new(kernel, session, Sink::Lines(&print), program());
        session.follow(&AtomicBool::new(false))?;
        return Ok(Exit::Ok);
    }
    let (hub, channels) = Hub::start()?;
    if arguments.web.is_none() {
        hub.forget_history();
    }
    show(&options, &hub, channels, |channels, has_left| {
        KernelSession::new(kernel, session, Sink::View(channels), program()).follow(has_left)
    })
}

/// Shows the stream of another machine, or a recording.
pub(super) fn remote(from: &str, arguments: &Top) -> Result<Exit, Failure> {
    let source = Source::open(from, arguments.device.as_deref(), arguments.every.as_deref())?;
    let recorder = recorder(arguments)?;
    interrupt::listen();
    interrupt::serve_view();
    let (hub, channels) = Hub::start()?;
    let options = view_of(arguments, Some(ELSEWHERE));
    let is_paced = source.is_recorded && !live_view::is_plain(&options);
    show(&options, &hub, channels, |channels, has_left| {
        relay(source, channels, recorder, is_paced, has_left, program())
    })
}

fn recorder(arguments: &Top) -> Result<Option<Recorder>, Failure> {
    let start = |path| Recorder::start(path, &results::command_line());
    Ok(arguments.record.as_deref().map(start).transpose()?)
}

fn view_of<'a>(arguments: &'a Top, read_only: Option<&'static str>) -> View<'a> {
    View {
        web: arguments.web,
        names: &arguments.names,
        read_only,
        changes_host: arguments.set && read_only.is_none(),
        plain: arguments.plain,
        json: arguments.json,
        quits: "leave the view; the queues stay as they are",
    }
}

/// Returns what a session needs of the command.
fn program() -> Program<'static> {
    Program { interrupt: interrupt::flag(), wait: &interrupt::wait, tell: &|text| tell!("{text}") }
}

/// Shows what `follow` passes to the channels, which it takes along into its thread: the view learns of its
/// end.
fn show(
    options: &View<'_>,
    hub: &Arc<Hub>,
    channels: Channels,
    follow: impl FnOnce(Channels, &AtomicBool) -> Result<(), KernelError> + Send,
) -> Result<Exit, Failure> {
    let frames = hub.subscribe();
    if let Some(address) = options.web {
        tell!("{}", live_view::serve(address, options, hub)?);
    }
    let has_left = AtomicBool::new(false);
    thread::scope(|scope| {
        let session = live_view::scoped(scope, "session", || follow(channels, &has_left))?;
        let shown = live_view::show(options, hub, frames, channel());
        has_left.store(true, Ordering::Relaxed);
        let followed = session.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        shown?;
        Ok(followed.map(|()| Exit::Ok)?)
    })
}
