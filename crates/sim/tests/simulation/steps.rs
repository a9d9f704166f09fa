//! Runs in steps: equal to a run in one, whatever the steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::explanation::Choice;
use lockgate_engine::pacing::Pace;
use lockgate_engine::port::PortChange;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Rate};
use lockgate_measure::recording::Window;
use lockgate_scenario::Override;
use lockgate_sim::{Control, Progress, Simulation, StepEvent, Stepper, run};

use crate::common::{assert_same, one_link, scenario};

const FLOWS: &str = r#"
[flow.poisson]
from = "a"
to = "b"
transport = "udp"
size = "900B"
gap = { distribution = "exponential", mean = "900us" }
[flow.download]
from = "b"
to = "a"
transport = "tcp"
bytes = "unlimited"
"#;

fn text() -> String {
    one_link("4s", "8mbit", "root = \"q\"\nqueue.q = { kind = \"fq_codel\" }", FLOWS)
}

#[test]
fn steps_of_any_length_yield_the_run_in_one() {
    let changed =
        format!("{}\n[[change]]\nat = \"2s\"\nset = {{ \"link.line.rate\" = \"3mbit\" }}\n", text());
    let scenario = scenario(&changed);
    let whole = run(&scenario, Seed(3), &mut |_| Control::Continue).expect("a run");
    let mut random = Random::stream(Seed(1), "steps");
    for longest_ns in [1_000_000_000, 30_000_000, 700_000] {
        let mut simulation = Simulation::owning(scenario.clone(), Seed(3)).expect("a network");
        let mut steps = 0;
        while simulation
            .step_until(simulation.now() + Duration::from_picos(1_000 * u64::from(random.below(longest_ns))))
            .expect("a step")
            == Progress::Reached
        {
            steps += 1;
        }
        assert!(steps >= 4, "{steps} steps");
        assert_eq!(simulation.now(), scenario.end());
        assert_eq!(simulation.step_until(Instant::NEVER).expect("a step"), Progress::Ended, "it stays so");
        let stepped = simulation.finish().expect("a balanced account");
        assert!(!stepped.stopped_early);
        assert_same(&stepped.recording, &whole.recording);
    }
}

/// Queues of a port that is stepped through: shaped, with a control law, coarse, and before a device ring.
const STEPPED: [&str; 6] = [
    "root = \"q\"\nqueue.q = { kind = \"fq_codel\" }",
    "root = \"q\"\nqueue.q = { kind = \"tbf\", rate = \"5mbit\", burst = \"10kB\" }",
    "root = \"q\"\nqueue.q = { kind = \"cake\", bandwidth = \"6mbit\" }",
    "root = \"q\"\nclock = { source = \"jiffies\", hz = 250 }\nqueue.q = { kind = \"codel\" }",
    "root = \"q\"\nring = { slots = 3 }\nqueue.q = { kind = \"pie\" }",
    "root = \"q\"\nqueue = { q = { kind = \"wfq\", children = [\"one\", \"two\"] }, \
     one = { kind = \"fifo\", weight = 3, match = [{ flow = \"poisson\" }] }, two = { kind = \"codel\" } }",
];

/// Steps from decision to decision: the run stays the same, every packet of the port is in a step, and each
/// decision is as explained.
#[test]
fn steps_from_decision_to_decision_yield_the_run_in_one() {
    for queues in STEPPED {
        let scenario = scenario(&one_link("4s", "8mbit", queues, FLOWS));
        let whole = run(&scenario, Seed(3), &mut |_| Control::Continue).expect("a run");
        let port = scenario.port("a:b").expect("a port");
        let mut stepper = Stepper::new(&scenario, Seed(3), port).expect("a network");
        let (mut arrived, mut left, mut last) = (0_usize, 0_usize, Instant::ZERO);
        while let Some(step) = stepper.next(Instant::NEVER).expect("a step") {
            assert!(step.at >= last, "time never goes back");
            assert_eq!(step.packets, arrived - left, "{queues}");
            assert_eq!(step.queue.len(), step.packets.min(64));
            last = step.at;
            match (&step.event, step.decision.as_ref().map(|decision| decision.choice)) {
                (StepEvent::Arrival(_), None) => arrived += 1,
                (StepEvent::Drop(..), None) => left += 1,
                (StepEvent::Departure { packet, .. }, Some(Choice::Packet { packet: named, .. })) => {
                    assert_eq!((packet.sequence, packet.length), (named.sequence, named.length));
                    assert!(step.queue.iter().any(|waiting| waiting.packet == *packet) || step.packets > 64);
                    left += 1;
                }
                (StepEvent::Wait(time), Some(Choice::Wait(named))) => assert_eq!(*time, named),
                (StepEvent::Empty, Some(Choice::Empty)) => {}
                other => panic!("{queues}: {other:?}"),
            }
        }
        assert!(arrived > 1_000 && left > 1_000, "{queues}: {arrived} arrived, {left} left");
        let finished = stepper.finish_run().expect("a balanced account");
        assert_same(&finished.recording, &whole.recording);
    }
}

/// A run that is skipped to a time has the steps from there on that it has without.
#[test]
fn steps_from_a_time_on_are_the_later_steps_of_the_run() {
    let scenario = scenario(&text());
    let (from, until) =
        (Instant::ZERO + Duration::from_secs(1), Instant::ZERO + Duration::from_millis(1_200));
    let steps = |skips: bool| {
        let mut stepper = Stepper::new(&scenario, Seed(3), 0).expect("a network");
        if skips {
            stepper.skip_to(from).expect("a run");
        }
        let mut steps = Vec::new();
        while let Some(step) = stepper.next(until).expect("a step") {
            if step.at >= from {
                steps.push(format!("{step:?}"));
            }
        }
        steps
    };
    let skipped = steps(true);
    assert!(skipped.len() > 100, "{}", skipped.len());
    assert_eq!(skipped, steps(false));
}

#[test]
fn a_step_ends_after_everything_at_its_time() {
    let flows = "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"1000B\"\ngap = \"1ms\"";
    let scenario = scenario(&one_link("1s", "8mbit", "root = \"q\"\nqueue.q = { kind = \"fifo\" }", flows));
    let mut simulation = Simulation::new(&scenario, Seed(1)).expect("a network");
    let sent =
        |simulation: &mut Simulation<'_>| simulation.observe().flows[0].totals(Window::WholeRun).sent.packets;
    let mut counts = Vec::new();
    for until in [Duration::from_micros(1_999), Duration::from_millis(2), Duration::from_millis(5)] {
        simulation.step_until(Instant::ZERO + until).expect("a step");
        assert_eq!(simulation.now(), Instant::ZERO + until);
        counts.push(sent(&mut simulation));
    }
    // Packets are sent at 1 ms, 2 ms, ...
    assert_eq!(counts, [1, 2, 5]);
    assert_eq!(simulation.step_until(Instant::ZERO).expect("a step"), Progress::Reached);
    assert_eq!(simulation.now(), Instant::ZERO + Duration::from_millis(5), "the clock does not go back");
    let outcome = simulation.finish().expect("a balanced account");
    assert!(outcome.stopped_early);
    assert_eq!(outcome.recording.duration, Duration::from_millis(5));
}

#[test]
fn a_setting_is_the_change_of_the_file_and_what_is_wrong_with_it_changes_nothing() {
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let written = "at = \"1.000000000001s\"\nset = { \"link.line.rate\" = \"3mbit\" }";
    let written = scenario(&format!("{}\n[[change]]\n{written}\n", text()));
    let whole = run(&written, Seed(7), &mut |_| Control::Continue).expect("a run");
    let mut simulation = Simulation::owning(scenario(&text()), Seed(7)).expect("a network");
    simulation.step_until(Instant::ZERO + Duration::from_secs(1)).expect("a step");
    for wrong in ["3", "-1mbit"] {
        let wrong = Override::new("link.line.rate", wrong).expect("a path");
        assert!(simulation.set(&[wrong], &files).is_err());
    }
    let rate = Override::new("link.line.rate", "3mbit").expect("a path");
    let made = simulation.set(&[rate], &files).expect("accepted");
    assert_eq!(made.len(), 1);
    let set = simulation.finish_run().expect("a balanced account");
    assert_same(&set.recording, &whole.recording);
}

/// Ten times a second another rate of the port: by typed changes as by a timeline of the file.
#[test]
fn a_rate_is_stepped_as_by_the_timeline() {
    const RATES: [u64; 7] = [2, 8, 1, 16, 3, 5, 4];
    let flows = "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"1000B\"\ngap = \"1.3ms\"\n\
                 [record]\npackets = true\n";
    for queue in ["kind = \"fifo\", limit = \"60p\"", "kind = \"pie\"", "kind = \"cake\""] {
        let port = format!("rate = \"4mbit\"\nroot = \"q\"\nqueue.q = {{ {queue} }}");
        let text = one_link("3s", "1gbit", &port, flows);
        let steps = (1..30).map(|step| (step * 100_000, RATES[step as usize % RATES.len()]));
        let change = |(micros, rate): (u64, u64)| {
            format!("[[change]]\nat = \"{micros}us\"\nset = {{ \"port.a:b.rate\" = \"{rate}mbit\" }}\n")
        };
        let changed = format!("{text}{}", steps.clone().map(change).collect::<String>());
        let by_file = run(&scenario(&changed), Seed(1), &mut |_| Control::Continue).expect("a run").recording;
        let scenario = scenario(&text);
        let mut simulation = Simulation::new(&scenario, Seed(1)).expect("a network");
        for (micros, rate) in steps {
            // A change happens before everything else at its time.
            let before = Duration::from_picos(micros * 1_000_000 - 1);
            simulation.step_until(Instant::ZERO + before).expect("a step");
            let pace = Pace { rate: Some(Rate::from_bits(rate * 1_000_000)), ..Pace::default() };
            simulation.change_port(0, &mut PortChange::of_pace(pace)).expect("a rate");
        }
        let by_call = simulation.finish_run().expect("a balanced account").recording;
        let rows = |recording: &lockgate_measure::Recording| -> Vec<_> {
            let rows = recording.packets.as_ref().expect("rows were asked for").iter();
            rows.map(|row| (row.sequence, row.arrived, row.departed, row.drop)).collect()
        };
        assert!(rows(&by_call).iter().any(|(.., drop)| drop.is_some()), "{queue} drops some");
        assert!(rows(&by_call) == rows(&by_file), "{queue}");
        assert_eq!((by_call.events.len(), by_file.events.len()), (0, 29), "a typed change is no event");
    }
}
