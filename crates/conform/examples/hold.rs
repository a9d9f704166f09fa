//! Runs all oracles of a kind, and prints what they find: `cargo run --example hold -- drr`.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::process::ExitCode;

use lockgate_conform::page::section;
use lockgate_conform::{Kind, Task, tasks};

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "drr".to_owned());
    let Some(kind) = Kind::named(&name) else {
        println!("`{name}` is not a kind: see `lockgate list`");
        return ExitCode::FAILURE;
    };
    let mut holds = true;
    for task in tasks(&[kind], 1, None) {
        let row = Task::run(&task);
        holds &= row.holds;
        println!("{}", section(&[row]));
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
