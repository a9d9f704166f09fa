//! Unused signals: those that are blind and reflectors that are left out, in words for a log.

use crate::signals::Signals;

/// Unused signals as last told.
#[derive(Clone, Debug, Default)]
pub struct Unused {
    /// Bit of each signal and, from [`FIRST_REFLECTOR`] on, of each reflector.
    told: u16,
}

/// Bit of the first reflector.
const FIRST_REFLECTOR: usize = 8;

impl Unused {
    /// Returns what has changed since the last call, a sentence a signal; `probed` has the names of the
    /// probed addresses. Allocates only for changes.
    pub fn take(&mut self, signals: &Signals, probed: &[String]) -> Vec<String> {
        let blind = signals.blindness().into_iter().enumerate().filter(|(_, (_, is_blind))| *is_blind);
        let left_out = (0..probed.len()).filter(|index| signals.is_left_out(*index));
        let bits = blind.map(|(index, _)| index).chain(left_out.map(|index| FIRST_REFLECTOR + index));
        let unused = bits.fold(0_u16, |unused, bit| unused | 1 << bit);
        let changed = unused ^ core::mem::replace(&mut self.told, unused);
        if changed == 0 {
            return Vec::new();
        }
        let has = |set: u16, bit: usize| set & 1 << bit != 0;
        let mut news = Vec::new();
        for (bit, (name, is_blind)) in signals.blindness().into_iter().enumerate() {
            if has(changed, bit) {
                news.push(if is_blind {
                    format!("{name} are blind: their delay has not moved with the load for an hour; they are not used")
                } else {
                    format!("{name} are used again")
                });
            }
        }
        for (index, address) in
            probed.iter().enumerate().filter(|(index, _)| has(changed, FIRST_REFLECTOR + index))
        {
            news.push(if signals.is_left_out(index) {
                format!("the probed address {address} is left out: its answers differ from the others'")
            } else {
                format!("the probed address {address} is used again")
            });
        }
        news
    }
}
