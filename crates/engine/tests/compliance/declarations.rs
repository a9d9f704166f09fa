//! Declarations of each kind: complete, and true of its parameters.

use serde_json::Value;

use crate::common::kind::{self, Refusal};
use crate::parameters::{extremes, parameters};
use crate::topology::Topology;

#[test]
fn every_kind_is_described() {
    for kind in kind::kinds() {
        let name = kind.name;
        assert!(
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '+'))
        );
        assert!(kind.summary.len() > 10 && !kind.summary.ends_with('.'), "{name}: a summary is a line");
        assert!(!kind.source.is_empty(), "{name} has a source");
        assert!(!kind.guarantees.is_empty(), "{name} guarantees something");
        assert!(kind.guarantees.iter().all(|guarantee| !guarantee.statement.is_empty()), "{name}");
    }
    let mut names: Vec<_> = kind::kinds().iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), kind::kinds().len(), "two kinds of one name");
}

#[test]
fn every_parameter_has_its_documentation() {
    for kind in kind::kinds() {
        for schema in [&kind.config_schema, &kind.share_schema] {
            assert_eq!(
                schema["additionalProperties"],
                Value::Bool(false),
                "{} refuses unknown keys",
                kind.name
            );
            for parameter in parameters(schema) {
                let described = parameter.description.is_some_and(|text| text.len() > 10);
                assert!(described, "{}: `{}` has no doc comment", kind.name, parameter.name);
            }
        }
    }
}

#[test]
fn every_example_is_valid_and_shows_what_is_required() {
    for kind in kind::kinds() {
        Topology::alone(kind.name).build().unwrap_or_else(|why| panic!("{}: {why:?}", kind.name));
        Topology::over("root", "prio", vec![Topology::alone(kind.name)].into_iter().map(renamed).collect())
            .build()
            .unwrap_or_else(|why| panic!("{}: {why:?}", kind.name));
        for (schema, example) in [(&kind.config_schema, &kind.example), (&kind.share_schema, &kind.share)] {
            for parameter in parameters(schema).into_iter().filter(|parameter| parameter.required) {
                assert!(example.get(&parameter.name).is_some(), "{}: `{}`", kind.name, parameter.name);
            }
        }
        assert!(kind.example_text.lines().all(|line| line.contains(" = ")), "{}", kind.name);
    }
}

fn renamed(mut topology: Topology) -> Topology {
    topology.name = "below".into();
    topology
}

#[test]
fn configs_are_written_as_they_are_read() {
    for kind in kind::kinds() {
        let all = extremes(&kind.example, &parameters(&kind.config_schema));
        for config in &all {
            let [json, toml] = match kind::round_trip(kind.name, config) {
                Ok(both) => both,
                Err(Refusal::Text(_)) => continue,
                Err(Refusal::Invalid(why)) => panic!("{}: {why}", kind.name),
            };
            assert_eq!(json, toml, "{}: JSON and TOML differ", kind.name);
            let again = kind::round_trip(kind.name, &json).expect("what is written is read back");
            assert_eq!(again[0], json, "{}", kind.name);
        }
    }
}
