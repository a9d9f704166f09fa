//! A file carried by a flow, for comparing its completion time with others.

use lockgate_engine::units::{Bytes, Instant};

/// A file carried by a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// Start of the transfer.
    pub start: Instant,
    /// Size; `None` for a bulk transfer without end.
    pub bytes: Option<Bytes>,
    /// Bytes that the slowest link on its path charges for it, headers of its segments included; zero for a
    /// bulk transfer without end.
    pub charged: Bytes,
    /// Index in the recording's ports of the slowest link on its path; of equally slow ones, that of the most
    /// files.
    pub port: u32,
}

/// Size classes of files, numbered from 1 in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FileBins {
    /// Below 1 kB, 10 kB, 100 kB and so on.
    #[default]
    Decades,
    /// Classes of this width each.
    Width(Bytes),
    /// Below the first of these, below the second, and so on; the last class has no upper limit. Ascending.
    Edges(Vec<Bytes>),
}

/// One size class of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileBin {
    /// Number of the class, from 1.
    pub number: u64,
    /// Smallest size in the class.
    pub from: Bytes,
    /// Smallest size above the class; `None` if it has no upper limit.
    pub to: Option<Bytes>,
}

impl FileBins {
    /// Returns the class of a size.
    pub fn of(&self, size: Bytes) -> FileBin {
        match self {
            Self::Decades => {
                let (mut number, mut from, mut to) = (1, 0, Some(1000_u64));
                while let Some(next) = to.filter(|next| size.0 >= *next) {
                    (number, from, to) = (number + 1, next, next.checked_mul(10));
                }
                FileBin { number, from: Bytes(from), to: to.map(Bytes) }
            }
            Self::Width(width) => {
                let width = width.0.max(1);
                let below = size.0 / width;
                let from = below * width;
                FileBin { number: below + 1, from: Bytes(from), to: from.checked_add(width).map(Bytes) }
            }
            Self::Edges(edges) => {
                let index = edges.partition_point(|edge| *edge <= size);
                FileBin {
                    number: index as u64 + 1,
                    from: index.checked_sub(1).map_or(Bytes::ZERO, |before| edges[before]),
                    to: edges.get(index).copied(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(bins: &FileBins, size: u64) -> (u64, u64, Option<u64>) {
        let bin = bins.of(Bytes(size));
        (bin.number, bin.from.0, bin.to.map(|to| to.0))
    }

    #[test]
    fn sizes_have_their_classes() {
        let decades = FileBins::Decades;
        assert_eq!(bin(&decades, 999), (1, 0, Some(1000)));
        assert_eq!(bin(&decades, 1000), (2, 1000, Some(10_000)));
        assert_eq!(bin(&decades, u64::MAX).2, None);
        let width = FileBins::Width(Bytes(100_000));
        assert_eq!(bin(&width, 99_999), (1, 0, Some(100_000)));
        assert_eq!(bin(&width, 100_000), (2, 100_000, Some(200_000)));
        let edges = FileBins::Edges(vec![Bytes(12_000), Bytes(100_000)]);
        assert_eq!(bin(&edges, 11_999), (1, 0, Some(12_000)));
        assert_eq!(bin(&edges, 12_000), (2, 12_000, Some(100_000)));
        assert_eq!(bin(&edges, 100_000), (3, 100_000, None));
    }
}
