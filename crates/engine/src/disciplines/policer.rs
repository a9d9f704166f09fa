//! Policer: a meter sorts packets into three colours as they arrive, and each colour is passed, marked with
//! a code point, or dropped. It delays nothing.
//!
//! ```text
//! burst alone          green while `burst` bytes at `rate` last, else red          (tc-police)
//! excess_burst         what `burst` cannot hold fills a second bucket: yellow      (RFC 2697)
//! peakrate, peakburst  red beyond `peakrate`; of the rest green within `rate`,
//!                      else yellow                                                 (RFC 2698)
//!
//! packet -> [ meter ] -- green, yellow, red: pass, code point, drop --> queue
//! ```
//!
//! Buckets are full at the start, and count bits exactly. With `aware`, the colour that the code point of an
//! AF class has (drop precedence 1, 2, 3) can only get worse.
//!
//! A TCP connection through a policer needs a burst of about its rate times its round trip: with less, the
//! drops after each burst keep its window too small for the rate.

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, DropReason, FULL_FRAME, Guarantee, Invalid, NoShare,
    PortConditions, check_limit,
};
use crate::explanation::{Explanation, Foresight, Value, why};
use crate::node::Node;
use crate::pacing::Pace;
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Bytes, Instant, Limit, PICOS_PER_SECOND, Packets, Rate};

/// Treatment of packets of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// They are queued.
    Pass,
    /// They are dropped.
    Drop,
}

/// Parameters of `policer`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Committed rate: what stays within it is green.
    pub rate: Rate,
    /// Committed burst: bytes that may arrive at once after silence and are green. A longer packet never is.
    pub burst: Bytes,
    /// Excess burst of the single-rate meter (RFC 2697): bytes beyond `burst` that are yellow. The rate fills
    /// it while the bucket of `burst` is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess_burst: Option<Bytes>,
    /// Peak rate of the two-rate meter (RFC 2698): what is beyond it is red. Needs `peakburst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peakrate: Option<Rate>,
    /// Peak burst: bytes that may arrive at once and are not red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peakburst: Option<Bytes>,
    /// Longest packet that is not red whatever the buckets hold, as `mtu` of tc-police.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// Treatment of yellow packets: `pass` or `drop`.
    #[serde(default = "pass")]
    pub yellow: Verdict,
    /// Treatment of red packets: `drop` or `pass`.
    #[serde(default = "drop_it")]
    pub red: Verdict,
    /// Code point that green packets get, 0 to 63; without it they keep theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub green_dscp: Option<u8>,
    /// Code point that yellow packets get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yellow_dscp: Option<u8>,
    /// Code point that red packets get, if they pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red_dscp: Option<u8>,
    /// If true, packets of an AF class have the colour of their drop precedence before they are metered.
    #[serde(default)]
    pub aware: bool,
    /// Limit of the backlog behind the meter, in packets or bytes; default `1000p`. Not with a child, whose
    /// own limit counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

fn pass() -> Verdict {
    Verdict::Pass
}

fn drop_it() -> Verdict {
    Verdict::Drop
}

/// Colour of a packet; the later, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Colour {
    Green,
    Yellow,
    Red,
}

/// Bit-picoseconds per byte.
const BYTE: u128 = 8 * PICOS_PER_SECOND as u128;

fn worth(bytes: Bytes) -> u128 {
    // Below 2^107: a burst is at most 2^64 bytes.
    u128::from(bytes.0) * BYTE
}

/// Bucket of bytes, counted in bit-picoseconds so that nothing is rounded.
#[derive(Clone, Copy)]
struct Bucket {
    depth: u128,
    tokens: u128,
}

impl Bucket {
    fn full(depth: Bytes) -> Self {
        Self { depth: worth(depth), tokens: worth(depth) }
    }

    /// Adds tokens, and returns those that did not fit.
    fn fill(&mut self, gained: u128) -> u128 {
        let room = self.depth - self.tokens;
        self.tokens += gained.min(room);
        gained.saturating_sub(room)
    }

    fn holds(&self, length: Bytes) -> bool {
        self.tokens >= worth(length)
    }

    fn take(&mut self, length: Bytes) {
        self.tokens = self.tokens.saturating_sub(worth(length));
    }

    /// Returns a bucket of another depth with the same tokens, as far as they fit.
    fn of_depth(self, depth: Bytes) -> Self {
        let depth = worth(depth);
        Self { depth, tokens: self.tokens.min(depth) }
    }
}

/// Second bucket of a meter.
enum Second {
    None,
    /// RFC 2697: filled by what the first cannot hold.
    Excess(Bucket),
    /// RFC 2698: filled at its own rate.
    Peak(Rate, Bucket),
}

/// Meter of three colours.
struct Meter {
    rate: Rate,
    committed: Bucket,
    second: Second,
    updated: Instant,
}

impl Meter {
    fn new(config: &Config) -> Self {
        let second = match (config.excess_burst, config.peakrate.zip(config.peakburst)) {
            (Some(burst), _) => Second::Excess(Bucket::full(burst)),
            (None, Some((rate, burst))) => Second::Peak(rate, Bucket::full(burst)),
            (None, None) => Second::None,
        };
        Self { rate: config.rate, committed: Bucket::full(config.burst), second, updated: Instant::ZERO }
    }

    fn fill(&mut self, now: Instant) {
        let elapsed = u128::from(now.since(self.updated).as_picos());
        self.updated = self.updated.max(now);
        let rest = self.committed.fill(elapsed * u128::from(self.rate.as_bits()));
        match &mut self.second {
            Second::None => {}
            Second::Excess(bucket) => {
                bucket.fill(rest);
            }
            Second::Peak(rate, bucket) => {
                bucket.fill(elapsed * u128::from(rate.as_bits()));
            }
        }
    }

    /// Returns the colour of a packet that had the colour `before`, and takes its tokens.
    fn colour(&mut self, length: Bytes, before: Colour, now: Instant) -> Colour {
        self.fill(now);
        let is_green = before == Colour::Green && self.committed.holds(length);
        match &mut self.second {
            Second::None | Second::Excess(_) if is_green => self.committed.take(length),
            Second::Excess(bucket) if before < Colour::Red && bucket.holds(length) => {
                bucket.take(length);
                return Colour::Yellow;
            }
            Second::None | Second::Excess(_) => return Colour::Red,
            Second::Peak(_, bucket) => {
                if before == Colour::Red || !bucket.holds(length) {
                    return Colour::Red;
                }
                bucket.take(length);
                if !is_green {
                    return Colour::Yellow;
                }
                self.committed.take(length);
            }
        }
        Colour::Green
    }

    /// Returns the meter with new parameters; its tokens are kept as far as they fit.
    fn retuned(&self, config: &Config) -> Self {
        let fresh = Self::new(config);
        let second = match (&self.second, fresh.second) {
            (Second::Excess(old), Second::Excess(_)) => {
                Second::Excess(old.of_depth(config.excess_burst.unwrap_or_default()))
            }
            (Second::Peak(_, old), Second::Peak(rate, _)) => {
                Second::Peak(rate, old.of_depth(config.peakburst.unwrap_or_default()))
            }
            (_, second) => second,
        };
        Self { committed: self.committed.of_depth(config.burst), second, updated: self.updated, ..fresh }
    }
}

/// Queue of the packets behind the meter.
enum Waiting {
    Here(PacketQueue, Limit),
    Child(Node),
}

/// Policer.
pub struct Policer {
    config: Config,
    meter: Meter,
    waiting: Waiting,
}

impl Config {
    fn check(&self, has_child: bool) -> Result<Limit, Invalid> {
        if self.rate.is_zero() {
            return Err(Invalid::new("rate", "of zero lets nothing conform: give it a rate such as `1mbit`"));
        }
        let bursts = [("burst", Some(self.burst)), ("peakburst", self.peakburst), ("mtu", self.mtu)];
        for (field, burst) in bursts {
            if burst == Some(Bytes::ZERO) {
                return Err(Invalid::new(field, "must hold the longest packet, such as `1514B`"));
            }
        }
        match (self.peakrate, self.peakburst) {
            (Some(_), Some(_)) if self.excess_burst.is_some() => {
                return Err(Invalid::new(
                    "excess_burst",
                    "is of the meter with one rate, `peakrate` of that with two: give one of them",
                ));
            }
            (Some(peak), Some(_)) if peak < self.rate => {
                return Err(Invalid::new(
                    "peakrate",
                    format!("must not be under `rate`, which is {}", self.rate),
                ));
            }
            (Some(_), None) => return Err(Invalid::new("peakrate", "needs `peakburst`, such as `15kB`")),
            (None, Some(_)) => {
                return Err(Invalid::new("peakburst", "is the burst of `peakrate`, and there is none"));
            }
            _ => {}
        }
        let codes =
            [("green_dscp", self.green_dscp), ("yellow_dscp", self.yellow_dscp), ("red_dscp", self.red_dscp)];
        for (field, code) in codes {
            if code.is_some_and(|code| code > 63) {
                return Err(Invalid::new(field, "is a code point from 0 to 63"));
            }
        }
        if has_child && self.limit.is_some() {
            return Err(Invalid::new("limit", "belongs to the child, which does the queueing"));
        }
        let limit = self.limit.unwrap_or(Limit::Packets(Packets(1000)));
        check_limit(limit)?;
        Ok(limit)
    }
}

/// Returns the colour of an AF code point (RFC 2597): its drop precedence.
fn precedence(code: u8) -> Colour {
    let is_assured = (1..=4).contains(&(code >> 3));
    match code & 0b111 {
        0b100 if is_assured => Colour::Yellow,
        0b110 if is_assured => Colour::Red,
        _ => Colour::Green,
    }
}

impl Discipline for Policer {
    const ABOUT: About = About {
        name: "policer",
        summary: "drops or marks what exceeds a rate and a burst, and delays nothing",
        source: "RFC 2697, RFC 2698; tc-police(8)",
        guarantees: &[Guarantee::new(
            "colours: those of the meters of RFC 2697 and RFC 2698, so that at most burst + rate * t bytes are green in any interval t",
            &["meter-colours"],
        )],
        children: Arity::Optional,
        drops_early: true,
        example: "rate = \"10mbit\"\nburst = \"100kB\"\n",
        drops_long: true,
        flow_blind: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn pace(config: &Config) -> Pace {
        let beyond_committed = config.peakrate.filter(|_| config.yellow == Verdict::Pass);
        let rate = beyond_committed.unwrap_or(config.rate);
        Pace { rate: Some(rate).filter(|_| config.red == Verdict::Drop), ..Pace::default() }
    }

    fn new(config: Config, children: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let limit = config.check(!children.is_empty())?;
        let waiting = match children.into_iter().next() {
            Some(child) => Waiting::Child(child.node),
            None => Waiting::Here(PacketQueue::default(), limit),
        };
        Ok(Self { meter: Meter::new(&config), config, waiting })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let limit = config.check(matches!(self.waiting, Waiting::Child(_)))?;
        self.meter.fill(cx.now);
        self.meter = self.meter.retuned(&config);
        self.config = config;
        if let Waiting::Here(queue, own) = &mut self.waiting {
            queue.shrink(limit, cx);
            *own = limit;
        }
        Ok(())
    }

    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let length = packet.bytes();
        let before = if self.config.aware { precedence(packet.dscp()) } else { Colour::Green };
        let is_long = self.config.mtu.is_some_and(|mtu| length > mtu);
        let before = if is_long { Colour::Red } else { before };
        let (verdict, code) = match self.meter.colour(length, before, cx.now) {
            Colour::Green => (Verdict::Pass, self.config.green_dscp),
            Colour::Yellow => (self.config.yellow, self.config.yellow_dscp),
            Colour::Red => (self.config.red, self.config.red_dscp),
        };
        if verdict == Verdict::Drop {
            cx.drop(packet, DropReason::Forced);
            return;
        }
        if let Some(code) = code {
            packet.set_dscp(code);
        }
        match &mut self.waiting {
            Waiting::Here(queue, limit) if queue.has_room(&packet, *limit) => queue.push(packet),
            Waiting::Here(..) => cx.drop(packet, DropReason::Limit),
            Waiting::Child(child) => child.enqueue(packet, cx),
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        match &mut self.waiting {
            Waiting::Here(queue, _) => queue.pop().map_or(Dequeue::Empty, Dequeue::Packet),
            Waiting::Child(child) => child.dequeue(cx),
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

    fn doubts(&self, _: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        let bursts = [("burst", Some(self.config.burst)), ("peakburst", self.config.peakburst)];
        for (field, burst) in bursts {
            if burst.is_some_and(|burst| burst < FULL_FRAME) {
                let why = format!(
                    "never holds a full frame: make it `{}B` or more, and for TCP the rate times a round trip",
                    FULL_FRAME.0
                );
                return tell(Invalid::new(field, why));
            }
        }
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.state("tokens", Value::Bytes((self.meter.committed.tokens / BYTE).cast_signed()));
        let why = why!["the buckets have judged at the arrival: the oldest leaves"];
        match &self.waiting {
            Waiting::Here(queue, _) => match queue.front() {
                Some(oldest) => to.send_own(None, oldest, why),
                None => to.empty(),
            },
            Waiting::Child(child) => to.pass_on(child.explain(cx), why),
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("tokens_bytes", (self.meter.committed.tokens / BYTE) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            rate: Rate::from_bits(8_000_000),
            burst: Bytes(3000),
            excess_burst: None,
            peakrate: None,
            peakburst: None,
            mtu: None,
            yellow: Verdict::Pass,
            red: Verdict::Drop,
            green_dscp: None,
            yellow_dscp: None,
            red_dscp: None,
            aware: false,
            limit: None,
        }
    }

    /// Returns the colours of packets of 1000 bytes at these milliseconds.
    fn colours(config: &Config, arrivals: &[u64]) -> Vec<Colour> {
        let mut meter = Meter::new(config);
        let at = |ms: u64| Instant::ZERO + crate::units::Duration::from_millis(ms);
        arrivals.iter().map(|ms| meter.colour(Bytes(1000), Colour::Green, at(*ms))).collect()
    }

    #[test]
    fn one_rate_and_two_bursts_are_those_of_rfc_2697() {
        use Colour::{Green, Red, Yellow};
        // A packet takes a millisecond of the rate. The committed bucket holds three, the excess bucket two.
        let meter = Config { excess_burst: Some(Bytes(2000)), ..config() };
        let burst = [0; 6];
        assert_eq!(colours(&meter, &burst), [Green, Green, Green, Yellow, Yellow, Red]);
        // The rate fills the committed bucket first: the excess bucket is empty until that is full.
        let later = [0, 0, 0, 0, 0, 3, 3, 3, 3, 9, 9, 9, 9, 9, 9];
        let expected = [
            Green, Green, Green, Yellow, Yellow, Green, Green, Green, Red, Green, Green, Green, Yellow,
            Yellow, Red,
        ];
        assert_eq!(colours(&meter, &later), expected);
    }

    #[test]
    fn two_rates_are_those_of_rfc_2698() {
        use Colour::{Green, Red, Yellow};
        // The peak rate is twice the committed one: half a millisecond a packet, four at once.
        let meter =
            Config { peakrate: Some(Rate::from_bits(16_000_000)), peakburst: Some(Bytes(4000)), ..config() };
        assert_eq!(colours(&meter, &[0; 5]), [Green, Green, Green, Yellow, Red]);
        // After a millisecond the peak bucket has two packets and the committed one has one.
        assert_eq!(colours(&meter, &[0, 0, 0, 0, 1, 1, 1])[4..], [Green, Yellow, Red]);
        // A red packet takes nothing; a yellow one takes nothing from the committed bucket.
        assert_eq!(colours(&meter, &[0, 0, 0, 0, 0, 2, 2, 2])[5..], [Green, Green, Yellow]);
    }

    #[test]
    fn colours_of_assured_forwarding_only_get_worse() {
        let mut meter = Meter::new(&Config { excess_burst: Some(Bytes(2000)), ..config() });
        let mut colour = |code| meter.colour(Bytes(1000), precedence(code), Instant::ZERO);
        // AF11, AF12, AF13, and EF, which has no colour.
        assert_eq!(
            [colour(10), colour(12), colour(14), colour(46)],
            [Colour::Green, Colour::Yellow, Colour::Red, Colour::Green]
        );
    }
}
