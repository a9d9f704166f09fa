//! Errors of a paper's claims.

use lockgate_measure::metric::MetricError;

/// The reason why a `claims.toml` is invalid or cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimsError {
    /// Of a part of the file: its kind, its name, the reason.
    #[error("{0} `{1}`: {2}")]
    In(&'static str, String, Box<Self>),
    /// Two claims have one name.
    #[error("there are two of this name")]
    Twice,
    /// A claim has no criterion.
    #[error("nothing decides it: give at_most, at_least, expected, order or undecidable")]
    Undecided,
    /// An undecidable claim has a criterion.
    #[error("what is undecidable has no bound")]
    Bounded,
    /// A claim does not quote the paper.
    #[error("`where` and `paper` give its place in the paper and what stands there")]
    NoPlace,
    /// A claim names no table of the file: its key, the name, the kind of table.
    #[error("`{0}` names `{1}`, and there is no such [[{2}]]")]
    NoTable(&'static str, String, &'static str),
    /// A claim of one value has an order.
    #[error("one value has no order: give each, rows or a list in braces")]
    OneValue,
    /// A choice of this name does not quote the paper.
    #[error("`{0}`: `where` and `paper` say where the paper is silent, and of what")]
    NoSilence(String),
    /// A fitted parameter lacks the value of this key.
    #[error("`{0}` is not among `values`")]
    NotAmongValues(&'static str),
    /// A series of a figure has no data, or more than one kind of them: the figure, the series.
    #[error("figure `{0}`, series `{1}`: give exactly one of y, over_time, density, cumulative and points")]
    Series(String, String),
    /// A text is not a formula: the text, the reason.
    #[error("`{0}` is not a formula: {1}")]
    Formula(String, Box<Self>),
    /// A text follows a formula.
    #[error("`{0}` is left over")]
    LeftOver(String),
    /// A formula is nested too deep.
    #[error("it is nested too deep")]
    TooDeep,
    /// A formula lacks a closing bracket.
    #[error("a `{0}` is missing")]
    Missing(char),
    /// A word of a formula is unknown: the word, the names of functions.
    #[error("`{0}` is not a number, no `[run: metric]` and none of {1}")]
    UnknownWord(String, String),
    /// A function has no arguments.
    #[error("`{0}` needs `(` after it")]
    NoArguments(String),
    /// An observation has no run.
    #[error("`[{0}]` names no run: it is written `[run: metric]`")]
    RunMissing(String),
    /// A text is not an observation.
    #[error("`{0}` is not an observation: it is written `[run: metric]`")]
    Observation(String),
    /// A text is not a range of times.
    #[error("`{0}` is not a range: it is written `10s..20s`")]
    Range(String),
    /// Lists of these lengths are combined.
    #[error("a list of {0} and one of {1} do not go together")]
    Lengths(usize, usize),
    /// A variable does not exist: its name, the text, those that do.
    #[error("`${0}` in `{1}` is not a variable; there are {2}")]
    NoVariable(String, String, String),
    /// Variables have too many combinations: their number, that of the values of each, the limit.
    #[error("`each` makes {0} combinations ({1}), more than {2}: have fewer or shorter lists")]
    Combinations(usize, String, usize),
    /// A brace of a text is not closed.
    #[error("a brace of `{0}` is not closed")]
    OpenBrace(String),
    /// Braces make too many texts: the start of the text, the number.
    #[error("the braces of `{0}…` make {1} texts or more: have fewer or shorter lists")]
    Braces(String, usize),
    /// Two runs have one name.
    #[error("there are two runs called `{0}`")]
    RunTwice(String),
    /// There is no run of this name.
    #[error("there is no run `{0}`")]
    NoRun(String),
    /// There is no run of this observation: the observation, the run.
    #[error("{0}: there is no run `{1}`")]
    NotObserved(String, String),
    /// The variable `seed` is not a number.
    #[error("`seed` is a whole number from 1")]
    Seed,
    /// No flow of a run has the pattern of this observation.
    #[error("{0}: no flow is called so")]
    NoFlow(String),
    /// A run has no subject of this address.
    #[error("`{0}`: the scenario has nothing of this name")]
    NoSubject(String),
    /// A subject has no series or distribution of this address: the address, `series` or `shares`, those that
    /// there are.
    #[error("`{0}`: there are {1} of {2}")]
    NoColumn(String, &'static str, String),
    /// Of a series a part is observed as of a metric: the series, the part.
    #[error("`{0}` is a series: its rows in a time are `[run: {0} over {1}]`")]
    Rows(String, String),
    /// A text is not an address.
    #[error("`{0}` is not an address: it is written `flow.NAME.metric` or `port.A:B.queue.NAME.metric`")]
    Address(String),
    /// An address is not one of a metric.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// A run does not have the part of an address, for this reason.
    #[error("{0}")]
    Part(String),
    /// Runs and observations take more than these MiB of memory.
    #[error("the runs and observations up to here take more than the {0} MiB of memory that are allowed")]
    Memory(u64),
    /// The caller stops the experiment while it is planned.
    #[error("it was stopped")]
    Stopped,
}

impl ClaimsError {
    /// Returns a function that tells an error's part of the file.
    pub(crate) fn of(part: &'static str, name: &str) -> impl Fn(Self) -> Self + Copy {
        move |why| Self::In(part, name.to_owned(), Box::new(why))
    }
}
