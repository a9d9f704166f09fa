//! Bounds of a comparison's cells, and the cells that miss them.

use super::Compared;

impl Compared<'_> {
    /// Returns the indices of the metrics whose expectation a variant misses.
    pub(in crate::plans) fn missed(&self, variant: usize) -> Vec<usize> {
        let judged = self.judged.get(variant).map_or(&[][..], Vec::as_slice);
        let metric = |that: &String| self.plan.metrics.iter().position(|path| path == that);
        let missed = judged.iter().filter(|expect| !expect.holds);
        missed.filter_map(|expect| metric(&expect.that)).collect()
    }

    /// Returns the lower and the upper bound of the expectations on a metric.
    pub(in crate::plans) fn bounds(&self, metric: usize) -> [Option<f64>; 2] {
        let path = &self.plan.metrics[metric];
        let all = self.judged.first().map_or(&[][..], Vec::as_slice);
        let of = all.iter().filter(|expect| expect.that == *path);
        let [mut low, mut high] = [None, None];
        for expect in of {
            let [least, most] = [expect.above.or(expect.at_least), expect.below.or(expect.at_most)];
            let [least, most] =
                expect.between.map_or([least, most], |[least, most]| [Some(least), Some(most)]);
            low = [low, least].into_iter().flatten().reduce(f64::max);
            high = [high, most].into_iter().flatten().reduce(f64::min);
        }
        [low, high]
    }
}
