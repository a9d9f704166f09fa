//! Loss detection and recovery state machine: RACK-TLP, PRR, F-RTO, undo.
//!
//! ```text
//!            SACK, gap          lost                     all before `high` acknowledged
//!   Open --------------> Disorder ----> Recovery ---------------------------------------> Open
//!     '---- mark ----> Reduction ----'     '--- timeout --> Loss ------------------------'
//! ```
//!
//! Losses are detected by RACK (RFC 8985), without SACK by duplicate acknowledgements (RFC 6582). The window
//! is reduced in proportion to deliveries (RFC 6937), once a round trip. A reduction is undone if timestamps
//! (RFC 3522), duplicate reports (RFC 3708) or F-RTO (RFC 5682) show it to be spurious.

use lockgate_engine::units::{Duration, Instant};

use crate::congestion::{Ack, Cause, Phase};
use crate::rate::RateSample;
use crate::scoreboard::Delivery;
use crate::segment::{Segment, flag};
use crate::sender::{Sender, TIMER_FLOOR, TimerKind};

/// Duplicate acknowledgements that indicate a loss (RFC 5681 section 3.2).
const DUPLICATES: u32 = 3;

/// Information of one acknowledgement.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct News {
    advanced: bool,
    duplicate_report: bool,
    echo: bool,
    /// True for RFC 5681's duplicate acknowledgement: no data, no new window, nothing newly acknowledged.
    bare: bool,
    lost_before: u32,
    /// Timestamp that the peer echoed.
    echoed: Instant,
}

impl Sender {
    /// Handles a segment's acknowledgement. Returns the bytes newly acknowledged by number.
    pub(crate) fn on_ack(&mut self, segment: &Segment, newly_marked: u32, now: Instant) -> u64 {
        let ack = segment.acknowledgment;
        self.hold_repeats = false;
        if ack > self.nxt || ack < self.una {
            // It acknowledges data that was never sent, or a later acknowledgement overtook it.
            return 0;
        }
        let before = self.una;
        let in_flight_before = self.in_flight();
        let allowed = ack + u64::from(segment.window);
        let mut news = News {
            advanced: ack > before,
            duplicate_report: false,
            echo: self.config.ecn && segment.has(flag::ECE) && !segment.has(flag::SYN),
            bare: ack == before && segment.span() == 0 && allowed == self.allowed,
            lost_before: self.board.lost(),
            echoed: segment.echo,
        };
        self.allowed = self.allowed.max(allowed);
        let (high, highest) = (self.high, self.board.highest());
        let mut delivery = Delivery { echoed: segment.echo, high, highest, ..Delivery::default() };
        self.read_blocks(segment, &mut delivery, &mut news);
        self.board.acknowledge(ack, &mut delivery);
        self.una = ack;
        if news.advanced {
            self.timeouts_in_row = 0;
        }
        self.count_duplicates(&mut delivery, &news);
        let rtt = self.sample_rtt(&delivery, &news, now);
        self.rack.reordering_seen |= delivery.reordered;
        if let Some(newest) = delivery.newest {
            self.rack.on_delivery(newest, self.rtt.smallest().unwrap_or_default(), now);
        }
        if news.advanced || self.board.is_empty() {
            //= https://www.rfc-editor.org/rfc/rfc6298#section-5
            // (5.2) All acknowledged: the timer is turned off. (5.3) New data acknowledged: it starts anew.
            self.arm(now, now);
        }
        if before == 0 && news.advanced {
            self.repeated_at = None;
            return ack;
        }
        if self.probe.is_some() {
            self.settle_probe(ack, &delivery, &news);
        }
        let marked = if self.control.ecn_codepoint().is_some() { newly_marked } else { 0 };
        let dubious = news.bare || delivery.sacked > 0 || news.duplicate_report || news.echo || marked > 0;
        if dubious || self.phase != Phase::Open {
            self.react(&delivery, &news, marked, now);
        }
        self.set_window(&delivery, &news, rtt, marked, in_flight_before, now);
        let quiet = matches!(self.phase, Phase::Open | Phase::Reduction);
        if !quiet && matches!(self.timer, Some((_, TimerKind::TailProbe))) {
            self.arm(now, self.front_sent(now));
        }
        ack - before
    }

    fn read_blocks(&mut self, segment: &Segment, delivery: &mut Delivery, news: &mut News) {
        let ack = segment.acknowledgment;
        for (index, block) in segment.blocks().iter().enumerate() {
            //= https://www.rfc-editor.org/rfc/rfc2883#section-4
            // The first block reports a duplicate if it lies below the number acknowledged or within
            // the second block.
            let within = |outer: Option<&(u64, u64)>| {
                outer.is_some_and(|outer| outer.0 <= block.0 && block.1 <= outer.1)
            };
            if index == 0 && (block.0 < ack || within(segment.blocks().get(1))) {
                news.duplicate_report = true;
                self.undo_repeats = self.undo_repeats.saturating_sub(1);
                self.rack.on_duplicate_report(ack, self.nxt);
                continue;
            }
            self.board.sack(*block, delivery);
        }
    }

    /// Without SACK: counts each duplicate acknowledgement as a segment that has left the network.
    fn count_duplicates(&mut self, delivery: &mut Delivery, news: &News) {
        if self.config.sack {
            return;
        }
        if news.advanced {
            // Segments counted by duplicates before are not counted again.
            let told = self.duplicates.min(delivery.acked.saturating_sub(1));
            delivery.acked -= told;
            self.duplicates = if self.phase >= Phase::Recovery { self.duplicates - told } else { 0 };
        } else if news.bare && self.duplicates + 1 < self.board.len() {
            self.duplicates += 1;
            delivery.sacked += 1;
        }
    }

    /// Updates the timeout. Returns the newest round-trip time, for the congestion control.
    fn sample_rtt(&mut self, delivery: &Delivery, news: &News, now: Instant) -> Option<Duration> {
        //= https://www.rfc-editor.org/rfc/rfc6298#section-3
        // Karn: no sample of a segment that was sent twice, but for timestamps.
        let numbered = delivery.first_sent.filter(|_| !delivery.repeated);
        let oldest = numbered.or(delivery.first_sacked);
        let echoed = (news.advanced && news.echoed > Instant::ZERO).then_some(news.echoed);
        if let Some(sent) = oldest.or(echoed) {
            self.rtt.on_sample(now.since(sent), self.una, self.nxt, now);
        } else if news.advanced {
            self.rtt.forget_back_off();
        }
        let newest = delivery.last_sent.filter(|_| !delivery.repeated).or(delivery.last_sacked)?;
        Some(now.since(newest))
    }

    /// Advances the state machine.
    fn react(&mut self, delivery: &Delivery, news: &News, marked: u32, now: Instant) {
        if news.echo || marked > 0 {
            self.prior_ssthresh = None;
        }
        if self.phase >= Phase::Reduction && self.una >= self.high && self.leave(news) {
            return;
        }
        let mut echo = news.echo || marked > 0;
        if self.control.ecn_codepoint().is_some() {
            echo = marked > 0;
        }
        match self.phase {
            Phase::Recovery => {
                if news.advanced && self.undo_partly(news) {
                    return;
                }
                if self.undo_if_reported(news) {
                    self.keep_open();
                }
                let lost = self.find_losses(news, now);
                if self.phase != Phase::Recovery && (lost || self.board.lost() > 0) {
                    self.enter_recovery(echo);
                }
            }
            Phase::Loss => {
                self.go_on_after_timeout(delivery, news);
                let again = self.board.again();
                self.find_losses(news, now);
                //= https://www.rfc-editor.org/rfc/rfc5681#section-4.3
                //# the loss of a retransmission, should be taken as two indications of congestion and, therefore,
                //# cwnd (and ssthresh) MUST be lowered twice in this case.
                let repeats_lost = self.board.again() < again;
                let opened = self.phase == Phase::Open && again > 0;
                if self.board.lost() > 0 && (repeats_lost || opened) {
                    self.enter_recovery(echo);
                }
            }
            _ => {
                if self.phase <= Phase::Disorder {
                    let _ = self.undo_if_reported(news);
                }
                if self.find_losses(news, now) || self.board.lost() > 0 {
                    self.enter_recovery(echo);
                } else {
                    self.try_to_open(echo);
                }
            }
        }
    }

    /// Leaves recovery: all that was sent when it began is acknowledged. Returns whether the caller has
    /// nothing else to do.
    fn leave(&mut self, news: &News) -> bool {
        match self.phase {
            Phase::Reduction => {
                // RFC 3168: once a window of data; the number after `high` must be acknowledged.
                if self.una != self.high {
                    self.end_reduction();
                    self.phase = Phase::Open;
                }
                false
            }
            Phase::Recovery => {
                self.rack.on_recovered();
                let undone = self.undo_if_possible(news);
                //= https://www.rfc-editor.org/rfc/rfc6582#section-4.1
                // Without SACK: wait until something beyond `high` is acknowledged, against another fast
                // retransmit of the same data.
                if !undone && !self.config.sack && self.una == self.high {
                    return true;
                }
                self.end_reduction();
                self.phase = Phase::Open;
                self.forget_repair();
                false
            }
            _ => false,
        }
    }

    fn forget_repair(&mut self) {
        self.undo_from = None;
        self.duplicates = 0;
        if !self.board.any_repeated() {
            self.repeated_at = None;
        }
    }

    /// Detects losses. Returns whether there are new ones.
    fn find_losses(&mut self, news: &News, now: Instant) -> bool {
        if !self.config.sack {
            let third = self.phase < Phase::Recovery && self.duplicates >= DUPLICATES;
            //= https://www.rfc-editor.org/rfc/rfc6582#section-3.2
            // A partial acknowledgement: the next segment is lost too.
            let partial = self.phase >= Phase::Recovery && news.advanced;
            if third || partial {
                self.board.lose_first();
            }
            return third;
        }
        let before = self.board.lost();
        let again = self.board.again();
        if self.rack.advanced {
            self.rack.advanced = false;
            self.detect(now);
        }
        self.board.lost() > before || self.board.again() < again && self.board.lost() > 0
    }

    fn detect(&mut self, now: Instant) {
        let Some(newest) = self.rack.newest() else { return };
        let smallest = self.rtt.smallest().unwrap_or_default();
        let smoothed = self.rtt.smoothed().unwrap_or_default();
        let recovering = self.phase >= Phase::Recovery;
        let patience = self.rack.patience(self.board.sacked(), recovering, smallest, smoothed);
        let (wait, _) = self.board.lose_older(newest, patience, now);
        if !wait.is_zero() {
            self.set_timer(now, wait + TIMER_FLOOR, TimerKind::Reordering);
        }
    }

    /// Handles the end of the reordering window.
    pub(crate) fn on_reordering_timer(&mut self, now: Instant) {
        let before = self.board.lost();
        self.detect(now);
        if self.board.lost() > before && self.phase < Phase::Recovery {
            self.enter_recovery(false);
            if !self.control.owns_window() {
                self.reduce_in_proportion(1, false);
            }
        }
        if !matches!(self.timer, Some((_, TimerKind::Reordering))) {
            self.arm(now, self.front_sent(now));
        }
    }

    fn begin_reduction(&mut self, cause: Cause) {
        self.high = self.nxt;
        self.probe = None;
        self.prior_cwnd = self.window.cwnd;
        self.reduction_delivered = 0;
        self.reduction_sent = 0;
        self.window.counted = 0;
        self.window.ssthresh = self.control.reduce(&self.window, cause);
        self.owe_cwr();
    }

    /// Returns the threshold that an undo would restore: at least three quarters of the window.
    pub(crate) fn current_ssthresh(&self) -> u32 {
        if matches!(self.phase, Phase::Reduction | Phase::Recovery) {
            self.window.ssthresh
        } else {
            let three_quarters = (self.window.cwnd >> 1) + (self.window.cwnd >> 2);
            self.window.ssthresh.max(three_quarters)
        }
    }

    fn begin_undo(&mut self) {
        self.undo_from = Some(self.una);
        // Retransmissions already in flight cannot be told apart from later ones.
        self.undo_repeats = self.board.again();
    }

    fn enter_recovery(&mut self, echo: bool) {
        self.counts.recoveries += 1;
        self.prior_ssthresh = None;
        self.begin_undo();
        let reduced = self.phase == Phase::Reduction && !self.control.reduces_at_once();
        if !reduced && self.phase != Phase::Recovery {
            if !echo {
                self.prior_ssthresh = Some(self.current_ssthresh());
            }
            self.begin_reduction(Cause::Loss);
        }
        self.phase = Phase::Recovery;
    }

    fn enter_reduction(&mut self) {
        self.prior_ssthresh = None;
        if self.phase < Phase::Reduction {
            self.counts.mark_reductions += 1;
            self.undo_from = None;
            self.begin_reduction(Cause::Mark);
            self.phase = Phase::Reduction;
            if self.control.reduces_at_once() {
                self.window.cwnd = self.window.ssthresh;
            }
        }
    }

    fn end_reduction(&mut self) {
        let is_done = self.phase == Phase::Reduction && self.control.reduces_at_once();
        if is_done || self.control.owns_window() {
            return;
        }
        let standing = self.undo_from.is_some() || self.phase == Phase::Reduction;
        if standing && self.window.ssthresh < super::congestion::NO_THRESHOLD {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    fn try_to_open(&mut self, echo: bool) {
        if !self.board.any_repeated() {
            self.repeated_at = None;
        }
        if echo {
            self.enter_reduction();
        }
        if self.phase != Phase::Reduction {
            self.keep_open();
        }
    }

    fn keep_open(&mut self) {
        let doubt = self.board.sacked() > 0
            || self.board.lost() > 0
            || self.duplicates > 0
            || self.board.again() > 0
            || self.undo_from.is_some();
        let phase = if doubt { Phase::Disorder } else { Phase::Open };
        if self.phase != phase {
            self.phase = phase;
            self.high = self.nxt;
        }
    }

    /// True if an acknowledgement shows that the retransmitted data had arrived.
    fn was_mistaken(&self, news: &News) -> bool {
        let Some(_) = self.undo_from else { return false };
        //= https://www.rfc-editor.org/rfc/rfc3522#section-3.2
        // The echoed timestamp is that of a transmission before the first repetition.
        let original = news.echoed > Instant::ZERO && self.repeated_at.is_some_and(|at| news.echoed < at);
        // RFC 3708: each retransmission was reported as a duplicate.
        let all_reported = self.undo_repeats == 0 && self.repeated_at.is_some() && news.duplicate_report;
        original || all_reported
    }

    fn undo(&mut self, find: bool) {
        if find {
            self.board.find_again();
        }
        if let Some(threshold) = self.prior_ssthresh {
            self.window.cwnd = self.control.undo(&self.window, self.prior_cwnd);
            if threshold > self.window.ssthresh {
                self.window.ssthresh = threshold;
                self.withdraw_cwr();
            }
        }
        self.counts.undone += 1;
        self.undo_from = None;
        self.rack.advanced = true;
    }

    fn undo_if_possible(&mut self, news: &News) -> bool {
        let mistaken = news.advanced && self.was_mistaken(news);
        if mistaken {
            self.undo(false);
        }
        mistaken
    }

    fn undo_if_reported(&mut self, news: &News) -> bool {
        let reported = news.duplicate_report && self.undo_from.is_some() && self.undo_repeats == 0;
        if reported {
            self.undo(false);
        }
        reported
    }

    /// Handles a partial acknowledgement in recovery: an answer to an original shows that nothing was lost.
    fn undo_partly(&mut self, news: &News) -> bool {
        let original = news.echoed > Instant::ZERO && self.repeated_at.is_some_and(|at| news.echoed < at);
        if self.undo_from.is_none() || !original {
            return false;
        }
        if self.board.again() > 0 {
            return true;
        }
        self.undo(true);
        self.phase = Phase::Disorder;
        self.keep_open();
        true
    }

    /// Handles the expiry of the retransmission timer.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        self.counts.timeouts += 1;
        self.rtt.back_off();
        self.set_timer(now, self.rtt.timeout(), TimerKind::Retransmission);
        if self.una == 0 {
            self.board.lose_all(Duration::ZERO, now);
            self.timeouts_in_row += 1;
            return;
        }
        let fresh = self.phase <= Phase::Disorder
            || self.una > self.high
            || self.phase == Phase::Loss && self.timeouts_in_row == 0;
        if fresh {
            self.prior_ssthresh = Some(self.current_ssthresh());
            self.prior_cwnd = self.window.cwnd;
            //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
            // Not again for repetitions of the same data.
            self.window.ssthresh = self.control.reduce(&self.window, Cause::Loss);
            self.control.on_timeout();
        }
        let new_round = self.phase < Phase::Recovery || self.una > self.high;
        if fresh {
            self.begin_undo();
        }
        self.duplicates = 0;
        let patience = if self.config.sack { self.rack.rtt() } else { Duration::ZERO };
        self.board.lose_all(patience, now);
        //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
        // The loss window: one segment beyond those still counted as in flight.
        self.window.cwnd = self.board.in_flight() + 1;
        self.window.counted = 0;
        self.phase = Phase::Loss;
        self.probe = None;
        self.high = self.nxt;
        self.owe_cwr();
        //= https://www.rfc-editor.org/rfc/rfc5682#section-2.1
        // F-RTO applies to the first timeout of a round, and to repeated timeouts of the last retransmission.
        self.frto = new_round || self.timeouts_in_row > 0;
        self.timeouts_in_row += 1;
    }

    fn go_on_after_timeout(&mut self, delivery: &Delivery, news: &News) {
        let recovered = self.una >= self.high;
        if news.advanced && self.was_mistaken(news) {
            self.undo_timeout();
            return;
        }
        if self.frto {
            //= https://www.rfc-editor.org/rfc/rfc5682#section-3.1
            // A segment sent once has arrived although all were marked lost. A segment sent after the
            // timeout proves nothing about those sent before.
            if delivery.originals && self.undo_from.is_some() {
                self.undo_timeout();
                return;
            }
            if self.nxt > self.high {
                if delivery.sacked > 0 || news.bare {
                    self.frto = false;
                }
            } else if news.advanced && !recovered {
                self.high = self.nxt;
                // New data, if any, show whether the peer lacks something.
                self.hold_repeats = self.nxt < self.written.min(self.allowed);
                self.frto = self.hold_repeats;
            }
        }
        if recovered {
            let _ = self.undo_if_possible(news);
            self.phase = Phase::Open;
            self.forget_repair();
        } else if !self.config.sack && news.advanced {
            self.board.lose_first();
        }
    }

    fn undo_timeout(&mut self) {
        self.undo(true);
        self.timeouts_in_row = 0;
        self.frto = false;
        self.phase = Phase::Open;
        self.keep_open();
    }

    /// Handles acknowledgements while a tail loss probe is unanswered.
    fn settle_probe(&mut self, ack: u64, delivery: &Delivery, news: &News) {
        let Some((end, repeated)) = self.probe else { return };
        if ack < end {
            return;
        }
        if !repeated || news.duplicate_report {
            self.probe = None;
        } else if ack > end {
            //= https://www.rfc-editor.org/rfc/rfc8985#section-7.4
            // The probe repaired a loss that no other signal showed: the window is reduced for it.
            self.probe = None;
            if self.phase < Phase::Reduction {
                self.begin_reduction(Cause::Loss);
                self.phase = Phase::Reduction;
                self.end_reduction();
                self.keep_open();
            }
        } else if news.bare && delivery.sacked == 0 {
            self.probe = None;
        }
    }

    /// Sets the window: by the congestion control, or by the reduction in progress.
    fn set_window(
        &mut self,
        delivery: &Delivery,
        news: &News,
        rtt: Option<Duration>,
        marked: u32,
        in_flight_before: u32,
        now: Instant,
    ) {
        let acked = delivery.acked + delivery.sacked;
        let rate: RateSample = self.rate.on_delivery(acked, delivery.snapshot, now);
        let reducing = match self.phase {
            Phase::Recovery => true,
            Phase::Reduction => !self.control.reduces_at_once(),
            _ => false,
        };
        let new_losses = self.board.lost().saturating_sub(news.lost_before);
        let slow = self.window.is_in_slow_start() && self.window.cwnd < 2 * self.most_in_flight;
        let forward = if self.rack.reordering_seen { acked > 0 } else { news.advanced };
        let may_grow = !reducing && forward && (self.limited || slow);
        if acked > 0 || marked > 0 {
            let ack = Ack {
                now,
                acked,
                in_flight_before,
                in_flight: self.in_flight(),
                rtt,
                smoothed_rtt: self.rtt.smoothed(),
                smallest_rtt: self.rtt.smallest(),
                una: self.una,
                next: self.nxt,
                marked,
                may_grow,
                phase: self.phase,
                losses: new_losses,
                rate,
                delivered: self.rate.delivered,
            };
            self.control.on_ack(&ack, &mut self.window);
        }
        if reducing && !self.control.owns_window() && acked > 0 {
            self.reduce_in_proportion(acked, news.advanced && new_losses == 0);
            if !self.config.sack && news.advanced && self.board.waiting() > 0 {
                //= https://www.rfc-editor.org/rfc/rfc6582#section-3.2
                // A partial acknowledgement triggers an immediate retransmission of the next segment.
                self.window.cwnd = self.window.cwnd.max(self.in_flight() + 1);
            }
        }
    }

    /// Proportional rate reduction: the window follows deliveries (RFC 6937 section 3.1).
    fn reduce_in_proportion(&mut self, delivered: u32, progress: bool) {
        self.reduction_delivered += delivered;
        let in_flight = self.in_flight();
        let threshold = self.window.ssthresh;
        let (sent, total) = (self.reduction_sent, self.reduction_delivered);
        let allowance = if in_flight > threshold {
            //= https://www.rfc-editor.org/rfc/rfc6937#section-3.1
            // sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
            let due = (u64::from(total) * u64::from(threshold)).div_ceil(u64::from(self.prior_cwnd.max(1)));
            (due as u32).saturating_sub(sent)
        } else {
            // Slow-start reduction bound: conservative while losses continue.
            let bound = total.saturating_sub(sent).max(delivered) + u32::from(progress);
            bound.min(threshold - in_flight)
        };
        // The first retransmission is sent at once.
        let allowance = allowance.max(u32::from(sent == 0));
        self.window.cwnd = in_flight + allowance;
    }
}
