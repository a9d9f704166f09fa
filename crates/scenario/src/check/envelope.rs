//! Checks envelopes of flows.

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Instant, Rate};
use toml::de::DeTable;

use super::Checker;
use super::flows::Flows;
use super::network::Network;
use crate::diagnostic::{Problem, Span};
use crate::envelope::{Envelope, TokenBucket};
use crate::file::{EnvelopeTable, FlowTable};
use crate::model::{Flow, Transport};
use crate::table_reader::TableLocation;
use crate::traffic::Traffic;

impl Checker<'_> {
    /// Reads the envelope of a flow; `None` if absent or wrong.
    pub(super) fn envelope(
        &mut self,
        flow: &FlowTable,
        location: TableLocation<'_, '_>,
        transport: Transport,
        traffic: &Traffic,
    ) -> Option<Envelope> {
        let table = flow.envelope.as_deref()?;
        let at = |key: &str| location.inner("envelope", key);
        let noted = self.problems.len();
        if transport != Transport::Udp {
            let problem =
                Problem::new(location.key("envelope"), "what TCP sends follows the network, not an envelope");
            self.note(problem.help("leave it out: other flows beside it are bounded by its longest packet"));
            return None;
        }
        let whole = location.value("envelope");
        let is_wrong = |key: &str| {
            let of = at(key);
            let is_in = |span: &Span| of.start <= span.start && span.end <= of.end;
            of != whole && self.problems.iter().any(|problem| problem.span().is_some_and(|span| is_in(&span)))
        };
        // What is missing may be in a value that is not read, which is noted already.
        if ["rate", "burst", "peakrate", "buckets"].iter().any(|key| is_wrong(key)) {
            return None;
        }
        let mut buckets = self.buckets(table, &at)?;
        let of_traffic = crate::envelope::lengths(&traffic.config);
        let smallest = buckets.iter().map(|(bucket, _)| bucket.burst).min().unwrap_or_default();
        let [shortest, longest] = of_traffic.unwrap_or([Bytes(1), smallest]);
        let (shortest, longest) = (table.shortest.unwrap_or(shortest), table.longest.unwrap_or(longest));
        if shortest == Bytes::ZERO || longest < shortest {
            let key = if table.shortest.is_some() { "shortest" } else { "longest" };
            let problem = Problem::new(at(key), format!("no frame is from {shortest} to {longest} long"));
            self.note(problem.help("write `shortest = \"64B\"` and `longest = \"1514B\"`"));
            return None;
        }
        for (bucket, span) in &buckets {
            if bucket.burst < longest {
                let wrong = format!("the burst of {} does not hold a packet of {longest}", bucket.burst);
                let help =
                    format!("make it `{}B` or more, or state smaller packets with `longest`", longest.0);
                self.note(Problem::new(span.clone(), wrong).help(help));
            }
        }
        if let (Some(peak), Some(rate)) =
            (table.peakrate, table.rate.filter(|rate| table.peakrate < Some(*rate)))
        {
            let wrong = format!("`peakrate` of {peak} is under the `rate`, which is {rate}");
            let help = "give it more than the `rate`, or leave it out: a burst comes at the peak rate";
            self.note(Problem::new(at("peakrate"), wrong).help(help));
        }
        let peak = table.peakrate.map(|rate| (TokenBucket { rate, burst: longest }, at("peakrate")));
        buckets.extend(peak);
        for (bucket, span) in &buckets {
            if bucket.rate.is_zero() {
                let problem =
                    Problem::new(span.clone(), "an envelope of no rate ends the flow after its burst");
                self.note(problem.help("give it a rate such as `1mbit`"));
            }
        }
        let buckets = buckets.into_iter().map(|(bucket, _)| bucket).collect();
        (self.problems.len() == noted).then_some(Envelope { buckets, shortest, longest, derived: None })
    }

    /// Reads the buckets, each with the location of its burst.
    fn buckets(
        &mut self,
        table: &EnvelopeTable,
        at: &dyn Fn(&str) -> Span,
    ) -> Option<Vec<(TokenBucket, Span)>> {
        let mut buckets = Vec::new();
        match (table.rate, table.burst) {
            (Some(rate), Some(burst)) => buckets.push((TokenBucket { rate, burst }, at("burst"))),
            (None, None) => {}
            (rate, _) => {
                let (given, missing) = if rate.is_some() { ("rate", "burst") } else { ("burst", "rate") };
                let problem = Problem::new(at(given), format!("`{given}` of an envelope needs `{missing}`"));
                self.note(problem.help("a token bucket has both: `rate = \"1mbit\"` and `burst = \"3kB\"`"));
                return None;
            }
        }
        let further =
            table.buckets.iter().map(|further| TokenBucket { rate: further.rate, burst: further.burst });
        buckets.extend(further.map(|bucket| (bucket, at("buckets"))));
        if buckets.is_empty() && table.peakrate.is_none() {
            let problem = Problem::new(at("buckets"), "the envelope has no token bucket");
            self.note(problem.help("add `rate = \"1mbit\"` and `burst = \"3kB\"`"));
            return None;
        }
        Some(buckets)
    }

    /// Notes envelopes of more than a link of the path carries.
    pub(super) fn check_envelopes(&mut self, root: &DeTable<'_>, network: &Network, flows: &Flows) {
        for entry in Self::section_again(root, "flow") {
            let Some(flow) = flows.get(entry.name).and_then(|group| group.flow.as_ref()) else { continue };
            let Some(envelope) = &flow.envelope else { continue };
            let rate = envelope.buckets.iter().map(|bucket| bucket.rate).min().unwrap_or_default();
            let at = entry.location().inner("envelope", "rate");
            self.check_rate(&format!("the envelope lets {}", entry.what), rate, flow, network, at);
        }
    }

    /// Notes a rate of more than a link on the path of a flow carries.
    pub(super) fn check_rate(&mut self, what: &str, rate: Rate, flow: &Flow, network: &Network, at: Span) {
        let path = network.routes.path(flow.from, flow.to).unwrap_or_default();
        // Ports go in pairs, one a direction of each link.
        let links = path.iter().filter_map(|port| Some((network.links.get(port / 2)?.as_ref()?, port % 2)));
        let rates = links.map(|(link, direction)| (link.mean_rate(direction), link.name.as_str()));
        let slowest: Option<(Rate, &str)> = rates.min_by_key(|(slowest, _)| *slowest);
        if let Some((slowest, link)) = slowest.filter(|(slowest, _)| rate > *slowest) {
            let wrong = format!("{what} send {rate}, and `link.{link}` carries {slowest}");
            let help = format!("state at most `{slowest}`: with more, no queue has a bound");
            self.note(Problem::new(at, wrong).help(help));
        }
    }

    /// Warns of traffic that exceeds its stated envelope with seed 1.
    pub(super) fn warn_excess(&mut self, root: &DeTable<'_>, flows: &Flows, end: Instant) {
        for entry in Self::section_again(root, "flow") {
            let Some(flow) = flows.get(entry.name).and_then(|group| group.flow.as_ref()) else { continue };
            let Some(envelope) = &flow.envelope else { continue };
            let emissions = flow.emissions(Seed(1), end.since(Instant::ZERO + flow.start));
            let Some(excess) = envelope.excess(emissions) else { continue };
            let problem = Problem::new(entry.location().key("envelope"), format!("{} {excess}", entry.what));
            self.warn(problem.help("its proofs hold for what keeps the envelope: widen it, or send less"));
        }
    }
}
