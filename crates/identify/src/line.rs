//! Fast forward model: one port and its line, packet by packet.
//!
//! ```text
//! probe  -->|
//!           |--> [ port of the scenario ] --> line (rate, loss, delay) --> arrivals
//! others -->|
//! ```
//!
//! The port is the engine's, built from the scenario that a candidate writes; the line is the simulator's
//! rule in few lines. A test compares the arrivals with those of a simulation of the same scenario. Nothing
//! else of a simulation is needed here, and a judgement makes hundreds of passes.

use core::net::{IpAddr, Ipv4Addr};

use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::packet::{FlowId, Header, Packet, Pool};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Probability, Rate};
use lockgate_scenario::Scenario;
use lockgate_scenario::tree::QueueTree;

use crate::probe::{Arrival, Observation, Probe};

/// Flow of the traffic of others.
const OTHERS: u32 = 250;

/// Mark of a packet of others, instead of its index.
const FOREIGN: u64 = u64::MAX;

/// UDP port of flow 0 of a probe; the others follow.
pub const FIRST_PORT: u16 = 5300;

/// Traffic of others on the line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Others {
    /// Mean rate in bit/s.
    pub rate: f64,
    /// Length of each frame, in bytes.
    pub length: u32,
}

/// A port with its line.
pub struct Line {
    tree: std::sync::Arc<QueueTree>,
    rate: Rate,
    delay: Duration,
    loss: Probability,
}

/// Addresses of the packets of a probe, which classifiers and hashes read.
struct Addresses;

impl Headers for Addresses {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        let flow = packet.flow.0 as u16;
        let last = if packet.flow.0 == OTHERS { 9 } else { 1 };
        Some(Fields {
            protocol: 17,
            source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)),
            destination: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last + 1)),
            source_port: FIRST_PORT + flow,
            destination_port: FIRST_PORT + flow,
            flow_label: 0,
        })
    }
}

/// State of one pass.
struct Pass<'a> {
    line: &'a Line,
    port: Port,
    random: Random,
    pool: Pool,
    free_at: Instant,
    wake: Instant,
    /// Packets of the probe that are neither received nor lost.
    open: usize,
    arrivals: Vec<Option<Arrival>>,
}

impl Line {
    /// Returns the port called `port` of a scenario with its line; `None` if there is none.
    pub fn of(scenario: &Scenario, port: &str) -> Option<Self> {
        let port = &scenario.ports[scenario.port(port)?];
        let link = &scenario.links[port.link];
        Some(Self {
            tree: port.tree.clone(),
            rate: link.rate(port.direction),
            delay: link.delay(port.direction),
            loss: link.loss(port.direction),
        })
    }

    /// Sends a probe over the line beside the traffic of others, with the random draws of `seed`. Returns
    /// `None` if the queue cannot be built, which reading the scenario finds first.
    pub fn pass(&self, probe: &Probe, others: Others, seed: Seed) -> Option<Observation> {
        let root = self.tree.build().ok()?;
        let count: usize = probe.rounds.iter().map(|round| round.packets.len()).sum();
        let mut pass = Pass {
            line: self,
            port: Port::new(root, Random::stream(seed, "identify/port")),
            random: Random::stream(seed, "identify/loss"),
            pool: Pool::default(),
            free_at: Instant::ZERO,
            wake: Instant::NEVER,
            open: count,
            arrivals: vec![None; count],
        };
        pass.run(probe, others, &mut Random::stream(seed, "identify/others"));
        let mut all = pass.arrivals.into_iter();
        let rounds = probe.rounds.iter().map(|round| all.by_ref().take(round.packets.len()).collect());
        Some(Observation { rounds: rounds.collect() })
    }
}

impl Pass<'_> {
    fn run(&mut self, probe: &Probe, others: Others, random: &mut Random) {
        let mut packets = probe.packets().enumerate().peekable();
        let mean = f64::from(others.length) * 8e12 / others.rate.max(1e-9);
        let gap = |random: &mut Random| -libm::log(1.0 - random.unit()) * mean;
        let is_alone = others.rate <= 0.0;
        let mut foreign = if is_alone { f64::INFINITY } else { gap(random) };
        while self.open > 0 {
            let next = packets.peek().map_or(Instant::NEVER, |(_, sent)| sent.instant());
            // Others send until the last packet of the probe has been offered and has left.
            let other =
                if foreign.is_finite() { Instant::from_picos(foreign as u64) } else { Instant::NEVER };
            let arrival = next.min(other);
            if self.wake <= arrival {
                if self.wake == Instant::NEVER {
                    return;
                }
                let now = self.wake;
                self.poll(now);
            } else if next <= other {
                let Some((index, sent)) = packets.next() else { return };
                let header = Header {
                    payload: index as u64,
                    sent: next,
                    stamp: next,
                    flow: FlowId(u32::from(sent.flow)),
                    sequence: index as u32,
                    length: sent.length,
                    traffic_class: sent.traffic_class,
                    ..Header::default()
                };
                self.offer(header, next);
            } else {
                foreign += gap(random);
                let flow = FlowId(OTHERS);
                let header = Header {
                    payload: FOREIGN,
                    sent: other,
                    stamp: other,
                    flow,
                    length: others.length,
                    ..Header::default()
                };
                self.offer(header, other);
            }
            self.take_drops();
        }
    }

    fn offer(&mut self, header: Header, now: Instant) {
        let packet = self.pool.take(header);
        self.port.offer(packet, now, &Addresses);
        if self.free_at > now {
            self.wake = self.wake.min(self.free_at);
        } else {
            self.poll(now);
        }
    }

    fn poll(&mut self, now: Instant) {
        match self.port.poll(now, &Addresses) {
            Poll::Transmit(packet) => {
                let end = now + self.line.rate.time_for(packet.bytes());
                self.free_at = end;
                self.wake = if self.port.has_more() { end } else { Instant::NEVER };
                self.receive(packet, end);
            }
            Poll::WaitUntil(time) => self.wake = time,
            Poll::Idle => self.wake = Instant::NEVER,
        }
    }

    fn receive(&mut self, packet: Packet, end: Instant) {
        let is_lost = self.line.loss > Probability::ZERO && self.line.loss.hits(self.random.bits());
        if packet.payload != FOREIGN {
            self.open -= 1;
            if let Some(slot) = self.arrivals.get_mut(packet.payload as usize)
                && !is_lost
            {
                let at = (end + self.line.delay).as_picos().cast_signed();
                *slot = Some(Arrival { at, traffic_class: packet.traffic_class });
            }
        }
        self.pool.recycle(packet);
    }

    fn take_drops(&mut self) {
        if self.port.has_drops() {
            for (packet, _) in self.port.take_drops() {
                self.open -= usize::from(packet.payload != FOREIGN);
                self.pool.recycle(packet);
            }
        }
    }
}
