//! Findings of an oracle: the bound, the worst measured value, and the verdict.

use num_rational::BigRational;
use schemars::JsonSchema;
use serde::Serialize;

/// The limit that a statement is measured against.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Against {
    /// Equality: no difference is allowed.
    Exact,
    /// A proven bound, and the fraction of it that the traffic must reach for the trials to be meaningful.
    Bound { sharp_from: f64 },
    /// A chosen tolerance for statistics, rounding or an incomplete model; not proven.
    Tolerance,
}

/// One statement of a theorem with its measurements, over all trials.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Measured quantity, in a few words.
    pub what: &'static str,
    /// Unit of `bound`, `tolerance` and `worst`; empty for a count or a ratio.
    pub unit: &'static str,
    /// Proven bound at the worst measurement; null for a tolerance and an exact statement.
    pub bound: Option<f64>,
    /// Chosen tolerance at the worst measurement; null for a bound and an exact statement.
    pub tolerance: Option<f64>,
    /// Measurement measurement: the one closest to, or furthest beyond, its limit.
    pub worst: f64,
    /// `worst` divided by `bound` or `tolerance`; null for an exact statement.
    pub ratio: Option<f64>,
    /// Fraction of the bound that the traffic must reach for the trials to be meaningful; null without a
    /// bound.
    pub sharp_from: Option<f64>,
    /// Number of values compared.
    pub comparisons: u64,
    /// Number of trials.
    pub trials: u32,
    /// True if no trial exceeded the bound or tolerance, and there was no other fault.
    pub holds: bool,
    /// First fault.
    pub why: Option<String>,
}

impl Finding {
    /// Returns true if values were compared and, for a bound, if the traffic came close enough to test it.
    pub fn is_tried(&self) -> bool {
        let is_near = self.sharp_from.is_none_or(|least| self.ratio.is_some_and(|ratio| ratio >= least));
        self.comparisons > 0 && is_near
    }

    /// Creates the finding for a discipline that panicked, instead of findings of the oracle.
    pub fn broken(why: String, trials: u32) -> Self {
        let worst = Measurement { why: Some(why), ..Measurement::exact("runs to its end", "") };
        worst.finding(trials)
    }
}

/// Accumulates the worst measurement of one statement.
///
/// There are three kinds of statements, each with a constructor: a proven [bound](Measurement::bound), which
/// states how close to it the traffic comes; a chosen [tolerance](Measurement::tolerance); an
/// [exact](Measurement::exact) statement.
#[derive(Clone, Debug)]
pub struct Measurement {
    what: &'static str,
    unit: &'static str,
    against: Against,
    limit: f64,
    worst: f64,
    ratio: Option<f64>,
    comparisons: u64,
    why: Option<String>,
}

impl Measurement {
    /// Creates a statement with a proven bound. The trials are meaningful if they reach the fraction
    /// `sharp_from` of it, above 0 and at most 1. `unit` is that of the displayed numbers.
    pub fn bound(what: &'static str, unit: &'static str, sharp_from: f64) -> Self {
        let mut worst = Self::new(what, unit, Against::Bound { sharp_from });
        worst.require(sharp_from > 0.0 && sharp_from <= 1.0, || {
            format!("a bound must be tried: {sharp_from} is not a share of it that traffic can reach")
        });
        worst
    }

    /// Creates a statement with a chosen tolerance: for statistics, rounding, and incomplete models.
    pub fn tolerance(what: &'static str, unit: &'static str) -> Self {
        Self::new(what, unit, Against::Tolerance)
    }

    /// Creates an exact statement: every value compared must be at most 0.
    pub fn exact(what: &'static str, unit: &'static str) -> Self {
        Self::new(what, unit, Against::Exact)
    }

    fn new(what: &'static str, unit: &'static str, against: Against) -> Self {
        Self { what, unit, against, limit: 0.0, worst: 0.0, ratio: None, comparisons: 0, why: None }
    }

    /// Requires `measured` to be at most `bound`, exactly; both are displayed divided by `scale`.
    pub fn require_at_most(&mut self, measured: i128, bound: i128, scale: u64) {
        let scale = scale as f64;
        let (measured_f, bound_f) = (measured as f64 / scale, bound as f64 / scale);
        self.note(measured_f, bound_f, measured <= bound);
    }

    /// Requires `measured` to be at most `bound`, exactly; displayed as a fraction of it.
    pub fn require_share(&mut self, measured: i128, bound: i128) {
        self.note(measured as f64 / bound as f64, 1.0, measured <= bound);
    }

    /// Requires `measured` to be at most `bound`, exactly.
    pub fn require_fraction(&mut self, measured: &BigRational, bound: &BigRational) {
        self.note(approximate(measured), approximate(bound), measured <= bound);
    }

    /// Requires `measured` to be at most `bound`: for statistics and formulas on real numbers.
    pub fn require_real(&mut self, measured: f64, bound: f64) {
        self.note(measured, bound, measured <= bound);
    }

    /// Requires `measured` to differ from `theory` by at most the fraction `tolerance` of it.
    pub fn require_near(&mut self, measured: f64, theory: f64, tolerance: f64) {
        self.require_real((measured / theory - 1.0).abs(), tolerance);
    }

    /// Requires `count`, a number of violations, to be zero.
    pub fn require_zero(&mut self, count: u64) {
        self.require_at_most(i128::from(count), 0, 1);
    }

    /// Requires `holds`; otherwise `why` describes the fault.
    pub fn require(&mut self, holds: bool, why: impl FnOnce() -> String) {
        if !holds && self.why.is_none() {
            self.why = Some(why());
        }
    }

    /// Takes over a fault, such as that of a simulated link.
    pub fn fault(&mut self, fault: Option<&String>) {
        if let Some(why) = fault {
            self.require(false, || why.clone());
        }
    }

    fn note(&mut self, measured: f64, limit: f64, holds: bool) {
        let (what, unit) = (self.what, self.unit);
        self.comparisons += 1;
        self.require(holds, || format!("{what} is {measured}, over {limit} {unit}"));
        if self.against == Against::Exact {
            self.require(limit == 0.0, || format!("{what} is exact, and was compared with {limit} {unit}"));
        }
        let ratio = (limit > 0.0).then(|| measured / limit);
        let is_worse = match (self.ratio, ratio) {
            (Some(known), Some(new)) => new > known,
            (None, Some(_)) => true,
            (_, None) => self.ratio.is_none() && measured >= self.worst,
        };
        // NaN compares as not worse, but must be recorded.
        if is_worse || measured.is_nan() {
            (self.worst, self.limit, self.ratio) = (measured, limit, ratio);
        }
    }

    /// Returns the finding over this many trials.
    pub fn finding(self, trials: u32) -> Finding {
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        let limit = finite(self.limit);
        let (bound, tolerance, sharp_from) = match self.against {
            Against::Exact => (None, None, None),
            Against::Bound { sharp_from } => (Some(limit), None, Some(sharp_from)),
            Against::Tolerance => (None, Some(limit), None),
        };
        Finding {
            what: self.what,
            unit: self.unit,
            bound,
            tolerance,
            worst: finite(self.worst),
            ratio: self.ratio.map(finite),
            sharp_from,
            comparisons: self.comparisons,
            trials,
            holds: self.why.is_none(),
            why: self.why,
        }
    }
}

/// Converts to a real number, truncated to a millionth: sufficient for display, whatever the size of the
/// numbers.
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
        let mut worst = Measurement::bound("what", "B", 0.5);
        worst.require_at_most(30, 100, 10);
        worst.require_at_most(80, 100, 10);
        worst.require_at_most(10, 100, 10);
        let good = worst.clone().finding(3);
        assert!(good.holds && good.is_tried());
        assert_eq!((good.worst, good.bound, good.tolerance, good.ratio), (8.0, Some(10.0), None, Some(0.8)));
        worst.require_at_most(101, 100, 10);
        worst.require_at_most(0, 100, 10);
        let bad = worst.finding(5);
        assert!(!bad.holds);
        assert_eq!(bad.why.as_deref(), Some("what is 10.1, over 10 B"));
    }

    #[test]
    fn a_bound_that_traffic_keeps_away_from_is_hardly_tried() {
        let mut far = Measurement::bound("what", "", 0.5);
        far.require_real(0.4, 1.0);
        assert!(far.clone().finding(1).holds && !far.clone().finding(1).is_tried());
        far.require_real(0.5, 1.0);
        assert!(far.finding(1).is_tried());
        // A tolerance need not be approached, but a statement without comparisons does not hold.
        let mut close = Measurement::tolerance("what", "");
        assert!(!close.clone().finding(1).is_tried());
        close.require_near(1.0, 1.0, 0.1);
        let close = close.finding(1);
        assert!(close.is_tried());
        assert_eq!((close.bound, close.tolerance, close.sharp_from), (None, Some(0.1), None));
        assert!(!Measurement::bound("what", "", 0.5).finding(1).is_tried());
        assert!(!Measurement::exact("what", "").finding(1).is_tried());
        // A bound cannot be stated without a fraction to reach.
        assert!(!Measurement::bound("what", "", 0.0).finding(1).holds);
    }

    #[test]
    fn what_is_no_number_does_not_hold() {
        let mut worst = Measurement::tolerance("what", "");
        worst.require_near(0.0, 0.0, 0.1);
        assert!(!worst.finding(1).holds);
        let mut none = Measurement::exact("what", "");
        none.require_zero(0);
        assert_eq!(none.clone().finding(1).ratio, None);
        none.require_zero(1);
        assert!(!none.finding(1).holds);
        let mut slack = Measurement::exact("what", "");
        slack.require_at_most(1, 2, 1);
        assert!(!slack.finding(1).holds, "an exact statement has no slack");
    }
}
