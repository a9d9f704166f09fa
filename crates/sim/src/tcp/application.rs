//! What the application at one end of a connection does: when it writes, how much, when it closes.

use lockgate_engine::units::Instant;
use lockgate_traffic::arrivals::{Arrivals, Emission};

use super::sender::Sender;

/// How far ahead of what was sent an unlimited source writes.
const AHEAD: u64 = 1 << 30;

/// What the application at one end does.
pub enum Application {
    /// Only receives; closes when the peer has.
    Sink,
    /// What it writes is told from outside ([`Endpoint::write`](super::endpoint::Endpoint::write)).
    Script,
    /// Always has more to send.
    Unlimited,
    /// Writes so many bytes at once, then closes.
    File(u64),
    /// Writes what its traffic offers, when it does.
    Stream(Box<Stream>),
}

/// Writes of given sizes at given times.
pub struct Stream {
    arrivals: Arrivals,
    start: Instant,
    batch: Vec<Emission>,
    position: usize,
    bytes_left: u64,
    closing: bool,
}

impl Stream {
    /// What `arrivals` offer from `start` on, `bytes` of it at most.
    pub fn new(arrivals: Arrivals, start: Instant, bytes: u64) -> Self {
        let mut stream =
            Self { arrivals, start, batch: Vec::new(), position: 0, bytes_left: bytes, closing: false };
        stream.refill();
        stream
    }

    fn refill(&mut self) {
        self.batch.clear();
        self.position = 0;
        self.arrivals.fill(&mut self.batch);
    }

    fn next(&self) -> Instant {
        match self.batch.get(self.position) {
            Some(emission) if self.bytes_left > 0 => self.start + emission.at,
            _ => Instant::NEVER,
        }
    }

    fn write_due(&mut self, sender: &mut Sender, now: Instant) {
        while self.next() <= now {
            let length = u64::from(self.batch[self.position].length).min(self.bytes_left);
            self.bytes_left -= length;
            sender.write(length);
            self.position += 1;
            if self.position == self.batch.len() {
                self.refill();
            }
        }
        if self.next() == Instant::NEVER && !self.closing {
            self.closing = true;
            sender.close();
        }
    }
}

impl Application {
    pub(crate) fn next(&self) -> Instant {
        match self {
            Self::Stream(stream) => stream.next(),
            _ => Instant::NEVER,
        }
    }

    /// The connection opens.
    pub(crate) fn on_open(&mut self, sender: &mut Sender, now: Instant) {
        match self {
            Self::Sink | Self::Script => {}
            Self::Unlimited => sender.write(AHEAD),
            Self::File(bytes) => {
                sender.write(*bytes);
                sender.close();
            }
            Self::Stream(stream) => stream.write_due(sender, now),
        }
    }

    pub(crate) fn on_timer(&mut self, sender: &mut Sender, now: Instant) {
        if let Self::Stream(stream) = self {
            stream.write_due(sender, now);
        }
    }

    /// `bytes` have arrived; the peer has closed where `ended`.
    pub(crate) fn on_delivered(&mut self, sender: &mut Sender, bytes: u64, ended: bool, now: Instant) {
        let _ = (bytes, now);
        if ended && matches!(self, Self::Sink) {
            sender.close();
        }
    }

    /// Keeps an unlimited source ahead.
    #[inline]
    pub(crate) fn refill(&mut self, sender: &mut Sender) {
        if matches!(self, Self::Unlimited) && sender.written - sender.nxt.min(sender.written) < AHEAD / 2 {
            sender.write(AHEAD);
        }
    }

    /// Nothing more is to be written.
    pub(crate) fn stop(&mut self) {
        *self = Self::Sink;
    }
}
