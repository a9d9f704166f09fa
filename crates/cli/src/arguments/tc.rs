//! Options of the commands that read and write `tc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum TcCommand {
    /// Converts commands of `tc` to a scenario that can be run
    #[command(after_help = "Examples:
  lockgate tc import shaper.sh > shaper.toml && lockgate run shaper.toml
  for what in qdisc class filter; do tc -d $what show dev eth0; done | \\
    lockgate tc import - --dev eth0
  lockgate tc import --from eth0
  lockgate tc import /etc/config/sqm
  lockgate tc import setup.sh --define IF=eth0 --define UP=40000 --rate 50mbit
  lockgate tc import setup.sh --lenient

Scripts are read as they are: variables, arithmetic and `for` over words are expanded, other programs are skipped. One \
that needs a shell is expanded by it: `tc() { echo tc \"$@\"; }` before its first line makes it print its commands. \
Everything that a scenario cannot express is an error at its word; with --lenient it is left out, and the file says so.")]
    Import(TcImport),
    /// Writes the queues of a port as commands of `tc`
    #[command(after_help = "Examples:
  lockgate tc export home.toml --port router:modem --dev eth0 > shaper.sh
  lockgate tc export home.toml --port modem:router --dev eth0 --ifb ifb0
  lockgate tc export home.toml --port router:modem --dev eth0 \\
    --set port.router:modem.root=cake

Every unit and default is written out, and handles are the same each time. What the kernel cannot say stands as a comment \
at its place, and the exit code is 1. With --ifb, the port is for what arrives at the device.")]
    Export(TcExport),
    /// Finds faults in commands of `tc`: what the kernel refuses, and what it takes although it cannot be
    /// meant
    #[command(after_help = "Examples:
  lockgate tc check shaper.sh
  lockgate tc check *.sh --github
  lockgate tc check shaper.sh --json | jq '.[].rule'

Exit code 2 if the kernel would refuse a command or do something else than it says; warnings and notes are 0.")]
    Check(TcCheck),
}

#[derive(Debug, Args)]
pub(crate) struct TcImport {
    /// Script, batch file, output of `tc -d ... show`, or /etc/config/sqm; `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "from")]
    pub(crate) file: Option<PathBuf>,
    /// Interface of this host, whose queues `tc` prints; with the intermediate devices that it redirects to
    #[arg(long, value_name = "INTERFACE", conflicts_with = "file")]
    pub(crate) from: Option<String>,
    /// Device, if the commands set up several that are not of one line
    #[arg(long, value_name = "NAME")]
    pub(crate) dev: Option<String>,
    /// Rate of the line [default: twice what the queues let through]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    #[command(flatten)]
    pub(crate) kernel: TcKernel,
    /// Value of a variable that the script does not assign itself; may be repeated
    #[arg(long = "define", value_name = "NAME=VALUE")]
    pub(crate) definitions: Vec<String>,
    /// Leaves out what is not understood, and says so in the scenario
    #[arg(long)]
    pub(crate) lenient: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TcExport {
    /// Scenario
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Port, such as `router:modem`; may be left out if only one has queues
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<String>,
    /// Device
    #[arg(long, value_name = "NAME")]
    pub(crate) dev: String,
    /// Intermediate device, for a port of what arrives at the device
    #[arg(long, value_name = "NAME")]
    pub(crate) ifb: Option<String>,
    /// Divides a `cake` at the root among the device's transmit queues (`cake_mq`, from Linux 7.0): they
    /// share its rate
    #[arg(long)]
    pub(crate) mq: bool,
    /// Sets a value of the scenario first; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) overrides: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TcKernel {
    /// Version of Linux that the commands are for; kinds that it does not have are refused [default: any]
    #[arg(long, value_name = "VERSION")]
    pub(crate) kernel: Option<String>,
    /// Ticks per second of its timers
    #[arg(long, value_name = "HZ", default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) hz: u32,
}

#[derive(Debug, Args)]
pub(crate) struct TcCheck {
    /// Scripts, batch files or outputs of `tc -d ... show`; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Ticks per second of the kernel's timers
    #[arg(long, value_name = "HZ", default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) hz: u32,
    /// Largest packet of the devices, without the 14 bytes of Ethernet
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(68..=65_535))]
    pub(crate) mtu: u32,
    /// Value of a variable that a script does not assign itself; may be repeated
    #[arg(long = "define", value_name = "NAME=VALUE")]
    pub(crate) definitions: Vec<String>,
    /// Prints the findings as one JSON document
    #[arg(long, conflicts_with = "github")]
    pub(crate) json: bool,
    /// Prints the findings as annotations of GitHub
    #[arg(long)]
    pub(crate) github: bool,
}
