//! A simulated kernel: its clock, frames and reports are drawn at random from a seed, and so are its faults.

use std::collections::VecDeque;

use etherparse::PacketBuilder;
use lockgate_dataplane::clock::WallOffset;
use lockgate_dataplane::dataplane::{Dataplane, Sent, Stopped};
use lockgate_dataplane::error::InterfaceError;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant};
use lockgate_live::driver::Wire;
use lockgate_live::frame::{ETHERNET_HEADER, ParsedFrame};
use lockgate_live::machine::{Machine, Renewal, Report};
use lockgate_live::traffic::stamp::Stamp;
use lockgate_network::{Source, build_sources};
use lockgate_scenario::{Flow, Scenario, Transport};

/// Probability of each fault, in 256ths.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    /// A wake-up is up to 40 ms late.
    pub(crate) late: u32,
    /// A send takes only some of its frames.
    pub(crate) short: u32,
    /// A frame finds its receive ring full.
    pub(crate) full: u32,
    /// A report is lost or arrives twice.
    pub(crate) report: u32,
    /// The process is stopped for up to 5 s.
    pub(crate) stopped: u32,
    /// A frame's time stamp is off by up to 100 ms either way: the wall clock has stepped.
    pub(crate) stepped: u32,
    /// A frame is damaged.
    pub(crate) damaged: u32,
    /// A wire is gone (in 65536ths).
    pub(crate) gone: u32,
}

pub(crate) struct Simulated<'a> {
    scenario: &'a Scenario,
    now: Instant,
    random: Random,
    faults: Faults,
    sources: Vec<Source>,
    rings: Vec<VecDeque<(Instant, Vec<u8>)>>,
    reports: Vec<Report>,
    wires: Vec<Wire>,
    /// Answers sent, by flow.
    answered: Vec<u32>,
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    /// Frames from hosts for which the ring had no room.
    pub(crate) overruns: u64,
}

pub(crate) fn wires(scenario: &Scenario) -> (Vec<Wire>, Vec<bool>) {
    let is_host: Vec<bool> = (0..scenario.nodes.len())
        .map(|node| scenario.flows.iter().any(|flow| flow.from == node || flow.to == node))
        .collect();
    let wires = is_host.iter().enumerate().filter(|(_, host)| **host);
    (
        wires.map(|(node, _)| Wire { node, host: [2, 0, 0, 0, 0, 1], gateway: [2, 0, 0, 0, 0, 2] }).collect(),
        is_host,
    )
}

/// Returns a datagram of a flow as a frame.
fn frame(flow: &Flow, payload: &[u8]) -> Option<Vec<u8>> {
    let (std::net::IpAddr::V4(from), std::net::IpAddr::V4(to)) =
        (flow.fields.source, flow.fields.destination)
    else {
        return None;
    };
    let mut frame = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4(from.octets(), to.octets(), 64)
        .udp(flow.fields.source_port, flow.fields.destination_port)
        .write(&mut frame, payload)
        .expect("fits");
    Some(frame)
}

impl<'a> Simulated<'a> {
    pub(crate) fn new(scenario: &'a Scenario, seed: u64, faults: Faults) -> Self {
        let (wires, _) = wires(scenario);
        Self {
            scenario,
            now: Instant::ZERO,
            random: Random::stream(Seed(seed), "faults"),
            faults,
            sources: build_sources(scenario, Seed(seed)).expect("sources"),
            rings: vec![VecDeque::new(); wires.len()],
            reports: Vec::new(),
            wires,
            answered: vec![0; scenario.flows.len()],
            sent: 0,
            delivered: 0,
            overruns: 0,
        }
    }

    fn happens(&mut self, of_256: u32) -> bool {
        of_256 > 0 && self.random.bits() >> 24 < of_256
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        Duration::from_picos(most.as_picos() / 1_000 * u64::from(self.random.bits() % 1_000))
    }

    /// Sends the answer of a host to a request, if the scenario has echoes.
    fn answer(&mut self, request: Stamp, payload: &[u8]) {
        let flows = self.scenario.flows.iter();
        let of = request.flow as usize;
        let Some(back) = flows.clone().position(|flow| flow.transport == Transport::UdpReturn { of }) else {
            return;
        };
        let flow = &self.scenario.flows[back];
        let stamp = Stamp { flow: back as u32, sequence: self.answered[back], sent: self.now };
        self.answered[back] += 1;
        let mut answer = payload.to_vec();
        stamp.write_answer(request.sent, &mut answer);
        let wire = self.wires.iter().position(|wire| wire.node == flow.from).expect("a wire");
        self.rings[wire].extend(frame(flow, &answer).map(|frame| (self.now, frame)));
    }

    /// Sends the datagrams of the hosts that are due.
    fn send_due(&mut self) {
        loop {
            let Some(index) = (0..self.sources.len()).min_by_key(|index| self.sources[*index].next()) else {
                return;
            };
            let at = self.sources[index].next();
            if at > self.now {
                return;
            }
            let header = self.sources[index].send(at);
            self.sent += 1;
            let flow = &self.scenario.flows[index];
            let stamp = Stamp { flow: index as u32, sequence: header.sequence, sent: at };
            let mut payload = stamp.to_bytes().to_vec();
            payload.resize((header.length as usize).saturating_sub(42), 0);
            let Some(mut frame) = frame(flow, &payload) else { continue };
            let mut stamped = at;
            if self.happens(self.faults.stepped) {
                let step = self.up_to(Duration::from_millis(100));
                stamped = if self.random.bits().is_multiple_of(2) {
                    at + step
                } else {
                    at - step.min(at.since(Instant::ZERO))
                };
            }
            if self.happens(self.faults.damaged) {
                let index = self.random.bits() as usize % frame.len();
                frame[index] ^= 1 << (self.random.bits() % 8);
                if self.random.bits().is_multiple_of(2) {
                    frame.truncate(index);
                }
            }
            if self.happens(self.faults.full) {
                self.overruns += 1;
            } else {
                let wire = self.wires.iter().position(|wire| wire.node == flow.from).expect("a wire");
                self.rings[wire].push_back((stamped, frame));
            }
        }
    }
}

impl Dataplane for Simulated<'_> {
    fn now(&mut self) -> Instant {
        self.send_due();
        self.now
    }

    fn wall(&self) -> WallOffset {
        WallOffset::default()
    }

    fn interface_count(&self) -> usize {
        self.rings.len()
    }

    fn next_arrival(&mut self, wire: usize) -> Option<Instant> {
        let (at, _) = self.rings[wire].front()?;
        Some((*at).min(self.now))
    }

    fn take_frame(&mut self, wire: usize, take: &mut dyn FnMut(&[u8])) {
        if let Some((_, frame)) = self.rings[wire].pop_front() {
            take(&frame);
        }
    }

    fn transmit(&mut self, _: usize, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        if self.faults.gone > 0 && self.random.bits() >> 16 < self.faults.gone {
            return Err(InterfaceError { what: "wire".into(), why: std::io::Error::other("gone") });
        }
        let taken = if self.happens(self.faults.short) {
            self.random.bits() as usize % frames.len()
        } else {
            frames.len()
        };
        for frame in &frames[..taken] {
            assert!(
                frame.len() >= ETHERNET_HEADER && frame[..6] == [2, 0, 0, 0, 0, 1],
                "addressed to the host"
            );
            let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(frame) else { continue };
            let Some(stamp) = Stamp::read(&frame[ip.payload..]) else { continue };
            self.delivered += 1;
            let payload = &frame[ip.payload..];
            let asked = Stamp::read_asked(payload);
            let report = Report { flow: stamp.flow, sequence: stamp.sequence, at: self.now, asked };
            self.answer(stamp, payload);
            let copies =
                if self.happens(self.faults.report) { (self.random.bits() % 2) as usize * 2 } else { 1 };
            self.reports.extend(std::iter::repeat_n(report, copies));
        }
        Ok(Sent { taken, stopped: (taken < frames.len()).then_some(Stopped::Busy) })
    }

    fn wait(&mut self, until: Instant) -> Result<(), InterfaceError> {
        let next = self.sources.iter().map(Source::next).min().unwrap_or(Instant::NEVER);
        let mut to = until.min(next).max(self.now);
        if self.happens(self.faults.late) {
            to = to + self.up_to(Duration::from_millis(40));
        }
        if self.happens(self.faults.stopped) && self.happens(8) {
            to = to + self.up_to(Duration::from_secs(5));
        }
        self.now = to;
        self.send_due();
        Ok(())
    }

    fn lost(&mut self) -> u64 {
        self.overruns
    }
}

impl Machine for Simulated<'_> {
    type Dataplane = Self;

    fn dataplane(&mut self) -> &mut Self {
        self
    }

    fn reports(&mut self, take: &mut dyn FnMut(Report)) {
        self.reports.drain(..).for_each(take);
    }

    fn renew(&mut self, renewal: Renewal) {
        self.sources[renewal.flow].renew(renewal.arrivals, renewal.at, renewal.stop);
    }
}
