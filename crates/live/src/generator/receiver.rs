//! Receiver: answers clock probes, records arrivals, and reports at the end.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::UdpSocket;

use lockgate_engine::units::{Duration, Instant};

use super::message::Message;
use super::{Offset, Report, drops};
use crate::clock::MonotonicClock;
use crate::traffic::stamp::Stamp;

/// Maximum number of sessions. A new sender takes the slot of one that has ended, then of one that never sent
/// a datagram, then of one that has been silent for [`SILENCE`]; while all are active, a new sender gets no
/// answer.
const MOST_SENDERS: usize = 64;

/// Silence after which a session may lose its slot.
const SILENCE: Duration = Duration::from_secs(10);

/// Maximum number of datagrams of all sessions whose delays are kept (134 MB); further ones are counted only.
const MOST_NOTED: usize = 1 << 23;

/// Requested size of the socket's receive buffer in bytes: a tenth of a second at 300 Mbit/s.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Bytes of Ethernet, IP and UDP headers (IPv4, IPv6), added to a payload to get its frame.
const HEADERS: [u64; 2] = [42, 62];

/// Options of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// Address to bind.
    pub address: SocketAddr,
    /// Longest time to listen.
    pub at_most: Duration,
    /// Ends after the first report if true.
    pub once: bool,
}

/// State of one sender's session.
#[derive(Default)]
struct Session {
    /// Time of its last message or datagram, by this host's clock.
    seen_ns: i64,
    /// Datagrams that this host's socket had dropped when the session began.
    dropped_before: u64,
    /// Per datagram: time of sending by the sender's clock, time of arrival by the receiver's.
    noted: Vec<(i64, i64)>,
    /// Sequence numbers at or above `next` that have arrived.
    ahead: BTreeSet<u32>,
    next: u32,
    highest: Option<u32>,
    first_ns: i64,
    last_ns: i64,
    report: Report,
    is_done: bool,
}

/// Receives, and passes each report to `done`. `listening` is called with the bound address before the first
/// datagram is read; `stop` is called ten times a second.
///
/// # Errors
/// If the address cannot be bound.
pub fn receive(
    receiver: &Receiver,
    stop: &dyn Fn() -> bool,
    listening: &mut dyn FnMut(SocketAddr),
    done: &mut dyn FnMut(SocketAddr, &Report),
) -> io::Result<()> {
    let socket = UdpSocket::bind(receiver.address)?;
    socket.set_read_timeout(Some(std::time::Duration::from_millis(100)))?;
    // The kernel may grant less; drops are counted either way.
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
    listening(socket.local_addr()?);
    let clock = MonotonicClock::start();
    let mut sessions: BTreeMap<(SocketAddr, u32), Session> = BTreeMap::new();
    let mut buffer = vec![0; 1 << 16];
    let mut noted = 0;
    while !stop() && clock.now() < Instant::ZERO + receiver.at_most {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        let now = nanos(clock.now());
        let bytes = &buffer[..length];
        match Message::read(bytes) {
            Some(Message::Probe { session, sent_ns }) => {
                if !admit(&mut sessions, (from, session), now, || drops::of_socket(&socket)) {
                    continue;
                }
                let answered_ns = nanos(clock.now());
                let echo = Message::Echo { session, sent_ns, came_ns: now, answered_ns };
                // If this answer is lost, the sender repeats its probe.
                let _ = socket.send_to(&echo.to_bytes(), from);
            }
            Some(Message::Finish { session, offsets }) => {
                let Some(known) = sessions.get_mut(&(from, session)) else { continue };
                let was_done = core::mem::replace(&mut known.is_done, true);
                known.seen_ns = now;
                if !was_done {
                    noted -= known.conclude(offsets, drops::of_socket(&socket));
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
                let is_kept = noted < MOST_NOTED;
                noted += usize::from(is_kept);
                known.note(stamp, now, length as u64 + HEADERS[usize::from(from.is_ipv6())], is_kept);
            }
        }
    }
    Ok(())
}

/// Gives the session a slot; `false` if none can be had. `dropped` reads how many datagrams the socket has
/// dropped.
fn admit(
    sessions: &mut BTreeMap<(SocketAddr, u32), Session>,
    key: (SocketAddr, u32),
    now: i64,
    dropped: impl FnOnce() -> u64,
) -> bool {
    if let Some(known) = sessions.get_mut(&key) {
        known.seen_ns = now;
        return true;
    }
    if sessions.len() >= MOST_SENDERS {
        let silence = (SILENCE.as_picos() / 1_000).cast_signed();
        // Eviction order: ended sessions, then those without a datagram; among equals the longest silent.
        let rank = |session: &Session| (!session.is_done, session.report.received > 0, session.seen_ns);
        let Some((victim, session)) = sessions.iter().min_by_key(|(_, session)| rank(session)) else {
            return false;
        };
        let is_active = !session.is_done && session.report.received > 0;
        if is_active && now.saturating_sub(session.seen_ns) < silence {
            return false;
        }
        let victim = *victim;
        sessions.remove(&victim);
    }
    sessions.insert(key, Session { seen_ns: now, dropped_before: dropped(), ..Session::default() });
    true
}

/// Repeats the report on request, for a limited time, in case it was lost.
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
    /// Counts a datagram, and keeps its delay if `is_kept`.
    fn note(&mut self, stamp: Stamp, now: i64, bytes: u64, is_kept: bool) {
        self.seen_ns = now;
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
        // Old gaps are losses: their sequence numbers are no longer expected.
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
        if is_kept {
            self.noted.push((nanos(stamp.sent), now));
        }
    }

    /// Computes the report and frees the delays. Returns how many delays were kept.
    fn conclude(&mut self, offsets: [Offset; 2], dropped: u64) -> usize {
        let noted = std::mem::take(&mut self.noted);
        let correct = |(sent, came): &(i64, i64)| {
            came.saturating_sub(*sent).saturating_sub(Offset::between(offsets, *sent))
        };
        let mut delays: Vec<i64> = noted.iter().map(correct).collect();
        delays.sort_unstable();
        let at = |share: f64| {
            let index = (share * delays.len() as f64).ceil() as usize;
            delays.get(index.saturating_sub(1)).copied().unwrap_or(0)
        };
        self.report.owd_ns = [at(0.0), at(0.5), at(0.99), at(1.0)];
        self.report.error_ns = offsets[0].error_ns.max(offsets[1].error_ns);
        self.report.span_ns = self.last_ns.saturating_sub(self.first_ns).cast_unsigned();
        self.report.host_drops = dropped.saturating_sub(self.dropped_before);
        noted.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_counted_once_and_its_delay_corrected() {
        let mut session = Session::default();
        let stamp = |sequence, ns: u64| Stamp { flow: 1, sequence, sent: Instant::from_picos(ns * 1_000) };
        // The receiver's clock is 1000 ns ahead. Each datagram takes 100 ns, except the third, which takes
        // 400 ns.
        for (sequence, sent, took) in [(0, 0, 100), (2, 20, 100), (1, 10, 400), (2, 20, 500), (3, 30, 100)] {
            session.note(stamp(sequence, sent), sent.cast_signed() + took + 1_000, 60, true);
        }
        let offset = |at_ns| Offset { at_ns, offset_ns: 1_000, error_ns: 9 };
        session.dropped_before = 5;
        assert_eq!(session.conclude([offset(0), offset(30)], 7), 4);
        assert!(session.noted.is_empty(), "the delays of a session that has ended are freed");
        let expected = Report {
            received: 4,
            bytes: 240,
            duplicates: 1,
            reordered: 1,
            span_ns: 30,
            owd_ns: [100, 100, 400, 400],
            error_ns: 9,
            host_drops: 2,
        };
        assert_eq!(session.report, expected);
    }

    /// A receiver serves any number of senders in its lifetime; sessions of probes without datagrams do not
    /// keep a slot.
    #[test]
    fn a_slot_passes_on_when_a_session_has_ended_or_never_sent() {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let mut sessions = BTreeMap::new();
        let mut admitted = |port: u16, now: i64| admit(&mut sessions, (address(port), 1), now, || 0);
        for port in 0..64 {
            assert!(admitted(port, i64::from(port)));
        }
        assert!(admitted(100, 100), "the first probe without a datagram is replaced");
        for session in sessions.values_mut() {
            session.report.received = 1;
        }
        assert!(!admit(&mut sessions, (address(200), 1), 1_000, || 0), "64 senders are active");
        sessions.get_mut(&(address(7), 1)).expect("known").is_done = true;
        assert!(admit(&mut sessions, (address(200), 1), 1_000, || 0), "one has ended");
        assert!(!sessions.contains_key(&(address(7), 1)));
        let later = 10_000_000_000 + 1_000_000;
        assert!(admit(&mut sessions, (address(201), 1), later, || 0), "one has been silent for ten seconds");
        assert_eq!(sessions.len(), MOST_SENDERS);
    }
}
