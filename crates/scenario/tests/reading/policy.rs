//! Policies of a router: what is read, and every problem with its place and fix.

use lockgate_engine::units::{Bytes, Rate};
use lockgate_scenario::policy::{
    Attach, Direction, FrameIo, HostFrames, Mode, OnFault, is_policy, read_policy,
};
use lockgate_scenario::{Override, Scenario, embed_tables};

const BRIDGE: &str = r#"title = "box in the cable"
[router]
mode = "bridge"
interfaces = { lan = "eth1", wan = "eth2" }
io = "packet"
[port."lan->wan"]
rate = "10mbit"
overhead = "pppoe-ptm"
root = "top"
queue.top = { kind = "htb", children = ["voice", "rest"] }
queue.voice = { kind = "fifo", rate = "1mbit", ceil = "10mbit", match = [{ dscp = "EF" }, { protocol = "other" }] }
queue.rest = { kind = "fq_codel", rate = "9mbit", ceil = "10mbit" }
"#;

/// Expects exactly these problems: line, column, part of the message, part of the help.
#[track_caller]
fn refused(text: &str, expected: &[(usize, usize, &str, &str)]) {
    let problems = read_policy(text, "policy.toml").expect_err("refused");
    let shown: Vec<String> =
        problems.iter().map(|it| format!("{:?} {it} {:?}", it.position(), it.help_text())).collect();
    assert_eq!(problems.len(), expected.len(), "{shown:#?}");
    for (problem, (line, column, message, help)) in problems.iter().zip(expected) {
        assert_eq!(problem.position(), Some((*line, *column)), "{shown:#?}");
        assert!(problem.message().contains(message), "`{message}` in {shown:#?}");
        assert!(problem.help_text().is_some_and(|text| text.contains(help)), "`{help}` in {shown:#?}");
    }
}

#[test]
fn a_bridge_has_a_port_each_way() {
    let policy = read_policy(BRIDGE, "policy.toml").expect("valid");
    assert_eq!(
        (policy.mode, policy.io, policy.title.as_str()),
        (Mode::Bridge, Some(FrameIo::Packet), "box in the cable")
    );
    let names: Vec<_> = policy.interfaces.iter().map(|it| (it.role.as_str(), it.name.as_str())).collect();
    assert_eq!(names, [("lan", "eth1"), ("wan", "eth2")]);
    let [up, down] = &policy.ports[..] else { panic!("two directions") };
    assert_eq!(
        (up.name.as_str(), up.from, up.to, up.rate),
        ("lan:wan", 0, 1, Some(Rate::from_bits(10_000_000)))
    );
    // 1514 - 14 + 30 = 1530 bytes, and 24 code words' bytes.
    assert_eq!(up.pace().overhead.on_link(Bytes(1514)), Bytes(1554));
    assert!(up.queues_other && !down.queues_other);
    assert_eq!((down.name.as_str(), down.rate, down.tree.queues()[0].kind), ("wan:lan", None, "fifo"));
    assert_eq!(down.pace().overhead.on_link(Bytes(1514)), Bytes(1514));
    assert!(is_policy(BRIDGE) && !is_policy("duration = \"1s\""));
}

#[test]
fn misspelt_interfaces_are_one_problem() {
    let line = 1 + BRIDGE.lines().position(|line| line.starts_with("interfaces")).expect("the line");
    let text = BRIDGE.replace("interfaces", "interface");
    refused(&text, &[(line, 1, "has no key `interface`", "did you mean `interfaces`")]);
}

#[test]
fn interfaces_have_the_names_that_linux_permits() {
    for name in ["eth0.100", "wg-home", "é", "🚪🚪🚪", "a~b+c"] {
        let policy = read_policy(&BRIDGE.replace("eth2", name), "policy.toml").expect("valid");
        assert_eq!(policy.interfaces[1].name, name);
    }
    for name in ["", ".", "..", "a b", "a\u{a0}b", "a:b", "a/b", "\\u0007", "sixteen-bytes-es"] {
        let text = BRIDGE.replace("eth2", name);
        refused(&text, &[(4, 36, "no interface is called", "15 bytes")]);
    }
}

#[test]
fn problems_have_places_and_fixes() {
    let swap = |old: &str, new: &str, expected: &[_]| {
        assert!(BRIDGE.contains(old), "`{old}`");
        refused(&BRIDGE.replace(old, new), expected);
    };
    swap("\"bridge\"", "\"brigde\"", &[(3, 8, "`mode` cannot be `brigde`", "`bridge`")]);
    swap("io = \"packet\"", "io = \"dpdk\"", &[(5, 6, "`io` cannot be `dpdk`", "`af_xdp`")]);
    swap(
        "io = \"packet\"",
        "io = \"packet\"\nattach = \"xdp\"",
        &[(5, 6, "delivers frames by AF_XDP only", "leave `io` out")],
    );
    swap("io = \"packet\"", "attach = \"dpdk\"", &[(5, 10, "`attach` cannot be `dpdk`", "`tcx`")]);
    swap("io = \"packet\"", "frames = 7", &[(5, 10, "`frames` cannot be 7", "4096")]);
    let wide = |size: &str| format!("io = \"packet\"\nsuper_frames = \"{size}\"");
    swap(
        "io = \"packet\"",
        &wide("1500B"),
        &[(6, 16, "`super_frames` cannot be 1.5kB", "3000B"), (9, 1, "once for all segments", "leave")],
    );
    swap("io = \"packet\"", &wide("9kB"), &[(9, 1, "`port.lan->wan` would have its `overhead`", "leave")]);
    let whole = BRIDGE.replace("io = \"packet\"", &wide("9kB")).replace("overhead = \"pppoe-ptm\"\n", "");
    let rest = "\"fq_codel\", rate = \"9mbit\", ceil = \"10mbit\"";
    let bucket = "\"tbf\", rate = \"9mbit\", burst = \"10kB\", share = { rate = \"9mbit\" }";
    refused(&whole.replace(rest, bucket), &[(12, 23, "`tbf` drops packets that are longer", "leave")]);
    let small = rest.replace(", rate", ", memory_limit = \"10kB\", rate");
    let misfit = (12, 50, "a super-frame of 9kB does not fit into 8.9kB", "`memory_limit = \"9kB\"` or more");
    refused(&whole.replace(rest, &small.replace("10kB", "8900B")), &[misfit]);
    for fits in [small, rest.replace(", rate", ", limit = \"5p\", rate")] {
        read_policy(&whole.replace(rest, &fits), "policy.toml").expect("a policy");
    }
    let costly = "\"fq_codel\", share = { rate = \"9mbit\", overhead = \"4B\" }";
    refused(&whole.replace(rest, costly), &[(12, 72, "`queue.rest` would have its `overhead`", "leave")]);
    swap(", wan = \"eth2\"", "", &[(4, 14, "a bridge joins two interfaces", "lan = \"eth1\"")]);
    swap("\"eth2\"", "\"eth1\"", &[(4, 36, "`eth1` is named twice", "one name")]);
    swap("\"eth2\"", "\"an/interface\"", &[(4, 36, "no interface is called", "`ip link`")]);
    swap("\"eth2\"", "\"nine\u{1F6AA}\u{1F6AA}\u{1F6AA}\"", &[(4, 36, "no interface is called", "15 bytes")]);
    swap("lan->wan", "lan->wam", &[(6, 7, "no interface called `wam`", "`wan`")]);
    swap("\"lan->wan\"", "wan", &[(6, 7, "named by both interfaces", "[port.\"lan->wan\"]")]);
    swap("\"10mbit\"\no", "\"0mbit\"\no", &[(7, 8, "a rate of zero", "`10mbit`")]);
    swap("rate = \"10mbit\"\n", "", &[(7, 1, "`overhead` charges nothing without `rate`", "`cake`")]);
    swap("\"pppoe-ptm\"", "\"docsys\"", &[(8, 12, "`docsys` is not an overhead", "docsis")]);
    swap("root = \"top\"", "mpu = \"64B\"", &[(9, 1, "the link's name says its `mpu`", "`18B`")]);
    swap("root = \"top\"", "speed = 1", &[(9, 1, "has no key `speed`", "")]);
    swap("fq_codel", "lis", &[(12, 14, "`lis` is not supported on real frames", "time stamps")]);
    swap("\"fq_codel\"", "\"fq_codle\"", &[(12, 23, "fq_codle", "fq_codel")]);
    let flow = "[flow.f]\nfrom = \"a\"\n";
    refused(&format!("{BRIDGE}{flow}"), &[(13, 2, "the policy has no key `flow`", "`router`")]);
}

#[test]
fn both_directions_of_an_interface_have_ports_of_their_own() {
    let both = |ports: &str| {
        format!("[router]\nmode = \"both\"\ninterfaces = {{ lan = \"eth1\", wan = \"eth0\" }}\n{ports}")
    };
    let text = both("[port.\"wan:in\"]\nrate = \"9mbit\"\n[port.wan]\n[port.lan]\n");
    let policy = read_policy(&text, "p").expect("valid");
    let ports: Vec<_> =
        policy.ports.iter().map(|it| (it.name.as_str(), it.from, it.to, it.direction)).collect();
    let (out, into) = (Direction::Outgoing, Direction::Incoming);
    assert_eq!(ports, [("lan", 0, 0, out), ("wan", 1, 1, out), ("wan:in", 1, 1, into)]);
    assert_eq!((policy.mode, policy.mode.name()), (Mode::Both, "both"));
    refused(&both("[port.wan]\n"), &[(1, 1, "nothing is done to `lan`", "`[port.\"lan:in\"]`")]);
    refused(
        &both("[port.wan]\n[port.\"lan:out\"]\n"),
        &[(5, 7, "`lan:out` is not a direction", "`[port.lan]`")],
    );
    refused(&both("[port.wan]\n[port.\"lam:in\"]\n"), &[(5, 7, "no interface called `lam`", "`lan`")]);
    let in_driver = both("attach = \"xdp\"\n[port.wan]\n[port.lan]\n");
    refused(&in_driver, &[(4, 10, "mode `both` takes frames behind the driver", "leave `attach` out")]);
    let single = both("[port.wan]\n[port.\"lan:in\"]\n").replace("both", "egress");
    refused(&single, &[(5, 7, "in mode `egress` a port is named by its interface", "")]);
}

#[test]
fn egress_names_ports_by_interfaces() {
    let egress =
        |ports: &str| format!("[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n{ports}");
    let policy = read_policy(&egress("[port.wan]\nqueue.cake = { kind = \"cake\" }\n"), "p").expect("valid");
    assert_eq!((policy.ports.len(), policy.ports[0].name.as_str(), policy.io), (1, "wan", None));
    assert_eq!(policy.attach, Attach::Tcx);
    let in_driver = egress("attach = \"xdp\"\n[port.wan]\n");
    refused(&in_driver, &[(4, 10, "is for arriving frames", "leave `attach` out")]);
    refused(&egress(""), &[(1, 1, "nothing is done to `wan`", "[port.wan]")]);
    refused(&egress("[port.\"lan->wan\"]\n"), &[(4, 7, "a port is named by its interface", "`[port.wan]`")]);
}

#[test]
fn a_policy_has_a_queue_for_each_subscriber_of_its_table() {
    let text = r#"
subscribers = "plans.csv"
[router]
mode = "bridge"
interfaces = { lan = "eth1", wan = "eth2" }
[port."wan->lan"]
root = "shaper"
[port."wan->lan".queue]
shaper = { kind = "htb", children = ["plan", "rest"] }
plan = { count = "subscribers", kind = "fq_codel", rate = "$download_min", ceil = "$download_max", match = [{ destination = "$ipv4" }] }
rest = { kind = "fifo", rate = "1mbit" }
"#;
    let table =
        "Circuit ID,IPv4,Download Min Mbps,Download Max Mbps\r\n1,100.64.0.1,1,50\r\n2,100.64.0.2/31,2,100";
    let files = std::collections::BTreeMap::from([("plans.csv".to_owned(), table.as_bytes().into())]);
    let whole = embed_tables(text, &files).expect("the table is there");
    // Its problems are where its file has them, whatever the length of its table.
    let wrong = text.replacen("[router]", "[router]\nmod = \"bridge\"", 1);
    let whole_and_wrong = embed_tables(&wrong, &files).expect("the table is there");
    let problems = read_policy(&whole_and_wrong, "policy.toml").expect_err("a key that is not known");
    let at: Vec<_> = problems.iter().map(|it| (it.text(), it.position())).collect();
    assert_eq!(at, [(Some("mod"), Some((4, 1)))], "{problems:?}");
    let policy = read_policy(&whole, "policy.toml").unwrap_or_else(|problems| panic!("{problems:?}"));
    let tree = &policy.ports.iter().find(|port| port.name == "wan:lan").expect("there").tree;
    let names: Vec<&str> = tree.queues().iter().map(|queue| &*queue.name).collect();
    assert!(names.contains(&"plan/1") && names.contains(&"plan/2"), "{names:?}");
    let missing = embed_tables(text, &std::collections::BTreeMap::new());
    assert_eq!(
        missing.map_err(|error| error.to_string()),
        Err("cannot read `plans.csv`: there is no such file".to_owned())
    );
}

#[test]
fn a_burst_that_is_shorter_than_a_round_of_the_router_is_doubted() {
    let text = |burst: &str| {
        format!(
            "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\nroot = \"shaper\"\n\
             [port.wan.queue]\nshaper = {{ kind = \"htb\", children = [\"line\"] }}\n\
             line = {{ kind = \"fifo\", rate = \"1gbit\"{burst} }}\n"
        )
    };
    let said = |burst: &str| {
        let policy = read_policy(&text(burst), "policy.toml").expect("a policy");
        policy.warnings.iter().map(|it| format!("{it} {:?}", it.help_text())).collect::<Vec<_>>()
    };
    let small = said("");
    // 1 Gbit/s for 100 us are 12 500 bytes.
    assert!(small.len() == 2 && small.iter().all(|warning| warning.contains("12500B")), "{small:#?}");
    assert_eq!(said(", burst = \"12.5kB\", cburst = \"12.5kB\"").len(), 0);
    let slow = text("").replace("1gbit", "100mbit");
    assert_eq!(read_policy(&slow, "policy.toml").expect("a policy").warnings.len(), 0);
    // With a clock of 250 ticks a second, 1 Gbit/s are 500 000 bytes a tick, and 125 kB are 250 Mbit/s.
    let ticking = |text: String| {
        text.replace("[port.wan]\n", "[port.wan]\nclock = { source = \"jiffies\", hz = 250 }\n")
    };
    let warnings = |text: String| read_policy(&text, "policy.toml").expect("a policy").warnings;
    for (burst, wrong) in [("125kB", 2), ("500kB", 0)] {
        let said = warnings(ticking(text(&format!(", burst = \"{burst}\", cburst = \"{burst}\""))));
        assert_eq!(said.len(), wrong, "{burst}: {said:?}");
        for warning in said.iter().map(|it| format!("{it}: {}", it.help_text().unwrap_or_default())) {
            let parts = ["some 4ms apart", "125000B in that time are 250mbit", "`500000B` or more"];
            assert!(parts.iter().all(|part| warning.contains(part)), "{warning}");
        }
    }
    assert_eq!(warnings(text(", burst = \"125kB\", cburst = \"125kB\"")).len(), 0, "at exact times");
}

#[test]
fn super_frames_where_frames_are_single_are_a_doubt_and_no_error() {
    let text = "[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\" }\nsuper_frames = \"16kB\"\n[port.wan]\n\
                queue.q = { kind = \"fq_codel\" }\n";
    let policy = read_policy(text, "policy.toml").expect("a policy");
    let [warning] = &policy.warnings[..] else { panic!("{:?}", policy.warnings) };
    assert_eq!((warning.to_string().as_str(), warning.is_error()), ("frames arrive one by one here", false));
}

const LABORATORY: &str = r#"duration = "1s"
node = { home = {}, modem = {} }
link.line = { between = ["home", "modem"], rate = "100mbit" }
flow.f = { from = "home", to = "modem", size = "500B", gap = "1ms" }
[port."home:modem"]
policy = "rules/box.toml:lan->wan"
"#;

fn laboratory(text: &str, policy: &str, settings: &[&str]) -> Result<Scenario, String> {
    let files = std::collections::BTreeMap::from([("rules/box.toml".to_owned(), policy.as_bytes().into())]);
    let overrides: Vec<Override> =
        settings.iter().map(|text| Override::parse(text).expect("a setting")).collect();
    lockgate_scenario::read(text, "lab.toml", &files, &overrides).map_err(|problems| {
        let shown =
            problems.iter().map(|it| format!("{:?} {it} / {}", it.position(), it.help_text().unwrap_or("")));
        shown.collect::<Vec<_>>().join("\n")
    })
}

/// A scenario's port with a policy is that of the router, queue by queue; what is set beside it replaces its
/// values.
#[test]
fn a_scenario_has_the_port_of_a_policy() {
    let policy = read_policy(BRIDGE, "box.toml").expect("a policy");
    let (up, down) = (&policy.ports[0], &policy.ports[1]);
    let lab = laboratory(LABORATORY, BRIDGE, &[]).expect("a scenario");
    let port = &lab.ports[lab.port("home:modem").expect("there")];
    assert_eq!((&port.tree, port.pace.rate, port.pace.overhead), (&up.tree, up.rate, up.pace().overhead));
    let other = laboratory(&LABORATORY.replace("lan->wan", "wan:lan"), BRIDGE, &[]).expect("a scenario");
    assert_eq!(other.ports[0].tree, down.tree);
    let set = laboratory(
        LABORATORY,
        BRIDGE,
        &["port.home:modem.rate=8mbit", "port.home:modem.queue.voice.ceil=2mbit"],
    );
    let set = set.unwrap_or_else(|why| panic!("{why}"));
    let voice = set.ports[0].tree.queues().iter().find(|queue| &*queue.name == "voice").expect("there");
    assert_eq!(set.ports[0].pace.rate, Some(Rate::from_bits(8_000_000)));
    assert_eq!((voice.share["ceil"].as_str(), voice.share["rate"].as_str()), (Some("2mbit"), Some("1mbit")));
    assert_eq!(voice.rules.len(), 2, "the rules of the policy stay");
    assert!(set.to_toml().contains("policy = \"rules/box.toml:lan->wan\""));
    let change = format!(
        "{LABORATORY}[[change]]\nat = \"500ms\"\nset = {{ \"port.home:modem.queue.rest.limit\" = \"9p\" }}\n"
    );
    assert_eq!(laboratory(&change, BRIDGE, &[]).expect("a scenario").changes.len(), 1);
}

#[test]
fn a_policy_that_cannot_be_included_says_why() {
    let refused = |text: &str, policy: &str, expected: &str| {
        let said = laboratory(text, policy, &[]).err().unwrap_or_default();
        assert!(said.contains(expected) && said.starts_with("Some((6, 10))"), "`{expected}` in {said}");
    };
    let named = |name: &str| LABORATORY.replace("rules/box.toml:lan->wan", name);
    refused(&named("rules/house.toml:wan"), BRIDGE, "the policy `rules/house.toml` cannot be read");
    refused(&named("rules/box.toml"), BRIDGE, "has 2 ports / say which: `\"rules/box.toml:lan:wan\"` or");
    refused(&named("rules/box.toml:lan:wam"), BRIDGE, "has no port `lan:wam` / did you mean `lan:wan`?");
    refused(LABORATORY, "duration = \"1s\"\n", "`rules/box.toml` is not a policy");
    let wrong = BRIDGE.replace("\"1mbit\"", "\"1mbyt\"");
    refused(LABORATORY, &wrong, "has problems, line 11: `1mbyt` is not a rate");
    let unset =
        laboratory(LABORATORY, BRIDGE, &["port.home:modem.queue.voise.ceil=2mbit"]).err().unwrap_or_default();
    assert!(unset.contains("voise"), "{unset}");
}

/// Subscribers of a policy are members of a group in the laboratory too.
#[test]
fn a_policy_brings_its_subscribers() {
    let policy = r#"subscribers = "plans.csv"
[router]
mode = "egress"
interfaces = { wan = "eth0" }
[port.wan]
root = "shaper"
[port.wan.queue]
shaper = { kind = "htb", children = ["plan"] }
plan = { count = "subscribers", kind = "fifo", rate = "$download", match = [{ destination = "$ipv4" }] }
"#;
    let files = std::collections::BTreeMap::from([
        ("isp/isp.toml".to_owned(), policy.as_bytes().into()),
        ("isp/plans.csv".to_owned(), "IPv4,Download Mbps\n10.0.0.7,1\n10.0.0.8,2\n".as_bytes().into()),
    ]);
    let text = LABORATORY.replace("rules/box.toml:lan->wan", "isp/isp.toml");
    let lab = lockgate_scenario::read(&text, "lab.toml", &files, &[]).unwrap_or_else(|why| panic!("{why:?}"));
    assert_eq!(lab.ports[0].queues, ["shaper", "plan/1", "plan/2"]);
}

/// The laboratory around a policy is a scenario with its ports on both directions of the line.
#[test]
fn a_laboratory_is_made_around_a_policy() {
    let policy = read_policy(BRIDGE, "box.toml").expect("a policy");
    let text = lockgate_scenario::laboratory(&policy, "rules/box.toml", None);
    let lab = laboratory(&text, BRIDGE, &[]).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert_eq!(lab.title, "box in the cable, in a laboratory");
    assert_eq!(lab.warnings.len(), policy.warnings.len(), "those of the policy: {:?}", lab.warnings);
    let port = |name: &str| &lab.ports[lab.port(name).expect("there")];
    assert_eq!(port("router:modem").tree, policy.ports[0].tree);
    assert_eq!(port("router:users").tree, policy.ports[1].tree);
    let line = &lab.links[port("modem:isp").link];
    assert_eq!((line.rate(0), line.rate(1)), (Rate::from_bits(10_526_000), Rate::from_bits(100_000_000)));
    for length in [64, 500, 1514].map(Bytes) {
        assert_eq!(
            line.overhead.on_link(length),
            policy.ports[0].pace().overhead.on_link(length),
            "{length:?}"
        );
    }
    let egress = "[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\", lan = \"eth1\" }\n\
                  [port.wan]\nqueue.c = { kind = \"cake\", bandwidth = \"19mbit\" }\n[port.lan]\nrate = \"90mbit\"\n";
    let text =
        lockgate_scenario::laboratory(&read_policy(egress, "p").expect("a policy"), "rules/box.toml", None);
    let lab = laboratory(&text, egress, &[]).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let port = |name: &str| &lab.ports[lab.port(name).expect("there")];
    assert_eq!(port("router:modem").root, "c");
    assert_eq!(port("router:users").pace.rate, Some(Rate::from_bits(90_000_000)));
    let line = &lab.links[port("modem:isp").link];
    assert_eq!((line.rate(0), line.rate(1)), (Rate::from_bits(20_000_000), Rate::from_bits(94_736_000)));
    // The line is a fact of the laboratory: no setting of the policy moves it. Either name of the port is
    // taken.
    for name in ["port.wan.queue.c.bandwidth=30mbit", "port.router:modem.queue.c.bandwidth=30mbit"] {
        let faster = laboratory(&text, egress, &[name]).expect("a scenario");
        let tree = &faster.ports[faster.port("router:modem").expect("there")].tree;
        assert_eq!(tree.rate(), Some(Rate::from_bits(30_000_000)));
        assert_eq!(faster.links[port("modem:isp").link].rate(0), Rate::from_bits(20_000_000));
    }
    let wrong = laboratory(&text, egress, &["port.wann.rate=30mbit"]).expect_err("no such port");
    assert!(wrong.contains("wann"), "{wrong}");
}

/// What is on the users' side is a direction's own: arrivals there go up.
#[test]
fn the_directions_of_a_laboratory_are_those_of_the_users() {
    let text = "[router]\nmode = \"both\"\ninterfaces = { lan = \"br0\" }\n[port.\"lan:in\"]\nrate = \"9.5mbit\"\n\
                [port.lan]\nrate = \"95mbit\"\n";
    let lab =
        lockgate_scenario::laboratory(&read_policy(text, "p").expect("a policy"), "rules/box.toml", None);
    let lab = laboratory(&lab, text, &[]).unwrap_or_else(|why| panic!("{why}\n{lab}"));
    let line = &lab.links[lab.ports[lab.port("modem:isp").expect("there")].link];
    assert_eq!((line.rate(0), line.rate(1)), (Rate::from_bits(10_000_000), Rate::from_bits(100_000_000)));
}

/// The bound of a tree is a fact of its kinds, with what a frame takes of it.
#[test]
fn every_kind_that_bounds_a_rate_says_so() {
    let children = "\nqueue.fq = { kind = \"fq_codel\" }";
    let table = [
        ("tbf", format!("rate = \"5mbit\", burst = \"4kB\", overhead = \"4B\", children = [\"fq\"] }}{children}"), 1518),
        ("bandwidth-shaper", format!("rate = \"5mbit\", children = [\"fq\"] }}{children}"), 1514),
        ("policer", format!("rate = \"5mbit\", burst = \"4kB\", children = [\"fq\"] }}{children}"), 1514),
        ("cake", "bandwidth = \"5mbit\", overhead = \"38B\" }".to_owned(), 1538),
        ("htb", "children = [\"a\", \"b\"] }\nqueue.a = { kind = \"fifo\", rate = \"1mbit\", ceil = \"3mbit\", overhead = \"24B\", match = [{ dscp = \"EF\" }] }\nqueue.b = { kind = \"fifo\", rate = \"2mbit\", overhead = \"24B\" }".to_owned(), 1538),
        ("hfsc", "children = [\"a\"] }\nqueue.a = { kind = \"fifo\", ls = \"1mbit\", ul = { m2 = \"5mbit\" } }".to_owned(), 1514),
        ("cbq", "bandwidth = \"1gbit\", children = [\"a\"] }\nqueue.a = { kind = \"fifo\", rate = \"5mbit\", bounded = true }".to_owned(), 1514),
    ];
    for (kind, rest, frame) in table {
        let text = format!(
            "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\nroot = \"s\"\nqueue.s = {{ kind = \"{kind}\", {rest}\n"
        );
        let policy = read_policy(&text, "p").unwrap_or_else(|why| panic!("{why:?}\n{text}"));
        let pace = policy.ports[0].tree.pace();
        assert_eq!(pace.rate, Some(Rate::from_bits(5_000_000)), "{kind}");
        assert_eq!(pace.overhead.on_link(Bytes(1514)), Bytes(frame), "{kind}");
    }
}

#[test]
fn a_policy_takes_the_place_of_those_that_a_scenario_names() {
    let settings = |text: &str| lockgate_scenario::policy_settings(text, "/tmp/other.toml");
    assert_eq!(settings(LABORATORY), Ok(vec!["port.home:modem.policy=/tmp/other.toml:lan->wan".to_owned()]));
    let none = LABORATORY.replace("policy =", "#");
    assert!(settings(&none).is_err_and(|why| why.to_string().contains("`policy = \"/tmp/other.toml:wan\"`")));
}

#[test]
fn a_policy_says_what_becomes_of_faults_and_of_the_hosts_frames() {
    let text = |mode: &str, keys: &str| {
        let (interfaces, port) = match mode {
            "bridge" => ("lan = \"eth1\", wan = \"eth0\"", "\"lan->wan\""),
            _ => ("wan = \"eth0\"", "wan"),
        };
        format!(
            "[router]\nmode = \"{mode}\"\ninterfaces = {{ {interfaces} }}\n{keys}[port.{port}]\nrate = \"1mbit\"\n"
        )
    };
    let read = |mode: &str, keys: &str| read_policy(&text(mode, keys), "policy.toml");
    let policy = read("bridge", "").unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!((policy.on_fault, policy.host), (OnFault::Open, HostFrames::Pass));
    let policy = read("bridge", "on_fault = \"hold\"\nhost = \"queue\"\n").expect("a policy");
    assert_eq!((policy.on_fault, policy.host), (OnFault::Hold, HostFrames::Queue));
    for (mode, keys, words) in [
        ("egress", "host = \"pass\"\n", "`host` is for mode `bridge`"),
        ("bridge", "host = \"queue\"\nattach = \"xdp\"\n", "those of the host cannot be queued"),
        ("bridge", "on_fault = \"close\"\n", "on_fault"),
    ] {
        let problems = format!("{:?}", read(mode, keys).expect_err("it is wrong"));
        assert!(problems.contains(words), "{keys}: {problems}");
    }
}

#[test]
fn marks_of_a_firewall_have_no_effect_on_frames() {
    let warnings = |queues: &str| {
        let head =
            "[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\" }\n[port.wan]\nrate = \"9mbit\"\n";
        let policy = read_policy(&format!("{head}{queues}"), "policy.toml");
        policy.unwrap_or_else(|problems| panic!("{problems:?}")).warnings
    };
    let [warning] = &warnings("queue.q = { kind = \"cake\", fwmark = 255 }\n")[..] else { panic!("one") };
    assert!(warning.message().starts_with("`fwmark` has no effect"), "{warning}");
    assert_eq!(warning.position(), Some((6, 28)), "{warning}");
    assert!(warning.help_text().is_some_and(|help| help.contains("code points")), "{warning:?}");
    let each = "root = \"top\"\nqueue.top = { kind = \"htb\", children = [\"q\"] }\n\
        queue.q = { count = 50, kind = \"cake\", fwmark = 1, rate = \"10kbit\", match = [{ dscp = \"CS1\" }] }\n";
    let of_members = warnings(each);
    assert_eq!(of_members.iter().filter(|it| it.message().contains("`fwmark`")).count(), 1, "{of_members:?}");
    for without in ["queue.q = { kind = \"cake\", fwmark = 0 }\n", "queue.q = { kind = \"cake\" }\n"] {
        assert!(warnings(without).is_empty(), "{without}");
    }
}

#[test]
fn alerts_name_queues_of_the_policy() {
    let policy = |alert: &str| format!("{BRIDGE}[[alert]]\n{alert}");
    let whole = "name = \"late\"\nif = \"class.voice.sojourn.p99 > 50ms for 5s\"\nwebhook = \"http://[::1]:80/a?b\"\n\
                 command = [\"/bin/true\", \"x\"]\n[[alert]]\nif = \"class.rest.loss > 1%\"\n";
    let alerts = read_policy(&policy(whole), "policy.toml").expect("valid").alerts;
    assert_eq!((alerts[0].name.as_str(), alerts[1].name.as_str()), ("late", "class.rest.loss > 1%"));
    let webhook = alerts[0].webhook.as_ref().expect("an address");
    assert_eq!(
        (&*webhook.host, webhook.port, &*webhook.path, &*webhook.authority()),
        ("::1", 80, "/a?b", "[::1]:80")
    );
    assert_eq!(alerts[0].command, ["/bin/true", "x"]);
    let wrong = |alert: &str, expected: &[_]| refused(&policy(alert), expected);
    wrong("if = \"class.vioce.drops > 1p\"\n", &[(14, 6, "the policy has no queue `vioce`", "`voice`")]);
    wrong("if = \"class.voice.drops\"\n", &[(14, 6, "compares nothing", "50ms")]);
    let with = |line: &str| format!("if = \"class.rest.loss > 1%\"\n{line}\n");
    wrong(&with("webhook = \"https://a\""), &[(15, 11, "does not begin with `http://`", "curl")]);
    wrong(&with("webhook = \"http://a:x\""), &[(15, 11, "no port of 0 to 65535", "HOST:PORT")]);
    wrong(
        &with("command = [\"logger\"]"),
        &[(15, 11, "begins with the path of a program", "/usr/bin/logger")],
    );
    wrong(&with("command = []"), &[(15, 11, "begins with the path of a program", "/usr/bin/logger")]);
    wrong(&with("wenhook = \"http://a\""), &[(15, 1, "wenhook", "`webhook`")]);
    wrong(&with("[[alert]]\nif = \"class.rest.loss > 1%\""), &[(15, 1, "two alerts are called", "`name`")]);
}

/// Files of `examples/provider`, with this text in place of one of them.
fn provider(other: Option<(&str, &str)>) -> Result<lockgate_scenario::Policy, String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/provider");
    let read = |name: &str| match &other {
        Some((of, text)) if *of == name => (*text).to_owned(),
        _ => std::fs::read_to_string(folder.join(name)).expect(name),
    };
    let files = ["ShapedDevices.csv", "network.json"]
        .map(|name| (name.to_owned(), std::sync::Arc::<[u8]>::from(read(name).into_bytes())));
    let text = embed_tables(&read("provider.toml"), &std::collections::BTreeMap::from(files));
    let text = text.map_err(|error| error.to_string())?;
    read_policy(&text, "provider.toml").map_err(|problems| crate::support::rendered(&problems))
}

/// Sites are classes within classes, circuits are below their `Parent Node`, and a class has the rules of all
/// circuits below it.
#[test]
fn circuits_are_below_their_sites() {
    let policy = provider(None).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(policy.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    for (port, rate) in policy.ports.iter().zip(["60mbit", "250mbit"]) {
        let queues = port.tree.queues();
        let named = |name: &str| queues.iter().find(|queue| &*queue.name == name).expect(name);
        let below = |name: &str| {
            let children = named(name).children.iter();
            children.map(|child| queues[*child].name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(below("line"), ["site/Hill", "plan/C1005", "rest"]);
        assert_eq!(below("site/Hill"), ["site/AP_North", "site/Harbour"]);
        assert_eq!(below("site/Harbour"), ["site/AP_South", "plan/C1004"]);
        assert_eq!(below("site/AP_North"), ["plan/C1001", "plan/C1002"]);
        assert_eq!(below("site/AP_South"), ["plan/C1003"]);
        assert_eq!(named("site/AP_North").share["ceil"].as_str(), Some(rate));
        let rules =
            ["plan/C1001", "site/AP_North", "site/AP_South", "site/Harbour", "site/Hill", "plan/C1005"]
                .map(|name| named(name).rules.len());
        assert_eq!(rules, [4, 5, 1, 3, 8, 1]);
    }
}

#[test]
fn sites_and_circuits_that_do_not_fit_are_named() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/provider");
    let changed = |name: &'static str, from: &str, to: &str| {
        let text = std::fs::read_to_string(folder.join(name)).expect(name);
        assert!(text.contains(from), "{name} has {from}");
        provider(Some((name, &text.replace(from, to))))
    };
    let warned = |name: &'static str, from: &str, to: &str| {
        let policy = changed(name, from, to).unwrap_or_else(|why| panic!("{why}"));
        policy.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let said = warned("ShapedDevices.csv", "AP_South", "AP_Sout");
    let expected = "`sites` has no such site, and a circuit of `subscribers` is below none: line 6, circuit `C1003`: `AP_Sout` \
                    (did you mean `AP_South`?)";
    assert!(said.contains(expected), "{said}");
    let said =
        warned("network.json", "\"downloadBandwidthMbps\": 200", "\"downloadBandwidthMbps\": \"fast\"");
    let expected = "a site of `sites` is left out: line 17, `AP_South`: its `downloadBandwidthMbps` in line 18, `\"fast\"`, is \
                    not a number of Mbit/s above 0";
    assert!(said.contains(expected), "{said}");
    for (name, from, to, expected) in [
        (
            "network.json",
            "{\n  \"Hill\"",
            "[\n  \"Hill\"",
            "`sites` has no sites: invalid type: sequence, expected sites",
        ),
        ("network.json", "400,", "400", "has no sites: expected `,` or `}` at line 5 column 5"),
        (
            "provider.toml",
            "[\"site\", \"plan\", \"rest\"]",
            "[\"site\", \"rest\"]",
            "1 of `plan` are below no site, such as `plan/C1005`",
        ),
        (
            "provider.toml",
            "ceil = \"$download\"",
            "ceil = \"$dowload\"",
            "`sites` has no column `dowload`: did you mean `download`",
        ),
        ("provider.toml", "sites = \"network.json\"", "", "there is no group called `sites`"),
    ] {
        let said = changed(name, from, to).err().unwrap_or_default();
        assert!(said.contains(expected), "`{expected}` in {said}");
    }
}

/// A policy whose port has this controller; its keys begin in line 7.
fn controlled(mode: &str, keys: &str) -> String {
    format!(
        "[router]\nmode = \"{mode}\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\nqueue.q = {{ kind = \"cake\" }}\n\
         [port.wan.autorate]\nmin = \"1mbit\"\nmax = \"9mbit\"\n{keys}\n"
    )
}

#[test]
fn a_controller_begins_at_its_start_and_probes_addresses() {
    let probes = "probes = { to = [\"192.0.2.1\", \"2001:db8::1\"], every = \"500ms\" }";
    let policy =
        read_policy(&controlled("egress", &format!("start = \"4mbit\"\n{probes}")), "p").expect("valid");
    let port = &policy.ports[0];
    let autorate = port.autorate.as_deref().expect("a controller");
    assert_eq!((port.rate, autorate.probes.len()), (Some(Rate::from_bits(4_000_000)), 2));
    assert!(autorate.model.reads_acknowledgements && autorate.model.probes.is_empty());
    let other =
        read_policy(&controlled("egress", &format!("start = \"5mbit\"\n{probes}")), "p").expect("valid");
    let other = other.ports[0].autorate.clone().expect("a controller");
    assert!(autorate.steps_as(&other) && *autorate != *other, "only the start differs");
    let slow = read_policy(&controlled("egress", "brake = { target = \"30ms\" }"), "p").expect("valid");
    assert!(!autorate.steps_as(slow.ports[0].autorate.as_deref().expect("a controller")));
    let observing = read_policy(&controlled("egress", "observe_only = true"), "p").expect("valid");
    assert_eq!(observing.ports[0].rate, None);
}

#[test]
fn controllers_that_no_router_can_run_are_refused() {
    let wrong = |keys: &str, expected: &[_]| refused(&controlled("egress", keys), expected);
    wrong("law = \"oracle\"", &[(9, 7, "no router knows the rate of its line", "`brake`")]);
    wrong("line = \"radio\"", &[(9, 8, "`line` names a link of a scenario", "leave it out")]);
    let probes = |to: &str, every: &str| format!("probes = {{ to = [{to}], every = \"{every}\" }}");
    wrong(&probes("\"isp\"", "1s"), &[(9, 18, "`isp` is not an address", "192.0.2.1")]);
    wrong(&probes("\"192.0.2.1\"", "300ms"), &[(9, 40, "does not probe each 300ms", "at least `500ms`")]);
    let twice = probes("\"192.0.2.1\", \"192.0.2.1\"", "1s");
    wrong(&twice, &[(9, 31, "`192.0.2.1` is probed twice", "once")]);
    wrong("acknowledgements = false", &[(9, 20, "no signal", "probes")]);
    refused(&controlled("ingress", ""), &[(6, 1, "nothing shows the delay of what arrives", "probes")]);
    read_policy(&controlled("ingress", &probes("\"192.0.2.1\"", "1s")), "p").expect("valid");
    read_policy(&controlled("ingress", "law = \"fixed\"\nfixed = { rate = \"5mbit\" }"), "p").expect("valid");
}

/// In a laboratory the provider's end of the line answers in place of the probed addresses.
#[test]
fn a_controller_runs_in_the_laboratory_around_its_policy() {
    let text =
        controlled("egress", "start = \"4mbit\"\nprobes = { to = [\"192.0.2.1\"], every = \"500ms\" }");
    let policy = read_policy(&text, "policy.toml").expect("valid");
    let text_of_laboratory = lockgate_scenario::laboratory(&policy, "policy.toml", None);
    let files = std::collections::BTreeMap::from([("policy.toml".to_owned(), text.into_bytes().into())]);
    let scenario = lockgate_scenario::read(&text_of_laboratory, "lab.toml", &files, &[]);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems:?}\n{text_of_laboratory}"));
    let autorate = scenario.ports.iter().find_map(|port| port.autorate.clone()).expect("a controller");
    assert_eq!(autorate.probes.len(), 1);
}
