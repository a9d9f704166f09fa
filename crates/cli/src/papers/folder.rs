//! Folder of a paper: one that came with Lockgate, or one on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::exit::Failure;
use lockgate::files;
use lockgate_scenario::Files;

include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Files of a paper: TOML, and the lists that its scenarios name.
pub(crate) struct Folder {
    /// Name of the paper.
    pub(crate) name: String,
    /// Directory for the files that its scenarios name.
    place: PathBuf,
    texts: BTreeMap<String, String>,
}

/// Returns the names of the papers that came with Lockgate.
pub(crate) fn names() -> Vec<&'static str> {
    PAPERS.iter().map(|(name, _)| *name).collect()
}

impl Folder {
    /// Opens the paper of this name, else the folder at this path.
    ///
    /// # Errors
    /// If neither exists; lists the names that do.
    pub(crate) fn open(name: &str) -> Result<Self, Failure> {
        if let Some((name, files)) = PAPERS.iter().find(|(known, _)| *known == name) {
            let texts = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
            return Ok(Self { name: (*name).to_owned(), place: PathBuf::new(), texts });
        }
        let path = Path::new(name);
        if !path.join("claims.toml").is_file() {
            return Err(Failure::usage(
                format!("there is no paper called `{name}`, and no folder with a claims.toml"),
                format!("name one of {}, or a folder", names().join(", ")),
            ));
        }
        Self::read(path)
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let unreadable = |what: &Path, why: String| {
            Failure::usage(
                format!("cannot read `{}`: {why}", what.display()),
                "name a folder with a claims.toml",
            )
        };
        let mut texts = BTreeMap::new();
        let entries = std::fs::read_dir(path).map_err(|error| unreadable(path, error.to_string()))?;
        for file in entries.flatten().map(|entry| entry.path()) {
            if file.extension().is_some_and(|ending| ending == "toml" || ending == "txt") {
                let text = files::text(&file).map_err(|why| unreadable(&file, why))?;
                let name =
                    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                texts.insert(name, text);
            }
        }
        let name = path
            .canonicalize()
            .ok()
            .and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
        Ok(Self { name: name.unwrap_or_else(|| "paper".to_owned()), place: path.join("claims.toml"), texts })
    }

    /// Returns a file's path as it is shown: below the folder as the user wrote it, or below `papers`.
    pub(crate) fn shown(&self, file: &str) -> String {
        match self.place.parent() {
            Some(folder) => folder.join(file).display().to_string(),
            None => format!("papers/{}/{file}", self.name),
        }
    }

    /// Returns a file's text.
    ///
    /// # Errors
    /// If there is no such file.
    pub(crate) fn text(&self, file: &str) -> Result<&str, Failure> {
        self.texts.get(file).map(String::as_str).ok_or_else(|| {
            let known: Vec<&str> = self.texts.keys().map(String::as_str).collect();
            Failure::usage(
                format!("paper `{}` has no file `{file}`", self.name),
                format!("there are {}", known.join(", ")),
            )
        })
    }
}

impl Files for Folder {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        match self.texts.get(path) {
            Some(text) => Ok(text.as_bytes().into()),
            None => files::Beside::new(&self.place).load(path),
        }
    }
}
