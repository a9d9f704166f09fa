//! The receiver: answers what time it is, notes what comes, reports at the end.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::UdpSocket;

use lockgate_engine::clock::Clock;
use lockgate_engine::units::{Duration, Instant};

use super::message::Message;
use super::{Offset, Report};
use crate::clock::Monotonic;
use crate::traffic::stamp::Stamp;

/// Most senders at once; others are not answered.
const MOST_SENDERS: usize = 64;

/// Most datagrams of a sender whose delays are kept; later ones are counted only.
const MOST_NOTED: usize = 1 << 23;

/// Bytes of Ethernet, IP and UDP headers, by which payload becomes a frame.
const HEADERS: [u64; 2] = [42, 62];

/// How to receive.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// Where to listen.
    pub address: SocketAddr,
    /// How long at the most.
    pub at_most: Duration,
    /// Whether to end after the first report.
    pub once: bool,
}

/// A sender, as seen from here.
#[derive(Default)]
struct Session {
    /// Time of sending and of coming of each datagram, by either's clock.
    noted: Vec<(i64, i64)>,
    /// Numbers that came, as far as they are not all below `next`.
    ahead: BTreeSet<u32>,
    next: u32,
    highest: Option<u32>,
    first_ns: i64,
    last_ns: i64,
    report: Report,
    is_done: bool,
}

/// Receives, and tells `done` each report. `stop` is asked ten times a second.
///
/// # Errors
/// Where the address is not to be had.
pub fn receive(
    receiver: &Receiver,
    stop: &dyn Fn() -> bool,
    done: &mut dyn FnMut(SocketAddr, &Report),
) -> io::Result<()> {
    let socket = UdpSocket::bind(receiver.address)?;
    socket.set_read_timeout(Some(std::time::Duration::from_millis(100)))?;
    let clock = Monotonic::start();
    let mut sessions: BTreeMap<(SocketAddr, u32), Session> = BTreeMap::new();
    let mut buffer = vec![0; 1 << 16];
    while !stop() && clock.now() < Instant::ZERO + receiver.at_most {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        let now = nanos(clock.now());
        let bytes = &buffer[..length];
        match Message::read(bytes) {
            Some(Message::Probe { session, sent_ns }) => {
                if sessions.len() < MOST_SENDERS {
                    sessions.entry((from, session)).or_default();
                }
                let answered_ns = nanos(clock.now());
                let echo = Message::Echo { session, sent_ns, came_ns: now, answered_ns };
                // An answer that is lost is asked for again.
                let _ = socket.send_to(&echo.to_bytes(), from);
            }
            Some(Message::Finish { session, offsets }) => {
                let Some(known) = sessions.get_mut(&(from, session)) else { continue };
                let was_done = core::mem::replace(&mut known.is_done, true);
                if !was_done {
                    known.conclude(offsets);
                    done(from, &known.report);
                }
                let report = Message::Report { session, report: known.report };
                let _ = socket.send_to(&report.to_bytes(), from);
                if receiver.once {
                    return linger(&socket, &mut buffer, from, &report);
                }
            }
            Some(_) => {}
            None => {
                let Some(stamp) = Stamp::read(bytes) else { continue };
                let Some(known) = sessions.get_mut(&(from, stamp.flow)) else { continue };
                known.note(stamp, now, length as u64 + HEADERS[usize::from(from.is_ipv6())]);
            }
        }
    }
    Ok(())
}

/// Answers once more for a while, should the report have been lost.
fn linger(socket: &UdpSocket, buffer: &mut [u8], to: SocketAddr, report: &Message) -> io::Result<()> {
    for _ in 0..5 {
        if let Ok((length, from)) = socket.recv_from(buffer)
            && from == to
            && matches!(Message::read(&buffer[..length]), Some(Message::Finish { .. }))
        {
            socket.send_to(&report.to_bytes(), to)?;
        }
    }
    Ok(())
}

fn nanos(at: Instant) -> i64 {
    (at.as_picos() / 1_000).cast_signed()
}

impl Session {
    fn note(&mut self, stamp: Stamp, now: i64, bytes: u64) {
        if self.is_done {
            return;
        }
        if stamp.sequence < self.next || !self.ahead.insert(stamp.sequence) {
            self.report.duplicates += 1;
            return;
        }
        while self.ahead.remove(&self.next) {
            self.next += 1;
        }
        // Gaps that are as old as this are losses: their numbers need not be waited for.
        if self.ahead.len() > 1 << 16
            && let Some(oldest) = self.ahead.pop_first()
        {
            self.next = oldest + 1;
        }
        if self.highest.is_some_and(|highest| stamp.sequence < highest) {
            self.report.reordered += 1;
        }
        self.highest = Some(self.highest.map_or(stamp.sequence, |highest| highest.max(stamp.sequence)));
        if self.report.received == 0 {
            self.first_ns = now;
        }
        self.last_ns = now;
        self.report.received += 1;
        self.report.bytes += bytes;
        if self.noted.len() < MOST_NOTED {
            self.noted.push((nanos(stamp.sent), now));
        }
    }

    fn conclude(&mut self, offsets: [Offset; 2]) {
        let correct = |(sent, came): &(i64, i64)| {
            came.saturating_sub(*sent).saturating_sub(Offset::between(offsets, *sent))
        };
        let mut delays: Vec<i64> = self.noted.iter().map(correct).collect();
        delays.sort_unstable();
        let at = |share: f64| {
            let place = (share * delays.len() as f64).ceil() as usize;
            delays.get(place.saturating_sub(1)).copied().unwrap_or(0)
        };
        self.report.owd_ns = [at(0.0), at(0.5), at(0.99), at(1.0)];
        self.report.error_ns = offsets[0].error_ns.max(offsets[1].error_ns);
        self.report.span_ns = self.last_ns.saturating_sub(self.first_ns).cast_unsigned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_counted_once_and_its_delay_corrected() {
        let mut session = Session::default();
        let stamp = |sequence, ns: u64| Stamp { flow: 1, sequence, sent: Instant::from_picos(ns * 1_000) };
        // The receiver's clock is 1000 ns ahead; each datagram takes 100 ns, but the third 400.
        for (sequence, sent, took) in [(0, 0, 100), (2, 20, 100), (1, 10, 400), (2, 20, 500), (3, 30, 100)] {
            session.note(stamp(sequence, sent), sent.cast_signed() + took + 1_000, 60);
        }
        let offset = |at_ns| Offset { at_ns, offset_ns: 1_000, error_ns: 9 };
        session.conclude([offset(0), offset(30)]);
        let expected = Report {
            received: 4,
            bytes: 240,
            duplicates: 1,
            reordered: 1,
            span_ns: 30,
            owd_ns: [100, 100, 400, 400],
            error_ns: 9,
        };
        assert_eq!(session.report, expected);
    }
}
