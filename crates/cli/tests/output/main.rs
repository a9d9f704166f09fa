//! Outputs of commands: no file of the user's is replaced, and a failed write is an error.
#![cfg(target_os = "linux")]

mod hang_up;
#[path = "../host/mod.rs"]
mod host;
mod results;
mod saved;
mod streams;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Time after which a wait counts as a hang, and the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

const SCENARIO: &str = r#"title = "small"
duration = "1s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "1mbit" }
[flow.f]
from = "a"
to = "b"
size = "1000B"
rate = "500kbit"
"#;

/// The command under test; `LOCKGATE` names another build of it.
fn program() -> PathBuf {
    std::env::var_os("LOCKGATE").map_or_else(|| env!("CARGO_BIN_EXE_lockgate").into(), PathBuf::from)
}

/// A directory that contains `small.toml`.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        let directory = Self(tempfile::tempdir().expect("a directory"));
        fs::write(directory.at("small.toml"), SCENARIO).expect("written");
        directory
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn lockgate(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.0.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.lockgate(arguments).output().expect("runs")
    }

    /// Returns every entry below it, with kind and content.
    fn everything(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut directories = vec![self.0.path().to_path_buf()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).expect("a directory").flatten() {
                let kind = entry.file_type().expect("a kind");
                let content =
                    if kind.is_file() { fs::read(entry.path()).expect("readable") } else { Vec::new() };
                found.insert(entry.path(), format!("{kind:?} {}", String::from_utf8_lossy(&content)));
                if kind.is_dir() {
                    directories.push(entry.path());
                }
            }
        }
        found
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the process ends; kills it after [`PATIENCE`].
fn end(child: &mut Child) -> Option<ExitStatus> {
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("a child") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}
