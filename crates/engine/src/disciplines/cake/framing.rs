//! Framing: a frame's length on the link behind, from overhead, minimum length, and the cells or codewords
//! it is cut into.
//!
//! ```text
//! frame (less 14 bytes of Ethernet if an overhead is given) + overhead
//!     -> at least mpu -> atm: 53 bytes for every 48 begun      ptm: one more for every 64 begun
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discipline::Invalid;
use crate::units::{Bytes, Overhead};

/// How the link behind cuts a packet up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// Not at all.
    #[default]
    Noatm,
    /// Into ATM cells of 53 bytes with 48 of payload, as on ADSL.
    Atm,
    /// Into codewords of 65 bytes with 64 of payload, as on VDSL2.
    Ptm,
}

/// Length of the Ethernet header in a frame's length.
const ETHERNET: i64 = 14;

/// Conversion of a frame's length to its length on the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compensation {
    /// Added to the frame's length.
    added: i64,
    mpu: Bytes,
    framing: Framing,
}

impl Compensation {
    /// Creates the conversion of these parameters of [`Config`](super::Config).
    ///
    /// # Errors
    /// If `overhead` or `mpu` is out of range.
    pub fn new(overhead: Option<Overhead>, raw: bool, mpu: Bytes, framing: Framing) -> Result<Self, Invalid> {
        let relative_to_frame = raw || overhead.is_none();
        let Overhead(overhead) = overhead.unwrap_or_default();
        if !(-64..=256).contains(&overhead) {
            return Err(Invalid::new("overhead", "is from `-64B` to `256B`"));
        }
        if mpu > Bytes(256) {
            return Err(Invalid::new("mpu", "is up to `256B`"));
        }
        let added = if relative_to_frame { overhead } else { overhead - ETHERNET };
        Ok(Self { added, mpu, framing })
    }

    /// Returns the length on the link, at least a byte.
    #[inline]
    pub fn on_link(&self, frame: Bytes) -> Bytes {
        let packet = frame.0.saturating_add_signed(self.added).max(self.mpu.0).max(1);
        Bytes(match self.framing {
            Framing::Noatm => packet,
            Framing::Atm => packet.div_ceil(48).saturating_mul(53),
            Framing::Ptm => packet.saturating_add(packet.div_ceil(64)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(overhead, raw, mpu, framing, frame, on the link)`, each computed by hand.
    type Row = (Option<i64>, bool, u64, Framing, u64, u64);

    #[test]
    fn lengths_on_the_link_are_those_worked_out_by_hand() {
        use Framing::{Atm, Noatm, Ptm};
        let rows: [Row; 19] = [
            (None, false, 0, Noatm, 1514, 1514),      // as it is
            (None, false, 84, Noatm, 60, 84),         // the least length
            (Some(38), false, 84, Noatm, 1514, 1538), // ethernet: 1500 + 38
            (Some(38), false, 84, Noatm, 60, 84),     // 46 + 38
            (Some(38), false, 84, Noatm, 54, 84),     // 40 + 38 = 78, at least 84
            (Some(18), false, 64, Noatm, 1514, 1518), // docsis: 1500 + 18
            (Some(18), false, 64, Noatm, 54, 64),     // 40 + 18 = 58, at least 64
            (Some(24), true, 0, Noatm, 1514, 1538),   // raw: the frame counts
            (Some(-14), true, 0, Noatm, 1514, 1500),  // raw, and less
            (Some(-64), false, 0, Noatm, 60, 1),      // 46 - 64, at least a byte
            (Some(10), false, 0, Atm, 1514, 1696),    // pppoa-vcmux: 1510 in 32 cells of 53
            (Some(40), false, 0, Atm, 54, 106),       // pppoe-llcsnap, an acknowledgement: 80 in 2 cells
            (Some(8), false, 0, Atm, 54, 53),         // ipoa-vcmux: 48 in 1 cell, to the byte
            (Some(8), false, 0, Atm, 55, 106),        // one byte more begins a second
            (Some(48), false, 0, Atm, 1514, 1749),    // conservative: 1548 in 33 cells
            (Some(0), false, 96, Atm, 20, 106),       // the least length comes before the cells
            (Some(30), false, 0, Ptm, 1514, 1554),    // pppoe-ptm: 1530 and 24 for 23.9 times 64
            (Some(22), false, 0, Ptm, 56, 65),        // bridged-ptm: 64 and 1
            (Some(22), false, 0, Ptm, 57, 67),        // 65 and 2
        ];
        for (overhead, raw, mpu, framing, frame, on_link) in rows {
            let compensation =
                Compensation::new(overhead.map(Overhead), raw, Bytes(mpu), framing).expect("valid");
            assert_eq!(
                compensation.on_link(Bytes(frame)),
                Bytes(on_link),
                "{overhead:?} {framing:?} {frame}"
            );
        }
    }
}
