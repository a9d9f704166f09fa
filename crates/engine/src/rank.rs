//! Rank-ordered disciplines: serve the queued packet of smallest rank.
//!
//! A rank is fixed on arrival (all packets age at the same speed, so even "longest waiting first" is a
//! static order). Equal ranks are served in order of arrival. If the queue is full, push-out drops the
//! packet that would be served last, which may be the arriving one.
//!
//! Each of the five policies is a type that implements [`Rank`]; [`Ranked`] makes a discipline of it.

use core::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, DropReason, Guarantee, Invalid, NoShare, check_limit,
};
use crate::explanation::{Explanation, Foresight, why};
use crate::packet::{Header, Packet};
use crate::queue::Overflow;
use crate::queue::ranked::RankedQueue;
use crate::units::{Limit, Packets};

/// Order of packets.
pub trait Rank: Send + 'static {
    /// Facts about the discipline, besides those of all that serve by rank.
    const ABOUT: About;
    /// Returns the rank of an arriving packet; the smallest is served first.
    fn rank(packet: &Header) -> u64;
}

/// Parameters of a ranked discipline.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How much may wait, in packets (`100p`) or bytes (`64kB`).
    pub limit: Limit,
    /// Which packet goes when the queue is full: the one that would be served last (`push-out`), the one
    /// arriving (`tail`), or the one that would be served next (`head`).
    pub overflow: Overflow,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Limit::Packets(Packets(1000)), overflow: Overflow::PushOut }
    }
}

/// Discipline that serves packets in the order of `R`.
pub struct Ranked<R> {
    config: Config,
    queue: RankedQueue,
    order: PhantomData<R>,
}

impl<R: Rank> Discipline for Ranked<R> {
    const ABOUT: About = About {
        guarantees: &[
            Guarantee::new(
                "conservation law: with equal sizes and no loss, the mean sojourn of FIFO on the same arrivals",
                &["mean-wait"],
            ),
            Guarantee::new(
                "the packet that leaves has the least rank of all that wait, ties to the earlier arrival; a full buffer gives up the greatest",
                &["rank-order"],
            ),
        ],
        example: "limit = \"1000p\"\noverflow = \"push-out\"\n",
        reads_source: true,
        ..R::ABOUT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        check_limit(config.limit)?;
        Ok(Self { config, queue: RankedQueue::default(), order: PhantomData })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        check_limit(config.limit)?;
        self.config = config;
        while !self.queue.fits(self.config.limit) {
            let Some(last) = self.queue.pop_last() else { break };
            cx.drop(last, DropReason::Shrunk);
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let limit = self.config.limit;
        if !limit.allows(1, packet.bytes().0) {
            // It can never fit, so no other packet is dropped for it.
            cx.drop(packet, DropReason::Limit);
            return;
        }
        if self.config.overflow == Overflow::PushOut {
            self.queue.push(R::rank(&packet), packet);
            while !self.queue.fits(limit) {
                let Some(last) = self.queue.pop_last() else { break };
                cx.drop(last, DropReason::PushOut);
            }
            return;
        }
        if self.config.overflow == Overflow::Head {
            while !self.queue.has_room(&packet, limit) {
                let Some(next) = self.queue.pop() else { break };
                cx.drop(next, DropReason::Head);
            }
        }
        if self.queue.has_room(&packet, limit) {
            self.queue.push(R::rank(&packet), packet);
        } else {
            cx.drop(packet, DropReason::Limit);
        }
    }

    fn dequeue(&mut self, _: &mut Context<'_>) -> Dequeue {
        self.queue.pop().map_or(Dequeue::Empty, Dequeue::Packet)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.state("packets", self.queue.len());
        let mut first = self.queue.in_order();
        match (first.next(), first.next()) {
            (Some((rank, packet)), second) => {
                let why = why!["rank ", rank, " is the smallest of ", self.queue.len()];
                let why = match second {
                    Some((second, _)) => why.and(why!["; the next has ", second]),
                    None => why,
                };
                to.state("waited", cx.now.since(packet.arrived));
                to.send_own(None, packet, why);
            }
            (None, _) => to.empty(),
        }
    }
}
