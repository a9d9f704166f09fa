//! Constant: always the same value.

use lockgate_engine::random::Random;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;

/// The constant law. A bare quantity is its short form.
#[derive(Clone, Debug)]
pub struct Constant {
    value: f64,
}

impl Distribution for Constant {
    const NAME: &'static str = "constant";
    const SUMMARY: &'static str = "always the same value; a bare quantity is short for it";
    const SOURCE: &'static str = "the D (deterministic) of Kendall's notation";
    const PARAMETERS: &'static [Parameter] = &[Parameter::required(Field::Value, "The value.")];

    fn new(given: &Given) -> Result<Self, Invalid> {
        Ok(Self { value: given.value.unwrap_or_default() })
    }

    #[inline]
    fn draw(&self, _: &mut Random) -> f64 {
        self.value
    }

    fn mean(&self) -> f64 {
        self.value
    }

    fn variance(&self) -> f64 {
        0.0
    }

    fn cdf(&self, x: f64) -> f64 {
        f64::from(u8::from(x >= self.value))
    }
}
