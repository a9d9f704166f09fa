//! Results of files and groups of files: completion times compared with processor sharing.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{Distribution, FlowSummary, MembersSummary};
use crate::fairness::jain;
use crate::group::group_of;
use crate::histogram::Histogram;
use crate::recording::{FileBin, FlowRecord, Recording};
use crate::sharing::{Job, processor_sharing};

/// The file carried by a flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FileSummary {
    /// Start, in seconds.
    pub start_s: f64,
    /// Size in bytes, without headers.
    pub bytes: u64,
    /// Completion time, in seconds, if the files at the slowest link on its path shared that link equally.
    pub ps_fct_s: Option<f64>,
    /// Completion time divided by `ps_fct_s`; `null` if the file was not completed.
    pub slowdown: Option<f64>,
}

/// A group of flows, and the files they carry. Files that start during the warm-up are excluded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GroupSummary {
    /// Jain's fairness index of the throughput of its flows, from 1/n to 1; `null` if nothing was received.
    pub jain_index: Option<f64>,
    /// Statistics over its members by metric, such as `owd.p99`, if the run recorded members briefly; absent
    /// if not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<IndexMap<String, MembersSummary>>,
    /// All files of the group.
    pub all: FilesSummary,
    /// Files by size class, for the classes that have files.
    pub bins: Vec<BinSummary>,
}

/// A size class of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BinSummary {
    /// Number of the class, from 1 in the order of sizes; empty classes are counted too.
    pub number: u64,
    /// Smallest size in the class.
    pub from_bytes: u64,
    /// Smallest size above the class; `null` if it has no upper limit.
    pub to_bytes: Option<u64>,
    /// Files of the class.
    pub files: FilesSummary,
}

/// Completion times of a set of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FilesSummary {
    /// Number of files.
    pub files: u64,
    /// Number of files delivered completely.
    pub completed: u64,
    /// Mean size in bytes.
    pub mean_bytes: Option<f64>,
    /// Completion times of the completed files, in seconds.
    pub fct_s: Distribution,
    /// Completion times of all files under processor sharing, in seconds.
    pub ps_fct_s: Distribution,
    /// Completion time divided by that under processor sharing, for the completed files.
    pub slowdown: Distribution,
}

impl FilesSummary {
    /// Returns itself if there are files: without any there are no times and sizes.
    pub(crate) fn any(&self) -> Option<&Self> {
        (self.files > 0).then_some(self)
    }
}

/// Returns the completion time of each flow's file under processor sharing, in seconds, by flow; `None` for
/// flows without a file that ends. All files at a port share the rate that its link has at the start.
pub(crate) fn shared_times(recording: &Recording) -> Vec<Option<f64>> {
    let mut times = vec![None; recording.flows.len()];
    let mut by_port: BTreeMap<u32, Vec<(usize, Job)>> = BTreeMap::new();
    for (flow, record) in recording.flows.iter().enumerate() {
        let Some(file) = record.file.as_deref() else { continue };
        let bytes = file.bytes.map(|_| file.charged.0 as f64);
        by_port.entry(file.port).or_default().push((flow, Job { start: file.start.as_secs_f64(), bytes }));
    }
    for (port, files) in by_port {
        let rate = recording.sharing_rate.or(recording.ports.get(port as usize).map(|port| port.setup.rate));
        let jobs: Vec<Job> = files.iter().map(|(_, job)| *job).collect();
        let taken = processor_sharing(&jobs, rate.map_or(0.0, |rate| rate.as_bits() as f64 / 8.0));
        for ((flow, _), taken) in files.into_iter().zip(taken) {
            times[flow] = taken;
        }
    }
    times
}

/// Returns the file of a flow, if it carries one that ends.
pub(super) fn file(record: &FlowRecord, shared: Option<f64>) -> Option<FileSummary> {
    let file = record.file.as_deref()?;
    let taken = record.completed().map(lockgate_engine::units::Duration::as_secs_f64);
    let slowdown = taken.zip(shared.filter(|shared| *shared > 0.0)).map(|(taken, shared)| taken / shared);
    Some(FileSummary { start_s: file.start.as_secs_f64(), bytes: file.bytes?.0, ps_fct_s: shared, slowdown })
}

/// Times and ratios of a set of files, in units of 10^-12.
#[derive(Default)]
struct Gathered {
    files: u64,
    completed: u64,
    bytes: u128,
    fct: Histogram,
    shared: Histogram,
    slowdown: Histogram,
}

/// Converts to an integer in units of 10^-12.
fn fine(value: f64) -> u64 {
    // The conversion saturates; times and ratios are not negative.
    libm::round(value * super::PICOS) as u64
}

impl Gathered {
    fn add(&mut self, file: &FileSummary, fct: Option<f64>) {
        self.files += 1;
        self.bytes += u128::from(file.bytes);
        if let Some(shared) = file.ps_fct_s {
            self.shared.record(fine(shared));
        }
        if let Some(fct) = fct {
            self.completed += 1;
            self.fct.record(fine(fct));
        }
        if let Some(slowdown) = file.slowdown {
            self.slowdown.record(fine(slowdown));
        }
    }

    fn summary(&self) -> FilesSummary {
        FilesSummary {
            files: self.files,
            completed: self.completed,
            mean_bytes: (self.files > 0).then(|| self.bytes as f64 / self.files as f64),
            fct_s: Distribution::of_picos(&self.fct),
            ps_fct_s: Distribution::of_picos(&self.shared),
            slowdown: Distribution::of_picos(&self.slowdown),
        }
    }
}

/// Data of a group: the throughput of its flows, its files, and those by size.
type GatheredGroup = (Vec<f64>, Gathered, BTreeMap<FileBin, Gathered>);

/// Returns the groups of flows, in the order of the flows.
pub(super) fn groups(
    recording: &Recording,
    files: &[Option<FileSummary>],
    flows: &IndexMap<String, FlowSummary>,
) -> IndexMap<String, GroupSummary> {
    let mut gathered: IndexMap<&str, GatheredGroup> = IndexMap::new();
    for (record, summary) in recording.flows.iter().zip(files) {
        let Some(group) = group_of(&record.setup.name) else { continue };
        let shares = &mut gathered.entry(group).or_default().0;
        shares.extend(flows.get(&record.setup.name).and_then(|flow| flow.throughput_bps));
        let (Some(summary), Some(file)) = (summary, record.file.as_deref()) else { continue };
        let Some(size) = file.bytes.filter(|_| file.start >= recording.warmup) else { continue };
        let fct = record.completed().map(lockgate_engine::units::Duration::as_secs_f64);
        let (_, all, bins) = gathered.entry(group).or_default();
        all.add(summary, fct);
        bins.entry(recording.file_bins.of(size)).or_default().add(summary, fct);
    }
    let bin = |(bin, gathered): (FileBin, Gathered)| BinSummary {
        number: bin.number,
        from_bytes: bin.from.0,
        to_bytes: bin.to.map(|to| to.0),
        files: gathered.summary(),
    };
    gathered
        .into_iter()
        .map(|(name, (shares, all, bins))| {
            let (jain_index, bins) = (jain(&shares), bins.into_iter().map(bin).collect());
            (name.to_owned(), GroupSummary { jain_index, members: None, all: all.summary(), bins })
        })
        .collect()
}
