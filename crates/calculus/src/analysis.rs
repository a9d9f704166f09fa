//! Analysis of a network: total flow analysis server by server, then separate flow analysis.

use crate::arrival::Arrival;
use crate::disciplines::{Station, Term, Visitor};
use crate::exact::{Exact, ratio, zero};
use crate::network::{Flow, Kind, Network};
use crate::no_bound::NoBound;
use crate::order::order;
use crate::others::Others;
use crate::service::Service;
use crate::station::{Left, QueueBound};
use crate::theorem::Theorem;

/// Rounds after which a cycle that does not settle has no bound.
const MOST_ROUNDS: usize = 400;

/// Rounds in which what a round adds must fall by a sixth.
const RISING_ROUNDS: usize = 20;

/// Bounds of a network.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// By flow.
    pub flows: Vec<FlowBound>,
    /// By queue that takes packets, in the order of the analysis.
    pub queues: Vec<QueueBound>,
}

/// Bound of a flow.
#[derive(Clone, Debug)]
pub struct FlowBound {
    /// Delay from the source to the arrival of the last bit in seconds, or why there is none.
    pub delay: Result<Exact, NoBound>,
    /// Its derivation.
    pub derivation: Derivation,
}

/// Derivation of a bound.
#[derive(Clone, Debug, Default)]
pub struct Derivation {
    /// Steps, in the order of the path.
    pub steps: Vec<Step>,
    /// Sum over the servers, if each has a bound.
    pub total: Option<Exact>,
    /// Bound by convolution, if each server leaves the flow a service.
    pub separate: Option<Exact>,
    /// Rate and latency of that convolution: its fastest piece.
    pub convolution: Option<(Exact, Exact)>,
    /// True if a server of its path is on or behind a cycle: its arrivals are those of a fixed point.
    pub is_cyclic: bool,
}

/// Step of a derivation: one server.
#[derive(Clone, Debug)]
pub struct Step {
    /// Index of the server.
    pub server: usize,
    /// Index of its queue.
    pub node: usize,
    /// Theorem of the delay.
    pub theorem: Theorem,
    /// Arrival curve of the flow here, in frame bits.
    pub arrival: Option<Arrival>,
    /// Arrival curve of all that its queue receives, in work.
    pub received: Option<Arrival>,
    /// Service curve that its queue is guaranteed, in work.
    pub service: Option<Service>,
    /// Figures of the theorem besides the curves.
    pub terms: Vec<Term>,
    /// Delay at the server without propagation, in seconds, or why there is no bound.
    pub delay: Result<Exact, NoBound>,
}

/// State of the analysis.
struct State<'a> {
    network: &'a Network,
    /// Arrival curve of each flow at each server of its path, in order; `None` without bound.
    arrivals: Vec<Vec<Option<Arrival>>>,
    /// By flow, with the index of the hop.
    steps: Vec<Vec<(usize, Step)>>,
    /// Service that each server leaves a flow, in frame bits, or its delay; by flow, with the index of the
    /// hop.
    left: Vec<Vec<(usize, Left)>>,
    queues: Vec<QueueBound>,
    /// Flows at each server, with the index of the hop.
    at: Vec<Vec<(usize, usize)>>,
}

/// Returns the bounds of all flows and queues.
pub fn analyse(network: &Network) -> Bounds {
    let count = network.flows.len();
    let at_source = |flow: &Flow| {
        let mut arrivals = vec![None; flow.hops.len()];
        if let Some(first) = arrivals.first_mut() {
            *first = flow.arrival.clone().ok();
        }
        arrivals
    };
    let arrivals = network.flows.iter().map(at_source).collect();
    let steps = (0..count).map(|_| Vec::new()).collect();
    let left = (0..count).map(|_| Vec::new()).collect();
    let mut at = vec![Vec::new(); network.servers.len()];
    for (flow, of) in network.flows.iter().enumerate() {
        of.hops.iter().enumerate().for_each(|(index, hop)| at[hop.server].push((flow, index)));
    }
    let mut state = State { network, arrivals, steps, left, queues: Vec::new(), at };
    let (sorted, cyclic) = order(network);
    for server in sorted {
        let outputs = state.serve(server);
        state.pass_on(outputs);
    }
    let is_settled = state.settle(&cyclic);
    if is_settled {
        // The arrivals of the fixed point hold already.
        for server in &cyclic {
            state.serve(*server);
        }
    }
    let names = |servers: &[usize]| {
        let names: Vec<&str> = servers.iter().map(|server| network.servers[*server].name.as_str()).collect();
        names.join(", ")
    };
    let flows = (0..count).map(|flow| {
        let is_cyclic = network.flows[flow].hops.iter().any(|hop| cyclic.contains(&hop.server));
        let cycle = (is_cyclic && !is_settled).then(|| {
            format!("no fixed point was found of the cycle of queues at or before {}", names(&cyclic)).into()
        });
        state.finish(flow, is_cyclic, cycle)
    });
    let flows = flows.collect();
    Bounds { flows, queues: state.queues }
}

/// Arrival curve of a flow at a hop of its path.
type Passed = (usize, usize, Option<Arrival>);

impl<'a> State<'a> {
    /// Analyses one server, records its bounds, and returns what its flows bring to their next servers.
    fn serve(&mut self, server: usize) -> Vec<Passed> {
        let station = Station::new(self.network, server, self.visitors(server));
        let mut outputs = Vec::new();
        for node in station.leaves() {
            let leaf = station.leaf(node);
            let members = station.below(node);
            let others = Others::new(&station, &members);
            self.queues.push(station.queue_bound(node, &leaf, &members));
            for (visitor, delay) in members.iter().zip(&leaf.delays) {
                let is_sped =
                    leaf.line_speed && leaf.fresh.as_ref().is_some_and(|all| all.rate() < *station.rate());
                let last = is_sped.then(|| Term::Last(visitor.hop.shortest.clone()));
                let step = Step {
                    server,
                    node,
                    theorem: leaf.theorem,
                    arrival: visitor.arrival.clone(),
                    received: leaf.received.clone(),
                    service: leaf.fresh.clone(),
                    terms: leaf.terms.iter().cloned().chain(last).collect(),
                    delay: delay.clone(),
                };
                self.steps[visitor.flow].push((visitor.index, step));
                let left = station.left(&leaf, visitor, &members, others.as_ref(), delay);
                self.left[visitor.flow].push((visitor.index, left));
                let output = station.output(&leaf, visitor, &members, delay, true);
                outputs.push((visitor.flow, visitor.index + 1, output));
            }
        }
        outputs
    }

    /// Returns what the flows of a server on a cycle bring to their next servers, with bursts rounded up to
    /// whole bits.
    fn outputs(&self, server: usize) -> Vec<Passed> {
        let station = Station::new(self.network, server, self.visitors(server));
        let mut outputs = Vec::new();
        for node in station.leaves() {
            let leaf = station.leaf(node);
            let members = station.below(node);
            for (visitor, delay) in members.iter().zip(&leaf.delays) {
                let output = station.output(&leaf, visitor, &members, delay, false);
                let output = output.map(|arrival| arrival.with_whole_bursts());
                outputs.push((visitor.flow, visitor.index + 1, output));
            }
        }
        outputs
    }

    fn pass_on(&mut self, outputs: Vec<Passed>) -> bool {
        let mut has_changed = false;
        for (flow, index, arrival) in outputs {
            if let Some(station) = self.arrivals[flow].get_mut(index)
                && *station != arrival
            {
                *station = arrival;
                has_changed = true;
            }
        }
        has_changed
    }

    /// Finds arrivals at the servers of cycles that reproduce themselves; returns whether it found some.
    ///
    /// From nothing, each round adds what the delays of the last one let gather: the arrivals rise, and as
    /// bursts are whole bits, they stay where they rise no more. Any such arrivals are bounds, the least or
    /// not: a packet arrives at its next server some time after it came to the last one, so what holds up to
    /// a time at all servers holds for a while longer, from the empty network on.
    fn settle(&mut self, cyclic: &[usize]) -> bool {
        let on_cycle = |server: usize| cyclic.contains(&server);
        for (flow, of) in self.network.flows.iter().enumerate() {
            for (index, pair) in of.hops.windows(2).enumerate() {
                if on_cycle(pair[0].server) && of.arrival.is_ok() {
                    self.arrivals[flow][index + 1] = Some(Arrival::nothing());
                }
            }
        }
        let mut totals = Vec::new();
        for round in 0..MOST_ROUNDS {
            let mut has_changed = false;
            for server in cyclic {
                let outputs = self.outputs(*server);
                has_changed |= self.pass_on(outputs);
            }
            if !has_changed {
                return true;
            }
            totals.push(self.bursts());
            if let Some(before) = round.checked_sub(RISING_ROUNDS).filter(|before| *before > RISING_ROUNDS) {
                let rise = |round: usize| &totals[round] - &totals[round - 1];
                if rise(round) * ratio(6, 5) > rise(before) {
                    return false;
                }
            }
        }
        false
    }

    /// Returns the sum of all bursts.
    fn bursts(&self) -> Exact {
        let all = self.arrivals.iter().flatten().flatten();
        all.fold(zero(), |sum, arrival| sum + arrival.burst())
    }

    fn visitors(&self, server: usize) -> Vec<Visitor<'a>> {
        let rounds = |kind: &Kind| matches!(kind, Kind::DeficitRounds(_));
        let is_uniform = self.network.servers[server].nodes.iter().any(|node| rounds(&node.kind));
        let mut visitors = Vec::new();
        for (flow, index) in self.at[server].iter().copied() {
            let of = &self.network.flows[flow];
            let hop = &of.hops[index];
            let from = index.checked_sub(1).map(|before| (of.hops[before].server, hop.from_before.clone()));
            let arrival = self.arrivals[flow][index].clone();
            visitors.push(Visitor { flow, index, hop, factor: hop.factor.clone(), arrival, from });
        }
        if is_uniform && let Some(most) = visitors.iter().map(|visitor| visitor.factor.clone()).max() {
            for visitor in &mut visitors {
                visitor.factor = most.clone();
            }
        }
        visitors
    }

    /// Returns the bound of a flow, once all servers are analysed.
    fn finish(&mut self, flow: usize, is_cyclic: bool, cycle: Option<NoBound>) -> FlowBound {
        let of = &self.network.flows[flow];
        let mut steps = core::mem::take(&mut self.steps[flow]);
        steps.sort_by_key(|(index, _)| *index);
        let steps: Vec<Step> = steps.into_iter().map(|(_, step)| step).collect();
        self.left[flow].sort_by_key(|(index, _)| *index);
        let propagation = of.hops.iter().map(|hop| &self.network.servers[hop.server].propagation);
        let propagation = propagation.fold(zero(), |sum, one| sum + one);
        let delays: Result<Exact, NoBound> =
            steps.iter().try_fold(propagation.clone(), |sum, step| Ok(sum + step.delay.clone()?));
        let (separate, convolution) = self.separate(flow).unzip();
        let separate = separate.map(|delay| delay + propagation);
        let failure = cycle.or_else(|| of.arrival.as_ref().err().cloned());
        let delay = match (failure, delays.clone(), &separate) {
            (Some(why), _, _) => Err(why),
            (None, Ok(total), Some(separate)) => Ok(total.min(separate.clone())),
            (None, Err(_), Some(separate)) => Ok(separate.clone()),
            (None, total, None) => total,
        };
        let total = delays.ok();
        FlowBound { delay, derivation: Derivation { steps, total, separate, convolution, is_cyclic } }
    }

    /// Returns the bound of a flow by the convolution of what its servers leave it, and that curve's rate and
    /// latency.
    fn separate(&self, flow: usize) -> Option<(Exact, (Exact, Exact))> {
        let of = &self.network.flows[flow];
        let left = &self.left[flow];
        if left.len() != of.hops.len() || left.is_empty() {
            return None;
        }
        let (mut delays, mut curve) = (zero(), None::<Service>);
        let mut gain = None;
        for (index, ((_, left), hop)) in left.iter().zip(&of.hops).enumerate() {
            delays += &self.network.servers[hop.server].rounding;
            match left {
                Left::Nothing => return None,
                Left::Delay(delay) => delays += delay,
                Left::Service { curve: own, speed } => {
                    let is_last = left_is_last(&self.left[flow], index);
                    // A packet reaches the next server when its last bit does.
                    let own = if is_last { own.clone() } else { own.less(&Arrival::nothing(), &of.longest) };
                    gain = speed.clone().filter(|_| is_last && index + 1 == of.hops.len());
                    curve = Some(curve.map_or_else(|| own.clone(), |curve: Service| curve.then(&own)));
                }
            }
        }
        let arrival = of.arrival.as_ref().ok()?;
        let Some(curve) = curve else { return Some((delays, (zero(), zero()))) };
        let delay = match gain {
            Some(rate) => curve.delay(&arrival.less(&of.shortest))? + &of.shortest / rate,
            None => curve.delay(arrival)?,
        };
        let last = curve.pieces().last()?;
        Some((delays + delay, (last.rate.clone(), &last.offset / &last.rate)))
    }
}

/// Returns whether no later server has a curve.
fn left_is_last(all: &[(usize, Left)], index: usize) -> bool {
    !all[index + 1..].iter().any(|(_, left)| matches!(left, Left::Service { .. }))
}
