//! Kinds of frames that a network carries.

/// Kinds of frames: name, and the bytes between the Ethernet addresses and the payload.
pub(crate) fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    kinds_from(1)
}

/// Kinds of frames whose IP addresses are those of a host with this number.
pub(crate) fn kinds_from(host: u8) -> Vec<(&'static str, Vec<u8>)> {
    let ip4 = |protocol: u8, flags: [u8; 2]| {
        let mut header = vec![8, 0, 0x45, 0x28, 0, 200, 0, 1];
        header.extend(flags);
        header.extend([64, protocol, 0x12, 0x34, 10, 0, 0, host, 10, 0, 0, 2]);
        header
    };
    let ip6 = |next: u8, more: &[u8]| {
        let mut header = vec![0x86, 0xdd, 0x6b, 0x81, 0x23, 0x45, 0, 180, next, 64];
        header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        header.extend(more);
        header
    };
    let udp = [4, 0, 5, 0, 0, 180, 0, 0];
    let tcp = [4, 0, 5, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0x50, 0x10, 0, 99, 0, 0, 0, 0];
    let join = |parts: &[&[u8]]| parts.concat();
    let tag = |kind: [u8; 2], id: u8| vec![kind[0], kind[1], 0x60, id];
    let tags = join(&[&tag([0x88, 0xa8], 1), &tag([0x81, 0], 2)]);
    let options = [8, 0, 0x46, 0, 0, 200, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 0];
    vec![
        ("IPv4 UDP", join(&[&ip4(17, [0x40, 0]), &udp])),
        ("IPv4 TCP", join(&[&ip4(6, [0x40, 0]), &tcp])),
        ("IPv4 ICMP", join(&[&ip4(1, [0, 0]), &[8, 0, 0, 0]])),
        ("IPv4 IGMP", ip4(2, [0, 0])),
        ("IPv4 GRE", ip4(47, [0, 0])),
        ("IPv4 ESP", ip4(50, [0, 0])),
        ("IPv4 OSPF", ip4(89, [0, 0])),
        ("IPv4 SCTP", ip4(132, [0, 0])),
        ("IPv4 first fragment", join(&[&ip4(17, [0x20, 0]), &udp])),
        ("IPv4 middle fragment", ip4(17, [0x20, 9])),
        ("IPv4 last fragment", ip4(17, [0, 99])),
        ("IPv4 with options", options.to_vec()),
        ("IPv4 cut short", vec![8, 0, 0x4f, 0, 0, 20]),
        ("IPv6 UDP", ip6(17, &udp)),
        ("IPv6 TCP", ip6(6, &tcp)),
        ("IPv6 neighbour solicitation", ip6(58, &[135, 0, 0, 0])),
        ("IPv6 router advertisement", ip6(58, &[134, 0, 0, 0])),
        ("IPv6 hop-by-hop", ip6(0, &[17, 0, 5, 2, 0, 0, 1, 0, 4, 0, 5, 0, 0, 8, 0, 0])),
        ("IPv6 fragment", ip6(44, &[17, 0, 0, 1, 0, 0, 0, 7])),
        ("IPv6 routing", ip6(43, &[6, 0, 4, 0, 0, 0, 0, 0])),
        ("IPv6 destination options", ip6(60, &[6, 0, 1, 4, 0, 0, 0, 0])),
        ("IPv6 no next header", ip6(59, &[])),
        ("ARP", vec![8, 6, 0, 1, 8, 0, 6, 4, 0, 1]),
        ("802.1Q IPv4", join(&[&tag([0x81, 0], 5), &ip4(17, [0, 0]), &udp])),
        ("802.1Q IPv6", join(&[&tag([0x81, 0], 5), &ip6(6, &tcp)])),
        ("802.1Q ARP", join(&[&tag([0x81, 0], 6), &[8, 6, 0, 1]])),
        ("priority tag", join(&[&[0x81, 0, 0xa0, 0], &ip4(17, [0, 0])])),
        ("QinQ", join(&[&tag([0x88, 0xa8], 7), &tag([0x81, 0], 5), &ip4(17, [0, 0])])),
        ("QinQ with 802.1Q outside", join(&[&tag([0x81, 0], 7), &tag([0x81, 0], 5), &ip4(6, [0, 0])])),
        ("three tags", join(&[&tags, &tag([0x81, 0], 3), &ip4(17, [0, 0])])),
        ("PPPoE discovery", vec![0x88, 0x63, 0x11, 9, 0, 0, 0, 4]),
        ("PPPoE IPv4", join(&[&[0x88, 0x64, 0x11, 0, 0, 1, 0, 100, 0, 0x21], &ip4(17, [0, 0])[2..]])),
        ("PPPoE IPv6", join(&[&[0x88, 0x64, 0x11, 0, 0, 1, 0, 100, 0, 0x57], &ip6(6, &tcp)[2..]])),
        ("PPPoE link control", vec![0x88, 0x64, 0x11, 0, 0, 1, 0, 10, 0xc0, 0x21, 9, 1]),
        ("MPLS", join(&[&[0x88, 0x47, 0, 1, 0x01, 64], &ip4(17, [0, 0])[2..]])),
        ("MPLS, two labels, IPv6", join(&[&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64], &ip6(17, &udp)[2..]])),
        ("MPLS multicast, no IP", vec![0x88, 0x48, 0, 1, 1, 64, 0, 0, 0, 0]),
        ("LLDP", vec![0x88, 0xcc, 2, 7, 4, 2, 0, 0, 0, 0, 1]),
        ("spanning tree", vec![0, 38, 0x42, 0x42, 3, 0, 0, 2, 2]),
        ("802.1X", vec![0x88, 0x8e, 1, 1, 0, 0]),
        ("pause", vec![0x88, 0x08, 0, 1, 0xff, 0xff]),
        ("unknown type", vec![0x12, 0x34]),
    ]
}

/// Returns frame number `number` of a kind. Its length and its destination address vary with the number.
pub(crate) fn frame(kind: &[u8], number: usize, longest: usize) -> Vec<u8> {
    let destinations: [[u8; 6]; 5] = [
        [2, 0, 0, 0, 0, 2],
        [0xff; 6],
        [1, 0, 0x5e, 0, 0, 5],
        [0x33, 0x33, 0, 0, 0, 1],
        [1, 0x80, 0xc2, 0, 0, 0x0e],
    ];
    let mut frame = destinations[number % 5].to_vec();
    frame.extend([2, 0, 0, 0, 9, 9]);
    frame.extend(kind);
    let length = [60, 61, 128, 594, 1_400, longest][number / 5 % 6].max(frame.len());
    let mut value = number as u32;
    while frame.len() < length {
        value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        frame.push((value >> 24) as u8);
    }
    frame
}
