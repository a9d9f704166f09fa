//! `lockgate man`: the manual page, and a page for each command.

use std::fs;
use std::io::{Result as IoResult, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::arguments::{self, Arguments};
use crate::exit::{Exit, Failure};
use crate::output::{self, say};
use crate::results::SavedFile;

/// First characters of each page. A file that begins otherwise is not replaced.
const HEAD: &str = ".ie \\n(.g .ds Aq";

pub(crate) fn man(arguments: &arguments::Man) -> Result<Exit, Failure> {
    let failed = |error| Failure::run(error, "this is a fault of Lockgate: please report it");
    match &arguments.out {
        None => output::document(&whole().map_err(failed)?),
        Some(folder) => {
            let mut command = Arguments::command().disable_help_subcommand(true);
            // Names of commands below others, and the options that they inherit.
            command.build();
            fs::create_dir_all(folder).map_err(|error| {
                let why = format!(
                    "cannot write to `{}`: {}",
                    folder.display(),
                    lockgate::io_error::of_writing(&error)
                );
                Failure::run(why, "is it a directory you may write to?")
            })?;
            let mut pages = Vec::new();
            collect(&command, &mut pages).map_err(failed)?;
            for (name, page) in pages {
                write(&folder.join(name), &page)?;
            }
        }
    }
    Ok(Exit::Ok)
}

/// Page of all commands.
fn whole() -> IoResult<Vec<u8>> {
    let command = Arguments::command();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let named = sub.clone().display_name(format!("lockgate {}", sub.get_name()));
        writeln!(page, ".SH \"LOCKGATE {}\"", sub.get_name().to_uppercase())?;
        let man = Man::new(named);
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    Ok(page)
}

/// Appends file name and page of a command and of those below it.
fn collect(command: &clap::Command, pages: &mut Vec<(String, String)>) -> IoResult<()> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), String::from_utf8_lossy(&page).into_owned()));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        collect(sub, pages)?;
    }
    Ok(())
}

fn write(file: &Path, page: &str) -> Result<(), Failure> {
    let saved = SavedFile::start(file, HEAD).map_err(|error| Failure::saved_file(&error, "--out"))?;
    saved.write(page).map_err(|error| Failure::saved_file(&error, "--out"))?;
    say!("{}", file.display());
    Ok(())
}
