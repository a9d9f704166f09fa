//! Sliders for the values of a scenario: name, unit and range of each knob.

use lockgate::{Override, Scenario, Seed};
use lockgate_engine::disciplines::{self, Family, Kind};
use lockgate_engine::units::Duration;
use lockgate_scenario::vary;
use lockgate_session::{Knob, Session, Start};
use serde::Serialize;

use crate::answer::Wrong;
use crate::message::{Message, Value};
use crate::scenario::{Opened, ScenarioRequest};

/// Factors between a value and the ends of its range: the first that the scenario takes.
const FACTORS: [f64; 3] = [10.0, 4.0, 2.0];

/// Knobs of a scenario.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Sliders {
    /// Those of the links, then those of the ports and their queues; none of a large network.
    pub sliders: Vec<Slider>,
    /// Disciplines that a port can have without further queues, by family.
    pub leaves: Vec<Leaf>,
}

/// A discipline without children.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Leaf {
    /// Name of the kind.
    pub kind: String,
    /// Family, such as `fair queueing`.
    pub family: String,
    /// Summary in a line.
    pub summary: String,
    /// Parameters to begin with, as lines of TOML; empty if the defaults will do.
    pub example: String,
}

/// A knob with the range of its values.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Slider {
    /// Link or port.
    pub of: String,
    /// Queue; `null` if it is of the link or the port itself.
    pub queue: Option<String>,
    /// Path, value, type, description and choices. A setting is `PATH=VALUE`.
    pub knob: Knob,
    /// Range of numbers; `null` if the value has choices, or is no single number.
    pub range: Option<Range>,
}

/// Range of a slider. Both ends are values that the scenario takes.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "SliderRange"))]
pub struct Range {
    /// Value as a number of units.
    pub value: f64,
    /// Least number.
    pub least: f64,
    /// Largest number.
    pub most: f64,
    /// Unit for readers: `bit/s`, `s`, `B`, `packets`, `%`, or empty.
    pub unit: String,
    /// Ending that makes a number a value of a setting: `bit`, `s`, `B`, `p`, `%`, or empty.
    pub ending: String,
    /// True if only whole numbers are values.
    pub is_whole: bool,
}

/// Returns the sliders of a scenario.
///
/// # Errors
/// If it has problems.
pub fn knobs(message: &Message<'_>) -> Result<Value<Sliders>, Wrong> {
    let request: ScenarioRequest = message.head()?;
    let opened = Opened::new(request, message)?;
    let scenario = opened.read()?;
    let start = Start { mode: "sim", seed: Seed(1).0, pace: 0.0, every: Duration::from_millis(100) };
    let session = Session::new(&scenario, start);
    let status = session.status();
    let mut sliders = Vec::new();
    let mut add = |of: &str, queue: Option<&str>, knobs: &[Knob]| {
        let slider = |knob: &Knob| Slider {
            of: of.to_owned(),
            queue: queue.map(str::to_owned),
            range: range(knob, &|setting| takes(&scenario, &opened, setting)),
            knob: knob.clone(),
        };
        sliders.extend(knobs.iter().map(slider));
    };
    for link in &status.links {
        add(&link.name, None, &link.knobs);
    }
    for port in &status.ports {
        add(&port.name, None, port.root.as_slice());
        for (queue, knobs) in &port.queues {
            add(&port.name, Some(queue), knobs);
        }
    }
    Ok(Sliders { sliders, leaves: leaves() }.into())
}

/// Returns the disciplines that need no children, by family.
fn leaves() -> Vec<Leaf> {
    let of = |family: Family| {
        let is_leaf = move |kind: &&Kind| kind.family == family && !kind.children.needs_children();
        disciplines::ALL.iter().filter(is_leaf).map(move |kind| Leaf {
            kind: kind.name.to_owned(),
            family: family.name().to_owned(),
            summary: kind.summary.to_owned(),
            example: kind.example.to_owned(),
        })
    };
    Family::ALL.into_iter().flat_map(of).collect()
}

/// True if the scenario can be run with a setting.
fn takes(scenario: &Scenario, opened: &Opened, setting: &str) -> bool {
    let Ok(setting) = Override::parse(setting) else { return false };
    let settings: Vec<Override> = opened.overrides.iter().cloned().chain([setting]).collect();
    let reader = lockgate_scenario::Reader {
        files: opened.files.as_ref(),
        overrides: &settings,
        memory: scenario.memory,
    };
    reader.read(&opened.text, &opened.name).is_ok()
}

/// Returns the range of a knob. `takes` says if a setting can be run.
fn range(knob: &Knob, takes: &dyn Fn(&str) -> bool) -> Option<Range> {
    let text = knob.value.as_deref().filter(|_| knob.choices.is_empty())?;
    let (value, unit) = (vary::number(text)?, vary::unit(text));
    let is_probability = knob.takes == "probability";
    let (value, unit) = if is_probability && unit != "%" { (value * 100.0, "%") } else { (value, unit) };
    let ending = match unit {
        "bit/s" => "bit",
        "packets" => "p",
        unit => unit,
    };
    let is_whole = matches!(unit, "bit/s" | "packets" | "B") || knob.takes.contains("whole");
    let fits = |number: f64| takes(&format!("{}={}{ending}", knob.path, plain(number)));
    let number = |number: f64| if is_whole { number.round() } else { number };
    // From zero on: a share, or the first steps of a time.
    let (lows, highs) = if is_probability {
        (vec![0.0], vec![100.0, 50.0, 20.0])
    } else if value == 0.0 {
        (vec![0.0], [1.0, 0.1].map(number).to_vec())
    } else {
        (
            FACTORS.map(|factor| number(value / factor)).to_vec(),
            FACTORS.map(|factor| number(value * factor)).to_vec(),
        )
    };
    let first = |ends: Vec<f64>| ends.into_iter().find(|end| fits(*end)).unwrap_or(value);
    let (least, most) = (first(lows), first(highs));
    (least < most).then(|| Range {
        value,
        least,
        most,
        unit: unit.to_owned(),
        ending: ending.to_owned(),
        is_whole,
    })
}

/// Returns a number without an exponent.
fn plain(number: f64) -> String {
    let text = format!("{number:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(takes: &str, value: &str) -> Knob {
        let text = |text: &str| text.to_owned();
        Knob { path: text("x.y"), takes: text(takes), value: Some(text(value)), ..Knob::default() }
    }

    #[test]
    fn a_range_has_the_unit_of_its_value_and_ends_that_are_taken() {
        let rate = range(&knob("rate", "9.5mbit"), &|_| true).expect("a range");
        assert_eq!((rate.value, rate.least, rate.most), (9.5e6, 9.5e5, 9.5e7));
        assert_eq!((rate.unit.as_str(), rate.ending.as_str(), rate.is_whole), ("bit/s", "bit", true));
        let near = range(&knob("time", "20ms"), &|setting| setting != "x.y=0.2s").expect("a range");
        assert_eq!((near.least, near.most), (0.002, 0.08));
        let loss = range(&knob("probability", "0"), &|setting| setting != "x.y=100%").expect("a range");
        assert_eq!((loss.value, loss.least, loss.most, loss.ending.as_str()), (0.0, 0.0, 50.0, "%"));
        assert_eq!(range(&knob("rate", "9.5mbit"), &|_| false), None);
        assert_eq!(range(&knob("text", "some"), &|_| true), None);
    }
}
