//! The test of the README is this one, and it says what the README says that it says.
#![allow(clippy::unwrap_used, reason = "as users write tests")]

include!("mytransport.rs");

const README: &str = include_str!("../../README.md");

#[test]
fn the_readme_shows_the_test_and_the_example() {
    assert!(README.contains(include_str!("mytransport.rs")), "copy it to the README");
    let example = include_str!("../../examples/beside_others.rs");
    let shown = example.split_once("\n\n").map_or(example, |(_, shown)| shown);
    assert!(README.contains(shown), "copy it to the README");
}

#[test]
fn the_readme_quotes_what_the_broken_transport_gives() {
    let said = judge(&run(true, false)).expect_err("it ignores marks");
    assert!(README.contains(&said), "{said}");
}
