//! Who may send on the tokens of one lender at one priority, and whose turn it is.

use crate::queue::bitmap::Bitmap;

/// Members that take turns in the order of their numbers. One that leaves and comes back before the turn has
/// passed it has not lost it.
#[derive(Debug)]
pub(super) struct Turns {
    members: Bitmap,
    /// The turn is the first member's from here on.
    next: usize,
}

impl Turns {
    pub(super) fn new(bound: usize) -> Self {
        Self { members: Bitmap::new(bound), next: 0 }
    }

    #[inline]
    pub(super) fn insert(&mut self, member: usize) {
        self.members.insert(member);
    }

    #[inline]
    pub(super) fn remove(&mut self, member: usize) {
        self.members.remove(member);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whose turn it is.
    #[inline]
    pub(super) fn current(&self) -> Option<usize> {
        self.members.next_from(self.next).or_else(|| self.members.next_from(0))
    }

    /// Ends the turn of `member`. Returns whether it was the last of a round.
    #[inline]
    pub(super) fn end(&mut self, member: usize) -> bool {
        self.next = member + 1;
        let last = self.members.next_from(self.next).is_none();
        if last {
            self.next = 0;
        }
        last
    }
}
