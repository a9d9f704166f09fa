//! Collector of a round: the arrivals of its packets by the kernel's time stamps.

use std::net::UdpSocket;

use lockgate_dataplane::datagrams::{BATCH, DatagramBatch};
use lockgate_engine::units::{Duration, Instant};

use crate::clock::MonotonicClock;
use crate::generator::drops;
use crate::traffic::stamp::Stamp;

/// Bytes read of each datagram.
const PREFIX: usize = 32;

/// Time without an arrival after which a round whose packets were all sent is over.
const QUIET: Duration = Duration::from_millis(250);

/// Longest wait for arrivals after the last packet was sent.
const LONGEST_WAIT: Duration = Duration::from_secs(4);

/// Arrivals of one round.
pub(super) struct Collector {
    session: u32,
    round: u16,
    /// Nanoseconds by this host's clock and traffic class, by the number of the packet.
    pub(super) arrivals: Vec<Option<(i64, u8)>>,
    pub(super) count: u32,
    batch: DatagramBatch<PREFIX>,
    /// Latest time at which a packet was read.
    latest: Instant,
    /// Datagrams that the sockets had dropped before.
    dropped_before: u64,
}

fn dropped(sockets: &[UdpSocket]) -> u64 {
    sockets.iter().map(drops::of_socket).sum()
}

impl Collector {
    /// Begins a round of `count` packets.
    pub(super) fn new(session: u32, round: u16, count: usize, sockets: &[UdpSocket]) -> Self {
        Self {
            session,
            round,
            arrivals: vec![None; count],
            count: 0,
            batch: DatagramBatch::new(),
            latest: Instant::ZERO,
            dropped_before: dropped(sockets),
        }
    }

    /// Reads what has arrived.
    pub(super) fn read(&mut self, sockets: &[UdpSocket], clock: &MonotonicClock) {
        let wall = clock.wall_offset();
        for socket in sockets {
            loop {
                let count = self.batch.receive(socket);
                for index in 0..count {
                    let Some(stamp) = Stamp::read(self.batch.start(index)) else { continue };
                    let Some((seconds, nanos)) = self.batch.arrival(index) else { continue };
                    let class = self.batch.traffic_class(index).unwrap_or(0);
                    let at = wall.to_monotonic(seconds, nanos);
                    self.note(stamp, (at.as_picos() / 1_000).cast_signed(), class, clock.now());
                }
                if count < BATCH {
                    break;
                }
            }
        }
    }

    /// Notes an arrival; of a packet that arrives twice the first counts.
    fn note(&mut self, stamp: Stamp, at: i64, class: u8, now: Instant) {
        let is_own = stamp.flow & !15 == self.session && (stamp.sequence >> 16) as u16 == self.round;
        let slot = self.arrivals.get_mut((stamp.sequence & 0xffff) as usize);
        if let Some(slot) = slot
            && is_own
            && slot.is_none()
        {
            *slot = Some((at, class));
            self.count += 1;
            self.latest = now;
        }
    }

    /// True if nothing more is expected of a round whose last packet was sent by `sent`.
    pub(super) fn is_done(&self, sent: Instant, now: Instant) -> bool {
        self.count as usize == self.arrivals.len()
            || now > self.latest.max(sent) + QUIET
            || now > sent + LONGEST_WAIT
    }

    /// Returns the datagrams that the sockets dropped since the round began.
    pub(super) fn dropped(&self, sockets: &[UdpSocket]) -> u32 {
        let dropped = dropped(sockets).saturating_sub(self.dropped_before);
        u32::try_from(dropped).unwrap_or(u32::MAX)
    }
}
