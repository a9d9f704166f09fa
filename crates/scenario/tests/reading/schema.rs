//! The schema and the reader agree on which files are right.

use boon::{Compiler, Draft, SchemaIndex, Schemas};
use lockgate_engine::disciplines::KINDS;
use lockgate_scenario::{references, schema};
use serde_json::{Value, json};

use crate::support::example;

fn compiled() -> (Schemas, SchemaIndex) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.add_resource("scenario.json", schema()).expect("a resource");
    let index = compiler.compile("scenario.json", &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
    (schemas, index)
}

fn as_json(text: &str) -> Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).expect("TOML")).expect("JSON")
}

#[test]
fn what_is_read_is_valid_and_what_is_misspelt_is_not() {
    let (schemas, index) = compiled();
    let valid = |text: &str| schemas.validate(&as_json(text), index).map_err(|error| format!("{error:#}"));
    valid(example()).unwrap_or_else(|error| panic!("{error}"));
    let wrong = [
        ("warmup ", "warmpu "),
        ("quantum", "quantun"),
        ("kind = \"drr\"", "kind = \"ddr\""),
        ("limit = \"500p\"", "limit = 500"),
        ("between = [\"home\", \"server\"]", "between = [\"home\"]"),
        ("destination_port = 5060 }", "destination_prt = 5060 }"),
        ("mean = \"20ms\"", "maen = \"20ms\""),
        ("hz = 10000", "hz = \"fast\""),
        ("that  =", "what ="),
        ("children = [\"voice\", \"rest\"]", ""),
    ];
    for (right, wrong) in wrong {
        assert!(example().contains(right), "{right}");
        assert!(valid(&example().replace(right, wrong)).is_err(), "`{wrong}` is taken for right");
        assert!(crate::support::outcome(&example().replace(right, wrong)).is_err(), "`{wrong}` is read");
    }
}

#[test]
fn the_schema_of_policies_knows_their_keys() {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.add_resource("policy.json", lockgate_scenario::schema::policy_schema()).expect("a resource");
    let index = compiler.compile("policy.json", &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
    let text = "title = \"house\"\n[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\" }\n\
                [port.wan]\nrate = \"9.5mbit\"\noverhead = \"docsis\"\nqueue.cake = { kind = \"cake\" }\n";
    lockgate_scenario::read_policy(text, "house.toml").expect("a policy");
    let valid = |text: &str| schemas.validate(&as_json(text), index).map_err(|error| format!("{error:#}"));
    valid(text).unwrap_or_else(|error| panic!("{error}"));
    for (right, wrong) in
        [("mode", "mod"), ("interfaces", "interface"), ("overhead", "ovrhead"), ("kind", "knd")]
    {
        let wrong = text.replacen(right, wrong, 1);
        assert!(valid(&wrong).is_err(), "{wrong}");
        lockgate_scenario::read_policy(&wrong, "house.toml").expect_err("misspelt");
    }
}

#[test]
fn every_discipline_has_its_alternative_and_its_reference() {
    let schema = schema();
    let alternatives = &schema["properties"]["port"]["additionalProperties"]["properties"]["queue"]["additionalProperties"]
        ["oneOf"];
    let references = references();
    assert_eq!(references.iter().map(|reference| reference.kind).collect::<Vec<_>>(), KINDS);
    for (index, reference) in references.iter().enumerate() {
        let alternative = &alternatives[index];
        assert_eq!(alternative["properties"]["kind"]["const"], json!(reference.kind));
        for parameter in &reference.parameters {
            assert!(!parameter.doc.is_empty(), "`{}` of `{}` has no docs", parameter.name, reference.kind);
            assert!(alternative["properties"].get(&parameter.name).is_some());
        }
    }
    let tbf = lockgate_scenario::reference("tbf").expect("tbf");
    let shown: Vec<String> = tbf
        .parameters
        .iter()
        .map(|parameter| format!("{} {} {}", parameter.name, parameter.takes, parameter.required))
        .collect();
    assert!(shown.contains(&"rate rate true".to_owned()), "{shown:?}");
    assert!(shown.contains(&"limit limit false".to_owned()), "{shown:?}");
    let fifo = lockgate_scenario::reference("fifo").expect("fifo");
    let overflow = fifo.parameters.iter().find(|parameter| parameter.name == "overflow").expect("overflow");
    assert_eq!(
        (overflow.takes.as_str(), overflow.default.as_deref()),
        ("tail | head | push-out", Some("tail"))
    );
}
