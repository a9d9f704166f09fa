//! Order of a flow whose packets have one code point, through shared queues and changes.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::Hosts;
use crate::fixtures::link::Link;
use crate::fixtures::managed::port;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct CodePoints;

/// Draws other parameters, some of which reclassify queued packets.
fn drawn(kind: &str, random: &mut Random) -> Value {
    let one_of =
        |choices: &[&'static str], random: &mut Random| choices[random.below(choices.len() as u32) as usize];
    if kind == "cake" {
        let isolations = ["flows", "triple-isolate", "hosts", "srchost", "dual-dsthost", "flowblind"];
        json!({
            "memlimit": format!("{}kB", between(random, 20, 300)),
            "diffserv": one_of(&["besteffort", "diffserv8"], random),
            "isolation": one_of(&isolations, random),
        })
    } else {
        json!({
            "limit": format!("{}p", between(random, 1, 300)),
            "classic_protection": format!("{}%", between(random, 0, 100)),
            "overload": one_of(&["overflow", "drop_on_overload"], random),
            "drop": one_of(&["drop_enqueue", "drop_dequeue"], random),
        })
    }
}

impl Oracle for CodePoints {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "code-points";
    const THEOREM: &'static str = "packets of a flow that carry one code point leave in their order, also where flows share a queue and where what waits is sorted anew";
    const SOURCE: &'static str = "RFC 9332, section 2.4; Piece of CAKE (2018), on flow hashing";
    const TRIALS: u32 = 4;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["dualpi2", "cake"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("packets out of order", "");
        for trial in trials.each() {
            let mut random = trials.random("code-points", trial);
            let flows = if kind.name == "cake" { 1_500 } else { 3 };
            let mut link =
                Link::new(port(kind.name, &drawn(kind.name, &mut random)), Rate::from_bits(8_000_000));
            let hosts = (0..flows).map(|flow| ((flow % 200) as u8, (flow % 7) as u8));
            link.headers = Box::new(Hosts(hosts.collect()));
            // One sequence per flow and ECN codepoint; only `dualpi2` classifies by it.
            let codes: u32 = if kind.name == "cake" { 1 } else { 4 };
            let mut sequences = vec![0; (flows * codes) as usize];
            let mut now = Instant::ZERO;
            for round in 0..30_000_u32 {
                now = now + Duration::from_micros(between(&mut random, 0, 180));
                let key = random.below(flows * codes);
                let sequence = &mut sequences[key as usize];
                *sequence += 1;
                let header = Header {
                    flow: FlowId(key / codes),
                    payload: key.into(),
                    sequence: *sequence,
                    length: 100,
                    traffic_class: (key % codes) as u8,
                    ..Header::default()
                };
                link.offer(header, now);
                if round % 3_000 == 2_999 {
                    link.reconfigure(kind.name, now, &drawn(kind.name, &mut random));
                }
            }
            link.drain();
            let mut last = vec![0; sequences.len()];
            for sent in &link.sent {
                let last = &mut last[sent.packet.payload as usize];
                worst.require_zero(u64::from(*last >= sent.packet.sequence));
                *last = sent.packet.sequence;
            }
            let shrunk = link.dropped.iter().filter(|drop| drop.reason == DropReason::Shrunk).count();
            worst.require(shrunk > 0, || "no change forced a packet out".to_owned());
            worst.fault(link.fault.as_ref());
        }
        vec![worst.finding(trials.count)]
    }
}
