//! Wrong scenarios: every problem with its position, its message and its help.

mod support;

use std::fmt::Write as _;

use lockgate_scenario::Problem;
use support::{BASE, outcome, problems, rendered};

/// Line, column, a part of the message, a part of the help.
type Expected = (usize, usize, &'static str, &'static str);

/// Instead of a part of the help: the problem has none.
const NO_HELP: &str = "\0";

/// Instead of a part of the help: any text.
const ANY: &str = "";

/// Expects exactly these problems, in this order.
#[track_caller]
fn expect(text: &str, expected: &[Expected]) {
    let problems = problems(text);
    let shown = rendered(&problems);
    assert_eq!(problems.len(), expected.len(), "{shown}");
    for (problem, (line, column, message, help)) in problems.iter().zip(expected) {
        assert_eq!(problem.position(), Some((*line, *column)), "{shown}");
        assert!(problem.message().contains(message), "`{message}` in:\n{shown}");
        let helped = match *help {
            NO_HELP => problem.help_text().is_none(),
            help => problem.help_text().is_some_and(|text| text.contains(help)),
        };
        assert!(helped, "`{help}` in:\n{shown}");
        assert!(problem.is_error());
    }
}

#[track_caller]
fn add(more: &str, expected: &[Expected]) {
    expect(&format!("{BASE}{more}"), expected);
}

#[track_caller]
fn swap(old: &str, new: &str, expected: &[Expected]) {
    assert!(BASE.contains(old), "`{old}` is not in the base");
    expect(&BASE.replace(old, new), expected);
}

/// The base with queues of the port `a->b`, one a line, from line 13 on.
#[track_caller]
fn queues(lines: &[&str], expected: &[Expected]) {
    let mut more = String::new();
    for line in lines {
        let _ = writeln!(more, "port.\"a->b\".{line}");
    }
    // Dotted keys stand at the top of the file.
    expect(&format!("{more}{BASE}"), expected);
}

#[test]
fn keys_that_are_unknown() {
    add("[nodes]\n", &[(13, 2, "has no key `nodes`", "did you mean `node`?")]);
    swap("rate =", "rte =", &[(7, 1, "`link.wan` has no key `rte`", "`rate`")]);
    swap("size =", "sise =", &[(11, 1, "`flow.f` has no key `sise`", "did you mean `size`?")]);
    // What such a flow sends is said by keys of TCP.
    swap(
        "size = \"100B\"\ngap = \"1ms\"\n",
        "protocol = \"tcp\"\nbytes = \"1MB\"\n",
        &[(11, 1, "`flow.f` has no key `protocol`", "`transport`")],
    );
    swap(
        "duration = \"10s\"\n",
        "",
        &[(1, 1, "needs `duration`", "`duration = \"60s\"`: length of the run")],
    );
    // The first key of the file is not what lacks a key.
    swap(
        "duration = \"10s\"\n",
        "title = \"x\"\n",
        &[(1, 1, "needs `duration`", "`duration = \"60s\"`: length of the run")],
    );
    swap("a = {}", "a = { adress = \"10.0.0.9\" }", &[(3, 7, "`node.a` has no key `adress`", "`address`")]);
    add("[record]\npacket = true\n", &[(14, 1, "`record` has no key `packet`", "`packets`")]);
    add("[[expect]]\nthat = \"jain_index\"\nbelwo = 1\n", &[(15, 1, "no key `belwo`", "`below`")]);
    add("[[change]]\nat = \"1s\"\nsett = {}\n", &[(15, 1, "no key `sett`", "`set`")]);
    queues(
        &["queue.q = { kind = \"fifo\", limitt = \"5p\" }"],
        &[(1, 40, "`fifo` has no key `limitt`", "`limit`")],
    );
    queues(
        &[
            "root = \"q\"",
            "queue.q = { kind = \"drr\", children = [\"c\"] }",
            "queue.c = { kind = \"fifo\", quantm = \"5B\" }",
        ],
        &[(3, 40, "neither `fifo` nor its parent `drr`", "`quantum`")],
    );
    add(
        "[port.\"a->b\"]\nclock = { source = \"cpu\", hertz = 100 }\n",
        &[(14, 9, "`clock` needs `hz`", "hz"), (14, 27, "`clock` has no key `hertz`", "`hz`")],
    );
    swap(
        "gap = \"1ms\"",
        "gap = { distribution = \"exponential\", maen = \"1ms\" }",
        &[(12, 39, "`gap` has no key `maen`", "did you mean `mean`?")],
    );
}

#[test]
fn numbers_without_their_units() {
    swap(
        "\"10mbit\"",
        "10",
        &[(7, 8, "the bare number `10` is not a rate", "needs a unit, such as `10mbit`")],
    );
    swap("\"10s\"", "10", &[(1, 12, "the bare number `10` is not a duration", "needs a unit")]);
    swap("\"1ms\"", "0.001", &[(12, 7, "the bare number `0.001` is not a duration", "needs a unit")]);
    swap(
        "\"10mbit\"",
        "\"100kbps\"",
        &[(7, 8, "`100kbps` is not a rate", "write `kbit` for bits or `kBps` for bytes")],
    );
    swap("\"10mbit\"", "\"100\"", &[(7, 8, "`100` is not a rate", "needs a unit")]);
    swap("\"10mbit\"", "\"10mbit\"\noverhead = 14", &[(8, 12, "`14` is not an overhead", "such as `18B`")]);
    swap("\"1ms\"", "\"1m\"", &[(12, 7, "`1m` is not a duration", "`min` or `ms`")]);
    queues(
        &["queue.q = { kind = \"fifo\", limit = 100 }"],
        &[(1, 48, "bare number `100` is not a limit", "`100p`")],
    );
}

#[test]
fn values_of_the_wrong_type_or_out_of_range() {
    swap(
        "\"10s\"",
        "[1]",
        &[(1, 12, "`duration` is a duration with its unit, not a list", "write it like `20ms`")],
    );
    swap("\"10mbit\"", "\"0bit\"", &[(7, 8, "rate zero carries nothing", "10mbit")]);
    swap("\"10s\"", "\"0s\"", &[(1, 12, "no duration", "more than `0s`")]);
    swap("\"10s\"", "\"3000h\"", &[(1, 12, "too long", "2400h")]);
    swap(
        "\"10s\"",
        "\"10s\"\nwarmup = \"10s\"",
        &[(2, 10, "nothing is left", "less than the duration, 10s")],
    );
    swap("\"10mbit\"", "\"10mbit\"\nloss = nan", &[(8, 8, "`NaN` is not a probability", "between 0 and 1")]);
    swap("\"10mbit\"", "\"10mbit\"\nloss = 1.5", &[(8, 8, "`1.5` is not a probability", "between 0 and 1")]);
    add(
        "destination_port = 70000\n",
        &[(13, 20, "a whole number from 0 to 65535, not the number `70000`", NO_HELP)],
    );
    add(
        "destination_port = \"80\"\n",
        &[(13, 20, "not the text \"80\"", "write `destination_port = 80`, without quotes")],
    );
    add(
        "[port.\"a->b\"]\nclock = 5\n",
        &[(14, 9, "`clock` is a table, not the number `5`", "`clock = { … }`")],
    );
    add("count = 0\n", &[(13, 9, "no flows", "at least 1")]);
    add("count = 2000000\n", &[(13, 9, "too many flows", "at most 1000000")]);
    add("packets = \"0p\"\n", &[(13, 11, "sends nothing", "let it send")]);
    add("start = \"5s\"\nstop = \"4s\"\n", &[(14, 8, "stops at 4s, before it starts", "which is 5s")]);
    add("dscp = \"EG\"\n", &[(13, 8, "`EG` is not a DSCP", "`EF`")]);
    add("[port.\"a->b\"]\nring = 0\n", &[(14, 8, "a ring without slots", "at least 1 slot")]);
    add(
        "[port.\"a->b\"]\nring = { slots = 2, completions = 3 }\n",
        &[(14, 35, "cannot be 3", "from 1 to the number of slots, 2")],
    );
    add(
        "[port.\"a->b\"]\nclock = { source = \"cpu\", hz = 0 }\n",
        &[(14, 32, "0 ticks a second", "1 to 1000000")],
    );
    swap(
        "a = {}",
        "a = { clock = { tick = \"2s\" } }",
        &[(3, 24, "cannot tick every `2s`", "`0s` for exact timers")],
    );
    add(
        "[port.\"a->b\"]\nclock = { source = \"cpus\", hz = 1 }\n",
        &[(14, 20, "`source` cannot be `cpus`", "did you mean `cpu`?")],
    );
    swap("gap = \"1ms\"", "gap = { distribution = \"exponential\", mean = \"0s\" }", &[(12, 46, "mean", "")]);
}

#[test]
fn tcp_flows_say_what_they_send_and_how() {
    let tcp = |keys: &str| {
        BASE.replace("size = \"100B\"\ngap = \"1ms\"\n", &format!("transport = \"tcp\"\n{keys}\n"))
    };
    expect(
        &tcp("congestion = \"reno\""),
        &[(8, 1, "does not say how much it sends", "bytes = \"unlimited\"")],
    );
    expect(&tcp("bytes = \"0B\""), &[(12, 9, "sends nothing", "leave the flow out")]);
    let tcp = |keys: &str| tcp(&format!("bytes = \"1MB\"\n{keys}"));
    expect(
        &tcp("congestion = \"cubik\""),
        &[(13, 14, "`cubik` is not a congestion control", "did you mean `cubic`")],
    );
    expect(&tcp("receive_window = \"0B\""), &[(13, 18, "`receive_window` cannot be 0B", "from `1448B`")]);
    expect(&tcp("mss = \"1MB\""), &[(13, 7, "`mss` cannot be 1000000B", "to `65483B`")]);
    expect(&tcp("initial_window = \"0p\""), &[(13, 18, "`initial_window` cannot be 0p", "from `1p`")]);
    expect(&tcp("minimum_rto = \"0s\""), &[(13, 15, "a timeout needs room", "at least `1ms`")]);
    expect(&tcp("virtual_rtt = \"25ms\""), &[(13, 1, "`cubic` has no virtual", "`congestion = \"prague\"`")]);
    expect(&tcp("packets = \"3p\""), &[(13, 1, "decides itself what its packets are", "bytes = \"1MB\"")]);
    expect(&tcp("initial_sequence = \"zero\""), &[(13, 20, "`zero` is not a way", "`random` or `run2c`")]);
    add("congestion = \"cubic\"\n", &[(13, 1, "only TCP has congestion control", "leave `congestion` out")]);
    add("mss = \"1000B\"\n", &[(13, 1, "only TCP has `mss`", "transport = \"tcp\"")]);
}

#[test]
fn names_of_nothing() {
    swap("to = \"b\"", "to = \"c\"", &[(10, 6, "there is no node called `c`", "it is one of `a`, `b`")]);
    swap(
        "from = \"a\"",
        "from = \"sevrer\"",
        &[(9, 8, "there is no node called `sevrer`", "one of `a`, `b`")],
    );
    swap(
        "[\"a\", \"b\"]",
        "[\"a\", \"c\"]",
        &[(6, 17, "there is no node called `c`", "add `c = {}` below `[node]`")],
    );
    swap("[\"a\", \"b\"]", "[\"a\"]", &[(6, 11, "joins two nodes, not 1", "between = ")]);
    swap("[\"a\", \"b\"]", "[\"a\", \"a\"]", &[(6, 11, "joins `a` with itself", "two different")]);
    swap("to = \"b\"", "to = \"a\"", &[(10, 6, "from `a` to itself", "two different")]);
    add("[port.\"a->c\"]\nring = 1\n", &[(13, 7, "there is no node called `c`", "one of `a`, `b`")]);
    add("[port.wan]\nring = 1\n", &[(13, 7, "`wan` is not the name of a port", "`a:b`")]);
}

#[test]
fn ways_and_ports_that_are_not_there() {
    let island = BASE.replace("b = {}\n", "b = {}\nc = {}\n").replace("to = \"b\"", "to = \"c\"");
    expect(&island, &[(11, 6, "no path leads from `a` to `c`", "join them by links")]);
    let island = BASE.replace("b = {}\n", "b = {}\nc = {}\n") + "[port.\"a->c\"]\nring = 1\n";
    expect(&island, &[(14, 7, "no link leads from `a` to `c`", "`a:b`")]);
    let parallel = format!(
        "{BASE}[link.spare]\nbetween = [\"b\", \"a\"]\nrate = \"1mbit\"\n[port.\"a->b\"]\nring = 1\n"
    );
    expect(&parallel, &[(16, 7, "several links lead from `a` to `b`", "`a:b@wan` or `a:b@spare`")]);
}

#[test]
fn trees_that_are_none() {
    queues(
        &[
            "queue.x = { kind = \"prio\", children = [\"y\"] }",
            "queue.y = { kind = \"prio\", children = [\"x\"] }",
        ],
        &[(2, 52, "round in a circle: `x` → `y` → `x`", "cannot stand below itself")],
    );
    queues(
        &["queue.x = { kind = \"prio\", children = [\"x\"] }"],
        &[(1, 52, "circle: `x` → `x`", "cannot stand below itself")],
    );
    queues(
        &[
            "root = \"x\"",
            "queue.x = { kind = \"prio\", children = [\"y\", \"y\"] }",
            "queue.y = { kind = \"fifo\" }",
        ],
        &[(2, 57, "`y` is a child of `x` already", "one place")],
    );
    queues(
        &["root = \"x\"", "queue.x = { kind = \"prio\", children = [\"z\"] }"],
        &[(2, 52, "there is no queue called `z`", "it is `x`")],
    );
    queues(
        &[
            "queue.x = { kind = \"drr\", children = [\"vioce\"] }",
            "queue.voice = { kind = \"fifo\", quantum = \"9B\" }",
        ],
        &[(1, 51, "there is no queue called `vioce`", "did you mean `voice`?")],
    );
    queues(&["queue.x = { kind = \"prio\" }"], &[(1, 23, "`prio` needs children", "add `children")]);
    queues(
        &["queue.x = { kind = \"fifo\", children = [\"y\"] }", "queue.y = { kind = \"fifo\" }"],
        &[(1, 51, "`fifo` is a leaf", "`prio`, `drr`")],
    );
    queues(
        &["queue.x = { kind = \"fifo\" }", "queue.y = { kind = \"fifo\" }"],
        &[(1, 6, "does not say which queue is its root", "`x`, `y`")],
    );
    queues(
        &["root = \"y\"", "queue.x = { kind = \"fifo\" }"],
        &[(1, 20, "no queue called `y`", "it is `x`")],
    );
    queues(&["queue.x = { kind = \"fiffo\" }"], &[(1, 32, "no discipline `fiffo`", "did you mean `fifo`?")]);
    queues(
        &["queue.x = { kind = \"class\" }"],
        &[(1, 32, "owns classes", "give the queue a kind of its own")],
    );
    queues(&["queue.x = {}"], &[(1, 23, "the queue `x` needs `kind`", "its discipline")]);
}

#[test]
fn what_disciplines_refuse() {
    queues(
        &[
            "root = \"x\"",
            "queue.x = { kind = \"drr\", children = [\"y\", \"z\", \"w\"] }",
            "queue.y = { kind = \"fifo\", quantum = \"0B\", match = [{ dscp = 1 }] }",
            "queue.z = { kind = \"fifo\", share = { quantum = \"0B\" }, match = [{ dscp = 2 }] }",
            "queue.w = { kind = \"fifo\", limit = \"0p\" }",
        ],
        &[
            (3, 50, "`quantum` of the queue `y` must be at least `1B`", "never send"),
            (4, 60, "`quantum` of the queue `z` must be at least `1B`", "never send"),
            (5, 48, "`limit` of the queue `w` holds nothing", "at least `1p`"),
        ],
    );
    queues(
        &["queue.x = { kind = \"tbf\", rate = \"0bit\", burst = \"2kB\" }"],
        &[(1, 46, "`rate` of the queue `x` of zero", "`1mbit`")],
    );
    queues(
        &["queue.x = { kind = \"tbf\" }"],
        &[(1, 23, "needs `burst`", "bucket"), (1, 23, "needs `rate`", "add `rate = \"10mbit\"`")],
    );
    queues(
        &[
            "queue.x = { kind = \"tbf\", rate = \"1mbit\", burst = \"2kB\", limit = \"5p\", latency = \"1ms\" }",
        ],
        &[(1, 94, "say the same", "one of them")],
    );
}

#[test]
fn classes_speak_to_the_discipline_that_owns_them() {
    queues(
        &[
            "root = \"x\"",
            "queue.x = { kind = \"htb\", children = [\"c\", \"z\"] }",
            "queue.c = { kind = \"class\", rate = \"2mbit\", ceil = \"1mbit\", children = [\"y\"] }",
            "queue.y = { kind = \"fifo\", rate = \"0bit\", limit = \"0p\" }",
            "queue.z = { kind = \"class\", rate = \"1mbit\", children = [] }",
        ],
        &[
            (3, 64, "`ceil` of the queue `c`", ANY),
            (4, 47, "`rate` of the queue `y`", ANY),
            (4, 63, "`limit` of the queue `y` holds nothing", "at least `1p`"),
            (5, 68, "`class` needs children", "at least one queue"),
        ],
    );
    queues(
        &[
            "root = \"x\"",
            "queue.x = { kind = \"prio\", children = [\"c\"] }",
            "queue.c = { kind = \"class\", children = [\"y\"] }",
            "queue.y = { kind = \"fifo\" }",
        ],
        &[(3, 32, "no discipline above this queue owns classes", "`cbq`, `htb`, `hfsc`")],
    );
    queues(
        &[
            "root = \"x\"",
            "queue.x = { kind = \"htb\", children = [\"c\"] }",
            "queue.c = { kind = \"class\", rate = \"1mbit\", limit = \"5p\", children = [\"y\"] }",
            "queue.y = { kind = \"fifo\" }",
        ],
        &[
            (3, 57, "neither `class` nor its parent `htb` has a key `limit`", ANY),
            (4, 23, "the queue `y`, a child of `htb`, needs `rate`", ANY),
        ],
    );
}

#[test]
fn shares_and_parameters_of_the_same_name_are_kept_apart() {
    queues(
        &[
            "root = \"x\"",
            "queue.x = { kind = \"rr\", children = [\"y\"] }",
            "queue.y = { kind = \"fifo\", share = { weight = 1 } }",
        ],
        &[(3, 50, "`rr` must know nothing called `weight` of its children", "leave `share` out")],
    );
    queues(
        &[
            "root = \"x\"",
            "queue.x = { kind = \"drr\", children = [\"y\"] }",
            "queue.y = { kind = \"fifo\", quantum = \"9B\", share = { quantum = \"8B\" } }",
        ],
        &[(3, 66, "`quantum` is given twice", "once")],
    );
    queues(
        &["queue.x = { kind = \"fifo\", share = {} }"],
        &[(1, 40, "no parent to share", "leave `share` out")],
    );
    queues(&["queue.x = { knd = \"fifo\" }"], &[(1, 25, "has no key `knd`", "`kind`")]);
}

#[test]
fn matches_that_mean_nothing() {
    let two = |rule: &str| format!("queue.y = {{ kind = \"fifo\", match = {rule} }}");
    let check = |rule: &str, expected: &[Expected]| {
        queues(&["root = \"x\"", "queue.x = { kind = \"prio\", children = [\"y\"] }", &two(rule)], expected);
    };
    check("[{ protocol = \"upd\" }]", &[(3, 62, "`upd` is not a protocol", "`udp`")]);
    check("[{ destination_port = \"9-5\" }]", &[(3, 70, "`9-5` is not a port or a range", "`5-9`")]);
    check("[{ destination_port = 70000 }]", &[(3, 70, "`70000` is not a port", "65535")]);
    check("[{ source = \"c\" }]", &[(3, 60, "`c` is not a node, an address or a prefix", "192.0.2.0/24")]);
    check("[{ source = \"10.0.0.0/33\" }]", &[(3, 60, "or a prefix", "192.0.2.0/24")]);
    check("[{ flow = [\"f\", \"g\"] }]", &[(3, 64, "there is no flow called `g`", "it is `f`")]);
    check("[{ dscp = [\"EF\", 64] }]", &[(3, 65, "`64` is not a DSCP", "0 to 63")]);
    check("[{ tos = 0xb9 }]", &[(3, 57, "ECN bits", "multiple of 4")]);
    check("[{ length = \"9B-5B\" }]", &[(3, 60, "not a length", "wrong way round")]);
    check("[{}]", &[(3, 49, "takes every packet", "leave `match` out")]);
    check("[]", &[(3, 48, "an empty `match`", "takes the rest")]);
    check("{ dscp = 1 }", &[(3, 48, "`match` is a list", "[{ protocol")]);
    check("[{ dscp = [] }]", &[(3, 58, "an empty list", "at least one")]);
}

#[test]
fn changes_that_cannot_be() {
    let change =
        |set: &str, expected: &[Expected]| add(&format!("[[change]]\nat = \"2s\"\nset = {set}\n"), expected);
    change("{ \"link.wan.rate\" = \"2mbps\" }", &[(15, 27, "`2mbps` is not a rate", "`mbit`")]);
    change("{ \"link.wan.rate\" = \"0bit\" }", &[(15, 27, "rate zero", "10mbit")]);
    change(
        "{ link.wan.rat = \"2mbit\" }",
        &[(15, 18, "`link.wan.rat` cannot change", "did you mean `rate`?")],
    );
    change("{ \"link.wam.rate\" = \"2mbit\" }", &[(15, 9, "no link called `wam`", "did you mean `wan`?")]);
    change("{ \"flow.f.to\" = \"a\" }", &[(15, 9, "`flow.f.to` cannot change", "`stop`")]);
    change("{ \"flow.g.gap\" = \"1ms\" }", &[(15, 9, "no flow called `g`", "it is `f`")]);
    change(
        "{ \"port.a->b.queue.q.limit\" = \"5p\" }",
        &[(15, 9, "`port.a:b.queue` has no `q`", "it is `fifo`")],
    );
    change("{ \"port.a->b.queue.fifo.limit\" = \"0p\" }", &[(15, 40, "holds nothing", "at least `1p`")]);
    change("{ \"port.a->b.queue.fifo.limt\" = \"5p\" }", &[(15, 9, "`fifo` has no key `limt`", "`limit`")]);
    change("{ \"port.a->b.queue.fifo.kind\" = \"lifo\" }", &[(15, 39, "no discipline `lifo`", "`fifo`")]);
    change("{ \"port.a->b.root\" = \"x\" }", &[(15, 28, "no queue called `x`", "")]);
    change("{ \"port.a->c.root\" = \"x\" }", &[(15, 9, "no port called `a:c`", "`a:b`")]);
    change("{ duration = \"20s\" }", &[(15, 9, "`duration` cannot change", "link.wan.rate")]);
    change(
        "{ lnik.wan.rate = \"1mbit\" }",
        &[(15, 18, "`lnik.wan.rate` names nothing", "did you mean `link`?")],
    );
    change("{ \"link.wan\" = 5 }", &[(15, 9, "names no value", "link.wan.rate")]);
    change("{ \"link..rate\" = 5 }", &[(15, 9, "an empty part", "link.wan.rate")]);
    change("{}", &[(15, 7, "sets nothing", "link.wan.rate")]);
    // A change applies to the state that the previous one left, in the order of time and not of the file.
    add(
        "[[change]]\nat = \"4s\"\nset = { port.\"a->b\".queue.fifo.burst = \"2kB\" }\n[[change]]\nat = \"2s\"\nset = { port.\"a->b\".queue.fifo = { kind = \"tbf\", rate = \"1mbit\", burst = \"0B\" } }\n",
        &[(15, 32, "`fifo` has no key `burst`", ANY), (18, 74, "`burst` of the queue `fifo`", ANY)],
    );
}

#[test]
fn expectations_that_cannot_be_held() {
    add("[[expect]]\nthat = \"flow.f.owd.p99\"\n", &[(13, 1, "has no bound", "`below`")]);
    add("[[expect]]\nbelow = 1\n", &[(13, 1, "needs `that`", "metric")]);
    add(
        "[[expect]]\nthat = \"flow.f.owd.p99\"\nbelow = \"20\"\n",
        &[(15, 9, "is a time, and `20` is none", "unit")],
    );
    add(
        "[[expect]]\nthat = \"jain_index\"\nbelow = inf\n",
        &[(15, 9, "is a number, and `inf` is none", "like `0.95`")],
    );
    add(
        "[[expect]]\nthat = \"flow.f.owd.p99\"\nbetween = [\"9ms\", \"5ms\"]\n",
        &[(15, 11, "no value is between", "lower bound first")],
    );
    for bounds in [
        "above = \"20ms\"\nbelow = \"10ms\"",
        "at_least = \"20ms\"\nat_most = \"19ms\"",
        "above = \"20ms\"\nat_most = \"20ms\"",
        "above = \"20ms\"\nbetween = [\"5ms\", \"9ms\"]",
    ] {
        let text = format!("[[expect]]\nthat = \"flow.f.owd.p99\"\n{bounds}\n");
        add(&text, &[(13, 1, "no value keeps all bounds", "lower bound")]);
    }
    add(
        "[[expect]]\nthat = \"flow.f.owd.p99\"\nbetween = [\"9ms\"]\n",
        &[(15, 11, "two bounds, not 1", "between = ")],
    );
    add(
        "[[expect]]\nthat = \"flow.f.ow.p99\"\nbelow = \"1ms\"\n",
        &[(14, 8, "no metric `flow.f.ow.p99`", "`owd`")],
    );
}

/// An address that stays wrong whatever else is mended is a problem beside others; one that may
/// become right is none.
#[test]
fn wrong_addresses_are_problems_beside_others() {
    let wrong = |that: &str| {
        let text = format!("[flow.g]\nform = \"a\"\n[[expect]]\nthat = \"{that}\"\nbelow = \"1ms\"\n");
        let problems = problems(&format!("{BASE}{text}"));
        let of_expect = |problem: &&Problem| problem.position().is_some_and(|(line, _)| line >= 15);
        problems.iter().filter(of_expect).map(|problem| problem.message().to_owned()).collect::<Vec<_>>()
    };
    for that in ["flow.ff.owd.p99", "flow.f.owdd.p99", "flow.g.owd.p99 - flow.h.owd.p99", "flow.f/1.ow.p99"] {
        assert_eq!(wrong(that), [format!("there is no metric `{that}`")]);
    }
    for that in ["flow.g.owd.p99", "flow.g/return.owd.p99", "flow.*.owd.p99", "port.a:b.queue.q.sojourn.p95"]
    {
        assert_eq!(wrong(that), <[String; 0]>::default(), "{that}");
    }
}

/// A number in quotes is the number, wherever a bound is one.
#[test]
fn bounds_in_quotes_are_read_as_those_without() {
    for (that, bare, quoted) in [
        ("jain_index", "0.999", "\"0.999\""),
        ("jain_index", "1", "\" 1 \""),
        ("flow.f.loss", "0.01", "\"1e-2\""),
        ("flow.f.loss", "0.01", "\"1%\""),
    ] {
        let read = |bound: &str| {
            let text = format!("{BASE}[[expect]]\nthat = \"{that}\"\nat_least = {bound}\n");
            outcome(&text).unwrap_or_else(|problems| panic!("{}", rendered(&problems))).expects
        };
        assert_eq!(read(quoted), read(bare), "{quoted}");
    }
    for (that, bound) in
        [("jain_index", "\"inf\""), ("jain_index", "\"much\""), ("flow.f.owd.p99", "\"0.02\"")]
    {
        let text = format!("{BASE}[[expect]]\nthat = \"{that}\"\nat_least = {bound}\n");
        assert_eq!(problems(&text).len(), 1, "{bound}");
    }
}

/// A conflict is one error, at its first marker, whatever stands between the markers.
#[test]
fn a_merge_conflict_is_one_error_at_its_first_marker() {
    let lines: Vec<&str> = BASE.lines().collect();
    let help = "keep one of its sides, and delete the lines";
    let conflict = "<<<<<<< HEAD\nrate = \"10mbit\"\n=======\nrate = \"9mbit\"\n>>>>>>> other branch\n";
    let three = "<<<<<<< ours\nx = 1\n||||||| 1a2b3c\nx = \n=======\n[[[\n>>>>>>> theirs\n";
    let left = "=======\nrate = \"9mbit\"\n>>>>>>> other\n";
    for marked in [conflict, three, left, "<<<<<<<\r\n=======\r\n>>>>>>>\r\n"] {
        for at in 0..=lines.len() {
            let text = format!("{}\n{marked}{}\n", lines[..at].join("\n"), lines[at..].join("\n"));
            let line = at.max(1) + 1;
            expect(&text, &[(line, 1, "a merge conflict is left in this file", help)]);
        }
    }
    // What is wrong before it is said too, and signs that are no marker, or within a text, are none.
    expect(&format!("x = [\n{conflict}{BASE}"), &[(2, 1, "a merge conflict is left in this file", help)]);
    let said = problems(&format!("x = ]\n{conflict}{BASE}"));
    assert_eq!(said.len(), 2, "{}", rendered(&said));
    let within = format!("title = \"\"\"\n{conflict}\"\"\"\n{BASE}");
    assert!(outcome(&within).is_ok());
    let other = problems(&format!("<<<<<< HEAD\n{BASE}"));
    assert!(other.iter().all(|problem| !problem.message().contains("merge")), "{}", rendered(&other));
}

#[test]
fn files_that_are_not_there_or_not_what_they_should_be() {
    // A table that cannot be read is one error, however many groups follow it.
    let group = "[node.sub]\ncount = \"subscribers\"\n[node.half]\ncount = \"50% of subscribers\"\n[node.site]\ncount = \"sites\"\n";
    for key in ["subscribers", "sites"] {
        let text = format!("{key} = \"nope.csv\"\n{BASE}{group}");
        let said = problems(&text);
        let of_file =
            said.iter().filter(|problem| problem.message().contains("`nope.csv` cannot be read")).count();
        let of_group = said
            .iter()
            .filter(|problem| problem.message().contains(&format!("no group called `{key}`")))
            .count();
        assert_eq!((of_file, of_group), (1, 0), "{}", rendered(&said));
    }
    swap(
        "rate = \"10mbit\"",
        "trace = \"no.trace\"",
        &[(7, 9, "`no.trace` cannot be read: there is no such file", "folder of the scenario")],
    );
    swap(
        "rate = \"10mbit\"",
        "trace = \"bad.trace\"",
        &[(7, 9, "`bad.trace` is not a link trace", "line 2: 3 ms is before")],
    );
    swap(
        "rate = \"10mbit\"",
        "trace = { up = \"lte.up\" }",
        &[(5, 1, "needs `rate` for the direction without a trace", "10mbit")],
    );
    swap(
        "rate = \"10mbit\"",
        "rate = \"10mbit\"\ntrace = \"lte.up\"",
        &[(7, 1, "gives the rate of both", "leave `rate` out")],
    );
}

/// The base with a controller of the port `a:b`, whose keys stand from line 14 on.
#[track_caller]
fn controller(keys: &str, expected: &[Expected]) {
    add(&format!("[port.\"a:b\".autorate]\n{keys}\n"), expected);
}

#[test]
fn controllers_that_cannot_step() {
    let bounds = "min = \"1mbit\"\nmax = \"5mbit\"\n";
    let with = |more: &str| format!("{bounds}{more}");
    controller("max = \"5mbit\"", &[(13, 1, "needs `min`", "add `min")]);
    controller("min = \"9mbit\"\nmax = \"5mbit\"", &[(15, 7, "`max` is below `min`", "the larger rate")]);
    controller("min = \"0bit\"\nmax = \"5mbit\"", &[(14, 7, "`min` of zero sends nothing", "1mbit")]);
    controller(
        &with("start = \"9mbit\""),
        &[(16, 9, "`start`, 9mbit, is outside", "from `1mbit` to `5mbit`")],
    );
    controller(&with("law = \"break\""), &[(16, 7, "`law` cannot be `break`", "it is one of `brake`")]);
    controller(
        &with("brake = { drain = \"1ms\" }"),
        &[(16, 19, "`drain` of `brake`", "from `10ms` to `10s`")],
    );
    controller(&with("brake = { dran = \"1s\" }"), &[(16, 11, "no key `dran`", "`drain`")]);
    controller(&with("braek = { drain = \"1s\" }"), &[(16, 1, "no key `braek`", "`brake`")]);
    controller(&with("acknowledgements = false"), &[(16, 20, "no signal", "probes")]);
    controller(&with("probes = { to = [\"c\"], every = \"1s\" }"), &[(16, 18, "no node called `c`", ANY)]);
    controller(
        &with("probes = { to = [\"a\"], every = \"1s\" }"),
        &[(16, 18, "`a` cannot be probed", "beyond the line")],
    );
    controller(
        &with("probes = { to = [\"b\"], every = \"1ms\" }"),
        &[(16, 32, "each 1ms", "from `20ms` to `60s`")],
    );
    controller(&with("line = \"wam\""), &[(16, 8, "no link called `wam`", "`wan`")]);
}

#[test]
fn lines_that_cannot_be_generated() {
    let law = |keys: &str| format!("rate = \"1mbit\"\ntrace = {{ up = {{ law = \"leo\", {keys} }} }}");
    let line = |keys: &str, expected: &[Expected]| {
        expect(&BASE.replace("rate = \"10mbit\"", &law(keys)), expected);
    };
    line("rate = \"1kbit\"", &[(8, 38, "`rate` of the line", "at least `10kbit`")]);
    line("rate = \"1mbit\", hold = \"0s\"", &[(8, 54, "`hold` of the line", "at least `10ms`")]);
}

#[test]
fn lines_whose_conditions_cannot_hold() {
    let line = |keys: &str, expected: &[Expected]| {
        swap("rate = \"10mbit\"", &format!("rate = \"10mbit\"\n{keys}"), expected);
    };
    line(
        "slots = { every = \"10ms\", gap = \"10ms\" }",
        &[(8, 33, "a gap of `10ms` leaves nothing", "shorter than `every`")],
    );
    line("up.slots = { every = \"0s\" }", &[(8, 22, "slots of `0s` are too short", "at least `1us`")]);
    line(
        "slots = { every = \"9ms\", up_to = \"3ms\" }",
        &[(8, 34, "`3ms` is less than `every`", "make it longer")],
    );
    line(
        "loss_bursts = { begin = 0.1, end = 0 }",
        &[(8, 36, "never becomes good", "give `end` a probability")],
    );
    line(
        "jitter = { distribution = \"uniform\", min = \"2ms\" }",
        &[(8, 10, "`max` of `jitter` is missing", "a jitter is a time")],
    );
    swap(
        "rate = \"10mbit\"",
        "trace = \"bare.txt\"",
        &[(7, 9, "`bare.txt` is not a link trace", "`time_s rate_mbps`")],
    );
}

/// A value that is not read is the only problem: what it would complete is not missed.
#[test]
fn envelopes_that_bound_nothing() {
    let envelope = |keys: &str, expected: &[Expected]| add(&format!("envelope = {{ {keys} }}\n"), expected);
    envelope("rate = \"1mbi\", burst = \"3kB\"", &[(13, 21, "`1mbi` is not a rate", "mbit")]);
    envelope("rate = \"1mbit\", burst = \"3\"", &[(13, 38, "`3` is not a size", "needs a unit")]);
    envelope("peakrate = 5", &[(13, 25, "the bare number `5`", "10mbit")]);
    envelope("buckets = [{ rate = \"1mbi\", burst = \"3kB\" }]", &[(13, 34, "`1mbi` is not a rate", "mbit")]);
    envelope("burst = \"3kB\"", &[(13, 22, "`burst` of an envelope needs `rate`", "has both")]);
    envelope(
        "rate = \"1mbit\", burst = \"3kB\", peakrate = \"500kbit\"",
        &[(13, 56, "`peakrate` of 500kbit is under the `rate`, which is 1mbit", "leave it out")],
    );
}

#[test]
fn texts_that_are_no_toml() {
    swap("\"10mbit\"", "10mbit", &[(7, 8, "`10mbit` needs quotes", "write `\"10mbit\"`")]);
    swap("[link.wan]", "[link.wan", &[(5, 10, "header of a table does not end", "`]`")]);
    swap("to = \"b\"", "to = \"b\"\nto = \"b\"", &[(11, 1, "`to` is given a second time", "once")]);
    swap("\"10s\"", "", &[(1, 12, "", "")]);
    // What the rest of a line makes of its first error is no further problem.
    expect("<html></html>\n", &[(1, 1, "this is not TOML", ANY)]);
    expect("title: x\nduration: 1s\n", &[(1, 6, "this is not TOML", ANY), (2, 11, "this is not TOML", ANY)]);
    let wide: String = BASE.chars().flat_map(|letter| ['\0', letter]).collect();
    expect(&wide, &[(1, 1, "a zero byte is in this file", "UTF-8")]);
    expect(&format!("{BASE}\0"), &[(13, 1, "a zero byte is in this file", "UTF-8")]);
    expect(&BASE.replace('\n', "\r"), &[(1, 17, "end with CR alone", "LF")]);
}

#[test]
fn an_empty_file_is_answered_with_the_smallest_scenario() {
    for text in ["", "\n", "# nothing\n"] {
        let problems = problems(text);
        assert_eq!(problems.len(), 1);
        let problem = problems.iter().next().expect("one");
        assert_eq!((problem.message(), problem.position()), ("the file is empty", None));
        let help = problem.help_text().expect("a help");
        let smallest = help.split_once("\n\n").expect("a scenario after the first line").1;
        support::scenario(smallest);
    }
    expect(
        "duration = \"1s\"\n",
        &[(1, 1, "the scenario has no link", "[link.NAME]"), (1, 1, "has no flow", "[flow.NAME]")],
    );
}

#[test]
fn everything_is_said_at_once() {
    let text = r#"duration = 10
warmpu = "1s"
[node]
a = {}
b = {}
[link.wan]
between = ["a", "c"]
rate = "100kbps"
delya = "1ms"
[flow.x]
from = "a"
to = "bb"
size = 200
[port."a->b".queue.q]
kind = "drr"
children = ["x"]
[port."a->b".queue.x]
kind = "fq_codle"
[[expect]]
that = "jain_index"
"#;
    let problems = problems(text);
    let lines: Vec<usize> =
        problems.iter().filter_map(|problem| problem.position().map(|(line, _)| line)).collect();
    assert_eq!(lines, [1, 2, 7, 8, 9, 12, 13, 18, 19], "{}", rendered(&problems));
}

#[test]
fn a_tree_of_ten_thousand_levels_is_refused_quickly() {
    // Within the number of queues a port may have, and beyond it.
    for levels in [4_000, 70_000] {
        let mut text = BASE.to_owned();
        for level in 0..levels {
            let _ = write!(
                text,
                "[port.\"a->b\".queue.q{level}]\nkind = \"prio\"\nchildren = [\"q{}\"]\n",
                level + 1
            );
        }
        let _ = write!(text, "[port.\"a->b\".queue.q{levels}]\nkind = \"fifo\"\n");
        let problems = problems(&text);
        assert_eq!(problems.len(), 1, "{}", rendered(&problems));
        let problem = problems.iter().next().expect("one");
        assert!(problem.message().contains("on level 17"), "{}", problem.message());
        assert!(problem.help_text().is_some_and(|help| help.contains("at most 16")));
    }
}

#[test]
fn nested_brackets_and_endless_texts_are_refused_quickly() {
    let nested = format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(!problems(&nested).is_empty());
    let long = "a".repeat(40 << 20);
    let problems = problems(&long);
    assert!(problems.iter().next().is_some_and(|problem| problem.message().contains("too long: 40 MiB")));
}

#[test]
fn wrong_names_are_shown_short() {
    let name = "x".repeat(5_000);
    let problems = problems(&BASE.replace("to = \"b\"", &format!("to = \"{name}\"")));
    assert!(problems.iter().all(|problem| problem.message().len() < 200), "{}", rendered(&problems));
}

#[test]
fn renderings() {
    insta::assert_snapshot!("unknown_key", rendered(&problems(&BASE.replace("size =", "sise ="))));
    let bytes = BASE.replace("10mbit", "100kbps");
    insta::assert_snapshot!("kbps", rendered(&problems(&bytes)));
    let twice = format!(
        "{BASE}[port.\"a->b\".queue.x]\nkind = \"prio\"\nchildren = [\"y\", \"y\"]\n[port.\"a->b\".queue.y]\nkind = \"fifo\"\n"
    );
    insta::assert_snapshot!("child_used_twice", rendered(&problems(&twice)));
    let overridden =
        support::with(BASE, &["link.wan.rate=0bit", "link.wam.rate=1mbit"]).expect_err("refused");
    insta::assert_snapshot!("override_of_nothing", rendered(&overridden));
    let overridden = support::with(BASE, &["link.wan.rate=0bit"]).expect_err("refused");
    insta::assert_snapshot!("override", rendered(&overridden));
    let change =
        format!("{BASE}[[change]]\nat = \"2s\"\nset = {{ \"port.a->b.queue.fifo.kind\" = \"tbf\" }}\n");
    insta::assert_snapshot!("change", rendered(&problems(&change)));
}

#[test]
fn a_problem_of_members_is_reported_once_where_it_is_written() {
    let text = r#"
duration = "1s"
[node]
bng = {}
sub = { count = 500 }
[link.access]
between = ["bng", "sub/*"]
rate = ["10mbit", "20mbot"]
[flow.call]
from = "bng"
to = "sub/$i"
count = 600
size = "100B"
gap = "20ms"
"#;
    let problems = problems(text);
    let found: Vec<_> =
        problems.iter().map(|problem| (problem.position(), problem.text().map(str::to_owned))).collect();
    let expected = [(Some((8, 19)), "\"20mbot\""), (Some((11, 6)), "\"sub/$i\"")];
    assert_eq!(
        found,
        expected.map(|(place, text)| (place, Some(text.to_owned()))),
        "{}",
        rendered(&problems)
    );
    let shown = rendered(&problems);
    assert!(shown.contains("$i = 2") && shown.contains("$i = 501"), "{shown}");
}
