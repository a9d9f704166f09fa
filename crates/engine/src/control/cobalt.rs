//! COBALT's control law: `CoDel`'s schedule, forwards and backwards, and BLUE's probability beside it.
//!
//! One file for `cobalt` and for every flow of `cake`. Where it comes from is said in
//! [`crate::disciplines::cobalt`].

use super::Aim;
use crate::discipline::Context;
use crate::packet::Packet;
use crate::units::{Bytes, Instant, Probability};

/// By how much a full queue raises the probability of a drop and an empty one lowers it, of 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    increase: u64,
    decrease: u64,
}

/// Probability 1.
const ONE: u64 = Probability::ONE.steps();

impl Steps {
    /// Up by `increase`, down by `decrease`.
    pub fn new(increase: Probability, decrease: Probability) -> Self {
        Self { increase: increase.steps(), decrease: decrease.steps() }
    }
}

/// The state of the law for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct CobaltLaw {
    count: u32,
    dropping: bool,
    drop_next: Instant,
    /// Of 2^32.
    probability: u64,
    /// When the probability changed last.
    changed: Option<Instant>,
}

impl CobaltLaw {
    /// Whether the probability has been left alone for a target.
    fn may_change(&self, aim: &Aim, now: Instant) -> bool {
        self.changed.is_none_or(|last| now.since(last) > aim.target)
    }

    /// The queue was full, and a packet went for it.
    pub fn full(&mut self, aim: &Aim, steps: Steps, now: Instant) {
        if self.may_change(aim, now) {
            self.probability = (self.probability + steps.increase).min(ONE);
            self.changed = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue has run empty.
    pub fn empty(&mut self, aim: &Aim, steps: Steps, now: Instant) {
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

    /// Whether a packet that could leave, with `behind` waiting behind it, is dropped.
    pub fn judge(&mut self, aim: &Aim, packet: &mut Packet, behind: Bytes, cx: &mut Context<'_>) -> bool {
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
        // While nothing happens, the next drop stays at most an interval away.
        if self.count == 0 {
            self.drop_next = now + aim.interval;
        } else if now > self.drop_next && !drops {
            self.drop_next = now;
        }
        drops
    }

    /// The law's internal quantities.
    pub fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("drop_count", f64::from(self.count));
        emit("drop_probability", self.probability as f64 / ONE as f64);
    }
}
