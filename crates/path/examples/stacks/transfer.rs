//! A file over QUIC: what the application at each end does.

use std::sync::Arc;
use std::time::Instant as StdInstant;

use lockgate_path::{End, Instant, Path};
use quinn_proto::{ClientConfig, Dir, Event, ServerConfig, StreamEvent, StreamId, TransportConfig};

use super::quinn::Peer;

/// Results of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// Time at which the last byte was read.
    pub completed: Instant,
    /// Packets that arrived with a mark.
    pub marks: u64,
    /// Congestion events that the sender saw.
    pub congestion_events: u64,
    /// Time of sending, end, frame length and time of each arrival.
    pub arrivals: Vec<(Instant, End, u32, Instant)>,
}

/// Returns the configurations of client and server, with a certificate of their own.
pub fn configs(transport: TransportConfig) -> (ClientConfig, ServerConfig) {
    let certificate = rustls::pki_types::CertificateDer::from(&include_bytes!("certificate.der")[..]);
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(&include_bytes!("key.der")[..]);
    let transport = Arc::new(transport);
    let mut server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).expect("a server");
    server.transport_config(transport.clone());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a root");
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
    client.transport_config(transport);
    (client, server)
}

/// Sends `bytes` bytes from the first end to the second. Returns when all are read.
pub fn transfer(path: &mut Path, bytes: usize, transport: TransportConfig) -> Transferred {
    transfer_until(path, bytes, Instant::NEVER, transport)
}

/// Sends `bytes` bytes from the first end to the second. Returns when all are read, or at `end`.
pub fn transfer_until(
    path: &mut Path,
    bytes: usize,
    end: Instant,
    transport: TransportConfig,
) -> Transferred {
    let (client, server) = configs(transport);
    let start = StdInstant::now();
    let [a, b] = path.ends();
    let mut peers = [
        Peer::new(a, ([10, 0, 0, 2], 443).into(), None, start),
        Peer::new(b, ([10, 0, 0, 1], 40_000).into(), Some(server), start),
    ];
    peers[0].connect(client, Instant::ZERO);
    let (mut left, mut read, mut stream) = (bytes, 0, None);
    let mut seen =
        Transferred { completed: Instant::ZERO, marks: 0, congestion_events: 0, arrivals: Vec::new() };
    let mut now = Instant::ZERO;
    loop {
        for peer in &mut peers {
            if let Some((_, connection)) = &mut peer.connection {
                if peer.end == a {
                    write(connection, &mut stream, &mut left);
                } else {
                    read += read_all(connection);
                }
            }
            peer.act(path, now);
        }
        if read == bytes {
            break;
        }
        let until = peers[0].next().min(peers[1].next());
        now = until.max(now).min(end);
        if let Some(delivery) = path.receive(now).expect("time goes forwards") {
            now = delivery.at;
            seen.marks += u64::from(delivery.ecn.is_marked());
            seen.arrivals.push((delivery.sent, delivery.end, delivery.length, delivery.at));
            let peer = if delivery.end == a { &mut peers[0] } else { &mut peers[1] };
            peer.handle(path, &delivery);
        }
        if now >= end {
            break;
        }
        assert!(now < Instant::NEVER, "neither timer nor packet: the transfer stands still at {read} bytes");
    }
    seen.completed = now;
    let sender = peers[0].connection.as_ref().map(|(_, connection)| connection.stats());
    seen.congestion_events = sender.map_or(0, |stats| stats.path.congestion_events);
    seen
}

fn write(connection: &mut quinn_proto::Connection, stream: &mut Option<StreamId>, left: &mut usize) {
    while let Some(event) = connection.poll() {
        if let Event::ConnectionLost { reason } = event {
            panic!("the connection is lost: {reason}");
        }
    }
    if connection.is_handshaking() {
        return;
    }
    let id = *stream.get_or_insert_with(|| connection.streams().open(Dir::Uni).expect("a stream"));
    let block = [7; 16_384];
    while *left > 0 {
        match connection.send_stream(id).write(&block[..(*left).min(block.len())]) {
            Ok(written) => *left -= written,
            Err(_) => return,
        }
        if *left == 0 {
            let _ = connection.send_stream(id).finish();
        }
    }
}

fn read_all(connection: &mut quinn_proto::Connection) -> usize {
    let mut read = 0;
    while let Some(event) = connection.poll() {
        if let Event::ConnectionLost { reason } = event {
            panic!("the connection is lost: {reason}");
        }
        let id = match event {
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => connection.streams().accept(Dir::Uni),
            Event::Stream(StreamEvent::Readable { id }) => Some(id),
            _ => None,
        };
        let Some(id) = id else { continue };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { continue };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            read += chunk.bytes.len();
        }
        let _ = chunks.finalize();
    }
    read
}
