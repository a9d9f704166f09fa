//! Datagrams of two hosts, as many as their links carry, and what arrives of each host's.

use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockgate_dataplane::namespace::Namespace;

use crate::common::open_socket;

/// Payload of a full frame.
const PAYLOAD: [u8; 1_472] = [0; 1_472];

/// Flood; it ends on drop.
pub(crate) struct Flood {
    /// Bytes that have arrived, by host.
    received: [Arc<AtomicU64>; 2],
    /// Port of the destination, by host.
    pub(crate) ports: [u16; 2],
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Flood {
    /// Starts flows from two addresses of a host to one of another: each host's have `rate` bits a second in
    /// sum.
    pub(crate) fn start(
        (from, sources): (&Namespace, [IpAddr; 2]),
        (to, destination): (&Namespace, IpAddr),
        flows: [u32; 2],
        rate: f64,
    ) -> Self {
        let received: [Arc<AtomicU64>; 2] = Default::default();
        let stop = Arc::new(AtomicBool::new(false));
        let (mut threads, mut ports) = (Vec::new(), [0; 2]);
        for host in 0..2 {
            let socket = open_socket(to, || UdpSocket::bind((destination, 0)));
            socket.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
            let address = socket.local_addr().expect("bound");
            ports[host] = address.port();
            let (count, stopping) = (received[host].clone(), stop.clone());
            threads.push(thread::spawn(move || {
                let mut buffer = [0; 2_048];
                while !stopping.load(Ordering::Relaxed) {
                    if let Ok(length) = socket.recv(&mut buffer) {
                        count.fetch_add(length as u64, Ordering::Relaxed);
                    }
                }
            }));
            let senders: Vec<UdpSocket> =
                (0..flows[host]).map(|_| open_socket(from, || UdpSocket::bind((sources[host], 0)))).collect();
            let gap = Duration::from_secs_f64(f64::from(1_514 * 8 * flows[host]) / rate);
            let stopping = stop.clone();
            threads.push(thread::spawn(move || {
                let mut due = Instant::now();
                while !stopping.load(Ordering::Relaxed) {
                    for sender in &senders {
                        // A full buffer is intended.
                        let _ = sender.send_to(&PAYLOAD, address);
                    }
                    due += gap;
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                }
            }));
        }
        Self { received, ports, stop, threads }
    }

    /// Returns the bytes that have arrived, by host.
    pub(crate) fn received(&self) -> [u64; 2] {
        self.received.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
