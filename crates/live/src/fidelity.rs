//! How exact a live run was, and whether its figures can be relied on.
//!
//! | figure | what it says | limit |
//! | --- | --- | --- |
//! | `timer_lateness_p50_s`, `_p99_s` | from when a frame was due at its host to when it had been handed over | p99 1 ms |
//! | `send_slip_p50_s`, `_p99_s` | from when a datagram should have left (an answer: when its request came) to when it did | p99 1 ms |
//! | `packets_sent` | packets that were sent, by all flows | none |
//! | `send_errors` | datagrams that the sender's kernel refused | 0.01 % of those sent |
//! | `host_losses` | frames that this machine lost between hosts and driver | 0.01 % of those sent |
//! | `cpu_starved_ratio` | time the driver waited for a processor while it was ready, of the run | 2 % |
//! | `af_xdp` | 1 where frames came and went by `AF_XDP`, 0 where by packet sockets | none |
//! | `kept_awake` | 1 where the processors were kept from sleeping, 0 where that is not allowed | none |
//! | `stood_still_s` | time the driver was stopped, or kept from running, for more than 100 ms at once | 0 |

use lockgate_engine::units::Duration;
use lockgate_measure::histogram::Histogram;
use lockgate_measure::monitor::Sample;

/// What was seen beside the network.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// From when frames were due at their hosts to when they had been handed over, in ps.
    pub lateness: Histogram,
    /// From when datagrams should have left to when they did, in ps.
    pub slip: Histogram,
    /// Datagrams that the senders' kernels refused.
    pub send_errors: u64,
    /// Frames that this machine lost between hosts and driver.
    pub host_losses: u64,
    /// Frames that found no room in the rings of the wires.
    pub ring_overruns: u64,
    /// Packets sent.
    pub sent: u64,
    /// How long the driver waited for a processor while it was ready.
    pub starved: Duration,
    /// How long it was stopped, or kept from running, for long at once.
    pub stood_still: Duration,
    /// How long the run was.
    pub duration: Duration,
    /// Processor time that the driver used.
    pub driver_cpu: Duration,
}

/// Most that may be late at the 99th percentile.
const MOST_LATE_S: f64 = 1e-3;

/// Most of what was sent that the machine itself may lose.
const MOST_LOST: f64 = 1e-4;

/// Most of the run that the driver may wait for a processor.
const MOST_STARVED: f64 = 0.02;

/// The most that the figure called `name` may be, of a run that sent so many packets; `None` where it has no limit.
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

impl Seen {
    /// Every figure, by its name in the summary.
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
        figures.push(("stood_still_s".to_owned(), self.stood_still.as_secs_f64()));
        figures.push(("driver_cpu_s".to_owned(), self.driver_cpu.as_secs_f64()));
        figures
    }

    fn starved_ratio(&self) -> f64 {
        self.starved.as_secs_f64() / self.duration.as_secs_f64().max(1e-9)
    }

    /// A sentence for each limit that was passed.
    pub fn reasons(&self) -> Vec<String> {
        let high = |histogram: &Histogram| histogram.quantile(0.99).unwrap_or(0) as f64 * 1e-12;
        Judged {
            late_p99_s: high(&self.lateness),
            slip_p99_s: high(&self.slip),
            send_errors: self.send_errors,
            host_losses: self.host_losses,
            sent: self.sent,
            starved_ratio: self.starved_ratio(),
            stood_still_s: self.stood_still.as_secs_f64(),
        }
        .reasons()
    }
}

/// A sentence for each limit that a run under way has passed so far, as far as it is known before its end.
pub fn passed(sample: &Sample) -> Vec<String> {
    let Some(so_far) = &sample.fidelity else { return Vec::new() };
    Judged {
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

/// What is held against the limits.
struct Judged {
    late_p99_s: f64,
    slip_p99_s: f64,
    send_errors: u64,
    host_losses: u64,
    sent: u64,
    starved_ratio: f64,
    stood_still_s: f64,
}

impl Judged {
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
            reasons.push(format!("the driver stood still for {:.3} s in all", self.stood_still_s));
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_measure::monitor::{FidelitySample, FlowSample};

    #[test]
    fn each_limit_has_its_reason() {
        let mut seen = Seen { duration: Duration::from_secs(10), sent: 100_000, ..Seen::default() };
        seen.lateness.record(Duration::from_micros(900).as_picos());
        seen.host_losses = 10;
        assert_eq!(seen.reasons(), Vec::<String>::new());
        seen.host_losses = 11;
        seen.slip.record(Duration::from_millis(2).as_picos());
        seen.starved = Duration::from_millis(201);
        seen.stood_still = Duration::from_millis(1);
        let reasons = seen.reasons().join("\n");
        assert_eq!(reasons.lines().count(), 4, "{reasons}");
        assert!(reasons.starts_with("datagrams were sent 2.0"), "{reasons}");
        // While it runs, the same limits.
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
