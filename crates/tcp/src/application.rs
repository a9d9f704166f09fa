//! Application at one end of a connection: when it writes, how much, when it closes.

mod dialogue;
mod echo;
mod pages;
mod request_event;

use lockgate_engine::units::Instant;
use lockgate_traffic::arrivals::{Arrivals, Emission};

pub use dialogue::{Dialogue, DialogueEvent, Order};
pub use echo::Asker;
pub use pages::{Objects, Server, User};
pub use request_event::RequestEvent;

/// Sending side of an application's end, simulated or a kernel's.
pub trait Outlet {
    /// Queues this many bytes of any value.
    fn write(&mut self, bytes: u64);

    /// Queues a message. An outlet that carries only lengths writes so many bytes.
    fn say(&mut self, words: &'static str) {
        self.write(words.len() as u64);
    }

    /// Closes the direction: nothing more will be written.
    fn close(&mut self);

    /// Returns the bytes written and not yet sent.
    fn unsent(&self) -> u64;
}

/// Bytes that an unlimited source keeps written ahead.
const AHEAD: u64 = 1 << 30;

/// Behaviour of the application at one end.
pub enum Application {
    /// Only receives; closes after the peer.
    Sink,
    /// Writes when [`Endpoint::write`](super::endpoint::Endpoint::write) is called.
    Script,
    /// Always has more to send.
    Unlimited,
    /// Writes this many bytes at once, then closes.
    File(u64),
    /// Writes the data of a traffic source, at its times.
    Stream(Box<Stream>),
    /// Exchanges messages in turns, and leads another connection.
    Dialogue(Box<Dialogue>),
    /// Sends requests that the peer echoes.
    Asker(Box<Asker>),
    /// Echoes what it receives; closes after the peer.
    Echo,
    /// Requests pages.
    User(Box<User>),
    /// Answers requests by objects; closes after the peer.
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
    /// Creates the writes that `arrivals` offer from `start` on, `bytes` in total at most.
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

    /// Writes all data due by `now`; calls `tell` with the length of each write.
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
    /// Returns the time of its next own action.
    pub fn next(&self) -> Instant {
        match self {
            Self::Stream(stream) => stream.next(),
            Self::Dialogue(dialogue) => dialogue.next(),
            Self::Asker(asker) => asker.next(),
            Self::User(user) => user.next(),
            _ => Instant::NEVER,
        }
    }

    /// Handles the opening of the connection.
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

    /// Handles the establishment of the connection: the side that talks first starts.
    pub fn on_connected(&mut self, outlet: &mut impl Outlet, now: Instant) {
        if let Self::Dialogue(dialogue) = self {
            dialogue.go_on(outlet, now);
        }
    }

    /// Handles its timer, which may be early.
    pub fn on_timer(&mut self, outlet: &mut impl Outlet, now: Instant) {
        match self {
            Self::Stream(stream) => stream.write_due(outlet, now),
            Self::Dialogue(dialogue) if dialogue.next() <= now => dialogue.go_on(outlet, now),
            Self::Asker(asker) => asker.ask(outlet, now),
            Self::User(user) if user.next() <= now => user.ask(outlet, now),
            _ => {}
        }
    }

    /// Handles the arrival of `bytes`; `ended` if the peer has closed.
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

    /// Returns the next unreported request or answer, if any.
    pub fn take_request_event(&mut self) -> Option<RequestEvent> {
        match self {
            Self::Asker(asker) => asker.take_request_event(),
            Self::User(user) => user.take_request_event(),
            _ => None,
        }
    }

    /// Handles an event of the connection that a dialogue leads.
    pub fn on_happening(&mut self, outlet: &mut impl Outlet, what: DialogueEvent, now: Instant) {
        if let Self::Dialogue(dialogue) = self {
            dialogue.on_happening(outlet, what, now);
        }
    }

    /// Returns the next order of a dialogue, if any.
    pub fn take_order(&mut self) -> Option<Order> {
        match self {
            Self::Dialogue(dialogue) => dialogue.take_order(),
            _ => None,
        }
    }

    /// Writes more for an unlimited source if less than 512 MiB are unsent.
    #[inline]
    pub fn refill(&mut self, outlet: &mut impl Outlet) {
        if matches!(self, Self::Unlimited) && outlet.unsent() < AHEAD / 2 {
            outlet.write(AHEAD);
        }
    }

    /// Stops writing.
    pub fn stop(&mut self) {
        *self = Self::Sink;
    }
}
