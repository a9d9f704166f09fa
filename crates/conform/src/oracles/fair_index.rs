//! The worst-case fair index: the largest deficit of a busy child against its share.

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{Sent, Traffic, send};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct FairIndex;

/// Returns W times the child's service minus w times the link's service, up to `time`.
fn account(traffic: &Traffic, sent: &[Sent], child: usize, time: u64) -> i128 {
    let part = |sent: &Sent| i128::from(time.min(sent.end).saturating_sub(sent.start));
    let (mut mine, mut all) = (0, 0);
    for sent in sent.iter().take_while(|sent| sent.start < time) {
        all += part(sent);
        mine += if traffic.offers[sent.offer].child == child { part(sent) } else { 0 };
    }
    mine * i128::from(traffic.sum()) - all * i128::from(traffic.weights[child])
}

/// Returns `L_i + (L_max - L_i) w_i/W`, multiplied by W.
fn index(traffic: &Traffic, child: usize) -> i128 {
    i128::from(traffic.longest[child]) * i128::from(traffic.sum())
        + i128::from(traffic.longest_of_all() - traffic.longest[child]) * i128::from(traffic.weights[child])
}

/// Checks, from any time in a busy period of `child` to the end of one of its packets, a deficit of at most
/// `bound / W`.
pub(super) fn hold_child(
    traffic: &Traffic,
    sent: &[Sent],
    child: usize,
    bound: i128,
    worst: &mut Measurement,
) {
    let (mut highest, mut busy_until, mut behind) = (0, None, 0);
    for own in sent.iter().filter(|sent| traffic.offers[sent.offer].child == child) {
        let arrived = traffic.offers[own.offer].at;
        if busy_until.is_none_or(|until| until <= arrived) {
            highest = account(traffic, sent, child, arrived);
        }
        // The account grows while the child is served and falls otherwise.
        let at_end = account(traffic, sent, child, own.end);
        behind = behind.max(highest - at_end);
        highest = highest.max(at_end);
        busy_until = Some(own.end);
    }
    // Rounding of tags adds up to less than a byte over a run.
    worst.require_at_most(behind, bound + i128::from(traffic.sum()), traffic.sum());
}

impl Oracle for FairIndex {
    const FAMILY: &'static str = "O10";
    const NAME: &'static str = "fair-index";
    const THEOREM: &'static str =
        "a busy child is never behind its share of the link by more than L_i + (L_max - L_i) w_i/W";
    const SOURCE: &'static str =
        "Bennett and Zhang, Hierarchical packet fair queueing algorithms, SIGCOMM 1996";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["wf2q+"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("behind its share", "B", 0.8);
        for trial in trials.each() {
            let mut random = trials.random("fair-index", trial);
            let load = [0.9, 1.2, 3.0][random.below(3) as usize];
            let traffic = Traffic::new(500, 6, load, &mut random);
            let (sent, fault) = send(kind.name, &traffic.weights, &traffic.offers);
            worst.fault(fault.as_ref());
            for child in 0..traffic.weights.len() {
                hold_child(&traffic, &sent, child, index(&traffic, child), &mut worst);
            }
        }
        vec![worst.finding(trials.count)]
    }
}
