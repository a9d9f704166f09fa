//! What is observed of one flow: its packets' balance, their delays, and how both went over time.
//!
//! The hot calls only count and note the packet; the distributions are filled for 64 packets at a time, one
//! histogram after the other: a batch's sums stay in registers, and equal values are one count.

use core::fmt;

use lockgate_engine::classify::Fields;
use lockgate_engine::discipline::DropReason;
use lockgate_engine::node::{Count, Tally};
use lockgate_engine::units::{Bytes, Duration, Instant};

use super::{Asks, Delays, FileRecord, Requests, TcpRecord};
use crate::emodel::Codec;
use crate::histogram::{BATCH, Coarse, Moments};
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
    /// Whether it is the other direction of a connection, which no comparison of flows counts.
    pub is_return: bool,
    /// Name of the congestion control of its sender; `None` where it has none.
    pub congestion: Option<String>,
    /// What it asks for; `None` where it only sends.
    pub asks: Option<Asks>,
    /// The codec of the call that it is one direction of; `None` where it is none.
    pub codec: Option<&'static Codec>,
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
            is_return: false,
            congestion: None,
            asks: None,
            codec: None,
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
    /// It could go no further: its hop limit was reached, no way leads on, or its header is wrong. Only live runs.
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

/// Received packets whose delays are not in the histograms yet, in columns; times in ps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pending {
    now: [u64; BATCH],
    sent: [u64; BATCH],
    waited: [u64; BATCH],
    sequence: [u32; BATCH],
}

impl Pending {
    const EMPTY: Self = Self { now: [0; BATCH], sent: [0; BATCH], waited: [0; BATCH], sequence: [0; BATCH] };
}

/// What was observed of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    warmup: Instant,
    /// All packets.
    sent: Count,
    received: Count,
    lost: Tally,
    inside: Tally,
    /// Those sent before the end of the warm-up.
    early: Totals,
    /// Received before the end of the warm-up.
    received_early: Tally,
    waiting: usize,
    pending: Box<Pending>,
    /// How many of the waiting packets the interval has seen.
    seen: usize,
    /// What each of the waiting packets took to propagate.
    propagation: Duration,
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
    /// Its TCP sender, where it has one.
    pub tcp: Option<Box<TcpRecord>>,
    /// Its requests, where it asks for anything.
    pub requests: Option<Box<Requests>>,
    /// The file it carries, where it carries one, or a bulk transfer without end.
    pub file: Option<FileRecord>,
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
            sent: Count::default(),
            received: Count::default(),
            lost: Tally::default(),
            inside: Tally::default(),
            early: Totals::default(),
            received_early: Tally::default(),
            waiting: 0,
            pending: Box::new(Pending::EMPTY),
            seen: 0,
            propagation: Duration::ZERO,
            delays: Delays::default(),
            interval: Coarse::default(),
            watched: None,
            sampled: Totals::default(),
            lost_by: [0; Loss::ALL.len()],
            delivered_bytes: None,
            completed: None,
            series: FlowSeries::default(),
            requests: setup.asks.map(|asks| Box::new(Requests::new(asks, warmup))),
            file: None,
            tcp: setup.congestion.as_ref().map(|name| Box::new(TcpRecord::new(name, warmup))),
            setup,
        }
    }

    /// The source sent a packet of this length.
    #[inline(always)]
    pub fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        self.sent.add(bytes);
        if now < self.warmup {
            count(&mut self.early.sent, bytes);
        }
    }

    /// A packet reached the receiver.
    #[inline(always)]
    pub fn on_received(&mut self, packet: &Received) {
        self.received.add(packet.bytes);
        if packet.sent < self.warmup {
            self.on_received_early(packet.now, packet.sent, packet.bytes);
            return;
        }
        if packet.propagation != self.propagation {
            self.settle();
            self.propagation = packet.propagation;
        }
        // The mask says to the compiler what `settle` keeps: the batch is never full here.
        let place = self.waiting & (BATCH - 1);
        let pending = &mut *self.pending;
        pending.now[place] = packet.now.as_picos();
        pending.sent[place] = packet.sent.as_picos();
        pending.waited[place] = packet.waited.as_picos();
        pending.sequence[place] = packet.sequence;
        self.waiting += 1;
        if self.waiting == BATCH {
            self.settle();
        }
    }

    #[cold]
    #[inline(never)]
    fn on_received_early(&mut self, now: Instant, sent: Instant, bytes: Bytes) {
        count(&mut self.early.received, bytes);
        if now < self.warmup {
            count(&mut self.received_early, bytes);
        }
        let owd = now.since(sent).as_picos();
        self.interval.record(owd);
        if let Some(watched) = &mut self.watched {
            watched.record(owd);
        }
    }

    /// A packet was lost; `sent` is when the source sent it.
    #[inline(never)]
    pub fn on_lost(&mut self, sent: Instant, bytes: Bytes, why: Loss) {
        count(&mut self.lost, bytes);
        if sent < self.warmup {
            count(&mut self.early.lost, bytes);
        } else {
            self.lost_by[why.index()] += 1;
        }
    }

    /// A packet is still in the network at the end of the run.
    pub fn on_inside(&mut self, sent: Instant, bytes: Bytes) {
        count(&mut self.inside, bytes);
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
        let count = self.waiting.min(BATCH);
        if count == 0 {
            return;
        }
        let (now, sequence) = (&self.pending.now[..count], &self.pending.sequence[..count]);
        let waited = &self.pending.waited[..count];
        let propagation = self.propagation.as_picos();
        let (mut owd, mut rest, mut gaps) = ([0; BATCH], [0; BATCH], [0; BATCH]);
        let (owd, rest, gaps) = (&mut owd[..count], &mut rest[..count], &mut gaps[..count]);
        let delays = &mut self.delays;
        for ((owd, now), sent) in owd.iter_mut().zip(now).zip(&self.pending.sent) {
            *owd = now.saturating_sub(*sent);
        }
        for ((rest, owd), waited) in rest.iter_mut().zip(&*owd).zip(waited) {
            *rest = owd.saturating_sub(*waited).saturating_sub(propagation);
        }
        delays.propagation_sum = delays.propagation_sum.wrapping_add(u128::from(propagation) * count as u128);
        let mut before = delays.last.map_or(now[0], |last| last.now);
        for (gap, &now) in gaps.iter_mut().zip(now) {
            *gap = now.saturating_sub(before);
            before = now;
        }
        let moments = Moments::of(owd);
        delays.owd.record_batch(owd, &moments);
        if self.seen == 0 {
            see(&mut self.interval, &mut self.watched, owd, &moments);
        } else {
            let unseen = &owd[self.seen..];
            see(&mut self.interval, &mut self.watched, unseen, &Moments::of(unseen));
        }
        delays.queueing.record_all(waited);
        delays.serialisation.record_all(rest);
        // The first packet of all has no gap before it.
        delays.iat.record_all(&gaps[usize::from(delays.last.is_none())..]);
        delays.pairs(now, sequence, owd, rest);
        (self.waiting, self.seen) = (0, 0);
    }

    /// Shows the interval the noted packets that it has not seen. The distributions of the whole run can wait
    /// until their batch is full: a flow of few packets an interval would have small ones.
    fn show(&mut self) {
        let noted = self.seen..self.waiting.min(BATCH);
        if noted.is_empty() {
            return;
        }
        let mut owd = [0; BATCH];
        let owd = &mut owd[noted.clone()];
        let (now, sent) = (&self.pending.now[noted.clone()], &self.pending.sent[noted.clone()]);
        for ((owd, now), sent) in owd.iter_mut().zip(now).zip(sent) {
            *owd = now.saturating_sub(*sent);
        }
        see(&mut self.interval, &mut self.watched, owd, &Moments::of(owd));
        self.seen = noted.end;
    }

    /// Closes the sampling interval that ends at `now`.
    pub fn sample(&mut self, now: Instant) {
        self.show();
        let whole = self.totals(Window::WholeRun);
        let series = &mut self.series;
        let [p50, p99] = self
            .interval
            .quantiles_in_place([0.5, 0.99])
            .map_or([None; 2], |pair| pair.map(|value| Some(Duration::from_picos(value))));
        series.end.push(now);
        series.offered_bytes.push(whole.sent.bytes.0 - self.sampled.sent.bytes.0);
        series.received_bytes.push(whole.received.bytes.0 - self.sampled.received.bytes.0);
        series.lost_packets.push(whole.lost.packets - self.sampled.lost.packets);
        series.owd_p50.push(p50);
        series.owd_p99.push(p99);
        series.owd_max.push(self.interval.max().map(Duration::from_picos));
        self.interval.clear();
        self.sampled = whole;
    }

    /// Gathers one-way delays by the look as well, from now on.
    pub fn watch(&mut self) {
        self.watched.get_or_insert_default();
    }

    /// No longer does.
    pub fn unwatch(&mut self) {
        self.watched = None;
    }

    /// Puts one-way delays in ps of the packets received since the last look into `delays`, in place of what is
    /// there, and starts over. Nothing where it is not watched.
    pub fn look_at_delays(&mut self, delays: &mut Coarse) {
        self.show();
        delays.clear();
        if let Some(watched) = &mut self.watched {
            core::mem::swap(&mut **watched, delays);
        }
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
        self.totals(Window::WholeRun).balance(&self.setup.name, Window::WholeRun)?;
        self.totals(Window::AfterWarmup).balance(&self.setup.name, Window::AfterWarmup)
    }

    /// Its packets by what became of them.
    pub fn totals(&self, window: Window) -> Totals {
        let whole = Totals {
            sent: self.sent.tally(),
            received: self.received.tally(),
            lost: self.lost,
            inside: self.inside,
        };
        match window {
            Window::WholeRun => whole,
            Window::AfterWarmup => whole.without(&self.early),
        }
    }

    /// What was received during the window, whenever it was sent: what throughput counts.
    pub fn received_in_window(&self) -> Tally {
        let (all, early) = (self.received.tally(), self.received_early);
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

/// Counts one-way delays in what is looked at by the interval.
#[inline]
fn see(interval: &mut Coarse, watched: &mut Option<Box<Coarse>>, owd: &[u64], moments: &Moments) {
    interval.record_batch(owd, moments);
    if let Some(watched) = watched {
        watched.record_batch(owd, moments);
    }
}
