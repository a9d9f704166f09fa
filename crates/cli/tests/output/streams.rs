//! Standard output and standard error that are full or closed.

use std::fs::{self, File};
use std::process::{Command, Output, Stdio};

use crate::host::skipped;
use crate::{Directory, end, errors, program};

const RUN: [&str; 5] = ["run", "small.toml", "-q", "--out", "out"];

#[test]
fn output_that_is_not_written_is_an_error() {
    let directory = Directory::new();
    let commands: [&[&str]; 11] = [
        &RUN,
        &["run", "small.toml", "-q", "--json", "--out", "out"],
        &["watch", "small.toml", "--sim", "--pace", "0"],
        &["check", "small.toml"],
        &["list"],
        &["list", "metrics", "--json"],
        &["schema", "summary"],
        &["conform", "rr", "--trials", "1"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
    ];
    for arguments in commands {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let output = directory.lockgate(arguments).stdout(full).output().expect("runs");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", errors(&output));
        assert!(errors(&output).contains("cannot write the output: there is no room"), "{}", errors(&output));
    }
    assert!(directory.at("out/summary.json").is_file(), "results are whole all the same");
    // A command that failed keeps its own exit code.
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let output =
        directory.lockgate(&["check", "small.toml", "missing.toml"]).stdout(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn output_that_a_disk_has_no_room_for_is_an_error() {
    let directory = Directory::new();
    fs::create_dir(directory.at("disk")).expect("created");
    let apart = |script: &str| -> Output {
        Command::new("unshare")
            .args(["-Urm", "sh", "-c", script])
            .arg(program())
            .current_dir(directory.0.path())
            .output()
            .expect("unshare is part of every Linux")
    };
    let mount = "mount -t tmpfs -o size=16k none disk";
    if !apart(mount).status.success() {
        skipped("this user may not mount a disk in a namespace");
        return;
    }
    let output = apart(&format!("{mount} && \"$0\" schema scenario > disk/schema.json"));
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(errors(&output).contains("there is no room on the disk"), "{}", errors(&output));
}

/// With a closed pipe for these.
fn closed(directory: &Directory, arguments: &[&str], out: bool, err: bool) -> Output {
    let pipe = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        Stdio::from(writer)
    };
    let mut command = directory.lockgate(arguments);
    if out {
        command.stdout(pipe());
    }
    if err {
        command.stderr(pipe());
    }
    command.output().expect("runs")
}

#[test]
fn a_reader_that_has_gone_ends_the_output_quietly() {
    let directory = Directory::new();
    for arguments in
        [&RUN[..], &["list"], &["schema", "scenario"], &["man"], &["conform", "rr", "--trials", "1"]]
    {
        let output = closed(&directory, arguments, true, false);
        assert_eq!((output.status.code(), errors(&output)), (Some(0), String::new()), "{arguments:?}");
    }
    assert!(directory.at("out/summary.json").is_file());
    // A watched run whose reader has gone ends as by `q`, with its results.
    let long = ["watch", "small.toml", "--sim", "--plain", "--every", "10ms", "--duration", "1000h"];
    let mut command = directory.lockgate(&[&long[..], &["--out", "watched"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    drop(child.stdout.take());
    let status = end(&mut child).expect("it does not go on for a thousand hours");
    assert_eq!(status.code(), Some(0));
    assert!(directory.at("watched/summary.json").is_file());
}

#[test]
fn a_closed_stderr_changes_no_exit_code() {
    let directory = Directory::new();
    let keys: Vec<String> = (0..50).map(|n| format!("key{n} = 1")).collect();
    fs::write(directory.at("bad.toml"), keys.join("\n")).expect("written");
    let cases: [(&[&str], i32); 8] = [
        (&["check", "bad.toml"], 2),
        (&["run", "bad.toml"], 2),
        (&["run", "/nope"], 2),
        (&["list", "nix"], 2),
        (&["set", "link.line.rate=1mbit", "--to", "127.0.0.1:1"], 1),
        (&["watch", "small.toml", "--sim", "--pace", "0", "--out", "out"], 0),
        (&["demo", "--sim", "--out", "out"], 0),
        (&["--nonsense"], 2),
    ];
    for (arguments, code) in cases {
        for out in [false, true] {
            let output = closed(&directory, arguments, out, true);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}, stdout closed: {out}");
        }
    }
}
