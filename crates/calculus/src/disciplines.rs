//! Service curves of the children of a queue.
//!
//! Two curves of each child: `lasting`, the least work for it in any interval throughout which packets of it
//! wait; and `fresh`, the least work for packets that arrive after its queue was last empty. A packet of its
//! own may be in service at that time, and counts as served only in the first.
//!
//! Differs: a child of `drr` and `wrr` leaves the round when its last packet *begins* its service, and
//! rejoins at the end. So the packet in service at the start is extra work, unlike in the sources, whose
//! rounds block until a packet has been sent.

use crate::arrival::{Arrival, Line};
use crate::exact::{Exact, ratio, zero};
use crate::network::{FairLaw, Hop, Kind, Network};
use crate::no_bound::NoBound;
use crate::service::{Piece, Service};
use crate::theorem::Theorem;

/// Flow at a server, while it is analysed.
pub(crate) struct Visitor<'a> {
    /// Index of the flow.
    pub(crate) flow: usize,
    /// Index of the hop.
    pub(crate) index: usize,
    /// The flow's hop here.
    pub(crate) hop: &'a Hop,
    /// Most work of a frame bit: of the flow, or of all flows here where rounds count frame bits.
    pub(crate) factor: Exact,
    /// Arrival curve of what it brings, in frame bits; `None` without bound.
    pub(crate) arrival: Option<Arrival>,
    /// Index of the server it comes from, with the most work here of a unit of work there.
    pub(crate) from: Option<(usize, Exact)>,
}

/// Station: one server with its visitors.
pub(crate) struct Station<'a> {
    pub(crate) network: &'a Network,
    pub(crate) server: usize,
    pub(crate) visitors: Vec<Visitor<'a>>,
    /// Indices of the visitors whose packets pass through each queue.
    below: Vec<Vec<usize>>,
    /// Children of each queue.
    children: Vec<Vec<usize>>,
}

/// Service that a queue gets from those above it.
pub(crate) struct Offer {
    pub(crate) lasting: Service,
    pub(crate) fresh: Service,
    /// Time added to the delay, besides the curve.
    pub(crate) extra: Exact,
    /// True if the last packet takes the whole line.
    pub(crate) line_speed: bool,
    pub(crate) theorem: Theorem,
    /// The rounds as they are, of which `fresh` has two lines.
    pub(crate) rounds: Option<Rounds>,
    /// Figures of the theorem.
    pub(crate) terms: Vec<Term>,
}

/// Rounds as a child sees them.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// Rate and offset of what all children get.
    pub(crate) all: Piece,
    /// Work of one of its turns.
    pub turn: Exact,
    /// Most work that it saves for its next turn.
    pub carried: Exact,
    /// Most work of others before its first turn.
    pub before: Exact,
    /// Most work of others before each further turn.
    pub further: Exact,
}

/// Figure by which a theorem is followed, besides the curves; work in bits of the line.
#[derive(Clone, Debug)]
pub enum Term {
    /// Longest packets that are in service before a higher one: `L_lower`.
    Blocked(Exact),
    /// Longest packets of fair queueing: `L_max`, or the sum of `L_j`.
    Longest(Exact),
    /// Turns of round robin.
    Rounds(Box<Rounds>),
    /// Length of the packet that takes the whole line.
    Last(Exact),
}

impl Rounds {
    /// Returns the longest time until a packet of `length` begins, of what arrives within `arrival`, whose
    /// rate is no more than the child's.
    ///
    /// The time after which so much is served has a step at the end of each turn. It is the longest at a
    /// breakpoint of the arrivals, or at the first or last step of a piece of them: between, steps lie on a
    /// line.
    pub(crate) fn wait(&self, arrival: &Arrival, length: &Exact) -> Exact {
        let begins = |t: &Exact, ahead: &Exact| {
            let turns = ((ahead + &self.carried) / &self.turn).floor();
            (ahead + &self.before + turns * &self.further + &self.all.offset) / &self.all.rate - t
        };
        let ahead = |t: &Exact| (arrival.at(t) - length).max(zero());
        let starts = arrival.breakpoints();
        let mut waits: Vec<Exact> = starts.iter().map(|t| begins(t, &ahead(t))).collect();
        for (index, line) in arrival.lines().iter().enumerate().filter(|(_, line)| line.rate > zero()) {
            let end = starts.get(index + 1);
            let step = |turns: Exact| {
                let work = turns * &self.turn - &self.carried;
                let at = (&work + length - &line.burst) / &line.rate;
                (at >= starts[index] && end.is_none_or(|end| at <= *end)).then(|| begins(&at, &work))
            };
            let turns = |t: &Exact| ((ahead(t) + &self.carried) / &self.turn).floor();
            waits.extend(step(turns(&starts[index]) + ratio(1, 1)));
            waits.extend(end.and_then(|end| step(turns(end))));
        }
        waits.into_iter().max().unwrap_or_else(zero)
    }
}

impl<'a> Station<'a> {
    pub(crate) fn new(network: &'a Network, server: usize, visitors: Vec<Visitor<'a>>) -> Self {
        let nodes = &network.servers[server].nodes;
        let mut below = vec![Vec::new(); nodes.len()];
        for (index, visitor) in visitors.iter().enumerate() {
            let mut node = Some(visitor.hop.node);
            while let Some(at) = node {
                below[at].push(index);
                node = nodes[at].parent;
            }
        }
        let mut children = vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            node.parent.into_iter().for_each(|parent| children[parent].push(index));
        }
        Self { network, server, visitors, below, children }
    }

    pub(crate) fn kind(&self, node: usize) -> &Kind {
        &self.network.servers[self.server].nodes[node].kind
    }

    pub(crate) fn rate(&self) -> &Exact {
        &self.network.servers[self.server].rate
    }

    pub(crate) fn ring(&self) -> u32 {
        self.network.servers[self.server].ring
    }

    /// Returns the queues that take packets, in order.
    pub(crate) fn leaves(&self) -> Vec<usize> {
        let mut leaves: Vec<usize> = self.visitors.iter().map(|visitor| visitor.hop.node).collect();
        leaves.sort_unstable();
        leaves.dedup();
        leaves
    }

    /// Returns the children of `node`.
    pub(crate) fn children(&self, node: usize) -> &[usize] {
        &self.children[node]
    }

    pub(crate) fn name(&self, node: usize) -> &str {
        &self.network.servers[self.server].nodes[node].name
    }

    /// Returns whether a queue may hold packets and send none.
    fn may_idle(&self, node: usize) -> bool {
        let own = matches!(
            self.kind(node),
            Kind::Shaper(_) | Kind::TokenClasses(_) | Kind::ServiceCurves(_) | Kind::Unbounded(_)
        );
        own || self.children(node).iter().any(|child| self.may_idle(*child))
    }

    /// Returns the visitors whose packets pass through `node`.
    pub(crate) fn below(&self, node: usize) -> Vec<&Visitor<'a>> {
        self.below[node].iter().map(|index| &self.visitors[*index]).collect()
    }

    /// Returns the work of the longest packet that passes through one of `nodes`.
    pub(crate) fn longest(&self, nodes: &[usize]) -> Exact {
        let all = nodes.iter().flat_map(|node| self.below(*node));
        all.map(|visitor| visitor.hop.longest.clone()).max().unwrap_or_else(zero)
    }

    /// Returns what these flows bring together, in work: each within its own curve, those from one line
    /// within what a line carries, those of one policer within its buckets. `None` without bound.
    pub(crate) fn arrivals(&self, visitors: &[&Visitor<'_>]) -> Option<Arrival> {
        let mut leaves: Vec<usize> = visitors.iter().map(|visitor| visitor.hop.node).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let (policed, free): (Vec<usize>, Vec<usize>) =
            leaves.into_iter().partition(|leaf| matches!(self.kind(*leaf), Kind::Policer(_)));
        let within = |leaves: &[usize]| -> Vec<&Visitor<'_>> {
            visitors.iter().filter(|visitor| leaves.contains(&visitor.hop.node)).copied().collect()
        };
        let mut sum = self.of_lines(&within(&free))?;
        for leaf in policed {
            let members = within(&[leaf]);
            let Kind::Policer(buckets) = self.kind(leaf) else { continue };
            let factor = members.iter().map(|visitor| &visitor.factor).max()?;
            let lines = buckets
                .iter()
                .map(|bucket| Line { burst: &bucket.burst * factor, rate: &bucket.rate * factor });
            let passed = Arrival::new(lines.collect());
            sum = sum.plus(&least(self.of_lines(&members), passed)?);
        }
        Some(sum)
    }

    fn of_lines(&self, visitors: &[&Visitor<'_>]) -> Option<Arrival> {
        let mut lines: Vec<usize> =
            visitors.iter().filter_map(|visitor| Some(visitor.from.as_ref()?.0)).collect();
        lines.sort_unstable();
        lines.dedup();
        let mut sum = Arrival::nothing();
        for line in lines.into_iter().map(Some).chain([None]) {
            let members = visitors.iter().filter(|visitor| visitor.from.as_ref().map(|from| from.0) == line);
            let members: Vec<&Visitor<'_>> = members.copied().collect();
            let own = members.iter().try_fold(Arrival::nothing(), |sum, visitor| {
                Some(sum.plus(&visitor.arrival.as_ref()?.scaled(&visitor.factor)))
            });
            let carried = line.and_then(|line| self.carried(line, &members));
            sum = sum.plus(&least(own, carried)?);
        }
        Some(sum)
    }

    /// Returns what the line of server `from` carries at most for these flows.
    fn carried(&self, from: usize, members: &[&Visitor<'_>]) -> Option<Arrival> {
        let factor = members.iter().filter_map(|visitor| Some(&visitor.from.as_ref()?.1)).max()?;
        let longest = members.iter().map(|visitor| visitor.hop.longest.clone()).max()?;
        let Line { burst, rate } = self.line_of_server(from, factor, &longest);
        Some(Arrival::bucket(burst, rate))
    }

    /// Returns the bucket of a server's line here: `factor` is the most work of a unit of work there, and
    /// `longest` that of its longest packet here.
    pub(crate) fn line_of_server(&self, from: usize, factor: &Exact, longest: &Exact) -> Line {
        let server = &self.network.servers[from];
        let rate = &server.rate * factor;
        let early = &server.slack * factor + &rate * &server.rounding;
        Line { burst: longest + early, rate }
    }

    /// Returns what the root gets from the line.
    pub(crate) fn root(&self) -> Offer {
        let line = Service::constant(self.rate().clone());
        Offer {
            lasting: line.clone(),
            fresh: line,
            extra: zero(),
            line_speed: true,
            theorem: Theorem::Fifo,
            rounds: None,
            terms: Vec::new(),
        }
    }

    /// Returns what `child` gets from `parent`, which gets `offer`.
    ///
    /// # Errors
    /// The reason why nothing is guaranteed.
    pub(crate) fn offer(&self, parent: usize, child: usize, offer: &Offer) -> Result<Offer, NoBound> {
        let is_root = self.network.servers[self.server].nodes[parent].parent.is_none();
        if self.ring() > 1 && !is_root {
            return Err("a device ring below queues in queues".into());
        }
        let lasting = &offer.lasting;
        match self.kind(parent) {
            Kind::Priority(guarded) => self.below_priority(parent, child, lasting, is_root, guarded),
            Kind::DeficitRounds(quanta) => self.in_rounds(parent, child, lasting, &Turns::Bits(quanta)),
            Kind::PacketRounds { weights, listed } => {
                self.in_rounds(parent, child, lasting, &Turns::Packets(weights, *listed))
            }
            Kind::Fair(law, weights) => self.in_fair_queueing(parent, child, *law, weights, is_root),
            Kind::Unbounded(why) => Err(why.clone()),
            Kind::Policer(_) | Kind::Fifo => Err("a queue in a queue that has none".into()),
            Kind::TokenClasses(classes) => self.in_token_classes(parent, child, classes, is_root),
            Kind::Shaper(buckets) => self.below_shaper(buckets, is_root),
            Kind::ServiceCurves(_) => Err("service curves below another queue".into()),
            Kind::Deadlines(_) | Kind::WorkConserving => Err("queues below an order of packets".into()),
        }
    }

    fn below_priority(
        &self,
        parent: usize,
        child: usize,
        lasting: &Service,
        is_root: bool,
        guarded: &[bool],
    ) -> Result<Offer, NoBound> {
        let children = self.children(parent);
        let index = children.iter().position(|other| *other == child).unwrap_or(0);
        if guarded.get(index) == Some(&true) {
            return Err("a guard may pass over the band".into());
        }
        let (higher, rest) = children.split_at(index);
        // What waits for tokens goes later than it came, and is no arrival of the busy period.
        if let Some(lazy) = higher.iter().find(|node| self.may_idle(**node)) {
            return Err(format!("`{}`, which goes before, may wait", self.name(*lazy)).into());
        }
        let above: Vec<&Visitor<'_>> = higher.iter().flat_map(|node| self.below(*node)).collect();
        let unknown = || NoBound::from(format!("what goes before `{}` has no envelope", self.name(child)));
        let above = self.arrivals(&above).ok_or_else(unknown)?;
        let ring = ratio(self.ring().into(), 1);
        let lower = self.longest(&rest[1..]) * &ring;
        // Below another queue, a packet of the own band or a higher one may be in service at the start.
        let blocked = if is_root { lower.clone() } else { self.longest(children) };
        let fresh = lasting.less(&above, &blocked);
        let undisturbed = lasting.less(&Arrival::nothing(), &self.longest(rest));
        let gathered = if higher.is_empty() { Some(above) } else { undisturbed.output(&above) };
        let lasting = gathered.map_or_else(|| Service::new(Vec::new()), |above| lasting.less(&above, &lower));
        Ok(Offer {
            lasting,
            fresh,
            extra: zero(),
            line_speed: true,
            theorem: Theorem::Priority,
            rounds: None,
            terms: vec![Term::Blocked(blocked)],
        })
    }

    /// Returns what `child` gets in rounds: `share * (service - withheld)`.
    fn in_rounds(
        &self,
        parent: usize,
        child: usize,
        lasting: &Service,
        turns: &Turns<'_>,
    ) -> Result<Offer, NoBound> {
        let children = self.children(parent);
        let others: Vec<usize> = (0..children.len())
            .filter(|other| children[*other] != child && !self.below[children[*other]].is_empty())
            .collect();
        let own = children.iter().position(|other| *other == child).unwrap_or(0);
        let turn = self.turn(turns, own, child);
        if turn.least <= zero() {
            return Err("a quantum below the smallest step of a packet's length".into());
        }
        let (mut first, mut further, mut longest) = (zero(), zero(), zero());
        for other in others {
            let turn = self.turn(turns, other, children[other]);
            first += &turn.most + &turn.carried;
            further += turn.most;
            longest = longest.max(turn.relisted);
        }
        let ring = ratio(self.ring().into(), 1) * self.longest(children);
        let ring = if self.ring() > 1 { ring } else { zero() };
        let curve = |extra: Exact| {
            let before = &first + extra;
            let rate = &turn.least_each / (&turn.least_each + &further);
            let long_run = lasting.part(&rate, &(&before + &turn.carried * &further / &turn.least_each));
            let step = &turn.least + &further;
            long_run.or(&lasting.part(&(&turn.least / &step), &before))
        };
        let theorem =
            if matches!(turns, Turns::Bits(_)) { Theorem::DeficitRounds } else { Theorem::PacketRounds };
        let own_packet = self.longest(&[child]);
        let extra = longest.clone().max(own_packet).max(ring.clone());
        // Stairs above a single rate; below a convex curve, the two lines serve.
        let rounds = match lasting.pieces() {
            [all] => Some(Rounds {
                all: all.clone(),
                turn: turn.least_each.clone(),
                carried: turn.carried.clone(),
                before: &first + &extra,
                further: further.clone(),
            }),
            _ => None,
        };
        let fresh = curve(extra);
        let lasting = curve(longest.max(ring));
        Ok(Offer { lasting, fresh, extra: zero(), line_speed: true, theorem, rounds, terms: Vec::new() })
    }

    /// Returns the work of a turn of the child at `index`, which is `node`.
    fn turn(&self, turns: &Turns<'_>, index: usize, node: usize) -> Turn {
        match turns {
            Turns::Bits(quanta) => {
                let factor = self.visitors.first().map_or_else(|| ratio(1, 1), |one| one.factor.clone());
                let most = quanta.get(index).cloned().unwrap_or_else(zero) * &factor;
                // The deficit left over is less than a packet: by a byte, or by the step in which it moves.
                let flows = self.below(node).into_iter().map(|one| &self.network.flows[one.flow]);
                let lengths: Vec<&Exact> = flows.flat_map(|flow| [&flow.shortest, &flow.longest]).collect();
                let longest = lengths.iter().copied().max().cloned().unwrap_or_else(zero) * &factor;
                let is_fixed = lengths.windows(2).all(|pair| pair[0] == pair[1]);
                let step = if is_fixed { common(&most, &longest) } else { ratio(8, 1) * &factor };
                let carried = (&longest - &step).max(zero());
                let relisted = &longest - &carried;
                Turn { least: &most - &carried, least_each: most.clone(), most, carried, relisted }
            }
            Turns::Packets(weights, listed) => {
                let weight = ratio(weights.get(index).copied().unwrap_or(1), 1);
                let longest = self.longest(&[node]);
                let shortest = self.below(node).iter().map(|one| one.hop.shortest.clone()).min();
                let least = shortest.unwrap_or_else(zero) * &weight;
                Turn {
                    most: &longest * &weight,
                    least_each: least.clone(),
                    least,
                    carried: zero(),
                    relisted: if *listed { longest } else { zero() },
                }
            }
        }
    }

    fn in_fair_queueing(
        &self,
        parent: usize,
        child: usize,
        law: FairLaw,
        weights: &[u64],
        is_root: bool,
    ) -> Result<Offer, NoBound> {
        let server = &self.network.servers[self.server];
        if !is_root {
            return Err("fair queueing below another queue".into());
        }
        if self.ring() > 1 {
            return Err("a device ring below fair queueing".into());
        }
        if !server.even {
            return Err("fair queueing by bytes on a line that charges others".into());
        }
        let children = self.children(parent);
        let own = children.iter().position(|other| *other == child).unwrap_or(0);
        let all: u64 = weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight));
        let rate = self.rate() * ratio(weights.get(own).copied().unwrap_or(0), all);
        let others = children.iter().filter(|other| **other != child);
        let packets = others.map(|other| self.longest(&[*other])).fold(zero(), |sum, one| sum + one);
        if let Some(lazy) = self.children(parent).iter().find(|node| self.may_idle(**node)) {
            return Err(format!("`{}`, which shares, may wait", self.name(*lazy)).into());
        }
        if !matches!(self.kind(child), Kind::Fifo | Kind::Policer(_)) {
            return Err("queues below fair queueing".into());
        }
        let (work, line_speed, theorem) = match law {
            FairLaw::Pgps => (self.longest(&[parent]), false, Theorem::Pgps),
            FairLaw::SelfClocked => (packets, false, Theorem::SelfClocked),
            FairLaw::StartTime => (packets, true, Theorem::StartTime),
        };
        let latency = &work / self.rate();
        let fresh = Service::rate_latency(rate, latency);
        Ok(Offer {
            lasting: Service::new(Vec::new()),
            fresh,
            extra: zero(),
            line_speed,
            theorem,
            rounds: None,
            terms: vec![Term::Longest(work)],
        })
    }
}

/// Rule of the turns.
enum Turns<'a> {
    Bits(&'a [Exact]),
    Packets(&'a [u64], bool),
}

/// Work of one turn.
struct Turn {
    /// Most work in the long run.
    most: Exact,
    /// Least work in the long run.
    least_each: Exact,
    /// Least work of the first turn.
    least: Exact,
    /// Most work saved for the next turn.
    carried: Exact,
    /// More that a child may do if it leaves and rejoins: its packet in service, less what it carried.
    relisted: Exact,
}

/// Returns the smaller of two curves, of which a missing one is no bound.
pub(crate) fn least(one: Option<Arrival>, other: Option<Arrival>) -> Option<Arrival> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(&other)),
        (one, other) => one.or(other),
    }
}

/// Returns the greatest number that divides both a whole number of times.
fn common(one: &Exact, other: &Exact) -> Exact {
    let (mut one, mut other) = (one.clone(), other.clone());
    while other > zero() {
        let rest = &one % &other;
        one = core::mem::replace(&mut other, rest);
    }
    one
}
