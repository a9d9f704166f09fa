use super::*;
use crate::classify::{Classifier, NoHeaders, Rule};
use crate::context::Drops;
use crate::discipline::{About, Arity, Discipline, DropReason, NoShare};
use crate::disciplines::codel::Codel;
use crate::disciplines::fifo::Fifo;
use crate::packet::{FlowId, Header};
use crate::random::{Random, Seed};
use crate::units::Instant;
use crate::units::{Bytes, Duration};

/// Test owner that serves the last leaf first.
struct Last {
    classes: Classes,
    given: Vec<usize>,
}

impl Discipline for Last {
    const ABOUT: About = About {
        name: "last",
        summary: "the last leaf first",
        source: "here",
        guarantees: &[],
        children: Arity::Classes,
        ..About::DEFAULT
    };
    type Config = NoShare;
    type Share = NoShare;

    fn new(_: NoShare, children: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let (classes, shares) = Classes::new(children)?;
        assert_eq!(shares.len(), classes.len());
        Ok(Self { classes, given: Vec::new() })
    }
    fn reconfigure(&mut self, _: NoShare, _: Vec<NoShare>, _: &mut Context<'_>) -> Result<(), Invalid> {
        Ok(())
    }
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let (leaf, is_empty) = self.classes.enqueue(packet, cx);
        assert_eq!(is_empty, self.classes.is_empty(leaf));
        self.given.push(leaf);
    }
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        for leaf in
            (0..self.classes.len()).rev().filter(|class| self.classes.is_leaf(*class)).collect::<Vec<_>>()
        {
            if !self.classes.is_empty(leaf) {
                let peeked = self.classes.peek(leaf, cx);
                let (dequeued, is_empty) = self.classes.dequeue(leaf, cx);
                assert_eq!(is_empty, self.classes.is_empty(leaf));
                assert!(
                    matches!((peeked, &dequeued), (Peek::Length(bytes), Dequeue::Packet(packet)) if bytes == packet.bytes())
                );
                return dequeued;
            }
        }
        Dequeue::Empty
    }
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.each_child(visit);
    }
}

fn child(node: Node) -> Child<NoShare> {
    Child { share: NoShare {}, node }
}

/// A FIFO with room for two packets.
fn leaf(name: &str) -> Child<NoShare> {
    let config = serde_json::from_str(r#"{ "limit": "2p" }"#).expect("parameters");
    child(Node::new::<Fifo>(name, config, Vec::new()).expect("valid"))
}

/// Classifier of flows to children: one list per child.
fn by_flow(flows: &[&[u32]]) -> Classifier {
    let rule = |flows: &&[u32]| {
        vec![Rule { flows: Some(flows.iter().copied().map(FlowId).collect()), ..Rule::default() }]
    };
    Classifier::new(flows.iter().map(rule).collect())
}

/// ```text
/// root: 0 a (class): 1 b (class): 2 leaf of flow 0
///                                 3 leaf of flow 1
///                    4 leaf of flow 2
///       5 leaf of flow 3
/// ```
fn tree() -> Node {
    let b =
        Node::class("b", vec![leaf("2"), leaf("3")]).expect("valid").with_classifier(by_flow(&[&[0], &[1]]));
    let a = Node::class("a", vec![child(b), leaf("4")])
        .expect("valid")
        .with_classifier(by_flow(&[&[0, 1], &[2]]));
    Node::new::<Last>("root", NoShare {}, vec![child(a), leaf("5")])
        .expect("valid")
        .with_classifier(by_flow(&[&[0, 1, 2], &[3]]))
}

/// Enqueues a packet of 100 bytes for each of these flows.
fn offer(root: &mut Node, flows: &[u32], cx: &mut Context<'_>) {
    for flow in flows {
        root.enqueue(Packet::new(Header { flow: FlowId(*flow), length: 100, ..Header::default() }), cx);
    }
}

#[test]
fn every_level_accounts_for_what_passes_it_and_what_is_dropped_below() {
    let mut root = tree();
    let mut random = Random::stream(Seed(1), "test");
    let mut drops = Drops::default();
    let mut cx = Context { now: Instant::ZERO, random: &mut random, drops: &mut drops, headers: &NoHeaders };
    offer(&mut root, &[0, 1, 2, 3, 0, 0, 1, 1, 1], &mut cx);
    let last = root.downcast::<Last>().expect("the owner");
    assert_eq!(last.given, [2, 3, 4, 5, 2, 2, 3, 3, 3]);
    assert_eq!([0, 1, 2, 5].map(|class| last.classes.height(class)), [2, 1, 0, 0]);
    assert_eq!(last.classes.tops(), [0, 5]);
    assert_eq!(last.classes.children(0), [1, 4]);
    assert_eq!((last.classes.parent(3), last.classes.parent(0)), (Some(1), None));

    let mut sent = Vec::new();
    for _ in 0..3 {
        let Dequeue::Packet(packet) = root.dequeue(&mut cx) else { panic!("it has more") };
        sent.push(packet.flow.0);
    }
    assert_eq!(sent, [3, 2, 1]);
    let mut seen = Vec::new();
    root.each(&mut |node, depth| {
        let counters = node.counters();
        let packets =
            [counters.offered, counters.sent, counters.dropped, counters.backlog].map(|t| t.packets);
        seen.push((node.name().to_string(), depth, packets, node.take_peak().packets));
    });
    // A packet dropped on arrival was never queued: it does not count for the peak.
    let expected = [
        ("root", 0, [9, 3, 3, 3], 6),
        ("a", 1, [8, 2, 3, 3], 5),
        ("b", 2, [7, 1, 3, 3], 4),
        ("2", 3, [3, 0, 1, 2], 2),
        ("3", 3, [4, 1, 2, 1], 2),
        ("4", 2, [1, 1, 0, 0], 1),
        ("5", 1, [1, 1, 0, 0], 1),
    ];
    assert_eq!(seen, expected.map(|(name, depth, packets, peak)| (name.to_owned(), depth, packets, peak)));

    let mut out = Vec::new();
    root.flush(&mut out);
    assert_eq!(out.len(), 3);
    root.each(&mut |node, _| assert!(node.is_empty(), "{}", node.name()));
}

#[test]
fn every_level_remembers_its_largest_backlog() {
    let mut root = tree();
    let mut random = Random::stream(Seed(1), "test");
    let mut drops = Drops::default();
    let mut cx = Context { now: Instant::ZERO, random: &mut random, drops: &mut drops, headers: &NoHeaders };
    offer(&mut root, &[0, 1, 2], &mut cx);
    while let Dequeue::Packet(_) = root.dequeue(&mut cx) {}
    let mut peaks = Vec::new();
    root.each(&mut |node, _| peaks.push(node.take_peak().packets));
    assert_eq!(peaks, [3, 3, 2, 1, 1, 1, 0]);
}

#[test]
fn a_change_at_a_leaf_is_settled_at_every_class_above() {
    let mut root = tree();
    let mut random = Random::stream(Seed(1), "test");
    let mut drops = Drops::default();
    let mut cx = Context { now: Instant::ZERO, random: &mut random, drops: &mut drops, headers: &NoHeaders };
    offer(&mut root, &[0, 0, 1], &mut cx);
    root.find("2", &mut cx, &mut |node, cx| {
        let config = serde_json::from_str(r#"{ "limit": "1p" }"#).expect("parameters");
        node.reconfigure::<Fifo>(config, Vec::new(), cx).expect("valid");
    })
    .expect("it is there");
    assert!(drops.waiting.iter().all(|(_, reason)| *reason == DropReason::Shrunk));
    assert_eq!(drops.waiting.len(), 1);
    root.each(&mut |node, _| {
        let expected = match &**node.name() {
            "root" | "a" | "b" => 200,
            "2" | "3" => 100,
            _ => 0,
        };
        assert_eq!(node.backlog().bytes, Bytes(expected), "{}", node.name());
    });
}

#[test]
fn classes_without_children_are_refused() {
    assert!(Node::class::<NoShare>("none", Vec::new()).is_err_and(|invalid| invalid.field == "children"));
    assert!(Classes::new::<NoShare>(Vec::new()).is_err_and(|invalid| invalid.field == "children"));
}

/// Owner of [`Classes`], whose inner classes the owner's loop accounts for. Serves the last leaf first.
struct Loop(Classes);

/// Children called one by one, so that [`Node::enqueue`] and [`Node::dequeue`] account for each level.
/// Serves the last child first; nested, it sends the packets of [`Loop`] in the same order.
struct Recursion(Vec<Node>);

impl Discipline for Loop {
    const ABOUT: About = About {
        name: "loop",
        summary: "the last leaf first",
        source: "here",
        guarantees: &[],
        children: Arity::Classes,
        ..About::DEFAULT
    };
    type Config = NoShare;
    type Share = NoShare;

    fn new(_: NoShare, children: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        Ok(Self(Classes::new(children)?.0))
    }
    fn reconfigure(&mut self, _: NoShare, _: Vec<NoShare>, _: &mut Context<'_>) -> Result<(), Invalid> {
        Ok(())
    }
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.0.enqueue(packet, cx);
    }
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        for class in (0..self.0.len()).rev() {
            if self.0.is_leaf(class)
                && let (Dequeue::Packet(packet), _) = self.0.dequeue(class, cx)
            {
                return Dequeue::Packet(packet);
            }
        }
        Dequeue::Empty
    }
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.0.each_child(visit);
    }
}

impl Discipline for Recursion {
    const ABOUT: About = About {
        name: "recursion",
        summary: "the last child first",
        source: "here",
        guarantees: &[],
        children: Arity::Many,
        ..About::DEFAULT
    };
    type Config = NoShare;
    type Share = NoShare;

    fn new(_: NoShare, children: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        Ok(Self(children.into_iter().map(|child| child.node).collect()))
    }
    fn reconfigure(&mut self, _: NoShare, _: Vec<NoShare>, _: &mut Context<'_>) -> Result<(), Invalid> {
        Ok(())
    }
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let index = packet.position.child().min(self.0.len() - 1);
        self.0[index].enqueue(packet, cx);
    }
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        for node in self.0.iter_mut().rev() {
            if let Dequeue::Packet(packet) = node.dequeue(cx) {
                return Dequeue::Packet(packet);
            }
        }
        Dequeue::Empty
    }
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.0.iter_mut().for_each(visit);
    }
}

/// The tree of [`tree`] with these inner nodes, over leaves that drop and mark in both directions.
fn lossy_tree<Root: Discipline<Config = NoShare, Share = NoShare>>(
    inner: fn(&str, Vec<Child<NoShare>>) -> Result<Node, Invalid>,
) -> Node {
    fn leaf<D: Discipline>(name: &str, config: &str) -> Child<NoShare> {
        let config = serde_json::from_str(config).expect("parameters");
        child(Node::new::<D>(name, config, Vec::new()).expect("valid"))
    }
    let codel = |name, ecn| {
        let config =
            format!(r#"{{ "limit": "6p", "target": "5us", "interval": "20us", "mtu": "1B", "ecn": {ecn} }}"#);
        leaf::<Codel>(name, &config)
    };
    let head = r#"{ "limit": "2p", "overflow": "head" }"#;
    let b = inner("b", vec![leaf::<Fifo>("2", head), codel("3", false)])
        .expect("valid")
        .with_classifier(by_flow(&[&[0], &[1]]));
    let a = inner("a", vec![child(b), codel("4", true)])
        .expect("valid")
        .with_classifier(by_flow(&[&[0, 1], &[2]]));
    Node::new::<Root>("root", NoShare {}, vec![child(a), leaf::<Fifo>("5", r#"{ "limit": "300B" }"#)])
        .expect("valid")
        .with_classifier(by_flow(&[&[0, 1, 2], &[3]]))
}

#[test]
fn the_owners_loop_counts_what_the_recursion_through_nodes_counts() {
    let mut trees = [
        lossy_tree::<Loop>(Node::class),
        lossy_tree::<Recursion>(|name, children| Node::new::<Recursion>(name, NoShare {}, children)),
    ];
    let mut drops = [Drops::default(), Drops::default()];
    let mut operations = Random::stream(Seed(1), "operations");
    let mut random = Random::stream(Seed(1), "test");
    let mut now = Instant::ZERO;
    for step in 0..20_000 {
        now = now + Duration::from_micros(u64::from(operations.below(4)));
        let (is_arrival, flow, length) =
            (operations.below(9) < 5, operations.below(4), 60 + operations.below(100));
        let mut seen = Vec::new();
        for (tree, drops) in trees.iter_mut().zip(&mut drops) {
            let mut cx = Context { now, random: &mut random, drops, headers: &NoHeaders };
            let sent = if is_arrival {
                let header = Header {
                    flow: FlowId(flow),
                    length,
                    sequence: step,
                    arrived: now,
                    traffic_class: 1,
                    ..Header::default()
                };
                tree.enqueue(Packet::new(header), &mut cx);
                None
            } else if let Dequeue::Packet(packet) = tree.dequeue(&mut cx) {
                Some(packet.sequence)
            } else {
                None
            };
            let mut nodes = Vec::new();
            tree.each(&mut |node, depth| {
                let peak = if step % 7 == 0 { node.take_peak() } else { node.peak() };
                nodes.push((node.name().to_string(), depth, node.counters(), peak));
            });
            seen.push((sent, nodes));
        }
        assert_eq!(seen[0], seen[1], "step {step}");
    }
    let mut counters = Vec::new();
    trees[0].each(&mut |node, _| counters.push(node.counters()));
    let root = counters[0];
    assert!(root.dropped.packets > 100 && root.sent.packets > 1_000 && root.marked_packets > 100, "{root:?}");
    assert!(counters[3..].iter().all(|leaf| leaf.dropped.packets > 10 || leaf.marked_packets > 10));
}
