//! Dumps of the kernel's traffic control: queueing disciplines and classes as the kernel wrote them,
//! undecoded, because ten thousand of them are read many times a second.

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcMessage;

use super::Netlink;
use crate::error::Refusal;

/// Types of messages (`linux/netlink.h`).
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// Types of messages (`linux/rtnetlink.h`).
const NEW_DISCIPLINE: u16 = 36;
const NEW_CLASS: u16 = 40;

/// Bytes of `struct nlmsghdr`.
const ENVELOPE: usize = 16;

/// Bytes of `struct tcmsg`.
const HEADER: usize = 20;

/// Bytes for which the kernel is asked at a time: it fills at most 32 KiB.
const BUFFER: usize = 64 << 10;

/// Queueing discipline or class, as the kernel wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficObject<'a> {
    /// Index of the interface.
    pub interface: u32,
    /// Handle.
    pub handle: u32,
    /// Handle of the parent.
    pub parent: u32,
    /// Of a class: handle of the discipline in it.
    pub info: u32,
    /// Attributes.
    pub attributes: &'a [u8],
}

impl<'a> TrafficObject<'a> {
    /// Reads the payload of a message; `None` if it is too short.
    fn read(payload: &'a [u8]) -> Option<Self> {
        let word = |at: usize| payload.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        Some(Self {
            interface: word(4)?,
            handle: word(8)?,
            parent: word(12)?,
            info: word(16)?,
            attributes: payload.get(HEADER..)?,
        })
    }
}

impl Netlink {
    /// Passes the queueing disciplines of all interfaces to `take`.
    ///
    /// # Errors
    /// If the kernel refuses, for example because it has no traffic control.
    pub fn dump_disciplines(&mut self, take: &mut dyn FnMut(TrafficObject<'_>)) -> Result<(), Refusal> {
        self.dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()), take)
            .map_err(|error| Refusal::new("list the queueing disciplines", error))
    }

    /// Passes the classes of an interface to `take`.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn dump_classes(
        &mut self,
        interface: u32,
        take: &mut dyn FnMut(TrafficObject<'_>),
    ) -> Result<(), Refusal> {
        let message = TcMessage::with_index(i32::try_from(interface).unwrap_or(i32::MAX));
        self.dump(RouteNetlinkMessage::GetTrafficClass(message), take)
            .map_err(|error| Refusal::new("list the classes", error))
    }

    fn dump(
        &mut self,
        message: RouteNetlinkMessage,
        take: &mut dyn FnMut(TrafficObject<'_>),
    ) -> io::Result<()> {
        self.request(message, NLM_F_DUMP)?;
        self.answers(take)
    }

    /// Changes a discipline, or a class, that is there.
    ///
    /// # Errors
    /// If the kernel refuses, for example without the capability.
    pub fn change(&mut self, object: &TrafficObject<'_>, is_class: bool) -> Result<(), Refusal> {
        self.sequence += 1;
        let length = ENVELOPE + HEADER + object.attributes.len();
        let kind = if is_class { NEW_CLASS } else { NEW_DISCIPLINE };
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        bytes.extend(self.sequence.to_ne_bytes());
        // The kernel's port, then the family.
        bytes.extend([0; 8]);
        for word in [object.interface, object.handle, object.parent, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(object.attributes);
        let sent = self.socket.send(&bytes, 0).and_then(|_| self.answers(&mut |_| {}));
        sent.map_err(|error| Refusal::new("change a queue", error))
    }

    /// Passes the objects of an answer to `take` until it ends.
    fn answers(&mut self, take: &mut dyn FnMut(TrafficObject<'_>)) -> io::Result<()> {
        loop {
            self.answer.clear();
            // Kept between dumps: memory of this size is the kernel's again whenever it is freed.
            self.answer.reserve(BUFFER);
            self.socket.recv(&mut self.answer, 0)?;
            let mut rest = self.answer.as_slice();
            while let Ok(message) = NetlinkBuffer::new_checked(rest) {
                let length = message.length() as usize;
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
                if message.sequence_number() != self.sequence {
                    continue;
                }
                match message.message_type() {
                    // Both begin with an error number, which is 0 for none, else negative.
                    ERROR | DONE => {
                        let number = message.payload().first_chunk().map_or(0, |it| i32::from_ne_bytes(*it));
                        return if number == 0 {
                            Ok(())
                        } else {
                            Err(io::Error::from_raw_os_error(number.wrapping_neg()))
                        };
                    }
                    _ => {
                        if let Some(object) = TrafficObject::read(message.payload()) {
                            take(object);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_a_discipline() {
        let mut netlink = Netlink::open().expect("a socket");
        let mut found = Vec::new();
        let dumped =
            netlink.dump_disciplines(&mut |object| found.push((object.interface, object.attributes.len())));
        // A kernel without traffic control refuses.
        if dumped.is_ok() {
            assert!(found.iter().any(|(interface, length)| *interface == 1 && *length > 0), "{found:?}");
        }
        // The socket is at the end of the answer, and takes the next request.
        assert_eq!(netlink.index_of("lo").expect("loopback"), 1);
    }
}
