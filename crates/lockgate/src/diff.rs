//! Difference of two policies, scenarios or scripts: which packets they treat differently, what changed in
//! the trees of queues, and both run with the same seeds.
//!
//! ```text
//! Side (ports, names of flows, the other keys) x 2 -> Diff { ports: [packets, tree, renamed], others }
//! Diff + a capture -> packets and bytes that each change touches
//! texts of both -> Trial -> rows -> Compared
//! ```
//!
//! The sets of packets are exact ([`lockgate_headers`]); a packet is counted as changed if its class, the
//! rates of its class, its priority or its mark differ.

mod capture;
mod keys;
mod packets;
mod side;
mod text;
mod tree;
mod trial;
mod values;

use serde::Serialize;

use lockgate_headers::TooMany;

pub use self::capture::CaptureError;
pub use self::packets::{Change, PacketChange, PacketSet, Touched, Treatment, Witness};
pub use self::side::Side;
pub use self::trial::{Trial, TrialSource};

/// Difference of two sides.
#[derive(Debug, Serialize)]
pub struct Diff {
    /// Name of the old side.
    pub old: String,
    /// Name of the new side.
    pub new: String,
    /// Ports of both that differ.
    pub ports: Vec<PortDiff>,
    /// Ports that only one side has, in words.
    pub unpaired: Vec<String>,
    /// Other keys of the files that differ, in words.
    pub others: Vec<String>,
    /// Lines of commands that are not understood and that only one side has, in words.
    pub not_compared: Vec<String>,
    /// Number of lines that are not understood and that both sides have.
    pub not_compared_in_both: usize,
}

/// Difference of a port.
#[derive(Debug, Serialize)]
pub struct PortDiff {
    /// Name of the port, and on the new side if that is another.
    pub port: String,
    /// Packets that are treated differently.
    pub packets: Vec<PacketChange>,
    /// Changes of rates, kinds, parameters and classes, in words.
    pub tree: Vec<String>,
    /// Classes with another name.
    pub renamed: Vec<Renamed>,
}

/// Class with another name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Renamed {
    /// Path of the old name.
    pub old: String,
    /// Path of the new name.
    pub new: String,
}

impl Diff {
    /// Compares two sides.
    ///
    /// # Errors
    /// If the rules of a port differ in too many ways to be listed.
    pub fn new(old: &Side, new: &Side) -> Result<Self, TooMany> {
        let (pairs, unpaired) = side::pairs(old, new);
        let names = side::names(old, new, &pairs).ok_or(TooMany)?;
        let mut ports = Vec::new();
        for (before, after) in pairs {
            let mut matching = tree::Matching::new(&before.tree, &after.tree);
            if matching.has_open() {
                for (one, other) in packets::same_packets([old, new], [before, after], &matching, &names)? {
                    matching.join([&before.tree, &after.tree], one, other);
                }
            }
            let packets = packets::changes([old, new], [before, after], &matching, &names)?;
            let diff = PortDiff {
                port: if before.name == after.name {
                    before.name.clone()
                } else {
                    format!("{} → {}", before.name, after.name)
                },
                packets,
                tree: tree::words([before, after], &matching),
                renamed: matching.renamed(),
            };
            if !diff.is_same() {
                ports.push(diff);
            }
        }
        let (old_name, new_name) = (old.name.clone(), new.name.clone());
        let (not_compared, not_compared_in_both) = old.not_compared(new);
        let others = keys::differing(old, new);
        Ok(Self { old: old_name, new: new_name, ports, unpaired, others, not_compared, not_compared_in_both })
    }

    /// Returns true if both sides are the same, the lines aside that are not understood and that both have.
    pub fn is_same(&self) -> bool {
        self.ports.is_empty()
            && self.unpaired.is_empty()
            && self.others.is_empty()
            && self.not_compared.is_empty()
    }
}

impl PortDiff {
    fn is_same(&self) -> bool {
        self.packets.is_empty() && self.tree.is_empty() && self.renamed.is_empty()
    }
}
