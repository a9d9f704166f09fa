//! Malicious frames: damaged ones, floods, a million flows. The router goes on, does not grow, and serves
//! other traffic.
//!
//! `LOCKGATE_FRAMES=1000000` is the number of frames of each kind, `LOCKGATE_PACKETS=200000` their rate a
//! second.

use std::thread;
use std::time::{Duration, Instant};

use lockgate_dataplane::dataplane::Dataplane;
use lockgate_dataplane::interfaces::Interfaces;
use lockgate_dataplane::socket::SocketChoice;

use super::common::kinds::{frame, kinds, kinds_from};
use super::common::{Network, receive};
use super::setting::{Running, head, network, number, quantile};
use super::stream::Stream;

/// Longest frame of an MTU of 1500, in bytes.
const LONGEST_FRAME: usize = 1_514;

/// Tolerated growth of memory, in KiB: histograms and tables that are filled once.
const ONCE: u64 = 16 << 10;

/// Rate in datagrams a second of the neighbour, and their length in bytes; the policy classifies them by
/// port.
const CALM: (u64, usize) = (200, 160);
const CALM_PORT: u16 = 5_000;

/// Pseudo-random numbers by a linear congruential generator (Knuth's MMIX).
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Kind of an attack.
#[derive(Clone, Copy, Debug)]
enum Attack {
    /// Frames of all kinds with changed, missing and additional bytes; some only noise.
    Damaged,
    /// Each frame of a flow of its own.
    Flows,
    /// ARP requests.
    Arp,
    /// Full frames of one flow.
    OneFlow,
    /// The shortest frames.
    Shortest,
}

const ATTACKS: [Attack; 5] = [Attack::Damaged, Attack::Flows, Attack::Arp, Attack::OneFlow, Attack::Shortest];

impl Attack {
    /// Returns frame number `number`. Its destination is none of the network's hosts.
    fn frame(self, number: usize, draws: &mut Draws, kinds: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
        let udp = |source: u32, port: u16, length: usize| {
            let mut bytes =
                vec![2, 0, 0, 0, 9, 1, 2, 0, 0, 0, 9, 2, 8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
            bytes.extend(source.to_be_bytes());
            bytes.extend([198, 51, 100, 9]);
            bytes.extend(port.to_be_bytes());
            bytes.extend([0, 53, 0, 0, 0, 0]);
            bytes[16..18].copy_from_slice(&(length as u16 - 14).to_be_bytes());
            bytes.resize(length, 7);
            bytes
        };
        match self {
            Self::Damaged => damaged(number, draws, kinds),
            Self::Flows => udp(0x0a40_0000 + number as u32 / 7, number as u16, 100),
            Self::Arp => {
                let mut bytes = vec![0xff; 6];
                bytes
                    .extend([2, 0, 0, 0, 9, 2, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 9, 2, 10, 99, 0, 1]);
                bytes.resize(60, 0);
                bytes
            }
            Self::OneFlow => udp(0x0a40_0001, 9, LONGEST_FRAME),
            Self::Shortest => udp(0x0a40_0001, number as u16 % 10, 60),
        }
    }
}

/// Returns a frame of any kind with faults.
fn damaged(number: usize, draws: &mut Draws, kinds: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = frame(&kinds[draws.below(kinds.len())].1, number, LONGEST_FRAME);
    // Not addressed to the network's hosts, whose kernels would answer.
    bytes[..6].copy_from_slice(&[2, 0, 0, 0, 9, 1]);
    for _ in 0..draws.below(6) {
        // Headers are near the start.
        let end = bytes.len().min(if draws.below(3) == 0 { LONGEST_FRAME } else { 80 });
        let at = 12 + draws.below(end - 12);
        bytes[at] = match draws.below(4) {
            0 => 0,
            1 => 0xff,
            2 => bytes[at] ^ (1 << draws.below(8)),
            _ => draws.below(256) as u8,
        };
    }
    match draws.below(8) {
        0 => bytes.truncate(14 + draws.below(bytes.len() - 13)),
        1 => {
            bytes.resize(bytes.len() + draws.below(LONGEST_FRAME + 1 - bytes.len().min(LONGEST_FRAME)), 0x5a);
        }
        2 => bytes[12..].iter_mut().for_each(|byte| *byte = draws.below(256) as u8),
        _ => {}
    }
    bytes.truncate(LONGEST_FRAME);
    bytes
}

/// Sends `count` frames at `rate` a second. Returns the time taken.
fn send(sender: &mut Interfaces, attack: Attack, count: usize, rate: u64, seed: u64) -> Duration {
    let (mut draws, kinds) = (Draws(seed), kinds());
    let (begun, mut sent) = (Instant::now(), 0);
    while sent < count {
        let due = (begun.elapsed().as_secs_f64() * rate as f64) as usize;
        let batch: Vec<Vec<u8>> =
            (sent..due.min(count).min(sent + 64)).map(|it| attack.frame(it, &mut draws, &kinds)).collect();
        let views: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
        let mut done = 0;
        while done < views.len() {
            done += sender.transmit(0, &views[done..]).expect("there").taken;
        }
        sent += batch.len();
        if batch.is_empty() {
            thread::sleep(Duration::from_micros(200));
        }
    }
    begun.elapsed()
}

/// Policy of a bridge with a class of its own for the neighbour's datagrams; all other traffic is under CAKE.
fn policy(io: &str) -> String {
    let queues = format!(
        "rate = \"50mbit\"\nroot = \"root\"\nqueue.root = {{ kind = \"prio\", children = [\"calm\", \"rest\"] }}\nqueue.calm \
         = {{ kind = \"fifo\", match = [{{ destination_port = {CALM_PORT} }}] }}\nqueue.rest = {{ kind = \"cake\" }}\n"
    );
    let ports = ["lan->wan", "wan->lan"].map(|name| format!("[port.\"{name}\"]\n{queues}"));
    format!("{}{}", head("bridge", &format!("io = \"{io}\"")), ports.concat())
}

/// Attacks from host `from` while datagrams go from the first host to the second.
fn attack(network: &Network, io: &str, from: usize) {
    let (count, rate) = (number("LOCKGATE_FRAMES", 5_000) as usize, number("LOCKGATE_PACKETS", 5_000));
    let router = Running::start(network, &policy(io), &[]);
    let mut sender = network.open(from, SocketChoice::Packet, LONGEST_FRAME);
    let calm = Stream::start(network, "bridge", CALM.0, CALM.1, CALM_PORT);
    thread::sleep(Duration::from_secs(1));
    let alone = calm.end();
    for (seed, attack) in (1..).zip(ATTACKS) {
        // Fills the tables that are filled only once.
        send(&mut sender, attack, count / 10, rate, seed);
        let before = router.memory();
        let calm = Stream::start(network, "bridge", CALM.0, CALM.1, CALM_PORT);
        let took = send(&mut sender, attack, count, rate, seed + 100);
        let beside = calm.end();
        let after = router.memory();
        let [quiet, loud] = [&alone, &beside].map(|ended| quantile(&ended.delays(), 0.99));
        println!(
            "{io}, from host {from}, {attack:?}: {count} frames in {took:?}, memory {before} to {after} KiB, neighbour's p99 {quiet:?} \
             alone, {loud:?} beside, lost {} of {}",
            beside.sent.len() - beside.arrived.len(),
            beside.sent.len()
        );
        assert!(after < before + ONCE, "{io}, {attack:?}: {before} to {after} KiB");
        // At higher rates the machine itself may lose frames before the router receives them, of all flows
        // alike.
        if rate <= 5_000 {
            beside.expect_all(0, "the neighbour");
        }
    }
    // The router still passes frames, both ways. The frames are of another host, because CAKE goes on
    // dropping from flows that overflowed it.
    let frames: Vec<Vec<u8>> = kinds_from(3).iter().map(|(_, kind)| frame(kind, 1, LONGEST_FRAME)).collect();
    for from in [0, 1] {
        let mut sender = network.open(from, SocketChoice::Packet, LONGEST_FRAME);
        let mut receiver = network.open(1 - from, SocketChoice::Packet, LONGEST_FRAME);
        for frame in &frames {
            sender.transmit(0, &[frame]).expect("there");
        }
        let arrived = receive(&mut receiver, frames.len(), lockgate_engine::units::Duration::from_secs(5));
        let missing: Vec<&str> = (0..)
            .zip(kinds())
            .filter(|(index, _)| !arrived.contains(&frames[*index]))
            .map(|(_, kind)| kind.0)
            .collect();
        assert!(
            missing.is_empty(),
            "{io}: from host {from} {} frames arrived, not {missing:?}",
            arrived.len()
        );
    }
    let log = router.stop();
    assert!(!log.contains("panicked") && !log.contains("stands still"), "{log}");
}

#[test]
fn ill_will_neither_stops_it_nor_makes_it_grow() {
    for io in ["af_xdp", "packet"] {
        for from in [0, 1] {
            let Some(network) = network("bridge") else { return };
            attack(&network, io, from);
        }
    }
}
