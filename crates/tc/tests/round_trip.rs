//! Trees that `tc` can say are exported and imported again, to the same port.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use lockgate_engine::random::{Random, Seed};
use lockgate_scenario::{QueueTree, Scenario};
use lockgate_tc::export::{Device, Exported, Marks, export, marks};
use lockgate_tc::{Options, Request, convert};

/// Disciplines without classes, with settings.
const LEAVES: &[&str] = &[
    "pfifo limit 50",
    "bfifo limit 30000",
    "pfifo_head_drop limit 70",
    "fq_codel",
    "fq_codel limit 1001 flows 512 target 17300us interval 112300us quantum 300 noecn",
    "fq_codel ecn ce_threshold 1ms memory_limit 16mb drop_batch 8",
    "codel limit 300 target 7ms interval 90ms ecn",
    "pie limit 500 target 20ms tupdate 16ms alpha 3 beta 25 ecn",
    "fq_pie limit 2000 flows 256 target 12ms tupdate 20ms",
    "sfq perturb 10",
    "sfq limit 100 quantum 1514 depth 60 perturb 5",
    "red limit 120000 min 15000 max 45000 avpkt 1000 burst 20 probability 0.02 bandwidth 10mbit ecn",
    "choke limit 200 min 20 max 60 avpkt 1000 burst 20 probability 0.05 bandwidth 10mbit",
    "tbf rate 2mbit burst 5kb latency 40ms",
    "tbf rate 5mbit burst 10kb limit 60000 peakrate 8mbit mtu 1600",
    "cake bandwidth 10mbit diffserv4 dual-srchost rtt 50ms ptm overhead 30 mpu 64",
    "cake besteffort flowblind wash",
    "cake bandwidth 1mbit ack-filter fwmark 0xff00 diffserv4",
    "cake bandwidth 1mbit ack-filter-aggressive ingress",
    "dualpi2 limit 5000 target 10ms tupdate 16ms alpha 0.2 beta 3.0",
    "dualpi2 max_rtt 60ms typical_rtt 12ms",
    "dualpi2 typical_rtt 20ms any_ect",
];

const MATCHES: &[&str] = &[
    "u32 match ip dport 5060 0xffff",
    "u32 match ip protocol 17 0xff match ip sport 4096 0xf000",
    "u32 match ip dst 10.1.0.0/16",
    "u32 match ip src 192.0.2.7/32 match ip dport 80 0xfffe",
    "u32 match ip tos 0xb8 0xfc",
    "u32 match u8 0x5 0xf at 0 match ip protocol 6 0xff match u8 0x10 0x17 at 33",
    "u32 match u16 0 0xff80 at 2",
    "u32 match mark 0x10 0xf0",
    "flower ip_proto tcp dst_port 8000-8999",
    "flower ip_proto udp src_ip 198.51.100.0/24",
];

/// Meters of filters that one filter can say.
const METERS: &[&str] = &[
    " police rate 2mbit burst 20k drop",
    " police rate 1mbit burst 10k mtu 1600 conform-exceed ok",
    " police rate 1mbit burst 10k peakrate 2mbit mtu 3k drop",
];

struct Maker {
    random: Random,
    text: String,
    major: u16,
    meters: u32,
}

impl Maker {
    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.random.below(of.len() as u32) as usize]
    }

    fn leaf(&mut self, parent: &str) {
        let leaf = self.pick(LEAVES);
        self.major += 1;
        let _ =
            writeln!(self.text, "qdisc add dev eth0 parent {parent} handle {:x}: {leaf}", self.major + 0x100);
    }

    /// Adds a discipline with classes.
    fn classful(&mut self, parent: &str, depth: u32) {
        self.major += 1;
        let own = if depth == 0 { 1 } else { self.major + 0x100 };
        let kind = self.pick(&["htb", "htb", "hfsc", "drr", "qfq", "prio", "ets"]);
        let count = 2 + self.random.below(4);
        let has_rest = kind != "htb" || self.random.below(4) > 0;
        let settings = match kind {
            "htb" if has_rest => format!(" default {:x} r2q {}", 0x10 + count - 1, 1 + self.random.below(20)),
            "hfsc" => format!(" default {:x}", 0x10 + count - 1),
            "prio" => format!(" bands {count} priomap {}", vec![(count - 1).to_string(); 16].join(" ")),
            "ets" => format!(
                " bands {count} strict 1 quanta {} priomap {}",
                vec!["3000"; count as usize - 1].join(" "),
                vec![(count - 1).to_string(); 16].join(" ")
            ),
            _ => String::new(),
        };
        let _ = writeln!(self.text, "qdisc add dev eth0 {parent} handle {own:x}: {kind}{settings}");
        let is_banded = ["prio", "ets"].contains(&kind);
        let parent = if ["htb", "hfsc"].contains(&kind) && self.random.below(2) == 0 {
            let share = if kind == "htb" { "rate 50mbit" } else { "ls m2 50mbit ul m2 50mbit" };
            let _ =
                writeln!(self.text, "class add dev eth0 parent {own:x}: classid {own:x}:1 {kind} {share}");
            format!("{own:x}:1")
        } else {
            format!("{own:x}:")
        };
        for index in 0..count {
            let id = if is_banded {
                format!("{own:x}:{:x}", index + 1)
            } else {
                format!("{own:x}:{:x}", 0x10 + index)
            };
            let share = match kind {
                "htb" => format!(
                    "rate {}kbit ceil 50mbit prio {} quantum {}",
                    100 + self.random.below(9000),
                    self.random.below(8),
                    1514 + self.random.below(9000)
                ),
                "hfsc" => format!(
                    "rt m1 5mbit d 10ms m2 {}kbit ls m2 1mbit ul m2 40mbit",
                    100 + self.random.below(900)
                ),
                "drr" => format!("quantum {}", 600 + self.random.below(9000)),
                "qfq" => format!(
                    "weight {} maxpkt {}",
                    1 + self.random.below(1024),
                    512 + self.random.below(65_025)
                ),
                _ => String::new(),
            };
            if !is_banded {
                let _ = writeln!(self.text, "class add dev eth0 parent {parent} classid {id} {kind} {share}");
            }
            if depth < 2 && self.random.below(6) == 0 {
                self.classful(&format!("parent {id}"), depth + 1);
            } else if self.random.below(8) > 0 {
                self.leaf(&id);
            }
            self.filters(own, &id, index + 1 == count, kind);
        }
    }

    /// Adds the filters of a class or band; the last of a discipline may take all that is left.
    fn filters(&mut self, own: u16, id: &str, is_rest: bool, kind: &str) {
        let is_last_of_all = is_rest && ["drr", "qfq"].contains(&kind);
        if is_last_of_all {
            let _ = writeln!(
                self.text,
                "filter add dev eth0 parent {own:x}: protocol all prio 60000 u32 match u32 0 0 at 0 flowid {id}"
            );
        }
        let filters = (1 + self.random.below(2)).saturating_sub(u32::from(is_rest));
        // A class has one meter: filters share it by its number.
        let is_metered = !is_rest && self.random.below(5) == 0;
        let meter = if is_metered { self.pick(METERS).to_owned() } else { String::new() };
        self.meters += u32::from(is_metered);
        let meter = if is_metered && (filters > 1 || self.random.below(2) == 0) {
            format!("{meter} index {}", self.meters)
        } else {
            meter
        };
        for _ in 0..filters {
            let rank = 1 + self.random.below(30);
            let matched = self.pick(MATCHES);
            // The kernel has one kind of filter at a preference, and no condition of `flower` twice.
            let rank = 400 * rank + self.text.lines().count() as u32 % 400;
            let is_flower = matched.starts_with("flower");
            // `flower` takes a meter as an action only.
            let action = if is_flower && is_metered { " action" } else { "" };
            let _ = writeln!(
                self.text,
                "filter add dev eth0 parent {own:x}: protocol ip prio {rank} {matched}{action}{meter} flowid {id}"
            );
        }
    }
}

/// Returns the scenario of commands, with the text that it was read from.
fn scenario(commands: &str) -> (String, Scenario) {
    let options = Options::default();
    let request = Request {
        text: commands,
        origin: "",
        definitions: &[],
        options: &options,
        rate: None,
        is_lenient: false,
    };
    let converted = match convert(&request) {
        Ok(converted) => converted.scenario,
        Err(problems) => panic!("{problems}\n{commands}"),
    };
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let read = lockgate_scenario::read(&converted, "imported", &files, &[]);
    let scenario = read.unwrap_or_else(|problems| {
        panic!(
            "{:?}\n{converted}",
            problems.iter().map(lockgate_scenario::Problem::message).collect::<Vec<_>>()
        )
    });
    (converted, scenario)
}

fn exported(scenario: &Scenario, marks: &Marks) -> Exported {
    let tree = &scenario.ports.iter().find(|port| port.name == "here:there").expect("a port").tree;
    export(tree, Some(scenario), marks, &Device { name: "eth0", ifb: None, has_queues: false })
}

fn tree(scenario: &Scenario) -> &QueueTree {
    &scenario.ports.iter().find(|port| port.name == "here:there").expect("a port").tree
}

/// Returns the part of a text with the queues of the port.
fn port(text: &str) -> &str {
    let start = text.find("[port.").expect("a port");
    let end = text[start..].find("\n[flow.").map_or(text.len(), |end| start + end);
    &text[start..end]
}

#[test]
fn random_trees_are_the_same_after_export_and_import() {
    // LOCKGATE_TREES=10000 tries more.
    let count: u64 = std::env::var("LOCKGATE_TREES").ok().and_then(|count| count.parse().ok()).unwrap_or(150);
    let first: u64 =
        std::env::var("LOCKGATE_FIRST_TREE").ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    for number in first..first + count {
        let mut maker =
            Maker { random: Random::stream(Seed(number), "trees"), text: String::new(), major: 1, meters: 0 };
        if number % 8 == 0 {
            let leaf = maker.pick(LEAVES);
            let _ = writeln!(maker.text, "qdisc add dev eth0 root handle 1: {leaf}");
        } else {
            maker.classful("root", 0);
        }
        let (text, first) = scenario(&maker.text);
        let written = exported(&first, &marks(&text, "here:there"));
        assert!(written.refused.is_empty(), "{number}: {:?}\n{}", written.refused, maker.text);
        let (again_text, again) = scenario(&written.script());
        // What was written out is not shortened again: the second time around nothing changes.
        let rewritten = exported(&again, &marks(&again_text, "here:there"));
        assert_eq!(written.script(), rewritten.script(), "{number}\n{}", maker.text);
        let (third_text, third) = scenario(&rewritten.script());
        assert_eq!(port(&again_text), port(&third_text), "{number}");
        assert_eq!(tree(&again), tree(&third), "{number}");
        // Defaults are written out, and nothing else is added or lost.
        assert_eq!(
            tree(&first).queues().len(),
            tree(&again).queues().len(),
            "{number}\n{}\n{}",
            maker.text,
            written.script()
        );
        for (old, new) in tree(&first).queues().iter().zip(tree(&again).queues()) {
            assert_eq!((old.kind, &old.children), (new.kind, &new.children), "{number}: {}", old.name);
            for (old_table, new_table) in [(&old.config, &new.config), (&old.share, &new.share)] {
                for (key, value) in old_table {
                    let is_sized_by_child = old.kind == "tbf" && !old.children.is_empty();
                    assert!(
                        is_sized_by_child || new_table.get(key) == Some(value),
                        "{number}: {key} = {value} of {}, then {:?}\n{}",
                        old.name,
                        new_table.get(key),
                        written.script()
                    );
                }
            }
        }
    }
}

/// Files beside a scenario.
struct Beside(std::path::PathBuf);

impl lockgate_scenario::Files for Beside {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        std::fs::read(self.0.join(path)).map(Arc::from).map_err(|error| error.to_string())
    }
}

#[test]
fn every_port_of_the_shipped_scenarios_is_exported_or_refused_by_name() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let (mut exported_ports, mut refused_ports) = (0, 0);
    for entry in std::fs::read_dir(&directory).expect("the scenarios") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        if lockgate_scenario::is_policy(&text) {
            continue;
        }
        let name = path.display().to_string();
        let read = lockgate_scenario::read(&text, &name, &Beside(directory.clone()), &[]);
        let Ok(scenario) = read else { panic!("{name} cannot be read") };
        for port in scenario.ports.iter().filter(|port| port.tree.queues().len() > 1) {
            let written = export(
                &port.tree,
                Some(&scenario),
                &marks(&text, &port.name),
                &Device { name: "eth0", ifb: None, has_queues: false },
            );
            let is_whole = written.refused.is_empty();
            exported_ports += usize::from(is_whole);
            refused_ports += usize::from(!is_whole);
            for why in &written.refused {
                assert!(written.lines.contains(&format!("# not exported: {why}")), "{name}: {why}");
            }
            // What is whole is understood by the import, too.
            if is_whole {
                let reading = lockgate_tc::read(&written.script(), &[], "eth0");
                assert_eq!(reading.problems, [], "{name} {}: {}", port.name, written.script());
            }
        }
    }
    assert!(exported_ports > 0 && refused_ports > 0, "{exported_ports} exported, {refused_ports} refused");
}

#[test]
fn a_meter_of_what_arrives_is_exported_as_police() {
    let commands = "qdisc add dev eth0 handle ffff: ingress
filter add dev eth0 parent ffff: protocol all prio 50 u32 match u32 0 0 at 0 police rate 15mbit burst 10k drop flowid :1
";
    let (_, first) = scenario(commands);
    let of = |scenario: &Scenario, ifb: Option<&'static str>| {
        let port = scenario.ports.iter().find(|port| port.name == "there:here").expect("a port");
        export(&port.tree, Some(scenario), &Marks::new(), &Device { name: "eth0", ifb, has_queues: false })
    };
    let written = of(&first, Some("ifb0"));
    assert_eq!(written.refused, Vec::<String>::new());
    assert!(written.script().contains("police rate 15mbit burst 10240"), "{}", written.script());
    let (_, again) = scenario(&written.script());
    assert_eq!(of(&again, Some("ifb0")).script(), written.script());
    // What leaves passes no filter before its discipline.
    let refused = of(&first, None).refused;
    assert!(refused.len() == 1 && refused[0].contains("a class of `htb`"), "{refused:?}");
}

#[test]
fn filters_of_one_class_share_its_meter() {
    let text = "duration = \"1s\"
node = { a = {}, b = {} }
link.l = { between = [\"a\", \"b\"], rate = \"10mbit\" }
[port.\"a:b\"]
root = \"top\"
queue.top = { kind = \"prio\", children = [\"metered\", \"rest\"] }
queue.metered = { kind = \"policer\", rate = \"1mbit\", burst = \"10kB\", match = [{ destination_port = 5060 }, { destination_port = 5061 }] }
queue.rest = { kind = \"fifo\" }
[flow.f]
from = \"a\"
to = \"b\"
size = \"100B\"
gap = \"10ms\"
";
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let read = |text: &str| match lockgate_scenario::read(text, "text", &files, &[]) {
        Ok(scenario) => scenario,
        Err(problems) => {
            panic!("{:?}", problems.iter().map(lockgate_scenario::Problem::message).collect::<Vec<_>>())
        }
    };
    let exported = |text: &str| {
        let scenario = read(text);
        let port = scenario.ports.iter().find(|port| port.name == "a:b").expect("a port");
        export(
            &port.tree,
            Some(&scenario),
            &Marks::new(),
            &Device { name: "eth0", ifb: None, has_queues: false },
        )
    };
    let shared = exported(text);
    assert_eq!(shared.refused, Vec::<String>::new());
    let meter = "police rate 1mbit burst 10000 conform-exceed drop index 1 flowid";
    assert_eq!(shared.script().matches(meter).count(), 2, "{}", shared.script());
    // A mark in three colours is more than `police` can do.
    let one = text.replace(", { destination_port = 5061 }", "");
    let whole = exported(&one);
    assert!(
        whole.refused.is_empty() && whole.script().contains("police rate 1mbit burst 10000"),
        "{}",
        whole.script()
    );
    let refused = exported(&one.replace("burst = ", "green_dscp = 10, burst = ")).refused;
    assert!(refused.len() == 1 && refused[0].contains("two colours"), "{refused:?}");
}

/// A `cake` divided among transmit queues is one of the same rate again when it is imported.
#[test]
fn a_cake_of_several_transmit_queues_has_one_rate() {
    let (_, first) = scenario("qdisc add dev eth0 root handle 1: cake bandwidth 900mbit besteffort\n");
    let of = |scenario: &Scenario| {
        let device = Device { name: "eth0", ifb: None, has_queues: true };
        export(tree(scenario), Some(scenario), &Marks::new(), &device)
    };
    let written = of(&first);
    assert_eq!(written.refused, Vec::<String>::new());
    let script = written.script();
    let is_whole = ["tc qdisc add dev eth0 root cake_mq bandwidth 900mbit ", " besteffort "];
    assert!(is_whole.iter().all(|part| script.contains(part)), "{script}");
    assert!(script.contains("Linux: 7.0") && !script.contains("handle"), "{script}");
    let reading = lockgate_tc::read(&script, &[], "eth0");
    let findings = lockgate_tc::lint::check(&reading, &lockgate_tc::lint::Machine::default());
    assert_eq!(findings, []);
    let (_, again) = scenario(&script);
    assert_eq!(of(&again).script(), script);
    assert_eq!(again.ports.len(), first.ports.len());
    // Other disciplines are not divided.
    let (_, other) = scenario("qdisc add dev eth0 root handle 1: fq_codel\n");
    let refused = of(&other).refused;
    assert!(refused.len() == 1 && refused[0].contains("only a `cake` at the root"), "{refused:?}");
}

/// What is exported of commands without a fault has none.
#[test]
fn an_export_of_clean_commands_is_clean() {
    let findings = |text: &str| {
        let reading = lockgate_tc::read(text, &[], "eth0");
        lockgate_tc::lint::check(&reading, &lockgate_tc::lint::Machine::default())
    };
    for rate in ["900kbit", "10mbit", "100mbit", "2gbit", "20gbit"] {
        let text = format!(
            "qdisc add dev eth0 root handle 1: htb default 20
class add dev eth0 parent 1: classid 1:1 htb rate {rate}
class add dev eth0 parent 1:1 classid 1:10 htb rate 80kbit ceil {rate}
class add dev eth0 parent 1:1 classid 1:20 htb rate 500kbit ceil {rate} quantum 3000
qdisc add dev eth0 parent 1:10 handle 10: fq_codel
qdisc add dev eth0 parent 1:20 handle 20: tbf rate 400kbit burst 5kb latency 40ms
filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 5060 0xffff flowid 1:10
"
        );
        assert_eq!(findings(&text), [], "{rate}");
        let written = exported(&scenario(&text).1, &Marks::new());
        assert_eq!(written.refused, Vec::<String>::new());
        assert_eq!(findings(&written.script()), [], "{rate}: {}", written.script());
    }
    // A burst that is chosen is judged.
    let small = "qdisc add dev eth0 root handle 1: htb default 1
class add dev eth0 parent 1: classid 1:1 htb rate 10mbit burst 2000
";
    assert_eq!(findings(small).iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["burst-under-tick"]);
}

/// In `tc` a round trip of `dualpi2` overrides its gains, so that a script has one or the other.
#[test]
fn the_controller_of_dualpi2_is_written_once() {
    let of = |settings: &str| {
        let (_, scenario) = scenario(&format!("qdisc add dev eth0 root handle 1: dualpi2 {settings}\n"));
        exported(&scenario, &Marks::new()).script()
    };
    for (settings, written, absent) in [
        ("", "target 15ms tupdate 16ms alpha 0.16015625 beta 3.19921875", "rtt"),
        ("target 10ms tupdate 8ms alpha 0.2 beta 3", "target 10ms tupdate 8ms alpha 0.2 beta 3", "rtt"),
        ("max_rtt 60ms", "max_rtt 60ms", "alpha"),
        ("max_rtt 60ms", "typical_rtt 10ms", "target"),
        ("typical_rtt 20ms alpha 3", "max_rtt 120ms", "alpha"),
    ] {
        let script = of(settings);
        assert!(script.contains(written) && !script.contains(absent), "{settings}: {script}");
    }
}

/// A mark chooses a tin of what leaves, but none of what arrives: it is refused there instead of losing its
/// effect.
#[test]
fn a_tin_by_mark_is_refused_for_what_arrives() {
    let (_, first) =
        scenario("qdisc add dev eth0 root handle 1: cake bandwidth 10mbit fwmark 0xff00 diffserv4\n");
    let of = |ifb| {
        export(tree(&first), Some(&first), &Marks::new(), &Device { name: "eth0", ifb, has_queues: false })
    };
    let leaves = of(None);
    assert_eq!(leaves.refused, Vec::<String>::new());
    assert!(leaves.script().contains(" fwmark 0xff00"), "{}", leaves.script());
    let refused = of(Some("ifb0")).refused;
    assert!(refused.len() == 1 && refused[0].contains("`fwmark` of what arrives"), "{refused:?}");
}
