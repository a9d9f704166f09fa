//! Proportional integral controller enhanced: drops arriving packets with a probability that is steered by
//! the waiting and its trend.
//!
//! ```text
//! every tupdate:  p += alpha (delay - target) + beta (delay - delay before)      scaled down where p is small
//! ```
//!
//! The delay is the waiting of the packet that left last. All in integers, `p` in units of 2^-56. Between two
//! packets nothing changes but the number of updates that are due, so they are made up for at the next packet:
//! the very same values as with a timer, without waking anyone (after 65536 updates without any packet, the
//! rest are left out).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discipline::{Child, Context, Dequeue, Discipline, DropReason, Invalid, NoShare};
use crate::disciplines::fifo::refuse_nothing;
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Bytes, Duration, Instant, Limit, PICOS_PER_SECOND, Packets};

/// Whose controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// RFC 8033.
    #[default]
    Rfc,
    /// Linux: burst allowance is used up by the time between departures, not by updates; an idle queue
    /// forgets 1/64 of the probability each update, not 2 %; no update while packets wait for the first
    /// departure; two packets, not more than two, are always let in.
    Linux,
}

/// Parameters of `pie`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whose controller: `rfc` or `linux`.
    pub flavour: Flavour,
    /// How much may wait, in packets (`1000p`) or bytes (`64kB`). What arrives beyond is dropped.
    pub limit: Limit,
    /// The waiting to steer for.
    pub target: Duration,
    /// Time between two updates of the probability, at least `1ms`. Linux rounds it up to whole jiffies
    /// (`16ms` at 250 Hz).
    pub tupdate: Duration,
    /// Weight of the distance from the target, in sixteenths per second: 2 is 0.125, up to 32.
    pub alpha: u32,
    /// Weight of the trend, in sixteenths per second: 20 is 1.25, up to 32.
    pub beta: u32,
    /// How long a burst is let through after quiet times.
    pub max_burst: Duration,
    /// Length of a full packet: a backlog of two is never dropped from, and `bytemode` measures by it.
    pub mtu: Bytes,
    /// Marks packets of senders that understand it, instead of dropping them, while the probability is at
    /// most 10 %.
    pub ecn: bool,
    /// Small packets are dropped less often, in proportion to their length.
    pub bytemode: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            flavour: Flavour::Rfc,
            limit: Limit::Packets(Packets(1000)),
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 2,
            beta: 20,
            max_burst: Duration::from_millis(150),
            mtu: Bytes(1514),
            ecn: false,
            bytemode: false,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), Invalid> {
        refuse_nothing(self.limit)?;
        if self.tupdate < Duration::from_millis(1) {
            return Err(Invalid::new("tupdate", "is at least `1ms`"));
        }
        for (field, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if value > 32 {
                return Err(Invalid::new(field, "is up to 32, in sixteenths per second"));
            }
        }
        if self.mtu == Bytes::ZERO {
            return Err(Invalid::new("mtu", "is at least `1B`"));
        }
        Ok(())
    }
}

/// Probability 1.
const ONE: u64 = 1 << 56;
/// Updates that are made up for at most.
const MISSED: u32 = 1 << 16;
/// From this delay on the probability rises by 2 % more.
const HIGH_DELAY: Duration = Duration::from_millis(250);

/// What the controller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    probability: u64,
    /// Probabilities added up since the last drop.
    sum: u64,
    delay: Duration,
    delay_before: Duration,
    burst: Duration,
    last_departure: Option<Instant>,
}

/// Proportional integral controller enhanced.
pub struct Pie {
    config: Config,
    state: State,
    next_update: Instant,
    queue: PacketQueue,
}

impl Discipline for Pie {
    const KIND: &'static str = "pie";
    const SUMMARY: &'static str = "proportional integral controller: drops so that the waiting comes to a target";
    const SOURCE: &'static str = "RFC 8033; tc-pie(8)";
    const GUARANTEES: &'static [&'static str] = &[
        "each update follows RFC 8033, section 4.2, on the measured delays",
        "under a constant overload of senders that do not react, the mean waiting is the target",
        "a burst shorter than the allowance after quiet times loses nothing",
    ];
    const DROPS_EARLY: bool = true;
    const EXAMPLE: &'static str = "limit = \"1000p\"\ntarget = \"15ms\"\ntupdate = \"15ms\"\n";
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        config.check()?;
        let state = State::new(config.max_burst);
        let next_update = Instant::ZERO + config.tupdate;
        Ok(Self { config, state, next_update, queue: PacketQueue::default() })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        config.check()?;
        self.catch_up(cx.now);
        if config.tupdate != self.config.tupdate {
            self.next_update = cx.now + config.tupdate;
        }
        self.config = config;
        self.queue.shrink(self.config.limit, cx);
        Ok(())
    }

    //= https://www.rfc-editor.org/rfc/rfc8033#section-4.1
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        self.catch_up(cx.now);
        if !self.queue.has_room(&packet, self.config.limit) {
            self.state.sum = 0;
            cx.drop(packet, DropReason::Limit);
            return;
        }
        //= https://www.rfc-editor.org/rfc/rfc8033#section-5.1
        let drops = self.drops_early(&packet, cx);
        let may_mark = self.config.ecn && self.state.probability <= ONE / 10;
        if drops && !(may_mark && cx.mark(&mut packet)) {
            self.state.sum = 0;
            cx.drop(packet, DropReason::Early);
        } else {
            self.queue.push(packet);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.catch_up(cx.now);
        let Some(packet) = self.queue.pop() else { return Dequeue::Empty };
        let state = &mut self.state;
        state.delay = if self.queue.is_empty() { Duration::ZERO } else { cx.now.since(packet.arrived) };
        if self.config.flavour == Flavour::Linux {
            let since = state.last_departure.map_or(Duration::ZERO, |last| cx.now.since(last));
            state.burst = state.burst.saturating_sub(since);
        }
        state.last_departure = Some(cx.now);
        Dequeue::Packet(packet)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("drop_probability", self.state.probability as f64 / ONE as f64);
        emit("delay_s", self.state.delay.as_secs_f64());
        emit("burst_allowance_s", self.state.burst.as_secs_f64());
    }
}

impl Pie {
    /// Makes up for the updates that are due.
    fn catch_up(&mut self, now: Instant) {
        for _ in 0..MISSED {
            if self.next_update > now || self.next_update == Instant::NEVER {
                return;
            }
            let before = self.state;
            self.state.update(&self.config, self.queue.is_empty());
            self.next_update = self.next_update + self.config.tupdate;
            if self.state == before {
                break;
            }
        }
        if self.next_update <= now {
            let left = now.since(self.next_update).as_picos() / self.config.tupdate.as_picos() + 1;
            self.next_update = self.next_update + self.config.tupdate * left;
        }
    }

    fn drops_early(&mut self, packet: &Packet, cx: &mut Context<'_>) -> bool {
        let state = &mut self.state;
        let full = self.config.mtu;
        let linux = self.config.flavour == Flavour::Linux;
        //= https://www.rfc-editor.org/rfc/rfc8033#section-4.4
        if !state.burst.is_zero() {
            return false;
        }
        let delay = if linux { state.delay } else { state.delay_before };
        if delay < self.config.target / 2 && state.probability < ONE / 5 {
            return false;
        }
        let (backlog, two) = (self.queue.bytes().0, full.0.saturating_mul(2));
        if backlog < two || (!linux && backlog == two) {
            return false;
        }
        let probability = if self.config.bytemode && packet.bytes() <= full {
            (u128::from(state.probability) * u128::from(packet.length) / u128::from(full.0)) as u64
        } else {
            state.probability
        };
        //= https://www.rfc-editor.org/rfc/rfc8033#section-5.4
        state.sum = if probability == 0 { 0 } else { state.sum.saturating_add(probability) };
        if state.sum < ONE / 100 * 85 {
            return false;
        }
        if state.sum >= ONE / 2 * 17 {
            return true;
        }
        let draw = (u64::from(cx.random.bits()) << 24) | u64::from(cx.random.bits() >> 8);
        if draw < probability {
            state.sum = 0;
            return true;
        }
        false
    }
}

impl State {
    fn new(burst: Duration) -> Self {
        Self {
            probability: 0,
            sum: 0,
            delay: Duration::ZERO,
            delay_before: Duration::ZERO,
            burst,
            last_departure: None,
        }
    }

    /// The controller's step.
    //= https://www.rfc-editor.org/rfc/rfc8033#section-4.2
    fn update(&mut self, config: &Config, is_empty: bool) {
        let linux = config.flavour == Flavour::Linux;
        let (delay, before) = (self.delay, self.delay_before);
        let unmeasured = linux && delay.is_zero() && !is_empty;
        let mut step = self.step(config);
        //= https://www.rfc-editor.org/rfc/rfc8033#section-5.5
        let two_percent = i128::from(ONE / 50);
        if self.probability >= ONE / 10 {
            step = step.min(two_percent);
        }
        if delay > HIGH_DELAY {
            step += two_percent;
        }
        self.probability = (i128::from(self.probability) + step).clamp(0, i128::from(ONE)) as u64;
        if delay.is_zero() && before.is_zero() && !unmeasured {
            self.probability -= if linux { self.probability / 64 } else { self.probability.div_ceil(50) };
        }
        let half = config.target / 2;
        if !linux {
            self.burst = self.burst.saturating_sub(config.tupdate);
        }
        if delay < half && before < half && self.probability == 0 {
            *self = Self { delay, ..Self::new(config.max_burst) };
        }
        self.delay_before = delay;
    }

    /// By how much the probability changes: less where it is small, so that the loop stays stable.
    fn step(&self, config: &Config) -> i128 {
        let seconds = |weight: u32, later: Duration, earlier: Duration| {
            let difference = i128::from(later.as_picos()) - i128::from(earlier.as_picos());
            difference * i128::from(weight)
        };
        let sum = seconds(config.alpha, self.delay, config.target)
            + seconds(config.beta, self.delay, self.delay_before);
        // 2, 8, 32, ... 2048 below 1/10, 1/100, 1/1000, ... 1/1000000.
        let mut shift = 0;
        let mut below = ONE / 10;
        while self.probability < below && shift < 11 {
            shift = if shift == 0 { 1 } else { shift + 2 };
            below /= 10;
        }
        // Sixteenths, picoseconds and the scale. The sum is of less than 71 bits, so first a part of 2^56.
        ((sum << 52) / i128::from(PICOS_PER_SECOND)) >> shift
    }
}
