//! Answers of the module: a value, or what is wrong, with positions and fixes.

use lockgate::Error;
use lockgate::plans::PlanError;
use lockgate_scenario::{Problem, Problems};
use serde::Serialize;

/// Head of an answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer<T> {
    /// Result of a call.
    Ok {
        /// The value.
        value: T,
        /// Documents behind the head, in their order: name and length in bytes.
        parts: Vec<(String, u32)>,
    },
    /// Error of a call.
    Wrong(Wrong),
}

/// Error of a call.
#[derive(Debug, Default, Serialize)]
pub struct Wrong {
    wrong: WrongData,
}

#[derive(Debug, Default, Serialize)]
struct WrongData {
    /// Error in a sentence, in lower case, without a full stop.
    message: String,
    /// How to fix it, if it has no problems.
    help: Option<String>,
    /// Problems of a text, each with its position and its fix.
    problems: Vec<ProblemData>,
}

/// A problem of a text.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ProblemData {
    /// True if nothing can be run because of it; false for a probable mistake.
    pub is_error: bool,
    /// Message, in lower case, without a full stop.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// Line from 1, if it has a position.
    pub line: Option<u32>,
    /// Column from 1, in characters.
    pub column: Option<u32>,
    /// First byte of the text that it points at, and the one behind the last.
    pub span: Option<[u32; 2]>,
    /// Other positions that it mentions.
    pub related: Vec<RelatedPlace>,
}

/// Position that a problem mentions.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RelatedPlace {
    /// First byte of the text, and the one behind the last.
    pub span: [u32; 2],
    /// Label of the position.
    pub label: String,
}

impl ProblemData {
    /// Returns a problem without a position.
    pub(crate) fn without_place(message: String, help: Option<String>) -> Self {
        let (line, column, span) = (None, None, None);
        Self { is_error: true, message, help, line, column, span, related: Vec::new() }
    }
}

impl From<&Problem> for ProblemData {
    fn from(problem: &Problem) -> Self {
        let span = |span: &std::ops::Range<usize>| [span.start as u32, span.end as u32];
        let place = problem.position();
        let related = problem.related_places().iter();
        Self {
            is_error: problem.is_error(),
            message: problem.message().to_owned(),
            help: problem.help_text().map(str::to_owned),
            line: place.map(|(line, _)| line as u32),
            column: place.map(|(_, column)| column as u32),
            span: problem.span().as_ref().map(span),
            related: related
                .map(|(place, label)| RelatedPlace { span: span(place), label: label.clone() })
                .collect(),
        }
    }
}

impl From<&lockgate_tc::Problem> for ProblemData {
    fn from(problem: &lockgate_tc::Problem) -> Self {
        // Lines count from 1: a problem of the whole text is at line 0.
        let line = Some(problem.at.line).filter(|line| *line > 0);
        Self {
            line,
            column: line.map(|_| problem.at.column),
            ..Self::without_place(problem.message.clone(), problem.help.clone())
        }
    }
}

impl Wrong {
    /// Creates an error with a message only.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { wrong: WrongData { message: message.into(), ..WrongData::default() } }
    }

    /// Adds how to fix it.
    pub(crate) fn help(mut self, help: Option<String>) -> Self {
        self.wrong.help = help;
        self
    }

    /// Adds problems of a text.
    pub(crate) fn problems(mut self, problems: Vec<ProblemData>) -> Self {
        self.wrong.problems = problems;
        self
    }

    /// Returns the problems; without any, the error itself as one.
    pub(crate) fn into_problems(self) -> Vec<ProblemData> {
        let WrongData { message, help, problems } = self.wrong;
        if problems.is_empty() { vec![ProblemData::without_place(message, help)] } else { problems }
    }
}

impl From<&Problems> for Wrong {
    fn from(problems: &Problems) -> Self {
        Self::new(problems.to_string()).problems(problems.iter().map(ProblemData::from).collect())
    }
}

impl From<Problems> for Wrong {
    fn from(problems: Problems) -> Self {
        Self::from(&problems)
    }
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        match &error {
            Error::Scenario(problems) => Self::from(&**problems),
            Error::Estimate { remedy, .. } => Self::new(error.to_string()).help(Some((*remedy).to_owned())),
            _ => Self::new(error.to_string()),
        }
    }
}

impl From<PlanError> for Wrong {
    fn from(error: PlanError) -> Self {
        let help = error.help();
        match error {
            PlanError::Read(error) => error.into(),
            error => Self::new(error.to_string()).help(help),
        }
    }
}

impl From<lockgate_experiment::Error> for Wrong {
    fn from(error: lockgate_experiment::Error) -> Self {
        PlanError::from(error).into()
    }
}

impl From<serde_json::Error> for Wrong {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}
