use lockgate_engine::random::{Random, Seed};

use super::*;

/// Values over many octaves, with ties and extremes.
fn values(count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::stream(Seed(seed), "histogram");
    (0..count)
        .map(|_| {
            let bits = u64::from(random.bits()) << 32 | u64::from(random.bits());
            bits >> random.below(64)
        })
        .collect()
}

fn of<const SUB: usize>(values: &[u64]) -> Histogram<SUB> {
    let mut histogram = Histogram::new();
    for value in values {
        histogram.record(*value);
    }
    histogram
}

fn check_quantiles<const SUB: usize>(values: &[u64]) {
    let histogram = of::<SUB>(values);
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    for thousandth in 0..=1000 {
        // Nearest rank in whole numbers: ceil(n * q).
        let rank = (sorted.len() * thousandth).div_ceil(1000).max(1);
        let exact = sorted[rank - 1];
        let value = histogram.quantile(thousandth as f64 / 1000.0).expect("values");
        let error = value.abs_diff(exact) as f64;
        let bound = if sorted.len() <= EXACT { 0.0 } else { exact as f64 * Histogram::<SUB>::RELATIVE_ERROR };
        assert!(error <= bound, "{thousandth}: {value}, exactly {exact}, off by {error} of {bound}");
    }
    assert_eq!(histogram.min(), sorted.first().copied());
    assert_eq!(histogram.max(), sorted.last().copied());
    assert_eq!(histogram.sum(), sorted.iter().map(|value| u128::from(*value)).sum::<u128>());
}

#[test]
fn quantiles_keep_to_their_stated_error() {
    for count in [1, 2, 7, EXACT, EXACT + 1, 5_000] {
        check_quantiles::<512>(&values(count, count as u64));
        check_quantiles::<16>(&values(count, count as u64));
    }
    // Both ends of every bucket's range, at every octave.
    let mut edges: Vec<u64> =
        (0..64).flat_map(|bit| [1u64 << bit, (1u64 << bit) - 1, (1u64 << bit) + 1]).collect();
    edges.push(u64::MAX);
    check_quantiles::<512>(&edges);
    check_quantiles::<16>(&edges);
}

#[test]
fn merged_parts_are_the_whole() {
    for (left, right) in [(0, 5), (5, 0), (60, 60), (64, 65), (300, 3), (3, 300), (4_000, 3_000)] {
        let all = values(left + right, 3);
        let whole = of::<512>(&all);
        let mut merged = of::<512>(&all[..left]);
        merged.merge(&of(&all[left..]));
        assert_eq!(merged, whole, "{left} + {right}");
        let mut batched = Histogram::<512>::new();
        all.chunks(64).for_each(|chunk| batched.record_all(chunk));
        assert_eq!(batched, whole, "{left} + {right}");
    }
}

#[test]
fn moments_are_exact_where_floats_would_cancel() {
    // 2, 4, 4, 4, 5, 5, 7, 9 has standard deviation 2, wherever it is shifted to.
    for shift in [0, 1_000_000_000_000_000] {
        let shifted: Vec<u64> = [2, 4, 4, 4, 5, 5, 7, 9].iter().map(|value| value + shift).collect();
        let histogram = of::<512>(&shifted);
        assert!((histogram.std().expect("values") - 2.0).abs() < 1e-12);
        assert!((histogram.mean().expect("values") - (5 + shift) as f64).abs() < 1e-3);
    }
    // Beyond what 128 bits hold: no panic.
    assert!(of::<512>(&[u64::MAX; 300]).std().is_some());
}

#[test]
fn a_batch_has_the_moments_of_its_values_one_by_one() {
    // Around the limits of halves, of what a word holds, and of signs; as many as a batch has, and as few as
    // one.
    let limits = [0, 1, (1 << 32) - 1, 1 << 32, (1 << 58) - 1, 1 << 58, (1 << 63) - 1, 1 << 63, u64::MAX];
    for (index, limit) in limits.into_iter().enumerate() {
        for count in [1, 2, 3, 63, 64, 65, 200] {
            let mixed = |number: usize| limits[number * 7 % (index + 1)] ^ u64::from(number % 5 == 4);
            let batches: [Vec<u64>; 3] =
                [vec![limit; count], (0..count).map(mixed).collect(), (0..count).map(mixed).rev().collect()];
            for values in batches {
                let mut together = Histogram::<512>::new();
                together.record_batch(&[], &Moments::of(&[]));
                together.record_all(&values);
                assert_eq!(together, of(&values), "{count} values up to {limit}");
            }
        }
    }
}

#[test]
fn cleared_is_new() {
    let mut histogram = of::<16>(&values(1_000, 9));
    histogram.clear();
    assert_eq!(histogram, Histogram::new());
    assert_eq!((histogram.quantile(0.5), histogram.mean(), histogram.min()), (None, None, None));
    histogram.record(7);
    assert_eq!(histogram.quantile(0.5), Some(7));
    // Few and many in turn, in the memory of the one before.
    for count in [20, 3_000, 5, 128, 129, 700] {
        histogram.clear();
        for value in values(count, 11) {
            histogram.record(value);
        }
        let fresh = of::<16>(&values(count, 11));
        let wanted = [0.0, 0.01, 0.5, 0.9, 0.99, 1.0];
        assert_eq!(histogram.buckets(), fresh.buckets(), "{count}");
        assert_eq!(histogram.quantiles_in_place(wanted), fresh.quantiles(wanted), "{count}");
    }
    assert_eq!(Histogram::<16>::new().quantiles_in_place([0.5]), None);
}

#[test]
fn a_cdf_rises_to_one_and_holds_at_its_points() {
    let all = values(20_000, 5);
    let points = of::<512>(&all).cdf(200);
    assert!(points.len() <= 200 && points.len() > 100, "{}", points.len());
    assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
    assert_eq!(points.last(), Some(&(*all.iter().max().expect("values"), 1.0)));
    // The tail keeps its resolution: some point has less than one value in a thousand above it.
    assert!(points.iter().any(|point| (0.999..1.0).contains(&point.1)));
    for (value, fraction) in points {
        let top = (value as f64 * (1.0 + Histogram::<512>::RELATIVE_ERROR)) as u64;
        let bottom = (value as f64 * (1.0 - Histogram::<512>::RELATIVE_ERROR)) as u64;
        let share =
            |bound: u64| all.iter().filter(|other| **other <= bound).count() as f64 / all.len() as f64;
        assert!(share(bottom) <= fraction && fraction <= share(top) + 1e-12, "{value}: {fraction}");
    }
    assert!(Histogram::<512>::new().cdf(10).is_empty());
}

#[test]
fn a_density_integrates_to_the_share_above_zero() {
    let mut all = values(10_000, 8);
    all.extend(vec![0; 10_000]);
    let histogram = of::<512>(&all);
    let positive = all.iter().filter(|value| **value > 0).count() as f64 / all.len() as f64;
    let bins = histogram.density(60);
    assert!(bins.len() <= 60 && bins.len() > 50);
    let ratio = bins[1].0 / bins[0].0;
    let width = |centre: f64| centre * (ratio.sqrt() - 1.0 / ratio.sqrt());
    let integral: f64 = bins.iter().map(|(centre, density)| density * width(*centre)).sum();
    assert!((integral - positive).abs() < 1e-6, "{integral} of {positive}");
    assert_eq!(of::<512>(&[5, 5, 5]).density(10).len(), 1);
}

#[test]
fn a_bucket_counts_beyond_sixteen_bits() {
    let mut one_by_one = Histogram::<16>::new();
    for _ in 0..200_000 {
        one_by_one.record(7);
    }
    one_by_one.record(1 << 40);
    assert_eq!(one_by_one.buckets(), [(7, 200_000), (1 << 40, 1)]);
    let mut batches = Histogram::<16>::new();
    batches.record_all(&vec![7; 131_071]);
    let mut rest = Histogram::<16>::new();
    rest.record_all(&vec![7; 68_929]);
    rest.record(1 << 40);
    batches.merge(&rest);
    assert_eq!(batches, one_by_one);
}
