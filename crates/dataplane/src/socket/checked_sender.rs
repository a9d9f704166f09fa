//! Sender by `AF_XDP` that checks the lengths of frames.

use super::af_xdp::Sender;
use super::packet_sender::PacketSender;
use crate::dataplane::{Sent, Stopped};
use crate::error::{InterfaceError, Refusal};
use crate::location::Location;

/// Bytes of an Ethernet header.
const HEADER: usize = 14;

/// Sender of frames by an interface of this thread's namespace. `AF_XDP`, which does not check lengths, sends
/// frames of up to the MTU and an Ethernet header; a packet socket, which does, sends longer ones.
pub(crate) struct CheckedSender {
    short: Sender,
    long: PacketSender,
    /// Longest frame that `AF_XDP` sends, in bytes, by the MTU as it was last read.
    most: usize,
}

impl CheckedSender {
    /// Returns a sender by the interface called `name`, to which `short` belongs.
    pub(super) fn new(name: &str, short: Sender) -> Result<Self, Refusal> {
        let long = PacketSender::open(Location::here(name))?;
        let mtu = long.mtu().map_err(|why| Refusal::new(format!("read the MTU of `{name}`"), why))?;
        Ok(Self { short, long, most: mtu + HEADER })
    }

    /// Reads the MTU again, which may change at any time.
    pub(super) fn refresh(&mut self) {
        // If the interface is gone, the next frame tells.
        if let Ok(mtu) = self.long.mtu() {
            self.most = mtu + HEADER;
        }
    }

    /// Sends frames in order, until one is refused.
    pub(super) fn send(&mut self, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        let mut taken = 0;
        while taken < frames.len() {
            let rest = &frames[taken..];
            let is_short = |frame: &&[u8]| frame.len() <= self.most;
            let short = rest.iter().position(|frame| !is_short(frame)).unwrap_or(rest.len());
            let sent = if short > 0 {
                self.short.send(&rest[..short])?
            } else if self.short.flush()? {
                Sent { taken: 0, stopped: Some(Stopped::Busy) }
            } else {
                let long = rest.iter().position(is_short).unwrap_or(rest.len());
                self.long.send(&rest[..long])?
            };
            taken += sent.taken;
            if sent.stopped.is_some() {
                return Ok(Sent { taken, ..sent });
            }
        }
        Ok(Sent { taken, stopped: None })
    }

    /// Sends frames that remain in the ring. Returns true if some still do.
    pub(super) fn flush(&mut self) -> Result<bool, InterfaceError> {
        self.short.flush()
    }

    /// Returns the number of taken frames that the interface dropped, or that are still to be sent.
    pub(super) fn lost(&mut self) -> u64 {
        self.short.lost()
    }

    /// Returns the number of taken frames that the interface dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.short.dropped()
    }

    /// Returns the error of an interface that is gone.
    pub(super) fn gone(&self) -> InterfaceError {
        self.short.gone()
    }
}
