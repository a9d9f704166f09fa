//! Sets of packet headers: the rules of a classifier as boxes over fields, the packets that two lists of
//! rules treat differently, and rules that never match.
//!
//! ```text
//! Rule -> Region (a set of numbers for each field)
//! classes with their rules -> list: the first region that has a packet decides    (decisions)
//! two lists -> Part { region, old, new }: exactly the packets of another decision (difference)
//! list -> Never { rule, by }: rules whose packets earlier ones take               (never_matching)
//! Region -> the smallest packet, words                                            (Packet, Names)
//! ```
//!
//! Everything is exact: a set is a union of boxes, without samples. Nothing here reads a file.
//!
//! ```
//! use lockgate_headers::{Region, Space, Spans, Field, difference};
//!
//! let port = |low, high| Region::all().with(Field::DestinationPort, Spans::range(low, high));
//! let old = [(port(5000, 5010), 1), (Region::all(), 0)];
//! let new = [(port(5000, 5004), 1), (port(5005, 5009), 1), (Region::all(), 0)];
//! let parts = difference(&old, &new, &Space::packets()).expect("few parts");
//! assert_eq!((parts.len(), parts[0].old, parts[0].new), (1, 1, 0));
//! assert_eq!(parts[0].region.field(Field::DestinationPort), &Spans::one(5010));
//! ```
#![forbid(unsafe_code)]

mod decisions;
mod difference;
mod field;
#[cfg(feature = "frames")]
pub mod frame;
mod index;
mod marks;
mod merge;
mod never;
mod packet;
mod region;
mod spans;
mod words;

pub use decisions::{Class, decisions};
pub use difference::{Part, TooMany, difference, joined};
pub use field::Field;
pub use marks::Marks;
pub use never::{Never, are_disjoint, never_matching};
pub use packet::Packet;
pub use region::{Region, Space};
pub use spans::{Span, Spans};
pub use words::Names;
