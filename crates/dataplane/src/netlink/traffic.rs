//! Dumps of the kernel's traffic control: queueing disciplines and classes as the kernel wrote them,
//! undecoded, because ten thousand of them are read many times a second.

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcMessage;

use super::{Netlink, messages};
use crate::error::Refusal;

/// Types of messages (`linux/rtnetlink.h`).
const NEW_DISCIPLINE: u16 = 36;
const NEW_CLASS: u16 = 40;

/// Bytes of `struct tcmsg`.
const HEADER: usize = 20;

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
        let kind = if is_class { NEW_CLASS } else { NEW_DISCIPLINE };
        // The first is the family.
        let words = [0, object.interface, object.handle, object.parent, 0].map(u32::to_ne_bytes);
        let body = [words.as_flattened(), object.attributes].concat();
        let bytes = messages::request(kind, NLM_F_ACK, self.sequence, &body);
        let sent = self.socket.send(&bytes, 0).and_then(|_| self.answers(&mut |_| {}));
        sent.map_err(|error| Refusal::new("change a queue", error))
    }

    /// Passes the objects of an answer to `take` until it ends.
    fn answers(&mut self, take: &mut dyn FnMut(TrafficObject<'_>)) -> io::Result<()> {
        let mut object =
            |_: u16, payload: &[u8]| TrafficObject::read(payload).into_iter().for_each(&mut *take);
        loop {
            messages::receive(&self.socket, 0, &mut self.answer)?;
            if messages::read(&self.answer, self.sequence, &mut object)? {
                return Ok(());
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
