//! Quality of a call, from its delays and losses.

use super::VoiceSummary;
use crate::emodel::{self, Codec};
use crate::histogram::Histogram;

impl VoiceSummary {
    /// Returns the speech quality of packets with these delays, of which so many more were lost.
    pub(super) fn of<const SUB: usize>(codec: &Codec, owd: &Histogram<SUB>, lost: u64) -> Self {
        let best = emodel::best(codec, owd, lost);
        Self {
            codec: codec.name.to_owned(),
            r_factor: best.map(|(rating, ..)| rating),
            mos: best.map(|(rating, ..)| emodel::opinion(rating)),
            delay_s: best.map(|(_, delay, _)| delay),
            loss_ratio: best.map(|(.., loss)| loss),
        }
    }
}
