//! Groups of nodes, links, queues and flows: their members, what changes them, links that differ by direction.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::units::Rate;
use lockgate_scenario::model::{Action, Scenario};
use lockgate_scenario::{Override, read};

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
