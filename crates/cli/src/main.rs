//! The program `lockgate`: the allocator, and a call to the library of this crate.

use std::process::ExitCode;

/// Packs headers of 64 bytes densely; other allocators use 128 bytes for each (decision 067).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lockgate_cli::main(std::env::args_os()).into()
}
