//! Knee of a front: the point from which every step along the front costs a larger factor than it gains.
//!
//! On logarithmic scales the costs of a point add up, so the knee has the least sum of logarithms: the least
//! product of the factors by which it is worse than others. Unlike a distance from the best values, each
//! scaled by its span, it does not depend on which other points are on the front: a delay of 10 instead of
//! 150 ms is a factor of 15, and a goodput of 9.8 instead of 10 Mbit/s one of 1.02, whatever lies between.

/// Values below this part of the largest count as this part: the logarithm of a loss of zero is infinite.
const LEAST_PART: f64 = 1e-3;

/// Returns the index of the knee among the points of a front, by their costs: less is better, and a goal that
/// is maximised has its value below zero. `None` without points.
pub fn knee(costs: &[Vec<f64>]) -> Option<usize> {
    let goals = costs.first()?.len();
    let largest: Vec<f64> =
        (0..goals).map(|goal| costs.iter().map(|point| point[goal].abs()).fold(0.0, f64::max)).collect();
    let sum = |point: &Vec<f64>| -> f64 {
        let part = |(cost, largest): (&f64, &f64)| {
            if *largest <= 0.0 {
                return 0.0;
            }
            let factor = libm::log((cost.abs() / largest).max(LEAST_PART));
            if cost.is_sign_negative() { -factor } else { factor }
        };
        point.iter().zip(&largest).map(part).sum()
    };
    let sums = costs.iter().map(sum).enumerate();
    sums.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_delay_is_worth_a_fiftieth_of_the_goodput() {
        let front = [vec![0.0144, -9.27], vec![0.0146, -9.29], vec![0.060, -9.40], vec![0.156, -9.44]];
        assert_eq!(knee(&front), Some(0));
        // Scaled to their spans, the ends would be as far from each other in both.
        assert_eq!(knee(&front[1..]), Some(0));
        // Half the goodput is not worth a tenth of the delay less.
        assert_eq!(knee(&[vec![0.009, -5.0], vec![0.010, -10.0], vec![0.1, -10.1]]), Some(1));
    }

    #[test]
    fn values_of_zero_and_fronts_without_points_have_a_knee_or_none() {
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[vec![0.0, -0.0]]), Some(0));
        assert_eq!(knee(&[vec![0.0, -1.0], vec![0.02, -2.0]]), Some(0));
        // No goodput at all is the worst, not the best.
        assert_eq!(knee(&[vec![0.01, -0.0], vec![0.02, -2.0]]), Some(1));
    }
}
