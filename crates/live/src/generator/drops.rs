//! Datagrams that the kernel dropped at a full socket.

use std::net::UdpSocket;

/// Returns the datagrams dropped at `socket` since it was opened; 0 if the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn of_socket(socket: &UdpSocket) -> u64 {
    use std::os::fd::AsRawFd;

    let Ok(link) = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())) else { return 0 };
    let link = link.to_string_lossy();
    let Some(inode) = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) else { return 0 };
    let tables = ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"];
    let mut texts = tables.iter().filter_map(|table| std::fs::read_to_string(table).ok());
    texts.find_map(|text| drops_in(&text, inode)).unwrap_or(0)
}

/// Returns 0: this system does not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_socket(_: &UdpSocket) -> u64 {
    0
}

/// Returns the last column of the socket's line in a table of `/proc/net/udp` (proc(5)); the inode is the
/// tenth column.
#[cfg(target_os = "linux")]
fn drops_in(table: &str, inode: &str) -> Option<u64> {
    let line = table.lines().find(|line| line.split_whitespace().nth(9) == Some(inode))?;
    line.split_whitespace().last()?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn datagrams_that_nothing_reads_are_counted() {
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("bound");
        rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 4096).expect("set");
        assert_eq!(of_socket(&receiver), 0);
        let sender = UdpSocket::bind("127.0.0.1:0").expect("bound");
        for _ in 0..64 {
            sender.send_to(&[0; 1000], receiver.local_addr().expect("bound")).expect("sent");
        }
        assert!(of_socket(&receiver) > 0, "4 kB hold a few of 64 kB");
    }
}
