//! Laws of the results of shipped scenarios: every address that an expectation accepts is in `summary.json`
//! with the value that the expectation sees, goodput is at most throughput, and a queue is not charged with
//! an earlier tree's backlog.

use std::collections::BTreeSet;
use std::path::Path;

use lockgate::{Recording, Summary};
use lockgate_measure::metric::{Address, Better, METRICS, MemberStatistic, Statistic, Subject, SubjectKind};
use lockgate_measure::summary::{Bound, Expected, FlowTable};

/// Scenarios with groups, trees, changes of trees, calls, pages, echoes and files.
const SCENARIOS: [(&str, &[&str]); 6] = [
    ("scenarios/home.toml", &[]),
    ("scenarios/bufferbloat.toml", &[]),
    ("scenarios/isp.toml", &["node.sub.count=60", "record.detail=groups", "duration=3s"]),
    ("scenarios/isp.toml", &["node.sub.count=12", "record.detail=totals", "duration=3s"]),
    ("scenarios/backup.toml", &[]),
    ("scenarios/calls-and-pages.toml", &[]),
];

fn run(name: &str, settings: &[&str]) -> (Recording, Summary) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let scenario = lockgate::read(file, settings).unwrap_or_else(|error| panic!("{name}: {error}"));
    let runs = lockgate::run(&scenario, &lockgate::Options::default()).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    (runs.recordings.into_iter().next().expect("one run"), summary)
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Every subject that an address can begin with, whether it has metrics or not.
fn subjects(summary: &Summary) -> Vec<String> {
    let mut subjects = vec![String::new(), "flow.*.".to_owned()];
    subjects.extend(summary.flows.keys().map(|flow| format!("flow.{}.", quoted(flow))));
    for group in summary.groups.keys() {
        subjects.push(format!("flow.{}.", quoted(&format!("{group}/*"))));
        subjects.push(format!("group.{}.", quoted(group)));
        subjects.extend((1..=10).map(|bin| format!("group.{}.bin.{bin}.", quoted(group))));
    }
    for (port, results) in &summary.ports {
        let port = format!("port.{}.", quoted(port));
        let groups = results.queues.keys().filter_map(|queue| queue.split_once('/'));
        let groups: BTreeSet<String> = groups.map(|(group, _)| format!("{group}/*")).collect();
        let patterns = groups.into_iter().chain(["*".to_owned()]);
        let queues = results.queues.keys().cloned().chain(patterns);
        subjects.extend(queues.map(|queue| format!("{port}queue.{}.", quoted(&queue))));
        subjects.push(port);
    }
    subjects
}

/// Every end of an address of such a subject: metric and statistic; if it stands for several, also a
/// statistic over them.
fn ends(subject: &str) -> Vec<String> {
    let is_group = subject.starts_with("group.");
    let over: Vec<String> = MemberStatistic::all()
        .filter(|_| is_group || subject.contains('*'))
        .map(|over| format!(".{}", over.name()))
        .collect();
    let mut ends = Vec::new();
    let is_about = |about: SubjectKind| match about {
        SubjectKind::Run => subject.is_empty(),
        SubjectKind::Flow => is_group || subject.starts_with("flow."),
        SubjectKind::Group => is_group,
        SubjectKind::Port => subject.starts_with("port.") && !subject.contains(".queue."),
        SubjectKind::Queue => subject.contains(".queue."),
    };
    for metric in METRICS.iter().filter(|metric| is_about(metric.about())) {
        let of_distribution = Statistic::ALL.into_iter().filter(|_| metric.is_distribution());
        let first = of_distribution.map(|(_, name)| format!(".{name}"));
        for first in first.chain((!metric.is_distribution()).then(String::new)) {
            let seconds = over.iter().map(String::as_str).chain([""]);
            ends.extend(seconds.map(|second| format!("{}{first}{second}", metric.name)));
        }
    }
    ends
}

/// True if the written summary leaves the address out: a member that is not among the worst of a run that
/// records members briefly, or a pattern that stands for one flow or queue alone.
fn is_left_out(address: &Address, summary: &Summary, written: &Summary) -> bool {
    if address.is_many() {
        return summary.values(address).len() < 2;
    }
    match &address.subject {
        Subject::Flow(flow) => !written.flows.contains_key(flow),
        Subject::Port(port) => !written.ports.contains_key(port),
        Subject::Queue(port, queue) => {
            written.ports.get(port).is_none_or(|port| !port.queues.contains_key(queue))
        }
        Subject::Run | Subject::Group(_) | Subject::Bin(..) => false,
    }
}

#[test]
fn every_address_that_an_expectation_accepts_is_in_the_written_metrics() {
    for (name, settings) in SCENARIOS {
        let (_, summary) = run(name, settings);
        let written = summary.written();
        let (mut found, mut over_members) = (BTreeSet::new(), 0);
        for subject in subjects(&summary) {
            for end in ends(&subject) {
                let path = format!("{subject}{end}");
                let Ok(address) = Address::parse(&path) else { continue };
                let is_left_out = is_left_out(&address, &summary, &written);
                let kept = written.metrics.get(&address.to_string());
                // What `expect` compares with its bounds.
                match summary.value(&address) {
                    Some(value) if !is_left_out => {
                        assert_eq!(kept, Some(&Some(value)), "{name}: {path}");
                        over_members += usize::from(address.member_statistic.is_some());
                        found.insert(address.to_string());
                    }
                    // A member that is left out, unless an expectation on all members names it.
                    Some(value) => {
                        assert!(kept.is_none_or(|kept| *kept == Some(value)), "{name}: {path}");
                        found.extend(kept.map(|_| address.to_string()));
                    }
                    None => assert!(kept.is_none_or(Option::is_none), "{name}: {path}"),
                }
            }
        }
        assert!(over_members > 1000, "{name}: {over_members}");
        for expectation in &summary.expect {
            assert!(written.metrics.contains_key(&expectation.that), "{name}: {}", expectation.that);
        }
        let is_single = |path: &&String| !Address::parse(path).is_ok_and(|address| address.is_many());
        for (path, value) in written.metrics.iter().filter(|(path, _)| is_single(path)) {
            assert!(value.is_none() || found.contains(path), "{name}: `{path}` is not an address");
        }
        // A flow or group without files has no completion times, not even empty ones.
        let (calls, home) = ("group.call.fct.mean", "flow.call.retransmissions");
        assert!(!written.metrics.contains_key(calls) && !written.metrics.contains_key(home), "{name}");
        let bytes = serde_json::to_string_pretty(&written).expect("a document").len();
        assert!(bytes < 1_500_000, "{name}: {bytes} bytes");
    }
}

/// The value at a pattern without a statistic is what an expectation on each member compares: the worst one,
/// and none if nothing was observed of one that can have the metric.
#[test]
fn a_pattern_has_the_value_of_the_member_that_decides() {
    let (mut nothing_observed, mut observed) = (0, 0);
    for (name, settings) in [SCENARIOS[0], SCENARIOS[4]] {
        let (_, mut summary) = run(name, settings);
        for subject in subjects(&summary).iter().filter(|subject| subject.contains('*')) {
            for end in ends(subject) {
                let path = format!("{subject}{end}");
                let Ok(address) = Address::parse(&path) else { continue };
                if address.member_statistic.is_some() || summary.values(&address).is_empty() {
                    continue;
                }
                let bound = match address.metric.better {
                    Some(Better::Higher) => Bound::AtLeast(0.0),
                    _ => Bound::AtMost(0.0),
                };
                let expected = Expected { that: path.clone(), bounds: vec![bound], ..Expected::default() };
                summary.expect(&expected).expect("a metric");
                let judged = summary.expect.pop().expect("one");
                assert_eq!(judged.value, summary.value(&address), "{name}: {path}");
                let lacks = summary.values(&address).iter().any(|(_, value)| value.is_none());
                assert_eq!(judged.value.is_none(), lacks, "{name}: {path}");
                *(if lacks { &mut nothing_observed } else { &mut observed }) += 1;
            }
        }
    }
    assert!(nothing_observed > 10 && observed > 100, "{nothing_observed} {observed}");
}

/// Of several runs, an expectation counts the members of the one in which the fewest keep it.
#[test]
fn members_are_counted_in_the_worst_run() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/isp.toml");
    let settings = ["node.sub.count=60", "record.detail=groups", "duration=2s"];
    let scenario = lockgate::read(file, &settings).expect("a scenario");
    let seeds: Vec<lockgate::Seed> = (1..=3).map(lockgate::Seed).collect();
    let runs = lockgate::run(&scenario, &lockgate::Options { seeds, ..lockgate::Options::default() });
    let mut summary = lockgate::summarise(&scenario, &runs.expect("runs").recordings).expect("a summary");
    let address = Address::parse("flow.video/*.owd.p99").expect("an address");
    let delays = |run: &Summary| -> Vec<f64> {
        run.values(&address).into_iter().filter_map(|(_, value)| value).collect()
    };
    let mut first = delays(&summary);
    first.sort_by(f64::total_cmp);
    let bound = first[first.len() / 2];
    let held: Vec<u64> = std::iter::once(&summary)
        .chain(&summary.repetitions)
        .map(|run| delays(run).iter().filter(|delay| **delay <= bound).count() as u64)
        .collect();
    let fewest = *held.iter().min().expect("runs");
    let bounds = vec![Bound::AtMost(bound)];
    summary.expect(&Expected { that: address.to_string(), bounds, ..Expected::default() }).expect("a metric");
    let members = summary.expect.last().and_then(|expect| expect.members).expect("several");
    assert_eq!(members.held, fewest, "{held:?}");
    assert!(held.iter().any(|one| *one != fewest), "the runs differ: {held:?}");
}

/// What the command's tables show as the worst is in the file, flow by flow and queue by queue.
#[test]
fn the_worst_of_a_run_recorded_briefly_are_written() {
    let (_, summary) =
        run("scenarios/isp.toml", &["node.sub.count=60", "record.detail=groups", "duration=3s"]);
    let written = summary.written();
    assert!(written.flows.len() < summary.flows.len() && written.ports.len() < summary.ports.len());
    for table in FlowTable::ALL {
        let mut rows: Vec<_> = summary.flows.iter().map(|(name, flow)| (table.badness(flow), name)).collect();
        rows.retain(|(badness, _)| badness.is_some());
        lockgate_measure::summary::sort_worst_first(&mut rows);
        for (_, name) in rows.iter().take(lockgate_measure::summary::WORST) {
            assert_eq!(written.flows.get(*name), summary.flows.get(*name), "{table:?}: {name}");
            assert!(written.metrics.contains_key(&format!("flow.{name}.throughput")), "{table:?}: {name}");
        }
    }
    let queues = summary.ports.iter().flat_map(|(port, results)| {
        results.queues.iter().map(move |(name, queue)| (queue.badness(), (port, name)))
    });
    let mut rows: Vec<_> = queues.collect();
    lockgate_measure::summary::sort_worst_first(&mut rows);
    for (_, (port, queue)) in rows.iter().take(lockgate_measure::summary::WORST) {
        assert!(written.ports[*port].queues.contains_key(*queue), "{port} {queue}");
        assert!(written.metrics.contains_key(&format!("port.{port}.queue.{queue}.sojourn.p99")), "{queue}");
    }
}

/// Payload counts when it arrives, so it is at most what arrived less the headers: 54 bytes and more a frame
/// over TCP.
#[test]
fn goodput_is_at_most_the_payload_of_the_throughput() {
    for (name, settings) in SCENARIOS {
        let (recording, _) = run(name, settings);
        for flow in &recording.flows {
            let (received, payload) = (flow.received_in_window(), flow.payload_in_window().0);
            let most = received.bytes.0.saturating_sub(received.packets * 42);
            assert!(payload <= most, "{name}: {} has {payload} of {most} bytes", flow.setup.name);
        }
    }
}

/// The queues replaced at 30 s had the long wait; those that cure it have the packets that arrived at them.
#[test]
fn a_wait_in_a_replaced_queue_is_not_its_successors() {
    let (_, summary) = run("scenarios/bufferbloat.toml", &[]);
    let queues = &summary.ports["router:client"].queues;
    let (bloated, fair) = (&queues["bloated"], &queues["fair"]);
    assert!(fair.moved_in_packets > 500 && fair.moved_in_packets == bloated.moved_out_packets);
    let worst = |queue: &lockgate_measure::summary::QueueSummary| queue.sojourn_s.p99.expect("packets");
    assert!(worst(bloated) > 0.9 && worst(fair) < 0.8 * worst(bloated), "{} {}", worst(bloated), worst(fair));
    // Each had the link of 10 Mbit/s for its part of the window.
    for queue in [bloated, fair] {
        let rate = queue.throughput_bps.expect("packets");
        assert!((9.7e6..1.001e7).contains(&rate), "{rate}");
    }
    let finding = lockgate::verdict::main_finding(&summary);
    assert!(finding.contains("in bloated (fifo) at router:client until it was replaced,"), "{finding}");
}

/// Packets count in the phase in which they were sent: those of both phases are those of the window, and the
/// cure is not blamed for waits before it.
#[test]
fn each_phase_between_changes_has_its_own_results() {
    let (recording, mut summary) = run("scenarios/bufferbloat.toml", &[]);
    let call = recording.flows.iter().find(|flow| flow.setup.name == "call").expect("the call");
    let phases = recording.phases();
    assert_eq!(phases.len(), 2);
    let [before, after] = [0, 1].map(|index| call.part(phases[index]).expect("recorded by phase").delays());
    assert_eq!(before.owd.count() + after.owd.count(), call.delays().owd.count());
    assert!(after.owd.max() < before.owd.quantile(0.5));
    let [before, after] = summary.phases.as_slice() else { panic!("two phases") };
    assert_eq!((before.from_s, before.to_s, after.from_s, after.to_s), (5.0, 30.0, 30.0, 60.0));
    assert_eq!((before.changes.len(), after.changes.join(", ")), (0, "router:client = fair".to_owned()));
    assert!(after.moved_packets > 500 && after.forced_out_packets == 0);
    let value =
        |phase: &lockgate_measure::summary::PhaseSummary, path: &str| phase.values[path].expect("a value");
    let waits = [before, after].map(|phase| value(phase, "flow.call.owd.p50"));
    assert!(waits[0] > 20.0 * waits[1], "{waits:?}");
    // The judged metric has a row, and the mean over both phases is that of the window.
    let rates = [before, after].map(|phase| value(phase, "flow.download/1.goodput"));
    let mean = (25.0 * rates[0] + 30.0 * rates[1]) / 55.0;
    let whole = summary.metric("flow.download/1.goodput").expect("a value");
    assert!((mean / whole - 1.0).abs() < 1e-9, "{mean} {whole}");
    let sentences = summary.verdict().sentences();
    assert!(sentences[1].starts_with("At 30 s, router:client = fair: call delay median "), "{sentences:?}");
    assert!(
        sentences[1].contains(" times less; ") && sentences[1].ends_with(" moved, none of them lost."),
        "{sentences:?}"
    );
    summary.expect.clear();
    assert_eq!(summary.verdict().outcome, lockgate_measure::verdict::Outcome::None);
}

/// A part of a run has the values of a run whose warm-up ends where the part begins, and which ends with it:
/// to the packet at ports, also over a change of the tree, and for what a flow sent and received. The times
/// are none at which packets are sent: a packet whose transmission begins at the very end of a run is still
/// of the run.
#[test]
fn a_part_of_a_run_is_as_exact_as_a_run() {
    const OF_FLOWS: [&str; 8] = [
        "throughput",
        "goodput",
        "sent_packets",
        "sent_bytes",
        "retransmissions",
        "timeouts",
        "cwnd_mean",
        "rtt_mean",
    ];
    for (name, from, to, rest) in [
        (
            "scenarios/bufferbloat.toml",
            "12.0031s",
            "35.0047s",
            ["record.interval=100ms", "record.detail=all"],
        ),
        ("scenarios/home.toml", "7.0013s", "11.0019s", ["record.interval=50ms", "record.detail=all"]),
        ("scenarios/isp.toml", "1.0007s", "2.0009s", ["node.sub.count=40", "record.interval=50ms"]),
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        let of = |settings: &[&str], that: Option<&str>| {
            let mut scenario =
                lockgate::read(&file, settings).unwrap_or_else(|error| panic!("{name}: {error}"));
            scenario.expects.clear();
            let ports: Vec<String> =
                scenario.ports.iter().map(|port| format!("port.{}.utilisation", port.name)).collect();
            let subjects = ports.iter().map(String::as_str).chain(["jain_index"]);
            let bound =
                |that: String| Expected { that, bounds: vec![Bound::AtLeast(0.0)], ..Expected::default() };
            scenario.expects.extend(
                that.into_iter().flat_map(|part| {
                    subjects.clone().map(move |subject| bound(format!("{subject} @ {part}")))
                }),
            );
            let runs = lockgate::run(&scenario, &lockgate::Options::default()).expect("a run");
            lockgate::summarise(&scenario, &runs.recordings).expect("a summary")
        };
        let part = format!("{from}..{to}");
        let whole = of(&rest, Some(&part));
        let [warmup, duration] = [format!("warmup={from}"), format!("duration={to}")];
        let alone = of(&[&rest[..], &[warmup.as_str(), duration.as_str()]].concat(), None);
        let mut compared = 0;
        for address in alone.addresses(|subject| !matches!(subject, Subject::Group(_) | Subject::Bin(..))) {
            let is_exact =
                !matches!(address.subject, Subject::Flow(_)) || OF_FLOWS.contains(&address.metric.name);
            if !address.metric.parts || !is_exact {
                continue;
            }
            let value = alone.value(&address);
            let path = format!("{address} @ {part}");
            assert_eq!(whole.metric(&path).ok(), value, "{name}: {path}");
            compared += usize::from(value.is_some());
        }
        assert!(compared > 50, "{name}: {compared}");
    }
}
