//! Rows of integers stored as differences: a row takes a byte, and as many more as its changes have.
//!
//! ```text
//! row       columns that differ from the row before, as bits     difference of each of them
//! (5, 7)    0b11                                                 +5, +7
//! (5, 9)    0b10                                                 +2
//! (5, 9)    0b00
//! ```
//!
//! All numbers are in LEB128, differences in zigzag order: 0, -1, 1, -2, ...

/// Bytes that are free before a row is appended: more than most rows take.
const ROOM_BYTES: usize = 16;

/// Rows of `N` integers, at most 64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeltaRows<const N: usize> {
    bytes: Vec<u8>,
    len: usize,
    last: [u64; N],
}

impl<const N: usize> Default for DeltaRows<N> {
    fn default() -> Self {
        Self { bytes: Vec::new(), len: 0, last: [0; N] }
    }
}

impl<const N: usize> DeltaRows<N> {
    /// Appends a row.
    pub(crate) fn push(&mut self, row: [u64; N]) {
        if self.bytes.capacity() - self.bytes.len() < ROOM_BYTES {
            // By a quarter instead of doubling: of ten thousand flows most have short records.
            self.bytes.reserve_exact(self.bytes.len() / 4 + ROOM_BYTES);
        }
        let differences = row.iter().zip(&self.last).map(|(new, old)| new.wrapping_sub(*old));
        let changed = differences.enumerate().filter(|(_, difference)| *difference != 0);
        put(&mut self.bytes, changed.clone().fold(0, |bits, (column, _)| bits | 1 << column));
        for (_, difference) in changed {
            put(&mut self.bytes, difference << 1 ^ (difference.cast_signed() >> 63).cast_unsigned());
        }
        self.last = row;
        self.len += 1;
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the last row, if any.
    pub(crate) fn last(&self) -> Option<[u64; N]> {
        (self.len > 0).then_some(self.last)
    }

    /// Returns all rows.
    pub(crate) fn iter(&self) -> Rows<'_, N> {
        Rows { bytes: &self.bytes, row: [0; N] }
    }
}

/// Iterator over rows.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'a, const N: usize> {
    bytes: &'a [u8],
    row: [u64; N],
}

impl<const N: usize> Iterator for Rows<'_, N> {
    type Item = [u64; N];

    fn next(&mut self) -> Option<[u64; N]> {
        let changed = take(&mut self.bytes)?;
        for (_, value) in self.row.iter_mut().enumerate().filter(|(column, _)| changed >> column & 1 == 1) {
            let zigzag = take(&mut self.bytes)?;
            *value = value.wrapping_add(zigzag >> 1 ^ (zigzag & 1).wrapping_neg());
        }
        Some(self.row)
    }
}

/// Appends a number in LEB128: seven bits a byte, the lowest first; all but the last have the highest bit
/// set.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Removes and returns the first number; `None` at the end.
fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte <= 0x7f {
            break;
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use lockgate_engine::random::{Random, Seed};

    use super::*;

    #[test]
    fn an_equal_row_takes_a_byte() {
        let mut rows = DeltaRows::<12>::default();
        rows.push([u64::MAX; 12]);
        let first = rows.bytes.len();
        assert_eq!(first, 2 + 12, "all ones is the difference -1");
        rows.push([u64::MAX; 12]);
        assert_eq!((rows.bytes.len(), rows.len()), (first + 1, 2));
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let mut random = Random::stream(Seed(1), "rows");
        for columns_that_change in 0..=3 {
            let mut row = [0; 3];
            let rows: Vec<[u64; 3]> = (0..200)
                .map(|_| {
                    for value in &mut row[..columns_that_change] {
                        let bits = u64::from(random.bits()) << 32 | u64::from(random.bits());
                        *value = bits >> random.below(64);
                    }
                    row
                })
                .collect();
            let mut stored = DeltaRows::default();
            assert_eq!((stored.last(), stored.iter().next()), (None, None));
            for row in &rows {
                stored.push(*row);
            }
            assert_eq!(stored.iter().collect::<Vec<_>>(), rows);
            assert_eq!(stored.last(), rows.last().copied());
        }
    }
}
