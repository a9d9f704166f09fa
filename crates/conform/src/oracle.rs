//! What an oracle is: one theorem, the kinds it is about, and trials that may break it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::finding::Finding;
use crate::kind::Kind;
use crate::trials::Trials;

/// A theorem on some kinds of disciplines, and the traffic that tries to break it.
///
/// An oracle measures and never asserts: what goes over a bound is a [`Finding`] that does not hold.
pub trait Oracle {
    /// The family of theorems it belongs to, such as `O7`: one number a law, as the reference page lists them.
    const FAMILY: &'static str;
    /// Its name, in lower case with dashes; no two oracles share one.
    const NAME: &'static str;
    /// The theorem in a sentence, with its formula.
    const THEOREM: &'static str;
    /// Where it is proved, or where the rule is stated that it measures.
    const SOURCE: &'static str;
    /// How many trials try it well: so many that every finding is sharp.
    const TRIALS: u32;

    /// Whether the theorem is about this kind.
    fn applies(kind: &Kind) -> bool;

    /// Makes the trials on `kind`; one finding for each statement of the theorem.
    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding>;
}

/// An oracle as an entry of the [list](crate::oracles::ALL).
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// [`Oracle::FAMILY`].
    pub family: &'static str,
    /// [`Oracle::NAME`].
    pub name: &'static str,
    /// [`Oracle::THEOREM`].
    pub theorem: &'static str,
    /// [`Oracle::SOURCE`].
    pub source: &'static str,
    /// [`Oracle::TRIALS`].
    pub trials: u32,
    applies: fn(&Kind) -> bool,
    hold: fn(&Kind, Trials) -> Vec<Finding>,
}

impl Entry {
    /// The entry of an oracle.
    pub const fn of<O: Oracle>() -> Self {
        Self {
            family: O::FAMILY,
            name: O::NAME,
            theorem: O::THEOREM,
            source: O::SOURCE,
            trials: O::TRIALS,
            applies: O::applies,
            hold: O::hold,
        }
    }

    /// Whether the theorem is about this kind.
    pub fn applies(&self, kind: &Kind) -> bool {
        (self.applies)(kind)
    }

    /// Makes the trials on `kind`. A discipline that breaks down under them does not hold; it ends nothing.
    pub fn hold(&self, kind: &Kind, trials: Trials) -> Vec<Finding> {
        catch_unwind(AssertUnwindSafe(|| (self.hold)(kind, trials))).unwrap_or_else(|cause| {
            let text = cause.downcast_ref::<String>().cloned();
            let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let why = format!("it broke down: {}", text.unwrap_or_else(|| "no reason is known".to_owned()));
            vec![Finding::broken(why, trials.count)]
        })
    }
}
