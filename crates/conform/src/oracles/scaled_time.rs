//! All times multiplied by two: the same fates, at twice the times.

use lockgate_engine::units::{Duration, Instant, Rate};
use lockgate_scenario::reference::{Parameter, reference};
use serde_json::{Value, json};

use crate::finding::{Finding, Measurement};
use crate::fixtures::metamorphic::{Arrival, Fate, TrafficRun, require_same, traffic};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct ScaledTime;

const SCALE: u64 = 2;

fn stretch(time: Duration) -> Duration {
    Duration::from_picos(time.as_picos() * SCALE)
}

/// Returns a parameter's value under longer times: durations grow and rates fall.
fn stretched(parameter: &Parameter, value: &Value) -> Option<Value> {
    let text = value.as_str()?;
    match parameter.takes.as_str() {
        "duration" => {
            let time: Duration = text.parse().ok()?;
            Some(json!(format!("{}ps", stretch(time).as_picos())))
        }
        "rate" => {
            let rate: Rate = text.parse().ok()?;
            Some(json!(format!("{}bit", rate.as_bits() / SCALE)))
        }
        _ => None,
    }
}

/// Returns the parameters with all that depend on time made explicit: unchanged, and scaled.
fn configs(kind: &Kind) -> [Value; 2] {
    let (mut own, mut longer) = (kind.example.clone(), kind.example.clone());
    for parameter in reference(kind.name).map(|reference| reference.parameters).unwrap_or_default() {
        let default = parameter.default.clone().map(Value::String);
        let Some(value) = kind.example.get(&parameter.name).cloned().or(default) else { continue };
        if let Some(stretched) = stretched(&parameter, &value) {
            own[&parameter.name] = value;
            longer[&parameter.name] = stretched;
        }
    }
    [own, longer]
}

impl Oracle for ScaledTime {
    const FAMILY: &'static str = "M1";
    const NAME: &'static str = "scaled-time";
    const THEOREM: &'static str = "where arrivals, link and every time in the parameters are twice as slow, each packet has the same fate at twice the time";
    const SOURCE: &'static str = "no rule of these disciplines has a time of its own";
    const TRIALS: u32 = 3;

    fn applies(kind: &Kind) -> bool {
        !kind.has_own_times
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("packets of another fate or time", "");
        let [own, longer] = configs(kind);
        for trial in trials.each() {
            let arrivals = traffic(trials, trial);
            let run = TrafficRun { config: own.clone(), ..TrafficRun::new(kind) };
            let (fates, fault) = run.fates(&arrivals);
            let later = |time: Instant| Instant::ZERO + stretch(time.since(Instant::ZERO));
            let slow: Vec<_> = arrivals
                .iter()
                .map(|arrival| Arrival {
                    at: later(arrival.at),
                    age: stretch(arrival.age),
                    waited: stretch(arrival.waited),
                    ..*arrival
                })
                .collect();
            let rate = Rate::from_bits(run.rate.as_bits() / SCALE);
            let slow = TrafficRun { config: longer.clone(), rate, ..TrafficRun::new(kind) }.fates(&slow);
            let expected = fates.into_iter().map(|fate| Fate { at: later(fate.at), ..fate }).collect();
            require_same((expected, fault), slow, &mut worst);
        }
        vec![worst.finding(trials.count)]
    }
}
