//! Knee of a front of two goals in words: what the next points of the front on either side would give, and
//! for what.

use lockgate_experiment::tune::Goal;
use lockgate_measure::metric::{Better, Quantity, Unit};
use lockgate_measure::verdict::Words;

use crate::figures;
use crate::verdict::quantity;

/// A point of a front of two goals.
#[derive(Clone, Debug)]
pub(super) struct FrontPoint {
    /// Name in a sentence: `9.95mbit (#5)`.
    pub(super) name: String,
    /// Means of the goals.
    pub(super) values: [f64; 2],
}

/// Returns the sentences on the points of a front beside its knee, by its index: those with the same values,
/// and the nearest that is better in each goal, with what it gives and for what. None of a front of one
/// point.
pub(super) fn steps(goals: [&Goal; 2], front: &[FrontPoint], knee: usize) -> Vec<String> {
    let Some(at) = front.get(knee).filter(|_| front.len() > 1) else { return Vec::new() };
    let is_shown_equal = |one: &FrontPoint| {
        (0..2).all(|goal| change(goals[goal], at.values[goal], one.values[goal]).is_none())
    };
    let (same, others): (Vec<&FrontPoint>, Vec<&FrontPoint>) = front
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != knee)
        .map(|(_, one)| one)
        .partition(|one| is_shown_equal(one));
    let mut sentences = Vec::new();
    match same.as_slice() {
        [] => {}
        [one] => sentences.push(format!("{} gives the same.", one.name)),
        [first, rest @ ..] => {
            sentences.push(format!("{} and {} more give the same.", first.name, rest.len()));
        }
    }
    // The second goal first: what more of it would cost in the first.
    for (goal, other) in [(1, 0), (0, 1)] {
        let gain = |one: &FrontPoint| goals[goal].cost(at.values[goal]) - goals[goal].cost(one.values[goal]);
        let told = |one: &FrontPoint, goal: usize| change(goals[goal], at.values[goal], one.values[goal]);
        let better = others.iter().filter(|one| gain(one) > 0.0);
        let better = better.filter_map(|one| Some((one, told(one, goal)?)));
        let nearest = better.min_by(|(one, _), (another, _)| gain(one).total_cmp(&gain(another)));
        let (words, other_words) = (words(goals[goal]), words(goals[other]));
        sentences.push(match nearest {
            None => {
                let more = if goals[goal].better == Better::Lower { "less" } else { "more" };
                format!("No point of the front has noticeably {more} {words}.")
            }
            Some((next, gain)) => {
                let stays = || {
                    let value = quantity(&goals[other].path, Some(at.values[other]));
                    format!("; {other_words} stays {value}")
                };
                let cost = told(next, other).map_or_else(stays, |cost| format!(" for {cost}"));
                format!("{} would give {gain}{cost}.", next.name)
            }
        });
    }
    sentences
}

/// Returns the change of a goal from one value to another: `6.1 ms more call delay p99`; `None` if both are
/// shown alike.
fn change(goal: &Goal, from: f64, to: f64) -> Option<String> {
    let shown = [from, to].map(|value| quantity(&goal.path, Some(value)));
    if shown[0] == shown[1] {
        return None;
    }
    let apart = (to - from).abs();
    let unit = Quantity::parse(&goal.path).map(|quantity| quantity.unit());
    let apart = match unit {
        // A percentage of a percentage would be read as a part of it.
        Ok(Unit::Ratio) => {
            format!("{} percentage points", figures::without_zeros(&figures::plain(apart * 100.0)))
        }
        _ => figures::without_zeros(&quantity(&goal.path, Some(apart))),
    };
    Some(format!("{apart} {} {}", if to > from { "more" } else { "less" }, words(goal)))
}

fn words(goal: &Goal) -> String {
    Words::of(&goal.path).in_sentence()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(points: &[(&str, f64, f64)]) -> Vec<FrontPoint> {
        points
            .iter()
            .map(|(name, one, two)| FrontPoint { name: (*name).to_owned(), values: [*one, *two] })
            .collect()
    }

    fn goals(texts: [&str; 2]) -> [Goal; 2] {
        texts.map(|text| Goal::parse(text).expect("a goal"))
    }

    fn told(points: &[(&str, f64, f64)], knee: usize) -> Vec<String> {
        let [one, two] = goals(["min flow.call.owd.p99", "max group.backup.goodput.sum"]);
        steps([&one, &two], &front(points), knee)
    }

    #[test]
    fn the_next_point_on_either_side_is_told_with_what_it_gives_and_costs() {
        let points = [
            ("9.95mbit (#5)", 0.0205, 9.34e6),
            ("9.87mbit (#2)", 0.0144, 9.26e6),
            ("10mbit (#1)", 0.060, 9.40e6),
            ("9.7mbit (#3)", 0.0141, 9.09e6),
            ("9mbit (#4)", 0.0138, 8.50e6),
        ];
        assert_eq!(
            told(&points, 1),
            [
                "9.95mbit (#5) would give 80 kbit/s more backup goodput sum for 6.1 ms more call delay p99.",
                "9.7mbit (#3) would give 300 us less call delay p99 for 170 kbit/s less backup goodput sum.",
            ]
        );
    }

    #[test]
    fn an_end_of_the_front_has_no_neighbour_beyond_it() {
        let points = [("a (#1)", 0.010, 9e6), ("b (#2)", 0.020, 9.5e6)];
        assert_eq!(
            told(&points, 0),
            [
                "b (#2) would give 500 kbit/s more backup goodput sum for 10 ms more call delay p99.",
                "No point of the front has noticeably less call delay p99.",
            ]
        );
        assert_eq!(
            told(&points, 1),
            [
                "No point of the front has noticeably more backup goodput sum.",
                "a (#1) would give 10 ms less call delay p99 for 500 kbit/s less backup goodput sum.",
            ]
        );
        assert_eq!(told(&points[..1], 0), [""; 0], "a front of one point");
        assert_eq!(told(&[], 0), [""; 0]);
    }

    #[test]
    fn values_that_are_shown_alike_are_no_step() {
        // Equal to the bit, and equal in the three digits that are shown.
        let points = [
            ("10kB (#7)", 0.024, 4.47e6),
            ("10.5kB (#9)", 0.024, 4.47e6),
            ("10.6kB (#10)", 0.024_000_01, 4.470_000_1e6),
            ("11kB (#8)", 0.024_000_02, 4.56e6),
        ];
        assert_eq!(
            told(&points, 0),
            [
                "10.5kB (#9) and 1 more give the same.",
                "11kB (#8) would give 90 kbit/s more backup goodput sum; call delay p99 stays 24.0 ms.",
                "No point of the front has noticeably less call delay p99.",
            ]
        );
        assert_eq!(
            told(&points, 3),
            [
                "No point of the front has noticeably more backup goodput sum.",
                "No point of the front has noticeably less call delay p99.",
            ]
        );
        assert_eq!(told(&points[..2], 1)[0], "10kB (#7) gives the same.");
    }

    #[test]
    fn shares_differ_by_percentage_points_and_ratings_by_numbers() {
        let [loss, mos] = goals(["min flow.call.loss", "max flow.call.mos"]);
        let points = front(&[("a", 0.010, 3.90), ("b", 0.025, 4.20)]);
        assert_eq!(
            steps([&loss, &mos], &points, 0)[0],
            "b would give 0.3 more call MOS for 1.5 percentage points more call loss."
        );
    }
}
