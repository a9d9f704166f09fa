//! Fair queueing by virtual time: how far two backlogged children can be apart, how late a packet can be
//! against a server of its child's own rate, and how that grows with the number of children.

use lockgate_engine::units::Instant;
use serde_json::json;

use crate::weighted::{Offer, Traffic, header, link, link_of, send};
use crate::{between, random};

/// The range of `S_0 w_1 - S_1 w_0` over all intervals in which children 0 and 1 are backlogged, as a
/// share of `L_0 w_1 + L_1 w_0`, while the others come and go. Kinds that work in rounds have the bytes of
/// a turn in the place of a weight, and one turn more: `w_0 w_1`.
fn spread(kind: &str, trial: u64) -> f64 {
    let mut random = random("spread", trial);
    let count = between(&mut random, 2, 6) as usize;
    let weights: Vec<u64> = (0..count).map(|_| between(&mut random, 1, 20)).collect();
    let longest: Vec<u64> = (0..count).map(|_| between(&mut random, 1, 1514)).collect();
    let (mut link, weights, turn) = match kind {
        "wfq-altq" => {
            let weights: Vec<u64> =
                weights.iter().map(|weight| weight * [10, 300][trial as usize % 2]).collect();
            let quotas: Vec<u64> = weights.iter().map(|weight| 512 * weight / 100).collect();
            (link(kind, &weights), quotas.clone(), quotas[0] * quotas[1])
        }
        "sfq" => {
            let quantum = [100, 1514][trial as usize % 2];
            let config = json!({ "quantum": format!("{quantum}B") });
            (link_of(kind, &config, &[]), vec![quantum; count], quantum * quantum)
        }
        _ => (link(kind, &weights), weights, 0),
    };
    let (mut low, mut high, mut difference) = (0_i64, 0_i64, 0_i64);
    let mut waiting = vec![0_u32; count];
    for round in 0..3_000 {
        let now = link.next_event().unwrap_or(Instant::ZERO);
        for child in 0..count {
            // Up to three packets are sent before they are offered again.
            let wanted = if child < 2 { 5 } else { random.below(3) * random.below(2) };
            while waiting[child] < wanted {
                waiting[child] += 1;
                let length = match random.below(4) {
                    0 => longest[child],
                    1 => 1,
                    _ => between(&mut random, 1, longest[child] as u32),
                };
                let before = link.sent.len();
                link.offer(header(child, length, 0), now);
                count_sent(&link.sent[before..], &mut waiting, &weights, &mut difference);
            }
        }
        if round == 0 {
            // What was sent before both were backlogged.
            difference = 0;
        }
        low = low.min(difference);
        high = high.max(difference);
        let before = link.sent.len();
        let at = link.next_event().expect("it is backlogged");
        link.step(at);
        count_sent(&link.sent[before..], &mut waiting, &weights, &mut difference);
        low = low.min(difference);
        high = high.max(difference);
    }
    let bound = (turn + longest[0] * weights[1] + longest[1] * weights[0]).cast_signed();
    assert!(high - low <= bound, "{kind}, trial {trial}: {} is over {bound}", high - low);
    (high - low) as f64 / bound as f64
}

fn count_sent(
    sent: &[crate::common::link::Sent],
    waiting: &mut [u32],
    weights: &[u64],
    difference: &mut i64,
) {
    for sent in sent {
        let (child, length) = (usize::from(sent.packet.class), i64::from(sent.packet.length));
        waiting[child] -= 1;
        match child {
            0 => *difference += length * weights[1].cast_signed(),
            1 => *difference -= length * weights[0].cast_signed(),
            _ => {}
        }
    }
}

#[test]
fn backlogged_children_get_their_shares_over_every_interval() {
    for kind in ["stfq", "scfq", "wfq-altq", "sfq"] {
        let worst = (0..60).map(|trial| spread(kind, trial)).fold(0.0, f64::max);
        println!("{kind}: fairness {worst:.3} of the bound");
        assert!(worst > 0.9, "the traffic tries nothing");
    }
}

/// How late the latest packet is against a server of its child's own rate, as a share of `allowed`.
/// `allowed` and all times are in microseconds times the child's weight.
fn lateness(kind: &str, traffic: &Traffic, allowed: impl Fn(&Offer) -> u64) -> f64 {
    let weights = &traffic.weights;
    let sent = send(kind, weights, &traffic.offers);
    let mut ends = vec![0; sent.len()];
    for sent in &sent {
        ends[sent.offer] = sent.end;
    }
    // Expected arrivals: a packet arrives when it does, or when those before it are through at rate C w/W.
    let mut free = vec![0_u64; weights.len()];
    let mut worst = 0.0_f64;
    for (offer, end) in traffic.offers.iter().zip(ends) {
        let weight = weights[offer.child];
        let expected = free[offer.child].max(offer.at * weight);
        free[offer.child] = expected + offer.length * traffic.sum();
        let late = (end * weight).saturating_sub(expected);
        let allowed = allowed(offer);
        // Tags are rounded by less than a microsecond over a run.
        assert!(late <= allowed + weight, "{kind}: {offer:?} is {late} late, over {allowed}");
        worst = worst.max(late as f64 / allowed as f64);
    }
    worst
}

#[test]
fn no_packet_is_later_than_at_its_own_rate_by_more_than_the_others_packets() {
    let mut worst = [0.0_f64; 3];
    for trial in 0..120 {
        let mut random = random("lateness", trial);
        let load = [0.9, 1.2, 3.0][random.below(3) as usize];
        let traffic = Traffic::new(1_200, 6, load, &mut random);
        let others = |offer: &Offer| {
            let all: u64 = traffic.longest.iter().sum();
            (all - traffic.longest[offer.child]) * traffic.weights[offer.child]
        };
        let weight = |offer: &Offer| traffic.weights[offer.child];
        let own = |offer: &Offer| offer.length * traffic.sum();
        let one = |offer: &Offer| traffic.longest_of_all() * weight(offer);
        let ratios = [
            lateness("stfq", &traffic, |offer| others(offer) + offer.length * weight(offer)),
            lateness("scfq", &traffic, |offer| others(offer) + own(offer)),
            lateness("wf2q+", &traffic, |offer| own(offer) + one(offer)),
        ];
        for (worst, ratio) in worst.iter_mut().zip(ratios) {
            *worst = worst.max(ratio);
        }
    }
    println!("lateness: stfq {:.3}, scfq {:.3}, wf2q+ {:.3} of the bounds", worst[0], worst[1], worst[2]);
    assert!(worst.iter().all(|worst| *worst > 0.8), "the traffic tries nothing");
}

/// When the packet of a child with half the link is through, that comes while `count` others wait.
fn wait_of_half(kind: &str, count: usize) -> u64 {
    let mut weights = vec![1; count];
    weights.push(count as u64);
    let mut offers: Vec<_> =
        (0..3 * count).map(|index| Offer { at: 0, child: index % count, length: 1000 }).collect();
    // The others' packets of one round have equal tags; it comes when the first is being sent.
    let came = 500;
    offers.push(Offer { at: came, child: count, length: 1000 });
    let sent = send(kind, &weights, &offers);
    sent.iter().find(|sent| sent.offer == 3 * count).expect("it was sent").end - came
}

#[test]
fn the_wait_grows_with_the_number_of_children_but_not_in_wf2q_plus() {
    for count in [2, 300] {
        // At half the link a packet takes 2 ms, and another's may be on the way.
        assert!(wait_of_half("wf2q+", count) <= 3_000, "{count} others");
    }
    let [start, finish, worst_case] = ["stfq", "scfq", "wf2q+"].map(|kind| wait_of_half(kind, 300));
    println!("with half the link among 300 others: stfq {start} us, scfq {finish} us, wf2q+ {worst_case} us");
    assert!(start > 250_000, "every other child's packet has an earlier start");
    assert!(finish <= 3_000, "an earlier finish suffices here");
    // A light child among one heavy: its own rate is what a packet waits for in scfq, and not in stfq.
    let light = |kind| {
        let offers = (0..400).map(|_| Offer { at: 0, child: 1, length: 1000 });
        let offers: Vec<_> = offers.chain([Offer { at: 500, child: 0, length: 1000 }]).collect();
        let sent = send(kind, &[1, 300], &offers);
        sent.iter().find(|sent| sent.offer == 400).expect("it was sent").end
    };
    assert_eq!(light("stfq"), 2_000);
    assert!(light("scfq") > 250_000);
}
