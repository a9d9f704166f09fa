//! Reference runs of a kernel compared with simulated ones, the supported part of `tc`, and unusable files.

#![allow(clippy::print_stdout, reason = "the comparison is for whoever asks to see it")]

use lockgate_conform::kernel::{Comparison, Line, Reference, RunComparison, Verdict, compare};

const LINUX: &str = include_str!("reference/linux.json");

/// Rows on the laws of `cake` and of ten other kinds, made by `reference/make`.
const QDISCS: &str = include_str!("reference/qdiscs.json");

/// Compares all runs of a file, and returns the document and the number of replayed flows. The verdict is
/// that of the command: no run and no exception belongs to this test only.
fn all_of(text: &str) -> (Comparison, usize) {
    let reference = Reference::read(text).expect("the file is good");
    let indices: Vec<_> = (0..reference.experiments.len()).collect();
    let at_a_time = std::thread::available_parallelism().map_or(1, usize::from);
    let runs = indices.chunks(at_a_time).flat_map(|indices| {
        std::thread::scope(|scope| {
            let reference = &reference;
            let threads = indices.iter().map(|index| scope.spawn(move || compare(reference, *index, 1)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        })
    });
    let document = Comparison::new(1, false, runs.collect());
    let (mut wrong, mut stale) = (Vec::new(), Vec::new());
    for run in &document.runs {
        if let Some(why) = &run.not_run {
            wrong.push(format!("{}: not run: {why}", run.id));
        }
        for line in &run.lines {
            let what = format!("{} {} {}", run.id, line.flow, line.quantity);
            println!(
                "{what}: {} beside {} ({:.4}) {:?}",
                line.ours, line.kernel, line.difference, line.verdict
            );
            match line.verdict {
                Verdict::Holds if line.known.is_some() => stale.push(what),
                Verdict::Differs => wrong.push(format!("{what}: {} beside {}", line.ours, line.kernel)),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty() && document.holds, "{}", wrong.join("\n"));
    assert!(
        stale.is_empty(),
        "known to be off, and they hold: take them out of `known`: {}",
        stale.join(", ")
    );
    let replayed = document.runs.iter().map(|run: &RunComparison| run.replayed.len()).sum();
    (document, replayed)
}

#[test]
fn what_linux_does_is_done_here() {
    let (document, replayed) = all_of(LINUX);
    assert_eq!((document.compared, document.not_run), (192, 0));
    // What one run of the kernel cannot decide: delays and shares of CBQ's borrowers, and one gap in the step
    // of another.
    assert!(document.not_decidable * 100 <= 3 * document.compared, "{}", document.not_decidable);
    assert_eq!(replayed, 5, "all Poisson flows");
}

#[test]
fn disciplines_do_what_those_of_linux_do() {
    let (document, replayed) = all_of(QDISCS);
    assert_eq!((document.compared, document.not_run, document.known), (288, 0, 3));
    // Starved tins, which get few packets, and flows just above their shares.
    assert!(document.not_decidable * 100 <= 4 * document.compared, "{}", document.not_decidable);
    assert_eq!(replayed, document.runs.iter().map(|run| flows_of(&run.lines)).sum::<usize>(), "every flow");
}

/// Returns the number of flows that lines are about.
fn flows_of(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.quantity == "received").count()
}

/// A file of one run of a FIFO, as an emulated kernel might leave it.
const ONE: &str = r#"{ "machine": { "HZ": 250 }, "experiments": [ {
    "id": "one", "duration_s": 4.0,
    "commands": [
        "link sl0: store-and-forward serialising device, rate 8000000 bit/s of L2 bytes, in front of r1",
        "tc qdisc add dev sl0 root handle 10: pfifo limit 10"
    ],
    "flows": { "f": { "type": "udp", "dport": 9000, "l2_bytes": 1000, "offered_bps": 16000000.0, "process": "cbr",
        "start_s": 0.0, "stop_s": 4.0, "burst_packets": 1, "tos": 0 } },
    "results": { "udp": { "f": { "window_s": [2.0, 4.0], "recv_rate_bps": 8000000, "loss_ratio_window": 0.5,
        "delay_us": { "mean": 10750.0, "min": 10507.0, "max": 11007.0 } } } }
} ] }"#;

fn all_hold(run: &RunComparison) -> bool {
    run.lines.len() == 3 && run.lines.iter().all(|line| line.verdict == Verdict::Holds)
}

fn only(text: &str) -> RunComparison {
    let reference = Reference::read(text).expect("a file of runs");
    assert_eq!(reference.experiments.len(), 1);
    compare(&reference, 0, 1)
}

#[test]
fn a_run_is_compared_quantity_by_quantity() {
    // Ten wait and one is sent. At twice the rate, each accepted packet waits for ten, or for half a packet
    // less.
    let run = only(ONE);
    assert_eq!((run.not_run.as_deref(), run.runs), (None, 16));
    let found: Vec<_> = run.lines.iter().map(|line| (line.quantity, line.verdict)).collect();
    let holds = Verdict::Holds;
    assert_eq!(found, [("received", holds), ("loss", holds), ("mean delay", holds)], "{:?}", run.lines);
    let slower = only(&ONE.replace("8000000 bit/s of", "7900000 bit/s of"));
    let found: Vec<_> = slower.lines.iter().map(|line| line.verdict).collect();
    assert_eq!(found, [Verdict::Differs, holds, holds]);
}

#[test]
fn bursts_come_at_once() {
    // Ten packets, one every 10 ms: all are accepted, and the k-th leaves after the time of k packets.
    let text = ONE
        .replace("\"burst_packets\": 1", "\"burst_packets\": 10")
        .replace("16000000.0", "4000000.0")
        .replace("pfifo limit 10", "pfifo limit 9")
        .replace("\"recv_rate_bps\": 8000000", "\"recv_rate_bps\": 4000000")
        .replace("\"loss_ratio_window\": 0.5", "\"loss_ratio_window\": 0.0")
        .replace("\"mean\": 10750.0", "\"mean\": 5507.0");
    let run = only(&text);
    assert!(all_hold(&run), "{run:?}");
}

#[test]
fn what_cannot_be_run_says_why() {
    for (from, to, words) in [
        ("pfifo limit 10", "frobnicate", "`frobnicate` is not known yet"),
        ("pfifo limit 10", "pfifo lmit 10", "`lmit` of `pfifo` is not known"),
        ("pfifo limit 10", "pfifo limit", "has no value"),
        ("pfifo limit 10", "pfifo limit -3", "limit -3"),
        ("pfifo limit 10", "fq_codel flows 70000", "flows"),
        ("tc qdisc add", "ip link set", "is not understood"),
        ("\"l2_bytes\": 1000,", "", "l2_bytes"),
        ("\"l2_bytes\": 1000", "\"l2_bytes\": 0", "offers nothing"),
        ("\"process\": \"cbr\"", "\"process\": \"pareto\"", "pareto"),
        ("\"start_s\": 0.0", "\"start_s\": -1.0", "out of range"),
        ("\"start_s\": 0.0", "\"start_s\": 1e300", "out of range"),
        ("\"f\": { \"window_s\"", "\"g\": { \"window_s\"", "no such flow of datagrams"),
        ("\"recv_rate_bps\": 8000000,", "", "recv_rate_bps"),
        ("16000000.0", "1e300", "too much"),
        ("\"udp\", \"dport\"", "\"sctp\", \"dport\"", "sctp"),
    ] {
        assert!(ONE.contains(from), "{from}");
        let run = only(&ONE.replacen(from, to, 1));
        let why = run.not_run.unwrap_or_else(|| panic!("`{to}` was run: {:?}", run.lines));
        assert!(why.contains(words), "`{words}` is not in: {why}");
    }
    let machine = |machine: &str| ONE.replace("{ \"HZ\": 250 }", machine);
    let unusable =
        [machine("{ \"HZ\": 0 }"), machine("{ \"HZ\": \"fast\" }"), machine("{ \"path_us\": -1 }")];
    let unusable = unusable.iter().map(String::as_str);
    for text in unusable.chain(["", "[]", "{}", "{ \"experiments\": 3 }", "\u{0}"]) {
        assert!(Reference::read(text).is_err(), "{text}");
    }
}

#[test]
fn a_run_that_is_not_run_does_not_hold() {
    let good = only(ONE);
    let other = only(&ONE.replace("pfifo limit 10", "teql"));
    let document = |allows_missing, runs: &[&RunComparison]| {
        Comparison::new(1, allows_missing, runs.iter().map(|run| (*run).clone()).collect())
    };
    let all = document(false, &[&good, &other]);
    assert_eq!((all.compared, all.held, all.not_run, all.holds), (3, 3, 1, false));
    assert!(document(true, &[&good, &other]).holds);
    assert!(document(false, &[&good]).holds);
    // A comparison without any run does not hold.
    assert!(!document(true, &[&other]).holds && !document(false, &[]).holds);
    // A machine without a queue has nothing to compare: it is counted, and no fault.
    let bare = only(&ONE.replace(",\n        \"tc qdisc add dev sl0 root handle 10: pfifo limit 10\"", ""));
    let with_bare = document(false, &[&good, &bare]);
    assert_eq!((with_bare.not_run, with_bare.without_queue, with_bare.holds), (1, 1, true), "{bare:?}");
    assert!(!document(false, &[&bare]).holds && !document(false, &[&good, &bare, &other]).holds);
    let empty = ONE.replace("\"flows\": { \"f\"", "\"flows\": {}, \"not\": { \"f\"");
    assert!(only(&empty).not_run.is_some_and(|why| why.contains("`f`")));
}

#[test]
fn what_is_known_to_be_off_is_said_and_bounded() {
    let off = |by: f64| {
        let known = format!(
            "\"known\": [{{ \"flow\": \"f\", \"quantity\": \"received\", \"off_by\": {by}, \"why\": \"a slow link\" }}], \"results\""
        );
        only(&ONE.replace("8000000 bit/s of", "7900000 bit/s of").replace("\"results\"", &known))
    };
    for (by, verdict) in [(0.02, Verdict::Known), (0.011, Verdict::Differs)] {
        let run = off(by);
        assert_eq!((run.lines[0].verdict, run.lines[0].known.as_deref()), (verdict, Some("a slow link")));
        let document = Comparison::new(1, false, vec![run]);
        let is_known = verdict == Verdict::Known;
        assert_eq!((document.known, document.holds), (usize::from(is_known), is_known));
    }
    let other = "\"known\": [{ \"flow\": \"g\", \"quantity\": \"loss\", \"off_by\": 1.0, \"why\": \"?\" }], \"results\"";
    assert!(only(&ONE.replace("\"results\"", other)).not_run.expect("not run").contains("is not compared"));
}

/// The window ends with the flow: packets that arrive while the queue drains are not received in it. Those
/// that wait at the end are lost, unless they were sent in the last half second.
#[test]
fn what_comes_after_the_window_is_not_received() {
    // An unlimited queue, at twice the rate of the link: after 4 s, half of the packets have left, which are
    // those sent in the first 2 s. So 1.5 s of 3.5 s are lost.
    let text = ONE
        .replace("pfifo limit 10", "pfifo limit 100000")
        .replace("\"window_s\": [2.0, 4.0]", "\"window_s\": [0.0, 4.0]")
        .replace("\"loss_ratio_window\": 0.5", "\"loss_ratio_window\": 0.428571")
        .replace("\"mean\": 10750.0", "\"mean\": 1000500.0");
    let run = only(&text);
    assert!(all_hold(&run), "{run:?}");
    assert!(run.lines[1].difference.abs() < 0.001, "{run:?}");
}

/// One reference run decides a quantity only beyond its own scatter.
#[test]
fn what_one_run_cannot_decide_is_said() {
    // A Poisson flow of 4 Mbit/s over an unlimited queue at 8 Mbit/s, without a seed: of 1000 packets in the
    // window, the deviation is 3 %.
    let text = ONE
        .replace("\"cbr\"", "\"poisson\"")
        .replace("16000000.0", "4000000.0")
        .replace("pfifo limit 10", "pfifo limit 100000")
        .replace("\"loss_ratio_window\": 0.5", "\"loss_ratio_window\": 0.0")
        .replace("\"mean\": 10750.0", "\"mean\": 1500.0");
    let received = |rate: &str| {
        let run = only(&text.replace("\"recv_rate_bps\": 8000000", &format!("\"recv_rate_bps\": {rate}")));
        let verdict = run.lines[0].verdict;
        (verdict, Comparison::new(1, false, vec![run]).differing > 0)
    };
    assert_eq!(received("4200000"), (Verdict::NotDecidable, false));
    assert_eq!(received("6000000"), (Verdict::Differs, true));
}

/// The generator of the kernel's sender gives its arrivals, named or recognised.
#[test]
fn known_arrivals_are_those_of_the_kernel() {
    let poisson = |more: &str, sent: u32, inside: u32, burst: u32| {
        let told = format!(
            "\"sent\": {sent}, \"offered_in_window_bps\": {}, \"recv_rate_bps\": {}",
            inside * 4_000,
            inside * 4_000
        );
        only(
            &ONE.replace("\"process\": \"cbr\"", &format!("\"process\": \"poisson\", {more}"))
                .replace("16000000.0", "4000000.0")
                .replace("\"burst_packets\": 1", &format!("\"burst_packets\": {burst}"))
                .replace("pfifo limit 10", "pfifo limit 100000")
                .replace("\"loss_ratio_window\": 0.5", "\"loss_ratio_window\": 0.0")
                .replace("\"recv_rate_bps\": 8000000", &told),
        )
    };
    let is_replayed = |run: &RunComparison| run.replayed == ["f"];
    for run in [
        poisson("\"seed\": 9", SENT[0], SENT[1], 1),
        poisson("\"seed\": 9, \"arrivals\": \"mmix\"", SENT[0], SENT[1], 1),
        poisson("\"seed\": 9", SENT[2], SENT[3], 3),
    ] {
        // The sender is some microseconds late, and a queue may depend on them.
        assert!(is_replayed(&run) && run.lines[2].spread > 0.0, "{run:?}");
        assert!(run.lines[0].difference.abs() < 0.01, "{run:?}");
        assert!((run.lines[2].tolerance - 0.03).abs() < 1e-12, "{run:?}");
    }
    // Other numbers of packets: the generator is another one, or is said to be and is not.
    for run in [poisson("\"seed\": 8", SENT[0], SENT[1], 1), poisson("\"seed\": 9", SENT[0], SENT[1] + 1, 1)]
    {
        assert!(run.not_run.is_none() && run.replayed.is_empty() && run.lines[2].spread > 0.0, "{run:?}");
    }
    let wrong = poisson("\"seed\": 8, \"arrivals\": \"mmix\"", SENT[0], SENT[1], 1);
    assert!(wrong.not_run.expect("not run").contains("not those of its results"));
    let unknown = poisson("\"seed\": 8, \"arrivals\": \"dice\"", SENT[0], SENT[1], 1);
    assert!(unknown.not_run.expect("not run").contains("dice"));
    let seedless = poisson("\"arrivals\": \"mmix\"", SENT[0], SENT[1], 1);
    assert!(seedless.not_run.expect("not run").contains("`seed`"));
}

/// Packets of the seed 9 at 4 Mbit/s in 4 s, and from 2 s on: one at a time, and three.
const SENT: [u32; 4] = [1913, 916, 1965, 1023];

/// A full RED queue that marks: what the kernel counts as forced drops are those of the limit, and marks
/// count once, where they are received.
#[test]
fn marks_and_the_drops_of_a_full_marking_queue_are_counted_as_in_the_kernel() {
    let red = "red limit 60000 min 5000 max 15000 avpkt 1000 burst 8 probability 0.1 bandwidth 8Mbit ecn";
    // Twice the rate of the link, sent until 3.7 s: 3700 packets leave and 60 wait, all marked but for the
    // first; the others are dropped.
    let text = |words: &str| {
        ONE.replace("pfifo limit 10", words)
            .replace("\"tos\": 0", "\"tos\": 2")
            .replace("\"mean\": 10750.0", "\"mean\": 60000.0")
            .replace("\"results\": {", "\"results\": { \"red_reconstruction\": { \"drops_early\": 0, \"drops_forced\": 3640, \"ce_marks_early\": 0, \"ce_marks_forced\": 3750 },")
    };
    let run = only(&text(red));
    let found: Vec<_> = run.lines[3..].iter().map(|line| (line.quantity, line.verdict)).collect();
    let holds = Verdict::Holds;
    assert_eq!(found, [("early drops", holds), ("forced drops", holds), ("marks", holds)], "{run:?}");
    // With `harddrop`, nothing is marked above the threshold, and no packet finds the queue full.
    let run = only(&text(&format!("{red} harddrop")));
    assert_eq!((run.lines[4].verdict, run.lines[5].verdict), (holds, Verdict::Differs), "{run:?}");
}

#[test]
fn the_path_of_the_machine_is_in_the_file() {
    let empty = ONE.replace("16000000.0", "4000000.0");
    let delay = |text: &str| only(text).lines.last().expect("a delay").ours * 1e6;
    let own = delay(&empty);
    let longer = delay(&empty.replace("\"HZ\": 250", "\"HZ\": 250, \"path_us\": 7"));
    assert!((longer - own - 7.0).abs() < 1e-3, "{own} and {longer} us");
}

/// Packets of a Poisson process and of a constant rate that come two at a time.
#[test]
fn events_of_several_packets_are_generated() {
    let with = |process: &str, burst: u32| {
        only(
            &ONE.replace("\"cbr\"", &format!("\"{process}\""))
                .replace("\"burst_packets\": 1", &format!("\"burst_packets\": {burst}")),
        )
    };
    for (process, burst, law) in [
        ("poisson", 2, "exponential"),
        ("poisson_x2", 1, "exponential"),
        ("poisson x2", 2, "exponential"),
        ("cbrx2", 1, "rate = "),
    ] {
        let run = with(process, burst);
        assert!(run.not_run.is_none(), "{process}: {:?}", run.not_run);
        let scenario = run.scenario.unwrap_or_default();
        assert!(scenario.contains("batch = \"2p\"") && scenario.contains(law), "{process}: {scenario}");
    }
    // Three come at once: one is sent, one waits, one is lost.
    let lossy = ONE
        .replace("\"burst_packets\": 1", "\"burst_packets\": 3")
        .replace("16000000.0", "1000000.0")
        .replace("pfifo limit 10", "pfifo limit 1")
        .replace("\"recv_rate_bps\": 8000000", "\"recv_rate_bps\": 666667")
        .replace("\"loss_ratio_window\": 0.5", "\"loss_ratio_window\": 0.333333")
        .replace("\"mean\": 10750.0", "\"mean\": 1500.0");
    let run = only(&lossy);
    assert!(all_hold(&run), "{run:?}");
    for (process, burst) in [("poisson_x2", 3), ("cbr", 0), ("x2", 1), ("poissonx", 1)] {
        let run = with(process, burst);
        assert!(run.not_run.is_some_and(|why| why.contains("is not understood")), "{process} {burst}");
    }
}

/// Compares a run with these commands on the device `sl0`, which `$` stands for, and with the flows `f` to
/// port 9000 and `g` to port 9001 of 4 Mbit/s each.
fn with(commands: &[&str], flows: [&str; 2]) -> RunComparison {
    let line = |line: &&str| format!("\"tc {}\"", line.replace('$', "dev sl0"));
    let lines: Vec<_> = commands.iter().map(line).collect();
    let flow = |name: &str, port: u16, more: &str| {
        format!(
            "\"{name}\": {{ \"type\": \"udp\", \"dport\": {port}, \"l2_bytes\": 1000, \"offered_bps\": 4000000.0, \
             \"process\": \"cbr\", \"start_s\": 0.0, \"stop_s\": 1.0{more} }}"
        )
    };
    let result = "{ \"window_s\": [0.5, 1.0], \"recv_rate_bps\": 4000000, \"loss_ratio_window\": 0.0 }";
    only(&format!(
        "{{ \"topology\": {{ \"path\": \"a(10.1.0.1) a0-r0 router r1-b0 b(10.2.0.1)\" }}, \"experiments\": [ {{ \
         \"id\": \"one\", \"duration_s\": 1.0, \"commands\": [ \"link sl0: rate 10000000 bit/s\", {} ], \
         \"flows\": {{ {}, {} }}, \"results\": {{ \"udp\": {{ \"f\": {result}, \"g\": {result} }} }} }} ] }}",
        lines.join(", "),
        flow("f", 9000, flows[0]),
        flow("g", 9001, flows[1]),
    ))
}

const HTB: [&str; 3] = [
    "qdisc add $ root handle 1: htb default 20",
    "class add $ parent 1: classid 1:10 htb rate 5mbit ceil 10mbit burst 1600 quantum 1514 prio 1",
    "class add $ parent 1: classid 1:20 htb rate 5mbit ceil 10mbit burst 1600 quantum 1514 cburst 1600",
];

/// Compares a run of HTB with these additional lines.
fn htb(more: &[&str], flows: [&str; 2]) -> RunComparison {
    with(&[&HTB[..], more].concat(), flows)
}

/// Returns the reason why a run was not simulated, or else its comparison, for a failing test.
fn refusal(run: &RunComparison) -> String {
    run.not_run.clone().unwrap_or_else(|| format!("it was run: {run:?}"))
}

/// Returns the line of a queue in the scenario.
fn queue<'a>(run: &'a RunComparison, name: &str) -> &'a str {
    assert_eq!(run.not_run, None);
    let scenario = run.scenario.as_deref().expect("a scenario");
    let line = scenario.lines().find(|line| line.starts_with(&format!("queue.{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in\n{scenario}"))
}

#[test]
fn a_class_and_the_discipline_in_it_may_say_the_same_word() {
    let filter = "filter add $ parent 1: protocol ip prio 1 u32 match ip dport 9000 0xffff flowid 1:10";
    let tbf = "qdisc add $ parent 1:10 handle 10: tbf rate 4mbit burst 3000 limit 20000";
    let run = htb(&[filter, tbf], ["", ""]);
    let shaped = queue(&run, "class-1-10");
    assert!(shaped.contains("kind = \"tbf\", rate = \"4mbit\", burst = \"3000B\""), "{shaped}");
    assert!(shaped.contains("share = { rate = \"5mbit\", burst = \"1600B\" }"), "{shaped}");
    // FQ-CoDel has a quantum of its own: the class's setting does not apply to it.
    let run = htb(&[filter, "qdisc add $ parent 1:10 handle 10: fq_codel"], ["", ""]);
    assert!(queue(&run, "class-1-10").contains("share = { quantum = \"1514B\" }"));
    let run = htb(&[filter, "qdisc add $ parent 1:10 handle 10: fq_codel quantum 300"], ["", ""]);
    let both = queue(&run, "class-1-10");
    assert!(
        both.contains(" quantum = \"300B\"") && both.contains("share = { quantum = \"1514B\" }"),
        "{both}"
    );
    // A discipline in a token bucket filter replaces the queue that its limit sizes.
    let run = with(
        &[
            "qdisc add $ root handle 1: tbf rate 9mbit burst 3000 limit 20000 mtu 1540",
            "qdisc add $ parent 1:1 handle 2: fq_codel",
        ],
        ["", ""],
    );
    assert!(!queue(&run, "link").contains("limit"));
    assert_eq!(run.left_out.len(), 2, "{:?}", run.left_out);
}

#[test]
fn every_word_of_a_filter_counts() {
    let to = |conditions: &str| format!("filter add $ parent 1: protocol ip prio 1 {conditions} flowid 1:10");
    for (conditions, flows, rule) in [
        (
            "u32 match ip protocol 17 0xff match ip dport 9000 0xffff",
            ["", ""],
            "protocol = 17, destination_port = 9000",
        ),
        ("flower ip_proto udp dst_port 9000", ["", ""], "protocol = 17, destination_port = 9000"),
        ("flower ip_proto tcp dst_port 9000", ["", ""], "protocol = 6, destination_port = 9000"),
        (
            "u32 match ip src 10.1.0.0/16 match ip dport 9000 0xffff",
            ["", ""],
            "source = \"10.1.0.0/16\", destination_port = 9000",
        ),
        ("u32 match u16 0x2328 0xffff at 22", ["", ""], "destination_port = 9000"),
        ("u32 match u8 17 0xff at 9", ["", ""], "protocol = 17"),
        ("flower src_ip 10.9.0.0/16", ["", ""], "source = \"10.9.0.0/16\""),
        ("u32 match ip tos 0xb8 0xff", [", \"tos\": 184", ""], "dscp = [46]"),
        ("u32 match ip sport 53 0xffff", [", \"sport\": 53", ", \"sport\": 54"], "source_port = 53"),
    ] {
        let run = htb(&[&to(conditions)], flows);
        let line = queue(&run, "class-1-10");
        assert!(line.ends_with(&format!("match = [{{ {rule} }}] }}")), "{conditions}: {line}");
    }
    for (conditions, flows, why) in [
        ("u32 match ip sport 53 0xffff", ["", ""], "unknown for flow `f`"),
        // In the kernel, its ECN bits exclude it.
        ("u32 match ip tos 0xb8 0xff", [", \"tos\": 185", ""], "flow `f` goes to `1:20`"),
        ("handle 5 fw", ["", ""], "`fw`"),
        ("u32 match ip dport 9000 0xffff police rate 1mbit", ["", ""], "`police`"),
    ] {
        let why_not = refusal(&htb(&[&to(conditions)], flows));
        assert!(why_not.contains(why), "{conditions}: {why_not}");
    }
    let unknown = refusal(&htb(&[], [", \"frobnicate\": 3", ""]));
    assert!(unknown.contains("`frobnicate`"), "{unknown}");
}

#[test]
fn packets_go_where_a_kernel_sends_them() {
    let filter = |rest: &str| format!("filter add $ parent 1: protocol ip {rest}");
    let drr = |more: &[&str]| {
        let classes = [
            "qdisc add $ root handle 1: drr",
            "class add $ parent 1: classid 1:10 drr quantum 1500",
            "class add $ parent 1: classid 1:20 drr quantum 1500",
        ];
        with(&[&classes[..], more].concat(), ["", ""])
    };
    let (wide, narrow) =
        ("u32 match ip dport 9000 0xfff0 flowid 1:20", "u32 match ip dport 9000 0xffff flowid 1:10");
    // The later class is tried first, and takes both.
    let run = drr(&[&filter(&format!("prio 1 {wide}")), &filter(&format!("prio 2 {narrow}"))]);
    assert!(queue(&run, "link").contains("children = [\"class-1-20\", \"class-1-10\"]"));
    // Without a preference, the filter that was added last is tried first.
    let run = drr(&[&filter(wide), &filter(narrow)]);
    assert!(queue(&run, "link").contains("children = [\"class-1-10\", \"class-1-20\"]"));
    // No filter matches `g`: DRR drops it.
    let why = refusal(&drr(&[&filter(&format!("prio 1 {narrow}"))]));
    assert!(why.contains("flow `g` comes to no class"), "{why}");
    // A class without a filter gets nothing.
    let run = htb(&["class add $ parent 1: classid 1:30 htb rate 1mbit"], ["", ""]);
    assert!(run.left_out.iter().any(|what| what.contains("`1:30`")), "{:?}", run.left_out);
    // Without filters, bands are by the TOS byte: 0x10 is interactive, 0x08 is bulk.
    let run = with(&["qdisc add $ root handle 1: prio"], [", \"tos\": 16", ", \"tos\": 8"]);
    assert!(queue(&run, "class-1-1").contains("dscp = [4, 5, 12, 13, 20, 21"), "{run:?}");
    assert!(queue(&run, "class-1-3").contains("dscp = [2, 3, 10, 11, 18, 19"), "{run:?}");
    let map = "1 1 1 1 1 1 0 0 1 1 1 1 1 1 1 1";
    let run = with(&[&format!("qdisc add $ root handle 1: prio bands 2 priomap {map}")], ["", ""]);
    assert_eq!(run.not_run, None);
}

#[test]
fn red_has_the_defaults_of_tc() {
    let run = with(&["qdisc add $ root handle 1: red limit 60000 avpkt 1000"], ["", ""]);
    assert!(queue(&run, "link").contains("max = \"15000B\", min = \"5000B\""), "{run:?}");
}
