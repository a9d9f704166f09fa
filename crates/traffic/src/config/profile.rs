//! Named traffic profiles.
//!
//! To add a profile: write its entry in the list below. Scenario files, the JSON schema,
//! `lockgate list profiles` and the tests that every profile must pass all follow from it.

use lockgate_engine::units::{Bytes, Duration, Rate};
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};

use super::{BurstStart, BurstsConfig, TrafficConfig};
use crate::frame::HEADERS;
use crate::invalid::Invalid;
use crate::law::LawConfig;
use crate::laws::Kind;

/// Description of a traffic profile, for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Name in scenario files.
    pub name: &'static str,
    /// Summary, in one line.
    pub summary: &'static str,
    /// Details of its traffic.
    pub doc: &'static str,
    /// Source of its numbers.
    pub source: &'static str,
    /// True if `rate` is required; otherwise it is refused.
    pub needs_rate: bool,
    /// The same traffic as a flow's keys, to start from when changing a number (a profile's first packet
    /// comes after a random part of a gap); `None` if it is an algorithm of its own.
    pub written_out: Option<&'static str>,
}

/// The model that a profile stands for.
pub(crate) enum Model {
    /// Equivalent configuration.
    WrittenOut(Box<TrafficConfig>),
    /// Video model.
    Video(Rate),
}

struct Profile {
    description: Description,
    model: fn(Rate) -> Model,
}

/// Every profile.
const PROFILES: &[Profile] = &[
    Profile {
        description: Description {
            name: "g711",
            summary: "telephone speech, silent in its pauses: 85.6 kbit/s while it speaks",
            doc: "G.711 over RTP: 160 bytes of speech every 20 ms, with RTP, UDP, IPv4 and Ethernet headers a frame of 214 bytes. Talk spurts and pauses are exponential with means 1.004 s and 1.587 s.",
            source: "ITU-T G.711 and RFC 3551 (20 ms); ITU-T P.59, temporal parameters of conversational speech",
            needs_rate: false,
            written_out: Some(
                r#"gap = "20ms", size = "214B", bursts = { on = { distribution = "exponential", mean = "1.004s" }, off = { distribution = "exponential", mean = "1.587s" }, start = "random" }"#,
            ),
        },
        model: |_| g711(),
    },
    Profile {
        description: Description {
            name: "imix",
            summary: "a mix of small, medium and large packets at a constant bit rate",
            doc: "IP packets of 40, 576 and 1500 bytes drawn as 7 : 4 : 1, in frames of 60 (padded), 590 and 1514 bytes: 357.8 on average.",
            source: "simple IMIX as in RFC 6985, section 1, and Agilent's mixed packet size study",
            needs_rate: true,
            written_out: Some(
                r#"rate = "10mbit", size = { distribution = "empirical", values = ["60B", "590B", "1514B"], weights = [7, 4, 1] }"#,
            ),
        },
        model: imix,
    },
    Profile {
        description: Description {
            name: "game",
            summary: "a player of a shooter to the server: 25 small packets a second",
            doc: "A UDP payload every 40 ms whose length is extreme-value distributed with location 80 and scale 5.7 bytes, here rounded to a mean of 83 and a scale of 6 bytes.",
            source: "Färber, Traffic modelling for fast action network games, Multimedia Tools and Applications 23, 2004 (Counter-Strike, client)",
            needs_rate: false,
            written_out: Some(
                r#"gap = "40ms", payload = { distribution = "extreme", mean = "83B", scale = "6B" }"#,
            ),
        },
        model: |_| game(),
    },
    Profile {
        description: Description {
            name: "game-server",
            summary: "the server of a shooter to one player: 17 packets a second",
            doc: "Gaps are extreme-value distributed with location 55 ms and scale 6 ms, UDP payloads with location 120 and scale 36 bytes (a mean of 141).",
            source: "Färber, Traffic modelling for fast action network games, Multimedia Tools and Applications 23, 2004 (Counter-Strike, server)",
            needs_rate: false,
            written_out: Some(
                r#"gap = { distribution = "extreme", mean = "58.463ms", scale = "6ms" }, payload = { distribution = "extreme", mean = "141B", scale = "36B" }"#,
            ),
        },
        model: |_| game_server(),
    },
    Profile {
        description: Description {
            name: "video",
            summary: "live video of variable bit rate: 30 frames a second of several packets each",
            doc: "Frame intervals and frame sizes deviate from their means as a Laplacian law of scale 0.15. All packets of a frame come at its time, up to 1254 bytes long. The rate counts frames on the link, headers included.",
            source: "RFC 8593, the statistical model in its steady state with the default parameters",
            needs_rate: true,
            written_out: None,
        },
        model: Model::Video,
    },
];

fn g711() -> Model {
    let frame = Bytes(160 + 12 + u64::from(HEADERS));
    let mut config = TrafficConfig::gap_and_size(
        LawConfig::constant(Duration::from_millis(20)),
        LawConfig::constant(frame),
    );
    config.bursts = Some(BurstsConfig {
        on: LawConfig::exponential(Duration::from_millis(1_004)),
        off: LawConfig::exponential(Duration::from_millis(1_587)),
        start: BurstStart::Random,
    });
    Model::WrittenOut(Box::new(config))
}

fn imix(rate: Rate) -> Model {
    let sizes = LawConfig {
        values: Some(vec![Bytes(60), Bytes(590), Bytes(1514)]),
        weights: Some(vec![7.0, 4.0, 1.0]),
        ..LawConfig::of(Kind::Empirical)
    };
    Model::WrittenOut(Box::new(TrafficConfig::rate_and_size(rate, sizes)))
}

fn game() -> Model {
    let payload = LawConfig { mean: Some(Bytes(83)), scale: Some(Bytes(6)), ..LawConfig::of(Kind::Extreme) };
    let gap = Some(LawConfig::constant(Duration::from_millis(40)));
    Model::WrittenOut(Box::new(TrafficConfig { gap, payload: Some(payload), ..TrafficConfig::default() }))
}

fn game_server() -> Model {
    let gap = LawConfig {
        mean: Some(Duration::from_micros(58_463)),
        scale: Some(Duration::from_millis(6)),
        ..LawConfig::of(Kind::Extreme)
    };
    let payload =
        LawConfig { mean: Some(Bytes(141)), scale: Some(Bytes(36)), ..LawConfig::of(Kind::Extreme) };
    Model::WrittenOut(Box::new(TrafficConfig {
        gap: Some(gap),
        payload: Some(payload),
        ..TrafficConfig::default()
    }))
}

/// Returns every profile's description, in the order of the list.
pub fn descriptions() -> Vec<Description> {
    PROFILES.iter().map(|profile| profile.description).collect()
}

/// Returns the model of the profile called `name` at `rate`.
///
/// # Errors
/// Fails if there is no such profile, if it needs a rate and has none, or if it has a rate and takes none.
pub(crate) fn model(name: &str, rate: Option<Rate>) -> Result<Model, Invalid> {
    let Some(profile) = PROFILES.iter().find(|profile| profile.description.name == name) else {
        let names: Vec<String> =
            PROFILES.iter().map(|profile| format!("`{}`", profile.description.name)).collect();
        return Err(Invalid::new(
            "profile",
            format!("`{name}` is not known: it is one of {}", names.join(" ")),
        ));
    };
    match (profile.description.needs_rate, rate) {
        (true, None) => Err(Invalid::new(
            "rate",
            format!("is missing: the profile `{name}` needs it, such as `rate = \"2mbit\"`"),
        )),
        (false, Some(_)) => {
            Err(Invalid::new("rate", format!("does not go with the profile `{name}`, which has its own")))
        }
        (_, rate) => Ok((profile.model)(rate.unwrap_or_default())),
    }
}

/// Returns the traffic that the profile `name` stands for; `None` if it is not known or not made of gaps and
/// sizes.
pub fn written_out(name: &str, rate: Option<Rate>) -> Option<TrafficConfig> {
    match model(name, rate).ok()? {
        Model::WrittenOut(config) => Some(*config),
        Model::Video(_) => None,
    }
}

/// Returns the names as a schema.
#[cfg(feature = "schema")]
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    let names = descriptions().into_iter();
    let forms: Vec<_> = names
        .map(|profile| serde_json::json!({ "const": profile.name, "description": profile.summary }))
        .collect();
    json_schema!({ "oneOf": forms, "description": "Traffic known by name." })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text shown by `lockgate list profiles` can be pasted into a flow and gives the same traffic.
    #[test]
    fn the_written_out_form_is_what_is_run() {
        for profile in PROFILES {
            let Some(text) = profile.description.written_out else { continue };
            let document = format!("flow = {{ {text} }}");
            let read: std::collections::BTreeMap<String, TrafficConfig> =
                toml::from_str(&document).expect("the form is valid TOML");
            match (profile.model)(Rate::from_bits(10_000_000)) {
                Model::WrittenOut(config) => {
                    assert_eq!(read["flow"], *config, "{}", profile.description.name);
                }
                Model::Video(_) => panic!("{} has no written-out form", profile.description.name),
            }
        }
    }
}
