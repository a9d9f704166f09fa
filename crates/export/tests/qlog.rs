//! Logs of queues: every record, in order.

use lockgate_export::qlog;
use lockgate_measure::example;

#[test]
fn a_log_has_each_packet_as_it_came_left_or_was_lost_in_order_of_time() {
    let log = qlog::queues(&example::run(1, 950), Vec::new()).expect("a log");
    let records: Vec<serde_json::Value> = log
        .split(|byte| *byte == 0x1e)
        .filter(|record| !record.is_empty())
        .map(|record| serde_json::from_slice(record).expect("JSON"))
        .collect();
    assert_eq!(records[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
    let shown = records[1..].iter().map(|event| {
        let data = &event["data"];
        let more = [&data["queued_ms"], &data["trigger"]].map(|more| match more {
            serde_json::Value::Null => String::new(),
            more => format!(" {more}"),
        });
        let name = event["name"].as_str().expect("a name");
        format!("{} {name} {}{}", event["time"], data["number"], more.concat())
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            "0.0 queue:packet_enqueued 0",
            "0.0 queue:packet_dequeued 0 0.0",
            "200.0 queue:packet_enqueued 1",
            "200.0 queue:packet_enqueued 2",
            "200.0 queue:packet_enqueued 3",
            "200.0 queue:packet_dropped 4 \"limit\"",
            "200.0 queue:packet_dequeued 1 0.0",
            "300.0 queue:packet_dequeued 2 100.0",
            "400.0 queue:packet_dequeued 3 200.0",
            "950.0 queue:packet_enqueued 5",
            "950.0 queue:packet_dequeued 5 0.0",
        ]
    );
    assert_eq!(records[1]["data"]["queue"], "voice");
}
