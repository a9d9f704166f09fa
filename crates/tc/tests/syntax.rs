//! Commands are printed and read again, problems have their places, and noise causes no panic.

use lockgate_tc::language::Word;
use lockgate_tc::value::ValueType;
use lockgate_tc::{Environment, Headers, Kind, Position, import, parse};
use proptest::prelude::*;
use proptest::sample::select;

/// A tree with comments and a continued line.
const TREE: &str = "\
# The uplink.
tc qdisc add dev sl0 root handle 1: htb default 20   # the rest goes to 1:20
tc class add dev sl0 parent 1: classid 1:10 htb rate 5mbit ceil 10mbit \\
    burst 1600 prio 1
class replace dev sl0 classid 1:20 htb rate 5000kbit buffer 1600
tc qdisc add dev sl0 parent 1:10 handle 10: fq_codel noecn target 5ms
tc filter add dev sl0 parent 1: protocol ip prio 1 u32 match ip dport 9000 0xffff match u8 0x10 0xff at nexthdr+1 flowid :10
tc filter add dev sl0 parent 1: flower ip_proto tcp src_ip 10.0.0.0/255.255.0.0 dst_port 80-90 skip_hw classid 1:10
tc filter add dev sl0 parent 1: handle 6 fw flowid 1:10
";

const CANONICAL: &str = "\
tc qdisc add dev sl0 root handle 1: htb default 20
tc class add dev sl0 parent 1: classid 1:10 htb rate 5mbit ceil 10mbit burst 1600 prio 1
tc class replace dev sl0 parent 1: classid 1:20 htb rate 5mbit burst 1600
tc qdisc add dev sl0 parent 1:10 handle 10: fq_codel noecn target 5ms
tc filter add dev sl0 parent 1: protocol ip prio 1 u32 match ip dport 9000 0xffff match u8 0x10 0xff at nexthdr+1 flowid 1:10
tc filter add dev sl0 parent 1: flower ip_proto tcp src_ip 10.0.0.0/16 dst_port 80-90 skip_hw flowid 1:10
tc filter add dev sl0 parent 1: handle 6 fw flowid 1:10
";

#[test]
fn commands_are_printed_in_canonical_form() {
    let commands = parse(TREE).expect("understood");
    assert_eq!(commands.to_string(), CANONICAL);
    assert_eq!(parse(CANONICAL), Ok(commands.clone()));
    let class = commands.classes().next().expect("a class");
    assert_eq!(class.settings[2].name.at, Position { line: 4, column: 5 });
}

#[test]
fn every_problem_has_its_place() {
    for (text, expected) in [
        ("ip link set dev r1", "line 1, column 1: `ip` is not understood"),
        ("tc qdisc del dev sl0 root", "line 1, column 10: `qdisc del`"),
        ("tc qdisc add root pfifo", "line 1, column 10: a command names its device"),
        ("tc qdisc add dev sl0 root", "line 1, column 22: a discipline has a kind"),
        ("tc qdisc add dev sl0 pfifo", "line 1, column 22: a discipline is at the `root`"),
        ("tc qdisc add dev sl0 root frobnicate", "line 1, column 27: kind `frobnicate`"),
        ("tc qdisc add dev sl0 root handle x: pfifo", "line 1, column 34: `x:` is not a handle"),
        (
            "tc qdisc add dev sl0 root \\\n  pfifo limit x",
            "line 2, column 15: `limit x`: `limit` takes a number",
        ),
        ("tc class add dev sl0 parent 1: drr", "line 1, column 32: a class has a `classid`"),
        ("tc class add dev sl0 classid 1:1 prio", "classes of `prio` are not set by commands"),
        ("tc filter add dev sl0 parent 1: matchall", "names its class by `flowid`"),
        ("tc filter add dev sl0 parent 1: route flowid 1:1", "filters of kind `route`"),
        ("tc class add dev sl0 classid 1:1 hfsc rt umax 5", "`rt` takes a service curve"),
    ] {
        let problems = parse(text).expect_err(text).to_string();
        assert!(problems.starts_with(expected) || problems.contains(expected), "{text}: {problems}");
    }
    let problems = parse("qdisc add dev a root x\n\nqdisc add dev a root y").expect_err("two problems");
    assert_eq!(problems.iter().map(|problem| problem.at.line).collect::<Vec<_>>(), [1, 3]);
}

const DRR: &str = "\
qdisc add dev sl0 root handle 10: drr
class add dev sl0 parent 10: classid 10:1 drr quantum 1500
qdisc add dev sl0 parent 10:1 handle 21: pfifo limit 50
";

#[test]
fn trees_that_would_lose_an_object_are_refused() {
    let environment = Environment { hz: 250, flows: &[] };
    for (line, part) in [
        ("qdisc add dev sl0 parent 10:2 handle 10: pfifo", "handle `10:`"),
        ("qdisc add dev sl0 parent 30:2 handle 31: pfifo", "`30:2`, which is not there"),
        ("qdisc add dev sl0 parent 10:1 handle 31: pfifo", "two disciplines"),
        ("qdisc add dev r1 parent 10:2 pfifo", "only one device"),
        ("qdisc change dev sl0 parent 10:1 pfifo", "changed later"),
        ("class add dev sl0 parent 10:7 classid 10:8 drr quantum 1", "`10:7`, which is not there"),
        ("class add dev sl0 parent 10: classid 10:2 htb rate 1mbit", "not a discipline of kind `htb`"),
        ("class add dev sl0 parent 10: classid 10:1 drr quantum 1", "number of its own"),
        ("class change dev sl0 classid 10:1 drr quantum 1", "changed later"),
        ("filter add dev sl0 parent 20: matchall flowid 20:1", "not a discipline"),
        ("filter add dev sl0 parent 10: matchall flowid 20:1", "not a class of `10:`"),
        ("filter add dev sl0 parent 10: protocol ipv6 matchall flowid 10:1", "`protocol ipv6` is not `ip`"),
    ] {
        let commands = parse(&format!("{DRR}{line}")).expect("a command");
        let problems = import(&commands, &environment).expect_err(line);
        assert!(problems.to_string().contains(part), "{line}: {problems}");
        assert!(problems.iter().any(|problem| problem.at.line == 4), "{line}: {problems}");
    }
    assert!(import(&parse("").expect("nothing"), &environment).is_err());
}

#[test]
fn filters_without_a_preference_are_tried_last_added_first() {
    let filters = "\
filter add dev sl0 parent 10: u32 match ip dport 0 0 flowid 10:1
class add dev sl0 parent 10: classid 10:2 drr quantum 1500
filter add dev sl0 parent 10: u32 match ip dport 9000 0xffff flowid 10:2
";
    let flow = Headers {
        name: "f".to_owned(),
        protocol: 17,
        addresses: None,
        source_port: None,
        destination_port: 9000,
        tos: 0,
        has_fixed_ecn: true,
        length: None,
    };
    let commands = parse(&format!("{DRR}{filters}")).expect("commands");
    let port = import(&commands, &Environment { hz: 250, flows: &[flow] }).expect("a port");
    let text = port.table().to_string();
    assert!(text.contains(r#"children = ["class-10-2", "class-10-1"]"#), "{text}");
}

/// Returns a value of this type, in one of its spellings.
fn value(takes: ValueType) -> BoxedStrategy<String> {
    match takes {
        ValueType::Flag | ValueType::Switch => Just(String::new()).boxed(),
        ValueType::Rate => ("[0-9]{1,6}", select(vec!["", "kbit", "mbit", "bps", "Kibit"]))
            .prop_map(|(number, unit)| number + unit)
            .boxed(),
        ValueType::Size => ("[0-9]{1,6}", select(vec!["", "b", "k", "mb"])).prop_map(|(a, b)| a + b).boxed(),
        ValueType::Offset => "-?[0-9]{1,4}".boxed(),
        ValueType::Time | ValueType::Seconds => {
            ("[0-9]{1,4}(\\.[0-9]{1,3})?", select(vec!["", "us", "ms", "s"]))
                .prop_map(|(number, unit)| number + unit)
                .boxed()
        }
        ValueType::Packets | ValueType::Number => "[0-9]{1,9}".boxed(),
        ValueType::Mask => "0x[0-9a-f]{1,8}".boxed(),
        ValueType::Real => "-?[0-9]\\.[0-9]{1,9}(e-?[0-9]{1,2})?".boxed(),
        ValueType::Percent => "[0-9]{1,2}(\\.[0-9])?%".boxed(),
        ValueType::Threshold => "[0-9]{1,3}(ms|p)".boxed(),
        ValueType::Choice(words) => select(words).prop_map(str::to_owned).boxed(),
        ValueType::Numbers | ValueType::Sizes => "[0-9]{1,3}( [0-9]{1,3}){0,5}".boxed(),
        ValueType::Minor => "[0-9a-f]{1,4}".boxed(),
        ValueType::Curve => "(m1 [0-9]{1,3}mbit d [0-9]{1,3}ms )?m2 [0-9]{1,3}kbit".boxed(),
    }
}

/// Returns a value of a setting that the kernel takes.
fn value_of(kind: Kind, word: &Word) -> BoxedStrategy<String> {
    match kind.range(word.name) {
        Some([least, most]) => (least as i64..=most as i64).prop_map(|number| number.to_string()).boxed(),
        None => value(word.value_type.expect("a word of a syntax tree")),
    }
}

fn settings(kind: Kind, words: &'static [Word]) -> BoxedStrategy<String> {
    let words: Vec<_> = words.iter().filter(|word| word.value_type.is_some()).collect();
    if words.is_empty() {
        return Just(String::new()).boxed();
    }
    let setting =
        select(words).prop_flat_map(move |word| value_of(kind, word).prop_map(move |value| (word, value)));
    let text = |settings: Vec<(&Word, String)>| {
        settings.iter().flat_map(|(word, value)| [" ", word.name, " ", value]).collect::<String>()
    };
    proptest::collection::vec(setting, 0..5).prop_map(text).boxed()
}

fn command() -> impl Strategy<Value = String> {
    let object = |kind: Kind| {
        let (name, language) = (kind.name(), kind.language());
        let qdisc =
            settings(kind, language.qdisc).prop_map(move |text| format!("qdisc add dev x root {name}{text}"));
        let class = settings(kind, language.class.unwrap_or_default())
            .prop_map(move |text| format!("class add dev x parent 1: classid 1:a {name}{text}"));
        if language.class.is_some() { prop_oneof![qdisc, class].boxed() } else { qdisc.boxed() }
    };
    select(Kind::ALL).prop_flat_map(object)
}

proptest! {
    #[test]
    fn printed_commands_are_read_again(text in command()) {
        let commands = parse(&text).expect("commands of the vocabulary are understood");
        let printed = commands.to_string();
        prop_assert_eq!(&parse(&printed).expect("a printed command is understood"), &commands);
        prop_assert_eq!(parse(&printed).expect("as above").to_string(), printed);
        let _ = import(&commands, &Environment { hz: 250, flows: &[] });
    }

    #[test]
    fn noise_causes_no_panic(text in "(tc|qdisc|add|filter|class|dev|x|1:|1:10|\\\\|#|\n|u32|match|ip|flower|parent|0x|[ \t])*") {
        let _ = parse(&text);
    }

    #[test]
    fn arbitrary_text_causes_no_panic(text in any::<String>()) {
        if let Ok(commands) = parse(&text) {
            prop_assert_eq!(parse(&commands.to_string()), Ok(commands));
        }
    }
}
