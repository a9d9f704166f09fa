//! Checks a flow's traffic: the combination of keys, and their values.

use lockgate_engine::units::{Bytes, Duration, Packets, Rate};

use super::{TrafficConfig, profile};
use crate::files::LoadedFiles;
use crate::frame::{HEADERS, LARGEST_FRAME};
use crate::invalid::Invalid;
use crate::law::{Law, LawConfig};

/// Highest rate of a flow: a byte takes one picosecond.
const HIGHEST_RATE: Rate = Rate::from_bits(8_000_000_000_000);

/// Lowest rate of video.
const LOWEST_VIDEO: Rate = Rate::from_bits(64_000);

/// Limit on the packets of a batch.
const LARGEST_BATCH: u64 = 65_536;

/// Least length of frames that longer packets are cut into.
const SHORTEST_CUT: Bytes = Bytes(100);

/// Shortest mean period of sending.
const SHORTEST_ON: Duration = Duration::from_micros(1);

impl TrafficConfig {
    /// Returns every problem, those of the files it names included.
    pub fn check(&self, files: &LoadedFiles) -> Vec<Invalid> {
        let mut problems = self.combination();
        for (field, law) in self.durations() {
            problems.extend(check_duration(field, law, files).err());
        }
        for (field, law) in self.sizes() {
            problems.extend(check_size(field, law, files).err());
        }
        problems.extend(self.check_rate().err());
        problems.extend(self.check_batch().err());
        problems.extend(self.check_replay(files));
        problems
    }

    /// Returns missing keys, and keys that exclude each other.
    fn combination(&self) -> Vec<Invalid> {
        let parts = [
            ("gap", self.gap.is_some()),
            ("rate", self.rate.is_some()),
            ("size", self.size.is_some()),
            ("payload", self.payload.is_some()),
            ("batch", self.batch.is_some()),
            ("bursts", self.bursts.is_some()),
        ];
        let whole = if self.replay.is_some() { "replay" } else { "profile" };
        if self.replay.is_some() || self.profile.is_some() {
            // A profile may take a rate; the profile checks that.
            let is_foreign = |field: &str| field != "rate" || self.replay.is_some();
            let strangers = parts.iter().filter(|(field, is_given)| *is_given && is_foreign(field));
            let why = format!("does not go with `{whole}`, which says all of it");
            let mut problems: Vec<Invalid> =
                strangers.map(|(field, _)| Invalid::new(*field, why.clone())).collect();
            if self.replay.is_some() && self.profile.is_some() {
                problems.push(Invalid::new("profile", why));
            }
            return problems;
        }
        let mut problems = Vec::new();
        match (self.gap.is_some(), self.rate.is_some()) {
            (true, true) => problems.push(Invalid::new(
                "rate",
                "does not go with `gap`: give `gap` for random gaps, or `rate` for a constant bit rate",
            )),
            (false, false) => problems.push(Invalid::new(
                "gap",
                "is missing: a flow has `gap` and `size`, `rate` and `size`, a `profile` or a `replay`",
            )),
            _ => {}
        }
        match (self.size.is_some(), self.payload.is_some()) {
            (true, true) => problems.push(Invalid::new(
                "payload",
                "does not go with `size`: give the frame as `size`, or the UDP payload as `payload`",
            )),
            (false, false) if self.gap.is_some() || self.rate.is_some() => problems.push(Invalid::new(
                "size",
                "is missing: give the frame's length, or the UDP payload's as `payload`",
            )),
            _ => {}
        }
        problems
    }

    fn check_rate(&self) -> Result<(), Invalid> {
        if let Some(name) = &self.profile
            && self.replay.is_none()
            && let profile::Model::Video(rate) = profile::model(name, self.rate)?
            && rate < LOWEST_VIDEO
            && !rate.is_zero()
        {
            let why = format!("`{rate}` is too low for video: at least `{LOWEST_VIDEO}`");
            return Err(Invalid::new("rate", why));
        }
        match self.rate {
            Some(rate) if rate.is_zero() => {
                Err(Invalid::new("rate", "of zero sends nothing: give it a rate such as `1mbit`"))
            }
            Some(rate) if rate > HIGHEST_RATE => {
                Err(Invalid::new("rate", format!("`{rate}` is too high: at most `{HIGHEST_RATE}`")))
            }
            _ => Ok(()),
        }
    }

    fn check_batch(&self) -> Result<(), Invalid> {
        match self.batch {
            Some(Packets(0)) => {
                Err(Invalid::new("batch", "of no packets sends nothing: give it at least `1p`"))
            }
            Some(Packets(packets)) if packets > LARGEST_BATCH => {
                let why = format!("`{packets}p` is not allowed: it is at most `{LARGEST_BATCH}p`");
                Err(Invalid::new("batch", why))
            }
            _ => Ok(()),
        }
    }

    fn check_replay(&self, files: &LoadedFiles) -> Vec<Invalid> {
        let Some(replay) = &self.replay else { return Vec::new() };
        let mut problems = Vec::new();
        if !(1e-6..=1e6).contains(&replay.speed) {
            let why = format!("`{}` is not allowed: it is between 0.000001 and 1000000", replay.speed);
            problems.push(Invalid::new("replay.speed", why));
        }
        if let Some(longest) = replay.longest_frame.filter(|longest| *longest < SHORTEST_CUT) {
            let why = format!("`{longest}` is too short for headers and payload: at least `{SHORTEST_CUT}`");
            problems.push(Invalid::new("replay.longest_frame", why));
        }
        match files.replays.get(&replay.file) {
            None => problems.push(Invalid::new("replay.file", "has not been read")),
            Some(capture) if replay.repeat && capture.span().is_zero() => {
                problems.push(Invalid::new("replay.repeat", "needs a capture that takes some time"));
            }
            Some(_) => {}
        }
        problems
    }
}

fn check_duration(
    field: &'static str,
    config: &LawConfig<Duration>,
    files: &LoadedFiles,
) -> Result<(), Invalid> {
    let law = Law::new(config, field, files)?;
    let Some(mean) = law.mean() else { return Ok(()) };
    let why = match field {
        "gap" if mean < 1e-12 => "is zero: packets need some time between them, at least `1ps` on average",
        "bursts.on" if mean < SHORTEST_ON.as_secs_f64() => {
            "is too short: periods of sending last at least `1us` on average"
        }
        _ => return Ok(()),
    };
    Err(Invalid::new(field, why))
}

fn check_size(field: &'static str, config: &LawConfig<Bytes>, files: &LoadedFiles) -> Result<(), Invalid> {
    let headers = if field == "payload" { HEADERS } else { 0 };
    let most = Bytes(u64::from(LARGEST_FRAME - headers));
    Law::new(config, field, files)?;
    match config.value {
        Some(Bytes(0)) => Err(Invalid::new(field, "of zero is not allowed: it is at least `1B`")),
        Some(value) if value > most => {
            Err(Invalid::new(field, format!("`{value}` is not allowed: it is at most `{most}`")))
        }
        _ => Ok(()),
    }
}
