//! Recording of the kernel's queues: a page like a report's, or the stream's lines.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use lockgate::figures;
use lockgate_measure::metric::Unit;
use lockgate_measure::monitor::{QueueSample, Sample};
use lockgate_measure::report::{Axis, Cell, Comparison, Figure, FigureKind, FigureSeries, Origin, page};

use super::stream::{Head, Line};
use crate::exit::Failure;
use crate::results::{self, SavedFile, report_head};

/// Most rows of a page. When they are full, two become one.
const MOST_ROWS: usize = 2000;

/// Most values of all queues and rows.
const MOST_VALUES: usize = 1 << 20;

/// Curves of a figure: the queues that sent most.
const CURVES: usize = 12;

/// Rows of the table.
const TABLE: usize = 500;

/// First bytes of every page, by which one that Lockgate wrote is recognised.
const PAGE_HEAD: &str = "<!doctype html>";

/// A figure of the page: its identifier, title, unit, and value of a queue.
type Part = (&'static str, &'static str, &'static str, fn(&Figures) -> f32);

/// Figures of a queue in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    sent_bps: f32,
    backlog_bytes: f32,
    dropped: f32,
    delay_s: f32,
}

impl Figures {
    fn of(queue: &QueueSample) -> Self {
        let delay = queue.sojourn_p99_s.or(queue.sojourn_mean_s).unwrap_or(0.0);
        Self {
            sent_bps: queue.sent_bps as f32,
            backlog_bytes: queue.peak_bytes as f32,
            dropped: queue.dropped_packets as f32,
            delay_s: delay as f32,
        }
    }

    /// Joins two intervals of these lengths: rates are means, backlogs and delays the larger ones.
    fn join(self, other: Self, [own_s, other_s]: [f64; 2]) -> Self {
        let share = (own_s / (own_s + other_s).max(1e-9)) as f32;
        Self {
            sent_bps: self.sent_bps * share + other.sent_bps * (1.0 - share),
            backlog_bytes: self.backlog_bytes.max(other.backlog_bytes),
            dropped: self.dropped + other.dropped,
            delay_s: self.delay_s.max(other.delay_s),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Row {
    at_s: f64,
    interval_s: f64,
    /// By the index of the queue; a queue that came later has none.
    figures: Vec<Figures>,
}

/// A queue of the recording.
#[derive(Clone, Debug)]
struct Recorded {
    device: String,
    name: String,
    kind: String,
    has_children: bool,
    sent_bytes: u64,
    sent_packets: u64,
    dropped_packets: u64,
    marked_packets: u64,
}

/// Form of the file.
enum Form {
    Page(SavedFile),
    Lines(BufWriter<File>),
}

/// Recording under way.
pub(super) struct Recorder {
    path: PathBuf,
    form: Form,
    head: Head,
    queues: Vec<Recorded>,
    places: BTreeMap<(String, String), usize>,
    rows: Vec<Row>,
    /// Samples that become a row, and those of the last row so far.
    together: usize,
    gathered: usize,
    samples: u64,
    missed: u64,
    next: Option<u64>,
}

impl Recorder {
    /// Prepares the file: `FILE.ndjson` has the lines of a stream, any other name a page.
    pub(super) fn start(path: &Path) -> Result<Self, Failure> {
        let is_lines = path.extension().is_some_and(|extension| extension == "ndjson");
        let form = if is_lines {
            let file = File::create(path).map_err(|error| failed(path, &error))?;
            Form::Lines(BufWriter::new(file))
        } else {
            Form::Page(
                SavedFile::start(path, PAGE_HEAD).map_err(|error| Failure::saved_file(&error, "--record"))?,
            )
        };
        Ok(Self {
            path: path.to_path_buf(),
            form,
            head: Head::default(),
            queues: Vec::new(),
            places: BTreeMap::new(),
            rows: Vec::new(),
            together: 1,
            gathered: 0,
            samples: 0,
            missed: 0,
            next: None,
        })
    }

    fn write(&mut self, line: &Line) -> Result<(), Failure> {
        if let Form::Lines(file) = &mut self.form {
            let text = serde_json::to_string(line).map_err(|error| Failure::fault(&error))?;
            writeln!(file, "{text}").map_err(|error| failed(&self.path, &error))?;
        }
        Ok(())
    }

    /// Takes a head, if it is another than the last.
    pub(super) fn head(&mut self, head: &Head) -> Result<(), Failure> {
        let is_new = self.head.devices != head.devices || self.head.schema == 0;
        self.head = head.clone();
        if is_new { self.write(&Line::Head(head.clone())) } else { Ok(()) }
    }

    /// Takes a sample.
    pub(super) fn sample(&mut self, sample: &Sample) -> Result<(), Failure> {
        self.samples += 1;
        self.missed += self.next.map_or(0, |next| sample.number.saturating_sub(next));
        self.next = Some(sample.number + 1);
        if matches!(self.form, Form::Lines(_)) {
            return self.write(&Line::Sample(Box::new(sample.clone())));
        }
        let mut row = Row { at_s: sample.at_s, interval_s: sample.interval_s, figures: Vec::new() };
        row.figures.resize(self.queues.len(), Figures::default());
        for port in &sample.ports {
            for queue in &port.queues {
                let place = self.place(&port.name, queue);
                let known = &mut self.queues[place];
                known.sent_bytes += (queue.sent_bps * sample.interval_s / 8.0).round() as u64;
                known.sent_packets += queue.sent_packets;
                known.dropped_packets += queue.dropped_packets;
                known.marked_packets += queue.marked_packets;
                if row.figures.len() <= place {
                    row.figures.resize(place + 1, Figures::default());
                }
                row.figures[place] = Figures::of(queue);
            }
            for queue in &port.queues {
                let above =
                    queue.parent.and_then(|parent| port.queues.iter().find(|above| above.place == parent));
                if let Some(above) = above {
                    let place = self.place(&port.name, above);
                    self.queues[place].has_children = true;
                }
            }
        }
        self.add(row);
        Ok(())
    }

    fn place(&mut self, device: &str, queue: &QueueSample) -> usize {
        let key = (device.to_owned(), format!("{} {}", queue.name, queue.kind));
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        self.queues.push(Recorded {
            device: device.to_owned(),
            name: queue.name.clone(),
            kind: queue.kind.clone().into_owned(),
            has_children: false,
            sent_bytes: 0,
            sent_packets: 0,
            dropped_packets: 0,
            marked_packets: 0,
        });
        self.places.insert(key, self.queues.len() - 1);
        self.queues.len() - 1
    }

    fn add(&mut self, row: Row) {
        match self.rows.last_mut().filter(|_| self.gathered > 0) {
            Some(last) => *last = joined(last, &row),
            None => self.rows.push(row),
        }
        self.gathered = (self.gathered + 1) % self.together;
        let most = (MOST_VALUES / self.queues.len().max(1)).clamp(60, MOST_ROWS);
        if self.rows.len() >= most && self.gathered == 0 {
            let pair = |pair: &[Row]| match pair {
                [one, other] => joined(one, other),
                one => one[0].clone(),
            };
            self.rows = self.rows.chunks(2).map(pair).collect();
            self.together *= 2;
        }
    }

    /// Writes the page. Returns its path, and what was recorded in words.
    pub(super) fn finish(mut self, scenario: Option<&str>) -> Result<String, Failure> {
        let seconds = self.rows.last().map_or(0.0, |row| row.at_s);
        let said = format!("recorded: {}", self.path.display());
        let report = self.report(scenario, seconds);
        match self.form {
            Form::Lines(mut file) => file.flush().map_err(|error| failed(&self.path, &error))?,
            Form::Page(file) => {
                let written = file.write(page(&results::template(), &report));
                written.map_err(|error| Failure::saved_file(&error, "--record"))?;
            }
        }
        Ok(said)
    }

    fn report(&mut self, scenario: Option<&str>, seconds: f64) -> lockgate_measure::report::ReportData {
        let names = self.head.devices.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" and ");
        let title = format!("queues of {names} on {}", self.head.host);
        let mut report = report_head(&title, scenario.unwrap_or_default());
        report.generated = results::now();
        report.host.clone_from(&self.head.host);
        report.definitions.clear();
        let rows = if self.together > 1 {
            format!("; a row of the figures stands for {} of them", self.together)
        } else {
            String::new()
        };
        report.verdict.push(format!(
            "{} of {} in {}{rows}",
            figures::count(self.samples, "sample"),
            figures::count(self.queues.len() as u64, "queue"),
            figures::seconds(Some(seconds)),
        ));
        if self.missed > 0 {
            report
                .verdict
                .push(format!("{} are missing: the reader was slow", figures::count(self.missed, "sample")));
        }
        report.verdict.push(self.head.title.clone());
        if scenario.is_some() {
            report.verdict.push(
                "the scenario below is the import of these queues: run it, or compare it with others"
                    .to_owned(),
            );
        }
        report.comparisons.push(self.table());
        report.figures = self.drawn();
        report
    }

    /// Returns the places of the queues that sent most, those without others below them.
    fn largest(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.queues.len()).collect();
        let is_leaf = |place: &usize| !self.queues[*place].has_children;
        places.retain(is_leaf);
        places.sort_by_key(|place| {
            let queue = &self.queues[*place];
            std::cmp::Reverse(queue.sent_bytes + queue.dropped_packets)
        });
        places
    }

    fn table(&self) -> Comparison {
        let quantity = |value: f64, unit: Unit| Cell::quantity(Some(value), unit);
        let peak = |place: usize, of: fn(&Figures) -> f32| {
            let values = self.rows.iter().filter_map(|row| row.figures.get(place)).map(of);
            f64::from(values.fold(0.0, f32::max))
        };
        let row = |(place, queue): (usize, &Recorded)| {
            vec![
                Cell::Text(queue.device.clone()),
                Cell::Text(queue.name.clone()),
                Cell::Text(queue.kind.clone()),
                Cell::Number(queue.sent_packets as f64),
                quantity(queue.sent_bytes as f64, Unit::Bytes),
                Cell::Number(queue.dropped_packets as f64),
                Cell::Number(queue.marked_packets as f64),
                quantity(peak(place, |of| of.backlog_bytes), Unit::Bytes),
                quantity(peak(place, |of| of.delay_s), Unit::Seconds),
            ]
        };
        let columns = [
            "device",
            "queue",
            "kind",
            "packets",
            "sent",
            "dropped",
            "marked",
            "largest backlog",
            "largest delay",
        ];
        Comparison {
            title: "queues".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: self.queues.iter().enumerate().take(TABLE).map(row).collect(),
            note: if self.queues.len() > TABLE {
                format!("the first {TABLE} of {}", self.queues.len())
            } else {
                "packets, bytes, drops and marks of the recorded time; the delay is that which the discipline reports, or by Little's law".to_owned()
            },
        }
    }

    fn drawn(&self) -> Vec<Figure> {
        let largest = self.largest();
        let shown = &largest[..largest.len().min(CURVES)];
        let caption = if shown.len() < largest.len() {
            format!("the {} queues that sent most, of {}", shown.len(), largest.len())
        } else {
            "all queues without others below them".to_owned()
        };
        let is_one = self.head.devices.len() <= 1;
        let parts: [Part; 4] = [
            ("rate", "sent", "bit/s", |of| of.sent_bps),
            ("backlog", "largest backlog", "B", |of| of.backlog_bytes),
            ("delay", "delay", "s", |of| of.delay_s),
            ("drops", "packets dropped", "", |of| of.dropped),
        ];
        let figure = |(id, title, unit, of): Part| Figure {
            id: format!("top-{id}"),
            title: title.to_owned(),
            caption: caption.clone(),
            x: Axis { label: "time".to_owned(), unit: "s".to_owned(), log: false },
            y: Axis { label: title.to_owned(), unit: unit.to_owned(), log: false },
            kind: FigureKind::Line,
            series: shown
                .iter()
                .map(|place| {
                    let queue = &self.queues[*place];
                    let name = format!("{} {}", queue.name, queue.kind);
                    FigureSeries {
                        name: if is_one { name } else { format!("{} {name}", queue.device) },
                        mode: Origin::Live,
                        x: self.rows.iter().map(|row| row.at_s).collect(),
                        y: self
                            .rows
                            .iter()
                            .map(|row| row.figures.get(*place).map_or(0.0, |f| f64::from(of(f))))
                            .collect(),
                        error: None,
                    }
                })
                .collect(),
        };
        parts.into_iter().map(figure).collect()
    }
}

/// Returns the row of two intervals after one another.
fn joined(one: &Row, other: &Row) -> Row {
    let lengths = [one.interval_s, other.interval_s];
    let count = one.figures.len().max(other.figures.len());
    let of = |row: &Row, place: usize| row.figures.get(place).copied().unwrap_or_default();
    Row {
        at_s: other.at_s,
        interval_s: lengths.iter().sum(),
        figures: (0..count).map(|place| of(one, place).join(of(other, place), lengths)).collect(),
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(
        format!("cannot write `{}`: {error}", path.display()),
        "name a file in a folder that you may write",
    )
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::PortSample;

    use super::*;

    #[test]
    fn a_long_recording_has_few_rows_and_all_packets() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("queues.html");
        let mut recorder = Recorder::start(&path).expect("a recorder");
        let head = Head {
            schema: 1,
            host: "one".to_owned(),
            devices: vec![("eth0".to_owned(), Vec::new())],
            ..Head::default()
        };
        recorder.head(&head).expect("a head");
        for number in 0..10_000_u64 {
            let of = |name: &str, place: u32, parent: Option<u32>| QueueSample {
                name: name.to_owned(),
                kind: "htb".into(),
                place,
                parent,
                sent_bps: 8e6,
                sent_packets: 10,
                dropped_packets: u64::from(number == 7777),
                peak_bytes: if number == 5000 { 90_000 } else { 100 },
                ..QueueSample::default()
            };
            let port = PortSample {
                name: "eth0".to_owned(),
                queues: vec![of("1:", 0, None), of("1:10", 1, Some(0))],
                ..PortSample::default()
            };
            let at_s = (number + 1) as f64 / 100.0;
            let sample = Sample {
                number: number + u64::from(number > 100),
                at_s,
                interval_s: 0.01,
                ports: vec![port],
                ..Sample::default()
            };
            recorder.sample(&sample).expect("a sample");
        }
        assert!(
            recorder.rows.len() <= MOST_ROWS && recorder.rows.len() > MOST_ROWS / 4,
            "{}",
            recorder.rows.len()
        );
        let class = &recorder.queues[1];
        assert_eq!((class.sent_packets, class.dropped_packets, class.sent_bytes), (100_000, 1, 100_000_000));
        let report = recorder.report(None, 100.0);
        let [rate, backlog, _, drops] = &report.figures[..] else { panic!("four figures") };
        assert_eq!(rate.series.len(), 1, "the class, not what is above it");
        assert!(rate.series[0].y.iter().all(|value| (value - 8e6).abs() < 1.0));
        assert!((backlog.series[0].y.iter().copied().fold(0.0, f64::max) - 90_000.0).abs() < 1e-6);
        assert!((drops.series[0].y.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(report.verdict[1].starts_with("1 sample"), "{:?}", report.verdict);
        recorder.finish(None).expect("a page");
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(text.starts_with(PAGE_HEAD) && text.contains("queues of eth0 on one"));
        // A file that Lockgate did not write is not replaced; its own is.
        Recorder::start(&path).expect("its own file");
        std::fs::write(&path, "a letter").expect("written");
        assert!(Recorder::start(&path).is_err());
    }
}
