//! `lockgate test` fails closed: whatever keeps it from judging is a failure in every output: exit code,
//! `JUnit`, GitHub's annotations and JSON.

mod command;

use std::fs;
use std::path::Path;
use std::process::Command;

use command::{lockgate, text};
use serde_json::Value;
use tempfile::TempDir;

const SCENARIO: &str = r#"title = "a line"
duration = "1s"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1mbit" }
flow.one = { from = "a", to = "b", transport = "udp", size = "500B", gap = { distribution = "exponential", mean = "5ms" } }
port."a:b" = { root = "q", queue = { q = { kind = "fifo", limit = "50kB" } } }

[[expect]]
that = "flow.one.owd.p99"
below = "10s"
"#;

const POLICY: &str = r#"[router]
mode = "egress"
interfaces = { wan = "eth0" }
[port.wan]
rate = "5mbit"
queue.q = { kind = "fq_codel" }
"#;

/// Returns a folder with a scenario that holds, `qos/line.toml`, and a baseline of its seeds 1 to 3.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("qos")).expect("made");
    fs::write(at("qos/line.toml"), SCENARIO).expect("written");
    let made = lockgate(folder.path(), &["test", "qos", "--seeds", "1..3", "--write-baseline", "main.json"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    folder
}

/// What each of the four outputs says of a test: true if it passes.
#[derive(Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an output of its own")]
struct Passes {
    code: bool,
    junit: bool,
    annotations: bool,
    json: bool,
}

const PASSED: Passes = Passes { code: true, junit: true, annotations: true, json: true };
const FAILED: Passes = Passes { code: false, junit: false, annotations: false, json: false };

/// Runs a test with every output.
fn outputs(folder: &Path, arguments: &[&str]) -> (Passes, String) {
    let lines = lockgate(folder, &[&["test"], arguments, &["--junit", "out.xml", "--github"]].concat());
    let document = lockgate(folder, &[&["test"], arguments, &["--json"]].concat());
    assert_eq!(lines.status.code(), document.status.code(), "{}", text(&document.stderr));
    let (stdout, stderr) = (text(&lines.stdout), text(&lines.stderr));
    assert!(!stderr.contains("panicked"), "{stderr}");
    let junit = fs::read_to_string(folder.join("out.xml")).expect("a JUnit document");
    let json: Value = serde_json::from_slice(&document.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&document.stdout), text(&document.stderr)));
    let count = |key: &str| junit.matches(key).count();
    let is_whole = count("<testcase ") > 0;
    let has_faults = count("<failure ") + count("<error ") > 0;
    let counted = junit.split("failures=\"").skip(1).any(|rest| !rest.starts_with("0\""))
        || junit.split("errors=\"").skip(1).any(|rest| !rest.starts_with("0\""));
    assert_eq!(has_faults, counted, "the numbers of a suite are those of its cases: {junit}");
    let passes = Passes {
        code: lines.status.code() == Some(0),
        junit: is_whole && !has_faults,
        annotations: !stdout.lines().any(|line| line.starts_with("::error ")),
        json: json["holds"] == true,
    };
    (passes, format!("{stdout}{stderr}{json}"))
}

/// Change that keeps a test from judging.
enum Fault {
    /// Another content of `qos/line.toml`.
    Text(String),
    /// Another file beside it, or in place of it.
    File(&'static str, Vec<u8>),
    /// A file less.
    Remove(&'static str),
    /// Other arguments.
    Arguments(Vec<&'static str>),
    /// A content of the baseline.
    Baseline(String),
}

fn replaced(from: &str, to: &str) -> Fault {
    assert!(SCENARIO.contains(from), "{from}");
    Fault::Text(SCENARIO.replace(from, to))
}

fn of_file(name: &'static str, content: &str) -> Fault {
    Fault::File(name, content.as_bytes().to_vec())
}

/// Returns the arguments of a test with the gate of its baseline.
fn gated(file: &'static str, more: &[&'static str]) -> Vec<&'static str> {
    [&[file, "--seeds", "1..3", "--baseline", "main.json", "--fail-on-regression", "5%"], more].concat()
}

/// Faults of the files of a directory.
fn of_scenarios() -> Vec<(&'static str, Fault)> {
    let conflict = format!("<<<<<<< HEAD\n{SCENARIO}");
    vec![
        ("merge conflict", Fault::Text(conflict.clone())),
        ("merge conflict beside", of_file("qos/other.toml", &conflict)),
        ("misspelt table", replaced("node = {", "nod = {")),
        ("misspelt table alone", of_file("qos/other.toml", "[nod]\na = {}\n")),
        ("broken table", replaced("node = {", "[node/\nx = {")),
        ("empty", Fault::Text(String::new())),
        ("comments only", of_file("qos/other.toml", "# nothing yet\n")),
        ("binary", Fault::File("qos/other.toml", vec![0, 159, 146, 150, 255])),
        (
            "UTF-16",
            Fault::File("qos/line.toml", SCENARIO.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ),
        ("cut short", Fault::Text(SCENARIO[..SCENARIO.len() - 12].to_owned())),
        ("cut in a table", Fault::Text(SCENARIO[..60].to_owned())),
        ("unknown key", replaced("title", "tilte")),
        ("no duration", replaced("duration = \"1s\"\n", "")),
        ("wrong value", replaced("\"1mbit\"", "\"1furlong\"")),
        ("NaN as a value", replaced("\"50kB\"", "nan")),
        ("NaN as a bound", replaced("\"10s\"", "nan")),
        ("warm-up longer than the run", replaced("duration = \"1s\"", "duration = \"1s\"\nwarmup = \"2s\"")),
        ("no expectation", replaced(&SCENARIO[SCENARIO.find("[[expect]]").expect("one")..], "")),
        ("unknown metric", replaced("owd.p99", "owd.p98")),
        ("unknown flow", replaced("\"flow.one.owd", "\"flow.two.owd")),
        ("no packet in the window", replaced("mean = \"5ms\" }", "mean = \"5ms\" }, start = \"999999us\"")),
        ("an expectation that is missed", replaced("\"10s\"", "\"1us\"")),
        (
            "two bounds that exclude each other",
            replaced("below = \"10s\"", "below = \"1ms\"\nabove = \"2s\""),
        ),
        ("no bound", replaced("below = \"10s\"\n", "")),
        ("missing trace", replaced("rate = \"1mbit\"", "rate = \"1mbit\", trace = \"gone.csv\"")),
        ("missing capture", replaced("size = \"500B\", gap", "replay = { file = \"gone.pcap\" }, gap")),
        ("missing table", replaced("duration", "subscribers = \"gone.csv\"\nduration")),
        (
            "missing policy",
            replaced(
                "root = \"q\", queue = { q = { kind = \"fifo\", limit = \"50kB\" } }",
                "policy = \"gone.toml:wan\"",
            ),
        ),
        ("broken policy", of_file("qos/house.toml", &POLICY.replace("fq_codel", "fq_codell"))),
        ("policy of no TOML", of_file("qos/house.toml", &format!("{POLICY}[port\n"))),
        ("deep scenario", of_file("qos/more/deep/other.toml", &conflict)),
        ("capital ending", of_file("qos/other.TOML", &conflict)),
        ("directory without a scenario", Fault::Arguments(vec!["empty"])),
        ("directory of other files", Fault::Arguments(vec!["others"])),
        ("missing file", Fault::Arguments(vec!["qos", "gone.toml"])),
        ("file that is something else", Fault::Arguments(vec!["qos", "others/Cargo.toml"])),
    ]
}

/// Faults of the command line and of the baseline.
fn of_gates(baseline: &str) -> Vec<(&'static str, Fault)> {
    let with = |from: &str, to: &str| {
        assert!(baseline.contains(from), "{from} in {baseline}");
        Fault::Baseline(baseline.replace(from, to))
    };
    let parsed: Value = serde_json::from_str(baseline).expect("JSON");
    let values = parsed["files"]["qos/line.toml"]["flow.one.owd.p99"].to_string();
    let spaced = baseline.split_once("p99\": ").map(|(_, rest)| &rest[..=rest.find(']').unwrap_or(0)]);
    let values_text = spaced.unwrap_or(&values);
    let of_share = |share| {
        let baseline = ["qos", "--seeds", "1..3", "--baseline", "main.json"];
        Fault::Arguments([&baseline[..], &["--fail-on-regression", share]].concat())
    };
    vec![
        ("no such limit of memory", Fault::Arguments(vec!["qos", "--memory", "0B"])),
        ("too little memory", Fault::Arguments(vec!["qos", "--memory", "1kB"])),
        ("malformed setting", Fault::Arguments(vec!["qos", "--set", "port.a-"])),
        ("setting of nothing", Fault::Arguments(vec!["qos", "--set", "link.gone.rate=1mbit"])),
        ("policy of no port", Fault::Arguments(vec!["qos", "--policy", "gone.toml"])),
        ("zero seeds", Fault::Arguments(vec!["qos", "--seeds", "1..0"])),
        ("no seeds", Fault::Arguments(vec!["qos", "--seeds", ""])),
        ("a seed that is none", Fault::Arguments(vec!["qos", "--seeds", "nan"])),
        ("a share that is none", of_share("nan%")),
        ("a share without a sign", of_share("5")),
        ("no baseline", Fault::Remove("main.json")),
        ("a directory as baseline", Fault::Arguments(vec!["qos", "--seeds", "1..3", "--baseline", "qos"])),
        ("other seeds", Fault::Arguments(vec!["qos", "--seeds", "1..2", "--baseline", "main.json"])),
        ("empty baseline", Fault::Baseline(String::new())),
        (
            "baseline without a file",
            Fault::Baseline(
                baseline[..baseline.find("\"files\"").expect("files")].to_owned() + "\"files\": {} }",
            ),
        ),
        ("damaged baseline", Fault::Baseline(baseline[..baseline.len() / 2].to_owned())),
        ("binary baseline", Fault::Baseline("\u{0}\u{1}\u{2}".to_owned())),
        ("baseline of another schema", with("\"schema\": 1", "\"schema\": 2")),
        ("baseline of other files", with("qos/line.toml", "qos/else.toml")),
        (
            "baseline with a file that is gone",
            with("\"files\": {", "\"files\": { \"qos/gone.toml\": { \"flow.a.owd.p99\": [1, 1, 1] },"),
        ),
        ("baseline of other metrics", with("owd.p99", "owd.p95")),
        ("baseline with values less", with(values_text, "[ 0.1 ]")),
        ("baseline without values", with(values_text, "[ null, null, null ]")),
        ("baseline with words", with(values_text, "[ \"1ms\", \"1ms\", \"1ms\" ]")),
        ("baseline with numbers beyond all", with(values_text, "[ 1e999, 1, 1 ]")),
        ("regression", with(values_text, "[ 1e-6, 1e-6, 1.1e-6 ]")),
    ]
}

/// Some editors begin a file with a byte order mark.
#[test]
fn a_baseline_is_read_with_a_byte_order_mark() {
    let folder = folder();
    let at = folder.path().join("main.json");
    let baseline = fs::read_to_string(&at).expect("a baseline");
    fs::write(&at, format!("\u{feff}{baseline}")).expect("written");
    let (passes, told) = outputs(folder.path(), &gated("qos", &[]));
    assert_eq!(passes, PASSED, "{told}");
}

/// Each way in which a check can be unable to judge, in turn, and the same without it.
#[test]
fn what_cannot_be_judged_fails_in_every_output() {
    let baseline = fs::read_to_string(folder().path().join("main.json")).expect("a baseline");
    let of_baseline = |fault: &Fault| matches!(fault, Fault::Baseline(_) | Fault::Remove(_));
    let faults: Vec<_> = of_scenarios().into_iter().chain(of_gates(&baseline)).collect();
    assert!(faults.len() >= 60, "{}", faults.len());
    for (name, fault) in &faults {
        let folder = folder();
        let at = |file: &str| folder.path().join(file);
        for (file, content) in [("empty/notes.md", ""), ("others/Cargo.toml", "[package]\nname = \"x\"\n")] {
            fs::create_dir(at(file.split_once('/').expect("a directory").0)).expect("made");
            fs::write(at(file), content).expect("written");
        }
        let plain = if of_baseline(fault) { gated("qos", &[]) } else { vec!["qos"] };
        let (passes, told) = outputs(folder.path(), &plain);
        assert_eq!(passes, PASSED, "without {name}: {told}");
        let arguments = match fault {
            Fault::Arguments(arguments) => arguments.clone(),
            _ => plain,
        };
        match fault {
            Fault::Text(text) => fs::write(at("qos/line.toml"), text).expect("written"),
            Fault::File(file, content) => {
                fs::create_dir_all(at(file).parent().expect("a directory")).expect("made");
                fs::write(at(file), content).expect("written");
            }
            Fault::Remove(file) => fs::remove_file(at(file)).expect("removed"),
            Fault::Baseline(text) => fs::write(at("main.json"), text).expect("written"),
            Fault::Arguments(_) => {}
        }
        let (passes, told) = outputs(folder.path(), &arguments);
        assert_eq!(passes, FAILED, "with {name}: {told}");
    }
}

/// Names that a directory may have besides files that are read at once.
#[cfg(unix)]
#[test]
fn what_is_no_regular_file_fails_or_is_named() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let at = |file: &str| folder.path().join(file);
    symlink("gone.toml", at("qos/link.toml")).expect("a link");
    assert_eq!(outputs(folder.path(), &["qos"]).0, FAILED, "a link to nothing");
    fs::remove_file(at("qos/link.toml")).expect("removed");
    assert!(Command::new("mkfifo").arg(at("qos/pipe.toml")).status().is_ok_and(|made| made.success()));
    let (passes, told) = outputs(folder.path(), &["qos"]);
    assert!(passes == FAILED && told.contains("not a regular file"), "{told}");
    fs::remove_file(at("qos/pipe.toml")).expect("removed");
    symlink(".", at("qos/round")).expect("a link");
    let (passes, told) = outputs(folder.path(), &["qos"]);
    assert!(passes == PASSED && told.contains("qos/round: left out: a link to a directory"), "{told}");
}

/// A directory is tested with all below it; what is plainly something else is named.
#[test]
fn a_directory_is_tested_whole() {
    let folder = folder();
    let at = |file: &str| folder.path().join(file);
    for (file, content) in [
        ("qos/more/second.toml", SCENARIO),
        ("qos/house.toml", POLICY),
        ("qos/Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\n"),
        ("qos/claims.toml", "title = \"t\"\n[[claim]]\nname = \"x\"\n[[run]]\nscenario = \"y\"\n"),
        ("qos/pyproject.toml", "[project]\nname = \"x\"\n[tool.ruff]\n[build-system]\n"),
        ("qos/kept/scenario.toml", "<<<<<<<"),
        ("qos/kept/manifest.json", "{}"),
        ("qos/.git/broken.toml", "<<<<<<<"),
        ("qos/readme.md", "<<<<<<<"),
    ] {
        fs::create_dir_all(at(file).parent().expect("a directory")).expect("made");
        fs::write(at(file), content).expect("written");
    }
    let output = lockgate(folder.path(), &["test", "qos", "--set", "duration=12s"]);
    let told = text(&output.stdout);
    for line in ["qos/house.toml: ", "qos/line.toml: 1 of 1", "qos/more/second.toml: 1 of 1"] {
        assert!(
            told.lines().any(|told| told.get(4..).is_some_and(|told| told.starts_with(line))),
            "{line}: {told}"
        );
    }
    let left_out = [
        "- qos/Cargo.toml: left out: no table of a scenario",
        "- qos/claims.toml: left out: no table of a scenario",
        "- qos/kept: left out: the results of an earlier run",
        "- qos/pyproject.toml: left out: no table of a scenario",
    ];
    assert_eq!(told.lines().filter(|line| line.starts_with('-')).collect::<Vec<_>>(), left_out, "{told}");
}

/// A directory such as `scenarios` may have files that show something and judge nothing.
/// A table counts the variants of each value over all other variations, and misses are the exit code.
#[test]
fn a_table_has_files_by_the_values_of_a_variation() {
    let folder = folder();
    let vary = |name: &str, path: &str, values: &str| {
        format!("[[vary]]\nname = \"{name}\"\npath = \"{path}\"\nvalues = \"{values}\"\n")
    };
    let limits = vary("bound", "port.a:b.queue.q.limit", "1kB,50kB");
    let rates = vary("rate", "link.line.rate", "1mbit,2mbit");
    let lost = "[[expect]]\nthat = \"flow.one.loss\"\nbelow = \"1%\"\n";
    fs::write(folder.path().join("qos/two.toml"), [SCENARIO, lost, &limits, &rates].concat())
        .expect("written");
    let table = lockgate(folder.path(), &["test", "qos", "--by", "bound", "--seeds", "1..2"]);
    let (said, complained) = (text(&table.stdout), text(&table.stderr));
    assert_eq!(table.status.code(), Some(3), "{said}{complained}");
    let line = |name: &str| -> Vec<String> {
        let line = said.lines().find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no line {name}: {said}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(line("scenario"), ["scenario", "1kB", "50kB"]);
    let counts = line("two");
    assert!(counts[1] != "4/4" && counts[1].ends_with("/4") && counts[2] == "4/4", "{said}");
    assert!(said.contains("line.toml: left out: it has no `[[vary]]` called `bound`"), "{said}");
    let missed = said.lines().find(|line| line.starts_with("✗ two, bound 1kB: rate "));
    assert!(missed.is_some_and(|line| line.contains("flow.one.loss is ")), "{said}");
    let mistyped = lockgate(folder.path(), &["test", "qos", "--by", "bonud"]);
    assert_eq!(mistyped.status.code(), Some(2));
    assert!(text(&mistyped.stderr).contains("did you mean `bound`?"), "{}", text(&mistyped.stderr));
    let one = lockgate(folder.path(), &["test", "qos/line.toml", "--by", "bound"]);
    assert_eq!(one.status.code(), Some(2), "{}", text(&one.stderr));
}

#[test]
fn a_file_that_expects_nothing_is_left_out_of_a_directory_alone() {
    let folder = folder();
    let at = |file: &str| folder.path().join(file);
    let silent = &SCENARIO[..SCENARIO.find("[[expect]]").expect("one")];
    fs::write(at("qos/silent.toml"), silent).expect("written");
    let (passes, told) = outputs(folder.path(), &["qos"]);
    assert!(passes == PASSED && told.contains("- qos/silent.toml: left out: it expects nothing"), "{told}");
    assert_eq!(outputs(folder.path(), &["qos", "qos/silent.toml"]).0, FAILED, "it is named");
    fs::create_dir(at("shown")).expect("made");
    fs::write(at("shown/silent.toml"), silent).expect("written");
    let (passes, told) = outputs(folder.path(), &["qos", "shown"]);
    assert!(passes == FAILED && told.contains("✗ shown: no scenario in this directory expects"), "{told}");
    // One that cannot run fails, whatever it expects.
    fs::write(at("qos/silent.toml"), silent.replace("1mbit", "1furlong")).expect("written");
    assert_eq!(outputs(folder.path(), &["qos"]).0, FAILED);
    // An expectation that is gone since the baseline.
    fs::write(at("qos/silent.toml"), SCENARIO).expect("written");
    let both = ["test", "qos", "--seeds", "1..3", "--write-baseline", "both.json"];
    assert!(lockgate(folder.path(), &both).status.success());
    fs::write(at("qos/silent.toml"), silent).expect("written");
    let judged = ["qos", "--seeds", "1..3", "--baseline", "both.json"];
    assert_eq!(outputs(folder.path(), &judged).0, FAILED, "it had an expectation");
}

/// The way in which a path is written does not matter to a baseline.
#[test]
fn a_baseline_knows_a_file_however_its_path_is_written() {
    let folder = folder();
    let absolute = folder.path().join("qos/line.toml").display().to_string();
    for file in ["qos", "./qos", "qos/", "qos//line.toml", "./qos/../qos/line.toml", &absolute] {
        let arguments =
            ["test", file, "--seeds", "1..3", "--baseline", "main.json", "--fail-on-regression", "5%"];
        let output = lockgate(folder.path(), &arguments);
        let told = text(&output.stderr);
        assert!(output.status.success() && told.is_empty(), "{file}: {told}");
        assert!(
            text(&output.stdout).lines().any(|line| line.trim_end().ends_with('=')),
            "{file} is compared"
        );
        let slower = [&arguments[..], &["--set", "link.line.rate=900kbit"]].concat();
        assert_eq!(lockgate(folder.path(), &slower).status.code(), Some(3), "{file}");
    }
    let slower = ["--set", "link.line.rate=900kbit", "--github"];
    let gate = ["test", "qos", "--seeds", "1..3", "--baseline", "main.json", "--fail-on-regression", "5%"];
    let annotated = text(&lockgate(folder.path(), &[&gate[..], &slower].concat()).stdout);
    let annotation = annotated.lines().find(|line| line.starts_with("::error ")).expect("an annotation");
    assert!(annotation.contains("title=regression::flow."), "{annotation}");
    for policy in ["nope.toml", "qos/nope.toml"] {
        let refused = lockgate(folder.path(), &["test", "qos", "--policy", policy]);
        let why = format!("cannot read `{policy}`: there is no such file");
        assert!(refused.status.code() == Some(1) && text(&refused.stderr).contains(&why), "{refused:?}");
    }
    let gone = lockgate(folder.path(), &["test", "qos", "--baseline", "nothere.json"]);
    assert!(text(&gone.stderr).contains("cannot read the baseline `nothere.json`: there is no such file"));
}

/// True if a process handles SIGINT.
#[cfg(target_os = "linux")]
fn listens(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("its signals");
    u64::from_str_radix(caught.trim(), 16).is_ok_and(|mask| mask & 2 != 0)
}

/// An interrupted test says so of the file that it was at, and of those that it did not reach.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_test_fails_in_every_output() {
    let folder = folder();
    let long = SCENARIO.replace("\"1s\"", "\"10000s\"").replace("\"5ms\"", "\"10us\"");
    fs::write(folder.path().join("qos/a-long.toml"), long).expect("written");
    for output in [&["--github"][..], &["--json"]] {
        let child = Command::new(env!("CARGO_BIN_EXE_lockgate"))
            .args(["test", "qos", "--memory", "100GiB", "--junit", "out.xml"])
            .args(output)
            .current_dir(folder.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("lockgate runs");
        let pid = child.id().to_string();
        while !listens(&pid) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(Command::new("kill").args(["-INT", &pid]).status().is_ok_and(|sent| sent.success()));
        let output = child.wait_with_output().expect("it ends");
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(130), "{told}{}", text(&output.stderr));
        assert!(told.contains("::error ") || told.contains("\"holds\": false"), "{told}");
        let junit = fs::read_to_string(folder.path().join("out.xml")).expect("a document");
        assert_eq!(junit.matches("<error message=\"interrupted").count(), 2, "{junit}");
        fs::remove_file(folder.path().join("out.xml")).expect("removed");
    }
}
