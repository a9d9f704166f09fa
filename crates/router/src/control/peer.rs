//! Author of a request: the process at the other end of the socket.

use std::fs;
use std::io;
use std::os::fd::AsFd;

use lockgate_scenario::diagnostic::visible;

/// Longest command line that is shown, in letters.
const LONGEST_COMMAND_LINE: usize = 120;

/// Login of a process that no user logged in for.
const NO_LOGIN: u32 = u32::MAX;

/// Process at the other end of a socket, as the kernel saw it when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    uid: u32,
    pid: i32,
}

impl Peer {
    /// Returns the process at the other end.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub(super) fn of(socket: impl AsFd) -> io::Result<Self> {
        let peer = rustix::net::sockopt::socket_peercred(socket)?;
        Ok(Self { uid: peer.uid.as_raw(), pid: peer.pid.as_raw_nonzero().get() })
    }

    /// Returns true if it may control the router: the superuser, or the router's own user.
    pub(super) fn is_allowed(self) -> bool {
        self.uid == 0 || self.uid == rustix::process::geteuid().as_raw()
    }

    /// Returns user and command, such as `alice as root (lockgate apply new.toml)`.
    pub(super) fn author(self) -> String {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let login = fs::read_to_string(format!("/proc/{}/loginuid", self.pid)).unwrap_or_default();
        let login = login.trim().parse().ok().filter(|login| *login != NO_LOGIN && *login != self.uid);
        let user = user_name(self.uid, &users);
        let user =
            login.map_or_else(|| user.clone(), |login| format!("{} as {user}", user_name(login, &users)));
        match command(self.pid) {
            Some(command) => format!("{user} ({command})"),
            None => user,
        }
    }
}

/// Returns the name of a user in the text of `/etc/passwd`, or `uid N`.
fn user_name(uid: u32, users: &str) -> String {
    let has_uid = |line: &&str| line.split(':').nth(2).is_some_and(|field| field.parse() == Ok(uid));
    let name = users.lines().find(has_uid).and_then(|line| line.split(':').next());
    name.filter(|name| !name.is_empty())
        .map_or_else(|| format!("uid {uid}"), |name| visible(name).into_owned())
}

/// Returns the command line of a process without the path of the program; `None` if it is gone or hidden.
fn command(pid: i32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line);
    let mut words = line.split('\0').filter(|word| !word.is_empty());
    let program = words.next()?.rsplit('/').next()?.to_owned();
    let whole = words.fold(program, |line, word| line + " " + word);
    let mut shown: String = visible(&whole).chars().take(LONGEST_COMMAND_LINE).collect();
    if whole.chars().count() > LONGEST_COMMAND_LINE {
        shown.push('…');
    }
    Some(shown.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn users_have_names_or_numbers() {
        let users = "root:x:0:0::/root:/bin/sh\nbroken\nalice:x:1000:1000::/home/alice:/bin/sh\n";
        assert_eq!(user_name(1000, users), "alice");
        assert_eq!(user_name(7, users), "uid 7");
    }

    #[test]
    fn the_own_process_is_recognised() {
        let (one, _other) = UnixStream::pair().expect("a pair");
        let peer = Peer::of(&one).expect("credentials");
        assert_eq!(peer.pid, std::process::id().cast_signed());
        assert!(peer.is_allowed());
        assert!(peer.author().contains("router"), "{}", peer.author());
        assert!(!Peer { uid: u32::MAX - 1, ..peer }.is_allowed());
    }
}
