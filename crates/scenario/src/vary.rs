//! Variations: the values that many runs set one after another, by `--vary` or `[[vary]]`.
//!
//! ```text
//! port.router:modem.root=fifo,cake,htb                     a list
//! link.wan.rate=2mbit..10mbit step 2mbit                   steps, both ends included
//! port.a:b.queue.q.target=1ms..20ms log 5                  five values at equal ratios
//! port.a:b.queue.q.rate=80%..99% step 1% of link           shares of the rate of the port's link
//! port.a:b.queue.q.rate,port.b:a.queue.q.rate=1mbit,2mbit  one value at two paths
//! ```

mod quantity;
mod range;
mod share;

use lockgate_engine::port_name;

pub use self::range::{Range, Spacing};
pub use self::share::port_of;
use crate::path::{self, PathError};
use crate::table_reader::shorten;

/// Limit on the values of one variation.
pub const MOST_VALUES: usize = 10_000;

/// Values that runs set at one or more paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    /// Name in tables; by default the first path.
    pub name: String,
    /// Paths that all get the same value, with ports in the spelling with a colon.
    pub paths: Vec<String>,
    /// The values.
    pub values: Values,
    /// Name of the group whose variations advance together; `None`: every combination is made.
    pub together: Option<String>,
}

/// Values of a variation.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// These, as written after the `=` of a setting.
    List(Vec<String>),
    /// Those of a range.
    Range(Range),
}

/// The error of a variation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VaryError {
    /// A path is malformed.
    #[error(transparent)]
    Path(#[from] PathError),
    /// No `=` between path and values.
    #[error("`{0}` varies nothing: it is written `PATH=a,b,c`, such as `link.wan.rate=1mbit,2mbit`")]
    NoValues(String),
    /// An empty list, or an empty value in it.
    #[error("`{0}` has an empty value: values are separated by single commas")]
    Empty(String),
    /// The ends of a range are not quantities of one kind.
    #[error(
        "`{0}` is not a range: both ends are numbers, or both have a unit of one kind, such as `1ms..20ms`"
    )]
    Ends(String),
    /// A range without a spacing.
    #[error("`{0}` does not say its values: add `step S` or `log N`, such as `1ms..20ms log 5`")]
    NoSpacing(String),
    /// The spacing of a range is wrong.
    #[error("`{0}`: {1}")]
    Spacing(String, String),
    /// More values than [`MOST_VALUES`].
    #[error("`{0}` has more than {MOST_VALUES} values")]
    TooMany(String),
    /// `N% of PATH` where the file has no rate.
    #[error("`{value}`: {why}")]
    Share {
        /// The value.
        value: String,
        /// Reason.
        why: String,
    },
    /// Variations that advance together have different numbers of values.
    #[error(
        "`{first}` has {expected} values and `{other}` has {found}: those that vary together have the same number"
    )]
    Uneven {
        /// Name of the first.
        first: String,
        /// Number of its values.
        expected: usize,
        /// Name of another of the group.
        other: String,
        /// Number of the other's values.
        found: usize,
    },
}

impl VaryError {
    /// Returns the way to fix it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Path(PathError::CutByShell(_)) => {
                "write the port with a colon: `--vary port.a:b.root=fifo,cake`"
            }
            Self::Share { .. } => {
                "write `95% of link`, `95% of link.NAME`, or the path of another rate of the file"
            }
            _ => "write `PATH=a,b,c`, `PATH=a..b step s` or `PATH=a..b log n`, in quotes",
        }
    }
}

impl Vary {
    /// Reads `PATH=VALUES`, as after `--vary`.
    ///
    /// # Errors
    /// If a path or the values are malformed, or a range does not say its values.
    pub fn parse(text: &str) -> Result<Self, VaryError> {
        let vary = Self::parse_space(text)?;
        vary.values.texts()?;
        Ok(vary)
    }

    /// Reads `PATH=VALUES` for a search: a range without a spacing, such as `1ms..20ms log`, stands for every
    /// value in it.
    ///
    /// # Errors
    /// If a path or the values are malformed.
    pub fn parse_space(text: &str) -> Result<Self, VaryError> {
        let Some(at) = outside(text, '=').next() else {
            return Err(match port_name::cut_by_shell(text) {
                Some(kept) => PathError::CutByShell(shorten(kept)).into(),
                None => VaryError::NoValues(shorten(text)),
            });
        };
        Self::of(&pieces(&text[..at]), Values::parse(&text[at + 1..])?)
    }

    /// Creates the variation of `paths` over `values`.
    ///
    /// # Errors
    /// If a path is malformed, or a range has no values.
    pub fn new(paths: &[&str], values: Values) -> Result<Self, VaryError> {
        let vary = Self::of(paths, values)?;
        vary.values.texts()?;
        Ok(vary)
    }

    fn of(paths: &[&str], values: Values) -> Result<Self, VaryError> {
        let read = |path: &&str| path::parse(path).map(|segments| path::join(&segments));
        let paths = paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { name: paths.first().cloned().unwrap_or_default(), paths, values, together: None })
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.values.texts().map_or(0, |texts| texts.len())
    }

    /// Returns the settings `PATH=VALUE` of the value `text`, one for each path. A share (`95% of link`)
    /// becomes a rate of `document`, the scenario's text.
    ///
    /// # Errors
    /// If the document has no such rate.
    pub fn settings(&self, text: &str, document: &toml::Table) -> Result<Vec<String>, VaryError> {
        let setting = |path: &String| {
            let value = share::resolve(text, path, document)?;
            Ok(format!("{path}={}", value.as_deref().unwrap_or(text)))
        };
        self.paths.iter().map(setting).collect()
    }
}

impl Values {
    /// Reads a list or a range.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn parse(text: &str) -> Result<Self, VaryError> {
        if let Some(range) = Range::parse(text)? {
            return Ok(Self::Range(range));
        }
        let (listed, of) = share::split(text);
        let values: Vec<&str> = pieces(listed);
        if values.iter().any(|value| value.is_empty()) {
            return Err(VaryError::Empty(shorten(text)));
        }
        Ok(Self::List(values.into_iter().map(|value| share::join(value, of)).collect()))
    }

    /// Returns the values as text, in their order.
    ///
    /// # Errors
    /// If a range has no spacing, or too many values.
    pub fn texts(&self) -> Result<Vec<String>, VaryError> {
        match self {
            Self::List(values) if values.is_empty() => Err(VaryError::Empty(String::new())),
            Self::List(values) if values.len() > MOST_VALUES => {
                Err(VaryError::TooMany(shorten(&values.join(","))))
            }
            Self::List(values) => Ok(values.clone()),
            Self::Range(range) => range.texts(),
        }
    }
}

/// Returns a value as tables show it: a share without its base.
pub fn shown(value: &str) -> &str {
    share::split(value).0.trim().trim_matches('"')
}

/// Returns the number of a value in the base unit of its quantity, for axes; `None` for words.
pub fn number(value: &str) -> Option<f64> {
    quantity::Quantity::parse(shown(value)).map(|quantity| quantity.value)
}

/// Returns the symbol of the unit of [`number`]: `s`, `bit/s`, `B`, `packets`, `%` or nothing.
pub fn unit(value: &str) -> &'static str {
    quantity::Quantity::parse(shown(value)).map_or("", |quantity| quantity.unit.symbol())
}

/// Returns the positions of `wanted` outside quotes and brackets.
fn outside(text: &str, wanted: char) -> impl Iterator<Item = usize> {
    let (mut quote, mut depth) = (None, 0_i32);
    text.char_indices().filter_map(move |(at, letter)| {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, _) if depth == 0 && letter == wanted => return Some(at),
            _ => {}
        }
        None
    })
}

/// Splits a text at its commas outside quotes and brackets.
fn pieces(text: &str) -> Vec<&str> {
    let mut start = 0;
    let mut pieces = Vec::new();
    for at in outside(text, ',') {
        pieces.push(text[start..at].trim());
        start = at + 1;
    }
    pieces.push(text[start..].trim());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &str) -> Vec<String> {
        Values::parse(values)
            .and_then(|values| values.texts())
            .unwrap_or_else(|error| panic!("{values}: {error}"))
    }

    #[test]
    fn lists_and_ranges_give_their_values() {
        for (written, expected) in [
            ("fifo,cake , htb", &["fifo", "cake", "htb"][..]),
            ("1..4", &["1", "2", "3", "4"]),
            ("1..2 step 0.5", &["1", "1.5", "2"]),
            ("0.1..0.4 step 0.1", &["0.1", "0.2", "0.3", "0.4"]),
            ("10p..100p step 30p", &["10p", "40p", "70p", "100p"]),
            ("1ms..2ms step 400us", &["1ms", "1.4ms", "1.8ms"]),
            ("1ms..100ms log 3", &["1ms", "10ms", "100ms"]),
            ("1mbit..8mbit log 4", &["1mbit", "2mbit", "4mbit", "8mbit"]),
            ("10p..1000p log 4", &["10p", "46p", "215p", "1000p"]),
            // As many digits as keep the values apart, and no value twice.
            ("1mbit..1001kbit log 3", &["1mbit", "1000.5kbit", "1.001mbit"]),
            ("1p..4p log 9", &["1p", "2p", "3p", "4p"]),
            ("95%,99% of link", &["95% of link", "99% of link"]),
            ("97%..99% step 1% of link.wan", &["97% of link.wan", "98% of link.wan", "99% of link.wan"]),
            ("{a=1,b=2},[1,2]", &["{a=1,b=2}", "[1,2]"]),
            ("1%,2%", &["1%", "2%"]),
            ("\"a,b\",c", &["\"a,b\"", "c"]),
        ] {
            assert_eq!(texts(written), expected, "{written}");
        }
    }

    #[test]
    fn a_search_takes_every_value_of_a_range() {
        let at = |text: &str, position: f64| match Vary::parse_space(text).expect(text).values {
            Values::Range(range) => range.at(position).expect("a value"),
            Values::List(_) => panic!("{text} is a list"),
        };
        assert_eq!(at("link.wan.delay=1ms..100ms log", 0.5), "10ms");
        assert_eq!(at("link.wan.delay=1ms..100ms", 0.25), "25.75ms");
        assert_eq!(at("link.wan.loss=80%..99% of link", 0.3333), "86.33% of link");
        assert_eq!((at("x.y=1.0..2.5", 0.0), at("x.y=1.0..2.5", 1.0)), ("1".to_owned(), "2.5".to_owned()));
        assert!(Vary::parse("link.wan.delay=1ms..100ms log").is_err());
    }

    #[test]
    fn what_is_no_variation_says_why() {
        let wrong = |text: &str| Vary::parse(text).expect_err(text).to_string();
        assert!(wrong("port.a-").contains("in quotes"), "{}", wrong("port.a-"));
        assert!(wrong("link.wan.rate").contains("varies nothing"));
        assert!(wrong("link.wan.rate=").contains("empty value"));
        assert!(wrong("link.wan.rate=a,,b").contains("empty value"));
        assert!(wrong("link.wan.rate=1ms..2mbit step 1ms").contains("not a range"));
        assert!(wrong("link.wan.rate=1ms..2ms").contains("add `step S`"));
        assert!(wrong("link.wan.rate=1ms..2ms step 0ms").contains("step"));
        assert!(wrong("link.wan.rate=0ms..2ms log 4").contains("above zero"));
        assert!(wrong("link.wan.rate=1ms..2ms log 1").contains("two"));
        assert!(wrong("link.wan.rate=2ms..1ms step 1ms").contains("lower end first"));
        assert!(wrong("x=1..100000").contains("more than"));
        assert!(wrong("link..rate=1,2").contains("empty part"));
    }

    #[test]
    fn a_share_is_of_a_rate_in_the_file() {
        let document: toml::Table = toml::from_str(
            "[link.wan]\nbetween = [\"a\", \"b\"]\nrate = \"10mbit\"\n[port.\"b->a\".queue.q]\nrate = \"1mbit\"\n\
             [link.line]\nbetween = [\"b\", \"c\"]\nrate = { up = \"2mbit\", down = \"8mbit\" }\n",
        )
        .expect("TOML");
        let settings = |text: &str| {
            let vary = Vary::parse(text).expect("a variation");
            let values = vary.values.texts().expect("values");
            vary.settings(&values[0], &document).map_err(|error| error.to_string())
        };
        for (written, expected) in [
            ("port.a->b.queue.q.rate=95% of link", "port.a:b.queue.q.rate=9.5mbit"),
            ("port.b:a.queue.q.rate=101% of link.wan", "port.b:a.queue.q.rate=10.1mbit"),
            ("port.b:a.queue.q.rate=50% of port.b:a.queue.q.rate", "port.b:a.queue.q.rate=500kbit"),
            ("link.wan.loss=1%", "link.wan.loss=1%"),
            ("port.b:c.queue.q.rate=50% of link", "port.b:c.queue.q.rate=1mbit"),
            ("port.c:b@line.queue.q.rate=50% of link", "port.c:b@line.queue.q.rate=4mbit"),
            ("port.c:b.queue.q.rate=25% of link.line", "port.c:b.queue.q.rate=2mbit"),
            ("port.a:b.queue.q.rate=50% of link.line.rate.down", "port.a:b.queue.q.rate=4mbit"),
        ] {
            assert_eq!(settings(written), Ok(vec![expected.to_owned()]), "{written}");
        }
        assert_eq!(settings("port.a:b.x,port.b:a.x=1mbit").expect("two").len(), 2);
        assert!(settings("port.a:c.x=95% of link").is_err_and(|why| why.contains("a:c")));
        let both = settings("port.a:b.x=95% of link.line");
        assert!(both.as_ref().is_err_and(|why| why.contains("link.line.rate.up")), "{both:?}");
        assert!(settings("port.a:b.x=95% of link.lan").is_err_and(|why| why.contains("link.lan")));
        assert_eq!((shown("95% of link"), number("95% of link"), unit("20ms")), ("95%", Some(95.0), "s"));
    }
}
