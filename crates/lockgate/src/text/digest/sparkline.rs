//! Curves of blocks: a flow's delay over the time that statistics cover.

use lockgate_measure::recording::{FlowRecord, Recording};

/// Heights of a block.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Largest delay in each of several equal parts of a run, in seconds; `None` where nothing was received.
pub(super) type Curve = Vec<Option<f64>>;

/// Returns the curve of flows together, in `parts` parts of the time after the warm-up: of each interval the
/// largest 99th percentile, of members that are recorded briefly the largest delay.
pub(super) fn curve<'a>(
    recording: &Recording,
    flows: impl Iterator<Item = &'a FlowRecord>,
    parts: usize,
) -> Curve {
    let start = recording.warmup.as_secs_f64();
    let length = recording.duration.as_secs_f64() - start;
    let mut curve = vec![None; parts];
    let mut add = |end: f64, delay: f64| {
        if end <= start || length <= 0.0 || parts == 0 {
            return;
        }
        // An interval belongs to the part in which it ends; the last one ends with the run.
        let part = ((end - start) / length * parts as f64).ceil() as usize;
        let part: &mut Option<f64> = &mut curve[part.clamp(1, parts) - 1];
        *part = Some(part.map_or(delay, |known| known.max(delay)));
    };
    for flow in flows {
        let series = flow.series();
        for (end, delay) in series.end.iter().zip(&series.owd_p99) {
            if let Some(delay) = delay {
                add(end.as_secs_f64(), delay.as_secs_f64());
            }
        }
        let interval = recording.interval.as_secs_f64();
        for (index, sample) in flow.brief().into_iter().flat_map(|brief| brief.samples.iter().enumerate()) {
            if sample.owd_max_us > 0 {
                add((index + 1) as f64 * interval, f64::from(sample.owd_max_us) / 1e6);
            }
        }
    }
    curve
}

/// Draws a curve on a scale from 0 to `most`.
pub(super) fn draw(curve: &[Option<f64>], most: f64) -> String {
    let block = |delay: &Option<f64>| match delay {
        Some(delay) if most > 0.0 => LEVELS[((delay / most * 8.0) as usize).min(7)],
        _ => ' ',
    };
    curve.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_eighths_of_the_scale() {
        let curve = [Some(0.0), Some(0.124), Some(0.126), None, Some(0.99), Some(1.0)];
        assert_eq!(draw(&curve, 1.0), "▁▁▂ ██");
        assert_eq!(draw(&[Some(0.0)], 0.0), " ");
    }
}
