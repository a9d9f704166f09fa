//! Verdicts: claims judged by our values.

use serde::Serialize;

use super::file::{Claim, Order};

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The values keep the bounds.
    Holds,
    /// Holds only with a free parameter whose value was chosen for it.
    HoldsFitted,
    /// A value is out of bounds, or missing.
    DoesNotHold,
    /// The paper does not give what is needed to decide it.
    NotDecidable,
}

impl Verdict {
    /// True if the values keep the bounds.
    pub fn holds(self) -> bool {
        matches!(self, Self::Holds | Self::HoldsFitted)
    }

    /// Returns the verdict in words, with a sign that does not need colour.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "✓ holds",
            Self::HoldsFitted => "✓ holds, fitted",
            Self::DoesNotHold => "✗ does not hold",
            Self::NotDecidable => "· not decidable",
        }
    }
}

/// Claim with our values.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedClaim {
    /// The claim.
    #[serde(flatten)]
    pub claim: Claim,
    /// Values of the simulation, each with its combination's label; null if nothing was observed.
    pub values: Vec<(String, f64)>,
    /// Verdict by the simulation.
    pub verdict: Verdict,
    /// Verdict with a fitted value instead of the paper's own, if one was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// Verdict by real packets, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<OnPackets>,
}

/// Verdict on a claim with a fitted value in place of the one that the paper states.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// Parameter and value, such as `pace 250ms`.
    pub at: String,
    /// Values of the simulation, each with its combination's label.
    pub values: Vec<(String, f64)>,
    /// Verdict by these values.
    pub verdict: Verdict,
}

/// Values of a claim on real packets, in the paper's time, and the limits that their runs exceed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    pub(crate) values: Vec<(String, f64)>,
    pub(crate) outside: Vec<String>,
}

/// Verdict by real packets.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum OnPackets {
    /// None, with the reason.
    Not {
        /// Reason.
        why: String,
    },
    /// Values and their verdict.
    Judged {
        /// Values in the paper's time, if the runs were scaled.
        values: Vec<(String, f64)>,
        /// Verdict by these values.
        verdict: Verdict,
        /// Reasons why its runs are outside the fidelity limits; empty if they are within.
        outside: Vec<String>,
    },
}

fn judge(claim: &Claim, values: &[(String, f64)]) -> Verdict {
    if claim.undecidable.is_some() {
        Verdict::NotDecidable
    } else if !values.is_empty() && fits(claim, values) {
        if claim.fitted.is_empty() { Verdict::Holds } else { Verdict::HoldsFitted }
    } else {
        Verdict::DoesNotHold
    }
}

/// Formats values for readers: all if there are few, otherwise the worst.
fn shown(claim: &Claim, values: &[(String, f64)]) -> String {
    match values {
        [(_, value)] => number(*value),
        values if values.len() <= 6 => {
            values.iter().map(|(_, value)| number(*value)).collect::<Vec<_>>().join(", ")
        }
        values => {
            let worst = values.iter().enumerate().max_by(|(a, left), (b, right)| {
                excess(claim, *a, left.1).total_cmp(&excess(claim, *b, right.1))
            });
            worst.map_or_else(String::new, |(_, (label, value))| {
                let which = if label.is_empty() { String::new() } else { format!(" ({label})") };
                format!("worst of {}: {}{which}", values.len(), number(*value))
            })
        }
    }
}

impl JudgedClaim {
    /// Judges a claim by the values of the simulation.
    pub(crate) fn new(claim: &Claim, values: Vec<(String, f64)>) -> Self {
        let verdict = judge(claim, &values);
        Self { claim: claim.clone(), values, verdict, beside: None, live: None }
    }

    /// Adds the verdict by real packets, or the reason why there is none.
    pub(crate) fn with_live(mut self, seen: Result<Packets, String>) -> Self {
        self.live = Some(match seen {
            Err(why) => OnPackets::Not { why },
            Ok(Packets { values, outside }) => {
                OnPackets::Judged { verdict: judge(&self.claim, &values), values, outside }
            }
        });
        self
    }

    /// True if the command must fail: the claim is required and does not hold in the simulation, or does not
    /// hold on real packets within their fidelity limits and without a known difference that allows it.
    pub fn fails(&self) -> bool {
        let denied = match &self.live {
            Some(OnPackets::Judged { verdict: Verdict::DoesNotHold, outside, values }) => {
                outside.is_empty() && !self.is_exempt(values)
            }
            _ => false,
        };
        self.claim.required && (self.verdict == Verdict::DoesNotHold || denied)
    }

    /// True if a known difference allows these values of real packets.
    fn is_exempt(&self, values: &[(String, f64)]) -> bool {
        let difference = self.claim.live_differs.as_ref();
        difference
            .and_then(|difference| difference.exemption(&self.claim))
            .is_some_and(|claim| judge(&claim, values).holds())
    }

    /// Compares the two verdicts; `None` if one of them is missing or undecided.
    pub fn agree(&self) -> Option<bool> {
        match &self.live {
            Some(OnPackets::Judged { verdict, .. }) if self.verdict != Verdict::NotDecidable => {
                Some(*verdict == self.verdict)
            }
            _ => None,
        }
    }

    /// Returns both verdicts in words.
    pub fn words(&self) -> String {
        let words = match (self.agree(), self.verdict) {
            (Some(false), verdict) if verdict.holds() => "✗ simulation only",
            (Some(false), _) => "✗ live only",
            (_, verdict) => verdict.words(),
        };
        if self.fails() { format!("{words} (required)") } else { words.to_owned() }
    }

    /// Formats the values of the simulation.
    pub fn shown(&self) -> String {
        self.with_unit(shown(&self.claim, &self.values))
    }

    /// Formats the values and the verdict with a fitted value; empty if there are none.
    pub fn shown_beside(&self) -> String {
        self.beside.as_ref().map_or_else(String::new, |Beside { at, values, verdict }| {
            format!("{at}: {} {}", self.with_unit(shown(&self.claim, values)), verdict.words())
        })
    }

    /// Formats the values of real packets, or the reason why there are none; empty if they were not
    /// requested.
    pub fn shown_live(&self) -> String {
        match &self.live {
            None => String::new(),
            Some(OnPackets::Not { why }) => format!("not live: {why}"),
            Some(OnPackets::Judged { values, outside, .. }) => {
                let mark = if outside.is_empty() { "" } else { " !" };
                format!("{}{mark}", self.with_unit(shown(&self.claim, values)))
            }
        }
    }

    fn with_unit(&self, shown: String) -> String {
        if self.claim.unit.is_empty() || shown == "-" {
            shown
        } else {
            format!("{shown} {}", self.claim.unit)
        }
    }

    /// Formats the expected values, if given.
    pub fn expected(&self) -> String {
        self.claim.expected.iter().map(|value| number(*value)).collect::<Vec<_>>().join(", ")
    }
}

/// Formats a number with four significant digits.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn should_be(claim: &Claim, index: usize) -> Option<f64> {
    match claim.expected.as_slice() {
        [] => None,
        [one] => Some(*one),
        // A value without an expected one never fits.
        many => Some(many.get(index).copied().unwrap_or(f64::NAN)),
    }
}

/// Returns the distance of a value from the allowed range; zero or less is allowed. NaN counts as infinitely
/// far.
fn excess(claim: &Claim, index: usize, value: f64) -> f64 {
    let mut worst = f64::NEG_INFINITY;
    let mut add = |excess: f64| worst = if excess.is_nan() { f64::INFINITY } else { worst.max(excess) };
    if let Some(expected) = should_be(claim, index) {
        add((value - expected).abs() - (claim.tolerance * expected.abs() + claim.rounding));
    }
    if let Some(bound) = claim.at_most {
        add(value - bound);
    }
    if let Some(bound) = claim.at_least {
        add(bound - value);
    }
    worst
}

fn fits(claim: &Claim, values: &[(String, f64)]) -> bool {
    let each = values
        .iter()
        .enumerate()
        .all(|(index, (_, value))| value.is_finite() && (excess(claim, index, *value) <= 0.0));
    let as_many = claim.expected.len() <= 1 || claim.expected.len() == values.len();
    let ordered = claim.order.is_none_or(|order| {
        values.windows(2).all(|pair| match order {
            Order::Rising => pair[0].1 < pair[1].1,
            Order::Falling => pair[0].1 > pair[1].1,
        })
    });
    each && as_many && ordered && (claim.order.is_none() || values.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(bounds: &str) -> Claim {
        let text = format!(
            "id = \"c\"\nwhere = \"w\"\ntext = \"t\"\npaper = \"p\"\ndecide = \"d\"\nvalue = \"1\"\n{bounds}"
        );
        toml::from_str(&text).expect("a claim")
    }

    fn verdict(bounds: &str, values: &[f64]) -> Verdict {
        JudgedClaim::new(&claim(bounds), values.iter().map(|value| (String::new(), *value)).collect()).verdict
    }

    #[test]
    fn every_value_must_keep_every_bound() {
        use Verdict::{DoesNotHold, Holds, HoldsFitted, NotDecidable};
        for (bounds, values, expected) in [
            ("at_most = 1.0", &[0.5, 1.0][..], Holds),
            ("at_most = 1.0", &[0.5, 1.1], DoesNotHold),
            ("at_least = 1.0\nat_most = 2.0", &[1.0, 2.0], Holds),
            ("at_least = 1.0", &[f64::NAN], DoesNotHold),
            ("at_most = 1.0", &[f64::NEG_INFINITY], DoesNotHold),
            ("at_most = 1.0", &[], DoesNotHold),
            ("expected = [100.0]\ntolerance = 0.01", &[99.0, 101.0], Holds),
            ("expected = [100.0]\ntolerance = 0.01", &[98.9], DoesNotHold),
            ("expected = [-100.0]\ntolerance = 0.01", &[-101.0], Holds),
            ("expected = [0.0]\nrounding = 0.5", &[0.5], Holds),
            ("expected = [1.0, 2.0]\ntolerance = 0.1", &[1.05, 2.1], Holds),
            ("expected = [1.0, 2.0]\ntolerance = 0.1", &[2.0, 1.0], DoesNotHold),
            ("expected = [1.0, 2.0]", &[1.0], DoesNotHold),
            ("expected = [1.0, 2.0]", &[1.0, 2.0, 3.0], DoesNotHold),
            ("order = \"falling\"", &[3.0, 2.0, 1.0], Holds),
            ("order = \"falling\"", &[3.0, 3.0, 1.0], DoesNotHold),
            ("order = \"rising\"", &[1.0, 2.0], Holds),
            ("order = \"rising\"", &[1.0, f64::NAN], DoesNotHold),
            ("order = \"rising\"", &[1.0], DoesNotHold),
            ("undecidable = \"no numbers\"", &[1.0], NotDecidable),
            ("at_most = 1.0\nfitted = [\"pace\"]", &[0.5], HoldsFitted),
            ("at_most = 1.0\nfitted = [\"pace\"]", &[1.5], DoesNotHold),
        ] {
            assert_eq!(verdict(bounds, values), expected, "{bounds} {values:?}");
        }
    }

    #[test]
    fn only_what_is_required_fails_the_command() {
        let judged = |bounds: &str| JudgedClaim::new(&claim(bounds), vec![(String::new(), 2.0)]);
        assert!(judged("at_most = 1.0").fails());
        assert!(!judged("at_most = 1.0\nrequired = false").fails());
        assert!(!judged("at_most = 3.0").fails());
        assert!(!judged("undecidable = \"figure\"").fails());
    }

    #[test]
    fn real_packets_are_held_against_the_same_bounds() {
        let of = |bounds: &str, live: f64, outside: &[&str]| {
            let outside = outside.iter().map(|why| (*why).to_owned()).collect();
            JudgedClaim::new(&claim(bounds), vec![(String::new(), 2.0)])
                .with_live(Ok(Packets { values: vec![(String::new(), live)], outside }))
        };
        let both = of("at_most = 3.0", 2.9, &[]);
        assert_eq!((both.agree(), both.fails(), both.words()), (Some(true), false, "✓ holds".to_owned()));
        let denied = of("at_most = 3.0\nunit = \"s\"", 3.1, &[]);
        assert_eq!((denied.agree(), denied.fails()), (Some(false), true));
        assert_eq!(
            (denied.words().as_str(), denied.shown_live().as_str()),
            ("✗ simulation only (required)", "3.1 s")
        );
        assert!(!of("at_most = 3.0", 3.1, &["late"]).fails(), "outside the limits it proves nothing");
        let known = |difference: &str, live: f64| {
            of(&format!("at_most = 3.0\nlive_differs = {{ seen = \"late\", {difference} }}"), live, &[])
                .fails()
        };
        assert!(!known("cause = \"hosts\", at_most = 3.2", 3.1), "within the bound of a known difference");
        assert!(known("cause = \"hosts\", at_most = 3.2", 3.3), "beyond it");
        assert!(known("cause = \"hosts\"", 3.1), "without a bound it exempts nothing");
        assert!(known("at_most = 3.2", 3.1), "without a cause it exempts nothing");
        assert_eq!(of("at_most = 1.0", 0.5, &["late"]).words(), "✗ live only (required)");
        assert_eq!(of("at_most = 1.0", 0.5, &["late"]).shown_live(), "0.5 !");
        let not = JudgedClaim::new(&claim("at_most = 3.0"), vec![(String::new(), 2.0)])
            .with_live(Err("no FTP".into()));
        assert_eq!(
            (not.agree(), not.words(), not.shown_live()),
            (None, "✓ holds".into(), "not live: no FTP".into())
        );
    }

    #[test]
    fn the_worst_of_many_values_is_shown() {
        let values = (0..8).map(|index| (format!("v{index}"), f64::from(index))).collect();
        let shown = JudgedClaim::new(&claim("at_most = 3.0"), values).shown();
        assert_eq!(shown, "worst of 8: 7 (v7)");
        let unnamed = vec![(String::new(), 2.0); 7];
        assert_eq!(JudgedClaim::new(&claim("at_most = 3.0"), unnamed).shown(), "worst of 7: 2");
        assert_eq!(
            [number(0.0), number(1234.56), number(0.012_345), number(2.0)],
            ["0", "1235", "0.01235", "2"]
        );
    }
}
