//! Vocabulary of `tc`: the kinds of disciplines, and for each a table of its words.
//!
//! A kind's file says all about it once. From a row of its table derive
//!
//! ```text
//! judge   sort, letters, repetition, limits: what the parser and the kernel take
//! parse   type of the value in the syntax tree
//! import  meaning: parameters of a scenario, or the reason why it is left out
//! export  the same, backwards
//! show    words that `tc` prints and reads
//! ```
//!
//! The vocabulary is that of iproute2 6.x.

mod cake;
mod cbq;
mod codel;
mod device;
mod dualpi2;
mod early;
mod fifo;
mod hfsc;
mod htb;
mod netem;
mod others;
mod pie;
mod prio;
mod rounds;
mod sfq;
mod sort;
mod tbf;
mod word;

use core::fmt;

pub use word::Word;

pub(crate) use htb::{MTU as HTB_MTU, computed_burst};
pub(crate) use sort::Sort;
pub(crate) use word::{Meaning, When, negation};

/// Vocabulary of a kind, and facts about it.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Name of the kind.
    pub name: &'static str,
    /// Words of a discipline.
    pub qdisc: &'static [Word],
    /// Words of a class; `None` if commands cannot set classes.
    pub class: Option<&'static [Word]>,
    /// Classes of a discipline.
    pub(crate) classes: Classes,
    /// Attachment that the kernel allows it.
    pub(crate) attachment: Attachment,
    /// Kind of scenarios that it becomes; `None` for those that hold no queue of a scenario: they are the
    /// device's, or part of the line behind it.
    pub(crate) scenario: Option<&'static str>,
    /// True if nothing of a discipline can change once it is there.
    pub(crate) is_fixed: bool,
    /// True if a change keeps the settings that it does not name.
    pub(crate) keeps_settings: bool,
    /// True if the parser takes no words, not even a wrong one.
    pub(crate) is_wordless: bool,
    /// Reason why no scenario has it, and what is nearest to it.
    pub(crate) absent: &'static str,
    /// First version of Linux that has it, and first version without it.
    versions: [Version; 2],
}

/// Classes of a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Classes {
    /// None: the kernel lets no discipline stand in it.
    None,
    /// Those that commands make.
    ByCommands,
    /// Its bands.
    Bands,
    /// One, whatever its number.
    One,
    /// One for each number up to this.
    UpTo(u16),
    /// One for each number.
    Any,
}

/// Point at which the kernel lets a discipline be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attachment {
    Anywhere,
    Root,
    /// Beside the root: it only holds filters for what arrives or leaves.
    Hook,
}

impl Language {
    const fn new(name: &'static str, qdisc: &'static [Word]) -> Self {
        Self {
            name,
            qdisc,
            class: None,
            classes: Classes::None,
            attachment: Attachment::Anywhere,
            scenario: Some(name),
            is_fixed: false,
            keeps_settings: false,
            is_wordless: false,
            absent: "",
            versions: [Version(0, 0), Version::NEVER],
        }
    }

    const fn class(self, words: &'static [Word]) -> Self {
        Self { class: Some(words), ..self }
    }

    const fn classes(self, classes: Classes) -> Self {
        Self { classes, ..self }
    }

    const fn scenario(self, kind: &'static str) -> Self {
        Self { scenario: Some(kind), ..self }
    }

    const fn device(self) -> Self {
        Self { scenario: None, ..self }
    }

    const fn hook(self) -> Self {
        Self { attachment: Attachment::Hook, ..self.device() }
    }

    const fn at_root(self) -> Self {
        Self { attachment: Attachment::Root, ..self }
    }

    const fn fixed(self) -> Self {
        Self { is_fixed: true, ..self }
    }

    const fn keeps_settings(self) -> Self {
        Self { keeps_settings: true, ..self }
    }

    const fn wordless(self) -> Self {
        Self { is_wordless: true, ..self }
    }

    const fn absent(self, why: &'static str) -> Self {
        Self { absent: why, ..self }
    }

    const fn since(self, major: u16, minor: u16) -> Self {
        Self { versions: [Version(major, minor), self.versions[1]], ..self }
    }

    const fn until(self, major: u16, minor: u16) -> Self {
        Self { versions: [self.versions[0], Version(major, minor)], ..self }
    }

    /// Returns the vocabularies of all kinds, also of those that no scenario has.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        LANGUAGES.iter().copied().chain(others::OTHERS)
    }

    /// Returns the vocabulary of a kind; `None` if `tc` does not know it.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        Self::all().find(|language| language.name == name)
    }

    /// Returns true if Linux has it or had it.
    pub(crate) fn is_in_kernel(&self) -> bool {
        self.versions[0] < Version::NEVER
    }

    /// Returns the words of a discipline, or of a class.
    pub(crate) fn words(&self, is_class: bool) -> &'static [Word] {
        if is_class { self.class.unwrap_or_default() } else { self.qdisc }
    }
}

macro_rules! kinds {
    ($($kind:ident = $language:path),* $(,)?) => {
        /// Kind of a discipline, and of its classes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each is called as in `tc`")]
        pub enum Kind {
            $($kind),*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind),*];
        }

        /// Vocabularies of [`Kind::ALL`], in its order.
        const LANGUAGES: &[&Language] = &[$(&$language),*];
    };
}

kinds! {
    Bfifo = fifo::BFIFO,
    Cake = cake::CAKE,
    CakeMq = cake::CAKE_MQ,
    Cbq = cbq::CBQ,
    Choke = early::CHOKE,
    Clsact = device::CLSACT,
    Codel = codel::CODEL,
    Drr = rounds::DRR,
    Dualpi2 = dualpi2::DUALPI2,
    Ets = prio::ETS,
    FqCodel = codel::FQ_CODEL,
    FqPie = pie::FQ_PIE,
    Hfsc = hfsc::HFSC,
    Htb = htb::HTB,
    Ingress = device::INGRESS,
    Mq = device::MQ,
    Netem = netem::NETEM,
    Noqueue = device::NOQUEUE,
    Pfifo = fifo::PFIFO,
    PfifoFast = prio::PFIFO_FAST,
    PfifoHeadDrop = fifo::PFIFO_HEAD_DROP,
    Pie = pie::PIE,
    Prio = prio::PRIO,
    Qfq = rounds::QFQ,
    Red = early::RED,
    Sfq = sfq::SFQ,
    Tbf = tbf::TBF,
}

/// Version of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u16, pub u16);

impl Version {
    const NEVER: Self = Self(u16::MAX, 0);
}

/// Error: a text that is no version of Linux.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version of Linux such as `6.1`")]
pub struct NoVersion(String);

impl core::str::FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let mut parts = text.split(['.', '-']).map(str::parse);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Self(major, minor)),
            _ => Err(NoVersion(text.to_owned())),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Kind {
    /// Returns the kind called `name` in `tc`; `None` also for those that are only judged.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns its vocabulary.
    pub fn language(self) -> &'static Language {
        LANGUAGES[self as usize]
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.language().name
    }

    /// Returns a word of its disciplines or classes by its name.
    pub(crate) fn word(self, name: &str) -> Option<&'static Word> {
        let Language { qdisc, class, .. } = self.language();
        let is_it = |word: &&Word| word.name == name && word.value_type.is_some();
        qdisc.iter().chain(class.unwrap_or_default()).find(is_it)
    }

    /// Returns the least and the greatest value of a setting; `None` if only its type limits it.
    pub fn range(self, name: &str) -> Option<[f64; 2]> {
        self.word(name)?.range()
    }

    /// Returns the first version of Linux that has it; `None` for any.
    pub fn since(self) -> Option<Version> {
        Some(self.language().versions[0]).filter(|first| *first > Version(0, 0))
    }

    /// Returns the first version of Linux without it; `None` if there is none.
    pub fn until(self) -> Option<Version> {
        Some(self.language().versions[1]).filter(|end| *end < Version::NEVER)
    }

    /// Returns why Linux of this version does not have it; `None` if it has it.
    pub fn missing_in(self, version: Version) -> Option<String> {
        if let Some(first) = self.since().filter(|first| version < *first) {
            return Some(format!("Linux has `{self}` from {first} on, not in {version}"));
        }
        let end = self.until().filter(|end| version >= *end)?;
        Some(format!("Linux has no `{self}` since {end}"))
    }

    /// Returns the name of its kind in scenarios: its own if it has none there.
    pub(crate) fn in_scenarios(self) -> &'static str {
        self.language().scenario.unwrap_or(self.name())
    }

    /// Returns true if it is not a discipline of a scenario: the import translates it to something else.
    pub fn is_of_device(self) -> bool {
        self.language().scenario.is_none()
    }

    /// Returns true if it only holds filters for what arrives or leaves.
    pub fn is_hook(self) -> bool {
        self.language().attachment == Attachment::Hook
    }

    /// Returns true if the kernel lets no discipline stand in it.
    pub fn is_leaf(self) -> bool {
        self.language().classes == Classes::None && !self.is_hook()
    }

    /// Returns true if its classes are created by `tc class`, not with the discipline.
    pub fn has_explicit_classes(self) -> bool {
        self.language().classes == Classes::ByCommands
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
