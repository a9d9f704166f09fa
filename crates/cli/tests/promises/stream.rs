//! A numbered stream of datagrams between the two hosts, and its outcome.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::common::{HOST_ADDRESSES, Network, open_socket};

/// Returns the directions in which a router of a mode queues, each as the mode that queues it alone.
pub(crate) fn directions(mode: &'static str) -> Vec<&'static str> {
    if mode == "both" { vec!["egress", "ingress"] } else { vec![mode] }
}

/// Returns the address of a host in the network of a mode.
pub(crate) fn address(mode: &str, host: usize) -> [u8; 4] {
    if mode == "bridge" { [10, 3, 0, 1 + host as u8] } else { HOST_ADDRESSES[host] }
}

/// Silence after which missing datagrams count as lost, and after which no duplicate is expected.
const LOST: Duration = Duration::from_secs(3);
const TWICE: Duration = Duration::from_millis(100);

/// Number and time of arrival of each datagram.
type Arrivals = Vec<(u32, Instant)>;

/// A numbered stream of datagrams from one host to the other.
pub(crate) struct Stream {
    stop: Arc<AtomicBool>,
    /// Number of datagrams sent so far, and that of the newest arrival plus one.
    progress: Arc<[AtomicUsize; 2]>,
    sender: JoinHandle<Vec<Instant>>,
    receiver: JoinHandle<(Arrivals, Option<IpAddr>)>,
}

/// Outcome of a stream.
pub(crate) struct Ended {
    /// Time at which each datagram was sent.
    pub(crate) sent: Vec<Instant>,
    /// Arrivals, in their order.
    pub(crate) arrived: Arrivals,
    /// Source address of the last arrival.
    pub(crate) source: Option<IpAddr>,
}

impl Stream {
    /// Starts a stream in each direction in which a router of this mode queues, to this port and the next.
    pub(crate) fn start_all(
        network: &Network,
        mode: &'static str,
        rate: u64,
        size: usize,
        port: u16,
    ) -> Vec<Self> {
        let ports = (port..).zip(directions(mode));
        ports.map(|(port, direction)| Self::start(network, direction, rate, size, port)).collect()
    }

    /// Starts a stream in the direction in which a router of this mode queues: `rate` datagrams of `size`
    /// bytes a second to this port.
    pub(crate) fn start(network: &Network, mode: &str, rate: u64, size: usize, port: u16) -> Self {
        // In mode `ingress` the router queues frames that arrive at `eth2`.
        let from = usize::from(mode == "ingress");
        let to = SocketAddr::from((address(mode, 1 - from), port));
        let bind =
            |host: usize, address: SocketAddr| open_socket(&network.hosts[host], || UdpSocket::bind(address));
        let inbound = bind(1 - from, to);
        inbound.set_read_timeout(Some(TWICE)).expect("set");
        // Room for a whole queue of the router, which is sent at once when the router is stopped.
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&inbound, 64 << 20).expect("set");
        let outbound = bind(from, SocketAddr::from(([0, 0, 0, 0], 0)));
        resolve(&outbound, &inbound, to);
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        let progress = Arc::<[AtomicUsize; 2]>::default();
        let [sending, receiving] = [progress.clone(), progress.clone()];
        // Number of datagrams sent, once the stream has ended.
        let total = Arc::new(AtomicUsize::new(usize::MAX));
        let known = total.clone();
        let sender = thread::spawn(move || {
            let (started, mut sent, mut left_out) = (Instant::now(), Vec::new(), 0);
            let most = (rate / 20).max(32) as usize;
            let mut bytes = vec![7; size];
            while !stopping.load(Ordering::Relaxed) {
                let due = (started.elapsed().as_secs_f64() * rate as f64) as usize - left_out;
                // After a stall of this thread, datagrams beyond a burst are left out.
                left_out += (due - sent.len()).saturating_sub(most);
                for _ in sent.len()..due.min(sent.len() + most) {
                    bytes[..4].copy_from_slice(&(sent.len() as u32).to_be_bytes());
                    sent.push(Instant::now());
                    outbound.send_to(&bytes, to).expect("sent");
                    sending[0].store(sent.len(), Ordering::Relaxed);
                }
                thread::sleep(Duration::from_millis(1));
            }
            known.store(sent.len(), Ordering::Relaxed);
            sent
        });
        let receiver = thread::spawn(move || {
            let mut arrived = Vec::new();
            let (mut bytes, mut source) = (vec![0; size], None);
            let mut last = Instant::now();
            loop {
                let Ok((length, from)) = inbound.recv_from(&mut bytes) else {
                    let sent = total.load(Ordering::Relaxed);
                    let patience = if sent < usize::MAX { LOST } else { 10 * LOST };
                    if arrived.len() >= sent || last.elapsed() >= patience {
                        return (arrived, source);
                    }
                    continue;
                };
                if length < size {
                    // Sent by `resolve`, and late.
                    continue;
                }
                last = Instant::now();
                let number = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                receiving[1].fetch_max(number as usize + 1, Ordering::Relaxed);
                arrived.push((number, last));
                source = Some(from.ip());
            }
        });
        Self { stop, progress, sender, receiver }
    }

    /// Waits until a datagram arrives that is sent from now on. Returns false if none has within `limit`.
    pub(crate) fn passes_within(&self, limit: Duration) -> bool {
        let [sent, newest] = &*self.progress;
        let (from, until) = (sent.load(Ordering::Relaxed), Instant::now() + limit);
        while newest.load(Ordering::Relaxed) <= from {
            if Instant::now() > until {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Stops sending. Returns the outcome.
    pub(crate) fn end(self) -> Ended {
        self.stop.store(true, Ordering::Relaxed);
        let (sent, received) = (self.sender.join(), self.receiver.join());
        let (arrived, source) = received.expect("no panic");
        Ended { sent: sent.expect("no panic"), arrived, source }
    }
}

/// Makes each host on the way resolve the address of the next: datagrams that wait for an answer are
/// overtaken by those sent after it.
fn resolve(outbound: &UdpSocket, inbound: &UdpSocket, to: SocketAddr) {
    let until = Instant::now() + 10 * LOST;
    loop {
        outbound.send_to(&[0], to).expect("sent");
        if inbound.recv_from(&mut [0]).is_ok() {
            return;
        }
        assert!(Instant::now() < until, "no datagram arrives");
    }
}

impl Ended {
    /// Expects that every datagram arrived once and in order, except at up to `seams` places. On failure,
    /// prints when the missing ones were sent, after the first.
    #[track_caller]
    pub(crate) fn expect_all(&self, seams: usize, what: &str) {
        let mut numbers: Vec<u32> = self.arrived.iter().map(|(number, _)| *number).collect();
        let overtaken: Vec<(u32, u32)> =
            numbers.windows(2).filter(|pair| pair[0] > pair[1]).map(|pair| (pair[0], pair[1])).collect();
        numbers.sort_unstable();
        let sent = self.sent.len();
        let is_lost = |number: &u32| numbers.binary_search(number).is_err();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for number in (0..sent as u32).filter(is_lost) {
            match ranges.last_mut() {
                Some((_, end)) if *end + 1 == number => *end = number,
                _ => ranges.push((number, number)),
            }
        }
        let at = |number: u32| self.sent[number as usize].duration_since(self.sent[0]);
        let range = |(from, to): &(u32, u32)| format!("{from} to {to} ({:?} to {:?})", at(*from), at(*to));
        let lost: Vec<String> = ranges.iter().map(range).take(20).collect();
        assert_eq!(numbers.len(), sent, "{what}: lost {}", lost.join(", "));
        let places = overtaken.len();
        println!("{what}: {sent} datagrams, out of order in {places} places");
        let place = |(before, number): &(u32, u32)| format!("{number} after {before} ({:?})", at(*number));
        let described: Vec<String> = overtaken.iter().map(place).take(20).collect();
        assert!(places <= seams, "{what}: overtaken in {places} places: {}", described.join(", "));
    }

    /// Returns the sorted delays of the datagrams that arrived.
    pub(crate) fn delays(&self) -> Vec<Duration> {
        self.sent.last().map(|last| self.delays_until(*last)).unwrap_or_default()
    }

    /// Returns the sorted delays of the datagrams that were sent before `until` and arrived.
    pub(crate) fn delays_until(&self, until: Instant) -> Vec<Duration> {
        let timed = self.arrived.iter().map(|(number, at)| (self.sent[*number as usize], *at));
        let delays = timed.filter(|(sent, _)| *sent <= until).map(|(sent, at)| at.duration_since(sent));
        let mut delays: Vec<Duration> = delays.collect();
        delays.sort_unstable();
        delays
    }
}
