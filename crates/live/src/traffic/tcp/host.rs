//! All ends of connections of a host on one thread, waiting by epoll for sockets and timers.
//!
//! Counterpart of the simulator's `TcpHosts`, with the kernel's connections instead of simulated ones.

use core::cmp::Reverse;
use core::net::SocketAddr;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use lockgate_dataplane::mailbox::Mailbox;
use lockgate_dataplane::real_time::RealTimeThread;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_network::connection;
use lockgate_scenario::{Application as Task, Flow, Transport};
use lockgate_tcp::application::{Application, DialogueEvent, Order, Outlet, RequestEvent};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::end::{End, Partner, State};
use super::{Ends, model, socket};
use crate::failure::{Failure, Missing};
use crate::machine::{ConnectionEvent, ConnectionEventKind, Renewal};
use crate::traffic::priority::FLOW_END;

/// Bytes of a read, and reads of one end before others get their turn.
const CHUNK: usize = 128 << 10;
const READS: usize = 8;

/// Longest wait. Bounds the delay of stopping and of changes.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Events taken at most by one call.
const BATCH: usize = 64;

/// Ends of a host's connections.
pub(crate) struct Applications<'env> {
    shared: &'env Ends<'env>,
    listeners: Vec<TcpListener>,
    ends: Vec<End>,
    /// Passive ends that wait for a connection, by the peer's address and the local one.
    awaited: BTreeMap<(SocketAddr, SocketAddr), usize>,
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
    epoll: OwnedFd,
    chunk: Vec<u8>,
    /// Broken connections: index of the flow, and the reason.
    broken: Vec<(usize, String)>,
}

impl<'env> Applications<'env> {
    /// Builds the ends at `node` and opens its listening sockets, in the namespace of this thread; `None` if
    /// no connection ends there.
    ///
    /// # Errors
    /// If the kernel refuses: a port is taken, or it lacks a congestion control.
    pub(crate) fn open(shared: &'env Ends<'env>, node: usize) -> Result<Option<Self>, Failure> {
        let refused = |error: io::Error| Missing::refused("wait for connections", &error);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| refused(error.into()))?;
        let mut host = Self {
            shared,
            listeners: Vec::new(),
            ends: Vec::new(),
            awaited: BTreeMap::new(),
            timers: BinaryHeap::new(),
            epoll,
            chunk: vec![0; CHUNK],
            broken: Vec::new(),
        };
        host.build(node)?;
        if host.ends.is_empty() {
            return Ok(None);
        }
        for (index, listener) in host.listeners.iter().enumerate() {
            let index = EventData::new_u64((host.ends.len() + index) as u64);
            epoll::add(&host.epoll, listener, index, EventFlags::IN)
                .map_err(|error| refused(error.into()))?;
        }
        Ok(Some(host))
    }

    fn build(&mut self, node: usize) -> Result<(), Failure> {
        let Ends { scenario, seed, files, .. } = self.shared;
        let mut checked: Vec<&Flow> = Vec::new();
        // Per flow: indices of its connection's ends here.
        let mut ends_of: BTreeMap<usize, [Option<usize>; 2]> = BTreeMap::new();
        for (back, flow) in scenario.flows.iter().enumerate() {
            let Transport::TcpReturn { of } = flow.transport else { continue };
            let forth = &scenario.flows[of];
            let (Some(model), Some(connection)) = (model(forth), connection(scenario, of, files)) else {
                continue;
            };
            for active in [true, false] {
                if node != if active { forth.from } else { forth.to } {
                    continue;
                }
                let end = End::build(scenario, (of, back), &connection, active, *seed)?;
                ends_of.entry(of).or_default()[usize::from(active)] = Some(self.ends.len());
                if active {
                    let like = |known: &&Flow| super::model(known).map(kind) == Some(kind(model));
                    if !checked.iter().any(like) {
                        socket::check(forth, model, *seed)?;
                        checked.push(forth);
                    }
                } else {
                    self.await_at(forth, self.ends.len())?;
                }
                self.ends.push(end);
            }
        }
        for index in 0..self.ends.len() {
            self.couple(index, &ends_of);
            self.rearm(index);
        }
        Ok(())
    }

    /// Opens the listening socket for the connection of `flow`, for the end at index `index`.
    fn await_at(&mut self, flow: &Flow, index: usize) -> Result<(), Failure> {
        let address = SocketAddr::new(flow.fields.destination, flow.fields.destination_port);
        let peer = SocketAddr::new(flow.fields.source, flow.fields.source_port);
        self.awaited.insert((peer, address), index);
        let is_there = |known: &TcpListener| known.local_addr().is_ok_and(|local| local == address);
        if let Some(model) = model(flow)
            && !self.listeners.iter().any(is_there)
        {
            self.listeners.push(socket::listener(flow, model)?);
        }
        Ok(())
    }

    /// Links the end of a dialogue with that of the connection it leads.
    fn couple(&mut self, index: usize, ends_of: &BTreeMap<usize, [Option<usize>; 2]>) {
        let scenario = self.shared.scenario;
        let Some(Task::Control { of: led }) =
            model(&scenario.flows[self.ends[index].of]).map(|m| m.application)
        else {
            return;
        };
        let bytes = match connection(scenario, led, &self.shared.files).map(|led| led.model.application) {
            Some(Task::File(bytes)) => bytes.0,
            _ => 0,
        };
        let ends = ends_of.get(&led).copied().unwrap_or_default();
        for other in ends.into_iter().flatten() {
            self.ends[index].partner = Some(Partner::Leads(other, bytes));
            self.ends[other].partner = Some(Partner::Follows(index));
        }
    }

    /// Runs the applications until the run ends, on a thread in the host's namespace. Returns the broken
    /// connections, with the reasons.
    pub(crate) fn run(mut self, changes: &mut Mailbox<Renewal>) -> Vec<(usize, String)> {
        let clock = self.shared.clock;
        let mut thread = RealTimeThread::new(FLOW_END);
        clock.sleep_until(Instant::ZERO);
        let step = self.shared.interval.as_picos().max(1_000_000);
        let mut sampling = Instant::from_picos(step);
        while !self.shared.halt.load(Ordering::Relaxed) {
            for renewal in changes.take() {
                self.renew(&renewal);
            }
            let mut now = clock.now();
            while let Some(Reverse((at, index))) = self.timers.peek().copied()
                && at <= now
            {
                self.timers.pop();
                if self.ends[index].armed == at {
                    self.on_time(index, now);
                    now = clock.now();
                }
            }
            if sampling <= now {
                let missed = (now.as_picos() - sampling.as_picos()) / step;
                sampling = Instant::from_picos(sampling.as_picos() + missed * step);
                self.sample(sampling);
                sampling = Instant::from_picos(sampling.as_picos().saturating_add(step));
            }
            let timer = self.timers.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at);
            let until = timer.min(sampling).min(now + LONGEST_SLEEP);
            // Only a thread that really sleeps keeps its priority.
            if self.take_events() == 0 && until > now {
                thread.on_sleep(now);
                self.wait(until.since(now));
                self.take_events();
            }
            thread.on_wake(clock.now());
        }
        self.broken
    }

    fn wait(&self, spare: Duration) {
        let nanos = spare.as_picos() / 1_000;
        let spare = Timespec {
            tv_sec: (nanos / 1_000_000_000).cast_signed(),
            tv_nsec: (nanos % 1_000_000_000).cast_signed(),
        };
        // A poll first, because epoll's own timeout counts whole milliseconds.
        let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&spare));
    }

    /// Handles the pending events of epoll. Returns how many.
    fn take_events(&mut self) -> usize {
        let mut events = Vec::with_capacity(BATCH);
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&at_once));
        let count = events.len();
        for event in events {
            let index = event.data.u64() as usize;
            if index < self.ends.len() {
                self.on_event(index, event.flags);
            } else {
                self.accept(index - self.ends.len());
            }
        }
        count
    }

    fn renew(&mut self, renewal: &Renewal) {
        let index = self.ends.iter().position(|end| end.active && end.of == renewal.flow);
        if let Some(index) = index {
            self.ends[index].stop = renewal.stop;
            self.rearm(index);
        }
    }

    fn rearm(&mut self, index: usize) {
        let end = &mut self.ends[index];
        let next = end.next();
        if next != end.armed {
            end.armed = next;
            if next != Instant::NEVER {
                self.timers.push(Reverse((next, index)));
            }
        }
    }

    /// Handles an end's timer.
    fn on_time(&mut self, index: usize, now: Instant) {
        let end = &mut self.ends[index];
        end.armed = Instant::NEVER;
        if matches!(end.state, State::Closed) {
            self.connect(index, now);
        } else {
            if end.stop <= now {
                end.stop = Instant::NEVER;
                end.application.stop();
                end.queue.stop();
            }
            end.application.on_timer(&mut end.queue, now);
        }
        self.advance(index, now);
    }

    /// Opens the connection of an end that is closed.
    fn connect(&mut self, index: usize, now: Instant) {
        let Ends { scenario, seed, .. } = self.shared;
        let end = &self.ends[index];
        let flow = &scenario.flows[end.of];
        let Some(model) = model(flow) else { return };
        if !end.active || !matches!(end.state, State::Closed) {
            return;
        }
        if now >= end.stop {
            // The thread stalled past the flow's whole time. A closed end would be due again at once, for
            // ever.
            self.ends[index].state = State::Over;
            return;
        }
        // The address, if a dialogue has announced one.
        let announced = match end.partner {
            Some(Partner::Follows(leader)) => {
                self.ends[leader].parser.as_ref().and_then(|parser| parser.data)
            }
            _ => None,
        };
        let to = announced
            .unwrap_or_else(|| SocketAddr::new(flow.fields.destination, flow.fields.destination_port));
        match socket::connecting(flow, model, to, *seed) {
            Ok(stream) => {
                self.watch(index, stream, State::Connecting);
                let end = &mut self.ends[index];
                end.application.on_open(&mut end.queue, now);
            }
            Err(error) => self.break_off(index, error.to_string()),
        }
    }

    /// Gives an end its socket and registers it with epoll.
    fn watch(&mut self, index: usize, stream: TcpStream, state: impl FnOnce(TcpStream) -> State) {
        let end = &mut self.ends[index];
        let added = epoll::add(&self.epoll, &stream, EventData::new_u64(index as u64), EventFlags::empty());
        end.interest = EventFlags::empty();
        end.state = state(stream);
        if let Err(error) = added {
            self.break_off(index, error.to_string());
        }
    }

    fn accept(&mut self, listener: usize) {
        let Some(listener) = self.listeners.get(listener) else { return };
        let Ok(local) = listener.local_addr() else { return };
        let mut came = Vec::new();
        while let Ok((stream, peer)) = listener.accept() {
            came.push((stream, peer));
        }
        for (stream, peer) in came {
            let Some(index) = self.awaited.get(&(peer, local)).copied() else { continue };
            let end = &self.ends[index];
            let flows = &self.shared.scenario.flows;
            let Some(model) = model(&flows[end.of]) else { continue };
            if !matches!(end.state, State::Closed) {
                continue;
            }
            if let Err(error) = socket::set_accepted(&stream, &flows[end.sends], model) {
                self.break_off(index, error.to_string());
                continue;
            }
            let now = self.shared.clock.now();
            self.watch(index, stream, State::Open);
            let end = &mut self.ends[index];
            end.application.on_open(&mut end.queue, now);
            self.on_connected(index, now);
        }
    }

    fn on_event(&mut self, index: usize, flags: EventFlags) {
        let now = self.shared.clock.now();
        match &self.ends[index].state {
            State::Connecting(stream) => match socket::connected(stream) {
                Ok(()) => {
                    let state = core::mem::replace(&mut self.ends[index].state, State::Over);
                    if let State::Connecting(stream) = state {
                        self.ends[index].state = State::Open(stream);
                    }
                    self.on_connected(index, now);
                }
                Err(error) => self.break_off(index, error.to_string()),
            },
            State::Open(_)
                if self.ends[index].ended && flags.intersects(EventFlags::HUP | EventFlags::ERR) =>
            {
                self.break_off(index, "the other end is gone".to_owned());
            }
            State::Open(_) => {
                if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                    self.read(index);
                }
                self.advance(index, self.shared.clock.now());
            }
            State::Closed | State::Over => {}
        }
    }

    /// Handles an established connection.
    fn on_connected(&mut self, index: usize, now: Instant) {
        let end = &mut self.ends[index];
        end.application.on_connected(&mut end.queue, now);
        self.notify_leader(index, DialogueEvent::Connected, now);
        self.advance(index, now);
    }

    fn notify_leader(&mut self, index: usize, what: DialogueEvent, now: Instant) {
        if let Some(Partner::Follows(leader)) = self.ends[index].partner {
            let end = &mut self.ends[leader];
            end.application.on_happening(&mut end.queue, what, now);
            self.advance(leader, now);
        }
    }

    fn read(&mut self, index: usize) {
        for _ in 0..READS {
            let end = &mut self.ends[index];
            if end.ended {
                return;
            }
            let State::Open(stream) = &mut end.state else { return };
            let read = match stream.read(&mut self.chunk) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.break_off(index, error.to_string()),
            };
            if !end.active
                && let Some(model) = model(&self.shared.scenario.flows[end.of])
            {
                socket::clamp_window(&*stream, model);
            }
            let now = self.shared.clock.now();
            end.ended = read == 0;
            if let Some(parser) = &mut end.parser {
                if let Err(why) = parser.push_bytes(&self.chunk[..read]) {
                    return self.break_off(index, why.to_string());
                }
                end.application.on_delivered(&mut end.queue, 0, end.ended, now);
            } else {
                end.application.on_delivered(&mut end.queue, read as u64, end.ended, now);
            }
            let (flow, of, ended) = (end.gets, end.of, end.ended);
            let completes = end.count(read as u64);
            if read > 0 {
                self.report(flow, now, ConnectionEventKind::Delivered(Bytes(read as u64)));
            }
            if completes && let Some(connection) = connection(self.shared.scenario, of, &self.shared.files) {
                self.report(flow, now, ConnectionEventKind::Completed(now.since(connection.start)));
            }
            if ended {
                self.notify_leader(index, DialogueEvent::Delivered, now);
            }
        }
    }

    /// Makes all progress possible at an end: parses messages, flushes the queue, executes orders of its
    /// dialogue.
    fn advance(&mut self, index: usize, now: Instant) {
        self.parse_messages(index, now);
        let end = &mut self.ends[index];
        end.application.refill(&mut end.queue);
        if let State::Open(stream) = &mut end.state {
            if let Err(error) = end.queue.flush(stream) {
                return self.break_off(index, error.to_string());
            }
            if end.queue.is_over() && !end.shut {
                end.shut = true;
                let _ = stream.shutdown(Shutdown::Write);
            }
        }
        if end.is_over() {
            end.state = State::Over;
        }
        self.report_requests(index, now);
        self.execute_order(index, now);
        let end = &mut self.ends[index];
        let wanted = end.wanted();
        if wanted != end.interest
            && let State::Connecting(stream) | State::Open(stream) = &end.state
        {
            end.interest = wanted;
            let _ = epoll::modify(&self.epoll, stream, EventData::new_u64(index as u64), wanted);
        }
        self.rearm(index);
    }

    /// Parses received messages, as far as the dialogue expects them.
    fn parse_messages(&mut self, index: usize, now: Instant) {
        loop {
            let end = &mut self.ends[index];
            let (Some(parser), Application::Dialogue(dialogue)) = (&mut end.parser, &end.application) else {
                return;
            };
            let Some(expected) = dialogue.expected() else { return };
            let flow = &self.shared.scenario.flows[end.gets];
            match parser.take(expected, flow.fields.source) {
                Ok(true) => {
                    end.application.on_delivered(&mut end.queue, expected.len() as u64, false, now);
                }
                Ok(false) => return,
                Err(why) => return self.break_off(index, why.to_string()),
            }
        }
    }

    /// Reports requests and answers of an application.
    fn report_requests(&mut self, index: usize, now: Instant) {
        while let Some(event) = self.ends[index].application.take_request_event() {
            let what = match event {
                RequestEvent::Asked => ConnectionEventKind::Asked,
                RequestEvent::Answered(asked) => ConnectionEventKind::Answered(asked),
            };
            self.report(self.ends[index].sends, now, what);
        }
    }

    /// Executes the order of a dialogue, if any.
    fn execute_order(&mut self, index: usize, now: Instant) {
        let end = &mut self.ends[index];
        let Some(Partner::Leads(led, bytes)) = end.partner else { return };
        match end.application.take_order() {
            Some(Order::Connect) => self.connect(led, now),
            Some(Order::Send) => {
                let led = &mut self.ends[led];
                led.queue.write(bytes);
                led.queue.close();
            }
            None => return,
        }
        self.advance(led, now);
    }

    /// Reports the senders' states.
    fn sample(&mut self, at: Instant) {
        for index in 0..self.ends.len() {
            let end = &mut self.ends[index];
            if let Some(flow) = end.sampled
                && let Some(sample) = end.stream().and_then(|stream| socket::sample(stream))
            {
                self.report(flow, at, ConnectionEventKind::Sampled(sample));
            }
        }
    }

    fn report(&self, flow: usize, at: Instant, what: ConnectionEventKind) {
        self.shared.tell.send(ConnectionEvent { flow, at, what });
    }

    fn break_off(&mut self, index: usize, why: String) {
        let end = &mut self.ends[index];
        end.state = State::Over;
        let of = end.of;
        self.rearm(index);
        if !self.broken.iter().any(|(known, _)| *known == of) {
            self.broken.push((of, why));
        }
    }
}

/// Returns the properties of a connection that a kernel may lack.
fn kind(model: &lockgate_scenario::TcpModel) -> (&'static str, bool) {
    (model.control().name(), model.initial_sequence == lockgate_scenario::tcp::InitialSequence::Random)
}
