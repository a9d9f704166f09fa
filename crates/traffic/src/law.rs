//! Random laws of times and sizes: checked, ready to draw from, with their theoretical moments.
//!
//! ```text
//! LawConfig --check--> Law:   distribution over real numbers -> nearest whole grain -> [min, max]
//! ```
//!
//! A grain is a picosecond or a byte. `min` and `max` clamp the draws of the distribution, unless they are
//! its own parameters (`uniform`; `max` of `pareto`). Clamping moves the mean; [`Law::mean`] accounts for
//! it.

mod config;

use lockgate_engine::random::Random;

pub use config::LawConfig;

use crate::files::LoadedFiles;
use crate::invalid::Invalid;
use crate::laws::{Distribution, Field, Given, Kind, Need, Parameter, Sampler, Visitor};
use crate::quantity::Quantity;

/// A random law of times or sizes, ready to draw from.
#[derive(Clone, Debug)]
pub struct Law<Q> {
    sampler: Sampler,
    /// Value of a constant law, exact: a real number could lose digits.
    constant: Option<Q>,
    min: Q,
    max: Q,
}

impl<Q: Quantity> Law<Q> {
    /// Creates the law that `config` describes. `files` holds the curve of its `file`, under the name
    /// `field` (see [`LoadedFiles::curves`]). Problems are reported within `field` too.
    pub fn new(config: &LawConfig<Q>, field: &str, files: &LoadedFiles) -> Result<Self, Invalid> {
        let law = Self::build(config, files.curves.get(field).cloned());
        law.map_err(|invalid| {
            if config.is_bare() {
                Invalid { field: field.to_owned(), ..invalid }
            } else {
                invalid.within(field)
            }
        })
    }

    fn build(
        config: &LawConfig<Q>,
        curve: Option<std::sync::Arc<crate::laws::empirical::Curve>>,
    ) -> Result<Self, Invalid> {
        let parameters = config.distribution.visit(ParametersOf);
        check_presence(config, parameters)?;
        let own = |field| parameters.iter().any(|parameter| parameter.field == field);
        let grains = |quantity: Option<Q>| quantity.map(Q::to_grains);
        if config.file.is_some() && curve.is_none() {
            return Err(Invalid::new("file", "has not been read"));
        }
        let given = Given {
            value: grains(config.value),
            mean: grains(config.mean),
            std: grains(config.std),
            min: grains(config.min.filter(|_| own(Field::Min))),
            max: grains(config.max.filter(|_| own(Field::Max))),
            scale: grains(config.scale),
            shape: config.shape,
            values: config.values.iter().flatten().map(|value| value.to_grains()).collect(),
            weights: config.weights.clone(),
            curve,
        };
        let (min, max) = (config.min.unwrap_or(Q::LEAST).max(Q::LEAST), config.max.unwrap_or(Q::MOST));
        if min > max {
            return Err(Invalid::new("max", format!("`{max}` is under `min`, which is `{min}`")));
        }
        let sampler = Sampler::new(config.distribution, &given)?;
        let constant = config.value.map(|value| value.max(min).min(max));
        Ok(Self { sampler, constant, min, max })
    }

    /// Draws one quantity.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> Q {
        let mut drawn = [Q::LEAST];
        self.fill(random, &mut drawn);
        drawn[0]
    }

    /// Fills `out` with draws; the distribution is dispatched once for all of them.
    #[inline]
    pub fn fill(&self, random: &mut Random, out: &mut [Q]) {
        match self.constant {
            Some(value) => out.fill(value),
            None => self.sampler.fill(random, self.min, self.max, out),
        }
    }

    /// Returns the value of a constant law.
    pub fn constant(&self) -> Option<Q> {
        self.constant
    }

    /// Returns the theoretical mean, clamping included, in seconds or bytes; `None` if it is infinite.
    pub fn mean(&self) -> Option<f64> {
        if let Some(value) = self.constant {
            return Some(value.to_grains() / Q::GRAINS);
        }
        let mean = self.mean_grains();
        mean.is_finite().then(|| mean / Q::GRAINS)
    }

    /// Returns the theoretical standard deviation of the distribution before clamping, in seconds or bytes;
    /// `None` if it is infinite.
    pub fn std(&self) -> Option<f64> {
        let std = libm::sqrt(self.sampler.variance());
        std.is_finite().then(|| std / Q::GRAINS)
    }

    /// Returns the probability of a draw at or below `quantity`, clamping included.
    pub fn cdf(&self, quantity: Q) -> f64 {
        match self.constant {
            Some(value) => f64::from(u8::from(quantity >= value)),
            None if quantity < self.min => 0.0,
            None if quantity >= self.max => 1.0,
            None => self.sampler.cdf(quantity.to_grains()),
        }
    }

    /// Computes the mean of the clamped distribution: probability below `min` and above `max` moves onto
    /// these.
    fn mean_grains(&self) -> f64 {
        let (min, max) = (self.min.to_grains(), self.max.to_grains());
        let below = if self.min > Q::LEAST { integral(|x| self.sampler.cdf(x), 0.0, min) } else { 0.0 };
        if self.max == Q::MOST {
            return self.sampler.mean() + below;
        }
        min + integral(|x| 1.0 - self.sampler.cdf(x), min, max)
    }
}

/// Integrates a monotone function with values between 0 and 1, to about six digits.
fn integral(function: impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    // Simpson's rule with steps that grow with the distance, so that it resolves a law whose weight is at a
    // picosecond as well as one at an hour.
    const STEPS: u32 = 1_000;
    let growth = libm::log1p(to - from);
    let at = |step: u32| from + libm::expm1(growth * f64::from(step) / f64::from(STEPS));
    (0..STEPS)
        .map(|step| {
            let (low, high) = (at(step), at(step + 1));
            (high - low) * (function(low) + 4.0 * function(0.5 * (low + high)) + function(high)) / 6.0
        })
        .sum()
}

struct ParametersOf;

impl Visitor for ParametersOf {
    type Output = &'static [Parameter];
    fn visit<D: Distribution>(self) -> Self::Output {
        D::PARAMETERS
    }
}

/// Checks that all required parameters are given, and no others.
fn check_presence<Q>(config: &LawConfig<Q>, parameters: &[Parameter]) -> Result<(), Invalid> {
    let law = config.distribution.name();
    let is_clamp = |field| matches!(field, Field::Min | Field::Max) && config.distribution != Kind::Constant;
    let is_known = |field| is_clamp(field) || parameters.iter().any(|parameter| parameter.field == field);
    if let Some(field) = Field::ALL.into_iter().find(|field| config.has(*field) && !is_known(*field)) {
        let why = format!("is not a parameter of `{law}`: it takes {}", names(parameters, |_| true));
        return Err(Invalid::new(field.name(), why));
    }
    let missing = parameters.iter().find(|p| p.need == Need::Required && !config.has(p.field));
    if let Some(parameter) = missing {
        return Err(Invalid::new(parameter.field.name(), format!("is missing: `{law}` needs it")));
    }
    let alternatives = || parameters.iter().filter(|parameter| parameter.need == Need::OneOf);
    let given: Vec<Field> = alternatives().map(|p| p.field).filter(|field| config.has(*field)).collect();
    match (given.as_slice(), alternatives().next()) {
        ([], Some(first)) => {
            let which = names(parameters, |parameter| parameter.need == Need::OneOf);
            Err(Invalid::new(first.field.name(), format!("is missing: `{law}` needs one of {which}")))
        }
        ([first, second, ..], _) => {
            let why = format!("and `{}` say the same: give one of them", first.name());
            Err(Invalid::new(second.name(), why))
        }
        _ => Ok(()),
    }
}

fn names(parameters: &[Parameter], which: impl Fn(&Parameter) -> bool) -> String {
    let names: Vec<String> =
        parameters.iter().filter(|p| which(p)).map(|p| format!("`{}`", p.field.name())).collect();
    names.join(" ")
}

#[cfg(test)]
mod tests;
