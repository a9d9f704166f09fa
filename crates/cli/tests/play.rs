//! The module for pages (`crates/wasm`) equals the command byte for byte. Node runs it.

#![allow(clippy::print_stdout, reason = "counts for the person who runs the test alone")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockgate_testing::skipped;
use serde_json::{Value, json};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Returns the path of the module, built once; or why it cannot be built here.
fn module() -> Result<PathBuf, String> {
    static MODULE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        let built = Command::new(repository().join("crates/wasm/build.sh")).output().expect("the script");
        match built.status.code() {
            Some(0) => Ok(repository().join("target/play/lockgate.wasm")),
            Some(4) => Err(String::from_utf8_lossy(&built.stdout).trim().to_owned()),
            _ => panic!("{}", String::from_utf8_lossy(&built.stderr)),
        }
    };
    MODULE.get_or_init(build).clone()
}

/// An instance of the module in Node.
struct Module {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Starts an instance; records the test as skipped if this host has none.
fn start() -> Option<Module> {
    let module = match module() {
        Ok(module) => module,
        Err(why) => {
            skipped(why);
            return None;
        }
    };
    let mut node = Command::new("node");
    node.arg(repository().join("crates/wasm/tests/module.mjs")).arg(module);
    let Ok(mut process) = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        skipped("node is not installed");
        return None;
    };
    let requests = process.stdin.take();
    let answers = BufReader::new(process.stdout.take().expect("a pipe"));
    Some(Module { process, requests, answers })
}

impl Drop for Module {
    fn drop(&mut self) {
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}

impl Module {
    /// Returns head and parts of an answer.
    fn call(&mut self, name: &str, head: &Value, files: &[Vec<u8>]) -> (Value, Value) {
        let files: Vec<String> = files.iter().map(|file| STANDARD.encode(file)).collect();
        let requests = self.requests.as_mut().expect("a pipe");
        writeln!(requests, "{}", json!({ "call": name, "head": head, "files": files })).expect("written");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        let mut answer: Value = serde_json::from_str(&line).expect("JSON");
        assert!(answer.get("trap").is_none(), "{answer}");
        (answer["head"].take(), answer["parts"].take())
    }

    /// The same, of a call that succeeds.
    fn value(&mut self, name: &str, head: &Value, files: &[Vec<u8>]) -> (Value, Value) {
        let (mut head, parts) = self.call(name, head, files);
        assert!(head.get("value").is_some(), "{head}");
        (head["value"].take(), parts)
    }
}

/// Runs the command in the repository. Returns standard output, standard error and success.
fn lockgate(arguments: &[&str]) -> (String, String, bool) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    let output = command.args(arguments).current_dir(repository()).output().expect("the command runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.success())
}

/// Returns the scenarios of a folder, by their paths in the repository.
fn scenarios(folder: &str, found: &mut Vec<String>) {
    let entries = fs::read_dir(repository().join(folder)).expect("a folder");
    for entry in entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()) {
        let path = format!("{folder}/{entry}");
        if repository().join(&path).is_dir() {
            scenarios(&path, found);
        } else if Path::new(&path).extension().is_some_and(|kind| kind == "toml")
            && lockgate_scenario::is_scenario(&read(&path))
        {
            found.push(path);
        }
    }
    found.sort();
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).expect("a text")
}

/// Returns the request of a scenario with the files beside it that its text mentions, and their contents.
fn request(path: &str, settings: &[&str]) -> (Value, Vec<Vec<u8>>) {
    let text = read(path);
    let folder = repository().join(path);
    let folder = folder.parent().expect("a folder");
    let mut files = BTreeMap::new();
    for word in text.split('"').filter(|word| word.contains('.') && word.len() < 200) {
        let file = folder.join(word);
        if file.is_file() {
            files.insert(word.to_owned(), fs::read(file).expect("a file"));
        }
    }
    let lengths: Vec<_> = files.iter().map(|(name, content)| json!([name, content.len()])).collect();
    (
        json!({ "text": text, "name": path, "settings": settings, "files": lengths }),
        files.into_values().collect(),
    )
}

/// Settings that shorten the runs of papers, which take minutes; the first that a scenario takes.
const SHORTER: [&[&str]; 2] = [&["duration=2s"], &["duration=2s", "warmup=1s"]];

/// Shipped scenarios whose runs take minutes in the module of a busy machine; shortened too.
const LONG: [&str; 1] = ["scenarios/isp.toml"];

/// Returns options that set these settings.
fn options<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    settings.iter().flat_map(|setting| ["--set", *setting]).collect()
}

/// Returns the settings of a scenario for this test.
fn shortened(path: &str) -> &'static [&'static str] {
    let takes = |settings: &&&[&str]| lockgate(&[&["check", path][..], &options(settings)].concat()).2;
    let is_whole = path.starts_with("scenarios/") && !LONG.contains(&path);
    if is_whole { &[] } else { SHORTER.iter().find(takes).expect(path) }
}

/// Compares the summaries of all scenarios of a folder.
fn equal_summaries(folder: &str) {
    let Some(mut module) = start() else { return };
    let mut all = Vec::new();
    scenarios(folder, &mut all);
    let out = tempfile::tempdir().expect("a folder");
    let results = out.path().join("results");
    let directory = results.to_str().expect("a path");
    for path in &all {
        let settings = shortened(path);
        let (scenario, files) = request(path, settings);
        let arguments = [&["run", path, "--quiet", "--out", directory][..], &options(settings)].concat();
        let (_, errors, _) = lockgate(&arguments);
        let summary = fs::read_to_string(results.join("summary.json"));
        let summary = summary.unwrap_or_else(|_| panic!("{path}: {errors}"));
        let (value, parts) = module.value("run", &json!({ "scenario": scenario }), &files);
        assert!(parts["summary"] == summary, "{path}: the summaries differ");
        assert!(value["packet_hops"].as_u64().is_some_and(|hops| hops > 0), "{path}");
        fs::remove_dir_all(&results).expect("removed");
    }
    println!("{} scenarios of {folder}: equal summaries", all.len());
    assert!(all.len() >= 18, "{folder}: {}", all.len());
}

#[test]
fn summaries_of_every_scenario_are_those_of_the_command() {
    equal_summaries("scenarios");
}

#[test]
fn summaries_of_the_papers_are_those_of_the_command() {
    equal_summaries("papers");
}

/// Returns the data that a page carries, without time, host and command.
fn data(page: &Path) -> Value {
    let page = fs::read_to_string(page).expect("a page");
    let data = page.rsplit_once("id=\"lockgate-data\"").expect("data").1;
    let data = data.split_once('>').expect("an element").1.split_once('<').expect("its end").0;
    let bytes = STANDARD.decode(data).expect("base64");
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).expect("gzip");
    unsigned(serde_json::from_str(&text).expect("JSON"))
}

/// Removes what the command alone writes: time, host, command, the card with the command in it, and the worst
/// packets, which a page finds by stepping to them.
fn unsigned(mut report: Value) -> Value {
    for key in ["generated", "host", "command", "card"] {
        report[key] = json!("");
    }
    for run in report["runs"].as_array_mut().into_iter().flatten() {
        run["worst"] = json!([]);
    }
    report
}

#[test]
fn report_and_comparison_of_a_home_are_those_of_the_command() {
    let Some(mut module) = start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let home = "scenarios/home.toml";
    let (scenario, files) = request(home, &[]);
    lockgate(&["run", home, "--quiet", "--repeat", "2", "--out", &path("run")]);
    let head = json!({ "scenario": scenario, "seeds": [1, 2] });
    let (_, parts) = module.value("run", &head, &files);
    assert_eq!(
        parts["summary"],
        fs::read_to_string(folder.path().join("run/summary.json")).expect("a summary")
    );
    let report = |parts: &Value| {
        unsigned(serde_json::from_str(parts["report"].as_str().expect("a text")).expect("JSON"))
    };
    assert!(report(&parts) == data(&folder.path().join("run/report.html")), "the reports differ");
    let (_, stepped) = in_steps(&mut module, &head, &files);
    assert!(stepped == parts, "steps change the results");
    compare(&mut module, home, &folder.path().join("compare"));
}

/// Makes runs in small steps. Returns the result before the effects of changes, if there is one, and the
/// whole.
fn in_steps(module: &mut Module, run: &Value, files: &[Vec<u8>]) -> (Option<Value>, Value) {
    let (begun, _) = module.value("begin", &json!({ "run": run }), files);
    let job = json!({ "job": begun["job"] });
    let (mut steps, mut early) = (0, None);
    loop {
        let (progress, _) = module.value("step", &json!({ "job": begun["job"], "events": 50_000 }), &[]);
        steps += 1;
        if progress["has_result"] == true && early.is_none() {
            early = Some(module.value("result", &job, &[]).1);
        }
        if progress["ended"] == true {
            break;
        }
    }
    assert!(steps > 4, "{steps}");
    (early, module.value("finish", &job, &[]).1)
}

/// A page shows a run first, and what its changes did later: both are the command's, the second with the
/// curves without each change.
#[test]
fn the_effects_of_changes_follow_the_run_and_are_those_of_the_command() {
    let Some(mut module) = start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (path, settings) = ("scenarios/bufferbloat.toml", ["duration=45s"]);
    let (scenario, files) = request(path, &settings);
    let (early, whole) = in_steps(&mut module, &json!({ "scenario": scenario }), &files);
    for (name, parts, without) in
        [("early", early.expect("a change"), Some("--no-ghost")), ("whole", whole, None)]
    {
        let out = folder.path().join(name);
        let directory = out.to_str().expect("a path");
        let arguments = ["run", path, "--quiet", "--out", directory].into_iter().chain(without);
        lockgate(&arguments.chain(options(&settings)).collect::<Vec<_>>());
        let summary = fs::read_to_string(out.join("summary.json")).expect("a summary");
        assert!(parts["summary"] == summary, "{name}: the summaries differ");
        let report = unsigned(serde_json::from_str(parts["report"].as_str().expect("a text")).expect("JSON"));
        assert!(report == data(&out.join("report.html")), "{name}: the reports differ");
        let has_ghosts = report["runs"][0]["ghosts"].as_array().is_some_and(|ghosts| !ghosts.is_empty());
        assert_eq!(has_ghosts, without.is_none(), "{name}");
    }
}

/// Compares the comparison of a scenario with the command's, which it writes to `out`.
fn compare(module: &mut Module, path: &str, out: &Path) {
    let (scenario, files) = request(path, &["duration=6s"]);
    let directory = out.to_str().expect("a path");
    let arguments =
        ["compare", path, "--quiet", "--seeds", "1..2", "--set", "duration=6s", "--out", directory];
    let (_, errors, compared) = lockgate(&arguments);
    assert!(compared, "{errors}");
    let (value, parts) = module.value("compare", &json!({ "scenario": scenario, "seeds": [1, 2] }), &files);
    assert!(value["decision"].as_array().is_some_and(|lines| !lines.is_empty()), "{value}");
    let file = |name: &str| fs::read_to_string(out.join(name)).expect(name);
    assert_eq!(parts["comparison"], file("comparison.json"));
    assert_eq!(parts["runs"], file("runs.csv"));
    let mut page = data(&out.join("report.html"));
    // Commands of `tc` for a shell, which a page does not offer.
    let sentences = page["verdict"].as_array_mut().expect("sentences");
    sentences.retain(|line| !line.as_str().is_some_and(|line| line.starts_with('#')));
    let report = unsigned(serde_json::from_str(parts["report"].as_str().expect("a text")).expect("JSON"));
    assert!(report == page, "the comparisons differ");
}

#[test]
fn a_preview_is_the_beginning_of_the_run_and_a_job_can_be_cancelled() {
    let Some(mut module) = start() else { return };
    let (scenario, files) = request("scenarios/token-bucket.toml", &[]);
    let preview = json!({ "scenario": scenario, "until": "500ms" });
    let (short, _) = module.value("run", &preview, &files);
    let (whole, _) = module.value("run", &json!({ "scenario": scenario }), &files);
    assert_eq!((&short["stopped_early"], &whole["stopped_early"]), (&json!(true), &json!(false)));
    assert!(short["packet_hops"].as_u64() < whole["packet_hops"].as_u64(), "{short} {whole}");
    let (begun, _) = module.value(
        "begin",
        &json!({ "compare": { "scenario": request("scenarios/home.toml", &[]).0 } }),
        &[],
    );
    module.value("step", &json!({ "job": begun["job"], "events": 1 }), &[]);
    module.value("cancel", &json!({ "job": begun["job"] }), &[]);
    let (head, _) = module.call("step", &json!({ "job": begun["job"], "events": 1 }), &[]);
    assert!(head["wrong"]["message"].as_str().is_some_and(|text| text.contains("has ended")), "{head}");
}

/// Returns the letters of a text, without frames, blanks and line ends.
fn letters(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && !"│─╭╰┬·├╯╮×⚠".contains(*letter)).collect()
}

/// A scenario, and the words in it that are replaced by wrong ones.
const BROKEN: [(&str, &[(&str, &str)]); 3] = [
    (
        "scenarios/home.toml",
        &[
            ("duration = \"20s\"", "duration = \"20\""),
            ("duration = \"20s\"", "duratoin = \"20s\""),
            ("warmup = \"4s\"", "warmup = \"40s\""),
            ("phone = {}", "phone = { adress = \"1.1.1.1\" }"),
            ("modem = {}", "modem = { address = \"1.1.1\" }"),
            ("[link]", "[lnik]"),
            ("rate = \"1gbit\" }", "rate = \"1gigabit\" }"),
            ("between = [\"phone\", \"router\"]", "between = [\"phone\", \"ruoter\"]"),
            ("between = [\"phone\", \"router\"]", "between = [\"phone\"]"),
            ("delay = \"8ms\"", "delay = 8"),
            ("delay = \"8ms\"", "delay = \"-8ms\""),
            ("[port.\"modem:isp\"", "[port.\"modem:server\""),
            ("limit = \"250kB\"", "limit = \"250\""),
            ("root = \"fq_codel\"", "root = \"fq_codle\""),
            ("alternatives = [\"fifo\"", "alternatives = [\"fifi\""),
            ("kind = \"cake\"", "kind = \"cak\""),
            ("bandwidth = \"9.5mbit\"", "bandwith = \"9.5mbit\""),
            ("diffserv = \"diffserv4\"", "diffserv = \"diffserv5\""),
            ("children = [\"first\", \"rest\"]", "children = [\"first\", \"first\"]"),
            ("children = [\"all\"]", "children = [\"htb\"]"),
            ("dscp = \"EF\", source", "dscp = \"EE\", source"),
            ("prio = 0", "prio = 99"),
            ("profile = \"g711\"", "profile = \"g712\""),
            ("from = \"phone\"", "from = \"fone\""),
            ("transport = \"tcp\"", "transport = \"tpc\""),
            ("count = 2", "count = -2"),
            ("think = {", "thinks = {"),
            ("that = \"flow.call.owd.p99\"", "that = \"flow.cal.owd.p99\""),
            ("that = \"flow.call.owd.p99\"", "that = \"flow.call.owd.p9x\""),
            ("below = \"50ms\"", "below = \"50mbit\""),
            ("values = [\"fifo\"", "values = [\"fiffo\""),
            ("[node]", "[node"),
        ],
    ),
    (
        "scenarios/token-bucket.toml",
        &[("rate = ", "rate == "), ("[flow", "[[flow"), ("kind = \"", "kind = \"x"), ("from = ", "form = ")],
    ),
    (
        "scenarios/bufferbloat.toml",
        &[
            ("duration = ", "duration "),
            ("between = ", "betwen = "),
            ("that = \"", "that = \"x."),
            ("[node]", "[nodes]"),
        ],
    ),
];

#[test]
fn problems_have_the_texts_places_and_fixes_of_the_command() {
    let Some(mut module) = start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("broken.toml");
    let name = path.to_str().expect("a path");
    let (mut files, mut problems) = (0, 0);
    for (scenario, wrong) in BROKEN {
        for (right, wrong) in wrong {
            let text = read(scenario);
            assert!(text.contains(right), "{scenario} has no `{right}`");
            let text = text.replacen(right, wrong, 1);
            fs::write(&path, &text).expect("written");
            let (_, printed, _) = lockgate(&["check", name]);
            let (checked, _) = module.value("check", &json!({ "text": text, "name": name }), &[]);
            let found = checked["problems"].as_array().expect("problems");
            let errors = found.iter().filter(|one| one["is_error"] == true).count();
            assert!(errors > 0, "{scenario}: `{wrong}` is right: {printed}");
            let end =
                if errors == 1 { "1 problem found".to_owned() } else { format!("{errors} problems found") };
            let shown = letters(&printed);
            let is_counted = printed.contains(&end) || printed.starts_with("error: ");
            assert!(is_counted, "`{wrong}`: {end} {found:?}\n{printed}");
            for one in found {
                let help = one["help"].as_str().map(|help| format!("help: {help}"));
                let location = one["line"].as_u64().map(|line| format!("{name}:{line}:{}]", one["column"]));
                for part in one["message"].as_str().map(str::to_owned).into_iter().chain(help).chain(location)
                {
                    assert!(shown.contains(&letters(&part)), "`{wrong}`: {part}\n{printed}");
                }
                problems += 1;
            }
            files += 1;
        }
    }
    println!("{files} broken files, {problems} problems: equal");
    assert_eq!(files, 40);
}

#[test]
fn imports_are_those_of_the_command() {
    let Some(mut module) = start() else { return };
    let folder = "crates/tc/tests/scripts";
    let mut paths: Vec<String> = fs::read_dir(repository().join(folder))
        .expect("a folder")
        .map(|entry| format!("{folder}/{}", entry.expect("an entry").file_name().to_string_lossy()))
        .collect();
    paths.sort();
    // Texts that are no scripts, too.
    paths.extend(["README.md", "scenarios/home.toml", "crates/tc/tests/corpus/init.sh"].map(str::to_owned));
    let (mut imported, mut refused) = (0, 0);
    for path in paths {
        let name = &path;
        let (scenario, printed, _) = lockgate(&["tc", "import", &path]);
        let (head, _) = module.call("import", &json!({ "text": read(&path), "name": path }), &[]);
        if let Some(found) = head.pointer("/value/scenario") {
            assert_eq!(*found, scenario, "{name}");
            imported += 1;
            continue;
        }
        assert_eq!(scenario, "", "{name}: {head}");
        for one in head["wrong"]["problems"].as_array().expect("problems") {
            assert!(printed.contains(one["message"].as_str().expect("a text")), "{name}: {one}\n{printed}");
        }
        refused += 1;
    }
    println!("{imported} imported, {refused} refused: equal");
    assert!(imported + refused >= 15, "{imported} and {refused}");
}

#[test]
fn sliders_completions_and_the_schema_are_answered() {
    let Some(mut module) = start() else { return };
    let (scenario, files) = request("scenarios/home.toml", &[]);
    let (knobs, _) = module.value("knobs", &scenario, &files);
    let sliders = knobs["sliders"].as_array().expect("sliders");
    let rate = sliders.iter().find(|one| one["knob"]["path"] == "port.router:modem.queue.fq_codel.rate");
    let range = &rate.expect("the rate of a shaper")["range"];
    let numbers = ["least", "value", "most"].map(|key| range[key].as_f64());
    assert_eq!(numbers, [Some(950_000.0), Some(9_500_000.0), Some(95_000_000.0)]);
    let text = read("scenarios/home.toml");
    let cursor = text.find("flow.call.owd.p99").expect("an address") + "flow.ca".len();
    let (found, _) = module.value("complete", &json!({ "scenario": scenario, "cursor": cursor }), &files);
    assert_eq!(found["candidates"][0]["text"], "flow.call.", "{found}");
    let (_, parts) = module.value("schema", &json!("scenario"), &[]);
    let schema: Value = serde_json::from_str(parts["schema"].as_str().expect("a text")).expect("JSON");
    let (printed, ..) = lockgate(&["schema", "scenario"]);
    assert_eq!(schema, serde_json::from_str::<Value>(&printed).expect("JSON"));
}

#[test]
fn the_page_is_written_with_a_scenario_or_said_to_be_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("page.html");
    let path = out.to_str().expect("a path");
    let (_, errors, is_done) = lockgate(&["play", "scenarios/home.toml", "--out", path]);
    if !is_done {
        assert!(errors.contains("has no playground") && errors.contains("make play"), "{errors}");
        return;
    }
    let page = fs::read_to_string(&out).expect("a page");
    assert_eq!(page.matches("id=\"lockgate-scenario\"").count(), 1);
    let (_, errors, is_done) = lockgate(&["play", "scenarios/none.toml", "--out", path]);
    assert!(!is_done && errors.contains("cannot read `scenarios/none.toml`"), "{errors}");
}
