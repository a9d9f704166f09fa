//! Storage: where the files of a store are kept.

use std::fmt::Debug;
use std::io;

/// Files by their names, such as `plan.json` and `parts/KEY.parquet`. Called on several threads.
pub trait Storage: Debug + Send + Sync {
    /// Returns the path or address of the storage, as it is shown.
    fn address(&self) -> String;

    /// Returns the path or address of a file.
    fn path(&self, name: &str) -> String;

    /// Creates a folder, if the storage has such.
    ///
    /// # Errors
    /// If the storage cannot be written.
    fn create_folder(&self, folder: &str) -> io::Result<()>;

    /// Returns the names of a folder's files and folders, without the folder's own; none if there is no such
    /// folder. The folder `""` is the storage itself.
    ///
    /// # Errors
    /// If the storage cannot be read.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Returns the contents of a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is no such file; others if the storage cannot be read.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// Returns the contents of several files, in the order of their names.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    fn read_many(&self, names: &[String]) -> io::Result<Vec<Vec<u8>>> {
        names.iter().map(|name| self.read(name)).collect()
    }

    /// Writes a file, whole or not at all, and replaces an earlier one of this name.
    ///
    /// # Errors
    /// If the storage cannot be written.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Writes a file, whole or not at all, unless one of this name is there. Returns false if one is. Where
    /// that takes two steps, as here, the last of several writers at the same time may replace the others.
    ///
    /// # Errors
    /// If the storage cannot be read or written.
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        match self.read(name) {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.write(name, bytes).map(|()| true),
            Err(error) => Err(error),
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    /// If there is no such file, or the storage cannot be written.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Removes partly written files of killed processes from a folder.
    fn remove_leftovers(&self, folder: &str) {
        let _ = folder;
    }
}
