//! Arrival processes: when a flow sends each packet, and how long it is.

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration};

use crate::config::TrafficConfig;
use crate::files::LoadedFiles;
use crate::invalid::Invalid;
use crate::law::Law;

/// One packet that a flow offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Emission {
    /// When, since the flow's start.
    pub at: Duration,
    /// Frame length in bytes, as the link charges it.
    pub length: u32,
}

/// The packets that a flow offers, in order of time, in batches.
#[derive(Debug)]
pub struct Arrivals {}

/// Most emissions a call of [`Arrivals::fill`] appends.
pub const BATCH: usize = 32;

impl Arrivals {
    /// The arrivals of the flow called `flow`.
    ///
    /// # Errors
    /// The first problem found; [`TrafficConfig::check`] finds them all.
    pub fn new(config: &TrafficConfig, seed: Seed, flow: &str, files: &LoadedFiles) -> Result<Self, Invalid> {
        let _ = (config, seed, flow, files);
        Ok(Self {})
    }

    /// Appends up to [`BATCH`] emissions; none where the flow has ended.
    pub fn fill(&mut self, batch: &mut Vec<Emission>) {
        let _ = batch;
    }

    /// The law of its gaps, where it has one.
    pub fn gap_law(&self) -> Option<&Law<Duration>> {
        None
    }

    /// The law of its frame lengths (or payloads), where it has one.
    pub fn size_law(&self) -> Option<&Law<Bytes>> {
        None
    }

    /// The mean rate offered in bit/s of frames, bursts included, as theory has it; `None` where it is
    /// unknown or a mean is infinite.
    pub fn mean_rate(&self) -> Option<f64> {
        None
    }
}
