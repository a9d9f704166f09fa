//! The reference pages equal the generated ones, and the examples in the documentation are valid.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn lockgate(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_lockgate")).args(arguments).output().expect("lockgate runs")
}

#[test]
fn the_reference_pages_are_up_to_date() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().to_str().expect("UTF-8");
    assert!(
        lockgate(&["docs", "--out", out, "scenario", "disciplines", "traffic", "metrics"]).status.success()
    );
    // The page of oracles is compared in the tests of the oracles.
    for page in ["scenario.md", "disciplines.md", "traffic.md", "metrics.md"] {
        let made = fs::read_to_string(directory.path().join(page)).expect("made");
        let kept = fs::read_to_string(repository().join("docs/reference").join(page)).expect("kept");
        assert!(made == kept, "docs/reference/{page} is out of date: run `make docs`");
    }
}

/// Network around an example that is only a part of a scenario.
const AROUND: &str = r#"duration = "1s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "10mbit" }
flow.f = { from = "a", to = "b", transport = "udp", size = "1000B", rate = "1mbit" }
"#;

#[test]
fn every_discipline_has_an_example_that_check_accepts() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = fs::read_to_string(repository().join("docs/reference/disciplines.md")).expect("the page");
    let examples: Vec<&str> =
        page.split("```toml\n").skip(1).filter_map(|part| part.split("```").next()).collect();
    assert_eq!(examples.len(), lockgate_engine::disciplines::KINDS.len());
    for (kind, example) in lockgate_engine::disciplines::KINDS.iter().zip(examples) {
        let file = directory.path().join(format!("{kind}.toml"));
        fs::write(&file, format!("{AROUND}\n[port.\"a:b\"]\nroot = \"link\"\n\n{example}")).expect("written");
        let output = lockgate(&["check", file.to_str().expect("UTF-8")]);
        assert!(output.status.success(), "{kind}: {}\n{example}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The tables of a reproduction have claims that do not hold first: the one before may be any other.
#[test]
fn a_claim_of_a_paper_reads_without_the_claim_before_it() {
    let mut read = 0;
    for paper in fs::read_dir(repository().join("papers")).expect("papers") {
        let path = paper.expect("a paper").path().join("claims.toml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for claim in text.lines().filter_map(|line| line.strip_prefix("text = \"")) {
            let first = claim.split(' ').next().unwrap_or_default();
            assert!(!["And", "It", "So", "They"].contains(&first), "{}: {claim}", path.display());
            read += 1;
        }
    }
    assert!(read > 150, "{read} claims");
}

#[test]
fn every_application_that_is_shown_is_accepted() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = fs::read_to_string(repository().join("docs/concepts/applications.md")).expect("the page");
    let examples: Vec<&str> =
        page.split("```toml\n").skip(1).filter_map(|part| part.split("```").next()).collect();
    assert!(examples.len() >= 9, "{}", examples.len());
    for (number, example) in examples.iter().enumerate() {
        let file = directory.path().join(format!("{number}.toml"));
        fs::write(&file, format!("{AROUND}\n{example}")).expect("written");
        let output = lockgate(&["check", file.to_str().expect("UTF-8")]);
        assert!(output.status.success(), "{}\n{example}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_readme_and_the_guides_show_valid_scenarios() {
    let directory = tempfile::tempdir().expect("a directory");
    let readme = fs::read_to_string(repository().join("README.md")).expect("the README");
    let whole = |text: &str| {
        text.split("```toml\n").nth(1).and_then(|part| part.split("```").next().map(str::to_owned))
    };
    let guide = fs::read_to_string(repository().join("docs/guides/first-scenario.md")).expect("the guide");
    // The parts of the guide together are one scenario.
    let parts: String =
        guide.split("```toml\n").skip(1).filter_map(|part| part.split("```").next()).collect();
    for (name, text) in [("readme", whole(&readme).expect("an example")), ("guide", parts)] {
        let file = directory.path().join(format!("{name}.toml"));
        fs::write(&file, &text).expect("written");
        let out = directory.path().join(name);
        let output = lockgate(&[
            "run",
            file.to_str().expect("UTF-8"),
            "--out",
            out.to_str().expect("UTF-8"),
            "--quiet",
        ]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name}: {errors}\n{text}");
    }
}

#[test]
fn schemas_manual_and_completions_are_printed() {
    for arguments in [
        &["schema", "scenario"][..],
        &["schema", "summary"],
        &["schema", "conformance"],
        &["schema", "against"],
        &["list", "--json"],
        &["list", "tbf", "--json"],
    ] {
        let output = lockgate(arguments);
        assert!(output.status.success(), "{arguments:?}");
        let _: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    }
    let manual = lockgate(&["man"]);
    assert!(manual.status.success() && manual.stdout.len() > 500);
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().to_str().expect("UTF-8");
    // The second time replaces the pages of the first.
    for _ in 0..2 {
        let pages = lockgate(&["man", "--out", path]);
        assert!(pages.status.success(), "{}", String::from_utf8_lossy(&pages.stderr));
    }
    for (page, words) in [
        ("lockgate.1", "Exit codes"),
        ("lockgate-run.1", "lockgate run"),
        ("lockgate-tc-import.1", "lockgate tc import"),
    ] {
        let text = fs::read_to_string(folder.path().join(page)).expect(page);
        assert!(text.replace('\\', "").contains(words), "{page}: {text}");
    }
    fs::write(folder.path().join("lockgate.1"), "mine").expect("written");
    assert!(!lockgate(&["man", "--out", path]).status.success());
    let short = lockgate(&["-V"]);
    assert_eq!(short.stdout, format!("lockgate {}\n", env!("CARGO_PKG_VERSION")).as_bytes());
    let long = String::from_utf8(lockgate(&["--version"]).stdout).expect("UTF-8");
    let keys: Vec<&str> =
        long.lines().map(|line| line.split_once(' ').map_or(line, |(key, _)| key)).collect();
    assert_eq!(keys, ["lockgate", "commit", "target", "features"], "{long}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = lockgate(&["completions", shell]);
        // It calls the command back.
        let text = String::from_utf8_lossy(&script.stdout);
        assert!(
            script.status.success() && text.contains("COMPLETE") && text.contains("lockgate"),
            "{shell}: {text}"
        );
    }
}

/// What cannot be derived from `Cargo.toml`: other package managers' files, and the section that a release
/// shows.
#[test]
fn every_file_states_the_version_of_the_workspace() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("packaging/openwrt/Makefile", format!("PKG_VERSION:={version}\n")),
        ("web/package.json", format!("\n  \"version\": \"{version}\",\n")),
        ("web/package-lock.json", format!("\n  \"version\": \"{version}\",\n")),
        ("CHANGELOG.md", format!("\n## {version} - 2")),
    ] {
        let text = fs::read_to_string(repository().join(file)).expect(file);
        assert!(text.contains(&line), "{file}: {line:?} is missing: the version is {version}");
    }
}

/// Both pictures of the README are of this run; that of the report carries the sentences that it shows.
#[test]
fn the_pictures_of_the_readme_are_of_today() {
    let directory = tempfile::tempdir().expect("a directory");
    let drawn = directory.path().join("queue.svg");
    let mut python = Command::new("python3");
    python.arg("docs/images/picture.py").arg(env!("CARGO_BIN_EXE_lockgate")).arg(&drawn);
    let ran = match python.current_dir(repository()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return lockgate_testing::skipped("python3 is not installed");
        }
        ran => ran.expect("python3 runs"),
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let images = repository().join("docs/images");
    let kept = fs::read_to_string(images.join("queue.svg")).expect("kept");
    assert!(
        fs::read_to_string(drawn).expect("drawn") == kept,
        "docs/images/queue.svg is out of date: run `make picture`"
    );

    let out = directory.path().join("run");
    let scenario = repository().join("scenarios/bufferbloat.toml");
    let [scenario, folder] = [&scenario, &out].map(|path| path.to_str().expect("UTF-8"));
    assert!(lockgate(&["run", scenario, "--out", folder, "--quiet"]).status.success());
    let summary = fs::read_to_string(out.join("summary.json")).expect("written");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    let verdict = &summary["verdict"];
    let told = |text: &serde_json::Value| text.as_str().expect("a sentence").to_owned();
    let findings = verdict["findings"].as_array().expect("sentences").iter().map(told);
    let today: Vec<String> = std::iter::once(told(&verdict["headline"])).chain(findings).collect();
    assert_eq!(described(&images.join("report.png")), today, "docs/images/report.png: run `make picture`");
}

/// Returns the lines of a PNG's description. A chunk is its length, its type, a keyword that ends with a
/// zero.
fn described(picture: &Path) -> Vec<String> {
    let bytes = fs::read(picture).expect("a picture");
    let at = bytes.windows(16).position(|chunk| chunk == b"tEXtDescription\0").expect("a description");
    let length = u32::from_be_bytes(bytes[at - 4..at].try_into().expect("four bytes")) as usize;
    let text = String::from_utf8(bytes[at + 16..at + 4 + length].to_vec()).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

/// Each `console` block, its commands of the shell left out: `cat` shows a file that is made here.
#[test]
fn the_commands_of_coming_from_are_run() {
    let page = fs::read_to_string(repository().join("docs/guides/coming-from.md")).expect("the guide");
    let directory = tempfile::tempdir().expect("a directory");
    let bufferbloat = directory.path().join("bufferbloat.toml");
    fs::copy(repository().join("scenarios/bufferbloat.toml"), bufferbloat).expect("copied");
    let mut count = 0;
    for block in page.split("```console\n").skip(1).filter_map(|part| part.split("```").next()) {
        for step in block.split("$ ").skip(1) {
            let (command, output) = step.split_once('\n').expect("a line");
            if let Some(file) = command.strip_prefix("cat ") {
                fs::write(directory.path().join(file), output).expect("written");
                continue;
            }
            let (line, file) =
                command.split_once(" > ").map_or((command, None), |(line, file)| (line, Some(file)));
            let words = line.strip_prefix("lockgate ").expect(line).replace('\'', "");
            let mut lockgate = Command::new(env!("CARGO_BIN_EXE_lockgate"));
            let ran =
                lockgate.args(words.split_whitespace()).current_dir(directory.path()).output().expect("runs");
            // An expectation that a part of a run misses is not a failure of the command.
            let errors = String::from_utf8_lossy(&ran.stderr);
            assert!(matches!(ran.status.code(), Some(0 | 3)), "{command}: {errors}");
            if let Some(file) = file {
                fs::write(directory.path().join(file), &ran.stdout).expect("written");
            }
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

/// Collects the files below a folder with one of `extensions`, without what was built or installed.
fn collect(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    const LEFT_OUT: [&str; 4] = ["target", "node_modules", "runs", "venv"];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if path.is_dir() && !LEFT_OUT.contains(&name) && !name.starts_with('.') {
            collect(&path, extensions, found);
        } else if extensions.contains(&extension) {
            found.push(path);
        }
    }
}

/// All files below the repository with one of `extensions`; a page is Markdown.
fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&repository(), extensions, &mut found);
    found
}

/// Anchors of a page's headings, as GitHub and the site make them: a repeated heading has a number behind it.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !is_code) else { continue };
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let repeated = anchors.iter().filter(|known| **known == anchor).count();
        anchors.push(if repeated == 0 { anchor } else { format!("{anchor}-{repeated}") });
    }
    anchors
}

#[test]
fn every_page_is_on_the_index() {
    let docs = repository().join("docs");
    let listed = fs::read_to_string(docs.join("README.md")).expect("the index");
    for page in files(&["md"]).iter().filter_map(|page| page.strip_prefix(&docs).ok()) {
        let is_decision = page.starts_with("decisions") && page != Path::new("decisions/README.md");
        if page != Path::new("README.md") && !is_decision {
            let link = format!("]({})", page.display());
            assert!(listed.contains(&link), "docs/README.md does not list {}", page.display());
        }
    }
}

#[test]
fn every_link_leads_to_a_file_and_its_heading() {
    let all = files(&["md"]);
    assert!(all.len() > 40, "{}", all.len());
    let mut with_anchor = 0;
    for page in &all {
        let text = fs::read_to_string(page).expect("a page");
        let targets = text.split("](").skip(1).filter_map(|part| part.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.parent().expect("a folder");
            let file = if file.is_empty() { page.clone() } else { folder.join(file) };
            assert!(file.exists(), "{}: a link to `{target}`, which is not there", page.display());
            if !anchor.is_empty() {
                let text = fs::read_to_string(&file).expect("a page");
                let is_there = anchors(&text).iter().any(|known| known == anchor);
                assert!(is_there, "{}: a link to `{target}`, which has no such heading", page.display());
                with_anchor += 1;
            }
        }
    }
    assert!(with_anchor > 30, "{with_anchor}");
}

/// Pages of decisions: number, name and title.
fn decisions() -> Vec<(String, String, String)> {
    let folder = repository().join("docs/decisions");
    let mut pages = Vec::new();
    for entry in fs::read_dir(&folder).expect("a folder") {
        let name = entry.expect("a page").file_name().to_string_lossy().into_owned();
        if name != "README.md" {
            let text = fs::read_to_string(folder.join(&name)).expect("a page");
            let heading = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect(&name);
            let (number, title) = heading.split_once(": ").expect(heading);
            assert_eq!(number, &name[..3], "{name}: its title has another number");
            pages.push((number.to_owned(), name.clone(), title.to_owned()));
        }
    }
    pages.sort();
    pages
}

/// Entries of the index of decisions: number, title with its link or what it was, and the rest.
fn entries(text: &str) -> Vec<(String, String, String)> {
    let joined = text.replace("\n  ", " ");
    let numbered = joined.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(' '));
    numbered
        .filter(|(number, _)| number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|(number, rest)| {
            let (title, rest) = rest.split_once(": ").expect(rest);
            (number.to_owned(), title.to_owned(), rest.to_owned())
        })
        .collect()
}

/// Comments name a decision by its number alone.
#[test]
fn the_index_of_decisions_has_each_page_once() {
    let text = fs::read_to_string(repository().join("docs/decisions/README.md")).expect("the index");
    let (in_force, withdrawn) = text.split_once("\n## Withdrawn\n").expect("a list of withdrawn numbers");
    let mut listed: Vec<(String, String)> = Vec::new();
    for (number, title, governed) in entries(in_force) {
        for path in governed.split('`').filter(|path| path.contains('/')).flat_map(expanded) {
            let is_there = ["crates", ""].iter().any(|folder| repository().join(folder).join(&path).exists());
            assert!(is_there, "decision {number} governs `{path}`, which is not there");
        }
        listed.push((number, title));
    }
    listed.sort();
    let pages = decisions();
    let expected: Vec<_> =
        pages.iter().map(|(number, name, title)| (number.clone(), format!("[{title}]({name})"))).collect();
    for (entry, page) in listed.iter().zip(&expected) {
        assert_eq!(entry, page, "the index and the pages differ");
    }
    assert_eq!(listed.len(), expected.len());
    let mut numbers: Vec<String> = entries(withdrawn).into_iter().map(|(number, ..)| number).collect();
    numbers.extend(pages.into_iter().map(|(number, ..)| number));
    numbers.sort();
    for pair in numbers.windows(2) {
        assert_ne!(pair[0], pair[1], "two entries of one number");
    }
}

/// The documents of a package have the layout of the repository: but for those to sources, their links lead
/// somewhere.
#[test]
fn links_of_the_documents_in_a_package_lead_somewhere() {
    if !repository().join(".git").exists() {
        // Sources without git are not those that packages are made of.
        return;
    }
    let staged = tempfile::tempdir().expect("a folder");
    let script = repository().join("packaging/documents.sh");
    let made = Command::new("bash").arg(script).arg(staged.path()).status().expect("bash runs");
    assert!(made.success());
    let mut all = Vec::new();
    collect(staged.path(), &["md"], &mut all);
    let mut links = 0;
    for page in &all {
        let text = fs::read_to_string(page).expect("a page");
        let folder = page.parent().expect("a folder");
        for target in text.split("](").skip(1).filter_map(|part| part.split([')', '#']).next()) {
            if !target.is_empty() && !target.contains("://") && !target.contains("../crates/") {
                links += 1;
                let is_source = folder == staged.path() && target.starts_with("crates/");
                assert!(is_source || folder.join(target).exists(), "{}: {target}", page.display());
            }
        }
    }
    assert!(links > 400, "{links} links");
}

/// Runs a script of the packages in the root of a folder, whose `apparmor_parser` accepts everything.
#[cfg(unix)]
fn package_script(root: &Path, name: &str, argument: &str) -> String {
    let script = repository().join("packaging/scripts").join(name);
    let path = format!("{}:{}", root.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let run = Command::new("sh").arg(script).arg(argument).env("PATH", path).env("DPKG_ROOT", root).output();
    let run = run.expect("sh runs");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{name} {argument}: {said}");
    said
}

#[cfg(unix)]
#[test]
fn packages_keep_a_changed_profile_and_disable_routers_when_they_are_removed() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let root = tempfile::tempdir().expect("a root");
    let at = |path: &str| root.path().join(path);
    let wants = "etc/systemd/system/multi-user.target.wants";
    for folder in
        ["bin", "usr/share/lockgate/apparmor", "etc/apparmor.d", "sys/kernel/security/apparmor", wants]
    {
        fs::create_dir_all(at(folder)).expect("made");
    }
    fs::write(at("bin/apparmor_parser"), "#!/bin/sh\n").expect("written");
    fs::set_permissions(at("bin/apparmor_parser"), fs::Permissions::from_mode(0o755)).expect("set");
    let (shipped, installed) = (at("usr/share/lockgate/apparmor/lockgate"), at("etc/apparmor.d/lockgate"));
    let profile = || fs::read_to_string(&installed).expect("a profile");
    for version in ["first\n", "second\n"] {
        fs::write(&shipped, version).expect("written");
        assert_eq!(package_script(root.path(), "postinstall.sh", "configure"), "");
        assert!(profile().starts_with(version), "an unchanged one is replaced");
    }
    let changed = profile().replace("second", "second, and a line of the administrator");
    fs::write(&installed, &changed).expect("written");
    fs::write(&shipped, "third\n").expect("written");
    assert!(package_script(root.path(), "postinstall.sh", "configure").contains("was changed and stays"));
    assert_eq!(profile(), changed);

    let enabled = |name: &str| at(&format!("{wants}/{name}.service"));
    for name in ["lockgate-route@wan", "other"] {
        symlink("/usr/lib/systemd/system/unit.service", enabled(name)).expect("enabled");
    }
    package_script(root.path(), "preremove.sh", "upgrade");
    assert!(enabled("lockgate-route@wan").is_symlink(), "an upgrade changes nothing");
    package_script(root.path(), "preremove.sh", "remove");
    assert!(!enabled("lockgate-route@wan").is_symlink() && enabled("other").is_symlink());
    package_script(root.path(), "postremove.sh", "remove");
    assert_eq!(profile(), changed, "removal keeps it too");
    fs::remove_file(&installed).expect("removed");
    package_script(root.path(), "postinstall.sh", "configure");
    package_script(root.path(), "postremove.sh", "remove");
    assert!(!installed.exists(), "an unchanged one goes");
}

/// Paths that `a/{b,c}` stands for.
fn expanded(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    match parts {
        Some((head, (names, tail))) => names.split(',').map(|name| format!("{head}{name}{tail}")).collect(),
        None => vec![path.to_owned()],
    }
}

#[test]
fn every_decision_that_is_named_has_a_page() {
    let numbers: Vec<String> = decisions().into_iter().map(|(number, ..)| number).collect();
    let index = repository().join("docs/decisions/README.md");
    let mut count = 0;
    for file in files(&["md", "rs", "ts", "py", "toml", "sh"]).iter().filter(|file| **file != index) {
        let text = fs::read_to_string(file).unwrap_or_default();
        for part in text.split("ecision").skip(1) {
            let named = part.trim_start_matches('s').trim_start().trim_start_matches("/// ");
            let number: String =
                named.trim_start_matches('[').chars().take_while(char::is_ascii_digit).collect();
            if number.len() == 3 {
                assert!(numbers.contains(&number), "{}: decision {number} has no page", file.display());
                count += 1;
            }
        }
    }
    assert!(count > 80, "{count}");
}
