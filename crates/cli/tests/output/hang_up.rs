//! A terminal that is closed during a watched run.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{Directory, PATIENCE, end, host, names, signal, until};

/// A command on a terminal of its own, of this kind: `setsid` makes it the leader of the terminal's session.
fn on_terminal(
    kind: &str,
    directory: &Directory,
    arguments: &[&str],
    controls: bool,
    stderr: Option<File>,
) -> (Child, File) {
    let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&main).and_then(|()| unlockpt(&main)).expect("unlocked");
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&main, size).expect("sized");
    let name = ptsname(&main, Vec::new()).expect("a name").into_string().expect("text");
    let end = || File::options().read(true).write(true).open(&name).expect("the other end");
    let plain = directory.lockgate(arguments);
    let mut command = Command::new("setsid");
    command.args(controls.then_some("--ctty")).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(directory.0.path()).env("TERM", kind).stdin(end()).stdout(end());
    command.stderr(stderr.map_or_else(|| Stdio::from(end()), Stdio::from));
    let child = command.spawn().expect("setsid is part of every Linux");
    (child, File::from(main))
}

/// Reads from the terminal until these words have appeared. Returns what was shown.
fn shown(main: &mut File, words: &str) -> String {
    let mut text = String::new();
    let mut bytes = [0; 4096];
    until("the picture", || {
        let count = main.read(&mut bytes).expect("it is open");
        text += &String::from_utf8_lossy(&bytes[..count]);
        text.contains(words)
    });
    text
}

fn closes(how: &str) {
    for (controls, stderr) in [(true, false), (true, true), (false, false)] {
        let directory = Directory::new();
        let watch = ["watch", "small.toml", how, "--duration", "1h", "--out", "out"];
        let file = stderr.then(|| File::create(directory.at("stderr")).expect("created"));
        let (mut child, mut main) = on_terminal("xterm", &directory, &watch, controls, file);
        shown(&mut main, "running");
        drop(main);
        let status = end(&mut child);
        let status =
            status.unwrap_or_else(|| panic!("{how}, {controls}, {stderr}: it goes on without its terminal"));
        assert_eq!(
            (status.code(), status.signal()),
            (Some(130), None),
            "{how}, controlling: {controls}, stderr elsewhere: {stderr}"
        );
        assert!(directory.at("out/summary.json").is_file());
        assert!(names(directory.0.path()).iter().all(|name| !name.starts_with('.')));
    }
}

/// A terminal that can only print lines gets no picture.
#[test]
fn a_dumb_terminal_gets_lines() {
    let directory = Directory::new();
    let watch = ["watch", "small.toml", "--sim", "--duration", "1h"];
    let (mut child, mut main) = on_terminal("dumb", &directory, &watch, true, None);
    let text = shown(&mut main, "0.200 s");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    drop(main);
    assert!(end(&mut child).is_some(), "it goes on without its terminal");
}

#[test]
fn a_simulation_ends_with_its_results() {
    closes("--sim");
}

#[test]
fn a_live_run_ends_with_its_results() {
    if host::is_possible() {
        let before = host::traces();
        closes("--live");
        assert_eq!(host::traces(), before);
    }
}

/// Returns true if this process ignores SIGHUP, signal 1, as under `nohup`.
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

/// A shell that ends passes the hang-up on, so that a second SIGHUP arrives while the run stops.
#[test]
fn a_second_hang_up_aborts_nothing() {
    let directory = Directory::new();
    let watch =
        ["watch", "small.toml", "--sim", "--plain", "--every", "1s", "--duration", "1h", "--out", "out"];
    // Under `nohup` the child inherits that the signal is ignored, and a run then rightly goes on.
    let mut command = if is_hang_up_ignored() {
        let plain = directory.lockgate(&watch);
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").arg(plain.get_program()).args(plain.get_args());
        command.current_dir(directory.0.path()).stdin(Stdio::null());
        command
    } else {
        directory.lockgate(&watch)
    };
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let mut first = [0; 1];
    child.stdout.as_mut().expect("stdout").read_exact(&mut first).expect("a sample");
    let since = Instant::now();
    let status = loop {
        let _ = kill_process(Pid::from_child(&child), Signal::HUP);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        assert!(since.elapsed() < PATIENCE, "it goes on without its terminal");
        // Less time than the run needs to stop and write the results.
        std::thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(status.code(), Some(130));
    assert!(directory.at("out/summary.json").is_file());
}

#[test]
fn nohup_keeps_a_run_going() {
    let directory = Directory::new();
    let plain = directory.lockgate(&["run", "small.toml", "-q", "--duration", "1000h", "--out", "out"]);
    let mut command = Command::new("nohup");
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(directory.0.path());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    until("the draft", || names(directory.0.path()).iter().any(|name| name.ends_with(".partial")));
    signal(&child, "HUP");
    // The signals that it listens to it obeys.
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("a child").is_none(), "it ended at a hang-up that was to be ignored");
    signal(&child, "INT");
    assert_eq!(end(&mut child).and_then(|status| status.code()), Some(130));
    assert!(directory.at("out/summary.json").is_file());
}
