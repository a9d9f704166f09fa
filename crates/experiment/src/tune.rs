//! Search for the best values of a scenario's parameters: goals, constraints, an optimiser that proposes
//! points.
//!
//! ```text
//! space, goals, constraints -> optimiser asks -> every seed is run -> means -> told -> ... -> tried points
//! ```
//!
//! All points are run with the same seeds (common random numbers), so that random load is the same for all.
//! Then [`judge`] runs the best points with more seeds, and compares the best of those on seeds that nothing
//! was chosen by. The optimiser is that of the crate `optimizer` (decision 104); this module passes results
//! to it and decides when the search ends.

mod found;
mod goal;
mod judge;
mod knee;
mod largest;
mod optimiser;
mod pattern;
mod proposals;
mod search;
mod space;

pub use self::found::{Request, Search, Stop, Tried};
pub use self::goal::{Constraint, Goal};
pub use self::judge::{JudgedFinalists, judge};
pub use self::knee::knee;
pub use self::largest::{Largest, largest};
pub use self::search::search;
pub use self::space::{Point, Space};
