//! Ends of a path.

/// Largest number of bytes in a packet: that of an IPv4 packet.
pub(crate) const LONGEST_PACKET: usize = 65_535;

/// One end of a path: where your code sends and receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End(u32);

impl End {
    /// Returns the number of the end in its path, from 0: those of the first pair are 0 and 1.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the end with this number. If the path has no such end, its calls are errors.
    pub const fn at(index: u32) -> Self {
        Self(index)
    }
}
