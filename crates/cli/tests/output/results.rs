//! The results directory: cases of replacing, refusing, and leftovers of a killed run.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::host::skipped;
use crate::{Directory, end, errors, names, until};

const RUN: [&str; 3] = ["run", "small.toml", "-q"];

/// Runs the command and expects a refusal with these words, and an unchanged directory.
#[track_caller]
fn refused(directory: &Directory, arguments: &[&str], words: &[&str]) {
    let before = directory.everything();
    let output = directory.run(arguments);
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    for word in words {
        assert!(errors.contains(word), "{arguments:?}: `{word}` is not in\n{errors}");
    }
    assert_eq!(directory.everything(), before, "{arguments:?}");
}

fn ran(directory: &Directory, out: &str) {
    let output = directory.run(&[&RUN[..], &["--out", out]].concat());
    assert!(output.status.success(), "{out}: {}", errors(&output));
}

#[test]
fn only_the_results_of_an_earlier_run_are_replaced() {
    let directory = Directory::new();
    // A web application, which has a file of this name too.
    fs::create_dir_all(directory.at("app/src")).expect("created");
    fs::write(directory.at("app/manifest.json"), r#"{ "name": "app", "start_url": "/" }"#).expect("written");
    fs::write(directory.at("app/src/main.js"), "work").expect("written");
    // Results with files of the user beside them.
    for out in ["notes", "plots", "linked", "edited"] {
        ran(&directory, out);
    }
    fs::write(directory.at("notes/notes.md"), "mine").expect("written");
    fs::create_dir(directory.at("plots/sub")).expect("created");
    fs::write(directory.at("plots/sub/plot.py"), "mine").expect("written");
    symlink("../small.toml", directory.at("linked/a-link")).expect("linked");
    // A name that some run writes, but this one did not.
    fs::write(directory.at("edited/packets.parquet"), "mine").expect("written");
    for (out, entry) in [
        ("app", "`manifest.json`"),
        ("notes", "`notes.md`"),
        ("plots", "`sub`"),
        ("linked", "`a-link`"),
        ("edited", "`packets.parquet`"),
    ] {
        let words = ["cannot write results", entry, "not of an earlier run", "--out"];
        refused(&directory, &[&RUN[..], &["--out", out]].concat(), &words);
    }
    let all: [&[&str]; 4] = [
        &["conform", "rr", "--trials", "1", "-q", "--out", "notes"],
        &["reproduce", "caqt", "--quick", "-q", "--out", "notes"],
        &["demo", "--sim", "-q", "--out", "notes"],
        &["watch", "small.toml", "--sim", "--pace", "0", "--out", "notes"],
    ];
    for arguments in all {
        refused(&directory, arguments, &["`notes.md`"]);
    }
    // Of the user's own: nothing left, an empty directory, and the results of version 0.1.0.
    fs::remove_file(directory.at("notes/notes.md")).expect("removed");
    fs::create_dir(directory.at("empty")).expect("created");
    fs::create_dir(directory.at("old")).expect("created");
    let manifest = r#"{ "lockgate": "0.1.0", "title": "small", "mode": "sim", "command": "lockgate run small.toml",
        "scenario_sha256": "00", "seeds": [1], "finished": "2026-01-01T00:00:00Z", "interrupted": false }"#;
    fs::write(directory.at("old/manifest.json"), manifest).expect("written");
    fs::write(directory.at("old/program-1-a.txt"), "").expect("written");
    for out in ["notes", "empty", "old", "old/"] {
        ran(&directory, out);
        let found = names(&directory.at(out));
        let expected = ["events.ndjson", "manifest.json", "report.html", "scenario.toml", "summary.json"];
        assert_eq!(found, expected, "{out}");
    }
    let left: Vec<String> =
        names(directory.0.path()).into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_is_no_directory_is_not_replaced() {
    let directory = Directory::new();
    ran(&directory, "run");
    fs::write(directory.at("file"), "mine").expect("written");
    symlink("run", directory.at("latest")).expect("linked");
    symlink("nowhere", directory.at("dangling")).expect("linked");
    let _socket = UnixListener::bind(directory.at("socket")).expect("bound");
    let made = |arguments: &[&str]| {
        let done = Command::new(arguments[0]).args(&arguments[1..]).current_dir(directory.0.path()).output();
        done.is_ok_and(|done| done.status.success())
    };
    assert!(made(&["mkfifo", "pipe"]));
    let mut cases = vec![
        ("file", "it is a file"),
        ("latest", "it is a symbolic link to `run`"),
        ("latest/", "it is a symbolic link to `run`"),
        ("dangling", "it is a symbolic link to `nowhere`"),
        ("socket", "it is a socket"),
        ("pipe", "it is a pipe"),
    ];
    if made(&["mknod", "null", "c", "1", "3"]) {
        cases.push(("null", "it is a device"));
    } else {
        skipped("this user may not make a device");
    }
    let inode = |name: &str| fs::symlink_metadata(directory.at(name)).expect("there").ino();
    for (out, why) in cases {
        let before = inode(out);
        // Without `everything`: it would block on a pipe without a writer, if that were read as a file.
        let output = directory.run(&[&RUN[..], &["--out", out]].concat());
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{out}: {errors}");
        assert!(errors.contains(why) && errors.contains("--out"), "{out}: {errors}");
        assert_eq!(inode(out), before, "{out}");
    }
    let found = names(directory.0.path());
    assert!(found.iter().all(|name| !name.starts_with('.')), "{found:?}");
}

#[test]
fn results_in_the_current_directory_leave_it_where_it_is() {
    let directory = Directory::new();
    let here = directory.at("here");
    fs::create_dir(&here).expect("created");
    let inode = || fs::metadata(&here).expect("there").ino();
    let run = |out: &str, set: &str| {
        let mut command =
            directory.lockgate(&["run", "../small.toml", "-q", "--packets", "--set", set, "--out", out]);
        command.current_dir(&here).output().expect("runs")
    };
    let before = inode();
    for (out, set) in [(".", "title=one"), ("./", "title=two"), ("../here", "title=three")] {
        let output = run(out, set);
        assert!(output.status.success(), "{out}: {}", errors(&output));
        assert_eq!(inode(), before, "{out}");
        let manifest = fs::read_to_string(here.join("manifest.json")).expect("there");
        assert!(
            manifest.contains(set.trim_start_matches("title=")) && !manifest.contains("incomplete"),
            "{manifest}"
        );
    }
    // Results of another kind: the files of the earlier ones are removed.
    let output = directory.lockgate(&["conform", "rr", "--trials", "1", "-q", "--out", "."]);
    let output = { output }.current_dir(&here).output().expect("runs");
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(names(&here), ["conformance.json", "manifest.json", "report.html"]);
    fs::write(here.join("notes.md"), "mine").expect("written");
    let output = run(".", "title=four");
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("`notes.md`"), "{}", errors(&output));
    assert_eq!(names(&here), ["conformance.json", "manifest.json", "notes.md", "report.html"]);
}

#[test]
fn what_a_killed_run_leaves_goes_with_the_next() {
    let temporary = Directory::new();
    fs::create_dir(temporary.at("here")).expect("created");
    let drafts = |directory: &str| -> Vec<String> {
        let names = names(&temporary.at(directory)).into_iter();
        names.filter(|name| name.ends_with(".partial")).collect()
    };
    for (out, directory) in [("out", "."), (".", "here")] {
        let file = temporary.at("small.toml").display().to_string();
        let endless = ["run", &file, "-q", "--duration", "2000h", "--out", out];
        let mut child = temporary.lockgate(&endless);
        let from = if directory == "here" { temporary.at("here") } else { temporary.at("") };
        let mut child = child.current_dir(&from).spawn().expect("starts");
        until("the draft", || !drafts(directory).is_empty());
        // The draft belongs to a process that runs: another run to the same place does not touch it.
        let other = temporary
            .lockgate(&["run", &file, "-q", "--out", out])
            .current_dir(&from)
            .output()
            .expect("runs");
        if directory == "here" {
            assert_eq!(other.status.code(), Some(2), "two cannot fill one directory: {}", errors(&other));
        } else {
            assert!(other.status.success(), "{}", errors(&other));
        }
        assert_eq!(drafts(directory).len(), 1);
        child.kill().expect("killed");
        end(&mut child).expect("ended");
        assert_eq!(drafts(directory).len(), 1, "no process was left to remove it");
        // A directory of this name that is not Lockgate's.
        let strange = temporary.at(".out.999999999.partial");
        fs::create_dir_all(&strange).expect("created");
        fs::write(strange.join("notes.md"), "mine").expect("written");
        let next = temporary
            .lockgate(&["run", &file, "-q", "--out", out])
            .current_dir(&from)
            .output()
            .expect("runs");
        assert!(next.status.success(), "{}", errors(&next));
        let expected: &[&str] = if directory == "here" { &[] } else { &[".out.999999999.partial"] };
        assert_eq!(drafts(directory), expected);
        assert_eq!(fs::read_to_string(strange.join("notes.md")).expect("kept"), "mine");
    }
}
