//! Source of a flow's packets: its arrivals, numbered, stamped by its host's clock.

use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::units::{Duration, Instant};
use lockgate_scenario::model::NodeModel;
use lockgate_traffic::arrivals::{Arrivals, Emission};

/// Error of a host's clock.
#[derive(Clone, Copy, Default)]
pub struct HostClock {
    /// Offset at the start, in picoseconds; positive if ahead.
    pub offset_ps: i64,
    /// Drift in parts per billion; positive if fast.
    pub drift_ppb: i64,
}

impl HostClock {
    /// Returns the clock of a node's host.
    pub fn of(node: &NodeModel) -> Self {
        Self { offset_ps: node.clock_offset_ps, drift_ppb: node.clock_drift_ppb }
    }

    /// Returns this clock's reading at `now`; clamped at its zero.
    #[inline(always)]
    pub fn read(self, now: Instant) -> Instant {
        if self.is_exact() { now } else { self.misread(now) }
    }

    /// Returns true if it has no error.
    #[inline(always)]
    fn is_exact(self) -> bool {
        self.offset_ps == 0 && self.drift_ppb == 0
    }

    #[inline(never)]
    fn misread(self, now: Instant) -> Instant {
        let true_time = i128::from(now.as_picos());
        let shown =
            true_time + i128::from(self.offset_ps) + true_time * i128::from(self.drift_ppb) / 1_000_000_000;
        Instant::from_picos(u64::try_from(shown.max(0)).unwrap_or(u64::MAX))
    }
}

/// Source of one flow. The fields that each packet needs come first, in one cache line.
#[repr(C, align(64))]
pub struct Source {
    /// Emissions drawn in batches: one dispatch for many packets.
    batch: Vec<Emission>,
    /// Index of the next emission.
    position: u32,
    /// Number of emissions of the batch that will be sent; the rest exceeds the flow's end or its limits.
    usable: u32,
    /// Origin of the emissions' times.
    start: Instant,
    /// Index of the node it sends from.
    pub node: usize,
    /// Flow of its packets.
    pub flow: FlowId,
    sequence: u32,
    traffic_class: u8,
    /// True if its host's clock shows the true time.
    is_exact: bool,
    clock: HostClock,
    arrivals: Option<Box<Arrivals>>,
    stop: Instant,
    /// Remaining packets; [`u64::MAX`] for no limit, as for `bytes_left`.
    packets_left: u64,
    bytes_left: u64,
}

/// Parameters of a source.
pub(crate) struct SourceSetup {
    pub(crate) flow: FlowId,
    pub(crate) node: usize,
    /// `None` for a flow that is sent by a connection.
    pub(crate) arrivals: Option<Arrivals>,
    pub(crate) clock: HostClock,
    pub(crate) traffic_class: u8,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Source {
    pub(crate) fn new(setup: SourceSetup) -> Self {
        let mut source = Self {
            flow: setup.flow,
            node: setup.node,
            arrivals: setup.arrivals.map(Box::new),
            is_exact: setup.clock.is_exact(),
            clock: setup.clock,
            traffic_class: setup.traffic_class,
            start: setup.start,
            stop: setup.stop,
            packets_left: setup.packets,
            bytes_left: setup.bytes,
            sequence: 0,
            batch: Vec::new(),
            position: 0,
            usable: 0,
        };
        source.refill();
        source
    }

    /// Changes arrivals (if given) and end of the flow at `now`. Sequence numbers continue.
    pub fn renew(&mut self, arrivals: Option<Arrivals>, now: Instant, stop: Instant) {
        self.stop = stop;
        self.settle();
        if arrivals.is_some() {
            self.arrivals = arrivals.map(Box::new);
            self.start = now;
            self.refill();
        } else {
            self.look_ahead();
        }
    }

    #[inline(never)]
    fn refill(&mut self) {
        self.settle();
        self.batch.clear();
        self.position = 0;
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.fill(&mut self.batch);
        }
        self.look_ahead();
    }

    /// Subtracts the sent emissions of the batch from the limits.
    fn settle(&mut self) {
        let sent = &self.batch[..self.position as usize];
        if self.packets_left < u64::MAX {
            self.packets_left -= sent.len() as u64;
        }
        if self.bytes_left < u64::MAX {
            self.bytes_left -= sent.iter().map(|emission| u64::from(emission.length)).sum::<u64>();
        }
        self.batch.drain(..self.position as usize);
        self.position = 0;
    }

    /// Computes how many of the remaining emissions can be sent.
    fn look_ahead(&mut self) {
        // Times never decrease: if the last is early enough, all are.
        let start = self.start;
        let is_late = |emission: &Emission| start + emission.at >= self.stop;
        let mut usable = self.batch.len();
        if self.batch.last().is_some_and(is_late) {
            usable = self.batch.partition_point(|emission| !is_late(emission));
        }
        usable = usize::try_from(self.packets_left).map_or(usable, |packets| packets.min(usable));
        if self.bytes_left < u64::MAX {
            let mut bytes = self.bytes_left;
            let fits = |emission: &&Emission| {
                let rest = bytes.checked_sub(u64::from(emission.length));
                bytes = rest.unwrap_or(bytes);
                rest.is_some()
            };
            usable = self.batch[..usable].iter().take_while(fits).count();
        }
        self.usable = usable as u32;
    }

    /// Returns the time of the next packet.
    #[inline(always)]
    pub fn next(&self) -> Instant {
        match self.batch.get(..self.usable as usize).and_then(|usable| usable.get(self.position as usize)) {
            Some(emission) => self.start + emission.at,
            None => Instant::NEVER,
        }
    }

    /// Returns the header of the packet that is sent now.
    #[inline(always)]
    pub fn send(&mut self, now: Instant) -> Header {
        let length = self.batch[self.position as usize].length;
        self.position += 1;
        if self.position as usize == self.batch.len() {
            self.refill();
        }
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        Header {
            sent: now,
            stamp: if self.is_exact { now } else { self.clock.read(now) },
            waited: Duration::ZERO,
            flow: self.flow,
            sequence,
            length,
            traffic_class: self.traffic_class,
            ..Header::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_clock_shows_offset_and_drift() {
        let now = Instant::from_picos(10_000_000_000_000);
        assert_eq!(HostClock::default().read(now), now);
        let fast = HostClock { offset_ps: 5_000, drift_ppb: 100_000 };
        assert_eq!(fast.read(now).as_picos(), 10_000_000_000_000 + 5_000 + 1_000_000_000);
        let early = HostClock { offset_ps: -20_000_000_000_000, drift_ppb: 0 };
        assert_eq!(early.read(now), Instant::ZERO);
    }
}
