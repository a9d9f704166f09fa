//! Keys of the terminal, read on a thread of their own.
//!
//! Once its terminal has hung up, crossterm's reader never returns, because it reads the end of the file for
//! ever. It is therefore called only if input is available, and never on the thread that ends the run.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};

/// Interval at which the reader checks for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// Error: the terminal has hung up, or cannot be read.
#[derive(Debug)]
pub(crate) struct Gone;

/// Channel of pressed keys.
pub(crate) struct Keys {
    pressed: Receiver<KeyEvent>,
    is_over: Arc<AtomicBool>,
}

impl Keys {
    /// Starts the reader.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (press, pressed) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        thread::Builder::new().name("keys".to_owned()).spawn(move || read(&press, &over))?;
        Ok(Self { pressed, is_over })
    }

    /// Returns the next key pressed within `patience`, if any.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(crate) fn next(&self, patience: Duration) -> Result<Option<KeyEvent>, Gone> {
        match self.pressed.recv_timeout(patience) {
            Ok(key) => Ok(Some(key)),
            Err(RecvTimeoutError::Timeout) if has_hung_up() => Err(Gone),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Gone),
        }
    }

    /// Ends the reader, so that it takes no key meant for the shell. Does not wait for a reader that hangs.
    pub(crate) fn stop(self) {
        self.is_over.store(true, Ordering::Relaxed);
        while self.pressed.recv_timeout(4 * POLL_INTERVAL).is_ok() {}
    }
}

fn read(press: &Sender<KeyEvent>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        wait();
        if has_hung_up() {
            return;
        }
        // Events of the window's size, which are no keys, are removed too.
        while let Ok(true) = event::poll(Duration::ZERO) {
            match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    if press.send(key).is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

/// Waits for input, up to a timeout.
#[cfg(unix)]
fn wait() {
    let _ = poll(POLL_INTERVAL);
}

#[cfg(not(unix))]
fn wait() {
    let _ = event::poll(POLL_INTERVAL);
}

#[cfg(unix)]
pub(crate) fn has_hung_up() -> bool {
    poll(Duration::ZERO)
}

#[cfg(not(unix))]
pub(crate) fn has_hung_up() -> bool {
    false
}

/// Polls the terminal. Returns whether it has hung up.
#[cfg(unix)]
fn poll(patience: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let mut ends = [PollFd::new(&stdin, PollFlags::IN)];
    let Ok(patience) = Timespec::try_from(patience) else { return false };
    let found = poll(&mut ends, Some(&patience));
    found.is_ok() && ends[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}
