//! The same traffic as in reference runs of Linux: losses and delays beside the kernel's own.
//!
//! The runs are not part of the repository; without them the test says `skipped`.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::common::kind;
use crate::common::link::Link;
use crate::{exponential, random};

const LINK: Rate = Rate::from_bits(10_000_000);

pub(crate) fn runs() -> Option<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/kernel.json");
    let text = std::fs::read_to_string(&path).ok()?;
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// A flow of a run, and what the kernel made of it.
pub(crate) struct Flow {
    pub name: String,
    pub length: u64,
    pub gap: f64,
    pub is_poisson: bool,
    pub start: f64,
    pub stop: f64,
    pub from: f64,
    pub loss: f64,
    pub mean_ms: f64,
}

pub(crate) fn flows(run: &Value) -> Vec<Flow> {
    let flows = run["flows"].as_object().expect("flows");
    flows
        .iter()
        .map(|(name, flow)| {
            let number = |value: &Value| value.as_f64().expect("a number");
            let result = &run["results"]["udp"][name];
            let length = flow["l2_bytes"].as_u64().expect("bytes");
            Flow {
                name: name.clone(),
                length,
                gap: length as f64 * 8.0 / number(&flow["offered_bps"]),
                is_poisson: flow["process"] == "poisson",
                start: number(&flow["start_s"]),
                stop: number(&flow["stop_s"]),
                from: number(&result["window_s"][0]),
                loss: number(&result["loss_ratio_window"]),
                mean_ms: number(&result["delay_us"]["mean"]) / 1e3,
            }
        })
        .collect()
}

/// Runs the flows through a queue; returns loss and mean delay in milliseconds of each flow, and the link.
fn simulate(flows: &[Flow], kind: &str, config: &Value) -> (Vec<(f64, f64)>, Link) {
    let root = kind::build(kind, kind, config, Vec::new()).expect("valid");
    let mut link = Link::new(Port::new(root, Random::stream(Seed(3), "port")), LINK);
    let mut arrivals = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        let mut random = random("kernel", index as u64);
        let mut at = flow.start;
        while at < flow.stop {
            arrivals.push((Instant::ZERO + Duration::from_secs_f64(at), index));
            at += if flow.is_poisson { exponential(&mut random, flow.gap) } else { flow.gap };
        }
    }
    arrivals.sort();
    for (at, index) in &arrivals {
        let header = Header {
            flow: FlowId(*index as u32),
            length: flows[*index].length as u32,
            sent: *at,
            ..Header::default()
        };
        link.offer(header, *at);
    }
    link.drain();
    let results = flows.iter().enumerate().map(|(index, flow)| {
        let counts =
            |header: &Header| header.flow == FlowId(index as u32) && header.sent.as_secs_f64() >= flow.from;
        let sent: Vec<_> = link.sent.iter().filter(|sent| counts(&sent.packet)).collect();
        let lost = link.dropped.iter().filter(|drop| counts(&drop.packet)).count() as f64;
        let serial = LINK.time_for(Bytes(flow.length)).as_secs_f64();
        let sum: f64 = sent.iter().map(|sent| sent.at.since(sent.packet.sent).as_secs_f64() + serial).sum();
        // 7 us of the machine's own.
        (lost / (lost + sent.len() as f64), sum / sent.len() as f64 * 1e3 + 0.007)
    });
    (results.collect(), link)
}

#[test]
fn queues_are_as_long_and_lose_as_much_as_in_linux() {
    let Some(runs) = runs() else {
        println!("skipped: no reference runs of the kernel");
        return;
    };
    let red = json!({
        "flavour": "linux", "limit": "60kB", "min": "15kB", "max": "45kB", "avpkt": "1000B", "burst": 20,
        "probability": "2%", "bandwidth": "10mbit",
    });
    // How far each may be off: in its loss, and in its delay as a share. The draws are others.
    let cases = [
        ("L_E6b_red_cbr_1.3x", "red", red.clone(), 0.001, 0.005),
        ("L_E6f_red_poisson_1.3x", "red", red, 0.005, 0.01),
        ("L_E7_codel", "codel", json!({}), 0.02, 0.03),
        ("L_E7_fq_codel", "fq_codel", json!({}), 0.002, 0.02),
        ("L_E7_pie", "pie", json!({ "flavour": "linux", "tupdate": "16ms" }), 0.02, 0.03),
    ];
    for (id, kind, config, loss_off, delay_off) in cases {
        let run = runs["experiments"].as_array().expect("runs").iter().find(|run| run["id"] == id);
        let run = run.unwrap_or_else(|| panic!("no run {id}"));
        let flows = flows(run);
        let (results, link) = simulate(&flows, kind, &config);
        for (flow, (loss, mean)) in flows.iter().zip(results) {
            println!(
                "{id} {}: loss {loss:.4} against {:.4}, delay {mean:.2} ms against {:.2} ms",
                flow.name, flow.loss, flow.mean_ms
            );
            assert!((loss - flow.loss).abs() < loss_off, "{id} {}", flow.name);
            assert!((mean / flow.mean_ms - 1.0).abs() < delay_off, "{id} {}", flow.name);
        }
        if kind == "red" {
            check_split(id, &run["results"]["udp"], &run["results"]["red_reconstruction"], &link);
        }
    }
}

/// Early and forced drops, which differ in the kernel by 4 % from run to run; the last 0.3 s do not count.
fn check_split(id: &str, udp: &Value, told: &Value, link: &Link) {
    let told = if told.is_null() { &udp["red_reconstruction"] } else { told };
    for (reason, name, off) in
        [(DropReason::Early, "drops_early", 0.06), (DropReason::Forced, "drops_forced", 0.03)]
    {
        let drops =
            link.dropped.iter().filter(|drop| drop.reason == reason && drop.packet.sent.as_secs_f64() < 59.7);
        let (own, kernel) = (drops.count() as f64, told[name].as_f64().expect("a number"));
        println!("{id}: {name} {own} against {kernel}");
        assert!((own / kernel - 1.0).abs() < off, "{id}: {name}");
    }
}
