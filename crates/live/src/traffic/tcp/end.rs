//! One end of a connection: its socket, its application, what waits between the two.

use core::net::SocketAddr;
use std::net::TcpStream;

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_scenario::Scenario;
use lockgate_scenario::tcp::Application as Task;
use lockgate_sim::parts::{Planned, application};
use lockgate_tcp::application::Application;
use rustix::event::epoll::EventFlags;

use super::outlet::Queue;
use crate::failure::Failure;
use crate::traffic::ftp;

/// Where its connection stands.
pub(super) enum State {
    /// Not opened, or not by the other end.
    Closed,
    /// On its way.
    Connecting(TcpStream),
    /// There.
    Open(TcpStream),
    /// Ended in both directions, or broken.
    Over,
}

/// How two connections of a host belong together.
#[derive(Clone, Copy)]
pub(super) enum Partner {
    /// This one carries a dialogue, that one so many bytes.
    Leads(usize, u64),
    /// That one carries the dialogue.
    Follows(usize),
}

/// One end of a connection.
pub(super) struct End {
    /// The place of its connection's flow.
    pub(super) of: usize,
    /// The places of the flows that it sends and gets.
    pub(super) sends: usize,
    pub(super) gets: usize,
    /// Whether it is the one that opens.
    pub(super) active: bool,
    pub(super) state: State,
    pub(super) application: Application,
    pub(super) queue: Queue,
    /// What it hears, where it talks.
    pub(super) ear: Option<ftp::Ear>,
    pub(super) partner: Option<Partner>,
    pub(super) start: Instant,
    /// Until when its application may write; never where it may for good, or has stopped.
    pub(super) stop: Instant,
    /// Bytes its application is to get, `u64::MAX` where that is not known; `None` when all is there.
    expected: Option<u64>,
    delivered: u64,
    /// Whether the other end has nothing more to send.
    pub(super) ended: bool,
    /// Whether the other end knows that this one has nothing more.
    pub(super) shut: bool,
    /// The flow whose sender it is, where that is of interest: where it sends what the connection is about.
    pub(super) sampled: Option<usize>,
    /// When it is looked at next.
    pub(super) armed: Instant,
    /// What the kernel has been asked to tell of its socket.
    pub(super) interest: EventFlags,
}

impl End {
    /// An end of the connection of flow `of`, whose other direction is the flow `back`.
    pub(super) fn build(
        scenario: &Scenario,
        (of, back): (usize, usize),
        planned: &Planned,
        active: bool,
        seed: Seed,
    ) -> Result<Self, Failure> {
        let flow = &scenario.flows[of];
        let mut queue = Queue::default();
        let mut ear = None;
        let is_pages = matches!(planned.model.application, Task::Pages { .. });
        let expected = match planned.model.application {
            Task::File(bytes) if !active => bytes.0,
            Task::Control { of: led } => {
                let data = &scenario.flows[led].fields;
                let data = SocketAddr::new(data.destination, data.destination_port);
                queue.phrase(Box::new(move |words| ftp::put(words, data)));
                ear = Some(ftp::Ear::default());
                u64::MAX
            }
            _ => u64::MAX,
        };
        let (sends, gets) = if active { (of, back) } else { (back, of) };
        // What a dialogue leads is opened by it.
        let start = if flow.ftp.is_some() { Instant::NEVER } else { planned.start };
        Ok(Self {
            of,
            sends,
            gets,
            active,
            state: State::Closed,
            application: application(scenario, of, planned, active, seed)?,
            queue,
            ear,
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

    /// Its socket, where it has one.
    pub(super) fn stream(&mut self) -> Option<&mut TcpStream> {
        match &mut self.state {
            State::Connecting(stream) | State::Open(stream) => Some(stream),
            State::Closed | State::Over => None,
        }
    }

    /// When it does something next by itself.
    pub(super) fn next(&self) -> Instant {
        match self.state {
            State::Closed if self.active && self.start < self.stop => self.start,
            State::Closed | State::Over => Instant::NEVER,
            State::Connecting(_) | State::Open(_) => self.application.next().min(self.stop),
        }
    }

    /// What is of interest of its socket now.
    pub(super) fn wanted(&self) -> EventFlags {
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, !self.ended && matches!(self.state, State::Open(_)));
        wanted.set(EventFlags::OUT, self.queue.waits() || matches!(self.state, State::Connecting(_)));
        wanted
    }

    /// `bytes` have come. Returns whether that completes what it was to get.
    pub(super) fn count(&mut self, bytes: u64) -> bool {
        self.delivered += bytes;
        let completes = self.expected.is_some_and(|expected| self.delivered >= expected || self.ended);
        if completes {
            self.expected = None;
        }
        completes && self.delivered > 0
    }

    /// Whether nothing more can happen at it.
    pub(super) fn is_over(&self) -> bool {
        self.ended && self.shut
    }
}
