//! Options of the commands that look for the worst case of a scenario.

use std::path::PathBuf;

use clap::Args;

use super::reading::Reading;

#[derive(Debug, Args)]
pub(crate) struct Prove {
    /// Scenario file; if left out, the scenarios found here are listed
    pub(crate) file: Option<PathBuf>,
    /// Flow whose derivation is shown; may be repeated [default: all, if they are few]
    #[arg(long = "flow", value_name = "NAME")]
    pub(crate) flows: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Prints the bounds and derivations as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Attack {
    /// Scenario file; if left out, the scenarios found here are listed
    pub(crate) file: Option<PathBuf>,
    /// Metric to make worst, such as flow.voice.owd.max [default: that of the first expectation]
    #[arg(long, value_name = "METRIC")]
    pub(crate) that: Option<String>,
    /// Number of runs, such as 500, or a time, such as 60s
    #[arg(long, default_value = "60s", value_name = "RUNS|TIME")]
    pub(crate) budget: String,
    /// Largest number of flows of the enemy, besides that of the metric [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) flows: Option<usize>,
    /// Makes as many runs of random traffic, and compares
    #[arg(long)]
    pub(crate) random: bool,
    /// Seed of the search
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Directory for the found scenario and its captures
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
