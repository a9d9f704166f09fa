//! What a terminal shows of a session: a screen with keys, or a line a sample.

mod keys;
pub(crate) mod knob;
pub(crate) mod lines;
pub(crate) mod paint;
pub(crate) mod screen;
