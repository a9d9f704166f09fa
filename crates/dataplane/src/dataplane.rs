//! Frame I/O on a set of interfaces, as the trait that a kernel and a simulated kernel implement.

use lockgate_engine::units::Instant;

use crate::clock::WallOffset;
use crate::error::InterfaceError;
use crate::slab::FrameSlab;

/// Frames received at most by one call of [`Dataplane::receive`].
pub const BATCH: usize = 64;

/// Received frame, in a slot of a slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Index of the interface.
    pub interface: usize,
    /// Arrival time at the interface.
    pub at: Instant,
    /// Slot of the frame.
    pub slot: u64,
    /// True if it is a segment of the super-frame of the arrival before it.
    pub continues: bool,
}

/// Reason why an interface did not take a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Its queue is full: the frame may be sent later.
    Busy,
    /// The frame is too long for it.
    TooLong,
    /// It is down.
    Down,
}

/// Frames that were received and could not be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// They are longer than a slot.
    pub too_long: u64,
    /// No slot was free.
    pub no_slot: u64,
}

/// Result of transmitting some frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Number of the first frames that were taken.
    pub taken: usize,
    /// Reason why the frame after them was not taken; `None` if all were.
    pub stopped: Option<Stopped>,
}

/// Interfaces that receive and transmit frames, with their clock. An interface is named by its index.
pub trait Dataplane {
    /// Returns the current time.
    fn now(&mut self) -> Instant;

    /// Returns a recent offset of the wall clock from this time.
    fn wall(&self) -> WallOffset;

    /// Returns the number of interfaces.
    fn interface_count(&self) -> usize;

    /// Returns the arrival time of the next frame on this interface; `None` if there is no frame. Not after
    /// [`now`](Self::now).
    fn next_arrival(&mut self, interface: usize) -> Option<Instant>;

    /// Passes the next frame, if any, to `take`, and removes it. Of a super-frame, passes the segments.
    fn take_frame(&mut self, interface: usize, take: &mut dyn FnMut(&[u8]));

    /// Transmits frames by an interface, in order, until the kernel refuses one. Some that were taken may
    /// wait in the interface until the next call of this or of [`wait`](Self::wait).
    ///
    /// # Errors
    /// If the interface is gone.
    fn transmit(&mut self, interface: usize, frames: &[&[u8]]) -> Result<Sent, InterfaceError>;

    /// Waits until a frame arrives or shortly before `until`; returns at once if `until` is very near.
    /// Callers repeat it until the time has come.
    ///
    /// # Errors
    /// If an interface is gone.
    fn wait(&mut self, until: Instant) -> Result<(), InterfaceError>;

    /// Returns the number of frames lost so far at the interfaces: they found a receive ring full, or an
    /// interface dropped them after it had taken them, or still has them.
    fn lost(&mut self) -> u64;

    /// Returns the number of frames lost so far as [`lost`](Self::lost) does, without those that the
    /// interfaces still have.
    fn dropped(&mut self) -> u64 {
        self.lost()
    }

    /// Returns the number of frames lost so far because a receive ring of this interface was full; 0 if that
    /// is not known.
    fn overruns(&mut self, _interface: usize) -> u64 {
        0
    }

    /// Reads again what may change of the interfaces while they are open: the MTU. To be called now and then.
    fn refresh(&mut self) {}

    /// Receives up to [`BATCH`] frames into `slab`, and the segments of the last one beyond, in order of
    /// arrival over all interfaces, and replaces the contents of `batch` by them. Stops if the slab is full:
    /// the rest stays in the receive rings. Returns the frames that were dropped, and adds them to
    /// `dropped_at`, by interface.
    fn receive(&mut self, slab: &mut FrameSlab, batch: &mut Vec<Arrival>, dropped_at: &mut [u64]) -> Dropped {
        let mut dropped = Dropped::default();
        batch.clear();
        while batch.len() < BATCH && slab.free() > 0 {
            let arrivals = (0..self.interface_count()).filter_map(|it| Some((self.next_arrival(it)?, it)));
            let Some((at, interface)) = arrivals.min() else { break };
            let mut continues = false;
            self.take_frame(interface, &mut |frame| {
                if let Some(slot) = slab.insert(frame) {
                    batch.push(Arrival { interface, at, slot, continues });
                    continues = true;
                    return;
                }
                let is_too_long = frame.len() > slab.longest();
                dropped.too_long += u64::from(is_too_long);
                dropped.no_slot += u64::from(!is_too_long);
                dropped_at.get_mut(interface).into_iter().for_each(|count| *count += 1);
            });
        }
        dropped
    }
}
