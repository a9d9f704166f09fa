//! Proportional integral controller enhanced: drops arriving packets with a probability that is steered by
//! the delay and its trend.
//!
//! ```text
//! every tupdate:  p += alpha (delay - target) + beta (delay - delay before)    scaled down if p is small
//! ```
//!
//! The delay is the sojourn time of the last packet that left, or the backlog over the estimated departure
//! rate. The law is in `crate::control::pie`.

use serde::{Deserialize, Serialize};

pub use crate::control::pie::Flavour;
use crate::control::pie::{Aim, ControlLaw};
use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, Guarantee, Invalid, NoShare, check_limit,
};
use crate::explanation::{Explanation, Foresight, why};
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Bytes, Duration, Limit, Packets};

/// Parameters of `pie`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub struct Config {
    /// Flavour of the controller: `rfc` or `linux`.
    pub flavour: Flavour,
    /// Limit of the backlog, in packets (`1000p`) or bytes (`64kB`). Further arrivals are dropped.
    pub limit: Limit,
    /// Target queueing delay.
    pub target: Duration,
    /// Time between two updates of the probability, at least `1ms`. Linux rounds it up to whole jiffies
    /// (`16ms` at 250 Hz).
    pub tupdate: Duration,
    /// Weight of the distance from the target, in sixteenths per second: 2 is 0.125, up to 32.
    pub alpha: u32,
    /// Weight of the trend, in sixteenths per second: 20 is 1.25, up to 32.
    pub beta: u32,
    /// Length of a burst that passes without drops after a quiet time.
    pub max_burst: Duration,
    /// Length of a full packet: no drops at a backlog of two or less; the unit of `bytemode`.
    pub mtu: Bytes,
    /// Marks ECN-capable packets instead of dropping them, while the probability is at most 10 %.
    pub ecn: bool,
    /// Small packets are dropped less often, in proportion to their length.
    pub bytemode: bool,
    /// Estimates the delay as backlog / departure rate instead of the last packet's sojourn time. The rate is
    /// measured over 16384 bytes whenever as many wait.
    pub dq_rate_estimator: bool,
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
            dq_rate_estimator: false,
        }
    }
}

impl Config {
    fn aim(&self) -> Result<Aim, Invalid> {
        check_limit(self.limit)?;
        let Self {
            flavour, target, tupdate, alpha, beta, max_burst, mtu, bytemode, dq_rate_estimator, ..
        } = *self;
        Aim { flavour, target, tupdate, alpha, beta, max_burst, mtu, bytemode, dq_rate_estimator }.check()
    }
}

/// Probability in percent up to which packets are marked instead of dropped.
const MARKED: u64 = 10;

/// Proportional integral controller enhanced.
pub struct Pie {
    config: Config,
    aim: Aim,
    law: ControlLaw,
    queue: PacketQueue,
}

impl Discipline for Pie {
    const ABOUT: About = About {
        name: "pie",
        summary: "proportional integral controller: drops so that the waiting comes to a target",
        source: "RFC 8033; tc-pie(8)",
        guarantees: &[
            Guarantee::new(
                "each update follows RFC 8033, section 4.2, on the measured delays",
                &["pie-update"],
            ),
            Guarantee::new(
                "under a constant overload of senders that do not react, up to 2.7 times the line, the mean waiting is the target",
                &["pie-target"],
            ),
            Guarantee::new(
                "a burst that ends one update before the allowance after quiet times loses nothing",
                &["pie-burst"],
            ),
        ],
        drops_early: true,
        example: "limit = \"1000p\"\ntarget = \"15ms\"\ntupdate = \"15ms\"\n",
        has_own_times: true,
        draws: true,
        flow_blind: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let aim = config.aim()?;
        Ok(Self { config, aim, law: ControlLaw::new(&aim), queue: PacketQueue::default() })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let aim = config.aim()?;
        self.law.retune(&self.aim, &aim, self.queue.bytes(), cx.now);
        self.config = config;
        self.aim = aim;
        self.queue.shrink(self.config.limit, cx);
        Ok(())
    }

    //= https://www.rfc-editor.org/rfc/rfc8033#section-4.1
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        self.law.catch_up(&self.aim, self.queue.bytes(), cx.now);
        if !self.queue.has_room(&packet, self.config.limit) {
            self.law.dropped();
            cx.drop(packet, DropReason::Limit);
            return;
        }
        //= https://www.rfc-editor.org/rfc/rfc8033#section-5.1
        let drops = self.law.drops_early(&self.aim, &packet, self.queue.bytes(), cx);
        let may_mark = self.config.ecn && self.law.is_within(MARKED);
        if drops && !(may_mark && cx.mark(&mut packet)) {
            self.law.dropped();
            cx.drop(packet, DropReason::Early);
        } else {
            self.queue.push(packet);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.law.catch_up(&self.aim, self.queue.bytes(), cx.now);
        let Some(packet) = self.queue.pop() else { return Dequeue::Empty };
        self.law.departed(&self.aim, &packet, self.queue.bytes(), cx.now);
        Dequeue::Packet(packet)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut law = self.law;
        law.catch_up(&self.aim, self.queue.bytes(), cx.now);
        to.state = law.fields(&self.aim);
        to.state("packets", self.queue.len());
        let Some(oldest) = self.queue.front() else { return to.empty() };
        let waited = cx.now.since(oldest.arrived);
        let why = why!["the oldest of ", self.queue.len(), ": it waited ", waited];
        to.send_own(None, oldest, why.and(law.arrivals(&self.aim)));
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.law.gauges(emit);
    }
}
