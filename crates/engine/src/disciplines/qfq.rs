//! Quick fair queueing: nearly worst-case fair weighted fair queueing, in constant time.
//!
//! ```text
//! S = max(V, F of the child's packet before it);  F = S + length / weight     exact, kept for each child
//! group of a child: its longest packet takes up to 2^g of virtual time        S and F rounded to 2^g
//! serve, of the groups whose rounded S has come, the one of smallest rounded F
//! V grows by length / sum of weights with each packet; to the smallest S waiting if none is eligible
//! ```
//!
//! `wf2q+` orders all children; this orders a handful of groups, held in bitmaps (`fair/groups.rs`):
//! O(1), and a deviation of up to six packets of the child and two of the longest at its share, instead of
//! one packet.
//!
//! Virtual time at an arrival counts the packet in service as sent, as in the source; the bound includes
//! it. A packet longer than its child's `maxpkt` is sent all the same, and the child is from then on in the
//! group of that length.

use serde::{Deserialize, Serialize};

use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Guarantee, Invalid};
use crate::explanation::stand_in::{Part, Rehearsed};
use crate::explanation::{Explanation, Foresight, Value, why};
use crate::fair::explain::Contest;
use crate::fair::groups::{Groups, group_of};
use crate::fair::{self, Tag, TaggedChildren};
use crate::node::Node;
use crate::packet::Packet;
use crate::units::Bytes;

pub use crate::fair::Config;

/// A child's share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Its weight, 1 to 4294967295: backlogged children share the link in proportion to it.
    pub weight: u32,
    /// Its longest packet, at least `1B`. The tighter it is, the tighter the child's guarantee. A longer one
    /// is sent, and counts as its longest from then on.
    pub maxpkt: Bytes,
}

impl Default for Share {
    fn default() -> Self {
        Self { weight: 1, maxpkt: Bytes(1514) }
    }
}

impl Share {
    fn weight(&self) -> fair::Share {
        fair::Share { weight: self.weight }
    }
}

fn check_longest<'a>(mut shares: impl Iterator<Item = &'a Share>) -> Result<(), Invalid> {
    match shares.position(|share| share.maxpkt == Bytes::ZERO) {
        Some(child) => {
            Err(Invalid::new("maxpkt", "must be at least `1B`, best the longest frame such as `1514B`")
                .on_child(child))
        }
        None => Ok(()),
    }
}

/// Quick fair queueing.
pub struct Qfq {
    classes: TaggedChildren,
    sizes: Vec<Size>,
    /// `maxpkt` of each child.
    told: Vec<Bytes>,
    /// Sum of the children's weights.
    weights: u64,
    groups: Groups,
    /// Virtual time at the end of the packet in service.
    clock: Tag,
}

/// Longest packet of a child, as configured or as seen, and its group.
#[derive(Clone, Copy)]
struct Size {
    longest: Bytes,
    group: usize,
}

impl Size {
    fn new(longest: Bytes, weight: u32) -> Self {
        Self { longest, group: group_of(longest, weight) }
    }
}

fn sizes(classes: &TaggedChildren, told: &[Bytes]) -> Vec<Size> {
    classes.all.iter().zip(told).map(|(class, longest)| Size::new(*longest, class.weight)).collect()
}

impl Discipline for Qfq {
    const ABOUT: About = About {
        name: "qfq",
        summary: "quick fair queueing: nearly as near to a fluid server as wf2q+, in constant time",
        source: "Checconi, Rizzo and Valente, QFQ: efficient packet scheduling with tight guarantees, IEEE/ACM ToN 2013; tc-qfq(8)",
        guarantees: &[
            Guarantee::new(
                "bit worst-case fair index of a child: 3 w s + 2 L_max w/W, with s the smallest power of two (of 2^-32 bytes) not under maxpkt/w (Checconi, Rizzo and Valente)",
                &["slot-index"],
            ),
            Guarantee::new("time worst-case fair index of a child: (3 W s + 2 L_max)/C", &["slot-index"]),
        ],
        children: Arity::Many,
        share_example: "weight = 1\nmaxpkt = \"1514B\"\n",
        reserves_for_idle: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn new(_: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        check_longest(children.iter().map(|child| &child.share))?;
        let told: Vec<Bytes> = children.iter().map(|child| child.share.maxpkt).collect();
        let weighted =
            children.into_iter().map(|child| Child { share: child.share.weight(), node: child.node });
        let classes = TaggedChildren::new(weighted.collect())?;
        Ok(Self {
            weights: classes.sum(),
            groups: Groups::new(classes.all.len()),
            sizes: sizes(&classes, &told),
            classes,
            told,
            clock: Tag::ZERO,
        })
    }

    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        check_longest(shares.iter())?;
        let weighted: Vec<_> = shares.iter().map(Share::weight).collect();
        let reweighed = self.classes.reweigh(&weighted, cx.now)?;
        let told: Vec<Bytes> = shares.iter().map(|share| share.maxpkt).collect();
        if told != self.told && !reweighed {
            self.classes.restart(cx.now);
        }
        if told != self.told || reweighed {
            self.sizes = sizes(&self.classes, &told);
            self.told = told;
            self.weights = self.classes.sum();
            self.groups.clear();
            self.clock = Tag::ZERO;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.classes.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.list(cx);
        loop {
            if let Some(start) = self.groups.next_start() {
                let before = core::mem::replace(&mut self.clock, start);
                self.groups.advance(before, start);
            }
            let Some((group, slot)) = self.groups.pop() else {
                return self.classes.rest();
            };
            match self.classes.all[slot as usize].node.dequeue(cx) {
                Dequeue::Packet(packet) => {
                    self.serve(group, slot, packet.bytes());
                    return Dequeue::Packet(packet);
                }
                refused => self.classes.delist(slot, refused.time()),
            }
            self.groups.refile(group, self.clock);
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.all.iter_mut().for_each(|class| visit(&mut class.node));
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let clock = if self.classes.will_begin(cx.now) { Tag::ZERO } else { self.clock };
        let Contest { starts, mut nexts, .. } = self.classes.contest(|_| clock, clock, None, cx, to);
        let rounded = |slot: usize, start: Tag| {
            let bits = self.sizes[slot].group as u32 + 1;
            (start.rounded_down(bits), start.rounded_down(bits).plus_two(bits))
        };
        for (slot, start) in starts.iter().enumerate() {
            let Some(start) = start else { continue };
            let (start, finish) = rounded(slot, *start);
            to.field(slot, "group's start", start);
            to.field(slot, "group's finish", finish);
        }
        let children = self.classes.all.iter().zip(&nexts);
        let parts: Vec<Part<'_>> =
            children.map(|(class, next)| Part { node: &class.node, next: Some(next) }).collect();
        let decide = |nodes, cx: &mut Context<'_>| {
            let mut copy = Self {
                classes: self.classes.with_nodes(nodes),
                sizes: self.sizes.clone(),
                told: self.told.clone(),
                weights: self.weights,
                groups: self.groups.clone(),
                clock: self.clock,
            };
            (copy.dequeue(cx), ())
        };
        let Some(Rehearsed { slot, .. }) = to.rehearse_with(&parts, false, cx, decide) else { return };
        let (start, finish) = match slot.and_then(|slot| Some((slot, starts[slot]?))) {
            Some((slot, start)) => rounded(slot, start),
            None => (clock, clock),
        };
        to.state("virtual time", clock.max(start));
        let Some(slot) = slot else { return to.conclude() };
        let why = why![
            &nexts[slot].queue,
            " first: its group's finish tag ",
            Value::from(finish),
            " is the smallest of those whose start tag virtual time ",
            Value::from(clock.max(start)),
            " has reached"
        ];
        let drops = core::mem::take(&mut to.drops);
        to.send(slot, nexts.swap_remove(slot), why);
        to.drops = drops;
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("virtual_time_bytes", self.clock.as_bytes());
    }
}

impl Qfq {
    /// Lists the children that became non-empty or have a packet again.
    fn list(&mut self, cx: &mut Context<'_>) {
        let Self { classes, sizes, groups, clock, .. } = self;
        if classes.begins_busy_period(cx.now) {
            *clock = Tag::ZERO;
            groups.clear();
        }
        let clock = *clock;
        let mut insert = |start: Tag, slot: u32| {
            let group = sizes[slot as usize].group;
            if groups.insert(group, start, slot) {
                groups.refile(group, clock);
            }
        };
        classes.tag_fresh(|_| clock, &mut insert);
        classes.retry_waiting(clock, cx, &mut insert);
    }

    /// Accounts for a packet of this length that a child of `group` sent.
    fn serve(&mut self, group: usize, slot: u32, length: Bytes) {
        let Self { classes, sizes, weights, groups, clock, .. } = self;
        let size = &mut sizes[slot as usize];
        if length > size.longest {
            *size = Size::new(length, classes.all[slot as usize].weight);
        }
        classes.served(slot, length);
        let before = *clock;
        *clock = before.during(length, *weights, 1, 1);
        if let Some(start) = classes.relist(slot)
            && groups.insert(size.group, start, slot)
            && size.group != group
        {
            groups.refile(size.group, *clock);
        }
        groups.refile(group, *clock);
        groups.advance(before, *clock);
    }
}
