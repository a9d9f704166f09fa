//! Scenarios that are right: what they mean.

mod support;

use support::{example, scenario};

#[test]
fn the_product_example_is_read() {
    let scenario = scenario(example());
    assert_eq!(scenario.title, "voice beside a bulk upload on a 10 Mbit/s uplink");
    println!("{scenario:#?}");
}
