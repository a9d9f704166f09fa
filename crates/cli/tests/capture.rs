//! End of `lockgate capture` by `--for`, by a count and by Ctrl-C, beside a router that always has frames.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lockgate_router::control::directories::SOCKET;
use lockgate_router::control::protocol::{Answer, CapturedFrame, Request};

/// Limit on waiting for an event on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Frames of each answer, and of the last one.
const FRAMES: usize = 10;
const LAST_FRAMES: usize = 3;

/// Answers the requests of one connection, each of a capture with frames, as the router of a busy line.
fn serve(stream: UnixStream) {
    let mut to = stream.try_clone().expect("cloned");
    let frame = CapturedFrame { queue: "q".to_owned(), length: 60, ..CapturedFrame::default() };
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let answer = match Request::read(line.as_bytes()).expect("a request") {
            Request::Captured { end } => {
                let count = if end { LAST_FRAMES } else { FRAMES };
                Answer::Captured { frames: vec![frame.clone(); count], missed: 7 }
            }
            _ => Answer::Capturing {},
        };
        let mut line = serde_json::to_vec(&answer).expect("JSON");
        line.push(b'\n');
        if to.write_all(&line).is_err() {
            return;
        }
    }
}

/// Starts a router of one connection in this folder.
fn router(folder: &Path) {
    let listener = UnixListener::bind(folder.join(SOCKET)).expect("bound");
    thread::spawn(move || serve(listener.accept().expect("a client").0));
}

fn capture(folder: &Path, options: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(["capture", "wan", "--out", "frames.pcapng", "--router", "./"])
        .args(options)
        .current_dir(folder)
        .stderr(Stdio::piped())
        .spawn()
        .expect("started")
}

/// Waits for the end of a capture. Returns what it says.
#[track_caller]
fn ended(mut capture: Child) -> String {
    let until = Instant::now() + PATIENCE;
    while capture.try_wait().expect("waited").is_none() {
        if Instant::now() >= until {
            capture.kill().expect("killed");
            panic!("the capture goes on");
        }
        thread::sleep(Duration::from_millis(10));
    }
    let output = capture.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

/// Returns the number of frames that a capture says it has, and that its file has.
fn frames(said: &str, folder: &Path) -> (usize, usize) {
    let words = " frames captured, 7 more were missed";
    let line = said.lines().find_map(|line| line.strip_suffix(words)).unwrap_or_else(|| panic!("{said}"));
    let file = std::fs::read(folder.join("frames.pcapng")).expect("a capture");
    let comment = b"queueing 0.000 ms; queue q";
    let count = file.windows(comment.len()).filter(|part| part == comment).count();
    (line.parse().expect("a number"), count)
}

#[test]
fn a_capture_ends_in_time_although_frames_always_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    router(folder.path());
    let said = ended(capture(folder.path(), &["--for", "200ms"]));
    let (said, written) = frames(&said, folder.path());
    assert_eq!(said, written);
    assert_eq!(said % FRAMES, LAST_FRAMES, "the last answer's frames are written too");
}

#[test]
fn ctrl_c_ends_a_capture_although_frames_always_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    router(folder.path());
    let capture = capture(folder.path(), &[]);
    let until = Instant::now() + PATIENCE;
    // Frames are written once signals are listened to.
    let length = || std::fs::metadata(folder.path().join("frames.pcapng")).map_or(0, |file| file.len());
    while length() < 10_000 {
        assert!(Instant::now() < until, "no frames");
        thread::sleep(Duration::from_millis(5));
    }
    let process = rustix::process::Pid::from_child(&capture);
    rustix::process::kill_process(process, rustix::process::Signal::INT).expect("signalled");
    let said = ended(capture);
    let (said, written) = frames(&said, folder.path());
    assert_eq!((said, said % FRAMES), (written, LAST_FRAMES));
}

#[test]
fn a_capture_of_a_number_of_frames_has_as_many() {
    let folder = tempfile::tempdir().expect("a folder");
    router(folder.path());
    let said = ended(capture(folder.path(), &["-c", "25"]));
    assert_eq!(frames(&said, folder.path()), (25, 25));
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    router(folder.path());
    let mut capture = Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(["capture", "wan", "--router", "./"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut reader = capture.stdout.take().expect("its output");
    reader.read_exact(&mut [0; 10]).expect("the beginning");
    drop(reader);
    let said = ended(capture);
    assert!(said.lines().all(|line| line.contains(" captured, 7 more were missed")), "{said}");
}
