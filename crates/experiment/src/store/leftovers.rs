//! Files written aside, and their removal if the process that wrote them was killed.
//!
//! The name identifies the file and the writer: `KEY.parquet.HOST-PROCESS.tmp`. A file of a running process
//! is never removed, nor is one with another name.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{KEY, PLAN, SCENARIO, TABLE, is_key};

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

/// Returns true if a name is that of a store's file written aside.
pub(super) fn is_aside(name: &str) -> bool {
    writer(name).is_some()
}

/// Returns the machine and the process in the name of a store's file written aside; `None` for other names.
fn writer(name: &str) -> Option<(&str, &str)> {
    let rest = [PLAN, SCENARIO, TABLE].iter().find_map(|file| name.strip_prefix(file));
    let rest = rest.or_else(|| {
        let (_, rest) = name.split_at_checked(KEY).filter(|(key, _)| is_key(key))?;
        rest.strip_prefix(".parquet").or_else(|| rest.strip_prefix(".json"))
    });
    let (machine, process) = rest?.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('-')?;
    process.bytes().all(|digit| digit.is_ascii_digit()).then_some((machine, process))
}

/// Removes the files of dead processes from a folder. A folder that is a link is another's, and stays as it
/// is.
pub(super) fn remove(folder: &Path) {
    if fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_left_over(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns true for a store's file written aside that no process still writes: it is old, or its process on
/// this machine has ended.
fn is_left_over(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let Some((machine, process)) = name.to_str().and_then(writer) else { return false };
    // Not of a link's target.
    let Some(found) = entry.metadata().ok().filter(fs::Metadata::is_file) else { return false };
    let age = found.modified().ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age > OLD) || (machine == host() && is_dead(process))
}

/// Returns true if this system lists its processes and this one is not among them.
fn is_dead(process: &str) -> bool {
    Path::new("/proc/self").exists() && !Path::new("/proc").join(process).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stores_files_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().expect("a directory");
        let key = "0f".repeat(KEY / 2);
        let time = std::time::SystemTime::now() - 2 * OLD;
        let write = |name: String, is_old: bool| {
            let path = folder.path().join(name);
            let file = fs::File::create(&path).expect("written");
            if is_old {
                file.set_modified(time).expect("a time");
            }
            path
        };
        let own = aside(&folder.path().join(format!("{key}.parquet")));
        fs::write(&own, "half").expect("written");
        // Above the largest process identifier of Linux.
        let dead = write(format!("{key}.json.{}-4194305.tmp", host()), false);
        let other = write(format!("{key}.parquet.else-where.example-4194305.tmp"), false);
        let file = write(format!("{key}.parquet"), true);
        let olds =
            ["plan.json.elsewhere-1.tmp".to_owned(), format!("{key}.parquet.else-where.example-1.tmp")];
        let olds = olds.map(|name| write(name, true));
        let kept =
            ["notes.tmp", "notes.parquet.elsewhere-1.tmp", "plan.json.tmp", "plan.json.elsewhere-x.tmp"];
        let kept = kept.map(|name| write(name.to_owned(), true));
        remove(folder.path());
        let exists = |path: &std::path::PathBuf| path.exists();
        assert!([&own, &other, &file].into_iter().all(exists) && kept.iter().all(exists));
        assert!(!olds.iter().any(exists));
        assert!(!cfg!(target_os = "linux") || !dead.exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let (folder, other) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("another"));
        let theirs = other.path().join("plan.json.elsewhere-1.tmp");
        let file = fs::File::create(&theirs).expect("written");
        file.set_modified(std::time::SystemTime::now() - 2 * OLD).expect("a time");
        let parts = folder.path().join("parts");
        std::os::unix::fs::symlink(other.path(), &parts).expect("a link");
        remove(&parts);
        assert!(theirs.exists());
    }
}
