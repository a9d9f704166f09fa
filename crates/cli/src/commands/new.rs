//! `lockgate new`: writes a commented scenario to start from.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::arguments::New;
use crate::exit::{Exit, Failure};
use crate::output::{self, say};

/// A scenario to start from.
struct Start {
    /// Name on the command line.
    name: &'static str,
    /// What it is about, in a line.
    about: &'static str,
    /// The file.
    text: &'static str,
}

macro_rules! starts {
    ($($name:literal $file:literal $about:literal),* $(,)?) => {
        /// Every scenario to start from: files of `scenarios/`, which the tests run.
        const STARTS: &[Start] = &[$(Start {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../../scenarios/", $file)),
        }),*];
    };
}

starts! {
    "home" "home.toml" "a cable line: a call, a game and pages beside a backup; twelve shapers to compare",
    "voip" "calls-and-pages.toml" "a call, an echo and page loads beside bulk transfers, with MOS and page times",
    "dsl" "dsl.toml" "a DSL line that charges ATM cells, shaped with and without counting them",
    "isp" "isp.toml" "ten thousand subscribers with plans behind one router",
    "campus" "campus-classes.toml" "departments that lend to each other, by HTB or H-FSC",
    "l4s" "l4s.toml" "TCP Prague beside CUBIC through DualPI2",
    "incast" "incast.toml" "forty servers answer one client of a data centre at once, by DCTCP",
    "lab" "voice-beside-bulk.toml" "the smallest: two hosts, a queue, a call and an upload",
}

/// Returns the names of all scenarios to start from.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    STARTS.iter().map(|start| start.name)
}

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
