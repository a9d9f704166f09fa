//! Overheads as the keys that state them.

use core::fmt::Write as _;

use lockgate_engine::overhead::{FrameOverhead, Framing, LINES, LinkHeader, PacketOverhead};
use lockgate_engine::units::{Bytes, Overhead};

/// Returns the keys of a link that has this overhead, a line each.
pub(crate) fn link_keys(overhead: FrameOverhead) -> String {
    overhead_keys(overhead.of_packets(LinkHeader::Ethernet), overhead.bytes())
}

/// Returns the keys of a port that has this overhead, a line each.
pub(crate) fn port_keys(overhead: PacketOverhead) -> String {
    overhead_keys(overhead, overhead.bytes())
}

/// Returns the keys that state an overhead: the name of a line, which means the same everywhere, or `bytes`.
fn overhead_keys(overhead: PacketOverhead, bytes: Overhead) -> String {
    if let Some(line) = LINES.into_iter().find(|line| line.overhead == overhead) {
        return format!("overhead = \"{}\"\n", line.name);
    }
    let mut keys = String::new();
    if overhead.on(LinkHeader::Ethernet).bytes() != Overhead::default() {
        let _ = writeln!(keys, "overhead = \"{bytes}\"");
    }
    let (mpu, framing) = overhead.mpu_and_framing();
    if mpu != Bytes::ZERO {
        let _ = writeln!(keys, "mpu = \"{mpu}\"");
    }
    if framing != Framing::Noatm {
        let _ = writeln!(keys, "framing = \"{}\"", framing.name());
    }
    keys
}
