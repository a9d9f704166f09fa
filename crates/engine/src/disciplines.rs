//! Every discipline the laboratory knows.
//!
//! To add one: write `disciplines/<kind>.rs`, then name it in the list below. Scenario building, the JSON
//! schema, `lockgate list`, the reference pages and the compliance suite all follow from this list.

use crate::discipline::Discipline;

/// Something to be done with a discipline's type: how a kind's name in a file becomes a type.
pub trait Visitor {
    /// What it yields.
    type Output;
    /// Does it with `D`.
    fn visit<D: Discipline>(self) -> Self::Output;
}

macro_rules! disciplines {
    ($($module:ident :: $discipline:ident),* $(,)?) => {
        $(
            pub mod $module;
            pub use $module::$discipline;
        )*

        /// The kinds, in the order of the list.
        pub const KINDS: &[&str] = &[$(<$discipline as Discipline>::KIND),*];

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
    fifo::Fifo,
    prio::Prio,
    tbf::Tbf,
    bandwidth_shaper::BandwidthShaper,
    drr::Drr,
    ets::Ets,
    wrr::Wrr,
    rr::Rr,
    stfq::Stfq,
    scfq::Scfq,
    wf2q_plus::Wf2qPlus,
    qfq::Qfq,
    wfq_altq::WfqAltq,
    sfq::Sfq,
    edf::Edf,
    run2c::Run2c,
    lis::Lis,
    sis::Sis,
    ffs::Ffs,
    nfs::Nfs,
    lisb::Lisb,
    red::Red,
    choke::Choke,
    codel::Codel,
    fq_codel::FqCodel,
    pie::Pie,
    fq_pie::FqPie,
    cobalt::Cobalt,
    cbq::Cbq,
    dualpi2::DualPi2,
    cake::Cake,
    htb::Htb,
    hfsc::Hfsc,
}
