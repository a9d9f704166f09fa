//! Two looks at the kernel's queues: rates, counters and reasons as a table or a document.

use std::thread;
use std::time::{Duration, Instant};

use lockgate::text::{Cell, Column, Grid};
use lockgate_measure::figures;
use lockgate_measure::monitor::QueueSample;
use lockgate_tc::kernel::{Branch, HtbStatistics, Looks, OwnStatistics, Tree};
use serde_json::{Value, json};

use super::error::KernelError;
use super::look::Kernel;

/// Version of the document.
const SCHEMA: u32 = 1;

/// Two looks, and what lies between them.
pub struct Once {
    trees: Vec<Tree>,
    /// Rates of each tree's queues.
    rates: Vec<Vec<QueueSample>>,
    /// Time between the looks, in seconds.
    interval_s: f64,
    /// Time of a processor that the second look took, in seconds.
    pub cost_s: f64,
}

impl Once {
    /// Takes two looks at this interval.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn take(mut kernel: Kernel, interval: Duration) -> Result<Self, KernelError> {
        let start = Instant::now();
        let mut looks = Looks::default();
        let mut look = || {
            let look = kernel.look()?;
            kernel.trees().for_each(|tree| looks.look(tree));
            let sample = looks.close(kernel.trees(), (look.at - start).as_secs_f64());
            Ok::<_, KernelError>((sample, look.cost.as_secs_f64()))
        };
        look()?;
        thread::sleep(interval);
        let (sample, cost_s) = look()?;
        let trees = kernel.trees().cloned().collect();
        let rates = sample
            .ports
            .into_iter()
            .map(|port| port.queues.into_iter().filter(|queue| queue.kind != "tin").collect())
            .collect();
        Ok(Self { trees, rates, interval_s: sample.interval_s, cost_s })
    }

    /// Returns the number of queues.
    pub fn queue_count(&self) -> usize {
        self.trees.iter().map(|tree| tree.queues.len()).sum()
    }

    /// Returns the document of `tc -s -j qdisc show`, its options left out.
    ///
    /// # Errors
    /// Only by a fault of Lockgate.
    pub fn disciplines(&self) -> Result<Vec<Value>, KernelError> {
        let mut all = Vec::new();
        for tree in &self.trees {
            all.extend(tree.disciplines()?);
        }
        Ok(all)
    }

    /// Returns the document of devices and queues.
    ///
    /// # Errors
    /// Only by a fault of Lockgate.
    pub fn document(&self) -> Result<Value, KernelError> {
        let devices: Vec<Value> = self
            .trees
            .iter()
            .zip(&self.rates)
            .map(|(tree, rates)| device(tree, rates))
            .collect::<Result<_, _>>()?;
        Ok(json!({
            "schema": SCHEMA,
            "interval_s": self.interval_s,
            "look_s": self.cost_s,
            "devices": devices,
        }))
    }

    /// Returns a table with a row for each queue; `None` if there is none.
    pub fn grid(&self) -> Option<Grid> {
        if self.trees.is_empty() {
            return None;
        }
        let mut grid = Grid::new(vec![
            Column::name("queue"),
            Column::name("kind").rank(7),
            Column::number("now"),
            Column::number("packets"),
            Column::number("backlog"),
            Column::number("dropped"),
            Column::number("overlimits").rank(5),
            Column::number("lends/s").rank(4),
            Column::number("borrows/s").rank(4),
            Column::number("delay").rank(6),
            Column::name("why").rank(3),
        ]);
        for (tree, rates) in self.trees.iter().zip(&self.rates) {
            for ((branch, rate), why) in tree.queues.iter().zip(rates).zip(reasons(tree, rates)) {
                grid.row(row(tree, branch, rate, why.unwrap_or_default()).iter().map(Cell::from));
            }
        }
        Some(grid)
    }
}

/// Returns for each queue the reason why its packets wait.
fn reasons(tree: &Tree, rates: &[QueueSample]) -> Vec<Option<String>> {
    let sent: Vec<f64> = rates.iter().map(|rate| rate.sent_bps).collect();
    (0..tree.queues.len()).map(|index| Some(tree.reason(index, &sent)?.to_string())).collect()
}

fn device(tree: &Tree, rates: &[QueueSample]) -> Result<Value, KernelError> {
    let mut document = serde_json::to_value(tree)?;
    let queues = document.get_mut("queues").and_then(Value::as_array_mut);
    for ((queue, rate), why) in queues.into_iter().flatten().zip(rates).zip(reasons(tree, rates)) {
        let Some(queue) = queue.as_object_mut() else { continue };
        queue.insert("sent_bps".to_owned(), json!(rate.sent_bps));
        let gauges: serde_json::Map<String, Value> =
            rate.gauges.iter().map(|(name, value)| (name.clone().into_owned(), json!(value))).collect();
        queue.insert("figures".to_owned(), Value::Object(gauges));
        if let Some(why) = why {
            queue.insert("why".to_owned(), json!(why));
        }
    }
    Ok(document)
}

fn row(tree: &Tree, Branch { queue, depth, .. }: &Branch, rate: &QueueSample, why: String) -> Vec<String> {
    let name = if *depth == 0 {
        format!("{} {}", tree.device, queue.name())
    } else {
        format!("{}{}", "  ".repeat(*depth), queue.name())
    };
    let counts = &queue.statistics.queue;
    let gauge = |name: &str| {
        let found = rate.gauges.iter().find(|(gauge, _)| gauge == name);
        found.map_or_else(String::new, |(_, value)| format!("{value:.0}"))
    };
    let is_htb = matches!(queue.statistics.own, OwnStatistics::Htb(HtbStatistics { .. }));
    vec![
        name,
        rate.kind.clone().into_owned(),
        figures::rate(Some(rate.sent_bps)),
        rate.total.sent_packets.to_string(),
        format!("{}p", counts.backlog_packets),
        rate.total.dropped_packets.to_string(),
        counts.overlimits.to_string(),
        if is_htb { gauge("lends_per_s") } else { String::new() },
        if is_htb { gauge("borrows_per_s") } else { String::new() },
        rate.sojourn_mean_s.map_or_else(String::new, |delay| figures::seconds(Some(delay))),
        why,
    ]
}
