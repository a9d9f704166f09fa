//! Boxes and packets in words.

use core::fmt::Write as _;
use core::net::IpAddr;

use lockgate_engine::classify::PROTOCOL_OTHER;

use crate::field::{Field, address};
use crate::marks::Marks;
use crate::packet::Packet;
use crate::region::Region;
use crate::spans::Spans;

/// Values of a field that are listed.
const SHOWN: usize = 4;

/// Names of what boxes have by number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Classes of marks.
    pub marks: Marks,
    /// Flows; that of index `i` has the number `i + 1`. Number 0 is a packet of no flow.
    pub flows: Vec<String>,
}

/// Names of the TCP flags, from the lowest bit (RFC 9293 section 3.1).
const FLAGS: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];

impl Names {
    /// Returns the conditions of a box in words, by their field: `udp`, `destination port 53`. None of a box
    /// of every packet.
    pub fn conditions(&self, region: &Region) -> Vec<(Field, String)> {
        let version = region.field(Field::Version).ends().filter(|(low, high)| low == high);
        let version = version.map_or(0, |(low, _)| low);
        let has_address = has_condition(region, Field::Source) || has_condition(region, Field::Destination);
        let is_ip = !region.field(Field::Version).contains(0);
        let is_told = |field: Field| {
            let protocol = region.field(Field::Protocol);
            let is_implied = match field {
                Field::Version => {
                    has_address && version != 0 || *protocol == Spans::one(PROTOCOL_OTHER.into())
                }
                Field::Protocol => is_ip && *protocol == every_protocol(),
                _ => false,
            };
            has_condition(region, field) && !is_implied
        };
        let told = Field::ALL.into_iter().filter(|field| is_told(*field));
        told.map(|field| (field, self.condition(region, field, version))).collect()
    }

    /// Returns the values of a box by their field: prefixes of addresses, `value/mask` of marks, names of
    /// flows, and numbers or ranges of numbers such as `80-90`. Complete, unlike the conditions in words.
    pub fn exact(&self, region: &Region) -> Vec<(Field, Vec<String>)> {
        let version = region.field(Field::Version).ends().filter(|(low, high)| low == high);
        let version = version.map_or(6, |(low, _)| low);
        let values = |field: Field| {
            let spans = region.field(field);
            match field {
                Field::Source | Field::Destination => prefixes(&within(spans, version), version),
                Field::Mark => self.marks.exact(spans),
                Field::Flow => {
                    let known = 0..=self.flows.len() as u128;
                    known.filter(|flow| spans.contains(*flow)).map(|flow| self.flow(flow)).collect()
                }
                _ => spans
                    .iter()
                    .map(|(low, high)| if low == high { low.to_string() } else { format!("{low}-{high}") })
                    .collect(),
            }
        };
        let bound = Field::ALL.into_iter().filter(|field| has_condition(region, *field));
        bound.map(|field| (field, values(field))).collect()
    }

    /// Returns the mark of a packet, and its flow by name.
    pub fn mark_and_flow(&self, packet: &Packet) -> (u32, String) {
        let mark = self.marks.example(packet.number(Field::Mark)).unwrap_or(0);
        (mark, self.flow(packet.number(Field::Flow)))
    }

    /// Returns a box in words.
    pub fn region(&self, region: &Region) -> String {
        let all: Vec<String> = self.conditions(region).into_iter().map(|(_, text)| text).collect();
        if all.is_empty() { "every packet".to_owned() } else { all.join(", ") }
    }

    fn condition(&self, region: &Region, field: Field, version: u128) -> String {
        let spans = region.field(field);
        match field {
            Field::Version => versions(spans),
            Field::Destination => format!("destination {}", addresses(spans, version)),
            Field::Source => format!("source {}", addresses(spans, version)),
            Field::Protocol => protocols(spans, !region.field(Field::Version).contains(0)),
            Field::DestinationPort => format!("destination port {}", listed(spans, field.most(), &plain)),
            Field::SourcePort => format!("source port {}", listed(spans, field.most(), &plain)),
            Field::Dscp => format!("DSCP {}", listed(spans, field.most(), &code_point)),
            Field::FlowLabel => format!("flow label {}", listed(spans, field.most(), &plain)),
            Field::TcpFlags => tcp_flags(spans),
            Field::Length => lengths(spans),
            Field::Mark => self.marks(spans),
            Field::Flow => format!("flow {}", listed(spans, field.most(), &|number| self.flow(number))),
        }
    }

    fn flow(&self, number: u128) -> String {
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let name = index.and_then(|index| self.flows.get(index)).cloned();
        name.unwrap_or_else(|| "none".to_owned())
    }

    fn marks(&self, spans: &Spans) -> String {
        if let Some(words) = self.marks.words(spans) {
            return format!("mark {}", words.join(" or "));
        }
        let others = Spans::up_to(self.marks.len() as u128 - 1).without(spans);
        if let Some(words) = self.marks.words(&others) {
            return format!("mark not {}", words.join(", "));
        }
        let all = self.marks.exact(spans);
        format!("mark {}{}", all[..all.len().min(SHOWN)].join(" or "), more(all.len()))
    }

    /// Returns a packet in words, with the fields in which its box is bound: `udp to 10.0.0.1 port 53`.
    pub fn packet(&self, packet: &Packet, region: &Region) -> String {
        let number = |field: Field| packet.number(field);
        let Some([source, destination]) = packet.addresses() else {
            return "a frame without an IP packet".to_owned();
        };
        let mut text = protocol(number(Field::Protocol));
        let mut end = |word: &str, address: IpAddr, field: Field, port: Field| {
            if has_condition(region, field) {
                let _ = write!(text, " {word} {address}");
            } else if region.is_bound(port) {
                let _ = write!(text, " {word}");
            }
            if region.is_bound(port) {
                let _ = write!(text, " port {}", number(port));
            }
        };
        end("from", source, Field::Source, Field::SourcePort);
        end("to", destination, Field::Destination, Field::DestinationPort);
        let _ = write!(text, ", {} bytes", number(Field::Length));
        let has_address = has_condition(region, Field::Source) || has_condition(region, Field::Destination);
        if number(Field::Version) == 6 && !has_address {
            text.push_str(", IPv6");
        }
        if region.is_bound(Field::Dscp) {
            let _ = write!(text, ", DSCP {}", code_point(number(Field::Dscp)));
        }
        if region.is_bound(Field::TcpFlags) {
            let flags: Vec<&str> = named_flags(number(Field::TcpFlags));
            let flags = if flags.is_empty() { "none".to_owned() } else { flags.join(" ") };
            let _ = write!(text, ", flags {flags}");
        }
        if region.is_bound(Field::FlowLabel) {
            let _ = write!(text, ", flow label {}", number(Field::FlowLabel));
        }
        if region.is_bound(Field::Mark) {
            let mark = self.marks.example(number(Field::Mark)).unwrap_or(0);
            let _ = write!(text, ", mark {mark:#x}");
        }
        if region.is_bound(Field::Flow) {
            let _ = match number(Field::Flow) {
                0 => write!(text, ", of no flow"),
                flow => write!(text, ", of flow {}", self.flow(flow)),
            };
        }
        text
    }
}

/// Returns true if the box leaves packets out by this field. Every address of a version is no condition.
fn has_condition(region: &Region, field: Field) -> bool {
    let is_address = matches!(field, Field::Source | Field::Destination);
    let is_v4 = *region.field(Field::Version) == Spans::one(4);
    let every_v4 = Spans::up_to(u32::MAX.into());
    region.is_bound(field) && !(is_address && is_v4 && every_v4.without(region.field(field)).is_empty())
}

/// Returns the protocols of IP packets.
fn every_protocol() -> Spans {
    Spans::up_to(u128::from(PROTOCOL_OTHER) - 1)
}

/// Lists protocols, or those of IP packets that are missing. `is_ip`: the version says already that it is IP.
fn protocols(spans: &Spans, is_ip: bool) -> String {
    let others = every_protocol().without(spans);
    match (spans.contains(PROTOCOL_OTHER.into()), others.is_empty()) {
        (false, true) => "IP".to_owned(),
        (false, false) if others.len() < spans.len() => {
            let not = listed(spans, u128::from(PROTOCOL_OTHER) - 1, &protocol);
            if is_ip { not } else { format!("IP, {not}") }
        }
        _ => listed(spans, Field::Protocol.most(), &protocol),
    }
}

fn plain(number: u128) -> String {
    number.to_string()
}

fn protocol(number: u128) -> String {
    match number {
        1 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        58 => "icmpv6".to_owned(),
        255 => "no IP packet".to_owned(),
        other => format!("protocol {other}"),
    }
}

/// Returns a code point by its name (RFC 2474, 2597, 3246, 8622), if it has one.
fn code_point(code: u128) -> String {
    match (code, code / 8, code % 8) {
        (46, ..) => "EF".to_owned(),
        (0, ..) => "0".to_owned(),
        (1, ..) => "LE".to_owned(),
        (_, class, 0) => format!("CS{class}"),
        (_, class @ 1..=4, drop @ (2 | 4 | 6)) => format!("AF{class}{}", drop / 2),
        _ => code.to_string(),
    }
}

fn versions(spans: &Spans) -> String {
    let has = |number: u128| spans.contains(number);
    match (has(4), has(6), has(0)) {
        (true, false, false) => "IPv4",
        (false, true, false) => "IPv6",
        (true, true, false) => "IP",
        (true, false, true) => "not IPv6",
        (false, true, true) => "not IPv4",
        (false, false, _) => "no IP packet",
        (true, true, true) => "any version",
    }
    .to_owned()
}

/// Lists numbers up to `most`, or those that are missing if they are fewer.
fn listed(spans: &Spans, most: u128, text: &dyn Fn(u128) -> String) -> String {
    let others = Spans::up_to(most).without(spans);
    let is_negative =
        others.len() < spans.len() || others.len() == 1 && is_small(&others) && !is_small(spans);
    let (chosen, not) = if is_negative { (&others, "not ") } else { (spans, "") };
    let range = |(low, high): &(u128, u128)| match high - low {
        0 => text(*low),
        1 => format!("{}, {}", text(*low), text(*high)),
        _ => format!("{} to {}", text(*low), text(*high).trim_start_matches("protocol ")),
    };
    let shown: Vec<String> = chosen.iter().take(SHOWN).map(range).collect();
    format!("{not}{}{}", shown.join(", "), more(chosen.len()))
}

/// Returns true if each interval is one number.
fn is_small(spans: &Spans) -> bool {
    spans.iter().all(|(low, high)| low == high)
}

fn more(count: usize) -> String {
    if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() }
}

fn lengths(spans: &Spans) -> String {
    let most = Field::Length.most();
    let range = |(low, high): &(u128, u128)| match (*low, *high) {
        (0, high) => format!("up to {high}"),
        (low, high) if high == most => format!("from {low} on"),
        (low, high) if low == high => low.to_string(),
        (low, high) => format!("{low} to {high}"),
    };
    let shown: Vec<String> = spans.iter().take(SHOWN).map(range).collect();
    format!("length {}{} bytes", shown.join(", "), more(spans.len()))
}

/// Returns addresses as prefixes, or those that are missing if they are fewer.
fn addresses(spans: &Spans, version: u128) -> String {
    let all = within(&Spans::up_to(Field::Source.most()), version);
    let own = prefixes(&within(spans, version), version);
    let others = prefixes(&all.without(spans), version);
    let (chosen, not) = if others.len() < own.len() { (others, "not ") } else { (own, "") };
    let shown = &chosen[..chosen.len().min(SHOWN)];
    format!("{not}{}{}", shown.join(", "), more(chosen.len()))
}

/// Returns the addresses among these that the version has.
fn within(spans: &Spans, version: u128) -> Spans {
    spans.and(&Spans::up_to(if version == 4 { u32::MAX.into() } else { u128::MAX }))
}

/// Returns the prefixes of addresses, which the version has.
fn prefixes(spans: &Spans, version: u128) -> Vec<String> {
    let width = if version == 4 { 32 } else { 128 };
    let mut all = Vec::new();
    for &(low, high) in spans {
        let mut at = low;
        loop {
            let free = at.trailing_zeros().min(width);
            let last = |free: u32| at | 1_u128.checked_shl(free).map_or(u128::MAX, |above| above - 1);
            let free = (0..=free).rev().find(|free| last(*free) <= high).unwrap_or(0);
            let text = address(version, at).to_string();
            all.push(if free == 0 { text } else { format!("{text}/{}", width - free) });
            match last(free).checked_add(1).filter(|next| *next <= high) {
                Some(next) => at = next,
                None => break,
            }
        }
    }
    all
}

fn named_flags(flags: u128) -> Vec<&'static str> {
    FLAGS.into_iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, name)| name).collect()
}

/// Returns the flags that must be set and must not be, or those of the packets that are not meant.
fn tcp_flags(spans: &Spans) -> String {
    if let Some(words) = flag_masks(spans) {
        return format!("TCP flags {words}");
    }
    if let Some(words) = flag_masks(&Spans::up_to(Field::TcpFlags.most()).without(spans)) {
        return format!("TCP flags other than {words}");
    }
    format!("TCP flags {}", listed(spans, Field::TcpFlags.most(), &|flags| format!("{flags:#04x}")))
}

fn flag_masks(spans: &Spans) -> Option<String> {
    let all = || (0..256_u128).filter(|flags| spans.contains(*flags));
    let set = all().fold(0xff, |common, flags| common & flags);
    let clear = all().fold(0xff, |common, flags| common & !flags & 0xff);
    let is_mask = all().count() == 1 << (8 - (set | clear).count_ones());
    (is_mask && !spans.is_empty()).then(|| {
        let (set, clear) = (named_flags(set).join(" "), named_flags(clear).join(" "));
        match (set.is_empty(), clear.is_empty()) {
            (_, true) => set,
            (true, false) => format!("without {clear}"),
            (false, false) => format!("{set} without {clear}"),
        }
    })
}
