//! Parser of `basic` filters: comparisons of bytes, joined by `and`.

use super::integer;
use crate::position::Located;
use crate::problem::Problem;
use crate::syntax::{Classifier, Masked, Offset, Selector};
use crate::words::Cursor;

/// Reads `match EXPRESSION`, up to `flowid`, `classid` or `action`.
pub(super) fn conditions(cursor: &mut Cursor<'_, '_>) -> Result<Classifier, Problem> {
    let mut text = String::new();
    let start = cursor.at;
    if cursor.skip("match") {
        while let Some(word) = cursor.peek() {
            if ["flowid", "classid", "action"].contains(&word) {
                break;
            }
            cursor.next();
            text.push_str(word);
            text.push(' ');
        }
    }
    let clean: String = text.chars().map(|c| if "'\"".contains(c) { ' ' } else { c }).collect();
    let mut selectors = Vec::new();
    for part in clean.split(" and ").map(str::trim).filter(|part| !part.is_empty()) {
        let selector = comparison(part).ok_or_else(|| {
            Problem::new(start, format!("`{part}` of a `basic` filter is not understood"))
                .help("there are `cmp(u16 at 2 layer transport eq 80)`, `u32(u32 VALUE MASK at N)` and `meta(nf_mark eq 1)`")
        })?;
        selectors.push(Located::new(selector, start));
    }
    Ok(Classifier::U32(selectors))
}

fn comparison(text: &str) -> Option<Selector> {
    let (name, inner) = text.strip_suffix(')')?.split_once('(')?;
    let words: Vec<&str> = inner.split_whitespace().collect();
    match (name.trim(), words.as_slice()) {
        ("cmp", [size, "at", at, "layer", layer, rest @ ..]) => {
            let size = size_of(size)?;
            let full = u32::MAX >> (32 - 8 * size);
            let (mask, value) = match rest {
                ["mask", mask, "eq", value] => (integer(mask)?, integer(value)?),
                ["eq", value] => (full, integer(value)?),
                _ => return None,
            };
            let at = integer(at)?;
            let at = match *layer {
                "network" | "1" => Offset::Ip(at),
                "transport" | "2" => Offset::NextHeader(at),
                _ => return None,
            };
            let fits = value & !full == 0 && mask & !full == 0;
            fits.then_some(Selector::Bits { size, bits: Masked { value, mask }, at: Some(at) })
        }
        ("u32", [size, value, mask, "at", at]) => {
            let size = size_of(size)?;
            let full = u32::MAX >> (32 - 8 * size);
            let bits = Masked { value: integer(value)?, mask: integer(mask)? };
            let at = at
                .strip_prefix("nexthdr+")
                .map_or_else(|| integer(at).map(Offset::Ip), |next| integer(next).map(Offset::NextHeader))?;
            ((bits.value | bits.mask) & !full == 0).then_some(Selector::Bits { size, bits, at: Some(at) })
        }
        ("meta", ["nf_mark" | "fwmark", "eq", value]) => {
            Some(Selector::Mark(Masked { value: integer(value)?, mask: u32::MAX }))
        }
        ("meta", ["nf_mark" | "fwmark", "mask", mask, "eq", value]) => {
            Some(Selector::Mark(Masked { value: integer(value)?, mask: integer(mask)? }))
        }
        _ => None,
    }
}

fn size_of(word: &str) -> Option<usize> {
    match word {
        "u8" => Some(1),
        "u16" => Some(2),
        "u32" => Some(4),
        _ => None,
    }
}
