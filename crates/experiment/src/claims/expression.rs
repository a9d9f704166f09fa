//! Formulas of claims: arithmetic over observations of runs.
//!
//! ```text
//! [lis/50: flow.a1.throughput] / [fifo/50: flow.a1.throughput]      values of two runs
//! spread(mean([lis/50: flow.{a1,a2,a3}.throughput]), ...)           braces make lists; functions take them
//! [cbq: flow.tcp.throughput @ 20s..40s]                             of a part of the run
//! [cbq: flow.tcp.cwnd over 20s..40s]                                rows of a series
//! [cbq: flow.voice.iat in 0ms..5ms]                                 share of a distribution
//! ```
//!
//! Every value is a list. Operators work element by element; a list of one fits any other.

use std::collections::BTreeMap;
use std::fmt;

use lockgate_engine::units::Duration;

use crate::ClaimsError;
use crate::matrix::braces;

/// Observation of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Observation {
    /// Name of the run.
    pub(crate) run: String,
    /// Address of the metric, or name of the series or distribution; a `*` in a flow's name matches anything.
    pub(crate) path: String,
    pub(crate) clause: Clause,
}

impl Observation {
    /// Returns the error of an observation whose run does not exist.
    pub(crate) fn without_run(&self) -> ClaimsError {
        ClaimsError::NotObserved(self.to_string(), self.run.clone())
    }
}

/// Part of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clause {
    /// Metric, of the run or of the part of it that the address names.
    Metric,
    /// Rows of the series of this name that end between two times, the second included.
    Over(Duration, Duration),
    /// Fraction of a distribution's values at or above the first and below the second.
    Within(Duration, Duration),
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}: {}", self.run, self.path)?;
        match self.clause {
            Clause::Metric => f.write_str("]"),
            Clause::Over(from, to) => write!(f, " over {from}..{to}]"),
            Clause::Within(from, to) => write!(f, " in {from}..{to}]"),
        }
    }
}

/// Observed values.
pub(crate) type Values = BTreeMap<Observation, Vec<f64>>;

/// Formula.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    Observations(Vec<Observation>),
    Call(Function, Vec<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// Operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// Function of the values of all its arguments together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Min,
    Max,
    Mean,
    Sum,
    /// (largest - smallest) / mean.
    Spread,
    /// Standard deviation.
    Std,
    Median,
    Count,
    /// Number of values less than the last; missing values do not count.
    Below,
    /// Absolute value of each.
    Abs,
}

impl Function {
    const ALL: [(Self, &'static str); 10] = [
        (Self::Min, "min"),
        (Self::Max, "max"),
        (Self::Mean, "mean"),
        (Self::Sum, "sum"),
        (Self::Spread, "spread"),
        (Self::Std, "std"),
        (Self::Median, "median"),
        (Self::Count, "count"),
        (Self::Below, "below"),
        (Self::Abs, "abs"),
    ];

    fn of(self, values: &[f64]) -> Vec<f64> {
        let count = values.len() as f64;
        let sum: f64 = values.iter().sum();
        // NaN must propagate: a missing value is neither smallest nor largest.
        let pick = |choose: fn(f64, f64) -> f64| {
            values
                .iter()
                .copied()
                .reduce(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { choose(a, b) })
        };
        let (least, most) = (pick(f64::min).unwrap_or(f64::NAN), pick(f64::max).unwrap_or(f64::NAN));
        let mean = sum / count;
        let one = match self {
            Self::Min => least,
            Self::Max => most,
            Self::Mean => mean,
            Self::Sum => sum,
            Self::Spread => (most - least) / mean,
            Self::Std => (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt(),
            Self::Median => median(values),
            Self::Count => count,
            Self::Below => {
                let (bound, others) =
                    values.split_last().map_or((f64::NAN, values), |(last, rest)| (*last, rest));
                others.iter().filter(|value| **value < bound).count() as f64
            }
            Self::Abs => return values.iter().map(|value| value.abs()).collect(),
        };
        vec![one]
    }
}

fn median(values: &[f64]) -> f64 {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

impl Expression {
    /// Parses a formula.
    ///
    /// # Errors
    /// The problem, and the text expected at its position.
    pub(crate) fn parse(text: &str) -> Result<Self, ClaimsError> {
        let mut parser = Parser { rest: text.trim_start(), depth: 0 };
        let expression = parser.sum().and_then(|expression| match parser.rest {
            "" => Ok(expression),
            rest => Err(ClaimsError::LeftOver(rest.to_owned())),
        });
        expression.map_err(|why| ClaimsError::Formula(text.to_owned(), Box::new(why)))
    }

    /// Calls `visit` with each observation in the formula.
    pub(crate) fn each_observation(&self, visit: &mut dyn FnMut(&Observation)) {
        match self {
            Self::Number(_) => {}
            Self::Observations(all) => all.iter().for_each(visit),
            Self::Call(_, arguments) => arguments.iter().for_each(|one| one.each_observation(visit)),
            Self::Binary(_, left, right) => {
                left.each_observation(visit);
                right.each_observation(visit);
            }
        }
    }

    /// Evaluates the formula; NaN for missing observations.
    ///
    /// # Errors
    /// If lists of different lengths are combined.
    pub(crate) fn value(&self, values: &Values) -> Result<Vec<f64>, ClaimsError> {
        match self {
            Self::Number(number) => Ok(vec![*number]),
            Self::Observations(all) => {
                let one = |observation| values.get(observation).cloned().unwrap_or_else(|| vec![f64::NAN]);
                Ok(all.iter().flat_map(one).collect())
            }
            Self::Call(function, arguments) => {
                let mut all = Vec::new();
                for argument in arguments {
                    all.extend(argument.value(values)?);
                }
                Ok(function.of(&all))
            }
            Self::Binary(operator, left, right) => {
                combine(*operator, &left.value(values)?, &right.value(values)?)
            }
        }
    }
}

fn combine(operator: Operator, left: &[f64], right: &[f64]) -> Result<Vec<f64>, ClaimsError> {
    let one = |a: f64, b: f64| match operator {
        Operator::Plus => a + b,
        Operator::Minus => a - b,
        Operator::Times => a * b,
        Operator::Over => a / b,
    };
    match (left, right) {
        (left, [b]) => Ok(left.iter().map(|a| one(*a, *b)).collect()),
        ([a], right) => Ok(right.iter().map(|b| one(*a, *b)).collect()),
        (left, right) if left.len() == right.len() => {
            Ok(left.iter().zip(right).map(|(a, b)| one(*a, *b)).collect())
        }
        (left, right) => Err(ClaimsError::Lengths(left.len(), right.len())),
    }
}

/// Maximum nesting depth of formulas.
const DEEPEST: usize = 64;

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn take(&mut self, letter: char) -> bool {
        let after = self.rest.strip_prefix(letter);
        after.inspect(|after| self.rest = after.trim_start()).is_some()
    }

    fn sum(&mut self) -> Result<Expression, ClaimsError> {
        self.chain(&[('+', Operator::Plus), ('-', Operator::Minus)], Self::product)
    }

    fn product(&mut self) -> Result<Expression, ClaimsError> {
        self.chain(&[('*', Operator::Times), ('/', Operator::Over)], Self::factor)
    }

    fn chain(
        &mut self,
        operators: &[(char, Operator)],
        part: fn(&mut Self) -> Result<Expression, ClaimsError>,
    ) -> Result<Expression, ClaimsError> {
        let mut all = part(self)?;
        while let Some((_, operator)) = operators.iter().find(|(letter, _)| self.take(*letter)) {
            all = Expression::Binary(*operator, Box::new(all), Box::new(part(self)?));
        }
        Ok(all)
    }

    fn factor(&mut self) -> Result<Expression, ClaimsError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ClaimsError::TooDeep);
        }
        let factor = self.open_factor();
        self.depth -= 1;
        factor
    }

    fn open_factor(&mut self) -> Result<Expression, ClaimsError> {
        if self.take('-') {
            let factor = self.factor()?;
            return Ok(Expression::Binary(
                Operator::Minus,
                Box::new(Expression::Number(0.0)),
                Box::new(factor),
            ));
        }
        if self.take('(') {
            let inner = self.sum()?;
            return if self.take(')') { Ok(inner) } else { Err(ClaimsError::Missing(')')) };
        }
        if let Some(after) = self.rest.strip_prefix('[') {
            let (inside, rest) = after.split_once(']').ok_or(ClaimsError::Missing(']'))?;
            self.rest = rest.trim_start();
            return observations(inside).map(Expression::Observations);
        }
        let end = self.rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '.'));
        let word = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = self.rest[word.len()..].trim_start();
        if let Ok(number) = word.parse::<f64>() {
            return Ok(Expression::Number(number));
        }
        self.call(word)
    }

    fn call(&mut self, word: &'a str) -> Result<Expression, ClaimsError> {
        let names = Function::ALL.map(|(_, name)| name).join(", ");
        let function = Function::ALL.iter().find(|(_, name)| *name == word);
        let Some((function, _)) = function else {
            return Err(ClaimsError::UnknownWord(word.to_owned(), names));
        };
        if !self.take('(') {
            return Err(ClaimsError::NoArguments(word.to_owned()));
        }
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        if self.take(')') {
            Ok(Expression::Call(*function, arguments))
        } else {
            Err(ClaimsError::Missing(')'))
        }
    }
}

/// Parses `run: path`, `run: path over from..to` or `run: path in from..to`; braces make several.
pub(crate) fn observations(text: &str) -> Result<Vec<Observation>, ClaimsError> {
    let (run, what) = text.split_once(':').ok_or_else(|| ClaimsError::RunMissing(text.to_owned()))?;
    let (path, clause) = if let Some((path, rows)) = what.split_once(" over ") {
        let (from, to) = range(rows)?;
        (path, Clause::Over(from, to))
    } else if let Some((path, within)) = what.split_once(" in ") {
        let (from, to) = range(within)?;
        (path, Clause::Within(from, to))
    } else {
        (what, Clause::Metric)
    };
    let paths = braces(path.trim())?;
    let mut all = Vec::new();
    for run in braces(run.trim())? {
        all.extend(paths.iter().map(|path| Observation { run: run.clone(), path: path.clone(), clause }));
    }
    Ok(all)
}

fn range(text: &str) -> Result<(Duration, Duration), ClaimsError> {
    let wrong = || ClaimsError::Range(text.trim().to_owned());
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let read = |text: &str| text.trim().parse::<Duration>().map_err(|_| wrong());
    let (from, to) = (read(from)?, read(to)?);
    if from < to { Ok((from, to)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Vec<f64> {
        let seen = |run: &str, path: &str| Observation {
            run: run.into(),
            path: path.into(),
            clause: Clause::Metric,
        };
        let values = Values::from([
            (seen("a", "x"), vec![6.0]),
            (seen("b", "x"), vec![2.0]),
            (seen("a", "y/*"), vec![1.0, 2.0, 6.0]),
        ]);
        Expression::parse(text).and_then(|expression| expression.value(&values)).expect("a value")
    }

    #[test]
    fn formulas_have_the_usual_precedence_and_lists_go_place_by_place() {
        for (text, expected) in [
            ("1 + 2 * 3 - 8 / 4", vec![5.0]),
            ("-(1 - 3) * 2", vec![4.0]),
            ("8 / 4 / 2", vec![1.0]),
            ("[a: x] / [b: x]", vec![3.0]),
            ("[{a,b}: x]", vec![6.0, 2.0]),
            ("[a: y/*] * 2", vec![2.0, 4.0, 12.0]),
            ("[{a,b}: x] - [{b,a}: x]", vec![4.0, -4.0]),
            ("max([{a,b}: x], 7) - min([{a,b}: x])", vec![5.0]),
            ("mean([a: y/*])", vec![3.0]),
            ("spread([a: y/*])", vec![5.0 / 3.0]),
            ("median([a: y/*]) + count([a: y/*])", vec![5.0]),
            ("std(1, 3)", vec![1.0]),
            ("below([a: y/*], 2)", vec![1.0]),
            ("abs(0 - [b: x])", vec![2.0]),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        assert!(value("max([a: x], [a: absent])")[0].is_nan(), "what is missing stays missing");
    }

    #[test]
    fn what_is_no_formula_is_said() {
        for (text, expected) in [
            ("1 +", "is not a number"),
            ("(1", "`)` is missing"),
            ("[a x]", "names no run"),
            ("[a: x", "`]` is missing"),
            ("maxi(1)", "none of min, max"),
            ("max 1", "needs `(`"),
            ("1 2", "left over"),
            ("[a: x over 5s]", "written `10s..20s`"),
            ("[a: x over 5s..4s]", "written `10s..20s`"),
            ("", "is not a number"),
        ] {
            let why = Expression::parse(text).expect_err(text).to_string();
            assert!(why.contains(expected), "{text}: {why}");
        }
        let deep = "(".repeat(5000);
        assert!(
            Expression::parse(&deep)
                .is_err_and(|why| why == ClaimsError::Formula(deep, Box::new(ClaimsError::TooDeep)))
        );
        let lists = Expression::parse("[{a,b}: x] + [{a,b,c}: x]").and_then(|it| it.value(&Values::new()));
        assert!(lists.is_err_and(|why| why == ClaimsError::Lengths(2, 3)));
    }

    #[test]
    fn an_observation_prints_as_it_is_read() {
        for text in
            ["[a/1: flow.x.owd.p99]", "[a: flow.x.throughput over 1s..2s]", "[a: flow.x.iat in 1ms..2ms]"]
        {
            let Ok(Expression::Observations(all)) = Expression::parse(text) else { panic!("{text}") };
            assert_eq!(all[0].to_string(), text);
        }
    }
}
