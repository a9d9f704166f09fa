//! Results as text: digest, tables and reproductions as lines that fit a surface, such as a terminal of 80 columns.
//!
//! Pure: the caller describes the surface, and prints the lines.

mod digest;
mod grid;
mod lines;
#[cfg(feature = "plans")]
mod reproduction;
mod surface;
mod tables;
mod width;

pub use digest::digest;
pub use grid::{Cell, Column, Grid};
pub use lines::Lines;
pub use lockgate_scenario::diagnostic::visible;
#[cfg(feature = "plans")]
pub use reproduction::{overview, reproduction, reproduction_cost};
pub use surface::{Look, NAMED_COLUMNS, Surface};
pub use tables::{cost, programs, tables};
pub use width::{cut, width, wrapped};
