//! Parser of filters.

use core::net::Ipv4Addr;

use super::{Device, device_name, set};
use crate::handle::Handle;
use crate::number::integer;
use crate::position::Located;
use crate::problem::Problem;
use crate::syntax::{Classifier, End, Filter, Key, Masked, Offset, Prefix, Protocol, Selector};
use crate::words::Cursor;

/// Reads the words after the action: `dev sl0 parent 1: protocol ip prio 1 u32 match ... flowid 1:10`.
pub(super) fn filter(cursor: &mut Cursor<'_, '_>, device: &mut Device) -> Result<Filter, Problem> {
    let (mut parent, mut preference, mut protocol, mut handle) = (None, None, None, None);
    let kind = loop {
        let word = cursor.next().ok_or_else(|| Problem::new(cursor.at, "a filter has a kind"))?;
        match word.value {
            "dev" => set(device, word, device_name(cursor)?)?,
            "parent" => set(&mut parent, word, cursor.handle("parent")?)?,
            "prio" | "pref" | "preference" => set(&mut preference, word, whole(cursor, word)?.value)?,
            "protocol" => set(&mut protocol, word, protocol_of(cursor)?)?,
            "handle" => {
                let text = cursor.value("handle")?;
                set(&mut handle, word, Located::new(text.value.to_owned(), text.at))?;
            }
            _ => break word,
        }
    };
    let Some(parent) = parent else { return Err(Problem::new(kind.at, "a filter names its `parent`")) };
    let mut classifier = match kind.value {
        "u32" => Classifier::U32(Vec::new()),
        "flower" => Classifier::Flower(Vec::new()),
        "fw" => Classifier::Fw,
        "matchall" => Classifier::Matchall,
        other => {
            return Err(Problem::new(kind.at, format!("filters of kind `{other}` are not understood")));
        }
    };
    let (mut class, mut skips_hardware) = (None, false);
    while let Some(word) = cursor.next() {
        match (word.value, &mut classifier) {
            ("flowid" | "classid", _) => set(&mut class, word, class_of(cursor, word, *parent)?)?,
            ("skip_hw", Classifier::U32(_) | Classifier::Flower(_) | Classifier::Matchall) => {
                skips_hardware = true;
            }
            ("match", Classifier::U32(selectors)) => {
                selectors.push(Located::new(selector(cursor)?, word.at));
            }
            (_, Classifier::Flower(keys)) => keys.push(Located::new(key(cursor, word)?, word.at)),
            _ => {
                let message = format!("`{}` of a filter of kind `{}` is not understood", *word, *kind);
                return Err(Problem::new(word.at, message));
            }
        }
    }
    let class = class.ok_or_else(|| Problem::new(kind.at, "a filter names its class by `flowid`"))?;
    let classifier = Located::new(classifier, kind.at);
    Ok(Filter { parent, protocol, preference, handle, classifier, skips_hardware, class })
}

fn protocol_of(cursor: &mut Cursor<'_, '_>) -> Result<Protocol, Problem> {
    let name = cursor.value("protocol")?;
    match name.value {
        "ip" | "0x800" | "0x0800" => Ok(Protocol::Ip),
        "all" => Ok(Protocol::All),
        other => Err(Problem::new(name.at, format!("the filter's `protocol {other}` is not `ip`"))),
    }
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
    let class = format!("{:x}{}", parent.major, *text).parse::<Handle>();
    let class = class.map_err(|_| Problem::new(text.at, format!("`{}` is no class such as `:10`", *text)))?;
    Ok(Located::new(class, text.at))
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
    Err(Problem::new(masked.at, format!("`{value:#x} {mask:#x}` has more than {bits} bits")))
}

/// Reads the words after `match`.
fn selector(cursor: &mut Cursor<'_, '_>) -> Result<Selector, Problem> {
    let first = cursor.value("match")?;
    match first.value {
        "ip" => {
            let field = cursor.value("match ip")?;
            match field.value {
                "src" => Ok(Selector::Address(End::Source, prefix(cursor.value("src")?)?)),
                "dst" => Ok(Selector::Address(End::Destination, prefix(cursor.value("dst")?)?)),
                "protocol" => masked(cursor, field, 1).map(Selector::Protocol),
                "dsfield" | "tos" | "precedence" => masked(cursor, field, 1).map(Selector::Dsfield),
                "sport" => masked(cursor, field, 2).map(|bits| Selector::Port(End::Source, bits)),
                "dport" => masked(cursor, field, 2).map(|bits| Selector::Port(End::Destination, bits)),
                other => Err(Problem::new(field.at, format!("`match ip {other}` is not understood"))),
            }
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
        let text = cursor.value("at")?;
        let (is_next, digits) = match text.strip_prefix("nexthdr+") {
            Some(digits) => (true, digits),
            None => (false, text.value),
        };
        let offset = integer(digits);
        let offset =
            offset.ok_or_else(|| Problem::new(text.at, format!("`at {}` is not understood", *text)))?;
        Some(if is_next { Offset::NextHeader(offset) } else { Offset::Ip(offset) })
    } else if bits.mask == 0 {
        None
    } else {
        return Err(Problem::new(word.at, format!("`match {}` says no place by `at`", *word)));
    };
    Ok(Selector::Bits { size, bits, at })
}

/// Parses an address or a prefix: `10.1.0.0/16`, `10.1.0.0/255.255.0.0`.
fn prefix(text: Located<&str>) -> Result<Prefix, Problem> {
    let read = || {
        let (address, length) = text.split_once('/').unwrap_or((text.value, "32"));
        let by_length = || {
            let bits = length.parse::<u32>().ok().filter(|bits| *bits <= 32)?;
            Some(Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - bits).unwrap_or(0)))
        };
        let mask = length.parse().ok().or_else(by_length)?;
        Some(Prefix { address: address.parse().ok()?, mask })
    };
    read().ok_or_else(|| Problem::new(text.at, format!("`{}` is no address and no prefix", *text)))
}

/// Reads the value of a key of `flower`.
fn key(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<Key, Problem> {
    const KEYS: [&str; 8] =
        ["eth_type", "ip_proto", "src_ip", "dst_ip", "src_port", "dst_port", "ip_tos", "tcp_flags"];
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
