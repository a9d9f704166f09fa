//! Thread that passes notices of alerts on: to webhooks, and to commands. It never delays the control.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use lockgate_scenario::policy::{Alert, Webhook};

use crate::control::alerts::Notice;

/// Time limit of a webhook's exchange, and of a command.
const LONGEST_EXCHANGE: Duration = Duration::from_secs(10);

/// Notices that wait at most; further ones are in the log alone.
const WAITING: usize = 64;

/// Sender's end of the thread, which ends after the present notice when this value is dropped.
#[derive(Debug)]
pub(super) struct Notices {
    waiting: SyncSender<(Alert, Notice)>,
    failures: Receiver<String>,
}

impl Notices {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system refuses it.
    pub(super) fn start() -> std::io::Result<Self> {
        let (waiting, notices) = sync_channel::<(Alert, Notice)>(WAITING);
        let (tell, failures) = sync_channel(WAITING);
        thread::Builder::new().name("alerts".to_owned()).spawn(move || {
            for (alert, notice) in notices {
                for failure in pass_on(&alert, &notice) {
                    // A full channel: the log has enough of them.
                    let _ = tell.try_send(failure);
                }
            }
        })?;
        Ok(Self { waiting, failures })
    }

    /// Passes a notice on, later. Returns false if too many wait.
    pub(super) fn submit(&self, alert: Alert, notice: Notice) -> bool {
        self.waiting.try_send((alert, notice)).is_ok()
    }

    /// Returns the failures since the last call, for the log.
    pub(super) fn failures(&self) -> impl Iterator<Item = String> {
        self.failures.try_iter()
    }
}

/// Posts the notice and runs the command. Returns the failures in words.
fn pass_on(alert: &Alert, notice: &Notice) -> Vec<String> {
    // Cannot fail: a notice is plain data of texts.
    let text = serde_json::to_string(notice).unwrap_or_default();
    let mut failures = Vec::new();
    if let Some(webhook) = &alert.webhook
        && let Err(why) = post(webhook, &text)
    {
        failures.push(format!("the webhook of alert `{}` failed: {why}", alert.name));
    }
    if let [program, arguments @ ..] = &alert.command[..]
        && let Err(why) = run(program, arguments, notice, &text)
    {
        failures.push(format!("the command of alert `{}` failed: {why}", alert.name));
    }
    failures
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

/// Runs a command with the notice as its input; ends it after a while.
fn run(program: &str, arguments: &[String], notice: &Notice, text: &str) -> std::io::Result<()> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("LOCKGATE_ALERT", &notice.alert)
        .env("LOCKGATE_STATE", notice.state)
        .env("LOCKGATE_ROUTER", &notice.router)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A notice fits into the pipe; a command that does not read it is none of ours.
        let _ = input.write_all(text.as_bytes());
    }
    let status = wait(&mut child)?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other(format!("it ended with {status}"))) }
}

/// Waits for a command, and kills it after [`LONGEST_EXCHANGE`].
fn wait(child: &mut Child) -> std::io::Result<std::process::ExitStatus> {
    let until = Instant::now() + LONGEST_EXCHANGE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            return Err(std::io::Error::other(format!(
                "it took longer than {} s",
                LONGEST_EXCHANGE.as_secs()
            )));
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
            let told = pass_on(&alert, &notice);
            let got = served.join().expect("no panic");
            assert!(got.starts_with("POST /hook HTTP/1.1\r\nHost: 127.0.0.1:"), "{got}");
            assert!(got.contains(r#""alert":"late","state":"firing""#), "{got}");
            assert_eq!(told.len(), failures, "{answer:?}: {told:?}");
        }
    }

    #[test]
    fn a_command_gets_the_notice_as_its_input() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("notice");
        let script = format!("cat > {}; test $LOCKGATE_STATE = firing", file.display());
        let (alert, notice) = alert(0, &["/bin/sh", "-c", &script]);
        assert_eq!(pass_on(&alert, &notice), Vec::<String>::new());
        assert!(std::fs::read_to_string(&file).expect("written").contains(r#""queue":"q""#));
        let (missing, notice) = self::alert(0, &["/no/such/program"]);
        assert!(pass_on(&missing, &notice)[0].starts_with("the command of alert `late` failed"));
        let (failing, notice) = self::alert(0, &["/bin/false"]);
        assert!(pass_on(&failing, &notice)[0].contains("exit status: 1"), "{:?}", pass_on(&failing, &notice));
    }
}
