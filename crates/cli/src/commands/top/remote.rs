//! View of a stream: the queues of another machine, or those of a recording.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use lockgate_monitor::{Channels, Hub};

use super::record::Recorder;
use super::stream::{Line, Next, Source};
use super::view::status;
use crate::arguments::Top;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::live_view::{self, View};

/// Time after which an end of the view is noticed.
const PATIENCE: Duration = Duration::from_millis(100);

/// Longest pause between samples of a recording.
const LONGEST: f64 = 5.0;

/// Reason why the page changes nothing.
const ELSEWHERE: &str = "run `lockgate top --set` on the machine itself";

pub(super) fn show(from: &str, arguments: &Top) -> Result<Exit, Failure> {
    let source = Source::open(from, arguments.device.as_deref(), arguments.every.as_deref())?;
    let recorder = arguments.record.as_deref().map(Recorder::start).transpose()?;
    interrupt::listen();
    interrupt::serve_view();
    let (hub, channels) = Hub::start();
    let options = View {
        web: arguments.web,
        names: &arguments.names,
        read_only: Some(ELSEWHERE),
        plain: arguments.plain,
        json: arguments.json,
    };
    let frames = hub.subscribe();
    if let Some(address) = arguments.web {
        live_view::serve(address, &options, &hub)?;
    }
    let is_paced = source.is_recorded && !live_view::is_plain(&options);
    let has_left = AtomicBool::new(false);
    thread::scope(|scope| {
        let relay = scope.spawn(|| relay(source, &channels_of(channels), recorder, is_paced, &has_left));
        let shown = live_view::show(&options, &hub, frames, channel());
        has_left.store(true, Ordering::Relaxed);
        let relayed = relay.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        shown?;
        relayed.map(|()| Exit::Ok)
    })
}

/// Takes the channels along into the thread, which drops them at its end: then the view learns of it.
fn channels_of(channels: Channels) -> Channels {
    channels
}

fn relay(
    mut source: Source,
    channels: &Channels,
    mut recorder: Option<Recorder>,
    is_paced: bool,
    has_left: &AtomicBool,
) -> Result<(), Failure> {
    while !has_left.load(Ordering::Relaxed) && !interrupt::is_requested() {
        match source.next(PATIENCE)? {
            Next::Silence => {}
            Next::End => break,
            Next::Line(Line::Head(head)) => {
                if let Some(recorder) = &mut recorder {
                    recorder.head(&head)?;
                }
                channels.publish_status(status(&head, &|_, _| Vec::new(), false));
            }
            Next::Line(Line::Sample(sample)) => {
                if let Some(recorder) = &mut recorder {
                    recorder.sample(&sample)?;
                }
                if is_paced {
                    thread::sleep(Duration::from_secs_f64(sample.interval_s.clamp(0.0, LONGEST)));
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
    super::view::recorded(recorder, None)
}
