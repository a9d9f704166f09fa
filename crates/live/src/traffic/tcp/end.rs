//! One end of a connection: its socket, its application, and the queue between the two.

use core::net::SocketAddr;
use std::net::TcpStream;

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_network::{Connection, application};
use lockgate_scenario::Scenario;
use lockgate_scenario::tcp::Application as Task;
use lockgate_tcp::application::Application;
use rustix::event::epoll::EventFlags;

use super::outlet::Queue;
use crate::failure::Failure;
use crate::traffic::ftp;

/// State of the connection.
pub(super) enum State {
    /// Not opened yet, by this end or by the other.
    Closed,
    /// Being established.
    Connecting(TcpStream),
    /// Established.
    Open(TcpStream),
    /// Ended in both directions, or broken.
    Over,
}

/// Link between two connections of a host.
#[derive(Clone, Copy)]
pub(super) enum Partner {
    /// This end carries the dialogue; the other end's index, and the length of its file in bytes.
    Leads(usize, u64),
    /// The other end, at this index, carries the dialogue.
    Follows(usize),
}

/// One end of a connection.
pub(super) struct End {
    /// Index of the connection's flow.
    pub(super) of: usize,
    /// Indices of the flows it sends and receives.
    pub(super) sends: usize,
    pub(super) gets: usize,
    /// True if it opens the connection.
    pub(super) active: bool,
    pub(super) state: State,
    pub(super) application: Application,
    pub(super) queue: Queue,
    /// Parser of received messages, if it carries a dialogue.
    pub(super) parser: Option<ftp::MessageParser>,
    pub(super) partner: Option<Partner>,
    pub(super) start: Instant,
    /// End of its application's writing; never if unlimited or already stopped.
    pub(super) stop: Instant,
    /// Bytes its application is to receive, `u64::MAX` if unknown; `None` once all have arrived.
    expected: Option<u64>,
    delivered: u64,
    /// True if the other end has closed its direction.
    pub(super) ended: bool,
    /// True if this end has closed its direction.
    pub(super) shut: bool,
    /// Flow for which this end's state is sampled, if it sends that flow's data.
    pub(super) sampled: Option<usize>,
    /// Time for which its timer is armed.
    pub(super) armed: Instant,
    /// Registered epoll interest.
    pub(super) interest: EventFlags,
}

impl End {
    /// Builds an end of the connection of flow `of`, whose other direction is the flow `back`.
    pub(super) fn build(
        scenario: &Scenario,
        (of, back): (usize, usize),
        connection: &Connection,
        active: bool,
        seed: Seed,
    ) -> Result<Self, Failure> {
        let flow = &scenario.flows[of];
        let mut queue = Queue::default();
        let mut parser = None;
        let is_pages = matches!(connection.model.application, Task::Pages { .. });
        let expected = match connection.model.application {
            Task::File(bytes) if !active => bytes.0,
            Task::Control { of: led } => {
                let data = &scenario.flows[led].fields;
                let data = SocketAddr::new(data.destination, data.destination_port);
                queue.phrase(Box::new(move |words| ftp::put(words, data)));
                parser = Some(ftp::MessageParser::default());
                u64::MAX
            }
            _ => u64::MAX,
        };
        let (sends, gets) = if active { (of, back) } else { (back, of) };
        // A connection that belongs to a dialogue is opened by the dialogue.
        let start = if flow.ftp.is_some() { Instant::NEVER } else { connection.start };
        Ok(Self {
            of,
            sends,
            gets,
            active,
            state: State::Closed,
            application: application(scenario, of, connection, active, seed)?,
            queue,
            parser,
            partner: None,
            start,
            stop: match flow.stop {
                Some(stop) if active => Instant::ZERO + stop,
                _ => Instant::NEVER,
            },
            expected: Some(expected),
            delivered: 0,
            ended: false,
            shut: false,
            sampled: (active || is_pages).then_some(sends),
            armed: Instant::NEVER,
            interest: EventFlags::empty(),
        })
    }

    /// Returns its socket, if any.
    pub(super) fn stream(&mut self) -> Option<&mut TcpStream> {
        match &mut self.state {
            State::Connecting(stream) | State::Open(stream) => Some(stream),
            State::Closed | State::Over => None,
        }
    }

    /// Returns the time of its next own action.
    pub(super) fn next(&self) -> Instant {
        match self.state {
            State::Closed if self.active && self.start < self.stop => self.start,
            State::Closed | State::Over => Instant::NEVER,
            State::Connecting(_) | State::Open(_) => self.application.next().min(self.stop),
        }
    }

    /// Returns the epoll interest it needs now.
    pub(super) fn wanted(&self) -> EventFlags {
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, !self.ended && matches!(self.state, State::Open(_)));
        wanted.set(EventFlags::OUT, self.queue.waits() || matches!(self.state, State::Connecting(_)));
        wanted
    }

    /// Counts `bytes` received. Returns whether they complete the expected data.
    pub(super) fn count(&mut self, bytes: u64) -> bool {
        self.delivered += bytes;
        let completes = self.expected.is_some_and(|expected| self.delivered >= expected || self.ended);
        if completes {
            self.expected = None;
        }
        completes && self.delivered > 0
    }

    /// True if nothing more can happen at this end.
    pub(super) fn is_over(&self) -> bool {
        self.ended && self.shut
    }
}
