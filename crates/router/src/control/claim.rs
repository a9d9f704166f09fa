//! Claim of a name by one router, and the policy that it starts with.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use lockgate_scenario::{Policy, Problems, read_policy};

use super::client::Client;
use super::directories::{Directories, SOCKET};
use super::history::History;
use super::store::{Loaded, Store, StoreError, check_exposure, claim_directory, open_file};

/// Claimed name: no other router can have it until this value is dropped or the process ends.
#[derive(Debug)]
pub struct Claim {
    pub(super) name: String,
    pub(super) runtime: PathBuf,
    pub(super) store: Store,
    /// Lock of the state directory; the kernel releases it when the process ends, however it does.
    lock: File,
}

/// A name that cannot be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another router has it.
    #[error("a router named `{name}` runs already, pid {pid}")]
    Taken {
        /// Name.
        name: String,
        /// Its process, as written by it.
        pid: String,
    },
    /// The directories cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ClaimError {
    /// Returns the remedy.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Taken { .. } => "stop that one, or give this one another name with --name",
            Self::Store(error) => error.help(),
        }
    }
}

/// Policy that a router starts with.
#[derive(Debug)]
pub struct Boot {
    /// Origin: the file's name, or that of a confirmed policy.
    pub origin: String,
    /// Text of the policy.
    pub text: String,
    /// The policy.
    pub policy: Policy,
    /// Sentences for the user: which policy was chosen, and why.
    pub notes: Vec<String>,
    pub(super) history: History,
    /// The file, if it does not run.
    pub(super) unused: Option<UnusedFile>,
}

/// File of a policy that a router was started with, and did not take: another policy is confirmed.
#[derive(Debug)]
pub(super) struct UnusedFile {
    /// Path.
    pub(super) origin: String,
    /// Whole text.
    pub(super) text: String,
    /// Number of the policy that was started instead.
    pub(super) instead_of: u64,
    /// Sentence for the user.
    pub(super) sentence: String,
}

/// A start without a policy.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The state cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is not a policy.
    #[error("the policy has errors")]
    File(Box<Problems>),
    /// The last confirmed policy cannot be read by this version.
    #[error("policy {number} (`{origin}`), the last confirmed one, cannot be read any more: {why}")]
    Confirmed {
        /// Number of the policy.
        number: u64,
        /// Origin of the policy.
        origin: String,
        /// First problem.
        why: String,
    },
}

impl BootError {
    /// Returns the remedy; empty if each problem has its own.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Store(error) => error.help(),
            Self::File(_) => "",
            Self::Confirmed { .. } => "--fresh starts from the file",
        }
    }
}

impl Claim {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Claims the name, and creates its directories.
    ///
    /// # Errors
    /// If another router has it, or the directories cannot be used.
    pub fn take(name: &str, directories: &Directories) -> Result<Self, ClaimError> {
        let store = Store::open(&directories.state)?;
        let unreachable =
            |what, path: &Path, why| StoreError::Unreachable { what, path: path.to_owned(), why };
        claim_directory(&directories.runtime)?;
        let path = directories.state.join("lock");
        // Private: otherwise another user could hold the lock.
        let mut lock = open_file(&path, File::options().read(true).write(true).create(true).truncate(false))
            .map_err(|why| unreachable("open", &path, why))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = lock.take(20).read_to_string(&mut pid);
                let pid = Some(pid.trim().to_owned()).filter(|pid| !pid.is_empty());
                let pid = pid.unwrap_or_else(|| "unknown".to_owned());
                return Err(ClaimError::Taken { name: name.to_owned(), pid });
            }
            Err(TryLockError::Error(why)) => return Err(unreachable("lock", &path, why).into()),
        }
        check_lock(&mut lock).map_err(|why| unreachable("take", &path, why))?;
        write_pid(&mut lock).map_err(|why| unreachable("write", &path, why))?;
        Ok(Self { name: name.to_owned(), runtime: directories.runtime.clone(), store, lock })
    }

    /// Returns the path of the router's socket.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join(SOCKET)
    }

    /// Returns the policy to start with: the last confirmed one; the file if there is none, or if `is_fresh`.
    ///
    /// # Errors
    /// If the state or the policy cannot be read.
    pub fn boot(&self, origin: &str, text: &str, is_fresh: bool) -> Result<Boot, BootError> {
        let (loaded, note) = loaded(&self.store, is_fresh)?;
        if note.is_some() {
            self.store.set_aside()?;
        }
        let mut boot = Boot::of(loaded, note, (origin, text), is_fresh, "was started")?;
        if let Some(rates) = self.store.load_rates() {
            boot.notes.extend(super::rates::begin_at(&mut boot.policy, &rates));
        }
        Ok(boot)
    }
}

/// Start that is not made.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// The name cannot be claimed.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// There is no policy to start with.
    #[error(transparent)]
    Boot(#[from] BootError),
}

impl Boot {
    /// Returns what [`Claim::take`] and [`Claim::boot`] would lead to now, and changes nothing.
    ///
    /// # Errors
    /// As theirs, except for directories that cannot be made.
    pub fn preview(
        name: &str,
        directories: &Directories,
        (origin, text): (&str, &str),
        is_fresh: bool,
    ) -> Result<Self, PreviewError> {
        // A trial of the lock itself would refuse a start at this moment.
        if Client::connect(&directories.runtime.join(SOCKET)).is_ok() {
            let pid = fs::read_to_string(directories.state.join("lock")).unwrap_or_default();
            let pid = if pid.is_empty() { "unknown".to_owned() } else { pid.trim().to_owned() };
            return Err(ClaimError::Taken { name: name.to_owned(), pid }.into());
        }
        let is_there = |folder: &Path| fs::symlink_metadata(folder).is_ok();
        for folder in [&directories.runtime, &directories.state] {
            let claimed = if is_there(folder) { claim_directory(folder) } else { check_exposure(folder) };
            claimed.map_err(ClaimError::from)?;
        }
        let (loaded, note) = if is_there(&directories.state) {
            let store = Store::open(&directories.state).map_err(ClaimError::from)?;
            loaded(&store, is_fresh).map_err(BootError::from)?
        } else {
            Default::default()
        };
        Ok(Self::of(loaded, note, (origin, text), is_fresh, "a start would run")?)
    }

    /// Returns a sentence about the file if another policy is chosen; `None` if the file is.
    pub fn unused_file(&self) -> Option<&str> {
        self.unused.as_ref().map(|unused| &*unused.sentence)
    }

    /// Chooses the policy. `note` is a sentence about the state; `fate` says what becomes of the policy that
    /// is chosen instead of the file.
    fn of(
        loaded: Loaded,
        note: Option<String>,
        (origin, text): (&str, &str),
        is_fresh: bool,
        fate: &str,
    ) -> Result<Self, BootError> {
        let mut notes: Vec<String> = note.into_iter().collect();
        if !loaded.repaired.is_empty() {
            notes.push(loaded.repaired);
        }
        let mut history = loaded.history;
        history.end_trials("the router ended before it was confirmed");
        match history.confirmed().filter(|confirmed| confirmed.text != text) {
            Some(confirmed) if !is_fresh => {
                let number = confirmed.number;
                let policy = read_policy(&confirmed.text, &confirmed.origin).map_err(|problems| {
                    let why = (&problems).into_iter().next().map(ToString::to_string).unwrap_or_default();
                    BootError::Confirmed { number, origin: confirmed.origin.clone(), why }
                })?;
                let sentence = format!(
                    "the file `{origin}` does NOT run: it differs from policy {number} (`{}`), confirmed of {} by {}, \
                     which {fate}; `lockgate apply {origin}` changes to the file, --fresh starts from it",
                    confirmed.origin, confirmed.at, confirmed.by
                );
                notes.push(sentence.clone());
                let unused = Some(UnusedFile {
                    origin: origin.to_owned(),
                    text: text.to_owned(),
                    instead_of: number,
                    sentence,
                });
                let (origin, text) = (confirmed.origin.clone(), confirmed.text.clone());
                Ok(Self { origin, text, policy, notes, history, unused })
            }
            other => {
                if let Some(confirmed) = other {
                    notes.push(format!(
                        "--fresh: policy {} (`{}`) is not used",
                        confirmed.number, confirmed.origin
                    ));
                }
                let policy =
                    read_policy(text, origin).map_err(|problems| BootError::File(Box::new(problems)))?;
                let (origin, text) = (origin.to_owned(), text.to_owned());
                Ok(Self { origin, text, policy, notes, history, unused: None })
            }
        }
    }
}

/// Returns the state. If it is damaged and `is_fresh`, returns an empty one and a sentence about it.
fn loaded(store: &Store, is_fresh: bool) -> Result<(Loaded, Option<String>), StoreError> {
    match store.load() {
        Err(error @ StoreError::Damaged { .. }) if is_fresh => {
            let note = format!("{error}; a new history begins, the files are kept as *.damaged");
            Ok((Loaded::default(), Some(note)))
        }
        loaded => Ok((loaded?, None)),
    }
}

impl Drop for Claim {
    /// Releases the name at once. A process that was just forked here may hold the file open until it has
    /// started its program; without this the lock would last as long.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Checks that the file is a router's lock, which has the number of a process or nothing in it.
fn check_lock(lock: &mut File) -> io::Result<()> {
    let mut text = String::new();
    lock.take(20).read_to_string(&mut text)?;
    if text.trim_end().bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "it is not the lock of a router"))
}

fn write_pid(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}

/// Removes the socket of an ended router; no-op if it is absent.
///
/// # Errors
/// If something else has its name, which stays.
pub(super) fn remove_socket(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if metadata.file_type().is_socket() => fs::remove_file(path),
        Ok(_) => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is not a socket has this name"))
        }
    }
}
