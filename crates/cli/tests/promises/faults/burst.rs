//! Burst of datagrams, sent at once: through a queue it takes the time of its rate, however busy the machine
//! is.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::super::common::{Network, open_socket};
use super::super::stream::address;

/// Datagrams of a burst, and bytes of each: as many as an Ethernet frame with an MTU of 1500 has.
pub(super) const COUNT: usize = 200;
const PAYLOAD: usize = 1_472;

/// Bytes of a frame of a burst.
const FRAME: u64 = 1_514;

/// Port to which a burst is sent.
const PORT: u16 = 5_900;

/// Outcome of a burst: datagrams that arrived, and the time from the first call that sent one to the last
/// arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    pub(super) arrived: usize,
    pub(super) took: Duration,
}

impl Burst {
    /// Sends a burst in the direction in which a router of mode `direction` queues. Ends when all have
    /// arrived, or after a silence of this length.
    pub(super) fn send(network: &Network, direction: &str, silence: Duration) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let from = usize::from(direction == "ingress");
        let to = SocketAddr::from((address(direction, 1 - from), PORT));
        let inbound = open_socket(&network.hosts[1 - from], || UdpSocket::bind(to));
        inbound.set_read_timeout(Some(Duration::from_millis(50))).expect("set");
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&inbound, 64 << 20).expect("set");
        let outbound = open_socket(&network.hosts[from], || UdpSocket::bind("0.0.0.0:0"));
        let mut bytes = [0; PAYLOAD];
        bytes[..4].copy_from_slice(&number);
        let begun = Instant::now();
        for _ in 0..COUNT {
            // If the kernel has no way to it, it does not arrive.
            let _ = outbound.send_to(&bytes, to);
        }
        let mut burst = Self { arrived: 0, took: Duration::ZERO };
        let mut last = Instant::now();
        while burst.arrived < COUNT && last.elapsed() < silence {
            // Late ones of another burst do not count.
            if inbound.recv(&mut bytes).is_ok() && bytes[..4] == number {
                last = Instant::now();
                burst = Self { arrived: burst.arrived + 1, took: last - begun };
            }
        }
        burst
    }

    /// Returns the shortest time in which its arrivals pass a queue of this rate, in bit/s, with a tolerance
    /// for what the pacing makes up.
    pub(super) fn least(&self, rate: u64) -> Duration {
        let bits = FRAME * 8 * (self.arrived as u64).saturating_sub(1);
        Duration::from_secs_f64(bits as f64 / rate as f64 * 0.95)
    }
}
