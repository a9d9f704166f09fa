//! Directories of a router: its state, which outlives a reboot, and its socket, which does not.
//!
//! ```text
//!                state                                        socket
//! systemd        $STATE_DIRECTORY                             $RUNTIME_DIRECTORY
//! root           /var/lib/lockgate/router/NAME                /run/lockgate/router/NAME
//! other users    $XDG_STATE_HOME/lockgate/router/NAME         $XDG_RUNTIME_DIR/lockgate/router/NAME, else the state's
//! --state DIR    DIR                                          DIR
//! ```

use std::path::{Path, PathBuf};

/// Name of the socket in its directory.
pub const SOCKET: &str = "control.sock";

/// Longest name of a router.
const LONGEST_NAME: usize = 64;

/// Part of the path below a directory of the system or of a user.
const BELOW: &str = "lockgate/router";

/// Directories of one router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// Directory of the history.
    pub state: PathBuf,
    /// Directory of the socket.
    pub runtime: PathBuf,
}

/// Environment that decides on the directories.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// True for the superuser.
    pub is_root: bool,
    /// Returns the value of a variable, if it is set and not empty.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A router without directories: the reason, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirectoryError {
    /// The name cannot be part of a path.
    #[error("a router cannot be called `{0}`")]
    Name(String),
    /// Neither the directory of the user's state nor a home is known.
    #[error("no directory is known for the router's state: $XDG_STATE_HOME and $HOME are not set")]
    NoHomeDirectory,
}

impl DirectoryError {
    /// Returns what to do.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Name(_) => {
                "a name has 1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit first"
            }
            Self::NoHomeDirectory => "name a directory with --state",
        }
    }
}

impl Environment<'_> {
    fn path(&self, variable: &str) -> Option<PathBuf> {
        // systemd joins several directories by colons.
        let value = (self.variable)(variable)?;
        let first = value.split(':').next().filter(|first| !first.is_empty())?;
        Some(PathBuf::from(first))
    }

    fn user_state(&self) -> Option<PathBuf> {
        let home = || Some(self.path("HOME")?.join(".local/state"));
        self.path("XDG_STATE_HOME").or_else(home)
    }

    /// Returns the directories whose subdirectories have the sockets of running routers.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let mut found = vec![Path::new("/run").join(BELOW)];
        let users = [self.path("XDG_RUNTIME_DIR"), self.user_state()];
        found.extend(users.into_iter().flatten().map(|folder| folder.join(BELOW)));
        found
    }
}

impl Directories {
    /// Returns the directories of the router called `name`; `given` is that of `--state`.
    ///
    /// # Errors
    /// If the name is not valid, or no directory is known.
    pub fn of(name: &str, given: Option<&Path>, from: Environment<'_>) -> Result<Self, DirectoryError> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let starts_plain = name.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        if !starts_plain || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            return Err(DirectoryError::Name(name.chars().take(LONGEST_NAME).collect()));
        }
        if let Some(given) = given {
            return Ok(Self { state: given.to_owned(), runtime: given.to_owned() });
        }
        let below = |folder: PathBuf| folder.join(BELOW).join(name);
        let state = match from.path("STATE_DIRECTORY") {
            Some(state) => state,
            None if from.is_root => below(PathBuf::from("/var/lib")),
            None => below(from.user_state().ok_or(DirectoryError::NoHomeDirectory)?),
        };
        let runtime = match from.path("RUNTIME_DIRECTORY") {
            Some(runtime) => runtime,
            None if from.is_root => below(PathBuf::from("/run")),
            None => from.path("XDG_RUNTIME_DIR").map_or_else(|| state.clone(), below),
        };
        Ok(Self { state, runtime })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, is_root: bool, set: &[(&str, &str)]) -> Result<Directories, DirectoryError> {
        let variable =
            |wanted: &str| set.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned());
        Directories::of(name, None, Environment { is_root, variable: &variable })
    }

    fn paths(state: &str, runtime: &str) -> Directories {
        Directories { state: state.into(), runtime: runtime.into() }
    }

    #[test]
    fn directories_follow_the_environment() {
        let root = paths("/var/lib/lockgate/router/house", "/run/lockgate/router/house");
        assert_eq!(of("house", true, &[("HOME", "/root"), ("XDG_RUNTIME_DIR", "/run/user/0")]), Ok(root));
        let systemd = [("STATE_DIRECTORY", "/var/lib/x:/other"), ("RUNTIME_DIRECTORY", "/run/x")];
        assert_eq!(of("house", false, &systemd), Ok(paths("/var/lib/x", "/run/x")));
        let user = [("HOME", "/home/a"), ("XDG_RUNTIME_DIR", "/run/user/7")];
        let expected = paths("/home/a/.local/state/lockgate/router/x", "/run/user/7/lockgate/router/x");
        assert_eq!(of("x", false, &user), Ok(expected));
        let expected = paths("/s/lockgate/router/x", "/s/lockgate/router/x");
        assert_eq!(of("x", false, &[("XDG_STATE_HOME", "/s")]), Ok(expected));
        assert_eq!(of("x", false, &[]), Err(DirectoryError::NoHomeDirectory));
    }

    #[test]
    fn names_stay_in_their_directory() {
        for bad in ["", ".", "..", "a/b", "-x", ".x", "a b", "é", "x\n", &"x".repeat(65)] {
            assert!(matches!(of(bad, true, &[]), Err(DirectoryError::Name(_))), "{bad}");
        }
    }
}
