//! Reasons why the conditions of a filter have no counterpart in a scenario.

use super::MOST_RULES;
use crate::problem::Problem;

/// Error: conditions that a scenario cannot express, or that a flow does not decide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Inexpressible {
    #[error("no packet is what the filter asks for")]
    NoPacket,
    #[error("byte {0} of the headers is not understood")]
    Byte(usize),
    #[error("a mask on the `protocol` is not understood")]
    ProtocolMask,
    #[error("a mask on the length whose ones do not stand together is not understood")]
    LengthMask,
    #[error("the mask `{0:#x}` is not understood: its ones do not stand together")]
    Mask(u32),
    #[error("reserved bits of the TCP flags are not understood")]
    ReservedFlags,
    #[error("`tcp_flags` that must not be set are not understood")]
    ClearFlags,
    #[error("`tcp_flags` belong to a filter for protocol 6, tcp")]
    FlagsWithoutTcp,
    #[error("the mask `{0:#x}` stands for more than {MOST_RULES} ranges")]
    Ranges(u32),
    #[error("the masks stand for more than {MOST_RULES} rules")]
    Rules,
    #[error("a filter compares {what}, unknown for flow `{flow}`")]
    Unknown { what: &'static str, flow: String },
}

impl Inexpressible {
    /// Returns the problem of the filter at a position.
    pub(crate) fn at(&self, at: crate::position::Position) -> Problem {
        Problem::new(at, self.to_string())
    }
}
