//! Results directory of a command, written whole or not at all.
//!
//! ```text
//! start:   inspect the target -> refuse, or create the draft `.NAME.PID.partial`
//! finish:  inspect again -> rename the draft, or exchange it with an earlier run's, remove the latter
//! ```
//!
//! Invariant: a directory is replaced only if it is empty, or holds the files of an earlier run and nothing
//! else ([`earlier`]).

mod draft;
mod manifest;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use self::draft::remove_unfinished;
use self::draft::{Draft, LeftoverFilter, is_leftover, remove_leftovers};
use self::manifest::{Contents, FORMAT, INTERIM, MANIFEST, Marked, contents, is_known, remove};
use super::WriteError;
use crate::files::words;

/// State of the target at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    /// Nothing exists there.
    Free,
    /// A directory that can be exchanged with the draft beside it.
    Beside,
    /// A directory that must stay: the current one, a mount point, one in a directory that is not writable.
    /// The draft is inside it, and files are replaced one by one.
    Inside,
}

/// Results directory under construction. It appears under its name only when it is [finished](Self::finish);
/// until then nothing of that name is changed.
#[derive(Debug)]
pub struct ResultsDirectory {
    target: PathBuf,
    /// Path as the user wrote it.
    shown: PathBuf,
    state: Target,
    /// True if Lockgate chose the name.
    is_default: bool,
    /// `None` once finished.
    draft: Option<Draft>,
}

impl ResultsDirectory {
    /// Starts a directory at `out`, or at `runs/<title>-<time>`.
    ///
    /// # Errors
    /// If something else than the results of an earlier run exists there, or the directory cannot be written.
    pub fn start(out: Option<&Path>, title: &str) -> Result<Self, WriteError> {
        let shown = out.map_or_else(|| default_target(title), Path::to_path_buf);
        let refused = |error: io::Error| unsuitable(&shown, &words(&error));
        let target = plain(&shown).map_err(refused)?;
        let state = inspect(&target, &shown)?;
        let (parent, name) = split(&target);
        let parent = if state == Target::Inside { target.as_path() } else { parent };
        let draft = fs::create_dir_all(parent).and_then(|()| Draft::create(parent, &name));
        let draft = draft.map_err(|source| {
            if is_full(&source) {
                full(format!("results to `{}`", shown.display()), source)
            } else {
                refused(source)
            }
        })?;
        Ok(Self { target, shown, state, is_default: out.is_none(), draft: Some(draft) })
    }

    fn draft(&self) -> &Path {
        &self.draft.as_ref().expect("a draft until it is finished").path
    }

    /// Writes one file, whose name is one of those that Lockgate writes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Result<(), WriteError> {
        debug_assert!(is_known(name), "the next run must know `{name}` for one of ours");
        fs::write(self.draft().join(name), contents).map_err(|error| self.failed(name, error))
    }

    /// Writes one file by the callback `fill`.
    ///
    /// # Errors
    /// If it cannot be written, or the callback fails.
    pub fn write_with<E: std::fmt::Display>(
        &self,
        name: &str,
        fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), E>,
    ) -> Result<(), WriteError> {
        debug_assert!(is_known(name), "the next run must know `{name}` for one of ours");
        let created = fs::File::create(self.draft().join(name)).map_err(|error| self.failed(name, error))?;
        let mut writer = BufWriter::new(created);
        fill(&mut writer)
            .map_err(|error| WriteError::Contents { name: name.to_owned(), why: error.to_string() })?;
        writer.flush().map_err(|error| self.failed(name, error))
    }

    fn failed(&self, name: &str, source: io::Error) -> WriteError {
        let file = self.shown.join(name);
        if is_full(&source) {
            return full(format!("`{}`", file.display()), source);
        }
        WriteError::File { file, source }
    }

    /// Writes the manifest, moves the directory to its place, replacing an earlier run's, and returns its
    /// path.
    ///
    /// # Errors
    /// If it cannot be moved there. Anything that appeared there during the run is kept, and the results are
    /// then beside it.
    pub fn finish(mut self, manifest: &impl Serialize) -> Result<PathBuf, WriteError> {
        let files = self.names().map_err(|error| self.failed(MANIFEST, error))?;
        self.write(MANIFEST, marked(manifest, &files, false)?)?;
        let placed = match self.state {
            Target::Free => self.rename(),
            Target::Beside => self.exchange(manifest, &files),
            Target::Inside => self.replace_files(manifest, &files),
        };
        let result = match placed {
            Ok(Placed::There) => Ok(self.shown.clone()),
            Ok(Placed::Refused(why)) => self.set_aside(&why),
            Err(error) => Err(self.unplaced(error)),
        };
        if result.is_ok() {
            // Only now, because leftovers of a killed process may be the only results there are.
            let (parent, name) = split(&self.target);
            remove_leftovers(
                parent,
                if self.is_default { LeftoverFilter::Any } else { LeftoverFilter::Name(&name) },
            );
            remove_leftovers(&self.target, LeftoverFilter::Name(&name));
        }
        result
    }

    fn unplaced(&self, source: io::Error) -> WriteError {
        if is_full(&source) {
            return full(format!("results to `{}`", self.shown.display()), source);
        }
        WriteError::Unplaced { path: self.shown.clone(), source }
    }

    /// Returns the names of the files written so far.
    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.draft())?.collect::<io::Result<Vec<_>>>()?;
        let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| is_known(name) && name != MANIFEST).collect();
        names.sort();
        Ok(names)
    }

    fn keep_at(&mut self, path: &Path) {
        if let Some(draft) = self.draft.take() {
            draft.keep(path);
        }
    }

    /// Renames the draft to a free target. The system refuses to replace anything but an empty directory.
    fn rename(&mut self) -> io::Result<Placed> {
        match fs::rename(self.draft(), &self.target) {
            Ok(()) => {
                self.keep_at(&self.target.clone());
                Ok(Placed::There)
            }
            Err(_) if fs::symlink_metadata(&self.target).is_ok() => {
                Ok(Placed::Refused("something came there while the run went on".to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    /// Exchanges draft and target in one step, so that a whole directory exists there at every moment.
    fn exchange(&mut self, manifest: &impl Serialize, files: &[String]) -> io::Result<Placed> {
        let (_, name) = split(&self.target);
        remove_leftovers(&self.target, LeftoverFilter::Name(&name));
        let skipped = |_: &str| false;
        if let Contents::Foreign(entry) = contents(&self.target, &skipped)? {
            return Ok(Placed::Refused(came(&entry)));
        }
        let draft = self.draft().to_path_buf();
        if let Ok(earlier) = fs::symlink_metadata(&self.target) {
            let _ = fs::set_permissions(&draft, earlier.permissions());
        }
        if exchange(&draft, &self.target).is_err() {
            return self.replace_files(manifest, files);
        }
        // No other process writes to the earlier directory under its new name, so its contents are final.
        match contents(&draft, &skipped)? {
            Contents::Foreign(entry) => {
                exchange(&draft, &self.target)?;
                Ok(Placed::Refused(came(&entry)))
            }
            Contents::Empty => {
                self.keep_at(&self.target.clone());
                remove(&draft, &[]);
                Ok(Placed::There)
            }
            Contents::Earlier(old) => {
                self.keep_at(&self.target.clone());
                remove(&draft, &old);
                Ok(Placed::There)
            }
        }
    }

    /// Replaces the target's files one by one, each by a rename. Meanwhile a manifest names the files of both
    /// runs, so that the next run recognises them if this one is killed.
    fn replace_files(&mut self, manifest: &impl Serialize, files: &[String]) -> io::Result<Placed> {
        let draft = self.draft().to_path_buf();
        let target = self.target.clone();
        let own = draft.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (_, name) = split(&target);
        let skipped = |entry: &str| entry == own || is_leftover(&target, entry, LeftoverFilter::Name(&name));
        let old = match contents(&target, &skipped)? {
            Contents::Foreign(entry) => return Ok(Placed::Refused(came(&entry))),
            Contents::Empty => Vec::new(),
            Contents::Earlier(old) => old,
        };
        let mut both: Vec<String> =
            files.iter().chain(&old).filter(|name| *name != MANIFEST).cloned().collect();
        both.sort();
        both.dedup();
        let interim =
            marked(manifest, &both, true).map_err(|failure| io::Error::other(failure.to_string()))?;
        // From here on the draft must be kept: the target is incomplete without it.
        let moved = fs::write(draft.join(INTERIM), interim)
            .and_then(|()| fs::rename(draft.join(INTERIM), target.join(MANIFEST)))
            .and_then(|()| files.iter().try_for_each(|name| fs::rename(draft.join(name), target.join(name))));
        if let Err(error) = moved {
            if let Some(draft) = self.draft.take() {
                draft.abandon();
            }
            let (why, rest) = (words(&error), draft.display());
            return Err(io::Error::other(format!("{why}; what is missing there is in `{rest}`")));
        }
        for name in old.iter().filter(|name| *name != MANIFEST && !files.contains(name)) {
            fs::remove_file(target.join(name))?;
        }
        fs::rename(draft.join(MANIFEST), target.join(MANIFEST))?;
        if let Some(draft) = self.draft.take() {
            draft.discard();
        }
        Ok(Placed::There)
    }

    /// Moves the draft to the first free name beside the target.
    fn set_aside(&mut self, why: &str) -> Result<PathBuf, WriteError> {
        let (parent, name) = split(&self.target);
        let parent = if self.state == Target::Inside { self.target.as_path() } else { parent };
        let mut again = 2;
        let mut path = parent.join(format!("{name}-{again}"));
        while fs::symlink_metadata(&path).is_ok() {
            again += 1;
            path = parent.join(format!("{name}-{again}"));
        }
        fs::rename(self.draft(), &path).map_err(|error| self.unplaced(error))?;
        self.keep_at(&path);
        if self.is_default {
            return Ok(path);
        }
        Err(WriteError::SetAside { path: self.shown.clone(), why: why.to_owned(), results: path })
    }
}

impl Drop for ResultsDirectory {
    fn drop(&mut self) {
        if let Some(draft) = self.draft.take() {
            draft.discard();
        }
    }
}

/// Result of placing a draft.
enum Placed {
    There,
    /// Something else exists there; holds the reason why it is kept.
    Refused(String),
}

fn came(entry: &str) -> String {
    format!("`{entry}` came there while the run went on")
}

fn marked(manifest: &impl Serialize, files: &[String], incomplete: bool) -> Result<String, WriteError> {
    let marked = Marked { format: FORMAT, incomplete, manifest, files };
    Ok(super::json(&marked)?)
}

/// Normalises the target: without `.` and trailing slashes; absolute if it has no name of its own (`.`,
/// `..`).
fn plain(shown: &Path) -> io::Result<PathBuf> {
    let target: PathBuf = shown.components().collect();
    if target.file_name().is_some() { Ok(target) } else { fs::canonicalize(target) }
}

/// Returns the parent directory of a target, and its name there.
fn split(target: &Path) -> (&Path, String) {
    let name = target.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    (parent.unwrap_or(Path::new(".")), name)
}

/// Inspects the target. Refuses if it must not be replaced.
fn inspect(target: &Path, shown: &Path) -> Result<Target, WriteError> {
    let refused = |why: &str| unsuitable(shown, why);
    let found = match fs::symlink_metadata(target) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Target::Free),
        Err(error) => return Err(refused(&words(&error))),
    };
    if found.is_symlink() {
        let leads = fs::read_link(target).unwrap_or_default();
        return Err(WriteError::Link { path: shown.to_path_buf(), leads });
    }
    if !found.is_dir() {
        return Err(refused(kind(&found)));
    }
    check_writable(target).map_err(|error| refused(&words(&error)))?;
    let (parent, name) = split(target);
    let skipped = |entry: &str| is_leftover(target, entry, LeftoverFilter::Name(&name));
    if let Contents::Foreign(entry) = contents(target, &skipped).map_err(|error| refused(&words(&error)))? {
        return Err(WriteError::Foreign { path: shown.to_path_buf(), entry });
    }
    let current = std::env::current_dir().and_then(fs::canonicalize).ok();
    let must_stay = fs::canonicalize(target).ok() == current
        || is_mount_point(target, parent)
        || check_writable(parent).is_err();
    Ok(if must_stay { Target::Inside } else { Target::Beside })
}

/// Returns the kind of an entry that is neither a directory nor a link, in words.
pub(super) fn kind(found: &fs::Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return "it is a device";
        }
        if kind.is_fifo() {
            return "it is a pipe";
        }
        if kind.is_socket() {
            return "it is a socket";
        }
    }
    if found.is_dir() { "it is a directory" } else { "it is a file" }
}

#[cfg(unix)]
pub(super) fn check_writable(directory: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    Ok(access(directory, Access::WRITE_OK | Access::EXEC_OK)?)
}

#[cfg(not(unix))]
pub(super) fn check_writable(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn is_mount_point(directory: &Path, _: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    statx(CWD, directory, AtFlags::empty(), StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_mount_point(directory: &Path, parent: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    device(directory) != device(parent)
}

#[cfg(not(unix))]
fn is_mount_point(_: &Path, _: &Path) -> bool {
    false
}

/// Exchanges two directories in one step.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// True if the error is a full disk or quota.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn full(what: String, source: io::Error) -> WriteError {
    WriteError::Full { what, source }
}

fn unsuitable(path: &Path, why: &str) -> WriteError {
    WriteError::Unsuitable { path: path.to_path_buf(), why: why.to_owned() }
}

fn default_target(title: &str) -> PathBuf {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let slug: String = slug.chars().take(40).collect();
    let time = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let name = format!("{}-{time}", slug.trim_matches('-'));
    let base = Path::new("runs");
    let mut target = base.join(&name);
    for again in 2.. {
        if fs::symlink_metadata(&target).is_err() {
            break;
        }
        target = base.join(format!("{name}-{again}"));
    }
    target
}

#[cfg(test)]
mod tests;
