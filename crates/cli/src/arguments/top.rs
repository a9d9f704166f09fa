//! Options of the view of the kernel's own queues.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::address::{WEB, web_address};

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
    /// With --once, prints the document of `tc -s -j qdisc show`, its options left out
    #[arg(long, requires = "once", conflicts_with = "json")]
    pub(crate) tc: bool,
    /// Lets keys, the page and `lockgate set` change the queues
    #[arg(long, conflicts_with_all = ["once", "stream", "from"])]
    pub(crate) set: bool,
    /// Prints the samples for another `lockgate top --from`
    #[arg(long, conflicts_with_all = ["once", "json", "web", "from", "plain", "record"])]
    pub(crate) stream: bool,
    /// Shows a stream: `ssh://HOST`, a file, or `-`
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["once", "all", "flows", "sojourn"])]
    pub(crate) from: Option<String>,
    /// Records to a page, or, as FILE.ndjson, to a stream
    #[arg(long, value_name = "FILE", conflicts_with = "once")]
    pub(crate) record: Option<PathBuf>,
    /// Measures the delay of each packet by the kernel's tracepoints, as root
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, conflicts_with = "once")]
    #[allow(clippy::option_option, reason = "absent, without a folder, with one")]
    pub(crate) sojourn: Option<Option<PathBuf>>,
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
