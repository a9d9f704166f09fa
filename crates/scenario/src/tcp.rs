//! A TCP flow as it is meant: its parameters, and what is sent over it.

use core::fmt;
use core::str::FromStr;

use lockgate_engine::units::{Bytes, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// The congestion controls there are. How each works is said where it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Congestion {
    /// RFC 5681 and 6582.
    Reno,
    /// RFC 9438.
    #[default]
    Cubic,
    /// Bottleneck bandwidth and round-trip propagation time, version 1.
    Bbr,
    /// RFC 8257.
    Dctcp,
    /// L4S (RFC 9331).
    Prague,
}

impl Congestion {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Reno, Self::Cubic, Self::Bbr, Self::Dctcp, Self::Prague];

    /// Its name, as `sysctl net.ipv4.tcp_congestion_control` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Dctcp => "dctcp",
            Self::Prague => "prague",
        }
    }

    /// Whether it is made for congestion marks, so that a flow has them on by default.
    pub const fn wants_marks(self) -> bool {
        matches!(self, Self::Dctcp | Self::Prague)
    }
}

impl fmt::Display for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Congestion {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|known| known.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let near = crate::nearest::nearest(text, names);
            let near = near.map(|near| format!(", did you mean `{near}`")).unwrap_or_default();
            format!("it is one of `{}`{near}", names.join("`, `"))
        })
    }
}

/// How the first sequence number is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialSequence {
    /// Any of the 2^32.
    #[default]
    Random,
    /// So that a router can tell how much was sent: 10 random bits, 12 zeros, 10 random bits (`run2c`).
    Run2c,
}

impl FromStr for InitialSequence {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "random" => Ok(Self::Random),
            "run2c" => Ok(Self::Run2c),
            _ => Err("it is `random` or `run2c`".to_owned()),
        }
    }
}

macro_rules! named {
    ($type:ident, $what:literal, $example:literal, $about:literal, $names:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reader;
                impl de::Visitor<'_> for Reader {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, ", such as `", $example, "`"))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(|why| {
                            let text: String = text.chars().take(40).collect();
                            E::custom(format_args!("`{text}` is not {}: {why}", $what))
                        })
                    }
                }
                deserializer.deserialize_str(Reader)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "enum": $names, "description": $about })
            }
        }
    };
}

named!(
    Congestion,
    "a congestion control",
    "cubic",
    "A congestion control: `reno`, `cubic`, `bbr`, `dctcp` or `prague`.",
    Congestion::ALL.map(Congestion::name)
);
named!(
    InitialSequence,
    "a way to choose the first sequence number",
    "random",
    "How the first sequence number is chosen: `random` or `run2c`.",
    ["random", "run2c"]
);

/// What is sent over a TCP flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// As much as the connection takes.
    Unlimited,
    /// So many bytes, then the connection closes.
    File(Bytes),
    /// A file whose size is drawn from the law `size` of the flow's traffic, started when the law `gap` says, where
    /// there is one: members of a group draw one after the other.
    Drawn,
    /// What the flow's traffic offers, each emission a write of its length.
    Stream,
    /// What the flow's traffic offers, each emission a request that the far end sends back.
    Echo,
    /// Requests for pages, answered by objects: the flow's traffic has their sizes, and the time between pages as
    /// its gaps.
    Pages {
        /// Size of a request.
        request: Bytes,
        /// How many objects a page has, at least one.
        objects: u32,
    },
    /// The dialogue of a file transfer by FTP.
    Control {
        /// The place in `flows` of the connection that carries the file.
        of: usize,
    },
}

/// A TCP flow's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpModel {
    /// What is sent over it.
    pub application: Application,
    /// How fast it sends.
    pub congestion: Congestion,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Segments that may be sent at first.
    pub initial_window: u32,
    /// Bytes that may be under way to the receiver, at most: it begins with 65535.
    pub receive_window: u32,
    /// Whether congestion marks are understood (RFC 3168).
    pub ecn: bool,
    /// Whether the receiver tells what arrived beyond a gap (RFC 2018).
    pub sack: bool,
    /// How long an acknowledgement waits for a second segment; zero: none waits.
    pub delayed_ack: Duration,
    /// Acknowledgements at the start that do not wait.
    pub quick_acks: u32,
    /// The least variance term of the retransmission timeout.
    pub minimum_rto: Duration,
    /// Whether segments are spaced out even if the congestion control does not ask for it.
    pub pacing: bool,
    /// How the first sequence number is chosen.
    pub initial_sequence: InitialSequence,
}

impl Default for TcpModel {
    fn default() -> Self {
        Self {
            application: Application::Unlimited,
            congestion: Congestion::Cubic,
            mss: 1448,
            initial_window: 10,
            receive_window: 3 << 20,
            ecn: false,
            sack: true,
            delayed_ack: Duration::from_millis(40),
            quick_acks: 16,
            minimum_rto: Duration::from_millis(200),
            pacing: false,
            initial_sequence: InitialSequence::Random,
        }
    }
}
