//! `lockgate diff`: packets, trees and runs of two files.

mod command;

use std::fs;
use std::path::Path;
use std::process::Output;

use command::{lockgate, text};

/// Wide prefix before the narrow one, and the reverse.
const WIDE_FIRST: &str = "tc qdisc add dev eth1 root handle 1: htb default 15
tc class add dev eth1 parent 1: classid 1:1 htb rate 100mbit
tc class add dev eth1 parent 1:1 classid 1:a htb rate 20mbit ceil 20mbit
tc class add dev eth1 parent 1:1 classid 1:14 htb rate 30mbit ceil 30mbit
tc class add dev eth1 parent 1:1 classid 1:15 htb rate 40mbit ceil 40mbit
tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dst 10.77.1.0/24 flowid 1:a
tc filter add dev eth1 parent 1: protocol ip prio 2 u32 match ip dst 10.77.1.5/32 flowid 1:14
";

const POLICY: &str = r#"
[router]
mode = "egress"
interfaces = { wan = "eth0" }

[port.wan]
rate = "20mbit"
root = "shares"
queue.shares = { kind = "htb", children = ["voice", "bulk"] }
queue.voice = { kind = "fifo", limit = "50p", rate = "2mbit", ceil = "20mbit", match = [{ dscp = "EF" }, { destination_port = 5060 }] }
queue.bulk = { kind = "fq_codel", rate = "18mbit", ceil = "20mbit" }
"#;

fn diff(directory: &Path, arguments: &[&str]) -> Output {
    lockgate(directory, &[&["diff"], arguments].concat())
}

/// Compares two texts without runs. Returns the exit code, the output, and what was left out.
fn compared_in_part(old: &str, new: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("old"), old).expect("written");
    fs::write(directory.path().join("new"), new).expect("written");
    let output = diff(directory.path(), &[&["old", "new", "--static"], more].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Compares two texts without runs, of which nothing is left out. Returns the exit code and the output.
fn compared(old: &str, new: &str, more: &[&str]) -> (Option<i32>, String) {
    let (code, said, left_out) = compared_in_part(old, new, more);
    assert!(left_out.is_empty(), "{left_out}");
    (code, said)
}

#[track_caller]
fn is_same(old: &str, new: &str) {
    let (code, said) = compared(old, new, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the same: no packet is treated differently"), "{said}");
}

#[track_caller]
fn differs(old: &str, new: &str, more: &[&str], parts: &[&str]) -> String {
    let (code, said) = compared(old, new, more);
    assert_eq!(code, Some(3), "{said}");
    for part in parts {
        assert!(said.contains(part), "`{part}` in:\n{said}");
    }
    said
}

#[test]
fn the_wide_prefix_before_the_narrow_one_is_named_with_a_packet() {
    let narrow_first = WIDE_FIRST.replace("prio 1 u32", "prio 9 u32");
    let said = differs(WIDE_FIRST, &narrow_first, &[], &[]);
    let expected = "old → new
port here:there
  class `link/class-1-1/class-1-a` → `link/class-1-1/class-1-14`, rate 20.0 Mbit/s → 30.0 Mbit/s, at most 20.0 Mbit/s → 30.0 Mbit/s
      destination 10.77.1.5
      smallest: udp to 10.77.1.5, 60 bytes";
    assert_eq!(said.trim(), expected);
    let github = differs(WIDE_FIRST, &narrow_first, &["--github"], &[]);
    let expected = "### `old` → `new`

**Port `here:there`**

| packets | change | smallest |
| --- | --- | --- |
| destination 10.77.1.5 | class `link/class-1-1/class-1-a` → `link/class-1-1/class-1-14`, rate 20.0 Mbit/s → 30.0 Mbit/s, at most 20.0 Mbit/s → 30.0 Mbit/s | udp to 10.77.1.5, 60 bytes |
";
    assert_eq!(github.trim(), expected.trim());
}

#[test]
fn marks_and_flows_of_scenarios_are_compared() {
    let scenario = |rule: &str| {
        format!(
            "duration = \"1s\"\nnode.a = {{}}\nnode.b = {{}}\nlink.line = {{ between = [\"a\", \"b\"], rate = \"1mbit\" }}\n\
             flow.f = {{ from = \"a\", to = \"b\", size = \"500B\", rate = \"100kbit\", mark = 1 }}\n\
             flow.g = {{ from = \"a\", to = \"b\", size = \"500B\", rate = \"100kbit\" }}\n\
             [port.\"a:b\"]\nroot = \"r\"\nqueue.r = {{ kind = \"drr\", children = [\"x\", \"y\"] }}\n\
             queue.x = {{ kind = \"fifo\", match = [{{ {rule} }}] }}\nqueue.y = {{ kind = \"fifo\" }}\n"
        )
    };
    let byte = scenario("mark = \"0x1/0xff\"");
    is_same(&byte, &byte);
    let bit = scenario("mark = \"0x1/0x1\"");
    differs(&byte, &bit, &[], &["class `r/y` → `r/x`", "smallest: udp, 60 bytes, mark 0x3"]);
    let named = |name: &str| scenario(&format!("flow = \"{name}\""));
    differs(&named("f"), &named("g"), &[], &["flow f", "flow g", "of flow g"]);
}

#[test]
fn policies_that_mean_the_same_are_the_same() {
    is_same(POLICY, POLICY);
    // Another order of rules and conditions, other units, and a prefix in halves.
    let other = POLICY.replace("20mbit", "20000kbit").replace(
        "[{ dscp = \"EF\" }, { destination_port = 5060 }]",
        "[{ destination_port = 5060 }, { dscp = 46 }]",
    );
    is_same(POLICY, &other);
    let by_prefix = |rules: &str| POLICY.replace("{ dscp = \"EF\" }", rules);
    let halves = "{ destination = \"10.0.0.0/25\" }, { destination = \"10.0.0.128/25\" }";
    is_same(&by_prefix("{ destination = \"10.0.0.0/24\" }"), &by_prefix(halves));
    let split = POLICY.replace("destination_port = 5060", "destination_port = \"5000-5060\"");
    let parts = "destination_port = \"5000-5030\" }, { destination_port = \"5031-5060\"";
    is_same(&split, &POLICY.replace("destination_port = 5060", parts));
}

#[test]
fn classes_rates_priorities_marks_and_names_are_told_apart() {
    let new = POLICY.replace("rate = \"2mbit\"", "rate = \"3mbit\"");
    differs(
        POLICY,
        &new,
        &[],
        &["`shares/voice`: rate 2.00 Mbit/s → 3.00 Mbit/s", "DSCP EF", "`shares/voice`: rate 2mbit → 3mbit"],
    );
    let renamed = POLICY.replace("queue.voice", "queue.calls").replace("\"voice\"", "\"calls\"");
    differs(
        POLICY,
        &renamed,
        &[],
        &["no packet is treated differently", "`shares/voice` is now called `shares/calls`"],
    );
    let kind = POLICY.replace("kind = \"fq_codel\"", "kind = \"codel\"");
    differs(
        POLICY,
        &kind,
        &[],
        &["no packet is treated differently", "`shares/bulk`: kind fq_codel → codel"],
    );
    let marked = POLICY.replace(
        "kind = \"fq_codel\"",
        "kind = \"policer\", rate = \"20mbit\", burst = \"10kB\", green_dscp = 10, red = \"drop\", share",
    );
    let marked = marked.replace(
        "share, rate = \"18mbit\", ceil = \"20mbit\"",
        "share = { rate = \"18mbit\", ceil = \"20mbit\" }",
    );
    differs(POLICY, &marked, &[], &["mark none → green_dscp 10"]);
    let port = POLICY.replace("rate = \"20mbit\"\nroot", "rate = \"10mbit\"\nroot");
    differs(
        POLICY,
        &port,
        &[],
        &["the port's rate: 20.0 Mbit/s → 10.0 Mbit/s", "at most 20.0 Mbit/s → 10.0 Mbit/s"],
    );
}

#[test]
fn a_capture_is_counted_and_the_documents_say_the_same() {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traffic/tests/captures/call.pcap");
    let capture = capture.display().to_string();
    // The call of the capture goes to port 5060.
    let other = POLICY.replace("destination_port = 5060", "destination_port = 5061");
    let said = differs(POLICY, &other, &["--capture", &capture, "--json"], &["\"same\": false"]);
    let document: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let changes = document["ports"][0]["packets"].as_array().expect("changes");
    let of = |class: &str| changes.iter().find(|change| change["new"]["class"] == class).expect("a change");
    let all = serde_json::json!({ "packets": 236, "bytes": 236 * 294 });
    assert_eq!(document["capture"], all);
    assert_eq!(of("shares/bulk")["capture"], all, "{said}");
    assert_eq!(of("shares/voice")["capture"]["packets"], 0, "{said}");
    assert_eq!(of("shares/bulk")["sets"][0]["conditions"]["destination_port"], "destination port 5060");
    let github = differs(
        POLICY,
        &other,
        &["--capture", &capture, "--github"],
        &["| packets | change |", "in the capture"],
    );
    assert!(github.starts_with("### `old` → `new`"), "{github}");
}

#[test]
fn both_are_run_with_the_same_seeds() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("old.toml"), POLICY).expect("written");
    let new = POLICY.replace("kind = \"fq_codel\"", "kind = \"fifo\"");
    fs::write(directory.path().join("new.toml"), new).expect("written");
    let scenario =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/batches.toml"));
    fs::write(directory.path().join("a.toml"), scenario.as_deref().expect("a scenario")).expect("written");
    let other = scenario.expect("a scenario").replace("duration", "# \nduration");
    fs::write(directory.path().join("b.toml"), &other).expect("written");
    let output = diff(directory.path(), &["a.toml", "b.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = diff(directory.path(), &["old.toml", "missing.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let arguments =
        ["old.toml", "new.toml", "--seeds", "1,2", "--show", "flow.call.owd.p99,group.upload.goodput.sum"];
    let output = diff(directory.path(), &arguments);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}{}", text(&output.stderr));
    for part in ["kind fq_codel → fifo", "both run with the same seeds", "2 variants × 2 seeds", "old", "new"]
    {
        assert!(said.contains(part), "`{part}` in:\n{said}");
    }
}

#[test]
fn a_policy_and_a_script_that_sort_alike_differ_in_names_only() {
    let policy = r#"
[router]
mode = "egress"
interfaces = { wan = "eth1" }
[port.wan]
root = "link"
queue.link = { kind = "htb", children = ["all"] }
queue.all = { kind = "class", rate = "100mbit", children = ["lan", "five", "rest"] }
queue.lan = { kind = "fifo", rate = "20mbit", match = [{ destination = "10.77.1.0/24", preference = 2 }] }
queue.five = { kind = "fifo", rate = "30mbit", match = [{ destination = "10.77.1.5", preference = 1 }] }
queue.rest = { kind = "fifo", rate = "40mbit" }
"#;
    let script = WIDE_FIRST.replace("prio 1 u32", "prio 9 u32");
    let said = differs(&script, policy, &[], &["port here:there → wan", "no packet is treated differently"]);
    assert!(said.contains("`link/class-1-1/class-1-14` is now called `link/all/five`"), "{said}");
    differs(
        WIDE_FIRST,
        policy,
        &[],
        &["destination 10.77.1.5", "`link/class-1-1/class-1-a` → `link/all/five`"],
    );
}

#[test]
fn lines_that_are_not_understood_are_a_difference_unless_both_have_them() {
    let line = "tc filter add dev eth1 parent 1: protocol 802.1Q prio 3 flower vlan_id 5 flowid 1:14";
    let tagged = format!("{WIDE_FIRST}{line}\n");
    let (code, said, left_out) = compared_in_part(WIDE_FIRST, &tagged, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains(&format!("not compared, only in `new`: `{line}`")), "{said}");
    assert!(left_out.contains("vlan_id") && !said.contains("the same"), "{left_out}{said}");
    let (code, said, _) = compared_in_part(WIDE_FIRST, &tagged, &["--json"]);
    let document: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((code, &document["same"]), (Some(3), &false.into()), "{said}");
    assert_eq!(document["not_compared"].as_array().map(Vec::len), Some(1), "{said}");
    let (_, said, _) = compared_in_part(WIDE_FIRST, &tagged, &["--github"]);
    assert!(said.contains("- not compared, only in `new`"), "{said}");
    let (code, said, _) =
        compared_in_part(&tagged, &format!("{WIDE_FIRST}{}\n", line.replace(' ', "  ")), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the same") && said.contains("not compared: 1 line that both have"), "{said}");
}

/// `netem` is no queue of a port: it is the line behind it.
#[test]
fn what_netem_does_is_compared() {
    let netem = |words: &str| format!("tc qdisc add dev eth0 root netem {words}\n");
    let arriving = "tc qdisc add dev ifb0 root netem delay 10ms rate 5mbit\ntc qdisc add dev eth0 ingress\n\
        tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ifb0\n";
    let both = |rate: &str| netem(&format!("delay 10ms rate {rate}")) + &arriving.replace("5mbit", rate);
    for (old, new, part) in [
        (netem("delay 10ms"), netem("delay 20ms"), "`link.line.delay.up`: 10ms → 20ms"),
        (netem("delay 10ms"), netem("delay 10ms loss 5%"), "`link.line.loss"),
        (netem("delay 10ms"), netem("delay 10ms duplicate 1%"), "`link.line.up.duplicate` is new: 0.01"),
        (netem("rate 5mbit"), netem("rate 4mbit"), "`link.line.rate.up`: 5mbit → 4mbit"),
        (netem("delay 10ms"), "tc qdisc add dev eth0 root pfifo limit 1000\n".to_owned(), "`link.line.delay"),
        (both("5mbit"), both("4mbit"), "`link.line.rate`: 5mbit → 4mbit"),
    ] {
        differs(&old, &new, &[], &[part]);
        is_same(&old, &old);
    }
    let shaper = |rate: &str| format!("tc qdisc add dev eth0 root tbf rate {rate} burst 10k latency 50ms\n");
    let said = differs(&shaper("5mbit"), &shaper("4mbit"), &[], &[]);
    assert!(!said.contains("link."), "the line is chosen by the conversion: {said}");
}

#[test]
fn a_script_and_what_tc_shows_after_it_are_the_same() {
    let script = "tc qdisc add dev eth1 root handle 1: htb default 30
tc class add dev eth1 parent 1: classid 1:1 htb rate 20mbit
tc class add dev eth1 parent 1:1 classid 1:10 htb rate 6mbit ceil 20mbit
tc class add dev eth1 parent 1:1 classid 1:30 htb rate 10mbit ceil 20mbit
tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dst 10.0.0.0/24 flowid 1:10
";
    // `tc -d qdisc`, `class` and `filter show dev eth1` of iproute2 6.1 after the script.
    let shown = "qdisc htb 1: root refcnt 3 r2q 10 default 0x30 direct_packets_stat 0 ver 3.17 direct_qlen 1000
class htb 1:1 root rate 20Mbit ceil 20Mbit linklayer ethernet burst 1600b/1 mpu 0b cburst 1600b/1 mpu 0b level 7
class htb 1:10 parent 1:1 prio 0 quantum 75000 rate 6Mbit ceil 20Mbit linklayer ethernet burst 1599b/1 mpu 0b cburst 1600b/1 mpu 0b level 0
class htb 1:30 parent 1:1 prio 0 quantum 125000 rate 10Mbit ceil 20Mbit linklayer ethernet burst 1600b/1 mpu 0b cburst 1600b/1 mpu 0b level 0
filter parent 1: protocol ip pref 1 u32 chain 0
filter parent 1: protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1
filter parent 1: protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:10 not_in_hw
  match 0a000000/ffffff00 at 16
";
    is_same(script, shown);
    differs(script, &shown.replace("burst 1599b", "burst 1500b"), &[], &["burst 1.6kB → 1500B"]);
    differs(script, &shown.replace("prio 0 quantum 75000", "prio 1 quantum 75000"), &[], &["priority 0 → 1"]);
    differs(script, &shown.replace("quantum 75000", "quantum 1514"), &[], &["quantum 75000B → 1514B"]);
}

#[test]
fn packets_are_named_as_what_they_are() {
    let by = |rule: &str| POLICY.replace("{ destination_port = 5060 }", rule);
    let (v4, v6) = (by("{ source = \"0.0.0.0/0\" }"), by("{ source = \"::/0\" }"));
    let said = differs(&v4, &v6, &[], &["      IPv4, DSCP not EF\n", "      IPv6, DSCP not EF\n"]);
    // A datagram of IPv6 is no shorter.
    assert!(said.contains("smallest: udp, 62 bytes, IPv6, DSCP 0"), "{said}");
    let (one_rule, _) = WIDE_FIRST.rsplit_once("tc filter").expect("two rules");
    let port =
        |port: u16| one_rule.replace("match ip dst 10.77.1.0/24", &format!("match ip dport {port} 0xffff"));
    let said = differs(&port(53), &port(54), &[], &["      IP, destination port 53\n"]);
    assert!(!said.contains("no IP packet"), "{said}");
    // All but UDP, of IP.
    let wide = by("{ protocol = \"udp\" }");
    differs(
        &WIDE_FIRST.replace("10.77.1.0/24", "10.0.0.0/8"),
        &wide,
        &[],
        &["destination 10.0.0.0/8, not udp"],
    );
}

#[test]
fn documents_have_all_values_of_a_set() {
    let ports = |ports: [u16; 6]| {
        let rule = |port: u16| format!("{{ destination_port = {port} }}");
        POLICY.replace("{ destination_port = 5060 }", &ports.map(rule).join(", "))
    };
    let said = differs(&ports([1, 3, 5, 7, 9, 11]), &ports([1; 6]), &["--json"], &[]);
    let document: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let change = &document["ports"][0]["packets"][0];
    let values = &change["sets"][0]["values"]["destination_port"];
    assert_eq!(*values, serde_json::json!(["3", "5", "7", "9", "11"]), "{said}");
    let witness = &change["witness"];
    assert_eq!(
        (&witness["mark"], &witness["flow"], &witness["version"]),
        (&0.into(), &"none".into(), &4.into())
    );
}
