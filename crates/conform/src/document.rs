//! The results of `lockgate conform` as one document.

use schemars::JsonSchema;
use serde::Serialize;

use crate::finding::Finding;
use crate::kind::Kind;
use crate::oracle::Entry;
use crate::oracles;
use crate::trials::Trials;

/// Version of the document's format.
pub const SCHEMA: u32 = 2;

/// Results of testing disciplines against their theorems.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conformance {
    /// Version of the document's format.
    pub schema: u32,
    /// Seed of all random draws.
    pub seed: u64,
    /// Rows, one per oracle and kind, in the order of the list of oracles.
    pub rows: Vec<Row>,
    /// Requested kinds to which no oracle applies.
    pub without_oracle: Vec<&'static str>,
    /// True if every finding holds.
    pub holds: bool,
}

/// Results of one oracle on one kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Row {
    /// The kind of discipline.
    pub kind: &'static str,
    /// Family of theorems, such as `O7`.
    pub family: &'static str,
    /// Name of the oracle.
    pub oracle: &'static str,
    /// The theorem, in one sentence.
    pub theorem: &'static str,
    /// Source of the proof.
    pub source: &'static str,
    /// Findings, one per statement of the theorem.
    pub findings: Vec<Finding>,
    /// True if all findings hold.
    pub holds: bool,
}

/// An oracle to run on a kind.
#[derive(Clone, Debug)]
pub struct Task {
    /// The oracle.
    pub entry: &'static Entry,
    /// The kind.
    pub kind: Kind,
    /// Trials to make.
    pub trials: Trials,
}

impl Task {
    /// Runs the trials.
    pub fn run(&self) -> Row {
        let findings = self.entry.hold(&self.kind, self.trials);
        Row {
            kind: self.kind.name,
            family: self.entry.family,
            oracle: self.entry.name,
            theorem: self.entry.theorem,
            source: self.entry.source,
            holds: findings.iter().all(|finding| finding.holds),
            findings,
        }
    }
}

/// Returns the tasks for these kinds: every oracle on each kind to which it applies. `count` replaces the
/// oracles' own numbers of trials.
pub fn tasks(kinds: &[Kind], seed: u64, count: Option<u32>) -> Vec<Task> {
    let of = |entry: &'static Entry| {
        let trials = Trials { seed, count: count.unwrap_or(entry.trials).max(1) };
        let kinds = kinds.iter().filter(move |kind| entry.applies(kind));
        kinds.map(move |kind| Task { entry, kind: kind.clone(), trials })
    };
    oracles::ALL.iter().flat_map(of).collect()
}

impl Conformance {
    /// Creates the document on these kinds from the rows of their tasks.
    pub fn new(kinds: &[Kind], seed: u64, rows: Vec<Row>) -> Self {
        let without = |kind: &&Kind| !oracles::ALL.iter().any(|entry| entry.applies(kind));
        Self {
            schema: SCHEMA,
            seed,
            without_oracle: kinds.iter().filter(without).map(|kind| kind.name).collect(),
            holds: rows.iter().all(|row| row.holds),
            rows,
        }
    }

    /// Returns the rows grouped by oracle, in the order of the list.
    pub fn by_oracle(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|one, other| one.oracle == other.oracle)
    }
}

/// Returns the JSON Schema of the document.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Conformance)
}
