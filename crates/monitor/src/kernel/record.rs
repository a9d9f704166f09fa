//! Recording of the kernel's queues: a page like a report's, or the stream's lines.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use lockgate::io_error::of_writing;
use lockgate::results::{self, SavedFile};
use lockgate_measure::figures;
use lockgate_measure::metric::Unit;
use lockgate_measure::monitor::{QueueSample, Sample};
use lockgate_measure::report::{Axis, Cell, Comparison, Figure, FigureKind, FigureSeries, Origin, page};

use super::error::KernelError;
use super::stream::{Head, Line};

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
pub struct Recorder {
    path: PathBuf,
    command: String,
    form: Form,
    head: Head,
    queues: Vec<Recorded>,
    indices: BTreeMap<(String, String), usize>,
    rows: Vec<Row>,
    /// Samples that become a row, and those of the last row so far.
    together: usize,
    gathered: usize,
    samples: u64,
    missed: u64,
    next: Option<u64>,
}

impl Recorder {
    /// Prepares the file: `FILE.ndjson` has the lines of a stream, any other name a page. `command` is the
    /// command line that the page names.
    ///
    /// # Errors
    /// If the file cannot be written, or is not one that Lockgate wrote.
    pub fn start(path: &Path, command: &str) -> Result<Self, KernelError> {
        let is_lines = path.extension().is_some_and(|extension| extension == "ndjson");
        let form = if is_lines {
            let file = File::create(path).map_err(|error| failed(path, &error))?;
            Form::Lines(BufWriter::new(file))
        } else {
            Form::Page(SavedFile::start(path, PAGE_HEAD)?)
        };
        Ok(Self {
            path: path.to_path_buf(),
            command: command.to_owned(),
            form,
            head: Head::default(),
            queues: Vec::new(),
            indices: BTreeMap::new(),
            rows: Vec::new(),
            together: 1,
            gathered: 0,
            samples: 0,
            missed: 0,
            next: None,
        })
    }

    fn write(&mut self, line: &Line) -> Result<(), KernelError> {
        if let Form::Lines(file) = &mut self.form {
            let text = serde_json::to_string(line)?;
            writeln!(file, "{text}").map_err(|error| failed(&self.path, &error))?;
        }
        Ok(())
    }

    /// Takes a head, if it is another than the last.
    pub(crate) fn head(&mut self, head: &Head) -> Result<(), KernelError> {
        let is_new = self.head.devices != head.devices || self.head.schema == 0;
        self.head = head.clone();
        if is_new { self.write(&Line::Head(head.clone())) } else { Ok(()) }
    }

    /// Takes a sample.
    pub(crate) fn sample(&mut self, sample: &Sample) -> Result<(), KernelError> {
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
                let index = self.index(&port.name, queue);
                let known = &mut self.queues[index];
                known.sent_bytes += (queue.sent_bps * sample.interval_s / 8.0).round() as u64;
                known.sent_packets += queue.sent_packets;
                known.dropped_packets += queue.dropped_packets;
                known.marked_packets += queue.marked_packets;
                if row.figures.len() <= index {
                    row.figures.resize(index + 1, Figures::default());
                }
                row.figures[index] = Figures::of(queue);
            }
            for queue in &port.queues {
                let above =
                    queue.parent.and_then(|parent| port.queues.iter().find(|above| above.index == parent));
                if let Some(above) = above {
                    let index = self.index(&port.name, above);
                    self.queues[index].has_children = true;
                }
            }
        }
        self.add(row);
        Ok(())
    }

    fn index(&mut self, device: &str, queue: &QueueSample) -> usize {
        let key = (device.to_owned(), format!("{} {}", queue.name, queue.kind));
        if let Some(index) = self.indices.get(&key) {
            return *index;
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
        self.indices.insert(key, self.queues.len() - 1);
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
    pub(crate) fn finish(mut self, scenario: Option<&str>) -> Result<String, KernelError> {
        let seconds = self.rows.last().map_or(0.0, |row| row.at_s);
        let said = format!("recorded: {}", self.path.display());
        let report = self.report(scenario, seconds);
        match self.form {
            Form::Lines(mut file) => file.flush().map_err(|error| failed(&self.path, &error))?,
            Form::Page(file) => {
                file.write(page(&results::template(), report))?;
            }
        }
        Ok(said)
    }

    fn report(&mut self, scenario: Option<&str>, seconds: f64) -> lockgate_measure::report::ReportData {
        let names = self.head.devices.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" and ");
        let title = format!("queues of {names} on {}", self.head.host);
        let mut report = results::report_head(&title, scenario.unwrap_or_default(), &self.command);
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

    /// Returns the indices of the queues that sent most, those without others below them.
    fn largest(&self) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..self.queues.len()).collect();
        let is_leaf = |index: &usize| !self.queues[*index].has_children;
        indices.retain(is_leaf);
        indices.sort_by_key(|index| {
            let queue = &self.queues[*index];
            std::cmp::Reverse(queue.sent_bytes + queue.dropped_packets)
        });
        indices
    }

    fn table(&self) -> Comparison {
        let quantity = |value: f64, unit: Unit| Cell::quantity(Some(value), unit);
        let peak = |index: usize, of: fn(&Figures) -> f32| {
            let values = self.rows.iter().filter_map(|row| row.figures.get(index)).map(of);
            f64::from(values.fold(0.0, f32::max))
        };
        let row = |(index, queue): (usize, &Recorded)| {
            vec![
                Cell::Text(queue.device.clone()),
                Cell::Text(queue.name.clone()),
                Cell::Text(queue.kind.clone()),
                Cell::Number(queue.sent_packets as f64),
                quantity(queue.sent_bytes as f64, Unit::Bytes),
                Cell::Number(queue.dropped_packets as f64),
                Cell::Number(queue.marked_packets as f64),
                quantity(peak(index, |of| of.backlog_bytes), Unit::Bytes),
                quantity(peak(index, |of| of.delay_s), Unit::Seconds),
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
            addresses: Vec::new(),
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
                .map(|index| {
                    let queue = &self.queues[*index];
                    let name = format!("{} {}", queue.name, queue.kind);
                    FigureSeries {
                        name: if is_one { name } else { format!("{} {name}", queue.device) },
                        mode: Origin::Live,
                        x: self.rows.iter().map(|row| row.at_s).collect(),
                        y: self
                            .rows
                            .iter()
                            .map(|row| row.figures.get(*index).map_or(0.0, |f| f64::from(of(f))))
                            .collect(),
                        ..FigureSeries::default()
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
    let of = |row: &Row, index: usize| row.figures.get(index).copied().unwrap_or_default();
    Row {
        at_s: other.at_s,
        interval_s: lengths.iter().sum(),
        figures: (0..count).map(|index| of(one, index).join(of(other, index), lengths)).collect(),
    }
}

fn failed(path: &Path, error: &std::io::Error) -> KernelError {
    KernelError::usage(
        format!("cannot write `{}`: {}", path.display(), of_writing(error)),
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
        let mut recorder = Recorder::start(&path, "lockgate top").expect("a recorder");
        let head = Head {
            schema: 1,
            host: "one".to_owned(),
            devices: vec![("eth0".to_owned(), Vec::new())],
            ..Head::default()
        };
        recorder.head(&head).expect("a head");
        for number in 0..10_000_u64 {
            let of = |name: &str, index: u32, parent: Option<u32>| QueueSample {
                name: name.to_owned(),
                kind: "htb".into(),
                index,
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
        Recorder::start(&path, "lockgate top").expect("its own file");
        std::fs::write(&path, "a letter").expect("written");
        assert!(Recorder::start(&path, "lockgate top").is_err());
    }
}
