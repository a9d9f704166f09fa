//! Placing of a results directory, with failures in between.

use super::*;

/// Returns a temporary directory and a target in it.
fn directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("out");
    (directory, target)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Starts results with this summary and a further file.
fn run(target: &Path, summary: &str, further: &str) -> ResultsDirectory {
    let results = ResultsDirectory::start(Some(target), "t").expect("starts");
    results.write("summary.json", summary).expect("written");
    results.write(further, "").expect("written");
    results
}

fn summary(target: &Path) -> String {
    fs::read_to_string(target.join("summary.json")).expect("there")
}

#[test]
fn what_cannot_take_its_place_leaves_the_earlier_run() {
    let (directory, target) = directory();
    run(&target, "first", "report.html").finish(&()).expect("in its place");
    let second = run(&target, "second", "report.html");
    fs::remove_dir_all(second.draft()).expect("lost meanwhile");
    assert!(second.finish(&()).is_err());
    assert_eq!(summary(&target), "first");
    assert_eq!(names(directory.path()), ["out"]);
}

#[test]
fn what_comes_while_a_run_goes_on_stays() {
    let (directory, target) = directory();
    run(&target, "first", "report.html").finish(&()).expect("in its place");
    let second = run(&target, "second", "twin.json");
    fs::write(target.join("notes.md"), "mine").expect("written");
    let refused = second.finish(&()).expect_err("the notes would be lost");
    assert!(refused.to_string().contains("`notes.md` came there"), "{refused}");
    assert_eq!(names(&target), ["manifest.json", "notes.md", "report.html", "summary.json"]);
    assert_eq!(
        (summary(&target), summary(&directory.path().join("out-2"))),
        ("first".into(), "second".into())
    );
    // A free target at the start.
    let third = run(&directory.path().join("new"), "third", "report.html");
    fs::write(directory.path().join("new"), "mine").expect("written");
    assert!(third.finish(&()).is_err());
    assert_eq!(fs::read_to_string(directory.path().join("new")).expect("kept"), "mine");
    assert_eq!(summary(&directory.path().join("new-2")), "third");
    assert_eq!(names(directory.path()), ["new", "new-2", "out", "out-2"]);
}

#[test]
fn a_directory_that_must_stay_has_its_files_replaced() {
    let (directory, target) = directory();
    run(&target, "first", "twin.json").finish(&()).expect("in its place");
    let mut second = run(&target, "second", "report.html");
    second.state = Target::Inside;
    #[cfg(unix)]
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).expect("there"));
    #[cfg(unix)]
    let before = inode(&target);
    second.finish(&()).expect("in its place");
    #[cfg(unix)]
    assert_eq!(inode(&target), before);
    assert_eq!(names(&target), ["manifest.json", "report.html", "summary.json"]);
    assert_eq!((summary(&target), names(directory.path())), ("second".into(), vec!["out".to_owned()]));
    // Killed in the middle: the next run recognises all of the files.
    let third = run(&target, "third", "twin.json");
    let files = ["report.html", "summary.json", "twin.json"].map(str::to_owned);
    fs::write(target.join(MANIFEST), marked(&(), &files, true).expect("text")).expect("written");
    fs::rename(third.draft().join("twin.json"), target.join("twin.json")).expect("moved");
    core::mem::forget(third);
    run(&target, "fourth", "report.html").finish(&()).expect("in its place");
    assert_eq!(names(&target), ["manifest.json", "report.html", "summary.json"]);
    assert_eq!(summary(&target), "fourth");
}

#[cfg(unix)]
#[test]
fn leftovers_of_killed_runs_go_and_nothing_else_does() {
    let (directory, target) = directory();
    // A process that has ended.
    let mut child = std::process::Command::new("true").spawn().expect("starts");
    let dead = child.id();
    child.wait().expect("ends");
    let beside = |name: &str, files: &[(&str, &str)]| {
        let directory = directory.path().join(name);
        fs::create_dir(&directory).expect("created");
        for (file, text) in files {
            fs::write(directory.join(file), text).expect("written");
        }
    };
    let manifest = r#"{ "lockgate": "0.1.0", "command": "lockgate run a", "finished": "now" }"#;
    beside(&format!(".out.{dead}.partial"), &[(manifest::MARKER, FORMAT), ("summary.json", "")]);
    beside(&format!(".out.{dead}-2.partial"), &[]);
    beside(&format!(".out.{dead}.old"), &[("manifest.json", manifest), ("report.html", "")]);
    // Kept: the draft of another program, that of other results, one with a file of the user, and one of a
    // running process.
    let kept = [
        format!(".other.{dead}.partial"),
        format!(".out.{dead}-3.partial"),
        format!(".out.{dead}-4.partial"),
        format!(".out.{dead}-5.partial"),
        format!(".out.{}.old", std::process::id()),
    ];
    beside(&kept[0], &[(manifest::MARKER, FORMAT)]);
    beside(&kept[1], &[("film.mp4", "")]);
    beside(&kept[2], &[(manifest::MARKER, FORMAT), ("notes.md", "")]);
    beside(&kept[3], &[(manifest::MARKER, FORMAT)]);
    beside(&kept[4], &[("manifest.json", manifest)]);
    let locked = fs::File::open(directory.path().join(&kept[3]).join(manifest::MARKER)).expect("there");
    locked.try_lock().expect("free");
    run(&target, "first", "report.html").finish(&()).expect("in its place");
    let mut expected = kept.to_vec();
    expected.push("out".into());
    expected.sort();
    assert_eq!(names(directory.path()), expected);
}
