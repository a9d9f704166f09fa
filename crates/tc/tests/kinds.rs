//! Settings of every kind, one at a time: each is imported, or refused with the word that is not understood.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_tc::{Options, Request, convert};

const NO_MAP: &str = "priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";

/// Kinds with settings that a port can have.
const IMPORTED: &[(&str, &[&str])] = &[
    ("bfifo", &["", "limit 3000b", "limit 64kb"]),
    ("pfifo", &["", "limit 3000", "limit 30"]),
    ("pfifo_head_drop", &["", "limit 100"]),
    ("pfifo_fast", &[""]),
    ("prio", &["", "bands 4 priomap 1 1 2 2 3 3 0 0 1 2 3 0 0 0 0 0"]),
    (
        "ets",
        &["bands 2", "bands 3 strict 1 quanta 1000", "quanta 4000 3000", "strict 3", "strict 0 quanta 9k 1k"],
    ),
    (
        "tbf",
        &[
            "limit 1000 burst 1500 rate 10000",
            "burst 1500 rate 20000 latency 100ms",
            "limit 1000 burst 1500 rate 20000 mtu 1510 peakrate 30000",
            "limit 1000 burst 1500 rate 20000 overhead 300",
            "limit 1000 burst 1500 rate 20000 linklayer atm",
        ],
    ),
    (
        "sfq",
        &[
            "",
            "limit 8",
            "perturb 10",
            "quantum 9000",
            "divisor 512",
            "divisor 0",
            "flows 20",
            "depth 64",
            "headdrop",
        ],
    ),
    (
        "red",
        &[
            "limit 1M avpkt 1500 min 100K max 300K",
            "ecn adaptive limit 1M avpkt 1500 min 100K max 300K",
            "ecn harddrop limit 1M avpkt 1500 min 100K max 300K",
        ],
    ),
    ("choke", &["limit 1000 bandwidth 10000", "limit 1000 bandwidth 10000 min 100 max 900 burst 100 ecn"]),
    ("codel", &["", "limit 1500", "target 100ms", "interval 20ms", "ecn", "ce_threshold 20ms"]),
    ("fq_codel", &["", "limit 1000 flows 256 drop_batch 100", "target 2000", "memory_limit 100000", "noecn"]),
    ("pie", &["", "limit 10", "target 20ms alpha 2 beta 20 ecn bytemode"]),
    ("fq_pie", &["", "flows 65536", "tupdate 20ms"]),
    (
        "cake",
        &[
            "",
            "bandwidth 1000",
            "rtt 200",
            "diffserv8 dsthost nat",
            "hosts wash",
            "memlimit 10000 ptm",
            "fwmark 8 atm",
            "fwmark 0xff00 diffserv4",
            "no-ack-filter ack-filter-aggressive",
            "overhead 128 mpu 256",
            "conservative ingress",
            "dual-srchost ack-filter",
            "ack-filter-aggressive no-split-gso",
        ],
    ),
    ("cake_mq", &["", "bandwidth 100mbit besteffort", "pppoe-ptm ether-vlan ether-vlan"]),
    (
        "dualpi2",
        &[
            "",
            "memlimit 20000000",
            "typical_rtt 20ms max_rtt 200ms",
            "max_rtt 300ms",
            "step_thresh 3p",
            "step_thresh 2ms",
            "min_qlen_step 1",
            "coupling_factor 1",
            "classic_protection 0",
            "classic_protection 25%",
            "any_ect overflow drop_enqueue no_split_gso",
        ],
    ),
    (
        "netem",
        &[
            "",
            "limit 200",
            "delay 100ms",
            "rate 20000",
            "loss 1%",
            "delay 100ms 10ms",
            "delay 100ms 10ms distribution normal",
            "delay 10ms 100ms distribution normal",
            "delay 100ms 10ms 0% distribution pareto",
            "loss gemodel 1%",
            "loss gemodel 1% 10% 70% 0.1%",
            "loss state 1% 10%",
            "delay 10ms reorder 25%",
            "duplicate 1%",
            "slot 800us 10ms packets 64 bytes 42500",
            "slot 10 200",
        ],
    ),
];

/// Kinds with settings that no port can have, and the word of the reason.
const REFUSED: &[(&str, &str, &str)] = &[
    ("htb", "default 10", "`htb` without classes sends every packet out unshaped"),
    ("drr", "", "`drr` without classes drops every packet"),
    ("ets", "bands 17", "`bands 17`"),
    ("ets", "strict 9 quanta 1 2 3 4 5 6 7 8", "17"),
    ("ets", "bands", "`bands`"),
    ("prio", "bands 1", "`bands 1`"),
    ("prio", "bands 4 priomap 1 1 2 2 7 5 0 0 1 2 3 0 0 0 0 0", "band 7"),
    ("sfq", "redflowlimit 100000 min 8000", "`redflowlimit`"),
    ("red", "ecn nodrop limit 1M avpkt 1500", "`nodrop`"),
    ("cake", "autorate-ingress", "`autorate-ingress`"),
    ("cake", "overhead 257", "the kernel takes -64 to 256"),
    ("cake", "overhead -65", "the kernel takes -64 to 256"),
    ("cake", "mpu 300", "the kernel takes 0 to 256"),
    ("cake", "fwmark 0x1ffffffff", "bits such as `0xff`"),
    ("pie", "alpha 33", "the kernel takes 0 to 32"),
    ("fq_pie", "beta 33", "the kernel takes 0 to 32"),
    ("red", "limit 1M avpkt 1500 probability 1.5", "the kernel takes 0 to 1"),
    ("sfq", "divisor 131072", "the kernel takes 0 to 65536"),
    ("dualpi2", "coupling_factor 256", "the kernel takes 0 to 255"),
    ("dualpi2", "classic_protection 101%", "the kernel takes 0 to 100"),
    ("netem", "delay 100ms 10ms distribution paretonormal", "`distribution`"),
    ("netem", "delay 100ms 10ms 25%", "`delay` of `netem` that depends on the packet before"),
    ("netem", "loss 101%", "the kernel takes 0 to 100"),
    ("netem", "loss 1% 25%", "`loss` of `netem` that depends on the packet before"),
    ("netem", "loss state 1% 10% 5%", "more than two states"),
    ("netem", "loss gemodel", "`loss` of `netem` has no value"),
    ("netem", "corrupt 1%", "`corrupt`"),
    ("netem", "delay 10ms reorder 25% gap 5", "`gap`"),
    ("netem", "slot distribution normal 10ms 1ms", "`slot distribution`"),
    ("netem", "slot 10ms 1ms", "`slot` of `netem` has no value"),
    ("netem", "rate 1mbit 20", "`rate` of `netem` with an overhead"),
    ("bfifo", "foorbar", "`foorbar`"),
    ("bfifo", "limit foo-bar", "`limit foo-bar`"),
    ("mq", "", "kind `mq`"),
    ("taprio", "num_tc 3", "`taprio` has no `sched-entry`"),
];

fn imported(script: &str) -> Result<String, String> {
    let options = Options::default();
    let request = Request {
        text: script,
        origin: "",
        definitions: &[],
        options: &options,
        rate: None,
        is_lenient: false,
    };
    let converted = convert(&request).map_err(|problems| problems.to_string())?.scenario;
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let read = lockgate_scenario::read(&converted, "imported", &files, &[]);
    let message = |problem: &lockgate_scenario::Problem| problem.message().to_owned();
    match read {
        Ok(_) => Ok(converted),
        Err(problems) => {
            panic!("{script}: {:?}\n{converted}", problems.iter().map(message).collect::<Vec<_>>())
        }
    }
}

#[test]
fn every_setting_is_imported_or_refused_by_its_word() {
    for (kind, all) in IMPORTED {
        for settings in *all {
            let script = format!("tc qdisc add dev eth0 root handle 1: {kind} {settings}\n");
            if let Err(problems) = imported(&script) {
                panic!("{script}{problems}");
            }
        }
    }
    for (kind, settings, why) in REFUSED {
        let script = format!("tc qdisc add dev eth0 root handle 1: {kind} {settings}\n");
        let problems = imported(&script).expect_err(&script);
        assert!(problems.contains(why), "{script}{problems}");
        assert!(problems.contains("line 1, column"), "a place: {problems}");
    }
    let map = imported(&format!("tc qdisc add dev eth0 root handle 1: prio bands 2 {NO_MAP}\n"));
    assert!(map.is_ok_and(|scenario| scenario.contains("protocol = 255")), "a band without packets");
}

/// A class that no filter leads to is imported, with a flow of the packets that have no class.
#[test]
fn classes_without_filters_are_imported() {
    for (kind, share) in [
        ("htb", "rate 20kbit burst 1000"),
        ("htb", "rate 20kbit ceil 10kbit"),
        ("hfsc default 11", "sc umax 1540 dmax 5ms rate 10000 ul rate 10000"),
        ("hfsc", "rt rate 20000 ls rate 10000"),
        ("qfq", "weight 100"),
        ("drr", ""),
    ] {
        let name = kind.split(' ').next().unwrap_or_default();
        let script = format!(
            "tc qdisc add dev eth0 root handle 1: {kind}\ntc class add dev eth0 parent 1: classid 1:1 {name} {share}\n"
        );
        let scenario = imported(&script).unwrap_or_else(|problems| panic!("{script}{problems}"));
        assert!(scenario.contains("[flow.bulk-here]"), "{scenario}");
    }
    // The kernel gives a class with `rt` alone a share when classes are added below it.
    let inner = "tc qdisc add dev eth0 root handle 1: hfsc default 2
tc class add dev eth0 parent 1: classid 1:1 hfsc rt rate 80kbit
tc class add dev eth0 parent 1:1 classid 1:2 hfsc rt rate 80kbit
";
    let scenario = imported(inner).expect("imported");
    assert!(scenario.contains(r#"queue.class-1-1 = { kind = "class", ls = { m2 = "80kbit" }"#), "{scenario}");
}

/// `dualpi2` has the attributes of Linux, also after it was exported.
#[test]
fn dualpi2_is_that_of_linux() {
    let port = |settings: &str| {
        let scenario =
            imported(&format!("tc qdisc add dev eth0 root dualpi2 {settings}\n")).expect("imported");
        let queue = scenario.lines().find(|line| line.starts_with("queue.link")).expect("a queue");
        queue.to_owned()
    };
    let plain = port("");
    assert!(plain.contains(r#"tupdate = "16ms", alpha = 0.16015625, beta = 3.19921875"#), "{plain}");
    let far = port("max_rtt 300ms");
    assert!(far.contains(r#"max_rtt = "300ms", target = "50ms""#) && !far.contains("alpha"), "{far}");
    assert!(port("typical_rtt 20ms max_rtt 200ms").contains(r#"target = "20ms""#));
    // One round trip gives the other, and both override the rest.
    let usual = port("typical_rtt 20ms alpha 3 tupdate 1ms");
    assert!(usual.contains(r#"max_rtt = "120ms", target = "20ms""#), "{usual}");
    assert!(!usual.contains("alpha") && !usual.contains("tupdate"), "{usual}");
    assert!(port("step_thresh 3p").contains(r#"step_thresh = "3p""#));
    // Its timer has no ticks.
    assert!(port("tupdate 15ms").contains(r#"tupdate = "15ms""#));
}

/// A link is the same for packets of all classes, and so is `netem`; otherwise the other class is named.
#[test]
fn netem_of_a_class_is_that_of_all() {
    let bands = "tc qdisc add dev eth0 root handle 1: prio bands 2 priomap 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n";
    let line = |parent, settings: &str| match settings {
        "" => String::new(),
        settings => format!("tc qdisc add dev eth0 parent 1:{parent} {settings}\n"),
    };
    let script = |first: &str, second: &str| [bands.to_owned(), line(1, first), line(2, second)].concat();
    imported(&script("netem delay 9ms", "netem delay 9ms")).unwrap_or_else(|problems| panic!("{problems}"));
    for (first, second, said) in [
        ("netem delay 9ms", "netem delay 8ms", "line 3, column 34: this `netem` differs from that of line 2"),
        ("netem delay 9ms", "pfifo", "line 2, column 34: `netem` is here for one class and not for all"),
    ] {
        let problems = imported(&script(first, second)).expect_err("a line for each class");
        assert!(problems.contains(said), "{problems}");
    }
}

/// Each `ether-vlan` of `cake` adds four bytes to the overhead.
#[test]
fn vlans_add_to_the_overhead() {
    let scenario =
        imported("tc qdisc add dev eth0 root cake pppoe-ptm ether-vlan ether-vlan\n").expect("imported");
    assert!(scenario.contains(r#"overhead = "38B""#), "{scenario}");
}

/// Shares of `qfq` beyond what the kernel takes are refused, with the limits; those at the limits are taken.
#[test]
fn shares_of_qfq_are_within_the_limits_of_the_kernel() {
    let script = |share: &str| {
        format!(
            "tc qdisc add dev eth0 root handle 1: qfq\ntc class add dev eth0 parent 1: classid 1:1 qfq {share}\n"
        )
    };
    for (share, range) in [
        ("weight 9999999", "1 to 1024"),
        ("weight 0", "1 to 1024"),
        ("weight 1025", "1 to 1024"),
        ("maxpkt 99", "512 to 65536"),
        ("maxpkt 65537", "512 to 65536"),
    ] {
        let problems = imported(&script(share)).expect_err(share);
        assert!(problems.contains(&format!("`{share}` of `qfq`: the kernel takes {range}")), "{problems}");
    }
    for share in ["weight 1 maxpkt 512", "weight 1024 maxpkt 65536"] {
        imported(&script(share)).unwrap_or_else(|problems| panic!("{share}{problems}"));
    }
}

/// Bursts of `htb` that are not given are those that `tc` computes (`strace` of iproute2 6.1): from the
/// `mtu`, and as a time of whole microseconds.
#[test]
fn bursts_that_are_not_given_are_those_of_tc() {
    let class = |settings: &str| {
        let text = format!(
            "tc qdisc add dev eth0 root handle 1: htb default 10\ntc class add dev eth0 parent 1: classid 1:10 htb {settings}\n"
        );
        imported(&text).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let jumbo = class("rate 10mbit mtu 9000");
    assert!(jumbo.contains(r#" burst = "9000B""#) && jumbo.contains(r#"cburst = "9000B""#), "{jumbo}");
    let fast = class("rate 1gbit ceil 20gbit");
    assert!(fast.contains(r#" burst = "1496B""#) && fast.contains(r#"cburst = "1B""#), "{fast}");
    assert!(fast.contains("`tc` computes 1496 bytes"), "{fast}");
    assert!(!class("rate 10mbit").contains("burst = "));
    let given = class("rate 10mbit burst 5000 cburst 6000 mtu 9000");
    assert!(given.contains(r#" burst = "5000B""#) && given.contains("`mtu 9000` of `htb`"), "{given}");
}

/// Filter of acknowledgements and mask of marks are parameters of `cake`, and the last word counts.
#[test]
fn cake_has_its_filter_and_its_mask() {
    let queue = |settings: &str| {
        let scenario = imported(&format!("tc qdisc add dev eth0 root cake {settings}\n")).expect("imported");
        scenario.lines().find(|line| line.starts_with("queue.link")).expect("a queue").to_owned()
    };
    assert!(queue("ack-filter fwmark 0xff00").contains("ack_filter = true, fwmark = 65280"));
    for aggressive in
        ["ack-filter-aggressive", "ack-filter ack-filter-aggressive", "no-ack-filter ack-filter-aggressive"]
    {
        assert!(queue(aggressive).contains(r#"ack_filter = "aggressive""#), "{aggressive}");
    }
    assert!(queue("ack-filter no-ack-filter").contains("ack_filter = false"));
    assert!(!queue("").contains("ack_filter"));
}

/// What `tc` prints of a device with a discipline for each transmit queue is imported as one.
#[test]
fn transmit_queues_are_imported_as_one() {
    let words = "bandwidth 900Mbit besteffort triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms noatm overhead 18 mpu 64";
    let shown = format!(
        "qdisc cake_mq 1: root refcnt 5 {words} \nqdisc cake 0: parent 1:4 {words} \nqdisc cake 0: parent 1:1 {words} \nclass cake_mq 1:1 root\nclass cake_mq 1:4 root\n"
    );
    let one = imported(&shown).unwrap_or_else(|problems| panic!("{problems}"));
    let same = imported(&format!("tc qdisc add dev eth0 root cake_mq {words}\n")).expect("imported");
    let queues = |scenario: &str| {
        let lines = scenario.lines().filter(|line| line.starts_with("queue."));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(queues(&one), queues(&same));
    assert!(one.contains("are left out") || one.contains("imported as one"), "{one}");
    // A `mq` has no settings of its own: those of its first part are those of all.
    for (root, parents) in [("mq 0: root", [":2", ":1"]), ("mq 8001: root", ["8001:2", "8001:1"])] {
        let [second, first] = parents;
        let shown = format!(
            "qdisc {root} \nqdisc fq_codel 0: parent {second} limit 1p \nqdisc fq_codel 0: parent {first} limit 2000p flows 64 \n"
        );
        let scenario = imported(&shown).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(queues(&scenario).concat().contains("flows = 64"), "{scenario}");
    }
    // The parts of a `cake_mq` have its settings and nothing else.
    let below =
        imported("tc qdisc add dev eth0 root handle 1: cake_mq\ntc qdisc add dev eth0 parent 1:1 pfifo\n");
    assert!(below.is_err_and(|problems| problems.contains("cannot stand in")));
}
