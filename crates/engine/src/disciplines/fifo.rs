//! First in, first out.
//!
//! ```text
//! arrivals -> [ | | | | ] -> departures      full: the newest (tail) or the oldest (head) is dropped
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discipline::{Child, Context, Dequeue, Discipline, DropReason, Invalid, NoShare, check_limit};
use crate::packet::Packet;
use crate::queue::{Overflow, PacketQueue};
use crate::units::{Limit, Packets};

/// Parameters of `fifo`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How much may wait, in packets (`100p`) or bytes (`64kB`).
    pub limit: Limit,
    /// Which packet goes when the queue is full: the one arriving (`tail`), the oldest (`head`), or the
    /// one that would be served last (`push-out`; in a FIFO that is the one arriving).
    pub overflow: Overflow,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Limit::Packets(Packets(1000)), overflow: Overflow::Tail }
    }
}

impl Config {
    fn check(&self) -> Result<(), Invalid> {
        check_limit(self.limit)
    }
}

/// First in, first out.
#[derive(Default)]
pub struct Fifo {
    config: Config,
    queue: PacketQueue,
}

impl Discipline for Fifo {
    const KIND: &'static str = "fifo";
    const SUMMARY: &'static str = "first in, first out";
    const SOURCE: &'static str = "tc-bfifo(8), tc-pfifo(8)";
    const GUARANTEES: &'static [&'static str] = &[
        "work conserving: the busy periods of any work-conserving discipline on the same arrivals",
        "mean delay of M/M/1, M/D/1 and M/G/1 (Pollaczek-Khinchine); loss of M/M/1/K",
        "least variance of delay among disciplines blind to size",
    ];
    const EXAMPLE: &'static str = "limit = \"1000p\"\noverflow = \"tail\"\n";
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        config.check()?;
        Ok(Self { config, queue: PacketQueue::default() })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        config.check()?;
        self.queue.shrink(config.limit, cx);
        self.config = config;
        Ok(())
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if self.queue.has_room(&packet, self.config.limit) {
            self.queue.push(packet);
        } else {
            self.overflow(packet, cx);
        }
    }

    #[inline]
    fn dequeue(&mut self, _: &mut Context<'_>) -> Dequeue {
        match self.queue.pop() {
            Some(packet) => Dequeue::Packet(packet),
            None => Dequeue::Empty,
        }
    }

    #[inline]
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        if self.queue.has_room(&packet, self.config.limit) {
            return Dequeue::Packet(packet);
        }
        self.overflow(packet, cx);
        self.dequeue(cx)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }
}

impl Fifo {
    /// Returns the next packet to leave.
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&Packet> {
        self.queue.front()
    }

    /// Prefetches the next packet: see [`PacketQueue::prefetch`].
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.queue.prefetch();
    }

    #[cold]
    fn overflow(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let limit = self.config.limit;
        // It can never fit, so no other packet is dropped for it.
        if self.config.overflow != Overflow::Head || !limit.allows(1, packet.bytes().0) {
            cx.drop(packet, DropReason::Limit);
            return;
        }
        while !self.queue.has_room(&packet, limit) {
            let Some(oldest) = self.queue.pop() else { break };
            cx.drop(oldest, DropReason::Head);
        }
        self.queue.push(packet);
    }
}
