//! Packet socket of an interface: frames in by a ring shared with the kernel, out by `sendmmsg`.
//!
//! The ring is of version 2, in which each frame is visible at once; version 3 hands over blocks of frames,
//! which adds up to a millisecond of delay. The kernel stamps each frame on arrival, so that the time at
//! which a program reads it does not matter. The kernel moves the outermost VLAN tag of a frame to the ring's
//! header; the socket restores it.
//!
//! Super-frames are longer than a slot of the ring, which has only their start. The kernel queues them at
//! the socket as well, in the same order, and the socket divides them.
#![allow(unsafe_code, reason = "memory shared with the kernel, and its calls")]

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};

use super::packet_sender::{PacketSender, bind, set_option};
use crate::error::Refusal;
use crate::location::Location;
use crate::super_frame::{self, Header};

/// Total size of the receive rings of all sockets, in bytes.
const RINGS: usize = 64 << 20;

/// Minimum and maximum number of frames in a ring.
const FRAMES: [usize; 2] = [256, 1 << 14];

/// Bytes that the kernel needs in front of a frame: its header, the address, the description of a
/// super-frame, and alignment.
const HEADROOM: usize = 128;

/// Memory for the super-frames that wait at all sockets, in bytes, as the kernel counts it.
const QUEUES: usize = 64 << 20;

/// Lengths in bytes of the Ethernet addresses and of a VLAN tag.
const ADDRESSES: usize = 12;
const TAG: usize = 4;

/// Ethernet type of a VLAN tag (IEEE 802.1Q).
const VLAN: u16 = 0x8100;

/// `ETH_P_ALL` in network byte order.
pub(super) const EVERYTHING: u16 = (libc::ETH_P_ALL as u16).to_be();

/// Returns the number of frames of `frame_size` bytes in each of `rings` rings: a power of two.
pub(super) fn ring_length(frame_size: usize, rings: usize) -> usize {
    (RINGS / rings.max(1) / frame_size).clamp(FRAMES[0], FRAMES[1]).next_power_of_two()
}

/// A packet socket bound to an interface.
pub(crate) struct PacketSocket {
    pub(super) sender: PacketSender,
    ring: *mut u8,
    length: usize,
    frame_size: usize,
    frames: usize,
    next: usize,
    /// Frames, since the socket was opened, for which the ring had no room.
    overruns: u64,
    /// `None`: frames are single ones, with their checksums.
    super_frames: Option<SuperFrames>,
}

/// Reception of super-frames, and of frames without checksums.
struct SuperFrames {
    /// Description of the frame, room for a VLAN tag, and the frame.
    buffer: Box<[u8]>,
    segment: Vec<u8>,
    /// Frames for which the socket's memory did not suffice, or that their description does not fit.
    lost: u64,
}

// SAFETY: the ring belongs to this socket alone, and is only touched through `&mut self`.
unsafe impl Send for PacketSocket {}

impl PacketSocket {
    /// Opens a socket for frames of up to `longest` bytes on an interface. `sockets` is the total number of
    /// them, which share the memory budget.
    /// If there may be `super_frames`, sends nothing.
    pub(super) fn open(
        location: Location<'_>,
        longest: usize,
        sockets: usize,
        super_frames: bool,
    ) -> Result<Self, Refusal> {
        let refused = |what: &str, error: io::Error| Refusal::new(what, error);
        let sender = PacketSender::unbound(location)?;
        let socket = &sender.socket;
        let frame_size = (longest + HEADROOM).next_power_of_two();
        let frames = ring_length(frame_size, sockets);
        let set = |option, value: u32| set_option(socket, option, &value);
        set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as u32)
            .map_err(|error| refused("use ring version 2 of packet sockets", error))?;
        set(libc::PACKET_IGNORE_OUTGOING, 1).map_err(|error| refused("hear only what comes in", error))?;
        if super_frames {
            set(libc::PACKET_VNET_HDR, 1)
                .and_then(|()| set(libc::PACKET_COPY_THRESH, 1))
                .map_err(|error| refused("receive super-frames by a packet socket", error))?;
            let bytes = QUEUES / sockets.max(1);
            // Without CAP_NET_ADMIN, as much as the host permits.
            set_socket_recv_buffer_size_force(socket, bytes)
                .or_else(|_| set_socket_recv_buffer_size(socket, bytes))
                .map_err(|error| refused("reserve memory for super-frames", error.into()))?;
        }
        let block = (frame_size * 16).max(1 << 16);
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: (frames * frame_size).div_ceil(block) as u32,
            tp_frame_size: frame_size as u32,
            tp_frame_nr: ((frames * frame_size).div_ceil(block) * (block / frame_size)) as u32,
        };
        set_option(socket, libc::PACKET_RX_RING, &request)
            .map_err(|error| refused("have a ring for a packet socket", error))?;
        let (frames, length) =
            (request.tp_frame_nr as usize, request.tp_block_nr as usize * request.tp_block_size as usize);
        // SAFETY: the kernel chooses the address; nothing else is mapped there.
        let ring = unsafe {
            mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, socket, 0)
        }
        .map_err(|error| refused("share a ring with the kernel", error.into()))?
        .cast();
        let super_frames = super_frames.then(|| SuperFrames {
            buffer: vec![0; super_frame::HEADER + super_frame::LONGEST_BYTES].into(),
            segment: Vec::new(),
            lost: 0,
        });
        let opened = Self { sender, ring, length, frame_size, frames, next: 0, overruns: 0, super_frames };
        bind(&opened.sender.socket, location.index()?, EVERYTHING)
            .map_err(|error| refused("bind a packet socket", error))?;
        Ok(opened)
    }

    fn header(&self) -> *mut libc::tpacket2_hdr {
        // SAFETY: `next < frames`, so the slot lies within the ring, which is mapped while `self` lives.
        unsafe { self.ring.add(self.next * self.frame_size) }.cast()
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the status is an aligned word of the ring, which the kernel changes as it does: atomically.
        // It is mapped while `self` lives.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header()).tp_status) }
    }

    /// Returns the wall clock time of the next frame's arrival (seconds, nanoseconds); `None` if there is no
    /// frame.
    pub(super) fn next(&mut self) -> Option<(i64, u32)> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let header = self.header();
        // SAFETY: the status says that this frame is the reader's, so the kernel does not touch its header.
        unsafe { Some((i64::from((*header).tp_sec), (*header).tp_nsec)) }
    }

    /// Passes the next frame, if any, to `take`, or the segments of a super-frame, and frees its slot of the
    /// ring.
    pub(super) fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return;
        }
        let header = self.header();
        // SAFETY: the frame is the reader's, as above.
        let (start, length) = unsafe { (usize::from((*header).tp_mac), (*header).tp_snaplen as usize) };
        let length = length.min(self.frame_size.saturating_sub(start));
        // SAFETY: as above.
        let (whole, tag) = unsafe { ((*header).tp_len as usize, tag(&*header)) };
        let room = if tag.is_some() { TAG } else { 0 };
        let mut bytes = [0; super_frame::HEADER];
        if self.super_frames.is_some() {
            // SAFETY: the kernel has written the description right in front of the frame, in this slot of
            // the ring.
            unsafe {
                let from = header.cast::<u8>().add(start - super_frame::HEADER);
                ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
            }
        }
        let description = Header::read(bytes).shifted(room as u16);
        // SAFETY: `start + length <= frame_size`, so the bytes lie in this frame of the ring, and so do the
        // `TAG` bytes in front of them: the kernel leaves at least 14 bytes between the address and the
        // frame. It changes none of them until the status is given back, which is after the last use of the
        // slice.
        let frame =
            unsafe { core::slice::from_raw_parts_mut(header.cast::<u8>().add(start - room), length + room) };
        if let Some(tag) = tag.filter(|_| length >= ADDRESSES) {
            frame.copy_within(TAG..TAG + ADDRESSES, 0);
            frame[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag);
        }
        match &mut self.super_frames {
            Some(more) if status & libc::TP_STATUS_COPY != 0 => {
                more.take_long(&self.sender.socket, tag, description, take);
            }
            // The kernel had no memory for the rest of it.
            Some(more) if length < whole => more.lost += description.segments(frame, whole),
            Some(more) if !description.is_plain() => more.take(frame, description, take),
            _ => take(frame),
        }
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.frames;
    }

    /// Returns the number of frames, since the socket was opened, for which the ring had no room. The kernel
    /// counts a super-frame as one.
    pub(super) fn overruns(&mut self) -> u64 {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of the structure that it is given.
        let done = unsafe {
            libc::getsockopt(
                self.sender.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        // The kernel's counter restarts at each call.
        self.overruns += if done < 0 { 0 } else { u64::from(statistics.tp_drops) };
        self.overruns + self.super_frames.as_ref().map_or(0, |more| more.lost)
    }
}

impl SuperFrames {
    /// Takes the next long frame from the socket's queue, whose outermost tag and description are those of
    /// its slot in the ring.
    fn take_long(
        &mut self,
        socket: &OwnedFd,
        tag: Option<[u8; TAG]>,
        description: Header,
        take: &mut dyn FnMut(&[u8]),
    ) {
        let mut buffer = core::mem::take(&mut self.buffer);
        // SAFETY: the kernel writes at most the length of the buffer.
        let length = unsafe {
            let (to, room) = (buffer.as_mut_ptr().cast(), buffer.len());
            libc::recv(socket.as_raw_fd(), to, room, libc::MSG_DONTWAIT | libc::MSG_TRUNC)
        };
        match usize::try_from(length) {
            Ok(length) if length > super_frame::HEADER + ADDRESSES && length <= buffer.len() => {
                // A tag takes the place of the end of the description.
                let mut start = super_frame::HEADER;
                if let Some(tag) = tag {
                    start -= TAG;
                    buffer.copy_within(start + TAG..start + TAG + ADDRESSES, start);
                    buffer[start + ADDRESSES..start + ADDRESSES + TAG].copy_from_slice(&tag);
                }
                self.take(&mut buffer[start..length], description, take);
            }
            _ => self.lost += 1,
        }
        self.buffer = buffer;
    }

    fn take(&mut self, frame: &mut [u8], description: Header, take: &mut dyn FnMut(&[u8])) {
        if !description.split(frame, &mut self.segment, take) {
            self.lost += description.segments(frame, frame.len());
        }
    }
}

impl Drop for PacketSocket {
    fn drop(&mut self) {
        // SAFETY: the ring was mapped with this length, and nothing refers to it any more.
        let _ = unsafe { munmap(self.ring.cast(), self.length) };
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sender.socket.as_fd()
    }
}

/// Returns the outermost VLAN tag, which the kernel has removed from the frame; `None` if it had none.
fn tag(header: &libc::tpacket2_hdr) -> Option<[u8; TAG]> {
    if header.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let has_type = header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let [a, b] = if has_type { header.tp_vlan_tpid } else { VLAN }.to_be_bytes();
    let [c, d] = header.tp_vlan_tci.to_be_bytes();
    Some([a, b, c, d])
}
