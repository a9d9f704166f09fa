//! Expectations on results. Metrics, their units and bounds on them are those of `lockgate-measure`.

pub use lockgate_measure::metric::{Names, Unit};
pub use lockgate_measure::summary::{Bound, Criterion, Expected};
