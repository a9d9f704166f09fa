//! `lockgate schema`: the JSON Schema of scenario files or of summary.json.

use crate::arguments::{Schema, SchemaOf};
use crate::exit::{Exit, Failure};
use crate::results;
use crate::terminal::say;

pub(crate) fn schema(arguments: &Schema) -> Result<Exit, Failure> {
    let schema = match arguments.of {
        SchemaOf::Scenario => lockgate_scenario::schema::schema(),
        SchemaOf::Summary => lockgate_measure::summary::schema(),
    };
    say!("{}", results::json(&schema)?.trim_end());
    Ok(Exit::Ok)
}
