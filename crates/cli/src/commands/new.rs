//! `lockgate new`: writes a commented scenario to start from.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use lockgate::shell::word;

use crate::arguments::New;
use crate::exit::{Exit, Failure};
use crate::output::{self, say};
use crate::starts::STARTS;

pub(crate) fn new(arguments: &New) -> Result<Exit, Failure> {
    let Some(name) = &arguments.name else {
        for start in STARTS {
            say!("{:<8} {}", start.name, start.about);
        }
        return Ok(Exit::Ok);
    };
    if let Some(policy) = &arguments.from {
        return laboratory(name, policy, arguments.to.as_deref());
    }
    let start = STARTS.iter().find(|start| start.name == name);
    let start = start.expect("the command line accepts names of the list only");
    let path = arguments.to.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    if path.as_os_str() == "-" {
        output::document(start.text.as_bytes());
        return Ok(Exit::Ok);
    }
    create(&path, start.text)?;
    let shown = path.display();
    say!("{shown}: {}", start.about);
    let word = word(&shown.to_string());
    say!("next:  lockgate run {word}");
    say!("       lockgate watch {word} --sim --web");
    Ok(Exit::Ok)
}

/// Writes a laboratory around a policy.
fn laboratory(name: &str, policy: &Path, to: Option<&Path>) -> Result<Exit, Failure> {
    if name != "lab" {
        return Err(Failure::usage(
            format!("`{name}` has no policy in it"),
            "a laboratory around a policy is `lockgate new lab --from POLICY`",
        ));
    }
    let file = policy.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = policy.with_file_name(format!("lab-{file}"));
    let to = to.unwrap_or(&beside);
    let named = path_from(to, policy);
    let text = lockgate::files::laboratory(policy, &named).map_err(|error| match error {
        lockgate::Error::Unreadable { .. } => Failure::usage(error, "name a policy file of a router"),
        error => error.into(),
    })?;
    if to.as_os_str() == "-" {
        output::document(text.as_bytes());
        return Ok(Exit::Ok);
    }
    create(to, &text)?;
    let shown = to.display();
    say!("{shown}: a laboratory around `{}`", policy.display());
    say!("next:  change its line and traffic to yours");
    let word = word(&shown.to_string());
    say!("       lockgate run {word}");
    say!("       lockgate test {word} --policy OTHER.toml");
    Ok(Exit::Ok)
}

/// Returns the path of `policy` as a scenario at `scenario` names it: from its folder, or absolute.
fn path_from(scenario: &Path, policy: &Path) -> String {
    let folder = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::canonicalize(parent).ok()
    };
    let file = policy.file_name().unwrap_or_default();
    // Standard output has the current directory.
    match (folder(scenario), folder(policy)) {
        (Some(here), Some(there)) => match there.strip_prefix(&here) {
            Ok(below) => below.join(file).display().to_string(),
            Err(_) => there.join(file).display().to_string(),
        },
        _ => policy.display().to_string(),
    }
}

/// Writes a file that does not exist yet.
pub(super) fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let made = std::fs::File::options().write(true).create_new(true).open(path);
    let written = made.and_then(|mut file| {
        file.write_all(text.as_bytes()).inspect_err(|_| {
            // Nothing half-written stays.
            let _ = std::fs::remove_file(path);
        })
    });
    written.map_err(|error| {
        let help = if error.kind() == ErrorKind::AlreadyExists {
            "choose another name with --to FILE; nothing is overwritten"
        } else {
            "choose another place with --to FILE"
        };
        let why = lockgate::io_error::of_writing(&error);
        Failure::run(format!("`{}` cannot be written: {why}", path.display()), help)
    })
}
