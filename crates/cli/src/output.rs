//! Standard output and standard error, each written in one place.
//!
//! Results go to stdout by [`say!`], everything else to stderr by [`tell!`]. A failed write to stdout is
//! stored and makes the command fail at its end (`Exit::with_output`); a closed pipe (`lockgate list | head -1`) ends
//! the output quietly instead. Failed writes to stderr are ignored: they cannot be reported.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Prints a line of results.
macro_rules! say {
    () => { $crate::output::line(format_args!("")) };
    ($($part:tt)*) => { $crate::output::line(format_args!($($part)*)) };
}
pub(crate) use say;

/// Prints a line on stderr.
macro_rules! tell {
    ($($part:tt)*) => { $crate::output::message(format_args!($($part)*)) };
}
pub(crate) use tell;

/// First failed write to stdout. Nothing is printed after it, because output with a gap is not a result.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

fn attempt(write: impl FnOnce(&mut io::StdoutLock<'_>) -> io::Result<()>) {
    let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    if failed.is_none() {
        *failed = write(&mut io::stdout().lock()).err();
    }
}

/// Prints a line of results.
pub(crate) fn line(text: Arguments<'_>) {
    attempt(|stdout| writeln!(stdout, "{text}"));
}

/// Prints a whole document.
pub(crate) fn document(bytes: &[u8]) {
    attempt(|stdout| stdout.write_all(bytes));
}

/// Prints clap's message: help and version are results, everything else is an error.
pub(crate) fn clap(error: &clap::Error) {
    if error.use_stderr() {
        let _ = error.print();
    } else {
        attempt(|_| error.print());
    }
}

/// Prints a line on stderr, in one write.
pub(crate) fn message(text: Arguments<'_>) {
    let _ = io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// True if stdout has no reader left: the pipe is closed, or the terminal hung up.
pub(crate) fn has_no_reader() -> bool {
    let failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    failed.as_ref().is_some_and(|error| is_pipe(error) || is_hang_up(error))
}

fn is_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

#[cfg(unix)]
fn is_hang_up(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

#[cfg(not(unix))]
fn is_hang_up(_: &io::Error) -> bool {
    false
}

/// Flushes stdout. Returns the first failed write, closed pipes aside.
pub(crate) fn finish() -> Option<io::Error> {
    attempt(|stdout| stdout.flush());
    let failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner).take();
    failed.filter(|error| !is_pipe(error))
}
