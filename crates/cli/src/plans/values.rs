//! Variations and seeds as written on the command line.

use lockgate::Scenario;
use lockgate_scenario::vary::Values;
use lockgate_scenario::{Vary, VaryError};

use crate::arguments::Variations;
use crate::exit::Failure;

/// Returns the variations of the command line; without any, those of the scenario.
pub(super) fn variations(arguments: &Variations, scenario: &Scenario) -> Result<Vec<Vary>, Failure> {
    let read = |option: &str, text: &String| {
        Vary::parse(text).map_err(|error| Failure::usage(format!("`{option} {text}`: {error}"), error.help()))
    };
    let alone = arguments.vary.iter().map(|text| read("--vary", text));
    let together = arguments.vary_together.iter().map(|text| {
        let group = Some("together".to_owned());
        read("--vary-together", text).map(|vary| Vary { together: group, ..vary })
    });
    let given = alone.chain(together).collect::<Result<Vec<_>, _>>()?;
    Ok(lockgate::plans::variations(given, scenario)?)
}

/// Reads seeds: `1..10`, `1,2,5` or one number.
pub(crate) fn seeds(text: &str) -> Result<Vec<u64>, Failure> {
    let texts = Values::parse(text).and_then(|values| values.texts());
    let wrong = || {
        Failure::usage(
            format!("`--seeds {text}` are not seeds"),
            "write `--seeds 1..10`, or a list: `--seeds 1,2,5`",
        )
    };
    let many = |error: VaryError| match error {
        VaryError::TooMany(_) => Failure::usage(format!("`--seeds {text}`: {error}"), "name fewer"),
        _ => wrong(),
    };
    let seeds: Vec<u64> = texts
        .map_err(many)?
        .iter()
        .map(|seed| seed.parse().map_err(|_| wrong()))
        .collect::<Result<_, _>>()?;
    lockgate::plans::seeds(seeds).map_err(|error| {
        Failure::usage(format!("`--seeds {text}`: {error}"), error.help().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range_a_list_or_a_number() {
        assert_eq!(seeds("1..4").expect("a range"), [1, 2, 3, 4]);
        assert_eq!(seeds("7,3").expect("a list"), [7, 3]);
        assert_eq!(seeds("5").expect("a number"), [5]);
        assert!(
            seeds("1..").is_err() && seeds("a").is_err() && seeds("1,1").is_err() && seeds("1.5").is_err()
        );
    }
}
