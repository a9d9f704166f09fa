//! Options of the view of the kernel's own queues.

use std::net::SocketAddr;

use clap::Args;

use super::{WEB, web_address};

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Top {
    /// Interface [default: those with queues that were set up]
    #[arg(value_name = "INTERFACE")]
    pub(crate) device: Option<String>,
    /// All interfaces, also those with the kernel's own choice
    #[arg(long, conflicts_with = "device")]
    pub(crate) all: bool,
    /// Prints one table, and ends
    #[arg(long)]
    pub(crate) once: bool,
    /// Prints one JSON document with --once, else one for each sample
    #[arg(long)]
    pub(crate) json: bool,
    /// Interval between looks at the counters, from 10ms to 5s [default: 100ms; with --once: 1s]
    #[arg(long, value_name = "TIME")]
    pub(crate) every: Option<String>,
    /// Shows flows of `fq_codel`, `sfq` and `cake`, as far as the kernel reports them
    #[arg(long)]
    pub(crate) flows: bool,
    /// Serves the page, its HTTP interface and `/metrics` at this address
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = WEB, value_parser = web_address, conflicts_with = "once")]
    pub(crate) web: Option<SocketAddr>,
    /// Host name by which browsers may address this machine; may be repeated
    #[arg(long = "name", value_name = "NAME", requires = "web")]
    pub(crate) names: Vec<String>,
    /// Prints one line per sample, even on a terminal
    #[arg(long, conflicts_with = "once")]
    pub(crate) plain: bool,
}
