//! WF2Q+ and QFQ against a fluid server (generalised processor sharing) in exact fractions.

use std::collections::VecDeque;

use num_rational::BigRational;

use super::slot_index::{send_with_lengths, slot};
use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{Offer, Sent, Traffic, send};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct FluidServer;

pub(super) fn whole(number: u64) -> BigRational {
    BigRational::from_integer(number.into())
}

/// A fluid server: it serves all backlogged children at once, in proportion to their weights.
pub(super) struct Fluid<'a> {
    weights: &'a [u64],
    now: BigRational,
    /// Backlog of each child: index and remaining bytes of each packet.
    pub(super) waiting: Vec<VecDeque<(usize, BigRational)>>,
    /// Bytes served of each child.
    pub(super) served: Vec<BigRational>,
    /// End of service of each packet.
    pub(super) ends: Vec<BigRational>,
}

impl<'a> Fluid<'a> {
    pub(super) fn new(weights: &'a [u64], packets: usize) -> Self {
        let count = weights.len();
        Self {
            weights,
            now: whole(0),
            waiting: vec![VecDeque::new(); count],
            served: vec![whole(0); count],
            ends: vec![whole(0); packets],
        }
    }

    pub(super) fn offer(&mut self, index: usize, offer: &Offer) {
        self.run_until(&whole(offer.at));
        self.waiting[offer.child].push_back((index, whole(offer.length)));
    }

    /// Serves until `until`, from the end of one packet to that of the next.
    pub(super) fn run_until(&mut self, until: &BigRational) {
        while self.now < *until {
            let busy: Vec<usize> =
                (0..self.weights.len()).filter(|child| !self.waiting[*child].is_empty()).collect();
            let sum: u64 = busy.iter().map(|child| self.weights[*child]).sum();
            let first = busy
                .iter()
                .map(|child| &self.waiting[*child][0].1 * whole(sum) / whole(self.weights[*child]))
                .min();
            let Some(first) = first else { break };
            let step = first.min(until - &self.now);
            self.now += &step;
            for child in busy {
                let share = &step * whole(self.weights[child]) / whole(sum);
                self.served[child] += &share;
                let Some(front) = self.waiting[child].front_mut() else { continue };
                front.1 -= share;
                if front.1 == whole(0) {
                    self.ends[front.0] = self.now.clone();
                    self.waiting[child].pop_front();
                }
            }
        }
        self.now = until.clone();
    }
}

/// Limits on a child's lead over and lag behind the fluid server, in bytes, and on its lateness, in
/// microseconds.
struct Bounds {
    ahead: BigRational,
    behind: BigRational,
    late: BigRational,
}

fn bounds(kind: &str, traffic: &Traffic, child: usize) -> Bounds {
    let (weight, sum) = (traffic.weights[child], traffic.sum());
    let longest = whole(traffic.longest_of_all());
    // (1 - w/W) L
    let ahead = whole((sum - weight) * traffic.longest[child]) / whole(sum);
    if kind == "wf2q+" {
        return Bounds { ahead, behind: longest.clone(), late: longest };
    }
    // Start tags are rounded down to slots: w s more. An arrival counts the packet in service as sent,
    // which may advance virtual time: w L_max/W. Lateness and lag follow from the worst-case fair indices;
    // the second one holds at the end of a packet of the child, and before that with one more packet of the
    // child.
    let slot = BigRational::new(slot(traffic, child).into(), (1_u64 << 32).into());
    let late = whole(3 * sum) * &slot + whole(2) * longest;
    Bounds {
        ahead: ahead + whole(weight) * slot + whole(weight * traffic.longest_of_all()) / whole(sum),
        behind: &late * whole(weight) / whole(sum) + whole(traffic.longest[child]),
        late,
    }
}

/// Sends `traffic` through both servers and compares them at the end of every packet, while all children
/// are backlogged: lateness, lead and lag.
fn compare(kind: &str, traffic: &Traffic, [late, ahead, behind]: &mut [Measurement; 3]) {
    let (sent, fault) = match kind {
        "qfq" => send_with_lengths(kind, traffic),
        _ => send(kind, &traffic.weights, &traffic.offers),
    };
    let bounds: Vec<_> = (0..traffic.weights.len()).map(|child| bounds(kind, traffic, child)).collect();
    late.fault(fault.as_ref());
    let mut fluid = Fluid::new(&traffic.weights, traffic.offers.len());
    let mut served = vec![0; traffic.weights.len()];
    let mut offers = traffic.offers.iter().enumerate().peekable();
    for Sent { offer, end, .. } in &sent {
        while let Some((index, next)) = offers.next_if(|(_, next)| next.at <= *end) {
            fluid.offer(index, next);
        }
        fluid.run_until(&whole(*end));
        if fluid.waiting.iter().any(VecDeque::is_empty) {
            return;
        }
        let child = traffic.offers[*offer].child;
        served[child] += traffic.offers[*offer].length;
        for (child, served) in served.iter().enumerate() {
            let lead = whole(*served) - &fluid.served[child];
            ahead.require_fraction(&lead, &bounds[child].ahead);
            behind.require_fraction(&-lead, &bounds[child].behind);
        }
        // If the fluid server has not finished the packet yet, it is not late.
        if fluid.ends[*offer] > whole(0) {
            late.require_fraction(&(whole(*end) - &fluid.ends[*offer]), &bounds[child].late);
        }
    }
}

impl Oracle for FluidServer {
    const FAMILY: &'static str = "O10";
    const NAME: &'static str = "fluid-server";
    const THEOREM: &'static str = "beside a fluid server with the same children waiting: through at most L_max/C later, never ahead by more than \
         (1 - w/W) L_i nor behind by more than L_max; qfq, whose slots are s: w s + L_max w/W more ahead, behind by 3 w s + 2 L_max w/W + L_i, and \
         (3 W s + 2 L_max)/C later";
    const SOURCE: &'static str =
        "Parekh and Gallager, ToN 1 (1993); Bennett and Zhang, INFOCOM 1996; in exact fractions";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["wf2q+", "qfq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let sharp = if kind.name == "wf2q+" { 0.8 } else { 0.4 };
        let mut findings = [
            Measurement::bound("later than the fluid server", "us", sharp),
            Measurement::bound("ahead of the fluid server", "B", sharp),
            Measurement::bound("behind the fluid server", "B", sharp),
        ];
        for trial in trials.each() {
            let mut traffic = Traffic::new(150, 6, 0.9, &mut trials.random("fluid", trial));
            // All packets are offered at once: while each child is backlogged, the fluid server's rates are
            // the children's shares. The fluid server redistributes an idle child's share at once, WF2Q+ by
            // virtual time: no theorem applies.
            traffic.offers.iter_mut().for_each(|offer| offer.at = 0);
            compare(kind.name, &traffic, &mut findings);
        }
        findings.map(|worst| worst.finding(trials.count)).into()
    }
}
