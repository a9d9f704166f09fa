//! `lockgate reproduce` from the folder of a paper to its verdicts, exit code and files.

mod command;
mod page;

use std::fs;
use std::process::Output;

use command::lockgate;

const SCENARIO: &str = r#"
title    = "a queue that is too fast for its line"
duration = "2s"

[record]
interval = "100ms"

[node]
a = {}
b = {}

[link]
line = { between = ["a", "b"], rate = "1mbit" }

[port."a->b"]
root = "fair"
ring = 1

[port."a->b".queue.fair]
kind = "drr"
children = ["one", "two"]

[port."a->b".queue.one]
kind = "fifo"
limit = "20p"
match = [{ flow = "one" }]

[port."a->b".queue.two]
kind = "fifo"
limit = "20p"

[flow]
one = { from = "a", to = "b", transport = "udp", size = "1000B", rate = "2mbit" }
two = { from = "a", to = "b", transport = "udp", size = "1000B", rate = "2mbit" }
"#;

const CLAIMS: &str = r#"
title = "two flows on a line"
paper = "A paper of our own"
scenario = "line.toml"

[[run]]
name = "$kbit"
scenario = "line.toml"
set = ["link.line.rate=$(kbit)kbit"]
quick = ["duration=1s"]
each = { kbit = [1000, 500] }

[[claim]]
id = "full"
where = "Figure 1"
text = "the line is full"
paper = "1 Mbit/s and half of it"
decide = "sum of the flows"
value = "sum([$kbit: flow.{one,two}.throughput]) / 1000"
unit = "kbit/s"
each = { kbit = [1000, 500] }
expected = [1000, 500]
tolerance = 0.03

[[claim]]
id = "order"
where = "Figure 1"
text = "the slower line carries less"
paper = "less"
decide = "one flow, in the second half"
value = "[$kbit: flow.one.throughput @ 500ms..1s]"
each = { kbit = [1000, 500] }
order = "falling"

[[claim]]
id = "both"
own = true
where = "beside the paper"
text = "neither flow gets nothing"
paper = "not in the paper"
decide = "throughput of each"
value = "[1000: flow.{one,two}.throughput] / 1000"
unit = "kbit/s"
at_least = 1

[[claim]]
id = "plot"
where = "Figure 2"
text = "the delays are as drawn"
paper = "a plot"
decide = "share below 100 ms"
value = "[1000: flow.one.owd in 0ms..100ms]"
undecidable = "the figure has no numbers"

[[figure]]
id = "figure-1"
title = "Figure 1"
x = { label = "time", unit = "s" }
y = { label = "throughput", unit = "bit/s" }
[[figure.series]]
name = "$kbit"
each = { kbit = [1000, 500] }
over_time = "[$kbit: flow.one.throughput]"
[[figure.series]]
name = "paper"
points = [[0, 500000], [1, 500000]]

[[table]]
title = "Rates"
each = { kbit = [1000, 500] }
column = [{ head = "line", text = "$kbit" }, { head = "one", value = "[$kbit: flow.one.throughput] / 1000" }]

[[today]]
title = "the same line"
scenario = "line.toml"
ports = ["a->b"]
root = "fair"
kinds = ["fq_codel"]
[[today.column]]
head = "one over two"
value = "[$run: flow.one.throughput] / [$run: flow.two.throughput]"
"#;

/// Returns a folder with a paper of this claims file.
fn paper(claims: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    fs::write(folder.path().join("mine/line.toml"), SCENARIO).expect("written");
    fs::write(folder.path().join("mine/claims.toml"), claims).expect("written");
    folder
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn a_paper_is_run_judged_and_drawn() {
    let folder = paper(CLAIMS);
    let output = lockgate(
        folder.path(),
        &["reproduce", "./mine", "--quick", "--out", "out", "--with", "wf2q+,sfq,tbf"],
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        text.contains("The paper's claims: 2 of 3 hold, 1 cannot be decided from the paper's text"),
        "{text}"
    );
    assert!(text.contains("Lockgate's own claims: 1 of 1 hold\n"), "{text}");
    assert!(text.contains("not decidable: the figure has no numbers"), "{text}");
    assert!(text.contains("tbf cannot stand here"), "{text}");
    let report = page::report_data(&folder.path().join("out/report.html"));
    assert_eq!(report["figures"][0]["id"], "figure-1");
    let titles = [&report["comparisons"][0]["title"], &report["comparisons"][1]["title"]];
    assert_eq!(titles, ["The paper's claims", "Lockgate's own claims"]);
    assert_eq!(report["comparisons"][1]["rows"].as_array().map(Vec::len), Some(1), "one claim is our own");
    let document: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("out/claims.json")).expect("claims"))
            .expect("JSON");
    let verdicts: Vec<&str> = document["claims"]
        .as_array()
        .expect("claims")
        .iter()
        .filter_map(|claim| claim["verdict"].as_str())
        .collect();
    assert_eq!(verdicts, ["holds", "holds", "holds", "not-decidable"]);
    let tally = &document["tally"];
    assert_eq!((&tally["paper"]["claims"], &tally["own"]["claims"]), (&3.into(), &1.into()));
    let today = &document["tables"][1]["rows"];
    let kinds: Vec<&str> = today.as_array().expect("rows").iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(kinds, ["the paper's", "wf2q+", "sfq", "tbf"]);
    let shares: Vec<Option<f64>> =
        today.as_array().expect("rows").iter().map(|row| row[1].as_f64()).collect();
    assert!(
        shares[..3].iter().all(|share| share.is_some_and(|share| (0.9..1.1).contains(&share))),
        "{shares:?}"
    );
    assert_eq!(shares[3], None);
}

/// Claims with a fitted parameter: a limit of 20 packets, because the delay is then below 350 ms; at 40 it is
/// not.
const FITTED: &str = r#"
[[fitted]]
name = "limit"
parameter = "packets that a queue holds"
where = "Section 2"
paper = "silent on queues"
used = "20p"
why = "The delays of Table 1 need it."
range = "10 to 40"
values = ["10p", "20p", "40p"]
set = ["port.a->b.queue.one.limit=$value"]

[[claim]]
id = "wait"
where = "Table 1"
text = "nothing waits for long"
paper = "350 ms"
decide = "longest delay"
value = "[1000: flow.one.owd.max]"
unit = "s"
at_most = 0.35
fitted = ["limit"]
ours = ["ring"]

[[ours]]
name = "ring"
used = "one packet, as the drivers of the cards of that time had it by default"
where = "Section 3"
paper = "silent on the card"
"#;

/// Value of the parameter that is ours there, longer than a terminal's half.
const RING: &str = "one packet, as the drivers of the cards of that time had it by default";

#[test]
fn what_holds_by_a_fitted_parameter_is_counted_apart_and_its_range_is_shown() {
    let folder = paper(&format!("{CLAIMS}{FITTED}"));
    let output = lockgate(folder.path(), &["reproduce", "./mine", "--json", "--out", "out"]);
    let paper = &json(&output)["papers"][0];
    let wait = &paper["claims"][4];
    assert_eq!((&wait["id"], &wait["verdict"]), (&"wait".into(), &"holds-fitted".into()));
    let table = &paper["tables"][0];
    assert_eq!(table["title"], "Sensitivity: packets that a queue holds");
    let rows = table["rows"].as_array().expect("rows");
    let column = |index: usize| rows.iter().filter_map(|row| row[index].as_str()).collect::<Vec<_>>();
    assert_eq!(column(0), ["10p", "20p (used)", "40p"]);
    assert_eq!(column(2), ["1 of 1", "1 of 1", "0 of 1"], "{rows:?}");
    let text = lockgate(folder.path(), &["reproduce", "./mine", "--out", "out"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("1 hold with a parameter that was fitted to them"), "{text}");
    assert!(
        table["note"].as_str().is_some_and(|note| note.contains("Section 2: silent on queues")),
        "{table}"
    );
    let last = paper["tables"].as_array().and_then(|tables| tables.last()).expect("a table");
    assert_eq!(last["title"], "Parameters that are ours");
    assert_eq!(last["rows"][0], serde_json::json!(["ring", RING, "Section 3: silent on the card"]));
    // Its value wraps where it has no room.
    let words = text.split_once("Parameters that are ours").expect("the table").1;
    let shown = ["value", "drivers", "silent"].map(|word| words.contains(word));
    assert_eq!((shown, words.contains("too narrow")), ([true; 3], false), "{words}");
    let unknown = format!("{CLAIMS}{}", FITTED.replace("fitted = [\"limit\"]", "fitted = [\"depth\"]"));
    fs::write(folder.path().join("mine/claims.toml"), unknown).expect("written");
    let refused = lockgate(folder.path(), &["reproduce", "./mine", "--out", "other"]);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{errors}");
    assert!(errors.contains("claim `wait`: `fitted` names `depth`"), "{errors}");
}

#[test]
fn a_claim_is_judged_by_the_papers_value_and_the_fitted_one_stands_beside() {
    // The queue of the runs holds the 20 packets that the paper states; 40 were chosen.
    let stated = FITTED
        .replace("used = \"20p\"", "stated = \"20p\"\nused = \"40p\"")
        .replace("at_most = 0.35", "at_least = 0.35\nrequired = false");
    let folder = paper(&format!("{CLAIMS}{stated}"));
    let output = lockgate(folder.path(), &["reproduce", "./mine", "--json", "--out", "out"]);
    let paper = &json(&output)["papers"][0];
    let wait = &paper["claims"][4];
    assert_eq!((&wait["verdict"], &wait["beside"]["verdict"]), (&"does-not-hold".into(), &"holds".into()));
    assert_eq!(wait["beside"]["at"], "limit 40p");
    let tally = &paper["tally"]["paper"];
    assert_eq!((&tally["hold_fitted"], &tally["hold_beside"]), (&0.into(), &1.into()), "{tally}");
    let rows = paper["tables"][0]["rows"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["10p", "20p (paper)", "40p (fitted)"]);
    let text = lockgate(folder.path(), &["reproduce", "./mine", "--out", "out"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("1 of these hold with a fitted value in place of the paper's own"), "{text}");
    let absent = format!("{CLAIMS}{}", stated.replace("stated = \"20p\"", "stated = \"30p\""));
    fs::write(folder.path().join("mine/claims.toml"), absent).expect("written");
    let refused = lockgate(folder.path(), &["reproduce", "./mine", "--out", "other"]);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(errors.contains("fitted `limit`: `stated` is not among `values`"), "{errors}");
}

#[test]
fn a_required_claim_that_fails_is_exit_code_3() {
    let failing = CLAIMS.replace("expected = [1000, 500]", "expected = [1000, 400]");
    for (claims, code) in
        [(failing.clone(), 3), (failing.replace("tolerance =", "required = false\ntolerance ="), 0)]
    {
        let folder = paper(&claims);
        let output = lockgate(
            folder.path(),
            &["reproduce", "./mine", "--quick", "--claim", "full", "--json", "--out", "out"],
        );
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        let paper = &json(&output)["papers"][0];
        let claims = paper["claims"].as_array().expect("claims");
        assert_eq!(claims.len(), 1, "one was asked for");
        assert_eq!(claims[0]["verdict"], "does-not-hold");
        assert_eq!(paper["runs"], 2, "only the runs that it needs");
        let values: Vec<f64> = claims[0]["values"]
            .as_array()
            .expect("values")
            .iter()
            .filter_map(|value| value[1].as_f64())
            .collect();
        assert!((values[0] - 1000.0).abs() < 30.0 && (values[1] - 500.0).abs() < 15.0, "{values:?}");
    }
}

#[test]
fn what_is_wrong_with_a_paper_is_said_before_anything_runs() {
    let folder = paper(CLAIMS);
    let cases = [
        (
            CLAIMS.replace("at_most", "at_mots").replace("order = \"falling\"", "ordre = \"falling\""),
            "unknown field `ordre`",
        ),
        (CLAIMS.replace("order = \"falling\"", ""), "claim `order`: nothing decides it"),
        (CLAIMS.replace("[$kbit: flow.one.throughput @", "[$bit: flow.one.throughput @"), "`$bit`"),
        (
            CLAIMS.replace("[$kbit: flow.one.throughput @", "[x$kbit: flow.one.throughput @"),
            "there is no run `x1000`",
        ),
        (CLAIMS.replace("flow.one.owd in", "flow.on.owd in"), "nothing of this name"),
        (CLAIMS.replace("/ 1000\"\nunit", "/ 1000)\"\nunit"), "is not a formula"),
        (CLAIMS.replace("link.line.rate", "link.lime.rate"), "did you mean `line`"),
        (
            CLAIMS.replace(
                "each = { kbit = [1000, 500] }\n\n[[claim]]",
                "each = { kbit = [1000, 1000] }\n\n[[claim]]",
            ),
            "two runs called `1000`",
        ),
    ];
    for (claims, word) in cases {
        fs::write(folder.path().join("mine/claims.toml"), &claims).expect("written");
        let output = lockgate(folder.path(), &["reproduce", "./mine", "--out", "out"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{word}: {errors}");
        assert!(errors.contains(word), "`{word}` is not in\n{errors}");
        assert!(!folder.path().join("out").exists(), "nothing was left");
        assert!(!errors.contains("papers/"), "paths are as the user wrote them: {errors}");
    }
    // An error underlines the text that cannot be read.
    let text = CLAIMS.replace("at_most", "at_mots").replace("order = \"falling\"", "ordre = \"falling\"");
    fs::write(folder.path().join("mine/claims.toml"), text).expect("written");
    let errors = lockgate(folder.path(), &["reproduce", "./mine"]).stderr;
    let errors = String::from_utf8_lossy(&errors);
    assert!(errors.contains("mine/claims.toml:") && errors.contains("ordre = \"falling\""), "{errors}");
    for (arguments, word) in [
        (&["reproduce", "./mine", "--claim", "nothing"][..], "there are full, order, both, plot"),
        (&["reproduce", "--claim", "full"], "of one paper"),
        (&["reproduce", "--quick"], "no paper is named"),
        (&["reproduce", "./mine", "--with", "fifo,nix"], "there is no discipline `nix`"),
        (&["reproduce", "nothing"], "altq-wfq"),
    ] {
        fs::write(folder.path().join("mine/claims.toml"), CLAIMS).expect("written");
        let output = lockgate(folder.path(), arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(word), "{arguments:?}: `{word}` is not in\n{errors}");
    }
}
