//! Next hop of a packet: a link, a router's processor, or the destination host.

use std::sync::Arc;

use lockgate_engine::packet::FlowId;

/// Next hop packed into one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop(u32);

/// Next hop, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// Port of the link at this index.
    Link(usize),
    /// Processor of the router at this index; the packet is forwarded after its service.
    Router(usize),
    /// Destination: the packet has arrived.
    Home,
}

impl Hop {
    /// The destination.
    pub const HOME: Self = Self(u32::MAX);
    /// Offset of the routers' indices.
    const ROUTER: u32 = 1 << 31;

    /// Unpacks the word.
    #[inline(always)]
    pub const fn next(self) -> NextHop {
        match self.0 {
            link if link < Self::ROUTER => NextHop::Link(link as usize),
            u32::MAX => NextHop::Home,
            router => NextHop::Router((router - Self::ROUTER) as usize),
        }
    }
}

impl From<NextHop> for Hop {
    fn from(next: NextHop) -> Self {
        match next {
            NextHop::Link(index) => Self(index as u32),
            NextHop::Router(index) => Self(index as u32 | Self::ROUTER),
            NextHop::Home => Self::HOME,
        }
    }
}

impl Hop {
    /// True at the destination.
    #[inline(always)]
    pub const fn has_arrived(self) -> bool {
        self.0 == Self::HOME.0
    }
}

/// Next hops at one node or port of the network, by flow.
#[derive(Clone, Debug)]
pub enum Hops {
    /// Next hop of each flow, shared by all links that lead there.
    Table(Arc<[Hop]>),
    /// Next hops at a leaf, a node with one link: flows that end there have arrived, others leave by the
    /// link.
    Leaf {
        /// Node at which each flow ends, shared by all leaves.
        destinations: Arc<[u32]>,
        /// Index of the leaf among the nodes.
        node: u32,
        /// Next hop of other flows.
        next: Hop,
    },
}

impl Default for Hops {
    fn default() -> Self {
        Self::Table(Arc::default())
    }
}

impl Hops {
    /// Returns the next hop of a flow; the destination for an unknown flow.
    #[inline(always)]
    pub fn of(&self, flow: FlowId) -> Hop {
        match self {
            Self::Table(hops) => hops.get(flow.0 as usize).copied().unwrap_or(Hop::HOME),
            Self::Leaf { destinations, node, next } => match destinations.get(flow.0 as usize) {
                Some(destination) if destination != node => *next,
                _ => Hop::HOME,
            },
        }
    }
}

impl FromIterator<NextHop> for Hops {
    fn from_iter<I: IntoIterator<Item = NextHop>>(nexts: I) -> Self {
        Self::Table(nexts.into_iter().map(Hop::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_hop_survives_its_word() {
        let nexts = [
            NextHop::Link(0),
            NextHop::Router(0),
            NextHop::Home,
            NextHop::Link(70_000),
            NextHop::Router(70_000),
        ];
        let hops: Hops = nexts.into_iter().collect();
        for (flow, next) in nexts.into_iter().enumerate() {
            assert_eq!(hops.of(FlowId(flow as u32)).next(), next);
        }
        assert_eq!(Hops::default().of(FlowId(3)).next(), NextHop::Home);
    }
}
