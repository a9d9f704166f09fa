//! Calls of a program outside: it sends and receives while the run is advanced.

use lockgate_engine::units::{Duration, Instant};

use super::Simulation;
use crate::outside::{Incoming, Outgoing, OutsideCallError};

impl Simulation<'_> {
    /// Sends a packet of the outside flow at index `flow` now. Everything before has happened then. Returns
    /// false if the packet is lost already: refused by the first queue, or lost on the first line.
    ///
    /// # Errors
    /// See [`OutsideCallError`]. Nothing is sent then.
    #[inline]
    pub fn send_outside(
        &mut self,
        now: Instant,
        flow: usize,
        outgoing: Outgoing,
    ) -> Result<bool, OutsideCallError> {
        let outside = &self.events.network.core.runtime.outside;
        let rank = outside.host(flow).ok_or(OutsideCallError::NoFlow(flow))?.rank;
        if outside.turn != Some((flow, now)) {
            self.reach(now)?;
            self.advance_to(now, rank, false)?;
            if self.has_ended {
                return Err(OutsideCallError::Ended(self.end));
            }
        }
        let outside = &mut self.events.network.core.runtime.outside;
        outside.turn = Some((flow, now));
        outside.lost = None;
        let Some((header, node)) = outside.header(flow, outgoing, now) else { return Ok(false) };
        let slot = header.payload;
        self.events.network.send_outside(header, node, now);
        Ok(self.events.network.core.runtime.outside.lost != Some(slot))
    }

    /// Advances the run to the next arrival at a program outside, at the latest to `until`. Events of sources
    /// and hosts at `until` itself are left for later: outside hosts act there too.
    ///
    /// # Errors
    /// See [`OutsideCallError`]; a run that has ended has no arrivals, which is no error.
    #[inline]
    pub fn receive_outside(&mut self, until: Instant) -> Result<Option<Incoming>, OutsideCallError> {
        if self.events.network.core.runtime.outside.first_arrival().is_none() {
            self.reach(until)?;
            self.advance_to(until, self.acting_slot(), true)?;
        }
        let core = &mut self.events.network.core;
        let outside = &mut core.runtime.outside;
        let Some((incoming, packet)) = outside.receive() else {
            outside.turn = None;
            return Ok(None);
        };
        core.pool.recycle(packet);
        let partner = outside.host(incoming.flow).and_then(|host| host.partner);
        outside.turn = partner.filter(|_| incoming.at == self.now).map(|flow| (flow, incoming.at));
        Ok(Some(incoming))
    }

    /// Advances the run to `now`; arrivals wait until they are received.
    ///
    /// # Errors
    /// See [`OutsideCallError`].
    pub fn advance_outside(&mut self, now: Instant) -> Result<(), OutsideCallError> {
        self.reach(now)?;
        self.advance_to(now, self.acting_slot(), false)?;
        self.events.network.core.runtime.outside.turn = None;
        Ok(())
    }

    /// Returns the earliest time to which [`receive_outside`](Self::receive_outside) has something to do;
    /// `None` if nothing happens until the end of the run.
    pub fn next_outside(&self) -> Option<Instant> {
        if let Some(arrival) = self.events.network.core.runtime.outside.first_arrival() {
            return Some(arrival);
        }
        let (event, slot) = self.events.network.first();
        // Sources and hosts of this instant are left for after it.
        let is_left = event <= self.now && slot >= self.acting_slot();
        let event = if is_left { self.now + Duration::from_picos(1) } else { event };
        let next = event.min(self.next_change());
        (next < self.end && !self.has_ended).then_some(next)
    }

    /// Returns the number of contents of packets that the network holds, and of arrivals not yet received.
    pub fn outside_packets(&self) -> usize {
        self.events.network.core.runtime.outside.packets()
    }

    /// Refuses a time before the one reached.
    fn reach(&self, time: Instant) -> Result<(), OutsideCallError> {
        if time < self.now { Err(OutsideCallError::Backwards(time, self.now)) } else { Ok(()) }
    }

    /// Returns the first slot of sources and hosts.
    fn acting_slot(&self) -> usize {
        self.events.network.core.runtime.slots.source(0)
    }
}
