//! Scripts as people write them: what they set up, and what is wrong with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use lockgate_engine::units::Rate;
use lockgate_scenario::{QueueTree, Scenario};
use lockgate_tc::lint::{self, Machine, Severity};
use lockgate_tc::{Converted, Options, Problems, Request, convert, read};

fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
    fs::read_to_string(path).expect("a script of the tests")
}

fn request<'a>(text: &'a str, options: &'a Options) -> Request<'a> {
    Request { text, origin: "a test", definitions: &[], options, rate: None, is_lenient: false }
}

fn imported(text: &str) -> Result<Converted, Problems> {
    convert(&request(text, &Options::default()))
}

/// Returns the scenario's text and its model.
fn scenario(text: &str) -> (String, Scenario) {
    let converted = match imported(text) {
        Ok(converted) => converted,
        Err(problems) => panic!("{problems}"),
    };
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let read = lockgate_scenario::read(&converted.scenario, "imported", &files, &[]);
    (converted.scenario, read.expect("a conversion can be read"))
}

fn tree<'a>(scenario: &'a Scenario, port: &str) -> &'a QueueTree {
    &scenario.ports.iter().find(|found| found.name == port).expect("a port of this name").tree
}

/// Returns a value of a queue, its own or of its share, as it is written.
fn value(tree: &QueueTree, queue: &str, key: &str) -> String {
    let queue = tree.queues().iter().find(|found| &*found.name == queue);
    let queue = queue.unwrap_or_else(|| panic!("no queue for `{key}`"));
    let value = queue.config.get(key).or_else(|| queue.share.get(key));
    let text = value.map_or_else(String::new, ToString::to_string);
    text.trim_matches('"').to_owned()
}

fn rate(tree: &QueueTree, queue: &str, key: &str) -> u64 {
    value(tree, queue, key).parse::<Rate>().unwrap_or_else(|why| panic!("{queue} {key}: {why}")).as_bits()
}

/// Returns the rules of a finding, with their lines.
fn findings(name: &str) -> Vec<(u32, &'static str, Severity)> {
    let reading = read(&script(name), &[], "eth0");
    lint::check(&reading, &Machine::default())
        .into_iter()
        .filter(|finding| finding.severity < Severity::Note)
        .map(|finding| (finding.at.line, finding.rule, finding.severity))
        .collect()
}

#[test]
fn three_tiers_of_sqm_have_their_rates_marks_and_cells() {
    let (text, scenario) = scenario(&script("sqm-three-tiers.sh"));
    let tree = tree(&scenario, "here:there");
    assert_eq!((rate(tree, "class-1-11", "rate"), rate(tree, "class-1-11", "ceil")), (128_000, 270_000));
    for class in ["class-1-12", "class-1-13"] {
        assert_eq!((rate(tree, class, "rate"), rate(tree, class, "ceil")), (135_000, 794_000));
    }
    assert_eq!(value(tree, "class-1-13", "target"), "17300us", "the loop is expanded");
    assert!(text.contains("mark = \"0x1/0xff\""), "{text}");
    // 1514 bytes are 1510 without four, in 32 cells of 53.
    assert_eq!(value(tree, "class-1-1", "overhead"), "-4B");
    assert_eq!(value(tree, "class-1-12", "framing"), "atm");
    for named in ["for `ipv6` of line 20", "for `arp` of line 21"] {
        assert!(text.contains(named), "{named}: {text}");
    }
}

#[test]
fn subscribers_are_found_by_hash_table() {
    let (text, scenario) = scenario(&script("u32-hash-isp.sh"));
    let tree = tree(&scenario, "here:there");
    let classes =
        tree.queues().iter().filter(|queue| queue.name.starts_with("class-1-") && !queue.is_class());
    assert_eq!(classes.count(), 11);
    assert_eq!(rate(tree, "class-1-a0", "ceil"), 100_000_000);
    assert!(text.contains("destination = \"100.64.0.10/32\""), "{text}");
    let rest = tree.queues().iter().find(|queue| &*queue.name == "class-1-9999").expect("the rest");
    assert!(rest.rules.is_empty(), "`default 9999` is hexadecimal");
    assert_eq!(rate(tree, "class-1-9999", "ceil"), 50_000_000);
}

#[test]
fn a_mask_with_gaps_takes_four_ranges_of_ports() {
    let (text, _) = scenario(&script("prio-voip-mask.sh"));
    for ports in ["9216-10239", "25600-26623", "41984-43007", "58368-59391"] {
        assert!(text.contains(&format!("destination_port = \"{ports}\"")), "{ports}: {text}");
    }
    let reading = read(&script("prio-voip-mask.sh"), &[], "eth0");
    let found = lint::check(&reading, &Machine::default());
    let mask = found.iter().find(|finding| finding.rule == "port-mask").expect("the mask is found");
    assert!(mask.message.contains("9216-10239, 25600-26623, 41984-43007, 58368-59391"), "{}", mask.message);
}

#[test]
fn delays_of_hfsc_become_curves() {
    let (_, scenario) = scenario(&script("hfsc-umax.sh"));
    let tree = tree(&scenario, "here:there");
    let curve = |queue: &str| value(tree, queue, "rt");
    for part in ["m1 = \"400kbit\"", "d = \"30ms\"", "m2 = \"100kbit\""] {
        assert!(curve("class-1-12").contains(part), "{}", curve("class-1-12"));
    }
    for part in ["m1 = \"0bit\"", "d = \"23ms\"", "m2 = \"400kbit\""] {
        assert!(curve("class-1-11").contains(part), "{}", curve("class-1-11"));
    }
}

#[test]
fn wondershaper_has_its_arithmetic_and_small_acknowledgements() {
    let (text, scenario) = scenario(&script("wondershaper-policer.sh"));
    let tree = tree(&scenario, "here:there");
    assert_eq!(rate(tree, "class-1-20", "rate"), 900_000);
    for part in [
        "tcp_flags = [\"ack\"]",
        "tcp_flags_clear = [",
        "length = \"14B-77B\"",
        "kind = \"policer\", rate = \"15mbit\", burst = \"10240B\", red = \"drop\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let found = findings("wondershaper-policer.sh");
    assert!(found.contains(&(9, "rates-over-parent", Severity::Warning)), "{found:?}");
    assert!(found.contains(&(12, "class-unreached", Severity::Warning)), "{found:?}");
}

#[test]
fn a_gateway_has_a_port_each_way() {
    let (text, scenario) = scenario(&script("ifb-cake-ingress.sh"));
    let up = tree(&scenario, "here:there");
    let down = tree(&scenario, "there:here");
    assert_eq!((rate(up, "link", "bandwidth"), rate(down, "link", "bandwidth")), (38_000_000, 95_000_000));
    assert_eq!((value(up, "link", "framing"), value(up, "link", "overhead")), ("ptm".into(), "30B".into()));
    assert_eq!((value(down, "link", "ingress"), value(down, "link", "wash")), ("true".into(), "true".into()));
    for queues in [up, down] {
        assert_eq!(value(queues, "link", "nat"), "true");
    }
    assert_eq!([up, down].map(|queues| value(queues, "link", "ack_filter")), ["true", "false"]);
    for named in ["`split-gso` of `cake`", "skbedit priority 1:1"] {
        assert!(text.contains(named), "{named}: {text}");
    }
    assert_eq!(findings("ifb-cake-ingress.sh"), []);
}

#[test]
fn a_script_for_two_lines_asks_for_the_device() {
    let text = script("htb-no-default.sh");
    let problems = imported(&text).expect_err("two devices").to_string();
    assert!(problems.contains("`br-lan`, `br-lan-ifb`"), "{problems}");
    let options = Options { device: Some("br-lan".to_owned()), ..Options::default() };
    let converted = convert(&request(&text, &options)).expect("a device");
    // What no filter takes goes first, and unshaped.
    assert!(
        converted.scenario.contains("children = [\"link-direct\", \"link-shaped\"]"),
        "{}",
        converted.scenario
    );
    assert!(
        converted.scenario.contains("link-direct = { kind = \"fifo\", limit = \"1000p\""),
        "{}",
        converted.scenario
    );
    let found = findings("htb-no-default.sh");
    assert!(found.iter().all(|(_, rule, _)| *rule == "no-default") && found.len() == 2, "{found:?}");
}

#[test]
fn kilobytes_are_eight_kilobits() {
    let (_, scenario) = scenario(&script("htb-guide-kbps.sh"));
    let tree = tree(&scenario, "here:there");
    let ceil = tree.queues().iter().find(|queue| &*queue.name == "class-1-1").expect("the root class");
    assert_eq!(ceil.share["ceil"].as_str(), Some("800kbit"));
    assert_eq!((rate(tree, "class-1-10", "rate"), rate(tree, "class-1-12", "rate")), (240_000, 480_000));
    assert_eq!(findings("htb-guide-kbps.sh"), []);
}

#[test]
fn what_tc_prints_is_read() {
    let (text, scenario) = scenario(&script("show-output.txt"));
    let tree = tree(&scenario, "here:there");
    assert_eq!(rate(tree, "class-1-10", "ceil"), 810_000);
    assert_eq!(value(tree, "class-1-10", "limit"), "1001p");
    assert!(text.contains("`class fq_codel 110:2b1 parent`"), "{text}");
    assert!(text.contains("framing = \"atm\""), "{text}");
    let rest = tree.queues().iter().find(|queue| &*queue.name == "class-1-10").expect("a class");
    assert!(rest.rules.is_empty(), "`default 16` is the class 0x10");
    assert_eq!(findings("show-output.txt"), []);
}

#[test]
fn netem_is_the_delay_of_the_line() {
    let (text, _) = scenario(&script("mininet-hfsc-float.sh"));
    assert!(text.contains("delay = { up = \"5ms\", down = \"0ns\" }"), "{text}");
    assert_eq!(findings("mininet-hfsc-float.sh"), []);
}

/// Linux 6.1 with `rate 500kbit limit 20` and frames of 1214 bytes: a full queue holds a `ping` for 388 ms,
/// 20 times of one frame, the one that is transmitted among them.
#[test]
fn the_limit_of_netem_counts_the_packet_that_its_rate_transmits() {
    for (words, limit) in
        [("rate 500kbit limit 20", "19p"), ("limit 20", "20p"), ("rate 500kbit limit 1", "1p")]
    {
        let (text, _) = scenario(&format!("tc qdisc add dev eth0 root netem {words}\n"));
        assert!(text.contains(&format!("kind = \"fifo\", limit = \"{limit}\"")), "{words}: {text}");
    }
}

#[test]
fn every_mistake_is_at_its_line() {
    let text = script("did-it-work.sh");
    let problems = imported(&text).expect_err("a script that cannot work");
    let lines: Vec<u32> = problems.iter().map(|problem| problem.at.line).collect();
    for line in 4..=8 {
        assert!(lines.contains(&line), "line {line}: {problems}");
    }
    let found = findings("did-it-work.sh");
    for line in 4..=8 {
        assert!(
            // The kernel takes the filter of the last line, and its packets go to the default.
            found.iter().any(|(at, _, severity)| *at == line && (*severity == Severity::Error || line == 8)),
            "{line}: {found:?}"
        );
    }
    let lenient = convert(&Request { is_lenient: true, ..request(&text, &Options::default()) });
    let lenient = lenient.expect("a root is left");
    assert!(lenient.scenario.contains("# Left out:") && !lenient.problems.is_empty(), "{}", lenient.scenario);
}

#[test]
fn quanta_by_hand_are_kept_and_the_largest_is_reported() {
    let (text, scenario) = scenario(&script("custom-rates.sh"));
    let tree = tree(&scenario, "here:there");
    for (class, quantum) in [("class-1-10", "14700B"), ("class-1-11", "58800B"), ("class-1-13", "806400B")] {
        assert_eq!(queue_share(tree, class, "quantum"), quantum);
    }
    assert!(text.contains("mark = \"0x90000/0xc03f0000\""), "{text}");
    let reading = read(&script("custom-rates.sh"), &[], "eth0");
    let found = lint::check(&reading, &Machine::default());
    let turn = found.iter().find(|finding| finding.rule == "quantum-too-large").expect("a finding");
    assert!(turn.at.line == 7 && turn.message.contains("274 ms"), "{turn:?}");
}

fn queue_share(tree: &QueueTree, queue: &str, key: &str) -> String {
    let queue = tree.queues().iter().find(|found| &*found.name == queue).expect("a queue");
    queue.share[key].as_str().expect("a text").to_owned()
}

#[test]
fn a_change_keeps_what_it_leaves_out() {
    let text = "tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 1mbit
tc qdisc add dev eth0 parent 1:10 handle 10: fq_codel limit 300 noecn
tc class change dev eth0 classid 1:10 htb rate 2mbit
tc qdisc change dev eth0 parent 1:10 fq_codel target 9ms
";
    let (text, scenario) = scenario(text);
    let tree = tree(&scenario, "here:there");
    assert_eq!(rate(tree, "class-1-10", "rate"), 2_000_000);
    let of = |key: &str| value(tree, "class-1-10", key);
    assert_eq!(
        (of("limit"), of("target"), of("ecn")),
        ("300p".into(), "9ms".into(), "false".into()),
        "{text}"
    );
    let above = tree.queues().iter().find(|queue| &*queue.name == "class-1-1").expect("the class above");
    assert_eq!(above.children.len(), 1);
}

#[test]
fn meters_are_shared_by_their_numbers() {
    let text = |second: &str, class: &str| {
        format!(
            "tc qdisc add dev eth0 root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 80 0xffff action police rate 1mbit burst 10k drop index 7 flowid 1:1
tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dport 81 0xffff action police {second} flowid {class}
"
        )
    };
    let (_, first) = scenario(&text("index 7", "1:1"));
    let metered = tree(&first, "here:there").queues().iter().find(|queue| queue.kind == "policer");
    assert_eq!(metered.expect("a meter").rules.len(), 2);
    for (second, class, why) in [
        ("index 8", "1:1", "no line before defines the meter"),
        ("rate 1mbit burst 10k drop", "1:1", "a part of the packets"),
        ("index 7", "1:2", "or of more than it"),
    ] {
        let problems = imported(&text(second, class)).expect_err("refused").to_string();
        assert!(problems.contains(why), "{second}: {problems}");
    }
}

#[test]
fn what_a_meter_does_otherwise_is_said() {
    let text = "tc qdisc add dev eth0 root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 80 0xffff police rate 1mbit burst 10k peakrate 2mbit mtu 3k conform-exceed continue flowid 1:1
";
    let text = scenario(text).0;
    assert!(text.contains("in Linux what exceeds takes from neither"), "{text}");
    assert!(text.contains("Linux tries the next filters for packets beyond the rate"), "{text}");
}

/// Marks come from netfilter, which what arrives has not passed, unless the redirection restores them.
#[test]
fn a_mark_on_what_arrives_is_reported_unless_it_is_restored() {
    let script = |redirection: &str, queue: &str| {
        format!(
            "tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 {redirection}
tc qdisc add dev ifb0 root handle 1: {queue}
"
        )
    };
    let classes = "htb default 10
tc class add dev ifb0 parent 1: classid 1:10 htb rate 5mbit
tc class add dev ifb0 parent 1: classid 1:11 htb rate 5mbit
tc filter add dev ifb0 parent 1: protocol ip prio 1 MATCH flowid 1:11";
    let plain = "action mirred egress redirect dev ifb0";
    let restored = "action connmark action mirred egress redirect dev ifb0";
    for (queue, line) in [
        ("cake bandwidth 10mbit fwmark 0xff", 3),
        (&classes.replace("MATCH", "handle 7 fw"), 6),
        (&classes.replace("MATCH", "u32 match mark 7 0xff"), 6),
    ] {
        let found = |redirection: &str| {
            let reading = lockgate_tc::read(&script(redirection, queue), &[], "eth0");
            assert_eq!(reading.problems, [], "{queue}");
            let found = lint::check(&reading, &Machine::default());
            found.iter().map(|finding| (finding.at.line, finding.rule)).collect::<Vec<_>>()
        };
        assert_eq!(found(plain), [(line, "mark-on-ingress")], "{queue}");
        assert_eq!(found(restored), [], "{queue}");
    }
    // Without marks nothing is reported, nor on a device to which nothing is redirected.
    let clean = |text: &str| lint::check(&lockgate_tc::read(text, &[], "eth0"), &Machine::default());
    assert_eq!(clean(&script(plain, "cake bandwidth 10mbit diffserv4")), []);
    assert_eq!(clean("tc qdisc add dev eth0 root handle 1: cake bandwidth 10mbit fwmark 0xff\n"), []);
}

#[test]
fn a_command_that_is_not_read_is_named() {
    let text = "tc qdisc add dev eth0 root handel 1: htb default 10\n";
    let found = lint::check(&lockgate_tc::read(text, &[], "eth0"), &Machine::default());
    let found: Vec<_> =
        found.iter().map(|finding| (finding.severity, finding.rule, finding.at.column)).collect();
    assert_eq!(found, [(Severity::Error, "syntax", 28)]);
}

/// Every fault has its fix, not the name of a manual page.
#[test]
fn every_fault_has_its_fix() {
    let root = "tc qdisc add dev eth0 root handle 1: htb default 10\n";
    let class = "tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit\n";
    for (lines, rule, help) in [
        (
            "tc class add dev eth0 parent 2: classid 2:1 htb rate 1mbit",
            "kernel",
            "write `parent 1:` and `classid 1:1`",
        ),
        (
            "tc class add dev eth0 parent 2: classid 2:1 hfsc sc rate 1mbit",
            "kernel",
            "tc qdisc add ... handle 2: hfsc",
        ),
        ("tc class add dev eth0 parent 1: classid 1:1 hfsc sc rate 1mbit", "kernel", "it is a `htb`"),
        ("tc class add dev eth0 parent 1: classid 1:10 htb rate 2mbit", "kernel", "another number"),
        ("tc class add dev eth0 parent 1: classid 2:7 htb rate 2mbit", "kernel", "of its parent `1:`"),
        ("tc qdisc add dev eth0 parent 1:9 fq_codel", "kernel", "tc class add ... classid 1:9"),
        ("tc qdisc add dev eth0 parent 1:10 handle 1: fq_codel", "kernel", "another number"),
        (
            "tc qdisc add dev eth0 parent 1:10 fq_codel\ntc qdisc add dev eth0 parent 1:10 fq_codel",
            "kernel",
            "`replace`",
        ),
        ("tc filter add dev eth0 parent 3: fw flowid 1:10", "kernel", "the root is `1:`"),
        (
            "tc qdisc add dev eth0 parent 1:10 handle 2: cake\ntc qdisc add dev eth0 parent 2:1 pfifo",
            "kernel",
            "in its place",
        ),
        ("tc qdisc add dev eth0 parent 1:10 prio bands 17", "kernel", "2 to 16"),
        ("tc qdisc add dev eth0 parent 1:10 prio bands 2", "kernel", "from 0 to 1"),
        (
            "tc qdisc add dev eth0 parent 1:10 prio priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
            "syntax",
            "16 priorities",
        ),
        ("tc qdisc add dev eth0 parent 1:10 ets strict 9 quanta 1 2 3 4 5 6 7 8", "bands", "1 to 16"),
        ("tc qdisc add dev eth0 parent 1:10 ets bands 2 quanta 1000 2000 3000", "bands", "`bands 3`"),
        ("tc qdisc add dev eth0 parent 1:10 ets bands 2 strict 3", "bands", "`bands 3`"),
        ("tc qdisc add dev eth0 parent 1:10 ets quanta 0 1", "syntax", "tc qdisc add dev DEV"),
        ("tc qdisc add dev eth0", "kernel", "tc qdisc add dev DEV"),
        ("tc class add dev eth0 parent 1: htb rate 1mbit", "kernel", "classid HANDLE"),
        ("tc qdisc add dev eth0 parent 1:10 pie alpha 33", "syntax", "`alpha 32`"),
    ] {
        let text = format!("{root}{class}{lines}\n");
        let found = lint::check(&read(&text, &[], "eth0"), &Machine::default());
        let found: Vec<_> = found.iter().filter(|finding| finding.severity == Severity::Error).collect();
        assert!(found.iter().all(|finding| !finding.help.contains("(8)")), "{lines}: {found:?}");
        let has = |finding: &&lint::Finding| finding.rule == rule && finding.help.contains(help);
        assert!(found.iter().any(has), "{lines}: {found:?}");
    }
}

/// What the kernel takes and Lockgate does not is no fault.
#[test]
fn what_only_lockgate_refuses_is_no_fault() {
    let root = "tc qdisc add dev eth0 root handle 1: htb default 10\n";
    let class = "tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit\n";
    for taken in [
        "prio priomap 0 0 0",
        "sfq redflowlimit 100000 min 8000 max 60000 probability 0.20 ecn headdrop",
        "netem delay 100ms 10ms distribution paretonormal",
        "netem corrupt 1%",
    ] {
        let text = format!("{root}{class}tc qdisc add dev eth0 parent 1:10 {taken}\n");
        assert!(imported(&text).is_err(), "{taken}");
        let found = lint::check(&read(&text, &[], "eth0"), &Machine::default());
        assert!(found.iter().all(|finding| finding.severity > Severity::Error), "{taken}: {found:?}");
        // Nor is the form of the command wrong.
        assert!(found.iter().all(|finding| !finding.help.contains("tc qdisc")), "{taken}: {found:?}");
    }
    // The kernel takes filters in classes, so that they are no fault.
    let inner = format!("{root}{class}tc filter add dev eth0 parent 1:10 handle 5 fw flowid 1:10\n");
    assert!(imported(&inner).is_err_and(|problems| problems.to_string().contains("in a class")));
    let found = lint::check(&read(&inner, &[], "eth0"), &Machine::default());
    assert!(found.iter().all(|finding| finding.severity > Severity::Error), "{found:?}");
    let unknown = read("tc qdisc add dev eth0 root bfifo burst 3\n", &[], "eth0");
    assert_eq!(unknown.problems[0].help.as_deref(), Some("there are `limit`"));
}

#[test]
fn what_a_terminal_shows_is_read_without_its_prompts() {
    let shown = "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 77p flows 1024 quantum 1514 target 5ms interval 100ms ecn\n \
                 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n";
    for prompt in [
        "root@router:~# tc -s -d qdisc show dev eth0",
        "$ sudo tc qdisc",
        "tc -s qdisc ls",
        "[me@host ~]$ tc qdisc show",
    ] {
        let (text, _) = scenario(&format!("{prompt}\n{shown}root@router:~#\n"));
        assert!(text.contains("limit = \"77p\""), "{prompt}: {text}");
    }
    let told =
        imported("tc qdisc show\ntc qdisc add dev eth0 root pfifo limit 7\n").expect("commands are read");
    assert!(told.scenario.contains("limit = \"7p\""), "{}", told.scenario);
}
