//! Files written aside, and their removal if the process that wrote them was killed.
//!
//! The name identifies the writer: `KEY.parquet.HOST-PROCESS.tmp`. A file of a running process is never
//! removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Age above which a file is a leftover, whichever process wrote it: a part is written in less than a second.
const OLD: Duration = Duration::from_hours(1);

/// Returns the path at which this process writes the contents of `path` before it renames them.
pub(super) fn aside(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.{}-{}.tmp", path.display(), host(), std::process::id()))
}

/// Returns this machine's name, in letters that a file name may have.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

/// Removes the files of dead processes from a folder.
pub(super) fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "tmp") && is_left_over(&path) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Returns true if no process still writes a file: it is old, or its process on this machine has ended.
fn is_left_over(path: &Path) -> bool {
    let age = fs::metadata(path).and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
    if age.is_some_and(|age| age > OLD) {
        return true;
    }
    let writer = path.file_stem().and_then(|stem| Path::new(stem).extension()?.to_str());
    match writer.and_then(|writer| writer.rsplit_once('-')) {
        Some((machine, process)) => machine == host() && is_dead(process),
        None => false,
    }
}

/// Returns true if this system lists its processes and this one is not among them.
fn is_dead(process: &str) -> bool {
    Path::new("/proc/self").exists() && !Path::new("/proc").join(process).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().expect("a directory");
        let write = |name: String| {
            let path = folder.path().join(name);
            fs::write(&path, "half").expect("written");
            path
        };
        let part = folder.path().join("key.parquet");
        let own = aside(&part);
        fs::write(&own, "half").expect("written");
        // Above the largest process identifier of Linux.
        let dead = write(format!("key.parquet.{}-4194305.tmp", host()));
        let other = write("key.parquet.elsewhere-4194305.tmp".to_owned());
        let file = write("key.parquet".to_owned());
        let old = write("old.parquet.elsewhere-1.tmp".to_owned());
        let time = std::time::SystemTime::now() - 2 * OLD;
        fs::File::options().write(true).open(&old).and_then(|file| file.set_modified(time)).expect("a time");
        remove(folder.path());
        let exists = [&own, &other, &file, &old].map(|path| path.exists());
        assert_eq!(exists, [true, true, true, false]);
        assert!(!cfg!(target_os = "linux") || !dead.exists());
    }
}
