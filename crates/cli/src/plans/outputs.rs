//! Files that a user names for tables and documents: written aside and renamed. Only a file of the same form
//! is replaced.

use std::path::{Path, PathBuf};

pub(crate) use lockgate::results::Form;
use lockgate::results::SavedFile;

use crate::exit::Failure;
use crate::output;

/// Checks that no two options name the same file, before anything runs.
///
/// # Errors
/// The first two that do.
pub(crate) fn check_distinct(files: &[(&str, &Option<PathBuf>)]) -> Result<(), Failure> {
    let resolved = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = std::fs::canonicalize(parent.unwrap_or(Path::new(".")));
        parent.unwrap_or_default().join(path.file_name().unwrap_or_default())
    };
    let named: Vec<(&str, &Path)> =
        files.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?))).collect();
    for (index, (option, path)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..index].iter().find(|(_, other)| resolved(other) == resolved(path)) {
            return Err(Failure::usage(
                format!("{other} and {option} name the same file, `{}`", path.display()),
                "give each a file of its own",
            ));
        }
    }
    Ok(())
}

/// File to be written; `-` is the standard output.
pub(crate) struct OutputFile {
    saved: Option<SavedFile>,
    option: &'static str,
}

impl OutputFile {
    /// Prepares the file that `option` names, before anything runs.
    ///
    /// # Errors
    /// If another file than one of this form exists there, or it cannot be written.
    pub(crate) fn start(path: &Path, form: Form, option: &'static str) -> Result<Self, Failure> {
        let saved = if path == Path::new("-") {
            None
        } else {
            let saved = SavedFile::start_form(path, form.check());
            Some(saved.map_err(|error| Failure::saved_file(&error, option))?)
        };
        Ok(Self { saved, option })
    }

    /// True if it is the standard output: nothing else is printed there then.
    pub(crate) fn is_stdout(&self) -> bool {
        self.saved.is_none()
    }

    /// Writes it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let Some(saved) = &self.saved else {
            output::document(text.as_bytes());
            return Ok(());
        };
        saved.write(text).map_err(|error| Failure::saved_file(&error, self.option))
    }
}
