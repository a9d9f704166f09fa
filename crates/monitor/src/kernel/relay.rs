//! View of a stream: the queues of another machine, or those of a recording.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::Program;
use super::error::KernelError;
use super::record::Recorder;
use super::stream::{Line, Next, Source};
use crate::Channels;

/// Time after which an end of the view is noticed.
const PATIENCE: Duration = Duration::from_millis(100);

/// Longest pause between samples of a recording.
const LONGEST_PAUSE_S: f64 = 5.0;

/// Passes a stream on until it ends or the view is left. `is_paced` shows a recording at the pace at which it
/// was made.
///
/// # Errors
/// If the stream is malformed, its program failed, or the recording cannot be written.
pub fn relay(
    mut source: Source,
    channels: Channels,
    mut recorder: Option<Recorder>,
    is_paced: bool,
    has_left: &AtomicBool,
    program: Program<'_>,
) -> Result<(), KernelError> {
    while !has_left.load(Ordering::Relaxed) && !program.is_interrupted() {
        match source.next(PATIENCE)? {
            Next::Silence => {}
            Next::End => break,
            Next::Line(Line::Head(head)) => {
                if let Some(recorder) = &mut recorder {
                    recorder.head(&head)?;
                }
                channels.publish_status(head.status(&|_, _| Vec::new(), false));
            }
            Next::Line(Line::Sample(sample)) => {
                if let Some(recorder) = &mut recorder {
                    recorder.sample(&sample)?;
                }
                if is_paced {
                    thread::sleep(Duration::from_secs_f64(sample.interval_s.clamp(0.0, LONGEST_PAUSE_S)));
                }
                // A recording is read as fast as the view takes it.
                while !channels.send((*sample).clone())
                    && source.is_recorded
                    && !has_left.load(Ordering::Relaxed)
                {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }
    // The view learns of the end.
    drop(channels);
    program.end(recorder, None)
}
