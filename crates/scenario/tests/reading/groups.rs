//! Groups of nodes, links, queues and flows: their members, what changes them, links that differ by
//! direction.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use lockgate_engine::units::Rate;
use lockgate_scenario::model::{Action, Scenario};
use lockgate_scenario::{Override, Reader, read};

const TEXT: &str = r#"
duration = "2s"
[node]
bng = {}
sub = { count = 3 }
[link.access]
between = ["bng", "sub/*"]
rate = { up = ["100mbit", "50mbit"], down = "10mbit" }
delay = ["1ms", "2ms", "3ms"]
[port."sub/*:bng".queue.up]
kind = "fifo"
limit = "$i0p"
[port."bng:sub/2".queue]
all = { kind = "prio", children = ["class"] }
class = { kind = "fifo", count = 2, match = [{ flow = "call" }] }
[flow.call]
from = "bng"
to = "sub/*"
count = "60% of sub"
size = "200B"
gap = "20ms"
source_port = 5000
[[change]]
at = "1s"
set = { "flow.call.gap" = "10ms", "link.access/2.rate" = { up = "1mbit", down = "2mbit" } }
[[expect]]
that = "group.call.owd.p99.worst"
below = "10ms"
[[expect]]
that = "flow.call/*.loss"
at_most = "1%"
held_by = "99%"
"#;

fn scenario(overrides: &[&str]) -> Scenario {
    let overrides: Vec<Override> =
        overrides.iter().map(|text| Override::parse(text).expect("an override")).collect();
    let files = BTreeMap::<String, Arc<[u8]>>::from([(
        "plans.csv".to_owned(),
        Arc::from(&b"Name,Download Max Mbps\na,1\nb,2\nc,3\nd,4\n"[..]),
    )]);
    read(TEXT, "groups", &files, &overrides).unwrap_or_else(|problems| {
        let all: Vec<_> =
            problems.iter().map(|problem| format!("{problem} {:?}", problem.help_text())).collect();
        panic!("{all:?}")
    })
}

#[test]
fn members_are_dealt_and_follow_each_other() {
    let scenario = scenario(&[]);
    let names: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["bng", "sub/1", "sub/2", "sub/3"]);
    let mbit = |mbit: u64| Rate::from_bits(mbit * 1_000_000);
    let rates: Vec<_> = scenario.links.iter().map(|link| [0, 1].map(|way| link.rate(way))).collect();
    assert_eq!(rates, [[mbit(100), mbit(10)], [mbit(50), mbit(10)], [mbit(100), mbit(10)]]);
    let delays: Vec<_> = scenario.links.iter().map(|link| link.delay(1).as_picos() / 1_000_000_000).collect();
    assert_eq!(delays, [1, 2, 3]);
    let flows: Vec<_> =
        scenario.flows.iter().map(|flow| (flow.name.as_str(), flow.to, flow.fields.source_port)).collect();
    assert_eq!(flows, [("call/1", 1, 5000), ("call/2", 2, 5001)]);
    let port = scenario.port("sub/3:bng").expect("a port");
    assert_eq!(scenario.ports[port].tree.queues()[0].limit().expect("a limit").to_string(), "30p");
    let port = scenario.port("bng:sub/2").expect("a port");
    assert_eq!(scenario.ports[port].queues, ["all", "class/1", "class/2"]);
    assert_eq!(scenario.expects[1].held_by, Some(0.99));
}

#[test]
fn a_path_to_a_group_changes_all_members_and_one_to_a_member_that_one() {
    let gaps = |overrides: &[&str]| -> Vec<String> {
        let scenario = scenario(overrides);
        scenario.flows.iter().map(|flow| format!("{:?}", flow.traffic.config.size)).collect()
    };
    let written = gaps(&[]);
    assert_eq!(written[0], written[1]);
    let all = gaps(&["flow.call.size=300B"]);
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], written[0]);
    assert_eq!(gaps(&["flow.call/2.size=300B"]), [written[0].clone(), all[0].clone()]);
    assert_eq!(gaps(&["node.sub.count=10"]).len(), 6, "60 % of 10");
    assert_eq!(gaps(&["subscribers=plans.csv", "node.sub.count=subscribers"]).len(), 3, "60 % of 4");
}

#[test]
fn a_change_of_a_group_is_one_of_each_member() {
    let scenario = scenario(&[]);
    let changed: Vec<&str> = scenario.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(changed, ["flow.call/1.gap", "flow.call/2.gap", "link.access/2.rate"]);
    let Action::Link { link, rate, .. } = &scenario.changes[2].action else { panic!("a link") };
    assert_eq!((*link, rate.map(|rate| rate[1])), (1, Some(Rate::from_bits(2_000_000))));
}

#[test]
fn a_group_without_members_has_one_problem() {
    let files = BTreeMap::<String, Arc<[u8]>>::new();
    for (count, expected) in [
        ("2000000", "`count` cannot be 2000000"),
        ("600000", "members take about"),
        ("\"many\"", "no group called `many`"),
    ] {
        let count = Override::new("node.sub.count", count.trim_matches('"')).expect("an override");
        let problems = read(TEXT, "groups", &files, &[count]).expect_err("no members");
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(!messages.is_empty() && messages.iter().all(|text| text.contains(expected)), "{messages:?}");
    }
}

fn problems(text: &str, files: &BTreeMap<String, Arc<[u8]>>) -> Vec<lockgate_scenario::Problem> {
    read(text, "groups", files, &[]).expect_err("problems").iter().cloned().collect()
}

/// A wrong name in the port of a large group is one problem, found in one pass over the members: with a pass
/// for each member and port, this test would take hours.
#[test]
fn a_wrong_port_of_a_large_group_is_one_problem() {
    let file = |port: &str, links: &str| {
        format!(
            "duration = \"10ms\"\nnode = {{ hub = {{}}, sub = {{ count = 3000 }} }}\n{links}\
             [port.\"{port}\"]\nqueue.q = {{ kind = \"fifo\" }}\n\
             [flow.f]\nfrom = \"hub\"\nto = \"sub/1\"\nsize = \"500B\"\ngap = \"1ms\"\n"
        )
    };
    let link = |name: &str| format!("[link.{name}]\nbetween = [\"hub\", \"sub/*\"]\nrate = \"1mbit\"\n");
    let (one, two) = (link("access"), link("access") + &link("other"));
    for (port, links, expected) in [
        ("sub/*:hbu", &one, "there is no node called `hbu`"),
        ("sub/*:hub@acess", &one, "no link leads from `sub/1` to `hub@acess` (and 2999 more like it)"),
        ("sub/*:hub", &two, "several links lead from `sub/1` to `hub` (and 2999 more like it)"),
    ] {
        let all = problems(&file(port, links), &BTreeMap::new());
        assert_eq!(all.len(), 1, "{port}: {all:?}");
        assert_eq!(all[0].message(), expected);
        assert!(all[0].help_text().is_some(), "{port}");
    }
    assert!(read(&file("sub/*:hub", &one), "groups", &BTreeMap::new(), &[]).is_ok());
}

/// A change of a large group costs its members, not their square.
#[test]
fn a_change_of_a_large_group_is_one_of_each_member() {
    let text = "duration = \"1s\"\nnode = { hub = {}, web = {}, sub = { count = 5000 } }\n\
        [link.access]\nbetween = [\"hub\", \"sub/*\"]\nrate = \"1mbit\"\n\
        [link.line]\nbetween = [\"web\", \"hub\"]\nrate = \"1gbit\"\n\
        [port.\"web:hub\".queue]\nall = { kind = \"drr\", children = [\"plan\"] }\n\
        plan = { count = 5000, kind = \"fifo\", match = [{ destination = \"sub/$i\" }] }\n\
        [flow.f]\nfrom = \"web\"\nto = \"sub/1\"\nsize = \"500B\"\ngap = \"1ms\"\n\
        [[change]]\nat = \"10ms\"\nset = { \"port.web:hub.queue.plan.limit\" = \"9p\", \"link.access.delay\" = \"1ms\" }\n";
    let scenario = read(text, "groups", &BTreeMap::new(), &[]).expect("a scenario");
    let links = scenario.changes.iter().filter(|change| matches!(change.action, Action::Link { .. })).count();
    let queues: usize = scenario
        .changes
        .iter()
        .map(|change| match &change.action {
            Action::Port { before, tree, .. } => tree.differs_in(before).map_or(0, |queues| queues.len()),
            _ => 0,
        })
        .sum();
    assert_eq!((links, queues), (5_000, 5_000));
}

/// A problem of a value from a table of subscribers has its column and line; a column that does not exist is
/// named, with those that do.
#[test]
fn problems_of_a_table_of_subscribers_name_its_line_and_its_columns() {
    let file = |rate: &str| {
        format!(
            "duration = \"1s\"\nsubscribers = \"s.csv\"\n[node]\nhub = {{}}\nsub = {{ count = \"subscribers\" }}\n\
             [link.access]\nbetween = [\"hub\", \"sub/*\"]\nrate = \"{rate}\"\n\
             [flow.f]\nfrom = \"hub\"\nto = \"sub/1\"\nsize = \"500B\"\ngap = \"9ms\"\n"
        )
    };
    let table = "Name,Plan,Download Max Mbps\na,10mbit,10\n# moved\nb,fast,20\nc,20mbit,20\n";
    let files = BTreeMap::from([("s.csv".to_owned(), Arc::from(table.as_bytes()))]);
    let wrong = problems(&file("$plan"), &files);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    let shown = format!("{:?}", wrong[0]);
    assert!(shown.contains("$i = 2: `$plan` is `fast` in line 4 of `s.csv`"), "{shown}");
    let unknown = problems(&file("$downloadmax"), &files);
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    assert_eq!(
        unknown[0].help_text(),
        Some("`s.csv` has no column `downloadmax`: did you mean `download_max`?")
    );
    let unknown = problems(&file("$speed"), &files);
    let help = "`s.csv` has no column `speed`: it is one of `name`, `plan`, `download_max`";
    assert_eq!(unknown[0].help_text(), Some(help));
}

/// Too many members of a group that follows another one are reported at their entry.
#[test]
fn too_many_members_are_reported_where_they_are_written() {
    let text = "duration = \"1s\"\n[node]\nhub = {}\nsub = { count = 900000 }\n\
        [link.access]\nbetween = [\"hub\", \"sub/*\"]\nrate = \"1mbit\"\n";
    let all = problems(text, &BTreeMap::new());
    let position = all[0].position().expect("a position");
    assert!(position.0 >= 5, "{position:?}: {all:?}");
}

/// A circuit with several devices and addresses is one plan with a rule for each; a broken row costs its row.
#[test]
fn circuits_of_a_table_have_a_rule_for_each_address() {
    let text = r#"duration = "1s"
subscribers = "ShapedDevices.csv"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1gbit" }
flow.f = { from = "a", to = "b", size = "500B", gap = "1ms" }
[port."a:b".queue]
shaper = { kind = "htb", children = ["plan", "rest"] }
plan = { count = "subscribers", kind = "fifo", rate = "$download_min", ceil = "$download_max", match = [{ destination = "$ipv4" }, { destination = "$ipv6" }] }
rest = { kind = "fifo", rate = "1mbit" }
"#;
    let table = "Circuit ID,Device ID,IPv4,IPv6,Download Min Mbps,Download Max Mbps\n\
                 one,1,\"10.1.0.1, 10.1.0.2\",,1,50\none,2,10.1.0.3,2001:db8::/56,1,50\ntwo,3,10.1.0.4,,1,100\n\
                 three,4,10.1.0.5.6,,1,100\n";
    let files = BTreeMap::from([("ShapedDevices.csv".to_owned(), table.as_bytes().into())]);
    let read = lockgate_scenario::read(text, "isp.toml", &files, &[]).unwrap_or_else(|why| panic!("{why:?}"));
    let rules: Vec<(&str, usize)> =
        read.ports[0].tree.queues().iter().map(|queue| (&*queue.name, queue.rules.len())).collect();
    assert_eq!(rules, [("shaper", 0), ("plan/1", 4), ("plan/2", 1), ("rest", 0)]);
    let warned: Vec<String> = read.warnings.iter().map(ToString::to_string).collect();
    let expected = "a row of `ShapedDevices.csv` is left out: line 5, circuit `three`: its `IPv4`, `10.1.0.5.6`, is not an address";
    assert!(warned[0].contains(expected), "{warned:?}");
    // Without any address that a rule names, the queue would take every packet.
    let only = text.replace("{ destination = \"$ipv4\" }, ", "");
    lockgate_scenario::read(&only, "isp.toml", &files, &[]).expect_err("`two` has no IPv6 address");
}

/// A table as `LibreQoS` ships it has circuits without an ID. Where the ID names the queues, such a row is
/// left out like one with a wrong address, and the rest of the table stays.
#[test]
fn a_circuit_without_the_name_of_its_queue_is_left_out() {
    let text = r#"duration = "1s"
subscribers = "ShapedDevices.csv"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1gbit" }
flow.f = { from = "a", to = "b", size = "500B", gap = "1ms" }
[port."a:b".queue]
shaper = { kind = "htb", children = ["plan", "rest"] }
plan = { count = "subscribers", kind = "fifo", name = "$circuit_id", rate = "$download_max", match = [{ destination = "$ipv4" }] }
rest = { kind = "fifo", rate = "1mbit" }
"#;
    let read = |text: &str, table: &str| {
        let files = BTreeMap::from([("ShapedDevices.csv".to_owned(), table.as_bytes().into())]);
        lockgate_scenario::read(text, "isp.toml", &files, &[])
    };
    let table = "Circuit ID,IPv4,Download Max Mbps\none,10.1.0.1,50\n,10.1.0.2,50\ntwo,10.1.0.3,20\n";
    let scenario = read(text, table).unwrap_or_else(|why| panic!("{why:?}"));
    let names = |scenario: &lockgate_scenario::Scenario| -> Vec<String> {
        scenario.ports[0].tree.queues().iter().map(|queue| queue.name.to_string()).collect()
    };
    assert_eq!(names(&scenario), ["shaper", "plan/one", "plan/two", "rest"]);
    let [warning] = &scenario.warnings[..] else { panic!("{:?}", scenario.warnings) };
    let expected = "a row of `ShapedDevices.csv` is left out: line 3: its `circuit_id` is empty, and gives its queue the name";
    assert_eq!(warning.to_string(), expected);
    // Numbered queues need no name.
    let numbered = read(&text.replace("name = \"$circuit_id\", ", ""), table).expect("a scenario");
    assert_eq!((names(&numbered).len(), numbered.warnings.len()), (5, 0));
    // A column that is always empty is the wrong one.
    let empty = read(text, "Circuit ID,IPv4,Download Max Mbps\n,10.1.0.1,50\n").expect_err("no name");
    assert!(empty.iter().any(|problem| problem.message().contains("cannot be the name of a member")));
}

/// The memory of changes of groups is estimated before they are made, and refused at the change that exceeds
/// it.
#[test]
fn changes_of_more_members_than_memory_allows_are_refused_at_once() {
    let mut text = r#"duration = "9s"
node = { hub = {}, web = {}, sub = { count = 100 } }
link.access = { between = ["hub", "sub/*"], rate = "10mbit" }
link.line = { between = ["hub", "web"], rate = "1gbit" }
flow.f = { from = "web", to = "sub/1", size = "500B", gap = "100ms" }
"#
    .to_owned();
    let before = text.matches('\n').count();
    for change in 1..=50 {
        let _ = writeln!(
            text,
            "[[change]]\nat = \"{change}00ms\"\nset = {{ link.access.delay = \"{change}ms\" }}"
        );
    }
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let within = |mebibytes: u64| {
        Reader { files: &files, overrides: &[], memory: mebibytes << 20 }.read(&text, "groups")
    };
    assert_eq!(within(5).expect("5000 effects").changes.len(), 5_000);
    let refused = within(4).expect_err("4096 effects");
    let [problem] = &refused.iter().collect::<Vec<_>>()[..] else { panic!("{refused:?}") };
    assert!(problem.message().contains("are 4100 of single links and flows"), "{problem}");
    assert_eq!(problem.position().map(|(line, _)| line), Some(before + 3 * 41), "the forty-first");
    assert!(problem.help_text().is_some_and(|help| help.contains("smaller groups")));
}
