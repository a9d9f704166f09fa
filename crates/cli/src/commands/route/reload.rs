//! Reload of a router's policy at SIGHUP, on a thread of its own: the file may take long to read, and the
//! control long to answer, and meanwhile the router must end in time.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use lockgate_router::control::client::{Client, ClientError};
use lockgate_router::control::protocol::{Answer, Request};

use crate::exit::Failure;

/// The thread. It is not awaited at the end of the router, whose control then answers no more.
pub(super) struct Reloads(SyncSender<()>);

impl Reloads {
    /// Starts the thread, for a policy's file and the control's socket of its router. The outcome of each
    /// reload goes to `log`.
    pub(super) fn start(
        file: PathBuf,
        socket: PathBuf,
        log: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, Failure> {
        // One waits while another goes on; a third needs no place, as the one that waits reads the same file.
        let (requests, waiting) = sync_channel(1);
        let serve = move || {
            for () in waiting {
                reload(&file, &socket, &log);
            }
        };
        let started = thread::Builder::new().name("reload".to_owned()).spawn(serve);
        started.map_err(|why| {
            Failure::run(
                format!("cannot start a thread: {why}"),
                "the system has no room for a thread; end other programs",
            )
        })?;
        Ok(Self(requests))
    }

    /// Requests a reload, without waiting for it.
    pub(super) fn request(&self) {
        let _ = self.0.try_send(());
    }
}

/// Applies the policy's file as it is now, as `lockgate apply` does, and logs the outcome.
fn reload(file: &Path, socket: &Path, log: &dyn Fn(&str)) {
    let say = |text: &str| log(&format!("SIGHUP: {text}"));
    let (origin, policy) = match super::read(file) {
        Ok(read) => read,
        Err(Failure::Usage { message, help }) => {
            return say(&format!("the policy stays as it was: {message}; {help}"));
        }
        Err(failure) => return say(&format!("the policy stays as it was: {failure}")),
    };
    let request = Request::Apply { origin, policy, confirm_within_ms: None, revert_if: None, dry_run: false };
    match Client::connect(socket).and_then(|mut client| client.ask(&request)) {
        Ok(Answer::Changed(changed)) => {
            changed.warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
            if changed.difference.is_empty() {
                say("the policy has not changed");
            } else {
                say(&format!("policy {} runs", changed.number));
            }
        }
        Ok(Answer::Refused(refusal)) => {
            say(&format!("the policy is refused: {}; {}", refusal.message, refusal.help));
        }
        Ok(_) => say("the answer is not of this request; `lockgate status` says which policy runs"),
        Err(error @ ClientError::Unanswered { .. }) => say(&format!("{error}; {}", error.help())),
        Err(error) => say(&format!("the policy stays as it was: {error}; {}", error.help())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::*;

    /// Limit on waiting for an event on a busy machine.
    const PATIENCE: Duration = Duration::from_mins(1);

    const POLICY: &str = "[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\" }\n";

    /// Reloads of a router whose control is this test's.
    struct Scene {
        folder: tempfile::TempDir,
        control: UnixListener,
        reloads: Reloads,
        log: Receiver<String>,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let (file, socket) = (folder.path().join("house.toml"), folder.path().join("control.sock"));
            let control = UnixListener::bind(&socket).expect("bound");
            let (to, log) = channel();
            let log_by = move |text: &str| to.send(text.to_owned()).expect("a reader");
            let reloads = Reloads::start(file, socket, log_by).expect("a thread");
            let scene = Self { folder, control, reloads, log };
            scene.write(POLICY);
            scene
        }

        fn write(&self, text: &str) {
            std::fs::write(self.folder.path().join("house.toml"), text).expect("written");
        }

        /// Returns the policy of the next request, and its connection.
        fn next(&self) -> (String, UnixStream) {
            let (stream, _) = self.control.accept().expect("a client");
            let mut line = Vec::new();
            BufReader::new(&stream).read_until(b'\n', &mut line).expect("a request");
            let Ok(Request::Apply { policy, .. }) = Request::read(&line) else { panic!("{line:?}") };
            (policy, stream)
        }

        fn said(&self) -> String {
            self.log.recv_timeout(PATIENCE).expect("a line")
        }
    }

    fn answer(mut stream: UnixStream, answer: &Answer) {
        let mut line = serde_json::to_vec(answer).expect("JSON");
        line.push(b'\n');
        stream.write_all(&line).expect("sent");
    }

    fn changed(difference: &str, warnings: &[&str]) -> Answer {
        Answer::Changed(lockgate_router::control::protocol::Changed {
            number: 7,
            difference: difference.to_owned(),
            warnings: warnings.iter().map(|it| (*it).to_owned()).collect(),
            ..Default::default()
        })
    }

    /// The second request is made while the first has no answer, and is of the file as it is after that; the
    /// third and fourth are in it. None of them waits.
    #[test]
    fn requests_wait_for_none_and_the_last_file_is_applied() {
        let scene = Scene::new();
        scene.reloads.request();
        let (first, stream) = scene.next();
        assert_eq!(first, POLICY);
        for _ in 0..3 {
            scene.reloads.request();
        }
        scene.write(&POLICY.replace("eth0", "eth9"));
        answer(stream, &changed("+ a line", &["a limit is small"]));
        assert_eq!(scene.said(), "SIGHUP: warning: a limit is small");
        assert_eq!(scene.said(), "SIGHUP: policy 7 runs");
        let (second, stream) = scene.next();
        assert!(second.contains("eth9"), "{second}");
        answer(stream, &changed("", &[]));
        assert_eq!(scene.said(), "SIGHUP: the policy has not changed");
        assert!(scene.log.recv_timeout(Duration::from_millis(50)).is_err(), "two reloads in all");
    }

    #[test]
    fn a_reload_says_what_has_become_of_it() {
        let scene = Scene::new();
        scene.reloads.request();
        let refusal = lockgate_router::control::protocol::Refusal::usage("it is on trial", "confirm it");
        answer(scene.next().1, &Answer::Refused(refusal));
        assert_eq!(scene.said(), "SIGHUP: the policy is refused: it is on trial; confirm it");
        scene.reloads.request();
        drop(scene.next());
        let said = scene.said();
        assert!(said.contains("it is not known whether the change is made"), "{said}");
        assert!(said.contains("`lockgate status`") && !said.contains("stays as it was"), "{said}");
        scene.write("title = 3");
        scene.reloads.request();
        let said = scene.said();
        assert!(
            said.starts_with("SIGHUP: the policy stays as it was: `") && said.contains("no table"),
            "{said}"
        );
        std::fs::remove_file(scene.folder.path().join("control.sock")).expect("removed");
        scene.write(POLICY);
        scene.reloads.request();
        let said = scene.said();
        assert!(said.starts_with("SIGHUP: the policy stays as it was: no router runs here"), "{said}");
    }
}
