//! Points of a search against the file as it is: whether one is better in a goal and worse in none.

use lockgate_experiment::tune::Goal;
use lockgate_measure::comparison::{MetricComparison, Verdict};

use super::Tuned;

/// A value against that of the file as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Better,
    Worse,
    /// No difference is seen, or none that matters.
    None,
}

/// Returns the change of a goal from the finalist `file` to the finalist `at`, by the differences that are
/// beyond the noise of the seeds. One seed shows none: then the values decide.
fn change(goal: &Goal, compared: &MetricComparison, at: usize, file: usize) -> Change {
    let mean = |at: usize| compared.intervals.get(at)?.as_ref().map(|interval| goal.cost(interval.mean));
    let (own, before) = match (mean(at), mean(file)) {
        (Some(own), Some(before)) => (own, before),
        (Some(_), None) => return Change::Better,
        (None, _) => return Change::Worse,
    };
    // One of the two is what the others are compared with.
    let other = if compared.reference == Some(file) { at } else { file };
    let verdict = match compared.differences.get(other) {
        Some(Some(difference)) if [Some(at), Some(file)].contains(&compared.reference) => difference.verdict,
        _ => Verdict::Unknown,
    };
    match verdict {
        Verdict::Differs | Verdict::Unknown if own < before => Change::Better,
        Verdict::Differs | Verdict::Unknown if own > before => Change::Worse,
        _ => Change::None,
    }
}

/// Returns true if the finalist `at` is better than `file` in a goal and worse in none.
fn improves(goals: &[Goal], metrics: &[MetricComparison], at: usize, file: usize) -> bool {
    let changes: Vec<Change> =
        goals.iter().zip(metrics).map(|(goal, compared)| change(goal, compared, at, file)).collect();
    changes.contains(&Change::Better) && !changes.contains(&Change::Worse)
}

impl Tuned<'_> {
    /// Returns the recommended points that are better than the file as it is: in a goal, and worse in none;
    /// all of them if the file breaks a constraint.
    pub fn improvements(&self) -> Vec<usize> {
        let all = self.recommended().into_iter().map(|(_, point)| point);
        let Some(file) = self.judged.finalists.iter().position(Option::is_none) else {
            return all.collect();
        };
        let (goals, metrics) = (&self.tuning.goals, &self.judged.metrics);
        let bounds = self.tuning.constraints.iter().zip(metrics.iter().skip(goals.len()));
        let breaks = bounds.into_iter().any(|(constraint, compared)| {
            let mean = compared.intervals[file].as_ref().map(|interval| interval.mean);
            mean.is_none_or(|mean| constraint.violation(mean) > 0.0)
        });
        let improves =
            |point: &usize| self.finalist(*point).is_some_and(|at| improves(goals, metrics, at, file));
        all.filter(|point| breaks || improves(point)).collect()
    }

    /// Returns the sentence of a search that found nothing better than the file as it is; `None` if it did,
    /// or found nothing at all.
    pub fn without_improvement(&self) -> Option<String> {
        if self.recommended().is_empty() || !self.improvements().is_empty() {
            return None;
        }
        Some(match self.tuning.goals.len() {
            1 => "Nothing is better than the file as it is.".to_owned(),
            _ => {
                "Nothing is better than the file as it is: no point is better in one goal and worse in none."
                    .to_owned()
            }
        })
    }

    /// Returns the same for a search with several goals, whose points are told one by one; that of one goal
    /// stands before its winner.
    pub fn front_without_improvement(&self) -> Option<String> {
        self.without_improvement().filter(|_| self.judged.winner.is_none())
    }
}

#[cfg(test)]
mod tests {
    use lockgate_measure::comparison::Reference;

    use super::*;

    /// Goals of an upload and of a delay: four seeds of a point, and of the file after it.
    fn of(upload: [[f64; 4]; 2], delay: [[f64; 4]; 2], reference: usize) -> bool {
        let goals = ["max group.upload.goodput.sum", "min flow.call.owd.p99"];
        let goals = goals.map(|text| Goal::parse(text).expect("a goal"));
        let compared = [upload, delay].into_iter().zip(&goals).map(|(values, goal)| {
            let values = values.map(|values| values.map(Some).to_vec());
            MetricComparison::new(&values, Some(goal.better), Reference::Given(reference))
        });
        improves(&goals, &compared.collect::<Vec<_>>(), 0, 1)
    }

    #[test]
    fn a_point_must_be_better_in_a_goal_and_worse_in_none() {
        let (more, less) = ([9.42, 9.43, 9.42, 9.43], [9.31, 9.32, 9.31, 9.33]);
        let (short, long) = ([14.4, 14.5, 14.3, 14.4], [29.0, 29.4, 29.2, 28.9]);
        let (noise, other) = ([14.0, 15.9, 13.1, 14.9], [14.9, 13.2, 15.6, 14.6]);
        for reference in [0, 1] {
            for (upload, delay, expected) in [
                ([more, less], [short, long], true),
                ([more, less], [noise, other], true),
                ([more, more], [short, long], true),
                // Less upload, and a delay that is shorter by noise alone.
                ([less, more], [noise, other], false),
                ([less, more], [short, long], false),
                ([more, less], [long, short], false),
                ([more, more], [noise, other], false),
                ([more, more], [short, short], false),
            ] {
                assert_eq!(of(upload, delay, reference), expected, "{upload:?} {delay:?} {reference}");
            }
        }
    }

    #[test]
    fn without_noise_to_compare_with_the_values_decide() {
        let goal = Goal::parse("min flow.call.owd.p99").expect("a goal");
        let of = |own: Option<f64>, file: Option<f64>| {
            let compared =
                MetricComparison::new(&[vec![own], vec![file]], Some(goal.better), Reference::Given(1));
            change(&goal, &compared, 0, 1)
        };
        assert_eq!(of(Some(0.014), Some(0.015)), Change::Better);
        assert_eq!(of(Some(0.016), Some(0.015)), Change::Worse);
        assert_eq!(of(Some(0.015), Some(0.015)), Change::None);
        assert_eq!(of(Some(0.015), None), Change::Better, "the file has no value");
        assert_eq!(of(None, Some(0.015)), Change::Worse);
    }
}
