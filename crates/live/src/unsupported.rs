//! Live runs on unsupported platforms (not Linux): an error.

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_scenario::Scenario;

use crate::Outcome;
use crate::control_channel::DriverEnd;
use crate::failure::{Failure, Missing};

/// Returns an error.
///
/// # Errors
/// Always: live runs need Linux.
pub fn watched(
    _: &Scenario,
    _: Seed,
    _: &mut (dyn FnMut(Instant) -> bool + Send),
    _: Option<DriverEnd>,
) -> Result<Outcome, Failure> {
    Err(Failure::Missing(Missing {
        what: "run a scenario on real packets".to_owned(),
        why: "that needs Linux".to_owned(),
        help: "leave `--live` out to simulate it".to_owned(),
    }))
}
