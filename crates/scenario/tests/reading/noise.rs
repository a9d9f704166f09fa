//! Any text at all: read without a panic, quickly, and with every problem at a place that exists.

use proptest::prelude::*;

use crate::support::{example, outcome, with};

/// Checks the properties that problems of any text have.
fn sound(text: &str) {
    if let Err(problems) = outcome(text) {
        assert!(!problems.is_empty());
        for problem in &problems {
            assert!(
                !problem.message().is_empty() && !problem.message().ends_with('.'),
                "{}",
                problem.message()
            );
            assert_eq!(problem.span().is_some(), problem.position().is_some());
            let _ = crate::support::rendered_one(problem);
        }
    }
}

/// Pieces that scenarios are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "duration",
        "=",
        "\"10s\"",
        "\n",
        "[node]",
        "[link.wan]",
        "[flow.f]",
        "[port.\"a->b\"]",
        "[port.\"a->b\".queue.q]",
        "[[change]]",
        "[[expect]]",
        "a = {}",
        "between = [\"a\", \"b\"]",
        "rate = \"1mbit\"",
        "kind = \"drr\"",
        "kind = \"fifo\"",
        "children = [\"q\"]",
        "children = [\"x\", \"y\"]",
        "match = [{}]",
        "set = { \"link.wan.rate\" = \"2mbit\" }",
        "set = { port.\"a->b\".queue.q.kind = 5 }",
        "at = \"1s\"",
        "from = \"a\"",
        "to = \"b\"",
        "size = \"1B\"",
        "gap = \"1ms\"",
        "gap = {",
        "}",
        "{",
        "]",
        "[",
        "\"",
        "nan",
        "-1",
        "1e999",
        "99999999999999999999",
        "\u{0}",
        "é",
        "\u{feff}",
        "share = { }",
        "limit = \"0p\"",
        "root = \"q\"",
        "count = 4294967295",
        "[node.a]",
        "[node.b]",
        "loss = nan",
        "quantum = \"0B\"",
    ]);
    prop::collection::vec(words, 0..60).prop_map(|words| words.join(" \n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_read_without_a_panic(text: String) {
        sound(&text);
    }

    #[test]
    fn scenario_like_texts_are_read_without_a_panic(text in pieces()) {
        sound(&text);
    }

    /// A good file with a stretch of it taken out, doubled or replaced.
    #[test]
    fn damaged_scenarios_are_read_without_a_panic(from in 0usize..2200, length in 0usize..200, put in "\\PC{0,12}", double: bool) {
        let text = example();
        let from = text.floor_char_boundary(from);
        let to = text.floor_char_boundary((from + length).min(text.len()));
        let middle = if double { text[from..to].repeat(2) } else { put };
        sound(&format!("{}{}{}", &text[..from], middle, &text[to..]));
    }

    #[test]
    fn any_override_is_read_without_a_panic(
        path in prop::sample::select(vec!["duration", "link.wan.rate", "port.home->server.queue.rest.kind", "flow.voice.gap",
            "change.0.at", "expect.9.that", "port.x.ring", "node.home", "link", "a.b.c.d", "change", "flow.voice"]),
        value in "\\PC{0,16}",
    ) {
        let _ = lockgate_scenario::Override::parse(&value);
        let set = format!("{path}={value}");
        if let Err(problems) = with(example(), &[&set]) {
            let _ = crate::support::rendered(&problems);
        }
    }
}

/// Large texts of the most expensive shapes: a cost that grows faster than their length would take minutes
/// here.
#[test]
fn large_files_are_answered() {
    let repeated = |line: &dyn Fn(usize) -> String| {
        let mut text = String::from(
            "duration = \"1s\"\n[node]\na = {}\nb = {}\n[link.l]\nbetween = [\"a\", \"b\"]\nrate = \"1mbit\"\n",
        );
        let mut index = 0;
        while text.len() < 3 << 20 {
            text += &line(index);
            index += 1;
        }
        text
    };
    let texts = [
        repeated(&|index| format!("unknown{index} = 1\n")),
        repeated(&|index| {
            format!("[flow.f{index}]\nfrom = \"a\"\nto = \"b\"\nsize = \"1B\"\ngap = \"1ms\"\n")
        }),
        repeated(&|index| {
            format!("[flow.f{index}]\nfrom = \"x{index}\"\nto = \"y{index}\"\nsize = \"1B\"\n")
        }),
        repeated(&|index| {
            format!("[[change]]\nat = \"1ms\"\nset = {{ link.l.rate = \"{}mbit\" }}\n", index + 1)
        }),
        repeated(&|index| {
            format!(
                "[[change]]\nat = \"1ms\"\nset = {{ \"port.a->b.queue.fifo.limit\" = \"{}p\" }}\n",
                index + 1
            )
        }),
        repeated(&|index| format!("[link.x{index}]\nbetween = [\"a\", \"b\"]\nrate = \"1mbit\"\n")),
        repeated(&|index| format!("[[expect]]\nthat = \"x{index}\"\nbelow = 1\n")),
        repeated(&|index| format!("[node.n{index}]\n")),
        repeated(&|index| format!("[port.\"a->n{index}\"]\nring = 1\n")),
    ];
    for text in texts {
        sound(&text);
    }
}
