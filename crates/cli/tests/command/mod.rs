//! The command of this build, which tests run in a folder.
#![allow(dead_code, reason = "not every test file uses all of this")]

use std::path::Path;
use std::process::{Command, Output};

/// Runs the command in `folder`, without colours.
pub(crate) fn lockgate(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1");
    command.output().expect("lockgate runs")
}

/// Returns bytes as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the standard output and the standard error of a command.
pub(crate) fn both(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}
