//! Options of the commands that make many runs: `compare`, `sweep`, `tune`, `test`.

use std::path::PathBuf;

use clap::Args;
use lockgate_experiment::MOST_TASKS;
use lockgate_measure::comparison::Practical;

use super::reading::{MemoryLimit, Reading};

/// Settings and limits of runs that are made at the same time.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunLimits {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Number of runs at the same time [default: one a processor]
    #[arg(long, short, value_name = "N", value_parser = threads)]
    pub(crate) jobs: Option<usize>,
}

/// Parses a number of threads.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|count| (1..=4096).contains(count))
        .ok_or_else(|| "a number from 1 to 4096".to_owned())
}

/// Scenario's variants, seeds and metrics.
#[derive(Debug, Args)]
pub(crate) struct Variations {
    /// Values that are set one after another; may be repeated: every combination is run
    #[arg(long, value_name = "PATH=VALUES")]
    pub(crate) vary: Vec<String>,
    /// As --vary, but all of these advance together, value by value
    #[arg(long, value_name = "PATH=VALUES")]
    pub(crate) vary_together: Vec<String>,
    /// Seeds of every variant, as a range or a list
    #[arg(long, default_value = "1..10", value_name = "SEEDS")]
    pub(crate) seeds: String,
    /// Metrics by their addresses, such as flow.call.owd.p99
    #[arg(long, value_name = "ADDRESS,…", value_delimiter = ',')]
    pub(crate) show: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: RunLimits,
    /// Prints no progress and no warnings
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Variations {
    /// Returns the variations that a file has itself, over these seeds.
    pub(crate) fn of_file(seeds: &str, limits: &RunLimits) -> Self {
        Self {
            vary: Vec::new(),
            vary_together: Vec::new(),
            seeds: seeds.to_owned(),
            show: Vec::new(),
            limits: limits.clone(),
            quiet: false,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Scenario file; if left out, the scenarios found here are listed
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) variations: Variations,
    /// Compares with this variant, counted from 1 as in the table [default: the best]
    #[arg(long, value_name = "N")]
    pub(crate) base: Option<usize>,
    /// Real differences below this share of the mean, or this time, are marked as practically equal; 0: none
    #[arg(long, default_value = "1%,1ms", value_name = "LIMITS")]
    pub(crate) equal: Practical,
    /// Writes a row for each run to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Writes a report to this directory: new, or of an earlier run
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Writes the comparison as JSON to this file, `-` for the standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub(crate) struct Diff {
    /// Old policy, scenario, script or output of `tc`
    pub(crate) old: PathBuf,
    /// New one
    pub(crate) new: PathBuf,
    /// Runs nothing: compares rules and queues only
    #[arg(long = "static")]
    pub(crate) is_static: bool,
    /// Counts the packets and bytes of this capture, pcap or pcapng, that are treated differently
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// Seeds of the runs of both, as a range or a list
    #[arg(long, default_value = "1..5", value_name = "SEEDS")]
    pub(crate) seeds: String,
    /// Metrics of the runs by their addresses [default: those of the new one's expectations, or of its flows]
    #[arg(long, value_name = "ADDRESS,…", value_delimiter = ',')]
    pub(crate) show: Vec<String>,
    /// Device of scripts that set up several
    #[arg(long, value_name = "NAME")]
    pub(crate) dev: Option<String>,
    /// Gives a variable that a script does not set itself; may be repeated
    #[arg(long = "define", value_name = "NAME=VALUE")]
    pub(crate) definitions: Vec<String>,
    /// Prints the difference as JSON
    #[arg(long, conflicts_with = "github")]
    pub(crate) json: bool,
    /// Prints the difference as a comment in Markdown
    #[arg(long)]
    pub(crate) github: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Prints no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Limits of runs that are made at the same time.
#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// Number of runs at the same time [default: one a processor]
    #[arg(long, short, value_name = "N", value_parser = threads)]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) limit: MemoryLimit,
}

#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// Scenario file; left out with --resume, --status and --collect
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) variations: Variations,
    /// Directory of the results
    #[arg(long, value_name = "DIR")]
    pub(crate) into: PathBuf,
    /// Makes the runs that are missing in the directory
    #[arg(long, conflicts_with_all = ["status", "collect"])]
    pub(crate) resume: bool,
    /// Prints how many runs are finished, failed and missing
    #[arg(long, conflicts_with = "collect")]
    pub(crate) status: bool,
    /// Writes runs.parquet of the runs that are finished
    #[arg(long)]
    pub(crate) collect: bool,
    /// Makes only the I-th of N parts of the runs, counted from 1
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with_all = ["status", "collect"])]
    pub(crate) shard: Option<(usize, usize)>,
}

/// Parses a percentage below 100 % as a fraction.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|digits| digits.trim().parse::<f64>().ok());
    number
        .filter(|percent| (0.0..100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "write it as 3%, from 0% to below 100%".to_owned())
}

/// Parses `I/N`, I from 1 to N, and no more parts than a plan may have runs.
fn shard(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(one, of)| Some((one.parse().ok()?, of.parse().ok()?)));
    numbers
        .filter(|(one, of)| (1..=*of).contains(one) && *of <= MOST_TASKS)
        .ok_or_else(|| format!("write it as 3/16, from 1/16 on; there are at most {MOST_TASKS} parts"))
}

#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// Scenario file; if left out, the scenarios found here are listed
    pub(crate) file: Option<PathBuf>,
    /// Values of a parameter: a range a..b, a..b log, or a list; may be repeated
    #[arg(long, value_name = "PATH=RANGE")]
    pub(crate) vary: Vec<String>,
    /// Metric to make small or large, such as 'min flow.call.owd.p99'; of several, the front is shown
    #[arg(long = "goal", value_name = "GOAL", required_unless_present = "largest")]
    pub(crate) goals: Vec<String>,
    /// Finds the largest whole number of this value, such as flow.call.count, that keeps --while in every
    /// seed
    #[arg(
        long,
        value_name = "PATH",
        requires = "condition",
        conflicts_with_all = ["goals", "vary", "constraints", "patience", "out"]
    )]
    pub(crate) largest: Option<String>,
    /// Condition of --largest, such as 'group.call.mos.worst >= 4'
    #[arg(long = "while", value_name = "CONDITION", requires = "largest")]
    pub(crate) condition: Option<String>,
    /// Bound of a metric, such as 'group.backup.goodput.sum >= 8mbit'; may be repeated
    #[arg(long = "subject-to", value_name = "CONSTRAINT")]
    pub(crate) constraints: Vec<String>,
    /// Keeps every point this far away from the bounds of --subject-to, such as 3%
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent, conflicts_with = "largest")]
    pub(crate) margin: f64,
    /// Limit on the runs of the search: points times seeds
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = budget)]
    pub(crate) runs: usize,
    /// Seeds that every point is run with
    #[arg(long, default_value = "1..2", value_name = "SEEDS")]
    pub(crate) seeds: String,
    /// Other seeds, on which the best points are judged
    #[arg(long, default_value = "101..110", value_name = "SEEDS")]
    pub(crate) validate: String,
    /// Ends the search after this many points that were no better [default: when --runs are made]
    #[arg(long, value_name = "N", value_parser = budget)]
    pub(crate) patience: Option<usize>,
    /// Seed of the search's own draws
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Writes a report to this directory: new, or of an earlier run
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Writes the search as JSON to this file, `-` for the standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Writes the winner's values into the policy that the scenario's ports name, or that FILE is, if they
    /// are better in a goal and worse in none; `--write=5` writes those of point #5. Comments stay
    #[arg(long, value_name = "POINT", num_args = 0..=1, require_equals = true, conflicts_with = "largest")]
    #[allow(clippy::option_option, reason = "absent, without a number, with one")]
    pub(crate) write: Option<Option<usize>>,
    #[command(flatten)]
    pub(crate) limits: RunLimits,
    /// Prints no progress and no warnings
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Parses a number of runs or points.
fn budget(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|count| (1..=1_000_000).contains(count))
        .ok_or_else(|| "a number from 1 to 1000000".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Scenario files, and directories of them
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Policy of a router that takes the place of those that the scenarios' ports name
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// Seeds of every file, as a range or a list; expectations are judged by all runs
    #[arg(long, default_value = "1", value_name = "SEEDS")]
    pub(crate) seeds: String,
    /// Runs each value of the files' `[[vary]]` of this name, and prints a table: files by values, and how
    /// many expectations hold
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["policy", "junit", "github", "baseline", "write_baseline", "json"]
    )]
    pub(crate) by: Option<String>,
    /// Writes a document for `JUnit` readers to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Prints GitHub's annotations, at the line of each missed expectation
    #[arg(long)]
    pub(crate) github: bool,
    /// Compares each value with that of an earlier run: old, new, difference
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Exit code 3 if a metric is worse than in the baseline by more than this share, such as 5%
    #[arg(long, value_name = "SHARE", requires = "baseline")]
    pub(crate) fail_on_regression: Option<String>,
    /// Writes the values to this file, for a later --baseline
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// Attacks the expectations of each file that hold, for a number of runs each, such as 200, or a time for
    /// the file, such as 60s: traffic within the envelopes that breaks one is a failure
    #[arg(long, value_name = "RUNS|TIME")]
    pub(crate) attack: Option<String>,
    /// Directory for the scenarios that attacks find
    #[arg(long, value_name = "DIR", requires = "attack")]
    pub(crate) attack_out: Option<PathBuf>,
    /// Prints one JSON document instead of lines
    #[arg(long, conflicts_with = "github")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: RunLimits,
}
