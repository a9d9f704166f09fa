//! Sentence of a comparison on where packets wait, for the chosen variant and another.

use lockgate_measure::figures;
use lockgate_measure::verdict::Wait;

use super::Compared;

/// Longest wait of a variant over its seeds.
#[derive(Clone, Debug, PartialEq)]
struct VariantWait<'a> {
    variant: usize,
    /// The wait of one seed; its index is the variant's.
    at: &'a Wait,
    /// Mean over the seeds in which packets waited longest there.
    mean_s: f64,
    /// Number of those seeds.
    seeds: usize,
}

impl Compared<'_> {
    /// Adds the longest wait of each run, in the order of the tasks.
    #[must_use]
    pub fn waiting(self, waits: Vec<Option<Wait>>) -> Self {
        Self { waits, ..self }
    }

    /// Returns the sentence on where packets of the chosen variant wait, and how long they wait in the
    /// variant of the longest wait; without a choice, on that alone. `None` if nothing is known of the waits.
    pub(super) fn longest_waits(&self, chosen: Option<usize>) -> Option<String> {
        let all: Vec<VariantWait<'_>> =
            (0..self.variants.len()).filter_map(|variant| self.longest_wait(variant)).collect();
        let first = match chosen {
            Some(chosen) => Some(all.iter().find(|one| one.variant == chosen)?),
            None => None,
        };
        // Of equal ones the first.
        let others = all.iter().rev().filter(|one| first.is_none_or(|first| one.variant != first.variant));
        let longest = others.max_by(|one, other| one.mean_s.total_cmp(&other.mean_s));
        let told =
            |one: &VariantWait<'_>| format!("{} {}", one.at.statistic, figures::seconds(Some(one.mean_s)));
        let seeds = self.plan.seeds.len();
        let over = |one: &VariantWait<'_>| match one.seeds {
            _ if seeds == 1 => String::new(),
            all if all == seeds => ", mean over the seeds".to_owned(),
            some => format!(", mean over {some} of {seeds} seeds"),
        };
        let Some(first) = first else {
            let one = longest?;
            let (name, queue) = (self.name(one.variant), one.at.queue_in_words());
            return Some(format!("Packets wait longest with {name}: {} in {queue}{}.", told(one), over(one)));
        };
        let (name, queue) = (self.name(first.variant), first.at.queue_in_words());
        let text = format!("With {name} packets wait longest in {queue}: {}{}", told(first), over(first));
        let Some(other) = longest else { return Some(format!("{text}.")) };
        // Variants often differ in the queues of a port.
        let is_there = other.at.port == first.at.port;
        let queue_in_words =
            if is_there { String::new() } else { format!(" in {}", other.at.queue_in_words()) };
        let over = if other.seeds == first.seeds { String::new() } else { over(other) };
        Some(format!("{text}; with {}: {}{queue_in_words}{over}.", self.name(other.variant), told(other)))
    }

    /// Returns the longest wait of a variant: of the queue where packets wait longest in most of its seeds.
    fn longest_wait(&self, variant: usize) -> Option<VariantWait<'_>> {
        let seeds = self.plan.seeds.len().max(1);
        let waits: Vec<&Wait> = self.waits.chunks(seeds).nth(variant)?.iter().flatten().collect();
        let at_same = |one: &Wait| -> Vec<f64> {
            let key = |wait: &Wait| (wait.port.clone(), wait.queue.clone(), wait.statistic);
            let same = waits.iter().filter(|other| key(other) == key(one));
            same.map(|other| other.wait_s).collect()
        };
        // Of queues that are equally often the longest, the first seed's.
        let at = waits.iter().rev().max_by_key(|one| at_same(one).len())?;
        let values = at_same(at);
        let mean_s = values.iter().sum::<f64>() / values.len().max(1) as f64;
        Some(VariantWait { variant, at, mean_s, seeds: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use lockgate_experiment::{Plan, Row};
    use lockgate_scenario::Vary;

    use super::*;

    fn wait(port: &str, queue: &str, wait_s: f64) -> Wait {
        let (kind, queue) = (queue.to_owned(), queue.to_owned());
        Wait { port: port.to_owned(), queue, kind, statistic: "p99", wait_s }
    }

    /// Returns the last sentence of the decision on three variants with two seeds each, of these delays and
    /// waits.
    fn told(delays: [f64; 3], waits: Vec<Option<Wait>>) -> String {
        let plan = Plan {
            vary: vec![Vary::parse("port.isp:modem.root=fifo,cake,htb").expect("a variation")],
            seeds: vec![1, 2],
            metrics: vec!["flow.call.owd.p99".to_owned()],
            ..Plan::default()
        };
        let variants = plan.variants().expect("variants");
        let rows: Vec<Row> =
            delays.into_iter().flat_map(|delay| [vec![Some(delay)], vec![Some(delay * 1.001)]]).collect();
        let compared = Compared::new(&plan, "t", &variants, &rows, None).waiting(waits);
        compared.decision().pop().unwrap_or_default()
    }

    #[test]
    fn the_chosen_variant_is_told_beside_the_one_of_the_longest_wait() {
        let [fifo, cake, htb] =
            [("fifo", 0.947), ("cake", 0.0179), ("htb", 0.0205)].map(|(queue, seconds)| {
                [seconds - 1e-3, seconds + 1e-3].map(|seconds| Some(wait("isp:modem", queue, seconds)))
            });
        let waits = [fifo, cake, htb].concat();
        assert_eq!(
            told([0.9, 0.015, 0.02], waits.clone()),
            "With cake (#2) packets wait longest in the cake at isp:modem: p99 17.9 ms, mean over the seeds; with fifo \
             (#1): p99 947 ms."
        );
        // Without a choice, the longest alone.
        assert_eq!(
            told([0.02; 3], waits),
            "Packets wait longest with fifo (#1): p99 947 ms in the fifo at isp:modem, mean over the seeds."
        );
    }

    #[test]
    fn a_place_that_differs_is_named_and_seeds_without_it_are_counted() {
        let waits = vec![
            Some(wait("modem:isp", "fifo", 0.5)),
            Some(wait("modem:isp", "fifo", 0.7)),
            None,
            Some(wait("isp:modem", "fair", 0.01)),
            None,
            None,
        ];
        assert_eq!(
            told([0.9, 0.015, 0.9], waits),
            "With cake (#2) packets wait longest in the fair at isp:modem: p99 10.0 ms, mean over 1 of 2 seeds; with fifo \
             (#1): p99 600 ms in the fifo at modem:isp, mean over the seeds."
        );
    }

    #[test]
    fn nothing_is_said_of_waits_that_are_not_known() {
        for waits in [Vec::new(), vec![None; 6]] {
            assert!(!told([0.9, 0.015, 0.02], waits).contains("wait"));
        }
        // Of the chosen one nothing is known.
        let first = vec![Some(wait("a:b", "fifo", 1.0)), None, None, None, None, None];
        assert!(!told([0.9, 0.015, 0.02], first).contains("wait"));
    }
}
