//! Receiving half of a connection: reassembly and acknowledgements.
//!
//! ```text
//!        next                       received beyond a gap
//! ---------|      [ range ]   [ range ]
//!          '--- acknowledged by number    '--- reported by SACK blocks, the newest first (RFC 2018)
//! ```

use lockgate_engine::units::{Duration, Instant};

use crate::buffer::Buffer;
use crate::segment::{Block, SACK_BLOCKS, Segment, flag};
use crate::timer_wheel::TimerWheel;

/// Blocks that an acknowledgement surely has room for.
const BLOCKS_AT_ONCE: usize = 2;
/// Acknowledgements of a gap that are sent at once, so that the sender detects the loss (RFC 5681 section
/// 3.2).
const DUPLICATES_AT_ONCE: u32 = 3;
/// Longest delay of later ones; on short paths a twentieth of the round-trip time.
const LONGEST_HOLD: Duration = Duration::from_millis(1);
/// Maximum number of later ones that are merged into one acknowledgement.
const MOST_HELD: u32 = 44;

/// Parameters of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverConfig {
    /// Largest window in bytes; it begins at 65535 and grows.
    pub window: u32,
    /// Time for which the acknowledgement of a single segment waits for a second; zero: no delay.
    pub delayed_ack: Duration,
    /// Acknowledgements at the start that are not delayed (Linux: 16).
    pub quick_acks: u32,
    /// Enables SACK.
    pub sack: bool,
    /// Enables the echo of congestion marks.
    pub ecn: bool,
    /// Enables an immediate echo of each change of the mark, as DCTCP needs it (RFC 8257 section 3.2).
    pub exact_echo: bool,
    /// Timers of its host; one of higher resolution merges the acknowledgements of a gap.
    pub wheel: TimerWheel,
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Segments with data that had arrived before.
    pub duplicates: u64,
    /// Bytes that arrived in order.
    pub delivered_bytes: u64,
}

/// Data of a segment that had not arrived before, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewData {
    /// Newly in order, those that waited beyond a gap included.
    pub(crate) delivered: u64,
    /// In the segment itself, in order or beyond a gap.
    pub(crate) arrived: u64,
}

/// Receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Receiver {
    config: ReceiverConfig,
    buffer: Buffer,
    /// Next expected sequence number.
    next: u64,
    /// Ranges that arrived beyond `next`: ascending and disjoint.
    ranges: Vec<Block>,
    /// Bytes of data in `ranges`.
    beyond: u64,
    /// Blocks to report, the newest first.
    recent: [Block; SACK_BLOCKS],
    recents: usize,
    /// Block that arrived twice, to be reported once (RFC 2883).
    twice: Option<Block>,
    /// Number of the last acknowledgement sent.
    said: u64,
    /// Time at which a delayed acknowledgement is sent.
    due: Instant,
    now: bool,
    quick: u32,
    /// Numbers of undelayed acknowledgements of the current gap, and of merged ones that wait now.
    gap_told: u32,
    held: u32,
    /// Largest segment so far: data of two such segments are acknowledged at once.
    largest: u32,
    last_data: Instant,
    /// Timestamp to echo (RFC 7323 section 4.3).
    pub(crate) echo: Instant,
    /// Packets that carried a congestion mark.
    pub(crate) marked: u32,
    echoing: bool,
    last_marked: bool,
    /// Sequence number of the FIN, once known.
    pub(crate) fin: Option<u64>,
    pub(crate) counts: ReceiverCounts,
}

impl Receiver {
    pub(crate) fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            buffer: Buffer::new(config.window),
            next: 0,
            ranges: Vec::new(),
            beyond: 0,
            recent: [(0, 0); SACK_BLOCKS],
            recents: 0,
            twice: None,
            said: 0,
            due: Instant::NEVER,
            now: false,
            quick: config.quick_acks,
            gap_told: 0,
            held: 0,
            largest: 0,
            last_data: Instant::ZERO,
            echo: Instant::ZERO,
            marked: 0,
            echoing: false,
            last_marked: false,
            fin: None,
            counts: ReceiverCounts::default(),
        }
    }

    /// Returns the next expected number, which is acknowledged.
    pub(crate) fn next_expected(&self) -> u64 {
        self.next
    }

    /// True if everything, the FIN included, has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Handles a segment's data; `marked` if its packet carried a congestion mark, `rto` as the measure of a
    /// long silence.
    pub(crate) fn on_segment(
        &mut self,
        segment: &Segment,
        marked: bool,
        rto: Duration,
        now: Instant,
    ) -> NewData {
        self.note_marks(segment, marked);
        if segment.sequence <= self.said && segment.sent > self.echo {
            //= https://www.rfc-editor.org/rfc/rfc7323#section-4.3
            // (2) If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, the timestamp is the one to echo.
            self.echo = segment.sent;
        }
        if !segment.has(flag::SYN) || segment.has(flag::ACK) {
            self.buffer.begin(now);
        }
        if segment.span() == 0 {
            if segment.sequence < self.next {
                // A window probe.
                self.now = true;
            }
            return NewData::default();
        }
        if segment.has(flag::FIN) {
            self.fin = Some(segment.end() - 1);
        }
        self.note_silence(rto, now);
        let (before, beyond) = (self.next, self.beyond);
        let (start, end) = (segment.sequence, segment.end());
        if end <= self.next || self.is_kept(start, end) {
            //= https://www.rfc-editor.org/rfc/rfc2883#section-4
            // Data that arrived twice are reported in the first block of the acknowledgement.
            self.counts.duplicates += 1;
            self.twice = (self.config.sack && !segment.has(flag::SYN)).then_some((start, end));
            self.now = true;
            self.quick = self.quick.max(self.config.quick_acks);
        } else if start <= self.next {
            self.take_in_order(end);
            self.grow_window(segment, before, now);
            self.decide(segment, now);
        } else {
            let is_told = self.keep_beyond((start, end));
            //= https://www.rfc-editor.org/rfc/rfc5681#section-4.2
            //# A TCP receiver SHOULD send an immediate duplicate ACK when an out-of-order segment arrives.
            self.tell_gap(is_told, now);
        }
        let delivered = self.data_between(before, self.next);
        self.counts.delivered_bytes += delivered;
        NewData { delivered, arrived: delivered + self.beyond - beyond }
    }

    /// Acknowledges a segment beyond a gap: the first three at once, so that the sender detects the loss;
    /// later ones merged, as in Linux ("tcp: add SACK compression", 2018), if its block is among the first of
    /// the next acknowledgement: blocks further behind may never be reported ("tcp: `tcp_sack_new_ofo_skb()`
    /// should be more conservative", 2020).
    fn tell_gap(&mut self, is_told: bool, now: Instant) {
        let wait = self.buffer.rtt().map_or(Duration::ZERO, |rtt| (rtt / 20).min(LONGEST_HOLD));
        let together = self.config.sack && is_told && self.quick == 0 && self.gap_told >= DUPLICATES_AT_ONCE;
        if together && !wait.is_zero() && self.held < MOST_HELD {
            self.held += 1;
            self.due = self.due.min(now + wait);
        } else {
            self.gap_told += 1;
            self.now = true;
        }
    }

    fn is_kept(&self, start: u64, end: u64) -> bool {
        let index = self.ranges.partition_point(|range| range.1 < end);
        self.ranges.get(index).is_some_and(|range| range.0 <= start)
    }

    fn grow_window(&mut self, segment: &Segment, before: u64, now: Instant) {
        if segment.length == 0 {
            return;
        }
        if segment.length >= self.largest && segment.echo > Instant::ZERO {
            self.buffer.on_echo(segment.echo, now);
        }
        let grows = self.buffer.on_data(segment.length.max(self.largest), self.next - before, now);
        if grows && self.config.quick_acks > 0 {
            self.quick = self.quick.max(1);
        }
    }

    /// Returns the bytes of data among these sequence numbers, without SYN and FIN.
    fn data_between(&self, from: u64, to: u64) -> u64 {
        let syn = u64::from(from == 0 && to > 0);
        let fin = u64::from(self.fin.is_some_and(|fin| from <= fin && fin < to));
        to - from - syn - fin
    }

    fn note_silence(&mut self, rto: Duration, now: Instant) {
        // After a silence the sender restarts with a small window: no delays again, as in Linux.
        if self.last_data > Instant::ZERO && now.since(self.last_data) > rto {
            self.quick = self.quick.max(self.config.quick_acks);
        }
        self.last_data = now;
    }

    fn note_marks(&mut self, segment: &Segment, marked: bool) {
        self.marked += u32::from(marked);
        if !self.config.ecn {
            return;
        }
        if self.config.exact_echo {
            //= https://www.rfc-editor.org/rfc/rfc8257#section-3.2
            // A change of the mark is acknowledged at once.
            if segment.length > 0 && marked != self.last_marked {
                self.now |= self.next > self.said;
                self.last_marked = marked;
            }
            self.echoing = marked;
            return;
        }
        //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.3
        // Every acknowledgement echoes until CWR shows that the sender has reduced its window.
        if segment.has(flag::CWR) {
            self.echoing = false;
        }
        if marked {
            self.now |= !self.echoing;
            self.echoing = true;
        }
    }

    fn take_in_order(&mut self, end: u64) {
        self.next = end;
        self.gap_told = 0;
        let mut filled = 0;
        while let Some(range) = self.ranges.get(filled).filter(|range| range.0 <= self.next) {
            self.next = self.next.max(range.1);
            filled += 1;
        }
        if filled > 0 {
            self.beyond -=
                self.ranges[..filled].iter().map(|range| self.data_between(range.0, range.1)).sum::<u64>();
            self.ranges.drain(..filled);
            //= https://www.rfc-editor.org/rfc/rfc5681#section-4.2
            // A segment that fills a gap is acknowledged at once.
            self.now = true;
            let next = self.next;
            self.forget_blocks(|block| block.1 <= next);
        } else if !self.ranges.is_empty() {
            self.now = true;
        }
    }

    fn forget_blocks(&mut self, gone: impl Fn(&Block) -> bool) {
        let mut kept = 0;
        for index in 0..self.recents {
            if !gone(&self.recent[index]) {
                self.recent[kept] = self.recent[index];
                kept += 1;
            }
        }
        self.recents = kept;
    }

    /// Keeps a segment beyond a gap. Returns whether its block was one of the first before, or is one of the
    /// first that there are.
    fn keep_beyond(&mut self, (start, end): Block) -> bool {
        let first = self.ranges.partition_point(|range| range.1 < start);
        let mut merged = (start, end);
        let mut last = first;
        while let Some(range) = self.ranges.get(last).filter(|range| range.0 <= end) {
            merged = (merged.0.min(range.0), merged.1.max(range.1));
            self.beyond -= self.data_between(range.0, range.1);
            last += 1;
        }
        self.beyond += self.data_between(merged.0, merged.1);
        if last == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..last);
        }
        //= https://www.rfc-editor.org/rfc/rfc2018#section-4
        // The first block holds the segment that triggered this acknowledgement.
        let is_within = |block: &Block| merged.0 <= block.0 && block.1 <= merged.1;
        let known = self.recent[..self.recents].iter().position(is_within).unwrap_or(self.recents);
        self.forget_blocks(is_within);
        let kept = self.recents.min(SACK_BLOCKS - 1);
        self.recent.copy_within(0..kept, 1);
        self.recent[0] = merged;
        self.recents = kept + 1;
        known < BLOCKS_AT_ONCE
    }

    /// Decides whether the acknowledgement of data in order is delayed.
    fn decide(&mut self, segment: &Segment, now: Instant) {
        self.largest = self.largest.max(segment.length);
        //= https://www.rfc-editor.org/rfc/rfc5681#section-4.2
        // At least every second full-sized segment is acknowledged at once.
        let second = self.next - self.said > u64::from(self.largest);
        let short = segment.length < self.largest;
        // Linux reads pushed data and acknowledges them at once ("tcp: fix delayed ACKs for MSS boundary
        // condition", 2023, also in its stable versions).
        let pushed = segment.has(flag::PSH);
        let close = segment.flags & (flag::FIN | flag::SYN) != 0;
        if second || short || pushed || close || self.quick > 0 || self.config.delayed_ack.is_zero() {
            self.now = true;
        } else if self.due == Instant::NEVER {
            self.due = self.config.wheel.expiry(now, self.config.delayed_ack);
        }
    }

    /// Handles the end of an acknowledgement's delay.
    pub(crate) fn on_timer(&mut self, now: Instant) {
        self.now |= self.due <= now;
    }

    /// Returns the latest time of a delayed acknowledgement.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// True if an acknowledgement must be sent now, alone if necessary.
    #[inline]
    pub(crate) fn wants_to_acknowledge(&self) -> bool {
        self.now
    }

    /// Writes the acknowledgement into a segment that is sent now.
    #[inline]
    pub(crate) fn acknowledge(&mut self, segment: &mut Segment) {
        if self.now && self.said > 0 {
            self.quick = self.quick.saturating_sub(1);
        }
        segment.flags |= flag::ACK | if self.echoing { flag::ECE } else { 0 };
        segment.acknowledgment = self.next;
        segment.window = self.buffer.window();
        segment.echo = self.echo;
        segment.marked = self.marked;
        if self.twice.is_some() || self.recents > 0 {
            self.write_blocks(segment);
        }
        (self.said, self.now, self.due, self.held) = (self.next, false, Instant::NEVER, 0);
    }

    fn write_blocks(&mut self, segment: &mut Segment) {
        if !self.config.sack {
            return;
        }
        let twice = self.twice.take();
        let blocks = twice.into_iter().chain(self.recent[..self.recents].iter().copied());
        let mut count = 0;
        for (index, block) in segment.sack.iter_mut().zip(blocks) {
            *index = block;
            count += 1;
        }
        segment.sack_count = count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data count as arrived when their segment comes, and as delivered when the gap before them is filled.
    #[test]
    fn data_arrive_once_and_are_delivered_in_order() {
        let config = ReceiverConfig {
            wheel: crate::TimerWheel::EXACT,
            window: 1 << 20,
            delayed_ack: Duration::ZERO,
            quick_acks: 16,
            sack: true,
            ecn: false,
            exact_echo: false,
        };
        let mut receiver = Receiver::new(config);
        let mut take = |sequence: u64, length: u32, flags: u8| {
            let segment = Segment { sequence, length, flags, ..Segment::default() };
            let new = receiver.on_segment(&segment, false, Duration::from_millis(200), Instant::ZERO);
            (new.delivered, new.arrived)
        };
        assert_eq!(take(0, 0, flag::SYN), (0, 0));
        assert_eq!(take(1, 100, flag::ACK), (100, 100));
        assert_eq!(take(301, 100, flag::ACK), (0, 100), "beyond a gap");
        assert_eq!(take(301, 100, flag::ACK), (0, 0), "again");
        assert_eq!(take(351, 100, flag::ACK), (0, 50), "half of it again");
        assert_eq!(take(551, 49, flag::ACK | flag::FIN), (0, 49), "the end, beyond a second gap");
        assert_eq!(take(101, 200, flag::ACK), (350, 200), "fills the first gap");
        assert_eq!(take(451, 100, flag::ACK), (149, 100), "fills the second");
    }
}
