//! Tests of a line: frames in, samples and rates out.

use lockgate_autorate::Law;
use lockgate_scenario::read_policy;

use super::*;

const HOME: [u8; 4] = [10, 0, 0, 1];
const FAR: [u8; 4] = [192, 0, 2, 1];

fn ms(ms: u64) -> Instant {
    Instant::ZERO + lockgate_engine::units::Duration::from_millis(ms)
}

#[allow(clippy::unnecessary_wraps, reason = "compared with what may be unknown")]
fn milliseconds(ms: u64) -> Option<lockgate_engine::units::Duration> {
    Some(lockgate_engine::units::Duration::from_millis(ms))
}

/// Returns a frame of IPv4.
fn frame(protocol: u8, from: [u8; 4], to: [u8; 4], packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    let length = 20 + packet.len() as u16;
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
    frame.extend(from.into_iter().chain(to).chain(packet.iter().copied()));
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Returns a segment with so many bytes of data.
fn segment(ports: [u8; 2], sequence: u32, acknowledgement: u32, data: usize) -> Vec<u8> {
    let mut segment = vec![0, ports[0], 0, ports[1]];
    segment.extend(sequence.to_be_bytes());
    segment.extend(acknowledgement.to_be_bytes());
    segment.extend([0x50, 0x10, 0, 9, 0, 0, 0, 0]);
    segment.resize(20 + data, 7);
    segment
}

fn line(reads: [bool; 2]) -> Line {
    let side = |reads_acknowledgements| Side { reads_acknowledgements, ..Side::default() };
    Line { sides: reads.map(side), listener: None, prober: None, keys: RandomState::new() }
}

fn leave(line: &mut Line, side: usize, frame: &[u8], at: Instant) {
    let ip = IpHeader::read(frame).expect("an IP packet");
    line.on_departure(side, frame, (&ip.fields, ip.offset), at);
}

#[test]
fn acknowledgements_of_one_side_arrive_at_the_other() {
    let mut line = line([true, false]);
    leave(&mut line, 0, &frame(TCP, HOME, FAR, &segment([5, 80], 1000, 1, 1000)), ms(0));
    leave(&mut line, 0, &frame(TCP, HOME, FAR, &segment([5, 80], 2000, 1, 0)), ms(1));
    leave(&mut line, 0, &frame(17, HOME, FAR, &[0; 100]), ms(2));
    // Of another connection, of the same direction, and the right one.
    line.on_arrival(1, &frame(TCP, FAR, HOME, &segment([80, 6], 1, 2000, 0)), ms(20));
    line.on_arrival(0, &frame(TCP, FAR, HOME, &segment([80, 5], 1, 2000, 0)), ms(30));
    line.on_arrival(1, &frame(TCP, FAR, HOME, &segment([80, 5], 1, 2000, 0)), ms(40));
    let sample = line.take(0, ms(50), true);
    assert_eq!((sample.rtt, sample.delivered), (milliseconds(40), Some(Bytes(1054))));
    assert_eq!(
        (sample.sent, sample.tracked),
        (Bytes(1054 + 60 + 134), Bytes(1054)),
        "no pure acknowledgement"
    );
    assert!(sample.is_backlogged);
    let nothing = line.take(0, ms(60), false);
    assert_eq!((nothing.sent, nothing.rtt, nothing.oldest), (Bytes(0), None, None));
    assert_eq!(line.take(1, ms(60), false).delivered, None, "no controller reads them");
}

/// After a reset from either end nothing more is acknowledged: what was on its way shows no delay.
#[test]
fn a_reset_connection_has_nothing_on_its_way() {
    let reset = |ports, flags| {
        let mut segment = segment(ports, 2000, 0, 0);
        segment[13] = flags;
        segment
    };
    for is_arriving in [true, false] {
        let mut line = line([true, false]);
        leave(&mut line, 0, &frame(TCP, HOME, FAR, &segment([5, 80], 1000, 1, 1000)), ms(0));
        leave(&mut line, 0, &frame(TCP, HOME, FAR, &segment([6, 80], 1000, 1, 1000)), ms(7));
        assert_eq!(line.take(0, ms(20), false).oldest, milliseconds(13));
        if is_arriving {
            line.on_arrival(1, &frame(TCP, FAR, HOME, &reset([80, 6], 0x04)), ms(30));
        } else {
            leave(&mut line, 0, &frame(TCP, HOME, FAR, &reset([6, 80], 0x14)), ms(30));
        }
        assert_eq!(line.take(0, ms(40), false).oldest, milliseconds(40), "the other connection");
    }
}

#[test]
fn a_probe_begins_behind_the_queues_and_serves_both_sides() {
    let mut line = line([false; 2]);
    let (far, other) = (IpAddr::from(FAR), IpAddr::from(HOME));
    let prober = Prober::of([&[other, far], &[far]], 77, 5);
    line.prober = Some(prober);
    let echo = |kind: u8, identifier: u8, number: u8| [kind, 0, 0, 0, 0, identifier, 0, number];
    // Sent at 0, it leaves the queues at 30.
    leave(&mut line, 0, &frame(1, HOME, FAR, &echo(8, 77, 5)), ms(30));
    for (from, identifier, number) in [(HOME, 77, 5), (FAR, 76, 5), (FAR, 77, 6)] {
        line.on_arrival(1, &frame(1, from, HOME, &echo(0, identifier, number)), ms(50));
    }
    assert_eq!(line.take(0, ms(50), false).probes, Probes::default(), "others' answers");
    line.on_arrival(1, &frame(1, FAR, HOME, &echo(0, 77, 5)), ms(70));
    line.on_arrival(1, &frame(1, FAR, HOME, &echo(0, 77, 5)), ms(80));
    assert_eq!(line.take(0, ms(90), false).probes[1], milliseconds(40), "the second address of this side");
    assert_eq!(line.take(1, ms(90), false).probes[0], milliseconds(40), "the first of that one");
    assert_eq!(line.take(0, ms(99), false).probes, Probes::default());
}

fn policy(keys: &str) -> Policy {
    let text = format!(
        "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\nqueue.q = {{ kind = \"fifo\" }}\n\
         [port.wan.autorate]\nmin = \"1mbit\"\nmax = \"9mbit\"\n{keys}\n"
    );
    read_policy(&text, "policy.toml").expect("a policy")
}

fn stepper(keys: &str) -> Stepper {
    Stepper::new("wan", policy(keys).ports[0].autorate.as_deref().expect("a controller"))
}

#[test]
fn a_stepper_counts_its_reasons_and_begins_where_another_ended() {
    let mut stepper = self::stepper("start = \"8mbit\"");
    assert_eq!(stepper.applied(), Some(Rate::from_bits(8_000_000)));
    let queue = |ms: u64| Sample {
        sent: Bytes(10_000),
        tracked: Bytes(10_000),
        delivered: Some(Bytes(2_500)),
        rtt: milliseconds(ms),
        is_backlogged: true,
        ..Sample::default()
    };
    // A line of 2 Mbit/s behind 8 Mbit/s.
    for step in 1..=100 {
        let at = ms(10 * step);
        assert!(at >= stepper.next());
        stepper.step(at, &queue(40 + 5 * step.min(20)));
    }
    let sample = stepper.sample();
    assert!(sample.rate_bps < 2e6 && sample.is_applied && sample.law == Law::Brake.name(), "{sample:?}");
    assert_eq!(sample.steps.iter().map(|(_, count)| count).sum::<u64>(), 100);
    assert!(sample.steps.iter().any(|(why, _)| why == "brake"), "{sample:?}");
    let mark = sample.marks.last().expect("a large step");
    assert!(
        mark.text.starts_with("port wan: 8mbit -> ") && mark.text.contains("the line is queueing"),
        "{mark:?}"
    );
    let mut next = self::stepper(
        "start = \"8mbit\"\nlaw = \"safe-rates\"\nprobes = { to = [\"192.0.2.1\"], every = \"1s\" }",
    );
    next.begin_at(stepper.rate());
    assert_eq!(next.rate(), stepper.rate());
    let mut observing = self::stepper("start = \"8mbit\"\nobserve_only = true");
    assert_eq!(observing.applied(), None);
    let marks = (1..=100).flat_map(|step| observing.step(ms(10 * step), &queue(40 + 5 * step.min(20))).marks);
    let marks: Vec<String> = marks.collect();
    assert!(marks.iter().any(|text| text.contains("mbit would be set: the line is queueing")), "{marks:?}");
}

#[test]
fn an_idle_line_is_stepped_seldom() {
    let mut stepper = self::stepper("");
    let mut now = ms(0);
    for _ in 0..300 {
        stepper.step(now, &Sample::default());
        now = stepper.next();
    }
    assert!(now > ms(20_000), "{now:?}");
    let sent = Sample { sent: Bytes(1), ..Sample::default() };
    stepper.step(now, &sent);
    assert_eq!(stepper.next().since(now), lockgate_engine::units::Duration::from_millis(10));
}

#[test]
fn ports_between_the_same_interfaces_are_one_line() {
    let text = "[router]\nmode = \"both\"\ninterfaces = { lan = \"eth1\", wan = \"eth0\" }\n[port.lan]\n[port.wan]\n[port.\"wan:in\"]\n";
    let policy = read_policy(text, "policy.toml").expect("a policy");
    let names =
        |group: &Vec<usize>| group.iter().map(|it| policy.ports[*it].name.clone()).collect::<Vec<_>>();
    assert_eq!(groups(&policy).iter().map(names).collect::<Vec<_>>(), [vec!["lan"], vec!["wan", "wan:in"]]);
}
