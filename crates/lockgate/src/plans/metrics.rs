//! Metrics kept of a plan's runs: those requested, or those of the scenario's expectations, or of its flows.

use lockgate_measure::metric::{MetricError, Names, Quantity, check_path};
use lockgate_scenario::{Scenario, Transport};

use super::PlanError;

/// Limit on the flows that default metrics are made of.
const MOST_FLOWS: usize = 4;

/// Requested metrics, and whether any variant so far has them.
pub struct Wanted {
    metrics: Vec<String>,
    is_default: bool,
    /// Reason why the variants so far lack a metric; `None` if one has it.
    lacks: Vec<Option<MetricError>>,
}

impl Wanted {
    /// Creates the metrics at these addresses, each with ports in the spelling with a colon; without any, the
    /// default ones of the first variant.
    pub fn new(show: &[String]) -> Self {
        let metrics: Vec<String> = show
            .iter()
            .map(|path| Quantity::parse(path).map_or_else(|_| path.clone(), |quantity| quantity.to_string()))
            .collect();
        Self { is_default: metrics.is_empty(), lacks: Vec::new(), metrics }
    }

    /// Records which metrics this variant has.
    pub fn look_in(&mut self, variant: &Scenario) {
        if self.is_default && self.metrics.is_empty() {
            self.metrics = default(variant);
        }
        let flows: Vec<String> = variant.flows.iter().map(|flow| flow.name.clone()).collect();
        let queues = |port: &lockgate_scenario::PortModel| {
            port.queues.iter().map(|queue| queue.as_str().to_owned()).collect::<Vec<_>>()
        };
        let ports: Vec<_> = variant.ports.iter().map(|port| (port.name.clone(), queues(port))).collect();
        let names = Names { flows: &flows, ports: &ports };
        let found =
            self.metrics.iter().map(|path| check_path(path, &names).err().or_else(|| outside(path, variant)));
        self.lacks = match self.lacks.as_slice() {
            [] => found.collect(),
            known => known.iter().zip(found).map(|(known, now)| known.clone().and(now)).collect(),
        };
    }

    /// Returns the metrics.
    ///
    /// # Errors
    /// If no variant has one of them.
    pub fn found(self) -> Result<Vec<String>, PlanError> {
        match self.lacks.iter().flatten().next() {
            Some(error) => Err(PlanError::Metric(error.clone())),
            None => Ok(self.metrics),
        }
    }
}

/// Returns the reason why a scenario's runs have no such part, if a metric names one that they lack.
fn outside(path: &str, variant: &Scenario) -> Option<MetricError> {
    let quantity = Quantity::parse(path).ok()?;
    let mut parts = quantity.addresses().filter_map(|address| address.during);
    let why = parts.find_map(|part| part.outside(variant.warmup, variant.duration))?;
    Some(MetricError::Unknown { path: path.to_owned(), why, nearest: None })
}

/// Returns the metrics of the expectations, each once; of a scenario without any, the p99 delay of its first
/// flows, and the goodput of those over TCP.
fn default(scenario: &Scenario) -> Vec<String> {
    let mut metrics: Vec<String> = Vec::new();
    for expect in &scenario.expects {
        if !metrics.contains(&expect.that) {
            metrics.push(expect.that.clone());
        }
    }
    if !metrics.is_empty() {
        return metrics;
    }
    let sent =
        scenario.flows.iter().filter(|flow| matches!(flow.transport, Transport::Udp | Transport::Tcp(_)));
    for flow in sent.take(MOST_FLOWS) {
        metrics.push(format!("flow.{}.owd.p99", flow.name));
        metrics.push(format!("flow.{}.goodput", flow.name));
    }
    metrics
}
