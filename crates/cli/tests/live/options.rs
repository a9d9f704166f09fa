//! Internet Timestamp options through the kernel's own sockets and an unmodified `ping`.

use super::host::is_possible;
use super::{FOUR, has, programs};

#[test]
fn routers_stamp_the_time() {
    if !is_possible() || !has("ping") {
        return;
    }
    // Room for four stamps: to the server all are on the way there; to the router in the middle the fourth is
    // on the way back.
    for (to, hops) in [("server", [1, 2, 3, 4]), ("r2", [1, 2, 3, 2])] {
        let [said, _] = programs(FOUR, "2s", &format!("ping -n -c 1 -T tsandaddr {to}"), None);
        let stamped: Vec<&str> = said.lines().filter_map(|line| line.split('\t').nth(1)).collect();
        assert_eq!(stamped, hops.map(|hop| format!("10.0.0.{hop}")), "{said}");
    }
}

/// Routers accumulate a packet's queueing delay in its option, from one real socket to the other.
#[test]
fn waiting_is_carried_from_socket_to_socket() {
    if !is_possible() || !has("python3") {
        return;
    }
    // Again and again: on a busy machine the receiver starts late.
    let send = "from socket import *; import time; s = socket(AF_INET, SOCK_DGRAM); \
        s.setsockopt(IPPROTO_IP, IP_OPTIONS, bytes([68, 12, 5, 5, 0, 0, 0, 9, 0, 0, 0, 0])); \
        [(time.sleep(0.3), [s.sendto(bytes(1000), ('10.0.0.4', 7)) for _ in range(40)]) for _ in range(100)]";
    let receive = "from socket import *; s = socket(AF_INET, SOCK_RAW, IPPROTO_UDP); \
        [print(*p[20:32], flush=True) for p in iter(lambda: s.recv(2000), b'') if p[0] == 0x48]";
    let python = |program: &str| format!("python3 -c \"{program}\"");
    let [_, said] = programs(FOUR, "5s", &python(send), Some(&python(receive)));
    let options: Vec<Vec<u32>> =
        said.lines().map(|line| line.split(' ').filter_map(|word| word.parse().ok()).collect()).collect();
    // Forty at once at 100 Mbit/s, then at 20: the first one is not delayed, and the others are.
    assert!(!options.is_empty(), "{said}");
    assert!(options.iter().all(|option| option[..8] == [68, 12, 5, 5, 0, 0, 0, 9]), "{said}");
    assert!(options.iter().any(|option| option[8..] > [0; 4][..]), "{said}");
}
