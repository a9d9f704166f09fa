//! What an oracle found: the bound, the worst that was measured, and whether it holds.

use num_rational::BigRational;
use schemars::JsonSchema;
use serde::Serialize;

/// One statement of a theorem beside what was measured, over all trials.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// What was measured, in a few words.
    pub what: &'static str,
    /// The unit of `bound` and `worst`; empty for a count or a ratio.
    pub unit: &'static str,
    /// The bound where it was come nearest to.
    pub bound: f64,
    /// What was measured there.
    pub worst: f64,
    /// `worst` over `bound`; null where the bound is 0: nothing may differ at all.
    pub ratio: Option<f64>,
    /// How near the bound the traffic must come for the trials to mean something; 0 for an exact statement.
    pub sharp_from: f64,
    /// How many trials were made.
    pub trials: u32,
    /// Whether no trial went over the bound, and nothing else went wrong.
    pub holds: bool,
    /// What went wrong first.
    pub why: Option<String>,
}

impl Finding {
    /// Whether the traffic came near enough to the bound to try it.
    pub fn is_sharp(&self) -> bool {
        self.ratio.is_none_or(|ratio| ratio >= self.sharp_from)
    }

    /// What stands in the place of findings where the discipline itself broke down.
    pub fn broken(why: String, trials: u32) -> Self {
        let worst = Worst { why: Some(why), ..Worst::new("runs to its end", "") };
        worst.finding(trials)
    }
}

/// The worst of all that was measured for one statement.
#[derive(Clone, Debug)]
#[allow(clippy::struct_field_names, reason = "one of its fields is the worst value")]
pub struct Worst {
    what: &'static str,
    unit: &'static str,
    bound: f64,
    worst: f64,
    ratio: Option<f64>,
    sharp_from: f64,
    why: Option<String>,
}

impl Worst {
    /// Nothing measured yet. `unit` is that of the numbers as they are shown.
    pub fn new(what: &'static str, unit: &'static str) -> Self {
        Self { what, unit, bound: 0.0, worst: 0.0, ratio: None, sharp_from: 0.0, why: None }
    }

    /// The trials mean something where they reach this share of the bound.
    #[must_use]
    pub fn sharp_from(mut self, ratio: f64) -> Self {
        self.sharp_from = ratio;
        self
    }

    /// `measured` may be at most `bound`; both are shown divided by `scale`. Exact.
    pub fn at_most(&mut self, measured: i128, bound: i128, scale: u64) {
        let scale = scale as f64;
        let (measured_f, bound_f) = (measured as f64 / scale, bound as f64 / scale);
        self.note(measured_f, bound_f, measured <= bound);
    }

    /// `measured` may be at most `bound`; shown as a share of it. Exact.
    pub fn share(&mut self, measured: i128, bound: i128) {
        self.note(measured as f64 / bound as f64, 1.0, measured <= bound);
    }

    /// `measured` may be at most `bound`. Exact.
    pub fn fraction(&mut self, measured: &BigRational, bound: &BigRational) {
        self.note(approximate(measured), approximate(bound), measured <= bound);
    }

    /// `measured` may be at most `bound`: for statistics and formulas on real numbers.
    pub fn real(&mut self, measured: f64, bound: f64) {
        self.note(measured, bound, measured <= bound);
    }

    /// `measured` may be off `theory` by at most the share `tolerance` of it.
    pub fn near(&mut self, measured: f64, theory: f64, tolerance: f64) {
        self.real((measured / theory - 1.0).abs(), tolerance);
    }

    /// `count` things must not be.
    pub fn none(&mut self, count: u64) {
        self.at_most(i128::from(count), 0, 1);
    }

    /// `holds` must be so; `why` says what is wrong where it is not.
    pub fn require(&mut self, holds: bool, why: impl FnOnce() -> String) {
        if !holds && self.why.is_none() {
            self.why = Some(why());
        }
    }

    /// Takes over what went wrong elsewhere, such as on a [`Link`](crate::link::Link).
    pub fn fault(&mut self, fault: Option<&String>) {
        if let Some(why) = fault {
            self.require(false, || why.clone());
        }
    }

    fn note(&mut self, measured: f64, bound: f64, holds: bool) {
        let (what, unit) = (self.what, self.unit);
        self.require(holds, || format!("{what} is {measured}, over {bound} {unit}"));
        let ratio = (bound > 0.0).then(|| measured / bound);
        let is_worse = match (self.ratio, ratio) {
            (Some(known), Some(new)) => new > known,
            (None, Some(_)) => true,
            (_, None) => self.ratio.is_none() && measured >= self.worst,
        };
        // A value that is no number is never worse: it must not go unseen.
        if is_worse || measured.is_nan() {
            (self.worst, self.bound, self.ratio) = (measured, bound, ratio);
        }
    }

    /// The finding over this many trials.
    pub fn finding(self, trials: u32) -> Finding {
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        Finding {
            what: self.what,
            unit: self.unit,
            bound: finite(self.bound),
            worst: finite(self.worst),
            ratio: self.ratio.map(finite),
            sharp_from: self.sharp_from,
            trials,
            holds: self.why.is_none(),
            why: self.why,
        }
    }
}

/// To a millionth: enough to show, whatever the size of the numbers.
fn approximate(value: &BigRational) -> f64 {
    let million = BigRational::from_integer(1_000_000.into());
    let millionths = (value * million).to_integer();
    millionths.to_string().parse::<f64>().unwrap_or(f64::INFINITY) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_kept_and_one_excess_is_enough() {
        let mut worst = Worst::new("what", "B").sharp_from(0.5);
        worst.at_most(30, 100, 10);
        worst.at_most(80, 100, 10);
        worst.at_most(10, 100, 10);
        let good = worst.clone().finding(3);
        assert!(good.holds && good.is_sharp());
        assert_eq!((good.worst, good.bound, good.ratio), (8.0, 10.0, Some(0.8)));
        worst.at_most(101, 100, 10);
        worst.at_most(0, 100, 10);
        let bad = worst.finding(5);
        assert!(!bad.holds);
        assert_eq!(bad.why.as_deref(), Some("what is 10.1, over 10 B"));
    }

    #[test]
    fn what_is_no_number_does_not_hold() {
        let mut worst = Worst::new("what", "");
        worst.near(0.0, 0.0, 0.1);
        assert!(!worst.finding(1).holds);
        let mut none = Worst::new("what", "");
        none.none(0);
        assert_eq!(none.clone().finding(1).ratio, None);
        none.none(1);
        assert!(!none.finding(1).holds);
    }
}
