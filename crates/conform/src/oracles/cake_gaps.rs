//! The shaper of `cake`: packets are spaced by the transmission time on the link behind.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{WIRE, cake, packet};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use lockgate_engine::units::{Duration, Instant, PICOS_PER_SECOND};
use serde_json::json;

pub(super) struct CakeGaps;

/// Bit-picoseconds per byte.
const BYTE: u128 = 8 * PICOS_PER_SECOND as u128;

/// Returns a frame's length on the link behind, as in the manual: overhead on the network-layer length,
/// minimum, cells or codewords.
fn on_link(frame: u64, overhead: Option<i64>, mpu: u64, framing: &str) -> u64 {
    let bare = overhead
        .map_or(frame, |overhead| (frame + 64).saturating_add_signed(overhead).saturating_sub(64 + 14));
    let whole = bare.max(mpu).max(1);
    match framing {
        "atm" => 53 * whole.div_ceil(48),
        "ptm" => whole + whole.div_ceil(64),
        _ => whole,
    }
}

impl Oracle for CakeGaps {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "cake-gaps";
    const THEOREM: &'static str = "in a busy period a packet leaves when the one before has taken its time on the link behind (with overhead, mpu, cells), and after silence at once: no burst";
    const SOURCE: &'static str =
        "Høiland-Jørgensen, Täht, Morton, Piece of CAKE (2018), algorithm 1; tc-cake(8)";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut gaps = Measurement::exact("off the time of the packet before", "ps");
        let mut level = Measurement::exact("left of the packet before, when one leaves", "B");
        for trial in trials.each() {
            let mut random = trials.random("cake-gaps", trial);
            let rate = between(&mut random, 64_000, 50_000_000);
            let framing = ["noatm", "atm", "ptm"][random.below(3) as usize];
            let overhead = (trial % 4 > 0).then(|| between(&mut random, 0, 320).cast_signed() - 64);
            let mpu = [0, between(&mut random, 0, 256)][trial as usize % 2];
            let mut config = json!({
                "bandwidth": format!("{rate}bit"), "mpu": format!("{mpu}B"), "framing": framing, "rtt": "1000s",
            });
            if let Some(overhead) = overhead {
                config["overhead"] = json!(format!("{overhead}B"));
            }
            let length = |frame: u32| u128::from(on_link(frame.into(), overhead, mpu, framing)) * BYTE;
            let mut link = cake(&config, WIRE);
            let (mut now, full) = (Instant::ZERO, 1514 * 8 * PICOS_PER_SECOND / rate);
            for _ in 0..1_500 {
                // Bursts, a stream at about the shaper's rate, and silences in which a token bucket would
                // fill.
                let gap = match random.below(20) {
                    0 => 20 * full,
                    1..10 => u64::from(random.below(1_000_000)),
                    _ => full / 1000 * between(&mut random, 1, 1_600),
                };
                now = now + Duration::from_picos(gap);
                let dscp = [0, 8, 46][random.below(3) as usize];
                link.offer(packet(random.below(5), between(&mut random, 1, 1514), dscp), now);
            }
            link.drain();
            let mut busy = 0;
            for pair in link.sent.windows(2) {
                let apart = u128::from(pair[1].at.since(pair[0].at).as_picos());
                let carried = length(pair[0].packet.length);
                let left = carried.saturating_sub(apart * u128::from(rate));
                level.require_at_most(left.cast_signed(), 0, BYTE as u64);
                if pair[1].packet.arrived <= pair[0].at {
                    busy += 1;
                    let due = carried.div_ceil(u128::from(rate));
                    gaps.require_at_most(apart.abs_diff(due).cast_signed(), 0, 1);
                }
            }
            gaps.require(busy > 200, || format!("only {busy} packets in busy periods"));
            gaps.fault(link.fault.as_ref());
        }
        vec![gaps.finding(trials.count), level.finding(trials.count)]
    }
}
