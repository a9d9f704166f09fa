//! What the application at one end of a connection does: when it writes, how much, when it closes.

mod dialogue;
mod echo;
mod news;
mod pages;

use lockgate_engine::units::Instant;
use lockgate_traffic::arrivals::{Arrivals, Emission};

pub use dialogue::{Dialogue, Happening, Order};
pub use echo::Asker;
pub use news::News;
pub use pages::{Objects, Server, User};

/// What an application writes to: the sending side of its end, simulated or a kernel's.
pub trait Outlet {
    /// So many bytes more are to be sent; which, does not matter.
    fn write(&mut self, bytes: u64);

    /// These words are to be sent. Where only lengths matter, they are so many bytes.
    fn say(&mut self, words: &'static str) {
        self.write(words.len() as u64);
    }

    /// Nothing more is to be sent.
    fn close(&mut self);

    /// Bytes that were written and have not been sent.
    fn unsent(&self) -> u64;
}

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
    /// Talks in turns, and leads another connection.
    Dialogue(Box<Dialogue>),
    /// Asks for what it sends to be sent back.
    Asker(Box<Asker>),
    /// Sends back what it gets; closes when the peer has.
    Echo,
    /// Asks for pages.
    User(Box<User>),
    /// Answers requests by objects; closes when the peer has.
    Server(Box<Server>),
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

    fn write_due(&mut self, outlet: &mut impl Outlet, now: Instant) {
        self.write_each(outlet, now, |_| {});
    }

    /// Writes what is due, telling how long each write is.
    fn write_each(&mut self, outlet: &mut impl Outlet, now: Instant, mut tell: impl FnMut(u64)) {
        while self.next() <= now {
            let length = u64::from(self.batch[self.position].length).min(self.bytes_left);
            self.bytes_left -= length;
            outlet.write(length);
            tell(length);
            self.position += 1;
            if self.position == self.batch.len() {
                self.refill();
            }
        }
        if self.next() == Instant::NEVER && !self.closing {
            self.closing = true;
            outlet.close();
        }
    }
}

impl Application {
    /// When it does something next by itself.
    pub fn next(&self) -> Instant {
        match self {
            Self::Stream(stream) => stream.next(),
            Self::Dialogue(dialogue) => dialogue.next(),
            Self::Asker(asker) => asker.next(),
            Self::User(user) => user.next(),
            _ => Instant::NEVER,
        }
    }

    /// The connection opens.
    pub fn on_open(&mut self, outlet: &mut impl Outlet, now: Instant) {
        match self {
            Self::Sink | Self::Script | Self::Dialogue(_) | Self::Echo | Self::Server(_) => {}
            Self::User(user) => user.ask(outlet, now),
            Self::Asker(asker) => asker.ask(outlet, now),
            Self::Unlimited => outlet.write(AHEAD),
            Self::File(bytes) => {
                outlet.write(*bytes);
                outlet.close();
            }
            Self::Stream(stream) => stream.write_due(outlet, now),
        }
    }

    /// The peer has answered: whoever talks first does.
    pub fn on_connected(&mut self, outlet: &mut impl Outlet, now: Instant) {
        if let Self::Dialogue(dialogue) = self {
            dialogue.go_on(outlet, now);
        }
    }

    /// The time of something that it does by itself may have come.
    pub fn on_timer(&mut self, outlet: &mut impl Outlet, now: Instant) {
        match self {
            Self::Stream(stream) => stream.write_due(outlet, now),
            Self::Dialogue(dialogue) if dialogue.next() <= now => dialogue.go_on(outlet, now),
            Self::Asker(asker) => asker.ask(outlet, now),
            Self::User(user) if user.next() <= now => user.ask(outlet, now),
            _ => {}
        }
    }

    /// `bytes` have arrived; the peer has closed where `ended`.
    pub fn on_delivered(&mut self, outlet: &mut impl Outlet, bytes: u64, ended: bool, now: Instant) {
        match self {
            Self::Dialogue(dialogue) if bytes > 0 => dialogue.on_delivered(outlet, bytes, now),
            Self::Asker(asker) => asker.on_delivered(bytes),
            Self::Echo if bytes > 0 => outlet.write(bytes),
            Self::User(user) if bytes > 0 => user.on_delivered(outlet, bytes, now),
            Self::Server(server) if bytes > 0 => server.on_delivered(outlet, bytes),
            _ => {}
        }
        let closes = matches!(self, Self::Sink | Self::Dialogue(_) | Self::Echo | Self::Server(_));
        if ended && closes {
            outlet.close();
        }
    }

    /// What was asked or answered and not told yet, of an application that asks.
    pub fn take_news(&mut self) -> Option<News> {
        match self {
            Self::Asker(asker) => asker.take_news(),
            Self::User(user) => user.take_news(),
            _ => None,
        }
    }

    /// Something has happened at the connection that a dialogue leads.
    pub fn on_happening(&mut self, outlet: &mut impl Outlet, what: Happening, now: Instant) {
        if let Self::Dialogue(dialogue) = self {
            dialogue.on_happening(outlet, what, now);
        }
    }

    /// What a dialogue orders.
    pub fn take_order(&mut self) -> Option<Order> {
        match self {
            Self::Dialogue(dialogue) => dialogue.take_order(),
            _ => None,
        }
    }

    /// Keeps an unlimited source ahead.
    #[inline]
    pub fn refill(&mut self, outlet: &mut impl Outlet) {
        if matches!(self, Self::Unlimited) && outlet.unsent() < AHEAD / 2 {
            outlet.write(AHEAD);
        }
    }

    /// Nothing more is to be written.
    pub fn stop(&mut self) {
        *self = Self::Sink;
    }
}
