//! How long a provider's policy takes to read: ten thousand circuits below ten sites with ten access points
//! each.
//!
//! ```text
//! cargo bench -p lockgate-scenario --bench circuits              reads it five times
//! cargo bench -p lockgate-scenario --bench circuits -- FOLDER    and writes its files, for `lockgate check`, `route`, `apply`
//! ```
//!
//! The policy is `examples/provider`; each circuit has an IPv4 address and an IPv6 prefix. In FOLDER/changed
//! a hundred circuits have another plan.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use lockgate_scenario::{embed_tables, read_policy};

/// The command's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const POLICY: &str = include_str!("../../../examples/provider/provider.toml");
const SITES: u32 = 10;
const POINTS: u32 = 10;
const CIRCUITS: u32 = 10_000;

/// Returns the table of circuits, of which the first `changed` have another plan.
fn circuits(changed: u32) -> String {
    let mut text = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,\
                    Download Max Mbps,Upload Max Mbps,Comment\n"
        .to_owned();
    for number in 0..CIRCUITS {
        let (site, point) = (number % SITES, number / SITES % POINTS);
        let [_, b, c, d] = number.to_be_bytes();
        let most = if number < changed { 110 } else { 105 };
        let written = writeln!(
            text,
            "C{number},\"{number} Mill Lane, Hill\",D{number},router,AP_{site}_{point},,100.{}.{c}.{d},2001:db8:{number:x}::/48,2,\
             1,{most},18,",
            64 + b
        );
        written.expect("a text");
    }
    text
}

/// Returns the sites with their access points.
fn network() -> String {
    let rates = |mbps: u32| format!("\"downloadBandwidthMbps\": {mbps}, \"uploadBandwidthMbps\": {mbps}");
    let point =
        |site: u32, point: u32| format!("\"AP_{site}_{point}\": {{ {}, \"type\": \"AP\" }}", rates(500));
    let site = |site: u32| {
        let points: Vec<String> = (0..POINTS).map(|number| point(site, number)).collect();
        format!(
            "\"Site_{site}\": {{ {}, \"type\": \"site\", \"children\": {{\n{}\n}} }}",
            rates(2_000),
            points.join(",\n")
        )
    };
    let sites: Vec<String> = (0..SITES).map(site).collect();
    format!("{{ {} }}\n", sites.join(",\n"))
}

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).map(PathBuf::from);
    let files = |changed| {
        [
            ("provider.toml", POLICY.to_owned()),
            ("ShapedDevices.csv", circuits(changed)),
            ("network.json", network()),
        ]
    };
    if let Some(folder) = folder {
        for (folder, changed) in [(folder.clone(), 0), (folder.join("changed"), 100)] {
            write(&folder, &files(changed)).expect("written");
        }
    }
    let beside: BTreeMap<String, Arc<[u8]>> =
        files(0).into_iter().map(|(name, text)| (name.to_owned(), Arc::from(text.as_bytes()))).collect();
    for _ in 0..5 {
        let begun = Instant::now();
        let text = embed_tables(POLICY, &beside).expect("the tables are there");
        let embedded = begun.elapsed();
        let policy = read_policy(&text, "provider.toml").expect("a policy");
        let queues: usize = policy.ports.iter().map(|port| port.tree.queues().len()).sum();
        println!("{queues} queues: tables {embedded:.1?}, all {:.1?}", begun.elapsed());
    }
}

fn write(folder: &Path, files: &[(&str, String)]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    files.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
}
