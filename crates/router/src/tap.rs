//! Tap of a port: copies of the frames that leave its queues, for a capture.
//!
//! The forwarder copies at most `SNAP` bytes of each frame that the filter has into a bounded channel. It
//! never waits: if the channel is full, the frame is counted as missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration as WallTime, SystemTime, UNIX_EPOCH};

use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::Packet;
use lockgate_engine::port::Port;
use lockgate_engine::units::Instant;

use crate::control::capture::{Fate, Filter};

/// Frames that wait for the reader at most.
pub(crate) const WAITING: usize = 8_192;

/// Bytes kept of a frame.
pub(crate) const SNAP: usize = 256;

/// Captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Time at which it left the port, since 1970.
    pub at: WallTime,
    /// Queue that it left.
    pub queue: Arc<str>,
    /// Time in the port.
    pub waited: WallTime,
    /// Reason why it was dropped; `None`: it was sent.
    pub reason: Option<DropReason>,
    /// Length of the whole frame, in bytes.
    pub length: u32,
    /// Its first bytes.
    pub bytes: Vec<u8>,
}

/// Forwarder's end.
pub(crate) struct Tap {
    filter: Filter,
    frames: SyncSender<Captured>,
    missed: Arc<AtomicU64>,
    /// Wall clock at time zero of the forwarder's clock; `None` before the first frame.
    epoch: Option<WallTime>,
}

/// Reader's end. The capture ends when it is dropped.
#[derive(Debug)]
pub struct CaptureReader {
    frames: Receiver<Captured>,
    missed: Arc<AtomicU64>,
}

/// Creates both ends.
pub(crate) fn tap(filter: Filter) -> (Tap, CaptureReader) {
    let (sender, frames) = sync_channel(WAITING);
    let missed = Arc::<AtomicU64>::default();
    (Tap { filter, frames: sender, missed: missed.clone(), epoch: None }, CaptureReader { frames, missed })
}

impl Tap {
    /// Copies a frame that leaves `port` at `now`, if the filter has it. Returns false once the reader is
    /// gone.
    pub(crate) fn take(
        &mut self,
        packet: &Packet,
        reason: Option<DropReason>,
        now: Instant,
        port: &Port,
        frame: &[u8],
    ) -> bool {
        let nanos = |picos: u64| WallTime::from_nanos(picos / 1_000);
        let waited = nanos(now.since(packet.arrived.min(now)).as_picos());
        let Some(place) = port.queues().get(packet.position.node() as usize) else { return true };
        let fate = Fate { queue: &place.name, waited_s: waited.as_secs_f64(), reason };
        if !self.filter.has(&fate) {
            return true;
        }
        let since_zero = nanos(now.as_picos());
        let epoch = *self.epoch.get_or_insert_with(|| {
            let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            wall.saturating_sub(since_zero)
        });
        let captured = Captured {
            at: epoch + since_zero,
            queue: place.name.clone(),
            waited,
            reason,
            length: frame.len() as u32,
            bytes: frame[..frame.len().min(SNAP)].to_vec(),
        };
        match self.frames.try_send(captured) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

impl CaptureReader {
    /// Returns the frames since the last call, `most` at most.
    pub fn read(&self, most: usize) -> Vec<Captured> {
        self.frames.try_iter().take(most).collect()
    }

    /// Returns the frames that the filter had and the reader missed, since the start.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}
