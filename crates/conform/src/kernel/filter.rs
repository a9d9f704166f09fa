//! Parses filters of `tc`.

use super::command::Handle;
use super::conditions::{Conditions, number};

/// A rule for the packets of a class.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    /// Discipline to which it is attached.
    pub parent: Handle,
    /// Preference; lower ones are tried first.
    pub preference: Option<u32>,
    /// Class of the packets.
    pub class: Handle,
    /// Conditions, all of which must hold.
    pub conditions: Conditions,
}

/// Bytes of an IPv4 header without options: offset of the transport header.
const TRANSPORT: usize = 20;

impl Filter {
    /// Parses the words after the device: `parent 1: protocol ip prio 1 u32 match ... flowid 1:10`.
    ///
    /// # Errors
    /// Returns the first word that is not supported.
    pub(super) fn read(words: &[&str]) -> Result<Self, String> {
        let (mut parent, mut preference, mut rest) = (None, None, words);
        let (kind, mut rest) = loop {
            rest = match rest {
                ["parent", place, more @ ..] => {
                    parent = Some(Handle::read(place)?);
                    more
                }
                ["prio" | "pref" | "preference", rank, more @ ..] => {
                    preference = Some(number(rank)?);
                    more
                }
                // All packets of a run are IPv4. A handle only serves to delete the filter; that of `fw`, a
                // mark, is not supported.
                ["protocol", "ip" | "all" | "0x800" | "0x0800", more @ ..] | ["handle", _, more @ ..] => more,
                ["protocol", other, ..] => {
                    return Err(format!("the filter's `protocol {other}` is not `ip`"));
                }
                [kind, more @ ..] => break (*kind, more),
                [] => return Err("a filter has a kind".to_owned()),
            }
        };
        let parent = parent.ok_or_else(|| "a filter names its `parent`".to_owned())?;
        let (mut class, mut conditions) = (None, Conditions::default());
        while let [word, more @ ..] = rest {
            rest = match (*word, kind, more) {
                ("flowid" | "classid", _, [id, more @ ..]) if class.is_none() => {
                    class = Some(Handle::read(&full_class(id, parent))?);
                    more
                }
                ("match", "u32", more) => selector(&mut conditions, more)?,
                // Without hardware offload, the filter runs in software.
                ("skip_hw", "flower" | "matchall" | "u32", more) => more,
                (_, "flower", [value, more @ ..]) => {
                    flower(&mut conditions, word, value)?;
                    more
                }
                _ => return Err(format!("`{word}` of a filter of kind `{kind}` is not understood")),
            }
        }
        if !["u32", "flower", "matchall"].contains(&kind) {
            return Err(format!("filters of kind `{kind}` are not understood"));
        }
        conditions.check()?;
        let class = class.ok_or_else(|| "a filter names its class by `flowid`".to_owned())?;
        Ok(Self { parent, preference, class, conditions })
    }
}

/// Completes `:10` to a class of the filter's own discipline.
fn full_class(id: &str, parent: Handle) -> String {
    if id.starts_with(':') { format!("{:x}{id}", parent.major) } else { id.to_owned() }
}

/// Parses the words after `match` of `u32`; returns the rest.
fn selector<'a, 'b>(conditions: &mut Conditions, words: &'b [&'a str]) -> Result<&'b [&'a str], String> {
    match words {
        ["ip", end @ ("src" | "dst"), prefix, rest @ ..] => {
            conditions.address(*end == "src", prefix)?;
            Ok(rest)
        }
        ["ip", field, value, mask, rest @ ..] => {
            let (at, size) = match *field {
                "protocol" => (9, 1),
                "tos" | "dsfield" | "precedence" => (1, 1),
                "sport" => (TRANSPORT, 2),
                "dport" => (TRANSPORT + 2, 2),
                _ => return Err(format!("`match ip {field}` is not understood")),
            };
            conditions.bytes(at, size, number(value)?, number(mask)?)?;
            Ok(rest)
        }
        ["tcp" | "udp", end @ ("src" | "dst"), value, mask, rest @ ..] => {
            let at = if *end == "src" { TRANSPORT } else { TRANSPORT + 2 };
            conditions.bytes(at, 2, number(value)?, number(mask)?)?;
            Ok(rest)
        }
        [size @ ("u8" | "u16" | "u32"), value, mask, rest @ ..] => {
            let size = match *size {
                "u8" => 1,
                "u16" => 2,
                _ => 4,
            };
            let (value, mask) = (number(value)?, number(mask)?);
            let (at, rest) = match rest {
                ["at", at, rest @ ..] => (offset(at)?, rest),
                // A zero mask matches all packets; only then the offset may be absent.
                rest if mask == 0 => (0, rest),
                _ => return Err(format!("`match u{}` says no place by `at`", size * 8)),
            };
            conditions.bytes(at, size, value, mask)?;
            Ok(rest)
        }
        _ => Err(format!("`match {}` is not understood", words.join(" "))),
    }
}

/// Parses an offset in the IPv4 header, or after it: `at 8`, `at nexthdr+2`. Packets of a run have no IP
/// options.
fn offset(text: &str) -> Result<usize, String> {
    let (from, text) = match text.strip_prefix("nexthdr+") {
        Some(text) => (TRANSPORT, text),
        None => (0, text),
    };
    let at = number(text).ok().and_then(|at| usize::try_from(at).ok());
    at.map(|at| from + at).ok_or_else(|| format!("`at {text}` is not understood"))
}

/// Parses a key of `flower`.
fn flower(conditions: &mut Conditions, key: &str, value: &str) -> Result<(), String> {
    let masked = |full: u32| {
        let (value, mask) = value.split_once('/').map_or((value, None), |(value, mask)| (value, Some(mask)));
        Ok::<_, String>((number(value)?, mask.map_or(Ok(full), number)?))
    };
    match key {
        "eth_type" if ["ip", "ipv4", "0x800", "0x0800"].contains(&value) => Ok(()),
        "ip_proto" => {
            let protocol = match value {
                "tcp" => 6,
                "udp" => 17,
                "icmp" => 1,
                "sctp" => 132,
                other => number(other)?,
            };
            conditions.bytes(9, 1, protocol, 0xff)
        }
        "src_ip" | "dst_ip" => conditions.address(key == "src_ip", value),
        "src_port" | "dst_port" => {
            let at = if key == "src_port" { TRANSPORT } else { TRANSPORT + 2 };
            match value.split_once('-') {
                Some((low, high)) => conditions.ports(key == "src_port", number(low)?, number(high)?),
                None => masked(0xffff).and_then(|(port, mask)| conditions.bytes(at, 2, port, mask)),
            }
        }
        "ip_tos" => masked(0xff).and_then(|(value, mask)| conditions.bytes(1, 1, value, mask)),
        "tcp_flags" => {
            masked(0xfff).and_then(|(value, mask)| conditions.bytes(TRANSPORT + 12, 2, value, mask & 0xfff))
        }
        _ => Err(format!("`{key} {value}` of `flower` is not understood")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Filter, String> {
        Filter::read(&text.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn selectors_become_conditions() {
        for (words, expected) in [
            ("u32 match ip dport 9000 0xffff", "{ destination_port = 9000 }"),
            ("u32 match ip dport 9000 0xfff8", "{ destination_port = \"9000-9007\" }"),
            ("u32 match ip protocol 17 0xff match ip sport 53 0xffff", "{ protocol = 17, source_port = 53 }"),
            (
                "u32 match ip src 10.1.0.0/16 match ip dst 10.2.0.1",
                "{ source = \"10.1.0.0/16\", destination = \"10.2.0.1/32\" }",
            ),
            ("u32 match ip tos 0x10 0xfc", "{ dscp = [4] }"),
            ("u32 match ip dsfield 0xb8 0xe0", "{ dscp = [40, 41, 42, 43, 44, 45, 46, 47] }"),
            ("u32 match u8 0x11 0xff at 9", "{ protocol = 17 }"),
            ("u32 match u16 0x2328 0xffff at 22", "{ destination_port = 9000 }"),
            ("u32 match u32 0x00002328 0x0000ffff at nexthdr+0", "{ destination_port = 9000 }"),
            ("u32 match u32 0x0a010001 0xffffff00 at 12", "{ source = \"10.1.0.0/24\" }"),
            ("u32 match u16 0 0xffc0 at 2", "{ length = \"14B-77B\" }"),
            // The first byte of an IPv4 header without options is constant.
            ("u32 match u8 0x05 0x0f at 0 match ip dport 80 0xffff", "{ destination_port = 80 }"),
            (
                "u32 match ip protocol 6 0xff match u8 0x10 0x10 at nexthdr+13",
                "{ protocol = 6, tcp_flags = [\"ack\"] }",
            ),
            ("u32 match u32 0 0", "{ }"),
            ("matchall", "{ }"),
            ("flower ip_proto udp dst_port 5060", "{ protocol = 17, destination_port = 5060 }"),
            (
                "flower eth_type ip ip_proto tcp src_port 100-200 skip_hw",
                "{ protocol = 6, source_port = \"100-200\" }",
            ),
            ("flower src_ip 10.1.0.0/255.255.0.0", "{ source = \"10.1.0.0/16\" }"),
            ("flower ip_tos 0xb8/0xfc", "{ dscp = [46] }"),
            ("flower ip_proto tcp tcp_flags 0x2/0x2", "{ protocol = 6, tcp_flags = [\"syn\"] }"),
        ] {
            for words in [format!("{words} flowid 1:10"), format!("{words} classid :10")] {
                let filter = read(&format!("parent 1: protocol ip prio 1 {words}")).expect(&words);
                assert_eq!(filter.conditions.toml(), expected, "{words}");
                assert_eq!(filter.class, Handle { major: 1, minor: 0x10 });
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (words, part) in [
            ("u32 match ip ttl 3 0xff flowid 1:1", "match ip ttl"),
            ("u32 match ip dport 9000 0x0f0f flowid 1:1", "0xf0f"),
            ("u32 match ip protocol 17 0xf0 flowid 1:1", "protocol"),
            ("u32 match u8 64 0xff at 8 flowid 1:1", "byte 8"),
            ("u32 match u16 80 0xffff at nexthdr+20 flowid 1:1", "byte 40"),
            ("u32 match u32 5 0xff flowid 1:1", "at"),
            ("u32 match u8 0x10 0xff at nexthdr+13 flowid 1:1", "tcp"),
            ("u32 match ip dport 80 0xffff match ip dport 81 0xffff flowid 1:1", "no packet"),
            ("u32 match u8 0x06 0x0f at 0 flowid 1:1", "no packet"),
            ("u32 match mark 5 0xff flowid 1:1", "mark"),
            ("u32 match ip dport 80 0xffff flowid 1:1 police rate 1mbit", "`police`"),
            ("u32 match ip dport 80 0xffff flowid 1:1 action drop", "`action`"),
            ("u32 match ip dport ssh 0xffff flowid 1:1", "`ssh`"),
            ("u32 match ip src 10.1.0.0/33 flowid 1:1", "10.1.0.0/33"),
            ("u32 ht 800: match ip dport 80 0xffff flowid 1:1", "`ht`"),
            ("u32 match ip dport 80 0xffff", "flowid"),
            ("flower ip_ttl 3 flowid 1:1", "ip_ttl"),
            ("flower skip_sw flowid 1:1", "skip_sw"),
            ("flower vlan_id 3 flowid 1:1", "vlan_id"),
            ("flower ip_proto tcp tcp_flags 0x2 flowid 1:1", "tcp_flags"),
            ("handle 5 fw flowid 1:1", "`fw`"),
            ("protocol ipv6 matchall flowid 1:1", "protocol ipv6"),
            ("matchall action mirred egress redirect dev ifb0", "`action`"),
        ] {
            let why = read(&format!("parent 1: {words}")).expect_err(words);
            assert!(why.contains(part), "{words}: {why}");
        }
        assert!(read("matchall flowid 1:1").expect_err("no parent").contains("parent"));
    }
}
