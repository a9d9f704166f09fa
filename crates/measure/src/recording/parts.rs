//! Observations of parts of a run, for metrics such as `flow.call.owd.p99 @ 10s..20s`.
//!
//! Each is a record of its own, which begins with the part as the record of the run begins with the end of
//! the warm-up: so each metric means the same of a part and of the run, and is as exact. Only the flows and
//! ports that an expectation, claim or comparison names are observed so, and only until the part ends.

use lockgate_engine::units::Instant;

use super::Recording;
use crate::metric::{During, Subject};

/// A part of the run, and the subjects that are observed in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its time.
    pub during: During,
    /// Subjects of metrics.
    pub subjects: Vec<Subject>,
}

impl Part {
    /// Returns true if a flow is observed.
    pub fn has_flow(&self, name: &str) -> bool {
        self.subjects.iter().any(|subject| subject.has_flow(name))
    }

    /// Returns true if a port is observed.
    pub fn has_port(&self, name: &str) -> bool {
        self.subjects.iter().any(|subject| subject.has_port(name))
    }
}

impl Recording {
    /// Returns the observed parts that ended before the run did, each with a recording of it. Flows and ports
    /// that are not observed in a part have empty records there.
    pub fn parts(&self) -> impl Iterator<Item = (&Part, Self)> {
        let end = Instant::ZERO + self.duration;
        self.parts
            .iter()
            .filter(move |part| part.during.to <= end)
            .map(|part| (part, self.of_part(part.during)))
    }

    fn of_part(&self, during: During) -> Self {
        Self {
            duration: during.to.since(Instant::ZERO),
            warmup: during.from,
            title: self.title.clone(),
            flows: self.flows.iter().map(|flow| flow.of_part(during, self.detail)).collect(),
            ports: self.ports.iter().map(|port| port.of_part(during)).collect(),
            ..Self::new(super::Setup {
                mode: self.mode,
                seed: self.seed,
                interval: self.interval,
                detail: self.detail,
                file_bins: self.file_bins.clone(),
                ..super::Setup::default()
            })
        }
    }
}
