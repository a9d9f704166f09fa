//! Trees of queues as the calculus sees them.

use lockgate_calculus::{Bucket, Exact, FairLaw, Kind, Node, TokenClass, TwoRates, ratio};
use lockgate_engine::discipline::Discipline;
use lockgate_engine::disciplines::{self, Drr, Edf, Ets, Hfsc, Htb, Policer, Prio, Tbf, Wf2qPlus, Wrr};
use lockgate_engine::overhead::Framing;
use lockgate_engine::units::{Bytes, Limit, Overhead, Rate};
use lockgate_scenario::PortModel;
use lockgate_scenario::tree::Queue;
use serde::de::DeserializeOwned;

/// Kinds that send in the order of arrival whatever they drop.
const IN_ORDER: [&str; 6] = ["fifo", "red", "choke", "codel", "pie", "cobalt"];

/// Kinds whose decisions a coarse clock delays or reorders.
const TIMED: [&str; 8] = ["tbf", "policer", "wfq", "wf2q+", "stfq", "scfq", "htb", "hfsc"];

/// Queues of a port, as nodes of a server.
pub(super) struct Queues {
    pub(super) nodes: Vec<Node>,
    /// Limit of each node.
    pub(super) limits: Vec<Option<Limit>>,
    /// Node of each queue, by its index in the tree.
    pub(super) of: Vec<usize>,
}

/// Returns the queues of a port.
pub(super) fn queues(port: &PortModel) -> Queues {
    let tree = port.tree.queues();
    let mut queues = Queues { nodes: Vec::new(), limits: Vec::new(), of: vec![0; tree.len()] };
    queues.add(tree, 0, None);
    let root = &mut queues.nodes[0].kind;
    if let Some(why) = coarse(port, tree) {
        *root = Kind::Unbounded(why.into());
    }
    queues
}

/// Returns why the port's clock or ring leaves its queues without theorem.
fn coarse(port: &PortModel, tree: &[Queue]) -> Option<String> {
    let timed = |queue: &&Queue| {
        let is_prio = queue.kind == "prio" && tree.iter().any(|child| child.share.contains_key("guard_rate"));
        is_prio || TIMED.contains(&queue.kind)
    };
    if port.clock.is_some()
        && let Some(queue) = tree.iter().find(timed)
    {
        return Some(format!("a coarse clock below `{}`", queue.kind));
    }
    let has_ring = port.ring.is_some_and(|ring| ring.slots > 1);
    let shapes = tree.iter().any(|queue| ["tbf", "htb", "hfsc"].contains(&queue.kind));
    (shapes && (has_ring || port.pace.rate.is_some()))
        .then(|| "a shaper above a device ring or a rate".to_owned())
}

fn typed<T: DeserializeOwned>(table: &toml::Table) -> Option<T> {
    table.clone().try_into().ok()
}

fn shares<D: Discipline>(tree: &[Queue], queue: &Queue) -> Option<Vec<D::Share>> {
    queue.children.iter().map(|child| typed(&tree[*child].share)).collect()
}

fn bits(bytes: Bytes) -> Exact {
    ratio(bytes.0, 1) * ratio(8, 1)
}

fn bucket(rate: Rate, burst: Bytes) -> Bucket {
    let rate = ratio(rate.as_bits(), 1);
    Bucket { burst: bits(burst), granted: rate.clone(), rate }
}

impl Queues {
    /// Adds the queue at `index` and those below it.
    fn add(&mut self, tree: &[Queue], index: usize, parent: Option<usize>) {
        let queue = &tree[index];
        let kind = kind(tree, queue)
            .unwrap_or_else(|| Kind::Unbounded(format!("no theorem for `{}`", queue.kind).into()));
        let node = self.push(queue, parent, kind);
        self.of[index] = node;
        // A policer over a queue of its own is one queue.
        if let (Kind::Policer(_), [child]) = (&self.nodes[node].kind, queue.children.as_slice()) {
            if IN_ORDER.contains(&tree[*child].kind) {
                self.of[*child] = node;
                self.limits[node] = tree[*child].limit();
                return;
            }
            self.nodes[node].kind = Kind::Unbounded("queues below a policer".into());
        }
        if matches!(self.nodes[node].kind, Kind::TokenClasses(_) | Kind::ServiceCurves(_)) {
            for leaf in leaves(tree, queue) {
                self.add(tree, leaf, Some(node));
            }
            return;
        }
        let strict = match queue.kind {
            "ets" => {
                typed::<<Ets as Discipline>::Config>(&queue.config).map_or(0, |config| config.strict as usize)
            }
            _ => queue.children.len(),
        };
        let (strict, sharing) = queue.children.split_at(strict.min(queue.children.len()));
        for child in strict {
            self.add(tree, *child, Some(node));
        }
        if !sharing.is_empty() {
            let quanta = quanta_of_ets(tree, queue);
            let kind = quanta.map_or_else(|| Kind::Unbounded("no quanta".into()), Kind::DeficitRounds);
            let rounds = self.push(queue, Some(node), kind);
            for child in sharing {
                self.add(tree, *child, Some(rounds));
            }
        }
    }

    fn push(&mut self, queue: &Queue, parent: Option<usize>, kind: Kind) -> usize {
        self.nodes.push(Node { name: queue.name.to_string(), parent, kind });
        self.limits.push(queue.limit());
        self.nodes.len() - 1
    }
}

/// Returns the order in which a queue serves; `None` without theorem.
fn kind(tree: &[Queue], queue: &Queue) -> Option<Kind> {
    if IN_ORDER.contains(&queue.kind) {
        return Some(Kind::Fifo);
    }
    let fair = |law| {
        let shares = shares::<Wf2qPlus>(tree, queue)?;
        Some(Kind::Fair(law, shares.iter().map(|share| share.weight.into()).collect()))
    };
    match queue.kind {
        "prio" => {
            let shares = shares::<Prio>(tree, queue)?;
            Some(Kind::Priority(shares.iter().map(|share| share.guard_rate.is_some()).collect()))
        }
        "ets" => Some(Kind::Priority(Vec::new())),
        "drr" => {
            let shares = shares::<Drr>(tree, queue)?;
            Some(Kind::DeficitRounds(shares.iter().map(|share| bits(share.quantum)).collect()))
        }
        "wrr" => {
            let shares = shares::<Wrr>(tree, queue)?;
            let weights = shares.iter().map(|share| share.weight.into()).collect();
            Some(Kind::PacketRounds { weights, listed: true })
        }
        "rr" => Some(Kind::PacketRounds { weights: vec![1; queue.children.len()], listed: false }),
        "wfq" | "wf2q+" => fair(FairLaw::Pgps),
        "scfq" => fair(FairLaw::SelfClocked),
        "stfq" => fair(FairLaw::StartTime),
        "edf" => {
            let shares = shares::<Edf>(tree, queue)?;
            let seconds =
                |share: &<Edf as Discipline>::Share| lockgate_calculus::seconds(share.deadline.as_picos());
            Some(Kind::Deadlines(shares.iter().map(seconds).collect()))
        }
        "tbf" => Some(shaper(&typed(&queue.config)?)),
        "htb" => Some(token_classes(tree, queue)?),
        "hfsc" => {
            Some(Kind::ServiceCurves(leaves(tree, queue).map(|leaf| curve_of(&tree[leaf].share)).collect()))
        }
        "policer" => Some(policer(&typed(&queue.config)?)),
        _ => in_any_order(tree, queue).then_some(Kind::WorkConserving),
    }
}

/// Returns the leaves of the classes of a queue, below inner classes too, in order.
fn leaves<'a>(tree: &'a [Queue], queue: &'a Queue) -> Box<dyn Iterator<Item = usize> + 'a> {
    Box::new(queue.children.iter().flat_map(move |child| {
        if tree[*child].is_class() { leaves(tree, &tree[*child]) } else { Box::new(core::iter::once(*child)) }
    }))
}

/// Returns the leaves of `htb`; `None` if a share does not read.
fn token_classes(tree: &[Queue], queue: &Queue) -> Option<Kind> {
    let mut classes = Vec::new();
    for leaf in leaves(tree, queue) {
        let share: <Htb as Discipline>::Share = typed(&tree[leaf].share)?;
        if share.overhead != Overhead(0) || share.mpu != Bytes::ZERO || share.framing != Framing::Noatm {
            return Some(Kind::Unbounded("a class that counts the overhead of a line".into()));
        }
        classes.push(TokenClass {
            rate: ratio(share.rate.as_bits(), 1),
            burst: bits(share.burst),
            ceiling_burst: bits(share.cburst),
            priority: share.prio,
        });
    }
    Some(Kind::TokenClasses(classes))
}

/// Returns the real-time curve of a leaf of `hfsc`.
fn curve_of(share: &toml::Table) -> Option<TwoRates> {
    let share: <Hfsc as Discipline>::Share = typed(share)?;
    let curve = share.rt.or(share.sc)?;
    let [first, second] = [curve.m1, curve.m2].map(|rate| ratio(rate.as_bits(), 1));
    Some(TwoRates { first, bend: lockgate_calculus::seconds(curve.d.as_picos()), second })
}

/// Returns whether a queue and all below it never idle while packets wait.
fn in_any_order(tree: &[Queue], queue: &Queue) -> bool {
    let own = disciplines::Kind::named(queue.kind).is_some_and(|kind| kind.work_conserving);
    own && queue.children.iter().all(|child| in_any_order(tree, &tree[*child]))
}

fn quanta_of_ets(tree: &[Queue], queue: &Queue) -> Option<Vec<Exact>> {
    let config: <Ets as Discipline>::Config = typed(&queue.config)?;
    let shares = shares::<Ets>(tree, queue)?;
    let strict = (config.strict as usize).min(shares.len());
    let listed = config.quanta.iter().copied().map(Some).chain(core::iter::repeat(None));
    let full = lockgate_engine::discipline::FULL_FRAME;
    let quanta =
        shares[strict..].iter().zip(listed).map(|(share, listed)| share.quantum.or(listed).unwrap_or(full));
    Some(quanta.map(bits).collect())
}

/// Returns the shaper of these parameters, if it counts frames as they are.
fn shaper(config: &<Tbf as Discipline>::Config) -> Kind {
    if config.overhead != Overhead(0) || config.mpu != Bytes::ZERO || config.framing != Framing::Noatm {
        return Kind::Unbounded("a shaper that counts the overhead of a line".into());
    }
    let peak = config.peakrate.zip(config.mtu).map(|(rate, mtu)| bucket(rate, mtu));
    Kind::Shaper([bucket(config.rate, config.burst)].into_iter().chain(peak).collect())
}

/// Returns the policer of these parameters: a FIFO if it drops nothing.
fn policer(config: &<Policer as Discipline>::Config) -> Kind {
    use lockgate_engine::disciplines::policer::Verdict;
    if config.green_dscp.or(config.yellow_dscp).or(config.red_dscp).is_some() {
        return Kind::Unbounded("a policer that marks".into());
    }
    if config.red == Verdict::Pass {
        return Kind::Fifo;
    }
    let committed = bucket(config.rate, config.burst);
    let peak = config.peakrate.zip(config.peakburst).map(|(rate, burst)| bucket(rate, burst));
    let excess = config.excess_burst.unwrap_or(Bytes::ZERO);
    let with_excess = bucket(config.rate, Bytes(config.burst.0.saturating_add(excess.0)));
    let buckets = match (config.yellow, peak) {
        (Verdict::Drop, peak) => [committed].into_iter().chain(peak).collect(),
        (Verdict::Pass, Some(peak)) => vec![peak],
        (Verdict::Pass, None) => vec![with_excess],
    };
    Kind::Policer(buckets)
}
