//! How one flow offers packets, as it is written in a scenario.
//!
//! ```text
//! gap + size          a random gap before each packet         bursts = { on, off } may modulate it
//! rate + size         constant bit rate, whatever the sizes   bursts = { on, off } may modulate it
//!                     either in batches: `batch` packets back to back at each arrival
//! profile (+ rate)    traffic known by name                   see `profile`
//! replay              a captured packet stream
//! ```

mod check;

use std::sync::Arc;

use lockgate_engine::units::{Bytes, Duration, Packets, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::{Captures, Load, LoadedFiles};
use crate::invalid::Invalid;
use crate::law::LawConfig;
use crate::laws::empirical::Curve;
use crate::profile;

/// What stands around a UDP payload in a frame: 14 bytes of Ethernet, 20 of IPv4, 8 of UDP.
pub const HEADERS: u32 = 14 + 20 + 8;

/// The largest frame: an IP packet of 65535 bytes and Ethernet's 14.
pub const LARGEST_FRAME: u32 = 65_535 + 14;

/// How one flow offers packets: one of `gap`, `rate`, `profile` and `replay`, and what goes with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficConfig {
    /// Time between the beginnings of two packets; the first comes after one gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<LawConfig<Duration>>,
    /// Rate at which frames are offered, each gap being the time its packet takes at this rate; the first
    /// packet comes at once. Some profiles need it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Length of each frame as the link charges it: Ethernet's 14 bytes included, preamble and FCS not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<LawConfig<Bytes>>,
    /// Length of each UDP payload, instead of `size`: the frame is 42 bytes longer (IPv4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<LawConfig<Bytes>>,
    /// Packets that come back to back at each arrival, such as `2p` (batch arrivals); one where it is not given. The first
    /// link spaces them. A `gap` is then the time between two batches; a `rate` remains the mean rate, a batch coming
    /// once in the time that its packets take at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Packets>,
    /// Traffic known by name, such as `g711`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "profile::schema")]
    pub profile: Option<String>,
    /// A captured packet stream that is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayConfig>,
    /// Periods of sending and of silence that take turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstsConfig>,
}

/// Periods of sending and of silence that take turns (on/off modulation; Markov where both are
/// exponential). Gaps count sending time only: a gap that an off period interrupts goes on after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstsConfig {
    /// How long a period of sending lasts.
    pub on: LawConfig<Duration>,
    /// How long the silence after it lasts.
    pub off: LawConfig<Duration>,
    /// What the flow starts in.
    #[serde(default, skip_serializing_if = "BurstStart::is_on")]
    pub start: BurstStart,
}

/// What a flow with bursts starts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BurstStart {
    /// A period of sending.
    #[default]
    On,
    /// A period of silence.
    Off,
    /// Either, in proportion to their mean lengths, so that the flows of a group do not start together.
    Random,
}

impl BurstStart {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
    fn is_on(&self) -> bool {
        *self == Self::On
    }
}

/// A captured packet stream that is sent again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayConfig {
    /// The capture: pcap or pcapng, also gzip-compressed.
    pub file: String,
    /// How many times faster than captured: 2 halves all gaps.
    #[serde(default = "unchanged", skip_serializing_if = "is_unchanged")]
    #[schemars(range(min = 0.000_001, max = 1_000_000.0))]
    pub speed: f64,
    /// Longer times without a packet are shortened to this, before `speed` applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_gap: Option<Duration>,
    /// Whether it begins again when it has ended, one mean gap after its last packet.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub repeat: bool,
}

fn unchanged() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
fn is_unchanged(speed: &f64) -> bool {
    speed.to_bits() == 1.0f64.to_bits()
}

impl TrafficConfig {
    /// A random gap before each packet, and a random size.
    pub fn gap_and_size(gap: LawConfig<Duration>, size: LawConfig<Bytes>) -> Self {
        Self { gap: Some(gap), size: Some(size), ..Self::default() }
    }

    /// A constant bit rate with these sizes.
    pub fn rate_and_size(rate: Rate, size: LawConfig<Bytes>) -> Self {
        Self { rate: Some(rate), size: Some(size), ..Self::default() }
    }

    /// Every file it names: the field that does, and the name.
    pub fn files(&self) -> Vec<(&'static str, &str)> {
        let laws = self.durations().map(|(field, law)| (field, law.file.as_deref()));
        let sizes = self.sizes().map(|(field, law)| (field, law.file.as_deref()));
        let replay = self.replay.iter().map(|replay| ("replay.file", Some(replay.file.as_str())));
        laws.chain(sizes)
            .map(|(field, file)| (field_of_file(field), file))
            .chain(replay)
            .filter_map(|(field, file)| file.map(|file| (field, file)))
            .collect()
    }

    /// Reads and checks every file it names. `load` gives a file's bytes, or says why it cannot; captures that were
    /// read before are taken from `captures`.
    ///
    /// # Errors
    /// Every file that cannot be had or is not what it should be.
    pub fn load_files(
        &self,
        load: &mut Load<'_>,
        captures: &mut Captures,
    ) -> Result<LoadedFiles, Vec<Invalid>> {
        let mut files = LoadedFiles::none();
        let mut problems = Vec::new();
        for (field, law) in self.durations() {
            if let Some(name) = &law.file {
                let curve = load(name).and_then(|bytes| Curve::read::<Duration>(&bytes));
                keep_curve(&mut files, &mut problems, field, name, curve);
            }
        }
        for (field, law) in self.sizes() {
            if let Some(name) = &law.file {
                let curve = load(name).and_then(|bytes| Curve::read::<Bytes>(&bytes));
                keep_curve(&mut files, &mut problems, field, name, curve);
            }
        }
        if let Some(ReplayConfig { file, longest_gap, .. }) = &self.replay {
            let longest_gap = longest_gap.unwrap_or(Duration::MAX);
            match captures.read(file, longest_gap, load) {
                Ok(replay) => {
                    files.replays.insert(file.clone(), replay);
                }
                Err(why) => problems.push(Invalid::new("replay.file", format!("`{file}` {why}"))),
            }
        }
        if problems.is_empty() { Ok(files) } else { Err(problems) }
    }

    fn durations(&self) -> impl Iterator<Item = (&'static str, &LawConfig<Duration>)> {
        let bursts = self.bursts.as_ref();
        let laws = [
            ("gap", self.gap.as_ref()),
            ("bursts.on", bursts.map(|bursts| &bursts.on)),
            ("bursts.off", bursts.map(|bursts| &bursts.off)),
        ];
        laws.into_iter().filter_map(|(field, law)| law.map(|law| (field, law)))
    }

    fn sizes(&self) -> impl Iterator<Item = (&'static str, &LawConfig<Bytes>)> {
        let laws = [("size", self.size.as_ref()), ("payload", self.payload.as_ref())];
        laws.into_iter().filter_map(|(field, law)| law.map(|law| (field, law)))
    }
}

fn keep_curve(
    files: &mut LoadedFiles,
    problems: &mut Vec<Invalid>,
    field: &'static str,
    name: &str,
    curve: Result<Curve, String>,
) {
    match curve {
        Ok(curve) => {
            files.curves.insert(field.to_owned(), Arc::new(curve));
        }
        Err(why) => problems.push(Invalid::new(field_of_file(field), format!("`{name}` {why}"))),
    }
}

/// The field of a law's table that names its file.
fn field_of_file(law: &'static str) -> &'static str {
    match law {
        "gap" => "gap.file",
        "bursts.on" => "bursts.on.file",
        "bursts.off" => "bursts.off.file",
        "size" => "size.file",
        _ => "payload.file",
    }
}
