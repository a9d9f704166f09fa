//! Files of a paper, held in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{ClaimsError, Error};

/// Files of a paper: claims, scenarios, and the lists that these name.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Name of the paper.
    pub name: String,
    /// Path of the folder as it is shown in messages.
    pub path: PathBuf,
    /// Text of each file, by its name.
    pub texts: BTreeMap<String, String>,
}

impl Folder {
    /// Returns a file's path as it is shown.
    pub fn shown(&self, file: &str) -> String {
        self.path.join(file).display().to_string()
    }

    /// Returns a file's text.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn text(&self, file: &str) -> Result<&str, Error> {
        self.texts.get(file).map(String::as_str).ok_or_else(|| Error::NoFile {
            paper: self.name.clone(),
            file: file.to_owned(),
            known: self.texts.keys().cloned().collect(),
        })
    }

    /// Returns the error of an invalid claims file.
    pub(crate) fn invalid(&self, why: ClaimsError) -> Error {
        Error::Claims { file: self.shown("claims.toml"), why }
    }
}
