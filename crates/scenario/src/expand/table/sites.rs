//! Reads the `network.json` of `LibreQoS`: sites and access points, one within another, with their rates.
//!
//! ```text
//! { "Site_1": { "downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 1000, "type": "site",
//!               "children": { "AP_A": { "downloadBandwidthMbps": 500, ... } } } }
//! name    parent   type   download   upload
//! Site_1           site   1000mbit   1000mbit
//! AP_A    Site_1   AP     500mbit    ...
//! ```
//!
//! A site that cannot be one (no rate, a name twice) is left out, with the reason; the sites and circuits
//! below it belong to the one above.

use core::fmt;
use std::collections::BTreeMap;

use lockgate_engine::units::Rate;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::circuits::PARENT;
use super::{Remarks, Row, Rows, VALUE};
use crate::nearest::nearest;
use crate::table_reader::shorten;

/// Columns of a site.
const COLUMNS: [&str; 5] = ["name", "parent", "type", "download", "upload"];

/// Levels of sites within sites.
const MOST_LEVELS: usize = 32;

/// Sites of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sites {
    /// A row for each.
    pub(crate) rows: Rows,
    /// Names as written.
    names: Vec<String>,
    /// Site above each; `None` for those at the top.
    parents: Vec<Option<usize>>,
    /// Site of each circuit; empty before [`place`](Self::place).
    of_circuits: Vec<Option<usize>>,
}

impl Sites {
    /// Reads sites from a JSON text within `memory` bytes.
    ///
    /// # Errors
    /// If the text is no JSON, has no site, or its sites take more memory: names the line.
    pub(crate) fn read(text: &str, memory: u64) -> Result<Self, String> {
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
        Self::of(found.all)
    }

    fn of(all: Vec<Site>) -> Result<Self, String> {
        let mut sites = Self {
            rows: Rows { columns: COLUMNS.map(str::to_owned).to_vec(), ..Rows::default() },
            ..Self::default()
        };
        let mut kept: Vec<Option<usize>> = Vec::with_capacity(all.len());
        let mut first: BTreeMap<String, usize> = BTreeMap::new();
        for site in all {
            // The parent precedes its sites; one that is left out passes them to its own.
            let parent = site.parent.and_then(|parent| kept[parent]);
            // Names that differ in letters that a queue cannot have are one.
            let own = member_name(&site.name);
            let wrong = match first.get(&own) {
                Some(line) => Some(format!("it is there already, at line {line}")),
                None => site.wrong(),
            };
            if let Some(why) = wrong {
                let of = format!(", `{}`", shorten(&site.name));
                sites.rows.left_out.add(site.line, &of, || why);
                kept.push(parent);
                continue;
            }
            first.insert(own, site.line);
            kept.push(Some(sites.names.len()));
            let [download, upload] = site.rates.map(|rate| format!("{}mbit", rate.unwrap_or_default()));
            let of_parent = parent.map(|parent| member_name(&sites.names[parent])).unwrap_or_default();
            let values = vec![member_name(&site.name), of_parent, site.kind, download, upload];
            sites.rows.all.push(Row { line: site.line, values });
            sites.names.push(site.name);
            sites.parents.push(parent);
        }
        match (sites.names.is_empty(), sites.rows.left_out.reasons.first()) {
            (true, Some(first)) => Err(first.clone()),
            _ => Ok(sites),
        }
    }

    /// Gives each circuit of `circuits` its site, by its column `parent_node`, and leaves out the sites
    /// without circuits: nothing would ever pass them. Returns the circuits whose site is unknown; they
    /// belong to the top.
    pub(crate) fn place(&mut self, circuits: &Rows) -> Remarks {
        let by_name: BTreeMap<&str, usize> =
            self.names.iter().enumerate().map(|(index, name)| (name.as_str(), index)).collect();
        let mut unknown = Remarks::default();
        let mut placed = Vec::with_capacity(circuits.len());
        for row in 0..circuits.len() {
            let name = circuits.get(row, PARENT).unwrap_or_default();
            let site = by_name.get(name).copied();
            if site.is_none() && !name.is_empty() {
                unknown.add(circuits.line(row), &circuits.circuit(row), || {
                    let near = nearest(name, self.names.iter().map(String::as_str));
                    let near = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
                    format!("`{}`{near}", shorten(name))
                });
            }
            placed.push(site);
        }
        let mut used = vec![false; self.names.len()];
        for site in placed.iter().flatten() {
            let mut at = Some(*site);
            while let Some(site) = at.filter(|site| !used[*site]) {
                used[site] = true;
                at = self.parents[site];
            }
        }
        let mut next = 0;
        let renumbered: Vec<Option<usize>> = used
            .iter()
            .map(|used| {
                next += usize::from(*used);
                used.then(|| next - 1)
            })
            .collect();
        let renumber = |site: Option<usize>| site.and_then(|site| renumbered[site]);
        self.of_circuits = placed.into_iter().map(renumber).collect();
        let mut keep = used.iter();
        self.rows.all.retain(|_| keep.next().copied().unwrap_or(false));
        let parents = core::mem::take(&mut self.parents).into_iter().map(renumber).zip(&used);
        self.parents = parents.filter(|(_, used)| **used).map(|(parent, _)| parent).collect();
        let names = core::mem::take(&mut self.names).into_iter().zip(&used);
        self.names = names.filter(|(_, used)| **used).map(|(name, _)| name).collect();
        unknown
    }

    /// Returns the site above each site.
    pub(crate) fn parents(&self) -> &[Option<usize>] {
        &self.parents
    }

    /// Returns the site of each circuit.
    pub(crate) fn of_circuits(&self) -> &[Option<usize>] {
        &self.of_circuits
    }
}

/// Returns the name of a site as that of a queue, which has letters, digits, `_`, `-` and `+`.
fn member_name(name: &str) -> String {
    let allowed =
        |letter: char| if letter.is_alphanumeric() || "_-+".contains(letter) { letter } else { '_' };
    name.trim().chars().map(allowed).collect()
}

/// A site as written.
#[derive(Debug, Default)]
struct Site {
    line: usize,
    name: String,
    /// Index of the site above.
    parent: Option<usize>,
    kind: String,
    /// Download and upload in Mbit/s.
    rates: [Option<f64>; 2],
    /// Problem of the first value that is not a rate.
    wrong: Option<String>,
}

impl Site {
    const RATES: [&str; 2] = ["downloadBandwidthMbps", "uploadBandwidthMbps"];

    /// Returns why it cannot be a site.
    fn wrong(&self) -> Option<String> {
        let lacks = || {
            let missing = Self::RATES.iter().zip(self.rates).find(|(_, rate)| rate.is_none());
            missing.map(|(key, _)| format!("it has no `{key}`"))
        };
        let letters = self.name.trim().chars().count();
        let unnamed =
            || (!(1..=64).contains(&letters)).then(|| format!("its name has {letters} letters, not 1 to 64"));
        self.wrong.clone().or_else(lacks).or_else(unnamed)
    }

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

/// Sites found so far, and the place in the text.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// In the shape that `LibreQoS` ships, with made-up names.
    const NETWORK: &str = r#"{
  "Hill": {
    "downloadBandwidthMbps": 1000,
    "uploadBandwidthMbps": 500,
    "type": "site",
    "children": {
      "AP 5.8 north": {
        "type": "AP", "downloadBandwidthMbps": 250.5, "uploadBandwidthMbps": "50"
      },
      "Broken": {
        "downloadBandwidthMbps": "fast", "uploadBandwidthMbps": 50,
        "children": { "AP_2": { "downloadBandwidthMbps": 100, "uploadBandwidthMbps": 10, "lat": 47.1 } }
      },
      "Unused": { "downloadBandwidthMbps": 1, "uploadBandwidthMbps": 1, "children": {} }
    }
  },
  "AP_2": { "downloadBandwidthMbps": 7, "uploadBandwidthMbps": 7 },
  "Half": { "downloadBandwidthMbps": 7 }
}"#;

    #[test]
    fn sites_are_rows_with_parents_and_lines() {
        let mut sites = Sites::read(NETWORK, 1 << 20).expect("sites");
        let row = |sites: &Sites, row: usize| {
            COLUMNS.map(|column| sites.rows.get(row, column).unwrap_or("?").to_owned())
        };
        assert_eq!(row(&sites, 0), ["Hill", "", "site", "1000mbit", "500mbit"]);
        assert_eq!(row(&sites, 1), ["AP_5_8_north", "Hill", "AP", "250.5mbit", "50mbit"]);
        assert_eq!(row(&sites, 2), ["AP_2", "Hill", "", "100mbit", "10mbit"], "`Broken` passes it to `Hill`");
        assert_eq!((sites.rows.len(), sites.rows.line(1), sites.rows.line(2)), (4, 7, 12));
        assert_eq!(sites.rows.left_out().count, 3);
        assert_eq!(
            sites.rows.left_out().reasons,
            [
                "line 10, `Broken`: its `downloadBandwidthMbps` in line 11, `\"fast\"`, is not a number of Mbit/s above 0",
                "line 17, `AP_2`: it is there already, at line 12",
                "line 18, `Half`: it has no `uploadBandwidthMbps`",
            ]
        );
        let circuits = "Circuit ID,Parent Node,IPv4\n1,AP_2,10.0.0.1\n2,,10.0.0.2\n3,AP 5.8 nort,10.0.0.3\n4,Hill,10.0.0.4\n";
        let circuits = Rows::read(circuits, 1 << 20).expect("circuits");
        let unknown = sites.place(&circuits);
        assert_eq!(
            (unknown.reasons, unknown.count),
            (vec!["line 4, circuit `3`: `AP 5.8 nort` (did you mean `AP 5.8 north`?)".to_owned()], 1)
        );
        assert_eq!((sites.rows.len(), sites.parents()), (2, [None, Some(0)].as_slice()));
        assert_eq!(sites.of_circuits(), [Some(1), None, None, Some(0)]);
    }

    #[test]
    fn a_text_that_is_no_network_is_refused_by_line() {
        let why = |text: &str| Sites::read(text, 1 << 12).expect_err(text);
        for (text, expected) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("{}", "it has no site"),
            ("{\n\"a\": 7\n}", "invalid type: integer `7`, expected a site: a table with"),
            ("{\n\"a\": {},\n}", "at line 3 column 1"),
            ("{ \"a\": {} } x", "trailing characters"),
            ("{ \"a\": {} }", "line 1, `a`: it has no `downloadBandwidthMbps`"),
        ] {
            assert!(why(text).contains(expected), "{text}: {}", why(text));
        }
        let deep = "{\"a\":{\"children\":".repeat(40) + "{}" + &"}}".repeat(40);
        let why_deep = Sites::read(&deep, 1 << 20).expect_err("deep");
        assert!(why_deep.contains("nested more than 32 deep"), "{why_deep}");
        let long =
            format!("{{{}}}", (0..40).map(|one| format!("\"{one}\":{{}}")).collect::<Vec<_>>().join(","));
        assert!(why(&long).contains("more memory than is allowed"));
    }
}
