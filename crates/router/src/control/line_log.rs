//! Recordings of lines whose controllers only observe: what each line delivered while it was full, a row a
//! second, as a table that a link's `trace` reads.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};

use lockgate_measure::monitor::{AutorateSample, Sample};

use super::store::Store;

/// Longest recording, in bytes: some ten days of a line that is always full.
const LONGEST: usize = 16 << 20;

/// First line of a recording.
const HEAD: &str = "time_s rate_mbps\n";

/// Recordings by the name of the port. Each begins anew with the router.
#[derive(Debug, Default)]
pub(super) struct LineLogs(BTreeMap<String, LineLog>);

/// Recording of one line.
#[derive(Debug)]
struct LineLog {
    /// The file; `None`: it cannot be written, or is full.
    file: Option<File>,
    length: usize,
    begun_s: f64,
    /// Time of the last sample that was read.
    last_s: f64,
}

impl LineLogs {
    /// Adds a row for each line of a sample that is full or delivers nothing. Returns words for the log if a
    /// recording ends.
    pub(super) fn observe(&mut self, sample: &Sample, store: &Store) -> Vec<String> {
        let controllers = sample.router.as_ref().map_or(&[][..], |router| &router.autorate);
        let observing = controllers.iter().filter(|it| !it.is_applied);
        observing.filter_map(|it| self.add(it, sample.at_s, store)).collect()
    }

    fn add(&mut self, controller: &AutorateSample, at_s: f64, store: &Store) -> Option<String> {
        let rate = match &*controller.why {
            "full" | "brake" | "cut" => controller.delivered_bps?,
            "outage" => 0.0,
            _ => return None,
        };
        let name = format!("line-{}.txt", controller.port.replace(':', "-"));
        let log = self.0.entry(controller.port.clone()).or_insert_with(|| LineLog {
            file: store.create(&name).ok(),
            length: 0,
            begun_s: at_s,
            last_s: f64::NEG_INFINITY,
        });
        // A sample is read again if there is no later one; times rise, by a tenth of a second at least.
        if at_s < log.last_s + 0.2 {
            return None;
        }
        log.last_s = at_s;
        let head = if log.length == 0 { HEAD } else { "" };
        let row = format!("{head}{:.1} {:.3}\n", at_s - log.begun_s, rate * 1e-6);
        log.length += row.len();
        let written = match &mut log.file {
            None => return None,
            Some(_) if log.length > LONGEST => Err(io::Error::other("it has its full length")),
            Some(file) => file.write_all(row.as_bytes()),
        };
        let why = written.err()?;
        log.file = None;
        Some(format!("port {}: the recording `{name}` ends: {why}", controller.port))
    }
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::RouterSample;

    use super::*;

    #[test]
    fn a_recording_has_the_rates_of_a_full_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("state")).expect("opened");
        let mut logs = LineLogs::default();
        let rows = [("idle", 9.0), ("full", 5.0), ("grow", 9.0), ("brake", 4.25), ("outage", 1.0)];
        for (at_s, (why, mbit)) in (10..).zip(rows) {
            let controller = AutorateSample {
                port: "wan:in".to_owned(),
                why: why.into(),
                delivered_bps: Some(mbit * 1e6),
                ..AutorateSample::default()
            };
            let applied = AutorateSample { port: "wan".to_owned(), is_applied: true, ..controller.clone() };
            let autorate = vec![controller, applied];
            let router = Some(RouterSample { autorate, ..RouterSample::default() });
            let sample = Sample { at_s: f64::from(at_s), router, ..Sample::default() };
            assert!(logs.observe(&sample, &store).is_empty());
            assert!(logs.observe(&sample, &store).is_empty(), "the same sample");
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join("state").join(name));
        let table = read("line-wan-in.txt").expect("written");
        assert_eq!(table, "time_s rate_mbps\n0.0 5.000\n2.0 4.250\n3.0 0.000\n");
        assert!(read("line-wan.txt").is_err(), "a rate that is stepped is no recording");
    }
}
