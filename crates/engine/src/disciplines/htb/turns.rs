//! Who borrows from a class at one priority, and whose turn it is.

use crate::queue::bitmap::Bitmap;

/// Members that take turns in the order of their numbers; turns of their own for each level of lender, so that
/// what one lender gives does not shift the turns of another. A member that leaves and comes back before the
/// turn has passed it has not lost it.
#[derive(Debug)]
pub(super) struct Turns {
    members: Bitmap,
    /// The turn is the first member's from here on, by the lender's level.
    next: Box<[usize]>,
}

impl Turns {
    /// Turns of nobody yet, for members below `bound`, and lenders of levels below `levels`.
    pub(super) fn new(bound: usize, levels: usize) -> Self {
        Self { members: Bitmap::new(bound), next: vec![0; levels].into() }
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
    pub(super) fn current(&self, lender: usize) -> Option<usize> {
        self.members.next(self.next[lender]).or_else(|| self.members.next(0))
    }

    /// Ends the turn of `member`. Returns whether it was the last of a round.
    #[inline]
    pub(super) fn end(&mut self, member: usize, lender: usize) -> bool {
        let next = self.members.next(member + 1);
        self.next[lender] = next.map_or(0, |_| member + 1);
        next.is_none()
    }
}
