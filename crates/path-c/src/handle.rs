//! The path behind a pointer of C, and its results: all that needs no pointer.

use std::ffi::CString;
use std::fs::File;
use std::io::BufWriter;

use lockgate_path::{
    Delivery, Dscp, Ecn, End, Error, Fate, Finished, Instant, Path, PathBuilder, Payload, Summary,
};

use crate::last_error;

/// A network between ends. One thread at a time may use it.
pub struct LockgatePath {
    path: Path,
    /// Latest arrival: C reads its bytes until the next one.
    arrived: Option<Delivery>,
}

impl LockgatePath {
    /// Builds a path; keeps the error if it cannot be built.
    pub(crate) fn build(builder: PathBuilder) -> Option<Box<Self>> {
        let built = builder.build().map(|path| Box::new(Self { path, arrived: None }));
        built.map_err(explain).ok()
    }

    /// Sends a packet; keeps the error if it cannot be sent.
    pub(crate) fn send(
        &mut self,
        now: u64,
        end: u32,
        payload: Payload<'_>,
        traffic_class: u8,
    ) -> Option<Fate> {
        let (ecn, dscp) = (Ecn::from_bits(traffic_class), Dscp::from_bits(traffic_class >> 2));
        self.path.send(Instant::from_picos(now), End::at(end), payload, ecn, dscp).map_err(explain).ok()
    }

    /// Sends an IP packet; keeps the error if it cannot be sent.
    pub(crate) fn send_ip(&mut self, now: u64, end: u32, packet: &[u8]) -> Option<Fate> {
        self.path.send_ip(Instant::from_picos(now), End::at(end), packet).map_err(explain).ok()
    }

    /// Returns the next arrival, until the next call.
    pub(crate) fn receive(&mut self, until: u64) -> Result<Option<&Delivery>, ()> {
        self.arrived = self.path.receive(Instant::from_picos(until)).map_err(explain)?;
        Ok(self.arrived.as_ref())
    }

    pub(crate) fn now(&self) -> u64 {
        self.path.now().as_picos()
    }

    /// Returns the time at which something happens next; the last time of all if nothing does.
    pub(crate) fn next(&self) -> u64 {
        self.path.next().unwrap_or(Instant::NEVER).as_picos()
    }

    pub(crate) fn set(&mut self, now: u64, path: &str, value: &str) -> Option<()> {
        self.path.set(Instant::from_picos(now), path, value).map_err(explain).ok()
    }

    pub(crate) fn finish(self) -> Option<Box<LockgateSummary>> {
        let finished = self.path.finish().map_err(explain).ok()?;
        let summary = finished.summary().map_err(explain).ok()?;
        Some(Box::new(LockgateSummary { finished, summary, json: None }))
    }
}

/// Results of a path.
pub struct LockgateSummary {
    finished: Finished,
    summary: Summary,
    /// Made when it is first asked for.
    json: Option<CString>,
}

impl LockgateSummary {
    /// Returns the value of the metric at an address; keeps the error if there is none.
    pub(crate) fn metric(&self, address: &str) -> Option<f64> {
        self.summary.metric(address).map_err(last_error::keep).ok()
    }

    /// Returns the whole summary as JSON.
    pub(crate) fn json(&mut self) -> &CString {
        let summary = &self.summary;
        self.json.get_or_insert_with(|| {
            // Texts of JSON have no zero byte: it is escaped.
            CString::new(serde_json::to_string(summary).unwrap_or_default()).unwrap_or_default()
        })
    }

    pub(crate) fn write_pcapng(&self, file: &str) -> Option<()> {
        let file = File::create(file).map(BufWriter::new).map_err(last_error::keep).ok()?;
        self.finished.write_pcapng(file).map_err(last_error::keep).ok()
    }

    pub(crate) fn write_qlog(&self, file: &str) -> Option<()> {
        let file = File::create(file).map(BufWriter::new).map_err(last_error::keep).ok()?;
        self.finished.write_qlog(file).map_err(last_error::keep).ok()
    }
}

/// Keeps an error; of a scenario, every problem with its line and its fix.
fn explain(error: Error) {
    let Error::Problems(problems) = &error else { return last_error::keep(error) };
    let lines = problems.iter().map(|problem| {
        let at = problem.position().map_or(String::new(), |(line, column)| format!("{line}:{column}: "));
        let help = problem.help_text().map_or(String::new(), |help| format!("; {help}"));
        format!("{at}{}{help}", problem.message())
    });
    last_error::keep(lines.collect::<Vec<_>>().join("\n"));
}
