//! Tins of a packet's code point, and the part of the link guaranteed to each tin.

use serde::{Deserialize, Serialize};

/// A preset of tins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Diffserv {
    /// One tin for all.
    Besteffort,
    /// Eight tins by the upper three bits of the code point; not for today's Internet.
    Precedence,
    /// Bulk, best effort, voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Background, high throughput, best effort, streaming, low latency, interactive, minimum latency,
    /// network control.
    Diffserv8,
}

/// Part of the link of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub numerator: u64,
    pub denominator: u64,
}

const WHOLE: Part = Part { numerator: 1, denominator: 1 };
const HALF: Part = Part { numerator: 1, denominator: 2 };
const QUARTER: Part = Part { numerator: 1, denominator: 4 };
const SIXTEENTH: Part = Part { numerator: 1, denominator: 16 };

/// Returns `(7/8)^power`.
const fn falling(power: u32) -> Part {
    Part { numerator: 7_u64.pow(power), denominator: 8_u64.pow(power) }
}

const EIGHT: [Part; 8] =
    [falling(0), falling(1), falling(2), falling(3), falling(4), falling(5), falling(6), falling(7)];

const LE: u8 = 1;
const CS1: u8 = 8;
const VA: u8 = 44;
const EF: u8 = 46;

impl Diffserv {
    /// Returns the parts of the tins in the order of their priority, the lowest first. Best effort has the
    /// whole link, so that it ranks below bulk: otherwise it would always be within its part, and bulk
    /// would get nothing.
    pub(super) fn parts(self) -> &'static [Part] {
        match self {
            Self::Besteffort => &[WHOLE],
            Self::Diffserv3 => &[WHOLE, SIXTEENTH, QUARTER],
            Self::Diffserv4 => &[WHOLE, SIXTEENTH, HALF, QUARTER],
            Self::Precedence | Self::Diffserv8 => &EIGHT,
        }
    }

    /// Returns the names of the tins with their indices, in the order of `tc -s`: bulk before best effort.
    pub(super) fn tins(self) -> impl Iterator<Item = (&'static str, usize)> {
        let tins: &'static [(&str, usize)] = match self {
            Self::Besteffort => &[("best effort", 0)],
            Self::Diffserv3 => &[("bulk", 1), ("best effort", 0), ("voice", 2)],
            Self::Diffserv4 => &[("bulk", 1), ("best effort", 0), ("video", 2), ("voice", 3)],
            Self::Precedence | Self::Diffserv8 => &[
                ("tin 0", 0),
                ("tin 1", 1),
                ("tin 2", 2),
                ("tin 3", 3),
                ("tin 4", 4),
                ("tin 5", 5),
                ("tin 6", 6),
                ("tin 7", 7),
            ],
        };
        tins.iter().copied()
    }

    /// Returns the tin that these `bits` of a mark choose, numbered from 1; `None` if there is no such tin.
    pub(super) fn tin_of_mark(self, mark: u32, bits: u32) -> Option<usize> {
        let shift = bits.trailing_zeros().min(u32::BITS - 1);
        let number = ((mark & bits) >> shift).checked_sub(1)?;
        self.tins().nth(number as usize).map(|(_, tin)| tin)
    }

    /// Returns the tin of a code point.
    pub(super) fn tin(self, dscp: u8) -> usize {
        match self {
            Self::Besteffort => 0,
            Self::Precedence => usize::from(dscp >> 3).min(7),
            Self::Diffserv3 => match dscp {
                CS1 | LE => 1,
                // CS7, CS6, TOS4.
                56 | 48 | EF | VA | 4 => 2,
                _ => 0,
            },
            Self::Diffserv4 => match dscp {
                CS1 | LE => 1,
                // AF4, AF3, CS3, AF2, CS2, TOS4.
                34 | 36 | 38 | 26 | 28 | 30 | 24 | 18 | 20 | 22 | 16 | 4 => 2,
                // CS7, CS6, CS5, CS4.
                56 | 48 | EF | VA | 40 | 32 => 3,
                _ => 0,
            },
            Self::Diffserv8 => match dscp {
                CS1 | LE => 0,
                10 | 12 | 14 | 2 => 1,
                34 | 36 | 38 | 26 | 28 | 30 | 24 => 3,
                18 | 20 | 22 | 4 => 4,
                16 => 5,
                EF | VA | 40 | 32 => 6,
                48 | 56 => 7,
                _ => 2,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tins are numbered as in `tc -s`, from 1; without a tin of that number, the code point decides.
    #[test]
    fn marks_choose_tins_by_their_bits() {
        let of = |preset: Diffserv, mark, mask| preset.tin_of_mark(mark, mask);
        let all = |preset| [0, 1, 2, 3, 4, 5].map(|number| of(preset, number, u32::MAX));
        assert_eq!(all(Diffserv::Besteffort), [None, Some(0), None, None, None, None]);
        assert_eq!(all(Diffserv::Diffserv3), [None, Some(1), Some(0), Some(2), None, None]);
        assert_eq!(all(Diffserv::Diffserv4), [None, Some(1), Some(0), Some(2), Some(3), None]);
        assert_eq!(all(Diffserv::Diffserv8), [None, Some(0), Some(1), Some(2), Some(3), Some(4)]);
        assert_eq!(of(Diffserv::Diffserv4, 0xff4f, 0x00f0), Some(3), "bits beside the mask do not count");
        assert_eq!(of(Diffserv::Diffserv4, 0xff0f, 0x00f0), None);
        assert_eq!(of(Diffserv::Diffserv8, 0x8000_0000, 0x8000_0000), Some(0));
    }

    #[test]
    fn code_points_go_to_the_tins_of_the_manual() {
        // Names of RFC 2474, 2597, 3246, 5865, 8622; TOSn is the n-th bit of the lower three.
        let names = [
            ("CS0", 0),
            ("LE", 1),
            ("TOS2", 2),
            ("TOS4", 4),
            ("CS1", 8),
            ("AF11", 10),
            ("AF12", 12),
            ("AF13", 14),
            ("CS2", 16),
            ("AF21", 18),
            ("AF22", 20),
            ("AF23", 22),
            ("CS3", 24),
            ("AF31", 26),
            ("AF32", 28),
            ("AF33", 30),
            ("CS4", 32),
            ("AF41", 34),
            ("AF42", 36),
            ("AF43", 38),
            ("CS5", 40),
            ("VA", 44),
            ("EF", 46),
            ("CS6", 48),
            ("CS7", 56),
        ];
        let of = |preset: Diffserv, tin: usize| {
            let in_it = names.iter().filter(|(_, dscp)| preset.tin(*dscp) == tin);
            in_it.map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(Diffserv::Diffserv3, 1), "LE CS1");
        assert_eq!(of(Diffserv::Diffserv3, 2), "TOS4 VA EF CS6 CS7");
        assert_eq!(of(Diffserv::Diffserv4, 1), "LE CS1");
        assert_eq!(of(Diffserv::Diffserv4, 2), "TOS4 CS2 AF21 AF22 AF23 CS3 AF31 AF32 AF33 AF41 AF42 AF43");
        assert_eq!(of(Diffserv::Diffserv4, 3), "CS4 CS5 VA EF CS6 CS7");
        let eight = [
            "LE CS1",
            "TOS2 AF11 AF12 AF13",
            "CS0",
            "CS3 AF31 AF32 AF33 AF41 AF42 AF43",
            "TOS4 AF21 AF22 AF23",
            "CS2",
            "CS4 CS5 VA EF",
            "CS6 CS7",
        ];
        for (tin, names) in eight.into_iter().enumerate() {
            assert_eq!(of(Diffserv::Diffserv8, tin), names);
        }
        for preset in [
            Diffserv::Besteffort,
            Diffserv::Precedence,
            Diffserv::Diffserv3,
            Diffserv::Diffserv4,
            Diffserv::Diffserv8,
        ] {
            assert!((0..=63).all(|dscp| preset.tin(dscp) < preset.parts().len()), "{preset:?}");
        }
        let precedence: Vec<_> = (0..=63).step_by(8).map(|dscp| Diffserv::Precedence.tin(dscp)).collect();
        assert_eq!(precedence, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
