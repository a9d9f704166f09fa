//! Prague beside CUBIC and beside itself through `DualPI2`, held against measurements of a kernel.
#![allow(clippy::print_stdout, reason = "the table is wanted")]

use std::fmt::Write as _;

use lockgate_measure::recording::Recording;

use crate::common::simulate;

/// One direction of a path: congestion control, and round trip in milliseconds.
type Side = (&'static str, u32);

/// Two flows from their own hosts through 50 Mbit/s and `DualPI2`. Returns the goodput of the third minute in
/// Mbit/s.
fn shares(sides: [Side; 2], virtual_rtt: &str) -> [f64; 2] {
    let mut text = "duration = \"180s\"\nwarmup = \"120s\"\nnode.r = {}\nnode.far = {}\n\
                    link.line = { between = [\"r\", \"far\"], rate = \"50mbit\" }\n\
                    [port.\"r:far\"]\nroot = \"q\"\nqueue.q = { kind = \"dualpi2\" }\n"
        .to_owned();
    for (side, (congestion, rtt)) in sides.into_iter().enumerate() {
        let virtual_rtt =
            if congestion == "prague" { format!("virtual_rtt = \"{virtual_rtt}\"") } else { String::new() };
        let _ = write!(
            text,
            "[node.host{side}]\n[link.access{side}]\nbetween = [\"host{side}\", \"r\"]\nrate = \"1gbit\"\n\
             delay = \"{}us\"\n[flow.f{side}]\nfrom = \"host{side}\"\nto = \"far\"\ntransport = \"tcp\"\n\
             bytes = \"unlimited\"\ncongestion = \"{congestion}\"\n{virtual_rtt}\n",
            rtt * 500
        );
    }
    let recording = simulate(&text, 1);
    ["f0", "f1"].map(|name| goodput(&recording, name))
}

fn goodput(recording: &Recording, name: &str) -> f64 {
    let flow = recording.flows.iter().find(|flow| flow.setup.name == name).expect("a flow");
    flow.payload_in_window().0 as f64 * 8.0 / recording.window().as_secs_f64() / 1e6
}

/// <https://github.com/heistp/l4s-tests>, `s1_table.md` of November 2020: throughput of the third minute in
/// Mbit/s, the kernel of the L4S team. Its Prague had no virtual round trip: two of its flows share as their
/// round trips do, and worse. The rows of 10 Mbit/s are left out: a packet takes longer than `DualPI2`'s step
/// there, and implementations differ in what they mark then.
const KERNEL: [([Side; 2], [f64; 2]); 9] = [
    ([("cubic", 10), ("prague", 10)], [12.65, 34.57]),
    ([("cubic", 20), ("prague", 20)], [14.94, 32.39]),
    ([("cubic", 80), ("prague", 80)], [17.85, 29.58]),
    ([("prague", 20), ("prague", 10)], [15.84, 30.77]),
    ([("prague", 20), ("cubic", 10)], [28.40, 18.84]),
    ([("cubic", 20), ("prague", 10)], [9.21, 37.86]),
    ([("prague", 80), ("cubic", 20)], [22.43, 24.89]),
    ([("cubic", 80), ("prague", 20)], [6.43, 40.69]),
    ([("prague", 160), ("cubic", 10)], [10.13, 37.28]),
];

#[test]
fn prague_without_a_virtual_round_trip_shares_as_the_kernels_of_2020() {
    let mut missed = Vec::new();
    for (sides, kernel) in KERNEL {
        let ours = shares(sides, "0s");
        let off = [0, 1].map(|side| ours[side] / kernel[side] - 1.0);
        println!(
            "{sides:?}: kernel {kernel:.1?}, ours {ours:.1?}, off {:+.0} %, {:+.0} %",
            off[0] * 100.0,
            off[1] * 100.0
        );
        if off.iter().any(|off| off.abs() > 0.25) {
            missed.push((sides, kernel, ours));
        }
    }
    assert!(missed.is_empty(), "more than 25 % off: {missed:?}");
}

/// RFC 9331 section 4.3: reduced dependence on round trips below a typical one.
#[test]
fn the_virtual_round_trip_favours_the_short_path_less() {
    let ratio = |virtual_rtt: &str| {
        let [long, short] = shares([("prague", 20), ("prague", 10)], virtual_rtt);
        println!("virtual {virtual_rtt}: 20 ms {long:.1} Mbit/s, 10 ms {short:.1}");
        short / long
    };
    let (own, reduced) = (ratio("0s"), ratio("25ms"));
    assert!(own > 1.8, "without it the rates are as the round trips, or further apart: {own}");
    assert!((0.5..1.2).contains(&reduced), "with it the short path has no advantage: {reduced}");
    // DualPI2 adds 15 ms to the classic queue's round trip: at 10 ms CUBIC's is 25, as Prague's virtual one.
    let [cubic, prague] = shares([("cubic", 10), ("prague", 10)], "25ms");
    println!("10 ms, virtual 25: CUBIC {cubic:.1} Mbit/s, Prague {prague:.1}");
    assert!((0.5..2.0).contains(&(prague / cubic)), "neither starves: {cubic} {prague}");
}
