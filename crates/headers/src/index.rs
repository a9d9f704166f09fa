//! Index of boxes by the field that tells most of them apart.

use std::collections::BTreeSet;

use crate::field::Field;
use crate::region::Region;

/// Number of others from which a box is among the wide ones, which every search returns.
const WIDE: usize = 64;

/// Index of boxes: those near a box are found without comparing it with all.
pub(crate) struct Index {
    field: Field,
    /// Lowest and highest number of the field, and the box, by the lowest.
    sorted: Vec<(u128, u128, u32)>,
    /// Highest number up to each.
    highest: Vec<u128>,
    /// Boxes that reach over many others.
    wide: Vec<u32>,
}

impl Index {
    pub(crate) fn new<'a>(regions: impl Iterator<Item = &'a Region> + Clone) -> Self {
        let distinct = |field: &Field| {
            let lows = regions.clone().filter(|region| region.is_bound(*field));
            lows.filter_map(|region| region.field(*field).ends()).collect::<BTreeSet<_>>().len()
        };
        // Of equals the last is chosen: the order is reversed for the first.
        let field = Field::ALL.into_iter().rev().max_by_key(distinct).unwrap_or(Field::Destination);
        let ends = |(index, region): (usize, &Region)| {
            let (low, high) = region.field(field).ends()?;
            Some((low, high, index as u32))
        };
        let mut all: Vec<_> = regions.enumerate().filter_map(ends).collect();
        all.sort_unstable();
        let lows: Vec<u128> = all.iter().map(|(low, ..)| *low).collect();
        let reach = |low: u128, high: u128| {
            lows.partition_point(|other| *other <= high) - lows.partition_point(|other| *other < low)
        };
        let is_wide = |(low, high, _): &(u128, u128, u32)| reach(*low, *high) > WIDE && low != high;
        let wide = all.iter().filter(|one| is_wide(one)).map(|(.., index)| *index).collect();
        let sorted: Vec<_> = all.into_iter().filter(|one| !is_wide(one)).collect();
        let highest = sorted
            .iter()
            .scan(0, |most: &mut u128, (_, high, _)| {
                *most = (*most).max(*high);
                Some(*most)
            })
            .collect();
        Self { field, sorted, highest, wide }
    }

    /// Returns the boxes that may have a packet of this one, in their order.
    pub(crate) fn near(&self, region: &Region) -> Vec<u32> {
        let mut found = self.wide.clone();
        let Some((low, high)) = region.field(self.field).ends() else { return Vec::new() };
        let end = self.sorted.partition_point(|(from, ..)| *from <= high);
        for index in (0..end).rev().take_while(|index| self.highest[*index] >= low) {
            let (_, to, own) = self.sorted[index];
            if to >= low {
                found.push(own);
            }
        }
        found.sort_unstable();
        found
    }
}
