//! ECN of TCP: with every congestion control and every use of ECN, packets carry the bits that the key says,
//! marks are possible only with them, and senders react.

use std::collections::BTreeSet;

use lockgate_measure::recording::{PacketRow, Recording, Window};

use crate::common::{one_link, simulate};

const NOT_CAPABLE: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const MARKED: u8 = 3;
/// Flags of the TCP header.
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
const SYN: u8 = 0x02;

/// A download of 4 s through a marking queue; `ecn` as in a scenario file.
fn download(control: &str, ecn: Option<&str>) -> Recording {
    let key = ecn.map(|ecn| format!("ecn = {ecn}\n")).unwrap_or_default();
    let flow = format!(
        "[flow.t]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\ncongestion = \"{control}\"\nbytes = \"unlimited\"\n{key}"
    );
    let queue = "root = \"q\"\nqueue.q = { kind = \"codel\", ecn = true }";
    let text = one_link("4s", "10mbit", queue, &flow)
        .replace("rate = \"10mbit\"", "rate = \"10mbit\", delay = \"10ms\"")
        .replace("title = \"test\"", "title = \"test\"\nrecord.packets = true");
    simulate(&text, 1)
}

/// Facts of a download.
#[derive(Debug, PartialEq, Eq)]
struct Facts {
    /// Congestion control that ran.
    control: String,
    /// ECN fields of full data segments and of bare acknowledgements, as they left their ports.
    data: BTreeSet<u8>,
    acknowledgements: BTreeSet<u8>,
    /// True if a packet was marked, an acknowledgement echoed it, and a segment said that the window was
    /// reduced.
    marked: bool,
    echoed: bool,
    reduced: bool,
}

fn facts(recording: &Recording) -> Facts {
    let rows: Vec<PacketRow> = recording.packets.as_ref().expect("rows").iter().collect();
    let sent = |port| rows.iter().filter(move |row: &&PacketRow| row.port == port && row.tcp.0 & SYN == 0);
    let data = || sent(0).filter(|row| row.length > 1000);
    let retransmissions =
        recording.flows[0].tcp.as_ref().and_then(|tcp| tcp.last()).map_or(0, |last| last.retransmissions);
    let mut fields: BTreeSet<u8> = data().map(PacketRow::ecn).collect();
    let incapable = data().filter(|row| row.ecn() == NOT_CAPABLE).count() as u64;
    if fields.len() > 1 && incapable <= retransmissions {
        // Classic ECN does not cover repetitions (RFC 3168 section 6.1.5).
        fields.remove(&NOT_CAPABLE);
    }
    Facts {
        control: recording.flows[0].setup.congestion.unwrap_or("?").to_owned(),
        data: fields,
        acknowledgements: sent(1).map(PacketRow::ecn).collect(),
        marked: data().any(PacketRow::is_marked),
        echoed: sent(1).any(|row| row.tcp.0 & ECE != 0),
        reduced: data().any(|row| row.tcp.0 & CWR != 0),
    }
}

/// Keys of a flow, and what follows: the control that runs, the field of data, that of acknowledgements.
const LAW: [(&str, Option<&str>, &str, u8, u8); 25] = [
    ("reno", None, "reno", NOT_CAPABLE, NOT_CAPABLE),
    ("reno", Some("\"off\""), "reno", NOT_CAPABLE, NOT_CAPABLE),
    ("reno", Some("\"classic\""), "reno", ECT_0, NOT_CAPABLE),
    ("reno", Some("\"accecn\""), "reno", ECT_0, NOT_CAPABLE),
    ("reno", Some("true"), "reno", ECT_0, NOT_CAPABLE),
    ("cubic", None, "cubic", NOT_CAPABLE, NOT_CAPABLE),
    ("cubic", Some("false"), "cubic", NOT_CAPABLE, NOT_CAPABLE),
    ("cubic", Some("\"classic\""), "cubic", ECT_0, NOT_CAPABLE),
    ("cubic", Some("\"accecn\""), "cubic", ECT_0, NOT_CAPABLE),
    ("cubic", Some("true"), "cubic", ECT_0, NOT_CAPABLE),
    ("bbr", None, "bbr", NOT_CAPABLE, NOT_CAPABLE),
    ("bbr", Some("\"off\""), "bbr", NOT_CAPABLE, NOT_CAPABLE),
    ("bbr", Some("\"classic\""), "bbr", ECT_0, NOT_CAPABLE),
    ("bbr", Some("\"accecn\""), "bbr", ECT_0, NOT_CAPABLE),
    ("bbr", Some("true"), "bbr", ECT_0, NOT_CAPABLE),
    ("dctcp", None, "dctcp", ECT_0, ECT_0),
    ("dctcp", Some("\"off\""), "reno", NOT_CAPABLE, NOT_CAPABLE),
    ("dctcp", Some("\"classic\""), "dctcp", ECT_0, ECT_0),
    ("dctcp", Some("\"accecn\""), "dctcp", ECT_0, ECT_0),
    ("dctcp", Some("true"), "dctcp", ECT_0, ECT_0),
    ("prague", None, "prague", ECT_1, ECT_1),
    ("prague", Some("\"off\""), "reno", NOT_CAPABLE, NOT_CAPABLE),
    ("prague", Some("\"classic\""), "reno", ECT_0, NOT_CAPABLE),
    ("prague", Some("\"accecn\""), "prague", ECT_1, ECT_1),
    ("prague", Some("true"), "prague", ECT_1, ECT_1),
];

#[test]
fn every_control_with_every_use_of_ecn_is_as_its_keys_say() {
    for (control, ecn, runs, data, acknowledgements) in LAW {
        let is_on = data != NOT_CAPABLE;
        let expected = Facts {
            control: runs.to_owned(),
            data: if is_on { BTreeSet::from([data, MARKED]) } else { BTreeSet::from([NOT_CAPABLE]) },
            acknowledgements: BTreeSet::from([acknowledgements]),
            marked: is_on,
            echoed: is_on,
            reduced: is_on,
        };
        let recording = download(control, ecn);
        assert_eq!(facts(&recording), expected, "{control}, ecn {ecn:?}");
        let lost = recording.flows[0].totals(Window::WholeRun).lost.packets;
        assert!(is_on || lost > 0, "{control}, ecn {ecn:?}: without marks the queue drops");
    }
}

/// A control that cannot work with a use of ECN is Reno with it, to the last packet.
#[test]
fn a_fallback_is_reno_to_the_last_packet() {
    for (control, ecn) in [("dctcp", "\"off\""), ("prague", "\"off\""), ("prague", "\"classic\"")] {
        let packets = |control| download(control, Some(ecn)).packets;
        assert!(packets(control) == packets("reno"), "{control}, ecn {ecn}");
    }
}

/// The counts of accurate ECN, three bits each, add up to the marks.
#[test]
fn accurate_ecn_counts_every_mark() {
    for control in ["reno", "cubic", "bbr", "dctcp", "prague"] {
        let recording = download(control, Some("\"accecn\""));
        let rows: Vec<PacketRow> = recording.packets.as_ref().expect("rows").iter().collect();
        let marks = rows.iter().filter(|row| row.port == 0 && row.is_marked()).count();
        let counts = rows.iter().filter(|row| row.port == 1 && row.tcp.0 & SYN == 0);
        let (mut last, mut counted) = (5u8, 0);
        for count in counts.filter_map(|row| row.segment?.ace) {
            counted += usize::from(count.wrapping_sub(last) & 0b111);
            last = count;
        }
        assert!(marks > 10 && counted <= marks && marks - counted < 100, "{control}: {counted} of {marks}");
    }
}
