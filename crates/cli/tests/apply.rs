//! `apply`, `confirm`, `rollback` and `status` against a router whose engine only stores its policy.
#![cfg(target_os = "linux")]

mod command;

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use command::lockgate;
use lockgate_measure::monitor::Sample;
use lockgate_router::control::claim::Claim;
use lockgate_router::control::directories::Directories;
use lockgate_router::control::notify::Notifier;
use lockgate_router::control::server::Server;
use lockgate_router::control::{Applied, Engine, Misfit};
use lockgate_scenario::Policy;

/// Engine that stores the title of its policy.
#[derive(Clone)]
struct Memory(Arc<Mutex<String>>);

impl Engine for Memory {
    fn apply(&mut self, policy: &Policy) -> Result<Applied, Misfit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&policy.title);
        Ok(Applied { moved_packets: 12, forced_out_packets: 0 })
    }

    fn sample(&mut self) -> Option<Sample> {
        None
    }
}

fn policy(title: &str, rate: &str) -> String {
    format!(
        "title = \"{title}\"\n[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\nrate = \
         \"{rate}\"\nroot = \"voice\"\nqueue.voice = {{ kind = \"fifo\" }}\n"
    )
}

struct Router {
    folder: tempfile::TempDir,
    engine: Memory,
    server: Server<Memory>,
}

impl Router {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        write("house.toml", &policy("house", "10mbit"));
        write("new.toml", &policy("new", "12mbit"));
        write("broken.toml", &policy("broken", "12"));
        write("scenario.toml", "title = \"x\"\n");
        let state = folder.path().join("state");
        let directories = Directories { state: state.clone(), runtime: state };
        let claim = Claim::take("house", &directories).expect("free");
        let text = policy("house", "10mbit");
        let boot = claim.boot("house.toml", &text, false).expect("a policy");
        let engine = Memory(Arc::new(Mutex::new(String::new())));
        let server = Server::start(claim, boot, engine.clone(), Notifier::default(), Box::new(|_| {}));
        Self { folder, engine, server: server.expect("started") }
    }

    /// Runs the command and expects this exit code. Returns its stdout and its stderr.
    #[track_caller]
    fn run(&self, arguments: &[&str], code: i32) -> (String, String) {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--router", "./state"]);
        let output = lockgate(self.folder.path(), &arguments);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stdout}{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        (stdout, stderr)
    }

    fn title(&self) -> String {
        self.engine.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[test]
fn a_policy_is_compared_tried_confirmed_and_taken_back() {
    let router = Router::start();
    let (shown, _) = router.run(&["apply", "new.toml", "--dry-run"], 0);
    assert!(shown.contains("-rate = \"10mbit\"\n+rate = \"12mbit\"\n"), "{shown}");
    assert!(shown.ends_with("2 lines added, 2 removed of policy 1, which goes on running\n"), "{shown}");
    assert_eq!(router.title(), "");
    let condition = "class.voice.sojourn.p99 > 50ms";
    let (shown, _) =
        router.run(&["apply", "new.toml", "--confirm-within", "120s", "--revert-if", condition], 0);
    let expected = "policy 2 (`new.toml`) runs: 2 lines added, 2 removed; 12 packets moved, 0 forced out by \
                    smaller limits\non trial: reverted at 20";
    assert!(shown.contains(expected) && shown.contains(&format!(", or if `{condition}`")), "{shown}");
    assert!(shown.contains("`lockgate confirm` keeps it"), "{shown}");
    assert_eq!(router.title(), "new");
    let (_, wrong) = router.run(&["apply", "house.toml"], 2);
    assert!(
        wrong.contains("policy 2 (new.toml) is on trial, by ") && wrong.contains("lockgate rollback"),
        "{wrong}"
    );
    let (shown, _) = router.run(&["status"], 0);
    assert!(
        shown.contains("mode egress, wan = eth0\npolicy 2 (`new.toml`), on trial: reverted at 20"),
        "{shown}"
    );
    assert!(shown.contains("lockgate apply new.toml --confirm-within 120s"), "the author's command: {shown}");
    // A time is broken between its words alone.
    let history = shown.split("outcome").nth(1).expect("a history");
    let times = history.split_whitespace().filter(|word| word.len() == 9 && word.ends_with('Z'));
    assert!(history.contains("applied") && times.count() == 2, "{shown}");
    assert_eq!(router.run(&["confirm"], 0).0, "policy 2 is confirmed\n");
    assert!(router.run(&["confirm"], 2).1.contains("nothing is on trial"));
    let (shown, _) = router.run(&["rollback"], 0);
    assert!(shown.contains("policy 3 (`rollback to 1`) runs"), "{shown}");
    assert_eq!(router.title(), "house");
    let (shown, _) = router.run(&["status", "--json"], 0);
    let status: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!((status["router"].as_str(), status["running"].as_u64()), (Some("house"), Some(3)));
    assert_eq!((status["history"][2]["steps"].as_u64(), status["trial"].is_null()), (Some(2), true));
    assert!(router.run(&["apply", "house.toml"], 0).0.contains("no line differs"));
    router.server.stop();
}

#[test]
fn what_is_wrong_is_said_with_its_fix() {
    let router = Router::start();
    let cases: [(&[&str], i32, &[&str]); 9] = [
        (&["apply", "none.toml"], 2, &["cannot read `none.toml`", "name a policy file"]),
        (&["apply", "scenario.toml"], 2, &["no table `router`", "add `[router]`"]),
        (&["apply", "broken.toml"], 2, &["broken.toml:6", "needs a unit"]),
        (&["apply", "new.toml", "--confirm-within", "120"], 2, &["--confirm-within", "120s"]),
        (&["apply", "new.toml", "--confirm-within", "1ms"], 2, &["from 1s to 168h"]),
        (&["apply", "new.toml", "--revert-if", "class.vioce.drops > 1p"], 2, &["`vioce`", "`voice`"]),
        (&["apply", "new.toml", "--revert-if", "voice"], 2, &["compares nothing", "class.voice.sojourn.p99"]),
        (&["rollback"], 2, &["there is no policy 1 before", "0 are kept"]),
        (&["rollback", "0"], 2, &["is confirmed and runs"]),
    ];
    for (arguments, code, words) in cases {
        let (_, errors) = router.run(arguments, code);
        for word in words {
            assert!(errors.contains(word), "{arguments:?}: `{word}` is not in\n{errors}");
        }
    }
    assert_eq!(router.title(), "", "nothing was applied");
    let folder = router.folder.path().to_owned();
    router.server.stop();
    for command in [&["status"][..], &["confirm"], &["rollback"], &["apply", "new.toml"]] {
        let mut arguments = command.to_vec();
        arguments.extend(["--router", "./state"]);
        let output = lockgate(&folder, &arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("no router named `./state` runs here"), "{errors}");
        assert!(errors.contains("lockgate route FILE"), "{errors}");
    }
}

#[test]
fn a_policy_is_checked_as_a_scenario_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("house.toml", &policy("house", "10mbit"));
    write("broken.toml", &policy("broken", "12"));
    write(
        "plans.toml",
        "subscribers = \"plans.csv\"\n[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\" }\n[port.wan]\nroot = \
         \"shaper\"\nqueue.shaper = { kind = \"drr\", children = [\"plan\"] }\nqueue.plan = { count = \"subscribers\", kind = \
         \"fifo\" }\n",
    );
    let check = |arguments: &[&str]| lockgate(folder.path(), &[&["check"], arguments].concat());
    let output = check(&["house.toml"]);
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()),
        (Some(0), "house.toml: ok, a policy of mode egress, 1 interface, 1 port, 1 queue\n")
    );
    for (arguments, words) in [
        (&["broken.toml"][..], "needs a unit"),
        (&["plans.toml"], "cannot read `plans.csv`"),
        (&["house.toml", "--set", "port.wan.rate=1"], "needs a unit"),
    ] {
        let output = check(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(words), "{arguments:?}: {errors}");
    }
    write("plans.csv", "Circuit ID\n1\n2\n3\n");
    let output = check(&["plans.toml"]);
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("1 port, 4 queues\n"), "{output:?}");
}

#[test]
fn the_doctor_of_routers_names_what_an_interface_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lockgate(folder.path(), &["doctor", "--json", "--router", "lo", "no-such-name"]);
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = document["findings"].as_array().expect("findings");
    let state =
        |what: &str| findings.iter().find(|finding| finding["what"] == what).expect(what)["state"].clone();
    assert_eq!((state("lo"), state("no-such-name")), ("ok".into(), "missing".into()));
    let output = lockgate(folder.path(), &["doctor", "--router", "lo"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in
        ["kernel", "privileges", "locked memory", "connections", "lo queues", "lo XDP", "lo offloads"]
    {
        assert!(shown.contains(words), "{shown}");
    }
}

#[test]
fn the_guide_shows_valid_policies() {
    let guide = concat!(
        include_str!("../../../docs/guides/router.md"),
        include_str!("../../../docs/guides/router/modes.md"),
        include_str!("../../../docs/guides/router/watch.md"),
    );
    let policies: Vec<&str> =
        guide.split("```toml\n").skip(1).filter_map(|part| part.split("```").next()).collect();
    assert_eq!(policies.len(), 6);
    let policies: Vec<_> = policies
        .into_iter()
        .map(|text| lockgate_scenario::read_policy(text, "guide.toml").expect("a policy"))
        .collect();
    for policy in &policies {
        assert!(policy.warnings.is_empty(), "{:?}", policy.warnings);
    }
    // The guide's conditions name the queues of its first policy.
    for condition in guide.split("--revert-if '").skip(1).filter_map(|part| part.split('\'').next()) {
        let condition = lockgate_scenario::condition::Condition::parse(condition).expect(condition);
        condition.check(policies[0].trees()).expect("a queue of the policy");
    }
}
