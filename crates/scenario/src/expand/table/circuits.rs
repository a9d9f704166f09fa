//! Circuits of a table of subscribers: their values are checked, and the rows of one circuit become one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use lockgate_engine::units::Rate;

use super::records::Record;
use super::{Column, Remarks, Row};
use crate::table_reader::shorten;

/// Columns of which a circuit has a value for each device.
const OF_DEVICES: [&str; 5] = ["ipv4", "ipv6", "mac", "device_id", "device_name"];

/// Columns whose values have no effect, so that rows of a circuit may differ in them.
const REMARKS: [&str; 2] = ["circuit_name", "comment"];

/// Column of the site that a circuit is below.
pub(crate) const PARENT: &str = "parent_node";

/// Reason that a row is left out which cannot be read.
pub(super) const BROKEN: &str = "a quote in it does not close, or closes within a value";

/// Circuits read so far.
pub(super) struct Circuits<'t> {
    columns: &'t [String],
    heads: &'t [String],
    kinds: Vec<Column>,
    /// A row for each circuit.
    pub(super) rows: Vec<Row>,
    pub(super) left_out: Remarks,
    pub(super) altered: Remarks,
    /// Index of each circuit that has a name.
    by_id: BTreeMap<String, usize>,
    /// Values of devices that a circuit has: its index, and that of the column.
    joined: BTreeSet<(usize, usize, String)>,
    taken: Taken,
}

impl<'t> Circuits<'t> {
    /// Creates none yet, of a table with these columns, whose headings are `heads`.
    pub(super) fn new(columns: &'t [String], heads: &'t [String]) -> Self {
        Self {
            columns,
            heads,
            kinds: heads.iter().zip(columns).map(|(head, name)| Column::of(head, name)).collect(),
            rows: Vec::new(),
            left_out: Remarks::default(),
            altered: Remarks::default(),
            by_id: BTreeMap::new(),
            joined: BTreeSet::new(),
            taken: Taken::default(),
        }
    }

    fn index(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known == column)
    }

    /// Gives rates their unit. Returns why the row cannot be a subscriber, if it cannot.
    pub(super) fn refusal(&self, record: &mut Record) -> Option<String> {
        if record.is_broken {
            return Some(BROKEN.to_owned());
        }
        // A trailing empty column, such as an absent comment, may be left out.
        if record.count + 1 == self.columns.len() {
            record.values.push(String::new());
            record.count += 1;
        }
        // Values beyond the columns have no name: `LibreQoS` ships such rows.
        if record.count < self.columns.len() {
            let values = if record.count == 1 { "value" } else { "values" };
            return Some(format!("it has {} {values}, not {}", record.count, self.columns.len()));
        }
        let mut has_address = None;
        for (column, value) in record.values.iter_mut().enumerate() {
            let wrong = match self.kinds[column] {
                Column::Text => None,
                Column::Mbps => complete(value, Column::RATES.contains(&self.columns[column].as_str())),
                Column::Addresses => {
                    *has_address.get_or_insert(false) |= parts(value).next().is_some();
                    let wrong = parts(value).find(|part| prefix(part).is_none());
                    wrong.map(|part| format!("`{}`, is not an address or prefix", shorten(part)))
                }
            };
            if let Some(wrong) = wrong {
                return Some(format!("its `{}`, {wrong}", shorten(&self.heads[column])));
            }
        }
        if has_address == Some(false) {
            return Some("it has no address".to_owned());
        }
        self.reversed(&record.values)
    }

    /// Returns why a least rate is above the greatest, if it is.
    fn reversed(&self, values: &[String]) -> Option<String> {
        let rate = |name: &str| {
            let column = self.index(name)?;
            Some((column, values[column].parse::<Rate>().ok()?))
        };
        [("download_min", "download_max"), ("upload_min", "upload_max")].into_iter().find_map(|(min, max)| {
            let ((least, from), (greatest, to)) = (rate(min)?, rate(max)?);
            let named = |column: usize| (shorten(&self.heads[column]), shorten(&values[column]));
            let ((least, from_text), (greatest, to_text)) = (named(least), named(greatest));
            (from > to)
                .then(|| format!("its `{least}`, `{from_text}`, is above its `{greatest}`, `{to_text}`"))
        })
    }

    /// Adds a row: a circuit, or a device of one that is there, whose plan is that of its first row. An
    /// address or prefix stays with the circuit that has it first. `last` is the line at which the row ends.
    pub(super) fn add(&mut self, mut row: Row, last: usize) {
        let of = name(self.columns, &row.values);
        let id = self.index("circuit_id").map(|id| row.values[id].clone()).filter(|id| !id.is_empty());
        let known = id.as_ref().and_then(|id| self.by_id.get(id).copied());
        let circuit = known.unwrap_or(self.rows.len());
        let (mut own, mut why) = (Vec::new(), None);
        for column in (0..self.columns.len()).filter(|column| self.kinds[*column] == Column::Addresses) {
            let mut kept = Vec::new();
            for part in parts(&row.values[column]) {
                let Some(prefix) = prefix(part) else { continue };
                if !is_of_hosts(prefix) {
                    why.get_or_insert_with(|| format!("its `{}` is no address of a host", shorten(part)));
                    continue;
                }
                if let Some(holder) = self.taken.get(prefix).filter(|holder| holder.circuit != circuit) {
                    why.get_or_insert_with(|| {
                        format!("its `{}` is that of {}", shorten(part), self.holder(holder))
                    });
                    continue;
                }
                own.push(prefix);
                kept.push(part);
            }
            row.values[column] = kept.join(", ");
        }
        if own.is_empty() && why.is_some() {
            self.left_out.add(row.line, &of, || why.unwrap_or_default());
            return;
        }
        let line = row.line;
        for prefix in own {
            self.taken.insert(prefix, Holder { circuit, line });
        }
        let differs = || self.difference(known?, &row);
        let goes_on = || (last > row.line).then(|| format!("a value in quotes goes on to line {last}"));
        if let Some(why) = why.or_else(differs).or_else(goes_on) {
            self.altered.add(row.line, &of, || why);
        }
        self.join(circuit, id, row);
    }

    /// Returns the circuit that has an address, in words.
    fn holder(&self, holder: Holder) -> String {
        format!("line {}{}", holder.line, self.of(holder))
    }

    fn of(&self, holder: Holder) -> String {
        self.rows.get(holder.circuit).map(|row| name(self.columns, &row.values)).unwrap_or_default()
    }

    /// Returns the prefixes that contain addresses of other circuits, and says so of them before everything
    /// else: one row that is too wide would else be told as many that are wrong.
    pub(super) fn wide(&mut self) -> BTreeSet<IpNet> {
        let mut wide: Vec<Wide> = self.taken.wide();
        wide.sort_by_key(|one| core::cmp::Reverse(one.circuits));
        let mut altered = Remarks::default();
        for Wide { outer, holder, inner, first, circuits } in &wide {
            let (of, first, inner) = (self.of(*holder), self.holder(*first), shown(*inner));
            altered.add(holder.line, &of, || match circuits {
                1 => format!("its `{outer}` contains `{inner}` of {first}, which keeps it"),
                _ => format!(
                    "its `{outer}` contains addresses of {circuits} other circuits, which keep them, such as \
                     `{inner}` of {first}"
                ),
            });
        }
        altered.extend(core::mem::take(&mut self.altered));
        self.altered = altered;
        wide.into_iter().map(|one| one.outer).collect()
    }

    /// Returns the first value of a row that is not that of its circuit.
    fn difference(&self, circuit: usize, row: &Row) -> Option<String> {
        let first = self.rows.get(circuit)?;
        let counts = |column: &usize| {
            let name = self.columns[*column].as_str();
            !name.is_empty() && !OF_DEVICES.contains(&name) && !REMARKS.contains(&name)
        };
        let column = (0..self.columns.len())
            .filter(counts)
            .find(|column| first.values[*column] != row.values[*column])?;
        let [own, its] = [row, first].map(|row| shorten(&row.values[column]));
        let (head, line) = (shorten(&self.heads[column]), first.line);
        Some(format!("its `{head}`, `{own}`, is not that of its circuit in line {line}, `{its}`"))
    }

    /// Joins a row with those of its circuit.
    fn join(&mut self, circuit: usize, id: Option<String>, row: Row) {
        let is_new = circuit == self.rows.len();
        let of_devices = OF_DEVICES.iter().filter_map(|name| self.index(name)).collect::<Vec<_>>();
        let mut joined = Vec::new();
        for column in of_devices {
            for part in parts(&row.values[column]) {
                if id.is_some() && self.joined.insert((circuit, column, part.to_owned())) && !is_new {
                    joined.push((column, part.to_owned()));
                }
            }
        }
        if is_new {
            self.by_id.extend(id.map(|id| (id, circuit)));
            self.rows.push(row);
            return;
        }
        for (column, part) in joined {
            let known = &mut self.rows[circuit].values[column];
            known.push_str(if known.is_empty() { "" } else { ", " });
            known.push_str(&part);
        }
    }
}

/// Row that an address is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holder {
    circuit: usize,
    line: usize,
}

/// Prefix that contains addresses of other circuits.
struct Wide {
    outer: IpNet,
    holder: Holder,
    /// First address or prefix of another circuit in it.
    inner: IpNet,
    first: Holder,
    /// Number of other circuits that have addresses in it.
    circuits: usize,
}

/// Prefixes of the circuits so far, each with the first address of its own, in their order.
#[derive(Default)]
struct Taken(BTreeMap<(IpAddr, u8), Holder>);

impl Taken {
    fn get(&self, prefix: IpNet) -> Option<Holder> {
        self.0.get(&(prefix.addr(), prefix.prefix_len())).copied()
    }

    fn insert(&mut self, prefix: IpNet, holder: Holder) {
        self.0.entry((prefix.addr(), prefix.prefix_len())).or_insert(holder);
    }

    /// Returns the prefixes that contain addresses of other circuits.
    fn wide(&self) -> Vec<Wide> {
        let mut wide = Vec::new();
        for ((address, length), holder) in &self.0 {
            let Ok(outer) = IpNet::new(*address, *length) else { continue };
            // Longer prefixes with the same first address come after it.
            let inner = self.0.range((*address, length.saturating_add(1))..=(outer.broadcast(), u8::MAX));
            let mut others = inner.filter(|(_, other)| other.circuit != holder.circuit).peekable();
            let Some(&(&(address, length), &first)) = others.peek() else { continue };
            let Ok(inner) = IpNet::new(address, length) else { continue };
            let circuits = others.map(|(_, other)| other.circuit).collect::<BTreeSet<_>>().len();
            wide.push(Wide { outer, holder: *holder, inner, first, circuits });
        }
        wide
    }
}

/// Gives a rate its unit. Returns why it is none, if it is not. `is_plan`: it is of a queue, and above 0.
fn complete(value: &mut String, is_plan: bool) -> Option<String> {
    let number = value.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate >= 0.0);
    let mut text = value.clone();
    if number.is_some() {
        text.push_str("mbit");
    }
    match text.parse::<Rate>() {
        Ok(rate) if is_plan && rate == Rate::from_bits(0) => {
            Some(format!("`{}`, is not above 0", shorten(value)))
        }
        Ok(_) => {
            *value = text;
            None
        }
        Err(_) => Some(format!("`{}`, is not a number of Mbit/s", shorten(value))),
    }
}

fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// Reads an address or a prefix, without the bits behind its length.
pub(super) fn prefix(text: &str) -> Option<IpNet> {
    let address = text.parse::<IpAddr>().ok().map(IpNet::from);
    address.or_else(|| text.parse::<IpNet>().ok()).map(|prefix| prefix.trunc())
}

/// Returns false for addresses that no packet of a subscriber has: of groups, of the host itself, of all
/// hosts, of none, and those of IPv4 in the form of IPv6.
fn is_of_hosts(prefix: IpNet) -> bool {
    let address = prefix.addr();
    let is_single = prefix.prefix_len() == prefix.max_prefix_len();
    let is_special = match address {
        IpAddr::V4(address) => address.is_broadcast(),
        IpAddr::V6(address) => address.to_ipv4_mapped().is_some(),
    };
    !(is_special || address.is_multicast() || address.is_loopback() || is_single && address.is_unspecified())
}

/// Returns a prefix as it is written: of a host, its address alone.
fn shown(prefix: IpNet) -> String {
    let is_host = prefix.prefix_len() == prefix.max_prefix_len();
    if is_host { prefix.addr().to_string() } else { prefix.to_string() }
}

/// Returns the circuit of a row, for a message: `, circuit 87`; empty if the table names no circuits.
pub(super) fn name(columns: &[String], values: &[String]) -> String {
    let index = columns.iter().position(|column| column == "circuit_id");
    let id = index.and_then(|index| values.get(index)).filter(|id| !id.is_empty());
    id.map_or_else(String::new, |id| format!(", circuit `{}`", shorten(id)))
}

#[cfg(test)]
mod tests {
    use super::super::Rows;

    /// As `LibreQoS` ships it: a comment, quotes, several devices and addresses, prefixes, more values than
    /// columns.
    const SHIPPED: &str = "\u{feff}Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,\
        Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\r\n\
        # comment, with \"a quote\r\n\
        ,\"968 Circle St., Gurnee, IL 60031\",1,Device 1,,,\"100.64.0.1, 100.64.0.14\",,25,5,155,20,\r\n\
        2,\"31 Marconi Street, Lake In The Hills\",2,Device 2,AP_1,,100.64.0.2,,25,5,105,18,,,\r\n\
        3,\"255 NW. Newport Ave.\",3,Device 3,AP_9,,100.64.0.3,2001:db8:3::/56,25,5,105,18,\r\n\
        3,\"255 NW. Newport Ave.\",4,Device 4,AP_9,,100.64.0.4/31,,25,5,105,18,\r\n\
        5,broken,5,Device 5,AP_9,,100.64.0.300,,25,5,105,18,\r\n\
        6,no address,6,Device 6,AP_9,,,,25,5,105,18,\r\n\
        7,short,7\r\n\
        8,slow,8,Device 8,AP_9,,100.64.0.8,,25,5,about 100,18,\r\n\
        9,fraction,9,Device 9,AP_11,,,2001:db8:9::/64,0.5,0.5,99.5,18,\r\n";

    #[test]
    fn a_table_of_libreqos_as_it_is_shipped() {
        let rows = Rows::read(SHIPPED, 1 << 20).expect("a table");
        let read: Vec<_> = (0..rows.len())
            .map(|row| {
                ["circuit_id", "ipv4", "ipv6", "download_max"]
                    .map(|column| rows.get(row, column).expect(column))
            })
            .collect();
        assert_eq!(
            read,
            [
                ["", "100.64.0.1, 100.64.0.14", "", "155mbit"],
                ["2", "100.64.0.2", "", "105mbit"],
                ["3", "100.64.0.3, 100.64.0.4/31", "2001:db8:3::/56", "105mbit"],
                ["9", "", "2001:db8:9::/64", "99.5mbit"],
            ]
        );
        assert_eq!(rows.left_out().count, 4);
        assert_eq!(
            rows.left_out().reasons,
            [
                "line 7, circuit `5`: its `IPv4`, `100.64.0.300`, is not an address or prefix",
                "line 8, circuit `6`: it has no address",
                "line 9, circuit `7`: it has 3 values, not 13",
                "line 10, circuit `8`: its `Download Max Mbps`, `about 100`, is not a number of Mbit/s",
            ]
        );
        assert_eq!((rows.line(2), rows.circuit(2)), (5, ", circuit `3`".to_owned()));
    }

    /// A wide prefix is one row that is doubtful, wherever it stands, and the others keep their addresses.
    #[test]
    fn a_prefix_around_other_circuits_is_said_once_and_first() {
        let others: String = (1..=198).fold(String::new(), |text, number| {
            let (last, length) = (number, if number % 3 == 0 { "/32" } else { "" });
            text + &format!("C{number},100.64.0.{last}{length}\n")
        });
        let wide = "W,100.64.0.0/24\n";
        let wider = "V,100.64.0.0/16\n";
        for (text, line, first) in [
            (format!("{others}{wide}"), 200, 2),
            (format!("{wide}{others}"), 2, 3),
            (format!("{others}{wide}{wider}"), 200, 2),
        ] {
            let rows = Rows::read(&format!("Circuit ID,IPv4\n{text}"), 1 << 20).expect("a table");
            let all = text.lines().count();
            assert_eq!(
                (rows.len(), rows.left_out().count),
                (all, 0),
                "each row is used: {:?}",
                rows.left_out()
            );
            let reasons = &rows.altered().reasons;
            assert_eq!(reasons.len(), all - 198, "{reasons:?}");
            let said = |circuit, prefix, line, number| {
                format!(
                    "line {line}, circuit `{circuit}`: its `{prefix}` contains addresses of {number} other circuits, which \
                     keep them, such as `100.64.0.1` of line {first}, circuit `C1`"
                )
            };
            assert_eq!(reasons.last(), Some(&said("W", "100.64.0.0/24", line, 198)));
            assert_eq!(rows.preference("100.64.0.0/24"), Some(8));
            assert_eq!(rows.preference("100.64.0.7"), None);
            if all == 200 {
                let why = "line 201, circuit `V`: its `100.64.0.0/16` contains addresses of 199 other circuits, which keep \
                           them, such as `100.64.0.0/24` of line 200, circuit `W`";
                assert_eq!(reasons[0], why);
                assert_eq!(rows.preference("100.64.0.0/16"), Some(16));
            }
        }
    }

    #[test]
    fn an_address_that_no_packet_has_is_named() {
        let text = "Circuit ID,IPv4,IPv6\n1,10.0.0.1,::ffff:10.0.0.2\n2,224.0.0.5,\n3,127.0.0.0/8,::1\n\
                    4,255.255.255.255,\n5,0.0.0.0,\n6,0.0.0.0/0,::/0\n7,169.254.0.7,fe80::7\n";
        let rows = Rows::read(text, 1 << 20).expect("a table");
        let said = |line: u32, circuit: u32, address: &str| {
            format!("line {line}, circuit `{circuit}`: its `{address}` is no address of a host")
        };
        assert_eq!(rows.altered().reasons.last(), Some(&said(2, 1, "::ffff:10.0.0.2")));
        let gone = [
            said(3, 2, "224.0.0.5"),
            said(4, 3, "127.0.0.0/8"),
            said(5, 4, "255.255.255.255"),
            said(6, 5, "0.0.0.0"),
        ];
        assert_eq!(rows.left_out().reasons, gone);
        assert_eq!((rows.get(1, "ipv6"), rows.get(2, "ipv4")), (Some("::/0"), Some("169.254.0.7")));
    }

    #[test]
    fn an_address_of_two_circuits_stays_with_the_first_and_both_are_named() {
        let text = "Circuit ID,IPv4,IPv6\n1,10.0.0.1,2001:db8::/48\n2,\"10.0.0.1, 10.0.0.2\",\n3,10.0.0.2,\n\
                    4,10.0.0.4,2001:db8:0:7::/64\n1,10.0.0.0/24,\n";
        let rows = Rows::read(text, 1 << 20).expect("a table");
        assert_eq!(
            rows.left_out().reasons,
            ["line 4, circuit `3`: its `10.0.0.2` is that of line 3, circuit `2`"]
        );
        assert_eq!(
            rows.altered().reasons,
            [
                "line 6, circuit `1`: its `10.0.0.0/24` contains addresses of 2 other circuits, which keep them, such as \
                 `10.0.0.2` of line 3, circuit `2`",
                "line 2, circuit `1`: its `2001:db8::/48` contains `2001:db8:0:7::/64` of line 5, circuit `4`, which keeps it",
                "line 3, circuit `2`: its `10.0.0.1` is that of line 2, circuit `1`",
            ]
        );
        assert_eq!(
            rows.get(0, "ipv4"),
            Some("10.0.0.1, 10.0.0.0/24"),
            "its own address within it is no doubt"
        );
    }

    /// Headings without units, as the first versions had them, and a table of one's own.
    #[test]
    fn rates_without_a_unit_in_the_heading_are_mbit() {
        let text =
            "Circuit ID,Device ID,IPv4,Download Max,Upload Max\n1,1,10.0.0.1,50,10\n2,2,10.0.0.2,1gbit,10\n";
        let rows = Rows::read(text, 1 << 20).expect("a table");
        assert_eq!(
            (rows.get(0, "download_max"), rows.get(1, "download_max")),
            (Some("50mbit"), Some("1gbit"))
        );
        let own = Rows::read("name,speed\nann,7\nann,8\n", 1 << 20).expect("a table");
        assert_eq!((own.len(), own.get(0, "speed")), (2, Some("7")), "no circuits, no units");
    }
}
