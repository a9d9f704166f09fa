//! `fixed`: keeps a given rate. The law that others are held against: `tune` over it finds the best static
//! cap.

use lockgate_engine::units::Rate;
use serde::Deserialize;

use super::{About, Step, Unfit};
use crate::bounds::Bounds;
use crate::reason::Why;
use crate::signals::View;

/// Parameters of `fixed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The rate; by default that at the start.
    pub rate: Option<Rate>,
}

impl super::Config for Config {
    fn check(&self) -> Result<(), Unfit> {
        if self.rate.is_some_and(Rate::is_zero) {
            return Err(Unfit { field: "rate", range: "it is more than zero".to_owned() });
        }
        Ok(())
    }
}

pub(super) const ABOUT: About = About {
    name: "fixed",
    summary: "keeps a given rate",
    source: "a shaper without a controller",
    guarantees: &["the rate never changes"],
};

/// State of `fixed`.
#[derive(Debug)]
pub struct Fixed {
    rate: Rate,
}

impl Fixed {
    pub(super) fn new(config: &Config, bounds: Bounds) -> Self {
        Self { rate: config.rate.unwrap_or(bounds.start) }
    }
}

impl Step for Fixed {
    fn step(&mut self, _: &View<'_>) -> (Rate, Why) {
        (self.rate, Why::Given)
    }
}
