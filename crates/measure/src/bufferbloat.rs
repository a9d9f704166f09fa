//! Grades of bufferbloat: how much longer a round trip takes under load than without.
//!
//! ```text
//! A+ < 5 ms <= A < 30 ms <= B < 60 ms <= C < 200 ms <= D < 400 ms <= F
//! ```
//!
//! Source: Waveform, *Bufferbloat and Internet Speed Test*, the scale under its results.

use core::fmt;

use serde::{Deserialize, Serialize};

/// Name of the scale.
pub const SCALE: &str = "Waveform's scale of bufferbloat";

/// Grade of a line under load, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Grade {
    /// Less than 5 ms more.
    #[serde(rename = "A+")]
    APlus,
    /// Less than 30 ms more.
    A,
    /// Less than 60 ms more.
    B,
    /// Less than 200 ms more.
    C,
    /// Less than 400 ms more.
    D,
    /// 400 ms more, or above.
    F,
}

impl Grade {
    /// Every grade, the best first.
    pub const ALL: [Self; 6] = [Self::APlus, Self::A, Self::B, Self::C, Self::D, Self::F];

    /// Returns the grade of a round trip that takes this many seconds more under load.
    pub fn of(more: f64) -> Self {
        Self::ALL.into_iter().find(|grade| grade.limit().is_none_or(|limit| more < limit)).unwrap_or(Self::F)
    }

    /// Returns the seconds below which a line has this grade or a better one; `None`: any has.
    pub fn limit(self) -> Option<f64> {
        match self {
            Self::APlus => Some(0.005),
            Self::A => Some(0.03),
            Self::B => Some(0.06),
            Self::C => Some(0.2),
            Self::D => Some(0.4),
            Self::F => None,
        }
    }

    /// Returns its letter.
    pub fn name(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_belongs_to_the_worse_grade() {
        for (more_ms, grade) in [
            (-1.0, "A+"),
            (4.999, "A+"),
            (5.0, "A"),
            (29.0, "A"),
            (30.0, "B"),
            (60.0, "C"),
            (199.0, "C"),
            (200.0, "D"),
            (400.0, "F"),
            (9e9, "F"),
        ] {
            assert_eq!(Grade::of(more_ms / 1000.0).name(), grade, "{more_ms} ms");
        }
    }
}
