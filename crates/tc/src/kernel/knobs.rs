//! Values of the kernel's queues that can be changed while they run, and the attributes that change them.
//!
//! A kind whose settings are attributes of their own is sent the one that changes. `htb`, `tbf` and FIFOs
//! have one structure: they are sent what the kernel reported, with one field changed.

use lockgate_engine::units::{Bytes, Duration, Packets, Rate};

use super::attributes::{add, find};
use super::layout::Field as _;
use super::queue::{KIND, OPTIONS, RateSpec};
use crate::number::{rate_text, time_text};

/// Form of a value in the kernel's structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Bytes a second, in 32 bits, with an attribute of 64 bits for more.
    Rate {
        wide: u16,
    },
    /// Bytes a second, in 64 bits.
    Rate64,
    Packets,
    Bytes,
    Micros,
}

/// Slot of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Attribute of the options.
    Attribute(u16),
    /// Field of the structure in this attribute of the options, at this byte.
    Field(u16, usize),
    /// Options themselves.
    Options,
}

/// A value that can be changed.
struct Entry {
    kind: &'static str,
    is_class: bool,
    key: &'static str,
    slot: Slot,
    form: Form,
    /// Byte of the time that the burst takes at this rate.
    burst: Option<usize>,
}

const fn entry(kind: &'static str, key: &'static str, slot: Slot, form: Form) -> Entry {
    Entry { kind, is_class: false, key, slot, form, burst: None }
}

/// Rates are the last four bytes of `struct tc_ratespec`.
const RATE: usize = RateSpec::LENGTH - 4;

/// All values, from the kernel's `pkt_sched.h`.
const ENTRIES: &[Entry] = &[
    Entry {
        is_class: true,
        burst: Some(2 * RateSpec::LENGTH),
        ..entry("htb", "rate", Slot::Field(1, RATE), Form::Rate { wide: 6 })
    },
    Entry {
        is_class: true,
        burst: Some(2 * RateSpec::LENGTH + 4),
        ..entry("htb", "ceil", Slot::Field(1, RateSpec::LENGTH + RATE), Form::Rate { wide: 7 })
    },
    Entry {
        burst: Some(2 * RateSpec::LENGTH + 4),
        ..entry("tbf", "rate", Slot::Field(1, RATE), Form::Rate { wide: 4 })
    },
    entry("tbf", "limit", Slot::Field(1, 2 * RateSpec::LENGTH), Form::Bytes),
    entry("pfifo", "limit", Slot::Options, Form::Packets),
    entry("pfifo_head_drop", "limit", Slot::Options, Form::Packets),
    entry("bfifo", "limit", Slot::Options, Form::Bytes),
    entry("codel", "target", Slot::Attribute(1), Form::Micros),
    entry("codel", "limit", Slot::Attribute(2), Form::Packets),
    entry("codel", "interval", Slot::Attribute(3), Form::Micros),
    entry("fq_codel", "target", Slot::Attribute(1), Form::Micros),
    entry("fq_codel", "limit", Slot::Attribute(2), Form::Packets),
    entry("fq_codel", "interval", Slot::Attribute(3), Form::Micros),
    entry("fq_codel", "quantum", Slot::Attribute(6), Form::Bytes),
    entry("pie", "target", Slot::Attribute(1), Form::Micros),
    entry("pie", "limit", Slot::Attribute(2), Form::Packets),
    entry("cake", "bandwidth", Slot::Attribute(2), Form::Rate64),
    entry("cake", "rtt", Slot::Attribute(7), Form::Micros),
];

/// Value of a queue that can be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name, that of `tc`.
    pub key: &'static str,
    /// Value in force.
    pub value: String,
    /// Type of its values.
    pub takes: &'static str,
    /// Values a fifth below and a quarter above.
    pub around: [Option<String>; 2],
}

/// Error: a value of the kernel's queues that cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unchangeable {
    /// The kernel reports no settings.
    #[error("the kernel reports no settings of it")]
    NoSettings,
    /// Nothing of the kind can be changed.
    #[error("nothing of a {what} is changed here")]
    Kind {
        /// Class or discipline, and its kind.
        what: String,
    },
    /// The kind has no such value.
    #[error("a {what} has no `{key}` here; it has {known}")]
    Key {
        /// Class or discipline, and its kind.
        what: String,
        /// Name of the value.
        key: String,
        /// Names that there are.
        known: String,
    },
    /// The text is not of the value's type, or out of the kernel's range.
    #[error("{0}")]
    Value(String),
    /// The structure that the kernel reported is shorter than its kind's.
    #[error("the kernel's answer is too short")]
    Short,
}

impl Form {
    fn takes(self) -> &'static str {
        match self {
            Self::Rate { .. } | Self::Rate64 => "rate",
            Self::Packets => "number of packets",
            Self::Bytes => "size",
            Self::Micros => "duration",
        }
    }

    fn text(self, number: u64) -> String {
        match self {
            Self::Rate { .. } | Self::Rate64 => rate_text(Rate::from_bits(number.saturating_mul(8))),
            Self::Packets => format!("{number}p"),
            Self::Bytes => format!("{number}B"),
            Self::Micros => time_text(Duration::from_micros(number.min(u64::from(u32::MAX)))),
        }
    }

    fn parse(self, text: &str) -> Result<u64, String> {
        let (number, most) = match self {
            Self::Rate { .. } | Self::Rate64 => {
                let rate = text.parse::<Rate>().map_err(|why| why.to_string())?;
                (rate.as_bits() / 8, u64::MAX / 8)
            }
            Self::Packets => (text.parse::<Packets>().map_err(|why| why.to_string())?.0, u64::from(u32::MAX)),
            Self::Bytes => (text.parse::<Bytes>().map_err(|why| why.to_string())?.0, u64::from(u32::MAX)),
            Self::Micros => {
                let time = text.parse::<Duration>().map_err(|why| why.to_string())?;
                (time.as_picos() / 1_000_000, u64::from(u32::MAX))
            }
        };
        if number == 0 || number > most {
            return Err(format!("`{text}` is out of the kernel's range"));
        }
        Ok(number)
    }
}

impl Entry {
    /// Returns the value in force.
    fn read(&self, options: &[u8]) -> Option<u64> {
        let narrow = |bytes: &[u8]| u32::read(bytes).map(u64::from);
        let field = match self.slot {
            Slot::Attribute(kind) => find(options, kind)?,
            Slot::Field(kind, at) => find(options, kind)?.get(at..)?,
            Slot::Options => options,
        };
        match self.form {
            Form::Rate64 => u64::read(field),
            Form::Rate { wide } => find(options, wide).and_then(u64::read).or_else(|| narrow(field)),
            _ => narrow(field),
        }
    }

    /// Returns the options that set it, of those in force.
    fn write(&self, options: &[u8], number: u64) -> Option<Vec<u8>> {
        let narrow = u32::try_from(number).unwrap_or(u32::MAX).to_ne_bytes();
        let mut out = Vec::new();
        match self.slot {
            Slot::Options => out.extend(narrow),
            Slot::Attribute(kind) if self.form == Form::Rate64 => {
                add(&mut out, kind, |out| out.extend(number.to_ne_bytes()));
            }
            Slot::Attribute(kind) => add(&mut out, kind, |out| out.extend(narrow)),
            Slot::Field(kind, at) => {
                let before = self.read(options)?;
                let mut parms = find(options, kind)?.to_vec();
                parms.get_mut(at..at + 4)?.copy_from_slice(&narrow);
                if let Some(at) = self.burst {
                    // The same bytes at the new rate.
                    let ticks = parms.get_mut(at..at + 4)?;
                    let time = u128::from(u32::read(ticks)?) * u128::from(before) / u128::from(number.max(1));
                    ticks.copy_from_slice(&u32::try_from(time.max(1)).unwrap_or(u32::MAX).to_ne_bytes());
                }
                add(&mut out, kind, |out| out.extend(parms));
                for entry in ENTRIES.iter().filter(|entry| entry.kind == self.kind) {
                    let Form::Rate { wide } = entry.form else { continue };
                    let rate = if entry.key == self.key { number } else { entry.read(options)? };
                    if rate > u64::from(u32::MAX) {
                        add(&mut out, wide, |out| out.extend(rate.to_ne_bytes()));
                    }
                }
            }
        }
        Some(out)
    }
}

/// Returns the kind and the options of a discipline's or class's attributes.
fn parts(attributes: &[u8]) -> Option<(&str, &[u8])> {
    let kind = find(attributes, KIND)?.split(|byte| *byte == 0).next()?;
    Some((str::from_utf8(kind).ok()?, find(attributes, OPTIONS)?))
}

/// Returns the values that can be changed.
pub fn settings(attributes: &[u8], is_class: bool) -> Vec<Setting> {
    let Some((kind, options)) = parts(attributes) else { return Vec::new() };
    let own = ENTRIES.iter().filter(|entry| entry.kind == kind && entry.is_class == is_class);
    let setting = |entry: &Entry| {
        let number = entry.read(options)?;
        let around = [
            Some(number - number.div_ceil(5)).filter(|lower| *lower > 0),
            Some(number.saturating_add(number.div_ceil(4))),
        ];
        Some(Setting {
            key: entry.key,
            value: entry.form.text(number),
            takes: entry.form.takes(),
            around: around.map(|number| number.map(|number| entry.form.text(number))),
        })
    };
    own.filter_map(setting).collect()
}

/// Returns the attributes by which the kernel changes a value, from those that it reported.
///
/// # Errors
/// Returns why it cannot be changed.
pub fn changed(attributes: &[u8], is_class: bool, key: &str, text: &str) -> Result<Vec<u8>, Unchangeable> {
    let (kind, options) = parts(attributes).ok_or(Unchangeable::NoSettings)?;
    let own = || ENTRIES.iter().filter(|entry| entry.kind == kind && entry.is_class == is_class);
    let entry = own().find(|entry| entry.key == key).ok_or_else(|| {
        let known = own().map(|entry| format!("`{}`", entry.key)).collect::<Vec<_>>().join(", ");
        let what = format!("{}`{kind}`", if is_class { "class of " } else { "" });
        if known.is_empty() {
            Unchangeable::Kind { what }
        } else {
            Unchangeable::Key { what, key: key.to_owned(), known }
        }
    })?;
    let number = entry.form.parse(text).map_err(Unchangeable::Value)?;
    let options = entry.write(options, number).ok_or(Unchangeable::Short)?;
    let mut out = Vec::new();
    add(&mut out, KIND, |out| {
        out.extend(kind.bytes());
        out.push(0);
    });
    add(&mut out, OPTIONS, |out| out.extend(options));
    Ok(out)
}
