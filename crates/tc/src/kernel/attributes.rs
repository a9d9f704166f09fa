//! Netlink attributes: length and type in 16 bits each, then the value, padded to four bytes.

/// Bits of the type; the others say that a value is nested, or in the order of the network.
const TYPE: u16 = 0x3fff;

/// Bytes before the value.
const HEAD: usize = 4;

/// Error: attributes whose lengths do not fit, or that lack what they must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kernel's answer is malformed: {0}")]
pub struct Malformed(pub(crate) &'static str);

/// Iterator over attributes: type and value. Ends at the first attribute that does not fit.
#[derive(Debug)]
pub(crate) struct Attributes<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16::from_ne_bytes(*self.0.first_chunk()?));
        let kind = u16::from_ne_bytes(*self.0.get(2..)?.first_chunk()?) & TYPE;
        let value = self.0.get(HEAD..length)?;
        self.0 = self.0.get(length.next_multiple_of(HEAD)..).unwrap_or_default();
        Some((kind, value))
    }
}

/// Returns the first attribute of this type.
pub(crate) fn find(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    Attributes(attributes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// Adds an attribute whose value `write` writes.
pub(crate) fn add(out: &mut Vec<u8>, kind: u16, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; HEAD]);
    write(out);
    let length = u16::try_from(out.len() - start).unwrap_or(u16::MAX);
    out[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    out[start + 2..start + HEAD].copy_from_slice(&kind.to_ne_bytes());
    out.resize(out.len().next_multiple_of(HEAD), 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(values in prop::collection::vec((0..TYPE, prop::collection::vec(any::<u8>(), 0..40)), 0..12)) {
            let mut bytes = Vec::new();
            for (kind, value) in &values {
                add(&mut bytes, *kind, |out| out.extend(value));
            }
            let read: Vec<(u16, Vec<u8>)> = Attributes(&bytes).map(|(kind, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(read, values);
        }

        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Attributes(&bytes).count() <= bytes.len() / HEAD + 1);
        }
    }
}
