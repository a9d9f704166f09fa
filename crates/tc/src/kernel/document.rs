//! The form of `tc -s -j qdisc show`, which programs that read it understand: disciplines with their
//! counters.
//!
//! Options are left out: of what a program reads there, the counters change.

use serde_json::{Map, Value, json};

use super::own::OwnStatistics;
use super::queue::KernelQueue;
use super::tree::Tree;

/// Names of a discipline's own figures where `tc` has another: kind, ours, that of `tc`.
const NAMES: &[(&str, &str, &str)] = &[
    ("fq_codel", "memory_usage", "memory_used"),
    ("cake", "avg_netoff", "avg_hdr_offset"),
    ("cake", "min_netlen", "min_network_size"),
    ("cake", "max_netlen", "max_network_size"),
    ("cake", "min_adjlen", "min_adj_size"),
    ("cake", "max_adjlen", "max_adj_size"),
];

/// Names of the figures of a tin of `cake`: ours, and that of `tc`; empty for those that `tc` does not print.
const TIN: &[(&str, &str)] = &[
    ("dropped_packets", "drops"),
    ("dropped_bytes", ""),
    ("acks_dropped_packets", "ack_drops"),
    ("acks_dropped_bytes", ""),
    ("ecn_marked_packets", "ecn_mark"),
    ("ecn_marked_bytes", ""),
    ("backlog_packets", ""),
    ("max_skblen", "max_pkt_len"),
];

impl Tree {
    /// Returns its disciplines as `tc -s -j qdisc show` prints them.
    ///
    /// # Errors
    /// None: every queue can be written as JSON.
    pub fn disciplines(&self) -> serde_json::Result<Vec<Value>> {
        let all = self.queues.iter().map(|branch| &branch.queue);
        all.filter(|queue| !queue.is_class).map(|queue| discipline(&self.device, queue)).collect()
    }
}

fn discipline(device: &str, queue: &KernelQueue) -> serde_json::Result<Value> {
    // `tc` prints handles of disciplines without a minor part, and a place that is no handle as a word.
    let text = serde_json::to_value(queue)?;
    let parent = text["parent"].as_str().unwrap_or_default();
    let mut object = Map::new();
    object.insert("kind".to_owned(), json!(queue.kind));
    object.insert("handle".to_owned(), text["handle"].clone());
    object.insert("dev".to_owned(), json!(device));
    match parent {
        "root" => object.insert("root".to_owned(), json!(true)),
        "ingress" => object.insert("parent".to_owned(), json!("ffff:fff1")),
        parent => object.insert("parent".to_owned(), json!(parent)),
    };
    object.insert("options".to_owned(), json!({}));
    let (statistics, counts) = (&queue.statistics, &queue.statistics.queue);
    for (name, value) in [
        ("bytes", statistics.sent_bytes),
        ("packets", statistics.sent_packets),
        ("drops", counts.dropped.into()),
        ("overlimits", counts.overlimits.into()),
        ("requeues", counts.requeued.into()),
        ("backlog", counts.backlog_bytes.into()),
        ("qlen", counts.backlog_packets.into()),
    ] {
        object.insert(name.to_owned(), json!(value));
    }
    if statistics.own != OwnStatistics::None
        && let Value::Object(own) = &text["own"]
    {
        for (name, value) in own {
            let known = NAMES.iter().find(|(kind, ours, _)| *kind == queue.kind && ours == name);
            let name = known.map_or(name.as_str(), |(.., theirs)| theirs);
            let value = if name == "tins" { tins(value) } else { value.clone() };
            object.insert(name.to_owned(), value);
        }
    }
    Ok(Value::Object(object))
}

fn tins(tins: &Value) -> Value {
    let named = |tin: &Value| -> Value {
        let figures = tin.as_object().into_iter().flatten().filter_map(|(ours, value)| {
            let theirs =
                TIN.iter().find(|(known, _)| known == ours).map_or(ours.as_str(), |(_, theirs)| theirs);
            (!theirs.is_empty()).then(|| (theirs.to_owned(), value.clone()))
        });
        Value::Object(figures.collect())
    };
    tins.as_array().into_iter().flatten().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{CakeStatistics, CakeTin, KernelQueue};

    /// The names are those that `tc -s -j qdisc show` of iproute2 6.1 prints for a `cake`.
    #[test]
    fn a_cake_has_the_names_of_tc() {
        let tin = CakeTin {
            sent_packets: 31,
            sent_bytes: 44_000,
            dropped_packets: 2,
            acks_dropped_packets: 7,
            ecn_marked_packets: 3,
            max_skblen: 1514,
            flow_quantum: 300,
            ..CakeTin::default()
        };
        let mut cake = KernelQueue {
            handle: 0x8001_0000,
            parent: u32::MAX,
            kind: "cake".to_owned(),
            ..KernelQueue::default()
        };
        cake.statistics.sent_bytes = 44_000;
        cake.statistics.queue.backlog_packets = 4;
        let statistics =
            CakeStatistics { memory_limit: 5_000_000, tins: vec![tin], ..CakeStatistics::default() };
        cake.statistics.own = OwnStatistics::Cake(Box::new(statistics));
        let shown = Tree::of(3, "eth0", vec![cake]).disciplines().expect("a document");
        let expected: Value = serde_json::from_str(
            r#"[{
            "kind": "cake", "handle": "8001:", "dev": "eth0", "root": true, "options": {},
            "bytes": 44000, "packets": 0, "drops": 0, "overlimits": 0, "requeues": 0, "backlog": 0, "qlen": 4,
            "memory_used": 0, "memory_limit": 5000000, "capacity_estimate": 0,
            "min_network_size": 0, "max_network_size": 0, "min_adj_size": 0, "max_adj_size": 0, "avg_hdr_offset": 0,
            "tins": [{
                "threshold_rate": 0, "sent_bytes": 44000, "backlog_bytes": 0, "target_us": 0, "interval_us": 0,
                "peak_delay_us": 0, "avg_delay_us": 0, "base_delay_us": 0, "sent_packets": 31,
                "way_indirect_hits": 0, "way_misses": 0, "way_collisions": 0, "drops": 2, "ecn_mark": 3,
                "ack_drops": 7, "sparse_flows": 0, "bulk_flows": 0, "unresponsive_flows": 0,
                "max_pkt_len": 1514, "flow_quantum": 300
            }] }]"#,
        )
        .expect("JSON");
        assert_eq!(Value::from(shown), expected);
    }
}
