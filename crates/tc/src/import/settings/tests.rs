//! Settings become parameters whose types are those of the scenario.

use lockgate_scenario::reference::reference;

use super::*;
use crate::import::toml::parameters_text;
use crate::language::negation;
use crate::value::ValueType;

fn translated(words: &str) -> Result<(String, Vec<String>), String> {
    let text = format!("qdisc add dev sl0 root {words}");
    let commands = crate::parse(&text).map_err(|problems| problems.to_string())?;
    let qdisc = commands.qdiscs().next().expect("a discipline");
    let reference = reference(qdisc.kind.in_scenarios()).expect("listed");
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
        ("tbf rate 1mbit rate 2mbit", "`rate` of `tbf` is given twice"),
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
    assert_eq!(left_out, ["`cell 8` of `cbq`: a step of the kernel's table of rates: times are exact here"]);
    let page = include_str!("../../../../../docs/concepts/conformance.md");
    for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::CakeMq) {
        let words = [false, true].map(|is_class| kind.language().words(is_class)).concat();
        for word in words.iter().filter(|word| word.left_out.is_some_and(|cause| !cause.is_in_scripts_only)) {
            let is_off = word.left_out.is_some_and(|cause| cause.when == When::Off);
            let name = if is_off { negation(word.name) } else { word.name.to_owned() };
            assert!(page.contains(&format!("`{name}`")), "the page does not list {name}");
            assert!(page.contains(&format!("`{kind}`")), "of {name}: {kind}");
        }
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
    for kind in Kind::ALL.iter().filter(|kind| !kind.is_of_device()) {
        let reference = reference(kind.in_scenarios()).expect("every kind is one of a scenario");
        for (is_class, parameters) in [(false, &reference.parameters), (true, &reference.shares)] {
            for word in kind.language().words(is_class) {
                let takes = |name: &str| {
                    let own = parameters.iter().find(|parameter| parameter.name == name);
                    own.map(|parameter| parameter.takes.as_str())
                };
                let choices = |name: &str| takes(name).expect("a parameter").split(" | ");
                match (word.meaning, word.value_type.zip(takes(word.name))) {
                    (Meaning::ValueOf(name), _) => {
                        assert!(
                            choices(name).any(|choice| choice == word.name),
                            "{kind} {name} {}",
                            word.name
                        );
                    }
                    (Meaning::Same, Some((value_type, takes))) => {
                        let is_accepted = is_accepted(value_type, takes);
                        assert!(is_accepted, "{kind} {}: {value_type:?} and {takes}", word.name);
                    }
                    _ => {}
                }
            }
        }
    }
}
