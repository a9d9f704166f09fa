//! The worst-case fair indices of quick fair queueing, which rounds tags to slots.

use serde_json::json;

use super::fair_index::hold_child;
use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{Sent, Traffic, link_of, send_through};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct SlotIndex;

/// Sends `traffic` through children that declare their longest packets.
pub(super) fn send_with_lengths(kind: &str, traffic: &Traffic) -> (Vec<Sent>, Option<String>) {
    let share =
        |(weight, longest): (&u64, &u64)| json!({ "weight": weight, "maxpkt": format!("{longest}B") });
    let shares: Vec<_> = traffic.weights.iter().zip(&traffic.longest).map(share).collect();
    send_through(link_of(kind, &json!({}), &shares), &traffic.offers)
}

/// Returns the slot size of a child, in bytes per unit of weight times 2^32: the smallest power of two that
/// holds its longest packet.
pub(super) fn slot(traffic: &Traffic, child: usize) -> u64 {
    (traffic.longest[child] << 32).div_ceil(traffic.weights[child]).next_power_of_two()
}

/// Returns `3 W s + 2 L_max`, rounded down.
fn time_index(traffic: &Traffic, child: usize) -> i128 {
    ((3 * i128::from(traffic.sum()) * i128::from(slot(traffic, child))) >> 32)
        + 2 * i128::from(traffic.longest_of_all())
}

/// Checks the delay of each packet of `child` against the backlog of the child on arrival at rate `C w/W`,
/// plus the index.
fn hold_times(traffic: &Traffic, ends: &[u64], child: usize, worst: &mut Measurement) {
    let (weight, sum) = (i128::from(traffic.weights[child]), i128::from(traffic.sum()));
    let bound = time_index(traffic, child);
    let own: Vec<usize> =
        (0..traffic.offers.len()).filter(|offer| traffic.offers[*offer].child == child).collect();
    for (index, offer) in own.iter().enumerate() {
        let at = traffic.offers[*offer].at;
        let ahead = own[..index].iter().filter(|before| ends[**before] > at);
        let waits = ahead.chain([offer]).map(|before| i128::from(traffic.offers[*before].length));
        let late = i128::from(ends[*offer] - at) * weight - waits.sum::<i128>() * sum;
        // The bound was rounded down by less than a byte.
        worst.require_at_most(late, (bound + 1) * weight, traffic.weights[child]);
    }
}

impl Oracle for SlotIndex {
    const FAMILY: &'static str = "O10";
    const NAME: &'static str = "slot-index";
    const THEOREM: &'static str = "with s the smallest power of two not under L_i/w_i, a busy child is never behind its share by more than \
         3 w_i s + 2 L_max w_i/W, and a packet waits for its child's own backlog and (3 W s + 2 L_max)/C";
    const SOURCE: &'static str = "Checconi, Rizzo and Valente, QFQ: efficient packet scheduling with tight guarantees, IEEE/ACM ToN 2013";
    const TRIALS: u32 = 120;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["qfq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut behind = Measurement::bound("behind its share", "B", 0.4);
        let mut late = Measurement::bound("later than its own backlog", "us", 0.4);
        for trial in trials.each() {
            let mut random = trials.random("slot-index", trial);
            let load = [0.9, 1.2, 3.0][random.below(3) as usize];
            let traffic = Traffic::new(500, 12, load, &mut random);
            let (sent, fault) = send_with_lengths(kind.name, &traffic);
            behind.fault(fault.as_ref());
            if fault.is_some() {
                continue;
            }
            let mut ends = vec![0; traffic.offers.len()];
            for sent in &sent {
                ends[sent.offer] = sent.end;
            }
            for child in 0..traffic.weights.len() {
                let bound = time_index(&traffic, child) * i128::from(traffic.weights[child]);
                hold_child(&traffic, &sent, child, bound, &mut behind);
                hold_times(&traffic, &ends, child, &mut late);
            }
        }
        [behind, late].map(|worst| worst.finding(trials.count)).into()
    }
}
