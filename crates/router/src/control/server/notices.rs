//! Notices of alerts on their way: to webhooks, and to commands. They never delay the control, and none
//! waits for that of another alert: each alert has a thread for its webhook and one for its command, as long
//! as it has notices, which keep their order.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lockgate_scenario::policy::{Alert, Webhook};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::control::alerts::Notice;

/// Time limit of a webhook's exchange, and of a command.
const LONGEST_EXCHANGE: Duration = Duration::from_secs(10);

/// Notices of an alert that wait at most for one receiver, and alerts that are served at a time; further
/// notices are in the log alone.
const WAITING: usize = 8;
const MOST_LINES: usize = 256;

/// Receiver of an alert's notices: its name, and whether it is the command.
type Line = (String, bool);

/// Notices that wait, by receiver. A receiver that is in it has a thread.
type Waiting = Arc<Mutex<BTreeMap<Line, VecDeque<(Alert, Notice)>>>>;

/// Sender's end. What was submitted is still passed on when it is dropped.
#[derive(Debug)]
pub(super) struct Notices {
    waiting: Waiting,
    tell: SyncSender<String>,
    failures: Receiver<String>,
}

impl Notices {
    pub(super) fn new() -> Self {
        let (tell, failures) = sync_channel(MOST_LINES);
        Self { waiting: Waiting::default(), tell, failures }
    }

    /// Passes a notice on, later. Returns false if too many wait, or the system refuses a thread.
    pub(super) fn submit(&self, alert: &Alert, notice: &Notice) -> bool {
        let is_there = [alert.webhook.is_some(), !alert.command.is_empty()];
        let receivers = [false, true].into_iter().zip(is_there).filter(|(_, is_there)| *is_there);
        // All are tried.
        receivers
            .map(|(is_command, _)| self.submit_to(&(alert.name.clone(), is_command), alert, notice))
            .fold(true, |all, one| all & one)
    }

    fn submit_to(&self, line: &Line, alert: &Alert, notice: &Notice) -> bool {
        let one = (alert.clone(), notice.clone());
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(others) = waiting.get_mut(line) {
            let has_room = others.len() < WAITING;
            others.extend(has_room.then_some(one));
            return has_room;
        }
        if waiting.len() >= MOST_LINES {
            return false;
        }
        waiting.insert(line.clone(), VecDeque::from([one]));
        let (all, tell, of) = (self.waiting.clone(), self.tell.clone(), line.clone());
        let started =
            thread::Builder::new().name("alert".to_owned()).spawn(move || pass_all(&all, &of, &tell));
        if started.is_err() {
            waiting.remove(line);
        }
        started.is_ok()
    }

    /// Returns the failures since the last call, for the log.
    pub(super) fn failures(&self) -> impl Iterator<Item = String> {
        self.failures.try_iter()
    }
}

/// Passes the notices for a receiver on, until none waits.
fn pass_all(waiting: &Waiting, line: &Line, tell: &SyncSender<String>) {
    loop {
        let next = {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let next = waiting.get_mut(line).and_then(VecDeque::pop_front);
            if next.is_none() {
                waiting.remove(line);
            }
            next
        };
        let Some((alert, notice)) = next else { return };
        if let Err(failure) = pass_on(&alert, &notice, line.1) {
            // A full channel: the log has enough of them.
            let _ = tell.try_send(failure);
        }
    }
}

/// Posts the notice, or runs the command.
///
/// # Errors
/// Returns the failure in words.
fn pass_on(alert: &Alert, notice: &Notice, is_command: bool) -> Result<(), String> {
    // Cannot fail: a notice is plain data of texts.
    let text = serde_json::to_string(notice).unwrap_or_default();
    let (what, done) = match (&alert.webhook, &alert.command[..]) {
        (_, [program, arguments @ ..]) if is_command => ("command", run(program, arguments, notice, &text)),
        (Some(webhook), _) if !is_command => ("webhook", post(webhook, &text)),
        _ => return Ok(()),
    };
    done.map_err(|why| format!("the {what} of alert `{}` failed: {why}", alert.name))
}

/// Posts a JSON text, in one connection.
fn post(webhook: &Webhook, text: &str) -> std::io::Result<()> {
    let until = Instant::now() + LONGEST_EXCHANGE;
    let left = || until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let address = (&*webhook.host, webhook.port).to_socket_addrs()?.next();
    let address = address.ok_or_else(|| std::io::Error::other("its host has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, left())?;
    stream.set_write_timeout(Some(left()))?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        webhook.path,
        webhook.authority(),
        text.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())?;
    let mut answer = [0; 512];
    let mut length = 0;
    // The first line tells; a server that sends a byte a second gains nothing.
    while !answer[..length].contains(&b'\n') && length < answer.len() {
        stream.set_read_timeout(Some(left()))?;
        match stream.read(&mut answer[length..])? {
            0 => break,
            read => length += read,
        }
        if Instant::now() >= until {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
    }
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    let first = answer.lines().next().unwrap_or_default();
    match first.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok()) {
        Some(200..=299) => Ok(()),
        Some(code) => Err(std::io::Error::other(format!("it answered {code}"))),
        None => Err(std::io::Error::other("its answer is not HTTP")),
    }
}

/// Runs a command with the notice as its input, in a process group of its own; ends it after a while.
fn run(program: &str, arguments: &[String], notice: &Notice, text: &str) -> std::io::Result<()> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("LOCKGATE_ALERT", &notice.alert)
        .env("LOCKGATE_STATE", notice.state)
        .env("LOCKGATE_ROUTER", &notice.router)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A notice fits into the pipe; a command that does not read it is none of ours.
        let _ = input.write_all(text.as_bytes());
    }
    let status = wait(&mut child, LONGEST_EXCHANGE)?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other(format!("it ended with {status}"))) }
}

/// Waits for a command. After `longest`, kills its process group: what a script started goes with it.
fn wait(child: &mut Child, longest: Duration) -> std::io::Result<std::process::ExitStatus> {
    let until = Instant::now() + longest;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= until {
            // The leader has not been waited for, so the group is still its own.
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = child.wait();
            return Err(std::io::Error::other(format!("it took longer than {} s", longest.as_secs())));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use lockgate_scenario::condition::Condition;

    use super::*;

    fn alert(port: u16, command: &[&str]) -> (Alert, Notice) {
        let condition = Condition::parse("class.q.drops > 1p").expect("a condition");
        let webhook =
            (port > 0).then(|| Webhook::parse(&format!("http://127.0.0.1:{port}/hook")).expect("an address"));
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        let notice = Notice {
            router: "house".to_owned(),
            at: String::new(),
            alert: "late".to_owned(),
            state: "firing",
            condition: String::new(),
            port: "wan".to_owned(),
            queue: "q".to_owned(),
            value: "3 packets a second".to_owned(),
        };
        (Alert { name: "late".to_owned(), condition, webhook, command }, notice)
    }

    #[test]
    fn a_webhook_gets_the_notice_and_its_refusal_is_told() {
        for (answer, failures) in
            [("HTTP/1.1 204 No Content\r\n\r\n", 0), ("HTTP/1.1 500 No\r\n\r\n", 1), ("", 1)]
        {
            let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
            let (alert, notice) = alert(listener.local_addr().expect("an address").port(), &[]);
            let served = thread::spawn(move || {
                let (mut stream, _) = listener.accept().expect("a connection");
                let mut got = Vec::new();
                let mut part = [0; 1024];
                while !String::from_utf8_lossy(&got).contains("a second\"}") {
                    let read = stream.read(&mut part).expect("read");
                    got.extend_from_slice(&part[..read]);
                }
                stream.write_all(answer.as_bytes()).expect("written");
                String::from_utf8(got).expect("text")
            });
            let told = pass_on(&alert, &notice, false);
            let got = served.join().expect("no panic");
            assert!(got.starts_with("POST /hook HTTP/1.1\r\nHost: 127.0.0.1:"), "{got}");
            assert!(got.contains(r#""alert":"late","state":"firing""#), "{got}");
            assert_eq!(usize::from(told.is_err()), failures, "{answer:?}: {told:?}");
        }
    }

    #[test]
    fn a_command_gets_the_notice_as_its_input() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("notice");
        let script = format!("cat > {}; test $LOCKGATE_STATE = firing", file.display());
        let (alert, notice) = alert(0, &["/bin/sh", "-c", &script]);
        assert_eq!(pass_on(&alert, &notice, true), Ok(()));
        assert!(std::fs::read_to_string(&file).expect("written").contains(r#""queue":"q""#));
        for (program, why) in
            [("/no/such/program", "the command of alert `late` failed"), ("/bin/false", "exit status: 1")]
        {
            let (failing, notice) = self::alert(0, &[program]);
            let told = pass_on(&failing, &notice, true).expect_err("it fails");
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn a_command_that_hangs_delays_no_other_alert_and_notices_keep_their_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, release) = (folder.path().join("notices"), folder.path().join("release"));
        let script = format!(
            "until test -e {}; do sleep 0.02; done; echo $LOCKGATE_ALERT $LOCKGATE_STATE >> {}",
            release.display(),
            file.display()
        );
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let port = listener.local_addr().expect("an address").port();
        let notices = Notices::new();
        for number in 0..5 {
            let (mut alert, notice) = alert(if number == 4 { port } else { 0 }, &["/bin/sh", "-c", &script]);
            alert.name = format!("alert {number}");
            for state in ["firing", "resolved"] {
                assert!(
                    notices.submit(&alert, &Notice { alert: alert.name.clone(), state, ..notice.clone() })
                );
            }
        }
        // The webhook of the last alert comes while all commands hang, its own too.
        let (mut stream, _) = listener.accept().expect("a connection");
        assert!(stream.read(&mut [0; 100]).expect("read") > 0 && !file.exists());
        drop(listener);
        std::fs::write(&release, "").expect("written");
        let until = Instant::now() + Duration::from_mins(1);
        let mut said = String::new();
        while said.lines().count() < 10 && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
            said = std::fs::read_to_string(&file).unwrap_or_default();
        }
        for number in 0..5 {
            let of: Vec<&str> =
                said.lines().filter_map(|line| line.strip_prefix(&format!("alert {number} "))).collect();
            assert_eq!(of, ["firing", "resolved"], "{said}");
        }
    }

    #[test]
    fn a_command_that_lasts_too_long_ends_with_its_children() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("child");
        let script = format!("sleep 300 & echo $! > {}; wait", file.display());
        let mut child =
            Command::new("/bin/sh").args(["-c", &script]).process_group(0).spawn().expect("started");
        let until = Instant::now() + Duration::from_mins(1);
        let pid = || std::fs::read_to_string(&file).ok()?.trim().parse().ok().and_then(Pid::from_raw);
        while pid().is_none() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        let sleeper = pid().expect("its child");
        assert!(wait(&mut child, Duration::ZERO).is_err());
        // An orphan stays a zombie until its new parent waits for it.
        let lives = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", sleeper.as_raw_nonzero()));
            status.is_ok_and(|status| !status.contains("State:\tZ"))
        };
        while lives() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(!lives(), "the child goes on");
    }

    #[test]
    fn notices_beyond_those_that_may_wait_are_refused() {
        let notices = Notices::new();
        let (alert, notice) = alert(0, &["/bin/sleep", "1"]);
        let taken = (0..3 * WAITING).filter(|_| notices.submit(&alert, &notice)).count();
        assert!((WAITING..=WAITING + 2).contains(&taken), "{taken}");
    }
}
