//! Options of the commands about a run that is watched, and of the page to play with.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::address::{WEB, web_address};
use super::reading::SeededReading;

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Watch {
    /// Scenario file
    pub(crate) file: PathBuf,
    /// Simulates at the pace of the clock: what is done without --live
    #[arg(long)]
    pub(crate) sim: bool,
    /// Runs on real packets, with the kernel's TCP
    #[arg(long, conflicts_with = "sim")]
    pub(crate) live: bool,
    /// Pace of the simulation, as a multiple of real time; 0: as fast as possible
    #[arg(long, default_value_t = 1.0, value_name = "TIMES", conflicts_with = "live")]
    pub(crate) pace: f64,
    /// Sampling interval, from 10ms to 5s
    #[arg(long, default_value = "100ms", value_name = "TIME")]
    pub(crate) every: String,
    /// Serves the page and its HTTP interface at this address
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = WEB, value_parser = web_address)]
    pub(crate) web: Option<SocketAddr>,
    /// Host name by which browsers may address this machine; may be repeated
    #[arg(long = "name", value_name = "NAME", requires = "web")]
    pub(crate) names: Vec<String>,
    /// Refuses all changes over HTTP
    #[arg(long, requires = "web")]
    pub(crate) read_only: bool,
    #[command(flatten)]
    pub(crate) seeded: SeededReading,
    /// Length of the run, such as 1h
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Does not run each change's other life: by default a simulated session is run once more without each of
    /// its changes, and 14 times more if anything differs, to tell an effect from chance; without them,
    /// values before and after each change are told
    #[arg(long)]
    pub(crate) no_ghost: bool,
    /// Writes the results to this directory at the end of the run, as `lockgate run` does
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Saves the session as a scenario that replays it: to a new file, or one saved before
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Prints one line per sample, even on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
    /// Prints one JSON document per sample instead of a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Settings, such as `link.wan.rate=2mbit`
    #[arg(required = true, value_name = "PATH=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Restores the previous values after this time, such as 30s
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasting: Option<String>,
    /// Address of `lockgate watch --web`
    #[arg(long, default_value = WEB, value_name = "ADDRESS", value_parser = web_address)]
    pub(crate) to: SocketAddr,
    /// Prints the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `lockgate play`.
#[derive(Args, Debug)]
pub(crate) struct Play {
    /// Scenario file; if left out, the page begins with an example
    pub(crate) file: Option<PathBuf>,
    /// Address at which the page is served
    #[arg(long, default_value = WEB, value_name = "ADDRESS", value_parser = web_address)]
    pub(crate) web: SocketAddr,
    /// Writes the page to this file instead
    #[arg(long, value_name = "FILE", conflicts_with = "web")]
    pub(crate) out: Option<PathBuf>,
}
