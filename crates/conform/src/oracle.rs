//! The trait of oracles: one theorem, the kinds to which it applies, and trials that may break it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::finding::Finding;
use crate::kind::Kind;
use crate::trials::Trials;

/// A theorem on some kinds of disciplines, with traffic that tries to break it.
///
/// An oracle measures and never asserts: a value beyond a bound gives a [`Finding`] that does not hold.
pub trait Oracle {
    /// Family of theorems, such as `O7`: one number per law, as listed on the reference page.
    const FAMILY: &'static str;
    /// Name, in lower case with dashes; unique among oracles.
    const NAME: &'static str;
    /// The theorem in one sentence, with its formula.
    const THEOREM: &'static str;
    /// Source of the proof, or of the rule that it measures.
    const SOURCE: &'static str;
    /// Default number of trials: enough to make every finding sharp.
    const TRIALS: u32;

    /// Returns true if the theorem applies to this kind.
    fn applies(kind: &Kind) -> bool;

    /// Runs the trials on `kind`; returns one finding per statement of the theorem.
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
    /// Creates the entry of an oracle.
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

    /// Returns true if the theorem applies to this kind.
    pub fn applies(&self, kind: &Kind) -> bool {
        (self.applies)(kind)
    }

    /// Runs the trials on `kind`. A discipline that panics gives a finding that does not hold.
    pub fn hold(&self, kind: &Kind, trials: Trials) -> Vec<Finding> {
        catch_unwind(AssertUnwindSafe(|| (self.hold)(kind, trials))).unwrap_or_else(|cause| {
            let text = cause.downcast_ref::<String>().cloned();
            let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let why = format!("it broke down: {}", text.unwrap_or_else(|| "no reason is known".to_owned()));
            vec![Finding::broken(why, trials.count)]
        })
    }
}
