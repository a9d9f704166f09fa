//! First in, first out.
//!
//! ```text
//! arrivals -> [ | | | | ] -> departures      full: the newest (tail) or the oldest (head) is dropped
//! ```

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Child, Context, Dequeue, Discipline, Guarantee, Invalid, NoShare, check_limit,
};
use crate::explanation::{Explanation, Foresight, why};
use crate::packet::Packet;
pub use crate::queue::Overflow;
pub use crate::queue::fifo::Fifo;
use crate::units::{Limit, Packets};

/// Parameters of `fifo`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Limit of the backlog, in packets (`100p`) or bytes (`64kB`).
    pub limit: Limit,
    /// Packet that a full queue drops: the arriving one (`tail`), the oldest (`head`), or the one that would
    /// be served last (`push-out`; in a FIFO the arriving one).
    pub overflow: Overflow,
    /// Step marker, as switches have it for DCTCP: a packet is marked with *congestion experienced* if more
    /// than this waits when it arrives, such as `95kB` or `65p`. Packets of senders without ECN stay as they
    /// are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Limit>,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Limit::Packets(Packets(1000)), overflow: Overflow::Tail, mark: None }
    }
}

impl Config {
    fn check(&self) -> Result<(), Invalid> {
        check_limit(self.limit)
    }
}

impl Discipline for Fifo {
    const ABOUT: About = About {
        name: "fifo",
        summary: "first in, first out",
        source: "tc-bfifo(8), tc-pfifo(8); Alizadeh et al., SIGCOMM 2010 (`mark`)",
        guarantees: &[
            Guarantee::new(
                "work conserving: the busy periods of any work-conserving discipline on the same arrivals",
                &["busy-periods"],
            ),
            Guarantee::new(
                "mean delay of M/M/1, M/D/1 and M/G/1 (Pollaczek-Khinchine); loss of M/M/1/K",
                &["pollaczek-khinchine", "full-buffer"],
            ),
            Guarantee::new("least variance of delay among disciplines blind to size", &["mean-wait"]),
        ],
        example: "limit = \"1000p\"\noverflow = \"tail\"\n",
        flow_blind: true,
        kernel_names: &["pfifo", "bfifo", "pfifo_fast", "pfifo_head_drop"],
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn new(config: Config, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        config.check()?;
        let mut fifo = Self::new(config.limit, config.overflow);
        fifo.set_mark(config.mark);
        Ok(fifo)
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        config.check()?;
        self.change(config.limit, config.overflow, cx);
        self.set_mark(config.mark);
        Ok(())
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.enqueue(packet, cx);
    }

    #[inline]
    fn dequeue(&mut self, _: &mut Context<'_>) -> Dequeue {
        self.dequeue()
    }

    #[inline]
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        self.pass(packet, cx)
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        self.flush(out);
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let (packets, bytes) = self.backlog();
        to.state("packets", packets);
        to.state("bytes", bytes);
        match self.front() {
            Some(oldest) => {
                let waited = cx.now.since(oldest.arrived);
                to.send_own(None, oldest, why!["the oldest of ", packets, ": it waited ", waited]);
            }
            None => to.empty(),
        }
    }
}
