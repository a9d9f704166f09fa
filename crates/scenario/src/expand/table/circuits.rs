//! Circuits of a table of subscribers: their values are checked, and the rows of one circuit become one.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Column, Row};
use crate::table_reader::shorten;

/// Columns of which a circuit has a value for each device.
const OF_DEVICES: [&str; 5] = ["ipv4", "ipv6", "mac", "device_id", "device_name"];

/// Gives rates their unit. Returns why the row cannot be a subscriber, if it cannot.
pub(super) fn complete(kinds: &[Column], heads: &[String], values: &mut [String]) -> Option<String> {
    let mut addresses = (false, false);
    for ((kind, head), value) in kinds.iter().zip(heads).zip(values) {
        match kind {
            Column::Text => {}
            Column::Mbps => {
                let number = value.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate >= 0.0);
                if number.is_some() {
                    value.push_str("mbit");
                } else if value.parse::<lockgate_engine::units::Rate>().is_err() {
                    let (head, value) = (shorten(head), shorten(value));
                    return Some(format!("its `{head}`, `{value}`, is not a number of Mbit/s"));
                }
            }
            Column::Addresses => {
                addresses.0 = true;
                let wrong = parts(value).find(|part| !is_address(part));
                if let Some(wrong) = wrong {
                    return Some(format!(
                        "its `{}`, `{}`, is not an address or prefix",
                        shorten(head),
                        shorten(wrong)
                    ));
                }
                addresses.1 |= parts(value).next().is_some();
            }
        }
    }
    (addresses == (true, false)).then(|| "it has no address".to_owned())
}

fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn is_address(text: &str) -> bool {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    length.is_none_or(|length| length.parse::<u8>().is_ok_and(|length| length <= most))
}

/// Returns the circuit of a row, for a message: `, circuit 87`; empty if the table names no circuits.
pub(super) fn name(columns: &[String], values: &[String]) -> String {
    let place = columns.iter().position(|column| column == "circuit_id");
    let id = place.and_then(|place| values.get(place)).filter(|id| !id.is_empty());
    id.map_or_else(String::new, |id| format!(", circuit `{}`", shorten(id)))
}

/// Makes the rows of one circuit, one for each of its devices, a row with the addresses of all. The plan is
/// that of the first.
pub(super) fn merge(columns: &[String], rows: &mut Vec<Row>) {
    let place = |name: &str| columns.iter().position(|column| column == name);
    let is_by_device = place("device_id").or(place("device_name")).is_some();
    let Some(id) = place("circuit_id").filter(|_| is_by_device) else { return };
    let joined: Vec<usize> = OF_DEVICES.iter().filter_map(|name| place(name)).collect();
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut merged: Vec<Row> = Vec::with_capacity(rows.len());
    for row in rows.drain(..) {
        let circuit = row.values[id].clone();
        match first.get(&circuit).filter(|_| !circuit.is_empty()) {
            None => {
                first.insert(circuit, merged.len());
                merged.push(row);
            }
            Some(&index) => {
                for &column in &joined {
                    let more = &row.values[column];
                    let known = &mut merged[index].values[column];
                    if !more.is_empty() && !parts(known).any(|part| part == more) {
                        known.push_str(if known.is_empty() { "" } else { ", " });
                        known.push_str(more);
                    }
                }
            }
        }
    }
    *rows = merged;
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
        let (why, count) = rows.left_out();
        assert_eq!(count, 4);
        assert_eq!(
            why,
            [
                "line 7, circuit `5`: its `IPv4`, `100.64.0.300`, is not an address or prefix",
                "line 8, circuit `6`: it has no address",
                "line 9, circuit `7`: it has 3 values, not 13",
                "line 10, circuit `8`: its `Download Max Mbps`, `about 100`, is not a number of Mbit/s",
            ]
        );
        assert_eq!((rows.line(2), rows.circuit(2)), (5, ", circuit `3`".to_owned()));
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
