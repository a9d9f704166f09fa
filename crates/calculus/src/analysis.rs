//! Analysis of a network: total flow analysis server by server, then separate flow analysis.

use std::collections::BTreeSet;

use crate::arrival::{Arrival, Line};
use crate::disciplines::{Offer, Place, Visitor, least};
use crate::exact::{Exact, positive, zero};
use crate::network::{Bucket, Kind, Network};
use crate::order::order;
use crate::service::Service;
use crate::theorem::Theorem;

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
struct Leaf {
    theorem: Theorem,
    received: Option<Arrival>,
    fresh: Option<Service>,
    line_speed: bool,
    /// By member.
    delays: Vec<Result<Exact, String>>,
    /// Buckets of what leaves.
    shaped: Vec<Bucket>,
}

/// State of the analysis.
struct State<'a> {
    network: &'a Network,
    /// Arrival curve of each flow at the server it is at.
    arrivals: Vec<Option<Arrival>>,
    steps: Vec<Vec<Step>>,
    /// Service that each server leaves a flow, in frame bits, or its delay; by flow.
    left: Vec<Vec<Left>>,
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
    let arrivals = network.flows.iter().map(|flow| flow.arrival.clone().ok()).collect();
    let none = || (0..count).map(|_| Vec::new()).collect();
    let left = (0..count).map(|_| Vec::new()).collect();
    let mut at = vec![Vec::new(); network.servers.len()];
    for (flow, of) in network.flows.iter().enumerate() {
        of.hops.iter().enumerate().for_each(|(index, hop)| at[hop.server].push((flow, index)));
    }
    let mut state = State { network, arrivals, steps: none(), left, queues: Vec::new(), at };
    let (sorted, cyclic) = order(network);
    for server in sorted {
        state.serve(server);
    }
    let is_cyclic = |flow: usize| network.flows[flow].hops.iter().any(|hop| cyclic.contains(&hop.server));
    let names = |servers: &[usize]| {
        let names: Vec<&str> = servers.iter().map(|server| network.servers[*server].name.as_str()).collect();
        names.join(", ")
    };
    let flows = (0..count).map(|flow| {
        let cycle = is_cyclic(flow).then(|| format!("a cycle of queues at or before {}", names(&cyclic)));
        state.finish(flow, cycle)
    });
    let flows = flows.collect();
    Bounds { flows, queues: state.queues }
}

impl<'a> State<'a> {
    /// Analyses one server.
    fn serve(&mut self, server: usize) {
        let place = Place::new(self.network, server, self.visitors(server));
        if place.visitors.is_empty() {
            return;
        }
        let mut leaves: Vec<usize> = place.visitors.iter().map(|visitor| visitor.hop.node).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let mut results = Vec::new();
        for node in leaves {
            results.push((node, place.leaf(node)));
        }
        let mut after = Vec::new();
        for (node, leaf) in results {
            let members = place.below(node);
            self.queues.push(place.queue_bound(node, &leaf, &members));
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
                self.steps[visitor.flow].push(step);
                let left = place.left(&leaf, visitor, &members, delay);
                self.left[visitor.flow].push(left);
                after.push((visitor.flow, place.output(&leaf, visitor, &members, delay)));
            }
        }
        for (flow, arrival) in after {
            self.arrivals[flow] = arrival;
        }
    }

    fn visitors(&self, server: usize) -> Vec<Visitor<'a>> {
        let rounds = |kind: &Kind| matches!(kind, Kind::DeficitRounds(_));
        let is_uniform = self.network.servers[server].nodes.iter().any(|node| rounds(&node.kind));
        let mut visitors = Vec::new();
        for (flow, index) in self.at[server].iter().copied() {
            let of = &self.network.flows[flow];
            let hop = &of.hops[index];
            let from = index.checked_sub(1).map(|before| (of.hops[before].server, hop.from_before.clone()));
            let arrival = self.arrivals[flow].clone();
            visitors.push(Visitor { flow, hop, factor: hop.factor.clone(), arrival, from });
        }
        if is_uniform && let Some(most) = visitors.iter().map(|visitor| visitor.factor.clone()).max() {
            for visitor in &mut visitors {
                visitor.factor = most.clone();
            }
        }
        visitors
    }

    /// Returns the bound of a flow, once all servers are analysed.
    fn finish(&mut self, flow: usize, cycle: Option<String>) -> FlowBound {
        let of = &self.network.flows[flow];
        let steps = core::mem::take(&mut self.steps[flow]);
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
        FlowBound { delay, derivation: Derivation { steps, total, separate, convolution } }
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
        for (index, (left, hop)) in left.iter().zip(&of.hops).enumerate() {
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
fn left_is_last(all: &[Left], index: usize) -> bool {
    !all[index + 1..].iter().any(|left| matches!(left, Left::Service { .. }))
}

impl Place<'_> {
    /// Analyses the queue `node`, which takes packets.
    fn leaf(&self, node: usize) -> Leaf {
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
                (Kind::Shaper(buckets), None | Some(_)) if nodes[at].parent.is_none() && path.len() <= 1 => {
                    if path.last().is_none_or(|child| *self.kind(*child) == Kind::Fifo) {
                        return self.shaped(buckets, &members);
                    }
                    return failed("queues below a shaper".to_owned());
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
        let delay = |visitor: &&Visitor<'_>| {
            let received = received.as_ref().ok_or_else(|| self.unknown(members))?;
            let shortest = &visitor.hop.shortest;
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
                .ok_or_else(|| self.overload(received, &offer))
        };
        let delays = members.iter().map(delay).collect();
        let (theorem, line_speed) = (offer.theorem, offer.line_speed);
        Leaf { theorem, received, fresh: Some(offer.fresh), line_speed, delays, shaped: Vec::new() }
    }

    fn rounding(&self) -> &Exact {
        &self.network.servers[self.server].rounding
    }

    /// Says which flows have no envelope.
    fn unknown(&self, members: &[&Visitor<'_>]) -> String {
        let unknown = members.iter().find(|visitor| visitor.arrival.is_none() && visitor.from.is_none());
        let unknown = unknown.or_else(|| members.iter().find(|visitor| visitor.arrival.is_none()));
        let name = unknown.map_or("a flow", |visitor| self.network.flows[visitor.flow].name.as_str());
        format!("`{name}` has no envelope and shares the queue")
    }

    fn overload(&self, received: &Arrival, offer: &Offer) -> String {
        let share = crate::exact::to_f64(&offer.fresh.rate()) / crate::exact::to_f64(self.rate()).max(1e-12);
        let wanted = crate::exact::to_f64(&received.rate()) / crate::exact::to_f64(self.rate()).max(1e-12);
        format!("overload: {:.1} % of the line arrive and {:.1} % are left", wanted * 100.0, share * 100.0)
    }

    fn in_any_order(&self, at: usize, offer: &Offer, members: &[&Visitor<'_>]) -> Leaf {
        let all = self.below(at);
        let received = self.arrivals(&all);
        let delay = match &received {
            None => Err(self.unknown(&all)),
            Some(received) => offer
                .fresh
                .busy_period(received)
                .map(|delay| delay + self.rounding())
                .ok_or_else(|| self.overload(received, offer)),
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
        Leaf { theorem, received, fresh: None, line_speed: false, delays, shaped: buckets.to_vec() }
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
        delay: &Result<Exact, String>,
    ) -> Left {
        let without = || match delay {
            Ok(delay) => Left::Delay(delay - self.rounding()),
            Err(_) => Left::Nothing,
        };
        let Some(fresh) = &leaf.fresh else { return without() };
        let others: Vec<&Visitor<'_>> =
            members.iter().filter(|one| one.flow != visitor.flow).copied().collect();
        let curve = if others.is_empty() {
            Some(fresh.clone())
        } else {
            self.arrivals(&others).and_then(|others| fresh.left_by_fifo(&others))
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
        let curve = leaf.fresh.as_ref().filter(|_| members.len() == 1);
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
