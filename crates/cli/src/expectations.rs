//! Judgement of a scenario's expectations by the measured metrics; joins two crates that are independent.

use lockgate_measure::metric::{self, MetricError, check_path};
use lockgate_measure::summary::{Bound, Criterion, Expected, Summary};
use lockgate_scenario::{Names, Scenario, Unit};

use crate::exit::Failure;

/// Returns the unit of the metric at `path`; on error the reason, with the nearest metric.
pub(crate) fn unit_of(path: &str, names: &Names) -> Result<Unit, String> {
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

/// Judges the scenario's expectations and stores the results in the summary. Returns whether all hold.
pub(crate) fn judge(scenario: &Scenario, summary: &mut Summary) -> Result<bool, Failure> {
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
        all &= summary
            .expect(&expected)
            .map_err(|error| Failure::run(error, "`lockgate list metrics` shows what can be expected"))?;
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
