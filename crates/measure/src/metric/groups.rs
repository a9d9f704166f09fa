//! Metrics of the run, and of groups of flows and their files.

use super::Better::{Higher, Lower};
use super::read::{Of, Read, seen};
use super::{Metric, Unit};

/// Source of the reference completion times.
pub(super) const PROCESSOR_SHARING: &str = "Kleinrock 1967";
pub(super) const PS_FCT: &str = "flow completion time under processor sharing: all files and \
     bulk transfers at the slowest port of its path (of equally slow ones, the one with most files) share the \
     rate that the port or its link has at the start, or `record.sharing_rate`, equally, as a fluid without \
     round trips; headers of full segments count, other traffic does not";
pub(super) const SLOWDOWN: &str = "flow completion time over the one under processor sharing";

/// Metrics of the run, then of groups, in the order of `summary.json`.
pub(super) const GROUPS: [Metric; 8] = [
    Metric {
        name: "jain_index",
        unit: Unit::Number,
        better: Some(Higher),
        source: "Jain, Chiu and Hawe 1984",
        definition: "how evenly all flows share throughput: (sum x)^2 / (n sum x^2), from 1/n to 1; most \
             meaningful for flows with equal demand, as those of a group",
        read: Read::Run(Of::Value(|run| seen(run.jain_index))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "jain_index",
        unit: Unit::Number,
        better: Some(Higher),
        source: "Jain, Chiu and Hawe 1984",
        definition: "how evenly the flows of the group share throughput: (sum x)^2 / (n sum x^2), from \
             1/n to 1",
        read: Read::Group(Of::Value(|group| seen(group.jain_index))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "files",
        unit: Unit::Number,
        definition: "files of the group, or of the class of sizes, that start in the window",
        read: Read::Files(Of::Count(|files| files.files)),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "completed",
        unit: Unit::Number,
        better: Some(Higher),
        definition: "those of them that were delivered whole",
        read: Read::Files(Of::Count(|files| files.completed)),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "mean_bytes",
        unit: Unit::Bytes,
        definition: "their mean size, without headers",
        read: Read::Files(Of::Value(|files| seen(files.any()?.mean_bytes))),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "fct",
        unit: Unit::Seconds,
        better: Some(Lower),
        definition: "their flow completion times: from the start of each until all of it was delivered",
        read: Read::Files(Of::Distribution(|files| Some(&files.any()?.fct_s))),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "ps_fct",
        unit: Unit::Seconds,
        source: PROCESSOR_SHARING,
        definition: PS_FCT,
        read: Read::Files(Of::Distribution(|files| Some(&files.any()?.ps_fct_s))),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "slowdown",
        unit: Unit::Number,
        better: Some(Lower),
        source: PROCESSOR_SHARING,
        definition: SLOWDOWN,
        read: Read::Files(Of::Distribution(|files| Some(&files.any()?.slowdown))),
        parts: false,
        ..Metric::DEFAULT
    },
];
