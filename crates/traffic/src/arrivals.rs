//! Arrival processes: times and lengths of a flow's packets.
//!
//! ```text
//! gap law | constant rate | video | replay  --32 at a time-->  [bursts]  -->  Emission { at, length }
//!  (alone or in batches)
//! ```
//!
//! Times are relative to the flow's start, and never decrease. Each flow draws from its own random streams
//! (`flow/<name>/gaps`, `flow/<name>/sizes`, `flow/<name>/bursts`), so that changing the lengths of packets
//! does not change their times.

mod bursts;
mod emission;
mod replay_source;
mod streams;
mod video;

use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Rate};

use self::bursts::Bursts;
pub use self::emission::{BATCH, Emission};
use self::replay_source::ReplaySource;
use self::streams::{ConstantRate, Gaps, Sizes};
use self::video::Video;
use crate::config::profile::{self, Model};
use crate::config::{BurstsConfig, TrafficConfig};
use crate::files::LoadedFiles;
use crate::frame::HEADERS;
use crate::invalid::Invalid;
use crate::law::Law;

/// The packets offered by a flow, in order of time, in batches.
pub struct Arrivals {
    source: Source,
    bursts: Option<Bursts>,
    has_ended: bool,
}

#[allow(
    clippy::large_enum_variant,
    reason = "one a flow, and looked up once a batch: a box would cost a miss"
)]
enum Source {
    Gaps(Gaps),
    Rate(ConstantRate),
    Video(Video),
    Replay(ReplaySource),
}

impl core::fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let source = match &self.source {
            Source::Gaps(_) => "gaps",
            Source::Rate(_) => "rate",
            Source::Video(_) => "video",
            Source::Replay(_) => "replay",
        };
        f.debug_struct("Arrivals")
            .field("source", &source)
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}

impl Arrivals {
    /// Creates the arrivals of the flow called `flow`. The same configuration, seed and name give the same
    /// emissions on every machine.
    ///
    /// # Errors
    /// Returns the first problem; [`TrafficConfig::check`] returns all of them.
    pub fn new(config: &TrafficConfig, seed: Seed, flow: &str, files: &LoadedFiles) -> Result<Self, Invalid> {
        match config.check(files).into_iter().next() {
            Some(problem) => Err(problem),
            None => Self::build(config, seed, flow, files),
        }
    }

    /// Creates the arrivals of a checked configuration.
    fn build(config: &TrafficConfig, seed: Seed, flow: &str, files: &LoadedFiles) -> Result<Self, Invalid> {
        let stream = |what: &str| Random::stream(seed, &format!("flow/{flow}/{what}"));
        if let Some(replay) = &config.replay {
            let packets = files.replays.get(&replay.file);
            let packets = packets.ok_or_else(|| Invalid::new("replay.file", "has not been read"))?;
            return Ok(Self::of(Source::Replay(ReplaySource::new(
                packets.clone(),
                replay.speed,
                replay.repeat,
            ))));
        }
        if let Some(name) = &config.profile {
            return match profile::model(name, config.rate)? {
                Model::Video(rate) => {
                    Ok(Self::of(Source::Video(Video::new(rate, stream("gaps"), stream("sizes")))))
                }
                Model::WrittenOut(config) => {
                    let mut arrivals = Self::build(&config, seed, flow, files)?;
                    if let Source::Gaps(gaps) = &mut arrivals.source {
                        gaps.has_random_phase = true;
                    }
                    Ok(arrivals)
                }
            };
        }
        let sizes = sizes_of(config, stream("sizes"), files)?;
        // The checks bound it by 65536.
        let batch = config.batch.map_or(1, |batch| batch.0 as u32);
        let source = match (&config.gap, config.rate) {
            (Some(gap), None) => Source::Gaps(Gaps {
                law: Law::new(gap, "gap", files)?,
                random: stream("gaps"),
                sizes,
                batch,
                left: 0,
                at: Duration::ZERO,
                has_random_phase: false,
            }),
            (_, rate) => Source::Rate(ConstantRate::new(rate.unwrap_or(Rate::from_bits(1)), batch, sizes)),
        };
        let bursts =
            config.bursts.as_ref().map(|bursts| bursts_of(bursts, stream("bursts"), files)).transpose()?;
        Ok(Self { bursts, ..Self::of(source) })
    }

    fn of(source: Source) -> Self {
        Self { source, bursts: None, has_ended: false }
    }

    /// Appends up to [`BATCH`] emissions; none if the flow has ended.
    #[inline]
    pub fn fill(&mut self, batch: &mut Vec<Emission>) {
        if self.has_ended {
            return;
        }
        let from = batch.len();
        match &mut self.source {
            Source::Gaps(gaps) => gaps.fill(batch),
            Source::Rate(rate) => rate.fill(batch),
            Source::Video(video) => video.fill(batch),
            Source::Replay(replay) => replay.fill(batch),
        }
        if let Some(bursts) = &mut self.bursts {
            let count = bursts.stretch(&mut batch[from..]);
            self.has_ended = from + count < batch.len();
            batch.truncate(from + count);
        }
        // The time has saturated: emissions at the end of time are never sent.
        if batch.last().is_some_and(|last| last.at == Duration::MAX) {
            let count = batch[from..].partition_point(|emission| emission.at < Duration::MAX);
            self.has_ended = true;
            batch.truncate(from + count);
        }
    }

    /// Returns the theoretical rate in packets per second, bursts included, if known.
    pub fn packet_rate(&self) -> Option<f64> {
        let rate = match &self.source {
            Source::Gaps(gaps) => 1.0 / gaps.law.mean()?,
            Source::Rate(rate) => rate.rate() / 8.0 / rate.sizes().mean()?,
            Source::Video(video) => video.packet_rate(),
            Source::Replay(replay) => replay.packet_rate()?,
        };
        match &self.bursts {
            Some(bursts) => Some(rate * bursts.duty()?),
            None => Some(rate),
        }
    }

    /// Returns the theoretical mean rate in bit/s of frames, bursts included; `None` if a mean is infinite,
    /// or a replay takes no time.
    pub fn mean_rate(&self) -> Option<f64> {
        let rate = match &self.source {
            Source::Gaps(gaps) => gaps.sizes.mean()? * 8.0 * f64::from(gaps.batch) / gaps.law.mean()?,
            Source::Rate(rate) => rate.rate(),
            Source::Video(video) => video.rate(),
            Source::Replay(replay) => replay.rate()?,
        };
        match &self.bursts {
            Some(bursts) => Some(rate * bursts.duty()?),
            None => Some(rate),
        }
    }
}

fn sizes_of(config: &TrafficConfig, random: Random, files: &LoadedFiles) -> Result<Sizes, Invalid> {
    match (&config.size, &config.payload) {
        (Some(size), _) => Ok(Sizes { law: Law::new(size, "size", files)?, headers: 0, random }),
        (None, Some(payload)) => {
            Ok(Sizes { law: Law::new(payload, "payload", files)?, headers: HEADERS, random })
        }
        (None, None) => Err(Invalid::new("size", "is missing")),
    }
}

fn bursts_of(config: &BurstsConfig, random: Random, files: &LoadedFiles) -> Result<Bursts, Invalid> {
    let on = Law::new(&config.on, "bursts.on", files)?;
    let off = Law::new(&config.off, "bursts.off", files)?;
    Ok(Bursts::new(on, off, config.start, random))
}

#[cfg(test)]
mod tests;
