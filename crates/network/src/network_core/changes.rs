//! Changes of a running network: a port is reconfigured, a link changed, a flow renewed.

use lockgate_engine::discipline::Invalid;
use lockgate_engine::port::{Effect, PortChange};
use lockgate_engine::units::Instant;
use lockgate_measure::recording::Event;
use lockgate_scenario::change::Prepared;
use lockgate_scenario::model::{Action, Scenario, Transport};
use lockgate_traffic::Arrivals;

use super::{NetworkCore, Runtime};
use crate::failure::Failure;
use crate::paths::propagation;

/// Change of a flow's sender.
#[derive(Debug)]
pub struct Renewal {
    /// Index of the flow in the scenario.
    pub flow: usize,
    /// New traffic pattern of datagrams; `None` if it stays.
    pub arrivals: Option<Arrivals>,
    /// Time of the change.
    pub at: Instant,
    /// New end of the flow.
    pub stop: Instant,
}

impl<R: Runtime> NetworkCore<R> {
    /// Applies a change now. Queued packets stay, except those that a smaller limit evicts. Returns the
    /// changes to be made to the flows' senders, in order.
    ///
    /// # Errors
    /// If a discipline or traffic refuses. Reading the scenario normally finds this first.
    pub fn apply(
        &mut self,
        scenario: &Scenario,
        change: &mut Prepared,
        now: Instant,
    ) -> Result<Vec<Renewal>, Failure> {
        self.changes += 1;
        self.recording.begin_phase(now);
        let of_port = match change.of_port() {
            Ok(Some((port, of_port))) => self.change_port(port, of_port, now),
            Ok(None) => Ok(Effect::default()),
            Err(why) => Err(why),
        };
        let Effect { moved_packets, forced_out_packets } =
            of_port.map_err(|why| Failure::build(&change.change.path, &why))?;
        let mut renewals = Vec::new();
        match &change.change.action {
            Action::Port { .. } => {}
            Action::Link { link, rate, delay, loss } => {
                for direction in 0..2 {
                    let index = 2 * link + direction;
                    let (rate, delay) =
                        (rate.map(|rate| rate[direction]), delay.map(|delay| delay[direction]));
                    self.links[index].change(now, rate, delay, loss.map(|loss| loss[direction]));
                    self.runtime.set_link(index, self.links[index].next());
                }
                self.propagation = propagation(scenario, |port| self.links[port].delay());
            }
            Action::Flow { flows, traffic, stop } => {
                let stop = stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop);
                for flow in flows.clone() {
                    let model = &scenario.flows[flow];
                    let arrivals = traffic
                        .as_ref()
                        .filter(|_| model.transport == Transport::Udp)
                        .map(|traffic| traffic.arrivals_after(self.seed, &model.name, self.changes))
                        .transpose()
                        .map_err(|why| Failure::build(&model.name, &why))?;
                    renewals.push(Renewal { flow, arrivals, at: now, stop });
                }
            }
        }
        let event = Event::change(now, &change.change.path, &change.change.value);
        self.recording.events.push(Event { moved_packets, forced_out_packets, ..event });
        Ok(renewals)
    }

    /// Applies a change of one port now. A controller changes a rate by it: there is no event, and no phase
    /// begins.
    ///
    /// # Errors
    /// Those of [`Port::apply`](lockgate_engine::port::Port::apply).
    pub fn change_port(
        &mut self,
        port: usize,
        change: &mut PortChange,
        now: Instant,
    ) -> Result<Effect, Invalid> {
        let link = &mut self.links[port];
        let effect = match link.port.apply(change, now, self.runtime.headers()) {
            Ok(effect) => effect,
            // A refused change may have dropped packets as well.
            Err(why) => {
                self.collect_drops(port, now);
                return Err(why);
            }
        };
        if effect.moved_packets.is_some() {
            link.record.on_replaced(now, &mut link.port);
        }
        link.record_pace(now);
        link.touch(now);
        self.runtime.set_link(port, link.next());
        self.collect_drops(port, now);
        Ok(effect)
    }
}
