//! `lockgate list`: disciplines, distributions, traffic profiles, metrics, and tables of scenario files.

use lockgate::text::list as list_of;
use lockgate_measure::metric::METRICS;
use lockgate_scenario::nearest;
use lockgate_scenario::reference::{reference, references};
use lockgate_scenario::tables::tables;
use lockgate_traffic::{laws, profile};
use serde_json::json;

use crate::arguments::List;
use crate::exit::{Exit, Failure};
use crate::terminal;

pub(crate) fn list(arguments: &List) -> Result<Exit, Failure> {
    let name = arguments.name.as_deref().unwrap_or("disciplines");
    if arguments.json {
        crate::results::print_json(&document(name)?)?;
        return Ok(Exit::Ok);
    }
    let mut is_known = false;
    terminal::show(|lines| is_known = list_of(name, lines));
    if is_known { Ok(Exit::Ok) } else { Err(unknown(name)) }
}

fn unknown(name: &str) -> Failure {
    let all = names();
    let help = match nearest(name, all.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`? `lockgate list` shows the disciplines"),
        None => format!(
            "`lockgate list` shows the disciplines; other lists are {}, and the tables of a file: {}",
            LISTS[1..].join(", "),
            tables().iter().map(|table| table.name).collect::<Vec<_>>().join(", ")
        ),
    };
    Failure::usage(format!("there is no list and no discipline called `{name}`"), help)
}

/// Lists that are neither of a discipline nor of a table.
const LISTS: [&str; 4] = ["disciplines", "distributions", "profiles", "metrics"];

/// Returns everything that `lockgate list` can be asked for.
pub(crate) fn names() -> Vec<String> {
    let lists = LISTS.into_iter().map(str::to_owned);
    lists.chain(kinds()).chain(tables().into_iter().map(|table| table.name.to_owned())).collect()
}

/// Returns the kinds of disciplines.
pub(crate) fn kinds() -> Vec<String> {
    references().into_iter().map(|reference| reference.kind.to_owned()).collect()
}

fn document(name: &str) -> Result<serde_json::Value, Failure> {
    Ok(match name {
        "disciplines" => json!(references()),
        "distributions" => json!(
            laws::descriptions()
                .iter()
                .map(|law| json!({ "name": law.name, "summary": law.summary, "source": law.source }))
                .collect::<Vec<_>>()
        ),
        "profiles" => json!(
            profile::descriptions()
                .iter()
                .map(|profile| json!({ "name": profile.name, "summary": profile.summary, "source": profile.source }))
                .collect::<Vec<_>>()
        ),
        "metrics" => json!(METRICS),
        name => match tables().into_iter().find(|table| table.name == name) {
            Some(table) => json!(table),
            None => json!(reference(name).ok_or_else(|| unknown(name))?),
        },
    })
}
