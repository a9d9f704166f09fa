//! Where packets go from a place in the network: a link, a router's processor, or home.

use lockgate_engine::packet::FlowId;

/// Where a packet goes next, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop(u32);

/// The same, spelt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the port of this link.
    Link(usize),
    /// To this router's processor, and on from there.
    Router(usize),
    /// It has arrived.
    Home,
}

impl Hop {
    pub(crate) const HOME: Self = Self(u32::MAX);
    /// Added to the number of a router.
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

/// Where the packets of each flow go from one place.
#[derive(Clone, Debug, Default)]
pub struct Hops(Box<[Hop]>);

impl Hops {
    /// Those of a flow; home where nothing is known of it.
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
