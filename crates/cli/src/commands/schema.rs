//! `lockgate schema`: JSON Schema of scenario files or of commands' output.

use crate::arguments::{Schema, SchemaOf};
use crate::exit::{Exit, Failure};

pub(crate) fn schema(arguments: &Schema) -> Result<Exit, Failure> {
    let schema = match arguments.of {
        SchemaOf::Scenario => lockgate_scenario::schema::schema(),
        SchemaOf::Policy => lockgate_scenario::schema::policy_schema(),
        SchemaOf::Summary => lockgate_measure::summary::schema(),
        SchemaOf::Conformance => lockgate_conform::document::schema().to_value(),
        SchemaOf::Against => lockgate_conform::kernel::schema().to_value(),
    };
    crate::results::print_json(&schema)?;
    Ok(Exit::Ok)
}
