//! Options of the commands that make one run, or part of one.

use std::path::PathBuf;

use clap::Args;

use super::reading::SeededReading;
use super::{Output, many};

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Run {
    /// Scenario file; if left out, the scenarios found here are listed
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) seeded: SeededReading,
    /// Number of runs, with seeds from --seed on; results carry 95 % confidence intervals, and expectations
    /// are judged by all runs
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) repeat: u16,
    /// Number of runs at the same time [default: one a processor]
    #[arg(long, short, value_name = "N", value_parser = many::threads)]
    pub(crate) jobs: Option<usize>,
    /// Length of the run, such as 30s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Runs on real packets on this machine, in real time, instead of simulating
    #[arg(long, conflicts_with = "twin")]
    pub(crate) live: bool,
    /// Runs both simulated and on real packets, and compares the two
    #[arg(long)]
    pub(crate) twin: bool,
    /// Writes the series over time of the (first) run to this file, which is replaced: Parquet, or flent's
    /// data file if its name ends with `.flent.gz`
    #[arg(long, value_name = "FILE", conflicts_with = "twin")]
    pub(crate) series: Option<PathBuf>,
    /// Writes the results of every member of groups in the (first) run to this file, which is replaced: a row
    /// for each, Parquet, or CSV if its name ends with `.csv`
    #[arg(long, value_name = "FILE", conflicts_with = "twin")]
    pub(crate) members: Option<PathBuf>,
    /// Writes a picture of the (first) run to share to this file, which is replaced: its verdict, the delay
    /// that decides, and the command, as SVG of 1200 by 630 pixels; the report's button makes a PNG of the
    /// same
    #[arg(long, value_name = "FILE.svg", conflicts_with = "twin")]
    pub(crate) card: Option<PathBuf>,
    /// Shows the packet of this flow with the largest delay, such as flow.call: where it waited, behind what,
    /// and why it was sent no sooner; may be repeated. The report shows that of each flow whose delay is
    /// judged
    #[arg(long, value_name = "FLOW", conflicts_with_all = ["live", "twin"])]
    pub(crate) worst: Vec<String>,
    /// Keeps a row for every packet and port in packets.parquet
    #[arg(long)]
    pub(crate) packets: bool,
    /// Prints all tables instead of a line for each flow and expectation
    #[arg(long, conflicts_with = "json")]
    pub(crate) tables: bool,
    /// Writes every port's packets to ports.pcapng, with queueing delays and drop reasons as comments
    #[arg(long)]
    pub(crate) capture: bool,
    /// Does not run each change's other life: by default a simulated run is made once more without each of
    /// its changes, and 14 times more if anything differs, to tell an effect from chance; without them,
    /// values before and after each change are told. The worst packets of judged flows, which a further run
    /// finds, are left out, too
    #[arg(long)]
    pub(crate) no_ghost: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Step {
    /// Scenario file; if left out, the scenarios found here are listed
    pub(crate) file: Option<PathBuf>,
    /// Port, such as home:server [default: the one before which most packets wait]
    #[arg(long, value_name = "NAME")]
    pub(crate) port: Option<String>,
    /// Time of the first step, such as 2.5s [default: 0s]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Last step: `drop`, `mark`, `late`, or a time such as 3s
    #[arg(long, value_name = "EVENT")]
    pub(crate) until: Option<String>,
    /// Sojourn beyond which a packet is late
    #[arg(long, default_value = "20ms", value_name = "TIME")]
    pub(crate) late: String,
    /// Number of steps: the first ones, or with --until the last ones
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) count: u16,
    #[command(flatten)]
    pub(crate) seeded: SeededReading,
    /// Prints the steps as JSON: quantities with unit, number and text
    #[arg(long)]
    pub(crate) json: bool,
}
