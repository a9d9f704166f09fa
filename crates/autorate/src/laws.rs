//! The list of laws.
//!
//! To add one: write `laws/<name>.rs` (a `-` of the name becomes `_`), then name it in the list below. Files,
//! schema, reference, `Controller` and the tests that every law must pass all follow from this list.

use core::fmt;
use core::str::FromStr;

use lockgate_engine::schema::Described;
use lockgate_engine::units::{Duration, Rate};
use serde::Deserialize;

use crate::bounds::Bounds;
use crate::reason::Why;
use crate::signals::View;

/// A law: steps a rate by what a view says. Its rate may leave the bounds; the controller clamps it.
pub trait Step: fmt::Debug + Send {
    /// Returns the new rate and its cause.
    fn step(&mut self, view: &View<'_>) -> (Rate, Why);
}

/// Declaration of a law: its name, source and guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Name in files.
    pub name: &'static str,
    /// Summary, in one line.
    pub summary: &'static str,
    /// Source.
    pub source: &'static str,
    /// Guarantees, each held by a test.
    pub guarantees: &'static [&'static str],
}

/// Parameters of a law.
pub trait Config {
    /// Returns the first parameter out of its range.
    ///
    /// # Errors
    /// The parameter, and its range.
    fn check(&self) -> Result<(), Unfit>;
}

/// Visitor of all laws.
pub trait Visitor {
    /// Takes what a law declares of itself, with the type of its parameters.
    fn visit<C: Config + Described>(&mut self, about: About);
}

/// A parameter out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Name of the parameter.
    pub field: &'static str,
    /// Its range.
    pub range: String,
}

impl Unfit {
    /// Returns the error if `value` is not from `least` to `most`.
    pub(crate) fn outside<T: Copy + PartialOrd + fmt::Display>(
        field: &'static str,
        value: T,
        [least, most]: [T; 2],
    ) -> Result<(), Self> {
        if value >= least && value <= most {
            return Ok(());
        }
        Err(Self { field, range: format!("it is from `{least}` to `{most}`") })
    }
}

/// Returns the error of a time out of its range.
fn time(field: &'static str, value: Duration, range: [Duration; 2]) -> Result<(), Unfit> {
    Unfit::outside(field, value, range)
}

macro_rules! laws {
    ($($(#[$doc:meta])* $module:ident $Law:ident $name:literal;)*) => {
        $(pub mod $module;)*

        /// A law, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Law {
            $($(#[$doc])* #[serde(rename = $name)] $Law,)*
        }

        /// Parameters of all laws, each in a table of the law's name: those of the laws that are not chosen
        /// stay in a file.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct Parameters {
            $($(#[$doc])* #[serde(rename = $name)] pub $module: $module::Config,)*
        }

        impl Law {
            /// Every law.
            pub const ALL: &'static [Self] = &[$(Self::$Law,)*];

            /// Returns what it declares of itself.
            pub const fn about(self) -> About {
                match self { $(Self::$Law => $module::ABOUT,)* }
            }

            /// Creates the law with its parameters.
            pub fn create(self, parameters: &Parameters, bounds: Bounds) -> Box<dyn Step> {
                match self { $(Self::$Law => Box::new($module::$Law::new(&parameters.$module, bounds)),)* }
            }
        }

        /// Shows a visitor what each law declares, with the type of its parameters.
        pub fn visit(visitor: &mut impl Visitor) {
            $(visitor.visit::<$module::Config>($module::ABOUT);)*
        }

        impl Parameters {
            /// Returns the first parameter out of its range, with the law's name.
            ///
            /// # Errors
            /// Name of the law, and the parameter.
            pub fn check(&self) -> Result<(), (&'static str, Unfit)> {
                $(Config::check(&self.$module).map_err(|unfit| ($name, unfit))?;)*
                Ok(())
            }
        }
    };
}

laws! {
    /// Follows what is delivered while the line is full, and brakes by the queue on the line.
    brake Brake "brake";
    /// Steps by the delays of probes, as cake-autorate does.
    delta_steps DeltaSteps "delta-steps";
    /// Returns to rates that were safe, as sqm-autorate does.
    safe_rates SafeRates "safe-rates";
    /// Steps by the ratio of a round trip to its baseline, as `LibreQoS` `StormGuard` does.
    ratio Ratio "ratio";
    /// Keeps a given rate.
    fixed Fixed "fixed";
    /// Knows the line's capacity, one round trip late. In simulations only.
    oracle Oracle "oracle";
}

impl Law {
    /// Returns its name in files.
    pub const fn name(self) -> &'static str {
        self.about().name
    }
}

impl FromStr for Law {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.iter().copied().find(|law| law.name() == text).ok_or(())
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
