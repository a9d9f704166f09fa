//! What `lockgate conform` says, as one document.

use schemars::JsonSchema;
use serde::Serialize;

use crate::finding::Finding;
use crate::kind::Kind;
use crate::oracle::Entry;
use crate::oracles;
use crate::trials::Trials;

/// Version of the document's form.
pub const SCHEMA: u32 = 2;

/// Disciplines held against their theorems.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conformance {
    /// Version of this document's form.
    pub schema: u32,
    /// What all draws started from.
    pub seed: u64,
    /// One an oracle and kind, in the order of the list of oracles.
    pub rows: Vec<Row>,
    /// The kinds asked for that no oracle is about.
    pub without_oracle: Vec<&'static str>,
    /// Whether every finding holds.
    pub holds: bool,
}

/// One oracle on one kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Row {
    /// The kind of discipline.
    pub kind: &'static str,
    /// The family of theorems, such as `O7`.
    pub family: &'static str,
    /// The oracle's name.
    pub oracle: &'static str,
    /// The theorem in a sentence.
    pub theorem: &'static str,
    /// Where it is proved.
    pub source: &'static str,
    /// One a statement of the theorem.
    pub findings: Vec<Finding>,
    /// Whether all of them hold.
    pub holds: bool,
}

/// An oracle on a kind, still to be tried.
#[derive(Clone, Debug)]
pub struct Task {
    /// The oracle.
    pub entry: &'static Entry,
    /// The kind.
    pub kind: Kind,
    /// Its trials.
    pub trials: Trials,
}

impl Task {
    /// Makes the trials.
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

/// What there is to try on these kinds: every oracle on each kind it is about. `count` stands in the place of each
/// oracle's own number of trials.
pub fn tasks(kinds: &[Kind], seed: u64, count: Option<u32>) -> Vec<Task> {
    let of = |entry: &'static Entry| {
        let trials = Trials { seed, count: count.unwrap_or(entry.trials).max(1) };
        let kinds = kinds.iter().filter(move |kind| entry.applies(kind));
        kinds.map(move |kind| Task { entry, kind: kind.clone(), trials })
    };
    oracles::ALL.iter().flat_map(of).collect()
}

impl Conformance {
    /// The document on these kinds, from the rows of their tasks.
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

    /// The rows of each oracle, in the order of the list.
    pub fn by_oracle(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|one, other| one.oracle == other.oracle)
    }
}

/// The JSON Schema of the document.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Conformance)
}
