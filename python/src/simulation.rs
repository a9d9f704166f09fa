//! A simulation that Python advances, observes and changes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as WallTime, Instant as WallInstant};

use lockgate::units::{Duration, Instant};
use lockgate::{Control, Override, Runs, Seed};
use lockgate_measure::monitor::{Monitor, Sample};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error;
use crate::interrupt::check_signals;
use crate::run::Run;
use crate::scenario::Scenario;

/// Real time between polls of signals.
const SIGNAL_POLL_INTERVAL: WallTime = WallTime::from_millis(100);

/// A time or a length of time: seconds as a number, or a text with its unit, such as `10ms`.
#[derive(Clone, Copy)]
pub(crate) struct Time(pub(crate) Duration);

impl<'py> FromPyObject<'_, 'py> for Time {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let wrong = |why: String| pyo3::exceptions::PyValueError::new_err(why);
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_cow()?;
            return text.parse::<Duration>().map(Self).map_err(|error| wrong(error.to_string()));
        }
        let seconds: f64 = value.extract()?;
        let picos = (seconds * 1e12).round();
        if !(0.0..u64::MAX as f64).contains(&picos) {
            return Err(wrong(format!("`{seconds}` is not a time in seconds: it is from 0 to 18446744")));
        }
        Ok(Self(Duration::from_picos(picos as u64)))
    }
}

/// A run in steps.
#[pyclass(frozen, module = "lockgate._lockgate")]
pub(crate) struct Simulation {
    scenario: Arc<lockgate::Scenario>,
    files: lockgate::plans::SharedFiles,
    seed: Seed,
    /// `None` once it is finished.
    state: Mutex<Option<State>>,
}

struct State {
    simulation: lockgate::Simulation<'static>,
    monitor: Monitor,
    /// Reused by every observation.
    sample: Sample,
    has_ended: bool,
}

impl Simulation {
    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` on the running simulation, without the GIL.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| match self.lock().as_mut() {
            Some(state) => work(state),
            None => Err(error::run("the simulation is finished")),
        })
    }
}

#[pymethods]
impl Simulation {
    /// Builds the network of a scenario with the random draws of `seed`.
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario, seed: u64) -> PyResult<Self> {
        let (model, seed) = (Arc::clone(&scenario.model), Seed(seed));
        let built = py.detach(|| lockgate::Simulation::owning((*model).clone(), seed));
        let mut simulation = built.map_err(|failure| error::library(failure.into()))?;
        simulation.record_samples();
        let state =
            State { simulation, monitor: Monitor::default(), sample: Sample::default(), has_ended: false };
        let files = Arc::clone(&scenario.files);
        Ok(Self { scenario: model, files, seed, state: Mutex::new(Some(state)) })
    }

    /// Time up to which everything has happened, in seconds.
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |state| Ok(state.simulation.now().as_secs_f64()))
    }

    /// True if the run has come to the end of its scenario.
    #[getter]
    fn has_ended(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |state| Ok(state.has_ended))
    }

    /// Advances the run to a time, or by a length of time; with neither, to its end. Returns false once it
    /// has ended. Ctrl-C stops in between.
    #[pyo3(signature = (until = None, by = None))]
    fn step(&self, py: Python<'_>, until: Option<Time>, by: Option<Time>) -> PyResult<bool> {
        self.with(py, |state| {
            let target = match (until, by) {
                (Some(until), _) => Instant::ZERO + until.0,
                (None, Some(by)) => state.simulation.now() + by.0,
                (None, None) => Instant::NEVER,
            };
            let mut looked: Option<WallInstant> = None;
            let mut exception = None;
            let progress = state.simulation.step_while(target, &mut |_| {
                // The first call only starts the clock, so that short steps never take the GIL.
                if looked.get_or_insert_with(WallInstant::now).elapsed() < SIGNAL_POLL_INTERVAL {
                    return Control::Continue;
                }
                looked = Some(WallInstant::now());
                exception = Python::attach(check_signals).err();
                if exception.is_some() { Control::Stop } else { Control::Continue }
            });
            if let Some(exception) = exception {
                return Err(exception);
            }
            let progress = progress.map_err(|failure| error::library(failure.into()))?;
            state.has_ended = progress == lockgate::Progress::Ended;
            Ok(!state.has_ended)
        })
    }

    /// Changes parameters from now on, each `PATH=VALUE`.
    fn set(&self, py: Python<'_>, settings: Vec<String>) -> PyResult<()> {
        let overrides: Vec<Override> = lockgate::parse_settings(&settings).map_err(error::library)?;
        let files = &self.files;
        self.with(py, |state| {
            let changed = state.simulation.set(&overrides, files.as_ref());
            changed.map(drop).map_err(|problems| error::problems(&problems))
        })
    }

    /// Returns the state now, and figures of the interval since the last observation, as JSON.
    fn observe(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |state| {
            let view = state.simulation.observe();
            let now = view.now;
            state.monitor.observe(view.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
            let ports = view.links.iter_mut().map(|link| (&mut link.port, &mut link.record));
            state.monitor.close_into(&mut state.sample, now, ports, view.flows, view.events);
            serde_json::to_string(&state.sample).map_err(error::run)
        })
    }

    /// Ends the run now. Returns its results.
    fn finish(&self, py: Python<'_>) -> PyResult<Run> {
        let state = self.lock().take().ok_or_else(|| error::run("the simulation is finished"))?;
        let outcome = py.detach(|| state.simulation.finish());
        let outcome = outcome.map_err(|failure| error::library(failure.into()))?;
        let runs = Runs {
            recordings: vec![outcome.recording],
            stopped_early: outcome.stopped_early,
            ..Runs::default()
        };
        Run::new(py, Arc::clone(&self.scenario), vec![self.seed], runs)
    }
}
