//! Applications that talk in both directions, as they are meant: FTP, pages.

use lockgate_engine::units::{Bytes, Duration};
use lockgate_traffic::LawConfig;
use schemars::JsonSchema;
use serde::Deserialize;

/// The codec of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// G.711 with packet loss concealment.
    G711,
    /// G.729A with voice activity detection.
    G729,
}

impl Codec {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::G711 => "g711",
            Self::G729 => "g729",
        }
    }
}

/// A file transfer with its dialogue (RFC 959): a control connection to port 21 for each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ftp {
    /// Who asks: with `false` the sender is the client, which stores its file in passive mode; with `true` the
    /// receiver is the client, which fetches it in active mode.
    pub get: bool,
    /// How long the server takes for each answer; no time where it is not given.
    pub after: Duration,
}

/// Pages that a user reads one after the other, over one connection.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// Size of a request; `400B` where it is not given.
    #[serde(default = "request")]
    pub request: Bytes,
    /// How many objects a page has: the first names the others, which are asked for together; `1` where it is not
    /// given.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub objects: u32,
    /// Size of an object.
    pub object: LawConfig<Bytes>,
    /// Time from a page to the request for the next; none where it is not given.
    #[serde(default)]
    pub think: Option<LawConfig<Duration>>,
}

fn request() -> Bytes {
    Bytes(400)
}

fn one() -> u32 {
    1
}
