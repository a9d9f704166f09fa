//! Parser of filters.

mod action;
mod basic;

use core::net::Ipv4Addr;

pub(crate) use action::police;

use super::{Device, device_name, set};
use crate::handle::{Handle, hexadecimal};
use crate::number::integer;
use crate::position::Located;
use crate::problem::Problem;
use crate::syntax::{
    Classifier, End, Filter, FilterAction, Hash, Key, Masked, Offset, Prefix, Protocol, Selector,
};
use crate::words::{CommandWords, Cursor};

/// Words of a filter before its kind.
#[derive(Default)]
struct Head {
    parent: Option<Located<Handle>>,
    preference: Option<u32>,
    protocol: Option<Protocol>,
    handle: Option<Located<String>>,
}

impl Head {
    /// Reads a word before the kind, and its value; false if it is the kind.
    fn word(
        &mut self,
        cursor: &mut Cursor<'_, '_>,
        word: Located<&str>,
        device: &mut Device,
    ) -> Result<bool, Problem> {
        match word.value {
            "dev" => set(device, word, device_name(cursor)?)?,
            "parent" => set(&mut self.parent, word, hook(cursor.handle("parent")?))?,
            "root" => set(&mut self.parent, word, Located::new(Handle { major: 0, minor: 0 }, word.at))?,
            "ingress" => set(&mut self.parent, word, Located::new(Handle::INGRESS, word.at))?,
            "egress" => set(&mut self.parent, word, Located::new(Handle::EGRESS, word.at))?,
            "prio" | "pref" | "preference" | "priority" => {
                set(&mut self.preference, word, whole(cursor, word)?.value)?;
            }
            "protocol" => set(&mut self.protocol, word, protocol_of(cursor)?)?,
            "est" | "estimator" => super::estimator(cursor)?,
            "chain" => {
                let chain = whole(cursor, word)?;
                if *chain != 0 {
                    let message = "filters of a `chain` other than 0 are not understood";
                    return Err(Problem::new(chain.at, message));
                }
            }
            "handle" => {
                let text = cursor.value("handle")?;
                set(&mut self.handle, word, Located::new(text.value.to_owned(), text.at))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Returns the classifier of a kind, whose conditions follow.
fn classifier_of(kind: Located<&str>, cursor: &mut Cursor<'_, '_>) -> Result<Classifier, Problem> {
    Ok(match kind.value {
        "u32" => Classifier::U32(Vec::new()),
        "flower" => Classifier::Flower(Vec::new()),
        "basic" => basic::conditions(cursor)?,
        "fw" => Classifier::Fw,
        "matchall" => Classifier::Matchall,
        other => {
            let problem = Problem::new(kind.at, format!("filters of kind `{other}` are not understood"));
            let help = match other {
                "bpf" => "a program decides: write its conditions as `match` of the queues",
                _ => "there are `u32`, `flower`, `fw`, `matchall` and `basic`",
            };
            return Err(problem.help(help));
        }
    })
}

/// Reads the words after the action: `dev sl0 parent 1: protocol ip prio 1 u32 match ... flowid 1:10`.
pub(super) fn filter(cursor: &mut Cursor<'_, '_>, device: &mut Device) -> Result<Filter, Problem> {
    let mut head = Head::default();
    let kind = loop {
        let word = cursor.next_of_command();
        let word = word.ok_or_else(|| Problem::new(cursor.at, "a filter has a kind"))?;
        if !head.word(cursor, word, device)? {
            break word;
        }
    };
    let Head { parent, preference, protocol, handle } = head;
    // Without a parent, the filter stands in the discipline at the root.
    let parent = parent.unwrap_or(Located::new(Handle { major: 0, minor: 0 }, kind.at));
    let mut read = Read {
        parent: *parent,
        kind,
        classifier: classifier_of(kind, cursor)?,
        class: None,
        actions: Vec::new(),
        hash: None,
        handle,
        skips: false,
    };
    while let Some(word) = cursor.next_of_command() {
        read.word(cursor, word)?;
    }
    let Read { classifier, class, actions, hash, handle, skips, .. } = read;
    let is_table = hash.as_ref().is_some_and(|hash| hash.divisor.is_some() || hash.link.is_some());
    let is_empty_table =
        matches!(&classifier, Classifier::U32(selectors) if selectors.is_empty()) && kind.value == "u32";
    if class.is_none() && actions.is_empty() && !is_table && !is_empty_table {
        return Err(Problem::new(kind.at, "a filter names its class by `flowid`, or has an action"));
    }
    Ok(Filter {
        parent,
        protocol,
        preference,
        handle,
        classifier: Located::new(classifier, kind.at),
        hash,
        skips_hardware: skips,
        class,
        actions,
        words: CommandWords::default(),
    })
}

/// Normalises the parents that stand for hooks.
fn hook(parent: Located<Handle>) -> Located<Handle> {
    match *parent {
        Handle { major: 0xffff, minor: 0xfff3 } => Located::new(Handle::EGRESS, parent.at),
        Handle { major: 0xffff, .. } => Located::new(Handle::INGRESS, parent.at),
        _ => parent,
    }
}

/// A filter while its words are read.
struct Read<'a> {
    parent: Handle,
    kind: Located<&'a str>,
    classifier: Classifier,
    class: Option<Located<Handle>>,
    actions: Vec<Located<FilterAction>>,
    hash: Option<Located<Hash>>,
    handle: Option<Located<String>>,
    skips: bool,
}

impl Read<'_> {
    fn word(&mut self, cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Problem> {
        let is_u32 = matches!(self.classifier, Classifier::U32(_)) && self.kind.value == "u32";
        match word.value {
            "flowid" | "classid" => set(&mut self.class, word, class_of(cursor, word, self.parent)?)?,
            "skip_hw" | "not_in_hw" | "in_hw" | "verbose" => self.skips |= word.value == "skip_hw",
            "skip_sw" => {
                let problem =
                    Problem::new(word.at, "`skip_sw` is not understood: such a filter is in hardware only");
                return Err(problem.help("leave it out, so that the filter is in software too"));
            }
            "action" | "police" => {
                if word.value == "police" {
                    self.actions
                        .push(Located::new(FilterAction::Police(action::police(cursor, word)?), word.at));
                } else {
                    action::actions(cursor, word, &mut self.actions)?;
                }
            }
            "match" if is_u32 => {
                let selector = Located::new(selector(cursor)?, word.at);
                if let Classifier::U32(selectors) = &mut self.classifier {
                    selectors.push(selector);
                }
            }
            "divisor" | "ht" | "link" | "hashkey" | "order" | "sample" if is_u32 => {
                let hash = self.hash.get_or_insert(Located::new(Hash::default(), word.at));
                hash_word(cursor, word, &mut hash.value)?;
            }
            "handle" if self.handle.is_none() => {
                let text = cursor.value("handle")?;
                self.handle = Some(Located::new(text.value.to_owned(), text.at));
            }
            _ => {
                let Classifier::Flower(keys) = &mut self.classifier else {
                    let message =
                        format!("`{}` of a filter of kind `{}` is not understood", *word, *self.kind);
                    return Err(Problem::new(word.at, message));
                };
                keys.push(Located::new(key(cursor, word)?, word.at));
            }
        }
        Ok(())
    }
}

/// Reads a word of hash tables and its value.
fn hash_word(cursor: &mut Cursor<'_, '_>, word: Located<&str>, hash: &mut Hash) -> Result<(), Problem> {
    let wrong =
        |text: Located<&str>| Problem::new(text.at, format!("`{} {}` is not understood", *word, *text));
    match word.value {
        "divisor" => {
            let number = whole(cursor, word)?;
            if !number.is_power_of_two() || *number > 0x100 {
                let message = format!("`divisor {}` is not a power of two up to 256", *number);
                return Err(Problem::new(number.at, message));
            }
            hash.divisor = Some(*number);
        }
        "ht" => {
            let text = cursor.value("ht")?;
            let mut parts =
                text.split(':').map(|part| if part.is_empty() { Some(0) } else { hexadecimal(part) });
            let table = parts.next().flatten().ok_or_else(|| wrong(text))?;
            let bucket = parts.next().unwrap_or(Some(0)).ok_or_else(|| wrong(text))?;
            hash.table = Some((table, bucket));
        }
        "link" => {
            let text = cursor.value("link")?;
            let table = text.split(':').next().and_then(hexadecimal);
            hash.link = Some(table.ok_or_else(|| wrong(text))?);
        }
        "hashkey" => {
            cursor.skip("mask");
            let mask = cursor.value("hashkey mask")?;
            let digits = mask.strip_prefix("0x").unwrap_or(mask.value);
            let bits = u32::from_str_radix(digits, 16).map_err(|_| wrong(mask))?;
            if !cursor.skip("at") {
                return Err(Problem::new(word.at, "`hashkey mask` says no place by `at`"));
            }
            hash.key = Some((bits, offset(cursor.value("at")?)?));
        }
        "order" => {
            whole(cursor, word)?;
        }
        _ => {
            return Err(Problem::new(
                word.at,
                format!("`{}` is not understood: give the bucket by `ht`", *word),
            ));
        }
    }
    Ok(())
}

fn protocol_of(cursor: &mut Cursor<'_, '_>) -> Result<Protocol, Problem> {
    let name = cursor.value("protocol")?;
    Ok(match name.value {
        "ip" | "ipv4" | "0x800" | "0x0800" => Protocol::Ip,
        "ipv6" | "0x86dd" | "0x86DD" => Protocol::Ipv6,
        "arp" | "0x806" | "0x0806" => Protocol::Arp,
        "all" | "0x3" | "0x0003" => Protocol::All,
        "802.1q" | "802.1Q" => Protocol::Other(0x8100),
        "802.1ad" => Protocol::Other(0x88a8),
        "802_3" => Protocol::Other(1),
        "802_2" => Protocol::Other(4),
        "mpls_uc" => Protocol::Other(0x8847),
        "ppp_ses" => Protocol::Other(0x8864),
        "ppp_disc" => Protocol::Other(0x8863),
        other => {
            let number = integer(other).and_then(|number| u16::try_from(number).ok());
            let message = format!("`protocol {other}` is not known");
            Protocol::Other(number.ok_or_else(|| Problem::new(name.at, message))?)
        }
    })
}

/// Reads a class; `:10` is a class of the filter's own discipline.
fn class_of(
    cursor: &mut Cursor<'_, '_>,
    word: Located<&str>,
    parent: Handle,
) -> Result<Located<Handle>, Problem> {
    if !cursor.peek().is_some_and(|text| text.starts_with(':')) {
        return cursor.handle(word.value);
    }
    let text = cursor.value(word.value)?;
    let class = format!("{:x}{}", parent.major.max(1), *text).parse::<Handle>();
    let class =
        class.map_err(|_| Problem::new(text.at, format!("`{}` is not a class such as `:10`", *text)))?;
    let major = parent.major;
    Ok(Located::new(Handle { major, ..class }, text.at))
}

fn whole(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<Located<u32>, Problem> {
    let text = cursor.value(word.value)?;
    number(text.value, text).map(|value| Located::new(value, text.at))
}

/// Parses a number that is a part of a word.
fn number(text: &str, word: Located<&str>) -> Result<u32, Problem> {
    integer(text).ok_or_else(|| Problem::new(word.at, format!("`{text}` is not a whole number")))
}

/// Reads `VALUE MASK`, of at most `size` bytes.
fn masked(cursor: &mut Cursor<'_, '_>, word: Located<&str>, size: usize) -> Result<Masked, Problem> {
    let (value, mask) = (whole(cursor, word)?, whole(cursor, word)?);
    fitting(Located::new(Masked { value: value.value, mask: mask.value }, value.at), 8 * size)
}

/// Checks that a value and its mask have at most this many bits.
fn fitting(masked: Located<Masked>, bits: usize) -> Result<Masked, Problem> {
    let Masked { value, mask } = masked.value;
    if u64::from(value | mask) >> bits == 0 {
        return Ok(masked.value);
    }
    Err(Problem::new(masked.at, format!("`{value} {mask:#x}` has more than {bits} bits")))
}

/// Reads the words after `match`.
fn selector(cursor: &mut Cursor<'_, '_>) -> Result<Selector, Problem> {
    let first = cursor.value("match")?;
    match first.value {
        "ip6" => Err(Problem::new(first.at, "`match ip6` is not understood: packets of a scenario are IPv4")),
        "ip" => {
            let field = cursor.value("match ip")?;
            match field.value {
                "src" => Ok(Selector::Address(End::Source, prefix(cursor.value("src")?)?)),
                "dst" => Ok(Selector::Address(End::Destination, prefix(cursor.value("dst")?)?)),
                "protocol" => masked(cursor, field, 1).map(Selector::Protocol),
                "ihl" => masked(cursor, field, 1).map(|bits| Selector::Bits {
                    size: 1,
                    bits,
                    at: Some(Offset::Ip(0)),
                }),
                "dsfield" | "tos" | "precedence" => masked(cursor, field, 1).map(Selector::Dsfield),
                "sport" => masked(cursor, field, 2).map(|bits| Selector::Port(End::Source, bits)),
                "dport" => masked(cursor, field, 2).map(|bits| Selector::Port(End::Destination, bits)),
                other => Err(Problem::new(field.at, format!("`match ip {other}` is not understood"))),
            }
        }
        "mark" => masked(cursor, first, 4).map(Selector::Mark),
        "icmp" if cursor.peek() == Some("type") => {
            let field = cursor.value("icmp")?;
            let bits = masked(cursor, field, 1)?;
            Ok(Selector::Bits { size: 1, bits, at: Some(Offset::NextHeader(0)) })
        }
        "tcp" | "udp" => {
            let field = cursor.value(first.value)?;
            let end = match field.value {
                "src" => End::Source,
                "dst" => End::Destination,
                other => {
                    let message = format!("`match {} {other}` is not understood", *first);
                    return Err(Problem::new(field.at, message));
                }
            };
            masked(cursor, field, 2).map(|bits| Selector::Port(end, bits))
        }
        "u8" => bits(cursor, first, 1),
        "u16" => bits(cursor, first, 2),
        "u32" => bits(cursor, first, 4),
        other => Err(Problem::new(first.at, format!("`match {other}` is not understood"))),
    }
}

/// Reads `VALUE MASK at OFFSET`.
fn bits(cursor: &mut Cursor<'_, '_>, word: Located<&str>, size: usize) -> Result<Selector, Problem> {
    let bits = masked(cursor, word, size)?;
    let at = if cursor.skip("at") {
        Some(offset(cursor.value("at")?)?)
    } else if bits.mask == 0 {
        None
    } else {
        return Err(Problem::new(word.at, format!("`match {}` says no place by `at`", *word)));
    };
    Ok(Selector::Bits { size, bits, at })
}

/// Parses `VALUE` or `VALUE/MASK` of 32 bits.
pub(crate) fn masked_of(text: &str) -> Option<Masked> {
    let (value, mask) = text.split_once('/').unwrap_or((text, "0xffffffff"));
    Some(Masked { value: integer(value)?, mask: integer(mask)? })
}

/// Parses `16` or `nexthdr+2`.
fn offset(text: Located<&str>) -> Result<Offset, Problem> {
    let (is_next, digits) = match text.strip_prefix("nexthdr+") {
        Some(digits) => (true, digits),
        None => (false, text.value),
    };
    let offset = integer(digits);
    let offset = offset.ok_or_else(|| Problem::new(text.at, format!("`at {}` is not understood", *text)))?;
    Ok(if is_next { Offset::NextHeader(offset) } else { Offset::Ip(offset) })
}

/// Parses an address or a prefix: `10.1.0.0/16`, `10.1.0.0/255.255.0.0`.
fn prefix(text: Located<&str>) -> Result<Prefix, Problem> {
    let read = || {
        // An old word for every address.
        let value = if ["any", "all", "default"].contains(&text.value) { "0.0.0.0/0" } else { text.value };
        let (address, length) = value.split_once('/').unwrap_or((value, "32"));
        let by_length = || {
            let bits = length.parse::<u32>().ok().filter(|bits| *bits <= 32)?;
            Some(Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - bits).unwrap_or(0)))
        };
        let mask = length.parse().ok().or_else(by_length)?;
        Some(Prefix { address: address.parse().ok()?, mask })
    };
    read().ok_or_else(|| Problem::new(text.at, format!("`{}` is not an address or a prefix", *text)))
}

/// Reads the value of a key of `flower`.
fn key(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<Key, Problem> {
    const KEYS: [&str; 8] =
        ["eth_type", "ip_proto", "src_ip", "dst_ip", "src_port", "dst_port", "ip_tos", "tcp_flags"];
    if ["vlan", "cvlan", "num_of"].iter().any(|tag| word.value.starts_with(tag)) {
        let message = format!(
            "`{}` of `flower` has no place in a scenario: its packets have no tags; give the flows a `dscp`, and match that",
            *word
        );
        return Err(Problem::new(word.at, message));
    }
    if !KEYS.contains(&word.value) {
        return Err(Problem::new(word.at, format!("`{}` of `flower` is not understood", *word)));
    }
    let text = cursor.value(word.value)?;
    let wrong = || {
        let message = format!("`{} {}` of `flower` is not understood", *word, *text);
        Problem::new(text.at, message)
    };
    let masked = |bits: u32| {
        let (value, mask) =
            text.split_once('/').map_or((text.value, None), |(value, mask)| (value, Some(mask)));
        let mask = mask.map_or(Ok((1 << bits) - 1), |mask| number(mask, text))?;
        fitting(Located::new(Masked { value: number(value, text)?, mask }, text.at), bits as usize)
    };
    let end = if word.starts_with("src") { End::Source } else { End::Destination };
    match word.value {
        "eth_type" if ["ip", "ipv4", "0x800", "0x0800"].contains(&text.value) => Ok(Key::Ip),
        "ip_proto" => {
            let protocol = match text.value {
                "tcp" => 6,
                "udp" => 17,
                "icmp" => 1,
                "icmpv6" => 58,
                "sctp" => 132,
                other => number(other, text)?,
            };
            u8::try_from(protocol).map(Key::Protocol).map_err(|_| wrong())
        }
        "src_ip" | "dst_ip" => prefix(text).map(|prefix| Key::Address(end, prefix)),
        "src_port" | "dst_port" => match text.split_once('-') {
            Some((low, high)) => {
                let ports = (u16::try_from(number(low, text)?), u16::try_from(number(high, text)?));
                let (Ok(low), Ok(high)) = ports else { return Err(wrong()) };
                Ok(Key::Ports(end, low, high))
            }
            None => masked(16).map(|bits| Key::Port(end, bits)),
        },
        "ip_tos" => masked(8).map(Key::Tos),
        "tcp_flags" => masked(12).map(Key::TcpFlags),
        _ => Err(wrong()),
    }
}
