//! Greeting of a flow: the server learns where the packets of the flow come from, and answers there.

/// Length in bytes. No stamp and no clock probe has it.
pub(super) const LENGTH: usize = 9;

const MAGIC: [u8; 3] = *b"LGH";

/// Greeting, or the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) is_answer: bool,
    pub(super) session: u32,
    pub(super) flow: u8,
}

impl Greeting {
    pub(super) fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..3].copy_from_slice(&MAGIC);
        bytes[3] = u8::from(self.is_answer);
        bytes[4..8].copy_from_slice(&self.session.to_be_bytes());
        bytes[8] = self.flow;
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let [a, b, c, answer, s0, s1, s2, s3, flow] = *bytes;
        let session = u32::from_be_bytes([s0, s1, s2, s3]);
        ([a, b, c] == MAGIC && answer < 2).then_some(Self { is_answer: answer == 1, session, flow })
    }
}
