//! A path: a network between two ends that Python sends into and receives from.
//!
//! Calls are short, so the GIL is released only by `receive` and `finish`. One thread at a time uses a path;
//! another waits its turn.

use std::sync::Arc;

use lockgate::units::Instant;
use lockgate::{Files, Runs};
use lockgate_path::{
    Delivery as Arrival, Dscp, Ecn, End, Error, Fate, Path as Network, PathBuilder, Payload,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::run::Run;
use crate::scenario::{LoadedFiles, Scenario};
use crate::simulation::Time;
use crate::turns::Turns;

/// A network between two ends.
#[pyclass(frozen, module = "lockgate._lockgate")]
pub(crate) struct Path {
    seed: u64,
    /// `None` once it is finished.
    state: Turns<Option<Network>>,
}

/// Packet at the end of its way: end, contents, ECN, DSCP, times of arrival, of sending and in queues in
/// seconds, frame length, number.
type DeliveryFields<'py> = (u32, Bound<'py, PyBytes>, u8, u8, f64, f64, f64, u32, u32);

/// Files of a scenario, which stay in its memory.
struct Shared(Arc<LoadedFiles>);

impl Files for Shared {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        self.0.load(path)
    }
}

fn failed(failure: Error) -> PyErr {
    match failure {
        Error::Problems(found) => error::problems(&found),
        Error::Setting(_) | Error::Outside(_) | Error::NoEnds => error::scenario(failure),
        Error::Metric(failure) => error::metric(&failure),
        Error::Failure(_) => error::run(failure),
        other => error::argument(other),
    }
}

fn finished() -> PyErr {
    error::run("the path is finished")
}

/// Returns the instant of a time that Python passes. As numbers: the time that `time` returned is never past.
fn instant(path: &Network, time: Time) -> Instant {
    let (at, now) = (Instant::ZERO + time.0, path.now());
    if at < now && at.as_secs_f64() >= now.as_secs_f64() { now } else { at }
}

impl Path {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Network) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| match self.state.take().as_mut() {
            Some(path) => work(path),
            None => Err(finished()),
        })
    }

    fn build(py: Python<'_>, builder: PathBuilder, seed: u64, packets: bool) -> PyResult<Self> {
        let builder = if packets { builder.keep_packets() } else { builder };
        let path = py.detach(|| builder.seed(seed).build()).map_err(failed)?;
        Ok(Self { seed, state: Turns::new(Some(path)) })
    }

    fn send_payload(
        &self,
        py: Python<'_>,
        now: Time,
        end: u32,
        payload: Payload<'_>,
        class: (u8, u8),
    ) -> PyResult<bool> {
        let (ecn, dscp) = (Ecn::from_bits(class.0), Dscp::from_bits(class.1));
        self.with(py, |path| {
            let now = instant(path, now);
            Ok(path.send(now, End::at(end), payload, ecn, dscp).map_err(failed)? == Fate::Sent)
        })
    }
}

#[pymethods]
impl Path {
    /// Builds a path of one link.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn between(
        py: Python<'_>,
        a: &str,
        b: &str,
        rate: &str,
        delay: &str,
        queue: &str,
        loss: &str,
        seed: u64,
        packets: bool,
    ) -> PyResult<Self> {
        let builder = Network::between(a, b).rate(rate).delay(delay).queue(queue).loss(loss);
        Self::build(py, builder, seed, packets)
    }

    /// Builds a path from the text of a scenario. Its ends are at two nodes, or those of a flow. The files
    /// that it names are those of `files`.
    #[staticmethod]
    #[pyo3(signature = (text, between, flow, seed, packets, files = None))]
    fn of_scenario(
        py: Python<'_>,
        text: &str,
        between: Option<(String, String)>,
        flow: Option<&str>,
        seed: u64,
        packets: bool,
        files: Option<&Scenario>,
    ) -> PyResult<Self> {
        let mut builder = Network::from_scenario(text, seed);
        if let Some((a, b)) = &between {
            builder = builder.connect(a, b);
        }
        if let Some(flow) = flow {
            builder = builder.take_over(flow);
        }
        if let Some(scenario) = files {
            builder = builder.files(Shared(Arc::clone(&scenario.files)));
        }
        Self::build(py, builder, seed, packets)
    }

    /// Time up to which the path has been advanced, in seconds.
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |path| Ok(path.now().as_secs_f64()))
    }

    /// Number of packets whose contents the path holds.
    #[getter]
    fn in_flight(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |path| Ok(path.in_flight()))
    }

    /// Sends a datagram. Returns false if it is lost already.
    fn send(&self, py: Python<'_>, now: Time, end: u32, data: &[u8], ecn: u8, dscp: u8) -> PyResult<bool> {
        self.send_payload(py, now, end, data.into(), (ecn, dscp))
    }

    /// Sends a datagram of which only the length counts.
    fn send_length(
        &self,
        py: Python<'_>,
        now: Time,
        end: u32,
        length: usize,
        ecn: u8,
        dscp: u8,
    ) -> PyResult<bool> {
        self.send_payload(py, now, end, length.into(), (ecn, dscp))
    }

    /// Sends an IP packet, whose headers are read.
    fn send_ip(&self, py: Python<'_>, now: Time, end: u32, packet: &[u8]) -> PyResult<bool> {
        self.with(py, |path| {
            let now = instant(path, now);
            Ok(path.send_ip(now, End::at(end), packet).map_err(failed)? == Fate::Sent)
        })
    }

    /// Advances the path to the next arrival, at the latest to `until`.
    #[pyo3(signature = (until = None))]
    fn receive<'py>(&self, py: Python<'py>, until: Option<Time>) -> PyResult<Option<DeliveryFields<'py>>> {
        let arrived = self.with(py, |path| {
            let until = until.map_or(Instant::NEVER, |until| instant(path, until));
            path.receive(until).map_err(failed)
        })?;
        Ok(arrived.map(|arrived| {
            let Arrival { end, bytes, ecn, dscp, at, sent, queued, length, number } = arrived;
            let times = [at.as_secs_f64(), sent.as_secs_f64(), queued.as_secs_f64()];
            let end = end.index() as u32;
            let bytes = PyBytes::new(py, &bytes);
            (end, bytes, ecn.bits(), dscp.bits(), times[0], times[1], times[2], length, number)
        }))
    }

    /// Returns the time at which something happens next, in seconds; `None` if nothing does.
    fn next(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, |path| Ok(path.next().map(Instant::as_secs_f64)))
    }

    /// Changes a value of the network from `now` on.
    fn set(&self, py: Python<'_>, now: Time, key: &str, value: &str) -> PyResult<()> {
        self.with(py, |path| {
            let now = instant(path, now);
            path.set(now, key, value).map_err(failed)
        })
    }

    /// Ends the path now, or at the end of its scenario. Returns its results.
    fn finish(&self, py: Python<'_>, run: bool) -> PyResult<Run> {
        let (finished, end) = py.detach(|| {
            let path = self.state.take().take().ok_or_else(finished)?;
            let end = path.now();
            let finished = if run { path.finish_run() } else { path.finish() };
            Ok::<_, PyErr>((finished.map_err(failed)?, end))
        })?;
        let scenario = finished.scenario().clone().into();
        let runs = Runs { recordings: vec![finished.recording], ..Runs::default() };
        Run::new(py, scenario, vec![lockgate::Seed(self.seed)], runs, Some(end).filter(|_| !run))
    }
}
