//! Runs of a scenario: one for each seed, with the summary of all.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::UInt64Array;
use lockgate::results::{ResultsDirectory, RunResults};
use lockgate::units::Instant;
use lockgate::{Control, Options, Recording, Runs, Seed, Simulation, Summary, verdict};
use lockgate_export::ExportError;
use lockgate_measure::metric::{Address, Metric, Observed, Statistic, Subject};
use lockgate_measure::report::Ghost;
use lockgate_scenario::Transport;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::real;
use crate::error;
use crate::interrupt::{Stop, interruptible};
use crate::scenario::Scenario;
use crate::seeds::Seeds;
use crate::table::{Table, fault};
use crate::{packets, series};

/// Finished runs of a scenario.
#[pyclass(frozen, module = "lockgate._lockgate")]
pub(crate) struct Run {
    scenario: Arc<lockgate::Scenario>,
    seeds: Vec<Seed>,
    recordings: Vec<Arc<Recording>>,
    /// Of a simulation that was finished before its end: the instant.
    stopped_at: Option<Instant>,
    summary: Summary,
    /// Series without each change, if its effect was wanted.
    ghosts: Vec<Ghost>,
    /// The same runs made again with their packets, once these are wanted.
    with_packets: OnceLock<Vec<Arc<Recording>>>,
}

/// Simulates a scenario once for each seed, on `threads` threads, by default on as many as there are
/// processors. With `packets`, a row is kept of each packet at each port; with `effects`, further runs say
/// what each change of the scenario did. `progress` is called with the finished share of the runs, from 0 to
/// 1, some times a second.
#[pyfunction]
#[pyo3(signature = (scenario, seeds, threads = None, packets = false, effects = false, progress = None))]
pub(crate) fn simulate(
    py: Python<'_>,
    scenario: &Scenario,
    seeds: Seeds,
    threads: Option<usize>,
    packets: bool,
    effects: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Run> {
    let mut model = Arc::clone(&scenario.model);
    if packets && !model.record.packets {
        Arc::make_mut(&mut model).record.packets = true;
    }
    lockgate::memory::estimate(&model, seeds.0.len()).map_err(error::library)?;
    let seeds: Vec<Seed> = seeds.0.into_iter().map(Seed).collect();
    let steps = std::sync::atomic::AtomicU64::new(0);
    let all = (1000 * seeds.len().max(1)) as f64;
    let count = |advance: lockgate::Advance| {
        steps.fetch_add(advance.steps(1000), std::sync::atomic::Ordering::Relaxed);
    };
    let tell = |py: Python<'_>| match &progress {
        Some(progress) => {
            let done = steps.load(std::sync::atomic::Ordering::Relaxed) as f64 / all;
            progress.call1(py, (done,)).map(drop)
        }
        None => Ok(()),
    };
    let runs = interruptible(py, &tell, |stop| {
        let options =
            Options { seeds: seeds.clone(), threads, memory: Some(model.memory), progress: &count, stop };
        lockgate::run(&model, &options)
    })?;
    let runs = runs.map_err(error::library)?;
    if !effects {
        return Run::new(py, model, seeds, runs, None);
    }
    let told = interruptible(py, &|_| Ok(()), |stop| {
        let mut summary = lockgate::summarise(&model, &runs.recordings)?;
        let options = Options { threads, memory: Some(model.memory), stop, ..Options::default() };
        let ghosts = lockgate::add_effects(&model, &runs, &options, &mut summary)?;
        Ok::<_, lockgate::Error>((summary, ghosts))
    })?;
    let (summary, ghosts) = told.map_err(error::library)?;
    Ok(Run { ghosts, ..Run::summarised(model, seeds, runs, None, summary) })
}

/// Makes the run of a simulation that was finished at an instant.
fn until(
    scenario: &lockgate::Scenario,
    seed: Seed,
    end: Instant,
    stop: Stop<'_>,
) -> Result<Runs, lockgate::Error> {
    let mut simulation = Simulation::new(scenario, seed)?;
    let go_on = &mut |_| if stop() { Control::Stop } else { Control::Continue };
    simulation.step_while(end, go_on)?;
    Ok(Runs { recordings: vec![simulation.finish()?.recording], ..Runs::default() })
}

impl Run {
    /// Summarises runs.
    pub(crate) fn new(
        py: Python<'_>,
        scenario: Arc<lockgate::Scenario>,
        seeds: Vec<Seed>,
        runs: Runs,
        stopped_at: Option<Instant>,
    ) -> PyResult<Self> {
        let summary = py.detach(|| lockgate::summarise(&scenario, &runs.recordings));
        Ok(Self::summarised(scenario, seeds, runs, stopped_at, summary.map_err(error::library)?))
    }

    /// Makes them of runs and their summary.
    fn summarised(
        scenario: Arc<lockgate::Scenario>,
        seeds: Vec<Seed>,
        runs: Runs,
        stopped_at: Option<Instant>,
        summary: Summary,
    ) -> Self {
        Self {
            scenario,
            seeds,
            stopped_at,
            summary,
            recordings: runs.recordings.into_iter().map(Arc::new).collect(),
            ghosts: Vec::new(),
            with_packets: OnceLock::new(),
        }
    }

    /// Returns the recording of a run.
    fn recording(&self, run: usize) -> PyResult<&Arc<Recording>> {
        let many = self.recordings.len();
        self.recordings
            .get(run)
            .ok_or_else(|| error::run(format_args!("there is no run {run}: there are {many}")))
    }

    /// Returns the runs in the library's form. A recording that tables share is copied.
    fn runs(&self) -> Runs {
        let recordings = self.recordings.iter().map(|recording| (**recording).clone()).collect();
        Runs { recordings, stopped_early: self.stopped_at.is_some(), ..Runs::default() }
    }

    /// True if its packets were a program's.
    fn is_of_a_path(&self) -> bool {
        self.scenario.flows.iter().any(|flow| matches!(flow.transport, Transport::Outside { .. }))
    }

    /// Writes a recording to a file.
    fn write(
        &self,
        py: Python<'_>,
        run: usize,
        file: PathBuf,
        write: impl Fn(&Recording, BufWriter<File>) -> Result<(), ExportError> + Send + Sync,
    ) -> PyResult<()> {
        let recording = self.with_packets(py, run)?;
        let written = py.detach(|| write(recording, BufWriter::new(File::create(&file)?)));
        written.map_err(|error| error::run(format_args!("`{}`: {error}", file.display())))
    }

    /// Returns the recording of a run with its packets. If it did not keep them, the runs are made once more.
    fn with_packets(&self, py: Python<'_>, run: usize) -> PyResult<&Arc<Recording>> {
        let recording = self.recording(run)?;
        if recording.packets.is_some() {
            return Ok(recording);
        }
        if self.is_of_a_path() {
            return Err(error::run(
                "the packets were not kept, and a path cannot be run once more: name `packets=True` when it is built",
            ));
        }
        if self.with_packets.get().is_none() {
            let again = self.again(py)?;
            // Another thread may have made the same ones meanwhile.
            let _ = self.with_packets.set(again);
        }
        Ok(self.with_packets.get().and_then(|all| all.get(run)).unwrap_or(recording))
    }

    /// Makes the runs once more, with a row of each packet at each port.
    fn again(&self, py: Python<'_>) -> PyResult<Vec<Arc<Recording>>> {
        let mut model = (*self.scenario).clone();
        model.record.packets = true;
        let mut taken = model.clone();
        taken.duration = self.stopped_at.map_or(taken.duration, |end| end.since(Instant::ZERO));
        lockgate::memory::estimate(&taken, self.seeds.len()).map_err(error::library)?;
        let runs = interruptible(py, &|_| Ok(()), |stop| {
            if let (Some(end), [seed]) = (self.stopped_at, self.seeds.as_slice()) {
                return until(&model, *seed, end, stop);
            }
            let (seeds, memory) = (self.seeds.clone(), Some(model.memory));
            lockgate::run(&model, &Options { seeds, memory, stop, ..Options::default() })
        })?;
        let recordings = runs.map_err(error::library)?.recordings;
        let events = |one: &Recording| one.engine.events;
        if !recordings.iter().map(events).eq(self.recordings.iter().map(|one| events(one))) {
            return Err(error::run(
                "the runs were not the same once more: a fault of Lockgate, please report it",
            ));
        }
        Ok(recordings.into_iter().map(Arc::new).collect())
    }
}

#[pymethods]
impl Run {
    /// Seeds, one a run.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.seeds.iter().map(|seed| seed.0).collect()
    }

    /// True if every expectation of the scenario holds.
    #[getter]
    fn holds(&self) -> bool {
        verdict::holds(&self.summary)
    }

    /// True if a simulation was finished before its end.
    #[getter]
    fn stopped_early(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// Sentence for each expectation.
    #[getter]
    fn sentences(&self) -> Vec<String> {
        verdict::sentences(&self.summary)
    }

    /// Verdict in a line.
    #[getter]
    fn verdict(&self) -> String {
        let runs = Runs { stopped_early: self.stopped_at.is_some(), ..Runs::default() };
        verdict::line(&self.summary, &runs)
    }

    /// The most important finding besides the verdict.
    #[getter]
    fn finding(&self) -> String {
        verdict::main_finding(&self.summary)
    }

    /// Returns one of the runs alone.
    fn one(&self, py: Python<'_>, run: usize) -> PyResult<Self> {
        let recording = Arc::clone(self.recording(run)?);
        let summary =
            py.detach(|| lockgate::summarise(&self.scenario, std::slice::from_ref(recording.as_ref())));
        let with_packets = OnceLock::new();
        if let Some(all) = self.with_packets.get() {
            // Cannot fail: it is new.
            let _ = with_packets.set(vec![Arc::clone(&all[run])]);
        }
        Ok(Self {
            scenario: Arc::clone(&self.scenario),
            seeds: vec![self.seeds[run]],
            recordings: vec![recording],
            stopped_at: self.stopped_at,
            summary: summary.map_err(error::library)?,
            ghosts: Vec::new(),
            with_packets,
        })
    }

    /// Returns `summary.json`.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| serde_json::to_string(&self.summary.written())).map_err(error::run)
    }

    /// Returns the value at an address, in its base unit: of several runs, that of the first.
    fn metric(&self, address: &str) -> PyResult<f64> {
        self.summary.metric(address).map_err(|error| error::metric(&error))
    }

    /// Returns the value at an address in each run, in the order of the seeds; `None` where nothing was
    /// observed.
    fn values(&self, address: &str) -> PyResult<Vec<Option<f64>>> {
        // An address that no run has is an error; one without an observation is not.
        if let Err(error @ lockgate_measure::metric::MetricError::Unknown { .. }) =
            self.summary.metric(address)
        {
            return Err(error::metric(&error));
        }
        let address = Address::parse(address).map_err(|error| error::metric(&error))?;
        let others = self.summary.repetitions.iter().map(|summary| summary.value(&address));
        Ok(std::iter::once(self.summary.value(&address)).chain(others).collect())
    }

    /// Returns a row for each run: the seed, and the values at these addresses.
    fn table(&self, addresses: Vec<String>) -> PyResult<Table> {
        let seeds: UInt64Array = self.seeds.iter().map(|seed| seed.0).collect();
        let mut columns = vec![("seed".to_owned(), Arc::new(seeds) as arrow_array::ArrayRef)];
        for address in addresses {
            let values = real(self.values(&address)?);
            columns.push((address, values));
        }
        Table::new(columns).map_err(|error| fault(&error))
    }

    /// Returns every metric that a flow, group, port or queue of the first run can have, by name: a number,
    /// `None` without observations, or the statistics of a distribution by name. `names` are the name of the
    /// flow, group or port, or those of the port and of the queue.
    fn measured<'py>(
        &self,
        py: Python<'py>,
        about: &str,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let subject = match (about, names.as_slice()) {
            ("flow", [flow]) => Subject::Flow(flow.clone()),
            ("group", [group]) => Subject::Group(group.clone()),
            ("port", [port]) => Subject::Port(port.clone()),
            ("queue", [port, queue]) => Subject::Queue(port.clone(), queue.clone()),
            _ => return Err(error::run(format_args!("nothing is called {about} {names:?}"))),
        };
        let metrics = PyDict::new(py);
        for metric in Metric::of(subject.kind()) {
            match self.summary.observed(&subject, metric) {
                None => {}
                Some(Observed::Value(value)) => metrics.set_item(metric.name, value)?,
                Some(Observed::Distribution(distribution)) => {
                    let statistics = PyDict::new(py);
                    statistics.set_item("count", distribution.count)?;
                    for (statistic, name) in Statistic::ALL {
                        statistics.set_item(name, distribution.get(statistic))?;
                    }
                    metrics.set_item(metric.name, statistics)?;
                }
            }
        }
        Ok(metrics)
    }

    /// Returns the packets of a run. If it did not keep them, the runs are made once more.
    fn packets(&self, py: Python<'_>, run: usize) -> PyResult<Table> {
        packets::table(self.with_packets(py, run)?).map_err(|error| fault(&error))
    }

    /// Writes the packets of a run as a capture.
    fn write_pcapng(&self, py: Python<'_>, run: usize, file: PathBuf) -> PyResult<()> {
        self.write(py, run, file, |recording, to| lockgate_export::pcapng::packets(recording, to).map(drop))
    }

    /// Writes what happened to the packets of a run at its queues, as qlog.
    fn write_qlog(&self, py: Python<'_>, run: usize, file: PathBuf) -> PyResult<()> {
        self.write(py, run, file, |recording, to| lockgate_export::qlog::queues(recording, to).map(drop))
    }

    /// Returns a time series of a run.
    fn series(&self, address: &str, run: usize) -> PyResult<Table> {
        series::table(self.recording(run)?, address)
    }

    /// Returns the events of a run.
    fn events(&self, run: usize) -> PyResult<Table> {
        series::events(self.recording(run)?)
    }

    /// Writes the files of `lockgate run` into a directory: report, summary, manifest. Returns its path.
    #[pyo3(signature = (directory, command = String::new()))]
    fn save(&self, py: Python<'_>, directory: PathBuf, command: String) -> PyResult<PathBuf> {
        let written = py.detach(|| {
            let directory = ResultsDirectory::start(Some(&directory), &self.scenario.title)?;
            let runs = self.runs();
            let results = RunResults {
                command,
                ghosts: self.ghosts.clone(),
                ..RunResults::new(&self.scenario, &self.seeds, &runs, &self.summary)
            };
            lockgate::results::write(directory, &results)
        });
        written.map_err(error::run)
    }
}
