use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;

use super::*;
use crate::example;
use crate::summary::summarise;

fn report() -> ReportData {
    let recording = example::run(1, 950);
    let summary = summarise(core::slice::from_ref(&recording));
    let mut data = ReportData::new("a report");
    data.scenario = "title = \"</script><script>alert(1)</script>\"".into();
    data.runs.push(Run::new("prio", &recording, &summary));
    data.comparisons.push(Comparison {
        title: "all".into(),
        columns: vec!["name".into(), "runs".into(), "p99".into(), "none".into()],
        rows: vec![vec![
            Cell::Text("prio".into()),
            Cell::Number(3.0),
            Cell::quantity(Some(0.123_456_78), Unit::Seconds),
            Cell::quantity(None, Unit::Seconds),
        ]],
        addresses: Vec::new(),
        note: String::new(),
    });
    data
}

/// Returns the data that a page carries, and the text around their element.
fn carried(page: &str) -> (&str, Value, &str) {
    let (before, element) = page.split_once("<script ").expect("the element");
    let (head, rest) = element.split_once('>').expect("its head");
    assert_eq!(head, r#"type="text/plain" id="lockgate-data" data-encoding="gzip""#);
    let (text, after) = rest.split_once("</script>").expect("its end");
    let compressed = STANDARD.decode(text).expect("base64");
    let json = serde_json::from_reader(GzDecoder::new(&compressed[..])).expect("the data");
    (before, json, after)
}

#[test]
fn the_page_holds_the_data_and_nothing_in_it_ends_the_element() {
    let data = report();
    let page = page(&format!("<html>{MARKER}<p>after</p></html>"), data.clone());
    let (before, read, after) = carried(&page);
    assert_eq!(read, serde_json::to_value(&data).expect("the data"));
    assert_eq!(read["scenario"], data.scenario.as_str());
    assert_eq!((before, after), ("<html>", "<p>after</p></html>"));
    assert_eq!(page, super::page(&format!("<html>{MARKER}<p>after</p></html>"), data.clone()));
    assert_eq!(carried(&super::page("<html></html>", data)).1["title"], "a report");
}

#[test]
fn series_are_columns_of_one_length_with_the_values_worked_by_hand() {
    let data = serde_json::to_value(report()).expect("the data");
    let run = &data["runs"][0];
    assert_eq!(run["mode"], "sim");
    let flow = &run["flows"][0]["series"];
    // Intervals end at 0.1 (warm-up), 0.25, 0.5, 0.75, 1.0.
    assert_eq!(flow["time_s"], serde_json::json!([0.1, 0.25, 0.5, 0.75, 1.0]));
    assert_eq!(flow["offered_bps"], serde_json::json!([8_000.0, 21_333.3, 0.0, 0.0, 3_200.0]));
    assert_eq!(flow["lost_packets"], serde_json::json!([0, 1, 0, 0, 0]));
    let queue = &run["ports"][0]["queues"][1];
    assert_eq!(queue["name"], "voice");
    assert_eq!(queue["series"]["peak_packets"], serde_json::json!([1, 2, 2, 0, 1]));
    assert_eq!(queue["series"]["backlog_packets"], serde_json::json!([0, 2, 0, 0, 0]));
    assert_eq!(queue["series"]["dropped_packets"], serde_json::json!([0, 1, 0, 0, 0]));
    // Parent and drops are told once, in the summary.
    let result = &run["summary"]["ports"]["home:server"]["queues"]["voice"];
    assert_eq!((&result["parent"], &result["drops_by"]), (&"link".into(), &serde_json::json!({"limit": 1})));
    for series in [flow, &queue["series"]] {
        let columns = series.as_object().expect("columns");
        assert!(columns.values().all(|column| column.as_array().is_some_and(|rows| rows.len() == 5)));
    }
    let cdf = &run["flows"][0]["owd_cdf"];
    assert_eq!(cdf["value_s"], serde_json::json!([0.11, 0.21, 0.31]));
    assert_eq!(cdf["fraction"][2], 1.0);
    assert_eq!(run["flows"][0]["owd_box"]["p50"], 0.21);
    assert_eq!(run["flows"][0]["split_s"]["queueing"], 0.1);
    assert!(run["flows"][1]["owd_box"]["p50"].is_null());
    assert_eq!(run["events"][0]["at_s"], 0.5);
    let expected = serde_json::json!(["prio", 3.0, { "value": 0.123_457, "unit": "s" }, null]);
    assert_eq!(data["comparisons"][0]["rows"][0], expected);
    let definitions = data["definitions"].as_array().expect("definitions");
    assert!(
        definitions
            .iter()
            .any(|item| item["name"] == "owd" && item["source"] == "RFC 7679" && item["unit"] == "s")
    );
}

#[test]
fn the_answer_is_on_the_page_as_elements_before_the_data_with_every_name_as_text() {
    let recording = example::run(1, 950);
    let mut summary = summarise(core::slice::from_ref(&recording));
    summary
        .expect(&crate::summary::Expected {
            that: "flow.voice.owd.p99".into(),
            bounds: vec![crate::summary::Bound::Below(0.5)],
            name: Some("<b>the</b> call".into()),
            ..crate::summary::Expected::default()
        })
        .expect("a metric");
    let mut data = ReportData::new("one & <i>only</i>");
    data.runs.push(Run::new("prio", &recording, &summary.folded()));
    data.verdict = summary.verdict().sentences();
    data.verdict.push("Longest wait: 522 us (p99) of 5 users.".into());
    let template = format!(r#"<html><div id="page"></div>{MARKER}</html>"#);
    let page = page(&template, data);
    let (before, read, _) = carried(&page);
    assert_eq!(read["runs"][0]["summary"]["verdict"]["outcome"], "held");
    for part in [
        "<h1>one &amp; &lt;i&gt;only&lt;/i&gt;</h1>",
        "1 s simulated, first 0.1 s left out, seed 1",
        r#"<p class="headline good"><span class="sign">✓</span> It holds: “&lt;b&gt;the&lt;/b&gt; call”: 310~ms, 38~% below its bound of 500~ms.</p>"#,
        r#"<td class="value">310~ms</td><td class="wanted">below 500~ms</td>"#,
        r#"<i style="width:62.0%">"#,
        "522~µs (p99) of 5 users.",
    ] {
        assert!(before.contains(&part.replace('~', "\u{a0}")), "{part} in {before}");
    }
    assert!(!before.contains("<b>the"));
}

/// A swap at 500 ms halves the delay of 20 ms. Packets that are on their way then count before it, those of
/// the warm-up nowhere: each distribution has the packets of its phase, and both together those of the
/// window.
#[test]
fn delays_before_and_after_a_change_are_distributions_of_their_own() {
    use lockgate_engine::packet::FlowId;
    use lockgate_engine::units::{Bytes, Duration, Instant};

    use crate::recording::{Detail, FlowSetup, Received, Recording, Setup};
    let at = |millis: u64| Instant::from_picos(millis * 1_000_000_000);
    let flow = |name: &str| FlowSetup { name: name.into(), ..FlowSetup::default() };
    let mut recording = Recording::new(Setup {
        duration: Duration::from_millis(1_000),
        warmup: Duration::from_millis(100),
        interval: Duration::from_millis(100),
        detail: Detail::Groups,
        flows: vec![flow("call"), flow("many/1")],
        ..Setup::default()
    });
    // A packet each 10 ms; those sent at 480 and 490 ms arrive when and after the swap is made.
    let delay = |sent: u64| if sent < 500 { 20 } else { 10 };
    let sent = || (0..98).map(|index| index * 10);
    let mut events: Vec<(u64, Option<u64>)> = sent().map(|sent| (sent, None)).collect();
    events.extend(sent().map(|sent| (sent + delay(sent), Some(sent))));
    events.sort_unstable();
    let swap = events.partition_point(|(time, _)| *time < 500);
    for (index, (now, received)) in events.into_iter().enumerate() {
        if index == swap {
            recording.begin_phase(at(500));
        }
        for id in [0, 1] {
            let record = recording.flow(FlowId(id));
            let Some(sent) = received else {
                record.on_sent(at(now), Bytes(100));
                continue;
            };
            record.on_received(&Received {
                now: at(now),
                sent: at(sent),
                waited: Duration::ZERO,
                propagation: Duration::ZERO,
                bytes: Bytes(100),
                sequence: u32::try_from(sent / 10).expect("small"),
            });
        }
    }
    recording.finish();
    let summary = summarise(core::slice::from_ref(&recording));
    let run = Run::new("swap", &recording, &summary);
    let [before, after] = run.flows[0].phases.as_slice() else { panic!("{:?}", run.flows[0].phases) };
    assert_eq!((before.from_s, before.to_s, after.from_s, after.to_s), (0.1, 0.5, 0.5, 1.0));
    // Sent at 100 to 490 ms, and at 500 to 970 ms.
    assert_eq!([before.packets, after.packets], [40, 48]);
    assert_eq!(before.packets + after.packets, recording.flows[0].delays().owd.count());
    let ends = |cdf: &Cdf| [cdf.value_s.first().copied(), cdf.value_s.last().copied()];
    assert_eq!([ends(&before.owd_cdf), ends(&after.owd_cdf)], [[Some(0.02); 2], [Some(0.01); 2]]);
    let whole = &run.flows[0].owd_cdf;
    assert!(whole.value_s[0] < 0.0101 && ends(whole)[1] == Some(0.02), "the whole mixes both: {whole:?}");
    // A member that is recorded briefly has no phases, and the document no key for them.
    let document = serde_json::to_value(&run).expect("the data");
    assert_eq!(document["flows"][0]["phases"][1]["packets"], 48);
    assert!(document["flows"][1].get("phases").is_none());
    assert_eq!(packets_of_two_seeds(&recording), [80, 96], "of all seeds of a variant: twice the packets");
}

/// Returns the packets of `call` in each phase, of a variant of which two seeds are `recording`.
fn packets_of_two_seeds(recording: &crate::recording::Recording) -> Vec<u64> {
    let shown = Shown { flows: vec!["call".into()], ports: Vec::new() };
    let mut variant = VariantRun::default();
    variant.add("swap", recording, &shown, true);
    variant.add("swap", recording, &shown, false);
    let both = variant.finish().expect("a run");
    both.flows[0].phases.iter().map(|phase| phase.packets).collect()
}
