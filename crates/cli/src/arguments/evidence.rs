//! Options of the commands that check papers and disciplines.

use std::path::PathBuf;

use clap::Args;

use super::Output;
use super::reading::MemoryLimit;

#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// Paper, or folder with a claims.toml; `all` for all papers that come with Lockgate; without any they
    /// are listed
    #[arg(value_name = "PAPER")]
    pub(crate) papers: Vec<String>,
    /// Checks only this claim
    #[arg(long, value_name = "ID")]
    pub(crate) claim: Option<String>,
    /// Further disciplines for the experiments [default: those that the paper's file names]
    #[arg(long, value_name = "KIND,KIND", value_delimiter = ',')]
    pub(crate) with: Vec<String>,
    /// Seed of all random draws
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Makes shorter runs in less than a minute (with --live in some minutes); a claim near its bound may
    /// fall
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also runs on real packets and the kernel's TCP, as far as possible
    #[arg(long)]
    pub(crate) live: bool,
    /// Speeds up live runs of datagrams by this factor: rates up, times down [default: each paper's own]
    #[arg(long, value_name = "N", requires = "live")]
    pub(crate) scale: Option<lockgate_scenario::Scale>,
    #[command(flatten)]
    pub(crate) limit: MemoryLimit,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Conform {
    /// Kind of discipline [default: all]
    pub(crate) kind: Option<String>,
    /// Seed of all random draws
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Number of an oracle's trials, instead of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) trials: Option<u32>,
    /// Repeats a kernel's reference runs in the simulator, and shows where the results differ
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "trials"])]
    pub(crate) against: Option<PathBuf>,
    /// With `--against`: accepts runs of the file that cannot be made
    #[arg(long, requires = "against")]
    pub(crate) allow_missing: bool,
    /// Writes a report to this directory: new, or of an earlier run
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Prints one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints only the results
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
