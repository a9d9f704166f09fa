//! Words that are nearly right: names of other tools, sections in the plural, ports in their other spelling.

use lockgate_scenario::Problem;

use crate::support::{BASE, outcome, problems, rendered, scenario, with};

/// The only problem of `text`: its message and its help.
#[track_caller]
fn only(text: &str) -> (String, String) {
    let problems = problems(text);
    assert_eq!(problems.len(), 1, "{}", rendered(&problems));
    let problem = problems.iter().next().expect("one");
    (problem.message().to_owned(), problem.help_text().unwrap_or_default().to_owned())
}

#[test]
fn a_misspelt_section_is_one_problem() {
    for (right, wrong, section) in [("[node]", "[nodes]", "node"), ("[link.wan]", "[links.wan]", "link")] {
        let (message, help) = only(&BASE.replace(right, wrong));
        assert!(message.contains("the scenario has no key"), "{message}");
        assert_eq!(help, format!("did you mean `{section}`?"));
    }
}

#[test]
fn words_of_other_tools_lead_to_the_key() {
    for (old, new, wrong, right) in [
        ("rate = \"10mbit\"", "rate = \"10mbit\"\nlatency = \"5ms\"", "latency", "delay"),
        ("rate = \"10mbit\"", "bandwidth = \"10mbit\"", "bandwidth", "rate"),
        ("gap = \"1ms\"", "gap = \"1ms\"\nprotocol = \"udp\"", "protocol", "transport"),
        ("to = \"b\"", "destination = \"b\"", "destination", "to"),
    ] {
        assert!(BASE.contains(old), "{old}");
        let (message, help) = only(&BASE.replace(old, new));
        assert!(message.ends_with(&format!("has no key `{wrong}`")), "{message}");
        assert_eq!(help, format!("did you mean `{right}`?"));
    }
    let cake = |key: &str| {
        only(&format!("{BASE}[port.\"a:b\"]\nqueue.q = {{ kind = \"cake\", {key} = \"5ms\" }}\n"))
    };
    assert!(cake("target").1.contains("follows from its `rtt`"), "{:?}", cake("target"));
}

#[test]
fn a_port_is_named_with_a_colon_or_an_arrow() {
    let text = |port: &str| {
        format!(
            "{BASE}[port.\"{port}\"]\nroot = \"q\"\nqueue.q = {{ kind = \"fifo\" }}\nqueue.r = {{ kind = \"sfq\" }}\n\
             [[change]]\nat = \"1s\"\nset = {{ \"port.a:b.queue.q.limit\" = \"9p\" }}\n\
             [[change]]\nat = \"2s\"\nset = {{ \"port.a->b.root\" = \"r\" }}\n\
             [[change]]\nat = \"3s\"\nset = {{ port.\"a->b\".root = \"q\" }}\n"
        )
    };
    for port in ["a->b", "a:b", "a->b@wan"] {
        let scenario = scenario(&text(port));
        assert_eq!(scenario.ports[0].name, "a:b");
        let paths: Vec<&str> = scenario.changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["port.a:b.queue.q.limit", "port.a:b.root", "port.a:b.root"], "{port}");
    }
    for set in ["port.a:b.root=r", "port.a->b.root=r"] {
        let set = with(&text("a->b"), &[set]).expect("a scenario");
        assert_eq!(set.ports[0].root, "r");
    }
    let both = format!("{}[port.\"a:b\"]\nring = 4\n", text("a->b"));
    assert!(rendered(&problems(&both)).contains("is in the file twice"));
    let node = BASE.replace("a = {}", "a = {}\n\"c:d\" = {}");
    assert!(only(&node).0.contains("`c:d` cannot be the name of a node"));
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let wrong = BASE.replace("a = {}", "a = {}\n\"\\u001b]0;x\\u0007\" = {}");
    let shown = rendered(&problems(&wrong));
    assert!(shown.contains("\\u{1b}]0;x\\u{7}") && !shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    // Not TOML, so the text itself is shown; the place under it is right.
    let raw = BASE.replace("duration = \"10s\"", "duration = \u{1b}]0;x\u{9b}");
    let found = outcome(&raw).expect_err("no TOML");
    let shown = rendered(&found);
    assert!(!shown.contains(['\u{1b}', '\u{9b}']), "{shown:?}");
    assert_eq!(found.iter().next().and_then(Problem::position).map(|(line, _)| line), Some(1));
}
