//! Cost of a scheduling decision: nanoseconds for an enqueue and a dequeue, for every kind of the registry.
//!
//! ```text
//! cargo bench -p lockgate-engine [-- FILTER]                 kind/size/depth, such as `drr/1000` or `^sfq`
//! LOCKGATE_BENCH=short cargo bench -p lockgate-engine        all of it in a few minutes
//! LOCKGATE_BENCH=100000 cargo bench -p lockgate-engine -- htb/nested/shallow
//! ```
//!
//! A number instead of `short` sends exactly so many packets in each cell whose name contains the filter:
//! to compare two builds in alternation, and to count instructions (`valgrind --tool=callgrind
//! --toggle-collect='*Load*pairs*'`), which a loaded machine does not change.
//!
//! A port holds `size` flows (or classes, for a kind that takes children: each a FIFO), each with one
//! packet (shallow) or sixteen (deep, up to two million packets). Every flow is always backlogged: a packet
//! that is sent is offered again to its own flow at once. Flows take turns in a shuffled order, so that a
//! large port is out of the cache, as in reality. The ports' time advances by a nanosecond a pair, and
//! limits are far away: the order of service is measured, not drops. In ranked kinds a packet gets a random
//! rank. Figures are processor time of the thread, the median of ten samples.
//!
//! `nested` is a tree of three levels of the same kind (of its classes, if it owns them), ten by ten by
//! ten, and includes sorting a packet by ten rules at each level. `limited` is the same with every class at
//! its rate, for kinds that give rates: every class that sends has waited for it.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::collections::BTreeMap;
use std::time::Duration as Elapsed;

use criterion::Criterion;
use lockgate_engine::classify::{Classifier, NoHeaders, Rule};
use lockgate_engine::discipline::{Arity, Child, Discipline};
use lockgate_engine::disciplines::{self, Fifo, KINDS, Kind, Visitor};
use lockgate_engine::node::Node;
use lockgate_engine::packet::{FlowId, Header, Packet, Position};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant};
use rustix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Allocator of the command-line program (decision 067).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [usize; 4] = [8, 1_000, 100_000, 1_000_000];
const LEVELS: u32 = 3;
/// Bytes of the shortest packet.
const SHORTEST: u32 = 1_000;
const MOST_PACKETS: usize = 2_000_000;
const DEEP: usize = 16;
/// Rate that no class reaches.
const FAR: &str = "1000000gbit";

/// Targets in nanoseconds for each size, and for three levels within their limits and at them.
const TARGETS: [(&str, [u32; 6]); 7] = [
    ("fifo", [12, 12, 12, 12, 0, 0]),
    ("drr", [20, 20, 60, 160, 0, 0]),
    ("sfq", [0, 60, 0, 0, 0, 0]),
    ("fq_codel", [0, 60, 0, 0, 0, 0]),
    ("wf2q+", [80, 80, 200, 500, 0, 0]),
    ("htb", [0, 0, 0, 0, 100, 100]),
    ("hfsc", [0, 0, 0, 0, 100, 0]),
];

/// Values with room for everything, in bytes and in packets, of parameters that any kind may have. Limits are
/// set wherever there are any, the others where the example states them.
const ROOM: [(&str, &str, &str); 8] = [
    ("bandwidth", FAR, FAR),
    ("burst", "1GB", "1GB"),
    ("limit", "1000GB", "100000000p"),
    ("max", "4GB", "4000000p"),
    ("memlimit", "1000GB", "1000GB"),
    ("memory_limit", "1000GB", "1000GB"),
    ("min", "3GB", "3000000p"),
    ("rate", FAR, FAR),
];

/// Room for flows, likewise.
const ROOM_FOR_FLOWS: [(&str, u32); 3] = [("depth", 100_000_000), ("divisor", 65_536), ("flows", 65_536)];

/// The kind's parameters, with room for everything; `Limited` keeps the rate that classes share.
fn parameters<D: Discipline>(shape: Shape) -> Value {
    let mut config: Value = toml::from_str(D::ABOUT.example).expect("the example is TOML");
    let known = &schemars::schema_for!(D::Config).to_value()["properties"];
    for (name, bytes, packets) in ROOM {
        let stated = config.get(name);
        let is_meant = stated.is_some() || name.ends_with("limit") && known.get(name).is_some();
        if is_meant && !(name == "bandwidth" && shape == Shape::Limited) {
            let usual = stated.unwrap_or(&known[name]["default"]).as_str();
            let is_in_bytes = usual.is_some_and(|usual| usual.ends_with('B'));
            config[name] = json!(if is_in_bytes { bytes } else { packets });
        }
    }
    for (name, number) in ROOM_FOR_FLOWS.into_iter().filter(|(name, _)| known.get(name).is_some()) {
        config[name] = json!(number);
    }
    config
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("valid parameters")
}

/// Arrangement of the flows or classes under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Flat(usize),
    /// Three levels, ten children each.
    Nested,
    /// Three levels, ten children each, every class at its limit.
    Limited,
}

impl Shape {
    fn flows(self) -> usize {
        match self {
            Self::Flat(flows) => flows,
            Self::Nested | Self::Limited => 1_000,
        }
    }
}

/// Visitor that builds the tree of a kind in this shape. `Err` holds the reason why it has none.
struct Build(Shape);

impl Visitor for Build {
    type Output = Result<Node, String>;
    fn visit<D: Discipline>(self) -> Self::Output {
        let Self(shape) = self;
        if !takes_several::<D>() {
            return match shape {
                Shape::Flat(_) => Ok(node::<D>("root", Vec::new(), shape)),
                Shape::Nested | Shape::Limited => Err("takes no children".to_owned()),
            };
        }
        match shape {
            Shape::Limited if share::<D>().get("rate").is_none() => {
                Err("gives its classes no rates".to_owned())
            }
            Shape::Flat(count) if D::ABOUT.classifies && count > 8 => {
                Err("two children are all it takes".to_owned())
            }
            Shape::Flat(_) if D::ABOUT.classifies => Ok(node::<D>("root", leaves("root", 2), shape)),
            Shape::Flat(count) => Ok(node::<D>("root", leaves("root", count), shape)),
            Shape::Nested if D::ABOUT.classifies => Err("two children are all it takes".to_owned()),
            Shape::Nested | Shape::Limited => Ok(nested::<D>("root", LEVELS, SHORTEST, shape)),
        }
    }
}

fn takes_several<D: Discipline>() -> bool {
    matches!(D::ABOUT.children, Arity::Many | Arity::Classes)
}

/// Returns the usual share of a class. If it has a rate, the class waits or borrows above it.
fn share<D: Discipline>() -> Value {
    toml::from_str(D::ABOUT.share_example).expect("the example is TOML")
}

fn shared<D: Discipline>(children: Vec<Node>, shape: Shape) -> Vec<Child<D::Share>> {
    let mut says = share::<D>();
    if says.get("rate").is_some() && shape != Shape::Limited {
        says["rate"] = json!(FAR);
        if says.get("ceil").is_some() {
            // Turns of a packet or two, as elsewhere.
            (says["ceil"], says["quantum"]) = (json!(FAR), json!("1514B"));
        }
    }
    children.into_iter().map(|node| Child { share: read(says.clone()), node }).collect()
}

fn node<D: Discipline>(name: &str, children: Vec<Node>, shape: Shape) -> Node {
    let children = shared::<D>(children, shape);
    let mut config = parameters::<D>(shape);
    if !children.is_empty()
        && matches!(D::ABOUT.children, Arity::Optional)
        && let Some(config) = config.as_object_mut()
    {
        config.remove("limit");
    }
    Node::new::<D>(name, read(config), children).expect("valid parameters")
}

fn leaves(name: &str, count: usize) -> Vec<Node> {
    let config = json!({ "limit": "100000000p" });
    (0..count)
        .map(|index| {
            Node::new::<Fifo>(&format!("{name}/{index}"), read(config.clone()), Vec::new()).expect("valid")
        })
        .collect()
}

/// Returns a tree whose levels each classify by one decimal digit of a packet's length, less `from`.
fn nested<D: Discipline>(name: &str, levels: u32, from: u32, shape: Shape) -> Node {
    let step = 10_u32.pow(levels - 1);
    let children = if levels == 1 {
        leaves(name, 10)
    } else {
        (0..10)
            .map(|index| nested::<D>(&format!("{name}/{index}"), levels - 1, from + index * step, shape))
            .collect()
    };
    let rules = (0..10).map(|index| {
        let first = from + index * step;
        vec![Rule { length: Some(first..=first + step - 1), ..Rule::default() }]
    });
    // Below the top, a hierarchy of classes has inner classes; others are nested in themselves.
    let node = if levels < LEVELS && matches!(D::ABOUT.children, Arity::Classes) {
        Node::class(name, shared::<D>(children, shape)).expect("valid parameters")
    } else {
        node::<D>(name, children, shape)
    };
    node.with_classifier(Classifier::new(rules.collect()))
}

/// A port under load.
struct Load {
    port: Port,
    now: Instant,
    /// Dropped packets that were not offered again yet.
    spare: Vec<Packet>,
    draw: u64,
    ranks: bool,
    packets: usize,
}

impl Load {
    fn new(kind: &str, root: Node, shape: Shape, each: usize) -> Self {
        let mut random = Random::stream(Seed(1), "order");
        let mut load = Self {
            port: Port::new(root, Random::stream(Seed(1), "port")),
            now: Instant::ZERO,
            spare: Vec::new(),
            draw: 1,
            ranks: Kind::named(kind).is_some_and(|kind| kind.reads_source),
            packets: shape.flows() * each,
        };
        let mut flows: Vec<u32> = (0..shape.flows() as u32).collect();
        for _ in 0..each {
            for last in (1..flows.len()).rev() {
                flows.swap(last, random.below(last as u32 + 1) as usize);
            }
            for flow in &flows {
                // Lengths are near each other, so that all flows have about as many turns; those of a tree
                // name the leaf.
                let length = SHORTEST + if matches!(shape, Shape::Flat(_)) { flow % 500 } else { *flow };
                let position = Position::to_child(*flow as usize);
                load.offer(Packet::new(Header {
                    flow: FlowId(*flow),
                    position,
                    length,
                    ..Header::default()
                }));
            }
        }
        load
    }

    fn offer(&mut self, mut packet: Packet) {
        if self.ranks {
            self.draw ^= self.draw << 13;
            self.draw ^= self.draw >> 7;
            self.draw ^= self.draw << 17;
            packet.stamp = Instant::from_picos(self.draw >> 20);
            packet.waited = Duration::from_picos(self.draw >> 40);
            packet.hops = (self.draw >> 60) as u8;
        }
        self.port.offer(packet, self.now, &NoHeaders);
        if self.port.has_drops() {
            self.spare.extend(self.port.take_drops().map(|(packet, _)| packet));
        }
    }

    /// Sends a packet and offers it again. If the port names a time to wait for, the clock advances to it.
    #[inline]
    fn pair(&mut self) {
        self.now = self.now + Duration::from_picos(1_000);
        loop {
            match self.port.poll(self.now, &NoHeaders) {
                Poll::Transmit(packet) => break self.offer(packet),
                Poll::WaitUntil(time) => self.now = time,
                Poll::Idle => break,
            }
        }
        if let Some(packet) = self.spare.pop() {
            self.offer(packet);
        }
    }

    #[inline(never)]
    fn pairs(&mut self, count: u64) -> Elapsed {
        let start = cpu_time();
        for _ in 0..count {
            self.pair();
        }
        cpu_time().saturating_sub(start)
    }
}

/// Returns the processor time of this thread, which includes little of the effect of other load.
fn cpu_time() -> Elapsed {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Elapsed::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures one port, if the filter selects it. Returns the median of its samples in nanoseconds.
fn measure(
    criterion: &mut Criterion,
    kind: &str,
    shape: Shape,
    each: usize,
    id: &str,
) -> Option<Result<f64, String>> {
    let mut load: Option<Load> = None;
    let mut refused = None;
    let mut samples = Vec::new();
    // A port is built only if criterion selects it. A shape that cannot be built is not measured.
    criterion.bench_function(id, |bencher| {
        if load.is_none() && refused.is_none() {
            match disciplines::visit(kind, Build(shape)).expect("a kind of the list") {
                Ok(root) => {
                    let mut built = Load::new(kind, root, shape, each);
                    // One round first, so that all memory is allocated.
                    built.pairs(built.packets.min(MOST_PACKETS) as u64);
                    load = Some(built);
                }
                Err(why) => refused = Some(why),
            }
        }
        bencher.iter_custom(|count| match &mut load {
            Some(load) => {
                let elapsed = load.pairs(count);
                samples.push(elapsed.as_secs_f64() * 1e9 / count as f64);
                elapsed
            }
            None => Elapsed::from_nanos(count),
        });
    });
    match refused {
        Some(why) => Some(Err(why)),
        None => (!samples.is_empty()).then(|| Ok(median(samples))),
    }
}

fn size_name(size: usize) -> String {
    match size {
        0..1_000 => size.to_string(),
        1_000..1_000_000 => format!("{}k", size / 1_000),
        _ => format!("{}M", size / 1_000_000),
    }
}

/// A row of the table at the end.
type Cells = BTreeMap<usize, Result<f64, String>>;

fn print_table(rows: &BTreeMap<(usize, &str, &str), Cells>) {
    println!("\nns per enqueue + dequeue pair, median of the samples; `*` misses its aim");
    println!(
        "{:<18}{:<9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "kind", "depth", "8", "1k", "100k", "1M", "nested", "limited"
    );
    let mut notes = BTreeMap::new();
    for ((_, kind, depth), cells) in rows {
        let target = TARGETS.iter().find(|(name, _)| name == kind).map(|(_, target)| target);
        let cell = |column: usize| match cells.get(&column) {
            Some(Ok(nanos)) => {
                let limit = target.and_then(|target| target.get(column)).copied().unwrap_or(0);
                let over = limit > 0 && *nanos > f64::from(limit);
                format!("{nanos:.1}{}", if over { "*" } else { "" })
            }
            Some(Err(_)) | None => "-".to_owned(),
        };
        let cells_text: Vec<_> = (0..SIZES.len() + 2).map(|column| format!("{:>10}", cell(column))).collect();
        println!("{kind:<18}{depth:<9}{}", cells_text.concat());
        for (column, why) in cells.iter().filter_map(|(column, cell)| Some((column, cell.as_ref().err()?))) {
            notes.entry(why.as_str()).or_insert_with(Vec::new).push((*kind, *column));
        }
    }
    for (why, indices) in notes {
        let mut kinds: Vec<_> = indices.iter().map(|(kind, _)| *kind).collect();
        kinds.dedup();
        println!("- {why}: {}", kinds.join(", "));
    }
}

/// The shapes of ports, each with its column in the table.
fn shapes() -> impl Iterator<Item = (usize, Shape)> {
    let shapes = SIZES.iter().map(|size| Shape::Flat(*size)).chain([Shape::Nested, Shape::Limited]);
    shapes.enumerate()
}

/// Returns the name of a cell, and the number of packets of each of its flows.
fn cell(kind: &str, shape: Shape, depth: &str, each: usize) -> (String, usize) {
    let name = match shape {
        Shape::Flat(size) => size_name(size),
        Shape::Nested => "nested".to_owned(),
        Shape::Limited => "limited".to_owned(),
    };
    (format!("{kind}/{name}/{depth}"), each.min(MOST_PACKETS / shape.flows()).max(1))
}

const DEPTHS: [(&str, usize); 2] = [("shallow", 1), ("deep", DEEP)];

/// Sends `count` packets, in ten parts, in each cell whose name holds `filter`.
fn send_exactly(count: u64, filter: &str) {
    for kind in KINDS {
        for (depth, each) in DEPTHS {
            for (_, shape) in shapes() {
                let (id, each) = cell(kind, shape, depth, each);
                if !id.contains(filter) {
                    continue;
                }
                let Ok(root) = disciplines::visit(kind, Build(shape)).expect("a kind of the list") else {
                    continue;
                };
                let mut load = Load::new(kind, root, shape, each);
                let part = (count / 10).max(1);
                let nanos = || load.pairs(part).as_secs_f64() * 1e9 / part as f64;
                let mut parts: Vec<f64> = std::iter::repeat_with(nanos).take(10).collect();
                parts.sort_by(f64::total_cmp);
                println!("{id}: median {:.1} ns, least {:.1} ns", parts[5], parts[0]);
            }
        }
    }
}

fn main() {
    let mode = std::env::var("LOCKGATE_BENCH").unwrap_or_default();
    if let Ok(count) = mode.parse() {
        let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
        return send_exactly(count, &filter.unwrap_or_default());
    }
    let (warm, measure_for) = if mode == "short" { (30, 150) } else { (500, 2_000) };
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(10)
        .warm_up_time(Elapsed::from_millis(warm))
        .measurement_time(Elapsed::from_millis(measure_for))
        .configure_from_args();
    let mut rows: BTreeMap<(usize, &str, &str), Cells> = BTreeMap::new();
    for (index, kind) in KINDS.iter().enumerate() {
        for (depth, each) in DEPTHS {
            for (column, shape) in shapes() {
                let (id, each) = cell(kind, shape, depth, each);
                if let Some(cell) = measure(&mut criterion, kind, shape, each, &id) {
                    rows.entry((index, kind, depth)).or_default().insert(column, cell);
                }
            }
        }
    }
    criterion.final_summary();
    print_table(&rows);
}
