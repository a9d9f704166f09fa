//! Printer: syntax tree to canonical `tc` commands, one a line.

use core::fmt;
use core::net::Ipv4Addr;

use crate::syntax::{
    Action, Class, Classifier, Command, Commands, End, Filter, Key, Masked, Object, Offset, Prefix, Protocol,
    Qdisc, Selector, Setting,
};
use crate::value::Value;

impl fmt::Display for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|command| writeln!(f, "{command}"))
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = match self.object {
            Object::Qdisc(_) => "qdisc",
            Object::Class(_) => "class",
            Object::Filter(_) => "filter",
        };
        write!(f, "tc {object} {} dev {} {}", *self.action, *self.device, self.object)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Change => "change",
        })
    }
}

/// Writes the words after the device.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Qdisc(qdisc) => qdisc.fmt(f),
            Self::Class(class) => class.fmt(f),
            Self::Filter(filter) => filter.fmt(f),
        }
    }
}

impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.parent {
            Some(parent) => write!(f, "parent {} ", **parent)?,
            None => f.write_str("root ")?,
        }
        if let Some(handle) = &self.handle {
            write!(f, "handle {} ", **handle)?;
        }
        write!(f, "{}", *self.kind)?;
        self.settings.iter().try_for_each(|setting| write!(f, " {setting}"))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parent {} classid {} {}", *self.parent, *self.id, *self.kind)?;
        self.settings.iter().try_for_each(|setting| write!(f, " {setting}"))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = *self.name;
        match &self.value {
            Value::Flag | Value::Switch(true) => f.write_str(name),
            Value::Switch(false) => write!(f, "no{}{name}", if name.contains('_') { "_" } else { "" }),
            value => write!(f, "{name} {value}"),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parent {} ", *self.parent)?;
        match self.protocol {
            Some(Protocol::Ip) => f.write_str("protocol ip ")?,
            Some(Protocol::All) => f.write_str("protocol all ")?,
            None => {}
        }
        if let Some(preference) = self.preference {
            write!(f, "prio {preference} ")?;
        }
        if let Some(handle) = &self.handle {
            write!(f, "handle {} ", **handle)?;
        }
        match &self.classifier.value {
            Classifier::U32(selectors) => {
                f.write_str("u32 ")?;
                selectors.iter().try_for_each(|selector| write!(f, "match {} ", **selector))?;
            }
            Classifier::Flower(keys) => {
                f.write_str("flower ")?;
                keys.iter().try_for_each(|key| write!(f, "{} ", **key))?;
            }
            Classifier::Fw => f.write_str("fw ")?,
            Classifier::Matchall => f.write_str("matchall ")?,
        }
        if self.skips_hardware {
            f.write_str("skip_hw ")?;
        }
        write!(f, "flowid {}", *self.class)
    }
}

impl End {
    fn short(self) -> &'static str {
        match self {
            Self::Source => "src",
            Self::Destination => "dst",
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mask = self.mask.to_bits();
        let length = mask.leading_ones();
        if mask.count_ones() == length {
            write!(f, "{}/{length}", self.address)
        } else {
            write!(f, "{}/{}", self.address, Ipv4Addr::from_bits(mask))
        }
    }
}

/// Writes the words after `match`.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(end, prefix) => write!(f, "ip {} {prefix}", end.short()),
            Self::Protocol(Masked { value, mask }) => write!(f, "ip protocol {value} {mask:#x}"),
            Self::Dsfield(Masked { value, mask }) => write!(f, "ip dsfield {value:#x} {mask:#x}"),
            Self::Port(end, Masked { value, mask }) => {
                write!(f, "ip {} {value} {mask:#x}", if *end == End::Source { "sport" } else { "dport" })
            }
            Self::Bits { size, bits: Masked { value, mask }, at } => {
                write!(f, "u{} {value:#x} {mask:#x}", 8 * size)?;
                match at {
                    None => Ok(()),
                    Some(Offset::Ip(at)) => write!(f, " at {at}"),
                    Some(Offset::NextHeader(at)) => write!(f, " at nexthdr+{at}"),
                }
            }
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip => f.write_str("eth_type ip"),
            Self::Protocol(6) => f.write_str("ip_proto tcp"),
            Self::Protocol(17) => f.write_str("ip_proto udp"),
            Self::Protocol(number) => write!(f, "ip_proto {number}"),
            Self::Address(end, prefix) => write!(f, "{}_ip {prefix}", end.short()),
            Self::Port(end, Masked { value, mask: 0xffff }) => write!(f, "{}_port {value}", end.short()),
            Self::Port(end, Masked { value, mask }) => write!(f, "{}_port {value}/{mask:#x}", end.short()),
            Self::Ports(end, low, high) => write!(f, "{}_port {low}-{high}", end.short()),
            Self::Tos(Masked { value, mask }) => write!(f, "ip_tos {value:#x}/{mask:#x}"),
            Self::TcpFlags(Masked { value, mask }) => write!(f, "tcp_flags {value:#x}/{mask:#x}"),
        }
    }
}
