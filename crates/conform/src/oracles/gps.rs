//! WFQ against the fluid server (generalised processor sharing) that it follows, in exact fractions.

use std::collections::VecDeque;

use num_rational::BigRational;

use super::fluid::{Fluid, whole};
use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{Sent, Traffic, send};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct GpsLate;

/// Returns the finish tag of each packet: virtual time by its definition, from the end of one child's backlog
/// in the fluid server to that of the next. A byte takes a microsecond.
fn finish_tags(traffic: &Traffic) -> Vec<BigRational> {
    let (mut virtual_time, mut now) = (whole(0), whole(0));
    let mut last = vec![whole(0); traffic.weights.len()];
    traffic
        .offers
        .iter()
        .map(|offer| {
            let until = whole(offer.at);
            loop {
                let busy: Vec<usize> = (0..last.len()).filter(|child| last[*child] > virtual_time).collect();
                let sum: u64 = busy.iter().map(|child| traffic.weights[*child]).sum();
                let Some(next) = busy.iter().map(|child| &last[*child]).min() else { break };
                let left = &until - &now;
                let needed = (next - &virtual_time) * whole(sum);
                if needed > left {
                    virtual_time += left / whole(sum);
                    break;
                }
                now += needed;
                virtual_time = next.clone();
            }
            now = until;
            let start = virtual_time.clone().max(last[offer.child].clone());
            last[offer.child] = start + whole(offer.length) / whole(traffic.weights[offer.child]);
            last[offer.child].clone()
        })
        .collect()
}

/// Compares the order in which packets were sent with their finish tags: how much larger each was than the
/// smallest of those that had come before its transmission began.
fn compare_tags(traffic: &Traffic, sent: &[Sent], order: &mut Measurement) {
    let tags = finish_tags(traffic);
    let mut is_sent = vec![false; tags.len()];
    let rounding = BigRational::new(1.into(), (1_u64 << 20).into());
    for Sent { offer, start, .. } in sent {
        let waited = |index: &usize| !is_sent[*index] && traffic.offers[*index].at < *start;
        let smallest = (0..tags.len()).filter(waited).map(|index| &tags[index]).min();
        if let Some(smallest) = smallest {
            order.require_fraction(&(&tags[*offer] - smallest), &rounding);
        }
        is_sent[*offer] = true;
    }
}

/// Compares both servers at the end of every packet.
fn compare_service(traffic: &Traffic, sent: &[Sent], [late, behind]: [&mut Measurement; 2]) {
    let longest = whole(traffic.longest_of_all());
    let mut fluid = Fluid::new(&traffic.weights, traffic.offers.len());
    let mut served = vec![0; traffic.weights.len()];
    let mut offers = traffic.offers.iter().enumerate().peekable();
    for Sent { offer, end, .. } in sent {
        while let Some((index, next)) = offers.next_if(|(_, next)| next.at <= *end) {
            fluid.offer(index, next);
        }
        fluid.run_until(&whole(*end));
        served[traffic.offers[*offer].child] += traffic.offers[*offer].length;
        for (child, served) in served.iter().enumerate() {
            behind.require_fraction(&(&fluid.served[child] - whole(*served)), &longest);
        }
        if fluid.ends[*offer] > whole(0) {
            late.require_fraction(&(whole(*end) - &fluid.ends[*offer]), &longest);
        }
    }
    debug_assert!(fluid.waiting.iter().all(VecDeque::is_empty), "both servers end at the same time");
}

impl Oracle for GpsLate {
    const FAMILY: &'static str = "O10";
    const NAME: &'static str = "gps-late";
    const THEOREM: &'static str = "beside a fluid server with the same arrivals: each packet is through at most L_max/C later, no child is behind by \
         more than L_max bytes; and each packet sent has the smallest finish tag of those that wait, as computed apart in fractions";
    const SOURCE: &'static str =
        "Parekh and Gallager, Transactions on Networking 1 (1993), theorems 1 and 2; in exact fractions";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["wfq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut late = Measurement::bound("later than the fluid server", "us", 0.8);
        let mut behind = Measurement::bound("behind the fluid server", "B", 0.8);
        let mut order = Measurement::tolerance("finish tag above the smallest", "B");
        for trial in trials.each() {
            let mut random = trials.random("gps", trial);
            let load = [0.7, 0.95, 1.5][random.below(3) as usize];
            let traffic = Traffic::new(200, 6, load, &mut random);
            let (sent, fault) = send(kind.name, &traffic.weights, &traffic.offers);
            late.fault(fault.as_ref());
            compare_service(&traffic, &sent, [&mut late, &mut behind]);
            compare_tags(&traffic, &sent, &mut order);
        }
        [late, behind, order].map(|worst| worst.finding(trials.count)).into()
    }
}
