//! Every word of a command is in the scenario, or "Left out" names it.
//!
//! The law is tested from both ends: a word that the import takes changes the scenario, and the words that it
//! does not take are those that the lines of "Left out" quote.

use std::fmt::Write as _;

use lockgate_engine::units::Duration;
use lockgate_tc::lint::{self, Machine, Severity};
use lockgate_tc::value::ValueType;
use lockgate_tc::{Kind, Options, Request, convert, read};

/// Returns the scenario of commands, or the problems in one text.
fn scenario(text: &str, device: Option<&str>) -> Result<String, String> {
    let options = Options { device: device.map(str::to_owned), ..Options::default() };
    let request =
        Request { text, origin: "", definitions: &[], options: &options, rate: None, is_lenient: false };
    convert(&request).map(|converted| converted.scenario).map_err(|problems| problems.to_string())
}

/// Splits a scenario into its head and its body.
fn parts(scenario: &str) -> (&str, &str) {
    scenario.split_once("\n\n").expect("a head")
}

/// Returns the numbers of the head: words of all commands, and those that are left out.
fn counted(head: &str) -> Option<(usize, usize)> {
    let line = head.lines().find_map(|line| line.strip_prefix("# Words of commands: "))?;
    let mut numbers =
        line.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// Checks the account of a text: as many words are left out as the head quotes, of as many as there are.
fn check_account(text: &str, head: &str) {
    let commands = read(text, &[], "eth0").commands;
    let (mut all, mut quoted) = (0, 0);
    for command in &commands.0 {
        let words = command.object.words();
        all += words.all.iter().map(Vec::len).sum::<usize>();
        if head.contains(&format!("`tc {}`", words.whole()))
            || head.contains(&format!("`{}`, another", *command.device))
        {
            quoted += words.all.iter().map(Vec::len).sum::<usize>();
            continue;
        }
        for option in 1..words.all.len() {
            let is_quoted = head.contains(&format!("`{}`", words.text(option)));
            quoted += if is_quoted { words.all[option].len() } else { 0 };
        }
    }
    match counted(head) {
        Some(counted) => assert_eq!(counted, (all, quoted), "{text}\n{head}"),
        None => assert_eq!(quoted, 0, "{text}\n{head}"),
    }
}

/// Words that a discipline needs, and its class.
fn needs(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Cbq => {
            ("bandwidth 10mbit avpkt 1000", "bandwidth 10mbit rate 1mbit allot 1514 avpkt 1000 prio 3")
        }
        Kind::Choke => ("limit 200 min 20 max 60 avpkt 1000 burst 30 bandwidth 10mbit", ""),
        Kind::Hfsc => ("default 10", "ls m2 1mbit"),
        Kind::Htb => ("default 10", "rate 1mbit"),
        Kind::Red => {
            ("limit 100000 min 10000 max 30000 avpkt 1000 burst 20 bandwidth 10mbit probability 0.02", "")
        }
        Kind::Tbf => ("rate 1mbit burst 5000 limit 20000", ""),
        Kind::Ets => ("bands 3", ""),
        _ => ("", ""),
    }
}

/// Returns a word with a value that is no default.
fn with_value(name: &str, value_type: ValueType) -> String {
    let value = match value_type {
        ValueType::Flag | ValueType::Switch => "",
        ValueType::Rate => "3mbit",
        ValueType::Size => "2300",
        ValueType::Offset => "7",
        ValueType::Time => "23ms",
        ValueType::Seconds | ValueType::Number => "4",
        ValueType::Packets => "123",
        ValueType::Threshold => "7p",
        ValueType::Mask => "0xf0",
        ValueType::Real => "0.03",
        ValueType::Percent => "7%",
        ValueType::Choice(_) => "atm",
        ValueType::Minor => "10",
        ValueType::Numbers => "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        ValueType::Sizes => "2000 3000 4000",
        ValueType::Curve => "m2 1mbit",
    };
    format!("{name} {value}").trim_end().to_owned()
}

/// Returns the words without the one of a name and its value.
fn without(words: &str, name: &str) -> String {
    let mut all: Vec<&str> = words.split(' ').collect();
    if let Some(index) = all.iter().position(|word| *word == name) {
        all.drain(index..(index + 2).min(all.len()));
    }
    all.join(" ")
}

/// A root, and a meter of what arrives, beside which a hook stands.
const METERED: &str = "tc qdisc add dev eth0 root handle 1: pfifo limit 9
tc filter add dev eth0 parent ffff: protocol all prio 1 u32 match u32 0 0 police rate 1mbit burst 9k drop flowid :1
";

#[test]
fn each_word_of_each_kind_changes_the_scenario_or_is_named() {
    let (mut taken, mut named, mut refused) = (0, 0, 0);
    for kind in Kind::ALL.iter().copied() {
        let (own, class) = needs(kind);
        let language = kind.language();
        let (name, classes) = (language.name, language.class.unwrap_or_default());
        let of_class = classes.iter().map(|word| (word, true));
        for (word, is_of_class) in language.qdisc.iter().map(|word| (word, false)).chain(of_class) {
            let Some(value_type) = word.value_type else { continue };
            for added in core::iter::once(word.name).chain(word.synonyms.iter().copied()) {
                let added = with_value(added, value_type);
                let line = |own: &str, class: &str| {
                    if kind.is_hook() {
                        return format!("{METERED}tc qdisc add dev eth0 {name} {own}\n");
                    }
                    let mut text = format!("tc qdisc add dev eth0 root handle 1: {name} {own}\n");
                    if is_of_class && kind == Kind::Ets {
                        let _ = writeln!(text, "tc class change dev eth0 classid 1:1 {name} {class}");
                    }
                    if kind.has_explicit_classes() {
                        let _ = writeln!(text, "tc class add dev eth0 parent 1: classid 1:10 {name} {class}");
                        text.push_str(
                            "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 53 0xffff flowid 1:10\n",
                        );
                    }
                    text
                };
                let plain = |words: &str| {
                    if words.split(' ').any(|one| one == word.name) {
                        without(words, word.name)
                    } else {
                        words.to_owned()
                    }
                };
                let (before, text) = if is_of_class {
                    (line(own, &plain(class)), line(own, &format!("{} {added}", plain(class))))
                } else {
                    (line(&plain(own), class), line(&format!("{} {added}", plain(own)), class))
                };
                let Ok(scenario) = scenario(&text, None).inspect_err(|problem| {
                    assert!(problem.contains(word.name) || problem.contains(name), "{text}{problem}");
                }) else {
                    refused += 1;
                    continue;
                };
                let head = parts(&scenario).0;
                check_account(&text, head);
                let is_named = head.contains(&format!("`{added}`"))
                    || head.contains(&format!("`{}", with_value(word.name, value_type)));
                let base = self::scenario(&before, None).unwrap_or_default();
                let is_changed = base != scenario;
                assert!(is_named || is_changed, "`{added}` of `{name}` is lost:\n{text}{scenario}");
                taken += usize::from(!is_named);
                named += usize::from(is_named);
            }
        }
    }
    println!("{taken} words change the scenario, {named} are named, {refused} are problems");
    assert!(taken > 150 && named > 15, "{taken} taken, {named} named, {refused} refused");
}

/// Commands that no part of the scenario has.
#[test]
fn commands_without_a_place_are_named() {
    let root = "tc qdisc add dev eth0 root handle 1: htb default 10\ntc class add dev eth0 parent 1: classid 1:1 htb rate 9mbit\ntc class add dev eth0 parent 1:1 classid 1:10 htb rate 1mbit\n";
    let cases = [
        ("tc qdisc add dev eth0 parent 1:1 handle 30: fq_codel", "the kernel removes it"),
        (
            "tc filter add dev eth0 parent 1: protocol ipv6 prio 3 u32 match ip6 dst 2001:db8::/32 flowid 1:10",
            "IPv4",
        ),
        ("tc qdisc add dev eth1 root pfifo limit 7", "another device"),
        ("tc qdisc add dev eth2 root handle 7: fq_codel", "another device"),
        (
            "tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match u32 0 0 flowid 1:1",
            "another device",
        ),
        ("tc qdisc add dev eth0 ingress", "neither queued nor metered"),
        ("tc qdisc add dev eth0 handle ffff: ingress", "neither queued nor metered"),
    ];
    let (mut lines, mut words) = (0, 0);
    for (command, why) in cases {
        let text = format!("{root}{command}\n");
        let Ok(scenario) = scenario(&text, Some("eth0")) else { continue };
        let head = parts(&scenario).0;
        assert!(head.contains(why), "{text}{head}");
        check_account(&text, head);
        lines += 1;
        words += command.split(' ').count();
    }
    assert!(lines >= 4, "{lines} lines, {words} words");
    let leaf = "tc qdisc add dev eth0 root handle 1: LEAF\ntc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 6881 0xffff action skbedit priority 1:1\n";
    for kind in ["cake bandwidth 20mbit diffserv3", "fq_codel", "sfq"] {
        let text = leaf.replace("LEAF", kind);
        let scenario = scenario(&text, None).expect("a scenario");
        let head = parts(&scenario).0;
        assert!(head.contains("match ip dport 6881 0xffff action skbedit priority 1:1`"), "{head}");
        check_account(&text, head);
    }
}

/// Words that count, show or choose hardware.
#[test]
fn words_beside_the_queue_are_named() {
    let text = "tc qdisc add dev eth0 root handle 1: stab mtu 2047 tsize 512 mpu 64 overhead 44 linklayer atm htb default 10
tc class add dev eth0 parent 1: classid 1:10 est 1sec 8sec htb rate 1mbit
tc qdisc add dev eth0 parent 1:10 handle 10: est 1sec 8sec pfifo limit 7
tc filter add dev eth0 parent 1: protocol ip prio 1 matchall skip_hw flowid 1:10
";
    let scenario = scenario(text, None).expect("a scenario");
    let head = parts(&scenario).0;
    for part in
        ["`mtu 2047`", "`tsize 512`", "line 2, `est 1sec 8sec`", "line 3, `est 1sec 8sec`", "`skip_hw`"]
    {
        assert!(head.contains(part), "{part}\n{head}");
    }
    check_account(text, head);
    // A later line replaces or deletes it.
    let text = "tc qdisc add dev eth0 root pfifo limit 5\ntc qdisc replace dev eth0 root fq_codel limit 7\ntc qdisc replace dev eth0 root fq_codel quantum 600\n";
    let replaced = self::scenario(text, None).expect("a scenario");
    assert!(
        replaced.contains("`tc qdisc add dev eth0 root pfifo limit 5`: a later line replaces it"),
        "{replaced}"
    );
    assert!(replaced.contains("limit = \"7p\"") && replaced.contains("quantum = "), "{replaced}");
}

#[test]
fn netem_acts_on_one_direction() {
    let there = scenario("tc qdisc add dev eth0 root netem delay 100ms loss 5%\n", None).expect("a scenario");
    assert!(there.contains("delay = { up = \"100ms\", down = \"0ns\" }"), "{there}");
    assert!(there.contains("loss = { up = 0.05, down = 0 }"), "{there}");
    let both = "tc qdisc add dev eth0 root netem delay 40ms rate 8mbit
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol all prio 10 u32 match u32 0 0 action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root netem delay 60ms rate 20mbit limit 50
";
    let both = scenario(both, None).expect("a scenario");
    assert!(both.contains("delay = { up = \"40ms\", down = \"60ms\" }"), "{both}");
    assert!(both.contains("rate = { up = \"8mbit\", down = \"20mbit\" }"), "{both}");
    assert!(both.contains("the `limit` of `netem` counts them too"), "{both}");
}

/// A frame of 1514 bytes takes 1749 of the rate below this table, as Linux 6.1 reports ("overhead-adjusted
/// size"): 1540 bytes in 33 cells of ATM.
#[test]
fn cake_counts_by_the_table_of_sizes() {
    let stab = "tc qdisc add dev eth0 root stab mtu 2047 tsize 512 mpu 64 overhead 26 linklayer atm cake";
    for words in ["bandwidth 5mbit", "bandwidth 5mbit raw", "bandwidth 5mbit noatm mpu 0"] {
        let text = scenario(&format!("{stab} {words}\n"), None).expect("a scenario");
        let read = lockgate_scenario::read(&text, "a test", &std::collections::BTreeMap::new(), &[]);
        let read = read.expect("a scenario that is read");
        let port = read.ports.iter().find(|port| port.name == "here:there").expect("a port");
        let config = &port.tree.queues()[0].config;
        let value = |key: &str| config.get(key).map(|value| value.to_string().replace('"', ""));
        let found = ["overhead", "mpu", "framing", "raw"].map(value);
        assert_eq!(
            found,
            ["26B", "64B", "atm", "true"].map(|value| Some(value.to_owned())),
            "{words}: {text}"
        );
    }
    let sqm = "config queue\n\toption enabled '1'\n\toption interface 'wan'\n\toption upload '5000'\n\toption download '0'\n\t\
        option qdisc 'cake'\n\toption script 'piece_of_cake.qos'\n\toption linklayer 'atm'\n\toption overhead '44'\n\t\
        option linklayer_adaptation_mechanism 'tc_stab'\n";
    let text = scenario(sqm, None).expect("a scenario");
    assert!(text.contains("overhead = \"44B\", framing = \"atm\", raw = true"), "{text}");
    assert!(!text.contains("`overhead 44`"), "a word that is taken is not left out: {text}");
    let hfsc = "tc qdisc add dev eth0 root stab overhead 26 linklayer atm handle 1: hfsc default 1\n\
        tc class add dev eth0 parent 1: classid 1:1 hfsc sc rate 5mbit ul rate 5mbit\n";
    let text = scenario(hfsc, None).expect("a scenario");
    assert!(text.contains("of `hfsc`: its rates count frames as they are here"), "{text}");
    for words in ["overhead 44", "atm", "mpu 84", "pppoe-ptm"] {
        let problems = scenario(&format!("{stab} bandwidth 5mbit {words}\n"), None).expect_err(words);
        assert!(problems.contains("`stab` beside an overhead of `cake`"), "{words}: {problems}");
    }
}

/// Losses in bursts, jitter, copies, reordering and slots become keys of the direction.
#[test]
fn netem_varies_one_direction() {
    let text = "tc qdisc add dev eth0 root netem delay 100ms 10ms distribution normal loss gemodel 1% 20% duplicate 2%\n";
    let there = scenario(text, None).expect("a scenario");
    for part in [
        "delay = { up = \"60ms\", down = \"0ns\" }",
        "[link.line.up]\njitter = { distribution = \"normal\", mean = \"40ms\", std = \"10ms\" }\nkeep_order = false\n",
        "loss_bursts = { begin = 0.01, end = 0.2, bad = 1, good = 0 }",
        "duplicate = 0.02",
    ] {
        assert!(there.contains(part), "{part}\n{there}");
    }
    assert!(!there.contains("[link.line.down]"), "{there}");
    let text = "tc qdisc add dev eth0 root handle 1: netem delay 20ms 5ms reorder 25% slot 1ms 3ms packets 8 bytes 9000
tc qdisc add dev eth0 parent 1: handle 10: pfifo limit 50
";
    let below = scenario(text, None).expect("a scenario");
    assert!(below.contains("max = \"10ms\" }") && !below.contains("keep_order"), "{below}");
    assert!(below.contains("reorder = 0.25"), "{below}");
    let slots = "slots = { every = \"1ms\", up_to = \"3ms\", packets = \"8p\", bytes = \"9000B\" }";
    assert!(below.contains(slots), "{below}");
}

/// The kernel sends at once what its draw would have sent earlier, and its tables end at four deviations:
/// least, mean and largest delay in milliseconds of one hundred equally likely values, as the tables of
/// iproute2 have them.
#[test]
fn delays_of_netem_are_never_below_zero_and_end_with_their_table() {
    for (words, least, mean, most) in [
        ("delay 10ms 20ms", 0.0, 11.25, 29.8),
        ("delay 10ms 10ms distribution normal", 0.0, 10.83, 36.6),
        ("delay 10ms 10ms distribution pareto", 3.36, 9.66, 50.0),
        ("delay 100ms 10ms distribution pareto", 93.36, 99.66, 140.0),
        ("delay 1ms 20ms distribution pareto", 0.0, 5.57, 81.0),
    ] {
        let text =
            scenario(&format!("tc qdisc add dev eth0 root netem {words}\n"), None).expect("a scenario");
        let read = lockgate_scenario::read(&text, "a test", &std::collections::BTreeMap::new(), &[]);
        let link = &read.expect("a scenario that is read").links[0];
        let fixed = link.delay.as_secs_f64() * 1e3;
        let (_, values) = text.split_once("values = [").expect("values");
        let values: Vec<f64> = values[..values.find(']').expect("their end")]
            .split(", ")
            .map(|value| {
                value.trim_matches('"').parse::<Duration>().expect("a time").as_secs_f64() * 1e3 + fixed
            })
            .collect();
        let found = [values[0], values.iter().sum::<f64>() / 100.0, values[99]];
        for (found, expected) in found.into_iter().zip([least, mean, most]) {
            assert!((found - expected).abs() < 0.02 * expected + 0.01, "{words}: {found} for {expected}");
        }
    }
}

/// A limit of `netem` that does not hold what is on its way.
#[test]
fn a_limit_of_netem_that_is_too_small_is_found() {
    for (command, found) in [
        ("netem delay 100ms rate 50mbit limit 100", Some((Severity::Warning, "`limit 413`"))),
        ("netem delay 100ms rate 50mbit limit 500", None),
        ("netem delay 100ms", Some((Severity::Note, "up to 121120kbit"))),
        ("netem delay 1ms", None),
        ("netem loss 5%", None),
    ] {
        let reading = read(&format!("tc qdisc add dev eth0 root {command}\n"), &[], "eth0");
        let findings = lint::check(&reading, &Machine::default());
        let finding = findings.iter().find(|finding| finding.rule == "netem-limit");
        assert_eq!(finding.map(|finding| finding.severity), found.map(|(severity, _)| severity), "{command}");
        if let (Some(finding), Some((_, part))) = (finding, found) {
            assert!(format!("{} {}", finding.message, finding.help).contains(part), "{command}: {finding:?}");
        }
    }
}
