//! ALTQ's service of classes: sleep at the limit, cutoff of borrowing, rounds that carry nothing over, and
//! the end of the link's transmissions.

use super::bands::BANDS;
use super::config::RoundRobin;
use super::estimator::Ticks;
use super::{Cbq, Charge, Clock, NO_CUTOFF, Turn, Wake};
use crate::discipline::{Context, Dequeue};
use crate::packet::Packet;
use crate::units::Bytes;

/// Number of largest packets that the link's end may be ahead.
const AHEAD: Ticks = 16;
/// Time of such a packet above which a link is slow; slow links get a quarter of that.
const SLOW: Ticks = 10_000_000_000;

impl Cbq {
    pub(super) fn dequeue_altq(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let now = self.arithmetic().at(cx.now);
        self.clock = Clock { now, real: now };
        let link_level = self.states[self.link()].level;
        loop {
            let mut wake = Wake::new(cx.now, self.arithmetic());
            let mut hopeful = None;
            let mut band = 0;
            while let Some(busy) = self.bands.next_busy(band) {
                if let Some(packet) = self.serve_band_altq(busy, &mut hopeful, &mut wake, cx) {
                    return Dequeue::Packet(packet);
                }
                band = busy + 1;
                if band == BANDS {
                    break;
                }
            }
            if hopeful.is_some() && self.config.adjust_cutoff.unwrap_or(true) && self.cutoff < link_level {
                self.cutoff += 1;
                continue;
            }
            self.cutoff = NO_CUTOFF;
            if let Some((band, class)) = hopeful.filter(|_| self.config.efficient == Some(true))
                && let Some(packet) = self.send_anyway(band, class, &mut wake, cx)
            {
                return Dequeue::Packet(packet);
            }
            return wake.answer();
        }
    }

    /// Serves one packet of the classes of a band: first of those with an allotment left, then of any.
    /// `hopeful` becomes the first that was refused and may borrow.
    fn serve_band_altq(
        &mut self,
        band: usize,
        hopeful: &mut Option<(usize, usize)>,
        wake: &mut Wake,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let by_packet = self.config.round_robin == Some(RoundRobin::Packet);
        for pays in [!by_packet, false] {
            let (mut turn, mut spent) = (0, false);
            while let Some(class) = self.bands.at(band, turn) {
                let state = &mut self.states[class];
                if pays && state.deficit <= 0 {
                    state.deficit += state.settings.quantum;
                }
                if self.classes.is_empty(class) {
                    self.leave_band(class, band, turn);
                    continue;
                }
                if pays && self.states[class].deficit <= 0 {
                    spent = true;
                } else if let Some(lender) = self.find_lender_altq(class, wake) {
                    match self.dequeue_class(class, wake, cx) {
                        Turn::Sent(packet) => {
                            self.sent(Charge { class, lender, length: packet.bytes() }, band, turn);
                            return Some(packet);
                        }
                        Turn::Gone => {
                            self.leave_band(class, band, turn);
                            continue;
                        }
                        Turn::Refused | Turn::Credited => {}
                    }
                } else if self.lender(class).is_some() {
                    hopeful.get_or_insert((band, class));
                }
                // Credit or debt left at the end of a turn is lost.
                self.states[class].deficit = 0;
                turn += 1;
            }
            if !spent {
                break;
            }
        }
        None
    }

    /// Delists an empty class.
    fn leave_band(&mut self, class: usize, band: usize, turn: usize) {
        self.states[class].deficit = 0;
        self.bands.retire(band, turn);
    }

    /// Serves the first class that may borrow if all are over their limits.
    fn send_anyway(
        &mut self,
        band: usize,
        class: usize,
        wake: &mut Wake,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let lender = self.lender(class)?;
        let Turn::Sent(packet) = self.dequeue_class(class, wake, cx) else { return None };
        self.wake_up(class);
        self.cutoff = self.states[lender].level;
        let turn = (0..).map_while(|turn| self.bands.at(band, turn)).position(|listed| listed == class);
        self.sent(Charge { class, lender, length: packet.bytes() }, band, turn.unwrap_or_default());
        Some(packet)
    }

    /// Counts and charges a packet at once, up to the time at which the link will have sent it.
    fn sent(&mut self, charge: Charge, band: usize, turn: usize) {
        let state = &mut self.states[charge.class];
        state.deficit -= i128::from(charge.length.0);
        let by_packet = self.config.round_robin == Some(RoundRobin::Packet);
        let keeps_turn = state.deficit > 0 && !by_packet;
        self.bands.turn_to(band, if keeps_turn { turn } else { turn + 1 });
        self.link_end = self.end_of_link(charge.length);
        let now = self.clock.now;
        self.charge(charge, now, self.link_end);
        self.wake_those_under(charge.class);
        if charge.lender == charge.class || self.cutoff < self.states[charge.lender].level {
            return;
        }
        let is_open = !self.classes.is_empty(charge.class) && !self.is_over(charge.lender, now);
        self.cutoff = if is_open { self.states[charge.lender].level } else { NO_CUTOFF };
    }

    /// Returns the time at which the link will have sent a packet of this length after those before it: at
    /// most [`AHEAD`] of the largest packets from now, on a slow link a quarter of that.
    fn end_of_link(&self, length: Bytes) -> Ticks {
        let time_for = |length| Ticks::from(self.config.bandwidth.time_for(length).as_picos());
        let mtu = time_for(self.config.mtu);
        let most = mtu * AHEAD / if mtu > SLOW { 4 } else { 1 };
        let now = self.clock.now;
        if self.link_end <= now {
            return now + time_for(length);
        }
        now + (self.link_end - now + time_for(length)).min(most)
    }

    /// Wakes the classes that were charged and are under their limits again.
    fn wake_those_under(&mut self, class: usize) {
        let mut next = Some(class);
        while let Some(class) = next {
            let state = &mut self.states[class];
            state.is_delayed &= state.estimator.undertime.is_some();
            next = self.sharing(class);
        }
    }

    fn wake_up(&mut self, class: usize) {
        let state = &mut self.states[class];
        state.is_delayed = false;
        state.estimator.undertime = None;
    }

    /// Returns the first of the class and its ancestors that is under its limit and not above the cutoff.
    /// Without one the class goes to sleep, unless only a cutoff prevents it from borrowing.
    fn find_lender_altq(&mut self, class: usize, wake: &mut Wake) -> Option<usize> {
        let now = self.clock.now;
        if self.states[class].settings.exempt {
            return Some(class);
        }
        if self.states[class].is_delayed {
            if self.is_over(class, now) {
                self.wake_from_sleep(class, wake);
                return None;
            }
            self.wake_up(class);
            return Some(class);
        }
        let (mut lender, mut top) = (class, None);
        while self.is_over(lender, now) {
            match self.lender(lender) {
                Some(above) if self.states[above].level > self.cutoff => {
                    if self.config.adjust_cutoff.unwrap_or(true) {
                        return None;
                    }
                    self.sleep(class, Some(above), wake);
                    return None;
                }
                Some(above) => (lender, top) = (above, Some(above)),
                None => {
                    self.sleep(class, top, wake);
                    return None;
                }
            }
        }
        Some(lender)
    }

    /// Puts a class to sleep: its pause, or that of the highest lender, replaces the time of its packet.
    fn sleep(&mut self, class: usize, top: Option<usize>, wake: &mut Wake) {
        let is_spent = |top: &usize| {
            let state = &self.states[*top];
            state.estimator.average <= state.settings.tuning.minidle
        };
        let top = top.filter(|top| self.config.borrow_offtime.unwrap_or(true) && !is_spent(top));
        let offtime = self.states[top.unwrap_or(class)].settings.tuning.offtime;
        let state = &mut self.states[class];
        let more = (offtime - state.estimator.last_packet).max(0);
        state.estimator.undertime = state.estimator.undertime.map(|undertime| undertime + more);
        state.is_delayed = true;
        self.wake_from_sleep(class, wake);
    }

    /// Returns the timer of a sleeping class: at least two ticks.
    fn wake_from_sleep(&self, class: usize, wake: &mut Wake) {
        let ticks = self.config.tick.map_or(0, |tick| 2 * Ticks::from(tick.as_picos()));
        if let Some(undertime) = self.states[class].estimator.undertime {
            wake.after((undertime - self.clock.now).max(ticks));
        }
    }
}
