//! Terminal view of a session: a screen with keys, or one line per sample.

mod keys;
pub(crate) mod knob;
pub(crate) mod lines;
pub(crate) mod paint;
pub(crate) mod screen;
