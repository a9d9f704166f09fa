//! Errors of plans, each with its remedy.

use lockgate_measure::metric::MetricError;
use lockgate_scenario::VaryError;

use crate::Error;

/// Error of making or opening a plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A variant cannot be read.
    #[error(transparent)]
    Read(Error),
    /// A path that varies names nothing, or cannot have a value.
    #[error("{message}")]
    Value {
        /// The path with the value, and the reason.
        message: String,
        /// Remedy.
        help: String,
    },
    /// A variation is malformed.
    #[error(transparent)]
    Vary(#[from] VaryError),
    /// Two variations have one name.
    #[error("`{0}` varies twice")]
    Twice(String),
    /// Two variants are the same: their runs would count as those of different ones.
    #[error("the variant `{0}` is there twice")]
    VariantTwice(String),
    /// A seed is named twice: its runs are the same, and would count as evidence twice.
    #[error("seed {0} is named twice")]
    SeedTwice(u64),
    /// More seeds than [`MOST_SEEDS`](super::MOST_SEEDS).
    #[error("there are more than {} seeds", super::MOST_SEEDS)]
    TooManySeeds,
    /// A seed of the judgement is one of the search.
    #[error("seed {0} is of the search and of the judgement")]
    SeedSeen(u64),
    /// No seeds are named.
    #[error("there are no seeds")]
    NoSeeds,
    /// A search may make too few runs.
    #[error("{runs} runs are fewer than five points of {seeds} seeds")]
    TooFewRuns {
        /// Limit on the runs.
        runs: usize,
        /// Number of seeds of a point.
        seeds: usize,
    },
    /// A search has no goal.
    #[error("there is no goal")]
    NoGoal,
    /// There are no variations.
    #[error("nothing varies: no variations are given, and the scenario has no [[vary]]")]
    NothingVaries,
    /// No variant has a metric.
    #[error("no variant has the metric `{}`", .0.path())]
    Metric(MetricError),
    /// The metric of a condition is unknown.
    #[error("`{}` is not a metric", .0.path())]
    NotAMetric(MetricError),
    /// A file that the scenario names is missing, or is not that of the plan.
    #[error("the file `{name}` {why}")]
    File {
        /// Name of the file.
        name: String,
        /// Reason, as the end of a sentence.
        why: String,
    },
    /// The store was made by another version.
    #[error("the store is of version {store}, and this is {this}")]
    Version {
        /// Version of the store's plan.
        store: String,
        /// This version.
        this: &'static str,
    },
    /// The callback stopped it.
    #[error("the plan was interrupted")]
    Stopped,
    /// The plan has too many runs, or its store cannot be used.
    #[error(transparent)]
    Experiment(#[from] lockgate_experiment::Error),
}

impl PlanError {
    /// Converts an error of reading a variant: a value was set by a variation, not by a setting.
    pub fn of_variant(error: Error) -> Self {
        let Error::Scenario(problems) = &error else { return Self::Read(error) };
        let Some(first) = problems.iter().find(|one| one.message().contains("`--set ")) else {
            return Self::Read(error);
        };
        let default = "a path is written as for `--set`, such as `link.wan.rate`";
        Self::Value {
            message: first.message().replacen("`--set ", "varying `", 1),
            help: first.help_text().unwrap_or(default).to_owned(),
        }
    }

    /// Returns the way to fix it; `None` if that is part of the error itself.
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Value { help, .. } => help.clone(),
            Self::Vary(error) => error.help().to_owned(),
            Self::Twice(_) => "give all its values in one variation".to_owned(),
            Self::VariantTwice(_) => "name each value once: `1mbit` and `1000kbit` are the same".to_owned(),
            Self::SeedTwice(_) => "name each seed once".to_owned(),
            Self::TooManySeeds => "name fewer".to_owned(),
            Self::SeedSeen(_) => "judge on seeds that the search has not seen".to_owned(),
            Self::NoSeeds => "name one or more".to_owned(),
            Self::TooFewRuns { .. } => "allow more runs, or name fewer seeds".to_owned(),
            Self::NoGoal => "name one such as `min flow.call.owd.p99`".to_owned(),
            Self::NothingVaries => {
                "name a path and its values, such as `link.wan.rate` and `1mbit,2mbit`".to_owned()
            }
            Self::Metric(error) | Self::NotAMetric(error) => error.help(),
            Self::File { .. } => "put it back, or sweep into another directory".to_owned(),
            Self::Version { .. } => "resume it with that version, or sweep into another directory".to_owned(),
            Self::Read(_) | Self::Experiment(_) | Self::Stopped => return None,
        };
        Some(text)
    }
}
