//! Registry of the disciplines.
//!
//! To add one: write `disciplines/<kind>.rs`, declare the module below, and enter it with its family in the
//! registry (`disciplines!`). Scenario building, the JSON schema, `lockgate list`, the reference pages and
//! the compliance suite all follow from the registry.

pub mod bandwidth_shaper;
pub mod cake;
pub mod cbq;
pub mod choke;
pub mod cobalt;
pub mod codel;
pub mod drr;
pub mod dualpi2;
pub mod edf;
pub mod ets;
pub mod ffs;
pub mod fifo;
pub mod fq_codel;
pub mod fq_pie;
pub mod hfsc;
pub mod htb;
pub mod lis;
pub mod lisb;
pub mod nfs;
pub mod pie;
pub mod prio;
pub mod qfq;
pub mod red;
pub mod rr;
pub mod run2c;
pub mod scfq;
pub mod sfq;
pub mod sis;
pub mod stfq;
pub mod tbf;
pub mod wf2q_plus;
pub mod wfq_altq;
pub mod wrr;

use crate::discipline::Discipline;

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

macro_rules! disciplines {
    ($($module:ident :: $discipline:ident in $family:ident),* $(,)?) => {
        $(pub use $module::$discipline;)*

        /// All kinds, in the order of the registry.
        pub const KINDS: &[&str] = &[$(<$discipline as Discipline>::KIND),*];

        /// Returns the family of `kind`, or `None` for an unknown kind.
        pub fn family(kind: &str) -> Option<Family> {
            $(
                if kind == <$discipline as Discipline>::KIND {
                    return Some(Family::$family);
                }
            )*
            None
        }

        /// Calls `visitor` with the type of `kind`, or returns `None` for an unknown kind.
        pub fn visit<V: Visitor>(kind: &str, visitor: V) -> Option<V::Output> {
            $(
                if kind == <$discipline as Discipline>::KIND {
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
    drr::Drr in Fair,
    ets::Ets in Priority,
    wrr::Wrr in Fair,
    rr::Rr in Fair,
    stfq::Stfq in Fair,
    scfq::Scfq in Fair,
    wf2q_plus::Wf2qPlus in Fair,
    qfq::Qfq in Fair,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_has_an_entry_in_the_registry() {
        let modules =
            include_str!("disciplines.rs").lines().filter(|line| line.starts_with("pub mod ")).count();
        assert_eq!(modules, KINDS.len());
    }
}
