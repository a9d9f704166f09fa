//! Envelopes and adversaries of scenarios: expectations that are proven, and errors.

use lockgate::Options;

use super::{Files, LINE, flow};

#[test]
fn bad_adversaries_are_errors_with_their_place() {
    for (adversary, at, expected) in [
        (
            "{ from = \"a\", to = \"b\", rate = \"1mbit\", burst = \"1kB\" }",
            "\"1kB\"",
            "does not hold a packet of 1.514kB",
        ),
        (
            "{ from = \"a\", to = \"b\", rate = \"9mbit\", burst = \"2kB\" }",
            "\"9mbit\"",
            "`link.l` carries 8mbit",
        ),
        ("{ from = \"a\", to = \"b\", rate = \"0bit\", burst = \"2kB\" }", "\"0bit\"", "no rate"),
        ("{ from = \"a\", to = \"c\", rate = \"1mbit\", burst = \"2kB\" }", "\"c\"", "no node called `c`"),
        ("{ from = \"a\", to = \"a\", rate = \"1mbit\", burst = \"2kB\" }", "\"a\"", "to itself"),
        ("{ from = \"a\", to = \"b\", rate = \"1mbit\", burst = \"2kB\", flows = 0 }", "0", "0 flows"),
        (
            "{ from = \"a\", to = \"b\", rate = \"1mbit\", burst = \"2kB\", longest = \"9B\" }",
            "\"9B\"",
            "no frame is from 64B to 9B",
        ),
        (
            "{ from = \"a\", to = \"b\", burst = \"2kB\" }",
            "{ from = \"a\", to = \"b\", burst = \"2kB\" }",
            "rate",
        ),
        ("7", "7", "`adversary` is a table"),
    ] {
        let text = format!("adversary = {adversary}\n{LINE}{}", flow("own", [1_000_000, 1000, 100, 1000]));
        let why = lockgate::read_text(&text, "bad", &Files::new(), &[]).expect_err(adversary);
        let lockgate::Error::Scenario(problems) = why else { panic!("{why:?}") };
        let problem = problems.iter().next().expect("one");
        assert!(problem.message().contains(expected), "{adversary}: {}", problem.message());
        assert_eq!(&text[problem.span().expect("a place")], at, "{adversary}: {problems}");
    }
}

#[test]
fn an_expectation_is_proven_or_says_why_not() {
    let text = "duration = \"1s\"\nnode.a = {}\nnode.b = {}\nlink.l = { between = [\"a\", \"b\"], rate = \"10mbit\", delay = \"1ms\" }\n\
        port.\"a:b\".queue.top = { kind = \"prio\", children = [\"v\", \"rest\"] }\n\
        port.\"a:b\".queue.v = { kind = \"fifo\", match = [{ flow = \"call\" }] }\n\
        port.\"a:b\".queue.rest = { kind = \"fifo\" }\n\
        flow.call = { from = \"a\", to = \"b\", profile = \"g711\" }\n\
        flow.bulk = { from = \"a\", to = \"b\", transport = \"tcp\", bytes = \"unlimited\" }\n";
    let judged = |expects: &str| {
        let scenario = lockgate::read_text(&format!("{text}{expects}"), "proven", &Files::new(), &[])
            .expect("a scenario");
        let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
        lockgate::summarise(&scenario, &runs.recordings).expect("a summary").expect
    };
    // A full segment, with all its options, and the call's own packet: 1542 + 214 bytes at 10 Mbit/s, and 1
    // ms.
    let expect = |flow: &str, limit: &str| {
        format!("[[expect]]\nthat = \"flow.{flow}.owd.max\"\nat_most = \"{limit}\"\nproven = true\n")
    };
    let held = judged(&expect("call", "2.405ms"));
    assert!(held[0].holds, "{held:?}");
    assert_eq!(held[0].that, "flow.call.owd.bound");
    let missed = judged(&expect("call", "2.404ms"));
    assert!(!missed[0].holds && missed[0].no_bound.is_none(), "{missed:?}");
    let none = judged(&expect("bulk", "10s"));
    assert!(!none[0].holds);
    assert_eq!(none[0].no_bound.as_deref(), Some("tcp"));
}

#[test]
fn bad_envelopes_are_errors_with_their_place() {
    let text = |envelope: &str| {
        format!(
            "duration = \"1s\"\nnode.a = {{}}\nnode.b = {{}}\nlink.l = {{ between = [\"a\", \"b\"], rate = \"10mbit\" }}\n\
             [flow.f]\nfrom = \"a\"\nto = \"b\"\nsize = \"1000B\"\nrate = \"1mbit\"\nenvelope = {envelope}\n"
        )
    };
    for (envelope, at, expected) in [
        (
            "{ rate = \"1mbit\", burst = \"999B\" }",
            "\"999B\"",
            "the burst of 999B does not hold a packet of 1kB",
        ),
        ("{ rate = \"11mbit\", burst = \"1kB\" }", "\"11mbit\"", "`link.l` carries 10mbit"),
        ("{}", "{}", "no token bucket"),
        ("{ rate = \"1mbit\" }", "\"1mbit\"", "`rate` of an envelope needs `burst`"),
        ("{ rate = \"0bit\", burst = \"1kB\" }", "\"1kB\"", "no rate"),
        ("{ rate = \"1mbit\", burst = \"1kB\", longest = \"10B\" }", "\"10B\"", "no frame is from"),
    ] {
        let text = text(envelope);
        let why = lockgate::read_text(&text, "bad", &Files::new(), &[]).expect_err(envelope);
        let lockgate::Error::Scenario(problems) = why else { panic!("{why:?}") };
        let said = problems.to_string();
        let (message, span) =
            problems.iter().map(|one| (one.message().to_owned(), one.span())).next().expect("one");
        assert!(message.contains(expected) || said.contains(expected), "{envelope}: {said}");
        let span = span.expect("a place");
        assert_eq!(&text[span], at, "{envelope}: {said}");
    }
    // More than it states: a warning, and no proof of the flow.
    let text = text("{ rate = \"900kbit\", burst = \"1kB\" }");
    let scenario = lockgate::read_text(&text, "more", &Files::new(), &[]).expect("a scenario");
    assert!(
        scenario.warnings.iter().any(|one| one.message().contains("sends more than its envelope")),
        "{:?}",
        scenario.warnings
    );
    let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    assert!(summary.flows["f"].no_bound.as_ref().is_some_and(|why| why.starts_with("sends more")));
    // Nor of those that wait behind it.
    let beside = text + "[flow.g]\nfrom = \"a\"\nto = \"b\"\nsize = \"100B\"\ngap = \"20ms\"\n";
    let scenario = lockgate::read_text(&beside, "more", &Files::new(), &[]).expect("a scenario");
    let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    assert_eq!(summary.flows["g"].owd_bound_s, None);
    let why = summary.flows["g"].no_bound.as_deref();
    assert_eq!(why, Some("`f` has no envelope and shares the queue"));
}
