//! A provider's files as a user meets them: a tower that carries less than its access points, members with
//! the columns of their table, and names of files and devices that a shell would read otherwise.

mod command;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use command::lockgate;
use serde_json::Value;

const POLICY: &str = include_str!("../../../examples/provider/provider.toml");

/// A tower of 80 Mbit/s with three access points of 30.
const NETWORK: &str = r#"{ "Tower": { "downloadBandwidthMbps": 80, "uploadBandwidthMbps": 40, "children": {
  "AP1": { "downloadBandwidthMbps": 30, "uploadBandwidthMbps": 20 },
  "AP2": { "downloadBandwidthMbps": 30, "uploadBandwidthMbps": 20 },
  "AP3": { "downloadBandwidthMbps": 30, "uploadBandwidthMbps": 20 } } } }"#;

const CIRCUITS: &str =
    "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment
C1,\"one, two\",D1,r,AP1,,10.1.0.1,,5,2,30,10,
C2,a,D2,r,AP2,,10.1.0.2,,5,2,30,10,
C3,a,D3,r,AP3,,10.1.0.3,,5,2,30,10,
";

const LAB: &str = r#"duration = "6s"
warmup = "3s"
node = { net = {}, box = {}, tower = {}, sub = { count = "subscribers", address = "$ipv4" } }
link.core = { between = ["net", "box"], rate = "1gbit", delay = "5ms" }
link.lan = { between = ["box", "tower"], rate = "1gbit" }
link.acc = { between = ["tower", "sub/*"], rate = "1gbit", delay = "3ms" }
port."box:tower".policy = "provider.toml:wan->lan"
flow.dl = { from = "net", to = "sub/*", count = "subscribers", transport = "tcp", bytes = "unlimited" }
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        ("provider.toml", POLICY),
        ("network.json", NETWORK),
        ("ShapedDevices.csv", CIRCUITS),
        ("lab.toml", LAB),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns what is said, without the breaks of its lines.
fn unbroken(output: &Output) -> String {
    errors(output).split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

#[test]
fn a_tower_that_is_oversold_carries_no_more_than_it_has() {
    let folder = folder();
    let checked = lockgate(folder.path(), &["check", "--strict", "provider.toml"]);
    assert_eq!(checked.status.code(), Some(0), "{}", errors(&checked));
    let run = lockgate(folder.path(), &["run", "lab.toml", "--json", "--members", "m.csv", "--out", "o"]);
    assert_eq!(run.status.code(), Some(0), "{}", errors(&run));
    let summary: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let rate = summary["metrics"]["port.box:tower.queue.site/Tower.throughput"].as_f64().expect("a rate");
    assert!((79e6..80.5e6).contains(&rate), "{rate}");
    // The same rate written as `rate` is a guarantee, which adds up.
    let old = POLICY.replace("rate = \"1mbit\", ceil = \"$download\"", "rate = \"$download\"");
    fs::write(folder.path().join("provider.toml"), old).expect("written");
    let checked = errors(&lockgate(folder.path(), &["check", "provider.toml"]));
    assert!(
        checked.contains("`site/Tower` is under the 90mbit that those below are guaranteed"),
        "{checked}"
    );
    // Circuits that are guaranteed more than their site carries.
    fs::write(folder.path().join("provider.toml"), POLICY).expect("written");
    fs::write(folder.path().join("network.json"), NETWORK.replace("80", "12")).expect("written");
    let checked = errors(&lockgate(folder.path(), &["check", "provider.toml"]));
    assert!(checked.contains("`ceil` of the queue `site/Tower` is under the 15mbit"), "{checked}");
    // Each of several such sites counts, whatever their names differ in.
    let narrow = NETWORK.replace("\"downloadBandwidthMbps\": 30", "\"downloadBandwidthMbps\": 2");
    fs::write(folder.path().join("network.json"), &narrow).expect("written");
    let checked = unbroken(&lockgate(folder.path(), &["check", "provider.toml"]));
    assert!(checked.contains("`ceil` of the queue `site/AP1` is under the 5mbit"), "{checked}");
    assert!(checked.contains("(and 2 more like it)"), "{checked}");
    fs::write(folder.path().join("network.json"), narrow.replace("AP2", "Barn")).expect("written");
    fs::write(folder.path().join("ShapedDevices.csv"), CIRCUITS.replace("AP2", "Barn")).expect("written");
    let checked = unbroken(&lockgate(folder.path(), &["check", "provider.toml"]));
    assert!(checked.contains("`site/Barn` is under the 5mbit"), "{checked}");
    assert!(checked.contains("(and 1 more like it)"), "{checked}");
    // A row for each member, with the columns of its circuit.
    let members = fs::read_to_string(folder.path().join("m.csv")).expect("members");
    let mut lines = members.lines();
    let head = "subject,group,member,circuit_id,circuit_name,device_id,device_name,parent_node,mac,ipv4,ipv6,download_min,";
    assert!(lines.next().is_some_and(|line| line.starts_with(head)), "{members}");
    for subject in ["flow.dl/1,dl,1", "port.box:tower.queue.plan/C1,plan,C1"] {
        let row = format!("{subject},C1,\"one, two\",D1,r,AP1,,10.1.0.1,,5mbit,2mbit,30mbit,10mbit,");
        assert!(members.lines().any(|line| line.starts_with(&row)), "{row}\n{members}");
    }
}

#[test]
fn one_class_for_each_flow_of_a_group() {
    const EACH: &str = r#"duration = "2s"
node = { a = {}, b = {} }
link.l = { between = ["a", "b"], rate = "10mbit" }
flow.bulk = { from = "a", to = "b", count = 3, size = "1000B", gap = "1ms" }
[port."a:b".queue]
d = { kind = "drr", children = ["c"] }
c = { count = 3, kind = "fifo", limit = "20p", match = [{ flow = "bulk/$i" }] }
"#;
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.toml"), EACH).expect("written");
    let run = lockgate(folder.path(), &["run", "s.toml", "--json", "--out", "o"]);
    assert_eq!(run.status.code(), Some(0), "{}", errors(&run));
    let summary: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let sent = |queue: &str| summary["ports"]["a:b"]["queues"][queue]["sent_packets"].as_u64().expect(queue);
    assert!(["c/1", "c/2", "c/3"].iter().all(|queue| (832..=834).contains(&sent(queue))), "{summary}");
    fs::write(folder.path().join("s.toml"), EACH.replace("bulk/$i", "bulk/4")).expect("written");
    let refused = lockgate(folder.path(), &["check", "s.toml"]);
    assert!(errors(&refused).contains("there is no flow called `bulk/4`"), "{}", errors(&refused));
}

/// What a shell would run stands in quotes, wherever a name is printed for one.
#[test]
fn names_are_quoted_where_a_shell_reads_them() {
    let name = "x$(touch PWN) 'y'.toml";
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = "duration = \"1s\"\nnode = { a = {}, b = {} }\nlink.l = { between = [\"a\", \"b\"], rate = \"1mbit\" }\n\
                    flow.f = { from = \"a\", to = \"b\", size = \"100B\", gap = \"1ms\" }\n\
                    [port.\"a:b\".queue]\nq = { kind = \"tbf\", rate = \"1mbit\", burst = \"10kB\" }\n";
    fs::write(folder.path().join(name), scenario).expect("written");
    let shell = |line: &str| {
        let path =
            Path::new(env!("CARGO_BIN_EXE_lockgate")).parent().expect("a folder").display().to_string();
        let path = format!("{path}:{}", std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("bash");
        shell.args(["-c", line]).current_dir(folder.path()).env("PATH", path).output().expect("bash")
    };
    let complete = "source <(lockgate completions bash)\nCOMP_WORDS=(lockgate check x); COMP_CWORD=2; COMP_TYPE=9\n\
                    _clap_complete_lockgate lockgate x check\neval \"lockgate check ${COMPREPLY[0]}\"";
    let completed = shell(complete);
    assert!(completed.status.success(), "{}", errors(&completed));
    let exported = |dev: &str| lockgate(folder.path(), &["tc", "export", name, "--dev", dev]);
    for dev in ["x; reboot", "", "a/b", "sixteen-bytes-es", "..", "a\u{7}"] {
        assert_eq!(exported(dev).status.code(), Some(2), "`{dev}`");
    }
    let script = String::from_utf8_lossy(&exported("$(touch>PWN)").stdout).into_owned();
    shell(&script.replace("tc ", "true "));
    // The flow sends 800 kbit/s: the first rate is too low for it.
    let compared =
        ["compare", name, "--vary", "port.a:b.queue.q.rate=400kbit,1mbit", "--seeds", "1..3", "--out", "o"];
    let compared = String::from_utf8_lossy(&lockgate(folder.path(), &compared).stdout).into_owned();
    for line in compared.lines().filter_map(|line| Some(&line[line.find("lockgate ")?..])) {
        shell(line);
    }
    assert!(compared.contains("lockgate tc export 'x$(touch PWN) "), "{compared}");
    let files: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").flatten().map(|file| file.file_name()).collect();
    assert!(!files.iter().any(|file| file.to_string_lossy().starts_with("PWN")), "{files:?}");
}

/// What a laboratory assumes, and whom it loads, is said; what the user sets is not called assumed.
#[test]
fn a_laboratory_says_which_circuits_have_traffic_and_which_rates_it_assumes() {
    const LOADED: &str = r#"subscribers = "s.csv"
[router]
mode = "bridge"
interfaces = { lan = "eth1", wan = "eth2" }
[port."wan->lan"]
root = "shaper"
[port."wan->lan".queue]
shaper = { kind = "htb", children = ["line"] }
line = { kind = "class", rate = "20mbit", children = ["plan", "rest"] }
plan = { count = "subscribers", name = "$circuit_id", kind = "fq_codel", rate = "100kbit", ceil = "5mbit", match = [{ destination = "$ipv4" }] }
rest = { kind = "fq_codel", rate = "1mbit", ceil = "20mbit" }
"#;
    let folder = tempfile::tempdir().expect("a folder");
    let circuits = |number: u32| {
        (1..=number)
            .fold("Circuit ID,IPv4".to_owned(), |text, number| text + &format!("\nC{number},10.1.0.{number}"))
    };
    fs::write(folder.path().join("p.toml"), LOADED).expect("written");
    let run = |number: u32, settings: &[&str]| {
        fs::write(folder.path().join("s.csv"), circuits(number)).expect("written");
        let settings = settings.iter().flat_map(|setting| ["--set", setting]).collect::<Vec<_>>();
        let fixed = ["run", "p.toml", "--duration", "1s", "--out", "o"];
        errors(&lockgate(folder.path(), &[&fixed[..], &settings].concat()))
    };
    let said = run(60, &[]);
    assert!(said.contains("12 of the 60 circuits have traffic: of each plan some"), "{said}");
    assert!(said.contains("down: assumed, as a policy does not say it"), "{said}");
    let said = run(8, &["link.line.rate.down=30mbit"]);
    assert!(!said.contains("circuits have traffic"), "all have: {said}");
    assert!(said.contains("30.0 Mbit/s down: the first is assumed"), "{said}");
    for both in [&["link.line.rate=30mbit"][..], &["link.line.rate.up=9mbit", "link.line.rate.down=30mbit"]] {
        let said = run(8, both);
        assert!(said.contains("30.0 Mbit/s down\n") && !said.contains("assumed"), "{said}");
    }
}
