//! Scoreboard: one entry for each segment that was sent and is not acknowledged, with its state.
//!
//! ```text
//!  una                                                nxt
//!   |  lost, sent again | sacked | sacked | in flight |       in flight = sent - sacked - lost + sent again
//! ```
//!
//! Entries are in a ring in the order of sequence numbers, and in a linked list in the order of their last
//! transmission, which RACK walks (RFC 8985 section 5). A segment is marked at most once a transmission, so
//! the work of an acknowledgement is bounded by its new information; known blocks are skipped by the list of
//! ranges.

use std::collections::VecDeque;

use lockgate_engine::units::{Duration, Instant};

use crate::rate::Snapshot;
use crate::segment::Block;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// Retransmitted, and that transmission is in flight.
const AGAIN: u8 = 4;
/// Transmitted more than once so far.
const REPEATED: u8 = 8;
const LISTED: u8 = 16;
/// The application had nothing more to send at the last transmission.
const LIMITED: u8 = 32;

/// Sentinel: no entry.
const NONE: u32 = u32::MAX;

/// One unacknowledged segment: 64 bytes.
#[derive(Clone, Debug)]
pub(crate) struct SentSegment {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Time of the last transmission.
    pub(crate) at: Instant,
    /// Parts of its snapshot; the fourth is [`LIMITED`].
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    earlier: u32,
    later: u32,
    /// The segment's SYN and FIN flags.
    pub(crate) marks: u8,
    state: u8,
}

impl SentSegment {
    fn has(&self, bits: u8) -> bool {
        self.state & bits != 0
    }

    /// Returns the state stored with the last transmission.
    fn snapshot(&self) -> Snapshot {
        let &Self { delivered, delivered_at, first_sent, .. } = self;
        Snapshot { delivered, delivered_at, first_sent, application_limited: self.has(LIMITED) }
    }

    fn store(&mut self, snapshot: Snapshot) {
        (self.delivered, self.delivered_at) = (snapshot.delivered, snapshot.delivered_at);
        self.first_sent = snapshot.first_sent;
        self.state = (self.state & !LIMITED) | if snapshot.application_limited { LIMITED } else { 0 };
    }
}

/// Information that an acknowledgement adds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Echoed timestamp; zero if there is none.
    pub(crate) echoed: Instant,
    /// Segments acknowledged by number, without those acknowledged by a block before.
    pub(crate) acked: u32,
    /// Segments acknowledged by a block.
    pub(crate) sacked: u32,
    /// True if one of them was sent once and ends at `high` or before.
    pub(crate) originals: bool,
    /// End of what was sent before recovery began.
    pub(crate) high: u64,
    /// End of the highest block before this acknowledgement. Blocks that come with it show no reordering of
    /// the segments that it acknowledges by number: the receiver may have merged several acknowledgements.
    pub(crate) highest: u64,
    /// True if a segment acknowledged by number was sent more than once.
    pub(crate) repeated: bool,
    /// Times of sending of the first and the last segment acknowledged by number, among those sent once.
    pub(crate) first_sent: Option<Instant>,
    pub(crate) last_sent: Option<Instant>,
    /// Times of sending of the first and the last segment acknowledged by blocks, among those sent once.
    pub(crate) first_sacked: Option<Instant>,
    pub(crate) last_sacked: Option<Instant>,
    /// True if a segment arrived after one sent later, without having been retransmitted.
    pub(crate) reordered: bool,
    /// Newest delivered transmission: time of sending, end, and whether it was a retransmission.
    pub(crate) newest: Option<(Instant, u64, bool)>,
    /// Stored state and time of sending, for the delivery rate.
    pub(crate) snapshot: Option<(Snapshot, Instant)>,
}

impl Delivery {
    fn take(&mut self, entry: &SentSegment) {
        //= https://www.rfc-editor.org/rfc/rfc8985#section-6.2
        // An echoed timestamp from before the repetition: it was the original that arrived.
        let original = entry.has(REPEATED) && self.echoed > Instant::ZERO && self.echoed < entry.at;
        let newer = !original && self.newest.is_none_or(|(sent, end, _)| (entry.at, entry.end) > (sent, end));
        if newer {
            self.newest = Some((entry.at, entry.end, entry.has(REPEATED)));
        }
        if self.snapshot.as_ref().is_none_or(|(known, _)| entry.delivered >= known.delivered) {
            self.snapshot = Some((entry.snapshot(), entry.at));
        }
        if entry.has(REPEATED) {
            return;
        }
        self.originals |= entry.end <= self.high;
    }
}

/// Scoreboard of a sender.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    ring: VecDeque<SentSegment>,
    /// Number of the ring's first entry.
    base: u32,
    /// First and last entry of the list by time of transmission.
    first: u32,
    last: u32,
    /// Ranges acknowledged by blocks: ascending and disjoint.
    ranges: Vec<Block>,
    sacked: u32,
    lost: u32,
    again: u32,
    /// Number of segments lost and not yet retransmitted, and a hint where to search for the first of them.
    waiting: u32,
    waiting_from: u32,
    /// Number of the entry behind the one that a block acknowledged last.
    behind_sacked: u32,
}

impl Scoreboard {
    pub(crate) fn new() -> Self {
        Self {
            ring: VecDeque::new(),
            base: 0,
            first: NONE,
            last: NONE,
            ranges: Vec::new(),
            sacked: 0,
            lost: 0,
            again: 0,
            waiting: 0,
            behind_sacked: 0,
            waiting_from: 0,
        }
    }

    /// Returns the number of segments not acknowledged by number.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.ring.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Returns the segments in flight (RFC 6675's pipe).
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.len() + self.again).saturating_sub(self.sacked + self.lost)
    }

    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    pub(crate) fn again(&self) -> u32 {
        self.again
    }

    /// Returns the segments lost and not yet retransmitted.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting
    }

    pub(crate) fn front(&self) -> Option<&SentSegment> {
        self.ring.front()
    }

    #[inline]
    fn at(&mut self, number: u32) -> &mut SentSegment {
        let index = number.wrapping_sub(self.base) as usize;
        &mut self.ring[index]
    }

    fn append(&mut self, number: u32) {
        let last = self.last;
        if last == NONE {
            self.first = number;
        } else {
            self.at(last).later = number;
        }
        self.last = number;
        let entry = self.at(number);
        (entry.earlier, entry.later) = (last, NONE);
        entry.state |= LISTED;
    }

    fn unlink(&mut self, number: u32) {
        let entry = self.at(number);
        if !entry.has(LISTED) {
            return;
        }
        entry.state &= !LISTED;
        let (earlier, later) = (entry.earlier, entry.later);
        if earlier == NONE {
            self.first = later;
        } else {
            self.at(earlier).later = later;
        }
        if later == NONE {
            self.last = earlier;
        } else {
            self.at(later).earlier = earlier;
        }
    }

    /// Adds a new segment.
    pub(crate) fn push(&mut self, start: u64, end: u64, marks: u8, now: Instant, snapshot: Snapshot) {
        let number = self.base.wrapping_add(self.len());
        let mut sent = SentSegment {
            start,
            end,
            at: now,
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            earlier: NONE,
            later: NONE,
            marks,
            state: 0,
        };
        sent.store(snapshot);
        if self.ring.len() == self.ring.capacity() {
            // By a quarter instead of doubling: of ten thousand senders most have few segments under way.
            self.ring.reserve_exact((self.ring.len() / 4).max(2));
        }
        self.ring.push_back(sent);
        self.append(number);
    }

    /// Retransmits the first lost segment: marks it as sent now and returns it.
    pub(crate) fn retransmit(&mut self, now: Instant, snapshot: Snapshot) -> Option<(u64, u64, u8)> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.waiting_from.wrapping_sub(self.base) as usize;
        let from = if from <= self.ring.len() { from } else { 0 };
        let waits = |entry: &SentSegment| entry.has(LOST) && !entry.has(AGAIN);
        let index = from + self.ring.iter().skip(from).position(waits)?;
        let number = self.base.wrapping_add(index as u32);
        self.waiting_from = number.wrapping_add(1);
        Some(self.repeat(number, now, snapshot))
    }

    /// Retransmits the last segment although it is not known to be lost (a probe).
    pub(crate) fn repeat_last(&mut self, now: Instant, snapshot: Snapshot) -> Option<(u64, u64, u8)> {
        let number = self.base.wrapping_add(self.len().checked_sub(1)?);
        Some(self.repeat(number, now, snapshot))
    }

    fn repeat(&mut self, number: u32, now: Instant, snapshot: Snapshot) -> (u64, u64, u8) {
        self.unlink(number);
        let entry = self.at(number);
        let (was_again, was_lost) = (entry.has(AGAIN), entry.has(LOST));
        entry.state |= AGAIN | REPEATED;
        entry.at = now;
        entry.store(snapshot);
        let said = (entry.start, entry.end, entry.marks);
        self.again += u32::from(!was_again);
        self.waiting -= u32::from(was_lost && !was_again);
        self.append(number);
        said
    }

    /// Returns the end of the highest block; zero if there is none.
    pub(crate) fn highest(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.1)
    }

    /// Acknowledges all before `una`.
    pub(crate) fn acknowledge(&mut self, una: u64, delivery: &mut Delivery) {
        while self.ring.front().is_some_and(|entry| entry.end <= una) {
            self.unlink(self.base);
            let Some(entry) = self.ring.pop_front() else { break };
            self.base = self.base.wrapping_add(1);
            if entry.has(LOST) {
                self.lost -= 1;
                self.waiting -= u32::from(!entry.has(AGAIN));
            }
            self.again -= u32::from(entry.has(AGAIN));
            if entry.has(SACKED) {
                self.sacked -= 1;
                continue;
            }
            delivery.acked += 1;
            delivery.take(&entry);
            if entry.has(REPEATED) {
                delivery.repeated = true;
            } else {
                delivery.first_sent.get_or_insert(entry.at);
                delivery.last_sent = Some(entry.at);
                delivery.reordered |= entry.end < delivery.highest;
            }
        }
        if self.ranges.first().is_some_and(|range| range.0 < una) {
            let gone = self.ranges.partition_point(|range| range.1 <= una);
            self.ranges.drain(..gone);
        }
    }

    /// Acknowledges a block.
    pub(crate) fn sack(&mut self, (start, end): Block, delivery: &mut Delivery) {
        let mut from = start.max(self.ring.front().map_or(u64::MAX, |entry| entry.start));
        let end = end.min(self.ring.back().map_or(0, |entry| entry.end));
        while from < end {
            // The known range at or after `from`, if any, bounds the new part.
            let index = self.ranges.partition_point(|range| range.1 <= from);
            let known = self.ranges.get(index).copied();
            if let Some((known_start, known_end)) = known
                && known_start <= from
            {
                from = known_end;
                continue;
            }
            let until = known.map_or(end, |(known_start, _)| known_start.min(end));
            self.sack_segments(from, until, delivery);
            from = until;
        }
    }

    /// Marks the segments of a new range as acknowledged.
    fn sack_segments(&mut self, start: u64, end: u64, delivery: &mut Delivery) {
        let mut index = self.index_of(start);
        let mut reached = None;
        while let Some(entry) = self.ring.get(index).filter(|entry| entry.end <= end) {
            let (low, high) = (entry.start, entry.end);
            self.sack_entry(index, delivery);
            reached = Some((reached.map_or(low, |(first, _): Block| first), high));
            index += 1;
        }
        if let Some(range) = reached {
            self.insert_range(range);
        }
    }

    /// Returns the index of the first entry that starts at `start` or later.
    fn index_of(&self, start: u64) -> usize {
        // A block usually grows at its end, or begins behind a lost segment.
        let hint = self.behind_sacked.wrapping_sub(self.base) as usize;
        (hint..hint.saturating_add(2))
            .find(|index| self.ring.get(*index).is_some_and(|entry| entry.start == start))
            .unwrap_or_else(|| self.ring.partition_point(|entry| entry.start < start))
    }

    fn sack_entry(&mut self, index: usize, delivery: &mut Delivery) {
        let number = self.base.wrapping_add(index as u32);
        self.behind_sacked = number.wrapping_add(1);
        self.unlink(number);
        let entry = &mut self.ring[index];
        if entry.has(LOST) {
            self.lost -= 1;
            self.waiting -= u32::from(!entry.has(AGAIN));
        }
        self.again -= u32::from(entry.has(AGAIN));
        delivery.take(entry);
        if !entry.has(REPEATED) {
            delivery.first_sacked.get_or_insert(entry.at);
            delivery.last_sacked = Some(entry.at);
            delivery.reordered |= entry.end < delivery.highest;
        }
        entry.state = (entry.state & !(LOST | AGAIN)) | SACKED;
        self.sacked += 1;
        delivery.sacked += 1;
    }

    fn insert_range(&mut self, (start, end): Block) {
        let index = self.ranges.partition_point(|range| range.1 < start);
        match self.ranges.get_mut(index) {
            Some(range) if range.0 <= end => {
                *range = (range.0.min(start), range.1.max(end));
                let joined = range.1;
                if self.ranges.get(index + 1).is_some_and(|next| next.0 <= joined) {
                    let next = self.ranges.remove(index + 1);
                    self.ranges[index].1 = next.1;
                }
            }
            _ => self.ranges.insert(index, (start, end)),
        }
    }

    fn lose(&mut self, number: u32) {
        self.unlink(number);
        let base = self.base;
        let entry = self.at(number);
        let (was_lost, was_again) = (entry.has(LOST), entry.has(AGAIN));
        entry.state = (entry.state | LOST) & !AGAIN;
        self.lost += u32::from(!was_lost);
        self.again -= u32::from(was_again);
        self.waiting += u32::from(!was_lost || was_again);
        let (index, hint) = (number.wrapping_sub(base), self.waiting_from.wrapping_sub(base));
        // A hint before the first entry (its index wraps) means that the search starts at the first entry:
        // segments before this one may wait as well.
        if hint <= self.len() && index < hint {
            self.waiting_from = number;
        }
    }

    /// Marks as lost all transmissions before `(sent, end)`, the newest delivered one, that were sent
    /// `patience` or longer ago. Returns the time until the last of the others is that old, and the number
    /// marked.
    pub(crate) fn lose_older(
        &mut self,
        (sent, end): (Instant, u64),
        patience: Duration,
        now: Instant,
    ) -> (Duration, u32) {
        let (mut wait, mut marked) = (Duration::ZERO, 0);
        let mut number = self.first;
        while number != NONE {
            let entry = self.at(number);
            if (entry.at, entry.end) >= (sent, end) {
                break;
            }
            let later = entry.later;
            let left = (entry.at + patience).since(now);
            if left.is_zero() {
                self.lose(number);
                marked += 1;
            } else {
                wait = wait.max(left);
            }
            number = later;
        }
        (wait, marked)
    }

    /// Marks segments as lost after a timeout: the first, and all others except those sent less than
    /// `patience` ago.
    pub(crate) fn lose_all(&mut self, patience: Duration, now: Instant) {
        for index in 0..self.len() {
            let number = self.base.wrapping_add(index);
            let entry = self.at(number);
            let recent = index > 0 && !(entry.at + patience).since(now).is_zero();
            if entry.has(SACKED) || recent || entry.has(LOST) && !entry.has(AGAIN) {
                continue;
            }
            self.lose(number);
        }
    }

    /// Marks the first segment as lost (RFC 6582).
    pub(crate) fn lose_first(&mut self) {
        if self.ring.front().is_some_and(|entry| !entry.has(SACKED | LOST)) {
            self.lose(self.base);
        }
    }

    /// Clears all loss marks, after a spurious recovery.
    pub(crate) fn find_again(&mut self) {
        for index in 0..self.len() {
            let number = self.base.wrapping_add(index);
            let entry = self.at(number);
            if entry.has(LOST) {
                let listed = entry.has(LISTED);
                entry.state &= !LOST;
                // In the order of numbers: exact except for retransmissions that are themselves in doubt.
                if !listed {
                    self.append(number);
                }
            }
        }
        (self.lost, self.waiting) = (0, 0);
    }

    /// True if an unacknowledged segment was sent more than once.
    pub(crate) fn any_repeated(&self) -> bool {
        self.again > 0 || self.ring.front().is_some_and(|entry| entry.has(REPEATED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new();
        for n in 0..segments {
            board.push(n * 10, n * 10 + 10, 0, Instant::from_picos(n), Snapshot::default());
        }
        board
    }

    fn recount(board: &Scoreboard) -> (u32, u32, u32, u32) {
        let count = |test: &dyn Fn(&SentSegment) -> bool| {
            board.ring.iter().filter(|entry| test(entry)).count() as u32
        };
        (
            count(&|entry| entry.has(SACKED)),
            count(&|entry| entry.has(LOST)),
            count(&|entry| entry.has(AGAIN)),
            count(&|entry| entry.has(LOST) && !entry.has(AGAIN)),
        )
    }

    fn counters(board: &Scoreboard) -> (u32, u32, u32, u32) {
        (board.sacked, board.lost, board.again, board.waiting)
    }

    #[test]
    fn blocks_tell_each_segment_once_and_ranges_join() {
        let mut board = board(10);
        let mut delivery = Delivery::default();
        board.sack((20, 40), &mut delivery);
        board.sack((60, 70), &mut delivery);
        assert_eq!(delivery.sacked, 3);
        board.sack((20, 70), &mut delivery);
        assert_eq!((delivery.sacked, board.ranges.as_slice()), (5, &[(20, 70)][..]));
        board.sack((20, 75), &mut delivery);
        assert_eq!(delivery.sacked, 5, "half a segment is none");
        assert_eq!(board.in_flight(), 5);
        board.acknowledge(40, &mut delivery);
        assert_eq!((delivery.acked, board.sacked, board.len()), (2, 3, 6));
        assert_eq!(counters(&board), recount(&board));
    }

    #[test]
    fn the_older_ones_are_lost_and_sent_again_in_order() {
        let mut board = board(10);
        let mut delivery = Delivery::default();
        board.sack((50, 60), &mut delivery);
        let now = Instant::from_picos(100);
        let newest = delivery.newest.expect("one was delivered");
        let (wait, marked) = board.lose_older((newest.0, newest.1), Duration::from_picos(97), now);
        assert_eq!((wait, marked), (Duration::from_picos(1), 4), "0 to 3; 4 is a picosecond too young");
        assert_eq!(board.in_flight(), 5);
        let again =
            |board: &mut Scoreboard| board.retransmit(now, Snapshot::default()).map(|(start, ..)| start);
        assert_eq!([again(&mut board), again(&mut board)], [Some(0), Some(10)]);
        assert_eq!(counters(&board), recount(&board));
        board.lose_all(Duration::ZERO, now);
        assert_eq!(counters(&board), recount(&board));
        assert_eq!(again(&mut board), Some(0), "the repetitions are lost too");
        board.find_again();
        assert_eq!(counters(&board), recount(&board));
        board.acknowledge(100, &mut delivery);
        assert_eq!((board.len(), counters(&board), board.first), (0, (0, 0, 0, 0), NONE));
    }

    #[test]
    fn none_that_waits_is_passed_over() {
        let mut board = board(4);
        let mut delivery = Delivery::default();
        let now = Instant::from_picos(100);
        let again =
            |board: &mut Scoreboard| board.retransmit(now, Snapshot::default()).map(|(start, ..)| start);
        board.lose(0);
        board.lose(2);
        assert_eq!(again(&mut board), Some(0));
        // The search hint is before the first entry now; the last joins those that wait.
        board.acknowledge(20, &mut delivery);
        board.lose(3);
        assert_eq!([again(&mut board), again(&mut board), again(&mut board)], [Some(20), Some(30), None]);
        assert_eq!(counters(&board), recount(&board));
    }
}
