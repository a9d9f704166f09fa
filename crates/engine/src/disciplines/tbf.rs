//! Token bucket filter: packets leave no faster than tokens arrive.
//!
//! ```text
//! rate -> ( tokens, at most `burst` ) --.
//! peakrate -> ( tokens, at most `mtu` ) --+--> the head packet leaves when both hold its length
//! ```
//!
//! Tokens are kept as *time*, as in Linux: the bucket holds the time its burst takes at its rate, and a
//! packet costs the time of its length, rounded up. Bytes sent in any interval of length t are at most
//! `burst + rate * t`. The head packet is never overtaken, and every arrival tries again: with a coarse
//! clock (see [`clock`](crate::clock)) the timer is only one of two ways to wake up.

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, DropReason, FULL_FRAME, Guarantee, Invalid, NoShare,
    PortConditions, check_limit,
};
use crate::explanation::{Choice, Explanation, Foresight, Row, why};
use crate::node::{Node, Peek};
use crate::overhead::{FrameOverhead, Framing};
use crate::pacing::Pace;
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Bytes, Duration, Instant, Limit, Overhead, Rate};

/// Parameters of `tbf`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Long-run rate.
    pub rate: Rate,
    /// Depth of the bucket: bytes that may leave at once after silence. It must hold the largest packet;
    /// larger packets are dropped as `oversize`.
    pub burst: Bytes,
    /// Rate of a second bucket, which bounds how fast a burst leaves; needs `mtu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peakrate: Option<Rate>,
    /// Depth of the second bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// Limit of the backlog, in bytes or packets. One of `limit` and `latency`, unless a child does the
    /// queueing; `latency = "1s"` where neither is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Longest wait of a packet: sets the limit to `rate * latency + burst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Cost of a packet beyond the length of its frame: `PPPoE` over ATM is `26B`, the 40 B of
    /// `pppoe-llcsnap` less the frame's 14 of Ethernet. The limit counts frames without it.
    #[serde(default)]
    pub overhead: Overhead,
    /// Minimum cost of a packet, overhead included.
    #[serde(default)]
    pub mpu: Bytes,
    /// Framing of the link behind: `noatm`, `atm` (53 bytes for every 48 begun) or `ptm` (one more for every
    /// 64).
    #[serde(default)]
    pub framing: Framing,
}

/// Bucket whose tokens are time.
struct Bucket {
    rate: Rate,
    /// Time that a full bucket's bytes take.
    depth: Duration,
    tokens: Duration,
}

impl Bucket {
    fn new(rate: Rate, depth: Bytes) -> Self {
        let depth = rate.time_for(depth);
        Self { rate, depth, tokens: depth }
    }

    /// Returns the tokens after `elapsed` more time.
    #[inline]
    fn after(&self, elapsed: Duration) -> Duration {
        (self.tokens + elapsed).min(self.depth)
    }

    /// Returns the bucket with a new rate and depth; its bytes are kept as far as they fit, fractions of a
    /// byte as well: a bucket that is changed often must not lose them each time.
    fn retuned(&self, rate: Rate, depth: Bytes) -> Self {
        let fresh = Self::new(rate, depth);
        let bit_picos = u128::from(self.tokens.as_picos()) * u128::from(self.rate.as_bits());
        let picos = bit_picos / u128::from(rate.as_bits()).max(1);
        let tokens = Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX));
        Self { tokens: tokens.min(fresh.depth), ..fresh }
    }
}

/// Queue of the packets.
enum Waiting {
    Here(PacketQueue, Limit),
    Child(Node),
}

/// Token bucket filter.
pub struct Tbf {
    burst: Bytes,
    mtu: Bytes,
    overhead: FrameOverhead,
    /// Longest frame that both buckets can hold.
    longest: Bytes,
    bucket: Bucket,
    peak: Option<Bucket>,
    /// Time of the last refill of the buckets.
    updated: Instant,
    waiting: Waiting,
}

impl Config {
    fn overhead(&self) -> Result<FrameOverhead, Invalid> {
        FrameOverhead::new(self.overhead, self.mpu, self.framing)
    }

    fn check(&self, has_child: bool) -> Result<Limit, Invalid> {
        if self.rate.is_zero() {
            return Err(Invalid::new("rate", "of zero lets nothing pass: give it a rate such as `1mbit`"));
        }
        if self.burst == Bytes::ZERO {
            return Err(Invalid::new("burst", "must hold the largest packet, such as `1540B`"));
        }
        match (self.peakrate, self.mtu) {
            (Some(peak), _) if peak < self.rate => {
                return Err(Invalid::new(
                    "peakrate",
                    format!("must not be under `rate`, which is {}", self.rate),
                ));
            }
            (Some(_), None) => {
                return Err(Invalid::new(
                    "peakrate",
                    "needs `mtu`, the depth of its bucket, such as `1540B`",
                ));
            }
            (None, Some(_)) => {
                return Err(Invalid::new("mtu", "is the depth of the `peakrate` bucket, and there is none"));
            }
            (Some(_), Some(Bytes(0))) => {
                return Err(Invalid::new("mtu", "must hold the largest packet, such as `1540B`"));
            }
            _ => {}
        }
        let limit = match (self.limit, self.latency) {
            (Some(_), Some(_)) => {
                return Err(Invalid::new("latency", "and `limit` say the same: give one of them"));
            }
            (Some(_), None) | (None, Some(_)) if has_child => {
                let field = if self.limit.is_some() { "limit" } else { "latency" };
                return Err(Invalid::new(field, "belongs to the child, which does the queueing"));
            }
            (Some(limit), None) => limit,
            (None, latency) => {
                let latency = latency.unwrap_or(Duration::from_secs(1));
                Limit::Bytes(self.rate.bytes_in(latency) + self.burst)
            }
        };
        check_limit(limit)?;
        Ok(limit)
    }
}

impl Discipline for Tbf {
    const ABOUT: About = About {
        name: "tbf",
        summary: "token bucket filter: shapes to a rate with a burst",
        source: "tc-tbf(8); RFC 2697 and RFC 2698 for the buckets",
        guarantees: &[
            Guarantee::new("envelope: at most burst + rate * t bytes leave in any interval t", &["envelope"]),
            Guarantee::new(
                "a saturated shaper delivers at least rate * t - burst - one packet",
                &["delivery"],
            ),
        ],
        children: Arity::Optional,
        work_conserving: false,
        example: "rate = \"10mbit\"\nburst = \"10kB\"\n",
        drops_long: true,
        flow_blind: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn pace(config: &Config) -> Pace {
        Pace { rate: Some(config.rate), overhead: config.overhead().unwrap_or_default() }
    }

    fn new(config: Config, children: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let limit = config.check(!children.is_empty())?;
        let overhead = config.overhead()?;
        let waiting = match children.into_iter().next() {
            Some(child) => Waiting::Child(child.node),
            None => Waiting::Here(PacketQueue::default(), limit),
        };
        let mtu = config.mtu.unwrap_or(config.burst);
        Ok(Self {
            burst: config.burst,
            mtu,
            overhead,
            longest: overhead.longest_within(config.burst.min(mtu)),
            bucket: Bucket::new(config.rate, config.burst),
            peak: config.peakrate.zip(config.mtu).map(|(rate, mtu)| Bucket::new(rate, mtu)),
            updated: Instant::ZERO,
            waiting,
        })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let limit = config.check(matches!(self.waiting, Waiting::Child(_)))?;
        self.overhead = config.overhead()?;
        let elapsed = cx.now.since(self.updated);
        self.updated = cx.now;
        self.bucket.tokens = self.bucket.after(elapsed);
        self.bucket = self.bucket.retuned(config.rate, config.burst);
        self.peak = config.peakrate.zip(config.mtu).map(|(rate, mtu)| match &self.peak {
            Some(peak) => Bucket { tokens: peak.after(elapsed), ..*peak }.retuned(rate, mtu),
            None => Bucket::new(rate, mtu),
        });
        self.burst = config.burst;
        self.mtu = config.mtu.unwrap_or(config.burst);
        self.longest = self.overhead.longest_within(self.burst.min(self.mtu));
        if let Waiting::Here(queue, own) = &mut self.waiting {
            // A packet that the new buckets can never hold would block those behind it for ever.
            for packet in queue.take_larger_than(self.longest) {
                cx.drop(packet, DropReason::Oversize);
            }
            queue.shrink(limit, cx);
            *own = limit;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if packet.bytes() > self.longest {
            cx.drop(packet, DropReason::Oversize);
            return;
        }
        match &mut self.waiting {
            Waiting::Here(queue, limit) if queue.has_room(&packet, *limit) => queue.push(packet),
            Waiting::Here(..) => cx.drop(packet, DropReason::Limit),
            Waiting::Child(child) => child.enqueue(packet, cx),
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        loop {
            let length = match self.peek(cx) {
                Peek::Length(length) => length,
                Peek::NotBefore(time) => return Dequeue::NotBefore(time),
                Peek::Empty => return Dequeue::Empty,
            };
            let elapsed = cx.now.since(self.updated);
            let cost = self.overhead.on_link(length);
            let missing = [Some(&self.bucket), self.peak.as_ref()]
                .into_iter()
                .flatten()
                .map(|bucket| bucket.rate.time_for(cost).saturating_sub(bucket.after(elapsed)))
                .max()
                .unwrap_or(Duration::ZERO);
            if length > self.longest {
                // Only a child's packet that was queued when the buckets were made smaller.
                if let Waiting::Child(child) = &mut self.waiting {
                    child.evict(cx, |_| DropReason::Oversize);
                }
                continue;
            }
            if !missing.is_zero() {
                return Dequeue::NotBefore(cx.now + missing);
            }
            self.updated = cx.now;
            for bucket in [Some(&mut self.bucket), self.peak.as_mut()].into_iter().flatten() {
                bucket.tokens = bucket.after(elapsed).saturating_sub(bucket.rate.time_for(cost));
            }
            return self.pop(cx).map_or(Dequeue::Empty, Dequeue::Packet);
        }
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        if let Waiting::Here(queue, _) = &mut self.waiting {
            queue.flush(out);
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        if let Waiting::Child(child) = &mut self.waiting {
            visit(child);
        }
    }

    fn doubts(&self, port: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        let full = self.overhead.on_link(FULL_FRAME);
        for (field, bytes) in [("burst", self.burst), ("mtu", self.mtu)] {
            if bytes < full {
                let why = format!(
                    "drops the packets that are longer: make it `{}B`, a full frame, or more",
                    full.0
                );
                return tell(Invalid::new(field, why));
            }
        }
        if let Some(why) = port.too_small(self.bucket.rate, self.burst) {
            tell(Invalid::new("burst", why));
        }
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.row_noun = "bucket";
        let elapsed = cx.now.since(self.updated);
        let (next, below) = match &self.waiting {
            Waiting::Here(queue, _) => {
                (queue.front().map_or(Choice::Empty, |packet| Choice::of(packet)), None)
            }
            Waiting::Child(child) => {
                let below = child.explain(cx);
                (below.choice, Some(below))
            }
        };
        let buckets = [("rate", Some(&self.bucket)), ("peakrate", self.peak.as_ref())];
        for (name, bucket) in buckets.into_iter().filter_map(|(name, bucket)| Some((name, bucket?))) {
            let row = Row::named(name).with("rate", bucket.rate);
            let row = row.with("depth", bucket.rate.bytes_in(bucket.depth));
            to.row(row.with("tokens", bucket.rate.bytes_in(bucket.after(elapsed))));
        }
        let packet = match next {
            Choice::Packet { packet, .. } => packet,
            Choice::Wait(time) => return to.wait(time, why!["the child waits itself until ", time]),
            Choice::Empty => return to.empty(),
            Choice::Unknown => return below.map_or((), |below| to.open(&below.queue)),
        };
        let cost = self.overhead.on_link(packet.bytes());
        to.state("next", cost);
        if packet.bytes() > self.longest {
            to.why =
                why!["the next packet of ", packet.bytes(), " never fits into the buckets: it is dropped"];
            return;
        }
        let missing = |bucket: &Bucket| bucket.rate.time_for(cost).saturating_sub(bucket.after(elapsed));
        let buckets = [Some(&self.bucket), self.peak.as_ref()];
        let Some(bucket) = buckets.into_iter().flatten().max_by_key(|bucket| missing(bucket)) else { return };
        let tokens = bucket.rate.bytes_in(bucket.after(elapsed));
        let missing = missing(bucket);
        if missing.is_zero() {
            let why = why!["tokens ", tokens, " >= next packet ", cost];
            if let Some(below) = below {
                to.send(None, below, why);
            } else {
                (to.choice, to.why) = (next, why);
            }
        } else {
            let until = cx.now + missing;
            let why = why![
                "tokens ",
                tokens,
                " < next packet ",
                cost,
                ": the rest comes at ",
                bucket.rate,
                " in ",
                missing
            ];
            to.wait(until, why);
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("tokens_bytes", self.bucket.rate.bytes_in(self.bucket.tokens).0 as f64);
    }
}

impl Tbf {
    fn peek(&mut self, cx: &mut Context<'_>) -> Peek {
        match &mut self.waiting {
            Waiting::Here(queue, _) => {
                queue.front().map_or(Peek::Empty, |packet| Peek::Length(packet.bytes()))
            }
            Waiting::Child(child) => child.peek(cx),
        }
    }

    fn pop(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        match &mut self.waiting {
            Waiting::Here(queue, _) => queue.pop(),
            Waiting::Child(child) => match child.dequeue(cx) {
                Dequeue::Packet(packet) => Some(packet),
                Dequeue::NotBefore(_) | Dequeue::Empty => None,
            },
        }
    }
}
