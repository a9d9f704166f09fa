//! The glue between `quinn-proto` (QUIC) and a path: datagrams, timers and code points.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant as StdInstant;

use lockgate_path::{Delivery, Dscp, Ecn, End, Instant, Path, elapsed, since_start};
use quinn_proto::{Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint};

/// One side of a QUIC connection, at one end of a path.
pub struct Peer {
    endpoint: Endpoint,
    pub connection: Option<(ConnectionHandle, Connection)>,
    pub end: End,
    other: SocketAddr,
    start: StdInstant,
    buffer: Vec<u8>,
}

impl Peer {
    /// Creates a peer; `start` is the start of the path on the stack's clock.
    pub fn new(
        end: End,
        other: SocketAddr,
        server: Option<quinn_proto::ServerConfig>,
        start: StdInstant,
    ) -> Self {
        let mut config = quinn_proto::EndpointConfig::default();
        config.rng_seed(Some([end.index() as u8; 32]));
        let endpoint = Endpoint::new(Arc::new(config), server.map(Arc::new), true, None);
        Self { endpoint, connection: None, end, other, start, buffer: Vec::new() }
    }

    pub fn connect(&mut self, config: quinn_proto::ClientConfig, now: Instant) {
        let connection = self.endpoint.connect(self.start + elapsed(now), config, self.other, "server");
        self.connection = Some(connection.expect("a connection"));
    }

    /// Returns the time of the stack's next timer.
    pub fn next(&mut self) -> Instant {
        let timeout = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        timeout.map_or(Instant::NEVER, |at| since_start(at.duration_since(self.start)))
    }

    /// Passes an arrival to the stack.
    pub fn handle(&mut self, path: &mut Path, delivery: &Delivery) {
        let now = self.start + elapsed(delivery.at);
        let ecn = EcnCodepoint::from_bits(delivery.ecn.bits());
        let bytes = delivery.bytes[..].into();
        self.buffer.clear();
        match self.endpoint.handle(now, self.other, None, ecn, bytes, &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut self.buffer, None).ok();
            }
            Some(DatagramEvent::Response(transmit)) => {
                let bytes = &self.buffer[..transmit.size];
                let _ = path.send(delivery.at, self.end, bytes, Ecn::NotCapable, Dscp::DEFAULT);
            }
            None => {}
        }
    }

    /// Lets the stack act: due timers, then all that it wants to send.
    pub fn act(&mut self, path: &mut Path, now: Instant) {
        let is_due = self.next() <= now;
        let Some((handle, connection)) = &mut self.connection else { return };
        let time = self.start + elapsed(now);
        if is_due {
            connection.handle_timeout(time);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            self.endpoint
                .handle_event(*handle, event)
                .into_iter()
                .for_each(|event| connection.handle_event(event));
        }
        self.buffer.clear();
        while let Some(transmit) = connection.poll_transmit(time, 1, &mut self.buffer) {
            let ecn = transmit.ecn.map_or(Ecn::NotCapable, |ecn| Ecn::from_bits(ecn as u8));
            path.send(now, self.end, &self.buffer[..transmit.size], ecn, Dscp::DEFAULT).expect("it can send");
            self.buffer.clear();
        }
    }
}
