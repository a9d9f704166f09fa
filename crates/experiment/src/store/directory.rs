//! Storage in a directory of the file system: files are written aside and renamed.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::leftovers;
use super::storage::Storage;

/// Storage in a directory, which need not exist.
#[derive(Clone, Debug)]
pub struct Directory {
    folder: PathBuf,
}

impl Directory {
    /// Returns the storage in this directory.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn file(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.folder.clone() } else { self.folder.join(name) }
    }
}

impl Storage for Directory {
    fn address(&self) -> String {
        self.folder.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        fs::create_dir_all(self.file(folder))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.file(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.file(name))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.file(name);
        let aside = leftovers::aside(&path);
        let written = write_synced(&aside, bytes).and_then(|()| fs::rename(&aside, &path));
        if written.is_err() {
            let _ = fs::remove_file(&aside);
        }
        written
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        // One at a time in a process, whose name the file aside has.
        static CREATING: Mutex<()> = Mutex::new(());
        let _one = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.file(name);
        let aside = leftovers::aside(&path);
        // A link, unlike a renamed file, replaces nothing.
        let linked = write_synced(&aside, bytes).and_then(|()| fs::hard_link(&aside, &path));
        let created = match linked {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            // The file system has no links.
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {
                match path.try_exists() {
                    Ok(true) => Ok(false),
                    Ok(false) => fs::rename(&aside, &path).map(|()| true),
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        // Gone if it was renamed.
        let _ = fs::remove_file(&aside);
        created
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.file(name))
    }

    fn remove_leftovers(&self, folder: &str) {
        leftovers::remove(&self.file(folder));
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}
