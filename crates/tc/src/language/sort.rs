//! Forms of values, as the parser of `tc` reads them.

use crate::lex;

/// Type of the value of a word, as the parser reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sort {
    /// No value.
    Flag,
    /// Whole number of a base (0: by its prefix) up to a largest one.
    Whole(u32, u64),
    /// Whole number of 32 bits with a sign, of a base.
    Signed(u32),
    /// Decimal number of which 32 bits are kept, between two.
    Kept(i64, i64),
    /// Size in bytes.
    Size,
    /// Size in bytes, which may have that of its cells after a `/`.
    Cells,
    /// Rate of 32 bits of bytes a second.
    Rate32,
    /// Rate of 64 bits; below zero it wraps.
    Rate,
    /// The same of 32 and of 64 bits, or a percentage of the device's speed.
    LineRate32,
    LineRate,
    /// Time in microseconds, of which 32 bits are kept.
    Time,
    /// Time that must be short enough for its field of ticks.
    Ticks,
    /// Time in nanoseconds.
    Nanos,
    /// Percentage, 0 to 100, with or without its sign.
    Percent,
    /// Real number from 0 to 1; what follows it is not read.
    Share,
    /// Real number; what follows it is not read.
    Real,
    /// Any word.
    Any,
    /// One of these words.
    Of(&'static [&'static str]),
    /// Numbers up to the first other word, each a band; no more than 16.
    Bands,
    /// Numbers up to the first other word.
    Numbers,
    /// `COUNT@OFFSET` up to the first word that is not of this form.
    Queues,
    /// Service curve.
    Curve,
    /// `S MASK INTERVAL`.
    Gate,
    /// Value and mask of eight bits, `1/3`.
    Masked,
    /// None: `tc` prints the word, or older versions read it.
    Unread,
}

pub(super) const U32: Sort = Sort::Whole(0, u32::MAX as u64);
pub(super) const DECIMAL: Sort = Sort::Whole(10, u32::MAX as u64);
pub(super) const U16: Sort = Sort::Whole(10, u16::MAX as u64);
pub(super) const LAYERS: Sort = Sort::Of(&["ethernet", "atm", "adsl"]);

impl Sort {
    /// Reads a value of one word.
    pub(crate) fn read(self, text: &str) -> Option<f64> {
        match self {
            Self::Whole(base, most) => lex::unsigned(text, base, most).map(|number| number as f64),
            Self::Signed(base) => lex::signed(text, base).map(|number| number as f64),
            Self::Kept(least, most) => lex::wrapped(text)
                .filter(|number| (least..=most).contains(number))
                .map(|number| number as f64),
            Self::Size => lex::size(text),
            Self::Cells => match text.split_once('/') {
                Some((size, cell)) => {
                    let is_power =
                        lex::unsigned(cell, 0, u64::from(u32::MAX)).is_some_and(u64::is_power_of_two);
                    lex::size(size).filter(|_| is_power)
                }
                None => lex::size(text),
            },
            Self::LineRate | Self::LineRate32 if text.contains('%') => part_of_speed(text),
            Self::Rate | Self::LineRate => lex::rate(text).map(|rate| lex::bytes(rate) as f64),
            Self::Rate32 | Self::LineRate32 => lex::rate(text)
                .map(|rate| (rate / 8.0).trunc())
                .filter(|rate| (0.0..=f64::from(u32::MAX)).contains(rate)),
            Self::Time => lex::time(text).map(|time| f64::from(lex::field(time))),
            // 15.625 ticks of 64 ns are a microsecond.
            Self::Ticks => {
                lex::time(text).map(|time| f64::from(lex::field(time))).filter(|time| *time < 274_877_907.0)
            }
            Self::Nanos => lex::nanos(text),
            Self::Percent => {
                let (number, rest) = lex::real(text)?;
                let is_outside = !number.is_nan() && !(0.0..=100.0).contains(&number);
                (!is_outside && (rest.is_empty() || rest == "%")).then_some(number)
            }
            Self::Share => {
                lex::real(text).map(|(number, _)| number).filter(|number| !(*number < 0.0 || *number > 1.0))
            }
            Self::Real => lex::real(text).map(|(number, _)| number),
            Self::Of(words) => words.iter().position(|word| *word == text).map(|index| index as f64),
            Self::Any => Some(0.0),
            Self::Masked => {
                let (value, mask) = text.split_once('/')?;
                let byte = |text: &str| lex::unsigned(text, 0, 255);
                byte(mask).and(byte(value)).map(|value| value as f64)
            }
            Self::Flag
            | Self::Bands
            | Self::Numbers
            | Self::Queues
            | Self::Curve
            | Self::Gate
            | Self::Unread => None,
        }
    }

    /// Returns the least and the greatest value; `None` if they are those of its type.
    pub(super) fn range(self) -> Option<[f64; 2]> {
        match self {
            Self::Whole(_, most) => Some([0.0, most as f64]),
            Self::Kept(least, most) => Some([least as f64, most as f64]),
            Self::Percent => Some([0.0, 100.0]),
            Self::Share => Some([0.0, 1.0]),
            _ => None,
        }
    }

    /// Returns what it takes, in words.
    pub(crate) fn in_words(self) -> String {
        let words = match self {
            Self::Whole(10, most) if most < 0x1_0000 => return format!("a decimal number up to {most}"),
            Self::Whole(_, most) if most < 0x1_0000 => return format!("a whole number up to {most}"),
            Self::Kept(least, most) => return format!("a whole number from {least} to {most}"),
            Self::Of(words) => return format!("one of `{}`", words.join("`, `")),
            Self::Whole(10, _) | Self::Signed(10) => "a decimal number",
            Self::Whole(16, _) => "a hexadecimal number",
            Self::Whole(..) | Self::Numbers | Self::Signed(_) => "a whole number",
            Self::Size | Self::Cells => "a size such as `1500` or `64kb`",
            Self::Rate | Self::Rate32 => "a rate such as `10mbit`",
            Self::LineRate | Self::LineRate32 => {
                "a rate such as `10mbit`, or a percentage of the device's speed up to `100%`"
            }
            Self::Time | Self::Ticks | Self::Nanos => "a time such as `20ms`",
            Self::Percent => "a percentage such as `10%`",
            Self::Share => "a number from 0 to 1",
            Self::Real => "a number",
            Self::Flag | Self::Unread => "no value",
            Self::Any => "a word",
            Self::Bands => "numbers of bands",
            Self::Queues => "queues such as `2@0`",
            Self::Curve => {
                "a service curve: `[m1 RATE d TIME] m2 RATE` or `[[umax SIZE] dmax TIME] rate RATE`"
            }
            Self::Gate => "`S MASK INTERVAL`",
            Self::Masked => "a value and its mask, as `1/3`",
        };
        words.to_owned()
    }
}

/// Speed of a device of which a percentage is taken: that of the device itself is not known here.
const SPEED: f64 = 125_000_000.0;

/// Reads a percentage of the device's speed: digits, up to the first other sign, and `%`.
fn part_of_speed(text: &str) -> Option<f64> {
    let is_part = |letter: char| letter.is_ascii_digit() || ".%".contains(letter);
    let part = text.find(|letter| !is_part(letter)).map_or(text, |end| &text[..end]);
    let (number, rest) = lex::real(part).unwrap_or((0.0, part));
    let is_one = !part.is_empty() && (rest.is_empty() || rest == "%") && (0.0..=100.0).contains(&number);
    is_one.then_some(number / 100.0 * SPEED)
}
