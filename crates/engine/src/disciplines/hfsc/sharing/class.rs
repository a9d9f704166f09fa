//! Link-sharing state of a class.

use crate::disciplines::hfsc::curve::Curve;
use crate::disciplines::hfsc::curve_spec::CurveSpec;
use crate::units::Instant;

/// Curves of a class's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(crate) link_share: Option<CurveSpec>,
    pub(crate) upper_limit: Option<CurveSpec>,
}

/// Activity of a class under the link-sharing criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has no link-sharing curve.
    NotSharing,
    /// It never had a backlog: its curves begin with the first.
    Fresh,
    /// It has no backlog now.
    Passive,
    /// It has a backlog, or a deferred deactivation.
    Active,
}

/// Link-sharing state of a class. Without limits a packet touches the first of its two cache lines only.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct Class {
    /// Virtual time as a function of work.
    curve: Curve,
    /// Virtual time in picoseconds.
    pub(super) virtual_time: u128,
    /// Index of its [`Parent`](super::Parent).
    pub(super) parent: u32,
    /// Index among its siblings.
    pub(super) child_index: u32,
    /// Index of its own state as a parent; `ROOT` for a leaf.
    pub(super) as_parent: u32,
    pub(super) state: State,
    /// Sum by which its virtual time was raised to that of its siblings in this backlog, after a limit had
    /// held it back.
    adjustment: u128,
    /// Backlog period of the parent in which it last had a backlog.
    pub(super) period: u64,
    /// Upper limit: time as a function of work.
    limit: Option<Box<Curve>>,
}

impl Class {
    pub(super) fn new(shares: Shares, parent: u32, child_index: u32, as_parent: u32) -> Self {
        let Shares { link_share, upper_limit } = shares;
        Self {
            state: if link_share.is_some() { State::Fresh } else { State::NotSharing },
            curve: Curve::new(link_share.unwrap_or_default()),
            limit: upper_limit.map(|spec| Box::new(Curve::new(spec))),
            virtual_time: 0,
            adjustment: 0,
            period: 0,
            parent,
            child_index,
            as_parent,
        }
    }

    /// Returns the time from which its work is within its upper limit.
    #[inline]
    pub(super) fn eligible_at(&self) -> Instant {
        let time = self.limit.as_ref().map_or(0, |limit| limit.time());
        Instant::from_picos(u64::try_from(time).unwrap_or(u64::MAX))
    }

    /// Begins a backlog, which exists since `since`, at virtual time `entry`.
    #[inline]
    pub(super) fn begin_backlog<const LIMITED: bool>(&mut self, entry: u128, since: Instant) {
        let is_first = self.state == State::Fresh;
        self.state = State::Active;
        self.virtual_time = entry;
        self.curve.begin_backlog(entry, is_first);
        if LIMITED {
            self.adjustment = 0;
            if let Some(limit) = &mut self.limit {
                limit.begin_backlog(u128::from(since.as_picos()), is_first);
            }
        }
    }

    /// Advances its curves by work, but not its virtual time.
    #[inline]
    pub(super) fn advance_curves<const LIMITED: bool>(&mut self, work: u128) {
        self.curve.advance(work);
        if LIMITED && let Some(limit) = &mut self.limit {
            limit.advance(work);
        }
    }

    /// Advances its curves and its virtual time by work. The virtual time is raised to `min_virtual_time`,
    /// that of the sibling selected last: a class does not make up for the time in which a limit held it.
    #[inline]
    pub(super) fn advance<const LIMITED: bool>(&mut self, work: u128, min_virtual_time: Option<u128>) {
        self.advance_curves::<LIMITED>(work);
        self.virtual_time = self.curve.time();
        if LIMITED {
            let min_virtual_time = min_virtual_time.unwrap_or(0);
            self.virtual_time += self.adjustment;
            if self.virtual_time < min_virtual_time {
                self.adjustment += min_virtual_time - self.virtual_time;
                self.virtual_time = min_virtual_time;
            }
        }
        debug_assert!(
            min_virtual_time <= Some(self.virtual_time),
            "its virtual time is below that of a class selected before it"
        );
    }
}
