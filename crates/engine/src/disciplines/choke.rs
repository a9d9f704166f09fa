//! `CHOKe`: random early detection in which an arriving packet is dropped together with a queued packet of
//! its own flow.
//!
//! ```text
//! average <= min      let in; nothing is compared
//! average >  min      one packet of the queue is drawn: of the same flow? both are dropped
//!                     else dropped with random early detection's probability, up to max
//! average >  max      dropped in any case
//! ```
//!
//! "Choose and keep for responsive flows, choose and kill for unresponsive flows": a flow is hit in
//! proportion to its arrivals times its queued packets, without any state for flows. A flow that overwhelms
//! the queue is thinned out on its way to the head. While the average is at or below `min`, no packet is
//! compared, of whatever flow.
//!
//! Average and probability are those of Linux's `red` (`crate::control::red`), over packets if the
//! thresholds are in packets. Removing a packet from the middle moves the shorter side of the queue.
//!
//! Differs: flows are distinguished by the flow a packet belongs to and not by its addresses. The packet to
//! compare is uniform over the queued ones, as in the paper; Linux draws slots and takes the oldest packet
//! after three empty ones.

use serde::{Deserialize, Serialize};

use crate::control::red::average::Average;
use crate::control::red::{Flavour, Gap, weight};
use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, Guarantee, Invalid, NoShare, check_limit,
};
use crate::explanation::{Explanation, Foresight, Value, why};
use crate::packet::{Header, Packet};
use crate::queue::PacketQueue;
use crate::units::{Bytes, Limit, Packets, Probability, Rate};

/// Parameters of `choke`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Limit of the backlog, in packets (`400p`) or bytes (`400kB`). Further arrivals are dropped.
    pub limit: Limit,
    /// Average backlog up to which nothing is compared or dropped, in the unit of `max`. Without it, a
    /// third of `max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Limit>,
    /// Average backlog above which everything is dropped, in packets or bytes. Without it, a quarter of
    /// `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Limit>,
    /// Typical length of a packet.
    pub avpkt: Bytes,
    /// Burst in packets that the average ignores; sets the averaging weight.
    /// Without it, `(2 min + max) / 3`, in packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Drop probability when the average reaches `max`.
    pub probability: Probability,
    /// Rate of the link; the average decays while it is idle as if packets of this rate had been sent.
    pub bandwidth: Rate,
    /// Marks ECN-capable packets instead of dropping them, except packets that matched their own flow, which
    /// are dropped.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(Packets(400)),
            min: None,
            max: None,
            avpkt: Bytes(1000),
            burst: None,
            probability: Probability::from_f64(0.02).unwrap_or(Probability::ZERO),
            bandwidth: Rate::from_bits(10_000_000),
            ecn: false,
        }
    }
}

/// Thresholds are of 32 bits before they are scaled, as in Linux.
const LARGEST_THRESHOLD: u64 = u32::MAX as u64;

/// Thresholds in one unit, and values computed from them.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    /// True if backlogs are counted in packets.
    in_packets: bool,
    min: u64,
    max: u64,
    /// The weight is `2^-shift`.
    shift: i32,
    /// `max - min` at probability 1, of 2^32.
    slope: u64,
}

/// Returns a limit's number, and whether it is in packets.
fn split(limit: Limit) -> (u64, bool) {
    match limit {
        Limit::Packets(packets) => (packets.0, true),
        Limit::Bytes(bytes) => (bytes.0, false),
    }
}

impl Config {
    fn thresholds(&self) -> Result<Thresholds, Invalid> {
        check_limit(self.limit)?;
        let (limit, of_limit) = split(self.limit);
        let (max, in_packets) = self.max.map_or((limit / 4, of_limit), split);
        let (min, of_min) = self.min.map_or((max / 3, in_packets), split);
        if of_min != in_packets {
            return Err(Invalid::new("min", "must be in the unit of `max`: packets or bytes"));
        }
        if max > LARGEST_THRESHOLD {
            return Err(Invalid::new("max", "is up to 4294967295 packets or bytes"));
        }
        if min >= max {
            return Err(Invalid::new("min", "must be below `max`"));
        }
        if !(1..=LARGEST_THRESHOLD).contains(&self.avpkt.0) {
            return Err(Invalid::new("avpkt", "is from `1B` to `4294967295B`"));
        }
        if self.bandwidth.is_zero() {
            return Err(Invalid::new("bandwidth", "must be above `0bit`"));
        }
        let unit = if in_packets { 1 } else { self.avpkt.0 };
        let burst = self.burst.map_or_else(|| (2 * min + max) / (3 * unit), u64::from);
        let shift = weight(burst, min as f64 / unit as f64).ok_or_else(|| {
            Invalid::new("burst", "is from `min` (in packets) to what a weight of 2^-31 can follow")
        })?;
        let slope = (self.probability.steps() / (max - min)).max(1);
        Ok(Thresholds { in_packets, min, max, shift, slope })
    }

    /// Creates the average of an empty queue.
    fn average(&self, thresholds: &Thresholds) -> Result<Average, Invalid> {
        Average::new(Flavour::Linux, thresholds.shift, self.bandwidth, self.avpkt)
    }
}

/// `CHOKe`.
pub struct Choke {
    config: Config,
    thresholds: Thresholds,
    average: Average,
    gap: Gap,
    /// Number of pairs dropped because they were of one flow.
    matches: u64,
    queue: PacketQueue,
}

impl Discipline for Choke {
    const ABOUT: About = About {
        name: "choke",
        summary: "random early detection that drops an arriving packet with a random one of its own flow",
        source: "Pan, Prabhakar and Psounis, CHOKe, INFOCOM 2000; Tang, Wang and Low, Transactions on Networking 12 (2004); tc-choke(8)",
        guarantees: &[
            Guarantee::new(
                "an unresponsive flow among many others gets a / (e^a + a) of the link, never more than 1 / (1 + e) = 26.9 %, and ever less the more it offers (Tang, Wang and Low)",
                &["choke-share"],
            ),
            Guarantee::new(
                "above `min` an arriving packet meets each of those that wait with the same probability, and both go where they are of one flow",
                &["choke-draw"],
            ),
            Guarantee::new(
                "packets that never meet their own flow are dropped as by random early detection: the average after n arrivals to a backlog q is q (1 - (1-w)^n), gaps are uniform on 1..1/p",
                &["red-average", "red-gaps"],
            ),
        ],
        drops_early: true,
        example: "limit = \"400p\"\nmin = \"30p\"\nmax = \"90p\"\navpkt = \"1000B\"\nprobability = \"2%\"\n",
        has_own_times: true,
        draws: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let thresholds = config.thresholds()?;
        let average = config.average(&thresholds)?;
        let queue = PacketQueue::default();
        Ok(Self { config, thresholds, average, gap: Gap::new(), matches: 0, queue })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let thresholds = config.thresholds()?;
        let average = config.average(&thresholds)?;
        // An average in another unit is void: it restarts.
        let is_comparable = thresholds.in_packets == self.thresholds.in_packets;
        self.average = if is_comparable { self.average.retuned(average) } else { average };
        self.gap.reset();
        self.thresholds = thresholds;
        self.config = config;
        self.queue.shrink(self.config.limit, cx);
        if self.queue.is_empty() {
            self.average.idles(cx.now);
        }
        Ok(())
    }

    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let packets = self.queue.len();
        let backlog = if self.thresholds.in_packets { Bytes(packets as u64) } else { self.queue.bytes() };
        self.average.sample(backlog, packets, cx.now);
        let Thresholds { min, max, slope, .. } = self.thresholds;
        let (scaled, shift) = self.average.linux();
        let mut reason = None;
        if scaled <= min << shift {
            self.gap.reset();
        } else {
            if let Some(met) = self.meet(&packet, cx) {
                self.matches += 1;
                cx.drop(met, DropReason::Early);
                cx.drop(packet, DropReason::Early);
                return;
            }
            if scaled > max << shift {
                self.gap.reset();
                reason = Some(DropReason::Forced);
            } else {
                let excess = (scaled - (min << shift)) >> shift;
                let draw = || u64::from(cx.random.bits()) / slope;
                reason = self.gap.ends_as_in_linux(excess, draw).then_some(DropReason::Early);
            }
        }
        if let Some(reason) = reason
            && !(self.config.ecn && cx.mark(&mut packet))
        {
            cx.drop(packet, reason);
        } else if self.queue.has_room(&packet, self.config.limit) {
            self.queue.push(packet);
        } else {
            cx.drop(packet, DropReason::Limit);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.average.pop(&mut self.queue, self.config.bandwidth, cx.now)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.state("packets", self.queue.len());
        to.state("average", Value::Number(self.average.at(cx.now)));
        let Some(oldest) = self.queue.front() else { return to.empty() };
        let waited = cx.now.since(oldest.arrived);
        to.send_own(None, oldest, why!["the oldest of ", self.queue.len(), ": it waited ", waited]);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let average = if self.thresholds.in_packets { "average_packets" } else { "average_bytes" };
        emit(average, self.average.bytes());
        emit("matches", self.matches as f64);
    }
}

impl Choke {
    /// Draws one of the queued packets, and removes it if it is of the flow of `packet`.
    fn meet(&mut self, packet: &Header, cx: &mut Context<'_>) -> Option<Packet> {
        let count = u32::try_from(self.queue.len()).unwrap_or(u32::MAX);
        if count == 0 {
            return None;
        }
        let index = cx.random.below(count) as usize;
        let is_own = self.queue.get(index).is_some_and(|drawn| drawn.flow == packet.flow);
        if is_own { self.queue.take(index) } else { None }
    }
}
