//! Files whose names the user chose: a saved session, and the reference pages.

use std::fs;
use std::os::unix::fs::symlink;

use crate::{Directory, errors};

const WATCH: [&str; 6] = ["watch", "small.toml", "--sim", "--pace", "0", "--plain"];

#[test]
fn a_session_is_saved_over_nothing_but_a_saved_session() {
    let directory = Directory::new();
    fs::write(directory.at("mine.toml"), "mine").expect("written");
    symlink("mine.toml", directory.at("link.toml")).expect("linked");
    fs::create_dir(directory.at("directory")).expect("created");
    fs::create_dir(directory.at("results")).expect("created");
    let before = directory.everything();
    for (save, why) in [
        ("mine.toml", "it is a file of yours"),
        ("small.toml", "it is a file of yours"),
        ("link.toml", "it is a symbolic link"),
        ("directory", "it is a directory"),
        ("/dev/null", "it is a device"),
        ("nowhere/s.toml", "there is no such directory"),
        ("results/s.toml", "only results go to"),
    ] {
        let output = directory.run(&[&WATCH[..], &["--out", "results", "--save", save]].concat());
        let errors = errors(&output);
        // Refused at the start: no sample was printed.
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{save}: {errors}");
        assert!(errors.contains(why) && errors.contains("--save"), "{save}: {errors}");
    }
    assert_eq!(directory.everything(), before);
    for _ in 0..2 {
        let output = directory.run(&[&WATCH[..], &["--save", "s.toml"]].concat());
        assert!(output.status.success(), "{}", errors(&output));
        let replayed = directory.run(&["check", "s.toml"]);
        assert!(replayed.status.success(), "{}", errors(&replayed));
    }
}

#[test]
fn a_session_that_cannot_be_saved_does_not_take_the_results_along() {
    let directory = Directory::new();
    fs::create_dir(directory.at("disk")).expect("created");
    let arguments = ["watch", "small.toml", "--sim", "--pace", "10", "--plain", "--every", "10ms"];
    let mut command =
        directory.lockgate(&[&arguments[..], &["--out", "out", "--save", "disk/s.toml"]].concat());
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    // The first sample shows that the checks of the start have passed.
    let mut first = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().expect("stdout"), &mut first).expect("a sample");
    fs::remove_dir(directory.at("disk")).expect("lost meanwhile");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(errors(&output).contains("cannot write `disk/s.toml`"), "{}", errors(&output));
    assert!(directory.at("out/summary.json").is_file());
}

#[test]
fn reference_pages_replace_only_generated_ones() {
    let directory = Directory::new();
    fs::create_dir(directory.at("docs")).expect("created");
    fs::write(directory.at("docs/metrics.md"), "# My own metrics\n").expect("written");
    let write = |pages: &[&str]| directory.run(&[&["docs", "--out", "docs"], pages].concat());
    let output = write(&["traffic", "metrics"]);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert!(errors(&output).contains("cannot write `docs/metrics.md`"), "{}", errors(&output));
    assert_eq!(fs::read_to_string(directory.at("docs/metrics.md")).expect("kept"), "# My own metrics\n");
    for _ in 0..2 {
        assert!(write(&["traffic"]).status.success());
    }
}
