//! `htb` (tc-htb(8)).

use lockgate_engine::units::Rate;

use super::sort::{DECIMAL, Sort, U16};
use super::word::{
    Meaning, When, Word, cell, flag, link_layer, number, only, packets, rate, size, word, words,
};
use super::{Classes, Language};
use crate::value::ValueType;

pub(super) const HTB: Language =
    Language::new("htb", WORDS).class(CLASS).classes(Classes::ByCommands).fixed();

const WORDS: &[Word] = words! {
    = word("default", ValueType::Minor, Sort::Whole(16, u32::MAX as u64)).short(1).sets(Meaning::Tree);
    number: "r2q".read_as(DECIMAL).short(1);
    only(Sort::Any): "debug".short(1);
    packets:
        "direct_qlen".read_as(DECIMAL).short(1).left_out("every packet has a class, or the run is refused");
    flag: "offload".short(1).left_out_of_scripts("the queue is in software here");
};

const CLASS: &[Word] = words! {
    rate: "rate".once();
    // `c` is `cburst`.
    rate: "ceil".short(2).once();
    size: "burst".read_as(Sort::Cells).short(1).aka(&["buffer", "maxburst"])
        "cburst".read_as(Sort::Cells).short(1).aka(&["cbuffer", "cmaxburst"])
        "quantum".read_as(DECIMAL).short(1).zero_is_none();
    number: "prio".read_as(DECIMAL).short(1);
    size:
        "mtu".read_as(DECIMAL).short(1).sets(Meaning::Tree)
            .left_out_when(When::Beside(&["burst", "cburst"]), "both bursts are given, which it would size")
        "mpu".read_as(U16).short(1) "overhead".read_as(U16).short(1);
    = cell().read_as(Sort::Unread);
    = link_layer().short(1);
};

/// Longest packet of which `tc` computes a burst of `htb`, in bytes.
pub(crate) const MTU: u64 = 1600;

/// Returns the burst that `tc` computes for a rate, in bytes: a packet and what comes in a nanosecond, which
/// the kernel holds as a time of whole microseconds and of ticks of 64 ns, rounded down. At least a byte.
pub(crate) fn computed_burst(rate: Rate, mtu: u64) -> u64 {
    const NANOS: u128 = 1_000_000_000;
    let bytes = u128::from(rate.as_bits() / 8).max(1);
    let size = u128::from(mtu) + bytes / NANOS;
    let micros = size * (NANOS / 1000) / bytes;
    let taken = bytes * (micros * 1000 / 64 * 64) / NANOS;
    u64::try_from(taken).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// iproute2 6.1 sends these for rates in bits a second (`strace`), the last two rounded down.
    #[test]
    fn bursts_are_those_that_tc_computes() {
        for (bits, mtu, bytes) in [
            (10_000_000, 1600, 1600),
            (10_000_000, 9000, 9000),
            (1_000_000_000, 1600, 1496),
            (20_000_000_000, 1600, 1),
        ] {
            assert_eq!(computed_burst(Rate::from_bits(bits), mtu), bytes, "{bits} {mtu}");
        }
    }
}
