//! Quantity that an expectation bounds: a metric, or the difference of two.
//!
//! ```text
//! flow.call.owd.p99      flow.loaded.rtt.p95 - flow.idle.rtt.p50
//! flow.call.owd.p99 @ 20s..30s - flow.call.owd.p99 @ 10s..20s
//! ```

use core::fmt;

use super::address::Address;
use super::error::{MetricError, unknown};
use super::{Better, Unit};

/// Sign between the two metrics of a difference. Names have no spaces.
pub(super) const MINUS: &str = " - ";

/// A metric, or the difference of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The metric, or the one that the other is taken from.
    pub of: Address,
    /// The metric that is taken from it; `None`: no difference.
    pub less: Option<Address>,
}

impl Quantity {
    /// Parses an address, or two with ` - ` between them. [`check_path`](super::check_path) also checks the
    /// names.
    ///
    /// # Errors
    /// Returns [`MetricError::Unknown`] of the wrong address, or of a difference of two units.
    pub fn parse(text: &str) -> Result<Self, MetricError> {
        let Some((of, less)) = text.split_once(MINUS) else {
            return Ok(Self { of: Address::parse(text)?, less: None });
        };
        let (of, less) = (Address::parse(of.trim())?, Address::parse(less.trim())?);
        if of.unit() != less.unit() {
            let (one, other) = (of.unit().symbol(), less.unit().symbol());
            let why = format!("a difference has one unit, and these have `{one}` and `{other}`");
            return Err(unknown(text, why, None));
        }
        for address in [&of, &less] {
            if address.is_many() && address.member_statistic.is_none() {
                let why = format!("a difference is of single values, and `{address}` is of several");
                return Err(unknown(text, why, Some(format!("{address}.worst"))));
            }
        }
        Ok(Self { of, less: Some(less) })
    }

    /// Returns its one or two metrics.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        core::iter::once(&self.of).chain(&self.less)
    }

    /// Returns the unit of its metrics.
    pub fn unit(&self) -> Unit {
        self.of.unit()
    }

    /// Returns the better direction, if one is.
    pub fn better(&self) -> Option<Better> {
        self.of.metric.better
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of.fmt(f)?;
        self.less.as_ref().map_or(Ok(()), |less| write!(f, "{MINUS}{less}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Names, check_path};
    use super::*;

    #[test]
    fn differences_are_read_printed_and_have_one_unit() {
        let flows = ["idle".into(), "loaded".into(), "web/1".into(), "web/2".into()];
        let names = Names { flows: &flows, ports: &[] };
        let text = "flow.loaded.rtt.p95 - flow.idle.rtt.p50";
        assert_eq!(check_path(text, &names), Ok(Unit::Seconds));
        assert_eq!(Quantity::parse(text).expect("a difference").to_string(), text);
        assert_eq!(Quantity::parse("flow.idle.loss").expect("an address").to_string(), "flow.idle.loss");
        let parts = "flow.idle.owd.p99 @ 2s..3s - flow.idle.owd.p99 @ 1s..2s";
        assert_eq!(check_path(parts, &names), Ok(Unit::Seconds));
        let read = Quantity::parse(parts).expect("a difference");
        assert_eq!(read.to_string(), parts);
        assert!(read.addresses().all(|address| address.during.is_some()));
        let why = |text: &str| check_path(text, &names).expect_err(text).help();
        assert!(why("flow.idle.loss @ 2s..3s - flow.idel.loss @ 1s..2s").ends_with("did you mean `idle`?"));
        assert!(why("flow.loaded.rtt.p95 - flow.idel.rtt.p50").ends_with("did you mean `idle`?"));
        assert!(why("flow.loadde.rtt.p95 - flow.idle.rtt.p50").ends_with("did you mean `loaded`?"));
        assert!(why("flow.loaded.rtt.p95 - flow.idle.loss").contains("`s` and `ratio`"));
        assert!(
            why("flow.loaded.owd.p95 - flow.web/*.owd.p95")
                .ends_with("did you mean `flow.web/*.owd.p95.worst`?")
        );
    }
}
