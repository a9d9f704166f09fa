//! Short scripts in the shapes of questions that people ask, with what `tc check` and `tc import` say.

use lockgate_tc::lint::{self, Machine, Severity};
use lockgate_tc::{Options, Request, convert, read};

/// Returns severity, rule, line, and message with help of each finding.
fn findings(text: &str) -> Vec<(Severity, &'static str, u32, String)> {
    let found = lint::check(&read(text, &[], "eth0"), &Machine::default());
    let short = |finding: lint::Finding| {
        (finding.severity, finding.rule, finding.at.line, format!("{}; {}", finding.message, finding.help))
    };
    found.into_iter().map(short).collect()
}

fn imported(text: &str, definitions: &[(String, String)]) -> Result<String, String> {
    let options = Options::default();
    let (rate, is_lenient) = (None, false);
    let request = Request { text, origin: "", definitions, options: &options, rate, is_lenient };
    convert(&request).map(|converted| converted.scenario).map_err(|problems| problems.to_string())
}

const ROOT: &str = "tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:10 htb rate 2mbit
tc class add dev eth0 parent 1: classid 1:20 htb rate 2mbit
";

/// A script, and the severity, rule, line and words of its finding.
type Case = (String, Severity, &'static str, u32, &'static str);

/// Checks each case; none has another error.
fn each(cases: &[Case]) {
    for (text, severity, rule, line, words) in cases {
        let found = findings(text);
        let is_it = |(of, name, at, what): &(Severity, &str, u32, String)| {
            of == severity && name == rule && at == line && what.contains(words)
        };
        assert!(found.iter().any(is_it), "{text}\n{found:?}");
        let errors = found.iter().filter(|(of, ..)| *of == Severity::Error).count();
        assert_eq!(errors, usize::from(*severity == Severity::Error), "{text}\n{found:?}");
    }
}

/// What the kernel takes of a class and does otherwise, and what becomes of devices.
#[test]
fn guarantees_of_inner_classes_foreign_words_and_lost_devices_are_said() {
    use Severity::{Error, Note, Warning};
    let inner = |curve: &str| {
        format!(
            "tc qdisc add dev eth0 root handle 1: hfsc default 2\ntc class add dev eth0 parent 1: classid 1:1 hfsc {curve}\ntc class add dev eth0 parent 1:1 classid 1:2 hfsc sc m2 5mbit\n"
        )
    };
    each(&[
        (inner("rt m2 5mbit ls m2 10mbit"), Warning, "guarantee-of-inner", 2, "`rt` of `1:1` has no effect"),
        (inner("sc m2 10mbit"), Note, "guarantee-of-inner", 2, "`sc` of `1:1` only shares"),
        (
            "tc qdisc add dev eth0 root handle 1: qfq\ntc class add dev eth0 parent 1: classid 1:1 ets quantum 5000\n"
                .to_owned(),
            Warning,
            "structure",
            2,
            "it is a `qfq`",
        ),
        (
            "ip link del dev eth0\nsleep 1\ntc qdisc add dev eth0 root fq_codel\n".to_owned(),
            Error,
            "kernel",
            3,
            "there is no device `eth0`",
        ),
        (
            "ip link add eth0 type dummy\ntc qdisc add dev eth0 root mq\n".to_owned(),
            Error,
            "kernel",
            2,
            "one transmit queue",
        ),
    ]);
    for again in
        ["modprobe ifb numifbs=1", "ip link show ifb0 || ip link add ifb0 type ifb", "if x; then y; fi"]
    {
        let text = format!("ip link del ifb0\n{again}\ntc qdisc add dev ifb0 root fq_codel\n");
        assert_eq!(findings(&text), [], "{text}");
    }
}

#[test]
fn each_fault_is_said_with_its_weight() {
    use Severity::{Error, Warning};
    let htb = |lines: &str| format!("{ROOT}{lines}\n");
    let ip = "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip src 10.1.1.0/24 flowid 1:10";
    let absent = "tc filter add dev eth0 parent 1: protocol ip prio 5 handle 4 fw flowid 1:41";
    let orphan = "tc class add dev eth0 parent 1:7 classid 1:11 htb rate 1mbit";
    each(&[
        ("tc -sd qdisc add dev eth0 root fq\n".to_owned(), Error, "syntax", 1, "`-sd` is no option of `tc`"),
        (
            "tc qdisc replace dev eth0 root sfq\ntc qdisc replace dev eth0 root sfq perturb 10\n".to_owned(),
            Error,
            "kernel",
            2,
            "a `sfq` cannot be changed once it is there",
        ),
        ("tc -s -b rules.tc\n".to_owned(), Error, "syntax", 1, "the commands in `rules.tc` are not read"),
        (
            "tc qdisc add dev eth0 root handle 1: hfsc\ntc class add dev eth0 root classid 1:1 hfsc ls m2 1mbit\n"
                .to_owned(),
            Error,
            "kernel",
            2,
            "`root` is none; write `parent 1:`",
        ),
        (
            htb(&format!(
                "{ip}\ntc filter add dev eth0 parent 1: protocol arp prio 1 u32 match u32 0 0 flowid 1:20"
            )),
            Error,
            "kernel",
            5,
            "another protocol",
        ),
        (htb(absent), Error, "class-absent", 4, "`1:41`"),
        (htb("tc qdisc add dev eth0 parent 1:10 fq_codell"), Error, "kernel", 4, "did you mean `fq_codel`"),
        ("tc qdisc add dev eth0 root handel 1: htb".to_owned(), Error, "syntax", 1, "did you mean `handle`"),
        (
            htb(
                "tc qdisc add dev eth0 parent 1:10 fq_codel\ntc class add dev eth0 parent 1:10 classid 1:11 htb rate 1mbit",
            ),
            Warning,
            "kernel-effect",
            5,
            "removes its `fq_codel`",
        ),
        (
            htb(
                "tc class add dev eth0 parent 1:10 classid 1:11 htb rate 1mbit\ntc qdisc add dev eth0 parent 1:10 fq_codel",
            ),
            Error,
            "kernel",
            5,
            "has classes below it",
        ),
        (htb(orphan), Warning, "kernel-effect", 4, "makes the class below `1:`"),
    ]);
}

#[test]
fn what_cannot_be_meant_is_said() {
    use Severity::{Error, Warning};
    let htb = |lines: &str| format!("{ROOT}{lines}\n");
    let ip = "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip src 10.1.1.0/24 flowid 1:10";
    let half = "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst 10.1.2.";
    each(&[
        (
            htb(&format!("{ip}\ntc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip src 10.1.1.5/32 flowid 1:20")),
            Warning,
            "filter-hidden",
            5,
            "that of line 4",
        ),
        (
            htb(&format!(
                "{half}0/25 flowid 1:10\n{half}128/25 flowid 1:20\ntc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dst 10.1.2.0/24 flowid 1:20"
            )),
            Warning,
            "filter-hidden",
            6,
            "those of lines 4, 5 together take all of them",
        ),
        (
            "tc qdisc add dev eth0 root tbf rate 1mbit rate 2mbit burst 5k limit 10k".to_owned(),
            Error,
            "syntax",
            1,
            "given twice",
        ),
        (
            htb("tc class change dev eth0 classid 1:10 htb rate 2mbit overhead 65536"),
            Error,
            "syntax",
            4,
            "the kernel takes 0 to 65535; `overhead 65535`",
        ),
        (
            htb("tc class change dev eth0 classid 1:10 htb rate 2mbit mpu 65536"),
            Error,
            "syntax",
            4,
            "the kernel takes 0 to 65535; `mpu 65535`",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: drr\ntc class add dev eth0 parent 1: classid 1:1 drr\ntc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip src 10.0.0.0/8 flowid 1:1".to_owned(),
            Warning,
            "no-default",
            1,
            "ARP included",
        ),
        (
            "class htb 1:10 parent 1: prio 0 rate 1Mbit ceil 1Mbit burst 1600b cburst 1600b\n Sent 9 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)\n lended: 1 borrowed: 0 giants: 5\n".to_owned(),
            Warning,
            "kernel-effect",
            3,
            "longer than its `mtu`",
        ),
    ]);
}

#[test]
fn a_text_without_commands_is_an_error() {
    use Severity::Error;
    each(&[
        (String::new(), Error, "nothing-read", 1, "it is empty"),
        ("t\0c\0 \0q\0d\0i\0s\0c\0".to_owned(), Error, "nothing-read", 1, "UTF-16"),
        ("[{\"kind\":\"htb\"}]".to_owned(), Error, "nothing-read", 1, "JSON"),
        ("[QDisc]\nParent=root\n\n[TokenBucketFilter]\nRate=5M\n".to_owned(), Error, "nothing-read", 1, "systemd-networkd"),
        (
            "/queue simple add name=q1 target=10.0.0.2 max-limit=5M/10M\n:foreach i in=[/queue simple find] do={ tc }\n".to_owned(),
            Error,
            "nothing-read",
            1,
            "RouterOS",
        ),
        ("class-map match-any VOICE\n match dscp ef\npolicy-map WAN\n class VOICE\n  priority 500\n".to_owned(), Error, "nothing-read", 1, "IOS"),
        ("\u{1}\u{fffd}\u{fffd}\u{2}\u{3}x".to_owned(), Error, "nothing-read", 1, "binary"),
        ("config queue 'wan'\n\toption enabled 'yes'\n".to_owned(), Error, "nothing-read", 1, "no section is enabled"),
        ("sqm.wan=queue\nsqm.wan.enabled='0'\n".to_owned(), Error, "nothing-read", 1, "no section is enabled"),
    ]);
    // Of a section that is not understood, nothing is checked.
    let section =
        "config queue 'wan'\n\toption enabled '1'\n\toption interface 'wan'\n\toption upload '1000'\n";
    for (line, said) in [
        ("\toption script 'my_own.qos'", "`script my_own.qos` is not understood"),
        ("\toption script 'piece_of_cake.qos'\n\toption qdisk 'cake'", "`qdisk` is not an option"),
        ("\toption script 'piece_of_cake.qos'; option debug_logging '1'", "is not understood"),
    ] {
        let found = findings(&format!("{section}{line}\n"));
        let is_said = |(severity, _, _, message): &(Severity, &str, u32, String)| {
            *severity == Error && message.contains(said)
        };
        assert!(found.iter().any(is_said), "{line}: {found:?}");
    }
}

/// A line that goes on after a failure expects it; one that ends the script does not.
#[test]
fn a_failure_that_ends_the_script_is_a_fault() {
    let again = "tc class add dev eth0 parent 1: classid 1:10 htb rate 3mbit";
    for (otherwise, errors) in [
        (" || true", 0),
        (" 2>/dev/null", 0),
        (" || echo 'it is there'", 0),
        (" || true # no exit", 0),
        (" # 2> || exit", 1),
        (" || exit 1", 1),
        (" 2>/dev/null || { echo failed; exit 1; }", 1),
    ] {
        let found = findings(&format!("{ROOT}{again}{otherwise}\n"));
        let found = found.iter().filter(|(severity, ..)| *severity == Severity::Error).count();
        assert_eq!(found, errors, "{otherwise}");
    }
}

#[test]
fn what_the_kernel_takes_is_no_fault() {
    for text in [
        "tc qdisc del dev eth0 root\ntc qdisc add dev eth0 ingress handle ffff:\ntc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 police rate 20mbit burst 200k drop flowid :1\n",
        "\u{feff}tc qdisc add dev eth0 root handle 11 fq_codel\n",
        "tc qdisc add dev eth0 root cake bandwidth 6mbit overhead 38 mpu 84 diffserv3 nat dual-srchost ack-filter diffserv4\n",
        "tc qdisc replace dev eth0 root sfq perturb 10\ntc qdisc replace dev eth0 root sfq\n",
        "tc -s -color=never -nm -netns x qdisc add dev eth0 root fq\n",
        "tc qdisc add dev eth0 root fq_codel flows 64\ntc qdisc change dev eth0 root fq_codel flows 0\n",
        "tc qdisc add dev eth0 root handle 1: mq\ntc qdisc add dev eth0 parent 1:1 fq\n",
    ] {
        let found = findings(text);
        assert!(found.iter().all(|(severity, ..)| *severity != Severity::Error), "{text}\n{found:?}");
    }
}

#[test]
fn the_meaning_is_that_of_tc() {
    let argument = ("1".to_owned(), "10".to_owned());
    let text = "tc qdisc add dev eth0 root tbf rate $1mbit burst 10kbit limit 30k\n";
    let scenario = imported(text, &[argument]).expect("imported");
    assert!(scenario.contains("rate = \"10000000bit\"") || scenario.contains("10mbit"), "{scenario}");
    assert!(scenario.contains("1280"), "a kbit of `tc` is 128 bytes: {scenario}");
    for (words, overhead) in [
        ("overhead 22 docsis", Some(40)),
        ("overhead 10 pppoe-ptm", Some(40)),
        ("pppoe-llcsnap pppoe-llcsnap", Some(80)),
        ("docsis overhead 22", Some(22)),
        ("overhead 7 raw", None),
    ] {
        let text = format!("tc qdisc add dev eth0 root cake bandwidth 8mbit {words}\n");
        let scenario = imported(&text, &[]).expect("imported");
        let found = overhead.map_or(!scenario.contains("overhead = "), |overhead| {
            scenario.contains(&format!("overhead = \"{overhead}B\""))
        });
        assert!(found, "{words}: {scenario}");
    }
    // A hidden rule makes no flow of its class.
    let text = format!(
        "{ROOT}tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst 10.1.1.0/24 flowid 1:20\ntc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dst 10.1.1.5/32 flowid 1:10\n"
    );
    let scenario = imported(&text, &[]).expect("imported");
    assert!(scenario.contains("line 4 takes all its packets"), "{scenario}");
    assert!(!scenario.contains("10.1.1.5"), "{scenario}");
    // Meters alone.
    let text = "tc qdisc add dev eth0 ingress\ntc filter add dev eth0 parent ffff: protocol ip prio 1 u32 match ip src 10.0.0.0/8 police rate 1mbit burst 20k drop\ntc filter add dev eth0 parent ffff: protocol ip prio 2 u32 match ip src 11.0.0.0/8 police rate 1mbit burst 20k drop\n";
    let why = imported(text, &[]).expect_err("no queue");
    assert!(why.contains("only meters part of what arrives"), "{why}");
    // The parent of a class is not there.
    let text = format!("{ROOT}tc class add dev eth0 parent 1:7 classid 1:11 htb rate 1mbit\n");
    let scenario = imported(&text, &[]).expect("imported");
    assert!(scenario.contains("the kernel makes the class below"), "{scenario}");
}

/// What `tc check` and `tc import` say of a script whose filter leads nowhere: the same.
#[test]
fn a_filter_to_an_absent_class_is_an_error_for_check_and_import() {
    for (filter, class) in [
        ("u32 match ip dport 5060 0xffff flowid 1:21", "1:21"),
        ("handle 4 fw classid 1:7", "1:7"),
        ("flower ip_proto tcp dst_port 80 classid 1:99", "1:99"),
    ] {
        let text = format!("{ROOT}tc filter add dev eth0 parent 1: protocol ip prio 1 {filter}\n");
        let found = findings(&text);
        let errors: Vec<_> = found.iter().filter(|(of, ..)| *of == Severity::Error).collect();
        let [(_, rule, line, words)] = errors.as_slice() else { panic!("{text}\n{found:?}") };
        assert_eq!((*rule, *line), ("class-absent", 4));
        assert!(words.contains(&format!("leads to `{class}`, which is not there")), "{words}");
        assert!(imported(&text, &[]).is_err_and(|why| why.contains("not there")), "{text}");
    }
    let text = format!(
        "{ROOT}tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 5060 0xffff flowid 1:20\n"
    );
    assert!(findings(&text).iter().all(|(_, rule, ..)| *rule != "class-absent"), "the class is there");
}

#[test]
fn rates_in_bytes_and_targets_above_intervals_are_said() {
    use Severity::{Note, Warning};
    let class = |words: &str| {
        format!(
            "tc qdisc add dev eth0 root handle 1: htb default 1\ntc class add dev eth0 parent 1: classid 1:1 htb quantum 1514 {words}"
        )
    };
    each(&[
        (
            class("rate 10mbps"),
            Note,
            "bytes-a-second",
            2,
            "`10mbps` is 80mbit: `bps` counts bytes a second; write `10mbit`",
        ),
        (class("rate 1mbit ceil 250KBps"), Note, "bytes-a-second", 2, "`250KBps` is 2mbit"),
        (class("rate 10mbps ceil 10mbit"), Warning, "ceil-under-rate", 2, "80mbit"),
        (
            "tc qdisc add dev eth0 root tbf rate 1mbps burst 50kb latency 10ms".to_owned(),
            Note,
            "bytes-a-second",
            1,
            "8mbit",
        ),
        (
            "tc qdisc add dev eth0 root codel target 100ms".to_owned(),
            Warning,
            "target-over-interval",
            1,
            "`interval 100ms`",
        ),
        (
            "tc qdisc add dev eth0 root fq_codel interval 5ms".to_owned(),
            Warning,
            "target-over-interval",
            1,
            "`target 5ms`",
        ),
        (
            class("rate 10mbit") + "\ntc qdisc add dev eth0 parent 1:1 fq_codel target 500ms interval 100ms",
            Warning,
            "target-over-interval",
            3,
            "`target 500ms` is not below `interval 100ms`",
        ),
    ]);
    for plain in [
        class("rate 10mbit"),
        "tc qdisc add dev eth0 root fq_codel target 20ms interval 200ms".to_owned(),
        "tc qdisc add dev eth0 root fq_codel target 0 interval 0".to_owned(),
    ] {
        assert_eq!(findings(&plain), [], "{plain}");
    }
}

/// Of a percentage `tc` knows the device's speed, and a script does not.
#[test]
fn percentages_of_the_speed_are_taken_and_not_imported() {
    let htb = "tc qdisc add dev eth0 root handle 1: htb default 1\ntc class add dev eth0 parent 1: classid 1:1 htb quantum 1514";
    let taken = [
        format!("{htb} rate 50%"),
        format!("{htb} rate 5.5% ceil 100%"),
        "tc qdisc add dev eth0 root tbf rate 1% burst 500kb latency 10ms".to_owned(),
        "tc qdisc add dev eth0 root netem rate 10%".to_owned(),
        "tc qdisc add dev eth0 root handle 1: hfsc default 1\ntc class add dev eth0 parent 1: classid 1:1 hfsc sc m1 10% d 10ms m2 5%".to_owned(),
    ];
    for text in taken {
        let found = findings(&text);
        assert!(found.iter().all(|(of, ..)| *of != Severity::Error), "{text}\n{found:?}");
        let why = imported(&text, &[]).expect_err("no rate is known");
        assert!(why.contains("the device's speed"), "{text}\n{why}");
        assert!(
            !why.contains("has no `rate`") && found.iter().all(|(.., said)| !said.contains("has no `rate`"))
        );
    }
    for refused in [
        format!("{htb} rate 101%"),
        format!("{htb} rate 0%"),
        format!("{htb} rate -5%"),
        "tc qdisc add dev eth0 root cake bandwidth 10%".to_owned(),
        "tc qdisc add dev eth0 root fq low_rate_threshold 1%".to_owned(),
    ] {
        let found = findings(&refused);
        assert!(found.iter().any(|(of, ..)| *of == Severity::Error), "{refused}\n{found:?}");
    }
}

/// Zero stands for the default of these words: it is neither doubted nor imported.
#[test]
fn zeros_that_stand_for_defaults_are_left_out() {
    let htb = "tc qdisc add dev eth0 root handle 1: htb default 1\ntc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit";
    let mut same = vec![(format!("{htb} quantum 0"), htb.to_owned())];
    for (kind, words) in [
        ("fq_codel", "limit 0 flows 0 target 0 interval 0 quantum 0 drop_batch 0"),
        ("codel", "limit 0 target 0 interval 0"),
        ("pie", "limit 0 target 0 tupdate 0 alpha 0 beta 0"),
        ("sfq", "quantum 0 flows 0 depth 0"),
    ] {
        let root = format!("tc qdisc add dev eth0 root {kind}");
        same.push((format!("{root} {words}"), root));
    }
    for (zero, without) in same {
        let scenario = |text: &str| {
            let text = imported(text, &[]).unwrap_or_else(|why| panic!("{text}\n{why}"));
            text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(scenario(&zero), scenario(&without), "{zero}");
        assert_eq!(findings(&zero), findings(&without), "{zero}");
    }
}

/// The transmit queues of a `mq` are one queue of a port, if they are the same.
#[test]
fn equal_transmit_queues_are_one_and_others_are_refused() {
    let mq = |queues: &[&str]| {
        queues
            .iter()
            .enumerate()
            .fold("tc qdisc add dev eth0 root handle 1: mq\n".to_owned(), |text, (at, queue)| {
                text + &format!("tc qdisc add dev eth0 parent 1:{} {queue}\n", at + 1)
            })
    };
    let one = imported("tc qdisc add dev eth0 root fq_codel limit 100", &[]).expect("a script");
    let body = |text: &str| text.split("\ntitle").nth(1).expect("a scenario").to_owned();
    for number in [1, 2, 4] {
        let text = mq(&vec!["fq_codel limit 100"; number]);
        let found = imported(&text, &[]).unwrap_or_else(|why| panic!("{text}\n{why}"));
        assert_eq!(body(&found), body(&one), "{text}");
        assert!(found.contains("it has a queue for each of the device's transmit queues"), "{found}");
        assert_eq!(
            found.matches("it is a further transmit queue of the device").count(),
            number - 1,
            "{found}"
        );
        assert_eq!(findings(&text), [], "{text}");
    }
    for queues in [&["fq_codel limit 100", "fq_codel limit 200"][..], &["fq_codel", "codel"], &[]] {
        let why = imported(&mq(queues), &[]).expect_err("queues that differ");
        assert!(why.contains("disciplines that differ, or none"), "{why}");
    }
}

/// What `tc` takes and no scenario has is told with what is nearest, and is no doubt of the script.
#[test]
fn kinds_and_tags_without_a_place_are_named_with_what_is_nearest() {
    for (words, nearest) in [
        ("qdisc add dev eth0 root fq", "`fq_codel` shares a line"),
        ("qdisc add dev eth0 root fq maxrate 10mbit quantum 3000", "`fq_codel` shares a line"),
        ("qdisc add dev eth0 root mqprio num_tc 2 map 0 1 queues 1@0 1@1 hw 0", "`prio` leads them"),
        ("qdisc add dev eth0 root hhf", "`fq_codel`"),
    ] {
        let text = format!("tc {words}\n");
        let why = imported(&text, &[]).expect_err(words);
        assert!(why.contains("has no place in a scenario") && why.contains(nearest), "{why}");
        let found = findings(&text);
        assert!(matches!(found.as_slice(), [(Severity::Note, "unread", 1, _)]), "{found:?}");
    }
    let filter = |words: &str| {
        format!("{ROOT}tc filter add dev eth0 parent 1: protocol 802.1q flower {words} classid 1:10\n")
    };
    for words in ["vlan_id 10", "vlan_prio 5", "vlan_id 10 vlan_ethtype 802.1q cvlan_id 5 cvlan_prio 2"] {
        let why = imported(&filter(words), &[]).expect_err(words);
        assert!(why.contains("its packets have no tags; give the flows a `dscp`"), "{why}");
        let found = findings(&filter(words));
        assert!(found.iter().all(|(of, ..)| *of != Severity::Error), "{words}: {found:?}");
    }
    for words in
        ["vlan_prio 8", "vlan_id 4096", "vlan_id 1 cvlan_id 5", "vlan_id 1 vlan_ethtype 802.1q cvlan_id 4096"]
    {
        let found = findings(&filter(words));
        assert!(found.iter().any(|(of, ..)| *of == Severity::Error), "{words}: {found:?}");
    }
}

#[test]
fn filters_that_a_packet_reaches_are_not_called_hidden() {
    let filter = |rest: &str| format!("tc filter add dev eth0 parent 1: protocol ip {rest}\n");
    for filters in [
        // Half of the addresses, or only with some bits of ECN.
        [
            "prio 1 u32 match ip dst 10.1.2.0/25 flowid 1:10",
            "prio 2 u32 match ip dst 10.1.2.0/24 flowid 1:20",
        ],
        ["prio 1 u32 match ip tos 0xb9 0xff flowid 1:10", "prio 2 u32 match ip tos 0xb8 0xfc flowid 1:20"],
        [
            "prio 1 u32 match ip dport 5060 0xffff flowid 1:10",
            "prio 2 u32 match ip protocol 17 0xff flowid 1:20",
        ],
        ["prio 1 handle 1 fw classid 1:10", "prio 2 handle 2 fw classid 1:20"],
    ] {
        let text = format!("{ROOT}{}", filters.map(filter).concat());
        let found = findings(&text);
        assert!(found.iter().all(|(_, rule, ..)| *rule != "filter-hidden"), "{text}\n{found:?}");
    }
}
