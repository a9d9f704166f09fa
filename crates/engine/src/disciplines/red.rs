//! Random early detection: drops with a probability that grows with the average backlog.
//!
//! ```text
//! probability                                   forced
//!      1 |                    ,--------------------
//!        |              _ ,-  gentle: rises from maxP at max to 1 at twice max
//!  maxP  |         _ -'|
//!      0 |______,-'    |______________________ average backlog
//!              min    max       2 max
//! ```
//!
//! At each arrival the average moves by `w = 2^-n` of its difference from the backlog before the arrival (`n`
//! from `burst`, as `tc` computes it). In between, the gap from one drop to the next is uniform on `1..=1/p`.
//! Flavours differ in arithmetic and in what an idle queue does to the average:
//!
//! - `paper`: Floyd and Jacobson. After idle time for `m` packets of `avpkt`, `(1-w)^m` of the average is
//!   left.
//! - `linux`: integers of the kernel. The decay is a right shift from a table: a natural logarithm that is
//!   used as a power of two, with cells in ticks of 64 ns by `tc` and in microseconds by the kernel.
//! - `linux-2.4`: the same with cells in microseconds at both ends, and `maxP / (max - min)` rounded down to
//!   a power of two.
//! - `click`: packets of `avpkt` instead of bytes, `w` 1/16, `gentle`, and an empty queue counts once in 20
//!   ms.

use serde::{Deserialize, Serialize};

pub use crate::control::red::Flavour;
use crate::control::red::average::{self, Average};
use crate::control::red::{Gap, weight};
use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, Guarantee, Invalid, NoShare, check_limit,
};
use crate::explanation::{Explanation, Foresight, Value, why};
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Bytes, Duration, Instant, Limit, Probability, Rate};

/// Parameters of `red`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Flavour of the arithmetic and the idle decay: `paper`, `linux`, `linux-2.4` or `click`.
    pub flavour: Flavour,
    /// Limit of the backlog, in bytes (`60kB`) or packets (`100p`). Further arrivals are dropped.
    pub limit: Limit,
    /// Average backlog below which nothing is dropped.
    pub min: Bytes,
    /// Average backlog from which everything is dropped (`gentle`: from twice this). Up to `4GB`.
    pub max: Bytes,
    /// Typical length of a packet.
    pub avpkt: Bytes,
    /// Burst in packets that the average ignores; sets the averaging weight.
    /// Without it, `(2 min + max) / (3 avpkt)`. The weight of `click` is always 1/16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Drop probability when the average reaches `max`.
    pub probability: Probability,
    /// Rate of the link; the average decays while it is idle as if packets of this rate had been sent.
    pub bandwidth: Rate,
    /// From `max` to twice `max` the probability rises to 1, instead of being 1. Not in Linux; on in `click`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<bool>,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// With `ecn`: where the average is above `max`, packets are dropped instead of marked.
    pub harddrop: bool,
    /// Moves `probability` each 500 ms, so that the average stays in the middle fifth of `min` to `max`.
    pub adaptive: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            flavour: Flavour::Linux,
            limit: Limit::Bytes(Bytes(400_000)),
            min: Bytes(30_000),
            max: Bytes(90_000),
            avpkt: Bytes(1000),
            burst: None,
            probability: Probability::from_f64(0.02).unwrap_or(Probability::ZERO),
            bandwidth: Rate::from_bits(10_000_000),
            gentle: None,
            ecn: false,
            harddrop: false,
            adaptive: false,
        }
    }
}

/// Thresholds and averages are of 32 bits before they are scaled, as in Linux.
const LARGEST_THRESHOLD: u64 = u32::MAX as u64;

impl Config {
    /// Creates the average of an empty queue.
    ///
    /// # Errors
    /// Impossible parameters.
    fn average(&self) -> Result<Average, Invalid> {
        let shift = self.check()?;
        Average::new(self.flavour, shift, self.bandwidth, self.avpkt)
    }

    /// Returns the exponent of the weight.
    ///
    /// # Errors
    /// Impossible parameters.
    fn check(&self) -> Result<i32, Invalid> {
        check_limit(self.limit)?;
        if self.max.0 > LARGEST_THRESHOLD {
            return Err(Invalid::new("max", "is up to `4294967295B`"));
        }
        if self.min >= self.max {
            return Err(Invalid::new("min", "must be below `max`"));
        }
        if !(1..=LARGEST_THRESHOLD).contains(&self.avpkt.0) {
            return Err(Invalid::new("avpkt", "is from `1B` to `4294967295B`"));
        }
        if self.bandwidth.is_zero() {
            return Err(Invalid::new("bandwidth", "must be above `0bit`"));
        }
        let linux = matches!(self.flavour, Flavour::Linux | Flavour::Linux24);
        if linux && self.gentle == Some(true) {
            return Err(Invalid::new(
                "gentle",
                "is not known to Linux: choose the flavour `paper` or `click`",
            ));
        }
        if self.flavour == Flavour::Click {
            return Ok(average::CLICK_SHIFT);
        }
        let burst =
            self.burst.map_or_else(|| (2 * self.min.0 + self.max.0).div_ceil(3 * self.avpkt.0), u64::from);
        weight(burst, self.min.0 as f64 / self.avpkt.0 as f64).ok_or_else(|| {
            Invalid::new("burst", "is from `min / avpkt` to what a weight of 2^-31 can follow")
        })
    }

    fn is_gentle(&self) -> bool {
        self.gentle.unwrap_or(self.flavour == Flavour::Click)
    }
}

/// Random early detection.
pub struct Red {
    config: Config,
    average: Average,
    gap: Gap,
    /// Probability of a drop at `max`, in 2^-32.
    probability: u64,
    /// Time of the next adaptation.
    adapts: Instant,
    queue: PacketQueue,
}

/// Decision of the average on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Accept,
    Early,
    Forced,
}

impl Discipline for Red {
    const ABOUT: About = About {
        name: "red",
        summary: "random early detection: drops with a probability that grows with the average backlog",
        source: "Floyd and Jacobson, Transactions on Networking 1 (1993); tc-red(8); Click's element RED",
        guarantees: &[
            Guarantee::new(
                "average after n arrivals to a constant backlog q: q (1 - (1-w)^n)",
                &["red-average"],
            ),
            Guarantee::new(
                "at a constant average, gaps between drops are uniform on 1..1/p: a share 2p/(1+p) is dropped",
                &["red-gaps"],
            ),
            Guarantee::new(
                "after idle time for m packets, (1-w)^m of the average is left (paper); the table's shift (linux)",
                &["red-idle"],
            ),
        ],
        drops_early: true,
        example: "limit = \"400kB\"\nmin = \"30kB\"\nmax = \"90kB\"\navpkt = \"1000B\"\nprobability = \"2%\"\n",
        has_own_times: true,
        draws: true,
        flow_blind: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        Ok(Self {
            average: config.average()?,
            gap: Gap::new(),
            probability: scaled(config.probability),
            adapts: Instant::ZERO + ADAPTATION,
            queue: PacketQueue::default(),
            config,
        })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let average = config.average()?;
        self.adapt(cx.now);
        self.average = self.average.retuned(average);
        self.gap.reset();
        self.probability = scaled(config.probability);
        self.config = config;
        self.queue.shrink(self.config.limit, cx);
        if self.queue.is_empty() {
            self.average.idles(cx.now);
        }
        Ok(())
    }

    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        self.adapt(cx.now);
        self.average.sample(self.queue.bytes(), self.queue.len(), cx.now);
        let reason = match self.judge(cx) {
            Verdict::Accept => None,
            Verdict::Early => Some(DropReason::Early),
            Verdict::Forced => Some(DropReason::Forced),
        };
        let may_mark = |reason| self.config.ecn && !(self.config.harddrop && reason == DropReason::Forced);
        if let Some(reason) = reason
            && !(may_mark(reason) && cx.mark(&mut packet))
        {
            cx.drop(packet, reason);
        } else if self.queue.has_room(&packet, self.config.limit) {
            self.queue.push(packet);
        } else {
            cx.drop(packet, DropReason::Limit);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        if self.config.adaptive {
            self.adapt(cx.now);
        }
        self.average.pop(&mut self.queue, self.config.bandwidth, cx.now)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let average = self.average.at(cx.now);
        let bytes = Value::Bytes(average as i128);
        to.state("packets", self.queue.len());
        to.state("average", bytes.clone());
        to.state("min", self.config.min);
        to.state("max", self.config.max);
        to.state("max probability", Value::Probability(self.probability as f64 / ONE as f64));
        let probability = Value::Probability(self.on_the_curve(average));
        to.state("probability", probability.clone());
        let Some(oldest) = self.queue.front() else { return to.empty() };
        let why = why!["the oldest of ", self.queue.len(), ": it waited ", cx.now.since(oldest.arrived)];
        let arrivals = why!["; arrivals are dropped by ", probability, " at the average ", bytes];
        to.send_own(None, oldest, why.and(arrivals));
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("average_bytes", self.average.bytes());
        emit("max_probability", self.probability as f64 / ONE as f64);
    }
}

/// Probability 1.
const ONE: u64 = 1 << 32;
/// Interval of the adaptations.
const ADAPTATION: Duration = Duration::from_millis(500);

fn scaled(probability: Probability) -> u64 {
    (probability.as_f64() * ONE as f64) as u64
}

/// Draws a number uniform on 0 to `(max - min) / probability`.
fn draw_as_linux(config: &Config, probability: u64, cx: &mut Context<'_>) -> u64 {
    let delta = config.max.0 - config.min.0;
    let bits = u64::from(cx.random.bits());
    if config.flavour == Flavour::Linux24 {
        // The least power of two above it, up to 2^31.
        let wanted = delta as f64 / (probability as f64 / ONE as f64);
        let exponent = (0..31).find(|exponent| libm::ldexp(1.0, *exponent) > wanted).unwrap_or(31);
        return bits >> (32 - exponent);
    }
    bits / (probability / delta).max(1)
}

impl Red {
    /// Returns the probability of a drop at this average, before the gaps between drops are spread.
    fn on_the_curve(&self, average: f64) -> f64 {
        let (min, max) = (self.config.min.0 as f64, self.config.max.0 as f64);
        let most = self.probability as f64 / ONE as f64;
        if average < min {
            0.0
        } else if average < max {
            most * (average - min) / (max - min)
        } else if self.config.is_gentle() && average < 2.0 * max {
            most + (1.0 - most) * (average - max) / max
        } else {
            1.0
        }
    }

    fn judge(&mut self, cx: &mut Context<'_>) -> Verdict {
        match self.config.flavour {
            Flavour::Linux | Flavour::Linux24 => self.judge_as_linux(cx),
            Flavour::Paper => self.judge_as_paper(cx),
            Flavour::Click => self.judge_as_click(cx),
        }
    }

    /// Returns whether `count` arrivals at `average - min` bytes above the minimum reach the random number.
    fn judge_as_linux(&mut self, cx: &mut Context<'_>) -> Verdict {
        let (scaled, shift) = self.average.linux();
        if scaled < self.config.min.0 << shift {
            self.gap.reset();
            return Verdict::Accept;
        }
        if scaled >= self.config.max.0 << shift {
            self.gap.reset();
            return Verdict::Forced;
        }
        let excess = (scaled - (self.config.min.0 << shift)) >> shift;
        let Self { config, gap, probability, .. } = self;
        if gap.ends_as_in_linux(excess, || draw_as_linux(config, *probability, cx)) {
            Verdict::Early
        } else {
            Verdict::Accept
        }
    }

    fn judge_as_paper(&mut self, cx: &mut Context<'_>) -> Verdict {
        let (min, max) = (self.config.min.0 as f64, self.config.max.0 as f64);
        let average = self.average.bytes();
        let base = if average < min {
            self.gap.reset();
            return Verdict::Accept;
        } else if average < max || self.config.is_gentle() && average < 2.0 * max {
            self.on_the_curve(average)
        } else {
            self.gap.reset();
            return Verdict::Forced;
        };
        self.gap.count += 1;
        // `count` packets were let through since the last drop.
        // Differs: the paper's listing counts the arriving one too, which the gaps of its section 7 do not.
        let rest = 1.0 - self.gap.count as f64 * base;
        if rest <= 0.0 || cx.random.unit() * rest < base {
            self.gap.reset();
            return Verdict::Early;
        }
        Verdict::Accept
    }

    /// Judges an arriving packet by Click's rule, in fractions of 2^16 and with thresholds in packets.
    fn judge_as_click(&mut self, cx: &mut Context<'_>) -> Verdict {
        let packets = |bytes: Bytes| (bytes.0 / self.config.avpkt.0).max(1);
        let (min, max) =
            (packets(self.config.min), packets(self.config.max).max(packets(self.config.min) + 1));
        let scaled = self.average.click();
        let whole = scaled >> average::CLICK_SCALE;
        let last = if self.config.is_gentle() { 2 * max } else { max };
        if whole <= min {
            self.gap.reset();
            return Verdict::Accept;
        }
        if whole > last {
            self.gap.reset();
            return Verdict::Forced;
        }
        let most = i128::from(self.probability >> 16);
        let above = |packets: u64| i128::from(scaled) - i128::from(packets << average::CLICK_SCALE);
        let unit = 1_i128 << average::CLICK_SCALE;
        let base = if whole <= max {
            most * above(min) / (i128::from(max - min) * unit)
        } else {
            most + ((1 << 16) - most) * above(max) / (i128::from(max) * unit)
        };
        self.gap.count += 1;
        if self.gap.count > 0 && base > 0 && i128::from(self.gap.count) > i128::from(self.gap.draw) / base {
            self.gap.count = 0;
            self.gap.draw = u64::from(cx.random.bits() >> 16);
            return Verdict::Early;
        }
        if self.gap.count == 0 {
            self.gap.draw = u64::from(cx.random.bits() >> 16);
        }
        Verdict::Accept
    }

    /// Adapts the probability for each 500 ms that have passed. Between two calls only time changes the
    /// average, so the result is that of a timer.
    fn adapt(&mut self, now: Instant) {
        if !self.config.adaptive {
            return;
        }
        let percent = ONE / 100;
        let fifth = (self.config.max.0 - self.config.min.0) as f64 / 5.0;
        let target = self.config.min.0 as f64 + 2.0 * fifth..=self.config.min.0 as f64 + 3.0 * fifth;
        while self.adapts <= now && self.adapts < Instant::NEVER {
            let average = self.average.at(self.adapts);
            let before = self.probability;
            if average > *target.end() && self.probability <= ONE / 2 {
                self.probability += percent.min(self.probability / 4);
            } else if average < *target.start() && self.probability >= percent {
                self.probability = self.probability / 10 * 9;
            }
            self.adapts = self.adapts + ADAPTATION;
            if self.probability == before && (average < *target.start() || self.average.is_constant()) {
                // Until the next arrival the average falls or stays, so that no further adaptation changes
                // anything.
                let left = now.since(self.adapts).as_picos() / ADAPTATION.as_picos();
                self.adapts = self.adapts + ADAPTATION * left;
                if self.adapts <= now {
                    self.adapts = self.adapts + ADAPTATION;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::NoHeaders;
    use crate::node::Node;
    use crate::packet::Header;
    use crate::port::{Poll, Port};
    use crate::random::{Random, Seed};

    fn slow(flavour: Flavour) -> Config {
        Config { flavour, bandwidth: Rate::from_bits(7), burst: Some(65_535), ..Config::default() }
    }

    #[test]
    fn a_link_too_slow_for_the_table_of_idle_times_is_refused_in_a_file_and_by_a_knob() {
        for (flavour, fits) in [
            (Flavour::Linux, false),
            (Flavour::Linux24, false),
            (Flavour::Paper, true),
            (Flavour::Click, true),
        ] {
            let new = Node::new::<Red>("q", slow(flavour), Vec::new());
            assert_eq!(
                new.as_ref().err().map(|refusal| refusal.field),
                (!fits).then_some("bandwidth"),
                "{flavour:?}"
            );
            let running =
                Node::new::<Red>("q", Config::default(), Vec::new()).expect("the defaults are valid");
            let mut port = Port::new(running, Random::stream(Seed(1), "port"));
            let changed = port.with_node("q", Instant::ZERO, &NoHeaders, &mut |node, cx| {
                node.reconfigure::<Red>(slow(flavour), Vec::new(), cx).map_err(|refusal| refusal.field)
            });
            assert_eq!(changed, Some(if fits { Ok(()) } else { Err("bandwidth") }), "{flavour:?}");
            // A running measurement continues, through silences of any length.
            for hours in [0, 1, 3, 2400, 5000] {
                let now = Instant::ZERO + Duration::from_secs(3600 * hours);
                port.offer(Packet::new(Header { length: 1000, ..Header::default() }), now, &NoHeaders);
                assert!(
                    matches!(port.poll(now, &NoHeaders), Poll::Transmit(_)),
                    "{flavour:?} after {hours} h"
                );
            }
        }
    }
}
