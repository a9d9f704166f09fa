//! Average backlog of random early detection, in the arithmetic of each flavour.

use super::Flavour;
use crate::context::{Dequeue, Invalid};
use crate::queue::PacketQueue;
use crate::units::{Bytes, Duration, Instant, Rate};

/// Exponent of Click's weight, 2^-4.
pub(crate) const CLICK_SHIFT: i32 = 4;
/// Fractional bits of Click's average.
pub(crate) const CLICK_SCALE: u32 = 10;
/// Tick of Click's clock for an empty queue: 50 Hz.
const CLICK_TICK: Duration = Duration::from_millis(20);
/// Entries of Linux's table of shifts.
const CELLS: usize = 256;

/// Average backlog, and the time since which the queue is idle.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    law: Law,
    idle: Option<Instant>,
    avpkt: Bytes,
}

#[derive(Clone, Debug)]
enum Law {
    /// In bytes; the weight; time of a packet in seconds.
    Paper { bytes: f64, weight: f64, packet: f64 },
    /// In bytes times `2^shift`.
    Linux { scaled: u64, shift: i32, table: Box<Table> },
    /// In packets times `2^CLICK_SCALE`; the tick at which an empty queue was last seen.
    Click { scaled: u64, seen: Option<u64> },
}

/// Linux's table: binary places by which the average has decayed after so many cells of idle time.
#[derive(Clone, Debug)]
struct Table {
    /// A cell is `2^cell` microseconds.
    cell: u32,
    shifts: [u8; CELLS],
}

impl Table {
    /// Computes the table of `tc`, whose ticks are `ticks` per microsecond while the kernel counts
    /// microseconds. `None` if a packet takes so long that a cell would be 2^32 microseconds or more: `tc`
    /// and the kernel refuse that.
    fn new(shift: i32, packet_micros: f64, ticks: f64) -> Option<Self> {
        let slope = -libm::log1p(-libm::ldexp(1.0, -shift)) / (packet_micros * ticks);
        let horizon = 31.0 / slope;
        let cell = (0..32).find(|cell| libm::ldexp(horizon, -*cell) < 512.0)?;
        let mut shifts = [31; CELLS];
        shifts[0] = 0;
        for (index, entry) in shifts.iter_mut().enumerate().take(CELLS - 1).skip(1) {
            *entry = (libm::ldexp(index as f64, cell) * slope).min(31.0) as u8;
        }
        Some(Self { cell: cell as u32, shifts })
    }

    /// Returns `scaled` after decaying for `idle`.
    fn decay(&self, scaled: u64, idle: Duration) -> u64 {
        // The kernel uses the last entry for all longer times.
        let last = (CELLS as u64) << self.cell;
        let micros = (idle.as_picos() / 1_000_000).min(last - 1);
        let shift = self.shifts[(micros >> self.cell) as usize % CELLS];
        if shift > 0 {
            return scaled >> shift;
        }
        let linear = (u128::from(scaled) * u128::from(micros)) >> self.cell;
        scaled - u64::try_from(linear).unwrap_or(u64::MAX).min(scaled / 2)
    }
}

/// Ticks of `tc` per microsecond: one is 64 ns.
const TICKS: f64 = 15.625;

impl Average {
    /// Creates the average of an empty queue at a weight of `2^-shift`; idle time is counted in packets of
    /// `avpkt` at `bandwidth`.
    ///
    /// # Errors
    /// Parameters that Linux's table of idle times cannot hold.
    pub(crate) fn new(flavour: Flavour, shift: i32, bandwidth: Rate, avpkt: Bytes) -> Result<Self, Invalid> {
        let packet = bandwidth.time_for(avpkt).as_secs_f64();
        let table = |ticks| {
            let why = "is so low that a packet of `avpkt` takes longer than Linux's table of idle times can hold: raise it, or \
                       lower `avpkt` or `burst`";
            let table = Table::new(shift, packet * 1e6, ticks).map(Box::new);
            table.ok_or_else(|| Invalid::new("bandwidth", why))
        };
        let law = match flavour {
            Flavour::Paper => Law::Paper { bytes: 0.0, weight: libm::ldexp(1.0, -shift), packet },
            Flavour::Linux => Law::Linux { scaled: 0, shift, table: table(TICKS)? },
            Flavour::Linux24 => Law::Linux { scaled: 0, shift, table: table(1.0)? },
            Flavour::Click => Law::Click { scaled: 0, seen: None },
        };
        Ok(Self { law, idle: None, avpkt })
    }

    /// Returns the same average under the parameters of `new`.
    #[must_use]
    pub(crate) fn retuned(&self, mut new: Self) -> Self {
        let now = self.bytes();
        new.idle = self.idle;
        match &mut new.law {
            Law::Paper { bytes, .. } => *bytes = now,
            Law::Linux { scaled, shift, .. } => *scaled = libm::ldexp(now, *shift) as u64,
            Law::Click { scaled, .. } => {
                *scaled = libm::ldexp(now / new.avpkt.0 as f64, CLICK_SCALE.cast_signed()) as u64;
            }
        }
        new
    }

    /// Updates the average with the backlog found by an arriving packet.
    pub(crate) fn sample(&mut self, backlog: Bytes, packets: usize, now: Instant) {
        let idle = self.idle.filter(|since| *since <= now).map(|since| now.since(since));
        self.idle = None;
        match &mut self.law {
            Law::Paper { bytes, weight, packet } => {
                if let Some(idle) = idle {
                    *bytes = decayed(*bytes, *weight, idle, *packet);
                } else {
                    *bytes += *weight * (backlog.0 as f64 - *bytes);
                }
            }
            Law::Linux { scaled, shift, table } => {
                *scaled = match idle {
                    Some(idle) => table.decay(*scaled, idle),
                    None => (*scaled - (*scaled >> *shift)).saturating_add(backlog.0),
                }
            }
            Law::Click { scaled, seen } => {
                if packets > 0 {
                    *scaled = click(*scaled, packets as u64);
                    *seen = None;
                    return;
                }
                let tick = now.as_picos() / CLICK_TICK.as_picos();
                let times = seen.map_or(1, |seen| tick - seen);
                *seen = Some(tick);
                for _ in 0..times {
                    let next = click(*scaled, 0);
                    if next == *scaled {
                        break;
                    }
                    *scaled = next;
                }
            }
        }
    }

    /// Records that the queue is idle from `time` on, or from an earlier recorded time.
    pub(crate) fn idles(&mut self, time: Instant) {
        self.idle = Some(self.idle.map_or(time, |known| known.min(time)));
    }

    /// Takes the oldest packet of `queue`, and records when its link, of rate `bandwidth`, becomes idle.
    pub(crate) fn pop(&mut self, queue: &mut PacketQueue, bandwidth: Rate, now: Instant) -> Dequeue {
        let Some(packet) = queue.pop() else {
            self.idles(now);
            return Dequeue::Empty;
        };
        if queue.is_empty() {
            // The link becomes idle when this packet has been sent.
            self.idles(now + bandwidth.time_for(packet.bytes()));
        }
        Dequeue::Packet(packet)
    }

    /// Returns whether the average stays constant without arrivals.
    pub(crate) fn is_constant(&self) -> bool {
        self.idle.is_none() || matches!(self.law, Law::Click { .. })
    }

    /// Returns the average in bytes as of the last arrival.
    pub(crate) fn bytes(&self) -> f64 {
        match &self.law {
            Law::Paper { bytes, .. } => *bytes,
            Law::Linux { scaled, shift, .. } => libm::ldexp(*scaled as f64, -*shift),
            Law::Click { scaled, .. } => {
                libm::ldexp(*scaled as f64, -CLICK_SCALE.cast_signed()) * self.avpkt.0 as f64
            }
        }
    }

    /// Returns the average in bytes that a packet arriving at `time` would find.
    pub(crate) fn at(&self, time: Instant) -> f64 {
        let Some(since) = self.idle.filter(|since| *since <= time) else { return self.bytes() };
        let idle = time.since(since);
        match &self.law {
            Law::Paper { bytes, weight, packet } => decayed(*bytes, *weight, idle, *packet),
            Law::Linux { scaled, shift, table } => libm::ldexp(table.decay(*scaled, idle) as f64, -*shift),
            Law::Click { .. } => self.bytes(),
        }
    }

    /// Returns the average times `2^shift`, and the shift.
    pub(crate) fn linux(&self) -> (u64, i32) {
        match &self.law {
            Law::Linux { scaled, shift, .. } => (*scaled, *shift),
            _ => (0, 0),
        }
    }

    /// Returns the average in packets times `2^CLICK_SCALE`.
    pub(crate) fn click(&self) -> u64 {
        match &self.law {
            Law::Click { scaled, .. } => *scaled,
            _ => 0,
        }
    }
}

/// Returns `(1 - weight)^m` of `bytes`, with `m` the packets that fit into `idle`.
fn decayed(bytes: f64, weight: f64, idle: Duration, packet: f64) -> f64 {
    bytes * libm::pow(1.0 - weight, idle.as_secs_f64() / packet)
}

/// One sample of Click's average, rounded to the nearest.
fn click(scaled: u64, packets: u64) -> u64 {
    let sample = (packets << CLICK_SCALE) + (1 << (CLICK_SHIFT - 1));
    if sample < scaled {
        scaled - ((scaled - sample) >> CLICK_SHIFT)
    } else {
        scaled + ((sample - scaled) >> CLICK_SHIFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Mbit/s and packets of 1000 bytes: 800 us each.
    fn table(shift: i32, ticks: f64) -> Table {
        Table::new(shift, 800.0, ticks).expect("a short packet")
    }

    #[test]
    fn the_table_of_linux_has_the_cells_that_tc_shows() {
        // `tc qdisc show` of the reference run: ewma 3, Scell_log 13.
        assert_eq!(table(3, TICKS).cell, 13);
        // As it was meant, in microseconds: 32.8 ms at a weight of 1/512.
        assert_eq!(table(9, 1.0).cell, 15);
        let old = table(9, 1.0);
        let left = |millis| {
            old.decay(1 << 40, Duration::from_millis(millis)) as f64 / f64::from(1 << 20) / f64::from(1 << 20)
        };
        assert!((left(8) - 0.756).abs() < 0.001, "straight down at first: {}", left(8));
        assert!((left(17) - 0.5).abs() < 1e-9 && (left(400) - 0.5).abs() < 1e-9, "half after half a cell");
        // 2^-floor(t/409 ms): a natural logarithm as a power of two.
        assert!((left(4_300) - libm::exp2(-10.0)).abs() < 1e-9, "{}", left(4_300));
        assert!(old.decay(1 << 40, Duration::MAX) <= 1 << 19);
    }

    #[test]
    fn cells_of_up_to_2_to_the_31_microseconds_decay_and_longer_ones_are_refused() {
        // At a weight of 1/2 an average halves each 0.69 packets, and the table ends at 31 / ln 2 = 44.7:
        // cell 31 is the first that brings 2^39 ticks below 512, for packets from 2^39 / 44.7 = 1.23e10 to
        // twice that.
        for (packet, cell) in [
            (1.0, Some(0)),
            (1.2e10, Some(30)),
            (1.25e10, Some(31)),
            (2.4e10, Some(31)),
            (2.5e10, None),
            (f64::MAX, None),
        ] {
            let table = Table::new(1, packet, 1.0);
            assert_eq!(table.as_ref().map(|table| table.cell), cell, "{packet} us");
            let Some(table) = table else { continue };
            let left = [0, 1, 1 << 20, 1 << 40, u64::MAX]
                .map(|micros| table.decay(1 << 63, Duration::from_micros(micros)));
            assert!(left.is_sorted_by(|one, next| one >= next), "{packet} us: {left:?}");
            assert_eq!(left[4], 1 << 32, "31 places at the end of the table");
        }
    }

    #[test]
    fn click_counts_an_empty_queue_once_and_then_fifty_times_a_second() {
        let average = Average::new(Flavour::Click, CLICK_SHIFT, Rate::from_bits(1), Bytes(1000));
        let mut average = average.expect("Click has no table");
        for _ in 0..200 {
            average.sample(Bytes(1), 64, Instant::ZERO);
        }
        let full = average.click();
        assert!(full.abs_diff(64 << CLICK_SCALE) < 16);
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        average.sample(Bytes::ZERO, 0, at(100));
        let once = average.click();
        assert!((once as f64 / full as f64 - 15.0 / 16.0).abs() < 1e-3);
        average.sample(Bytes::ZERO, 0, at(110));
        assert_eq!(average.click(), once, "within a tick of 20 ms");
        average.sample(Bytes::ZERO, 0, at(160));
        assert!((average.click() as f64 / once as f64 - (15.0_f64 / 16.0).powi(3)).abs() < 1e-3);
    }
}
