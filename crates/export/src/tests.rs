use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use bytes::Bytes;
use lockgate_measure::{example, recording};
use pcap_parser::PcapNGSlice;
use pcap_parser::pcapng::{Block, OptionCode};
use pcap_parser::traits::PcapNGPacketBlock;

use super::parquet::Column;
use super::*;

#[test]
fn parquet_reads_back_as_it_was_written() {
    let file = parquet::packets(&example::run(1, 950), Vec::new()).expect("a file");
    let reader = SerializedFileReader::new(Bytes::from(file)).expect("a Parquet file");
    let notes = reader.metadata().file_metadata().key_value_metadata().expect("notes");
    assert!(notes.iter().any(|note| note.key == "lockgate.seed" && note.value.as_deref() == Some("1")));
    let rows: Vec<Vec<Field>> = reader
        .get_row_iter(None)
        .expect("rows")
        .map(|row| row.expect("a row").into_columns().into_iter().map(|(_, field)| field).collect())
        .collect();
    assert_eq!(rows.len(), 6);
    let text = |text: &str| Field::Str(text.into());
    let long = Field::Long;
    let ps = |millis: i64| long(millis * 1_000_000_000);
    assert!(rows.contains(&vec![
        text("voice"),
        long(3),
        text("home:server"),
        text("voice"),
        long(100),
        ps(200),
        ps(400),
        Field::Null,
        long(0),
        Field::Null,
        Field::Null,
        Field::Null,
    ]));
    assert!(rows.contains(&vec![
        text("voice"),
        long(4),
        text("home:server"),
        text("voice"),
        long(100),
        ps(200),
        Field::Null,
        text("limit"),
        long(0),
        Field::Null,
        Field::Null,
        Field::Null,
    ]));
}

#[test]
fn any_table_reads_back_and_an_uneven_one_is_refused() {
    let columns = [
        ("discipline".to_owned(), Column::Text(vec![Some("fifo".into()), None])),
        ("seed".to_owned(), Column::Integer(vec![Some(u64::MAX), Some(2)])),
        ("flow.voice.owd.p99".to_owned(), Column::Real(vec![Some(0.25), Some(f64::NAN)])),
    ];
    let file = parquet::table(&columns, &[], Vec::new()).expect("a file");
    let reader = SerializedFileReader::new(Bytes::from(file)).expect("a Parquet file");
    let rows: Vec<String> =
        reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").to_string()).collect();
    assert_eq!(
        rows,
        [
            "{discipline: \"fifo\", seed: 9223372036854775807, flow.voice.owd.p99: 0.25}",
            "{discipline: null, seed: 2, flow.voice.owd.p99: null}",
        ]
    );
    let uneven = [("a".to_owned(), Column::Integer(vec![None])), ("b".to_owned(), Column::Real(Vec::new()))];
    let error = parquet::table(&uneven, &[], Vec::new()).expect_err("uneven");
    assert_eq!(error.to_string(), "column `b` has 0 rows and the first has 1: all have the same number");
}

#[test]
fn pcapng_reads_back_with_its_comments() {
    let file = pcapng::packets(&example::run(1, 950), Vec::new()).expect("a file");
    let capture = PcapNGSlice::from_slice(&file).expect("a pcapng file");
    let mut interfaces = Vec::new();
    let mut packets = Vec::new();
    for block in capture {
        match block.expect("a block") {
            pcap_parser::PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                let option = |code| interface.options.iter().find(|option| option.code == code);
                assert_eq!(
                    (interface.linktype, interface.snaplen, interface.if_tsresol),
                    (pcap_parser::Linktype(1), 128, 9)
                );
                interfaces.push(text(option(OptionCode::IfName).expect("a name").value()));
            }
            pcap_parser::PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let comment = packet.options.iter().find(|option| option.code == OptionCode::Comment);
                let nanos = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let data = packet.packet_data().to_vec();
                packets.push((nanos, packet.origlen, data, text(comment.expect("a comment").value())));
            }
            _ => {}
        }
    }
    assert_eq!(interfaces, ["home:server"]);
    let times: Vec<u64> = packets.iter().map(|(nanos, ..)| nanos / 1_000_000).collect();
    assert_eq!(times, [0, 200, 200, 300, 400, 950]);
    let comments: Vec<&str> =
        packets.iter().map(|(.., comment)| comment.split(';').next().unwrap_or("")).collect();
    assert_eq!(comments.iter().filter(|comment| **comment == "dropped: limit").count(), 1);
    assert_eq!(comments[3], "queueing 100.000 ms");
    for (_, length, data, _) in &packets {
        assert_eq!((*length, data.len()), (100, 100));
        let headers = etherparse::LaxSlicedPacket::from_ethernet(data).expect("an Ethernet frame");
        let Some(etherparse::LaxNetSlice::Ipv4(ip)) = headers.net else { panic!("no IPv4") };
        assert_eq!((ip.header().destination(), ip.header().dcp().value()), ([10, 0, 0, 2], 46));
        assert_eq!(
            (ip.header().total_len(), ip.header().header_checksum()),
            (86, ip.header().to_header().calc_header_checksum())
        );
        let Some(etherparse::TransportSlice::Udp(udp)) = headers.transport else { panic!("no UDP") };
        assert_eq!((udp.source_port(), udp.destination_port(), udp.length()), (4_000, 5_060, 66));
    }
}

/// Frames of 14 + 20 bytes before TCP: a SYN has no payload, data follow 12 bytes of options, and an
/// acknowledgement with one SACK block has no data.
#[test]
fn tcp_segments_have_their_flags_and_sequence_numbers() {
    let mut recording = example::run(1, 950);
    let fields = recording.flows[0].setup.fields.as_mut().expect("addresses");
    fields.protocol = 6;
    let template = recording.packets.as_ref().and_then(|rows| rows.get(0)).expect("a row");
    let mut rows = recording::Packets::default();
    let [syn, data, sack] = [(0x02, 7, 74), (0x18, 8, 1_514), (0x10, 9, 78)];
    for (flags, sequence, length) in [syn, data, sack] {
        rows.push(&recording::PacketRow { tcp: (flags, sequence), length, ..template });
    }
    recording.packets = Some(rows);
    let file = pcapng::packets(&recording, Vec::new()).expect("a file");
    let mut seen = Vec::new();
    for block in PcapNGSlice::from_slice(&file).expect("a pcapng file") {
        let Ok(pcap_parser::PcapBlockOwned::NG(Block::EnhancedPacket(packet))) = block else { continue };
        let headers = etherparse::LaxSlicedPacket::from_ethernet(packet.packet_data()).expect("a frame");
        let Some(etherparse::TransportSlice::Tcp(tcp)) = headers.transport else { panic!("no TCP") };
        let beyond = packet.origlen as usize - 14 - 20 - tcp.header_slice().len();
        seen.push((tcp.syn(), tcp.psh(), tcp.ack(), tcp.sequence_number(), beyond));
    }
    assert_eq!(seen, [(true, false, false, 7, 0), (false, true, true, 8, 1_448), (false, false, true, 9, 0)]);
}

fn text(option: &[u8]) -> String {
    String::from_utf8_lossy(option).trim_end_matches('\0').to_owned()
}

#[test]
fn a_run_that_kept_no_packets_says_so() {
    let mut recording = example::run(1, 950);
    recording.packets = None;
    assert!(matches!(parquet::packets(&recording, Vec::new()), Err(ExportError::NoPackets)));
    assert!(matches!(pcapng::packets(&recording, Vec::new()), Err(ExportError::NoPackets)));
}
