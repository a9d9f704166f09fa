//! The site: each page is made, and no link or fragment of it is broken.

use std::path::Path;
use std::process::{Command, Output};

fn python(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new("python3").args(arguments).current_dir(root).output().expect("python3 runs")
}

#[test]
fn no_link_or_fragment_of_the_site_is_broken() {
    for tool in ["mdbook", "python3"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return lockgate_testing::skipped(format!("{tool} is not installed"));
        }
    }
    let folder = tempfile::tempdir().expect("a directory");
    let site = folder.path().join("site");
    let path = site.to_str().expect("UTF-8");
    let lockgate = env!("CARGO_BIN_EXE_lockgate");
    let made = python(&["docs/site/make.py", lockgate, "--out", path, "--without-reports"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    let checked = python(&["docs/site/check.py", path]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    // The check finds each kind of fault.
    for (link, fault) in [
        ("/index.html", "begins at the root of a host"),
        ("../../elsewhere.html", "leads out of the site"),
        ("docs", "is not a file"),
        ("docs/missing.html", "is not a file"),
        ("docs/glossary.html#missing", "the page has no such place"),
    ] {
        std::fs::write(site.join("wrong.html"), format!("<a href=\"{link}\">wrong</a>")).expect("written");
        let wrong = python(&["docs/site/check.py", path]);
        let said = String::from_utf8_lossy(&wrong.stderr);
        let expected = format!("wrong.html:1: `{link}`");
        assert!(!wrong.status.success(), "{link}");
        assert!(said.lines().any(|line| line.contains(&expected) && line.contains(fault)), "{said}");
    }

    // llms.txt names files of the site, in Markdown.
    let index = std::fs::read_to_string(site.join("llms.txt")).expect("llms.txt");
    let named: Vec<&str> = index.split("](").skip(1).filter_map(|part| part.split(')').next()).collect();
    assert!(named.len() > 100, "{index}");
    for file in named {
        assert!(site.join(file).is_file(), "llms.txt: {file}");
    }
    for name in ["scenario", "policy", "summary"] {
        let schema = std::fs::read(site.join(format!("schemas/{name}.json"))).expect(name);
        let _: serde_json::Value = serde_json::from_slice(&schema).expect(name);
    }
}
