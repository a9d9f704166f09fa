//! Prints the metrics of flows, and holds a value against a bound.
#![allow(clippy::print_stdout, reason = "an example prints")]

use lockgate_measure::metric::{Metric, Names, SubjectKind, check_path};
use lockgate_measure::summary::Bound;

fn main() {
    for metric in Metric::of(SubjectKind::Flow) {
        println!("{} [{}]: {}", metric.name, metric.unit.symbol(), metric.definition);
    }
    let flows = ["voice".to_owned()];
    match check_path("flow.voice.owd.p99", &Names { flows: &flows, ports: &[] }) {
        Ok(unit) => println!("15 {} below 20: {}", unit.symbol(), Bound::Below(20.0).holds(15.0)),
        Err(error) => println!("{error}"),
    }
}
