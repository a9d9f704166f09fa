//! Rate limits of class based queueing, over device rings of several depths and clocks of several
//! granularities.
//!
//! A link of 10 Mbit/s. Class 0 is limited to 1 Mbit/s and offered 1.5; from 14 s on class 1, limited to 6
//! Mbit/s, is offered 12; the end is at 30 s. Both are bounded, with queues of 100 packets; frames of 1000
//! bytes at constant rates; `avpkt` 1000, `ewma` 5, `maxburst` 20. Rates are those on the link from 2 to 14
//! s and from 16 to 30 s.

use lockgate_engine::clock::{ClockConfig, Source};
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::Rate;
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::forest::Forest;
use crate::fixtures::link::Link;
use crate::fixtures::stream::{Stream, rate_of, send};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct CbqClock;

/// Ticks per second of a clock that reads the time exactly but whose timers expire on ticks.
const TICKS: [u32; 3] = [100, 1024, 10_000];

/// Depth of the ring, and the rate of class 0 in Mbit/s, alone and with class 1.
type Table = [(u32, f64, f64); 4];

/// Values of an independent model without an action at the limit.
const WAIT: Table = [(1, 1.01, 1.01), (2, 1.07, 1.32), (4, 1.13, 1.44), (16, 1.13, 1.44)];
/// Each packet gains its time on the link: 1/(1/r - 1/C) alone; together the limits grow until the link is
/// full.
const CLASSIC: Table = [(1, 1.0, 1.0), (2, 1.111, 1.429), (4, 1.111, 1.429), (16, 1.111, 1.429)];
/// The configured rate.
const ASKED: Table = [(1, 1.0, 1.0), (2, 1.0, 1.0), (4, 1.0, 1.0), (16, 1.0, 1.0)];

struct Setup {
    flavour: &'static str,
    overlimit: &'static str,
    maxburst: u32,
    source: Source,
    hz: u32,
    ring: u32,
}

/// Returns the rates of class 0 alone and beside class 1, in Mbit/s.
fn measure(setup: &Setup) -> Result<(f64, f64), String> {
    let Setup { overlimit, maxburst, .. } = setup;
    let mut forest = Forest::default();
    let [first, second] = ["1mbit", "6mbit"].map(|rate| forest.add(None, rate));
    let share =
        |rate: &&str| json!({ "rate": rate, "bounded": true, "overlimit": overlimit, "maxburst": maxburst });
    let config = json!({ "flavour": setup.flavour, "bandwidth": "10mbit", "avpkt": "1000B" });
    let port = forest
        .port("cbq", &config, "100p", &share)
        .with_clock(ClockConfig { source: setup.source, hz: setup.hz })
        .and_then(|port| port.with_ring(RingConfig { slots: setup.ring, completions: 1 }))
        .map_err(|invalid| invalid.to_string())?;
    let mut link = Link::new(port, Rate::from_bits(10_000_000));
    let streams = [
        Stream::new(first, 1000, 1_500_000, 1, 30_000),
        Stream::new(second, 1000, 12_000_000, 14_001, 30_000),
    ];
    send(&mut link, &streams);
    let (alone, together) = (rate_of(&link, first, 2.0, 14.0) / 1e6, rate_of(&link, first, 16.0, 30.0) / 1e6);
    link.fault.map_or(Ok((alone, together)), Err)
}

/// Checks every ring of the table with every granularity; `share` is the relative tolerance.
fn hold(
    what: &'static str,
    flavour: &'static str,
    overlimit: &'static str,
    table: &Table,
    share: f64,
) -> Measurement {
    let mut worst = Measurement::tolerance(what, "");
    for hz in TICKS {
        for (ring, alone, together) in *table {
            match measure(&Setup { flavour, overlimit, maxburst: 20, source: Source::Cpu, hz, ring }) {
                Ok(measured) => {
                    worst.require_near(measured.0, alone, share);
                    worst.require_near(measured.1, together, share);
                }
                Err(why) => worst.fault(Some(&why)),
            }
        }
    }
    worst
}

/// Checks that the largest burst does not matter to the rate of class 0.
fn bursts() -> Measurement {
    let mut worst = Measurement::tolerance("change by maxburst from 2 to 100", "");
    for overlimit in ["classic", "wait"] {
        let of = |maxburst| {
            measure(&Setup {
                flavour: "linux-2.2",
                overlimit,
                maxburst,
                source: Source::Cpu,
                hz: 10_000,
                ring: 16,
            })
        };
        match (of(2), of(100)) {
            (Ok(small), Ok(large)) => {
                worst.require_near(small.0, large.0, 0.01);
                worst.require_near(small.1, large.1, 0.01);
            }
            (Err(why), _) | (_, Err(why)) => worst.fault(Some(&why)),
        }
    }
    worst
}

/// Checks a clock that only advances on ticks: the gain is the same for rings of two or more. (A
/// ring of one gains as well, by the granularity; not checked.)
fn jiffies() -> Measurement {
    let mut worst = Measurement::tolerance("off alone, linux-2.2 on jiffies, ring of two or more", "");
    for hz in TICKS {
        for (ring, alone, _) in &CLASSIC[1..] {
            let setup = Setup {
                flavour: "linux-2.2",
                overlimit: "classic",
                maxburst: 20,
                source: Source::Jiffies,
                hz,
                ring: *ring,
            };
            match measure(&setup) {
                Ok(measured) => worst.require_near(measured.0, *alone, 0.03),
                Err(why) => worst.fault(Some(&why)),
            }
        }
    }
    worst
}

impl Oracle for CbqClock {
    const FAMILY: &'static str = "O23";
    const NAME: &'static str = "cbq-clock";
    const THEOREM: &'static str = "the clock of Linux 2.2 gains each packet's time on the link where a ring takes the next at once: a class \
         limited to 1 Mbit/s of 10 gets 1.13 alone and 1.44 beside one limited to 6, at any tick; later ones get what they ask for";
    const SOURCE: &'static str = "derived from Linux 2.4 and checked by an independent model; 3 % of each value, 2 % for later flavours";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cbq"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let all = [
            hold("off the model, linux-2.2, waiting at the limit", "linux-2.2", "wait", &WAIT, 0.03),
            hold("off the formula, linux-2.2, classic action", "linux-2.2", "classic", &CLASSIC, 0.03),
            hold("off the limit, linux, classic action", "linux", "classic", &ASKED, 0.02),
            hold("off the limit, linux, waiting at the limit", "linux", "wait", &ASKED, 0.02),
            hold("off the limit, altq", "altq", "classic", &ASKED, 0.02),
            bursts(),
            jiffies(),
        ];
        all.into_iter().map(|worst| worst.finding(trials.count)).collect()
    }
}
