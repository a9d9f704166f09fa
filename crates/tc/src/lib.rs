#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod convert;
pub mod export;
pub mod handle;
pub mod import;
pub mod judge;
pub mod kernel;
pub mod language;
mod lex;
pub mod lint;
mod number;
mod parse;
pub mod position;
mod print;
pub mod problem;
pub mod reading;
pub mod scenario;
mod script;
mod show;
mod sqm;
pub mod syntax;
pub mod value;
pub mod words;

pub use convert::{Converted, Request, convert};
pub use handle::Handle;
pub use import::{Environment, Headers, Options, Port, import, import_devices};
pub use language::{Kind, Version};
pub use parse::parse;
pub use position::{Located, Position};
pub use problem::{Problem, Problems};
pub use reading::{Form, Reading, read};
pub use script::Skipped;
pub use syntax::{Command, Commands};
pub use value::Value;
