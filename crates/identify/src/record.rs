//! Recorded probe: what was sent and what came, without addresses, to be judged again anywhere.

use serde::{Deserialize, Serialize};

use crate::identify::{Limits, Prober};
use crate::probe::{Observation, Probe};

/// Number of the format.
const FORMAT: u32 = 1;

/// Most records of a file: the directions of a line.
const MOST_RECORDS: usize = 2;

/// A recorded probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Number of the format: 1.
    pub format: u32,
    /// Bytes that might be sent.
    pub bytes: u64,
    /// Seconds that it might last.
    pub seconds: f64,
    /// Highest rate in bit/s.
    pub most: f64,
    /// Packets sent.
    pub probe: Probe,
    /// Arrivals.
    pub observed: Observation,
    /// Direction, as its first line names it, without addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// True if packets were real, with stamps that err.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub real: bool,
    /// Why nothing can be decided, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objection: Option<String>,
}

/// The error of a record that cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not JSON of this form.
    #[error("is not a recorded probe: {0}")]
    Form(#[from] serde_json::Error),
    /// Another format.
    #[error("has format `{0}`, and this version reads format {FORMAT}")]
    Format(u32),
    /// Packets and arrivals do not belong together.
    #[error("has {0} rounds whose packets and arrivals differ in number, order or range")]
    Rounds(usize),
    /// A limit out of range.
    #[error("has `{0}` of {1}, which is no limit of a probe")]
    Limit(&'static str, f64),
    /// No record, or more than the directions of a line.
    #[error("has {0} records, and a line has one or two directions")]
    Number(usize),
    /// The judge asked for a round that was not recorded.
    #[error("ends before this version's judge has what it asks for: it was recorded by another version")]
    Ends,
}

impl Record {
    /// Records a probe.
    pub fn new(limits: &Limits, probe: &Probe, observed: &Observation) -> Self {
        let Limits { bytes, seconds, most, .. } = *limits;
        let (probe, observed) = (probe.clone(), observed.clone());
        Self {
            format: FORMAT,
            bytes,
            seconds,
            most,
            probe,
            observed,
            line: None,
            real: false,
            objection: None,
        }
    }

    /// Reads the records of a file, one a line.
    ///
    /// # Errors
    /// See [`RecordError`]; never panics, whatever the bytes.
    pub fn read_all(bytes: &[u8]) -> Result<Vec<Self>, RecordError> {
        // Editors of Windows begin a text with a byte order mark, which is no part of it.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        // The first line tells a file of something else from one with too many records.
        let first = lines.first().map(|line| Self::read(line)).transpose()?;
        if lines.is_empty() || lines.len() > MOST_RECORDS {
            return Err(RecordError::Number(lines.len()));
        }
        first.into_iter().map(Ok).chain(lines[1..].iter().map(|line| Self::read(line))).collect()
    }

    /// Reads a record.
    ///
    /// # Errors
    /// See [`RecordError`]; never panics, whatever the bytes.
    pub fn read(bytes: &[u8]) -> Result<Self, RecordError> {
        let record: Self = serde_json::from_slice(bytes)?;
        if record.format != FORMAT {
            return Err(RecordError::Format(record.format));
        }
        let rounds = record.probe.rounds.iter().zip(&record.observed.rounds);
        let is_wrong = |round: &&crate::probe::Round, arrivals: &[Option<crate::probe::Arrival>]| {
            let is_far = |at: u64| at > LONGEST;
            let late = |at: i64| at.unsigned_abs() > LONGEST;
            round.packets.len() != arrivals.len()
                || round.packets.iter().any(|sent| {
                    is_far(sent.at)
                        || usize::from(sent.flow) >= crate::in_scenario::FLOWS
                        || !(42..=65_535).contains(&sent.length)
                })
                || !round.packets.is_sorted_by_key(|sent| sent.at)
                || is_far(round.planned)
                || arrivals.iter().flatten().any(|arrival| late(arrival.at))
        };
        let wrong = rounds.clone().filter(|(round, arrivals)| is_wrong(round, arrivals)).count()
            + record.probe.rounds.len().abs_diff(record.observed.rounds.len());
        if wrong > 0 {
            return Err(RecordError::Rounds(wrong));
        }
        let limits = [("most", record.most, FASTEST), ("seconds", record.seconds, LONGEST as f64 * 1e-12)];
        for (name, value, largest) in limits {
            if !(value > 0.0 && value <= largest) {
                return Err(RecordError::Limit(name, value));
            }
        }
        Ok(record)
    }

    /// Returns the limits under which it was recorded.
    pub fn limits(&self) -> Limits {
        Limits { bytes: self.bytes, seconds: self.seconds, most: self.most, without: Vec::new() }
    }
}

/// Latest time of a packet, in picoseconds: an hour.
const LONGEST: u64 = 3_600_000_000_000_000;

/// Highest rate of a probe in bit/s.
const FASTEST: f64 = 1e12;

/// Prober that answers from a record.
pub struct Replay<'a>(pub &'a Record);

impl Prober for Replay<'_> {
    type Error = RecordError;

    fn send(&mut self, probe: &mut Probe) -> Result<Observation, RecordError> {
        let count = probe.rounds.len();
        let recorded = self.0.probe.rounds.get(count - 1).ok_or(RecordError::Ends)?;
        if let Some(last) = probe.rounds.last_mut() {
            last.packets.clone_from(&recorded.packets);
            last.purpose = recorded.purpose;
            last.reason.clone_from(&recorded.reason);
        }
        Ok(Observation { rounds: self.0.observed.rounds[..count].to_vec() })
    }

    fn now(&self, index: usize) -> u64 {
        // After the last round, no time is left for another.
        self.0.probe.rounds.get(index).map_or(LONGEST, |round| round.planned)
    }

    fn is_real(&self) -> bool {
        self.0.real
    }

    fn objection(&self) -> Option<String> {
        self.0.objection.clone()
    }
}
