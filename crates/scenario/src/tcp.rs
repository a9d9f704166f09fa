//! Parameters of a TCP flow, and the application on top of it.

use core::fmt;
use core::str::FromStr;

use lockgate_engine::units::{Bytes, Duration};
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use crate::refusal::Refusal;

/// Congestion controls. Each is described where it is implemented.
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
    /// Every congestion control.
    pub const ALL: [Self; 5] = [Self::Reno, Self::Cubic, Self::Bbr, Self::Dctcp, Self::Prague];

    /// Returns its name, as `sysctl net.ipv4.tcp_congestion_control` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Dctcp => "dctcp",
            Self::Prague => "prague",
        }
    }

    /// Returns true if it relies on ECN marks.
    pub const fn wants_marks(self) -> bool {
        matches!(self, Self::Dctcp | Self::Prague)
    }

    /// Returns the use of ECN by which it is defined; [`Ecn::Off`] if it needs none.
    const fn own_ecn(self) -> Ecn {
        match self {
            // RFC 8257: negotiated as in RFC 3168, with an echo of its own.
            Self::Dctcp => Ecn::Classic,
            // RFC 9331 section 4.2: the extent of marking must be fed back.
            Self::Prague => Ecn::Accurate,
            Self::Reno | Self::Cubic | Self::Bbr => Ecn::Off,
        }
    }
}

impl fmt::Display for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Congestion {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        Self::ALL.into_iter().find(|known| known.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let near = crate::nearest::nearest(text, names);
            let near = near.map(|near| format!(", did you mean `{near}`")).unwrap_or_default();
            format!("it is one of `{}`{near}", names.join("`, `")).into()
        })
    }
}

/// Choice of the initial sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialSequence {
    /// Uniform over all 2^32.
    #[default]
    Random,
    /// Lets a router derive how much was sent: 10 random bits, 12 zeros, 10 random bits (`run2c`).
    Run2c,
}

impl FromStr for InitialSequence {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        match text {
            "random" => Ok(Self::Random),
            "run2c" => Ok(Self::Run2c),
            _ => Err("it is `random` or `run2c`".into()),
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

        #[cfg(feature = "schema")]
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

/// Application on top of a TCP flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// Sends as much as the connection takes.
    Unlimited,
    /// Sends this many bytes, then closes the connection.
    File(Bytes),
    /// Sends a file whose size is drawn from the law `size` of the flow's traffic. It starts when the law
    /// `gap` says, if there is one: the members of a group draw one after another.
    Drawn,
    /// Writes what the flow's traffic offers, each emission in one write of its length.
    Stream,
    /// Writes what the flow's traffic offers; the receiver sends each emission back.
    Echo,
    /// Requests pages, answered by objects. The flow's traffic has the sizes of the objects, and the think
    /// times as its gaps.
    Pages {
        /// Size of a request.
        request: Bytes,
        /// Objects of a page, at least one.
        objects: u32,
    },
    /// Holds the control dialogue of a file transfer by FTP.
    Control {
        /// Index in `flows` of the connection that carries the file.
        of: usize,
    },
}

/// Use of ECN, as both ends negotiate it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// None: packets are not capable of ECN.
    #[default]
    Off,
    /// One echo a round trip (RFC 3168).
    Classic,
    /// Every mark is echoed (RFC 9768, `AccECN`).
    Accurate,
}

impl Ecn {
    /// Names in scenario files.
    pub const NAMES: [(&str, Self); 3] =
        [("off", Self::Off), ("classic", Self::Classic), ("accecn", Self::Accurate)];

    /// True if packets are capable of ECN.
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }
}

/// Key `ecn` of a flow: a use of ECN, or only that it is on (`None`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnKey(Option<Ecn>);

impl EcnKey {
    /// Returns the use of ECN that a flow with this key and `congestion` has.
    pub(crate) fn of(key: Option<Self>, congestion: Congestion) -> Ecn {
        match key {
            Some(Self(Some(ecn))) => ecn,
            Some(Self(None)) if !congestion.wants_marks() => Ecn::Classic,
            Some(Self(None)) | None => congestion.own_ecn(),
        }
    }
}

impl<'de> Deserialize<'de> for EcnKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl de::Visitor<'_> for Either {
            type Value = EcnKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`\"off\"`, `\"classic\"`, `\"accecn\"`, `true` or `false`")
            }
            fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<EcnKey, E> {
                Ok(EcnKey((!is_on).then_some(Ecn::Off)))
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<EcnKey, E> {
                let known = Ecn::NAMES.into_iter().find(|(known, _)| *known == name);
                known.map(|(_, ecn)| EcnKey(Some(ecn))).ok_or_else(|| {
                    let names = Ecn::NAMES.map(|(name, _)| name);
                    let near = crate::nearest::nearest(name, names);
                    let near = near.map(|near| format!(", did you mean `{near}`")).unwrap_or_default();
                    E::custom(format!("`ecn` is one of `{}`{near}", names.join("`, `")))
                })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for EcnKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ecn".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, { "enum": Ecn::NAMES.map(|(name, _)| name) }] })
    }
}

/// A TCP flow's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpModel {
    /// Application on top.
    pub application: Application,
    /// Congestion control.
    pub congestion: Congestion,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Segments that may be sent before the first acknowledgement.
    pub initial_window: u32,
    /// Limit on the receive window, in bytes; it starts at 65535.
    pub receive_window: u32,
    /// Use of ECN by both ends.
    pub ecn: Ecn,
    /// True if the receiver sends selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Time that an acknowledgement waits for a second segment; zero: no delay.
    pub delayed_ack: Duration,
    /// Acknowledgements at the start that are sent without delay.
    pub quick_acks: u32,
    /// Minimum of the variance term of the retransmission timeout.
    pub minimum_rto: Duration,
    /// Shortest round trip by which Prague's window grows; zero: its own.
    pub virtual_rtt: Duration,
    /// True if segments are paced even if the congestion control does not require it.
    pub pacing: bool,
    /// Choice of the initial sequence number.
    pub initial_sequence: InitialSequence,
}

impl TcpModel {
    /// Returns the congestion control that runs: DCTCP without ECN, and Prague without accurate ECN, fall
    /// back to Reno, with such ECN as there is.
    pub const fn control(&self) -> Congestion {
        match (self.congestion, self.ecn) {
            (Congestion::Dctcp, Ecn::Off) | (Congestion::Prague, Ecn::Off | Ecn::Classic) => Congestion::Reno,
            (congestion, _) => congestion,
        }
    }
}

impl Default for TcpModel {
    fn default() -> Self {
        Self {
            application: Application::Unlimited,
            congestion: Congestion::Cubic,
            mss: 1448,
            initial_window: 10,
            receive_window: 3 << 20,
            ecn: Ecn::Off,
            sack: true,
            delayed_ack: Duration::from_millis(40),
            quick_acks: 16,
            minimum_rto: Duration::from_millis(200),
            virtual_rtt: Duration::from_millis(25),
            pacing: false,
            initial_sequence: InitialSequence::Random,
        }
    }
}
