//! Checks the whole file, part by part, and builds the scenario.

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::changes::{Base, Changes, State};
use super::flows::Flows;
use super::network::Network;
use super::{Checker, section_of};
use crate::diagnostic::{Problem, one_line};
use crate::file::{RecordTable, SECTIONS, Top};
use crate::model::{Record, Scenario};
use crate::routes::Routes;
use crate::table_reader::{TableLocation, read_valid_table, unknown_keys};
use crate::timeline::Timeline;

/// Longest run. A u64 of picoseconds ends at 213 days; time must not saturate before the run ends.
const LONGEST_RUN: Duration = Duration::from_secs(100 * 24 * 3600);

/// Smallest complete scenario, shown if a file is empty.
const SMALLEST: &str = r#"the smallest scenario is

duration = "10s"
[node]
a = {}
b = {}
[link.wire]
between = ["a", "b"]
rate = "10mbit"
[flow.data]
from = "a"
to = "b"
size = "1500B"
gap = "2ms""#;

impl Checker<'_> {
    /// Checks the whole file.
    pub(crate) fn scenario(
        &mut self,
        root: &Spanned<DeTable<'_>>,
        text: &str,
        name: &str,
    ) -> Option<Scenario> {
        let table = root.get_ref();
        if table.is_empty() {
            self.note(Problem::new(None, "the file is empty").help(SMALLEST));
            return None;
        }
        let start = 0..0;
        let (top, record) = self.top(TableLocation { what: "the scenario", table, header: &start });
        let mut network = self.network(table);
        let flows = self.flows(table, &network);
        let ports = self.ports(table, &network, &flows);
        if network.complete {
            self.whole_network(table, &mut network, &flows);
        }
        let end = top.as_ref().map(|top| Instant::ZERO + top.duration);
        let entries = self.change_entries(table, text, 0, end);
        let routes = core::mem::take(&mut network.routes);
        let base = Base::new(table, network, (flows, ports), self.groups.clone(), end);
        let (mut state, mut changes) = (State::default(), Changes::default());
        let entries = if self.allows_effects(&entries, &base) { entries } else { Vec::new() };
        for entry in &entries {
            self.change(entry, &base, &mut state, &mut changes);
        }
        let (network, flows, ports) = base.parts();
        self.warn_unused(ports, &changes.roots);
        let times = top.as_ref().map(|top| (top.warmup, top.duration));
        let expects = self.expects(table, ports, flows, times);
        let vary = self.varies(table);
        if let Some(end) = end {
            self.warn_repeated(table, network, end);
            self.warn_late(table, flows, end);
            self.warn_traffic(table, flows, end);
            self.warn_excess(table, flows, end);
        }
        let top = top.filter(|_| self.problems.is_empty())?;
        Some(Scenario {
            title: one_line(&top.title.unwrap_or_else(|| title_of(name))).into_owned(),
            duration: top.duration,
            warmup: top.warmup,
            links: network.links.iter().flatten().cloned().collect(),
            nodes: network.nodes.clone(),
            ports: ports.models.clone(),
            routes,
            flows: flows.expand(),
            adversary: flows.adversary.clone(),
            changes: changes.effects,
            expects,
            wanted: Vec::new(),
            vary,
            record,
            warnings: core::mem::take(&mut self.warnings),
            memory: self.memory,
            timeline: Timeline::new(base, text, entries, self.take_cache()),
        })
    }

    /// Finds the routes of a network without wrong parts, and checks what depends on them.
    fn whole_network(&mut self, table: &DeTable<'_>, network: &mut Network, flows: &Flows) {
        let ends = flows.groups.iter().filter_map(|group| group.flow.as_ref());
        let ends = ends.flat_map(|flow| [flow.from, flow.to]);
        let links: Vec<_> = network.links.iter().flatten().map(|link| link.ends).collect();
        network.routes = Routes::new(network.nodes.len(), &links, ends);
        self.check_routes(table, network, flows);
        self.check_envelopes(table, network, flows);
        self.check_adversary(table, network, flows);
        self.warn_parallel(table, network);
    }

    fn top(&mut self, location: TableLocation<'_, '_>) -> (Option<Top>, Record) {
        let keys = self.cache.table_keys.of::<Top>();
        unknown_keys(location, &[&keys], &SECTIONS, &mut self.problems);
        let top: Option<Top> = read_valid_table(location, &keys, &mut self.problems);
        if let Some(top) = &top {
            if top.duration.is_zero() {
                self.note(
                    Problem::new(location.value("duration"), "the run has no duration")
                        .help("it is more than `0s`"),
                );
            } else if top.duration > LONGEST_RUN {
                let problem = Problem::new(
                    location.value("duration"),
                    format!("the run is too long: {}", top.duration),
                );
                self.note(problem.help("it is at most `2400h`, 100 days"));
            } else if top.warmup >= top.duration {
                let problem = Problem::new(
                    location.value("warmup"),
                    format!("nothing is left after a warm-up of {}", top.warmup),
                );
                self.note(
                    problem
                        .see(location.value("duration"), "the duration")
                        .help(format!("the warm-up is less than the duration, {}", top.duration)),
                );
            }
        }
        for (section, needed) in [
            ("link", "add a link: `[link.NAME]` with `between` and `rate`"),
            ("flow", "add a flow: `[flow.NAME]` with `from`, `to` and what it sends"),
        ] {
            let count = section_of(location.table, section)
                .map(|value| value.get_ref().as_table().map_or(1, DeTable::len));
            if count.unwrap_or(0) == 0 && (section != "flow" || self.needs_flows) {
                self.note(
                    Problem::new(location.header.clone(), format!("the scenario has no {section}"))
                        .help(needed),
                );
            }
        }
        let record = match location.table.get("record") {
            None => Record::default(),
            Some(value) => self.record(value),
        };
        (top, record)
    }

    fn record(&mut self, value: &Spanned<DeValue<'_>>) -> Record {
        let DeValue::Table(table) = value.get_ref() else {
            self.note(
                Problem::new(value.span(), "`record` is a table").help("write `[record]` and its keys below"),
            );
            return Record::default();
        };
        let header = value.span();
        let location = TableLocation { what: "`record`", table, header: &header };
        let Some(record) = self.whole::<RecordTable>(location) else { return Record::default() };
        if record.interval.is_some_and(Duration::is_zero) {
            self.note(
                Problem::new(location.value("interval"), "an interval of no time")
                    .help("it is more than `0s`"),
            );
        }
        let bins = record.file_bins.unwrap_or_default();
        if bins.contains(&Bytes::ZERO) || bins.windows(2).any(|pair| pair[0] >= pair[1]) {
            let problem = Problem::new(location.value("file_bins"), "classes of file sizes do not rise");
            self.note(problem.help("name the sizes at which they begin: `[\"12kB\", \"100kB\", \"1MB\"]`"));
        }
        if record.file_bin_width == Some(Bytes::ZERO) {
            let problem = Problem::new(location.value("file_bin_width"), "a class of no sizes");
            self.note(problem.help("it is more than `0B`"));
        }
        if record.file_bin_width.is_some() && location.has("file_bins") {
            let problem =
                Problem::new(location.key("file_bin_width"), "`file_bins` says where classes begin");
            self.note(problem.see(location.key("file_bins"), "given here").help("give one of the two"));
        }
        if record.sharing_rate.is_some_and(Rate::is_zero) {
            let problem = Problem::new(location.value("sharing_rate"), "nothing is ever done at no rate");
            self.note(problem.help("it is more than `0bit`, such as `1mbit`"));
        }
        Record {
            packets: record.packets,
            capture: record.capture,
            detail: record.detail,
            interval: record.interval,
            file_bins: bins,
            file_bin_width: record.file_bin_width,
            sharing_rate: record.sharing_rate,
        }
    }
}

/// Returns a title for a file without one: the file name without folder and extension.
fn title_of(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.strip_suffix(".toml").unwrap_or(file).to_owned()
}
