//! Framing: a frame's length on the link behind, from overhead, minimum length, and the cells or codewords
//! it is cut into.
//!
//! ```text
//! frame (less 14 bytes of Ethernet if the overhead counts from the packet) + overhead
//!     -> at least mpu -> atm: 53 bytes for every 48 begun      ptm: one more for every 64 begun
//! ```
//!
//! One conversion for all that charge for frames: links, ports with a rate of their own, `cake`, `htb` and
//! `tbf`.

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

/// Conversion of a frame's length to its length on the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compensation {
    /// Added to the frame's length.
    added: i64,
    mpu: Bytes,
    framing: Framing,
    /// True if the overhead counts from the packet: `added` is less by an Ethernet header.
    counts_from_packet: bool,
}

impl Compensation {
    /// Length of the Ethernet header in a frame's length, in bytes.
    pub const ETHERNET: i64 = 14;

    /// Creates the conversion of the parameters of `cake` and of a port: an overhead counts from the packet,
    /// without its Ethernet header, unless it is `raw`.
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
        let added = if relative_to_frame { overhead } else { overhead - Self::ETHERNET };
        Ok(Self { added, mpu, framing, counts_from_packet: !relative_to_frame })
    }

    /// Returns this conversion for frames whose length has no Ethernet header.
    #[must_use]
    pub fn without_ethernet(self) -> Self {
        let header = if self.counts_from_packet { Self::ETHERNET } else { 0 };
        Self { added: self.added + header, counts_from_packet: false, ..self }
    }

    /// Creates the conversion of a link, of `htb` and of `tbf`: the overhead is added to the whole frame.
    ///
    /// # Errors
    /// If `overhead` or `mpu` is out of range.
    pub fn of_frames(Overhead(overhead): Overhead, mpu: Bytes, framing: Framing) -> Result<Self, Invalid> {
        const LARGEST_BYTES: i64 = 65_536;
        if !(-LARGEST_BYTES..=LARGEST_BYTES).contains(&overhead) {
            return Err(Invalid::new("overhead", "is from `-65536B` to `65536B`"));
        }
        if mpu.0 > LARGEST_BYTES.unsigned_abs() {
            return Err(Invalid::new("mpu", "is up to `65536B`"));
        }
        Ok(Self { added: overhead, mpu, framing, counts_from_packet: false })
    }

    /// Returns the overhead that `tc`'s name of a link says, which counts from the packet, as one that is
    /// added to the whole frame.
    pub fn beyond_ethernet(Overhead(overhead): Overhead) -> Overhead {
        Overhead(overhead - Self::ETHERNET)
    }

    /// Returns the overhead that is added to the whole frame, the minimum, and the framing.
    pub fn parts(&self) -> (Overhead, Bytes, Framing) {
        (Overhead(self.added), self.mpu, self.framing)
    }

    /// Returns true if every frame takes its own length.
    #[inline]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the longest frame that takes at most `bytes` on the link; 0 if there is none.
    pub fn longest_within(&self, bytes: Bytes) -> Bytes {
        let packet = match self.framing {
            Framing::Noatm => bytes.0,
            Framing::Atm => bytes.0 / 53 * 48,
            // 64 for every 65, and of a codeword begun all but its extra byte.
            Framing::Ptm => bytes.0 / 65 * 64 + (bytes.0 % 65).saturating_sub(1),
        };
        let holds_shortest = packet >= self.mpu.0.max(1);
        Bytes(if holds_shortest { packet.saturating_add_signed(-self.added) } else { 0 })
    }

    /// Returns the length on the link, at least a byte.
    #[inline]
    pub fn on_link(&self, frame: Bytes) -> Bytes {
        let packet = frame.0.saturating_add_signed(self.added).max(self.mpu.0).max(1);
        self.framing.on_link(Bytes(packet))
    }
}

impl Framing {
    /// Returns what a packet with its overhead takes, cut up.
    #[inline]
    pub fn on_link(self, packet: Bytes) -> Bytes {
        Bytes(match self {
            Self::Noatm => packet.0,
            Self::Atm => packet.0.div_ceil(48).saturating_mul(53),
            Self::Ptm => packet.0.saturating_add(packet.0.div_ceil(64)),
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

    /// `PPPoE` over ATM with LLC/SNAP, by hand: the frame less 14 of Ethernet, plus 40, in cells of 48.
    #[test]
    fn an_overhead_of_whole_frames_is_one_of_packets_less_ethernet() {
        let of_packets =
            Compensation::new(Some(Overhead(40)), false, Bytes::ZERO, Framing::Atm).expect("valid");
        let overhead = Compensation::beyond_ethernet(Overhead(40));
        assert_eq!(overhead, Overhead(26));
        let of_frames = Compensation::of_frames(overhead, Bytes::ZERO, Framing::Atm).expect("valid");
        for (frame, cells) in [(54, 2), (118, 3), (590, 13), (1514, 33)] {
            let packet = of_packets.without_ethernet().on_link(Bytes(frame - 14));
            let lengths = [of_frames.on_link(Bytes(frame)), of_packets.on_link(Bytes(frame)), packet];
            assert_eq!(lengths, [Bytes(cells * 53); 3], "{frame}");
        }
    }

    #[test]
    fn the_longest_frame_within_a_burst_is_the_last_that_fits() {
        for framing in [Framing::Noatm, Framing::Atm, Framing::Ptm] {
            for (overhead, mpu) in [(0, 0), (26, 0), (-14, 64), (-14, 0), (24, 84)] {
                let charge = Compensation::of_frames(Overhead(overhead), Bytes(mpu), framing).expect("valid");
                for burst in (0..400).chain([1514, 1540, 1600, 15_000]) {
                    let Bytes(longest) = charge.longest_within(Bytes(burst));
                    let fits = |frame| charge.on_link(Bytes(frame)) <= Bytes(burst);
                    assert!(longest == 0 || fits(longest), "{charge:?} {burst} {longest}");
                    assert!(!fits(longest + 1), "{charge:?} {burst} {longest}");
                }
            }
        }
    }
}
