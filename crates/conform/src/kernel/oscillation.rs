//! Period of an oscillating series, by its autocorrelation.

/// Least correlation of an oscillating series with itself one period later. Of 1000 series of 58 independent
/// values, 2.5 % reach it at some lag.
const LEAST_CORRELATION: f64 = 0.5;

/// Returns the period of a series, in steps, if it oscillates: it falls below half of its highest value, and
/// its autocorrelation comes back to a peak after it has been negative. The period is the lag of this peak,
/// interpolated by a parabola.
pub(super) fn period(series: &[f64]) -> Option<f64> {
    let extremes = |(low, high): (f64, f64), value: &f64| (low.min(*value), high.max(*value));
    let (low, high) = series.iter().fold((f64::INFINITY, f64::NEG_INFINITY), extremes);
    if series.is_empty() || low >= high / 2.0 {
        return None;
    }
    // A longer period would be seen less than twice.
    let longest = series.len() / 2;
    let lags: Vec<f64> = (0..=longest + 1).map(|lag| correlation(series, lag)).collect();
    let falls = lags.iter().position(|correlation| *correlation < 0.0)?;
    let is_peak = |lag: &usize| {
        let around = lags.get(lag - 1..=lag + 1);
        around.is_some_and(|around| around[1] > around[0].max(LEAST_CORRELATION) && around[1] >= around[2])
    };
    let lag = (falls + 1..=longest).find(is_peak)?;
    let [before, at, after] = [lags[lag - 1], lags[lag], lags[lag + 1]];
    Some(lag as f64 + 0.5 * (before - after) / (before - 2.0 * at + after))
}

/// Returns the correlation of a series with the same series `lag` steps later, over their common part; 0 if
/// one of both is constant there.
fn correlation(series: &[f64], lag: usize) -> f64 {
    let count = series.len().saturating_sub(lag);
    let (early, late) = (&series[..count], &series[series.len() - count..]);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let (early_mean, late_mean) = (mean(early), mean(late));
    let (mut product, mut squares) = (0.0, [0.0, 0.0]);
    for (one, other) in early.iter().zip(late) {
        let (one, other) = (one - early_mean, other - late_mean);
        product += one * other;
        squares[0] += one * one;
        squares[1] += other * other;
    }
    let scale = libm::sqrt(squares[0] * squares[1]);
    if scale > 0.0 { product / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oscillation_has_its_period() {
        // Its first swing is the largest, as that of CoDel under a flood.
        let wave = |period: f64, count: u32| -> Vec<f64> {
            let swing = |second: f64| libm::sin(second * core::f64::consts::TAU / period);
            (0..count)
                .map(f64::from)
                .map(|second| (100.0 + 90.0 * swing(second)) * (1.0 + libm::exp(-second / 5.0)))
                .collect()
        };
        for expected in [4.3, 7.0, 9.5] {
            let found = period(&wave(expected, 28)).expect("it oscillates");
            assert!((found / expected - 1.0).abs() < 0.08, "{found} for {expected}");
        }
        assert_eq!(period(&wave(20.0, 28)), None, "less than two periods");
    }

    #[test]
    fn noise_ramps_and_constants_have_none() {
        let noise: Vec<f64> = (1..=58_u32).map(|k| f64::from(k.wrapping_mul(k * 40_503) % 1_000)).collect();
        assert_eq!(period(&noise), None);
        let ramp: Vec<f64> = (1..=28_u32).map(f64::from).collect();
        assert_eq!(period(&ramp), None);
        // A start-up that settles has local maxima, but none of them returns.
        let settles =
            [3.8, 4.1, 4.4, 6.8, 17.6, 14.8, 15.8, 16.8, 15.4, 15.4, 15.9, 15.6, 16.3, 17.2, 15.0, 15.1];
        assert_eq!(period(&settles), None);
        assert_eq!(period(&[5.0; 28]), None);
        assert_eq!(period(&[]), None);
        assert_eq!(period(&[1.0, 9.0]), None);
    }
}
