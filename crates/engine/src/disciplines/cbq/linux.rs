//! Linux's service of classes: its clock, rounds, borrowing, top-level sharing and the actions at the
//! limit.

use super::bands::BANDS;
use super::estimator::Ticks;
use super::{Cbq, Charge, Clock, Flavour, NO_CUTOFF, Overlimit, Turn, Wake};
use crate::discipline::{Context, Dequeue, DropReason};
use crate::packet::Packet;
use crate::units::{Bytes, Duration, Instant};

/// Maximum time that packets wait if a round was cut short and no timer is set: long compared with the gaps
/// between the packets of a loaded link, and short compared with a sender's timeout.
const LOST_WAKE: Duration = Duration::from_millis(10);

/// Result of serving a band.
enum Served {
    Sent(Packet),
    Nothing,
    /// No packet, and not all of its classes were visited.
    CutShort,
}

impl Cbq {
    pub(super) fn dequeue_linux(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.advance_clock(cx.now);
        self.end_penalties(self.arithmetic().at(cx.now));
        let link = self.link();
        loop {
            let mut wake = Wake::new(cx.now, self.arithmetic());
            let mut is_cut_short = false;
            let mut band = 0;
            while let Some(busy) = self.bands.next_busy(band) {
                match self.serve_band(busy, &mut wake, cx) {
                    Served::Sent(packet) => return Dequeue::Packet(packet),
                    Served::Nothing => {}
                    Served::CutShort => is_cut_short = true,
                }
                band = busy + 1;
                if band == BANDS {
                    break;
                }
            }
            let link_is_free = self.states[link].estimator.undertime.is_none();
            if self.cutoff == NO_CUTOFF && link_is_free {
                // Differs: the kernel sets no timer then, and the packets stay until the next arrival.
                if is_cut_short && wake.earliest.0.is_none() && self.holds_packets() {
                    wake.at(cx.now + LOST_WAKE);
                }
                return wake.answer();
            }
            // No class may send, because borrowing is bounded or CBQ's clock counts the link as busy. The
            // link is free, since it polls. If the bound stayed, a class could wait for a packet that never
            // comes.
            self.cutoff = NO_CUTOFF;
            self.states[link].estimator.undertime = None;
        }
    }

    /// Dequeues once more if all listed classes are empty and the link has sent the last packet, as the
    /// kernel does as soon as the link is free: that packet is charged, borrowing is no longer bounded, and
    /// empty classes are delisted.
    pub(super) fn end_busy_period(&mut self, cx: &mut Context<'_>) {
        let Some(charge) = self.pending else { return };
        let on_link = self.states[self.link()].settings.tuning.time_for(charge.length);
        if self.arithmetic().at(cx.now) >= self.clock.now + on_link && !self.holds_packets() {
            // All are empty: this returns no packet.
            let _ = self.dequeue_linux(cx);
        }
    }

    /// Returns whether a listed class holds packets.
    fn holds_packets(&mut self) -> bool {
        let Self { bands, classes, .. } = self;
        bands.iter().any(|class| !classes.is_empty(class))
    }

    /// Charges the last packet and sets the clock.
    ///
    /// Linux 2.2 advances its clock by the packet's time on the link, or by the time passed if that is
    /// longer. A packet that follows at once therefore advances the clock by its length for good.
    pub(super) fn advance_clock(&mut self, now: Instant) {
        let real = self.arithmetic().at(now);
        let mut passed = (real - self.clock.real).max(0);
        if let Some(charge) = self.pending.take() {
            let on_link = self.states[self.link()].settings.tuning.time_for(charge.length);
            let start = self.clock.now;
            self.clock.now += on_link;
            self.charge(charge, start, start + on_link);
            self.lower_top_level_after(charge);
            passed = (passed - on_link).max(0);
        }
        let now = if self.config.flavour == Flavour::Linux22 { self.clock.now + passed } else { real };
        self.clock = Clock { now, real };
    }

    /// If the class that sent has more packets and its lender is under its limit, no class borrows from
    /// higher up.
    fn lower_top_level_after(&mut self, charge: Charge) {
        let mut lender = charge.lender;
        if self.cutoff < self.states[lender].level || self.classes.is_empty(charge.class) {
            return;
        }
        while self.states[lender].estimator.undertime.is_some() {
            match self.lender(lender) {
                Some(above) => lender = above,
                None => return,
            }
        }
        self.cutoff = self.states[lender].level;
    }

    /// Returns the time at `real` without another dequeue.
    pub(super) fn clock_at(&self, real: Ticks) -> Ticks {
        match self.config.flavour {
            Flavour::Linux22 => self.clock.now + (real - self.clock.real).max(0),
            Flavour::Linux | Flavour::Altq => real,
        }
    }

    /// Serves one packet of the classes of a band, in rounds until each that may send has had the quantum
    /// it lacks.
    ///
    /// Late Linux ends a round once the last class of the ring counts as visited, and if a class is
    /// delisted, the one before it counts. If that happens to the first class of a round, the round is over
    /// and the others are not visited.
    fn serve_band(&mut self, band: usize, wake: &mut Wake, cx: &mut Context<'_>) -> Served {
        loop {
            self.credited.clear();
            let mut turn = 0;
            while let Some(class) = self.bands.at(band, turn) {
                match self.take_turn(class, band, wake, cx) {
                    Turn::Sent(packet) => {
                        self.end_turn(class, band, turn, packet.bytes());
                        return Served::Sent(packet);
                    }
                    Turn::Credited => {
                        self.credited.push(class);
                        turn += 1;
                    }
                    Turn::Refused => turn += 1,
                    Turn::Gone => {
                        self.bands.retire(band, turn);
                        if turn == 0 && self.config.flavour == Flavour::Linux {
                            return Served::CutShort;
                        }
                    }
                }
            }
            // Rounds in which no class could send are skipped in one step.
            let states = &mut self.states;
            let missing = |class: &usize| match (states[*class].deficit, states[*class].settings.quantum) {
                (deficit, _) if deficit > 0 => 0,
                (deficit, quantum) => -deficit / quantum + 1,
            };
            let Some(rounds) = self.credited.iter().map(missing).min() else { return Served::Nothing };
            for class in &self.credited {
                let state = &mut states[*class];
                state.deficit += rounds * state.settings.quantum;
            }
        }
    }

    fn take_turn(&mut self, class: usize, band: usize, wake: &mut Wake, cx: &mut Context<'_>) -> Turn {
        let own_band = self.band_of(class);
        if own_band != band {
            self.bands.activate(own_band, class);
            return Turn::Gone;
        }
        let is_empty = self.classes.is_empty(class);
        let lender = if is_empty { Some(class) } else { self.find_lender(class, wake, cx) };
        let Some(lender) = lender else {
            return if self.classes.is_empty(class) { Turn::Gone } else { Turn::Refused };
        };
        let state = &mut self.states[class];
        if state.deficit <= 0 {
            // A class that has just become empty as well: its deficit stays until it comes back.
            state.deficit += state.settings.quantum;
            return Turn::Credited;
        }
        if is_empty {
            return Turn::Gone;
        }
        let turn = self.dequeue_class(class, wake, cx);
        if let Turn::Sent(packet) = &turn {
            self.pending = Some(Charge { class, lender, length: packet.bytes() });
        }
        turn
    }

    /// Counts the packet; the turn passes on if the quantum is used up, with a quantum for the next class.
    fn end_turn(&mut self, class: usize, band: usize, turn: usize, length: Bytes) {
        let state = &mut self.states[class];
        state.deficit -= i128::from(length.0);
        if state.deficit > 0 {
            return;
        }
        self.bands.turn_to(band, turn + 1);
        if let Some(next) = self.bands.at(band, 0) {
            let state = &mut self.states[next];
            state.deficit += state.settings.quantum;
        }
    }

    /// Returns the first of the class and its ancestors that is under its limit, if borrowing from it is
    /// allowed.
    fn find_lender(&mut self, class: usize, wake: &mut Wake, cx: &mut Context<'_>) -> Option<usize> {
        if self.is_set_aside(class) {
            self.wake_after_penalty(class, wake);
            return None;
        }
        let now = self.clock.now;
        let mut lender = class;
        while self.is_over(lender, now) {
            let Some(above) = self.lender(lender) else {
                self.act(class, wake, cx);
                return None;
            };
            if self.states[above].level > self.cutoff {
                return None;
            }
            lender = above;
        }
        self.states[lender].is_delayed = false;
        Some(lender)
    }

    /// Takes the action on a class that is over its limit and cannot borrow.
    fn act(&mut self, class: usize, wake: &mut Wake, cx: &mut Context<'_>) {
        let real = self.arithmetic().at(cx.now);
        match self.states[class].settings.overlimit {
            Overlimit::Classic => self.delay(class),
            Overlimit::Wait => {}
            Overlimit::Rclassic => {
                let mut highest = class;
                while let Some(above) =
                    self.lender(highest).filter(|above| self.states[*above].level <= self.cutoff)
                {
                    highest = above;
                }
                self.delay(highest);
            }
            Overlimit::Delay => {
                if !self.states[class].is_delayed {
                    self.delay(class);
                    let state = &self.states[class];
                    let wait = state.estimator.undertime.map_or(0, |undertime| undertime - self.clock.now);
                    let until = real + wait.max(1) + state.settings.penalty;
                    self.penalise(class, until);
                    self.wake_after_penalty(class, wake);
                    return;
                }
            }
            Overlimit::Lowprio => {
                let penalty = self.states[class].settings.penalty;
                if penalty > 0 {
                    self.penalise(class, real + penalty);
                }
                self.delay(class);
            }
            Overlimit::Drop => {
                self.classes.evict(class, cx, DropReason::Early);
                self.delay(class);
            }
        }
        // The class may send again when any class from which it could borrow is under its limit.
        let mut next = Some(class);
        while let Some(above) = next {
            if let Some(undertime) = self.states[above].estimator.undertime {
                wake.after(undertime - self.clock.now);
            }
            next = self.lender(above);
        }
    }

    /// *Classic*: the first time, the class waits its pause longer, and its debt is forgiven.
    fn delay(&mut self, class: usize) {
        let now = self.clock.now;
        let state = &mut self.states[class];
        let (estimator, tuning) = (&mut state.estimator, &state.settings.tuning);
        let Some(undertime) = estimator.undertime.filter(|_| !state.is_delayed) else { return };
        let delay = undertime - now + tuning.offtime - estimator.debt(tuning);
        estimator.undertime = Some(now + delay.max(1));
        state.is_delayed = true;
    }

    /// Returns whether `delay` holds the class even if a lender becomes free.
    fn is_set_aside(&self, class: usize) -> bool {
        let state = &self.states[class];
        state.settings.overlimit == Overlimit::Delay && state.penalised_until.is_some()
    }

    fn wake_after_penalty(&self, class: usize, wake: &mut Wake) {
        if let Some(until) = self.states[class].penalised_until {
            wake.after(until - wake.now);
        }
    }

    fn penalise(&mut self, class: usize, until: Ticks) {
        if self.states[class].penalised_until.replace(until).is_none() {
            self.penalised.push(class);
        }
    }

    /// Returns the classes whose penalty is over to their own rings.
    fn end_penalties(&mut self, real: Ticks) {
        let mut index = 0;
        while let Some(class) = self.penalised.get(index).copied() {
            let state = &mut self.states[class];
            if state.penalised_until.is_some_and(|until| real < until) {
                index += 1;
                continue;
            }
            state.penalised_until = None;
            if state.settings.overlimit == Overlimit::Delay {
                state.is_delayed = false;
            }
            self.penalised.swap_remove(index);
            if !self.classes.is_empty(class) {
                self.bands.activate(self.band_of(class), class);
            }
        }
    }
}
