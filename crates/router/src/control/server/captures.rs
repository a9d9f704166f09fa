//! The capture of a router: begun, read and ended by requests.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lockgate_engine::discipline::DropReason;

use crate::control::Engine;
use crate::control::capture::Filter;
use crate::control::protocol::{Answer, CapturedFrame, Refusal};
use crate::tap::{CaptureReader, Captured, WAITING};

/// Time after which a capture ends that is not read.
const UNREAD: Duration = Duration::from_secs(5);

/// Frames of one answer at most, before the last.
const MOST_FRAMES: usize = 2_048;

/// The capture, if there is one.
#[derive(Debug, Default)]
pub(super) struct Captures(Option<Reading>);

#[derive(Debug)]
struct Reading {
    reader: CaptureReader,
    read_at: Duration,
}

impl Captures {
    /// Begins a capture at time `now`.
    ///
    /// # Errors
    /// If another goes on, the filter cannot be read, or there is no such port.
    pub(super) fn start(
        &mut self,
        engine: &mut impl Engine,
        port: &str,
        filter: &str,
        now: Duration,
    ) -> Result<Answer, Refusal> {
        self.end_unread(now);
        if self.0.is_some() {
            return Err(Refusal::usage(
                "another capture goes on",
                "end it; it also ends 5 s after its reader",
            ));
        }
        let filter = Filter::parse(filter).map_err(|error| Refusal::usage(error.problem, error.help))?;
        let port = lockgate_engine::port_name::canonical(port);
        let reader =
            engine.capture(&port, filter).map_err(|misfit| Refusal::usage(misfit.problem, misfit.help))?;
        self.0 = Some(Reading { reader, read_at: now });
        Ok(Answer::Capturing {})
    }

    /// Returns the frames since the last call, the oldest first. If `end` is true, returns all that wait, and
    /// ends the capture.
    pub(super) fn read(&mut self, now: Duration, end: bool) -> Answer {
        let Some(reading) = &mut self.0 else {
            return Answer::Refused(Refusal::usage(
                "no capture goes on",
                "begin one with `lockgate capture PORT`",
            ));
        };
        reading.read_at = now;
        let frames = reading.reader.read(if end { WAITING } else { MOST_FRAMES }).iter().map(frame).collect();
        let missed = reading.reader.missed();
        if end {
            self.0 = None;
        }
        Answer::Captured { frames, missed }
    }

    /// Ends a capture whose reader has gone.
    pub(super) fn end_unread(&mut self, now: Duration) {
        self.0.take_if(|reading| now.saturating_sub(reading.read_at) >= UNREAD);
    }
}

fn frame(captured: &Captured) -> CapturedFrame {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    CapturedFrame {
        at_ns: nanos(captured.at),
        queue: captured.queue.to_string(),
        waited_ns: nanos(captured.waited),
        reason: captured.reason.map_or("", DropReason::name).to_owned(),
        length: captured.length,
        base64: BASE64_STANDARD.encode(&captured.bytes),
    }
}
