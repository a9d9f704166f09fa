//! Decisions of a port, one after another: which of a run are shown, and their document.

mod document;

use std::collections::VecDeque;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_scenario::Scenario;
use lockgate_sim::{Simulation, Step, StepEvent, Stepper};

pub use self::document::{
    DecisionDocument, EventDocument, PacketDocument, QueueDocument, StepDocument, WaitingDocument, document,
    tree,
};
use crate::error::Error;

/// Event up to which steps are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// The first steps.
    #[default]
    Count,
    /// The first drop, and the steps before it.
    Drop,
    /// The first packet that leaves with a mark of the port, and the steps before it.
    Mark,
    /// The first packet that leaves after a longer sojourn than this, and the steps before it.
    Late(Duration),
    /// This time.
    Time(Instant),
}

/// Steps to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Index of the port.
    pub port: usize,
    /// Time of the first step.
    pub from: Instant,
    /// Event of the last one.
    pub until: Until,
    /// Number of steps: the first ones, or, if `until` names an event, the last ones before it.
    pub count: usize,
}

/// Selected steps.
#[derive(Debug)]
pub struct Steps {
    /// Decisions and drops, in the order of time.
    pub steps: Vec<Step>,
    /// True if the event that `until` names has happened, or if it names none.
    pub is_reached: bool,
}

/// Number of looks at the queues by which the port with most waiting is found.
const LOOKS: u64 = 500;

/// Returns the index of the port before which most packets wait on average up to `until`, the first of equal
/// ones.
///
/// # Errors
/// A run that fails.
pub fn busiest_port(scenario: &Scenario, seed: Seed, until: Instant) -> Result<usize, Error> {
    let mut simulation = Simulation::new(scenario, seed)?;
    let end = scenario.end().min(until);
    let mut waiting = vec![0_u64; scenario.ports.len()];
    for look in 1..=LOOKS {
        let part = u128::from(end.as_picos()) * u128::from(look) / u128::from(LOOKS);
        simulation.step_until(Instant::from_picos(u64::try_from(part).unwrap_or(u64::MAX)))?;
        for (sum, link) in waiting.iter_mut().zip(simulation.observe().links) {
            *sum += link.port.backlog().packets;
        }
    }
    let most = waiting.iter().copied().max().unwrap_or(0);
    Ok(waiting.iter().position(|sum| *sum == most).unwrap_or(0))
}

/// Runs the scenario, and returns the selected steps: decisions and drops.
///
/// # Errors
/// A run that fails.
pub fn steps(scenario: &Scenario, seed: Seed, selection: Selection) -> Result<Steps, Error> {
    let Selection { port, from, until, count } = selection;
    let mut stepper = Stepper::new(scenario, seed, port)?;
    stepper.skip_to(from)?;
    let limit = if let Until::Time(time) = until { time } else { Instant::NEVER };
    let mut kept: VecDeque<Step> = VecDeque::new();
    let mut is_reached = matches!(until, Until::Count | Until::Time(_));
    while let Some(step) = stepper.next(limit)? {
        if matches!(step.event, StepEvent::Arrival(_) | StepEvent::Empty) {
            continue;
        }
        if is_reached && until == Until::Drop {
            // A drop in a dequeue is followed by the decision that made it.
            let is_same_time = kept.back().is_some_and(|drop| drop.at == step.at);
            let is_reason = step.decision.as_ref().is_some_and(|decision| !decision.drops.is_empty());
            if is_same_time && (is_reason || step.is_drop()) {
                kept.push_back(step);
                kept.drain(..kept.len().saturating_sub(count));
            }
            if is_reason || !is_same_time {
                break;
            }
            continue;
        }
        let is_last = match until {
            Until::Count => kept.len() + 1 >= count,
            Until::Drop => step.is_drop(),
            Until::Mark => step.is_mark(),
            Until::Late(bound) => step.is_later_than(bound),
            Until::Time(_) => false,
        };
        kept.push_back(step);
        if kept.len() > count {
            kept.pop_front();
        }
        is_reached |= is_last;
        if is_last && until != Until::Drop {
            break;
        }
    }
    Ok(Steps { steps: kept.into(), is_reached })
}
