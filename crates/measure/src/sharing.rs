//! Processor sharing: completion times of files if a link were shared equally among them at every moment.
//!
//! ```text
//! v(t)   bytes that each file in progress has received:   dv/dt = rate / (files in progress at t)
//! a file that starts at s with x bytes is done when v(t) = v(s) + x
//! ```
//!
//! The computation is exact, without time steps. Between two events (start or end of a file) `v` grows
//! linearly, so each event's time takes one division. Files are fluid: no packets, no headers beyond those
//! counted in, no round trips.
//!
//! Source: Kleinrock, Time-shared systems: a theoretical treatment, Journal of the ACM 14, 1967.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A file to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Start, in seconds.
    pub start: f64,
    /// Size; `None` for a transfer without end, which only takes its share.
    pub bytes: Option<f64>,
}

/// The end of a job: the value of `v` at which it is done.
struct Due {
    reading: f64,
    job: usize,
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        self.reading.total_cmp(&other.reading).then(self.job.cmp(&other.job))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}

/// Computes the completion time of each job if all share `rate` (bytes per second) equally, in seconds from
/// its start, in the order of `jobs`, which need not be sorted by time. `None` for a transfer without end,
/// and for all jobs if the rate is not positive and finite.
pub fn processor_sharing(jobs: &[Job], rate: f64) -> Vec<Option<f64>> {
    let mut taken = vec![None; jobs.len()];
    if rate <= 0.0 || !rate.is_finite() {
        return taken;
    }
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by(|one, other| jobs[*one].start.total_cmp(&jobs[*other].start));
    let mut arriving = order.into_iter().peekable();
    let mut waiting: BinaryHeap<Reverse<Due>> = BinaryHeap::new();
    let (mut now, mut reading, mut endless) = (0.0, 0.0, 0_usize);
    loop {
        let sharers = (waiting.len() + endless) as f64;
        let next = arriving.peek().map_or(f64::INFINITY, |job| jobs[*job].start);
        let done = waiting.peek().map(|Reverse(due)| now + (due.reading - reading) * sharers / rate);
        if let Some(done) = done.filter(|done| *done <= next) {
            let Some(Reverse(due)) = waiting.pop() else { return taken };
            (now, reading) = (done, due.reading);
            taken[due.job] = Some(now - jobs[due.job].start);
        } else {
            let Some(job) = arriving.next() else { return taken };
            if sharers > 0.0 {
                reading += (next - now) * rate / sharers;
            } else {
                // No job is in progress: resetting keeps the values of `v` small.
                reading = 0.0;
            }
            now = next;
            match jobs[job].bytes {
                Some(bytes) => waiting.push(Reverse(Due { reading: reading + bytes, job })),
                None => endless += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(taken: &[Option<f64>], expected: &[Option<f64>]) {
        assert_eq!(taken.len(), expected.len());
        for (one, other) in taken.iter().zip(expected) {
            let alike = match (one, other) {
                (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * other.abs().max(1e-9),
                (one, other) => one.is_none() && other.is_none(),
            };
            assert!(alike, "{taken:?} is not {expected:?}");
        }
    }

    fn job(start: f64, bytes: f64) -> Job {
        Job { start, bytes: Some(bytes) }
    }

    #[test]
    fn a_batch_worked_by_hand() {
        // 100 B/s. Three files share until each has 100 B: 3 s. Two share until each has 200 B: 2 s more.
        // Then one.
        let jobs = [job(0.0, 300.0), job(0.0, 100.0), job(0.0, 200.0)];
        close(&processor_sharing(&jobs, 100.0), &[Some(6.0), Some(3.0), Some(5.0)]);
    }

    #[test]
    fn starts_worked_by_hand() {
        // The first has 100 of its 200 B after 1 s. Then both get 50 B/s: the second is done 2 s later, as
        // is the first. The third is alone.
        let jobs = [job(10.0, 50.0), job(0.0, 200.0), job(1.0, 100.0)];
        close(&processor_sharing(&jobs, 100.0), &[Some(0.5), Some(3.0), Some(2.0)]);
    }

    #[test]
    fn one_that_never_ends_takes_its_share() {
        let jobs = [Job { start: 0.0, bytes: None }, job(5.0, 100.0)];
        close(&processor_sharing(&jobs, 100.0), &[None, Some(2.0)]);
        close(&processor_sharing(&jobs, 0.0), &[None, None]);
        close(&processor_sharing(&[job(7.0, 0.0)], 100.0), &[Some(0.0)]);
    }

    /// The recursion of a static batch of n files with rising sizes x:
    /// `T[i] = T[i-1] + (x[i] - x[i-1]) (n - i + 1) / rate`.
    #[test]
    fn a_batch_keeps_the_recursion() {
        let sizes: Vec<f64> = (0..381_u32).map(|file| f64::from(1000 + file * file * 27)).collect();
        let jobs: Vec<Job> = sizes.iter().map(|size| job(0.0, *size)).collect();
        let (mut time, mut before, mut expected) = (0.0, 0.0, Vec::new());
        for (index, size) in sizes.iter().enumerate() {
            time += (size - before) * (sizes.len() - index) as f64 / 125_000.0;
            before = *size;
            expected.push(Some(time));
        }
        close(&processor_sharing(&jobs, 125_000.0), &expected);
    }
}
