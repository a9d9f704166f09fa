//! A file over TCP: what the application at each end does.

use lockgate_path::{Instant, Path};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::wire::IpAddress;

use super::smoltcp::Host;

/// Results of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Downloaded {
    /// Time at which the last byte was read.
    pub completed: Instant,
    /// Time and contents of each packet that arrived.
    pub arrivals: Vec<(Instant, Vec<u8>)>,
}

/// Sends `bytes` bytes from the first end to the second, with windows of `window` bytes.
pub fn download(path: &mut Path, bytes: usize, window: usize, control: CongestionControl) -> Downloaded {
    let [a, b] = path.ends();
    let addresses = [IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 0, 2)];
    let mut hosts = [Host::new(a, addresses[0]), Host::new(b, addresses[1])];
    let sockets = [0, 1].map(|side: usize| {
        let buffer = || SocketBuffer::new(vec![0; window]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(control);
        socket.set_ack_delay(None);
        let host = &mut hosts[side];
        if side == 0 {
            socket.connect(host.interface.context(), (addresses[1], 80), 40_000).expect("it connects");
        } else {
            socket.listen(80).expect("it listens");
        }
        host.sockets.add(socket)
    });
    let (mut now, mut left, mut read) = (Instant::ZERO, bytes, 0);
    let mut arrivals = Vec::new();
    loop {
        let sender = hosts[0].sockets.get_mut::<Socket<'_>>(sockets[0]);
        while left > 0 && sender.can_send() {
            left -= sender.send_slice(&vec![7; left.min(16_384)]).expect("it sends");
        }
        let receiver = hosts[1].sockets.get_mut::<Socket<'_>>(sockets[1]);
        while receiver.can_recv() {
            read += receiver.recv(|data| (data.len(), data.len())).expect("it receives");
        }
        for host in &mut hosts {
            host.act(path, now);
        }
        if read == bytes {
            return Downloaded { completed: now, arrivals };
        }
        let until = hosts[0].next(now).min(hosts[1].next(now));
        now = until;
        if let Some(delivery) = path.receive(until).expect("time goes forwards") {
            now = delivery.at;
            arrivals.push((now, delivery.bytes.clone()));
            let host = if delivery.end == a { &mut hosts[0] } else { &mut hosts[1] };
            host.handle(delivery);
        }
        assert!(now < Instant::NEVER, "neither timer nor packet: the download stands still at {read} bytes");
    }
}
