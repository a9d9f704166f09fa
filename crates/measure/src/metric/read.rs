//! Functions that read metrics from the results of their subjects.

use core::fmt;

use super::SubjectKind;
use crate::summary::{
    Distribution, FilesSummary, FlowSummary, GroupSummary, PortSummary, QueueSummary, Summary,
};

/// Function that reads a metric, by the kind of its subject.
#[derive(Clone, Copy, Debug)]
pub enum Read {
    /// Of the whole run.
    Run(Of<Summary>),
    /// Of a flow.
    Flow(Of<FlowSummary>),
    /// Of a group as a whole.
    Group(Of<GroupSummary>),
    /// Of the files of a group, or of one of its size classes.
    Files(Of<FilesSummary>),
    /// Of a port.
    Port(Of<PortSummary>),
    /// Of a queue.
    Queue(Of<QueueSummary>),
}

/// Function that reads a metric from results of type `T`, by the form of its value.
pub enum Of<T: 'static> {
    /// A count, which every subject has.
    Count(fn(&T) -> u64),
    /// A single value; `None` if the subject cannot have it.
    Value(fn(&T) -> Option<Reading>),
    /// A distribution; `None` if the subject cannot have it.
    Distribution(fn(&T) -> Option<&Distribution>),
}

/// Form of a metric's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A count, which every subject has.
    Count,
    /// A single value.
    Value,
    /// A distribution.
    Distribution,
}

/// Value of a metric that a subject can have; `None` if nothing was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading(pub Option<f64>);

/// Observation of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observed<'a> {
    /// A single value; `None` if nothing was observed.
    Value(Option<f64>),
    /// A distribution, which may be empty.
    Distribution(&'a Distribution),
}

impl<T> Clone for Of<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Of<T> {}

impl<T> fmt::Debug for Of<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.form(), f)
    }
}

impl<T> Of<T> {
    /// Reads the metric; `None` if the subject cannot have it.
    pub fn read<'a>(&self, results: &'a T) -> Option<Observed<'a>> {
        Some(match self {
            Self::Count(read) => Observed::Value(Some(read(results) as f64)),
            Self::Value(read) => Observed::Value(read(results)?.0),
            Self::Distribution(read) => Observed::Distribution(read(results)?),
        })
    }

    fn form(&self) -> Form {
        match self {
            Self::Count(_) => Form::Count,
            Self::Value(_) => Form::Value,
            Self::Distribution(_) => Form::Distribution,
        }
    }
}

impl Read {
    /// Returns the kind of the subject.
    pub fn about(&self) -> SubjectKind {
        match self {
            Self::Run(_) => SubjectKind::Run,
            Self::Flow(_) => SubjectKind::Flow,
            Self::Group(_) | Self::Files(_) => SubjectKind::Group,
            Self::Port(_) => SubjectKind::Port,
            Self::Queue(_) => SubjectKind::Queue,
        }
    }

    /// Returns the form of the value.
    pub fn form(&self) -> Form {
        match self {
            Self::Run(of) => of.form(),
            Self::Flow(of) => of.form(),
            Self::Group(of) => of.form(),
            Self::Files(of) => of.form(),
            Self::Port(of) => of.form(),
            Self::Queue(of) => of.form(),
        }
    }
}

/// Returns the reading of a value that may not have been observed.
#[allow(clippy::unnecessary_wraps, reason = "reads the same for subjects that cannot have the metric")]
pub(super) fn seen(value: Option<f64>) -> Option<Reading> {
    Some(Reading(value))
}

/// Returns the reading of a count that only some subjects have.
#[allow(clippy::unnecessary_wraps, reason = "reads the same for subjects that cannot have the metric")]
pub(super) fn number(count: u64) -> Option<Reading> {
    Some(Reading(Some(count as f64)))
}
