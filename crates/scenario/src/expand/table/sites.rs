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

#[cfg(feature = "sites")]
mod json;
#[cfg(not(feature = "sites"))]
mod no_json;

use std::collections::BTreeMap;

#[cfg(not(feature = "sites"))]
use self::no_json as json;
use super::circuits::PARENT;
use super::{Remarks, Row, Rows};
use crate::nearest::nearest;
use crate::table_reader::shorten;

/// Columns of a site.
const COLUMNS: [&str; 5] = ["name", "parent", "type", "download", "upload"];

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
        Self::of(json::read(text, memory)?)
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
}

#[cfg(all(test, feature = "sites"))]
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
