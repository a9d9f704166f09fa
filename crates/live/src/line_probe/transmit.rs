//! Sender of a round: each packet at its time, stamped with the time at which it really leaves.

use std::net::{SocketAddr, UdpSocket};

use lockgate_dataplane::real_time::RealTimeThread;
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

use super::{Error, FLOWS, Lateness, Packet};
use crate::clock::MonotonicClock;
use crate::cpu_latency::LatencyRequest;
use crate::traffic::priority::FLOW_END;
use crate::traffic::send::{headers, set_class};
use crate::traffic::stamp::Stamp;

/// Time from the call to the first packet, for a round that was planned for earlier.
const LEAD: Duration = Duration::from_millis(2);

/// Longest sleep, and longest time between two looks at the receiver's reports.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Lateness above which a packet counts as late.
const LATE: Duration = Duration::from_millis(10);

/// Duration of the kernel's call above which a stamp is doubtful.
const SLOW: Duration = Duration::from_millis(1);

/// Packets that may leave closer together than the highest rate permits, after a late one.
const CREDIT: u64 = 3;

/// Way on which packets leave.
pub(super) enum Outlets<'a> {
    /// A connected socket for each flow.
    Connected(&'a [UdpSocket]),
    /// One socket, and the address of each flow.
    Shared(&'a UdpSocket, &'a [SocketAddr; FLOWS]),
}

/// Packets as they left.
pub(super) struct Departures {
    /// Nanoseconds by this host's clock; `None` if the kernel refused the packet.
    pub(super) at: Vec<Option<i64>>,
    pub(super) lateness: Lateness,
}

impl Outlets<'_> {
    fn socket(&self, flow: usize) -> &UdpSocket {
        match self {
            Self::Connected(sockets) => &sockets[flow % sockets.len()],
            Self::Shared(socket, _) => socket,
        }
    }

    fn send(&self, flow: usize, payload: &[u8]) -> bool {
        match self {
            Self::Connected(sockets) => sockets[flow % sockets.len()].send(payload).is_ok(),
            Self::Shared(socket, to) => socket.send_to(payload, to[flow % FLOWS]).is_ok(),
        }
    }

    fn is_ipv4(&self) -> bool {
        self.socket(0).local_addr().is_ok_and(|address| address.is_ipv4())
    }
}

/// Pace that never exceeds a rate, but for a credit of few packets: the generic cell rate algorithm.
struct Pace {
    most: Rate,
    next: Instant,
}

impl Pace {
    /// Returns the earliest time at which a packet of `length` bytes may leave.
    fn earliest(&self, length: u32) -> Instant {
        let credit = self.most.time_for(Bytes(u64::from(length) * CREDIT));
        Instant::from_picos(self.next.as_picos().saturating_sub(credit.as_picos()))
    }

    fn sent(&mut self, length: u32, now: Instant) {
        self.next = self.next.max(now) + self.most.time_for(Bytes(u64::from(length)));
    }
}

/// Sends `packets` in the order of their times, later than planned if these have passed or the rate `most`
/// demands it. `alive` is called at least every 20 ms; its error ends the round.
pub(super) fn transmit(
    outlets: &Outlets<'_>,
    (session, round): (u32, u16),
    packets: &[Packet],
    clock: &MonotonicClock,
    most: Rate,
    alive: &mut (dyn FnMut(Instant) -> Result<(), Error> + Send),
) -> Result<Departures, Error> {
    // Real-time priority stays with a thread: the caller's goes on to compute.
    let sent = std::thread::scope(|scope| {
        let sending = || Sending::new(outlets, clock, most).send_all((session, round), packets, alive);
        scope.spawn(sending).join()
    });
    sent.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

struct Sending<'a> {
    outlets: &'a Outlets<'a>,
    clock: &'a MonotonicClock,
    thread: RealTimeThread,
    pace: Pace,
    /// Traffic class that each socket has; a shared one has that of its first flow.
    classes: [Option<u8>; FLOWS],
    payload: Vec<u8>,
    headers: u32,
}

impl<'a> Sending<'a> {
    fn new(outlets: &'a Outlets<'a>, clock: &'a MonotonicClock, most: Rate) -> Self {
        Self {
            outlets,
            clock,
            thread: RealTimeThread::new(FLOW_END),
            pace: Pace { most, next: Instant::ZERO },
            classes: [None; FLOWS],
            payload: vec![0; usize::from(u16::MAX)],
            headers: headers(outlets.is_ipv4()),
        }
    }

    fn send_all(
        mut self,
        (session, round): (u32, u16),
        packets: &[Packet],
        alive: &mut (dyn FnMut(Instant) -> Result<(), Error> + Send),
    ) -> Result<Departures, Error> {
        // Without permission for it, packets leave later; their stamps say by how much.
        let _awake = LatencyRequest::begin();
        let first = packets.first().map_or(0, |packet| packet.at);
        let begin = (self.clock.now() + LEAD).max(Instant::from_picos(first));
        let mut departures = Departures { at: Vec::new(), lateness: Lateness::default() };
        let mut looked = begin;
        for (index, packet) in packets.iter().enumerate() {
            let due = begin + Duration::from_picos(packet.at.saturating_sub(first));
            let due = due.max(self.pace.earliest(packet.length));
            loop {
                let now = self.clock.now();
                if now > looked + LONGEST_SLEEP {
                    alive(now)?;
                    looked = now;
                }
                if now >= due {
                    self.thread.on_wake(now);
                    break;
                }
                self.thread.on_sleep(now);
                self.clock.sleep_until(due.min(now + LONGEST_SLEEP));
                self.thread.on_wake(self.clock.now());
            }
            let sequence = u32::from(round) << 16 | index as u32;
            let at = self.send_one(
                packet,
                session | u32::from(packet.flow),
                sequence,
                due,
                &mut departures.lateness,
            );
            departures.at.push(at);
        }
        Ok(departures)
    }

    /// Sends a packet that was due at `due`. Returns the time at which it left, in nanoseconds.
    fn send_one(
        &mut self,
        packet: &Packet,
        flow: u32,
        sequence: u32,
        due: Instant,
        lateness: &mut Lateness,
    ) -> Option<i64> {
        let number = usize::from(packet.flow) % FLOWS;
        let socket = self.outlets.socket(number);
        let slot = if matches!(self.outlets, Outlets::Shared(..)) { 0 } else { number };
        if self.classes[slot] != Some(packet.traffic_class)
            && let Ok(address) = socket.local_addr()
        {
            // If refused, the packet is sent without these bits, and arrives without them.
            let _ = set_class(socket, address.ip(), packet.traffic_class);
            self.classes[slot] = Some(packet.traffic_class);
        }
        let length = packet.length.saturating_sub(self.headers) as usize;
        let length = length.clamp(Stamp::LENGTH, self.payload.len());
        let now = self.clock.now();
        let stamp = Stamp { flow, sequence, sent: now };
        self.payload[..Stamp::LENGTH].copy_from_slice(&stamp.to_bytes());
        let is_sent = self.outlets.send(number, &self.payload[..length]);
        let after = self.clock.now();
        self.pace.sent(packet.length, now);
        lateness.late += u32::from(now > due + LATE);
        lateness.slow += u32::from(after > now + SLOW);
        lateness.refused += u32::from(!is_sent);
        is_sent.then_some((now.as_picos() / 1_000).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_behind_schedule_leave_no_faster_than_the_rate() {
        // A packet of 1250 bytes takes 100 us at 100 Mbit/s.
        let mut pace = Pace { most: Rate::from_bits(100_000_000), next: Instant::ZERO };
        let micros = |count: u64| Instant::from_picos(count * 1_000_000);
        let mut now = micros(10_000);
        let mut left = Vec::new();
        for _ in 0..20 {
            now = now.max(pace.earliest(1250));
            left.push(now.as_picos() / 1_000_000 - 10_000);
            pace.sent(1250, now);
        }
        // Four at once, and then one every 100 us.
        assert_eq!(left[..6], [0, 0, 0, 0, 100, 200]);
        assert_eq!(left[19], 1_600);
    }
}
