//! Runs and comparisons in steps, between which the caller shows their progress or cancels them.
//!
//! ```text
//! begin -> number; step(number, events) -> progress, ...; finish(number) -> result, or cancel(number)
//!                                          '-- has_result? result(number) -> result without effects
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::answer::Wrong;
use crate::budget::{Budget, Job};
use crate::compare::{CompareRequest, ComparedVariants, Comparing};
use crate::message::{Message, Value};
use crate::run::{Ran, RunRequest, Running};

/// Request for runs or a comparison in steps.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum JobRequest {
    /// Runs.
    Run(RunRequest),
    /// A comparison.
    Compare(CompareRequest),
}

/// Job that has begun.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Begun {
    /// Number of the job, for the other calls.
    pub job: u32,
    /// Number of its runs.
    pub runs: usize,
}

/// Request for a step.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// Number of the job.
    pub job: u32,
    /// Events that are simulated, about.
    pub events: u64,
}

/// A job, to be finished or cancelled.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct JobNumber {
    /// Number of the job.
    pub job: u32,
}

/// Progress of a job.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct JobProgress {
    /// Number of runs that are made; a fraction for the current one.
    pub done: f64,
    /// Number of all runs that are known: those that tell the effects of changes follow the others.
    pub runs: usize,
    /// True if [`result`] returns the result already, without the effects of changes.
    pub has_result: bool,
    /// True if all are made: [`finish`] returns the result.
    pub ended: bool,
}

/// A job of either kind.
enum AnyJob {
    Run(Box<Running>),
    Compare(Box<Comparing>),
}

impl AnyJob {
    fn job(&mut self) -> &mut dyn Job {
        match self {
            Self::Run(job) => &mut **job,
            Self::Compare(job) => &mut **job,
        }
    }
}

/// Result of a job.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Finished {
    /// Of runs.
    Run(Ran),
    /// Of a comparison.
    Compare(ComparedVariants),
}

thread_local! {
    static JOBS: RefCell<Jobs> = const { RefCell::new(Jobs { last: 0, by_number: BTreeMap::new() }) };
}

/// Jobs that have begun and are neither finished nor cancelled.
struct Jobs {
    last: u32,
    by_number: BTreeMap<u32, AnyJob>,
}

/// Begins a job.
///
/// # Errors
/// If its scenario has problems.
pub fn begin(message: &Message<'_>) -> Result<Value<Begun>, Wrong> {
    let mut job = match message.head()? {
        JobRequest::Run(request) => AnyJob::Run(Box::new(Running::new(request, message)?)),
        JobRequest::Compare(request) => AnyJob::Compare(Box::new(Comparing::new(request, message)?)),
    };
    let runs = job.job().runs();
    let number = JOBS.with_borrow_mut(|jobs| {
        jobs.last = jobs.last.wrapping_add(1);
        jobs.by_number.insert(jobs.last, job);
        jobs.last
    });
    Ok(Begun { job: number, runs }.into())
}

/// Continues a job.
///
/// # Errors
/// If a run fails; the job is then cancelled.
pub fn step(message: &Message<'_>) -> Result<Value<JobProgress>, Wrong> {
    let StepRequest { job: number, events } = message.head()?;
    let mut job = taken(number)?;
    job.job().step(&mut Budget::of(events))?;
    let of = job.job();
    let (done, runs, ended) = (of.done(), of.runs(), of.has_ended());
    let has_result = matches!(&job, AnyJob::Run(running) if running.has_result());
    JOBS.with_borrow_mut(|jobs| jobs.by_number.insert(number, job));
    Ok(JobProgress { done, runs, has_result, ended }.into())
}

/// Returns the result of runs while those that tell the effects of their changes are made.
///
/// # Errors
/// If the job compares, or its own runs are not made.
pub fn result(message: &Message<'_>) -> Result<Value<Ran>, Wrong> {
    let JobNumber { job: number } = message.head()?;
    let mut job = taken(number)?;
    let result = match &mut job {
        AnyJob::Run(running) => running.result(),
        AnyJob::Compare(_) => Err(Wrong::new("a comparison has a result at its end only")),
    };
    JOBS.with_borrow_mut(|jobs| jobs.by_number.insert(number, job));
    result
}

/// Ends a job and returns its result: of runs, that of the ones made so far.
///
/// # Errors
/// If a comparison lacks runs, or a run fails.
pub fn finish(message: &Message<'_>) -> Result<Value<Finished>, Wrong> {
    let JobNumber { job } = message.head()?;
    match taken(job)? {
        AnyJob::Run(job) => {
            job.finish().map(|Value { value, parts }| Value { value: Finished::Run(value), parts })
        }
        AnyJob::Compare(job) => {
            job.finish().map(|Value { value, parts }| Value { value: Finished::Compare(value), parts })
        }
    }
}

/// Ends a job without a result.
///
/// # Errors
/// If it has ended.
pub fn cancel(message: &Message<'_>) -> Result<Value<()>, Wrong> {
    let JobNumber { job } = message.head()?;
    taken(job).map(drop).map(Value::from)
}

fn taken(number: u32) -> Result<AnyJob, Wrong> {
    let job = JOBS.with_borrow_mut(|jobs| jobs.by_number.remove(&number));
    job.ok_or_else(|| Wrong::new(format!("job {number} has ended")))
}
