//! Noise of this host: how late its packets leave, and how long they take to itself, measured on loopback.

use std::net::{SocketAddr, UdpSocket};

use lockgate_engine::units::{Duration, Instant, Rate};

use super::collector::Collector;
use super::transmit::{Outlets, transmit};
use super::{Error, Packet};
use crate::clock::MonotonicClock;
use crate::traffic::receive::prepare;

/// Session of the measurement.
const SESSION: u32 = 16;

/// Length of its packets in bytes.
const LENGTH: u32 = 1_442;

/// Duration of the measurement.
const SPAN: Duration = Duration::from_millis(250);

/// Most and least packets of the measurement.
const COUNT: (u64, u64) = (50, 4_000);

/// Lateness of one packet in a hundred above which a host is refused: patterns would not be what was planned.
const MOST_SLIP: Duration = Duration::from_millis(15);

/// Variation of the time to itself, of one packet in a hundred, above which a host is refused: its stamps are
/// wrong by as much.
const MOST_PASSAGE: Duration = Duration::from_millis(3);

/// Noise of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Lateness of sending, 99th percentile.
    pub slip: Duration,
    /// Time from the stamp to the arrival over loopback, beyond the least: 99th percentile.
    pub passage: Duration,
    /// True if it sent at the rate.
    pub is_fast: bool,
}

impl Noise {
    /// Returns why a host with this noise is too late to probe at `most`; `None` if it is not.
    pub fn refusal(&self, most: Rate) -> Option<String> {
        if !self.is_fast {
            return Some(format!("it does not send {most} in packets of {LENGTH} bytes"));
        }
        let limits = [
            (self.slip, MOST_SLIP, "leave", "after their time"),
            (self.passage, MOST_PASSAGE, "reach itself", "later than others"),
        ];
        let late = limits.into_iter().find(|(is, limit, ..)| is > limit)?;
        let (is, limit, what, how) = late;
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        Some(format!(
            "one packet in a hundred does not {what} until {:.1} ms {how}, and {:.0} ms is the limit",
            millis(is),
            millis(limit)
        ))
    }
}

/// Measures the noise of this host with packets to itself at the rate `most`.
///
/// # Errors
/// If loopback cannot be used.
pub fn loopback(most: Rate) -> Result<Noise, Error> {
    let refused = || Error::refused("measure this host over loopback (is `lo` up?)");
    let open = || -> std::io::Result<(UdpSocket, UdpSocket)> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (from, to) = (UdpSocket::bind(any)?, UdpSocket::bind(any)?);
        from.connect(to.local_addr()?)?;
        prepare(&to)?;
        Ok((from, to))
    };
    let (from, to) = open().map_err(refused())?;
    let gap = u64::from(LENGTH) * 8_000_000_000_000 / most.as_bits().max(1);
    let count = (SPAN.as_picos() / gap.max(1)).clamp(COUNT.0, COUNT.1);
    let packet = |index| Packet { at: index * gap, length: LENGTH, flow: 0, traffic_class: 0 };
    let packets: Vec<Packet> = (0..count).map(packet).collect();
    let clock = MonotonicClock::start();
    let (sockets, receivers) = ([from], [to]);
    let mut collector = Collector::new(SESSION, 0, packets.len(), &receivers);
    let outlets = Outlets::Connected(&sockets);
    let left = transmit(&outlets, (SESSION, 0), &packets, &clock, most, &mut |_| Ok(()))?.at;
    let until = clock.now() + Duration::from_millis(200);
    while collector.count < count as u32 && clock.now() < until {
        collector.read(&receivers, &clock);
    }
    let nanos = |at: u64| (at / 1_000).cast_signed();
    let first = left.iter().flatten().next().copied().unwrap_or(0);
    let due = |index: usize| first + nanos(packets[index].at);
    let slips = left.iter().enumerate().filter_map(|(index, at)| Some((*at)? - due(index)));
    let arrived = left.iter().zip(&collector.arrivals);
    let passages: Vec<i64> = arrived.filter_map(|(left, at)| Some(at.as_ref()?.0 - (*left)?)).collect();
    let least = passages.iter().min().copied().unwrap_or(0);
    let span = left.iter().flatten().last().map_or(0, |last| last - first);
    let planned = due(packets.len() - 1) - first;
    let is_whole = passages.len() * 100 >= packets.len() * 95;
    Ok(Noise {
        slip: percentile(slips.collect()),
        passage: percentile(passages.iter().map(|passage| passage - least).collect()),
        is_fast: is_whole && span <= planned + planned / 10 + nanos(MOST_SLIP.as_picos()),
    })
}

/// Returns the 99th percentile of nanoseconds.
fn percentile(mut nanos: Vec<i64>) -> Duration {
    nanos.sort_unstable();
    let value = nanos.get(nanos.len().saturating_sub(1) * 99 / 100).copied().unwrap_or(i64::MAX / 1_000);
    Instant::from_picos(value.max(0).cast_unsigned().saturating_mul(1_000)).since(Instant::ZERO)
}
