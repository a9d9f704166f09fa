//! Options of the commands that list and document what there is.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct List {
    /// `disciplines`, `distributions`, `profiles`, `metrics`, a table of scenario files such as `flow`, or
    /// the name of a discipline
    pub(crate) name: Option<String>,
    /// Prints one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Scenario files, policies of routers, summary.json, or what `lockgate conform --json` prints, with
    /// `--against` or without
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    Scenario,
    Policy,
    Summary,
    Conformance,
    Against,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Directory for one page a command: lockgate.1, lockgate-run.1, ...
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Docs {
    /// Directory of the pages
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Pages to write [default: all]
    #[arg(value_parser = ["scenario", "disciplines", "traffic", "metrics", "conformance"])]
    pub(crate) pages: Vec<String>,
}
