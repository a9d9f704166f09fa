//! Options of the commands that control a running router.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum RouterCommand {
    /// Runs a policy on real interfaces: between two as a bridge, or behind and before the kernel of one
    #[command(after_help = "Examples:
  lockgate route house.toml --dry-run
  lockgate route house.toml --for 10min --watch
  lockgate route house.toml --web

A policy has the queues of a scenario, and says where they stand:
  [router]
  mode = \"both\"                     # or \"egress\", \"ingress\", \"bridge\"
  interfaces = { wan = \"eth0\" }     # bridge: { lan = \"eth1\", wan = \"eth2\" }
  [port.wan]                          # both: also [port.\"wan:in\"]
  rate = \"9.5mbit\"
  queue.cake = { kind = \"cake\" }
A bridge has the ports \"lan->wan\" and \"wan->lan\".

It needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, and Linux 6.6 that permits user namespaces (else also CAP_SYS_ADMIN). \
Ctrl-C or SIGTERM sends what waits, in order, and gives the interfaces back; so does the end of the process, however it \
ends, but then what waits is lost.")]
    Route(Route),
    /// Changes the policy of a running router, on trial if it is to be confirmed
    #[command(after_help = "Examples:
  lockgate apply house.toml --dry-run
  lockgate apply house.toml --confirm-within 120s
  lockgate apply house.toml --revert-if 'class.voice.sojourn.p99 > 50ms for 5s'
  lockgate apply isp.toml --router uplink

The router keeps the time: it goes back to the last confirmed policy also if this shell or its connection is gone. \
A condition is class.QUEUE or port.PORT.queue.QUEUE with sojourn.p50, sojourn.p99, sojourn.mean, backlog.packets, \
backlog.bytes, sent.rate, drops (a second) or loss; <, <=, > or >=; a value with its unit; and, if it must last, `for 5s`.")]
    Apply(Apply),
    /// Confirms the policy that is on trial
    #[command(after_help = "Example:\n  lockgate confirm")]
    Confirm(Confirm),
    /// Goes back to an earlier confirmed policy; during a trial, to the last one
    #[command(after_help = "Examples:\n  lockgate rollback\n  lockgate rollback 2 --router uplink")]
    Rollback(Rollback),
    /// Shows a running router: its policy, its queues and losses, the trial that goes on, the policies before
    /// it
    #[command(after_help = "Examples:
  lockgate status
  lockgate status --watch
  lockgate status --watch --web 127.0.0.1:8181 --router uplink
  lockgate status --json | jq .trial
  lockgate status --json | jq '.sample.ports[].queues[] | {name, sent_bps}'

A queue hurts where packets waited 100 ms or more (99th percentile), or 5 % of them were dropped, \
in the last interval. The log says so after ten seconds. --watch shows the running router as `lockgate route --watch` \
does; leaving the view leaves the router as it is.")]
    Status(Status),
    /// Writes the frames that leave the queues of a running router: for Wireshark, with the delay or the
    /// reason of the drop
    #[command(after_help = "Examples:
  lockgate capture wan --where dropped --for 10s --out dropped.pcapng
  lockgate capture wan --where 'class.voice and waited > 20ms' --out x.pcapng
  lockgate capture 'lan:wan' --where 'class.plan/C7 and dropped' | tcpdump -r -

A filter has terms joined by `and`: class.QUEUE or class.GROUP/*, dropped, sent, reason REASON, waited > TIME, \
waited < TIME. Each frame has its first 256 bytes, and a comment with its queue, its time in the port and the reason of \
a drop. A sent frame has the time at which it left the queues. There is one capture at a time.")]
    Capture(Capture),
}

#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// Port, as `lockgate status` names it
    pub(crate) port: String,
    /// Frames that are captured [default: all]
    #[arg(long = "where", value_name = "FILTER", default_value = "", hide_default_value = true)]
    pub(crate) filter: String,
    /// New file [default: the standard output, if it is not a terminal]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Ends after this time
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasting: Option<String>,
    /// Ends after this number of frames
    #[arg(short, long, value_name = "N")]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) router: RouterName,
}

/// Running router.
#[derive(Debug, Args)]
pub(crate) struct RouterName {
    /// Name of the router, or its state directory if it has a slash [default: the only one that runs]
    #[arg(long = "router", value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Route {
    /// Policy
    pub(crate) file: PathBuf,
    /// Name of the router, for the other commands [default: that of the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Directory of its state [default: /var/lib/lockgate/router/NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Starts from the file, whatever policy was confirmed last
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Says what would be done, and does nothing; exits with 2 where the policy does not fit this host
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Ends after this time
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasting: Option<String>,
    /// Shows the queues in the terminal while it runs; where the output is not a terminal, as lines
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Serves a page, /metrics and the shapes of `tc -j` [default address: 127.0.0.1:8180]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8180")]
    pub(crate) web: Option<SocketAddr>,
    /// Further name by which the page may be reached
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// Interval of the samples, 10ms to 2s
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) every: String,
    /// Uses a thread for each port instead of one for all
    #[arg(long)]
    pub(crate) threads: bool,
    /// Time before a deadline in which a thread spins: more punctual frames for more processor time
    #[arg(long, value_name = "TIME", default_value = "10us")]
    pub(crate) spin: String,
    /// Longest delay of frames to handle several at once while many arrive, up to 5ms; 0s: none
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub(crate) gather: String,
    /// Real-time priority of the threads that forward, 1 to 99, where the host permits it; 0: none
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=99))]
    pub(crate) priority: u8,
}

#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// Policy file
    pub(crate) file: PathBuf,
    /// Goes back to the last confirmed policy unless `lockgate confirm` comes within this time, such as 120s
    #[arg(long, value_name = "TIME")]
    pub(crate) confirm_within: Option<String>,
    /// Goes back if a queue's figure is beyond this bound before the policy is confirmed [time to confirm:
    /// 10min]
    #[arg(long, value_name = "CONDITION")]
    pub(crate) revert_if: Option<String>,
    /// Prints the difference from the policy that runs, and changes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) router: RouterName,
}

#[derive(Debug, Args)]
pub(crate) struct Confirm {
    #[command(flatten)]
    pub(crate) router: RouterName,
}

#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// Number of confirmed policies to go back, as `lockgate status` counts them [default: 0 during a trial,
    /// else 1]
    #[arg(value_name = "N")]
    pub(crate) steps: Option<usize>,
    #[command(flatten)]
    pub(crate) router: RouterName,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) router: RouterName,
    /// Prints one JSON document instead of tables; with --watch, one a sample
    #[arg(long)]
    pub(crate) json: bool,
    /// Shows every queue, not only the roots and the worst twenty
    #[arg(long)]
    pub(crate) all: bool,
    /// Shows the queues while the router runs; where the output is not a terminal, as lines
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// With --watch: lines, also where the output is a terminal
    #[arg(long, requires = "watch")]
    pub(crate) plain: bool,
    /// With --watch: serves a page, too [default address: 127.0.0.1:8180]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8180", requires = "watch")]
    pub(crate) web: Option<SocketAddr>,
}
