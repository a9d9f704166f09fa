//! Checks what a frame takes of a rate: `overhead`, `mpu` and `framing` of links and ports.

use lockgate_engine::framing::{Compensation, Framing};
use lockgate_engine::units::{Bytes, Overhead};

use super::Checker;
use crate::diagnostic::Problem;
use crate::table_reader::TableLocation;
use crate::values::{Charges, LinkOverhead};

/// The keys of a link or a port that say what a frame takes.
#[derive(Clone, Copy, Default)]
pub(super) struct FramingKeys {
    pub(super) overhead: Option<LinkOverhead>,
    pub(super) mpu: Option<Bytes>,
    pub(super) framing: Option<Framing>,
}

impl Checker<'_> {
    /// Returns the conversion of lengths that the keys of a table define.
    pub(super) fn charge(
        &mut self,
        place: TableLocation<'_, '_>,
        keys: FramingKeys,
        charges: Charges,
    ) -> Option<Compensation> {
        let FramingKeys { overhead, mpu, framing } = keys;
        let preset = overhead.and_then(|overhead| overhead.preset);
        for key in ["mpu", "framing"] {
            if preset.is_some() && place.has(key) {
                let problem = Problem::new(place.key(key), format!("the link's name says its `{key}`"));
                let problem = problem.see(place.value("overhead"), "the link");
                self.note(problem.help("write the overhead in bytes, such as `18B`, beside it"));
            }
        }
        let (mpu, cut) = preset.unwrap_or((mpu.unwrap_or(Bytes::ZERO), framing.unwrap_or_default()));
        let overhead = overhead.map(|overhead| overhead.overhead);
        let charge = match charges {
            Charges::Packets => Compensation::new(overhead, false, mpu, cut),
            Charges::Frames => {
                let named = overhead.filter(|_| preset.is_some()).map(Compensation::beyond_ethernet);
                Compensation::of_frames(named.or(overhead).unwrap_or(Overhead(0)), mpu, cut)
            }
        };
        charge
            .map_err(|invalid| {
                let what = format!("`{}` is out of its range", invalid.field);
                let problem = Problem::new(place.value(invalid.field), what);
                self.note(problem.help(format!("it {}", invalid.why)));
            })
            .ok()
    }
}
