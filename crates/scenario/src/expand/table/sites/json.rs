//! Reads sites from a JSON text.

use core::fmt;

use lockgate_engine::units::Rate;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::super::VALUE;
use super::{COLUMNS, Site};
use crate::table_reader::shorten;

/// Levels of sites within sites.
const MOST_LEVELS: usize = 32;

/// Returns the sites of a text, those above before those below, within `memory` bytes.
///
/// # Errors
/// If the text is no JSON, has no site, or its sites take more memory.
pub(super) fn read(text: &str, memory: u64) -> Result<Vec<Site>, String> {
    let mut found =
        Found { rest: text.trim_start_matches('\u{feff}'), line: 1, all: Vec::new(), left: memory };
    let mut json = serde_json::Deserializer::from_str(found.rest);
    Level { found: &mut found, parent: None, depth: 0 }
        .deserialize(&mut json)
        .map_err(|why| why.to_string())?;
    json.end().map_err(|why| why.to_string())?;
    if found.all.is_empty() {
        return Err("it has no site".to_owned());
    }
    Ok(found.all)
}

impl Site {
    /// Sets a rate.
    fn rate(&mut self, direction: usize, line: usize, value: &Value) {
        let number = match value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_f64(),
        };
        let is_rate = |rate: &f64| {
            *rate > 0.0 && format!("{rate}mbit").parse::<Rate>().is_ok_and(|rate| rate != Rate::from_bits(0))
        };
        self.rates[direction] = number.filter(is_rate);
        if self.rates[direction].is_none() && self.wrong.is_none() {
            let (key, value) = (Self::RATES[direction], shorten(&value.to_string()));
            self.wrong =
                Some(format!("its `{key}` in line {line}, `{value}`, is not a number of Mbit/s above 0"));
        }
    }
}

/// Sites found so far, and the position in the text.
struct Found<'t> {
    /// Text from the last key on.
    rest: &'t str,
    line: usize,
    all: Vec<Site>,
    /// Bytes of memory left.
    left: u64,
}

impl Found<'_> {
    /// Advances to a key, which is the next in the text. A key that is written otherwise, with escapes, keeps
    /// the line.
    fn advance(&mut self, key: &str) {
        let written = serde_json::to_string(key).unwrap_or_default();
        if let Some(at) = self.rest.find(&written) {
            self.line += self.rest[..at].bytes().filter(|byte| *byte == b'\n').count();
            self.rest = &self.rest[at + written.len()..];
        }
    }

    /// Adds a site and returns its index; `None` without memory for it.
    fn add(&mut self, name: String, parent: Option<usize>) -> Option<usize> {
        let bytes = COLUMNS.len() as u64 * VALUE + 3 * name.len() as u64;
        self.left = self.left.checked_sub(bytes)?;
        self.all.push(Site { line: self.line, name, parent, ..Site::default() });
        Some(self.all.len() - 1)
    }
}

/// The sites of one level.
struct Level<'f, 't> {
    found: &'f mut Found<'t>,
    parent: Option<usize>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Level<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Level<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sites by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if self.depth > MOST_LEVELS {
            return Err(serde::de::Error::custom(format!("sites are nested more than {MOST_LEVELS} deep")));
        }
        while let Some(name) = map.next_key::<String>()? {
            self.found.advance(&name);
            let Some(site) = self.found.add(name, self.parent) else {
                return Err(serde::de::Error::custom("its sites take more memory than is allowed"));
            };
            map.next_value_seed(Keys { found: &mut *self.found, site, depth: self.depth })?;
        }
        Ok(())
    }
}

/// The keys of one site.
struct Keys<'f, 't> {
    found: &'f mut Found<'t>,
    site: usize,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Keys<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a site: a table with `downloadBandwidthMbps`, `uploadBandwidthMbps` and `children`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.found.advance(&key);
            if key == "children" {
                let (parent, depth) = (Some(self.site), self.depth + 1);
                map.next_value_seed(Level { found: &mut *self.found, parent, depth })?;
            } else if let Some(direction) = Site::RATES.iter().position(|rate| *rate == key) {
                let (line, value) = (self.found.line, map.next_value()?);
                self.found.all[self.site].rate(direction, line, &value);
            } else if key == "type" {
                self.found.all[self.site].kind = map.next_value::<String>()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
