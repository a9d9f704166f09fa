//! A guarded band leaves the bands below it the link less its guard, over any interval.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::weighted::{header, link_of};
use crate::{between, random};

/// Bits of a second of the link.
const LINK: i128 = 8_000_000;

/// How much less than `(C - rho) t` the last of `bands` got in any interval in which it waited, as a share of
/// `sigma + L_max`, with sigma and rho the sums of the guards above it.
fn shortfall(trial: u64) -> f64 {
    let mut random = random("guard", trial);
    let bands = between(&mut random, 2, 4) as usize;
    let most = [300_000, 2_000_000][trial as usize % 2];
    let guards: Vec<(u64, u64)> = (1..bands)
        .map(|_| (between(&mut random, 100_000, most), 1_514 * between(&mut random, 1, 6)))
        .collect();
    let guarded = guards.iter().map(
        |(rate, burst)| json!({ "guard_rate": format!("{rate}bit"), "guard_burst": format!("{burst}B") }),
    );
    let shares: Vec<_> = guarded.chain([json!({})]).collect();
    let mut link = link_of("prio", &json!({}), &shares);
    let rho: i128 = guards.iter().map(|(rate, _)| i128::from(*rate)).sum();
    let sigma: i128 = guards.iter().map(|(_, burst)| i128::from(*burst)).sum();
    // The upper bands always wait; the last one comes and goes.
    let mut now = Instant::ZERO;
    let mut spells: Vec<(u64, usize)> = Vec::new();
    let last = bands - 1;
    for _ in 0..20 {
        for band in 0..last {
            for _ in 0..between(&mut random, 30, 120) {
                let length = if trial % 2 == 0 { 1514 } else { between(&mut random, 40, 1514) };
                link.offer(header(band, length, 0), now);
            }
        }
        now = now + Duration::from_micros(between(&mut random, 0, 60_000));
        link.run_until(now);
        let count = between(&mut random, 1, 60) as usize;
        for _ in 0..count {
            link.offer(header(last, between(&mut random, 40, 1514), 0), now);
        }
        spells.push((now.as_picos() / 1_000_000, count));
    }
    link.drain();
    // In microseconds, which are bytes of the link: what it got, against what it is due, LINK times.
    let mut own = link.sent.iter().filter(|sent| usize::from(sent.packet.class) == last);
    let (mut worst, mut busy_until, mut account, mut lowest, mut at) = (0, 0, 0, 0, 0);
    for (arrived, count) in spells {
        if arrived >= busy_until {
            // A new spell of waiting.
            (account, lowest, at) = (0_i128, 0_i128, arrived);
        }
        for sent in own.by_ref().take(count) {
            let start = sent.at.as_picos() / 1_000_000;
            let length = i128::from(sent.packet.length);
            account += (LINK - rho) * i128::from(start.saturating_sub(at));
            worst = worst.max(account - lowest);
            account -= rho * length;
            lowest = lowest.min(account);
            at = start + u64::from(sent.packet.length);
            busy_until = at;
        }
    }
    let bound = LINK * (sigma + 1_514);
    assert!(worst <= bound, "trial {trial}: {worst} is over {bound}");
    worst as f64 / bound as f64
}

#[test]
fn the_bands_below_a_guard_get_the_link_less_the_guard_over_any_interval() {
    let worst = (0..60).map(shortfall).fold(0.0, f64::max);
    println!("prio: guard {worst:.3} of the bound");
    assert!(worst > 0.8, "the traffic tries nothing");
}
