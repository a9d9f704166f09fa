//! Parser of the words of `netem`.

use super::options::{Values, unknown};
use super::{Refusal, missing, parser};
use crate::language::{Sort, Word};
use crate::lex;
use crate::position::{Located, Position};
use crate::words::Cursor;

/// Distributions whose files come with `tc`.
const DISTRIBUTIONS: [&str; 4] = ["normal", "pareto", "paretonormal", "experimental"];

/// Reads a value of one word.
fn read(cursor: &mut Cursor<'_, '_>, word: Located<&str>, sort: Sort) -> Result<f64, Refusal> {
    let text = cursor.next().ok_or_else(|| missing(word))?;
    sort.read(text.value).ok_or_else(|| {
        parser(text.at, format!("`{} {}`: `{}` takes {}", *word, *text, *word, sort.in_words()))
    })
}

fn is_number(cursor: &Cursor<'_, '_>) -> bool {
    cursor.peek().is_some_and(|next| next.starts_with(|first: char| first.is_ascii_digit()))
}

/// Reads a percentage and the correlation after it.
fn share(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<f64, Refusal> {
    let share = read(cursor, word, Sort::Percent)?;
    if is_number(cursor) {
        read(cursor, word, Sort::Percent)?;
    }
    Ok(share)
}

fn loss(cursor: &mut Cursor<'_, '_>, word: Located<&str>, values: &mut Values) -> Result<(), Refusal> {
    if values.has("loss") {
        return Err(parser(word.at, "`loss` of `netem` is given twice"));
    }
    let is_model = cursor.skip("state") || cursor.skip("gemodel");
    if !is_model {
        cursor.skip("random");
    }
    if !is_number(cursor) {
        return Err(parser(word.at, format!("`{}` of `netem` has no percentage", *word)));
    }
    values.set("loss", share(cursor, word)?, word.at);
    while is_model && is_number(cursor) {
        read(cursor, word, Sort::Percent)?;
    }
    Ok(())
}

/// Reads `MIN [MAX]` or `distribution NAME DELAY JITTER`, then `packets` and `bytes`.
fn slot(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    if cursor.skip("distribution") {
        distribution(cursor, word)?;
    }
    while is_number(cursor) && cursor.next().is_some() {}
    while cursor.skip("packets") || cursor.skip("bytes") {
        cursor.next();
    }
    Ok(())
}

/// Reads the name of a distribution: that of a file beside `tc`.
fn distribution(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let name = cursor.next().ok_or_else(|| missing(word))?;
    if DISTRIBUTIONS.contains(&name.value) {
        return Ok(());
    }
    let refusal = parser(name.at, format!("`tc` comes with no distribution `{}`", *name));
    Err(match super::nearest(name.value, DISTRIBUTIONS.into_iter()) {
        Some(near) => refusal.help(format!("did you mean `{near}`?")),
        None if name.value == "uniform" => refusal.help("leave it out: without a distribution it is uniform"),
        None => refusal.help(format!("there are `{}`", DISTRIBUTIONS.join("`, `"))),
    })
}

/// Reads the words of `netem` up to the end of the command.
pub(super) fn options(
    cursor: &mut Cursor<'_, '_>,
    at: Position,
    known: &'static [Word],
) -> Result<Values, Refusal> {
    let mut values = Values::default();
    while let Some(word) = cursor.next() {
        // The first word with this beginning, as the parser compares.
        let begins = |one: &&Word| !word.is_empty() && one.names().any(|name| name.starts_with(word.value));
        let Some(one) = known.iter().find(begins) else { return Err(unknown("netem", word, known)) };
        let name = one.name;
        match name {
            "limit" => {
                let limit = read(cursor, word, one.sort)?;
                values.set("limit", limit, word.at);
            }
            "delay" => {
                values.set(name, read(cursor, word, one.sort)?, word.at);
                if is_number(cursor) {
                    values.set("jitter", read(cursor, word, one.sort)?, word.at);
                    if is_number(cursor) {
                        read(cursor, word, Sort::Percent)?;
                    }
                }
            }
            "loss" => loss(cursor, word, &mut values)?,
            "ecn" => values.set("ecn", 1.0, word.at),
            "gap" => {
                let gap = read(cursor, word, one.sort)?;
                values.set(name, gap, word.at);
            }
            "distribution" => {
                distribution(cursor, word)?;
                values.set(name, 1.0, word.at);
            }
            "rate" => rate(cursor, word, &mut values)?,
            "slot" => slot(cursor, word)?,
            _ => values.set(name, share(cursor, word)?, word.at),
        }
    }
    let positive = |name: &str| values.get(name).is_some_and(|value| value != 0.0);
    let refuse =
        |name: &str, message: &str| Err(parser(values.at(name, at), format!("{message} of `netem`")));
    if positive("reorder") && !positive("delay") {
        return refuse("reorder", "`reorder` without a `delay`");
    }
    if positive("gap") && !positive("reorder") {
        return refuse("gap", "`gap` without `reorder`");
    }
    if values.has("ecn") && !positive("loss") {
        return refuse("ecn", "`ecn` without a `loss`");
    }
    if values.has("distribution") && !(positive("delay") && positive("jitter")) {
        return refuse("distribution", "`distribution` without a delay that varies");
    }
    Ok(values)
}

/// Reads `RATE [PACKETOVERHEAD [CELLSIZE [CELLOVERHEAD]]]`.
fn rate(cursor: &mut Cursor<'_, '_>, word: Located<&str>, values: &mut Values) -> Result<(), Refusal> {
    values.set("rate", read(cursor, word, Sort::LineRate)?, word.at);
    let is_next = |cursor: &Cursor<'_, '_>| cursor.peek().is_some_and(|text| lex::signed(text, 0).is_some());
    for _ in 0..3 {
        if !is_next(cursor) {
            break;
        }
        cursor.next();
    }
    Ok(())
}
