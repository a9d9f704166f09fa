//! Controllers of the rates of ports: each is stepped by what its tap has seen, and changes its port.

use lockgate_autorate::{Controller, Reason, Why};
use lockgate_engine::pacing::Pace;
use lockgate_engine::port::PortChange;
use lockgate_engine::units::{Duration, Instant, Rate};
use lockgate_measure::recording::Event;
use lockgate_network::{Failure, Tap, line_of};
use lockgate_scenario::model::{Autorate, Scenario};

use crate::network::Network;

/// Interval between two steps of a controller.
const STEP: Duration = Duration::from_millis(10);

/// Least time between two marks of one controller, outages apart.
const MARK_AFTER: Duration = Duration::from_millis(500);

/// Part by which the rate differs from that of the last mark at a new one.
const MARK_PART: u64 = 4;

/// Controllers of a run.
pub(crate) struct Controllers {
    of: Vec<Driver>,
    next: Instant,
}

/// Controller of one port.
struct Driver {
    port: usize,
    name: String,
    tap: usize,
    controller: Controller,
    is_applied: bool,
    /// Rate that the port has.
    applied: Rate,
    overhead: lockgate_engine::overhead::FrameOverhead,
    /// Port of the line whose capacity is known.
    line: Option<usize>,
    offered_before: f64,
    marked: Mark,
}

/// Last mark of a controller.
#[derive(Clone, Copy)]
struct Mark {
    at: Instant,
    rate: Rate,
    why: Why,
}

impl Controllers {
    /// Creates the controllers of a scenario, with their taps in `network`.
    pub(crate) fn new(scenario: &Scenario, network: &mut Network) -> Self {
        let with = |(port, model): (usize, &lockgate_scenario::model::PortModel)| {
            Some((port, model.autorate.clone()?))
        };
        let controlled: Vec<_> = scenario.ports.iter().enumerate().filter_map(with).collect();
        let taps = controlled.iter().map(|(port, autorate)| Tap::new(scenario, *port, autorate));
        let first = network.core.add_taps(taps);
        let driver = |(index, (port, autorate)): (usize, &(usize, std::sync::Arc<Autorate>))| Driver {
            port: *port,
            name: scenario.ports[*port].name.clone(),
            tap: first + index,
            controller: Controller::new(autorate.law, &autorate.parameters, autorate.bounds),
            is_applied: !autorate.observe_only,
            applied: autorate.bounds.start,
            overhead: scenario.ports[*port].pace.overhead,
            line: line_of(scenario, *port, autorate.line),
            offered_before: 0.0,
            marked: Mark { at: Instant::ZERO, rate: autorate.bounds.start, why: Why::Start },
        };
        let of: Vec<Driver> = controlled.iter().enumerate().map(driver).collect();
        let next = if of.is_empty() { Instant::NEVER } else { Instant::ZERO + STEP };
        Self { of, next }
    }

    /// Returns the time of the next step; never without controllers.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Steps all controllers. Everything else at `now` has happened.
    ///
    /// # Errors
    /// None, unless a port refuses a rate.
    pub(crate) fn step(&mut self, network: &mut Network, now: Instant) -> Result<(), Failure> {
        self.next = now + STEP;
        for driver in &mut self.of {
            driver.step(network, now)?;
        }
        Ok(())
    }
}

impl Driver {
    fn step(&mut self, network: &mut Network, now: Instant) -> Result<(), Failure> {
        let mut sample = network.core.take_sample(self.tap, now);
        sample.capacity = self.capacity(network, now);
        let (rate, reason) = self.controller.step(now, &sample);
        if self.is_applied && rate != self.applied {
            let pace = Pace { rate: Some(rate), overhead: self.overhead };
            let change = &mut PortChange::of_pace(pace);
            network
                .core
                .change_port(self.port, change, now)
                .map_err(|why| Failure::Build { part: self.name.clone(), why: why.to_string() })?;
            self.applied = rate;
        }
        if self.is_mark(now, rate, reason) {
            let text = format!("port {}: {} -> {rate}: {reason}", self.name, self.marked.rate);
            network.core.recording.events.push(Event::note(now, text));
            self.marked = Mark { at: now, rate, why: reason.why };
        }
        Ok(())
    }

    /// Returns the rate of the line since the last step.
    fn capacity(&mut self, network: &Network, now: Instant) -> Option<Rate> {
        let link = network.core.links.get(self.line?)?;
        let Some(offered) = link.offered_bits(now) else { return Some(link.line_rate()) };
        let bits = offered - core::mem::replace(&mut self.offered_before, offered);
        Some(Rate::from_bits((bits / STEP.as_secs_f64()) as u64))
    }

    /// Returns whether a step is worth a mark: an outage, its end, another path, or a rate that differs much
    /// from that of the last mark.
    fn is_mark(&self, now: Instant, rate: Rate, reason: Reason) -> bool {
        let is_rare = matches!(reason.why, Why::Outage | Why::Resumed | Why::PathChange);
        if is_rare {
            return reason.why != self.marked.why;
        }
        let before = self.marked.rate.as_bits();
        now.since(self.marked.at) >= MARK_AFTER && rate.as_bits().abs_diff(before) > before / MARK_PART
    }
}
