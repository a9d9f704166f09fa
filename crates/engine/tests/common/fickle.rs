//! Hostile leaf: does everything that a leaf is allowed to do, at the worst moments.
//!
//! It is a FIFO that, by the port's random numbers, drops in enqueue (the arriving packet or another), in
//! dequeue before it returns (as an active queue management does), on its timer and when it is
//! reconfigured; and for a while it returns `NotBefore` or `Empty` although it holds packets.

use std::collections::VecDeque;

use lockgate_engine::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, Guarantee, Invalid, NoShare,
};
use lockgate_engine::packet::Packet;
use lockgate_engine::units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `fickle`. Chances are out of 256.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Drops the arriving packet, or half the time the oldest.
    pub enqueue: u32,
    /// Drops the packets at its head before it answers; each with this chance.
    pub dequeue: u32,
    /// Drops the newest on its timer.
    pub timer: u32,
    /// Drops the oldest when it is reconfigured.
    pub reconfigure: u32,
    /// Falls into a mood in which it gives nothing.
    pub mood: u32,
    /// Refuses to be like this.
    pub impossible: bool,
}

impl Config {
    /// The most hostile parameters that still let packets through.
    pub const HOSTILE: Self =
        Self { enqueue: 24, dequeue: 48, timer: 96, reconfigure: 128, mood: 64, impossible: false };
    /// A plain FIFO.
    pub const TAME: Self =
        Self { enqueue: 0, dequeue: 0, timer: 0, reconfigure: 0, mood: 0, impossible: false };
}

impl Default for Config {
    fn default() -> Self {
        Self::HOSTILE
    }
}

/// Result of a dequeue while it returns no packet.
#[derive(Clone, Copy)]
enum Mood {
    Wait(Instant),
    Deny(Instant),
}

/// The hostile leaf.
pub struct Fickle {
    config: Config,
    packets: VecDeque<Packet>,
    mood: Option<Mood>,
    timer: Instant,
}

/// How long moods last at most, and the time between timers.
const SPELL: Duration = Duration::from_micros(300);

fn chance(of: u32, cx: &mut Context<'_>) -> bool {
    of > 0 && cx.random.below(256) < of
}

impl Discipline for Fickle {
    const ABOUT: About = About {
        name: "fickle",
        summary: "a hostile leaf for tests",
        source: "the scheduler CVEs of 2023 to 2026",
        guarantees: &[Guarantee::new("keeps the order of a flow", &[])],
        work_conserving: false,
        timed: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        if config.impossible {
            return Err(Invalid::new("impossible", "is never true"));
        }
        Ok(Self { config, packets: VecDeque::new(), mood: None, timer: Instant::ZERO })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        if config.impossible {
            return Err(Invalid::new("impossible", "is never true"));
        }
        if chance(self.config.reconfigure, cx)
            && let Some(packet) = self.packets.pop_front()
        {
            cx.drop(packet, DropReason::Shrunk);
        }
        self.config = config;
        self.mood = None;
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.packets.push_back(packet);
        if chance(self.config.enqueue, cx) {
            let newest = chance(128, cx);
            let victim = if newest { self.packets.pop_back() } else { self.packets.pop_front() };
            if let Some(victim) = victim {
                cx.drop(victim, DropReason::Forced);
            }
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        if self.packets.is_empty() {
            return Dequeue::Empty;
        }
        match self.mood {
            Some(Mood::Wait(until)) if until > cx.now => return Dequeue::NotBefore(until),
            Some(Mood::Deny(until)) if until > cx.now => return Dequeue::Empty,
            _ => self.mood = None,
        }
        while chance(self.config.dequeue, cx) {
            let Some(packet) = self.packets.pop_front() else { break };
            cx.drop(packet, DropReason::Early);
        }
        if !self.packets.is_empty() && chance(self.config.mood, cx) {
            let until = cx.now + Duration::from_picos(1 + u64::from(cx.random.below(300_000_000)));
            let waits = chance(128, cx) && until > cx.now;
            self.mood = Some(if waits { Mood::Wait(until) } else { Mood::Deny(until) });
            return if waits { Dequeue::NotBefore(until) } else { Dequeue::Empty };
        }
        self.packets.pop_front().map_or(Dequeue::Empty, Dequeue::Packet)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.packets.drain(..));
    }

    fn next_timer(&self) -> Option<Instant> {
        (self.config.timer > 0).then_some(self.timer)
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.timer = cx.now + SPELL;
        if chance(self.config.timer, cx)
            && let Some(packet) = self.packets.pop_back()
        {
            cx.drop(packet, DropReason::Forced);
        }
    }
}
