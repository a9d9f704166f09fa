//! Connections to the control socket: bounded in number, size and time, served without blocking.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::control::peer::Peer;
use crate::control::protocol::{Answer, LONGEST_REQUEST, Refusal};

/// Connections at a time. A further one replaces the connection that has been idle for longest.
const MOST_CONNECTIONS: usize = 8;

/// Time limit for a whole request, and for its whole answer, so that a peer that sends a byte a second gains
/// nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Bytes read from one connection before the next one's turn.
const PORTION: usize = 256 << 10;

/// Request as it was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<'a> {
    /// Line, without its end.
    pub(super) line: &'a [u8],
    /// Author.
    pub(super) by: &'a str,
    /// Connection.
    pub(super) ticket: Ticket,
}

/// Number of a connection: an answer that is made later is for the connection of its ticket, if it is still
/// open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(pub(super) u64);

/// Connections.
#[derive(Debug, Default)]
pub(super) struct Clients {
    all: Vec<Client>,
    /// Number of connections so far.
    accepted: u64,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    ticket: Ticket,
    author: String,
    input: Vec<u8>,
    /// Bytes of `input` without a line end.
    scanned: usize,
    output: Vec<u8>,
    /// Bytes of `output` that are written.
    written: usize,
    /// Start of the present wait: for a request, or for the answer to be taken.
    since: Instant,
    /// True if nothing more is read.
    is_ending: bool,
    /// True while its request is carried out, and the answer is made later.
    is_waiting: bool,
}

impl Clients {
    /// Accepts the connections that wait.
    pub(super) fn accept(&mut self, listener: &UnixListener) {
        while let Ok((stream, _)) = listener.accept() {
            let Ok(peer) = Peer::of(&stream) else { continue };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.all.len() >= MOST_CONNECTIONS {
                let idle = (0..self.all.len())
                    .min_by_key(|index| (self.all[*index].is_waiting, self.all[*index].since));
                idle.map(|index| self.all.swap_remove(index));
            }
            self.accepted += 1;
            let mut client = Client {
                stream,
                ticket: Ticket(self.accepted),
                author: peer.author(),
                input: Vec::new(),
                scanned: 0,
                output: Vec::new(),
                written: 0,
                since: Instant::now(),
                is_ending: false,
                is_waiting: false,
            };
            if !peer.is_allowed() {
                let help = "the superuser and the router's own user may: use sudo";
                let refusal = Refusal::usage(format!("{} may not control this router", client.author), help);
                client.answer(&Answer::Refused(refusal));
                client.is_ending = true;
            }
            self.all.push(client);
        }
    }

    /// Returns each connection with the events it waits for.
    pub(super) fn streams(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        self.all.iter().map(|client| {
            let flags = match client.is_waiting {
                // The end of the connection is an event without being named.
                true => PollFlags::empty(),
                false if client.output.is_empty() => PollFlags::IN,
                false => PollFlags::OUT,
            };
            (client.stream.as_fd(), flags)
        })
    }

    /// Reads requests of the connections that are ready, in the order of [`streams`](Self::streams), and
    /// writes their answers. `answer` returns `None` for an answer that [`complete`](Self::complete) brings
    /// later.
    pub(super) fn exchange(&mut self, ready: &[bool], answer: &mut dyn FnMut(Sent<'_>) -> Option<Answer>) {
        let mut ready = ready.iter();
        self.all.retain_mut(|client| {
            let is_ready = ready.next().is_some_and(|ready| *ready) || client.has_request();
            !is_ready || client.exchange(answer).is_ok()
        });
    }

    /// Gives a connection the answer that it waits for; no-op if it has ended.
    pub(super) fn complete(&mut self, ticket: Ticket, answer: &Answer) {
        self.all.retain_mut(|client| {
            if client.ticket != ticket {
                return true;
            }
            client.is_waiting = false;
            client.answer(answer);
            client.send().is_ok()
        });
    }

    /// Returns true if a received request is still to be answered.
    pub(super) fn have_requests(&self) -> bool {
        self.all.iter().any(Client::has_request)
    }

    /// Drops the connections whose time has passed.
    pub(super) fn drop_late(&mut self, now: Instant) {
        let is_late = |client: &Client| now.saturating_duration_since(client.since) >= LONGEST_WAIT;
        self.all.retain(|client| client.is_waiting || !is_late(client));
    }

    /// Returns the time until a connection is late; `None` without connections.
    pub(super) fn late_after(&self, now: Instant) -> Option<Duration> {
        let left = |client: &Client| (client.since + LONGEST_WAIT).saturating_duration_since(now);
        self.all.iter().filter(|client| !client.is_waiting).map(left).min()
    }
}

impl Client {
    /// Returns true if a whole request was received and can be answered.
    fn has_request(&self) -> bool {
        !self.is_waiting && self.output.is_empty() && self.input[self.scanned..].contains(&b'\n')
    }

    /// Reads and writes as far as possible. An error ends the connection.
    fn exchange(&mut self, answer: &mut dyn FnMut(Sent<'_>) -> Option<Answer>) -> io::Result<()> {
        if self.is_waiting {
            // Its only event is the end of the connection.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.output.is_empty() {
            self.receive()?;
            let end = self.input[self.scanned..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| end + self.scanned) {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                self.scanned = 0;
                match answer(Sent { line: &line[..end], by: &self.author, ticket: self.ticket }) {
                    Some(answer) => self.answer(&answer),
                    None => self.is_waiting = true,
                }
            } else if self.input.len() > LONGEST_REQUEST {
                let message = format!("a request has at most {LONGEST_REQUEST} bytes");
                self.answer(&Answer::Refused(Refusal::usage(message, "write a shorter policy")));
                self.is_ending = true;
            } else if self.is_ending {
                return Err(io::ErrorKind::UnexpectedEof.into());
            } else {
                self.scanned = self.input.len();
            }
        }
        self.send()
    }

    fn receive(&mut self) -> io::Result<()> {
        if self.has_request() || self.is_ending {
            return Ok(());
        }
        let mut portion = [0; 16 << 10];
        let most = self.input.len() + PORTION;
        while self.input.len() < most && self.input.len() <= LONGEST_REQUEST {
            match self.stream.read(&mut portion) {
                Ok(0) => {
                    self.is_ending = true;
                    return Ok(());
                }
                Ok(length) => self.input.extend_from_slice(&portion[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn answer(&mut self, answer: &Answer) {
        self.since = Instant::now();
        // Cannot fail: the answer is plain data of texts and numbers.
        self.output = serde_json::to_vec(answer).unwrap_or_default();
        self.output.push(b'\n');
        self.written = 0;
    }

    fn send(&mut self) -> io::Result<()> {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => self.written += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if !self.output.is_empty() {
            self.output = Vec::new();
            self.since = Instant::now();
            if self.is_ending && !self.has_request() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}
