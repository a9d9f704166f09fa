//! What commands print at four widths, as golden texts: nothing wraps.
//!
//! `LOCKGATE_SCREENS=write` writes the texts.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use lockgate::text::width;

const WIDTHS: [usize; 4] = [60, 79, 120, 200];

/// A call, pages and two backups on a line: the call waits, unless a fair queue decides.
const SCENARIO: &str = r#"title = "A small home"
duration = "6s"
warmup = "2s"
node.home = {}
node.server = {}
link.line = { between = ["home", "server"], rate = "5mbit", delay = "8ms" }
[port."home:server"]
root = "buffer"
alternatives = ["fair"]
queue.buffer = { kind = "fifo", limit = "60kB" }
queue.fair = { kind = "fq_codel" }
[flow]
call = { from = "home", to = "server", profile = "g711" }
web = { from = "home", to = "server", transport = "tcp", pages = { objects = 2, object = "20kB", think = "1s" } }
backup = { from = "home", to = "server", transport = "tcp", bytes = "unlimited", count = 2 }
[[expect]]
that = "group.backup.goodput.sum"
above = "3mbit"
[[expect]]
that = "flow.call.owd.p99"
below = "50ms"
[[vary]]
name = "queue"
path = "port.home:server.root"
values = ["buffer", "fair"]
"#;

fn lockgate(folder: &Path, columns: usize, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", columns.to_string())
        .output()
        .expect("lockgate runs")
}

/// Compares what a command prints with its golden texts.
fn is_as_known(name: &str, arguments: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("small.toml"), SCENARIO).expect("written");
    for columns in WIDTHS {
        let output = lockgate(folder.path(), columns, arguments);
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(!text.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        for line in text.lines() {
            // A path and a command are copied, and never broken.
            let is_copied = line.starts_with("report: ") || line.starts_with("  lockgate ");
            assert!(width(line) <= columns || is_copied, "{name} at {columns}: {line}");
            assert!(!line.ends_with(' '), "{name} at {columns}: {line:?}");
        }
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/screens/{name}-{columns}.txt"));
        if std::env::var_os("LOCKGATE_SCREENS").is_some_and(|value| value == "write") {
            fs::write(&file, &text).expect("written");
        }
        let known = fs::read_to_string(&file).unwrap_or_default();
        assert!(text == known, "{} differs (LOCKGATE_SCREENS=write writes it):\n{text}", file.display());
    }
}

#[test]
fn a_run() {
    is_as_known("run", &["run", "small.toml", "--out", "out"]);
}

#[test]
fn several_runs() {
    is_as_known("repeat", &["run", "small.toml", "--repeat", "3", "--out", "out"]);
}

#[test]
fn a_check() {
    is_as_known("check", &["check", "small.toml"]);
}

#[test]
fn lists() {
    is_as_known("list", &["list"]);
    is_as_known("list-cake", &["list", "cake"]);
}

/// A notice on stderr is broken between words.
#[test]
fn a_notice_of_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = format!("record = {{ detail = \"groups\" }}\n{SCENARIO}");
    fs::write(folder.path().join("small.toml"), scenario).expect("written");
    let output = lockgate(folder.path(), 60, &["run", "small.toml", "--no-ghost"]);
    let told = String::from_utf8(output.stderr).expect("text");
    let [first, second] = told.lines().take(2).collect::<Vec<_>>()[..] else { panic!("{told}") };
    assert!(first.starts_with("members of groups are recorded with detail"), "{told}");
    assert!(first.len() <= 60 && second.ends_with("scenario says"), "{told}");
}

/// The words of findings wrap as those of `check`; a quoted command stays above its mark.
#[test]
fn findings_on_a_script_of_tc() {
    const SCRIPT: &str = "tc qdisc add dev eth0 root handle 1: htb default 30\n\
        tc class add dev eth0 parent 1: classid 1:30 htb rate 5mbit ceil 10mbit\n\
        tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 5060 0xffff flowid 1:20\n";
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("home.sh"), SCRIPT).expect("written");
    for columns in WIDTHS {
        let output = lockgate(folder.path(), columns, &["tc", "check", "home.sh"]);
        let text = String::from_utf8(output.stdout).expect("text");
        for line in SCRIPT.lines().filter(|line| line.contains("filter")) {
            assert!(text.contains(line), "{text}");
        }
        let told = text.lines().filter(|line| !line.contains(" | "));
        assert!(told.clone().all(|line| width(line) <= columns), "{columns}:\n{text}");
        let joined = told.map(str::trim).collect::<Vec<_>>().join(" ");
        let fault = "error[class-absent]: the filter leads to `1:20`, which is not there: its packets go where those go";
        assert!(joined.contains(fault), "{joined}");
    }
}

#[test]
fn a_name_that_is_nearly_one_is_suggested() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lockgate(folder.path(), 79, &["list", "fqcodel"]);
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("did you mean `fq_codel`?") && errors.lines().count() == 2, "{errors}");
}

/// Returns what a shell is offered after these words.
fn completions(folder: &Path, words: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(["--", "lockgate"])
        .args(words)
        .current_dir(folder)
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .expect("lockgate runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_kinds_papers_files_and_addresses() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("small.toml"), SCENARIO).expect("written");
    fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"x\"\n").expect("written");
    let of = |words: &[&str]| completions(folder.path(), words);
    assert_eq!(of(&["list", "fq_c"]), ["fq_codel"]);
    assert!(of(&["reproduce", "c"]).contains(&"caqt".to_owned()));
    assert_eq!(
        of(&["run", ""]).iter().filter(|word| word.contains(".toml")).collect::<Vec<_>>(),
        ["small.toml"]
    );
    assert_eq!(of(&["compare", "small.toml", "--show", "flow.ca"]), ["flow.call."]);
    assert_eq!(of(&["run", "small.toml", "--set", "link.line.r"]), ["link.line.rate="]);
    assert!(!of(&[""]).contains(&"docs".to_owned()), "hidden commands are not offered");
    let script = lockgate(folder.path(), 79, &["completions", "bash"]);
    assert!(String::from_utf8_lossy(&script.stdout).contains("COMPLETE=\"bash\""), "{script:?}");
}

/// Calls of 85.6 kbit/s on 1 Mbit/s: eleven fit, and a twelfth lets the queue grow.
#[test]
fn the_largest_number_of_calls() {
    const CALLS: &str = r#"duration = "6s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "1mbit" }
flow.call = { from = "a", to = "b", size = "214B", gap = "20ms" }
"#;
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("calls.toml"), CALLS).expect("written");
    let tune = |more: &[&str]| {
        let arguments = ["tune", "calls.toml", "--largest", "flow.call.count", "--seeds", "1..2"];
        let output = lockgate(folder.path(), 79, &[&arguments[..], more].concat());
        let errors = String::from_utf8(output.stderr).expect("text");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"), errors)
    };
    let (code, text, errors) = tune(&["--while", "group.call.owd.p99.worst <= 50ms"]);
    assert_eq!(code, Some(0), "{errors}");
    let answer = text.lines().skip_while(|line| !line.starts_with("call count:"));
    let answer = answer.map(str::trim).collect::<Vec<_>>().join(" ");
    let expected =
        "call count: 11 is the largest that keeps call delay p99 worst at most 50 ms in all of 2 seeds";
    assert!(answer.starts_with(expected), "{text}");
    let (code, document, errors) = tune(&["--while", "group.call.owd.p99.worst <= 50ms", "--json", "-"]);
    assert_eq!(code, Some(0), "{errors}");
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    let found = [&document["kept_by_all"], &document["kept_by_some"]].map(serde_json::Value::as_u64);
    assert_eq!(found, [Some(11), Some(11)], "{document}");
    let (code, text, _) = tune(&["--while", "group.call.loss.worst <= -1"]);
    assert_eq!(code, Some(3));
    assert!(text.contains("call count: none keeps"), "{text}");
    let (code, _, errors) = tune(&["--while", "group.cal.loss.worst <= 1%"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("did you mean"), "{errors}");
}

#[test]
fn a_comparison() {
    is_as_known("compare", &["compare", "small.toml", "--seeds", "1..3", "--out", "out"]);
}

#[test]
fn a_search_for_one_goal() {
    let goal = ["--goal", "min flow.call.owd.p99", "--subject-to", "group.backup.goodput.sum >= 4mbit"];
    let vary = ["--vary", "port.home:server.queue.buffer.limit=10kB..60kB"];
    let seeds = ["--runs", "12", "--seeds", "1", "--validate", "11..13"];
    is_as_known("tune", &[&["tune", "small.toml"][..], &goal, &vary, &seeds].concat());
}

#[test]
fn a_search_for_two_goals() {
    let goals = ["--goal", "min flow.call.owd.p99", "--goal", "max group.backup.goodput.sum"];
    let vary = ["--vary", "port.home:server.queue.buffer.limit=10kB..60kB"];
    let seeds = ["--runs", "12", "--seeds", "1", "--validate", "11..13"];
    is_as_known("tune-two", &[&["tune", "small.toml"][..], &goals, &vary, &seeds].concat());
}
