//! Parser of the words of a discipline or a class: values, words that exclude or need each other.

use std::borrow::Cow;

use super::{Refusal, kernel, missing, parser};
use crate::language::{Sort, Word};
use crate::lex;
use crate::position::{Located, Position};
use crate::words::Cursor;

/// Values of a command's words, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(Vec<(&'static str, f64, Position)>);

impl Values {
    /// Returns the last value of a word.
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().rev().find(|(known, ..)| *known == name).map(|(_, value, _)| *value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the position of a word; that of `other` if it is not there.
    pub(super) fn at(&self, name: &str, other: Position) -> Position {
        self.0.iter().rev().find(|(known, ..)| *known == name).map_or(other, |(.., at)| *at)
    }

    /// Returns all values of a word, in their order.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = f64> + 'a {
        self.0.iter().filter(move |(known, ..)| *known == name).map(|(_, value, _)| *value)
    }

    pub(super) fn set(&mut self, name: &'static str, value: f64, at: Position) {
        self.0.push((name, value, at));
    }
}

/// Reads the words of a kind up to the end of the command.
pub(super) fn options(
    cursor: &mut Cursor<'_, '_>,
    kind: &str,
    known: &'static [Word],
) -> Result<Values, Refusal> {
    let mut values = Values::default();
    while let Some(word) = cursor.next() {
        let is_it = |one: &&Word| one.sort != Sort::Unread && one.is_meant_by(word.value);
        let Some(one) = known.iter().find(is_it).filter(|_| !word.is_empty()) else {
            return Err(unknown(kind, word, known));
        };
        // Of most words, the parser takes 0 for none.
        let is_set = |value: f64| ["cake", "etf"].contains(&kind) || value != 0.0;
        if one.is_once && values.get(one.group()).is_some_and(is_set) {
            return Err(parser(word.at, format!("`{}` of `{kind}` is given twice", one.name)));
        }
        value(cursor, kind, one, word, &mut values)?;
    }
    Ok(values)
}

/// Returns the refusal of a word that a kind does not have.
pub(super) fn unknown(kind: &str, word: Located<&str>, known: &'static [Word]) -> Refusal {
    let refusal = parser(word.at, format!("`{}` of `{kind}` is not known", *word));
    match super::nearest(word.value, names_of(known)) {
        Some(near) => refusal.help(format!("did you mean `{near}`?")),
        None => refusal,
    }
}

/// Returns the names that the parser reads.
fn names_of(known: &'static [Word]) -> impl Iterator<Item = Cow<'static, str>> {
    known.iter().filter(|one| one.sort != Sort::Unread).flat_map(Word::names)
}

fn value(
    cursor: &mut Cursor<'_, '_>,
    kind: &str,
    one: &'static Word,
    word: Located<&str>,
    values: &mut Values,
) -> Result<(), Refusal> {
    match one.sort {
        Sort::Flag => values.set(one.group(), 1.0, word.at),
        Sort::Bands => bands(cursor, kind, word, values)?,
        Sort::Numbers => {
            let mut count = 0;
            while let Some(number) = cursor.peek().and_then(lex::size) {
                cursor.next();
                if number == 0.0 && one.name == "quanta" {
                    return Err(parser(word.at, format!("a number of `{}` is above 0", *word)));
                }
                values.set(one.group(), number, word.at);
                count += 1;
            }
            if count == 0 {
                return Err(missing(word));
            }
        }
        Sort::Queues => {
            let read = |text: &str| -> Option<(u64, u64)> {
                let (count, offset) = text.split_once('@')?;
                Some((lex::unsigned(count, 10, 0xffff)?, lex::unsigned(offset, 10, 0xffff)?))
            };
            while let Some((count, offset)) = cursor.peek().and_then(read) {
                cursor.next();
                values.set("queues", count as f64, word.at);
                values.set("offsets", offset as f64, word.at);
            }
        }
        Sort::Curve => curve(cursor, word, one, values)?,
        Sort::Gate => {
            let command = cursor.next().ok_or_else(|| missing(word))?;
            let mask = cursor.next().ok_or_else(|| missing(word))?;
            let interval = cursor.next().ok_or_else(|| missing(word))?;
            let is_known = ["S", "H", "R"].contains(&command.value);
            let most = u64::from(u32::MAX);
            if !is_known || lex::unsigned(mask.value, 16, most).is_none() {
                return Err(parser(command.at, format!("`{} {} {}` is not valid", *word, *command, *mask)));
            }
            let Some(interval) = lex::unsigned(interval.value, 0, most) else {
                return Err(parser(
                    interval.at,
                    format!("`{}` is not an interval in nanoseconds", *interval),
                ));
            };
            values.set(one.group(), interval as f64, word.at);
        }
        sort => {
            let text = cursor.next().ok_or_else(|| missing(word))?;
            let read = sort.read(text.value).ok_or_else(|| {
                let message = format!("`{} {}`: `{}` takes {}", *word, *text, one.name, sort.in_words());
                parser(text.at, message)
            })?;
            values.set(one.group(), read, word.at);
        }
    }
    Ok(())
}

/// Reads a map from the sixteen priorities to bands.
fn bands(
    cursor: &mut Cursor<'_, '_>,
    kind: &str,
    word: Located<&str>,
    values: &mut Values,
) -> Result<(), Refusal> {
    let name = if kind == "prio" { "priomap" } else { "map" };
    let most = match kind {
        "prio" => values.get("bands").unwrap_or(3.0),
        _ => f64::INFINITY,
    };
    let mut count = 0;
    while let Some(text) = cursor.peek() {
        let Some(band) = lex::unsigned(text, 10, 255) else {
            if count == 0 {
                return Err(parser(word.at, format!("`{} {text}`: it takes numbers of bands", *word)));
            }
            break;
        };
        cursor.next();
        count += 1;
        if count > 16 {
            return Err(parser(word.at, format!("`{}` has more than 16 numbers", *word))
                .help("there are 16 priorities"));
        }
        if band as f64 >= most {
            return Err(parser(word.at, format!("`{}` names the band {band} of {most}", *word))
                .help("give `bands` before it; the first band is 0"));
        }
        values.set(name, band as f64, word.at);
    }
    if count == 0 {
        return Err(missing(word));
    }
    Ok(())
}

/// Reads a service curve: `[m1 RATE d TIME] m2 RATE` or `[[umax SIZE] dmax TIME] rate RATE`.
fn curve(
    cursor: &mut Cursor<'_, '_>,
    word: Located<&str>,
    one: &'static Word,
    values: &mut Values,
) -> Result<(), Refusal> {
    let wrong = || parser(word.at, format!("`{}` takes {}", *word, Sort::Curve.in_words()));
    let next = |cursor: &mut Cursor<'_, '_>, names: &[&str], sort: Sort| -> Result<Option<f64>, Refusal> {
        let Some(name) = cursor.peek().filter(|name| names.contains(name)) else { return Ok(None) };
        cursor.next();
        let text = cursor.next().ok_or_else(wrong)?;
        let read = sort.read(text.value).ok_or_else(|| {
            parser(text.at, format!("`{name} {}`: `{name}` takes {}", *text, sort.in_words()))
        })?;
        Ok(Some(read))
    };
    let (slope, time) = (Sort::LineRate32, Sort::Time);
    let first = next(cursor, &["m1"], slope)?;
    let length = next(cursor, &["d"], time)?;
    let rate = match next(cursor, &["m2"], slope)? {
        Some(rate) => rate,
        None if first.is_some() || length.is_some() => return Err(wrong()),
        None => {
            let size = next(cursor, &["umax"], Sort::Size)?.unwrap_or(0.0);
            let delay = next(cursor, &["dmax"], time)?.unwrap_or(0.0);
            let rate = next(cursor, &["rate"], slope)?.ok_or_else(wrong)?;
            if size > 0.0 && delay == 0.0 {
                return Err(parser(word.at, format!("`umax` of `{}` needs `dmax`", *word)));
            }
            rate
        }
    };
    if first.unwrap_or(0.0) == 0.0 && rate == 0.0 {
        return Err(parser(word.at, format!("the curve `{}` has no rate", *word)));
    }
    let names = if one.name == "sc" { vec!["rt", "ls"] } else { vec![one.name] };
    for name in names {
        values.set(name, rate, word.at);
    }
    Ok(())
}

/// Checks words that need or exclude each other, as the parser of `tc` does.
pub(super) fn together(kind: &str, is_class: bool, values: &Values, at: Position) -> Result<(), Refusal> {
    let refuse = |message: &str| Err(parser(at, format!("`{kind}` {message}")));
    match kind {
        "tbf" => tbf(values, at),
        "cbq"
            if (values.has("maxburst") || values.has("minburst"))
                && values.get("avpkt").unwrap_or(0.0) == 0.0 =>
        {
            refuse("takes `maxburst` and `minburst` only with `avpkt`")
        }
        "htb" if is_class && values.get("rate").unwrap_or(0.0) == 0.0 => {
            refuse("takes a class with a `rate`")
        }
        "hfsc" if is_class => match (values.has("rt"), values.has("ls"), values.has("ul")) {
            (false, false, _) if !values.has("ul") => {
                refuse("takes a class with a curve: `sc`, `rt` or `ls`")
            }
            (_, false, true) => refuse("takes `ul` only beside `ls` or `sc`"),
            _ => Ok(()),
        },
        "red" | "choke" => early(kind, values, at),
        "sfq" => sfq(values, at),
        "mqprio" if values.get("hw") == Some(0.0) && (values.has("mode") || values.has("shaper")) => {
            refuse("takes `mode` and `shaper` only with `hw 1`")
        }
        "etf" if !values.has("clockid") => refuse("needs `clockid`"),
        _ => Ok(()),
    }
}

fn tbf(values: &Values, at: Position) -> Result<(), Refusal> {
    let refuse = |message: &str| Err(parser(at, format!("`tbf` {message}")));
    let value = |name: &str| values.get(name).unwrap_or(0.0);
    if values.has("limit") && values.has("latency") {
        return refuse("takes `limit` or `latency`, not both");
    }
    if value("rate") == 0.0 {
        return refuse("has no `rate`");
    }
    if value("burst") == 0.0 {
        return refuse("has no `burst`");
    }
    if value("peakrate") > 0.0 && value("mtu") == 0.0 {
        return refuse("with `peakrate` needs `mtu`");
    }
    if value("limit") == 0.0 && !values.has("latency") {
        return refuse("has no `limit` or `latency`");
    }
    Ok(())
}

/// Returns the logarithm of RED's weight, by which a burst passes; `None` if there is none.
fn weight(min: f64, burst: f64, packet: f64) -> Option<i32> {
    let rest = burst + 1.0 - min / packet;
    if rest.is_nan() || rest < 1.0 {
        return None;
    }
    (1..32_i32).find(|log| {
        let weight = 0.5_f64.powi(*log);
        rest <= (1.0 - (1.0 - weight).powf(burst)) / weight
    })
}

/// Keeps 32 bits, as the parser's arithmetic does.
fn kept(number: f64) -> f64 {
    number % (f64::from(u32::MAX) + 1.0)
}

/// Returns true if the slope of the probability has a logarithm that fits.
fn has_slope(min: f64, max: f64, probability: f64) -> bool {
    let slope = probability / (max - min);
    max <= min || (0..32).any(|log| slope * 2.0_f64.powi(log) > 1.0)
}

/// Checks the thresholds and the burst of `red` and `choke`.
fn early(kind: &str, values: &Values, at: Position) -> Result<(), Refusal> {
    let refuse = |name: &str, message: String| Err(parser(values.at(name, at), message));
    let value = |name: &str| values.get(name).unwrap_or(0.0);
    let limit = value("limit");
    let is_red = kind == "red";
    let other = if is_red { "avpkt" } else { "bandwidth" };
    if limit == 0.0 || value(other) == 0.0 {
        return refuse("limit", format!("`{kind}` needs `limit` and `{other}`"));
    }
    let packet = values.get("avpkt").unwrap_or(1000.0);
    let (mut min, mut max) = (value("min"), value("max"));
    if max == 0.0 {
        max = if min > 0.0 { kept(min * 3.0) } else { (limit / 4.0).floor() };
    }
    if min == 0.0 {
        min = (max / 3.0).floor();
    }
    let unit = if is_red { packet } else { 1.0 };
    let mut burst = value("burst");
    if burst == 0.0 {
        burst = (kept(2.0 * min + max) / (3.0 * unit)).floor();
    }
    if max > limit && !is_red {
        return refuse("max", format!("`max {max}` of `{kind}` is above `limit {limit}`"));
    }
    if min >= max {
        return refuse("min", format!("`min {min}` of `{kind}` is not under `max {max}`"));
    }
    let below = if is_red { min } else { kept(min * packet) };
    let Some(log) = weight(below, burst, packet) else {
        return refuse(
            "burst",
            format!("`burst {burst}` of `{kind}` is too small for `min {min}`: no weight lets it pass"),
        );
    };
    // The kernel shifts the thresholds by the weight in 32 bits.
    if max.max(1.0).log2().floor() + 1.0 + f64::from(log) >= 32.0 {
        let message = format!("`burst {burst}` of `{kind}` is too large for `max {max}`");
        return Err(kernel(values.at("burst", at), message));
    }
    if !has_slope(min, max, values.get("probability").unwrap_or(0.02)) {
        return refuse("max", format!("`max {max}` of `{kind}` is too far above `min {min}`"));
    }
    Ok(())
}

fn sfq(values: &Values, at: Position) -> Result<(), Refusal> {
    let refuse = |name: &str, message: &str| Err(parser(values.at(name, at), format!("{message} of `sfq`")));
    if values.get("limit").is_some_and(|limit| limit < 2.0) {
        return refuse("limit", "`limit` below 2");
    }
    if values.has("redflowlimit") && values.get("redflowlimit") != Some(0.0) {
        let limit = values.get("redflowlimit").unwrap_or(0.0);
        let packet = values.get("avpkt").filter(|size| *size > 0.0).unwrap_or(1000.0);
        let positive =
            |name: &str, other: f64| values.get(name).filter(|value| *value > 0.0).unwrap_or(other);
        let max = positive("max", (limit / 4.0).floor());
        let min = positive("min", (max / 3.0).floor());
        let burst = positive("burst", ((2.0 * min + max) / (3.0 * packet)).floor());
        if max > limit {
            return refuse("max", "`max` above `redflowlimit`");
        }
        if min >= max {
            return refuse("min", "`min` not under `max`");
        }
        if weight(min, burst, packet).is_none() {
            return refuse("burst", "a too small `burst`");
        }
        return Ok(());
    }
    let red = ["min", "max", "avpkt", "burst", "probability", "ecn", "harddrop"];
    match red.iter().find(|name| values.has(name)) {
        Some(name) => refuse(name, "a word that needs `redflowlimit`"),
        None => Ok(()),
    }
}
