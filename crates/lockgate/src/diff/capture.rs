//! Packets of a capture that a difference touches.

use std::collections::BTreeMap;

use lockgate_engine::classify::PROTOCOL_OTHER;
use lockgate_headers::Field;
use lockgate_headers::frame::IpHeader;
use lockgate_traffic::{CapturedPacket, Replay, ReplayError};

use super::{Diff, Touched};

/// Error of a capture that cannot be read. The message continues the file's name.
pub type CaptureError = ReplayError;

/// Changes that a packet is among: indices of port and change.
type Indices = Vec<(usize, usize)>;

impl Diff {
    /// Counts the packets of a capture among those of each change. A capture has no marks and no flows of a
    /// scenario: its packets count as those without. Returns the number of its packets and their bytes.
    ///
    /// # Errors
    /// If the capture cannot be read.
    pub fn count(&mut self, capture: &[u8]) -> Result<Touched, CaptureError> {
        let mut counted: BTreeMap<(usize, usize), Touched> = BTreeMap::new();
        let mut known: BTreeMap<[u128; Field::COUNT], Indices> = BTreeMap::new();
        let mut all = Touched::default();
        let mut each = |packet: CapturedPacket<'_>| {
            let numbers = numbers(&packet);
            let indices = known.entry(numbers).or_insert_with(|| self.indices(&numbers));
            all.add(packet.length);
            for index in indices {
                counted.entry(*index).or_default().add(packet.length);
            }
        };
        Replay::read_packets(capture, &mut each)?;
        for (port, diff) in self.ports.iter_mut().enumerate() {
            for (index, change) in diff.packets.iter_mut().enumerate() {
                change.capture = Some(counted.get(&(port, index)).copied().unwrap_or_default());
            }
        }
        Ok(all)
    }

    fn indices(&self, numbers: &[u128; Field::COUNT]) -> Indices {
        let ports = self.ports.iter().enumerate();
        let of_port = |(port, diff): (usize, &super::PortDiff)| {
            let changes = diff.packets.iter().enumerate();
            let among =
                changes.filter(|(_, change)| change.regions.iter().any(|region| region.contains(numbers)));
            among.map(move |(index, _)| (port, index)).collect::<Indices>()
        };
        ports.flat_map(of_port).collect()
    }
}

impl Touched {
    fn add(&mut self, length: u32) {
        self.packets += 1;
        self.bytes += u64::from(length);
    }
}

/// Returns the fields of a packet as numbers.
fn numbers(packet: &CapturedPacket<'_>) -> [u128; Field::COUNT] {
    let header = if packet.is_frame { IpHeader::read(packet.bytes) } else { IpHeader::at(packet.bytes, 0) };
    let mut numbers = [0; Field::COUNT];
    let mut set = |field: Field, number: u128| numbers[field as usize] = number;
    set(Field::Length, packet.length.into());
    let Some(IpHeader { fields, traffic_class, tcp_flags, .. }) = header else {
        set(Field::Protocol, PROTOCOL_OTHER.into());
        return numbers;
    };
    let of = |address: core::net::IpAddr| match address {
        core::net::IpAddr::V4(address) => address.to_bits().into(),
        core::net::IpAddr::V6(address) => address.to_bits(),
    };
    set(Field::Version, if fields.source.is_ipv4() { 4 } else { 6 });
    set(Field::Source, of(fields.source));
    set(Field::Destination, of(fields.destination));
    set(Field::Protocol, fields.protocol.into());
    set(Field::SourcePort, fields.source_port.into());
    set(Field::DestinationPort, fields.destination_port.into());
    set(Field::FlowLabel, fields.flow_label.into());
    set(Field::Dscp, (traffic_class >> 2).into());
    set(Field::TcpFlags, tcp_flags.into());
    numbers
}
