//! Checks the controller of a port's rate.

use core::net::IpAddr;

use lockgate_autorate::{Bounds, Law, MOST_PROBES, Parameters};
use lockgate_engine::units::{Duration, Rate};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Checker;
use super::flows::Flows;
use super::network::Network;
use crate::diagnostic::{Problem, Span};
use crate::file::{AutorateTable, Probes};
use crate::model::{Autorate, PortModel};
use crate::policy::{Direction, PolicyAutorate};
use crate::table_reader::{TableLocation, read_table, shorten, unknown_keys};

/// Shortest and longest interval between the probes of an address.
const EVERY: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(60)];

/// Shortest interval between the probes of an address that a router sends: with it a probe, a frame of at
/// most 62 bytes, is 1 kbit/s.
const ROUTER_EVERY: Duration = Duration::from_millis(500);

/// A controller as read, with the names that are resolved with the network.
#[derive(Clone)]
pub(super) struct AutorateRead {
    pub(super) model: Autorate,
    /// Nodes that are probed, and the position of each name.
    pub(super) probes: Vec<(String, Span)>,
    /// Link whose capacity the oracle knows, and the position of its name.
    pub(super) line: Option<(String, Span)>,
}

impl Checker<'_> {
    /// Reads the controller of a port, if it has one. `rate` is that of the port.
    pub(super) fn autorate(
        &mut self,
        port: TableLocation<'_, '_>,
        rate: Option<Rate>,
    ) -> Option<AutorateRead> {
        let value = port.table.get("autorate")?;
        let DeValue::Table(table) = value.get_ref() else {
            let problem = Problem::new(value.span(), "`autorate` is a table");
            self.note(problem.help("write `autorate = { min = \"1mbit\", max = \"20mbit\" }`"));
            return None;
        };
        let noted = self.problems.len();
        let (header, what) = (value.span(), format!("`autorate` of {}", port.what));
        let location = TableLocation { what: &what, table, header: &header };
        let own = self.cache.table_keys.of::<AutorateTable>();
        let of_laws = self.cache.table_keys.of::<Parameters>();
        unknown_keys(location, &[&own, &of_laws], &[], &mut self.problems);
        let parameters = read_table::<Parameters>(location, &of_laws, &mut self.problems);
        let read = read_table::<AutorateTable>(location, &own, &mut self.problems)?;
        let parameters = parameters?;
        if let Err((law, unfit)) = parameters.check() {
            let what = format!("`{}` of `{law}` is out of its range", unfit.field);
            self.note(Problem::new(location.inner(law, unfit.field), what).help(unfit.range));
        }
        let start = read.start.or(rate).unwrap_or(read.max);
        self.check_bounds(location, &read, start);
        self.check_signals(location, &read);
        let probes = read.probes.as_ref();
        let span =
            |index: usize| inner_element(location.table, index).unwrap_or_else(|| location.value("probes"));
        let named = |(index, node): (usize, &String)| (node.clone(), span(index));
        let model = Autorate {
            law: read.law,
            parameters,
            bounds: Bounds { min: read.min, max: read.max, start },
            reads_acknowledgements: read.acknowledgements,
            probes: Vec::new(),
            probe_every: probes.map_or(Duration::ZERO, |probes| probes.every),
            observe_only: read.observe_only,
            line: None,
        };
        (self.problems.len() == noted).then(|| AutorateRead {
            model,
            probes: probes.map_or_else(Vec::new, |probes| probes.to.iter().enumerate().map(named).collect()),
            line: read.line.clone().map(|line| (line, location.value("line"))),
        })
    }

    fn check_bounds(&mut self, location: TableLocation<'_, '_>, read: &AutorateTable, start: Rate) {
        for (key, rate) in [("min", read.min), ("max", read.max)] {
            if rate.is_zero() {
                let problem = Problem::new(location.value(key), format!("`{key}` of zero sends nothing"));
                self.note(problem.help("give it a rate such as `1mbit`"));
            }
        }
        if read.min > read.max {
            let problem =
                Problem::new(location.value("max"), format!("`max` is below `min`, which is {}", read.min));
            self.note(
                problem.see(location.value("min"), "the least rate").help("give `max` the larger rate"),
            );
        } else if start < read.min || start > read.max {
            let (key, what) =
                if read.start.is_some() { ("start", "`start`") } else { ("min", "the port's `rate`") };
            let problem =
                Problem::new(location.value(key), format!("{what}, {start}, is outside of the bounds"));
            self.note(
                problem.help(format!("it is from `min` to `max`: from `{}` to `{}`", read.min, read.max)),
            );
        }
    }

    /// Checks that the law has a signal.
    fn check_signals(&mut self, location: TableLocation<'_, '_>, read: &AutorateTable) {
        if let Some(Probes { to, every }) = &read.probes {
            if to.is_empty() || to.len() > MOST_PROBES {
                let what = format!("`probes` go to {} addresses", to.len());
                let problem = Problem::new(location.inner("probes", "to"), what);
                self.note(problem.help(format!("name 1 to {MOST_PROBES} nodes, or leave `probes` out")));
            }
            if *every < EVERY[0] || *every > EVERY[1] {
                let problem = Problem::new(
                    location.inner("probes", "every"),
                    format!("probes cannot be sent each {every}"),
                );
                self.note(problem.help(format!("it is from `{}` to `{}`", EVERY[0], EVERY[1])));
            }
        }
        let needs_none = matches!(read.law, Law::Fixed | Law::Oracle);
        if !read.acknowledgements && read.probes.is_none() && !needs_none {
            let key = if location.has("acknowledgements") { "acknowledgements" } else { "law" };
            let problem =
                Problem::new(location.value(key), format!("`{}` has no signal to step by", read.law));
            let help = "leave `acknowledgements` true, or add `probes = { to = [\"NODE\"], every = \"1s\" }`";
            self.note(problem.help(help));
        }
    }

    /// Resolves the names of the controller of `port`.
    pub(super) fn resolve_autorate(
        &mut self,
        read: &AutorateRead,
        port: &PortModel,
        (network, flows): (&Network, &Flows),
    ) -> Autorate {
        let mut model = read.model.clone();
        for (index, (name, span)) in read.probes.iter().enumerate() {
            let Some(node) = network.indices.get(name).copied() else {
                let problem = self.no_such("node", name, span.clone(), network.node_names());
                self.note(problem);
                continue;
            };
            let is_again = read.probes[..index].iter().any(|(earlier, _)| earlier == name);
            match flows.probes.get(&(port.pair().to_owned(), name.clone())) {
                _ if is_again => {
                    let problem = Problem::new(span.clone(), format!("`{}` is probed twice", shorten(name)));
                    self.note(problem.help("name each node once"));
                }
                Some(flow) => model.probes.push(*flow),
                None => {
                    let what = format!("`{}` cannot be probed from here", shorten(name));
                    let help = if node == port.from {
                        "name a node beyond the line, not the one that sends"
                    } else {
                        "name a node with an address of the same family, and few enough of them"
                    };
                    self.note(Problem::new(span.clone(), what).help(help));
                }
            }
        }
        if let Some((name, span)) = &read.line {
            model.line = network.link_names.iter().position(|known| known == name);
            if model.line.is_none() {
                let known = network.link_names.iter().map(String::as_str);
                let problem = self.no_such("link", name, span.clone(), known);
                self.note(problem);
            }
        }
        model
    }
}

impl Checker<'_> {
    /// Checks the controller of a router's port, which queues frames of this direction, and resolves the
    /// addresses that it probes.
    pub(super) fn router_autorate(
        &mut self,
        read: &AutorateRead,
        port: TableLocation<'_, '_>,
        direction: Direction,
    ) -> Option<PolicyAutorate> {
        let value = port.table.get("autorate")?;
        let (table, header) = (value.get_ref().as_table()?, value.span());
        let location = TableLocation { what: "`autorate`", table, header: &header };
        let noted = self.problems.len();
        let AutorateRead { model, probes, line } = read;
        if let Some((_, span)) = line {
            let problem = Problem::new(span.clone(), "`line` names a link of a scenario");
            self.note(problem.help("leave it out: a router's line is what is behind its interface"));
        }
        if model.law == Law::Oracle {
            let problem = Problem::new(location.value("law"), "no router knows the rate of its line");
            self.note(problem.help("choose another law, such as `brake`"));
        }
        if !probes.is_empty() && model.probe_every < ROUTER_EVERY {
            let what = format!("a router does not probe each {}", model.probe_every);
            let problem = Problem::new(location.inner("probes", "every"), what);
            self.note(problem.help(format!("`every` is at least `{ROUTER_EVERY}`: 1 kbit/s an address")));
        }
        if direction == Direction::Incoming && probes.is_empty() && model.law != Law::Fixed {
            let what = "nothing shows the delay of what arrives: acknowledgements of it come from this side";
            let help = "add `probes = { to = [\"ADDRESS\"], every = \"500ms\" }`, of hosts beyond the line";
            self.note(Problem::new(header.clone(), what).help(help));
        }
        let mut addresses: Vec<IpAddr> = Vec::new();
        for (name, span) in probes {
            match name.parse() {
                Ok(address) if addresses.contains(&address) => {
                    let problem = Problem::new(span.clone(), format!("`{address}` is probed twice"));
                    self.note(problem.help("name each address once"));
                }
                Ok(address) => addresses.push(address),
                Err(_) => {
                    let what = format!("`{}` is not an address", shorten(name));
                    let help = "name the address of a host beyond the line that answers, such as `192.0.2.1`";
                    self.note(Problem::new(span.clone(), what).help(help));
                }
            }
        }
        let model = Autorate { probes: Vec::new(), line: None, ..model.clone() };
        (self.problems.len() == noted).then_some(PolicyAutorate { model, probes: addresses })
    }
}

/// Returns the position of an element of the list `probes.to`.
fn inner_element(table: &DeTable<'_>, index: usize) -> Option<Span> {
    let probes = table.get("probes")?.get_ref().as_table()?;
    probes.get("to")?.get_ref().as_array()?.get(index).map(Spanned::span)
}
