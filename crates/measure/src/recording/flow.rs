//! Observations of one flow: the balance of its packets, their delays, and both over time.
//!
//! The hot calls only count and buffer the packet. The distributions are filled 64 packets at a time, one
//! histogram after the other: the sums of a batch stay in registers, and equal values are counted in one
//! step.

mod batch;
mod loss;
mod part;

use std::sync::Arc;

use lockgate_engine::classify::Fields;
use lockgate_engine::node::{Count, Tally};
use lockgate_engine::units::{Bytes, Duration, Instant};

use self::batch::{Batch, Columns, MEMBER_BATCH, Pending};
pub use self::loss::Loss;
use self::part::FlowPart;
use super::{Brief, Delays, Detail, FileRecord, Imbalance, RequestKind, Requests, TcpRecord, Totals, Window};
use crate::emodel::Codec;
use crate::histogram::{BATCH, Coarse, Moments};
use crate::lazy::{Empty, Lazy};
use crate::metric::During;
use crate::series::FlowSeries;
use crate::vectors::{Work, vectorised};

/// Default of the header bytes that goodput leaves out: Ethernet, IPv4 and UDP.
pub const UDP_HEADER_BYTES: u32 = 14 + 20 + 8;

/// Properties of a flow known before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSetup {
    /// Name in the scenario.
    pub name: String,
    /// Node at which it starts; the flows of a node share its name.
    pub from: Arc<str>,
    /// Node at which it ends.
    pub to: Arc<str>,
    /// Propagation delay along its route at the start of the run.
    pub propagation: Duration,
    /// Header bytes of each of its frames; goodput leaves them out.
    pub header_bytes: u32,
    /// Addresses, for captures, if any. Set if rows of packets are kept.
    pub fields: Option<Box<Fields>>,
    /// DSCP and ECN bits, for captures.
    pub traffic_class: u8,
    /// True if it is the reverse direction of a connection; comparisons of flows leave it out.
    pub is_return: bool,
    /// Name of its sender's congestion control, if any.
    pub congestion: Option<&'static str>,
    /// Kind of its requests; `None` if it only sends.
    pub request_kind: Option<RequestKind>,
    /// Codec, if the flow is one direction of a call.
    pub codec: Option<&'static Codec>,
}

impl Default for FlowSetup {
    fn default() -> Self {
        Self {
            name: String::new(),
            from: Arc::default(),
            to: Arc::default(),
            propagation: Duration::ZERO,
            header_bytes: UDP_HEADER_BYTES,
            fields: None,
            traffic_class: 0,
            is_return: false,
            congestion: None,
            request_kind: None,
            codec: None,
        }
    }
}

/// A packet on arrival at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Arrival of its last bit.
    pub now: Instant,
    /// Time at which the source sent it.
    pub sent: Instant,
    /// Time spent waiting in queues.
    pub waited: Duration,
    /// Time spent propagating along links.
    pub propagation: Duration,
    /// Frame length.
    pub bytes: Bytes,
    /// Number within the flow, from 0.
    pub sequence: u32,
}

/// Packet received last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latest {
    /// Time at which the source sent it.
    pub sent: Instant,
    /// Arrival of its last bit.
    pub received: Instant,
    /// Number within the flow, from 0.
    pub sequence: u32,
}

impl Latest {
    /// Returns its one-way delay.
    pub fn delay(&self) -> Duration {
        self.received.since(self.sent)
    }
}

/// Totals at the last sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sampled {
    sent_bytes: u64,
    received_bytes: u64,
    lost_packets: u64,
}

/// Parts of the run, of a flow in a run that is changed, or of which a part is judged. And the copies of its
/// packets, which few flows have.
#[derive(Clone, Debug, PartialEq)]
struct Divisions {
    /// Times between changes, the last without an end, and times of expectations: a record each.
    parts: Vec<FlowPart>,
    /// Copies that links made of its packets.
    duplicated: Tally,
}

impl Empty for Divisions {
    const EMPTY: &'static Self =
        &Self { parts: Vec::new(), duplicated: Tally { packets: 0, bytes: Bytes::ZERO } };
}

/// Observations of one flow. The fields that each packet touches come first, in one cache line.
#[derive(Clone, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct FlowRecord {
    /// All packets.
    sent: Count,
    received: Count,
    /// Time before which a packet takes the cold path: the end of the warm-up, or of the last of `parts`.
    special_until: Instant,
    /// Propagation delay, the same for all buffered packets.
    propagation: Duration,
    pending: Batch,
    /// Number of buffered packets that are already in `interval`.
    seen: u8,
    /// Number of intervals closed.
    rows: u32,
    payload_bytes: Option<u64>,
    lost: Tally,
    inside: Tally,
    warmup: Instant,
    /// Packets sent before the end of the warm-up.
    early: Lazy<Totals>,
    /// Packets received outside the window: before the end of the warm-up or, in the record of a part, after
    /// its end.
    received_outside: Tally,
    /// Of few flows: one word keeps the record within eight cache lines, and fills the gap before `delays`.
    divisions: Lazy<Divisions>,
    delays: Delays,
    /// Observations instead of distributions and series, if it is recorded briefly.
    brief: Option<Box<Brief>>,
    interval: Lazy<Coarse>,
    /// One-way delays in ps since the last observation, while an observer is attached.
    watched: Option<Box<Coarse>>,
    sampled: Sampled,
    lost_by: Lazy<[u64; Loss::ALL.len()]>,
    completed: Option<Duration>,
    series: Lazy<FlowSeries>,
    /// TCP sender, if any.
    pub tcp: Option<Box<TcpRecord>>,
    /// Requests, if it makes any.
    pub requests: Option<Box<Requests>>,
    /// File or bulk transfer that it carries, if any.
    pub file: Option<Box<FileRecord>>,
    /// Properties known before the run.
    pub setup: FlowSetup,
}

#[inline]
fn count(tally: &mut Tally, bytes: Bytes) {
    tally.packets += 1;
    tally.bytes += bytes;
}

impl FlowRecord {
    pub(super) fn new(setup: FlowSetup, warmup: Instant, detail: Detail) -> Self {
        Self {
            special_until: warmup,
            warmup,
            sent: Count::default(),
            received: Count::default(),
            lost: Tally::default(),
            inside: Tally::default(),
            early: Lazy::default(),
            received_outside: Tally::default(),
            pending: Batch::default(),
            seen: 0,
            propagation: Duration::ZERO,
            delays: Delays::default(),
            brief: detail.is_brief(&setup.name).then(|| Box::new(Brief::new(detail))),
            interval: Lazy::default(),
            watched: None,
            sampled: Sampled::default(),
            rows: 0,
            lost_by: Lazy::default(),
            payload_bytes: None,
            completed: None,
            divisions: Lazy::new(),
            series: Lazy::default(),
            requests: setup.request_kind.map(|kind| Box::new(Requests::new(kind, warmup))),
            file: None,
            tcp: setup.congestion.map(|name| Box::new(TcpRecord::new(name, warmup))),
            setup,
        }
    }

    /// Records a packet of this length sent by the source.
    #[inline(always)]
    pub fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        self.sent.add(bytes);
        if now < self.special_until {
            self.on_sent_special(now, bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn on_sent_special(&mut self, now: Instant, bytes: Bytes) {
        if now < self.warmup {
            count(&mut self.early.sent, bytes);
        }
        for part in self.parts_mut().filter(|part| now < part.during.to) {
            part.record.on_sent(now, bytes);
        }
    }

    /// Records a packet that reached the receiver.
    #[inline(always)]
    pub fn on_received(&mut self, packet: &Received) {
        self.received.add(packet.bytes);
        if packet.sent < self.special_until && self.is_received_early(packet) {
            return;
        }
        if packet.propagation != self.propagation {
            self.flush();
            self.propagation = packet.propagation;
        }
        let is_full = self.pending.push(
            Pending {
                now: packet.now.as_picos(),
                sent: packet.sent.as_picos(),
                waited: packet.waited.as_picos(),
                sequence: packet.sequence,
                bytes: packet.bytes.0 as u32,
            },
            || self.brief.is_some(),
        );
        if is_full {
            self.flush();
        }
    }

    /// Records a packet that was sent in the warm-up. Returns true if it was.
    #[cold]
    #[inline(never)]
    fn is_received_early(&mut self, packet: &Received) -> bool {
        let is_early = packet.sent < self.warmup;
        if is_early {
            self.on_received_early(packet.now, packet.sent, packet.bytes);
        }
        is_early
    }

    fn on_received_early(&mut self, now: Instant, sent: Instant, bytes: Bytes) {
        count(&mut self.early.received, bytes);
        if now < self.warmup {
            count(&mut self.received_outside, bytes);
        }
        for part in self.parts_mut().filter(|part| part.during.contains(now)) {
            part.record.count_received_early(bytes);
        }
        let owd = now.since(sent).as_picos();
        match &mut self.brief {
            Some(brief) => brief.see(owd),
            None => self.interval.record(owd),
        }
        if let Some(watched) = &mut self.watched {
            watched.record(owd);
        }
    }

    /// Records the copy that a link made of a packet; `sent` is the time at which the source sent the packet.
    #[cold]
    #[inline(never)]
    pub fn on_duplicated(&mut self, sent: Instant, bytes: Bytes) {
        self.update(sent, |record| {
            if sent < record.warmup {
                count(&mut record.early.duplicated, bytes);
            }
            count(&mut record.divisions.duplicated, bytes);
        });
    }

    /// Records a lost packet; `sent` is the time at which the source sent it.
    #[inline(never)]
    pub fn on_lost(&mut self, sent: Instant, bytes: Bytes, why: Loss) {
        self.update(sent, |record| {
            count(&mut record.lost, bytes);
            if sent < record.warmup {
                count(&mut record.early.lost, bytes);
            } else {
                record.lost_by[why.index()] += 1;
            }
        });
    }

    /// Records a packet that is still in the network at the end of the run.
    pub fn on_inside(&mut self, sent: Instant, bytes: Bytes) {
        self.update(sent, |record| {
            count(&mut record.inside, bytes);
            if sent < record.warmup {
                count(&mut record.early.inside, bytes);
            }
        });
    }

    /// Records bytes of payload that arrived at `now`, each once. Drivers of reliable transports call it;
    /// goodput is then computed from it instead of from header sizes.
    pub fn on_payload(&mut self, now: Instant, bytes: Bytes) {
        self.update(now, |record| {
            let counted = if now < record.warmup { 0 } else { bytes.0 };
            record.payload_bytes = Some(record.payload_bytes.unwrap_or(0) + counted);
        });
    }

    /// Records a request sent at `now`; no-op of a flow that makes none.
    pub fn on_asked(&mut self, now: Instant) {
        self.update(now, |record| {
            if let Some(requests) = &mut record.requests {
                requests.on_asked(now);
            }
        });
    }

    /// Records the answer at `now` to the request sent at `asked`; no-op of a flow that makes none.
    pub fn on_answered(&mut self, asked: Instant, now: Instant) {
        self.update(asked, |record| {
            if let Some(requests) = &mut record.requests {
                requests.on_answered(asked, now);
            }
        });
    }

    /// Updates the record, and those of the parts that end after `time`.
    #[inline(always)]
    fn update(&mut self, time: Instant, update: impl Fn(&mut Self)) {
        update(self);
        for part in self.parts_mut().filter(|part| time < part.during.to) {
            update(&mut part.record);
        }
    }

    /// Begins a phase at `now`, which is after the warm-up: something changes. The record of the first phase
    /// is that of the run so far. A flow that is recorded briefly has no phases.
    pub(super) fn begin_phase(&mut self, now: Instant) {
        if self.brief.is_some() {
            return;
        }
        self.flush();
        if let Some(open) = self.parts_mut().find(|part| part.is_open()) {
            open.during.to = now;
        } else {
            let record = Self { divisions: Lazy::new(), series: Lazy::default(), ..self.clone() };
            self.divisions.parts.push(FlowPart { during: During { from: self.warmup, to: now }, record });
        }
        let mut record = Self::new(self.setup.clone(), now, Detail::All);
        record.early.sent = self.sent.tally();
        record.payload_bytes = self.payload_bytes.map(|_| 0);
        self.divisions.parts.push(FlowPart { during: During { from: now, to: Instant::NEVER }, record });
    }

    /// Records that the flow has delivered everything, this long after its start.
    pub fn on_complete(&mut self, after: Duration) {
        self.completed = Some(after);
    }

    /// Adds the buffered packets to all distributions.
    #[cold]
    #[inline(never)]
    pub(super) fn flush(&mut self) {
        vectorised(Flush(self));
        // A phase may be open for long: its sends are counted by their difference, and cost no packet.
        let sent = self.sent;
        if let Some(open) = self.parts_mut().find(|part| part.is_open()) {
            open.record.sent = sent;
        }
    }

    /// Counts the buffered packets, at most `COUNT`.
    #[inline(always)]
    fn count_packets<const COUNT: usize>(&mut self) {
        if self.pending.all().is_empty() {
            return;
        }
        let columns = Columns::<COUNT>::of(self.pending.all().iter());
        let owd = columns.owd();
        let unseen = &owd[usize::from(self.seen)..];
        let moments = Moments::sum(owd);
        let latest = if self.seen == 0 { moments } else { Moments::of(unseen) };
        match &mut self.brief {
            Some(brief) => see_brief(brief, &mut self.watched, unseen, &latest),
            None => see(&mut self.interval, &mut self.watched, unseen, &latest),
        }
        self.count_columns(&columns, &moments);
        self.count_in_parts(&columns, &moments);
        self.pending.clear();
        self.seen = 0;
    }

    /// Adds a batch to the distributions; `moments` are those of its one-way delays.
    #[inline(always)]
    fn count_columns<const COUNT: usize>(&mut self, columns: &Columns<COUNT>, moments: &Moments) {
        let (now, owd) = (columns.now(), columns.owd());
        let (waited, sequence) = (columns.waited(), columns.sequence());
        let propagation = self.propagation.as_picos();
        let mut rest = [0; COUNT];
        let rest = &mut rest[..columns.count.min(COUNT)];
        let delays = &mut self.delays;
        let propagated = u128::from(propagation) * owd.len() as u128;
        delays.propagation_sum = delays.propagation_sum.wrapping_add(propagated);
        if let Some(brief) = &mut self.brief {
            brief.record(owd, waited, moments);
            delays.pairs(now, sequence, owd, rest, false);
            return;
        }
        for ((rest, owd), waited) in rest.iter_mut().zip(owd).zip(waited) {
            *rest = owd.saturating_sub(*waited).saturating_sub(propagation);
        }
        delays.owd.record_batch(owd, moments);
        delays.queueing.record_all(waited);
        delays.serialisation.record_all(rest);
        let mut gaps = [0; COUNT];
        let gaps = &mut gaps[..now.len()];
        let mut before = delays.last.map_or(now[0], |last| last.now);
        for (gap, &now) in gaps.iter_mut().zip(now) {
            *gap = now.saturating_sub(before);
            before = now;
        }
        // The very first packet has no gap before it.
        delays.iat.record_all(&gaps[usize::from(delays.last.is_none())..]);
        delays.pairs(now, sequence, owd, rest, true);
    }

    /// Adds the buffered packets to the parts of the run; `moments` are those of their one-way delays.
    #[inline]
    fn count_in_parts<const COUNT: usize>(&mut self, columns: &Columns<COUNT>, moments: &Moments) {
        let Some(Divisions { parts, .. }) = self.divisions.get_mut() else { return };
        let packets = self.pending.all();
        let earliest = packets.iter().map(|packet| packet.sent).min().unwrap_or(u64::MAX);
        for part in parts.iter_mut().filter(|part| earliest < part.during.to.as_picos()) {
            part.count(packets, self.propagation, columns, moments);
        }
    }

    /// Adds to `interval` the buffered packets that are not in it yet. The distributions of the whole run
    /// wait until their batch is full: a flow of few packets per interval would have small batches.
    fn show(&mut self) {
        let unseen = &self.pending.all()[usize::from(self.seen)..];
        if unseen.is_empty() {
            return;
        }
        let mut owd = [0; BATCH];
        let owd = &mut owd[..unseen.len().min(BATCH)];
        for (owd, packet) in owd.iter_mut().zip(unseen) {
            *owd = packet.owd();
        }
        let moments = Moments::of(owd);
        match &mut self.brief {
            Some(brief) => see_brief(brief, &mut self.watched, owd, &moments),
            None => see(&mut self.interval, &mut self.watched, owd, &moments),
        }
        self.seen = self.pending.all().len() as u8;
    }

    /// Closes the sampling intervals that ended since the last call; `ends` are the ends of all intervals so
    /// far. Everything since the last call belongs to the last interval.
    pub(super) fn sample(&mut self, ends: &[Instant]) {
        let Some((now, idle)) = ends.get(self.rows as usize..).and_then(<[_]>::split_last) else { return };
        self.rows = ends.len() as u32;
        match &mut self.brief {
            Some(brief) => brief.idle(idle.len()),
            None => self.series.idle(idle),
        }
        self.show();
        let whole = Sampled {
            sent_bytes: self.sent.tally().bytes.0,
            received_bytes: self.received.tally().bytes.0,
            lost_packets: self.lost.packets,
        };
        let before = core::mem::replace(&mut self.sampled, whole);
        if let Some(brief) = &mut self.brief {
            brief.sample(whole.received_bytes - before.received_bytes);
            return;
        }
        let series = &mut self.series;
        let [p50, p99] = self
            .interval
            .quantiles_in_place([0.5, 0.99])
            .map_or([None; 2], |pair| pair.map(|value| Some(Duration::from_picos(value))));
        series.end.push(*now);
        series.offered_bytes.push(whole.sent_bytes - before.sent_bytes);
        series.received_bytes.push(whole.received_bytes - before.received_bytes);
        series.lost_packets.push(whole.lost_packets - before.lost_packets);
        series.owd_p50.push(p50);
        series.owd_p99.push(p99);
        series.owd_max.push(self.interval.max().map(Duration::from_picos));
        self.interval.clear();
    }

    /// Starts to collect one-way delays for observations as well.
    pub fn watch(&mut self) {
        self.watched.get_or_insert_default();
    }

    /// Stops collecting one-way delays for observations.
    pub fn unwatch(&mut self) {
        self.watched = None;
    }

    /// Replaces the content of `delays` with the one-way delays in ps of the packets received since the
    /// last observation, and starts over. Empty unless an observer is attached.
    pub fn take_delays(&mut self, delays: &mut Coarse) {
        self.show();
        delays.clear();
        if let Some(watched) = &mut self.watched {
            core::mem::swap(&mut **watched, delays);
        }
    }

    /// Returns true if all packets are in the distributions.
    pub(crate) fn is_flushed(&self) -> bool {
        self.pending.all().is_empty()
    }

    /// Returns true if another run's record of the flow has the same packets: as many sent, received and lost
    /// in each interval, and the same delays, waits and gaps, to the picosecond in their sums.
    pub(crate) fn has_same_packets(&self, other: &Self) -> bool {
        (self.sent, self.received, self.lost, self.inside)
            == (other.sent, other.received, other.lost, other.inside)
            && (&self.lost_by, &self.delays, &self.brief) == (&other.lost_by, &other.delays, &other.brief)
            && (&self.series, self.payload_bytes) == (&other.series, other.payload_bytes)
    }

    /// Checks that its packets and bytes are accounted for.
    ///
    /// # Errors
    /// Returns the numbers that do not balance.
    pub fn balance(&self) -> Result<(), Imbalance> {
        self.totals(Window::WholeRun).balance(&self.setup.name, Window::WholeRun)?;
        self.totals(Window::AfterWarmup).balance(&self.setup.name, Window::AfterWarmup)
    }

    fn parts_mut(&mut self) -> impl Iterator<Item = &mut FlowPart> {
        self.divisions.get_mut().into_iter().flat_map(|divisions| &mut divisions.parts)
    }

    /// Observes a part of the run as well; called before the run.
    pub(super) fn add_part(&mut self, during: During, detail: Detail) {
        self.special_until = self.special_until.max(during.to);
        let record = Self::new(self.setup.clone(), during.from, detail);
        self.divisions.parts.push(FlowPart { during, record });
    }

    /// Counts a packet that arrives in the window and was sent before.
    fn count_received_early(&mut self, bytes: Bytes) {
        self.received.add(bytes);
        count(&mut self.early.received, bytes);
    }

    /// Returns its record of a part of the run: of one that the setup names, or of a
    /// [phase](super::Recording::phases).
    pub fn part(&self, during: During) -> Option<&Self> {
        self.divisions.parts.iter().find(|part| part.during == during).map(|part| &part.record)
    }

    /// Returns its record of a part of the run; an empty one if the part is not observed.
    pub(super) fn of_part(&self, during: During, detail: Detail) -> Self {
        let Some(record) = self.part(during) else {
            return Self::new(self.setup.clone(), during.from, detail);
        };
        Self { tcp: self.tcp.as_deref().map(|tcp| Box::new(tcp.of_part(during))), ..record.clone() }
    }

    /// Returns its packets by their fate.
    pub fn totals(&self, window: Window) -> Totals {
        let whole = Totals {
            sent: self.sent.tally(),
            duplicated: self.divisions.duplicated,
            received: self.received.tally(),
            lost: self.lost,
            inside: self.inside,
        };
        match window {
            Window::WholeRun => whole,
            Window::AfterWarmup => whole.without(&self.early),
        }
    }

    /// Returns the packets received during the window, whenever sent: the basis of throughput.
    pub fn received_in_window(&self) -> Tally {
        let (all, outside) = (self.received.tally(), self.received_outside);
        Tally { packets: all.packets - outside.packets, bytes: all.bytes.saturating_sub(outside.bytes) }
    }

    /// Returns the bytes of payload that arrived during the window. In live runs the time at which an
    /// application reads them stands in for that of their arrival, so they are limited to what arrived.
    pub fn payload_in_window(&self) -> Bytes {
        let received = self.received_in_window();
        let headers = received.packets.saturating_mul(u64::from(self.setup.header_bytes));
        self.payload_bytes.map_or(received.bytes.saturating_sub(Bytes(headers)), Bytes).min(received.bytes)
    }

    /// Returns its distributions; complete after [`Recording::finish`](super::Recording::finish).
    pub fn delays(&self) -> &Delays {
        &self.delays
    }

    /// Returns the last packets received in the window: those whose delays are not in the distributions yet,
    /// and the last one before them. Empty for a flow that is recorded briefly.
    pub fn latest(&self) -> impl Iterator<Item = Latest> + '_ {
        let time = Instant::from_picos;
        let counted = self.delays.last.iter().map(move |last| Latest {
            sent: time(last.now.saturating_sub(last.owd)),
            received: time(last.now),
            sequence: last.sequence,
        });
        let pending = self.pending.all().iter().map(move |packet| Latest {
            sent: time(packet.sent),
            received: time(packet.now),
            sequence: packet.sequence,
        });
        counted.chain(pending).filter(|_| self.brief.is_none())
    }

    /// Returns its brief observations, if it is recorded briefly: its distributions and series are empty
    /// then.
    pub fn brief(&self) -> Option<&Brief> {
        self.brief.as_deref()
    }

    /// Returns its series.
    pub fn series(&self) -> &FlowSeries {
        &self.series
    }

    /// Returns the packets lost after the warm-up, by reason, if any.
    pub fn lost_by(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        Loss::ALL.into_iter().zip(*self.lost_by).filter(|(_, packets)| *packets > 0)
    }

    /// Returns the time from its start until it had delivered everything; `None` if it did not end.
    pub fn completed(&self) -> Option<Duration> {
        self.completed
    }
}

/// Adds one-way delays to an interval that is recorded briefly.
fn see_brief(brief: &mut Brief, watched: &mut Option<Box<Coarse>>, owd: &[u64], moments: &Moments) {
    brief.see(owd.iter().copied().max().unwrap_or(0));
    if let Some(watched) = watched {
        watched.record_batch(owd, moments);
    }
}

/// Flow whose buffered packets are to be counted.
struct Flush<'a>(&'a mut FlowRecord);

impl Work for Flush<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.0.pending {
            Batch::Few(..) => self.0.count_packets::<MEMBER_BATCH>(),
            _ => self.0.count_packets::<BATCH>(),
        }
    }
}

/// Adds one-way delays to the distributions of the interval.
#[inline]
fn see(interval: &mut Coarse, watched: &mut Option<Box<Coarse>>, owd: &[u64], moments: &Moments) {
    interval.record_batch(owd, moments);
    if let Some(watched) = watched {
        watched.record_batch(owd, moments);
    }
}
