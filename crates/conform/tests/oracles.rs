//! Every oracle on every kind it is about, as `lockgate conform` runs it.

#![allow(clippy::print_stdout, reason = "the ratios are for whoever asks to see them")]

use lockgate_conform::{Entry, Kind, Task, oracles, page, tasks};

/// Requires that the oracle holds for all its kinds, that the traffic is sharp, and that the page has the
/// findings.
fn hold(entry: &Entry) {
    let tasks: Vec<_> =
        tasks(&Kind::all(), 1, None).into_iter().filter(|task| task.entry.name == entry.name).collect();
    assert!(!tasks.is_empty(), "{} is about no kind", entry.name);
    let rows: Vec<_> = tasks.iter().map(Task::run).collect();
    let section = page::section(&rows);
    println!("{section}");
    let findings = rows.iter().flat_map(|row| row.findings.iter().map(move |finding| (row.kind, finding)));
    let broken: Vec<_> = findings
        .filter(|(_, finding)| !finding.holds || !finding.is_tried())
        .map(|(kind, finding)| {
            let why = finding.why.as_deref().unwrap_or("tries nothing");
            format!("{kind}: {}: {why} ({:?})", finding.what, finding.ratio)
        })
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    let kept = include_str!("../../../docs/reference/conformance.md");
    assert!(kept.contains(&section), "docs/reference/conformance.md is out of date: run `make docs`");
}

/// Declares one test for each oracle. The last test checks that none is missing.
macro_rules! tests {
    ($($test:ident $name:literal),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                hold(oracles::named($name).expect("it is on the list"));
            }
        )*

        #[test]
        fn every_oracle_is_tested() {
            let listed: Vec<_> = oracles::ALL.iter().map(|entry| entry.name).collect();
            assert_eq!(listed, [$($name),*], "one test an oracle, in the order of the list");
        }
    };
}

tests! {
    busy_periods "busy-periods",
    mean_wait "mean-wait",
    pollaczek "pollaczek-khinchine",
    full_buffer "full-buffer",
    cobham "cobham",
    envelope "envelope",
    delivery "delivery",
    by_the_second "by-the-second",
    meter_colours "meter-colours",
    changes "changes",
    byte_rounds "byte-rounds",
    packet_rounds "packet-rounds",
    smaller_quantum "smaller-quantum",
    latency "latency",
    first_turn "first-turn",
    low_band "low-band",
    guard "guard",
    ets_bands "ets-bands",
    fluid "fluid-server",
    gps "gps-late",
    fair_index "fair-index",
    slot_index "slot-index",
    own_rate "own-rate",
    tags "tags",
    many_children "many-children",
    red_average "red-average",
    red_gaps "red-gaps",
    red_idle "red-idle",
    red_adaptive "red-adaptive",
    choke_share "choke-share",
    choke_draw "choke-draw",
    codel_schedule "codel-schedule",
    codel_memory "codel-memory",
    codel_backlog "codel-backlog",
    codel_marks "codel-marks",
    cobalt_schedule "cobalt-schedule",
    cobalt_blue "cobalt-blue",
    cobalt_ebb "cobalt-ebb",
    last_packet "last-packet",
    sparse_flow "sparse-flow",
    fattest_flow "fattest-flow",
    pie_update "pie-update",
    pie_target "pie-target",
    pie_burst "pie-burst",
    pie_alone "pie-alone",
    fq_pie_flows "fq-pie-flows",
    dualpi2_update "dualpi2-update",
    dualpi2_hits "dualpi2-hits",
    dualpi2_step "dualpi2-step",
    dualpi2_protection "dualpi2-protection",
    dualpi2_senders "dualpi2-senders",
    cake_gaps "cake-gaps",
    cake_late "cake-late",
    cake_changes "cake-changes",
    cake_ingress "cake-ingress",
    cake_flows "cake-flows",
    cake_hosts "cake-hosts",
    cake_loads "cake-loads",
    cake_tins "cake-tins",
    cake_voice "cake-voice",
    cake_ways "cake-ways",
    cake_flood "cake-flood",
    cake_acks "cake-acks",
    code_points "code-points",
    deadlines "deadlines",
    buffer_share "buffer-share",
    short_bytes "short-bytes",
    short_waits "short-waits",
    rank_order "rank-order",
    link_sharing "link-sharing",
    class_envelope "class-envelope",
    class_guarantee "class-guarantee",
    service_deadlines "service-deadlines",
    virtual_shares "virtual-shares",
    upper_limit "upper-limit",
    coarse_clock "coarse-clock",
    device_ring "device-ring",
    cbq_clock "cbq-clock",
    cbq_sharing "cbq-sharing",
    cbq_rounds "cbq-rounds",
    scaled_time "scaled-time",
    renamed_flows "renamed-flows",
    idle_child "idle-child",
    merged_flows "merged-flows",
}

/// Each guarantee of a discipline names oracles that exist and apply to it: a promise that nothing holds does
/// not stand in the reference.
#[test]
fn every_guarantee_is_held_by_an_oracle() {
    let (mut faults, mut held) = (Vec::new(), 0);
    for kind in Kind::all() {
        for guarantee in kind.guarantees {
            let applies = |name: &&str| oracles::named(name).is_some_and(|oracle| oracle.applies(&kind));
            let wrong: Vec<_> = guarantee.oracles.iter().filter(|name| !applies(name)).collect();
            if guarantee.oracles.is_empty() || !wrong.is_empty() {
                faults.push(format!("{}: {:?} is held by {wrong:?}", kind.name, guarantee.statement));
            }
            held += 1;
        }
    }
    println!("{held} guarantees");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
