//! Earliest deadline first: if the children's envelopes are schedulable, no packet is late.

use lockgate_engine::random::Random;
use serde_json::{Value, json};

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{Offer, link_of, send_through};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct Deadlines;

/// The traffic envelope of a child: `burst` bytes at once and `rate` thousandths of the link in the long
/// run.
#[derive(Clone, Copy, Debug)]
struct Envelope {
    burst: u64,
    rate: u64,
    longest: u64,
}

/// Returns the smallest schedulable deadlines in microseconds, equal to bytes of the link, with `more`
/// bytes of blocking: at each deadline `t`, `more` plus the sum of `burst + rate (t - deadline)` is `t`.
fn deadlines(envelopes: &[Envelope], more: u64) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::new();
    for (index, envelope) in envelopes.iter().enumerate() {
        let earlier = &envelopes[..index];
        let bursts = earlier.iter().map(|earlier| earlier.burst).sum::<u64>() + envelope.burst + more;
        let rates: u64 = earlier.iter().map(|earlier| earlier.rate).sum();
        let gone: u64 = earlier.iter().zip(&all).map(|(earlier, deadline)| earlier.rate * deadline).sum();
        let least = (1_000 * bursts).saturating_sub(gone).div_ceil(1_000 - rates);
        all.push(least.max(all.last().copied().unwrap_or(0)));
    }
    all
}

/// Draws traffic of a child that repeatedly exhausts its envelope.
fn traffic(child: usize, envelope: Envelope, random: &mut Random) -> Vec<Offer> {
    // In thousandths of a byte.
    let (mut tokens, mut now) = (1_000 * envelope.burst, 0);
    let mut offers = Vec::new();
    for _ in 0..300 {
        if random.below(12) == 0 {
            // A pause, after which the bucket is full.
            let pause = 1_000 * envelope.burst / envelope.rate + between(random, 0, 3_000);
            now += pause;
            tokens = 1_000 * envelope.burst;
        }
        let length =
            if random.below(2) == 0 { envelope.longest } else { between(random, 1, envelope.longest as u32) };
        let missing = (1_000 * length).saturating_sub(tokens).div_ceil(envelope.rate);
        now += missing;
        tokens = (tokens + missing * envelope.rate).min(1_000 * envelope.burst) - 1_000 * length;
        offers.push(Offer { at: now, child, length });
    }
    offers
}

/// Checks the time from arrival to end of every packet against its deadline; if the deadlines leave no room
/// for blocking, plus one packet.
fn hold_trial(kind: &str, random: &mut Random, in_the_way: bool, worst: &mut Measurement) {
    let count = between(random, 2, 6) as usize;
    let envelopes: Vec<_> = (0..count)
        .map(|_| {
            let longest = between(random, 40, 1514);
            let burst = longest + between(random, 0, 6_000);
            Envelope { burst, rate: between(random, 20, 950 / count as u32), longest }
        })
        .collect();
    let longest = envelopes.iter().map(|envelope| envelope.longest).max().unwrap_or(0);
    let (more, late) = if in_the_way { (longest, 0) } else { (0, longest) };
    let deadlines = deadlines(&envelopes, more);
    let shares: Vec<Value> =
        deadlines.iter().map(|deadline| json!({ "deadline": format!("{deadline}us") })).collect();
    let mut offers: Vec<_> = envelopes
        .iter()
        .enumerate()
        .flat_map(|(child, envelope)| traffic(child, *envelope, random))
        .collect();
    offers.sort_by_key(|offer| offer.at);
    let (sent, fault) = send_through(link_of(kind, &json!({}), &shares), &offers);
    worst.fault(fault.as_ref());
    for sent in sent {
        let offer = offers[sent.offer];
        worst.require_at_most(i128::from(sent.end - offer.at), i128::from(deadlines[offer.child] + late), 1);
    }
}

impl Oracle for Deadlines {
    const FAMILY: &'static str = "O17";
    const NAME: &'static str = "deadlines";
    const THEOREM: &'static str = "where the envelopes fit, sum of alpha_i(t - d_i) + L <= C t, no packet is late; without the L, none by more than \
         a packet";
    const SOURCE: &'static str =
        "Georgiadis, Guerin and Parekh, INFOCOM 1994; Liebeherr, Wrege and Ferrari, ToN 4 (1996)";
    const TRIALS: u32 = 150;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["edf"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut with = Measurement::bound("time taken, of its deadline", "us", 0.9);
        let mut without = Measurement::bound("time taken, of its deadline and a packet", "us", 0.8);
        for trial in trials.each() {
            hold_trial(kind.name, &mut trials.random("deadlines", trial), true, &mut with);
            hold_trial(kind.name, &mut trials.random("deadlines", trial), false, &mut without);
        }
        [with, without].map(|worst| worst.finding(trials.count)).into()
    }
}
