//! Overhead: the bytes that a frame takes of a line's rate besides its own.
//!
//! ```text
//! `PacketOverhead`   packet                 + overhead  -.
//! `FrameOverhead`    packet and link header + overhead  -+-> at least mpu -> atm: 53 bytes for every 48 begun
//!                                                                            ptm: one more for every 64 begun
//! ```
//!
//! Links, `htb` and `tbf` have a [`FrameOverhead`]; ports with a rate of their own and `cake` have a
//! [`PortOverhead`], which normally is that of packets. Only the one of frames measures a length, so that the
//! link header cannot be counted twice or forgotten: [`PacketOverhead::on`] needs it.

#[cfg(feature = "schema")]
use schemars::Schema;
use serde::{Deserialize, Serialize};

use crate::context::Invalid;
use crate::units::{Bytes, Overhead};

/// Keys of links, ports and disciplines that define an overhead.
pub const KEYS: [&str; 3] = ["overhead", "mpu", "framing"];

/// How the link behind cuts a packet up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// Link header of the frames of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkHeader {
    /// Ethernet.
    #[default]
    Ethernet,
    /// None: the frame is the packet (tun, `WireGuard`, PPP).
    Absent,
}

/// Overhead beyond a frame, its link header included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameOverhead {
    bytes: i64,
    mpu: Bytes,
    framing: Framing,
}

/// Overhead beyond a network packet, without the link header before it: that of a frame without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketOverhead(FrameOverhead);

/// Overhead as a port and `cake` state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortOverhead {
    /// Beyond the frame: no bytes are stated, or they are `raw`.
    Frame(FrameOverhead),
    /// Beyond the packet.
    Packet(PacketOverhead),
}

/// A line by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Name, as `tc` spells it.
    pub name: &'static str,
    /// Overhead.
    pub overhead: PacketOverhead,
}

/// Lines by name (tc-cake(8)).
pub const LINES: [Line; 13] = [
    Line::new("ethernet", 38, 84, Framing::Noatm),
    Line::new("docsis", 18, 64, Framing::Noatm),
    Line::new("conservative", 48, 0, Framing::Atm),
    Line::new("pppoe-ptm", 30, 0, Framing::Ptm),
    Line::new("bridged-ptm", 22, 0, Framing::Ptm),
    Line::new("pppoa-vcmux", 10, 0, Framing::Atm),
    Line::new("pppoa-llc", 14, 0, Framing::Atm),
    Line::new("pppoe-vcmux", 32, 0, Framing::Atm),
    Line::new("pppoe-llcsnap", 40, 0, Framing::Atm),
    Line::new("bridged-vcmux", 24, 0, Framing::Atm),
    Line::new("bridged-llcsnap", 32, 0, Framing::Atm),
    Line::new("ipoa-vcmux", 8, 0, Framing::Atm),
    Line::new("ipoa-llcsnap", 16, 0, Framing::Atm),
];

impl Line {
    const fn new(name: &'static str, bytes: i64, mpu: u64, framing: Framing) -> Self {
        Self { name, overhead: PacketOverhead(FrameOverhead { bytes, mpu: Bytes(mpu), framing }) }
    }

    /// Returns the line of this name.
    pub fn named(name: &str) -> Option<Self> {
        LINES.into_iter().find(|line| line.name == name)
    }
}

/// Adds the lines to the description of a parameter.
#[cfg(feature = "schema")]
pub(crate) fn describe_lines(schema: &mut Schema) {
    let lines =
        LINES.map(|Line { name, overhead: PacketOverhead(FrameOverhead { bytes, mpu, framing }) }| {
            let more =
                if framing == Framing::Noatm { format!("mpu {mpu}") } else { framing.name().to_owned() };
            format!("`{name}` {bytes}B {more}")
        });
    let text = schema.get("description").and_then(|text| text.as_str()).unwrap_or_default();
    let text = format!("{text} {}.", lines.join(", "));
    schema.insert("description".to_owned(), text.into());
}

impl LinkHeader {
    /// Returns its length.
    pub const fn bytes(self) -> Bytes {
        match self {
            Self::Ethernet => Bytes(14),
            Self::Absent => Bytes::ZERO,
        }
    }
}

impl PacketOverhead {
    /// Returns the bytes that are added to a packet.
    pub fn bytes(self) -> Overhead {
        self.0.bytes()
    }

    /// Returns the minimum, overhead included, and the framing.
    pub fn mpu_and_framing(self) -> (Bytes, Framing) {
        (self.0.mpu, self.0.framing)
    }

    /// Returns the overhead of the frames that carry the packets with this link header.
    #[must_use]
    pub fn on(self, header: LinkHeader) -> FrameOverhead {
        FrameOverhead { bytes: self.0.bytes.saturating_sub_unsigned(header.bytes().0), ..self.0 }
    }
}

impl PortOverhead {
    /// Creates the overhead that the parameters of `cake` and of a port define.
    ///
    /// # Errors
    /// If `overhead` or `mpu` is out of range.
    pub fn new(overhead: Option<Overhead>, raw: bool, mpu: Bytes, framing: Framing) -> Result<Self, Invalid> {
        let stated = FrameOverhead::within([-64, 256], overhead.unwrap_or_default(), mpu, framing)?;
        let is_of_packet = overhead.is_some() && !raw;
        Ok(if is_of_packet { Self::Packet(PacketOverhead(stated)) } else { Self::Frame(stated) })
    }

    /// Returns the overhead of frames with this link header.
    #[must_use]
    pub fn on(self, header: LinkHeader) -> FrameOverhead {
        match self {
            Self::Frame(overhead) => overhead,
            Self::Packet(overhead) => overhead.on(header),
        }
    }
}

impl Default for PortOverhead {
    fn default() -> Self {
        Self::Frame(FrameOverhead::default())
    }
}

impl FrameOverhead {
    /// Creates the overhead that the parameters of a link, of `htb` and of `tbf` define.
    ///
    /// # Errors
    /// If `overhead` or `mpu` is out of range.
    pub fn new(overhead: Overhead, mpu: Bytes, framing: Framing) -> Result<Self, Invalid> {
        Self::within([-65_536, 65_536], overhead, mpu, framing)
    }

    fn within(
        [least, most]: [i64; 2],
        Overhead(bytes): Overhead,
        mpu: Bytes,
        framing: Framing,
    ) -> Result<Self, Invalid> {
        if !(least..=most).contains(&bytes) {
            return Err(Invalid::new("overhead", format!("is from `{least}B` to `{most}B`")));
        }
        if mpu.0 > most.unsigned_abs() {
            return Err(Invalid::new("mpu", format!("is up to `{most}B`")));
        }
        Ok(Self { bytes, mpu, framing })
    }

    /// Returns the bytes that are added to a frame.
    pub fn bytes(self) -> Overhead {
        Overhead(self.bytes)
    }

    /// Returns the overhead of the packets in frames with this link header.
    #[must_use]
    pub fn of_packets(self, header: LinkHeader) -> PacketOverhead {
        PacketOverhead(Self { bytes: self.bytes.saturating_add_unsigned(header.bytes().0), ..self })
    }

    /// Returns true if every frame takes its own length.
    #[inline]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the longest frame that takes at most `bytes` on the link; 0 if no frame fits.
    pub fn longest_within(&self, bytes: Bytes) -> Bytes {
        let packet = match self.framing {
            Framing::Noatm => bytes.0,
            Framing::Atm => bytes.0 / 53 * 48,
            // 64 for every 65, and of a codeword begun all but its extra byte.
            Framing::Ptm => bytes.0 / 65 * 64 + (bytes.0 % 65).saturating_sub(1),
        };
        let holds_shortest = packet >= self.mpu.0.max(1);
        Bytes(if holds_shortest { packet.saturating_add_signed(-self.bytes) } else { 0 })
    }

    /// Returns the length on the link, at least a byte.
    #[inline]
    pub fn on_link(&self, frame: Bytes) -> Bytes {
        let packet = frame.0.saturating_add_signed(self.bytes).max(self.mpu.0).max(1);
        self.framing.on_link(Bytes(packet))
    }
}

impl Framing {
    /// Returns its name, as parameters and `tc` spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Noatm => "noatm",
            Self::Atm => "atm",
            Self::Ptm => "ptm",
        }
    }

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
            let stated = PortOverhead::new(overhead.map(Overhead), raw, Bytes(mpu), framing).expect("valid");
            let length = stated.on(LinkHeader::Ethernet).on_link(Bytes(frame));
            assert_eq!(length, Bytes(on_link), "{overhead:?} {framing:?} {frame}");
        }
    }

    /// `PPPoE` over ATM with LLC/SNAP, by hand: the frame less 14 of Ethernet, plus 40, in cells of 48.
    #[test]
    fn an_overhead_of_packets_is_that_of_frames_less_the_link_header() {
        let of_packets = Line::named("pppoe-llcsnap").expect("a line").overhead;
        let [ethernet, absent] = [LinkHeader::Ethernet, LinkHeader::Absent].map(|header| {
            let of_frames = of_packets.on(header);
            assert_eq!(of_frames.of_packets(header), of_packets);
            of_frames
        });
        assert_eq!([ethernet.bytes(), absent.bytes()], [Overhead(26), Overhead(40)]);
        for (packet, cells) in [(40, 2), (104, 3), (576, 13), (1500, 33)] {
            let lengths = [ethernet.on_link(Bytes(packet + 14)), absent.on_link(Bytes(packet))];
            assert_eq!(lengths, [Bytes(cells * 53); 2], "{packet}");
        }
    }

    #[test]
    fn the_longest_frame_within_a_burst_is_the_last_that_fits() {
        for framing in [Framing::Noatm, Framing::Atm, Framing::Ptm] {
            for (overhead, mpu) in [(0, 0), (26, 0), (-14, 64), (-14, 0), (24, 84)] {
                let overhead = FrameOverhead::new(Overhead(overhead), Bytes(mpu), framing).expect("valid");
                for burst in (0..400).chain([1514, 1540, 1600, 15_000]) {
                    let Bytes(longest) = overhead.longest_within(Bytes(burst));
                    let fits = |frame| overhead.on_link(Bytes(frame)) <= Bytes(burst);
                    assert!(longest == 0 || fits(longest), "{overhead:?} {burst} {longest}");
                    assert!(!fits(longest + 1), "{overhead:?} {burst} {longest}");
                }
            }
        }
    }
}
