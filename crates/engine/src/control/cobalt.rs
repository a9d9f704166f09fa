//! COBALT's control law: `CoDel`'s schedule of drops, run forwards and backwards, combined with BLUE's
//! probability.
//!
//! Shared by `cobalt` and every flow of `cake`. Sources: [`crate::disciplines::cobalt`].

use super::Aim;
use crate::context::Context;
use crate::explanation::{Field, Value, Why, why};
use crate::packet::Packet;
use crate::units::{Bytes, Instant, Probability};

/// Steps, of 2^32, by which a full queue raises the drop probability and an empty one lowers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    increase: u64,
    decrease: u64,
}

/// Probability 1.
const ONE: u64 = Probability::ONE.steps();

impl Steps {
    /// Creates the steps.
    pub(crate) fn new(increase: Probability, decrease: Probability) -> Self {
        Self { increase: increase.steps(), decrease: decrease.steps() }
    }
}

/// State of the law for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CobaltLaw {
    count: u32,
    dropping: bool,
    drop_next: Instant,
    /// BLUE's drop probability, of 2^32.
    probability: u64,
    /// Time of the last change of the probability.
    changed: Option<Instant>,
}

impl CobaltLaw {
    /// Returns whether the last change is longer ago than a target.
    fn may_change(&self, aim: &Aim, now: Instant) -> bool {
        self.changed.is_none_or(|last| now.since(last) > aim.target)
    }

    /// Accounts for a packet dropped because the queue was full.
    pub(crate) fn full(&mut self, aim: &Aim, steps: Steps, now: Instant) {
        if self.may_change(aim, now) {
            self.probability = (self.probability + steps.increase).min(ONE);
            self.changed = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Accounts for a queue that became empty.
    pub(crate) fn empty(&mut self, aim: &Aim, steps: Steps, now: Instant) {
        if self.probability > 0 && self.may_change(aim, now) {
            self.probability = self.probability.saturating_sub(steps.decrease);
            self.changed = Some(now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.drop_next + aim.spacing(self.count);
        }
    }

    /// Returns whether a packet that could leave now is dropped; `behind`: the bytes queued after it.
    pub(crate) fn judge(
        &mut self,
        aim: &Aim,
        packet: &mut Packet,
        behind: Bytes,
        cx: &mut Context<'_>,
    ) -> bool {
        let now = cx.now;
        let over = now.since(packet.arrived) > aim.target && behind > aim.mtu;
        let mut due = self.count > 0 && now >= self.drop_next;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + aim.spacing(self.count);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut drops = false;
        if due && self.dropping {
            drops = !(aim.ecn && cx.mark(packet));
            self.count = self.count.saturating_add(1);
            self.drop_next = self.drop_next + aim.spacing(self.count);
        } else {
            while due {
                self.count -= 1;
                self.drop_next = self.drop_next + aim.spacing(self.count);
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        drops |= self.probability > 0 && u64::from(cx.random.bits()) < self.probability;
        // While idle, the next drop stays at most an interval away.
        if self.count == 0 {
            self.drop_next = now + aim.interval;
        } else if now > self.drop_next && !drops {
            self.drop_next = now;
        }
        drops
    }

    /// Returns the law's quantities before a decision on the oldest packet.
    pub(crate) fn fields(&self, aim: &Aim, head: Option<&Packet>, now: Instant) -> Vec<Field> {
        let mut fields = Vec::new();
        let mut add = |name, value: Value| fields.push(Field { name, value });
        add("sojourn", head.map_or(Value::Word("-"), |head| now.since(head.arrived).into()));
        add("target", aim.target.into());
        add("count", self.count.into());
        add("next drop", self.drop_next.into());
        add("probability", self.blue());
        fields
    }

    /// Says why the law dropped this many packets, of which `head` was the first it judged.
    pub(crate) fn reason(&self, aim: &Aim, head: &Packet, drops: usize, now: Instant) -> Why {
        let sojourn = now.since(head.arrived);
        let compared = if sojourn > aim.target { " > target " } else { " <= target " };
        let waits = why!["sojourn ", sojourn, compared, aim.target];
        if drops > 0 {
            let clock = why![", drop clock ", self.drop_next, ", BLUE ", self.blue(), ": drops ", drops];
            return waits.and(clock);
        }
        if sojourn > aim.target {
            return waits.and(why![", count ", self.count, ", drop clock ", self.drop_next, ": no drop"]);
        }
        waits.and(why![": no drop"])
    }

    fn blue(&self) -> Value {
        Value::Probability(self.probability as f64 / ONE as f64)
    }

    /// Calls `emit` with the law's internal quantities.
    pub(crate) fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("drop_count", f64::from(self.count));
        emit("drop_probability", self.probability as f64 / ONE as f64);
    }
}
