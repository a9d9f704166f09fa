//! What is observed of one flow: its packets' balance, their delays, and how both went over time.
//!
//! The hot calls only count and note the packet; the distributions are filled for 64 packets at a time, one
//! histogram after the other: a batch's sums stay in registers, and equal values are one count.

use core::fmt;

use lockgate_engine::classify::Fields;
use lockgate_engine::discipline::DropReason;
use lockgate_engine::node::Tally;
use lockgate_engine::units::{Bytes, Duration, Instant};

use crate::histogram::{BATCH, Coarse, Histogram, Moments};
use crate::series::FlowSeries;

/// Headers above the payload that goodput leaves out where the driver does not say otherwise: Ethernet,
/// IPv4 and UDP.
pub const UDP_HEADER_BYTES: u32 = 14 + 20 + 8;

/// What is known of a flow before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSetup {
    /// Its name in the scenario.
    pub name: String,
    /// The node it starts from.
    pub from: String,
    /// The node it goes to.
    pub to: String,
    /// Propagation along its route at the start of the run.
    pub propagation: Duration,
    /// Header bytes of each of its frames, which goodput leaves out.
    pub header_bytes: u32,
    /// Its addresses, for captures; `None` where it has none.
    pub fields: Option<Fields>,
    /// Its DSCP and ECN bits, for captures.
    pub traffic_class: u8,
}

impl Default for FlowSetup {
    fn default() -> Self {
        Self {
            name: String::new(),
            from: String::new(),
            to: String::new(),
            propagation: Duration::ZERO,
            header_bytes: UDP_HEADER_BYTES,
            fields: None,
            traffic_class: 0,
        }
    }
}

/// A packet as it reaches its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// When its last bit arrived.
    pub now: Instant,
    /// When the source sent it.
    pub sent: Instant,
    /// How long it waited in queues on its way.
    pub waited: Duration,
    /// How long it propagated along links.
    pub propagation: Duration,
    /// Frame length.
    pub bytes: Bytes,
    /// Its number within the flow, from 0.
    pub sequence: u32,
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// A queue dropped it.
    Queue(DropReason),
    /// A link lost it.
    Link,
    /// A router's service queue was full.
    Router,
    /// It could go no further: its hop limit was reached, or no way leads on. Only live runs.
    Hops,
    /// All frames of the driver were held by queues. Only live runs.
    Frames,
    /// The machine's own kernel lost it between a host and the driver. Only live runs.
    Host,
}

impl Loss {
    /// Every way to be lost.
    pub const ALL: [Self; DropReason::ALL.len() + Self::OTHERS.len()] = {
        let mut all = [Self::Link; DropReason::ALL.len() + Self::OTHERS.len()];
        let mut index = 0;
        while index < DropReason::ALL.len() {
            all[index] = Self::Queue(DropReason::ALL[index]);
            index += 1;
        }
        while index < all.len() {
            all[index] = Self::OTHERS[index - DropReason::ALL.len()];
            index += 1;
        }
        all
    };

    /// Those that are no queue's.
    const OTHERS: [Self; 5] = [Self::Link, Self::Router, Self::Hops, Self::Frames, Self::Host];

    /// Its place in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|loss| *loss == self).unwrap_or(0)
    }

    /// The reason in a word, as results spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue(reason) => reason.name(),
            Self::Link => "link",
            Self::Router => "router",
            Self::Hops => "hops",
            Self::Frames => "frames",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Packets of a flow, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Left the source.
    pub sent: Tally,
    /// Reached the receiver.
    pub received: Tally,
    /// Were lost.
    pub lost: Tally,
    /// Were in the network at the end.
    pub inside: Tally,
}

impl Totals {
    fn without(&self, early: &Self) -> Self {
        let less = |all: Tally, early: Tally| Tally {
            packets: all.packets.saturating_sub(early.packets),
            bytes: all.bytes.saturating_sub(early.bytes),
        };
        Self {
            sent: less(self.sent, early.sent),
            received: less(self.received, early.received),
            lost: less(self.lost, early.lost),
            inside: less(self.inside, early.inside),
        }
    }

    fn balance(&self, flow: &str, window: Window) -> Result<(), Imbalance> {
        let (sent, received, lost, inside) = (self.sent, self.received, self.lost, self.inside);
        let check = |unit, count: fn(Tally) -> u64| {
            let counted = [count(received), count(lost), count(inside)];
            if count(sent) == counted.iter().sum::<u64>() {
                return Ok(());
            }
            let [received, lost, inside] = counted;
            Err(Imbalance { flow: flow.into(), window, unit, sent: count(sent), received, lost, inside })
        };
        check("packets", |tally| tally.packets)?;
        check("bytes", |tally| tally.bytes.0)
    }
}

/// Which packets a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// All of them.
    WholeRun,
    /// Those sent at or after the end of the warm-up.
    AfterWarmup,
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WholeRun => "over the whole run",
            Self::AfterWarmup => "after the warm-up",
        })
    }
}

/// A flow whose packets are not accounted for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "flow `{flow}` does not balance {window}: {sent} {unit} sent, but {received} received + {lost} lost + \
     {inside} inside"
)]
pub struct Imbalance {
    /// The flow.
    pub flow: String,
    /// Where it does not balance.
    pub window: Window,
    /// What was counted: packets or bytes.
    pub unit: &'static str,
    /// Sent.
    pub sent: u64,
    /// Received.
    pub received: u64,
    /// Lost.
    pub lost: u64,
    /// Still inside.
    pub inside: u64,
}

/// Distributions over a flow's packets, in picoseconds; packets sent during the warm-up are not in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// One-way delay (RFC 7679).
    pub owd: Histogram,
    /// Its part spent waiting in queues.
    pub queueing: Histogram,
    /// Its part spent being put on links, and served by routers.
    pub serialisation: Histogram,
    /// Its part spent propagating: the sum, in ps.
    pub propagation_sum: u128,
    /// Magnitude of the delay variation between packets sent and received one after the other (RFC 3393).
    pub ipdv: Histogram,
    /// Sum of the same with its sign.
    pub ipdv_signed_sum: i128,
    /// Time between arrivals at the receiver.
    pub iat: Histogram,
    /// Packets that arrived after one sent later (RFC 4737 section 3).
    pub reordered: u64,
    /// Sixteen times the interarrival jitter (RFC 3550 section A.8), in ps.
    jitter_16: u64,
    /// The packet received last.
    last: Option<Last>,
    /// Sequence number expected next: one more than the largest so far.
    expected: u32,
}

impl Delays {
    /// The interarrival jitter after the last packet (RFC 3550 section 6.4.1).
    pub fn jitter(&self) -> Duration {
        Duration::from_picos(self.jitter_16 >> 4)
    }

    /// Mean delay variation with its sign, in ps; `None` where there is no pair.
    pub fn ipdv_signed_mean(&self) -> Option<f64> {
        (!self.ipdv.is_empty()).then(|| self.ipdv_signed_sum as f64 / self.ipdv.count() as f64)
    }
}

/// A received packet whose delays are not in the histograms yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pending {
    now: u64,
    sent: u64,
    waited: u64,
    propagation: u64,
    sequence: u32,
}

/// What of a packet its successor is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    now: u64,
    owd: u64,
    sequence: u32,
}

/// What was observed of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    warmup: Instant,
    /// All packets.
    whole: Totals,
    /// Those sent before the end of the warm-up.
    early: Totals,
    /// Received before the end of the warm-up.
    received_early: Tally,
    waiting: usize,
    pending: Box<[Pending; BATCH]>,
    delays: Delays,
    interval: Coarse,
    /// One-way delays in ps since the last look, while somebody watches.
    watched: Option<Box<Coarse>>,
    /// Totals at the last sample.
    sampled: Totals,
    lost_by: [u64; Loss::ALL.len()],
    delivered_bytes: Option<u64>,
    completed: Option<Duration>,
    series: FlowSeries,
    /// What was known of it before.
    pub setup: FlowSetup,
}

#[inline]
fn count(tally: &mut Tally, bytes: Bytes) {
    tally.packets += 1;
    tally.bytes += bytes;
}

impl FlowRecord {
    pub(super) fn new(setup: FlowSetup, warmup: Instant) -> Self {
        Self {
            warmup,
            whole: Totals::default(),
            early: Totals::default(),
            received_early: Tally::default(),
            waiting: 0,
            pending: Box::new([Pending::default(); BATCH]),
            delays: Delays::default(),
            interval: Coarse::default(),
            watched: None,
            sampled: Totals::default(),
            lost_by: [0; Loss::ALL.len()],
            delivered_bytes: None,
            completed: None,
            series: FlowSeries::default(),
            setup,
        }
    }

    /// The source sent a packet of this length.
    #[inline(always)]
    pub fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        count(&mut self.whole.sent, bytes);
        if now < self.warmup {
            count(&mut self.early.sent, bytes);
        }
    }

    /// A packet reached the receiver.
    #[inline(always)]
    pub fn on_received(&mut self, packet: &Received) {
        count(&mut self.whole.received, packet.bytes);
        if packet.sent < self.warmup {
            self.on_received_early(packet);
            return;
        }
        // The mask says to the compiler what `settle` keeps: the batch is never full here.
        self.pending[self.waiting & (BATCH - 1)] = Pending {
            now: packet.now.as_picos(),
            sent: packet.sent.as_picos(),
            waited: packet.waited.as_picos(),
            propagation: packet.propagation.as_picos(),
            sequence: packet.sequence,
        };
        self.waiting += 1;
        if self.waiting == BATCH {
            self.settle();
        }
    }

    #[cold]
    #[inline(never)]
    fn on_received_early(&mut self, packet: &Received) {
        count(&mut self.early.received, packet.bytes);
        if packet.now < self.warmup {
            count(&mut self.received_early, packet.bytes);
        }
        let owd = packet.now.since(packet.sent).as_picos();
        self.interval.record(owd);
        if let Some(watched) = &mut self.watched {
            watched.record(owd);
        }
    }

    /// A packet was lost; `sent` is when the source sent it.
    #[inline(never)]
    pub fn on_lost(&mut self, sent: Instant, bytes: Bytes, why: Loss) {
        count(&mut self.whole.lost, bytes);
        if sent < self.warmup {
            count(&mut self.early.lost, bytes);
        } else {
            self.lost_by[why.index()] += 1;
        }
    }

    /// A packet is still in the network at the end of the run.
    pub fn on_inside(&mut self, sent: Instant, bytes: Bytes) {
        count(&mut self.whole.inside, bytes);
        if sent < self.warmup {
            count(&mut self.early.inside, bytes);
        }
    }

    /// The receiving application got this many bytes, each once and in order. A driver of a reliable
    /// transport calls it, and goodput is then counted by it instead of by header sizes.
    pub fn on_delivered(&mut self, now: Instant, bytes: Bytes) {
        let counted = if now < self.warmup { 0 } else { bytes.0 };
        self.delivered_bytes = Some(self.delivered_bytes.unwrap_or(0) + counted);
    }

    /// The flow delivered all it had, this long after its start.
    pub fn on_complete(&mut self, after: Duration) {
        self.completed = Some(after);
    }

    /// Counts the noted packets in all distributions.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self) {
        let batch = &self.pending[..self.waiting.min(BATCH)];
        let mut owd = [0; BATCH];
        let mut other = [0; BATCH];
        let owd = &mut owd[..batch.len()];
        let other = &mut other[..batch.len()];
        let delays = &mut self.delays;
        for (owd, packet) in owd.iter_mut().zip(batch) {
            *owd = packet.now.saturating_sub(packet.sent);
        }
        let moments = Moments::of(owd);
        delays.owd.record_batch(owd, &moments);
        self.interval.record_batch(owd, &moments);
        if let Some(watched) = &mut self.watched {
            watched.record_batch(owd, &moments);
        }
        for (queueing, packet) in other.iter_mut().zip(batch) {
            *queueing = packet.waited;
            delays.propagation_sum = delays.propagation_sum.wrapping_add(u128::from(packet.propagation));
        }
        delays.queueing.record_all(other);
        for ((rest, packet), owd) in other.iter_mut().zip(batch).zip(owd.iter()) {
            *rest = owd.saturating_sub(packet.waited).saturating_sub(packet.propagation);
        }
        delays.serialisation.record_all(other);
        delays.pairs(batch, owd, other);
        self.waiting = 0;
    }

    /// Closes the sampling interval that ends at `now`.
    pub fn sample(&mut self, now: Instant) {
        self.settle();
        let series = &mut self.series;
        let [p50, p99] = self
            .interval
            .quantiles([0.5, 0.99])
            .map_or([None; 2], |pair| pair.map(|value| Some(Duration::from_picos(value))));
        let whole = &self.whole;
        series.end.push(now);
        series.offered_bytes.push(whole.sent.bytes.0 - self.sampled.sent.bytes.0);
        series.received_bytes.push(whole.received.bytes.0 - self.sampled.received.bytes.0);
        series.lost_packets.push(whole.lost.packets - self.sampled.lost.packets);
        series.owd_p50.push(p50);
        series.owd_p99.push(p99);
        series.owd_max.push(self.interval.max().map(Duration::from_picos));
        self.interval.clear();
        self.sampled = self.whole;
    }

    /// Gathers one-way delays by the look as well, from now on.
    pub fn watch(&mut self) {
        self.watched.get_or_insert_default();
    }

    /// No longer does.
    pub fn unwatch(&mut self) {
        self.watched = None;
    }

    /// One-way delays in ps of the packets received since the last look, and starts over. Nothing where it is
    /// not watched.
    pub fn look_at_delays(&mut self) -> Coarse {
        self.settle();
        self.watched.as_mut().map(|watched| core::mem::take(&mut **watched)).unwrap_or_default()
    }

    /// Whether noted packets are not in the distributions yet.
    pub(crate) fn is_settled(&self) -> bool {
        self.waiting == 0
    }

    /// Checks that its packets and bytes are accounted for.
    ///
    /// # Errors
    /// The numbers that do not add up.
    pub fn balance(&self) -> Result<(), Imbalance> {
        self.whole.balance(&self.setup.name, Window::WholeRun)?;
        self.totals(Window::AfterWarmup).balance(&self.setup.name, Window::AfterWarmup)
    }

    /// Its packets by what became of them.
    pub fn totals(&self, window: Window) -> Totals {
        match window {
            Window::WholeRun => self.whole,
            Window::AfterWarmup => self.whole.without(&self.early),
        }
    }

    /// What was received during the window, whenever it was sent: what throughput counts.
    pub fn received_in_window(&self) -> Tally {
        let (all, early) = (self.whole.received, self.received_early);
        Tally { packets: all.packets - early.packets, bytes: all.bytes.saturating_sub(early.bytes) }
    }

    /// Bytes of payload received during the window.
    pub fn payload_in_window(&self) -> Bytes {
        self.delivered_bytes.map_or_else(
            || {
                let received = self.received_in_window();
                let headers = received.packets.saturating_mul(u64::from(self.setup.header_bytes));
                received.bytes.saturating_sub(Bytes(headers))
            },
            Bytes,
        )
    }

    /// Its distributions; complete after [`Recording::finish`](super::Recording::finish).
    pub fn delays(&self) -> &Delays {
        &self.delays
    }

    /// How it went over time.
    pub fn series(&self) -> &FlowSeries {
        &self.series
    }

    /// Packets lost after the warm-up, by reason, where there are any.
    pub fn lost_by(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        Loss::ALL.into_iter().zip(self.lost_by).filter(|(_, packets)| *packets > 0)
    }

    /// How long it took to deliver all it had; `None` where it did not end.
    pub fn completed(&self) -> Option<Duration> {
        self.completed
    }
}

impl Delays {
    /// Delay variation, arrival gaps, jitter and reordering: what needs the packet before. `owd` are the
    /// delays of `batch`, `values` is room for as many.
    fn pairs(&mut self, batch: &[Pending], owd: &[u64], values: &mut [u64]) {
        let (Some(first), Some(end)) = (batch.first(), batch.last()) else { return };
        let (packets, last) = if let Some(last) = self.last {
            (batch, last)
        } else {
            self.expected = first.sequence.wrapping_add(1);
            (&batch[1..], Last { now: first.now, owd: owd[0], sequence: first.sequence })
        };
        let owd = &owd[batch.len() - packets.len()..];
        let values = &mut values[..packets.len()];
        let mut before = last.now;
        for (gap, packet) in values.iter_mut().zip(packets) {
            *gap = packet.now.saturating_sub(before);
            before = packet.now;
        }
        self.iat.record_all(values);
        // R_j - R_i - (S_j - S_i) = (R_j - S_j) - (R_i - S_i).
        let mut before = last.owd;
        let mut jitter_16 = self.jitter_16;
        for (variation, owd) in values.iter_mut().zip(owd) {
            let magnitude = owd.abs_diff(before);
            *variation = magnitude;
            before = *owd;
            // The sample code of RFC 3550 A.8: J += |D| - ((J + 8) >> 4), J being scaled by 16.
            jitter_16 = (jitter_16 + magnitude.min(1 << 58)) - ((jitter_16 + 8) >> 4);
        }
        self.jitter_16 = jitter_16;
        let expected = self.expected;
        let in_order = |(place, packet): (usize, &Pending)| {
            packet.sequence == last.sequence.wrapping_add(1 + place as u32)
        };
        if expected == last.sequence.wrapping_add(1) && packets.iter().enumerate().all(in_order) {
            // The common case: none lost, none reordered. The signed differences telescope.
            self.ipdv_signed_sum += i128::from(before) - i128::from(last.owd);
            self.ipdv.record_all(values);
            self.expected = end.sequence.wrapping_add(1);
        } else {
            self.broken_pairs(packets, owd, values, last);
        }
        self.last = Some(Last { now: end.now, owd: before, sequence: end.sequence });
    }

    /// Delay variation and reordering where packets are missing or out of order. `variations` has one entry
    /// a packet; those of true pairs are moved to its front.
    #[cold]
    #[inline(never)]
    fn broken_pairs(&mut self, packets: &[Pending], owd: &[u64], variations: &mut [u64], mut before: Last) {
        let mut pairs = 0;
        for (place, (packet, &owd)) in packets.iter().zip(owd).enumerate() {
            if packet.sequence == before.sequence.wrapping_add(1) {
                variations[pairs] = variations[place];
                pairs += 1;
                self.ipdv_signed_sum += i128::from(owd) - i128::from(before.owd);
            }
            //= https://www.rfc-editor.org/rfc/rfc4737#section-3.3
            // Serial arithmetic, so that numbers may wrap.
            if packet.sequence.wrapping_sub(self.expected).cast_signed() < 0 {
                self.reordered += 1;
            } else {
                self.expected = packet.sequence.wrapping_add(1);
            }
            before = Last { now: packet.now, owd, sequence: packet.sequence };
        }
        self.ipdv.record_all(&variations[..pairs]);
    }
}
