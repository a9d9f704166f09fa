//! Values that a kernel changes, and the table of sizes at the root.

use lockgate_engine::units::{Bytes, Duration};
use lockgate_scenario::reference::Parameter;

use super::Builder;
use crate::import::settings::Parameters;
use crate::problem::Problem;
use crate::syntax::{Class, LinkLayer};
use crate::value::Value;

/// Highest number of a priority in `htb`.
const HIGHEST_PRIORITY: u64 = 7;

/// Smallest quantum of `htb`.
const LEAST_QUANTUM: u64 = 1000;

impl Builder<'_> {
    /// Adds what the table of sizes at the root says of the line to the parameters of a shaper.
    pub(super) fn add_stab(&self, known: &[Parameter], parameters: &mut Parameters) -> Result<(), Problem> {
        let Some(stab) = self.objects.root.stab else { return Ok(()) };
        if !known.iter().any(|parameter| parameter.name == "framing") {
            return Err(Problem::new(stab.at, "`stab` of this shaper is not understood"));
        }
        parameters.retain(|(name, _)| !["overhead", "mpu"].contains(name));
        parameters.push(("overhead", Value::Offset(stab.overhead.into())));
        if stab.mpu > 0 {
            parameters.push(("mpu", Value::Size(Bytes(stab.mpu.into()))));
        }
        if stab.link_layer == LinkLayer::Atm {
            parameters.push(("framing", Value::Choice("atm")));
        }
        Ok(())
    }

    /// Changes the share of a class of `htb` as a kernel does with values out of range.
    pub(super) fn as_in_kernel(&mut self, class: &Class, share: &mut Parameters) {
        let id = *class.id;
        let rate = share.iter().find_map(|(name, value)| match value {
            Value::Rate(rate) if *name == "rate" => Some(*rate),
            _ => None,
        });
        let mut ceil = None;
        for (name, value) in &mut *share {
            match (*name, &*value) {
                ("prio", Value::Number(prio)) if *prio > HIGHEST_PRIORITY => {
                    self.left_out.push(format!(
                        "`prio {prio}` of the class `{id}`: the kernel takes {HIGHEST_PRIORITY}"
                    ));
                    *value = Value::Number(HIGHEST_PRIORITY);
                }
                ("quantum", Value::Size(Bytes(quantum))) if *quantum < LEAST_QUANTUM => {
                    let why = "a turn is a packet in any case, so it is taken as";
                    self.left_out
                        .push(format!("`quantum {quantum}` of the class `{id}`: {why} {LEAST_QUANTUM}"));
                    *value = Value::Size(Bytes(LEAST_QUANTUM));
                }
                ("ceil", Value::Rate(given)) => ceil = Some(*given),
                _ => {}
            }
        }
        if let (Some(rate), Some(ceil)) = (rate, ceil)
            && ceil < rate
        {
            self.left_out.push(format!("`rate` of the class `{id}`: its `ceil` is lower and limits it"));
            for (_, value) in share.iter_mut().filter(|(name, _)| *name == "rate") {
                *value = Value::Rate(ceil);
            }
        }
    }
}

/// Adds the defaults of Linux's `dualpi2` (tc-dualpi2(8)): of the round trips, one is six times the other, and they
/// set the controller; without them it has the gains of the kernel.
pub(super) fn dualpi2_defaults(parameters: &mut Parameters) {
    let time = |parameters: &Parameters, name: &str| match super::value(parameters, name) {
        Some(Value::Time(time)) => Some(*time),
        _ => None,
    };
    let (longest, usual) = (time(parameters, "max_rtt"), time(parameters, "target"));
    match (longest, usual) {
        (Some(longest), None) => {
            parameters.push(("target", Value::Time(Duration::from_picos(longest.as_picos() / 6))));
        }
        (Some(_), Some(_)) => {}
        // `target` alone leaves the gains as they are.
        (None, _) => {
            for (name, default) in [
                ("tupdate", Value::Time(Duration::from_millis(16))),
                ("alpha", Value::Real(41.0 / 256.0)),
                ("beta", Value::Real(819.0 / 256.0)),
            ] {
                if super::value(parameters, name).is_none() {
                    parameters.push((name, default));
                }
            }
        }
    }
}
