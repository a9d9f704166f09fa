//! Fairness of shares.

/// Computes Jain's fairness index `(sum x)^2 / (n sum x^2)`, from `1/n` (one has everything) to 1 (all
/// equal). Returns `None` if there is no share, all are zero, or one is negative or not a number.
///
/// Source: Jain, Chiu and Hawe, DEC-TR-301 (1984).
pub fn jain(shares: &[f64]) -> Option<f64> {
    let largest = shares.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 || !largest.is_finite() || shares.iter().any(|share| share.is_nan() || *share < 0.0) {
        return None;
    }
    // Normalized by the largest, so that no square overflows.
    let (sum, squares) = shares
        .iter()
        .map(|share| share / largest)
        .fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    Some(sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_worked_by_hand() {
        // (1 + 2 + 3)^2 / (3 * (1 + 4 + 9)) = 36 / 42.
        let index = jain(&[1.0, 2.0, 3.0]).expect("shares");
        assert!((index - 36.0 / 42.0).abs() < 1e-15);
        assert!((jain(&[0.0, 5.0, 0.0, 0.0]).expect("shares") - 0.25).abs() < 1e-15);
        assert!((jain(&[1e300, 1e300]).expect("shares") - 1.0).abs() < 1e-15);
        assert_eq!([jain(&[]), jain(&[0.0]), jain(&[1.0, f64::NAN]), jain(&[1.0, -1.0])], [None; 4]);
    }
}
