//! Registry of the disciplines.
//!
//! To add one: write `disciplines/<kind>.rs`, and enter it with its family in the registry (`disciplines!`),
//! which declares its module. Scenario building, the JSON schema, `lockgate list`, the reference pages, the
//! oracles and the compliance suite all follow from the registry.

use core::ops::Deref;

#[cfg(feature = "schema")]
use schemars::{Schema, schema_for};

use crate::discipline::{About, Discipline};

/// Operation that is generic over a discipline's type: turns the name of a kind in a file into a type.
pub trait Visitor {
    /// Result of the operation.
    type Output;
    /// Runs the operation for `D`.
    fn visit<D: Discipline>(self) -> Self::Output;
}

/// Group of similar disciplines, used to order lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// One queue, in the order of arrival.
    Fifo,
    /// The most urgent packet first, by class or by time.
    Priority,
    /// Shares for classes or flows.
    Fair,
    /// Short queues by dropping or marking, some of them for each flow.
    Aqm,
    /// Packets wait until their rate allows them.
    Shaper,
    /// Trees of classes that guarantee, limit and lend.
    Hierarchy,
}

impl Family {
    /// All families, in the order of lists.
    pub const ALL: [Self; 6] =
        [Self::Fifo, Self::Priority, Self::Fair, Self::Aqm, Self::Shaper, Self::Hierarchy];

    /// Returns the family's name in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "FIFO",
            Self::Priority => "priority and deadlines",
            Self::Fair => "fair queueing",
            Self::Aqm => "active queue management",
            Self::Shaper => "shapers",
            Self::Hierarchy => "hierarchies of classes",
        }
    }
}

/// A discipline by its name, without its type: its facts, and the schemas of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Facts, which are also fields of the kind itself.
    pub about: About,
    /// Its family.
    pub family: Family,
    /// JSON schema of its parameters.
    #[cfg(feature = "schema")]
    pub config: fn() -> Schema,
    /// JSON schema of the parameters of a child.
    #[cfg(feature = "schema")]
    pub share: fn() -> Schema,
}

impl Kind {
    /// Returns the kind of a discipline.
    pub const fn of<D: Discipline>(family: Family) -> Self {
        Self {
            about: D::ABOUT,
            family,
            #[cfg(feature = "schema")]
            config: || schema_for!(D::Config),
            #[cfg(feature = "schema")]
            share: || schema_for!(D::Share),
        }
    }

    /// Returns the kind of this name in the registry.
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|kind| kind.name == name).copied()
    }
}

impl Deref for Kind {
    type Target = About;
    fn deref(&self) -> &About {
        &self.about
    }
}

macro_rules! disciplines {
    ($($module:ident :: $discipline:ident in $family:ident),* $(,)?) => {
        $(pub mod $module;)*
        $(pub use $module::$discipline;)*

        /// All kinds, in the order of the registry.
        pub const ALL: &[Kind] = &[$(Kind::of::<$discipline>(Family::$family)),*];

        /// Names of all kinds, in the order of the registry.
        pub const KINDS: &[&str] = &[$(<$discipline as Discipline>::ABOUT.name),*];

        /// Calls `visitor` with the type of `kind`, or returns `None` for an unknown kind.
        pub fn visit<V: Visitor>(kind: &str, visitor: V) -> Option<V::Output> {
            $(
                if kind == <$discipline as Discipline>::ABOUT.name {
                    return Some(visitor.visit::<$discipline>());
                }
            )*
            None
        }
    };
}

disciplines! {
    fifo::Fifo in Fifo,
    prio::Prio in Priority,
    tbf::Tbf in Shaper,
    bandwidth_shaper::BandwidthShaper in Shaper,
    policer::Policer in Shaper,
    drr::Drr in Fair,
    ets::Ets in Priority,
    wrr::Wrr in Fair,
    rr::Rr in Fair,
    stfq::Stfq in Fair,
    scfq::Scfq in Fair,
    wf2q_plus::Wf2qPlus in Fair,
    qfq::Qfq in Fair,
    wfq::Wfq in Fair,
    wfq_altq::WfqAltq in Fair,
    sfq::Sfq in Fair,
    edf::Edf in Priority,
    run2c::Run2c in Priority,
    lis::Lis in Priority,
    sis::Sis in Priority,
    ffs::Ffs in Priority,
    nfs::Nfs in Priority,
    lisb::Lisb in Priority,
    red::Red in Aqm,
    choke::Choke in Aqm,
    codel::Codel in Aqm,
    fq_codel::FqCodel in Aqm,
    pie::Pie in Aqm,
    fq_pie::FqPie in Aqm,
    cobalt::Cobalt in Aqm,
    cbq::Cbq in Hierarchy,
    dualpi2::DualPi2 in Aqm,
    cake::Cake in Aqm,
    htb::Htb in Hierarchy,
    hfsc::Hfsc in Hierarchy,
}
