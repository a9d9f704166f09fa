//! Scenarios that are right: what they mean.

use std::borrow::Cow;

use lockgate_engine::packet::FlowId;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration, Instant, Probability, Rate};
use lockgate_scenario::model::Conditions;
use lockgate_scenario::{Action, Application, Bound, Congestion, Criterion, Ecn, Expected, Transport};
use lockgate_traffic::Law;

use crate::support::{BASE, example, files, scenario, with};

#[test]
fn the_example_of_the_product_is_read() {
    let scenario = scenario(example());
    assert_eq!(scenario.title, "voice beside a bulk upload on a 10 Mbit/s uplink");
    assert_eq!((scenario.duration, scenario.warmup), (Duration::from_secs(60), Duration::from_secs(5)));
    let nodes: Vec<String> =
        scenario.nodes.iter().map(|node| format!("{} {}", node.name, node.address)).collect();
    assert_eq!(nodes, ["phone 10.0.0.1", "laptop 10.0.0.2", "home 10.0.0.3", "server 10.0.0.4"]);
    let ports: Vec<&str> = scenario.ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(
        ports,
        ["phone:home", "home:phone", "laptop:home", "home:laptop", "home:server", "server:home"]
    );
    let port = &scenario.ports[4];
    assert_eq!((port.from, port.to, port.link, port.direction, port.root.as_str()), (2, 3, 2, 0, "link"));
    assert_eq!(port.ring.map(|ring| (ring.slots, ring.completions)), Some((16, 1)));
    assert_eq!(port.clock.map(|clock| clock.hz), Some(10_000));
    let tree: Vec<(&str, &str)> = port.tree.queues().iter().map(|queue| (&*queue.name, queue.kind)).collect();
    assert_eq!(tree, [("link", "drr"), ("voice", "fifo"), ("rest", "fifo")]);
    assert!(port.tree.build().is_ok());
    assert_eq!(scenario.ports[0].root, "fifo", "a FIFO where none is named");
    let voice = &scenario.flows[0];
    assert_eq!(scenario.routes.path(voice.from, voice.to), Some(vec![0, 4]));
    assert_eq!((voice.fields.protocol, voice.fields.destination_port), (17, 5060));
    assert_eq!(scenario.flows[1].start, Duration::from_secs(5));
    let [change] = scenario.changes.as_slice() else { panic!("{:?}", scenario.changes) };
    assert_eq!(change.at, Instant::ZERO + Duration::from_secs(30));
    assert_eq!(
        (change.path.as_str(), change.value.as_str()),
        ("port.home:server.queue.voice.quantum", "1200B")
    );
    let Action::Port { port: 4, before, tree, .. } = &change.action else { panic!("{change:?}") };
    assert_eq!(tree.differs_in(before), Some(vec!["link".to_owned()]));
    assert_eq!(scenario.expects[0].bounds, [Bound::Below(0.02)]);
    assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings);
}

/// Two routers between two hosts, twice joined.
const DIAMOND: &str = r#"
duration = "10s"
[node]
a = { address = "10.0.0.2", clock = { offset = "-3ms", drift = "20ppm" } }
r = { service = { per_packet = "20us", rate = "1gbit" } }
b = {}
[link.first]
between = ["a", "r"]
rate = "1gbit"
[link.out]
between = ["r", "b"]
trace = { down = "lte.down" }
rate = "3mbit"
overhead = "-14B"
mpu = "64B"
loss = "1%"
[link.spare]
between = ["b", "r"]
trace = "lte.up"
[port."r->b@spare"]
ring = { slots = 8, completions = 4 }
[flow.web]
from = "a"
to = "b"
count = 3
dscp = "AF41"
size = "1000B"
rate = "1mbit"
[flow.one]
from = "b"
to = "a"
tos = 0x2
source_port = 7
size = "1000B"
rate = "1mbit"
packets = "10p"
"#;

#[test]
fn groups_parallel_links_and_addresses_are_resolved() {
    let scenario = scenario(DIAMOND);
    assert_eq!(scenario.title, "test", "the file's name");
    let addresses: Vec<String> = scenario.nodes.iter().map(|node| node.address.to_string()).collect();
    assert_eq!(addresses, ["10.0.0.2", "10.0.0.1", "10.0.0.3"]);
    assert_eq!(
        (scenario.nodes[0].clock_offset_ps, scenario.nodes[0].clock_drift_ppb),
        (-3_000_000_000, 20_000)
    );
    let service = scenario.nodes[1].service.expect("a service");
    assert_eq!(
        (service.per_packet, service.rate),
        (Duration::from_micros(20), Some(Rate::from_bits(1_000_000_000)))
    );
    let names: Vec<&str> = scenario.ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["a:r", "r:a", "r:b@out", "b:r@out", "b:r@spare", "r:b@spare"]);
    assert_eq!(scenario.ports[5].ring.map(|ring| ring.completions), Some(4));
    let flows: Vec<(&str, u16, u8)> = scenario
        .flows
        .iter()
        .map(|flow| (flow.name.as_str(), flow.fields.source_port, flow.traffic_class))
        .collect();
    assert_eq!(
        flows,
        [("web/1", 49_152, 34 << 2), ("web/2", 49_153, 34 << 2), ("web/3", 49_154, 34 << 2), ("one", 7, 2)]
    );
    assert_eq!(scenario.flows[3].packets, Some(10));
    assert_eq!(scenario.routes.path(0, 2), Some(vec![0, 2]), "the earlier of two links");
    assert_eq!(scenario.routes.path(2, 0), Some(vec![3, 1]));
}

#[test]
fn links_charge_and_traces_replace_their_rate() {
    let scenario = scenario(DIAMOND);
    let [first, out, spare] = scenario.links.as_slice() else { panic!() };
    assert_eq!((first.charged(1), first.charged(1514)), (Bytes(1), Bytes(1514)));
    assert_eq!((out.charged(60), out.charged(114)), (Bytes(64), Bytes(100)), "mpu holds after overhead");
    assert!(out.trace[0].is_none() && out.trace[1].is_some(), "down is from the second node to the first");
    assert_eq!(spare.trace[0].as_ref().map(|trace| trace.times_ms().to_vec()), Some(vec![0, 3, 3, 10]));
    assert!(spare.trace[1].is_some());
    assert_eq!(spare.rate, Rate::from_bits(4 * 1504 * 8 * 100));
}

#[test]
fn directions_have_conditions_of_their_own() {
    let text = DIAMOND.replace(
        "[link.spare]",
        "[link.spare]\njitter = \"3ms\"\nduplicate = \"1%\"\ndown = { duplicate = 0, keep_order = false }\n\
         up.slots = { every = \"15s\", packets = \"5p\" }",
    );
    let scenario = scenario(&text);
    let [up, down] = scenario.links[2].conditions.each_ref().map(|of| of.as_ref().expect("conditions"));
    assert!(up.duplicate > Probability::ZERO && down.duplicate == Probability::ZERO);
    assert!(up.keeps_order && !down.keeps_order);
    let jitter = |of: &Conditions| of.jitter.as_ref().and_then(Law::constant);
    assert_eq!((jitter(up), jitter(down)), (Some(Duration::from_millis(3)), Some(Duration::from_millis(3))));
    assert_eq!(up.slots.map(|slots| slots.most), Some([5, u64::MAX]));
    assert!(down.slots.is_none() && scenario.links[0].conditions.iter().all(Option::is_none));
    // A table without a rate leaves the link its own.
    let text = example().replace("[link.wan]", "[link.wan]\ntrace = \"delay.csv\"");
    let wan = &crate::support::scenario(&text).links[2];
    assert!(wan.trace.iter().all(Option::is_none) && wan.path.iter().all(Option::is_some));
}

#[test]
fn files_may_begin_with_a_byte_order_mark() {
    let mut files = crate::support::files();
    for content in files.values_mut() {
        *content = ["\u{feff}".as_bytes(), content].concat().into();
    }
    let listed = "[flow.disk]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\nfiles = \"sizes.txt\"\n";
    let text = format!("{DIAMOND}{listed}").replace("[link.first]", "[link.first]\ntrace = \"delay.csv\"");
    let read = lockgate_scenario::read(&text, "test.toml", &files, &[]);
    let read = read.unwrap_or_else(|problems| panic!("{}", crate::support::rendered(&problems)));
    let plain = scenario(&text);
    assert_eq!(format!("{:?}", read.links), format!("{:?}", plain.links));
    assert_eq!(read.flows.len(), plain.flows.len());
}

#[test]
fn matches_are_resolved_to_addresses_and_flows() {
    let text = format!(
        r#"{DIAMOND}
[port."a->r".queue.top]
kind = "prio"
children = ["x", "rest"]
[port."a->r".queue.x]
kind = "fifo"
match = [{{ flow = "web", destination = "b" }}, {{ source = "192.0.2.0/24", dscp = ["EF", 3], length = "64B-100B" }}]
[port."a->r".queue.rest]
kind = "fifo"
"#
    );
    let scenario = scenario(&text);
    let rules = &scenario.ports[0].tree.queues()[1].rules;
    assert_eq!(rules[0].flows.as_deref(), Some([FlowId(0), FlowId(1), FlowId(2)].as_slice()));
    let destination = rules[0].destination.expect("a destination");
    assert_eq!((destination.address.to_string().as_str(), destination.bits), ("10.0.0.3", 32));
    assert_eq!(rules[1].source.map(|source| source.bits), Some(24));
    assert_eq!((rules[1].dscp.clone(), rules[1].length.clone()), (Some(vec![46, 3]), Some(64..=100)));
    assert_eq!(scenario.ports[0].root, "top", "the only queue without a parent");
}

#[test]
fn overrides_are_part_of_the_text_that_is_kept() {
    let set = [
        "duration=20s",
        "link.wan.rate=2mbit",
        "port.home->server.queue.rest={ kind = \"lis\" }",
        "record.packets=true",
    ];
    let scenario = with(example(), &set).expect("a scenario");
    assert_eq!(scenario.duration, Duration::from_secs(20));
    assert_eq!(scenario.links[2].rate, Rate::from_bits(2_000_000));
    assert_eq!(scenario.ports[4].tree.queues()[2].kind, "lis");
    assert!(scenario.record.packets);
    assert!(scenario.to_toml().contains("# left out of the statistics"), "comments stay");
    let again = crate::support::scenario(&scenario.to_toml());
    assert_eq!(again.ports[4].tree, scenario.ports[4].tree);
    // The ring of a port that the file does not mention.
    let scenario = with(example(), &["port.server->home.ring=4"]).expect("a scenario");
    assert_eq!(scenario.ports[5].ring.map(|ring| ring.slots), Some(4));
}

#[test]
fn changes_are_told_apart_by_what_they_do() {
    let text = example().to_owned()
        + r#"
[port."home->server".queue.other]
kind = "sis"
[[change]]
at = "50s"
set = { "port.home->server.root" = "other", link.wan.rate = "5mbit", "flow.voice.stop" = "55s" }
[[change]]
at = "10s"
set = { "port.home->server.queue.rest.limit" = "9p", "port.home->server.queue.other.limit" = "7p" }
[[change]]
at = "51s"
set = { "flow.upload.rate" = "1mbit" }
"#;
    let scenario = scenario(&text);
    let shown: Vec<String> = scenario
        .changes
        .iter()
        .map(|change| match &change.action {
            Action::Port { port, before, tree, .. } => match tree.differs_in(before) {
                Some(queues) => format!("{port} {queues:?} of {}", tree.queues()[0].name),
                None => {
                    format!("{port} by {} {:?}", tree.queues()[0].name, tree.queues()[0].config.get("limit"))
                }
            },
            Action::Link { link, rate, delay, loss } => {
                let (rate, delay) = (rate.map(|[rate, _]| rate), delay.map(|[delay, _]| delay));
                format!("{link} {rate:?} {delay:?} {:?}", loss.map(|[loss, _]| loss))
            }
            Action::Flow { flows, traffic, stop } => format!("{flows:?} {} {stop:?}", traffic.is_some()),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "4 [\"rest\"] of link",
            "4 [\"link\"] of link",
            // The tree that was changed while it waited.
            "4 by other Some(String(\"7p\"))",
            "2 Some(Rate(5000000)) None None",
            "0..1 false Some(Duration(55000000000000))",
            "1..2 true None",
        ]
    );
    assert_eq!(
        scenario.changes[0].path,
        "port.home:server.queue.rest.limit, port.home:server.queue.other.limit"
    );
    assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings);
}

#[test]
fn what_is_allowed_but_hardly_meant_is_a_warning() {
    let text = example().to_owned()
        + "[port.\"home->server\".queue.other]\nkind = \"sis\"\n[[change]]\nat = \"61s\"\nset = { link.wan.rate = \"5mbit\" }\n";
    let text = text
        .replace("match = [{ protocol = \"udp\", destination_port = 5060 }]\n", "")
        .replace("start = \"5s\"", "start = \"60s\"");
    let scenario = scenario(&text);
    let mut said: Vec<&str> = scenario.warnings.iter().map(lockgate_scenario::Problem::message).collect();
    said.sort_unstable();
    assert_eq!(
        said,
        [
            "`flow.upload` starts after the run has ended",
            "`rest` never gets a packet: `voice` before it takes all that comes",
            "the queue `other` is never used",
            "this change comes after the run has ended",
        ]
    );
    assert!(scenario.warnings.iter().all(|warning| !warning.is_error() && warning.position().is_some()));
}

#[test]
fn bounds_are_read_in_the_unit_of_their_metric() {
    let text = |that: &str, bound: &str| {
        let (before, _) = example().split_once("[[expect]]").expect("an expectation");
        format!("{before}[[expect]]\nthat = \"{that}\"\n{bound}\n")
    };
    let read = |that: &str, bound: &str| match lockgate_scenario::read(
        &text(that, bound),
        "test.toml",
        &files(),
        &[],
    ) {
        Ok(scenario) => format!("{:?}", scenario.expects[0].bounds),
        Err(problems) => crate::support::rendered(&problems),
    };
    assert_eq!(read("flow.voice.throughput", "at_least = \"1mbit\""), "[AtLeast(1000000.0)]");
    assert_eq!(read("flow.voice.loss", "between = [0, \"1%\"]"), "[Between(0.0, 0.01)]");
    assert!(read("flow.voice.throughput", "below = \"1ms\"").contains("is a rate, and `1ms` is none"));
    assert!(read("flow.voice.throughput", "below = 5").contains("it needs a unit: write it like `10mbit`"));
    // The help is broken into lines.
    let help = read("flow.voice.los", "below = 5").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("did you mean `loss`?"), "{help}");
    assert!(
        read("flow.voce.loss", "below = 5").contains("help: there is no flow `voce`; did you mean `voice`?")
    );
    let expected =
        Expected { bounds: vec![Bound::Between(1.0, 2.0), Bound::Below(2.0)], ..Expected::default() };
    assert_eq!([0.5, 1.0, 2.0, f64::NAN].map(|value| expected.holds(value)), [false, true, false, false]);
}

#[test]
fn a_connection_has_two_directions() {
    let text = r#"
duration = "10s"
node.a = {}
node.b = {}
link.wan = { between = ["a", "b"], rate = "10mbit" }
[port."a->b"]
root = "q"
queue.q = { kind = "prio", children = ["first", "rest"] }
queue.first = { kind = "fifo", match = [{ flow = "bulk" }] }
queue.rest = { kind = "fifo" }
[flow.bulk]
from = "a"
to = "b"
transport = "tcp"
congestion = "reno"
bytes = "1MB"
count = 2
destination_port = 80
[flow.voice]
from = "a"
to = "b"
profile = "g711"
[flow.stream]
from = "b"
to = "a"
transport = "tcp"
rate = "1mbit"
size = "1000B"
ecn = true
"#;
    let scenario = scenario(text);
    let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    let expected = ["bulk/1", "bulk/2", "voice", "stream", "bulk/1/return", "bulk/2/return", "stream/return"];
    assert_eq!(names, expected);
    let (forth, back) = (&scenario.flows[1], &scenario.flows[5]);
    assert!(matches!(back.transport, Transport::TcpReturn { of: 1 }));
    assert_eq!((forth.from, forth.to), (back.to, back.from));
    assert_eq!((forth.fields.protocol, back.fields.source_port), (6, 80));
    assert_eq!(forth.fields.source_port, back.fields.destination_port);
    let Transport::Tcp(bulk) = forth.transport else { panic!("{:?}", forth.transport) };
    assert_eq!(bulk.application, Application::File(Bytes(1_000_000)));
    assert_eq!((bulk.congestion, bulk.mss, bulk.ecn), (Congestion::Reno, 1448, Ecn::Off));
    let Transport::Tcp(stream) = scenario.flows[3].transport else { panic!("not TCP") };
    assert_eq!((stream.application, stream.ecn), (Application::Stream, Ecn::Classic));
}

#[test]
fn starts_are_drawn_by_seed_for_each_member() {
    let law = "{ distribution = \"uniform\", min = \"1s\", max = \"2s\" }";
    let text = format!(
        "{BASE}[flow.bulk]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\nbytes = \"unlimited\"\ncount = 3\nstart = {law}\n"
    );
    let scenario = scenario(&text);
    let starts = |seed| -> Vec<Duration> {
        scenario.with_starts(Seed(seed)).flows.iter().map(|flow| flow.start).collect()
    };
    let (one, two) = (starts(1), starts(2));
    assert_eq!(one, starts(1), "the same seed draws the same");
    assert_eq!((one[0], two[0]), (Duration::ZERO, Duration::ZERO), "what is not a law stays");
    let members = [&one[1..4], &two[1..4]].concat();
    assert!(members.iter().all(|start| (1.0..=2.0).contains(&start.as_secs_f64())), "{members:?}");
    let different = |(at, start): (usize, &Duration)| members[at + 1..].iter().all(|other| other != start);
    assert!(members.iter().enumerate().all(different), "{members:?}");
    assert_eq!(one[4..7], one[1..4], "the way back starts with its flow");
    let constant = scenario_of_constants(&text.replace(law, "\"1500ms\""));
    assert_eq!(constant, Duration::from_millis(1500));
    let wrong = text.replace("max = \"2s\"", "max = \"500ms\"");
    let problems = crate::support::problems(&wrong);
    let shown = crate::support::rendered(&problems);
    assert!(problems.len() == 1 && shown.contains("`max` of `start`"), "{shown}");
}

fn scenario_of_constants(text: &str) -> Duration {
    let scenario = scenario(text);
    assert!(matches!(scenario.with_starts(Seed(1)), Cow::Borrowed(_)));
    scenario.flows[1].start
}

#[test]
fn expectations_have_names_lines_and_what_they_are_judged_in() {
    let text = format!(
        "{BASE}[[expect]]\nthat = \"flow.f.loss\"\nbelow = 0.1\n\n# another\n[[expect]]\n\
         name = \"it stays clear\"\nthat = \"flow.f.owd.p99\"\nbelow = \"5ms\"\nin = \"all\"\n"
    );
    // A line that an override adds does not move what the file has.
    for overrides in [&[][..], &["link.wan.delay=1ms"][..]] {
        let scenario = with(&text, overrides).expect("a scenario");
        let [first, second] = scenario.expects.as_slice() else { panic!("{:?}", scenario.expects) };
        assert_eq!(
            (first.criterion, first.name.as_deref(), first.line),
            (Criterion::Interval, None, Some(13))
        );
        assert_eq!(
            (second.criterion, second.name.as_deref(), second.line),
            (Criterion::All, Some("it stays clear"), Some(18))
        );
    }
    let wrong = crate::support::rendered(&crate::support::problems(&text.replace("\"all\"", "\"each\"")));
    assert!(wrong.contains("`in` cannot be `each`") && wrong.contains("`95%`, `mean`, `all`"), "{wrong}");
}

#[test]
fn expectations_on_parts_are_within_the_measured_run() {
    let read = |that: &str| {
        with(&format!("{BASE}[[expect]]\nthat = \"{that}\"\nat_least = \"0s\"\n"), &["warmup=1s"])
    };
    for that in ["flow.f.owd.p99 @ 1s..2s", "flow.f.owd.p99 @ 1s..3s - flow.f.owd.p99@2s..4s"] {
        assert!(read(that).is_ok(), "{that}");
    }
    for (that, expected) in [
        ("flow.f.owd.p99 @ 0s..2s", "`0s..2s` begins within the warm-up: statistics begin at 1s"),
        ("flow.f.owd.p99 @ 1s..20m", "`1s..20m` is not two times"),
        ("flow.f.owd.p99 @ 1s..200min", "ends after the run, which ends at"),
        ("flow.f.owd.p99 @ 2s..1s", "`2s..1s` ends before it begins"),
        ("flow.f.fct @ 1s..2s", "did you mean `flow.f.fct`?"),
        ("flow.f.owd.p99 @ 1s..2s - flow.g.owd.p99 @ 2s..3s", "there is no flow `g`"),
        ("flow.f.owd.p9 @ 1s..2s", "did you mean `p90`?"),
    ] {
        let problems = read(that).expect_err(that);
        let shown = crate::support::rendered(&problems);
        assert!(shown.contains(expected), "{that}: {shown}");
    }
}
