//! Delays of a flow's packets, and their variation from packet to packet.

use lockgate_engine::units::Duration;

use crate::histogram::Histogram;
use crate::lazy::Lazy;

/// Distributions over a flow's packets, in picoseconds; packets sent during the warm-up are excluded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// One-way delay (RFC 7679).
    pub owd: Lazy<Histogram>,
    /// Part of the one-way delay spent waiting in queues.
    pub queueing: Lazy<Histogram>,
    /// Part of the one-way delay spent in transmission on links and in service at routers.
    pub serialisation: Lazy<Histogram>,
    /// Part of the one-way delay spent in propagation: the sum, in ps.
    pub propagation_sum: u128,
    /// Magnitude of the delay variation between packets sent and received in succession (RFC 3393).
    pub ipdv: Lazy<Histogram>,
    /// Sum of the signed delay variation, in ps.
    pub ipdv_signed_sum: i128,
    /// Time between arrivals at the receiver.
    pub iat: Lazy<Histogram>,
    /// Packets that arrived after one that was sent later (RFC 4737 section 3).
    pub reordered: u64,
    /// Sixteen times the interarrival jitter (RFC 3550 section A.8), in ps.
    jitter_16: u64,
    /// Last packet received.
    pub(super) last: Option<Last>,
    /// Next expected sequence number: one more than the largest so far.
    expected: u32,
}

/// Values of a packet that its successor is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) now: u64,
    pub(super) owd: u64,
    pub(super) sequence: u32,
}

impl Delays {
    /// Returns the interarrival jitter after the last packet (RFC 3550 section 6.4.1).
    pub fn jitter(&self) -> Duration {
        Duration::from_picos(self.jitter_16 >> 4)
    }

    /// Returns the mean signed delay variation in ps; `None` if there is no pair of packets.
    pub fn ipdv_signed_mean(&self) -> Option<f64> {
        (!self.ipdv.is_empty()).then(|| self.ipdv_signed_sum as f64 / self.ipdv.count() as f64)
    }

    /// Computes delay variation, jitter and reordering, which depend on the previous packet. The slices
    /// hold arrivals, sequence numbers and delays of a batch; `values` is a buffer of the same length.
    /// `keeps`: the distribution of the variation is kept.
    #[inline(always)]
    pub(super) fn pairs(
        &mut self,
        now: &[u64],
        sequence: &[u32],
        owd: &[u64],
        values: &mut [u64],
        keeps: bool,
    ) {
        // The very first packet has none before it.
        let first = usize::from(self.last.is_none());
        let last = *self.last.get_or_insert_with(|| {
            self.expected = sequence[0].wrapping_add(1);
            Last { now: now[0], owd: owd[0], sequence: sequence[0] }
        });
        let (now, sequence, owd) = (&now[first..], &sequence[first..], &owd[first..]);
        let values = &mut values[first..];
        let (Some(&latest), Some(&latest_sequence)) = (now.last(), sequence.last()) else { return };
        // R_j - R_i - (S_j - S_i) = (R_j - S_j) - (R_i - S_i).
        let mut jitter_16 = self.jitter_16;
        let mut before = last.owd;
        for (variation, &owd) in values.iter_mut().zip(owd) {
            let magnitude = owd.abs_diff(before);
            *variation = magnitude;
            before = owd;
            // The sample code of RFC 3550 A.8: J += |D| - ((J + 8) >> 4), J being scaled by 16.
            jitter_16 = (jitter_16 + magnitude.min(1 << 58)) - ((jitter_16 + 8) >> 4);
        }
        self.jitter_16 = jitter_16;
        // The signed differences telescope.
        self.ipdv_signed_sum += i128::from(before) - i128::from(last.owd);
        let pairs = self.in_order(sequence, last, owd, values);
        if keeps {
            self.ipdv.record_all(&values[..pairs]);
        }
        self.last = Some(Last { now: latest, owd: before, sequence: latest_sequence });
    }

    /// Counts reordering, and moves the variations between packets sent in succession to the front. Returns
    /// their number.
    fn in_order(&mut self, sequence: &[u32], last: Last, owd: &[u64], variations: &mut [u64]) -> usize {
        let mut pairs = 0;
        let mut from = 0;
        let mut before = last.sequence;
        let mut is_ordered = self.expected == before.wrapping_add(1);
        for (index, &sequence) in sequence.iter().enumerate() {
            if sequence != before.wrapping_add(1) {
                // Packets are missing or out of order: not a pair.
                let ahead = if index == 0 { last.owd } else { owd[index - 1] };
                self.ipdv_signed_sum -= i128::from(owd[index]) - i128::from(ahead);
                variations.copy_within(from..index, pairs);
                pairs += index - from;
                from = index + 1;
                is_ordered &= sequence.wrapping_sub(before).cast_signed() > 0;
            }
            before = sequence;
        }
        if from > pairs {
            variations.copy_within(from.., pairs);
        }
        pairs += variations.len() - from;
        if is_ordered {
            self.expected = before.wrapping_add(1);
        } else {
            self.count_reordered(sequence);
        }
        pairs
    }

    /// Counts packets that arrived after one that was sent later.
    #[cold]
    fn count_reordered(&mut self, sequence: &[u32]) {
        for &sequence in sequence {
            //= https://www.rfc-editor.org/rfc/rfc4737#section-3.3
            // Serial arithmetic, so that numbers may wrap.
            if sequence.wrapping_sub(self.expected).cast_signed() < 0 {
                self.reordered += 1;
            } else {
                self.expected = sequence.wrapping_add(1);
            }
        }
    }
}
