//! Next hop of a packet: a link, a router's processor, or the destination host.

use lockgate_engine::packet::FlowId;

/// Next hop packed into one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop(u32);

/// Next hop, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Port of the link at this index.
    Link(usize),
    /// Processor of the router at this index; the packet is forwarded after its service.
    Router(usize),
    /// Destination: the packet has arrived.
    Home,
}

impl Hop {
    pub(crate) const HOME: Self = Self(u32::MAX);
    /// Offset of the routers' indices.
    const ROUTER: u32 = 1 << 31;

    #[inline(always)]
    pub(crate) const fn way(self) -> Way {
        match self.0 {
            link if link < Self::ROUTER => Way::Link(link as usize),
            u32::MAX => Way::Home,
            router => Way::Router((router - Self::ROUTER) as usize),
        }
    }
}

impl From<Way> for Hop {
    fn from(way: Way) -> Self {
        match way {
            Way::Link(index) => Self(index as u32),
            Way::Router(index) => Self(index as u32 | Self::ROUTER),
            Way::Home => Self::HOME,
        }
    }
}

/// Lookup table of one place in the network: next hop by flow.
#[derive(Clone, Debug, Default)]
pub struct Hops(Box<[Hop]>);

impl Hops {
    /// Returns the next hop of a flow; the destination for an unknown flow.
    #[inline(always)]
    pub(crate) fn of(&self, flow: FlowId) -> Hop {
        self.0.get(flow.0 as usize).copied().unwrap_or(Hop::HOME)
    }
}

impl FromIterator<Way> for Hops {
    fn from_iter<I: IntoIterator<Item = Way>>(ways: I) -> Self {
        Self(ways.into_iter().map(Hop::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_survives_its_word() {
        let ways = [Way::Link(0), Way::Router(0), Way::Home, Way::Link(70_000), Way::Router(70_000)];
        let hops: Hops = ways.into_iter().collect();
        for (flow, way) in ways.into_iter().enumerate() {
            assert_eq!(hops.of(FlowId(flow as u32)).way(), way);
        }
        assert_eq!(Hops::default().of(FlowId(3)).way(), Way::Home);
    }
}
