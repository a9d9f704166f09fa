//! Files that a test is of: those that were named, and those of directories.

use std::fs;
use std::path::{Path, PathBuf};

use lockgate::plans::test::LeftOut;
use lockgate_scenario::{Subject, subject};

/// File to be tested, or the reason why it cannot be.
pub(super) struct Found {
    pub(super) file: PathBuf,
    pub(super) fault: Option<String>,
    /// Directory that was named, if it is of one.
    pub(super) directory: Option<PathBuf>,
}

/// Files to be tested, and those that are left out.
#[derive(Default)]
pub(super) struct Files {
    pub(super) found: Vec<Found>,
    pub(super) left_out: Vec<LeftOut>,
    /// True if a policy is given: those of the directories are not tested.
    has_policy: bool,
}

impl Files {
    /// Finds the files. A named one is tested whatever it is; of a directory, each `*.toml` in and below it
    /// that is not plainly something else.
    pub(super) fn of(given: &[PathBuf], has_policy: bool) -> Self {
        let mut files = Self { has_policy, ..Self::default() };
        for path in given {
            if !path.is_dir() {
                files.found.push(Found { file: path.clone(), fault: None, directory: None });
                continue;
            }
            let before = files.found.len();
            files.directory(path);
            if files.found.len() == before {
                files.fault(path, "there is no scenario in this directory");
            }
            files.found[before..].iter_mut().for_each(|found| found.directory = Some(path.clone()));
        }
        files
    }

    fn fault(&mut self, path: &Path, why: impl Into<String>) {
        self.found.push(Found { file: path.to_path_buf(), fault: Some(why.into()), directory: None });
    }

    fn leave_out(&mut self, path: &Path, why: &str) {
        self.left_out.push(LeftOut { file: path.display().to_string(), why: why.to_owned() });
    }

    fn directory(&mut self, directory: &Path) {
        let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut paths: Vec<PathBuf> = match entries {
            Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
            Err(error) => return self.fault(directory, lockgate::files::words(&error)),
        };
        paths.sort();
        for path in paths {
            let is_toml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            match (path.is_dir(), path.is_symlink()) {
                (true, _) if is_hidden => {}
                (true, true) => self.leave_out(&path, "a link to a directory"),
                (true, false) if is_of_results(&path) => {
                    self.leave_out(&path, "the results of an earlier run");
                }
                (true, false) => self.directory(&path),
                (false, _) if is_toml => self.file(&path),
                (false, _) => {}
            }
        }
    }

    fn file(&mut self, path: &Path) {
        // Reading a pipe that nothing is written to would not end.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return self.fault(path, "it is not a regular file");
        }
        match lockgate::files::text(path).map(|text| subject(&text)) {
            Err(why) => self.fault(path, why.to_string()),
            Ok(Subject::Other) => self.leave_out(path, "no table of a scenario"),
            Ok(Subject::Policy) if self.has_policy => {
                self.leave_out(path, "a policy, and another one is given");
            }
            Ok(Subject::Policy | Subject::Scenario) => {
                self.found.push(Found { file: path.to_path_buf(), fault: None, directory: None });
            }
        }
    }
}

/// True if a directory has the results of a run, or the store of a sweep: its scenario is a copy.
fn is_of_results(directory: &Path) -> bool {
    let has = |name: &str| directory.join(name).is_file();
    has("scenario.toml") && (has("manifest.json") || has("plan.json"))
}
