//! `lockgate man`: the manual page.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::Arguments;
use crate::exit::{Exit, Failure};

pub(crate) fn man() -> Result<Exit, Failure> {
    let command = Arguments::command();
    let mut page = Vec::new();
    let render = |page: &mut Vec<u8>| -> std::io::Result<()> {
        clap_mangen::Man::new(command.clone()).render(page)?;
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let named = sub.clone().display_name(format!("lockgate {}", sub.get_name()));
            writeln!(page, ".SH \"LOCKGATE {}\"", sub.get_name().to_uppercase())?;
            let man = clap_mangen::Man::new(named);
            man.render_synopsis_section(page)?;
            man.render_description_section(page)?;
            man.render_options_section(page)?;
        }
        std::io::stdout().write_all(page)
    };
    render(&mut page)
        .map_err(|error| Failure::run(format!("cannot print: {error}"), "is the output closed?"))?;
    Ok(Exit::Ok)
}
