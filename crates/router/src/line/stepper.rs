//! Stepper: the controller of a port's rate, with what its readers see of it.

use core::net::IpAddr;
use std::collections::VecDeque;

use lockgate_autorate::{Bounds, Controller, Marks, Reason, Sample, Unused, Why};
use lockgate_engine::units::{Duration, Instant, Rate};
use lockgate_measure::monitor::{AutorateSample, MarkSample};
use lockgate_scenario::model::Autorate;
use lockgate_scenario::policy::PolicyAutorate;

use super::RateStep;

/// Interval between two steps, and while nothing is sent or returns.
const STEP: Duration = Duration::from_millis(10);
const IDLE_STEP: Duration = Duration::from_millis(200);

/// Silence after which a line is idle: as long, a packet on its way may still be acknowledged.
const IDLE_AFTER: Duration = Duration::from_secs(2);

/// Marks kept for readers.
const MARKS: usize = 16;

/// Controller of a port's rate.
pub(crate) struct Stepper {
    port: String,
    model: Autorate,
    /// Probed addresses.
    probes: Vec<String>,
    controller: Controller,
    next: Instant,
    /// Time at which something was last sent, or came back.
    active: Instant,
    reason: Reason,
    /// Steps by the index of their reason in `Why::ALL`.
    steps: [u64; Why::ALL.len()],
    marker: Marks,
    marks: VecDeque<MarkSample>,
    marked: u64,
    unused: Unused,
}

impl Stepper {
    pub(crate) fn new(port: &str, autorate: &PolicyAutorate) -> Self {
        let model = autorate.model.clone();
        Self {
            port: port.to_owned(),
            probes: autorate.probes.iter().map(IpAddr::to_string).collect(),
            controller: Controller::new(model.law, &model.parameters, model.bounds),
            next: Instant::ZERO,
            active: Instant::ZERO,
            reason: Reason::default(),
            steps: [0; Why::ALL.len()],
            marker: Marks::new(model.bounds.start, !model.observe_only),
            marks: VecDeque::new(),
            marked: 0,
            unused: Unused::default(),
            model,
        }
    }

    /// Begins again at this rate, or the nearest within its bounds.
    pub(crate) fn begin_at(&mut self, rate: Rate) {
        let Autorate { law, parameters, bounds, .. } = &self.model;
        self.controller = Controller::new(*law, parameters, Bounds { start: rate, ..*bounds });
        self.marker = Marks::new(self.controller.rate(), !self.model.observe_only);
    }

    /// Returns the time of the next step.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Returns the rate that the law has chosen.
    pub(crate) fn rate(&self) -> Rate {
        self.controller.rate()
    }

    /// Returns the rate that the port gets; `None`: the steps are only recorded.
    pub(crate) fn applied(&self) -> Option<Rate> {
        (!self.model.observe_only).then(|| self.rate())
    }

    /// Steps the rate by a sample.
    pub(crate) fn step(&mut self, now: Instant, sample: &Sample) -> RateStep {
        let (rate, reason) = self.controller.step(now, sample);
        self.reason = reason;
        if let Some(count) = Why::ALL.iter().position(|why| *why == reason.why) {
            self.steps[count] += 1;
        }
        if sample.sent.0 > 0 || sample.is_backlogged || sample.has_return() {
            self.active = now;
        }
        let is_idle = now.since(self.active) >= IDLE_AFTER;
        self.next = now + if is_idle { IDLE_STEP } else { STEP };
        let mut marks: Vec<String> = Vec::new();
        marks.extend(self.marker.take(now, rate, reason).map(|mark| format!("port {}: {mark}", self.port)));
        let unused = self.unused.take(self.controller.signals(), &self.probes);
        marks.extend(unused.into_iter().map(|text| format!("port {}: {text}", self.port)));
        for text in &marks {
            self.marked += 1;
            let at_s = now.since(Instant::ZERO).as_secs_f64();
            self.marks.push_back(MarkSample { number: self.marked, at_s, text: text.clone() });
        }
        while self.marks.len() > MARKS {
            self.marks.pop_front();
        }
        RateStep { next: self.next, rate: self.applied(), marks }
    }

    fn blind(&self) -> impl Iterator<Item = &'static str> {
        let signals = self.controller.signals().blindness().into_iter();
        signals.filter(|(_, is_blind)| *is_blind).map(|(name, _)| name)
    }

    fn left_out(&self) -> Vec<String> {
        let signals = self.controller.signals();
        let out = self.probes.iter().enumerate().filter(|(index, _)| signals.is_left_out(*index));
        out.map(|(_, address)| address.clone()).collect()
    }

    /// Returns its state.
    pub(crate) fn sample(&self) -> AutorateSample {
        let Reason { why, delivered, delay } = self.reason;
        let counted = Why::ALL.iter().zip(self.steps).filter(|(_, count)| *count > 0);
        AutorateSample {
            port: self.port.clone(),
            law: self.model.law.name().into(),
            rate_bps: self.rate().as_bits() as f64,
            is_applied: !self.model.observe_only,
            why: why.name().into(),
            reason: self.reason.to_string(),
            delivered_bps: delivered.map(|rate| rate.as_bits() as f64),
            delay_s: delay.map(Duration::as_secs_f64),
            safe_bps: self.controller.safe().map(|rate| rate.as_bits() as f64),
            steps: counted.map(|(why, count)| (why.name().into(), count)).collect(),
            blind: self.blind().map(Into::into).collect(),
            left_out: self.left_out(),
            marks: self.marks.iter().cloned().collect(),
        }
    }
}
