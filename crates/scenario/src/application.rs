//! Applications with dialogue in both directions: FTP and web pages.

use lockgate_engine::units::{Bytes, Duration};
use lockgate_traffic::LawConfig;
use serde::Deserialize;

/// The codec of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// G.711 with packet loss concealment.
    G711,
    /// G.729A with voice activity detection.
    G729,
}

impl Codec {
    /// Returns the name used in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::G711 => "g711",
            Self::G729 => "g729",
        }
    }
}

/// A file transfer with its dialogue (RFC 959): a control connection to port 21 for each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Ftp {
    /// Direction of the transfer. `false`: the sender is the client and stores the file in passive mode.
    /// `true`: the receiver is the client and fetches the file in active mode.
    pub get: bool,
    /// Time the server takes for each reply; default `0s`.
    pub after: Duration,
}

/// Web pages read one after another over one connection.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// Size of a request; default `400B`.
    #[serde(default = "request")]
    pub request: Bytes,
    /// Objects of a page; default `1`. The first object names the others, which are requested together.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 10_000)))]
    pub objects: u32,
    /// Size of an object.
    pub object: LawConfig<Bytes>,
    /// Think time: from the end of a page to the request for the next; default none.
    #[serde(default)]
    pub think: Option<LawConfig<Duration>>,
}

fn request() -> Bytes {
    Bytes(400)
}

fn one() -> u32 {
    1
}
