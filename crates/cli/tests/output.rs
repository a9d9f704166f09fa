//! What a command writes: nothing of the user's is replaced, and what could not be written is an error.
#![cfg(target_os = "linux")]

mod host;
#[path = "output/streams.rs"]
mod streams;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Whatever hangs for so long has failed.
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

/// A directory with `small.toml` in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a directory"));
        fs::write(place.at("small.toml"), SCENARIO).expect("written");
        place
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
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits for its end; kills it where that does not come.
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
