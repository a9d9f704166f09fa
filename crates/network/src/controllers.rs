//! Controllers of the rates of ports: each is stepped by what its tap has seen, and changes its port.

use lockgate_autorate::{Controller, Marks, Unused};
use lockgate_engine::pacing::Pace;
use lockgate_engine::port::PortChange;
use lockgate_engine::units::{Duration, Instant, Rate};
use lockgate_measure::recording::Event;
use lockgate_scenario::model::{Autorate, Scenario};

use crate::failure::Failure;
use crate::network_core::{NetworkCore, Runtime, Tap};
use crate::paths::line_of;

/// Interval between two steps of a controller.
const STEP: Duration = Duration::from_millis(10);

/// Controllers of a run.
pub struct Controllers {
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
    marks: Marks,
    unused: Unused,
    /// Names of the probed nodes.
    probed: Vec<String>,
}

impl Controllers {
    /// Creates the controllers of a scenario, with their taps in `core`.
    pub fn new<R: Runtime>(scenario: &Scenario, core: &mut NetworkCore<R>) -> Self {
        let with = |(port, model): (usize, &lockgate_scenario::model::PortModel)| {
            Some((port, model.autorate.clone()?))
        };
        let controlled: Vec<_> = scenario.ports.iter().enumerate().filter_map(with).collect();
        let taps = controlled.iter().map(|(port, autorate)| Tap::new(scenario, *port, autorate));
        let first = core.add_taps(taps);
        let probed = |flow: usize| scenario.nodes[scenario.flows[flow].to].name.clone();
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
            marks: Marks::new(autorate.bounds.start, !autorate.observe_only),
            unused: Unused::default(),
            probed: autorate.probes.iter().map(|flow| probed(*flow)).collect(),
        };
        let of: Vec<Driver> = controlled.iter().enumerate().map(driver).collect();
        let next = if of.is_empty() { Instant::NEVER } else { Instant::ZERO + STEP };
        Self { of, next }
    }

    /// Returns the time of the next step; never without controllers.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Steps all controllers. Everything else at `now` has happened.
    ///
    /// # Errors
    /// None, unless a port refuses a rate.
    pub fn step<R: Runtime>(&mut self, core: &mut NetworkCore<R>, now: Instant) -> Result<(), Failure> {
        self.next = now + STEP;
        for driver in &mut self.of {
            driver.step(core, now)?;
        }
        Ok(())
    }
}

impl Driver {
    fn step<R: Runtime>(&mut self, core: &mut NetworkCore<R>, now: Instant) -> Result<(), Failure> {
        let mut sample = core.take_sample(self.tap, now);
        sample.capacity = self.capacity(core, now);
        let (rate, reason) = self.controller.step(now, &sample);
        if self.is_applied && rate != self.applied {
            let pace = Pace { rate: Some(rate), overhead: self.overhead };
            let change = &mut PortChange::of_pace(pace);
            core.change_port(self.port, change, now).map_err(|why| Failure::build(&self.name, &why))?;
            self.applied = rate;
        }
        let mark = self.marks.take(now, rate, reason);
        let unused = self.unused.take(self.controller.signals(), &self.probed);
        for text in mark.into_iter().chain(unused) {
            core.recording.events.push(Event::note(now, format!("port {}: {text}", self.name)));
        }
        Ok(())
    }

    /// Returns the rate of the line since the last step.
    fn capacity<R: Runtime>(&mut self, core: &NetworkCore<R>, now: Instant) -> Option<Rate> {
        let link = core.links.get(self.line?)?;
        let Some(offered) = link.offered_bits(now) else { return Some(link.line_rate()) };
        let bits = offered - core::mem::replace(&mut self.offered_before, offered);
        Some(Rate::from_bits((bits / STEP.as_secs_f64()) as u64))
    }
}
