use super::*;
use crate::example;
use crate::metric::{During, MetricError, Subject};
use crate::recording::{Part, Recording};

fn close(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-12 * expected.abs().max(1e-3)
}

#[track_caller]
fn check(summary: &Summary, path: &str, expected: f64) {
    let value = summary.metric(path).expect(path);
    assert!(close(value, expected), "{path}: {value}, by hand {expected}");
}

#[test]
fn a_run_worked_by_hand() {
    let recording = example::run(1, 950);
    assert_eq!(recording.balance(), Ok(()));
    let summary = summarise(&[recording]);
    for (metric, expected) in [
        ("sent_packets", 5.0),
        ("received_packets", 3.0),
        ("lost_packets", 1.0),
        ("inside_packets", 1.0),
        ("sent_bytes", 500.0),
        ("loss", 0.2),
        // Packet 0 too was received in the window of 0.9 s.
        ("throughput", 400.0 * 8.0 / 0.9),
        ("goodput", 4.0 * 58.0 * 8.0 / 0.9),
        ("owd.min", 0.11),
        ("owd.mean", 0.21),
        ("owd.p50", 0.21),
        ("owd.p99", 0.31),
        ("owd.std", 0.1 * (2.0f64 / 3.0).sqrt()),
        ("queueing.mean", 0.1),
        ("serialisation.max", 0.1),
        ("propagation", 0.01),
        ("ipdv.mean", 0.1),
        ("ipdv_signed_mean", 0.1),
        ("pdv.min", 0.0),
        ("pdv.mean", 0.1),
        ("pdv.max", 0.2),
        ("iat.mean", 0.1),
        ("reordered", 0.0),
        // D = 100 ms twice: 16 J = 100, then 100 + 100 - 100 / 16.
        ("jitter_rfc3550", (200.0 - 6.25) / 16.0 / 1e3),
    ] {
        check(&summary, &format!("flow.voice.{metric}"), expected);
    }
    for (metric, expected) in [
        ("queue.voice.enqueued_packets", 5.0),
        ("queue.voice.sent_packets", 4.0),
        ("queue.voice.dropped_packets", 1.0),
        ("queue.voice.peak_backlog_packets", 2.0),
        ("queue.voice.backlog_packets", 0.0),
        ("queue.voice.sojourn.mean", 0.075),
        ("queue.voice.throughput", 400.0 * 8.0 / 0.9),
        ("queue.link.sojourn.max", 0.2),
        ("queue.link.dropped_packets", 1.0),
        ("queue.rest.enqueued_packets", 0.0),
        ("utilisation", 400.0 * 8.0 / (8_000.0 * 0.9)),
        ("rate", 8_000.0),
    ] {
        check(&summary, &format!("port.home:server.{metric}"), expected);
        check(&summary, &format!("port.home->server.{metric}"), expected);
    }
    check(&summary, "jain_index", 0.5);
    let queues = &summary.ports["home:server"].queues;
    assert_eq!(queues.keys().collect::<Vec<_>>(), ["link", "voice", "rest"]);
    assert_eq!((queues["voice"].parent.as_deref(), queues["link"].parent.as_deref()), (Some("link"), None));
    assert_eq!(queues["link"].drops_by, IndexMap::from([("limit".to_owned(), 1)]));
    assert_eq!(summary.flows["voice"].lost_by, IndexMap::from([("limit".to_owned(), 1)]));
    assert_eq!(summary.engine.packet_hops, 5);
}

#[test]
fn nothing_observed_is_null_and_everything_else_is_found() {
    let summary = summarise(&[example::run(1, 950)]).written();
    let addresses = summary.addresses(|_| true);
    assert!(addresses.len() > 100, "{}", addresses.len());
    for path in addresses.iter().map(ToString::to_string) {
        // No flow of the recording is a connection, carries a file, makes requests or is a call.
        let of_others = ["cwnd_", ".rtt", ".fct", "ps_fct", "answer_gap", "page_load", "mos", "requests_"];
        assert!(!of_others.iter().any(|name| path.contains(name)), "{path}");
        // Bounds are proven of a scenario, which the recording has not.
        let is_proven = path.contains(".bound");
        let expected = !(path.contains("silent") || path.contains("queue.rest.") || is_proven);
        let value = summary.metric(&path);
        match &value {
            Ok(value) => assert!(value.is_finite(), "{path}"),
            Err(MetricError::Empty { .. }) => assert!(!expected, "{path} has a value"),
            Err(other) => panic!("{other}"),
        }
        // The document has the value that `expect` uses under the same address.
        assert_eq!(summary.metrics.get(&path), Some(&value.ok()), "{path}");
    }
    assert_eq!(
        summary.metric("flow.voce.loss"),
        Err(MetricError::Unknown {
            path: "flow.voce.loss".into(),
            why: "there is no flow `voce`".into(),
            nearest: Some("voice".into())
        })
    );
}

#[test]
fn the_document_has_no_nan_round_trips_and_has_the_promised_keys() {
    let mut recording = example::run(1, 950);
    recording.fidelity = vec![("late_s".into(), f64::INFINITY), ("errors".into(), 0.0)];
    for summary in [summarise(&[recording]), summarise(&[])] {
        let text = serde_json::to_string(&summary).expect("a document");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert_eq!(serde_json::from_str::<Summary>(&text).expect("the same"), summary);
    }
    let summary = summarise(&[example::run(1, 950)]);
    let document = serde_json::to_value(&summary).expect("a document");
    let flow = &document["flows"]["voice"];
    for key in
        ["sent_packets", "received_bytes", "throughput_bps", "goodput_bps", "loss_ratio", "jitter_rfc3550_s"]
    {
        assert!(flow[key].is_number(), "{key}");
    }
    for key in ["min", "mean", "std", "p50", "p90", "p95", "p99", "p999", "max"] {
        assert!(
            flow["owd_s"][key].is_number()
                && flow["ipdv_s"][key].is_number()
                && flow["pdv_s"][key].is_number()
        );
    }
    assert!(flow["fct_s"].is_null());
    assert!(document["flows"]["silent"]["owd_s"]["p99"].is_null());
    assert!(document["ports"]["home:server"]["queues"]["voice"]["sojourn_s"]["p99"].is_number());
    assert_eq!(document["schema"], SCHEMA);
    let schema = schema();
    assert!(
        schema["properties"]["flows"].is_object() && schema["$defs"]["Distribution"].is_object(),
        "{schema}"
    );
}

#[test]
fn expectations_are_held_against_values() {
    let mut summary = summarise(&[example::run(1, 950)]);
    let mut expect = |that: &str, bounds: &[Bound]| {
        summary.expect(&Expected { that: that.to_owned(), bounds: bounds.to_vec(), ..Expected::default() })
    };
    assert_eq!(expect("flow.voice.loss", &[Bound::AtMost(0.2), Bound::Above(0.1)]), Ok(true));
    assert_eq!(expect("flow.voice.loss", &[Bound::Below(0.2)]), Ok(false));
    assert_eq!(expect("flow.voice.owd.p99", &[Bound::Between(0.3, 0.4)]), Ok(true));
    assert_eq!(expect("flow.silent.loss", &[Bound::AtLeast(0.0)]), Ok(false));
    assert_eq!(expect("port.home->server.rate", &[Bound::Above(1.0)]), Ok(true));
    assert!(expect("flow.voice.los", &[]).is_err());
    let kept = serde_json::to_value(&summary.expect).expect("a list");
    assert_eq!(
        kept[0],
        serde_json::json!({"that": "flow.voice.loss", "in": "95%", "above": 0.1, "at_most": 0.2, "value": 0.2,
            "half_width": null, "values": [0.2], "held": 1, "holds": true})
    );
    assert_eq!(kept[4]["that"], "port.home:server.rate", "one spelling is printed");
    assert_eq!(kept.as_array().map(Vec::len), Some(5));
}

#[test]
fn expectations_are_judged_by_all_runs() {
    // Received 3, 4, 4: mean 3.667, 95 % from 2.23 to 5.10.
    let runs = [example::run(1, 950), example::run(2, 850), example::run(3, 850)];
    let mut summary = summarise(&runs);
    for (criterion, bound, holds) in [
        (Criterion::Interval, Bound::AtMost(4.0), false),
        (Criterion::Mean, Bound::AtMost(4.0), true),
        (Criterion::All, Bound::AtMost(4.0), true),
        (Criterion::All, Bound::AtLeast(4.0), false),
    ] {
        let that = "flow.voice.received_packets".to_owned();
        let expected = Expected { that, bounds: vec![bound], criterion, ..Expected::default() };
        assert_eq!(summary.expect(&expected), Ok(holds), "{criterion:?} {bound:?}");
    }
    let last = &summary.expect[3];
    assert_eq!((last.values.as_slice(), last.held), ([Some(3.0), Some(4.0), Some(4.0)].as_slice(), 2));
}

#[test]
fn repetitions_give_intervals() {
    // Sent at 850 ms, the last packet arrives: received 3, 4, 4.
    let runs = [example::run(1, 950), example::run(2, 850), example::run(3, 850)];
    let summary = summarise(&runs);
    let owd = &summary.intervals["flow.voice.owd.p99"];
    assert_eq!((owd.n, owd.half_width), (3, None), "the same in all");
    assert!(close(owd.mean, 0.31));
    let received = &summary.intervals["flow.voice.received_packets"];
    assert_eq!(received.values, [Some(3.0), Some(4.0), Some(4.0)]);
    assert!(close(received.mean, 11.0 / 3.0));
    // t = 4.3027 for two degrees of freedom, standard deviation sqrt(1/3).
    assert!((received.half_width.expect("three values") - 4.302_65 / 3.0).abs() < 1e-5);
    assert!(!summary.intervals.contains_key("flow.silent.owd.p99"));
    assert!(summarise(&runs[..1]).intervals.is_empty());
    let says_same =
        |runs: &[Recording]| summarise(runs).warnings.iter().any(|warning| warning.contains("are the same"));
    assert_eq!([says_same(&runs), says_same(&runs[1..]), says_same(&runs[..1])], [false, true, false]);
}

#[test]
fn an_unfinished_recording_is_finished_first() {
    let mut recording = example::run(1, 950);
    recording.flows[1].on_sent(example::ms(300), lockgate_engine::units::Bytes(100));
    recording.flows[1].on_received(&crate::recording::Received {
        now: example::ms(400),
        sent: example::ms(300),
        waited: lockgate_engine::units::Duration::ZERO,
        propagation: lockgate_engine::units::Duration::ZERO,
        bytes: lockgate_engine::units::Bytes(100),
        sequence: 0,
    });
    assert_eq!(summarise(&[recording]).flows["silent"].owd_s.p50, Some(0.1));
}

fn part(from: u64, to: u64, subjects: &[Subject]) -> Part {
    Part { during: During { from: example::ms(from), to: example::ms(to) }, subjects: subjects.to_vec() }
}

#[test]
fn parts_of_a_run_worked_by_hand() {
    let flow = || Subject::Flow("voice".into());
    let port = || Subject::Queue("home:server".into(), "voice".into());
    let parts =
        vec![part(150, 350, &[flow()]), part(250, 450, &[flow(), port()]), part(600, 700, &[Subject::Run])];
    let summary = summarise(&[example::run_in_parts(1, 950, parts)]);
    for (metric, expected) in [
        // All sent at 200 ms: three received, one dropped; one of them arrives before 350 ms.
        ("flow.voice.sent_packets @ 150ms..350ms", 4.0),
        ("flow.voice.received_packets @ 150ms..350ms", 3.0),
        ("flow.voice.loss @ 150ms..350ms", 0.25),
        ("flow.voice.inside_packets @ 150ms..350ms", 0.0),
        ("flow.voice.throughput @ 150ms..350ms", 100.0 * 8.0 / 0.2),
        ("flow.voice.owd.min @ 150ms..350ms", 0.11),
        ("flow.voice.owd.mean @ 150ms..350ms", 0.21),
        ("flow.voice.owd.p99 @ 150ms..350ms", 0.31),
        ("flow.voice.queueing.mean @ 150ms..350ms", 0.1),
        ("flow.voice.jitter_rfc3550 @ 150ms..350ms", (200.0 - 6.25) / 16.0 / 1e3),
        // Nothing is sent; packets of before arrive at 310 and 410 ms.
        ("flow.voice.sent_packets @ 250ms..450ms", 0.0),
        ("flow.voice.throughput @ 250ms..450ms", 200.0 * 8.0 / 0.2),
        // Packets leave at 300 and 400 ms, after 100 and 200 ms; two wait at 250 ms.
        ("port.home:server.queue.voice.sojourn.mean @ 250ms..450ms", 0.15),
        ("port.home:server.queue.voice.sojourn.max @ 250ms..450ms", 0.2),
        ("port.home:server.queue.voice.sent_packets @ 250ms..450ms", 2.0),
        ("port.home:server.queue.voice.enqueued_packets @ 250ms..450ms", 0.0),
        ("port.home:server.queue.voice.dropped_packets @ 250ms..450ms", 0.0),
        ("port.home:server.queue.voice.peak_backlog_packets @ 250ms..450ms", 2.0),
        ("port.home:server.queue.voice.backlog_packets @ 250ms..450ms", 0.0),
        ("port.home:server.queue.voice.throughput @ 250ms..450ms", 8_000.0),
        ("port.home:server.queue.link.sojourn.max @ 250ms..450ms", 0.2),
        ("port.home:server.utilisation @ 250ms..450ms", 1.0),
    ] {
        check(&summary, metric, expected);
    }
    for (metric, expected) in [
        ("flow.voice.owd.p99 @ 250ms..450ms", "has no value: nothing was observed"),
        ("jain_index @ 600ms..700ms", "has no value"),
        ("jain_index @ 150ms..350ms", "has no value"),
        ("flow.voice.owd.p99 @ 300ms..450ms", "add an `[[expect]]` on it"),
    ] {
        let error = summary.metric(metric).expect_err(metric).to_string();
        assert!(error.contains(expected), "{metric}: {error}");
    }
}

/// The part from the end of the warm-up to the end is the whole run, in each metric that parts have.
#[test]
fn the_part_that_is_the_whole_run_has_its_values() {
    let all = || Subject::Run;
    let port = || Subject::Port("home:server".into());
    let whole = vec![part(100, 1_000, &[all(), port()]), part(200, 900, &[all(), port()])];
    let summary = summarise(&[example::run_in_parts(1, 950, whole)]);
    let first = &summary.parts[0].1;
    let addresses = summary.addresses(|_| true);
    assert!(addresses.len() > 100 && first.addresses(|_| true).len() == addresses.len());
    for address in addresses.iter().filter(|address| address.metric.parts) {
        assert_eq!(first.value(address), summary.value(address), "{address}");
    }
    assert!(addresses.iter().any(|address| summary.parts[1].1.value(address) != summary.value(address)));
}

#[test]
fn expectations_on_parts_are_in_the_written_summary() {
    let during = [(150, 350), (250, 450)];
    let parts = || during.map(|(from, to)| part(from, to, &[Subject::Flow("*".into())])).to_vec();
    let runs = [example::run_in_parts(1, 950, parts()), example::run_in_parts(2, 850, parts())];
    let mut summary = summarise(&runs);
    let expect =
        |that: &str, bound| Expected { that: that.into(), bounds: vec![bound], ..Expected::default() };
    let difference = "flow.voice.throughput @ 250ms..450ms - flow.voice.throughput @ 150ms..350ms";
    let expects = [
        expect("flow.voice.loss@150ms..350ms", Bound::Between(0.25, 0.25)),
        expect(difference, Bound::AtLeast(3_999.9)),
        expect("flow.*.received_packets @ 150ms..350ms", Bound::AtMost(3.0)),
    ];
    assert_eq!(summary.judge(&expects), Ok(true));
    assert_eq!(summary.expect[0].values, [Some(0.25); 2]);
    assert_eq!(summary.expect[2].members.map(|members| (members.held, members.of)), Some((2, 2)));
    let metrics = summary.written().metrics;
    for (address, expected) in [
        ("flow.voice.loss @ 150ms..350ms", 0.25),
        ("flow.voice.throughput @ 150ms..350ms", 4_000.0),
        ("flow.voice.throughput @ 250ms..450ms", 8_000.0),
        (difference, 4_000.0),
        ("flow.*.received_packets @ 150ms..350ms", 0.0),
        ("flow.voice.received_packets @ 150ms..350ms", 3.0),
        ("flow.silent.received_packets @ 150ms..350ms", 0.0),
    ] {
        let value = metrics.get(address).copied().flatten();
        assert!(
            value.is_some_and(|value| close(value, expected)),
            "{address}: {value:?}, by hand {expected}"
        );
    }
    let unknown = expect("flow.voice.loss @ 1ms..2ms", Bound::AtMost(1.0));
    assert!(summary.expect(&unknown).is_err());
}
