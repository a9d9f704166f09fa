//! Gaps between the drops of random early detection.

use serde_json::json;

use super::red_average::{flavoured, has, pinned};
use crate::finding::{Finding, Measurement};
use crate::fixtures::managed::{gauge, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct RedGaps;

/// Number of arrivals evaluated per flavour.
const COUNT: u32 = 400_000;

/// Returns the probability of a gap of this length if gaps are uniform on `1..=range`; `range` may be
/// fractional.
fn share(gap: usize, range: f64) -> f64 {
    ((gap as f64).min(range) - (gap as f64 - 1.0)).max(0.0) / range
}

/// Counts gaps of up to 39 arrivals, and drops.
fn gaps(kind: &str, flavour: &str) -> Result<(Vec<u32>, u32), String> {
    // Halfway from 20 to 40 kB at 10 % is 5 %: gaps of 1 to 20.
    let config = json!({
        "min": "20kB", "max": "40kB", "limit": "1MB", "burst": 40, "probability": "10%",
    });
    let mut port = port(kind, &flavoured(kind, flavour, config));
    pinned(&mut port, 2_000, |_, _| ())?;
    let average = gauge(&mut port, "average_bytes");
    if (average - 30_000.0).abs() >= 30.0 {
        return Err(format!("the average settles at {average} bytes of 30000"));
    }
    let (mut gap, mut drops, mut gaps) = (0_usize, 0_u32, vec![0_u32; 40]);
    pinned(&mut port, COUNT, |dropped, _| {
        gap += 1;
        if dropped {
            if drops > 0 {
                gaps[gap.min(39)] += 1;
            }
            drops += 1;
            gap = 0;
        }
    })?;
    Ok((gaps, drops))
}

/// Returns the 99.9 % quantile of chi-square with `free` degrees of freedom, by Wilson and Hilferty.
pub(super) fn once_in_a_thousand(free: f64) -> f64 {
    let part = 2.0 / (9.0 * free);
    let root = 1.0 - part + 3.09 * libm::sqrt(part);
    free * root * root * root
}

/// Checks the chi-square of the gaps against the uniform law at the 99.9 % quantile.
fn hold_gaps(gaps: &[u32], drops: u32, range: f64, worst: &mut Measurement) {
    let (mut square, mut cells) = (0.0, 0);
    for (gap, seen) in gaps.iter().enumerate().skip(1) {
        let expected = share(gap, range) * f64::from(drops.saturating_sub(1));
        if expected > 5.0 {
            square += (f64::from(*seen) - expected) * (f64::from(*seen) - expected) / expected;
            cells += 1;
        } else {
            // Rounding of the average in Click, of the range in Linux.
            worst.require(f64::from(*seen) < 0.002 * f64::from(drops), || format!("{seen} gaps of {gap}"));
        }
    }
    worst.require_real(square, once_in_a_thousand(f64::from(cells - 1)));
}

impl Oracle for RedGaps {
    const FAMILY: &'static str = "O14";
    const NAME: &'static str = "red-gaps";
    const THEOREM: &'static str = "at a constant average the gaps between drops are uniform on 1..1/p_b (chi-square at 0.001), and 2 p_b / (1 + p_b) \
         is dropped (within 1.5 %)";
    const SOURCE: &'static str = "Floyd and Jacobson, Random early detection gateways (1993)";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["red", "choke"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        // In Linux 2.4 the range of 200 kB is rounded up to 2^18 bytes.
        let flavours = [
            ("paper", 20.0, "chi-square of the gaps, paper", "off the share dropped, paper"),
            ("linux", 20.0, "chi-square of the gaps, linux", "off the share dropped, linux"),
            ("linux-2.4", 26.2144, "chi-square of the gaps, linux-2.4", "off the share dropped, linux-2.4"),
            ("click", 20.0, "chi-square of the gaps, click", "off the share dropped, click"),
        ];
        let hold = |(flavour, range, square, fraction)| {
            let (mut square, mut fraction) =
                (Measurement::tolerance(square, ""), Measurement::tolerance(fraction, ""));
            match gaps(kind.name, flavour) {
                Ok((gaps, drops)) => {
                    let mean: f64 = (1..40).map(|gap| gap as f64 * share(gap, range)).sum();
                    fraction.require_near(f64::from(drops) / f64::from(COUNT), 1.0 / mean, 0.015);
                    hold_gaps(&gaps, drops, range, &mut square);
                }
                Err(why) => square.fault(Some(&why)),
            }
            [square.finding(trials.count), fraction.finding(trials.count)]
        };
        flavours.into_iter().filter(|(flavour, ..)| has(kind, flavour)).flat_map(hold).collect()
    }
}
