//! `lockgate man`: the manual page.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::Arguments;
use crate::exit::{Exit, Failure};
use crate::output;

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
        Ok(())
    };
    render(&mut page)
        .map_err(|error| Failure::run(error, "this is a fault of Lockgate: please report it"))?;
    output::document(&page);
    Ok(Exit::Ok)
}
