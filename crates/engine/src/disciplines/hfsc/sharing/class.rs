//! A class as link sharing sees it.

use super::Shares;
use crate::disciplines::hfsc::curve::Curve;
use crate::units::Instant;

/// Whether a class takes part in link sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It does not.
    Apart,
    /// It never had a backlog: its curves begin with the first.
    Fresh,
    /// It has no backlog.
    Passive,
    /// It has one.
    Active,
}

/// A class. Where there are no limits, a packet needs the first of its two cache lines.
#[repr(C, align(64))]
pub(super) struct Class {
    /// Virtual time by work.
    curve: Curve,
    /// Its virtual time in picoseconds.
    pub(super) virtual_time: u128,
    /// The number of what is above it, an [`Inner`](super::Inner).
    pub(super) above: u32,
    /// Its place among its siblings.
    pub(super) turn: u32,
    /// The number of its own inside; that of the root for a leaf.
    pub(super) inner: u32,
    pub(super) state: State,
    /// How far its virtual time was put forward since its backlog began, where a limit had held it back.
    put_forward: u128,
    /// The parent's backlog period in which it last had a backlog.
    pub(super) period: u64,
    /// The upper limit, by work.
    limit: Option<Box<Curve>>,
}

impl Class {
    pub(super) fn new(shares: Shares, above: u32, turn: u32, inner: u32) -> Self {
        let Shares { link_share, upper_limit } = shares;
        Self {
            state: if link_share.is_some() { State::Fresh } else { State::Apart },
            curve: Curve::new(link_share.unwrap_or_default()),
            limit: upper_limit.map(|shape| Box::new(Curve::new(shape))),
            virtual_time: 0,
            put_forward: 0,
            period: 0,
            above,
            turn,
            inner,
        }
    }

    /// When its work is within its upper limit: it may send from then on.
    #[inline]
    pub(super) fn fit_time(&self) -> Instant {
        let time = self.limit.as_ref().map_or(0, |limit| limit.time());
        Instant::from_picos(u64::try_from(time).unwrap_or(u64::MAX))
    }

    /// It begins a backlog at this virtual time, since `since`.
    #[inline(always)]
    pub(super) fn enter<const LIMITED: bool>(&mut self, entry: u128, since: Instant) {
        let is_first = self.state == State::Fresh;
        self.state = State::Active;
        self.virtual_time = entry;
        self.curve.begin_or_lower(entry, is_first);
        if LIMITED {
            self.put_forward = 0;
            if let Some(limit) = &mut self.limit {
                limit.begin_or_lower(u128::from(since.as_picos()), is_first);
            }
        }
    }

    /// So much work was done. Its virtual time stays as it is.
    #[inline(always)]
    pub(super) fn go<const LIMITED: bool>(&mut self, work: u128) {
        self.curve.advance(work);
        if LIMITED && let Some(limit) = &mut self.limit {
            limit.advance(work);
        }
    }

    /// So much work was done, and its virtual time goes on. Not behind `least`, that of the child chosen last: being held back
    /// by a limit is not made up for.
    #[inline(always)]
    pub(super) fn advance<const LIMITED: bool>(&mut self, work: u128, least: Option<u128>) {
        self.go::<LIMITED>(work);
        self.virtual_time = self.curve.time();
        if LIMITED {
            let least = least.unwrap_or(0);
            self.virtual_time += self.put_forward;
            if self.virtual_time < least {
                self.put_forward += least - self.virtual_time;
                self.virtual_time = least;
            }
        }
        debug_assert!(least <= Some(self.virtual_time), "it is behind one that was chosen before it");
    }
}
