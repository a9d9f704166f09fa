//! `lockgate new`: writes a commented scenario to start from.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

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
    say!("next:  lockgate run {shown}");
    say!("       lockgate watch {shown} --sim --web");
    Ok(Exit::Ok)
}

/// Writes a file that does not exist yet.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
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
        Failure::run(format!("`{}` cannot be written: {error}", path.display()), help)
    })
}
