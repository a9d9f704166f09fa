//! Every discipline the laboratory knows.
//!
//! To add one: write `disciplines/<kind>.rs`, then name it, with its family, in the list below. Scenario building, the JSON
//! schema, `lockgate list`, the reference pages and the compliance suite all follow from this list.

use crate::discipline::Discipline;

/// Something to be done with a discipline's type: how a kind's name in a file becomes a type.
pub trait Visitor {
    /// What it yields.
    type Output;
    /// Does it with `D`.
    fn visit<D: Discipline>(self) -> Self::Output;
}

/// What disciplines have in common: how lists group them.
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
    /// Every family, in the order of lists.
    pub const ALL: [Self; 6] =
        [Self::Fifo, Self::Priority, Self::Fair, Self::Aqm, Self::Shaper, Self::Hierarchy];

    /// Its name.
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
        $(
            pub mod $module;
            pub use $module::$discipline;
        )*

        /// The kinds, in the order of the list.
        pub const KINDS: &[&str] = &[$(<$discipline as Discipline>::KIND),*];

        /// The family of this kind; `None` where there is no such kind.
        pub fn family(kind: &str) -> Option<Family> {
            $(
                if kind == <$discipline as Discipline>::KIND {
                    return Some(Family::$family);
                }
            )*
            None
        }

        /// Calls `visitor` with the type of this kind; `None` where there is no such kind.
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
