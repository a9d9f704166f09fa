//! Syntax tree of `tc` commands.

use core::net::Ipv4Addr;

use lockgate_engine::units::{Bytes, Rate};

use crate::handle::Handle;
use crate::language::Kind;
use crate::position::{Located, Position};
use crate::value::Value;
use crate::words::CommandWords;

/// Commands, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commands(pub Vec<Command>);

/// A command: `tc OBJECT ACTION dev DEVICE ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Action.
    pub action: Located<Action>,
    /// Device.
    pub device: Located<String>,
    /// Object that it adds or changes.
    pub object: Object,
}

/// Action of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Creates the object.
    Add,
    /// Creates the object, instead of the one in its place if there is one.
    Replace,
    /// Changes the settings of the object.
    Change,
}

/// Object of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// Queueing discipline.
    Qdisc(Qdisc),
    /// Class of a discipline.
    Class(Class),
    /// Filter of a discipline.
    Filter(Filter),
}

/// A queueing discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct Qdisc {
    /// Parent: a class, or a discipline without classes; `None` at the root.
    pub parent: Option<Located<Handle>>,
    /// Handle, if the command gives one.
    pub handle: Option<Located<Handle>>,
    /// Table of sizes, by which the bytes of a packet are counted; `None`: its own.
    pub stab: Option<Located<Stab>>,
    /// Kind.
    pub kind: Located<Kind>,
    /// Settings, in the order of the command.
    pub settings: Vec<Setting>,
    /// Words of the command, for which the import accounts.
    pub words: CommandWords,
}

/// Table of sizes, `stab`: packets count as on the line behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stab {
    /// Bytes that every packet has besides its own.
    pub overhead: i32,
    /// Smallest size.
    pub mpu: u32,
    /// Framing of the line.
    pub link_layer: LinkLayer,
}

/// Framing of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkLayer {
    /// None.
    #[default]
    Ethernet,
    /// 53 bytes for every 48 begun.
    Atm,
}

/// A class of a discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Parent: a class, or the discipline.
    pub parent: Located<Handle>,
    /// Handle.
    pub id: Located<Handle>,
    /// Kind of its discipline.
    pub kind: Located<Kind>,
    /// Settings, in the order of the command.
    pub settings: Vec<Setting>,
    /// Words of the command, for which the import accounts.
    pub words: CommandWords,
}

/// A setting of a discipline or a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Name; a synonym is read as the name.
    pub name: Located<&'static str>,
    /// Value.
    pub value: Value,
}

/// A filter: packets for which its classifier holds belong to its class, or are treated by its actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Discipline or class to which it is attached; [`Handle::INGRESS`] and [`Handle::EGRESS`] for the hooks
    /// of a device.
    pub parent: Located<Handle>,
    /// Protocol of the packets; `None` for the default, all.
    pub protocol: Option<Protocol>,
    /// Preference, from 1; filters with lower ones are tried first.
    pub preference: Option<u32>,
    /// Handle. For `fw` it is the mark that the packets have; otherwise it only names the filter.
    pub handle: Option<Located<String>>,
    /// Conditions.
    pub classifier: Located<Classifier>,
    /// Place in the hash tables of `u32`; `None` for a filter without one.
    pub hash: Option<Located<Hash>>,
    /// True for `skip_hw`: the filter runs in software only.
    pub skips_hardware: bool,
    /// Class of the packets; `None` if the filter only has actions or belongs to a hash table.
    pub class: Option<Located<Handle>>,
    /// Actions, in their order.
    pub actions: Vec<Located<FilterAction>>,
    /// Words of the command, for which the import accounts.
    pub words: CommandWords,
}

/// Part of a filter in the hash tables of `u32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hash {
    /// Number of buckets of the table that it creates; its handle names the table.
    pub divisor: Option<u32>,
    /// Table and bucket to which it belongs; 0x800 is the root of a preference.
    pub table: Option<(u16, u16)>,
    /// Table in which the search goes on.
    pub link: Option<u16>,
    /// Bits of the packet that select the bucket: mask and offset in bytes.
    pub key: Option<(u32, Offset)>,
}

/// Treatment of the packets of a filter.
#[derive(Clone, Debug, PartialEq)]
pub enum FilterAction {
    /// `mirred egress redirect dev DEVICE`.
    Redirect(String),
    /// `mirred egress mirror dev DEVICE`.
    Mirror(String),
    /// `police`: a meter.
    Police(Police),
    /// `skbedit priority HANDLE`.
    Priority(Handle),
    /// `skbedit mark MARK`.
    Mark(Masked),
    /// `connmark`, or `ctinfo`: the mark or code point of the connection.
    FromConnection(&'static str),
    /// `drop`.
    Drop,
    /// `pass`, `ok` or `continue`.
    Pass,
}

/// A meter of one rate, `police`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Police {
    /// Rate.
    pub rate: Rate,
    /// Bytes that conform at once.
    pub burst: Bytes,
    /// Largest packet that conforms; 0 for no limit.
    pub mtu: Bytes,
    /// Second rate, with `mtu` as its burst.
    pub peak_rate: Option<Rate>,
    /// Treatment of packets beyond the rate.
    pub exceed: Exceed,
    /// Number by which several filters share the meter.
    pub index: Option<u32>,
}

impl Police {
    /// True if only the number of a meter is given, which another line defines.
    pub fn is_reference(&self) -> bool {
        self.rate == Rate::default() && self.index.is_some()
    }

    /// Returns what the policer that the meter becomes does otherwise than the kernel.
    pub(crate) fn differences(&self, line: u32) -> Vec<String> {
        let mut all = Vec::new();
        if self.peak_rate.is_some() {
            all.push(format!(
                "what `police` of line {line} drops: a packet within `peakrate` and beyond `rate` takes from the bucket of the peak rate here (RFC 2698); in Linux what exceeds takes from neither"
            ));
        }
        if self.exceed == Exceed::Continue {
            all.push(format!(
                "`continue` of `police` of line {line}: Linux tries the next filters for packets beyond the rate; here they stay in their class"
            ));
        }
        all
    }
}

/// Treatment of packets beyond the rate of a meter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exceed {
    /// They are dropped.
    #[default]
    Drop,
    /// They go to the class of the filter all the same.
    Pass,
    /// They go on to the next filter.
    Continue,
}

impl Exceed {
    /// Returns the verdict of a policer.
    pub(crate) fn verdict(self) -> &'static str {
        if self == Self::Drop { "drop" } else { "pass" }
    }
}

/// Protocol that a filter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// IPv4.
    Ip,
    /// IPv6.
    Ipv6,
    /// ARP.
    Arp,
    /// All.
    All,
    /// Another, by its number.
    Other(u16),
}

/// Conditions of a filter, all of which must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Classifier {
    /// Bits of the headers.
    U32(Vec<Located<Selector>>),
    /// Fields of the headers.
    Flower(Vec<Located<Key>>),
    /// Firewall mark, which is the filter's handle.
    Fw,
    /// None: all packets.
    Matchall,
}

/// A value, compared where the mask has ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masked {
    /// Value.
    pub value: u32,
    /// Mask.
    pub mask: u32,
}

/// An IPv4 address, compared where the mask has ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Address.
    pub address: Ipv4Addr,
    /// Mask.
    pub mask: Ipv4Addr,
}

/// Sender or receiver of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Sender.
    Source,
    /// Receiver.
    Destination,
}

/// A condition of `u32`, after the word `match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    /// `ip src PREFIX`, `ip dst PREFIX`.
    Address(End, Prefix),
    /// `ip protocol VALUE MASK`.
    Protocol(Masked),
    /// `ip dsfield VALUE MASK`; its synonyms are `tos` and `precedence`.
    Dsfield(Masked),
    /// `ip sport VALUE MASK`, `ip dport VALUE MASK`; `tcp` and `udp` with `src` and `dst` are synonyms.
    Port(End, Masked),
    /// `mark VALUE MASK`.
    Mark(Masked),
    /// `u8 VALUE MASK at OFFSET` and likewise `u16` and `u32`.
    Bits {
        /// Bytes compared: 1, 2 or 4.
        size: usize,
        /// Value and mask.
        bits: Masked,
        /// Offset in bytes; `None` only with a mask of 0.
        at: Option<Offset>,
    },
}

/// Offset of a condition on bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// From the start of the IP header.
    Ip(u32),
    /// From the start of the header after it, `nexthdr+N`.
    NextHeader(u32),
}

/// A condition of `flower`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// `eth_type ip`.
    Ip,
    /// `ip_proto PROTOCOL`.
    Protocol(u8),
    /// `src_ip PREFIX`, `dst_ip PREFIX`.
    Address(End, Prefix),
    /// `src_port PORT/MASK`, `dst_port PORT/MASK`.
    Port(End, Masked),
    /// `src_port LOW-HIGH`, `dst_port LOW-HIGH`.
    Ports(End, u16, u16),
    /// `ip_tos VALUE/MASK`.
    Tos(Masked),
    /// `tcp_flags VALUE/MASK`.
    TcpFlags(Masked),
}

impl Object {
    /// Returns the words of its command.
    pub fn words(&self) -> &CommandWords {
        match self {
            Self::Qdisc(Qdisc { words, .. })
            | Self::Class(Class { words, .. })
            | Self::Filter(Filter { words, .. }) => words,
        }
    }

    /// Returns the words of its command, to be changed.
    pub(crate) fn words_mut(&mut self) -> &mut CommandWords {
        match self {
            Self::Qdisc(Qdisc { words, .. })
            | Self::Class(Class { words, .. })
            | Self::Filter(Filter { words, .. }) => words,
        }
    }
}

impl Command {
    /// Returns the position of the command.
    pub fn at(&self) -> Position {
        self.action.at
    }
}

impl Commands {
    /// Returns the disciplines, in the order of the text.
    pub fn qdiscs(&self) -> impl Iterator<Item = &Qdisc> {
        self.0.iter().filter_map(|command| match &command.object {
            Object::Qdisc(qdisc) => Some(qdisc),
            _ => None,
        })
    }

    /// Returns the classes, in the order of the text.
    pub fn classes(&self) -> impl Iterator<Item = &Class> {
        self.0.iter().filter_map(|command| match &command.object {
            Object::Class(class) => Some(class),
            _ => None,
        })
    }

    /// Returns the filters, in the order of the text.
    pub fn filters(&self) -> impl Iterator<Item = &Filter> {
        self.0.iter().filter_map(|command| match &command.object {
            Object::Filter(filter) => Some(filter),
            _ => None,
        })
    }
}
