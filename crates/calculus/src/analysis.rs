//! Analysis of a network: total flow analysis server by server, then separate flow analysis.

use std::collections::{BTreeMap, BTreeSet};

use crate::arrival::{Arrival, Line};
use crate::disciplines::{Offer, Station, Visitor, least};
use crate::exact::{Exact, positive, ratio, zero};
use crate::network::{Bucket, Flow, Kind, Network};
use crate::order::order;
use crate::others::Others;
use crate::service::Service;
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
    pub delay: Result<Exact, String>,
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
    /// Delay at the server without propagation, in seconds, or why there is no bound.
    pub delay: Result<Exact, String>,
}

/// Bound of a queue.
#[derive(Clone, Debug)]
pub struct QueueBound {
    /// Index of the server.
    pub server: usize,
    /// Index of the queue.
    pub node: usize,
    /// Backlog in frame bits with the packet in service: a buffer of it never drops. Or why there is no
    /// bound.
    pub backlog: Result<Exact, String>,
    /// Largest delay of its flows in seconds.
    pub delay: Result<Exact, String>,
}

/// Queue of a server, analysed.
pub(crate) struct Leaf {
    pub(crate) theorem: Theorem,
    pub(crate) received: Option<Arrival>,
    pub(crate) fresh: Option<Service>,
    pub(crate) line_speed: bool,
    /// By member.
    pub(crate) delays: Vec<Result<Exact, String>>,
    /// Buckets of what leaves.
    pub(crate) shaped: Vec<Bucket>,
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

/// Service that a server leaves a flow.
enum Left {
    /// A service of its own, in frame bits, with the longest packet and the shortest's gain at line speed.
    Service {
        curve: Service,
        speed: Option<Exact>,
    },
    /// Only its delay bound.
    Delay(Exact),
    Nothing,
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
            format!("no fixed point was found of the cycle of queues at or before {}", names(&cyclic))
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
                let step = Step {
                    server,
                    node,
                    theorem: leaf.theorem,
                    arrival: visitor.arrival.clone(),
                    received: leaf.received.clone(),
                    service: leaf.fresh.clone(),
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
    fn finish(&mut self, flow: usize, is_cyclic: bool, cycle: Option<String>) -> FlowBound {
        let of = &self.network.flows[flow];
        let mut steps = core::mem::take(&mut self.steps[flow]);
        steps.sort_by_key(|(index, _)| *index);
        let steps: Vec<Step> = steps.into_iter().map(|(_, step)| step).collect();
        self.left[flow].sort_by_key(|(index, _)| *index);
        let propagation = of.hops.iter().map(|hop| &self.network.servers[hop.server].propagation);
        let propagation = propagation.fold(zero(), |sum, one| sum + one);
        let delays: Result<Exact, String> =
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

impl Station<'_> {
    /// Analyses the queue `node`, which takes packets.
    fn leaf(&self, node: usize) -> Leaf {
        let mut leaf = self.bounded(node);
        // All that leaves a shaper at the root keeps to its buckets.
        if let Kind::Shaper(buckets) = self.kind(0) {
            leaf.shaped.clone_from(buckets);
        }
        leaf
    }

    fn bounded(&self, node: usize) -> Leaf {
        let members = self.below(node);
        let failed = |why: String| Leaf {
            theorem: Theorem::Fifo,
            received: None,
            fresh: None,
            line_speed: false,
            delays: members.iter().map(|_| Err(why.clone())).collect(),
            shaped: Vec::new(),
        };
        let mut path = vec![node];
        let nodes = &self.network.servers[self.server].nodes;
        while let Some(parent) = path.last().and_then(|node| nodes[*node].parent) {
            path.push(parent);
        }
        let mut offer = self.root();
        while let Some(at) = path.pop() {
            match (self.kind(at), path.last()) {
                (Kind::WorkConserving, _) => return self.in_any_order(at, &offer, &members),
                (Kind::Deadlines(deadlines), Some(_)) if nodes[at].parent.is_none() => {
                    return self.by_deadline(at, deadlines, node, &members).unwrap_or_else(failed);
                }
                (Kind::ServiceCurves(curves), Some(child)) => {
                    return self.by_curve(at, curves, *child, &members).unwrap_or_else(failed);
                }
                (Kind::Shaper(buckets), child)
                    if nodes[at].parent.is_none()
                        && path.len() <= 1
                        && child.is_none_or(|child| *self.kind(*child) == Kind::Fifo) =>
                {
                    return self.shaped(buckets, &members);
                }
                (_, Some(child)) => match self.offer(at, *child, &offer) {
                    Ok(next) => offer = next,
                    Err(why) => return failed(why),
                },
                (Kind::Fifo | Kind::Policer(_), None) => return self.in_order(offer, &members),
                (Kind::Unbounded(why), None) => return failed(why.clone()),
                (_, None) => return failed("a queue that has no theorem here".to_owned()),
            }
        }
        failed("no queue".to_owned())
    }

    fn in_order(&self, offer: Offer, members: &[&Visitor<'_>]) -> Leaf {
        let received = self.arrivals(members);
        let delay = |shortest: &Exact| {
            let received = received.as_ref().ok_or_else(|| self.unknown(members))?;
            let delay = match &offer.rounds {
                Some(rounds) if received.rate() <= offer.fresh.rate() => {
                    Some(rounds.wait(received, shortest))
                }
                _ if offer.line_speed => offer.fresh.delay(&received.less(shortest)),
                _ => offer.fresh.delay(received),
            };
            let last = if offer.line_speed { shortest / self.rate() } else { zero() };
            let delay = delay.map(|wait| wait + last);
            delay
                .map(|delay| delay + &offer.extra + self.rounding())
                .ok_or_else(|| self.overload(received, &offer, members))
        };
        // Flows of the same shortest packet have the same delay.
        let mut known: BTreeMap<&Exact, Result<Exact, String>> = BTreeMap::new();
        let shortest = members.iter().map(|visitor| &visitor.hop.shortest);
        let delays = shortest
            .map(|shortest| known.entry(shortest).or_insert_with(|| delay(shortest)).clone())
            .collect();
        let (theorem, line_speed) = (offer.theorem, offer.line_speed);
        Leaf { theorem, received, fresh: Some(offer.fresh), line_speed, delays, shaped: Vec::new() }
    }

    pub(crate) fn rounding(&self) -> &Exact {
        &self.network.servers[self.server].rounding
    }

    /// Says which flows have no envelope.
    pub(crate) fn unknown(&self, members: &[&Visitor<'_>]) -> String {
        let unknown = members.iter().find(|visitor| visitor.arrival.is_none() && visitor.from.is_none());
        let unknown = unknown.or_else(|| members.iter().find(|visitor| visitor.arrival.is_none()));
        let name = unknown.map_or("a flow", |visitor| self.network.flows[visitor.flow].name.as_str());
        format!("`{name}` has no envelope and shares the queue")
    }

    /// Says how much more arrives than is left; or which flow has no envelope, if a line bounds what it
    /// brings.
    fn overload(&self, received: &Arrival, offer: &Offer, members: &[&Visitor<'_>]) -> String {
        if members.iter().any(|visitor| visitor.arrival.is_none()) {
            return self.unknown(members);
        }
        let share = crate::exact::to_f64(&offer.fresh.rate()) / crate::exact::to_f64(self.rate()).max(1e-12);
        let wanted = crate::exact::to_f64(&received.rate()) / crate::exact::to_f64(self.rate()).max(1e-12);
        format!("overload: {:.1} % of the line arrive and {:.1} % are left", wanted * 100.0, share * 100.0)
    }

    fn in_any_order(&self, at: usize, offer: &Offer, members: &[&Visitor<'_>]) -> Leaf {
        let all = self.below(at);
        let received = self.arrivals(&all);
        // Their curves count what begins.
        let begins = matches!(self.kind(0), Kind::Shaper(_) | Kind::TokenClasses(_));
        let last = if begins { self.longest(&[0]) / self.rate() } else { zero() };
        let delay = match &received {
            None => Err(self.unknown(&all)),
            Some(received) => offer
                .fresh
                .busy_period(received)
                .map(|delay| delay + last + self.rounding())
                .ok_or_else(|| self.overload(received, offer, &all)),
        };
        let delays = members.iter().map(|_| delay.clone()).collect();
        let theorem = Theorem::BusyPeriod;
        Leaf { theorem, received, fresh: None, line_speed: false, delays, shaped: Vec::new() }
    }

    fn shaped(&self, buckets: &[Bucket], members: &[&Visitor<'_>]) -> Leaf {
        let received = self.arrivals(members);
        let bits =
            members.iter().try_fold(Arrival::nothing(), |sum, one| Some(sum.plus(one.arrival.as_ref()?)));
        let delay = |visitor: &&Visitor<'_>| {
            let why = || self.unknown(members);
            let line = Service::constant(self.rate().clone());
            let received = received.as_ref().ok_or_else(why)?;
            let bits = bits.as_ref().ok_or_else(why)?;
            let slow = || "overload: more arrives than the shaper lets through".to_owned();
            let mut delay = line.delay(received).ok_or_else(slow)?;
            for bucket in buckets {
                let lowered = bits
                    .lines()
                    .iter()
                    .map(|line| Line { burst: &line.burst - &bucket.burst, rate: line.rate.clone() });
                let lowered = Arrival::new(lowered.collect()).unwrap_or_else(Arrival::nothing);
                let wait = wait_for_tokens(&lowered, &bucket.granted).ok_or_else(slow)?;
                delay = delay.max(wait + &visitor.hop.longest / self.rate());
            }
            Ok(delay + self.rounding())
        };
        let delays = members.iter().map(delay).collect();
        let theorem = Theorem::Shaper;
        Leaf { theorem, received, fresh: None, line_speed: false, delays, shaped: Vec::new() }
    }

    /// Bounds earliest deadline first at the root: all packets meet their deadlines, moved by `x`.
    fn by_deadline(
        &self,
        root: usize,
        deadlines: &[Exact],
        node: usize,
        members: &[&Visitor<'_>],
    ) -> Result<Leaf, String> {
        let children = self.children(root);
        if let Some(other) = children.iter().find(|child| *self.kind(**child) != Kind::Fifo) {
            let name = &self.network.servers[self.server].nodes[*other].name;
            return Err(format!("`{name}` below earliest deadline first is no FIFO"));
        }
        let mut classes = Vec::new();
        for (child, deadline) in children.iter().zip(deadlines) {
            let visitors = self.below(*child);
            if !visitors.is_empty() {
                let arrival = self.arrivals(&visitors).ok_or_else(|| self.unknown(&visitors))?;
                classes.push((deadline.clone(), arrival, self.longest(&[*child])));
            }
        }
        let ring = self.network.servers[self.server].ring;
        let ring = (ring > 1).then(|| crate::ratio(ring.into(), 1) * self.longest(children));
        let late = lateness(&classes, self.rate(), ring.as_ref())
            .ok_or("overload: more arrives than the line carries")?;
        let own = children.iter().position(|child| *child == node).and_then(|index| deadlines.get(index));
        let delay = positive(own.cloned().unwrap_or_else(zero) + late) + self.rounding();
        let received = self.arrivals(members);
        let delays = members.iter().map(|_| Ok(delay.clone())).collect();
        let theorem = Theorem::Deadlines;
        Ok(Leaf { theorem, received, fresh: None, line_speed: false, delays, shaped: Vec::new() })
    }

    fn queue_bound(&self, node: usize, leaf: &Leaf, members: &[&Visitor<'_>]) -> QueueBound {
        let delay = leaf.delays.iter().cloned().try_fold(zero(), |most, delay| Ok(most.max(delay?)));
        // Whatever waits has arrived within the last delay.
        let backlog = delay.clone().and_then(|delay: Exact| {
            let bits =
                members.iter().map(|visitor| visitor.arrival.as_ref().map(|arrival| arrival.at(&delay)));
            let by_flow = bits.sum::<Option<Exact>>();
            let least_factor =
                members.iter().map(|one| &one.hop.shortest / &self.network.flows[one.flow].shortest);
            let factor = least_factor.chain(members.iter().map(|one| one.factor.clone())).min();
            let factor = factor.unwrap_or_else(|| crate::ratio(1, 1));
            let work = leaf.received.as_ref().map(|received| {
                let by_curve =
                    leaf.fresh.as_ref().filter(|_| leaf.line_speed).and_then(|fresh| fresh.backlog(received));
                by_curve.map_or_else(|| received.at(&delay), |by_curve| by_curve.min(received.at(&delay)))
                    / &factor
            });
            [by_flow, work].into_iter().flatten().min().ok_or_else(|| self.unknown(members))
        });
        QueueBound { server: self.server, node, backlog, delay }
    }

    /// Returns what the server leaves a flow.
    fn left(
        &self,
        leaf: &Leaf,
        visitor: &Visitor<'_>,
        members: &[&Visitor<'_>],
        others: Option<&Others<'_>>,
        delay: &Result<Exact, String>,
    ) -> Left {
        let without = || match delay {
            Ok(delay) => Left::Delay(delay - self.rounding()),
            Err(_) => Left::Nothing,
        };
        let Some(fresh) = &leaf.fresh else { return without() };
        let curve = match others {
            _ if members.len() == 1 => Some(fresh.clone()),
            Some(others) => others.without(visitor).and_then(|line| fresh.left_by_fifo(&line)),
            None => {
                let others = members.iter().filter(|one| one.flow != visitor.flow).copied();
                let others = self.arrivals(&others.collect::<Vec<_>>());
                others.and_then(|others| fresh.left_by_fifo(others.lines().last()?))
            }
        };
        match curve {
            Some(curve) if !curve.pieces().is_empty() => Left::Service {
                curve: curve.divided(&visitor.factor),
                speed: leaf.line_speed.then(|| self.rate() / &visitor.factor),
            },
            _ => without(),
        }
    }

    /// Returns what a flow brings to its next server, in frame bits.
    fn output(
        &self,
        leaf: &Leaf,
        visitor: &Visitor<'_>,
        members: &[&Visitor<'_>],
        delay: &Result<Exact, String>,
        by_curves: bool,
    ) -> Option<Arrival> {
        let at_rate = || positive(&visitor.hop.shortest / self.rate() - self.rounding());
        let fastest = visitor.hop.quickest.clone().unwrap_or_else(at_rate);
        let policed = match self.kind(visitor.hop.node) {
            Kind::Policer(buckets) => curve_of(buckets, &zero()),
            _ => None,
        };
        let entered = least(visitor.arrival.clone(), policed);
        let moved = match (&entered, delay) {
            (Some(arrival), Ok(delay)) => Some(arrival.after_jitter(&positive(delay - &fastest))),
            _ => None,
        };
        let curve = leaf.fresh.as_ref().filter(|_| by_curves && members.len() == 1);
        let served = curve.zip(entered).and_then(|(fresh, arrival)| {
            let output = fresh.divided(&visitor.factor).output(&arrival)?;
            let longest = &self.network.flows[visitor.flow].longest;
            let packet = |line: &Line| Line { burst: &line.burst + longest, rate: line.rate.clone() };
            Arrival::new(output.lines().iter().map(packet).collect())
        });
        // What the shaper releases may gather by the time of a packet on the line.
        let released = curve_of(&leaf.shaped, &(&visitor.hop.longest / self.rate() + self.rounding()));
        least(least(moved, served), released)
    }
}

fn curve_of(buckets: &[Bucket], jitter: &Exact) -> Option<Arrival> {
    let line = |bucket: &Bucket| Line { burst: bucket.burst.clone(), rate: bucket.rate.clone() };
    Arrival::new(buckets.iter().map(line).collect()).map(|arrival| arrival.after_jitter(jitter))
}

/// Returns the longest wait for tokens of what exceeds a bucket's depth.
fn wait_for_tokens(exceeding: &Arrival, rate: &Exact) -> Option<Exact> {
    let waits = exceeding.breakpoints();
    let waits = waits.iter().map(|t| exceeding.at(t) / rate - t);
    (exceeding.rate() <= *rate).then(|| waits.max().map_or_else(zero, positive))
}

/// Returns the time by which all deadlines must move so that every packet meets them; negative if there is
/// time to spare. Classes have deadlines, arrivals and longest packets; `ring`: work below the scheduler,
/// which may block whatever its deadline.
fn lateness(classes: &[(Exact, Arrival, Exact)], rate: &Exact, ring: Option<&Exact>) -> Option<Exact> {
    let long_run = classes.iter().fold(zero(), |sum, (_, arrival, _)| sum + arrival.rate());
    if long_run > *rate {
        return None;
    }
    let mut times: BTreeSet<Exact> = BTreeSet::new();
    for (deadline, arrival, _) in classes {
        times.extend(arrival.breakpoints().into_iter().map(|at| deadline + at));
    }
    let mut worst: Option<Exact> = None;
    for time in &times {
        // Just before a deadline, its class blocks but does not count yet.
        for before in [true, false] {
            let counts = |deadline: &Exact| if before { deadline < time } else { deadline <= time };
            let work = classes.iter().filter(|(deadline, ..)| counts(deadline));
            let work = work.fold(zero(), |sum, (deadline, arrival, _)| sum + arrival.at(&(time - deadline)));
            let later =
                classes.iter().filter(|(deadline, ..)| !counts(deadline)).map(|(_, _, longest)| longest);
            let blocked = ring.or(later.max()).cloned().unwrap_or_else(zero);
            let late = (&work + blocked) / rate - time;
            if work > zero() || !before {
                worst = worst.max(Some(late));
            }
        }
    }
    let first = classes.iter().map(|(deadline, ..)| deadline.clone()).min()?;
    worst.map(|worst| worst.max(-first))
}
