//! TCP's rules as scripts that a person can read: what arrives, and which segments are sent when.
//!
//! ```text
//! # comment, the first says what is shown
//! set mss 1000, congestion reno, rtt 40ms     before anything else; defaults below
//! 0.000 write 3000                            the application writes
//! 0.000 > 1:3001/1000                         sent: three segments of 1000 bytes from number 1 on
//! 0.040 < ack 2001 sack 3001-4001             arrives: an acknowledgement with a block
//! 0.040 ? cwnd 12 phase open                  the sender is like this
//! 0.300 silence                               nothing else is sent before
//! ```
//!
//! The connection is open at time 0 (`set open no`: the first SYN goes out then). `set side receiver`: data
//! arrive (`< 1:1001`). Sequence numbers count from the SYN, which is 0. Words of a segment: `SYN FIN ECE CWR
//! PSH`, `not-PSH` (sent), `ack N`, `win N`, `sack A-B ...`, `ECT` and `CE` (its packet), `echo T`
//! (timestamp), `marked N` (count of marks).
#![allow(clippy::print_stdout, reason = "a failing script is shown")]

use std::fmt::Write as _;
use std::path::Path;

use lockgate_engine::units::{Duration, Instant};
use lockgate_scenario::tcp::Congestion;
use lockgate_tcp::application::Application;
use lockgate_tcp::congestion::{Phase, create};
use lockgate_tcp::endpoint::{Departure, Endpoint, Role};
use lockgate_tcp::segment::{Segment, flag};
use lockgate_tcp::{ReceiverConfig, SenderConfig, TimerWheel};

/// When the connection is open.
const ORIGIN: Duration = Duration::from_secs(100);

struct Settings {
    sender: SenderConfig,
    receiver: ReceiverConfig,
    congestion: Congestion,
    rtt: Duration,
    open: bool,
    receives: bool,
    window: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sender: SenderConfig {
                mss: 1000,
                initial_window: 10,
                minimum_rto: Duration::from_millis(200),
                sack: true,
                ecn: false,
                pacing: false,
                wheel: TimerWheel::EXACT,
            },
            receiver: ReceiverConfig {
                window: 1 << 20,
                delayed_ack: Duration::from_millis(40),
                quick_acks: 0,
                sack: true,
                ecn: false,
                exact_echo: false,
                wheel: TimerWheel::EXACT,
            },
            congestion: Congestion::Reno,
            rtt: Duration::from_millis(40),
            open: true,
            receives: false,
            window: 1_000_000,
        }
    }
}

impl Settings {
    fn set(&mut self, key: &str, value: &str) {
        let number = || value.parse::<u32>().unwrap_or_else(|_| panic!("`{value}` is not a number"));
        let time = || value.parse::<Duration>().unwrap_or_else(|_| panic!("`{value}` is not a time"));
        let yes = value == "yes";
        match key {
            "mss" => self.sender.mss = number(),
            "iw" => self.sender.initial_window = number(),
            "rtt" => self.rtt = time(),
            "congestion" => self.congestion = value.parse().expect("a congestion control"),
            "sack" => (self.sender.sack, self.receiver.sack) = (yes, yes),
            "ecn" => (self.sender.ecn, self.receiver.ecn) = (yes, yes),
            "exact_echo" => self.receiver.exact_echo = yes,
            "pacing" => self.sender.pacing = yes,
            "minimum_rto" => self.sender.minimum_rto = time(),
            "tick" => {
                let wheel = TimerWheel::new(time(), Duration::ZERO);
                (self.sender.wheel, self.receiver.wheel) = (wheel, wheel);
            }
            "delayed_ack" => self.receiver.delayed_ack = time(),
            "quick_acks" => self.receiver.quick_acks = number(),
            "window" => self.window = number(),
            "open" => self.open = yes,
            "side" => self.receives = value == "receiver",
            _ => panic!("there is no setting `{key}`"),
        }
    }
}

/// One end, what it has sent, and the time.
struct Stage {
    end: Endpoint,
    sent: Vec<(Instant, Departure)>,
    now: Instant,
}

impl Stage {
    fn new(settings: &Settings) -> Self {
        let origin = Instant::ZERO + ORIGIN;
        let start = if settings.open { origin - settings.rtt } else { origin };
        let role = if settings.receives { Role::Passive } else { Role::Active(start) };
        let end = Endpoint::new(
            role,
            (settings.sender, settings.receiver),
            create(settings.congestion),
            settings.sender.mss + 66,
            Application::Script,
        );
        let mut stage = Self { end, sent: Vec::new(), now: Instant::ZERO };
        if !settings.open {
            return stage;
        }
        stage.play_until(start + Duration::from_picos(1));
        if settings.receives {
            let syn = Segment { flags: flag::SYN, window: 65_535, ..Segment::default() };
            stage.arrive(&syn, false, start);
        }
        let answer = Segment {
            flags: flag::ACK | if settings.receives { 0 } else { flag::SYN },
            sequence: u64::from(settings.receives),
            acknowledgment: 1,
            window: settings.window,
            ..Segment::default()
        };
        stage.arrive(&answer, false, origin);
        stage.sent.clear();
        stage
    }

    fn collect(&mut self) {
        while let Some(departure) = self.end.poll(self.now) {
            self.sent.push((self.now, departure));
        }
    }

    /// Lets timers expire that are due before `until`.
    fn play_until(&mut self, until: Instant) {
        for _ in 0..100_000 {
            let next = self.end.next(self.now);
            if next >= until {
                return;
            }
            self.now = self.now.max(next);
            self.end.on_timer(self.now);
            self.collect();
        }
        panic!("its timers do not come to rest");
    }

    fn arrive(&mut self, segment: &Segment, marked: bool, at: Instant) {
        self.now = at;
        self.end.on_segment(segment, marked, at);
        self.collect();
    }
}

/// Words of a line, such as `ack 1 sack 5-7`.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    fn after(&self, word: &str) -> Option<&'a str> {
        let index = self.0.iter().position(|known| *known == word)?;
        self.0.get(index + 1).copied()
    }

    fn number(&self, word: &str) -> Option<u64> {
        self.after(word).map(|number| number.parse().unwrap_or_else(|_| panic!("`{number}` is not a number")))
    }

    /// `A:B` or `A:B/size`.
    fn range(&self) -> Option<(u64, u64, u64)> {
        let word = self.0.iter().find(|word| word.contains(':'))?;
        let (from, rest) = word.split_once(':')?;
        let (to, size) = rest.split_once('/').unwrap_or((rest, "0"));
        let read = |text: &str| text.parse().unwrap_or_else(|_| panic!("`{text}` is not a number"));
        Some((read(from), read(to), read(size)))
    }

    fn blocks(&self) -> Vec<(u64, u64)> {
        let Some(index) = self.0.iter().position(|word| *word == "sack") else { return Vec::new() };
        let blocks = self.0[index + 1..].iter().map_while(|word| word.split_once('-'));
        blocks.map(|(from, to)| (from.parse().expect("a number"), to.parse().expect("a number"))).collect()
    }

    fn flags(&self) -> u8 {
        let flags = [("SYN", flag::SYN), ("FIN", flag::FIN), ("ECE", flag::ECE), ("CWR", flag::CWR)];
        flags.iter().filter(|(word, _)| self.has(word)).fold(0, |mask, (_, flag)| mask | flag)
    }

    fn push(&self) -> u8 {
        if self.has("PSH") { flag::PSH } else { 0 }
    }

    fn segment(&self, last: &Segment) -> Segment {
        let (from, to, _) = self.range().unwrap_or((last.sequence.max(1), last.sequence.max(1), 0));
        let mut segment = Segment {
            flags: flag::ACK | self.flags() | self.push(),
            sequence: if self.has("SYN") { 0 } else { from },
            length: (to - from) as u32,
            acknowledgment: self.number("ack").unwrap_or(last.acknowledgment),
            window: self.number("win").map_or(last.window, |window| window as u32),
            marked: self.number("marked").map_or(last.marked, |marked| marked as u32),
            echo: self.after("echo").map_or(Instant::ZERO, clock),
            ..Segment::default()
        };
        for (index, block) in segment.sack.iter_mut().zip(self.blocks()) {
            *index = block;
            segment.sack_count += 1;
        }
        segment
    }
}

fn clock(text: &str) -> Instant {
    let seconds: f64 = text.parse().unwrap_or_else(|_| panic!("`{text}` is not a time"));
    Instant::ZERO + Duration::from_secs_f64(ORIGIN.as_secs_f64() + seconds)
}

fn show(at: Instant, departure: &Departure) -> String {
    let segment = &departure.segment;
    let mut line = format!("{:.6} >", at.as_secs_f64() - ORIGIN.as_secs_f64());
    let words =
        [("SYN", flag::SYN), ("FIN", flag::FIN), ("ECE", flag::ECE), ("CWR", flag::CWR), ("PSH", flag::PSH)];
    for (word, flag) in words {
        if segment.has(flag) {
            let _ = write!(line, " {word}");
        }
    }
    if segment.length > 0 {
        let _ = write!(line, " {}:{}", segment.sequence, segment.sequence + u64::from(segment.length));
    }
    if segment.has(flag::ACK) {
        let _ = write!(line, " ack {}", segment.acknowledgment);
    }
    if segment.sack_count > 0 {
        line += " sack";
        for (from, to) in segment.blocks() {
            let _ = write!(line, " {from}-{to}");
        }
    }
    if departure.ecn != 0 {
        let _ = write!(line, " ECT");
    }
    line
}

/// Expectation of one segment.
struct Wanted {
    at: Instant,
    from: Option<(u64, u64)>,
    flags: u8,
    pushed: Option<bool>,
    acknowledgment: Option<u64>,
    blocks: Option<Vec<(u64, u64)>>,
    capable: Option<bool>,
}

fn wanted(at: Instant, words: &Words<'_>) -> Vec<Wanted> {
    let one = |from| Wanted {
        at,
        from,
        flags: words.flags(),
        pushed: (words.has("PSH") || words.has("not-PSH")).then(|| words.has("PSH")),
        acknowledgment: words.number("ack"),
        blocks: (words.has("sack") || words.has("ack")).then(|| words.blocks()),
        capable: (words.has("ECT") || words.has("not-ECT")).then(|| words.has("ECT")),
    };
    let Some((from, to, size)) = words.range() else { return vec![one(None)] };
    if size == 0 {
        return vec![one(Some((from, to)))];
    }
    let starts = (from..to).step_by(size as usize);
    starts.map(|start| one(Some((start, (start + size).min(to))))).collect()
}

impl Wanted {
    fn is(&self, at: Instant, departure: &Departure) -> bool {
        let segment = &departure.segment;
        let marks = flag::SYN | flag::FIN | flag::ECE | flag::CWR;
        let near = at.since(self.at).max(self.at.since(at)) <= Duration::from_micros(2);
        let data = self.from.map_or(segment.length == 0, |(from, to)| {
            (segment.sequence, segment.sequence + u64::from(segment.length)) == (from, to)
        });
        near && data
            && segment.flags & marks == self.flags
            && self.pushed.is_none_or(|pushed| pushed == segment.has(flag::PSH))
            && self.acknowledgment.is_none_or(|number| number == segment.acknowledgment)
            && self.blocks.as_ref().is_none_or(|blocks| blocks == segment.blocks())
            && self.capable.is_none_or(|capable| capable == (departure.ecn != 0))
    }
}

fn check_state(stage: &Stage, words: &Words<'_>) -> Result<(), String> {
    let (cwnd, ssthresh) = stage.end.window();
    let (rtt, rto) = stage.end.rtt();
    let counts = stage.end.counts();
    let phase = match stage.end.phase() {
        Phase::Open => "open",
        Phase::Disorder => "disorder",
        Phase::Reduction => "reduction",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    };
    let millis = |time: Option<Duration>| time.map_or(0, |time| time.as_picos() / 1_000_000_000);
    let known = [
        ("cwnd", u64::from(cwnd)),
        ("ssthresh", u64::from(ssthresh)),
        ("in_flight", u64::from(stage.end.in_flight())),
        ("rtt_ms", millis(rtt)),
        ("rto_ms", millis(Some(rto))),
        ("timeouts", counts.timeouts),
        ("undone", counts.undone),
        ("retransmissions", counts.retransmissions),
    ];
    for (name, value) in known {
        if let Some(wanted) = words.number(name)
            && wanted != value
        {
            return Err(format!("{name} is {value}, not {wanted}"));
        }
    }
    match words.after("phase") {
        Some(wanted) if wanted != phase => Err(format!("phase is {phase}, not {wanted}")),
        _ => Ok(()),
    }
}

fn play(text: &str) -> Result<(), String> {
    let mut settings = Settings::default();
    let mut stage: Option<Stage> = None;
    let mut last = Segment { acknowledgment: 1, ..Segment::default() };
    let mut expected = Vec::new();
    let mut end = Instant::ZERO;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(list) = line.strip_prefix("set ") {
            for pair in list.split(',') {
                let (key, value) = pair.trim().split_once(' ').expect("a key and a value");
                settings.set(key, value.trim());
            }
            continue;
        }
        let stage = stage.get_or_insert_with(|| Stage::new(&settings));
        if last.window == 0 && last.sequence == 0 {
            last.window = settings.window;
        }
        let words = Words(line.split_whitespace().collect());
        let at = clock(words.0[0]);
        end = end.max(at);
        match words.0[1] {
            ">" => expected.extend(wanted(at, &words)),
            action => {
                stage.play_until(at);
                stage.now = at;
                match action {
                    "<" => {
                        last = words.segment(&last);
                        let segment = Segment { sent: at, ..last };
                        stage.arrive(&segment, words.has("CE"), at);
                        last.sequence = segment.end();
                    }
                    "write" => stage.end.write(words.number("write").expect("an amount")),
                    "close" => stage.end.close(),
                    "?" => check_state(stage, &words).map_err(|why| format!("line {}: {why}", number + 1))?,
                    "silence" => {}
                    other => panic!("line {}: `{other}` is not an action", number + 1),
                }
                stage.collect();
            }
        }
    }
    let mut stage = stage.expect("a script with lines");
    stage.play_until(end + Duration::from_micros(1));
    let sent: Vec<_> = stage.sent.iter().filter(|(at, _)| *at <= end + Duration::from_micros(1)).collect();
    compare(&sent, &expected)
}

/// Compares the segments that were sent with those of the script.
fn compare(sent: &[&(Instant, Departure)], expected: &[Wanted]) -> Result<(), String> {
    for (index, wanted) in expected.iter().enumerate() {
        let Some((at, departure)) = sent.get(index) else {
            return Err(format!(
                "segment {} at {:.6} is not sent",
                index + 1,
                wanted.at.as_secs_f64() - 100.0
            ));
        };
        if !wanted.is(*at, departure) {
            return Err(format!("segment {} is `{}`", index + 1, show(*at, departure)));
        }
    }
    match sent.get(expected.len()) {
        Some((at, departure)) => Err(format!("`{}` is not expected", show(*at, departure))),
        None => Ok(()),
    }
}

fn transcript(text: &str) -> String {
    // Runs once more without expectations, so that the failure message shows what was sent.
    let plain: Vec<&str> =
        text.lines().filter(|line| !line.contains(" > ") && !line.contains(" ? ")).collect();
    let mut settings = Settings::default();
    let mut out = String::new();
    let mut stage: Option<Stage> = None;
    let mut last = Segment { acknowledgment: 1, ..Segment::default() };
    let mut told = 0;
    for line in plain.iter().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(list) = line.strip_prefix("set ") {
            for (key, value) in list.split(',').filter_map(|pair| pair.trim().split_once(' ')) {
                settings.set(key, value.trim());
            }
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let stage = stage.get_or_insert_with(|| Stage::new(&settings));
        if last.window == 0 && last.sequence == 0 {
            last.window = settings.window;
        }
        let words = Words(line.split_whitespace().collect());
        let at = clock(words.0[0]);
        stage.play_until(at);
        for (at, departure) in &stage.sent[told..] {
            let _ = writeln!(out, "  {}", show(*at, departure));
        }
        told = stage.sent.len();
        let _ = writeln!(out, "{line}");
        stage.now = at;
        match words.0[1] {
            "<" => {
                last = words.segment(&last);
                let segment = Segment { sent: at, ..last };
                stage.arrive(&segment, words.has("CE"), at);
                last.sequence = segment.end();
            }
            "write" => stage.end.write(words.number("write").unwrap_or(0)),
            "close" => stage.end.close(),
            _ => {}
        }
        stage.collect();
        for (at, departure) in &stage.sent[told..] {
            let _ = writeln!(out, "  {}", show(*at, departure));
        }
        told = stage.sent.len();
        let (cwnd, ssthresh) = stage.end.window();
        let (_, rto) = stage.end.rtt();
        let _ = writeln!(
            out,
            "      cwnd {cwnd} ssthresh {ssthresh} in_flight {} phase {:?} rto_ms {} undone {}",
            stage.end.in_flight(),
            stage.end.phase(),
            rto.as_picos() / 1_000_000_000,
            stage.end.counts().undone
        );
    }
    out
}

#[test]
fn every_script_plays_as_written() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).expect("scripts").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let mut failures = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a script");
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Err(why) = play(&text) {
            println!("{name}: {why}\n{}", transcript(&text));
            failures.push(name);
        }
    }
    assert!(files.len() >= 40, "{} scripts", files.len());
    assert!(failures.is_empty(), "{} of {}: {failures:?}", failures.len(), files.len());
}

#[test]
fn a_script_that_is_wrong_fails() {
    assert!(play("0.000 write 1000\n0.000 > 1:1001\n").is_ok());
    for wrong in [
        "0.000 write 1000\n0.000 > 1:1000\n",
        "0.000 write 1000\n0.001 > 1:1001\n",
        "0.000 write 2000\n0.000 > 1:1001\n",
        "0.000 write 1000\n0.000 > 1:2001/1000\n",
        "0.000 write 1000\n0.000 > 1:1001\n0.000 ? cwnd 11\n",
        "0.000 write 1000\n0.000 > 1:1001\n0.500 silence\n",
    ] {
        assert!(play(wrong).is_err(), "{wrong}");
    }
}
