//! Waiting time of a child with half of the link as the number of other children grows.

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{Offer, send};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct ManyChildren;

/// Returns the delay, in microseconds, of a packet of a child with half of the link that arrives while
/// `count` others are backlogged, and the first fault.
fn wait_of_half(kind: &str, count: usize) -> (u64, Option<String>) {
    let mut weights = vec![1; count];
    weights.push(count as u64);
    let mut offers: Vec<_> =
        (0..3 * count).map(|index| Offer { at: 0, child: index % count, length: 1000 }).collect();
    // The others' packets of one round have equal tags; it arrives during the transmission of the first.
    let came = 500;
    offers.push(Offer { at: came, child: count, length: 1000 });
    let (sent, fault) = send(kind, &weights, &offers);
    (sent.iter().find(|sent| sent.offer == 3 * count).map_or(0, |sent| sent.end - came), fault)
}

/// Returns the time, in microseconds, at which the packet of a child of weight 1 has left; it arrives at 500,
/// beside a child of weight 300.
fn departure_of_light(kind: &str) -> u64 {
    let offers = (0..400).map(|_| Offer { at: 0, child: 1, length: 1000 });
    let offers: Vec<_> = offers.chain([Offer { at: 500, child: 0, length: 1000 }]).collect();
    let (sent, _) = send(kind, &[1, 300], &offers);
    sent.iter().find(|sent| sent.offer == 400).map_or(0, |sent| sent.end)
}

/// Returns the time, in microseconds, at which the last packet of 100 children of weight 1 has left, beside
/// one that has half of the link. All arrive at once, and their finish tags are the largest.
fn departure_of_last(kind: &str) -> u64 {
    let mut weights = vec![1; 100];
    weights.push(100);
    let light = (0..100).map(|child| Offer { at: 0, child, length: 1000 });
    let offers: Vec<_> = light.chain((0..300).map(|_| Offer { at: 0, child: 100, length: 1000 })).collect();
    let (sent, _) = send(kind, &weights, &offers);
    sent.iter().filter(|sent| sent.offer < 100).map(|sent| sent.end).max().unwrap_or(0)
}

impl Oracle for ManyChildren {
    const FAMILY: &'static str = "O11";
    const NAME: &'static str = "many-children";
    const THEOREM: &'static str = "a packet with half of the link waits for two packets among 2 or 300 others in WF2Q+ and SCFQ; in STFQ the wait \
         grows with the others, and there a light child's packet waits for one, in SCFQ at its own rate";
    const SOURCE: &'static str = "Bennett and Zhang, INFOCOM 1996; Goyal, Vin and Cheng, SIGCOMM 1996";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["stfq", "scfq", "wf2q+"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut few = Measurement::bound("wait of half among 2 others", "us", 0.35);
        let mut many = Measurement::bound("wait of half among 300 others", "us", 0.45);
        let mut light = Measurement::bound("wait of a light child", "us", 0.9);
        let (wait, fault) = wait_of_half(kind.name, 2);
        few.fault(fault.as_ref());
        // At half of the link a packet takes 2 ms, and another one may be in transmission; in STFQ all
        // others go first.
        few.require_at_most(i128::from(wait), if kind.name == "stfq" { 7_000 } else { 3_000 }, 1);
        let (wait, fault) = wait_of_half(kind.name, 300);
        many.fault(fault.as_ref());
        if kind.name == "stfq" {
            many.require(wait > 250_000, || {
                format!("every other has an earlier start, and it took {wait} us")
            });
            many.require_at_most(i128::from(wait), 601_000, 1);
        } else {
            many.require_at_most(i128::from(wait), 3_000, 1);
        }
        let departure = departure_of_light(kind.name);
        match kind.name {
            "stfq" => light.require_at_most(i128::from(departure), 2_000, 1),
            "scfq" => {
                light.require(departure > 250_000, || {
                    format!("its own rate is what it waits for: {departure} us")
                });
                light.require_at_most(i128::from(departure), 302_000, 1);
            }
            _ => {
                // The fluid server finishes it after 301 packet times, but here it is sent while the heavy
                // child is ahead of its share. Of a hundred such children, the last finishes with the fluid
                // server's: 200 packet times, plus one.
                light.require(departure <= 302_000, || {
                    format!("the fluid server would have sent it: {departure} us")
                });
                light.require_at_most(i128::from(departure_of_last(kind.name)), 201_000, 1);
            }
        }
        [few, many, light].map(|worst| worst.finding(trials.count)).into()
    }
}
