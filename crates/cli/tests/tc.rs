//! `lockgate tc`: the guide is run as it stands, and what is wrong is said with its place.

mod command;

use std::fs;
use std::path::{Path, PathBuf};

use command::{lockgate, text};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the first block of this language on a page.
fn block(page: &str, language: &str) -> String {
    let part = page.split(&format!("```{language}\n")).nth(1).expect("a block");
    part.split("```").next().unwrap_or_default().to_owned()
}

#[test]
fn the_guide_from_tc_holds() {
    let page = fs::read_to_string(repository().join("docs/guides/from-tc.md")).expect("the guide");
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    fs::write(at.join("shaper.sh"), block(&page, "sh")).expect("written");
    let commands = block(&page, "console");
    let lines: Vec<&str> = commands.lines().filter_map(|line| line.strip_prefix("$ lockgate ")).collect();
    assert_eq!(lines.len(), 4);
    let mut last = String::new();
    for line in lines {
        let (line, file) = line.split_once(" > ").map_or((line, None), |(line, file)| (line, Some(file)));
        let output = lockgate(at, &line.split_whitespace().collect::<Vec<_>>());
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        last = text(&output.stdout);
        if let Some(file) = file {
            fs::write(at.join(file), &output.stdout).expect("written");
        }
    }
    for part in [
        "tc qdisc add dev eth0 root handle 1: htb r2q 10 default 0x50",
        "tc class add dev eth0 parent 1:1 classid 1:30 htb rate 5mbit ceil 20mbit burst 1600 cburst 1600",
        "handle 0x7 fw classid 1:40",
        "match ip dport 22 0xffff",
    ] {
        assert!(last.contains(part), "{part}: {last}");
    }
    // What was exported is imported again, to the same commands.
    fs::write(at.join("again.sh"), &last).expect("written");
    let again = lockgate(at, &["tc", "import", "again.sh"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    fs::write(at.join("again.toml"), &again.stdout).expect("written");
    let export = lockgate(at, &["tc", "export", "again.toml", "--dev", "eth0"]);
    assert_eq!(text(&export.stdout), last);
}

#[test]
fn a_word_that_is_not_understood_is_underlined() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    fs::write(
        at.join("a.sh"),
        "tc qdisc add dev eth0 root pfifo lmit 5\ntc class add dev eth0 classid 1:1 htb\n\
         tc qdisc add dev eth0 root pfifo limit 5\n",
    )
    .expect("written");
    let output = lockgate(at, &["tc", "import", "a.sh"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty());
    for part in ["a.sh:1:34", "                                 ^^^^", "did you mean `limit`?", "a.sh:2:"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let lenient = lockgate(at, &["tc", "import", "a.sh", "--lenient"]);
    assert!(
        lenient.status.success() && text(&lenient.stdout).contains("`lmit` of `pfifo`"),
        "{}",
        text(&lenient.stderr)
    );
}

#[test]
fn findings_are_printed_for_people_and_programs() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let script = "tc qdisc add dev eth0 root handle 1: htb default 10\ntc class add dev eth0 parent 1: classid 1:a htb rate 1mbit\n";
    fs::write(at.join("a.sh"), script).expect("written");
    let plain = lockgate(at, &["tc", "check", "a.sh"]);
    assert_eq!(plain.status.code(), Some(0), "a warning is not an error");
    assert!(text(&plain.stdout).contains("write `default a`"), "{}", text(&plain.stdout));
    let json = lockgate(at, &["tc", "check", "a.sh", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((json[0]["rule"].as_str(), json[0]["line"].as_u64()), (Some("default-absent"), Some(1)));
    let github = lockgate(at, &["tc", "check", "a.sh", "--github"]);
    assert!(text(&github.stdout).starts_with("::warning file=a.sh,line=1,col=42,title=default-absent::"));
    fs::write(at.join("b.sh"), "tc qdisc add dev eth0 root htb rate 1mbit\n").expect("written");
    assert_eq!(lockgate(at, &["tc", "check", "b.sh"]).status.code(), Some(2));
}

/// A call beside two backups, with queues that Linux has, and one that it has not.
const HOME: &str = r#"duration = "3s"
node.home = {}
node.server = {}
link.line = { between = ["home", "server"], rate = "5mbit", delay = "8ms" }
[port."home:server"]
root = "buffer"
queue.buffer = { kind = "fifo", limit = "60kB" }
queue.fair = { kind = "fq_codel" }
queue.oldest = { kind = "lis" }
[flow]
call = { from = "home", to = "server", profile = "g711" }
backup = { from = "home", to = "server", transport = "tcp", bytes = "unlimited", count = 2 }
"#;

#[test]
fn the_best_variant_is_offered_as_tc() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    fs::write(at.join("home.toml"), HOME).expect("written");
    let compare = |vary: &str| {
        let arguments =
            ["compare", "home.toml", "--vary", vary, "--seeds", "1..10", "--show", "flow.call.owd.p99"];
        text(&lockgate(at, &arguments).stdout)
    };
    let said = compare("port.home:server.root=buffer,fair");
    assert!(said.contains("the same as `tc`:"), "{said}");
    let offer = said.lines().find_map(|line| line.strip_prefix("  lockgate ")).expect(&said);
    // The command as it stands exports that variant.
    let words: Vec<&str> = offer.split(' ').map(|word| word.trim_matches('\'')).collect();
    let exported = lockgate(at, &words);
    assert!(exported.status.success(), "{offer}: {}", text(&exported.stderr));
    assert!(text(&exported.stdout).contains("root handle 1: fq_codel"), "{}", text(&exported.stdout));
    let said = compare("port.home:server.root=oldest");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not with `tc`: queue `oldest`: Linux has no discipline `lis`"), "{said}");
    // Variants that do not differ in queues have no command.
    assert!(!compare("link.line.delay=8ms,9ms").contains("`tc`"));
}
