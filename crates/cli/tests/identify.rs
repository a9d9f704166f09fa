//! `lockgate identify` names the queue of a file without reading it, and refuses what it cannot use.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

const LINE: &str = "duration = \"20s\"\nnode = { server = {}, router = {}, home = {} }\n\
    link.core = { between = [\"server\", \"router\"], rate = \"1gbit\", delay = \"5ms\" }\n\
    link.line = { between = [\"router\", \"home\"], rate = \"8mbit\", delay = \"10ms\" }\n\
    port.\"router:home\".queue.q = { kind = \"codel\" }\n\
    flow.own = { from = \"server\", to = \"home\", size = \"1442B\", rate = \"500kbit\" }\n";

fn identify(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    let output =
        command.current_dir(folder).arg("identify").args(arguments).output().expect("the command runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_line_is_named_recorded_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("line.toml"), LINE).expect("a file");
    let (code, said, errors) =
        identify(at, &["line.toml", "--alone", "--to", "found.toml", "--record", "probe.json"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(said.lines().count() <= 15, "{said}");
    assert!(said.starts_with("from server to home: ") && said.contains("\nqueue        codel: "), "{said}");
    assert!(said.contains("\nrate         8.000 ± 0.027 Mbit/s  ["), "{said}");

    // The same probe has the same judgement, and nothing in it names a host.
    let (code, again, _) = identify(at, &["--replay", "probe.json"]);
    assert_eq!(code, Some(0));
    assert_eq!(again.lines().skip(1).collect::<Vec<_>>(), said.lines().skip(1).collect::<Vec<_>>());
    let record = fs::read_to_string(at.join("probe.json")).expect("a record");
    assert!(["server", "home", "10.0."].iter().all(|name| !record.contains(name)));

    // What was written is a scenario, and has a policy in front of it for `compare`.
    let mut compare = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    compare.current_dir(at).args(["compare", "found.toml", "--seeds", "1", "--set", "duration=4s"]);
    let compared = String::from_utf8(compare.assert().success().get_output().stdout.clone()).expect("UTF-8");
    assert!(["plain", "cake"].iter().all(|name| compared.contains(name)), "{compared}");
    assert!(errors.contains("`lockgate compare found.toml`"), "{errors}");
    assert!(fs::read_to_string(at.join("found.toml")).expect("a scenario").contains("kind = \"codel\""));

    let (code, json, _) = identify(at, &["--replay", "probe.json", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((code, document["queue"].as_str()), (Some(0), Some("codel")));
}

#[test]
fn wrong_arguments_are_named_with_their_fix() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("line.toml"), LINE).expect("a file");
    fs::write(at.join("probe.json"), "{\"format\":9}").expect("a file");
    for (arguments, wrong, help) in [
        (&["line.toml", "--between", "servr", "home"][..], "`servr` is not a node", "did you mean `server`?"),
        (&["line.toml", "--budget", "much"], "`--budget much` is not valid", "50MB"),
        (&["line.toml", "--budget", "1kB"], "`--budget 1kB` is not valid", "at least `1MB`"),
        (&["line.toml", "--most", "1kbit"], "`--most 1kbit` is not valid", "at least `1mbit`"),
        (&["line.toml", "--for", "1s"], "`--for 1s` is not valid", "at least `5s`"),
        (&["--replay", "probe.json"], "is not a recorded probe", "--record"),
        (&["--replay", "line.toml"], "is not a recorded probe", "--record"),
        (&["--replay", "none.json"], "cannot read `none.json`", "--record"),
        (&["line.toml", "--to", "line.toml"], "line.toml", "--to"),
        (&[], "FILE", "--help"),
    ] {
        let (code, said, errors) = identify(at, arguments);
        assert_eq!((code, &*said), (Some(2), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(wrong) && errors.contains(help), "{arguments:?}: {errors}");
    }
}
