//! Connection of a command to a running router.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::directories::{Environment, SOCKET};
use super::protocol::{Answer, Request};

/// Limit on each read and each write of a message.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// Longest answer, in bytes.
const LONGEST_ANSWER: u64 = 256 << 20;

/// A router that cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// None runs.
    #[error("no router runs here")]
    NoneRuns,
    /// None of this name runs.
    #[error("no router named `{name}` runs here")]
    NotRunning {
        /// Name.
        name: String,
        /// Names of those that run.
        running: Vec<String>,
    },
    /// Several run.
    #[error("several routers run here: {}", .0.join(", "))]
    Several(Vec<String>),
    /// It is another user's.
    #[error("the router at `{}` is another user's", .0.display())]
    Denied(PathBuf),
    /// The connection broke, and nothing is changed.
    #[error("the router at `{}` does not answer: {}", path.display(), reason(why))]
    Broken {
        /// Path of the socket.
        path: PathBuf,
        /// Error of the system.
        why: io::Error,
    },
    /// The connection broke after a request that changes the policy: the router may still carry it out.
    #[error("the router at `{}` has not answered, so that it is not known whether the change is made: {}",
            path.display(), reason(why))]
    Unanswered {
        /// Path of the socket.
        path: PathBuf,
        /// Error of the system.
        why: io::Error,
    },
}

/// Returns the reason of a connection that broke, in words.
fn reason(why: &io::Error) -> String {
    match why.kind() {
        // The kernel's word for a limit on the time of a read or write.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "its time has passed".to_owned(),
        io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        _ => why.to_string(),
    }
}

impl ClientError {
    /// Returns what to do.
    pub fn help(&self) -> String {
        match self {
            Self::NoneRuns => "start one with `lockgate route FILE`".to_owned(),
            Self::NotRunning { running, .. } if running.is_empty() => {
                "start it with `lockgate route FILE`; if it runs as another user, use sudo".to_owned()
            }
            Self::NotRunning { running, .. } => format!("these run: {}", running.join(", ")),
            Self::Several(_) => "name one with --router".to_owned(),
            Self::Denied(_) => "use sudo".to_owned(),
            Self::Broken { .. } => {
                "does it still run, and is it of this version? its log says more".to_owned()
            }
            Self::Unanswered { .. } => {
                "`lockgate status` says which policy runs, now and in a minute; if the change is made and is not \
                 wanted, `lockgate rollback` undoes it"
                    .to_owned()
            }
        }
    }
}

/// Connection to a router.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the router of this name, or in this directory if `router` has a slash; to the only one
    /// that runs if it is `None`.
    ///
    /// # Errors
    /// If there is no such router, or not exactly one.
    pub fn find(router: Option<&str>, environment: Environment<'_>) -> Result<Self, ClientError> {
        if let Some(folder) = router.filter(|router| router.contains('/')) {
            return Self::connect(&Path::new(folder).join(SOCKET)).map_err(|error| match error {
                ClientError::NoneRuns => {
                    ClientError::NotRunning { name: folder.to_owned(), running: Vec::new() }
                }
                other => other,
            });
        }
        let mut running: Vec<(String, Self)> = Vec::new();
        let mut denied = None;
        for (name, path) in sockets(&environment.sockets()) {
            match Self::connect(&path) {
                Ok(client) => running.push((name, client)),
                Err(error @ ClientError::Denied(_)) if router.is_none_or(|router| router == name) => {
                    denied = Some(error);
                }
                Err(_) => {}
            }
        }
        let names = || running.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let at = match router {
            Some(wanted) => running.iter().position(|(name, _)| name == wanted),
            None if running.len() > 1 => return Err(ClientError::Several(names())),
            None => (!running.is_empty()).then_some(0),
        };
        match (at, denied, router) {
            (Some(at), ..) => Ok(running.swap_remove(at).1),
            (None, Some(denied), _) => Err(denied),
            (None, None, Some(name)) => {
                Err(ClientError::NotRunning { name: name.to_owned(), running: names() })
            }
            (None, None, None) => Err(ClientError::NoneRuns),
        }
    }

    /// Connects to the router with this socket.
    ///
    /// # Errors
    /// If none listens there.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => ClientError::Denied(path.to_owned()),
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ClientError::NoneRuns,
            _ => broken(path, error),
        })?;
        let limited = stream
            .set_read_timeout(Some(LONGEST_WAIT))
            .and_then(|()| stream.set_write_timeout(Some(LONGEST_WAIT)));
        limited.map_err(|error| broken(path, error))?;
        Ok(Self { path: path.to_owned(), stream: BufReader::new(stream) })
    }

    /// Sends a request and returns the answer (blocking, with a time limit).
    ///
    /// # Errors
    /// If the router is gone or does not answer in time. [`ClientError::Unanswered`] if it may carry the
    /// request out nevertheless.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, ClientError> {
        let mut is_sent = false;
        let mut exchange = || -> io::Result<Answer> {
            let mut line = serde_json::to_vec(request)?;
            line.push(b'\n');
            // A router that refuses a long request answers before it has read all of it.
            let sent = self.stream.get_mut().write_all(&line);
            is_sent = sent.is_ok();
            let mut answer = Vec::new();
            let received = (&mut self.stream).take(LONGEST_ANSWER).read_until(b'\n', &mut answer);
            if answer.is_empty() {
                sent?;
                received?;
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            received?;
            Ok(serde_json::from_slice(&answer)?)
        };
        let answer = exchange();
        answer.map_err(|why| {
            if is_sent && request.changes_policy() {
                ClientError::Unanswered { path: self.path.clone(), why }
            } else {
                broken(&self.path, why)
            }
        })
    }
}

fn broken(path: &Path, why: io::Error) -> ClientError {
    ClientError::Broken { path: path.to_owned(), why }
}

/// Returns the names and sockets below these directories, in the order of the names.
fn sockets(folders: &[PathBuf]) -> Vec<(String, PathBuf)> {
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let mut found: Vec<(String, PathBuf)> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().join(SOCKET)))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error of a request to a router that takes it whole and does not answer: it closes the
    /// connection, or lets the time pass.
    fn unanswered(request: &Request, closes: bool) -> ClientError {
        let (near, far) = UnixStream::pair().expect("a pair");
        let patience = if closes { Duration::from_mins(1) } else { Duration::from_millis(50) };
        near.set_read_timeout(Some(patience)).expect("set");
        let mut client = Client { path: PathBuf::from("state/control.sock"), stream: BufReader::new(near) };
        let serve = move || {
            let mut far = BufReader::new(far);
            far.read_until(b'\n', &mut Vec::new()).expect("a request");
            (!closes).then_some(far)
        };
        let serving = std::thread::spawn(serve);
        let error = client.ask(request).expect_err("no answer");
        serving.join().expect("no panic");
        error
    }

    #[test]
    fn of_a_change_without_an_answer_it_is_not_known_whether_it_is_made() {
        let apply = |dry_run| Request::Apply {
            origin: "new.toml".to_owned(),
            policy: String::new(),
            confirm_within_ms: None,
            revert_if: None,
            dry_run,
        };
        let changes = [apply(false), Request::Confirm {}, Request::Rollback { steps: None }];
        for request in &changes {
            for (closes, why) in [(true, "it closed the connection"), (false, "its time has passed")] {
                let error = unanswered(request, closes);
                assert!(matches!(error, ClientError::Unanswered { .. }), "{request:?}: {error:?}");
                let said = error.to_string();
                assert!(said.contains("it is not known whether") && said.ends_with(why), "{said}");
                assert!(error.help().contains("`lockgate status`"), "{}", error.help());
            }
        }
        for request in [apply(true), Request::Status {}] {
            let error = unanswered(&request, true);
            assert!(matches!(error, ClientError::Broken { .. }), "{request:?}: {error:?}");
        }
    }
}
