//! Live video of variable bit rate: frames of several packets each.
//!
//! ```text
//! frame interval   t0 (1 + X)    t0 = 1/30 s          X, Y Laplacian, mean 0, scale 0.15
//! frame size       B0 (1 + Y)    B0 = rate * t0 / 8   packets of up to 1254 bytes, all at the frame's time
//! ```
//!
//! Source: RFC 8593, the statistical model's steady state and its default parameters.
//! Differs: a deviation beyond 0.9 is drawn again (the RFC leaves the bounds open); the remainder of a frame
//! below 60 bytes is added to the next one, so that the rate is kept; sizes count headers.

use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, PICOS_PER_SECOND, Rate};

use super::emission::{BATCH, Emission};
use crate::frame::HEADERS;
use crate::ziggurat::StandardExponential;

/// Frames a second.
const FRAMES: f64 = 30.0;
/// Scale of both deviations.
const SCALE: f64 = 0.15;
/// Largest deviation.
const BOUND: f64 = 0.9;
/// Largest packet: 1200 bytes of RTP payload, the RTP header of 12 bytes, and the headers below.
const LARGEST_PACKET_BYTES: u32 = 1_200 + 12 + HEADERS;
/// Smallest packet.
const SMALLEST_PACKET_BYTES: u64 = 60;

/// A live video stream.
pub(super) struct Video {
    rate: Rate,
    intervals: Random,
    sizes: Random,
    standard: StandardExponential,
    /// Time of the current frame.
    at: Duration,
    /// Bytes of the current frame not yet sent, headers included.
    left: u64,
    has_begun: bool,
}

impl Video {
    /// Creates a stream of this rate, which must be at least 64 kbit/s.
    pub(super) fn new(rate: Rate, intervals: Random, sizes: Random) -> Self {
        let standard = StandardExponential::new();
        Self { rate, intervals, sizes, standard, at: Duration::ZERO, left: 0, has_begun: false }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate.as_bits() as f64
    }

    /// Returns the packets per second, assuming that all are full.
    pub(super) fn packet_rate(&self) -> f64 {
        self.rate() / (8.0 * f64::from(LARGEST_PACKET_BYTES))
    }

    pub(super) fn fill(&mut self, batch: &mut Vec<Emission>) {
        for _ in 0..BATCH {
            // A frame has at least 13 bytes (a tenth of 266): five frames fill a packet.
            while self.left < SMALLEST_PACKET_BYTES {
                self.next_frame();
            }
            let length = u64::from(LARGEST_PACKET_BYTES).min(self.left);
            self.left -= length;
            batch.push(Emission { at: self.at, length: length as u32 });
        }
    }

    fn next_frame(&mut self) {
        if self.has_begun {
            let interval = (1.0 + deviation(self.standard, &mut self.intervals)) / FRAMES;
            self.at += Duration::from_picos((interval * PICOS_PER_SECOND as f64) as u64);
        }
        self.has_begun = true;
        let mean = self.rate() / (8.0 * FRAMES);
        let size = mean * (1.0 + deviation(self.standard, &mut self.sizes));
        self.left += (size + 0.5) as u64;
    }
}

/// Draws a Laplacian deviation within the bounds.
fn deviation(standard: StandardExponential, random: &mut Random) -> f64 {
    loop {
        let size = SCALE * standard.draw(random);
        if size <= BOUND {
            return if random.bits() & 1 == 0 { size } else { -size };
        }
    }
}
