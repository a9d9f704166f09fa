//! Laws of the worst packet: it is the packet with the largest delay, its stays are the rows of its packet in
//! the recording, and what stood before it is what the recording says left the port in that time.

use std::collections::BTreeMap;

use lockgate::{Options, Recording, Scenario, Seed};
use lockgate_measure::recording::PacketRow;
use lockgate_measure::report::{Stay, WorstPacket};

const KINDS: [&str; 7] = [
    "kind = \"fifo\", limit = \"200p\"",
    "kind = \"fq_codel\"",
    "kind = \"cake\", bandwidth = \"900kbit\"",
    "kind = \"tbf\", rate = \"800kbit\", burst = \"5kB\", limit = \"90kB\"",
    "kind = \"sfq\"",
    "kind = \"drr\", children = [\"x\", \"y\"]",
    "kind = \"prio\", children = [\"x\", \"y\"]",
];

fn scenario(kind: &str) -> Scenario {
    on_line(kind, "")
}

/// Returns the scenario with further keys of the link from `m` to `r`.
fn on_line(kind: &str, line: &str) -> Scenario {
    let below = "queue.x = { kind = \"fifo\", limit = \"200p\", match = [{ flow = \"bulk\" }] }\n\
                 queue.y = { kind = \"fifo\", limit = \"5p\" }\n";
    let below = if kind.contains("children") { below } else { "" };
    let text = format!(
        "duration = \"3s\"\nwarmup = \"200ms\"\nrecord.packets = true\nnode = {{ h = {{}}, m = {{}}, r = {{}} }}\n\
         link.l = {{ between = [\"h\", \"m\"], rate = \"3mbit\", loss = \"1%\" }}\n\
         link.k = {{ between = [\"m\", \"r\"], rate = \"1mbit\", delay = \"40ms\", loss = \"2%\"{line} }}\n\
         [port.\"m:r\"]\nroot = \"q\"\nqueue.q = {{ {kind} }}\n{below}[flow]\n\
         bulk = {{ from = \"h\", to = \"r\", transport = \"udp\", size = \"500B\", rate = \"1200kbit\", stop = \"2s\" }}\n\
         probe = {{ from = \"h\", to = \"r\", transport = \"udp\", size = \"98B\", gap = \"7ms\", echo = true }}\n\
         file = {{ from = \"h\", to = \"r\", transport = \"tcp\", bytes = \"unlimited\" }}\n\
         call = {{ from = \"r\", to = \"h\", profile = \"g711\" }}\n"
    );
    lockgate::read_text(&text, "law", &lockgate::no_files(), &[])
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns a time in nanoseconds; both sides are rounded from the same picoseconds.
fn nanos(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

fn departed(row: &PacketRow) -> f64 {
    row.departed.map_or(f64::INFINITY, lockgate::units::Instant::as_secs_f64)
}

/// Checks a stay against the recording's rows of its port.
fn check_stay(scenario: &Scenario, rows: &[PacketRow], stay: &Stay, packet: &WorstPacket) {
    let (arrived, left) = (stay.arrived_s, stay.arrived_s + stay.waited_s);
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    let at_port = |row: &&PacketRow| scenario.ports[row.port as usize].name == stay.port;
    for row in rows.iter().filter(at_port) {
        let time = departed(row);
        if nanos(time) >= nanos(arrived) && nanos(time) < nanos(left) {
            *counted.entry(scenario.flows[row.flow.0 as usize].name.as_str()).or_default() += 1;
        }
    }
    let mut told: BTreeMap<&str, u64> = BTreeMap::new();
    for served in stay.served.iter().filter(|served| served.packets > 0) {
        *told.entry(served.flow.as_deref().expect("packets have a flow")).or_default() += served.packets;
    }
    // The packet that was being transmitted at the arrival left before it.
    let (all, ours) = (counted.values().sum::<u64>(), told.values().sum::<u64>());
    assert!(
        ours == all || ours == all + 1,
        "{} of {}: {told:?}, recorded {counted:?}",
        stay.port,
        packet.flow
    );
    for (flow, packets) in &counted {
        let named = told.get(flow).copied().unwrap_or(0);
        assert!(named == *packets || named == packets + 1, "{flow} at {}: {told:?}, {counted:?}", stay.port);
    }
    // Of a long stay the last 400 blocks are kept.
    let mut end =
        stay.blocks.first().filter(|_| stay.blocks.len() == 400).map_or(0, |block| nanos(block.from_s));
    for block in &stay.blocks {
        assert_eq!(nanos(block.from_s), end, "blocks follow one another at {}", stay.port);
        end = nanos(block.to_s);
    }
    assert!(stay.blocks.is_empty() || end == nanos(stay.waited_s), "the last block ends at the departure");
    let times: f64 = stay.served.iter().map(|served| served.time_s).sum();
    assert!(stay.blocks.is_empty() || (times - stay.waited_s).abs() < 1e-9, "times of {}", stay.port);
}

/// Checks the time in which a shaper lets its link rest: the part of the link's rate that it leaves.
fn check_idle(kind: &str, stay: &Stay) {
    let left = match kind {
        kind if kind.contains("800kbit") => 0.2,
        kind if kind.contains("900kbit") => 0.1,
        _ => 0.0,
    };
    if stay.port == "m:r" && stay.waited_s > 0.1 {
        let idle: f64 = stay.served.iter().filter(|of| of.flow.is_none()).map(|of| of.time_s).sum();
        assert!((idle / stay.waited_s - left).abs() < 0.04, "{kind}: {idle} of {} s", stay.waited_s);
    }
}

fn check(scenario: &Scenario, recording: &Recording, rows: &[PacketRow], packet: &WorstPacket) {
    let index = scenario.flows.iter().position(|flow| flow.name == packet.flow).expect("its flow");
    let record = recording.flows.iter().find(|record| record.setup.name == packet.flow).expect("its record");
    let largest = record.delays().owd.max().expect("packets") as f64 / 1e12;
    assert!((packet.owd_s - largest).abs() < 1e-12, "{}: {} for {largest}", packet.flow, packet.owd_s);
    let own = rows.iter().filter(|row| row.flow.0 as usize == index && row.sequence == packet.sequence);
    let recorded: Vec<_> = own.map(|row| (row.port, nanos(row.arrived.as_secs_f64()))).collect();
    let port = |stay: &Stay| scenario.ports.iter().position(|port| port.name == stay.port).expect("its port");
    let told: Vec<_> = packet.stays.iter().map(|stay| (port(stay) as u32, nanos(stay.arrived_s))).collect();
    assert_eq!(told, recorded, "{}: packet {}", packet.flow, packet.sequence);
    let waited: f64 = packet.stays.iter().map(|stay| stay.waited_s).sum();
    assert!((waited + packet.beside_queues_s - packet.owd_s).abs() < 1e-9);
    for stay in &packet.stays {
        check_stay(scenario, rows, stay, packet);
    }
}

#[test]
fn the_worst_packet_is_the_recorded_one_behind_what_was_recorded() {
    let mut waited = 0;
    for kind in KINDS {
        let scenario = scenario(kind);
        for seed in 1..=3 {
            let options = Options { seeds: vec![Seed(seed)], ..Options::default() };
            let runs = lockgate::run(&scenario, &options).expect("it runs");
            let recording = &runs.recordings[0];
            let rows: Vec<_> = recording.packets.as_ref().expect("rows are kept").iter().collect();
            let flows: Vec<String> = ["bulk", "probe", "file", "call"].map(str::to_owned).to_vec();
            let worst = lockgate::worst_packets(&scenario, Seed(seed), recording, &flows, "", &|| false)
                .expect("a second run");
            let found = |name: &String| worst.iter().any(|packet| packet.flow == *name);
            for record in &recording.flows {
                // A call may be silent in the window.
                let (name, has_packets) = (&record.setup.name, !record.delays().owd.is_empty());
                assert_eq!(found(name), has_packets && flows.contains(name), "{name}: {kind}, seed {seed}");
            }
            for packet in &worst {
                check(&scenario, recording, &rows, packet);
                packet.stays.iter().for_each(|stay| check_idle(kind, stay));
                waited += packet.stays.iter().filter(|stay| stay.waited_s > 0.01).count();
            }
        }
    }
    assert!(waited > 60, "{waited} long waits: the law would hold of nothing");
}

/// On a line that follows a trace several packets leave at an instant: each of them counts.
#[test]
fn in_a_fifo_as_many_packets_are_served_as_were_before_it() {
    let mut compared = 0;
    let trace =
        ", trace = { up = { law = \"cellular\", rate = \"900kbit\", swing = 0.5, hold = \"300ms\" } }";
    for line in ["", trace] {
        let scenario = on_line(KINDS[0], line);
        let runs = lockgate::run(&scenario, &Options::default()).expect("it runs");
        let flows = ["bulk", "probe", "file"].map(str::to_owned);
        let worst = lockgate::worst_packets(&scenario, Seed(1), &runs.recordings[0], &flows, "", &|| false)
            .expect("found");
        for stay in worst.iter().flat_map(|packet| &packet.stays).filter(|stay| stay.waited_s > 0.0) {
            let served: u64 = stay.served.iter().map(|served| served.packets).sum();
            assert_eq!(served, stay.ahead_packets, "at {}: {:?}", stay.port, stay.served);
            compared += u64::from(served > 10);
        }
    }
    assert!(compared > 2, "{compared} long stays: the law would hold of nothing");
}

#[test]
fn of_live_runs_and_large_ones_no_packet_is_looked_for() {
    let scenario = scenario(KINDS[0]);
    let runs = lockgate::run(&scenario, &Options::default()).expect("it runs");
    let mut recording = runs.recordings.into_iter().next().expect("a run");
    let summary = lockgate::summarise(&scenario, core::slice::from_ref(&recording)).expect("metrics");
    assert!(lockgate::judged_flows(&recording, &summary).is_empty(), "nothing is judged");
    recording.mode = lockgate_measure::recording::Mode::Live;
    let worst = lockgate::worst_packets(&scenario, Seed(1), &recording, &["bulk".to_owned()], "", &|| false);
    assert_eq!(worst.expect("no run"), []);
}
