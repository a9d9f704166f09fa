//! Conditions of filters: selectors of `u32`, keys of `flower`, trees of `basic`.

use core::net::Ipv6Addr;

use super::objects::chains::ALL;
use super::{Refusal, missing, parser};
use crate::lex;
use crate::position::Located;
use crate::words::Cursor;

/// Protocols by name, as in the parser's table.
const PROTOCOLS: &[(&str, u16)] = &[
    ("all", ALL),
    ("ip", 0x800),
    ("ipv4", 0x800),
    ("ipv6", 0x86dd),
    ("arp", 0x806),
    ("rarp", 0x8035),
    ("802.1q", 0x8100),
    ("802.1ad", 0x88a8),
    ("802_3", 1),
    ("802_2", 4),
    ("ax25", 2),
    ("loop", 0x60),
    ("pup", 0x200),
    ("pupat", 0x201),
    ("x25", 0x805),
    ("bpq", 0x8ff),
    ("dec", 0x6000),
    ("aarp", 0x80f3),
    ("atalk", 0x809b),
    ("ipx", 0x8137),
    ("snap", 5),
    ("ppp_disc", 0x8863),
    ("ppp_ses", 0x8864),
    ("mpls_uc", 0x8847),
    ("mpls_mc", 0x8848),
    ("lldp", 0x88cc),
    ("aoe", 0x88a2),
    ("tipc", 0x88ca),
    ("profinet", 0x8892),
    ("ethercat", 0x88a4),
    ("teb", 0x6558),
    ("can", 0xc),
    ("econet", 0x18),
    ("llc", 0x88ff),
];

/// Reads the name or the number, hexadecimal, of a protocol.
pub(super) fn protocol(text: &str) -> Option<u16> {
    let named = PROTOCOLS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, number)| *number);
    named.or_else(|| lex::unsigned(text, 0, 0xffff).and_then(|number| u16::try_from(number).ok()))
}

const WORD: u64 = u32::MAX as u64;

/// Reads a handle of hash tables: `2:`, `2:1:`, `2:1:5`, `0x80000800`.
pub(super) fn table_handle(text: &str) -> Option<u32> {
    if !text.contains(':') {
        return text
            .strip_prefix("0x")
            .and_then(|digits| lex::unsigned(digits, 16, WORD))
            .map(|handle| handle as u32);
    }
    let mut parts = text.split(':');
    let mut part = |most: u64| match parts.next() {
        None | Some("") => Some(0),
        Some(digits) => lex::unsigned(digits, 16, most).map(|part| part as u32),
    };
    let (table, bucket, node) = (part(0xfff)?, part(0xff)?, part(0xfff)?);
    Some(table << 20 | bucket << 12 | node)
}

/// Returns true for the words that stand for every address.
pub(super) fn prefix_words(text: &str) -> bool {
    ["any", "all", "default"].contains(&text)
}

/// Returns true for an address or a prefix; one of version 4 may have less than four parts.
pub(super) fn address(text: &str, is_six: bool) -> bool {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    if is_six {
        let is_length = |length: &str| lex::unsigned(length, 0, 128).is_some();
        return address.parse::<Ipv6Addr>().is_ok() && length.is_none_or(is_length);
    }
    let parts: Vec<&str> = address.split('.').collect();
    let is_part = |part: &&str| lex::unsigned(part, 10, 255).is_some();
    let is_mask = |mask: &str| {
        let bits = mask.parse::<core::net::Ipv4Addr>().ok().map(core::net::Ipv4Addr::to_bits);
        bits.is_some_and(|bits| bits.leading_ones() == bits.count_ones())
            || lex::unsigned(mask, 0, 32).is_some()
    };
    parts.len() <= 4 && parts.iter().all(is_part) && length.is_none_or(is_mask)
}

/// Reads `VALUE MASK` of some bits.
fn masked(cursor: &mut Cursor<'_, '_>, word: Located<&str>, bits: u32) -> Result<(), Refusal> {
    let most = (1_u64 << bits) - 1;
    let text = cursor.next().ok_or_else(|| missing(word))?;
    let wrong = |text: Located<&str>, what: &str| {
        parser(text.at, format!("`match {} {}`: it takes a {what} of {bits} bits", *word, *text))
    };
    lex::unsigned(text.value, 0, most).ok_or_else(|| wrong(text, "value"))?;
    let text = cursor.next().ok_or_else(|| missing(word))?;
    lex::unsigned(text.value, 16, most).ok_or_else(|| wrong(text, "hexadecimal mask")).map(|_| ())
}

/// Reads `at OFFSET`, if it stands there; the offset must be a multiple of the size.
fn at_offset(cursor: &mut Cursor<'_, '_>, word: Located<&str>, size: i64) -> Result<(), Refusal> {
    if !cursor.skip("at") {
        return Ok(());
    }
    let text = cursor.next().ok_or_else(|| missing(word))?;
    let digits = text.strip_prefix("nexthdr+").unwrap_or(text.value);
    let offset = lex::signed(digits, 0);
    let wrong = || {
        parser(
            text.at,
            format!("`at {}`: it takes a multiple of {size}, as `at 16` or `at nexthdr+0`", *text),
        )
    };
    // Words of 16 bits may stand across two words of 32.
    offset.filter(|offset| size < 4 || offset % size == 0).map(|_| ()).ok_or_else(wrong)
}

/// Reads a selector after `match`.
pub(super) fn selector(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let first = cursor.next().ok_or_else(|| missing(word))?;
    match first.value {
        "u8" | "u16" | "u32" => {
            let bits: u32 = first[1..].parse().unwrap_or(8);
            masked(cursor, first, bits)?;
            at_offset(cursor, first, i64::from(bits / 8))
        }
        "ip" | "ip6" => {
            let field = cursor.next().ok_or_else(|| missing(first))?;
            header(cursor, first, field)
        }
        "tcp" | "udp" | "icmp" | "mark" | "ether" => {
            let is_mark = first.value == "mark";
            let field = if is_mark { first } else { cursor.next().ok_or_else(|| missing(first))? };
            inner(cursor, first, field)
        }
        other => {
            let refusal = parser(first.at, format!("`match {other}` is not known"));
            let known = ["ip", "ip6", "tcp", "udp", "icmp", "u8", "u16", "u32", "mark", "ether"];
            Err(match super::nearest(other, known.into_iter()) {
                Some(near) => refusal.help(format!("did you mean `{near}`?")),
                None => refusal.help(format!("there are `{}`", known.join("`, `"))),
            })
        }
    }
}

fn header(cursor: &mut Cursor<'_, '_>, first: Located<&str>, field: Located<&str>) -> Result<(), Refusal> {
    let is_six = first.value == "ip6";
    match field.value {
        "src" | "dst" => {
            let text = cursor.next().ok_or_else(|| missing(field))?;
            if is_address(text.value, is_six) {
                // An offset that is not that of the field is none of its own words.
                return at_offset(cursor, first, 4);
            }
            let version = if is_six { "IPv6" } else { "IPv4" };
            Err(parser(text.at, format!("`{}` is not an address or a prefix of {version}", *text)))
        }
        "sport" | "dport" => masked(cursor, field, 16),
        "protocol" | "icmp_type" | "icmp_code" => masked(cursor, field, 8),
        "tos" | "dsfield" | "ihl" | "precedence" if !is_six => masked(cursor, field, 8),
        "nofrag" | "firstfrag" | "df" | "mf" if !is_six => Ok(()),
        "priority" if is_six => masked(cursor, field, 8),
        "flowlabel" if is_six => masked(cursor, field, 32),
        other => {
            let refusal = parser(field.at, format!("`match {} {other}` is not known", *first));
            let known = [
                "src",
                "dst",
                "sport",
                "dport",
                "protocol",
                "tos",
                "dsfield",
                "precedence",
                "ihl",
                "nofrag",
                "firstfrag",
                "df",
                "mf",
                "icmp_type",
                "icmp_code",
            ];
            Err(match super::nearest(other, known.into_iter()) {
                Some(near) => refusal.help(format!("did you mean `{near}`?")),
                None => refusal,
            })
        }
    }
}

fn inner(cursor: &mut Cursor<'_, '_>, first: Located<&str>, field: Located<&str>) -> Result<(), Refusal> {
    match (first.value, field.value) {
        ("tcp" | "udp", "src" | "dst") => masked(cursor, field, 16),
        ("icmp", "type" | "code") => masked(cursor, field, 8),
        ("mark", _) => {
            let value = cursor.next().ok_or_else(|| missing(first))?;
            let mask = cursor.next().ok_or_else(|| missing(first))?;
            let both = lex::unsigned(value.value, 0, WORD).zip(lex::unsigned(mask.value, 0, WORD));
            match both {
                // The parser wants a word after the mask.
                Some((value, mask)) if value & !mask == 0 && cursor.peek().is_some() => Ok(()),
                Some((value, mask)) if value & !mask == 0 => {
                    Err(parser(first.at, "`match mark` must not be the last word"))
                }
                Some(_) => Err(parser(
                    value.at,
                    format!("`match mark {} {}`: the mark has bits outside its mask", *value, *mask),
                )),
                None => Err(parser(value.at, format!("`match mark {} {}` is not valid", *value, *mask))),
            }
        }
        ("ether", "src" | "dst") => {
            let text = cursor.next().ok_or_else(|| missing(field))?;
            let parts = text.split(':').filter(|part| lex::unsigned(part, 16, 0xff).is_some()).count();
            if parts == 6 {
                Ok(())
            } else {
                Err(parser(text.at, format!("`{}` is not an address of Ethernet", *text)))
            }
        }
        (first, other) => Err(parser(field.at, format!("`match {first} {other}` is not known"))),
    }
}

/// Reads the words of `offset`.
pub(super) fn offset(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let mut is_any = false;
    while let Some(name) = cursor.peek().filter(|name| ["at", "mask", "shift", "plus", "eat"].contains(name))
    {
        cursor.next();
        is_any = true;
        if name == "eat" {
            continue;
        }
        let text = cursor.next().ok_or_else(|| missing(word))?;
        let base = if name == "mask" { 16 } else { 0 };
        if lex::unsigned(text.value, base, WORD).is_none() && lex::signed(text.value, 0).is_none() {
            return Err(parser(text.at, format!("`{name} {}` of `offset` is not valid", *text)));
        }
    }
    if is_any { Ok(()) } else { Err(parser(word.at, "`offset` has no words")) }
}

/// Reads the words of `hashkey`.
pub(super) fn hash_key(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let mut is_any = false;
    while let Some(name) = cursor.peek().filter(|name| ["at", "mask"].contains(name)) {
        cursor.next();
        is_any = true;
        let text = cursor.next().ok_or_else(|| missing(word))?;
        let is_right = match name {
            "mask" => lex::unsigned(text.value, 16, WORD).is_some(),
            _ => lex::signed(text.value, 0).is_some_and(|offset| offset % 4 == 0),
        };
        if !is_right {
            return Err(parser(
                text.at,
                format!("`hashkey {name} {}`: it takes a hexadecimal mask and a multiple of 4", *text),
            ));
        }
    }
    if is_any { Ok(()) } else { Err(parser(word.at, "`hashkey` has no `mask`")) }
}

/// Reads a tree of conditions, `meta(priority eq 5) and not cmp(u8 at 9 layer 1 eq 6)`, of one or more words.
pub(super) fn conditions(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let first = cursor.next().ok_or_else(|| missing(word))?;
    let mut text = first.value.to_owned();
    while is_unfinished(&text) || cursor.peek().is_some_and(|next| AND.contains(&next)) {
        let Some(next) = cursor.next() else { break };
        text.push(' ');
        text.push_str(next.value);
    }
    let tokens = tokens(&text);
    let mut rest = tokens.as_slice();
    tree(&mut rest).map_err(|message| parser(first.at, message))?;
    if let [more, ..] = rest {
        return Err(parser(first.at, format!("`{more}` follows the conditions in the same word")));
    }
    Ok(())
}

/// Words that join conditions.
const AND: [&str; 4] = ["and", "or", "&&", "||"];

fn is_unfinished(text: &str) -> bool {
    let count = |sign: char| text.matches(sign).count();
    let last = text.split_whitespace().last().unwrap_or_default();
    !text.contains('(') || count('(') > count(')') || AND.contains(&last)
}

/// Returns words and parentheses.
fn tokens(text: &str) -> Vec<&str> {
    let is_sign = |letter: char| "()".contains(letter);
    text.split_whitespace().flat_map(|word| word.split_inclusive(is_sign)).fold(
        Vec::new(),
        |mut all, part| {
            let (name, sign) = part.split_at(part.trim_end_matches(is_sign).len());
            all.extend([name, sign].into_iter().filter(|token| !token.is_empty()));
            all
        },
    )
}

/// Reads conditions and what joins them.
fn tree(rest: &mut &[&str]) -> Result<(), String> {
    // Parentheses that are open.
    let mut depth = 0_usize;
    loop {
        while let ["not" | "!", after @ ..] = rest {
            *rest = after;
        }
        match rest {
            ["(", after @ ..] => {
                (*rest, depth) = (after, depth + 1);
                continue;
            }
            [name, "(", after @ ..] => {
                let end = after.iter().position(|token| *token == ")");
                let end = end.ok_or_else(|| format!("`{name}(` of the conditions is not closed"))?;
                condition(name, &after[..end])?;
                *rest = &after[end + 1..];
            }
            _ => {
                let found = rest.first().unwrap_or(&"");
                return Err(format!("`{found}` is not a condition such as `meta(priority eq 5)`"));
            }
        }
        while let [")", after @ ..] = rest
            && depth > 0
        {
            (*rest, depth) = (after, depth - 1);
        }
        match rest {
            [join, after @ ..] if AND.contains(join) => *rest = after,
            _ if depth > 0 => return Err("a parenthesis of the conditions is not closed".to_owned()),
            _ => return Ok(()),
        }
    }
}

/// Checks a condition of this name.
fn condition(name: &str, words: &[&str]) -> Result<(), String> {
    let is_size = || words.first().is_some_and(|word| ["u8", "u16", "u32"].contains(word));
    let is_right = match name {
        "u32" => is_size() && words.len() >= 3,
        "cmp" => is_size(),
        "meta" => {
            let after = words.get(1..).unwrap_or_default();
            let shifts = after.chunks(2).take_while(|pair| ["shift", "mask"].contains(&pair[0])).count();
            words.first().is_some_and(|word| META.contains(word))
                && matches!(after.get(2 * shifts..), Some(["eq" | "lt" | "gt", _, ..]))
        }
        // Sets and modules that they name are the machine's.
        "nbyte" | "canid" | "ipset" | "ipt" => true,
        _ => false,
    };
    if is_right { Ok(()) } else { Err(format!("`{name}({})` is not a known condition", words.join(" "))) }
}

const META: &[&str] = &[
    "random",
    "loadavg_0",
    "loadavg_1",
    "loadavg_2",
    "dev",
    "prio",
    "priority",
    "proto",
    "protocol",
    "pkttype",
    "pktlen",
    "datalen",
    "maclen",
    "mark",
    "nf_mark",
    "tcindex",
    "rtclassid",
    "rtiif",
    "sk_family",
    "sk_state",
    "sk_reuse",
    "sk_refcnt",
    "sk_rcvbuf",
    "sk_sndbuf",
    "sk_bound_if",
    "vlan",
    "rxhash",
    "indev",
    "iif",
];

/// Words of `flower`.
pub(super) const FLOWER: &[&str] = &[
    "ip_proto",
    "src_ip",
    "dst_ip",
    "src_port",
    "dst_port",
    "ip_tos",
    "ip_ttl",
    "ip_flags",
    "tcp_flags",
    "vlan_id",
    "vlan_prio",
    "vlan_ethtype",
    "cvlan_id",
    "cvlan_prio",
    "cvlan_ethtype",
    "src_mac",
    "dst_mac",
    "indev",
    "type",
    "code",
    "classid",
    "flowid",
    "action",
    "hw_tc",
    "ct_state",
    "ct_zone",
    "ct_mark",
    "ct_label",
    "num_of_vlans",
    "enc_key_id",
    "enc_dst_ip",
    "enc_src_ip",
    "enc_dst_port",
    "enc_tos",
    "enc_ttl",
    "arp_tip",
    "arp_sip",
    "arp_op",
    "arp_tha",
    "arp_sha",
    "mpls_label",
    "mpls_tc",
    "mpls_ttl",
    "mpls_bos",
    "skip_hw",
    "skip_sw",
    "verbose",
    "ppp_proto",
    "pppoe_sid",
];

/// Protocols of tags: 802.1q and 802.1ad.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// Keys of `flower` while they are read.
#[derive(Debug)]
pub(super) struct Flower {
    /// Protocol of the filter, or of the packet inside a tag.
    protocol: u16,
    /// Tags of the packets at least.
    tags: u8,
    transport: Option<u8>,
    pub written: Vec<String>,
}

impl Flower {
    pub(super) fn new(protocol: u16) -> Self {
        Self { protocol, tags: 0, transport: None, written: Vec::new() }
    }

    /// Returns what must stand before a key, if it does not.
    fn need(&self, name: &str) -> Option<&'static str> {
        let (protocol, transport) = (self.protocol, self.transport);
        let is_ip = protocol == 0x800 || protocol == 0x86dd;
        let is_vlan = TAGS.contains(&protocol) || self.tags > 0;
        let (is_there, need) = match name {
            "ip_proto" | "src_ip" | "dst_ip" => (is_ip, "`protocol ip` or `ipv6`"),
            "src_port" | "dst_port" => {
                (matches!(transport, Some(6 | 17 | 132)), "`ip_proto tcp`, `udp` or `sctp` before it")
            }
            "vlan_id" | "vlan_prio" | "vlan_ethtype" => (is_vlan, "`protocol 802.1q`"),
            "cvlan_id" | "cvlan_prio" | "cvlan_ethtype" => {
                (self.tags > 1, "two tags: `vlan_ethtype 802.1q` before it")
            }
            "type" | "code" => {
                let is_icmp = matches!((protocol, transport), (0x800, Some(1)) | (0x86dd, Some(58)));
                (is_icmp, "`ip_proto icmp` before it")
            }
            _ if name.starts_with("arp_") => (protocol == 0x806 || protocol == 0x8035, "`protocol arp`"),
            _ if name.starts_with("mpls_") => (protocol == 0x8847, "`protocol mpls_uc`"),
            _ => return None,
        };
        Some(need).filter(|_| !is_there)
    }

    /// Reads a key with its value; false if the word is no key.
    pub(super) fn key(&mut self, cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<bool, Refusal> {
        let own = FLOWER.iter().position(|known| *known == word.value);
        if own.is_none() || ["classid", "flowid", "action"].contains(&word.value) {
            return Ok(false);
        }
        let text = cursor.next().ok_or_else(|| missing(word))?;
        let wrong = |why: &str| Err(parser(text.at, format!("`{} {}` of `flower`{why}", *word, *text)));
        if let Some(need) = self.need(word.value) {
            return wrong(&format!(" needs {need}"));
        }
        let bits = |base: u32, most: u64| {
            let (value, mask) = text.split_once('/').unwrap_or((text.value, "0"));
            lex::unsigned(value, base, most).is_some() && lex::unsigned(mask, base, most).is_some()
        };
        let is_right = match word.value {
            "ip_proto" => {
                self.transport = transport(text.value, self.protocol);
                self.transport.is_some()
            }
            "src_ip" | "dst_ip" => is_address(text.value, self.protocol == 0x86dd),
            "src_port" | "dst_port" => ports(text.value),
            "ip_tos" => bits(16, 0xff),
            "tcp_flags" => bits(16, 0xfff),
            "ip_flags" => {
                let flags = ["frag", "firstfrag"];
                text.split('/').all(|flag| flags.contains(&flag.strip_prefix("no").unwrap_or(flag)))
            }
            "vlan_id" | "cvlan_id" => lex::unsigned(text.value, 0, 0xfff).is_some(),
            "vlan_prio" | "cvlan_prio" => lex::unsigned(text.value, 0, 7).is_some(),
            "vlan_ethtype" | "cvlan_ethtype" => {
                let inner = protocol(text.value);
                self.protocol = inner.unwrap_or(0);
                self.tags = self.tags.max(1 + u8::from(TAGS.contains(&self.protocol)));
                inner.is_some()
            }
            "num_of_vlans" => {
                let number = lex::unsigned(text.value, 0, 0xff);
                self.tags = self.tags.max(number.unwrap_or(0) as u8);
                number.is_some()
            }
            "type" | "code" | "ip_ttl" => bits(0, 0xff),
            "hw_tc" => lex::unsigned(text.value, 0, 15).is_some(),
            "ct_state" => text.starts_with(['+', '-']) && ct_state(text.value),
            _ => true,
        };
        if !is_right {
            return wrong(" is not valid");
        }
        self.written.retain(|key| !key.starts_with(&format!("{} ", word.value)));
        self.written.push(format!("{} {}", *word, *text));
        self.written.sort();
        Ok(true)
    }
}

fn ct_state(text: &str) -> bool {
    let names = ["trk", "new", "est", "rel", "inv", "rpl"];
    text.split(['+', '-']).skip(1).all(|name| names.contains(&name))
}

/// Reads a protocol of transport; names depend on the version of IP.
fn transport(text: &str, version: u16) -> Option<u8> {
    match (text, version) {
        ("tcp", _) => Some(6),
        ("udp", _) => Some(17),
        ("sctp", _) => Some(132),
        ("l2tp", 0x86dd) => Some(115),
        ("icmp", 0x800) => Some(1),
        ("icmpv6", 0x86dd) => Some(58),
        _ => lex::unsigned(text, 0, 255).map(|number| number as u8),
    }
}

/// Returns true for a port with a mask, or a range of ports.
fn ports(text: &str) -> bool {
    let port = |text: &str| lex::unsigned(text, 10, 0xffff);
    if let Some((low, high)) = text.split_once('-') {
        return port(low).zip(port(high)).is_some_and(|(low, high)| low < high);
    }
    let (value, mask) = text.split_once('/').map_or((text, None), |(value, mask)| (value, Some(mask)));
    let is_masked = mask.is_none_or(|mask| lex::unsigned(mask, 0, 0xffff).is_some());
    let base = if mask.is_some() { 0 } else { 10 };
    lex::unsigned(value, base, 0xffff).is_some_and(|port| port > 0) && is_masked
}

/// Reads an address or prefix of a version; false if the word is no address.
pub(super) fn is_address(text: &str, is_six: bool) -> bool {
    prefix_words(text) || address(text, is_six)
}
