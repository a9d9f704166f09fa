//! Messages to systemd: ready, status, alive, stopping, as in `man sd_notify`.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Channel to the service manager; silent without one.
#[derive(Debug, Default)]
pub struct Notifier {
    channel: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl Notifier {
    /// Opens the channel that the service manager named in the environment, if any.
    pub fn from_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let address = variable("NOTIFY_SOCKET");
        let is_ours = variable("WATCHDOG_PID").is_none_or(|pid| pid == std::process::id().to_string());
        let watchdog = variable("WATCHDOG_USEC").filter(|_| is_ours).and_then(|time| time.parse().ok());
        let notifier = address.map(|address| Self::new(&address, watchdog.map(Duration::from_micros)));
        notifier.and_then(Result::ok).unwrap_or_default()
    }

    /// Opens the channel at this address: a path, or a name in the abstract namespace after an `@`.
    /// `watchdog` is the interval within which the manager expects a sign of life.
    ///
    /// # Errors
    /// If the address is malformed, or no socket can be opened.
    pub fn new(address: &str, watchdog: Option<Duration>) -> io::Result<Self> {
        let address = match address.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(address)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { channel: Some((socket, address)), watchdog: watchdog.filter(|time| !time.is_zero()) })
    }

    /// Returns the interval of signs of life: an eighth of the manager's limit; `None`: it expects none.
    pub fn watchdog_interval(&self) -> Option<Duration> {
        // Samples may be 2 s apart, and one may be lost.
        self.watchdog.map(|limit| limit / 8)
    }

    /// Says that the router runs.
    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// Shows a sentence in `systemctl status`.
    pub fn status(&self, text: &str) {
        self.send(&format!("STATUS={}", text.replace('\n', " ")));
    }

    /// Gives a sign of life.
    pub fn alive(&self) {
        self.send("WATCHDOG=1");
    }

    /// Says that the router is about to end.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, message: &str) {
        // A manager that does not read must not stop the router.
        if let Some((socket, address)) = &self.channel {
            let _ = socket.send_to_addr(message.as_bytes(), address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_reach_a_path_and_an_abstract_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let name = format!("lockgate-test-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).expect("a name");
        for (manager, address) in [
            (UnixDatagram::bind(&path), path.display().to_string()),
            (UnixDatagram::bind_addr(&abstract_name), format!("@{name}")),
        ] {
            let manager = manager.expect("bound");
            let notifier = Notifier::new(&address, Some(Duration::from_secs(5))).expect("a channel");
            notifier.ready();
            notifier.status("two\nlines");
            notifier.alive();
            notifier.stopping();
            let mut buffer = [0; 100];
            for expected in ["READY=1", "STATUS=two lines", "WATCHDOG=1", "STOPPING=1"] {
                let length = manager.recv(&mut buffer).expect("a message");
                assert_eq!(&buffer[..length], expected.as_bytes());
            }
            assert_eq!(notifier.watchdog_interval(), Some(Duration::from_millis(625)));
        }
    }

    #[test]
    fn without_a_manager_nothing_is_sent() {
        let notifier = Notifier::default();
        notifier.ready();
        assert_eq!(notifier.watchdog_interval(), None);
    }
}
