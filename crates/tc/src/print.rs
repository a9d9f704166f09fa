//! Printer: syntax tree to canonical `tc` commands, one a line.

use core::fmt;
use core::net::Ipv4Addr;

use crate::handle::Handle;
use crate::language::negation;
use crate::number;
use crate::syntax::{
    Action, Class, Classifier, Command, Commands, End, Exceed, Filter, FilterAction, Hash, Key, LinkLayer,
    Masked, Object, Offset, Police, Prefix, Protocol, Qdisc, Selector, Setting, Stab,
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
            None if self.kind.is_hook() => {}
            None => f.write_str("root ")?,
        }
        if let Some(handle) = &self.handle {
            write!(f, "handle {} ", **handle)?;
        }
        if let Some(stab) = &self.stab {
            write!(f, "{} ", **stab)?;
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
            Value::Switch(false) => f.write_str(&negation(name)),
            value => write!(f, "{name} {value}"),
        }
    }
}

impl fmt::Display for Stab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layer = match self.link_layer {
            LinkLayer::Ethernet => "ethernet",
            LinkLayer::Atm => "atm",
        };
        write!(f, "stab mpu {} overhead {} linklayer {layer}", self.mpu, self.overhead)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip => f.write_str("ip"),
            Self::Ipv6 => f.write_str("ipv6"),
            Self::Arp => f.write_str("arp"),
            Self::All => f.write_str("all"),
            Self::Other(number) => write!(f, "{number:#06x}"),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.parent {
            Handle::INGRESS => f.write_str("ingress ")?,
            Handle::EGRESS => f.write_str("egress ")?,
            Handle { major: 0, .. } => f.write_str("root ")?,
            parent => write!(f, "parent {parent} ")?,
        }
        if let Some(protocol) = self.protocol {
            write!(f, "protocol {protocol} ")?;
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
                if let Some(hash) = &self.hash {
                    hash.fmt_place(f)?;
                }
                selectors.iter().try_for_each(|selector| write!(f, "match {} ", **selector))?;
                if let Some(hash) = &self.hash {
                    hash.fmt_link(f)?;
                }
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
        if let Some(class) = &self.class {
            match **class {
                Handle { major: 0, minor } => write!(f, "flowid :{minor:x}")?,
                class => write!(f, "flowid {class}")?,
            }
        }
        for (index, action) in self.actions.iter().enumerate() {
            let gap = if index > 0 || self.class.is_some() { " " } else { "" };
            write!(f, "{gap}action {}", **action)?;
        }
        Ok(())
    }
}

impl Hash {
    /// Writes its table, or the one that it creates.
    fn fmt_place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(divisor) = self.divisor {
            write!(f, "divisor {divisor} ")?;
        }
        match self.table {
            Some((table, bucket)) => write!(f, "ht {table:x}:{bucket:x}: "),
            None => Ok(()),
        }
    }

    /// Writes where the search goes on.
    fn fmt_link(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key {
            Some((mask, Offset::Ip(at))) => write!(f, "hashkey mask {mask:#010x} at {at} ")?,
            Some((mask, Offset::NextHeader(at))) => write!(f, "hashkey mask {mask:#010x} at nexthdr+{at} ")?,
            None => {}
        }
        match self.link {
            Some(link) => write!(f, "link {link:x}: "),
            None => Ok(()),
        }
    }
}

impl fmt::Display for FilterAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redirect(device) => write!(f, "mirred egress redirect dev {device}"),
            Self::Mirror(device) => write!(f, "mirred egress mirror dev {device}"),
            Self::Police(police) => police.fmt(f),
            Self::Priority(handle) => write!(f, "skbedit priority {handle}"),
            Self::Mark(Masked { value, mask }) => write!(f, "skbedit mark {value:#x}/{mask:#x}"),
            Self::FromConnection(name) => f.write_str(name),
            Self::Drop => f.write_str("drop"),
            Self::Pass => f.write_str("pass"),
        }
    }
}

impl fmt::Display for Police {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (true, Some(index)) = (self.is_reference(), self.index) {
            return write!(f, "police index {index}");
        }
        write!(f, "police rate {} burst {}", number::rate_text(self.rate), self.burst.0)?;
        if let Some(rate) = self.peak_rate {
            write!(f, " peakrate {}", number::rate_text(rate))?;
        }
        if self.mtu.0 > 0 {
            write!(f, " mtu {}", self.mtu.0)?;
        }
        let exceed = match self.exceed {
            Exceed::Drop => "drop",
            Exceed::Pass => "ok",
            Exceed::Continue => "continue",
        };
        write!(f, " conform-exceed {exceed}")?;
        self.index.map_or(Ok(()), |index| write!(f, " index {index}"))
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
            Self::Mark(Masked { value, mask }) => write!(f, "mark {value:#x} {mask:#x}"),
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
