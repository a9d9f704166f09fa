//! Values that a kernel changes, and the table of sizes at the root.

use lockgate_engine::disciplines::htb::LEAST_QUANTUM;
use lockgate_engine::units::{Bytes, Duration};
use lockgate_scenario::reference::Parameter;

use super::Builder;
use crate::import::settings::{Parameters, value_of};
use crate::language::{HTB_MTU, Kind, computed_burst};
use crate::problem::Problem;
use crate::syntax::{Class, LinkLayer, Setting};
use crate::value::Value;

/// Highest number of a priority in `htb`.
const HIGHEST_PRIORITY: u64 = 7;

/// Returns true for a shaper by whose lengths of packets the table of sizes at the root counts.
pub(super) fn takes_stab(kind: Kind) -> bool {
    matches!(kind, Kind::Htb | Kind::Tbf | Kind::Cake | Kind::CakeMq)
}

impl Builder<'_> {
    /// Adds what the table of sizes says of the line to the parameters of a `cake`, which counts the length
    /// that the table gives, seen in Linux 6.1; an overhead of its own would be added to that.
    pub(super) fn add_stab_of_cake(
        &mut self,
        known: &[Parameter],
        parameters: &mut Parameters,
    ) -> Result<(), Problem> {
        let Some(stab) = self.objects.root.stab else { return Ok(()) };
        let is_own = |(name, value): &(&'static str, Value)| match (*name, value) {
            ("overhead", _) => true,
            ("mpu", value) => *value != Value::Size(Bytes(0)),
            ("framing", value) => *value != Value::Choice("noatm"),
            _ => false,
        };
        if parameters.iter().any(is_own) {
            let problem = Problem::new(stab.at, "`stab` beside an overhead of `cake` is not understood");
            return Err(problem.help("leave one of the two out: the kernel adds the second to the first"));
        }
        let is_atm = stab.link_layer == LinkLayer::Atm;
        parameters.retain(|(name, _)| *name != "raw" && !(is_atm && *name == "framing"));
        self.add_stab(known, parameters)?;
        parameters.push(("raw", Value::Flag));
        self.left_out.push(
            "the frames of a packet that `cake` divides (GSO): a kernel counts those as they are, without the table"
                .to_owned(),
        );
        Ok(())
    }

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

/// Parts in which a burst must differ from the default of scenarios to be written.
const PARTS: u64 = 100;

impl Builder<'_> {
    /// Adds the bursts of a class of `htb` that `tc` computes otherwise than a scenario: with an `mtu`, and
    /// for fast rates.
    pub(super) fn add_bursts(&mut self, class: &Class, share: &mut Parameters) {
        let mtu = match value_of(&class.settings, "mtu") {
            Some(Value::Size(Bytes(mtu))) => *mtu,
            _ if self.objects.is_general => HTB_MTU,
            _ => return,
        };
        let rate_of = |name: &str| match value_of(&class.settings, name) {
            Some(Value::Rate(rate)) => Some(*rate),
            _ => None,
        };
        for (name, rate) in [("burst", rate_of("rate")), ("cburst", rate_of("ceil").or(rate_of("rate")))] {
            let Some(rate) = rate.filter(|_| value_of(&class.settings, name).is_none()) else { continue };
            let burst = computed_burst(rate, mtu);
            if burst.abs_diff(HTB_MTU) < HTB_MTU / PARTS {
                continue;
            }
            share.push((name, Value::Size(Bytes(burst))));
            self.left_out.push(format!(
                "`{name}` of the class `{}`, which is not given: `tc` computes {burst} bytes",
                *class.id
            ));
        }
    }
}

/// Longest round trip of Linux's `dualpi2`, in usual ones, where only one of both is given.
const TRIPS: u64 = 6;

/// Adds the defaults of Linux's `dualpi2` (tc-dualpi2(8)). A round trip that is given sets the whole
/// controller, also against its other settings; without one it has gains of 0.16 and 3.2 Hz, here as the
/// kernel holds them, in 256ths.
pub(super) fn dualpi2_defaults(settings: &[Setting], parameters: &mut Parameters) {
    let time = |name: &str| match value_of(settings, name) {
        Some(Value::Time(time)) => Some(time.as_picos()),
        _ => None,
    };
    let (longest, usual) = (time("max_rtt"), time("typical_rtt"));
    let Some(given) = longest.or(usual) else {
        for (name, default) in [
            ("tupdate", Value::Time(Duration::from_millis(16))),
            ("alpha", Value::Real(41.0 / 256.0)),
            ("beta", Value::Real(819.0 / 256.0)),
        ] {
            if super::value(parameters, name).is_none() {
                parameters.push((name, default));
            }
        }
        return;
    };
    let longest = longest.unwrap_or(given.saturating_mul(TRIPS));
    let usual = usual.unwrap_or(longest / TRIPS);
    parameters.retain(|(name, _)| !["max_rtt", "target", "tupdate", "alpha", "beta"].contains(name));
    for (name, picos) in [("max_rtt", longest), ("target", usual)] {
        parameters.push((name, Value::Time(Duration::from_picos(picos))));
    }
}
