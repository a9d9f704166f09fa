//! Sentences of a verdict, by hand.

use indexmap::IndexMap;

use super::*;
use crate::summarise;
use crate::summary::{Bound, Distribution, Expected, MembersHeld, PortSummary, QueueSummary};

fn judged(that: &str, bound: Bound, value: Option<f64>) -> Expectation {
    let expected = Expected { that: that.to_owned(), bounds: vec![bound], ..Expected::default() };
    Expectation::judge(&expected, vec![value])
}

fn queue(kind: &str, wait: f64, offered: u64, dropped: u64) -> QueueSummary {
    QueueSummary {
        mean_backlog_packets: None,
        kind: kind.to_owned(),
        parent: None,
        enqueued_packets: offered,
        offered_bytes: 0,
        sent_packets: offered - dropped,
        sent_bytes: 0,
        throughput_bps: None,
        dropped_packets: dropped,
        drops_by: IndexMap::new(),
        tins: IndexMap::new(),
        marked_packets: 0,
        moved_in_packets: 0,
        moved_out_packets: 0,
        backlog_packets: 0,
        peak_backlog_packets: 0,
        sojourn_s: Distribution { count: offered, p99: Some(wait), ..Distribution::default() },
        scheduling_mean_s: None,
        buffer_bound_bytes: None,
        may_overflow: false,
    }
}

fn port(queues: &[(&str, QueueSummary)]) -> PortSummary {
    PortSummary {
        rate_bps: 1e7,
        capacity_bps: None,
        utilisation: None,
        requests_met_ratio: None,
        requests_contended_ratio: None,
        queues: queues.iter().map(|(name, queue)| ((*name).to_owned(), queue.clone())).collect(),
    }
}

fn home() -> Summary {
    let mut summary = summarise(&[]);
    let shaper = queue("tbf", 0.0, 15_000, 66);
    let below = QueueSummary { parent: Some("shaper".into()), ..queue("fq_codel", 0.004, 15_000, 66) };
    summary.ports.insert("router:modem".into(), port(&[("shaper", shaper), ("fair", below)]));
    summary.ports.insert("modem:isp".into(), port(&[("fifo", queue("fifo", 0.018, 15_000, 0))]));
    summary.expect = vec![
        judged("flow.call.owd.p99", Bound::Below(0.05), Some(0.0171)),
        judged("group.backup.goodput.sum", Bound::Above(8e6), Some(8.88e6)),
    ];
    summary
}

#[test]
fn what_holds_is_said_with_the_tightest_bound_and_where_packets_wait() {
    let verdict = home().verdict();
    assert_eq!((verdict.outcome, verdict.sign()), (Outcome::Held, "✓"));
    assert_eq!(
        verdict.sentences(),
        [
            "Both hold. Tightest: backup goodput sum 8.88 Mbit/s, 11 % above its bound of 8 Mbit/s.",
            "Longest wait: 18.0 ms (p99) in the fifo at modem:isp, nothing dropped there; fair (fq_codel) at \
             router:modem dropped 66 (0.440 %).",
        ]
    );
    let row = &verdict.rows[0];
    assert_eq!((row.subject.as_str(), row.quantity.as_str()), ("call", "delay p99"));
    assert_eq!((row.value.as_str(), row.wanted.as_str()), ("17.1 ms", "below 50 ms"));
    assert!(row.used_ratio.is_some_and(|used| (used - 0.342).abs() < 1e-9));
}

#[test]
fn a_wait_of_few_packets_is_a_wait_and_drops_without_a_wait_are_said() {
    let mut summary = home();
    summary.ports.clear();
    summary.ports.insert("a:b".into(), port(&[("fifo", queue("fifo", 0.0, 1000, 0))]));
    let told = |summary: &Summary| summary.verdict().findings.pop().unwrap_or_default();
    assert_eq!(told(&summary), "No packet waited in a queue.");
    summary.ports["a:b"].queues["fifo"].sojourn_s.max = Some(434e-6);
    assert_eq!(told(&summary), "Longest wait: 434 us (largest) in the fifo at a:b, nothing dropped there.");
    // A policer drops itself, and has a queue below it.
    let meter = queue("policer", 0.0, 5000, 2700);
    let below = QueueSummary { parent: Some("meter".into()), ..queue("fifo", 0.0, 2310, 10) };
    summary.ports["a:b"] = port(&[("meter", meter), ("rest", below)]);
    assert_eq!(told(&summary), "No packet waited in a queue; meter (policer) at a:b dropped 2690 (53.8 %).");
}

#[test]
fn of_a_full_port_with_many_queues_what_it_dropped_and_who_pays_is_said() {
    let mut summary = crate::summarise(&[crate::example::run(1, 950)]);
    let silent = summary.flows["voice"].clone();
    summary.flows.clear();
    for (name, loss) in
        [("video/1", 0.19), ("video/2", 0.02), ("video/3", 0.001), ("call/1", 0.0), ("web/1", 0.5)]
    {
        let flow = crate::summary::FlowSummary { loss_ratio: Some(loss), ..silent.clone() };
        summary.flows.insert(name.to_owned(), flow);
    }
    let queues: Vec<(String, QueueSummary)> =
        (0..20).map(|member| (format!("plan/{member}"), queue("fq_codel", 0.01, 1000, 45))).collect();
    let named: Vec<(&str, QueueSummary)> =
        queues.iter().map(|(name, queue)| (&**name, queue.clone())).collect();
    summary.ports.clear();
    let full = PortSummary { utilisation: Some(0.99), ..port(&named) };
    summary.ports.insert("bng:olt".into(), full);
    summary.ports.insert("olt:sub".into(), port(&[("fifo", queue("fifo", 0.02, 1000, 100))]));
    let told =
        |summary: &Summary| summary.verdict().findings.into_iter().find(|told| told.contains("is full"));
    assert_eq!(
        told(&summary).as_deref(),
        Some(
            "bng:olt is full (99.0 % used) and dropped 900 packets, 90.0 % of all that were dropped: 2 of 3 in video \
             (up to 19.0 %), 1 of 1 in web (up to 50.0 %) lose at least 1 %."
        )
    );
    summary.ports["bng:olt"].utilisation = Some(0.97);
    assert_eq!(told(&summary), None, "not full");
    summary.ports["bng:olt"].utilisation = Some(0.99);
    summary.ports["bng:olt"].queues.truncate(16);
    assert_eq!(told(&summary), None, "few queues have sentences of their own");
}

#[test]
fn what_is_missed_comes_first_with_the_worst() {
    let mut summary = home();
    summary.expect.push(judged("flow.game.owd.p99", Bound::Below(0.05), Some(0.06)));
    let headline = summary.verdict().headline;
    assert_eq!(headline, "1 of 3 missed: game delay p99 60.0 ms, 20 % above its bound of 50 ms.");
    summary.expect.push(judged("flow.web.page_load.mean", Bound::Below(1.0), Some(4.0)));
    let verdict = summary.verdict();
    assert_eq!(
        verdict.headline,
        "2 of 4 missed; worst: web page load mean 4.00 s, 4 times its bound of 1 s."
    );
    let missed: Vec<&str> = verdict.rows.iter().map(|row| row.subject.as_str()).collect();
    assert_eq!(missed, ["game", "web", "call", "backup"]);
    summary.expect = vec![judged("flow.call.owd.p99", Bound::Below(0.05), None)];
    let headline = summary.verdict().headline;
    assert_eq!(headline, "It is missed: call delay p99 was not observed, wanted below 50 ms.");
    summary.expect.clear();
    assert_eq!(summary.verdict().headline, "Nothing is expected of this run.");
}

/// A run with four flows, one of which loses a fifth, and what is expected of three in four.
fn of_videos() -> (Summary, Expected) {
    let mut summary = crate::summarise(&[crate::example::run(1, 950)]);
    let flow = summary.flows["voice"].clone();
    summary.flows.clear();
    for (name, loss) in [("video/1", 0.19), ("video/2", 0.0), ("video/3", 0.0), ("video/4", 0.0)] {
        let flow = crate::summary::FlowSummary { loss_ratio: Some(loss), ..flow.clone() };
        summary.flows.insert(name.to_owned(), flow);
    }
    summary.expect.clear();
    let expected = Expected {
        that: "flow.video/*.loss".to_owned(),
        bounds: vec![Bound::AtMost(0.01)],
        held_by: Some(0.75),
        ..Expected::default()
    };
    (summary, expected)
}

/// A flow that received nothing keeps no bound, but is not the worst value.
#[test]
fn of_flows_without_a_value_the_worst_is_another() {
    let (mut summary, expected) = of_videos();
    summary.flows["video/1"].loss_ratio = None;
    assert_eq!(summary.expect(&expected), Ok(true));
    assert_eq!(summary.verdict().headline, "1 of 4 video flows (25.0 %) has no value of loss.");
    summary.flows["video/2"].loss_ratio = Some(0.02);
    summary.expect.clear();
    assert_eq!(summary.expect(&Expected { held_by: Some(0.5), ..expected }), Ok(true));
    assert_eq!(
        summary.verdict().headline,
        "2 of 4 video flows (50.0 %) have loss above 1 %, or no value (1): worst video/2, 2.00 %."
    );
}

#[test]
fn what_is_missed_comes_before_members_that_may_miss() {
    let (mut summary, expected) = of_videos();
    summary.flows["video/2"].loss_ratio = Some(0.02);
    let missed = Expected { that: "flow.video/2.loss".to_owned(), held_by: None, ..expected.clone() };
    assert_eq!(summary.expect(&Expected { held_by: Some(0.5), ..expected }), Ok(true));
    assert_eq!(summary.expect(&missed), Ok(false));
    let told = summary.verdict();
    assert_eq!(told.headline, "1 of 2 missed: video/2 loss 2.00 %, 2 times its bound of 1 %.");
    assert!(!told.change_first && told.findings[0].starts_with("2 of 4 video flows (50.0 %) "), "{told:?}");
}

#[test]
fn of_many_flows_the_exceptions_are_said_too() {
    let (mut summary, expected) = of_videos();
    assert_eq!(summary.expect(&expected), Ok(true));
    let verdict = summary.verdict();
    assert_eq!(verdict.headline, "1 of 4 video flows (25.0 %) has loss above 1 %: video/1, 19.0 %.");
    assert!(verdict.change_first && verdict.hurts && verdict.findings[0] == "It holds.", "{verdict:?}");
    // Two of them, by a bound that a value must not reach, and with the scenario's name.
    let mut two = summary.clone();
    two.flows["video/2"].loss_ratio = Some(0.02);
    two.expect.clear();
    let half = Expected {
        bounds: vec![Bound::Below(0.02)],
        held_by: Some(0.5),
        name: Some("most see it".to_owned()),
        ..expected.clone()
    };
    assert_eq!(two.expect(&half), Ok(true));
    assert_eq!(
        two.verdict().headline,
        "2 of 4 video flows (50.0 %) have loss of 2 % or more: worst video/1, 19.0 %."
    );
    two.expect.clear();
    assert_eq!(two.expect(&Expected { held_by: Some(0.75), ..half.clone() }), Ok(false));
    assert_eq!(
        two.verdict().headline,
        "It is missed: “most see it”: 2 of 4 (50.0 %) keep loss below 2 %, wanted 75 %."
    );
    two.expect.clear();
    assert_eq!(two.expect(&Expected { name: None, held_by: None, ..half.clone() }), Ok(false));
    assert_eq!(two.verdict().headline, "It is missed: video/* loss: 2 of 4 (50.0 %) keep below 2 %.");
    two.expect.clear();
    let range = Expected { bounds: vec![Bound::Between(0.0, 0.1)], name: None, ..half };
    assert_eq!(two.expect(&range), Ok(true));
    assert_eq!(
        two.verdict().headline,
        "1 of 4 video flows (25.0 %) does not keep loss between 0 % and 10 %: video/1, 19.0 %."
    );
    assert_eq!(
        (verdict.rows[0].value.as_str(), verdict.rows[0].wanted.as_str()),
        ("3 of 4", "at most 1 %, for 75 %")
    );
    assert_eq!(summary.expect[0].members, Some(MembersHeld { held: 3, of: 4, wanted_ratio: 0.75 }));
}

#[test]
fn nearly_all_members_are_not_all() {
    let members = |held| MembersHeld { held, of: 10_000, wanted_ratio: 1.0 };
    let shares = [9_000, 9_999, 10_000].map(|held| text::share(members(held)));
    assert_eq!(shares, ["90.0 %", "over 99.9 %", "100 %"]);
    let mut one = judged("flow.call/*.loss", Bound::AtMost(0.01), None);
    one.members = Some(members(9_999));
    assert_eq!(margin(&one), "over 99 % keep it");
}

#[test]
fn an_expectation_with_a_name_is_quoted_by_it() {
    let mut summary = home();
    summary.expect[1].name = Some("the backup ends tonight".to_owned());
    assert_eq!(
        summary.verdict().headline,
        "Both hold. Tightest: “the backup ends tonight”: 8.88 Mbit/s, 11 % above its bound of 8 Mbit/s."
    );
}

#[test]
fn members_are_named_by_their_group() {
    for (path, words) in [
        ("flow.video/*.loss", "video flows"),
        ("flow.*.loss", "flows"),
        ("flow.v*.loss", "flows v*"),
        ("port.bng:olt.queue.plan/*.sojourn.p99", "plan queues at bng:olt"),
        ("port.bng:*.utilisation", "ports bng:*"),
    ] {
        let address = Address::parse(path).unwrap_or_else(|problem| panic!("{path}: {problem:?}"));
        assert_eq!(words::members(&address), words, "{path}");
    }
}

#[test]
fn every_metric_has_words() {
    for metric in crate::metric::METRICS {
        let words = super::metric(metric);
        assert!(!words.contains('_') && !words.is_empty(), "{}: {words}", metric.name);
    }
    assert_eq!(label("port.a:b.queue.plan/*.sojourn.p50.worst"), "plan/* at a:b: wait median worst");
    assert_eq!(label("group.call.owd.p99.max"), "call: delay p99 largest");
    let difference = label("flow.loaded.rtt.p95 - flow.idle.rtt.p50");
    assert_eq!(difference, "loaded round trip p95 less idle round trip median");
    assert_eq!(label("jain_index"), "Jain");
    assert_eq!(label("flow.*.loss"), "all flows: loss");
}

#[test]
fn settings_have_words_and_their_port_where_it_tells_something() {
    let of = |paths: &[&str]| settings(paths.iter().copied()).join(", ");
    assert_eq!(
        of(&[
            "port.isp:modem.root",
            "port.isp:modem.queue.cake.bandwidth",
            "port.\"isp->modem\".ring",
            "link.line.rate.up",
            "flow.\"a.b\".count",
            "warmup",
        ]),
        "queue at isp:modem, cake bandwidth, ring, line rate up, a.b count, warmup"
    );
    let both = ["port.a:b.queue.q.flow_limit", "port.b->a.queue.q.flow_limit", "port.a:b.root"];
    assert_eq!(of(&both), "q flow limit at a:b, q flow limit at b:a, queue at a:b");
    assert_eq!(of(&["port.a:b", "not a path", "", "\""]), "port.a:b, not a path, , \"");
}

#[test]
fn what_limits_a_judged_rate_is_said_and_a_full_receive_window() {
    use crate::summary::{FlowSummary, TcpLimits, TcpSummary};
    let mut summary = summarise(&[]);
    let sender = |receive_window_ratio: f64| {
        let limits = TcpLimits {
            application_ratio: 0.02,
            receive_window_ratio,
            congestion_window_ratio: 0.98 - receive_window_ratio,
            pacing_ratio: 0.0,
        };
        let tcp = TcpSummary {
            congestion: "cubic".to_owned(),
            retransmissions: 0,
            timeouts: 0,
            recoveries: 0,
            mark_reductions: 0,
            undone: 0,
            cwnd_mean_bytes: None,
            cwnd_min_bytes: None,
            cwnd_max_bytes: None,
            rtt_mean_s: None,
            limits: Some(limits),
        };
        FlowSummary { goodput_bps: Some(9e6), tcp: Some(tcp), ..FlowSummary::default() }
    };
    for (name, share) in
        [("backup/1", 0.0), ("backup/2", 0.02), ("far", 0.97), ("farther", 0.5), ("near", 0.05)]
    {
        summary.flows.insert(name.to_owned(), sender(share));
    }
    let sentence =
        || "far was limited by its receive window for 97 % of the time, 1 other flow too.".to_owned();
    assert_eq!(limits::sentence(&summary), Some(sentence()));
    summary.expect = vec![judged("group.backup.goodput.sum", Bound::Above(8e6), Some(18e6))];
    let judged_too =
        format!("backup was limited by its congestion window for 97 % of the time; {}", sentence());
    assert_eq!(limits::sentence(&summary), Some(judged_too));
    summary.expect.push(judged("flow.near.goodput", Bound::Above(8e6), Some(9e6)));
    summary.expect.push(judged("flow.backup/1.goodput", Bound::Above(8e6), Some(9e6)));
    summary.flows["near"] = sender(0.01);
    let together = "backup and near were limited by their congestion windows for 97 % of the time; backup/1 was \
                    limited by its congestion window for 98 % of the time; far";
    let said = limits::sentence(&summary).unwrap_or_default();
    assert!(said.starts_with(together), "{said}");
    if let Some(limits) = summary.flows["near"].tcp.as_mut().and_then(|tcp| tcp.limits.as_mut()) {
        (limits.congestion_window_ratio, limits.application_ratio) = (0.996, 0.004);
    }
    summary.expect.remove(0);
    let said = limits::sentence(&summary).unwrap_or_default();
    assert!(said.starts_with("near was limited by its congestion window all of the time;"), "{said}");
    summary.flows.clear();
    assert_eq!(limits::sentence(&summary), None);
}

#[test]
fn the_shares_of_a_sender_are_those_of_its_samples_after_the_warm_up() {
    use lockgate_engine::units::Instant;

    use crate::recording::{TcpLimit, TcpRecord, TcpSample};
    let mut recording = crate::example::run(1, 950);
    let at = |millis: u64| Instant::from_picos(millis * 1_000_000_000);
    let mut tcp = TcpRecord::new("cubic", at(100));
    for (millis, limit) in [
        (50, TcpLimit::Application),
        (200, TcpLimit::ReceiveWindow),
        (300, TcpLimit::ReceiveWindow),
        (400, TcpLimit::CongestionWindow),
        (500, TcpLimit::Pacing),
    ] {
        tcp.push(at(millis), TcpSample { limit: Some(limit), ..TcpSample::default() });
    }
    recording.flows[0].tcp = Some(Box::new(tcp));
    let limits =
        summarise(&[recording]).flows["voice"].tcp.as_ref().and_then(|tcp| tcp.limits).expect("observed");
    let shares = [
        limits.application_ratio,
        limits.receive_window_ratio,
        limits.congestion_window_ratio,
        limits.pacing_ratio,
    ];
    assert_eq!(shares.map(|share| (share * 100.0).round() as u32), [0, 50, 25, 25]);
}

mod of_changes {
    use super::*;
    use crate::summary::{Pairs, PhaseSummary, Values};

    const CALL: &str = "flow.call.owd.p50";
    const GOODPUT: &str = "flow.download/1.goodput";

    fn values(call: f64, goodput: f64) -> Values {
        [(CALL, call), (GOODPUT, goodput)].map(|(path, value)| (path.to_owned(), Some(value))).into()
    }

    /// A run with one change at 30 s, of these values before and after it.
    fn changed(before: Values, after: Values) -> Summary {
        let mut summary = home();
        summary.runs = 1;
        let phase = |from_s, values| PhaseSummary { from_s, values, ..PhaseSummary::default() };
        summary.phases = vec![phase(5.0, before), phase(30.0, after)];
        summary.phases[1].changes = vec!["router:client = fair".to_owned()];
        summary
    }

    fn with(pairs: &[[(f64, f64); 2]], same_packets: bool) -> Summary {
        let mut summary = changed(values(0.9, 2e6), values(pairs[0][0].0, pairs[0][0].1));
        let mut of_phase = Pairs::default();
        for (index, [with, without]) in pairs.iter().enumerate() {
            let [with, without] = [with, without].map(|(call, goodput)| values(*call, *goodput));
            if index == 0 { of_phase.show(with, without) } else { of_phase.add(with, without) }
        }
        summary.add_without(1, &of_phase, same_packets);
        summary
    }

    #[test]
    fn an_effect_is_the_headline_if_nothing_is_expected_of_its_metric() {
        let pairs: Vec<[(f64, f64); 2]> = (0..8)
            .map(|seed| [(0.0207 + 1e-5 * f64::from(seed), 2.1e6), (0.951 + 0.01 * f64::from(seed), 2e6)])
            .collect();
        let mut summary = with(&pairs, false);
        let verdict = summary.verdict();
        assert!(verdict.change_first && !verdict.hurts);
        assert_eq!(
            verdict.headline,
            "At 30 s, router:client = fair: call delay median 20.7 ms, without it 951 ms at the same time: 46 times less \
             (46 to 49 times in 8 runs each way)."
        );
        assert!(verdict.findings[0].starts_with("Both hold. "), "{:?}", verdict.findings);
        let row = verdict.phases.expect("phases").rows.remove(0);
        assert_eq!(row.without, ["", "951 ms"]);
        // The other way round it is for the worse; a range whose ends read the same is one number.
        let worse: Vec<[(f64, f64); 2]> = (0..8).map(|_| [(0.951, 2e6), (0.0207, 2.1e6)]).collect();
        let verdict = with(&worse, false).verdict();
        assert!(
            verdict.hurts && verdict.headline.contains("46 times as much (46 times in 8 runs each way)"),
            "{verdict:?}"
        );
        summary.expect.push(judged(CALL, Bound::Below(0.05), Some(0.0207)));
        let verdict = summary.verdict();
        assert!(!verdict.change_first && verdict.headline.starts_with("All 3 hold. "), "{verdict:?}");
    }

    #[test]
    fn what_is_no_effect_has_no_ratio() {
        let one = [(0.79, 2.16e6), (0.256, 1.65e6)];
        let same = with(&[one], true).verdict().findings.remove(0);
        assert_eq!(same, "At 30 s, router:client = fair: no packet differs without it.");
        let untold = with(&[one], false).verdict().findings.remove(0);
        assert_eq!(
            untold,
            "At 30 s, router:client = fair: in this run call delay median 790 ms, without it 256 ms; one pair of runs \
             cannot tell an effect from chance."
        );
        let swings: Vec<[(f64, f64); 2]> =
            core::iter::once(one).chain((0..7).map(|_| [(0.4, 1.8e6), (0.5, 1.7e6)])).collect();
        assert_eq!(
            with(&swings, false).verdict().findings[0],
            "At 30 s, router:client = fair: 8 runs with and without it tell no effect from chance; in this run call delay \
             median 790 ms, without it 256 ms."
        );
        let little = with(&[[(0.79, 2.16e6), (0.78, 2.1e6)]], false).verdict().findings.remove(0);
        assert_eq!(
            little,
            "At 30 s, router:client = fair: without it none of 2 metrics compared differs by a tenth in this run."
        );
    }

    #[test]
    fn before_and_after_has_no_ratio_without_long_phases() {
        let summary = changed(values(0.94, 2e6), values(0.705, 2e6));
        let verdict = summary.verdict();
        assert!(!verdict.change_first);
        assert_eq!(
            verdict.findings[0],
            "At 30 s, router:client = fair: call delay median 940 ms before, 705 ms after."
        );
        let same = changed(values(0.94, 2e6), values(0.93, 2e6)).verdict().findings.remove(0);
        assert_eq!(
            same,
            "At 30 s, router:client = fair: none of 2 metrics compared differs by a tenth before and after."
        );
    }

    #[test]
    fn times_are_exact_and_packets_that_did_not_move_are_only_lost() {
        let mut summary = changed(values(0.94, 2e6), values(0.93, 2e6));
        (summary.phases[0].to_s, summary.phases[1].from_s, summary.phases[1].to_s) = (100.4, 100.4, 100.6);
        summary.phases[1].forced_out_packets = 43;
        let verdict = summary.verdict();
        assert!(
            verdict.findings[0].starts_with("At 100.4 s, ")
                && verdict.findings[0].ends_with(" before and after; 43 waiting packets lost."),
            "{verdict:?}"
        );
        let heads = verdict.phases.expect("phases").heads;
        assert_eq!(heads, ["5 to 100.4 s", "100.4 to 100.6 s, router:client = fair"]);
    }

    #[test]
    fn a_queue_that_came_back_was_not_replaced_for_good() {
        let mut summary = changed(values(0.94, 2e6), values(0.93, 2e6));
        let bloated = QueueSummary { moved_out_packets: 5, ..queue("fifo", 0.9, 1000, 0) };
        summary.ports.insert("router:client".into(), port(&[("bloated", bloated)]));
        let told = |summary: &Summary| longest_wait(summary).contains(" until it was replaced");
        assert!(told(&summary));
        summary.phases[1].changes.push("router:client = bloated".to_owned());
        assert!(!told(&summary));
    }

    #[test]
    fn each_path_of_a_change_has_its_value() {
        use crate::summary::change;
        for (path, value, words) in [
            ("port.a:b.root", "fair", "a:b = fair"),
            ("link.l.loss, link.l.delay", "0%, 50ms", "l.loss = 0%, l.delay = 50ms"),
            ("link.l.rate", "{ up = 1mbit, down = 2mbit }", "l.rate = { up = 1mbit, down = 2mbit }"),
            (
                "link.l.rate, link.l.delay",
                "{ up = 1mbit, down = 2mbit }, 3ms",
                "l.rate = { up = 1mbit, down = 2mbit }, l.delay = 3ms",
            ),
            ("port.a:b.queue.q.limit", "5p", "a:b q.limit = 5p"),
        ] {
            assert_eq!(change(path, value), words);
        }
    }

    #[test]
    fn several_seeds_have_the_interval_of_the_difference() {
        let mut summary = changed(values(0.9, 2e6), values(0.02, 2e6));
        summary.runs = 8;
        let mut pairs = Pairs::default();
        for seed in 0..8 {
            pairs.show(values(0.02, 2e6), values(0.95 + 0.01 * f64::from(seed), 2e6));
        }
        summary.add_without(1, &pairs, false);
        let headline = summary.verdict().headline;
        assert!(
            headline.contains("call delay median 20.0 ms, without it 985 ms at the same time: 49 times less (965 ± 20 ms apart)"),
            "{headline}"
        );
    }
}
