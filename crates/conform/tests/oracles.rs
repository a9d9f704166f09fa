//! Every oracle on every kind it is about, as `lockgate conform` runs it.

#![allow(clippy::print_stdout, reason = "the ratios are for whoever asks to see them")]

use lockgate_conform::{Entry, Kind, Trials, oracles};

/// The oracle holds for all its kinds, under traffic that tries it.
fn hold(entry: &Entry) {
    let kinds: Vec<_> = Kind::all().into_iter().filter(|kind| entry.applies(kind)).collect();
    assert!(!kinds.is_empty(), "{} is about no kind", entry.name);
    let mut broken = Vec::new();
    for kind in kinds {
        for finding in entry.hold(&kind, Trials { seed: 1, count: entry.trials }) {
            let ratio = finding.ratio.map_or_else(|| "exact".to_owned(), |ratio| format!("{ratio:.4}"));
            let line = format!("{} {} {}: {ratio}", entry.family, kind.name, finding.what);
            println!("{line} of {} {}", finding.bound, finding.unit);
            if !finding.holds || !finding.is_sharp() {
                broken.push(format!("{line}; {}", finding.why.unwrap_or_else(|| "tries nothing".to_owned())));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// One test an oracle; the last one sees that none is forgotten.
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
    changes "changes",
    byte_rounds "byte-rounds",
    packet_rounds "packet-rounds",
    smaller_quantum "smaller-quantum",
    latency "latency",
    low_band "low-band",
    fluid "fluid-server",
    fair_index "fair-index",
    own_rate "own-rate",
    tags "tags",
    many_children "many-children",
    red_average "red-average",
    red_gaps "red-gaps",
    red_idle "red-idle",
    red_adaptive "red-adaptive",
    codel_schedule "codel-schedule",
    codel_memory "codel-memory",
    codel_marks "codel-marks",
    cobalt_schedule "cobalt-schedule",
    cobalt_blue "cobalt-blue",
    cobalt_ebb "cobalt-ebb",
    sparse_flow "sparse-flow",
    fattest_flow "fattest-flow",
    pie_update "pie-update",
    pie_target "pie-target",
    deadlines "deadlines",
    buffer_share "buffer-share",
    short_bytes "short-bytes",
    short_waits "short-waits",
    rank_order "rank-order",
    coarse_clock "coarse-clock",
    device_ring "device-ring",
}
