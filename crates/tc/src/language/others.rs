//! Kinds that no scenario has: they are only judged.

use super::sort::{Sort, U32};
use super::word::{Word, only, words};
use super::{Classes, Language};

pub(super) const OTHERS: &[Language] = &[
    Language::new("blackhole", &[]).absent("it drops every packet; a link has `loss = \"100%\"`"),
    Language::new("cbs", CBS).classes(Classes::One).absent("its credit is nearest to a `tbf` of its `idleslope`"),
    Language::new("etf", ETF).classes(Classes::One).fixed().absent("it sends at times that programs give their packets"),
    Language::new("fq", FQ).absent(
        "it paces each socket of its own host by the sender's rate, which TCP of a scenario does itself; `fq_codel` shares a line \
         among flows as it does",
    ),
    Language::new("gred", GRED).absent("write a `red` for each of its queues below a `prio`"),
    Language::new("hhf", HHF).absent("`fq_codel` keeps large flows from small ones without finding them"),
    Language::new("mqprio", MQPRIO).classes(Classes::Any).at_root().fixed().absent(
        "it leads priorities to transmit queues of a device; `prio` leads them to bands by its `priomap`",
    ),
    Language::new("multiq", &[]).classes(Classes::Any).absent("a port has no transmit queues; write that of one at the root"),
    Language::new("plug", PLUG).classes(Classes::One).absent("it holds packets until a program lets them go"),
    Language::new("sfb", SFB).classes(Classes::One).absent("`fq_pie` keeps flows that do not react from others too"),
    Language::new("skbprio", &[only("limit", Sort::Size)])
        .classes(Classes::UpTo(64))
        .absent("`prio` serves priorities in their order too"),
    Language::new("taprio", TAPRIO)
        .classes(Classes::Any)
        .at_root()
        .absent("its gates open by a clock; without them it is a `prio`"),
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
    only(Sort::LineRate32): "maxrate";
    only(Sort::Rate32): "low_rate_threshold";
    only(Sort::Time): "ce_threshold";
    only(Sort::Nanos): "timer_slack";
    only(Sort::Flag): "horizon_drop" "horizon_cap";
    only(Sort::Time): "horizon";
    only(Sort::LineRate32): "defrate";
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
    only(Sort::LineRate32): "bandwidth";
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
