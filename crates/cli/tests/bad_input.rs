//! Bad input: a clear error with the right exit code, never a panic, and no file left.

mod command;

use std::fmt::Write;
use std::fs;

use command::lockgate;

const GOOD: &str = r#"title = "good"
duration = "1s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "1mbit" }
[port."a->b"]
root = "q"
queue.q = { kind = "fifo" }
[flow.f]
from = "a"
to = "b"
transport = "udp"
size = "1000B"
rate = "500kbit"
"#;

/// Runs `text` and expects its refusal with these words, and that nothing was written.
#[track_caller]
fn refused(what: &str, text: &[u8], words: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("bad.toml"), text).expect("written");
    let output = lockgate(folder.path(), &["run", "bad.toml"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{what}: {errors}");
    assert!(!errors.contains("panicked"), "{what}: {errors}");
    for word in words {
        assert!(errors.contains(word), "{what}: `{word}` is not in\n{errors}");
    }
    assert!(output.stdout.is_empty(), "{what} printed results");
    let left: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").flatten().map(|file| file.file_name()).collect();
    assert_eq!(left, ["bad.toml"], "{what} left something behind");
}

/// A policy is no scenario, but it is a file of TOML.
#[test]
fn what_is_here_besides_scenarios_is_not_denied() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("policy.toml"), "[router]\nmode = \"egress\"\n").expect("written");
    let output = lockgate(folder.path(), &["run", "nothere.toml"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("name a scenario file; there is none here"), "{errors}");
}

fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "the example has no `{from}`");
    GOOD.replace(from, to)
}

#[test]
fn what_is_wrong_in_a_scenario_is_said_with_its_place_and_its_fix() {
    let cases: [(&str, String, &[&str]); 12] = [
        ("unknown key", with("size =", "sise ="), &["bad.toml:13:1", "sise", "did you mean `size`"]),
        ("bare number", with("\"500kbit\"", "500"), &["bad.toml:14:8", "500", "needs a unit"]),
        ("kbps", with("500kbit", "500kbps"), &["bad.toml:14:8", "kbps", "kBps"]),
        (
            "cycle",
            with(
                "queue.q = { kind = \"fifo\" }",
                "queue.q = { kind = \"prio\", children = [\"p\"] }\nqueue.p = { kind = \"prio\", children = [\"q\"] }",
            ),
            &["bad.toml:"],
        ),
        (
            "child used twice",
            with(
                "queue.q = { kind = \"fifo\" }",
                "queue.q = { kind = \"prio\", children = [\"p\", \"p\"] }\nqueue.p = { kind = \"fifo\" }",
            ),
            &["bad.toml:8:45", "child of `q` already"],
        ),
        (
            "weight 0",
            with(
                "queue.q = { kind = \"fifo\" }",
                "queue.q = { kind = \"drr\", children = [\"p\"] }\nqueue.p = { kind = \"fifo\", quantum = \"0B\" }",
            ),
            &["bad.toml:", "quantum", "1B"],
        ),
        ("rate of 0", with("rate = \"1mbit\"", "rate = \"0bit\""), &["bad.toml:5", "rate"]),
        ("no such node", with("to = \"b\"", "to = \"c\""), &["bad.toml:11:6", "`c`"]),
        (
            "no route",
            with("node.b = {}", "node.b = {}\nnode.c = {}").replace("to = \"b\"", "to = \"c\""),
            &["bad.toml:", "`c`"],
        ),
        ("empty file", String::new(), &["duration"]),
        (
            "two at once",
            with("size =", "sise =").replace("500kbit", "500kbps"),
            &["sise", "kbps", "2 problems"],
        ),
        ("not TOML", with("duration = \"1s\"", "duration = \"1s"), &["bad.toml:2"]),
    ];
    for (what, text, words) in cases {
        refused(what, text.as_bytes(), words);
    }
}

#[test]
fn hostile_files_are_refused_quickly() {
    let deep = |levels: usize| {
        let mut text = with("queue.q = { kind = \"fifo\" }", "");
        text += "\n[port.\"a->b\".queue]\nq = { kind = \"prio\", children = [\"q0\"] }\n";
        for level in 0..levels {
            let _ = writeln!(text, "q{level} = {{ kind = \"prio\", children = [\"q{}\"] }}", level + 1);
        }
        text + &format!("q{levels} = {{ kind = \"fifo\" }}\n")
    };
    refused("a tree 100 deep", deep(100).as_bytes(), &["bad.toml:", "16"]);
    refused("a tree 10 000 deep", deep(10_000).as_bytes(), &["bad.toml:", "16"]);
    let noise: Vec<u8> =
        (0..1_000_000u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
    refused("1 MB of noise", &noise, &["not UTF-8"]);
    refused("40 MB of text", "x".repeat(40_000_000).as_bytes(), &["33554432 bytes"]);
}

/// Returns a pcap file with this link type, and one packet of 60 bytes of which `kept` are stored.
fn pcap(link_type: u32, kept: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xA1B2_C3D4u32, 0x0004_0002, 0, 0, 65_535, link_type, 0, 0, 60, 60] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(vec![0; kept]);
    bytes
}

#[test]
fn captures_that_cannot_be_replayed_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = with("size = \"1000B\"\nrate = \"500kbit\"", "replay = { file = \"call.pcap\" }");
    fs::write(folder.path().join("replay.toml"), text).expect("written");
    let run = |capture: Option<Vec<u8>>| {
        let path = folder.path().join("call.pcap");
        match capture {
            Some(bytes) => fs::write(&path, bytes).expect("written"),
            None => drop(fs::remove_file(&path)),
        }
        let output = lockgate(folder.path(), &["run", "replay.toml", "--out", "out"]);
        assert!(!folder.path().join("out").exists() || output.status.success(), "half-written results");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, errors) = run(None);
    assert_eq!(code, Some(2));
    assert!(errors.contains("call.pcap") && errors.contains("no such file"), "{errors}");
    let (code, errors) = run(Some(pcap(105, 60)));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("802.11") || errors.contains("link type"), "{errors}");
    let (code, errors) = run(Some(pcap(1, 60)[..20].to_vec()));
    assert_eq!(code, Some(2), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    let (code, errors) = run(Some(pcap(1, 60)));
    assert_eq!(code, Some(0), "{errors}");
}

#[test]
fn results_go_where_they_can_or_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("good.toml"), GOOD).expect("written");
    fs::write(folder.path().join("file"), "").expect("written");
    fs::create_dir(folder.path().join("mine")).expect("created");
    fs::write(folder.path().join("mine/thesis.tex"), "precious").expect("written");
    for out in ["file", "file/below", "mine", "/proc/lockgate"] {
        let output = lockgate(folder.path(), &["run", "good.toml", "--out", out]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{out}: {errors}");
        assert!(errors.contains("cannot write results") && errors.contains("--out"), "{out}: {errors}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("mine/thesis.tex")).expect("kept"), "precious");
    // A second run replaces the first, whole.
    for _ in 0..2 {
        let output = lockgate(folder.path(), &["run", "good.toml", "--out", "results/today"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut names: Vec<String> = fs::read_dir(folder.path().join("results"))
        .expect("a folder")
        .flatten()
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["today"], "no drafts are left");
}

/// A pipe has its text once, and without a writer it holds up who opens it.
#[cfg(unix)]
#[test]
fn a_pipe_is_read_once_and_none_is_read_unasked() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for pipe in ["idle.toml", "scenario.toml", "policy.toml"] {
        assert!(std::process::Command::new("mkfifo").arg(at(pipe)).status().is_ok_and(|made| made.success()));
    }
    fs::File::create(at("long.toml")).and_then(|file| file.set_len(1 << 29)).expect("a file with a hole");
    fs::write(at("good.toml"), GOOD).expect("written");
    let missing = lockgate(folder.path(), &["run", "missing.toml"]);
    let errors = String::from_utf8_lossy(&missing.stderr);
    assert!(errors.contains("here are good.toml;"), "{errors}");
    let policy = "[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\" }\n[port.wan]\nrate = \"5mbit\"\n\
                  queue.q = { kind = \"fq_codel\" }\n";
    // A laboratory reads its policy a second time.
    for (pipe, text, is_read) in [("scenario.toml", GOOD, true), ("policy.toml", policy, false)] {
        for command in ["check", "run"] {
            let (path, text) = (at(pipe), text.to_owned());
            let writer = std::thread::spawn(move || fs::write(path, text));
            let output = lockgate(folder.path(), &[command, pipe]);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), is_read, "{command}: {errors}");
            assert!(is_read || errors.contains("it is a pipe or a device, not a file"), "{errors}");
            assert!(writer.join().is_ok_and(|written| written.is_ok()));
        }
    }
}

#[test]
fn wrong_usage_is_said_with_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("good.toml"), GOOD).expect("written");
    let cases: [(&[&str], &str); 8] = [
        (&["run"], "no scenario file was named"),
        (&["run", "missing.toml"], "no such file"),
        (&["run", "good.toml", "--set", "link"], "--set PATH=VALUE"),
        (&["run", "good.toml", "--set", "link.lime.rate=1mbit"], "did you mean `line`"),
        (&["run", "good.toml", "--duration", "5"], "needs a unit"),
        (&["run", "good.toml", "--repeat", "0"], "--repeat"),
        (&["list", "drrr"], "drr"),
        (&["reproduce", "nothing"], "caqt"),
    ];
    for (arguments, word) in cases {
        let output = lockgate(folder.path(), arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(word), "{arguments:?}: `{word}` is not in\n{errors}");
    }
    let bare = lockgate(folder.path(), &[]);
    assert_eq!(bare.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&bare.stdout).lines().count(), 10);
}

/// Reads and runs `text`, and expects both to be refused for their memory, with these words.
#[track_caller]
fn too_large(what: &str, text: &str, words: &[&str]) {
    refused(what, text.as_bytes(), words);
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("large.toml"), text).expect("written");
    let output = lockgate(folder.path(), &["check", "large.toml"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{what}: {errors}");
    assert!(words.iter().all(|word| errors.contains(word)), "{what}: {errors}");
}

#[test]
fn a_scenario_that_takes_too_much_memory_is_refused_before_it_is_built() {
    let series = with("[flow.f]", "[flow.f]\nstop = \"1ms\"") + "[record]\ninterval = \"1ns\"\n";
    too_large(
        "a sample a nanosecond",
        &series,
        &["for series", "2.0 GiB are allowed", "`record.interval`", "--memory"],
    );
    let flows = with("[flow.f]", "[flow.f]\ncount = 100000") + "[record]\ndetail = \"all\"\n";
    too_large("series of 100 000 flows", &flows, &["for series", "`record.interval`", "--memory"]);
    let connections = with(
        "transport = \"udp\"\nsize = \"1000B\"\nrate = \"500kbit\"",
        "transport = \"tcp\"\nbytes = \"unlimited\"\ncount = 300000",
    ) + "[record]\ninterval = \"1s\"\n";
    too_large("300 000 connections", &connections, &["for flows", "`count`", "--memory"]);
    let waiting = with("kind = \"fifo\"", "kind = \"fifo\", limit = \"1000000000000p\"")
        .replace("500kbit", "800gbit")
        .replace("1000B", "60B");
    too_large("a queue without end", &waiting, &["packets on their way", "limits of queues"]);
}

#[test]
fn memory_is_stated_and_its_limit_is_the_users() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("good.toml"), GOOD).expect("written");
    let said = lockgate(folder.path(), &["check", "good.toml"]);
    assert!(String::from_utf8_lossy(&said.stdout).contains("MiB of memory"), "{said:?}");
    let small = lockgate(folder.path(), &["run", "good.toml", "--memory", "10kB"]);
    let errors = String::from_utf8_lossy(&small.stderr);
    assert_eq!(small.status.code(), Some(2), "{errors}");
    assert!(errors.contains("are allowed"), "{errors}");
    for wrong in ["12", "much", "0B"] {
        let refused = lockgate(folder.path(), &["check", "good.toml", "--memory", wrong]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("such as `--memory 8GiB`"), "{refused:?}");
    }
    let series = with("[flow.f]", "[flow.f]\nstop = \"1ms\"") + "[record]\ninterval = \"1ns\"\n";
    fs::write(folder.path().join("large.toml"), series).expect("written");
    let allowed = lockgate(folder.path(), &["check", "large.toml", "--memory", "4000GiB"]);
    assert_eq!(allowed.status.code(), Some(0), "{allowed:?}");
}

#[test]
fn a_scenario_is_read_as_far_as_one_can_be_long() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = fs::File::create(folder.path().join("long.toml")).expect("created");
    long.set_len(33 << 20).expect("a hole");
    let output = lockgate(folder.path(), &["check", "long.toml"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors.contains("longer than the 33554432 bytes"), "{errors}");
}

/// No file is read without a bound, and of one that is too long the first bytes are not taken for all.
#[cfg(unix)]
#[test]
fn what_is_too_long_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("good.toml"), GOOD).expect("written");
    let holes = |name: &str, size| {
        fs::File::create(at(name)).and_then(|file| file.set_len(size)).expect("a hole");
    };
    holes("long", (1 << 30) + 1);
    holes("script.sh", (64 << 20) + 1);
    for (arguments, bytes) in [
        (vec!["identify", "--replay", "long"], 1 << 30),
        (vec!["diff", "good.toml", "good.toml", "--static", "--capture", "long"], 1 << 30),
        (vec!["play", "long", "--out", "page.html"], 1 << 30),
        (vec!["tc", "check", "script.sh"], 64 << 20),
        (vec!["tc", "import", "script.sh"], 64 << 20),
        (vec!["tc", "import", "-"], 64 << 20),
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lockgate"));
        let input = fs::File::open(at("script.sh")).expect("opened");
        let output =
            command.args(&arguments).current_dir(folder.path()).stdin(input).output().expect("it runs");
        let errors = command::text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(&format!("longer than the {bytes} bytes")), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

/// Whatever a scenario and its file are called, no command prints a control character, a sign that turns the
/// direction of text, or a line of that name's own that GitHub's runner would obey.
#[test]
fn names_reach_no_terminal_and_no_runner_as_commands() {
    const NAME: &str =
        "x\n::error file=a.rs::forged\n::stop-commands::k\u{1b}]0;taken\u{7}\u{202e}y ##[error]z";
    let name = NAME.replace('\n', "\\n").replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007");
    let text = GOOD.replace("title = \"good\"", &format!("title = \"{name}\""))
        + &format!("[[expect]]\nthat = \"flow.f.owd.p99\"\nbelow = \"1us\"\nname = \"{name}\"\n")
        + &format!(
            "[[vary]]\npath = \"link.line.rate\"\nvalues = [\"1mbit\", \"2mbit\"]\nname = \"{name}\"\n"
        );
    let folder = tempfile::tempdir().expect("a folder");
    let file = "h\u{1b}[2J\n::stop-commands::\u{202e}.toml";
    fs::write(folder.path().join(file), text).expect("written");
    let hidden = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
    let is_safe = |text: &str| {
        let commands = text.lines().filter(|line| {
            line.trim_start().starts_with("::")
                && !line.starts_with("::error file=h%")
                && !line.starts_with("::error file=h\\u{1b}")
        });
        !text.contains(hidden) && !text.contains("##[") && commands.count() == 0
    };
    let missing = format!("{file}.missing");
    for (arguments, code) in [
        (vec!["check", file], 0),
        (vec!["run", file, "--out", "out"], 3),
        (vec!["test", "--github", "--junit", "j.xml", file], 3),
        (vec!["test", "--github", missing.as_str()], 1),
        (vec!["compare", file, "--seeds", "1..2", "--out", "compared"], 3),
        (vec!["run", missing.as_str()], 2),
    ] {
        let output = lockgate(folder.path(), &arguments);
        let all = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(is_safe(&all), "{arguments:?}: {all:?}");
        assert!(output.status.code().is_some_and(|code| code < 10), "{arguments:?} ({code}): {all}");
        if code < 2 || arguments.len() > 2 {
            assert!(all.contains("\\u{202e}"), "{arguments:?}: {all}");
        }
    }
    let junit = fs::read_to_string(folder.path().join("j.xml")).expect("a document");
    assert!(!junit.contains(hidden) && junit.contains("\\u{1b}"), "{junit}");
}
