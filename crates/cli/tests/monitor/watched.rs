//! A running `lockgate watch --web`, with the requests of a browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::lockgate;

/// Time after which a wait counts as a hang, and the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Lock for a test that needs the whole machine.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running `lockgate watch --web`, ended with the test.
pub(crate) struct Watched {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Watched {
    /// Starts a watched simulation.
    pub(crate) fn start(file: &Path, more: &[&str], token: Option<&str>) -> Self {
        Self::begin("--sim", file, more, token)
    }

    /// Starts a watched run; `how` is `--sim` or `--live`.
    pub(crate) fn begin(how: &str, file: &Path, more: &[&str], token: Option<&str>) -> Self {
        let mut command = lockgate();
        command.arg("watch").arg(file).args([how, "--web", "127.0.0.1:0"]).args(more);
        if let Some(token) = token {
            command.env("LOCKGATE_TOKEN", token);
        }
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("stderr"));
        let mut line = String::new();
        while !line.starts_with("page: ") {
            line.clear();
            assert!(said.read_line(&mut line).expect("text") > 0, "it says where its page is");
        }
        let address = line.trim().trim_start_matches("page: http://").trim_end_matches('/');
        let address = address.parse().expect("an address");
        // The output must be read: a process that writes to a full pipe blocks.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, address }
    }

    /// Sends these bytes and reads the answer to its end.
    pub(crate) fn raw(&self, request: &str) -> (u16, String) {
        let mut connection = TcpStream::connect(self.address).expect("it listens");
        connection.set_read_timeout(Some(PATIENCE)).expect("set");
        connection.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        (status, body)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address))
    }

    pub(crate) fn post(&self, path: &str, more: &str, body: &str) -> (u16, String) {
        let length = body.len();
        self.raw(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n{body}",
            self.address
        ))
    }

    pub(crate) fn set(&self, body: &Value) -> (u16, Value) {
        let (status, text) = self.post("/api/set", "", &body.to_string());
        (status, serde_json::from_str(&text).expect("JSON"))
    }

    /// Polls the state until `wished` returns true.
    pub(crate) fn until(&self, wished: impl Fn(&Value) -> bool) -> Value {
        let since = Instant::now();
        loop {
            let (status, text) = self.get("/api/state");
            assert_eq!(status, 200);
            let state: Value = serde_json::from_str(&text).expect("JSON");
            if wished(&state) {
                return state;
            }
            assert!(since.elapsed() < PATIENCE, "{state:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends the process a signal: `INT`, `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args([&format!("-{name}"), &pid]).status();
    }

    /// Ends it as Ctrl-C does, and waits for it. Returns its exit code.
    pub(crate) fn interrupt(&mut self) -> Option<i32> {
        self.signal("INT");
        self.child.wait().ok()?.code()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
