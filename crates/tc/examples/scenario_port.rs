//! Prints the scenario that `tc` commands on the standard input set up, or what is not understood.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::error::Error;
use std::io::{Read as _, stdin};

use lockgate_tc::{Options, Request, convert};

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let options = Options { device: std::env::args().nth(1), ..Options::default() };
    let request = Request {
        text: &text,
        origin: "stdin",
        definitions: &[],
        options: &options,
        rate: None,
        is_lenient: false,
    };
    match convert(&request) {
        Ok(converted) => print!("{}", converted.scenario),
        Err(problems) => problems.iter().for_each(|problem| println!("{}\n", problem.shown("stdin", &text))),
    }
    Ok(())
}
