//! Input files: scenarios, and the files they name.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockgate_scenario::{Files, Override, policy_text};

use crate::Error;
pub use crate::io_error::words;

/// Error of reading a file into memory.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses.
    #[error("{}", words(.0))]
    System(#[from] std::io::Error),
    /// Not a regular file: what it is.
    #[error("it is {0}, not a file")]
    Irregular(&'static str),
    /// The file system does not answer.
    #[error("its file system has not answered for {} s", LONGEST_READ.as_secs())]
    Silent,
    /// The thread that reads it has failed.
    #[error("its thread failed")]
    Thread,
    /// Longer than this many bytes.
    #[error("it is longer than the {0} bytes that are read at most")]
    TooLong(u64),
    /// Not a text.
    #[error("it is not UTF-8 text")]
    NotText,
}

/// Longest time that a file system has to answer.
const LONGEST_READ: std::time::Duration = std::time::Duration::from_secs(10);

/// Largest file read into memory, in bytes.
const LARGEST_FILE_BYTES: u64 = 1 << 30;

/// Lookup of files: beside the scenario, then in the current directory.
#[derive(Clone, Debug)]
pub struct Beside {
    folder: PathBuf,
}

impl Beside {
    /// Creates the lookup for the scenario file at this path; of an empty path, the current directory.
    pub fn new(scenario: &Path) -> Self {
        Self { folder: scenario.parent().map(Path::to_path_buf).unwrap_or_default() }
    }
}

impl Files for Beside {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        let (beside, path) = (self.folder.join(path), PathBuf::from(path));
        let found = move || if beside.exists() { beside } else { path };
        within_time(move || read_regular(&found())).map(Into::into).map_err(|error| error.to_string())
    }
}

/// Reads a regular file: a pipe without a writer, or a device, could hold up a router for ever.
fn read_regular(path: &Path) -> Result<Vec<u8>, FileError> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(FileError::Irregular(if found.is_dir() { "a directory" } else { "a pipe or a device" }));
    }
    read(path, LARGEST_FILE_BYTES)
}

/// Reads on a thread of its own, because a network file system may not answer.
#[cfg(unix)]
fn within_time<F>(read: F) -> Result<Vec<u8>, FileError>
where
    F: FnOnce() -> Result<Vec<u8>, FileError> + Send + 'static,
{
    let (done, answer) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name("file".to_owned());
    let thread = thread.spawn(move || drop(done.send(read())))?;
    let bytes = answer.recv_timeout(LONGEST_READ).map_err(|_| FileError::Silent)?;
    // Joined, because a process with several threads cannot enter a user namespace.
    thread.join().map_err(|_| FileError::Thread)?;
    bytes
}

/// Reads at once: unsupported.
#[cfg(not(unix))]
fn within_time(read: impl FnOnce() -> Result<Vec<u8>, FileError>) -> Result<Vec<u8>, FileError> {
    read()
}

/// Reads a text file of up to 1 GiB that is not a scenario.
///
/// # Errors
/// If it cannot be read, is too long, or is no text.
pub fn text(path: &Path) -> Result<String, FileError> {
    text_up_to(path, LARGEST_FILE_BYTES)
}

/// Reads a text file of up to `most` bytes that is not a scenario.
///
/// # Errors
/// If it cannot be read, is longer, or is no text.
pub fn text_up_to(path: &Path, most: u64) -> Result<String, FileError> {
    String::from_utf8(read(path, most)?).map_err(|_| FileError::NotText)
}

/// Reads a file of up to 1 GiB that need not be a text.
///
/// # Errors
/// If it cannot be read, or is longer.
pub fn bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    read(path, LARGEST_FILE_BYTES)
}

/// Reads a file of up to `most` bytes. Of an endless one (a device, a pipe), reads that many and then returns
/// an error.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    if size <= most {
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    if size.max(bytes.len() as u64) > most {
        return Err(FileError::TooLong(most));
    }
    Ok(bytes)
}

/// Text of a scenario as it is read.
#[derive(Clone, Debug)]
pub struct ScenarioText {
    /// Name in messages: the file's, or that of the laboratory around it.
    pub name: String,
    /// The text.
    pub text: String,
    /// True if it is that of a laboratory around a policy.
    pub is_laboratory: bool,
}

/// Reads the text of a scenario, within `memory` bytes. That of a router's policy is a laboratory around
/// it, of the duration that `settings` say; those of the policy are checked in it, so that problems are
/// shown there.
///
/// # Errors
/// If the file cannot be read or is not a text, or a policy has problems.
pub fn scenario_text(path: &Path, memory: u64, settings: &[Override]) -> Result<ScenarioText, Error> {
    ScenarioText::new(own_text(path, memory)?, path, &Beside::new(path), settings)
}

impl ScenarioText {
    /// Returns the text of a scenario at `path` as it is, and that of a policy as a laboratory around it. The
    /// files that a policy names come from `files`.
    ///
    /// # Errors
    /// If a policy has problems.
    pub fn new(text: String, path: &Path, files: &dyn Files, settings: &[Override]) -> Result<Self, Error> {
        let name = path.display().to_string();
        if !lockgate_scenario::is_policy(&text) {
            return Ok(Self { name, text, is_laboratory: false });
        }
        let file = path.file_name().map_or_else(|| name.clone(), |file| file.to_string_lossy().into_owned());
        let text = around(path, &text, &file, files, settings)?;
        Ok(Self { name: format!("the laboratory around {name}"), text, is_laboratory: true })
    }
}

/// Returns the text of a laboratory around the policy at `path`, which names it as `named`.
///
/// # Errors
/// If the file cannot be read, is not a policy, or has problems.
pub fn laboratory(path: &Path, named: &str) -> Result<String, Error> {
    let text = own_text(path, lockgate_scenario::MEMORY)?;
    if !lockgate_scenario::is_policy(&text) {
        let why = "it is not a policy of a router: it has no table `[router]`".to_owned();
        return Err(Error::Unreadable { path: path.to_path_buf(), why });
    }
    around(path, &text, named, &Beside::new(path), &[])
}

fn around(
    path: &Path,
    text: &str,
    named: &str,
    files: &dyn Files,
    settings: &[Override],
) -> Result<String, Error> {
    let embedded = lockgate_scenario::embed_tables(text, files)
        .map_err(|error| Error::Unreadable { path: path.to_path_buf(), why: error.to_string() })?;
    let name = path.display().to_string();
    let policy = lockgate_scenario::read_policy(&embedded, &name)?;
    if !settings.is_empty() {
        policy_text::read_with(&embedded, &name, settings)?;
    }
    // A laboratory that is not written anywhere has no warm-up that its user knows.
    let duration = settings.iter().rev().find_map(|one| one.text().strip_prefix("duration=")?.parse().ok());
    Ok(lockgate_scenario::laboratory(&policy, named, duration))
}

fn own_text(path: &Path, memory: u64) -> Result<String, Error> {
    let path = path.to_path_buf();
    let bytes = match read(&path, lockgate_scenario::longest_text(memory)) {
        Ok(bytes) => bytes,
        Err(error) => return Err(Error::Unreadable { path, why: error.to_string() }),
    };
    String::from_utf8(bytes).map_err(|error| Error::NotText { path, at: error.utf8_error().valid_up_to() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn files_that_a_scenario_names_are_regular() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("table.csv");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|made| made.success()));
        let beside = Beside::new(&folder.path().join("s.toml"));
        let why = |path: &str| beside.load(path).expect_err(path);
        assert_eq!(why("table.csv"), "it is a pipe or a device, not a file");
        assert_eq!(why("/dev/zero"), "it is a pipe or a device, not a file");
        assert_eq!(why("."), "it is a directory, not a file");
        std::fs::write(folder.path().join("t.csv"), "a").expect("written");
        assert_eq!(beside.load("t.csv").as_deref(), Ok(b"a".as_slice()));
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_not_read_for_ever() {
        let endless = read(Path::new("/dev/zero"), 1_000).expect_err("it has no end").to_string();
        assert!(endless.contains("longer than the 1000 bytes"), "{endless}");
        assert!(read(Path::new("/dev/null"), 1_000).is_ok_and(|bytes| bytes.is_empty()));
    }
}
