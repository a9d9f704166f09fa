//! Classification of a connection's bytes as short, by sequence numbers.

use lockgate_engine::packet::Header;
use lockgate_engine::units::Instant;
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::link_of;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct ShortBytes;

/// Returns true if a segment of this sequence number overtakes one that is certainly long and arrived
/// earlier.
fn is_short(kind: &str, sequence: u32) -> bool {
    let mut link = link_of(kind, &json!({}), &[json!({}), json!({})]);
    let segment = |payload, tcp_sequence| Header {
        payload,
        tcp_sequence,
        tcp_flags: 0x10,
        length: 100,
        ..Header::default()
    };
    link.offer(segment(0, 1 << 20), Instant::ZERO);
    link.offer(segment(1, 1 << 20), Instant::ZERO);
    link.offer(segment(2, sequence), Instant::ZERO);
    link.drain();
    link.sent.get(1).is_some_and(|sent| sent.packet.payload == 2)
}

impl Oracle for ShortBytes {
    const FAMILY: &'static str = "O19";
    const NAME: &'static str = "short-bytes";
    const THEOREM: &'static str = "a connection is short for its first 2^14 - r - 1 bytes, r the low ten random bits of its initial number, and \
         again whenever 2^22 bytes have come round";
    const SOURCE: &'static str =
        "Avrachenkov, Ayesta, Brown and Nyberg, INFOCOM 2004: the layout of their sequence numbers";
    const TRIALS: u32 = 200;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["run2c"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut wrong = Measurement::exact("bytes taken for what they are not", "");
        let mut most = Measurement::bound("longest short part", "B", 0.99);
        for trial in trials.each() {
            let mut random = trials.random("short-bytes", trial);
            // Initial number as senders choose it: ten random bits above, ten below.
            let initial = (random.below(1024) << 22) | [0, 1023, random.below(1024)][trial as usize % 3];
            // The initial number is that of the SYN; the first byte has the next.
            let at = |byte: u32| is_short(kind.name, initial.wrapping_add(1).wrapping_add(byte));
            let short = (1 << 14) - (initial & 1023) - 1;
            let round = (1 << 22) - (initial & 1023) - 1;
            let inside = between(&mut random, short, round - 1) as u32;
            let are_short = [0, short - 1, round, round + (1 << 14) - 1];
            let are_long = [short, inside, round - 1, round + (1 << 14)];
            let errors = are_short.into_iter().filter(|byte| !at(*byte)).count()
                + are_long.into_iter().filter(|byte| at(*byte)).count();
            wrong.require_zero(errors as u64);
            most.require_at_most(i128::from(short), 16_383, 1);
        }
        [wrong, most].map(|worst| worst.finding(trials.count)).into()
    }
}
