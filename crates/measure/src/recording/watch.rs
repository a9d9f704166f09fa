//! What is counted besides while somebody watches: sojourn times and drops of one interval after the other,
//! warm-up included.
//!
//! The hot calls of a record do not ask whether they are watched. While they are, the record's own sojourn
//! times are kept here, so that each packet goes through the door that a place's first packet goes through,
//! which is cold; [`PortRecord::unwatch`](super::PortRecord::unwatch) puts them back. What a recording says
//! at the end is the same, watched or not.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::node::Tally;
use lockgate_engine::units::Duration;

use super::port::Sojourns;
use crate::histogram::Coarse;

/// Upper ends of the classes that sojourn times are counted in since the start, in picoseconds; what is
/// longer is in none of them.
pub const SOJOURN_CLASSES: [Duration; 12] = [
    Duration::from_micros(10),
    Duration::from_micros(100),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(10),
];

/// What one place does while it is watched.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Place {
    /// Sojourn times of the packets sent from it in this interval, in ps.
    pub(super) sojourn: Coarse,
    /// Packets it dropped since the start, by reason.
    pub(super) drops: [u64; DropReason::ALL.len()],
    /// The most that waited in it since the recording's last sample, as far as a look has seen.
    pub(super) peak: Tally,
    /// The most that waited in it since the last look, as far as a sample of the recording has seen.
    pub(super) unseen: Tally,
    /// Packets sent from it since the start whose sojourn time was at most each of [`SOJOURN_CLASSES`].
    pub(super) classes: [u64; SOJOURN_CLASSES.len()],
    /// How many there were, and the sum of their sojourn times in ps.
    pub(super) sojourns: (u64, u128),
}

/// A port's, while it is watched.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Watch {
    pub(super) places: Vec<Place>,
    /// The record's own, by place.
    pub(super) recorded: Vec<Sojourns>,
}

impl Watch {
    pub(super) fn place(&mut self, node: u16) -> &mut Place {
        let index = usize::from(node);
        if index >= self.places.len() {
            self.places.resize_with(index + 1, Place::default);
        }
        &mut self.places[index]
    }

    pub(super) fn on_transmit(&mut self, node: u16, sojourn: Duration) {
        let place = self.place(node);
        place.sojourn.record(sojourn.as_picos());
        place.sojourns.0 += 1;
        place.sojourns.1 += u128::from(sojourn.as_picos());
        for (count, class) in place.classes.iter_mut().zip(SOJOURN_CLASSES).rev() {
            if sojourn > class {
                break;
            }
            *count += 1;
        }
    }
}

/// What a look finds in one place of a port: interval figures since the last look that
/// [closed](super::PortRecord::close_interval) one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Sojourn times of the packets sent from it or below it in the interval, in ps.
    pub sojourn: Coarse,
    /// Packets dropped in it or below it since the start, by reason.
    pub drops: [u64; DropReason::ALL.len()],
    /// Packets sent from it or below it since the start, by [`SOJOURN_CLASSES`], cumulative.
    pub classes: [u64; SOJOURN_CLASSES.len()],
    /// How many, and the sum of their sojourn times in ps.
    pub sojourns: (u64, u128),
}

impl Seen {
    /// Forgets everything, but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.sojourn.clear();
        *self = Self { sojourn: core::mem::take(&mut self.sojourn), ..Self::default() };
    }

    pub(super) fn add(&mut self, place: &Place) {
        self.sojourn.merge(&place.sojourn);
        self.sojourns.0 += place.sojourns.0;
        self.sojourns.1 += place.sojourns.1;
        for (sum, count) in self.drops.iter_mut().zip(place.drops) {
            *sum += count;
        }
        for (sum, count) in self.classes.iter_mut().zip(place.classes) {
            *sum += count;
        }
    }
}
