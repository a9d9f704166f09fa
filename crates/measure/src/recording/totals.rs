//! Packets of a flow by their fate, and the balance between them.

use core::fmt;

use lockgate_engine::node::Tally;
use lockgate_engine::units::Bytes;

use crate::lazy::Empty;

/// Packets of a flow, by their fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sent by the source.
    pub sent: Tally,
    /// Copies that links made of them.
    pub duplicated: Tally,
    /// Received by the receiver.
    pub received: Tally,
    /// Lost.
    pub lost: Tally,
    /// Still in the network at the end.
    pub inside: Tally,
}

impl Empty for Totals {
    const EMPTY: &'static Self = {
        let none = Tally { packets: 0, bytes: Bytes::ZERO };
        &Self { sent: none, duplicated: none, received: none, lost: none, inside: none }
    };
}

impl Totals {
    pub(super) fn without(&self, early: &Self) -> Self {
        let less = |all: Tally, early: Tally| Tally {
            packets: all.packets.saturating_sub(early.packets),
            bytes: all.bytes.saturating_sub(early.bytes),
        };
        Self {
            sent: less(self.sent, early.sent),
            duplicated: less(self.duplicated, early.duplicated),
            received: less(self.received, early.received),
            lost: less(self.lost, early.lost),
            inside: less(self.inside, early.inside),
        }
    }

    pub(super) fn balance(&self, flow: &str, window: Window) -> Result<(), Imbalance> {
        let (sent, duplicated) = (self.sent, self.duplicated);
        let (received, lost, inside) = (self.received, self.lost, self.inside);
        let check = |unit, count: fn(Tally) -> u64| {
            let counted = [count(received), count(lost), count(inside)];
            let (sent, duplicated) = (count(sent), count(duplicated));
            if sent + duplicated == counted.iter().sum::<u64>() {
                return Ok(());
            }
            let [received, lost, inside] = counted;
            Err(Imbalance { flow: flow.into(), window, unit, sent, duplicated, received, lost, inside })
        };
        check("packets", |tally| tally.packets)?;
        check("bytes", |tally| tally.bytes.0)
    }
}

/// The packets that a statement covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// All packets.
    WholeRun,
    /// Packets sent at or after the end of the warm-up.
    AfterWarmup,
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WholeRun => "over the whole run",
            Self::AfterWarmup => "after the warm-up",
        })
    }
}

/// The error of a flow whose packets are not accounted for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "flow `{flow}` does not balance {window}: {sent} {unit} sent + {duplicated} duplicated, but {received} received + {lost} lost + \
     {inside} inside"
)]
pub struct Imbalance {
    /// The flow.
    pub flow: String,
    /// Window that does not balance.
    pub window: Window,
    /// Unit of the numbers: packets or bytes.
    pub unit: &'static str,
    /// Sent.
    pub sent: u64,
    /// Copies that links made.
    pub duplicated: u64,
    /// Received.
    pub received: u64,
    /// Lost.
    pub lost: u64,
    /// Still inside.
    pub inside: u64,
}
