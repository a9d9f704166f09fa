//! `lockgate capture`: frames that leave the queues of a running router, as a file for Wireshark.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::thread;
use std::time::{Duration as WallTime, Instant};

use lockgate::figures::count;
use lockgate_export::ExportError;
use lockgate_export::pcapng::LiveCapture;
use lockgate_router::control::capture::Filter;
use lockgate_router::control::protocol::{Answer, CapturedFrame, Request};

use crate::arguments::Capture;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, tell};
use crate::routers::{self, Connection};

/// Interval at which the router is asked while no frame leaves.
const POLL_INTERVAL: WallTime = WallTime::from_millis(100);

pub(crate) fn capture(arguments: &Capture) -> Result<Exit, Failure> {
    Filter::parse(&arguments.filter)
        .map_err(|error| Failure::usage(format!("--where: {}", error.problem), error.help))?;
    let lasting = arguments.lasting.as_deref().map(crate::runs::time).transpose()?;
    if arguments.out.is_none() && io::stdout().is_terminal() {
        let help = "name a file with --out, or pipe it: `lockgate capture wan | tcpdump -r -`";
        return Err(Failure::usage("a capture is not text for a terminal", help));
    }
    let mut connection = Connection::open(&arguments.router)?;
    let (port, filter) = (arguments.port.clone(), arguments.filter.clone());
    let Answer::Capturing {} = connection.ask(&Request::Capture { port, filter })? else {
        return Err(routers::misplaced());
    };
    // After the router has agreed, so that no empty file is left.
    let output: Box<dyn Write> = match &arguments.out {
        Some(path) => match File::create_new(path) {
            Ok(file) => Box::new(file),
            Err(why) => {
                end(&mut connection);
                let problem =
                    format!("cannot create `{}`: {}", path.display(), lockgate::io_error::of_writing(&why));
                return Err(Failure::usage(problem, "name a new file with --out"));
            }
        },
        None => Box::new(io::stdout()),
    };
    interrupt::listen();
    let until = lasting.map(|time| Instant::now() + WallTime::from_nanos(time.as_picos() / 1_000));
    let is_over = || interrupt::is_requested() || until.is_some_and(|until| Instant::now() >= until);
    let mut tally = Tally::default();
    let recorded = record(&mut connection, output, arguments, &is_over, &mut tally);
    if !tally.is_ended {
        end(&mut connection);
    }
    interrupt::on_ended();
    match recorded {
        // `lockgate capture wan | head -c 1M`: the reader has enough.
        Err(Stop::Unwritten(why)) if arguments.out.is_none() && output::is_closed_pipe(&why) => {}
        Err(Stop::Unwritten(why)) => {
            let problem = format!("cannot write the capture: {why}");
            return Err(Failure::run(problem, "make room, or write it elsewhere"));
        }
        Err(Stop::Router(failure)) => return Err(failure),
        Ok(()) => {}
    }
    let Tally { captured, missed, .. } = tally;
    let missed = if missed > 0 { format!(", {missed} more were missed") } else { String::new() };
    tell!("{} captured{missed}", count(captured, "frame"));
    Ok(Exit::Ok)
}

/// Frames of a capture.
#[derive(Default)]
struct Tally {
    captured: u64,
    missed: u64,
    /// True if the router has ended the capture.
    is_ended: bool,
}

/// Cause of an early end.
enum Stop {
    Router(Failure),
    Unwritten(ExportError),
}

impl From<ExportError> for Stop {
    fn from(error: ExportError) -> Self {
        Self::Unwritten(error)
    }
}

/// Writes frames until there are enough or `is_over` returns true.
fn record(
    connection: &mut Connection,
    output: Box<dyn Write>,
    arguments: &Capture,
    is_over: &dyn Fn() -> bool,
    tally: &mut Tally,
) -> Result<(), Stop> {
    let mut file = LiveCapture::start(BufWriter::new(output), &arguments.port)?;
    let is_enough = |captured: u64| arguments.count.is_some_and(|most| captured >= most);
    while !tally.is_ended && !is_enough(tally.captured) {
        // Each time: a busy queue always has frames. The last answer has all that wait.
        let is_last = is_over();
        let answer = connection.ask(&Request::Captured { end: is_last }).map_err(Stop::Router)?;
        let Answer::Captured { frames, missed } = answer else {
            return Err(Stop::Router(routers::misplaced()));
        };
        (tally.missed, tally.is_ended) = (missed, is_last);
        for frame in &frames {
            if !is_enough(tally.captured) {
                tally.captured += 1;
                write(&mut file, frame)?;
            }
        }
        if frames.is_empty() && !is_last {
            file.flush().map_err(ExportError::from)?;
            thread::sleep(POLL_INTERVAL);
        }
    }
    Ok(file.flush().map_err(ExportError::from)?)
}

/// Ends the capture, so that the next one need not wait until this one is unread for long.
fn end(connection: &mut Connection) {
    let _ = connection.ask(&Request::Captured { end: true });
}

/// Writes a frame, with its queue, its delay and the reason of a drop as the comment.
fn write<W: Write>(file: &mut LiveCapture<W>, frame: &CapturedFrame) -> Result<(), ExportError> {
    let waited = frame.waited_ns as f64 / 1e6;
    let what = if frame.reason.is_empty() {
        format!("queueing {waited:.3} ms")
    } else {
        format!("dropped: {}; after {waited:.3} ms", frame.reason)
    };
    let comment = format!("{what}; queue {}", frame.queue);
    file.frame(WallTime::from_nanos(frame.at_ns), frame.length, &frame.bytes(), &comment)
}
