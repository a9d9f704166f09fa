//! Overflow of flow queues: the flow with the largest backlog loses packets.

use std::collections::BTreeMap;

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::packet::Packet;
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::random::Random;
use lockgate_engine::units::Instant;
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::managed::{packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct FattestFlow;

/// Backlog of each flow, in packets and bytes.
type Held = BTreeMap<u32, (u64, u64)>;

fn take(held: &mut Held, packet: &Packet) {
    let entry = held.entry(packet.flow.0).or_default();
    *entry = (entry.0.saturating_sub(1), entry.1.saturating_sub(u64::from(packet.length)));
}

/// Checks that the losing flow holds nearly the largest backlog, and loses half of it or 64 packets.
fn hold_drops(held: &mut Held, dropped: &[Packet], worst: &mut Measurement, wrong: &mut Measurement) {
    let (Some(first), Some(last)) = (dropped.first(), dropped.last()) else { return };
    let most = held.values().map(|held| held.1).max().unwrap_or(0);
    let victim = held.get(&first.flow.0).map_or(0, |held| held.1);
    // Backlogs are sorted in buckets a 64th wide.
    worst.require_at_most(64 * i128::from(most), 65 * i128::from(victim), 64 * most.max(1));
    // At least half is dropped, with no packet more than needed.
    let gone: u64 = dropped.iter().map(|packet| u64::from(packet.length)).sum();
    let half = gone >= victim / 2 && gone - u64::from(last.length) < victim / 2;
    wrong.require_zero(u64::from(dropped.iter().any(|packet| packet.flow != first.flow)));
    wrong.require_zero(u64::from(dropped.len() != 64 && !half));
    for packet in dropped {
        take(held, packet);
    }
}

fn hold_turn(port: &mut Port, turn: u32, held: &mut Held, random: &mut Random, worst: &mut [Measurement; 2]) {
    // One flow fills the buffer and leaves it; then two others share it; then all send.
    let flow = match turn % 1_000 {
        0..400 => 1,
        400..800 => [9, 16][turn as usize % 2],
        _ => random.below(5) * random.below(5),
    };
    let length = between(random, 40, 1514);
    port.offer(Packet::new(packet(flow, length)), Instant::ZERO, &NoHeaders);
    let entry = held.entry(flow).or_default();
    *entry = (entry.0 + 1, entry.1 + length);
    let dropped: Vec<_> = port.take_drops().map(|(packet, _)| packet).collect();
    let [fattest, wrong] = worst;
    hold_drops(held, &dropped, fattest, wrong);
    let (packets, bytes) = held.values().fold((0, 0), |sum, held| (sum.0 + held.0, sum.1 + held.1));
    wrong.require_zero(u64::from(packets > 300 || bytes > 200_000));
    let leaving = if turn % 1_000 == 399 { 300 } else { u32::from(random.below(4) == 0) };
    for _ in 0..leaving {
        if let Poll::Transmit(packet) = port.poll(Instant::ZERO, &NoHeaders) {
            take(held, &packet);
        }
    }
}

impl Oracle for FattestFlow {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "fattest-flow";
    const THEOREM: &'static str = "at the limit the flow with the most bytes (within a 64th) pays with half of them, at most 64 packets";
    const SOURCE: &'static str = "RFC 8290, section 4.1.3; tc-fq_codel(8)";
    const TRIALS: u32 = 20;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["fq_codel"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = [
            Measurement::bound("the most over what the payer holds, less its step", "", 0.7),
            Measurement::exact("turns at which a limit or the half is missed", ""),
        ];
        for trial in trials.each() {
            let mut random = trials.random("fattest", trial);
            let config =
                json!({ "flows": 65_536, "limit": "300p", "memory_limit": "200kB", "target": "1000s" });
            let mut port = port(kind.name, &config);
            let mut held = Held::new();
            for turn in 0..3_000 {
                hold_turn(&mut port, turn, &mut held, &mut random, &mut worst);
            }
        }
        worst.map(|worst| worst.finding(trials.count)).into()
    }
}
