//! What an oracle found: the bound, the worst that was measured, and whether it holds.

use num_rational::BigRational;
use schemars::JsonSchema;
use serde::Serialize;

/// What a statement is measured against.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Against {
    /// Nothing may differ at all.
    Exact,
    /// A proven bound, and the share of it that the traffic must reach for the trials to mean something.
    Bound { sharp_from: f64 },
    /// What statistics, rounding or a model that leaves something out may differ by: chosen, not proven.
    Tolerance,
}

/// One statement of a theorem beside what was measured, over all trials.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// What was measured, in a few words.
    pub what: &'static str,
    /// The unit of `bound`, `tolerance` and `worst`; empty for a count or a ratio.
    pub unit: &'static str,
    /// The proven bound where it was come nearest to; null for a tolerance and an exact statement.
    pub bound: Option<f64>,
    /// The chosen tolerance where it was come nearest to; null for a bound and an exact statement.
    pub tolerance: Option<f64>,
    /// What was measured there.
    pub worst: f64,
    /// `worst` over `bound` or `tolerance`; null where nothing may differ at all.
    pub ratio: Option<f64>,
    /// The share of the bound that the traffic must reach for the trials to mean something; null without a bound.
    pub sharp_from: Option<f64>,
    /// How many values were compared.
    pub comparisons: u64,
    /// How many trials were made.
    pub trials: u32,
    /// Whether no trial went over the bound or tolerance, and nothing else went wrong.
    pub holds: bool,
    /// What went wrong first.
    pub why: Option<String>,
}

impl Finding {
    /// Whether anything was compared, and, of a bound, whether the traffic came near enough to try it.
    pub fn is_tried(&self) -> bool {
        let is_near = self.sharp_from.is_none_or(|least| self.ratio.is_some_and(|ratio| ratio >= least));
        self.comparisons > 0 && is_near
    }

    /// What stands in the place of findings where the discipline itself broke down.
    pub fn broken(why: String, trials: u32) -> Self {
        let worst = Worst { why: Some(why), ..Worst::exact("runs to its end", "") };
        worst.finding(trials)
    }
}

/// The worst of all that was measured for one statement.
///
/// There are three kinds of statements, and a constructor for each: a proven [bound](Worst::bound), which must say how
/// near the traffic comes to it; a [tolerance](Worst::tolerance), which is chosen; an [exact](Worst::exact) statement.
#[derive(Clone, Debug)]
#[allow(clippy::struct_field_names, reason = "one of its fields is the worst value")]
pub struct Worst {
    what: &'static str,
    unit: &'static str,
    against: Against,
    limit: f64,
    worst: f64,
    ratio: Option<f64>,
    comparisons: u64,
    why: Option<String>,
}

impl Worst {
    /// A proven bound. The trials mean something where they reach the share `sharp_from` of it, above 0 and at most 1.
    /// `unit` is that of the numbers as they are shown.
    pub fn bound(what: &'static str, unit: &'static str, sharp_from: f64) -> Self {
        let mut worst = Self::new(what, unit, Against::Bound { sharp_from });
        worst.require(sharp_from > 0.0 && sharp_from <= 1.0, || {
            format!("a bound must be tried: {sharp_from} is no share of it that traffic can reach")
        });
        worst
    }

    /// A chosen tolerance: for statistics, rounding, and models that leave something out.
    pub fn tolerance(what: &'static str, unit: &'static str) -> Self {
        Self::new(what, unit, Against::Tolerance)
    }

    /// An exact statement: every value that is compared must be at most 0.
    pub fn exact(what: &'static str, unit: &'static str) -> Self {
        Self::new(what, unit, Against::Exact)
    }

    fn new(what: &'static str, unit: &'static str, against: Against) -> Self {
        Self { what, unit, against, limit: 0.0, worst: 0.0, ratio: None, comparisons: 0, why: None }
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
        // A value that is no number is never worse: it must not go unseen.
        if is_worse || measured.is_nan() {
            (self.worst, self.limit, self.ratio) = (measured, limit, ratio);
        }
    }

    /// The finding over this many trials.
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
        let mut worst = Worst::bound("what", "B", 0.5);
        worst.at_most(30, 100, 10);
        worst.at_most(80, 100, 10);
        worst.at_most(10, 100, 10);
        let good = worst.clone().finding(3);
        assert!(good.holds && good.is_tried());
        assert_eq!((good.worst, good.bound, good.tolerance, good.ratio), (8.0, Some(10.0), None, Some(0.8)));
        worst.at_most(101, 100, 10);
        worst.at_most(0, 100, 10);
        let bad = worst.finding(5);
        assert!(!bad.holds);
        assert_eq!(bad.why.as_deref(), Some("what is 10.1, over 10 B"));
    }

    #[test]
    fn a_bound_that_traffic_keeps_away_from_is_hardly_tried() {
        let mut far = Worst::bound("what", "", 0.5);
        far.real(0.4, 1.0);
        assert!(far.clone().finding(1).holds && !far.clone().finding(1).is_tried());
        far.real(0.5, 1.0);
        assert!(far.finding(1).is_tried());
        // A tolerance is not a matter of nearness, but nothing holds by not being compared.
        let mut close = Worst::tolerance("what", "");
        assert!(!close.clone().finding(1).is_tried());
        close.near(1.0, 1.0, 0.1);
        let close = close.finding(1);
        assert!(close.is_tried());
        assert_eq!((close.bound, close.tolerance, close.sharp_from), (None, Some(0.1), None));
        assert!(!Worst::bound("what", "", 0.5).finding(1).is_tried());
        assert!(!Worst::exact("what", "").finding(1).is_tried());
        // Nor can a bound be stated that need not be tried.
        assert!(!Worst::bound("what", "", 0.0).finding(1).holds);
    }

    #[test]
    fn what_is_no_number_does_not_hold() {
        let mut worst = Worst::tolerance("what", "");
        worst.near(0.0, 0.0, 0.1);
        assert!(!worst.finding(1).holds);
        let mut none = Worst::exact("what", "");
        none.none(0);
        assert_eq!(none.clone().finding(1).ratio, None);
        none.none(1);
        assert!(!none.finding(1).holds);
        let mut slack = Worst::exact("what", "");
        slack.at_most(1, 2, 1);
        assert!(!slack.finding(1).holds, "an exact statement has no slack");
    }
}
