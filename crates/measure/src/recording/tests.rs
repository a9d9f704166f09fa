use lockgate_engine::discipline::DropReason;
use lockgate_engine::units::Bytes;

use super::*;
use crate::metric::Subject;

const MS: u64 = 1_000_000_000;

fn ms(millis: u64) -> Instant {
    Instant::from_picos(millis * MS)
}

fn recording(warmup: u64) -> Recording {
    Recording::new(Setup {
        duration: Duration::from_millis(1_000),
        warmup: Duration::from_millis(warmup),
        flows: vec![FlowSetup { name: "voice".into(), ..FlowSetup::default() }],
        ..Setup::default()
    })
}

/// Sends and receives packets of 100 bytes: (sequence, sent, received) in milliseconds, in order of receipt.
fn exchange(recording: &mut Recording, packets: &[(u32, u64, u64)]) {
    let flow = recording.flow(FlowId(0));
    for &(sequence, sent, received) in packets {
        flow.on_sent(ms(sent), Bytes(100));
        flow.on_received(&Received {
            now: ms(received),
            sent: ms(sent),
            waited: Duration::from_millis(2),
            propagation: Duration::from_millis(5),
            bytes: Bytes(100),
            sequence,
        });
    }
}

#[test]
fn delays_worked_by_hand() {
    // sequence   0    1    2    4    3    5      (6 is lost)   7
    // sent       0   20   40   80   60  100                  140
    // received  10   31   49   95   97  115                  150
    // owd       10   11    9   15   37   15                   10
    // ipdv            1   -2    .    .    .                    .
    // iat            21   18   46    2   18                   35
    let mut recording = recording(0);
    let rows = [(0, 0, 10), (1, 20, 31), (2, 40, 49), (4, 80, 95), (3, 60, 97), (5, 100, 115), (7, 140, 150)];
    exchange(&mut recording, &rows);
    recording.finish();
    let delays = recording.flows[0].delays();
    assert_eq!(
        delays.owd.buckets(),
        [9, 10, 11, 15, 37].map(|v| (v * MS, 1 + u64::from(v == 10 || v == 15)))
    );
    assert_eq!(delays.ipdv.buckets(), vec![(MS, 1), (2 * MS, 1)]);
    assert_eq!(delays.ipdv_signed_sum, -i128::from(MS));
    assert_eq!(delays.iat.buckets(), [2, 18, 21, 35, 46].map(|v| (v * MS, 1 + u64::from(v == 18))));
    assert_eq!(delays.queueing.buckets(), vec![(2 * MS, 7)]);
    assert_eq!(delays.serialisation.min(), Some(2 * MS));
    // RFC 4737: packet 3 is expected to be later than 4 and is not; 7 after 5 is a gap, not reordering.
    assert_eq!(delays.reordered, 1);
    // RFC 3550 A.8, in units of 1/16 of D: J += |D| - ((J + 8) >> 4) with D = 1, 2, 6, 22, 22, 5 ms.
    let mut scaled = 0;
    for difference in [1, 2, 6, 22, 22, 5] {
        scaled += difference * MS - ((scaled + 8) >> 4);
    }
    assert_eq!(delays.jitter(), Duration::from_picos(scaled >> 4));
}

#[test]
fn jitter_grows_as_the_rfc_says() {
    // Section 6.4.1: J = J + (|D| - J) / 16. Two packets, D = 16 ms: J = 1 ms.
    let mut recording = recording(0);
    exchange(&mut recording, &[(0, 0, 10), (1, 20, 46)]);
    recording.finish();
    assert_eq!(recording.flows[0].delays().jitter(), Duration::from_millis(1));
}

#[test]
fn a_batch_boundary_changes_nothing() {
    let row = |n: u32| (n, u64::from(n) * 4, u64::from(n) * 4 + 10 + u64::from(n * n % 7));
    let in_order: Vec<(u32, u64, u64)> = (0..200).map(row).collect();
    // Every fiftieth packet lost, two pairs swapped: forces the slow path of a batch.
    let mut broken: Vec<(u32, u64, u64)> = (0..200).filter(|n| n % 50 != 7).map(row).collect();
    broken.swap(63, 64);
    broken.swap(100, 101);
    for rows in [in_order, broken] {
        let mut whole = recording(0);
        exchange(&mut whole, &rows);
        whole.finish();
        let mut split = recording(0);
        for row in &rows {
            exchange(&mut split, &[*row]);
            split.finish();
        }
        assert_eq!(whole.flows[0].delays(), split.flows[0].delays());
        let swapped = if rows.len() == 200 { 0 } else { 2 };
        assert_eq!(whole.flows[0].delays().reordered, swapped);
    }
}

#[test]
fn sequence_numbers_may_wrap() {
    let mut recording = recording(0);
    exchange(&mut recording, &[(u32::MAX - 1, 0, 10), (u32::MAX, 20, 30), (0, 40, 50), (1, 60, 70)]);
    recording.finish();
    let delays = recording.flows[0].delays();
    assert_eq!((delays.reordered, delays.ipdv.count()), (0, 3));
}

#[test]
fn the_window_begins_with_the_warm_up_s_end() {
    // Warm-up to 100 ms. One packet before, one sent before and received after, two after.
    let mut recording = recording(100);
    exchange(&mut recording, &[(0, 0, 10), (1, 95, 105), (2, 100, 112), (3, 120, 130)]);
    let flow = recording.flow(FlowId(0));
    for sent in [50, 150] {
        flow.on_sent(ms(sent), Bytes(100));
        flow.on_lost(ms(sent), Bytes(100), Loss::Queue(DropReason::Limit));
    }
    flow.on_sent(ms(990), Bytes(100));
    flow.on_inside(ms(990), Bytes(100));
    recording.finish();
    assert_eq!(recording.balance(), Ok(()));
    let flow = &recording.flows[0];
    let (whole, window) = (flow.totals(Window::WholeRun), flow.totals(Window::AfterWarmup));
    let packets = |totals: Totals| {
        [totals.sent, totals.received, totals.lost, totals.inside].map(|tally| tally.packets)
    };
    assert_eq!((packets(whole), packets(window)), ([7, 4, 2, 1], [4, 2, 1, 1]));
    assert_eq!(flow.received_in_window().packets, 3);
    assert_eq!(flow.delays().owd.buckets(), vec![(10 * MS, 1), (12 * MS, 1)]);
    assert_eq!(flow.lost_by().collect::<Vec<_>>(), vec![(Loss::Queue(DropReason::Limit), 1)]);
}

#[test]
fn what_is_not_accounted_for_is_named() {
    let mut recording = recording(0);
    exchange(&mut recording, &[(0, 0, 10)]);
    recording.flow(FlowId(0)).on_sent(ms(20), Bytes(100));
    let error = recording.balance().expect_err("a packet vanished");
    assert_eq!(
        error.to_string(),
        "flow `voice` does not balance over the whole run: 2 packets sent + 0 duplicated, but 1 received + 0 lost + 0 \
         inside"
    );
    // Right number of packets, wrong bytes.
    recording.flow(FlowId(0)).on_inside(ms(20), Bytes(99));
    assert_eq!(recording.balance().expect_err("a byte vanished").unit, "bytes");
    // Sent after the warm-up, lost as if before it: the totals balance, the window does not.
    let mut recording = super::tests::recording(100);
    let flow = recording.flow(FlowId(0));
    flow.on_sent(ms(150), Bytes(100));
    flow.on_lost(ms(50), Bytes(100), Loss::Link);
    assert_eq!(recording.balance().expect_err("the window is off").window, Window::AfterWarmup);
}

#[test]
fn series_show_each_interval_warm_up_included() {
    let mut recording = recording(100);
    exchange(&mut recording, &[(0, 0, 10), (1, 20, 32)]);
    recording.sample_flows(ms(100));
    recording.sample_flows(ms(200));
    exchange(&mut recording, &[(2, 210, 240)]);
    recording.flow(FlowId(0)).on_sent(ms(220), Bytes(60));
    recording.flow(FlowId(0)).on_lost(ms(220), Bytes(60), Loss::Router);
    recording.sample_flows(ms(300));
    let series = recording.flows[0].series();
    assert_eq!(series.offered_bytes, [200, 0, 160]);
    assert_eq!(series.received_bytes, [200, 0, 100]);
    assert_eq!(series.lost_packets, [0, 0, 1]);
    assert_eq!(series.owd_p50, [Some(10), None, Some(30)].map(|value| value.map(Duration::from_millis)));
    assert_eq!(series.owd_max, [Some(12), None, Some(30)].map(|value| value.map(Duration::from_millis)));
}

#[test]
fn an_interval_and_a_path_may_change_within_a_batch() {
    let mut recording = recording(0);
    let (mut parts, mut propagated) = (0, 0);
    for n in 0..150 {
        // Delays fall, so that an interval that saw a packet of the one before would have a larger maximum.
        let (owd, propagation) = (300 - n, if n < 70 { 5 } else { 7 });
        let flow = recording.flow(FlowId(0));
        flow.on_sent(ms(2 * n), Bytes(100));
        flow.on_received(&Received {
            now: ms(2 * n + owd),
            sent: ms(2 * n),
            waited: Duration::from_millis(2),
            propagation: Duration::from_millis(propagation),
            bytes: Bytes(100),
            sequence: n as u32,
        });
        parts += owd - 2 - propagation;
        propagated += propagation;
        if n % 30 == 29 {
            recording.sample_flows(ms(1000 + n));
        }
    }
    recording.finish();
    let flow = &recording.flows[0];
    let largest = [300, 270, 240, 210, 180].map(|owd| Some(Duration::from_millis(owd)));
    assert_eq!(flow.series().owd_max, largest);
    assert_eq!(flow.delays().owd.count(), 150);
    assert_eq!(flow.delays().serialisation.sum(), u128::from(parts * MS));
    assert_eq!(flow.delays().propagation_sum, u128::from(propagated * MS));
}

#[test]
fn samples_fall_on_intervals_the_warm_up_and_the_end() {
    let mut recording = Recording::new(Setup {
        duration: Duration::from_millis(1_050),
        warmup: Duration::from_millis(250),
        interval: Duration::from_millis(200),
        ..Setup::default()
    });
    let mut samples = Vec::new();
    let mut now = Instant::ZERO;
    while let Some(next) = recording.next_sample(now) {
        samples.push(next.as_picos() / MS);
        now = next;
    }
    assert_eq!(samples, [200, 250, 400, 600, 800, 1_000, 1_050]);
    recording.duration = Duration::ZERO;
    assert_eq!(recording.next_sample(Instant::ZERO), None);
    for (duration, interval) in [(60_000, 100), (61_000, 200), (1_000, 2), (3_600_000, 10_000), (10, 0)] {
        let chosen = series::default_interval(Duration::from_millis(duration));
        let expected =
            if interval == 0 { Duration::from_micros(20) } else { Duration::from_millis(interval) };
        assert_eq!(chosen, expected, "{duration} ms");
    }
}

#[test]
fn sojourn_times_are_those_of_all_packets_whether_observed_or_not() {
    // Queue, and how long the packet was in it. The first is sent in the warm-up.
    let stays = [(0, 7), (0, 0), (1, 0), (0, 3), (0, 0), (1, 0), (0, 0), (0, 5)];
    let record = |watched: core::ops::Range<usize>| {
        let mut record = PortRecord::new(PortSetup::default(), ms(1), Detail::All);
        for (index, (node, stay)) in stays.into_iter().enumerate() {
            if index == watched.start {
                record.watch();
            }
            record.on_transmit(node, Duration::from_millis(stay), Bytes(100), ms(index as u64));
            if index + 1 == watched.end {
                record.unwatch();
            }
        }
        record
    };
    let alone = record(9..9);
    let of = |index| alone.sojourn(index).buckets();
    assert_eq!(of(0), [(0, 3), (3 * MS, 1), (5 * MS, 1)]);
    assert_eq!(of(1), [(0, 2)]);
    for (from, to) in [(0, 8), (0, 1), (1, 3), (2, 8), (4, 5)] {
        assert!(record(from..to) == alone, "observed from packet {from} to {to}");
    }
    let mut idle = PortRecord::new(PortSetup::default(), ms(1), Detail::All);
    idle.on_transmit(0, Duration::ZERO, Bytes(100), ms(1));
    assert_eq!(idle.sojourn(0).buckets(), [(0, 1)], "no packet has waited");
}

#[test]
fn rows_come_back_as_they_went_in() {
    let mut packets = Packets::default();
    let rows =
        [None, Some(Loss::Link), Some(Loss::Queue(DropReason::Shrunk)), Some(Loss::Router)].map(|drop| {
            PacketRow {
                flow: FlowId(3),
                sequence: 9,
                port: 2,
                queue: 1,
                length: 1_514,
                tcp: (0x12, 77),
                segment: drop
                    .is_none()
                    .then(|| SegmentFields { acknowledgement: 5, ..SegmentFields::default() }),
                traffic_class: 0b11,
                arrived: ms(5),
                departed: drop.is_none().then(|| ms(7)),
                drop,
            }
        });
    for row in &rows {
        packets.push(row);
    }
    assert_eq!(packets.iter().collect::<Vec<_>>(), rows);
    assert_eq!(packets.get(4), None);
    let names: Vec<&str> = Loss::ALL.iter().map(|loss| loss.name()).collect();
    assert_eq!(
        names,
        [
            "limit",
            "head",
            "push-out",
            "early",
            "forced",
            "oversize",
            "shrunk",
            "superseded",
            "link",
            "router",
            "hops",
            "frames",
            "host"
        ]
    );
}

#[test]
fn rows_of_resting_flows_are_those_of_a_visit_at_each_sampling() {
    for detail in [Detail::All, Detail::Groups, Detail::Totals] {
        let flows = ["voice/1", "voice/2", "bulk"]
            .map(|name| FlowSetup { name: name.into(), ..FlowSetup::default() });
        let setup =
            Setup { duration: Duration::from_secs(1), detail, flows: flows.into(), ..Setup::default() };
        let (mut visited, mut changed) = (Recording::new(setup.clone()), Recording::new(setup));
        for tenth in 1..=9 {
            // The first flow rests at times, the second at first, the third always.
            for (flow, sends) in [(0, tenth % 4 == 1), (1, tenth > 5)] {
                for recording in [&mut visited, &mut changed].into_iter().filter(|_| sends) {
                    let flow = recording.flow(FlowId(flow));
                    flow.on_sent(ms(100 * tenth - 50), Bytes(100));
                    flow.on_received(&Received {
                        now: ms(100 * tenth - 20),
                        sent: ms(100 * tenth - 50),
                        waited: Duration::from_millis(tenth),
                        propagation: Duration::from_millis(5),
                        bytes: Bytes(100),
                        sequence: tenth as u32,
                    });
                }
            }
            visited.sample_flows(ms(100 * tenth));
            changed.sample_changed(ms(100 * tenth));
        }
        assert_ne!(visited.flows, changed.flows, "rows are missing until the last sampling");
        visited.sample_flows(ms(1000));
        changed.sample_flows(ms(1000));
        assert_eq!(visited, changed, "{detail:?}");
        assert_eq!(visited.flows[2].series().end.len(), 10);
    }
}

#[test]
fn equal_samples_of_a_sender_are_stored_once_and_returned_each_time() {
    let sample = |cwnd| TcpSample { cwnd: Bytes(cwnd), ..TcpSample::default() };
    let mut record = TcpRecord::new("reno", ms(20));
    let ends = [10, 20, 30, 40, 50, 60].map(ms);
    record.push(ends[0], sample(1));
    record.push(ends[1], sample(1));
    record.repeat(&ends[..4]);
    record.push(ends[4], sample(2));
    record.repeat(&ends);
    assert_eq!(record.ends(), ends);
    assert_eq!(record.samples().map(|sample| sample.cwnd.0).collect::<Vec<_>>(), [1, 1, 1, 1, 2, 2]);
    assert_eq!(record.window().map(|sample| sample.cwnd.0).collect::<Vec<_>>(), [1, 1, 2, 2]);
    assert_eq!(record.last(), Some(sample(2)));
    let mut empty = TcpRecord::new("reno", ms(20));
    empty.repeat(&ends);
    assert_eq!((empty.samples().count(), empty.ends().len()), (0, 0));
}

/// A phase, which begins when something changes, has the record of a part that was known before the run.
/// Packets overtake each other, and arrive in later phases than that in which they were sent.
#[test]
fn a_phase_has_the_record_of_a_part() {
    let times = [(100, 300), (300, 600), (600, 1_000)];
    let during = times.map(|(from, to)| During { from: ms(from), to: ms(to) });
    let part = |during| Part { during, subjects: vec![Subject::Flow("voice".into())] };
    let request_kind = Some(RequestKind::Echo);
    let mut recording = Recording::new(Setup {
        duration: Duration::from_millis(1_000),
        warmup: Duration::from_millis(100),
        flows: vec![FlowSetup { name: "voice".into(), request_kind, ..FlowSetup::default() }],
        parts: during.map(part).to_vec(),
        ..Setup::default()
    });
    // A packet each 4 ms arrives after 10 to 96 ms; of seven, one is lost then and one stays in the network.
    let delay = |sequence: u64| 10 + sequence * sequence % 87;
    let mut events: Vec<(u64, bool, u64)> = (0..250)
        .flat_map(|sequence| {
            [(4 * sequence, true), (4 * sequence + delay(sequence), false)]
                .map(|(at, is_sent)| (at, is_sent, sequence))
        })
        .collect();
    events.sort_unstable();
    for (at, is_sent, sequence) in events {
        let (now, sent, bytes) = (ms(at), ms(4 * sequence), Bytes(100 + sequence));
        for change in [300, 600].map(ms).into_iter().filter(|change| *change <= now) {
            recording.begin_phase(change);
        }
        let flow = recording.flow(FlowId(0));
        match sequence % 7 {
            _ if is_sent => {
                flow.on_sent(now, bytes);
                flow.on_asked(now);
            }
            _ if at >= 1_000 => flow.on_inside(sent, bytes),
            1 => flow.on_lost(sent, bytes, Loss::Link),
            2 => flow.on_inside(sent, bytes),
            _ => {
                let (waited, propagation) = (Duration::from_millis(2), Duration::from_millis(5));
                let sequence = sequence as u32;
                flow.on_received(&Received { now, sent, waited, propagation, bytes, sequence });
                flow.on_payload(now, Bytes(50));
                flow.on_answered(sent, now);
            }
        }
    }
    recording.finish();
    assert_eq!(
        recording.phases().iter().map(|phase| phase.from).collect::<Vec<_>>(),
        [100, 300, 600].map(ms)
    );
    let flow = &recording.flows[0];
    for (phase, part) in recording.phases().iter().zip(during) {
        let [phase, part] = [*phase, part].map(|during| flow.part(during).expect("observed"));
        let totals = |record: &FlowRecord| record.totals(Window::AfterWarmup);
        assert_eq!(totals(phase), totals(part), "{part:?}");
        assert_ne!(totals(phase).received, phase.received_in_window(), "some arrive late");
        let bytes = |record: &FlowRecord| (record.received_in_window(), record.payload_in_window());
        assert_eq!(bytes(phase), bytes(part));
        assert!(phase.delays().reordered > 0 && phase.delays() == part.delays());
        assert!(phase.lost_by().eq(part.lost_by()));
        assert_eq!(phase.requests, part.requests);
    }
    assert_ne!(flow.part(during[0]), flow.part(during[1]));
}
