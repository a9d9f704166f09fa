//! Fit: a candidate with the setting, and the traffic of others, that fit an observation best.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_scenario::Override;

use crate::candidates::{Candidate, LEAST_BUCKET, Setting};
use crate::estimate::Estimate;
use crate::line::{Line, Others};

/// Temper of the likelihood: the share of the features that is independent.
pub const TEMPER: f64 = 0.15;

/// Share of the rate below which others are none.
pub(crate) const LEAST_OTHERS: f64 = 0.01;

/// A candidate with the setting that fits best.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Candidate.
    pub candidate: &'static Candidate,
    /// Setting that fits best.
    pub setting: Setting,
    /// Rate of others in bit/s.
    pub others: f64,
    /// Length of others' frames, in bytes.
    pub length: u32,
    /// Sum of the misfits of all features.
    pub misfit: f64,
    /// The same sum for the odds, in which a feature that is met within its error counts one.
    pub evidence: f64,
    /// Sum of the logarithms of the variances that the candidate's own draws give the features, over that of
    /// their floors: what it does not commit itself to. Zero for lines without real packets.
    pub spread: f64,
    /// Number of features.
    pub count: usize,
    /// Index of the round with the flow that is missed most, and the mean misfit of that flow's features.
    pub worst: (usize, f64),
    /// Sum that a search makes least: the misfit and, if passes differ by real packets or drawn unknowns, the
    /// spread, so that a wide spread does not excuse a miss.
    pub cost: f64,
    /// Least and longest target delay in seconds that the arrivals allow; `None` before it is decided, or of
    /// a queue without a target.
    pub targets: Option<[f64; 2]>,
}

impl Fit {
    /// Creates a fit that is not weighed yet: `others` in bit/s, their frames of `length` bytes, and the
    /// number of features.
    pub fn new(
        candidate: &'static Candidate,
        setting: Setting,
        others: f64,
        length: u32,
        count: usize,
    ) -> Self {
        Self {
            candidate,
            setting,
            others,
            length,
            misfit: f64::INFINITY,
            evidence: f64::INFINITY,
            spread: 0.0,
            count,
            worst: (0, f64::INFINITY),
            cost: f64::INFINITY,
            targets: None,
        }
    }

    /// Returns the mean misfit of a feature: about 1 for the right queue.
    pub fn mean_misfit(&self) -> f64 {
        self.misfit / self.count.max(1) as f64
    }

    /// Returns the traffic of others.
    pub fn of_others(&self) -> Others {
        Others { rate: self.others, length: self.length }
    }

    /// Returns the logarithm of the likelihood, up to a constant. Each parameter costs what it may gain by
    /// chance.
    pub(crate) fn log_likelihood(&self) -> f64 {
        -0.5 * TEMPER * (self.evidence + self.spread) - self.candidate.unknown.len() as f64
    }
}

/// Returns the rate of others that explains the goodput in excess, if the line has `rate`: in one queue they
/// have their part of what was offered; beside a queue for each flow, the rest.
pub(crate) fn others(estimate: &Estimate, candidate: &Candidate, rate: f64) -> f64 {
    let Estimate { goodput, sent_rate, .. } = *estimate;
    let others = if candidate.is_fair { rate - goodput } else { sent_rate * (rate / goodput - 1.0) };
    if others < LEAST_OTHERS * rate { 0.0 } else { others.min(0.7 * rate) }
}

/// True if the rate of others does not follow from the goodput: a bucket's credit hides it.
pub(crate) fn is_free(candidate: &Candidate) -> bool {
    candidate.has_bucket && !candidate.is_fair
}

/// A scenario needs a flow; a pass sends the probe instead.
const PLACEHOLDER: &str =
    "flow.probe = { from = \"sender\", to = \"receiver\", size = \"142B\", gap = \"1s\" }\n";

/// Builds the line that a candidate's scenario describes.
pub fn line(candidate: &Candidate, setting: &Setting) -> Option<Line> {
    let text = format!("duration = \"1s\"\n{PLACEHOLDER}{}", candidate.to_toml(setting, 0.0));
    let files = BTreeMap::<String, Arc<[u8]>>::new();
    let no_overrides: &[Override] = &[];
    let scenario = lockgate_scenario::read(&text, "candidate.toml", &files, no_overrides).ok()?;
    Line::of(&scenario, "line:receiver")
}

/// Returns the odds of the first fit against all others together. Any queue may stand behind a bucket of few
/// frames, as below a class of `htb`, and of the candidates only a shaper has it: it tells a shaper from the
/// queue without one, whose likelihood counts against the rest.
pub fn odds(fits: &[Fit]) -> f64 {
    let Some(best) = fits.first() else { return 0.0 };
    let is_plain = |fit: &Fit| best.candidate.simpler.contains(&fit.candidate.name);
    let has_small = is_free(best.candidate) && (best.setting.bucket().0 as f64) < LEAST_BUCKET;
    let plain = fits.iter().find(|fit| has_small && is_plain(fit)).unwrap_or(best);
    let others = fits[1..].iter().map(|fit| {
        let own = if is_plain(fit) { best } else { plain };
        libm::exp((fit.log_likelihood() - own.log_likelihood()).clamp(-700.0, 700.0))
    });
    1.0 / others.sum::<f64>().max(1e-300)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(name: &str, bucket: f64, evidence: f64) -> Fit {
        let setting = Setting {
            rate: 1e6,
            peak: 1e6,
            wait: 0.5,
            in_packets: false,
            is_rfc: false,
            bucket,
            least_bucket: 1600.0,
            target: 0.005,
            interval: 0.1,
            probability: 0.02,
            low: 0.3,
            loss: 0.0,
        };
        let candidate = Candidate::named(name).expect("a candidate");
        Fit { evidence, ..Fit::new(candidate, setting, 0.0, 1442, 100) }
    }

    /// Below a class of `htb`, RED beside a shaper of two frames: the bucket is that of the class.
    #[test]
    fn a_small_bucket_does_not_tell_a_shaper_from_a_law() {
        let all = |bucket: f64, red: f64| {
            [fit("shaper", bucket, 100.0), fit("red", bucket, red), fit("fifo", bucket, 220.0)]
        };
        assert!(odds(&all(4000.0, 190.0)) < 1.0);
        assert!(odds(&all(4000.0, 400.0)) > 1000.0);
        assert!(odds(&all(20_000.0, 190.0)) > 100.0);
    }
}
