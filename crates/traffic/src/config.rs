//! Configuration of the traffic of one flow, as written in a scenario.
//!
//! ```text
//! gap + size          a random gap before each packet         bursts = { on, off } may modulate it
//! rate + size         constant bit rate, whatever the sizes   bursts = { on, off } may modulate it
//!                     either in batches: `batch` packets back to back at each arrival
//! profile (+ rate)    traffic known by name                   see `profile`
//! replay              a captured packet stream
//! ```

mod check;
pub mod profile;

use std::sync::Arc;

use lockgate_engine::units::{Bytes, Duration, Packets, Rate};
use serde::{Deserialize, Serialize};

use crate::files::{Captures, Load, LoadedFiles};
use crate::invalid::Invalid;
use crate::law::LawConfig;
use crate::laws::empirical::{Curve, CurveError};

/// Traffic of one flow: one of `gap`, `rate`, `profile` and `replay`, with the keys that belong to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrafficConfig {
    /// Time from the start of one packet to that of the next; the first packet comes after one gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<LawConfig<Duration>>,
    /// Rate at which frames are offered: each gap is the time that its packet takes at this rate; the first
    /// packet comes at once. Some profiles need it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Length of each frame as charged by the link: with Ethernet's 14 bytes, without preamble and FCS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<LawConfig<Bytes>>,
    /// Length of each UDP payload, instead of `size`: the frame is 42 bytes longer (IPv4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<LawConfig<Bytes>>,
    /// Packets that come back to back at each arrival, such as `2p` (batch arrivals); one by default. The
    /// first link spaces them. With `gap`, the gap is the time between two batches; with `rate`, the rate
    /// remains the mean rate: the next batch comes after the time that the packets of the last one take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Packets>,
    /// Name of a traffic profile, such as `g711`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "profile::schema"))]
    pub profile: Option<String>,
    /// Captured packet stream to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayConfig>,
    /// Alternating periods of sending and silence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstsConfig>,
}

/// Alternating periods of sending and silence (on/off modulation; Markov if both are exponential). Gaps
/// count sending time only: a gap interrupted by an off period continues after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BurstsConfig {
    /// Length of a period of sending.
    pub on: LawConfig<Duration>,
    /// Length of the silence after it.
    pub off: LawConfig<Duration>,
    /// Period that the flow starts with; `on` by default.
    #[serde(default, skip_serializing_if = "BurstStart::is_on")]
    pub start: BurstStart,
}

/// The period that a flow with bursts starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BurstStart {
    /// A period of sending.
    #[default]
    On,
    /// A period of silence.
    Off,
    /// Either, with probabilities proportional to their mean lengths, so that the flows of a group do not
    /// start together.
    Random,
}

impl BurstStart {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
    fn is_on(&self) -> bool {
        *self == Self::On
    }
}

/// A captured packet stream to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplayConfig {
    /// The capture: pcap or pcapng, optionally gzip-compressed.
    pub file: String,
    /// Factor of speed: 2 halves all gaps; 1 by default.
    #[serde(default = "unchanged", skip_serializing_if = "is_unchanged")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0.000_001, max = 1_000_000.0)))]
    pub speed: f64,
    /// Limit on the time without a packet: longer gaps are shortened to it, before `speed` applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_gap: Option<Duration>,
    /// Length to which longer packets are cut: into frames with 66 bytes of headers each, as a network card
    /// cuts what was captured before it (offload). At least `100B`; without it, packets keep their length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_frame: Option<Bytes>,
    /// If true, the replay repeats: it starts again one mean gap after its last packet.
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
    /// Creates traffic with a random gap before each packet, and a random size.
    pub fn gap_and_size(gap: LawConfig<Duration>, size: LawConfig<Bytes>) -> Self {
        Self { gap: Some(gap), size: Some(size), ..Self::default() }
    }

    /// Creates traffic of constant bit rate with these sizes.
    pub fn rate_and_size(rate: Rate, size: LawConfig<Bytes>) -> Self {
        Self { rate: Some(rate), size: Some(size), ..Self::default() }
    }

    /// Returns every file it names: the field, and the file's name.
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

    /// Reads and checks every file it names. `load` returns the content of a file, or why it cannot be
    /// read. Captures read before are taken from `captures`.
    ///
    /// # Errors
    /// Returns a problem for every file that cannot be loaded or is not valid.
    pub fn load_files(
        &self,
        load: &mut Load<'_>,
        captures: &mut Captures,
    ) -> Result<LoadedFiles, Vec<Invalid>> {
        let mut files = LoadedFiles::none();
        let mut problems = Vec::new();
        for (field, law) in self.durations() {
            if let Some(name) = &law.file {
                let bytes = load(name).map_err(CurveError::Unreadable);
                let curve = bytes.and_then(|bytes| Curve::read::<Duration>(&bytes));
                keep_curve(&mut files, &mut problems, field, name, curve);
            }
        }
        for (field, law) in self.sizes() {
            if let Some(name) = &law.file {
                let bytes = load(name).map_err(CurveError::Unreadable);
                let curve = bytes.and_then(|bytes| Curve::read::<Bytes>(&bytes));
                keep_curve(&mut files, &mut problems, field, name, curve);
            }
        }
        if let Some(ReplayConfig { file, longest_gap, longest_frame, .. }) = &self.replay {
            let longest_gap = longest_gap.unwrap_or(Duration::MAX);
            match captures.read(file, longest_gap, *longest_frame, load) {
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
    curve: Result<Curve, CurveError>,
) {
    match curve {
        Ok(curve) => {
            files.curves.insert(field.to_owned(), Arc::new(curve));
        }
        Err(why) => problems.push(Invalid::new(field_of_file(field), format!("`{name}` {why}"))),
    }
}

/// Returns the field of a law's table that names its file.
fn field_of_file(law: &'static str) -> &'static str {
    match law {
        "gap" => "gap.file",
        "bursts.on" => "bursts.on.file",
        "bursts.off" => "bursts.off.file",
        "size" => "size.file",
        _ => "payload.file",
    }
}
