//! Lateness of a packet against a server of its child's own rate.

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{Offer, Traffic, send};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct OwnRate;

/// Returns the limit on a packet's lateness, in microseconds times its child's weight.
fn allowed(kind: &str, traffic: &Traffic, offer: &Offer) -> u64 {
    let weight = traffic.weights[offer.child];
    let all: u64 = traffic.longest.iter().sum();
    let others = (all - traffic.longest[offer.child]) * weight;
    let own = offer.length * traffic.sum();
    match kind {
        "stfq" => others + offer.length * weight,
        "scfq" => others + own,
        _ => own + traffic.longest_of_all() * weight,
    }
}

impl Oracle for OwnRate {
    const FAMILY: &'static str = "O11";
    const NAME: &'static str = "own-rate";
    const THEOREM: &'static str = "beyond its expected arrival at rate r = C w/W a packet ends by: STFQ, the others' longest packets and its own \
         at C; SCFQ, the others' and L/r; WF2Q+ and WFQ, L/r and L_max/C";
    const SOURCE: &'static str =
        "Goyal, Vin and Cheng, SIGCOMM 1996; Golestani, INFOCOM 1994; Bennett and Zhang, SIGCOMM 1996";
    const TRIALS: u32 = 120;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["stfq", "scfq", "wf2q+", "wfq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("later than at its own rate", "us", 0.8);
        for trial in trials.each() {
            let mut random = trials.random("own-rate", trial);
            let load = [0.9, 1.2, 3.0][random.below(3) as usize];
            let traffic = Traffic::new(1_200, 6, load, &mut random);
            let (sent, fault) = send(kind.name, &traffic.weights, &traffic.offers);
            worst.fault(fault.as_ref());
            let mut ends = vec![0; traffic.offers.len()];
            for sent in &sent {
                ends[sent.offer] = sent.end;
            }
            // Expected arrivals: the arrival of a packet, or the time at which the earlier ones have left
            // at rate C w/W.
            let mut free = vec![0_u64; traffic.weights.len()];
            for (offer, end) in traffic.offers.iter().zip(ends) {
                let weight = traffic.weights[offer.child];
                let expected = free[offer.child].max(offer.at * weight);
                free[offer.child] = expected + offer.length * traffic.sum();
                let late = i128::from(end * weight) - i128::from(expected);
                // Rounding of tags adds up to less than a microsecond over a run.
                let bound = allowed(kind.name, &traffic, offer) + weight;
                worst.require_at_most(late, i128::from(bound), weight);
            }
        }
        vec![worst.finding(trials.count)]
    }
}
