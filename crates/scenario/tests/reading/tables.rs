//! Law of tables: of any table of subscribers and sites, however damaged, each row is used or named.
//!
//! A table of a few circuits is made and damaged at random, in its headings, cells, quotes, lines and
//! encoding, and so is the network above them. The provider's policy is read with both. Then either the
//! policy is refused by a message that names the table, or each row is found in the queues with its addresses
//! and rates, packets to its addresses come there whatever wider prefixes others have, or it has its line in
//! a warning.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use ipnet::IpNet;
use lockgate_engine::classify::{Classifier, Fields, Headers};
use lockgate_engine::packet::{Header, Packet};
use lockgate_engine::units::Rate;
use lockgate_scenario::{Policy, QueueTree, embed_tables, read_policy};

use crate::support::rendered;

/// Damaged tables that are tried.
const TABLES: u64 = 2_400;

const HEADINGS: [&str; 13] = [
    "Circuit ID",
    "Circuit Name",
    "Device ID",
    "Device Name",
    "Parent Node",
    "MAC",
    "IPv4",
    "IPv6",
    "Download Min Mbps",
    "Upload Min Mbps",
    "Download Max Mbps",
    "Upload Max Mbps",
    "Comment",
];

const NETWORK: &str = r#"{
  "Hill": { "downloadBandwidthMbps": 800, "uploadBandwidthMbps": 400, "children": {
    "AP_1": { "downloadBandwidthMbps": 250, "uploadBandwidthMbps": 60, "children": {} } } },
  "Harbour": { "downloadBandwidthMbps": 500, "uploadBandwidthMbps": 250 }
}"#;

/// Random numbers (`SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn is(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// Table as it is written, and the rows that it has.
struct Table {
    bytes: Vec<u8>,
    /// Line and cells of each row.
    rows: Vec<(usize, Vec<String>)>,
}

fn row(number: usize, random: &mut Random) -> Vec<String> {
    let circuit = if random.is(5) { number.saturating_sub(1) } else { number };
    let parent = random.pick(&["AP_1", "AP_1", "Hill", "Harbour", "", "Nowhere"]);
    let mut cells: Vec<String> = [
        &format!("C{circuit}"),
        "a name",
        &format!("D{number}"),
        "router",
        parent,
        "",
        &format!("10.1.0.{}", number + 1),
        "",
        "5",
        "2",
        "30",
        "10",
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    for _ in 0..[0, 0, 0, 1, 1, 2][random.below(6)] {
        let (column, value) = match random.below(9) {
            0 => (
                8 + random.below(4),
                random.pick(&["0", "-5", "1e300", "99999999", "nan", "", "5 Mbps", "1gbit"]),
            ),
            1 => (
                6,
                random.pick(&[
                    "10.1.0.1",
                    "10.1.0.0/24",
                    "10.1.0.0/29",
                    "10.1.0.6/31",
                    "10.0.0.0/8",
                    "10.1.0.300",
                    "10.1.0.2, 10.9.0.1",
                    "",
                    "::1",
                    "0.0.0.0/0",
                ]),
            ),
            2 => (
                7,
                random.pick(&[
                    "2001:db8::/48",
                    "2001:db8::1",
                    "2001:db8::/200",
                    "10.1.0.1",
                    "2001:db8::1,2001:db8:1::/56",
                ]),
            ),
            3 => (4, random.pick(&["", "ap_1", "Nowhere", "AP_1 ", "Hill\u{1b}[2J"])),
            4 => (0, random.pick(&["", "C 1", "C1", "c/1", "\u{fffd}", "C1\u{a0}"])),
            5 => (
                random.below(13),
                random.pick(&["\"", "a\"b", "\"a\"b", "\"open", "a \"b\" c", "\"x, y\"", "\"two\nlines\""]),
            ),
            6 => (2 + random.below(2), random.pick(&["", "D1"])),
            7 => (12, random.pick(&["a,b,c", "#", "=1+1", "é"])),
            _ => (random.below(13), random.pick(&["", " ", "\t", "0", "x"])),
        };
        value.clone_into(&mut cells[column]);
    }
    cells
}

fn headings(random: &mut Random) -> Vec<String> {
    let mut headings = HEADINGS.map(str::to_owned).to_vec();
    if random.is(4) {
        let column = random.below(13);
        match random.below(6) {
            0 => headings[column] = String::new(),
            1 => {
                let next = headings[(column + 1) % 13].clone();
                headings[column] = next;
            }
            2 => random.pick(&["x", "\"", "10.0.0.1", "7", "\"Circuit ID"]).clone_into(&mut headings[column]),
            3 => headings[column] = headings[column].to_uppercase(),
            4 => headings[column] = headings[column].replace(" Mbps", ""),
            _ => headings = vec!["x".to_owned(), "y".to_owned()],
        }
    }
    headings
}

fn table(random: &mut Random) -> Table {
    let mut lines = vec![headings(random).join(",")];
    let mut rows = Vec::new();
    let end = random.pick(&["\n", "\n", "\n", "\r\n", "\r"]);
    let mut next = 2;
    for number in 0..random.below(7) {
        if random.is(8) {
            lines.push(random.pick(&["", "# a \"comment", ",,,,,,,,,,,,", "   "]).to_owned());
            next += 1;
        }
        let mut cells = row(number, random);
        if random.is(12) {
            cells.truncate(1 + random.below(12));
        }
        let line = cells.join(",");
        let breaks = line.matches('\n').count();
        lines.push(line);
        rows.push((next, cells));
        next += 1 + breaks;
    }
    let mut text = lines.join(end);
    if random.is(2) {
        text += end;
    }
    if random.is(20) {
        text = text.replace(',', random.pick(&[";", "\t", ", ", "|"]));
    }
    let mut bytes = text.clone().into_bytes();
    match random.below(30) {
        0 => {
            bytes = vec![0xff, 0xfe];
            bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        }
        1 => bytes = text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        2 => bytes.splice(0..0, "\u{feff}".bytes()).for_each(drop),
        3 => bytes.insert(random.below(bytes.len() + 1), 0),
        4 => bytes.insert(random.below(bytes.len() + 1), 0xfc),
        5 => bytes.truncate(random.below(bytes.len() + 1)),
        _ => return Table { bytes, rows },
    }
    // The rows of a text that was cut are not known.
    Table { bytes, rows: Vec::new() }
}

fn network(random: &mut Random) -> String {
    if !random.is(3) {
        return NETWORK.to_owned();
    }
    let (from, to) = [
        ("800", "0"),
        ("800", "-1"),
        ("800", "1e300"),
        ("800", "null"),
        ("800", "1e-9"),
        ("Harbour", "Hill"),
        ("Harbour", "AP 1"),
        ("AP_1", "Hill"),
        ("AP_1", ""),
        ("\"children\": {}", "\"children\": null"),
        ("\"children\": {}", "\"children\": []"),
        ("\"children\": {}", "\"children\": { \"Hill\": {} }"),
        ("{", "["),
        (NETWORK, "{}"),
        (NETWORK, ""),
        (NETWORK, "[]"),
    ][random.below(16)];
    NETWORK.replace(from, to)
}

fn policy(table: &[u8], network: &str, text: &str) -> Result<Policy, String> {
    let files: BTreeMap<String, Arc<[u8]>> =
        [("ShapedDevices.csv", table), ("network.json", network.as_bytes())]
            .into_iter()
            .map(|(name, bytes)| (name.to_owned(), Arc::from(bytes)))
            .collect();
    let text = embed_tables(text, &files).map_err(|error| error.to_string())?;
    read_policy(&text, "provider.toml").map_err(|problems| rendered(&problems))
}

/// Returns true if `text` names this line.
fn names_line(text: &str, line: usize) -> bool {
    text.split("line ").skip(1).any(|rest| {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse() == Ok(line)
    })
}

/// Packet to an address.
struct To(IpAddr);

impl Headers for To {
    fn fields(&self, _: &Packet) -> Option<Fields> {
        let (source, destination) = (self.0, self.0);
        Some(Fields { protocol: 17, source, destination, source_port: 1, destination_port: 1, flow_label: 0 })
    }
}

/// Checks that packets to an address come to the queue of this name, past all queues above it.
fn reaches(tree: &QueueTree, address: IpAddr, name: &str) -> Result<(), String> {
    let packet = Packet::new(Header { length: 200, ..Header::default() });
    let mut at = 0;
    loop {
        let queue = &tree.queues()[at];
        if queue.children.is_empty() {
            let found = &queue.name;
            return if **found == *name { Ok(()) } else { Err(format!("{address} comes to `{found}`")) };
        }
        let rules = queue.children.iter().map(|child| tree.queues()[*child].rules.clone()).collect();
        let class = Classifier::new(rules).classify(&packet, &To(address));
        at = queue.children[class.child as usize];
    }
}

/// Returns why a row is not served as it is written.
fn unserved(policy: &Policy, cells: &[String]) -> Result<(), String> {
    let down = policy.ports.iter().find(|port| port.name == "wan:lan").ok_or("no port")?;
    let cell = |column: usize| cells.get(column).map_or("", |cell| cell.trim());
    let name = format!("plan/{}", cell(0));
    let queue = down.tree.queues().iter().find(|queue| *queue.name == name).ok_or("it has no queue")?;
    for part in [6, 7].into_iter().flat_map(|column| cell(column).trim_matches('"').split(',')) {
        let part = part.trim();
        let prefix = part.parse::<IpAddr>().map(IpNet::from).or_else(|_| part.parse::<IpNet>());
        let Some(prefix) = (!part.is_empty()).then_some(prefix) else { continue };
        let prefix = prefix.map_err(|_| format!("`{part}` is not an address"))?;
        if prefix.prefix_len() == prefix.max_prefix_len() {
            reaches(&down.tree, prefix.addr(), &name)?;
        }
        let is_served = queue
            .rules
            .iter()
            .filter_map(|rule| rule.destination)
            .any(|own| IpNet::new(own.address, own.bits).is_ok_and(|own| own.trunc() == prefix.trunc()));
        is_served.then_some(()).ok_or_else(|| format!("`{part}` has no rule"))?;
    }
    for (key, column) in [("rate", 8), ("ceil", 10)] {
        let text = cell(column).trim_matches('"');
        let rate: Rate = format!("{text}mbit").parse().or_else(|_| text.parse()).map_err(|_| "no rate")?;
        let own = queue.share[key].as_str().and_then(|own| own.parse().ok());
        (own == Some(rate)).then_some(()).ok_or_else(|| format!("its {key} is {own:?}, not {rate}"))?;
    }
    Ok(())
}

#[test]
fn each_row_of_a_damaged_table_is_used_or_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/provider");
    let text = std::fs::read_to_string(folder.join("provider.toml")).expect("the example");
    let (mut read, mut used, mut named) = (0, 0, 0);
    for seed in 0..TABLES {
        let random = &mut Random(seed);
        let (table, network) = (table(random), network(random));
        let shown = || format!("table {seed}:\n{}\n{network}", String::from_utf8_lossy(&table.bytes));
        let policy = match policy(&table.bytes, &network, &text) {
            Ok(policy) => policy,
            Err(why) => {
                let tables =
                    ["ShapedDevices.csv", "network.json", "`subscribers`", "`sites`", "of the table"];
                assert!(tables.iter().any(|name| why.contains(name)), "{why}\n{}", shown());
                continue;
            }
        };
        read += 1;
        let warnings = policy.warnings.iter().fold(String::new(), |mut all, warning| {
            let _ = writeln!(all, "{warning}");
            all
        });
        for (line, cells) in &table.rows {
            let is_named = names_line(&warnings, *line);
            named += usize::from(is_named);
            used += usize::from(!is_named);
            if !is_named && let Err(why) = unserved(&policy, cells) {
                panic!("line {line} is neither used nor named: {why}\n{warnings}\n{}", shown());
            }
        }
    }
    println!("{TABLES} tables, {read} read: {used} rows used, {named} named");
    assert!(read > TABLES / 4 && used > 1_000 && named > 1_000, "{read} read, {used} used, {named} named");
}

/// Warnings of a policy in which each of 803 circuits has an address, and a wide prefix stands in one row.
fn with_wide(wide: usize, parent: &str) -> (Policy, String) {
    let mut table = HEADINGS.join(",");
    for number in 1..=803_usize {
        let (site, address) = match number {
            _ if number == wide => (parent, "100.64.0.0/24".to_owned()),
            // A second prefix within the wide one, and addresses of other blocks.
            9 => ("Hill", "100.64.0.208/28".to_owned()),
            _ if number % 4 == 0 => ("Hill", format!("100.64.0.{}", number / 4)),
            _ => ("AP_1", format!("100.65.{}.{}", number / 200, number % 200)),
        };
        let _ = write!(table, "\nC{number},a,D{number},r,{site},,{address},,5,2,30,10,");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/provider");
    let text = std::fs::read_to_string(folder.join("provider.toml")).expect("the example");
    let policy = policy(table.as_bytes(), NETWORK, &text).unwrap_or_else(|why| panic!("{why}"));
    let said = policy.warnings.iter().map(ToString::to_string).filter(|one| one.contains("of `subscribers`"));
    let said = said.collect::<Vec<_>>().join("\n");
    (policy, said)
}

/// One row that is too wide takes no address of others, wherever it and its site stand, and is named, not
/// they.
#[test]
fn a_prefix_around_other_circuits_takes_none_of_them() {
    for wide in [803, 1, 402] {
        for parent in ["AP_1", "Hill", "Harbour", ""] {
            let (policy, said) = with_wide(wide, parent);
            let own =
                format!("line {}, circuit `C{wide}`: its `100.64.0.0/24` contains addresses of ", wide + 1);
            let first = said.split("as written: ").nth(1).unwrap_or_default();
            assert!(first.starts_with(&own), "{wide} {parent}: {said}");
            assert!(first.contains("addresses of 201 other circuits"), "{wide} {parent}: {said}");
            let down = policy.ports.iter().find(|port| port.name == "wan:lan").expect("a port");
            for number in (1..=803_usize).filter(|number| *number != wide) {
                let name = format!("plan/C{number}");
                let address = match number {
                    9 => "100.64.0.210".to_owned(),
                    _ if number % 4 == 0 => format!("100.64.0.{}", number / 4),
                    _ => format!("100.65.{}.{}", number / 200, number % 200),
                };
                let address: IpAddr = address.parse().expect("an address");
                reaches(&down.tree, address, &name).unwrap_or_else(|why| panic!("{wide} {parent}: {why}"));
            }
            let of_wide = format!("plan/C{wide}");
            reaches(&down.tree, "100.64.0.250".parse().expect("an address"), &of_wide)
                .expect("the rest of it");
        }
    }
}

/// Returns the example of a provider's policy.
fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/provider/provider.toml");
    std::fs::read_to_string(path).expect("the example")
}

/// Excel is told the separator by a first line, which is no row.
#[test]
fn first_lines_that_are_no_headings_are_left_out_or_refused() {
    let rows = format!("{}\r\nC1,a,D1,r,AP_1,,10.1.0.1,,5,2,30,10,\r\n", HEADINGS.join(","));
    for first in ["sep=,", "SEP=,", "\"sep=,\"", "\u{feff}sep=,"] {
        let policy = policy(format!("{first}\r\n{rows}").as_bytes(), NETWORK, &example());
        assert!(policy.unwrap_or_else(|why| panic!("{first}: {why}")).warnings.is_empty(), "{first}");
    }
    for (table, part) in [
        (format!("sep=;\n{}", rows.replace(',', ";")), "separated by `;`, not by `,`"),
        (NETWORK.to_owned(), "it looks like JSON, not like CSV"),
        ("<html><body>404</body></html>\n".to_owned(), "it looks like HTML or XML"),
    ] {
        let why = policy(table.as_bytes(), NETWORK, &example()).expect_err(part);
        assert!(why.contains(part) && why.matches('×').count() == 1, "{why}");
    }
}

#[test]
fn an_address_of_two_circuits_is_said_with_both() {
    let text = example();
    let rows = "C1,a,D1,r,AP_1,,10.1.0.1,,5,2,30,10,\nC2,b,D2,r,Hill,,\"10.1.0.1, 10.1.0.2\",,5,2,30,10,\n\
                C3,c,D3,r,Hill,,10.1.0.2,,5,2,30,10,\nC4,d,D4,r,Hill,,10.1.0.0/30,,5,2,30,10,\n";
    let policy = policy(format!("{}\n{rows}", HEADINGS.join(",")).as_bytes(), NETWORK, &text)
        .unwrap_or_else(|why| panic!("{why}"));
    let said = policy.warnings.iter().fold(String::new(), |all, one| all + &one.to_string() + "\n");
    for part in [
        "line 5, circuit `C4`: its `10.1.0.0/30` contains addresses of 2 other circuits, which keep them, such as `10.1.0.1` \
         of line 2, circuit `C1`; line 3, circuit `C2`: its `10.1.0.1` is that of line 2, circuit `C1`",
        "left out: line 4, circuit `C3`: its `10.1.0.2` is that of line 3, circuit `C2`",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}
