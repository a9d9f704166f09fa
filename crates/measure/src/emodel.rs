//! Speech quality of a call: the E-model's rating from delay and loss.
//!
//! ```text
//! R = (Ro - Is) - Id - Ie,eff        Ro - Is: noise and loudness, at their default values
//!                                    Id:      delay     = Idd(Ta) + Idte(T) + Idle(Tr)
//!                                    Ie,eff:  the codec = Ie + (95 - Ie) Ppl / (Ppl / BurstR + Bpl)
//! ```
//!
//! All parameters that are not named here have the defaults of the recommendation (clause 7.7). Losses are
//! assumed to be independent (`BurstR` is 1). The receiver is assumed to play out at the fixed delay that
//! gives the best rating: packets later than that count as lost.
//!
//! Source: ITU-T G.107 (06/2015), clause 7 and annex B; codecs: ITU-T G.113 (11/2007), appendix I.

use libm::{exp, log10, pow, sqrt};

use crate::histogram::Histogram;

/// Parameters of a codec in the E-model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// Name.
    pub name: &'static str,
    /// Equipment impairment factor, Ie.
    pub impairment: f64,
    /// Packet-loss robustness factor, Bpl.
    pub robustness: f64,
    /// Speech in a packet plus the coder's look-ahead, in seconds: adds to the delay.
    pub framing: f64,
}

/// Codecs with known parameters, by the names of traffic profiles.
pub const CODECS: [Codec; 2] = [
    // With packet loss concealment (G.711 appendix I).
    Codec { name: "g711", impairment: 0.0, robustness: 25.1, framing: 0.020 },
    // G.729A with voice activity detection; 5 ms of look-ahead.
    Codec { name: "g729", impairment: 11.0, robustness: 19.0, framing: 0.025 },
];

/// Returns the codec called `name`.
pub fn codec(name: &str) -> Option<&'static Codec> {
    CODECS.iter().find(|codec| codec.name == name)
}

/// Basic signal-to-noise ratio less simultaneous impairments, Ro - Is: 94.769 - 1.414 at the default values.
const SIGNAL: f64 = 93.355;
/// Ro alone, used by Idle.
const RO: f64 = 94.769;
/// Noise sum No and receive loudness rating RLR in the term of Roe: -1.5 (No - RLR).
const ROE: f64 = -1.5 * (-61.179 - 2.0);
/// Talker echo loudness rating, in dB.
const TELR: f64 = 65.0;
/// Weighted echo path loss, in dB.
const WEPL: f64 = 110.0;

/// Computes the rating R, from 0 to 93.2, of a call with the one-way delay `delay` from mouth to ear, in
/// seconds, that loses the fraction `loss` of its packets.
pub fn rating(codec: &Codec, delay: f64, loss: f64) -> f64 {
    let percent = (loss * 100.0).clamp(0.0, 100.0);
    let effective = codec.impairment + (95.0 - codec.impairment) * percent / (percent + codec.robustness);
    (SIGNAL - delay_impairment(delay.max(0.0) * 1000.0) - effective).clamp(0.0, 100.0)
}

/// Computes Id for a one-way delay in ms, assuming Ta = T and Tr = 2 T.
fn delay_impairment(delay: f64) -> f64 {
    let talker = {
        let terv = TELR - 40.0 * log10((1.0 + delay / 10.0) / (1.0 + delay / 150.0))
            + 6.0 * exp(-0.3 * delay * delay);
        let half = (ROE - (80.0 + 2.5 * (terv - 14.0))) / 2.0;
        (half + sqrt(half * half + 100.0) - 1.0) * (1.0 - exp(-delay))
    };
    let listener = {
        let half = (RO - 10.5 * (WEPL + 7.0) * pow(2.0 * delay + 1.0, -0.25)) / 2.0;
        half + sqrt(half * half + 169.0)
    };
    let absolute = if delay <= 100.0 {
        0.0
    } else {
        let x = log10(delay / 100.0) / log10(2.0);
        let sixth = |value: f64| pow(1.0 + pow(value, 6.0), 1.0 / 6.0);
        25.0 * (sixth(x) - 3.0 * sixth(x / 3.0) + 2.0)
    };
    talker + listener + absolute
}

/// Computes the mean opinion score of a rating, from 1 to 4.5.
pub fn opinion(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    (1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6).max(1.0)
}

/// Finds the fixed playout delay with the best rating. Returns that rating, that delay from mouth to ear in
/// seconds, and the fraction of packets lost or late, for a flow with the one-way delays `delays` (ps) and
/// `lost` lost packets. Returns `None` if no packet arrived.
pub fn best<const SUB: usize>(codec: &Codec, delays: &Histogram<SUB>, lost: u64) -> Option<(f64, f64, f64)> {
    let arrived = delays.count();
    let sent = (arrived + lost) as f64;
    let mut best: Option<(f64, f64, f64)> = None;
    for (playout, share) in delays.cdf(1000) {
        let missing = (1.0 - share * arrived as f64 / sent).clamp(0.0, 1.0);
        let delay = playout as f64 / 1e12 + codec.framing;
        let rating = rating(codec, delay, missing);
        if best.is_none_or(|(known, ..)| rating > known) {
            best = Some((rating, delay, missing));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(what: &str, value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{what}: {value}, expected {expected}");
    }

    #[test]
    fn the_defaults_give_what_the_recommendation_says() {
        // G.107, clause 7.7: with all parameters at their defaults R is 93.2; annex B: a score of 4.41.
        let g711 = codec("g711").expect("known");
        near("R", rating(g711, 0.0, 0.0), 93.2, 0.05);
        near("MOS", opinion(93.2), 4.41, 0.005);
        // The table prints two digits, rounded inconsistently.
        for (r, mos) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            near("MOS of the table in G.107 annex B", opinion(r), mos, 0.01);
        }
        near("no opinion", opinion(-1.0) + opinion(0.0), 2.0, 0.0);
        near("the best", opinion(101.0), 4.5, 0.0);
    }

    /// Id is about 0.024 d + 0.11 (d - 177.3) H(d - 177.3): Cole and Rosenbluth, Computer Communication
    /// Review 31, 2001. The two straight lines are fitted to delays below 400 ms; there they lie 3 above
    /// the curve.
    #[test]
    fn delay_costs_what_is_known() {
        for delay in [25.0_f64, 50.0, 100.0, 150.0, 200.0, 300.0] {
            let known = 0.024 * delay + 0.11 * (delay - 177.3).max(0.0);
            near(&format!("Id at {delay} ms"), delay_impairment(delay) - delay_impairment(0.0), known, 2.5);
        }
        let worse = [0.0, 50.0, 100.0, 101.0, 200.0, 400.0, 1000.0].map(delay_impairment);
        assert!(worse.windows(2).all(|pair| pair[0] <= pair[1]), "{worse:?}");
    }

    #[test]
    fn loss_costs_what_the_formula_says() {
        // (95 - 0) * 2 / (2 + 25.1) = 7.01; G.729A: 11 + 84 * 2 / (2 + 19) = 19.
        let [g711, g729] = ["g711", "g729"].map(|name| codec(name).expect("known"));
        near("G.711", rating(g711, 0.0, 0.0) - rating(g711, 0.0, 0.02), 95.0 * 2.0 / 27.1, 1e-9);
        near("G.729", rating(g711, 0.0, 0.0) - rating(g729, 0.0, 0.02), 19.0, 1e-9);
        assert!(rating(g711, 10.0, 1.0) >= 0.0);
    }

    #[test]
    fn playout_waits_for_what_is_worth_it() {
        let g711 = codec("g711").expect("known");
        let mut delays = Histogram::<512>::new();
        (0..99).for_each(|_| delays.record(20_000_000_000));
        delays.record(2_000_000_000_000);
        let (score, delay, loss) = best(g711, &delays, 0).expect("packets");
        // One packet in a hundred is two seconds late: the playout delay excludes it.
        near("delay", delay, 0.040, 1e-4);
        near("loss", loss, 0.01, 1e-9);
        near("R", score, rating(g711, 0.040, 0.01), 0.01);
        let (_, _, missing) = best(g711, &delays, 100).expect("packets");
        near("lost and late", missing, 101.0 / 200.0, 1e-9);
        assert_eq!(best(g711, &Histogram::<512>::new(), 5), None);
    }
}
