#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod handle;
pub mod import;
pub mod language;
mod number;
mod parse;
pub mod position;
mod print;
pub mod problem;
pub mod syntax;
pub mod value;
mod words;

pub use handle::Handle;
pub use import::{Environment, Headers, Port, import};
pub use language::Kind;
pub use parse::parse;
pub use position::{Located, Position};
pub use problem::{Problem, Problems};
pub use syntax::{Command, Commands};
pub use value::Value;
