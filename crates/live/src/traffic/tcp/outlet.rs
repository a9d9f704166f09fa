//! Send queue between an application and its socket.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};

use lockgate_tcp::application::Outlet;

/// Bytes of a write at most.
const CHUNK: usize = 128 << 10;

/// Bytes written for one connection before others get their turn.
const TURN: u64 = 1 << 20;

/// Contents of files. The values do not matter.
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Element of the queue.
enum Piece {
    /// This many bytes of any value.
    Any(u64),
    /// A message, and the index of its first unsent byte.
    Words(Vec<u8>, usize),
}

/// Queue before a socket.
#[derive(Default)]
pub(super) struct Queue {
    pieces: VecDeque<Piece>,
    closed: bool,
    /// Formatter of messages; `None` sends them unchanged.
    phrase: Option<Box<dyn Fn(&'static str) -> String + Send>>,
}

impl Outlet for Queue {
    fn write(&mut self, bytes: u64) {
        if self.closed || bytes == 0 {
            return;
        }
        match self.pieces.back_mut() {
            Some(Piece::Any(waiting)) => *waiting = waiting.saturating_add(bytes),
            _ => self.pieces.push_back(Piece::Any(bytes)),
        }
    }

    fn say(&mut self, words: &'static str) {
        if self.closed {
            return;
        }
        let words = self.phrase.as_ref().map_or_else(|| words.to_owned(), |phrase| phrase(words));
        self.pieces.push_back(Piece::Words(words.into_bytes(), 0));
    }

    fn close(&mut self) {
        self.closed = true;
    }

    fn unsent(&self) -> u64 {
        let length = |piece: &Piece| match piece {
            Piece::Any(bytes) => *bytes,
            Piece::Words(words, from) => (words.len() - from) as u64,
        };
        self.pieces.iter().map(length).fold(0, u64::saturating_add)
    }
}

impl Queue {
    /// Sets the formatter of messages.
    pub(super) fn phrase(&mut self, phrase: Box<dyn Fn(&'static str) -> String + Send>) {
        self.phrase = Some(phrase);
    }

    /// Discards unsent data and closes the queue.
    pub(super) fn stop(&mut self) {
        self.pieces.clear();
        self.closed = true;
    }

    /// True if unsent data is queued.
    pub(super) fn waits(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// True if the queue is closed and empty.
    pub(super) fn is_over(&self) -> bool {
        self.closed && self.pieces.is_empty()
    }

    /// Writes as much as `socket` takes now.
    ///
    /// # Errors
    /// If the connection broke.
    pub(super) fn flush(&mut self, socket: &mut impl Write) -> io::Result<()> {
        let mut turn = TURN;
        while let Some(piece) = self.pieces.front_mut()
            && turn > 0
        {
            let bytes = match piece {
                Piece::Any(left) => &ZEROS[..usize::try_from(*left).unwrap_or(CHUNK).min(CHUNK)],
                Piece::Words(words, from) => &words[*from..],
            };
            let written = match socket.write(bytes) {
                Ok(written) => written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            turn = turn.saturating_sub(written.max(1) as u64);
            let is_done = match piece {
                Piece::Any(left) => {
                    *left -= written as u64;
                    *left == 0
                }
                Piece::Words(words, from) => {
                    *from += written;
                    *from >= words.len()
                }
            };
            if is_done {
                self.pieces.pop_front();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writer that takes at most this many bytes a call, and none at every third call.
    struct Slow(Vec<u8>, usize, usize);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.2 += 1;
            if self.2.is_multiple_of(3) {
                return Err(ErrorKind::WouldBlock.into());
            }
            let taken = bytes.len().min(self.1);
            self.0.extend(&bytes[..taken]);
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_was_written_leaves_whole_and_in_order() {
        let mut queue = Queue::default();
        queue.write(3);
        queue.write(4);
        queue.say("220 ready\r\n");
        queue.phrase(Box::new(str::to_uppercase));
        queue.say("quit\r\n");
        queue.write(5);
        queue.close();
        queue.write(100);
        queue.say("too late");
        assert_eq!((queue.unsent(), queue.is_over()), (7 + 11 + 6 + 5, false));
        let mut socket = Slow(Vec::new(), 4, 0);
        for _ in 0..100 {
            queue.flush(&mut socket).expect("takes");
        }
        assert!(queue.is_over() && !queue.waits());
        let mut whole = vec![0; 7];
        whole.extend(b"220 ready\r\nQUIT\r\n\0\0\0\0\0");
        assert_eq!(socket.0, whole);
    }
}
