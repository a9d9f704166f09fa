//! Filter of acknowledgements: which are dropped, in both modes, with connections that share a queue or not.

use std::collections::BTreeSet;

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::cake;
use crate::fixtures::link::Link;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use lockgate_engine::classify::{Acknowledgement, Fields, Headers};
use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::json;

pub(super) struct CakeAcks;

const CONNECTIONS: u32 = 3;
const SEGMENTS: usize = 600;

// Flags of the TCP header (RFC 9293 section 3.1).
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const URG: u8 = 32;
const ECE: u8 = 64;
const CWR: u8 = 128;

/// A segment. Its packet's `payload` is its index.
#[derive(Clone, Copy)]
struct Segment {
    connection: u32,
    /// Acknowledged number, which does not wrap here.
    number: u64,
    flags: u8,
    is_bare: bool,
    gap: Duration,
}

impl Segment {
    /// Returns whether a later acknowledgement may make it needless.
    fn is_needless(self) -> bool {
        self.is_bare && (self.flags == ACK || self.flags == ACK | PSH)
    }

    /// Returns whether it makes `older` needless.
    fn supersedes(self, older: Self) -> bool {
        let acknowledges = self.flags & ACK != 0 && self.flags & (SYN | RST | ECE | CWR) == 0;
        acknowledges
            && older.connection == self.connection
            && older.is_needless()
            && older.number < self.number
    }
}

struct Segments(Vec<Segment>);

impl Headers for Segments {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        let connection = self.0.get(packet.payload as usize)?.connection;
        let [source, destination] = [[10, 0, 0, 1], [10, 0, 1, 1]].map(core::net::IpAddr::from);
        let source_port = 5000 + connection as u16;
        Some(Fields { protocol: 6, source, destination, source_port, destination_port: 80, flow_label: 0 })
    }

    fn acknowledgement(&self, packet: &Packet) -> Option<Acknowledgement> {
        let segment = self.0.get(packet.payload as usize)?;
        Some(Acknowledgement { number: segment.number as u32, is_bare: segment.is_bare })
    }
}

/// Draws segments: acknowledgements, some equal to the one before, some older, and others.
fn draw(trials: Trials, trial: u32) -> Vec<Segment> {
    let mut random = trials.random("cake-acks", trial);
    // The numbers wrap on their way.
    let mut last = [u64::from(u32::MAX) - 100_000; CONNECTIONS as usize];
    let segment = |_| {
        let connection = random.below(CONNECTIONS);
        let latest = &mut last[connection as usize];
        let number = match random.below(12) {
            0..2 => *latest,
            2 => *latest - 1448,
            _ => *latest + between(&mut random, 1, 3000),
        };
        *latest = number.max(*latest);
        let flags = match random.below(24) {
            0 => ACK | ECE,
            1 => ACK | FIN,
            2 => SYN,
            3 => ACK | CWR,
            4 => ACK | URG,
            5 => ACK | RST,
            6 => 0,
            7 => ACK | SYN,
            8..12 => ACK | PSH,
            _ => ACK,
        };
        let gap = if random.below(3) == 0 { Duration::ZERO } else { micros(between(&mut random, 1, 1300)) };
        Segment { connection, number, flags, is_bare: random.below(5) != 0, gap }
    };
    (0..SEGMENTS).map(segment).collect()
}

fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

/// Offers the segments in order, and counts those that the filter of this mode, off, conservative or
/// aggressive, wrongly drops or keeps.
fn replay(link: &mut Link, segments: &[Segment], mode: usize, wrong: &mut Measurement) {
    let (mut now, mut left) = (Instant::ZERO, 0);
    let mut waiting = BTreeSet::new();
    for (index, segment) in segments.iter().enumerate() {
        now = now + segment.gap;
        link.run_until(now);
        waiting.extend(index.checked_sub(1));
        for sent in &link.sent[left..] {
            waiting.remove(&(sent.packet.payload as usize));
        }
        left = link.sent.len();
        let mut needless = waiting.iter().copied().filter(|older| segment.supersedes(segments[*older]));
        let oldest = needless.next();
        let due = match mode {
            0 => None,
            1 => oldest.filter(|_| needless.next().is_some()),
            _ => oldest,
        };
        let before = link.dropped.len();
        link.offer(
            Header {
                payload: index as u64,
                flow: FlowId(segment.connection),
                tcp_flags: segment.flags,
                length: if segment.is_bare { 66 } else { 200 },
                ..Header::default()
            },
            now,
        );
        let found: Vec<_> =
            link.dropped[before..].iter().map(|drop| (drop.packet.payload as usize, drop.reason)).collect();
        let expected: Vec<_> = due.map(|due| (due, DropReason::Superseded)).into_iter().collect();
        wrong.require_zero(u64::from(found != expected));
        for (index, _) in found {
            waiting.remove(&index);
        }
    }
}

impl Oracle for CakeAcks {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "cake-acks";
    const THEOREM: &'static str = "an arriving segment drops the oldest waiting acknowledgement of its connection that acknowledges less and says nothing else: with `aggressive` always, otherwise if a second one stays; nothing else is dropped";
    const SOURCE: &'static str = "Høiland-Jørgensen, Täht, Morton, Piece of CAKE (2018), on ACK filtering";
    const TRIALS: u32 = 12;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut wrong = Measurement::exact("acknowledgements wrongly dropped or kept", "");
        let mut lost = Measurement::exact("connections whose latest acknowledgement was lost", "");
        let mut dropped = [0_usize; 3];
        for trial in trials.each() {
            let segments = draw(trials, trial);
            for (mode, filter) in [json!(false), json!(true), json!("aggressive")].into_iter().enumerate() {
                let isolation = if trial % 2 == 0 { "flows" } else { "flowblind" };
                let config = json!({ "ack_filter": filter, "isolation": isolation, "diffserv": "besteffort",
                    "rtt": "1000s", "ingress": trial % 4 > 1 });
                let mut link = cake(&config, Rate::from_bits(1_000_000));
                link.headers = Box::new(Segments(segments.clone()));
                replay(&mut link, &segments, mode, &mut wrong);
                link.drain();
                wrong.fault(link.fault.as_ref());
                dropped[mode] += link.dropped.len();
                let latest = |all: &mut dyn Iterator<Item = usize>, connection| {
                    all.map(|index| segments[index])
                        .filter(|segment| segment.connection == connection && segment.flags & ACK != 0)
                        .map(|segment| segment.number)
                        .max()
                };
                for connection in 0..CONNECTIONS {
                    let arrived =
                        latest(&mut link.sent.iter().map(|sent| sent.packet.payload as usize), connection);
                    let offered = latest(&mut (0..SEGMENTS), connection);
                    lost.require_zero(u64::from(arrived != offered));
                }
            }
        }
        let [off, conservative, aggressive] = dropped;
        wrong.require(off == 0 && 100 < conservative && conservative < aggressive, || {
            format!("dropped {off} without a filter, {conservative} with it, {aggressive} aggressively")
        });
        [wrong, lost].map(|worst| worst.finding(trials.count)).into()
    }
}
