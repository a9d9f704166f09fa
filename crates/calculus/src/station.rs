//! Bounds of one server: its queues analysed, and what it leaves and passes on of each flow.

use std::collections::{BTreeMap, BTreeSet};

use crate::arrival::{Arrival, Line};
use crate::disciplines::{Offer, Station, Term, Visitor, least};
use crate::exact::{Exact, positive, zero};
use crate::network::{Bucket, Kind};
use crate::no_bound::NoBound;
use crate::others::Others;
use crate::service::Service;
use crate::theorem::Theorem;

/// Bound of a queue.
#[derive(Clone, Debug)]
pub struct QueueBound {
    /// Index of the server.
    pub server: usize,
    /// Index of the queue.
    pub node: usize,
    /// Backlog in frame bits with the packet in service: a buffer of it never drops. Or why there is no
    /// bound.
    pub backlog: Result<Exact, NoBound>,
    /// Largest delay of its flows in seconds.
    pub delay: Result<Exact, NoBound>,
}

/// Queue of a server, analysed.
pub(crate) struct Leaf {
    pub(crate) theorem: Theorem,
    pub(crate) received: Option<Arrival>,
    pub(crate) fresh: Option<Service>,
    pub(crate) line_speed: bool,
    /// By member.
    pub(crate) delays: Vec<Result<Exact, NoBound>>,
    /// Buckets of what leaves.
    pub(crate) shaped: Vec<Bucket>,
    /// Figures of the theorem besides the curves.
    pub(crate) terms: Vec<Term>,
}

impl Leaf {
    /// Returns a queue whose members have these delays by a theorem without a service curve.
    pub(crate) fn of(
        theorem: Theorem,
        received: Option<Arrival>,
        delays: Vec<Result<Exact, NoBound>>,
    ) -> Self {
        Self {
            theorem,
            received,
            fresh: None,
            line_speed: false,
            delays,
            shaped: Vec::new(),
            terms: Vec::new(),
        }
    }
}

/// Service that a server leaves a flow.
pub(crate) enum Left {
    /// A service of its own, in frame bits, with the longest packet and the shortest's gain at line speed.
    Service {
        curve: Service,
        speed: Option<Exact>,
    },
    /// Only its delay bound.
    Delay(Exact),
    Nothing,
}

impl Station<'_> {
    /// Analyses the queue `node`, which takes packets.
    pub(crate) fn leaf(&self, node: usize) -> Leaf {
        let mut leaf = self.bounded(node);
        // All that leaves a shaper at the root keeps to its buckets.
        if let Kind::Shaper(buckets) = self.kind(0) {
            leaf.shaped.clone_from(buckets);
        }
        leaf
    }

    fn bounded(&self, node: usize) -> Leaf {
        let members = self.below(node);
        let failed =
            |why: NoBound| Leaf::of(Theorem::Fifo, None, members.iter().map(|_| Err(why.clone())).collect());
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
                (_, None) => return failed("a queue that has no theorem here".into()),
            }
        }
        failed("no queue".into())
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
        let mut known: BTreeMap<&Exact, Result<Exact, NoBound>> = BTreeMap::new();
        let shortest = members.iter().map(|visitor| &visitor.hop.shortest);
        let delays = shortest
            .map(|shortest| known.entry(shortest).or_insert_with(|| delay(shortest)).clone())
            .collect();
        let (theorem, line_speed, mut terms) = (offer.theorem, offer.line_speed, offer.terms);
        let are_in_turn = received.as_ref().is_some_and(|received| received.rate() <= offer.fresh.rate());
        terms.extend(offer.rounds.filter(|_| are_in_turn).map(Box::new).map(Term::Rounds));
        Leaf { theorem, received, fresh: Some(offer.fresh), line_speed, delays, shaped: Vec::new(), terms }
    }

    pub(crate) fn rounding(&self) -> &Exact {
        &self.network.servers[self.server].rounding
    }

    /// Says which flows have no envelope.
    pub(crate) fn unknown(&self, members: &[&Visitor<'_>]) -> NoBound {
        let unknown = members.iter().find(|visitor| visitor.arrival.is_none() && visitor.from.is_none());
        let unknown = unknown.or_else(|| members.iter().find(|visitor| visitor.arrival.is_none()));
        let name = unknown.map_or("a flow", |visitor| self.network.flows[visitor.flow].name.as_str());
        format!("`{name}` has no envelope and shares the queue").into()
    }

    /// Says how much more arrives than is left; or which flow has no envelope, if a line bounds what it
    /// brings.
    fn overload(&self, received: &Arrival, offer: &Offer, members: &[&Visitor<'_>]) -> NoBound {
        if members.iter().any(|visitor| visitor.arrival.is_none()) {
            return self.unknown(members);
        }
        let share = crate::exact::to_f64(&offer.fresh.rate()) / crate::exact::to_f64(self.rate()).max(1e-12);
        let wanted = crate::exact::to_f64(&received.rate()) / crate::exact::to_f64(self.rate()).max(1e-12);
        format!("overload: {:.1} % of the line arrive and {:.1} % are left", wanted * 100.0, share * 100.0)
            .into()
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
        Leaf::of(theorem, received, delays)
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
            let slow = || NoBound::from("overload: more arrives than the shaper lets through");
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
        Leaf::of(theorem, received, delays)
    }

    /// Bounds earliest deadline first at the root: all packets meet their deadlines, moved by `x`.
    fn by_deadline(
        &self,
        root: usize,
        deadlines: &[Exact],
        node: usize,
        members: &[&Visitor<'_>],
    ) -> Result<Leaf, NoBound> {
        let children = self.children(root);
        if let Some(other) = children.iter().find(|child| *self.kind(**child) != Kind::Fifo) {
            let name = &self.network.servers[self.server].nodes[*other].name;
            return Err(format!("`{name}` below earliest deadline first is no FIFO").into());
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
        Ok(Leaf::of(theorem, received, delays))
    }

    pub(crate) fn queue_bound(&self, node: usize, leaf: &Leaf, members: &[&Visitor<'_>]) -> QueueBound {
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
    pub(crate) fn left(
        &self,
        leaf: &Leaf,
        visitor: &Visitor<'_>,
        members: &[&Visitor<'_>],
        others: Option<&Others<'_>>,
        delay: &Result<Exact, NoBound>,
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
    pub(crate) fn output(
        &self,
        leaf: &Leaf,
        visitor: &Visitor<'_>,
        members: &[&Visitor<'_>],
        delay: &Result<Exact, NoBound>,
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
