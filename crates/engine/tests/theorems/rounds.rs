//! Round robins by packets: how far two backlogged children can be apart, in packets.

use lockgate_engine::units::Instant;

use crate::weighted::{header, link};
use crate::{between, random};

/// The range of `N_0 w_1 - N_1 w_0` over all intervals in which children 0 and 1 are backlogged, as a share
/// of `w_0 w_1`, while the others come and go.
fn spread(kind: &str, trial: u64) -> f64 {
    let mut random = random("rounds", trial);
    let count = between(&mut random, 2, 6) as usize;
    let most = if kind == "rr" { 1 } else { 9 };
    let weights: Vec<u64> = (0..count).map(|_| between(&mut random, 1, most)).collect();
    let mut link = link(kind, &weights);
    let mut waiting = vec![0; count];
    let (mut low, mut high, mut difference) = (0_i64, 0_i64, 0_i64);
    for round in 0..3_000 {
        let now = link.next_event().unwrap_or(Instant::ZERO);
        let before = link.sent.len();
        for (child, waiting) in waiting.iter_mut().enumerate() {
            // Up to two packets are sent before they are asked again.
            let wanted = if child < 2 { 4 } else { random.below(3) * random.below(2) };
            while *waiting < wanted {
                *waiting += 1;
                let length = between(&mut random, 1, 1514);
                link.offer(header(child, length, 0), now);
            }
        }
        link.step(link.next_event().expect("it is backlogged"));
        for sent in &link.sent[before..] {
            let child = usize::from(sent.packet.class);
            waiting[child] -= 1;
            if round == 0 {
                // Not both were backlogged yet.
                continue;
            }
            difference += match child {
                0 => weights[1].cast_signed(),
                1 => -weights[0].cast_signed(),
                _ => 0,
            };
            low = low.min(difference);
            high = high.max(difference);
        }
    }
    let bound = (weights[0] * weights[1]).cast_signed();
    assert!(high - low <= bound, "{kind}, trial {trial}: {} is over {bound}", high - low);
    (high - low) as f64 / bound as f64
}

#[test]
fn round_robins_are_fair_in_packets_over_every_interval() {
    for kind in ["wrr", "rr"] {
        let worst = (0..60).map(|trial| spread(kind, trial)).fold(0.0, f64::max);
        println!("{kind}: fairness in packets {worst:.3} of the bound");
        assert!(worst > 0.9, "the traffic tries nothing");
    }
}
