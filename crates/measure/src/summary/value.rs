//! Access to the values of a summary by address.

use indexmap::{IndexMap, IndexSet};

use super::{Distribution, FilesSummary, FlowSummary, GroupSummary, PortSummary, QueueSummary, Summary};
use crate::group::group_of;
use crate::metric::{
    Address, METRICS, MemberStatistic, Metric, MetricError, Names, Quantity, Statistic, Subject, SubjectKind,
    check_path, matches,
};

/// A single value or a distribution.
enum Found<'a> {
    Value(Option<f64>),
    Distribution(&'a Distribution),
}

impl Found<'_> {
    /// Returns the value, or the statistic of the distribution; `None` if nothing was observed.
    fn get(&self, statistic: Option<Statistic>) -> Option<f64> {
        match (self, statistic) {
            (Self::Value(value), None) => *value,
            (Self::Distribution(distribution), Some(statistic)) => distribution.get(statistic),
            _ => None,
        }
    }
}

/// One of the flows or queues that a pattern stands for.
#[derive(Clone, Copy)]
enum Member<'a> {
    Flow(&'a FlowSummary),
    Queue(&'a QueueSummary),
}

impl<'a> Member<'a> {
    fn find(self, metric: &str) -> Option<Found<'a>> {
        match self {
            Self::Flow(flow) => flow.find(metric),
            Self::Queue(queue) => queue.find(metric),
        }
    }
}

/// Returns the statistics of a metric: one without a name, or those of its distribution.
fn statistics(metric: &Metric) -> impl Iterator<Item = Option<Statistic>> {
    let of_distribution = Statistic::ALL.into_iter().filter(|_| metric.distribution);
    (!metric.distribution).then_some(None).into_iter().chain(of_distribution.map(|(one, _)| Some(one)))
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

    /// Returns the value of a metric or a difference, as [`value`](Self::value) does; `None` if nothing was
    /// observed.
    pub fn quantity(&self, quantity: &Quantity) -> Option<f64> {
        let of = self.value(&quantity.of)?;
        match &quantity.less {
            Some(less) => Some(of - self.value(less)?),
            None => Some(of),
        }
    }

    /// Returns the value at an address, of several flows or queues without a statistic the worst; `None` if
    /// nothing was observed, and if there is no such flow, group, port or queue.
    pub fn value(&self, address: &Address) -> Option<f64> {
        if address.is_many() {
            let mut values: Vec<f64> =
                self.values(address).into_iter().filter_map(|(_, value)| value).collect();
            values.sort_unstable_by(f64::total_cmp);
            return address.member_statistic.unwrap_or(MemberStatistic::Worst).of(address.metric, &values);
        }
        self.find(&address.subject, address.metric.name)?.get(address.statistic)
    }

    /// Returns a metric of a subject; `None` if it has no such metric.
    fn find(&self, subject: &Subject, metric: &str) -> Option<Found<'_>> {
        match subject {
            Subject::Run => Some(Found::Value(self.jain_index)),
            Subject::Flow(flow) => self.flows.get(flow)?.find(metric),
            Subject::Group(group) => self.groups.get(group)?.find(metric),
            Subject::Bin(group, number) => {
                self.groups.get(group)?.bins.iter().find(|bin| bin.number == *number)?.files.find(metric)
            }
            Subject::Port(port) => self.ports.get(port)?.find(metric),
            Subject::Queue(port, queue) => self.ports.get(port)?.queues.get(queue)?.find(metric),
        }
    }

    /// Returns the flows or queues that a subject stands for, by name, in order.
    fn members(&self, subject: &Subject) -> Vec<(&str, Member<'_>)> {
        match subject {
            Subject::Flow(pattern) => {
                let flows = self.flows.iter().filter(|(flow, _)| matches(pattern, flow));
                flows.map(|(flow, summary)| (flow.as_str(), Member::Flow(summary))).collect()
            }
            Subject::Queue(port, pattern) => {
                let queues = self.ports.get(port).into_iter().flat_map(|port| &port.queues);
                let queues = queues.filter(|(queue, _)| matches(pattern, queue));
                queues.map(|(queue, summary)| (queue.as_str(), Member::Queue(summary))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the value of each flow or queue that the subject of an address stands for, by its name, in
    /// order; `None` for one of which nothing was observed.
    pub fn values(&self, address: &Address) -> Vec<(&str, Option<f64>)> {
        let value = |member: Member<'_>| member.find(address.metric.name)?.get(address.statistic);
        self.members(&address.subject).into_iter().map(|(name, member)| (name, value(member))).collect()
    }

    /// Returns the address of every value of a single flow, group, port or queue, and of the run, observed or
    /// not: of each metric that the subject can have. A call has no congestion window, a group without files
    /// no completion times.
    pub fn addresses(&self, wanted: impl Fn(&Subject) -> bool) -> Vec<Address> {
        let mut addresses = Vec::new();
        let mut add = |about: SubjectKind, subject: Subject| {
            if !wanted(&subject) {
                return;
            }
            for metric in METRICS.iter().filter(|metric| metric.about == about) {
                if self.find(&subject, metric.name).is_none() {
                    continue;
                }
                let address = |statistic| Address {
                    subject: subject.clone(),
                    metric,
                    statistic,
                    member_statistic: None,
                };
                addresses.extend(statistics(metric).map(address));
            }
        };
        add(SubjectKind::Run, Subject::Run);
        for name in self.flows.keys() {
            add(SubjectKind::Flow, Subject::Flow(name.clone()));
        }
        for (name, group) in &self.groups {
            add(SubjectKind::Group, Subject::Group(name.clone()));
            for bin in &group.bins {
                add(SubjectKind::Group, Subject::Bin(name.clone(), bin.number));
            }
        }
        for (name, port) in &self.ports {
            add(SubjectKind::Port, Subject::Port(name.clone()));
            for queue in port.queues.keys() {
                add(SubjectKind::Queue, Subject::Queue(name.clone(), queue.clone()));
            }
        }
        addresses
    }

    /// Returns true if a subject is recorded briefly, as a member of a group.
    pub(super) fn is_brief(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Flow(flow) => self.detail.is_brief(flow),
            Subject::Port(port) => self.detail.is_brief_port(port),
            Subject::Queue(port, queue) => self.detail.is_brief_port(port) || self.detail.is_brief(queue),
            Subject::Run | Subject::Group(_) | Subject::Bin(..) => false,
        }
    }

    /// Returns the metrics of `shown`, a part of this summary: each value by its address, those over several
    /// flows or queues from all of this summary.
    pub(super) fn metrics_of(&self, shown: &Self) -> IndexMap<String, Option<f64>> {
        let single = shown.addresses(|_| true);
        let mut metrics: IndexMap<String, Option<f64>> =
            single.iter().map(|address| (address.to_string(), shown.value(address))).collect();
        let groups = self.groups.keys().map(|group| format!("{group}/*"));
        for pattern in core::iter::once("*".to_owned()).chain(groups) {
            self.add_over_members(SubjectKind::Flow, &Subject::Flow(pattern), &mut metrics);
        }
        for port in shown.ports.keys() {
            let queues = self.ports.get(port).into_iter().flat_map(|port| port.queues.keys());
            let groups: IndexSet<String> =
                queues.filter_map(|queue| group_of(queue)).map(|group| format!("{group}/*")).collect();
            for pattern in core::iter::once("*".to_owned()).chain(groups) {
                let subject = Subject::Queue(port.clone(), pattern);
                self.add_over_members(SubjectKind::Queue, &subject, &mut metrics);
            }
        }
        for expectation in &self.expect {
            let value =
                || self.metric(&expectation.that).ok().or(expectation.values.first().copied().flatten());
            metrics.entry(expectation.that.clone()).or_insert_with(value);
        }
        metrics
    }

    /// Adds the values over the flows or queues that a pattern stands for, unless it stands for one alone.
    fn add_over_members(
        &self,
        about: SubjectKind,
        subject: &Subject,
        metrics: &mut IndexMap<String, Option<f64>>,
    ) {
        let members = self.members(subject);
        if members.len() < 2 {
            return;
        }
        for metric in METRICS.iter().filter(|metric| metric.about == about) {
            let found: Vec<Found<'_>> =
                members.iter().filter_map(|(_, member)| member.find(metric.name)).collect();
            for statistic in statistics(metric) {
                let mut values: Vec<f64> = found.iter().filter_map(|found| found.get(statistic)).collect();
                values.sort_unstable_by(f64::total_cmp);
                let of_each = core::iter::once(None).chain(MemberStatistic::all().map(Some));
                for member_statistic in of_each {
                    let over = member_statistic.unwrap_or(MemberStatistic::Worst);
                    let Some(value) = over.of(metric, &values) else { continue };
                    let address = Address { subject: subject.clone(), metric, statistic, member_statistic };
                    metrics.insert(address.to_string(), Some(value));
                }
            }
        }
    }

    pub(super) fn check(&self, path: &str) -> Result<(), MetricError> {
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
    /// Returns a metric; `None` if the flow cannot have it.
    fn find(&self, metric: &str) -> Option<Found<'_>> {
        let value = |value: Option<f64>| Some(Found::Value(value));
        let (file, voice, tcp) = (self.file.as_ref(), self.voice.as_ref(), self.tcp.as_ref());
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
            "fct" if tcp.is_some() || self.fct_s.is_some() => value(self.fct_s),
            "file_bytes" => value(Some(file?.bytes as f64)),
            "ps_fct" => value(file?.ps_fct_s),
            "slowdown" => value(file?.slowdown),
            "rtt" => Some(Found::Distribution(&self.echo.as_ref()?.rtt_s)),
            "rtt_loss" => value(self.echo.as_ref()?.rtt_loss_ratio),
            "answer_gap" => Some(Found::Distribution(&self.echo.as_ref()?.answer_gap_s)),
            "page_load" => Some(Found::Distribution(&self.pages.as_ref()?.load_s)),
            "r_factor" => value(voice?.r_factor),
            "mos" => value(voice?.mos),
            "retransmissions" => number(tcp?.retransmissions),
            "timeouts" => number(tcp?.timeouts),
            "cwnd_mean" => value(tcp?.cwnd_mean_bytes),
            "cwnd_min" => value(tcp?.cwnd_min_bytes),
            "cwnd_max" => value(tcp?.cwnd_max_bytes),
            "rtt_mean" => value(tcp?.rtt_mean_s),
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
    /// Returns a metric; `None` for times and sizes if there are no files.
    fn find(&self, metric: &str) -> Option<Found<'_>> {
        match metric {
            "files" => number(self.files),
            "completed" => number(self.completed),
            _ if self.files == 0 => None,
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
            // Without a device ring there are no requests.
            "requests_met" => Some(Found::Value(Some(self.requests_met_ratio?))),
            "requests_contended" => Some(Found::Value(Some(self.requests_contended_ratio?))),
            _ => None,
        }
    }
}

impl QueueSummary {
    fn find(&self, metric: &str) -> Option<Found<'_>> {
        match metric {
            "sojourn" => Some(Found::Distribution(&self.sojourn_s)),
            "scheduling_mean" => Some(Found::Value(Some(self.scheduling_mean_s?))),
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
