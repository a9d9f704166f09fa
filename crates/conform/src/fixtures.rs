//! Fixtures of the oracles: traffic, ports and links that several of them share.

pub(crate) mod borrowing;
pub(crate) mod forest;
pub(crate) mod hosts;
pub(crate) mod link;
pub(crate) mod managed;
pub(crate) mod metamorphic;
pub(crate) mod service;
pub(crate) mod spread;
pub(crate) mod stream;
pub(crate) mod weighted;
