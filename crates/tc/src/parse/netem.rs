//! Settings of `netem`: those that a link of a scenario has. Its values are of several words.

use lockgate_engine::units::{Bytes, Duration};

use super::{in_range, known, part_of_speed};
use crate::language::Kind;
use crate::position::Located;
use crate::problem::Problem;
use crate::syntax::Setting;
use crate::value::{Slot, Value, ValueType};
use crate::words::Cursor;

/// Reads the settings of `netem`.
pub(super) fn settings(cursor: &mut Cursor<'_, '_>, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut settings = Vec::new();
    while let Some(word) = cursor.next_option() {
        let Some((known, value_type, _)) = known(word.value, Kind::Netem.language().qdisc) else {
            let message = format!("`{}` of `netem` is not understood: no link does that", *word);
            problems.push(Problem::new(word.at, message));
            skip_numbers(cursor);
            continue;
        };
        let name = known.name;
        let read = match name {
            "delay" => delay(cursor, word, problems),
            "loss" => loss(cursor, word, problems),
            "slot" => slot(cursor, word, problems),
            _ => {
                let text = cursor.next();
                let read = text.and_then(|text| value_type.read(text.value));
                if read.is_none() && name == "rate" && text.is_some_and(|text| text.contains('%')) {
                    problems.extend(text.map(|text| part_of_speed(name, text)));
                    skip_numbers(cursor);
                    continue;
                }
                read
            }
        };
        match read.map(|value| in_range(Kind::Netem, known, word, value)) {
            Some(Ok(value)) => settings.push(Setting { name: Located::new(name, word.at), value }),
            Some(Err(problem)) => problems.push(problem),
            None if name == "distribution" => problems.push(no_law(word)),
            None => problems
                .push(Problem::new(word.at, format!("`{name}` of `netem` has no value that it takes"))),
        }
        if has_effect(&skip_numbers(cursor)) {
            let what = if name == "rate" { "with an overhead" } else { "that depends on the packet before" };
            let message = format!("`{name}` of `netem` {what} is not understood: leave that number out");
            problems.push(Problem::new(word.at, message));
        }
    }
    settings
}

/// Returns the problem of a distribution that is a table of `tc` without a formula.
fn no_law(word: Located<&str>) -> Problem {
    let message = "`distribution` of `netem` by this table of `tc` is not understood: it follows no formula";
    Problem::new(word.at, message).help("write `normal` or `pareto`, or leave it out for a uniform delay")
}

fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

/// Reads numbers up to the next word.
fn skip_numbers<'a>(cursor: &mut Cursor<'a, '_>) -> Vec<Located<&'a str>> {
    let mut numbers = Vec::new();
    while cursor.peek().is_some_and(is_number) {
        numbers.extend(cursor.next());
    }
    numbers
}

/// Returns whether one of these numbers is not zero.
fn has_effect(numbers: &[Located<&str>]) -> bool {
    let is_positive = |text: &str| {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte))
    };
    numbers.iter().any(|text| is_positive(text.value))
}

/// Reads a value of a type, if the next word is a number.
fn next<T>(cursor: &mut Cursor<'_, '_>, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    let value = cursor.peek().filter(|text| is_number(text)).and_then(read)?;
    cursor.next();
    Some(value)
}

fn time(text: &str) -> Option<Duration> {
    match ValueType::Time.read(text)? {
        Value::Time(time) => Some(time),
        _ => None,
    }
}

fn percent(text: &str) -> Option<f64> {
    match ValueType::Percent.read(text)? {
        Value::Percent(percent) if (0.0..=100.0).contains(&percent) => Some(percent),
        _ => None,
    }
}

/// Reads `TIME [JITTER]`.
fn delay(cursor: &mut Cursor<'_, '_>, _: Located<&str>, _: &mut Vec<Problem>) -> Option<Value> {
    let delay = next(cursor, time)?;
    // A percentage is no jitter: it is named with what is left out.
    let jitter = next(cursor, |text| time(text).filter(|_| !text.ends_with('%')));
    Some(match jitter.filter(|jitter| !jitter.is_zero()) {
        Some(jitter) => Value::Delay(delay, jitter),
        None => Value::Time(delay),
    })
}

/// Reads `[random] PERCENT`, `gemodel P [R [1-H [1-K]]]` or `state P13 [P31]`.
fn loss(cursor: &mut Cursor<'_, '_>, word: Located<&str>, problems: &mut Vec<Problem>) -> Option<Value> {
    cursor.skip("random");
    let is_by_states = cursor.skip("state");
    if !is_by_states && !cursor.skip("gemodel") {
        let text = cursor.next()?;
        return ValueType::Percent.read(text.value);
    }
    let begin = next(cursor, percent)?;
    let end = next(cursor, percent).unwrap_or(100.0 - begin);
    if is_by_states {
        if has_effect(&skip_numbers(cursor)) {
            let message = "`loss state` of `netem` with more than two states is not understood";
            let help = "write the two states of losses: `loss gemodel P R 1-H 1-K`";
            problems.push(Problem::new(word.at, message).help(help));
        }
        return Some(Value::Losses([begin, end, 100.0, 0.0]));
    }
    let bad = next(cursor, percent).unwrap_or(100.0);
    let good = next(cursor, percent).unwrap_or(0.0);
    Some(Value::Losses([begin, end, bad, good]))
}

/// Reads `MIN [MAX] [packets PACKETS] [bytes BYTES]`, or a distribution, which no link has.
fn slot(cursor: &mut Cursor<'_, '_>, word: Located<&str>, problems: &mut Vec<Problem>) -> Option<Value> {
    if cursor.skip("distribution") {
        cursor.next();
        skip_numbers(cursor);
        let message =
            "`slot distribution` of `netem` is not understood: a slot's length is between two limits";
        problems.push(Problem::new(word.at, message).help("write `slot MIN MAX`"));
    }
    let shortest = next(cursor, time);
    let longest = next(cursor, time);
    let mut slot = Slot {
        every: [shortest.unwrap_or_default(), longest.or(shortest).unwrap_or_default()],
        packets: None,
        bytes: None,
    };
    loop {
        if cursor.skip("packets") {
            slot.packets =
                Some(next(cursor, |text| text.parse::<u64>().ok())?).filter(|packets| *packets > 0);
        } else if cursor.skip("bytes") {
            let bytes = next(cursor, |text| match ValueType::Size.read(text)? {
                Value::Size(bytes) => Some(bytes),
                _ => None,
            });
            slot.bytes = Some(bytes?).filter(|bytes| *bytes > Bytes::ZERO);
        } else {
            break;
        }
    }
    shortest.filter(|shortest| !shortest.is_zero())?;
    (slot.every[0] <= slot.every[1]).then_some(Value::Slot(slot))
}
