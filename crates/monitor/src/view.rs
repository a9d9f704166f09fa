//! Terminal view of a session: a screen with keys, or one line per sample.

mod keys;
pub mod lines;
mod paint;
mod past;
mod screen;
mod show;

pub use show::{Messages, show};
