//! Results as text: digest, tables and reproductions as lines that fit a surface, such as a terminal of 80
//! columns.
//!
//! Pure: the caller describes the surface, and prints the lines.

mod digest;
mod grid;
#[cfg(feature = "plans")]
mod largest;
mod lines;
mod list;
mod proof;
mod queues;
#[cfg(feature = "plans")]
mod reproduction;
mod step;
mod surface;
mod tables;
mod twin;
mod width;
mod worst;

pub use digest::Digest;
pub use grid::{Cell, Column, Grid};
#[cfg(feature = "plans")]
pub use largest::largest;
pub use lines::Lines;
pub use list::list;
pub use lockgate_scenario::diagnostic::visible;
pub use proof::{bounds, buffers, derivation};
pub use queues::queues;
#[cfg(feature = "plans")]
pub use reproduction::{overview, reproduction, reproduction_cost};
pub use step::step;
pub use surface::{Look, NAMED_COLUMNS, Surface};
pub use tables::{cost, programs, tables};
pub use twin::{table as twin_table, twin};
pub use width::{cut, width, wrapped};
pub use worst::worst;
