//! Expectations as text: value, bounds and margin in the units of readers.

use core::cmp::Ordering;

use super::words::Words;
use crate::bufferbloat;
use crate::comparison::Difference;
use crate::figures;
use crate::metric::Quantity;
use crate::summary::{Criterion, Expectation, MembersHeld};

/// Returns "holds" or "missed", with a sign that does not need colour.
pub fn sign(holds: bool) -> &'static str {
    if holds { "✓ holds" } else { "✗ missed" }
}

/// Returns expected and measured value: `flow.voice.owd.p99 is 31.8 ± 0.400 ms, expected below 31.4 ms, held
/// by 3 of 8`. Of several flows or queues: `flow.video/*.loss: 2997 of 3330 (90.0 %) keep it, expected at
/// most 1.00 %, for 85.0 %, held by 3 of 8 runs`.
pub fn sentence(expect: &Expectation) -> String {
    let name = expect.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let (is, unit) = if expect.members.is_some() { (":", " runs") } else { (" is", "") };
    let runs = match expect.values.len() {
        0 | 1 => String::new(),
        of => format!(", held by {} of {of}{unit}", expect.held),
    };
    // A dash alone would read as a value.
    let told = match (expect.value, expect.members) {
        (None, None) => " has no value".to_owned(),
        _ => format!("{is} {}", value(expect)),
    };
    format!("{name}{}{told}, expected {}{runs}", expect.that, bounds(expect))
}

/// Formats the measured value of an expectation's metric; of several flows or queues, how many keep the
/// bounds, in the first run: `2997 of 3330 (90.0 %) keep it`. If they are too few, with the value that
/// decides.
pub fn value(expect: &Expectation) -> String {
    let value = match (expect.value, expect.half_width) {
        (Some(value), half @ Some(_)) => interval(&expect.that, value, half),
        (value, _) => quantity(&expect.that, value),
    };
    let graded =
        expect.grade.and(expect.value).map(|more| format!(", grade {}", bufferbloat::Grade::of(more)));
    let value = value + &graded.unwrap_or_default();
    let Some(members) = expect.members else { return value };
    let (MembersHeld { held, of, .. }, share) = (members, share(members));
    let verb = if held == 1 { "keeps" } else { "keep" };
    let decides = match expect.value {
        _ if expect.holds => String::new(),
        Some(_) => format!("; {value} decides"),
        None => "; one without a value decides".to_owned(),
    };
    format!("{held} of {of} ({share}) {verb} it{decides}")
}

/// Formats the share of those that keep the bounds: `90.0 %`, and never all of them if one does not.
pub(super) fn share(members: MembersHeld) -> String {
    let MembersHeld { held, of, .. } = members;
    match figures::ratio(Some(held as f64 / of.max(1) as f64)) {
        all if held < of && all == "100 %" => "over 99.9 %".to_owned(),
        share => share,
    }
}

/// Formats a value in the unit of the metric at `path`.
pub fn quantity(path: &str, value: Option<f64>) -> String {
    match unit(path) {
        "ratio" => figures::ratio(value),
        unit => figures::quantity(value, unit),
    }
}

fn unit(path: &str) -> &'static str {
    Quantity::parse(path).map_or("", |quantity| quantity.unit().symbol())
}

/// Formats a mean of the metric at `path` with half the width of its interval, if it has one:
/// `31.8 ± 0.400 ms`.
pub fn interval(path: &str, mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(half) => figures::interval(mean, half, unit(path)),
        None => quantity(path, Some(mean)),
    }
}

/// Formats a difference of the metric at `path` with the interval in which it is tested: `+0.300 ± 0.900 ms`.
pub fn difference(path: &str, one: &Difference) -> String {
    let sign = match one.mean.partial_cmp(&0.0) {
        Some(Ordering::Greater) => "+",
        Some(Ordering::Less) => "-",
        _ => "",
    };
    format!("{sign}{}", interval(path, one.mean.abs(), one.half_width))
}

/// Formats the bounds of an expectation's metric; of several flows or queues, with the share of them that
/// must keep it: `at most 1.00 %, for 85.0 %`.
pub fn bounds(expect: &Expectation) -> String {
    if let Some(grade) = expect.grade {
        let limit = grade.limit().map(|limit| quantity(&expect.that, Some(limit)));
        let below = limit.map_or_else(String::new, |limit| format!(" (below {limit})"));
        return format!("grade {grade} or better{below} by {}", bufferbloat::SCALE);
    }
    let mut texts = plain_bounds(expect, quantity);
    texts.extend(expect.members.map(|members| match members.wanted_ratio {
        1.0 => "for all".to_owned(),
        share => format!("for {}", figures::ratio(Some(share))),
    }));
    texts.join(", ")
}

/// Formats the bounds as a person wrote them, without trailing zeros: `below 50 ms`.
pub fn short_bounds(expect: &Expectation) -> String {
    if let Some(grade) = expect.grade {
        return format!("grade {grade} or better");
    }
    let short = |path: &str, value| figures::without_zeros(&quantity(path, value));
    plain_bounds(expect, short).join(", ")
}

/// Returns what a value does that does not keep the bound, such as `above 1 %` for `at most 1 %`; `None` for
/// a grade, and for more than one bound.
pub(super) fn opposite(expect: &Expectation) -> Option<String> {
    let bound = |value: f64| figures::without_zeros(&quantity(&expect.that, Some(value)));
    if expect.grade.is_some() {
        return None;
    }
    match (expect.below, expect.at_most, expect.above, expect.at_least, expect.between) {
        (Some(below), None, None, None, None) => Some(format!("of {} or more", bound(below))),
        (None, Some(most), None, None, None) => Some(format!("above {}", bound(most))),
        (None, None, Some(above), None, None) => Some(format!("of {} or less", bound(above))),
        (None, None, None, Some(least), None) => Some(format!("below {}", bound(least))),
        _ => None,
    }
}

fn plain_bounds(expect: &Expectation, format: impl Fn(&str, Option<f64>) -> String) -> Vec<String> {
    let quantity = |bound: f64| format(&expect.that, Some(bound));
    let named = [
        ("below", expect.below),
        ("above", expect.above),
        ("at most", expect.at_most),
        ("at least", expect.at_least),
    ];
    let mut texts: Vec<String> =
        named.into_iter().filter_map(|(name, bound)| Some(format!("{name} {}", quantity(bound?)))).collect();
    texts.extend(
        expect.between.map(|[low, high]| format!("between {} and {}", quantity(low), quantity(high))),
    );
    texts
}

/// A bound's side and value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    /// The value must not be larger.
    Upper(f64),
    /// The value must not be smaller.
    Lower(f64),
}

impl Side {
    /// Returns how much of the bound is used up: 1 at the bound, more beyond it. `None` for a bound of zero,
    /// or of which a value has the other sign.
    fn used(self, value: f64) -> Option<f64> {
        let (part, whole) = match self {
            Self::Upper(bound) => (value, bound),
            Self::Lower(bound) => (bound, value),
        };
        (whole > 0.0 && part >= 0.0).then(|| part / whole)
    }

    /// Returns true if a value keeps the bound or is at it.
    #[cfg(test)]
    fn is_kept(self, value: f64) -> bool {
        match self {
            Self::Upper(bound) => value <= bound,
            Self::Lower(bound) => value >= bound,
        }
    }
}

fn sides(expect: &Expectation) -> Vec<Side> {
    let upper = [expect.below, expect.at_most, expect.between.map(|[_, high]| high)];
    let lower = [expect.above, expect.at_least, expect.between.map(|[low, _]| low)];
    let upper = upper.into_iter().flatten().map(Side::Upper);
    upper.chain(lower.into_iter().flatten().map(Side::Lower)).collect()
}

/// Returns the values of several runs that decide an expectation, or that of a single run.
fn deciding(expect: &Expectation) -> Vec<f64> {
    match (expect.criterion, expect.value, expect.half_width) {
        (Criterion::All, ..) => expect.values.iter().copied().flatten().collect(),
        (Criterion::Interval, Some(mean), Some(half)) => vec![mean - half, mean + half],
        (_, value, _) => value.into_iter().collect(),
    }
}

/// Returns the tightest bound of an expectation, with the value that decides, and how much of it is used up.
fn tightest(expect: &Expectation) -> Option<(Side, f64, f64)> {
    let values = deciding(expect);
    let of_side = |side: Side| {
        values.iter().filter_map(move |value| Some((side, *value, side.used(*value)?))).collect::<Vec<_>>()
    };
    sides(expect).into_iter().flat_map(of_side).max_by(|one, other| one.2.total_cmp(&other.2))
}

/// Returns how much of an expectation's tightest bound is used up: 1 at the bound, more if it is missed; of
/// several flows or queues, the share wanted over the share that keeps the bounds. `None` without a value,
/// and for a bound of zero.
pub fn used(expect: &Expectation) -> Option<f64> {
    if let Some(members) = expect.members {
        return (members.held > 0).then(|| members.wanted_ratio * members.of as f64 / members.held as f64);
    }
    tightest(expect).map(|(_, _, used)| used)
}

/// Returns the distance of an expectation's value from its tightest bound, in words: `11 % above its bound`,
/// `4.3 times its bound`; empty if it has none.
pub fn margin(expect: &Expectation) -> String {
    if let Some(members) = expect.members.filter(|members| members.of > 0) {
        return format!("{} keep it", percent(members.held as f64 / members.of as f64));
    }
    let Some((side, value, used)) = tightest(expect) else { return String::new() };
    if value <= 0.0 || !used.is_finite() {
        return String::new();
    }
    let (Side::Upper(limit) | Side::Lower(limit)) = side;
    let ratio = value / limit;
    let (distance, relation) = if ratio < 1.0 { (1.0 - ratio, "below") } else { (ratio - 1.0, "above") };
    let whose = if expect.half_width.is_some() { "the interval's end " } else { "" };
    let bound = match side {
        _ if sides(expect).len() < 2 => "bound",
        Side::Upper(_) => "upper bound",
        Side::Lower(_) => "lower bound",
    };
    if (ratio - 1.0).abs() < 1e-12 {
        return format!("{whose}at its {bound}");
    }
    if ratio >= 2.0 {
        return format!("{whose}{} times its {bound}", figures::without_zeros(&figures::plain(ratio)));
    }
    format!("{whose}{} {relation} its {bound}", percent(distance))
}

/// Returns the margin with the bound itself: `11 % above its bound of 8 Mbit/s`; empty if it has none.
pub(super) fn margin_of_bound(expect: &Expectation) -> String {
    let Some((Side::Upper(bound) | Side::Lower(bound), ..)) = tightest(expect) else { return String::new() };
    match margin(expect).as_str() {
        "" => String::new(),
        margin => format!("{margin} of {}", figures::without_zeros(&quantity(&expect.that, Some(bound)))),
    }
}

/// Formats a share in whole percents, or with its first digit if it is smaller. Less than all is not shown as
/// all.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        size if (99.5..100.0).contains(&size) => "over 99 %".to_owned(),
        size if size >= 0.95 => format!("{percent:.0} %"),
        size if size >= 0.095 => format!("{percent:.1} %"),
        _ => "under 0.1 %".to_owned(),
    }
}

/// Returns subject and quantity of an expectation: its name in the scenario, if it has one, as the quantity.
pub fn words(expect: &Expectation) -> Words {
    let words = Words::of(&expect.that);
    match &expect.name {
        Some(name) => Words { subject: String::new(), quantity: name.clone() },
        None => words,
    }
}

/// Returns true if a value keeps the tightest bound, for tests of the sides.
#[cfg(test)]
fn is_consistent(expect: &Expectation) -> bool {
    tightest(expect).is_none_or(|(side, value, used)| side.is_kept(value) == (used <= 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Bound, Expected};

    fn judged(that: &str, bounds: &[Bound], values: &[f64]) -> Expectation {
        let expected = Expected { that: that.to_owned(), bounds: bounds.to_vec(), ..Expected::default() };
        Expectation::judge(&expected, values.iter().copied().map(Some).collect())
    }

    #[test]
    fn margins_by_hand() {
        let delay = "flow.call.owd.p99";
        for (bound, value, expected, share) in [
            (Bound::Below(0.05), 0.0171, "66 % below its bound", Some(0.342)),
            (Bound::Below(0.05), 0.0499, "0.2 % below its bound", Some(0.998)),
            (Bound::Below(0.05), 0.214, "4.28 times its bound", Some(4.28)),
            (Bound::AtMost(0.05), 0.05, "at its bound", Some(1.0)),
            (Bound::Below(0.05), 0.06, "20 % above its bound", Some(1.2)),
            (Bound::Above(8e6), 8.88e6, "11 % above its bound", Some(8.0 / 8.88)),
            (Bound::Above(8e6), 24e6, "3 times its bound", Some(1.0 / 3.0)),
            (Bound::AtLeast(8e6), 6e6, "25 % below its bound", Some(8.0 / 6.0)),
            (Bound::AtMost(0.0), 0.0, "", None),
            (Bound::Between(0.01, 0.05), 0.049, "2 % below its upper bound", Some(0.98)),
            (Bound::Between(0.01, 0.05), 0.0101, "1 % above its lower bound", Some(0.01 / 0.0101)),
            (Bound::Below(0.05), 0.000_1, "over 99 % below its bound", Some(0.002)),
        ] {
            let one = judged(delay, &[bound], &[value]);
            assert_eq!(margin(&one), expected, "{bound:?} {value}");
            let close = match (used(&one), share) {
                (Some(used), Some(share)) => (used - share).abs() < 1e-9,
                (used, share) => used == share,
            };
            assert!(close, "{bound:?} {value}: {:?}", used(&one));
            assert!(is_consistent(&one), "{bound:?} {value}");
        }
    }

    #[test]
    fn of_several_runs_the_worse_end_of_the_interval_decides() {
        // Mean 12, 95 % from 7.03 to 16.97.
        let one = judged("flow.call.owd.p99", &[Bound::Below(20.0)], &[10.0, 12.0, 14.0]);
        assert_eq!(margin(&one), "the interval's end 15 % below its bound");
        assert!(used(&one).is_some_and(|used| (used - 0.8484).abs() < 1e-3), "{:?}", used(&one));
    }

    #[test]
    fn a_missing_value_is_said_in_words() {
        let expected = Expected {
            that: "flow.call.fct".into(),
            bounds: vec![Bound::Below(0.05)],
            ..Expected::default()
        };
        let one = Expectation::judge(&expected, vec![None]);
        assert_eq!(sentence(&one), "flow.call.fct has no value, expected below 50.0 ms");
    }

    #[test]
    fn bounds_are_short() {
        let one = judged("flow.call.owd.p99", &[Bound::Below(0.05)], &[0.01]);
        assert_eq!((bounds(&one), short_bounds(&one)), ("below 50.0 ms".into(), "below 50 ms".into()));
        let one = judged("flow.call.owd.p99", &[Bound::Above(0.000_5), Bound::Below(1.25)], &[0.01]);
        assert_eq!(short_bounds(&one), "below 1.25 s, above 500 us");
    }
}
