//! Tests of a router's port.

use std::collections::VecDeque;
use std::fmt::Write as _;

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::discipline::{About, Child, Context, Dequeue, Discipline, NoShare};
use lockgate_engine::node::Node;
use lockgate_engine::packet::FlowId;
use lockgate_engine::units::Duration;
use lockgate_measure::recording::{PortSetup, Recording, Setup};
use lockgate_scenario::change::Prepared;
use lockgate_scenario::policy::read_policy;
use lockgate_testing::lines;

use super::*;

fn arrival(slot: u64) -> Arrival {
    Arrival { interface: 0, at: Instant::ZERO, slot, continues: false }
}

/// Port whose queue has this name and limit.
fn policy(queue: &str, limit: u64) -> PolicyPort {
    let text = format!(
        "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n\
         [port.wan]\nqueue.{queue} = {{ kind = \"fifo\", limit = \"{limit}p\" }}\n"
    );
    read_policy(&text, "policy.toml").expect("a policy").ports.remove(0)
}

/// The packets of a line are as far apart as their bytes on the wire take, wherever it is stated, in
/// frames of Ethernet and without a link header; also after a change of the port.
#[test]
fn a_line_takes_the_same_bytes_wherever_it_is_stated() {
    let mut count = 0;
    for (line, index) in lines::LINES.iter().flat_map(|line| [(line, 0), (line, 1)]) {
        let header = lines::HEADERS[index];
        for (packet, length) in lines::PACKETS.into_iter().zip(line.lengths[index]) {
            for (place, port) in line.ports(header, length) {
                let what = format!("{}, {packet} bytes, {place}, header of {header}", line.word);
                takes_by_hand(&what, &port, header, packet, length);
                count += 1;
            }
        }
    }
    assert_eq!(count, 2 * 4 * (19 * 4 + 13));
}

/// Expects that packets take the time of `length` bytes each, with `header` bytes before them.
fn takes_by_hand(what: &str, port: &str, header: u64, packet: u64, length: u64) {
    let text = format!("[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\n{port}");
    let policy = read_policy(&text, "policy.toml").expect("a policy").ports.remove(0);
    let ports = vec![PortSetup::default()];
    let record = Recording::new(Setup { ports, ..Setup::default() }).ports.remove(0);
    let header = if header == 0 { LinkHeader::Absent } else { LinkHeader::Ethernet };
    let mut port = RouterPort::build(&policy, [0, 1], header, Seed(1), record).expect("a port");
    let (mut frames, mut pool) = (Frames::new(20, 1_600), Pool::default());
    let mut frame = vec![0; 14 + packet as usize];
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    for _ in 0..15 {
        let slot = frames.slab.insert(&frame).expect("a free slot");
        port.queues_other = true;
        port.take(&[arrival(slot)], &mut frames, &mut pool);
    }
    // The times at which frames leave, each as soon as it is due.
    let (mut now, mut times) = (Instant::ZERO, Vec::new());
    while times.len() < 15 {
        if times.len() == 10 {
            let mut change = PolicyChange::new(0, &policy, &policy, header).expect("a change");
            port.apply(&mut change, now, &mut frames, &mut pool).expect("applied");
        }
        let again = port.fill(now, &mut frames, &mut pool);
        times.extend(port.outgoing.drain(..).map(|_| now));
        assert!(again > now && again != Instant::NEVER || times.len() == 15, "{what}");
        now = again;
    }
    // A port makes up for some lateness, and so begins with more than one.
    for range in [3..9, 10..14] {
        let took = times[range.end].since(times[range.start]).as_picos();
        let expected = range.len() as u64 * length * 8 * (1_000_000_000_000 / lines::RATE);
        assert!(took.abs_diff(expected) * 1_000 <= expected, "{what}: {took} ps, {expected} by hand");
    }
}

/// Segments of 100 bytes, in packets of 250 at most: two, two and one, of which a queue of two packets
/// drops the last.
#[test]
fn segments_of_a_super_frame_are_one_packet_of_the_queues() {
    let policy = policy("q", 2);
    let ports = vec![PortSetup::default()];
    let record = Recording::new(Setup { ports, ..Setup::default() }).ports.remove(0);
    let mut port = RouterPort::build(&policy, [0, 1], LinkHeader::Ethernet, Seed(1), record).expect("a port");
    port.queues_other = true;
    let (mut frames, mut pool) = (Frames::new(20, 100).with_super_frames(250), Pool::default());
    let slots: Vec<u64> = (0..5).map(|_| frames.slab.insert(&[0; 100]).expect("a free slot")).collect();
    let arrivals: Vec<Arrival> = slots
        .iter()
        .enumerate()
        .map(|(index, slot)| Arrival { continues: index > 0, ..arrival(*slot) })
        .collect();
    let mut rest = &arrivals[..];
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let (packet, others) = rest.split_at(frames.count_segments(rest));
        port.take(packet, &mut frames, &mut pool);
        packets.push(packet.len());
        rest = others;
    }
    assert_eq!(packets, [2, 2, 1]);
    let backlog = port.port.backlog();
    assert_eq!((backlog.packets, backlog.bytes.0), (2, 400), "a packet has the bytes of its segments");
    assert_eq!(
        (frames.slab.used(), port.record.drops_by(0).iter().map(|(_, count)| count).sum::<u64>()),
        (4, 1),
        "the third is dropped"
    );
    port.fill(Instant::ZERO, &mut frames, &mut pool);
    assert_eq!(port.outgoing, slots[..4], "all segments leave, in order");
    let sent = port.record.transmitted();
    assert_eq!((sent.packets, sent.bytes.0), (2, 400));
}

/// The Ethernet type of a super-frame may be any, so it may have no IP packet.
#[test]
fn segments_without_an_ip_packet_go_ahead_together() {
    let ports = vec![PortSetup::default()];
    let record = Recording::new(Setup { ports, ..Setup::default() }).ports.remove(0);
    let mut port =
        RouterPort::build(&policy("q", 9), [0, 1], LinkHeader::Ethernet, Seed(1), record).expect("a port");
    let (mut frames, mut pool) = (Frames::new(20, 100).with_super_frames(250), Pool::default());
    let slots = [0, 1].map(|_| frames.slab.insert(&[0; 100]).expect("a free slot"));
    let arrivals = [arrival(slots[0]), Arrival { continues: true, ..arrival(slots[1]) }];
    port.take(&arrivals[..frames.count_segments(&arrivals)], &mut frames, &mut pool);
    assert_eq!(port.outgoing, slots);
}

/// A mark of a queue is for each segment of the packet.
#[test]
fn a_mark_is_written_to_each_segment() {
    let mut frames = Frames::new(20, 100).with_super_frames(1_000);
    let mut frame = [0; 60];
    frame[12..16].copy_from_slice(&[8, 0, 0x45, 2]);
    frame[16..18].copy_from_slice(&[0, 46]);
    frame[22..24].copy_from_slice(&[64, 17]);
    let slots = [0, 1, 2].map(|_| frames.slab.insert(&frame).expect("a free slot"));
    frames.read(slots[0]);
    frames.append(slots[0], slots[1]);
    frames.append(slots[1], slots[2]);
    let header = Header { payload: slots[0], traffic_class: 3, ..Header::default() };
    let packet = Pool::default().take(header);
    let mut next = Some(slots[0]);
    while let Some(slot) = next {
        frames.mark(&packet, slot);
        next = frames.next(slot);
    }
    assert_eq!(slots.map(|slot| frames.slab.bytes(slot)[15]), [3; 3]);
}

#[test]
fn a_refusal_of_one_queue_sets_the_others_back() {
    let old = policy("q", 4);
    let ports = vec![PortSetup::default()];
    let record = Recording::new(Setup { ports, ..Setup::default() }).ports.remove(0);
    let mut port = RouterPort::build(&old, [0, 1], LinkHeader::Ethernet, Seed(1), record).expect("a port");
    let two = |limit| {
        let text = "[router]\nmode = \"egress\"\ninterfaces = { wan = \"eth0\" }\n[port.wan]\nroot = \"p\"\n\
                    queue.p = { kind = \"prio\", children = [\"q\", \"other\"] }\n\
                    queue.q = { kind = \"fifo\", limit = \"LIMIT\" }\n\
                    queue.other = { kind = \"fifo\", limit = \"LIMIT\" }\n";
        let text = text.replace("LIMIT", limit);
        read_policy(&text, "policy.toml").expect("a policy").ports.remove(0)
    };
    // The port has no queue `other`.
    let mut change = PolicyChange::new(0, &two("4p"), &two("9p"), LinkHeader::Ethernet).expect("a change");
    let (mut frames, mut pool) = (Frames::new(20, 100), Pool::default());
    assert!(port.apply(&mut change, Instant::ZERO, &mut frames, &mut pool).is_err());
    for _ in 0..20 {
        let slot = frames.slab.insert(&[0; 60]).expect("a free slot");
        port.queues_other = true;
        port.take(&[arrival(slot)], &mut frames, &mut pool);
    }
    assert_eq!(port.port.backlog().packets, 4, "the old limit holds");
}

/// Port of a policy with these lines.
fn port_of(lines: &str) -> RouterPort {
    let text = format!("[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\n{lines}");
    let policy = read_policy(&text, "policy.toml").expect("a policy").ports.remove(0);
    let ports = vec![PortSetup::default()];
    let record = Recording::new(Setup { ports, ..Setup::default() }).ports.remove(0);
    let mut port = RouterPort::build(&policy, [0, 1], LinkHeader::Ethernet, Seed(1), record).expect("a port");
    port.queues_other = true;
    port
}

/// A FIFO with a timer every 15 ms, which measures its lateness.
struct Clockwork {
    packets: VecDeque<Packet>,
    next: Instant,
    runs: u32,
    latest: Duration,
}

impl Clockwork {
    const PERIOD: Duration = Duration::from_millis(15);
}

impl Discipline for Clockwork {
    const ABOUT: About = About { name: "clockwork", timed: true, ..About::DEFAULT };
    type Config = NoShare;
    type Share = NoShare;

    fn new(_: NoShare, _: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let next = Instant::ZERO + Self::PERIOD;
        Ok(Self { packets: VecDeque::new(), next, runs: 0, latest: Duration::ZERO })
    }
    fn reconfigure(&mut self, _: NoShare, _: Vec<NoShare>, _: &mut Context<'_>) -> Result<(), Invalid> {
        Ok(())
    }
    fn enqueue(&mut self, packet: Packet, _: &mut Context<'_>) {
        self.packets.push_back(packet);
    }
    fn dequeue(&mut self, _: &mut Context<'_>) -> Dequeue {
        self.packets.pop_front().map_or(Dequeue::Empty, Dequeue::Packet)
    }
    fn next_timer(&self) -> Option<Instant> {
        Some(self.next)
    }
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.latest = self.latest.max(cx.now.since(self.next));
        self.runs += 1;
        self.next = cx.now + Self::PERIOD;
    }
    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("runs", f64::from(self.runs));
        emit("lateness", self.latest.as_secs_f64());
    }
}

/// Frames of 1000 bytes at 100 kbit/s leave 80 ms apart; timers are due in between.
#[test]
fn timers_run_on_time_while_the_rate_holds_frames_back() {
    let mut port = port_of("rate = \"100kbit\"\nqueue.q = { kind = \"fifo\" }\n");
    let root = Node::new::<Clockwork>("q", NoShare {}, Vec::new()).expect("a queue");
    port.port = Port::new(root, Random::stream(Seed(1), "wan")).with_pace(port.port.pace());
    let (mut frames, mut pool) = (Frames::new(20, 1_100), Pool::default());
    for _ in 0..5 {
        let slot = frames.slab.insert(&[0; 1_000]).expect("a free slot");
        port.take(&[arrival(slot)], &mut frames, &mut pool);
    }
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + Duration::from_millis(200) {
        now = port.fill(now, &mut frames, &mut pool);
    }
    let mut gauges = Vec::new();
    port.port.each_node(&mut |node| node.gauges(&mut |_, value| gauges.push(value)));
    assert_eq!((gauges, port.outgoing.len()), (vec![13.0, 0.0], 3), "timers, their lateness; frames");
}

/// Event of a port.
enum Turn {
    /// Its rate becomes that of this step.
    Step(usize),
    /// A packet of this number arrives.
    Arrive(u32),
    /// It is polled, and returns the time of the next poll.
    Poll,
}

/// Rates of a port in Mbit/s, ten times a second another one.
const RATES: [u64; 7] = [2, 8, 1, 16, 3, 5, 4];

/// Time of a step, and its rate in Mbit/s.
fn step(index: usize) -> (Duration, u64) {
    (Duration::from_millis(100) * (index as u64 + 1), RATES[index % RATES.len()])
}

/// Runs a port for 3 s with a packet of 1000 bytes each 1.3 ms.
fn run(turn: &mut dyn FnMut(Turn, Instant) -> Instant) {
    let (mut steps, mut arrivals, mut wake) = (0, 0, Instant::NEVER);
    loop {
        let at = Instant::ZERO + step(steps).0;
        let arrives = Instant::ZERO + Duration::from_micros(1_300) * u64::from(arrivals);
        let now = at.min(arrives).min(wake);
        if now >= Instant::ZERO + Duration::from_secs(3) {
            return;
        }
        if now == at {
            turn(Turn::Step(steps), now);
            steps += 1;
        } else if now == arrives {
            turn(Turn::Arrive(arrivals), now);
            arrivals += 1;
        }
        wake = turn(Turn::Poll, now);
    }
}

/// Returns the packets that leave while the timeline of a scenario steps the rate of its first port.
fn by_timeline(scenario: &lockgate_scenario::Scenario) -> Vec<(Instant, u32)> {
    let model = &scenario.ports[0];
    let mut by_timeline = Vec::new();
    let mut port =
        Port::new(model.tree.build().expect("a tree"), Random::stream(Seed(1), "wan")).with_pace(model.pace);
    run(&mut |turn, now| {
        match turn {
            Turn::Step(index) => {
                let Some(change) = scenario.changes.get(index) else { return now };
                let mut change = Prepared::from(change.clone());
                let (_, change) = change.of_port().expect("valid").expect("of a port");
                port.apply(change, now, &NoHeaders).expect("a rate");
            }
            Turn::Arrive(sequence) => {
                let header = Header { sequence, length: 1_000, flow: FlowId(0), ..Header::default() };
                port.offer(Packet::new(header), now, &NoHeaders);
            }
            Turn::Poll => loop {
                match port.poll(now, &NoHeaders) {
                    Poll::Transmit(packet) => by_timeline.push((now, packet.sequence)),
                    Poll::WaitUntil(at) => return at,
                    Poll::Idle => return Instant::NEVER,
                }
            },
        }
        now
    });
    by_timeline
}

/// Returns the frames that leave while typed changes step the rate of a router's port.
fn by_call(lines: &str) -> Vec<(Instant, u32)> {
    let mut by_call = Vec::new();
    let mut port = port_of(lines);
    let (mut frames, mut pool) = (Frames::new(2_000, 1_100), Pool::default());
    run(&mut |turn, now| {
        match turn {
            Turn::Step(index) => {
                let rate = Some(Rate::from_bits(step(index).1 * 1_000_000));
                let mut change = PortChange::of_pace(Pace { rate, ..port.port.pace() });
                port.change(&mut change, now, &mut frames, &mut pool).expect("a rate");
            }
            Turn::Arrive(sequence) => {
                let mut frame = [0; 1_000];
                frame[12..15].copy_from_slice(&[8, 0, 0x45]);
                frame[996..].copy_from_slice(&sequence.to_be_bytes());
                let slot = frames.slab.insert(&frame).expect("a free slot");
                port.take(&[Arrival { at: now, ..arrival(slot) }], &mut frames, &mut pool);
            }
            Turn::Poll => {
                let again = port.fill(now, &mut frames, &mut pool);
                for slot in port.outgoing.drain(..) {
                    let bytes = frames.slab.bytes(slot)[996..].try_into().expect("four bytes");
                    by_call.push((now, u32::from_be_bytes(bytes)));
                    frames.slab.release(slot);
                }
                return again;
            }
        }
        now
    });
    by_call
}

/// By typed changes, as a controller makes them; by the timeline of a scenario at the engine's port, as the
/// simulator plays it. `pie` draws, and what `cake` drops depends on the rate of its port.
#[test]
fn a_rate_is_stepped_as_by_a_timeline() {
    for queue in ["kind = \"fifo\", limit = \"60p\"", "kind = \"pie\"", "kind = \"cake\""] {
        let lines = format!("rate = \"4mbit\"\nqueue.q = {{ {queue} }}\n");
        let mut text = format!(
            "duration = \"3s\"\nnode = {{ a = {{}}, b = {{}} }}\n\
             link.l = {{ between = [\"a\", \"b\"], rate = \"1gbit\" }}\n\
             flow.f = {{ from = \"a\", to = \"b\", size = \"1000B\", gap = \"1.3ms\" }}\n\
             [port.\"a:b\"]\nroot = \"q\"\n{lines}"
        );
        for (at, rate) in (0..29).map(step) {
            let _ =
                writeln!(text, "[[change]]\nat = \"{at}\"\nset = {{ \"port.a:b.rate\" = \"{rate}mbit\" }}");
        }
        let files = std::collections::BTreeMap::<String, std::sync::Arc<[u8]>>::new();
        let scenario = lockgate_scenario::read(&text, "text", &files, &[]).expect("a scenario");
        let (by_timeline, by_call) = (by_timeline(&scenario), by_call(&lines));
        assert!(by_call.len() < 2_250, "{queue}: {} of 2308 leave, some are dropped", by_call.len());
        assert!(by_call == by_timeline, "{queue}");
    }
}

/// The rate of a policy is that of a start: a controller goes on at its own, also under another policy.
#[test]
fn a_change_of_policy_leaves_the_rate_to_the_controller() {
    let text = |kind: &str| {
        format!(
            "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n\
             [port.wan]\nqueue.q = {{ kind = \"{kind}\" }}\n[port.wan.autorate]\nmin = \"1mbit\"\nmax = \"9mbit\"\n\
             probes = {{ to = [\"192.0.2.1\"], every = \"1s\" }}\nacknowledgements = false\n"
        )
    };
    let [before, after] = ["fifo", "cake"].map(|kind| read_policy(&text(kind), "p").expect("a policy"));
    let record =
        Recording::new(Setup { ports: vec![PortSetup::default()], ..Setup::default() }).ports.remove(0);
    let header = LinkHeader::Ethernet;
    let mut port = RouterPort::build(&before.ports[0], [0, 1], header, Seed(1), record).expect("a port");
    port.line = Some(Box::new(PortLine::of(&before.ports[0])));
    let (mut frames, mut pool) = (Frames::new(20, 1_600), Pool::default());
    let mut at = Instant::ZERO;
    // A queue of a second behind.
    for step in 0..300 {
        at = at + Duration::from_millis(10);
        port.line
            .as_mut()
            .expect("a line")
            .answer(0, Duration::from_millis(if step < 10 { 20 } else { 1_020 }));
        port.line.as_mut().expect("a line").send(Bytes(11_250));
        port.step_rate(at, WallOffset::default(), &mut frames, &mut pool).expect("a controller");
    }
    let stepped = port.port.pace().rate.expect("a rate");
    assert!(stepped < Rate::from_bits(9_000_000), "{stepped}");
    let mut change = PolicyChange::new(0, &before.ports[0], &after.ports[0], header).expect("a change");
    port.apply(&mut change, at, &mut frames, &mut pool).expect("applied");
    assert_eq!(port.port.pace().rate, Some(stepped), "the same controller");
    let other = PortLine::of(&after.ports[0]);
    let change = PolicyChange::new(0, &after.ports[0], &after.ports[0], header).expect("a change");
    let mut change = change.with_line(LineChange::Exchange(Some(Box::new(other))));
    port.apply(&mut change, at, &mut frames, &mut pool).expect("applied");
    assert_eq!(port.port.pace().rate, Some(stepped), "a new controller");
    let plain = policy("q", 9);
    let mut change = PolicyChange::new(0, &after.ports[0], &plain, header)
        .expect("a change")
        .with_line(LineChange::Exchange(None));
    port.apply(&mut change, at, &mut frames, &mut pool).expect("applied");
    assert_eq!(port.port.pace().rate, None, "none");
    port.apply(&mut change, at, &mut frames, &mut pool).expect("undone");
    assert_eq!(port.port.pace().rate, Some(stepped), "undone");
}
