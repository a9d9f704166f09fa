//! Help for tests of several crates: lines with their bytes on the wire, and the record of tests that this
//! host cannot run.
//!
//! A test that lacks a tool, a right or a file calls [`skipped`] and returns. libtest hides the output of
//! tests that pass, so the record goes to a file, too: `make test` names it in `LOCKGATE_SKIPPED`, prints its
//! lines at the end, and compares them with `tests/skips.txt`.

pub mod lines;

use std::io::Write;

/// Records that the calling test was not run, or not in full, and prints the reason.
///
/// The test's name is that of its thread, so helpers of a test may call this for it.
///
/// # Panics
/// If the record cannot be written.
#[allow(clippy::print_stdout, reason = "the reason is for the person who runs the test alone")]
pub fn skipped(why: impl std::fmt::Display) {
    let why = why.to_string();
    let reason = why.lines().next().unwrap_or_default();
    let thread = std::thread::current();
    // The file of a test program is its name, a hyphen and a hash.
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    let line = format!("{program}::{}: {reason}", thread.name().unwrap_or("?"));
    println!("skipped: {line}");
    let Some(path) = std::env::var_os("LOCKGATE_SKIPPED") else { return };
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .expect("LOCKGATE_SKIPPED names a file");
    file.write_all(format!("{line}\n").as_bytes()).expect("the record of skipped tests is written");
}
