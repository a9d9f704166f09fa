//! Every random law the laboratory knows.
//!
//! To add one: write `laws/<name>.rs`, then name it in the list below. Scenario files, the JSON schema,
//! `lockgate list distributions` and the tests every law must pass all follow from this list.

use std::sync::Arc;

use lockgate_engine::random::Random;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;
use crate::quantity::Quantity;

/// A distribution over real numbers of grains (picoseconds or bytes), which a [`Law`](crate::Law) rounds.
pub trait Distribution: Sized + Clone + core::fmt::Debug + Send + Sync + 'static {
    /// Its name in scenario files.
    const NAME: &'static str;
    /// What it is, in a line.
    const SUMMARY: &'static str;
    /// Where it is defined, or what it is good for according to whom.
    const SOURCE: &'static str;
    /// What it takes. A field that is not here is refused, except `min` and `max`, which then clamp.
    const PARAMETERS: &'static [Parameter];

    /// The distribution with these parameters. Those needed are there and no others; their values are to be
    /// checked.
    fn new(given: &Given) -> Result<Self, Invalid>;

    /// One draw, in grains. May be negative or not finite in rare cases; the law rounds and bounds it.
    fn draw(&self, random: &mut Random) -> f64;

    /// Its mean in grains; infinite where it has none.
    fn mean(&self) -> f64;

    /// Its variance in grains squared; infinite where it has none.
    fn variance(&self) -> f64;

    /// The probability of a draw at or below `x` grains.
    fn cdf(&self, x: f64) -> f64;
}

/// A parameter of a law: how it is written, whether it is needed, what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Which field of the table it is.
    pub field: Field,
    /// Whether it must be given.
    pub need: Need,
    /// What it means.
    pub doc: &'static str,
}

impl Parameter {
    const fn new(field: Field, need: Need, doc: &'static str) -> Self {
        Self { field, need, doc }
    }

    /// Must be given.
    pub const fn required(field: Field, doc: &'static str) -> Self {
        Self::new(field, Need::Required, doc)
    }

    /// One of all parameters declared so must be given, and only one.
    pub const fn one_of(field: Field, doc: &'static str) -> Self {
        Self::new(field, Need::OneOf, doc)
    }

    /// May be left out.
    pub const fn optional(field: Field, doc: &'static str) -> Self {
        Self::new(field, Need::Optional, doc)
    }
}

/// Whether a parameter must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It must.
    Required,
    /// Exactly one of all the law's parameters marked so must.
    OneOf,
    /// It may be left out.
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

/// How a field is written.
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

    /// Its name in scenario files.
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

    /// How it is written.
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

/// What `min` and `max` mean to a law that has no such parameter.
pub const CLAMPS: [(Field, &str); 2] = [
    (Field::Min, "Lower draws become this; the mean achieved is then above the law's own."),
    (Field::Max, "Higher draws become this; the mean achieved is then below the law's own."),
];

/// The values given to a law, in grains.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// `value`.
    pub value: Option<f64>,
    /// `mean`.
    pub mean: Option<f64>,
    /// `std`.
    pub std: Option<f64>,
    /// `min`, where it is a parameter of the law.
    pub min: Option<f64>,
    /// `max`, where it is a parameter of the law.
    pub max: Option<f64>,
    /// `scale`.
    pub scale: Option<f64>,
    /// `shape`.
    pub shape: Option<f64>,
    /// `values`.
    pub values: Vec<f64>,
    /// `weights`.
    pub weights: Option<Vec<f64>>,
    /// What stood in `file`.
    pub curve: Option<Arc<empirical::Curve>>,
}

impl Given {
    /// The quantity in `field`, which must be over zero where it is given.
    fn positive(field: Field, value: Option<f64>) -> Result<Option<f64>, Invalid> {
        match value {
            Some(value) if value <= 0.0 => {
                Err(Invalid::new(field.name(), "of zero is not allowed: it must be above zero"))
            }
            other => Ok(other),
        }
    }

    /// `shape`, which must be a finite number over zero.
    fn positive_shape(&self) -> Result<f64, Invalid> {
        let shape = self.shape.unwrap_or(f64::NAN);
        // Beyond these bounds the laws' formulas overflow, and nothing real is that shape.
        if (0.01..=1e6).contains(&shape) {
            Ok(shape)
        } else {
            Err(Invalid::new("shape", format!("`{shape}` is not allowed: it is between 0.01 and 1000000")))
        }
    }
}

/// A law's entry in the list, for humans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// What it takes, besides `min` and `max` (see [`CLAMPS`]).
    pub parameters: &'static [Parameter],
}

/// Something to be done with a distribution's type: how a name in a file becomes a type.
pub trait Visitor {
    /// What it yields.
    type Output;
    /// Does it with `D`.
    fn visit<D: Distribution>(self) -> Self::Output;
}

macro_rules! laws {
    ($($module:ident :: $law:ident),* $(,)?) => {
        $(
            pub mod $module;
            pub use $module::$law;
        )*

        /// Which law.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Kind {
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $law,
            )*
        }

        impl Kind {
            /// Its name in scenario files.
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

        /// The laws, in the order of the list.
        pub const KINDS: &[Kind] = &[$(Kind::$law),*];

        /// A distribution ready to draw from: its law is looked up once a batch, not once a draw.
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

            /// Fills `out` with draws, rounded, from `min` to `max`.
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

/// Calls `visitor` with the type of the law of this name; `None` where there is no such law.
pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
    KINDS.iter().find(|kind| kind.name() == name).map(|kind| kind.visit(visitor))
}

/// Every law's entry, in the order of the list.
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
