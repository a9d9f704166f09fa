//! Texts of scenarios: what is read, refused and doubted, what changes it, and that it is written as it was
//! read.

mod applications;
mod change;
mod doubtful;
mod good;
mod groups;
mod noise;
mod policy;
mod round_trip;
mod schema;
mod spellings;
#[path = "../support/mod.rs"]
mod support;
mod tables;
