//! The virtual times of a class's children that have a backlog, and the latest of them.

use crate::queue::tournament::{LAST, Tournament};

/// The time of a child that has no backlog.
const NONE: u128 = u128::MAX;

/// Virtual times by child. The latest is asked for when a child begins, the times change with every packet: so what
/// has changed is noted, and the matches are played when somebody asks.
pub(super) struct Times {
    of: Box<[u128]>,
    /// How many children have one.
    count: usize,
    /// No time was later since the period began.
    highest: u128,
    /// By what is left of [`LAST`], as of when it was asked last.
    latest: Tournament<u128>,
    /// Who has another time since, each once.
    changed: Vec<u32>,
    is_changed: Box<[bool]>,
}

impl Times {
    /// Nobody has one of these children.
    pub(super) fn new(children: usize) -> Self {
        Self {
            of: vec![NONE; children].into(),
            count: 0,
            highest: 0,
            latest: Tournament::new(children),
            changed: Vec::with_capacity(children),
            is_changed: vec![false; children].into(),
        }
    }

    /// The time of `child`, if it has one.
    #[inline]
    pub(super) fn of(&self, child: usize) -> Option<u128> {
        Some(self.of[child]).filter(|time| *time != NONE)
    }

    /// Whether `child` has one. The upper half says so: as a whole, what was written in halves is waited for.
    #[inline]
    fn has(&self, child: usize) -> bool {
        (self.of[child] >> 64) as u64 != u64::MAX
    }

    /// How many children have one.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Gives `child` this time; those beyond the last that can be told apart count as that.
    #[inline]
    pub(super) fn set(&mut self, child: usize, time: u128) {
        self.count += usize::from(!self.has(child));
        self.highest = self.highest.max(time);
        self.put(child, time.min(LAST));
    }

    /// Takes the time of `child`, which has one.
    #[inline]
    pub(super) fn remove(&mut self, child: usize) {
        self.count -= usize::from(self.has(child));
        self.put(child, NONE);
    }

    /// Forgets how late the times were, where no child has one.
    pub(super) fn begin_period(&mut self) {
        self.highest = 0;
    }

    /// The latest time that any child has had in this period: not before [`latest`](Self::latest), and without a
    /// match.
    #[inline]
    pub(super) fn highest(&self) -> u128 {
        self.highest
    }

    #[inline]
    fn put(&mut self, child: usize, time: u128) {
        self.of[child] = time;
        if !self.is_changed[child] {
            self.is_changed[child] = true;
            self.changed.push(child as u32);
        }
    }

    /// The latest; `None` where there is none.
    pub(super) fn latest(&mut self) -> Option<u128> {
        for child in self.changed.drain(..) {
            let child = child as usize;
            self.is_changed[child] = false;
            match self.of[child] {
                NONE => {
                    self.latest.remove(child);
                }
                time => self.latest.set(child, LAST - time),
            }
        }
        self.latest.first().map(|(left, _)| LAST - left)
    }
}
