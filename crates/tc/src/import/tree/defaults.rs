//! Parameters whose defaults differ from those of Linux or `tc`.

use lockgate_engine::units::{Bytes, Duration};
use lockgate_scenario::reference::Reference;

use super::{Builder, DEVICE_QUEUE, kernel, value};
use crate::import::settings::Parameters;
use crate::language::Kind;
use crate::problem::Problem;
use crate::syntax::Qdisc;
use crate::value::Value;

/// Bytes of a full Ethernet frame.
const FULL_FRAME: u64 = 1514;

/// Picoseconds of a second.
const SECOND: u64 = Duration::from_secs(1).as_picos();

/// Linux's default interval between updates of PIE's probability.
const UPDATE: Duration = Duration::from_millis(15);

/// Returns true for kinds with variants, one of which is that of Linux.
fn has_linux(reference: &Reference) -> bool {
    let flavour = reference.parameters.iter().find(|parameter| parameter.name == "flavour");
    flavour.is_some_and(|flavour| flavour.takes.split(" | ").any(|one| one == "linux"))
}

fn size(parameters: &Parameters, name: &str) -> Option<u64> {
    match value(parameters, name) {
        Some(Value::Size(Bytes(bytes))) => Some(*bytes),
        _ => None,
    }
}

impl Builder<'_> {
    /// Adds the parameters whose defaults differ from those of Linux or `tc`.
    pub(super) fn apply_defaults(
        &self,
        qdisc: &Qdisc,
        reference: &Reference,
        parameters: &mut Parameters,
    ) -> Result<(), Problem> {
        let kind = *qdisc.kind;
        let missing = |what: &str| Problem::new(qdisc.kind.at, what);
        if has_linux(reference) {
            parameters.push(("flavour", Value::Choice("linux")));
        }
        match kind {
            Kind::PfifoHeadDrop => parameters.push(("overflow", Value::Choice("head"))),
            Kind::Dualpi2 => kernel::dualpi2_defaults(&qdisc.settings, parameters),
            Kind::Pie | Kind::FqPie => {
                self.round_update(parameters).ok_or_else(|| missing("`tupdate` is out of range"))?;
            }
            // tc-red(8): `max` is a quarter of the limit, `min` a third of `max`.
            Kind::Red => {
                let limit = size(parameters, "limit").ok_or_else(|| missing("`red` has a `limit`"))?;
                let (min, max) = (size(parameters, "min"), size(parameters, "max"));
                let full = max.unwrap_or_else(|| min.map_or(limit / 4, |min| min.saturating_mul(3)));
                for (name, given, default) in [("max", max, full), ("min", min, full / 3)] {
                    if given.is_none() {
                        parameters.push((name, Value::Size(Bytes(default))));
                    }
                }
            }
            Kind::Bfifo if size(parameters, "limit").is_none() && !self.objects.is_general => {
                return Err(missing("`bfifo` without a `limit` depends on the device's queue"));
            }
            Kind::Bfifo if size(parameters, "limit").is_none() => {
                parameters.push(("limit", Value::Size(Bytes(DEVICE_QUEUE * FULL_FRAME))));
            }
            Kind::Pfifo if value(parameters, "limit").is_none() && self.objects.is_general => {
                parameters.push(("limit", Value::Packets(DEVICE_QUEUE)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Rounds the interval of PIE's updates up to whole ticks, as the kernel's timer does; `None` if it is
    /// too long.
    fn round_update(&self, parameters: &mut Parameters) -> Option<()> {
        let tick = SECOND / u64::from(self.hz);
        let update = match value(parameters, "tupdate") {
            Some(Value::Time(update)) => *update,
            _ => UPDATE,
        };
        let update = Duration::from_picos(update.as_picos().div_ceil(tick).checked_mul(tick)?);
        parameters.retain(|(name, _)| *name != "tupdate");
        parameters.push(("tupdate", Value::Time(update)));
        Some(())
    }
}
