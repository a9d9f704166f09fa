//! Commands that Lockgate prints can be pasted into a shell: paths spell ports with a colon, because the `>`
//! of `->` is a redirection there.

use std::fs;
use std::path::Path;

fn check(path: &Path, wrong: &mut Vec<String>) {
    let Ok(text) = fs::read_to_string(path) else { return };
    for (number, line) in text.lines().enumerate() {
        let is_command = ["--set", "lockgate set"].iter().any(|command| line.contains(command));
        if is_command && line.contains("port.") && line.contains("->") {
            wrong.push(format!("{}:{}: {line}", path.display(), number + 1));
        }
    }
}

fn walk(folder: &Path, wrong: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { walk(&path, wrong) } else { check(&path, wrong) }
    }
}

#[test]
fn ports_in_shown_commands_have_a_colon() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wrong = Vec::new();
    for folder in ["docs", "papers", "scenarios", "crates/cli/src"] {
        walk(&repository.join(folder), &mut wrong);
    }
    check(&repository.join("README.md"), &mut wrong);
    assert!(wrong.is_empty(), "a shell would redirect here:\n{}", wrong.join("\n"));
}
