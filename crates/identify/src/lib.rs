//! Which queue is on a line: probes, estimates, candidates and their odds.
//!
//! ```text
//! plan -> Prober -> Observation -> estimate -> judge (each candidate simulated on what was really sent)
//!   ^                                             |
//!   '------- the round that separates best -------'-> Identified -> report, scenario
//! ```
//!
//! Pure: no I/O, no thread, no clock. The caller's [`Prober`] sends and observes; a candidate is a scenario
//! with a few unknown parameters ([`candidates`]). Start at [`identify()`].

#![forbid(unsafe_code)]

pub mod candidates;
pub mod estimate;
pub mod features;
pub mod fit;
pub mod identify;
pub mod in_scenario;
pub mod judge;
pub mod line;
pub mod moments;
pub mod picture;
pub mod plan;
pub mod probe;
pub mod record;
pub mod report;

pub use candidates::{Candidate, Setting};
pub use estimate::{Base, Estimate, estimate};
pub use fit::Fit;
pub use identify::{Identified, Limits, Prober, Verdict, identify};
pub use in_scenario::{InScenario, ScenarioError};
pub use line::{Line, Others};
pub use moments::Moments;
pub use probe::{Arrival, Observation, Probe, Purpose, Round, Sent};
pub use record::{Record, RecordError, Replay};
pub use report::{Property, properties};
