//! Queueing theory holds in the simulator: the classical formulas, to a few standard errors.
//!
//! One link of 8 Mbit/s, so that 1000 bytes take a millisecond. Seeds are fixed: a test passes or fails on
//! every machine alike.

mod common;

use common::{assert_near, one_link, simulate};
use lockgate_measure::recording::Recording;

const FIFO: &str = r#"root = "q"
queue.q = { kind = "fifo", limit = "1000000p" }"#;

/// Poisson arrivals with a mean gap in microseconds and this law of sizes.
fn poisson(name: &str, gap_us: u32, size: &str) -> String {
    format!(
        r#"[flow.{name}]
from = "a"
to = "b"
transport = "udp"
size = {size}
gap = {{ distribution = "exponential", mean = "{gap_us}us" }}
"#
    )
}

/// Mean wait in the queue `place` of the link, in milliseconds.
fn mean_wait_ms(recording: &Recording, place: &str) -> f64 {
    let port = &recording.ports[0];
    let index = port.places().iter().position(|found| found.name == place).expect("the queue");
    port.sojourn(index as u16).mean().expect("packets") / 1e9
}

#[test]
fn mm1_md1_and_mg1() {
    // lambda = 0.8 per ms, mean service 1 ms. The exponential law is cut at 16 kB (e^-16 of it).
    let run = |size: &str, seed| simulate(&one_link("3000s", "8mbit", FIFO, &poisson("f", 1250, size)), seed);
    let mm1 = run(r#"{ distribution = "exponential", mean = "1000B" }"#, 1);
    assert_near("M/M/1 wait", mean_wait_ms(&mm1, "q"), 0.8 / (1.0 - 0.8), 0.03);
    let sojourn = mm1.flows[0].delays().owd.mean().expect("packets") / 1e9;
    assert_near("M/M/1 sojourn", sojourn, 1.0 / (1.0 - 0.8), 0.03);
    let md1 = run(r#""1000B""#, 2);
    assert_near("M/D/1 wait", mean_wait_ms(&md1, "q"), 0.8 / (2.0 * (1.0 - 0.8)), 0.03);
    // Pollaczek-Khinchine: sizes uniform on 500..1500: E[S^2] = 1 + 1/12.
    let mg1 = run(r#"{ distribution = "uniform", min = "500B", max = "1500B" }"#, 3);
    assert_near("M/G/1 wait", mean_wait_ms(&mg1, "q"), 0.8 * (1.0 + 1.0 / 12.0) / (2.0 * 0.2), 0.03);
}

#[test]
fn mm1k_loses_what_the_formula_says() {
    // K = 10: nine wait, one is sent.
    let port = r#"root = "q"
queue.q = { kind = "fifo", limit = "9p" }"#;
    let size = r#"{ distribution = "exponential", mean = "1000B" }"#;
    for (gap_us, rho, seed) in [(1111, 1000.0 / 1111.0, 1), (1000, 1.0, 2)] {
        let recording = simulate(&one_link("3000s", "8mbit", port, &poisson("f", gap_us, size)), seed);
        let totals = recording.flows[0].totals(lockgate_measure::recording::Window::WholeRun);
        let loss = totals.lost.packets as f64 / totals.sent.packets as f64;
        let expected = if rho < 1.0 {
            (1.0 - rho) * f64::powi(rho, 10) / (1.0 - f64::powi(rho, 11))
        } else {
            1.0 / 11.0
        };
        assert_near(&format!("M/M/1/10 loss at rho {rho:.2}"), loss, expected, 0.03);
    }
}

#[test]
fn cobham_gives_each_band_its_wait() {
    // Band 1: lambda 0.3, service 1 ms exactly. Band 2: lambda 0.25, exponential of mean 1.5 ms.
    let port = r#"root = "p"
queue.p = { kind = "prio", children = ["high", "low"] }
queue.high = { kind = "fifo", limit = "1000000p", match = [{ flow = "high" }] }
queue.low = { kind = "fifo", limit = "1000000p" }"#;
    let flows = poisson("high", 3333, r#""1000B""#)
        + &poisson("low", 4000, r#"{ distribution = "exponential", mean = "1500B" }"#);
    let recording = simulate(&one_link("6000s", "8mbit", port, &flows), 4);
    let (l1, l2) = (1.0 / 3.333, 0.25);
    let (rho1, rho2) = (l1, l2 * 1.5);
    let residual = 0.5 * (l1 * 1.0 + l2 * 2.0 * 1.5 * 1.5);
    let high = residual / (1.0 - rho1);
    let low = residual / ((1.0 - rho1) * (1.0 - rho1 - rho2));
    assert_near("W of the high band", mean_wait_ms(&recording, "high"), high, 0.02);
    assert_near("W of the low band", mean_wait_ms(&recording, "low"), low, 0.03);
    // Kleinrock: weighted by load the waits sum to those of FIFO.
    let sum = rho1 * mean_wait_ms(&recording, "high") + rho2 * mean_wait_ms(&recording, "low");
    let rho = rho1 + rho2;
    assert_near("conservation law", sum, rho * residual / (1.0 - rho), 0.03);
}

/// O1 and O2: on the same arrivals every work-conserving discipline has the same busy periods, and with equal
/// sizes and no loss the same mean sojourn, exactly.
#[test]
fn work_conserving_disciplines_share_busy_periods_and_mean_sojourn() {
    // The last packets have left before the end: sums are over whole busy periods.
    let flows = ["x", "y"].map(|name| poisson(name, 2500, r#""1000B""#) + "stop = \"198s\"\n").concat();
    let leaf = |kind: &str| format!("root = \"q\"\nqueue.q = {{ kind = \"{kind}\", limit = \"1000000p\" }}");
    let two = |kind: &str| {
        format!(
            r#"root = "p"
queue.p = {{ kind = "{kind}", children = ["one", "two"] }}
queue.one = {{ kind = "fifo", limit = "1000000p", match = [{{ flow = "x" }}] }}
queue.two = {{ kind = "fifo", limit = "1000000p" }}"#
        )
    };
    let ports =
        ["fifo", "lis", "sis", "ffs", "nfs", "lisb"].map(leaf).into_iter().chain(["prio", "drr"].map(two));
    let observe = |port: String| {
        let recording = simulate(&one_link("200s", "8mbit", &port, &flows), 9);
        let places = recording.ports[0].places().len() as u16;
        let sojourn = (0..places)
            .map(|place| recording.ports[0].sojourn(place))
            .max_by_key(lockgate_measure::histogram::Histogram::count)
            .expect("a place");
        // The backlog at every sampling, and when packets arrived at the sink, tell the busy periods.
        let backlog = recording.ports[0].places()[0].series.backlog.clone();
        (port, sojourn.count(), sojourn.sum(), backlog, sojourn.std())
    };
    let mut fifo = None;
    for (port, count, sum, backlog, std) in ports.map(observe) {
        let (fifo_count, fifo_sum, fifo_backlog, fifo_std) =
            fifo.get_or_insert_with(|| (count, sum, backlog.clone(), std));
        assert_eq!((count, sum), (*fifo_count, *fifo_sum), "mean sojourn of {port}");
        assert_eq!(&backlog, fifo_backlog, "busy periods of {port}");
        assert!(std >= *fifo_std, "FIFO has the least variance of delay; {port} has less");
    }
}
