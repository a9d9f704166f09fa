//! Values of settings, by type.

use core::fmt;

use lockgate_engine::units::{Bytes, Duration, Rate};

use crate::handle::hexadecimal;
use crate::number;

/// Type of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// No value: the word alone sets it.
    Flag,
    /// No value: the word sets it, the word with `no` before it clears it.
    Switch,
    /// Rate.
    Rate,
    /// Size in bytes.
    Size,
    /// Size in bytes, also below zero.
    Offset,
    /// Time; a bare number is in microseconds.
    Time,
    /// Time; a bare number is in seconds.
    Seconds,
    /// Number of packets.
    Packets,
    /// Time, or a number of packets with `p` after it.
    Threshold,
    /// Whole number.
    Number,
    /// Bits of 32, decimal or with `0x`.
    Mask,
    /// Real number.
    Real,
    /// Real number of hundredths, with or without `%`.
    Percent,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Whole numbers, at least one.
    Numbers,
    /// Sizes in bytes, at least one.
    Sizes,
    /// Minor part of a class's handle.
    Minor,
    /// Service curve of H-FSC.
    Curve,
}

/// Value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The setting is a word without a value.
    Flag,
    /// The setting is on, or off by a `no` before its name.
    Switch(bool),
    /// Rate.
    Rate(Rate),
    /// Size.
    Size(Bytes),
    /// Bytes, also below zero.
    Offset(i64),
    /// Time.
    Time(Duration),
    /// Number of packets.
    Packets(u64),
    /// Number of packets of a threshold, which may be a time as well.
    Threshold(u64),
    /// Whole number.
    Number(u64),
    /// Finite real number.
    Real(f64),
    /// Finite real number of hundredths.
    Percent(f64),
    /// One of the words that the setting allows.
    Choice(&'static str),
    /// Whole numbers.
    Numbers(Vec<u64>),
    /// Sizes.
    Sizes(Vec<Bytes>),
    /// Minor part of a class's handle.
    Minor(u16),
    /// Service curve.
    Curve(Curve),
    /// Delay of `netem`, and how far it varies.
    Delay(Duration, Duration),
    /// Losses of `netem` in bursts, in hundredths: that a burst begins, that it ends, losses in it, and
    /// between.
    Losses([f64; 4]),
    /// Slots of `netem`.
    Slot(Slot),
}

/// Slots of `netem`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Shortest and longest time from one slot to the next.
    pub every: [Duration; 2],
    /// Packets that leave in a slot at most.
    pub packets: Option<u64>,
    /// Bytes that leave in a slot at most.
    pub bytes: Option<Bytes>,
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [shortest, longest] = self.every.map(number::time_text);
        write!(f, "{shortest} {longest}")?;
        if let Some(packets) = self.packets {
            write!(f, " packets {packets}")?;
        }
        if let Some(Bytes(bytes)) = self.bytes {
            write!(f, " bytes {bytes}")?;
        }
        Ok(())
    }
}

impl Value {
    /// Returns the number of a value that is compared with a [range](crate::language::Kind::range).
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) | Self::Packets(number) | Self::Size(Bytes(number)) => Some(*number as f64),
            Self::Offset(number) => Some(*number as f64),
            Self::Real(number) | Self::Percent(number) => Some(*number),
            _ => None,
        }
    }
}

/// Service curve of H-FSC: the slope `m1` for a time `d`, then the slope `m2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Curve {
    /// First slope.
    pub m1: Option<Rate>,
    /// Length of the first slope.
    pub d: Option<Duration>,
    /// Second slope.
    pub m2: Option<Rate>,
}

impl ValueType {
    /// Parses a value that is one word; `None` if the word is no such value, or values of this type are not
    /// one word.
    pub fn read(self, text: &str) -> Option<Value> {
        let real = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        match self {
            Self::Rate => number::rate(text).map(Value::Rate),
            // What `tc` prints has the size of its table's cells after a `/`.
            Self::Size => number::size(text.split('/').next()?).map(Value::Size),
            Self::Offset => {
                let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
                let Bytes(bytes) = number::size(size)?;
                Some(Value::Offset(sign * i64::try_from(bytes).ok()?))
            }
            Self::Time => number::time(text, "us").map(Value::Time),
            Self::Seconds => number::time(text, "s").map(Value::Time),
            Self::Packets => number::decimal(text.strip_suffix('p').unwrap_or(text)).map(Value::Packets),
            Self::Threshold => {
                let packets = text.strip_suffix('p');
                packets.map_or_else(
                    || Self::Time.read(text),
                    |count| number::decimal(count).map(Value::Threshold),
                )
            }
            Self::Number => number::decimal(text).map(Value::Number),
            Self::Mask => number::integer(text).map(|mask| Value::Number(u64::from(mask))),
            Self::Real => real(text).map(Value::Real),
            Self::Percent => real(text.strip_suffix('%').unwrap_or(text)).map(Value::Percent),
            Self::Choice(words) => words.iter().find(|word| **word == text).map(|word| Value::Choice(word)),
            Self::Minor => hexadecimal(text).map(Value::Minor),
            Self::Flag | Self::Switch | Self::Numbers | Self::Sizes | Self::Curve => None,
        }
    }

    /// Returns the type in words, after "takes".
    pub(crate) fn in_words(self) -> String {
        let words = match self {
            Self::Flag | Self::Switch => "no value",
            Self::Rate => "a rate such as `10mbit`",
            Self::Size | Self::Offset => "a size such as `1500` or `64kb`",
            Self::Time | Self::Seconds => "a time such as `20ms`",
            Self::Packets => "a number of packets",
            Self::Threshold => "a time such as `1ms`, or packets such as `5p`",
            Self::Number => "a whole number",
            Self::Mask => "bits such as `0xff`",
            Self::Real => "a number",
            Self::Percent => "a percentage such as `10%`",
            Self::Choice(words) => return format!("one of `{}`", words.join("`, `")),
            Self::Numbers => "whole numbers",
            Self::Sizes => "sizes",
            Self::Minor => "the minor part of a class's handle, hexadecimal",
            Self::Curve => {
                "a service curve: `[m1 RATE d TIME] m2 RATE` or `[[umax SIZE] dmax TIME] rate RATE`"
            }
        };
        words.to_owned()
    }
}

/// Writes the words after the setting's name; nothing for flags and switches.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag | Self::Switch(_) => Ok(()),
            Self::Rate(rate) => f.write_str(&number::rate_text(*rate)),
            Self::Size(Bytes(bytes)) => write!(f, "{bytes}"),
            Self::Offset(bytes) => write!(f, "{bytes}"),
            Self::Time(time) => f.write_str(&number::time_text(*time)),
            Self::Packets(count) | Self::Number(count) => write!(f, "{count}"),
            Self::Threshold(count) => write!(f, "{count}p"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Percent(number) => write!(f, "{number}%"),
            Self::Choice(word) => f.write_str(word),
            Self::Numbers(numbers) => {
                let words: Vec<_> = numbers.iter().map(u64::to_string).collect();
                f.write_str(&words.join(" "))
            }
            Self::Sizes(sizes) => {
                let words: Vec<_> = sizes.iter().map(|Bytes(bytes)| bytes.to_string()).collect();
                f.write_str(&words.join(" "))
            }
            Self::Minor(minor) => write!(f, "{minor:x}"),
            Self::Curve(curve) => write!(f, "{curve}"),
            Self::Delay(delay, jitter) => {
                write!(f, "{} {}", number::time_text(*delay), number::time_text(*jitter))
            }
            Self::Losses([begin, end, bad, good]) => write!(f, "gemodel {begin}% {end}% {bad}% {good}%"),
            Self::Slot(slot) => write!(f, "{slot}"),
        }
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.m1.map(|rate| format!("m1 {}", number::rate_text(rate))),
            self.d.map(|time| format!("d {}", number::time_text(time))),
            self.m2.map(|rate| format!("m2 {}", number::rate_text(rate))),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}
