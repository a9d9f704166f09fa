//! Common Applications Kept Enhanced: a shaper without bursts, tins by code point, queues by flow with
//! fairness between hosts, and a control law in each queue.
//!
//! ```text
//!        dscp      flow, 1024 queues a tin          new, then old by rounds           T_next
//! packet ----> tin ---------> [ | | ] cobalt --.
//!                             [ | ]   cobalt ---+--> the tin's flow --> tin --> shaper --> link
//!                             [ | | | ] cobalt -'       highest tin within its part of the link,
//!                  full: the fattest loses its head      else the one that is nearest to it
//!
//! a packet leaves at T_next or later; then T_next += its length on the link / bandwidth
//! a packet that arrives when all is empty: T_next = now, if that is later
//! ```
//!
//! The shaper keeps no tokens: a busy period of length t carries at most `bandwidth * t` and a packet. If
//! the link is late for a packet, the following packets may catch up.
//!
//! Differs: hosts are distinguished exactly and not by a hash; only flows that have used up a turn count as a
//! host's, as in Linux since 5.1, and do so until their next turn finds them empty, or the tin was empty for
//! an interval (decision 007); a flow that shares a queue stays there while it has packets in it, so that
//! none is reordered; memory is the bytes of the frames. A tin that borrowed owes at most one packet. The
//! manual mentions a shorter interval for voice, but its listing has none, and neither has this. There is no
//! `autorate-ingress` (estimate of the rate), and no `split-gso`, whose data the engine does not have. With
//! `nat`, flows are told apart by the addresses that a packet has, as without it, so that a flow keeps its
//! queue when its translation becomes known. Acknowledgements with blocks of SACK are never filtered; Linux
//! drops one whose blocks a later one has as well. Code point 1 is LE (RFC 8622), which the manual also calls
//! TOS1.

mod ack_filter;
mod diffserv;
mod explain;
mod hosts;
mod set_associative;
mod tin;

use serde::{Deserialize, Serialize};

pub use self::ack_filter::AckFilter;
pub use self::diffserv::Diffserv;
use self::diffserv::Part;
pub use self::hosts::Isolation;
use self::hosts::{Identity, Sorting};
use self::tin::{Backlog, Terms, Tin, TinQueue};
use crate::control::Aim;
use crate::control::cobalt::Steps;
use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, FULL_FRAME, Guarantee, Invalid, NoShare,
};
use crate::explanation::{Explanation, Foresight};
use crate::node::{Band, Tally};
use crate::overhead::{Framing, LinkHeader, PortOverhead};
use crate::pacing::Pace;
use crate::packet::Packet;
use crate::units::{Bytes, Duration, Instant, Overhead, Probability, Rate};

/// Parameters of `cake`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own, as in tc")]
pub struct Config {
    /// Rate of the shaper, counted in bytes on the link behind (`overhead`, `mpu`, `framing`). Unlimited by
    /// default: then the tins take turns, and each has its part of the link's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Rate>,
    /// Rate at which the port or a queue above sends: target, quantum and memory follow it where `bandwidth`
    /// is not given, and nothing is shaped. In a policy of a router it is the `rate` of the port, unless a
    /// queue above has a rate of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_rate: Option<Rate>,
    /// Preset of tins. `besteffort` is one for all. `diffserv3`: bulk (CS1, LE) with a sixteenth of the
    /// link, best effort with the rest, voice (CS6, CS7, EF, VA, TOS4) with a quarter. `diffserv4`: bulk,
    /// best effort, video (AF2, AF3, AF4, CS2, CS3, TOS4) with a half, voice (CS4 to CS7, EF, VA) with a
    /// quarter. `diffserv8`, from the whole link down by an eighth each: background (CS1, LE), high
    /// throughput (AF1, TOS2), best effort, streaming (AF3, AF4, CS3), low latency (AF2, TOS4), interactive
    /// (CS2), minimum latency (CS4, CS5, EF, VA), network control (CS6, CS7). `precedence`: eight as these,
    /// by the upper three bits of the code point. A tin within its part goes before those below it, so that
    /// of eight the lowest get nothing while the highest three have always something. A change of it sorts
    /// what waits anew.
    pub diffserv: Diffserv,
    /// Isolation of flows and fairness between hosts: `flowblind`, `srchost`, `dsthost`, `hosts`, `flows`,
    /// `dual-srchost`, `dual-dsthost` or `triple-isolate`. A packet without addresses counts as its flow's,
    /// and the flow as a host. A change of it sorts the queued packets anew.
    pub isolation: Isolation,
    /// Hosts are those behind the address translation of this machine, as its kernel tracks connections (TCP
    /// and UDP): hosts that share one address share the link fairly. In a router; simulated hosts have
    /// addresses of their own, and nothing changes. A change of it sorts the queued packets anew.
    pub nat: bool,
    /// Round trip to be suitable for: the interval of the control law. The target is a twentieth of it, or
    /// the time of one and a half full frames at the tin's part of the link if that is more; the interval is
    /// at least two targets. Nothing is dropped that waited less than the time of four full frames there.
    pub rtt: Duration,
    /// Bytes that every packet has on the link behind besides its own, from `-64B` to `256B`. Where it is
    /// given, a packet's own are those without its 14 bytes of Ethernet, if it has them. A header of a VLAN
    /// is 4B more. Lines by `tc`'s names:
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(transform = crate::overhead::describe_lines))]
    pub overhead: Option<Overhead>,
    /// The overhead is added to the whole frame.
    pub raw: bool,
    /// Minimum length on the link with its overhead, up to `256B`.
    pub mpu: Bytes,
    /// Framing of the link: `noatm`, `atm` (53 bytes for every 48 begun) or `ptm` (one more for every 64).
    pub framing: Framing,
    /// Byte limit of all queues; beyond it, the longest queue drops its head. Default: four bandwidth-delay
    /// products, from 4 MiB to 10240 full frames. Differs: frames count with their length; Linux counts the
    /// memory of their buffers (`truesize`), which is more, so that less waits there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memlimit: Option<Bytes>,
    /// Clears the DSCP of departing packets, not their ECN bits.
    pub wash: bool,
    /// For shaping behind the bottleneck: dropped packets have used that link and count against the
    /// bandwidth, and the law leaves two packets in each queue. A sender that does not react is left with
    /// little.
    pub ingress: bool,
    /// Filtering of acknowledgements, for lines that send far less than they receive. A TCP segment that
    /// arrives drops the oldest acknowledgement of its connection in the same queue that acknowledges less,
    /// has no data, and says nothing else (SYN, FIN, RST, URG, an echo of congestion, blocks of SACK, options
    /// but timestamps). With `true`, only if a second such one stays; with `"aggressive"`, always. Equal ones
    /// stay: senders count them.
    pub ack_filter: AckFilter,
    /// Bits of the firewall's mark that choose the tin; 0 for none. The bits, shifted down to the lowest, are
    /// the tin's number in the order of `tc -s`: 1 is bulk in `diffserv3` and `diffserv4`. Without such a
    /// tin, the code point decides. Frames that a router forwards have no mark here.
    pub fwmark: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bandwidth: None,
            link_rate: None,
            diffserv: Diffserv::default(),
            isolation: Isolation::default(),
            nat: false,
            rtt: Duration::from_millis(100),
            overhead: None,
            raw: false,
            mpu: Bytes::ZERO,
            framing: Framing::default(),
            memlimit: None,
            wash: false,
            ingress: false,
            ack_filter: AckFilter::Off,
            fwmark: 0,
        }
    }
}

/// Quantum among the tins for a whole link, without a shaper.
const TIN_QUANTUM: u64 = 1024;

impl Config {
    fn check(&self) -> Result<(), Invalid> {
        if self.bandwidth.is_some_and(Rate::is_zero) {
            return Err(Invalid::new(
                "bandwidth",
                "of zero lets nothing pass: leave it out for an unlimited one",
            ));
        }
        if self.link_rate.is_some_and(Rate::is_zero) {
            return Err(Invalid::new("link_rate", "of zero is none: leave it out for an unknown one"));
        }
        if self.rtt.is_zero() {
            return Err(Invalid::new(
                "rtt",
                "must be longer than `0ms`: it is the scale of the distance between drops",
            ));
        }
        if self.memlimit == Some(Bytes::ZERO) {
            return Err(Invalid::new("memlimit", "holds nothing: it is at least the bytes of a packet"));
        }
        self.overhead().map(|_| ())
    }

    fn overhead(&self) -> Result<PortOverhead, Invalid> {
        PortOverhead::new(self.overhead, self.raw, self.mpu, self.framing)
    }

    /// Returns the rate that sets the scale of times and sizes, at a port of this rate; `None` if it is
    /// unknown.
    fn scale(&self, port: Option<Rate>) -> Option<Rate> {
        self.bandwidth.or(self.link_rate).or(port)
    }

    fn memory(&self, scale: Option<Rate>) -> Bytes {
        let most = Bytes(10_240 * FULL_FRAME.0);
        let derived = scale.map_or(most, |rate| {
            let trip = rate.bytes_in(self.rtt).0.saturating_mul(4);
            Bytes(trip.max(4 << 20)).min(most)
        });
        self.memlimit.unwrap_or(derived)
    }

    /// Computes the law and the quantum of a tin, and the time of a full frame at its rate.
    fn tin(&self, part: Part, scale: Option<Rate>) -> (Aim, u64, Duration) {
        let base = self.rtt / 20;
        let scaled = |time: Duration| part_of(time, part);
        let slow = scale.map_or(Duration::ZERO, |rate| scaled(rate.time_for(FULL_FRAME)));
        let target = base.max(slow + slow / 2);
        let interval = (self.rtt + target.saturating_sub(base)).max(target * 2);
        let quantum = scale.map_or(FULL_FRAME.0, |rate| {
            let share =
                u128::from(rate.as_bits()) * u128::from(part.numerator) / u128::from(part.denominator);
            // A 4096th of a second's bytes.
            u64::try_from(share / 8 / 4096).unwrap_or(u64::MAX).clamp(300, FULL_FRAME.0)
        });
        (Aim { target, interval, mtu: Bytes::ZERO, ecn: true, ce_threshold: None }, quantum, slow)
    }

    fn tins(&self, scale: Option<Rate>) -> Vec<Tin> {
        let parts = self.diffserv.parts().iter().enumerate();
        let tin = |(number, part): (usize, &Part)| Tin::new(number as u8, self.tin(*part, scale));
        parts.map(tin).collect()
    }
}

/// Returns the time of a packet on a part of the link, given its time on the whole link.
fn part_of(time: Duration, part: Part) -> Duration {
    let picos = u128::from(time.as_picos()) * u128::from(part.denominator) / u128::from(part.numerator);
    Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
}

/// Common Applications Kept Enhanced. What each packet touches comes first.
#[derive(Clone)]
#[repr(C)]
pub struct Cake {
    tins: Vec<Tin>,
    /// Index of the tin that sends next, if there is no shaper.
    turn: usize,
    /// Time at which the shaper releases the next packet.
    next: Instant,
    memory: Bytes,
    backlog: Backlog,
    terms: Terms,
    /// True if `terms.sorting.salt` was drawn.
    salted: bool,
    /// Rate of the port, if no queue above holds packets back.
    port_rate: Option<Rate>,
    config: Config,
}

impl Discipline for Cake {
    const ABOUT: About = About {
        name: "cake",
        summary: "common applications kept enhanced: shaper, tins by code point, fair flows and hosts, cobalt",
        source: "Høiland-Jørgensen, Täht, Morton, Piece of CAKE, LANMAN 2018; tc-cake(8)",
        guarantees: &[
            Guarantee::new(
                "envelope: a busy period of length t sends at most bandwidth * t and one packet, as the link behind counts",
                &["cake-late", "cake-gaps"],
            ),
            Guarantee::new("a saturated shaper delivers bandwidth * t less one packet", &["cake-changes"]),
            Guarantee::new(
                "backlogged tins have their parts of the link to within two packets, best effort the rest",
                &["cake-tins"],
            ),
            Guarantee::new(
                "fairness between backlogged flows of one host: |S_i - S_j| <= 2 Q + L_i + L_j in any interval",
                &["cake-flows"],
            ),
            Guarantee::new(
                "under dual isolation, backlogged hosts share the link equally, whatever their numbers of flows",
                &["cake-hosts"],
            ),
            Guarantee::new(
                "under triple isolation, backlogged flows share the link in proportion to 1 / max(flows of their source, of their destination)",
                &["cake-loads"],
            ),
            Guarantee::new(
                "a flow that sends less than a quantum a round waits for those before it and one packet",
                &["sparse-flow"],
            ),
            Guarantee::new("packets of a flow that carry one code point keep their order", &["code-points"]),
        ],
        work_conserving: false,
        drops_early: true,
        example: "bandwidth = \"50mbit\"\ndiffserv = \"diffserv3\"\nrtt = \"100ms\"\n",
        has_own_times: true,
        draws: true,
        hosts_parameter: Some("nat"),
        acks_parameter: Some("ack_filter"),
        raw_parameter: Some("raw"),
        replaced_parameters: &[
            (
                "target",
                "the target of `cake` follows from its `rtt`, a twentieth of it: write `rtt = \"100ms\"`",
            ),
            ("interval", "the interval of `cake` is its `rtt`: write `rtt = \"100ms\"`"),
        ],
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn pace(config: &Config) -> Pace {
        let overhead = config.overhead().unwrap_or_default().on(LinkHeader::Ethernet);
        Pace { rate: config.bandwidth, overhead }
    }

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        config.check()?;
        let scale = config.scale(None);
        let tins = config.tins(scale);
        Ok(Self {
            memory: config.memory(scale),
            terms: terms(&config, 0)?,
            salted: false,
            tins,
            backlog: Backlog::default(),
            next: Instant::ZERO,
            turn: 0,
            port_rate: None,
            config,
        })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        config.check()?;
        let terms = terms(&config, self.terms.sorting.salt)?;
        let key = |config: &Config| {
            (config.diffserv, config.isolation, config.nat, config.fwmark, config.ack_filter)
        };
        let sorts = key(&config) != key(&self.config);
        let (before, after) = (self.config.bandwidth, config.bandwidth);
        self.next = retimed(self.next, before, after, cx.now);
        let mut waiting = Vec::new();
        if sorts {
            self.flush(&mut waiting);
            let has_same_tins = config.diffserv == self.config.diffserv;
            let accounts: Vec<Band> =
                self.tins.iter().filter(|_| has_same_tins).map(|tin| tin.account).collect();
            self.tins = config.tins(config.scale(self.port_rate));
            self.tins.iter_mut().zip(accounts).for_each(|(tin, account)| tin.account = account);
            self.tins.iter_mut().for_each(|tin| tin.clock = cx.now);
            self.backlog = Backlog::default();
            self.turn = 0;
        } else {
            self.tins.iter_mut().for_each(|tin| tin.clock = retimed(tin.clock, before, after, cx.now));
        }
        self.config = config;
        self.terms = terms;
        for packet in waiting {
            self.push(packet, cx);
        }
        self.rescale(cx);
        Ok(())
    }

    fn on_port_rate(&mut self, rate: Option<Rate>, cx: &mut Context<'_>) {
        self.port_rate = rate;
        self.rescale(cx);
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if packet.bytes() > self.memory {
            // It can never fit, so no other packet is dropped for it.
            cx.drop(packet, DropReason::Limit);
            return;
        }
        if self.backlog.packets == 0 {
            self.next = self.next.max(cx.now);
        }
        if self.config.ack_filter != AckFilter::Off {
            return self.enqueue_filtered(packet, cx);
        }
        self.push(packet, cx);
        while self.backlog.bytes > self.memory && self.evict(DropReason::Head, cx) {}
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        if self.config.bandwidth.is_some() && self.next > cx.now && self.backlog.packets > 0 {
            return Dequeue::NotBefore(self.next);
        }
        while let Some(number) = self.choose(cx.now) {
            let tin = &mut self.tins[number];
            let given = tin.dequeue(&self.terms, &mut self.backlog, cx);
            if self.config.ingress {
                self.charge(number, given.dropped, cx.now);
            }
            let Some(mut packet) = given.packet else {
                if self.config.bandwidth.is_some() && self.next > cx.now && self.backlog.packets > 0 {
                    return Dequeue::NotBefore(self.next);
                }
                continue;
            };
            self.charge(number, self.terms.overhead.on_link(packet.bytes()), cx.now);
            if self.config.wash {
                packet.wash();
            }
            return Dequeue::Packet(packet);
        }
        Dequeue::Empty
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        let from = out.len();
        self.tins.iter_mut().for_each(|tin| tin.flush(out, &mut self.backlog));
        out[from..].sort_by_key(|packet| packet.arrived);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        self.explain_decision(cx, to);
    }

    fn bands(&self, emit: &mut dyn FnMut(&'static str, Band)) {
        for (name, index) in self.config.diffserv.tins() {
            let tin = &self.tins[index];
            emit(name, Band { backlog: Tally { packets: tin.packets, bytes: tin.bytes }, ..tin.account });
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        const TINS: [&str; 8] = [
            "tin_0_bytes",
            "tin_1_bytes",
            "tin_2_bytes",
            "tin_3_bytes",
            "tin_4_bytes",
            "tin_5_bytes",
            "tin_6_bytes",
            "tin_7_bytes",
        ];
        let mut sums = [0; 3];
        for (tin, name) in self.tins.iter().zip(TINS) {
            emit(name, tin.bytes.0 as f64);
            sums.iter_mut().zip(tin.flows()).for_each(|(sum, flows)| *sum += flows);
        }
        for (name, sum) in ["new_flows", "old_flows", "way_collisions"].into_iter().zip(sums) {
            emit(name, sum as f64);
        }
    }
}

fn terms(config: &Config, salt: u64) -> Result<Terms, Invalid> {
    let step = |of: f64| Probability::from_f64(1.0 / of).unwrap_or(Probability::ZERO);
    Ok(Terms {
        sorting: Sorting { isolation: config.isolation, nat: config.nat, salt },
        overhead: config.overhead()?.on(LinkHeader::Ethernet),
        steps: Steps::new(step(256.0), step(4096.0)),
        ingress: config.ingress,
        ack_filter: config.ack_filter,
    })
}

/// Converts a time for which the shaper waits to another rate: the bytes between now and then are the same.
fn retimed(time: Instant, before: Option<Rate>, after: Option<Rate>, now: Instant) -> Instant {
    let (Some(before), Some(after)) = (before, after) else { return now };
    if before == after || time <= now {
        return time;
    }
    let bit_picos = u128::from(time.since(now).as_picos()) * u128::from(before.as_bits());
    let picos = bit_picos.div_ceil(u128::from(after.as_bits()));
    now + Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
}

impl Cake {
    /// Derives law, quanta and memory from the parameters and the port's rate.
    fn rescale(&mut self, cx: &mut Context<'_>) {
        let scale = self.config.scale(self.port_rate);
        for (tin, part) in self.tins.iter_mut().zip(self.config.diffserv.parts()) {
            (tin.aim, tin.quantum, tin.frame_time) = self.config.tin(*part, scale);
        }
        self.memory = self.config.memory(scale);
        while self.backlog.bytes > self.memory && self.evict(DropReason::Shrunk, cx) {}
    }

    /// Adds a packet to its queue, and returns the queue.
    fn push(&mut self, packet: Packet, cx: &mut Context<'_>) -> TinQueue {
        if !self.salted {
            self.salted = true;
            self.terms.sorting.salt = (u64::from(cx.random.bits()) << 32) | u64::from(cx.random.bits());
        }
        let identity = Identity::of(&packet, self.terms.sorting, cx);
        let number = self.tin_of(&packet, cx);
        let tin = &mut self.tins[number];
        if tin.packets == 0 {
            tin.clock = tin.clock.max(cx.now);
        }
        let queue = tin.push(packet, &identity, &self.terms, &mut self.backlog, cx);
        TinQueue { tin: number as u8, queue }
    }

    /// Returns the index of a packet's tin.
    fn tin_of(&self, packet: &Packet, cx: &Context<'_>) -> usize {
        let by_mark = match self.config.fwmark {
            0 => None,
            mask => self.config.diffserv.tin_of_mark(cx.headers.mark(packet), mask),
        };
        by_mark.unwrap_or_else(|| self.config.diffserv.tin(packet.dscp()))
    }

    /// Enqueues a packet, and drops the acknowledgement that it supersedes.
    #[inline(never)]
    fn enqueue_filtered(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let newer = ack_filter::superseding(&packet, cx);
        let TinQueue { tin, queue } = self.push(packet, cx);
        if let Some(newer) = newer {
            let number = usize::from(tin);
            let tin = &mut self.tins[number];
            if let Some(older) = tin.take_superseded(queue, newer, &self.terms, &mut self.backlog, cx) {
                if self.config.ingress {
                    self.charge(number, self.terms.overhead.on_link(older.bytes()), cx.now);
                }
                cx.drop(older, DropReason::Superseded);
            }
        }
        while self.backlog.bytes > self.memory && self.evict(DropReason::Head, cx) {}
    }

    /// Drops the head of the fattest queue. Returns whether there was one.
    #[cold]
    fn evict(&mut self, reason: DropReason, cx: &mut Context<'_>) -> bool {
        let Some(TinQueue { tin, queue }) = self.backlog.fattest() else { return false };
        let number = usize::from(tin);
        let evicted = self.tins[number].evict(queue, &self.terms, &mut self.backlog, cx);
        let Some(packet) = evicted else { return false };
        if self.config.ingress && reason == DropReason::Head {
            self.charge(number, self.terms.overhead.on_link(packet.bytes()), cx.now);
        }
        cx.drop(packet, reason);
        true
    }

    /// Charges bytes on the link to the shaper and to a tin's part.
    fn charge(&mut self, number: usize, length: Bytes, now: Instant) {
        let part = self.config.diffserv.parts()[number];
        let tin = &mut self.tins[number];
        if let Some(rate) = self.config.bandwidth {
            let time = rate.time_for(length);
            self.next = self.next + time;
            let ahead = tin.clock.min(now) + part_of(time, part);
            tin.clock = tin.clock.max(ahead);
        } else {
            tin.deficit = tin.deficit.saturating_sub(i64::try_from(length.0).unwrap_or(i64::MAX));
        }
    }

    /// Returns the tin that sends next.
    fn choose(&mut self, now: Instant) -> Option<usize> {
        if self.config.bandwidth.is_none() {
            return self.choose_by_turns();
        }
        let mut nearest: Option<(Instant, usize)> = None;
        for (number, tin) in self.tins.iter().enumerate().rev() {
            if tin.packets == 0 {
                continue;
            }
            if tin.clock <= now {
                return Some(number);
            }
            if nearest.is_none_or(|(clock, _)| tin.clock < clock) {
                nearest = Some((tin.clock, number));
            }
        }
        nearest.map(|(_, number)| number)
    }

    /// Selects a non-empty tin by deficit round robin, in proportion to the parts.
    fn choose_by_turns(&mut self) -> Option<usize> {
        if self.backlog.packets == 0 {
            return None;
        }
        let quantum = |number: usize| {
            let part = self.config.diffserv.parts()[number];
            (TIN_QUANTUM * part.numerator / part.denominator).cast_signed()
        };
        loop {
            for _ in 0..self.tins.len() {
                let tin = &mut self.tins[self.turn];
                if tin.packets > 0 && tin.deficit > 0 {
                    return Some(self.turn);
                }
                if tin.packets == 0 {
                    tin.deficit = tin.deficit.min(0);
                }
                self.turn = (self.turn + 1) % self.tins.len();
                if self.tins[self.turn].packets > 0 {
                    self.tins[self.turn].deficit += quantum(self.turn);
                }
            }
            // The whole round only raised deficits: adds at once all further rounds in which no tin can send.
            let holding = || self.tins.iter().enumerate().filter(|(_, tin)| tin.packets > 0);
            let rounds = holding().map(|(number, tin)| (-tin.deficit).max(0) / quantum(number)).min()?;
            for (number, tin) in self.tins.iter_mut().enumerate().filter(|(_, tin)| tin.packets > 0) {
                tin.deficit += rounds * quantum(number);
            }
        }
    }
}

#[cfg(test)]
mod tests;
