//! Packets as they are sent: contents, code points, and the headers by which queues classify them.

use lockgate_engine::classify::Fields;
use lockgate_sim::{Outgoing, OutsideSegment};

use crate::end::LONGEST_PACKET;
use crate::error::Error;
use crate::headers;

/// Bytes of headers that a datagram gets on the line: Ethernet, IPv4, UDP.
const DATAGRAM_HEADERS: u32 = 14 + 20 + 8;
/// Bytes of headers that an IP packet gets on the line: Ethernet.
pub(crate) const ETHERNET_HEADER: u32 = 14;

/// ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand marks.
    #[default]
    NotCapable = 0,
    /// ECT(1): the transport is scalable (RFC 9331).
    Ect1 = 1,
    /// ECT(0): the transport understands marks.
    Ect0 = 2,
    /// A queue on the way signals congestion.
    CongestionExperienced = 3,
}

impl Ecn {
    /// Returns the code point of the lowest two bits.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0 => Self::NotCapable,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::CongestionExperienced,
        }
    }

    /// Returns its two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// True if a queue marked the packet.
    pub const fn is_marked(self) -> bool {
        matches!(self, Self::CongestionExperienced)
    }
}

/// Differentiated services code point (RFC 2474).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort.
    pub const DEFAULT: Self = Self(0);
    /// Expedited forwarding (RFC 3246).
    pub const EF: Self = Self(46);
    /// Lower effort (RFC 8622).
    pub const LE: Self = Self(1);

    /// Returns the code point of the lowest six bits.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0b11_1111)
    }

    /// Returns its six bits.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// Contents of a packet: bytes that arrive as they were sent, or only their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Bytes, which are copied.
    Borrowed(&'a [u8]),
    /// Bytes, which are moved.
    Owned(Vec<u8>),
    /// Number of bytes; an empty vector arrives.
    Length(usize),
}

impl Payload<'_> {
    fn length(&self) -> usize {
        match self {
            Self::Borrowed(bytes) => bytes.len(),
            Self::Owned(bytes) => bytes.len(),
            Self::Length(length) => *length,
        }
    }

    fn into_data(self) -> Vec<u8> {
        match self {
            Self::Borrowed(bytes) => bytes.to_vec(),
            Self::Owned(bytes) => bytes,
            Self::Length(_) => Vec::new(),
        }
    }
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Payload<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Borrowed(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Payload<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl From<Vec<u8>> for Payload<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Owned(bytes)
    }
}

impl From<usize> for Payload<'_> {
    fn from(length: usize) -> Self {
        Self::Length(length)
    }
}

/// A packet with all that queues may look at.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    payload: Payload<'a>,
    header_bytes: u32,
    ecn: Ecn,
    dscp: Dscp,
    fields: Option<Fields>,
    segment: Option<OutsideSegment>,
    /// Position of the IP header in the payload; `None` if it has none.
    ip_at: Option<u8>,
}

impl<'a> Frame<'a> {
    /// Creates a datagram with these contents: on the line it has 42 bytes of headers more (Ethernet, IPv4,
    /// UDP), and the addresses and ports of its end.
    #[inline]
    pub fn new(payload: impl Into<Payload<'a>>) -> Self {
        Self {
            payload: payload.into(),
            header_bytes: DATAGRAM_HEADERS,
            ecn: Ecn::NotCapable,
            dscp: Dscp::DEFAULT,
            fields: None,
            segment: None,
            ip_at: None,
        }
    }

    /// Reads an IPv4 or IPv6 packet: code points, addresses, ports and TCP fields are those of its headers.
    /// On the line it has 14 bytes more (Ethernet). A mark is written into it.
    ///
    /// # Errors
    /// If it is neither, or is cut off within its IP header.
    pub fn ip(packet: impl Into<Payload<'a>>) -> Result<Self, Error> {
        Self::read(packet.into(), 0, ETHERNET_HEADER)
    }

    /// Reads an Ethernet frame without its check sequence. Without an IP packet in it, it has no fields.
    ///
    /// # Errors
    /// If it is cut off within its Ethernet or IP header.
    pub fn ethernet(frame: impl Into<Payload<'a>>) -> Result<Self, Error> {
        let payload = frame.into();
        let bytes = bytes_of(&payload)?;
        match headers::ethernet(bytes)? {
            Some(at) => Self::read(payload, at, 0),
            None => Ok(Self { header_bytes: 0, fields: Some(headers::without_ip()), ..Self::new(payload) }),
        }
    }

    fn read(payload: Payload<'a>, ip_at: u8, header_bytes: u32) -> Result<Self, Error> {
        let bytes = bytes_of(&payload)?;
        let read = headers::ip(bytes.get(usize::from(ip_at)..).unwrap_or_default())?;
        Ok(Self {
            header_bytes,
            ecn: Ecn::from_bits(read.traffic_class),
            dscp: Dscp::from_bits(read.traffic_class >> 2),
            fields: Some(read.fields),
            segment: read.segment,
            ip_at: Some(ip_at),
            payload,
        })
    }

    /// Sets the ECN field.
    #[must_use]
    #[inline]
    pub fn ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }

    /// Sets the DSCP.
    #[must_use]
    #[inline]
    pub fn dscp(self, dscp: Dscp) -> Self {
        Self { dscp, ..self }
    }

    /// Sets addresses and ports, for classification: several connections between two ends differ by them.
    #[must_use]
    #[inline]
    pub fn fields(self, fields: Fields) -> Self {
        Self { fields: Some(fields), ..self }
    }

    /// Sets the TCP fields, for rules about flags and filters of acknowledgements.
    #[must_use]
    #[inline]
    pub fn segment(self, segment: OutsideSegment) -> Self {
        Self { segment: Some(segment), ..self }
    }

    /// Sets the bytes of headers that it has on the line beside its contents; 42 by default.
    #[must_use]
    #[inline]
    pub fn header_bytes(self, bytes: u32) -> Self {
        Self { header_bytes: bytes, ..self }
    }

    /// Returns the packet as the simulation sends it, with the flow's fields if none were given and it has
    /// other ports.
    #[inline]
    pub(crate) fn into_outgoing(self) -> Result<Outgoing, Error> {
        let length = self.payload.length();
        if length > LONGEST_PACKET || self.header_bytes as usize > LONGEST_PACKET {
            return Err(Error::TooLong(length.max(self.header_bytes as usize)));
        }
        Ok(Outgoing {
            // A frame without a byte would take no time of the line, and there is none.
            length: (length as u32 + self.header_bytes).max(1),
            traffic_class: self.dscp.bits() << 2 | self.ecn.bits(),
            fields: self.fields,
            segment: self.segment,
            tag: self.ip_at.map_or(0, |at| u64::from(at) + 1),
            data: self.payload.into_data(),
        })
    }
}

/// Returns the bytes of a packet whose headers are read.
fn bytes_of<'p>(payload: &'p Payload<'_>) -> Result<&'p [u8], Error> {
    match payload {
        Payload::Borrowed(bytes) => Ok(bytes),
        Payload::Owned(bytes) => Ok(bytes),
        Payload::Length(_) => Err(Error::Malformed("only its length is given")),
    }
}
