//! Ranges of values: `a..b step s`, `a..b log n`.

use super::quantity::{Quantity, Unit, digits};
use super::{MOST_VALUES, VaryError, share};
use crate::table_reader::shorten;

/// Significant digits of a number whose neighbours are as close as can be.
const MOST_DIGITS: usize = 15;

/// A range of quantities of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Lower end, as written.
    pub low: String,
    /// Upper end, as written.
    pub high: String,
    /// Values within it.
    pub spacing: Spacing,
    /// Base of shares: `link` in `80%..99% step 1% of link`.
    pub of: Option<String>,
}

/// Values of a range.
#[derive(Clone, Debug, PartialEq)]
pub enum Spacing {
    /// At equal differences, from the lower end on.
    Step(String),
    /// Whole numbers, which a search may take for all values if the path has fractions.
    Whole,
    /// So many at equal ratios, both ends included, rounded to three digits, or to more if two were the same
    /// then; fewer if the unit has fewer, such as whole packets.
    Log(usize),
    /// All, on a linear (`false`) or logarithmic scale: for an optimiser.
    All(bool),
}

impl Range {
    /// Reads a range with its spacing; `None` for any other text.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, VaryError> {
        let (body, of) = share::split(text);
        let Some((low, rest)) = body.split_once("..") else { return Ok(None) };
        let rest = rest.trim_start_matches('=').trim();
        let (high, spacing) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (Some(from), Some(to)) = (Quantity::parse(low), Quantity::parse(high)) else {
            // A file's name may have two dots.
            return if spacing.is_empty() { Ok(None) } else { Err(VaryError::Ends(shorten(text))) };
        };
        if from.unit != to.unit {
            return Err(VaryError::Ends(shorten(text)));
        }
        let wrong = |why: &str| VaryError::Spacing(shorten(text), why.to_owned());
        if from.value > to.value {
            return Err(wrong("write the lower end first"));
        }
        let whole = from.unit == Unit::Number && from.value.fract() == 0.0 && to.value.fract() == 0.0;
        let spacing = match spacing
            .trim()
            .split_once(char::is_whitespace)
            .map(|(word, rest)| (word, rest.trim()))
        {
            Some(("step", step)) => {
                let read = Quantity::parse(step).filter(|step| step.unit == from.unit && step.value > 0.0);
                read.ok_or_else(|| wrong("a step is above zero, in the unit of the ends"))?;
                Spacing::Step(step.to_owned())
            }
            Some(("log", count)) => {
                let count = count.parse().ok().filter(|count| *count >= 2);
                if from.value <= 0.0 {
                    return Err(wrong("equal ratios need ends above zero"));
                }
                Spacing::Log(count.ok_or_else(|| wrong("`log` takes the number of values, at least two"))?)
            }
            None if spacing.trim() == "log" => Spacing::All(true),
            None if spacing.trim().is_empty() && whole => Spacing::Whole,
            None if spacing.trim().is_empty() => Spacing::All(false),
            _ => return Err(wrong("after a range stands `step S` or `log N`")),
        };
        let (low, high) = (low.trim().to_owned(), high.to_owned());
        Ok(Some(Self { low, high, spacing, of: of.map(str::to_owned) }))
    }

    /// Returns the value at a position from 0, the lower end, to 1, the upper end: on a logarithmic scale if
    /// the spacing says so. Between the ends it is rounded to four significant digits.
    ///
    /// # Errors
    /// If the ends are no quantities.
    pub fn at(&self, position: f64) -> Result<String, VaryError> {
        let ends = || VaryError::Ends(shorten(&format!("{}..{}", self.low, self.high)));
        let low = Quantity::parse(&self.low).ok_or_else(ends)?;
        let high = Quantity::parse(&self.high).ok_or_else(ends)?;
        let (from, to) = (low.fine(), high.fine());
        let is_log = matches!(self.spacing, Spacing::Log(_) | Spacing::All(true)) && from > 0.0;
        let value = if position <= 0.0 {
            from
        } else if position >= 1.0 {
            to
        } else if is_log {
            digits(from * libm::pow(to / from, position), 4)
        } else {
            digits(from + (to - from) * position, 4)
        };
        Ok(share::join(&Quantity::write(low.unit, value.clamp(from, to)), self.of.as_deref()))
    }

    /// Returns the values as text.
    pub(super) fn texts(&self) -> Result<Vec<String>, VaryError> {
        let text = || shorten(&format!("{}..{}", self.low, self.high));
        let (Some(low), Some(high)) = (Quantity::parse(&self.low), Quantity::parse(&self.high)) else {
            return Err(VaryError::Ends(text()));
        };
        let (from, to) = (low.fine(), high.fine());
        let values: Vec<f64> = match &self.spacing {
            Spacing::All(_) => return Err(VaryError::NoSpacing(text())),
            Spacing::Step(_) | Spacing::Whole => {
                let step = match &self.spacing {
                    Spacing::Step(step) => Quantity::parse(step).map_or(0.0, Quantity::fine),
                    _ => 1.0,
                };
                let count = libm::floor((to - from) / step + 1e-9) + 1.0;
                if !count.is_finite() || count > MOST_VALUES as f64 {
                    return Err(VaryError::TooMany(text()));
                }
                (0..count as usize).map(|index| from + step * index as f64).collect()
            }
            Spacing::Log(count) => {
                if *count > MOST_VALUES {
                    return Err(VaryError::TooMany(text()));
                }
                let last = (*count - 1) as f64;
                let at = |index: usize| from * libm::pow(to / from, index as f64 / last);
                let rounded = |figures| {
                    let inner = (1..*count - 1).map(|index| digits(at(index), figures));
                    let all = core::iter::once(from).chain(inner).chain([to]);
                    all.map(|value| Quantity::write(low.unit, value)).collect::<Vec<_>>()
                };
                let is_distinct = |texts: &Vec<String>| texts.windows(2).all(|two| two[0] != two[1]);
                let mut texts =
                    (3..MOST_DIGITS).map(rounded).find(is_distinct).unwrap_or_else(|| rounded(MOST_DIGITS));
                texts.dedup();
                return Ok(texts.iter().map(|text| share::join(text, self.of.as_deref())).collect());
            }
        };
        let write = |value: f64| share::join(&Quantity::write(low.unit, value), self.of.as_deref());
        Ok(values.into_iter().map(write).collect())
    }
}
