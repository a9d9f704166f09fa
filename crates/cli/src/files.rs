//! The files of a run: those a scenario names, and the directory it leaves, whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lockgate_scenario::Files;

use crate::exit::Failure;

/// The largest file read into memory.
const LARGEST: u64 = 1 << 30;

/// Files beside a scenario, else where the user is.
pub(crate) struct Beside {
    folder: PathBuf,
}

impl Beside {
    pub(crate) fn new(scenario: &Path) -> Self {
        Self { folder: scenario.parent().map(Path::to_path_buf).unwrap_or_default() }
    }
}

impl Files for Beside {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        let beside = self.folder.join(path);
        let found = if beside.exists() { beside } else { PathBuf::from(path) };
        read(&found, LARGEST).map(Into::into)
    }
}

/// The text of a file that is no scenario.
pub(crate) fn text(path: &Path) -> Result<String, String> {
    String::from_utf8(read(path, LARGEST)?).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// A file of up to `most` bytes. What has no end (a device, a pipe) is read so far, too, and no further.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let file = fs::File::open(path).map_err(|error| words(&error))?;
    let size = file.metadata().map_err(|error| words(&error))?.len();
    let mut bytes = Vec::new();
    if size <= most {
        file.take(most + 1).read_to_end(&mut bytes).map_err(|error| words(&error))?;
    }
    if size.max(bytes.len() as u64) > most {
        return Err(format!("it is longer than the {most} bytes that are read at most"));
    }
    Ok(bytes)
}

/// A scenario's text.
pub(crate) fn scenario_text(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let bytes = read(path, LARGEST)
        .map_err(|why| Failure::usage(format!("cannot read `{shown}`: {why}"), "name a scenario file"))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(
            format!("`{shown}` is not a scenario: byte {at} is not UTF-8 text"),
            "scenario files are TOML; see `lockgate run --help` for examples",
        )
    })
}

/// What an I/O error says, in lower case and without its number.
pub(crate) fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::StorageFull => "there is no room on the disk".to_owned(),
        io::ErrorKind::QuotaExceeded => "your share of the disk is used up".to_owned(),
        _ => error.to_string().to_lowercase(),
    }
}

/// Whether there was no room.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// There was no room: this host's affair, not the run's.
fn full(message: String) -> Failure {
    Failure::Missing {
        message,
        help: "make room, or name another place with --out; nothing was left there".to_owned(),
    }
}

/// Directories under construction, to be removed when the process is aborted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what is half-written.
pub(crate) fn clean_up() {
    if let Ok(unfinished) = UNFINISHED.lock() {
        for directory in unfinished.iter() {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// A directory of results under construction. It appears under its name when it is [finished](Self::finish);
/// until then, and if that never comes, nothing of that name is touched.
pub(crate) struct Results {
    target: PathBuf,
    draft: PathBuf,
    finished: bool,
}

impl Results {
    /// Starts a directory at `out`, or at `runs/<title>-<time>`.
    pub(crate) fn start(out: Option<&Path>, title: &str) -> Result<Self, Failure> {
        let target = out.map_or_else(|| default_target(title), Path::to_path_buf);
        if target.is_file() {
            return Err(unwritable(&target, "it is a file"));
        }
        if target.is_dir() && !is_replaceable(&target) {
            return Err(unwritable(&target, "it is a directory with other things in it"));
        }
        let name =
            target.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
        let parent =
            target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let draft = parent.join(format!(".{name}.{}.partial", std::process::id()));
        fs::create_dir_all(&draft).map_err(|error| {
            if is_full(&error) {
                return full(format!("cannot write results to `{}`: {}", target.display(), words(&error)));
            }
            unwritable(&target, &words(&error))
        })?;
        if let Ok(mut unfinished) = UNFINISHED.lock() {
            unfinished.push(draft.clone());
        }
        Ok(Self { target, draft, finished: false })
    }

    /// Writes one file.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
        fs::write(self.draft.join(name), contents).map_err(|error| self.failed(name, &error))
    }

    /// Writes one file by `fill`.
    pub(crate) fn write_with<E: std::fmt::Display>(
        &self,
        name: &str,
        fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), E>,
    ) -> Result<(), Failure> {
        let created = fs::File::create(self.draft.join(name)).map_err(|error| self.failed(name, &error))?;
        let mut writer = BufWriter::new(created);
        fill(&mut writer).map_err(|error| {
            Failure::run(format!("cannot write `{name}`: {error}"), "is there room on the disk?")
        })?;
        writer.flush().map_err(|error| self.failed(name, &error))
    }

    fn failed(&self, name: &str, error: &io::Error) -> Failure {
        let shown = self.target.join(name);
        let message = format!("cannot write `{}`: {}", shown.display(), words(error));
        if is_full(error) {
            return full(message);
        }
        Failure::run(message, "is the disk still there?")
    }

    /// Puts the directory in its place, replacing an earlier run's, and returns where it is.
    pub(crate) fn finish(mut self) -> Result<PathBuf, Failure> {
        let failed = |error: io::Error| unwritable(&self.target, &words(&error));
        if self.target.exists() {
            let old = self.draft.with_extension("old");
            fs::rename(&self.target, &old).map_err(failed)?;
            fs::rename(&self.draft, &self.target).map_err(|error| {
                let _ = fs::rename(&old, &self.target);
                failed(error)
            })?;
            let _ = fs::remove_dir_all(&old);
        } else {
            fs::rename(&self.draft, &self.target).map_err(failed)?;
        }
        self.finished = true;
        Ok(self.target.clone())
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_dir_all(&self.draft);
        }
        if let Ok(mut unfinished) = UNFINISHED.lock() {
            unfinished.retain(|draft| *draft != self.draft);
        }
    }
}

fn unwritable(target: &Path, why: &str) -> Failure {
    Failure::usage(
        format!("cannot write results to `{}`: {why}", target.display()),
        "name a new directory, or that of an earlier run, with --out",
    )
}

/// An empty directory, or an earlier run.
fn is_replaceable(directory: &Path) -> bool {
    directory.join("manifest.json").is_file()
        || fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
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
        if !target.exists() {
            break;
        }
        target = base.join(format!("{name}-{again}"));
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_take_its_place_leaves_the_earlier_run() {
        let place = tempfile::tempdir().expect("a directory");
        let target = place.path().join("out");
        let first = Results::start(Some(&target), "t").expect("starts");
        first.write("manifest.json", "first").expect("written");
        first.finish().expect("in its place");
        let second = Results::start(Some(&target), "t").expect("starts");
        fs::remove_dir_all(&second.draft).expect("lost meanwhile");
        assert!(second.finish().is_err());
        assert_eq!(fs::read_to_string(target.join("manifest.json")).expect("still there"), "first");
        assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_not_read_for_ever() {
        assert!(
            read(Path::new("/dev/zero"), 1_000).is_err_and(|why| why.contains("longer than the 1000 bytes"))
        );
        assert_eq!(read(Path::new("/dev/null"), 1_000), Ok(Vec::new()));
    }
}
