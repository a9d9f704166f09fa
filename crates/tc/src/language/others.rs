//! Kinds that no scenario has: they are only judged.

use super::sort::{Sort, U32};
use super::word::{Word, only, words};
use super::{Classes, Language};

pub(super) const OTHERS: &[Language] = &[
    Language::new("blackhole", &[]),
    Language::new("cbs", CBS).classes(Classes::One),
    Language::new("etf", ETF).classes(Classes::One).fixed(),
    Language::new("fq", FQ),
    Language::new("gred", GRED),
    Language::new("hhf", HHF),
    Language::new("mqprio", MQPRIO).classes(Classes::Any).at_root().fixed(),
    Language::new("multiq", &[]).classes(Classes::Any),
    Language::new("plug", PLUG).classes(Classes::One),
    Language::new("sfb", SFB).classes(Classes::One),
    Language::new("skbprio", &[only("limit", Sort::Size)]).classes(Classes::UpTo(64)),
    Language::new("taprio", TAPRIO).classes(Classes::Any).at_root(),
    // `tc` knows it, and no kernel by this name.
    Language::new("teql0", &[]).since(u16::MAX, 0),
];

const CBS: &[Word] = words! {
    only(Sort::Signed(0)): "hicredit".short(1).once() "locredit".short(1).once()
        "sendslope".short(1).once() "idleslope".short(1).once();
    only(Sort::Whole(0, 255)): "offload".short(1).once();
};

/// Names of clocks; each fourth after the second is that of TAI.
const CLOCKS: Sort = Sort::Of(&[
    "CLOCK_REALTIME",
    "CLOCK_TAI",
    "CLOCK_BOOTTIME",
    "CLOCK_MONOTONIC",
    "REALTIME",
    "TAI",
    "BOOTTIME",
    "MONOTONIC",
    "realtime",
    "tai",
    "boottime",
    "monotonic",
]);

const ETF: &[Word] = words! {
    only(Sort::Flag): "offload".short(1).once() "deadline_mode".short(1).once();
    only(Sort::Signed(0)): "delta".short(1).once();
    only(CLOCKS): "clockid".short(1).once();
    only(Sort::Flag): "skip_sock_check".once();
};

const FQ: &[Word] = words! {
    only(U32): "limit" "flow_limit" "buckets".limits(0.0, 262_144.0);
    only(Sort::Rate32): "maxrate" "low_rate_threshold";
    only(Sort::Time): "ce_threshold";
    only(Sort::Nanos): "timer_slack";
    only(Sort::Flag): "horizon_drop" "horizon_cap";
    only(Sort::Time): "horizon";
    only(Sort::Rate32): "defrate";
    only(U32): "quantum".limits(1.0, 1_048_576.0) "initial_quantum".limits(0.0, i32::MAX as f64)
        "orphan_mask";
    only(Sort::Time): "refill_delay";
    only(Sort::Flag): "pacing" "nopacing";
};

const GRED: &[Word] = words! {
    only(Sort::Flag): "setup";
    only(U32): "DPs" "default";
    only(Sort::Flag): "grio";
    only(Sort::Size): "limit" "min" "max" "avpkt";
    only(U32): "burst";
    only(Sort::Rate32): "bandwidth";
    only(Sort::Share): "probability";
    only(U32): "DP" "prio";
    only(Sort::Flag): "ecn" "harddrop";
};

const HHF: &[Word] = words! {
    only(U32): "limit" "quantum" "hh_limit";
    only(Sort::Time): "reset_timeout";
    only(U32): "admit_bytes";
    only(Sort::Time): "evict_timeout";
    only(U32): "non_hh_weight";
};

const MQPRIO: &[Word] = words! {
    only(Sort::Whole(10, 16)): "num_tc";
    only(Sort::Bands): "map";
    only(Sort::Queues): "queues";
    only(Sort::Whole(10, 255)): "hw";
    only(Sort::Of(&["dcb", "channel"])): "mode";
    only(Sort::Of(&["dcb", "bw_rlimit"])): "shaper";
    only(Sort::Any): "min_rate" "max_rate";
};

const PLUG: &[Word] = words! {
    only(Sort::Flag): "block" "release" "release_indefinite";
    only(Sort::Size): "limit";
};

const SFB: &[Word] = words! {
    only(U32): "rehash" "db" "limit" "max" "target";
    only(Sort::Share): "increment" "decrement";
    only(U32): "penalty_rate" "penalty_burst";
};

const TAPRIO: &[Word] = words! {
    only(Sort::Whole(10, 16)): "num_tc";
    only(Sort::Bands): "map";
    only(Sort::Queues): "queues";
    only(Sort::Gate): "sched-entry";
    only(Sort::Any): "base-time" "cycle-time" "cycle-time-extension";
    only(CLOCKS): "clockid";
    only(U32): "flags" "txtime-delay";
};
