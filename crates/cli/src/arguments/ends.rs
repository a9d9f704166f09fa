//! Options of the commands that send and receive traffic, and probe a line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::address::{IDENTIFY, identify_address, traffic_address};
use super::reading::SeededReading;

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Receiver, as HOST or HOST:PORT; the default port is 5201
    pub(crate) to: String,
    /// Length of each Ethernet frame, as a scenario's `size`
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Rate, as a scenario's `rate`
    #[arg(long)]
    pub(crate) rate: Option<String>,
    /// Time between datagrams, as a scenario's `gap`
    #[arg(long)]
    pub(crate) gap: Option<String>,
    /// Traffic profile; `lockgate list profiles` lists them
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// DSCP, by name or number
    #[arg(long)]
    pub(crate) dscp: Option<String>,
    /// Sending time
    #[arg(long = "for", value_name = "TIME", default_value = "10s")]
    pub(crate) duration: String,
    /// Seed of all random draws
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Prints one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Receive {
    /// Address to listen at
    #[arg(default_value = "0.0.0.0:5201", value_name = "ADDRESS", value_parser = traffic_address)]
    pub(crate) at: SocketAddr,
    /// Longest time to listen
    #[arg(long = "for", value_name = "TIME", default_value = "1h")]
    pub(crate) lasting: String,
    /// Ends after the first sender
    #[arg(long)]
    pub(crate) once: bool,
    /// Prints one JSON document per sender instead of lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Identify {
    /// Scenario file with the line, whose queues are not read; or the host at its other end, as HOST or
    /// HOST:PORT, which runs `lockgate identify --serve`
    #[arg(value_name = "FILE|HOST", required_unless_present_any = ["replay", "serve", "netns"], conflicts_with_all = ["replay", "serve", "netns"])]
    pub(crate) line: Option<String>,
    /// Answers others at this address, TCP and UDP, if they have the token
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = IDENTIFY, value_parser = identify_address, conflicts_with_all = ["replay", "netns"])]
    pub(crate) serve: Option<SocketAddr>,
    /// Longest time of a probe each way, or to serve [default: 30s, to serve 1h]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasting: Option<String>,
    /// Ends after the first client
    #[arg(long, requires = "serve")]
    pub(crate) once: bool,
    /// Probes between two network namespaces, by name or path
    #[arg(long, value_names = ["A", "B"], num_args = 2, conflicts_with = "replay")]
    pub(crate) netns: Vec<String>,
    /// Runs the file on real packets meanwhile, and probes between two of its hosts
    #[arg(long, requires = "line")]
    pub(crate) live: bool,
    /// Directions of a real line: from here (`up`), to here (`down`), or one after the other
    #[arg(long, value_enum, default_value_t)]
    pub(crate) direction: Direction,
    /// Hosts of the file from and to which packets go [default: the ends of the first flow]
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    pub(crate) between: Vec<String>,
    /// Sends beside no other traffic: that of the file does not run
    #[arg(long)]
    pub(crate) alone: bool,
    /// Most bytes to send in each direction
    #[arg(long, value_name = "SIZE", default_value = "20MB")]
    pub(crate) budget: String,
    /// Highest rate to send at
    #[arg(long, value_name = "RATE", default_value = "100mbit")]
    pub(crate) most: String,
    #[command(flatten)]
    pub(crate) seeded: SeededReading,
    /// Shows each round with its reason, and the best candidates
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    /// Writes the line with its queue as a scenario, if it is decided
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Writes a page with what was sent, what came, and the predictions of the two best candidates
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Writes what was sent and what came to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Judges a recorded probe instead of sending one
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Prints one JSON document instead of lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Directions of a line: `both` is from here, and then to here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Direction {
    #[default]
    Both,
    Up,
    Down,
}
