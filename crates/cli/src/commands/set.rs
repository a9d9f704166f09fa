//! `lockgate set`: sets values of a run that `lockgate watch --web` shows.

use lockgate_monitor::client::{self, Setting};
use serde_json::Value;

use crate::arguments::Set;
use crate::exit::{Exit, Failure};
use crate::output::say;

pub(crate) fn set(arguments: &Set) -> Result<Exit, Failure> {
    let setting = Setting {
        values: arguments.settings.clone(),
        lasting: arguments.lasting.clone(),
        token: std::env::var("LOCKGATE_TOKEN").ok(),
    };
    let answer = client::set(arguments.to, &setting)?;
    if arguments.json {
        say!("{answer}");
    }
    if let Some(problems) = answer["problems"].as_array() {
        let text = |problem: &Value, key: &str| problem[key].as_str().unwrap_or_default().to_owned();
        let messages: Vec<String> = problems.iter().map(|problem| text(problem, "message")).collect();
        let help = problems.first().map(|problem| text(problem, "help")).unwrap_or_default();
        return Err(Failure::usage(messages.join("; "), help));
    }
    if !arguments.json {
        let at = answer["at_s"].as_f64().unwrap_or_default();
        let before: Vec<&str> =
            answer["before"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let was = if before.is_empty() { String::new() } else { format!(" (was {})", before.join(", ")) };
        let until =
            answer["until_s"].as_f64().map(|until| format!(", until {until:.3} s")).unwrap_or_default();
        say!("set at {at:.3} s of the run{until}{was}");
    }
    Ok(Exit::Ok)
}
