//! Impossible parameters of queues are refused at their field. Probable mistakes that the kernel accepts are
//! accepted with a warning.

use lockgate_scenario::{Override, Problem, read};

use crate::support::{BASE, files, outcome, rendered, rendered_one};

/// The table of the port, which follows [`BASE`] in line 13.
const PORT: &str = "[port.\"a->b\"]\n";

/// The text at the place, a part of the message, a part of the help.
type Said = (&'static str, &'static str, &'static str);

#[track_caller]
fn compare(said: &[Problem], expected: &[Said], is_error: bool, shown: &str) {
    assert_eq!(said.len(), expected.len(), "{shown}");
    for (problem, (at, message, help)) in said.iter().zip(expected) {
        assert_eq!(problem.text(), Some(*at), "{shown}");
        assert!(problem.message().contains(message), "`{message}` in:\n{shown}");
        assert!(problem.help_text().is_some_and(|text| text.contains(help)), "`{help}` in:\n{shown}");
        assert!(problem.is_error() == is_error && problem.position().is_some_and(|(line, _)| line > 13));
    }
}

/// Expects exactly these problems.
#[track_caller]
fn refused(queues: &str, expected: &[Said]) {
    let problems = outcome(&format!("{BASE}{PORT}{queues}")).expect_err("it was read without a problem");
    let said: Vec<Problem> = problems.iter().cloned().collect();
    compare(&said, expected, true, &rendered(&problems));
}

/// Expects exactly these warnings.
#[track_caller]
fn doubted(queues: &str, expected: &[Said]) {
    let scenario = outcome(&format!("{BASE}{PORT}{queues}"))
        .unwrap_or_else(|problems| panic!("{}", rendered(&problems)));
    let shown: String = scenario.warnings.iter().map(rendered_one).collect();
    compare(&scenario.warnings, expected, false, &shown);
}

/// A root with two leaves.
fn two(root: &str, x: &str, y: &str) -> String {
    format!(
        "queue.root = {{ {root}, children = [\"x\", \"y\"] }}\n\
         queue.x = {{ kind = \"fifo\", {x}, match = [{{ dscp = 1 }}] }}\n\
         queue.y = {{ kind = \"fifo\", {y} }}\n"
    )
}

#[test]
fn what_cannot_be_is_refused_at_its_field() {
    for kind in ["stfq", "scfq", "wf2q+", "qfq", "wrr", "wfq-altq"] {
        let text = two(&format!("kind = \"{kind}\""), "weight = 0", "weight = 1");
        refused(&text, &[("0", "`weight` of the queue `x` must be at least `1`", "never send")]);
    }
    for (config, expected) in [
        (
            "strict = 3",
            ("3", "`strict` of the queue `root` is at most the number of bands, 2", "lockgate list ets"),
        ),
        (
            "bands = 3",
            ("3", "`bands` of the queue `root` must be the number of children, 2", "lockgate list ets"),
        ),
        (
            "strict = 1, quanta = [\"2kB\", \"1kB\"]",
            (
                "[\"2kB\", \"1kB\"]",
                "`quanta` of the queue `root` has an entry for each band",
                "at most 1 here",
            ),
        ),
        (
            "priomap = [0, 2]",
            ("[0, 2]", "`priomap` of the queue `root` names bands from 0 to 1", "lockgate list ets"),
        ),
    ] {
        refused(&two(&format!("kind = \"ets\", {config}"), "", "").replace(", ,", ","), &[expected]);
    }
    let strict = [(
        "\"2kB\"",
        "`quantum` of the queue `x` is for bands that share the bandwidth",
        "this one is strict",
    )];
    refused(&two("kind = \"ets\", strict = 1", "quantum = \"2kB\"", "quantum = \"2kB\""), &strict);
    let quantum = [("\"0B\"", "`quantum` of the queue `x` must be at least `1B`", "never send")];
    refused(&two("kind = \"drr\"", "quantum = \"0B\"", "quantum = \"2kB\""), &quantum);
    refused(
        &two("kind = \"htb\"", "rate = \"1mbit\", quantum = \"999B\"", "rate = \"1mbit\""),
        &[("\"999B\"", "`quantum` of the queue `x` must hold a packet", "at least `1000B`")],
    );
    refused(
        &two("kind = \"htb\"", "rate = \"2mbit\", ceil = \"1mbit\"", "rate = \"1mbit\""),
        &[("\"1mbit\"", "`ceil` of the queue `x` must not be under `rate`, which is 2mbit", "")],
    );
    let limits = [
        "kind = \"fifo\", limit = \"0p\"",
        "kind = \"red\", limit = \"0B\", min = \"5kB\", max = \"15kB\"",
        "kind = \"sfq\", limit = \"0p\"",
        "kind = \"codel\", limit = \"0p\"",
        "kind = \"fq_codel\", limit = \"0p\"",
        "kind = \"pie\", limit = \"0p\"",
        "kind = \"tbf\", rate = \"1mbit\", burst = \"2kB\", limit = \"0p\"",
    ];
    for root in limits {
        let text = format!("queue.root = {{ {root} }}\n");
        let zero = if root.contains("0p") { "\"0p\"" } else { "\"0B\"" };
        refused(&text, &[(zero, "`limit` of the queue `root`", "")]);
    }
    refused(
        "queue.root = { kind = \"red\", min = \"9kB\", max = \"3kB\", limit = \"20kB\" }\n",
        &[("\"9kB\"", "`min` of the queue `root` must be below `max`", "")],
    );
}

#[test]
fn what_the_kernel_accepts_and_is_hardly_meant_is_warned_of() {
    doubted(
        &two("kind = \"drr\"", "quantum = \"255B\"", "quantum = \"256B\""),
        &[("\"255B\"", "`quantum` of the queue `x` is small for full frames", "make it `1514B` or more")],
    );
    let bands = |priomap: &str| {
        format!(
            "queue.root = {{ kind = \"ets\", quanta = [\"2kB\", \"255B\"], priomap = {priomap}, children = [\"x\", \"z\", \"y\"] }}\n\
             queue.x = {{ kind = \"fifo\", match = [{{ dscp = 1 }}] }}\n\
             queue.z = {{ kind = \"fifo\" }}\n\
             queue.y = {{ kind = \"fifo\" }}\n"
        )
    };
    let small = ("{ kind = \"fifo\" }", "`quantum` of the queue `z` is small for full frames", "`1514B`");
    doubted(&bands("[1]"), &[small]);
    // A band that neither the map names nor a rule selects gets nothing; the last band takes the rest.
    let unmapped = ("\"z\"", "`z` never gets a packet: it has no `match`, and `priomap`", "goes to the last");
    doubted(&bands("[0]"), &[unmapped, small]);
    let starved = ("\"y\"", "`y` never gets a packet: `z` before it takes all that comes", "or put it last");
    doubted(&bands("[]"), &[starved, small]);
    doubted(
        "queue.root = { kind = \"sfq\", quantum = \"255B\" }\n",
        &[("\"255B\"", "`quantum` of the queue `root` is small for full frames", "`1514B`")],
    );
    doubted(
        "queue.root = { kind = \"tbf\", rate = \"1mbit\", burst = \"1513B\" }\n",
        &[("\"1513B\"", "`burst` of the queue `root` drops the packets that are longer", "`1514B`")],
    );
    doubted(
        &two(
            "kind = \"htb\"",
            "rate = \"5mbit\", quantum = \"200001B\"",
            "rate = \"5mbit\", quantum = \"200kB\"",
        ),
        &[("\"200001B\"", "`quantum` of the queue `x` is large", "at most 200000B")],
    );
}

#[test]
fn a_limit_in_bytes_that_holds_no_full_frame_is_warned_of() {
    for kind in ["fifo", "pie", "codel"] {
        let queue =
            |limit: &str| format!("root = \"x\"\nqueue.x = {{ kind = \"{kind}\", limit = \"{limit}\" }}\n");
        doubted(&queue("1B"), &[("\"1B\"", "drops each frame of over 1B", "`1514B`")]);
        doubted(&queue("1514B"), &[]);
        doubted(&queue("1p"), &[]);
    }
}

#[test]
fn guarantees_that_sum_above_what_is_there_are_warned_of() {
    let classes = |campus: &str, guests: &str| {
        format!(
            "queue.root = {{ kind = \"htb\", children = [\"campus\", \"guests\"] }}\n\
             queue.campus = {{ kind = \"class\", rate = \"{campus}\", children = [\"x\", \"y\"], match = [{{ dscp = 1 }}] }}\n\
             queue.x = {{ kind = \"fifo\", rate = \"3mbit\", match = [{{ dscp = 1 }}] }}\n\
             queue.y = {{ kind = \"fifo\", rate = \"3mbit\" }}\n\
             queue.guests = {{ kind = \"fifo\", rate = \"{guests}\" }}\n"
        )
    };
    doubted(&classes("6mbit", "4mbit"), &[]);
    let (debt, link) = (
        "`rate` of the queue `campus` is under the 6mbit",
        "`children` of the queue `root` are guaranteed 10.001mbit",
    );
    doubted(&classes("5999kbit", "4mbit"), &[("\"5999kbit\"", debt, "raise it")]);
    doubted(&classes("6mbit", "4001kbit"), &[("[\"campus\", \"guests\"]", link, "lower their `rate`")]);

    let curves = |x: &str, y: &str| two("kind = \"hfsc\"", x, y);
    let above = [(
        "[\"x\", \"y\"]",
        "`children` of the queue `root` have `rt` curves that sum above the 10mbit",
        "deadlines",
    )];
    doubted(&curves("rt = \"6mbit\"", "rt = \"4mbit\""), &[]);
    doubted(&curves("rt = \"6mbit\"", "rt = \"4001kbit\""), &above);
    // Below the link in the long run, above it in the first 10 ms; and the same as `ls`, which promises
    // nothing.
    let steep = "{ m1 = \"9mbit\", d = \"10ms\", m2 = \"1mbit\" }";
    doubted(&curves(&format!("rt = {steep}"), "rt = \"2mbit\""), &above);
    doubted(&curves(&format!("rt = {steep}"), "rt = \"1mbit\""), &[]);
    doubted(&curves(&format!("ls = {steep}"), "ls = \"9mbit\""), &[]);
}

#[test]
fn a_ceiling_without_a_lender_is_warned_of() {
    let classes = |top: &str| {
        format!(
            "queue.root = {{ kind = \"htb\", children = [\"all\", \"guests\"] }}\n\
             queue.all = {{ kind = \"class\", rate = \"6mbit\", children = [\"x\", \"y\"], match = [{{ dscp = 1 }}] }}\n\
             queue.x = {{ kind = \"fifo\", rate = \"3mbit\", ceil = \"6mbit\", match = [{{ dscp = 1 }}] }}\n\
             queue.y = {{ kind = \"fifo\", rate = \"3mbit\" }}\n\
             queue.guests = {{ kind = \"fifo\", rate = \"1mbit\"{top} }}\n"
        )
    };
    doubted(&classes(""), &[]);
    doubted(
        &classes(", ceil = \"4mbit\""),
        &[(
            "\"4mbit\"",
            "`ceil` of the queue `guests` has no effect",
            "put the classes below one inner class",
        )],
    );
}

#[test]
fn a_value_that_queue_and_parent_both_read_is_warned_of() {
    let below = |x: &str| {
        two("kind = \"htb\"", "rate = \"5mbit\"", "rate = \"1mbit\"")
            .replace("kind = \"fifo\", rate = \"5mbit\"", x)
    };
    doubted(
        &below("kind = \"fq_codel\", quantum = \"300B\", rate = \"5mbit\""),
        &[(
            "quantum",
            "this `quantum` is `fq_codel`'s own: its parent `htb` has one too",
            "`share = { quantum = … }`",
        )],
    );
    doubted(
        &below("kind = \"fq_codel\", quantum = \"300B\", rate = \"5mbit\", share = { quantum = \"2kB\" }"),
        &[],
    );
    let cake = [
        ("overhead", "this `overhead` is `cake`'s own: its parent `htb`", "share"),
        ("mpu", "this `mpu` is `cake`'s own: its parent `htb`", "share"),
    ];
    let mut said = cake;
    said.sort_by_key(|(key, ..)| usize::from(*key != "mpu"));
    doubted(&below("kind = \"cake\", mpu = \"64B\", overhead = \"38B\", rate = \"5mbit\""), &said);
}

#[test]
fn a_link_that_no_packet_takes_is_warned_of() {
    let text = format!("{BASE}[link.spare]\nbetween = [\"b\", \"a\"]\nrate = \"1gbit\"\n");
    let scenario = outcome(&text).unwrap_or_else(|problems| panic!("{}", rendered(&problems)));
    let [warning] = scenario.warnings.as_slice() else { panic!("{:?}", scenario.warnings) };
    assert_eq!(warning.text(), Some("spare"));
    assert!(
        warning.message().starts_with("no packet takes `link.spare`: `wan` joins `b` and `a` too"),
        "{warning}"
    );
}

#[test]
fn what_is_meant_is_not_doubted() {
    // It sorts packets itself.
    let queues = "queue.root = { kind = \"run2c\", children = [\"short\", \"long\"] }\n\
                  queue.short = { kind = \"fifo\" }\nqueue.long = { kind = \"fifo\" }\n";
    doubted(queues, &[]);
    // The file's own root stands unused while an override names another.
    let text = format!(
        "{BASE}{PORT}root = \"one\"\nqueue.one = {{ kind = \"fifo\" }}\nqueue.two = {{ kind = \"sis\" }}\n"
    );
    let unused = |set: &str| {
        let scenario = read(&text, "test.toml", &files(), &[Override::parse(set).expect("an override")]);
        scenario.map(|scenario| scenario.warnings.len()).map_err(|problems| rendered(&problems))
    };
    assert_eq!(unused("port.a->b.root=two"), Ok(0));
    assert_eq!(unused("flow.f.gap=2ms"), Ok(1));
}

/// A capture with packets at these microseconds, of which `kept` bytes were kept and `original` there were.
fn capture(packets: &[(u32, u32, u32)]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut bytes = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1]);
    for (micros, kept, original) in packets {
        bytes.extend(words(&[*micros / 1_000_000, *micros % 1_000_000, *kept, *original]));
        bytes.extend(vec![0; *kept as usize]);
    }
    bytes
}

/// Expects exactly these warnings of a flow that replays `file`.
#[track_caller]
fn replayed(file: &[u8], replay: &str, expected: &[(&str, &str)]) {
    let text =
        format!("{BASE}\n[flow.r]\nfrom = \"a\"\nto = \"b\"\nreplay = {{ file = \"c.pcap\"{replay} }}\n");
    let mut files = files();
    files.insert("c.pcap".to_owned(), file.into());
    let scenario =
        read(&text, "test.toml", &files, &[]).unwrap_or_else(|problems| panic!("{}", rendered(&problems)));
    let shown: String = scenario.warnings.iter().map(rendered_one).collect();
    assert_eq!(scenario.warnings.len(), expected.len(), "{shown}");
    for (warning, (message, help)) in scenario.warnings.iter().zip(expected) {
        assert_eq!(warning.text(), Some("\"c.pcap\""), "{shown}");
        assert!(warning.message().contains(message), "`{message}` in:\n{shown}");
        assert!(warning.help_text().is_some_and(|text| text.contains(help)), "`{help}` in:\n{shown}");
    }
}

#[test]
fn what_a_capture_has_lost_is_said_with_its_number() {
    let whole = capture(&[(0, 60, 60), (100, 60, 60)]);
    replayed(&whole, "", &[]);
    replayed(
        &whole[..whole.len() - 1],
        "",
        &[("ends in the middle of a packet: 1 packets before it", "was cut")],
    );
    let odd = capture(&[(100, 60, 90_000), (0, 60, 60), (200, 40, 1500)]);
    replayed(
        &odd,
        "",
        &[
            ("has 1 packets longer than a frame can be", "offload"),
            ("has 1 packets with an earlier time", "reordercap"),
        ],
    );
    let offloaded = capture(&[(0, 1_522, 1_522), (100, 7_106, 7_106)]);
    let joined =
        ("has 1 packets longer than a frame of a line of 1500 bytes, up to 7106 bytes", "longest_frame");
    replayed(&offloaded, "", &[joined]);
    replayed(&offloaded, ", longest_frame = \"1514B\"", &[]);
    let mut carried = capture(&[(0, 60, 60), (100, 60, 60)]);
    // Fraction of the second packet, after the headers of the file and of both packets' times.
    carried[104..108].copy_from_slice(&1_000_100_u32.to_le_bytes());
    replayed(
        &carried,
        "",
        &[("has 1 packets whose time has a fraction of more than a second", "microseconds")],
    );
    let long = capture(&[(0, 60, 60), (1, 60, 60), (4_000_000, 60, 60)]);
    let shorter = [(
        "is longer than its flow: 2 of its 3 packets are sent",
        "it takes 40.000 s and the flow has 10.000 s",
    )];
    replayed(&long, ", speed = 0.1", &shorter);
    replayed(&long, "", &[]);
}

#[test]
fn a_flow_of_too_many_packets_is_doubted_with_their_number() {
    let gap = outcome(&BASE.replace("\"1ms\"", "\"0.001ns\"")).expect("it is accepted");
    assert_eq!(gap.warnings.len(), 1);
    assert_eq!(gap.warnings[0].message(), "`flow.f` sends about 1e13 packets");
    assert_eq!(gap.warnings[0].text(), Some("\"0.001ns\""));
    assert!(
        gap.warnings[0]
            .help_text()
            .is_some_and(|help| help.starts_with("to simulate them takes 23 days or so"))
    );
    let bounded = BASE.replace("\"1ms\"", "\"0.001ns\"\npackets = \"1000000p\"");
    assert!(outcome(&bounded).expect("it is accepted").warnings.is_empty());
    let later = format!("{BASE}[[change]]\nat = \"2s\"\nset = {{ \"flow.f.gap\" = \"1ps\" }}\n");
    let later = outcome(&later).expect("it is accepted");
    assert_eq!(later.warnings[0].message(), "`flow.f` sends about 8e12 packets");
}

#[test]
fn a_trace_that_begins_again_within_the_run_is_doubted() {
    let text = |duration: &str, trace: &str| {
        let trace = format!("trace = {{ down = \"{trace}\" }}\nrate = \"1mbit\"");
        BASE.replace("rate = \"10mbit\"", &trace).replace("\"10s\"", duration)
    };
    let long = outcome(&text("\"10s\"", "two-seconds.trace")).expect("it is accepted");
    assert_eq!(long.warnings.len(), 1);
    assert_eq!(
        long.warnings[0].message(),
        "the trace of `link.wan` is 2 s long and begins again: the run lasts 10 s"
    );
    // A run of its length, and a pattern of milliseconds.
    for (duration, trace) in [("\"2s\"", "two-seconds.trace"), ("\"10s\"", "lte.up")] {
        assert!(outcome(&text(duration, trace)).expect("it is accepted").warnings.is_empty(), "{trace}");
    }
}

/// Two shapers on one way: the one that never holds is doubted, by what a frame takes of each.
#[test]
fn a_rate_that_the_port_never_reaches_is_doubted() {
    let cake = |port: &str, queue: &str| format!("rate = {port}\nqueue.c = {{ kind = \"cake\", {queue} }}\n");
    let said = "never holds: the port sends no more than 9mbit";
    let help = "leave out `bandwidth` here, or `rate` of the port";
    for (port, bandwidth) in [("\"9mbit\"", "\"9mbit\""), ("\"9mbit\"", "\"20mbit\"")] {
        doubted(&cake(port, &format!("bandwidth = {bandwidth}")), &[(bandwidth, said, help)]);
    }
    doubted(&cake("\"9mbit\"", "bandwidth = \"8.9mbit\""), &[]);
    doubted(&cake("\"9mbit\"", "rtt = \"50ms\""), &[]);
    // The frames of the queue's rate are longer: it holds first.
    doubted(&cake("\"9mbit\"", "bandwidth = \"9mbit\", overhead = \"22B\""), &[]);
    doubted(&cake("\"9mbit\"\noverhead = \"22B\"", "bandwidth = \"9mbit\""), &[("\"9mbit\"", said, help)]);
    let tbf = "rate = \"9mbit\"\nqueue.t = { kind = \"tbf\", rate = \"10mbit\", burst = \"10kB\", children = [\"c\"] }\n\
               queue.c = { kind = \"cake\", bandwidth = \"9.5mbit\" }\n";
    doubted(
        tbf,
        &[
            ("\"10mbit\"", "`rate` of the queue `t`, 10mbit, never", "here"),
            ("\"9.5mbit\"", "queue `c`", help),
        ],
    );
}

/// Queues `x`, `y` and `z` with these matches, and a last one without.
fn sorted(x: &str, y: &str, z: &str) -> String {
    format!(
        "queue.root = {{ kind = \"drr\", children = [\"x\", \"y\", \"z\", \"rest\"] }}\n\
         queue.x = {{ kind = \"fifo\", match = [{x}] }}\n\
         queue.y = {{ kind = \"fifo\", match = [{y}] }}\n\
         queue.z = {{ kind = \"fifo\", match = [{z}] }}\n\
         queue.rest = {{ kind = \"fifo\" }}\n"
    )
}

#[test]
fn a_rule_whose_packets_earlier_ones_take_is_doubted() {
    let narrow = "{ destination = \"10.77.1.5\" }";
    let behind = sorted("{ destination = \"10.77.1.0/24\" }", narrow, "{ protocol = \"udp\" }");
    let why = "this rule of `y` never matches: the one of `x` takes all its packets before it";
    doubted(&behind, &[(narrow, why, "tried first")]);
    let halves = |whole: &str| {
        sorted("{ destination = \"10.0.0.0/25\" }", "{ destination = \"10.0.0.128/25\" }", whole)
    };
    let whole = "{ destination = \"10.0.0.7/24\" }";
    let why = "this rule of `z` never matches: those of `x`, `y` together take all its packets before it";
    doubted(&halves(whole), &[(whole, why, "tried first")]);
    // One address more, a lower preference, or another field: it matches.
    doubted(&halves("{ destination = \"10.0.0.0/23\" }"), &[]);
    doubted(
        &halves("{ destination = \"10.0.0.0/24\", preference = 0 }, { dscp = 1 }"),
        &[("{ destination = \"10.0.0.0/24\", preference = 0 }", "together", "tried first")],
    );
    doubted(
        &sorted(
            "{ destination = \"10.77.1.0/24\", preference = 2 }",
            "{ destination = \"10.77.1.5\", preference = 1 }",
            "{ dscp = 1, preference = 3 }",
        ),
        &[],
    );
    // The queue itself has the packets already: nothing is lost.
    doubted(&sorted("{ dscp = 1 }, { dscp = 1, protocol = \"udp\" }", "{ dscp = 2 }", "{ dscp = 3 }"), &[]);
    // No packet meets all of these.
    for (rule, why) in [
        ("{ protocol = \"udp\", tcp_flags = \"syn\" }", "rule of `y`: `protocol`, `tcp_flags`"),
        ("{ protocol = \"icmp\", destination_port = 53 }", "rule of `y`: `protocol`, `destination_port`"),
        ("{ flow_label = 3, destination = \"10.0.0.1\" }", "no packet meets this rule of `y`: `flow_label`"),
    ] {
        doubted(&sorted("{ dscp = 1 }", rule, "{ dscp = 3 }"), &[(rule, why, "only TCP")]);
    }
    // Flags of TCP are those of TCP.
    let flags = "{ tcp_flags = \"ack\" }";
    let why = "the one of `x` takes";
    doubted(&sorted("{ protocol = \"tcp\" }", flags, "{ dscp = 3 }"), &[(flags, why, "tried first")]);
}
