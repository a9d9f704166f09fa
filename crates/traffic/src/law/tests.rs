//! Tests of laws as users see them: notation, errors, clamping.

use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration};
use serde::Deserialize;

use super::*;
use crate::laws;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    gap: LawConfig<Duration>,
}

fn read(text: &str) -> Result<LawConfig<Duration>, toml::de::Error> {
    toml::from_str::<Document>(text).map(|document| document.gap)
}

#[track_caller]
fn problem(text: &str) -> String {
    let config = read(text).expect("reads");
    Law::new(&config, "gap", &LoadedFiles::none()).expect_err("must be refused").to_string()
}

#[test]
fn a_bare_quantity_is_a_constant() {
    let config = read(r#"gap = "20ms""#).expect("reads");
    assert_eq!(config, LawConfig::constant(Duration::from_millis(20)));
    let law = Law::new(&config, "gap", &LoadedFiles::none()).expect("a sound law");
    assert_eq!(law.draw(&mut Random::stream(Seed(1), "x")), Duration::from_millis(20));
    // A constant keeps digits that a real number would lose.
    let odd = Duration::from_picos((1 << 60) + 1);
    let law = Law::new(&LawConfig::constant(odd), "gap", &LoadedFiles::none()).expect("a sound law");
    assert_eq!(law.draw(&mut Random::stream(Seed(1), "x")), odd);
}

#[test]
fn what_is_written_is_read_back() {
    let exponential =
        LawConfig { max: Some(Duration::from_secs(1)), ..LawConfig::exponential(Duration::from_millis(20)) };
    for config in [LawConfig::constant(Duration::from_micros(1)), exponential] {
        let text = serde_json::to_string(&config).expect("writes");
        assert_eq!(serde_json::from_str::<LawConfig<Duration>>(&text).expect("reads"), config, "{text}");
    }
}

/// An error points at the wrong field within the table, not at the table.
#[test]
fn errors_point_at_their_place() {
    let text_at = |text: &str| {
        let error = read(text).expect_err("must be refused");
        text[error.span().expect("a place")].to_owned()
    };
    assert_eq!(text_at(r#"gap = { distribution = "exponential", men = "20ms" }"#), "men");
    assert_eq!(text_at(r#"gap = { distribution = "exponentail", mean = "20ms" }"#), r#""exponentail""#);
    assert_eq!(text_at(r#"gap = { distribution = "exponential", mean = 20 }"#), "20");
    assert_eq!(text_at(r#"gap = { distribution = "empirical", values = ["1ms", "2kg"] }"#), r#""2kg""#);
    assert_eq!(text_at("gap = 20"), "20");
    assert_eq!(text_at(r#"gap = "20 apples""#), r#""20 apples""#);
    let message = read("gap = 20").expect_err("bare").to_string();
    assert!(message.contains("the bare number `20` is not a duration: it needs a unit"), "{message}");
}

#[test]
fn parameters_that_cannot_be_are_refused_with_what_is_allowed() {
    let law = |rest: &str| problem(&format!("gap = {{ distribution = {rest} }}"));
    assert_eq!(law(r#""exponential""#), "`gap.mean` is missing: `exponential` needs it");
    assert_eq!(
        law(r#""exponential", mean = "1s", shape = 2"#),
        "`gap.shape` is not a parameter of `exponential`: it takes `mean`"
    );
    assert_eq!(
        law(r#""weibull", shape = 2"#),
        "`gap.mean` is missing: `weibull` needs one of `mean` `scale`"
    );
    assert_eq!(
        law(r#""gamma", shape = 2, mean = "1s", scale = "1s""#),
        "`gap.scale` and `mean` say the same: give one of them"
    );
    assert_eq!(law(r#""uniform", min = "2s", max = "1s""#), "`gap.max` `1s` is under `min`, which is `2s`");
    assert_eq!(
        law(r#""exponential", mean = "0s""#),
        "`gap.mean` of zero is not allowed: it must be above zero"
    );
    assert!(law(r#""pareto", shape = 1.0, mean = "1s""#).contains("infinite mean"));
    assert!(law(r#""pareto", shape = 2, scale = "1s", max = "1s""#).contains("above `scale`"));
    assert!(law(r#""pareto", shape = 0.01, mean = "1ns", max = "1h""#).contains("too far below `max`"));
    assert!(law(r#""gamma", shape = nan, mean = "1s""#).contains("between 0.01 and 1000000"));
    assert!(law(r#""weibull", shape = inf, mean = "1s""#).contains("between 0.01 and 1000000"));
    assert!(law(r#""constant", value = "1s", max = "1s""#).contains("not a parameter"));
    assert!(law(r#""empirical", values = []"#).contains("must be 1 to"));
    assert!(
        law(r#""empirical", values = ["1s"], weights = [1, 2]"#).contains("has 2 entries and `values` has 1")
    );
    assert!(law(r#""empirical", values = ["1s"], weights = [0]"#).contains("all zero"));
    assert!(law(r#""empirical", values = ["1s"], weights = [-1]"#).contains("between 0 and"));
    assert!(law(r#""empirical", file = "x", weights = [1]"#).contains("has not been read"));
}

#[test]
fn clamping_moves_the_mean_and_the_theory_with_it() {
    let exponential = LawConfig::exponential(Duration::from_millis(20));
    let capped = LawConfig { max: Some(Duration::from_millis(30)), ..exponential.clone() };
    let lifted = LawConfig { min: Some(Duration::from_millis(10)), ..exponential.clone() };
    let both = LawConfig { min: capped.max, max: Some(Duration::from_secs(360_000)), ..exponential };
    let expected =
        [0.02 * (1.0 - (-1.5f64).exp()), 0.01 + 0.02 * (-0.5f64).exp(), 0.03 + 0.02 * (-1.5f64).exp()];
    for (config, expected) in [capped, lifted, both].iter().zip(expected) {
        let law = Law::new(config, "gap", &LoadedFiles::none()).expect("a sound law");
        let mean = law.mean().expect("a finite mean");
        assert!((mean / expected - 1.0).abs() < 1e-5, "{config:?}: {mean} of {expected}");
        let mut values = vec![Duration::ZERO; 100_000];
        law.fill(&mut Random::stream(Seed(3), "clamp"), &mut values);
        assert!(
            values
                .iter()
                .all(|value| Some(*value) >= config.min && config.max.is_none_or(|max| *value <= max))
        );
        let achieved = values.iter().map(|value| value.as_secs_f64()).sum::<f64>() / 100_000.0;
        assert!((achieved / expected - 1.0).abs() < 0.01, "{config:?}: {achieved} of {expected}");
    }
}

#[test]
fn sizes_are_whole_bytes_from_one() {
    let config = LawConfig::exponential(Bytes(1));
    let law = Law::new(&config, "size", &LoadedFiles::none()).expect("a sound law");
    let mut random = Random::stream(Seed(1), "sizes");
    assert!((0..10_000).all(|_| law.draw(&mut random) >= Bytes(1)));
}

/// The schema offers each law with its own parameters and no others.
#[test]
fn the_schema_follows_from_the_list() {
    let schema = schemars::schema_for!(LawConfig<Duration>).to_value();
    let forms = schema["anyOf"].as_array().expect("alternatives");
    assert_eq!(forms.len(), 1 + laws::KINDS.len());
    let gamma =
        forms.iter().find(|form| form["properties"]["distribution"]["const"] == "gamma").expect("gamma");
    let names: Vec<&String> = gamma["properties"].as_object().expect("properties").keys().collect();
    assert_eq!(names, ["distribution", "max", "mean", "min", "scale", "shape"]);
    assert_eq!(gamma["additionalProperties"], false);
    assert!(laws::descriptions().iter().all(|law| !law.summary.is_empty() && !law.source.is_empty()));
}
