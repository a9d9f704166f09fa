//! Conditions of a filter, as bits of an IPv4 header and of the transport header after it.

use core::net::Ipv4Addr;

/// Bytes supported: an IPv4 header and a TCP header, both without options.
const BYTES: usize = 40;

/// Bytes of a frame before the IPv4 header.
const ETHERNET: u32 = 14;

/// Mask of the code point in a TOS byte; the other two bits are ECN.
const CODE_POINT: u8 = 0xfc;

/// Names of the TCP flags, from the lowest bit (RFC 9293, section 3.1).
const FLAGS: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];

/// Required bits, and ranges of ports. The default matches every packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conditions {
    values: [u8; BYTES],
    masks: [u8; BYTES],
    /// Ranges of source and destination port.
    ports: [(u16, u16); 2],
    /// True if two conditions contradict each other.
    is_contradiction: bool,
}

impl Default for Conditions {
    fn default() -> Self {
        let (values, masks) = ([0; BYTES], [0; BYTES]);
        Self { values, masks, ports: [(0, u16::MAX); 2], is_contradiction: false }
    }
}

/// Headers of a flow's packets.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    pub name: String,
    pub protocol: u8,
    /// Addresses of sender and receiver, if the file has them.
    pub addresses: Option<[Ipv4Addr; 2]>,
    /// Source port, if the file has it.
    pub source_port: Option<u16>,
    pub destination_port: u16,
    pub tos: u8,
    /// True if the ECN bits of every packet are those of `tos`.
    pub has_fixed_ecn: bool,
    /// Bytes of a frame, if all have the same length.
    pub length: Option<u32>,
}

/// Parses an integer: decimal, hexadecimal with `0x`, or octal with a leading `0`, as in C.
pub(super) fn number(text: &str) -> Result<u32, String> {
    let read = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None if text.len() > 1 && text.starts_with('0') => u32::from_str_radix(text, 8),
        None => text.parse(),
    };
    read.map_err(|_| format!("`{text}` is not a whole number"))
}

/// Returns the number of leading ones of a mask that has no others; `None` for other masks.
fn leading(mask: u32, width: u32) -> Option<u32> {
    let ones = (mask << (32 - width)).leading_ones();
    (mask.count_ones() == ones).then_some(ones)
}

impl Conditions {
    /// Requires `size` bytes from `at` on to be `value` where `mask` has ones.
    pub(super) fn bytes(&mut self, at: usize, size: usize, value: u32, mask: u32) -> Result<(), String> {
        if size < 4 && (value | mask) >> (8 * size) != 0 {
            return Err(format!("`{value:#x} {mask:#x}` has more than {} bits", 8 * size));
        }
        for (index, at) in (at..at + size).enumerate() {
            let shift = 8 * (size - 1 - index);
            let (value, mask) = ((value >> shift) as u8, (mask >> shift) as u8);
            if mask == 0 {
                continue;
            }
            if at >= BYTES {
                return Err(format!("byte {at} of the headers is not understood"));
            }
            self.is_contradiction |= (self.values[at] ^ value) & self.masks[at] & mask != 0;
            self.values[at] |= value & mask;
            self.masks[at] |= mask;
        }
        Ok(())
    }

    /// Requires an address or a prefix: `10.1.0.0/16`, `10.1.0.0/255.255.0.0`.
    pub(super) fn address(&mut self, is_source: bool, text: &str) -> Result<(), String> {
        let wrong = || format!("`{text}` is no address and no prefix");
        let (address, prefix) = text.split_once('/').unwrap_or((text, "32"));
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let mask = match prefix.parse::<Ipv4Addr>() {
            Ok(mask) => mask.to_bits(),
            Err(_) => match prefix.parse::<u32>() {
                Ok(bits @ 0..=32) => u32::MAX.checked_shl(32 - bits).unwrap_or(0),
                _ => return Err(wrong()),
            },
        };
        self.bytes(if is_source { 12 } else { 16 }, 4, address.to_bits(), mask)
    }

    /// Requires a port from `low` to `high`.
    pub(super) fn ports(&mut self, is_source: bool, low: u32, high: u32) -> Result<(), String> {
        let (Ok(low), Ok(high)) = (u16::try_from(low), u16::try_from(high)) else {
            return Err(format!("`{low}-{high}` are no ports"));
        };
        let own = &mut self.ports[usize::from(!is_source)];
        *own = (own.0.max(low), own.1.min(high));
        self.is_contradiction |= own.0 > own.1;
        Ok(())
    }

    /// Checks that the conditions are supported, and that packets can satisfy them.
    pub(super) fn check(&self) -> Result<(), String> {
        // Version and header length of a packet without options.
        let is_other = (0x45 ^ self.values[0]) & self.masks[0] != 0;
        if self.is_contradiction || is_other {
            return Err("no packet is what the filter asks for".to_owned());
        }
        let understood =
            |at: usize| matches!(at, 0..=3 | 9 | 12..=23 | 33) || (at == 32 && self.masks[32] & 0xf0 == 0);
        if let Some(at) = (0..BYTES).find(|at| self.masks[*at] != 0 && !understood(*at)) {
            return Err(format!("byte {at} of the headers is not understood"));
        }
        if !matches!(self.masks[9], 0 | 0xff) {
            return Err("a mask on the `protocol` is not understood".to_owned());
        }
        let (clear, unnamed) = (self.masks[33] & !self.values[33], self.masks[32]);
        if clear | unnamed != 0 {
            return Err("`tcp_flags` that must not be set are not understood".to_owned());
        }
        if self.masks[33] != 0 && self.protocol() != Some(6) {
            return Err("`tcp_flags` belong to a filter for protocol 6, tcp".to_owned());
        }
        for (at, size) in [(2, 2), (12, 4), (16, 4), (20, 2), (22, 2)] {
            let mask = word(&self.masks, at, size);
            if leading(mask, 8 * size as u32).is_none() {
                return Err(format!(
                    "the mask `{mask:#x}` is not understood: its ones do not stand together"
                ));
            }
        }
        if (0..2).any(|end| self.port_range(end).is_none()) || self.lengths().1 < self.lengths().0 {
            return Err("no packet is what the filter asks for".to_owned());
        }
        Ok(())
    }

    /// Returns true if it matches every packet.
    pub(super) fn is_everything(&self) -> bool {
        self.masks[1..].iter().all(|mask| *mask == 0) && self.ports == [(0, u16::MAX); 2]
    }

    /// Returns true if it has conditions on addresses.
    pub(super) fn has_addresses(&self) -> bool {
        self.masks[12..20].iter().any(|mask| *mask != 0)
    }

    /// Returns the lowest and the highest value of a field whose mask is a prefix.
    fn range(&self, at: usize, size: usize) -> (u32, u32) {
        let full = u32::MAX >> (32 - 8 * size);
        let (value, mask) = (word(&self.values, at, size), word(&self.masks, at, size));
        (value & mask, value & mask | (full & !mask))
    }

    fn protocol(&self) -> Option<u8> {
        (self.masks[9] != 0).then_some(self.values[9])
    }

    /// Returns the range of source (0) or destination (1) ports; `None` if it is empty.
    fn port_range(&self, end: usize) -> Option<(u16, u16)> {
        let (low, high) = self.range(20 + 2 * end, 2);
        let own = self.ports[end];
        let (low, high) = ((low as u16).max(own.0), (high as u16).min(own.1));
        (low <= high).then_some((low, high))
    }

    /// Returns the range of frame lengths in bytes.
    fn lengths(&self) -> (u32, u32) {
        let (low, high) = self.range(2, 2);
        (low + ETHERNET, high + ETHERNET)
    }

    /// Returns the code points that it matches; [`takes`](Self::takes) checks the ECN bits.
    fn code_points(&self) -> Vec<u8> {
        let asked = self.masks[1] & CODE_POINT;
        (0..64).filter(|code| ((code << 2) ^ self.values[1]) & asked == 0).collect()
    }

    /// Returns a rule for a scenario's `match`.
    pub(super) fn toml(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.protocol().map(|protocol| format!("protocol = {protocol}")));
        for (key, at) in [("source", 12), ("destination", 16)] {
            let mask = word(&self.masks, at, 4);
            if mask != 0 {
                let address = Ipv4Addr::from_bits(word(&self.values, at, 4) & mask);
                parts.push(format!("{key} = \"{address}/{}\"", mask.leading_ones()));
            }
        }
        for (key, end) in [("source_port", 0), ("destination_port", 1)] {
            match self.port_range(end) {
                Some((0, u16::MAX)) | None => {}
                Some((low, high)) if low == high => parts.push(format!("{key} = {low}")),
                Some((low, high)) => parts.push(format!("{key} = \"{low}-{high}\"")),
            }
        }
        if self.masks[1] & CODE_POINT != 0 {
            parts.push(format!("dscp = {:?}", self.code_points()));
        }
        if self.masks[33] != 0 {
            let names = (0..8).filter(|bit| self.values[33] >> bit & 1 == 1).map(|bit| FLAGS[bit]);
            parts.push(format!("tcp_flags = {:?}", names.collect::<Vec<_>>()));
        }
        if self.masks[2..4] != [0, 0] {
            let (low, high) = self.lengths();
            parts.push(format!("length = \"{low}B-{high}B\""));
        }
        format!("{{ {} }}", parts.join(", ")).replace("{  }", "{ }")
    }

    /// Returns true if it matches all packets of this flow, false if none, `None` if some. With `is_ours`
    /// as the rule of a scenario does, which does not compare ECN bits.
    ///
    /// # Errors
    /// Fails if the file lacks a property of the flow that is compared.
    pub(super) fn takes(&self, flow: &Headers, is_ours: bool) -> Result<Option<bool>, String> {
        let within = |(low, high): (u16, u16), port: u16| (low..=high).contains(&port);
        let asked = if is_ours { self.masks[1] & CODE_POINT } else { self.masks[1] };
        let ecn = asked & !CODE_POINT;
        let certain = if flow.has_fixed_ecn { 0xff } else { CODE_POINT };
        if self.protocol().is_some_and(|protocol| protocol != flow.protocol)
            || self.port_range(1).is_none_or(|range| !within(range, flow.destination_port))
            || (flow.tos ^ self.values[1]) & asked & certain != 0
        {
            return Ok(Some(false));
        }
        let unsaid = |what: &str| {
            format!("a filter asks for {what}, and the file does not say that of flow `{}`", flow.name)
        };
        if self.has_addresses() {
            let addresses = flow.addresses.ok_or_else(|| unsaid("addresses"))?;
            for (address, at) in addresses.into_iter().zip([12, 16]) {
                let mask = word(&self.masks, at, 4);
                if (address.to_bits() ^ word(&self.values, at, 4)) & mask != 0 {
                    return Ok(Some(false));
                }
            }
        }
        let ports = self.port_range(0).unwrap_or((1, 0));
        if ports != (0, u16::MAX) {
            let port = flow.source_port.ok_or_else(|| unsaid("a source port"))?;
            if !within(ports, port) {
                return Ok(Some(false));
            }
        }
        let mut is_certain = self.masks[33] == 0 && (ecn == 0 || flow.has_fixed_ecn);
        if self.masks[2..4] != [0, 0] {
            let (low, high) = self.lengths();
            match flow.length {
                Some(length) if !(low..=high).contains(&length) => return Ok(Some(false)),
                Some(_) => {}
                None => is_certain = false,
            }
        }
        Ok(is_certain.then_some(true))
    }
}

/// Returns the big-endian number in `size` bytes from `at` on.
fn word(bytes: &[u8; BYTES], at: usize, size: usize) -> u32 {
    bytes[at..at + size].iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Headers {
        Headers {
            name: "f".to_owned(),
            protocol: 17,
            addresses: None,
            source_port: None,
            destination_port: 9000,
            tos: 0xb9,
            has_fixed_ecn: true,
            length: Some(500),
        }
    }

    fn asked(ask: impl FnOnce(&mut Conditions) -> Result<(), String>) -> Conditions {
        let mut conditions = Conditions::default();
        ask(&mut conditions).expect("understood");
        conditions.check().expect("possible");
        conditions
    }

    #[test]
    fn a_flow_is_taken_not_taken_or_both() {
        let port = asked(|it| it.bytes(22, 2, 9000, 0xffff));
        assert_eq!(port.takes(&flow(), false), Ok(Some(true)));
        assert_eq!(port.takes(&Headers { destination_port: 9001, ..flow() }, false), Ok(Some(false)));
        // A kernel compares the ECN bits of a whole TOS byte, a scenario does not.
        let tos = asked(|it| it.bytes(1, 1, 0xb8, 0xff));
        assert_eq!((tos.takes(&flow(), false), tos.takes(&flow(), true)), (Ok(Some(false)), Ok(Some(true))));
        let short = asked(|it| it.bytes(2, 2, 0, 0xfe00));
        assert_eq!(short.takes(&flow(), false), Ok(Some(true)));
        assert_eq!(short.takes(&Headers { length: None, ..flow() }, false), Ok(None));
        let from = asked(|it| it.address(true, "10.1.0.0/16"));
        assert!(from.takes(&flow(), false).expect_err("no address").contains("addresses"));
        let addresses = Some([Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1)]);
        assert_eq!(from.takes(&Headers { addresses, ..flow() }, false), Ok(Some(true)));
        let sent_from = asked(|it| it.ports(true, 1, 1023));
        assert!(sent_from.takes(&flow(), false).expect_err("no port").contains("source port"));
        assert_eq!(sent_from.takes(&Headers { source_port: Some(80), ..flow() }, false), Ok(Some(true)));
    }
}
