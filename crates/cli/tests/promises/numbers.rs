//! Numbers of a router: `status --json`, its page and `/metrics` show the same counters of a queue.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::setting::{PATIENCE, Running, loopback, network, policy};
use super::stream::address;

/// Datagrams, sent at once: more than the queue holds at its rate, so that it drops some.
const COUNT: u64 = 3_000;
const SHORT: &str = "{ kind = \"fifo\", limit = \"200p\" }";

/// Returns the counters of a queue in a sample: offered, sent, sent bytes, dropped, waiting; `None` before
/// the first sample.
fn of_sample(sample: &Value) -> Option<Vec<u64>> {
    let queue = &sample["ports"][0]["queues"][0];
    let total = |key: &str| queue["total"][key].as_u64();
    let all = ["offered_packets", "sent_packets", "sent_bytes", "dropped_packets"].map(total);
    all.into_iter().chain([queue["packets"].as_u64()]).collect()
}

/// Returns the same counters of the text for Prometheus.
fn of_metrics(text: &str) -> Option<Vec<u64>> {
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{name}{{")))?;
        line.rsplit(' ').next()?.parse().ok()
    };
    let names = [
        "lockgate_qdisc_offered_packets_total",
        "node_qdisc_packets_total",
        "node_qdisc_bytes_total",
        "node_qdisc_drops_total",
        "node_qdisc_current_queue_length",
    ];
    names.into_iter().map(value).collect()
}

#[test]
fn status_page_and_metrics_have_the_same_numbers() {
    let Some(network) = network("egress") else { return };
    loopback(&network);
    let router = Running::start(&network, &policy("egress", "8mbit", SHORT), &["--web", "127.0.0.1:0"]);
    let to = SocketAddr::from((address("egress", 1), 5_000));
    let sender = super::common::open_socket(&network.hosts[0], || UdpSocket::bind("0.0.0.0:0"));
    for _ in 0..COUNT {
        // The buffer of the socket may be full.
        let _ = sender.send_to(&[0; 500], to);
    }
    // Samples are taken once a second; the queue is empty in the one that is compared.
    let until = Instant::now() + PATIENCE;
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let status = router.status();
        let page: Value = serde_json::from_str(&router.page(&network.router, "/api/state")).expect("JSON");
        let metrics = of_metrics(&router.metrics(&network.router));
        let shown = of_sample(&status["sample"]);
        if let Some(&[offered, sent, _, dropped, 0]) = shown.as_deref()
            && sent > 0
            && dropped > 0
            && shown == metrics
        {
            assert_eq!(of_sample(&page["sample"]), shown);
            assert_eq!(offered, sent + dropped, "{status}");
            let lost = status["losses"].as_object().expect("losses").values().map(Value::as_u64);
            let of_page = page["sample"]["router"]["lost_by"].as_array().expect("losses").iter();
            assert!(lost.eq(of_page.map(|cause| cause[1].as_u64())), "{status}\n{page}");
            assert_eq!(page["sample"]["router"]["policy"], json!(status["running"]));
            println!("offered {offered}, sent {sent}, dropped {dropped} in all three");
            break;
        }
        assert!(Instant::now() < until, "{shown:?}, {metrics:?}");
    }
    router.stop();
}
