//! Filters become conditions, and conditions hold or do not hold for flows.

use core::net::Ipv4Addr;

use super::*;
use crate::import::toml::rule_text;

fn flow() -> Headers {
    Headers {
        name: "f".to_owned(),
        protocol: 17,
        addresses: None,
        source_port: None,
        destination_port: 9000,
        tos: 0xb9,
        has_fixed_ecn: true,
        length: Some(500),
    }
}

/// Returns the conditions of a filter, from its kind on.
fn conditions(words: &str) -> Result<Conditions, String> {
    let text = format!("filter add dev sl0 parent 1: protocol ip prio 1 {words} flowid 1:10");
    let commands = crate::parse(&text).map_err(|problems| problems.to_string())?;
    let filter = commands.filters().next().expect("a filter");
    Conditions::of(filter).map_err(|problem| problem.to_string())
}

#[test]
fn classifiers_become_rules() {
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
        ("u32 match u32 0 0", "{}"),
        ("matchall", "{}"),
        ("flower ip_proto udp dst_port 5060", "{ protocol = 17, destination_port = 5060 }"),
        (
            "flower eth_type ip ip_proto tcp src_port 100-200 skip_hw",
            "{ protocol = 6, source_port = \"100-200\" }",
        ),
        ("flower src_ip 10.1.0.0/255.255.0.0", "{ source = \"10.1.0.0/16\" }"),
        ("flower ip_tos 0xb8/0xfc", "{ dscp = [46] }"),
        ("flower ip_proto tcp tcp_flags 0x2/0x2", "{ protocol = 6, tcp_flags = [\"syn\"] }"),
    ] {
        assert_eq!(rule_text(&conditions(words).expect(words).rule()), expected, "{words}");
    }
}

#[test]
fn refusals_name_the_condition() {
    for (words, part) in [
        ("u32 match ip ttl 3 0xff", "match ip ttl"),
        ("u32 match ip dport 9000 0x0f0f", "0xf0f"),
        ("u32 match ip dport 9000 0xfffff", "more than 16 bits"),
        ("u32 match ip protocol 17 0xf0", "protocol"),
        ("u32 match u8 64 0xff at 8", "byte 8"),
        ("u32 match u16 80 0xffff at nexthdr+20", "byte 40"),
        ("u32 match u32 5 0xff", "at"),
        ("u32 match u8 0x10 0xff at nexthdr+13", "tcp"),
        ("u32 match ip dport 80 0xffff match ip dport 81 0xffff", "no packet"),
        ("u32 match u8 0x06 0x0f at 0", "no packet"),
        ("u32 match mark 5 0xff", "mark"),
        ("u32 match ip dport ssh 0xffff", "`ssh`"),
        ("u32 match ip src 10.1.0.0/33", "10.1.0.0/33"),
        ("u32 ht 800: match ip dport 80 0xffff", "`ht`"),
        ("flower ip_ttl 3", "ip_ttl"),
        ("flower skip_sw", "skip_sw"),
        ("flower vlan_id 3", "vlan_id"),
        ("flower ip_proto tcp tcp_flags 0x2", "tcp_flags"),
        ("handle 5 fw", "`fw`"),
        ("matchall action mirred egress redirect dev ifb0", "`action`"),
    ] {
        let why = conditions(words).expect_err(words);
        assert!(why.contains(part), "{words}: {why}");
    }
}

#[test]
fn a_flow_is_matched_wholly_not_at_all_or_in_part() {
    let port = conditions("u32 match u16 9000 0xffff at 22").expect("understood");
    assert_eq!(port.takes(&flow(), false), Ok(Some(true)));
    assert_eq!(port.takes(&Headers { destination_port: 9001, ..flow() }, false), Ok(Some(false)));
    // A kernel compares the ECN bits of a whole TOS byte, a scenario does not.
    let tos = conditions("u32 match ip tos 0xb8 0xff").expect("understood");
    assert_eq!((tos.takes(&flow(), false), tos.takes(&flow(), true)), (Ok(Some(false)), Ok(Some(true))));
    let short = conditions("u32 match u16 0 0xfe00 at 2").expect("understood");
    assert_eq!(short.takes(&flow(), false), Ok(Some(true)));
    assert_eq!(short.takes(&Headers { length: None, ..flow() }, false), Ok(None));
    let from = conditions("flower src_ip 10.1.0.0/16").expect("understood");
    assert!(from.takes(&flow(), false).expect_err("no address").to_string().contains("addresses"));
    let addresses = Some([Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1)]);
    assert_eq!(from.takes(&Headers { addresses, ..flow() }, false), Ok(Some(true)));
    let sent_from = conditions("flower src_port 1-1023").expect("understood");
    assert!(sent_from.takes(&flow(), false).expect_err("no port").to_string().contains("source port"));
    assert_eq!(sent_from.takes(&Headers { source_port: Some(80), ..flow() }, false), Ok(Some(true)));
}
