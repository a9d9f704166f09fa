//! PIE's control law: a drop probability that is steered by the delay and its trend.
//!
//! ```text
//! every tupdate:  p += alpha (delay - target) + beta (delay - delay before)    scaled down if p is small
//! ```
//!
//! Shared by `pie` and `fq_pie`. All in integers, `p` in units of 2^-56. Updates are lazy: between two
//! packets only the number of updates due changes, so they are computed at the next packet, with the same
//! values as by a timer. After `MISSED` updates without a packet the rest are skipped.
//!
//! Source: RFC 8033, sections 4 and 5.

use serde::{Deserialize, Serialize};

use crate::context::{Context, Invalid};
use crate::explanation::{Field, Value, Why, why};
use crate::packet::Packet;
use crate::units::{Bytes, Duration, Instant, PICOS_PER_SECOND};

/// Flavour of the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aim {
    /// Variant of the controller.
    pub flavour: Flavour,
    /// Queueing delay to steer for.
    pub target: Duration,
    /// Time between two updates.
    pub tupdate: Duration,
    /// Weight of the difference from the target, in sixteenths per second.
    pub alpha: u32,
    /// Weight of the trend, in sixteenths per second.
    pub beta: u32,
    /// Duration of a burst that is let through after quiet times.
    pub max_burst: Duration,
    /// Length of a full packet.
    pub mtu: Bytes,
    /// Makes the probability proportional to a packet's length.
    pub bytemode: bool,
    /// True if the delay is the backlog over an estimate of the departure rate, instead of that of the last
    /// packet that left.
    pub dq_rate_estimator: bool,
}

impl Aim {
    /// Checks the parameters.
    pub(crate) fn check(self) -> Result<Self, Invalid> {
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
        Ok(self)
    }
}

/// Probability 1.
const ONE: u64 = 1 << 56;
/// Maximum number of missed updates that are computed.
const MISSED: u32 = 1 << 16;
/// Delay from which the probability rises by another 2 %.
const HIGH_DELAY: Duration = Duration::from_millis(250);

/// State of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    probability: u64,
    /// Sum of the probabilities since the last drop.
    sum: u64,
    delay: Duration,
    delay_before: Duration,
    burst: Duration,
    last_departure: Option<Instant>,
    departures: Departures,
}

/// Estimate of the departure rate.
//= https://www.rfc-editor.org/rfc/rfc8033#section-4.3
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Departures {
    /// Start of the current measurement, and the bytes that have left since.
    measurement: Option<(Instant, u64)>,
    /// Bytes per second times 256; 0 before the first measurement.
    rate: u64,
}

/// Backlog in bytes from which a measurement begins, and the bytes that it takes.
const MEASURED: u64 = 1 << 14;

impl Departures {
    /// Accounts for a packet of `length` that leaves `backlog` behind. Returns the duration of the
    /// measurement that it ends.
    fn measure(&mut self, length: u64, backlog: u64, now: Instant) -> Option<Duration> {
        if self.measurement.is_none() && backlog >= MEASURED {
            self.measurement = Some((now, 0));
        }
        let (start, bytes) = self.measurement.as_mut()?;
        *bytes += length;
        let elapsed = now.since(*start);
        if *bytes < MEASURED || elapsed.is_zero() {
            return None;
        }
        let rate = u128::from(*bytes) * 256 * u128::from(PICOS_PER_SECOND) / u128::from(elapsed.as_picos());
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        self.rate = if self.rate == 0 { rate } else { self.rate - self.rate / 8 + rate / 8 };
        self.measurement = (backlog >= MEASURED).then_some((now, 0));
        Some(elapsed)
    }

    /// Returns the time that this backlog takes to leave; zero before the first measurement.
    fn delay(&self, backlog: Bytes) -> Duration {
        let picos = u128::from(backlog.0) * 256 * u128::from(PICOS_PER_SECOND);
        let picos = picos.checked_div(self.rate.into()).unwrap_or(0);
        Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
    }
}

/// State of the law for one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlLaw {
    state: State,
    next_update: Instant,
}

impl ControlLaw {
    /// Creates the law of an empty queue at the start of time.
    pub(crate) fn new(aim: &Aim) -> Self {
        Self { state: State::new(aim.max_burst), next_update: Instant::ZERO + aim.tupdate }
    }

    /// Adopts other parameters.
    pub(crate) fn retune(&mut self, aim: &Aim, next: &Aim, backlog: Bytes, now: Instant) {
        self.catch_up(aim, backlog, now);
        if next.tupdate != aim.tupdate {
            self.next_update = now + next.tupdate;
        }
    }

    /// Computes the updates that are due. `backlog`: the backlog since the last call.
    #[inline]
    pub(crate) fn catch_up(&mut self, aim: &Aim, backlog: Bytes, now: Instant) {
        if self.next_update <= now {
            self.compute_updates(aim, backlog, now);
        }
    }

    /// Computes at least one update. Separate from `catch_up`, which is called for every packet.
    #[cold]
    fn compute_updates(&mut self, aim: &Aim, backlog: Bytes, now: Instant) {
        for _ in 0..MISSED {
            if self.next_update > now || self.next_update == Instant::NEVER {
                return;
            }
            let before = self.state;
            self.state.update(aim, backlog);
            self.next_update = self.next_update + aim.tupdate;
            if self.state == before {
                break;
            }
        }
        if self.next_update <= now {
            let left = now.since(self.next_update).as_picos() / aim.tupdate.as_picos() + 1;
            self.next_update = self.next_update + aim.tupdate * left;
        }
    }

    /// Returns whether `packet`, which arrives at this backlog, is dropped or marked.
    pub(crate) fn drops_early(
        &mut self,
        aim: &Aim,
        packet: &Packet,
        backlog: Bytes,
        cx: &mut Context<'_>,
    ) -> bool {
        let state = &mut self.state;
        let full = aim.mtu;
        let linux = aim.flavour == Flavour::Linux;
        //= https://www.rfc-editor.org/rfc/rfc8033#section-4.4
        if !state.burst.is_zero() {
            return false;
        }
        let delay = if linux { state.delay } else { state.delay_before };
        if delay < aim.target / 2 && state.probability < ONE / 5 {
            return false;
        }
        let (backlog, two) = (backlog.0, full.0.saturating_mul(2));
        if backlog < two || (!linux && backlog == two) {
            return false;
        }
        let probability = if aim.bytemode && packet.bytes() <= full {
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

    /// Accounts for a drop: the sum of probabilities restarts.
    pub(crate) fn dropped(&mut self) {
        self.state.sum = 0;
    }

    /// Returns whether the probability is at most this many percent, up to 100.
    pub(crate) fn is_within(&self, percent: u64) -> bool {
        self.state.probability <= ONE * percent / 100
    }

    /// Accounts for a packet that left `backlog` behind.
    pub(crate) fn departed(&mut self, aim: &Aim, packet: &Packet, backlog: Bytes, now: Instant) {
        let state = &mut self.state;
        let since = if aim.dq_rate_estimator {
            state.departures.measure(packet.length.into(), backlog.0, now).unwrap_or_default()
        } else {
            let waited = now.since(packet.arrived);
            state.delay = if backlog == Bytes::ZERO { Duration::ZERO } else { waited };
            state.last_departure.map_or(Duration::ZERO, |last| now.since(last))
        };
        if aim.flavour == Flavour::Linux {
            state.burst = state.burst.saturating_sub(since);
        }
        state.last_departure = Some(now);
    }

    /// Says with which probability arrivals are dropped.
    pub(crate) fn arrivals(&self, aim: &Aim) -> Why {
        let probability = Value::Probability(self.state.probability as f64 / ONE as f64);
        why![
            "; arrivals are dropped by ",
            probability,
            ", as the delay ",
            self.state.delay,
            " and the target ",
            aim.target,
            " made it"
        ]
    }

    /// Returns the law's quantities.
    pub(crate) fn fields(&self, aim: &Aim) -> Vec<Field> {
        let field = |name, value: Value| Field { name, value };
        vec![
            field("probability", Value::Probability(self.state.probability as f64 / ONE as f64)),
            field("delay", self.state.delay.into()),
            field("target", aim.target.into()),
            field("burst allowance", self.state.burst.into()),
            field("next update", self.next_update.into()),
        ]
    }

    /// Calls `emit` with the law's internal quantities.
    pub(crate) fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("drop_probability", self.state.probability as f64 / ONE as f64);
        emit("delay_s", self.state.delay.as_secs_f64());
        emit("burst_allowance_s", self.state.burst.as_secs_f64());
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
            departures: Departures::default(),
        }
    }

    /// Performs one update of the probability.
    //= https://www.rfc-editor.org/rfc/rfc8033#section-4.2
    fn update(&mut self, aim: &Aim, backlog: Bytes) {
        let linux = aim.flavour == Flavour::Linux;
        if aim.dq_rate_estimator {
            self.delay = self.departures.delay(backlog);
        }
        let (delay, before) = (self.delay, self.delay_before);
        let unmeasured = linux && delay.is_zero() && backlog > Bytes::ZERO;
        let mut step = self.step(aim);
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
        let half = aim.target / 2;
        if !linux {
            self.burst = self.burst.saturating_sub(aim.tupdate);
        }
        // Linux estimates the rate anew, and so waits for an estimate first.
        let is_known = !linux || !aim.dq_rate_estimator || self.departures.rate > 0;
        if delay < half && before < half && self.probability == 0 && is_known {
            let departures = if linux { Departures::default() } else { self.departures };
            *self = Self { delay, departures, ..Self::new(aim.max_burst) };
        }
        self.delay_before = delay;
    }

    /// Returns the change of the probability: smaller for a small one, so that the loop stays stable.
    fn step(&self, aim: &Aim) -> i128 {
        let seconds = |weight: u32, later: Duration, earlier: Duration| {
            let difference = i128::from(later.as_picos()) - i128::from(earlier.as_picos());
            difference * i128::from(weight)
        };
        let sum =
            seconds(aim.alpha, self.delay, aim.target) + seconds(aim.beta, self.delay, self.delay_before);
        // 2, 8, 32, ... 2048 below 1/10, 1/100, 1/1000, ... 1/1000000.
        let mut shift = 0;
        let mut below = ONE / 10;
        while self.probability < below && shift < 11 {
            shift = if shift == 0 { 1 } else { shift + 2 };
            below /= 10;
        }
        // 2^52 is the scale 2^56 over the sixteenths of the weights. The sum has less than 71 bits: no
        // overflow.
        ((sum << 52) / i128::from(PICOS_PER_SECOND)) >> shift
    }
}
