//! Enhanced transmission selection: strict bands first, then bands that share the rest by deficit round
//! robin.
//!
//! ```text
//! band 0          [ | | ] --.
//! band 1          [ | | ] ----> the first non-empty strict band
//! band `strict`   [ | | ] --.
//! ...             [ | | ] --+-> if there is none: turns of `quanta` bytes
//! last band       [ | | ] --'   takes what neither `match` nor `priomap` sends elsewhere
//! ```
//!
//! The bands are the children, in their order. A packet that a band's `match` takes goes there. With a
//! `priomap`, other packets go by priority to the band that the map names, or to the last; without one, a
//! band without a `match` takes the rest, as in every other kind. A packet's priority is that of its TOS
//! octet, as tc-prio(8) lists it:
//!
//! | TOS bits of 0x18 | 0x00 | 0x08 | 0x10 | 0x18 |
//! | --- | --- | --- | --- | --- |
//! | priority | 0 best effort | 2 bulk | 6 interactive | 4 interactive bulk |
//!
//! Differs: a sharing band that waits (a shaper) is skipped, while Linux sends nothing until it is ready.
//! Linux has at most 16 bands.

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, Earliest, FULL_FRAME, Guarantee, Invalid,
    PortConditions, SMALL_QUANTUM,
};
use crate::explanation::{Choice, Explanation, Foresight, why};
use crate::node::Node;
use crate::packet::{Header, Packet};
use crate::rounds::{DeficitRounds, Turn};
use crate::units::Bytes;

/// Parameters of `ets`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of bands; by default that of the children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<u32>,
    /// Number of strict bands, from the first: each has priority over all after it. The others share the
    /// bandwidth.
    pub strict: u32,
    /// Bytes that each sharing band may send a turn, in their order, at least `1B`; default `1514B`.
    pub quanta: Vec<Bytes>,
    /// Band of each priority from 0 to 15, for packets that no band's `match` takes. Priorities beyond the
    /// list go to the last band.
    pub priomap: Vec<u32>,
}

/// A band's share.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Bytes that it may send a turn, instead of those in `quanta`. Not for a strict band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
}

/// Number of priorities.
const PRIORITIES: usize = 16;

/// Returns the priority of a packet, from its TOS octet.
fn priority(packet: &Header) -> usize {
    [0, 2, 6, 4][usize::from(packet.traffic_class >> 3) % 4]
}

impl Config {
    /// Returns the quanta of the sharing bands, if there are bands with these shares.
    fn quanta(&self, shares: &[Share]) -> Result<Vec<Bytes>, Invalid> {
        let count = shares.len();
        if self.bands.is_some_and(|bands| bands as usize != count) {
            return Err(Invalid::new(
                "bands",
                format!("must be the number of children, {count}, or left out"),
            ));
        }
        let strict = self.strict as usize;
        if strict > count {
            return Err(Invalid::new("strict", format!("is at most the number of bands, {count}")));
        }
        if self.quanta.len() > count - strict {
            let why = format!("has an entry for each band that shares: at most {} here", count - strict);
            return Err(Invalid::new("quanta", why));
        }
        if self.quanta.contains(&Bytes::ZERO) {
            return Err(Invalid::new("quanta", "are at least `1B` each: a band of none would never send"));
        }
        if self.priomap.len() > PRIORITIES {
            return Err(Invalid::new("priomap", "has at most 16 entries, one for each priority"));
        }
        if self.priomap.iter().any(|band| *band as usize >= count) {
            return Err(Invalid::new("priomap", format!("names bands from 0 to {}", count - 1)));
        }
        for (band, share) in shares.iter().enumerate() {
            let why = match share.quantum {
                Some(_) if band < strict => "is for bands that share the bandwidth: this one is strict",
                Some(Bytes(0)) => "must be at least `1B`: a band of none would never send",
                _ => continue,
            };
            return Err(Invalid::new("quantum", why).on_child(band));
        }
        let listed = self.quanta.iter().copied().map(Some).chain(core::iter::repeat(None));
        let quanta = shares[strict..].iter().zip(listed);
        Ok(quanta.map(|(share, listed)| share.quantum.or(listed).unwrap_or(FULL_FRAME)).collect())
    }
}

/// Enhanced transmission selection.
pub struct Ets {
    strict: Vec<Node>,
    sharing: DeficitRounds,
    priomap: Vec<u32>,
}

impl Discipline for Ets {
    const ABOUT: About = About {
        name: "ets",
        summary: "strict bands first, then bands that share the rest by deficit round robin",
        source: "IEEE 802.1Q, enhanced transmission selection; tc-ets(8)",
        guarantees: &[
            Guarantee::new(
                "a strict band waits for the bands before it and for one packet of those behind (non-preemptive priority)",
                &["ets-bands"],
            ),
            Guarantee::new(
                "fairness between backlogged bands that share, whatever the strict ones do: |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j",
                &["byte-rounds", "ets-bands"],
            ),
            Guarantee::new(
                "beside strict bands held to (sigma, rho) the bands that share are served at least (C - rho) t - sigma - L in any time t in which they wait; alone, each has the latency (3F - 2Q_i)/C of deficit round robin",
                &["low-band", "latency"],
            ),
        ],
        children: Arity::Many,
        example: "strict = 1\n",
        orders_children: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn new(config: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        let (shares, nodes): (Vec<_>, Vec<_>) =
            children.into_iter().map(|child| (child.share, child.node)).unzip();
        let quanta = config.quanta(&shares)?;
        Ok(Self::over(nodes, config.strict as usize, quanta, config.priomap))
    }

    fn maps_rest(config: &Config) -> bool {
        !config.priomap.is_empty()
    }

    fn reconfigure(
        &mut self,
        config: Config,
        shares: Vec<Share>,
        _: &mut Context<'_>,
    ) -> Result<(), Invalid> {
        let quanta = config.quanta(&shares)?;
        if config.strict as usize == self.strict.len() {
            for (slot, quantum) in quanta.into_iter().enumerate() {
                self.sharing.set_quantum(slot, quantum);
            }
            self.priomap = config.priomap;
            return Ok(());
        }
        let sharing = core::mem::replace(&mut self.sharing, DeficitRounds::new([]));
        let nodes = self.strict.drain(..).chain(sharing.into_nodes()).collect();
        *self = Self::over(nodes, config.strict as usize, quanta, config.priomap);
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let band = self.band(&packet);
        match self.strict.get_mut(band) {
            Some(node) => node.enqueue(packet, cx),
            None => self.sharing.enqueue(band - self.strict.len(), packet, cx),
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = Earliest::default();
        for node in self.strict.iter_mut().filter(|node| !node.is_empty()) {
            match node.dequeue(cx) {
                Dequeue::Packet(packet) => return Dequeue::Packet(packet),
                refused => earliest.add(refused.time()),
            }
        }
        match self.sharing.dequeue(cx) {
            Dequeue::Packet(packet) => Dequeue::Packet(packet),
            refused => {
                earliest.add(refused.time());
                earliest.result()
            }
        }
    }

    fn doubts(&self, _: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        for (slot, quantum) in self.sharing.quanta().enumerate() {
            if quantum < SMALL_QUANTUM {
                let why = format!(
                    "is small for full frames: make it `{}B` or more, or it takes several turns",
                    FULL_FRAME.0
                );
                tell(Invalid::new("quantum", why).on_child(self.strict.len() + slot));
            }
        }
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.row_noun = "band";
        let mut nexts = to.children(self.strict.iter().chain(self.sharing.nodes()), cx);
        let strict = self.strict.len();
        let turn = self.sharing.explain(&nexts[strict..], strict, to);
        let mut earliest = Earliest::default();
        for band in (0..strict).filter(|band| !self.strict[*band].is_empty()) {
            match nexts[band].choice {
                Choice::Packet { .. } => {
                    let why =
                        why![&nexts[band].queue, ": band ", band, " is the first strict one with a packet"];
                    return to.send(band, nexts.swap_remove(band), why);
                }
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty => {}
                Choice::Unknown => return to.open(&nexts[band].queue),
            }
        }
        match turn {
            Ok(Turn::Sends(slot, why)) => to.send(strict + slot, nexts.swap_remove(strict + slot), why),
            Ok(Turn::Rests(time)) => {
                earliest.add(time);
                to.rest(earliest.0);
            }
            Err(name) => to.open(&name),
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.strict.iter_mut().for_each(&mut *visit);
        self.sharing.each_child(visit);
    }
}

impl Ets {
    /// Creates these bands, the first `strict` of them strict, the others with these quanta.
    fn over(mut nodes: Vec<Node>, strict: usize, quanta: Vec<Bytes>, priomap: Vec<u32>) -> Self {
        let sharing = DeficitRounds::new(nodes.drain(strict..).zip(quanta));
        Self { strict: nodes, sharing, priomap }
    }

    /// Returns the band of a packet: by its rule, or by its priority.
    fn band(&self, packet: &Header) -> usize {
        let last = self.strict.len() + self.sharing.len() - 1;
        let band = packet.position.child();
        if band <= last {
            return band;
        }
        self.priomap.get(priority(packet)).map_or(last, |band| *band as usize)
    }
}
