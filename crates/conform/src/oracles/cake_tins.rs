//! Shares of permanently backlogged tins, with and without a shaper.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{WIRE, cake, packet, saturate, shares, widest};
use crate::fixtures::link::Link;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use lockgate_engine::units::Rate;
use serde_json::{Value, json};

pub(super) struct CakeTins;

/// A preset, a code point of each of its tins, and their shares in sixteenths; best effort has the rest.
const PRESETS: [(&str, &[u8], &[u32]); 2] =
    [("diffserv3", &[0, 8, 46], &[11, 1, 4]), ("diffserv4", &[0, 8, 34, 46], &[3, 1, 8, 4])];

/// Serves 30000 packets of permanently backlogged tins.
fn served(config: &Value, codes: &[u8], trials: Trials, trial: u32) -> Link {
    let mut random = trials.random("cake-tins", trial);
    let rate = if config.get("bandwidth").is_some() { WIRE } else { Rate::from_bits(20_000_000) };
    let mut link = cake(config, rate);
    let mut draw = |flow: u32| packet(flow, between(&mut random, 64, 1514), codes[flow as usize]);
    saturate(&mut link, codes.len() as u32, 30_000, &mut draw);
    link
}

impl Oracle for CakeTins {
    const FAMILY: &'static str = "O12";
    const NAME: &'static str = "cake-tins";
    const THEOREM: &'static str = "backlogged tins have their parts of the link, those with a part of their own within two packets of it over every interval; without a shaper they share as their parts";
    const SOURCE: &'static str =
        "Høiland-Jørgensen, Täht, Morton, Piece of CAKE (2018), on DiffServ handling; tc-cake(8)";
    const TRIALS: u32 = 2;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut share = Measurement::tolerance("share of a tin off its part", "");
        let mut own = Measurement::bound("off its part over an interval", "B", 0.7);
        let mut turns = Measurement::tolerance("share of a tin off its part of a turn, without a shaper", "");
        for trial in trials.each() {
            for (preset, codes, parts) in PRESETS {
                let config = json!({ "bandwidth": "20mbit", "diffserv": preset, "rtt": "1000s" });
                let link = served(&config, codes, trials, trial);
                let found = shares(&link.sent[1_000..], |flow| flow);
                for (tin, part) in (0..).zip(parts.iter().copied()) {
                    let sixteenths = f64::from(part) / 16.0;
                    share.require_real((found.get(&tin).copied().unwrap_or(0.0) - sixteenths).abs(), 0.003);
                    if [1, 4, 8].contains(&part) {
                        let off = widest(&link.sent[100..], |packet| {
                            let own = if packet.flow.0 == tin { 16 } else { 0 };
                            i128::from(packet.length) * (own - i128::from(part))
                        });
                        own.require_at_most(off, 16 * 2 * 1514, 16);
                    }
                }
                share.fault(link.fault.as_ref());
            }
            // The two highest of eight tins get (7/8)^7 and (7/8)^6; the third is within its own share with
            // the rest.
            let eight = json!({ "bandwidth": "20mbit", "diffserv": "diffserv8", "rtt": "1000s" });
            let link = served(&eight, &[8, 10, 0, 34, 18, 16, 46, 48], trials, trial);
            let found = shares(&link.sent[1_000..], |flow| flow);
            let [seventh, sixth] = [823_543.0 / 2_097_152.0, 117_649.0 / 262_144.0];
            for (tin, part) in [(7, seventh), (6, sixth), (5, 1.0 - seventh - sixth)] {
                share.require_real((found.get(&tin).copied().unwrap_or(0.0) - part).abs(), 0.003);
            }
            let link =
                served(&json!({ "diffserv": "diffserv3", "rtt": "1000s" }), &[0, 8, 46], trials, trial);
            for (tin, share) in shares(&link.sent[1_000..], |flow| flow) {
                turns.require_real((share - [1024.0, 64.0, 256.0][tin as usize] / 1344.0).abs(), 0.003);
            }
        }
        [share, own, turns].map(|worst| worst.finding(trials.count)).into()
    }
}
