//! A simulation that Python advances, observes and changes.
//!
//! Threads and signal handlers may use one simulation at the same time: its state is taken without the GIL,
//! and no Python code runs while it is taken. A long step therefore returns it some times a second, between
//! two instants.

use std::time::{Duration as WallTime, Instant as WallInstant};

use lockgate::units::{Duration, Instant};
use lockgate::{Control, Override, Progress, Runs, Seed};
use lockgate_measure::monitor::{Monitor, Sample};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error;
use crate::interrupt::check_signals;
use crate::run::Run;
use crate::scenario::Scenario;
use crate::turns::Turns;

/// Real time after which a step lets signal handlers and other threads have the simulation.
const SLICE: WallTime = WallTime::from_millis(50);

/// A time or a length of time: seconds as a number, or a text with its unit, such as `10ms`.
#[derive(Clone, Copy)]
pub(crate) struct Time(pub(crate) Duration);

impl<'py> FromPyObject<'_, 'py> for Time {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_cow()?;
            return text.parse::<Duration>().map(Self).map_err(error::argument);
        }
        let seconds: f64 = value.extract()?;
        let picos = (seconds * 1e12).round();
        if !(0.0..u64::MAX as f64).contains(&picos) {
            return Err(error::argument(format_args!(
                "`{seconds}` is not a time in seconds: it is from 0 to 18446744"
            )));
        }
        Ok(Self(Duration::from_picos(picos as u64)))
    }
}

/// A run in steps.
#[pyclass(frozen, module = "lockgate._lockgate")]
pub(crate) struct Simulation {
    scenario: Scenario,
    seed: Seed,
    /// `None` once it is finished.
    state: Turns<Option<State>>,
}

struct State {
    simulation: lockgate::Simulation<'static>,
    monitor: Monitor,
    /// Reused by every observation.
    sample: Sample,
    has_ended: bool,
    is_changed: bool,
}

impl State {
    /// Returns the instant to which a step goes.
    fn target(&self, until: Option<Time>, by: Option<Time>) -> PyResult<Instant> {
        let now = self.simulation.now();
        match (until, by) {
            (Some(_), Some(_)) => {
                Err(error::argument("a step goes until a time or by a length: name one of them"))
            }
            (None, None) => Ok(Instant::NEVER),
            (None, Some(by)) => Ok(now + by.0),
            (Some(until), None) => {
                let until = Instant::ZERO + until.0;
                // As numbers: the time that `time` returned is never past.
                let (at, past) = (now.as_secs_f64(), until.as_secs_f64());
                if past < at {
                    return Err(error::argument(format_args!(
                        "`until` is {past} s, and the run is at {at} s already"
                    )));
                }
                Ok(until)
            }
        }
    }

    /// Advances the run to an instant, or for the real time of a slice: then everything at the instant where
    /// it stopped has happened.
    fn advance(&mut self, target: Instant) -> PyResult<Progress> {
        let mut began: Option<WallInstant> = None;
        let slice = &mut |_| {
            // The first call only starts the clock, so that short steps never read it twice.
            let is_over = began.get_or_insert_with(WallInstant::now).elapsed() >= SLICE;
            if is_over { Control::Stop } else { Control::Continue }
        };
        let progress = self.simulation.step_while(target, slice).map_err(failed)?;
        if progress == Progress::Stopped {
            self.simulation.step_until(self.simulation.now()).map_err(failed)?;
        }
        self.has_ended = progress == Progress::Ended;
        Ok(progress)
    }
}

/// Returns the error of a fault of the simulation.
fn failed(failure: impl Into<lockgate::Error>) -> PyErr {
    error::library(failure.into())
}

/// Returns the error of a use after the end.
fn finished() -> PyErr {
    error::run("the simulation is finished")
}

impl Simulation {
    /// Calls `work` on the running simulation, without the GIL.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| match self.state.take().as_mut() {
            Some(state) => work(state),
            None => Err(finished()),
        })
    }
}

#[pymethods]
impl Simulation {
    /// Builds the network of a scenario with the random draws of `seed`.
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario, seed: u64) -> PyResult<Self> {
        let (model, seed) = (&scenario.model, Seed(seed));
        let built = py.detach(|| lockgate::Simulation::owning((**model).clone(), seed));
        let mut simulation = built.map_err(failed)?;
        simulation.record_samples();
        let (monitor, sample) = (Monitor::default(), Sample::default());
        let state = State { simulation, monitor, sample, has_ended: false, is_changed: false };
        Ok(Self { scenario: scenario.clone(), seed, state: Turns::new(Some(state)) })
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
        let mut target = None;
        loop {
            let progress = self.with(py, |state| {
                let target = match target {
                    Some(target) => target,
                    None => *target.insert(state.target(until, by)?),
                };
                state.advance(target)
            })?;
            match progress {
                Progress::Stopped => check_signals(py)?,
                Progress::Reached => return Ok(true),
                Progress::Ended => return Ok(false),
            }
        }
    }

    /// Changes parameters from now on, each `PATH=VALUE`.
    fn set(&self, py: Python<'_>, settings: Vec<String>) -> PyResult<()> {
        let overrides: Vec<Override> = lockgate::parse_settings(&settings).map_err(error::library)?;
        let files = &self.scenario.files;
        self.with(py, |state| {
            let changed = state.simulation.set(&overrides, files.as_ref());
            changed.map_err(|problems| error::problems(&problems))?;
            state.is_changed = true;
            Ok(())
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

    /// Ends the run now. Returns its results, and the scenario as it was run.
    fn finish(&self, py: Python<'_>) -> PyResult<(Run, Scenario)> {
        let (outcome, scenario, end) = py.detach(|| {
            let mut turn = self.state.take();
            let state = turn.as_mut().ok_or_else(finished)?;
            let scenario = if state.is_changed {
                self.scenario.with_text(state.simulation.observe().scenario.to_toml())?
            } else {
                self.scenario.clone()
            };
            let state = turn.take().ok_or_else(finished)?;
            drop(turn);
            let end = state.simulation.now();
            Ok::<_, PyErr>((state.simulation.finish().map_err(failed)?, scenario, end))
        })?;
        let runs = Runs {
            recordings: vec![outcome.recording],
            stopped_early: outcome.stopped_early,
            ..Runs::default()
        };
        let stopped_at = outcome.stopped_early.then_some(end);
        let run = Run::new(py, scenario.model.clone(), vec![self.seed], runs, stopped_at)?;
        Ok((run, scenario))
    }
}
