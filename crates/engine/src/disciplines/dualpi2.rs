//! Two coupled queues with one controller: short for scalable senders (L4S), normal for the others.
//!
//! ```text
//! ECT(1), CE -> [ L | | ]      marks: delay over the step, or p_CL = k p'  --.
//!                                  ^ coupling                                 +-> credits: classic gets its
//! others     -> [ C | | | | ]  drops or marks: p_C = p'^2  ------------------'     protection, else L first
//!
//! every tupdate:  p' += alpha (delay - target) + beta (delay - delay before)       delay of C's head
//! ```
//!
//! A Reno flow at `p'^2` and a scalable one at `k p'` get about the same rate, so that neither queue needs
//! a share. Marks and drops recur regularly instead of at random, as in the source: every packet adds its
//! probability to a sum, and the packet that brings it to one is hit.
//!
//! All in integers, `p'` in units of 2^-56. Between two packets only the delay of the head grows, by the
//! time that passes, so updates are lazy: those due are computed at the next packet (up to 65536 of them),
//! with the same values as by a timer.
//!
//! Differs: a sum of exactly one hits (the source requires more than one), so that probability one is every
//! packet. The source's ramp of the L queue is a step, as in `tc`. Of `tc`'s parameters there are no
//! `typical_rtt` (it is the `target`) and no `split_gso` (packets are never joined).

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, Guarantee, Invalid, NoShare, check_limit,
};
use crate::explanation::{Choice, Explanation, Foresight, PacketName, Row, Value, why};
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Bytes, Duration, Instant, Limit, PICOS_PER_SECOND, Packets, Probability, Threshold};

/// Action when marks no longer suffice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Overload {
    /// Both queues drop with `p'^2`, ECN-capable packets too: the delay stays bounded.
    #[default]
    DropOnOverload,
    /// The probability stops where every packet of the L queue is marked: the queues grow to their limit.
    Overflow,
}

/// When a packet is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// When it leaves: the signal is the freshest.
    #[default]
    DropDequeue,
    /// When it comes. The step is judged when it leaves all the same.
    DropEnqueue,
}

/// Packets that go to the L queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ect {
    /// ECT(1) and CE (RFC 9331).
    #[default]
    L4sEct,
    /// Every one whose ECN field is not zero, as for DCTCP within a data centre.
    AnyEct,
}

/// Parameters of `dualpi2`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Limit of the backlog of both queues together, in packets (`10000p`) or bytes. Further arrivals are
    /// dropped.
    pub limit: Limit,
    /// Byte limit of both queues together, beside `limit`. Differs: Linux counts the memory of its buffers,
    /// which is more than the frames in them.
    pub memlimit: Bytes,
    /// Factor `k` between the base probability and that of a mark in the L queue; 0 leaves the queues
    /// uncoupled.
    pub coupling_factor: u8,
    /// A packet of the L queue is always marked if it waited longer (`1ms`), or if more packets are in its
    /// queue, itself included (`5p`).
    pub step_thresh: Threshold,
    /// The step marks only while more packets than this are in the L queue.
    pub min_qlen_step: Packets,
    /// Action when marks no longer suffice: `drop_on_overload` or `overflow`.
    pub overload: Overload,
    /// When a packet is judged: `drop_dequeue` or `drop_enqueue`.
    pub drop: Moment,
    /// Packets that go to the L queue: `l4s_ect` or `any_ect`.
    pub ect: Ect,
    /// Guaranteed share of the classic queue while both are backlogged. `0%` is strict priority.
    pub classic_protection: Probability,
    /// Largest round trip of a stable loop, from `300us`; the defaults of the next three derive from it.
    pub max_rtt: Duration,
    /// Target delay of the classic queue; best the usual round trip.
    pub target: Duration,
    /// Time between two updates of the probability, from `100us`; default: the lesser of `target` and
    /// `max_rtt / 3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tupdate: Option<Duration>,
    /// Weight of the distance from the target, in Hz, up to 10000; default `0.1 tupdate / max_rtt^2` (0.15).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Weight of the trend, in Hz, up to 10000; default `0.3 / max_rtt` (3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(Packets(10_000)),
            memlimit: Bytes(10_000 * 1514),
            coupling_factor: 2,
            step_thresh: Threshold::Time(Duration::from_millis(1)),
            min_qlen_step: Packets(0),
            overload: Overload::DropOnOverload,
            drop: Moment::DropDequeue,
            ect: Ect::L4sEct,
            classic_protection: Probability::from_f64(0.1).unwrap_or(Probability::ZERO),
            max_rtt: Duration::from_millis(100),
            target: Duration::from_millis(15),
            tupdate: None,
            alpha: None,
            beta: None,
        }
    }
}

/// Probability 1.
const ONE: u64 = 1 << 56;
/// One hertz of `alpha` and `beta`.
const HERTZ: f64 = 4_294_967_296.0;
/// Maximum number of missed updates that are computed.
const MISSED: u32 = 1 << 16;
/// Upper bound of a delay: 2^50 ps, 19 minutes.
const LONGEST_DELAY_PS: u64 = 1 << 50;

/// Parameters of the controller, converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gains {
    target: Duration,
    tupdate: Duration,
    /// Weight of the distance from the target, in 2^-32 Hz.
    alpha: u64,
    /// Weight of the trend, in 2^-32 Hz.
    beta: u64,
    /// Upper bound of the base probability.
    highest: u64,
}

impl Config {
    /// Checks the parameters and computes the missing ones.
    //= https://www.rfc-editor.org/rfc/rfc9332#appendix-A.1
    fn gains(&self) -> Result<Gains, Invalid> {
        check_limit(self.limit)?;
        if self.memlimit == Bytes::ZERO {
            return Err(Invalid::new("memlimit", "holds nothing: it is at least the bytes of a packet"));
        }
        if self.max_rtt < Duration::from_micros(300) {
            return Err(Invalid::new("max_rtt", "is at least `300us`"));
        }
        let tupdate = self.tupdate.unwrap_or(self.target.min(self.max_rtt / 3));
        if tupdate < Duration::from_micros(100) {
            let field = if self.tupdate.is_some() { "tupdate" } else { "target" };
            return Err(Invalid::new(field, "is at least `100us`"));
        }
        let rtt = self.max_rtt.as_secs_f64();
        let gain = |field, given: Option<f64>, derived: f64| {
            let hertz = given.unwrap_or(derived);
            if (0.0..=10_000.0).contains(&hertz) {
                Ok((hertz * HERTZ + 0.5) as u64)
            } else {
                Err(Invalid::new(field, "is from 0 to 10000, in hertz"))
            }
        };
        let alpha = gain("alpha", self.alpha, 0.1 * tupdate.as_secs_f64() / (rtt * rtt))?;
        let beta = gain("beta", self.beta, 0.3 / rtt)?;
        let highest = match self.overload {
            Overload::DropOnOverload => ONE,
            Overload::Overflow => ONE / u64::from(self.coupling_factor.max(1)),
        };
        Ok(Gains { target: self.target, tupdate, alpha, beta, highest })
    }
}

/// Proportional integral controller of the base probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Controller {
    probability: u64,
    before: Duration,
}

impl Controller {
    //= https://www.rfc-editor.org/rfc/rfc9332#appendix-A.1
    fn update(&mut self, gains: &Gains, waiting: Duration) {
        let apart = |from: Duration| {
            let picos = |time: Duration| i128::from(time.as_picos().min(LONGEST_DELAY_PS));
            picos(waiting) - picos(from)
        };
        let sum = apart(gains.target) * i128::from(gains.alpha) + apart(self.before) * i128::from(gains.beta);
        // Converts from 2^-32 to 2^-56, and from picoseconds to seconds.
        let step = (sum << 24) / i128::from(PICOS_PER_SECOND);
        self.probability = (i128::from(self.probability) + step).clamp(0, i128::from(gains.highest)) as u64;
        self.before = waiting;
    }

    /// Returns the probability of a drop or mark in the classic queue.
    fn classic(&self) -> u64 {
        ((u128::from(self.probability) * u128::from(self.probability)) >> 56) as u64
    }

    /// Returns the probability of a mark in the L queue.
    fn coupled(&self, factor: u8) -> u64 {
        (self.probability.min(ONE) * u64::from(factor)).min(ONE)
    }
}

/// Deterministic dropper: hits as often as its probability says, at regular distances.
#[derive(Clone, Copy, Debug, Default)]
struct Recurrence(u64);

impl Recurrence {
    fn hits(&mut self, probability: u64) -> bool {
        self.0 += probability;
        let hit = self.0 >= ONE;
        if hit {
            self.0 -= ONE;
        }
        hit
    }
}

/// Decision on a packet.
enum Verdict {
    Keep(Packet),
    Dropped,
}

/// Coupled dual queue.
#[derive(Clone)]
pub struct DualPi2 {
    config: Config,
    gains: Gains,
    controller: Controller,
    next_update: Instant,
    low: PacketQueue,
    classic: PacketQueue,
    /// Bytes by which the classic queue is behind its share, in 2^-32.
    credit: u128,
    low_marks: Recurrence,
    low_drops: Recurrence,
    classic_hits: Recurrence,
}

impl Discipline for DualPi2 {
    const ABOUT: About = About {
        name: "dualpi2",
        summary: "two coupled queues: a short one that marks for L4S senders, a usual one for the others",
        source: "RFC 9332 with its appendix A; tc-dualpi2(8)",
        guarantees: &[
            Guarantee::new(
                "each update of the base probability follows RFC 9332, appendix A.1, on the waiting of the heads",
                &["dualpi2-update"],
            ),
            Guarantee::new(
                "the classic probability is the square of the coupled one over k: p_C = (p_CL / k)^2",
                &["dualpi2-update"],
            ),
            Guarantee::new(
                "in any n packets of a queue the number of hits is n p to within one",
                &["dualpi2-hits"],
            ),
            Guarantee::new(
                "a packet of the L queue that waits longer than the step is marked",
                &["dualpi2-step"],
            ),
            Guarantee::new(
                "while both queues wait, the classic queue gets its protection of the bytes to within a packet of each",
                &["dualpi2-protection"],
            ),
            Guarantee::new(
                "packets of a flow that carry one ECN codepoint keep their order (a mark on the way puts them in the L queue)",
                &["code-points"],
            ),
        ],
        reorders: true,
        drops_early: true,
        example: "limit = \"10000p\"\ntarget = \"15ms\"\nstep_thresh = \"1ms\"\n",
        has_own_times: true,
        draws: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let gains = config.gains()?;
        Ok(Self {
            config,
            gains,
            controller: Controller::default(),
            next_update: Instant::ZERO + gains.tupdate,
            low: PacketQueue::default(),
            classic: PacketQueue::default(),
            credit: 0,
            low_marks: Recurrence::default(),
            low_drops: Recurrence::default(),
            classic_hits: Recurrence::default(),
        })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let gains = config.gains()?;
        self.catch_up(cx.now);
        if gains.tupdate != self.gains.tupdate {
            self.next_update = cx.now + gains.tupdate;
        }
        self.config = config;
        self.gains = gains;
        self.controller.probability = self.controller.probability.min(gains.highest);
        while !self.fits(0, 0) {
            let longer =
                if self.low.bytes() > self.classic.bytes() { &mut self.low } else { &mut self.classic };
            let Some(packet) = longer.pop_newest() else { break };
            cx.drop(packet, DropReason::Shrunk);
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.catch_up(cx.now);
        if !self.fits(1, packet.bytes().0) {
            cx.drop(packet, DropReason::Limit);
            return;
        }
        let low = self.is_low(&packet);
        let judged = match self.config.drop {
            Moment::DropDequeue => Verdict::Keep(packet),
            Moment::DropEnqueue if low => self.judge_low(packet, false, cx),
            Moment::DropEnqueue => self.judge_classic(packet, cx),
        };
        if let Verdict::Keep(packet) = judged {
            let queue = if low { &mut self.low } else { &mut self.classic };
            queue.push(packet);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.catch_up(cx.now);
        let early = self.config.drop == Moment::DropEnqueue;
        loop {
            let judged = if self.low_is_next() {
                let steps = self.is_over_step(cx.now);
                let Some(mut packet) = self.low.pop() else { return Dequeue::Empty };
                if early {
                    if steps {
                        cx.mark(&mut packet);
                    }
                    (true, Verdict::Keep(packet))
                } else {
                    (true, self.judge_low(packet, steps, cx))
                }
            } else {
                let Some(packet) = self.classic.pop() else { return Dequeue::Empty };
                (false, if early { Verdict::Keep(packet) } else { self.judge_classic(packet, cx) })
            };
            if let (low, Verdict::Keep(packet)) = judged {
                self.charge(low, packet.bytes());
                return Dequeue::Packet(packet);
            }
        }
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        let from = out.len();
        self.low.flush(out);
        self.classic.flush(out);
        out[from..].sort_by_key(|packet| packet.arrived);
        self.credit = 0;
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.row_noun = "queue";
        let share = |probability: u64| Value::Probability(probability as f64 / ONE as f64);
        let coupled = self.controller.coupled(self.config.coupling_factor);
        let credit = Value::Bytes((self.credit >> 32).cast_signed());
        to.state("classic credit", credit.clone());
        to.state("base probability", share(self.controller.probability));
        for (name, queue, probability) in
            [("l4s", &self.low, coupled), ("classic", &self.classic, self.controller.classic())]
        {
            let row = Row::named(name).with("packets", queue.len()).with("probability", share(probability));
            to.row(match queue.front() {
                Some(head) => row.with("waiting", cx.now.since(head.arrived)),
                None => row,
            });
        }
        to.rehearse(&mut self.clone(), cx);
        let Choice::Packet { packet, .. } = to.choice else { return to.empty() };
        let is_low = self.low.iter().any(|queued| PacketName::from(&**queued) == packet);
        to.chosen_row(usize::from(!is_low));
        to.why = match (is_low, self.low.is_empty() || self.classic.is_empty()) {
            (true, true) => why!["l4s: the classic queue is empty"],
            (false, true) => why!["classic: the l4s queue is empty"],
            (true, false) => why!["l4s: the classic queue's credit of ", credit, " does not pay its head"],
            (false, false) => why!["classic: its credit of ", credit, " pays its head"],
        };
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let share = |probability: u64| probability as f64 / ONE as f64;
        emit("base_probability", share(self.controller.probability));
        emit("classic_probability", share(self.controller.classic()));
        emit("coupled_probability", share(self.controller.coupled(self.config.coupling_factor)));
        emit("waiting_s", self.controller.before.as_secs_f64());
        emit("l4s_packets", self.low.len() as f64);
        emit("classic_packets", self.classic.len() as f64);
    }
}

impl DualPi2 {
    //= https://www.rfc-editor.org/rfc/rfc9332#appendix-A.1
    fn is_low(&self, packet: &Packet) -> bool {
        match self.config.ect {
            Ect::L4sEct => packet.traffic_class & 1 == 1,
            Ect::AnyEct => packet.is_ecn_capable(),
        }
    }

    fn fits(&self, packets: u64, bytes: u64) -> bool {
        let packets = (self.low.len() + self.classic.len()) as u64 + packets;
        let bytes = self.low.bytes() + self.classic.bytes() + Bytes(bytes);
        self.config.limit.allows(packets, bytes.0) && bytes <= self.config.memlimit
    }

    /// Returns the delay that the controller uses at this time: that of the oldest classic packet, or, if
    /// there is none, of the oldest L packet.
    //= https://www.rfc-editor.org/rfc/rfc9332#appendix-A.2
    fn waiting(&self, at: Instant) -> Duration {
        let head = self.classic.front().or(self.low.front());
        head.map_or(Duration::ZERO, |packet| at.since(packet.arrived))
    }

    /// Computes the updates that are due.
    fn catch_up(&mut self, now: Instant) {
        let mut made = 0;
        while self.next_update <= now && made < MISSED {
            let waiting = self.waiting(self.next_update);
            let idle = Controller::default();
            if self.controller == idle && waiting.is_zero() && self.classic.is_empty() && self.low.is_empty()
            {
                break;
            }
            self.controller.update(&self.gains, waiting);
            self.next_update = self.next_update + self.gains.tupdate;
            made += 1;
        }
        if self.next_update <= now {
            let left = now.since(self.next_update).as_picos() / self.gains.tupdate.as_picos() + 1;
            self.next_update = self.next_update + self.gains.tupdate * left;
        }
    }

    /// Returns whether marks no longer suffice.
    fn is_overloaded(&self) -> bool {
        self.config.overload == Overload::DropOnOverload
            && self.controller.coupled(self.config.coupling_factor.max(1)) >= ONE
    }

    /// Returns whether the packet at the head of the L queue is marked whatever the probability.
    fn is_over_step(&self, now: Instant) -> bool {
        let packets = self.low.len() as u64;
        packets > self.config.min_qlen_step.0
            && match self.config.step_thresh {
                Threshold::Packets(most) => packets > most.0,
                Threshold::Time(longest) => {
                    self.low.front().is_some_and(|packet| now.since(packet.arrived) > longest)
                }
            }
    }

    //= https://www.rfc-editor.org/rfc/rfc9332#appendix-A.2
    fn judge_low(&mut self, mut packet: Packet, steps: bool, cx: &mut Context<'_>) -> Verdict {
        if self.is_overloaded() && self.low_drops.hits(self.controller.classic()) {
            cx.drop(packet, DropReason::Early);
            return Verdict::Dropped;
        }
        let coupled = self.controller.coupled(self.config.coupling_factor);
        if self.low_marks.hits(if steps { ONE } else { coupled }) {
            cx.mark(&mut packet);
        }
        Verdict::Keep(packet)
    }

    //= https://www.rfc-editor.org/rfc/rfc9332#appendix-A.2
    fn judge_classic(&mut self, mut packet: Packet, cx: &mut Context<'_>) -> Verdict {
        if !self.classic_hits.hits(self.controller.classic()) {
            return Verdict::Keep(packet);
        }
        if !self.is_overloaded() && cx.mark(&mut packet) {
            return Verdict::Keep(packet);
        }
        cx.drop(packet, DropReason::Early);
        Verdict::Dropped
    }

    /// Returns whether the L queue is served next: always, unless the classic queue has earned its next
    /// packet.
    fn low_is_next(&mut self) -> bool {
        match (self.low.front(), self.classic.front()) {
            (Some(_), Some(head)) => self.credit < shared(head.bytes(), self.others_share()),
            (low, _) => {
                // The other queue is empty: no credit accumulates.
                self.credit = 0;
                low.is_some()
            }
        }
    }

    /// Returns the share of the link without the classic queue's protection, in 2^-32.
    fn others_share(&self) -> u64 {
        Probability::ONE.steps() - self.config.classic_protection.steps()
    }

    /// Accounts for a packet that is sent while the other queue waits.
    fn charge(&mut self, low: bool, length: Bytes) {
        if low && !self.classic.is_empty() {
            self.credit += shared(length, self.config.classic_protection.steps());
        } else if !low && !self.low.is_empty() {
            self.credit = self.credit.saturating_sub(shared(length, self.others_share()));
        }
    }
}

/// Returns a share in 2^-32 of these bytes.
fn shared(length: Bytes, share: u64) -> u128 {
    u128::from(length.0) * u128::from(share)
}
