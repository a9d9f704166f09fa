//! Import of commands of `tc` and of settings of SQM, as `lockgate tc import` makes it.

use lockgate_engine::units::Rate;
use lockgate_tc::{Options, Request, Version, convert};
use serde::{Deserialize, Serialize};

use crate::answer::{ProblemData, Wrong};
use crate::message::{Message, Value};

/// Request for an import.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// A script, what `tc` prints, or a configuration of SQM.
    pub text: String,
    /// Name of the text, for its first line and for messages.
    pub name: String,
    /// Variables that a script does not assign itself: name and value.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<(String, String)>>"))]
    pub definitions: Vec<(String, String)>,
    /// Rate of the line, such as `50mbit`; by default twice what the shapers let through.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub rate: Option<String>,
    /// Version of Linux, such as `6.1`.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub kernel: Option<String>,
    /// Ticks per second of the kernel's timers; 250 by default.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub hz: Option<u32>,
    /// Device; by default all that belong to one line.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub device: Option<String>,
    /// True: what is not understood is left out.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub lenient: bool,
}

/// Result of an import.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Imported {
    /// Text of the scenario.
    pub scenario: String,
    /// Words that were left out.
    pub left_out: Vec<ProblemData>,
}

/// Converts a text to a scenario.
///
/// # Errors
/// Everything that is not understood or that a scenario cannot express.
pub fn import(message: &Message<'_>) -> Result<Value<Imported>, Wrong> {
    let request: ImportRequest = message.head()?;
    let rate = request.rate.as_deref().map(str::parse::<Rate>).transpose();
    let rate = rate.map_err(|why| Wrong::new(format!("`rate`: {why}")))?;
    let kernel = request.kernel.as_deref().map(str::parse::<Version>).transpose();
    let kernel = kernel.map_err(|why| Wrong::new(why.to_string()))?;
    let hz = request.hz.unwrap_or_else(|| Options::default().hz);
    if hz == 0 {
        return Err(Wrong::new("`hz` is 0: at least 1"));
    }
    let options = Options { hz, kernel, device: request.device };
    let converted = convert(&Request {
        text: &request.text,
        origin: &request.name,
        definitions: &request.definitions,
        options: &options,
        rate,
        is_lenient: request.lenient,
    });
    match converted {
        Ok(converted) => {
            let left_out = converted.problems.iter();
            let left_out = left_out.map(|one| ProblemData { is_error: false, ..ProblemData::from(one) });
            Ok(Imported { scenario: converted.scenario, left_out: left_out.collect() }.into())
        }
        Err(problems) => {
            let problems: Vec<ProblemData> = problems.iter().map(ProblemData::from).collect();
            let count = lockgate::figures::count(problems.len() as u64, "problem");
            let message = format!("{count} in `{}`: nothing is imported", request.name);
            Err(Wrong::new(message).problems(problems))
        }
    }
}
