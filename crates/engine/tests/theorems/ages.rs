//! Two classes by age: who is short, and that the short do not notice the long.

use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::weighted::link_of;
use crate::{between, random};

/// Whether a segment of this sequence number goes before one that is surely long and came earlier.
fn is_short(sequence: u32) -> bool {
    let mut link = link_of("run2c", &json!({}), &[json!({}), json!({})]);
    let segment = |payload, tcp_sequence| Header {
        payload,
        tcp_sequence,
        tcp_flags: 0x10,
        length: 100,
        ..Header::default()
    };
    link.offer(segment(0, 1 << 20), Instant::ZERO);
    link.offer(segment(1, 1 << 20), Instant::ZERO);
    link.offer(segment(2, sequence), Instant::ZERO);
    link.drain();
    link.sent[1].packet.payload == 2
}

#[test]
fn a_connection_is_short_for_its_first_16_kilobytes_and_when_the_count_comes_round() {
    let (mut least, mut most) = (u32::MAX, 0);
    for trial in 0..200 {
        let mut random = random("connection", trial);
        // The initial number as the senders choose it: ten random bits above, ten below.
        let initial = (random.below(1024) << 22) | [0, 1023, random.below(1024)][trial as usize % 3];
        // The initial number itself is the SYN's; the first byte has the next.
        let at = |byte: u32| is_short(initial.wrapping_add(1).wrapping_add(byte));
        let short = (1 << 14) - (initial & 1023) - 1;
        assert!(at(0) && at(short - 1) && !at(short), "the first {short} bytes are short");
        let round = (1 << 22) - (initial & 1023) - 1;
        assert!(!at(round - 1) && at(round) && at(round + (1 << 14) - 1) && !at(round + (1 << 14)));
        let inside = between(&mut random, short, round - 1) as u32;
        assert!(!at(inside), "byte {inside} is long");
        (least, most) = (least.min(short), most.max(short));
    }
    assert_eq!((least, most), (15_360, 16_383));
}

#[test]
fn short_packets_wait_as_if_there_were_no_long_ones_but_for_one_under_way() {
    let mut worst = 0.0_f64;
    for trial in 0..40 {
        let mut random = random("ages", trial);
        let mut now = 0;
        // By bytes with a threshold of one, the first packet of each flow is short and the second long.
        let config = json!({ "by": "bytes", "threshold": "1B" });
        let mut link = link_of("run2c", &config, &[json!({}), json!({})]);
        // When a link without the long ones would be through with the short ones.
        let (mut free, mut through) = (0, Vec::new());
        for flow in 0..400 {
            now += between(&mut random, 0, 1_500);
            let lengths = [between(&mut random, 1, 1514), between(&mut random, 1, 1514)];
            free = now.max(free) + lengths[0];
            through.push(free);
            for (age, length) in lengths.into_iter().enumerate() {
                let header = Header {
                    payload: age as u64,
                    flow: FlowId(flow),
                    length: length as u32,
                    ..Header::default()
                };
                link.offer(header, Instant::ZERO + Duration::from_micros(now));
            }
        }
        link.drain();
        for sent in link.sent.iter().filter(|sent| sent.packet.payload == 0) {
            let end = sent.at.as_picos() / 1_000_000 + u64::from(sent.packet.length);
            let late = end - through[sent.packet.flow.0 as usize];
            assert!(late <= 1514, "flow {} is {late} us late", sent.packet.flow.0);
            worst = worst.max(late as f64 / 1514.0);
        }
    }
    println!("run2c: a short packet is late by {worst:.3} of the longest packet");
    assert!(worst > 0.9, "the traffic tries nothing");
}
