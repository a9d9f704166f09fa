//! Access to the values of a summary by address.

use super::{Distribution, FlowSummary, GroupSummary, PortSummary, QueueSummary, Summary};
use crate::metric::{
    Address, METRICS, MemberStatistic, MetricError, Names, Statistic, Subject, SubjectKind, check_path,
    matches,
};
use crate::summary::FilesSummary;

/// A single value or a distribution.
enum Found<'a> {
    Value(Option<f64>),
    Distribution(&'a Distribution),
}

impl Summary {
    /// Returns the value at an address such as `flow.voice.owd.p99`, in its base unit.
    ///
    /// # Errors
    /// Returns [`MetricError::Unknown`] if there is no such metric, flow, port or queue, with the nearest
    /// one; [`MetricError::Empty`] if nothing was observed.
    pub fn metric(&self, path: &str) -> Result<f64, MetricError> {
        let address = Address::parse(path)?;
        self.value(&address).ok_or_else(|| match self.check(path) {
            Ok(()) => MetricError::Empty { path: path.into() },
            Err(unknown) => unknown,
        })
    }

    /// Returns the value at an address; `None` if nothing was observed, and if there is no such flow,
    /// group, port or queue.
    pub fn value(&self, address: &Address) -> Option<f64> {
        if address.is_many() {
            let values = self.values(address).into_iter().filter_map(|(_, value)| value).collect();
            return address.member_statistic.unwrap_or(MemberStatistic::Worst).of(address.metric, values);
        }
        let name = address.metric.name;
        let found = match &address.subject {
            Subject::Run => Some(Found::Value(self.jain_index)),
            Subject::Flow(flow) => self.flows.get(flow)?.find(name),
            Subject::Group(group) => self.groups.get(group)?.find(name),
            Subject::Bin(group, number) => {
                self.groups.get(group)?.bins.iter().find(|bin| bin.number == *number)?.files.find(name)
            }
            Subject::Port(port) => self.ports.get(port)?.find(name),
            Subject::Queue(port, queue) => self.ports.get(port)?.queues.get(queue)?.find(name),
        };
        match (found?, address.statistic) {
            (Found::Value(value), None) => value,
            (Found::Distribution(distribution), Some(statistic)) => distribution.get(statistic),
            _ => None,
        }
    }

    /// Returns the value of each flow or queue that the subject of an address stands for, by its name, in
    /// order; `None` for one of which nothing was observed.
    pub fn values(&self, address: &Address) -> Vec<(&str, Option<f64>)> {
        let name = address.metric.name;
        let value = |found: Option<Found<'_>>| match (found?, address.statistic) {
            (Found::Value(value), None) => value,
            (Found::Distribution(distribution), Some(statistic)) => distribution.get(statistic),
            _ => None,
        };
        match &address.subject {
            Subject::Flow(pattern) => {
                let flows = self.flows.iter().filter(|(flow, _)| matches(pattern, flow));
                flows.map(|(flow, summary)| (flow.as_str(), value(summary.find(name)))).collect()
            }
            Subject::Queue(port, pattern) => {
                let queues = self.ports.get(port).into_iter().flat_map(|port| &port.queues);
                let queues = queues.filter(|(queue, _)| matches(pattern, queue));
                queues.map(|(queue, summary)| (queue.as_str(), value(summary.find(name)))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the address of every value that this summary can have, observed or not.
    pub fn addresses(&self) -> Vec<Address> {
        let mut subjects = vec![(SubjectKind::Run, Subject::Run)];
        let shown = |name: &&String| !self.detail.is_brief(name);
        subjects.extend(
            self.flows.keys().filter(shown).map(|flow| (SubjectKind::Flow, Subject::Flow(flow.clone()))),
        );
        for (name, group) in &self.groups {
            subjects.push((SubjectKind::Group, Subject::Group(name.clone())));
            let bins = group.bins.iter();
            subjects.extend(bins.map(|bin| (SubjectKind::Group, Subject::Bin(name.clone(), bin.number))));
        }
        let is_shown = |port: &str| !port.split([':', '@']).any(|name| self.detail.is_brief(name));
        for (name, port) in self.ports.iter().filter(|(name, _)| is_shown(name)) {
            subjects.push((SubjectKind::Port, Subject::Port(name.clone())));
            let queues = port.queues.keys().filter(shown);
            subjects.extend(
                queues.map(|queue| (SubjectKind::Queue, Subject::Queue(name.clone(), queue.clone()))),
            );
        }
        let mut addresses = Vec::new();
        for (about, subject) in subjects {
            for metric in METRICS.iter().filter(|metric| metric.about == about) {
                let mut add = |statistic| {
                    addresses.push(Address {
                        subject: subject.clone(),
                        metric,
                        statistic,
                        member_statistic: None,
                    });
                };
                if metric.distribution {
                    for (statistic, _) in Statistic::ALL {
                        add(Some(statistic));
                    }
                } else {
                    add(None);
                }
            }
        }
        addresses
    }

    fn check(&self, path: &str) -> Result<(), MetricError> {
        let flows: Vec<String> = self.flows.keys().cloned().collect();
        let ports: Vec<(String, Vec<String>)> = self
            .ports
            .iter()
            .map(|(name, port)| (name.clone(), port.queues.keys().cloned().collect()))
            .collect();
        check_path(path, &Names { flows: &flows, ports: &ports }).map(|_| ())
    }
}

impl Distribution {
    /// Returns one of its statistics; `None` if nothing was observed.
    pub fn get(&self, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::Min => self.min,
            Statistic::Mean => self.mean,
            Statistic::Std => self.std,
            Statistic::P50 => self.p50,
            Statistic::P90 => self.p90,
            Statistic::P95 => self.p95,
            Statistic::P99 => self.p99,
            Statistic::P999 => self.p999,
            Statistic::Max => self.max,
        }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "reads the same for counts and for what may be missing")]
fn number(count: u64) -> Option<Found<'static>> {
    Some(Found::Value(Some(count as f64)))
}

impl FlowSummary {
    fn find(&self, metric: &str) -> Option<Found<'_>> {
        let value = |value: Option<f64>| Some(Found::Value(value));
        match metric {
            "owd" => Some(Found::Distribution(&self.owd_s)),
            "queueing" => Some(Found::Distribution(&self.queueing_s)),
            "serialisation" => Some(Found::Distribution(&self.serialisation_s)),
            "propagation" => value(self.propagation_s),
            "ipdv" => Some(Found::Distribution(&self.ipdv_s)),
            "ipdv_signed_mean" => value(self.ipdv_signed_mean_s),
            "pdv" => Some(Found::Distribution(&self.pdv_s)),
            "jitter_rfc3550" => value(self.jitter_rfc3550_s),
            "iat" => Some(Found::Distribution(&self.iat_s)),
            "throughput" => value(self.throughput_bps),
            "goodput" => value(self.goodput_bps),
            "loss" => value(self.loss_ratio),
            "reordered" => value(self.reordered_ratio),
            "fct" => value(self.fct_s),
            "file_bytes" => value(self.file.map(|file| file.bytes as f64)),
            "ps_fct" => value(self.file.and_then(|file| file.ps_fct_s)),
            "slowdown" => value(self.file.and_then(|file| file.slowdown)),
            "rtt" => self.echo.as_ref().map_or(value(None), |echo| Some(Found::Distribution(&echo.rtt_s))),
            "rtt_loss" => value(self.echo.as_ref().and_then(|echo| echo.rtt_loss_ratio)),
            "answer_gap" => {
                self.echo.as_ref().map_or(value(None), |echo| Some(Found::Distribution(&echo.answer_gap_s)))
            }
            "page_load" => {
                self.pages.as_ref().map_or(value(None), |pages| Some(Found::Distribution(&pages.load_s)))
            }
            "r_factor" => value(self.voice.as_ref().and_then(|voice| voice.r_factor)),
            "mos" => value(self.voice.as_ref().and_then(|voice| voice.mos)),
            "retransmissions" => value(self.tcp.as_ref().map(|tcp| tcp.retransmissions as f64)),
            "timeouts" => value(self.tcp.as_ref().map(|tcp| tcp.timeouts as f64)),
            "cwnd_mean" => value(self.tcp.as_ref().and_then(|tcp| tcp.cwnd_mean_bytes)),
            "cwnd_min" => value(self.tcp.as_ref().and_then(|tcp| tcp.cwnd_min_bytes)),
            "cwnd_max" => value(self.tcp.as_ref().and_then(|tcp| tcp.cwnd_max_bytes)),
            "rtt_mean" => value(self.tcp.as_ref().and_then(|tcp| tcp.rtt_mean_s)),
            "sent_packets" => number(self.sent_packets),
            "sent_bytes" => number(self.sent_bytes),
            "received_packets" => number(self.received_packets),
            "received_bytes" => number(self.received_bytes),
            "lost_packets" => number(self.lost_packets),
            "inside_packets" => number(self.inside_packets),
            _ => None,
        }
    }
}

impl GroupSummary {
    fn find(&self, metric: &str) -> Option<Found<'_>> {
        match metric {
            "jain_index" => Some(Found::Value(self.jain_index)),
            of_files => self.all.find(of_files),
        }
    }
}

impl FilesSummary {
    fn find(&self, metric: &str) -> Option<Found<'_>> {
        match metric {
            "files" => number(self.files),
            "completed" => number(self.completed),
            "mean_bytes" => Some(Found::Value(self.mean_bytes)),
            "fct" => Some(Found::Distribution(&self.fct_s)),
            "ps_fct" => Some(Found::Distribution(&self.ps_fct_s)),
            "slowdown" => Some(Found::Distribution(&self.slowdown)),
            _ => None,
        }
    }
}

impl PortSummary {
    fn find(&self, metric: &str) -> Option<Found<'_>> {
        match metric {
            "utilisation" => Some(Found::Value(self.utilisation)),
            "rate" => Some(Found::Value(Some(self.rate_bps))),
            "requests_met" => Some(Found::Value(self.requests_met_ratio)),
            "requests_contended" => Some(Found::Value(self.requests_contended_ratio)),
            _ => None,
        }
    }
}

impl QueueSummary {
    fn find(&self, metric: &str) -> Option<Found<'_>> {
        match metric {
            "sojourn" => Some(Found::Distribution(&self.sojourn_s)),
            "scheduling_mean" => Some(Found::Value(self.scheduling_mean_s)),
            "enqueued_packets" => number(self.enqueued_packets),
            "offered_bytes" => number(self.offered_bytes),
            "sent_packets" => number(self.sent_packets),
            "sent_bytes" => number(self.sent_bytes),
            "throughput" => Some(Found::Value(self.throughput_bps)),
            "dropped_packets" => number(self.dropped_packets),
            "marked_packets" => number(self.marked_packets),
            "backlog_packets" => number(self.backlog_packets),
            "peak_backlog_packets" => number(self.peak_backlog_packets),
            _ => None,
        }
    }
}
