//! Summary of runs with the judged expectations of their scenario.
//!
//! Joins two crates that are independent: scenarios name metrics, `measure` defines them.

use lockgate_measure::metric::{self, MetricError, check_path};
use lockgate_measure::recording::Recording;
use lockgate_measure::summary::{self, Bound, Criterion, Expected, Summary};
use lockgate_scenario::{Names, Scenario, Unit};

use crate::Error;

/// Returns the unit of the metric at `path` of a scenario with these names.
///
/// # Errors
/// The reason why there is no such metric, with the nearest one.
pub fn unit_of(path: &str, names: &Names) -> Result<Unit, String> {
    let names = metric::Names { flows: &names.flows, ports: &names.ports };
    match check_path(path, &names) {
        Ok(unit) => Ok(match unit {
            metric::Unit::Seconds => Unit::Seconds,
            metric::Unit::BitsPerSecond => Unit::BitsPerSecond,
            metric::Unit::Bytes => Unit::Bytes,
            metric::Unit::Packets => Unit::Packets,
            metric::Unit::Ratio => Unit::Ratio,
            metric::Unit::Number => Unit::Number,
        }),
        Err(MetricError::Unknown { why, nearest, .. }) => Err(match nearest {
            Some(nearest) => format!("{why}; did you mean `{nearest}`?"),
            None => why,
        }),
        Err(error @ MetricError::Empty { .. }) => Err(error.to_string()),
    }
}

/// Returns the summary of the runs of a scenario, with its judged expectations.
///
/// # Errors
/// If an expectation names a metric that the runs do not have.
pub fn summarise(scenario: &Scenario, recordings: &[Recording]) -> Result<Summary, Error> {
    let mut summary = summary::summarise(recordings);
    judge(scenario, &mut summary)?;
    Ok(summary)
}

/// Judges the scenario's expectations and adds the results to the summary. Returns whether all hold.
///
/// # Errors
/// If an expectation names a metric that the runs do not have.
pub fn judge(scenario: &Scenario, summary: &mut Summary) -> Result<bool, Error> {
    let mut all = true;
    for expect in &scenario.expects {
        let expected = Expected {
            that: expect.that.clone(),
            bounds: expect.bounds.iter().map(|bound| to_measure(*bound)).collect(),
            criterion: match expect.criterion {
                lockgate_scenario::Criterion::Interval => Criterion::Interval,
                lockgate_scenario::Criterion::Mean => Criterion::Mean,
                lockgate_scenario::Criterion::All => Criterion::All,
            },
            name: expect.name.clone(),
            line: expect.line,
        };
        all &= summary.expect(&expected)?;
    }
    Ok(all)
}

fn to_measure(bound: lockgate_scenario::Bound) -> Bound {
    use lockgate_scenario::Bound as Written;
    match bound {
        Written::Below(value) => Bound::Below(value),
        Written::Above(value) => Bound::Above(value),
        Written::AtMost(value) => Bound::AtMost(value),
        Written::AtLeast(value) => Bound::AtLeast(value),
        Written::Between(low, high) => Bound::Between(low, high),
    }
}
