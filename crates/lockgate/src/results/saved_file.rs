//! File under a name of the user's choice: written whole or not at all, and only over one that Lockgate
//! wrote.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use super::SavedFileError;
use super::directory::{check_writable, kind};
use crate::files::words;

/// File to be written.
#[derive(Debug)]
pub struct SavedFile {
    path: PathBuf,
    /// Beginning of every file of this kind: an existing file without it is not replaced.
    head: &'static str,
}

impl SavedFile {
    /// Prepares a file at `path`, whose text will begin with `head`.
    ///
    /// # Errors
    /// If something else exists there, or it cannot be written.
    pub fn start(path: &Path, head: &'static str) -> Result<Self, SavedFileError> {
        let saved = Self { path: path.to_path_buf(), head };
        match saved.obstacle() {
            Some(why) => Err(SavedFileError::Unsuitable { file: saved.path, why }),
            None => Ok(saved),
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
            return Some("it is no name of a file".to_owned());
        }
        if let Err(error) = fs::read_dir(self.parent()) {
            return Some(match error.kind() {
                io::ErrorKind::NotFound => "there is no such directory".to_owned(),
                _ => words(&error),
            });
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
        let mut start = vec![0; self.head.len()];
        let read = fs::File::open(&self.path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == self.head.as_bytes()
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

    /// Writes it. A file that appeared there since [`start`](Self::start) is kept, and the text is then
    /// beside it.
    ///
    /// # Errors
    /// If it cannot be written, or had to be written beside its place.
    pub fn write(&self, text: &str) -> Result<(), SavedFileError> {
        debug_assert!(text.starts_with(self.head), "the next run must know it for one of ours");
        let failed = |source: io::Error| SavedFileError::Failed { file: self.path.clone(), source };
        let mut draft = self.draft().map_err(failed)?;
        draft.write_all(text.as_bytes()).and_then(|()| draft.flush()).map_err(failed)?;
        let found = fs::symlink_metadata(&self.path);
        if let Ok(found) = found.as_ref().map(fs::Metadata::permissions) {
            let _ = draft.as_file().set_permissions(found);
        }
        if found.is_ok_and(|found| found.is_file() && (found.len() == 0 || self.is_ours())) {
            return draft.persist(&self.path).map(drop).map_err(|error| failed(error.error));
        }
        let mut place = self.path.clone();
        for again in 2.. {
            match draft.persist_noclobber(&place) {
                Ok(_) => break,
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    draft = error.file;
                    let mut name = self.path.file_name().unwrap_or_default().to_os_string();
                    name.push(format!("-{again}"));
                    place = self.path.with_file_name(name);
                }
                Err(error) => return Err(failed(error.error)),
            }
        }
        if place == self.path {
            return Ok(());
        }
        Err(SavedFileError::SetAside { file: self.path.clone(), written: place })
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
