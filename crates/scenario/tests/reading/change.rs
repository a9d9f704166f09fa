//! Changes on a port under load: nothing is lost, duplicated or forgotten.

use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant};
use lockgate_scenario::change::Prepared;
use lockgate_scenario::{Action, Scenario};

use crate::support::{example, scenario};

/// The flows' addresses, as the simulator gives them.
struct Table<'a>(&'a Scenario);

impl Headers for Table<'_> {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        self.0.flows.get(packet.flow.0 as usize).map(|flow| flow.fields)
    }
}

fn changing() -> Scenario {
    scenario(
        &(example().replace("ring  = 16", "").clone()
            + r#"
[port."home->server".queue.other]
kind = "tbf"
rate = "8mbit"
burst = "10kB"
limit = "10000p"
[[change]]
at = "1ms"
set = { "port.home->server.queue.voice.quantum" = "3kB", "port.home->server.queue.rest.limit" = "400p" }
[[change]]
at = "2ms"
set = { "port.home->server.root" = "other" }
[[change]]
at = "3ms"
set = { "port.home->server.queue.other.rate" = "9mbit" }
[[change]]
at = "4ms"
set = { "port.home->server.queue.rest.kind" = "lis", "port.home->server.root" = "link" }
[[change]]
at = "5ms"
set = { "port.home->server.queue.rest.limit" = "3p" }
"#),
    )
}

#[test]
fn no_packet_is_lost_but_those_a_smaller_limit_forces_out() {
    let scenario = changing();
    let headers = Table(&scenario);
    let model = &scenario.ports[4];
    let mut port = Port::new(model.tree.build().expect("a tree"), Random::stream(Seed(1), "port"));
    let mut sequence = [0u32; 2];
    let mut offer = |port: &mut Port, now: Instant, count: u32| {
        for index in 0..count {
            let flow = index % 2;
            let header = Header {
                flow: FlowId(flow),
                sequence: sequence[flow as usize],
                length: if flow == 0 { 200 } else { 1500 },
                ..Header::default()
            };
            sequence[flow as usize] += 1;
            port.offer(Packet::new(header), now, &headers);
        }
        count
    };
    let mut offered = 0;
    let mut received = Vec::new();
    let mut moved = Vec::new();
    for (step, change) in scenario.changes.iter().take(5).enumerate() {
        offered += offer(&mut port, change.at, 60);
        let before = port.backlog().packets;
        let mut prepared = Prepared::from(change.clone());
        let (_, of_port) = prepared.of_port().expect("validated").expect("of a port");
        let count = port.apply(of_port, change.at, &headers).expect("validated").moved_packets;
        assert_eq!(
            port.take_drops().count(),
            if step == 4 { offered as usize / 2 - received_of(&received, 1) - 3 } else { 0 }
        );
        moved.push(count);
        if step < 4 {
            assert_eq!(port.backlog().packets, before, "nothing is lost at step {step}");
        }
        if let Poll::Transmit(packet) = port.poll(change.at, &headers) {
            received.push((packet.flow.0, packet.sequence));
        }
    }
    assert_eq!(moved[0], None, "new parameters move no packet");
    assert!(moved[1] > Some(0) && moved[3] > Some(0), "a new tree takes the waiting packets over: {moved:?}");
    drain(&mut port, &headers, &mut received);
    assert!(port.is_empty());
    let mut seen = received.clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), received.len(), "no packet came twice");
    assert_eq!(
        received.iter().filter(|(flow, _)| *flow == 0).count() as u32,
        offered / 2,
        "all of the flow without a small limit"
    );
    let mut held = Vec::new();
    port.flush(&mut held);
    assert!(held.is_empty());
    port.each_node(&mut |node| assert!(node.is_empty(), "{} has lost a packet", node.name()));
}

/// Sends all packets that wait, from 6 ms on.
fn drain(port: &mut Port, headers: &Table<'_>, received: &mut Vec<(u32, u32)>) {
    let mut now = Instant::ZERO + Duration::from_millis(6);
    loop {
        match port.poll(now, headers) {
            Poll::Transmit(packet) => received.push((packet.flow.0, packet.sequence)),
            Poll::WaitUntil(time) => now = time,
            Poll::Idle => break,
        }
    }
}

fn received_of(received: &[(u32, u32)], flow: u32) -> usize {
    received.iter().filter(|(of, _)| *of == flow).count()
}

#[test]
fn a_change_of_someone_elses_port_is_refused_and_changes_nothing() {
    let scenario = changing();
    let mut port = Port::new(
        lockgate_scenario::QueueTree::fifo().build().expect("a tree"),
        Random::stream(Seed(1), "port"),
    );
    let headers = Table(&scenario);
    port.offer(Packet::new(Header { length: 100, ..Header::default() }), Instant::ZERO, &headers);
    let mut change = Prepared::from(scenario.changes[0].clone());
    let (_, of_port) = change.of_port().expect("validated").expect("of a port");
    assert!(port.apply(of_port, Instant::ZERO, &headers).is_err());
    assert_eq!(port.backlog().packets, 1);
}

#[test]
fn a_change_asked_for_during_the_run_is_one_of_the_file() {
    let scenario = changing();
    let set = |text: &str| lockgate_scenario::Override::parse(text).expect("an override");
    let at = Instant::ZERO + Duration::from_micros(3_500);
    let asked = [set("port.home->server.queue.other.rate=7mbit"), set("link.wan.delay=3ms")];
    let (changed, new) = scenario.with_change(at, &asked, &crate::support::files()).expect("a change");
    let paths: Vec<&str> = new.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["port.home:server.queue.other.rate", "link.wan.delay"]);
    assert!(new.iter().all(|change| change.at == at));
    assert_eq!(changed.changes.len(), scenario.changes.len() + 2);
    // The next one builds on it: the tree has both changes.
    let later = at + Duration::from_micros(1);
    let (_, new) = changed
        .with_change(later, &[set("port.home->server.queue.other.burst=20kB")], &crate::support::files())
        .expect("a change");
    let Action::Port { before, tree, .. } = &new[0].action else { panic!("{:?}", new[0]) };
    assert_eq!(tree.differs_in(before), Some(vec!["other".to_owned()]));
    assert_eq!(tree.queues()[0].config["rate"].as_str(), Some("7mbit"));
    let refused =
        scenario.with_change(at, &[set("port.home->server.queue.other.rate=0bit")], &crate::support::files());
    assert!(crate::support::rendered(&refused.expect_err("refused")).contains("of zero lets nothing pass"));
}

/// A wrong key of a port is one problem, though a change edits the same port.
#[test]
fn a_problem_of_the_file_is_not_repeated_for_its_changes() {
    let text = r#"
duration = "9s"
node = { a = {}, b = {} }
[link.l]
between = ["a", "b"]
rate = "1mbit"
dely = "5ms"
[port."a:b"]
rooot = "q"
queue.q = { kind = "fifo", limit = "50p" }
[flow.f]
from = "a"
to = "b"
size = "100B"
gap = "1s"
[[change]]
at = "1s"
set = { "port.a:b.queue.q.limit" = "7p", "link.l.rate" = "2mbit" }
"#;
    let files = std::collections::BTreeMap::<String, std::sync::Arc<[u8]>>::new();
    let problems = lockgate_scenario::read(text, "text", &files, &[]).expect_err("two problems");
    let messages: Vec<&str> = problems.iter().map(lockgate_scenario::Problem::message).collect();
    assert_eq!(messages, ["`link.l` has no key `dely`", "`port.a:b` has no key `rooot`"]);
}
