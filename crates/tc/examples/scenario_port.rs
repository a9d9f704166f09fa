//! Prints the scenario port that `tc` commands on the standard input set up.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::error::Error;
use std::io::{Read as _, stdin};

use lockgate_tc::{Environment, import, parse};

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let port = import(&parse(&text)?, &Environment { hz: 250, flows: &[] })?;
    print!("{}", port.table());
    for what in &port.left_out {
        println!("# left out: {what}");
    }
    Ok(())
}
