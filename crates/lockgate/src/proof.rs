//! Proofs: bounds on the delays of flows and the backlogs of queues that hold for all traffic within its
//! envelopes, by network calculus.
//!
//! ```text
//! Scenario -> servers and flows (proof/network) -> lockgate_calculus::analyse -> Proof
//!               trees of queues (proof/queues)
//! ```
//!
//! A bound includes what a simulation has: store and forward, propagation, the overhead of frames, device
//! rings, a port's own rate, processors of routers, rounding to picoseconds. What has no theorem has no
//! bound, and a reason.

mod network;
mod queues;

use lockgate_calculus::{Bounds, Derivation, Exact, Network, NoBound, QueueBound, Step, analyse, to_f64};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Instant, Limit};
use lockgate_measure::summary::Summary;
use lockgate_scenario::{Envelope, Scenario, TokenBucket, Transport};
use serde_json::{Map, Value, json};

/// Limit on the flows of a proof.
const MOST_FLOWS: usize = 20_000;

/// Limit on the queues of a port of a proof: each is compared with all others.
const MOST_QUEUES: usize = 1000;

/// Limits on the flows and queues of a scenario whose bounds every run shows.
const CHEAP_FLOWS: usize = 16;
const CHEAP_QUEUES: usize = 64;

/// Proof of a scenario.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The network of the proof.
    pub network: Network,
    /// Its bounds; the flows are those of the scenario.
    pub bounds: Bounds,
    /// Limit of each queue in `bounds`.
    limits: Vec<Option<Limit>>,
    /// Envelope of each flow.
    pub envelopes: Vec<Result<Envelope, NoBound>>,
}

impl Proof {
    /// Returns the bound on the one-way delay of the flow at this index, in seconds.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn delay(&self, flow: usize) -> Result<&Exact, &NoBound> {
        self.bounds.flows[flow].delay.as_ref()
    }

    /// Returns the derivation of the bound of the flow at this index.
    pub fn derivation(&self, flow: usize) -> &Derivation {
        &self.bounds.flows[flow].derivation
    }

    /// Returns each queue with its bound, its name as `port, queue`, the bytes that never overflow, and its
    /// limit if it may overflow.
    pub fn queues(
        &self,
    ) -> impl Iterator<Item = (&QueueBound, String, Result<Bytes, &NoBound>, Option<Limit>)> {
        self.bounds.queues.iter().zip(&self.limits).map(|(bound, limit)| {
            let server = &self.network.servers[bound.server];
            let name = format!("{}, {}", server.name, server.nodes[bound.node].name);
            let bytes = bound.backlog.as_ref().map(bytes_of);
            let overflows = limit.filter(|limit| self.overflows(bound, *limit));
            (bound, name, bytes, overflows)
        })
    }

    /// Returns whether a queue may overflow: its bound exceeds its limit, or it has none.
    fn overflows(&self, bound: &QueueBound, limit: Limit) -> bool {
        let Ok(bits) = &bound.backlog else { return true };
        let bytes = bytes_of(bits).0;
        match limit {
            Limit::Bytes(limit) => bytes > limit.0,
            Limit::Packets(limit) => {
                let flows = self.network.flows.iter().filter(|flow| {
                    flow.hops.iter().any(|hop| (hop.server, hop.node) == (bound.server, bound.node))
                });
                let shortest = flows.map(|flow| bytes_of(&flow.shortest).0).min().unwrap_or(1).max(1);
                bytes.div_ceil(shortest) > limit.0
            }
        }
    }
}

/// Returns frame bits as whole bytes, rounded up.
pub fn bytes_of(bits: &Exact) -> Bytes {
    let bytes = (bits / lockgate_calculus::ratio(8, 1)).ceil().to_integer();
    Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Proves what can be proven of a scenario.
pub fn prove(scenario: &Scenario) -> Proof {
    prove_without(scenario, &[])
}

/// Proves what can be proven of a scenario. Flows have no envelope if one of `excesses`, by their index, says
/// that they do not keep it.
fn prove_without(scenario: &Scenario, excesses: &[Option<String>]) -> Proof {
    let mut model = network::model(scenario, excesses);
    let mut bounds = analyse(&model.network);
    // All flows of the adversary are one to the calculus.
    let all = scenario.adversary.clone();
    if let Some([first, rest @ ..]) = bounds.flows.get_mut(all.clone()) {
        rest.fill(first.clone());
    }
    if let Some([first, rest @ ..]) = model.network.flows.get_mut(all) {
        for flow in rest {
            flow.arrival.clone_from(&first.arrival);
        }
    }
    let limit = |bound: &QueueBound| model.limits.get(bound.server)?.get(bound.node).copied().flatten();
    let limits = bounds.queues.iter().map(limit).collect();
    Proof { network: model.network, bounds, limits, envelopes: model.envelopes }
}

/// Returns why a scenario is too large for a proof.
pub fn too_large(scenario: &Scenario) -> Option<String> {
    let queues = scenario.ports.iter().map(|port| port.tree.queues().len()).max().unwrap_or(0);
    if scenario.flows.len() > MOST_FLOWS {
        return Some(format!(
            "a proof has at most {MOST_FLOWS} flows, and here are {}",
            scenario.flows.len()
        ));
    }
    (queues > MOST_QUEUES)
        .then(|| format!("a proof has at most {MOST_QUEUES} queues a port, and here are {queues}"))
}

/// Returns whether a proof takes no time that a user of a run would notice: a few flows and queues.
fn is_cheap(scenario: &Scenario) -> bool {
    let queues: usize = scenario.ports.iter().map(|port| port.tree.queues().len()).sum();
    scenario.flows.len() <= CHEAP_FLOWS && queues <= CHEAP_QUEUES
}

/// Adds the bounds of the flows and queues to the summary of runs, if an expectation or an observed metric is
/// one, the file states an envelope, or the scenario is small. Of a small one, only flows with a bound are
/// added.
///
/// A flow that sends more than the envelope that its file states, in one of the runs, has no bound, nor have
/// those that need its envelope.
pub(crate) fn add(scenario: &Scenario, summary: &mut Summary, seeds: &[Seed]) {
    let has_envelopes = scenario.flows.iter().any(|flow| flow.envelope.is_some());
    let is_asked = scenario.wants_bounds() || has_envelopes;
    if !is_asked && !is_cheap(scenario) {
        return;
    }
    if let Some(why) = too_large(scenario) {
        summary.flows.values_mut().for_each(|flow| flow.no_bound = Some(why.clone()));
        return;
    }
    let of_flow = |index| seeds.iter().find_map(|seed| excess(scenario, index, *seed));
    let excesses: Vec<Option<String>> = (0..scenario.flows.len()).map(of_flow).collect();
    let proof = prove_without(scenario, &excesses);
    for (index, (flow, excess)) in scenario.flows.iter().zip(&excesses).enumerate() {
        summary.warnings.extend(excess.as_ref().map(|excess| format!("flow `{}` {excess}", flow.name)));
        let Some(results) = summary.flows.get_mut(&flow.name) else { continue };
        let bound = proof.delay(index);
        results.owd_bound_s = bound.as_ref().ok().copied().map(to_f64);
        results.no_bound = bound.err().map(NoBound::to_string).filter(|_| is_asked);
    }
    add_buffers(&proof, summary);
}

/// Adds the buffers that never overflow to the queues of a summary.
fn add_buffers(proof: &Proof, summary: &mut Summary) {
    for (bound, _, bytes, overflows) in proof.queues() {
        let server = &proof.network.servers[bound.server];
        let port = summary.ports.get_mut(&server.name);
        let queue = port.and_then(|port| port.queues.get_mut(&server.nodes[bound.node].name));
        if let (Some(queue), Ok(bytes)) = (queue, bytes) {
            (queue.buffer_bound_bytes, queue.may_overflow) = (Some(bytes.0), overflows.is_some());
        }
    }
}

/// Says how a flow exceeds its stated envelope in the run with `seed`. Reading the file has said so of seed
/// 1.
pub(crate) fn excess(scenario: &Scenario, index: usize, seed: Seed) -> Option<String> {
    let flow = &scenario.flows[index];
    let envelope = flow.envelope.as_ref().filter(|_| flow.transport == Transport::Udp)?;
    let end = scenario.end().since(Instant::ZERO + flow.start);
    envelope.excess(flow.emissions(seed, end)).map(|excess| excess.to_string())
}

/// Returns the bounds and derivations of a scenario as a document: delays in seconds, backlogs in bytes.
pub fn document(scenario: &Scenario, proof: &Proof) -> Value {
    let step = |step: &Step| {
        let server = &proof.network.servers[step.server];
        json!({
            "server": server.name,
            "queue": server.nodes[step.node].name,
            "theorem": step.theorem.name(),
            "source": step.theorem.source(),
            "delay_s": step.delay.as_ref().ok().map(to_f64),
            "no_bound": step.delay.as_ref().err().map(NoBound::as_str),
            "propagation_s": to_f64(&server.propagation),
        })
    };
    let flow = |(index, flow): (usize, &lockgate_scenario::Flow)| {
        let derivation = proof.derivation(index);
        let buckets = proof.envelopes[index].as_ref().ok().map(|envelope| {
            let bucket =
                |one: &TokenBucket| json!({ "rate_bps": one.rate.as_bits(), "burst_bytes": one.burst.0 });
            envelope.buckets.iter().map(bucket).collect::<Vec<_>>()
        });
        let bound = json!({
            "owd_bound_s": proof.delay(index).ok().map(to_f64),
            "no_bound": proof.delay(index).err().map(NoBound::as_str),
            "envelope": buckets,
            "total_flow_s": derivation.total.as_ref().map(to_f64),
            "separate_flow_s": derivation.separate.as_ref().map(to_f64),
            "steps": derivation.steps.iter().map(step).collect::<Vec<_>>(),
        });
        (flow.name.clone(), bound)
    };
    let flows: Map<String, Value> = scenario.flows.iter().enumerate().map(flow).collect();
    let queue = |(_, name, bytes, overflows): (
        &QueueBound,
        String,
        Result<Bytes, &NoBound>,
        Option<Limit>,
    )| {
        let limit = json!({ "backlog_bytes": bytes.ok().map(|bytes| bytes.0), "no_bound": bytes.err().map(NoBound::as_str), "may_overflow": overflows.is_some() });
        (name, limit)
    };
    let queues: Map<String, Value> = proof.queues().map(queue).collect();
    json!({ "flows": flows, "queues": queues })
}
