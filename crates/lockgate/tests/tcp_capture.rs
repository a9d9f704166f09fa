//! Captures of simulated TCP: the bytes say what happened, to a parser of our own and to Wireshark.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use lockgate::Recording;

use lockgate_testing::skipped;

/// A download through a queue that marks, with the ECN `ecn`.
fn download(ecn: &str) -> (Recording, u64) {
    let text = format!(
        r#"
title = "a marked download"
duration = "6s"
record.capture = true
node.server = {{}}
node.home = {{}}
link.line = {{ between = ["server", "home"], rate = "20mbit", delay = "10ms" }}
[port."server:home"]
root = "q"
queue.q = {{ kind = "codel", ecn = true }}
[flow.download]
from = "server"
to = "home"
transport = "tcp"
bytes = "unlimited"
ecn = "{ecn}"
dscp = "AF11"
"#
    );
    let scenario = lockgate::read_text(&text, "test.toml", &lockgate::no_files(), &[]).expect("a scenario");
    let runs = lockgate::run(&scenario, &lockgate::Options::default()).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    let marks = summary.ports["server:home"].queues["q"].marked_packets;
    (runs.recordings.into_iter().next().expect("one run"), marks)
}

/// A frame of a capture.
struct Frame {
    port: u32,
    bytes: Vec<u8>,
    length: u32,
    comment: String,
}

impl Frame {
    fn word(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    fn traffic_class(&self) -> u8 {
        self.bytes[15]
    }

    /// Flags of the TCP header, AE among them.
    fn flags(&self) -> u16 {
        u16::from_be_bytes([self.bytes[46], self.bytes[47]]) & 0x1ff
    }

    fn sequence(&self) -> u32 {
        self.word(38)
    }

    fn acknowledgement(&self) -> u32 {
        self.word(42)
    }

    fn window(&self) -> u32 {
        u32::from(u16::from_be_bytes([self.bytes[48], self.bytes[49]]))
    }

    fn header(&self) -> usize {
        usize::from(self.bytes[46] >> 4) * 4
    }

    /// Bytes of data.
    fn data(&self) -> u32 {
        self.length - 34 - self.header() as u32
    }

    fn options(&self) -> BTreeMap<u8, Vec<u8>> {
        let mut rest = &self.bytes[54..34 + self.header()];
        let mut found = BTreeMap::new();
        while let [kind, tail @ ..] = rest {
            if *kind == 1 {
                rest = tail;
                continue;
            }
            let length = usize::from(tail[0]);
            found.insert(*kind, rest[2..length].to_vec());
            rest = &rest[length..];
        }
        found
    }
}

/// Reads the frames of a pcapng file in this machine's order of bytes.
fn frames(file: &[u8]) -> Vec<Frame> {
    let word = |at: usize| u32::from_ne_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut frames) = (0, Vec::new());
    while at < file.len() {
        let length = word(at + 4) as usize;
        if word(at) == 6 {
            let kept = word(at + 20) as usize;
            let option = at + 28 + kept.div_ceil(4) * 4;
            assert_eq!(word(option) & 0xffff, 1, "a comment");
            let comment = &file[option + 4..option + 4 + (word(option) >> 16) as usize];
            frames.push(Frame {
                port: word(at + 8),
                bytes: file[at + 28..at + 28 + kept].to_vec(),
                length: word(at + 24),
                comment: String::from_utf8_lossy(comment).into_owned(),
            });
        }
        at += length;
    }
    frames
}

fn capture(recording: &Recording) -> Vec<u8> {
    lockgate_export::pcapng::packets(recording, Vec::new()).expect("a capture")
}

#[test]
fn a_capture_has_the_marks_of_the_queue_and_the_numbers_of_the_connection() {
    for ecn in ["off", "classic", "accecn"] {
        let (recording, marks) = download(ecn);
        assert_eq!(marks > 0, ecn != "off", "{ecn}: {marks} marks");
        let frames = frames(&capture(&recording));
        let [data, answers] =
            [0, 1].map(|port| frames.iter().filter(|frame| frame.port == port).collect::<Vec<_>>());
        let marked = |frame: &&&Frame| frame.traffic_class() & 3 == 3;
        assert_eq!(data.iter().filter(marked).count() as u64, marks, "{ecn}: frames with CE");
        assert_eq!(answers.iter().filter(marked).count(), 0);
        let told = data.iter().filter(|frame| frame.comment.starts_with("marked, ")).count() as u64;
        assert_eq!(told, marks, "{ecn}: comments");
        assert!(data.iter().all(|frame| frame.traffic_class() >> 2 == 10), "AF11");

        let (syn, answer) = (data[0], answers[0]);
        let first = if ecn == "accecn" {
            (0x1c2, 0x092)
        } else if ecn == "classic" {
            (0x0c2, 0x052)
        } else {
            (0x002, 0x012)
        };
        assert_eq!((syn.flags(), answer.flags()), first, "{ecn}: the handshake");
        assert_eq!(syn.options()[&2], 1448u16.to_be_bytes(), "MSS");
        assert!([3, 4, 8].iter().all(|kind| syn.options().contains_key(kind)), "scale, SACK, time stamps");

        // Every acknowledgement is of data that were sent, and none goes back.
        let mut next = syn.sequence();
        let (mut sent, mut last) = (0, 0);
        for frame in &frames {
            if frame.port == 0 {
                sent = sent.max(frame.sequence().wrapping_sub(syn.sequence()) + frame.data());
                assert_eq!(
                    frame.acknowledgement().wrapping_sub(answer.sequence()) <= 1,
                    frame.flags() & 2 == 0
                );
            } else {
                let number = frame.acknowledgement().wrapping_sub(syn.sequence());
                assert!(last <= number && number <= sent + 1, "{ecn}: {last} <= {number} <= {sent}");
                (last, next) = (number, frame.acknowledgement());
                assert!(frame.flags() & 2 != 0 || frame.window() << answer.options()[&3][0] > 30_000);
            }
        }
        assert!(last > 5_000_000, "{ecn}: {next} acknowledged");
        let echoes = answers.iter().filter(|frame| frame.flags() & 0x40 != 0).count();
        assert_eq!(echoes > 1, ecn != "off", "{ecn}: {echoes} echoes");
    }
}

/// Wireshark's own analysis: repetitions are those of the sender, no acknowledgement is odd, and the count of
/// marks is that of the queue.
#[test]
fn wireshark_finds_nothing_amiss() {
    let has_it = Command::new("tshark").arg("--version").output().is_ok_and(|done| done.status.success());
    if !has_it {
        return skipped("no tshark");
    }
    let folder = tempfile::tempdir().expect("a directory");
    let [all, file] = ["ports.pcapng", "left.pcapng"].map(|name| folder.path().join(name));
    for ecn in ["off", "classic", "accecn"] {
        let (recording, marks) = download(ecn);
        std::fs::write(&all, capture(&recording)).expect("written");
        // As docs/concepts/results.md advises.
        let left =
            r#"frame.interface_name in {"server:home", "home:server"} && frame.comment contains "queueing""#;
        let done = Command::new("tshark").arg("-r").arg(&all).args(["-Y", left, "-w"]).arg(&file).output();
        assert!(done.is_ok_and(|done| done.status.success()), "{left}");
        let last = recording.flows[0].tcp.as_ref().and_then(|tcp| tcp.last()).expect("samples");
        let repeated = count(&file, "tcp.analysis.retransmission || tcp.analysis.out_of_order");
        assert_eq!(repeated as u64, last.retransmissions, "{ecn}: repetitions");
        assert_eq!(count(&file, "ip.dsfield.ecn == 3") as u64, marks, "{ecn}: marks");
        for odd in ["ack_lost_segment", "window_full", "zero_window", "spurious_retransmission"] {
            assert_eq!(count(&file, &format!("tcp.analysis.{odd}")), 0, "{ecn}: {odd}");
        }
        assert_eq!(
            count(&file, "tcp.analysis.lost_segment") > 0,
            ecn == "off",
            "{ecn}: gaps where packets were lost"
        );
        assert_eq!(count(&file, "_ws.malformed"), 0, "{ecn}");
    }
}

/// Number of frames that Wireshark's filter passes.
fn count(file: &Path, filter: &str) -> usize {
    let done = Command::new("tshark").arg("-r").arg(file).args(["-Y", filter]).output().expect("tshark");
    assert!(done.status.success(), "{filter}: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
}
