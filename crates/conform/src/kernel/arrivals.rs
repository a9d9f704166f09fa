//! Random arrivals of a kernel's sender, repeated packet for packet from the seed that its run states.
//!
//! The arrivals become captures in memory, which the scenarios replay.

use std::sync::Arc;

use lockgate_engine::random::Random;
use serde::Deserialize;

use super::{Experiment, Machine, Udp};

/// Generators of exponential gaps, by their names in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generator {
    /// Knuth's linear congruential generator of 64 bits for MMIX, which begins with the seed. Five numbers
    /// are left out; then each gap is `-mean ln(((x >> 11) + 1) / 2^53)`.
    Mmix,
}

/// Numbers that are left out at the start of `mmix`.
const LEFT_OUT: u32 = 5;

/// Limit on the packets of a flow that are generated.
const MOST_PACKETS: u64 = 1 << 24;

impl Generator {
    const ALL: [Self; 1] = [Self::Mmix];

    /// Returns the gaps of a mean of 1 that this seed gives.
    fn gaps(self, seed: u64) -> impl Iterator<Item = f64> {
        let Self::Mmix = self;
        let next = |x: u64| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut x = (0..LEFT_OUT).fold(seed, |x, _| next(x));
        core::iter::repeat_with(move || {
            x = next(x);
            -libm::log(((x >> 11) + 1) as f64 / (1_u64 << 53) as f64)
        })
    }
}

/// Largest lateness of the reference machine's sender, in seconds. Each run replays the arrivals with other
/// ones, so that a queue whose state a few microseconds decide shows its scatter.
const LATENESS: f64 = 8e-6;

/// Arrivals of a flow that are the kernel's own.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Time of the first, in seconds since the start of the run.
    pub first: f64,
    /// Times of all of them, in order.
    times: Vec<f64>,
    /// Length of each frame.
    length: u32,
    /// Packets at each time.
    together: u32,
}

/// Returns the kernel's own arrivals of a Poisson flow; `None` if they cannot be known. A generator that the
/// file does not name counts as that of the kernel if it gives the number of packets that the kernel sent, in
/// the run and in the window.
///
/// # Errors
/// Fails if the file names a generator that gives other arrivals than the kernel sent.
pub(super) fn of(
    name: &str,
    udp: &Udp,
    machine: &Machine,
    experiment: &Experiment,
) -> Result<Option<Arrivals>, String> {
    let (process, together) = udp.process()?;
    let named = udp.arrivals.or(machine.arrivals);
    if process != "poisson" {
        return Ok(None);
    }
    let Some(seed) = udp.seed else {
        return if udp.arrivals.is_some() { Err("`arrivals` needs a `seed`".to_owned()) } else { Ok(None) };
    };
    let result = experiment.result(name).map_err(|error| error.to_string())?;
    let mean = f64::from(udp.l2_bytes) * 8.0 / udp.offered_bps * f64::from(together);
    let most = MOST_PACKETS / u64::from(together);
    let times = |generator: Generator| {
        let mut at = udp.start_s;
        let all = generator.gaps(seed).map(move |gap| {
            at += gap * mean;
            at
        });
        let sent: Vec<f64> = all.take(most as usize + 1).take_while(|at| *at < udp.stop_s).collect();
        (sent.len() as u64 <= most).then_some(sent)
    };
    // One event may fall on the other side of an edge, as the sender reads its clock late.
    let fits = |times: &[f64], slack: f64| {
        let packets = |count: usize| count as f64 * f64::from(together);
        let [from, to] = result.window_s;
        let inside = times.iter().filter(|at| (from..=to).contains(*at)).count();
        let bits = f64::from(udp.l2_bytes) * 8.0;
        let sent = result.sent.map(|sent| (packets(times.len()) - sent as f64).abs());
        let offered = result.offered_in_window_bps;
        let offered = offered.map(|rate| (packets(inside) - rate * (to - from) / bits).abs());
        // Half a packet is beyond the rounding of a rate.
        let is_close = |off: Option<f64>| off.map(|off| off <= slack + 0.5);
        (is_close(sent), is_close(offered))
    };
    let Some(generator) = named else {
        let known = Generator::ALL.into_iter().filter_map(times);
        let own = known.into_iter().find(|times| fits(times, 0.0) == (Some(true), Some(true)));
        return Ok(own.and_then(|times| arrivals(times, udp, together)));
    };
    let times = times(generator).ok_or_else(|| format!("more than {MOST_PACKETS} packets"))?;
    if let (Some(false), _) | (_, Some(false)) = fits(&times, f64::from(together)) {
        let packets = times.len() as u64 * u64::from(together);
        return Err(format!("its generator gives {packets} packets, which are not those of its results"));
    }
    Ok(arrivals(times, udp, together))
}

/// Returns the arrivals at these times; `None` without packets.
fn arrivals(times: Vec<f64>, udp: &Udp, together: u32) -> Option<Arrivals> {
    Some(Arrivals { first: *times.first()?, times, length: udp.l2_bytes, together })
}

impl Arrivals {
    /// Returns the capture of all packets, each late by a time that is drawn: pcap with nanoseconds, and no
    /// bytes of the packets.
    pub(super) fn capture(&self, random: &mut Random) -> Arc<[u8]> {
        const NANOSECONDS: u32 = 0xa1b2_3c4d;
        const SECOND: u64 = 1_000_000_000;
        let header = [NANOSECONDS, 0x0004_0002, 0, 0, 65_535, 1];
        let late = |at: &f64| libm::round((at - self.first + LATENESS * random.unit()) * 1e9) as u64;
        let mut times: Vec<u64> = self.times.iter().map(late).collect();
        times.sort_unstable();
        let packets = times.into_iter().flat_map(|since| {
            let packet = [(since / SECOND) as u32, (since % SECOND) as u32, 0, self.length];
            core::iter::repeat_n(packet, self.together as usize).flatten()
        });
        header.into_iter().chain(packets).flat_map(u32::to_le_bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mmix_gives_the_gaps_of_its_formula() {
        // Computed by a program of exact integers: the first draws after five of the seed 9.
        let gaps: Vec<f64> = Generator::Mmix.gaps(9).take(3).collect();
        for (gap, expected) in
            gaps.iter().zip([4.032_808_629_633_069, 1.042_604_101_342_236_5, 0.299_837_681_562_157_8])
        {
            assert!((gap - expected).abs() < 1e-12, "{gaps:?}");
        }
    }
}
