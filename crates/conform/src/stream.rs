//! Constant-rate traffic for leaves, and measurement of their rates.

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

use crate::forest::header;
use crate::link::Link;

/// Packets of one length at a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Leaf to which they go.
    pub leaf: usize,
    /// Frame bytes of a packet.
    pub length: u64,
    /// Arrival of the first packet.
    pub start: Instant,
    /// End: no packets come from then on.
    pub stop: Instant,
    /// Time between packets.
    pub gap: Duration,
}

impl Stream {
    /// Creates packets of `length` bytes for `leaf` at `bits` bits per second, from `from` to `to`
    /// milliseconds.
    pub fn new(leaf: usize, length: u64, bits: u64, from: u64, to: u64) -> Self {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        Self {
            leaf,
            length,
            start: at(from),
            stop: at(to),
            gap: Rate::from_bits(bits).time_for(Bytes(length)),
        }
    }
}

/// Sends the streams through `link`; ties go to the earlier stream. Ends with the last arrival: packets
/// that wait then are not drained.
pub fn send(link: &mut Link, streams: &[Stream]) {
    let mut next: Vec<Instant> = streams.iter().map(|stream| stream.start).collect();
    loop {
        let first = (0..streams.len()).filter(|at| next[*at] < streams[*at].stop).min_by_key(|at| next[*at]);
        let Some(first) = first else { break };
        let Stream { leaf, length, gap, .. } = streams[first];
        link.offer(header(leaf, length), next[first]);
        next[first] = next[first] + gap;
    }
}

/// Returns the rate in bits per second of `leaf` on the link from `from` to `to`, in seconds.
pub fn rate_of(link: &Link, leaf: usize, from: f64, to: f64) -> f64 {
    let within = |at: f64| (from..to).contains(&at);
    let sent =
        link.sent.iter().filter(|sent| sent.packet.flow.0 as usize == leaf && within(sent.at.as_secs_f64()));
    sent.map(|sent| f64::from(sent.packet.length) * 8.0).sum::<f64>() / (to - from)
}
