//! The list of random laws.
//!
//! To add one: write `laws/<name>.rs`, then name it in the list below. Scenario files, the JSON schema,
//! `lockgate list distributions` and the tests that every law must pass all follow from this list.

use std::sync::Arc;

use lockgate_engine::random::Random;
use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;
use crate::quantity::Quantity;

/// A distribution over real numbers of grains (picoseconds or bytes); [`Law`](crate::Law) rounds its draws.
pub trait Distribution: Sized + Clone + core::fmt::Debug + Send + Sync + 'static {
    /// Name in scenario files.
    const NAME: &'static str;
    /// Summary, in one line.
    const SUMMARY: &'static str;
    /// Source of the definition, or of its use.
    const SOURCE: &'static str;
    /// Parameters. Other fields are refused, except `min` and `max`, which then clamp.
    const PARAMETERS: &'static [Parameter];

    /// Creates the distribution with these parameters. The caller has checked which are present, not their
    /// values.
    fn new(given: &Given) -> Result<Self, Invalid>;

    /// Draws a number of grains. May be negative or not finite in rare cases; the law rounds and clamps it.
    fn draw(&self, random: &mut Random) -> f64;

    /// Returns the mean in grains; infinite if there is none.
    fn mean(&self) -> f64;

    /// Returns the variance in grains squared; infinite if there is none.
    fn variance(&self) -> f64;

    /// Returns the probability of a draw at or below `x` grains.
    fn cdf(&self, x: f64) -> f64;
}

/// A parameter of a law: its field, its necessity and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Field of the table.
    pub field: Field,
    /// Necessity.
    pub need: Need,
    /// Meaning.
    pub doc: &'static str,
}

impl Parameter {
    const fn new(field: Field, need: Need, doc: &'static str) -> Self {
        Self { field, need, doc }
    }

    /// Declares a required parameter.
    pub const fn required(field: Field, doc: &'static str) -> Self {
        Self::new(field, Need::Required, doc)
    }

    /// Declares one of several parameters of which exactly one is required.
    pub const fn one_of(field: Field, doc: &'static str) -> Self {
        Self::new(field, Need::OneOf, doc)
    }

    /// Declares an optional parameter.
    pub const fn optional(field: Field, doc: &'static str) -> Self {
        Self::new(field, Need::Optional, doc)
    }
}

/// The necessity of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Required.
    Required,
    /// Exactly one of all the law's parameters with this value is required.
    OneOf,
    /// Optional.
    Optional,
}

/// The fields of a law's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `value`, a quantity.
    Value,
    /// `mean`, a quantity.
    Mean,
    /// `std`, a quantity.
    Std,
    /// `min`, a quantity.
    Min,
    /// `max`, a quantity.
    Max,
    /// `scale`, a quantity.
    Scale,
    /// `shape`, a bare number.
    Shape,
    /// `values`, a list of quantities.
    Values,
    /// `weights`, a list of bare numbers.
    Weights,
    /// `file`, a file's name.
    File,
}

/// The notation of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A time or a size with its unit.
    Quantity,
    /// A bare number.
    Number,
    /// A list of times or sizes.
    Quantities,
    /// A list of bare numbers.
    Numbers,
    /// The name of a file.
    File,
}

impl Field {
    /// Every field.
    pub const ALL: [Self; 10] = [
        Self::Value,
        Self::Mean,
        Self::Std,
        Self::Min,
        Self::Max,
        Self::Scale,
        Self::Shape,
        Self::Values,
        Self::Weights,
        Self::File,
    ];

    /// Returns its name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Mean => "mean",
            Self::Std => "std",
            Self::Min => "min",
            Self::Max => "max",
            Self::Scale => "scale",
            Self::Shape => "shape",
            Self::Values => "values",
            Self::Weights => "weights",
            Self::File => "file",
        }
    }

    /// Returns its notation.
    pub const fn form(self) -> Form {
        match self {
            Self::Value | Self::Mean | Self::Std | Self::Min | Self::Max | Self::Scale => Form::Quantity,
            Self::Shape => Form::Number,
            Self::Values => Form::Quantities,
            Self::Weights => Form::Numbers,
            Self::File => Form::File,
        }
    }
}

/// Meaning of `min` and `max` for a law that has no such parameter.
pub const CLAMPS: [(Field, &str); 2] = [
    (Field::Min, "Lower draws become this; the mean achieved is then above the law's own."),
    (Field::Max, "Higher draws become this; the mean achieved is then below the law's own."),
];

/// Values given to a law, in grains.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// `value`.
    pub value: Option<f64>,
    /// `mean`.
    pub mean: Option<f64>,
    /// `std`.
    pub std: Option<f64>,
    /// `min`, if it is a parameter of the law.
    pub min: Option<f64>,
    /// `max`, if it is a parameter of the law.
    pub max: Option<f64>,
    /// `scale`.
    pub scale: Option<f64>,
    /// `shape`.
    pub shape: Option<f64>,
    /// `values`.
    pub values: Vec<f64>,
    /// `weights`.
    pub weights: Option<Vec<f64>>,
    /// Content of `file`.
    pub curve: Option<Arc<empirical::Curve>>,
}

impl Given {
    /// Returns the quantity in `field`, if given; it must be positive.
    fn positive(field: Field, value: Option<f64>) -> Result<Option<f64>, Invalid> {
        match value {
            Some(value) if value <= 0.0 => {
                Err(Invalid::new(field.name(), "of zero is not allowed: it must be above zero"))
            }
            other => Ok(other),
        }
    }

    /// Returns `shape`, which must be a finite positive number.
    fn positive_shape(&self) -> Result<f64, Invalid> {
        let shape = self.shape.unwrap_or(f64::NAN);
        // Beyond these limits the formulas overflow, and no real quantity has such a shape.
        if (0.01..=1e6).contains(&shape) {
            Ok(shape)
        } else {
            Err(Invalid::new("shape", format!("`{shape}` is not allowed: it is between 0.01 and 1000000")))
        }
    }
}

/// Description of a law, for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Name in scenario files.
    pub name: &'static str,
    /// Summary, in one line.
    pub summary: &'static str,
    /// Source of the definition.
    pub source: &'static str,
    /// Parameters, besides `min` and `max` (see [`CLAMPS`]).
    pub parameters: &'static [Parameter],
}

/// An operation on a distribution's type: converts a name in a file to a type.
pub trait Visitor {
    /// Result of the operation.
    type Output;
    /// Performs the operation with `D`.
    fn visit<D: Distribution>(self) -> Self::Output;
}

macro_rules! laws {
    ($($module:ident :: $law:ident),* $(,)?) => {
        $(
            pub mod $module;
            pub use $module::$law;
        )*

        /// A law of the list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum Kind {
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $law,
            )*
        }

        impl Kind {
            /// Returns its name in scenario files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$law => <$law as Distribution>::NAME,)*
                }
            }

            /// Calls `visitor` with the law's type.
            pub fn visit<V: Visitor>(self, visitor: V) -> V::Output {
                match self {
                    $(Self::$law => visitor.visit::<$law>(),)*
                }
            }
        }

        /// Every law, in the order of the list.
        pub const KINDS: &[Kind] = &[$(Kind::$law),*];

        /// A distribution ready to draw from: dispatched once per batch, not once per draw.
        #[derive(Clone, Debug)]
        pub(crate) enum Sampler {
            $($law($law),)*
        }

        impl Sampler {
            pub(crate) fn new(kind: Kind, given: &Given) -> Result<Self, Invalid> {
                match kind {
                    $(Kind::$law => <$law as Distribution>::new(given).map(Self::$law),)*
                }
            }

            /// Fills `out` with draws, rounded and clamped to `min` and `max`.
            #[inline]
            pub(crate) fn fill<Q: Quantity>(&self, random: &mut Random, min: Q, max: Q, out: &mut [Q]) {
                match self {
                    $(Self::$law(law) => {
                        for quantity in out {
                            *quantity = Q::from_grains(law.draw(random)).max(min).min(max);
                        }
                    })*
                }
            }

            pub(crate) fn mean(&self) -> f64 {
                match self {
                    $(Self::$law(law) => law.mean(),)*
                }
            }

            pub(crate) fn variance(&self) -> f64 {
                match self {
                    $(Self::$law(law) => law.variance(),)*
                }
            }

            pub(crate) fn cdf(&self, x: f64) -> f64 {
                match self {
                    $(Self::$law(law) => law.cdf(x),)*
                }
            }
        }
    };
}

laws! {
    constant::Constant,
    uniform::Uniform,
    exponential::Exponential,
    pareto::Pareto,
    normal::Normal,
    log_normal::LogNormal,
    weibull::Weibull,
    gamma::Gamma,
    extreme::Extreme,
    empirical::Empirical,
}

/// Calls `visitor` with the type of the law called `name`; `None` if there is no such law.
pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
    KINDS.iter().find(|kind| kind.name() == name).map(|kind| kind.visit(visitor))
}

/// Returns the description of every law, in the order of the list.
pub fn descriptions() -> Vec<Description> {
    struct Describe;
    impl Visitor for Describe {
        type Output = Description;
        fn visit<D: Distribution>(self) -> Description {
            Description { name: D::NAME, summary: D::SUMMARY, source: D::SOURCE, parameters: D::PARAMETERS }
        }
    }
    KINDS.iter().map(|kind| kind.visit(Describe)).collect()
}

#[cfg(test)]
pub(crate) mod tests;
