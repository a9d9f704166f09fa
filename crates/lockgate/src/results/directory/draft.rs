//! Draft of a results directory, beside its target or in it; and leftovers of killed processes.
//!
//! Its name is `.NAME.PID.partial`. A file in it ([`MARKER`]) is locked while the process lives, so that a
//! draft without a lock is a leftover.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::manifest::{Contents, FORMAT, MARKER, contents, is_of_draft, remove};

/// Drafts of this process, removed if it is aborted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the unfinished directories of this process, for a command that is about to abort.
pub fn remove_unfinished() {
    for directory in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        discard(directory);
    }
}

/// Characters of the target's name used in a draft's name, which must fit the 255 bytes of a file name.
const LONGEST_NAME: usize = 50;

fn shortened(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// Draft of this process.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) path: PathBuf,
    /// Holds the lock; closing it frees the lock.
    marker: File,
}

impl Draft {
    /// Creates a new directory in `parent` for results called `name`.
    pub(super) fn create(parent: &Path, name: &str) -> io::Result<Self> {
        let pid = std::process::id();
        let mut path = parent.join(format!(".{}.{pid}.partial", shortened(name)));
        let mut again = 1;
        loop {
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    again += 1;
                    path = parent.join(format!(".{}.{pid}-{again}.partial", shortened(name)));
                }
                done => break done?,
            }
        }
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        match marker(&path) {
            Ok(marker) => Ok(Self { path, marker }),
            Err(error) => {
                drop_path(&path);
                Err(error)
            }
        }
    }

    /// Keeps the directory, which has been moved to `kept_at` or is empty.
    pub(super) fn keep(self, kept_at: &Path) {
        let Self { path, marker } = self;
        forget(&path);
        let _ = fs::remove_file(kept_at.join(MARKER));
        drop(marker);
    }

    /// Keeps a draft that could not be moved.
    pub(super) fn abandon(self) {
        forget(&self.path);
        drop(self.marker);
    }

    /// Removes the directory.
    pub(super) fn discard(self) {
        drop_path(&self.path);
        drop(self.marker);
    }
}

fn marker(directory: &Path) -> io::Result<File> {
    let mut marker = File::create_new(directory.join(MARKER))?;
    marker.write_all(FORMAT.as_bytes())?;
    // On file systems without locks, leftovers stay.
    let _ = marker.try_lock();
    Ok(marker)
}

fn forget(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|draft| draft != path);
}

fn drop_path(path: &Path) {
    discard(path);
    forget(path);
}

/// Removes the files that a command may have written, and the directory if nothing else is in it.
fn discard(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let ours: Vec<String> = names.filter(|name| is_of_draft(name)).collect();
    remove(directory, &ours);
}

/// Selection of leftovers.
#[derive(Clone, Copy)]
pub(super) enum LeftoverFilter<'a> {
    /// Those of results of this name.
    Name(&'a str),
    /// All.
    Any,
}

/// Returns the process of a draft, if `name` is the name of a draft (version 0.1.0 named replaced results
/// `.old`).
fn process(name: &str, filter: LeftoverFilter<'_>) -> Option<i32> {
    let (stem, pid) = name
        .strip_prefix('.')?
        .strip_suffix(".partial")
        .or_else(|| name.strip_prefix('.')?.strip_suffix(".old"))?
        .rsplit_once('.')?;
    let is_meant = match filter {
        LeftoverFilter::Name(name) => stem == name || stem == shortened(name),
        LeftoverFilter::Any => true,
    };
    let pid = pid.split_once('-').map_or(pid, |(pid, _)| pid);
    pid.parse().ok().filter(|pid| is_meant && *pid > 0)
}

/// True if an entry of `parent` is a killed process's leftover.
pub(super) fn is_leftover(parent: &Path, name: &str, filter: LeftoverFilter<'_>) -> bool {
    leftover(parent, name, filter).is_some()
}

/// Returns the files of a leftover; `None` if the directory is not one.
fn leftover(parent: &Path, name: &str, filter: LeftoverFilter<'_>) -> Option<Vec<String>> {
    let pid = process(name, filter)?;
    let directory = parent.join(name);
    if !fs::symlink_metadata(&directory).ok()?.is_dir() {
        return None;
    }
    let marker = directory.join(MARKER);
    if let Ok(found) = fs::symlink_metadata(&marker) {
        let is_ours = found.is_file() && found.len() == FORMAT.len() as u64;
        let is_free = is_ours
            && fs::read(&marker).is_ok_and(|text| text == FORMAT.as_bytes())
            && File::open(&marker).is_ok_and(|marker| marker.try_lock().is_ok());
        let entries = fs::read_dir(&directory).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
        let names: Vec<String> =
            entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        return (is_free && names.iter().all(|name| is_of_draft(name))).then_some(names);
    }
    if is_alive(pid) {
        return None;
    }
    // Replaced results, and the empty directories that version 0.1.0 left.
    match contents(&directory, &|_| false).ok()? {
        Contents::Empty => Some(Vec::new()),
        Contents::Earlier(files) => Some(files),
        Contents::Foreign(_) => None,
    }
}

#[cfg(unix)]
fn is_alive(pid: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    Pid::from_raw(pid).is_none_or(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_alive(_: i32) -> bool {
    true
}

/// Removes leftovers in `parent`.
pub(super) fn remove_leftovers(parent: &Path, filter: LeftoverFilter<'_>) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(files) = leftover(parent, &name, filter) {
            remove(&parent.join(name), &files);
        }
    }
}
