//! Parts of a run, as written behind an address: `flow.call.owd.p99 @ 10s..20s`.

use core::fmt;

use lockgate_engine::units::{Duration, Instant};

use super::error::{MetricError, unknown};

/// Sign between a metric and the part of the run that it is of.
pub(super) const AT: char = '@';

/// Part of a run, from one time to another. Packets and requests are of the part in which they are sent;
/// rates, and what ports count, are of what happens in it. Its statistics are made as those of the whole run
/// are, which is the part from the end of the warm-up to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct During {
    /// Start, included.
    pub from: Instant,
    /// End, excluded.
    pub to: Instant,
}

impl During {
    /// Returns true if `time` is in it.
    pub fn contains(self, time: Instant) -> bool {
        (self.from..self.to).contains(&time)
    }

    /// Parses `10s..20s`; `path` is the address that it belongs to.
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, MetricError> {
        let wrong = |why: &str| {
            let text = text.trim();
            unknown(path, format!("`{text}` {why}: a part of the run is written `10s..20s`"), None)
        };
        let (from, to) = text.split_once("..").ok_or_else(|| wrong("is not two times"))?;
        let time = |text: &str| match text.trim().parse::<Duration>() {
            Ok(time) => Ok(Instant::ZERO + time),
            Err(_) => Err(wrong("is not two times")),
        };
        let (from, to) = (time(from)?, time(to)?);
        if from < to { Ok(Self { from, to }) } else { Err(wrong("ends before it begins")) }
    }

    /// Returns the reason why a run with this warm-up and length has no such part, if it has none.
    pub fn outside(self, warmup: Duration, length: Duration) -> Option<String> {
        let [warmup, end] = [warmup, length].map(|time| Instant::ZERO + time);
        if self.from < warmup {
            let warmup = warmup.since(Instant::ZERO);
            return Some(format!("`{self}` begins within the warm-up: statistics begin at {warmup}"));
        }
        (self.to > end).then(|| format!("`{self}` ends after the run, which ends at {length}"))
    }
}

impl fmt::Display for During {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.from, self.to].map(|time| time.since(Instant::ZERO));
        write!(f, "{from}..{to}")
    }
}
