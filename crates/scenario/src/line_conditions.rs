//! Tables of what a line does to packets besides their transmission: losses in bursts, jitter, duplicates,
//! reordering, slots.

use lockgate_engine::units::{Bytes, Duration, Packets, Probability};
use lockgate_traffic::LawConfig;
use serde::Deserialize;

/// Effects of one direction of a link on packets. Each key replaces that of the link.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConditionsTable {
    /// Losses in bursts, besides `loss`.
    pub(crate) loss_bursts: Option<LossBurstsTable>,
    /// Delay of each packet besides `delay`: a time or a law.
    pub(crate) jitter: Option<LawConfig<Duration>>,
    /// If false, packets may overtake each other, as their jitter has it.
    pub(crate) keep_order: Option<bool>,
    /// Probability that a packet arrives twice.
    pub(crate) duplicate: Option<Probability>,
    /// Probability that a packet overtakes those on their way: it skips the delay.
    pub(crate) reorder: Option<Probability>,
    /// Slots in which packets may start.
    pub(crate) slots: Option<SlotsTable>,
}

impl ConditionsTable {
    /// Replaces the keys that are in `own`.
    pub(crate) fn replace_by(&mut self, own: Self) {
        self.loss_bursts = own.loss_bursts.or(self.loss_bursts.take());
        self.jitter = own.jitter.or(self.jitter.take());
        self.keep_order = own.keep_order.or(self.keep_order);
        self.duplicate = own.duplicate.or(self.duplicate);
        self.reorder = own.reorder.or(self.reorder);
        self.slots = own.slots.or(self.slots.take());
    }
}

/// Losses in bursts: a line that is good or bad, and may change at each packet (Gilbert and Elliott). The
/// share of bad packets is `begin / (begin + end)`, and a bad time has `1 / end` packets on average.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct LossBurstsTable {
    /// Probability, at each packet, that a good line becomes bad.
    pub(crate) begin: Probability,
    /// Probability, at each packet, that a bad line becomes good; more than zero.
    pub(crate) end: Probability,
    /// Probability that a packet is lost while the line is bad; 1 by default.
    #[serde(default = "always")]
    pub(crate) bad: Probability,
    /// Probability that a packet is lost while the line is good; 0 by default.
    #[serde(default)]
    pub(crate) good: Probability,
}

fn always() -> Probability {
    Probability::ONE
}

/// Slots of a line, such as those of a satellite's schedule or of a radio's turns: packets start in them
/// only, and wait in the port before them.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SlotsTable {
    /// Time from the start of a slot to that of the next, such as `15s`; at least `1us`.
    pub(crate) every: Duration,
    /// Longest such time, if it is drawn for each slot: from `every` to this.
    #[serde(default)]
    pub(crate) up_to: Option<Duration>,
    /// Time at the start of a slot in which no packet starts; less than `every`.
    #[serde(default)]
    pub(crate) gap: Duration,
    /// Limit on the packets that start in a slot.
    #[serde(default)]
    pub(crate) packets: Option<Packets>,
    /// Limit on the bytes that start in a slot: beyond it, no packet starts.
    #[serde(default)]
    pub(crate) bytes: Option<Bytes>,
    /// Delay of a slot's packets besides that of the link: drawn for each slot, from zero to this.
    #[serde(default)]
    pub(crate) delay: Duration,
}
