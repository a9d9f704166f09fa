//! The random draw of `CHOKe`: every queued packet is equally likely.

use std::collections::VecDeque;

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::packet::{Header, Packet};
use lockgate_engine::port::Port;
use lockgate_engine::units::Instant;
use serde_json::json;

use super::red_gaps::once_in_a_thousand;
use crate::finding::{Finding, Measurement};
use crate::fixtures::managed::{packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct ChokeDraw;

/// Number of packets in the queue.
const WAITING: u32 = 30;
/// Number of comparisons.
const COUNT: u32 = 200_000;

/// A queue always above its maximum, whose packets all belong to different flows.
struct Queue {
    port: Port,
    flows: VecDeque<u32>,
    next: u32,
}

impl Queue {
    /// Adds ECN-capable packets of new flows until enough wait.
    fn refill(&mut self) {
        while self.flows.len() < WAITING as usize {
            self.next += 1;
            let header = Header { traffic_class: 2, ..packet(self.next, 1000) };
            self.port.offer(Packet::new(header), Instant::ZERO, &NoHeaders);
            self.flows.push_back(self.next);
        }
    }

    /// Offers a packet of the flow at `index` and returns true if that flow's packet is drawn. The offered
    /// packet never enters: it is not ECN-capable.
    fn meets(&mut self, index: usize) -> Result<bool, String> {
        let flow = self.flows[index];
        self.port.offer(Packet::new(packet(flow, 1000)), Instant::ZERO, &NoHeaders);
        let dropped: Vec<_> = self.port.take_drops().map(|(packet, _)| packet.flow.0).collect();
        match dropped[..] {
            [one] if one == flow => Ok(false),
            [one, other] if one == flow && other == flow => {
                self.flows.remove(index);
                Ok(true)
            }
            _ => Err(format!("a packet of flow {flow} dropped {dropped:?}")),
        }
    }
}

impl Oracle for ChokeDraw {
    const FAMILY: &'static str = "O14";
    const NAME: &'static str = "choke-draw";
    const THEOREM: &'static str = "above `min` an arriving packet meets each of n that wait with probability 1/n (chi-square of the places at 0.001); \
         both go where they are of one flow, and no other";
    const SOURCE: &'static str = "Pan, Prabhakar and Psounis, CHOKe, INFOCOM 2000, section 2";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["choke"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::tolerance("chi-square of the places", "");
        let config = json!({ "limit": "1000p", "min": "1p", "max": "2p", "burst": 1, "ecn": true });
        for trial in trials.each() {
            let mut random = trials.random("choke-draw", trial);
            let mut queue = Queue { port: port(kind.name, &config), flows: VecDeque::new(), next: 0 };
            let mut met = vec![0_u32; WAITING as usize];
            for _ in 0..COUNT {
                queue.refill();
                let index = random.below(WAITING) as usize;
                match queue.meets(index) {
                    Ok(meets) => met[index] += u32::from(meets),
                    Err(why) => worst.fault(Some(&why)),
                }
            }
            worst.require(queue.port.backlog().packets >= u64::from(WAITING) - 1, || {
                "the queue is not what it was told".to_owned()
            });
            let expected = f64::from(COUNT) / f64::from(WAITING) / f64::from(WAITING);
            let square: f64 = met.iter().map(|seen| (f64::from(*seen) - expected).powi(2) / expected).sum();
            worst.require_real(square, once_in_a_thousand(f64::from(WAITING)));
        }
        vec![worst.finding(trials.count)]
    }
}
