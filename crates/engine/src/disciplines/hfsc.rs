//! Hierarchical fair service curves: guarantees of delay apart from shares of the link.
//!
//! ```text
//! real time     leaves with `rt`: of those that are eligible, the earliest deadline     comes first
//! link sharing  from the top down: of those not over their `ul`, the smallest virtual   takes the rest
//!               time, that is, the one furthest behind its `ls`
//! ```
//!
//! A curve is a rate, or two: `m1` for the time `d` after a backlog begins, then `m2`. With `m1` above `m2`
//! a leaf that sends little is served soon (its delay is that of `m1`, its share that of `m2`); with `m1`
//! below `m2` it lets others go first. Deadlines hold if the `rt` curves of all leaves together stay below
//! the link's capacity at any time; the scenario must ensure this, as a discipline does not know the link's
//! rate.
//!
//! Service under link sharing does not count against a leaf's deadlines: these count only the work done under
//! the real-time criterion. Real-time service ignores `ul` and counts towards it, as in Linux. `ul` counts
//! from the start of a backlog: a class that others kept below it may make up for that.
//!
//! Cost of a packet: at each level one advance of a curve and one update of a winner tree, O(log n) in the
//! number of siblings; a guarantee adds about the same once, over all leaves. Decisions 013 and 071.
//!
//! Modules: `curve` (evaluation of service curves), `guarantee` (real-time criterion), `sharing` (link
//! sharing, with the cached next leaf), `curve_spec` (curves as written).

mod curve;
mod curve_spec;
mod explain;
mod guarantee;
mod sharing;

use serde::{Deserialize, Serialize};

use crate::class::Classes;
use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid, NoShare, PortConditions,
};
use crate::explanation::{Explanation, Foresight};
use crate::node::{Node, Peek};
use crate::pacing::Pace;
use crate::packet::Packet;
use crate::units::{Bytes, Instant};

pub use curve_spec::CurveSpec;
use guarantee::Guarantees;
use sharing::{SentPacket, Shares, Sharing};

/// Share of a class: its service curves, each a rate such as `10mbit`, or `{ m1 = "2mbit", d = "10ms", m2 =
/// "1mbit" }`. A leaf needs `rt`, `ls` or `sc`, an inner class `ls` or `sc`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Real-time curve of a leaf: guarantees the deadlines of its packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rt: Option<CurveSpec>,
    /// Link-sharing curve: siblings share in proportion to theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ls: Option<CurveSpec>,
    /// Upper limit of what link sharing gives; needs a link-sharing curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ul: Option<CurveSpec>,
    /// `rt` and `ls` in one. On an inner class it is `ls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sc: Option<CurveSpec>,
}

/// Curves of a share, with `sc` resolved into real-time and link-sharing curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Curves {
    real_time: Option<CurveSpec>,
    shares: Shares,
}

impl Curves {
    fn new(share: &Share, is_leaf: bool) -> Result<Self, Invalid> {
        let &Share { rt, ls, ul, sc } = share;
        for (field, curve) in [("rt", rt), ("ls", ls), ("ul", ul), ("sc", sc)] {
            if curve.is_some_and(|curve| curve.m2.is_zero()) {
                return Err(Invalid::new(field, "must go on with a rate: `m2` is above zero"));
            }
            if sc.is_some() && curve.is_some() && matches!(field, "rt" | "ls") {
                return Err(Invalid::new(
                    field,
                    "and `sc`, which is `rt` and `ls` in one, say the same: give one of them",
                ));
            }
        }
        if rt.is_some() && !is_leaf {
            return Err(Invalid::new("rt", "is for leaves: an inner class has `ls`"));
        }
        let (real_time, link_share) = (rt.or(sc).filter(|_| is_leaf), ls.or(sc));
        match link_share {
            None if !is_leaf => Err(Invalid::new("ls", "is needed on an inner class, such as `10mbit`")),
            None if real_time.is_none() => Err(Invalid::new(
                "ls",
                "or `rt` is needed, such as `10mbit`: without a curve a class is never served",
            )),
            None if ul.is_some() => {
                Err(Invalid::new("ul", "limits link sharing: give the class `ls` as well"))
            }
            _ => Ok(Self { real_time, shares: Shares { link_share, upper_limit: ul } }),
        }
    }

    fn all(shares: &[Share], classes: &Classes) -> Result<Vec<Self>, Invalid> {
        let curves = |(class, share)| {
            Self::new(share, classes.is_leaf(class)).map_err(|why: Invalid| why.on_child(class))
        };
        shares.iter().enumerate().map(curves).collect()
    }
}

/// Hierarchical fair service curves.
pub struct Hfsc {
    classes: Classes,
    curves: Vec<Curves>,
    guarantees: Guarantees,
    sharing: Sharing,
    /// By class: true if it is a leaf that is known to hold packets.
    known: Vec<bool>,
    /// Leaves that became non-empty since the last packet left, and when; not yet listed in `guarantees` and
    /// `sharing`.
    fresh: Vec<(usize, Instant)>,
    /// Leaves that hold packets but returned none at the last dequeue.
    waiting: Vec<usize>,
    /// Leaf that sent its last packet and whose deactivation `sharing` deferred until the next dequeue.
    deferred: Option<usize>,
}

impl Discipline for Hfsc {
    const ABOUT: About = About {
        name: "hfsc",
        summary: "hierarchical fair service curves: guarantees of delay apart from shares of the link",
        source: "Stoica, Zhang and Ng, SIGCOMM 1997 and ToN 8 (2000); tc-hfsc(7)",
        guarantees: &[
            Guarantee::new(
                "every packet ends by the deadline of its leaf's rt curve + L_max/C, where the rt curves sum to no more than the link",
                &["service-deadlines"],
            ),
            Guarantee::new(
                "siblings that always send share in proportion to ls: |W_i/r_i - W_j/r_j| <= L/r_i + L/r_j at every level",
                &["virtual-shares"],
            ),
            Guarantee::new(
                "a class without rt below it sends at most its ul curve and one packet from the start of its backlog",
                &["upper-limit"],
            ),
        ],
        children: Arity::Classes,
        work_conserving: false,
        share_example: "ls = \"10mbit\"\n",
        orders_children: true,
        ..About::DEFAULT
    };
    type Config = NoShare;
    type Share = Share;

    fn pace_of_child(share: &Share) -> Pace {
        // An upper limit bounds link sharing alone: the guarantee of a leaf is kept beyond it.
        let guarantee = share.rt.or(share.sc).map(|curve| curve.m2);
        let rate = share.ul.map(|limit| guarantee.map_or(limit.m2, |rate| rate.max(limit.m2)));
        Pace { rate, ..Pace::default() }
    }

    fn new(_: NoShare, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        let (classes, shares) = Classes::new(children)?;
        let curves = Curves::all(&shares, &classes)?;
        let shares: Vec<Shares> = curves.iter().map(|curves| curves.shares).collect();
        Ok(Self {
            guarantees: Guarantees::new(curves.iter().map(|curves| curves.real_time)),
            sharing: Sharing::new(&classes, &shares),
            known: vec![false; classes.len()],
            fresh: Vec::new(),
            waiting: Vec::new(),
            deferred: None,
            classes,
            curves,
        })
    }

    fn reconfigure(&mut self, _: NoShare, shares: Vec<Share>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let curves = Curves::all(&shares, &self.classes)?;
        if curves == self.curves {
            return Ok(());
        }
        self.guarantees.retune(curves.iter().map(|curves| curves.real_time));
        let shares: Vec<Shares> = curves.iter().map(|curves| curves.shares).collect();
        self.sharing.retune(&shares);
        self.curves = curves;
        self.fresh.clear();
        self.waiting.clear();
        self.deferred = None;
        for leaf in 0..self.classes.len() {
            self.known[leaf] = self.classes.is_leaf(leaf) && !self.classes.is_empty(leaf);
            if self.known[leaf] {
                self.fresh.push((leaf, cx.now));
            }
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let (leaf, is_empty) = self.classes.enqueue(packet, cx);
        if self.known[leaf] || is_empty {
            return;
        }
        self.known[leaf] = true;
        if self.deferred == Some(leaf) && self.fresh.is_empty() {
            self.deferred = None;
            self.sharing.reactivate(leaf, cx.now);
        } else {
            self.fresh.push((leaf, cx.now));
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        self.decide(cx).0
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        self.explain_decision(cx, to);
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.each_child(visit);
    }

    fn doubts(&self, PortConditions { link, .. }: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        let curves: Vec<CurveSpec> = self.curves.iter().filter_map(|curves| curves.real_time).collect();
        if let Some(link) = link.filter(|link| curve_spec::exceed(&curves, *link)) {
            let why = format!(
                "have `rt` curves that sum above the {link} of the link: lower them, or deadlines are missed"
            );
            tell(Invalid::new("children", why));
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let (eligible, early) = self.guarantees.counts();
        let (virtual_time, held) = self.sharing.top();
        emit("virtual_time_seconds", virtual_time);
        emit("eligible_leaves", eligible as f64);
        emit("early_leaves", early as f64);
        emit("held_classes", held as f64);
    }
}

impl Hfsc {
    /// Dequeues. Returns also whether the real-time criterion selected the leaf.
    #[inline]
    fn decide(&mut self, cx: &mut Context<'_>) -> (Dequeue, bool) {
        let now = cx.now;
        let mut earliest = self.begin_fresh(cx);
        loop {
            let urgent = self.guarantees.select(now);
            let Some(leaf) = urgent.or_else(|| self.sharing.select(now)) else { break };
            let (dequeued, is_empty) = self.classes.dequeue(leaf, cx);
            match dequeued {
                Dequeue::Packet(packet) => {
                    self.account(leaf, packet.bytes(), urgent.is_some(), is_empty, cx);
                    self.prefetch_next();
                    return (Dequeue::Packet(packet), urgent.is_some());
                }
                refused => earliest.add(refused.time()),
            }
            if urgent.is_none() {
                self.sharing.dequeue_failed(leaf);
            }
            self.delist(leaf, now);
        }
        earliest.add(self.guarantees.next_eligible_at());
        earliest.add(self.sharing.next_eligible_at());
        match earliest.0 {
            // A timer may have removed a leaf's packets without notice: then there is no packet to wait
            // for.
            Some(time) if !self.classes.are_empty() => (Dequeue::NotBefore(time), false),
            _ => (Dequeue::Empty, false),
        }
    }

    /// Begins the backlogs of the leaves in `fresh` and `waiting`. Changes inside a leaf are not announced,
    /// so the waiting ones are peeked at again. Returns the earliest time that a leaf named.
    fn begin_fresh(&mut self, cx: &mut Context<'_>) -> Earliest {
        let mut earliest = Earliest::default();
        if let Some(leaf) = self.deferred.take() {
            self.sharing.deactivate(leaf, cx.now);
        }
        if self.fresh.is_empty() && self.waiting.is_empty() {
            return earliest;
        }
        let mut leaves = core::mem::take(&mut self.fresh);
        leaves.extend(self.waiting.drain(..).map(|leaf| (leaf, cx.now)));
        for (leaf, since) in leaves.drain(..) {
            if self.guarantees.covers(leaf) {
                match self.classes.peek(leaf, cx) {
                    Peek::Length(length) => self.guarantees.begin(leaf, since, length, cx.now),
                    refused => {
                        earliest.add(refused.time());
                        self.await_packets(leaf);
                        continue;
                    }
                }
            }
            // A leaf without a guarantee is not peeked at: if it has lost its packets, the selection finds
            // out.
            if self.sharing.covers(leaf) {
                self.sharing.activate(leaf, since, cx.now);
            }
        }
        // Keeps the allocation.
        self.fresh = leaves;
        earliest
    }

    /// Lists a leaf that returned no packet to be peeked at again, if it holds any.
    fn await_packets(&mut self, leaf: usize) {
        self.known[leaf] = !self.classes.is_empty(leaf);
        if self.known[leaf] {
            self.waiting.push(leaf);
        }
    }

    /// Delists a leaf that returned no packet, or is about to.
    fn delist(&mut self, leaf: usize, now: Instant) {
        self.guarantees.delist(leaf);
        if self.sharing.covers(leaf) {
            self.sharing.deactivate(leaf, now);
        }
        self.await_packets(leaf);
    }

    /// Accounts for a packet of this length that a leaf sent, under the real-time criterion if `real_time`;
    /// `is_empty` if that was its last.
    #[inline]
    fn account(&mut self, leaf: usize, length: Bytes, real_time: bool, is_empty: bool, cx: &mut Context<'_>) {
        if is_empty {
            self.known[leaf] = false;
        }
        let sent = SentPacket::new(length, !real_time);
        if !self.guarantees.covers(leaf) {
            if is_empty && self.sharing.defer_deactivation(leaf, sent, cx.now) {
                self.deferred = Some(leaf);
            } else {
                self.sharing.account(leaf, sent, is_empty, cx.now);
            }
            return;
        }
        self.sharing.account(leaf, sent, is_empty, cx.now);
        let next = match self.classes.peek(leaf, cx) {
            Peek::Length(next) => Some(next),
            Peek::NotBefore(_) | Peek::Empty => None,
        };
        self.guarantees.account(leaf, length, real_time, next, cx.now);
        if next.is_none() && !is_empty {
            self.delist(leaf, cx.now);
        }
    }

    /// Prefetches the state of the leaf that probably sends next.
    #[inline]
    fn prefetch_next(&self) {
        if let Some(next) = self.guarantees.next().or_else(|| self.sharing.next_leaf()) {
            self.sharing.prefetch(next);
            self.classes.prefetch(next);
        }
    }
}

#[cfg(test)]
mod tests;
