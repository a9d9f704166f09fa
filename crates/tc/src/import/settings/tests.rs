//! Settings become parameters whose types are those of the scenario.

use lockgate_scenario::reference::reference;

use super::*;
use crate::import::toml::parameters_text;
use crate::language::LANGUAGES;
use crate::value::ValueType;

fn translated(words: &str) -> Result<(String, Vec<String>), String> {
    let text = format!("qdisc add dev sl0 root {words}");
    let commands = crate::parse(&text).map_err(|problems| problems.to_string())?;
    let qdisc = commands.qdiscs().next().expect("a discipline");
    let reference = reference(scenario_kind(*qdisc.kind)).expect("listed");
    let mut left_out = Vec::new();
    let parameters = translate(*qdisc.kind, &qdisc.settings, &reference.parameters, &mut left_out, false);
    Ok((parameters_text(&parameters.map_err(|problem| problem.to_string())?), left_out))
}

#[test]
fn settings_become_parameters() {
    for (words, expected) in [
        ("pfifo limit 50", r#"limit="50p""#),
        ("bfifo limit 64kb", r#"limit="65536B""#),
        ("tbf rate 1mbit buffer 5000 limit 20000", r#"rate="1mbit" burst="5000B" limit="20000B""#),
        ("tbf rate 125kbps burst 5k latency 50ms", r#"rate="1mbit" burst="5120B" latency="50ms""#),
        ("codel target 5000 noecn", r#"target="5ms" ecn=false"#),
        ("htb default 10 r2q 20 direct_qlen 100", "r2q=20"),
        ("tbf rate 1mbit burst 5k linklayer atm", r#"rate="1mbit" burst="5120B" framing="atm""#),
        ("tbf rate 1mbit burst 5k mtu 1540", r#"rate="1mbit" burst="5120B""#),
        ("cake nonat metro split-gso besteffort", r#"rtt="10ms" diffserv="besteffort""#),
        ("cake nat dual-srchost", r#"nat=true isolation="dual-srchost""#),
        ("cake overhead -4 mpu 64", r#"overhead="-4B" mpu="64B""#),
        ("prio bands 4 priomap 1 2 2 3", ""),
        ("sfq perturb 10 quantum 1514", r#"perturb="10s" quantum="1514B""#),
        ("dualpi2 classic_protection 10% any_ect", r#"classic_protection=0.1 ect="any_ect""#),
        ("red min 15000 probability 0.02 burst 20 ecn", r#"min="15000B" probability=0.02 burst=20 ecn=true"#),
    ] {
        assert_eq!(translated(words).map(|(text, _)| text).as_deref(), Ok(expected), "{words}");
    }
}

#[test]
fn refusals_name_the_setting_and_its_place() {
    for (words, part) in [
        ("tbf rate 1mbit frobnicate 3", "line 1, column 39: `frobnicate`"),
        ("tbf rate", "no value"),
        ("tbf rate fast", "rate fast"),
        ("pfifo limit 5x", "limit 5x"),
        ("pfifo limit 5 limit 6", "sets `limit` again"),
        ("tbf linklayer", "linklayer"),
        ("cbq bandwidth 1mbit cell", "cell"),
        ("red nodrop", "nodrop"),
        ("cake autorate-ingress", "autorate-ingress"),
        ("teql", "kind `teql`"),
    ] {
        let why = translated(words).expect_err(words);
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn settings_left_out_are_listed() {
    let (_, left_out) = translated("cbq bandwidth 10mbit cell 8").expect("understood");
    assert_eq!(left_out, [format!("`cell 8` of `cbq`: {EXACT}")]);
    let page = include_str!("../../../../../docs/concepts/conformance.md");
    for harmless in HARMLESS {
        assert!(page.contains(&format!("`{}`", harmless.name)), "the page does not list {}", harmless.name);
        let missing = harmless.kinds.iter().find(|kind| !page.contains(&format!("`{kind}`")));
        assert_eq!(missing, None, "of {}", harmless.name);
    }
}

/// Returns true if values of this type are accepted by a parameter, whose type is in words.
fn is_accepted(takes: ValueType, parameter: &str) -> bool {
    let words: &[&str] = match takes {
        ValueType::Flag | ValueType::Switch => &["true | false"],
        ValueType::Rate => &["rate"],
        ValueType::Size => &["size", "limit", "size, also below zero"],
        ValueType::Offset => &["size, also below zero"],
        ValueType::Time | ValueType::Seconds => &["duration"],
        ValueType::Threshold => &["threshold"],
        ValueType::Packets => &["limit", "number of packets"],
        ValueType::Mask => &["whole number"],
        ValueType::Number => &["whole number", "power of two"],
        ValueType::Real => &["probability", "number"],
        ValueType::Percent => &["probability"],
        ValueType::Sizes => &["list of size"],
        ValueType::Curve => &["rate | table"],
        ValueType::Choice(_) | ValueType::Numbers | ValueType::Minor => &[],
    };
    words.contains(&parameter)
}

/// The vocabulary is typed by itself; this holds it against the types of the parameters.
#[test]
fn settings_and_parameters_have_the_same_types() {
    for language in LANGUAGES.iter().filter(|language| !language.kind.is_of_device()) {
        let reference = reference(scenario_kind(language.kind)).expect("every kind is one of a scenario");
        let classes = language.class.unwrap_or_default();
        for (words, parameters) in [(language.qdisc, &reference.parameters), (classes, &reference.shares)] {
            for word in words.iter().filter(|word| !is_classification(language.kind, word.name)) {
                let Some(parameter) = parameters.iter().find(|parameter| parameter.name == word.name) else {
                    continue;
                };
                let is_accepted = is_accepted(word.value_type, &parameter.takes);
                assert!(
                    is_accepted,
                    "{} {}: {:?} and {}",
                    language.name, word.name, word.value_type, parameter.takes
                );
            }
        }
        for (_, name, words) in WORDS.iter().filter(|(kind, _, _)| *kind == language.kind) {
            let parameter = reference.parameters.iter().find(|parameter| parameter.name == *name);
            let takes = &parameter.expect("a parameter").takes;
            assert!(
                words.iter().all(|word| takes.split(" | ").any(|choice| choice == *word)),
                "{name}: {takes}"
            );
        }
    }
}
