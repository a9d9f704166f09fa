//! The search: points are proposed one at a time and run with every seed, and their results are passed back.

use super::found::{Request, Search, Stop, Tried};
use super::goal::Goal;
use super::proposals::Proposals;
use super::space::Point;
use crate::{Error, Row};

/// Searches. `evaluate` runs a point with every seed and returns the rows; `None` if it was interrupted.
/// Points are run one at a time: without the result of the last point, an optimiser proposes nearly the same
/// one again.
///
/// # Errors
/// Those of `evaluate`, and those of a point outside the space.
pub fn search(
    request: &Request<'_>,
    mut evaluate: impl FnMut(&Point) -> Result<Option<Vec<Row>>, Error>,
) -> Result<Search, Error> {
    let mut proposals = Proposals::new(request)?;
    let mut found = Search { tried: Vec::new(), stop: Stop::Runs, last_progress: 0 };
    while found.tried.len() < request.points() {
        let Some(proposal) = proposals.next(&found)? else {
            found.stop = Stop::Converged;
            break;
        };
        let Some(rows) = evaluate(&proposal.point)? else {
            found.stop = Stop::Interrupted;
            break;
        };
        let tried = Tried::new(request, proposal.point.clone(), proposal.coordinates.clone(), rows);
        proposals.tell(proposal, tried, &mut found)?;
        if is_progress(&found, request.goals) {
            found.last_progress = found.tried.len() - 1;
        }
        let without = found.tried.len() - 1 - found.last_progress;
        if let Some(patience) = request.patience.filter(|patience| without >= *patience) {
            found.stop = Stop::NoProgress(patience);
            break;
        }
    }
    Ok(found)
}

/// Returns true if the last point joined the front with new costs or, while no point is feasible, is the
/// least infeasible.
fn is_progress(found: &Search, goals: &[Goal]) -> bool {
    let Some((last, before)) = found.tried.split_last() else { return false };
    if last.is_feasible() {
        let is_new = before.iter().all(|one| !one.is_feasible() || one.costs(goals) != last.costs(goals));
        return is_new && found.front(goals).contains(&before.len());
    }
    before.iter().all(|one| !one.is_feasible() && one.violation > last.violation)
}

#[cfg(test)]
mod tests {
    use lockgate_scenario::Vary;

    use super::*;
    use crate::tune::goal::Constraint;
    use crate::tune::space::Space;

    fn space(vary: &[&str]) -> Space {
        Space::new(vary.iter().map(|text| Vary::parse_space(text).expect("a variation")).collect(), "")
            .expect("a space")
    }

    fn number(point: &Point, index: usize) -> f64 {
        lockgate_scenario::vary::number(&point.values[index]).expect("a number")
    }

    const RANGES: [&str; 2] = ["a.x=0.0..10.0", "a.y=1ms..1s log"];

    fn request<'a>(space: &'a Space, goals: &'a [Goal], constraints: &'a [Constraint]) -> Request<'a> {
        Request { space, goals, constraints, seeds: 1, runs: 60, patience: None, seed: 1 }
    }

    /// A bowl with its minimum at 3 and 20 ms, which a constraint excludes.
    fn bowl(point: &Point) -> Row {
        let (x, y) = (number(point, 0), number(point, 1));
        let from = libm::log10(y / 0.02);
        vec![Some((x - 3.0) * (x - 3.0) + from * from), Some(x)]
    }

    #[test]
    fn a_search_is_repeatable_and_better_than_random_points_near_a_bound() {
        let space = space(&RANGES);
        let goals = [Goal::parse("min flow.a.owd.p99").expect("a goal")];
        let constraints = [Constraint::parse("flow.a.r_factor >= 4").expect("a constraint")];
        let run = |seed| {
            let request = Request { seed, ..request(&space, &goals, &constraints) };
            search(&request, |point| Ok(Some(vec![bowl(point)]))).expect("a search")
        };
        let costs: Vec<f64> = (0..9)
            .map(|seed| {
                let found = run(seed);
                assert!(found.tried.len() == 60 || found.stop == Stop::Converged, "{found:?}");
                let best = found.front(&goals)[0];
                assert!(number(&found.tried[best].point, 0) >= 4.0, "infeasible");
                found.tried[best].means[0].expect("a value")
            })
            .collect();
        // The minimum is 1. The best of 60 random points is below 1.4 in half of the searches.
        let mut sorted = costs.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted[4] < 1.01, "{sorted:?}");
        assert_eq!(run(3), run(3));
    }

    /// A shaper and a class below it, whose rates are the shares `a.line` and `a.class` of a line. The
    /// throughput is the smaller of the two; above the line's rate, the delay is that of the next queue.
    fn shaped(point: &Point) -> Row {
        let (shaper, class) = (number(point, 0), number(point, 1));
        let delay = if shaper > 100.0 { 200.0 } else { 15.0 };
        vec![Some(shaper.min(class)), Some(delay)]
    }

    #[test]
    fn the_best_point_is_found_in_front_of_a_cliff_and_on_a_ridge() {
        let goals = [Goal::parse("max flow.a.r_factor").expect("a goal")];
        let constraints = [Constraint::parse("flow.a.mos <= 20").expect("a constraint")];
        let best = |ends: [&str; 2], seed| {
            let space = space(&ends);
            let request = Request { seed, ..request(&space, &goals, &constraints) };
            let found = search(&request, |point| Ok(Some(vec![shaped(point)]))).expect("a search");
            found.tried[found.front(&goals)[0]].means[0].expect("a value")
        };
        let ranges = |seed| best(["a.line=86.0..105.0", "a.class=81.0..100.0"], seed);
        let mut found: Vec<f64> = (0..5).map(ranges).collect();
        found.sort_by(f64::total_cmp);
        // On average the best point of a 20 by 20 grid that does not contain 100 is 0.5 below it.
        assert!(found[2] > 99.9 && found[0] > 99.0, "{found:?}");
        let steps = |seed| best(["a.line=86..105 step 1", "a.class=81..100 step 1"], seed);
        let found: Vec<f64> = (0..5).map(steps).collect();
        assert!(found.iter().all(|best| *best > 99.5), "{found:?}");
    }

    #[test]
    fn points_beside_the_best_are_not_the_only_ones_to_be_judged() {
        let space = space(&["a.x=0..100"]);
        let goals = [Goal::parse("min flow.a.owd.p99").expect("a goal")];
        let constraints = [Constraint::parse("flow.a.r_factor >= 4").expect("a constraint")];
        let request = request(&space, &goals, &constraints);
        // With the second seed, values up to 20 slightly exceed the bound.
        let row = |point: &Point| {
            let x = number(point, 0);
            let bounded = |beyond: f64| if x <= 20.0 { 4.0 + beyond } else { 5.0 };
            Ok(Some([0.1, -0.05].map(|beyond| vec![Some(x), Some(bounded(beyond))]).to_vec()))
        };
        let found = search(&Request { seeds: 2, runs: 120, ..request }, row).expect("a search");
        let judged = found.finalists(&request, 4);
        let x = |index: usize| number(&found.tried[judged[index]].point, 0);
        assert_eq!(judged.len(), 4);
        assert!(x(0) < x(1) && x(1) <= 4.0, "the best two");
        assert!(x(2) - x(0) >= 2.0 && x(2) - x(1) >= 2.0 && x(3) > 20.0, "{judged:?}");
    }

    #[test]
    fn more_seeds_correct_the_order_of_points_that_few_seeds_mislead() {
        let space = space(&["a.x=0..9"]);
        let goals = [Goal::parse("min flow.a.owd.p99").expect("a goal")];
        let constraints = [Constraint::parse("flow.a.r_factor >= 4").expect("a constraint")];
        let request = Request { seeds: 2, ..request(&space, &goals, &constraints) };
        // The first seeds flatter 3 and 7. The mean of 3 is worse than it seems, and 7 exceeds the bound.
        let row = |x: f64, luck: f64| {
            vec![Some(10.0 + (x - 5.0).abs() - luck), Some(if luck < 0.0 && x > 6.5 { 3.0 } else { 5.0 })]
        };
        let luck = |x: f64| if (x - 3.0).abs() < 0.5 || x > 6.5 { 4.0 } else { 0.0 };
        let found = search(&request, |point| {
            let x = number(point, 0);
            Ok(Some(vec![row(x, luck(x)); 2]))
        })
        .expect("a search");
        let x = |search: &Search, index: usize| number(&search.tried[index].point, 0);
        assert!((x(&found, found.front(&goals)[0]) - 5.0).abs() > 1.0, "few seeds mislead");
        let candidates = found.finalists(&request, 8);
        let more = candidates.iter().map(|index| vec![row(x(&found, *index), -luck(x(&found, *index))); 8]);
        let confirmed = found.confirmed(&request, &candidates, more.collect());
        let best = confirmed.ranked(&goals)[0];
        assert!((x(&confirmed, best) - 5.0).abs() < 0.5 && confirmed.tried[best].rows.len() == 10);
        assert!(confirmed.ranked(&goals).iter().all(|index| x(&confirmed, *index) < 6.5), "beyond the bound");
    }

    #[test]
    fn two_goals_give_a_front_and_end_when_all_steps_were_tried() {
        let space = space(&["a.x=0..4", "a.kind=fifo,cake"]);
        let goals =
            [Goal::parse("min flow.a.loss").expect("one"), Goal::parse("max flow.a.goodput").expect("two")];
        let found = search(&request(&space, &goals, &[]), |point| {
            let (x, cake) = (number(point, 0), f64::from(u8::from(point.values[1] == "cake")));
            Ok(Some(vec![vec![Some(x), Some(x + 2.0 * cake)]]))
        })
        .expect("a search");
        assert_eq!((found.stop, found.tried.len()), (Stop::Converged, 10));
        let front = found.front(&goals);
        assert_eq!(front.len(), 5, "{found:?}");
        assert!(front.iter().all(|index| found.tried[*index].point.values[1] == "cake"));
        assert_eq!(found.tried[front[0]].point.values[0], "0");
    }

    #[test]
    fn a_search_ends_without_progress_and_when_interrupted() {
        let space = space(&RANGES);
        let goals = [Goal::parse("min flow.a.owd.p99").expect("a goal")];
        let flat = |_: &Point| Ok(Some(vec![vec![Some(1.0)]]));
        let patient = Request { patience: Some(8), ..request(&space, &goals, &[]) };
        let found = search(&patient, flat).expect("a search");
        assert_eq!(found.stop, Stop::NoProgress(8));
        assert!(found.tried.len() <= 10);
        let stopped = search(&patient, |_| Ok(None)).expect("a search");
        assert_eq!((stopped.stop, stopped.tried.len()), (Stop::Interrupted, 0));
    }
}
