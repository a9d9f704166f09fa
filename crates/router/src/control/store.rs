//! State of a router on disk: its history, in two files of the same content.
//!
//! Each file is written beside its name, synchronised and renamed, the copy first. A file has a checksum in
//! its first line, so a torn one is recognised, and the other is used.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::history::History;

/// First word and version of the files.
const HEAD: &str = "lockgate-router-history 1";

/// Names of the two files: the one that counts, and its copy.
const FILE: &str = "history";
const COPY: &str = "history.copy";

/// Name of the file of the safe rates.
const RATES: &str = "rates";

/// Beginning of the name of an empty file; the rest is the number of a stored trial that never ran.
const REFUSED: &str = "refused-";

/// Longest file that is read, in bytes: twice ten policies of the longest request, with their differences.
const LONGEST_FILE_BYTES: u64 = 512 << 20;

/// Place of a history that outlives the process.
pub trait Storage {
    /// Replaces the stored history.
    ///
    /// # Errors
    /// If it cannot be written; the stored history is then the one before.
    fn save(&mut self, history: &History) -> Result<(), StoreError>;

    /// Marks the stored trial of this number as refused, after a failure to store a history without it. The
    /// mark holds until the next history is stored. It takes no room, and nothing depends on it.
    fn mark_refused(&mut self, number: u64) {
        let _ = number;
    }
}

/// Failure of the state directory.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or directory cannot be read or written.
    #[error("cannot {what} `{}`: {why}", path.display())]
    Unreachable {
        /// Operation.
        what: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error of the system.
        why: io::Error,
    },
    /// Another user could replace what the router keeps there.
    #[error("the directory `{}` {why}: another user could replace the router's policy", path.display())]
    Exposed {
        /// Directory.
        path: PathBuf,
        /// Owner or mode that permits it.
        why: String,
    },
    /// Neither file is whole.
    #[error("the router's state in `{}` is damaged: {why}", path.display())]
    Damaged {
        /// State directory.
        path: PathBuf,
        /// Damage of each file.
        why: String,
    },
}

impl StoreError {
    /// Returns the remedy.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unreachable { why, .. } if why.kind() == io::ErrorKind::StorageFull => {
                "make room, or name another directory with --state"
            }
            Self::Unreachable { .. } => "mend it, or name another directory with --state",
            Self::Exposed { .. } => {
                "make it yours alone (chown, chmod go-w), or name another directory with --state"
            }
            Self::Damaged { .. } => {
                "--fresh starts from the file with a new history, and keeps the damaged files"
            }
        }
    }
}

/// History as found on disk.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The history; empty before the first start.
    pub history: History,
    /// Damage that the copy made up for; empty: none.
    pub repaired: String,
}

/// Longest file of safe rates that is read, in bytes.
const LONGEST_RATES_BYTES: u64 = 1 << 20;

/// State directory.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Content of one file.
enum Content {
    Absent,
    Whole(History),
    Damaged(String),
}

impl Store {
    /// Opens the state directory, creating it for the present user alone.
    ///
    /// # Errors
    /// If it cannot be created, or another user could replace its files.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        claim_directory(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Returns the stored history.
    ///
    /// # Errors
    /// If both files are damaged, or cannot be read.
    pub fn load(&self) -> Result<Loaded, StoreError> {
        let mut loaded = self.load_either()?;
        self.refused().for_each(|(number, _)| loaded.history.forget_trial(number));
        Ok(loaded)
    }

    /// Returns the marks of [`Storage::mark_refused`]: their numbers and their files.
    fn refused(&self) -> impl Iterator<Item = (u64, PathBuf)> {
        let paths = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        paths.filter_map(|path| {
            let number = path.file_name()?.to_str()?.strip_prefix(REFUSED)?.parse().ok()?;
            Some((number, path))
        })
    }

    fn load_either(&self) -> Result<Loaded, StoreError> {
        let (file, copy) = (self.read(FILE)?, self.read(COPY)?);
        let damage = match file {
            Content::Whole(history) => return Ok(Loaded { history, repaired: String::new() }),
            Content::Absent if matches!(copy, Content::Absent) => return Ok(Loaded::default()),
            Content::Absent => format!("`{FILE}` is not there"),
            Content::Damaged(why) => format!("`{FILE}` {why}"),
        };
        match copy {
            Content::Whole(history) => {
                Ok(Loaded { history, repaired: format!("{damage}; its copy is used") })
            }
            Content::Absent => Err(self.damaged(format!("{damage}, and it has no copy"))),
            Content::Damaged(why) => Err(self.damaged(format!("{damage}, and its copy {why}"))),
        }
    }

    /// Returns the stored safe rates in bit/s, by port; `None` without any, or if they cannot be read: a
    /// start does without.
    pub(super) fn load_rates(&self) -> Option<BTreeMap<String, u64>> {
        let file = open_file(&self.folder.join(RATES), File::options().read(true)).ok()?;
        let mut bytes = Vec::new();
        file.take(LONGEST_RATES_BYTES).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Stores the safe rates, all or none.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn save_rates(&self, rates: &BTreeMap<String, u64>) -> Result<(), StoreError> {
        let path = self.folder.join(RATES);
        let bytes = serde_json::to_vec(rates).map_err(|why| unreachable("write", &path, why.into()))?;
        self.write(RATES, &bytes)
    }

    /// Creates a file of this name for the present user alone, or empties it.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        open_file(&self.folder.join(name), File::options().write(true).create(true).truncate(true))
    }

    /// Moves damaged files aside, so that a new history can begin.
    ///
    /// # Errors
    /// If a file cannot be renamed.
    pub fn set_aside(&self) -> Result<(), StoreError> {
        for name in [FILE, COPY] {
            let path = self.folder.join(name);
            let aside = self.folder.join(format!("{name}.damaged"));
            match fs::rename(&path, aside) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    return Err(unreachable("move aside", &path, why));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn damaged(&self, why: String) -> StoreError {
        StoreError::Damaged { path: self.folder.clone(), why }
    }

    fn read(&self, name: &str) -> Result<Content, StoreError> {
        let path = self.folder.join(name);
        let mut bytes = Vec::new();
        let read = open_file(&path, File::options().read(true))
            .and_then(|file| file.take(LONGEST_FILE_BYTES + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) if bytes.len() as u64 > LONGEST_FILE_BYTES => {
                Ok(Content::Damaged("is too long".to_owned()))
            }
            Ok(_) => Ok(decode(&bytes).map_or_else(Content::Damaged, Content::Whole)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Content::Absent),
            Err(why) => Err(unreachable("read", &path, why)),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        let aside = self.folder.join(format!("{name}.new"));
        let written = write_private(&aside, bytes).and_then(|()| fs::rename(&aside, &path));
        if let Err(why) = written {
            let _ = fs::remove_file(&aside);
            return Err(unreachable("write", &path, why));
        }
        // The rename is durable once its directory is synchronised. Not an error: the file is already in
        // place.
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Storage for Store {
    fn save(&mut self, history: &History) -> Result<(), StoreError> {
        let bytes = encode(history).map_err(|error| unreachable("write", &self.folder, error.into()))?;
        self.write(COPY, &bytes)?;
        self.write(FILE, &bytes)?;
        for (_, path) in self.refused() {
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    fn mark_refused(&mut self, number: u64) {
        let path = self.folder.join(format!("{REFUSED}{number}"));
        let _ = open_file(&path, File::options().write(true).create_new(true));
    }
}

fn unreachable(what: &'static str, path: &Path, why: io::Error) -> StoreError {
    StoreError::Unreachable { what, path: path.to_owned(), why }
}

fn encode(history: &History) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = serde_json::to_vec(history)?;
    body.push(b'\n');
    let mut bytes = format!("{HEAD} {}\n", checksum(&body)).into_bytes();
    bytes.append(&mut body);
    Ok(bytes)
}

/// Decodes a file, or returns its damage in words.
fn decode(bytes: &[u8]) -> Result<History, String> {
    let end = bytes.iter().position(|byte| *byte == b'\n').ok_or("has no first line")?;
    let head = core::str::from_utf8(&bytes[..end]).map_err(|_| "has no first line")?;
    let sum = head.strip_prefix(HEAD).ok_or("is of another version of Lockgate, or none of its files")?;
    let body = &bytes[end + 1..];
    if sum.trim() != checksum(body) {
        return Err("is not whole: its checksum is wrong".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| format!("cannot be read: {error}"))
}

fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Creates a directory for the present user alone, or checks that no other user can write to the present one.
///
/// # Errors
/// If it cannot be created, or it is [exposed](check_exposure).
pub(super) fn claim_directory(folder: &Path) -> Result<(), StoreError> {
    check_exposure(folder)?;
    create_private(folder).map_err(|why| unreachable("create the directory", folder, why))
}

/// Checks that no other user can write to a directory, or put another one in its place. Of one that is not
/// there, checks those above it.
///
/// # Errors
/// If it, or a directory above it, belongs to another user than the present one and the superuser, or its
/// mode permits others to write. Above it, the sticky bit keeps others from renaming.
pub(super) fn check_exposure(folder: &Path) -> Result<(), StoreError> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;

        let metadata_of =
            |path: &Path| fs::metadata(path).map_err(|why| unreachable("read the owner of", path, why));
        let absolute = std::path::absolute(folder).map_err(|why| unreachable("resolve", folder, why))?;
        let Some(present) = absolute.ancestors().find(|path| path.exists()) else { return Ok(()) };
        let is_there = present == absolute;
        let present = fs::canonicalize(present).map_err(|why| unreachable("resolve", present, why))?;
        // Within a user namespace the superuser of the host has another number.
        let host = metadata_of(Path::new("/"))?.uid();
        let own = [0, rustix::process::geteuid().as_raw()];
        for (depth, path) in present.ancestors().enumerate() {
            let metadata = metadata_of(path)?;
            let (owner, mode) = (metadata.uid(), metadata.mode());
            let is_above = depth > 0 || !is_there;
            let why = if !(own.contains(&owner) || is_above && owner == host) {
                format!("belongs to user {owner}")
            } else if mode & 0o022 != 0 && !(is_above && mode & 0o1000 != 0) {
                format!("has the mode {:04o}", mode & 0o7777)
            } else {
                continue;
            };
            return Err(StoreError::Exposed { path: path.to_owned(), why });
        }
    }
    Ok(())
}

/// Creates a directory for the present user alone. Its parents are readable by all users, because they also
/// contain the directories of other users' routers.
fn create_private(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    #[cfg_attr(not(unix), allow(unused_mut, reason = "modes are of Unix"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a regular file, which is for the present user alone if it is created. A link is not followed, and a
/// pipe or a device does not block.
pub(super) fn open_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;

        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| {
        let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
        if is_link { not_a_file("a link") } else { error }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_a_file("not a regular file")) }
}

fn not_a_file(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}"))
}

/// Writes a file for the present user alone, and synchronises it.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A draft that a killed router left, or a link.
    let _ = fs::remove_file(path);
    let mut file = open_file(path, File::options().write(true).create_new(true))?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
