//! Fidelity of a live run: how exact it was, and whether its figures are reliable.
//!
//! | figure | meaning | limit |
//! | --- | --- | --- |
//! | `timer_lateness_p50_s`, `_p99_s` | delivery of a frame at its host, minus its due time | p99 1 ms |
//! | `send_slip_p50_s`, `_p99_s` | departure of a datagram, minus its scheduled one (note) | p99 1 ms |
//! | `packets_sent` | packets sent, by all flows | none |
//! | `send_errors` | datagrams that the sender's kernel refused | 0.01 % of those sent |
//! | `host_losses` | frames that this machine lost between hosts and driver | 0.01 % of those sent |
//! | `cpu_starved_ratio` | fraction of the run that the driver waited for a processor while ready | 2 % |
//! | `af_xdp` | 1 if frames went by `AF_XDP`, 0 if by packet sockets | none |
//! | `kept_awake` | 1 if the CPU latency request was granted, 0 if not | none |
//! | `stood_still_s` | total of the driver's stalls of more than 100 ms each | 0 |
//!
//! Note: an answer to an echo is scheduled at the arrival of its request.

use crate::histogram::Histogram;
use crate::monitor::Sample;
use lockgate_engine::units::Duration;

/// Measurements of a run, from which the figures are computed.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// Delay from a frame's due time at its host to its delivery there, in ps.
    pub lateness: Histogram,
    /// Delay from a datagram's scheduled departure to the actual one, in ps.
    pub slip: Histogram,
    /// Datagrams that the senders' kernels refused.
    pub send_errors: u64,
    /// Frames that this machine lost between hosts and driver.
    pub host_losses: u64,
    /// Frames lost because the receive ring of a wire was full.
    pub ring_overruns: u64,
    /// Packets sent.
    pub sent: u64,
    /// Time in which the driver was ready and waited for a processor.
    pub starved: Duration,
    /// Total of the driver's long stalls.
    pub stalled: Duration,
    /// Length of the run.
    pub duration: Duration,
    /// Processor time used by the driver.
    pub driver_cpu: Duration,
}

/// Limit of the lateness at the 99th percentile, in seconds.
const MOST_LATE_S: f64 = 1e-3;

/// Limit of the machine's own losses, as a fraction of the packets sent.
const MOST_LOST: f64 = 1e-4;

/// Limit of the time the driver waits for a processor, as a fraction of the run.
const MOST_STARVED: f64 = 0.02;

/// Returns the limit of the figure called `name`, for a run that sent `packets_sent` packets; `None` if it
/// has no limit.
#[must_use]
pub fn limit(name: &str, packets_sent: f64) -> Option<f64> {
    match name {
        "timer_lateness_p99_s" | "send_slip_p99_s" => Some(MOST_LATE_S),
        "send_errors" | "host_losses" => Some(packets_sent * MOST_LOST),
        "cpu_starved_ratio" => Some(MOST_STARVED),
        "stood_still_s" => Some(0.0),
        _ => None,
    }
}

impl Measurements {
    /// Returns every figure with its name in the summary.
    pub fn figures(&self) -> Vec<(String, f64)> {
        let quantiles = |histogram: &Histogram| {
            histogram.quantiles([0.5, 0.99]).map(|pair| pair.map(|value| value as f64 * 1e-12))
        };
        let mut figures = Vec::new();
        for (name, histogram) in [("timer_lateness", &self.lateness), ("send_slip", &self.slip)] {
            if let Some([median, high]) = quantiles(histogram) {
                figures.push((format!("{name}_p50_s"), median));
                figures.push((format!("{name}_p99_s"), high));
            }
        }
        figures.push(("packets_sent".to_owned(), self.sent as f64));
        figures.push(("send_errors".to_owned(), self.send_errors as f64));
        figures.push(("host_losses".to_owned(), self.host_losses as f64));
        figures.push(("ring_overruns".to_owned(), self.ring_overruns as f64));
        figures.push(("cpu_starved_ratio".to_owned(), self.starved_ratio()));
        figures.push(("stood_still_s".to_owned(), self.stalled.as_secs_f64()));
        figures.push(("driver_cpu_s".to_owned(), self.driver_cpu.as_secs_f64()));
        figures
    }

    fn starved_ratio(&self) -> f64 {
        self.starved.as_secs_f64() / self.duration.as_secs_f64().max(1e-9)
    }

    /// Returns a sentence for each limit that was exceeded.
    pub fn reasons(&self) -> Vec<String> {
        let high = |histogram: &Histogram| histogram.quantile(0.99).unwrap_or(0) as f64 * 1e-12;
        LimitedFigures {
            late_p99_s: high(&self.lateness),
            slip_p99_s: high(&self.slip),
            send_errors: self.send_errors,
            host_losses: self.host_losses,
            sent: self.sent,
            starved_ratio: self.starved_ratio(),
            stood_still_s: self.stalled.as_secs_f64(),
        }
        .reasons()
    }
}

/// Returns a sentence for each limit that a run in progress has exceeded, among those known before its end.
pub fn passed(sample: &Sample) -> Vec<String> {
    let Some(so_far) = &sample.fidelity else { return Vec::new() };
    LimitedFigures {
        late_p99_s: so_far.late_p99_s.unwrap_or(0.0),
        slip_p99_s: 0.0,
        send_errors: 0,
        host_losses: so_far.host_losses,
        sent: sample.flows.iter().map(|flow| flow.sent_packets).sum(),
        starved_ratio: 0.0,
        stood_still_s: so_far.stood_still_s,
    }
    .reasons()
}

/// Figures that are compared with the limits.
struct LimitedFigures {
    late_p99_s: f64,
    slip_p99_s: f64,
    send_errors: u64,
    host_losses: u64,
    sent: u64,
    starved_ratio: f64,
    stood_still_s: f64,
}

impl LimitedFigures {
    fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for (high, what) in
            [(self.late_p99_s, "frames were handed over"), (self.slip_p99_s, "datagrams were sent")]
        {
            if high > MOST_LATE_S {
                let (high, most) = (high * 1e3, MOST_LATE_S * 1e3);
                reasons
                    .push(format!("{what} {high:.2} ms late at the 99th percentile; the limit is {most} ms"));
            }
        }
        let allowed = self.sent as f64 * MOST_LOST;
        for (count, what) in [
            (self.send_errors, "datagrams were refused by the sending host"),
            (self.host_losses, "frames were lost by this machine, outside the network under test"),
        ] {
            if count as f64 > allowed {
                reasons.push(format!("{count} {what}; the limit is {MOST_LOST} of those sent"));
            }
        }
        if self.starved_ratio > MOST_STARVED {
            reasons.push(format!(
                "the driver waited for a processor {:.1} % of the time; the limit is {} %",
                self.starved_ratio * 100.0,
                MOST_STARVED * 100.0
            ));
        }
        if self.stood_still_s > 0.0 {
            reasons.push(format!("the driver stalled for {:.3} s in all", self.stood_still_s));
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::{FidelitySample, FlowSample};

    #[test]
    fn each_limit_has_its_reason() {
        let mut seen =
            Measurements { duration: Duration::from_secs(10), sent: 100_000, ..Measurements::default() };
        seen.lateness.record(Duration::from_micros(900).as_picos());
        seen.host_losses = 10;
        assert_eq!(seen.reasons(), Vec::<String>::new());
        seen.host_losses = 11;
        seen.slip.record(Duration::from_millis(2).as_picos());
        seen.starved = Duration::from_millis(201);
        seen.stalled = Duration::from_millis(1);
        let reasons = seen.reasons().join("\n");
        assert_eq!(reasons.lines().count(), 4, "{reasons}");
        assert!(reasons.starts_with("datagrams were sent 2.0"), "{reasons}");
        // The same limits hold during the run.
        let fidelity =
            FidelitySample { late_p99_s: Some(9e-4), host_losses: 10, ..FidelitySample::default() };
        let flow = FlowSample { sent_packets: 100_000, ..FlowSample::default() };
        let mut sample = Sample { fidelity: Some(fidelity), flows: vec![flow], ..Sample::default() };
        assert_eq!(passed(&sample), Vec::<String>::new());
        sample.fidelity = Some(FidelitySample {
            late_p99_s: Some(2e-3),
            host_losses: 11,
            stood_still_s: 1e-3,
            unfaithful: Vec::new(),
        });
        assert_eq!(
            passed(&sample)[1..],
            reasons.lines().skip(1).filter(|line| !line.contains("waited")).collect::<Vec<_>>()
        );
        let figures = seen.figures();
        assert!(figures.contains(&("host_losses".to_owned(), 11.0)), "{figures:?}");
    }
}
