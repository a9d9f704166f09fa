//! Law of the laboratory around a policy: at 90 to 95 % of the line every expectation holds; at more than the
//! line one fails, whatever kind bounds the rate. `house.rs` has what a user types.

#![allow(clippy::print_stdout, reason = "the rows are for readers of a failure")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use lockgate::units::Rate;
use lockgate::{Files, Options, Override, Seed, verdict};
use lockgate_scenario::policy::{Policy, read_policy};
use lockgate_scenario::policy_text::{Exported, exported};
use lockgate_scenario::{embed_tables, laboratory};
use lockgate_testing::lines;

type Shared = BTreeMap<String, Arc<[u8]>>;

/// Policy with the files beside it.
struct Case {
    name: String,
    text: String,
    files: Shared,
    /// False of `bandwidth-shaper`: by its documentation it sends up to two seconds of its rate at once.
    holds_below: bool,
}

/// Shares of the line up to which all holds, and beyond which something fails.
const BELOW: [f64; 2] = [0.9, 0.95];
const ABOVE: [f64; 3] = [1.05, 1.2, 2.0];

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Policies that are shipped: in the examples, and whole in the guides.
fn shipped() -> Vec<Case> {
    let mut files = Shared::new();
    for name in ["ShapedDevices.csv", "network.json"] {
        files.insert(name.to_owned(), file(&format!("examples/provider/{name}")).into_bytes().into());
    }
    let case = |name: &str, text: String| Case {
        name: name.to_owned(),
        text,
        files: files.clone(),
        holds_below: true,
    };
    let mut cases = vec![
        case("house.toml", file("examples/house/house.toml")),
        case("provider.toml", file("examples/provider/provider.toml")),
    ];
    for path in ["README.md", "docs/guides/router.md", "docs/guides/router/modes.md"] {
        let text = file(path);
        // A policy is a block that begins with `[router]`, or the text between a command and its `END`.
        for (number, part) in text.split("\n[router]\n").skip(1).enumerate() {
            let block = part.split("\n```").next().and_then(|block| block.split("\nEND").next());
            let policy = format!("[router]\n{}\n", block.unwrap_or_default());
            let is_whole = policy.contains("interfaces") && policy.contains("rate = ");
            if is_whole && !policy.contains("subscribers") {
                cases.push(case(&format!("{path} #{number}"), policy));
            }
        }
    }
    cases
}

/// Queues of a port that bound its rate, each with its kind.
fn trees(rate: Rate, overhead: &str) -> Vec<(&'static str, String)> {
    // Bytes on top of the frame, for kinds that count so.
    let frame = match overhead {
        "ethernet" => "overhead = \"24B\", mpu = \"84B\"",
        "pppoe-ptm" => "overhead = \"16B\", framing = \"ptm\"",
        _ => "overhead = \"26B\", framing = \"atm\"",
    };
    let packet = match overhead {
        "ethernet" => "overhead = \"38B\", mpu = \"84B\"",
        "pppoe-ptm" => "overhead = \"30B\", framing = \"ptm\"",
        _ => "overhead = \"40B\", framing = \"atm\"",
    };
    let port = format!("rate = \"{rate}\"\noverhead = \"{overhead}\"\n");
    let mut trees = vec![
        ("rate", format!("{port}queue.fq = {{ kind = \"fq_codel\" }}\n")),
        ("cake", format!("queue.cake = {{ kind = \"cake\", bandwidth = \"{rate}\", {packet} }}\n")),
        (
            "tbf",
            format!(
                "root = \"s\"\nqueue.s = {{ kind = \"tbf\", rate = \"{rate}\", burst = \"4kB\", {frame}, children = [\"fq\"] }}\n\
                 queue.fq = {{ kind = \"fq_codel\" }}\n"
            ),
        ),
        (
            "htb",
            format!(
                "root = \"s\"\nqueue.s = {{ kind = \"htb\", children = [\"line\"] }}\n\
                 queue.line = {{ kind = \"class\", rate = \"{rate}\", {frame}, children = [\"voice\", \"rest\"] }}\n\
                 queue.voice = {{ kind = \"fifo\", limit = \"50p\", rate = \"{}\", ceil = \"{rate}\", {frame}, match = [{{ dscp = \"EF\" }}] }}\n\
                 queue.rest = {{ kind = \"fq_codel\", rate = \"{}\", ceil = \"{rate}\", {frame} }}\n",
                Rate::from_bits(rate.as_bits() / 10),
                Rate::from_bits(rate.as_bits() / 10 * 9)
            ),
        ),
    ];
    // These count frames alone.
    if overhead == "ethernet" {
        trees.extend(trees_of_frames(rate));
    }
    trees
}

/// The same for kinds that count frames alone.
fn trees_of_frames(rate: Rate) -> [(&'static str, String); 4] {
    let burst = rate.as_bits() / 8 / 80;
    [
        (
            "bandwidth-shaper",
            format!(
                "root = \"s\"\nqueue.s = {{ kind = \"bandwidth-shaper\", rate = \"{rate}\", children = [\"fq\"] }}\n\
                 queue.fq = {{ kind = \"fq_codel\" }}\n"
            ),
        ),
        ("policer", format!("queue.p = {{ kind = \"policer\", rate = \"{rate}\", burst = \"{burst}B\" }}\n")),
        (
            "hfsc",
            format!(
                "root = \"s\"\nqueue.s = {{ kind = \"hfsc\", children = [\"line\"] }}\n\
                 queue.line = {{ kind = \"class\", ls = \"{rate}\", ul = {{ m2 = \"{rate}\" }}, children = [\"rest\"] }}\n\
                 queue.rest = {{ kind = \"fq_codel\", ls = \"{rate}\" }}\n"
            ),
        ),
        (
            "cbq",
            format!(
                "root = \"s\"\nqueue.s = {{ kind = \"cbq\", bandwidth = \"1gbit\", children = [\"line\"] }}\n\
                 queue.line = {{ kind = \"fq_codel\", rate = \"{rate}\", bounded = true }}\n"
            ),
        ),
    ]
}

/// One policy for each kind that bounds a rate, and each place of a port, at `rate` on a line of `overhead`.
fn of_kinds(rate: Rate, overhead: &str) -> Vec<Case> {
    let case = |name: String, text| Case {
        holds_below: !name.starts_with("bandwidth-shaper"),
        name,
        text,
        files: Shared::new(),
    };
    let mut cases = Vec::new();
    for (kind, tree) in trees(rate, overhead) {
        let both = format!(
            "[router]\nmode = \"both\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\n{tree}[port.\"wan:in\"]\n{tree}"
        );
        cases.push(case(format!("{kind} both {rate} {overhead}"), both));
        if kind == "rate" {
            let bridge = "[router]\nmode = \"bridge\"\ninterfaces = { lan = \"eth1\", wan = \"eth2\" }\n";
            let bridge = format!("{bridge}[port.\"lan->wan\"]\n{tree}[port.\"wan->lan\"]\n{tree}");
            cases.push(case(format!("{kind} bridge {rate} {overhead}"), bridge));
            for mode in ["egress", "ingress"] {
                let one = format!(
                    "[router]\nmode = \"{mode}\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\n{tree}"
                );
                cases.push(case(format!("{kind} {mode} {rate} {overhead}"), one));
            }
        }
    }
    cases
}

/// A run of a policy before a line of which it sends `share` in the directions `ways`.
struct Run<'c> {
    case: &'c Case,
    share: f64,
    ways: &'static [&'static str],
}

impl Run<'_> {
    /// Returns the missed expectations.
    fn missed(&self) -> Vec<String> {
        let Case { name, text, files, .. } = self.case;
        let whole = embed_tables(text, files).expect("the tables");
        let policy: Policy =
            read_policy(&whole, name).unwrap_or_else(|why| panic!("{name}: {why:?}\n{text}"));
        let lab = laboratory(&policy, "policy.toml", None);
        let files: Shared = [("policy.toml".to_owned(), Arc::from(whole.as_bytes()))].into_iter().collect();
        let plain = lockgate::read_text(&lab, name, &files as &dyn Files, &[]);
        let plain = plain.unwrap_or_else(|why| panic!("{name}: {why}\n{lab}"));
        let line = plain.links.iter().find(|link| link.name == "line").expect("a line");
        // The laboratory's own line is that of 95 %.
        let rates = ["up", "down"].into_iter().enumerate().filter(|(_, way)| self.ways.contains(way));
        let settings: Vec<Override> = rates
            .map(|(direction, way)| {
                let rate = line.mean_rate(direction).as_bits() as f64 * 0.95 / self.share;
                Override::parse(&format!("link.line.rate.{way}={}bit", rate as u64)).expect("a setting")
            })
            .collect();
        let scenario = lockgate::read_text(&lab, name, &files as &dyn Files, &settings).expect("a scenario");
        let options = Options { seeds: vec![Seed(1)], threads: Some(1), ..Options::default() };
        let runs = lockgate::run(&scenario, &options).expect("a run");
        let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
        summary.expect.iter().filter(|one| !one.holds).map(verdict::sentence).collect()
    }
}

/// Runs all, and returns the sentences on those that break the law.
fn broken(runs: Vec<Run<'_>>) -> String {
    let (queue, said) = (Mutex::new(runs.into_iter()), Mutex::new(String::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(run) = queue.lock().expect("a lock").next() else { return };
                    let missed = run.missed();
                    let row =
                        format!("{:>4.0} % {:?} {}: {missed:?}", run.share * 100.0, run.ways, run.case.name);
                    println!("{row}");
                    let is_right = if run.share < 1.0 {
                        missed.is_empty() || !run.case.holds_below
                    } else {
                        !missed.is_empty()
                    };
                    if !is_right {
                        let _ = writeln!(said.lock().expect("a lock"), "{row}");
                    }
                }
            });
        }
    });
    said.into_inner().expect("a lock")
}

const BOTH: &[&str] = &["up", "down"];

fn all_shares(cases: &[Case]) -> Vec<Run<'_>> {
    let shares = || BELOW.into_iter().chain(ABOVE);
    cases.iter().flat_map(|case| shares().map(move |share| Run { case, share, ways: BOTH })).collect()
}

#[test]
fn a_shipped_policy_fails_above_the_line_and_holds_below_it() {
    let cases = shipped();
    assert!(cases.len() >= 7, "{}", cases.len());
    let mut runs = all_shares(&cases);
    for ways in [&["up"][..], &["down"][..]] {
        runs.extend(ABOVE.map(|share| Run { case: &cases[0], share, ways }));
    }
    let broken = broken(runs);
    assert!(broken.is_empty(), "{broken}");
}

#[test]
fn every_kind_that_bounds_a_rate_fails_above_the_line_and_holds_below_it() {
    let lines = [(2, "pppoe-llcsnap"), (10, "ethernet"), (40, "pppoe-ptm"), (150, "ethernet")];
    let cases: Vec<Case> = lines
        .into_iter()
        .flat_map(|(mbit, overhead)| of_kinds(Rate::from_bits(mbit * 950_000), overhead))
        .collect();
    let broken = broken(all_shares(&cases));
    assert!(broken.is_empty(), "{broken}");
}

/// A provider's policy of 800 circuits, each with two addresses: some of each plan have traffic.
fn provider_of_800() -> Case {
    let mut table =
        "Circuit ID,Parent Node,IPv4,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps\n"
            .to_owned();
    for circuit in 0..800 {
        let (plan, low, high) = ([25, 50, 100, 200][circuit % 4], circuit / 200, circuit % 200 + 1);
        let _ = writeln!(
            table,
            "C{circuit:04},,\"100.64.{low}.{high}, 100.65.{low}.{high}\",5,1,{plan},{}",
            plan / 5
        );
    }
    let text =
        file("examples/provider/provider.toml").replace("950mbit", "190mbit").replace("450mbit", "95mbit");
    let text = text.replace("sites = \"network.json\"\n", "");
    let lines = text.lines().filter(|line| !line.starts_with("site =")).collect::<Vec<_>>().join("\n");
    let text = lines
        .replace("\"site\", ", "")
        .replace(", { destination = \"$ipv6\" }", "")
        .replace(", { source = \"$ipv6\" }", "");
    let files = [("ShapedDevices.csv".to_owned(), Arc::from(table.as_bytes()))].into_iter().collect();
    Case { name: "provider of 800".to_owned(), text, files, holds_below: true }
}

#[test]
fn eight_hundred_circuits_have_hosts_and_traffic() {
    let case = provider_of_800();
    let whole = embed_tables(&case.text, &case.files).expect("the table");
    let policy = read_policy(&whole, "p").unwrap_or_else(|why| panic!("{why:?}\n{}", case.text));
    let text = laboratory(&policy, "policy.toml", None);
    assert!(text.contains(" of the 800 circuits have traffic"), "{text}");
    let files: Shared = [("policy.toml".to_owned(), Arc::from(whole.as_bytes()))].into_iter().collect();
    let lab = lockgate::read_text(&text, "lab", &files as &dyn Files, &[])
        .unwrap_or_else(|why| panic!("{why}\n{text}"));
    let circuits = lab.nodes.iter().filter(|node| node.name.starts_with('C')).count();
    assert!((12..=40).contains(&circuits), "{circuits}");
    // No link but the line is slower than the policy.
    let line = lab.links.iter().position(|link| link.name == "line").expect("a line");
    for (index, link) in lab.links.iter().enumerate().filter(|(index, _)| *index != line) {
        assert!(link.rate(0) >= Rate::from_bits(800_000_000), "{index} {}", link.name);
    }
    let shares = [0.95, 1.05].map(|share| Run { case: &case, share, ways: BOTH });
    let broken = broken(shares.into());
    assert!(broken.is_empty(), "{broken}");
}

/// Every queue to which rules lead gets packets, or is named with the reason.
#[test]
fn every_class_has_traffic_or_a_reason() {
    let rules = [
        ("voice", "{ dscp = \"EF\" }"),
        ("video", "{ dscp = [\"AF41\", \"AF42\"] }"),
        ("office", "{ source = \"10.20.0.0/16\", destination_port = 443 }"),
        ("office-rest", "{ source = \"10.20.0.0/16\" }"),
        ("server", "{ destination = \"203.0.113.0/24\", protocol = \"tcp\" }"),
        ("game", "{ protocol = \"udp\", destination_port = \"27000-27100\" }"),
        ("small", "{ length = \"80B-120B\", protocol = \"udp\", source_port = 5000 }"),
        ("six", "{ source = \"2001:db8:5::/48\" }"),
        ("ping", "{ protocol = \"icmp\" }"),
        ("syn", "{ tcp_flags = \"syn\" }"),
        ("never", "{ source = \"10.20.0.0/17\", dscp = \"CS1\" }"),
    ];
    let mut tree = String::new();
    for (name, rule) in rules {
        let _ = writeln!(
            tree,
            "queue.{name} = {{ kind = \"fq_codel\", rate = \"500kbit\", ceil = \"20mbit\", match = [{rule}] }}"
        );
    }
    let names = rules.map(|(name, _)| format!("\"{name}\"")).join(", ");
    let text = format!(
        "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\nroot = \"s\"\n\
         queue.s = {{ kind = \"htb\", children = [\"line\"] }}\n\
         queue.line = {{ kind = \"class\", rate = \"20mbit\", children = [{names}, \"rest\"] }}\n{tree}\
         queue.rest = {{ kind = \"fq_codel\", rate = \"5mbit\", ceil = \"20mbit\" }}\n"
    );
    let policy = read_policy(&text, "p").unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    let lab = laboratory(&policy, "policy.toml", None);
    let files: Shared = [("policy.toml".to_owned(), Arc::from(text.as_bytes()))].into_iter().collect();
    let scenario = lockgate::read_text(&lab, "lab", &files as &dyn Files, &[])
        .unwrap_or_else(|why| panic!("{why}\n{lab}"));
    let options = Options { seeds: vec![Seed(1)], ..Options::default() };
    let runs = lockgate::run(&scenario, &options).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    let missed: Vec<String> = summary.expect.iter().filter(|one| !one.holds).map(verdict::sentence).collect();
    assert!(missed.is_empty(), "{missed:?}\n{lab}");
    let queues = &summary.ports["router:modem"].queues;
    for (name, _) in rules {
        let reason =
            lab.lines().find(|line| line.starts_with(&format!("# No flow reaches the queue `{name}`")));
        let is_named = ["ping", "syn", "never"].contains(&name);
        assert_eq!(reason.is_some(), is_named, "{name}: {reason:?}\n{lab}");
        assert_eq!(queues[name].sent_packets > 0, !is_named, "{name}\n{lab}");
    }
}

#[test]
fn a_line_of_a_gigabit_is_no_exception() {
    let cases: Vec<Case> = of_kinds(Rate::from_bits(950_000_000), "ethernet")
        .into_iter()
        .filter(|case| case.name.contains("egress"))
        .collect();
    assert_eq!(cases.len(), 1);
    let broken = broken(all_shares(&cases));
    assert!(broken.is_empty(), "{broken}");
}

/// A policy that is exported from a line counts as the line does: before the same line, by name or in bytes,
/// no packet of any size waits in the modem.
#[test]
fn no_packet_waits_behind_an_exported_policy() {
    let [header, _] = lines::HEADERS;
    let mut count = 0;
    for line in lines::LINES {
        let by_name = line.has_name().then(|| format!("overhead = \"{}\"", line.word));
        for keys in by_name.into_iter().chain([line.keys(header).join(", ")]) {
            let nodes = |link: &str| {
                format!(
                    "duration = \"2s\"\nwarmup = \"500ms\"\nnode.home = {{}}\nnode.modem = {{}}\nnode.server = {{}}\n{link}"
                )
            };
            let dsl = format!("rate = \"5mbit\", delay = \"5ms\", {keys} }}\n");
            let own = nodes(&format!(
                "title = \"a line\"\nlink.dsl = {{ between = [\"home\", \"server\"], {dsl}\
                 flow.ack = {{ from = \"home\", to = \"server\", transport = \"udp\", size = \"54B\", gap = \"1ms\" }}\n\
                 port.\"home:server\".queue.q = {{ kind = \"fq_codel\" }}\n"
            ));
            let none = Shared::new();
            let scenario = lockgate::read_text(&own, "own", &none as &dyn Files, &[]).expect("a scenario");
            let ports = Exported { port: "home:server", arriving: None, interface: "eth0" };
            let policy = exported(&scenario, ports, &none as &dyn Files).expect("a policy");
            for packet in lines::PACKETS {
                let lab = nodes(&format!(
                    "title = \"before it\"\nlink.lan = {{ between = [\"home\", \"modem\"], rate = \"1gbit\" }}\n\
                     link.dsl = {{ between = [\"modem\", \"server\"], {dsl}\
                     port.\"home:modem\".policy = \"p.toml:wan\"\n\
                     flow.game = {{ from = \"home\", to = \"server\", transport = \"udp\", size = \"{}B\", rate = \"8mbit\" }}\n",
                    packet + header
                ));
                let files: Shared = [("p.toml".to_owned(), Arc::from(policy.as_bytes()))].into();
                let lab = lockgate::read_text(&lab, "lab", &files as &dyn Files, &[]).expect("a laboratory");
                let options = Options { seeds: vec![Seed(1)], threads: Some(1), ..Options::default() };
                let runs = lockgate::run(&lab, &options).expect("a run");
                let summary = lockgate::summarise(&lab, &runs.recordings).expect("a summary");
                let waits = |queue: &str| summary.metric(&format!("port.{queue}.sojourn.max")).expect(queue);
                let what = format!("{}, {packet} bytes: {policy}", line.word);
                assert!(waits("modem:server.queue.fifo") < 1e-9, "{what}");
                assert!(waits("home:modem.queue.q") > 1e-3, "the queue is in the router: {what}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 4 * (19 + 13));
}
