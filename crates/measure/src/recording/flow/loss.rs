//! Reasons for the loss of a packet.

use core::fmt;

use lockgate_engine::discipline::DropReason;

/// The reason for a packet's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// A queue dropped it.
    Queue(DropReason),
    /// A link lost it.
    Link,
    /// A router's service queue was full.
    Router,
    /// Not forwarded: hop limit reached, no route, or an invalid header. Only live runs.
    Hops,
    /// All frames of the driver were held by queues. Only live runs.
    Frames,
    /// The kernel of this machine lost it between a host and the driver. Only live runs.
    Host,
}

impl Loss {
    /// Every reason.
    pub const ALL: [Self; DropReason::ALL.len() + Self::OTHERS.len()] = {
        let mut all = [Self::Link; DropReason::ALL.len() + Self::OTHERS.len()];
        let mut index = 0;
        while index < DropReason::ALL.len() {
            all[index] = Self::Queue(DropReason::ALL[index]);
            index += 1;
        }
        while index < all.len() {
            all[index] = Self::OTHERS[index - DropReason::ALL.len()];
            index += 1;
        }
        all
    };

    /// Reasons other than a queue's.
    const OTHERS: [Self; 5] = [Self::Link, Self::Router, Self::Hops, Self::Frames, Self::Host];

    /// Returns its index in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|loss| *loss == self).unwrap_or(0)
    }

    /// Returns the reason in one word, as results spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue(reason) => reason.name(),
            Self::Link => "link",
            Self::Router => "router",
            Self::Hops => "hops",
            Self::Frames => "frames",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
