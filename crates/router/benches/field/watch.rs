//! Queues of single connections, watched by a capture of the frames that leave a port.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indexmap::IndexMap;
use lockgate_router::control::Engine;
use lockgate_router::control::capture::Filter;
use lockgate_router::router::Router;
use lockgate_router::tap::Captured;

/// Key of the frames that wait in one queue; `None`: another frame.
pub(crate) type Key = fn(&Captured) -> Option<u32>;

/// Frames of one queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    /// Frames that were sent, and their bytes.
    pub(crate) sent: u64,
    pub(crate) bytes: u64,
    pub(crate) dropped: u64,
    /// Arrival and departure of each frame.
    stays: Vec<[Duration; 2]>,
}

impl Watched {
    fn note(&mut self, frame: &Captured) {
        self.stays.push([frame.at.saturating_sub(frame.waited), frame.at]);
        if frame.reason.is_some() {
            self.dropped += 1;
        } else {
            self.sent += 1;
            self.bytes += u64::from(frame.length);
        }
    }

    /// Returns the part of the time in which the queue had no frame, and the last one had left more than
    /// `since` ago.
    pub(crate) fn empty_share(&self, since: Duration) -> f64 {
        let mut stays = self.stays.clone();
        stays.sort_unstable();
        let Some([first, mut last]) = stays.first().copied() else { return f64::NAN };
        let mut empty = Duration::ZERO;
        for [arrived, left] in stays {
            empty += arrived.saturating_sub(last + since);
            last = last.max(left);
        }
        empty.as_secs_f64() / last.saturating_sub(first).as_secs_f64()
    }
}

/// Watch of a port, which lasts until [`end`](Self::end).
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(IndexMap<u32, Watched>, u64)>,
}

impl Watch {
    /// Begins to watch the frames that `filter` has, as queues by `key`.
    pub(crate) fn start(router: &mut Router, port: &str, filter: &str, key: Key) -> Self {
        let filter = Filter::parse(filter).expect("a filter");
        let reader = router.capture(port, filter).expect("a port");
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        let thread = thread::spawn(move || {
            let mut queues = IndexMap::<u32, Watched>::new();
            let mut is_last = false;
            while !is_last {
                is_last = stopping.load(Ordering::Relaxed);
                for frame in reader.read(usize::MAX) {
                    if let Some(key) = key(&frame) {
                        queues.entry(key).or_default().note(&frame);
                    }
                }
                thread::sleep(Duration::from_millis(5));
            }
            (queues, reader.missed())
        });
        Self { stop, thread }
    }

    /// Ends it. Returns the queues.
    pub(crate) fn end(self) -> IndexMap<u32, Watched> {
        self.stop.store(true, Ordering::Relaxed);
        let (queues, missed) = self.thread.join().expect("no panic");
        if missed > 0 {
            println!("the watch missed {missed} frames");
        }
        queues
    }
}

/// Returns the port of a TCP or UDP frame's destination, with bit 16 set if it has data.
pub(crate) fn destination(frame: &Captured) -> Option<u32> {
    let bytes = |at: usize| frame.bytes.get(at..at + 2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
    if bytes(12)? != 0x0800 {
        return None;
    }
    let start = 14 + usize::from(frame.bytes.get(14)? & 15) * 4;
    let has_data = match frame.bytes.get(23)? {
        6 => bytes(16)? as usize + 14 > start + usize::from(frame.bytes.get(start + 12)? >> 4) * 4,
        17 => true,
        _ => return None,
    };
    Some(bytes(start + 2)? | u32::from(has_data) << 16)
}
