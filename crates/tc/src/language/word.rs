//! Row of a kind's table: a word of a discipline or of a class, and all that the crate knows about it.

use std::borrow::Cow;

use lockgate_engine::overhead::{Line, PacketOverhead};
use lockgate_engine::units::{Bytes, Duration, Overhead};

use super::sort::{LAYERS, Sort, U32};
use crate::value::{Value, ValueType};

/// A word of a discipline or of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Word {
    /// Name.
    pub name: &'static str,
    /// Synonyms; printed as [`name`](Self::name).
    pub synonyms: &'static [&'static str],
    /// Type of its value in a syntax tree; `None` for a word that is only judged.
    pub value_type: Option<ValueType>,
    /// Form in which the parser of `tc` reads its value.
    pub(crate) sort: Sort,
    /// Letters that are enough for the parser of `tc`, which then takes any beginning as long.
    pub(crate) letters: Option<usize>,
    /// True if the parser refuses it a second time; otherwise the last one holds.
    pub(crate) is_once: bool,
    /// Name under which words that exclude each other count as one.
    pub(crate) group: Option<&'static str>,
    /// Least and greatest value that the kernel takes.
    limits: Option<[f64; 2]>,
    /// Part of a scenario that it sets.
    pub(crate) meaning: Meaning,
    /// Parameters that it takes back, if words before have set them.
    pub(crate) clears: &'static [&'static str],
    /// Cause for which the import leaves it out.
    pub(crate) left_out: Option<LeftOut>,
}

/// Part of a scenario that a word sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// Parameter of the word's name.
    Same,
    /// Parameters of other names, with the word's value.
    Parameters(&'static [&'static str]),
    /// The word is the value of this parameter.
    ValueOf(&'static str),
    /// Parameter with this value.
    Is(&'static str, Fixed),
    /// Line of this name, or one without overhead: the bytes are added to those of the words before.
    Line,
    /// Overhead that is added to that of the words before.
    Overhead(i64),
    /// Framing of a shaper's line: cells of ATM.
    Framing,
    /// Classes of packets, or something else that the tree as a whole says.
    Tree,
}

/// Value of a parameter that a word sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fixed {
    Switch(bool),
    Choice(&'static str),
    Time(Duration),
}

impl Fixed {
    fn value(self) -> Value {
        match self {
            Self::Switch(is_on) => Value::Switch(is_on),
            Self::Choice(word) => Value::Choice(word),
            Self::Time(time) => Value::Time(time),
        }
    }

    /// Returns true if it is the value of a scenario's parameter.
    fn is(self, value: &toml::Value) -> bool {
        match self {
            Self::Switch(is_on) => value.as_bool() == Some(is_on),
            Self::Choice(word) => value.as_str() == Some(word),
            Self::Time(time) => value.as_str().and_then(|text| text.parse().ok()) == Some(time),
        }
    }
}

/// Cause for which a word has no effect in a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LeftOut {
    pub when: When,
    pub why: &'static str,
    /// True if it has an effect on a kernel's packets: a comparison with a kernel's runs refuses it.
    pub is_in_scripts_only: bool,
}

/// Case in which a word has no effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum When {
    Always,
    /// With this value.
    With(&'static str),
    /// With a value of zero.
    Zero,
    /// Switched off.
    Off,
    /// Without this word.
    Without(&'static str),
    /// Beside all these words.
    Beside(&'static [&'static str]),
}

/// Makes the rows of a table: `constructor: "name" "name".method();`, `constructor(argument): "name";` for
/// one with a further argument, or `= row;`.
macro_rules! words {
    (@ [$($done:expr,)*]) => { &[$($done),*] };
    (@ [$($done:expr,)*] = $row:expr; $($rest:tt)*) => { words!(@ [$($done,)* $row,] $($rest)*) };
    (@ [$($done:expr,)*]
        $of:ident: $($name:literal $(.$method:ident($($argument:expr),*))*)+; $($rest:tt)*) => {
        words!(@ [$($done,)* $($of($name)$(.$method($($argument),*))*,)+] $($rest)*)
    };
    (@ [$($done:expr,)*]
        $of:ident($with:expr): $($name:literal $(.$method:ident($($argument:expr),*))*)+; $($rest:tt)*) => {
        words!(@ [$($done,)* $($of($name, $with)$(.$method($($argument),*))*,)+] $($rest)*)
    };
    ($($rows:tt)*) => { words!(@ [] $($rows)*) };
}

pub(super) use words;

pub(super) const fn word(name: &'static str, value_type: ValueType, sort: Sort) -> Word {
    Word {
        name,
        synonyms: &[],
        value_type: Some(value_type),
        sort,
        letters: None,
        is_once: false,
        group: None,
        limits: None,
        meaning: Meaning::Same,
        clears: &[],
        left_out: None,
    }
}

/// A word that the import does not know.
pub(super) const fn only(name: &'static str, sort: Sort) -> Word {
    Word { value_type: None, ..word(name, ValueType::Flag, sort) }
}

pub(super) const fn flag(name: &'static str) -> Word {
    word(name, ValueType::Flag, Sort::Flag)
}

/// A word that `no` before it clears.
pub(super) const fn switch(name: &'static str) -> Word {
    word(name, ValueType::Switch, Sort::Flag)
}

/// A word that is itself the value of a parameter.
pub(super) const fn value_of(name: &'static str, parameter: &'static str) -> Word {
    flag(name).sets(Meaning::ValueOf(parameter))
}

pub(super) const fn rate(name: &'static str) -> Word {
    word(name, ValueType::Rate, Sort::LineRate)
}

pub(super) const fn size(name: &'static str) -> Word {
    word(name, ValueType::Size, Sort::Size)
}

pub(super) const fn time(name: &'static str) -> Word {
    word(name, ValueType::Time, Sort::Time)
}

pub(super) const fn packets(name: &'static str) -> Word {
    word(name, ValueType::Packets, U32)
}

pub(super) const fn number(name: &'static str) -> Word {
    word(name, ValueType::Number, U32)
}

pub(super) const fn link_layer() -> Word {
    let layer = word("linklayer", ValueType::Choice(&["ethernet", "atm", "adsl"]), LAYERS);
    layer.sets(Meaning::Framing).left_out_when(When::With("ethernet"), "frames are counted as they are")
}

/// Size of the cells of the kernel's table of rates.
pub(super) const fn cell() -> Word {
    size("cell").left_out(EXACT)
}

/// Reason for words about the kernel's table of rates.
const EXACT: &str = "a step of the kernel's table of rates: times are exact here";

impl Word {
    pub(super) const fn read_as(self, sort: Sort) -> Self {
        Self { sort, ..self }
    }

    pub(super) const fn aka(self, synonyms: &'static [&'static str]) -> Self {
        Self { synonyms, ..self }
    }

    /// Lets the parser take any beginning of at least so many letters.
    pub(super) const fn short(self, letters: usize) -> Self {
        Self { letters: Some(letters), ..self }
    }

    pub(super) const fn once(self) -> Self {
        Self { is_once: true, ..self }
    }

    /// Counts it and other words as one.
    pub(super) const fn one_of(self, group: &'static str) -> Self {
        Self { group: Some(group), ..self }
    }

    pub(super) const fn limits(self, least: f64, most: f64) -> Self {
        Self { limits: Some([least, most]), ..self }
    }

    pub(super) const fn sets(self, meaning: Meaning) -> Self {
        Self { meaning, ..self }
    }

    pub(super) const fn clears(self, clears: &'static [&'static str]) -> Self {
        Self { clears, ..self }
    }

    pub(super) const fn left_out(self, why: &'static str) -> Self {
        self.left_out_when(When::Always, why)
    }

    /// Makes zero the same as no word: `tc` or the kernel takes it for the default.
    pub(super) const fn zero_is_none(self) -> Self {
        self.left_out_when(When::Zero, "0 stands for the default")
    }

    pub(super) const fn left_out_when(self, when: When, why: &'static str) -> Self {
        Self { left_out: Some(LeftOut { when, why, is_in_scripts_only: false }), ..self }
    }

    /// Leaves it out of a script, although it has an effect on a kernel's packets.
    pub(super) const fn left_out_of_scripts(self, why: &'static str) -> Self {
        Self { left_out: Some(LeftOut { when: When::Always, why, is_in_scripts_only: true }), ..self }
    }

    /// Returns all words that stand for it, the one that clears it included.
    pub(crate) fn names(&self) -> impl Iterator<Item = Cow<'static, str>> {
        let cleared = (self.value_type == Some(ValueType::Switch)).then(|| Cow::Owned(negation(self.name)));
        let names = core::iter::once(self.name).chain(self.synonyms.iter().copied());
        names.map(Cow::Borrowed).chain(cleared)
    }

    /// Returns true if the text sets it, false if it clears it; `None` if it is another word.
    pub(crate) fn is(&self, text: &str) -> Option<bool> {
        if self.name == text || self.synonyms.contains(&text) {
            return Some(true);
        }
        (self.value_type == Some(ValueType::Switch) && negation(self.name) == text).then_some(false)
    }

    /// Returns true if the parser of `tc` takes the text for it.
    pub(crate) fn is_meant_by(&self, text: &str) -> bool {
        let is_short = |letters: usize| text.len() >= letters && self.name.starts_with(text);
        self.is(text).is_some() || self.letters.is_some_and(is_short)
    }

    /// Returns the name under which it must not come twice.
    pub(crate) fn group(&self) -> &'static str {
        self.group.unwrap_or(self.name)
    }

    /// Returns the limits of the kernel that the parser does not know.
    pub(crate) fn kernel_limits(&self) -> Option<[f64; 2]> {
        self.limits
    }

    /// Returns the least and the greatest value that `tc` and the kernel take; `None` if only the type
    /// limits it.
    pub(crate) fn range(&self) -> Option<[f64; 2]> {
        use ValueType as V;
        let has_number = matches!(
            self.value_type,
            Some(V::Size | V::Offset | V::Packets | V::Number | V::Mask | V::Real | V::Percent)
        );
        self.limits.or_else(|| self.sort.range()).filter(|_| has_number)
    }

    /// Returns the parameters among `known` that it sets with a value; `None` if it sets none of them.
    pub(crate) fn parameters(
        &self,
        value: &Value,
        is_known: impl Fn(&str) -> bool,
    ) -> Option<Vec<(&'static str, Value)>> {
        match self.meaning {
            Meaning::Same => is_known(self.name).then(|| vec![(self.name, value.clone())]),
            Meaning::Parameters(names) => Some(names.iter().map(|name| (*name, value.clone())).collect()),
            Meaning::ValueOf(name) => Some(vec![(name, Value::Choice(self.name))]),
            Meaning::Is(name, fixed) => Some(vec![(name, fixed.value())]),
            Meaning::Line => {
                let line = Line::named(self.name).map_or(PacketOverhead::default(), |line| line.overhead);
                let (Overhead(bytes), (mpu, framing)) = (line.bytes(), line.mpu_and_framing());
                let mut all =
                    vec![("overhead", Value::Offset(bytes)), ("framing", Value::Choice(framing.name()))];
                all.extend((mpu > Bytes::ZERO).then_some(("mpu", Value::Size(mpu))));
                Some(all)
            }
            Meaning::Overhead(bytes) => Some(vec![("overhead", Value::Offset(bytes))]),
            Meaning::Framing => {
                let is_atm = matches!(value, Value::Choice("atm" | "adsl")) && is_known("framing");
                is_atm.then(|| vec![("framing", Value::Choice("atm"))])
            }
            Meaning::Tree => None,
        }
    }

    /// Returns true if the word alone gives a parameter its value; `None` if it never does.
    pub(crate) fn gives(&self, parameter: &str, value: &toml::Value) -> Option<bool> {
        match self.meaning {
            Meaning::ValueOf(name) if name == parameter => Some(value.as_str() == Some(self.name)),
            Meaning::Is(name, fixed) if name == parameter => Some(fixed.is(value)),
            _ => None,
        }
    }
}

/// Returns the word that clears a switch: `noecn`, or `no_split_gso` for a name with `_`.
pub(crate) fn negation(name: &str) -> String {
    format!("no{}{name}", if name.contains('_') { "_" } else { "" })
}
