//! Exact rational numbers, and their conversions.

use num_rational::BigRational;

/// Exact rational number of any size.
pub type Exact = BigRational;

/// Picoseconds a second.
const PICOS: u64 = 1_000_000_000_000;

/// Returns `numerator / denominator`; a denominator of zero counts as one.
pub fn ratio(numerator: u64, denominator: u64) -> Exact {
    Exact::new(numerator.into(), denominator.max(1).into())
}

/// Returns picoseconds as seconds.
pub fn seconds(picos: u64) -> Exact {
    ratio(picos, PICOS)
}

/// Returns the nearest number that a float can show to nine digits, for printing.
pub fn to_f64(exact: &Exact) -> f64 {
    // Scaled, so that numerators and denominators of any length give a finite float.
    let scaled = (exact * ratio(PICOS, 1)).round().to_integer();
    scaled.to_string().parse::<f64>().unwrap_or(f64::INFINITY) / PICOS as f64
}

pub(crate) fn zero() -> Exact {
    ratio(0, 1)
}

/// Returns the number, or zero if it is negative.
pub(crate) fn positive(exact: Exact) -> Exact {
    exact.max(zero())
}

/// Sorts and removes duplicates and negative numbers.
pub(crate) fn instants(mut all: Vec<Exact>) -> Vec<Exact> {
    all.retain(|at| *at >= zero());
    all.sort();
    all.dedup();
    all
}
