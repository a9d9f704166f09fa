//! Connections that send as much as they can, and what arrives of each; round trips beside them.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::tcp::{TcpCounts, TcpState, counts, state};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use crate::common::open_socket;

/// Connection that sends as much as it can. It is reset on drop.
pub(crate) struct Bulk {
    received: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    /// Port of the host to which it was opened, by which its frames are known.
    pub(crate) port: u16,
    /// The end that sends, and the one that receives, whose reset may be lost in a full queue.
    ends: [TcpStream; 2],
    threads: Vec<JoinHandle<()>>,
}

/// Connects two hosts. Returns the ends of the source and of the destination.
pub(crate) fn connected(
    (from, source): (&Namespace, IpAddr),
    (to, destination): (&Namespace, IpAddr),
) -> (TcpStream, TcpStream) {
    let listener = open_socket(to, || TcpListener::bind((destination, 0)));
    let address = listener.local_addr().expect("bound");
    let opened = from.inside(|| {
        let family = if source.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket(family, SocketType::STREAM, None)?;
        bind(&socket, &SocketAddr::from((source, 0)))?;
        connect(&socket, &address)?;
        rustix::io::Result::Ok(TcpStream::from(socket))
    });
    let near = opened.expect("entered").expect("connected");
    (near, listener.accept().expect("a client").0)
}

impl Bulk {
    /// Starts a connection from an address of one host to an address of another, which sends that way.
    pub(crate) fn start(from: (&Namespace, IpAddr), to: (&Namespace, IpAddr)) -> Self {
        let (near, far) = connected(from, to);
        let port = far.local_addr().expect("connected").port();
        Self::between(port, near, far)
    }

    /// Starts a connection from an address of one host to an address of another, which sends back.
    pub(crate) fn start_back(from: (&Namespace, IpAddr), to: (&Namespace, IpAddr)) -> Self {
        let (near, far) = connected(from, to);
        let port = far.local_addr().expect("connected").port();
        Self::between(port, far, near)
    }

    fn between(port: u16, mut near: TcpStream, mut far: TcpStream) -> Self {
        let ends = [&near, &far].map(|end| end.try_clone().expect("a copy"));
        let (received, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stopping) = (received.clone(), stop.clone());
        let reader = thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = far.read(&mut buffer) {
                count.fetch_add(length as u64, Ordering::Relaxed);
            }
        });
        let writer = thread::spawn(move || {
            let chunk = vec![0; 1 << 15];
            near.set_write_timeout(Some(Duration::from_millis(100))).expect("set");
            while !stopping.load(Ordering::Relaxed) {
                // A full socket is intended.
                let _ = near.write(&chunk);
            }
            // Discards the data that is still in the socket: the connection is reset.
            let _ = rustix::net::sockopt::set_socket_linger(&near, Some(Duration::ZERO));
        });
        Self { received, stop, port, ends, threads: vec![writer, reader] }
    }

    /// Returns the bytes that have arrived.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Returns what the end that sends, and the one that receives, have counted.
    pub(crate) fn counts(&self) -> [TcpCounts; 2] {
        self.ends.each_ref().map(|end| counts(end).expect("a connection of TCP"))
    }

    /// Returns the state of the end that sends.
    pub(crate) fn state(&self) -> Option<TcpState> {
        state(&self.ends[0])
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.ends[1].shutdown(std::net::Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Measures round trips of 64 bytes over a connection for this time, one in 20 ms, like the keystrokes of a
/// user. Returns them sorted.
pub(crate) fn keystrokes(
    from: (&Namespace, IpAddr),
    to: (&Namespace, IpAddr),
    lasting: Duration,
) -> Vec<Duration> {
    let (mut near, mut far) = connected(from, to);
    near.set_nodelay(true).expect("set");
    far.set_nodelay(true).expect("set");
    thread::spawn(move || {
        let mut bytes = [0; 64];
        while far.read_exact(&mut bytes).is_ok() && far.write_all(&bytes).is_ok() {}
    });
    let (begun, mut trips) = (Instant::now(), Vec::new());
    while begun.elapsed() < lasting {
        let sent = Instant::now();
        let mut bytes = [trips.len() as u8; 64];
        near.write_all(&bytes).expect("sent");
        near.read_exact(&mut bytes).expect("received");
        trips.push(sent.elapsed());
        thread::sleep(Duration::from_millis(20).saturating_sub(sent.elapsed()));
    }
    trips.sort_unstable();
    trips
}
