//! Access to the values of a summary by address.

use indexmap::{IndexMap, IndexSet};

use super::{Distribution, Expectation, FlowSummary, QueueSummary, Summary};
use crate::group::group_of;
use crate::metric::{
    Address, During, MemberStatistic, Metric, MetricError, Names, Observed, Quantity, Read, Statistic,
    Subject, SubjectKind, check_path, matches,
};

impl Observed<'_> {
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
    /// Returns a metric; `None` if the flow or queue cannot have it.
    fn observed(self, metric: &Metric) -> Option<Observed<'a>> {
        match (self, metric.read) {
            (Self::Flow(flow), Read::Flow(of)) => of.read(flow),
            (Self::Queue(queue), Read::Queue(of)) => of.read(queue),
            _ => None,
        }
    }
}

/// Values of a metric over members.
struct MemberValues {
    /// Those that were observed, ascending.
    observed: Vec<f64>,
    /// Number of members.
    members: usize,
}

impl MemberValues {
    fn new(values: impl ExactSizeIterator<Item = Option<f64>>) -> Self {
        let members = values.len();
        let mut observed: Vec<f64> = values.flatten().collect();
        observed.sort_unstable_by(f64::total_cmp);
        Self { observed, members }
    }

    /// Returns the statistic over the values that were observed; without a statistic the worst of all, of
    /// which one without a value is the worst.
    fn get(&self, metric: &Metric, over: Option<MemberStatistic>) -> Option<f64> {
        if over.is_none() && self.observed.len() < self.members {
            return None;
        }
        over.unwrap_or(MemberStatistic::Worst).of(metric, &self.observed)
    }
}

/// Returns the statistics of a metric: one without a name, or those of its distribution.
fn statistics(metric: &Metric) -> impl Iterator<Item = Option<Statistic>> {
    let of_distribution = Statistic::ALL.into_iter().filter(|_| metric.is_distribution());
    (!metric.is_distribution()).then_some(None).into_iter().chain(of_distribution.map(|(one, _)| Some(one)))
}

impl Summary {
    /// Returns the value at an address such as `flow.voice.owd.p99`, in its base unit.
    ///
    /// # Errors
    /// Returns [`MetricError::Unknown`] if there is no such metric, flow, port or queue, with the nearest
    /// one; [`MetricError::Empty`] if nothing was observed.
    pub fn metric(&self, path: &str) -> Result<f64, MetricError> {
        let address = Address::parse(path)?;
        if let Some(during) = address.during
            && self.part(during).is_none()
        {
            let why =
                "of parts of a run, those are observed that an expectation names: add an `[[expect]]` on it";
            return Err(MetricError::Unknown { path: path.to_owned(), why: why.to_owned(), nearest: None });
        }
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

    /// Returns the value at an address; `None` if nothing was observed, and if there is no such flow, group,
    /// port or queue. Of several flows or queues it is the statistic over those that have a value; without a
    /// statistic, the worst of all, which is `None` if nothing was observed of one: as in an expectation on
    /// each of them, such a member is the worst.
    pub fn value(&self, address: &Address) -> Option<f64> {
        if let Some(during) = address.during {
            return self.part(during)?.value(&address.of_whole_run());
        }
        if address.is_many() {
            let values = MemberValues::new(self.values(address).into_iter().map(|(_, value)| value));
            return values.get(address.metric, address.member_statistic);
        }
        self.observed(&address.subject, address.metric)?.get(address.statistic)
    }

    /// Returns the results of a part of the run, if it is observed.
    fn part(&self, during: During) -> Option<&Self> {
        self.parts.iter().find(|(known, _)| *known == during).map(|(_, part)| part)
    }

    /// Returns a metric of a single subject; `None` if it cannot have it, or there is no such subject.
    pub fn observed(&self, subject: &Subject, metric: &Metric) -> Option<Observed<'_>> {
        match (metric.read, subject) {
            (Read::Run(of), Subject::Run) => of.read(self),
            (Read::Flow(of), Subject::Flow(flow)) => of.read(self.flows.get(flow)?),
            (Read::Group(of), Subject::Group(group)) => of.read(self.groups.get(group)?),
            (Read::Files(of), Subject::Group(group)) => of.read(&self.groups.get(group)?.all),
            (Read::Files(of), Subject::Bin(group, number)) => {
                let bins = &self.groups.get(group)?.bins;
                of.read(&bins.iter().find(|bin| bin.number == *number)?.files)
            }
            (Read::Port(of), Subject::Port(port)) => of.read(self.ports.get(port)?),
            (Read::Queue(of), Subject::Queue(port, queue)) => {
                of.read(self.ports.get(port)?.queues.get(queue)?)
            }
            _ => None,
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

    /// Returns the value of each flow or queue that the subject of an address stands for and that can have
    /// the metric, by its name, in order; `None` for one of which nothing was observed.
    pub fn values(&self, address: &Address) -> Vec<(&str, Option<f64>)> {
        if let Some(during) = address.during {
            return self.part(during).map_or_else(Vec::new, |part| part.values(&address.of_whole_run()));
        }
        let value = |member: Member<'_>| {
            member.observed(address.metric).map(|observed| observed.get(address.statistic))
        };
        let members = self.members(&address.subject).into_iter();
        members.filter_map(|(name, member)| Some((name, value(member)?))).collect()
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
            for metric in Metric::of(about) {
                if self.observed(&subject, metric).is_none() {
                    continue;
                }
                let address = |statistic| Address {
                    subject: subject.clone(),
                    metric,
                    statistic,
                    member_statistic: None,
                    during: None,
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
    pub(crate) fn metrics_of(&self, shown: &Self) -> IndexMap<String, Option<f64>> {
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
            for address in self.expected(expectation) {
                metrics.entry(address.to_string()).or_insert_with(|| self.value(&address));
            }
            let value =
                || self.metric(&expectation.that).ok().or(expectation.values.first().copied().flatten());
            metrics.entry(expectation.that.clone()).or_insert_with(value);
        }
        metrics
    }

    /// Returns the addresses that an expectation compares, and those of each flow or queue that it is on.
    fn expected(&self, expectation: &Expectation) -> Vec<Address> {
        let Ok(quantity) = Quantity::parse(&expectation.that) else { return Vec::new() };
        let mut all = Vec::new();
        for address in quantity.addresses() {
            if address.is_many() {
                let members = self.values(address).into_iter();
                all.extend(members.filter_map(|(name, _)| address.of_member(name)));
            }
            all.push(address.clone());
        }
        all
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
        for metric in Metric::of(about) {
            let found: Vec<Observed<'_>> =
                members.iter().filter_map(|(_, member)| member.observed(metric)).collect();
            for statistic in statistics(metric) {
                let values = MemberValues::new(found.iter().map(|found| found.get(statistic)));
                if values.observed.is_empty() {
                    continue;
                }
                let of_each = core::iter::once(None).chain(MemberStatistic::all().map(Some));
                for member_statistic in of_each {
                    let value = values.get(metric, member_statistic);
                    let address = Address {
                        subject: subject.clone(),
                        metric,
                        statistic,
                        member_statistic,
                        during: None,
                    };
                    metrics.insert(address.to_string(), value);
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
