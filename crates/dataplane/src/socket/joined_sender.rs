//! Sender that joins successive segments of a connection to super-frames.
#![allow(unsafe_code, reason = "calls of the kernel")]

use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::FrameSocket;
use super::packet_sender::{PacketSender, set_option};
use crate::dataplane::{Sent, Stopped};
use crate::error::{InterfaceError, Refusal};
use crate::location::Location;
use crate::super_frame::Joined;

/// Time for which single frames are sent after the kernel has refused a super-frame: the interface does not
/// divide them, or cannot just now.
const PAUSE: Duration = Duration::from_secs(1);

/// Bytes of an Ethernet header and of a VLAN tag.
const HEADERS: usize = 14;
const TAG: usize = 4;

/// Packet socket for super-frames, beside a socket for single frames.
pub(crate) struct JoinedSender {
    sender: PacketSender,
    vectors: Vec<libc::iovec>,
    /// End of the pause; `None`: super-frames are sent.
    paused_until: Option<Instant>,
}

// SAFETY: the pointers in the vectors are used only during a call.
unsafe impl Send for JoinedSender {}

impl JoinedSender {
    /// Opens a socket for the super-frames of an interface.
    pub(super) fn open(location: Location<'_>) -> Result<Self, Refusal> {
        let sender = PacketSender::unbound(location)?;
        set_option(&sender.socket, libc::PACKET_VNET_HDR, &1_u32)
            .map_err(|error| Refusal::new("send super-frames by a packet socket", error))?;
        let sender = sender.bound(location)?;
        Ok(Self { sender, vectors: Vec::new(), paused_until: None })
    }

    /// Sends frames in order, until one is refused: those that can be joined by this socket, the others by
    /// `single`.
    pub(super) fn send(
        &mut self,
        single: &mut FrameSocket,
        frames: &[&[u8]],
    ) -> Result<Sent, InterfaceError> {
        if let Some(until) = self.paused_until {
            if Instant::now() < until {
                return single.send(frames);
            }
            self.paused_until = None;
        }
        let mut taken = 0;
        // Read once for a batch, not by a call of the kernel for each super-frame.
        let mut longest = None;
        while taken < frames.len() {
            let rest = &frames[taken..];
            let next = (0..rest.len()).find_map(|first| Some((first, Joined::of(&rest[first..])?)));
            let singles = next.as_ref().map_or(rest.len(), |(first, _)| *first);
            if singles > 0 {
                let sent = single.send(&rest[..singles])?;
                taken += sent.taken;
                if sent.stopped.is_some() {
                    return Ok(Sent { taken, ..sent });
                }
            }
            let Some((_, joined)) = next else { break };
            if single.flush()? {
                return Ok(Sent { taken, stopped: Some(Stopped::Busy) });
            }
            let segments = &frames[taken..taken + joined.count()];
            let longest = *longest.get_or_insert_with(|| self.sender.mtu().unwrap_or(0));
            if self.send_joined(&joined, segments, longest) {
                taken += segments.len();
                continue;
            }
            self.paused_until = Some(Instant::now() + PAUSE);
            // Each is refused for its own reason, if it is.
            let sent = single.send(&frames[taken..])?;
            return Ok(Sent { taken: taken + sent.taken, ..sent });
        }
        Ok(Sent { taken, stopped: None })
    }

    /// Sends a super-frame of `segments`. Returns false if the kernel refuses it, or would send longer
    /// packets than those of `mtu`, which it does not check.
    fn send_joined(&mut self, joined: &Joined, segments: &[&[u8]], mtu: usize) -> bool {
        let has_tag = joined.start().get(HEADERS + 8..HEADERS + 10) == Some(&[0x81, 0]);
        let room = HEADERS + if has_tag { TAG } else { 0 };
        if joined.segment() > mtu + room {
            return false;
        }
        let vector =
            |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        self.vectors.clear();
        self.vectors.push(vector(joined.start()));
        self.vectors.extend(segments.iter().map(|segment| vector(&segment[joined.headers()..])));
        // SAFETY: a message header is plain data of integers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
        message.msg_iov = self.vectors.as_mut_ptr();
        message.msg_iovlen = self.vectors.len() as _;
        let socket = self.sender.socket.as_raw_fd();
        // SAFETY: the vectors refer to the start of `joined` and to frames, all of which outlive the call,
        // which only reads them.
        let sent = unsafe { libc::sendmsg(socket, &raw const message, libc::MSG_DONTWAIT) };
        sent >= 0
    }
}
