//! Earliest deadline first: where the children's envelopes fit, no packet is late.

use lockgate_engine::random::Random;
use serde_json::{Value, json};

use crate::weighted::{Offer, link_of, send_through};
use crate::{between, random};

/// What a child may send: `burst` bytes at once and `rate` thousandths of the link in the long run.
#[derive(Clone, Copy, Debug)]
struct Envelope {
    burst: u64,
    rate: u64,
    longest: u64,
}

/// The least deadlines that fit, in microseconds, which are bytes of the link, with `more` bytes in the way:
/// at each deadline `t` what is due is `sum of burst + rate (t - deadline)`, and that and `more` is `t`.
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

/// Traffic of a child that uses its envelope to the full, again and again.
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

/// The largest time from arrival to end, less `allowed`, as a share of the deadline.
fn worst(trial: u64, in_the_way: bool) -> f64 {
    let mut random = random("deadlines", trial);
    let count = between(&mut random, 2, 6) as usize;
    let envelopes: Vec<_> = (0..count)
        .map(|_| {
            let longest = between(&mut random, 40, 1514);
            let burst = longest + between(&mut random, 0, 6_000);
            Envelope { burst, rate: between(&mut random, 20, 950 / count as u32), longest }
        })
        .collect();
    let longest = envelopes.iter().map(|envelope| envelope.longest).max().expect("some");
    let (more, late) = if in_the_way { (longest, 0) } else { (0, longest) };
    let deadlines = deadlines(&envelopes, more);
    let shares: Vec<Value> =
        deadlines.iter().map(|deadline| json!({ "deadline": format!("{deadline}us") })).collect();
    let mut offers: Vec<_> = envelopes
        .iter()
        .enumerate()
        .flat_map(|(child, envelope)| traffic(child, *envelope, &mut random))
        .collect();
    offers.sort_by_key(|offer| offer.at);
    let mut worst = 0.0_f64;
    for sent in send_through(link_of("edf", &json!({}), &shares), &offers) {
        let offer = offers[sent.offer];
        let (took, allowed) = (sent.end - offer.at, deadlines[offer.child] + late);
        assert!(took <= allowed, "trial {trial}: {offer:?} took {took} us, allowed are {allowed}");
        worst = worst.max(took as f64 / allowed as f64);
    }
    worst
}

#[test]
fn no_packet_is_late_where_the_envelopes_fit() {
    let with = (0..150).map(|trial| worst(trial, true)).fold(0.0, f64::max);
    let without = (0..150).map(|trial| worst(trial, false)).fold(0.0, f64::max);
    println!("edf: {with:.3} of the deadlines; without room for a packet {without:.3} of them and a packet");
    assert!(with > 0.9 && without > 0.8, "the traffic tries nothing");
}
