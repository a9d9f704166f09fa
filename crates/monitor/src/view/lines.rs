//! Output of one line per sample, for pipes and logs.

use std::cmp::Reverse;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockgate_measure::figures;
use lockgate_measure::monitor::{EventSample, LeftOut, PortSample, Sample};
use tokio::sync::broadcast::error::TryRecvError;

use crate::{Frames, Hub};

/// Ports, and queues of each, in a line of a large network.
const MOST_SHOWN: usize = 8;

/// Part of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A line of results, without its end.
    Line(&'a str),
    /// Number of samples lost because this reader fell behind.
    Missed(u64),
}

/// Passes samples to `print` until the run ends, `interrupt` is set, or `print` breaks; as JSON if requested.
pub fn print(
    hub: &Hub,
    mut frames: Frames,
    json: bool,
    interrupt: &AtomicBool,
    print: &mut dyn FnMut(Part<'_>) -> ControlFlow<()>,
) {
    let mut known_over = false;
    loop {
        let printed = match frames.try_recv() {
            Ok(frame) if json => print(Part::Line(frame.json())),
            Ok(frame) => lines(&frame.shown).iter().try_for_each(|line| print(Part::Line(line))),
            Err(TryRecvError::Lagged(lost)) => print(Part::Missed(lost)),
            Err(TryRecvError::Closed) => return,
            Err(TryRecvError::Empty) => {
                // Samples sent before the end are printed first.
                if known_over || interrupt.load(Ordering::SeqCst) {
                    return;
                }
                known_over = hub.is_over();
                if !known_over {
                    std::thread::sleep(Duration::from_millis(10));
                }
                continue;
            }
        };
        if printed.is_break() {
            return;
        }
    }
}

/// Returns the lines of a sample: its events, then its active ports. For a large network, only the ports with
/// the most queues in the sample, and the first queues of each.
pub fn lines(sample: &Sample) -> Vec<String> {
    let mut lines: Vec<String> = sample.events.iter().map(event_line).collect();
    let most = if sample.left_out == LeftOut::default() { usize::MAX } else { MOST_SHOWN };
    let mut shown: Vec<&PortSample> = sample.ports.iter().collect();
    if most < shown.len() {
        shown.sort_by_key(|port| Reverse(port.queues.len()));
    }
    let active = shown.iter().filter_map(|shown| port(shown, most));
    let ports: Vec<String> = active.take(most).collect();
    let mut ports = if ports.is_empty() { "idle".to_owned() } else { ports.join("  |  ") };
    if sample.left_out.queues > 0 {
        let queues = figures::count(sample.left_out.queues as u64, "queue");
        let _ = write!(ports, "  |  {queues} more");
    }
    lines.push(format!("{:10.3} s  {ports}", sample.at_s));
    lines
}

/// Returns an event as a line.
pub(crate) fn event_line(event: &EventSample) -> String {
    let mut line = format!("{:10.3} s  ", event.at_s);
    if !event.path.is_empty() {
        let _ = write!(line, "set {}={}", event.path, event.value);
    }
    if let Some(moved) = event.moved_packets {
        let _ = write!(line, ", {} moved", figures::count(moved, "packet"));
    }
    if event.forced_out_packets > 0 {
        let _ = write!(line, ", {} forced out", figures::count(event.forced_out_packets, "packet"));
    }
    if !event.text.is_empty() {
        line += &event.text;
    }
    line
}

/// Returns a port that was active: its root, then queues with waiting packets, `most` of them.
fn port(port: &PortSample, most: usize) -> Option<String> {
    let root = port.queues.first()?;
    if root.offered_bps <= 0.0 && root.packets == 0 {
        return None;
    }
    let mut text = format!(
        "{} {} {}p {} p99 {} dropped {}",
        port.name,
        root.name,
        root.packets,
        figures::rate(Some(port.sent_bps)),
        figures::seconds(root.sojourn_p99_s),
        root.dropped_packets
    );
    let active = port.queues.iter().skip(1).filter(|queue| queue.packets > 0 || queue.sent_packets > 0);
    for queue in active.take(most) {
        let _ = write!(text, ", {} {}p {}", queue.name, queue.packets, figures::rate(Some(queue.sent_bps)));
        if queue.waited_mean_s.is_some() {
            let _ = write!(text, " waits {}", figures::seconds(queue.waited_mean_s));
        }
    }
    Some(text)
}
