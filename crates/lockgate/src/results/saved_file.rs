//! File under a name of the user's choice: written whole or not at all, and only over one that Lockgate
//! wrote.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use super::SavedFileError;
use super::directory::{check_writable, kind};
use crate::files::words;
use crate::io_error::of_writing;

/// File to be written.
#[derive(Debug)]
pub struct SavedFile {
    path: PathBuf,
    /// Mark of every file of this kind: an existing file without it is not replaced.
    mark: Mark,
}

/// Mark by which a file that Lockgate wrote is recognised.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// It begins with this.
    Head(&'static [u8]),
    /// Its whole text is of this form.
    Form(fn(&str) -> bool),
}

impl SavedFile {
    /// Prepares a file at `path`, whose text will begin with `head`.
    ///
    /// # Errors
    /// If something else exists there, or it cannot be written.
    pub fn start(path: &Path, head: &'static str) -> Result<Self, SavedFileError> {
        Self::start_bytes(path, head.as_bytes())
    }

    /// Prepares a file at `path`, whose bytes will begin with `head`.
    ///
    /// # Errors
    /// If something else exists there, or it cannot be written.
    pub fn start_bytes(path: &Path, head: &'static [u8]) -> Result<Self, SavedFileError> {
        Self { path: path.to_path_buf(), mark: Mark::Head(head) }.checked()
    }

    /// Prepares a file at `path`, whose text will be of a form that `is_ours` recognises.
    ///
    /// # Errors
    /// If something else exists there, or it cannot be written.
    pub fn start_form(path: &Path, is_ours: fn(&str) -> bool) -> Result<Self, SavedFileError> {
        Self { path: path.to_path_buf(), mark: Mark::Form(is_ours) }.checked()
    }

    fn checked(self) -> Result<Self, SavedFileError> {
        match self.obstacle() {
            Some(why) => Err(SavedFileError::Unsuitable { file: self.path, why }),
            None => Ok(self),
        }
    }

    fn parent(&self) -> &Path {
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new("."))
    }

    /// Returns the directory that contains it.
    pub fn directory(&self) -> Option<PathBuf> {
        fs::canonicalize(self.parent()).ok()
    }

    /// Returns the reason why it cannot be written, if any.
    fn obstacle(&self) -> Option<String> {
        if self.path.file_name().is_none() {
            return Some("it is not a name of a file".to_owned());
        }
        if let Err(error) = fs::read_dir(self.parent()) {
            return Some(of_writing(&error));
        }
        match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_symlink() => Some("it is a symbolic link".to_owned()),
            Ok(found) if !found.is_file() => Some(kind(&found).to_owned()),
            Ok(found) if found.len() > 0 && !self.is_ours() => {
                Some("it is a file of yours, which this would replace".to_owned())
            }
            Ok(_) => check_writable_file(&self.path)
                .and_then(|()| self.try_draft())
                .err()
                .map(|error| words(&error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.try_draft().err().map(|error| words(&error))
            }
            Err(error) => Some(words(&error)),
        }
    }

    fn is_ours(&self) -> bool {
        match self.mark {
            Mark::Head(head) => {
                let mut start = vec![0; head.len()];
                let read = fs::File::open(&self.path).and_then(|mut file| file.read_exact(&mut start));
                read.is_ok() && start == head
            }
            Mark::Form(is_ours) => fs::read_to_string(&self.path).is_ok_and(|text| is_ours(&text)),
        }
    }

    /// Tries to create a file beside it.
    fn try_draft(&self) -> io::Result<()> {
        check_writable(self.parent())?;
        self.draft().map(drop)
    }

    fn draft(&self) -> io::Result<NamedTempFile> {
        let mut builder = Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder.prefix(".lockgate-").tempfile_in(self.parent())
    }

    /// Writes the file. If another file has appeared there since [`start`](Self::start), that one is kept,
    /// and the text is written beside it.
    ///
    /// # Errors
    /// If it cannot be written, or had to be written beside its place.
    pub fn write(&self, contents: impl AsRef<[u8]>) -> Result<(), SavedFileError> {
        let contents = contents.as_ref();
        let is_marked = match self.mark {
            Mark::Head(head) => contents.starts_with(head),
            Mark::Form(is_ours) => core::str::from_utf8(contents).is_ok_and(is_ours),
        };
        debug_assert!(is_marked, "the next run must know it for one of ours");
        let failed = |source: io::Error| SavedFileError::Failed { file: self.path.clone(), source };
        let mut draft = self.draft().map_err(failed)?;
        draft.write_all(contents).and_then(|()| draft.flush()).map_err(failed)?;
        let found = fs::symlink_metadata(&self.path);
        if let Ok(found) = found.as_ref().map(fs::Metadata::permissions) {
            let _ = draft.as_file().set_permissions(found);
        }
        if found.is_ok_and(|found| found.is_file() && (found.len() == 0 || self.is_ours())) {
            return draft.persist(&self.path).map(drop).map_err(|error| failed(error.error));
        }
        let mut path = self.path.clone();
        for again in 2.. {
            match draft.persist_noclobber(&path) {
                Ok(_) => break,
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    draft = error.file;
                    let mut name = self.path.file_name().unwrap_or_default().to_os_string();
                    name.push(format!("-{again}"));
                    path = self.path.with_file_name(name);
                }
                Err(error) => return Err(failed(error.error)),
            }
        }
        if path == self.path {
            return Ok(());
        }
        Err(SavedFileError::SetAside { file: self.path.clone(), written: path })
    }
}

#[cfg(unix)]
fn check_writable_file(file: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    Ok(access(file, Access::WRITE_OK)?)
}

#[cfg(not(unix))]
fn check_writable_file(_: &Path) -> io::Result<()> {
    Ok(())
}
