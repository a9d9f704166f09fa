//! Stream of looks: lines of JSON on stdout, which another `lockgate top` shows.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use lockgate::io_error::words;
use lockgate_measure::monitor::Sample;
use lockgate_session::{Knob, LinkStatus, PortStatus, Status};
use serde::{Deserialize, Serialize};

use super::error::KernelError;

/// Version of the stream.
pub(super) const SCHEMA: u32 = 1;

/// Lines that wait between the reader and the view.
const WAITING: usize = 64;

/// Longest line, in bytes: a sample of ten thousand queues has about five million.
const LONGEST_LINE_BYTES: u64 = 64 << 20;

/// Head of a stream, repeated when devices or queues change, and each second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Version of the stream.
    pub schema: u32,
    /// Machine whose queues these are.
    pub host: String,
    /// Title of the view.
    pub title: String,
    /// Interval between samples, in seconds.
    pub every_s: f64,
    /// Devices, each with the names of its queues.
    pub devices: Vec<(String, Vec<String>)>,
}

impl Head {
    /// Returns the status of the view, with the knobs of each queue.
    pub(super) fn status(&self, knobs: &dyn Fn(&str, &str) -> Vec<Knob>, has_ended: bool) -> Status {
        const NETWORK: &str = "network";
        let port = |(device, queues): &(String, Vec<String>)| PortStatus {
            name: device.clone(),
            from: device.clone(),
            to: NETWORK.to_owned(),
            link: device.clone(),
            root: None,
            queues: queues.iter().map(|queue| (queue.clone(), knobs(device, queue))).collect(),
            ..PortStatus::default()
        };
        let link = |(device, _): &(String, Vec<String>)| LinkStatus {
            name: device.clone(),
            from: device.clone(),
            to: NETWORK.to_owned(),
            ..LinkStatus::default()
        };
        let names = self.devices.iter().map(|(device, _)| device.clone());
        Status {
            title: self.title.clone(),
            mode: "kernel",
            pace: 1.0,
            every_s: self.every_s,
            ended: has_ended,
            nodes: names.chain([NETWORK.to_owned()]).collect(),
            ports: self.devices.iter().map(port).collect(),
            links: self.devices.iter().map(link).collect(),
            ..Status::default()
        }
    }
}

/// A line of a stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// Devices and queues from now on.
    Head(Head),
    /// Counters of an interval.
    Sample(Box<Sample>),
}

/// Source of a stream: a file, standard input, or a program on another machine.
pub struct Source {
    lines: Receiver<Result<Line, KernelError>>,
    remote: Option<Child>,
    /// True for a file, whose samples are shown at their pace.
    pub is_recorded: bool,
}

/// Next part of a stream.
pub(super) enum Next {
    Line(Line),
    /// Nothing came within the time.
    Silence,
    End,
}

impl Source {
    /// Opens `-`, `ssh://HOST`, or a file. `every` and `device` are passed on to the other machine.
    ///
    /// # Errors
    /// If the address names no host, or the file cannot be read.
    pub fn open(from: &str, device: Option<&str>, every: Option<&str>) -> Result<Self, KernelError> {
        if let Some(host) = from.strip_prefix("ssh://") {
            return Self::remote(host, device, every);
        }
        if device.is_some() || every.is_some() {
            return Err(KernelError::usage(
                "the stream has the interfaces and the interval that it was written with",
                "leave them out, or give them to `lockgate top --stream`",
            ));
        }
        if from == "-" {
            return Ok(Self::by(std::io::stdin(), None, false));
        }
        let file = File::open(from).map_err(|error| {
            KernelError::usage(
                format!("cannot read `{from}`: {}", words(&error)),
                "give a file of `lockgate top --stream` or `--record FILE.ndjson`, `-`, or `ssh://HOST`",
            )
        })?;
        Ok(Self::by(file, None, true))
    }

    fn remote(address: &str, device: Option<&str>, every: Option<&str>) -> Result<Self, KernelError> {
        let (host, port) =
            address.rsplit_once(':').map_or((address, None), |(host, port)| (host, Some(port)));
        let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
        // A host that begins with a dash would be an option of ssh.
        if host.is_empty() || host.starts_with('-') || !is_port {
            return Err(KernelError::usage(
                format!("`ssh://{address}` names no host"),
                "write `ssh://user@host`",
            ));
        }
        let mut command = Command::new("ssh");
        command.args(port.map(|port| ["-p", port]).into_iter().flatten());
        command.args(["--", host, "lockgate", "top", "--stream"]);
        command.args(every.map(|every| ["--every", every]).into_iter().flatten());
        command.args(device.map(quoted));
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| KernelError::Missing {
            message: format!("cannot run `ssh`: {error}"),
            help: "pipe instead: `... lockgate top --stream | lockgate top --from -`".to_owned(),
        })?;
        let Some(output) = child.stdout.take() else {
            return Err(KernelError::usage("`ssh` has no output", "try again"));
        };
        Ok(Self::by(output, Some(child), false))
    }

    /// Reads in a thread of its own, which ends with the input or the process: a read cannot be interrupted.
    fn by(input: impl Read + Send + 'static, remote: Option<Child>, is_recorded: bool) -> Self {
        let (sender, lines) = sync_channel(WAITING);
        let _ = std::thread::Builder::new().name("stream".to_owned()).spawn(move || read(input, &sender));
        Self { lines, remote, is_recorded }
    }

    /// Returns the next line, or that none came within `longest`.
    pub(super) fn next(&mut self, longest: Duration) -> Result<Next, KernelError> {
        match self.lines.recv_timeout(longest) {
            Ok(line) => line.map(Next::Line),
            Err(RecvTimeoutError::Timeout) => Ok(Next::Silence),
            Err(RecvTimeoutError::Disconnected) => self.ended().map(|()| Next::End),
        }
    }

    /// Fails if the program on the other machine failed.
    fn ended(&mut self) -> Result<(), KernelError> {
        let Some(mut child) = self.remote.take() else { return Ok(()) };
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(KernelError::run(
                format!("the other machine's `lockgate top --stream` ended with {status}"),
                "run it there by `ssh HOST lockgate top --stream`",
            )),
            Err(error) => Err(KernelError::run(error.to_string(), "run `ssh HOST lockgate top --stream`")),
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Some(mut child) = self.remote.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Quotes a word for the other machine's shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn read(input: impl Read, sender: &SyncSender<Result<Line, KernelError>>) {
    let mut input = BufReader::new(input);
    let mut number = 0;
    loop {
        let mut line = Vec::new();
        number += 1;
        match (&mut input).take(LONGEST_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => {}
            Err(error) => {
                let _ = sender.send(Err(KernelError::run(
                    format!("the stream cannot be read on: {}", words(&error)),
                    "give a file of `lockgate top --stream` or `--record FILE.ndjson`, `-`, or `ssh://HOST`",
                )));
                return;
            }
        }
        let parsed = parse(&line, number);
        let is_last = parsed.is_err();
        if sender.send(parsed).is_err() || is_last {
            return;
        }
    }
}

fn parse(line: &[u8], number: usize) -> Result<Line, KernelError> {
    let wrong = |why: String| {
        KernelError::usage(
            format!("line {number} is not one of `lockgate top --stream`: {why}"),
            "the stream is what `lockgate top --stream` prints, unchanged",
        )
    };
    // What a killed writer left of its last line is not a fault of the stream.
    let line: Line = serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
    match &line {
        Line::Head(head) if head.schema != SCHEMA => {
            Err(wrong(format!("version {} is not known; this is version {SCHEMA}", head.schema)))
        }
        Line::Sample(_) if number == 1 => Err(wrong("it begins without its head".to_owned())),
        _ => Ok(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_written_or_refused_with_their_number() {
        let head = Head { schema: SCHEMA, host: "one".to_owned(), every_s: 0.1, ..Head::default() };
        let lines: String = [Line::Head(head.clone()), Line::Sample(Box::default())]
            .iter()
            .map(|line| serde_json::to_string(line).expect("JSON") + "\n")
            .collect();
        let read_all = |text: &str| {
            let (sender, lines) = sync_channel(16);
            read(text.as_bytes(), &sender);
            drop(sender);
            lines.into_iter().collect::<Vec<_>>()
        };
        let all = read_all(&format!("{lines}\n"));
        assert!(matches!(&all[..], [Ok(Line::Head(read)), Ok(Line::Sample(_))] if *read == head));
        for (text, why) in [
            ("no stream", "line 1 is not one of"),
            (lines.lines().nth(1).unwrap_or_default(), "without its head"),
            (&lines.replace("\"schema\":1", "\"schema\":9"), "version 9 is not known"),
            (&format!("{lines}{{\"sample\":{{"), "line 3"),
        ] {
            let last = read_all(text).pop().expect("a line");
            let Err(KernelError::Usage { message, .. }) = last else { panic!("{text}") };
            assert!(message.contains(why), "{message}");
        }
    }

    #[test]
    fn a_host_is_no_option() {
        for host in ["ssh://", "ssh://-oProxyCommand=x", "ssh://host:port"] {
            assert!(Source::open(host, None, None).is_err(), "{host}");
        }
        assert_eq!(quoted("a'b"), r"'a'\''b'");
    }
}
