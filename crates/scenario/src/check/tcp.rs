//! Reads the TCP parameters of a flow.

use std::sync::Arc;

use lockgate_engine::units::Bytes;
use lockgate_traffic::{Law, LawConfig, LoadedFiles, TrafficConfig};

use super::Checker;
use crate::application::Pages;
use crate::diagnostic::Problem;
use crate::file::FlowTable;
use crate::table_reader::TableLocation;
use crate::tcp::{Application, Congestion, EcnKey, TcpModel};
use crate::traffic::Traffic;

/// Keys that only TCP flows may have.
const OWN_KEYS: [&str; 17] = [
    "file",
    "files",
    "every",
    "ftp",
    "pages",
    "congestion",
    "mss",
    "initial_window",
    "receive_window",
    "ecn",
    "sack",
    "delayed_ack",
    "quick_acks",
    "minimum_rto",
    "virtual_rtt",
    "pacing",
    "initial_sequence",
];

/// Limit on the objects of a page.
const MOST_OBJECTS: u32 = 10_000;

/// Largest payload: an IPv4 packet of 65535 bytes without 52 of headers.
const LARGEST_SEGMENT: u64 = 65_535 - 52;

impl Checker<'_> {
    /// Notes TCP keys on a flow without TCP.
    pub(super) fn refuse_tcp_keys(&mut self, location: TableLocation<'_, '_>) {
        for key in OWN_KEYS.into_iter().filter(|key| location.has(key)) {
            let what = match key {
                "congestion" => "only TCP has congestion control".to_owned(),
                _ => format!("only TCP has `{key}`"),
            };
            let problem = Problem::new(location.key(key), what);
            self.note(problem.help(format!("leave `{key}` out, or write `transport = \"tcp\"`")));
        }
    }

    /// Reads the TCP parameters of a flow.
    pub(super) fn tcp(&mut self, table: &FlowTable, location: TableLocation<'_, '_>) -> TcpModel {
        let defaults = TcpModel::default();
        let congestion = table.congestion.unwrap_or_default();
        if location.has("packets") {
            let problem =
                Problem::new(location.key("packets"), "a TCP flow decides itself what its packets are");
            self.note(problem.help("say how much it sends: `bytes = \"1MB\"`"));
        }
        let mut bounded = |key: &str, value: Option<u64>, (least, most): (u64, u64), unit: &str, or: u32| {
            let Some(value) = value else { return or };
            if !(least..=most).contains(&value) {
                let what = format!("`{key}` cannot be {value}{unit}");
                self.note(
                    Problem::new(location.value(key), what)
                        .help(format!("it is from `{least}{unit}` to `{most}{unit}`")),
                );
            }
            value.min(u64::from(u32::MAX)) as u32
        };
        let bytes = |value: Option<Bytes>| value.map(|bytes| bytes.0);
        let packets = |value: Option<lockgate_engine::units::Packets>| value.map(|packets| packets.0);
        let mss = bounded("mss", bytes(table.mss), (64, LARGEST_SEGMENT), "B", defaults.mss);
        let initial_window =
            bounded("initial_window", packets(table.initial_window), (1, 1000), "p", defaults.initial_window);
        let quick_acks =
            bounded("quick_acks", packets(table.quick_acks), (0, 1000), "p", defaults.quick_acks);
        let receive_window = bounded(
            "receive_window",
            bytes(table.receive_window),
            (u64::from(mss), 1 << 30),
            "B",
            defaults.receive_window.max(mss),
        );
        let minimum_rto = table.minimum_rto.unwrap_or(defaults.minimum_rto);
        if minimum_rto.is_zero() {
            let problem =
                Problem::new(location.value("minimum_rto"), "a timeout needs room above the round trip");
            self.note(problem.help("`minimum_rto` is at least `1ms`; Linux has `200ms`"));
        }
        if location.has("virtual_rtt") && congestion != Congestion::Prague {
            let what = format!("`{congestion}` has no virtual round trip");
            let problem = Problem::new(location.key("virtual_rtt"), what);
            self.note(problem.help("leave `virtual_rtt` out, or write `congestion = \"prague\"`"));
        }
        let model = TcpModel {
            application: self.application(table, location),
            congestion,
            mss,
            initial_window,
            receive_window,
            ecn: EcnKey::of(table.ecn, congestion),
            sack: table.sack.unwrap_or(defaults.sack),
            delayed_ack: table.delayed_ack.unwrap_or(defaults.delayed_ack),
            quick_acks,
            minimum_rto,
            virtual_rtt: table.virtual_rtt.unwrap_or(defaults.virtual_rtt),
            pacing: table.pacing.unwrap_or(defaults.pacing),
            initial_sequence: table.initial_sequence.unwrap_or_default(),
        };
        if model.control() != congestion {
            self.warn_of_reno(congestion, location);
        }
        model
    }

    /// Warns of a congestion control that cannot work with the flow's ECN.
    fn warn_of_reno(&mut self, congestion: Congestion, location: TableLocation<'_, '_>) {
        let what = format!("`{congestion}` cannot work with this ECN; the flow falls back to `reno`");
        let problem = Problem::new(location.value("ecn"), what);
        self.warn(problem.help("leave `ecn` out, or write `congestion = \"reno\"`"));
    }

    /// Reads two laws as traffic: of file sizes and the times between files, or of pages' objects and the
    /// think time.
    pub(super) fn drawn_files(
        &mut self,
        table: &FlowTable,
        location: TableLocation<'_, '_>,
    ) -> Option<Traffic> {
        let (size, gap) = match &table.pages {
            Some(pages) => (Some(pages.object.clone()), pages.think.clone()),
            None => (table.file.clone(), table.every.clone()),
        };
        let config = TrafficConfig { size, gap, ..Default::default() };
        let mut refused = Vec::new();
        let files = self.files_of(&config).unwrap_or_else(|problems| {
            refused = problems;
            LoadedFiles::none()
        });
        if refused.is_empty() {
            refused.extend(config.size.as_ref().and_then(|law| Law::new(law, "size", &files).err()));
            refused.extend(config.gap.as_ref().and_then(|law| Law::new(law, "gap", &files).err()));
        }
        let key = if table.pages.is_some() { "pages" } else { "file" };
        let nothing = |law: &LawConfig<Bytes>| {
            law.value == Some(Bytes::ZERO) || law.values.iter().flatten().any(|size| *size == Bytes::ZERO)
        };
        if config.size.as_ref().is_some_and(nothing) {
            let problem = Problem::new(location.value(key), "a file of no bytes is never there");
            self.note(problem.help("give it at least `1B`, or leave the flow out"));
        }
        for invalid in &refused {
            let of_gap = invalid.field.starts_with("gap");
            let (key, said) = match (&table.pages, of_gap) {
                (Some(_), true) => ("pages", "think"),
                (Some(_), false) => ("pages", "object"),
                (None, true) => ("every", "every"),
                (None, false) => ("file", "file"),
            };
            let problem = Problem::new(location.value(key), format!("`{said}` cannot be: {invalid}"));
            self.note(
                problem.help(
                    "a law is a size or time, or such as `{ distribution = \"exponential\", mean = … }`",
                ),
            );
        }
        refused.is_empty().then(|| Traffic { config: Arc::new(config), files })
    }

    /// Reads the pages of a user.
    fn pages(&mut self, pages: &Pages, location: TableLocation<'_, '_>) -> Application {
        for key in ["file", "files", "every", "bytes", "size", "gap", "rate", "profile", "replay"] {
            if location.has(key) {
                let problem = Problem::new(
                    location.key(key),
                    format!("`{key}` does not go with `pages`, which says what is sent"),
                );
                self.note(problem.help(format!("leave `{key}` or `pages` out")));
            }
        }
        if !(1..=MOST_OBJECTS).contains(&pages.objects) {
            let problem = Problem::new(
                location.value("pages"),
                format!("a page cannot have {} objects", pages.objects),
            );
            self.note(problem.help(format!("`objects` is from 1 to {MOST_OBJECTS}")));
        }
        if pages.request == Bytes::ZERO {
            let problem = Problem::new(location.value("pages"), "a request has at least one byte");
            self.note(problem.help("leave `request` out, or write `request = \"400B\"`"));
        }
        Application::Pages { request: pages.request, objects: pages.objects }
    }

    fn application(&mut self, table: &FlowTable, location: TableLocation<'_, '_>) -> Application {
        let application = self.sent(table, location);
        if table.ftp.is_some() && !matches!(application, Application::File(_) | Application::Drawn) {
            let problem =
                Problem::new(location.key("ftp"), format!("{} has no file to transfer", location.what));
            self.note(
                problem.help("say how large it is: `bytes = \"1MB\"`, `file = …` or `files = \"sizes.txt\"`"),
            );
        }
        match application {
            Application::Stream if table.echo => Application::Echo,
            _ if table.echo => {
                let problem =
                    Problem::new(location.key("echo"), format!("{} sends no requests", location.what));
                self.note(
                    problem.help("say how large they are and how often: `size = \"64B\"` and `gap = \"1s\"`"),
                );
                application
            }
            _ => application,
        }
    }

    /// Returns the application of a TCP flow.
    fn sent(&mut self, table: &FlowTable, location: TableLocation<'_, '_>) -> Application {
        if let Some(pages) = &table.pages {
            return self.pages(pages, location);
        }
        if table.files.is_some() {
            // The list gives the size of each member; conflicting keys are noted where the list is read.
            return Application::File(Bytes(1));
        }
        if table.file.is_some() {
            if let Some(key) = ["bytes", "size", "gap", "rate"].into_iter().find(|key| location.has(key)) {
                let problem = Problem::new(
                    location.key(key),
                    format!("`{key}` does not go with `file`, which says how much is sent"),
                );
                self.note(problem.help(format!("leave `{key}` or `file` out")));
            }
            return Application::Drawn;
        }
        if location.has("every") {
            let problem =
                Problem::new(location.key("every"), "`every` is the time between files, and there are none");
            self.note(problem.help("give their size too: `file = \"10kB\"`"));
        }
        let offered = self.cache.table_keys.of::<TrafficConfig>();
        if offered.names().any(|key| location.has(key)) {
            return Application::Stream;
        }
        if let Some(amount) = table.bytes {
            return amount.0.map_or(Application::Unlimited, Application::File);
        }
        // An amount that cannot be read is noted where it is read.
        if location.has("bytes") {
            return Application::Unlimited;
        }
        if offered.names().any(|key| location.misspells(key, &offered)) {
            return Application::Stream;
        }
        let problem = Problem::new(
            location.header.clone(),
            format!("{} does not say how much it sends", location.what),
        );
        self.note(problem.help("add `bytes = \"1MB\"` or `bytes = \"unlimited\"`"));
        Application::Unlimited
    }
}
