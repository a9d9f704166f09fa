//! One compared quantity: both values, their uncertainty, and the verdict.

use schemars::JsonSchema;
use serde::Serialize;

/// Standard errors beyond the tolerance from which a quantity differs: a chance of 1 % in the normal law,
/// both signs together.
const CERTAIN: f64 = 2.58;

/// The verdict on one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within its tolerance.
    Holds,
    /// Beyond its tolerance for certain, but within a known deviation.
    Known,
    /// Beyond its tolerance by less than 2.58 standard errors: one run of the kernel does not decide it.
    NotDecidable,
    /// Beyond its tolerance, and any known deviation, for certain.
    Differs,
}

/// One quantity of a flow, or of a whole run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Line {
    /// The flow; `all` for the run.
    pub flow: String,
    /// Quantity.
    pub quantity: &'static str,
    /// Unit; empty for a fraction or a count.
    pub unit: &'static str,
    /// Value of the kernel.
    pub kernel: f64,
    /// Value of the simulator: the mean of all simulated runs.
    pub ours: f64,
    /// Standard deviation of one simulated run. Runs of the kernel scatter as much.
    pub spread: f64,
    /// Standard error of the difference, in the unit of `difference`: of one run of the kernel and the mean
    /// of ours; at least that of a draw of as many packets.
    pub standard_error: f64,
    /// Simulator's value minus the kernel's; divided by the kernel's if `relative`.
    pub difference: f64,
    /// Limit on the magnitude of the difference.
    pub tolerance: f64,
    /// True if difference, standard error and tolerance are fractions of the kernel's value.
    pub relative: bool,
    /// Verdict.
    pub verdict: Verdict,
    /// Known deviation, if the file states one.
    pub known_to: Option<f64>,
    /// Reason for the known deviation.
    pub known: Option<String>,
}

/// Limit on the magnitude of a difference.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tolerance {
    /// A fraction of the kernel's value; the difference itself if that is zero.
    Share(f64),
    /// A difference.
    Difference(f64),
}

/// Scatter that a value has at least, as a number of packets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scatter {
    /// Scatter of the simulated runs alone.
    Runs,
    /// A share of this number of packets.
    ShareOf(f64),
    /// A number of packets, which come together more than independent ones.
    Count,
}

impl Scatter {
    /// Returns the least standard error of a difference of two such values.
    fn least(self, kernel: f64, ours: f64) -> f64 {
        let middle = f64::midpoint(kernel, ours);
        match self {
            Self::ShareOf(packets) if packets > 0.0 => {
                libm::sqrt((middle * (1.0 - middle)).max(0.0) / packets)
            }
            Self::Runs | Self::ShareOf(_) => 0.0,
            Self::Count => 1.5 * libm::sqrt(middle.max(0.0)),
        }
    }
}

/// Returns the mean of the values, and the standard deviation of one.
fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    match values {
        [] => return (0.0, 0.0),
        // Equal values have no spread, not that of rounding.
        [first, others @ ..] if others.iter().all(|other| other.total_cmp(first).is_eq()) => {
            return (*first, 0.0);
        }
        _ => {}
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    (mean, libm::sqrt(squares / (count - 1.0)))
}

impl Line {
    /// Compares the value of the kernel with those of the simulated runs.
    pub(super) fn new(
        flow: &str,
        (quantity, unit): (&'static str, &'static str),
        kernel: f64,
        ours: &[f64],
        scatter: Scatter,
        tolerance: Tolerance,
    ) -> Self {
        let (mean, spread) = mean_and_spread(ours);
        let of_mean = libm::sqrt(1.0 + 1.0 / ours.len().max(1) as f64);
        let error = (spread * of_mean).max(scatter.least(kernel, mean));
        let (relative, tolerance) = match tolerance {
            Tolerance::Share(share) => (true, share),
            Tolerance::Difference(difference) => (false, difference),
        };
        let scale = if relative && kernel != 0.0 { kernel.abs() } else { 1.0 };
        let difference = (mean - kernel) / scale;
        let standard_error = error / scale;
        let verdict = if difference.abs() <= tolerance {
            Verdict::Holds
        } else if difference.abs() - CERTAIN * standard_error > tolerance {
            Verdict::Differs
        } else {
            Verdict::NotDecidable
        };
        Self {
            flow: flow.to_owned(),
            quantity,
            unit,
            kernel,
            ours: mean,
            spread,
            standard_error,
            difference,
            tolerance,
            relative,
            verdict,
            known_to: None,
            known: None,
        }
    }

    /// States a known deviation.
    pub(super) fn explain(&mut self, most: f64, why: &str) {
        (self.known_to, self.known) = (Some(most), Some(why.to_owned()));
        if self.verdict == Verdict::Differs && self.difference.abs() <= most {
            self.verdict = Verdict::Known;
        }
    }

    /// Returns the part of the difference beyond the tolerance in standard errors; `None` if nothing varies.
    pub fn deviations(&self) -> Option<f64> {
        let beyond = self.difference.abs() - self.tolerance;
        (self.standard_error > 0.0).then(|| beyond / self.standard_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(kernel: f64, ours: &[f64], scatter: Scatter, tolerance: Tolerance) -> Verdict {
        Line::new("f", ("quantity", ""), kernel, ours, scatter, tolerance).verdict
    }

    #[test]
    fn a_verdict_counts_the_standard_error_beyond_the_tolerance() {
        let share = Tolerance::Share(0.1);
        assert_eq!(verdict(100.0, &[110.0], Scatter::Runs, share), Verdict::Holds);
        assert_eq!(verdict(100.0, &[110.1], Scatter::Runs, share), Verdict::Differs);
        // A mean of 120 and a spread of 2 sqrt(2): a standard error of 2 sqrt(3), 10 are 2.9 of it.
        assert_eq!(verdict(100.0, &[118.0, 122.0], Scatter::Runs, share), Verdict::Differs);
        // A spread of 3 sqrt(2): 10 are 1.9 standard errors.
        assert_eq!(verdict(100.0, &[117.0, 123.0], Scatter::Runs, share), Verdict::NotDecidable);
        // A kernel's value of zero has no share.
        assert_eq!(verdict(0.0, &[0.1], Scatter::Runs, share), Verdict::Holds);
        assert_eq!(verdict(0.0, &[0.2], Scatter::Runs, share), Verdict::Differs);
    }

    #[test]
    fn shares_and_counts_scatter_even_if_the_runs_do_not() {
        // sqrt(0.2 * 0.8 / 1600) is 0.01: 0.03 are 0.02 beyond the tolerance.
        let loss = Tolerance::Difference(0.01);
        assert_eq!(verdict(0.185, &[0.215], Scatter::ShareOf(1_600.0), loss), Verdict::NotDecidable);
        assert_eq!(verdict(0.18, &[0.22], Scatter::ShareOf(1_600.0), loss), Verdict::Differs);
        assert_eq!(verdict(0.18, &[0.22], Scatter::ShareOf(0.0), loss), Verdict::Differs);
        // 1.5 sqrt(100) is 15: 2.58 of it and a tolerance of 10 % are 48.1 of 94.
        let count = |ours: f64| verdict(94.0, &[ours], Scatter::Count, Tolerance::Share(0.1));
        assert_eq!((count(106.0), count(180.0)), (Verdict::NotDecidable, Verdict::Differs));
    }

    #[test]
    fn equal_runs_have_no_spread() {
        let line = Line::new("f", ("loss", ""), 0.1, &[0.1; 16], Scatter::Runs, Tolerance::Difference(0.0));
        assert_eq!((line.ours, line.spread, line.verdict), (0.1, 0.0, Verdict::Holds));
        assert_eq!(line.deviations(), None);
    }

    #[test]
    fn a_known_deviation_is_for_what_differs() {
        let line = |ours: f64| {
            let mut line =
                Line::new("f", ("loss", ""), 0.1, &[ours], Scatter::Runs, Tolerance::Difference(0.01));
            line.explain(0.05, "a reason");
            line.verdict
        };
        assert_eq!([line(0.1), line(0.14), line(0.16)], [Verdict::Holds, Verdict::Known, Verdict::Differs]);
    }
}
