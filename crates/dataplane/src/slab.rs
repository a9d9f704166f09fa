//! Slab of frames: fixed number of equal slots, addressed by index.
//!
//! ```text
//! slot      0        1        2        3             bytes of slot i: [i * size, i * size + length)
//! bytes  | frame  | free   | frame  | free  |        free slots: a stack, lowest first
//! ```
//!
//! A queued frame pins its slot, so a caller that must always forward urgent frames keeps the last slots in
//! reserve ([`FrameSlab::free`]). A slot fits in the payload of an engine's packet.

/// Fixed pool of frame slots.
#[derive(Debug)]
pub struct FrameSlab {
    bytes: Vec<u8>,
    size: usize,
    lengths: Vec<u32>,
    free: Vec<u32>,
}

impl FrameSlab {
    /// Creates a slab of `count` slots for frames of up to `size` bytes. The kernel commits its pages on
    /// first use.
    pub fn new(count: u32, size: usize) -> Self {
        Self {
            bytes: vec![0; count as usize * size],
            size,
            lengths: vec![0; count as usize],
            // Lowest slot first: few frames then touch little memory.
            free: (0..count).rev().collect(),
        }
    }

    /// Returns the longest frame that fits, in bytes.
    pub fn longest(&self) -> usize {
        self.size
    }

    /// Returns the number of free slots.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Returns the number of slots in use.
    pub fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }

    /// Copies a frame in and returns its slot; `None` if it is too long or no slot is free.
    pub fn insert(&mut self, frame: &[u8]) -> Option<u64> {
        if frame.len() > self.size {
            return None;
        }
        let slot = self.free.pop()?;
        let start = slot as usize * self.size;
        self.bytes[start..start + frame.len()].copy_from_slice(frame);
        self.lengths[slot as usize] = frame.len() as u32;
        Some(u64::from(slot))
    }

    /// Returns the bytes of the frame in `slot`.
    pub fn bytes(&self, slot: u64) -> &[u8] {
        let start = slot as usize * self.size;
        &self.bytes[start..start + self.lengths[slot as usize] as usize]
    }

    /// Returns the bytes of the frame in `slot`, for changes in place.
    pub fn bytes_mut(&mut self, slot: u64) -> &mut [u8] {
        let start = slot as usize * self.size;
        &mut self.bytes[start..start + self.lengths[slot as usize] as usize]
    }

    /// Frees `slot`, which must be in use.
    pub fn release(&mut self, slot: u64) {
        self.free.push(slot as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_reused_and_a_frame_that_does_not_fit_is_refused() {
        let mut slab = FrameSlab::new(2, 4);
        let first = slab.insert(&[1, 2, 3]).expect("a free slot");
        let second = slab.insert(&[4]).expect("a free slot");
        assert_eq!((slab.insert(&[5]), slab.insert(&[0; 5]), slab.free()), (None, None, 0));
        slab.bytes_mut(first)[0] = 9;
        assert_eq!((slab.bytes(first), slab.bytes(second)), (&[9, 2, 3][..], &[4][..]));
        slab.release(first);
        assert_eq!(slab.insert(&[6, 7]), Some(first));
        assert_eq!(slab.bytes(first), [6, 7]);
        assert_eq!(slab.insert(&[0; 5]), None);
    }
}
